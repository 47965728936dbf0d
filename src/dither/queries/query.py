"""What all queries share: how they meet public facts, arrays and tables."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import importlib
import types
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Generic, Literal, Protocol, Self, TypeAlias, cast

from dither.aliases import older_name
from dither.errors import DitherError, InvalidArgument, NotApplicable, NotProved
from dither.mechanisms.choice import name_of, prepare
from dither.mechanisms.mechanism import Prepared
from dither.plain import Json, JsonObject, exact_number, plain
from dither.privacy import Neighbours
from dither.procedures.ordered import Ordered
from dither.procedures.unbounded import least_records
from dither.queries.plan import DatedPlan, Options, Plan, StatisticPlan, TransformedPlan
from dither.queries.registry import dataclass_fields, entries, entry_of
from dither.release import POPULATION, SAMPLE, B_co, Counted, Release, Released, V_co
from dither.sources.column import Column, Shape, missing_steps, read_column, shape_of
from dither.sources.entries import exact_seconds
from dither.sources.grid import BIT, Grid
from dither.sources.moments import CalendarNumbers, DurationBounds, moments_of, moments_shape, spans_of, spans_shape
from dither.sources.schema import Schema
from dither.sources.types import DROP, Date, Duration, Measured
from dither.statistics.statistic import Statistic, VectorStatistic
from dither.statistics.unknown_size import for_people

if TYPE_CHECKING:
    from typing import Any, Never

    from _typeshed import DataclassInstance
    from typing_extensions import TypeVar

    from dither.queries.tables import TableRecords
    from dither.sources.frames import ColumnLike
    from dither.sources.people import PeopleGroup
    from dither.sources.windows import EngineColumn
    from dither.typing import Bounds, ColumnData, Confidence, MechanismChoice, Nulls, Number

    D = TypeVar("D")
    D_contra = TypeVar("D_contra", contravariant=True, default=Never)
    F = TypeVar("F", default=Any)
    S = TypeVar("S", bound="StatisticFacts", default=Any)
    R = TypeVar("R", default=Any)
else:
    from typing import TypeVar

    D, D_contra = TypeVar("D"), TypeVar("D_contra", contravariant=True)
    F, S, R = TypeVar("F"), TypeVar("S"), TypeVar("R")

Field: TypeAlias = "Any"
"""A field of a query of any class, or what JSON or the ledger has for it."""
Missing: TypeAlias = int | float | tuple[int | float, ...] | None
"""What a missing value counts as, in the units of the user: one number, one for each column, or None."""
MOST_TRIED = 1 << 20
"""Errors name the least number of records that is enough, up to this."""


class StatisticFacts(Protocol):
    """What is public about the data of a statistic: a dataclass that also says ``records``, how many there are."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]  # as dataclasses have it

    @property
    def private(self) -> bool:
        """Whether the number of records is private."""

    @property
    def rows_per_person(self) -> int:
        """How many records one person has at most."""


def not_proved(asked: Query) -> NotProved:
    """The refusal of a statistic whose sensitivity is not proved where the number of records is private."""
    return NotProved(
        f"{asked.name}: not proved where the number of records is private (a filter, groups, a unit column, missing "
        f'values that are dropped, or rows = "private"); {asked.instead}; nothing was read, nothing was charged'
    )


def check_sample(query: Query, facts: StatisticFacts, bounds: Bounds | None) -> None:
    """Refuse an interval for the population where the records are no independent draws, or have no bounds."""
    if facts.rows_per_person > 1:
        why = "the rows of one person are not independent of each other"
        raise NotApplicable("interval", POPULATION, why, f"interval={SAMPLE!r}")
    if bounds is None:
        why = f"{query.name} has none without bounds"
        raise NotApplicable("interval", POPULATION, why, f"bounds=(lower, upper), or interval={SAMPLE!r}")


def drop_not_declared(nulls: Nulls | None) -> InvalidArgument:
    """The error for a query that leaves out what the schema of its table does not."""
    return InvalidArgument("nulls", nulls, "a table leaves out what its schema says: declare nulls there")


