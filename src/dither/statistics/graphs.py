"""Counts of small subgraphs, with ladders for graphs that differ in one edge."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dither.kernels.adjacency import Ends, Starts
from dither.kernels.subgraphs import clique_change, clique_count, k_triangle_change, k_triangle_count
from dither.kernels.triangles import Ranked, bounded_degree, degree_pairs, triangle_count
from dither.privacy import Neighbours
from dither.sensitivity.ladder import Algorithm, Ladder, Sensitivities
from dither.sensitivity.levels import HasLevels, LevelFunction, Levels
from dither.sources.graph import Graph
from dither.sources.grid import Grid
from dither.statistics.graph_sensitivity import ByCommonNeighbours, ByDegree
from dither.statistics.statistic import FITTED_FIRST, WORST_CASE_FIRST, Statistic

USUAL_COMMON = 60
"""Rungs that grow like ``(a + s)^p`` need a beta of p/a, a the most common neighbours of two vertices.  It is private:
this many are assumed (docs/decisions.md has the measurements)."""
MOST_BETA_SHARE, MOST_BETA_SHARE_WITH_INTERVAL = Fraction(1, 5), Fraction(1, 7)
MOST_COUNT = 10**290
"""Larger counts do not fit the floats in which smooth bounds are computed."""


class GraphCount(Statistic[Graph]):
    """A whole number counted in a graph with a public number of vertices; neighbours differ in one edge."""

    neighbours = Neighbours.EDGE

    if TYPE_CHECKING:

        @property
        def vertices(self) -> int: ...
        @property
        def mechanism_preference(self) -> tuple[str, ...]: ...
        @property
        def beta_per_epsilon(self) -> Fraction | None: ...

    else:
        mechanism_preference = FITTED_FIRST
        beta_per_epsilon = Fraction(1, 14)

    @property
    @abstractmethod
    def most(self) -> int:
        """The largest possible count: public."""

    @property
    def answers(self) -> Grid:
        return Grid(Fraction(1), 0, self.most)

    @property
    def changes_to_worst_case(self) -> int:
        # So many edges join any two vertices to all others.
        return 2 * self.vertices


class FastGrowingCount(GraphCount):
    """A count whose rungs grow like a power of the number of changes: at a small epsilon it needs a larger beta."""

    @property
    @abstractmethod
    def growth_power(self) -> int:
        """Of the number of changes: public."""

    def smoothness(self, epsilon: Fraction, *, interval: bool) -> Fraction | None:
        least = super().smoothness(epsilon, interval=interval)
        if least is None:
            return None
        most = epsilon * (MOST_BETA_SHARE_WITH_INTERVAL if interval else MOST_BETA_SHARE)
        return min(max(least, Fraction(self.growth_power, USUAL_COMMON)), most)


@dataclass(frozen=True)
class EdgeCount(GraphCount, HasLevels[Graph]):
    """The number of edges: one edge changes it by one, whatever the graph."""

    vertices: int
    mechanism_preference = WORST_CASE_FIRST
    sensitivity_is_constant = True
    beta_per_epsilon = None
    global_sensitivity = 1

    @property
    def most(self) -> int:
        return math.comb(self.vertices, 2)

    def value(self, data: Graph) -> int:
        return data.size

    def ladder(self, data: Graph, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return flat(1)

    def level_function(self) -> LevelFunction[Graph]:
        return LevelFunction(Levels([1]), _only_level)


def _only_level(_: Graph) -> int:
    return 1


@dataclass(frozen=True)
class TriangleCount(GraphCount, ByCommonNeighbours):
    """The number of triangles.

    Guarantee  The exact ladder: A^(s) = max over pairs of min(a + floor((s + min(s, b)) / 2), n - 2).
    Theorem    NRS11 Claim 3.13; docs/proofs/graphs.md section 2; enumerated in the tests.
    Cost       The Pareto frontier of (a, b): a small part of counting the triangles on most graphs.
    """

    vertices: int
    ladder_beta_per_epsilon = Fraction(1, 20)

    @property
    def global_sensitivity(self) -> int:
        return self.vertices - 2

    @property
    def most(self) -> int:
        return math.comb(self.vertices, 3)

    def value(self, data: Graph) -> int:
        return triangle_count(data.ranked)

    def level(self, common: int) -> int:
        return common

    def local(self, data: Graph) -> int:
        return data.frontier.most_common

    def local_sensitivity_change(self, lipschitz_proxy: int) -> int:  # noqa: ARG002
        return 1

    def ladder(self, data: Graph, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        common, half = data.frontier.common[:, None], data.frontier.half[:, None]

        def sensitivity_at_distance(start: int, stop: int) -> Sensitivities:
            changes = np.arange(start, stop, dtype=np.int64)
            reached = common + (changes + np.minimum(changes, half)) // 2
            return np.asarray(np.minimum(reached.max(axis=0), self.global_sensitivity))

        # Every pair of changes makes a common neighbour.
        return Ladder(sensitivity_at_distance, self.global_sensitivity, top=2 * self.global_sensitivity)


@dataclass(frozen=True)
class StarCount(GraphCount, ByDegree):
    """The number of k-stars: ``sum over vertices of C(degree, k)``.

    Guarantee  The exact ladder, from the pairs of degrees that no other pair beats (at most three).
    Theorem    docs/proofs/graphs.md section 3; enumerated in the tests.
    Cost       Linear in the number of edges.
    """

    vertices: int
    k: int

    @property
    def global_sensitivity(self) -> int:
        return 2 * math.comb(self.vertices - 2, self.k - 1)

    @property
    def most(self) -> int:
        return self.vertices * math.comb(self.vertices - 1, self.k)

    def value(self, data: Graph) -> int:
        degrees = np.bincount(np.diff(data.starts))
        return sum(int(many) * math.comb(degree, self.k) for degree, many in enumerate(degrees) if many)

    def level(self, degree: int) -> int:
        return min(2 * math.comb(degree, self.k - 1), self.global_sensitivity)

    def local(self, data: Graph) -> int:
        return self.ladder(data)[0]

    def local_sensitivity_change(self, lipschitz_proxy: int) -> int:
        # One end of a pair gains or loses an edge; before that it had at most n - 3 others.
        return math.comb(max(min(lipschitz_proxy, self.vertices - 3), 0), self.k - 2) if self.k >= 2 else 0

    def ladder(self, data: Graph, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        full, k = self.vertices - 2, self.k
        pairs = degree_pairs(data.starts, data.ends)

        def at_distance(s: int) -> int:
            best = 0
            for larger, smaller in pairs:
                up = min(s, full - larger)
                best = max(best, math.comb(larger + up, k - 1) + math.comb(min(full, smaller + s - up), k - 1))
            return best

        return listed(at_distance, self.global_sensitivity, top=2 * full)


@dataclass(frozen=True)
class KTriangleCount(FastGrowingCount, ByCommonNeighbours):
    """The number of k-triangles: ``sum over edges of C(triangles on the edge, k)``.

    Guarantee  A ladder, not the exact one (which is NP-hard): the smaller of two bounds, rung by rung.
    Theorem    docs/proofs/graphs.md section 4.  Karwa et al. (2011) grow the additive bound by
               3 C(a, k-1) + a C(a, k-2); that is too little for k >= 3 on graphs with few common neighbours.
    Cost       Triangles on every edge, then pairs two steps apart, pruned.
    """

    vertices: int
    k: int

    @property
    def growth_power(self) -> int:
        return self.k

    @property
    def global_sensitivity(self) -> int:
        n, k = self.vertices, self.k
        return math.comb(n - 2, k) + 2 * (n - 2) * math.comb(n - 3, k - 1)

    @property
    def most(self) -> int:
        return math.comb(self.vertices, 2) * math.comb(self.vertices - 2, self.k)

    def value(self, data: Graph) -> int:
        return k_triangle_count(data.supports, self.k)

    def level(self, common: int) -> int:
        shared = min(common, self.vertices - 2)
        return min(math.comb(shared, self.k) + 2 * shared * math.comb(shared, self.k - 1), self.global_sensitivity)

    def growth(self, common: int) -> int:
        """The most that one edge changes the local sensitivity where ``common`` neighbours are the most shared."""
        a, k = common, self.k
        inside = math.comb(a, k - 2) if k >= 2 else 0
        # An edge between two common neighbours of a pair lifts four supports at once.
        return max(3 * math.comb(a, k - 1) + a * inside, 4 * inside if a >= 2 else 0)

    def local_sensitivity_change(self, lipschitz_proxy: int) -> int:
        return self.growth(lipschitz_proxy)

    def local(self, data: Graph) -> int:
        return self.change(data)

    def change(self, data: Graph) -> int:
        """The local sensitivity: private."""
        return k_triangle_change(data.ranked, data.supports, self.k, data.frontier.most_common)

    def ladder(self, data: Graph, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        common = data.frontier.most_common
        added = [self.change(data)]

        def at_distance(s: int) -> int:
            while len(added) <= s:
                added.append(added[-1] + self.growth(common + len(added) - 1))
            return min(added[s], self.level(common + s))

        return listed(at_distance, self.global_sensitivity, top=2 * (self.vertices - 2))


@dataclass(frozen=True)
class CliqueCount(FastGrowingCount, ByCommonNeighbours):
    """The number of cliques of k >= 4 vertices.

    Guarantee  A ladder: U_s = min(LS + C(a + s, k-2) - C(a, k-2), C(n-2, k-2)), a the largest common neighbourhood.
    Theorem    docs/proofs/graphs.md section 5.
    Cost       Enumerates cliques: fast on sparse graphs, out of reach on large dense ones.
    """

    vertices: int
    k: int

    @property
    def growth_power(self) -> int:
        return self.k - 2

    @property
    def global_sensitivity(self) -> int:
        return math.comb(self.vertices - 2, self.k - 2)

    @property
    def most(self) -> int:
        return math.comb(self.vertices, self.k)

    def value(self, data: Graph) -> int:
        return clique_count(data.ranked, self.k)

    def level(self, common: int) -> int:
        return math.comb(common, self.k - 2)

    def local(self, data: Graph) -> int:
        return clique_change(data.ranked, data.supports, self.k, data.frontier.most_common)

    def local_sensitivity_change(self, lipschitz_proxy: int) -> int:
        return math.comb(lipschitz_proxy, self.k - 3)

    def ladder(self, data: Graph, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        common, inside = data.frontier.most_common, self.k - 2
        base = self.local(data) - math.comb(common, inside)
        return listed(
            lambda s: min(base + math.comb(common + s, inside), self.global_sensitivity),
            self.global_sensitivity,
            top=self.vertices - 2,
        )


class DegreeLimited(GraphCount):
    """A count among the edges within the first ``degree`` at both of their vertices.

    One edge enters and pushes out at most one at each of its ends, so a limit near the number of vertices needs more
    noise than none.  Then none is in force, and the count is that of the graph itself (docs/proofs/graphs.md,
    section 6): ``degree`` is a hypothesis, under which both are the same number.
    """

    vertices: int
    degree: int
    mechanism_preference = WORST_CASE_FIRST
    sensitivity_is_constant = True
    beta_per_epsilon = None

    @property
    def degree_in_force(self) -> int:
        """The degree that edges are limited to; one less than the vertices where no limit needs less noise: public."""
        unlimited = self.vertices - 1
        if self.degree >= unlimited or self.sensitivity_within(unlimited) < self.sensitivity_within(self.degree):
            return unlimited
        return self.degree

    @property
    def global_sensitivity(self) -> int:
        return self.sensitivity_within(self.degree_in_force)

    def sensitivity_within(self, degree: int) -> int:
        """The most that one edge changes the count among edges limited to this degree: public."""
        # One edge enters and pushes out at most one at each of its ends; where nothing is pushed out it only enters.
        return self.one_edge(degree) * (1 if degree >= self.vertices - 1 else 2)

    @abstractmethod
    def one_edge(self, degree: int) -> int:
        """The most that one edge changes the count where no vertex has more neighbours: public."""

    def ladder(self, data: Graph, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return flat(self.global_sensitivity)

    def limited_edges(self, data: Graph) -> tuple[Starts, Ends]:
        """The edges that count: private."""
        return bounded_degree(data.starts, data.ends, self.degree_in_force)


@dataclass(frozen=True)
class BoundedTriangleCount(DegreeLimited):
    """Triangles among the edges that are within the first ``degree`` at both of their vertices.

    Guarantee  Private for every graph.  Equal to the number of triangles if no vertex has more than ``degree``
               neighbours; on other graphs it counts too few, by an amount that is not announced.
    Theorem    docs/proofs/graphs.md section 6: one edge changes it by at most 2 (degree - 1).
    """

    vertices: int
    degree: int

    def one_edge(self, degree: int) -> int:
        return degree - 1

    @property
    def most(self) -> int:
        return math.comb(self.vertices, 3)

    def value(self, data: Graph) -> int:
        return triangle_count(Ranked.of(*self.limited_edges(data)))


@dataclass(frozen=True)
class BoundedEdgeCount(GraphCount):
    """Edges that are within the first ``degree`` at both of their vertices; guarantee as for triangles.

    Theorem    docs/proofs/graphs.md section 6: one edge changes it by at most 1.
    """

    vertices: int
    degree: int
    mechanism_preference = WORST_CASE_FIRST
    sensitivity_is_constant = True
    beta_per_epsilon = None
    global_sensitivity = 1

    @property
    def most(self) -> int:
        return min(math.comb(self.vertices, 2), self.vertices * self.degree // 2)

    def value(self, data: Graph) -> int:
        return len(bounded_degree(data.starts, data.ends, self.degree)[1]) // 2

    def ladder(self, data: Graph, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return flat(1)


def flat(global_sensitivity: int) -> Ladder:
    """The ladder of a count that one edge can change by the cap on every graph."""
    return Ladder(
        lambda start, stop: np.full(stop - start, global_sensitivity, dtype=np.int64), global_sensitivity, top=0
    )


def listed(at_distance: Callable[[int], int], global_sensitivity: int, *, top: int) -> Ladder:
    """A ladder of Python numbers; in machine words where the cap fits them."""
    dtype = object if global_sensitivity >= 1 << 62 else np.int64

    def sensitivity_at_distance(start: int, stop: int) -> Sensitivities:
        return np.array([min(at_distance(s), global_sensitivity) for s in range(start, stop)], dtype=dtype)

    return Ladder(sensitivity_at_distance, global_sensitivity, top=top)
