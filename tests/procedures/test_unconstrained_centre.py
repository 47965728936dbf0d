"""The unconstrained centre of attention of numbers and of points of the plane."""

import math
from itertools import combinations, product

import numpy as np
import pytest

import dither as dt
from conftest import trials
from dither.errors import InvalidArgument, NotApplicable
from dither.kernels.enclosing import LARGEST, smallest_circles
from dither.privacy import Loss
from dither.procedures.aggregate import Aggregation
from dither.procedures.executor import Output
from dither.procedures.sample_aggregate import plan
from dither.procedures.unconstrained_centre import UnconstrainedCentre, circle_bound


def circle_around(points):
    """The radius of the smallest circle around all points: the least over pairs and triples that holds all."""
    if len({tuple(one) for one in points}) == 1:
        return 0.0
    best = math.inf
    for chosen in [*combinations(points, 2), *combinations(points, 3)]:
        rows = np.array(chosen, dtype=float)
        shifted = rows[1:] - rows[0]
        solution = np.linalg.lstsq(shifted @ shifted.T, (shifted**2).sum(axis=1) / 2, rcond=None)[0]
        centre = rows[0] + solution @ shifted
        radius = np.linalg.norm(rows - centre, axis=1).max()
        if (np.linalg.norm(np.array(points) - centre, axis=1) <= radius * (1 + 1e-9) + 1e-9).all():
            best = min(best, radius)
    return best


def test_circles_are_the_smallest():
    """All subsets of a few points of the plane, ties and lines among them; the centre attains its radius."""
    rng = np.random.default_rng(4)
    for _ in range(trials(40, 600)):
        count, top = int(rng.integers(2, 7)), int(rng.choice([2, 5, 1_000]))
        points = rng.integers(0, top + 1, size=(count, 2))
        wanted = int(rng.integers(1, count + 1))
        radii, centre = smallest_circles(points, wanted)
        plain = [min(circle_around(list(some)) for some in combinations(points, t)) for t in range(1, count + 1)]
        assert np.allclose(radii, plain, rtol=1e-9, atol=1e-9)
        reached = np.sort(np.linalg.norm(points - centre, axis=1))[wanted - 1]
        assert reached <= radii[wanted - 1] * (1 + 1e-9) + 1e-9


def test_the_largest_coordinates_do_not_overflow():
    """The corners of the grid and points next to them."""
    points = np.array([[0, 0], [LARGEST, 0], [0, LARGEST], [LARGEST, LARGEST], [LARGEST - 1, 1], [1, LARGEST - 1]])
    radii, _ = smallest_circles(points, 4)
    assert radii[-1] == pytest.approx(LARGEST / math.sqrt(2))
    assert radii[1] == pytest.approx(math.sqrt(2) / 2)
    with pytest.raises(ValueError, match="coordinates"):
        smallest_circles(points * 4, 2)


def located(points, top, touched, beta):
    """The centre, its bound, and the diameter's part."""
    wanted = min((len(points) + touched) // 2 + 1, len(points))
    radii, centre = smallest_circles(points, wanted)
    return np.rint(centre), circle_bound(radii, top * math.sqrt(2), touched, beta)


@pytest.mark.parametrize("touched", [1, 2])
def test_it_moves_by_at_most_its_bound_which_is_smooth(touched):
    """Random tables and neighbours."""
    rng, beta = np.random.default_rng(touched), 0.3
    for _ in range(trials(300, 10_000)):
        blocks, top = int(rng.integers(4, 12)), int(rng.choice([30, 10_000]))
        here = rng.integers(0, top + 1, size=(blocks, 2))
        here[: blocks // 2 + 1] //= int(rng.choice([1, 5]))
        there = here.copy()
        for place in rng.choice(blocks, size=min(touched, blocks), replace=False):
            there[place] = rng.integers(0, top + 1, size=2)
        (one, bound), (other, others) = located(here, top, touched, beta), located(there, top, touched, beta)
        moved = float(np.linalg.norm(one - other))
        assert moved <= min(bound, others)
        assert abs(math.log(bound / others)) <= beta + 2**-34


def test_all_tables_on_a_small_grid():
    """Four answers among six places, every neighbour; two fifths of what the bound starts with would not do."""
    places = [(0, 0), (0, 400), (300, 0), (300, 400), (150, 200), (10_000, 0)]
    tables = {one: located(np.array(one), 10_000, 1, 0.2) for one in product(places, repeat=4)}
    first = {one: 2 * smallest_circles(np.array(one), 3)[0][3] for one in tables}
    nearest = 0.0
    for table, (centre, bound) in tables.items():
        for place, value in product(range(4), places):
            centre_there, bound_there = tables[(*table[:place], value, *table[place + 1 :])]
            moved = float(np.linalg.norm(centre - centre_there))
            assert moved <= min(bound, bound_there)
            assert abs(math.log(bound / bound_there)) <= 0.2 + 1e-9
            nearest = max(nearest, moved / max(first[table], 1.0))
    assert 0.4 < nearest <= 1.01


def test_asked_by_name():
    """In the plane and for one number; the middle between answers, which need not be one of them."""
    rows = np.random.default_rng(3).normal(5, 0.1, size=(2_000, 2))
    options = {"bounds": (0, 10), "aggregator": "unconstrained_centre", "blocks": 200, "confidence": None}
    release = dt.sample_and_aggregate(
        rows, lambda block: block.mean(axis=0), output=2, epsilon=20.0, executor="trusted", **options
    )
    assert np.abs(np.array(release.value) - 5).max() < 1
    assert release.mechanism == "unconstrained centre"
    one = dt.sample_and_aggregate(rows[:, 0], np.mean, epsilon=20.0, executor="trusted", **options)
    assert abs(one.value - 5) < 1


def test_the_proved_smoothness_is_used():
    """The beta of S is that of the admissible point but for the float's share."""
    made = UnconstrainedCentre().prepare(Aggregation(100, 1, Output(2, bounds=(0, 1)), Loss(2.0), None, None))
    assert 0 < made.point.beta - made.beta < 2**-33


@pytest.mark.parametrize(
    ("output", "options", "error", "named"),
    [
        (Output(3, bounds=(0, 1)), {}, NotApplicable, "centre"),
        (Output(2, bounds=(0, 1)), {"metric": "l1"}, NotApplicable, "metric"),
        (Output(2, bounds=(0, 1)), {"blocks": 301}, InvalidArgument, "blocks"),
    ],
)
def test_what_cannot_be_had_is_refused(output, options, error, named):
    """From public facts."""
    with pytest.raises(error, match=named):
        plan(1_000, output, Loss(1.0), aggregator="unconstrained_centre", **options)
