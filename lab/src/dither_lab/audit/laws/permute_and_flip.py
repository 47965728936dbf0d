"""The laws of permute and flip, by cost (``permute_and_flip``) and by imbalance (``middle_score``), and mutants.

McKenna and Sheldon 2020: with coins of chance p_z, the answer is z with probability
``p_z int_0^1 prod_{y != z} (1 - p_y t) dt``, expanded here in powers of t.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from dither.mechanisms.mechanism import Prepared
from dither.numbers import Ball, ball, precision
from dither.privacy import Neighbours
from dither.queries.order import Median
from dither_lab.audit.imitation import broken_draw
from dither_lab.audit.laws.drawn import BITS, Costs, InverseLaw, Rated
from dither_lab.audit.laws.facts import D, Facts
from dither_lab.audit.laws.outputs import ListedDistribution
from dither_lab.audit.laws.registry import Mutant, output_law
from dither_lab.audit.universes import Universe, column_universe

SPARE_BITS = 8
"""Sums of products with signs lose about so many bits for each point."""


@dataclass
class FlippedCosts(Costs):
    """Points tried in a random order, each with a coin of chance ``e^{-rate (cost - least)}``."""

    def chances(self) -> dict[int, Ball]:
        """The chance of each point's coin."""
        costs = {point: next(iter(held)) for point, held in self.held.items()}
        least = min(costs.values())
        return {point: (-ball(self.rate) * (cost - least)).exp() for point, cost in costs.items()}

    def law(self) -> dict[int, float]:
        with precision(BITS + SPARE_BITS * len(self.held)):
            return {point: float(p) for point, p in self.balls().items()}

    def balls(self) -> dict[int, Ball]:
        with precision(BITS + SPARE_BITS * len(self.held)):
            coins = self.chances()
            return {point: coin * self.first(point, coins) for point, coin in coins.items()}

    def first(self, point: int, coins: dict[int, Ball]) -> Ball:
        """How likely none of the other coins that are heads comes before this point's."""
        powers: list[Ball] = [ball(1)]
        for other, coin in coins.items():
            if other != point:
                below, same = [ball(0), *powers], [*powers, ball(0)]
                powers = [kept - coin * risen for kept, risen in zip(same, below, strict=True)]
        return sum((power / (place + 1) for place, power in enumerate(powers)), ball(0))


@output_law("permute_and_flip")
class PermuteAndFlipLaw(InverseLaw):
    """Costs are those of ``inverse``: the least k with ``R_{-k} <= z <= R_k``, by enumeration."""

    proof = "permute_and_flip"

    def costs(self, prepared: Any, facts: Facts[D], data: D) -> Costs:
        low, high = facts.statistic.answers.ends
        lowest, highest = facts.reachable(data)
        held = {
            point: {
                next(
                    k
                    for k in range(max(len(lowest), len(highest)))
                    if lowest[min(k, len(lowest) - 1)] <= point <= highest[min(k, len(highest) - 1)]
                ): 1
            }
            for point in range(low, high + 1)
        }
        return self.flipped(prepared, held, (low, high))

    def flipped(self, prepared: Rated, held: dict[int, dict[int, int]], ends: tuple[int, int]) -> Costs:
        """The law of these costs."""
        return FlippedCosts(prepared.rate, held, ends)

    def mutants(self, prepare: Callable[[Universe], Prepared]) -> Iterator[Mutant]:
        universe = column_universe(Median(bounds=(0, 6)), range(0, 7, 2), 3)
        for law in (InOrder(), CertainCoins(), WholeRate()):
            yield Mutant(law.mistake, universe, broken_draw(prepare(universe), law, universe.enumerated()), law)


class _Broken(PermuteAndFlipLaw):
    """The same claim, and one mistake."""

    mistake: str

    def distribution(self, prepared: Rated, facts: Facts[D], data: D) -> ListedDistribution:
        """What the mutant releases."""
        return ListedDistribution(self.costs(prepared, facts, data).law())

    def mutants(self, prepare: Callable[[Universe], Prepared]) -> Iterator[Mutant]:  # noqa: ARG002
        return iter(())


