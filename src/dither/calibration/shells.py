"""Grid points by how many records must change to reach them, and draws from them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dither.calibration.ends import Ends
from dither.calibration.mechanism import Mechanism, Outcome
from dither.noise.rungs import draw_rung
from dither.privacy import Loss
from dither.queries.statistic import Chain, Statistic


@dataclass(frozen=True)
class Shells:
    """The grid points by cost, from a chain: shell t + offset holds (R_{t-1}, R_t] and [R_{-t}, R_{-t+1}).

    The value R_0 has a shell of its own (offset 1), or for one-sided chains shares the first one (offset 0): there all
    costs must move the same way (docs/proofs/inverse.md).
    """

    chain: Chain
    offset: int

    @property
    def rungs(self) -> int:
        """The number of shells that can hold a point: public."""
        return max(self.chain.top, -self.chain.bottom) + self.offset

    def counts(self, first: int, last: int) -> list[int]:
        """The numbers of points of costs first..last (from 1)."""
        inner, outer = max(first - self.offset, 1), last - self.offset
        sizes = []
        if outer >= inner:
            above = self.chain.values(inner - 1, outer)
            below = self.chain.values(-outer, 1 - inner)
            sizes = [
                far - near + low - lower
                for (near, far), (lower, low) in zip(pairwise(above), reversed(list(pairwise(below))), strict=True)
            ]
        if first == 1:
            sizes = [1, *sizes] if self.offset else [sizes[0] + 1, *sizes[1:]]
        return sizes

    def point(self, cost: int, index: int) -> int:
        """One of the points of a cost."""
        steps = cost - self.offset
        if steps:
            low, high = self.chain.values(-steps, 1 - steps)
            if index < high - low:
                return low + index
            index -= high - low
            near, far = self.chain.values(steps - 1, steps)
            if index < far - near:
                return near + 1 + index
        return self.chain.values(0, 0)[0]


@dataclass(frozen=True)
class ShellDraw(Mechanism):
    """One draw from the shells, and two for the ends of the bar."""

    statistic: Statistic
    loss: Loss
    rate: Fraction
    ends: Ends | None
    noise_name = "exponential"

    def shells(self, data: Any) -> Shells:
        """The grid points by cost: private."""
        statistic: Any = self.statistic
        return Shells(statistic.chain(data), 0 if statistic.one_sided else 1)

    def run(self, data: Any) -> Outcome:
        shells = self.shells(data)
        answer = shells.point(*draw_rung(shells.counts, self.statistic.answers.points, shells.rungs, self.rate))
        return Outcome(answer, None if self.ends is None else self.ends.draw(self.statistic, data, answer))
