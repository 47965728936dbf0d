"""The laws of counts whose shares are limited: ``race`` and ``drawn_limit``."""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from dither.mechanisms.mechanism import Mechanism, Prepared
from dither.privacy import Loss
from dither.queries.graphs import Edges
from dither.sources.graph import Graph
from dither.statistics.statistic import Statistic
from dither_lab.audit.checks import float_bound
from dither_lab.audit.imitation import broken_draw
from dither_lab.audit.laws.facts import D, Facts
from dither_lab.audit.laws.outputs import Distribution, ListedDistribution, Noisy, Outputs
from dither_lab.audit.laws.registry import IndependentLaw, Mutant, Pair, WorstPair, output_law
from dither_lab.audit.universes import node_universe

if TYPE_CHECKING:
    from dither_lab.audit.universes import Universe

MISS = 0.05
"""What the race's penalties leave to an answer above the count."""
CLOSE = Fraction(5, 4)
"""Between limits, so that few vertices have several of them."""


class Limited(Protocol):
    """What is read of a mechanism: its public parameters."""

    @property
    def limits(self) -> tuple[int, ...]: ...
    @property
    def loss(self) -> Loss: ...


def limited_by_force(statistic: Statistic[Graph], data: Graph, limit: int) -> int:
    """``max sum u`` over weights in [0, 1] of the edges or triangles, at most ``limit`` a vertex, rounded down."""
    size = 3 if "Triangle" in type(statistic).__name__ else 2
    edges = frozenset(map(tuple, data.edges.tolist()))
    return _solved(edges, data.vertices, size, limit)


@functools.lru_cache(maxsize=1 << 16)
def _solved(edges: frozenset[tuple[int, int]], vertices: int, size: int, limit: int) -> int:
    from scipy.optimize import linprog  # noqa: PLC0415  (slow to load)

    counted = [
        some for some in combinations(range(vertices), size) if all(pair in edges for pair in combinations(some, 2))
    ]
    if not counted:
        return 0
    inside = np.array([[vertex in some for some in counted] for vertex in range(vertices)], dtype=float)
    solved = linprog(-np.ones(len(counted)), A_ub=inside, b_ub=np.full(vertices, limit), bounds=(0, 1))
    return math.floor(1e-6 - float(solved.fun))


def integer_tail(steps: int, scale: Fraction) -> float:
    """P(K >= steps) of integer Laplace noise."""
    if steps <= 0:
        return 1.0 - integer_tail(1 - steps, scale)
    return math.exp(-steps / float(scale)) / (1.0 + math.exp(-1.0 / float(scale)))


class _LimitedLaw(IndependentLaw):
    """Values under limits by linear programs."""

    proof = "node_privacy"
    noises = ("laplace",)

    def values(self, prepared: Limited, facts: Facts[D], data: D) -> list[int]:
        """The values under all limits."""
        return [limited_by_force(facts.statistic, cast(Graph, data), limit) for limit in prepared.limits]

    @abstractmethod
    def distribution(self, prepared: Limited, facts: Facts[D], data: D) -> Distribution:
        """The law of the answer."""

    @abstractmethod
    def largest_loss(self, prepared: Limited, facts: Facts[D], pair: Pair[D]) -> float:
        """How much a pair of neighbours shows, far out."""

    def outputs(self, prepared: Limited, facts: Facts[D], data: D) -> Outputs:
        return Outputs((facts.value(data),), (self.distribution(prepared, facts, data),))

    def worst_pair(self, prepared: Limited, facts: Facts[D], pairs: list[Pair[D]]) -> WorstPair[D]:
        worst = max(pairs, key=lambda pair: self.largest_loss(prepared, facts, pair))
        most = self.largest_loss(prepared, facts, worst)
        # Sums of a few floats: a claim that is attained is not exceeded by their rounding.
        return most * (1 - 1e-12), float_bound(most, prepared.loss.epsilon), worst

    def on_few_records(self, mechanism: Mechanism, statistic: Statistic) -> Mechanism:  # noqa: ARG002
        return cast("Callable[..., Mechanism]", type(mechanism))(base=CLOSE)


@output_law("race")
class RaceLaw(_LimitedLaw):
    """The highest of L values, each with integer Laplace noise of scale L S / eps less a penalty (R2T, equation 7)."""

    def scales(self, prepared: Limited, facts: Facts[D]) -> list[Fraction]:
        """Of the noise under each limit."""
        moved = [facts.statistic.limited_sensitivity(limit) for limit in prepared.limits]
        return [len(moved) * item / prepared.loss.exact_epsilon for item in moved]

    def distribution(self, prepared: Limited, facts: Facts[D], data: D) -> Distribution:
        scales, values = self.scales(prepared, facts), self.values(prepared, facts, data)
        penalties = [_penalty(scale, MISS / len(scales)) for scale in scales]
        low, high = facts.statistic.answers.ends

        def below(place: int) -> float:
            each = zip(values, penalties, scales, strict=True)
            return math.prod(1.0 - integer_tail(place + off - value, scale) for value, off, scale in each)

        sums = [0.0, *(below(place) for place in range(low + 1, high + 1)), 1.0]
        return ListedDistribution({low + k: sums[k + 1] - sums[k] for k in range(high - low + 1)})

    def largest_loss(self, prepared: Limited, facts: Facts[D], pair: Pair[D]) -> float:
        # All noisy values are functions of the data; what is released is a function of them.
        here, there = (self.values(prepared, facts, data) for data in pair)
        scales = self.scales(prepared, facts)
        return float(sum(abs(a - b) / scale for a, b, scale in zip(here, there, scales, strict=True)))

    def mutants(self, prepare: Callable[[Universe], Prepared]) -> Iterator[Mutant]:
        universe = node_universe(Edges(), 4)
        for law in (NoiseOfOneLimit(), DeletedVertices()):
            yield Mutant(law.mistake, universe, broken_draw(prepare(universe), law, universe.enumerated()), law)


