"""Staircase noise on whole numbers: the law of least expected error for a sensitivity of many grid steps.

With a sensitivity of D steps, widths r and D - r alternate; at each second of them the probability falls by
``e^-epsilon``: ``p(i) = a`` for ``0 <= i < r``, ``a e^-epsilon`` for ``r <= i < D``, ``p(i + D) = e^-epsilon p(i)``,
and ``p(-i) = p(i)``.  Every width is private (docs/proofs/staircase.md); r decides about the error alone.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

from dither.noise.discrete_exponential import draw_index, geometric
from dither.noise.entropy import Source, system, uniform_integer


@dataclass(frozen=True)
class Staircase:
    """The law, in grid steps; its figures are floats, its draws are exact."""

    epsilon: Fraction
    sensitivity: int
    inner: int
    """How many of the D whole numbers from 0 on are on the upper step: r."""

    @classmethod
    def of(cls, epsilon: Fraction, sensitivity: int) -> Staircase:
        """The width of least expected error, which is D/(1 + e^(epsilon/2)) but for rounding (Geng-Viswanath)."""
        near = math.floor(sensitivity / (1.0 + math.exp(float(epsilon) / 2.0)))
        widths = {min(max(near + place, 1), sensitivity) for place in (0, 1)}
        return min((cls(epsilon, sensitivity, width) for width in sorted(widths)), key=lambda law: law.mean)

    def draw(self, location: int, source: Source = system) -> int:
        """``location`` plus noise, exactly.  A zero with a negative sign is drawn anew, or it would weigh twice."""
        outer = self.sensitivity - self.inner
        while True:
            turns = geometric(self.epsilon, source)
            lower = draw_index((0, 1), self.epsilon, source, weights=(self.inner, outer)) if outer else 0
            within = self.inner + uniform_integer(outer, source) if lower else uniform_integer(self.inner, source)
            away, positive = turns * self.sensitivity + within, uniform_integer(2, source)
            if away or positive:
                return location + away if positive else location - away

    @functools.cached_property
    def _fall(self) -> float:
        return math.exp(-float(self.epsilon))

    @functools.cached_property
    def _turns(self) -> float:
        """The sum of ``e^(-epsilon k)`` over all k from 0 on."""
        return -1.0 / math.expm1(-float(self.epsilon))

    @functools.cached_property
    def _half(self) -> float:
        """The mass of zero and all positive numbers, over a."""
        return (self.inner + (self.sensitivity - self.inner) * self._fall) * self._turns

    @functools.cached_property
    def peak(self) -> float:
        """The probability of zero."""
        return 1.0 / (2.0 * self._half - 1.0)

    def chance(self, distance: int) -> float:
        """The probability of one number."""
        turns, within = divmod(abs(distance), self.sensitivity)
        return self.peak * math.exp(-float(self.epsilon) * (turns + (within >= self.inner)))

    def tail(self, distance: int) -> float:
        """P(|K| > distance), of a distance of at least 0."""
        turns, within = divmod(distance + 1, self.sensitivity)
        here = max(self.inner - within, 0) + self._fall * (self.sensitivity - max(within, self.inner))
        return 2.0 * self.peak * math.exp(-float(self.epsilon) * turns) * (here + self._fall * self._half)

    def half_width(self, miss: float) -> int:
        """A number of grid steps that the noise exceeds with at most this probability: the least, but for rounding."""
        # T falls by e^-epsilon from turn to turn, and is linear on either part of one.
        least = miss / (2.0 * self.peak)
        turns = max(math.ceil(math.log(self._half / least) / float(self.epsilon)) - 1, 0)
        left = least * math.exp(float(self.epsilon) * turns)
        within = self.inner + self._fall * (self.sensitivity - self.inner + self._half) - left
        if within > self.inner:
            within = self.sensitivity + self._half - left / self._fall
        return max(turns * self.sensitivity + math.ceil(within * (1.0 + 1e-9) + 1e-9) - 1, 0)

    @functools.cached_property
    def mean(self) -> float:
        """The expected size of the noise."""
        return self.cut_mean(math.inf)

    def cut_mean(self, room: float) -> float:
        """``E min(|K|, room)``: the sum of P(|K| >= k) over k = 1 .. room."""
        # P(|K| >= k) is 2 T(k) with T(k) the mass from k on; the sum of T(0) .. T(room), without T(0), which is a half.
        whole = self._partial(self.sensitivity - 1)
        if math.isinf(room):
            return 2.0 * self.peak * (whole * self._turns - self._half)
        turns, within = divmod(math.floor(room), self.sensitivity)
        fallen = math.exp(-float(self.epsilon) * turns)
        before = whole * self._turns * (1.0 - fallen) + fallen * self._partial(within)
        return 2.0 * self.peak * (before - self._half)

    def _partial(self, last: int) -> float:
        """The sum of T(0) .. T(last) over a, of a last number below the sensitivity."""
        r, upper = self.inner, min(last, self.inner - 1)
        inside = (upper + 1.0) * r - upper * (upper + 1.0) / 2.0
        outside = (upper + 1.0) * (self.sensitivity - r)
        if last >= r:
            outside += (last - r + 1.0) * self.sensitivity - (last * (last + 1.0) - r * (r - 1.0)) / 2.0
        return inside + self._fall * (outside + (last + 1.0) * self._half)
