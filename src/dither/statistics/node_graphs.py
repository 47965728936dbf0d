"""Counts in a graph whose vertices are people: neighbours differ in all edges of one vertex."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dither.kernels.capped_degrees import capped_flow, kept_degrees
from dither.privacy import Neighbours
from dither.sensitivity.ladder import Algorithm, Ladder
from dither.sensitivity.limited_shares import HasLimitedShares
from dither.sources.graph import Graph
from dither.statistics.graphs import GraphCount, flat
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
        degrees = np.bincount(kept_degrees(data.starts, data.ends, self.degree))
        return sum(int(many) * math.comb(degree, self.k) for degree, many in enumerate(degrees) if many)


def limited_edges(graph: Graph, limit: int) -> int:
    """The largest sum of weights from 0 to 1 of the edges, at most ``limit`` at each vertex, rounded down: private."""
    return capped_flow(graph.starts, graph.ends, limit) // 2
