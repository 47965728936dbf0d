"""Covariance, correlation and least squares of two columns: functions of private moments, through SQL too."""

import math
import pickle
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import dither as dt
from dither.queries.moments import NO_SPREAD, STEEPEST
from dither.queries.plan import Options
from dither.queries.registry import entries

ROWS = 2_000
X = np.arange(ROWS) % 83 / 2
Y = 20 + 0.7 * X + (np.arange(ROWS) * 37 % 101) / 9
TABLE = {"y": Y, "x": X}
BOUNDS = {"y": (0, 100), "x": (0, 60)}
COLUMNS = {"y": dt.Real(0, 100), "x": dt.Real(0, 60), "flag": dt.Boolean()}
CORRELATION, LINE = dt.Correlation(bounds=BOUNDS), dt.LeastSquares(bounds=BOUNDS)


def opened(rows=ROWS, **options):
    """A session on DuckDB."""
    return dt.open({**TABLE, "flag": X > 9}, columns=COLUMNS, budget=dt.Budget(10_000.0), rows=rows, **options)


def truth(y, x):
    """Correlation, intercept and slope, and the covariances, as numpy computes them."""
    slope, intercept = np.polyfit(x, y, 1)
    return np.corrcoef(x, y)[0, 1], intercept, slope, np.cov(x, y, ddof=0)[0, 1], np.cov(x, y, ddof=1)[0, 1]


def close(number):
    """Equal but for the grid of the records."""
    return pytest.approx(number, rel=1e-7)


def test_true_values_are_numpys():
    """On arrays, in a session, and behind a filter, where the number of records is private."""
    corr, intercept, slope, by_n, by_less = truth(Y, X)
    assert dt.inspect.value(CORRELATION, TABLE) == close(corr)
    assert dt.inspect.value(LINE, TABLE) == (close(intercept), close(slope))
    assert dt.inspect.value(replace(LINE, part="slope"), TABLE) == close(slope)
    assert dt.inspect.value(replace(LINE, part="intercept"), TABLE) == close(intercept)
    assert dt.inspect.value(dt.PairCovariance(bounds=BOUNDS), TABLE) == close(by_n)
    assert dt.inspect.value(dt.PairCovariance(bounds=BOUNDS, ddof=1), TABLE) == close(by_less)
    chosen = X > 20.25
    for where, expected in ((None, (corr, intercept, slope)), ("x > 20.25", truth(Y[chosen], X[chosen])[:3])):
        with opened() as session:
            assert dt.inspect.value(dt.Correlation(("y", "x")), session, where=where) == close(expected[0])
            found = dt.inspect.value(dt.LeastSquares(("y", "x")), session, where=where)
            assert found == (close(expected[1]), close(expected[2]))


@pytest.mark.parametrize("where", ["", " WHERE x > 20.25"])
def test_sql_names_mean_what_sql_means(where):
    """All of them in one statement on DuckDB: near to the truth, and covered.

    Each interval misses with probability 1e-9 at most by the confidence that is asked for, and is narrower than what
    the value is compared with.
    """
    chosen = X > 20.25 if where else X >= 0
    corr, intercept, slope, by_n, by_less = truth(Y[chosen], X[chosen])
    expected = {"corr(y, x)": corr, "regr_slope(y, x)": slope, "regr_intercept(y, x)": intercept}
    if not where:
        x = X[chosen]
        expected |= {
            "covar_pop(y, x)": by_n,
            "covar_samp(y, x)": by_less,
            "var_pop(x)": x.var(),
            "var_samp(x)": x.var(ddof=1),
            "variance(x)": x.var(ddof=1),
            "stddev_pop(x)": x.std(),
            "stddev_samp(x)": x.std(ddof=1),
            "stddev(x)": x.std(ddof=1),
        }
    with opened() as session:
        text = f"SELECT {', '.join(expected)} FROM data{where}"
        for release, value in zip(
            session.sql(text, epsilon=5_000, confidence=1 - 1e-9), expected.values(), strict=True
        ):
            low, high = release.interval
            assert low <= value <= high, release.query
            assert release.value == pytest.approx(value, rel=0.6 if where else 0.05)


def test_python_divides_by_n_unless_told_otherwise():
    """As numpy does: ddof=0; SQL's functions say which."""
    assert dt.Variance().ddof == dt.Std().ddof == dt.PairCovariance().ddof == 0
    functions = {one.function: one.fixed for entry in entries().values() for one in entry.functions}
    by_less = {"stddev", "stddev_samp", "variance", "var_samp", "covar_samp"}
    assert {name for name, fixed in functions.items() if fixed.get("ddof") == 1} == {*by_less, "std"}
    assert {name for name, fixed in functions.items() if fixed.get("ddof") == 0} == {
        "stddev_pop",
        "var_pop",
        "covar_pop",
    }
    assert {"mode", "scale"} <= set(functions)


