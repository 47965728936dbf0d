"""The inverse-sensitivity mechanism: answers are drawn by how many records must change to make them true."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dither.calibration.mechanism import Ask, Calibration, Mechanism, Outcome, only_noises
from dither.errors import NotApplicable
from dither.noise.rungs import draw_index, draw_rung
from dither.privacy import Loss
from dither.queries.statistic import Layered, Statistic

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
            raise NotApplicable("calibration", self.name, "this query has no inverse-sensitivity shells", "smooth")
        epsilon, spent = ask.loss.exact_epsilon, Loss(ask.loss.epsilon)
        ends = None
        if ask.confidence is not None:
            ends = Ends(epsilon * (1 - VALUE_SHARE) / 2, 1 - ask.confidence)
            epsilon *= VALUE_SHARE
        return ShellDraw(ask.statistic, spent, epsilon if ask.statistic.one_sided else epsilon / 2, ends)


@dataclass(frozen=True)
class Ends:
    """Private error bars for an order statistic: one further draw for each end.

    Candidates for the upper end lie at geometrically growing distances above the (already released) answer, the
    last one is the upper bound.  Records are rounded up to candidates, and the candidate at rank r + t is drawn
    by inverse sensitivity.  A candidate below the true value has cost above t, the right one has cost 1: with K
    candidates an end falls short with probability below ``K e^{-eps t / 2}``, for all data, and t is chosen
    from public facts to make that what the confidence allows.  Only the end on the far side of the true value
    can fall short, so the two need not share the allowance (docs/proofs/error-bars.md).
    """

    epsilon: Fraction
    miss: Fraction

    def draw(self, statistic: Any, data: Any, answer: int) -> tuple[int, int]:
        """Both ends, in grid steps."""
        return self._end(statistic, data, answer, upper=False), self._end(statistic, data, answer, upper=True)

    def _end(self, statistic: Any, data: Any, answer: int, *, upper: bool) -> int:
        candidates, costs = self.candidates(statistic, data, answer, upper=upper)
        return candidates[draw_index(costs, self.epsilon / 2)]

    def candidates(self, statistic: Any, data: Any, answer: int, *, upper: bool) -> tuple[list[int], list[int]]:
        """The candidates for one end (public) and their costs (private)."""
        low, high = statistic.answers.ends
        away = distances(high - answer if upper else answer - low)
        places = [answer + distance if upper else answer - distance for distance in away]
        # Counted from the end of the data that lies behind the answer.
        rank = statistic.rank if upper else statistic.records + 1 - statistic.rank
        extra = math.ceil((math.log(len(places)) - math.log(float(self.miss))) / float(self.epsilon / 2))
        if rank + extra > statistic.records:
            return places[-1:], [1]
        target = rank + extra
        if upper:
            covered = statistic.at_most(data, places)
        else:
            covered = [statistic.records - count for count in statistic.at_most(data, [place - 1 for place in places])]
        costs = [
            target - reached if reached < target else max(before - target + 1, 1)
            for before, reached in pairwise([0, *covered])
        ]
        return places, costs


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
class ShellDraw(Mechanism):
    """One draw from the shells, and two for the ends of the bar."""

    statistic: Statistic
    loss: Loss
    rate: Fraction
    ends: Ends | None
    noise_name = "exponential"

    def run(self, data: Any) -> Outcome:
        shells = self.statistic.shells(data)  # type: ignore[attr-defined]
        cost, index = draw_rung(shells.counts, shells.total, self.rate)
        answer = shells.point(cost, index)
        return Outcome(answer, None if self.ends is None else self.ends.draw(self.statistic, data, answer))