class Query(ABC, Generic[V_co, B_co, D_contra, F, R]):
    """A query: a small immutable value.  Planning it uses public facts only; reading gives private data.

    For type checkers ``Query[V, B, D]`` is asked of data D and released as a value V with an interval B.
    ``Query[V, B, D, F, R]`` also says what is public about the data, F, and what its plan reads, R: private records.
    """

    if not TYPE_CHECKING:  # Query[float] leaves the rest open, which typing's own does not allow before 3.13
        __class_getitem__ = classmethod(types.GenericAlias)

    name: ClassVar[str] = "query"
    """Its public name; the registry sets it."""
    noun: ClassVar[str] = "query"
    """How a release names it; the registry takes the name where there is none."""
    column: str | None
    dates: ClassVar[Literal["refused", "dates", "days", "bins"]] = "refused"
    """What it makes of a column of dates: nothing, dates, a number of days, or counts between dates."""
    is_about_reading: ClassVar[bool] = False
    """True if it asks how entries read as their column is declared, so that a format matters whatever they are."""
    is_transformed: ClassVar[bool] = False
    """True if a rising function of a statistic is released instead of it, such as a root: post-processing."""
    accepts: ClassVar[tuple[Literal["where", "by"], ...]] = ("where", "by")
    """Whether it may be asked of a selection of a table's rows, and of groups."""
    instead: ClassVar[str] = ""
    """What to ask of a selection of rows, or of groups, where this is not answered there; else empty."""
    claim: ClassVar[str | None] = None
    """What its guarantee rests on beside the proofs of the library: what the author of a function says of it."""

    @classmethod
    def selections(cls) -> tuple[Literal["where", "by"], ...]:
        """By what the rows that it is asked about may be selected: what ``accepts`` says, where that is proved."""
        return () if cls.instead and cls.accepts == ("where", "by") else cls.accepts

    @property
    def is_about_people(self) -> bool:
        """True if it is asked about people and not about rows, whatever is declared about these."""
        return False

    @property
    def label(self) -> str:
        """How a release names the query."""
        return self.noun if self.column is None else f"{self.noun} of {self.column}"

    @abstractmethod
    def plan(self, facts: F, options: Options) -> Plan[R]:
        """Everything public about the answer; refuses here or never."""

    def plan_of_people(self, facts: F, options: Options, *, grouped: bool) -> Plan[PeopleGroup] | None:  # noqa: ARG002
        """The plan where a person owns any number of rows, of all groups together; once it is bound to a schema.

        None: a limit of rows is drawn, and the query is asked of so many rows of each person.
        """
        return None

    def plan_for_population(self, facts: F, options: Options) -> Plan[R]:  # noqa: ARG002
        """The same with an interval that covers the statistic of the population that the records are a sample of."""
        raise NotApplicable("interval", options.interval, f"none is known for {self.name}", f"interval={SAMPLE!r}")

    def transformed(self, number: float) -> float:
        """What is released in the place of a number; see ``is_transformed``."""
        return number

    def function_of(self, statistic: Statistic | VectorStatistic) -> Callable[[Released], Released]:  # noqa: ARG002
        """What is released in the place of the statistic, as a function of its numbers."""
        return self.transformed

    def error_after(self, error: float) -> float | None:  # noqa: ARG002
        """The most that an error of the number makes in what is released instead, whatever the number; None: not known.

        It rises and is concave in the error, so that it holds for expected errors too.
        """
        return None

    # --- in memory -----------------------------------------------------------------------------------------

    @abstractmethod
    def shape(self, data: D_contra) -> F:
        """The public facts of the data: lengths and types only."""

    @abstractmethod
    def read(self, data: D_contra, shape: F) -> R:
        """The data as the plan reads them: private."""

    def ask(
        self, data: D_contra, *, epsilon: Number, delta: Number = 0.0, confidence: Confidence = 0.95
    ) -> Release[V_co, B_co]:
        """The older way of asking models and programs: ``dither.ask(query, data, ...)`` asks every query."""
        warnings.warn("query.ask(data) is now dither.ask(query, data)", DeprecationWarning, stacklevel=2)
        options = {"epsilon": epsilon, "delta": delta, "confidence": confidence}
        release: Release[V_co, B_co] = importlib.import_module("dither.api").ask(self, data, **options)
        return release

    kind = older_name("noun")

    def settled(self, mechanism: MechanismChoice) -> Self:  # noqa: ARG002
        """The query as it is asked of an array, with what is left out where nothing is said about missing values."""
        return self

    # --- in a table ----------------------------------------------------------------------------------------

    def drops_in(self, schema: Schema, mechanism: MechanismChoice) -> tuple[str, ...]:  # noqa: ARG002
        """The columns whose missing values it leaves out where the schema says nothing about them."""
        return ()

    def bound(self, schema: Schema) -> Query:  # noqa: ARG002
        """The query with everything that a schema declares about its columns."""
        raise InvalidArgument("query", self.name, "must be a query about the columns of a table in a session")

    @property
    def used(self) -> tuple[str, ...]:
        """The columns that it reads, once it is bound to a schema."""
        return () if self.column is None else (self.column,)

    def table_facts(self, schema: Schema, shape: Shape) -> F | Shape:  # noqa: ARG002
        """The public facts of selected records of a table, once it is bound to a schema."""
        return shape

    @property
    def records_on(self) -> tuple[Grid | None, int | None]:
        """The grid of the records that a group is found by, where it has one."""
        return None, None

    def select(self, records: TableRecords, prepared: Prepared | None) -> Sequence[R]:  # noqa: ARG002
        """The records of every group, as the plan reads them: private.  prepared: the mechanism they are read for."""
        raise NotApplicable("query", self.name, "it is not asked of tables", "arrays and graphs")

    def missing_in(self, schema: Schema) -> Missing:  # noqa: ARG002
        """What a missing value of a table counts as, in the units of the user; None if nothing can be missing."""
        return None

    # --- in JSON -------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, Field]:
        """The fields that differ from their defaults, as ``queries.wire`` sends them."""
        return {
            item.name: getattr(self, item.name)
            for item in dataclass_fields(self)
            if item.init and not _same(getattr(self, item.name), item.default)
        }

    @classmethod
    def from_parameters(cls, given: dict[str, Field]) -> Self:
        """The query that was sent so."""
        return cls(**given)

    # --- in a ledger ---------------------------------------------------------------------------------------

    def stored(self) -> JsonObject:
        """The fields that differ from their defaults, however they were written: for the ledger (``session.forms``)."""
        fields = {item.name: item.default for item in dataclass_fields(self) if item.init}
        kept = {name: plain(getattr(self, name), exact_number) for name in fields}
        return {name: item for name, item in kept.items() if item != _plain_default(fields[name])}

    def stored_0_1_0(self) -> dict[str, Field]:
        """What version 0.1.0 kept of it: the name of its class and all fields that are something."""
        fields = {
            item.name: getattr(self, item.name)
            for item in dataclass_fields(self)
            if getattr(self, item.name) is not None and item.name not in self.since_0_1_0
        }
        return {"kind": entry_of(self).stored_as, **fields}

    since_0_1_0: ClassVar[tuple[str, ...]] = ()
    """Fields that version 0.1.0 did not have."""
    not_stored_0_1_0: ClassVar[tuple[str, ...]] = ()
    """What version 0.1.0 did not keep of a question about this query."""
    plain_0_1_0: ClassVar[bool] = False
    """True if ``stored_0_1_0`` is plain JSON as it is; else numbers were written as exact texts."""


