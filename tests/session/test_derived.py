"""Counts that a stored histogram answers cost nothing, are what reading would have counted, and say so."""

import json
from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest

import dither as dt
from dither.errors import Contradiction, InvalidArgument
from dither.ledger import SqliteLedger
from dither.mechanisms import worst_case
from dither.mechanisms.noise_intervals import laplace_sum_half_width
from dither.queries.workloads import CountingQueries
from dither.session import derived
from dither.session.derived import derivation
from dither.sources.predicates import parse_filter

NUMBERS = [
    -5.0,
    0.0,
    3.0,
    9.999,
    10.0,
    15.0,
    19.999999,
    20.0,
    33.0,
    50.0,
    77.0,
    100.0,
    250.0,
    float("nan"),
    None,
    1e300,
]
JOBS = [
    "clerk",
    "nurse",
    "pilot",
    "pilot",
    "spy",
    None,
    "nurse",
    "clerk",
    "nurse",
    "pilot",
    "",
    "clerk",
    "x",
    "y",
    "z",
    "spy",
]
FLAGS = [True, False, None, True, True, False, True, None, False, False, True, True, None, False, True, True]
EDGES = [0, 10, 20, 50, 100]
COLUMNS = {
    "x": dt.Real(0, 100, nulls="lower"),
    "silent": dt.Real(0, 100),
    "dropped": dt.Real(0, 100, nulls="drop"),
    "job": dt.Category(["clerk", "nurse", "pilot"]),
    "flag": dt.Boolean(nulls=False),
    "usual": dt.Boolean(nulls=True),
}


def table():
    """Odd records too: beyond the bounds, missing, no number, no declared category."""
    return {"x": NUMBERS, "silent": NUMBERS, "dropped": NUMBERS, "job": JOBS, "flag": FLAGS, "usual": FLAGS}


def opened(**options):
    """A session with a large budget."""
    return dt.open(table(), columns=COLUMNS, budget=dt.Budget(1000.0), **{"name": "data", **options})


@pytest.fixture
def silent(monkeypatch):
    """No noise: what is released is what was counted."""
    monkeypatch.setattr(worst_case, "integer_laplace_draws", lambda count, scale: np.zeros(count, dtype=np.int64))
    monkeypatch.setattr(worst_case, "integer_laplace", lambda value, scale, headroom: value)


def numbers_filters():
    """Conditions on the numbers, of which some are unions of bins."""
    ends = [f"{{c}} {sign} {end}" for sign in ("<", "<=", ">", ">=", "=", "<>") for end in (0, 10, 15, 20, 50, 100)]
    whole = ["{c} IS NULL", "NOT {c} IS NULL", "{c} BETWEEN 10 AND 20", "{c} IN (10, 20)"]
    pairs = [f"{one} AND {two}" for one, two in combinations(ends, 2) if ("<" in one) != ("<" in two)][::7]
    known = ["{c} >= 10 AND {c} < 20", "{c} >= 10 AND {c} < 50", "{c} < 10 OR {c} IS NULL", "{c} < 10", "{c} >= 50"]
    negated = ["NOT ({c} >= 10)", "NOT ({c} >= 10 AND {c} < 20)", "{c} >= 20 OR ({c} >= 10 AND {c} < 20)"]
    return [*ends, *whole, *pairs, *known, *negated]


FREE_NUMBERS = {
    "x": {
        "{c} >= 10 AND {c} < 20",
        "{c} >= 10 AND {c} < 50",
        "{c} < 10 OR {c} IS NULL",
        "{c} >= 50",
        "{c} >= 10",
        "{c} >= 20",
        "{c} >= 20 OR ({c} >= 10 AND {c} < 20)",
    },
    "silent": {"{c} >= 10 AND {c} < 20", "{c} < 10", "NOT ({c} >= 10)", "{c} >= 50"},
    "dropped": {"{c} >= 10 AND {c} < 20", "{c} < 10", "NOT ({c} >= 10)", "NOT ({c} >= 10 AND {c} < 20)", "{c} < 50"},
}


