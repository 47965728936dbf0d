"""Means of vectors in a ball: records are brought inside, how far one moves the sum, bad input."""

from itertools import product

import numpy as np
import pytest

import dither as dt
from conftest import trials
from dither.errors import InvalidArgument
from dither.mechanisms.choice import prepare
from dither.queries.ball_means import BITS, MOST_COLUMNS, MOST_STEPS, in_ball
from dither.sources.column import Column, Shape, Table


def length(vector, norm):
    """Exactly, squared for l2."""
    return sum(abs(int(one)) for one in vector) if norm == "l1" else sum(int(one) ** 2 for one in vector)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_no_record_stays_outside(norm):
    """Small ones one by one, and random ones up to the largest radius in up to 64 coordinates; inside nothing moves."""
    rng = np.random.default_rng(7)
    limit = {"l1": lambda radius: radius, "l2": lambda radius: radius**2}[norm]
    for radius in (1, 2, 5):
        rows = np.array(list(product(range(-7, 8), repeat=2)))
        for row, moved in zip(rows, in_ball(rows, radius, norm), strict=True):
            assert length(moved, norm) <= limit(radius)
            assert length(row, norm) > limit(radius) or (row == moved).all()
            assert ((moved == 0) | (np.sign(moved) == np.sign(row))).all()
    for _ in range(trials(50, 1_000)):
        radius, columns = int(rng.integers(1, MOST_STEPS + 1)), int(rng.integers(1, 65))
        rows = rng.integers(-(1 << 40), 1 << 40, size=(40, columns)) // int(rng.choice([1, 1 << 13, 1 << 20]))
        assert all(length(row, norm) <= limit(radius) for row in in_ball(rows, radius, norm))


def test_scaling_loses_little():
    """A long vector keeps its direction and nearly the radius."""
    (moved,) = in_ball(np.array([[300_000, -400_000]]), 50_000, "l2")
    assert np.abs(moved - [30_000, -40_000]).max() <= 1


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_sensitivity_on_a_whole_universe(norm):
    """One record of two among all vectors of a square: two radii in the norm, attained, so 0.7 of them would not do."""
    query = dt.BallMean(radius=3, norm=norm, centre=(1, 0), step=1)
    shape = Shape(2, whole=True, nullable=False, columns=2)
    statistic, grids = query.resolve(shape), query.grids(shape)
    rows = list(product(range(-3, 6), range(-4, 5)))

    def summed(*records):
        columns = np.array(records, dtype=np.int64).T
        return np.array(statistic.values(Table([Column(c, grid) for c, grid in zip(columns, grids, strict=True)])))

    sums = np.array([summed((1, 0), row) for row in rows])
    apart = np.abs(sums[:, None] - sums[None]).astype(float)
    units = apart / statistic.global_sensitivities
    assert units.sum(axis=2).max() <= float(statistic.l1) * (1 + 1e-12)
    assert (units**2).sum(axis=2).max() <= statistic.l2_squared
    assert (apart.sum(axis=2) if norm == "l1" else np.sqrt((apart**2).sum(axis=2))).max() == 6
    for row, found in zip(rows, sums, strict=True):
        inside = in_ball(np.array([[row[0] - 1, row[1]]]), 3, norm)[0]
        assert found.tolist() == [inside[0] + 2, inside[1]]


def test_noise_does_not_grow_with_the_columns():
    """By l1 the scale of eight columns is that of one, an eighth of what bounds for each column take."""

    def half_width(query, columns):
        statistic = query.resolve(Shape(1_000, whole=False, nullable=False, columns=columns))
        _, prepared = prepare(statistic, epsilon=1.0, confidence=0.95)
        return prepared.public_half_widths()[0] * float(statistic.answers[0].step)

    ball, one = (half_width(dt.BallMean(radius=1, norm="l1"), columns) for columns in (8, 1))
    box = half_width(dt.MeanVector(bounds=(-1, 1)), 8)
    assert ball == pytest.approx(one, rel=1e-3)
    assert box / ball == pytest.approx(8, rel=1e-3)


