"""Noise scaled to the global sensitivity, which is public."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

from dither.accounting import concentrated
from dither.mechanisms.error import (
    AddedNoise,
    ErrorLaw,
    WorstCaseError,
    cut_half_width,
    most_cut_mean,
    rooms,
    span,
)
from dither.mechanisms.mechanism import Mechanism, MechanismSpec, Outcome, Prepared, only_noises, point_of
from dither.mechanisms.registry import mechanism
from dither.noise.exact import rounded_draw
from dither.noise.gaussian import Gaussian
from dither.noise.laplace import Laplace, integer_laplace
from dither.noise.law import AdmissiblePoint, Law
from dither.noise.vectors import integer_laplace_draws, rounded_draws
from dither.numbers import exact
from dither.privacy import Concentrated, Loss, rho_up
from dither.sensitivity.global_sensitivity import Data, HasGlobalSensitivity
from dither.sources.grid import Grid
from dither.statistics.statistic import Statistic, VectorStatistic


@mechanism("worst_case", needs=HasGlobalSensitivity)
@dataclass(frozen=True)
class WorstCase(Mechanism):
    """Adds noise scaled to the global sensitivity.

    Guarantee  eps-DP (Laplace, blunt or plain power law, Cauchy, Student) or (eps, delta)-DP (Gaussian).
    Theorem    DMNS06 Prop. 1; each law's admissible point at beta = 0 (docs/proofs/admissible.md).
    Constants  Scale cap / alpha with the greatest proved alpha.  Laplace noise is the integer law on the grid.
    Cost       One draw for each number; intervals are free, because the scale is public.
    """

    def prepare(self, ask: MechanismSpec[Data]) -> Prepared[Data]:
        if isinstance(ask.statistic, VectorStatistic):
            return vector_noise(ask, ask.statistic)
        law = ask.noise or Laplace()
        point = point_of(law, ask.usable, Fraction(0))
        spent = _spent(ask.loss, law, point.alpha, max(ask.statistic.global_sensitivity, 1) / point.alpha)
        return Scaled(ask.statistic, spent, point, ask.confidence)


def _spent(loss: Loss, law: Law, shift: Fraction, least_scale: Fraction) -> Loss:
    """The loss of noise that neighbours move by ``shift`` scales at most, no scale below so many grid steps."""
    if law.name == "gaussian":
        return Loss(loss.epsilon, loss.delta, stated=Concentrated(rho_up(shift**2 / 2)))
    stated = concentrated.integer_laplace(shift, 1 / least_scale) if law.name == "laplace" else None
    return Loss(loss.epsilon, stated=stated)


def vector_noise(ask: MechanismSpec[Data], statistic: VectorStatistic[Data]) -> ScaledVector[Data]:
    """Laplace noise by the l1, Gaussian noise by the l2 sensitivity; with delta > 0 whichever is smaller."""
    only_noises("worst_case", ask.noise, "laplace", "gaussian")
    by_l1 = statistic.l1 / point_of(Laplace(), ask.usable, Fraction(0)).alpha
    law: Law = ask.noise or Laplace()
    if ask.noise is None and ask.loss.delta:
        by_l2 = _euclidean(statistic, ask.usable)
        law = Gaussian() if float(by_l2) * Gaussian().typical < float(by_l1) else law
    unit = by_l1 if law.name == "laplace" else _euclidean(statistic, ask.usable)
    least = min((sensitivity for sensitivity in statistic.global_sensitivities if sensitivity), default=1) * unit
    spent = _spent(ask.loss, law, point_of(law, ask.usable, Fraction(0)).alpha, least or Fraction(1))
    return ScaledVector(statistic, spent, law, unit, ask.confidence)


def _euclidean(statistic: VectorStatistic[Data], loss: Loss) -> Fraction:
    length = Fraction(math.nextafter(math.sqrt(statistic.l2_squared), math.inf))
    return length / point_of(Gaussian(), loss, Fraction(0)).alpha


@dataclass(frozen=True)
class Scaled(Prepared[Data]):
    """value + (cap / alpha) Z, rounded to the grid and clamped to the public range."""

    mechanism = "worst_case"
    statistic: Statistic[Data]
    loss: Loss
    point: AdmissiblePoint
    confidence: Fraction | None

    @property
    def noise_name(self) -> str:
        return str(self.point.law)

    @functools.cached_property
    def scale(self) -> Fraction:
        """Public."""
        return self.statistic.global_sensitivity / self.point.alpha

    def noise_scale(self, records: Data) -> Fraction:  # noqa: ARG002
        return self.scale

    def run(self, data: Data) -> Outcome:
        noisy = added(self.point.law, self.statistic.value(data), self.scale)
        half_width = None if self.confidence is None else public_half_width(self.point.law, self.scale, self.confidence)
        return around(self.statistic, noisy, half_width)

    def error_laws(self, records: Data) -> list[ErrorLaw]:
        return [noise_error(self.point.law, self.scale, self.statistic, records)]

    def worst_case_error(self, confidence: float, records: int | None = None) -> WorstCaseError:  # noqa: ARG002
        return public_noise_error(self.point.law, self.scale, self.statistic, confidence)

    def public_half_widths(self) -> tuple[float, ...] | None:
        if self.confidence is None:
            return None
        return (float(public_half_width(self.point.law, self.scale, self.confidence)),)

    def typical_half_widths(self, records: Data) -> tuple[float, ...] | None:
        public = self.public_half_widths()
        return None if public is None else (cut_half_width(public[0], *placed(self.statistic, records)),)


@dataclass(frozen=True)
class ScaledVector(Prepared[Data]):
    """Every value plus noise of its cap times a public unit; each with an interval of its own."""

    mechanism = "worst_case/vector"
    statistic: VectorStatistic[Data]
    loss: Loss
    law: Law
    unit: Fraction
    confidence: Fraction | None

    @property
    def noise_name(self) -> str:
        return str(self.law)

    def run(self, data: Data) -> Outcome:
        global_sensitivities, values = self.statistic.global_sensitivities, self.statistic.values(data)
        if len(set(global_sensitivities)) == 1:
            scale = global_sensitivities[0] * self.unit
            noise = integer_laplace_draws if self.law.name == "laplace" else functools.partial(rounded_draws, self.law)
            noisy = [value + int(drawn) for value, drawn in zip(values, noise(len(values), scale), strict=True)]
        else:
            noisy = [
                added(self.law, value, global_sensitivity * self.unit)
                for value, global_sensitivity in zip(values, global_sensitivities, strict=True)
            ]
        grids = self.statistic.answers
        # Counts have no bounds to be cut to, and there may be many of them.
        bounded = any(grid.low is not None or grid.high is not None for grid in {id(g): g for g in grids}.values())
        places = tuple(g.clamp(n) for g, n in zip(grids, noisy, strict=True)) if bounded else tuple(noisy)
        if self.confidence is None:
            return Outcome(places)
        widths = {
            global_sensitivity: public_half_width(self.law, global_sensitivity * self.unit, self.confidence)
            for global_sensitivity in set(global_sensitivities)
        }
        half = [widths[global_sensitivity] for global_sensitivity in global_sensitivities]
        if not bounded:
            return Outcome(places, tuple((n - width, n + width) for n, width in zip(noisy, half, strict=True)))
        placed = zip(grids, noisy, half, strict=True)
        return Outcome(places, tuple(grid.interval_around(n, width) for grid, n, width in placed))

    def _scales(self) -> list[Fraction]:
        return [global_sensitivity * self.unit for global_sensitivity in self.statistic.global_sensitivities]

    @property
    def laplace_scales(self) -> tuple[Fraction, ...] | None:
        return tuple(self._scales()) if self.law.name == "laplace" else None

    @property
    def _unbounded(self) -> bool:
        return all(grid.low is None and grid.high is None for grid in self.statistic.answers)

    def error_laws(self, records: Data) -> list[ErrorLaw]:
        if self._unbounded:
            around = [(math.inf, math.inf)] * len(self.statistic.global_sensitivities)
        else:
            values = self.statistic.values(records)
            around = [rooms(grid, value) for grid, value in zip(self.statistic.answers, values, strict=True)]
        whole = self.law.name == "laplace"
        return [
            AddedNoise(self.law, float(scale), item, whole) for scale, item in zip(self._scales(), around, strict=True)
        ]

    def worst_case_error(self, confidence: float, records: int | None = None) -> WorstCaseError:  # noqa: ARG002
        @functools.cache
        def bounds(scale: Fraction, between: float) -> tuple[float, float]:
            half_width = float(public_half_width(self.law, scale, exact(confidence)))
            whole = self.law.name == "laplace"
            return most_cut_mean(self.law, float(scale), between, whole=whole), min(half_width, between)

        each = [bounds(scale, span(grid)) for scale, grid in zip(self._scales(), self.statistic.answers, strict=True)]
        expected, quantile = zip(*each, strict=True)
        # Only noise that is never cut to a range has the same error for all data.
        return WorstCaseError(expected, quantile, attained=not self._unbounded, exact=self._unbounded)

    def public_half_widths(self) -> tuple[float, ...] | None:
        if self.confidence is None:
            return None
        confidence = self.confidence
        widths = {scale: float(public_half_width(self.law, scale, confidence)) for scale in set(self._scales())}
        return tuple(widths[scale] for scale in self._scales())


def added(law: Law, value: int, scale: Fraction) -> int:
    """A value plus noise of a public scale: the integer law for Laplace, else a rounded draw."""
    if law.name == "laplace":
        return integer_laplace(value, scale, headroom=headroom(scale))
    return rounded_draw(law, value, scale, headroom=headroom(scale))


def public_half_width(law: Law, scale: Fraction, confidence: Fraction) -> int:
    """Grid steps that the noise does not exceed with probability ``confidence``."""
    miss = float(1 - confidence)
    if not scale:
        return 0
    if law.name == "laplace":
        # Integer law: P(|K| > w) = 2 e^{-(w+1)/scale} / (1 + e^{-1/scale}).
        width = float(scale) * math.log(2.0 / (miss * (1.0 + math.exp(-1.0 / float(scale)))))
        return max(math.ceil(width * (1 + 1e-9)) - 1, 0)
    return math.ceil(float(scale) * law.quantile(miss) * (1 + 1e-9)) + 1


def placed(statistic: Statistic[Data], records: Data) -> tuple[Grid, int]:
    """The grid of the answers, and the true value on it."""
    return statistic.answers, statistic.value(records)


def noise_error(law: Law, scale: Fraction, statistic: Statistic[Data], records: Data) -> AddedNoise:
    """The error of ``added`` noise of a public scale."""
    return AddedNoise(law, float(scale), rooms(*placed(statistic, records)), law.name == "laplace")


def public_noise_error(law: Law, scale: Fraction, statistic: Statistic[Data], confidence: float) -> WorstCaseError:
    """The greatest error of ``added`` noise of a public scale: that of a value in the middle of the range."""
    between = span(statistic.answers)
    half_width = float(public_half_width(law, scale, exact(confidence)))
    expected = most_cut_mean(law, float(scale), between, whole=law.name == "laplace")
    return WorstCaseError((expected,), (min(half_width, between),), attained=True)


def around(statistic: Statistic[Data], noisy: int, half_width: int | None) -> Outcome:
    """The answer clamped to the public range, with an interval around it that is cut to that range."""
    grid = statistic.answers
    return Outcome(grid.clamp(noisy), None if half_width is None else grid.interval_around(noisy, half_width))


def headroom(public_scale: Fraction) -> int:
    """Bits of tape for a scale that is at most this."""
    return max(public_scale.numerator.bit_length() - public_scale.denominator.bit_length() + 1, 0)
