"""nulls="drop" in one-line functions: what is left of an array, and between which arrays the loss holds."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import dither as dt
from dither.privacy import Neighbours
from dither.sources.column import read_column
from dither.sources.grid import Grid

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
        assert release.missing is None
        assert release.interval is not None


@pytest.mark.parametrize("query", [dt.Variance, dt.Std, dt.TrimmedMean, dt.WinsorisedMean])
def test_what_is_not_proved_for_a_private_number_of_records_is_refused(query):
    """Before anything is read."""
    with pytest.raises(dt.NotProved, match="missing values that are dropped"):
        dt.ask(query(**BOUNDS), [1.0] * 50, epsilon=1.0)


def test_dropping_needs_bounds_and_in_a_table_a_declaration():
    """Each refusal says what to write."""
    with pytest.raises(dt.InvalidArgument, match="needs bounds"):
        dt.median([1.0] * 50, nulls="drop", epsilon=1.0)
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
