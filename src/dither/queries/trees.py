"""Spanning forests of private weights, and the minimum cut of a private graph."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dither.errors import InvalidArgument
from dither.kernels.cuts import edge_connectivity, glued
from dither.queries.graphs import GraphQuery
from dither.queries.query import StatisticQuery
from dither.queries.registry import Menu, query
from dither.sources.column import Shape
from dither.sources.graph import Graph
from dither.sources.grid import Grid
from dither.statistics.trees import EdgeConnectivity, SpanningForestCost, WeightedShape
from dither.typing import Interval, Number

_WEIGHTED = "must be a graph with weights such as dither.Graph(edges, n=100, weights=w, cap=1)"


class BridgeWarning(UserWarning):
    """The public edges leave nothing to gain from noise fitted to the weights."""


@query(
    "mst_cost",
    of="weighted graph",
    menu=Menu("Graph", "Spanning tree cost"),
    parameters={"cap": None, "step": None},
)
@dataclass(frozen=True)
class MSTCost(StatisticQuery[float, Interval, Graph]):
    """The cost of a lightest spanning tree; weights are private, one person's each, and edges are public.

    cap: the public upper bound of the weights, by default what the graph declares; the lower bound is 0.  Weights
        outside are clamped, missing ones count as the cap.
    step: the public grid of the weights, by default the graph's.

    A graph in several pieces has a lightest spanning forest; its cost is the sum over the pieces.
    """

    cap: Number | None = None
    step: Number | None = field(default=None, kw_only=True)
    noun: ClassVar[str] = "spanning tree cost"
    column = None
    nulls = None

    def __post_init__(self) -> None:
        if self.cap is not None:
            Grid.between((0, self.cap), self.step)

    def shape(self, data: Graph) -> WeightedShape:
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
            raise InvalidArgument("shape", type(shape), "must be the public facts of a graph with weights")
        return SpanningForestCost(shape.rank, shape.connectivity, shape.weights)

    def read(self, data: Graph, shape: Shape) -> Graph:  # noqa: ARG002
        return data

    def missing(self, shape: Shape) -> int | float | None:
        statistic = self.resolve(shape)
        return statistic.weights.value(statistic.global_sensitivity)


def _bridge(graph: Graph, grid: Grid) -> str:
    """Why a graph with a bridge gains nothing; all of it is public."""
    pendant = int(np.count_nonzero(np.diff(graph.starts) == 1))
    where = f"{pendant} vertices have only one edge" if pendant else "some part hangs on the rest by a single edge"
    return (
        f"{where}: such an edge is in every spanning tree, so its weight alone can move the cost by the cap "
        f"{grid.value(grid.ends[1])}, whatever the other weights are; noise fitted to the weights gains nothing here, "
        "and mechanism='worst_case' serves such graphs best"
    )


@query("min_cut", of="graph", menu=Menu("Graph", "Minimum cut"))
@dataclass(frozen=True)
class MinCut(GraphQuery):
    """How many edges must go before the graph falls apart: its smallest cut.  Neighbours differ in one edge."""

    noun: ClassVar[str] = "minimum cut"

    def _counted(self, vertices: int) -> EdgeConnectivity:
        self._at_least(vertices, 2)
        return EdgeConnectivity(vertices)
