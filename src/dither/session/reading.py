"""The source of a session, a table or a graph: how it is read once a question is paid for.

The only place of a session that touches private values.
"""

from __future__ import annotations

import contextlib
import dataclasses
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeAlias, cast

import numpy as np

from dither.answer import released
from dither.errors import DitherError, InvalidArgument, SourceFailed
from dither.ledger.entries import Stored
from dither.mechanisms.stable_bins import StableBins
from dither.privacy import Loss, Neighbours
from dither.procedures.people import PersonLimitDraw
from dither.queries.plan import Plan, Result
from dither.queries.query import Query
from dither.queries.tables import TableRecords, declared_rows
from dither.release import Counted, Release
from dither.session.plan import ROWS_REFUSED, RowLimit, SessionPlan, TablePlan, undeclared
from dither.sources.descriptors import check_descriptors
from dither.sources.engines.engine import Engine
from dither.sources.engines.factory import engine_over
from dither.sources.graph_schema import GraphSchema, edge_list_of
from dither.sources.grid import BIT
from dither.sources.linked_tables import Instance
from dither.sources.people import LimitedSum, PeopleGroup, PeopleRecords
from dither.sources.predicates import Predicate
from dither.sources.schema import Schema
from dither.sources.selection import MOST_GROUPS, Key, Selection
from dither.sources.types import DROP, ColumnType, Date, Measured
from dither.sources.views import View
from dither.sources.windows import SharedReading, counts_by_key, few_rows
from dither.statistics.unknown_size import FilteredTotal

if TYPE_CHECKING:
    from typing import Any, Never

    from typing_extensions import TypeVar

    from dither.plain import Json
    from dither.queries.query import F, R
    from dither.release import B, V
    from dither.sources.edge_table import EdgeTable
    from dither.sources.graph import Graph
    from dither.typing import ArrowTable, GroupKey

    Q_contra = TypeVar("Q_contra", bound=SessionPlan, contravariant=True, default=Any)
else:
    from typing import TypeVar

    Q_contra = TypeVar("Q_contra", bound=SessionPlan, contravariant=True)


EVERY_ROW = 1 << 40
"""More rows than one person has."""
Answers: TypeAlias = "list[list[dict[str, Json]]]"
"""The releases of each plan in plain JSON values."""


class Source(ABC, Generic[Q_contra]):
    """The records of a registered dataset: private, and read only after a charge.

    ``Source[TablePlan]`` answers plans of tables, ``Source[SessionPlan]`` those of graphs.
    """

    @abstractmethod
    def marks(self) -> list[str]:
        """Public marks of the source, each of which identifies it; none where only its dataset's name does."""

    @abstractmethod
    def state(self) -> str | None:
        """What the source says about its last change, if anything; never shown, only compared."""

    @abstractmethod
    def ready(self) -> None:
        """Fail, before anything is charged, if the source is not there."""

    @abstractmethod
    def read(self, plan: Q_contra, run: Callable[[R], Result]) -> list[Release]:
        """Read and answer a question that was paid for: a release for each group."""

    @contextlib.contextmanager
    def prepared(self, plans: Sequence[Q_contra]) -> Iterator[Callable[[], Answers]]:
        """Everything that may fail before a charge; within, the function that reads and answers what was charged."""
        with contextlib.ExitStack() as opened:
            runs = [opened.enter_context(plan.opened()) for plan in plans]
            self.ready()
            check_descriptors()
            yield lambda: [[release.stored_fields() for release in each] for each in self.read_all(plans, runs)]

    def read_all(self, plans: Sequence[Q_contra], runs: Sequence[Callable[[R], Result]]) -> list[list[Release]]:
        """The same for several questions."""
        return [self.read(plan, run) for plan, run in zip(plans, runs, strict=True)]

    def restored(self, plan: Q_contra, payload: Stored) -> Release:  # noqa: ARG002
        """A release as the ledger keeps it."""
        return Release.from_dict(payload)

    def public(self, plan: Q_contra) -> Release:
        """The answer of a question that costs nothing."""
        raise InvalidArgument("query", plan.label, "no question about this dataset is free")

    def close(self) -> None:
        """Let go of the data."""


class _Batch:
    """Questions that are read together: with the same filter and groups, and columns that all of them read alike.

    Which groups are found, and how many rows of people count, is drawn for each release by itself.
    """

    def __init__(self, plan: TablePlan) -> None:
        self.places: list[int] = []
        self._first = plan
        self._columns: dict[str, ColumnType] = {}

    def takes(self, plan: TablePlan) -> bool:
        """Whether one more question may be read with these."""
        same = (plan.predicate, plan.by, _joined(plan)) == (self._first.predicate, self._first.by, _joined(self._first))
        if _is_alone(self._first) or _is_alone(plan) or not same:
            return False
        return all(self._columns.get(name, declared) == declared for name, declared in _declared(plan).items())

    def add(self, place: int, plan: TablePlan) -> None:
        """Read this question with the others."""
        self.places.append(place)
        self._columns |= _declared(plan)


