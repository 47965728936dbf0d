"""The race to the top: a count under several limits of a person's share, each with its own noise; the highest wins."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.accounting import concentrated
from dither.errors import InvalidArgument
from dither.kernels.elementary import Floats
from dither.mechanisms.error import DistributedError, ErrorLaw, WorstCaseError, span
from dither.mechanisms.mechanism import Mechanism, MechanismSpec, Outcome, Prepared, only_noises
from dither.mechanisms.registry import mechanism
from dither.mechanisms.worst_case import headroom
from dither.noise.laplace import integer_laplace
from dither.numbers import Number, exact
from dither.privacy import Concentrated, Loss
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.limited_shares import HasLimitedShares, limits_up_to
from dither.statistics.statistic import Statistic

MISS = Fraction(1, 20)
"""How often an answer may exceed the count: the penalties of the race."""


@mechanism("race", needs=HasLimitedShares)
@dataclass(frozen=True)
class Race(Mechanism):
    """The count under several limits of one person's share, each with noise and a penalty: the highest is released.

    Guarantee  eps-DP, for the statistic's neighbours; its answer exceeds the count with probability 1/20 at most.
    Theorem    Race to the top (Dong et al. 2022); docs/proofs/node_privacy.md, section 2.
    Constants  L limits up to the largest share there can be, each with integer Laplace noise of scale L limit / eps.
               ``base``: how much a limit exceeds the one before at most; the paper has 2 (docs/decisions.md).
    Cost       The values under all limits; none is left out, so that no running time tells which of them mattered.
    """

    base: Number = 8

    def prepare(self, ask: MechanismSpec[Data]) -> Prepared[Data]:
        statistic, limited = limited_statistic(ask, self.name)
        only_noises(self.name, ask.noise, "laplace")
        limits = limits_up_to(limited.largest_share, base_of(self.base))
        each = ask.usable.exact_epsilon / len(limits)
        scales = tuple(limited.limited_sensitivity(limit) / each for limit in limits)
        stated = sum(
            (concentrated.integer_laplace(each, 1 / scale) for scale in scales), start=Concentrated(Fraction(0))
        )
        return Raced(statistic, limited, Loss(ask.loss.epsilon, stated=stated), limits, scales, ask.confidence)


def limited_statistic(ask: MechanismSpec[Data], name: str) -> tuple[Statistic[Data], HasLimitedShares[Data]]:
    """The statistic of a question, which offers its values under limits."""
    statistic = ask.single_number(name)
    if not isinstance(statistic, HasLimitedShares):
        raise InvalidArgument("mechanism", name, "must be asked of a count of people's shares")
    return statistic, statistic


def base_of(base: Number) -> Fraction:
    """How far apart limits are."""
    number = exact(base, "base")
    if not Fraction(5, 4) <= number <= 1_000_000:
        raise InvalidArgument("base", base, "must be a number from 1.25 to 1,000,000")
    return number


def upper_quantile(scale: Fraction, miss: float) -> int:
    """Whole steps that integer Laplace noise exceeds with probability ``miss`` at most: one side.

    P(K > w) = e^{-(w+1)/scale} / (1 + e^{-1/scale}).
    """
    width = float(scale) * -math.log(miss * (1.0 + math.exp(-1.0 / float(scale))))
    return max(math.ceil(width * (1 + 1e-9)) - 1, 0)


def at_most(places: Floats, scale: Fraction) -> Floats:
    """P(K <= place) of integer Laplace noise, in floats."""
    whole, width = np.floor(places), float(scale)
    tail = np.exp(-np.where(whole >= 0, whole + 1.0, -whole) / width) / (1.0 + math.exp(-1.0 / width))
    return np.asarray(np.where(whole >= 0, 1.0 - tail, tail))


@dataclass(frozen=True)
class Raced(Prepared[Data]):
    """``max over limits of value + noise - penalty``, cut to the public range."""

    mechanism = "race"
    statistic: Statistic[Data]
    shares: HasLimitedShares[Data]
    """The same statistic."""
    loss: Loss
    limits: tuple[int, ...]
    scales: tuple[Fraction, ...]
    confidence: Fraction | None
    noise_name = "laplace"

    @functools.cached_property
    def penalties(self) -> tuple[int, ...]:
        """What is taken off so that the highest exceeds the count with probability ``MISS`` at most: public."""
        return self.reaches(float(MISS))

    def reaches(self, miss: float) -> tuple[int, ...]:
        """Distances of which none is exceeded by its noise, upwards, but with probability ``miss``: public."""
        return tuple(upper_quantile(scale, miss / len(self.scales)) for scale in self.scales)

    def values(self, data: Data) -> list[int]:
        """The values under all limits: private."""
        return self.shares.limited_values(data, self.limits)

    def run(self, data: Data) -> Outcome:
        drawn = [integer_laplace(0, scale, headroom=headroom(scale)) for scale in self.scales]
        noisy = [value + noise for value, noise in zip(self.values(data), drawn, strict=True)]
        grid = self.statistic.answers
        answer = grid.clamp(max(total - off for total, off in zip(noisy, self.penalties, strict=True)))
        if self.confidence is None:
            return Outcome(answer)
        half = float(1 - self.confidence) / 2.0
        low = max(total - off for total, off in zip(noisy, self.reaches(half), strict=True))
        high = noisy[-1] + upper_quantile(self.scales[-1], half)
        return Outcome(answer, (min(grid.clamp(low), answer), max(grid.clamp(high), answer)))

    def error_laws(self, records: Data) -> list[ErrorLaw]:
        values, low_to_high = self.values(records), tuple(zip(self.penalties, self.scales, strict=True))

        def below(places: Floats) -> Floats:
            each = [
                at_most(places - value + off, scale) for value, (off, scale) in zip(values, low_to_high, strict=True)
            ]
            return np.asarray(np.prod(each, axis=0))

        return [DistributedError.on(self.statistic.answers, self.statistic.value(records), below)]

    def worst_case_error(self, confidence: float, records: int | None = None) -> WorstCaseError:  # noqa: ARG002
        """Too low by at most the last penalty and noise; too high by no more than all noises together."""
        between, last = span(self.statistic.answers), float(self.penalties[-1])
        expected = last + math.fsum(float(scale) for scale in self.scales)
        within = last + float(self.reaches((1.0 - confidence) / 2.0)[-1])
        return WorstCaseError((min(expected, between),), (min(within, between),))

    def typical_half_widths(self, records: Data) -> tuple[float, ...] | None:
        if self.confidence is None:
            return None
        half, values = float(1 - self.confidence) / 2.0, self.values(records)
        low = max(value - off for value, off in zip(values, self.reaches(half), strict=True))
        high = values[-1] + upper_quantile(self.scales[-1], half)
        grid = self.statistic.answers
        return ((grid.clamp(high) - grid.clamp(low)) / 2.0,)
