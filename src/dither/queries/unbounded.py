"""Answers without bounds and without declared categories: scale, quantiles, ranges, trimmed means, modes (DL09).

What the answer costs, and how many records it needs at least, is decided from public facts before anything is read.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import sys
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias, cast

import numpy as np

from dither.errors import InvalidArgument, NotApplicable
from dither.mechanisms.choice import chosen_among, mechanism_of, named_noise
from dither.mechanisms.margin_test import MarginTest
from dither.mechanisms.mechanism import MOST_EPSILON, Prepared, only_noises
from dither.mechanisms.propose_test import ProposeTest
from dither.mechanisms.stable import REFUSAL, lead_margin, stable_choice
from dither.mechanisms.stable_bins import GaussianBins, StableBins
from dither.noise.law import Constants
from dither.numbers import exact
from dither.privacy import Loss, Neighbours, fraction_of_unit
from dither.procedures import plans
from dither.procedures.ordered import LARGEST, OnGrid, Ordered, RankedColumn, read_unbounded
from dither.procedures.unbounded import enough_records
from dither.procedures.unbounded_quantiles import (
    SIZE_SHARE,
    plan_drawn_quantile,
    plan_drawn_range,
    plan_selected_quantile,
)
from dither.queries.plan import AUTO, Options, Plan, Result, StatisticPlan
from dither.queries.query import (
    ColumnQuery,
    Missing,
    Query,
    drop_not_declared,
    measured_column,
    prepared_statistic,
    relation_of,
)
from dither.queries.registry import DATES, NUMBERS, Menu, query
from dither.release import SAMPLE, B_co, Counted, V_co
from dither.sources.column import Column, Shape, shape_of
from dither.sources.entries import FAILURES, text
from dither.sources.frames import ColumnLike, column_entries, is_table
from dither.sources.grid import BIT, Grid
from dither.sources.schema import Schema
from dither.sources.types import DROP, Measured
from dither.statistics.totals import TrimmedTotal
from dither.statistics.unknown_size import FilteredTotal
from dither.typing import CategoryValue, ColumnData, EntriesData, Interval, Nulls, Number

if TYPE_CHECKING:
    from dither.queries.tables import TableRecords
    from dither.sources.windows import EngineColumn

MOST_ENTRIES = 200_000_000
"""Queries that read whole rows hold them in memory: eight bytes for each entry, a few times."""
MOST_CATEGORIES = 5_000_000
"""Entries of any type are counted one by one: about 400 bytes for each."""
Category: TypeAlias = tuple[type, str]
"""The type of a record and how it prints."""
_PLAIN_TYPES = frozenset(
    {bool, int, float, complex, str, bytes, decimal.Decimal, Fraction, datetime.date, datetime.timedelta}
    | {np.dtype(code).type for code in np.typecodes["All"] if code not in "SUVO"}
)
"""Records of these types are the same where they print alike; of a class made from them they need not be."""
Chosen: TypeAlias = Any
"""A mechanism; each planner knows which one it is for."""
Planner: TypeAlias = Callable[[int, Loss, Chosen, bool], plans.ProcedurePlan]
"""(records, loss, mechanism, whether an interval is wanted) -> the procedure."""
SelectedPlanner: TypeAlias = Callable[[Shape, Fraction, bool], tuple[plans.ProcedurePlan, int]]
"""(facts, epsilon, whether an interval is wanted) -> the procedure, and how many records a count of them must say."""
TOO_FEW = (
    "there may be too few records with a value for an answer without bounds: pass bounds=(lower, upper), or ask with a "
    "larger epsilon; quality(column) says how many are missing or unreadable"
)


def count_plan(label: str, facts: Shape, epsilon: Fraction, confidence: Fraction | None) -> StatisticPlan[Column]:
    """A noisy count of records with a property: one record moves it by at most one."""
    statistic = (
        FilteredTotal(facts.records, BIT, facts.neighbours)
        if facts.private
        else TrimmedTotal(0, facts.records, BIT, Grid(Fraction(1), 0, facts.records))
    )
    options = Options(Loss.asked(epsilon), "worst_case", "laplace", confidence)
    name, prepared = prepared_statistic(statistic, options)
    return StatisticPlan(label, prepared, name, options.level)


@dataclass(frozen=True)
class SizeTest:
    """Whether a private number of records is enough, by a noisy count of them: public, and paid for."""

    counted: StatisticPlan[Column]
    least: int

    @classmethod
    def of(cls, facts: Shape, epsilon: Fraction, least: int) -> SizeTest:
        """The test for a part of the epsilon of an answer."""
        return cls(count_plan("records", facts, SIZE_SHARE * epsilon, None), least)

    @property
    def loss(self) -> Loss:
        """What it spends."""
        return self.counted.loss

    def passes(self, records: Ordered) -> bool:
        """Its result, a release."""
        return bool(self.counted.run(Column(np.ones(records.records, dtype=np.int64), BIT)).value >= self.least)


@dataclass(frozen=True)
class Unbounded:
    """How a statistic is answered where no bounds are known."""

    noun: str
    planners: Mapping[str, Planner]
    """By the mechanisms that serve it, the default first (docs/decisions.md)."""
    selected: SelectedPlanner | None = None
    """By the first of them where the number of records is private; None: not proved."""


@dataclass(frozen=True)
class UnboundedPlan(Plan[Ordered]):
    """A procedure that needs no bounds, ready to run."""

    label: str
    procedure: plans.ProcedurePlan
    confidence: float | None
    miss: Fraction | None
    asked: Loss
    missing: Counted = None
    neighbours: Neighbours = Neighbours.CHANGE_ONE
    size: SizeTest | None = None
    """Where the number of records is private."""

    @property
    def loss(self) -> Loss:
        if self.size is None:
            return self.procedure.loss
        stated = self.size.loss.concentrated + self.procedure.loss.concentrated
        return Loss(self.asked.epsilon, stated=stated)

    @property
    def mechanism(self) -> str:
        return self.procedure.mechanism_name

    @property
    def noise(self) -> str:
        return self.procedure.noise

    def run(self, records: Ordered) -> Result:
        if self.size is not None and not self.size.passes(records):
            return Result(None, reason=TOO_FEW)
        answer = self.procedure.run(records, self.miss)
        result = answer.found
        wanted = self.miss is not None and result.low is not None and result.high is not None
        return Result(
            None if result.value is None else released_float(result.value),
            (released_float(result.low), released_float(result.high)) if wanted else None,  # type: ignore[arg-type]
            answer.refused_at,
        )


@dataclass(frozen=True)
class WithinBoundsPlan(UnboundedPlan):
    """The same of records with declared bounds, to which the answer is clamped: how wide they are adds no noise.

    One record changed within the bounds is one record changed, so the loss is that of the procedure.
    """

    clamped: Counted = None
    ends: tuple[float, float] = (0.0, 0.0)
    """The least and the greatest answer that records within the bounds can have."""

    def run(self, records: Ordered) -> Result:
        result = super().run(OnGrid(cast("RankedColumn", records)))  # a column with bounds, read as one without
        if result.value is None:
            return result
        low, high = self.ends
        interval = None if result.interval is None else cut_to(result.interval, low, high)
        return dataclasses.replace(result, value=min(max(result.value, low), high), interval=interval)


def cut_to(interval: Interval, low: float, high: float) -> Interval:
    """The part of an interval within a public range; one outside of it is moved to its end, and is no point."""
    first, last = interval
    width = last - first
    if last < low:
        return low, min(high, low + width)
    if first > high:
        return max(low, high - width), high
    return max(first, low), min(last, high)


def unbounded_plan(label: str, asked: Unbounded, nulls: Nulls | None, facts: Shape, options: Options) -> UnboundedPlan:
    """The plan of a column without bounds, from public facts alone."""
    why = f"not for a {asked.noun} without bounds=(lower, upper)"
    mechanism = chosen_among(options.mechanism, options.noise, tuple(asked.planners), why)
    only_noises(mechanism.name, named_noise(options.noise), "laplace")
    missing = counted_missing(nulls, facts)
    if not facts.private:
        procedure = asked.planners[mechanism.name](facts.records, options.loss, mechanism, options.miss is not None)
        return UnboundedPlan(label, procedure, options.level, options.miss, options.loss, missing)
    first, *_ = asked.planners
    if asked.selected is None or mechanism.name != first:
        why = "the number of records is private (a filter, or missing values that are left out)"
        raise NotApplicable("mechanism", mechanism.name, why, "bounds=(lower, upper), or nulls=0 of the whole table")
    epsilon = min(options.loss.exact_epsilon, Fraction(int(MOST_EPSILON)))
    procedure, least = asked.selected(facts, epsilon, options.miss is not None)
    size = SizeTest.of(facts, epsilon, least)
    if size.loss.exact_epsilon + procedure.loss.exact_epsilon > options.loss.exact_epsilon:
        raise RuntimeError("the parts of a plan cost more than the whole")
    return UnboundedPlan(label, procedure, options.level, options.miss, options.loss, missing, relation_of(facts), size)


def _constants(mechanism: ProposeTest) -> Constants:
    """DL09's own constants or ours; a bound is proposed by the scale, not by the user."""
    if mechanism.bound is not None:
        raise InvalidArgument(
            "bound", mechanism.bound, "is not used without bounds, where it follows from the scale: leave it out"
        )
    return mechanism.constants


