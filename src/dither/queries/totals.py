"""Sums, counts, means and trimmed means of a bounded column."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from dither.errors import InvalidArgument, NotApplicable
from dither.numbers import exact
from dither.procedures.ordered import Ordered
from dither.queries.fitted import BoundsFitted
from dither.queries.parameters import COLUMN
from dither.queries.people import (
    CountOfPeople,
    DistinctPeople,
    PeopleMean,
    SumOfPeople,
    serves_groups,
    unbounded_grid,
)
from dither.queries.plan import Options, PeopleRead, Plan
from dither.queries.population import plan_mean, plan_trimmed_mean
from dither.queries.query import ColumnQuery, Query, check_sample, measured_column, not_proved
from dither.queries.registry import DATES, NUMBERS, Menu, Sql, query
from dither.queries.unbounded import TestedOrDrawn, Unbounded, trimmed_mean_without_bounds
from dither.release import B_co, V_co
from dither.sources.column import Column, Shape, missing_steps, read_bits
from dither.sources.grid import BIT, Grid
from dither.sources.people import PeopleGroup
from dither.sources.schema import Schema
from dither.sources.types import ColumnType
from dither.statistics.statistic import Statistic
from dither.statistics.totals import TrimmedTotal
from dither.statistics.unknown_size import FilteredMean, FilteredTotal
from dither.typing import Bounds, ColumnData, CountInterval, Interval, MechanismChoice, Number


@dataclass(frozen=True)
class _Total(ColumnQuery[V_co, B_co]):
    def _trimmed(self, records: int) -> int:  # noqa: ARG002
        return 0

    def _divisor(self, kept: int) -> int:  # noqa: ARG002
        return 1

    def _selected(self, shape: Shape, grid: Grid) -> Statistic:
        """The statistic where the number of records is private."""
        return FilteredTotal(shape.records, grid, shape.neighbours)

    def statistic(self, shape: Shape, grid: Grid) -> Statistic:
        if shape.private:
            return self._selected(shape, grid)
        low, high = grid.ends
        trimmed = self._trimmed(shape.records)
        kept = shape.records - 2 * trimmed
        answers = Grid(grid.step / self._divisor(kept), low * kept, high * kept)
        return TrimmedTotal(trimmed, shape.records, grid, answers)


def no_bits(argument: str, name: str, declared: ColumnType) -> InvalidArgument:
    """The error for a column that is declared as something else than true and false."""
    return InvalidArgument(
        argument,
        name,
        f"must be boolean, and this column is declared as {declared.type_name}: declare it as Boolean(), "
        "or count the rows that a filter selects (where=)",
    )


@query("sum", of="column", sql=(Sql("sum"),), menu=Menu("Totals", "Sum", (*NUMBERS, "boolean"), 2))
@dataclass(frozen=True)
class Sum(BoundsFitted, _Total[float, Interval]):
    """The sum of one column, computed exactly.

    Without bounds they are drawn first, and the sum is that of the records clamped to them.
    """

    noun: ClassVar[str] = "sum"
    moves_with_records = False
    counts_people_without_bounds = True

    def moved(self, number: Fraction, centre: Fraction, records: int) -> Fraction:
        # Around a centre only where the number of records is public.
        return number + records * centre

    default_drop = True
    needs_public_count = ("inverse",)

    def drops_in(self, schema: Schema, mechanism: MechanismChoice) -> tuple[str, ...]:
        declared = measured_column(self, schema)
        if schema.limit_is_private and self.nulls is None and self.bounds is None and not declared.is_bounded:
            # Left out or 0, it adds nothing to a person's total; as 0, all sums of a statement are of the same rows.
            return ()
        return super().drops_in(schema, mechanism)

    def plan_of_people(self, facts: Shape, options: Options, *, grouped: bool) -> Plan[PeopleGroup] | None:
        if grouped and not serves_groups(options):
            return None
        if self.bounds is not None:
            read = PeopleRead(self.column, *self.records_on)
        else:
            # What a missing value counts as is rounded like any other.
            grid = unbounded_grid(None if self.step is None else exact(self.step, "step"))
            if self.non_negative:
                grid = Grid(grid.step, 0, grid.ends[1])
            read = PeopleRead(self.column, grid, grid.clamp(round(Fraction(self.missing_unbounded or 0) / grid.step)))
        return SumOfPeople.planned(
            self.label,
            read,
            facts.records,
            options,
            grouped=grouped,
            bounded=self.bounds is not None,
            missing=read.grid.value(read.missing),
        )


@query(
    "count",
    of="column",
    menu=Menu("Totals", "Count", ("boolean",), 1),
    parameters={"column": replace(COLUMN, is_needed=False), "bounds": None, "step": None},
    any_type=lambda asked: asked.grid(whole=False) == BIT,
    sql=(
        Sql(
            "count",
            star=True,
            note=" or count(column), which counts what is not missing; count_if(flag) counts where a flag is true",
        ),
        Sql("count_if", form="count_if(flag)"),
        Sql("countif", form="countif(flag)"),
    ),
)
@dataclass(frozen=True)
class Count(_Total[int, CountInterval]):
    """The number of true entries of a boolean column; numbers other than 0 are true.

    people: how many people have a row, in a table that tells them apart (SQL: ``count(distinct unit)``).
    """

    bounds: Bounds | None = field(default=(0, 1), kw_only=True)
    step: Number | None = field(default=1, kw_only=True)
    people: bool = field(default=False, kw_only=True)
    noun: ClassVar[str] = "count"
    since_0_1_0 = ("people",)

    def check(self) -> None:
        if not isinstance(self.people, bool):
            raise InvalidArgument("people", self.people, "must be True or False")
        if self.people and self.column is not None:
            raise InvalidArgument(
                "people", self.people, "is asked of all rows: leave the column out, or filter (where=)"
            )

    @property
    def is_about_people(self) -> bool:
        return self.people

    @property
    def label(self) -> str:
        return "number of people" if self.people else super().label

    def plan(self, facts: Shape, options: Options) -> Plan:
        if self.people:
            raise NotApplicable("people", True, "nothing tells people apart here", "a table with unit= in its schema")
        return super().plan(facts, options)

    def bound(self, schema: Schema) -> Query:
        if self.people and schema.unit is None:
            raise NotApplicable("people", True, "the schema names no column that tells people apart", "unit=")
        if self.column is None:
            return self
        declared = measured_column(self, schema)
        if declared.type_name != "boolean":
            raise no_bits("column", self.column, declared)
        return self if self.nulls is not None else replace(self, nulls=declared.grid.step * declared.missing)

    def read(self, data: ColumnData, shape: Shape) -> Column | Ordered:
        # With bounds or a step of its own it counts numbers as sums do.
        return read_bits(data, self.nulls) if self.grid(whole=False) == BIT else super().read(data, shape)

    def plan_of_people(self, facts: Shape, options: Options, *, grouped: bool) -> Plan[PeopleGroup] | None:
        if self.grid(whole=False) != BIT or (grouped and not serves_groups(options)):
            return None
        read = PeopleRead(self.column, *self.records_on, presence=self.people)
        if self.people and not grouped:
            return DistinctPeople.planned(self.label, read, facts.records, options)
        return CountOfPeople.planned(self.label, read, facts.records, options, grouped=grouped)

    @property
    def records_on(self) -> tuple[Grid, int]:
        grid = self.grid(whole=False)
        # Of rows that are counted whatever they hold, each is one.
        return grid, grid.ends[1] if self.column is None else missing_steps(self.nulls, grid)


@query(
    "mean", of="column", sql=(Sql("avg"), Sql("mean")), menu=Menu("Middle", "Mean", (*NUMBERS, *DATES, "boolean"), 2)
)
@dataclass(frozen=True)
class Mean(BoundsFitted, _Total[float, Interval]):
    """The mean of one column.

    Without bounds they are drawn first, and the mean is that of the records clamped to them.
    """

    noun: ClassVar[str] = "mean"
    dates = "dates"
    default_drop = True
    needs_public_count = ("inverse", "worst_case")

    def moved(self, number: Fraction, centre: Fraction, records: int) -> Fraction:  # noqa: ARG002
        return number + centre

    def _divisor(self, kept: int) -> int:
        return kept

    def _selected(self, shape: Shape, grid: Grid) -> Statistic:
        return FilteredMean(grid, shape.neighbours)

    def plan_of_people(self, facts: Shape, options: Options, *, grouped: bool) -> Plan[PeopleGroup] | None:
        if grouped or self.bounds is None:
            return None
        read = PeopleRead(self.column, *self.records_on, weighted=True)
        return PeopleMean.planned(self.label, read, facts.records, options, read.grid.value(read.missing))

    def plan_for_population(self, facts: Shape, options: Options) -> Plan:
        check_sample(self, facts, self.bounds)
        asked = self.in_numbers()
        grid = asked.grid(whole=facts.whole)
        planned = plan_mean(self.label, lambda inner: asked.plan(facts, inner), facts, grid, options)
        return self.as_dates(planned)


@query(
    "trimmed_mean",
    of="column",
    menu=Menu("Middle", "Trimmed mean", place=3),
    sql=(Sql("trimmed_mean", "trim?", example="0.1"),),
)
@dataclass(frozen=True)
class TrimmedMean(TestedOrDrawn, _Total[float, Interval]):
    """The mean of the records between the ranks ``floor(trim n) + 1`` and ``n - floor(trim n)``."""

    trim: Number = field(default=Fraction(1, 10), kw_only=True)
    noun: ClassVar[str] = "trimmed mean"
    instead = "ask median(c), quantile(c, 0.1) or mean(c), which are answered there"
    dates = "dates"

    def check(self) -> None:
        if not 0 <= exact(self.trim, "trim") < Fraction(1, 2):
            raise InvalidArgument("trim", self.trim, "must be a share of at least 0 and below 1/2")

    @property
    def label(self) -> str:
        return f"{float(exact(self.trim)):g} {super().label}"

    def unbounded(self) -> Unbounded:
        return trimmed_mean_without_bounds(exact(self.trim), self.trimmed_of)

    def trimmed_of(self, records: int) -> int:
        """How many of so many records are cut on each side."""
        return math.floor(exact(self.trim) * records)

    def _trimmed(self, records: int) -> int:
        return self.trimmed_of(records)

    def _selected(self, shape: Shape, grid: Grid) -> Statistic:  # noqa: ARG002
        raise not_proved(self)

    def _divisor(self, kept: int) -> int:
        return kept

    def plan_for_population(self, facts: Shape, options: Options) -> Plan:
        check_sample(self, facts, self.bounds)
        if facts.private:
            raise not_proved(self)
        asked, cut = self.in_numbers(), self.trimmed_of(facts.records)
        grid = asked.grid(whole=facts.whole)

        def planner(inner: Options) -> Plan:
            return asked.plan(facts, inner)

        if cut == 0:
            return self.as_dates(plan_mean(self.label, planner, facts, grid, options))
        return self.as_dates(plan_trimmed_mean(self.label, planner, facts, grid, cut, options))
