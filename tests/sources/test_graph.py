"""Graphs as data: every way in, and what happens to rows that are no edges."""

import traceback

import igraph
import networkx as nx
import numpy as np
import pytest
import scipy.sparse

import dither as dt
from dither.errors import DitherError, InvalidArgument, InvalidData
from dither.privacy import Neighbours
from dither.sources.graph import Graph

EDGES = [(0, 1), (1, 2), (0, 2), (2, 3)]


def edges_of(graph):
    """The edges as a set of tuples."""
    return {tuple(int(v) for v in edge) for edge in graph.edges}


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint32, np.uint64])
def test_arrays_of_any_whole_type(kind):
    """All integer types give the same graph."""
    graph = Graph(np.array(EDGES, dtype=kind), n=5)
    assert edges_of(graph) == set(EDGES)
    assert (graph.vertices, graph.size, graph.neighbours) == (5, 4, Neighbours.EDGE)


def test_rows_are_sorted_and_symmetric():
    """Every vertex lists its neighbours in rising order, and every edge is listed at both of its vertices."""
    generator = np.random.default_rng(1)
    graph = Graph(generator.integers(0, 40, (300, 2)), n=40)
    rows = [graph.ends[graph.starts[v] : graph.starts[v + 1]].tolist() for v in range(40)]
    assert all(row == sorted(set(row)) for row in rows)
    assert all(u in rows[v] and u != v for u in range(40) for v in rows[u])


def test_other_libraries_give_the_same_graph():
    """networkx, igraph and scipy (one triangle of the matrix or both)."""
    upper = scipy.sparse.coo_array((np.ones(4), tuple(zip(*EDGES, strict=True))), shape=(5, 5))
    known = nx.Graph(EDGES)
    known.add_node(4)
    graphs = [
        Graph.from_networkx(known, strict=True),
        Graph.from_igraph(igraph.Graph(n=5, edges=EDGES), strict=True),
        Graph.from_scipy(upper, strict=True),
        Graph.from_scipy(upper.T, strict=True),
        Graph.from_scipy((upper + upper.T).tocsr(), strict=True),
    ]
    assert all(edges_of(graph) == set(EDGES) and graph.vertices == 5 for graph in graphs)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_files(tmp_path, ending):
    """Edge lists in files, with numbered vertices and with listed ones; unusable entries are no edges."""
    import duckdb

    file = tmp_path / f"edges.{ending}"
    if ending == "parquet":
        rows = ", ".join(f"({10 * u}, {10 * v}, {u + v})" for u, v in EDGES)
        duckdb.sql(f"SELECT * FROM (VALUES {rows}) t(source, target, w)").write_parquet(str(file))
    else:
        mark = {"csv": ",", "tsv": "\t"}[ending]
        lines = [mark.join(("source", "target", "w"))] + [mark.join((f"{10 * u}", f"{10 * v}", "1")) for u, v in EDGES]
        file.write_text("\n".join([*lines, mark.join(("10.5", "0", "1")), mark.join(("", "x", "1"))]) + "\n")
    names = [0, 10, 20, 30, 40]
    assert edges_of(Graph.from_file(file, vertices=names)) == set(EDGES)
    assert edges_of(Graph.from_file(file, n=31)) == {(10 * u, 10 * v) for u, v in EDGES}
    assert edges_of(Graph.from_file(file, n=11)) == {(0, 10)}
    for wrong in ({}, {"n": 3, "vertices": names}, {"vertices": [1, 1]}, {"n": 31, "source": "from"}):
        with pytest.raises(InvalidArgument):
            Graph.from_file(file, **wrong)


def test_an_edge_list_without_records_is_a_graph(tmp_path):
    """The number of edges is private, so having none is no error."""
    file = tmp_path / "none.csv"
    file.write_text("source,target\n")
    for graph in (Graph.from_file(file, n=4), Graph([], n=4), Graph(np.zeros((0, 2), dtype=np.int64), n=4)):
        assert graph.size == 0
        assert graph.vertices == 4


DIRTY = {
    "loop": [*EDGES, (1, 1)],
    "repeated": [*EDGES, (0, 1)],
    "reversed": [*EDGES, (1, 0)],
    "negative": [*EDGES, (-1, 2)],
    "outside": [*EDGES, (2, 5)],
    "enormous": [*EDGES, (2, 10**30)],
    "beyond 63 bits": [*EDGES, (2, 1 << 63)],
}


