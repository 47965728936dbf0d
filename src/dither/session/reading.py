"""From a plan and an engine to releases: the only place of a session that touches private values."""

from __future__ import annotations

import dataclasses
import datetime
import secrets
from collections.abc import Sequence
from typing import Any

from dither.mechanisms.mechanism import Outcome
from dither.queries.vectors import Histogram
from dither.release import Release
from dither.session.plan import Plan, undeclared
from dither.sources.engines.engine import Engine
from dither.sources.grid import Grid
from dither.sources.selection import MOST_GROUPS, Selection
from dither.sources.types import Category, ColumnType, Date, Measured
from dither.sources.windows import EngineColumns, binned_categories, binned_numbers, counts_by_key


def read_and_answer(plan: Plan, engine: Engine) -> list[Release]:
    """Run a plan that was paid for: one release for each group (one in all where nothing is grouped)."""
    secret = secrets.token_hex(16)
    with engine.snapshot():
        selection = Selection(engine, plan.schema, plan.predicate, plan.by, None, secret)
        if plan.finder is not None:
            selection = dataclasses.replace(selection, keys=found_keys(plan, selection))
        return [
            _release(plan, plan.prepared.run(data), key)
            for key, data in zip(selection.groups, private_data(plan, selection), strict=True)
        ]


def found_keys(plan: Plan, selection: Selection) -> tuple[tuple[Any, ...], ...]:
    """The keys with enough people, by a thresholded histogram: paid for, and no longer private."""
    if plan.finder is None:
        return selection.groups
    declared = {
        place: set(kind.keys(name))
        for place, name in enumerate(plan.by)
        if not undeclared(kind := plan.schema.columns[name])
    }
    measured = isinstance(plan.declared, Measured)
    counted = counts_by_key(
        selection, plan.query.column, plan.grid if measured else None, plan.missing if measured else None
    )
    known = {key: count for key, count in counted.items() if all(key[at] in values for at, values in declared.items())}
    shown = plan.finder.release(known.keys(), known.values())
    return tuple(sorted((key for key, _ in shown), key=str))[:MOST_GROUPS]


def private_data(plan: Plan, selection: Selection) -> Sequence[Any]:
    """The records of every group, as the plan's statistic reads them: private."""
    if isinstance(plan.query, Histogram):
        if isinstance(plan.declared, Category):
            return binned_categories(selection, str(plan.query.column), plan.query.names)
        return binned_numbers(selection, str(plan.query.column), plan.query.cuts, float(plan.query.nulls))
    columns = EngineColumns(selection, plan.query.column, plan.grid, plan.missing, plan.expected_rows)
    columns.shares = tuple(getattr(plan.statistic, "shares", ()))
    columns.width = plan.prepared.reach * max(getattr(plan.statistic, "rows", 1), 1)
    return columns.each()


def records_for_owner(plan: Plan, engine: Engine) -> dict[tuple[Any, ...], Any]:
    """NOT private: the records of every group by its key, with the same rows of each person every time."""
    selection = Selection(engine, plan.schema, plan.predicate, plan.by)
    keys = (
        tuple(shown_key(plan.schema.columns[name], one) for name, one in zip(plan.by, key, strict=True))
        for key in selection.groups
    )
    return dict(zip(keys, private_data(plan, selection), strict=True))


def _release(plan: Plan, outcome: Outcome, key: tuple[Any, ...]) -> Release:
    grids = plan.prepared.statistic.answers
    value: Any = outcome.answer
    bar: Any = outcome.interval
    if isinstance(grids, Grid):
        value = None if value is None else plan.shown(grids.value(value))
        bar = None if bar is None else tuple(plan.shown(grids.value(end)) for end in bar)
    else:
        value = value and tuple(plan.shown(grid.value(one)) for grid, one in zip(grids, value, strict=True))
        bar = bar and tuple(
            tuple(plan.shown(grid.value(end)) for end in ends) for grid, ends in zip(grids, bar, strict=True)
        )
    return Release(
        value=value,
        interval=bar,
        confidence=plan.confidence,
        loss=plan.loss,
        neighbours=plan.schema.neighbours,
        query=plan.label,
        mechanism=plan.mechanism,
        noise=plan.prepared.noise_name,
        missing=None if plan.declared is None or isinstance(plan.declared, Category) else _missing(plan),
        labels=getattr(plan.prepared.statistic, "labels", None),
        reason=getattr(plan.prepared, "refusal", None) if outcome.refused else None,
        group={name: shown_key(plan.schema.columns[name], one) for name, one in zip(plan.by, key, strict=True)} or None,
    )


def _missing(plan: Plan) -> Any:
    if plan.declared is not None and plan.declared.drops_nulls:
        return None
    if isinstance(plan.query, Histogram):
        return plan.query.nulls
    return plan.shown(plan.grid.value(plan.missing))


def shown_key(declared: ColumnType, key: Any) -> Any:
    """A key as users of its column's type expect it."""
    if declared.kind == "boolean":
        return bool(key)
    return declared.shown(key) if isinstance(declared, Date) else key


def restored(plan: Any, told: dict[str, Any]) -> Release:
    """A release as the ledger keeps it, dates as dates again."""
    release = Release.from_dict(told)
    group = release.group and {
        name: datetime.date.fromisoformat(one) if plan.schema.columns[name].kind == "date" else one
        for name in plan.by
        for one in (release.group[name],)
    }
    if not plan.is_dated:
        return dataclasses.replace(release, group=group)
    value, interval, missing = (_dates(part) for part in (release.value, release.interval, release.missing))
    return dataclasses.replace(release, group=group, value=value, interval=interval, missing=missing)


def _dates(told: Any) -> Any:
    if isinstance(told, tuple):
        return tuple(_dates(one) for one in told)
    return None if told is None else datetime.date.fromisoformat(told)
