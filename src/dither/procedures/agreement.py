"""The certified average as an aggregator of blocks' answers: vectors, or sets of points.

Proof: docs/proofs/certified_average.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.errors import NotApplicable
from dither.mechanisms.margin_test import MarginTest
from dither.noise.gaussian import Gaussian
from dither.privacy import Loss
from dither.procedures.aggregate import Aggregate, Aggregated, Aggregation, Aggregator
from dither.procedures.certified_average import (
    BITS,
    TEST_SHARE,
    Certified,
    CertifiedAverage,
    least_blocks,
    plan_average,
)
from dither.procedures.executor import Answers, Output
from dither.procedures.metrics import METRICS, Matching, Metric, as_metric, in_parts
from dither.procedures.space import Space


@dataclass(frozen=True)
class Average(Aggregator):
    """The mean of the blocks that agree, with noise of the order of their radius over their number; or a refusal.

    Guarantee  (eps, delta)-DP; delta > 0 is needed.
    Theorem    docs/proofs/certified_average.md.
    Constants  Distances are measured in parts of each number's bounds (``Matching`` too), or with metric="l2" in the
               numbers' own unit.
    Cost       m^2 distances.
    """

    name = "average"

    def prepare(self, task: Aggregation) -> Aggregate:
        metric = measured_by(task)
        return AgreedAverage(
            task.loss, plan_average(task.blocks, task.loss, overlap=task.touched), task.output, metric, task.confidence
        )

    def blocks_wanted(self, task: Aggregation) -> int:
        measured_by(task)
        return 2 * fewest_blocks(task.loss, task.touched)


def fewest_blocks(loss: Loss, touched: int = 1) -> int:
    """The least number of blocks that can be certified to agree at a privacy loss with delta > 0."""
    if loss.is_pure:
        plan_average(1, loss)  # says what is missing
    return least_blocks(MarginTest(loss.exact_epsilon * TEST_SHARE, loss.exact_delta / 2), touched)


def measured_by(task: Aggregation) -> Metric | None:
    """The metric of a task, None for the default; refuses those that averages are not taken in."""
    metric = as_metric(task.metric)
    if metric is None or isinstance(metric, Matching) or metric is METRICS["l2"]:
        (metric or METRICS["l2"]).check(task.output)
        return metric
    raise NotApplicable("metric", metric.name, "an average is certified in l2 or between point sets", "the centre")


@dataclass(frozen=True)
class AgreedAverage(Aggregate):
    """A certified average of answers in steps of 2**-24 of their bounds."""

    loss: Loss
    average: CertifiedAverage
    output: Output
    metric: Metric | None
    confidence: Fraction | None
    mechanism = "certified average"
    noise = "gaussian"

    @property
    def units(self) -> Answers:
        """A step of each number."""
        space = Space.between(self.output.bounds)
        widths = space.widths if in_parts(self.metric) else np.full(space.dimensions, space.width)
        return np.asarray(widths / (1 << BITS))

    def run(self, answers: Answers) -> Aggregated:
        low = np.array(self.output.bounds)[:, 0]
        steps = np.clip(np.rint((answers - low) / self.units), 0, 1 << BITS).astype(np.int64)
        points = 1 if self.metric is None else self.metric.points
        result = self.average.run(np.ascontiguousarray(steps.reshape(len(steps), points, -1)))
        return Aggregated(None) if result is None else self._aggregated(result)

    def _aggregated(self, result: Certified) -> Aggregated:
        low, high = np.array(self.output.bounds).T
        numbers = low + np.array([float(entry) for point in result.points for entry in point]) * self.units
        numbers = np.clip(numbers, low, high)
        values = tuple(float(number) for number in numbers)
        if self.confidence is None:
            return Aggregated(values)
        reach = float(result.deviation) * Gaussian().quantile(float(1 - self.confidence)) * self.units * (1 + 1e-9)
        ends = np.clip(numbers - reach, low, high), np.clip(numbers + reach, low, high)
        return Aggregated(values, tuple((float(start), float(end)) for start, end in zip(*ends, strict=True)))