class BoundsOptional(ColumnQuery[V_co, B_co]):
    """A query about one column that is also answered where no bounds are known."""

    takes_unit: ClassVar[bool] = False
    """True if a step says something without bounds: the unit of the records."""

    @abstractmethod
    def plan_without_bounds(self, facts: Shape, options: Options) -> Plan:
        """How, without bounds."""

    def plan(self, facts: Shape, options: Options) -> Plan:
        if self.bounds is not None:
            return super().plan(facts, options)
        self._check_step()
        if self.drops_nulls and not self.drops_without_bounds:
            raise InvalidArgument("nulls", self.nulls, "needs bounds=(lower, upper); without them pass a number")
        return self.plan_without_bounds(facts, options)

    def _check_step(self) -> None:
        if self.step is not None and not self.takes_unit:
            raise InvalidArgument(
                "step", self.step, "is not used without bounds: leave it out, or pass bounds=(lower, upper)"
            )

    def read(self, data: ColumnData, shape: Shape) -> Column | Ordered:
        if self.bounds is not None:
            return super().read(data, shape)
        return read_unbounded(data, self.missing_unbounded)

    @property
    def missing_unbounded(self) -> float | None:
        """The public number that a missing record counts as where no bounds are known; None if it is left out."""
        return None if self.drops_nulls else missing_number(self.nulls)

    # --- in a table whose column is declared without bounds ------------------------------------------------------

    def bound(self, schema: Schema) -> Query:
        declared = measured_column(self, schema)
        if declared.is_bounded or self.bounds is not None:
            return super().bound(schema)
        self._check_step()
        if self.drops_nulls and not declared.drops_nulls:
            raise drop_not_declared(self.nulls)
        if self.nulls is not None:
            return self
        missing: Nulls = "drop" if declared.drops_nulls else declared.missing_value
        return dataclasses.replace(self, nulls=missing)

    def table_facts(self, schema: Schema, shape: Shape) -> Shape:
        if self.bounds is not None:
            return super().table_facts(schema, shape)
        if not shape.private or not self.drops_without_bounds or schema.unit is not None:
            return public_rows(self, schema, shape)
        if shape.neighbours is not Neighbours.ADD_REMOVE_CHANGE:
            raise NotApplicable("by", "groups", f"{self.name} without bounds is not asked of groups", "bounds=")
        return few_rows(self, schema, shape)

    def select(self, records: TableRecords, prepared: Prepared | None) -> Sequence[EngineColumn | Ordered]:
        if self.bounds is None:
            return [_whole_column(records, self, self.missing_unbounded)]
        if prepared is None:  # a test that reads ranks one after the other
            return records.columns(self.column, *self.records_on, near=(), width=0, summed=False, powers=0)
        return super().select(records, prepared)

    def missing_in(self, schema: Schema) -> Missing:
        return super().missing_in(schema) if self.bounds is not None else self.missing_unbounded


