"""A statistic: a query resolved against public facts.  Calibrations know statistics, never queries or data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from dither.data.grid import Grid
from dither.ladder import Ladder
from dither.privacy import Neighbours

Algorithm: TypeAlias = Literal["exact", "linear", "sublinear"]


class Statistic(ABC):
    """A number on a public grid, computed from private data, with a ladder."""

    neighbours: Neighbours
    answers: Grid
    """Where released answers live: public."""
    cap: int
    """The global sensitivity, in grid steps: public."""

    @abstractmethod
    def value(self, data: Any) -> int:
        """The true value, in grid steps: private."""

    @abstractmethod
    def ladder(self, data: Any, algorithm: Algorithm = "exact") -> Ladder:
        """The ladder: private."""


@dataclass(frozen=True)
class Shells:
    """The answers ordered by how many records must change to reach them: what ``inverse`` draws from.

    Shell t holds ``count(t)`` grid points of cost t (t = 1, 2, ...); ``point(t, index)`` names one.  Costs are
    1-Lipschitz between neighbours.
    """

    counts: Any
    """(first, last) -> list of the numbers of points of costs first..last."""
    point: Any
    """(cost, index) -> grid point."""
    total: int
    """The number of points in all shells: public."""


class Layered(ABC):
    """A statistic whose possible answers fall into shells."""

    one_sided: bool
    """True if a change of one record moves the costs of all answers the same way; public."""

    @abstractmethod
    def shells(self, data: Any) -> Shells:
        """The shells around the true value: private."""

    @abstractmethod
    def at_most(self, data: Any, answers: Sequence[int]) -> list[int]:
        """The numbers of records at or below some grid points: private, each of sensitivity 1."""
