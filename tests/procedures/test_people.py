"""Limits of what one person contributes: laws of the draws, what is audited, and ways to break it that are found."""

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import pytest

from conftest import trials
from dither.procedures.people import MOST_LIMIT, PersonLimitDraw, limit_weights, row_limits, total_limits
from dither.sources.grid import Grid
from dither.sources.people import MOST_TOTAL
from dither_lab.audit.checks import Effort
from dither_lab.audit.people import in_people, people_checks


@pytest.mark.sampled(1)
@pytest.mark.parametrize("check", list(people_checks()), ids=lambda check: check.detail)
def test_everything_that_the_audit_looks_at_holds(check):
    """One person with all rows added, removed or changed, in all toy tables, for every shape that has a limit."""
    evidence = check.run(Effort(quick=True))
    assert evidence.holds, evidence.note


@pytest.mark.sampled(1)
@pytest.mark.parametrize("broken", list(in_people()), ids=lambda check: check.subject)
def test_broken_limits_are_found(broken):
    """Limits that are not paid for or of rows, groups that are not scaled, too little noise, a draw too sharp."""
    assert not broken.run(Effort(quick=True)).holds


@pytest.mark.parametrize(("rate", "passes"), [(Fraction(1, 4), True), (Fraction(13, 40), False)])
def test_limits_are_drawn_by_their_law(rate, passes):
    """Each share within Hoeffding's bound for 1e-9; draws at a rate that is 30% wrong are outside it."""
    limits = (1, 2, 3, 4, 6, 8)
    exceeding = [21, 16, 12, 7, 3, 0]
    weights = [(2 / 7) ** place * math.exp(-0.25 * count) for place, count in enumerate(exceeding)]
    runs = trials(2_000, 100_000)
    drawn = Counter(PersonLimitDraw(rate, limits).draw(exceeding) for _ in range(runs))
    allowed = math.sqrt(math.log(2 * len(limits) * 1e9) / (2 * runs))
    away = max(abs(drawn[limit] / runs - weight / sum(weights)) for limit, weight in zip(limits, weights, strict=True))
    assert (away <= allowed) is passes


def test_limits_are_half_an_octave_apart():
    """Of rows and of totals, in rising order; each weighs 2/7 of the one before."""
    assert row_limits(40) == (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
    assert row_limits()[-1] == MOST_LIMIT
    assert row_limits(1) == (1,)
    for grid, bounded in (
        (Grid(Fraction(1), 0, 1_000), True),
        (Grid(Fraction(1, 1 << 16), -(1 << 51), 1 << 51), False),
    ):
        limits = total_limits(grid, bounded=bounded)
        assert all(1.39 < high / low < 1.43 for low, high in pairwise(limits))
        assert limits[-1] <= MOST_TOTAL
    assert all(7 * after == 2 * before for before, after in pairwise(limit_weights(5)))
