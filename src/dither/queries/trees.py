"""Spanning trees and minimum cuts of graphs, with their ladders."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dither.data.column import Shape
from dither.data.graph import Graph, GraphShape
from dither.data.grid import Grid
from dither.errors import InvalidArgument
from dither.kernels.cuts import edge_connectivity, glued
from dither.kernels.thresholds import Thresholds
from dither.ladder import Ladder
from dither.privacy import Neighbours
from dither.queries.graphs import GraphCount, GraphQuery, flat
from dither.queries.query import Query
from dither.queries.statistic import Algorithm, Statistic

_WEIGHTED = "a graph with weights such as dither.Graph(edges, n=100, weights=w, cap=1) is accepted"


WELL_CONNECTED = 8
"""From this connectivity on, spanning trees have half the error or less at epsilon = 1 if their weights are kind."""


class BridgeWarning(UserWarning):
    """The public edges leave nothing to gain from noise fitted to the weights."""


@dataclass(frozen=True)
class WeightedShape(GraphShape):
    """What is public about a graph with private weights: its edges, and the grid of the weights."""

    weights: Grid = field(kw_only=True)
    rank: int = field(kw_only=True)
    """The number of edges of a spanning forest."""
    connectivity: int = field(kw_only=True)
    """The least number of edges whose removal disconnects a component."""


@dataclass(frozen=True)
class SpanningForestCost(Statistic):
    """The weight of a lightest spanning forest: of a lightest spanning tree in each component.

    Guarantee  The ladder is the exact one.
    Theorem    docs/proofs/trees.md: A^(k) = max(max_S w_{k+1}(S), max_S w_{k+2}(S) - w_1(S)) over the cuts S, and the
               cap from the connectivity on.  NRS11 sec. 3.3 gives the ladder by minimum cuts in threshold graphs.
    Cost       Rung k: searches of (k + 2) n edges, a handful on random graphs; flows only where searches stall.
    """

    rank: int
    connectivity: int
    weights: Grid
    neighbours = Neighbours.WEIGHT

    @property
    def records_on(self) -> Grid:
        return self.weights

    @property
    def most_changes(self) -> int:
        return self.connectivity

    @property
    def fitted(self) -> bool:  # type: ignore[override]
        # The ladder reaches the cap after so many changes: too soon for a smooth bound to be far below it.
        return self.connectivity >= WELL_CONNECTED

    @property
    def answers(self) -> Grid:  # type: ignore[override]
        return Grid(self.weights.step, 0, self.cap * self.rank)

    @property
    def cap(self) -> int:  # type: ignore[override]
        return self.weights.ends[1]

    def value(self, data: Graph) -> int:
        return self._thresholds(data).cost()

    def ladder(self, data: Graph, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return Ladder(self._thresholds(data).rungs, self.cap, top=self.connectivity, first=4)

    def _thresholds(self, data: Graph) -> Thresholds:
        vertices, a, b = glued(data.vertices, *data.edges.T)
        return Thresholds(vertices, a, b, data.weight_steps(self.weights), self.cap)


@dataclass(frozen=True)
class MSTCost(Query):
    """The cost of a lightest spanning tree; weights are private, one person's each, and edges are public.

    cap: the public upper bound of the weights, by default what the graph declares; the lower bound is 0.  Weights
        outside are clamped, missing ones count as the cap.
    step: the public grid of the weights, by default the graph's.

    A graph in several pieces has a lightest spanning forest; its cost is the sum over the pieces.
    """

    cap: Any = None
    step: Any = field(default=None, kw_only=True)
    kind: ClassVar[str] = "spanning tree cost"
    column = None
    nulls = None

    def __post_init__(self) -> None:
        if self.cap is not None:
            Grid.between((0, self.cap), self.step)

    def shape(self, data: object) -> WeightedShape:
        """The public facts: everything but the weights.  Warns if a bridge makes smooth noise pointless."""
        if not isinstance(data, Graph) or not data.weighted:
            raise InvalidArgument("data", type(data), _WEIGHTED)
        grid = data.weight_grid(self.cap, self.step)
        vertices, a, b = glued(data.vertices, *data.edges.T)
        connectivity = edge_connectivity(vertices, a, b)
        if connectivity == 1:
            warnings.warn(_bridge(data, grid), BridgeWarning, stacklevel=4)
        return WeightedShape(
            data.vertices,
            whole=grid.is_whole,
            nullable=True,
            neighbours=data.neighbours,
            weights=grid,
            rank=vertices - 1,
            connectivity=connectivity,
        )

    def resolve(self, shape: Shape) -> SpanningForestCost:
        if not isinstance(shape, WeightedShape):
            raise InvalidArgument("shape", type(shape), "the public facts of a graph with weights are accepted")
        return SpanningForestCost(shape.rank, shape.connectivity, shape.weights)

    def read(self, data: object, shape: Shape) -> Any:  # noqa: ARG002
        return data

    def missing(self, shape: Shape) -> int | float | None:
        statistic = self.resolve(shape)
        return statistic.weights.value(statistic.cap)


def _bridge(graph: Graph, grid: Grid) -> str:
    """Why a graph with a bridge gains nothing; all of it is public."""
    pendant = int(np.count_nonzero(np.diff(graph.starts) == 1))
    where = f"{pendant} vertices have only one edge" if pendant else "some part hangs on the rest by a single edge"
    return (
        f"{where}: such an edge is in every spanning tree, so its weight alone can move the cost by the cap "
        f"{grid.value(grid.ends[1])}, whatever the other weights are; noise fitted to the weights gains nothing here, "
        "and calibration='worst_case' serves such graphs best"
    )


@dataclass(frozen=True)
class EdgeConnectivity(GraphCount):
    """The least number of edges whose removal disconnects the graph; 0 if it is not connected.

    Guarantee  One edge changes every cut, so also the smallest, by at most 1: the cap is the ladder (DMNS06 sec. 3.2).
    Theorem    docs/proofs/trees.md, section 5.
    Cost       Linear in the edges, a few times over.
    """

    vertices: int
    fitted = False
    flat = True
    smoothness = None
    cap = 1

    @property
    def most(self) -> int:
        return self.vertices - 1

    def value(self, data: Graph) -> int:
        return edge_connectivity(data.vertices, *data.edges.T)

    def ladder(self, data: Graph, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return flat(1)


@dataclass(frozen=True)
class MinCut(GraphQuery):
    """How many edges must go before the graph falls apart: its smallest cut.  Neighbours differ in one edge."""

    kind: ClassVar[str] = "minimum cut"

    def _counted(self, vertices: int) -> EdgeConnectivity:
        self._at_least(vertices, 2)
        return EdgeConnectivity(vertices)
