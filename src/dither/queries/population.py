"""Means for the population that the records are a sample of: an answer, and a private standard error beside it.

The answer has an interval of its own, which covers the statistic of the records.  It is widened by what sampling adds:
a normal quantile times an upper bound of the standard error, which is released with a part of epsilon
(docs/proofs/intervals.md, section 7).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from dither.mechanisms.mechanism import Prepared
from dither.privacy import Loss
from dither.queries.plan import Options, Plan, Result, StatisticPlan, WrappedPlan
from dither.queries.query import prepared_statistic
from dither.queries.unbounded import count_plan
from dither.release import POPULATION, SAMPLE, Counted, IntervalName
from dither.sources.column import Column, RankedRecords, Shape
from dither.sources.grid import BIT, Grid
from dither.statistics.order import RankedValues
from dither.statistics.spread import SquaresAbout

if TYPE_CHECKING:
    from dither.mechanisms.mechanism import Outcome

SPREAD_SHARE, TRIMMED_SPREAD_SHARE = Fraction(1, 5), Fraction(1, 2)
"""The part of epsilon for the standard error, of a mean and of a trimmed one, whose own noise is far below it."""
COUNT_SHARE = Fraction(1, 20)
"""The part of epsilon for the number of records, where that is private."""
RANKS_PART = Fraction(4, 5)
"""The part of the latter that says between which values records count, where the smallest and largest don't."""
SPREAD_MISS = Fraction(1, 16)
"""The part of what the interval may miss that the bound of the standard error may fail with."""
NOISE_MISSES = tuple(Fraction(1, 2**k) for k in range(1, 8))
"""The part of the rest that is the noise's, of which the best is taken: a public choice."""
ROOT_BITS = 20
"""Binary digits of a step to which a root is taken."""
USUAL_SPREAD = 8
"""Noise and sampling are weighed for records whose standard deviation is the range divided by this."""