def _penalty(scale: Fraction, miss: float) -> int:
    """The least number of steps that noise exceeds at most so often."""
    steps = max(math.floor(-float(scale) * math.log(2.0 * miss)) - 2, 0)
    while integer_tail(steps + 1, scale) > miss:
        steps += 1
    return steps


class NoiseOfOneLimit(RaceLaw):
    """Each value has noise for all of epsilon, as if it alone were released."""

    mistake = "a race whose noises do not share epsilon"

    def scales(self, prepared: Limited, facts: Facts[D]) -> list[Fraction]:
        return [scale / len(prepared.limits) for scale in super().scales(prepared, facts)]

    def mutants(self, prepare: Callable[[Universe], Prepared]) -> Iterator[Mutant]:  # noqa: ARG002
        return iter(())


class DeletedVertices(RaceLaw):
    """Vertices above a limit are left out with all of their edges: a value that one vertex moves by far more."""

    mistake = "a limit that deletes vertices, and is not monotone"

    def values(self, prepared: Limited, facts: Facts[D], data: D) -> list[int]:  # noqa: ARG002
        graph = cast(Graph, data)
        edges: list[list[int]] = graph.edges.tolist()
        degree = [sum(v in edge for edge in edges) for v in range(graph.vertices)]
        return [sum(max(degree[u], degree[v]) <= limit for u, v in edges) for limit in prepared.limits]

    def mutants(self, prepare: Callable[[Universe], Prepared]) -> Iterator[Mutant]:  # noqa: ARG002
        return iter(())


@output_law("drawn_limit")
class DrawnLimitLaw(_LimitedLaw):
    """A limit by the generalised exponential mechanism, and integer Laplace noise of its size, half of epsilon each."""

    def chances(self, prepared: Limited, facts: Facts[D], data: D) -> list[float]:
        """How likely each limit is."""
        values, moved = self.values(prepared, facts, data), self.moved(prepared, facts)
        places = range(len(values))
        costs = [
            max(math.ceil(64 * Fraction(values[j] - values[i], moved[i] + moved[j])) for j in places if j >= i) / 64
            for i in places
        ]
        weights = [
            (moved[-1] ** 2 // item**2) * math.exp(-prepared.loss.epsilon / 4 * cost)
            for item, cost in zip(moved, costs, strict=True)
        ]
        return [weight / math.fsum(weights) for weight in weights]

    def moved(self, prepared: Limited, facts: Facts[D]) -> list[int]:
        """The sensitivities under the limits."""
        return [facts.statistic.limited_sensitivity(limit) for limit in prepared.limits]

    def scales(self, prepared: Limited, facts: Facts[D]) -> list[Fraction]:
        """Of the noise under each limit."""
        return [2 * item / prepared.loss.exact_epsilon for item in self.moved(prepared, facts)]

    def distribution(self, prepared: Limited, facts: Facts[D], data: D) -> Distribution:
        low, high = facts.statistic.answers.ends
        drawn = zip(
            self.chances(prepared, facts, data),
            self.values(prepared, facts, data),
            self.scales(prepared, facts),
            strict=True,
        )
        result = dict.fromkeys(range(low, high + 1), 0.0)
        for chance, value, scale in drawn:
            for place, part in Noisy(value, float(scale), low, high).chances().items():
                result[place] += chance * part
        return ListedDistribution(result)

    def largest_loss(self, prepared: Limited, facts: Facts[D], pair: Pair[D]) -> float:
        # The limit is part of what is released: the interval tells it.
        chances = [self.chances(prepared, facts, data) for data in pair]
        values = [self.values(prepared, facts, data) for data in pair]
        return max(
            math.log(chances[0][i] / chances[1][i]) + float(abs(values[0][i] - values[1][i]) / scale)
            for i, scale in enumerate(self.scales(prepared, facts))
        )

    def mutants(self, prepare: Callable[[Universe], Prepared]) -> Iterator[Mutant]:
        universe, law = node_universe(Edges(), 4), UnpaidLimit()
        yield Mutant(law.mistake, universe, broken_draw(prepare(universe), law, universe.enumerated()), law)


class UnpaidLimit(DrawnLimitLaw):
    """The limit is the largest degree of the graph itself, and all of epsilon goes into the noise."""

    mistake = "a limit that is not paid for"

    def distribution(self, prepared: Limited, facts: Facts[D], data: D) -> Distribution:
        low, high = facts.statistic.answers.ends
        largest = max(int(np.diff(cast(Graph, data).starts).max()), 1)
        return ListedDistribution(Noisy(facts.value(data), largest / prepared.loss.epsilon, low, high).chances())

    def largest_loss(self, prepared: Limited, facts: Facts[D], pair: Pair[D]) -> float:
        low, high = facts.statistic.answers.ends
        here, there = (self.distribution(prepared, facts, data) for data in pair)
        at = [(item.below(place + 1) - item.below(place)) for place in range(low, high + 1) for item in (here, there)]
        return max(math.log(a / b) for a, b in zip(at[::2], at[1::2], strict=True))

    def mutants(self, prepare: Callable[[Universe], Prepared]) -> Iterator[Mutant]:  # noqa: ARG002
        return iter(())