@pytest.mark.slow
@pytest.mark.parametrize("column", ["x", "silent", "dropped"])
def test_whatever_is_free_is_what_reading_would_have_counted(column, silent):
    """Every condition on a column of numbers: a free answer is the count of the filter, odd records included."""
    session, reading = opened(), opened()
    session.ask(dt.Histogram(column, edges=EDGES), epsilon=1)
    free = set()
    for text in numbers_filters():
        where = text.format(c=column)
        found, read = (one.ask(dt.Count(), epsilon=1, where=where) for one in (session, reading))
        assert found.value == read.value, where
        assert (found.loss.epsilon == 0) == (found.derived_from is not None)
        if found.derived_from is not None:
            free.add(text)
    assert free >= FREE_NUMBERS[column]
    refused = {"{c} < 10", "{c} <= 10", "{c} >= 15", "{c} = 10"} if column == "x" else {"{c} < 10 OR {c} IS NULL"}
    assert not free & refused
    assert session.budget.spent.epsilon < reading.budget.spent.epsilon


def test_every_set_of_categories_is_free_and_right(silent):
    """All subsets of the categories, by IN, by OR and negated; what is none of them is a bin of its own."""
    session, reading = opened(), opened()
    session.ask(dt.Histogram("job"), epsilon=1)
    names = ["clerk", "nurse", "pilot"]
    for chosen in chain.from_iterable(combinations(names, size) for size in (1, 2, 3)):
        listed = ", ".join(f"'{one}'" for one in chosen)
        for where in (f"job IN ({listed})", " OR ".join(f"job = '{one}'" for one in chosen)):
            found = session.ask(dt.Count(), epsilon=1, where=where)
            assert found.derived_from is not None
            assert found.value == sum(one in chosen for one in JOBS)
    # What is missing is in the bin "other" with undeclared texts, and SQL's logic counts only the latter.
    for where in (f"NOT job IN ({listed})", "job IS NULL", "job <> 'clerk'"):
        answers = [one.ask(dt.Count(), epsilon=1, where=where) for one in (session, reading)]
        assert answers[0].value == answers[1].value
        assert answers[0].derived_from is None
    other = "NOT job IN ('clerk', 'nurse', 'pilot') OR job IS NULL"
    assert session.ask(dt.Count(), epsilon=1, where=other).derived_from is not None
    grouped, read = (one.ask(dt.Count(), epsilon=1, by="job") for one in (session, reading))
    assert [(one.group, one.value) for one in grouped] == [(one.group, one.value) for one in read]
    assert grouped.loss == dt.Loss(0.0)
    assert all(one.derived_from for one in grouped)


@pytest.mark.parametrize("column", ["flag", "usual"])
def test_flags(column, silent):
    """Counts of a flag, and of rows where it is true, with missing values as declared."""
    session, reading = opened(), opened()
    session.ask(dt.Histogram(column, edges=[0, 0.5, 1]), epsilon=1)
    free = []
    for query, where in [
        (dt.Count(column), None),
        (dt.Count(), column),
        (dt.Count(), f"NOT {column}"),
        (dt.Count(), f"{column} OR {column} IS NULL"),
        (dt.Count(), None),
    ]:
        found, read = (one.ask(query, epsilon=1, where=where) for one in (session, reading))
        assert found.value == read.value
        free.append(found.derived_from is not None)
    assert free == [True, column == "flag", column == "usual", column == "usual", True]


@pytest.mark.parametrize("family", ["points", "thresholds", "functions"])
def test_families_of_counting_queries(family, silent):
    """Of coarser bins of the same column; finer ones are paid for."""
    session, reading = opened(), opened()
    session.ask(dt.Histogram("x", edges=EDGES), epsilon=1)
    entry = session.history[-1].number
    for edges, free in (([0, 20, 100], True), ([-7, 10, 50, 60], True), ([0, 15, 100], False)):
        chosen = [lambda bin, first=edges[1]: not bin.endswith(f" to {first}")] if family == "functions" else family
        query = dt.CountingQueries("x", family=chosen, edges=edges)
        counts = reading.ask(dt.Histogram("x", edges=edges), epsilon=1).value
        found = session.ask(query, epsilon=1)
        assert found.derived_from == (entry if free else None)
        if free:
            queries = query.bins_of_queries()
            assert found.value == tuple(sum(np.array(counts)[list(one)].tolist()) for one in queries)
            assert found.labels == session.ask(query, epsilon=1, again=True).labels


