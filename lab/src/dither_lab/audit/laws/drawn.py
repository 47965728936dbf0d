"""The laws of answers that are drawn by cost: inverse sensitivity (``inverse``) and rungs of a ladder (``ladder``)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dither.mechanisms.mechanism import Prepared
from dither.numbers import Ball, ball, precision, upper_float
from dither_lab.audit.laws.facts import D, Facts
from dither_lab.audit.laws.outputs import ListedDistribution, Outputs
from dither_lab.audit.laws.registry import Answer, IndependentLaw, Pair, WorstPair, output_law

BITS = 160


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


def normalised(weights: dict[int, float]) -> dict[int, float]:
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
        chances, ends = self.costs(prepared, facts, data).law(), prepared.ends
        if ends is None:
            return {(answer,): p for answer, p in chances.items()}
        joint: dict[Answer, float] = {}
        for answer, p in chances.items():
            lower, upper = (end_law(ends.epsilon, ends.miss, facts, data, answer, upper=up) for up in (False, True))
            joint |= {(answer, low, high): p * a * b for low, a in lower.items() for high, b in upper.items()}
        return joint

    def interval_for_free(self, prepared: Any, factor: Fraction) -> Prepared | None:
        if prepared.ends is None:
            return None
        ends = replace(prepared.ends, epsilon=prepared.ends.epsilon * factor)
        return replace(prepared, ends=ends)  # type: ignore[no-any-return]


def end_law(
    epsilon: Fraction, miss: Fraction, facts: Facts[D], data: D, answer: int, *, upper: bool
) -> dict[int, float]:
    """The probabilities of one end of an interval, given the answer (docs/proofs/intervals.md, section 3).

    Candidates c_0, c_1, ... lie at distances that grow by a third, the last one at the end of the grid.  With p(c) the
    most changes whose reach is at most c and a public t, candidate j costs ``t - p(c_j)`` or ``p(c_{j-1}) - t + 1``,
    whichever is positive, else nothing.  (The published mechanism cuts costs where their weight is below e^-44.)
    """
    low, high = facts.statistic.answers.ends
    farthest = high - answer if upper else answer - low
    away = [0]
    while away[-1] < farthest:
        away.append(min(max(away[-1] + 1, away[-1] * 4 // 3), farthest))
    places = [answer + distance if upper else answer - distance for distance in away]
    rate = float(epsilon) / 2.0
    target = math.ceil((math.log(len(places)) - math.log(float(miss))) / rate) - 1
    lowest, highest = facts.reachable(data)
    # Mirrored for the lower end, so that both are upper ends of values that rise.
    behind, ahead = (lowest, highest) if upper else ([-v for v in highest], [-v for v in lowest])
    chain, first = [*reversed(behind[1:]), *ahead], 1 - len(behind)
    if target >= len(ahead) - 1:
        return {places[-1]: 1.0}

    def most_changes(place: int) -> float:
        held = [k for k, value in enumerate(chain, first) if value <= (place if upper else -place)]
        return held[-1] if held else -math.inf

    weights, before = {}, -math.inf
    for place in places:
        now = most_changes(place)
        cost = target - now if now < target else max(before - target + 1, 0)
        weights[place], before = math.exp(-rate * cost), now
    return normalised(weights)


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