def _plain_default(default: D) -> D | Json:
    return default if default is dataclasses.MISSING else plain(default, exact_number)


def _same(value: D, default: D) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


class StatisticQuery(Query[V_co, B_co, D_contra, S, R]):
    """A query that is one statistic, released by one mechanism."""

    if TYPE_CHECKING:

        @property
        def nulls(self) -> Nulls | None:
            """What a missing value counts as."""

    else:
        nulls = None

    default_drop: ClassVar[bool] = False
    """True if records without a value are left out where nothing is said about them (docs/decisions.md)."""
    needs_public_count: ClassVar[tuple[str, ...]] = ()
    """Mechanisms for which the number of records must be public: for these a missing value counts as something."""

    def drops_with(self, mechanism: MechanismChoice) -> bool:
        """Whether this query leaves out records without a value: because it says so, or because nothing is said."""
        by_default = self.default_drop and self.nulls is None and name_of(mechanism) not in self.needs_public_count
        return by_default or self.drops_nulls

    def settled(self, mechanism: MechanismChoice) -> Self:
        if not self.drops_with(mechanism):
            return self
        return cast("Self", dataclasses.replace(cast("DataclassInstance", self), nulls=DROP))

    @property
    def drops_nulls(self) -> bool:
        """True if records without a value are left out of an array: how many are left is then private."""
        return isinstance(self.nulls, str) and self.nulls == DROP

    @abstractmethod
    def resolve(self, shape: S) -> Statistic | VectorStatistic:
        """The statistic, from public facts."""

    @abstractmethod
    def missing(self, shape: S) -> Missing:
        """The public value that missing records count as; None if the type has no missing values."""

    def plan(self, facts: S, options: Options) -> Plan[R]:
        statistic = for_people(self.resolve(facts), facts.rows_per_person)
        try:
            name, prepared = prepared_statistic(statistic, options)
        except InvalidArgument as error:
            raise self._naming_the_least(error, facts, options) from None
        claim = self.claim if isinstance(options.mechanism, str) else options.mechanism.claim or self.claim
        plan = StatisticPlan(
            self.label,
            prepared,
            name,
            options.level,
            self.counted(facts),
            claim,
            relation=_relation(facts),
            clamped=self.clamped(facts),
            interval_of=options.interval,
        )
        return TransformedPlan(self.label, plan, self.transformed) if self.is_transformed else plan

    def clamped(self, facts: S) -> Counted:  # noqa: ARG002
        """The public bounds to which values outside are clamped, as a release says them."""
        return None

    def counted(self, facts: S) -> Counted:
        """What becomes of missing records, as a release says it."""
        return DROP if _is_dropped(facts) else self.missing(facts)

    def _naming_the_least(self, error: InvalidArgument, facts: S, options: Options) -> InvalidArgument:
        """Where there are too few records for a mechanism, the least number of them for which it works: public."""
        if error.argument != "data" or facts.private:
            return error

        def possible(records: int) -> bool:
            try:
                _fresh(self.resolve(dataclasses.replace(facts, records=records)), options)
            except DitherError:
                return False
            return True

        least = least_records(possible, most=MOST_TRIED)
        if least == MOST_TRIED:
            return error
        return InvalidArgument("data", error.given, f"{error.accepted}; at least {least} records are enough")