def test_filters_of_the_histogram_must_be_those_of_the_count(silent):
    """In any order; a histogram of all rows answers nothing about some, and the other way round."""
    session, reading = opened(), opened()
    session.ask(dt.Histogram("job"), epsilon=1, where="x >= 10 AND flag")
    wheres = {
        "job = 'nurse' AND x >= 10 AND flag": True,
        "flag AND job = 'nurse' AND x >= 10": True,
        "x >= 10 AND flag": True,
        "job = 'nurse'": False,
        "job = 'nurse' AND x >= 10": False,
        "job = 'nurse' AND x >= 11 AND flag": False,
        "job = 'nurse' AND (x >= 10 OR flag)": False,
    }
    for where, free in wheres.items():
        found, read = (one.ask(dt.Count(), epsilon=1, where=where) for one in (session, reading))
        assert found.value == read.value
        assert (found.derived_from is not None) == free, where


def test_the_interval_is_that_of_the_sum_of_the_noise():
    """Of so many bins of the histogram's scale; with a public number of rows of the smaller side."""
    columns = {"x": dt.Real(0, 100, nulls="lower")}
    session = dt.open({"x": [1.0, 12.0, 30.0] * 100}, columns=columns, budget=dt.Budget(9), rows=300)
    histogram = session.ask(dt.Histogram("x", edges=EDGES), epsilon=0.5, confidence=None)
    scale = session.plan(dt.Histogram("x", edges=EDGES), epsilon=0.5).released_by.unit
    assert Fraction(39, 10) < scale < Fraction(41, 10)
    for where, bins, terms in (("x >= 10 AND x < 20", [1], 1), ("x >= 10 AND x < 50", [1, 2], 2), ("x >= 10", [0], 1)):
        found = session.ask(dt.Count(), epsilon=0.1, where=where, confidence=0.9)
        kept = sum(histogram.value[one] for one in bins)
        middle = kept if where != "x >= 10" else 300 - kept
        half = laplace_sum_half_width(scale, terms, Fraction(1, 10))
        assert found.interval == (max(middle - half, 0), min(middle + half, 300))
        assert found.confidence == 0.9
        assert session.ask(dt.Count(), epsilon=0.1, where=where, confidence=None).interval is None


def test_intervals_cover_as_stated(trials):
    """Misses of a 90% interval for two bins stay below 15%: a false alarm has a chance below 1e-9 (Hoeffding)."""
    runs, missed = trials(2_500, 10_000), 0
    columns = {"x": dt.Integer(0, 3)}
    session = dt.open({"x": [0] * 50 + [1] * 70 + [2] * 30}, columns=columns, budget=dt.Budget(1e5))
    asked = session.plan(dt.Count(), epsilon=1, where="x >= 1", confidence=0.9)
    session.ask(dt.Histogram("x", edges=[0, 1, 2, 3]), epsilon=0.3)
    stored = session._histograms.all()[0]
    how = derivation(asked, stored)
    noise = worst_case.integer_laplace_draws(3 * runs, how.scale).reshape(runs, 3)
    plan = how.groups[0][1]
    for one in noise.tolist():
        low, high = plan.run((50 + one[0], 70 + one[1], 30 + one[2])).interval
        missed += not low <= 100 <= high
    assert missed <= 0.15 * runs
    assert missed >= 0.04 * runs


