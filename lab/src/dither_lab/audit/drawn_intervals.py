"""Intervals of drawn answers: what their width shows, and how often they miss, on whole universes.

Laws are the laboratory's own (``laws/drawn.py``); that the mechanism follows them is checked by its tests and by the
black-box checks of answers with intervals.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

from dither.privacy import Loss
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue
from dither_lab.audit.checks import Check, Effort, Evidence, within_rounding
from dither_lab.audit.enumeration import as_column, datasets, neighbours, worst_log_ratio
from dither_lab.audit.laws.drawn import half_width_law
from dither_lab.audit.laws.facts import Published

EPSILON, MISS = Fraction(3, 2), Fraction(1, 20)
VALUES, RECORDS = (0, 5, 12), 15


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