def test_one_answer_costs_what_its_moments_cost():
    """The whole loss is spent once, whichever part of the line is asked, and plans can be sent to a worker."""
    for query in (CORRELATION, LINE, replace(LINE, part="slope"), dt.PairCovariance(bounds=BOUNDS)):
        assert dt.ask(query, TABLE, epsilon=0.7).loss == dt.Loss(0.7)
        plan = query.plan(query.shape(TABLE), Options.asked(0.7))
        assert pickle.loads(pickle.dumps(plan)).label == plan.label
    release = dt.least_squares(TABLE, bounds=BOUNDS, epsilon=1.0, confidence=None)
    assert release.labels == ("intercept", "x")
    assert release.interval is None


@pytest.mark.parametrize("query", [CORRELATION, LINE])
def test_noise_is_that_of_the_moments(query):
    """Scales are caps times l1 over epsilon: 18/5 for a correlation, 3 for a line."""
    prepared = query.plan(query.shape(TABLE), Options.asked(0.5)).inner.prepared
    unit = 3.6 if query is CORRELATION else 3.0
    assert float(prepared.unit) == pytest.approx(unit / 0.5)
    found = [
        float(g.step * cap)
        for g, cap in zip(prepared.statistic.answers, prepared.statistic.global_sensitivities, strict=True)
    ]
    assert found == ([2, 2, 1, 1, 2] if query is CORRELATION else [2, 2, 1, 2])


def test_intervals_cover_as_often_as_they_say(trials):
    """By Chernoff's bound 100 intervals of 80% miss 50 times with probability below 3e-10."""
    corr, intercept, slope, *_ = truth(Y, X)
    runs, missed = trials(100, 1_000), np.zeros(3)
    for _ in range(runs):
        low, high = dt.correlation(TABLE, bounds=BOUNDS, epsilon=1.0, confidence=0.8).interval
        line = dt.least_squares(TABLE, bounds=BOUNDS, epsilon=1.0, confidence=0.8)
        for place, (ends, value) in enumerate(
            zip(((low, high), *line.interval), (corr, intercept, slope), strict=True)
        ):
            missed[place] += not ends[0] <= value <= ends[1]
            assert -1 <= low <= high <= 1
    assert (missed < 0.5 * runs).all()


def test_interval_arithmetic_holds_every_corner():
    """Any moments within their intervals that some records have give a number within the interval."""
    rng = np.random.default_rng(5)
    shape = CORRELATION.shape(TABLE)
    for query, private in product((CORRELATION, LINE), (False, True)):
        facts = replace(shape, private=private, records=200)
        statistic = query.resolve(facts)
        for _ in range(150):
            n = int(rng.integers(1, 200)) if private else 200
            y = np.clip(rng.normal(rng.uniform(0, 100), rng.uniform(0.1, 40), n), 0, 100)
            x = np.clip(0.4 * y + rng.normal(rng.uniform(-20, 40), 9, n), 0, 60)
            sums = query.read({"y": y, "x": x}, replace(facts, nullable=True))
            moments = [g.value(one) for g, one in zip(statistic.answers, statistic.values(sums), strict=True)]
            width = n * rng.uniform(0, 0.02, (len(moments), 2)) * rng.choice([0, 1, 30])
            ends = [(m - below, m + above) for m, (below, above) in zip(moments, width, strict=True)]
            found, between = query.of_moments(statistic, moments), query.between(statistic, ends)
            for value, (low, high) in zip(
                np.atleast_1d(found), [between] if query is CORRELATION else between, strict=True
            ):
                assert low <= value <= high


def test_where_there_is_no_spread_a_public_rule_answers():
    """Correlation 0 and a flat line at the mean of y; an empty selection has the middle of y's bounds."""
    alike = {"y": Y, "x": np.full(ROWS, 7.3)}
    assert dt.inspect.value(CORRELATION, alike) == 0.0
    assert dt.inspect.value(LINE, alike) == (close(Y.mean()), 0.0)
    with opened("private") as session:
        assert dt.inspect.value(dt.Correlation(("y", "x")), session, where="x > 59") == 0.0
        assert dt.inspect.value(dt.LeastSquares(("y", "x")), session, where="x > 59") == (50.0, 0.0)
        nothing = session.ask(dt.LeastSquares(("y", "x")), where="x > 59", epsilon=0.5)
    steepest = STEEPEST * 100 / 60
    assert all(math.isfinite(one) for one in nothing.value)
    low, high = nothing.interval[1]
    assert (low, high) == (close(-steepest), close(steepest))
    statistic = LINE.resolve(LINE.shape(TABLE))
    assert LINE.of_moments(statistic, [0, 0, NO_SPREAD * ROWS, 5])[1] == 0.0
    few = [dt.correlation({"y": [1, 2], "x": [3, 4]}, bounds=(0, 9), epsilon=0.01) for _ in range(20)]
    assert all(-1 <= one.interval[0] <= one.value <= one.interval[1] <= 1 for one in few)


