"""Intervals of drawn answers, by one draw of their width: looked at completely on small universes."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dither.mechanisms.half_width_draw import LEANS, HalfWidthDraw, around_answer, distances, leaning
from dither.noise.discrete_exponential import draw_index
from dither.procedures.floating import FloatingGrid
from dither.sources.column import Column
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue
from dither_lab.audit.checks import Effort
from dither_lab.audit.drawn_intervals import width
from dither_lab.audit.enumeration import as_column, datasets, neighbours, worst_log_ratio
from dither_lab.audit.laws.drawn import half_width_law
from dither_lab.audit.laws.facts import Published

RECORDS = 9
GRID = Grid(Fraction(1), 0, 3)
UNIVERSE = datasets(range(4), RECORDS)
MISS = Fraction(1, 5)


def own_law(drawn, statistic, data, answer):
    """The probabilities of all intervals by the mechanism's own candidates, weights and costs."""
    found = drawn.candidates(statistic, data, answer)
    return dict(zip(found.nested, found.chances(drawn.rate), strict=True))


def missed(law, true):
    """How likely an interval does not hold a value."""
    return math.fsum(p for (low, high), p in law.items() if not low <= true <= high)


@pytest.mark.parametrize("epsilon", [2, 3, 12, 40])
def test_widths_follow_the_laboratorys_law(epsilon):
    """The same probabilities from the definition, in code of its own: all data, all answers, all leans."""
    records, grid, drawn = 6, Grid(Fraction(1), 0, 5), HalfWidthDraw(Fraction(epsilon), MISS)
    for rank in (1, 3, 6):
        statistic = RankedValue(rank, records, grid)
        for x in datasets((0, 1, 4, 5), records)[::5]:
            column = as_column(x, grid)
            for answer in range(6):
                law = half_width_law(drawn.epsilon, drawn.miss, Published(statistic), column, answer)
                likely = {ends: p for ends, p in law.items() if p > 1e-11}
                own = {ends: p for ends, p in own_law(drawn, statistic, column, answer).items() if p > 1e-11}
                assert own == pytest.approx(likely, rel=1e-6, abs=1e-10), (rank, x, answer)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("epsilon", [2, 3, 8])
@pytest.mark.parametrize("rank", [1, 2, 4, 5])
def test_widths_are_private_and_cover(rank, epsilon):
    """Given the answer a width is epsilon-private, and misses no more often than allowed: all data, all answers."""
    statistic, drawn = RankedValue(rank, RECORDS, GRID), HalfWidthDraw(Fraction(epsilon), MISS)
    for answer in range(4):
        laws = {x: own_law(drawn, statistic, as_column(x, GRID), answer) for x in UNIVERSE}
        worst, *_ = worst_log_ratio(laws.__getitem__, range(4), UNIVERSE)
        assert worst <= epsilon * (1 + 1e-12)
        for x, law in laws.items():
            assert missed(law, sorted(x)[rank - 1]) <= MISS


def test_all_ranks_of_six_records_over_six_values():
    """Private, bounded in range and covering; the range of the log-ratio is all of epsilon: both branches occur."""
    grid, universe, reached = Grid(Fraction(1), 0, 5), datasets(range(6), 6), 0.0
    drawn = HalfWidthDraw(Fraction(5), Fraction(1, 3))
    for rank in (3, 4):
        statistic = RankedValue(rank, 6, grid)
        for answer in range(6):
            laws = {x: own_law(drawn, statistic, as_column(x, grid), answer) for x in universe}
            for x in universe:
                for y in neighbours(x, range(6)):
                    ratios = [math.log(p / laws[y][ends]) for ends, p in laws[x].items()]
                    reached = max(reached, max(ratios) - min(ratios), *ratios)
            assert max(missed(law, sorted(x)[rank - 1]) for x, law in laws.items()) <= Fraction(1, 3)
    assert 4.99 < reached <= 5.0 + 1e-9


def test_the_whole_rate_is_not_private():
    """A change moves the two branches of the cost in opposite directions: at rate epsilon the loss is 40% too large."""
    honest, broken = (width(8, Effort(quick=True), rate=rate) for rate in (None, 1.5))
    assert honest.holds
    assert not broken.holds
    assert broken.lower > 1.4 * broken.claimed.epsilon


def test_a_margin_without_its_sign_misses_too_often():
    """Counted as the changes until the value leaves, 0 where it has, the same t misses more often than it may."""
    records, grid, miss = 41, Grid(Fraction(1), 0, 40), Fraction(1, 20)
    statistic, epsilon = RankedValue(21, records, grid), Fraction(6)
    facts, drawn = Published(statistic), HalfWidthDraw(epsilon, miss)
    # One cluster far from the answer: every narrower candidate misses it.
    data, answer = as_column([40] * records, grid), 0
    unsigned = half_width_law(epsilon, miss, facts, data, answer, signed=False)
    assert missed(own_law(drawn, statistic, data, answer), 40) <= miss
    assert missed(unsigned, 40) > 1.5 * miss


def test_narrower_candidates_weigh_at_most_m_times_as_much():
    """The sum of all weights before any candidate, in whole numbers."""
    for lean in LEANS:
        for count in (1, 2, 7, 120):
            weights = leaning(count, lean)
            assert len(weights) == count
            assert all(sum(weights[:j]) <= lean * weights[j] for j in range(count))
            assert all(after * lean == weight * (lean + 1) for weight, after in pairwise(weights))


