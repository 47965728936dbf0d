"""Numbers that one edge moves by at most 1, and counts whose sensitivity they bound."""

from __future__ import annotations

import functools
from abc import abstractmethod
from typing import Any

import numpy as np

from dither.data.graph import Graph
from dither.queries.levels import LevelFunction, Levelled, Levels
from dither.queries.steady import Steady


class Gauged(Levelled, Steady):
    """A count in a graph with a gauge: the level of a graph is its gauge, counted from 1.

    docs/proofs/largest_local.md and docs/proofs/noisy_local.md, the sections on graphs.
    """

    vertices: int
    cap: int

    @abstractmethod
    def level(self, gauge: int) -> int:
        """The most that one edge changes the count where the gauge is no higher: public."""

    def level_function(self) -> LevelFunction:
        return LevelFunction(levels_by_gauge(self), lambda data: self.gauge(data) + 1)


class ByCommonNeighbours(Gauged):
    """The gauge is the largest number of neighbours that two vertices share."""

    @property
    def most_gauge(self) -> int:  # type: ignore[override]
        return self.vertices - 2

    def gauge(self, data: Graph) -> int:
        return data.frontier.most_common


class ByDegree(Gauged):
    """The gauge is the largest degree."""

    @property
    def most_gauge(self) -> int:  # type: ignore[override]
        return self.vertices - 1

    def gauge(self, data: Graph) -> int:
        return int(np.diff(data.starts).max())


@functools.lru_cache(maxsize=8)
def levels_by_gauge(count: Any) -> Levels:
    """A level for every value of the gauge, remembered: there are as many as vertices.  Public."""
    return Levels([count.level(gauge) for gauge in range(count.most_gauge)] + [count.cap])
