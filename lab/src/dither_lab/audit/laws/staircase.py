"""The law of staircase noise (``staircase``; Geng-Viswanath 2014), and three ways to break it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, Protocol

from dither.mechanisms.mechanism import Prepared
from dither.privacy import Loss
from dither.queries.totals import Sum
from dither_lab.audit.checks import float_bound
from dither_lab.audit.imitation import broken_draw
from dither_lab.audit.laws.facts import D, Facts
from dither_lab.audit.laws.outputs import ListedDistribution, Outputs
from dither_lab.audit.laws.registry import Answer, IndependentLaw, Mutant, Pair, WorstPair, output_law
from dither_lab.audit.universes import Universe, column_universe


class _Steps(Protocol):
    @property
    def epsilon(self) -> Fraction: ...
    @property
    def inner(self) -> int: ...


class StaircaseParameters(Protocol):
    """What is public of the mechanism."""

    @property
    def law(self) -> _Steps: ...
    @property
    def loss(self) -> Loss: ...
    @property
    def confidence(self) -> Fraction | None: ...


FAR = 45.0
"""Answers whose probability is below e^-45 of the largest are added to the last one."""


@output_law("staircase")
class StaircaseLaw(IndependentLaw):
    """Weight ``e^{-epsilon (m + [j >= r])}`` at distance ``m D + j``, D the global sensitivity by enumeration."""

    proof = "staircase"

    def period(self, facts: Facts[D]) -> int:
        """After how many numbers the law repeats itself, e^epsilon times lower."""
        return max(facts.global_sensitivity, 1)

    def weight(self, prepared: StaircaseParameters, facts: Facts[D], distance: int) -> float:
        """Of one number, over that of zero."""
        turns, within = divmod(distance, self.period(facts))
        return math.exp(-float(prepared.law.epsilon) * (turns + (1 if within >= prepared.law.inner else 0)))

    def noise(self, prepared: StaircaseParameters, facts: Facts[D]) -> dict[int, float]:
        """The probabilities of the noise itself, before it is cut to the range."""
        farthest = math.ceil(FAR / float(prepared.law.epsilon) + 1) * self.period(facts)
        weights = {k: self.weight(prepared, facts, abs(k)) for k in range(-farthest, farthest + 1)}
        total = math.fsum(weights.values())
        return {k: weight / total for k, weight in weights.items()}

    def distribution(self, prepared: StaircaseParameters, facts: Facts[D], data: D) -> ListedDistribution:
        """Of the answer."""
        return ListedDistribution({answer[0] or 0: p for answer, p in self.listed(prepared, facts, data).items()})

    def listed(self, prepared: StaircaseParameters, facts: Facts[D], data: D) -> dict[Answer, float]:
        """Every answer with its probability."""
        value, grid = facts.value(data), facts.statistic.answers
        chances: dict[Answer, float] = {}
        for k, p in self.noise(prepared, facts).items():
            answer = grid.clamp(value + k)
            chances[(answer,)] = chances.get((answer,), 0.0) + p
        return chances

    def outputs(self, prepared: StaircaseParameters, facts: Facts[D], data: D) -> Outputs:
        return Outputs((facts.value(data),), (self.distribution(prepared, facts, data),))

    def answers(self, prepared: StaircaseParameters, facts: Facts[D], data: D) -> dict[Answer, float] | None:
        return self.listed(prepared, facts, data) if prepared.confidence is None else None

    def worst_pair(self, prepared: StaircaseParameters, facts: Facts[D], pairs: list[Pair[D]]) -> WorstPair[D]:
        """Before it is cut to the range the noise shows most; shifts repeat themselves."""
        noise, shifts = self.noise(prepared, facts), {facts.value(y) - facts.value(x): (x, y) for x, y in pairs}
        near = range(-3 * self.period(facts), 3 * self.period(facts) + 1)

        def shown(shift: int) -> float:
            return max(abs(math.log(noise[k] / noise[k - shift])) for k in near if k - shift in noise)

        worst = max(shifts, key=shown)
        reached = shown(worst)
        return reached * (1 - 1e-12), float_bound(reached, prepared.loss.epsilon), shifts[worst]

    def weakened(self, prepared: Any, factor: Fraction) -> Prepared:
        return replace(prepared, law=replace(prepared.law, epsilon=prepared.law.epsilon / factor))  # type: ignore[no-any-return]

    def mutants(self, prepare: Callable[[Universe], Prepared]) -> Iterator[Mutant]:
        universe = column_universe(Sum(bounds=(0, 4)), range(5), 3)
        for law in (ShortPeriod(), HeavyZero(), DeepSteps()):
            yield Mutant(law.mistake, universe, broken_draw(prepare(universe), law, universe.enumerated()), law)


class _BrokenStaircase(StaircaseLaw):
    """The same claim, and one mistake."""

    mistake: str

    def mutants(self, prepare: Callable[[Universe], Prepared]) -> Iterator[Mutant]:  # noqa: ARG002
        return iter(())


class ShortPeriod(_BrokenStaircase):
    """The law repeats itself one number too early, so one change crosses two steps."""

    mistake = "stairs that are one number too short"

    def period(self, facts: Facts[D]) -> int:
        return max(facts.global_sensitivity - 1, 1)


class HeavyZero(_BrokenStaircase):
    """A sign for zero too: it is drawn twice as often as it should be."""

    mistake = "a zero that is drawn with either sign"

    def weight(self, prepared: StaircaseParameters, facts: Facts[D], distance: int) -> float:
        return super().weight(prepared, facts, distance) * (2 if distance == 0 else 1)


class DeepSteps(_BrokenStaircase):
    """Steps that fall by 30% more than epsilon."""

    mistake = "stairs that fall by 1.3 epsilon"

    def weight(self, prepared: StaircaseParameters, facts: Facts[D], distance: int) -> float:
        return math.pow(super().weight(prepared, facts, distance), 1.3)
