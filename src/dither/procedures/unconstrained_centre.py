"""The unconstrained centre of attention (NRS11 Definition 4.6): the middle of the smallest ball with a majority.

Proof: docs/proofs/aggregate.md, sections 2 (numbers) and 7 (the plane).  In a finite space it is drawn
(``drawn_point``).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.errors import InvalidArgument, NotApplicable
from dither.kernels.elementary import exp
from dither.kernels.enclosing import LARGEST, smallest_circles
from dither.noise.law import Law
from dither.privacy import Loss
from dither.procedures.aggregate import Aggregate, Aggregation, Aggregator
from dither.procedures.centre import DEEPEST, ENOUGH, MIDDLE, SLACK, CentreOfAttention, chosen_point, parts_of
from dither.procedures.executor import Answers
from dither.procedures.metrics import METRICS, Whole, as_metric, common_grids
from dither.procedures.space import Space

MOST_BLOCKS = 300
"""All triples of blocks are looked at."""
ROUNDED = 2.0
"""Steps by which rounding two centres to the grid can move them apart, at most (the root of 2)."""


@dataclass(frozen=True)
class UnconstrainedCentre(Aggregator):
    """The middle of the smallest interval or circle that holds a majority of the answers, plus fitted noise.

    Guarantee  eps-DP (power law) or (eps, delta)-DP (Gaussian).
    Theorem    NRS11 Claim 4.7; docs/proofs/aggregate.md, sections 2 and 7.
    Constants  ``S = 2 max_k r(t0 + (k+1)s) e^{-beta k}``, exactly beta-smooth: nothing is lost to ``1 + s/a``.
    Cost       m^4 / 6 comparisons in the plane; m log m for one number.  In more dimensions m^(d+2), which is refused:
               with the number of dimensions the problem is NP-hard.
    """

    noise: Law | None = None
    name = "unconstrained_centre"

    def prepare(self, task: Aggregation) -> Aggregate:
        metric = as_metric(task.metric)
        if metric is not None and metric is not METRICS["l2"]:
            raise NotApplicable("metric", metric.name, "smallest balls are looked for in l2", "the centre")
        if task.length == 1:
            return MIDDLE.prepare(dataclasses.replace(task, metric=None))
        if task.length > 2:
            reason = "smallest balls of more than two numbers take too long"
            raise NotApplicable("aggregator", self.name, reason, "aggregator='centre', which takes an answer")
        if task.blocks > MOST_BLOCKS:
            raise InvalidArgument("blocks", task.blocks, f"must be at most {MOST_BLOCKS} for the unconstrained centre")
        loss, interval_loss = parts_of(task)
        point, norm_factor = chosen_point(self.noise, loss, "l2", 2, Fraction(task.touched, task.blocks))
        bits = LARGEST.bit_length() - 1
        scaled = metric is None
        grids = Space.between(task.output.bounds).grids(bits) if scaled else common_grids(task.output, bits)
        spent = Loss(task.loss.epsilon, 0.0 if point.law.pure else task.loss.delta)
        l2 = METRICS["l2"]
        return SmallestCircle(
            spent,
            l2,
            grids,
            point,
            point.beta - SLACK,
            norm_factor,
            task.blocks,
            task.touched,
            interval_loss,
            task.confidence,
        )

    def blocks_wanted(self, task: Aggregation) -> int:
        if task.length == 1:
            return MIDDLE.blocks_wanted(task)
        point, _ = chosen_point(self.noise, parts_of(task)[0], "l2", 2, Fraction(1))
        return min(int(ENOUGH * task.touched / point.beta) + 1, MOST_BLOCKS)


@dataclass(frozen=True)
class SmallestCircle(CentreOfAttention):
    """g(z) + (S / alpha) Z around the middle of the smallest circle."""

    mechanism = "unconstrained centre"

    def centred(self, answers: Answers) -> tuple[Whole, float]:
        majority = min((self.blocks + self.touched) // 2 + 1, self.blocks)
        radii, centre = smallest_circles(self._steps(answers), majority)
        bound = circle_bound(radii, self._diameter, self.touched, float(self.beta))
        return np.rint(centre).astype(np.int64), bound


def circle_bound(radii: Answers, diameter: float, touched: int, beta: float) -> float:
    """``2 max_k r(t0 + (k + 1) s) e^{-beta k}``, and what rounding the centre to the grid can add."""
    blocks = len(radii)
    majority = (blocks + touched) // 2 + 1
    looked = np.arange(majority + touched, blocks + 1, touched)
    weights = exp(-np.minimum(beta * np.arange(len(looked) + 1, dtype=np.float64), DEEPEST))
    best = diameter * float(weights[-1])
    if len(looked):
        best = max(best, float(np.max(radii[looked - 1] * weights[:-1])))
    return math.nextafter(2.0 * best * (1.0 + 2.0**-36) + ROUNDED, math.inf)