@pytest.mark.parametrize("fault", DIRTY)
def test_private_rows_that_are_no_edges_are_left_out_or_refused_on_demand(fault):
    """Without weights cleaning is silent; the owner may ask for an error, which quotes no edge."""
    assert edges_of(Graph(DIRTY[fault], n=5)) == set(EDGES)
    with pytest.raises(InvalidData) as caught:
        Graph(DIRTY[fault], n=5, strict=True)
    traceback_text = "".join(traceback.format_exception(caught.value))
    assert str(DIRTY[fault][-1]) not in traceback_text


@pytest.mark.parametrize("fault", DIRTY)
def test_public_rows_that_are_no_edges_are_errors(fault):
    """With weights the edges are public, and so is what is wrong with them."""
    with pytest.raises(InvalidData, match=r"vertex|loop|twice"):
        Graph(DIRTY[fault], n=5, weights=[1] * 5, cap=3)


def test_one_row_changes_at_most_one_edge():
    """Cleaning is stable: rows more or less, whatever is in them, differ by at most one edge."""
    generator = np.random.default_rng(2)
    for _ in range(200):
        rows = generator.integers(-1, 6, (int(generator.integers(1, 12)), 2))
        assert len(edges_of(Graph(rows, n=5)) ^ edges_of(Graph(rows[:-1], n=5))) <= 1


@pytest.mark.parametrize("kind", ["float64", "Int64", "polars"])
def test_a_missing_entry_of_a_frame_is_a_vertex_outside(kind):
    """One row turns the type of its whole column, and must not turn the graph into an error."""
    columns = {"source": [*(a for a, _ in EDGES), 3], "target": [*(b for _, b in EDGES), None]}
    if kind == "polars":
        frame = pytest.importorskip("polars").DataFrame(columns)
    else:
        frame = pytest.importorskip("pandas").DataFrame(columns).astype(kind)
    assert edges_of(Graph(frame, n=5)) == set(EDGES)
    assert edges_of(Graph(frame[:0], n=5)) == set()
    with pytest.raises(InvalidData, match="outside"):
        Graph(frame, n=5, strict=True)
    with pytest.raises(DitherError, match="two columns"):
        Graph(frame[["source"]], n=5)


def test_weighted_matrices_lose_no_edge():
    """Either triangle alone, or both; an entry below the diagonal that none repeats is an error, not a lost edge."""
    sparse = pytest.importorskip("scipy.sparse")
    upper = np.array([[0, 0.2, 0.5], [0, 0, 0.3], [0, 0, 0]])
    for matrix in (upper, upper.T, upper + upper.T):
        graph = Graph.from_scipy(sparse.csr_array(matrix), weighted=True, cap=1, step=0.1)
        assert graph.weight_steps(graph.weight_grid()).tolist() == [2, 5, 3]
    mixed = np.array([[0, 0.2, 0], [0, 0, 0], [0.5, 0.3, 0]])
    with pytest.raises(InvalidData, match="diagonal"):
        Graph.from_scipy(sparse.csr_array(mixed), weighted=True, cap=1)


class Untouchable:
    """An entry of somebody's own class."""

    def __repr__(self):
        return "Untouchable"

    def __len__(self):
        raise SystemExit

    def __float__(self):
        raise ZeroDivisionError


ODD_ROWS = [(None, 1), ("a", 1), (1.5, 2), (1, 2, 3), (1,), (), 7, None, "12", {1: 2}, (1j, 2), (2**70, 1), (1, (2, 3))]


@pytest.mark.parametrize("odd", [*ODD_ROWS, Untouchable(), (Untouchable(), 1), (float("nan"), 1)], ids=repr)
def test_one_odd_row_is_left_out_and_changes_nothing_else(odd):
    """An error that depends on a row would show the row; in a list, an array of objects or alone."""
    for edges in ([*EDGES, odd], [odd, *EDGES]):
        assert edges_of(Graph(edges, n=5)) == set(EDGES)
        listed = np.empty(5, dtype=object)
        listed[:] = edges
        assert edges_of(Graph(listed, n=5)) == set(EDGES)
        with pytest.raises(InvalidData, match="outside"):
            Graph(edges, n=5, strict=True)
    assert edges_of(Graph([odd], n=5)) == set()
    if isinstance(odd, tuple) and len(odd) == 2 and not isinstance(odd[1], tuple):
        assert edges_of(Graph(np.array([*EDGES, odd], dtype=object), n=5)) == set(EDGES)


