"""From a plan and an engine to releases: the only place of a session that touches private values."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import secrets
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dither.answer import released
from dither.errors import SourceFailed
from dither.procedures.partition import Independent, Members
from dither.queries.plan import Result
from dither.release import Release
from dither.session.plan import TablePlan, undeclared
from dither.sources.column import Column
from dither.sources.engines.engine import Engine, arrow_schema
from dither.sources.frames import arrow, table_block
from dither.sources.grid import Grid
from dither.sources.predicates import Predicate
from dither.sources.schema import Schema
from dither.sources.selection import MOST_GROUPS, Selection
from dither.sources.types import Boolean, ColumnType, Date, Measured
from dither.sources.windows import EngineColumns, binned_categories, binned_numbers, counts_by_key


def read_and_answer(plan: TablePlan, engine: Engine, run: Callable[[Any], Result]) -> list[Release]:
    """Run a plan that was paid for: one release for each group (one in all where nothing is grouped)."""
    secret = secrets.token_hex(16)
    # What is read on a schedule is read by itself, within that schedule.
    with contextlib.nullcontext() if plan.inner.is_scheduled else engine.snapshot():
        selection = Selection(engine, plan.schema, plan.predicate, plan.by, None, secret)
        if plan.finder is not None:
            selection = dataclasses.replace(selection, keys=found_keys(plan, selection))
        records = plan.query.select(SelectedRecords(plan, selection), plan)
        return [
            released(plan, run(data), _group(plan, key)) for key, data in zip(selection.groups, records, strict=True)
        ]


def _group(plan: TablePlan, key: tuple[Any, ...]) -> dict[str, Any] | None:
    return {name: shown_key(plan.schema.columns[name], one) for name, one in zip(plan.by, key, strict=True)} or None


def found_keys(plan: TablePlan, selection: Selection) -> tuple[tuple[Any, ...], ...]:
    """The keys with enough people, by a thresholded histogram: paid for, and no longer private."""
    if plan.finder is None:
        return selection.groups
    declared = {
        place: set(kind.keys(name))
        for place, name in enumerate(plan.by)
        if not undeclared(kind := plan.schema.columns[name])
    }
    grid, missing = plan.query.records_on if isinstance(plan.declared, Measured) else (None, None)
    counted = counts_by_key(selection, plan.query.column, grid, missing)
    known = {key: count for key, count in counted.items() if all(key[at] in values for at, values in declared.items())}
    shown = plan.finder.release(known.keys(), known.values())
    return tuple(sorted((key for key, _ in shown), key=str))[:MOST_GROUPS]


class SelectedRecords:
    """Private: what a table holds for a query that was paid for."""

    __slots__ = ("_plan", "_selection")

    def __init__(self, plan: TablePlan, selection: Selection) -> None:
        self._plan, self._selection = plan, selection

    def __repr__(self) -> str:
        return "SelectedRecords(<private>)"

    def columns(self, column: str | None, plan: Any, grid: Grid, missing: int) -> Sequence[Any]:
        """One column on a grid, of every group."""
        columns = EngineColumns(self._selection, column, grid, missing, self._plan.expected_rows)
        columns.shares = plan.statistic.read_near()
        columns.width = plan.prepared.reach * plan.statistic.rows_per_person
        return columns.each()

    def binned(self, column: str, cuts: Sequence[float], missing: float) -> Sequence[Any]:
        """How many numbers lie between edges, in every group."""
        return binned_numbers(self._selection, column, tuple(cuts), missing)

    def counted(self, column: str, categories: Sequence[str]) -> Sequence[Any]:
        """How many records each category has, in every group."""
        return binned_categories(self._selection, column, tuple(categories))

    def rows(self, columns: Sequence[str]) -> Any:
        """Whole rows as users of their types expect them: an Arrow table."""
        return self._declared(columns)[1]

    def steps(self, columns: Sequence[str]) -> list[Column]:
        """Whole rows in steps of the declared grids, a column each."""
        streamed, _ = self._declared(columns)
        grids = [self._plan.schema.measured(name).grid for name in columns]
        return [
            Column(np.asarray(streamed.column(place).to_numpy()).astype(np.int64), grid)
            for place, grid in enumerate(grids)
        ]

    def blocks(self, columns: Sequence[str]) -> TableBlocks:
        """Whole rows that can be cut into blocks of people."""
        arrow()  # (loading it takes a second, once a process, which is no matter of the data)

        def read() -> tuple[Any, Any]:
            with self._selection.engine.snapshot():
                return self._declared(columns)

        return TableBlocks(self._plan.schema, read)

    def _declared(self, columns: Sequence[str]) -> tuple[Any, Any]:
        here = self._selection
        return declared_rows(here.schema, here.engine, columns, here.predicate, self._plan.expected_rows)


class TableBlocks:
    """Private: rows of a table in blocks of people; read when they are drawn, so that a schedule covers it."""

    __slots__ = ("_read", "_schema")

    def __init__(self, schema: Schema, read: Callable[[], tuple[Any, Any]]) -> None:
        self._schema, self._read = schema, read

    def __repr__(self) -> str:
        return "TableBlocks(<private>)"

    def drawn(self, sampling: Any) -> list[Any]:
        """The rows of every block as Arrow tables."""
        streamed, shown = self._read()
        return [table_block(shown, members) for members in self._members(sampling, streamed)]

    def _members(self, sampling: Any, table: Any) -> list[Members]:
        """Which rows each block has; rows of a block are in random order: that of the engine may depend on anybody."""
        if self._schema.unit is None:
            drawn: list[Members] = sampling.draw(table.num_rows)
            return drawn
        if not isinstance(sampling, Independent):
            raise RuntimeError("people with several rows are drawn independently")
        encoded = table.column("h").dictionary_encode().unify_dictionaries()
        person = np.concatenate([np.zeros(0, dtype=np.int64), *(np.asarray(chunk.indices) for chunk in encoded.chunks)])
        return sampling.draw_groups(person.astype(np.int64), int(person.max(initial=-1)) + 1)


def declared_rows(
    schema: Schema, engine: Engine, columns: Sequence[str], predicate: Predicate | None, expected: int | None
) -> tuple[Any, Any]:
    """Private: the rows as they were streamed, and their declared columns as users of their types expect them."""
    pa = arrow()
    selection = Selection(engine, schema, predicate, secret=secrets.token_hex(16))
    query, kinds = selection.tuples(columns)
    streamed = arrow_schema([one.alias_or_name for one in query.selects], kinds)
    table = pa.Table.from_batches(engine.stream(query, kinds), streamed)
    if expected is not None and table.num_rows != expected:
        raise SourceFailed(
            f"the source does not have the {expected} rows that its schema declares: correct rows in the schema, "
            "or make it private; what was charged stays charged"
        )
    shown = {name: as_declared(pa, table.column(place), schema.columns[name]) for place, name in enumerate(columns)}
    return table, pa.table(shown)


def as_declared(pa: Any, values: Any, declared: ColumnType) -> Any:
    """A streamed column as users of its type expect it."""
    if not isinstance(declared, Measured):
        return values
    steps = values.to_numpy()
    if isinstance(declared, Boolean):
        return pa.array(steps.astype(np.bool_))
    if isinstance(declared, Date):
        # Grids of dates have whole days.
        days = (steps * int(declared.grid.step)).astype(np.int32)
        return pa.array(days, pa.int32()).cast(pa.date32())
    if declared.grid.step == 1:
        return pa.array(steps)
    step = declared.grid.step
    return pa.array(steps.astype(np.float64) * step.numerator / step.denominator)


def records_for_owner(plan: TablePlan, engine: Engine) -> dict[tuple[Any, ...], Any]:
    """NOT private: the records of every group by its key, with the same rows of each person every time."""
    selection = Selection(engine, plan.schema, plan.predicate, plan.by)
    keys = (
        tuple(shown_key(plan.schema.columns[name], one) for name, one in zip(plan.by, key, strict=True))
        for key in selection.groups
    )
    return dict(zip(keys, plan.query.select(SelectedRecords(plan, selection), plan), strict=True))


def shown_key(declared: ColumnType, key: Any) -> Any:
    """A key as users of its column's type expect it."""
    if declared.type_name == "boolean":
        return bool(key)
    return declared.displayed(key) if isinstance(declared, Date) else key


def restored(plan: TablePlan, payload: dict[str, Any]) -> Release:
    """A release as the ledger keeps it, dates as dates again."""
    release = Release.from_dict(payload)
    group = release.group and {
        name: datetime.date.fromisoformat(one) if plan.schema.columns[name].type_name == "date" else one
        for name in plan.by
        for one in (release.group[name],)
    }
    if not plan.is_dated:
        return dataclasses.replace(release, group=group)
    value, interval, missing = (_dates(part) for part in (release.value, release.interval, release.missing))
    return dataclasses.replace(release, group=group, value=value, interval=interval, missing=missing)


def _dates(payload: Any) -> Any:
    if isinstance(payload, tuple):
        return tuple(_dates(one) for one in payload)
    return None if payload is None else datetime.date.fromisoformat(payload)