def _marks(source: Engine | GraphSchema | EdgeTable, below: Path | None) -> list[str]:
    """With a folder two: by the paths of files in it, which its copies share, and by whole paths.

    Both are needed: another program may reach the same file without knowing the folder.
    """
    marks = [source.fingerprint(below), source.fingerprint()]
    return [mark for mark in dict.fromkeys(marks) if mark]


def _is_alone(plan: TablePlan) -> bool:
    """Whether a question is read by itself; of people's totals nothing is drawn before they are read."""
    found = plan.finder is not None or plan.people_finder is not None
    return plan.inner.is_scheduled or found or (plan.schema.unit is not None and plan.people is None)


def _joined(plan: TablePlan) -> tuple[Instance, ...] | None:
    """Which tables a question joins; None where it reads one."""
    view = plan.schema.view
    return None if view is None or not plan.schema.tables else view.instances


def _view_of(plans: Sequence[TablePlan]) -> View | None:
    """The view that several questions about the same rows read: with all columns that any of them computes."""
    views = [plan.schema.view for plan in plans if plan.schema.view is not None]
    computed = {name: expression for view in views for name, expression in view.computed.items()}
    return dataclasses.replace(views[0], computed=computed) if views else None


def _declared(plan: TablePlan) -> dict[str, ColumnType]:
    """The columns that a question reads, as it reads them: missing values may be left out by one and not by another."""
    names = {*plan.by, *(plan.predicate.columns() if plan.predicate else ()), *plan.query.used}
    return {name: plan.schema.columns[name] for name in names}


