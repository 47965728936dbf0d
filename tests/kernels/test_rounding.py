"""Rounding to a grid and exact sums on the way, against Python's fractions and integers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.kernels.rounding import PIECE, Rounding
from dither.sources.column import read_column
from dither.sources.grid import Grid

STRANGE = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 0.25, -0.75]
GRIDS = [
    Rounding(1.0, 0, 1, 0),
    Rounding(0.5, -100, 100, 100),
    Rounding(0.1, -3, 900, 7),
    Rounding(2.0**-30, -(2**35), 2**36, -(2**35)),
    Rounding(2.0**-36, 2**51, 2**51 + 2**38 - 1, 2**51 + 5),
    Rounding(2.0**-45, -(2**51), 2**51, 0),
    Rounding(2.0**-900, -5, 2**38 - 6, 2**38 - 6),
]


def plain(rounding, value):
    """One value, by the rule as it is written: no arrays."""
    if math.isnan(value):
        return rounding.missing
    if math.isinf(value):
        return rounding.high if value > 0 else rounding.low
    # The quotient is a float, as every engine computes it.
    try:
        quotient = value / rounding.size
    except OverflowError:
        quotient = math.copysign(math.inf, value)
    if math.isinf(quotient):
        return rounding.high if quotient > 0 else rounding.low
    return min(max(round(Fraction(quotient)), rounding.low), rounding.high)


@pytest.mark.parametrize("rounding", GRIDS)
@given(values=st.lists(st.floats(width=64) | st.sampled_from(STRANGE) | st.floats(-120, 120), max_size=30))
def test_every_value_by_itself(rounding, values):
    """NaN, infinities, halves, denormals: the same steps as Python's own numbers give."""
    expected = [plain(rounding, value) for value in values]
    assert rounding.steps(np.array(values, dtype=np.float64)).tolist() == expected
    above = [step - rounding.low for step in expected]
    for powers in (1, 2):
        if rounding.can_sum(powers):
            sums = rounding.sums(np.array(values, dtype=np.float64), powers)
            assert sums == (sum(above), sum(step * step for step in above))[:powers]


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 7])
@pytest.mark.parametrize("bits", [1, 7, 37, 38])
def test_sums_of_the_largest_steps(size, bits):
    """All records at the upper end, where the sums of a piece are largest; one bit more and there is no short way."""
    most = (1 << bits) - 1
    rounding = Rounding(1.0, 0, most, 0)
    assert rounding.can_sum(2)
    assert rounding.sums(np.full(size, np.inf), 2) == (size * most, size * most * most)
    assert not Rounding(1.0, 0, 1 << 38, 0).can_sum(1)


@pytest.mark.parametrize("bounds", [(0, 600_000), (-3, 5), (1000, 1001), (0, 2**20 - 1), (-0.1, 0.2)])
def test_default_grids_are_summed_on_the_way(bounds):
    """Whatever the bounds are, a grid without a declared step is fine enough and not too fine."""
    assert Grid.between(bounds).rounding(0).can_sum(2)


@pytest.mark.sampled(11)
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("nulls", ["lower", "upper", 3, "drop"])
@pytest.mark.parametrize("step", [None, 0.1, 2.0**-44])
def test_columns_that_are_rounded_late(nulls, step, kind):
    """Sums, squares, counts and ranks are those of the records that were rounded first, in any order of asking."""
    grid = Grid.between((-50.0, 200.0), step)
    numbers = np.random.default_rng(1).normal(60, 90, PIECE + 900).astype(kind)
    numbers[::17], numbers[5], numbers[6] = np.nan, np.inf, -np.inf
    present = numbers[~np.isnan(numbers)] if nulls == "drop" else numbers
    low, high = grid.ends
    missing = {"lower": low, "upper": high, "drop": low}.get(nulls, round(3 / grid.step))
    steps = np.sort(grid.quantise(present, missing))
    above = [int(step) - low for step in steps]
    total, squares = int(sum(map(int, steps))), sum(step * step for step in above)
    for asked_first in ("sums", "ranks"):
        column = read_column(numbers, grid, nulls)
        if asked_first == "ranks":
            assert column.ranks(1, column.records).tolist() == steps.tolist()
        assert column.records == len(steps)
        assert column.total() == total
        assert column.moments() == (sum(above), squares)
        assert column.total(3, 900) == sum(map(int, steps[2:900]))
        assert np.sort(column.values).tolist() == steps.tolist()
        assert column.total() == total
    assert repr(read_column(numbers, grid, nulls)) == "Column(<private>)"