def test_a_fresh_answer_is_paid_for_and_then_preferred():
    """again=True pays; afterwards that answer is given, for it was bought for this very question."""
    session = opened()
    session.ask(dt.Histogram("job"), epsilon=1)
    free = session.ask(dt.Count(), epsilon=2, where="job = 'nurse'")
    fresh = session.ask(dt.Count(), epsilon=2, where="job = 'nurse'", again=True)
    assert (free.loss.epsilon, fresh.loss.epsilon) == (0, 2)
    assert session.budget.spent.epsilon == 3
    after = session.ask(dt.Count(), epsilon=2, where="job = 'nurse'")
    assert (after.value, after.derived_from) == (fresh.value, None)
    assert session.budget.spent.epsilon == 3
    assert session.ask(dt.Count(), epsilon=2, where="job = 'nurse'", mechanism="worst_case").loss.epsilon == 2


def test_the_ledger_says_where_an_answer_is_from():
    """One entry with a loss of 0 that names the charge; the same question again adds none; everything verifies."""
    session = opened()
    session.ask([dt.Median("x"), dt.Histogram("job")], epsilon=1)
    entry = session.history[-1].number
    for _ in range(2):
        found = session.ask([dt.Count(), dt.Median("x")], epsilon=1, where="job = 'nurse'", weights=[1, 3])
        assert [one.derived_from for one in found] == [entry, None]
        assert [one.loss.epsilon for one in found] == [0, 0.75]
        assert found.loss.epsilon == 0.75
    alone = session.ask(dt.Count(), epsilon=1, where="job = 'nurse'")
    assert f"computed from the release of charge {entry}" in str(alone)
    charges = session.history
    assert [one.loss.epsilon for one in charges] == [1, 0.75, 0]
    assert charges[-1].question["derived"] == {"version": 1, "entries": [entry]}
    assert charges[1].question["derived"] == {"version": 1, "entries": [entry, None]}
    assert session._ledger.verify().ok
    assert dt.Release.from_dict(json.loads(json.dumps(alone.to_dict()))) == alone


def test_an_exhausted_budget_still_answers_from_what_was_bought():
    """A loss of 0 fits into every budget."""
    session = dt.open(table(), columns=COLUMNS, budget=dt.Budget(1.0))
    session.ask(dt.Histogram("job"), epsilon=1)
    assert session.ask(dt.Count(), epsilon=1, where="job = 'nurse'").loss.epsilon == 0


def test_it_survives_a_restart_and_ends_where_the_data_have_grown(tmp_path):
    """Another process finds the stored histogram; of a later version of the data it answers nothing."""
    place = tmp_path / "some.ledger"
    with opened(ledger=place) as session:
        session.ask(dt.Histogram("job"), epsilon=1)
        first = session.ask(dt.Count(), epsilon=1, where="job = 'nurse'")
    with opened(ledger=place) as session:
        assert session.ask(dt.Count(), epsilon=1, where="job = 'nurse'") == first
        assert session.ask(dt.Count(), epsilon=1, where="job = 'pilot'").derived_from == first.derived_from
        session._ledger.grow("data")
        assert session.ask(dt.Count(), epsilon=1, where="job = 'pilot'").derived_from is None


def test_a_request_keeps_to_what_it_was(tmp_path):
    """Sent again it gets the same answer, whether it was paid for before the histogram, or derived from it."""
    with opened(ledger=tmp_path / "some.ledger") as session:
        paid = session.ask(dt.Count(), epsilon=1, where="job = 'nurse'", request_id="paid")
        session.ask(dt.Histogram("job"), epsilon=1)
        assert session.ask(dt.Count(), epsilon=1, where="job = 'nurse'", request_id="paid") == paid
        free = session.ask(dt.Count(), epsilon=1, where="job = 'clerk'", request_id="free")
        session.ask(dt.Histogram("job"), epsilon=5)
        assert session.ask(dt.Count(), epsilon=1, where="job = 'clerk'", request_id="free") == free
        with pytest.raises(Contradiction):
            session.ask(dt.Count(), epsilon=1, where="job = 'pilot'", request_id="free")
        better = session.ask(dt.Count(), epsilon=1, where="job = 'clerk'")
        assert better.derived_from > free.derived_from
        assert session.budget.spent.epsilon == 7


