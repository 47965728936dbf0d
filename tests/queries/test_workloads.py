"""Counting queries as people ask them: arrays, frames, sessions, filters, odd entries."""

import numpy as np
import pytest

import dither as dt
from dither.errors import InvalidArgument
from dither.queries.wire import from_json, to_json

ROWS = 600
ODD = [1, True, 0.9, float("nan"), None, "no", -7, 1e308, 0, np.inf]
"""Entries of a column of bits; numbers other than 0 count as 1."""


def table():
    """Bits, a number and a category for each of 600 people."""
    return {
        "a": [place % 2 == 0 for place in range(ROWS)],
        "b": [place % 3 == 0 for place in range(ROWS)],
        "age": [float(place % 100) for place in range(ROWS)],
        "job": ["nurse" if place % 4 else "clerk" for place in range(ROWS)],
    }


@pytest.fixture
def session(tmp_path):
    """The same people in a registered table."""
    import pandas as pd

    pd.DataFrame(table()).to_csv(tmp_path / "people.csv", index=False)
    types = {"a": dt.Boolean(), "b": dt.Boolean(), "age": dt.Real(0, 100), "job": dt.Category(["clerk", "nurse"])}
    budget = dt.Budget(epsilon=100_000, delta=0.5)
    with dt.open(tmp_path / "people.csv", columns=types, rows=ROWS, budget=budget, ledger=":memory:") as opened:
        yield opened


ASKED = {
    "attribute means": (dt.CountingQueries(["a", "b"]), (300, 200)),
    "conjunctions": (dt.CountingQueries(["a", "b"], family="conjunctions", width=2), (200, 100, 200, 100)),
    "points": (dt.CountingQueries("age", family="points", edges=[0, 25, 100]), (150, 450)),
    "thresholds": (dt.CountingQueries("age", family="thresholds", edges=[0, 25, 50, 100]), (150, 300, 600)),
    "categories": (dt.CountingQueries("job", family="points", categories=["nurse"]), (450, 150)),
    "functions": (
        dt.CountingQueries(
            "job", family=[lambda v: v == "clerk", lambda v: v != "other"], categories=["clerk", "nurse"]
        ),
        (150, 600),
    ),
}


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("mechanism", ["worst_case", "noisy_histogram", "k_norm"])
def test_arrays_and_sessions_count_the_same(name, mechanism, session):
    """With almost no noise both give the true counts; a session answers again from its store, free."""
    query, truth = ASKED[name]
    here = dt.ask(query, table(), epsilon=100.0, mechanism=mechanism)
    there = session.ask(query, epsilon=100.0, mechanism=mechanism)
    assert np.abs(np.array([here.value, there.value]) - truth).max() <= 1
    assert here.labels == there.labels
    assert here.mechanism == there.mechanism == mechanism
    spent = session.budget.spent
    assert session.ask(query, epsilon=100.0, mechanism=mechanism) == there
    assert session.budget.spent == spent
    assert session.quote(query, epsilon=100.0, mechanism=mechanism, again=True).loss == there.loss


def test_labels_say_what_is_counted():
    """Columns by their names, bins by their edges, conjunctions by their literals."""
    rows = table()
    labels = {name: dt.ask(query, rows, epsilon=1.0).labels for name, (query, _) in ASKED.items()}
    assert labels["attribute means"] == ("a", "b")
    assert labels["conjunctions"] == ("a=0 and b=0", "a=0 and b=1", "a=1 and b=0", "a=1 and b=1")
    assert labels["points"] == ("0 to 25", "25 to 100")
    assert labels["thresholds"] == ("below 25", "below 50", "up to 100")
    assert labels["categories"] == ("nurse", "other")
    assert labels["functions"] == ("query 1", "query 2")


def test_functions_that_say_the_same_are_the_same_question(session):
    """What the ledger keeps of a function is what it says about the public bins."""
    bins = {"categories": ["clerk", "nurse"]}
    one = session.ask(dt.CountingQueries("job", family=[lambda v: v == "clerk"], **bins), epsilon=1.0)
    spent = session.budget.spent
    assert session.ask(dt.CountingQueries("job", family=[lambda v: "cl" in v], **bins), epsilon=1.0) == one
    assert session.budget.spent == spent
    session.ask(dt.CountingQueries("job", family=[lambda v: v == "nurse"], **bins), epsilon=1.0)
    assert session.budget.spent != spent


def test_a_filter_makes_the_number_of_records_private(session):
    """Counts behind a filter: neighbours add, remove or change a record; nothing rests on the number of rows."""
    query = dt.CountingQueries(["a", "b"])
    release = session.ask(query, epsilon=100.0, where="age < 50")
    assert np.abs(np.array(release.value) - (150, 100)).max() <= 1
    thresholds = dt.CountingQueries("age", family="thresholds", edges=[0, 25, 50, 100])
    found = session.ask(thresholds, epsilon=100.0, where="job = 'nurse'", mechanism="noisy_histogram")
    assert np.abs(np.array(found.value) - (108, 222, 450)).max() <= 6
    with pytest.raises(InvalidArgument, match="whole table"):
        session.ask(query, epsilon=1.0, by="job")


