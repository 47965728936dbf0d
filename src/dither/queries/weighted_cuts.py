"""The lightest cut of a graph whose weights are private (DMNS06 section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dither.errors import InvalidArgument
from dither.kernels.weighted_cut import lightest_cut
from dither.privacy import Neighbours
from dither.queries.query import StatisticQuery
from dither.queries.registry import Menu, query
from dither.sensitivity.ladder import Algorithm, Ladder
from dither.sources.column import Shape
from dither.sources.graph import Graph, GraphShape
from dither.sources.grid import Grid
from dither.statistics.graphs import flat
from dither.statistics.statistic import WORST_CASE_FIRST, Statistic
from dither.typing import Interval, Number

MOST_VERTICES = 1_500
"""The time of a cut grows with the cube of the vertices."""
MOST_WEIGHT = 1 << 62


@dataclass(frozen=True)
class CutShape(GraphShape):
    """What is public about a graph with private weights: vertices, the fewest edges at one, the weights' grid."""

    weights: Grid = field(kw_only=True)
    fewest: int = field(kw_only=True)


@dataclass(frozen=True)
class LightestCut(Statistic):
    """The least weight of a cut, in steps of the weights' grid.

    Guarantee  One weight is in a cut once or not at all and moves it by at most the cap; so does the least of all cuts.
    Theorem    DMNS06 section 3.2 for weights in [0, 1]; docs/proofs/trees.md, section 6.
    Cost       The cube of the vertices, whatever the weights are.
    """

    weights: Grid
    answers: Grid
    """No lightest cut is heavier than the cap for each of the fewest edges at a vertex."""
    global_sensitivity: int
    """The cap, in steps."""
    neighbours = Neighbours.WEIGHT
    mechanism_preference = WORST_CASE_FIRST
    sensitivity_is_constant = True

    @property
    def records_on(self) -> Grid:
        return self.weights

    def value(self, data: Graph) -> int:
        return lightest_cut(data.vertices, data.edges, data.weight_steps(self.weights))

    def ladder(self, data: Graph, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return flat(self.global_sensitivity)


@query(
    "weighted_min_cut",
    of="weighted graph",
    menu=Menu("Graph", "Lightest cut"),
    parameters={"cap": None, "step": None},
)
@dataclass(frozen=True)
class WeightedMinCut(StatisticQuery[float, Interval, Graph]):
    """The least total weight of edges whose removal leaves the graph in pieces: its lightest cut.

    Weights are private, one person's each, and edges are public.

    cap: the public upper bound of the weights, by default what the graph declares; the lower bound is 0.  Weights
        outside are clamped, missing ones count as the cap.
    step: the public grid of the weights, by default the graph's.
    """

    cap: Number | None = None
    step: Number | None = field(default=None, kw_only=True)
    noun: ClassVar[str] = "lightest cut"
    column = None
    nulls = None

    def __post_init__(self) -> None:
        if self.cap is not None:
            Grid.between((0, self.cap), self.step)

    def shape(self, data: Graph) -> CutShape:
        """The public facts: everything but the weights."""
        if not isinstance(data, Graph) or not data.weighted:
            accepted = "must be a graph with weights such as dither.Graph(edges, n=100, weights=w, cap=1)"
            raise InvalidArgument("data", type(data), accepted)
        if not 2 <= data.vertices <= MOST_VERTICES:
            raise InvalidArgument("graph", f"<{data.vertices} vertices>", f"must have 2 to {MOST_VERTICES:,} vertices")
        grid = data.weight_grid(self.cap, self.step)
        if grid.ends[1] * data.vertices >= MOST_WEIGHT:
            raise InvalidArgument(
                "step", self.step, "must be larger: so many vertices have too heavy cuts in its steps"
            )
        # With all weights 1 a cut of weight 0 is a graph in pieces.
        if lightest_cut(data.vertices, data.edges, np.ones(data.size, dtype=np.int64)) == 0:
            reason = "must hang together: the public edges leave it in pieces, so its lightest cut is 0 without asking"
            raise InvalidArgument("graph", f"<{data.size} edges>", reason)
        return CutShape(
            data.vertices,
            whole=grid.is_whole,
            nullable=True,
            neighbours=data.neighbours,
            weights=grid,
            fewest=int(np.diff(data.starts).min()),
        )

    def resolve(self, shape: Shape) -> LightestCut:
        if not isinstance(shape, CutShape):
            raise InvalidArgument("shape", type(shape), "must be the public facts of a graph with weights")
        cap = shape.weights.ends[1]
        return LightestCut(shape.weights, Grid(shape.weights.step, 0, shape.fewest * cap), cap)

    def read(self, data: Graph, shape: Shape) -> Graph:  # noqa: ARG002
        return data

    def missing(self, shape: Shape) -> int | float | None:
        statistic = self.resolve(shape)
        return statistic.weights.value(statistic.global_sensitivity)
