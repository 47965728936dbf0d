"""Answering families of counting queries: noise for each, Gaussian noise for all, or sums over one noisy histogram."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument, NotApplicable
from dither.mechanisms.noise_intervals import (
    gaussian_half_width,
    laplace_deviation,
    laplace_half_width,
    laplace_sum_half_widths,
    missed_share,
    whole_numbers,
)
from dither.noise.gaussian import Gaussian
from dither.noise.vectors import integer_laplace_draws, rounded_draws
from dither.privacy import Loss, Neighbours
from dither.procedures.noisy_histogram import HISTOGRAM_SENSITIVITY, summable_noise
from dither.statistics.workloads import MOST_POINTS, Counts, Family

METHODS = ("laplace", "gaussian", "histogram")


@dataclass(frozen=True, repr=False, eq=False)
class CountAnswers:
    """Answers to a family of counting queries, in the order of ``family.labels()``.

    Each row of ``intervals`` covers its count with probability ``confidence``; with ``joint`` all of them do at once.
    """

    values: NDArray[np.int64]
    intervals: NDArray[np.int64] | None
    confidence: float | None
    joint: bool
    records: int
    family: Family
    method: str
    loss: Loss
    rho: Fraction | None
    """The exact zCDP price of the Gaussian method, for ``compose_gaussians``; None for the others."""
    neighbours: Neighbours = Neighbours.CHANGE_ONE

    @property
    def shares(self) -> NDArray[np.float64]:
        """The answers as shares of all records: V17's counting queries."""
        return self.values / self.records

    def __repr__(self) -> str:
        return f"<CountAnswers: {self.family.queries} {self.family.name} by {self.method} ({self.loss})>"


def answer_counts(
    data: Any,
    *,
    family: Family,
    epsilon: Any,
    delta: Any = 0.0,
    method: str = "auto",
    other: Any = None,
    confidence: Any = 0.95,
    joint: bool = False,
) -> CountAnswers:
    """Answer all counting queries of a family, by the method with the least noise.

    family: ``points``, ``thresholds``, ``conjunctions``, ``attribute_means`` or ``predicates``; public, as is n.
    method: "laplace" (integer noise of scale S/eps on each answer), "gaussian" (needs delta), "histogram" (sums over
    one noisy histogram), or "auto": the least mean standard deviation, which follows from public numbers alone.
    other: what a record outside the declared values counts as.  joint: bars that all cover at once (union bound).

    Guarantee  eps-DP, or (eps, delta)-DP with Gaussian noise; neighbours change one record.
    Theorem    V17 Theorems 2.6 (Laplace), 2.7 (Gaussian), 2.9 and Proposition 2.8 (histogram).
    Constants  V17 uses S = k.  Ours: the exact S of the family (points 2, thresholds D - 1, conjunctions of t literals
               2 C(d, t), attribute means d), and the exact analytic Gaussian for the l2 sensitivity sqrt(S).
    Cost       O(n) to read, O(k) to answer (a histogram: O(D) and the sums); Gaussian draws take 0.03 ms each.

    >>> from dither.statistics.workloads import points
    >>> answer = answer_counts([3, 1, 4, 1, 5] * 200, family=points(range(10)), epsilon=1.0)
    >>> answer.method, len(answer.values)
    ('histogram', 10)
    """
    loss, missed = Loss.asked(epsilon, delta), missed_share(confidence)
    if not isinstance(family, Family):
        raise InvalidArgument("family", type(family), "a family such as points(values) or conjunctions(8) is accepted")
    if not isinstance(joint, bool):
        raise InvalidArgument("joint", joint, "True or False is accepted")
    plan = _plan(family, loss, method)
    records = family.read(data, other)
    noisy = plan.noisy(family, records)
    bars = None
    if missed is not None:
        half = plan.half_widths(family, missed / family.queries if joint else missed)
        bars = np.stack([_clamped_all(noisy - half, len(records)), _clamped_all(noisy + half, len(records))], axis=1)
    return CountAnswers(
        values=_clamped_all(noisy, len(records)),
        intervals=bars,
        confidence=None if missed is None else float(1 - missed),
        joint=joint,
        records=len(records),
        family=family,
        method=plan.method,
        loss=plan.loss,
        rho=plan.rho(family),
    )


