"""The laws of answers that are drawn by cost: inverse sensitivity (``inverse``) and rungs of a ladder (``ladder``)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol, TypeVar, cast

from dither.mechanisms.mechanism import Prepared
from dither.numbers import Ball, ball, precision, upper_float
from dither.queries.order import Median, Minimum
from dither.sources.column import Column
from dither.sources.grid import Grid
from dither_lab.audit.imitation import broken_draw
from dither_lab.audit.laws.facts import D, Facts
from dither_lab.audit.laws.outputs import ListedDistribution, Outputs
from dither_lab.audit.laws.registry import Answer, IndependentLaw, Mutant, Pair, WorstPair, output_law
from dither_lab.audit.universes import Universe, column_universe

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


class _Multiples(Protocol):
    @property
    def spacing(self) -> Fraction: ...
    @property
    def first(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def weight(self) -> int: ...


class PublicMeasure(Protocol):
    """Weights of answers, the same for all data."""

    @property
    def edges(self) -> Sequence[int]: ...
    @property
    def weights(self) -> Sequence[int]: ...
    @property
    def round_numbers(self) -> Sequence[_Multiples]: ...


class Rated(Protocol):
    """Weights fall by this rate with the cost."""

    @property
    def rate(self) -> Fraction: ...


class DrawnByCost(Rated, Protocol):
    """What is public of a draw by inverse sensitivity."""

    @property
    def measure(self) -> PublicMeasure: ...
    @property
    def one_sided(self) -> bool: ...


def point_weights(measure: PublicMeasure) -> dict[int, int]:
    """A public measure on a grid, point by point, from the first points of its segments and the weights in them, and
    from what multiples of a unit weigh beside that, each at the nearest grid point."""
    result = {
        point: weight
        for first, after, weight in zip(measure.edges, measure.edges[1:], measure.weights, strict=False)
        for point in range(first, after)
    }
    for numbers in measure.round_numbers:
        for multiple in range(numbers.first, numbers.first + numbers.count):
            result[math.floor(multiple * numbers.spacing + Fraction(1, 2))] += numbers.weight
    return result


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

    In one-sided draws of extremes, whose costs are counts of one tail, the value itself costs 1 and not 0.
    """

    proof = "inverse"

    def costs(self, prepared: DrawnByCost, facts: Facts[D], data: D) -> Costs:
        low, high = facts.statistic.answers.ends
        lowest, highest = facts.reachable(data)
        least = self.cost_of_the_value(prepared)
        weights = self.weights(prepared, facts, data)
        held: dict[int, dict[int, int]] = {}
        for point in range(low, high + 1):
            changes = next(
                k
                for k in range(max(len(lowest), len(highest)))
                if lowest[min(k, len(lowest) - 1)] <= point <= highest[min(k, len(highest) - 1)]
            )
            held[point] = {max(changes, least): weights[point]}
        return Costs(prepared.rate, held, (low, high))

    def cost_of_the_value(self, prepared: DrawnByCost) -> int:
        """What the true value costs."""
        return 1 if prepared.one_sided else 0

    def weights(self, prepared: DrawnByCost, facts: Facts[D], data: D) -> dict[int, int]:  # noqa: ARG002
        """The measure: the same for all data."""
        return point_weights(prepared.measure)

    def mutants(self, prepare: Callable[[Universe], Prepared]) -> Iterator[Mutant]:
        smallest = column_universe(Minimum(bounds=(0, 6)), range(0, 7, 2), 3)
        middle = column_universe(Median(bounds=(0, 6)), range(0, 7, 2), 3)
        for law, universe in ((TwoSidedAtTheWholeRate(), smallest), (RoundWhereTheRecordIs(), middle)):
            yield Mutant(law.mistake, universe, broken_draw(prepare(universe), law, universe.enumerated()), law)

    def answers(self, prepared: Any, facts: Facts[D], data: D) -> dict[Answer, float] | None:
        chances, interval = self.costs(prepared, facts, data).law(), prepared.interval
        if interval is None:
            return {(answer,): p for answer, p in chances.items()}
        joint: dict[Answer, float] = {}
        for answer, p in chances.items():
            if interval.sampling is None:
                drawn = half_width_law(interval.epsilon, interval.miss, facts, data, answer)
            else:
                drawn = _around_ranks(interval, cast("_RankShare", facts.statistic), cast("Column", data), answer)
            joint |= {(answer, *ends): p * chance for ends, chance in drawn.items()}
        return joint

    def interval_for_free(self, prepared: Any, factor: Fraction) -> Prepared | None:
        if prepared.interval is None:
            return None
        interval = replace(prepared.interval, epsilon=prepared.interval.epsilon * factor)
        return replace(prepared, interval=interval)  # type: ignore[no-any-return]


