"""What all questions about columns share: bounds, grid, missing values, and how they meet an array."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dither.errors import NotProved
from dither.sources.column import Column, Shape, missing_steps, read_column, shape_of
from dither.sources.grid import Grid
from dither.statistics.statistic import Statistic, VectorStatistic


def not_proved(kind: str) -> NotProved:
    """The refusal of a statistic whose sensitivity is not proved where the number of records is private."""
    return NotProved(
        f"{kind}: not proved where the number of records is private (a filter, groups, a unit column, missing values "
        'that are dropped, or rows = "private"); nothing was read, nothing was charged'
    )


class Query(ABC):
    """A question.  Resolving it uses public facts only; reading gives private data."""

    kind: ClassVar[str]
    column: str | None
    nulls: Any

    @property
    def label(self) -> str:
        """How a release names the question."""
        return self.kind if self.column is None else f"{self.kind} of {self.column}"

    def shape(self, data: object) -> Shape:
        """The public facts of the data: lengths and types only."""
        return shape_of(data)

    @abstractmethod
    def resolve(self, shape: Shape) -> Statistic | VectorStatistic:
        """The statistic, from public facts."""

    @abstractmethod
    def read(self, data: object, shape: Shape) -> Any:
        """The data on their grid: private."""

    @abstractmethod
    def missing(self, shape: Shape) -> int | float | None:
        """The public value that missing records count as; None if the type has no missing values."""


@dataclass(frozen=True)
class ColumnQuery(Query):
    """A question about one bounded column."""

    column: str | None = None
    bounds: Any = field(default=None, kw_only=True)
    """Needed for arrays; a session takes them from its schema."""
    step: Any = field(default=None, kw_only=True)
    nulls: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.bounds is not None:
            self.grid(whole=False)

    def grid(self, *, whole: bool) -> Grid:
        """The public grid of the column."""
        return self._whole_grid if whole and self.step is None else self._real_grid

    @functools.cached_property
    def _real_grid(self) -> Grid:
        return self._checked(Grid.between(self.bounds, self.step))

    @functools.cached_property
    def _whole_grid(self) -> Grid:
        return self._checked(Grid.between(self.bounds, whole=True))

    def _checked(self, grid: Grid) -> Grid:
        missing_steps(self.nulls, grid)
        return grid

    def read(self, data: object, shape: Shape) -> Column:
        return read_column(data, self.grid(whole=shape.whole), self.nulls)

    def missing(self, shape: Shape) -> int | float | None:
        grid = self.grid(whole=shape.whole)
        return grid.value(missing_steps(self.nulls, grid)) if shape.nullable else None
