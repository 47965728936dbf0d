"""Noise for the worst data imaginable: the scale is the global sensitivity, which is public."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.calibration.mechanism import Ask, Calibration, Mechanism, Outcome
from dither.noise.exact import rounded_draw
from dither.noise.laplace import Laplace
from dither.noise.law import Law, Point
from dither.privacy import Loss
from dither.queries.statistic import Statistic


@dataclass(frozen=True)
class WorstCase(Calibration):
    """Adds noise scaled to the global sensitivity.

    Guarantee  eps-DP (Laplace, power law, Cauchy, Student) or (eps, delta)-DP (Gaussian).
    Theorem    DMNS06 Prop. 1; each law's admissible point at beta = 0 (docs/proofs/admissible.md).
    Constants  Scale cap / alpha with the greatest proved alpha.
    Cost       One draw; the error bar is free, because the scale is public.
    """

    name = "worst_case"

    def prepare(self, ask: Ask) -> Mechanism:
        law = ask.noise or Laplace()
        point = law.point(ask.loss, beta=Fraction(0))
        spent = Loss(ask.loss.epsilon, ask.loss.delta if law.name == "gaussian" else 0.0)
        return Scaled(ask.statistic, spent, point, ask.confidence)


@dataclass(frozen=True)
class Scaled(Mechanism):
    """value + (cap / alpha) Z, rounded to the grid and clamped to the public range."""

    statistic: Statistic
    loss: Loss
    point: Point
    confidence: Fraction | None

    @property
    def noise_name(self) -> str:  # type: ignore[override]
        return str(self.point.law)

    @property
    def scale(self) -> Fraction:
        """Public."""
        return self.statistic.cap / self.point.alpha

    def run(self, data: Any) -> Outcome:
        noisy = rounded_draw(self.point.law, self.statistic.value(data), self.scale, headroom=headroom(self.scale))
        half_width = None if self.confidence is None else public_half_width(self.point.law, self.scale, self.confidence)
        return around(self.statistic, noisy, half_width)


def public_half_width(law: Law, scale: Fraction, confidence: Fraction) -> int:
    """Grid steps that the rounded noise does not exceed with probability ``confidence``."""
    return math.ceil(float(scale) * law.quantile(float(1 - confidence)) * (1 + 1e-9)) + 1


def around(statistic: Statistic, noisy: int, half_width: int | None) -> Outcome:
    """The answer clamped to the public range, with a bar around the unclamped one cut to that range."""
    clamp = statistic.answers.clamp
    bar = None if half_width is None else (clamp(noisy - half_width), clamp(noisy + half_width))
    return Outcome(clamp(noisy), bar)


def headroom(public_scale: Fraction) -> int:
    """Bits of tape for a scale that is at most this."""
    return max(public_scale.numerator.bit_length() - public_scale.denominator.bit_length() + 1, 0)