def test_whatever_a_record_is_it_counts_as_0_or_1():
    """No entry raises; what is no number counts as 0, every number but 0 as 1."""
    for entry, counted in zip(ODD, (1, 1, 1, 0, 0, 0, 1, 1, 0, 1), strict=True):
        column = np.array([entry] * 500, dtype=object)
        release = dt.counting_queries({"a": column, "b": [0.0] * 500}, epsilon=100.0)
        assert abs(release.value[0] - 500 * counted) <= 2
        assert release.value[1] <= 2


def test_joint_intervals_are_wider_and_say_the_stated_confidence():
    """A union bound over all queries: each interval is that of the k-th part of what may be missed."""
    from fractions import Fraction

    from dither.mechanisms.noise_intervals import laplace_half_width

    rows = np.ones((10_000, 8), dtype=int)
    rows[::2] = 0
    one, together = (
        dt.counting_queries(rows, epsilon=1.0, mechanism="worst_case", joint=joint) for joint in (False, True)
    )
    assert max(high - low for low, high in one.interval) == 2 * laplace_half_width(Fraction(8), Fraction(1, 20))
    assert max(high - low for low, high in together.interval) == 2 * laplace_half_width(Fraction(8), Fraction(1, 160))
    assert one.confidence == together.confidence == 0.95


def test_json_says_what_the_query_says():
    """There and back; functions do not travel."""
    for name, (query, _) in ASKED.items():
        if name == "functions":
            with pytest.raises(InvalidArgument, match=r"^family must "):
                to_json(query)
        else:
            again = from_json(to_json(query))
            assert again.stored() == query.stored()


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: dt.CountingQueries(family="best"), "^family must "),
        (lambda: dt.CountingQueries(family=3), "^family must "),
        (lambda: dt.CountingQueries(family=[]), "^family must "),
        (lambda: dt.CountingQueries(family=[3]), "^family must "),
        (lambda: dt.CountingQueries(joint=1), "^joint must "),
        (lambda: dt.CountingQueries(width=2), "^width is for "),
        (lambda: dt.CountingQueries(edges=[0, 1]), "^edges is for points and thresholds"),
        (lambda: dt.CountingQueries(["a", "b"], family="points"), "^columns must "),
        (lambda: dt.counting_queries([1.0], family="points", epsilon=1), "^edges=None: .* must be declared"),
        (lambda: dt.counting_queries([1.0], family="points", edges=[0, 1], epsilon=1), "^edges must "),
        (lambda: dt.counting_queries([[], [1]], epsilon=1), "^data must "),
        (lambda: dt.counting_queries([[0] * 12], family="conjunctions", epsilon=1), "^family must "),
        (lambda: dt.counting_queries([[0, 1]], family="conjunctions", width=3, epsilon=1), "^width must "),
        (lambda: dt.counting_queries([[0, 1]], epsilon=1, delta=1), "^delta must "),
    ],
)
def test_bad_arguments_are_named(make, named):
    """The message names the argument; nothing was read."""
    with pytest.raises(InvalidArgument, match=named):
        make()


def test_a_session_takes_columns_of_true_and_false(session):
    """All of them by default; others are refused from the schema alone."""
    assert session.ask(dt.CountingQueries(), epsilon=1.0).labels == ("a", "b")
    with pytest.raises(InvalidArgument, match=r"^columns must "):
        session.ask(dt.CountingQueries(["a", "age"]), epsilon=1.0)
    with pytest.raises(InvalidArgument, match=r"^columns must "):
        session.ask(dt.CountingQueries(family="points"), epsilon=1.0)


def test_functions_of_bins_are_not_taken_for_each_other():
    """Families of one size over the same bins have plans of their own (n = 1,000, epsilon 50: errors below 5)."""
    data = ["a"] * 900 + ["b"] * 90 + ["c"] * 10
    answers = [
        dt.counting_queries(
            data, family=[lambda v, w=w: v == w], categories=["a", "b", "c"], epsilon=50.0, confidence=None
        ).value[0]
        for w in "abc"
    ]
    assert [abs(one - truth) < 5 for one, truth in zip(answers, (900, 90, 10), strict=True)] == [True] * 3


def test_a_short_row_of_a_list_is_missing():
    """It makes nothing fail, and counts as a row of zeros: the first row has the public number of columns."""
    assert len(dt.counting_queries([[0, 1], [1], None], epsilon=1).value) == 2
