"""Cells, boundaries and margins of the robust regression against brute force over the whole arrangement."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

import oracle_arrangement as slow
from conftest import trials
from dither.kernels import arrangement as fast

UNIT = 1 << fast.BITS
SHIFTS = [(0, 0), (0, 1), (1, 0), (1, 1)]
DIRECTIONS = [(5, 0), (0, 5), (3, 4), (4, -3), (-3, 4), (1, 1), (2, -1), (4, 3), (0, 0)]


def as_lines(listed):
    """Kernel input from a list of ((a1, a2), w) in half cells."""
    directions = np.array([a for a, _ in listed], dtype=np.int64).reshape(len(listed), 2)
    return fast.Lines(directions, np.array([w for _, w in listed], dtype=np.int64))


def random_lines(rng, count):
    """Lines of many directions, often through the same whole places, so that ties are common."""
    found = []
    for _ in range(count):
        scale = UNIT // 5 if rng.random() < 0.7 else int(rng.integers(1, UNIT // 5))
        a = tuple(int(scale * part) for part in DIRECTIONS[rng.integers(len(DIRECTIONS) - 1)])
        place = rng.integers(-3, 4, 2)
        jump = 0 if rng.random() < 0.6 else int(rng.integers(-UNIT, UNIT))
        found.append((a, int(a[0] * place[0] + a[1] * place[1]) + jump))
    return found


def ceil_half(square):
    """ceil(A / 2) from A^2, A in units of a whole direction."""
    if square == 0:
        return 0
    return math.isqrt(math.ceil(Fraction(square) / (4 * UNIT * UNIT)) - 1) + 1


@pytest.mark.slow
def test_cells_and_boundaries_equal_brute_force():
    """On lines full of ties: the cell of all minimisers, and the least changes over everything outside of it."""
    rng, tested = np.random.default_rng(1), 0
    for _ in range(trials(250, 4000)):
        listed = random_lines(rng, int(rng.integers(2, 8)))
        lines = as_lines(listed)
        box = fast.minimiser_box(lines)
        for shift in SHIFTS:
            corner = fast.cell_around(box, shift)
            assert corner == slow.cell_of(listed, shift)
            if corner is not None:
                assert fast.boundary_changes(lines, corner) == ceil_half(slow.outside_square(listed, corner))
                tested += 1
    assert tested > trials(60, 1000)


def test_the_least_subgradient_outside_lies_on_the_boundary():
    """The theorem behind the sweep: vertices far from the cell are never better than its boundary."""
    rng = np.random.default_rng(2)
    for _ in range(trials(40, 500)):
        listed = random_lines(rng, 6)
        corner = slow.cell_of(listed, (0, 0))
        if corner is None:
            continue
        edges = [((1, 0), corner[0]), ((1, 0), corner[0] + 2), ((0, 1), corner[1]), ((0, 1), corner[1] + 2)]
        on = [
            b
            for b in slow.crossings([*listed, *edges])
            if all(at <= place <= at + 2 for at, place in zip(corner, b, strict=True))
            and any(place in (at, at + 2) for at, place in zip(corner, b, strict=True))
        ]
        assert min(slow.subgradient_square(listed, b) for b in on) == slow.outside_square(listed, corner)


@pytest.mark.slow
def test_exact_and_float_distances_agree():
    """The rationals that settle doubtful cases are the distances that floats approximate, within their bound."""
    rng = np.random.default_rng(3)
    for _ in range(trials(100, 1000)):
        listed = random_lines(rng, 8)
        lines = as_lines(listed)
        corner = fast.cell_around(fast.minimiser_box(lines), (0, 0))
        if corner is None:
            continue
        for axis in (0, 1):
            edge = fast._swept(lines, axis, corner[axis], corner[1 - axis])
            for k, distance in enumerate(edge.distances):
                assert abs(math.sqrt(edge.squared(k)) - distance) <= fast.float_error(len(listed))


def test_as_many_added_lines_as_the_norm_cancel_a_subgradient():
    """ceil(A) lines through a place, along its least subgradient, make it a minimiser; one less does not (Lemma 11)."""
    rng, tested = np.random.default_rng(4), 0
    for _ in range(trials(60, 600)):
        listed = random_lines(rng, 5)
        total = [0, 0]
        for a, w in listed:
            # Far to the upper right of all ties, where there is one gradient.
            sign = 1 if a[0] * 91 + a[1] * 97 > w else -1
            total = [total[0] + sign * a[0], total[1] + sign * a[1]]
        norm = math.hypot(*total)
        if norm < 1.5 * UNIT or abs(norm / UNIT - round(norm / UNIT)) < 0.01:
            continue
        needed, unit = math.ceil(norm / UNIT), tuple(int(part / norm * UNIT) for part in total)
        through = (unit, unit[0] * 91 + unit[1] * 97)
        left = slow.subgradient_square([*listed, *[through] * needed], (91, 97))
        assert left <= (4 * needed) ** 2
        fewer = slow.subgradient_square([*listed, *[through] * (needed - 1)], (91, 97))
        assert fewer > (4 * needed) ** 2
        tested += 1
    assert tested > 10


def margins_of(listed):
    """(cells, margins) of the four grids."""
    lines = as_lines(listed)
    box = fast.minimiser_box(lines)
    cells = [fast.cell_around(box, shift) for shift in SHIFTS]
    return cells, [0 if c is None else max(fast.boundary_changes(lines, c) - 1, 0) for c in cells]


def small_universe():
    """Lines that make margins of several changes with few records."""
    whole = UNIT
    return [
        ((whole, 0), whole),
        ((0, whole), whole),
        ((whole, 0), 3 * whole),
        ((3 * whole // 5, 4 * whole // 5), 7 * whole // 5),
        ((0, 0), 0),
    ]


@pytest.fixture(scope="module")
def universe():
    """Every dataset of so many records of the small universe, with cells and margins."""
    kinds, size = small_universe(), trials(9, 12)
    known = {}
    for dataset in combinations_with_replacement(range(len(kinds)), size):
        known[dataset] = margins_of([kinds[k] for k in dataset])
    return known


def neighbouring(dataset, kinds):
    """All datasets with one record replaced."""
    for place in range(len(dataset)):
        for kind in range(kinds):
            yield tuple(sorted((*dataset[:place], kind, *dataset[place + 1 :])))


def worst_step(universe, margin):
    """The largest step of a margin between neighbours, and the largest margin where their cells differ."""
    step = differing = 0
    for dataset, (cells, _) in universe.items():
        for other in set(neighbouring(dataset, len(small_universe()))):
            for k in range(4):
                here, there = margin(universe[dataset], k), margin(universe[other], k)
                step = max(step, abs(here - there))
                if cells[k] != universe[other][0][k]:
                    differing = max(differing, here, there)
    return step, differing


def test_margins_move_by_one_on_a_whole_universe(universe):
    """Neighbours' margins differ by at most 1, and neighbours with different cells both have margin 0."""
    assert worst_step(universe, lambda found, k: found[1][k]) == (1, 0)
    assert max(max(margins) for _, margins in universe.values()) >= 2


