"""The centre of attention (NRS11 section 4.4): the block whose answer is nearest to most others, plus fitted noise.

It depends on pairwise distances only, so it serves every metric.  Proof, with the constants that differ from the
paper's: docs/proofs/aggregate.md, sections 3 and 4.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument
from dither.kernels.elementary import exp
from dither.mechanisms.smooth import interval_and_answer, private_half_width
from dither.mechanisms.worst_case import headroom
from dither.noise.blunt_power_law import BluntPowerLaw
from dither.noise.exact import rounded_draw
from dither.noise.gaussian import Gaussian
from dither.noise.heavy_tails import PowerLaw
from dither.noise.law import AdmissiblePoint, Law
from dither.privacy import Loss
from dither.procedures.aggregate import Aggregate, Aggregated, Aggregation, Aggregator, EachNumber
from dither.procedures.executor import Answers
from dither.procedures.metrics import METRICS, Metric, Whole, as_metric, common_grids, in_parts
from dither.procedures.space import Space
from dither.sources.grid import Grid
from dither.statistics.centre_of_attention import ShortestMiddle

MOST_BLOCKS = 5_000
"""All pairs of blocks are compared."""
ENOUGH = 24
"""The smoothness that is asked for, in s/m."""
SLACK = Fraction(1, 1 << 34)
"""Part of the smoothness that pays for computing in floats."""
_INFLATION = 1.0 + 2.0**-36
DEEPEST = 128.0
"""Weights of S are no less than e^-128."""
MIDDLE = EachNumber("centre", ShortestMiddle, "smooth", (0.4, 0.4))
"""The unconstrained centre of each number."""


@dataclass(frozen=True)
class Centre(Aggregator):
    """The answer with the least ball around it that holds a majority, with noise of the order of such balls.

    Guarantee  eps-DP (power law) or (eps, delta)-DP (Gaussian): with s blocks changed the centre moves by at most S,
               and S changes by at most a factor e^b.
    Theorem    NRS11 Theorem 4.9, corrected.
    Constants  ``t0 = floor((m+s)/2) + 1``, ``a = t0``, ``S = 2 max_k rho(t0 + (k+1)s) e^{-beta k}`` and
               ``b = beta + ln(1 + s/a)``.  The paper bounds the move by ``2 r_1(t0+s)``, which is false for a centre
               that must be a data point; ``2 rho(t0+s)`` is true for a >= 2s.
    Cost       m^2 distances and m^2 log m time.

    A single number takes the unconstrained centre, the middle of the shortest interval that holds t0 answers, which
    loses nothing to ``1 + s/a``; ``constrained=True`` takes the paper's there too.  Distances are measured in parts of
    each number's bounds, or with metric "l1" or "l2" in the numbers' own unit.
    """

    constrained: bool = False
    noise: Law | None = None
    """None: either power law or (with delta > 0) the Gaussian law, whichever is smallest at its proved point."""
    name = "centre"
    nearness: ClassVar[Fraction] = Fraction(1)
    """How many times fewer changes than from a majority to all blocks there are until the bound is the diameter."""

    def prepare(self, task: Aggregation) -> Aggregate:
        metric = self._metric(task)
        if self._is_middle(task, metric):
            return MIDDLE.prepare(dataclasses.replace(task, metric=None))
        if task.blocks > MOST_BLOCKS:
            raise InvalidArgument("blocks", task.blocks, f"must be at most {MOST_BLOCKS} for the centre")
        loss, interval_loss = parts_of(task)
        spread = Fraction(task.touched, task.blocks) * self.nearness
        point, norm_factor = chosen_point(self.noise, loss, metric.norm, task.length, spread)
        majority = (task.blocks + task.touched) // 2 + 1
        averaged = min(majority, task.blocks)
        with_average = Fraction(math.nextafter(math.log1p(task.touched / averaged), 1.0)) + SLACK
        if averaged < 2 * task.touched or not point.beta > 2 * with_average:
            raise InvalidArgument(
                "blocks",
                task.blocks,
                f"must be at least {_least_blocks(float(point.beta), task.touched)} for the centre at this epsilon",
            )
        bits = metric.bits(task.length)
        scaled = in_parts(as_metric(task.metric))
        grids = Space.between(task.output.bounds).grids(bits) if scaled else common_grids(task.output, bits)
        spent = Loss(task.loss.epsilon, 0.0 if point.law.pure else task.loss.delta)
        return self.aggregate_type()(
            spent,
            metric,
            grids,
            point,
            point.beta - with_average,
            norm_factor,
            task.blocks,
            task.touched,
            interval_loss,
            task.confidence,
        )

    def blocks_wanted(self, task: Aggregation) -> int:
        metric = self._metric(task)
        if self._is_middle(task, metric):
            return MIDDLE.blocks_wanted(task)
        point, _ = chosen_point(self.noise, parts_of(task)[0], metric.norm, task.length, Fraction(1))
        return int(ENOUGH * self.nearness * task.touched / point.beta) + 1

    def aggregate_type(self) -> type[CentreOfAttention]:
        """The algorithm that is made ready."""
        return CentreOfAttention

    def _metric(self, task: Aggregation) -> Metric:
        given = as_metric(task.metric)
        metric = given or METRICS["l1" if task.loss.is_pure else "l2"]
        metric.check(task.output)
        return metric

    def _is_middle(self, task: Aggregation, metric: Metric) -> bool:
        return task.length == 1 and not self.constrained and metric.name in METRICS


def parts_of(task: Aggregation) -> tuple[Loss, Loss | None]:
    """What the answer and what its interval may spend."""
    interval, answer = interval_and_answer(Loss(min(task.loss.epsilon, 100.0), task.loss.delta), task.confidence)
    return answer, interval


@functools.lru_cache(maxsize=256)
def chosen_point(
    noise: Law | None, loss: Loss, norm: str, length: int, spread: Fraction
) -> tuple[AdmissiblePoint, Fraction]:
    """The law with the least noise, and what a unit of the norm is in the law's own: a public rule.

    ``spread`` is s/m.  Beyond the majority there are about m / 2s terms in S; the last of them, the diameter, should
    weigh no more than e^-12.  More smoothness than that takes is not asked for: less of it makes alpha larger.
    """
    laws = [noise] if noise is not None else [PowerLaw(), BluntPowerLaw(), *([] if loss.is_pure else [Gaussian()])]
    choices = []
    for law in laws:
        usable = Loss(loss.epsilon) if law.pure else loss
        point = law.point(usable, dimension=length)
        if point.beta > ENOUGH * spread:
            point = law.point(usable, beta=ENOUGH * spread, dimension=length)
        # |v|_2 <= |v|_1 <= sqrt(d) |v|_2.
        stretched = law.norm == "l1" and norm == "l2" and length > 1
        factor = Fraction(math.nextafter(math.sqrt(length), math.inf)) if stretched else Fraction(1)
        lacking = max(0.0, float(ENOUGH - point.beta / spread) / 2)
        choices.append(
            (point.law.typical / float(point.alpha) * float(factor) * math.exp(min(lacking, 600.0)), point, factor)
        )
    _, point, factor = min(choices, key=lambda choice: choice[0])
    return point, factor


def _least_blocks(smoothness: float, touched: int) -> int:
    """So many that averaging over half of them takes at most half of the smoothness."""
    averaged = max(2 * touched, math.ceil(touched / math.expm1(smoothness / 2 - 2 * float(SLACK))))
    return 2 * averaged


@dataclass(frozen=True)
class CentreOfAttention(Aggregate):
    """g(z) + (S / alpha) Z."""

    loss: Loss
    metric: Metric
    grids: tuple[Grid, ...]
    point: AdmissiblePoint
    beta: Fraction
    norm_factor: Fraction
    blocks: int
    touched: int
    interval_loss: Loss | None
    confidence: Fraction | None
    mechanism = "centre"

    @property
    def noise(self) -> str:
        return str(self.point.law)

    def run(self, answers: Answers) -> Aggregated:
        steps, bound = self.centred(answers)
        scale = Fraction(bound) * self.norm_factor / self.point.alpha
        most = headroom(Fraction(self._diameter) * 3 * self.norm_factor / self.point.alpha)
        noisy = [rounded_draw(self.point.law, int(step), scale, headroom=most) for step in steps]
        width = None if self.interval_loss is None else self._half_width(bound)
        return self._aggregated(noisy, width)

    def centred(self, answers: Answers) -> tuple[Whole, float]:
        """The centre and S in steps: both private."""
        place, bound = self.located(answers)
        centre: Whole = self._steps(answers)[place]
        return centre, bound

    def located(self, answers: Answers) -> tuple[int, float]:
        """Which block is the centre, and S in steps of the metric: both private."""
        return self.chosen(self.metric.distances(self._steps(answers), self.grids))

    def chosen(self, distances: Answers) -> tuple[int, float]:
        """The same from all distances between the blocks."""
        return centre_and_bound(np.sort(distances, axis=1), self._diameter, self.touched, float(self.beta))

    def _steps(self, answers: Answers) -> NDArray[np.int64]:
        """Answers in steps above the lower bounds."""
        columns = [
            grid.quantise(np.ascontiguousarray(column), grid.ends[0]) - grid.ends[0]
            for column, grid in zip(answers.T, self.grids, strict=True)
        ]
        return np.column_stack(columns)

    @functools.cached_property
    def _diameter(self) -> float:
        return self.metric.diameter(np.array([grid.points - 1 for grid in self.grids]))

    def _half_width(self, bound: float) -> int:
        """From ``ln S + Lap(b / eps')``, as in docs/proofs/intervals.md; b is the whole smoothness of S."""
        if self.interval_loss is None or self.confidence is None:
            raise RuntimeError("no interval was asked for")
        unit = float(self.norm_factor / self.point.alpha)
        return private_half_width(
            Fraction(bound), unit, self._diameter, self.point, self.interval_loss, self.confidence
        )

    def _aggregated(self, noisy: list[int], width: int | None) -> Aggregated:
        """Numbers within their bounds; points of a set in order (the noise is the same for each)."""
        each = len(noisy) // self.metric.points
        points = sorted(tuple(noisy[start : start + each]) for start in range(0, len(noisy), each))
        flat = [coordinate for point in points for coordinate in point]

        placed = [(value + grid.ends[0], grid) for value, grid in zip(flat, self.grids, strict=True)]
        values = tuple(float(grid.value(grid.clamp(item))) for item, grid in placed)
        if width is None:
            return Aggregated(values)
        ends = [(*grid.interval_around(item, width), grid) for item, grid in placed]
        return Aggregated(values, tuple((float(grid.value(low)), float(grid.value(high))) for low, high, grid in ends))


def centre_and_bound(radii: Answers, diameter: float, touched: int, beta: float) -> tuple[int, float]:
    """From the sorted distances of every block to all (itself first): the centre's place and the bound S.

    ``radii[c, t-1]`` is the t-radius of c.  Floats: see docs/proofs/aggregate.md, section 4.
    """
    blocks = len(radii)
    majority = (blocks + touched) // 2 + 1
    place = int(np.argmin(radii[:, min(majority, blocks) - 1]))
    return place, 2.0 * smooth_radius(radii, diameter, touched, beta, majority)


def smooth_radius(radii: Answers, diameter: float, touched: int, beta: float, held: int) -> float:
    """``max_k rho(held + (k + 1) s) e^{-beta k}`` from the sorted distances; rho: a mean over a majority of blocks."""
    blocks = len(radii)
    averaged = min((blocks + touched) // 2 + 1, blocks)
    looked = list(range(held + touched, blocks + 1, touched))
    weights = exp(-np.minimum(beta * np.arange(len(looked) + 1, dtype=np.float64), DEEPEST))
    best = diameter * float(weights[-1])  # radii beyond the last block are the diameter
    if looked:
        nearest = np.partition(radii[:, np.array(looked) - 1], averaged - 1, axis=0)[:averaged]
        best = max(best, float(np.max(nearest.mean(axis=0) * weights[:-1])))
    return best * _INFLATION
