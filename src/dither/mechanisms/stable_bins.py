"""Histograms over undeclared categories: only bins with many people are released.

Never touches an empty bin: it takes the keys that occur and their counts, from an array or from a database.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TypeVar

from dither.errors import InvalidArgument
from dither.mechanisms.mechanism import point_of
from dither.noise.entropy import Source, system
from dither.noise.gaussian import Gaussian
from dither.noise.vectors import integer_laplace_draws, rounded_draws
from dither.numbers import ball, lower_float, precision, upper_float
from dither.privacy import Concentrated, Loss, rho_up

ROOT_TWO = Fraction(14_143, 10_000)
"""Not below the root of 2."""
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class StableBins:
    """Counts with integer Laplace noise, of which those that reach a public threshold are released.

    Guarantee  (epsilon, delta)-DP when one person is replaced who owns up to ``rows_per_person`` rows; delta > 0.
    Theorem    docs/proofs/stable.md, section 3: with r = epsilon / (2 s), a person's own bins show with probability at
               most max(e^{rs}, s e^r) e^{-r threshold} / (1 + e^{-r}) <= delta.
    Constants  Literature (s = 1, real noise): 1 + (2/epsilon) ln(1/(2 delta)).  Ours is exact for integer noise.
    Cost       One draw for each key that occurs.
    """

    epsilon: Fraction
    delta: Fraction
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise InvalidArgument("epsilon", float(self.epsilon), "must be a positive number")
        if not 0 < self.delta < 1:
            raise InvalidArgument(
                "delta", float(self.delta), "must be above 0 and below 1 for undeclared categories, such as 1e-6"
            )
        if not isinstance(self.rows_per_person, int) or self.rows_per_person < 1:
            raise InvalidArgument("rows_per_person", self.rows_per_person, "must be a whole number of at least 1")

    @classmethod
    def of(cls, loss: Loss, rows_per_person: int = 1) -> StableBins:
        """For a loss."""
        return cls(loss.exact_epsilon, loss.exact_delta, rows_per_person)

    @property
    def rate(self) -> Fraction:
        """P(noise = k) is proportional to ``e^{-rate |k|}``."""
        return self.epsilon / (2 * self.rows_per_person)

    @property
    def threshold(self) -> int:
        """Noisy counts of at least this are released: public."""
        s = self.rows_per_person
        with precision(128):
            rate = ball(self.rate)
            most = -(-rate).expm1()
            # The proof also asks that hiding a new bin costs no more than e^rate: 1/(1 - delta) <= e^rate.
            allowed = min(self.delta, Fraction(max(lower_float(most), 0.0)))
            own = max(upper_float(rate * s), upper_float(rate + ball(s).log()))
            least = ball(Fraction(own)) - ball(allowed).log() - (1 + (-rate).exp()).log()
            return max(math.ceil(upper_float(least / rate)), s + 1)

    def chance(self, count: int) -> float:
        """The probability that a bin with this count is released, in floats; for tables and audits."""
        rate, gap = float(self.rate), self.threshold - count
        tail = math.exp(-rate * abs(gap if gap >= 0 else gap - 1)) / (1.0 + math.exp(-rate))
        return tail if gap >= 0 else 1.0 - tail

    def interval(self, count: int, miss: Fraction) -> tuple[int, int]:
        """An interval around a released count that misses with at most this probability, *given that it was released*.

        Bins are released because their noisy count is large, so one just above the threshold may be of any
        size below; only from one reach above it on is the lower end near (docs/proofs/stable.md, section 4).
        """
        with precision(96):
            reach = math.ceil(upper_float(-ball(miss).log() / ball(self.rate)))
        return count - reach if count >= self.threshold + reach else 1, count + reach

    def release(self, keys: Iterable[Key], counts: Iterable[int], *, source: Source = system) -> list[tuple[Key, int]]:
        """The keys whose noisy count reaches the threshold, with it; largest first.

        ``counts``: rows for each key that occurs, at least 1; each key once.
        """
        listed = [(key, int(count)) for key, count in zip(keys, counts, strict=True) if count > 0]
        return _reaching(self.threshold, listed, integer_laplace_draws(len(listed), 1 / self.rate, source=source))


@dataclass(frozen=True)
class GaussianBins:
    """Counts with rounded Gaussian noise, of which those that reach a public threshold are released.

    Under a zCDP filter, or beside many other releases, it has far less noise than ``StableBins`` at the same rho.

    Guarantee  (epsilon, delta)-DP when one record is replaced, and delta/2-approximately rho-zCDP with
               rho = alpha^2/2, alpha the shift in standard deviations; delta > 0.
    Theorem    docs/proofs/stable.md, section 5.
    Constants  Half of delta hides a record that is alone in its bin, half is the Gaussian mechanism's (analytic).
    Cost       One draw for each key that occurs.
    """

    alpha: Fraction
    """What replacing a record moves all counts together, in standard deviations."""
    hidden: Fraction
    """The probability at most with which a record that is alone in its bin shows."""

    def __post_init__(self) -> None:
        if self.alpha <= 0 or not 0 < self.hidden < 1:
            raise InvalidArgument(
                "delta", float(self.hidden), "must be above 0 and below 1 for undeclared categories, such as 1e-6"
            )

    @classmethod
    def of(cls, loss: Loss) -> GaussianBins:
        """For a loss, of which half of delta is for either part."""
        half = loss.share(Fraction(1, 2))
        return cls(point_of(Gaussian(), Loss(loss.epsilon, half.delta), Fraction(0)).alpha, half.exact_delta)

    @property
    def stated(self) -> Concentrated:
        """What it costs as approximate zCDP."""
        return Concentrated(rho_up(self.alpha**2 / 2), self.hidden)

    @property
    def scale(self) -> Fraction:
        """The standard deviation of the noise: two counts move by 1, so their distance is at most its root of 2."""
        return ROOT_TWO / self.alpha

    @property
    def threshold(self) -> int:
        """Noisy counts of at least this are released: public."""
        return max(math.ceil(Fraction(3, 2) + self._reach(self.hidden)), 2)

    def _reach(self, tail: Fraction) -> Fraction:
        """A distance that Gaussian noise exceeds on one side with at most this probability."""
        units = Fraction(-NormalDist().inv_cdf(min(max(float(tail), sys.float_info.min), 0.5)))
        step = max(units, Fraction(1)) / 2**30
        with precision(128):
            while not (ball(units) / ball(2).sqrt()).erfc() / 2 <= ball(tail):
                units, step = units + step, 2 * step
        return units * self.scale

    def chance(self, count: int) -> float:
        """The probability that a bin with this count is released, in floats; for tables and audits."""
        return math.erfc((self.threshold - count - 0.5) / float(self.scale) / math.sqrt(2.0)) / 2.0

    def interval(self, count: int, miss: Fraction) -> tuple[int, int]:
        """As of ``StableBins``: it misses with at most this probability, given that the count was released."""
        reach = math.ceil(self._reach(miss / 4))
        return count - reach if count >= self.threshold + reach else 1, count + reach

    def release(self, keys: Iterable[Key], counts: Iterable[int], *, source: Source = system) -> list[tuple[Key, int]]:
        """As of ``StableBins``."""
        listed = [(key, int(count)) for key, count in zip(keys, counts, strict=True) if count > 0]
        return _reaching(self.threshold, listed, rounded_draws(Gaussian(), len(listed), self.scale, source=source))


def _reaching(threshold: int, listed: list[tuple[Key, int]], noise: Iterable[int]) -> list[tuple[Key, int]]:
    noisy = [(key, count + int(drawn)) for (key, count), drawn in zip(listed, noise, strict=True)]
    released = [(key, count) for key, count in noisy if count >= threshold]
    # Sorted by what is released: the order does not depend on that of the rows.
    return sorted(released, key=lambda release: (-release[1], str(release[0]), repr(release[0])))
