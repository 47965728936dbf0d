"""Spanning trees and minimum cuts of graphs, with their ladders."""

from __future__ import annotations

from dataclasses import dataclass, field

from dither.kernels.cuts import edge_connectivity, glued
from dither.kernels.thresholds import WeightThresholds
from dither.privacy import Neighbours
from dither.sensitivity.ladder import Algorithm, Ladder
from dither.sources.graph import Graph, GraphShape
from dither.sources.grid import Grid
from dither.statistics.graphs import GraphCount, flat
from dither.statistics.statistic import FITTED_FIRST, WORST_CASE_FIRST, Statistic

WELL_CONNECTED = 8
"""From this connectivity on, fitted noise can halve the error at epsilon = 1, depending on the weights."""


@dataclass(frozen=True)
class WeightedShape(GraphShape):
    """What is public about a graph with private weights: its edges, and the grid of the weights."""

    weights: Grid = field(kw_only=True)
    rank: int = field(kw_only=True)
    """The number of edges of a spanning forest."""
    connectivity: int = field(kw_only=True)
    """The least number of edges whose removal disconnects a component."""


@dataclass(frozen=True)
class SpanningForestCost(Statistic[Graph]):
    """The weight of a lightest spanning forest: of a lightest spanning tree in each component.

    Guarantee  The ladder is the exact one.
    Theorem    docs/proofs/trees.md: A^(k) = max(max_S w_{k+1}(S), max_S w_{k+2}(S) - w_1(S)) over the cuts S, and the
               cap from the connectivity on.  NRS11 sec. 3.3 gives the ladder by minimum cuts in threshold graphs.
    Cost       Rung k: searches of (k + 2) n edges, few on random graphs; flows only where searches stall.
    """

    rank: int
    connectivity: int
    weights: Grid
    neighbours = Neighbours.WEIGHT

    @property
    def records_on(self) -> Grid:
        return self.weights

    @property
    def changes_to_worst_case(self) -> int:
        return self.connectivity

    @property
    def mechanism_preference(self) -> tuple[str, ...]:
        # With few edges in a cut the ladder reaches the global sensitivity too soon for a smooth bound far below it.
        return FITTED_FIRST if self.connectivity >= WELL_CONNECTED else WORST_CASE_FIRST

    @property
    def answers(self) -> Grid:
        return Grid(self.weights.step, 0, self.global_sensitivity * self.rank)

    @property
    def global_sensitivity(self) -> int:
        return self.weights.ends[1]

    def value(self, data: Graph) -> int:
        return self._thresholds(data).cost()

    def ladder(self, data: Graph, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return Ladder(
            self._thresholds(data).sensitivity_at_distance, self.global_sensitivity, top=self.connectivity, first=4
        )

    def _thresholds(self, data: Graph) -> WeightThresholds:
        vertices, a, b = glued(data.vertices, *data.edges.T)
        return WeightThresholds(vertices, a, b, data.weight_steps(self.weights), self.global_sensitivity)


@dataclass(frozen=True)
class EdgeConnectivity(GraphCount):
    """The least number of edges whose removal disconnects the graph; 0 if it is not connected.

    Guarantee  One edge changes every cut, so also the smallest, by at most 1: the cap is the ladder (DMNS06 sec. 3.2).
    Theorem    docs/proofs/trees.md, section 5.
    Cost       Linear in the edges, a few times over.
    """

    vertices: int
    mechanism_preference = WORST_CASE_FIRST
    sensitivity_is_constant = True
    beta_per_epsilon = None
    global_sensitivity = 1

    @property
    def most(self) -> int:
        return self.vertices - 1

    def value(self, data: Graph) -> int:
        return edge_connectivity(data.vertices, *data.edges.T)

    def ladder(self, data: Graph, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return flat(1)
