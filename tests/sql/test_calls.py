"""Calls and the registry: every query has a function, and every text ends in a query or in an error that was meant."""

import contextlib
import dataclasses
import re
import string
import time
from decimal import Decimal
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dither as dt
from dither.errors import InvalidText
from dither.queries.documentation import page as queries_page
from dither.queries.registry import entries
from dither.session.graphs import GraphSession
from dither.session.statements import plan_for
from dither.sources.graph_schema import GraphSchema
from dither.sources.predicates import LONGEST
from dither.sql.calls import FILE, GRAPH, scope_of
from dither.sql.functions import functions_of
from dither.sql.statement import parse_file_call, parse_graph_items, parse_items, parse_sql
from registered import calls_of_columns

DOCS = Path(__file__).parents[2] / "docs"
PEOPLE = 2000
COLUMNS = {
    "a": dt.Real(0, 10),
    "b": dt.Real(0, 10),
    "y": dt.Real(0, 60),
    "job": dt.Category(["clerk", "nurse"]),
    "active": dt.Boolean(),
}
Q = (Decimal("0.1"), Decimal("0.9"))
TABLE = {
    "median": ("median(a)", dt.Median("a")),
    "quantile": ("quantile(a, 0.9)", dt.Quantile("a", q=Decimal("0.9"))),
    "quantiles": ("quantiles(a, 0.1, 0.9)", dt.Quantiles("a", q=Q)),
    "minimum": ("minimum(a)", dt.Minimum("a")),
    "maximum": ("maximum(a)", dt.Maximum("a")),
    "order_statistic": ("order_statistic(a, 5)", dt.OrderStatistic("a", rank=5)),
    "count": ("count(*)", dt.Count()),
    "count_present": ("count(a)", dt.CountPresent("a")),
    "quality": ("quality(a)", dt.Quality("a")),
    "sum": ("sum(a)", dt.Sum("a")),
    "mean": ("mean(a)", dt.Mean("a")),
    "trimmed_mean": ("trimmed_mean(a, 0.2)", dt.TrimmedMean("a", trim=Decimal("0.2"))),
    "smallest_sum": ("smallest_sum(a, 3)", dt.SmallestSum("a", k=3)),
    "variance": ("variance(a)", dt.Variance("a", ddof=1)),
    "std": ("std(a)", dt.Std("a", ddof=1)),
    "iqr": ("iqr(a)", dt.IQR("a")),
    "scale": ("scale(a)", dt.Scale("a")),
    "mode": ("mode(job)", dt.Mode("job")),
    "histogram": ("histogram(job)", dt.Histogram("job")),
    "counting_queries": ("counting_queries(active)", dt.CountingQueries(("active",))),
    "mean_vector": ("mean_vector(a, b)", dt.MeanVector(("a", "b"))),
    "ball_mean": ("ball_mean(a, b, radius => 20)", dt.BallMean(("a", "b"), radius=20)),
    "covariance": ("covariance(a, b)", dt.Covariance(("a", "b"))),
    "pair_covariance": ("pair_covariance(y, a)", dt.PairCovariance(("y", "a"))),
    "correlation": ("correlation(y, a)", dt.Correlation(("y", "a"))),
    "least_squares": ("least_squares(y, a)", dt.LeastSquares(("y", "a"))),
    "regression": ("regression(y, a, b)", dt.Regression("y", ("a", "b"))),
    "kmeans": ("kmeans(a, b, k => 2)", dt.KMeans(("a", "b"), k=2)),
    "kmeans_cost": ("kmeans_cost(a, b, [1, 2, 3, 4])", dt.KMeansCost(("a", "b"), centres=(1, 2, 3, 4))),
    "gaussian_mixture": ("gaussian_mixture(a, b, k => 2)", dt.GaussianMixture(("a", "b"), k=2)),
}
TABLE |= calls_of_columns("a", TABLE)
GRAPHS = {
    "edges": ("edges()", dt.Edges()),
    "triangles": ("triangles()", dt.Triangles()),
    "kstars": ("kstars(2)", dt.KStars(2)),
    "ktriangles": ("ktriangles(2)", dt.KTriangles(2)),
    "kcliques": ("kcliques(4)", dt.KCliques(4)),
    "min_cut": ("min_cut()", dt.MinCut()),
}
WEIGHTS = {
    "mst_cost": ("mst_cost()", dt.MSTCost()),
    "weighted_min_cut": ("weighted_min_cut()", dt.WeightedMinCut()),
}
WITHOUT = {
    "program",
    "chain_sum",
    "custom",
    "finite_space",
    "distance_to_property",
    "metric_release",
    "norm_release",
    "low_sample_release",
    "cascade",
}
"""What SQL can't say: code, a place in a public chain, and functions of the owner's own."""


