"""Counts of small subgraphs of a private graph."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dither.errors import InvalidArgument, NotApplicable
from dither.privacy import Neighbours
from dither.queries.query import StatisticQuery
from dither.queries.registry import Menu, query
from dither.sources.column import Shape
from dither.sources.graph import Graph, GraphShape, as_graph
from dither.statistics.graphs import (
    MOST_COUNT,
    BoundedEdgeCount,
    BoundedTriangleCount,
    CliqueCount,
    EdgeCount,
    GraphCount,
    KTriangleCount,
    StarCount,
    TriangleCount,
)
from dither.statistics.node_graphs import (
    LimitedEdgeCount,
    LimitedStarCount,
    LimitedTriangleCount,
    NodeEdgeCount,
    NodeStarCount,
    NodeTriangleCount,
)
from dither.statistics.restricted import BoundedCliqueCount, BoundedKTriangleCount, BoundedStarCount
from dither.typing import CountInterval, Whole

_MANY_PER_VERTEX = (
    "one vertex can lie in so many of them that no limit of its share with a proved sensitivity can be computed here"
)


@dataclass(frozen=True)
class GraphQuery(StatisticQuery[int, CountInterval, Graph]):
    """A question about a graph in which every edge, or every vertex with its edges, is a person's."""

    column = None
    nulls = None
    not_for_nodes: ClassVar[str] = "it is not proved for neighbours that differ in all edges of a vertex"
    """Why it is refused where vertices are people."""

    def shape(self, data: Graph) -> GraphShape:
        return as_graph(data).shape

    def read(self, data: Graph, shape: Shape) -> Graph:  # noqa: ARG002
        return as_graph(data)

    def missing(self, shape: Shape) -> None:  # noqa: ARG002
        return None

    def resolve(self, shape: Shape) -> GraphCount:
        if not isinstance(shape, GraphShape):
            raise InvalidArgument("shape", type(shape), "must be the public facts of a graph")
        if shape.neighbours is Neighbours.NODE:
            statistic = self._counted_for_nodes(shape.vertices)
        elif shape.neighbours is Neighbours.EDGE:
            statistic = self._counted(shape.vertices)
        else:
            raise NotApplicable(
                "query", self.name, "in a graph with weights the edges are public", "questions about weights"
            )
        if statistic.most > MOST_COUNT:
            raise InvalidArgument(
                "k", getattr(self, "k", None), f"must give counts of at most 1e290 for n={shape.vertices}"
            )
        return statistic

    @abstractmethod
    def _counted(self, vertices: int) -> GraphCount:
        """The statistic for so many vertices."""

    def _counted_for_nodes(self, vertices: int) -> GraphCount:  # noqa: ARG002
        """The same where a vertex with all of its edges is a person's."""
        raise NotApplicable("query", self.name, self.not_for_nodes, "edges, triangles, kstars")

    def _at_least(self, vertices: int, needed: int) -> None:
        if vertices < needed:
            raise InvalidArgument("n", vertices, f"must have at least {needed} vertices for {self.label}")


@query("edges", of="graph", menu=Menu("Graph", "Edges"))
@dataclass(frozen=True)
class Edges(GraphQuery):
    """The number of edges.  ``max_degree``: count only edges within the first so many of both of their vertices.

    Where vertices are people (``neighbours="node"``) ``max_degree`` is the most that one vertex counts, in fractions.
    """

    max_degree: Whole | None = field(default=None, kw_only=True)
    noun: ClassVar[str] = "edges"

    def __post_init__(self) -> None:
        if self.max_degree is not None:
            whole("max_degree", self.max_degree, 1)

    def _counted(self, vertices: int) -> GraphCount:
        self._at_least(vertices, 2)
        if self.max_degree is None:
            return EdgeCount(vertices)
        # A bound above the number of vertices has no effect, and would not fit into machine words.
        return BoundedEdgeCount(vertices, min(int(self.max_degree), vertices))

    def _counted_for_nodes(self, vertices: int) -> GraphCount:
        self._at_least(vertices, 2)
        if self.max_degree is None:
            return NodeEdgeCount(vertices)
        return LimitedEdgeCount(vertices, min(int(self.max_degree), vertices))


@query("triangles", of="graph", menu=Menu("Graph", "Triangles"))
@dataclass(frozen=True)
class Triangles(GraphQuery):
    """The number of triangles.  ``max_degree``: count only edges within the first so many of both of their vertices.

    Where vertices are people a vertex counts at most as many triangles as ``max_degree`` edges can have, in fractions.
    """

    max_degree: Whole | None = field(default=None, kw_only=True)
    noun: ClassVar[str] = "triangles"

    def __post_init__(self) -> None:
        if self.max_degree is not None:
            whole("max_degree", self.max_degree, 2)

    def _counted(self, vertices: int) -> GraphCount:
        self._at_least(vertices, 3)
        if self.max_degree is None:
            return TriangleCount(vertices)
        return BoundedTriangleCount(vertices, min(int(self.max_degree), vertices))

    def _counted_for_nodes(self, vertices: int) -> GraphCount:
        self._at_least(vertices, 3)
        if self.max_degree is None:
            return NodeTriangleCount(vertices)
        return LimitedTriangleCount(vertices, min(int(self.max_degree), vertices))