def counted_missing(nulls: Nulls | None, facts: Shape) -> Counted:
    """What becomes of missing records where no bounds are known, as a release says it."""
    if facts.dropped or nulls == DROP:
        return DROP
    return missing_number(nulls) if facts.nullable else None


class TestedOrDrawn(BoundsOptional[float, Interval]):
    """A query about one column that a procedure answers where no bounds are known."""

    __test__ = False  # not a class of tests

    @abstractmethod
    def unbounded(self) -> Unbounded:
        """How, without bounds."""

    def plan_without_bounds(self, facts: Shape, options: Options) -> Plan:
        return unbounded_plan(self.label, self.unbounded(), self.nulls, facts, options)

    def plan(self, facts: Shape, options: Options) -> Plan:
        is_plain = not facts.private and facts.rows_per_person == 1 and options.interval == SAMPLE
        chosen = mechanism_of(options.mechanism)
        if self.bounds is None or not is_plain or chosen is None or not chosen.ignores_bounds:
            return super().plan(facts, options)
        without = unbounded_plan(self.label, self.unbounded(), None, facts, options)
        answers = cast("Grid", self.resolve(facts).answers)
        low, high = (float(answers.value(end)) for end in answers.ends)
        inner = {item.name: getattr(without, item.name) for item in dataclasses.fields(without)}
        inner["missing"] = self.counted(facts)
        return self.as_dates(WithinBoundsPlan(**inner, clamped=self.clamped(facts), ends=(low, high)))


