"""Small universes, looked at completely: every dataset, every neighbour, every output."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from dither.audit.divergence import Divergence, hockey_stick
from dither.mechanisms.exponential import ExponentialDraw
from dither.mechanisms.interval_endpoints import Ends
from dither.mechanisms.ladder import LadderDraw, rung_sizes
from dither.mechanisms.mechanism import Prepared
from dither.mechanisms.smooth import SmoothNoise
from dither.mechanisms.worst_case import Scaled
from dither.numbers import Ball, ball
from dither.sources.column import Column
from dither.sources.grid import Grid
from dither.statistics.statistic import Statistic

Records = tuple[int, ...]


@dataclass(frozen=True)
class Violation:
    """A pair of neighbours for which a claim does not hold."""

    claim: str
    here: Records
    there: Records
    excess: float


def datasets(values: Sequence[int], records: int) -> list[Records]:
    """Every dataset of so many records, as sorted tuples: statistics do not see the order."""
    return list(combinations_with_replacement(sorted(values), records))


def neighbours(here: Records, values: Sequence[int]) -> Iterator[Records]:
    """Every dataset that differs in one record."""
    seen = {here}
    for index in range(len(here)):
        for value in values:
            there = tuple(sorted((*here[:index], value, *here[index + 1 :])))
            if there not in seen:
                seen.add(there)
                yield there


def as_column(records: Records, grid: Grid) -> Column:
    """A dataset as private data."""
    return Column(np.array(records, dtype=np.int64), grid)


def ladder_violations(statistic: Statistic, values: Sequence[int], records: int, rungs: int) -> list[Violation]:
    """Where the two axioms of a ladder fail; empty if they hold on the whole universe."""
    universe = datasets(values, records)
    columns = {x: as_column(x, statistic.records_on) for x in universe}
    value = {x: statistic.value(column) for x, column in columns.items()}
    climbed = {x: [int(u) for u in statistic.ladder(column).rungs(0, rungs + 1)] for x, column in columns.items()}
    found = []
    for here in universe:
        for there in neighbours(here, values):
            moved = abs(value[here] - value[there])
            if moved > climbed[here][0]:
                found.append(Violation("U_0 covers one change", here, there, moved - climbed[here][0]))
            found += [
                Violation(f"U_{k}(x) <= U_{k + 1}(y)", here, there, climbed[here][k] - climbed[there][k + 1])
                for k in range(rungs)
                if climbed[here][k] > climbed[there][k + 1]
            ]
    return found


@dataclass
class Costs:
    """The answers of a draw from shells or rungs, exactly: how much of each answer's weight lies at which cost.

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


def answer_costs(prepared: Prepared, data: Any) -> Costs:
    """The answers of a mechanism that draws from shells or rungs, by cost (its bar aside)."""
    if isinstance(prepared, LadderDraw):
        return _rung_costs(prepared, data)
    if not isinstance(prepared, ExponentialDraw):
        raise TypeError(f"{type(prepared).__name__} does not draw from shells or rungs")
    shells = prepared.shells(data)
    reachable, measure = shells.reachable_values, shells.measure
    low, high = prepared.statistic.answers.ends
    links = reachable.values(-shells.rungs, shells.rungs)
    held: dict[int, dict[int, int]] = {}
    sizes = [0] * shells.rungs
    for point in range(low, high + 1):
        changes = next(
            k for k in range(shells.rungs + 1) if links[shells.rungs - k] <= point <= links[shells.rungs + k]
        )
        cost = max(changes + shells.offset, 1)
        own = measure.below(point + 1) - measure.below(point)
        sizes[cost - 1] += own
        held[point] = {cost: own}
    if sizes != shells.counts(1, shells.rungs):
        raise ArithmeticError("the shells do not partition the grid")
    return Costs(prepared.rate, held, (low, high))


def _rung_costs(prepared: LadderDraw, data: Any) -> Costs:
    """The ladder mechanism's answers, the endless tails moved to the ends of the grid."""
    low, high = prepared.statistic.answers.ends
    value, ladder = prepared.statistic.value(data), prepared.statistic.ladder(data)
    settled = high - low + 1 if ladder.top is None else ladder.top
    sizes = rung_sizes(ladder)(0, settled)
    held: dict[int, dict[int, int]] = {point: {} for point in range(low, high + 1)}
    held[value][0] = 1
    reached, cost = 0, 0

    def rung(width: int) -> None:
        for away in range(reached, reached + width):
            for point in (value - away - 1, value + away + 1):
                costs = held[min(max(point, low), high)]
                costs[cost] = costs.get(cost, 0) + 1

    for cost, size in enumerate(sizes):
        if cost:
            rung(size // 2)
        reached += size // 2
    # Both sides of the rungs that are as wide as the cap, whole rungs at a time where they lie outside.
    cost = len(sizes)
    while reached <= high - low:
        rung(ladder.global_sensitivity)
        reached, cost = reached + max(ladder.global_sensitivity, 1), cost + 1
    return Costs(prepared.rate, held, (low, high), (cost, ladder.global_sensitivity))


def output_law(prepared: Prepared, data: Any) -> dict[int, float]:
    """The probabilities of all answers of a mechanism that draws from shells or rungs (its bar aside)."""
    return answer_costs(prepared, data).law()


def end_law(ends: Ends, statistic: Any, data: Any, answer: int, *, upper: bool) -> dict[int, float]:
    """The exact probabilities of one end of an error bar, given the released answer."""
    candidates, costs = ends.candidates(statistic, data, answer, upper=upper)
    rate = float(ends.epsilon) / 2
    return normalised({c: math.exp(-rate * cost) for c, cost in zip(candidates, costs, strict=True)})


def normalised(weights: dict[int, float]) -> dict[int, float]:
    """Weights as probabilities."""
    total = math.fsum(weights.values())
    return {point: weight / total for point, weight in weights.items()}


def largest_log_ratio(here: dict[int, float], there: dict[int, float]) -> float:
    """The pure privacy loss between two finite output laws."""
    if here.keys() != there.keys():
        return math.inf
    return max(abs(math.log(here[point] / there[point])) for point in here)


def worst_log_ratio(
    law_of: Callable[[Records], dict[int, float]], values: Sequence[int], universe: Iterable[Records]
) -> tuple[float, Records, Records]:
    """The largest pure loss over a whole universe, and the pair that shows it."""
    laws: dict[Records, dict[int, float]] = {}

    def law(x: Records) -> dict[int, float]:
        if x not in laws:
            laws[x] = law_of(x)
        return laws[x]

    return max(
        (largest_log_ratio(law(here), law(there)), here, there)
        for here in universe
        for there in neighbours(here, values)
    )


def noise_divergence(prepared: Prepared, here: Any, there: Any) -> Divergence:
    """The divergence between the outputs of an added-noise mechanism on two datasets, before rounding."""
    if not isinstance(prepared, (SmoothNoise, Scaled)):
        raise TypeError(f"{type(prepared).__name__} does not add noise")
    statistic, point = prepared.statistic, prepared.point
    scales = [_scale(prepared, data) for data in (here, there)]
    shift = (statistic.value(there) - statistic.value(here)) / scales[0]
    return hockey_stick(point.law, shift, math.log(scales[1] / scales[0]), point.loss.epsilon)


def _scale(prepared: SmoothNoise | Scaled, data: Any) -> float:
    if isinstance(prepared, Scaled):
        return float(prepared.scale)
    bound = prepared.statistic.ladder(data, prepared.algorithm).smooth(prepared.point.beta)
    return float(bound / prepared.point.alpha)
