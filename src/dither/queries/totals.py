"""Sums, counts, means and trimmed means of a bounded column."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from dither.errors import InvalidArgument
from dither.numbers import exact
from dither.queries.query import ColumnQuery, not_proved
from dither.sources.column import Shape
from dither.sources.grid import Grid
from dither.statistics.statistic import Statistic
from dither.statistics.totals import TrimmedTotal
from dither.statistics.unknown_size import FilteredMean, FilteredTotal


@dataclass(frozen=True)
class _Total(ColumnQuery):
    def _trimmed(self, records: int) -> int:  # noqa: ARG002
        return 0

    def _divisor(self, kept: int) -> int:  # noqa: ARG002
        return 1

    def _selected(self, shape: Shape, grid: Grid) -> Statistic:
        """The statistic where the number of records is private."""
        return FilteredTotal(shape.records, grid, shape.neighbours)

    def resolve(self, shape: Shape) -> Statistic:
        grid = self.grid(whole=shape.whole)
        if shape.private:
            return self._selected(shape, grid)
        low, high = grid.ends
        trimmed = self._trimmed(shape.records)
        kept = shape.records - 2 * trimmed
        answers = Grid(grid.step / self._divisor(kept), low * kept, high * kept)
        return TrimmedTotal(trimmed, shape.records, grid, answers)


@dataclass(frozen=True)
class Sum(_Total):
    """The sum of one bounded column, computed exactly."""

    kind: ClassVar[str] = "sum"


@dataclass(frozen=True)
class Count(_Total):
    """The number of true entries of a boolean column."""

    bounds: Any = field(default=(0, 1), kw_only=True)
    step: Any = field(default=1, kw_only=True)
    kind: ClassVar[str] = "count"


@dataclass(frozen=True)
class Mean(_Total):
    """The mean of one bounded column."""

    kind: ClassVar[str] = "mean"

    def _divisor(self, kept: int) -> int:
        return kept

    def _selected(self, shape: Shape, grid: Grid) -> Statistic:
        return FilteredMean(grid, shape.neighbours)


@dataclass(frozen=True)
class TrimmedMean(_Total):
    """The mean of the records between the ranks ``floor(trim n) + 1`` and ``n - floor(trim n)``."""

    trim: Any = field(default=Fraction(1, 10), kw_only=True)
    kind: ClassVar[str] = "trimmed mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= exact(self.trim, "trim") < Fraction(1, 2):
            raise InvalidArgument("trim", self.trim, "a share of at least 0 and below 1/2 is accepted")

    @property
    def label(self) -> str:
        return f"{float(exact(self.trim)):g} {super().label}"

    def trimmed_of(self, records: int) -> int:
        """How many of so many records are cut on each side."""
        return math.floor(exact(self.trim) * records)

    def _trimmed(self, records: int) -> int:
        return self.trimmed_of(records)

    def _selected(self, shape: Shape, grid: Grid) -> Statistic:  # noqa: ARG002
        raise not_proved(self.kind)

    def _divisor(self, kept: int) -> int:
        return kept