def quantile_without_bounds(share: Fraction) -> Unbounded:
    """One quantile: a draw among all magnitudes, or DL09's algorithm M."""
    return Unbounded(
        "quantile",
        {
            "inverse": lambda records, loss, _, interval: plan_drawn_quantile(records, loss, share, interval=interval),
            "propose_test": lambda records, loss, m, _: plans.plan_location(records, loss, share, _constants(m)),
        },
        lambda facts, epsilon, interval: plan_selected_quantile(
            facts.records, facts.neighbours, epsilon, share, interval=interval
        ),
    )


def range_without_bounds(shares: tuple[Fraction, Fraction]) -> Unbounded:
    """The distance of two quantiles."""
    return Unbounded(
        "range",
        {
            "inverse": lambda records, loss, _, interval: plan_drawn_range(records, loss, shares, interval=interval),
            "propose_test": lambda records, loss, m, _: plans.plan_range(records, loss, shares, _constants(m)),
        },
    )


def scale_without_bounds(shares: tuple[Fraction, Fraction]) -> Unbounded:
    """The distance of two quantiles to a factor: DL09's algorithm S, or a draw."""
    return Unbounded(
        "scale",
        {
            "propose_test": lambda records, loss, m, _: plans.plan_scale(records, loss, shares, _constants(m)),
            "inverse": lambda records, loss, _, interval: plan_drawn_range(records, loss, shares, interval=interval),
        },
    )


def trimmed_mean_without_bounds(trim: Fraction, trimmed_of: Callable[[int], int]) -> Unbounded:
    """The mean of the ranks that are kept, as far apart as a private scale says."""

    def planner(records: int, loss: Loss, mechanism: ProposeTest, _: bool) -> plans.ProcedurePlan:
        return plans.plan_trimmed(records, loss, trimmed_of(records), _constants(mechanism), trim)

    return Unbounded("trimmed mean", {"propose_test": planner})


