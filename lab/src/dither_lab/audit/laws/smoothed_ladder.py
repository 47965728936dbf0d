"""The law of draws along a smoothed ladder (``smoothed_ladder``), and four ways to break it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from dither.mechanisms.mechanism import Prepared
from dither.numbers import Ball, ball, precision, upper_float
from dither.queries.order import Minimum
from dither.queries.smallest import ChainSum
from dither_lab.audit.imitation import broken_draw
from dither_lab.audit.laws.facts import D, Facts
from dither_lab.audit.laws.outputs import Distribution, ListedDistribution, Noisy, Outputs
from dither_lab.audit.laws.registry import Answer, IndependentLaw, Mutant, Pair, WorstPair, output_law
from dither_lab.audit.laws.tails import Floats, Tail
from dither_lab.audit.universes import Universe, chain_universe, column_universe

BITS = 160


@dataclass(frozen=True)
class Stairs:
    """The widths of the first rungs, and of all that follow, around a value."""

    value: int
    widths: list[Ball]
    widest: Ball

    def floats(self) -> tuple[list[float], float]:
        """Both."""
        return [float(width) for width in self.widths], float(self.widest)


def tail_along(widths: list[float], widest: float, rate: float) -> Tail:
    """P(distance > d) where the density at d is proportional to ``e^{-rate k(d)}``, k counting rungs."""
    starts = [math.fsum(widths[:k]) for k in range(len(widths) + 1)]
    pieces = [width * math.exp(-rate * k) * -math.expm1(-rate) / rate for k, width in enumerate(widths)]
    pieces.append(widest * math.exp(-rate * len(widths)) / rate)
    total = math.fsum(pieces)

    def beyond(d: float) -> float:
        k = max(i for i, start in enumerate(starts) if start <= d)
        if k == len(widths):
            return pieces[-1] * math.exp(-rate * (d - starts[k]) / widest) / total
        # From d to the end of its rung, and all later rungs.
        here = widths[k] / rate * (math.exp(-rate * (k + (d - starts[k]) / widths[k])) - math.exp(-rate * (k + 1)))
        return math.fsum([here, *pieces[k + 1 :]]) / total

    def tail(distances: Floats) -> Floats:
        return np.asarray(np.vectorize(beyond, otypes=[float])(distances))

    return tail


class _Density:
    """One density in balls: where its rungs end, on which line each piece lies, and the logarithm of its integral."""

    def __init__(self, stairs: Stairs, rate: Fraction) -> None:
        self.value, self.rate, self.widest = stairs.value, ball(rate), stairs.widest
        self.widths = [*stairs.widths, stairs.widest]
        self.starts = [ball(0)]
        for width in stairs.widths:
            self.starts.append(self.starts[-1] + width)
        self.middles = [float(start) for start in self.starts]
        fall = (-self.rate).exp()
        weights = [width * fall**k for k, width in enumerate(stairs.widths)]
        self.log_total = sum(weights, stairs.widest * fall ** len(weights) / (1 - fall)).log()

    def rungs(self, distance: Ball) -> Ball:
        """k(distance).  Widths rise, so k is concave: the least of its lines, near the place where it is met."""
        place = int(np.searchsorted(self.middles, float(distance), side="right")) - 1
        near = range(max(place - 1, 0), min(place + 2, len(self.widths)))
        lines = [k + (distance - self.starts[k]) / self.widths[k] for k in near]
        least = lines[0]
        for line in lines[1:]:
            least = least.min(line)
        return least


def _largest_ratio(here: _Density, there: _Density) -> tuple[float, float]:
    """Bounds on the largest log-ratio of two densities: linear between ends of rungs, constant beyond the last."""
    if not here.widest.overlaps(there.widest):
        return math.inf, math.inf
    shift = here.log_total - there.log_total
    least, most = -math.inf, -math.inf
    for item in (here, there):
        for sign in (1, -1):
            for start in item.starts:
                place = item.value + sign * start
                apart = here.rungs(abs(place - here.value)) - there.rungs(abs(place - there.value))
                ratio = -here.rate * apart - shift
                least, most = max(least, float(ratio.lower())), max(most, upper_float(ratio))
    return least, most


@dataclass(frozen=True)
class LadderRate:
    """The public parameters of a draw along a smoothed ladder."""

    rate: Fraction
    beta: Fraction


class DrawnAlongLadder(Protocol):
    """What is read of a draw: how fast its density falls and how smooth its ladder is."""

    @property
    def rate(self) -> Fraction: ...
    @property
    def beta(self) -> Fraction: ...


def densities_apart(here: Stairs, there: Stairs, rate: Fraction) -> tuple[float, float]:
    """Bounds on the largest log-ratio of the densities along two stairs."""
    return _largest_ratio(_Density(here, rate), _Density(there, rate))


@output_law("smoothed_ladder")
class SmoothedLadderLaw(IndependentLaw):
    """Density proportional to ``e^{-rate k(|z - f(x)|)}`` on the whole line (docs/proofs/smoothed_ladder.md).

    ``V_k = max_j e^{-beta j} U_{k+j}``, k(d) the number of rungs of widths V_0, V_1, ... up to distance d; the answer
    is rounded to the nearest step and then clamped.
    """

    proof = "smoothed_ladder"

    def rungs(self, facts: Facts[D], data: D) -> tuple[list[Fraction], Fraction]:
        """U_0, U_1, ... up to where they settle, and what they settle at; none counts as less than a public floor."""
        widest = Fraction(facts.global_sensitivity)
        least = min(widest / 2**64, Fraction(1))
        settled = max(facts.settled(data), 1)
        return [max(Fraction(sensitivity), least) for sensitivity in facts.sensitivities(data, settled)], widest

    def stairs(self, prepared: DrawnAlongLadder, facts: Facts[D], data: D) -> Stairs:
        """The smoothed rungs, by their definition."""
        result, widest = self.rungs(facts, data)
        every = [ball(sensitivity) for sensitivity in (*result, widest)]
        weights = [(-ball(prepared.beta) * j).exp() for j in range(len(every))]
        widths = []
        for k in range(len(result)):
            width = every[k]
            for j in range(1, len(every) - k):
                if weights[j] * every[-1] <= width:
                    break  # no later rung can be the maximum
                width = width.max(weights[j] * every[k + j])
            widths.append(width)
        return Stairs(facts.value(data), widths, ball(widest))

    def distribution(self, prepared: DrawnAlongLadder, facts: Facts[D], data: D) -> Distribution:
        """Of the answer."""
        grid = facts.statistic.answers
        with precision(BITS):
            stairs = self.stairs(prepared, facts, data)
            tail = tail_along(*stairs.floats(), float(prepared.rate))
        return Noisy(stairs.value, 1.0, grid.low, grid.high, tail)

    def outputs(self, prepared: Any, facts: Facts[D], data: D) -> Outputs:
        return Outputs((facts.value(data),), (self.distribution(prepared, facts, data),))

    def answers(self, prepared: Any, facts: Facts[D], data: D) -> dict[Answer, float] | None:
        if prepared.confidence is not None:
            return None
        result: Any = self.distribution(prepared, facts, data)
        return {(answer,): p for answer, p in result.chances().items()}

    def worst_pair(self, prepared: Any, facts: Facts[D], pairs: list[Pair[D]]) -> WorstPair[D]:
        """The log-ratio of the two densities is linear between the ends of rungs, and constant far out."""
        with precision(BITS):
            known: dict[int, _Density] = {}

            def density(data: D) -> _Density:
                if id(data) not in known:
                    known[id(data)] = _Density(self.stairs(prepared, facts, data), prepared.rate)
                return known[id(data)]

            best, most = (-math.inf, pairs[0]), -math.inf
            for pair in pairs:
                least, upper = _largest_ratio(density(pair[0]), density(pair[1]))
                most = max(most, upper)
                best = max(best, (least, pair), key=lambda result: result[0])
        extra = float(prepared.interval_epsilon or 0)
        return max(best[0], 0.0) + extra, max(most, 0.0) + extra, best[1]

    def weakened(self, prepared: Any, factor: Fraction) -> Prepared:
        return replace(prepared, rate=prepared.rate / factor)  # type: ignore[no-any-return]

    def interval_for_free(self, prepared: Any, factor: Fraction) -> Prepared | None:
        if prepared.interval_epsilon is None:
            return None
        return replace(prepared, interval_epsilon=prepared.interval_epsilon * factor)  # type: ignore[no-any-return]

    def mutants(self, prepare: Callable[[Universe], Any]) -> Iterator[Mutant]:
        cliff = chain_universe(ChainSum([1] * 22 + [2], step=1), 23)
        smallest = column_universe(Minimum(bounds=(0, 4)), range(5), 5)
        for law, universe in (
            (WholeRungs(), cliff),
            (Renormalised(), smallest),
            (RepeatedLast(), smallest),
            (ShortWindow(), smallest),
        ):
            yield Mutant(law.mistake, universe, broken_draw(prepare(universe), law, universe.enumerated()), law)


class _BrokenLaw(SmoothedLadderLaw):
    """The same claim, and one mistake."""

    mistake: str

    def mutants(self, prepare: Callable[[Universe], Any]) -> Iterator[Mutant]:  # noqa: ARG002
        return iter(())


class WholeRungs(_BrokenLaw):
    """Whole-number rungs in the law of the ladder mechanism, at the rate of the smoothed one.

    Rounding up makes widths jump by more than e^beta between neighbours, and with them the sum of all weights.
    """

    mistake = "smoothed rungs rounded to whole numbers"

    def distribution(self, prepared: DrawnAlongLadder, facts: Facts[D], data: D) -> ListedDistribution:
        low, high = facts.statistic.answers.ends
        with precision(BITS):
            widths, widest = self.stairs(prepared, facts, data).floats()
        whole, rate = [math.ceil(width * (1 - 1e-12)) for width in widths], float(prepared.rate)
        value = facts.value(data)
        weights = dict.fromkeys(range(low, high + 1), 0.0)
        weights[value] = 1.0
        reached, cost = 0, 1
        while cost <= len(whole) or rate * cost < 60.0:
            width = whole[cost - 1] if cost <= len(whole) else math.ceil(widest)
            for away in range(reached + 1, reached + width + 1):
                for place in (value - away, value + away):
                    weights[min(max(place, low), high)] += math.exp(-rate * cost)
            reached, cost = reached + width, cost + 1
        total = math.fsum(weights.values())
        return ListedDistribution({place: weight / total for place, weight in weights.items()})

    def worst_pair(self, prepared: Any, facts: Facts[D], pairs: list[Pair[D]]) -> WorstPair[D]:
        low, high = facts.statistic.answers.ends

        def shows(pair: Pair[D]) -> float:
            here, there = (self.distribution(prepared, facts, data) for data in pair)
            return max(math.log(_at(here, place) / _at(there, place)) for place in range(low, high + 1))

        worst = max(pairs, key=shows)
        return shows(worst), None, worst


def _at(law: Distribution, place: int) -> float:
    return 1.0 - law.below(place) - law.above(place)


class Renormalised(_BrokenLaw):
    """The density cut to the public range and divided by what is left, instead of moving answers to its ends."""

    mistake = "a density renormalised on the range"

    def _inside(self, prepared: Any, facts: Facts[D], data: D) -> tuple[float, Any]:
        """The mass inside the range, and the law on the whole line."""
        low, high = facts.statistic.answers.ends
        line: Any = super().distribution(prepared, facts, data)
        rooms = np.array([line.value - low, high - line.value], dtype=float)
        return 1.0 - float(line.tail(rooms).sum()) / 2.0, line

    def distribution(self, prepared: DrawnAlongLadder, facts: Facts[D], data: D) -> ListedDistribution:
        low, high = facts.statistic.answers.ends
        inside, line = self._inside(prepared, facts, data)
        free = replace(line, low=None, high=None)
        # The two ends of the range are half a step wide.
        ends = {end: float(line.tail(np.array(abs(end - line.value)))) / 2.0 for end in (low, high)}
        cells = {place: 1.0 - free.below(place) - free.above(place) for place in range(low, high + 1)}
        cells[low] = 1.0 - ends[low] - free.above(low)
        cells[high] = 1.0 - ends[high] - free.below(high)
        return ListedDistribution({place: max(cell, 0.0) / inside for place, cell in cells.items()})

    def worst_pair(self, prepared: Any, facts: Facts[D], pairs: list[Pair[D]]) -> WorstPair[D]:
        low, high = facts.statistic.answers.ends
        known: dict[int, tuple[float, list[float]]] = {}

        def log_densities(data: D) -> list[float]:
            if id(data) not in known:
                line = _Density(self.stairs(prepared, facts, data), prepared.rate)
                height = float(line.log_total) + math.log(self._inside(prepared, facts, data)[0])
                places = [float(line.rungs(abs(ball(place) - line.value))) for place in range(low, high + 1)]
                known[id(data)] = height, places
            height, places = known[id(data)]
            return [-float(prepared.rate) * rungs - height for rungs in places]

        def shows(pair: Pair[D]) -> float:
            here, there = (log_densities(data) for data in pair)
            return max(a - b for a, b in zip(here, there, strict=True))

        with precision(BITS):
            worst = max(pairs, key=shows)
            return shows(worst), None, worst


class RepeatedLast(_BrokenLaw):
    """A tail that repeats the last rung that was computed: beyond it the density falls at a private speed."""

    mistake = "a tail that repeats the last rung"
    kept = 2

    def rungs(self, facts: Facts[D], data: D) -> tuple[list[Fraction], Fraction]:
        every, _ = super().rungs(facts, data)
        return every[: self.kept], max(every[self.kept - 1], Fraction(1))


class ShortWindow(_BrokenLaw):
    """The maximum over the next rung alone: what lies farther enters at once, and the smoothness is lost."""

    mistake = "a maximum over a window of rungs"

    def stairs(self, prepared: DrawnAlongLadder, facts: Facts[D], data: D) -> Stairs:
        result, widest = self.rungs(facts, data)
        every = [ball(sensitivity) for sensitivity in (*result, widest)]
        fall = (-ball(prepared.beta)).exp()
        widths = [every[k].max(fall * every[k + 1]) for k in range(len(result))]
        return Stairs(facts.value(data), widths, ball(widest))
