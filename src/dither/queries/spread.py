"""Interquantile range and variance of a bounded column."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal

from dither.errors import InvalidArgument
from dither.queries.fitted import BoundsFitted
from dither.queries.registry import Menu, Sql, query
from dither.queries.unbounded import TestedOrDrawn, Unbounded, range_without_bounds, share_pair
from dither.sources.column import Shape
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue, rank_of
from dither.statistics.spread import RankDifference, SquaredSpread
from dither.statistics.statistic import Statistic
from dither.statistics.unknown_size import SharedRank, SharedRankDifference
from dither.statistics.unknown_spread import FilteredVariance
from dither.typing import Number


@query("iqr", of="column", sql=(Sql("iqr", near=("mad",)),), menu=Menu("Spread", "Interquartile range"))
@dataclass(frozen=True)
class IQR(TestedOrDrawn):
    """The distance between two quantiles, by default the quartiles."""

    low: Number = field(default=Fraction(1, 4), kw_only=True)
    high: Number = field(default=Fraction(3, 4), kw_only=True)
    noun: ClassVar[str] = "interquantile range"
    dates = "days"

    def check(self) -> None:
        self.shares  # noqa: B018  (refuses what is no pair)

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """Both quantiles."""
        return share_pair(self.low, self.high)

    def unbounded(self) -> Unbounded:
        return range_without_bounds(self.shares)

    @property
    def label(self) -> str:
        return f"{super().label} ({' to '.join(f'{float(end):g}' for end in self.shares)})"

    def statistic(self, shape: Shape, grid: Grid) -> Statistic:
        low, high = grid.ends
        if shape.private:
            below, above = (SharedRank(share, shape.records, grid, shape.neighbours) for share in self.shares)
            return SharedRankDifference(below, above, Grid(grid.step, 0, high - low), shape.neighbours)
        lower, upper = (RankedValue(rank_of(share, shape.records), shape.records, grid) for share in self.shares)
        if lower.rank == upper.rank:
            # The difference of a rank with itself is 0 on all data; n is public, so this refusal is public.
            raise InvalidArgument(
                "low", self.low, f"must be shares that fall on different ranks of the {shape.records} records"
            )
        return RankDifference(lower, upper, Grid(grid.step, 0, high - low))


@query(
    "variance",
    of="column",
    menu=Menu("Spread", "Variance"),
    sql=(
        Sql("variance", fixed={"ddof": 1}),
        Sql("var_samp", fixed={"ddof": 1}),
        Sql("var_pop", fixed={"ddof": 0}),
    ),
)
@dataclass(frozen=True)
class Variance(BoundsFitted):
    """The variance of one column: divided by n (``ddof=0``) or by n - 1 (``ddof=1``).

    Without bounds they are drawn first, and the variance is that of the records clamped to them.
    """

    ddof: Literal[0, 1] = field(default=0, kw_only=True)
    noun: ClassVar[str] = "variance"
    default_drop = True
    needs_public_count = ("worst_case",)

    def check(self) -> None:
        if isinstance(self.ddof, bool) or self.ddof not in (0, 1):
            raise InvalidArgument("ddof", self.ddof, "must be 0 or 1")

    def moved(self, number: Fraction, centre: Fraction, records: int) -> Fraction:  # noqa: ARG002
        return number

    def statistic(self, shape: Shape, grid: Grid) -> Statistic:
        if shape.private:
            return FilteredVariance(grid, self.ddof, shape.neighbours)
        n = shape.records
        if n <= self.ddof:
            raise InvalidArgument("ddof", self.ddof, f"must be fewer than the {n} records")
        low, high = grid.ends
        # The largest value has half of the records at either end.
        most = (high - low) ** 2 * (n // 2) * (n - n // 2)
        return SquaredSpread(n, grid, Grid(grid.step**2 / (n * (n - self.ddof)), 0, most))


@query(
    "std",
    of="column",
    menu=Menu("Spread", "Standard deviation"),
    proof="totals",
    sql=(
        Sql("stddev", fixed={"ddof": 1}),
        Sql("std", fixed={"ddof": 1}),
        Sql("stddev_samp", fixed={"ddof": 1}),
        Sql("stddev_pop", fixed={"ddof": 0}),
    ),
)
@dataclass(frozen=True)
class Std(Variance):
    """The standard deviation of one column: the root of a private variance.

    >>> import dither as dt
    >>> 40 < dt.std([0, 100] * 5_000, bounds=(0, 100), epsilon=5.0).value < 60
    True
    """

    noun: ClassVar[str] = "standard deviation"
    is_transformed = True

    def transformed(self, number: float) -> float:
        return math.sqrt(number)

    def error_after(self, error: float) -> float:
        return math.sqrt(error)  # (docs/proofs/quotes.md, section 4)