@query("scale", of="column", menu=Menu("Spread", "Scale"))
@dataclass(frozen=True)
class Scale(Query[float, Interval, ColumnData]):
    """The interquartile range (or that of other quantiles) of one column without bounds, to a factor."""

    column: str | None = None
    low: Number = field(default=Fraction(1, 4), kw_only=True)
    high: Number = field(default=Fraction(3, 4), kw_only=True)
    nulls: Nulls | None = field(default=None, kw_only=True)
    noun: ClassVar[str] = "scale"
    accepts = ()
    instead = "ask iqr(c) of a column with bounds, which is answered there"

    def __post_init__(self) -> None:
        self.shares  # noqa: B018  (refuses what is no pair)
        missing_number(self.nulls)

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """Both quantiles."""
        return share_pair(self.low, self.high)

    @property
    def label(self) -> str:
        low, high = self.shares
        return f"{super().label} ({float(low):g} to {float(high):g})"

    def shape(self, data: ColumnData) -> Shape:
        return shape_of(data)

    def plan(self, facts: Shape, options: Options) -> Plan:
        return unbounded_plan(self.label, scale_without_bounds(self.shares), self.nulls, facts, options)

    def read(self, data: ColumnData, shape: Shape) -> Ordered:  # noqa: ARG002
        return read_unbounded(data, missing_number(self.nulls))

    def bound(self, schema: Schema) -> Query:
        if self.nulls is not None:
            raise InvalidArgument("nulls", self.nulls, "is declared in the schema: leave it out")
        measured_column(self, schema)
        return self

    def missing_in(self, schema: Schema) -> Missing:
        return declared_missing(schema, self.used)

    def table_facts(self, schema: Schema, shape: Shape) -> Shape:
        return public_rows(self, schema, shape)

    def select(self, records: TableRecords, prepared: Prepared | None) -> Sequence[Ordered]:  # noqa: ARG002
        return [_whole_column(records, self, missing_number(self.nulls))]


def _whole_column(records: TableRecords, query: Query, missing: float | None) -> Ordered:
    """All records of a query's column, in order."""
    column = records.rows(query.used).column(0).to_numpy().astype(np.float64)
    # Behind a filter there may be none, and that is no error.
    return read_unbounded(column, missing) if len(column) else Ordered(column)


def declared_missing(schema: Schema, columns: Sequence[str]) -> Missing:
    """What missing values of these columns count as: one number, or one for each."""
    measured = [item for name in columns if isinstance(item := schema.columns[name], Measured)]
    each = tuple(
        column.grid.value(column.missing) if column.is_bounded else column.missing_value for column in measured
    )
    return None if not each else each[0] if len(set(each)) == 1 else each


def public_rows(asked: Query, schema: Schema, shape: Shape, most: int = MOST_ENTRIES) -> Shape:
    """The facts of a whole table with one row for each person; anything else is refused."""
    if shape.private or not isinstance(schema.rows, int) or schema.unit is not None:
        why = "the number of rows must be public, one for each person, and nothing filtered, grouped or dropped"
        raise NotApplicable("query", asked.name, why, "rows= in the schema, and the whole table")
    return few_rows(asked, schema, shape, most)


def few_rows(asked: Query, schema: Schema, shape: Shape, most: int = MOST_ENTRIES) -> Shape:
    """The facts of a table that is read whole: it must not have too many rows."""
    if schema.most_rows * max(len(asked.used), 1) > most:
        raise InvalidArgument(
            "query", asked.name, f"must be about at most {most:,} entries in its columns, because it reads whole rows"
        )
    return dataclasses.replace(shape, nullable=True)


def share_pair(low: Number, high: Number) -> tuple[Fraction, Fraction]:
    """Two shares in order."""
    ends = fraction_of_unit("low", low, closed=True), fraction_of_unit("high", high, closed=True)
    if not ends[0] < ends[1]:
        raise InvalidArgument("low", low, f"must be a share below high={high}")
    return ends


def released_float(number: Fraction) -> float:
    """A released number; one beyond all floats is the largest of them, and no error."""
    most = Fraction(sys.float_info.max)
    return float(min(max(number, -most), most))