def _is_dropped(facts: StatisticFacts) -> bool:
    return isinstance(facts, Shape) and facts.dropped


def _relation(facts: StatisticFacts) -> Neighbours | None:
    """Between which datasets the loss holds, where that is not what one step does to the statistic's records."""
    return Neighbours.CHANGE_ONE if _is_dropped(facts) else None


def relation_of(facts: Shape) -> Neighbours:
    """Between which datasets the loss of an answer about a column holds."""
    return _relation(facts) or facts.neighbours


def prepared_statistic(statistic: Statistic | VectorStatistic, options: Options) -> tuple[str, Prepared]:
    """The mechanism, from public facts alone; remembered where the question can be hashed."""
    try:
        hash((statistic, options))
    except TypeError:
        return _fresh(statistic, options)
    return _remembered(statistic, options)


def _fresh(statistic: Statistic | VectorStatistic, options: Options) -> tuple[str, Prepared]:
    return prepare(
        statistic,
        epsilon=options.loss.epsilon,
        delta=options.loss.delta,
        mechanism=options.mechanism,
        noise=options.noise,
        confidence=options.confidence,
        interval=options.interval,
        ledger=options.ledger,
    )


# The key holds exact grids and losses, not what the user wrote for them.
_remembered = functools.lru_cache(maxsize=256)(_fresh)