def test_the_least_number_of_changes_out_of_a_cell(universe):
    """By brute force over the universe: never fewer than margin + 1, and for many datasets exactly so many."""
    kinds, datasets = len(small_universe()), list(universe)
    counts = np.array([[dataset.count(kind) for kind in range(kinds)] for dataset in datasets])
    attained = 0
    for place, dataset in enumerate(datasets):
        # Datasets are multisets: their distance is what must be replaced.
        away = np.maximum(counts - counts[place], 0).sum(axis=1)
        for k, (cell, margin) in enumerate(zip(*universe[dataset], strict=True)):
            if cell is not None:
                least = min(away[i] for i, other in enumerate(datasets) if universe[other][0][k] != cell)
                assert least >= margin + 1
                attained += margin >= 1 and least == margin + 1
    assert attained > 20


def test_margins_that_start_at_one_are_caught(universe):
    """The raw count of changes, without the 1 taken off, lets neighbours with different cells pass."""
    raw = worst_step(universe, lambda found, k: 0 if found[0][k] is None else found[1][k] + 1)
    assert raw[1] >= 1


def test_the_papers_count_is_caught(universe):
    """Added or deleted points, counted as DL09 does: one changed record moves that count by two."""
    kinds, counts = small_universe(), {}
    for dataset, (cells, _) in universe.items():
        lines = as_lines([kinds[k] for k in dataset])
        counts[dataset] = [
            0 if corner is None else math.ceil(least_on_boundary(lines, corner) / UNIT - 1e-9) for corner in cells
        ]
    steps = [
        abs(count - there)
        for dataset, found in counts.items()
        for other in set(neighbouring(dataset, len(kinds)))
        for count, there in zip(found, counts[other], strict=True)
    ]
    assert max(steps) == 2


def least_on_boundary(lines, corner):
    """The least subgradient norm on the boundary of a cell, in floats."""
    edges = [fast._swept(lines, axis, corner[axis] + side, corner[1 - axis]) for axis in (0, 1) for side in (0, 2)]
    return min(float(edge.distances.min()) for edge in edges)


def test_margins_of_random_neighbours():
    """On random lines with many records, replaced by the most adverse line as well as by random ones."""
    rng = np.random.default_rng(5)
    for _ in range(trials(60, 1500)):
        listed = random_lines(rng, int(rng.integers(10, 60)))
        cells, margins = margins_of(listed)
        for _ in range(4):
            place = int(rng.integers(len(listed)))
            adverse = ((UNIT, 0), int(rng.integers(-10, 10)) * UNIT * 1000)
            other = list(listed)
            other[place] = adverse if rng.random() < 0.5 else random_lines(rng, 1)[0]
            cells_there, margins_there = margins_of(other)
            for k in range(4):
                assert abs(margins[k] - margins_there[k]) <= 1
                if cells[k] != cells_there[k]:
                    assert margins[k] == margins_there[k] == 0


