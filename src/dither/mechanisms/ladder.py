"""The ladder mechanism: answers are drawn by how many rungs lie between them and the truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.accounting.concentrated import bounded_range, real_laplace
from dither.errors import InvalidArgument, NotApplicable
from dither.kernels.elementary import Floats
from dither.mechanisms.error import (
    Cells,
    ErrorLaw,
    Mixture,
    WorstCaseError,
    bounded_span,
    cut_half_width,
    rooms,
    samples_for,
)
from dither.mechanisms.ladder_interval import SPREAD, LadderInterval
from dither.mechanisms.mechanism import SLOW, Mechanism, MechanismSpec, Outcome, Prepared, only_noises
from dither.mechanisms.registry import mechanism
from dither.mechanisms.worst_case import around, placed
from dither.noise.discrete_exponential import draw_endless, first_reach
from dither.privacy import Loss
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.ladder import LEAST_BETA, HasLadder, Ladder
from dither.statistics.statistic import Statistic

INTERVAL_SHARE = Fraction(1, 3)
"""The part of epsilon for the interval."""
_MOST_DISTANCES = 1024


@mechanism("ladder", needs=HasLadder)
@dataclass(frozen=True)
class LadderMechanism(Mechanism):
    """Draws z with probability proportional to ``e^{-eps t / 2}``, t the number of rungs from f(x) to z.

    Releases   A point of the answers' grid: the true value has weight 1, the 2 U_{t-1} points of rung t, at distances
               (U_0 + .. + U_{t-2}, U_0 + .. + U_{t-1}], have weight e^{-eps t / 2} each, for all t without end; what
               falls outside the public range is moved to its end.
    Guarantee  eps-DP for the query's neighbours.
    Theorem    Zhang et al. 2015, for any whole-number statistic with a ladder;
               docs/proofs/ladder_mechanism.md.
    Constants  As in the paper.  The draw is exact: no float weights, no cut tail.
    Cost       ``(ln(cap (1 + 2/eps)) + 44) 2/eps`` rungs of the ladder, fewer if it reaches its cap before.

    >>> import dither as dt
    >>> release = dt.median(range(1000), bounds=(0, 1000), step=1, epsilon=2.0, mechanism="ladder")
    >>> release.interval[0] <= release.value <= release.interval[1]
    True
    """

    adds_noise = False

    def prepare(self, ask: MechanismSpec[Data]) -> Prepared[Data]:
        only_noises(self.name, ask.noise)
        statistic = ask.single_number(self.name)
        epsilon, interval = ask.usable.exact_epsilon, None
        if ask.confidence is not None:
            grid = statistic.answers
            if grid.low is None or grid.high is None:
                raise NotApplicable("confidence", float(ask.confidence), "these answers have no bounds", "None")
            rate = epsilon * (1 - INTERVAL_SHARE) / 2
            interval = LadderInterval(epsilon * INTERVAL_SHARE, 1 - ask.confidence, rate, grid.high - grid.low)
            if interval.beta < LEAST_BETA:
                least = float(LEAST_BETA / (INTERVAL_SHARE * SPREAD))
                accepted = f"must be at least {least:.2g} for an answer with an interval"
                raise InvalidArgument("epsilon", ask.loss.epsilon, accepted)
        else:
            rate = epsilon / 2
        stated = bounded_range(2 * rate)
        if interval is not None:
            stated += real_laplace(interval.epsilon)
        return LadderDraw(statistic, Loss(ask.loss.epsilon, stated=stated), rate, interval)


@dataclass(frozen=True)
class LadderDraw(Prepared[Data]):
    """One draw from the rungs of a ladder, and the interval."""

    mechanism = "ladder"
    statistic: Statistic[Data]
    loss: Loss
    rate: Fraction
    interval: LadderInterval | None
    noise_name = "ladder"

    @property
    def draw_length(self) -> int:
        steps = first_reach(2 * self.statistic.global_sensitivity, self.rate)
        return (
            steps if self.interval is None else max(steps, self.interval.draw_length(self.statistic.global_sensitivity))
        )

    @property
    def step_weight(self) -> int:
        return SLOW if self.statistic.linear_time_ladder else 1

    def run(self, data: Data) -> Outcome:
        ladder = self.statistic.ladder(data)
        settled = None if ladder.top is None else ladder.top + 1
        cost, index = draw_endless(points_at_cost(ladder), 2 * ladder.global_sensitivity, settled, self.rate)
        noisy = self.statistic.answers.clamp(self.statistic.value(data) + displacement(ladder, cost, index))
        return around(self.statistic, noisy, None if self.interval is None else self.interval.half_width(ladder))

    def error_laws(self, records: Data) -> list[ErrorLaw]:
        down, up = rooms(*placed(self.statistic, records))
        cells = self._cells(self.statistic.ladder(records), max(down, up))
        return [Mixture([cells.cut(down), cells.cut(up)])]

    @property
    def prior_samples(self) -> int:
        return samples_for(self.rate)

    def worst_case_error(self, confidence: float, records: int | None = None) -> WorstCaseError:  # noqa: ARG002
        """Symmetric around the value and cut to the range."""
        between = bounded_span(self.statistic.answers)
        return WorstCaseError((between / 2.0,), (between,))

    def typical_half_widths(self, records: Data) -> tuple[float, ...] | None:
        if self.interval is None:
            return None
        bound = self.interval.quantiles(self.statistic.ladder(records)).smooth(self.interval.beta)
        width = float(bound) * float(self.interval.miss) ** -float(SPREAD)
        return (cut_half_width(width, *placed(self.statistic, records)),)

    def _cells(self, ladder: Ladder, room: float) -> Cells:
        """The law of the distance before it is cut: the centre, the rungs, and all that lies behind them."""
        reach, rate = first_reach(2 * ladder.global_sensitivity, self.rate), float(self.rate)
        if ladder.top is not None and math.isfinite(room):
            # From the top on rungs have one width, and what lies beyond the room is cut to it: one cell.
            reach = min(reach, ladder.top + math.ceil(room / ladder.global_sensitivity) + 1)
        behind = math.exp(-rate * reach) / math.expm1(rate)
        widths = rung_widths(ladder, reach)
        ends = np.concatenate([[0.0], np.cumsum(widths)])
        kept = widths > 0.0
        mass = 2.0 * widths * np.exp(-rate * np.arange(1, reach + 1))
        return Cells(
            np.concatenate([[0.0], ends[:-1][kept] + 1.0, [ends[-1] + 1.0]]),
            np.concatenate([[0.0], ends[1:][kept], [ends[-1] + ladder.global_sensitivity]]),
            np.concatenate([[1.0], mass[kept], [2.0 * ladder.global_sensitivity * behind]]),
        )


def rung_widths(ladder: Ladder, count: int) -> Floats:
    """The first rungs; of very many, some are looked at and those between interpolated, because rungs only rise."""
    if count <= _MOST_DISTANCES:
        return ladder.sensitivity_at_distance(0, count).astype(np.float64)
    places = np.unique(np.geomspace(1, count, _MOST_DISTANCES // 4).astype(np.int64) - 1)
    results = [float(ladder[int(place)]) for place in places]
    return np.interp(np.arange(count), places, results)


def points_at_cost(ladder: Ladder) -> Callable[[int, int], Sequence[int]]:
    """How many whole numbers cost first..last rungs: one for the centre, two sides of every rung."""

    def counts(first: int, last: int) -> Sequence[int]:
        widths = [2 * int(width) for width in ladder.sensitivity_at_distance(max(first - 1, 0), last)]
        return [1, *widths] if first == 0 else widths

    return counts


def displacement(ladder: Ladder, cost: int, index: int) -> int:
    """The place with this number among those of one cost, as a distance from the true value with a sign."""
    if cost == 0:
        return 0
    settled = cost - 1 if ladder.top is None else min(cost - 1, ladder.top)
    before = (
        sum(int(width) for width in ladder.sensitivity_at_distance(0, settled))
        + (cost - 1 - settled) * ladder.global_sensitivity
    )
    away = before + 1 + index // 2
    return away if index % 2 else -away