@pytest.fixture(scope="module")
def people():
    """Two clusters of people with a response that is linear in their coordinates."""
    rng = np.random.default_rng(1)
    near, far = rng.normal(2, 0.3, PEOPLE // 2), rng.normal(8, 0.3, PEOPLE // 2)
    a, b = np.concatenate([near, far]), np.concatenate([far, near])
    data = {
        "a": a,
        "b": b,
        "y": 3 * a + 2 * b + rng.normal(0, 0.1, PEOPLE),
        "job": ["clerk"] * 1500 + ["nurse"] * 500,
        "active": [True, False] * (PEOPLE // 2),
    }
    return dt.open(data, columns=COLUMNS, rows=PEOPLE, name="people", budget=dt.Budget(1e6, 0.5))


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    """The complete graph on 30 vertices: with private edges, and with private weights."""
    file = tmp_path_factory.mktemp("graphs") / "edges.csv"
    file.write_text("source,target,w\n" + "".join(f"{i},{j},{(i * j) % 10}\n" for i, j in combinations(range(30), 2)))
    budget = dt.Budget(1e6, 0.5)
    friends = GraphSchema(str(file), 30, "friends", budget=budget)
    return GraphSession(friends), GraphSession(dataclasses.replace(friends, name="roads", weight="w", cap=10))


def test_every_query_has_a_function():
    """Of its own name; what SQL can't say has a reason."""
    assert {one.name for one in entries().values() if one.has("sql")} == {*TABLE, *GRAPHS, *WEIGHTS}
    assert {one.name for one in entries().values() if not one.has("sql")} == WITHOUT
    assert set(TABLE) <= set(functions_of(FILE))
    assert {*GRAPHS, *WEIGHTS} == set(functions_of(GRAPH))


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", TABLE)
def test_a_statement_is_the_query_and_is_answered(people, name):
    """Parsed into the very object that Python makes, and answered near what a query object is answered."""
    call, query = TABLE[name]
    text = f"SELECT {call} FROM people"
    assert parse_sql(text, people.schema).queries == [(query, None)]
    release = people.sql(text, epsilon=400, delta=1e-3)
    assert not release.refused
    again = people.ask(query, epsilon=400, delta=1e-3)
    assert again.value == release.value, "the same question is answered from the store"


@pytest.mark.parametrize("name", [*GRAPHS, *WEIGHTS])
def test_a_statement_about_a_graph_is_the_query_and_is_answered(graphs, name):
    """Alone and in a list; the list shares the loss."""
    session = graphs[name in WEIGHTS]
    call, query = {**GRAPHS, **WEIGHTS}[name]
    text = f"SELECT {call} FROM {session.schema.name}"
    assert parse_sql(text, session.schema).queries == [(query, None)]
    assert parse_graph_items(call).queries == [(query, None)]
    release = session.sql(text, epsilon=100)
    assert session.ask(query, epsilon=100).value == release.value
    both = session.sql(f"SELECT {call} AS one, {call} FROM {session.schema.name}", epsilon=8, weights={"one": 3})
    assert [one.loss.epsilon for one in both] == [6.0, 2.0]
    assert both[0].alias == "one"
    quotes = session.quote(f"SELECT {call}, {call} FROM {session.schema.name}", epsilon=8)
    assert [one.loss.epsilon for one in quotes] == [4.0, 4.0]


def test_a_statement_about_a_graph_is_about_all_of_it(graphs):
    """No filter, no groups, no columns, no other table; nothing is charged."""
    session, _ = graphs
    spent = session.budget.spent
    for text, at, reason in (
        ("SELECT triangles() FROM friends WHERE source = 1", "WHERE", "a graph is asked as a whole"),
        ("SELECT triangles() FROM friends GROUP BY source", "GROUP BY", "a graph is asked as a whole"),
        ("SELECT source, triangles() FROM friends", "source", "a graph has no columns"),
        ("SELECT median(source) FROM friends", "source", "a graph has no columns"),
        ("SELECT median() FROM friends", "median", "it is asked of a column"),
        ("SELECT trangles() FROM friends", "trangles", "did you mean triangles()"),
        ("SELECT triangles(2) FROM friends", "2", "write only triangles()"),
        ("SELECT kstars() FROM friends", "kstars()", "write kstars(k)"),
        ("SELECT kstars(2.5) FROM friends", "2.5", "k is a whole number"),
        ("SELECT kstars(0) FROM friends", "kstars(0)", "k must be a whole number of at least 1"),
        ("SELECT kstars(k => 0) FROM friends", "k => 0", "k must be a whole number of at least 1"),
        ("SELECT triangles() FROM people", "people", "the registered one is friends"),
        ("SELECT triangles(), mst_cost() FROM friends", "mst_cost()", "declares weight and cap"),
        ("SELECT kstars(40) FROM friends", "kstars(40)", "at least 41 vertices"),
    ):
        with pytest.raises(dt.InvalidArgument, match=re.escape(reason)) as caught:
            session.sql(text, epsilon=1)
        if isinstance(caught.value, InvalidText):
            assert text[caught.value.start : caught.value.end] == at
    assert session.budget.spent == spent


@pytest.mark.parametrize(
    ("call", "at", "reason"),
    [
        ("medain(a)", "medain", "not offered; did you mean median(column)"),
        ("stdev(a)", "stdev", "not offered; did you mean std"),
        ("triangles()", "triangles", "not offered of a table: it is asked of a graph"),
        ("covariance(a, 2)", "2", "write only covariance(column, ...)"),
        ("covariance(a, a)", "covariance(a, a)", "a list of different names"),
        ("regression()", "regression()", "write regression(target, feature, ...)"),
        ("kmeans(a, b)", "kmeans(a, b)", "write kmeans(column, ..., k => 3)"),
        ("kmeans(a, 3, b)", "b", "write a number behind a"),
        ("kmeans(a, k => 3, b)", "b", "field => value"),
        ("kmeans(a, 3, k => 3)", "3", "only kmeans(column, ..., k => 3)"),
        ("kmeans(a, k => 3, k => 3)", "k => 3", "k is given twice"),
        ("kmeans(a, kk => 3)", "kk => 3", "no field kk; did you mean k?; its fields are k, bounds"),
        ("kmeans(a, k => 2.5)", "k => 2.5", "k is a whole number"),
        ("kmeans(a, k => 1e999999999)", "k => 1e999999999", "k is a whole number"),
        ("kmeans(a, k => a)", "a", "write a value of k"),
        ("kmeans(a, k =>)", ")", "columns and numbers"),
        ("kmeans(a, columns => 2)", "columns => 2", "has no field columns"),
        ("count(*, bounds => [0, 5])", "bounds => [0, 5]", "has no field bounds"),
        ("var_pop(a, ddof => 1)", "ddof => 1", "has no field ddof"),
        ("median(a, nulls => 'middle', bounds => [0, 1])", "nulls => 'middle'", 'a number, "lower" or "upper"'),
        ("iqr(a, low => 0.8)", "low => 0.8", "a share below high"),
        ("smallest_sum(a)", "smallest_sum(a)", "write smallest_sum(column, 3)"),
        ("mode(*)", "mode(*)", "write mode(column)"),
        ("scale(a, low => [1])", "low => [1]", "low must"),
        ("kmeans(a, k => 0)", "k => 0", "k must be a whole number from 1"),
        ("covariance(a, b, bounds => [0, 1])", "bounds => [0, 1]", "has no field bounds"),
        ("regression(y, a, intercept => 2)", "intercept => 2", "true or false"),
    ],
)
def test_errors_point_at_the_place_and_say_what_to_write(people, call, at, reason):
    """In a statement as at the shell."""
    for text in (call, f"min(a), {call} AS x"):
        with pytest.raises(InvalidText, match=re.escape(reason)) as caught:
            parse_items(text, people.schema)
        error = caught.value
        assert text[error.start : error.end] == at
        assert error.end == len(text) - text[::-1].index(at[::-1]) or text.count(at) > 1


@pytest.mark.parametrize(
    ("call", "query"),
    [
        ("median(total pay)", dt.Median("total pay")),
        ("median( total-pay % )", dt.Median("total-pay %")),
        ('median("total, pay")', dt.Median("total, pay")),
        ("median(Pay)", dt.Median("Pay")),
        ("median(2014)", dt.Median("2014")),
        ("median(2014 pay)", dt.Median("2014 pay")),
        ("quantile(2014, 0.9)", dt.Quantile("2014", q=Decimal("0.9"))),
        ("quantile(from, [0.1, .9])", dt.Quantiles("from", q=Q)),
        ("percentile_disc(0.9) WITHIN GROUP (ORDER BY my pay)", dt.Quantile("my pay", q=Decimal("0.9"))),
        ("count(*)", dt.Count()),
        ("count(on)", dt.CountPresent("on")),
        ("count_if(on)", dt.Count("on")),
        ("variance(x)", dt.Variance("x")),
        ("variance(x, ddof => 1)", dt.Variance("x", ddof=1)),
        ("var_samp(x)", dt.Variance("x", ddof=1)),
        ("covariance(a b, c d)", dt.Covariance(("a b", "c d"))),
        ("regression(y, x 1, x 2)", dt.Regression("y", ("x 1", "x 2"))),
        ("kmeans(a, b, 3)", dt.KMeans(("a", "b"), k=3)),
        ("covariance(a, b, bounds => [0, 1])", dt.Covariance(("a", "b"), bounds=(0, 1))),
    ],
)
def test_columns_of_a_file_have_any_name(call, query):
    """Nobody declares them; a query's own name is what it is in Python, but counts are those of SQL."""
    assert parse_file_call(call, {}).queries == [(query, None)]


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("median(a), mean(a)", "write one function here"),
        ("regression(y)", "write regression(target, feature, ...)"),
        ("median(f(a))", "no expressions"),
        ("median('a')", "no expressions"),
        ('median(a "b")', "no expressions"),
        ("median(a", "never closed"),
        ("median(,)", "no expressions"),
        ("median()", "write median(column)"),
        ("count()", "write count(column)"),
        ("median(a, k = 3)", "has no field k"),
    ],
)
def test_other_calls_about_a_file_are_refused(call, reason):
    """With a mark at the place."""
    with pytest.raises(InvalidText, match=re.escape(reason)):
        parse_file_call(call, {})