class _BrokenInverseLaw(InverseLaw):
    """The same claim, and one mistake."""

    mistake: str

    def mutants(self, prepare: Callable[[Universe], Prepared]) -> Iterator[Mutant]:  # noqa: ARG002
        return iter(())


class TwoSidedAtTheWholeRate(_BrokenInverseLaw):
    """The value of an extreme costs less than what lies beyond it, and the rate is that of one tail alone.

    One change then raises the cost of one answer while it lowers that of others.
    """

    mistake = "a two-sided draw of an extreme at the rate of a one-sided one"

    def cost_of_the_value(self, prepared: DrawnByCost) -> int:  # noqa: ARG002
        return 0


class RoundWhereTheRecordIs(_BrokenInverseLaw):
    """The unit of round numbers is read off the records: the value itself weighs three times as much as others."""

    mistake = "round numbers that are read off the records"

    def weights(self, prepared: DrawnByCost, facts: Facts[D], data: D) -> dict[int, int]:
        value = facts.value(data)
        return {
            point: weight * (3 if point == value else 1) for point, weight in point_weights(prepared.measure).items()
        }


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
    lowest, highest = facts.reachable(data)

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

    return _nested_law(epsilon, miss, (low, high), answer, (len(highest) - 1, len(lowest) - 1), margin, rate)


class _PopulationWidth(Protocol):
    @property
    def epsilon(self) -> Fraction: ...
    @property
    def miss(self) -> Fraction: ...
    @property
    def sampling(self) -> Fraction: ...


class _RankShare(Protocol):
    @property
    def share(self) -> Fraction: ...
    @property
    def answers(self) -> Grid: ...


def _around_ranks(
    interval: _PopulationWidth, statistic: _RankShare, data: Column, answer: int
) -> dict[tuple[int, int], float]:
    """The width of an interval for the population, of a public or (where there is a bound on it) a private number."""
    records = sorted(data.values.tolist())
    return population_width_law(
        interval.epsilon,
        interval.miss,
        binomial_ranks(len(records), statistic.share, interval.sampling),
        records,
        statistic.answers.ends,
        answer,
        getattr(statistic, "most", None),
    )


def binomial_ranks(records: int, share: Fraction, miss: Fraction) -> tuple[int, int]:
    """The largest a and the least b that a binomial variable is below, and not below, rarely: by adding up terms."""
    chances = [math.comb(records, k) * share**k * (1 - share) ** (records - k) for k in range(records + 1)]
    below = max(a for a in range(records + 1) if sum(chances[:a]) <= miss / 2)
    above = min(b for b in range(1, records + 2) if sum(chances[b:]) <= miss / 2)
    return below, above


def population_width_law(
    epsilon: Fraction,
    miss: Fraction,
    ranks: tuple[int, int],
    records: Sequence[int],
    ends: tuple[int, int],
    answer: int,
    most: int | None = None,
    *,
    rate: float | None = None,
) -> dict[tuple[int, int], float]:
    """The same for intervals that are to hold the values at two ranks a and b (docs/proofs/intervals.md, section 6).

    The margin of an interval is ``min(#{x <= upper end} - b, a - 1 - #{x < lower end})``, a side at a bound infinite.

    ``most``: the public bound on the number of records, where that is private.
    """
    (lower, upper), (low, high) = ranks, ends

    def margin(held: tuple[int, int]) -> float:
        above = math.inf if held[1] >= high else sum(x <= held[1] for x in records) - upper
        below = math.inf if held[0] <= low else lower - 1 - sum(x < held[0] for x in records)
        return min(above, below)

    changes = (len(records) + 1 - upper, lower) if most is None else (most + 1, most + 1)
    return _nested_law(epsilon, miss, ends, answer, changes, margin, rate)


def _nested_law(
    epsilon: Fraction,
    miss: Fraction,
    bounds: tuple[int, int],
    answer: int,
    changes: tuple[int, int],
    margin: Callable[[tuple[int, int]], float],
    rate: float | None,
) -> dict[tuple[int, int], float]:
    """``changes``: how many take the value to the upper and to the lower bound at most, public."""
    low, high = bounds
    falls = float(epsilon) / 2.0 if rate is None else rate
    away = [0]
    while away[-1] < max(high - answer, answer - low):
        away.append(max(away[-1] + 1, away[-1] * 4 // 3))
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

    def costs(self, prepared: Rated, facts: Facts[D], data: D) -> Costs:
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
