"""The law of means that follow a noisy count (``noisy_count``), and three ways to break it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from dither.mechanisms.mechanism import Prepared
from dither.numbers import precision
from dither.privacy import Neighbours
from dither.queries.totals import Mean
from dither_lab.audit.checks import float_bound
from dither_lab.audit.imitation import imitation
from dither_lab.audit.laws.facts import D, Facts, records_grid
from dither_lab.audit.laws.outputs import Distribution, MixtureLaw, Outputs
from dither_lab.audit.laws.registry import IndependentLaw, Mutant, Pair, WorstPair, output_law
from dither_lab.audit.laws.smoothed_ladder import BITS, LadderRate, SmoothedLadderLaw, densities_apart
from dither_lab.audit.laws.tails import Floats
from dither_lab.audit.universes import Universe, selection_universe

_FAR, _PANEL = 80.0, 1 / 64
_LADDER = SmoothedLadderLaw()


@dataclass(frozen=True)
class Quotient(Distribution):
    """``middle + half X / max(Y, scale)``, X and Y with Laplace noise of one scale, rounded and clamped."""

    total: float
    count: float
    scale: float
    low: int
    high: int

    def below(self, place: int) -> float:
        return 0.0 if place <= self.low else 1.0 if place > self.high else self._beyond(self._level(place - 0.5), -1)

    def above(self, place: int) -> float:
        return 0.0 if place >= self.high else 1.0 if place < self.low else self._beyond(self._level(place + 0.5), 1)

    def _level(self, place: float) -> float:
        return (place - (self.low + self.high) / 2) / ((self.high - self.low) / 2)

    def _beyond(self, level: float, side: int) -> float:
        """P(side X > side level max(Y, scale)), by Simpson's rule over the noise of Y between its kinks."""
        total, count = self.total / self.scale, self.count / self.scale

        def tail(noise: Floats) -> Floats:
            away = side * (level * np.maximum(count + noise, 1.0) - total)
            return np.asarray(np.where(away > 0.0, np.exp(-np.abs(away)) / 2.0, 1.0 - np.exp(-np.abs(away)) / 2.0))

        kink = total / level - count if level else 0.0
        raised = 1.0 - count
        below = math.exp(raised) / 2.0 if raised < 0.0 else 1.0 - math.exp(-raised) / 2.0
        result = below * float(tail(np.array(raised)))
        last = max(raised, 0.0) + _FAR
        for near, far in pairwise(sorted({raised, last, *(end for end in (0.0, kink) if raised < end < last)})):
            cells = 2 * math.ceil((far - near) / _PANEL / 2.0)
            places = np.linspace(near, far, cells + 1)
            weights = np.ones(cells + 1)
            weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
            heights = np.exp(-np.abs(places)) / 2.0 * tail(places)
            result += float(np.dot(weights, heights)) * (far - near) / cells / 3.0
        return result


@dataclass(frozen=True)
class FewRecords:
    """What is read of the answer for few records."""

    scale: Fraction


@dataclass(frozen=True)
class CountedMean(Prepared[D]):
    """What is read of a mechanism: its public parameters."""

    count_epsilon: Fraction
    answer_epsilon: Fraction
    shares: tuple[int, ...]
    thresholds: tuple[int, ...]
    few: FewRecords