@dataclass(frozen=True)
class SpreadPlan:
    """An upper bound of the root of the records' sum of squares about an answer that was released."""

    facts: Shape
    column: Grid
    options: Options

    @property
    def loss(self) -> Loss:
        """All that it costs, whatever the answer is: rho is greatest about the middle, where noise has fewest steps."""
        low, high = self.column.ends
        return self.about((low + high) // 2, self.column).loss

    def about(self, centre: int, grid: Grid) -> Prepared[RankedRecords]:
        """The mechanism of the sum of squares about a centre, of records on a grid."""
        statistic = SquaresAbout(centre, self.facts.records, grid, self.facts.neighbours)
        return prepared_statistic(statistic, self.options)[1]

    def run(self, records: RankedRecords, answer: Fraction) -> Fraction:
        """The bound, in units of the user."""
        return self.within(records, answer, self.column)

    def within(self, records: RankedRecords, answer: Fraction, grid: Grid) -> Fraction:
        """The same for records on a grid."""
        prepared = self.about(grid.clamp(round(answer / grid.step)), grid)
        outcome = prepared.run(records).ends
        if outcome is None:
            raise RuntimeError("a bound of the standard error has an interval")
        # In whole numbers, rounded up: bounds may be so far apart that no float holds the squares.
        return Fraction(math.isqrt(outcome[1] << 2 * ROOT_BITS) + 1, 1 << ROOT_BITS) * grid.step


@dataclass(frozen=True)
class TrimmedSpreadPlan(SpreadPlan):
    """The same of records clamped to the outer ends of intervals around the two quantiles where a mean is cut.

    Clamping to a wider interval makes no variance smaller, so this bounds the variance of the records clamped to the
    quantiles themselves, which the standard error of a trimmed mean is made of.
    """

    ranks: Prepared[RankedRecords]

    @property
    def loss(self) -> Loss:
        # Of records on two points noise has fewest steps, and rho is greatest.
        low = self.column.ends[0]
        return self.ranks.loss + self.about(low, Grid(self.column.step, low, low + 1)).loss

    def run(self, records: RankedRecords, answer: Fraction) -> Fraction:
        low, high = _outer_ends(self.ranks.run(records))
        if low == high:
            return Fraction(0)
        grid = Grid(self.column.step, low, high)
        return self.within(Column(np.clip(records.values, low, high), grid), answer, grid)


def _outer_ends(outcome: Outcome) -> tuple[int, int]:
    first, last = outcome.interval or ((0, 0), (0, 0))
    if not isinstance(first, tuple) or not isinstance(last, tuple):
        raise TypeError("two quantiles have two intervals")
    return first[0], last[1]


@dataclass(frozen=True)
class SampledPlan(WrappedPlan[RankedRecords]):
    """A mean whose interval covers that of the population."""

    label: str
    inner: Plan[RankedRecords]
    """The answer with an interval for the records."""
    spread: SpreadPlan
    count: StatisticPlan[Column] | None
    """The number of records, where that is private."""
    records: int
    kept: Fraction
    """The share of the records that the mean is taken of."""
    quantile: float
    """Of the normal law."""
    level: float | None
    bounds: tuple[Fraction, Fraction]

    @property
    def loss(self) -> Loss:
        paid = self.inner.loss + self.spread.loss
        return paid if self.count is None else paid + self.count.loss

    @property
    def released_by(self) -> Prepared | None:
        return self.inner.released_by

    @property
    def answer_range(self) -> Counted:
        return self.inner.answer_range

    @property
    def confidence(self) -> float | None:
        return self.level

    @property
    def interval_of(self) -> IntervalName:
        return POPULATION

    @property
    def is_widened(self) -> bool:
        return True

    def run(self, records: RankedRecords) -> Result:
        result = self.inner.run(records)
        if result.interval is None:
            return result  # (a test that refused)
        root = self.spread.run(records, Fraction(result.value))
        counted = self.records if self.count is None else self._fewest(records, self.count)
        half = Fraction(self.quantile) * root / (counted * self.kept)
        low, high = (Fraction(end) for end in result.interval)
        least, most = self.bounds
        ends = float(max(low - half, least)), float(min(high + half, most))
        return dataclasses.replace(result, interval=ends)

    def _fewest(self, records: RankedRecords, count: StatisticPlan[Column]) -> int:
        counted = count.run(Column(np.ones(records.records, dtype=np.int64), BIT))
        return max(int(counted.interval[0]), 1)


Planner = Callable[[Options], Plan[RankedRecords]]
"""The plan of an answer with an interval for the records."""


def plan_mean(label: str, planner: Planner, facts: Shape, grid: Grid, options: Options) -> SampledPlan:
    """A mean of all records."""
    noise, spread, sampling = _misses(facts, options)
    part, each = (COUNT_SHARE, spread / 2) if facts.private else (Fraction(0), spread)
    # One side of a symmetric law: an interval that misses on either side misses above half as often.
    counted = count_plan("records", facts, options.loss.exact_epsilon * part, 1 - 2 * each) if part else None
    return SampledPlan(
        label,
        planner(_answer_options(options, 1 - SPREAD_SHARE - part, noise)),
        SpreadPlan(facts, grid, _noisy(options.loss.pure().share(SPREAD_SHARE), 2 * each)),
        counted,
        facts.records,
        Fraction(1),
        _normal(sampling),
        options.level,
        (grid.ends[0] * grid.step, grid.ends[1] * grid.step),
    )


def plan_trimmed_mean(
    label: str, planner: Planner, facts: Shape, grid: Grid, trimmed: int, options: Options
) -> SampledPlan:
    """A mean without the smallest and the largest records, of a public number of them."""
    noise, spread, sampling = _misses(facts, options)
    paid, share = options.loss.pure().share(TRIMMED_SPREAD_SHARE), Fraction(trimmed, facts.records)
    cut = RankedValues((share, 1 - share), facts.records, grid, ("lower", "upper"))
    _, ranks = prepared_statistic(cut, Options(paid.share(RANKS_PART), "inverse", confidence=1 - spread / 3))
    return SampledPlan(
        label,
        planner(_answer_options(options, 1 - TRIMMED_SPREAD_SHARE, noise)),
        TrimmedSpreadPlan(facts, grid, _noisy(paid.share(1 - RANKS_PART), spread * 2 / 3), ranks),
        None,
        facts.records,
        1 - 2 * share,
        _normal(sampling),
        options.level,
        (grid.ends[0] * grid.step, grid.ends[1] * grid.step),
    )


def _noisy(loss: Loss, miss: Fraction) -> Options:
    return Options(loss, "worst_case", "laplace", 1 - miss)


def _answer_options(options: Options, part: Fraction, miss: Fraction) -> Options:
    """What is left for the answer; all of delta is."""
    left = Loss.asked(options.loss.share(part).epsilon, options.loss.delta)
    return dataclasses.replace(options, loss=left, confidence=1 - miss, interval=SAMPLE)


def _misses(facts: Shape, options: Options) -> tuple[Fraction, Fraction, Fraction]:
    """How often noise, the bound of the standard error and the sample may miss: public, and together what was asked."""
    miss = options.miss
    if miss is None:
        raise RuntimeError("an interval for a population has a confidence")
    spread = SPREAD_MISS * miss
    noise_scale = 1.0 / (facts.records * float(options.loss.epsilon))
    sampling_scale = 1.0 / (USUAL_SPREAD * math.sqrt(facts.records))

    def width(part: Fraction) -> float:
        noise = part * (miss - spread)
        return -math.log(float(noise)) * noise_scale + _normal(miss - spread - noise) * sampling_scale

    noise = min(NOISE_MISSES, key=width) * (miss - spread)
    return noise, spread, miss - spread - noise


def _normal(miss: Fraction) -> float:
    return NormalDist().inv_cdf(1.0 - float(miss) / 2.0)
