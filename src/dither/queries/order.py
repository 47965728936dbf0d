"""Order statistics of a bounded column: any rank, quantiles, median, minimum and maximum."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

from dither.errors import InvalidArgument
from dither.privacy import fraction_of_unit
from dither.queries.query import ColumnQuery, not_proved
from dither.sources.column import Shape
from dither.statistics.order import RankedValue, RankedValues, rank_of
from dither.statistics.statistic import Statistic


@dataclass(frozen=True)
class OrderStatistic(ColumnQuery):
    """The value at ``rank`` (1 is the smallest) of one bounded column; neighbours change one record."""

    rank: int = field(default=1, kw_only=True)
    kind: ClassVar[str] = "order statistic"

    def __post_init__(self) -> None:
        if not isinstance(self.rank, int) or isinstance(self.rank, bool) or self.rank < 1:
            raise InvalidArgument("rank", self.rank, "a whole number from 1 to the number of records is accepted")
        super().__post_init__()

    def rank_among(self, records: int) -> int:
        """The rank in a column of so many records."""
        if self.rank > records:
            raise InvalidArgument("rank", self.rank, f"a whole number from 1 to {records} is accepted")
        return self.rank

    def resolve(self, shape: Shape) -> Statistic:
        if shape.private:
            raise not_proved(self.kind)
        share = getattr(self, "share", None)
        return RankedValue(self.rank_among(shape.records), shape.records, self.grid(whole=shape.whole), share)


@dataclass(frozen=True)
class _ByShare(OrderStatistic):
    rank: int = field(default=1, init=False, repr=False)

    @property
    def share(self) -> Fraction:
        raise AttributeError("share")

    def rank_among(self, records: int) -> int:
        return rank_of(self.share, records)

    def resolve(self, shape: Shape) -> Statistic:
        if shape.private:
            from dither.statistics.unknown_size import SharedRank  # noqa: PLC0415  (built on this module)

            return SharedRank(self.share, shape.records, self.grid(whole=shape.whole), shape.neighbours)
        return super().resolve(shape)


@dataclass(frozen=True)
class Quantile(_ByShare):
    """The smallest value that a share ``q`` of the records does not exceed: rank ``ceil(q n)``, exactly."""

    q: Any = field(kw_only=True)
    kind: ClassVar[str] = "quantile"

    def __post_init__(self) -> None:
        super().__post_init__()
        fraction_of_unit("q", self.q, closed=True)

    @property
    def label(self) -> str:
        return f"{float(self.share):g} {super().label}"

    @property
    def share(self) -> Fraction:
        return fraction_of_unit("q", self.q, closed=True)


@dataclass(frozen=True)
class Quantiles(ColumnQuery):
    """Several quantiles at once; the answers rise with q."""

    q: Any = field(kw_only=True)
    kind: ClassVar[str] = "quantiles"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.shares()

    def shares(self) -> tuple[Fraction, ...]:
        """The shares, exactly."""
        if isinstance(self.q, (str, bytes)) or not hasattr(self.q, "__iter__"):
            raise InvalidArgument("q", self.q, "a list of numbers in [0, 1] is accepted")
        shares = tuple(fraction_of_unit("q", one, closed=True) for one in self.q)
        if not shares or not all(low < high for low, high in pairwise(shares)):
            raise InvalidArgument("q", list(self.q), "a strictly increasing list of numbers in [0, 1] is accepted")
        return shares

    def resolve(self, shape: Shape) -> RankedValues:
        if shape.private:
            raise not_proved(self.kind)
        labels = tuple(f"{float(share):.4g}" for share in self.shares())
        return RankedValues(self.shares(), shape.records, self.grid(whole=shape.whole), labels)


@dataclass(frozen=True)
class Median(_ByShare):
    """Lower median of one bounded column; neighbours change one record."""

    kind: ClassVar[str] = "median"
    share = Fraction(1, 2)


@dataclass(frozen=True)
class Minimum(_ByShare):
    """The smallest record."""

    kind: ClassVar[str] = "minimum"
    share = Fraction(0)


@dataclass(frozen=True)
class Maximum(_ByShare):
    """The largest record."""

    kind: ClassVar[str] = "maximum"
    share = Fraction(1)
