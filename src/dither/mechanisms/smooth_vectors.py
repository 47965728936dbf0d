"""Noise for several numbers at once, scaled to one smooth bound on how far they move together (NRS11 Lemma 2.6)."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from dither.errors import InvalidArgument
from dither.mechanisms.error import AddedNoise, ErrorLaw, WorstCaseError, cut_half_width, most_cut_mean, rooms, span
from dither.mechanisms.mechanism import MechanismSpec, Outcome, Prepared
from dither.mechanisms.smooth import (
    INTERVAL_BETA,
    Smooth,
    check_smoothness,
    interval_and_answer,
    private_half_width,
    typical_half_width,
)
from dither.mechanisms.worst_case import headroom
from dither.noise.blunt_power_law import BluntPowerLaw
from dither.noise.exact import rounded_draw
from dither.noise.gaussian import Gaussian
from dither.noise.heavy_tails import PowerLaw
from dither.noise.law import AdmissiblePoint, Constants, Law
from dither.numbers import exact
from dither.privacy import Loss
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.norms import HasNormLadder
from dither.statistics.statistic import VectorStatistic


def prepare_vector(
    mechanism: Smooth, ask: MechanismSpec[Data], statistic: VectorStatistic[Data]
) -> SmoothVectorNoise[Data]:
    """Smooth noise for a statistic with a ladder in a norm, from public facts.

    Guarantee  eps-DP (power laws, Cauchy, Student) or (eps, delta)-DP (Laplace, Gaussian).
    Theorem    NRS11 Lemma 2.6 in R^d, replaced by the exact conditions of docs/proofs/admissible.md for independent
               coordinates; docs/proofs/custom.md, section 6.
    Constants  The law's own for d dimensions.  Of the two power laws the one with the smaller error factor; with a
               delta the Gaussian law where its noise is smaller than that of both.
    """
    interval_loss, loss = interval_and_answer(ask.usable, ask.confidence)
    beta = None if mechanism.beta is None else exact(mechanism.beta, "beta")
    length = len(statistic.answers)
    part = (
        INTERVAL_BETA if interval_loss is not None and beta is None and mechanism.constants == "exact" else Fraction(1)
    )

    def point_of(law: Law) -> AdmissiblePoint:
        return _point(law, loss, beta, part, length, mechanism.constants)

    def noise_of(point: AdmissiblePoint) -> float:
        return point.law.typical / float(point.alpha) * float(stretch(point.law, statistic))

    if ask.noise is not None:
        point = point_of(ask.noise)
    else:
        heavy = _heavy_points(point_of, mechanism.constants)
        point = min(heavy, key=lambda item: (item.error_factor, noise_of(item)))
        # Compared with both: a delta is spent on no answer that one of them gives with less noise and without it.
        with contextlib.suppress(InvalidArgument):  # (a beta that the Gaussian law does not admit)
            if not loss.is_pure and noise_of(light := point_of(Gaussian())) < min(map(noise_of, heavy)):
                point = light
    check_smoothness(point, ask.loss)
    spent = Loss(ask.loss.epsilon, 0.0 if point.law.pure else ask.loss.delta)
    return SmoothVectorNoise(statistic, spent, point, interval_loss, ask.confidence)


def _heavy_points(point_of: Callable[[Law], AdmissiblePoint], constants: Constants) -> list[AdmissiblePoint]:
    """The points of both power laws, of which the blunt one admits no beta near the largest; the paper's are of one."""
    points = [point_of(PowerLaw())]
    if constants == "exact":
        with contextlib.suppress(InvalidArgument):
            points.append(point_of(BluntPowerLaw()))
    return points


@functools.lru_cache(maxsize=256)
def _point(
    law: Law, loss: Loss, beta: Fraction | None, part: Fraction, length: int, constants: Constants
) -> AdmissiblePoint:
    """The proved point for so many dimensions; ``part`` of its best beta is used."""
    result = law.point(loss, beta=beta, dimension=length, constants=constants)
    return result if part == 1 else law.point(loss, beta=result.beta * part, dimension=length)


def in_norm(statistic: VectorStatistic[Data]) -> HasNormLadder[Data]:
    """The same statistic, as one with a ladder in a norm: ``prepare_vector`` is for no other."""
    return cast("HasNormLadder[Data]", statistic)


