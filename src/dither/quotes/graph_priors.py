"""Priors of graphs: what is publicly known about who is joined to whom.  Nothing here may be read off private edges."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument
from dither.numbers import Number, exact
from dither.quotes.uniforms import uniforms

if TYPE_CHECKING:
    from dither.plain import Json
    from dither.sources.graph import Graph

MOST_EDGES = 1_000_000
"""A quote draws graphs of at most so many expected edges."""
MOST_DEGREES = 1 << 20
"""A public list of degrees has at most so many entries."""


class GraphPrior(ABC):
    """A distribution of graphs on a public number of vertices."""

    distribution: ClassVar[str]

    @abstractmethod
    def expected_edges(self, vertices: int) -> float:
        """How many edges its graphs have about."""

    @abstractmethod
    def pairs(self, vertices: int, number: int) -> NDArray[np.int64]:
        """The edges of one sample, as pairs; the same number gives the same sample."""

    def graph(self, vertices: int, number: int = 0) -> Graph:
        """A sample."""
        from dither.sources.graph import Graph  # noqa: PLC0415  (compiled kernels are slow to load)

        expected = self.expected_edges(vertices)
        if expected > MOST_EDGES:
            accepted = f"must expect at most {MOST_EDGES:,} edges on {vertices:,} vertices: a quote draws such graphs"
            raise InvalidArgument("prior", f"<about {expected:,.0f} edges>", accepted)
        return Graph(self.pairs(vertices, number), n=vertices)


@dataclass(frozen=True)
class ErdosRenyi(GraphPrior):
    """G(n, p): every pair of vertices is joined with probability ``p``, independently of all others.

    >>> ErdosRenyi(p=0.5).graph(100).size > 2_000
    True
    """

    p: Number
    distribution: ClassVar[str] = "erdos_renyi"

    def __post_init__(self) -> None:
        if not 0 <= exact(self.p, "p") <= 1:
            raise InvalidArgument("p", self.p, "must be a probability, from 0 to 1")

    def expected_edges(self, vertices: int) -> float:
        return float(exact(self.p, "p")) * math.comb(vertices, 2)

    def pairs(self, vertices: int, number: int) -> NDArray[np.int64]:
        share, most = float(exact(self.p, "p")), math.comb(vertices, 2)
        if share == 0.0:
            return np.zeros((0, 2), dtype=np.int64)
        if share == 1.0:
            places = np.arange(most, dtype=np.int64)
        else:
            # Gaps between the pairs that are joined are geometric.
            expected = share * most
            drawn = math.ceil(expected + 12.0 * math.sqrt(expected) + 40.0)
            gaps = np.floor(np.log(uniforms(f"edges {number}", drawn)) / math.log1p(-share))
            reached = np.cumsum(np.minimum(gaps, 2.0 * most) + 1.0) - 1.0
            places = reached[reached < most].astype(np.int64)
        return _pairs_of(places)


def _pairs_of(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Pairs i < j in the order (0, 1), (0, 2), (1, 2), (0, 3), ... by their places."""
    upper = np.floor((1.0 + np.sqrt(1.0 + 8.0 * places.astype(np.float64))) / 2.0).astype(np.int64)
    upper -= (upper * (upper - 1) // 2 > places).astype(np.int64)
    upper += ((upper + 1) * upper // 2 <= places).astype(np.int64)
    return np.stack([places - upper * (upper - 1) // 2, upper], axis=1)


@dataclass(frozen=True)
class DegreeSequence(GraphPrior):
    """Graphs with a public list of degrees: their ends are joined at random, loops and repeated edges left out.

    A list of another length than the number of vertices, such as the published degrees of another network, is taken as
    a distribution: its evenly spaced quantiles are used.

    >>> DegreeSequence([3] * 100).graph(100).size > 130
    True
    """

    degrees: Sequence[int]
    distribution: ClassVar[str] = "degree_sequence"

    def __post_init__(self) -> None:
        accepted = f"must be a list of 1 to {MOST_DEGREES:,} degrees: whole numbers of at least 0"
        given = self.degrees
        if isinstance(given, (str, bytes, Mapping)) or not hasattr(given, "__iter__"):
            raise InvalidArgument("degrees", type(given), accepted)
        listed = tuple(given)
        if not 1 <= len(listed) <= MOST_DEGREES:
            raise InvalidArgument("degrees", f"<{len(listed)} entries>", accepted)
        if not all(
            isinstance(candidate, (int, np.integer)) and not isinstance(candidate, bool) and candidate >= 0
            for candidate in listed
        ):
            raise InvalidArgument("degrees", list(listed[:9]), accepted)
        object.__setattr__(self, "degrees", tuple(int(candidate) for candidate in listed))

    def __repr__(self) -> str:
        return f"DegreeSequence(<{len(self.degrees):,} degrees>)"

    def _of(self, vertices: int) -> NDArray[np.int64]:
        """A degree for each vertex, at most that of a vertex that is joined to all others."""
        ordered = np.sort(np.array([min(degree, vertices - 1) for degree in self.degrees], dtype=np.int64))
        if len(ordered) == vertices:
            return ordered
        places = ((np.arange(vertices) + 0.5) * len(ordered) / vertices).astype(np.int64)
        return ordered[places]

    def expected_edges(self, vertices: int) -> float:
        ordered = [min(degree, vertices - 1) for degree in self.degrees]
        return sum(ordered) / len(ordered) * vertices / 2.0

    def pairs(self, vertices: int, number: int) -> NDArray[np.int64]:
        ends = np.repeat(np.arange(vertices, dtype=np.int64), self._of(vertices))
        if len(ends) < 2:
            return np.zeros((0, 2), dtype=np.int64)
        mixed = ends[np.argsort(uniforms(f"ends {number}", len(ends)), kind="stable")]
        pairs = mixed[: len(mixed) // 2 * 2].reshape(-1, 2)
        pairs = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1)
        return np.unique(pairs, axis=0)


GRAPH_PRIORS: tuple[type[ErdosRenyi | DegreeSequence], ...] = (ErdosRenyi, DegreeSequence)


def declared_graph_prior(payload: Mapping[str, Json]) -> GraphPrior:
    """The prior that plain values describe: its distribution (``kind``) and its parameters."""
    given = {key: value for key, value in payload.items() if key != "kind"}
    built: GraphPrior = {item.distribution: item for item in GRAPH_PRIORS}[str(payload["kind"])](**given)  # type: ignore[arg-type]
    return built
