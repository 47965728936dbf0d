"""One draw for several coordinates: costs that move by at most 1, and the law that they make, on whole universes."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy.stats import binom

from dither.mechanisms.nested_boxes import ChainCoordinate, draw_point, point_at, volume
from dither.sources.column import Column
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue, rank_of

TOP = 3
GRID = Grid(Fraction(1), 0, TOP)
POINTS = list(product(range(TOP + 1), repeat=2))


def coordinates(fits, widening=0, ends=(0, TOP)):
    """The middles of lists of pairs."""
    grid = Grid(Fraction(1), *ends)
    found = []
    for column in np.array(fits, dtype=np.int64).T:
        chain = RankedValue(rank_of(Fraction(1, 2), len(fits)), len(fits), grid).reachable_values(Column(column, grid))
        found.append(ChainCoordinate(chain, ends, widening))
    return found


def cost_of(fits, point, widening=0):
    """The least number of changed blocks after which the point is the middle of all coordinates, by brute force."""
    boxes = zip(*(one.within(0, len(fits) + 1) for one in coordinates(fits, widening)), strict=True)
    inside = (all(low <= at <= high for at, (low, high) in zip(point, box, strict=True)) for box in boxes)
    return list(inside).index(True)


def law_of(fits, rate, widening=0):
    """By the formula."""
    weights = [math.exp(-rate * cost_of(fits, point, widening)) for point in POINTS]
    return [weight / math.fsum(weights) for weight in weights]


def neighbours(blocks):
    """All lists of so many fits, up to their order, and all that differ in one of them."""
    for fits in combinations_with_replacement(POINTS, blocks):
        for place, other in product(range(blocks), POINTS):
            yield fits, (*fits[:place], other, *fits[place + 1 :])


@pytest.mark.slow
def test_without_widening_a_cost_is_the_number_of_fits_that_must_change():
    """In each coordinate: the least number of entries that must change so that the point is the lower median."""
    for fits in combinations_with_replacement(POINTS, 3):
        for point in POINTS:
            needed = []
            for at, column in zip(point, zip(*fits, strict=True), strict=True):
                changed = (
                    sum(a != b for a, b in zip(column, other, strict=True))
                    for other in product(range(TOP + 1), repeat=3)
                    if sorted(other)[1] == at
                )
                needed.append(min(changed))
            assert cost_of(fits, point) == max(needed)


@pytest.mark.slow
@pytest.mark.parametrize("widening", [0, 1])
def test_one_changed_fit_moves_every_cost_by_at_most_one(widening):
    """All neighbours of three fits; and 1 is attained."""
    known, most = {}, 0
    for here, there in neighbours(3):
        for fits in (here, there):
            if fits not in known:
                known[fits] = [cost_of(fits, point, widening) for point in POINTS]
        most = max(most, *(abs(a - b) for a, b in zip(known[here], known[there], strict=True)))
    assert most == 1


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (1.3, False)])
def test_the_law_stays_within_its_loss(factor, holds):
    """The largest ratio over all neighbours of three fits at rate e/2; a rate 30% too large is found."""
    epsilon, known, worst = 1.0, {}, 0.0
    for here, there in neighbours(3):
        for fits in (here, there):
            if fits not in known:
                known[fits] = np.log(law_of(fits, factor * epsilon / 2))
        worst = max(worst, float(np.abs(known[here] - known[there]).max()))
    assert (worst <= epsilon * (1 + 1e-9)) is holds


@pytest.mark.slow
def test_widenings_that_shrink_are_found():
    """Boxes that do not grow with the number of changes break the bound: it needs the order of the widenings."""

    class Shrinking(ChainCoordinate):
        def within(self, first, last):
            boxes = super().within(first, last)
            costs = range(first, last + 1)
            return [(max(low - 3 + t, 0), min(high + 3 - t, TOP)) for t, (low, high) in zip(costs, boxes, strict=True)]

    def cost(fits, point):
        boxes = zip(*(Shrinking(o.chain, o.ends).within(0, 2) for o in coordinates(fits)), strict=True)
        inside = [all(a <= p <= b for p, (a, b) in zip(point, box, strict=True)) for box in boxes]
        return max((t for t, here in enumerate(inside) if not here), default=-1) + 1

    moved = max(abs(cost(here, z) - cost(there, z)) for here, there in neighbours(2) for z in ((0, 0), (TOP, 0)))
    assert moved > 1


def test_every_point_of_a_shell_has_one_number():
    """Boxes within boxes, shared sides included."""
    outer, inner = [(0, 4), (-1, 2), (5, 5)], [(1, 2), (-1, 1), (5, 5)]
    count = volume(outer) - volume(inner)
    listed = {point_at(outer, inner, index) for index in range(count)}
    every = set(product(*(range(low, high + 1) for low, high in outer)))
    assert listed == every - set(product(*(range(low, high + 1) for low, high in inner)))
    assert {point_at(outer, None, index) for index in range(volume(outer))} == every


@pytest.mark.slow
def test_the_code_draws_from_that_law():
    """8,000 draws; each point's count within its binomial limits, false alarm below 1e-9 in all."""
    fits, runs = [(0, 3), (1, 1), (1, 2), (3, 0), (2, 2)], 8_000
    for widening in (0, 1):
        drawn = Counter(draw_point(coordinates(fits, widening), Fraction(1, 2)) for _ in range(runs))
        for point, chance in zip(POINTS, law_of(fits, 0.5, widening), strict=True):
            least, most = binom.isf([1 - 1e-11, 1e-11], runs, chance)
            assert least <= drawn[point] <= most
