"""Rigorous bounds on the divergence of two noises of one family with different centres and scales.

The line is cut into cells.  On a cell the log-ratio of the two densities is enclosed by their monotony and by the mean
value theorem, and both probabilities of the cell are known, so the cell's part of ``sup_A P(A) - e^eps Q(A)`` lies
between two balls.  Cells with the widest gap are halved until the sum is decided (docs/proofs/largest_local.md,
section 7).
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, NamedTuple, Protocol, TypeAlias, runtime_checkable

from flint import arb

from dither.numbers import Ball, ball, lower_float, precision, upper_float
from dither.privacy import Loss

BITS = 192
MOST_CELLS = 8_000
"""So many cells are looked at; a sum that is still undecided counts as too large."""
LOOK = 32
"""The sum is computed anew after so many halvings."""


@runtime_checkable
class Enclosed(Protocol):
    """A symmetric law with density proportional to ``e^{-rise(|z|)}``, rise not falling, in balls."""

    @property
    def steepest_slope(self) -> Fraction | None:
        """The supremum of the slope of a law with light tails; None if there is none."""

    def rise(self, distance: Ball) -> Ball:
        """psi(w), for w >= 0."""

    def slope(self, distance: Ball) -> Ball:
        """The derivative of psi."""

    def beyond(self, distance: Ball) -> Ball:
        """P(Z > w), for w >= 0."""

    def far_rise(self, distance: Ball) -> tuple[Ball, Ball] | None:
        """(p, R) with psi(w) in ``p ln w + constant + [0, R]`` for all w from there on; None for light tails."""


@runtime_checkable
class PurelyEnclosed(Enclosed, Protocol):
    """One with heavy tails, of which different scales can have a bounded log-ratio."""

    def rises_at_most(self, grow: Ball, moved: Ball, limit: Ball) -> bool:
        """Whether ``psi(w grow + moved) - psi(w) <= limit`` is proved for every w >= 0."""


@dataclass(frozen=True)
class Logistic:
    """Density ``e^{-z} / (1 + e^{-z})^2``; for noise made by hand, dither draws none."""

    name: ClassVar[str] = "logistic"
    steepest_slope: ClassVar[Fraction | None] = Fraction(1)

    def rise(self, distance: Ball) -> Ball:
        """``w + 2 ln(1 + e^-w)``."""
        return distance + 2 * (-distance).exp().log1p()

    def slope(self, distance: Ball) -> Ball:
        """``tanh(w/2)``."""
        return (distance / 2).tanh()

    def beyond(self, distance: Ball) -> Ball:
        """``1 / (1 + e^w)``."""
        return 1 / (1 + distance.exp())

    def far_rise(self, distance: Ball) -> tuple[Ball, Ball] | None:  # noqa: ARG002
        """Exponential tails."""
        return None


def within(law: Enclosed, here: Fraction, there: Fraction, shift: Fraction, loss: Loss) -> bool:
    """Whether noise of two scales, around values that far apart, is proved to be within a loss in both directions.

    Guarantee  True is a proof in balls.  False: it is not, or so nearly not that the cells could not decide it.
    Theorem    COQ17 Theorem 8 and Remark 9, exactly; docs/proofs/largest_local.md, section 7.
    """
    if min(here, there) <= 0:
        return here == there and shift == 0
    if here == there and shift == 0:
        return True
    pairs = ((here, there), (there, here))
    if loss.is_pure:
        return all(_is_pure(law, item, other, abs(shift), loss.exact_epsilon) for item, other in pairs)
    return all(_is_decided(law, item, other, abs(shift), loss) for item, other in pairs)


def divergence(
    law: Enclosed, here: Fraction, there: Fraction, shift: Fraction, epsilon: Fraction
) -> tuple[float, float]:
    """Floats below and above ``sup_A P(A) - e^eps Q(A)``, P noise of the scale ``here``, Q of the scale ``there``."""
    with precision(_bits(here, there, shift)):
        cells = _Cells(law, here, there, abs(shift), epsilon)
        for _ in range(MOST_CELLS // LOOK):
            least, most = cells.least(), cells.most()
            if (most - least) * 2**30 <= most or most * 2**100 <= 1:
                break
            cells.halve(LOOK)
        return max(lower_float(least), 0.0), min(upper_float(most), 1.0)


def _is_pure(law: Enclosed, here: Fraction, there: Fraction, shift: Fraction, epsilon: Fraction) -> bool:
    """Whether the log-ratio of noise around 0 to noise around ``shift`` is at most epsilon everywhere.

    Far out that of light tails is unbounded, unless both have one scale: then it is the shift times the largest slope.
    """
    if not isinstance(law, PurelyEnclosed):
        steepest = law.steepest_slope
        return here == there and steepest is not None and steepest * shift <= epsilon * here
    with precision(BITS):
        limit = ball(epsilon) - ball(there / here).log()
        return law.rises_at_most(ball(here / there), ball(shift / there), limit)


def _is_decided(law: Enclosed, here: Fraction, there: Fraction, shift: Fraction, loss: Loss) -> bool:
    """Whether the divergence is at most delta; False too where more cells would be needed to tell."""
    with precision(_bits(here, there, shift)):
        cells, limit = _Cells(law, here, there, shift, loss.exact_epsilon), ball(loss.exact_delta)
        for _ in range(MOST_CELLS // LOOK):
            if cells.most() <= limit:
                return True
            if cells.least() > limit:
                return False
            cells.halve(LOOK)
    return False


def _in_units(*numbers: Fraction) -> list[int]:
    """Rationals as whole multiples of their common unit: centres and ends of cells then have no rounding."""
    unit = math.lcm(*(number.denominator for number in numbers))
    return [int(number * unit) for number in numbers]


def _bits(*numbers: Fraction) -> int:
    return BITS + max(item.bit_length() for item in _in_units(*numbers))


End: TypeAlias = Ball | None
"""An end of a cell, without any rounding; None is infinitely far."""


class _Part(NamedTuple):
    """A cell and balls below and above what it adds."""

    low: End
    high: End
    least: Ball
    most: Ball


class _Cells:
    """The line in cells, for one direction of one pair: P has centre 0, Q the centre ``shift``, both in whole units."""

    def __init__(self, law: Enclosed, here: Fraction, there: Fraction, shift: Fraction, epsilon: Fraction) -> None:
        own, other, away = map(ball, _in_units(here, there, shift))
        self._law = law
        self._own, self._other = (arb(0), own), (away, other)
        self._offset, self._epsilon = ball(there / here).log(), ball(epsilon)
        self._grown = self._epsilon.exp()
        self._waiting: list[tuple[float, int, _Part]] = []
        self._count = 0
        centres = [arb(0), away] if shift else [arb(0)]
        ends: list[End] = [None, -own, *centres, away + other, None]
        for low, high in pairwise(ends):
            self._add(low, high)

    def least(self) -> Ball:
        """A ball below the divergence."""
        return sum((part.least for _, _, part in self._waiting), arb(0))

    def most(self) -> Ball:
        """A ball above it."""
        return sum((part.most for _, _, part in self._waiting), arb(0))

    def halve(self, times: int) -> None:
        """Split the cells with the widest gaps."""
        for _ in range(times):
            _, _, part = heapq.heappop(self._waiting)
            middle = _between(part.low, part.high)
            self._add(part.low, middle)
            self._add(middle, part.high)

    def _add(self, low: End, high: End) -> None:
        here, there = self._mass(low, high, *self._own), self._mass(low, high, *self._other)
        lowest, highest = self._log_ratio(low, high)
        gained = (here - self._grown * there).nonnegative_part()
        if highest <= self._epsilon:
            least = most = arb(0)
        elif lowest >= self._epsilon:
            least = most = gained
        else:
            least, most = gained, here * (-(self._epsilon - highest).expm1()).nonnegative_part()
        self._count += 1
        gap = upper_float(most - least)
        heapq.heappush(self._waiting, (-gap, self._count, _Part(low, high, least, most)))

    def _mass(self, low: End, high: End, centre: Ball, scale: Ball) -> Ball:
        """P(low < centre + scale Z < high): cells lie on one side of both centres."""
        if low is None or high is None:
            return self._law.beyond(abs(_end(low, high) - centre) / scale)
        near, far = (low, high) if low >= centre else (high, low)
        beyond_near, beyond_far = (self._law.beyond(abs(end - centre) / scale) for end in (near, far))
        return (beyond_near - beyond_far).nonnegative_part()

    def _log_ratio(self, low: End, high: End) -> tuple[Ball, Ball]:
        """Balls below and above the logarithm of the density of P over that of Q, on the cell."""
        if low is None or high is None:
            return self._log_ratio_far(_end(low, high))
        law, middle = self._law, _between(low, high)
        (w1, w2, w, w_side), (v1, v2, v, v_side) = (
            _distances(low, high, middle, *item) for item in (self._own, self._other)
        )
        lowest = law.rise(v1) - law.rise(w2) + self._offset
        highest = law.rise(v2) - law.rise(w1) + self._offset
        if w1 > 0 and v1 > 0:
            climb = v_side * law.slope(v1.union(v2)) / self._other[1] - w_side * law.slope(w1.union(w2)) / self._own[1]
            spread = law.rise(v) - law.rise(w) + self._offset + climb * (low.union(high) - middle)
            if spread.is_finite():
                lowest, highest = lowest.max(spread.lower()), highest.min(spread.upper())
        return lowest, highest

    def _log_ratio_far(self, end: Ball) -> tuple[Ball, Ball]:
        distances = [abs(end - centre) / scale for centre, scale in (self._own, self._other)]
        own, other = (self._law.far_rise(distance) for distance in distances)
        if own is None or other is None:
            return arb("-inf"), arb("inf")
        # The quotient of both distances lies between its value at the end of the cell and that of the scales alone.
        quotient = (distances[1] / distances[0]).union(self._own[1] / self._other[1])
        spread = own[0] * quotient.log() + arb(0).union(other[1]) - arb(0).union(own[1]) + self._offset
        return spread.lower(), spread.upper()


def _distances(low: Ball, high: Ball, middle: Ball, centre: Ball, scale: Ball) -> tuple[Ball, Ball, Ball, int]:
    """From a centre, in units of a scale: the least, the largest, that of the middle, and on which side."""
    side = 1 if low >= centre else -1
    near, far = (low, high) if side > 0 else (high, low)
    return abs(near - centre) / scale, abs(far - centre) / scale, abs(middle - centre) / scale, side


def _between(low: End, high: End) -> Ball:
    """The middle of a cell, without any rounding; twice as far out where it has none."""
    if low is not None and high is not None:
        return ((low + high) / 2).mid()
    return (_end(low, high) * 2).mid()


def _end(low: End, high: End) -> Ball:
    """The one end of a cell that reaches infinitely far."""
    end = high if low is None else low
    if end is None:
        raise ValueError("a cell has an end")
    return end