def test_one_coefficient_is_a_weighted_median():
    """In one dimension the cell and its margin follow from counts on both sides."""
    rng = np.random.default_rng(6)
    for _ in range(trials(100, 1000)):
        places = rng.integers(-6, 7, int(rng.integers(2, 15)))
        lines = fast.Lines(np.full((len(places), 1), UNIT, dtype=np.int64), places * UNIT)
        box, ordered = fast.minimiser_box(lines), np.sort(places)
        low, high = ordered[(len(places) - 1) // 2], ordered[len(places) // 2]
        assert box == ((low - 1, high + 1),)
        for shift in (0, 1):
            corner = fast.cell_around(box, (shift,))
            expected = [c for c in range(-20, 20) if (c - shift) % 2 == 0 and c < low and high < c + 2]
            assert corner == ((expected[0],) if expected else None)
            if corner:
                ends = []
                for at in (corner[0], corner[0] + 2):
                    above, below = int((places > at).sum()), int((places < at).sum())
                    ends.append(max(abs(above - below) - int((places == at).sum()), 0))
                assert fast.boundary_changes(lines, corner) == math.ceil(min(ends) / 2)


def test_records_become_lines_one_by_one():
    """A record's line depends on that record alone; directions are never longer than one; bad records say nothing."""
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(500, 2)) * 10.0 ** rng.integers(-9, 9, (500, 1)), rng.normal(size=500)
    lines = fast.lines_of(X, y, np.array([0.3, 7.0]))
    assert int((lines.directions**2).sum(axis=1).max()) <= UNIT**2
    alone = [fast.lines_of(X[i : i + 1], y[i : i + 1], np.array([0.3, 7.0])) for i in range(500)]
    assert all((one.directions[0] == lines.directions[i]).all() for i, one in enumerate(alone))
    assert all(one.doubled[0] == lines.doubled[i] for i, one in enumerate(alone))
    bad = np.array([[np.nan, 1.0], [np.inf, 1.0], [0.0, 0.0], [1e308, 1e308]])
    assert len(fast.lines_of(bad, np.ones(4), np.ones(2)).doubled) == 0
    assert len(fast.lines_of(np.ones((1, 2)), np.array([np.nan]), np.ones(2)).doubled) == 0


def test_designs_without_a_bounded_fit_have_no_cell():
    """Parallel lines, no lines: nothing to find, and no error."""
    assert fast.minimiser_box(as_lines([((UNIT, 0), UNIT)] * 5)) is None
    assert fast.minimiser_box(fast.Lines(np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=np.int64))) is None
    assert fast.cell_around(None, (0, 0)) is None


def cells_at(places: np.ndarray) -> list[tuple[tuple[int, ...] | None, int]]:
    """Cell and margin in both grids of one coefficient, for records at places in half cells."""
    lines = fast.lines_of(np.ones((len(places), 1)), places / 2.0, np.ones(1))
    corners = [fast.cell_around(fast.minimiser_box(lines), (shift,)) for shift in (0, 1)]
    return [(c, 0 if c is None else max(fast.boundary_changes(lines, c) - 1, 0)) for c in corners]


@pytest.mark.parametrize("edge", [-fast.REACH, fast.REACH])
def test_margins_move_by_one_at_the_reach(edge):
    """The fit sits in the half cell on either side of the reach, by one record."""
    few, many = (edge + np.where(np.arange(201) < k, -0.5, 0.5) for k in (100, 101))
    for (here, margin), (there, other) in zip(cells_at(few), cells_at(many), strict=True):
        assert abs(margin - other) <= 1
        assert here == there or margin == other == 0


@pytest.mark.parametrize("record", [(1.22, 0.7), (1.22, 0.0), (1.4, 1.4), (3.0, 0.7), (40.3, 7.6)])
def test_no_record_is_a_direction_longer_than_one(record):
    """Squares of such small numbers keep few digits or none."""
    for unit in (2.0**-537, 2.0**-535, 2.0**-530, 2.0**-520, 2.0**-501, 2.0**-499, 1.0):
        lines = fast.lines_of(np.array([record]) * unit, np.array([1.0]), np.ones(2))
        assert (lines.directions**2).sum(axis=1).max(initial=0) <= 1 << (2 * fast.BITS)


def test_infinite_responses_say_nothing():
    """Like infinite features."""
    lines = fast.lines_of(np.ones((3, 2)), np.array([np.inf, -np.inf, 1.0]), np.ones(2))
    assert len(lines.doubled) == 1
