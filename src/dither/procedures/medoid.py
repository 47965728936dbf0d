"""The medoid of blocks' answers (NRS11 Remark 2): the answer with the least sum of distances, plus fitted noise.

Proof: docs/proofs/aggregate.md, section 6.  Points of finite spaces are drawn instead (``drawn_point``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.procedures.aggregate import Aggregation
from dither.procedures.centre import Centre, CentreOfAttention, smooth_radius
from dither.procedures.executor import Answers
from dither.procedures.metrics import Metric

ROUNDED = 2.0**-30
"""Part of the diameter that pays for sums of distances in floats."""


@dataclass(frozen=True)
class Medoid(Centre):
    """The answer with the least sum of distances to all others, with noise of the order of a two-thirds ball.

    Guarantee  As for the centre of attention.
    Theorem    NRS11 Remark 2, which gives no constants: docs/proofs/aggregate.md, section 6.
    Constants  ``S = 2 kappa max_k rho(t + (k+1)s) e^{-beta k}`` with ``t = ceil(2m/3)`` and
               ``kappa = (2t + m)/(2t - m)``, at most 7: seven times the noise of the centre of attention where answers
               agree.  Prefer that one, or a finite space, where the medoid needs no noise.
    Cost       m^2 distances and m^2 log m time.
    """

    name = "medoid"
    nearness = Fraction(3, 2)

    def aggregate_type(self) -> type[CentreOfAttention]:
        return NoisyMedoid

    def _is_middle(self, task: Aggregation, metric: Metric) -> bool:  # noqa: ARG002
        return False


@dataclass(frozen=True)
class NoisyMedoid(CentreOfAttention):
    """g(z) + (S / alpha) Z around the medoid g(z)."""

    mechanism = "medoid"

    def chosen(self, distances: Answers) -> tuple[int, float]:
        return medoid_and_bound(distances, self._diameter, self.touched, float(self.beta))


def medoid_and_bound(distances: Answers, diameter: float, touched: int, beta: float) -> tuple[int, float]:
    """The place of the medoid and the bound S, from all distances between the blocks."""
    blocks = len(distances)
    held = -(-2 * blocks // 3)
    stretch = (2 * held + blocks) / (2 * held - blocks)
    place = int(np.argmin(distances.sum(axis=1)))
    around = smooth_radius(np.sort(distances, axis=1), diameter, touched, beta, held)
    return place, 2.0 * stretch * around * (1.0 + 2.0**-50) + ROUNDED * diameter
