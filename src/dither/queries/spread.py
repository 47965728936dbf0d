"""Interquantile range and variance of a bounded column."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from dither.errors import InvalidArgument
from dither.privacy import fraction_of_unit
from dither.queries.query import ColumnQuery, not_proved
from dither.sources.column import Shape
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue, rank_of
from dither.statistics.spread import RankDifference, SquaredSpread
from dither.statistics.statistic import Statistic
from dither.statistics.unknown_size import SharedRank, SharedRankDifference


@dataclass(frozen=True)
class IQR(ColumnQuery):
    """The distance between two quantiles, by default the quartiles."""

    low: Any = field(default=Fraction(1, 4), kw_only=True)
    high: Any = field(default=Fraction(3, 4), kw_only=True)
    kind: ClassVar[str] = "interquantile range"

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = fraction_of_unit("low", self.low, closed=True), fraction_of_unit("high", self.high, closed=True)
        if not low < high:
            raise InvalidArgument("low", self.low, f"a share below high={self.high} is accepted")

    @property
    def label(self) -> str:
        ends = (float(fraction_of_unit(name, getattr(self, name), closed=True)) for name in ("low", "high"))
        return f"{super().label} ({' to '.join(f'{end:g}' for end in ends)})"

    def resolve(self, shape: Shape) -> Statistic:
        grid = self.grid(whole=shape.whole)
        low, high = grid.ends
        if shape.private:
            ends = (fraction_of_unit(name, getattr(self, name), closed=True) for name in ("low", "high"))
            below, above = (SharedRank(share, shape.records, grid, shape.neighbours) for share in ends)
            return SharedRankDifference(below, above, Grid(grid.step, 0, high - low), shape.neighbours)
        shares = (fraction_of_unit(name, getattr(self, name), closed=True) for name in ("low", "high"))
        lower, upper = (RankedValue(rank_of(share, shape.records), shape.records, grid) for share in shares)
        if lower.rank == upper.rank:
            # The difference of a rank with itself is 0 for everybody; n is public, so this refusal is.
            raise InvalidArgument(
                "low", self.low, f"shares that fall on different ranks of the {shape.records} records are accepted"
            )
        return RankDifference(lower, upper, Grid(grid.step, 0, high - low))


@dataclass(frozen=True)
class Variance(ColumnQuery):
    """The variance of one bounded column: divided by n (``ddof=0``) or by n - 1 (``ddof=1``)."""

    ddof: int = field(default=0, kw_only=True)
    kind: ClassVar[str] = "variance"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ddof not in (0, 1):
            raise InvalidArgument("ddof", self.ddof, "0 or 1 is accepted")

    def resolve(self, shape: Shape) -> SquaredSpread:
        if shape.private:
            raise not_proved(self.kind)
        n, grid = shape.records, self.grid(whole=shape.whole)
        if n <= self.ddof:
            raise InvalidArgument("ddof", self.ddof, f"fewer than the {n} records are accepted")
        low, high = grid.ends
        # The largest value has half of the records at either end.
        most = (high - low) ** 2 * (n // 2) * (n - n // 2)
        return SquaredSpread(n, grid, Grid(grid.step**2 / (n * (n - self.ddof)), 0, most))