def test_lean_needs_room():
    """Many records take the steepest lean, few the flattest; a bound that is near is not at stake."""
    drawn = HalfWidthDraw(Fraction(2, 5), Fraction(1, 20))
    assert drawn.lean(90, 10_000, 10_000) == LEANS[0]
    assert drawn.lean(90, 60, 60) == LEANS[-1]
    assert drawn.lean(90, 10_000, 60) == LEANS[-1]
    assert drawn.lean(90, 1, 10_000) == LEANS[0]


def test_intervals_of_extremes_end_at_the_bound():
    """One change takes a maximum to the upper bound, so no interval below it has a margin."""
    statistic, grid = RankedValue(50, 50, Grid(Fraction(1), 0, 1000)), Grid(Fraction(1), 0, 1000)
    found = HalfWidthDraw(Fraction(1), MISS).candidates(statistic, as_column(range(50), grid), 100)
    assert {high for _, high in found.nested} == {1000}
    assert found.nested[0] == (100, 1000)
    assert found.nested[-1] == (0, 1000)


def test_candidates_are_nested_and_end_with_the_range():
    """Around any answer, on even and on floating grids."""
    grids = [Grid(Fraction(1), -5, 1000)]
    floating = [FloatingGrid(1.0, bits=30, lowest=-64, highest=64), FloatingGrid(3.0, bits=6)]
    cases = [(around_answer(answer, grid.ends), grid.ends) for grid in grids for answer in (-5, 0, 7, 1000)]
    for one in (*floating, replace(floating[0], signed=False)):
        low, high = one.grid.ends
        for code in {low, 0, 1, (1 << one.bits) + 3, high // 2, high}:
            cases.append((one.intervals(code), (low, high)))
            assert one.intervals(code)[0] == (code, code)
    for nested, ends in cases:
        assert nested[-1] == ends
        assert all(b <= a and c <= d and (a, c) != (b, d) for (a, c), (b, d) in pairwise(nested))
        assert len(nested) < 400


def test_floating_intervals_are_symmetric_around_the_number():
    """Also across zero, where codes are far apart: no interval reaches much farther on one side."""
    grid = FloatingGrid(1.0, bits=30, lowest=-64, highest=64)
    code = int(grid.codes(np.array([1e-3]))[0])
    for low, high in grid.intervals(code)[:-1]:
        below, above = 1e-3 - grid.value(low), grid.value(high) - 1e-3
        assert below == pytest.approx(above, rel=1e-6, abs=1e-9)


def test_weights_multiply_the_chances_of_a_draw():
    """Exact draws with whole-number weights: 4,000 draws, false alarms below 1e-9 (6.2 deviations)."""
    costs, weights = [3, 0, 1], (1, 3, 9)
    shares = np.array([w * math.exp(-c / 2) for c, w in zip(costs, weights, strict=True)])
    shares /= shares.sum()
    counts = np.bincount([draw_index(costs, Fraction(1, 2), weights=weights) for _ in range(4000)], minlength=3)
    assert (np.abs(counts - 4000 * shares) <= 6.5 * np.sqrt(4000 * shares * (1 - shares)) + 1).all()


def test_candidate_distances_grow_and_end_at_the_bound():
    """Distances start at zero, increase strictly and include the bound."""
    for farthest in (0, 1, 2, 7, 1000, 10**12):
        away = distances(farthest)
        assert away[0] == 0
        assert away[-1] == farthest
        assert all(a < b for a, b in pairwise(away))
    assert len(distances(2**36)) < 100


def test_intervals_around_answers_outside_of_the_range_keep_their_width():
    """Cut at the bounds, never to a point, and never less than the part of the plain interval inside."""
    grid = Grid(Fraction(1), 0, 100)
    for noisy in range(-60, 161):
        for half in (0, 3, 40, 200):
            low, high = grid.interval_around(noisy, half)
            assert 0 <= low <= grid.clamp(noisy) <= high <= 100
            assert high - low >= min(half, 100)
            inside = [z for z in range(101) if abs(z - noisy) <= half]
            assert all(low <= z <= high for z in inside)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**9), Fraction(1, 1000), Fraction(1, 5), Fraction(2)])
def test_a_width_looks_at_no_more_links_than_a_few_times_all_of_them(epsilon):
    """However small epsilon is; where no margin would do, the interval is the range and no record is looked at."""
    asked, drawn = [], HalfWidthDraw(epsilon, MISS)
    for rank in (1, 4, RECORDS):
        chain = RankedValue(rank, RECORDS, GRID).reachable_values(as_column(UNIVERSE[7], GRID))

        def values(first, last, chain=chain):
            asked.extend([first, last])
            return chain.values(first, last)

        noted = replace(chain, values=values)
        found = drawn.weighed(around_answer(2, GRID.ends), noted, noted)
        assert len(found.nested) == len(found.weights) == len(found.costs)
        assert found.nested[-1] == GRID.ends
    assert all(abs(index) <= 3 * RECORDS for index in asked)
    assert not asked or epsilon > Fraction(1, 100)


def test_candidates_of_large_numbers_cost_what_those_of_small_ones_do():
    """Where ends need more than 60 bits they are no longer in arrays of 64: the same intervals and costs, moved."""
    drawn, far = HalfWidthDraw(Fraction(1), MISS), 1 << 61
    x = np.array([3, 40, 41, 90, 400, 700, 701, 702, 950], dtype=np.int64)
    plain, moved = Grid(Fraction(1), 0, 1000), Grid(Fraction(1), far, far + 1000)
    for rank in (1, 5, 9):
        here = drawn.candidates(RankedValue(rank, len(x), plain), Column(x, plain), 60)
        there = drawn.candidates(RankedValue(rank, len(x), moved), Column(x + far, moved), 60 + far)
        assert there.nested == [(low + far, high + far) for low, high in here.nested]
        assert there.costs.tolist() == here.costs.tolist()
