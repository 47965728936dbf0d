"""Bounds for totals of records that have none: limits drawn among public powers, by how many records lie beyond each.

A limit is drawn with weight ``(3/7)^k e^{-rate #{x > T_k}}`` among ``T_k = sqrt(2)^k``: one record moves all the counts
the same way, so the draw is rate-DP and has bounded range rate, whichever of adding, removing or changing a record is
meant.  Numbers of both signs have a limit on either side of a centre, which is drawn too: docs/proofs/fitted_bounds.md.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.accounting.cascades import Step
from dither.kernels.elementary import Floats
from dither.mechanisms.exponential import ExponentialDraw
from dither.noise.discrete_exponential import draw_index
from dither.privacy import Loss, Neighbours
from dither.procedures.ordered import Ordered
from dither.procedures.unbounded import least_records
from dither.procedures.unbounded_quantiles import REALS, count_room, enough_to_draw, least_epsilon
from dither.sources.column import Column
from dither.sources.grid import DEFAULT_STEPS, Grid
from dither.statistics.order import RankedValue, rank_of
from dither.statistics.statistic import Statistic
from dither.statistics.unknown_size import SharedRank

HALF = Fraction(1, 2)
FALL = Fraction(3, 7)
"""How much less each limit weighs than the one before: about T^-2.44 (docs/decisions.md has the measurements)."""
ROOT = Fraction(181, 128)
"""Stands for the root of two in the limits, which need be no more than public numbers."""
HIGHEST = 2 * 65
"""The largest limit is 2**65: beyond all numbers that answers without bounds may be."""
LOWEST = 2 * -64
UNIT = -20
"""The smallest limit is 2**-20 where neither a unit is declared nor a centre says what is small."""
FINE = 12
"""Around a centre c it is 2**-12 c, or less."""
CENTRE_SHARE, SIDE_SHARE, ABOVE_SHARE = Fraction(1, 20), Fraction(1, 8), Fraction(1, 5)
"""The parts of epsilon for the centre, for a limit on either side of it, and for the only limit above zero."""
MOST_SIDE, MOST_ABOVE = Fraction(1, 4), Fraction(1, 2)
"""What few records may raise the last two to; the centre gets at most as much as a side."""
PRIVATE_CENTRE_SHARE = Fraction(1, 10)
"""Where the number of records is private, shares are fixed."""
CENTRED_OCTAVES, DECLARED_OCTAVES, OCTAVES = 16, 20, 40
"""How far above the smallest limit the right one may lie for the draw to find it: around a centre, above a declared
unit and above the default one."""
CERTAINTY = 3.0
"""In nats: of 20 draws on such data, one may fail to."""


def limit(index: int) -> Fraction:
    """``sqrt(2)**index``, or so."""
    octave, odd = divmod(index, 2)
    return Fraction(2) ** octave * (ROOT if odd else 1)


@functools.lru_cache(maxsize=64)
def weights(count: int) -> tuple[int, ...]:
    """Public weights of so many limits, the smallest first."""
    return tuple(FALL.numerator**j * FALL.denominator ** (count - 1 - j) for j in range(count))


@dataclass(frozen=True)
class LimitDraw:
    """One limit above zero for records of which few may lie beyond it.

    Guarantee  rate-DP with bounded range rate for adding, removing and changing a record.
    Theorem    docs/proofs/fitted_bounds.md, section 1; enumerated in tests/procedures/test_fitted_bounds.py.
    Cost       A count for each of at most 259 limits.
    """

    rate: Fraction

    def candidates(self, lowest: int) -> list[Fraction]:
        """The limits from an index on: public."""
        return [limit(index) for index in range(lowest, HIGHEST + 1)]

    def counts(self, ordered: Floats, lowest: int) -> list[int]:
        """How many of some sorted numbers lie above each limit: private."""
        # Limits have eight bits of mantissa: they are floats.
        edges = np.array([float(candidate) for candidate in self.candidates(lowest)])
        above: list[int] = (len(ordered) - np.searchsorted(ordered, edges, side="right")).tolist()
        return above

    def draw(self, ordered: Floats, lowest: int) -> Fraction:
        """One of the limits, exactly; ``ordered``: sorted numbers."""
        counts = self.counts(ordered, lowest)
        return limit(lowest + draw_index(counts, self.rate, weights=weights(len(counts))))


@dataclass(frozen=True)
class Bracket:
    """Bounds that were drawn, in steps around a centre: public once they are."""

    centre: float
    grid: Grid

    @classmethod
    def of(cls, centre: float, below: Fraction, above: Fraction) -> Bracket:
        """Outward to whole steps of a grid as fine as that of any bounded column."""
        widest = max(below, above)
        step = Fraction(2) ** (widest.numerator.bit_length() - widest.denominator.bit_length() - DEFAULT_STEPS)
        return cls(centre, Grid(step, -math.ceil(below / step), math.ceil(above / step)))

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The bounds themselves."""
        low, high = self.grid.ends
        return Fraction(self.centre) + low * self.grid.step, Fraction(self.centre) + high * self.grid.step

    def column(self, data: Ordered) -> Column:
        """The records, clamped, as distances from the centre: private."""
        return Column(self.grid.quantise(distances(data, self.centre), 0), self.grid, ordered=True)

    def beyond(self, data: Ordered) -> Column:
        """1 for each record that was clamped, else 0: private."""
        low, high = (float(end * self.grid.step) for end in self.grid.ends)
        away = distances(data, self.centre)
        return Column(((away < low) | (away > high)).astype(np.int64), Grid(Fraction(1), 0, 1))


