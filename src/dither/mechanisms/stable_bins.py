"""Histograms over undeclared categories: only bins with many people are released.

Never touches an empty bin: it takes the keys that occur and their counts, from an array or from a database.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from dither.errors import InvalidArgument
from dither.noise.entropy import Source, system
from dither.noise.vectors import integer_laplace_draws
from dither.numbers import ball, lower_float, precision, upper_float
from dither.privacy import Loss

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
        noise = integer_laplace_draws(len(listed), 1 / self.rate, source=source)
        noisy = [(key, count + int(drawn)) for (key, count), drawn in zip(listed, noise, strict=True)]
        released = [(key, count) for key, count in noisy if count >= self.threshold]
        # Sorted by what is released: the order does not depend on that of the rows.
        return sorted(released, key=lambda one: (-one[1], str(one[0]), repr(one[0])))
