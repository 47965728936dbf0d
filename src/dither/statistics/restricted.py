"""Counts under a public hypothesis on degrees: restricted sensitivity (V17 section 3) for stars, k-triangles, cliques.

Every count is that of the projected graph, in which an edge is kept if it is among the first ``degree`` at both of its
vertices.  It is private for every graph, and about the graph itself where no vertex has more neighbours.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from dither.kernels.subgraphs import clique_count, k_triangle_count
from dither.kernels.triangles import Ranked, bounded_degree, edge_supports
from dither.sensitivity.ladder import Algorithm, Ladder
from dither.sources.graph import Graph
from dither.statistics.graphs import GraphCount, flat
from dither.statistics.statistic import WORST_CASE_FIRST


@dataclass(frozen=True)
class BoundedCount(GraphCount):
    """A count of subgraphs of k or so vertices in the projected graph."""

    vertices: int
    k: int
    degree: int
    mechanism_preference = WORST_CASE_FIRST
    sensitivity_is_constant = True
    beta_per_epsilon = None

    @property
    def binding(self) -> int:
        """The highest degree that the hypothesis leaves possible: public."""
        return min(self.degree, self.vertices - 1)

    @property
    def global_sensitivity(self) -> int:
        # One edge enters and pushes out at most one at each of its ends; where nothing is pushed out it only enters.
        return self.one_edge if self.degree >= self.vertices - 1 else 2 * self.one_edge

    @property
    @abstractmethod
    def one_edge(self) -> int:
        """The most that one edge changes the count where no degree exceeds ``binding``: public."""

    def ladder(self, data: Graph, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return flat(self.global_sensitivity)

    def projected(self, data: Graph) -> Ranked:
        """The projected graph: private."""
        return Ranked.of(*bounded_degree(data.starts, data.ends, self.degree))


@dataclass(frozen=True)
class BoundedStarCount(BoundedCount):
    """k-stars of the projected graph: ``sum over vertices of C(degree, k)``.

    Guarantee  One edge of the graph changes it by at most 2 C(degree - 1, k - 1).
    Theorem    docs/proofs/graphs.md section 7; enumerated in the tests.
    Cost       Linear in the number of edges.
    """

    @property
    def one_edge(self) -> int:
        return math.comb(self.binding - 1, self.k - 1)

    @property
    def global_sensitivity(self) -> int:
        # Both ends of one edge, or one vertex at the far end of each that is pushed out: the same number.
        return 2 * self.one_edge

    @property
    def most(self) -> int:
        return self.vertices * math.comb(self.vertices - 1, self.k)

    def value(self, data: Graph) -> int:
        starts, _ = bounded_degree(data.starts, data.ends, self.degree)
        degrees = np.bincount(np.diff(starts))
        return sum(int(many) * math.comb(degree, self.k) for degree, many in enumerate(degrees) if many)


@dataclass(frozen=True)
class BoundedKTriangleCount(BoundedCount):
    """k-triangles of the projected graph: ``sum over edges of C(triangles on the edge, k)``.

    Guarantee  One edge of the graph changes it by at most twice ``C(degree-1, k) + 2 (degree-1) C(degree-2, k-1)``.
    Theorem    docs/proofs/graphs.md section 7; enumerated in the tests.
    Cost       Triangles on every edge that is kept.
    """

    @property
    def one_edge(self) -> int:
        others = self.binding - 1
        return math.comb(others, self.k) + 2 * others * math.comb(max(others - 1, 0), self.k - 1)

    @property
    def most(self) -> int:
        return math.comb(self.vertices, 2) * math.comb(self.vertices - 2, self.k)

    def value(self, data: Graph) -> int:
        return k_triangle_count(edge_supports(self.projected(data)), self.k)


@dataclass(frozen=True)
class BoundedCliqueCount(BoundedCount):
    """Cliques of k >= 4 vertices of the projected graph.

    Guarantee  One edge of the graph changes it by at most 2 C(degree - 1, k - 2).
    Theorem    docs/proofs/graphs.md section 7; enumerated in the tests.
    Cost       Enumerates cliques of the edges that are kept.
    """

    @property
    def one_edge(self) -> int:
        return math.comb(self.binding - 1, self.k - 2)

    @property
    def most(self) -> int:
        return math.comb(self.vertices, self.k)

    def value(self, data: Graph) -> int:
        return clique_count(self.projected(data), self.k)