class _HalfInOrder(FlippedCosts):
    def first(self, point: int, coins: dict[int, Ball]) -> Ball:
        passed = ball(1)
        for other, coin in coins.items():
            passed *= 1 - coin if other < point else 1
        return (super().first(point, coins) + passed) / 2


class InOrder(_Broken):
    """Half of the time points are tried in their order on the grid: what lies behind a certain one is rare then."""

    mistake = "points that are tried in their order half of the time"

    def flipped(self, prepared: Rated, held: dict[int, dict[int, int]], ends: tuple[int, int]) -> Costs:
        return _HalfInOrder(prepared.rate, held, ends)


class _Certain(FlippedCosts):
    def chances(self) -> dict[int, Ball]:
        return {point: ball(1) if coin > ball(Fraction(1, 2)) else coin for point, coin in super().chances().items()}


class CertainCoins(_Broken):
    """Coins that would probably admit are not flipped: one change takes a point from certain to below a half."""

    mistake = "coins that are taken for certain above a half"

    def flipped(self, prepared: Rated, held: dict[int, dict[int, int]], ends: tuple[int, int]) -> Costs:
        return _Certain(prepared.rate, held, ends)


class WholeRate(_Broken):
    """Costs move in opposite directions, and the rate is that of costs that move the same way."""

    mistake = "coins of the whole rate"

    def flipped(self, prepared: Rated, held: dict[int, dict[int, int]], ends: tuple[int, int]) -> Costs:
        return FlippedCosts(2 * prepared.rate, held, ends)


class _Share(Protocol):
    @property
    def share(self) -> Fraction | None: ...
    @property
    def neighbours(self) -> Neighbours: ...
    @property
    def has_middle(self) -> bool: ...


@output_law("middle_score")
class MiddleScoreLaw(PermuteAndFlipLaw):
    """Costs are ``|(b - a) #{x < z} - a #{x > z}|`` for the quantile of a/b, counted record by record."""

    proof = "middle_score"

    def applies(self, statistic: _Share) -> bool:
        return statistic.has_middle

    def costs(self, prepared: Any, facts: Facts[D], data: Any) -> Costs:
        low, high = facts.statistic.answers.ends
        records, share = data.values.tolist(), facts.statistic.share
        held = {}
        for point in range(low, high + 1):
            below, above = sum(x < point for x in records), sum(x > point for x in records)
            held[point] = {abs(self.imbalance(share, below, above)): 1}
        return self.flipped(prepared, held, (low, high))

    def imbalance(self, share: Fraction, below: int, above: int) -> int:
        """How unevenly a point splits the records."""
        return (share.denominator - share.numerator) * below - share.numerator * above

    def mutants(self, prepare: Callable[[Universe], Prepared]) -> Iterator[Mutant]:
        universe = column_universe(Median(bounds=(0, 6)), range(0, 7, 2), 3)
        for law in (OneSideTwice(), UnitRate()):
            yield Mutant(law.mistake, universe, broken_draw(prepare(universe), law, universe.enumerated()), law)


class _BrokenMiddle(MiddleScoreLaw):
    """The same claim, and one mistake."""

    mistake: str

    def distribution(self, prepared: Rated, facts: Facts[D], data: D) -> ListedDistribution:
        """What the mutant releases."""
        return ListedDistribution(self.costs(prepared, facts, data).law())

    def mutants(self, prepare: Callable[[Universe], Prepared]) -> Iterator[Mutant]:  # noqa: ARG002
        return iter(())


class OneSideTwice(_BrokenMiddle):
    """Records on one side count twice: a change moves the score by half as much again."""

    mistake = "scores that count one side twice"

    def imbalance(self, share: Fraction, below: int, above: int) -> int:
        return super().imbalance(share, 2 * below, above)


class UnitRate(_BrokenMiddle):
    """Imbalances move by two where a record of a median crosses, and the rate is that of scores that move by one."""

    mistake = "a rate for scores that move by one"

    def flipped(self, prepared: Rated, held: dict[int, dict[int, int]], ends: tuple[int, int]) -> Costs:
        return FlippedCosts(2 * prepared.rate, held, ends)