@dataclass(frozen=True)
class ColumnQuery(StatisticQuery[V_co, B_co, "ColumnData"]):
    """A query about one bounded column."""

    column: str | None = None
    bounds: Bounds | None = field(default=None, kw_only=True)
    """Needed for arrays; a session takes them from its schema."""
    step: Number | None = field(default=None, kw_only=True)
    nulls: Nulls | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self._moments is not None and self.dates == "refused":
            raise InvalidArgument("bounds", self.bounds, f"must be numbers: {self.name} is not asked of dates")
        if self.bounds is not None:
            self.grid(whole=False)
        self.check()

    @property
    def label(self) -> str:
        unit = " in seconds" if self._spans is not None and self.dates != "refused" else ""
        return f"{super().label}{unit}"

    @functools.cached_property
    def _spans(self) -> DurationBounds | None:
        """How durations are read, where the bounds are durations."""
        return spans_of(self.bounds)

    @functools.cached_property
    def _moments(self) -> CalendarNumbers | None:
        """How dates are read, where the bounds are dates or datetimes."""
        return moments_of(self.bounds)

    @property
    def _ends(self) -> Bounds | None:
        """The bounds as numbers."""
        moments = self._moments
        if self._spans is not None:
            return self._spans.ends
        if moments is None:
            return self.bounds
        low, high = cast("tuple[datetime.date, datetime.date]", self.bounds)
        return moments.number(low), moments.number(high)

    @property
    def _missing_as(self) -> Nulls | None:
        """What a missing value counts as, a date as a number."""
        if self._moments is not None and isinstance(self.nulls, datetime.date):
            return self._moments.number(self.nulls)
        return exact_seconds(self.nulls) if isinstance(self.nulls, datetime.timedelta) else self.nulls

    def check(self) -> None:
        """Refuse fields of its own that make no query."""

    drops_without_bounds: ClassVar[bool] = False
    """True if records without a value are left out where no bounds are known, too."""

    def settled(self, mechanism: MechanismChoice) -> Self:
        return self if self.bounds is None and not self.drops_without_bounds else super().settled(mechanism)

    def drops_in(self, schema: Schema, mechanism: MechanismChoice) -> tuple[str, ...]:
        declared = schema.columns.get(str(self.column))
        is_bounded = self.bounds is not None or (isinstance(declared, Measured) and declared.is_bounded)
        drops = (is_bounded or self.drops_without_bounds) and self.drops_with(mechanism)
        return (str(self.column),) if drops else ()

    def plan(self, facts: Shape, options: Options) -> Plan[R]:
        return self.as_dates(super().plan(facts, options))

    def in_numbers(self) -> Self:
        """The same query with bounds that are numbers."""
        if self._moments is None:
            return self
        return dataclasses.replace(self, bounds=self._ends, nulls=self._missing_as)

    def as_dates(self, plan: Plan[R]) -> Plan[R]:
        """The plan with its numbers as dates, where the bounds are dates."""
        return plan if self._moments is None or self.dates != "dates" else DatedPlan(plan, self._moments.displayed)

    def shape(self, data: ColumnData) -> Shape:
        if self._spans is not None:
            shape = Shape(spans_shape(cast("ColumnLike", data)), whole=False, nullable=True)
        elif self._moments is None:
            shape = shape_of(data)
        else:
            shape = Shape(moments_shape(cast("ColumnLike", data)), whole=True, nullable=True)
        return shape.without_missing() if self.drops_nulls else shape

    def resolve(self, shape: Shape) -> Statistic | VectorStatistic:
        return self.statistic(shape, self.grid(whole=shape.whole))

    @abstractmethod
    def statistic(self, shape: Shape, grid: Grid) -> Statistic | VectorStatistic:
        """The statistic of a column on a grid, from public facts."""

    def grid(self, *, whole: bool) -> Grid:
        """The public grid of the column."""
        return self._whole_grid if (whole or self._moments is not None) and self.step is None else self._real_grid

    @functools.cached_property
    def _real_grid(self) -> Grid:
        return self._checked(Grid.between(self._ends, self.step))

    @functools.cached_property
    def _whole_grid(self) -> Grid:
        return self._checked(Grid.between(self._ends, whole=True))

    def _checked(self, grid: Grid) -> Grid:
        if not self.drops_nulls:
            missing_steps(self._missing_as, grid)
        return grid

    def read(self, data: ColumnData, shape: Shape) -> Column | Ordered:
        moments = self._moments if self._spans is None else self._spans
        numbers = data if moments is None else moments.read(cast("ColumnLike", data))
        return read_column(cast("ColumnLike", numbers), self.grid(whole=shape.whole), self._missing_as)

    def missing(self, shape: Shape) -> int | float | None:
        grid = self.grid(whole=shape.whole)
        if self.drops_nulls or not shape.nullable:
            return None
        return grid.value(missing_steps(self._missing_as, grid))

    def clamped(self, facts: Shape) -> Counted:
        grid = self.grid(whole=facts.whole)
        return None if grid == BIT else (grid.value(grid.ends[0]), grid.value(grid.ends[1]))

    def bound(self, schema: Schema) -> Query:
        declared = measured_column(self, schema)
        if self._spans is not None or self._moments is not None:
            nulls = self.nulls
            if isinstance(nulls, datetime.date) and isinstance(declared, Date):
                nulls = declared.steps(nulls, "nulls")
            elif isinstance(nulls, datetime.timedelta):
                nulls = exact_seconds(nulls)
            step = declared.grid.step if self.step is None else self.step
            ends = _numbers(declared, self.bounds)
            return dataclasses.replace(self, bounds=ends, step=step, nulls=nulls).bound(schema)
        if self.drops_nulls:
            if not declared.drops_nulls:
                raise drop_not_declared(self.nulls)
            return dataclasses.replace(self, nulls=None).bound(schema)
        if not declared.is_bounded and self.bounds is not None:
            return self._bound_without(declared)
        low, high = declared.grid.ends
        bounds = (low * declared.grid.step, high * declared.grid.step) if self.bounds is None else self.bounds
        step = declared.grid.step if self.step is None else self.step
        if self.nulls is not None:
            return dataclasses.replace(self, bounds=bounds, step=step)
        missing = declared.grid.step * declared.missing
        if self.bounds is not None:
            # Like any other record, what a missing value counts as is cut to the bounds of the question.
            grid = Grid.between(self.bounds, step)
            missing = grid.step * grid.clamp(round(missing / grid.step))
        return dataclasses.replace(self, bounds=bounds, step=step, nulls=missing)

    def _bound_without(self, declared: Measured) -> Query:
        """The query with bounds of its own, of a column that is declared without."""
        grid = Grid.between(self.bounds, self.step)
        if self.nulls is not None:
            return dataclasses.replace(self, step=grid.step)
        missing = grid.step * grid.clamp(round(Fraction(declared.missing_value) / grid.step))
        return dataclasses.replace(self, step=grid.step, nulls=missing)

    @property
    def records_on(self) -> tuple[Grid, int]:
        """The grid of a table's records and what a missing one counts as, in its steps; once bound to a schema."""
        grid = self.grid(whole=False)
        return grid, missing_steps(self.nulls, grid)

    def select(self, records: TableRecords, prepared: Prepared | None) -> Sequence[EngineColumn | Ordered]:
        if prepared is None:
            raise RuntimeError("a column is read for a mechanism")
        statistic = prepared.statistic
        width = prepared.reach * statistic.rows_per_person
        return records.columns(
            self.column,
            *self.records_on,
            near=statistic.read_near(),
            width=width,
            summed=statistic.sums_ranks,
            powers=statistic.sums_powers,
        )

    def missing_in(self, schema: Schema) -> Missing:
        if self.column is None or schema.column(self.column).drops_nulls:
            return None
        grid, missing = self.records_on
        return grid.value(missing)