class TableSource(Source[TablePlan]):
    """A table in an engine."""

    def __init__(self, schema: Schema, engine: Engine) -> None:
        self.schema, self.engine = schema, engine

    def marks(self, below: Path | None = None) -> list[str]:
        return _marks(self.engine, below)

    def state(self) -> str | None:
        return self.engine.state()

    def ready(self) -> None:
        few_rows()  # a setting that is none is refused now, not when records are read
        self.engine.ready()

    def read(self, plan: TablePlan[R], run: Callable[[R], Result]) -> list[Release]:
        return self._read_together([plan], [run])[0]

    def read_all(self, plans: Sequence[TablePlan], runs: Sequence[Callable[[R], Result]]) -> list[list[Release]]:
        batches: list[_Batch] = []
        for place, plan in enumerate(plans):
            batch = next((batch for batch in batches if batch.takes(plan)), None)
            if batch is None:
                batches.append(batch := _Batch(plan))
            batch.add(place, plan)
        answers: dict[int, list[Release]] = {}
        for batch in batches:
            read = self._read_together([plans[at] for at in batch.places], [runs[at] for at in batch.places])
            answers |= dict(zip(batch.places, read, strict=True))
        return [answers[place] for place in range(len(plans))]

    def _read_together(self, plans: Sequence[TablePlan], runs: Sequence[Callable[[R], Result]]) -> list[list[Release]]:
        """The answers of questions with the same filter and groups, which share their passes over the table."""
        if plans[0].limit is not None:
            return [self._read_within_limit(plan, plan.limit) for plan in plans if plan.limit is not None]
        # What is read on a schedule is read by itself, within that schedule.
        with contextlib.nullcontext() if plans[0].inner.is_scheduled else self.engine.snapshot():
            return self._answered(plans, runs)

    def _answered(self, plans: Sequence[TablePlan], runs: Sequence[Callable[[R], Result]]) -> list[list[Release]]:
        """The same, within a snapshot."""
        plan, shared = plans[0], SharedReading()
        columns = {name: declared for each in plans for name, declared in _declared(each).items()}
        schema = dataclasses.replace(plan.schema, columns={**plan.schema.columns, **columns}, view=_view_of(plans))
        engine = engine_over(self.engine, schema)
        selection = Selection(engine, schema, plan.predicate, plan.by, None, plan.key)
        keys: tuple[tuple[GroupKey, ...], ...] | None = None
        if plan.finder is not None:
            keys = found_keys(plan, selection, plan.finder)
        elif plan.people_finder is not None:
            limit = _drawn_limit(plan, self.engine, plan.people_finder.draw)
            few = dataclasses.replace(selection, schema=dataclasses.replace(schema, rows_per_unit=limit))
            keys = found_keys(plan, few, plan.people_finder.bins(limit))
        if keys is not None and not keys:
            # A join with no groups is no SQL: a failure, and whoever asks that again under its name has a free draw.
            return [[] for _ in plans]
        if keys is not None:
            selection = dataclasses.replace(selection, keys=cast("tuple[Key, ...]", keys))
        # All of them before any is run: what the first needs is then read for all.
        each = [selected(plan, selection, shared) for plan in plans]
        try:
            return [
                [
                    released(plan, result, dict(zip(plan.by, _displayed(plan, key), strict=True)) or None)
                    for key, result in zip(selection.groups, plan.results(run, read), strict=True)
                ]
                for plan, run, read in zip(plans, runs, each, strict=True)
            ]
        finally:
            shared.close()

    def _read_within_limit(self, plan: TablePlan, limit: RowLimit) -> list[Release]:
        """A limit of rows by a draw that was paid for, then the answers where so many rows of each person count."""
        with self.engine.snapshot():
            drawn = _drawn_limit(plan, self.engine, limit.draw)
            within = limit.plan_at(drawn, plan.key)
            if within is None:
                return [released(plan, Result(None, reason=ROWS_REFUSED, person_limit=limit.found(drawn)))]
            with within.opened() as run:
                answers = self._answered([within], [run])[0]
        return [dataclasses.replace(answer, loss=plan.loss, person_limit=limit.found(drawn)) for answer in answers]

    def restored(self, plan: TablePlan, payload: Stored) -> Release:
        """A release as the ledger keeps it, dates as dates again."""
        release = Release.from_dict(payload)
        group = release.group and {
            name: declared.parsed(str(item)) if isinstance(declared := plan.schema.columns[name], Date) else item
            for name in plan.by
            for item in (release.group[name],)
        }
        release = dataclasses.replace(release, group=group)
        if not plan.reads_dates:
            return release
        declared = cast("Date", plan.declared)
        missing = release.missing if release.missing == DROP else _dates(declared, release.missing)
        release = dataclasses.replace(release, missing=missing, clamped=_dates(declared, release.clamped))
        if not plan.is_dated:
            return release
        value, interval, ends = (_dates(declared, part) for part in (release.value, release.interval, release.range))
        return dataclasses.replace(release, value=value, interval=interval, range=ends)

    def public(self, plan: TablePlan) -> Release:
        free = PublicCount(plan.label, plan.neighbours)
        return released(free, free.run(plan.schema.most_rows))

    def close(self) -> None:
        self.engine.close()

    def groups_for_owner(self, plan: TablePlan[R]) -> dict[tuple[GroupKey, ...], R]:
        """NOT private: the records of every group by its key, with the same rows of each person every time."""
        selection = Selection(engine_over(self.engine, plan.schema), plan.schema, plan.predicate, plan.by)
        keys = (_displayed(plan, key) for key in selection.groups)
        return dict(zip(keys, selected(plan, selection), strict=True))

    def people_for_owner(self, plan: TablePlan) -> tuple[FilteredTotal, dict[tuple[GroupKey, ...], LimitedSum]]:
        """NOT private: how many people have a row in each group, and the statistic that this is."""
        groups: dict[tuple[GroupKey, ...], PeopleGroup] = self.groups_for_owner(plan)
        people = next(iter(groups.values())).people
        counts = people.totals_within(0, EVERY_ROW) if plan.by else [people.people()]
        statistic = FilteredTotal(plan.schema.most_rows, BIT, Neighbours.ADD_REMOVE_CHANGE)
        return statistic, {key: LimitedSum(counts[group.index], counts[group.index]) for key, group in groups.items()}

    def rows_for_owner(self, columns: Sequence[str], predicate: Predicate | None) -> ArrowTable:
        """NOT private: columns of the selected rows as programs see them."""
        return declared_rows(Selection(self.engine, self.schema, predicate), columns, None)[1]


def selected(plan: TablePlan[R], selection: Selection, shared: SharedReading | None = None) -> Sequence[R]:
    """Private: the records of every group, as the plan reads them.  shared: what other plans read of the same rows."""
    records = TableRecords(selection, plan.expected_rows, shared)
    # What a plan of people reads is what its run takes.
    people = None if plan.people is None else cast("Sequence[R]", records.people(plan.people))
    return plan.query.select(records, plan.read_for) if people is None else people


