"""Intervals for the population that the records are a sample of: privacy and coverage, looked at completely."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest

from dither.mechanisms.choice import prepare
from dither.mechanisms.half_width_draw import HalfWidthDraw
from dither.privacy import Neighbours
from dither.sources.column import Column
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue, rank_of
from dither.statistics.sampling_ranks import sampling_ranks
from dither.statistics.spread import SquaresAbout
from dither.statistics.unknown_size import SharedRank
from dither_lab.audit.answers import answer_law, runs
from dither_lab.audit.checks import Effort
from dither_lab.audit.drawn_intervals import WIDE, jumping_ranks, population_width
from dither_lab.audit.laws.drawn import binomial_ranks, population_width_law

HALF = Fraction(1, 2)
GRID = Grid(Fraction(1), 0, 5)


def column(x):
    """Records on the grid."""
    return Column(np.array(x, dtype=np.int64), GRID)


@pytest.mark.parametrize("share", [HALF, Fraction(1, 10), Fraction(2, 3)])
@pytest.mark.parametrize("miss", [Fraction(1, 20), Fraction(3, 4)])
def test_ranks_are_those_of_exact_binomials(share, miss):
    """Ball arithmetic decides what adding up all terms in whole numbers does."""
    for records in range(40):
        assert sampling_ranks(records, share, miss) == binomial_ranks(records, share, miss)


def test_a_chance_that_is_exactly_allowed_is_allowed():
    """P(Bin(4, 1/2) <= 0) = 1/16: no precision tells it from the limit, whole numbers do."""
    assert sampling_ranks(4, HALF, Fraction(1, 8)) == (1, 4)
    assert sampling_ranks(4, HALF, Fraction(1, 8) - Fraction(1, 10**30)) == (0, 5)


def test_ranks_rise_by_at_most_one_with_each_record():
    """So does the number of records above them: neither a record more nor one fewer moves a margin by two."""
    for share in (HALF, Fraction(1, 100), Fraction(7, 9)):
        for miss in (Fraction(1, 20), Fraction(1, 3)):
            each = [sampling_ranks(records, share, miss) for records in range(60)]
            for (a, b), (c, d) in pairwise(each):
                assert c - a in (0, 1)
                assert d - b in (0, 1)


@pytest.mark.parametrize("share", [HALF, Fraction(1, 4)])
def test_both_ranks_hold_the_quantile_of_any_law(share):
    """Laws with atoms, by exact binomials: of n records a lies above the quantile, or b below it, rarely enough."""
    miss, records = Fraction(1, 5), 30
    lower, upper = sampling_ranks(records, share, miss)
    for below in (Fraction(0), Fraction(1, 10), share - Fraction(1, 1000), share / 2):
        for at in (share - below, share - below + Fraction(1, 100), 1 - below):
            # x_(a) > quantile: fewer than a at or below it; x_(b) < quantile: at least b below it.
            too_high = sum(binomial(records, below + at, k) for k in range(lower))
            too_low = sum(binomial(records, below, k) for k in range(upper, records + 1))
            assert too_high + too_low <= miss


def binomial(records, chance, k):
    """The chance of k successes, exactly."""
    return math.comb(records, k) * chance**k * (1 - chance) ** (records - k)


@pytest.mark.parametrize("private", [False, True])
def test_widths_follow_the_laboratorys_law(private):
    """The same probabilities from counts of records, in code of its own: all data of few records, all answers."""
    most, sampling, miss, epsilon = 6, Fraction(9, 10), Fraction(1, 3), Fraction(5)
    drawn = HalfWidthDraw(epsilon, miss, sampling)
    for size in range(most + 1) if private else (most,):
        ranks = binomial_ranks(size, HALF, sampling)
        statistic = (
            SharedRank(HALF, most, GRID, Neighbours.ADD_REMOVE_CHANGE)
            if private
            else RankedValue(rank_of(HALF, size), size, GRID, HALF)
        )
        for x in list(combinations_with_replacement(range(6), size))[::7]:
            for answer in (0, 2, 5):
                found = drawn.candidates(statistic, column(x), answer)
                own = dict(zip(found.nested, found.chances(drawn.rate), strict=True))
                bound = most if private else None
                law = population_width_law(epsilon, miss, ranks, x, GRID.ends, answer, bound)
                assert own == pytest.approx(law, rel=1e-9)


@pytest.mark.parametrize("private", [False, True])
def test_what_is_drawn_follows_the_laboratorys_law(private):
    """Answers with their intervals, as they are released: all frequencies within Hoeffding's bound at once."""
    x, count, alarm = (0, 1, 1, 3, 4, 5), 2_000, 1e-9
    public = RankedValue(rank_of(HALF, len(x)), len(x), GRID, HALF)
    statistic = SharedRank(HALF, len(x), GRID, Neighbours.ADD_REMOVE_CHANGE) if private else public
    asked = {"epsilon": 12, "confidence": HALF, "mechanism": "inverse"}
    _, prepared = prepare(statistic, interval="population", **asked)
    law = answer_law(prepared, column(x))
    assert sum(law.values()) == pytest.approx(1)
    frequencies = Counter(runs(prepared, column(x))(count))
    assert set(frequencies) <= set(law)
    allowed = math.sqrt(math.log(2 * len(law) / alarm) / (2 * count))
    assert all(abs(frequencies[answer] / count - p) <= allowed for answer, p in law.items())
    # An interval for the sample would be told apart.
    usual = answer_law(prepare(statistic, **asked)[1], column(x))
    assert max(abs(usual.get(answer, 0) - p) for answer, p in law.items()) > 2 * allowed


@pytest.mark.parametrize("private", [False, True])
def test_widths_are_private_and_hold_both_ranks(private):
    """All of epsilon is used, and no more; at 1.3 times the rate 1.3 epsilon is seen."""
    quick = Effort(quick=True)
    honest = population_width(quick, private=private)
    assert honest.holds
    assert honest.lower > 0.99 * float(WIDE)
    assert not population_width(quick, private=private, rate=0.65 * float(WIDE)).holds


def test_ranks_that_jump_with_the_number_of_records_are_found():
    """A record more would move the margin by two: twice epsilon."""
    broken = population_width(Effort(quick=True), private=True, ranks=jumping_ranks)
    assert not broken.holds
    assert broken.lower > 1.9 * float(WIDE)


@pytest.mark.parametrize("centre", [0, 2, 5])
def test_squares_about_a_centre_have_the_sensitivity_they_claim(centre):
    """All data of up to five records, one of them changed or left out; attained."""
    statistic = SquaresAbout(centre, 5, GRID, Neighbours.ADD_REMOVE_CHANGE)
    largest = 0
    for size in range(1, 6):
        for x in combinations_with_replacement(range(6), size):
            value = statistic.value(column(x))
            assert value == sum((entry - centre) ** 2 for entry in x)
            assert value * size >= size * sum(e * e for e in x) - sum(x) ** 2  # at least the variance
            others = [x[1:], *((*x[1:], new) for new in range(6))]
            largest = max(largest, *(abs(value - statistic.value(column(y))) for y in others))
    assert largest == statistic.global_sensitivity


def test_clamping_to_a_wider_interval_makes_no_variance_smaller():
    """Clamping to the narrower one is a contraction of what clamping to the wider one leaves."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        x = rng.normal(size=30)
        a, b, c, d = np.sort(rng.normal(size=4))
        assert np.clip(x, b, c).var() <= np.clip(x, a, d).var() + 1e-12
