"""Edge lists in every source: odd records count by one rule, which brute force applies record by record."""

import contextlib
import decimal
import math
import warnings

import pyarrow as pa
import pytest

import dither as dt
from contract.record_sources import EVERYWHERE, SPARK, TEXTS, some, stored
from dither.sources.graph_schema import opened_edge_list
from dither.sources.schema_file import dump_schema, load_schema

VERTICES, CAP = 7, 10
NAN, INF = math.nan, math.inf
DOUBLES = [None, NAN, INF, -INF, 1e308, -1e308, 5e-324, -5e-324, -0.0, 0.5, -0.5, 6 - 1e-9, 6 + 1e-9, -1.0, 6.0, 7.0]
DOUBLES += [2.0**31, 2.0**32 + 1, -(2.0**32) + 1, 2.0**53, 2.0**62, 2.0**63, 2.0**64, -(2.0**63)]
ODD = {
    "doubles": (pa.float64(), DOUBLES),
    "whole": (pa.int64(), [None, -1, 0, 6, 7, 2**31, 2**32 + 1, 2**53 + 1, 2**63 - 1, -(2**63)]),
    "unsigned": (pa.uint64(), [None, 0, 6, 7, 2**31, 2**32 + 1, 2**63, 2**64 - 1]),
    "decimals": (pa.decimal128(20, 2), [None, *map(decimal.Decimal, ("1.00", "1.01", "-1.00", "7", "1e17", "-1e17"))]),
    "truth": (pa.bool_(), [None, True, False]),
}
"""Entries of each stored type: missing, no number, infinite, fractions, outside, and what would wrap in 32 bits."""
WEIGHTS = [None, NAN, INF, -INF, 1e308, -1e308, 5e-324, -0.0, 3.0, 9.9, 10.0, 10.1, -1.0, 2.26, 7.74]
NUMBERS = {"1": 1, " 1": 1, "1 ": 1, "1.0": 1, "1e0": 1, "10e-1": 1, "+1": 1, "-0": 0, "0.0": 0, "true": 1, "6": 6}
NO_NUMBERS = ("", " ", "x", "1.5", "-1", "7", "NaN", "inf", "-inf", "1e400", "0x1", "1 2", "1,2", "1;2", "\u0661", '"')


def _vertex(entry):
    """The vertex that an entry is, or None."""
    if entry is None or not math.isfinite(entry) or entry != int(entry) or not 0 <= entry < VERTICES:
        return None
    return int(entry)


def _edges(rows):
    """The edges of the rows, in rising order: what is no pair of two different vertices is none."""
    pairs = ((_vertex(first), _vertex(second)) for first, second in rows)
    return sorted({(min(u, v), max(u, v)) for u, v in pairs if u is not None and v is not None and u != v})


def _rows(entries):
    """Every entry as either end of an edge, among ordinary edges; reversed, repeated and loops are among these."""
    ordinary = [entry for entry in entries if _vertex(entry) is not None]
    partners = [*ordinary[:2], entries[-1]]
    rows = [row for entry in entries for partner in partners for row in ((entry, partner), (partner, entry))]
    return [*rows, *((entry, entry) for entry in entries)]


@contextlib.contextmanager
def _opened(given, place, name, **options):
    """A session of the source: where it can stand in a schema file, of that file."""
    schema = dt.GraphSchema(
        given["source"], VERTICES, "friends", ("a", "b"), table=given.get("table"), budget=dt.Budget(1e6), **options
    )
    where = schema
    if isinstance(given["source"], str):
        where = place(name).file(".toml")
        where.write_text(dump_schema(schema))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with dt.open(where, ledger=":memory:") as session:
            yield session


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("name", some("graph records"))
def test_odd_records_are_no_edges(place, name, kind):
    """The edges of brute force, whole and by the answer; a record more or less changes no error."""
    stored_as, entries = ODD[kind]
    if kind == "unsigned" and name in SPARK:
        entries, stored_as = entries[:-2], pa.int64()  # (it has no such type)
    rows = _rows(entries)
    for part in (rows, rows[:-1], rows[1:]):
        columns = {end: pa.array([row[at] for row in part], stored_as) for at, end in enumerate("ab")}
        with _opened(stored(name, place, columns), place, name) as session:
            assert [tuple(map(int, edge)) for edge in session._source._private().edges] == _edges(part)
            assert session.ask(dt.Edges(), epsilon=1000).value == len(_edges(part))


@pytest.mark.parametrize("name", some("graph weights"))
def test_odd_weights_count_by_one_rule(place, name):
    """Missing ones and NaN are the cap, others are clamped; the edges, which are public, are read without them."""
    pairs = [(u, v) for u in range(VERTICES) for v in range(u)][: len(WEIGHTS)]
    counted = [CAP if one is None or math.isnan(one) else min(max(one, 0), CAP) for one in WEIGHTS]
    expected = {(v, u): round(2 * weight) for (u, v), weight in zip(pairs, counted, strict=True)}
    columns = {"a": pa.array([u for u, _ in pairs]), "b": pa.array([v for _, v in pairs]), "w": WEIGHTS}
    with _opened(stored(name, place, columns), place, name, weight="w", cap=CAP, step=0.5) as session:
        graph = session._source._private()
        steps = graph.weight_steps(graph.weight_grid()).tolist()
        assert dict(zip(map(tuple, graph.edges.tolist()), steps, strict=True)) == expected
        assert session.ask(dt.MSTCost(), epsilon=1000).value >= 0


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_read_one_by_one(place, name):
    """In text files an entry is a number or none, whatever stands in other records."""
    for text, vertex in [*NUMBERS.items(), *((text, None) for text in NO_NUMBERS)]:
        for beside in ([], [("x", "3")], [("2", "3")]):
            rows = [(text, "3"), *beside]
            columns = {end: pa.array([row[at] for row in rows], pa.string()) for at, end in enumerate("ab")}
            known = [(vertex, 3), *((2, 3) for first, _ in beside if first == "2")]
            with _opened(stored(name, place, columns), place, name) as session:
                edges = [tuple(map(int, edge)) for edge in session._source._private().edges]
            assert edges == _edges(known), (text, beside)


def test_a_schema_file_says_where_the_edges_are(place, monkeypatch):
    """Addresses of databases stand there as variables, and no error or text of a session repeats what they hold."""
    given = EVERYWHERE["postgres_table"](place("postgres_table"), pa.table({"a": [0, 1], "b": [1, 2]}))
    monkeypatch.setenv("FRIENDS_DB", given["source"])
    file = place("postgres_table").file(".toml")
    file.write_text(dump_schema(dt.GraphSchema("${FRIENDS_DB}", 3, ends=("a", "b"), table=given["table"])))
    assert given["source"] not in repr(load_schema(file))
    with opened_edge_list(load_schema(file)) as listed:
        assert listed.read().edges.tolist() == [[0, 1], [1, 2]]
    monkeypatch.setenv("FRIENDS_DB", "postgresql://somebody:hunter2@127.0.0.1:1/none")
    with pytest.raises(dt.errors.SourceFailed) as caught, opened_edge_list(load_schema(file)):
        pass
    assert "hunter2" not in str(caught.value)