@dataclasses.dataclass(frozen=True)
class PublicCount(Plan[int]):
    """The number of rows of a table that declares it: public, and free."""

    label: str
    neighbours: Neighbours
    loss = Loss(0.0)
    confidence = 1.0
    mechanism = "public"
    noise = "none"

    def run(self, records: int) -> Result:
        return Result(records, (records, records))


def _drawn_limit(plan: TablePlan, engine: Engine, draw: PersonLimitDraw) -> int:
    """How many rows of one person count: paid for, and no longer private."""
    # All rows of each person that the question is about; in which groups they are does not matter here.
    selection = Selection(engine_over(engine, plan.schema), plan.schema, plan.predicate)
    used = plan.query.column if plan.query.column is not None and selection.drops(plan.query.column) else None
    return draw.draw(PeopleRecords(selection, used, BIT, 0).rows_above(draw.limits))


def found_keys(plan: TablePlan, selection: Selection, finder: StableBins) -> tuple[tuple[GroupKey, ...], ...]:
    """The keys with enough people, by a thresholded histogram: paid for, and no longer private."""
    declared = {
        place: set(kind.keys(name))
        for place, name in enumerate(plan.by)
        if not undeclared(kind := plan.schema.columns[name])
    }
    grid, missing = None, None
    if isinstance(plan.declared, Measured):
        grid, missing = plan.query.records_on if plan.people is None else (plan.people.grid, plan.people.missing)
    counted = counts_by_key(selection, plan.query.column, grid, missing)
    known = {key: count for key, count in counted.items() if all(key[at] in values for at, values in declared.items())}
    discovered = finder.release(known.keys(), known.values())
    return tuple(sorted((key for key, _ in discovered), key=str))[:MOST_GROUPS]


def _displayed(plan: TablePlan, key: tuple[GroupKey, ...]) -> tuple[GroupKey, ...]:
    """The key of a group as users of its columns' types expect it."""
    return tuple(_displayed_part(plan.schema.columns[name], item) for name, item in zip(plan.by, key, strict=True))


def _displayed_part(declared: ColumnType, part: GroupKey) -> GroupKey:
    if declared.type_name == "boolean":
        return bool(part)
    return declared.displayed(cast("float", part)) if isinstance(declared, Date) else part


def _dates(declared: Date, payload: Counted) -> Counted:
    if isinstance(payload, tuple):
        return tuple(_dates(declared, item) for item in payload)
    # Before histograms of dates named their bins by dates, their ends were stored as numbers.
    return declared.parsed(payload) if isinstance(payload, str) else payload


class GraphSource(Source[SessionPlan]):
    """A graph in a file or in an engine: private edges, or private weights of public edges.

    Public edges alone are read when it is opened; a source whose edges are others when the weights are read answers
    nothing.
    """

    def __init__(self, schema: GraphSchema) -> None:
        self.schema = schema
        self._edge_list = edge_list_of(schema)
        self._edge_list.ready()
        self._state_of_edges = None if schema.weight is None else self._edge_list.state()
        self.edges: Graph | None = self._edge_list.read_public()
        """Public; None where edges are private."""

    def marks(self, below: Path | None = None) -> list[str]:
        return _marks(self._edge_list, below)

    def state(self) -> str | None:
        return self._edge_list.state()

    def ready(self) -> None:
        self._edge_list.ready()

    @property
    def may_have_other_edges(self) -> bool:
        """Whether public edges may be others by now; True too where the source says nothing of its changes."""
        state = self._state_of_edges
        return self.edges is not None and (state is None or state != self._edge_list.state())

    def close(self) -> None:
        if not isinstance(self._edge_list, GraphSchema):
            self._edge_list.close()

    def read(self, plan: SessionPlan[R], run: Callable[[R], Result]) -> list[Release]:
        return [released(plan, run(self.graph_for(plan.query)))]

    def graph_for(self, query: Query[V, B, Never, F, R]) -> R:
        """Private: the graph as the plan reads it."""
        graph, asked = self._private(), cast("Query[V, B, Graph, F, R]", query)
        return asked.read(graph, asked.shape(graph if self.edges is None else self.edges))

    def _private(self) -> Graph:
        """The private edges or weights, after the charge: an error about them must not say that nothing was charged."""
        with contextlib.suppress(DitherError, OSError, EOFError, zlib.error):
            graph: Graph = self._edge_list.read()
            # The plan was made for the public edges of the opening: weights of other edges are not what was asked.
            if self.edges is None or np.array_equal(graph.edges, self.edges.edges):
                return graph
        changed = "" if self.edges is None else ", or has other edges than when it was opened"
        raise SourceFailed(
            f"{self._edge_list.called} could not be read{changed}; what was charged for this question stays charged"
        )