def stretch(law: Law, statistic: VectorStatistic[Data]) -> Fraction:
    """What a unit of the statistic's norm is in the law's own: l2 is at most l1, which is at most sqrt(d) times l2."""
    if law.norm != "l1" or in_norm(statistic).norm != "l2" or len(statistic.answers) == 1:
        return Fraction(1)
    return Fraction(math.nextafter(math.sqrt(len(statistic.answers)), math.inf))


def units_of(statistic: VectorStatistic[Data]) -> tuple[int, ...]:
    """How many steps the noise of each number is measured in: public."""
    return in_norm(statistic).norm_units or (1,) * len(statistic.answers)


@dataclass(frozen=True)
class SmoothVectorNoise(Prepared[Data]):
    """Every value plus (S / alpha) Z units of its own, Z independent for each, and intervals from one noisy ln S."""

    mechanism = "smooth/vector"
    statistic: VectorStatistic[Data]
    loss: Loss
    point: AdmissiblePoint
    interval_loss: Loss | None
    confidence: Fraction | None

    @property
    def noise_name(self) -> str:
        return str(self.point.law)

    @property
    def _unit(self) -> Fraction:
        """The scale of the noise for each unit of the bound."""
        return stretch(self.point.law, self.statistic) / self.point.alpha

    def _bound(self, data: Data) -> Fraction:
        """The smooth bound on how far all numbers move together: private."""
        return in_norm(self.statistic).norm_ladder(data).smooth(self.point.beta)

    def run(self, data: Data) -> Outcome:
        bound, grids, units = self._bound(data), self.statistic.answers, units_of(self.statistic)
        most = headroom(in_norm(self.statistic).norm_sensitivity * self._unit * max(units))
        scale = bound * self._unit
        noisy = [
            rounded_draw(self.point.law, int(value), scale * unit, headroom=most)
            for value, unit in zip(self.statistic.values(data), units, strict=True)
        ]
        places = tuple(grid.clamp(total) for grid, total in zip(grids, noisy, strict=True))
        if self.interval_loss is None:
            return Outcome(places)
        widths = self._half_widths(bound)
        placed = zip(grids, noisy, widths, strict=True)
        return Outcome(places, tuple(grid.interval_around(item, width) for grid, item, width in placed))

    def _half_widths(self, bound: Fraction) -> list[int]:
        """As for one number: each |Z_i| has the law of one coordinate (docs/proofs/intervals.md); by one draw."""
        assert self.interval_loss is not None and self.confidence is not None  # noqa: PT018, S101
        most, units = float(in_norm(self.statistic).norm_sensitivity), units_of(self.statistic)
        scale = float(self._unit * max(units))
        widest = private_half_width(bound, scale, most, self.point, self.interval_loss, self.confidence)
        return [-(-widest * unit // max(units)) + (unit < max(units)) for unit in units]

    def error_laws(self, records: Data) -> list[ErrorLaw]:
        scale = self._bound(records) * self._unit
        placed = zip(self.statistic.answers, self.statistic.values(records), units_of(self.statistic), strict=True)
        return [AddedNoise(self.point.law, float(scale * unit), rooms(grid, int(item))) for grid, item, unit in placed]

    def worst_case_error(self, confidence: float, records: int | None = None) -> WorstCaseError:  # noqa: ARG002
        """The scale is at most that of the global sensitivity."""
        # Smooth bounds are computed a little above their true value, the global sensitivity included.
        most = in_norm(self.statistic).norm_sensitivity * self._unit
        scales = [float(most * unit) * (1.0 + 1e-9) for unit in units_of(self.statistic)]
        spans, reach = [span(grid) for grid in self.statistic.answers], self.point.law.quantile(1.0 - confidence)
        placed = list(zip(scales, spans, strict=True))
        expected = tuple(most_cut_mean(self.point.law, scale, between) for scale, between in placed)
        return WorstCaseError(expected, tuple(min(scale * reach + 1.0, between) for scale, between in placed))

    def typical_half_widths(self, records: Data) -> tuple[float, ...] | None:
        if self.interval_loss is None or self.confidence is None:
            return None
        scale = float(self._bound(records) * self._unit)
        width = typical_half_width(scale, self.point, self.interval_loss, self.confidence)
        placed = zip(self.statistic.answers, self.statistic.values(records), units_of(self.statistic), strict=True)
        return tuple(cut_half_width(width * unit, grid, int(value)) for grid, value, unit in placed)
