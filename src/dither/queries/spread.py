"""Interquantile range and variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dither.data.column import Column, Shape
from dither.data.grid import Grid
from dither.errors import InvalidArgument
from dither.ladder import MOST_SLOW_RUNGS, Ladder, Rungs
from dither.privacy import Neighbours, fraction_of_unit
from dither.queries.filtered import SharedRank, SharedRankDifference
from dither.queries.order import RankedValue, evenly_spread, rank_of
from dither.queries.query import ColumnQuery, not_proved
from dither.queries.statistic import Algorithm, Chain, Layered, Statistic


@dataclass(frozen=True)
class RankDifference(Statistic, Layered):
    """``x_(q) - x_(p)`` for two ranks p < q of a bounded column.

    Guarantee  The ladder is the sum of the two exact ladders (axioms hold termwise); the chain is exact.
    Theorem    docs/proofs/totals.md: with k changes the two ranks can move apart, or towards each other, by k in total.
    Cost       Link k of the chain: O(k).
    """

    lower: RankedValue
    upper: RankedValue
    answers: Grid
    neighbours = Neighbours.CHANGE_ONE
    one_sided = False
    slow_rungs = True
    slow_links = True

    @property
    def records_on(self) -> Grid:
        return self.lower.answers

    @property
    def most_changes(self) -> int:
        return self.lower.records

    @property
    def cap(self) -> int:  # type: ignore[override]
        return self.answers.ends[1]

    @property
    def most_margin(self) -> int:
        # Both ranks must stay away from the other bound.
        return max(self.upper.records - self.upper.rank, self.lower.rank - 1)

    @property
    def shares(self) -> tuple[float, ...]:
        """Where in the sorted data its ranks lie: public."""
        return (*self.lower.shares, *self.upper.shares)

    def value(self, data: Column) -> int:
        return self.upper.value(data) - self.lower.value(data)

    def ladder(self, data: Column, algorithm: Algorithm = "exact") -> Ladder:
        below, above = self.lower.ladder(data, algorithm), self.upper.ladder(data, algorithm)

        def rungs(start: int, stop: int) -> Rungs:
            return np.asarray(np.minimum(below.rungs(start, stop) + above.rungs(start, stop), self.cap))

        return Ladder(rungs, self.cap, top=self.lower.records, deepest=MOST_SLOW_RUNGS)

    def even_data(self) -> Column:
        return evenly_spread(self.lower.records, self.records_on)

    def chain(self, data: Column) -> Chain:
        p, q, n = self.lower.rank, self.upper.rank, self.lower.records

        def values(first: int, last: int) -> Sequence[int]:
            reach = max(abs(first), abs(last))
            near_p, near_q = data.ranks(p - reach, p + reach), data.ranks(q - reach, q + reach)

            def link(k: int) -> int:
                if k >= 0:
                    return int((near_q[reach : reach + k + 1] - near_p[reach - k : reach + 1]).max())
                return max(0, int((near_q[reach + k : reach + 1] - near_p[reach : reach - k + 1]).min()))

            return [link(k) for k in range(first, last + 1)]

        # Outward all n records may have to move; inward the two ranks meet after q - p changes.
        return Chain(values, p - q, n)


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
class SquaredSpread(Statistic):
    """``n sum x^2 - (sum x)^2``, the variance in units of step^2 / n^2, computed exactly.

    Guarantee  Global sensitivity (n - 1)(hi - lo)^2, attained.
    Theorem    docs/proofs/totals.md.
    """

    records: int
    column: Grid
    answers: Grid
    neighbours = Neighbours.CHANGE_ONE

    @property
    def records_on(self) -> Grid:
        return self.column

    @property
    def cap(self) -> int:  # type: ignore[override]
        low, high = self.column.ends
        return (self.records - 1) * (high - low) ** 2

    @property
    def most_changes(self) -> int:
        return 0

    def value(self, data: Column) -> int:
        total, squares = data.moments()
        return self.records * squares - total**2

    def ladder(self, data: Column, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return Ladder(lambda start, stop: np.full(stop - start, self.cap, dtype=object), self.cap, top=0)


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
