"""Counts in a graph whose vertices are people: neighbours differ in all edges of one vertex."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.kernels.capped_degrees import capped_flow, kept_degrees
from dither.kernels.limited_triangles import PART, limited_triangles
from dither.privacy import Neighbours
from dither.sensitivity.ladder import Algorithm, Ladder
from dither.sensitivity.limited_shares import HasLimitedShares
from dither.sources.graph import Graph
from dither.statistics.graphs import GraphCount, TriangleCount, flat
from dither.statistics.statistic import WORST_CASE_FIRST

LIMITED_FIRST: tuple[str, ...] = ("drawn_limit", "race", "worst_case")
"""The preference of counts that one person can move by very much, and on usual graphs moves by little."""


class NodeCount(GraphCount):
    """A whole number counted in a graph; neighbours differ in the edges of one vertex.

    Every rung is the global sensitivity: whatever the graph, somebody may join everybody else (docs/proofs/
    node_privacy.md, section 1).  What fits noise to the graph at hand limits shares instead.
    """

    neighbours = Neighbours.NODE
    sensitivity_is_constant = True
    beta_per_epsilon = None

    def ladder(self, data: Graph, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return flat(self.global_sensitivity)


@dataclass(frozen=True)
class NodeEdgeCount(NodeCount, HasLimitedShares[Graph]):
    """The number of edges; a vertex has at most n - 1.

    Theorem    docs/proofs/node_privacy.md, sections 1 and 4.
    """

    vertices: int
    mechanism_preference = LIMITED_FIRST

    @property
    def global_sensitivity(self) -> int:
        return self.vertices - 1

    @property
    def largest_share(self) -> int:
        return self.vertices - 1

    @property
    def most(self) -> int:
        return math.comb(self.vertices, 2)

    def value(self, data: Graph) -> int:
        return data.size

    def limited_values(self, data: Graph, limits: Sequence[int]) -> list[int]:
        return [limited_edges(data, limit) for limit in limits]


@dataclass(frozen=True)
class LimitedEdgeCount(NodeCount):
    """The edges of which every vertex counts at most ``degree``, in fractions, rounded down.

    Guarantee  Private for every graph.  Equal to the number of edges if no vertex has more than ``degree``; on other
               graphs it counts too few, by an amount that is not announced.
    Theorem    docs/proofs/node_privacy.md, section 4: one vertex changes it by at most ``degree``.
    """

    vertices: int
    degree: int
    mechanism_preference = WORST_CASE_FIRST

    @property
    def global_sensitivity(self) -> int:
        return min(self.degree, self.vertices - 1)

    @property
    def most(self) -> int:
        return min(math.comb(self.vertices, 2), self.vertices * self.degree // 2)

    def value(self, data: Graph) -> int:
        return limited_edges(data, self.degree)


@dataclass(frozen=True)
class LimitedStarCount(NodeCount):
    """k-stars of the edges that are kept while both of their vertices have fewer than ``degree``, in the public order.

    Guarantee  As for edges of a declared limit: private for every graph, and the count itself where none is cut.
    Theorem    docs/proofs/node_privacy.md, section 5: one vertex changes it by at most 2 k C(degree, k).
    """

    vertices: int
    k: int
    degree: int
    mechanism_preference = WORST_CASE_FIRST

    @property
    def global_sensitivity(self) -> int:
        if self.degree >= self.vertices - 1:
            return (self.k + 1) * math.comb(self.vertices - 1, self.k)
        return 2 * self.k * math.comb(self.degree, self.k)

    @property
    def most(self) -> int:
        return self.vertices * math.comb(min(self.degree, self.vertices - 1), self.k)

    def value(self, data: Graph) -> int:
        return stars(kept_degrees(data.starts, data.ends, self.degree), self.k)


@dataclass(frozen=True)
class NodeTriangleCount(NodeCount, HasLimitedShares[Graph]):
    """The number of triangles; a vertex lies in at most C(n - 1, 2).

    Theorem    docs/proofs/node_privacy.md, section 6: a value under a limit moves by at most the limit.
    Cost       Some hundred passes over the triangles at vertices that have too many, for each limit below the largest
               share; 12 bytes for each such triangle, or, where these are many, none.
    """

    vertices: int
    mechanism_preference = LIMITED_FIRST

    @property
    def global_sensitivity(self) -> int:
        return self.largest_share

    @property
    def largest_share(self) -> int:
        return math.comb(self.vertices - 1, 2)

    @property
    def most(self) -> int:
        return math.comb(self.vertices, 3)

    def value(self, data: Graph) -> int:
        return TriangleCount(self.vertices).value(data)

    def limited_values(self, data: Graph, limits: Sequence[int]) -> list[int]:
        # Nobody exceeds the largest share: such a limit cuts nothing, though 7/8 of it would.
        return limited_triangles(data.ranked, [2 * limit if limit >= self.largest_share else limit for limit in limits])


@dataclass(frozen=True)
class LimitedTriangleCount(NodeCount):
    """The triangles of which every vertex counts at most C(degree, 2), in fractions, rounded down.

    Guarantee  As for edges of a declared limit: private for every graph, and the count itself where no vertex has more
               than ``degree`` edges, or lies in no more triangles than vertices of that degree can.
    Theorem    docs/proofs/node_privacy.md, section 6: one vertex changes it by at most 8/7 C(degree, 2).
    """

    vertices: int
    degree: int
    mechanism_preference = WORST_CASE_FIRST

    @property
    def global_sensitivity(self) -> int:
        return min(math.ceil(math.comb(self.degree, 2) / PART), math.comb(self.vertices - 1, 2))

    @property
    def most(self) -> int:
        return min(math.comb(self.vertices, 3), self.vertices * self.global_sensitivity // 3)

    def value(self, data: Graph) -> int:
        return NodeTriangleCount(self.vertices).limited_values(data, [self.global_sensitivity])[0]


@dataclass(frozen=True)
class NodeStarCount(NodeCount, HasLimitedShares[Graph]):
    """The number of k-stars; a vertex lies in at most (k + 1) C(n - 1, k).

    Theorem    docs/proofs/node_privacy.md, section 5, for the largest degree whose sensitivity is within the limit.
    """

    vertices: int
    k: int
    mechanism_preference = LIMITED_FIRST

    @property
    def global_sensitivity(self) -> int:
        return self.largest_share

    @property
    def largest_share(self) -> int:
        return (self.k + 1) * math.comb(self.vertices - 1, self.k)

    @property
    def most(self) -> int:
        return self.vertices * math.comb(self.vertices - 1, self.k)

    def value(self, data: Graph) -> int:
        return stars(np.diff(data.starts), self.k)

    def limited_values(self, data: Graph, limits: Sequence[int]) -> list[int]:
        degrees = [self.degree_within(limit) for limit in limits]
        values = {degree: LimitedStarCount(self.vertices, self.k, degree).value(data) for degree in set(degrees)}
        return [values[degree] for degree in degrees]

    def degree_within(self, limit: int) -> int:
        """The largest degree that stars may be cut to for a sensitivity of ``limit``: public."""
        last = self.vertices - 1
        if limit >= self.largest_share:
            return last
        return bisect.bisect_right(range(last), limit, key=lambda degree: 2 * self.k * math.comb(degree, self.k)) - 1


def stars(degrees: NDArray[np.int64], k: int) -> int:
    """The sum of C(degree, k)."""
    return sum(int(many) * math.comb(degree, k) for degree, many in enumerate(np.bincount(degrees)) if many)


def limited_edges(graph: Graph, limit: int) -> int:
    """The largest sum of weights from 0 to 1 of the edges, at most ``limit`` at each vertex, rounded down: private."""
    return capped_flow(graph.starts, graph.ends, limit) // 2
