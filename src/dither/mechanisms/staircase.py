"""Staircase noise scaled to the global sensitivity: less error than Laplace noise where epsilon is large."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

from dither.mechanisms.error import ErrorLaw, WorstCaseError, cut_half_width, rooms, span
from dither.mechanisms.mechanism import Mechanism, MechanismSpec, Outcome, Prepared, only_noises
from dither.mechanisms.registry import mechanism
from dither.mechanisms.worst_case import around
from dither.noise.staircase import Staircase
from dither.numbers import exact
from dither.privacy import Loss
from dither.sensitivity.global_sensitivity import Data, HasGlobalSensitivity
from dither.statistics.statistic import Statistic, VectorStatistic


@mechanism("staircase", needs=HasGlobalSensitivity)
@dataclass(frozen=True)
class StaircaseMechanism(Mechanism):
    """Adds staircase noise of the global sensitivity to one number.

    Guarantee  eps-DP: two numbers that are at most the sensitivity apart have probabilities within e^eps.
    Theorem    Geng-Viswanath 2014 (arXiv 1212.1186), on whole numbers; docs/proofs/staircase.md.
    Constants  Widths r and D - r, r the better of the two whole numbers next to D/(1 + e^(eps/2)).
    Cost       One draw; intervals are free, because the law is public.

    >>> import dither as dt
    >>> dt.sum([3.0] * 100, bounds=(0, 10), epsilon=4, mechanism="staircase").mechanism
    'staircase'
    """

    def serves(self, statistic: Statistic[Data] | VectorStatistic[Data]) -> bool:
        """Single numbers that one record can move by the global sensitivity on all data: nothing to fit."""
        return statistic.single is not None and statistic.sensitivity_is_constant and super().serves(statistic)

    def prepare(self, ask: MechanismSpec[Data]) -> Prepared[Data]:
        only_noises(self.name, ask.noise)
        statistic = ask.single_number(self.name)
        law = Staircase.of(ask.usable.exact_epsilon, max(statistic.global_sensitivity, 1))
        return StaircaseNoise(statistic, Loss(ask.loss.epsilon), law, ask.confidence)


@dataclass(frozen=True)
class StaircaseNoise(Prepared[Data]):
    """value + K, clamped to the public range."""

    mechanism = "staircase"
    statistic: Statistic[Data]
    loss: Loss
    law: Staircase
    confidence: Fraction | None
    noise_name = "staircase"

    @functools.cached_property
    def _half_width(self) -> int | None:
        return None if self.confidence is None else self.law.half_width(float(1 - self.confidence))

    def run(self, data: Data) -> Outcome:
        return around(self.statistic, self.law.draw(self.statistic.value(data)), self._half_width)

    def error_laws(self, records: Data) -> list[ErrorLaw]:
        return [StaircaseError(self.law, rooms(self.statistic.answers, self.statistic.value(records)))]

    def worst_case_error(self, confidence: float, records: int | None = None) -> WorstCaseError:  # noqa: ARG002
        """The greatest error: that of a value in the middle of the range (docs/proofs/quotes.md, section 1)."""
        between = span(self.statistic.answers)
        halves = (between, between) if math.isinf(between) else (float(between // 2), float(-(-between // 2)))
        expected = sum(self.law.cut_mean(half) for half in halves) / 2.0
        half_width = float(self.law.half_width(float(1 - exact(confidence))))
        return WorstCaseError((expected,), (min(half_width, between),), attained=True)

    def public_half_widths(self) -> tuple[float, ...] | None:
        return None if self._half_width is None else (float(self._half_width),)

    def typical_half_widths(self, records: Data) -> tuple[float, ...] | None:
        if self._half_width is None:
            return None
        value = self.statistic.value(records)
        return (cut_half_width(float(self._half_width), self.statistic.answers, value),)


@dataclass(frozen=True)
class StaircaseError(ErrorLaw):
    """The size of the noise, cut to the public range: ``room`` is how far it is from the value to either bound."""

    law: Staircase
    room: tuple[float, float]

    @property
    def mean(self) -> float:
        return sum(self.law.cut_mean(room) for room in self.room) / 2.0

    def beyond(self, distance: float) -> float:
        if distance < 0:
            return 1.0
        return self.law.tail(math.floor(distance)) * sum(distance < room for room in self.room) / 2.0
