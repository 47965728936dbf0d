"""What a column holds before it is read as numbers: how many values are present, and how many read as declared."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dither.errors import InvalidArgument, NotApplicable
from dither.privacy import Loss
from dither.procedures.people import MOST_LIMIT
from dither.queries.parameters import COLUMN, Whole
from dither.queries.plan import Options, Plan, R_contra, Result, WrappedPlan
from dither.queries.query import Query, StatisticQuery
from dither.queries.registry import DATES, NUMBERS, Menu, Sql, query
from dither.queries.totals import Count
from dither.queries.unbounded import entries_shape
from dither.sources.column import Column, Shape
from dither.sources.domain import whole
from dither.sources.grid import BIT, Grid
from dither.sources.schema import Schema
from dither.sources.states import STATES, entry_states, is_present
from dither.statistics.statistic import Statistic, VectorStatistic
from dither.statistics.vectors import BinCounts
from dither.typing import Bounds, CountInterval, EntriesData, Intervals, Numbers

if TYPE_CHECKING:
    from dither.mechanisms.mechanism import Prepared
    from dither.queries.tables import TableRecords
    from dither.sources.windows import BinnedRecords, EngineColumn

_ANY = (*NUMBERS, *DATES, "boolean", "category")
PEOPLE_STATES = ("within the limit", "above the limit")
"""Of people: those with at most so many rows, and those with more."""


@query(
    "count_present",
    of="column",
    menu=Menu("Totals", "Values present", _ANY, 3),
    any_type=lambda _: True,
    sql=(Sql("count", form="count(column)"), Sql("count_present")),
)
@dataclass(frozen=True)
class CountPresent(StatisticQuery[int, CountInterval, EntriesData]):
    """How many entries of a column are not missing: SQL's ``count(column)``.

    In a table an entry is missing where the declared reading finds no value: an empty field, or in a column of numbers
    a text that is none.  In a list or a frame, where nothing is declared, None and NaN are.

    >>> import dither as dt
    >>> 90 < dt.count_present([1.5, None] * 100, epsilon=2.0).value < 110
    True
    """

    column: str | None = None
    noun: ClassVar[str] = "number of values"
    nulls = None
    is_about_reading = True

    def shape(self, data: EntriesData) -> Shape:
        return entries_shape(data)

    def resolve(self, shape: Shape) -> Statistic:
        return Count().statistic(shape, BIT)

    def read(self, data: EntriesData, shape: Shape) -> Column:  # noqa: ARG002
        return Column(is_present(data).astype(np.int64), BIT)

    def missing(self, shape: Shape) -> None:  # noqa: ARG002
        return None

    def bound(self, schema: Schema) -> Query:
        schema.column(self.column)
        return self

    @property
    def records_on(self) -> tuple[Grid, int]:
        return BIT, 0

    def select(self, records: TableRecords, prepared: Prepared | None) -> Sequence[EngineColumn]:  # noqa: ARG002
        return records.present(str(self.column))


@query(
    "quality",
    of="column",
    menu=Menu("Totals", "Quality", _ANY, 4),
    any_type=lambda _: True,
    parameters={
        "column": dataclasses.replace(COLUMN, is_needed=False),
        "bounds": None,
        "limit": Whole(
            "Rows of one person", "Which share of people has more of them.", least=1, most=MOST_LIMIT, is_advanced=True
        ),
    },
    sql=(Sql("quality"), Sql("quality", star=True)),
)
@dataclass(frozen=True)
class Quality(StatisticQuery[Numbers, Intervals, EntriesData]):
    """Which shares of a column are missing, unreadable, and clamped to its bounds: three answers at one loss.

    Unreadable is what is there and is no value of the declared type: a text that is no number, an undeclared category.
    The intervals hold all at once.

    Without a column (SQL: ``quality(*)``) it is asked of a table that tells people apart: which share of the people who
    have a row has more rows than ``limit``, so that some of them are left out.  One person, with all rows, is above the
    limit or is not.

    >>> import dither as dt
    >>> shares = dt.quality(["1", "1", "2", "n/a", None] * 400, bounds=(0, 1), epsilon=2.0).value
    >>> [round(share, 1) for share in shares]
    [0.2, 0.2, 0.2]
    """

    column: str | None = None
    bounds: Bounds | None = field(default=None, kw_only=True)
    """What lies outside is clamped; a session takes them from its schema."""
    limit: int | None = field(default=None, kw_only=True)
    """A number of rows of one person; a session takes ``rows_per_unit`` of its schema.  Only without a column."""
    noun: ClassVar[str] = "quality"
    nulls = None
    is_about_reading = True
    is_transformed = True

    def __post_init__(self) -> None:
        if self.bounds is not None:
            Grid.between(self.bounds)
        if self.limit is None:
            return
        whole("limit", self.limit, least=1, most=MOST_LIMIT)
        for name, given in (("column", self.column), ("bounds", self.bounds)):
            if given is not None:
                raise InvalidArgument(name, given, "must be left out beside limit, which is about all rows of a person")

    @property
    def is_about_people(self) -> bool:
        return self.limit is not None

    @property
    def label(self) -> str:
        if self.limit is None:
            return super().label
        return f"share of people with more than {self.limit:,} row{'' if self.limit == 1 else 's'}"

    @property
    def _states(self) -> tuple[str, ...]:
        return STATES if self.limit is None else PEOPLE_STATES

    def shape(self, data: EntriesData) -> Shape:
        if self.limit is not None:
            why = "nothing tells people apart here"
            raise NotApplicable("limit", self.limit, why, "a table with unit= in its schema")
        return entries_shape(data)

    def resolve(self, shape: Shape) -> BinCounts:
        return BinCounts(self._states, shape.neighbours, shape.rows_per_person)

    def plan(self, facts: Shape, options: Options) -> Plan:
        level = options.level
        if options.miss is not None:
            # The intervals of the counts hold all at once (union bound), and so do those of the shares.
            options = dataclasses.replace(options, confidence=1 - options.miss / len(self._states))
        inner = super().plan(facts, options).inner  # type: ignore[attr-defined]
        return SharesPlan(self.label, inner, None if facts.private else facts.records, level)

    def plan_of_people(self, facts: Shape, options: Options, *, grouped: bool) -> Plan | None:
        if self.limit is None:
            return None
        if grouped:
            why = "the limit is that of all rows of a person, whatever groups they are in"
            raise NotApplicable("by", "groups", why, "a filter (where=)")
        # Proved in docs/proofs/people.md, section 9: each person is one record, however many rows they have.
        return self.plan(dataclasses.replace(facts, rows_per_person=1), options)

    def function_of(self, statistic: Statistic | VectorStatistic) -> Callable[[Sequence[float]], Numbers]:  # noqa: ARG002
        return functools.partial(shares, records=None)

    def read(self, data: EntriesData, shape: Shape) -> Column:  # noqa: ARG002
        return Column(entry_states(data, self.bounds), Grid(BIT.step, 0, len(STATES) - 1))

    def missing(self, shape: Shape) -> None:  # noqa: ARG002
        return None

    def bound(self, schema: Schema) -> Query:
        if self.column is None and schema.unit is not None:
            return self._bound_to_people(schema)
        if self.limit is not None:
            why = "the schema names no column that tells people apart"
            raise NotApplicable("limit", self.limit, why, "unit=")
        schema.column(self.column)
        if schema.view is not None and self.column in schema.view.computed:
            raise InvalidArgument("column", self.column, "is computed: ask about the columns in it")
        return self

    def _bound_to_people(self, schema: Schema) -> Query:
        if self.limit is not None:
            return self
        if schema.limit_is_private:
            why = "each answer finds its own limit: give the one that an answer names, such as limit=4"
            raise InvalidArgument("limit", None, why)
        return dataclasses.replace(self, limit=schema.row_limit)

    def select(self, records: TableRecords, prepared: Prepared | None) -> Sequence[BinnedRecords]:  # noqa: ARG002
        return records.states(str(self.column)) if self.limit is None else records.people_by_rows(self.limit)


@dataclass(frozen=True)
class SharesPlan(WrappedPlan[R_contra]):
    """Shares of released counts of states; the first state, what reads as declared, is left out."""

    label: str
    inner: Plan[R_contra]
    records: int | None
    """The public number of records; None where it is private."""
    level: float | None
    """The confidence of all intervals together; each count has an interval of a greater one."""
    answer_range = (0.0, 1.0)

    @property
    def labels(self) -> tuple[str, ...]:
        return (self.inner.labels or ())[1:]

    @property
    def confidence(self) -> float | None:
        return self.level

    @property
    def simultaneous(self) -> float | None:
        return self.level if len(self.labels) > 1 else None

    @property
    def loss(self) -> Loss:
        return self.inner.loss

    def run(self, records: R_contra) -> Result:
        result = self.inner.run(records)
        if result.value is None:
            return result
        ends = None if result.interval is None else share_ends(result.interval, self.records)
        return Result(shares(result.value, self.records), ends)


def shares(counts: Sequence[float], records: int | None) -> tuple[float, ...]:
    """The shares of all states but the first, from counts that may be noisy.

    >>> shares((5, 3, -1, 2), None)
    (0.3, 0.0, 0.2)
    """
    total = sum(max(count, 0) for count in counts) if records is None else records
    return tuple(min(max(count, 0) / total, 1.0) if total else 0.0 for count in counts[1:])


def share_ends(intervals: Sequence[tuple[float, float]], records: int | None) -> tuple[tuple[float, float], ...]:
    """What the shares can be where every count lies within its interval.

    >>> share_ends(((5, 7), (2, 4), (-1, 0), (0, 0)), None)[0]
    (0.2222222222222222, 0.4444444444444444)
    """
    lows, highs = ([max(end, 0) for end in ends] for ends in zip(*intervals, strict=True))
    results = []
    for low, high in zip(lows[1:], highs[1:], strict=True):
        # A share is largest where its own count is and all others are smallest.
        most, least = (records, records) if records else (low + sum(highs) - high, high + sum(lows) - low)
        results.append((min(low / most, 1.0) if most else 0.0, min(high / least, 1.0) if least else 0.0))
    return tuple(results)
