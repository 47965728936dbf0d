"""Order statistics of a bounded column: any rank, quantiles, median, minimum and maximum."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

from dither.errors import InvalidArgument, NotApplicable
from dither.mechanisms.choice import chosen_among
from dither.mechanisms.joint_quantiles import SeveralDraws
from dither.privacy import Loss, Neighbours, fraction_of_unit
from dither.procedures.ordered import Ordered
from dither.procedures.unbounded_quantiles import REALS, drawn_values, plan_drawn_quantiles
from dither.queries.parameters import Number, NumbersParameter
from dither.queries.plan import Options, Plan, Result
from dither.queries.query import ColumnQuery, Query, check_sample, not_proved
from dither.queries.registry import Menu, Sql, query
from dither.queries.unbounded import (
    BoundsOptional,
    TestedOrDrawn,
    Unbounded,
    counted_missing,
    quantile_without_bounds,
)
from dither.release import Counted
from dither.sources.column import Shape
from dither.sources.grid import Grid
from dither.sources.schema import Schema
from dither.statistics.order import PaddedRank, RankedValue, RankedValues, rank_of
from dither.statistics.statistic import Statistic
from dither.statistics.unknown_size import SharedRank
from dither.typing import Interval, Intervals, NumberList, Numbers
from dither.typing import Number as AnyNumber

MOST_TOGETHER = 10_000_000
"""Several quantiles are drawn together from all records: tables above this size refuse."""


@query(
    "order_statistic",
    of="column",
    menu=Menu("Distribution", "Value of a rank"),
    sql=(Sql("order_statistic", "rank", example="5"),),
)
@dataclass(frozen=True)
class OrderStatistic(ColumnQuery[float, Interval]):
    """The value at ``rank`` (1 is the smallest) of one bounded column; neighbours change one record.

    Where the number of records is private (behind a filter, in groups) there may be fewer: then it is the upper bound.
    """

    rank: int = field(default=1, kw_only=True)
    default_drop = True
    needs_public_count = ("propose_test", "stable")  # what they need at least follows from the number of records
    noun: ClassVar[str] = "order statistic"
    dates = "dates"

    def check(self) -> None:
        if not isinstance(self.rank, int) or isinstance(self.rank, bool) or self.rank < 1:
            raise InvalidArgument("rank", self.rank, "must be a whole number from 1 to the number of records")

    def rank_among(self, records: int) -> int:
        """The rank in a column of so many records."""
        if self.rank > records:
            raise InvalidArgument("rank", self.rank, f"must be a whole number from 1 to {records}")
        return self.rank

    def statistic(self, shape: Shape, grid: Grid) -> Statistic:
        rank, share = self.rank_among(shape.records), getattr(self, "share", None)
        if shape.private:
            return PaddedRank(rank, shape.records, grid, share, neighbours=shape.neighbours)
        return RankedValue(rank, shape.records, grid, share)


@dataclass(frozen=True)
class _ByShare(OrderStatistic):
    rank: int = field(default=1, init=False, repr=False)

    @property
    def share(self) -> Fraction:
        raise AttributeError("share")

    def rank_among(self, records: int) -> int:
        return rank_of(self.share, records)

    def statistic(self, shape: Shape, grid: Grid) -> Statistic:
        if shape.private:
            return SharedRank(self.share, shape.records, grid, shape.neighbours)
        return super().statistic(shape, grid)

    def plan_for_population(self, facts: Shape, options: Options) -> Plan:
        check_sample(self, facts, self.bounds)
        if not 0 < self.share < 1:
            why = "no sample says how far a population reaches"
            raise NotApplicable("interval", options.interval, why, "a quantile between 0 and 1")
        return self.plan(facts, options)


@query(
    "quantile",
    of="column",
    menu=Menu("Distribution", "Quantile", place=2),
    parameters={
        "q": Number("Which quantile", "Between 0 and 1: 0.9 is the value that nine in ten do not exceed.", example=0.9)
    },
    sql=(
        Sql("quantile", "q", example="0.9", near=("quantile_cont", "approx_quantile")),
        Sql("quantile_disc", "q", example="0.9"),
        Sql("percentile_disc", "q", example="0.9", within=True, near=("percentile_cont",)),
    ),
)
@dataclass(frozen=True)
class Quantile(TestedOrDrawn, _ByShare):
    """The smallest value that a share ``q`` of the records does not exceed: rank ``ceil(q n)``, exactly."""

    q: AnyNumber = field(kw_only=True)
    noun: ClassVar[str] = "quantile"
    drops_without_bounds = True

    def check(self) -> None:
        fraction_of_unit("q", self.q, closed=True)

    @property
    def label(self) -> str:
        return f"{float(self.share):g} {super().label}"

    @property
    def share(self) -> Fraction:
        return fraction_of_unit("q", self.q, closed=True)

    def unbounded(self) -> Unbounded:
        return quantile_without_bounds(self.share)


@query(
    "quantiles",
    of="column",
    menu=Menu("Distribution", "Several quantiles", place=3, picture="quantiles"),
    parameters={
        "q": NumbersParameter(
            "Which quantiles",
            "With commas between them; together they cost less than one by one.",
            example=(0.25, 0.5, 0.75),
        )
    },
    sql=(
        Sql("quantiles", "q+", example="0.1, 0.5, 0.9"),
        Sql("quantile", "q[]", example="[0.1, 0.9]"),
        Sql("quantile_disc", "q[]", example="[0.1, 0.9]"),
    ),
)
@dataclass(frozen=True)
class Quantiles(BoundsOptional[Numbers, Intervals]):
    """Several quantiles at once; the answers rise with q."""

    q: NumberList = field(kw_only=True)
    noun: ClassVar[str] = "quantiles"
    instead = "ask quantile(c, 0.25) for each of them, which is answered there"
    dates = "dates"

    def check(self) -> None:
        self.shares()

    def shares(self) -> tuple[Fraction, ...]:
        """The shares, exactly."""
        if isinstance(self.q, (str, bytes)) or not hasattr(self.q, "__iter__"):
            raise InvalidArgument("q", self.q, "must be a list of numbers in [0, 1]")
        shares = tuple(fraction_of_unit("q", item, closed=True) for item in self.q)
        if not shares or not all(low < high for low, high in pairwise(shares)):
            raise InvalidArgument("q", list(self.q), "must be a strictly increasing list of numbers in [0, 1]")
        return shares

    def bound(self, schema: Schema) -> Query:
        if isinstance(schema.rows, int) and schema.rows > MOST_TOGETHER:
            raise InvalidArgument(
                "query", self.name, f"is for tables of at most {MOST_TOGETHER:,} rows; ask for each quantile alone"
            )
        return super().bound(schema)

    def statistic(self, shape: Shape, grid: Grid) -> RankedValues:
        if shape.private:
            raise not_proved(self)
        labels = tuple(f"{float(share):.4g}" for share in self.shares())
        return RankedValues(self.shares(), shape.records, grid, labels)

    def plan_for_population(self, facts: Shape, options: Options) -> Plan:
        check_sample(self, facts, self.bounds)
        if not all(0 < share < 1 for share in self.shares()):
            why = "no sample says how far a population reaches"
            raise NotApplicable("interval", options.interval, why, "quantiles between 0 and 1")
        return self.plan(facts, options)

    def plan_without_bounds(self, facts: Shape, options: Options) -> Plan:
        chosen_among(options.mechanism, options.noise, ("inverse",), "not for quantiles without bounds=(lower, upper)")
        drawn = plan_drawn_quantiles(self.statistic(facts, REALS.grid), options.loss, options.confidence)
        return DrawnQuantiles(self.label, drawn, options.level, counted_missing(self.nulls, facts))


@dataclass(frozen=True)
class DrawnQuantiles(Plan[Ordered]):
    """Several quantiles without bounds, by one joint draw."""

    label: str
    prepared: SeveralDraws
    confidence: float | None
    missing: Counted = None
    neighbours = Neighbours.CHANGE_ONE
    mechanism = "inverse"
    noise = "exponential"

    @property
    def loss(self) -> Loss:
        return self.prepared.loss

    @property
    def labels(self) -> tuple[str, ...] | None:
        return self.prepared.statistic.labels

    def run(self, records: Ordered) -> Result:
        return Result(*drawn_values(self.prepared, records))


@query("median", of="column", sql=(Sql("median"),), menu=Menu("Middle", "Median", place=1))
@dataclass(frozen=True)
class Median(TestedOrDrawn, _ByShare):
    """Lower median of one bounded column; neighbours change one record."""

    noun: ClassVar[str] = "median"
    share = Fraction(1, 2)
    drops_without_bounds = True

    def unbounded(self) -> Unbounded:
        return quantile_without_bounds(self.share)


@query("minimum", of="column", sql=(Sql("min"), Sql("minimum")), menu=Menu("Distribution", "Minimum"))
@dataclass(frozen=True)
class Minimum(_ByShare):
    """The smallest record."""

    noun: ClassVar[str] = "minimum"
    share = Fraction(0)


@query("maximum", of="column", sql=(Sql("max"), Sql("maximum")), menu=Menu("Distribution", "Maximum"))
@dataclass(frozen=True)
class Maximum(_ByShare):
    """The largest record."""

    noun: ClassVar[str] = "maximum"
    share = Fraction(1)