@dataclass(frozen=True)
class _KQuery(GraphQuery):
    k: Whole
    max_degree: Whole | None = field(default=None, kw_only=True)
    least: ClassVar[int] = 1
    beyond: ClassVar[int] = 0
    """What is counted needs a vertex with ``k + beyond`` neighbours: with fewer every count is 0."""

    def __post_init__(self) -> None:
        whole("k", self.k, self.least)
        if self.max_degree is not None:
            whole("max_degree", self.max_degree, self.k + self.beyond)

    @property
    def label(self) -> str:
        return f"{self.k}-{self.noun}"

    def _degree(self, vertices: int) -> int:
        """The hypothesis; one above the number of vertices has no effect, and would not fit into machine words."""
        return vertices if self.max_degree is None else min(int(self.max_degree), vertices)


@query("kstars", of="graph", menu=Menu("Graph", "Stars"))
@dataclass(frozen=True)
class KStars(_KQuery):
    """The number of k-stars: a centre and k of its neighbours.  ``max_degree`` as for triangles.

    Where vertices are people edges are kept while both of their vertices have fewer than ``max_degree``.
    """

    noun: ClassVar[str] = "stars"

    def _counted(self, vertices: int) -> GraphCount:
        self._at_least(vertices, self.k + 1)
        if self.max_degree is not None:
            return BoundedStarCount(vertices, int(self.k), self._degree(vertices))
        return StarCount(vertices, int(self.k))

    def _counted_for_nodes(self, vertices: int) -> GraphCount:
        self._at_least(vertices, self.k + 1)
        if self.max_degree is None:
            return NodeStarCount(vertices, int(self.k))
        return LimitedStarCount(vertices, int(self.k), self._degree(vertices))


@query("ktriangles", of="graph", menu=Menu("Graph", "k-triangles"))
@dataclass(frozen=True)
class KTriangles(_KQuery):
    """The number of k-triangles: k triangles on one edge.  ``max_degree`` as for triangles."""

    noun: ClassVar[str] = "triangles"
    beyond: ClassVar[int] = 1
    not_for_nodes: ClassVar[str] = _MANY_PER_VERTEX

    def _counted(self, vertices: int) -> GraphCount:
        self._at_least(vertices, self.k + 2)
        if self.max_degree is not None:
            return BoundedKTriangleCount(vertices, int(self.k), self._degree(vertices))
        return KTriangleCount(vertices, int(self.k))


@query("kcliques", of="graph", menu=Menu("Graph", "Cliques"))
@dataclass(frozen=True)
class KCliques(_KQuery):
    """The number of cliques of k vertices; 2 are edges, 3 are triangles.  ``max_degree`` as for triangles."""

    noun: ClassVar[str] = "cliques"
    not_for_nodes: ClassVar[str] = _MANY_PER_VERTEX
    least: ClassVar[int] = 2
    beyond: ClassVar[int] = -1

    def _counted(self, vertices: int) -> GraphCount:
        self._at_least(vertices, int(self.k))
        if self.max_degree is not None:
            return self._restricted(vertices, self._degree(vertices))
        small: dict[int, type[EdgeCount | TriangleCount]] = {2: EdgeCount, 3: TriangleCount}
        k = int(self.k)
        return small[k](vertices) if k in small else CliqueCount(vertices, k)

    def _counted_for_nodes(self, vertices: int) -> GraphCount:
        small: dict[int, type[Edges | Triangles]] = {2: Edges, 3: Triangles}
        if int(self.k) in small:
            return small[int(self.k)](max_degree=self.max_degree).resolve(GraphShape.of(vertices, Neighbours.NODE))
        return super()._counted_for_nodes(vertices)

    def _restricted(self, vertices: int, degree: int) -> GraphCount:
        small: dict[int, type[BoundedEdgeCount | BoundedTriangleCount]] = {2: BoundedEdgeCount, 3: BoundedTriangleCount}
        k = int(self.k)
        return small[k](vertices, degree) if k in small else BoundedCliqueCount(vertices, k, degree)


def whole(argument: str, number: Whole, least: int) -> None:
    """Refuse what is not a whole number of at least ``least``."""
    if not isinstance(number, (int, np.integer)) or isinstance(number, bool) or number < least:
        raise InvalidArgument(argument, number, f"must be a whole number of at least {least}")
