"""nulls="drop" in one-line functions: what is left of an array, and between which arrays the loss holds."""

import dataclasses
import functools
import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dither as dt
from dither.privacy import Loss, Neighbours
from dither.procedures.floating import FloatingGrid
from dither.queries import vectors
from dither.queries.plan import Options
from dither.session.plan import plan
from dither.sources.column import Column, read_column
from dither.sources.grid import Grid
from dither.statistics.unknown_size import SharedRank

BOUNDS = {"bounds": (0, 8), "nulls": "drop"}
QUERIES = {
    "sum": (dt.Sum, sum),
    "mean": (dt.Mean, lambda kept: sum(kept) / len(kept)),
    "median": (dt.Median, lambda kept: sorted(kept)[math.ceil(len(kept) / 2) - 1]),
    "minimum": (dt.Minimum, min),
    "maximum": (dt.Maximum, max),
}
"""Each query with its brute force on the records that are left."""
ENTRIES = (None, math.nan, 0, 3, 8)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", QUERIES)
def test_the_value_is_that_of_the_records_that_have_one(name):
    """All lists of up to four entries, as lists, floats and masked arrays."""
    query, truth = QUERIES[name]
    for length in (2, 3, 4):
        for entries in itertools.product(ENTRIES, repeat=length):
            kept = [one for one in entries if one is not None and one == one]
            if not kept:
                continue
            missing = [one is None or one != one for one in entries]
            floats = np.array([math.nan if one is None else one for one in entries], dtype=float)
            for data in (list(entries), floats, np.ma.MaskedArray(np.nan_to_num(floats).astype(np.int64), missing)):
                assert dt.inspect.value(query(**BOUNDS), data) == pytest.approx(truth(kept), abs=1e-6), entries


def test_one_entry_adds_removes_or_changes_one_record():
    """Over all pairs of arrays that differ in one entry: what is read differs by one step of the proved relation."""
    grid = Grid.between((0, 8), whole=True)
    for entries in itertools.product((None, 0, 8), repeat=3):
        here = Counter(read_column(list(entries), grid, "drop").values.tolist())
        for place, other in itertools.product(range(3), (None, 0, 8)):
            there = Counter(read_column([*entries[:place], other, *entries[place + 1 :]], grid, "drop").values.tolist())
            gone, come = (here - there).total(), (there - here).total()
            assert gone <= 1
            assert come <= 1


def test_the_plan_does_not_look_whether_anything_is_missing():
    """Arrays of one length and type have one plan, and the release names the arrays that it compares."""
    whole, holes = np.ones(50), np.full(50, math.nan)
    query = dt.Mean(**BOUNDS)
    assert query.shape(whole) == query.shape(holes)
    for data in (whole, holes, [None] * 50, ["x"] * 50):
        release = dt.ask(query, data, epsilon=1.0)
        assert release.neighbours is Neighbours.CHANGE_ONE
        assert release.missing == "drop"
        assert release.interval is not None


HOLES = np.array([5.0] * 700 + [math.nan] * 300)
"""Thirty percent missing, the rest the same number."""
LEFT_OUT = {
    "mean": lambda: dt.Mean("v"),
    "median": lambda: dt.Median("v"),
    "quantile": lambda: dt.Quantile("v", q=0.1),
}
"""What is 5 on the records that have a value."""