def test_releases():
    """Near the mean of what was brought inside; with a centre, missing values and named columns."""
    rows = np.tile([3.0, 4.0], (5_000, 1))
    rows[0] = [1e300, np.nan]
    found = dt.ball_mean(rows, radius=2.5, norm="l2", epsilon=5.0, delta=1e-6)
    assert np.abs(np.array(found.value) - [1.5, 2.0]).max() < 0.1
    moved = dt.ball_mean({"x": rows[:, 0], "y": rows[:, 1]}, radius=1, norm="l1", centre=(3, 3.5), epsilon=20.0)
    assert np.abs(np.array(moved.value) - [3.0, 4.0]).max() < 0.1
    assert moved.labels == ("x", "y")


def test_bounds_cut_before_the_ball():
    """Each coordinate first; missing values are the centre as far as the bounds allow it."""
    rows = np.tile([3.0, 40.0], (5_000, 1))
    found = dt.ball_mean(rows, radius=5, bounds=[(1, 9), (0, 4)], epsilon=20.0)
    assert np.abs(np.array(found.value) - [3.0, 4.0]).max() < 0.1
    query = dt.BallMean(radius=5, bounds=[(1, 9), (0, 4)])
    assert query.missing(Shape(5, whole=False, nullable=True, columns=2)) == (1.0, 0.0)


def test_in_a_session():
    """Columns on declared grids of different steps meet on the ball's own."""
    columns = {"x": dt.Integer(0, 100), "y": dt.Real(0, 100)}
    data = {"x": [30] * 2_000, "y": [40.5] * 2_000}
    with dt.open(data, columns=columns, budget=dt.Budget(50.0), rows=2_000) as session:
        release = session.ask(dt.BallMean(["x", "y"], radius=100), epsilon=20.0)
        assert np.abs(np.array(release.value) - [30, 40.5]).max() < 1


def test_the_default_step_is_fine():
    """Between 2**24 and 2**26 steps to the radius, whatever its size."""
    for radius in (1e-9, 1, 3.7, 1e12):
        statistic = dt.BallMean(radius=radius).resolve(Shape(3, whole=False, nullable=False, columns=2))
        assert 1 << BITS <= statistic.radius <= 4 << BITS


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"radius": 0}, "radius"),
        ({"radius": -1}, "radius"),
        ({"radius": float("inf")}, "radius"),
        ({"norm": "l3"}, "norm"),
        ({"centre": [1]}, "centre"),
        ({"centre": ["a", 1]}, "centre"),
        ({"centre": [1e30, 0]}, "centre"),
        ({"step": 5}, "step"),
        ({"step": 1e-12}, "step"),
    ],
)
def test_bad_input_is_named(options, named):
    """From public facts."""
    with pytest.raises(InvalidArgument, match=named):
        dt.ball_mean(np.zeros((5, 2)), **{"radius": 1, "epsilon": 1.0, **options})


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_sums_of_squares_never_leave_64_bits(norm):
    """Columns and radius that could wrap are refused, whatever the records are; the most that are accepted hold."""
    radius = MOST_STEPS
    most = (2**63 - 1) // radius**2
    assert most == 127 >= MOST_COLUMNS
    for count in (MOST_COLUMNS, most):
        rows = np.full((2, count), radius, dtype=np.int64)
        rows[1] = 0
        moved = in_ball(rows, radius, norm)
        assert length(moved[0], norm) <= (radius if norm == "l1" else radius**2)
    for rows in (np.zeros((1, most + 1), dtype=np.int64), np.full((1, most + 1), radius, dtype=np.int64)):
        with pytest.raises(InvalidArgument, match="radius"):
            in_ball(rows, radius, norm)
    with pytest.raises(InvalidArgument, match="radius"):
        in_ball(np.zeros((1, 2), dtype=np.int64), 1 << 29, norm)
