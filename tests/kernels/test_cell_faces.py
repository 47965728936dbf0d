"""Margins of cells with three coefficients and more: bounds from below that one record moves by one."""

import math
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

import oracle_arrangement as slow
from conftest import trials
from dither.kernels import cell_faces as faces
from dither.kernels import least_deviations
from dither.kernels.arrangement import BITS, REACH, Lines, lines_of
from dither.procedures.cell_regression import FINENESS, cells_of, faces_of

UNIT = 1 << BITS
COARSE = (4, 2)


def as_lines(listed):
    """Kernel input from a list of (a, w): places in half cells."""
    return Lines(np.array([a for a, _ in listed], dtype=np.int64), np.array([w for _, w in listed], dtype=np.int64))


def through(a, place):
    """The record with direction a whose plane passes through a place."""
    return a, sum(part * at for part, at in zip(a, place, strict=True))


AXES = [(UNIT, 0, 0), (0, UNIT, 0), (0, 0, UNIT)]
SLANTED = (UNIT // 3, 2 * UNIT // 3, 2 * UNIT // 3)


def small_universe():
    """A few records through the middle of a cell, through its corners and edges, and one that says nothing."""
    return [
        through(AXES[0], (1, 1, 1)),
        through(AXES[1], (1, 1, 1)),
        through(AXES[2], (2, 2, 2)),
        through(SLANTED, (1, 1, 1)),
        through(SLANTED, (5, 5, 5)),
        ((0, 0, 0), 0),
    ]


def margins(listed):
    """(cell, margin) in each of the eight grids, as in a release, with faces cut less finely."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(FINENESS, 3, COARSE)
        return faces_of(as_lines(listed), 50)


@pytest.fixture(scope="module")
def universe():
    """Every dataset of eighteen fixed records and so many of the small universe, with cells and margins."""
    kinds, size = small_universe(), trials(4, 9)
    base = [through(axis, (1, 1, 1)) for axis in AXES for _ in range(6)]
    return {
        dataset: margins([*base, *(kinds[k] for k in dataset)])
        for dataset in combinations_with_replacement(range(len(kinds)), size)
    }


def neighbouring(dataset, kinds):
    """All datasets with one record replaced."""
    return {
        tuple(sorted((*dataset[:place], kind, *dataset[place + 1 :])))
        for place in range(len(dataset))
        for kind in range(kinds)
    } - {dataset}


def worst_step(universe, change):
    """The largest step of a changed margin between neighbours, the largest one where cells differ, and the pairs."""
    step, apart, pairs = 0, 0, 0
    for dataset, here in universe.items():
        for other in neighbouring(dataset, len(small_universe())):
            pairs += 1
            for (cell, margin), (there, there_margin) in zip(here, universe[other], strict=True):
                step = max(step, abs(change(margin) - change(there_margin)))
                if cell is not None and cell != there:
                    apart = max(apart, change(margin))
    return step, apart, pairs


def test_margins_move_by_one_on_a_whole_universe(universe):
    """Ties, records that say nothing and collinear ones; margins of two and more occur, and steps of one."""
    step, apart, pairs = worst_step(universe, lambda margin: margin)
    assert step == 1
    assert apart == 0
    assert pairs >= trials(1500, 30_000)
    assert max(margin for found in universe.values() for _, margin in found) >= 2


@pytest.mark.slow
def test_doubled_margins_are_caught(universe):
    """The count of added or deleted records that DL09 uses moves by two under one change."""
    assert worst_step(universe, lambda margin: 2 * margin)[0] == 2


def test_margins_that_start_one_earlier_are_caught(universe):
    """A neighbour of a bound of three may have one below two, and then its cell is not looked for."""
    step, apart, _ = worst_step(universe, lambda margin: margin + 1)
    assert step == 1
    assert apart == 1


def random_planes(rng, count):
    """Planes of few directions, often through the same whole places, so that ties are common."""
    found = []
    for _ in range(count):
        pick = rng.integers(5)
        if pick < 3:
            a = AXES[pick]
        elif pick == 3:
            a = SLANTED
        else:
            whole = rng.integers(-3, 4, 3)
            a = tuple(int(part) for part in whole * (UNIT // 6))
        place = rng.integers(0, 3, 3) if rng.random() < 0.8 else rng.integers(-6, 7, 3)
        jump = 0 if rng.random() < 0.6 else int(rng.integers(-UNIT, UNIT) // 2)
        a, w = through(a, [int(one) for one in place])
        found.append((a, w + jump))
    return found


@pytest.mark.slow
def test_margins_of_random_neighbours():
    """Replaced by a far outlier, by nothing, by a copy of another record: margins move by one at most."""
    rng, moved = np.random.default_rng(5), 0
    for _ in range(trials(25, 4000)):
        listed = random_planes(rng, int(rng.integers(4, 40)))
        listed += [through(axis, (1, 1, 1)) for axis in AXES for _ in range(int(rng.integers(0, 12)))]
        here = margins(listed)
        for kind in range(5):
            other = list(listed)
            replaced = [
                (AXES[0], 2000 * UNIT),
                ((0, 0, 0), 0),
                listed[int(rng.integers(len(listed)))],
                random_planes(rng, 1)[0],
                through((UNIT // 2, -UNIT // 2, UNIT // 2), (int(rng.integers(3)), 0, 2)),
            ]
            other[int(rng.integers(len(listed)))] = replaced[kind]
            for (cell, margin), (there, there_margin) in zip(here, margins(other), strict=True):
                assert abs(margin - there_margin) <= 1
                assert cell == there or margin == there_margin == 0
                moved += margin != there_margin
    assert moved > trials(10, 1000)


@pytest.mark.slow
def test_bounds_lie_below_the_least_subgradient_and_near_it():
    """Against all places where planes and faces meet: never above; with so few records mostly all of it."""
    rng, shares = np.random.default_rng(6), []
    for _ in range(trials(20, 300)):
        listed = random_planes(rng, 4) + [through(axis, (1, 1, 1)) for axis in AXES for _ in range(2)]
        lines = as_lines(listed)
        corner = (0, 0, 0)
        least = slow.least_on_faces(listed, corner) / UNIT if slow.holds_minimisers(listed, corner) else 0.0
        for depth, finest in (COARSE, FINENESS[3]):
            found = bound_of(lines, corner, depth, finest)
            assert found <= least + 1e-9
        if least > 0.2:
            shares.append(found / least)
    assert len(shares) > trials(5, 80)
    assert np.median(shares) > 0.95
    assert np.mean(shares) > 0.85


def bound_of(lines, corner, depth, finest):
    """The bound itself, without the floor at two, in whole directions."""
    rest = (lines.directions * np.array(corner)).sum(axis=1) - lines.doubled
    best = 1 << 50
    for axis, upper in product(range(3), (False, True)):
        outward = faces.directions(3, finest)
        best = min(best, int(faces._face_bound(lines.directions, rest, axis, upper, depth, outward, best, 0)))
    return best / faces.ONE


@pytest.mark.slow
def test_a_point_near_the_minimum_is_proved_or_found_the_long_way(monkeypatch):
    """What the linear programme proposes is checked; where it fails the ellipsoid finds the same cells."""
    rng = np.random.default_rng(7)
    for _ in range(trials(3, 30)):
        listed = random_planes(rng, 8) + [through(axis, (1, 1, 1)) for axis in AXES for _ in range(6)]
        lines = as_lines(listed)
        proposed = least_deviations.near_minimiser(lines)
        slowly = least_deviations.ellipsoid_point(lines)
        assert abs(value_at(lines, proposed) - value_at(lines, slowly)) <= least_deviations.TOLERANCE
        with monkeypatch.context() as patched:
            patched.setattr(
                least_deviations, "_proposed", lambda lines: (np.full(3, 50.0), np.zeros(len(lines.doubled)))
            )
            assert np.array_equal(least_deviations.near_minimiser(lines), slowly)
            again = faces_of(lines, 50)
        assert again == faces_of(lines, 50)


def value_at(lines, point):
    """The function at a point in cells."""
    return float(np.abs(lines.directions @ point / UNIT - lines.doubled / (2 * UNIT)).sum())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("coefficients", [3, 4, 5, 6])
def test_records_without_a_bounded_fit_have_no_cell(coefficients):
    """Collinear designs, no records, odd ones: no cell, no margin, no error."""
    sides = np.ones(coefficients)
    for design, response in (
        (np.ones((40, coefficients)), np.ones(40)),
        (np.zeros((40, coefficients)), np.ones(40)),
        (np.full((40, coefficients), np.nan), np.full(40, np.inf)),
        (np.zeros((0, coefficients)), np.zeros(0)),
    ):
        cells = cells_of(design, response, sides)
        assert set(cells.margins) == {0}
        assert set(cells.corners) == {None}


@pytest.mark.slow
@pytest.mark.parametrize("coefficients", [3, 4])
def test_clean_records_have_a_cell_around_their_fit(coefficients):
    """The margin grows with the number of records, and the cell holds the true coefficients."""
    rng, found = np.random.default_rng(8), []
    for n in (300, 600):
        design = np.column_stack([np.ones(n), rng.uniform(-1, 1, (n, coefficients - 1))])
        cells = cells_of(design, design.sum(axis=1) * 0.5 + rng.normal(0, 0.2, n), np.ones(coefficients), 60)
        best = int(np.argmax(cells.margins))
        assert all(at / 2 < 0.5 < at / 2 + 1 for at in cells.corners[best])
        found.append(max(cells.margins))
    assert found[1] > 1.5 * found[0] > 0


def test_directions_are_whole_and_never_longer_than_one():
    """What one record can change follows from it."""
    for coefficients, (_, finest) in FINENESS.items():
        table = faces.directions(coefficients, finest)
        assert (table * table).sum(axis=1).max() <= 1 << (2 * faces.UNIT_BITS)
        assert len(np.unique(table, axis=0)) == len(table)


def test_cells_lie_within_reach_as_a_whole():
    """A cell that straddled the reach would have neighbours whose cell is not looked at."""
    for at in (-REACH / 2, REACH / 2 - 0.01, REACH / 2, 3.0 * REACH):
        for shift in ((0, 0, 0), (1, 1, 1)):
            for corner in faces.cells_near(np.array([at, 0.3, 0.3]), shift):
                assert all(-REACH <= place <= REACH - 2 for place in corner)


def test_a_records_plane_depends_on_that_record_alone():
    """Three columns: directions never longer than one, odd records say nothing."""
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(300, 3)) * 10.0 ** rng.integers(-9, 9, (300, 1)), rng.normal(size=300)
    lines = lines_of(X, y, np.array([0.3, 7.0, 2.0]))
    assert int((lines.directions**2).sum(axis=1).max()) <= UNIT**2
    alone = [lines_of(X[i : i + 1], y[i : i + 1], np.array([0.3, 7.0, 2.0])) for i in range(300)]
    assert all((one.directions[0] == lines.directions[i]).all() for i, one in enumerate(alone))
    assert math.isfinite(value_at(lines, np.zeros(3)))