def _numbers(declared: Measured, bounds: Bounds | None) -> tuple[Fraction, Fraction]:
    """Bounds of dates, moments or durations in the numbers of a declared column."""
    ends = cast("tuple[datetime.date | datetime.timedelta, ...]", bounds)
    if isinstance(declared, Date):
        days = [end for end in ends if isinstance(end, datetime.date)]
        if len(days) == len(ends):
            return declared.steps(days[0], "bounds"), declared.steps(days[1], "bounds")
    spans = [exact_seconds(end) for end in ends if isinstance(end, datetime.timedelta)]
    if isinstance(declared, Duration) and len(spans) == len(ends):
        return spans[0], spans[1]
    raise InvalidArgument(
        "bounds", [str(end) for end in ends], f"must be of the type of the column, {declared.type_name}"
    )


def measured_column(query: Query, schema: Schema) -> Measured:
    """The declared type of the column that a query about numbers is asked of."""
    if query.column is None:
        raise InvalidArgument("column", None, f"must be a declared column: {', '.join(schema.columns)}")
    declared = schema.measured(query.column)
    if isinstance(declared, Date) and query.dates == "refused":
        takers = sorted(
            name for name, entry in entries().items() if getattr(entry.query, "dates", "refused") != "refused"
        )
        raise InvalidArgument("query", query.name, f"{query.column} has dates: ask one of {', '.join(takers)} of it")
    return declared
