"""A noisy sum around the middle of the bounds, divided by a noisy count: both for the loss of the sum alone.

A record that comes or goes moves the sum by half of the range only, which leaves the other half of the loss to the
count; one that is replaced leaves the count as it is (docs/proofs/filtered.md, section 6).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.kernels.elementary import Floats
from dither.mechanisms.error import ErrorLaw
from dither.mechanisms.worst_case import headroom
from dither.noise.exact import rounded_draw
from dither.noise.laplace import Laplace
from dither.sources.grid import Grid

FINE = 1 << 20
"""Sums and counts are rounded to this part of a step and of a record."""
_CELLS = 200
_NODE, _FARTHEST = 1 / 64, 40.0
"""Laplace noise is averaged over cells of this length, up to 40 scales on either side."""


@dataclass(frozen=True)
class SumAndCount:
    """``middle + sum / count``, both with Laplace noise: the sum in halves of the range of the records.

    ``scale``: of the noise on the count, and of that on the sum over ``reach``, the range of the records in their
    steps, in which the doubled deviations are given.
    """

    scale: Fraction
    reach: int
    answers: Grid

    def draw(self, deviations: int, count: int) -> tuple[Fraction, Fraction]:
        """The noisy sum over the range of the records, and the noisy count: private no more."""
        return self._noisy(deviations, self.scale * self.reach) / self.reach, self._noisy(count, self.scale)

    def _noisy(self, number: int, scale: Fraction) -> Fraction:
        fine = scale * FINE
        return Fraction(rounded_draw(Laplace(), number * FINE, fine, headroom=headroom(fine)), FINE)

    def answer(self, total: Fraction, count: Fraction) -> int:
        """In grid steps, before it is clamped; a count below its noise is raised to that."""
        low, high = self.answers.ends
        return math.floor((low + high + (high - low) * total / max(count, self.scale) + 1) / 2)

    def interval(self, total: Fraction, count: Fraction, answer: int, miss: float) -> tuple[int, int]:
        """Where the mean is, in grid steps: the u for which ``|total - u count|`` is not unusual (Fieller 1954).

        At the mean u, in halves of the range from the middle, ``total - u count`` is the noise of the one less u times
        that of the other, whose quantile is public.  Widest of each cell of |u|: the hull of all that is left.
        """
        low, high = self.answers.ends
        edges, quantiles = np.linspace(0.0, 1.0, _CELLS + 1), _quantiles(miss)
        allowed = float(self.scale) * quantiles * (1.0 + 1e-9) + 1.0 / FINE
        kept = []
        for side in (1.0, -1.0):
            centre, slope = side * float(total), float(count)
            if slope == 0.0:
                near = np.where(abs(centre) <= allowed, edges[:-1], 1.0)
                far = np.where(abs(centre) <= allowed, edges[1:], -1.0)
            else:
                ends = np.sort(np.array([(centre - allowed) / slope, (centre + allowed) / slope]), axis=0)
                near, far = np.maximum(ends[0], edges[:-1]), np.minimum(ends[1], edges[1:])
            inside = near <= far
            kept += [side * near[inside], side * far[inside]]
        places = np.concatenate(kept)
        if not len(places):
            return answer, answer
        middle, half = (low + high) / 2, (high - low) / 2
        # One step for rounding the mean down, one for floats.
        ends_found = (
            math.floor(middle + half * float(places.min())) - 2,
            math.ceil(middle + half * float(places.max())) + 2,
        )
        return self.answers.clamp(min(ends_found[0], answer)), self.answers.clamp(max(ends_found[1], answer))

    def half_width(self, deviations: int, count: int, miss: float) -> float:
        """Half of the length of the interval where both noises are 0."""
        total, there = Fraction(deviations, self.reach), Fraction(count)
        ends = self.interval(total, there, self.answers.clamp(self.answer(total, there)), miss)
        return (ends[1] - ends[0]) / 2.0

    def error_law(self, deviations: int, count: int, value: int) -> ErrorLaw:
        """Of answers for these numbers, where ``value`` is the mean."""
        return QuotientError(self, deviations / self.reach, count, value)

    def most_error(self, count: int) -> MostQuotientError:
        """A bound for all data of at least so many records."""
        return MostQuotientError(float(self.scale), count, self.answers)


def quotient_tail(distance: Floats, share: float) -> Floats:
    """P(|X + share Y| > distance) for standard Laplace X and Y and a share of at most 1."""
    if share > 1.0 - 1e-6:
        return np.asarray((1.0 + distance / 2.0) * np.exp(-distance))
    lesser = share * share * np.exp(-distance / share) if share > 0.0 else 0.0
    return np.asarray((np.exp(-distance) - lesser) / (1.0 - share * share))


@functools.lru_cache(maxsize=64)
def _quantiles(miss: float) -> Floats:
    """For each cell of shares, the distance that is exceeded with at most this probability at its greater end."""
    return np.array([_quantile(share, miss) for share in np.linspace(0.0, 1.0, _CELLS + 1)[1:].tolist()])


def _quantile(share: float, miss: float) -> float:
    low, high = 0.0, 1.0
    while float(quotient_tail(np.array([high]), share)[0]) > miss:
        low, high = high, 2.0 * high
    while high - low > 1e-7 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if float(quotient_tail(np.array([middle]), share)[0]) > miss else (low, middle)
    return high


@functools.cache
def _nodes() -> tuple[Floats, Floats]:
    """Standard Laplace noise: middles of cells, and their probabilities."""
    ends = np.arange(0.0, _FARTHEST + _NODE, _NODE)
    mass, middles = -np.diff(np.exp(-ends)) / 2.0, (ends[1:] + ends[:-1]) / 2.0
    masses = np.concatenate([mass, mass])
    return np.concatenate([middles, -middles]), masses / masses.sum()


class QuotientError(ErrorLaw):
    """The distance of a noisy sum over a noisy count from the mean."""

    def __init__(self, shape: SumAndCount, total: float, count: int, value: int) -> None:
        self._low, self._high = shape.answers.ends
        self._value, self._scale = value, float(shape.scale)
        self._total, self._count = total / self._scale, count / self._scale

    @property
    def mean(self) -> float:
        """The integral of the tail, cut where the range ends: averaged over cells of the noise of the count."""
        noise, mass = _nodes()
        half, divisor = (self._high - self._low) / 2, np.maximum(self._count + noise, 1.0)
        spread = half / divisor
        # Where answers lie around the value, given the noise of the count.
        centre = (self._low + self._high) / 2 - self._value + spread * self._total

        def from_place(place: Floats) -> Floats:
            return np.asarray(np.maximum(place, 0.0) + spread / 2.0 * np.exp(-np.abs(place) / spread))

        up = from_place(centre) - from_place(centre - (self._high - self._value))
        down = from_place(-centre) - from_place(-centre - (self._value - self._low))
        return float(np.dot(mass, up + down))

    def beyond(self, distance: float) -> float:
        away = math.floor(distance) + 0.5
        middle, half = (self._low + self._high) / 2, (self._high - self._low) / 2
        above = below = 0.0
        if distance < self._high - self._value:
            above = quotient_above((self._value + away - middle) / half, self._total, self._count)
        if distance < self._value - self._low:
            below = quotient_above((middle - self._value + away) / half, -self._total, self._count)
        return above + below


def quotient_above(level: float, total: float, count: float) -> float:
    """P((total + X) / max(count + Y, 1) > level) for standard Laplace X and Y and a level between -1 and 1.

    Given Y = y the chance is that of X above ``level max(count + y, 1) - total``, an exponential on either side of 0.
    """
    raised = 1.0 - count
    fixed = level - total
    lowest = 0.5 * math.exp(raised) if raised < 0.0 else 1.0 - 0.5 * math.exp(-raised)
    result = lowest * (0.5 * math.exp(-fixed) if fixed >= 0.0 else 1.0 - 0.5 * math.exp(fixed))
    start = level * count - total
    ends = sorted({raised, *(end for end in (0.0, -start / level if level else 0.0) if end > raised)})
    for near, far in zip(ends, [*ends[1:], math.inf], strict=True):
        middle = near + 1.0 if math.isinf(far) else (near + far) / 2.0
        fall = -1.0 if middle >= 0.0 else 1.0
        if start + level * middle >= 0.0:
            result += 0.25 * _exponential(fall - level, -start, near, far)
        else:
            result += 0.5 * _exponential(fall, 0.0, near, far) - 0.25 * _exponential(fall + level, start, near, far)
    return result


def _exponential(slope: float, height: float, near: float, far: float) -> float:
    """The integral of ``e^{height + slope y}`` over y from near to far, which is infinite only where it falls."""
    if math.isinf(far):
        return math.exp(height + slope * near) / -slope
    if abs(slope) * (far - near) < 1e-12:
        return (far - near) * math.exp(height + slope * near)
    # From the higher end, so that nothing overflows.
    top = max(slope * near, slope * far)
    return math.exp(height + top) * -math.expm1(-abs(slope) * (far - near)) / abs(slope)


@dataclass(frozen=True)
class MostQuotientError(ErrorLaw):
    """At least as great, for all data of ``count`` records or more: a mean at a bound, answers not cut to the range.

    Where the noisy count is above its noise, the error ``|x - u y| scale / (count + scale y)`` falls with the count,
    and is stochastically greatest at u = 1; elsewhere it is at most the range.
    """

    scale: float
    count: int
    answers: Grid

    def _parts(self) -> tuple[Floats, Floats, Floats, float]:
        low, high = self.answers.ends
        noise, mass = _nodes()
        # Cells count from their lower ends: a cell's length away from its middle at most.
        divisor = self.count + self.scale * (noise - _NODE)
        kept = divisor >= self.scale
        unit = (high - low) / 2 * self.scale / divisor[kept]
        return np.abs(noise[kept]) + _NODE, mass[kept], unit, float(mass[~kept].sum())

    @property
    def mean(self) -> float:
        noise, mass, unit, lost = self._parts()
        span = float(self.answers.points - 1)
        return float(np.dot(mass, np.minimum(unit * (noise + np.exp(-noise)), span))) + lost * span + 1.0

    def beyond(self, distance: float) -> float:
        noise, mass, unit, lost = self._parts()
        far = max(distance - 1.0, 0.0) / unit
        near = 1.0 - np.exp(-noise) * np.sinh(np.minimum(far, noise))
        tail = np.where(far < noise, near, np.exp(-far) * np.cosh(np.minimum(noise, far)))
        return float(np.dot(mass, np.minimum(tail, 1.0))) + lost
