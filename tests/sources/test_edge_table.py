"""Edge lists in tables: the same graph from DuckDB, PostgreSQL, Spark, SQLite and frames as from pairs in memory."""

import math

import numpy as np
import pyarrow as pa
import pytest

import dither as dt
from contract.record_sources import BY_ENGINE, Place
from dither.errors import InvalidArgument
from dither.sources.graph import Graph
from dither.sources.graph_schema import edge_list_of
from dither.sources.schema_file import dump_schema, load_schema

VERTICES = 20


def _rows():
    """Pairs, among them loops, repetitions, reversed ones, vertices outside and entries that are none."""
    pairs = np.random.default_rng(7).integers(0, VERTICES, (120, 2)).astype(float).tolist()
    strange = [math.nan, math.inf, -math.inf, 1e308, -1e308, 0.5, -1.0, float(VERTICES), 2.0**62, None]
    return [*pairs, *((entry, 1.0) for entry in strange), *((2.0, entry) for entry in strange)]


@pytest.fixture
def place(request, tmp_path_factory, spark):  # named, so that tests of Spark run one after the other
    """Where tables of every engine are made."""
    return Place(tmp_path_factory.mktemp("edges"), request.getfixturevalue)


def _schemas(place, table, **options):
    for name, build in BY_ENGINE.items():
        made = build(place, table)
        yield (
            name,
            dt.GraphSchema(
                made["source"], VERTICES, "friends", ("a", "b"), table=made.get("table"), engine=name, **options
            ),
        )
    yield "frame", dt.GraphSchema(table, VERTICES, "friends", ("a", "b"), **options)


@pytest.mark.slow
def test_the_same_graph_from_every_engine(place):
    """What is no edge is left out, record by record, as where pairs are given in memory."""
    rows = _rows()
    expected = Graph([row for row in rows if None not in row], n=VERTICES).edges.tolist()
    assert expected
    table = pa.table({"a": [row[0] for row in rows], "b": [row[1] for row in rows], "c": ["x"] * len(rows)})
    for name, schema in _schemas(place, table, budget=dt.Budget(100.0)):
        assert not schema.is_file
        assert edge_list_of(schema).read().edges.tolist() == expected, name
        with dt.open(schema) as session:
            assert session.ask(dt.Edges(), epsilon=50.0).value == pytest.approx(len(expected), abs=3)
            assert dt.inspect.value(dt.Edges(), session) == len(expected)
            assert session.budget.spent == dt.Loss(50.0)


@pytest.mark.parametrize("stored", [pa.int64(), pa.float64()])
def test_weights_of_every_engine(place, stored):
    """Edges are public and read without the weights, of which whole ones have a grid of whole numbers."""
    pairs = [(u, v) for u in range(VERTICES) for v in range(u)]
    weights = [float((u * v) % 7) for u, v in pairs]
    weights[3], weights[5] = None, 40.0
    table = pa.table(
        {
            "a": pa.array([u for u, _ in pairs], pa.int32()),
            "b": pa.array([v for _, v in pairs], pa.int64()),
            "w": pa.array(weights, pa.float64()).cast(stored),
        }
    )
    counted = [10.0 if weight is None else weight for weight in weights]
    plain = Graph(pairs, n=VERTICES, weights=np.array(counted).astype(stored.to_pandas_dtype()), cap=10)
    for name, schema in _schemas(place, table, weight="w", cap=10):
        edges = edge_list_of(schema)
        public, private = edges.read_public(), edges.read()
        assert public.edges.tolist() == private.edges.tolist() == plain.edges.tolist(), name
        assert public.weight_grid() == private.weight_grid() == plain.weight_grid(), name
        assert not public.weight_steps(public.weight_grid()).any()
        steps = [graph.weight_steps(graph.weight_grid()).tolist() for graph in (private, plain)]
        assert steps[0] == steps[1], name


def test_columns_that_cannot_be_ends(place):
    """By their declared type, which is public, before anything is read; and names that are not there."""
    table = pa.table({"a": ["0", "1"], "b": [1, 2]})
    for name, schema in _schemas(place, table):
        with pytest.raises(InvalidArgument, match="stores text"):
            edge_list_of(schema)
        absent = dt.GraphSchema(schema.source, 3, ends=("b", "z"), table=schema.table, engine=schema.engine)
        with pytest.raises(InvalidArgument, match="must be a column of the source"):
            edge_list_of(absent)
        assert name


def test_a_schema_file_names_table_and_engine(tmp_path):
    """Written and read again; an engine that is none is refused."""
    schema = dt.GraphSchema("postgresql://db/x", 5, "friends", table="public.edges", budget=dt.Budget(1.0))
    (tmp_path / "friends.toml").write_text(dump_schema(schema))
    again = load_schema(tmp_path / "friends.toml")
    assert (again.source, again.table, again.engine, again.is_file) == (
        "postgresql://db/x",
        "public.edges",
        None,
        False,
    )
    assert dt.GraphSchema("edges.csv", 5).is_file
    with pytest.raises(InvalidArgument, match="must be one of"):
        dt.GraphSchema("edges.csv", 5, engine="excel")
