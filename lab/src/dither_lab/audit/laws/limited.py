"""The laws of counts whose shares are limited: ``race`` and ``drawn_limit``."""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from dither.mechanisms.mechanism import Mechanism, Prepared
from dither.privacy import Loss
from dither.queries.graphs import Edges, Triangles
from dither.sources.graph import Graph
from dither.statistics.node_graphs import NodeStarCount, NodeTriangleCount
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


class LimitedStatistic(Protocol):
    """What is read of a statistic: its public facts, and the value whose place below the optimum is checked."""

    @property
    def largest_share(self) -> int: ...
    def limited_values(self, data: Graph, limits: Sequence[int]) -> list[int]: ...


def limited_by_force(statistic: Statistic[Graph], data: Graph, limit: int) -> int:
    """The value under a limit, in the obvious way."""
    limited = cast("LimitedStatistic", statistic)
    if isinstance(statistic, NodeTriangleCount):
        best = triangles_by_force(data, limit, limited.largest_share)
        value = limited.limited_values(data, [limit])[0]
        # A certified value is any within a 64th of the limit below the optimum.
        return value if math.floor(best - limit / 64 - 1e-6) <= value <= best + 1e-6 else math.floor(best + 1e-6)
    if isinstance(statistic, NodeStarCount):
        return stars_by_force(data, statistic.k, limit, limited.largest_share)
    return _solved(frozenset(map(tuple, data.edges.tolist())), data.vertices, limit)


def triangles_of(data: Graph) -> list[tuple[int, ...]]:
    """All triangles."""
    edges = frozenset(map(tuple, data.edges.tolist()))
    some = combinations(range(data.vertices), 3)
    return [three for three in some if all(pair in edges for pair in combinations(three, 2))]


def triangles_by_force(data: Graph, limit: int, largest: int) -> float:
    """``max sum of 9/8 u - u^2/8``, u in [0, 1], at most 7/8 of the limit at a vertex; the count under the largest."""
    counted = tuple(triangles_of(data))
    return float(len(counted)) if limit >= largest or not counted else _concave(counted, data.vertices, limit)


@functools.lru_cache(maxsize=1 << 16)
def _concave(counted: tuple[tuple[int, ...], ...], vertices: int, limit: int) -> float:
    from scipy.optimize import LinearConstraint, minimize  # noqa: PLC0415  (slow to load)

    inside = np.array([[vertex in three for three in counted] for vertex in range(vertices)], dtype=float)
    solved = minimize(
        lambda u: -float(np.sum(1.125 * u - u * u / 8)),
        np.zeros(len(counted)),
        jac=lambda u: -(1.125 - u / 4),
        bounds=[(0.0, 1.0)] * len(counted),
        constraints=[LinearConstraint(inside, ub=np.full(vertices, 0.875 * limit))],
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    return -float(solved.fun)


def stars_by_force(data: Graph, k: int, limit: int, largest: int) -> int:
    """k-stars of edges that are kept, in rising order, while both vertices have fewer than the degree of the limit."""
    degree = data.vertices - 1
    if limit < largest:
        degree = max(d for d in range(data.vertices - 1) if 2 * k * math.comb(d, k) <= limit)
    kept = [0] * data.vertices
    for u, v in sorted(data.edges.tolist()):
        if max(kept[u], kept[v]) < degree:
            kept[u], kept[v] = kept[u] + 1, kept[v] + 1
    return sum(math.comb(many, k) for many in kept)


@functools.lru_cache(maxsize=1 << 16)
def _solved(edges: frozenset[tuple[int, int]], vertices: int, limit: int) -> int:
    """``max sum u`` over weights in [0, 1] of the edges, at most ``limit`` a vertex, rounded down."""
    from scipy.optimize import linprog  # noqa: PLC0415  (slow to load)

    counted = sorted(edges)
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
    """Values under limits by programs solved in the obvious way."""

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
        universe = node_universe(Triangles(), 5)
        honest: Any = prepare(universe)
        under_five = replace(honest, limits=(5,), scales=(5 / honest.loss.exact_epsilon,))
        for triangle_law, raced in ((DeletedCorners(), under_five), (Aborted(), honest), (Uncertified(), honest)):
            draws = broken_draw(raced, triangle_law, universe.enumerated())
            yield Mutant(triangle_law.mistake, universe, draws, triangle_law)


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


class _WrongTriangles(RaceLaw):
    """Values of triangles that are no certified optimum."""

    @abstractmethod
    def wrong(self, graph: Graph, limit: int) -> int:
        """The value under a limit below the largest share."""

    def values(self, prepared: Limited, facts: Facts[D], data: D) -> list[int]:
        graph, largest = cast(Graph, data), cast("LimitedStatistic", facts.statistic).largest_share
        return [len(triangles_of(graph)) if limit >= largest else self.wrong(graph, limit) for limit in prepared.limits]

    def mutants(self, prepare: Callable[[Universe], Prepared]) -> Iterator[Mutant]:  # noqa: ARG002
        return iter(())


class DeletedCorners(_WrongTriangles):
    """Vertices in more triangles than a limit are left out with all of them."""

    mistake = "a limit of triangles that deletes vertices"

    def wrong(self, graph: Graph, limit: int) -> int:
        listed = triangles_of(graph)
        shares = [sum(v in three for three in listed) for v in range(graph.vertices)]
        return sum(max(shares[v] for v in three) <= limit for three in listed)


class Aborted(_WrongTriangles):
    """A solver that stops early, and counts 0 where it did: here, where vertices have unequal shares above the limit.

    Its first dual point is optimal where all shares are equal.
    """

    mistake = "an optimum of triangles that stops early and counts 0"

    def wrong(self, graph: Graph, limit: int) -> int:
        listed = triangles_of(graph)
        shares = {sum(v in three for three in listed) for v in range(graph.vertices)} - {0}
        if shares and max(shares) > 0.875 * limit and len(shares) > 1:
            return 0
        return math.floor(triangles_by_force(graph, limit, math.comb(graph.vertices - 1, 2)) + 1e-6)


class Uncertified(_WrongTriangles):
    """An optimum in floats after so many steps: with many triangles it is still the first dual value, the count."""

    mistake = "an optimum of triangles that is not certified"

    def wrong(self, graph: Graph, limit: int) -> int:
        listed = triangles_of(graph)
        if len(listed) > 6:
            return len(listed)
        return math.floor(triangles_by_force(graph, limit, math.comb(graph.vertices - 1, 2)) + 1e-6)


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
