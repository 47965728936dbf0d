"""The laws of answers that are drawn by cost: inverse sensitivity (``inverse``) and rungs of a ladder (``ladder``)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from dither.mechanisms.mechanism import Prepared
from dither.numbers import Ball, ball, precision, upper_float
from dither_lab.audit.laws.facts import D, Facts
from dither_lab.audit.laws.outputs import ListedDistribution, Outputs
from dither_lab.audit.laws.registry import Answer, IndependentLaw, Pair, WorstPair, output_law

BITS = 160
Place = TypeVar("Place")


@dataclass
class Costs:
    """How much of each answer's weight lies at which cost, in whole numbers.

    An answer has weight ``sum_t held[t] e^{-rate t}``; the two ends of the grid also hold ``tail[1] e^{-rate t}`` for
    every t from ``tail[0]`` on.
    """

    rate: Fraction
    held: dict[int, dict[int, int]]
    ends: tuple[int, int]
    tail: tuple[int, int] | None = None

    def law(self) -> dict[int, float]:
        """The probabilities in floats."""
        rate = float(self.rate)
        weights = {
            point: math.fsum(count * math.exp(-rate * cost) for cost, count in costs.items())
            for point, costs in self.held.items()
        }
        if self.tail is not None:
            outside = self.tail[1] * math.exp(-rate * self.tail[0]) / -math.expm1(-rate)
            for end in self.ends:
                weights[end] += outside
        return normalised(weights)

    def balls(self) -> dict[int, Ball]:
        """The probabilities as balls that hold the true ones."""
        powers: dict[int, Ball] = {}

        def power(cost: int) -> Ball:
            if cost not in powers:
                powers[cost] = (-ball(self.rate) * cost).exp()
            return powers[cost]

        weights: dict[int, Ball] = {
            point: sum((count * power(cost) for cost, count in costs.items()), ball(0))
            for point, costs in self.held.items()
        }
        if self.tail is not None:
            outside = self.tail[1] * power(self.tail[0]) / (1 - power(1))
            for end in self.ends:
                weights[end] += outside
        total = sum(weights.values(), ball(0))
        return {point: weight / total for point, weight in weights.items()}


def normalised(weights: dict[Place, float]) -> dict[Place, float]:
    """Weights as probabilities."""
    total = math.fsum(weights.values())
    return {point: weight / total for point, weight in weights.items()}


def point_weights(edges: Sequence[int], weights: Sequence[int]) -> dict[int, int]:
    """A public measure on a grid, point by point, from the first points of its segments and the weights in them."""
    return {
        point: weight
        for first, after, weight in zip(edges, edges[1:], weights, strict=False)
        for point in range(first, after)
    }


class _Drawn(IndependentLaw):
    """Answers with whole-number costs: their probabilities are computed in balls."""

    every_point = True

    @abstractmethod
    def costs(self, prepared: Any, facts: Facts[D], data: D) -> Costs:
        """Every answer by cost."""

    def outputs(self, prepared: Any, facts: Facts[D], data: D) -> Outputs:
        return Outputs((facts.value(data),), (ListedDistribution(self.costs(prepared, facts, data).law()),))

    def worst_pair(self, prepared: Any, facts: Facts[D], pairs: list[Pair[D]]) -> WorstPair[D]:
        laws: dict[int, dict[int, Ball]] = {}
        with precision(BITS):

            def law(data: D) -> dict[int, Ball]:
                if id(data) not in laws:
                    laws[id(data)] = {z: p.log() for z, p in self.costs(prepared, facts, data).balls().items()}
                return laws[id(data)]

            best, most = (-math.inf, pairs[0]), -math.inf
            for here, there in pairs:
                ratios = [p - law(there)[z] for z, p in law(here).items()]
                least = max(float(r.lower()) for r in ratios)
                most = max(most, *(upper_float(r) for r in ratios))
                if least > best[0]:
                    best = (least, (here, there))
        return max(best[0], 0.0), max(most, 0.0), best[1]

    def weakened(self, prepared: Any, factor: Fraction) -> Prepared:
        return replace(prepared, rate=prepared.rate / factor)  # type: ignore[no-any-return]


@output_law("inverse")
class InverseLaw(_Drawn):
    """``m(z) e^{-rate cost(z)}``, cost(z) the least k with ``R_{-k} <= z <= R_k`` (docs/proofs/inverse.md).

    For extremes, whose costs are counts of one tail, the value itself costs 1 and not 0.
    """

    proof = "inverse"

    def costs(self, prepared: Any, facts: Facts[D], data: D) -> Costs:
        low, high = facts.statistic.answers.ends
        lowest, highest = facts.reachable(data)
        least = 1 if facts.statistic.monotone_cost else 0
        weights = point_weights(prepared.measure.edges, prepared.measure.weights)
        held: dict[int, dict[int, int]] = {}
        for point in range(low, high + 1):
            changes = next(
                k
                for k in range(max(len(lowest), len(highest)))
                if lowest[min(k, len(lowest) - 1)] <= point <= highest[min(k, len(highest) - 1)]
            )
            held[point] = {max(changes, least): weights[point]}
        return Costs(prepared.rate, held, (low, high))

    def answers(self, prepared: Any, facts: Facts[D], data: D) -> dict[Answer, float]:
        chances, interval = self.costs(prepared, facts, data).law(), prepared.interval
        if interval is None:
            return {(answer,): p for answer, p in chances.items()}
        joint: dict[Answer, float] = {}
        for answer, p in chances.items():
            drawn = half_width_law(interval.epsilon, interval.miss, facts, data, answer)
            joint |= {(answer, *ends): p * chance for ends, chance in drawn.items()}
        return joint

    def interval_for_free(self, prepared: Any, factor: Fraction) -> Prepared | None:
        if prepared.interval is None:
            return None
        interval = replace(prepared.interval, epsilon=prepared.interval.epsilon * factor)
        return replace(prepared, interval=interval)  # type: ignore[no-any-return]


def half_width_law(
    epsilon: Fraction,
    miss: Fraction,
    facts: Facts[D],
    data: D,
    answer: int,
    *,
    rate: float | None = None,
    signed: bool = True,
) -> dict[tuple[int, int], float]:
    """The probabilities of the intervals around an answer (docs/proofs/intervals.md, section 3).

    Candidates reach distances that grow by a third.  The margin of one is the most changes that cannot take the value
    out of it, -1 or less where the value is outside; with t public, candidate j weighs ``(1 + 1/m)^j`` and costs
    ``max(0, t - p_j, p_{j-1} - t + 1)``.  (The published mechanism cuts costs where their weight is below e^-27.)

    ``rate``, ``signed``: two mistakes, another rate than epsilon/2, and as a margin the number of changes that take the
    value out, which is 0 for every interval that misses.
    """
    low, high = facts.statistic.answers.ends
    falls = float(epsilon) / 2.0 if rate is None else rate
    away = [0]
    while away[-1] < max(high - answer, answer - low):
        away.append(max(away[-1] + 1, away[-1] * 4 // 3))
    lowest, highest = facts.reachable(data)
    changes = len(highest) - 1, len(lowest) - 1
    least = math.log(float(miss))
    for m in (6, 12, 24, 48):
        narrower = m * (1.0 - (m / (m + 1)) ** (len(away) - 1))
        target = max(math.ceil((math.log(narrower) - least) / falls) - 1, 0) if narrower > float(miss) else 0
        room = min((change for change in changes if change > target), default=math.inf)
        if (len(away) - 1) * math.log(1 + 1 / m) + math.log(m + 1) + 3.0 <= falls * (room - target):
            break
    upper_ends = [high if target >= changes[0] else min(answer + distance, high) for distance in away]
    lower_ends = [low if target >= changes[1] else max(answer - distance, low) for distance in away]
    nested = list(dict.fromkeys(zip(lower_ends, upper_ends, strict=True)))

    def kept(values: list[int], behind: list[int], end: int, bound: int) -> float:
        """The most changes that keep within one end; of values that rise."""
        if end >= bound:
            return math.inf
        inside = [k for k, value in enumerate(values) if value <= end]
        if inside:
            return inside[-1]
        # Outside: so many changes are needed to bring the value in.
        return -next(k for k, value in enumerate(behind) if value <= end)

    def margin(ends: tuple[int, int]) -> float:
        above = kept(highest, lowest, ends[1], high)
        below = kept([-v for v in lowest], [-v for v in highest], -ends[0], -low)
        return min(above, below) if signed else max(min(above, below) + 1, 0)

    logs, before = [], -math.inf
    for place, ends in enumerate(nested):
        now = margin(ends)
        cost = max(0.0, target - now, before - target + 1)
        logs.append(place * math.log(1 + 1 / m) - falls * cost)
        before = now
    return normalised({ends: math.exp(log - max(logs)) for ends, log in zip(nested, logs, strict=True)})


@output_law("ladder")
class LadderLaw(_Drawn):
    """The value has weight 1, the ``2 U_{t-1}`` points of rung t have weight ``e^{-rate t}`` each (Zhang et al. 2015).

    Rungs follow each other on both sides without end; what lies outside the grid is moved to its ends.
    """

    proof = "ladder_mechanism"

    def costs(self, prepared: Any, facts: Facts[D], data: D) -> Costs:
        low, high = facts.statistic.answers.ends
        value, widest = facts.value(data), facts.global_sensitivity
        widths = facts.sensitivities(data, min(facts.settled(data), high - low + 1))
        held: dict[int, dict[int, int]] = {point: {} for point in range(low, high + 1)}
        held[value][0] = 1
        reached, cost = 0, 1
        while reached <= high - low or cost <= len(widths):
            width = widths[cost - 1] if cost <= len(widths) else widest
            for away in range(reached + 1, reached + width + 1):
                for point in (value - away, value + away):
                    costs = held[min(max(point, low), high)]
                    costs[cost] = costs.get(cost, 0) + 1
            reached, cost = reached + width, cost + 1
            if not widest:
                break
        return Costs(prepared.rate, held, (low, high), (cost, widest))

    def answers(self, prepared: Any, facts: Facts[D], data: D) -> dict[Answer, float] | None:
        if prepared.interval is not None:
            return None
        return {(answer,): p for answer, p in self.costs(prepared, facts, data).law().items()}
