"""Randomised response: every person blurs their own answer, and the crowd is still counted without bias."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dither.kernels.elementary import Floats
from dither.mechanisms.noise_intervals import SLACK, missed_share
from dither.noise.bernoulli import coins, uniform_integers
from dither.noise.entropy import Source, system
from dither.numbers import Ball, Number, Real, ball
from dither.privacy import Loss, Neighbours
from dither.sources.domain import Indices, declared, encode, read_bits

Rational = TypeVar("Rational", float, Fraction)
CountInterval = tuple[int, int]


@dataclass(frozen=True, repr=False)
class Responses:
    """Blurred answers and what they say about the crowd.  Nothing in it is private any more.

    ``estimates`` and ``intervals`` count the records of each category; each interval alone covers its count with
    probability ``confidence``.
    """

    reports: tuple[Hashable, ...]
    estimates: dict[Hashable, float]
    intervals: dict[Hashable, CountInterval] | None
    confidence: float | None
    loss: Loss
    binary: bool
    keep: float
    """The chance that a report is the truth (to float accuracy)."""
    neighbours: Neighbours = Neighbours.CHANGE_ONE
    model: str = "local"

    @property
    def estimate(self) -> float | dict[Hashable, float]:
        """For bits the number of ones, for categories all counts."""
        return self.estimates[1] if self.binary else self.estimates

    @property
    def interval(self) -> CountInterval | dict[Hashable, CountInterval] | None:
        """The interval of ``estimate``."""
        return self.intervals[1] if self.binary and self.intervals is not None else self.intervals

    def __repr__(self) -> str:
        return (
            f"<Responses: {len(self.reports)} reports on {len(self.estimates)} categories ({self.loss}, local model)>"
        )


def randomized_response(
    data: ArrayLike,
    *,
    epsilon: Number,
    categories: Iterable[Hashable] | None = None,
    other: Hashable = None,
    confidence: Number | None = 0.95,
) -> Responses:
    """Report each record truthfully with chance ``e^eps / (e^eps + k - 1)``, else one of the other k - 1 categories.

    Releases the reports, record by record, with unbiased estimates of the counts and their intervals.
    categories: the public values; without them the records are bits.  other: what a record outside them counts as.

    Guarantee  eps-DP of every report by itself (local model: whoever collects the reports need not be trusted), hence
               eps-DP of all of them together; neighbours change one record.
    Theorem    V17 section 1.5 for bits; docs/proofs/metric_spaces.md section 1 for k categories.
    Constants  The chance is the greatest that eps allows.  Estimates and intervals are post-processing, free.
    Cost       O(n) for the reports; O(sqrt n log n) float operations for each interval.

    >>> answer = randomized_response([1] * 600 + [0] * 1400, epsilon=2.0)
    >>> 400 < answer.estimate < 800
    True
    >>> answer.loss
    Loss(epsilon=2.0, delta=0.0)
    """
    loss, missed = Loss.asked(epsilon), missed_share(confidence)
    binary = categories is None
    values: tuple[Hashable, ...] = (0, 1) if categories is None else declared(categories, "categories")
    bits = binary and other is None
    truth = read_bits(data).astype(np.int64) if bits else encode(data, values, "categories", other)
    reports = respond(truth, len(values), loss.exact_epsilon)
    counts = np.bincount(reports, minlength=len(values)).tolist()
    growth = math.exp(min(loss.epsilon, 700.0))
    keep, stray = growth / (growth + len(values) - 1), 1.0 / (growth + len(values) - 1)
    intervals = None
    if missed is not None:
        ends = (counts_covered(count, len(truth), keep, stray, float(missed)) for count in counts)
        intervals = dict(zip(values, ends, strict=True))
    return Responses(
        reports=tuple(values[index] for index in reports.tolist()),
        estimates={
            value: unbiased(float(count), len(truth), len(values), math.expm1(min(loss.epsilon, 700.0)))
            for value, count in zip(values, counts, strict=True)
        },
        intervals=intervals,
        confidence=None if missed is None else float(1 - missed),
        loss=loss,
        binary=binary,
        keep=keep,
    )


def change_chance(categories: int, epsilon: Fraction) -> Real:
    """The chance that a report is not the truth: (k - 1) / (e^eps + k - 1), as a computable real."""

    def chance() -> Ball:
        strays = (categories - 1) * (-ball(epsilon)).exp()
        return strays / (1 + strays)

    return chance


def respond(truth: Indices, categories: int, epsilon: Fraction, *, source: Source = system) -> Indices:
    """Exactly drawn reports, as indices of categories.  Which work is done depends on coins only, not on the truth."""
    changed = coins(len(truth), change_chance(categories, epsilon), source=source)
    moved = np.zeros(len(truth), dtype=np.int64)
    moved[changed] = 1 + uniform_integers(int(changed.sum()), categories - 1, source=source)
    return (truth + moved) % categories


def unbiased(count: Rational, records: int, categories: int, gain: Rational) -> Rational:
    """An estimate of how many records truly are in a category that ``count`` reports name; gain is e^eps - 1."""
    return count + (count * categories - records) / gain


def counts_covered(count: int, records: int, keep: float, stray: float, missed: float) -> CountInterval:
    """The true counts m under which neither tail beyond the observed count is rarer than ``missed / 2``.

    Reports of a category are Bin(m, keep) + Bin(n - m, stray), which grows with m, so both ends are found by bisection.
    """
    rare = missed / 2.0 - SLACK

    def first(holds: Callable[[int], bool]) -> int:
        low, high = 0, records + 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(middle) else (middle + 1, high)
        return low

    def reached(m: int) -> bool:
        return m > records or 1.0 - reports_at_most(count - 1, m, records, keep, stray) > rare

    def exceeded(m: int) -> bool:
        return m > records or reports_at_most(count, m, records, keep, stray) <= rare

    low, high = min(first(reached), records), max(first(exceeded) - 1, 0)
    return min(low, high), max(low, high)


def reports_at_most(count: int, members: int, records: int, keep: float, stray: float) -> float:
    """P(Bin(members, keep) + Bin(records - members, stray) <= count), all but 2**-63 of it, in floats."""
    if count < 0:
        return 0.0
    start, kept = _binomial(members, keep)
    other_start, strays = _binomial(records - members, stray)
    below = np.concatenate([[0.0], np.cumsum(strays)])
    # Where the first variable is i, the second is one of the count - i + 1 values 0 .. count - i.
    allowed = count - np.arange(start, start + len(kept)) - other_start + 1
    return float(kept @ below[np.clip(allowed, 0, len(strays))])


def _binomial(trials: int, chance: float) -> tuple[int, Floats]:
    """The masses of Bin(trials, chance) in a window that leaves out less than 2**-64 (Bernstein), and its start."""
    import scipy.special  # noqa: PLC0415  (slow to load)

    mean, reach = trials * chance, 10.0 * math.sqrt(trials * chance * (1.0 - chance)) + 40.0
    start, stop = max(0, math.floor(mean - reach)), min(trials, math.ceil(mean + reach))
    j = np.arange(start, stop + 1, dtype=np.float64)
    choose = math.lgamma(trials + 1.0) - scipy.special.gammaln(j + 1.0) - scipy.special.gammaln(trials - j + 1.0)
    masses: Floats = np.exp(choose + scipy.special.xlogy(j, chance) + scipy.special.xlog1py(trials - j, -chance))
    # Cancellation between large logarithms shifts all masses alike; their sum is known.
    return start, masses / masses.sum()