@pytest.mark.parametrize("row", [(0.0, 1), (0, "1"), (False, True), np.array([0, 1]), [0, 1], {0, 1}], ids=repr)
def test_entries_without_a_type_are_read_as_in_a_frame(row):
    """Whole floats, texts of whole numbers and truth values are vertices, whatever the other rows are."""
    assert edges_of(Graph([row], n=5)) == {(0, 1)}
    assert edges_of(Graph([row, (2, 3), ("a", 4)], n=5)) == {(0, 1), (2, 3)}


def test_arrays_with_a_type_are_read_by_it():
    """Floats are whole or no vertices, masked entries are no vertices."""
    assert edges_of(Graph(np.array([[0.0, 1.0], [1.5, 2.0], [np.nan, 3.0]]), n=5)) == {(0, 1)}
    masked = np.ma.MaskedArray([[0, 1], [2, 3]], [[False, False], [True, False]])
    assert edges_of(Graph(masked, n=5)) == {(0, 1)}


@pytest.mark.parametrize(
    "edges", ["edges", {"a": 1}, None, np.arange(4), np.zeros((3, 3), dtype=int), np.array(["01"])]
)
def test_what_cannot_be_edges_is_refused(edges):
    """Other types, and arrays of other shapes, are errors that name the argument."""
    with pytest.raises(DitherError, match="edges"):
        Graph(edges, n=5)


@pytest.mark.parametrize("n", [0, -1, 2.0, True, None, "5", 1 << 31])
def test_the_number_of_vertices_is_checked(n):
    """Vertices are a public whole number."""
    with pytest.raises(InvalidArgument, match=r"^n must "):
        Graph(EDGES, n=n)


def test_weights_follow_their_edges():
    """Weights are put in the rising order of the edges, clamped and rounded to their grid."""
    graph = Graph([(3, 2), (2, 0), (1, 2), (0, 1)], n=4, weights=[9.0, -1.0, np.nan, 2.5], cap=8, step=0.5)
    grid = graph.weight_grid()
    assert edges_of(graph) == set(EDGES)
    assert graph.neighbours is Neighbours.WEIGHT
    assert graph.edges.tolist() == [[0, 1], [0, 2], [1, 2], [2, 3]]
    assert graph.weight_steps(grid).tolist() == [5, 0, 16, 16]
    whole = Graph(EDGES, n=4, weights=np.array([4, 3, 2, 1]))
    assert whole.weight_steps(whole.weight_grid(cap=3)).tolist() == [3, 2, 3, 1]


@pytest.mark.parametrize(
    "wrong",
    [{"cap": 3}, {"weights": [1, 2], "cap": 3}, {"weights": [1] * 4, "cap": 0}, {"weights": np.array(["a"] * 4)}],
)
def test_weights_are_checked(wrong):
    """A cap without weights, too few weights, a cap of zero, no numbers."""
    with pytest.raises(DitherError):
        Graph(EDGES, n=5, **wrong)


def test_weights_from_other_libraries():
    """networkx, igraph and scipy carry weights."""
    weights = [1, 2, 3, 4]
    known = nx.Graph()
    known.add_nodes_from(range(5))
    known.add_weighted_edges_from((*edge, w) for edge, w in zip(EDGES, weights, strict=True))
    matrix = scipy.sparse.coo_array((weights, tuple(zip(*EDGES, strict=True))), shape=(5, 5))
    for graph in (
        Graph.from_networkx(known, weight="weight", cap=9),
        Graph.from_igraph(igraph.Graph(n=5, edges=EDGES, edge_attrs={"w": weights}), weight="w", cap=9),
        Graph.from_scipy(matrix + matrix.T, weighted=True, cap=9),
    ):
        assert (graph.weight_steps(graph.weight_grid(step=1))).tolist() == [1, 3, 2, 4]


def test_nothing_private_is_shown():
    """The printed form has the number of vertices and nothing else."""
    assert repr(dt.Graph(EDGES, n=5)) == "Graph(n=5, edges=<private>)"
    assert repr(dt.Graph(EDGES, n=5, weights=[1] * 4, cap=3)) == "Graph(n=5, weights=<private>)"
