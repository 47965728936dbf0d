"""Owners' diagnostics of sample and aggregate: accuracy on blocks, separation of clusters."""

import numpy as np
import pytest

import dither as dt
from dither.errors import InvalidArgument

COINS = np.tile([0.0, 1.0], 10_000)


@pytest.mark.slow
def test_larger_blocks_are_nearer():
    """The radius of three quarters falls like one over the root of the size: about 0.575 / root(size)."""
    rows = dt.inspect.blocks(dt.Program(np.mean, bounds=(0, 1), metric="l2"), COINS, sizes=[16, 256, 4_096], draws=400)
    for row in rows:
        assert 0.25 < row.radius * np.sqrt(row.size) < 1.2
        assert row.median <= row.radius
        assert row.failed == 0


@pytest.mark.slow
def test_units():
    """With a metric the numbers' own, without one parts of the bounds; the whole is at distance 0 of itself."""
    wide = dt.Program(np.mean, bounds=(0, 10), metric="l1")
    parts = dt.Program(np.mean, bounds=(0, 10))
    far = dt.inspect.blocks(wide, 10 * COINS, sizes=[64], draws=400)[0].radius
    near = dt.inspect.blocks(parts, 10 * COINS, sizes=[64], draws=400)[0].radius
    assert 5 < far / near < 20
    assert dt.inspect.blocks(wide, COINS, sizes=[len(COINS)])[0].radius < 1e-9


def test_points_and_failures():
    """Distances of the space; a program that fails counts as the default, and how often is said."""
    program = dt.Program(lambda rows: "heads" if rows.sum() > 10_500 else 1 / 0, space="labels: tails, heads")
    (row,) = dt.inspect.blocks(program, np.ones(12_000), sizes=[100], draws=8)
    assert (row.radius, row.failed) == (1.0, 8)
    assert "8 of 8 failed" in str(row)
    assert str(row).endswith("not private")


def test_default_sizes_double():
    """From 8 up to half of the people."""
    rows = dt.inspect.blocks(dt.Program(np.mean, bounds=(0, 1)), COINS[:100], draws=4)
    assert [row.size for row in rows] == [8, 16, 32]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"sizes": []}, "sizes"),
        ({"sizes": [0]}, "sizes"),
        ({"sizes": [10**9]}, "sizes"),
        ({"draws": 1}, "draws"),
        ({"query": dt.Median(bounds=(0, 1))}, "query"),
        ({"query": dt.Program("file.py:f", bounds=(0, 1))}, "query"),
    ],
)
def test_bad_input_is_named(options, named):
    """What was given and what would do."""
    query = options.pop("query", dt.Program(np.mean, bounds=(0, 1)))
    with pytest.raises(InvalidArgument, match=named):
        dt.inspect.blocks(query, COINS, **options)


def test_separation_of_two_clusters():
    """By hand: two places 10 apart, 4 points each at 0 and 1 around them."""
    points = np.array([0.0, 1.0] * 4 + [10.0, 11.0] * 4)
    found = dt.inspect.separation(points, k=2)
    assert found.cost == pytest.approx(16 * 0.25)
    assert found.cost_with_one_fewer == pytest.approx(16 * (25 + 0.25))
    assert found.phi_squared == pytest.approx(1 / 101)
    assert "not private" in str(found)


def test_separation_in_parts_of_bounds():
    """A wide coordinate without clusters hides narrow ones, unless it is measured in parts of its bounds."""
    rng = np.random.default_rng(3)
    points = np.column_stack([rng.uniform(0, 200_000, 400), np.repeat([20.0, 80.0], 200)])
    raw = dt.inspect.separation(points, k=2)
    scaled = dt.inspect.separation(points, k=2, bounds=[(0, 200_000), (0, 100)])
    assert raw.phi_squared == pytest.approx(0.25, abs=0.05)
    assert scaled.phi_squared < 0.6
    assert dt.inspect.separation(np.zeros((5, 1)), k=2).phi_squared == 1.0


@pytest.mark.parametrize(
    ("points", "options", "named"),
    [
        ([[1.0, 2.0]], {"k": 2}, "points"),
        ([1.0, float("nan")], {"k": 2}, "points"),
        ([1.0, 2.0, 3.0], {"k": 1}, "k"),
        ([1.0, 2.0, 3.0], {"k": 2, "bounds": [(0, 1), (0, 1)]}, "bounds"),
    ],
)
def test_bad_points_are_named(points, options, named):
    """Named."""
    with pytest.raises(InvalidArgument, match=named):
        dt.inspect.separation(points, **options)
