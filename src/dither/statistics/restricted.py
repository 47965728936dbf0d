"""Counts under a public hypothesis on degrees: restricted sensitivity (V17 section 3) for stars, k-triangles, cliques.

Every count is that of the projected graph, in which an edge is kept if it is among the first ``degree`` at both of its
vertices.  It is private for every graph, and about the graph itself where no vertex has more neighbours.  A ``degree``
under which the noise would be larger than without is not applied.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dither.kernels.subgraphs import clique_count, k_triangle_count
from dither.kernels.triangles import Ranked, edge_supports
from dither.sources.graph import Graph
from dither.statistics.graphs import DegreeLimited


@dataclass(frozen=True)
class BoundedCount(DegreeLimited):
    """A count of subgraphs of k or so vertices in the projected graph."""

    vertices: int
    k: int
    degree: int

    def projected(self, data: Graph) -> Ranked:
        """The projected graph: private."""
        return Ranked.of(*self.limited_edges(data))


@dataclass(frozen=True)
class BoundedStarCount(BoundedCount):
    """k-stars of the projected graph: ``sum over vertices of C(degree, k)``.

    Guarantee  One edge of the graph changes it by at most 2 C(degree - 1, k - 1).
    Theorem    docs/proofs/graphs.md section 7; enumerated in the tests.
    Cost       Linear in the number of edges.
    """

    def one_edge(self, degree: int) -> int:
        return 2 * math.comb(degree - 1, self.k - 1)

    def sensitivity_within(self, degree: int) -> int:
        # Both ends of one edge, or one vertex at the far end of each that is pushed out: the same number.
        return self.one_edge(degree)

    @property
    def most(self) -> int:
        return self.vertices * math.comb(self.vertices - 1, self.k)

    def value(self, data: Graph) -> int:
        starts, _ = self.limited_edges(data)
        degrees = np.bincount(np.diff(starts))
        return sum(int(many) * math.comb(degree, self.k) for degree, many in enumerate(degrees) if many)


@dataclass(frozen=True)
class BoundedKTriangleCount(BoundedCount):
    """k-triangles of the projected graph: ``sum over edges of C(triangles on the edge, k)``.

    Guarantee  One edge of the graph changes it by at most twice ``C(degree-1, k) + 2 (degree-1) C(degree-2, k-1)``.
    Theorem    docs/proofs/graphs.md section 7; enumerated in the tests.
    Cost       Triangles on every edge that is kept.
    """

    def one_edge(self, degree: int) -> int:
        others = degree - 1
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

    def one_edge(self, degree: int) -> int:
        return math.comb(degree - 1, self.k - 2)

    @property
    def most(self) -> int:
        return math.comb(self.vertices, self.k)

    def value(self, data: Graph) -> int:
        return clique_count(self.projected(data), self.k)