def expected_deviations(family: Family, *, epsilon: Any, delta: Any = 0.0) -> dict[str, float]:
    """The mean standard deviation of the noise by each method that applies: what "auto" compares.

    >>> from dither.statistics.bit_workloads import attribute_means
    >>> table = expected_deviations(attribute_means(10), epsilon=1.0)
    >>> min(table, key=table.get)
    'laplace'
    """
    loss = Loss.asked(epsilon, delta)
    return {method: _Plan(method, loss, family).deviation(family) for method in _applicable(family, loss)}


class _Plan:
    """A method with its public noise scale."""

    def __init__(self, method: str, loss: Loss, family: Family) -> None:
        self.method = method
        self.loss = loss if method == "gaussian" else Loss(loss.epsilon)
        if method == "gaussian":
            alpha = Gaussian().point(loss, beta=Fraction(0)).alpha
            self.scale = root_up(family.sensitivity / alpha**2)
        else:
            moved = HISTOGRAM_SENSITIVITY if method == "histogram" else family.sensitivity
            self.scale = moved / loss.exact_epsilon

    def deviation(self, family: Family) -> float:
        if self.method == "gaussian":
            return float(self.scale)
        one = laplace_deviation(self.scale)
        return one if self.method == "laplace" else one * float(np.mean(np.sqrt(_terms(family))))

    def noisy(self, family: Family, records: NDArray[Any]) -> Counts:
        if self.method == "histogram":
            histogram = family.histogram(records) + summable_noise(family.size, self.scale)
            answers = family.from_histogram(histogram)
            # A query that counts most of the domain is the public n minus the count of the rest.
            missing = len(records) - histogram.sum()
            mostly = (2 * family.points_counted > family.size).astype(histogram.dtype)
            return np.asarray(answers + mostly * missing)
        if self.method == "gaussian":
            return family.counts(records) + rounded_draws(Gaussian(), family.queries, self.scale)
        return family.counts(records) + integer_laplace_draws(family.queries, self.scale)

    def half_widths(self, family: Family, missed: Fraction) -> NDArray[Any]:
        if self.method == "histogram":
            return laplace_sum_half_widths(self.scale, _terms(family), missed)
        one = gaussian_half_width if self.method == "gaussian" else laplace_half_width
        return np.repeat(whole_numbers([one(self.scale, missed)]), family.queries)

    def rho(self, family: Family) -> Fraction | None:
        return family.sensitivity / (2 * self.scale**2) if self.method == "gaussian" else None


def _plan(family: Family, loss: Loss, method: object) -> _Plan:
    served = _applicable(family, loss)
    if method == "auto":
        plans = [_Plan(one, loss, family) for one in served]
        return min(plans, key=lambda plan: plan.deviation(family))
    if method not in METHODS:
        raise InvalidArgument("method", method, '"auto", "laplace", "gaussian" or "histogram" is accepted')
    if method not in served:
        reason = "needs delta > 0" if method == "gaussian" else f"needs a domain of at most {MOST_POINTS} points"
        raise NotApplicable("method", method, reason, ", ".join(served))
    return _Plan(str(method), loss, family)


def _applicable(family: Family, loss: Loss) -> list[str]:
    """Ties go to the first: for points, noise on each answer is the histogram."""
    served = ["histogram", "laplace"] if family.size <= MOST_POINTS else ["laplace"]
    return served if loss.is_pure else [*served, "gaussian"]


def _terms(family: Family) -> NDArray[np.int64]:
    counted = family.points_counted
    return np.minimum(counted, family.size - counted)


def root_up(value: Fraction) -> Fraction:
    """A short rational at or above the square root, by less than 2**-40 of it for values of at least 1."""
    scaled = -((-value.numerator << 80) // value.denominator)
    root = math.isqrt(scaled)
    return Fraction(root if root * root == scaled else root + 1, 1 << 40)


def _clamped_all(counts: Counts, records: int) -> NDArray[np.int64]:
    return np.clip(counts, 0, records).astype(np.int64)
