"""How much of one person counts: a limit that is drawn among public ones, by how many people exceed each.

The draw is that of docs/proofs/fitted_bounds.md, one number for each person instead of each record: whatever a person
does to all of their rows moves one number, so the draw is rate-DP and has bounded range rate.  Proof of what follows
from a limit: docs/proofs/people.md.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

from dither.noise.discrete_exponential import draw_index
from dither.procedures.fitted_bounds import limit
from dither.sources.grid import Grid
from dither.sources.people import MOST_TOTAL

FALL = Fraction(2, 7)
"""How much less each limit weighs than the one before (docs/decisions.md has the measurements)."""
ROWS_SHARE, TOTAL_SHARE, SIDE_SHARE = Fraction(1, 5), Fraction(1, 5), Fraction(1, 8)
"""The parts of epsilon for a limit of rows, of totals that are not negative, and for either end of other totals."""
MOST_LIMIT = 1 << 20
"""The largest limit of rows."""
UNIT = Fraction(1, 1 << 16)
"""The grid of rows in columns without bounds and without a declared step."""
UNIT_STEPS = 1 << 51
"""Rows there count up to so many steps."""
BELOW, ABOVE = 4, 24
"""Totals of a bounded column have limits from 2**-4 to 2**24 of its largest value."""
LEAST_STEPS, LEAST_TOTAL = 64, 1
"""Totals of a column without bounds have limits from so many declared steps on, or from this where none is declared."""
OCTAVES = 8
"""How far above the smallest limit of totals the right one may lie for the draw to find it, with a bounded column."""
UNBOUNDED_OCTAVES = 20
CERTAINTY = 3.0
"""In nats, as for fitted bounds."""


@functools.lru_cache(maxsize=64)
def limit_weights(count: int) -> tuple[int, ...]:
    """Public weights of so many limits, the smallest first."""
    return tuple(FALL.numerator**place * FALL.denominator ** (count - 1 - place) for place in range(count))


@dataclass(frozen=True)
class PersonLimitDraw:
    """One of several public limits, drawn by how many people exceed each.

    Guarantee  rate-DP with bounded range rate when a person comes, goes or changes, with all rows.
    Theorem    docs/proofs/people.md, section 1; enumerated in tests/procedures/test_people.py.
    Cost       A count of people for each limit.
    """

    rate: Fraction
    limits: tuple[int, ...]
    """Public, rising."""

    def draw(self, exceeding: list[int]) -> int:
        """One of the limits; ``exceeding``: how many people lie above each."""
        return self.limits[draw_index(exceeding, self.rate, weights=limit_weights(len(self.limits)))]


def row_limits(most: int = MOST_LIMIT) -> tuple[int, ...]:
    """Public limits of rows: 1, 2, 3, 4, 6, 8, 12, ..., about half an octave apart.

    >>> row_limits(20)
    (1, 2, 3, 4, 6, 8, 12, 16)
    """
    powers = [1 << exponent for exponent in range(most.bit_length())]
    return tuple(sorted({item for power in powers for item in (power, 3 * power // 2) if item <= most}))


def total_limits(grid: Grid, *, bounded: bool) -> tuple[int, ...]:
    """Public limits of the total of one person, in steps: half an octave apart.

    The smallest is a part of the largest value of a bounded column, or a few steps where there are no bounds.
    """
    low, high = grid.ends
    most = max(abs(low), abs(high))
    if bounded:
        first, last = max(most >> BELOW, 1), min(most << ABOVE, MOST_TOTAL)
    else:
        first, last = (LEAST_STEPS if grid.step != UNIT else math.ceil(LEAST_TOTAL / UNIT)), MOST_TOTAL
    each = (math.ceil(first * limit(index)) for index in range(2 * MOST_TOTAL.bit_length()))
    return tuple(sorted({item for item in each if item <= last}))


def least_people(rate: Fraction, *, bounded: bool) -> int:
    """How many people there must be for a limit of totals to be found, as for fitted bounds."""
    octaves = OCTAVES if bounded else UNBOUNDED_OCTAVES
    return math.ceil(2 * (2 * octaves * math.log(1.0 / float(FALL)) + CERTAINTY) / float(rate))
