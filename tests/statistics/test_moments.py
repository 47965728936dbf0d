"""Moments of two columns and more: exact sums, and sensitivities that no change exceeds and some changes attain."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

import dither as dt
from dither.privacy import Neighbours
from dither.sources.column import Column, Shape, Table
from dither.sources.grid import Grid
from dither.statistics.moments import ColumnSums, Moments

ENDS = (0, 10)
GRID = Grid(Fraction(1), *ENDS)
RELATIONS = (Neighbours.CHANGE_ONE, Neighbours.ADD_REMOVE_CHANGE, Neighbours.ADD_REMOVE)


def table(rows, *grids):
    """Rows (y, x) as a table."""
    columns = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return Table([Column(columns[:, j], (grids or (GRID, GRID))[j]) for j in range(2)])


def features(row, *, has_y_square, private):
    """What one record adds to the moments, by the definition."""
    v, u = (Fraction(2 * one - sum(ENDS), ENDS[1] - ENDS[0]) for one in row)
    return [u, v, u * u, *([v * v] if has_y_square else []), u * v, *([Fraction(1)] if private else [])]


@pytest.mark.parametrize("has_y_square", [True, False])
@pytest.mark.parametrize("private", [True, False])
def test_moments_are_sums_of_centred_products(has_y_square, private):
    """In units of the half widths, whatever the bounds are; private sums add up over batches."""
    rows = [(0, 10), (3, 3), (10, 0), (7, 1), (2, 2)]
    statistic = Moments(5, GRID, (GRID,), has_y_square, private, RELATIONS[private])
    expected = [
        sum(c) for c in zip(*(features(r, has_y_square=has_y_square, private=private) for r in rows), strict=True)
    ]
    found = [grid.step * one for grid, one in zip(statistic.answers, statistic.values(table(rows)), strict=True)]
    assert found == expected
    parts = ColumnSums.of(table(rows[:2])) + ColumnSums.of(table([])) + ColumnSums.of(table(rows[2:]))
    assert statistic.values(parts) == statistic.values(table(rows))
    assert repr(parts) == "ColumnSums(<private>)"
    for grid, one in zip(statistic.answers, statistic.values(table(rows)), strict=True):
        assert grid.clamp(one) == one


@pytest.mark.sampled(1)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("has_y_square", [True, False])
@pytest.mark.parametrize("rows", [1, 3])
def test_no_change_moves_them_further_and_some_as_far(relation, has_y_square, rows):
    """All changes of one record on a grid that holds the worst ones; sums are linear: other records do not matter."""
    private = relation is not Neighbours.CHANGE_ONE
    statistic = Moments(5, GRID, (GRID,), has_y_square, private, relation, rows)
    caps = [grid.step * cap for grid, cap in zip(statistic.answers, statistic.global_sensitivities, strict=True)]
    points = [features(row, has_y_square=has_y_square, private=private) for row in product(range(11), repeat=2)]
    nothing = [Fraction(0)] * len(caps)
    pairs = [(one, nothing) for one in points] if private else []
    pairs += [] if relation is Neighbours.ADD_REMOVE else list(product(points, repeat=2))
    worst, l1, l2 = nothing, Fraction(0), Fraction(0)
    for here, there in pairs:
        parts = [abs(a - b) / cap for a, b, cap in zip(here, there, caps, strict=True)]
        worst = [max(pair) for pair in zip(worst, parts, strict=True)]
        l1, l2 = max(l1, sum(parts)), max(l2, sum(one * one for one in parts))
    assert worst == [1] * len(caps)
    assert rows * l1 == statistic.l1
    assert rows**2 * l2 <= statistic.l2_squared
    assert statistic.l2_squared <= Fraction(6, 5) * rows**2 * l2  # (nearly sharp)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("has_y_square", [True, False])
@pytest.mark.parametrize("features", [2, 3])
def test_no_change_moves_moments_of_several_features_further_and_some_as_far(relation, has_y_square, features):
    """The places of the extremal changes: the ends, the middle, and -1/(d+3)."""
    d, private = features + 1, relation is not Neighbours.CHANGE_ONE
    grid = Grid(Fraction(1), 0, 2 * (d + 3))
    statistic = Moments(1, grid, (grid,) * features, has_y_square, private, relation)
    caps = [Fraction(one) for one in statistic.global_sensitivities]
    places = (0, d + 2, d + 3, 2 * (d + 3)) if features == 2 else (0, d + 2 if has_y_square else d + 3, 2 * (d + 3))

    def moments(row):
        columns = [Column(np.array([one]), grid) for one in row]
        return [Fraction(one) / cap for one, cap in zip(statistic.values(Table(columns)), caps, strict=True)]

    points = [moments(row) for row in product(places, repeat=d)]
    nothing = [Fraction(0)] * len(caps)
    pairs = [(one, nothing) for one in points] if private else []
    pairs += [] if relation is Neighbours.ADD_REMOVE else list(combinations(points, 2))
    apart = [[abs(a - b) for a, b in zip(here, there, strict=True)] for here, there in pairs]
    l2 = max(sum(part * part for part in parts) for parts in apart)
    assert max(map(max, apart)) == 1
    assert max(map(sum, apart)) == statistic.l1
    assert l2 <= statistic.l2_squared <= Fraction(6, 5) * l2


def test_widths_of_nothing_and_of_everything():
    """Columns with one possible value have moments too; the largest grids do not overflow."""
    point, wide = Grid(Fraction(1), 3, 3), Grid(Fraction(1, 7), -(1 << 51), 1 << 51)
    statistic = Moments(2, point, (wide,))
    values = statistic.values(table([(3, 1 << 51), (3, -(1 << 51))], point, wide))
    assert [grid.value(one) for grid, one in zip(statistic.answers, values, strict=True)] == [0, -2, 2, 2, 0]


@pytest.mark.parametrize("records", [2, 3])
def test_the_covariance_of_two_columns_moves_by_at_most_its_cap(records):
    """All tables over 3 x 2 values: attained, and the range is what can be reached."""
    shape = Shape(records, whole=True, nullable=False, columns=2)
    statistic = dt.PairCovariance(bounds=[(0, 2), (0, 1)]).resolve(shape)
    rows = list(product(range(3), range(2)))
    value = {one: statistic.value(table(one, statistic.y, statistic.x)) for one in product(rows, repeat=records)}
    moved = max(abs(value[one] - value[(row, *one[1:])]) for one in value for row in rows)
    assert moved == statistic.global_sensitivity
    assert (min(value.values()), max(value.values())) == statistic.answers.ends