def distances(data: Ordered, centre: float) -> Floats:
    """``x - centre`` to the nearest float, in order: what one record becomes depends on it alone."""
    return np.asarray(data.ranks(1, data.records) - centre)


@dataclass(frozen=True)
class FittedBounds:
    """Which draws find bounds, and what each spends; all fields are public."""

    side: Fraction
    """The rate of each limit's draw."""
    centre: Fraction | None
    """The epsilon of the centre; None: it is zero."""
    non_negative: bool
    """True: all records count as at least zero, and only the upper bound is drawn."""
    lowest: int
    """The index of the smallest limit where the centre is zero."""
    median: Statistic | None = None
    """The statistic that the centre is drawn for."""

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Of each draw."""
        spent = [self.side] if self.non_negative else [self.side, self.side]
        return tuple(Loss.bounded_range(item) for item in (*spent, *(() if self.centre is None else (self.centre,))))

    @property
    def composition(self) -> Step:
        """What all draws spend together, exactly."""
        return Step((1 if self.non_negative else 2) * self.side + (self.centre or 0))

    def run(self, data: Ordered) -> Bracket:
        """The bounds: private in, paid for and public out."""
        drawn = LimitDraw(self.side)
        centre = self._centre(data)
        lowest = self.lowest if centre == 0.0 else max(2 * (math.frexp(centre)[1] - 1 - FINE), LOWEST)
        away = distances(data, centre)
        above = drawn.draw(away, lowest)
        return Bracket.of(centre, Fraction(0) if self.non_negative else drawn.draw(-away[::-1], lowest), above)

    def _centre(self, data: Ordered) -> float:
        if self.centre is None or self.median is None:
            return 0.0
        coded = Column(REALS.codes(data.ranks(1, data.records)), REALS.grid, ordered=True)
        return REALS.value(ExponentialDraw.of(self.median, Loss(0.0), self.centre, None).run(coded).number)


def plan_bounds(records: int, epsilon: Fraction, *, non_negative: bool, unit: int | None, moves: bool) -> FittedBounds:
    """The draws for a public number of records: they get more of epsilon where records are few.

    ``unit``: the exponent of the declared unit of the records, if there is one; ``moves``: False where the statistic
    is not asked around a centre.
    """
    lowest = 2 * (UNIT if unit is None else unit)
    octaves = _octaves(non_negative=non_negative, moves=moves, declared=unit is not None)

    def possible(count: int) -> bool:
        return all(least <= most * epsilon for least, most in _needs(count, octaves, non_negative, moves))

    enough_to_draw(records, possible, epsilon)
    (least, _), *rest = _needs(records, octaves, non_negative, moves)
    if non_negative:
        return FittedBounds(max(ABOVE_SHARE * epsilon, least), None, True, lowest)
    side = max(SIDE_SHARE * epsilon, least)
    if not moves:
        return FittedBounds(side, None, False, lowest)
    ((least_centre, _),) = rest
    median = RankedValue(rank_of(HALF, records), records, REALS.grid)
    return FittedBounds(side, max(CENTRE_SHARE * epsilon, least_centre), False, lowest, median)


def plan_private_bounds(
    most: int, neighbours: Neighbours, epsilon: Fraction, *, non_negative: bool, unit: int | None, moves: bool
) -> tuple[FittedBounds, int]:
    """The draws for a private number of records, and how many of them a noisy count must say.

    Shares are such that half of the most records that there can be are enough, as far as that goes.
    """
    lowest, octaves = (
        2 * (UNIT if unit is None else unit),
        _octaves(non_negative=non_negative, moves=moves, declared=unit is not None),
    )
    usual = (ABOVE_SHARE if non_negative else SIDE_SHARE, PRIVATE_CENTRE_SHARE)
    few = _needs(max(most // 2, 1), octaves, non_negative, moves)
    spent = [
        max(share * epsilon, min(need, most_share * epsilon))
        for share, (need, most_share) in zip(usual, few, strict=False)
    ]

    def possible(count: int) -> bool:
        needs = _needs(max(count, 1), octaves, non_negative, moves)
        return all(need <= part for (need, _), part in zip(needs, spent, strict=True))

    enough_to_draw(most, lambda count: possible(count - count_room(epsilon)), epsilon)
    side, *centre = spent
    median = SharedRank(HALF, most, REALS.grid, neighbours) if centre else None
    fitted = FittedBounds(side, centre[0] if centre else None, non_negative, lowest, median)
    return fitted, least_records(possible)


def _octaves(*, non_negative: bool, moves: bool, declared: bool) -> int:
    if moves and not non_negative:
        return CENTRED_OCTAVES
    return DECLARED_OCTAVES if declared else OCTAVES


def _needs(records: int, octaves: int, non_negative: bool, moves: bool) -> list[tuple[Fraction, Fraction]]:
    """The least rate of a limit's draw, and the least epsilon of the centre, with the most of epsilon for each.

    A limit that lies so many octaves below the right one weighs as many falls more, and half of the records of its
    side lie above it: these must outweigh the falls.
    """
    falls = 2 * octaves * math.log(1.0 / float(FALL)) + CERTAINTY
    side = Fraction(math.ceil((2 if non_negative else 4) * falls), records)
    most = MOST_ABOVE if non_negative else MOST_SIDE
    if non_negative or not moves:
        return [(side, most)]
    return [(side, most), (least_epsilon((records + 1) // 2, REALS.grid.points), MOST_SIDE)]