def sources(tmp_path, values):
    """The same column as a CSV file, a Parquet file, a frame and a table of Arrow."""
    table = pa.table({"v": pa.array([None if one != one else one for one in values])})
    pq.write_table(table, tmp_path / "t.parquet")
    lines = ["v", *("" if one != one else repr(float(one)) for one in values)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "t.csv", tmp_path / "t.parquet", pd.DataFrame({"v": values}), table


@pytest.mark.parametrize("name", LEFT_OUT)
def test_missing_values_are_left_out_where_nothing_is_said(name, tmp_path):
    """Of arrays, lists and frames by one-line functions, of files and frames with a schema of version 2; it is said.

    An answer is off by 1 with a chance far below 1e-9: epsilon is 200.
    """
    query = LEFT_OUT[name]()
    alone = dataclasses.replace(query, column=None, bounds=(-100, 100))
    for data in (HOLES, HOLES.tolist(), pd.Series(HOLES), pa.array(HOLES.tolist())):
        release = dt.ask(alone, data, epsilon=200.0)
        assert release.value == pytest.approx(5, abs=1)
        assert release.missing == "drop"
        assert "; missing values are left out; values outside -100 to 100 are clamped" in str(release)
    for source in sources(tmp_path, HOLES):
        session = dt.open(source, columns={"v": dt.Real(-100, 100)}, rows=1_000, budget=dt.Budget(1_000.0))
        release = session.ask(query, epsilon=200.0)
        assert release.value == pytest.approx(5, abs=1)
        assert release.missing == "drop"
        assert "; missing values are left out; values outside -100 to 100 are clamped" in str(release)


@pytest.mark.parametrize("nulls", ["drop", "upper", 2.5, None])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bins_are_the_same_whatever_is_read_at_once(nulls, dtype, monkeypatch):
    """Records in blocks of three: missing ones at ends of blocks, infinite ones, ones on edges."""
    numbers = [np.nan, 0.0, 1.0, np.inf, np.nan, 3.0, 2.5, -np.inf, np.nan, np.nan, np.nan, np.nan, 2.0, -5.0, 9.0]
    query = dt.Histogram(edges=[0, 1, 2, 3], nulls=nulls)
    column = np.array(numbers, dtype)
    missing = {"drop": None, "upper": 3.0, 2.5: 2.5, None: 0.0}[nulls]
    kept = [missing if math.isnan(number) else number for number in numbers]
    expected = [min(max(math.floor(min(max(number, -1), 4)), 0), 2) for number in kept if number is not None]
    monkeypatch.setattr(vectors, "AT_ONCE", 3)
    assert query.read(column, query.shape(column)).values.tolist() == expected


def test_histograms_and_counting_queries_leave_out_what_is_missing(tmp_path):
    """Between edges; among categories a missing value is one of the others."""
    edges = [-100, 0, 100]
    for query in (dt.Histogram("v", edges=edges), dt.CountingQueries(["v"], family="points", edges=edges)):
        alone = dataclasses.replace(query, **{"column" if query.name == "histogram" else "columns": None})
        release = dt.ask(alone, HOLES, epsilon=200.0)
        assert (tuple(release.value), release.missing) == ((0, 700), "drop")
        for source in sources(tmp_path, HOLES):
            session = dt.open(source, columns={"v": dt.Real(-100, 100)}, rows=1_000, budget=dt.Budget(1_000.0))
            release = session.ask(query, epsilon=200.0)
            assert (tuple(release.value), release.missing) == ((0, 700), "drop")
    names = dt.histogram(["a", None, "b"] * 100, categories=["a", "b"], epsilon=200.0)
    assert (tuple(names.value), names.missing) == ((100, 100, 100), None)


def test_pairs_leave_out_records_of_which_either_is_missing(tmp_path):
    """A correlation of 1 stays one, in frames and files."""
    y = np.array([float(one) for one in range(100)] * 40)
    x = y.copy()
    x[::3], y[1::3] = math.nan, math.nan
    frame = pd.DataFrame({"y": y, "x": x})
    frame.to_csv(tmp_path / "pairs.csv", index=False)
    release = dt.correlation(frame, bounds=(0, 99), epsilon=100.0)
    assert release.value == pytest.approx(1, abs=0.1)
    assert release.missing == "drop"
    columns = {"y": dt.Real(0, 99), "x": dt.Real(0, 99)}
    for source in (frame, tmp_path / "pairs.csv"):
        session = dt.open(source, columns=columns, rows=len(y), budget=dt.Budget(1_000.0))
        release = session.ask(dt.Correlation(["y", "x"]), epsilon=100.0)
        assert release.value == pytest.approx(1, abs=0.1)
        assert release.missing == "drop"


@pytest.mark.parametrize("ask", [dt.correlation, dt.least_squares])
@pytest.mark.parametrize("options", [{}, {"nulls": "drop"}, {"confidence": 0.9}])
def test_pairs_of_which_no_record_is_complete_are_answered(ask, options):
    """As where a single one is: a neighbour must not raise an error instead."""
    y = [float(item % 40) for item in range(100)]
    for known in (0, 1):
        x = [3.0] * known + [None] * (100 - known)
        pairs = [list(pair) for pair in zip(y, x, strict=True)]
        for data in (np.array(pairs, dtype=float), pd.DataFrame({"y": y, "x": x}, dtype=float), pairs):
            assert np.isfinite(ask(data, bounds=((0, 40), (0, 50)), epsilon=1.0, **options).value).all()


@pytest.mark.parametrize(
    ("query", "options"),
    [
        (dt.Variance, {"mechanism": "worst_case"}),
        (dt.TrimmedMean, {}),
        (dt.IQR, {}),
        (dt.Mean, {"mechanism": "worst_case"}),
        (dt.Mean, {"mechanism": "inverse"}),
        (dt.Sum, {"mechanism": "inverse"}),
    ],
    ids=lambda one: getattr(one, "name", None),
)
def test_elsewhere_a_missing_value_counts_as_a_stated_public_one(query, options):
    """By the query and the mechanism that is named, in arrays and in tables."""
    release = dt.ask(query(bounds=(-100, 100)), HOLES, epsilon=1.0, **options)
    assert release.missing == -100
    assert "missing values are not left out, they count as -100" in str(release)
    session = dt.open({"v": HOLES}, columns={"v": dt.Real(-100, 100)}, rows=1_000, budget=dt.Budget(1_000.0))
    assert session.ask(query("v"), epsilon=1.0, **options).missing == -100


def test_a_type_without_missing_values_keeps_its_public_number():
    """A public fact: integers and truth values of numpy; floats, lists and masked arrays may have some."""
    for data in (np.arange(50), np.arange(50) > 3, np.arange(50, dtype=np.uint8)):
        shape = dt.Mean(bounds=(0, 50), nulls="drop").shape(data)
        assert (shape.private, shape.dropped) == (False, False)
        release = dt.mean(data, bounds=(0, 50), epsilon=1.0)
        assert (release.mechanism, release.missing) == ("worst_case", None)
    for data in (np.ones(50), [1] * 50, np.ma.MaskedArray(np.arange(50))):
        assert dt.Mean(bounds=(0, 50), nulls="drop").shape(data).dropped


def test_version_1_keeps_its_reading():
    """A missing value counts as the lower bound there, and what 0.1.0 stored of a question is what it was."""
    columns = {"v": dt.Real(-100, 100)}
    plans = {}
    for version in (1, 2):
        schema = dt.Schema({"v": HOLES}, columns, rows=1_000, version=version)
        plans[version] = plan(dt.Mean("v"), schema, epsilon=1.0)
    assert (plans[1].missing, plans[2].missing) == (-100, "drop")
    assert plans[1].asked != plans[2].asked
    assert plans[1].older == plans[2].older


@pytest.mark.parametrize("query", [dt.TrimmedMean, dt.WinsorisedMean])
def test_what_is_not_proved_for_a_private_number_of_records_is_refused(query):
    """Before anything is read."""
    with pytest.raises(dt.NotProved, match="missing values that are dropped"):
        dt.ask(query(**BOUNDS), [1.0] * 50, epsilon=1.0)


def test_dropping_needs_bounds_and_in_a_table_a_declaration():
    """Each refusal says what to write."""
    for function in (dt.iqr, dt.trimmed_mean):
        with pytest.raises(dt.InvalidArgument, match="needs bounds"):
            function([1.0] * 50, nulls="drop", epsilon=1.0)
    for nulls, declared in (("lower", False), ("drop", True)):
        columns = {"v": dt.Real(0, 8, nulls=nulls)}
        session = dt.open({"v": [1.0, None] * 20}, columns=columns, budget=dt.Budget(100.0))
        if declared:
            assert session.ask(dt.Sum("v", nulls="drop"), epsilon=50.0, confidence=None).value == pytest.approx(
                20, abs=5
            )
        else:
            with pytest.raises(dt.InvalidArgument, match="declare nulls there"):
                session.ask(dt.Sum("v", nulls="drop"), epsilon=1.0)


# --- without bounds ---------------------------------------------------------------------------------------------------

PAY = np.random.default_rng(5).lognormal(11, 0.6, 6_000)
PAY_HOLES = np.where(np.arange(6_000) % 3 == 0, math.nan, PAY)
KEPT = PAY_HOLES[~np.isnan(PAY_HOLES)]
WITHOUT_BOUNDS = {
    "median": (dt.Median, np.median, 0.1),
    "quantile": (lambda *column: dt.Quantile(*column, q=0.9), lambda kept: np.quantile(kept, 0.9), 0.1),
    "mean": (dt.Mean, np.mean, 0.1),
    "sum": (dt.Sum, np.sum, 0.1),
    "std": (dt.Std, np.std, 0.5),
}
"""Each query with its truth on the records that are left, and how far an answer may be from it, as a share."""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", WITHOUT_BOUNDS)
def test_without_bounds_missing_values_are_left_out_too(name, tmp_path):
    """Of arrays, lists, frames, files and behind filters; at epsilon 50 an answer is that far off once in 1e9 runs."""
    query, truth, within = WITHOUT_BOUNDS[name]
    for data in (PAY_HOLES, PAY_HOLES.tolist(), pd.Series(PAY_HOLES)):
        release = dt.ask(query(), data, epsilon=50.0)
        assert release.value == pytest.approx(truth(KEPT), rel=within)
        assert (release.missing, release.neighbours) == ("drop", Neighbours.CHANGE_ONE)
        assert release.loss.epsilon == 50.0
    for source in sources(tmp_path, PAY_HOLES):
        session = dt.open(source, columns={"v": dt.Real(None, None)}, rows=6_000, budget=dt.Budget(1_000.0))
        for where in (None, "v > 0"):
            release = session.ask(query("v"), epsilon=50.0, where=where)
            assert release.value == pytest.approx(truth(KEPT), rel=within)
            assert (release.missing, release.neighbours) == ("drop", Neighbours.CHANGE_ONE)
        assert session.budget.spent.epsilon == 100.0


@pytest.mark.parametrize("query", [dt.Median, dt.Mean, dt.Sum])
def test_a_column_without_values_is_refused_and_paid_for(query):
    """Texts, and nothing at all: not 0 with an interval of 0; once in e^20 runs the count is high enough at epsilon 2.

    The plan is that of any list of that length.
    """
    for data in (["$1,234.00"] * 1_000, [None] * 1_000, np.full(1_000, math.nan)):
        release = dt.ask(query(), data, epsilon=2.0)
        assert release.refused
        assert "too few records with a value" in release.reason
        assert release.loss.epsilon == 2.0
    whole = query(nulls="drop").plan(query(nulls="drop").shape([1.0] * 1_000), Options(Loss(2.0), confidence=None))
    assert whole == query(nulls="drop").plan(
        query(nulls="drop").shape([None] * 1_000), Options(Loss(2.0), confidence=None)
    )


def test_the_parts_of_a_quantile_without_bounds_are_the_whole():
    """In rationals: a count for a twentieth of epsilon, and draws for the rest; with 5/4 of that count it is more."""
    query = dt.Median(nulls="drop")
    for epsilon, interval in itertools.product((0.3, 1.0, 7.0), (None, Fraction(19, 20))):
        plan = query.plan(query.shape([1.0] * 10_000), Options(Loss(epsilon), confidence=interval))
        counted, drawn = plan.size.loss.exact_epsilon, plan.procedure.composition.epsilon
        asked = Loss(epsilon).exact_epsilon
        assert asked * Fraction(99, 100) < counted + drawn <= asked
        assert Fraction(5, 4) * counted + drawn > asked
        assert plan.size.counted.prepared.statistic.global_sensitivity == 1


def test_the_draw_of_a_private_number_of_records_is_private_on_a_floating_grid():
    """All lists of up to four entries, missing ones among them, and each change of one entry: the loss by brute force.

    Costs are the changes of entries that bring a value to the rank, from the chain that ships; at the rate that is
    used the loss is at most epsilon, and at 5/4 of it more.
    """
    entries, grid, epsilon = (None, -3.0, 0.0, 1e-3, 7.0), FloatingGrid(1.0, bits=1, lowest=-2, highest=3), 1.0
    low, high = grid.grid.ends

    @functools.cache
    def law(kept, rate):
        column = Column(grid.codes(np.array(kept)), grid.grid, ordered=True)
        chain = SharedRank(Fraction(1, 2), 4, grid.grid, Neighbours.ADD_REMOVE_CHANGE).reachable_values(column)
        below, above = chain.values(-6, 0)[::-1], chain.values(0, 6)
        costs = [next(k for k in range(7) if below[k] <= code <= above[k] or k == 6) for code in range(low, high + 1)]
        weights = np.exp(-rate * np.array(costs))
        return weights / weights.sum()

    def loss(rate):
        worst = 0.0
        for data in itertools.product(entries, repeat=4):
            for place, other in itertools.product(range(4), entries):
                changed = (*data[:place], other, *data[place + 1 :])
                here, there = (tuple(sorted(one for one in each if one is not None)) for each in (data, changed))
                worst = max(worst, float(np.log(law(here, rate) / law(there, rate)).max()))
        return worst

    assert loss(epsilon / 2) <= epsilon
    assert loss(epsilon * 5 / 8) > epsilon


@pytest.mark.parametrize(
    ("declared", "where", "by"),
    [
        (dt.Real(0, 1e5), None, None),
        (dt.Real(0, 1e5), "v > -1", None),
        (dt.Real(0, 1e5), None, "g"),
        (dt.Real(None, None), None, None),
        (dt.Real(None, None), "v > -1", None),
    ],
)
def test_more_rows_than_declared_are_an_error(declared, where, by):
    """A draw reaches as far as the declared number: among more records it would have next to no noise."""
    table = {"v": np.linspace(0, 1e5, 4_001), "g": ["a", "b", "b"] * 1_333 + ["a"] * 2}
    columns = {"v": declared, "g": dt.Category(["a", "b"])}
    for rows in (1_000, 4_000, 4_001):
        session = dt.open(table, columns=columns, rows=rows, budget=dt.Budget(1_000.0))
        for query in (dt.Median("v"), dt.Mean("v")):
            asked = {"epsilon": 4.0, "where": where} if by is None else {"epsilon": 4.0, "by": by}
            if rows == 4_001:
                session.ask(query, **asked)
                continue
            with pytest.raises(dt.SourceFailed, match=f"does not have the {rows} rows"):
                session.ask(query, **asked)
        assert session.budget.spent.epsilon == 8.0


def test_whole_numbers_are_the_categories_that_are_written_like_them():
    """Entry by entry: 4 is "4"; truth values and floats are not."""
    asked = {"categories": ["1", "4"], "epsilon": 200.0}
    assert tuple(dt.histogram(np.array([1, 4, 4, 7] * 50), **asked).value) == (50, 100, 50)
    assert tuple(dt.histogram([1, "4", True, 4.0, None] * 50, **asked).value) == (50, 50, 150)