@output_law("noisy_count")
class NoisyCountLaw(IndependentLaw):
    """Integer Laplace noise on the count, then one of several draws (docs/proofs/filtered.md, section 6)."""

    proof = "filtered"
    reusable = False

    def sum_and_count(self, facts: Facts[D], data: D) -> tuple[int, int]:
        """The sum of ``2 x - low - high`` and the number of records, from the records themselves."""
        records = data.values.tolist()  # type: ignore[attr-defined]
        return sum(2 * record - sum(records_grid(facts.statistic).ends) for record in records), len(records)

    def scales(self, prepared: CountedMean[D], facts: Facts[D]) -> tuple[Fraction, Fraction, Fraction]:
        """Of the first count, and of the doubled sum and the count of few records."""
        low, high = records_grid(facts.statistic).ends
        rows = facts.statistic.rows_per_person
        second = 2 * rows / prepared.answer_epsilon
        return rows / prepared.count_epsilon, second * (high - low), second

    def branches(self, prepared: CountedMean[D]) -> list[tuple[int | None, float, float]]:
        """(the answer's epsilon over beta, None for few records; from which noisy count on; up to which)."""
        edges = [-math.inf, *prepared.thresholds, math.inf]
        return list(zip((None, *prepared.shares), edges, edges[1:], strict=False))

    def outputs(self, prepared: CountedMean[D], facts: Facts[D], data: D) -> Outputs:
        low, high = facts.statistic.answers.ends
        total, count = self.sum_and_count(facts, data)
        first, sums, second = self.scales(prepared, facts)
        parts: list[tuple[float, Distribution]] = []
        for share, start, stop in self.branches(prepared):
            chance = _between(count, float(first), start, stop)
            if share is None:
                scaled = float(second / sums) * total
                parts.append((chance, Quotient(scaled, count, float(second), low, high)))
            else:
                parts.append((chance, _LADDER.distribution(self.drawn(prepared, share), facts, data)))
        return Outputs((facts.value(data),), (MixtureLaw(parts),))

    def drawn(self, prepared: CountedMean[D], share: int) -> LadderRate:
        """The public parameters of one draw along the ladder."""
        beta = prepared.answer_epsilon / share
        return LadderRate(prepared.answer_epsilon - beta, beta)

    def worst_pair(self, prepared: CountedMean[D], facts: Facts[D], pairs: list[Pair[D]]) -> WorstPair[D]:
        """Over all that is released: the first count, then the answer along the ladder, or the sum and the count."""
        best, most = (-math.inf, pairs[0]), -math.inf
        for pair in pairs:
            least, upper = self.largest_loss(prepared, facts, pair)
            most = max(most, upper)
            best = max(best, (least, pair), key=lambda result: result[0])
        return best[0], float_bound(most, prepared.loss.epsilon), best[1]

    def largest_loss(self, prepared: CountedMean[D], facts: Facts[D], pair: Pair[D]) -> tuple[float, float]:
        """Bounds on the greatest log-ratio of one pair."""
        here, there = (self.sum_and_count(facts, data) for data in pair)
        first, sums, second = self.scales(prepared, facts)
        few = float(abs(here[0] - there[0]) / sums + abs(here[1] - there[1]) / second)
        results = []
        for share, start, stop in self.branches(prepared):
            counted = _largest(here[1], there[1], start, stop) / float(first)
            if share is None:
                results.append((counted + few, counted + few))
                continue
            with precision(BITS):
                drawn = self.drawn(prepared, share)
                stairs = [_LADDER.stairs(drawn, facts, data) for data in pair]
                lower, upper = densities_apart(stairs[0], stairs[1], drawn.rate)
            results.append((counted + lower, counted + upper))
        return max(lower for lower, _ in results), max(upper for _, upper in results)

    def weakened(self, prepared: CountedMean[D], factor: Fraction) -> Prepared[D]:
        return replace(
            prepared,
            count_epsilon=prepared.count_epsilon / factor,
            answer_epsilon=prepared.answer_epsilon / factor,
        )

    def mutants(self, prepare: Callable[[Universe], CountedMean[Any]]) -> Iterator[Mutant]:
        relation = Neighbours.ADD_REMOVE_CHANGE
        universe = selection_universe(Mean(bounds=(0, 4)), (0, 1, 4), 3, relation)
        people = selection_universe(Mean(bounds=(0, 4)), (0, 4), 3, relation, 2)
        for law, on in ((FreeCount(), universe), (SpentTwice(), universe), (OneRow(), people)):
            yield Mutant(law.mistake, on, law.imitated(prepare(on)), law)


def _between(count: int, scale: float, start: float, stop: float) -> float:
    """P(start <= count + K < stop) for integer Laplace noise K."""

    def at_least(place: float) -> float:
        if math.isinf(place):
            return 1.0 if place < 0 else 0.0
        away = place - count
        tail = math.exp(-(away if away > 0 else 1.0 - away) / scale) / (1.0 + math.exp(-1.0 / scale))
        return tail if away > 0 else 1.0 - tail

    return at_least(start) - at_least(stop)


def _largest(here: int, there: int, start: float, stop: float) -> int:
    """The greatest ``|z - there| - |z - here|`` over whole z from start on and below stop."""
    last = stop - 1
    places = [z for z in (start, last, here, there) if not math.isinf(z) and start <= z <= last]
    return max(abs(int(z) - there) - abs(int(z) - here) for z in places)


class BrokenCountLaw(NoisyCountLaw):
    """The same claim, and one mistake."""

    mistake: str

    def mutants(self, prepare: Callable[[Universe], CountedMean[Any]]) -> Iterator[Mutant]:  # noqa: ARG002
        return iter(())

    @abstractmethod
    def broken(self, prepared: CountedMean[D]) -> CountedMean[D]:
        """The mechanism with its mistake, by its own draws and its own law."""

    def imitated(self, honest: CountedMean[D]) -> Prepared:
        """Draws with the mistake, under the honest claim."""
        mutant = self.broken(honest)
        return imitation(honest, mutant.run, mutant.error_laws)


class FreeCount(BrokenCountLaw):
    """A count that nothing was set aside for: the answer spends the whole loss."""

    mistake = "a count for nothing"

    def broken(self, prepared: CountedMean[D]) -> CountedMean[D]:
        return replace(prepared, answer_epsilon=prepared.answer_epsilon + prepared.count_epsilon)

    def largest_loss(self, prepared: CountedMean[D], facts: Facts[D], pair: Pair[D]) -> tuple[float, float]:
        return super().largest_loss(self.broken(prepared), facts, pair)


class SpentTwice(BrokenCountLaw):
    """A sum and a count of few records with half of their noise, as if only one of them could be moved."""

    mistake = "a sum and a count that spend the whole loss each"

    def broken(self, prepared: CountedMean[D]) -> CountedMean[D]:
        mutant = replace(prepared)
        object.__setattr__(mutant, "few", replace(prepared.few, scale=prepared.few.scale / 2))
        return mutant

    def scales(self, prepared: CountedMean[D], facts: Facts[D]) -> tuple[Fraction, Fraction, Fraction]:
        first, sums, second = super().scales(prepared, facts)
        return first, sums / 2, second / 2


class OneRow(SpentTwice):
    """The same where a person may own two rows."""

    mistake = "a sum and a count of people with the noise of one row"
