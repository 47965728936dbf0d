"""A limit of a person's share that is drawn privately, then the count under it with noise of that limit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.accounting import concentrated
from dither.kernels.elementary import Floats
from dither.mechanisms.error import DistributedError, ErrorLaw, WorstCaseError, span
from dither.mechanisms.mechanism import Mechanism, MechanismSpec, Outcome, Prepared, only_noises
from dither.mechanisms.race import at_most, base_of, limited_statistic, upper_quantile
from dither.mechanisms.registry import mechanism
from dither.mechanisms.worst_case import headroom
from dither.noise.discrete_exponential import draw_index
from dither.noise.laplace import integer_laplace
from dither.numbers import Number
from dither.privacy import Loss
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.limited_shares import HasLimitedShares, limits_up_to
from dither.statistics.statistic import Statistic

PARTS = 64
"""Costs are whole 64ths, rounded up."""


@mechanism("drawn_limit", needs=HasLimitedShares)
@dataclass(frozen=True)
class DrawnLimit(Mechanism):
    """A limit of one person's share, drawn for half of epsilon, and the count under it with noise of that limit.

    Guarantee  eps-DP, for the statistic's neighbours.
    Theorem    Generalised exponential mechanism (Raskhodnikova and Smith 2016), with a public measure on the limits;
               docs/proofs/node_privacy.md, section 3.
    Constants  Limit i costs ``max over larger j of (Q_j - Q_i) / (S_i + S_j)``, where S is the sensitivity under a
               limit and Q the value; drawn at rate eps/4 with weights S^-2.  ``base``: as for the race.
    Cost       The values under all limits, one draw, and integer Laplace noise of scale 2 S / eps.
    """

    base: Number = Fraction(5, 2)

    def prepare(self, ask: MechanismSpec[Data]) -> Prepared[Data]:
        statistic, limited = limited_statistic(ask, self.name)
        only_noises(self.name, ask.noise, "laplace")
        limits = limits_up_to(limited.largest_share, base_of(self.base))
        moved = tuple(limited.limited_sensitivity(limit) for limit in limits)
        half = ask.usable.exact_epsilon / 2
        stated = Loss.bounded_range(half).concentrated + concentrated.integer_laplace(half, half / moved[0])
        return DrawnLimitNoise(
            statistic, limited, Loss(ask.loss.epsilon, stated=stated), limits, moved, half, half, ask.confidence
        )


@dataclass(frozen=True)
class DrawnLimitNoise(Prepared[Data]):
    """A drawn limit, and the value under it plus noise, cut to the public range."""

    mechanism = "drawn_limit"
    statistic: Statistic[Data]
    shares: HasLimitedShares[Data]
    """The same statistic."""
    loss: Loss
    limits: tuple[int, ...]
    moved: tuple[int, ...]
    """The sensitivities under the limits."""
    draw_epsilon: Fraction
    noise_epsilon: Fraction
    confidence: Fraction | None
    noise_name = "laplace"

    @property
    def rate(self) -> Fraction:
        """Of one 64th of a cost."""
        return self.draw_epsilon / (2 * PARTS)

    @property
    def weights(self) -> list[int]:
        """A large limit is drawn rarely unless it is needed: public."""
        return [self.moved[-1] ** 2 // item**2 for item in self.moved]

    @property
    def scales(self) -> tuple[Fraction, ...]:
        """Of the noise under each limit: public."""
        return tuple(item / self.noise_epsilon for item in self.moved)

    def values(self, data: Data) -> list[int]:
        """The values under all limits: private."""
        return self.shares.limited_values(data, self.limits)

    def costs(self, values: list[int]) -> list[int]:
        """What the limits lose against larger ones, in 64ths of a change: private."""
        moved, last = self.moved, len(values)
        return [
            max(
                (-(-PARTS * (values[j] - values[i]) // (moved[i] + moved[j])) for j in range(i + 1, last)),
                default=0,
            )
            for i in range(last)
        ]

    def run(self, data: Data) -> Outcome:
        values = self.values(data)
        place = draw_index(self.costs(values), self.rate, weights=self.weights)
        scale = self.scales[place]
        noisy = integer_laplace(values[place], scale, headroom=headroom(self.scales[-1]))
        grid = self.statistic.answers
        answer = grid.clamp(noisy)
        if self.confidence is None:
            return Outcome(answer)
        low = noisy - upper_quantile(scale, float(1 - self.confidence))
        return Outcome(answer, (min(grid.clamp(low), answer), grid.ends[1]))

    def chances(self, values: list[int]) -> list[float]:
        """How likely each limit is, in floats: private."""
        logs = [
            math.log(weight) - float(self.rate) * cost
            for weight, cost in zip(self.weights, self.costs(values), strict=True)
        ]
        relative = [math.exp(log - max(logs)) for log in logs]
        return [path / math.fsum(relative) for path in relative]

    def error_laws(self, records: Data) -> list[ErrorLaw]:
        values = self.values(records)
        drawn = list(zip(self.chances(values), values, self.scales, strict=True))

        def below(places: Floats) -> Floats:
            return np.asarray(
                np.sum([chance * at_most(places - value, scale) for chance, value, scale in drawn], axis=0)
            )

        return [DistributedError.on(self.statistic.answers, self.statistic.value(records), below)]

    def worst_case_error(self, confidence: float, records: int | None = None) -> WorstCaseError:  # noqa: ARG002
        """Section 3 of the proof: P(the limit takes off more than x) is at most W e^{-rate x / (2 S)}."""
        between, scale = span(self.statistic.answers), float(self.scales[-1])
        each = 2.0 * self.moved[-1] / (float(self.rate) * PARTS)
        tilt, miss = math.log(sum(self.weights)), (1.0 - confidence) / 2.0
        expected = each * (1.0 + tilt) + scale
        within = each * (tilt - math.log(miss)) + float(upper_quantile(self.scales[-1], miss / 2.0))
        return WorstCaseError((min(expected, between),), (min(within, between),))

    def typical_half_widths(self, records: Data) -> tuple[float, ...] | None:
        if self.confidence is None:
            return None
        values, miss, grid = self.values(records), float(1 - self.confidence), self.statistic.answers
        lows = (
            grid.clamp(value - upper_quantile(scale, miss)) for value, scale in zip(values, self.scales, strict=True)
        )
        low = math.fsum(chance * item for chance, item in zip(self.chances(values), lows, strict=True))
        return ((grid.ends[1] - low) / 2.0,)
