"""Medians of real numbers without bounds: inverse sensitivity on floating grids.

A *floating grid* is even around zero and geometric farther out, like floating-point numbers: whole codes that rise with
the value, up to 2**64 units either way.  An order statistic of codes is the code of the order statistic, so the
inverse-sensitivity mechanism works on codes as on any bounded grid, with no delta and no refusal; what a wide
range costs is only the logarithm of the number of octaves (docs/proofs/regression.md, section 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from dither.kernels.elementary import Floats
from dither.mechanisms.exponential import ExponentialDraw
from dither.mechanisms.half_width_draw import GROWTH, Interval
from dither.privacy import Loss
from dither.sources.column import Column
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue, rank_of

HALF = Fraction(1, 2)
EVEN_BELOW = 3
"""Below 2**3 units the grid is even: as many points as in the octave above."""
OCTAVES = 64
"""Above one unit the grid goes on for so many octaves."""


@dataclass(frozen=True)
class FloatingGrid:
    """Codes of real numbers in a public unit, ``bits`` of them for each octave."""

    unit: float
    bits: int = 30
    lowest: int = EVEN_BELOW
    highest: int = OCTAVES
    signed: bool = True

    @property
    def top(self) -> int:
        """The largest code."""
        return (self.highest - self.lowest + 1) << self.bits

    @property
    def grid(self) -> Grid:
        """The codes as a grid: public."""
        return Grid(Fraction(1), -self.top if self.signed else 0, self.top)

    @property
    def octaves(self) -> float:
        """How many octaves' worth of points the grid has."""
        return self.top / (1 << self.bits) * (2 if self.signed else 1)

    def codes(self, values: Floats) -> np.ndarray:
        """The code of each value, rounded towards zero; NaN counts as zero.  Exact: bits of floats, no logarithms."""
        with np.errstate(all="ignore"):
            sizes = np.nan_to_num(np.abs(values) / self.unit, nan=0.0, posinf=np.finfo(float).max)
        # Below 2**lowest the spacing of the octave above; from there on the leading bits of the float.
        even = np.floor(np.minimum(sizes, 2.0**self.lowest) * 2.0 ** (self.bits - self.lowest)).astype(np.int64)
        base = ((self.lowest + 1023) << self.bits) - (1 << self.bits)
        floating = (sizes.view(np.int64) >> (52 - self.bits)) - base
        result = np.minimum(np.where(sizes < 2.0**self.lowest, even, floating), self.top)
        return np.where(np.signbit(values), -result, result) if self.signed else result

    def value(self, code: int) -> float:
        """The number nearest to zero with this code."""
        size, whole = abs(code), 1 << self.bits
        if size < whole:
            number = math.ldexp(size, self.lowest - self.bits)
        else:
            octave, part = divmod(size, whole)
            number = math.ldexp(whole + part, self.lowest + octave - 1 - self.bits)
        return math.copysign(number * self.unit, code)

    def intervals(self, code: int) -> list[Interval]:
        """Nested intervals of codes around one, the last of them the whole grid: public once the code is.

        They are symmetric around the *number*, growing by a third up to its own size and doubled beyond that: numbers
        near zero may be known to a large multiple of themselves only.
        """
        low, high = self.grid.ends
        centre = self.value(code)
        step = self.value(abs(code) + 1) - self.value(abs(code))
        away = [0.0]
        while away[-1] < max(abs(centre), step):
            away.append(max(step, away[-1] * float(GROWTH)))
        while away[-1] < abs(centre) + self.unit * 2.0**self.highest:
            away.append(2.0 * away[-1])
        reached = np.array(away)
        least = -math.inf if self.signed else 0.0  # (codes without signs are those of sizes)
        lower, upper = self.codes(np.maximum(centre - reached, least)), self.codes(centre + reached)
        nested = [(max(int(first), low), min(int(last), high)) for first, last in zip(lower, upper, strict=True)]
        return [*(item for item, after in pairwise([*nested, (low, high)]) if item != after), (low, high)]


def quantile_draw(count: int, floating: FloatingGrid, epsilon: Fraction, share: Fraction = HALF) -> ExponentialDraw:
    """The draw of a code near a quantile (by default the lower median), epsilon-DP for changing one of the entries."""
    statistic = RankedValue(rank_of(share, count), count, floating.grid)
    return ExponentialDraw.of(statistic, Loss(0.0), epsilon, None)


def draw_quantile(codes: np.ndarray, floating: FloatingGrid, epsilon: Fraction, share: Fraction = HALF) -> int:
    """One such draw."""
    column = Column(codes.astype(np.int64), floating.grid)
    answer = quantile_draw(len(codes), floating, epsilon, share).run(column).answer
    if not isinstance(answer, int):
        raise TypeError("a single draw gives a single answer")
    return answer


def sampling_ranks(count: int, miss: Fraction) -> int:
    """How many ranks from the middle an interval must reach to hold the median of the law (Hoeffding or normal)."""
    # The normal quantile with a continuity correction and a tenth to spare; never more than Hoeffding's bound needs.
    normal = 1.1 * NormalDist().inv_cdf(1.0 - float(miss) / 2.0) * math.sqrt(count) / 2.0 + 1.0
    hoeffding = math.sqrt(count * math.log(2.0 / float(miss)) / 2.0) + 1.0
    return math.ceil(min(normal, hoeffding))
