"""The one map of public bounds onto the unit cube: exact at the ends, point by point, with grids of equal parts."""

from fractions import Fraction

import numpy as np
import pytest

from dither.privacy import Loss
from dither.procedures.aggregate import Aggregation
from dither.procedures.agreement import Average
from dither.procedures.centre import Centre
from dither.procedures.executor import Output
from dither.procedures.metrics import Matching
from dither.procedures.space import Space
from dither.sources.grid import MOST_STEPS

PAY_AND_AGE = [(0.0, 200_000.0), (0.0, 120.0)]
ODD = Space.between([(0.1, 0.7), (-3.0, 1e9), (1e9, 1e9 + 1), (-1e-300, 1e-120)])


def test_ends_are_met_exactly_and_what_lies_outside_comes_to_them():
    """Ends go to 0 and 1 and back, bit for bit; missing entries are the middle."""
    low, high = np.array(ODD.low), np.array(ODD.high)
    assert ODD.to_cube(np.array([low, high])).tolist() == [[0.0] * 4, [1.0] * 4]
    assert ODD.from_cube(np.array([[0.0] * 4, [1.0] * 4])).tolist() == [low.tolist(), high.tolist()]
    assert ODD.from_cube(np.array([[-np.inf] * 4, [np.inf] * 4])).tolist() == [low.tolist(), high.tolist()]
    assert ODD.to_cube(np.array([low - 1e30, high + 1e30])).tolist() == [[0.0] * 4, [1.0] * 4]
    assert np.abs(ODD.to_cube(np.full((1, 4), np.nan)) - 0.5).max() < 1e-6


def test_there_and_back():
    """Up to rounding of floats nothing is lost, and every point is mapped by itself."""
    space = Space.between([*PAY_AND_AGE, (-3.0, 1000.0)])
    points = np.random.default_rng(1).uniform(space.low, space.high, (1001, 3))
    parts = space.to_cube(points)
    assert np.abs((space.from_cube(parts) - points) / space.widths).max() < 1e-15
    assert all((space.to_cube(point[None])[0] == part).all() for point, part in zip(points, parts, strict=True))


def test_grids_are_equal_parts_of_each_width():
    """A step of every grid is the same part of its bounds, exactly; bounds far from zero make all of them coarser."""
    for bounds in (PAY_AND_AGE, [(-3.0, 1000.0), (0.1, 0.7), (-7.0, -2.0)], [(0.0, 1e9), (1e9, 1e9 + 1)]):
        grids = Space.between(bounds).grids(36)
        parts = {grid.step / (Fraction(high) - Fraction(low)) for grid, (low, high) in zip(grids, bounds, strict=True)}
        assert len(parts) == 1
        for grid, (low, high) in zip(grids, bounds, strict=True):
            first, last = grid.ends
            assert max(abs(first), abs(last)) <= MOST_STEPS
            assert Fraction(low) <= grid.step * first < Fraction(low) + grid.step
            assert Fraction(high) - grid.step < grid.step * last <= Fraction(high)
    assert Space.between(PAY_AND_AGE).grids(36)[1].step == Fraction(120, 1 << 36)
    assert Space.between([(0.0, 1e9), (1e9, 1e9 + 1)]).grids(36)[1].step == Fraction(1, 1 << 22)


@pytest.mark.parametrize(("aggregator", "most"), [(Centre(), 0.1), (Average(), 0.01)])
@pytest.mark.parametrize("metric", [None, Matching(1)])
def test_noise_is_scaled_with_the_bounds(aggregator, most, metric):
    """Answers within a hundredth of each width: the narrow number is told as well as the wide one.

    In own units the age is off by half of its width.  An error is above ``most`` less than once in 50 times, so that
    all of six are with probability below 1e-10.
    """
    rng = np.random.default_rng(2)
    table = np.array([0.4, 0.5]) + 0.001 * rng.normal(size=(600, 2))
    task = Aggregation(600, 1, Output(2, bounds=PAY_AND_AGE), Loss(1.0, 1e-6), metric=metric)
    made = aggregator.prepare(task)
    errors = []
    for _ in range(6):
        found = made.run(table * [200_000, 120]).values
        errors.append(1.0 if found is None else abs(found[1] / 120 - 0.5))
    assert min(errors) < most


def test_own_units_on_request():
    """``metric="l2"`` keeps one unit for all numbers, in which the narrow one drowns."""
    task = Aggregation(600, 1, Output(2, bounds=PAY_AND_AGE), Loss(1.0, 1e-6), metric="l2")
    assert len({grid.step for grid in Centre().prepare(task).grids}) == 1
    assert len(set(Average().prepare(task).units.tolist())) == 1
    scaled = Aggregation(600, 1, Output(2, bounds=PAY_AND_AGE), Loss(1.0, 1e-6))
    steps = [grid.step for grid in Centre().prepare(scaled).grids]
    assert steps[0] / steps[1] == Fraction(200_000, 120)
