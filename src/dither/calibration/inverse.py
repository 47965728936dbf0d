"""The inverse-sensitivity mechanism: answers are drawn by how many records must change to make them true."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
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
    """Draws a grid point z with probability proportional to ``e^{-eps cost(z) / 2}``.

    Guarantee  eps-DP: the cost of every point changes by at most 1 between neighbours.
    Theorem    McSherry-Talwar exponential mechanism; costs and ties in docs/proofs/inverse.md.
    Constants  Exact: no widening of tied records, no truncation, no float weights.
    Cost       (2/eps)(ln(grid points) + 44) ranks on either side of the target.
    """

    name = "inverse"

    def prepare(self, ask: Ask) -> Mechanism:
        only_noises(self.name, ask.noise)
        if not isinstance(ask.statistic, Layered):
            raise NotApplicable("calibration", self.name, "this query has no inverse-sensitivity shells", "smooth")
        epsilon, spent = ask.loss.exact_epsilon, Loss(ask.loss.epsilon)
        if ask.confidence is None:
            return ShellDraw(ask.statistic, spent, epsilon, None)
        end = epsilon * (1 - VALUE_SHARE) / 2
        return ShellDraw(ask.statistic, spent, epsilon * VALUE_SHARE, Ends(end, 1 - ask.confidence))


@dataclass(frozen=True)
class Ends:
    """Private error bars for an order statistic: one further draw for each end.

    Candidates for the upper end lie at geometrically growing distances above the (already released) answer, the
    last one is the upper bound.  Records are rounded up to candidates, and the candidate at rank r + t is drawn
    by inverse sensitivity.  A candidate below the true value has cost above t, the right one has cost 1: with K
    candidates an end falls short with probability below ``K e^{-eps t / 2}``, for all data, and t is chosen
    from public facts to make that half of what the confidence allows (docs/proofs/error-bars.md).
    """

    epsilon: Fraction
    miss: Fraction

    def draw(self, statistic: Any, data: Any, answer: int) -> tuple[int, int]:
        """Both ends, in grid steps."""
        low, high = statistic.answers.ends
        return (
            -self._beyond(statistic, data, -answer, -low, mirrored=True),
            self._beyond(statistic, data, answer, high, mirrored=False),
        )

    def _beyond(self, statistic: Any, data: Any, answer: int, bound: int, *, mirrored: bool) -> int:
        """The upper end; for the lower end everything is mirrored at zero."""
        candidates = [answer + distance for distance in distances(bound - answer)]
        rate = self.epsilon / 2
        # In the mirrored data the rank counts from the top.
        rank = statistic.records + 1 - statistic.rank if mirrored else statistic.rank
        extra = math.ceil((math.log(len(candidates)) - math.log(float(self.miss))) / float(rate))
        if rank + extra > statistic.records:
            return bound
        target = rank + extra
        if mirrored:
            covered = [statistic.records - count for count in statistic.at_most(data, [-c - 1 for c in candidates])]
        else:
            covered = statistic.at_most(data, candidates)
        costs = [
            target - upper if upper < target else max(lower - target + 1, 1)
            for lower, upper in zip([0, *covered], covered, strict=False)
        ]
        return candidates[draw_index(costs, rate)]


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
    epsilon: Fraction
    ends: Ends | None
    noise_name = "exponential"

    def run(self, data: Any) -> Outcome:
        shells = self.statistic.shells(data)  # type: ignore[attr-defined]
        cost, index = draw_rung(shells.counts, shells.total, self.epsilon / 2)
        answer = shells.point(cost, index)
        return Outcome(answer, None if self.ends is None else self.ends.draw(self.statistic, data, answer))