def missing_number(nulls: Nulls | None) -> float:
    """The public number that a missing record counts as."""
    if nulls is None:
        return 0.0
    if isinstance(nulls, str):
        raise InvalidArgument("nulls", nulls, "must be a number where there are no bounds")
    number = exact(nulls, "nulls")
    if abs(number) > Fraction(LARGEST):
        raise InvalidArgument("nulls", nulls, "must be a number within 2**1000")
    return float(number)


# --- undeclared categories ---------------------------------------------------------------------------------


class CategoryEntries(NamedTuple):
    """Private: the category of each record, and the value that stands for each category in a release."""

    keys: list[Category]
    values: dict[Category, CategoryValue]

    def __repr__(self) -> str:
        return "CategoryEntries(<private>)"


@query(
    "mode",
    of="column",
    menu=Menu("Middle", "Mode", (*NUMBERS, *DATES, "boolean", "category")),
    any_type=lambda _: True,
)
@dataclass(frozen=True)
class Mode(Query[CategoryValue, None, EntriesData]):
    """The most common entry of a column of any type, exactly if it leads by enough, else refused."""

    column: str | None = None
    rows_per_person: int = field(default=1, kw_only=True)
    noun: ClassVar[str] = "mode"
    accepts = ()
    instead = "ask histogram(c), which is answered there"

    def __post_init__(self) -> None:
        _person_rows(self.rows_per_person)

    def shape(self, data: EntriesData) -> Shape:
        return entries_shape(data)

    def read(self, data: EntriesData, shape: Shape) -> CategoryEntries:  # noqa: ARG002
        return entries_of(data)

    def plan(self, facts: Shape, options: Options) -> Plan:
        loss = options.loss
        _only_stable(options)
        if loss.is_pure:
            raise InvalidArgument("delta", loss.delta, "must be above 0 for a test, such as 1e-6")
        test = MarginTest(loss.exact_epsilon, min(loss.exact_delta, Fraction(49, 100)))

        def possible(records: int) -> bool:
            """Whether so many records that all agree would pass."""
            return lead_margin({"all": records}, self.rows_per_person) >= test.least_margin

        enough_records(facts.records, possible, loss.exact_epsilon, loss.exact_delta)
        _ = options.miss
        return ModePlan(self.label, loss, options.level, self.rows_per_person)

    def bound(self, schema: Schema) -> Query:
        schema.column(self.column)
        return self

    def table_facts(self, schema: Schema, shape: Shape) -> Shape:
        return public_rows(self, schema, shape, MOST_CATEGORIES)

    def select(self, records: TableRecords, prepared: Prepared | None) -> Sequence[CategoryEntries]:  # noqa: ARG002
        return [entries_of(records.rows(self.used).column(0).to_pylist())]


@dataclass(frozen=True)
class ModePlan(Plan[CategoryEntries]):
    """The most common category if it leads by enough."""

    label: str
    loss: Loss
    confidence: float | None
    rows_per_person: int
    neighbours = Neighbours.CHANGE_ONE
    mechanism = "stable"
    noise = "none"

    def run(self, records: CategoryEntries) -> Result:
        winner = stable_choice(Counter(records.keys), self.loss, sensitivity=self.rows_per_person)
        return Result(None, reason=REFUSAL) if winner is None else Result(records.values[winner])


