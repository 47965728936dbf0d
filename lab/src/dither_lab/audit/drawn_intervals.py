"""Intervals of drawn answers: what their width shows, and how often they miss, on whole universes.

Laws are the laboratory's own (``laws/drawn.py``); that the mechanism follows them is checked by its tests and by the
black-box checks of answers with intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement

from dither.privacy import Loss
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue
from dither_lab.audit.checks import Check, Effort, Evidence, within_rounding
from dither_lab.audit.enumeration import as_column, datasets, neighbours, worst_log_ratio
from dither_lab.audit.laws.drawn import binomial_ranks, half_width_law, population_width_law
from dither_lab.audit.laws.facts import Published

EPSILON, MISS = Fraction(3, 2), Fraction(1, 20)
VALUES, RECORDS = (0, 5, 12), 15
HALF, SAMPLING, WIDE, WIDE_MISS = Fraction(1, 2), Fraction(9, 10), Fraction(5), Fraction(1, 3)
"""Of intervals for the population: the quantile, how often its sample may miss, epsilon, and how often a width may."""
STEPS, MOST = 6, 6
"""Their grid, and the most records."""


def drawn_interval_checks() -> Iterator[Check]:
    """A median and a low quantile, every dataset of a universe, answers anywhere."""
    for rank in (4, 8):
        yield Check(
            "median" if rank == 8 else "quantile",
            "exhaustive",
            partial(width, rank),
            "inverse",
            detail="the width of its interval",
            covers=frozenset({"inverse"}),
            proof="intervals",
        )
    for private in (False, True):
        yield Check(
            "median",
            "exhaustive",
            partial(population_width, private=private),
            "inverse",
            detail=f"the width for the population, of a {'private' if private else 'public'} number of records",
            covers=frozenset({"inverse"}),
            proof="intervals",
        )


def jumping_ranks(records: int, share: Fraction, miss: Fraction) -> tuple[int, int]:
    """A mistake: ranks that move by two where a record is added."""
    below, above = binomial_ranks(records, share, miss)
    return below - below % 2, above + (records + 1 - above) % 2


def population_width(
    effort: Effort,
    *,
    private: bool,
    rate: float | None = None,
    ranks: Callable[[int, Fraction, Fraction], tuple[int, int]] = binomial_ranks,
) -> Evidence:
    """What the width of an interval for the population shows, and how often it misses what it is to hold.

    The range of the logarithms of ratios is looked at too: the draw states that it has bounded range.

    Of a private number of records all datasets of up to MOST records, and those with one more, fewer or another.
    """
    ends = (0, STEPS - 1)
    sizes = range(MOST + 1) if private else (MOST,)
    universe = [x for size in sizes for x in combinations_with_replacement(range(STEPS), size)]
    largest = missed = 0.0
    pairs = 0
    for answer in (STEPS // 2,) if effort.quick else range(STEPS):
        laws = {}
        for x in universe:
            lower, upper = ranks(len(x), HALF, SAMPLING)
            most = MOST if private else None
            laws[x] = law = population_width_law(WIDE, WIDE_MISS, (lower, upper), x, ends, answer, most, rate=rate)
            held = x[lower - 1] if lower else ends[0], x[upper - 1] if upper <= len(x) else ends[1]
            missed = max(missed, sum(p for (low, high), p in law.items() if not low <= held[0] <= held[1] <= high))
        for x in universe:
            for y in _near(x, private=private):
                if y in laws:
                    pairs += 1
                    here, there = laws[x], laws[y]
                    ratios = [math.log(here[end] / there[end]) for end in here]
                    largest = max(largest, *ratios, max(ratios) - min(ratios))
    holds = within_rounding(largest, float(WIDE)) and within_rounding(missed, float(WIDE_MISS))
    return Evidence(holds, Loss(float(WIDE)), largest, None, pairs, f"misses {missed:.3g} of {float(WIDE_MISS):.3g}")


def _near(x: tuple[int, ...], *, private: bool) -> Iterator[tuple[int, ...]]:
    """One record changed; of a private number of them also one fewer."""
    for place in range(len(x)):
        rest = x[:place] + x[place + 1 :]
        if private:
            yield rest
        for value in range(STEPS):
            yield tuple(sorted((*rest, value)))


def width(rank: int, effort: Effort, *, rate: float | None = None) -> Evidence:
    """What the width shows given the answer, and how often it misses at most."""
    grid = Grid(Fraction(1), VALUES[0], VALUES[-1])
    facts = Published[object](RankedValue(rank, RECORDS, grid))
    universe, pairs, largest, missed = datasets(VALUES, RECORDS), 0, 0.0, 0.0
    for answer in (*grid.ends, 3) if effort.quick else range(VALUES[-1] + 1):
        laws = {x: half_width_law(EPSILON, MISS, facts, as_column(x, grid), answer, rate=rate) for x in universe}
        largest = max(largest, worst_log_ratio(laws.__getitem__, VALUES, universe)[0])
        pairs += sum(1 for x in universe for _ in neighbours(x, VALUES))
        for x, law in laws.items():
            missed = max(missed, sum(p for (low, high), p in law.items() if not low <= x[rank - 1] <= high))
    holds = within_rounding(largest, float(EPSILON)) and within_rounding(missed, float(MISS))
    return Evidence(holds, Loss(float(EPSILON)), largest, None, pairs, f"misses {missed:.3g} of {float(MISS):g}")


def unsigned_margin(effort: Effort) -> Evidence:  # noqa: ARG001
    """The coverage of a margin that is 0 for all intervals that miss: one cluster, far from the answer."""
    records, grid = 41, Grid(Fraction(1), 0, 40)
    facts = Published[object](RankedValue(21, records, grid))
    law = half_width_law(Fraction(6), MISS, facts, as_column((40,) * records, grid), 0, signed=False)
    missed = sum(p for (low, high), p in law.items() if not low <= 40 <= high)
    return Evidence(within_rounding(missed, float(MISS)), None, cases=1, note=f"misses {missed:.3g} of {float(MISS):g}")