def test_numbers_beyond_all_floats_are_the_largest_of_them():
    """Not an error after the charge, which would depend on the records."""
    far = {"y": [-1.5e154, 1.5e154] * 500, "x": [0.0, 1e-150] * 500}
    release = dt.least_squares(far, bounds={"y": (-1.5e154, 1.5e154), "x": (0, 1e-150)}, epsilon=5.0)
    assert all(math.isfinite(one) for one in (*release.value, *np.ravel(release.interval)))


def test_groups_are_read_one_by_one():
    """Each with its own sums; empty ones follow the public rule; people in several groups are bounded over all."""
    job = np.where(X < 15, "clerk", "nurse")
    columns = {"y": dt.Real(0, 100), "x": dt.Real(0, 60), "job": dt.Category(["cook", "nurse", "clerk"])}
    data = {**TABLE, "job": job, "who": [f"p{place // 4}" for place in range(ROWS)]}
    expected = {(one,): truth(Y[job == one], X[job == one])[:3] for one in ("nurse", "clerk")}
    for options in ({}, {"unit": "who", "rows_per_unit": 4}):
        with dt.open(data, columns=columns, budget=dt.Budget(100.0), **options) as session:
            found = dt.inspect.value(dt.LeastSquares(("y", "x")), session, by="job")
            correlations = dt.inspect.value(dt.Correlation(("y", "x")), session, by="job")
            assert (found.pop(("cook",)), correlations.pop(("cook",))) == ((50.0, 0.0), 0.0)
            assert {key: (correlations[key], *found[key]) for key in found} == {
                key: tuple(map(close, one)) for key, one in expected.items()
            }
            releases = session.sql("SELECT job, corr(y, x) FROM data GROUP BY job", epsilon=8.0)
            assert [one.group["job"] for one in releases] == ["cook", "nurse", "clerk"]
            plan = session.plan(dt.Correlation(("y", "x")), by="job", epsilon=8.0)
            steps = 2 * options.get("rows_per_unit", 1)
            assert plan.loss.epsilon == pytest.approx(8.0)
            assert float(plan.prepared.unit) == pytest.approx(6 * steps / 8)
    with dt.open({**data, "who": ["p"] * ROWS}, columns=columns, budget=dt.Budget(1.0), **options) as session:
        records = session._inspected_groups(dt.LeastSquares(("y", "x")), by="job")[1]
        assert sum(one.records for one in records.values()) == 4


def test_missing_values_people_and_dropped_rows():
    """Missing values count as declared or are dropped with their row; people own several rows at more noise."""
    y, x = [1.0, None, 5.0, 9.0] * 50, [2.0, 3.0, None, 7.0] * 50
    columns = {"y": dt.Real(0, 10, nulls=4), "x": dt.Real(0, 10, nulls=6)}
    with dt.open({"y": y, "x": x}, columns=columns, budget=dt.Budget(9.0), rows=200) as session:
        expected = np.polyfit([2, 3, 6, 7], [1, 4, 5, 9], 1)[::-1]
        assert dt.inspect.value(dt.LeastSquares(("y", "x")), session) == tuple(map(close, expected))
        assert session.ask(dt.Correlation(("y", "x")), epsilon=1.0).missing == (4, 6)
    columns = {"y": dt.Real(0, 10, nulls="drop"), "x": dt.Real(0, 10, nulls="drop"), "who": dt.Category()}
    who = [f"p{place // 4}" for place in range(200)]
    data = {"y": y, "x": x, "who": who}
    with dt.open(data, columns=columns, budget=dt.Budget(9.0), unit="who", rows_per_unit=4) as session:
        assert dt.inspect.value(dt.LeastSquares(("y", "x")), session) == (close(-2.2), close(1.6))
        plan = session.plan(dt.LeastSquares(("y", "x")), epsilon=1.0)
        assert float(plan.prepared.unit) == pytest.approx(4 * 3.5)


def test_what_cannot_be_asked_says_why():
    """Before anything is read or charged."""
    with pytest.raises(dt.InvalidArgument, match="two columns"):
        dt.Correlation(("a", "b", "c"))
    with pytest.raises(dt.InvalidArgument, match="different names"):
        dt.Correlation(("a", "a"))
    with pytest.raises(dt.InvalidArgument, match="part"):
        dt.LeastSquares(part="residuals")
    with pytest.raises(dt.InvalidArgument, match="two columns"):
        dt.correlation({"a": [1, 2], "b": [1, 2], "c": [1, 2]}, bounds=(0, 9), epsilon=1.0)
    with opened("private") as session:
        with pytest.raises(dt.NotProved):
            session.ask(dt.PairCovariance(("y", "x")), epsilon=1.0)
        assert session.budget.spent == dt.Loss(0.0)
        quote = session.quote(dt.Correlation(("y", "x")), epsilon=1.0)
        assert (quote.kind, quote.loss) == ("unknown", dt.Loss(1.0))


def test_more_epsilon_gives_narrower_intervals():
    """Ten times the epsilon, nearly ten times less."""
    widths = [np.ptp(dt.least_squares(TABLE, bounds=BOUNDS, epsilon=one).interval[1]) for one in (10.0, 100.0)]
    assert 5 * widths[1] < widths[0] < 20 * widths[1]
