"""The inverse-sensitivity mechanism: answers are drawn by how many records must change to make them true."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dither.calibration.mechanism import Ask, Calibration, Mechanism, Outcome, only_noises
from dither.errors import NotApplicable
from dither.noise.rungs import draw_index, draw_rung, window
from dither.privacy import Loss
from dither.queries.statistic import Chain, Layered, Statistic

VALUE_SHARE = Fraction(1, 2)
"""The part of epsilon that buys the answer when an error bar is wanted; the rest buys its two ends."""
GROWTH = Fraction(4, 3)
"""Candidate ends of a bar lie at distances that grow by this factor from the answer."""


@dataclass(frozen=True)
class Inverse(Calibration):
    """Draws a grid point z with probability proportional to ``e^{-rate cost(z)}``.

    Guarantee  eps-DP: the cost of every point changes by at most 1 between neighbours.
    Theorem    McSherry-Talwar exponential mechanism; costs and ties in docs/proofs/inverse.md.
    Constants  rate = eps/2; for minimum and maximum rate = eps, because one change moves all costs the same way.
               Exact: no widening of tied records, no truncation, no float weights.
    Cost       (ln(grid points) + 44) / rate ranks on either side of the target.
    """

    name = "inverse"

    def prepare(self, ask: Ask) -> Mechanism:
        only_noises(self.name, ask.noise)
        if not isinstance(ask.statistic, Layered):
            raise NotApplicable("calibration", self.name, "this query has no chain of reachable values", "smooth")
        epsilon, spent = ask.loss.exact_epsilon, Loss(ask.loss.epsilon)
        ends = None
        if ask.confidence is not None:
            ends = Ends(epsilon * (1 - VALUE_SHARE) / 2, 1 - ask.confidence)
            epsilon *= VALUE_SHARE
        return ShellDraw(ask.statistic, spent, epsilon if ask.statistic.one_sided else epsilon / 2, ends)


@dataclass(frozen=True)
class Ends:
    """Private error bars: one further draw for each end.

    Candidates for the upper end lie at geometrically growing distances above the (already released) answer, the last
    one is the end of the grid.  The candidate that holds R_t of the chain is drawn by inverse sensitivity.  A candidate
    below the true value R_0 has cost above t, the right one has cost 1: with K candidates an end falls short with
    probability below ``K e^{-eps t / 2}``, for all data, and t is chosen from public facts to make that what the
    confidence allows.  Only the end on the far side of the true value can fall short, so the two need not share the
    allowance (docs/proofs/error-bars.md).
    """

    epsilon: Fraction
    miss: Fraction

    def draw(self, statistic: Any, data: Any, answer: int) -> tuple[int, int]:
        """Both ends, in grid steps."""
        return self._end(statistic, data, answer, upper=False), self._end(statistic, data, answer, upper=True)

    def _end(self, statistic: Any, data: Any, answer: int, *, upper: bool) -> int:
        places, costs = self.candidates(statistic, data, answer, upper=upper)
        return places[draw_index(costs, self.epsilon / 2)]

    def candidates(self, statistic: Any, data: Any, answer: int, *, upper: bool) -> tuple[list[int], list[int]]:
        """The candidates for one end (public) and their costs (private)."""
        low, high = statistic.answers.ends
        away = distances(high - answer if upper else answer - low)
        places = [answer + distance if upper else answer - distance for distance in away]
        rate = float(self.epsilon / 2)
        target = math.ceil((math.log(len(places)) - math.log(float(self.miss))) / rate)
        chain = statistic.chain(data)
        if target >= (chain.top if upper else -chain.bottom):
            return places[-1:], [1]
        # Costs beyond a public reach are cut there: still 1-Lipschitz, and only a window of the chain is needed.
        reach = target + window(len(places), self.epsilon / 2)
        first, last = target - reach, target + reach
        if upper:
            links = chain.values(first, last)
            held = [first + bisect_right(links, place) - 1 for place in places]
        else:
            links = [-link for link in reversed(chain.values(-last, -first))]
            held = [first + bisect_right(links, -place) - 1 for place in places]
        costs = [
            target - now if now < target else max(before - target + 1, 1)
            for before, now in pairwise([first - 1, *held])
        ]
        return places, [min(cost, reach) for cost in costs]


def distances(farthest: int) -> list[int]:
    """0, 1, 2, ... growing by a third each time, up to ``farthest``: public once the answer is."""
    reached, grown = [0], 1
    while grown < farthest:
        reached.append(grown)
        grown = max(grown + 1, math.floor(grown * GROWTH))
    if farthest > 0:
        reached.append(farthest)
    return reached


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
