"""What a table holds for a query that was paid for: private; and made-up rows of the same types: public."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from types import ModuleType

import numpy as np
from sqlglot import exp

from dither.kernels.elementary import Floats
from dither.procedures.rows import TableBlocks
from dither.queries.plan import PeopleRead
from dither.sources.column import Column, Table
from dither.sources.engines.engine import Engine, arrow_schema
from dither.sources.frames import arrow
from dither.sources.grid import BIT, Grid
from dither.sources.people import PeopleGroup, PeopleRecords
from dither.sources.schema import Schema
from dither.sources.selection import Selection
from dither.sources.types import Boolean, ColumnType, Date, Measured, Timestamp
from dither.sources.windows import (
    BinnedRecords,
    EngineColumn,
    SharedReading,
    binned_categories,
    binned_numbers,
    binned_states,
)
from dither.statistics.moments import ColumnSums
from dither.typing import ArrowColumn, ArrowTable


class TableRecords:
    """Private: the selected records of a table, one entry for each group."""

    __slots__ = ("_expected_rows", "_is_shared", "_selection", "_shared")

    def __init__(self, selection: Selection, expected_rows: int | None, shared: SharedReading | None = None) -> None:
        """``shared``: other queries with the same filter and groups, which are read together with this one."""
        self._selection, self._expected_rows = selection, expected_rows
        self._is_shared = shared is not None
        self._shared = SharedReading() if shared is None else shared

    def __repr__(self) -> str:
        return "TableRecords(<private>)"

    def columns(
        self,
        column: str | None,
        grid: Grid,
        missing: int,
        *,
        near: tuple[float, ...],
        width: int,
        summed: bool,
        powers: int,
    ) -> Sequence[EngineColumn]:
        """One column on a grid: windows of ``width`` ranks near some shares, sums between ranks, or sums of powers."""
        columns = self._shared.column(self._selection, column, grid, missing, self._expected_rows)
        powers = 0 if column is None else powers  # (of rows alone the sum is their number)
        columns.hint(near, width if near else 0, powers, summed=summed)
        return columns.each()

    def people(self, read: PeopleRead) -> Sequence[PeopleGroup]:
        """What each person has, for every group."""
        kept = self._shared.people(self._selection, read.column) if self._is_shared else None
        here = PeopleRecords(
            self._selection,
            read.column,
            read.grid,
            read.missing,
            presence=read.presence,
            weighted=read.weighted,
            kept=kept,
        )
        return here.each()

    def people_by_rows(self, limit: int) -> Sequence[BinnedRecords]:
        """How many people have at most so many rows, and how many have more; without groups."""
        everyone, above = PeopleRecords(self._selection, None, BIT, 0).rows_above((0, limit))
        return [BinnedRecords((everyone - above, above))]

    def present(self, column: str) -> Sequence[EngineColumn]:
        """1 for every record in which the column has a value, 0 for any other."""
        selection = dataclasses.replace(self._selection, reads="presence")
        columns = self._shared.column(selection, column, BIT, 0, self._expected_rows)
        columns.hint(powers=1)
        return columns.each()

    def states(self, column: str) -> Sequence[BinnedRecords]:
        """How many records are in each of the states of ``sources.states``."""
        binned = binned_states(dataclasses.replace(self._selection, reads="state"), column)
        self._selection.check_rows(sum(sum(group.counts) for group in binned), self._expected_rows)
        return binned

    def binned(self, column: str, cuts: Sequence[float], missing: float) -> Sequence[BinnedRecords]:
        """How many numbers lie between edges."""
        return binned_numbers(self._selection, column, tuple(cuts), missing)

    def counted(self, column: str, categories: Sequence[str]) -> Sequence[BinnedRecords]:
        """How many records each category has."""
        return binned_categories(self._selection, column, tuple(categories))

    def rows(self, columns: Sequence[str]) -> ArrowTable:
        """The whole rows of several columns, as users of their types expect them: an Arrow table."""
        return self._declared(columns)[1]

    def floats(self, columns: Sequence[str]) -> Floats:
        """Whole rows as numbers, a column each; a row in which any of them is missing is one of NaN."""
        here = self._selection
        query, kinds = here.marked_tuples(columns)
        table = _streamed(here.engine, query, kinds)
        here.check_rows(table.num_rows, self._expected_rows)
        pa, declared = arrow(), here.schema.columns
        read = [as_declared(pa, table.column(place), declared[name]) for place, name in enumerate(columns)]
        rows = np.column_stack([_numbers(column) for column in read])
        rows[np.asarray(table.column(len(columns)).to_numpy()) == 1] = np.nan
        return rows

    def steps(self, columns: Sequence[str]) -> list[Column]:
        """The same in steps of the declared grids, a column each."""
        streamed, _ = self._declared(columns)
        grids = [self._selection.schema.measured(name).grid for name in columns]
        return [
            Column(np.asarray(streamed.column(place).to_numpy()).astype(np.int64), grid)
            for place, grid in enumerate(grids)
        ]

    def pair_sums(self, columns: Sequence[str]) -> list[ColumnSums]:
        """The sums and products of two columns in steps of the declared grids, for every group, batch by batch."""
        here = self._selection
        grids = [here.schema.measured(name).grid for name in columns]
        totals = [ColumnSums.of_nothing(len(columns)) for _ in here.groups]
        for batch in here.engine.stream(*here.grouped_tuples(columns)):
            group, *read = (
                np.asarray(column.to_numpy(zero_copy_only=False)).astype(np.int64) for column in batch.columns
            )
            order = np.argsort(group, kind="stable")
            result, starts = np.unique(group[order], return_index=True)
            for index, rows in zip(result, np.split(order, starts[1:]) if len(result) else (), strict=True):
                pair = [Column(column[rows], grid) for column, grid in zip(read, grids, strict=True)]
                totals[index] += ColumnSums.of(Table(pair))
        here.check_rows(sum(group.records for group in totals), self._expected_rows)
        return totals

    def blocks(self, columns: Sequence[str]) -> TableBlocks:
        """Whole rows that can be cut into blocks of people."""
        arrow()  # (loading it takes a second, once a process, which is no matter of the data)

        def read() -> tuple[ArrowTable, ArrowTable]:
            with self._selection.engine.snapshot():
                return self._declared(columns)

        return TableBlocks(read, by_person=self._selection.schema.unit is not None)

    def _declared(self, columns: Sequence[str]) -> tuple[ArrowTable, ArrowTable]:
        here = self._selection
        return declared_rows(here, columns, self._expected_rows)


def declared_rows(selection: Selection, columns: Sequence[str], expected: int | None) -> tuple[ArrowTable, ArrowTable]:
    """Private: the rows as they were streamed, and their declared columns as users of their types expect them."""
    pa = arrow()
    table = _streamed(selection.engine, *selection.tuples(columns))
    selection.check_rows(table.num_rows, expected)
    kinds = selection.schema.columns
    declared = {name: as_declared(pa, table.column(place), kinds[name]) for place, name in enumerate(columns)}
    return table, pa.table(declared)


def _streamed(engine: Engine, query: exp.Select, kinds: list[str]) -> ArrowTable:
    streamed = arrow_schema([selected.alias_or_name for selected in query.selects], kinds)
    return arrow().Table.from_batches(engine.stream(query, kinds), streamed)


def _numbers(column: ArrowColumn) -> Floats:
    return np.asarray(column.to_numpy(zero_copy_only=False)).astype(np.float64)


def as_declared(pa: ModuleType, values: ArrowColumn, declared: ColumnType) -> ArrowColumn:
    """A streamed column as users of its type expect it."""
    if not isinstance(declared, Measured) or not declared.is_bounded:
        return values
    steps = values.to_numpy()
    if isinstance(declared, Boolean):
        return pa.array(steps.astype(np.bool_))
    if isinstance(declared, Timestamp):
        zone = "UTC" if declared.is_zoned else None
        return pa.array(steps.astype(np.int64) * declared.step, pa.int64()).cast(pa.timestamp("s", zone))
    if isinstance(declared, Date):
        # Grids of dates have whole days.
        days = (steps * int(declared.grid.step)).astype(np.int32)
        return pa.array(days, pa.int32()).cast(pa.date32())
    if declared.grid.step == 1:
        return pa.array(steps)
    step = declared.grid.step
    return pa.array(steps.astype(np.float64) * step.numerator / step.denominator)


def made_up_rows(schema: Schema, columns: Sequence[str], rows: int) -> ArrowTable:
    """Public: rows as the schema declares them, spread over the bounds; to try a program on before anything is read."""
    pa = arrow()
    built: dict[str, ArrowColumn] = {}
    for place, name in enumerate(columns):
        kind = schema.columns[name]
        # Fractional parts of multiples of an irrational number, another one for each column, are spread evenly.
        spread = (np.arange(1, rows + 1) * math.sqrt(place + 2.1)) % 1.0
        if isinstance(kind, Measured) and not kind.is_bounded:
            built[name] = pa.array(200.0 * spread - 100.0)
        elif isinstance(kind, Measured):
            low, high = (int(end) for end in kind.grid.ends)
            steps = np.array([low + round(float(item) * (high - low)) for item in spread])
            built[name] = as_declared(pa, pa.array(steps), kind)
        else:
            values = getattr(kind, "values", None) or ("a", "b")
            built[name] = pa.array([values[int(item * len(values))] for item in spread], pa.string())
    return pa.table(built)
