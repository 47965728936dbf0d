"""Private intervals for answers that were drawn by inverse sensitivity."""

from __future__ import annotations

import functools
import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import cast

from dither.accounting.concentrated import bounded_range
from dither.noise.discrete_exponential import draw_index, window
from dither.privacy import Concentrated
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.reachable import HasReachableValues
from dither.statistics.statistic import Statistic

GROWTH = Fraction(4, 3)
"""Candidate ends of an interval lie at distances that grow by this factor from the answer."""


def chain_of(statistic: Statistic[Data]) -> HasReachableValues[Data]:
    """The same statistic, as one with reachable values: mechanisms that draw along them serve no other."""
    return cast("HasReachableValues[Data]", statistic)


@dataclass(frozen=True)
class Ends:
    """Private intervals: one further draw for each end.

    Candidates for the upper end lie at geometrically growing distances above the (already released) answer, the last
    one is the end of the grid.  The candidate that holds R_t of the chain is drawn by inverse sensitivity.  A candidate
    below the true value R_0 has cost above t, the right one costs nothing: with K candidates an end falls short with
    probability below ``K e^{-eps (t + 1) / 2}``, for all data, and t is chosen from public facts to make that what the
    confidence allows.  Only the end on the far side of the true value can fall short, so the two need not share the
    allowance (docs/proofs/intervals.md).
    """

    epsilon: Fraction
    miss: Fraction

    @property
    def concentrated(self) -> Concentrated:
        """Of both ends: each is a draw by costs that move by at most 1 either way."""
        return bounded_range(self.epsilon) + bounded_range(self.epsilon)

    def draw(self, statistic: Statistic[Data], data: Data, answer: int) -> tuple[int, int]:
        """Both ends, in grid steps."""
        return self._end(statistic, data, answer, upper=False), self._end(statistic, data, answer, upper=True)

    def reach(self, points: int) -> int:
        """How far along the chain the draws look at most: public."""
        places, rate = len(distances(points)), self.epsilon / 2
        target = math.ceil((math.log(places) - math.log(float(self.miss))) / float(rate))
        return 2 * target + window(places, rate) + 1

    def _end(self, statistic: Statistic[Data], data: Data, answer: int, *, upper: bool) -> int:
        places, costs = self.candidates(statistic, data, answer, upper=upper)
        return places[draw_index(costs, self.epsilon / 2)]

    def typical_half_width(self, statistic: Statistic[Data], data: Data) -> float:
        """The expected distance of the two ends that are drawn around the true value, halved; in floats, for quotes."""
        value = chain_of(statistic).reachable_values(data).values(0, 0)[0]
        rate, away = float(self.epsilon / 2), 0.0
        for upper in (False, True):
            places, costs = self.candidates(statistic, data, value, upper=upper)
            weights = [math.exp(-rate * cost) for cost in costs]
            drawn = math.fsum(weight * abs(place - value) for weight, place in zip(weights, places, strict=True))
            away += drawn / math.fsum(weights)
        return away / 2.0

    def candidates(
        self, statistic: Statistic[Data], data: Data, answer: int, *, upper: bool
    ) -> tuple[list[int], list[int]]:
        """The candidates for one end (public) and their costs (private)."""
        low, high = statistic.answers.ends
        away = distances(high - answer if upper else answer - low)
        places = [answer + distance if upper else answer - distance for distance in away]
        rate = float(self.epsilon / 2)
        target = math.ceil((math.log(len(places)) - math.log(float(self.miss))) / rate) - 1
        reachable = chain_of(statistic).reachable_values(data)
        if target >= (reachable.top if upper else -reachable.bottom):
            return places[-1:], [0]
        # Costs beyond a public reach are cut there: still 1-Lipschitz, and only a window of the chain is needed.
        # No cost exceeds the number of links on either side of the target.
        behind, ahead = (-reachable.bottom, reachable.top) if upper else (reachable.top, -reachable.bottom)
        looked = target + window(len(places), self.epsilon / 2)
        reach = min(looked, max(target + behind, ahead - target + 1))
        first, last = target - reach, target + reach
        if upper:
            links = reachable.values(first, last)
            held = [first + bisect_right(links, place) - 1 for place in places]
        else:
            links = [-link for link in reversed(reachable.values(-last, -first))]
            held = [first + bisect_right(links, -place) - 1 for place in places]
        costs = [
            target - now if now < target else max(before - target + 1, 0)
            for before, now in pairwise([first - 1, *held])
        ]
        return places, [min(cost, reach) for cost in costs]


def distances(farthest: int) -> list[int]:
    """0, 1, 2, ... growing by a third each time, up to ``farthest``: public once the answer is."""
    growing = _growing(max(farthest, 1).bit_length())
    return [*growing[: bisect_left(growing, farthest)], farthest] if farthest > 0 else [0]


@functools.lru_cache(maxsize=64)
def _growing(bits: int) -> list[int]:
    """The distances up to 2**bits."""
    reached = [0, 1]
    while reached[-1] < 1 << bits:
        reached.append(max(reached[-1] + 1, reached[-1] * GROWTH.numerator // GROWTH.denominator))
    return reached