def test_fields_can_be_given_apart_from_the_call():
    """Once; and only those that the query has."""
    assert parse_file_call("median(a)", {"bounds": (0, 1)}).items[0].query == dt.Median("a", bounds=(0, 1))
    for call, given_apart, reason in (
        ("median(a, bounds => [0, 1])", {"bounds": (0, 1)}, "stands in the call already"),
        ("mode(a)", {"bounds": (0, 1)}, "does not take it"),
        ("count(a)", {"step": 1}, "does not take it"),
    ):
        with pytest.raises(dt.InvalidArgument, match=reason):
            parse_file_call(call, given_apart)


# --- any text ----------------------------------------------------------------------------------------------

NAMES = sorted({*functions_of(FILE), *functions_of(GRAPH)})
FIELDS = sorted({field for one in entries().values() for field in one.fields})
VALUES = st.one_of(
    st.integers().map(str),
    st.decimals().map(str),
    st.sampled_from(["true", "false", "null", "''", "'lower'", "[]"]),
    st.lists(st.sampled_from(["0", "1", "-2.5", "1e400", "1e999999999", "'a'", "true", "[0, 1]"]), max_size=4).map(
        lambda values: f"[{', '.join(values)}]"
    ),
)
ARGUMENTS = st.one_of(
    st.sampled_from(["a", "b", "y", "job", "active", "*", '"a"', "nothing", "a.b", "2"]),
    VALUES,
    st.builds("{} {} {}".format, st.sampled_from([*FIELDS, "nothing"]), st.sampled_from(["=>", "=", ":="]), VALUES),
)
CALLS = st.builds(
    lambda name, arguments, end: f"{name}({', '.join(arguments)}{end}",
    st.sampled_from([*NAMES, "medain", '"median"', ""]),
    st.lists(ARGUMENTS, max_size=5),
    st.sampled_from([")", "", ")) ", ") AS x", ") WITHIN GROUP (ORDER BY a)"]),
)
TEXTS = st.one_of(CALLS, st.lists(CALLS, max_size=3).map(", ".join), st.text(), st.text(string.printable))


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(TEXTS)
@example("kmeans(a, k => 1e999999999)")
@example("histogram(job, categories => [[0, 1]])")
@example("median(a = = 1)")
def test_any_call_is_a_query_or_an_error_that_was_meant(people, graphs, text):
    """Of a table, a graph and a file; and what was read can be planned or is refused with a reason."""
    friends, _ = graphs
    for read in (
        lambda: parse_items(text, people.schema),
        lambda: parse_sql(f"SELECT {text} FROM people", people.schema),
        lambda: parse_sql(f"SELECT {text} FROM friends", friends.schema),
        lambda: parse_file_call(text, {}),
    ):
        try:
            statement = read()
        except dt.DitherError as error:
            assert "nothing was charged" in str(error)  # noqa: PT017
            continue
        assert statement.items


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_value_of_a_field_is_planned_or_refused(people, data):
    """No value of a field that a text can write makes another error than those that were meant."""
    name = data.draw(st.sampled_from(sorted(TABLE)))
    entry = entries()[name]
    field, value = data.draw(st.sampled_from([*entry.settable, "nothing"])), data.draw(VALUES)
    call = f"{TABLE[name][0].removesuffix(')')}, {field} => {value})"
    try:
        for query, _ in parse_items(call, people.schema).queries:
            plan_for(query, people.schema, epsilon=1.0, delta=1e-3)
    except dt.DitherError as error:
        assert "nothing was charged" in str(error)  # noqa: PT017


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "repeated",
    ["a, ", "1, ", "k => 1, ", "[", "median(a), ", "median(a) AS x, ", "x", "a b ", '"a"', "((", "-", "=>", "/*", "'"],
)
def test_the_time_of_reading_grows_with_the_text(people, repeated):
    """The longest text that is accepted takes about a second, whatever is repeated in it; with its square, minutes.

    A quarter of it takes a quarter of the time, on any machine; a sixteenth if time grew with the square.
    """

    def seconds(length: int) -> float:
        text = (repeated * length)[: length - 100]
        start = time.process_time()
        for tried in (text, f"kmeans(a, {text}", f"kmeans({text}k => 3)"):
            for read in (lambda t: parse_items(t, people.schema), lambda t: parse_file_call(t, {})):
                with contextlib.suppress(dt.DitherError):
                    read(tried)
        return time.process_time() - start

    assert seconds(LONGEST) < 1 + 10 * seconds(LONGEST // 4)


# --- documentation -----------------------------------------------------------------------------------------


def documented():
    """The calls of the tables in docs/sql.md, of tables and of graphs."""
    text = (DOCS / "sql.md").read_text()
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    return [call for row in rows for call in re.findall(r"`([^`]+)`", row)]


def generated():
    """The calls of the table of queries, which is written from the registry and to which docs/sql.md links."""
    rows = [row.split(" | ") for row in queries_page().splitlines() if row.startswith("| `")]
    return [call for row in rows for call in re.findall(r"`([^`]+)`", row[3])]


def is_plain(entry, function):
    """Whether a function is named like its query and means the same as in Python: the generated table is enough."""
    return function.function == entry.name and not (function.fixed or function.star or function.within or function.note)


def test_the_documentation_lists_every_function():
    """And no other; every call that docs/sql.md shows can be read, and it has those that need a word."""
    schema = dt.Schema(
        "x.csv",
        {
            "c": dt.Real(0, 1),
            "d": dt.Real(0, 1),
            "y": dt.Real(0, 1),
            "x1": dt.Real(0, 1),
            "x2": dt.Real(0, 1),
            "flag": dt.Boolean(),
        },
        unit="person",
        rows_per_unit=1,
    )
    rows = documented()
    known = {*functions_of(scope_of(schema)), *functions_of(GRAPH)}
    assert {call.split("(")[0] for call in generated()} == known
    assert {call.split("(")[0] for call in rows} <= known
    assert "reference/queries.md" in (DOCS / "sql.md").read_text()
    explained = {one.function for entry in entries().values() for one in entry.functions if not is_plain(entry, one)}
    assert explained <= {call.split("(")[0] for call in rows}
    for call in rows:
        if call.split("(")[0] in functions_of(GRAPH):
            assert len(parse_graph_items(call).items) == 1
        else:
            assert len(parse_items(call, schema).items) == 1


def test_what_a_function_takes_is_a_field_of_its_query():
    """The registry can't name what is not there."""
    for entry in entries().values():
        for one in entry.functions:
            named = {each.field for each in one.numbers} | set(one.fixed)
            assert named <= set(entry.settable), (entry.name, one.function)
