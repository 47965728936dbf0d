"""Numbers that one edge moves by at most 1, and counts whose sensitivity they bound."""

from __future__ import annotations

import functools
from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from dither.sensitivity.levels import HasLevels, LevelFunction, Levels
from dither.sensitivity.local import HasLocalSensitivity
from dither.sources.graph import Graph


class ByLipschitzProxy(HasLevels[Graph], HasLocalSensitivity[Graph]):
    """A count in a graph with a Lipschitz proxy: the level of a graph is its Lipschitz proxy, counted from 1.

    docs/proofs/largest_local.md and docs/proofs/noisy_local.md, the sections on graphs.
    """

    if TYPE_CHECKING:

        @property
        def vertices(self) -> int: ...
        @property
        def global_sensitivity(self) -> int: ...

    @abstractmethod
    def level(self, lipschitz_proxy: int) -> int:
        """The most that one edge changes the count where the Lipschitz proxy is no higher: public."""

    def level_function(self) -> LevelFunction[Graph]:
        return LevelFunction(levels_by_proxy(self), self.level_of_graph)

    def level_of_graph(self, data: Graph) -> int:
        """The level of a graph: private."""
        return self.lipschitz_proxy(data) + 1


class ByCommonNeighbours(ByLipschitzProxy):
    """The Lipschitz proxy is the largest number of neighbours that two vertices share."""

    @property
    def most_lipschitz_proxy(self) -> int:
        return self.vertices - 2

    def lipschitz_proxy(self, data: Graph) -> int:
        return data.frontier.most_common


class ByDegree(ByLipschitzProxy):
    """The Lipschitz proxy is the largest degree."""

    @property
    def most_lipschitz_proxy(self) -> int:
        return self.vertices - 1

    def lipschitz_proxy(self, data: Graph) -> int:
        return int(np.diff(data.starts).max())


@functools.lru_cache(maxsize=8)
def levels_by_proxy(count: ByLipschitzProxy) -> Levels:
    """A level for every value of the Lipschitz proxy, remembered: there are as many as vertices.  Public."""
    return Levels(
        [count.level(lipschitz_proxy) for lipschitz_proxy in range(count.most_lipschitz_proxy)]
        + [count.global_sensitivity]
    )