@dataclass(frozen=True)
class FoundBinsPlan(Plan[CategoryEntries]):
    """Counts of undeclared categories; those with few records are left out."""

    label: str
    loss: Loss
    confidence: float | None
    miss: Fraction | None
    bins: StableBins | GaussianBins
    noise: str = "laplace"
    neighbours = Neighbours.CHANGE_ONE
    mechanism = "stable"
    intervals = None

    @classmethod
    def of(cls, label: str, records: int, options: Options, rows_per_person: int = 1) -> FoundBinsPlan:
        """The plan, from public facts alone."""
        loss = options.loss
        _only_stable(options)
        noise = named_noise(options.noise)
        only_noises("stable", noise, *(("laplace", "gaussian") if rows_per_person == 1 else ("laplace",)))
        if loss.is_pure:
            raise InvalidArgument(
                "delta", loss.delta, "must be above 0 without declared edges or categories, such as 1e-6"
            )
        bins: StableBins | GaussianBins = StableBins.of(loss, rows_per_person)
        if noise is not None and noise.name == "gaussian":
            bins = GaussianBins.of(loss)
            loss = Loss(loss.epsilon, loss.delta, stated=bins.stated)
        enough_records(records, lambda n: n >= bins.threshold, loss.exact_epsilon, loss.exact_delta)
        return cls(label, loss, options.level, options.miss, bins, "laplace" if noise is None else noise.name)

    def run(self, records: CategoryEntries) -> Result:
        counts = Counter(records.keys)
        released = self.bins.release(counts.keys(), counts.values())
        intervals = None if self.miss is None else tuple(self.bins.interval(count, self.miss) for _, count in released)
        return Result(
            tuple(count for _, count in released),
            intervals,
            labels=tuple(str(records.values[key]) for key, _ in released),
        )


def _only_stable(options: Options) -> None:
    chosen_among(options.mechanism, AUTO, ("stable",), "not for undeclared categories")


def _person_rows(rows: int) -> None:
    if not isinstance(rows, int) or isinstance(rows, bool) or rows < 1:
        raise InvalidArgument("rows_per_person", rows, "must be a whole number of at least 1")


def entries_shape(data: object) -> Shape:  # entries of any type
    """The public facts of a column of any type: its length."""
    if is_table(data) or (isinstance(data, np.ndarray) and data.ndim != 1):
        raise InvalidArgument("data", type(data), "must be one column, such as frame['age'], not a whole table")
    if isinstance(data, (str, bytes)) or not hasattr(data, "__len__") or len(data) == 0:
        raise InvalidArgument("data", type(data), "must be a list or array of at least one record")
    return Shape(len(data), whole=True, nullable=False)


def entries_of(data: EntriesData) -> CategoryEntries:
    """The records of a column of any type; missing numbers are one category.

    Which category a record falls into, and what is shown of it, depend on that record alone.  Equality would not do: 1,
    1.0 and True are equal, and so are 0.0 and -0.0, but the first of them in the data would be the one shown.
    """
    plain = [_plain_value(value) for value in entries_listed(data)]
    keys = [(type(value), value if type(value) is str else repr(value)) for value in plain]
    return CategoryEntries(keys, dict(zip(keys, plain, strict=True)))


def entries_listed(data: EntriesData) -> list[CategoryValue]:
    """The entries of a column of any type as Python has them."""
    if isinstance(data, np.ndarray):
        listed: list[CategoryValue] = data.tolist()
        return listed
    return column_entries(cast("ColumnLike", data))


def _plain_value(value: CategoryValue) -> CategoryValue:
    """What is shown of a record if its category is: a text where it is no plain value.

    Records of other classes may be equal, or print alike, and still differ: the last of them would be the one shown.
    """
    if _is_missing(value):
        return "missing"
    if type(value) is float:
        return value + 0.0  # -0.0 is 0.0
    try:
        if type(value) not in _PLAIN_TYPES and not _is_plain_moment(value):
            return text(value) or "missing"
        repr(value)
    except FAILURES:  # (an entry may be of anybody's own class, and a number be too long to write)
        return "missing"
    return value


def _is_plain_moment(value: CategoryValue) -> bool:
    """True for moments of Python and pandas without a time zone, which may be of anybody's own class."""
    known = (datetime.datetime, datetime.time, getattr(sys.modules.get("pandas"), "Timestamp", None))
    return type(value) in known and cast("datetime.datetime", value).tzinfo is None


def _is_missing(value: CategoryValue) -> bool:
    """None, not a number, or what other libraries have for either."""
    if value is None:
        return True
    try:
        unlike = value != value
        return unlike is value or (isinstance(unlike, (bool, np.bool_)) and bool(unlike))
    except FAILURES:  # (what does not even compare with itself; one record must not raise an error)
        return True
