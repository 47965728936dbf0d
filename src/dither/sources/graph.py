"""Graphs on a public set of vertices; edges (or edge weights) belong to people and are private."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument, InvalidData
from dither.kernels.adjacency import Ends, Starts, compressed, edge_list
from dither.kernels.common_neighbours import Frontier, common_frontier
from dither.kernels.triangles import Ranked, Short, edge_supports
from dither.numbers import Number, exact
from dither.privacy import Neighbours
from dither.sources.column import Shape, as_array
from dither.sources.entries import reals
from dither.sources.files import Masked, file_column_type, read_file_column
from dither.sources.frames import Scalar, object_array
from dither.sources.graph_schema import MOST_VERTICES, Whose, per_vertex
from dither.sources.grid import Grid

if TYPE_CHECKING:
    import igraph
    import networkx as nx
    import pandas as pd
    import scipy.sparse

    from dither.typing import Column, EdgeList

Pairs: TypeAlias = NDArray[np.int64] | NDArray[np.int32]


@dataclass(frozen=True)
class GraphShape(Shape):
    """What is public about a graph: its vertices, and its edges too if only weights are private."""

    neighbours: Neighbours = Neighbours.EDGE

    @classmethod
    def of(cls, vertices: int, neighbours: Neighbours) -> GraphShape:
        """The facts of so many vertices."""
        return cls(vertices, whole=True, nullable=False, neighbours=neighbours)

    @property
    def vertices(self) -> int:
        """The number of vertices."""
        return self.records


class Graph:
    """An undirected simple graph.  The vertices 0 .. n - 1 are public.

    Without weights every edge is a person's: neighbours differ in one edge, and even the number of edges is private.
    With ``neighbours="node"`` every vertex is a person: neighbours differ in all edges of one vertex.  The vertices
    stay public, and n is a cap on how many people there can be: somebody who is not there is a vertex without edges,
    so that coming, going and changing all of one's edges are one step.
    With weights every weight is a person's: neighbours differ in one weight, and the edges are public.

    edges: whole numbers in two columns, each edge once.
    n: the public number of vertices, known without looking at the edges.
    weights: a number for each edge, in the same order.
    cap: the public upper bound of the weights (the lower one is 0); weights outside are clamped, missing ones
        count as the cap.
    step: the public grid of the weights; by default 1 for whole numbers, else 2**-36 of the cap.
    strict: raise InvalidData if anything had to be cleaned away.
    neighbours: whose the edges are, "edge" or "node"; without weights only.

    **Cleaning.**  Where edges are private, an error that depends on them is a leak.  So loops, pairs with a vertex
    outside 0 .. n - 1 and rows that are no pair of whole numbers are left out (1.0 and "1" are the vertex 1, as in a
    file), and repeated or reversed pairs count once: a row more or less still changes the graph by at most one edge,
    and all rows that name a vertex change no edges but its own.
     ``strict=True`` is for the owner, who may look.  Where edges are public (weights given)
    such rows are errors always.

    >>> Graph([(0, 1), (1, 2), (2, 0)], n=4)
    Graph(n=4, edges=<private>)
    """

    def __init__(
        self,
        edges: EdgeList,
        *,
        n: int,
        weights: Column | None = None,
        cap: Number | None = None,
        step: Number | None = None,
        strict: bool = False,
        neighbours: Whose = "edge",
    ) -> None:
        self._per_vertex = per_vertex(neighbours, weighted=weights is not None)
        pairs = _pairs(edges)
        self._starts, self._ends = compressed(pairs, _vertices(n))
        self._weights: NDArray[np.generic] | None = None
        self._cap, self._step = cap, step
        if weights is None:
            if cap is not None or step is not None:
                given = "cap" if cap is not None else "step"
                raise InvalidArgument(
                    given,
                    cap if cap is not None else step,
                    "is for a graph with weights: pass weights, or leave it out",
                )
        elif len(self._ends) == 2 * len(pairs):
            self._weights = _in_order(pairs, as_array(weights, "weights"))
            if cap is not None:
                self.weight_grid()
        if len(self._ends) != 2 * len(pairs) and (strict or weights is not None):
            raise InvalidData(f"edges: {_fault(pairs, self.vertices)}; nothing was charged")

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        n: int | None = None,
        vertices: Sequence[int] | None = None,
        source: str = "source",
        target: str = "target",
        weight: str | None = None,
        cap: Number | None = None,
        step: Number | None = None,
        strict: bool = False,
        neighbours: Whose = "edge",
        withheld: bool = False,
    ) -> Graph:
        """From two columns of a CSV, TSV or Parquet edge list (its first line names them).

        Vertices are the numbers 0 .. n - 1, or the public numbers listed in ``vertices``.  Entries that are not whole
        numbers are vertices outside; see the class for what that means.

        withheld: leave the private weights in the file and put zeros of their type in their place, for plans that are
            made of the public edges before anything is paid.
        """
        columns = file_ends(path, (source, target))
        if weight is None:
            weights = None
        elif withheld:
            weights = np.zeros(len(columns[0]), dtype=file_column_type(path, weight))
        else:
            weights = read_file_column(path, weight)
        if (n is None) == (vertices is None):
            raise InvalidArgument("n", n, "pass either n or vertices")
        if vertices is not None:
            names, n = np.asarray(vertices), len(vertices)
            if names.ndim != 1 or names.dtype.kind not in "iu" or len(np.unique(names)) != n:
                raise InvalidArgument("vertices", type(vertices), "must be distinct whole numbers")
            columns = [_places(column, names) for column in columns]
        return cls(
            np.stack(columns, axis=1),
            n=_vertices(n),
            weights=weights,
            cap=cap,
            step=step,
            strict=strict,
            neighbours=neighbours,
        )

    @classmethod
    def from_networkx(
        cls,
        graph: nx.Graph,
        *,
        weight: str | None = None,
        cap: Number | None = None,
        step: Number | None = None,
        strict: bool = False,
        neighbours: Whose = "edge",
    ) -> Graph:
        """From a networkx graph: its nodes are public, in the order in which it lists them; directions are ignored."""
        place = {node: index for index, node in enumerate(graph.nodes)}
        rows = np.fromiter((place[node] for pair in graph.edges() for node in pair), dtype=np.int64)
        weights = None if weight is None else [value for *_, value in graph.edges(data=weight)]
        return cls(
            rows.reshape(-1, 2), n=len(place), weights=weights, cap=cap, step=step, strict=strict, neighbours=neighbours
        )

    @classmethod
    def from_igraph(
        cls,
        graph: igraph.Graph,
        *,
        weight: str | None = None,
        cap: Number | None = None,
        step: Number | None = None,
        strict: bool = False,
        neighbours: Whose = "edge",
    ) -> Graph:
        """From an igraph graph; directions are ignored."""
        rows = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
        weights = None if weight is None else graph.es[weight]
        return cls(rows, n=graph.vcount(), weights=weights, cap=cap, step=step, strict=strict, neighbours=neighbours)

    @classmethod
    def from_scipy(
        cls,
        matrix: scipy.sparse.spmatrix,
        *,
        weighted: bool = False,
        cap: Number | None = None,
        step: Number | None = None,
        strict: bool = False,
        neighbours: Whose = "edge",
    ) -> Graph:
        """From a sparse adjacency matrix: a stored entry that is not zero is an edge; one triangle of it, or both.

        With ``weighted`` every stored entry is an edge and its weight; where both triangles are stored those below the
        diagonal must be at the places of those above, and their weights are not looked at.
        """
        rows, columns = matrix.shape
        if rows != columns:
            raise InvalidArgument("matrix", (rows, columns), "must be a square matrix")
        entries = matrix.tocoo()
        # One triangle alone, or both, is the same graph; both would look like repetitions to the strict.
        both = np.any(entries.row > entries.col) and np.any(entries.row < entries.col)
        kept = np.ones(len(entries.data), dtype=bool) if weighted else entries.data != 0
        if weighted and both:
            _check_repeated(entries.row, entries.col, rows)
        if both and (weighted or _symmetric(entries.row[kept], entries.col[kept], rows)):
            kept &= entries.row <= entries.col
        pairs = np.stack([entries.row[kept], entries.col[kept]], axis=1)
        weights = entries.data[kept] if weighted else None
        return cls(pairs, n=rows, weights=weights, cap=cap, step=step, strict=strict, neighbours=neighbours)

    def __repr__(self) -> str:
        hidden = "weights=<private>" if self.weighted else "edges=<private>"
        return f"Graph(n={self.vertices}, {hidden})"

    @property
    def vertices(self) -> int:
        """The public number of vertices."""
        return len(self._starts) - 1

    @property
    def weighted(self) -> bool:
        """True if weights, not edges, are private."""
        return self._weights is not None

    @property
    def neighbours(self) -> Neighbours:
        """Which graphs a guarantee compares: one edge, the edges of one vertex, or one weight differs."""
        if self.weighted:
            return Neighbours.WEIGHT
        return Neighbours.NODE if self._per_vertex else Neighbours.EDGE

    @property
    def shape(self) -> GraphShape:
        """The public facts."""
        return GraphShape.of(self.vertices, self.neighbours)

    @property
    def starts(self) -> Starts:
        """Where the neighbours of each vertex begin in ``ends``; private unless weights are given."""
        return self._starts

    @property
    def ends(self) -> Ends:
        """The neighbours of all vertices, rising within each; private unless weights are given."""
        return self._ends

    @functools.cached_property
    def edges(self) -> NDArray[np.int32]:
        """Every edge once, u < v, in rising order; private unless weights are given."""
        return edge_list(self._starts, self._ends)

    @functools.cached_property
    def ranked(self) -> Ranked:
        """The rows with vertices renamed by falling degree; private unless weights are given."""
        return Ranked.of(self._starts, self._ends)

    @functools.cached_property
    def supports(self) -> Short:
        """In how many triangles each entry of ``ranked.ends`` lies; private unless weights are given."""
        return edge_supports(self.ranked)

    @functools.cached_property
    def frontier(self) -> Frontier:
        """The common neighbourhoods that matter; private unless weights are given."""
        return common_frontier(self.ranked)

    @property
    def size(self) -> int:
        """The number of edges; private unless weights are given."""
        return len(self._ends) // 2

    def weight_grid(self, cap: Number | None = None, step: Number | None = None) -> Grid:
        """The public grid of the weights; what is not given is what the graph declares."""
        cap, step = self._cap if cap is None else cap, self._step if step is None else step
        if self._weights is None:
            raise InvalidArgument("graph", type(self), "must be a graph with weights")
        if cap is None:
            raise InvalidArgument("cap", None, "must be a public upper bound of the weights")
        if exact(cap, "cap") <= 0:
            raise InvalidArgument("cap", cap, "must be a public upper bound of the weights, above 0")
        return Grid.between((0, cap), step, whole=self._weights.dtype.kind in "iub")

    def weight_steps(self, grid: Grid) -> NDArray[np.int64]:
        """The weights of ``edges`` in whole grid steps, clamped to the grid: private."""
        raw = np.ma.MaskedArray(self._weights)
        _, cap = grid.ends
        steps = grid.quantise(np.asarray(raw.filled(0)), cap)
        steps[np.ma.getmaskarray(raw)] = cap
        return steps


def file_ends(path: str | Path, ends: tuple[str, str]) -> list[NDArray[np.int64]]:
    """Private: both ends of every record of a file; what is no whole number from 0 on is -1."""
    return [_whole(read_file_column(path, name, empty=True)) for name in ends]


def as_graph(given: object) -> Graph:  # anything: a graph of any library
    """A graph of this library, of networkx or igraph, or a sparse adjacency matrix, without weights."""
    if isinstance(given, Graph):
        return given
    makers: dict[str, Callable[..., Graph]] = {
        "networkx": Graph.from_networkx,
        "igraph": Graph.from_igraph,
        "scipy": Graph.from_scipy,
    }
    maker = makers.get(type(given).__module__.partition(".")[0])
    if maker is None or not (hasattr(given, "edges") or hasattr(given, "vcount") or hasattr(given, "tocoo")):
        such = "dither.Graph(edges, n=100), or one of networkx, igraph or scipy.sparse"
        raise InvalidArgument("data", type(given), f"must be a graph such as {such}")
    return maker(given)


def _vertices(n: int | None) -> int:
    if isinstance(n, (int, np.integer)) and not isinstance(n, bool) and 1 <= n <= MOST_VERTICES:
        return int(n)
    raise InvalidArgument("n", n, f"must be a whole number of vertices from 1 to {MOST_VERTICES}")


def _pairs(edges: EdgeList) -> Pairs:
    """Two columns of whole numbers, or an error that shows no entry of them."""
    accepted = "must be whole numbers in two columns, a row for each edge"
    if isinstance(edges, (str, Path)):
        raise InvalidArgument("edges", str(edges), f"{accepted}; Graph.from_file reads a file")
    if hasattr(edges, "to_numpy") and hasattr(edges, "columns"):
        return _from_frame(edges, accepted)
    if isinstance(edges, (str, bytes, Mapping)) or not isinstance(edges, (np.ndarray, Sequence)):
        raise InvalidArgument("edges", type(edges), accepted)
    array = edges if isinstance(edges, np.ndarray) else _plain_rows(edges)
    if array.dtype == object and array.ndim in (1, 2):
        return _from_rows(array)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iufb":
        raise InvalidArgument("edges", type(edges), accepted)
    if isinstance(array, np.ma.MaskedArray) or array.dtype.kind in "fb":
        return _whole(np.ma.MaskedArray(array))
    if array.dtype == np.uint64:
        array = np.minimum(array, np.uint64(MOST_VERTICES + 1))
    if array.dtype == np.int32:
        return np.ascontiguousarray(array, dtype=np.int32)
    return np.ascontiguousarray(array, dtype=np.int64)


def _from_frame(frame: pd.DataFrame, accepted: str) -> NDArray[np.int64]:
    """The two columns of a frame.  A missing entry may turn its column into another type: it is a vertex outside."""
    names = list(frame.columns)
    if len(names) != 2:
        raise InvalidArgument("edges", type(frame), accepted)
    if len(frame) == 0:
        return np.zeros((0, 2), dtype=np.int64)
    columns = (np.ma.MaskedArray(as_array(frame[name], "edges")) for name in names)
    return np.stack([_whole(column) for column in columns], axis=1)


def _plain_rows(rows: Sequence[Sequence[Scalar]]) -> NDArray[np.generic]:
    """A list of pairs of whole numbers as an array of them; any other list as an array of its rows, unread.

    Both are read alike, row by row: the first is the faster way to the same pairs.
    """
    with contextlib.suppress(Exception), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        array = np.asarray(rows)
        if array.dtype.kind == "i" and array.ndim == 2 and array.shape[1] == 2:
            return array
    return object_array(list(rows))


def _from_rows(rows: NDArray[np.generic]) -> NDArray[np.int64]:
    """Rows without a declared type, each read by itself: what is no pair is an edge outside, which is left out."""
    numbers = reals(entry for row in rows for entry in _two_ends(row))
    return _whole(np.ma.MaskedArray(numbers.reshape(-1, 2)))


def _two_ends(row: object) -> tuple[object, object]:  # anything: a row of a list
    try:
        if isinstance(row, (Collection, np.ndarray)) and not isinstance(row, (str, bytes, Mapping)) and len(row) == 2:
            first, second = row
            return first, second
    except (Exception, SystemExit):  # noqa: BLE001  (a row may be of anybody's own class)
        pass
    return None, None


def _whole(column: Masked) -> NDArray[np.int64]:
    """A column of vertex numbers; whatever is no whole number from 0 on is the vertex -1, which is outside."""
    # Unsigned numbers have no -1; what does not fit is outside as well.
    numbers = column.filled(np.iinfo(str(column.dtype)).max if column.dtype.kind == "u" else -1)
    if numbers.dtype.kind == "u":
        numbers = np.minimum(numbers, np.uint64(MOST_VERTICES + 1))
    if numbers.dtype.kind in "iub":
        return numbers.astype(np.int64)
    usable = np.isfinite(numbers) & (numbers == np.rint(numbers)) & (np.abs(numbers) < 2.0**53)
    return np.where(usable, numbers, -1.0).astype(np.int64)


def _places(column: NDArray[np.int64], names: NDArray[np.integer]) -> NDArray[np.int64]:
    """The index of every entry among the names; -1 for others."""
    order = np.argsort(names)
    result = np.minimum(np.searchsorted(names[order], column), len(names) - 1)
    return np.where(names[order][result] == column, order[result], -1)


def _symmetric(rows: Pairs, columns: Pairs, n: int) -> bool:
    """Whether every pair appears in both directions."""
    ahead, back = rows.astype(np.int64) * n + columns, columns.astype(np.int64) * n + rows
    return bool(np.array_equal(np.sort(ahead), np.sort(back)))


def _check_repeated(rows: Pairs, columns: Pairs, n: int) -> None:
    """Refuse entries below the diagonal that no entry above repeats: their edges, which are public, would get lost."""
    places = rows.astype(np.int64) * n + columns
    mirrored = columns.astype(np.int64) * n + rows
    if not np.isin(mirrored[rows > columns], places[rows < columns]).all():
        raise InvalidData("matrix: some entry below the diagonal has none above it; nothing was charged")


def _in_order(pairs: Pairs, weights: NDArray[np.generic]) -> NDArray[np.generic]:
    """Weights rearranged from the order of the pairs to the rising order of the edges."""
    if len(weights) != len(pairs):
        raise InvalidArgument("weights", type(weights), "must be one weight for each edge")
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    return np.ma.MaskedArray(weights)[np.lexsort((high, low))]


def _fault(pairs: Pairs, n: int) -> str:
    """What is wrong, in words that quote no edge."""
    if np.any((pairs < 0) | (pairs >= n)):
        return f"some vertex lies outside 0 .. n - 1 for n={n}"
    if np.any(pairs[:, 0] == pairs[:, 1]):
        return "some edge is a loop"
    return "some edge appears twice (perhaps in both directions)"
