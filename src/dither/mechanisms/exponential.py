"""Grid points by how many records must change to reach them, and draws from them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dither.mechanisms.base_measure import Measure
from dither.mechanisms.interval_endpoints import Ends
from dither.mechanisms.mechanism import SLOW, Outcome, Prepared
from dither.noise.discrete_exponential import draw_rung, window
from dither.privacy import Loss
from dither.sensitivity.reachable import ReachableValues
from dither.statistics.statistic import Statistic


@dataclass(frozen=True)
class Shells:
    """The grid points by cost, from a chain: shell t + offset holds (R_{t-1}, R_t] and [R_{-t}, R_{-t+1}).

    The value R_0 has a shell of its own (offset 1), or for one-sided chains shares the first one (offset 0): there all
    costs must move the same way (docs/proofs/inverse.md).  Points count with their weight in a public measure.
    """

    reachable_values: ReachableValues
    offset: int
    measure: Measure

    @property
    def rungs(self) -> int:
        """The number of shells that can hold a point: public."""
        return max(self.reachable_values.top, -self.reachable_values.bottom) + self.offset

    def counts(self, first: int, last: int) -> list[int]:
        """The weights of costs first..last (from 1)."""
        inner, outer, below = max(first - self.offset, 1), last - self.offset, self.measure.below
        sizes = []
        if outer >= inner:
            above = self.measure.below_each([link + 1 for link in self.reachable_values.values(inner - 1, outer)])
            under = self.measure.below_each(self.reachable_values.values(-outer, 1 - inner))
            sizes = [
                far - near + low - lower
                for (near, far), (lower, low) in zip(pairwise(above), reversed(list(pairwise(under))), strict=True)
            ]
        if first == 1:
            centre = self.reachable_values.values(0, 0)[0]
            own = below(centre + 1) - below(centre)
            sizes = [own, *sizes] if self.offset else [sizes[0] + own, *sizes[1:]]
        return sizes

    def point(self, cost: int, index: int) -> int:
        """The point of a cost that holds a place in its weight."""
        steps, below = cost - self.offset, self.measure.below
        if steps:
            low, high = (below(link) for link in self.reachable_values.values(-steps, 1 - steps))
            if index < high - low:
                return self.measure.at(low + index)
            index -= high - low
            near, far = (below(link + 1) for link in self.reachable_values.values(steps - 1, steps))
            if index < far - near:
                return self.measure.at(near + index)
        return self.reachable_values.values(0, 0)[0]


@dataclass(frozen=True)
class ExponentialDraw(Prepared):
    """One draw from the shells, and two for the ends of the bar."""

    statistic: Statistic
    loss: Loss
    rate: Fraction
    ends: Ends | None
    measure: Measure
    noise_name = "exponential"

    @classmethod
    def of(cls, statistic: Any, loss: Loss, epsilon: Fraction, ends: Ends | None) -> ExponentialDraw:
        """The draw that spends ``epsilon`` on the answer: extremes have the sharper rate and a leaning measure."""
        grid_ends = statistic.answers.ends
        if not statistic.one_sided:
            return cls(statistic, loss, epsilon / 2, ends, Measure.even(grid_ends))
        down = statistic.leans_down
        measure = Measure.even(grid_ends) if down is None else Measure.leaning(grid_ends, epsilon, down=down)
        return cls(statistic, loss, epsilon, ends, measure)

    @property
    def rungs(self) -> int:
        steps = window(self.measure.total, self.rate)
        # Both ends look at links alone, which weigh half as much as shells.
        return steps if self.ends is None else max(steps, self.ends.reach(self.statistic.answers.points) // 2)

    @property
    def rung_weight(self) -> int:
        return SLOW if getattr(self.statistic, "slow_links", False) else 1

    @property
    def reach(self) -> int:
        ranks = window(self.measure.total, self.rate)
        return ranks if self.ends is None else max(ranks, self.ends.reach(self.statistic.answers.points))

    def shells(self, data: Any) -> Shells:
        """The grid points by cost: private."""
        statistic: Any = self.statistic
        return Shells(statistic.reachable_values(data), 0 if statistic.one_sided else 1, self.measure)

    def run(self, data: Any) -> Outcome:
        shells = self.shells(data)
        answer = shells.point(*draw_rung(shells.counts, self.measure.total, shells.rungs, self.rate))
        return Outcome(answer, None if self.ends is None else self.ends.draw(self.statistic, data, answer))