def test_a_derived_request_that_was_not_answered_never_reads(tmp_path, monkeypatch):
    """Charged 0 and cut off before it was stored: sent again after the data have grown it is refused, not read."""
    with opened(ledger=tmp_path / "some.ledger") as session:
        session.ask(dt.Histogram("job"), epsilon=1)
        store = session._ledger.store

        def failing(*_, **__):
            raise OSError("cut off")

        monkeypatch.setattr(session._ledger, "store", failing)
        with pytest.raises(OSError, match="cut off"):
            session.ask(dt.Count(), epsilon=1, where="job = 'nurse'", request_id="one")
        monkeypatch.setattr(session._ledger, "store", store)
        session._ledger.grow("data")
        with pytest.raises(Contradiction, match="no longer answers"):
            session.ask(dt.Count(), epsilon=1, where="job = 'nurse'", request_id="one")


def test_neighbouring_data_do_not_decide_what_is_free():
    """Whether a count is free, from which charge, and at what scale, is the same whatever the records are."""
    outcomes = []
    for records in (table(), {name: [] for name in COLUMNS}, {name: [None] * 3 for name in COLUMNS}):
        session = dt.open(records, columns=COLUMNS, budget=dt.Budget(1e6))
        session.ask(dt.Histogram("x", edges=EDGES), epsilon=1)
        session.ask(dt.Histogram("job"), epsilon=0.1, where="flag")
        session.ask(dt.Histogram("job"), epsilon=0.3, where="flag")
        wheres = [one.format(c="x") for one in numbers_filters()] + ["job = 'nurse' AND flag", "job = 'nurse'"]
        plans = [session.plan(dt.Count(), epsilon=1, where=where) for where in wheres]
        found = [session._histograms.answering(one) for one in plans]
        outcomes.append([None if one is None else (one.entry, one.scale, one.variance) for one in found])
        assert any(outcomes[-1])
        assert None in outcomes[-1]
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_what_histograms_do_not_answer():
    """Of people with several rows, of other noise, of found categories, of another schema: paid for."""
    columns = {"job": dt.Category(["clerk", "nurse"]), "who": dt.Category()}
    rows = {"job": ["clerk", "nurse"] * 50, "who": [str(one // 2) for one in range(100)]}
    people = dt.open(rows, columns=columns, unit="who", rows_per_unit=2, budget=dt.Budget(99.0))
    people.ask(dt.Histogram("job"), epsilon=1)
    assert people.ask(dt.Count(), epsilon=1, where="job = 'nurse'").derived_from is None
    gaussian = dt.open(rows, columns=columns, budget=dt.Budget(99.0, 0.1))
    gaussian.ask(dt.Histogram("job"), epsilon=1, delta=1e-3, noise="gaussian")
    assert gaussian.ask(dt.Count(), epsilon=1, where="job = 'nurse'").derived_from is None
    found = dt.open(rows, columns={"job": dt.Category()}, rows=100, budget=dt.Budget(99.0, 0.1))
    found.ask(dt.Histogram("job"), epsilon=1, delta=1e-3)
    assert found.ask(dt.Count(), epsilon=1, where="job = 'nurse'").derived_from is None


def test_another_declaration_of_the_column_makes_it_another_question(tmp_path):
    """What a missing value counts as is part of the bins."""
    rows, place = {"x": [1.0, 30.0, None]}, tmp_path / "some.ledger"
    with dt.open(rows, columns={"x": dt.Real(0, 100)}, budget=dt.Budget(9.0), ledger=place, name="data") as session:
        session.ask(dt.Histogram("x", edges=EDGES), epsilon=1)
        assert session.ask(dt.Count(), epsilon=1, where="x >= 10 AND x < 20").derived_from
    with dt.open(
        rows, columns={"x": dt.Real(0, 100, nulls=15)}, budget=dt.Budget(9.0), ledger=place, name="data"
    ) as session:
        assert session.ask(dt.Count(), epsilon=1, where="x >= 20 AND x < 50").derived_from is None


def test_quotes_and_sql_are_free_too():
    """A quote names the charge, the error of the sum, and what a fresh answer would cost."""
    session = opened()
    text = "SELECT count(*) FROM data WHERE x >= 10 AND x < 50"
    assert session.quote(text, epsilon=0.5).loss.epsilon == 0.5
    session.ask(dt.Histogram("x", edges=EDGES), epsilon=1)
    entry = session.history[-1].number
    quoted = session.quote(text, epsilon=0.5)
    assert quoted.loss.epsilon == 0
    assert quoted[0].derived_from == entry
    assert "a fresh answer (again=True, --again) spends epsilon 0.5" in str(quoted[0])
    assert 1.5 < quoted[0].expected_error < 6
    assert quoted[0].bound == laplace_sum_half_width(Fraction(2), 2, Fraction(1, 20))
    assert dt.Quote.from_dict(json.loads(json.dumps(quoted[0].to_dict()))) == quoted[0]
    assert session.quote(text, epsilon=0.5, again=True).loss.epsilon == 0.5
    one = session.quote(dt.Count(), epsilon=0.5, where="x >= 10 AND x < 50")
    assert one.derived_from == entry
    family = session.quote(dt.CountingQueries("x", family="thresholds", edges=[0, 20, 100]), epsilon=0.5)
    assert family.derived_from == entry
    assert family.expected_error[0] < family.expected_error[1]
    answered = session.sql(text, epsilon=0.5)
    assert answered.derived_from == entry
    assert session.budget.spent.epsilon == 1


@pytest.mark.slow
def test_the_logic_of_conditions_is_that_of_the_engine(silent):
    """``holds`` of every condition agrees with what the engine counts, record by record."""
    schema = opened().schema
    for text in [*numbers_filters(), "NOT ({c} > 5 OR {c} IS NULL)", "{c} > 5 OR NOT {c} > 5"]:
        where = text.format(c="x")
        predicate = parse_filter(where, schema)
        cleaned = [None if one is None or one != one else one for one in NUMBERS]
        assert (
            sum(predicate.holds({"x": one}) is True for one in cleaned)
            == opened().ask(dt.Count(), epsilon=1, where=where).value
        )


def test_a_forged_derivation_is_found(tmp_path):
    """An entry that names no earlier release of the data, or costs something, does not verify."""
    for number, losses in ((99, [[0, 0]]), (2, [[5, 0]]), (1, [[0, 0]])):
        place = tmp_path / f"{number}{losses[0][0]}.ledger"
        with opened(ledger=place) as session:
            session.ask(dt.Histogram("job"), epsilon=1)
            charge = session._ledger.charge(
                "data",
                dt.Loss(losses[0][0] * 1e-9),
                question={"questions": [{}], "derived": {"version": 1, "entries": [number]}},
            )
            session._ledger.store(charge, {"answers": [[]]})
        with SqliteLedger(place) as ledger:
            report = ledger.verify()
        assert not report.ok
        assert "derives an answer" in report.problem


def test_a_histogram_in_the_form_of_0_1_0_answers_its_question_and_no_counts():
    """Ledgers of that version are read as before."""
    session = opened()
    planned = session.plan(dt.Histogram("job"), epsilon=1)
    stored = opened().ask(dt.Histogram("job"), epsilon=1)
    charge = session._ledger.charge("data", dt.Loss(1.0), question={"questions": [planned.older]})
    session._ledger.store(charge, {"answers": [[stored.to_dict()]]})
    assert session.ask(dt.Histogram("job"), epsilon=1) == stored
    assert session.ask(dt.Count(), epsilon=1, where="job = 'nurse'").loss.epsilon == 1


def test_conditions_are_refused_as_before():
    """A question that cannot be asked is refused whether or not a histogram is stored."""
    session = opened()
    session.ask(dt.Histogram("job"), epsilon=1)
    with pytest.raises(InvalidArgument):
        session.ask(dt.Count(), epsilon=1, where="job = 'king'")


def test_what_was_paid_for_beside_a_free_count_is_free_the_second_time():
    """The mean of a question whose count is free is paid for once, whatever the requests are called."""
    session = opened()
    session.ask(dt.Histogram("job"), epsilon=1)
    spent = session.budget.spent.epsilon
    asked = {"where": "job = 'nurse'", "epsilon": 1}
    first = session.ask([dt.Mean("x"), dt.Count()], request_id="one", **asked)
    assert first[1].derived_from is not None
    assert session.budget.spent.epsilon == spent + 0.5
    for name in ("one", "two", None):
        assert session.ask([dt.Mean("x"), dt.Count()], request_id=name, **asked) == first
    assert session.budget.spent.epsilon == spent + 0.5
    session.ask([dt.Mean("x"), dt.Count()], again=True, **asked)
    assert session.budget.spent.epsilon == spent + 1.5


def test_owners_learn_of_a_changed_source_beside_answers_that_are_read(tmp_path):
    """A count from a histogram of an earlier state of the source, in one question with a mean of the present one."""
    source = tmp_path / "pay.csv"
    source.write_text("x,job\n" + "50,nurse\n" * 40)
    columns = {name: COLUMNS[name] for name in ("x", "job")}
    ledger = SqliteLedger(tmp_path / "ledger.db")
    with dt.open(source, columns=columns, budget=dt.Budget(100.0), ledger=ledger, name="pay") as session:
        session.ask(dt.Histogram("job"), epsilon=1)
        source.write_text("x,job\n" + "50,nurse\n" * 60)
        with pytest.warns(UserWarning, match="has changed"):
            found = session.ask([dt.Mean("x"), dt.Count()], where="job = 'nurse'", epsilon=1)
    assert [one.derived_from is None for one in found] == [True, False]


@pytest.mark.slow
@pytest.mark.parametrize("family", ["points", "thresholds"])
def test_large_families_are_read_instead(family, monkeypatch):
    """A table of which bin each of thousands of queries counts takes gigabytes, which one question may not."""
    edges = 1_100
    session = dt.open({"x": [1.0]}, columns={"x": dt.Real(0, edges)}, budget=dt.Budget(100.0))
    session.ask(dt.Histogram("x", edges=list(range(edges + 1))), epsilon=1)
    monkeypatch.setattr(CountingQueries, "bins_of_queries", lambda _: pytest.fail("the table is built"))
    planned = session.plan(dt.CountingQueries("x", family=family, edges=list(range(edges + 1))), epsilon=1)
    assert session._histograms.answering(planned) is None


def test_values_are_looked_at_once_for_all_groups(monkeypatch):
    """Groups by a category of hundreds of values: each value is put into its bin once, not once for each group."""
    values, seen, points = [f"v{place}" for place in range(400)], [], derived._points
    session = dt.open({"job": values}, columns={"job": dt.Category(values)}, budget=dt.Budget(100.0))
    session.ask(dt.Histogram("job"), epsilon=1)
    monkeypatch.setattr(derived, "_points", lambda *given: (seen.append(one) or one for one in points(*given)))
    found = session.ask(dt.Count(), by="job", epsilon=1)
    assert all(one.derived_from is not None for one in found)
    assert len(seen) == len(values) + 2


def test_a_quote_of_an_answered_question_is_free():
    """It names what a fresh answer would cost, in Python and in SQL; another epsilon is another question."""
    session = dt.open({"x": [1.0, 2.0, 3.0]}, columns={"x": dt.Real(0, 10)}, budget=dt.Budget(epsilon=9))
    query, text = dt.Median("x"), "SELECT median(x), sum(x) FROM data"
    assert session.quote(query, epsilon=1.0).loss == dt.Loss(1.0)
    session.ask(query, epsilon=1.0)
    session.sql(text, epsilon=2.0)
    quoted = session.quote(query, epsilon=1.0)
    assert (quoted.loss, quoted.stored) == (dt.Loss(0.0), True)
    assert "asking again is free; a fresh answer (again=True, --again) spends epsilon 1" in str(quoted)
    assert dt.Quote.from_dict(json.loads(json.dumps(quoted.to_dict()))) == quoted
    assert session.quote(text, epsilon=2.0).loss == dt.Loss(0.0)
    assert session.quote(text, epsilon=2.0, again=True).loss == dt.Loss(2.0)
    assert not session.quote(query, epsilon=0.5).stored
    assert not session.quote([query, dt.Sum("x")], epsilon=1.0)[0].stored
