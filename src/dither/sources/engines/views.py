"""A view as a table: linked tables joined inside their engine, and columns that are computed there.

Each table is cleaned first, in a query of its own over its declared columns; the join compares keys as they are
cleaned, texts byte by byte and whole numbers of 64 bits, and people are told apart by the same cleaned keys.
What stands behind FROM is put together when a query is run, from the columns that this query names.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from dither.errors import InvalidArgument
from dither.sources.engines.engine import Engine, Row, clamped, column, double_literal
from dither.sources.expressions import NEAREST, UNBOUNDED
from dither.sources.formats import DateFormat, DurationFormat, IsoMoments, Moments, NumberFormat
from dither.sources.linked_tables import Instance, owner_link
from dither.sources.predicates import Constant, literal
from dither.sources.schema import Schema
from dither.sources.selection import Selection
from dither.sources.types import Boolean, Category, ColumnType, Date, Measured
from dither.sources.views import View

if TYPE_CHECKING:
    import pyarrow as pa

VIEW, PART_OF_VIEW = "dither_view", "dither_part_of_view"
"""What stands behind FROM until a query is run: all rows, or a sample of them."""
_PERSON, _OWNER, _PLACE, _LED = "person", "owner", "place", "led"
_STATE = "s"
"""What names of states of entries begin with."""


class ViewEngine(Engine):
    """Tables of one engine, read as one."""

    def __init__(self, engines: Mapping[str, Engine], schema: Schema, opened: Callable[[str], Engine]) -> None:
        """opened: another engine of one of the tables, for a table that is read twice."""
        self._engines, self._schema, self._another = dict(engines), schema, opened
        self._first = next(iter(self._engines.values()))
        self.dialect, self.bytewise, self.double = self._first.dialect, self._first.bytewise, self._first.double
        self.has_grouping_sets = self._first.has_grouping_sets
        self.stores_nan = False
        self._fraction: float | None = None
        self._again: dict[tuple[str, int], Engine] = {}
        self._repeats = _RepeatedKeys()

    @property
    def casts_text(self) -> bool:
        return False

    @property
    def _view(self) -> View:
        if self._schema.view is None:
            raise InvalidArgument("tables", None, "a question names the tables that it joins")
        return self._schema.view

    @property
    def schema(self) -> Schema:
        """Public: what is declared."""
        return self._schema

    def over(self, schema: Schema) -> ViewEngine:
        """The engine of another view of the same tables."""
        other = copy.copy(self)
        other._schema, other._fraction = schema, None
        return other

    # --- what a view is to those who read it ----------------------------------------------------------------

    def stored_types(self) -> dict[str, str]:
        types = {name: _stored_type(declared) for name, declared in self._schema.columns.items()}
        return types if self._schema.unit is None else {**types, self._schema.unit: "text"}

    def table(self, fraction: float | None = None) -> exp.Expr:
        self._fraction = fraction
        return exp.to_table(VIEW if fraction is None else PART_OF_VIEW)

    def _column(self, name: str) -> exp.Expr:
        """A column of the view: under a short name, for engines cut long ones off."""
        return column(f"v{list(self._schema.columns).index(name)}")

    def number(self, name: str, stored_type: str, written: NumberFormat | None = None) -> exp.Expr:  # noqa: ARG002
        return self._column(name)

    def day(self, name: str, stored_type: str, written: DateFormat | IsoMoments | None = None) -> exp.Expr:  # noqa: ARG002
        return self._column(name)

    def second(self, name: str, stored_type: str, written: Moments | None = None) -> exp.Expr:  # noqa: ARG002
        return self._column(name)

    def epoch_second(self, name: str) -> exp.Expr:
        return self._column(name)

    def span(self, name: str, stored_type: str, written: DurationFormat | None = None) -> exp.Expr:  # noqa: ARG002
        return self._column(name)

    def span_seconds(self, name: str) -> exp.Expr:
        return self._column(name)

    def truth(self, name: str, stored_type: str, *, numbers: bool = True) -> exp.Expr:  # noqa: ARG002
        return self._column(name)

    def text(self, name: str, stored_type: str) -> exp.Expr:  # noqa: ARG002
        return self._column(name)

    def person(self, name: str, stored_type: str) -> exp.Expr:  # noqa: ARG002
        return column(_PERSON)

    def entry_state(self, name: str) -> exp.Expr | None:
        return column(f"s{list(self._schema.columns).index(name)}")

    # --- what stands behind FROM ----------------------------------------------------------------------------

    def _filled(self, query: exp.Select) -> exp.Select:
        """A query with the join in the place of the view's name, and filters of single tables inside of it."""
        if not any(item.name in (VIEW, PART_OF_VIEW) for item in query.find_all(exp.Table)):
            return query  # (about what was kept)
        query, chosen = query.copy(), self._chosen_tables()
        filters = {
            id(select): self._taken(select, chosen) for select in query.find_all(exp.Select) if _reads_view(select)
        }
        names = {item.name for item in query.find_all(exp.Column)}
        for table in [item for item in query.find_all(exp.Table) if item.name in (VIEW, PART_OF_VIEW)]:
            joined = self._joined(names, self._fraction if table.name == PART_OF_VIEW else None, chosen)
            select = table.find_ancestor(exp.Select)
            for instance, condition in filters.get(id(select), ()):
                self._filter(joined, instance, condition)
            for named in joined.ctes:
                if named.alias not in {item.alias for item in query.ctes}:
                    query.with_(named.alias, as_=named.this.copy(), copy=False)
            joined.set("with_", None)
            table.replace(joined.subquery("source"))
        return query

    def _taken(self, select: exp.Select, chosen: Sequence[Instance]) -> list[tuple[Instance, exp.Expr]]:
        """The conditions of a query that are about columns of one table each, taken out of it.

        An inner join of the rows that satisfy them has the rows that satisfy them, and is shorter.  Where rows are
        chosen, that is before any condition.
        """
        where = select.args.get("where")
        if where is None or not self._schema.tables:
            return []
        taken, kept = [], []
        for condition in _conjuncts(where.this):
            instances = {self._instance_of(item.name) for item in condition.find_all(exp.Column)}
            only = instances.pop() if len(instances) == 1 else None
            if only is None or only in chosen:
                kept.append(condition)
            else:
                taken.append((only, condition))
        select.set("where", exp.Where(this=exp.and_(*kept)) if kept else None)
        return taken

    def _instance_of(self, name: str) -> Instance | None:
        """The table that a column of the view is one of; None for people, states and what is computed."""
        if not (name.startswith("v") and name[1:].isdigit()):
            return None
        named = self._view.columns.get(list(self._schema.columns)[int(name[1:])])
        return None if named is None else next(item for item in self._view.instances if item.name == named[0])

    def _filter(self, joined: exp.Select, instance: Instance, condition: exp.Expr) -> None:
        """Leave rows of one table out of a join, in the query that cleans it."""
        alias, declared = f"t{self._view.instances.index(instance)}", list(self._schema.columns)
        rows = next(item for item in joined.find_all(exp.Subquery) if item.alias == alias).this
        part = _JoinedTable(self, instance, alias)

        def cleaned(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column):
                return node
            return exp.Paren(this=part.raw(self._view.columns[declared[int(node.name[1:])]][1]))

        rows.where(condition.transform(cleaned), copy=False)

    def _chosen_tables(self) -> list[Instance]:
        """The tables that lead from a row to its person, if a key of any of them repeats: none where all are unique.

        Of these one row is used for each key and person.  Where no key repeats that is all of them, so whether there is
        such a key decides how long a query takes, and nothing that it says.
        """
        led: list[Instance] = []
        here, tables = self._view.instances[0], self._schema.tables
        for item in self._view.instances[1:] if tables else ():  # each stands behind the one that refers to it
            link = owner_link(tables, here.table)
            if link is not None and (item.child, item.column) == (here.name, link[0]):
                led.append(here := item)
        repeats = [
            self._repeats.known(item.table, self._engines[item.table], str(tables[item.table].key)) for item in led
        ]
        return led if any(repeats) else []

    def _joined(self, names: set[str], fraction: float | None, led: Sequence[Instance] = ()) -> exp.Select:
        """led: the tables on the way to people of which rows are chosen."""
        view, declared = self._view, list(self._schema.columns)
        parts = {item.name: _JoinedTable(self, item, f"t{place}") for place, item in enumerate(view.instances)}
        chosen: list[exp.Expr] = []
        for place, name in enumerate(declared):
            if f"v{place}" in names:
                chosen.append(exp.alias_(self._value(name, parts), f"v{place}", quoted=True))
            if f"s{place}" in names:
                chosen.append(exp.alias_(self._state(name, parts), f"s{place}", quoted=True))
        if _PERSON in names and view.unit is not None:
            owner = parts[view.unit[0]]
            chosen.append(
                exp.alias_(owner.person(view.unit[1], linked=bool(self._schema.tables)), _PERSON, quoted=True)
            )
        conditions = []
        for instance in view.instances[1:]:
            child, parent = parts[str(instance.child)], parts[instance.name]
            foreign, key = str(instance.column), str(self._schema.tables[instance.table].key)
            as_text = child.key_type(foreign) != parent.key_type(key)
            conditions.append(
                exp.EQ(this=child.key(foreign, as_text=as_text), expression=parent.key(key, as_text=as_text))
            )
        on = dict(zip((item.name for item in view.instances[1:]), conditions, strict=True))
        facts, *others = parts.values()
        query = exp.Select().from_(facts.rows(fraction)).select(*(chosen or [exp.alias_(literal(1), "one")]))
        ways = [(parts[item.name], on[item.name]) for item in led]
        for name, rows in self._led(ways):
            query = query.with_(name, as_=rows)
        if ways:
            query = query.join(_led_table(0), on=exp.and_(ways[0][1], _is_chosen()))
        for part in others:
            if part.instance not in led:
                query = query.join(part.rows(None), on=on[part.instance.name])
        _read_led(query, [part for part, _ in ways])
        return query

    def _led(self, ways: Sequence[tuple[_JoinedTable, exp.Expr]]) -> list[tuple[str, exp.Select]]:
        """Tables on the way to people, each with the condition that it is joined by: all rows, and which are chosen.

        From the last table on, of the rows with the same key that lead to the same person the first is, by a hash.
        They stand before a query, not inside of it: SQLite reads no query that is nested deeply.
        """
        tables = self._schema.tables
        named: dict[str, exp.Expr] = {}
        result: list[tuple[str, exp.Select]] = []
        for place, (part, _) in reversed(list(enumerate(ways))):
            key, link = str(tables[part.instance.table].key), owner_link(tables, part.instance.table)
            same, owner = part.key(key, as_text=False), part.key(key if link is None else link[0], as_text=False)
            own: dict[str, exp.Expr] = {
                f"{part.alias}_{name}": exp.column(name, table=part.alias, quoted=True) for name in part.names
            }
            rows, order = part.hashed()
            joined = exp.Select().from_(rows)
            if result:
                on = exp.and_(ways[place + 1][1].copy(), _is_chosen())
                _read_led(on, [item for item, _ in ways[place + 1 :]])
                joined = joined.join(_led_table(place + 1), on=on)
                owner = exp.column(_OWNER, table=_LED, quoted=True)
                own |= {name: exp.column(name, table=_LED, quoted=True) for name in named}
            first = exp.Window(
                this=exp.RowNumber(), partition_by=[same, owner.copy()], order=exp.Order(expressions=order)
            )
            named = {**own, _OWNER: owner, _PLACE: first}
            listed = (exp.alias_(value, name, quoted=True) for name, value in named.items())
            result.append((_led_table(place).name, joined.select(*listed)))
        return result

    def _value(self, name: str, parts: Mapping[str, _JoinedTable]) -> exp.Expr:
        view = self._view
        if name in view.columns:
            instance, item = view.columns[name]
            return parts[instance].cleaned(item)
        expression = view.computed[name]
        leaves = {leaf: self._leaf(leaf, parts) for leaf in expression.columns()}
        return expression.sql(leaves)

    def _leaf(self, name: str, parts: Mapping[str, _JoinedTable]) -> exp.Expr:
        """A column of numbers inside an expression: within its bounds, zero where it is very near to it."""
        declared = self._schema.columns[name]
        number = exp.cast(self._value(name, parts), "double")
        low, high = -float(UNBOUNDED), float(UNBOUNDED)
        missing: exp.Expr = exp.Null()
        if isinstance(declared, Measured):
            if declared.is_bounded:
                low, high = (float(end * declared.grid.step) for end in declared.grid.ends)
            if not declared.drops_nulls and (declared.nulls is not None or self._schema.version == 1):
                missing = double_literal(declared.missing_value)
        if isinstance(declared, Measured) and not declared.is_bounded and self._is_moderate(name):
            return number if isinstance(missing, exp.Null) else exp.Coalesce(this=number, expressions=[missing])
        nearest = double_literal(float(NEAREST))
        return exp.Paren(
            this=exp.case()
            .when(exp.Is(this=number.copy(), expression=exp.Null()), missing)
            .when(exp.LT(this=number.copy(), expression=double_literal(low)), double_literal(low))
            .when(exp.GT(this=number.copy(), expression=double_literal(high)), double_literal(high))
            .when(exp.LT(this=exp.Abs(this=number.copy()), expression=nearest), double_literal(0.0))
            .else_(number.copy())
        )

    def _is_moderate(self, name: str) -> bool:
        """Whether a column without bounds has nothing to cut, by the type that its table stores."""
        instance, column = self._view.columns[name]
        return column in self.engine_of(next(item for item in self._view.instances if item.name == instance)).moderate

    def _state(self, name: str, parts: Mapping[str, _JoinedTable]) -> exp.Expr:
        view = self._view
        if name not in view.columns:
            raise RuntimeError("a computed column has no entries of its own")
        instance, item = view.columns[name]
        return parts[instance].state(item)

    def engine_of(self, instance: Instance) -> Engine:
        """The engine of the table that an instance is; where a table is read twice, each time another."""
        before = [item for item in self._view.instances if item.table == instance.table]
        if before[0] == instance:
            return self._engines[instance.table]
        time = (instance.table, before.index(instance))
        if time not in self._again:
            self._again[time] = self._another(instance.table)
        return self._again[time]

    def table_engine(self, name: str) -> Engine:
        """The engine of one of the tables by itself: for owners."""
        return self._engines[name]

    def declared(self, table: str, name: str) -> Schema:
        """The schema of one column of one table."""
        columns = self._schema.tables[table].columns if self._schema.tables else self._schema.columns
        return Schema(None, {name: columns[name]}, version=self._schema.version)

    # --- what is asked of the engine below ------------------------------------------------------------------

    def estimated_rows(self) -> int:
        return self._engines[self._view.instances[0].table].estimated_rows()

    def rows(self, query: exp.Select) -> list[Row]:
        return self._first.rows(self._filled(query))

    def kept(self, query: exp.Select) -> exp.Expr:
        return self._first.kept(self._filled(query))

    def forget(self, table: exp.Expr) -> None:
        self._first.forget(table)

    def arrays(self, query: exp.Select) -> list[NDArray[np.int64]]:
        return self._first.arrays(self._filled(query))

    def long_arrays(self, query: exp.Select) -> list[NDArray[np.int64]]:
        return self._first.long_arrays(self._filled(query))

    def stream(self, query: exp.Select, stored_types: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return self._first.stream(self._filled(query), stored_types)

    def sql(self, query: exp.Expr) -> str:
        return self._first.sql(query)

    def values(self, rows: Iterable[Sequence[Constant]], name: str, columns: Sequence[str]) -> exp.Expr:
        return self._first.values(rows, name, columns)

    def constant(self, value: Constant) -> str:
        return self._first.constant(value)

    def nearest(self, number: exp.Expr) -> exp.Expr:
        return self._first.nearest(number)

    def nearest_multiple(self, number: exp.Expr, size: float) -> exp.Expr:
        return self._first.nearest_multiple(number, size)

    def exact_sum(self, whole: exp.Expr) -> exp.Expr:
        return self._first.exact_sum(whole)

    def cut_sum(self, whole: exp.Expr, most: int) -> exp.Expr:
        return self._first.cut_sum(whole, most)

    def halves(self, total: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
        return self._first.halves(total)

    def extremes(self, value: exp.Expr, most: int, *, least: bool) -> exp.Expr | None:
        return self._first.extremes(value, most, least=least)

    def list_of(self, whole: exp.Expr) -> exp.Expr | None:
        return self._first.list_of(whole)

    def arrays_and_list(
        self, query: exp.Select
    ) -> tuple[list[NDArray[np.int64]], NDArray[np.int64], NDArray[np.int64]]:
        return self._first.arrays_and_list(self._filled(query))

    def day_number(self, day: exp.Expr) -> exp.Expr:
        return self._first.day_number(day)

    def is_finite(self, number: exp.Expr) -> exp.Expr:
        return self._first.is_finite(number)

    def is_nan(self, number: exp.Expr) -> exp.Expr:
        return self._first.is_nan(number)

    def fingerprint(self, below: Path | None = None) -> str:
        if not self._schema.tables:
            return self._first.fingerprint(below)
        marks = {name: engine.fingerprint(below) for name, engine in sorted(self._engines.items())}
        if not any(marks.values()):
            return ""
        return f"tables:{hashlib.sha256(json.dumps(marks).encode()).hexdigest()[:40]}"

    def state(self) -> str | None:
        states = [engine.state() for _, engine in sorted(self._engines.items())]
        return None if None in states else " ".join(map(str, states))

    def ready(self) -> None:
        for engine in (*self._engines.values(), *self._again.values()):
            engine.ready()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for engine in self._engines.values():
                stack.enter_context(engine.snapshot())
            stack.enter_context(self._repeats.snapshot())
            yield

    def close(self) -> None:
        for engine in reversed(self._engines.values()):
            engine.close()


class _RepeatedKeys:
    """Private: whether keys of tables repeat, as long as nothing can have changed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str | None, bool]] = {}
        self._is_fixed = False

    def known(self, table: str, engine: Engine, key: str) -> bool:
        """Whether any key of a table occurs twice."""
        state = engine.state() if engine.says_every_change else None
        before = self._known.get(table)
        if before is not None and before[0] == state and (state is not None or self._is_fixed):
            return before[1]
        self._known[table] = (state, repeats(engine, key))
        return self._known[table][1]

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Within it nothing changes."""
        self._known = {table: answer for table, answer in self._known.items() if answer[0] is not None}
        self._is_fixed = True
        try:
            yield
        finally:
            self._is_fixed = False


@dataclasses.dataclass
class _JoinedTable:
    """One instance in a join: a query of its own that cleans what is used of it."""

    view: ViewEngine
    instance: Instance
    alias: str

    def __post_init__(self) -> None:
        self.engine = self.view.engine_of(self.instance)
        self._chosen: dict[str, exp.Expr] = {}

    def _named(self, name: str, value: exp.Expr) -> exp.Expr:
        self._chosen[name] = value
        return exp.column(name, table=self.alias, quoted=True)

    def cleaned(self, name: str) -> exp.Expr:
        """A declared column as ``Selection.cleaned`` reads it."""
        return self._named(f"c{self._place(name)}", self.raw(name))

    def raw(self, name: str) -> exp.Expr:
        """The same where no query has named it yet."""
        return self._selection(name).cleaned(name)

    def state(self, name: str) -> exp.Expr:
        """What became of its entry."""
        return self._named(f"{_STATE}{self._place(name)}", self._selection(name).state(name))

    def _selection(self, name: str) -> Selection:
        return Selection(self.engine, self.view.declared(self.instance.table, name))

    def _place(self, name: str) -> int:
        return list(self.engine.stored_types()).index(name)

    def key_type(self, name: str) -> str:
        """Whether a key is a text or a whole number."""
        return self.engine.stored_types()[name]

    def key(self, name: str, *, as_text: bool) -> exp.Expr:
        """A key or foreign key; NULL if missing.  as_text: for a comparison with texts."""
        stored, value = self.key_type(name), key_of(self.engine, name)
        if not as_text or stored == "text":
            return self._named(f"k{self._place(name)}", value)
        return self._named(f"j{self._place(name)}", exp.cast(value, "text"))

    def person(self, name: str, *, linked: bool) -> exp.Expr:
        """What tells people apart: of linked tables a key, as joins compare it."""
        if linked:
            return self.key(name, as_text=False)
        return self._named(_PERSON, self.engine.person(name, self.key_type(name)))

    def rows(self, fraction: float | None) -> exp.Expr:
        """The query, once all that is used of it is known."""
        named = [exp.alias_(value, name, quoted=True) for name, value in self._chosen.items()]
        listed = named or [exp.alias_(literal(1), "one")]
        return exp.select(*listed).from_(self.engine.table(fraction)).subquery(self.alias)

    @property
    def names(self) -> list[str]:
        """What is used of it."""
        return list(self._chosen)

    def hashed(self) -> tuple[exp.Expr, list[exp.Expr]]:
        """The same with all that is declared of each row; and an order of rows by a hash of that.

        Rows with equal hashes are in the order of their values, and of the states of their entries where these are read
        (texts that are no numbers are missing values, in another state); rows that are equal in these are
        interchangeable.
        """
        table = self.view.schema.tables[self.instance.table]
        # A column that is a foreign key too is read as both: a number that is no key is still a number.
        declared = [(self.raw(name), isinstance(kind, Category)) for name, kind in table.columns.items()]
        declared += [(key_of(self.engine, name), True) for name in table.links]
        values: dict[str, exp.Expr] = {}
        texts: list[exp.Expr] = []
        for place, (value, is_text) in enumerate(declared):
            read = exp.column(f"d{place}", table=self.alias, quoted=True)
            values[read.name] = value if is_text else exp.cast(value, "double")
            part = read if is_text else self._rounded(read)
            known = exp.Not(this=exp.Is(this=read.copy(), expression=exp.Null()))
            text = exp.case().when(known, exp.cast(part.copy(), "text")).else_(literal(""))
            texts += [literal("|"), text]
        hashed = Selection(self.engine, self.view.schema).keyed_hash(*texts)
        columns = {**self._chosen, **values}
        rows = exp.select(*(exp.alias_(value, name, quoted=True) for name, value in columns.items()))
        ordered_by = [*values, *(name for name in self._chosen if name.startswith(_STATE))]
        order = [hashed, *(exp.column(name, table=self.alias, quoted=True) for name in ordered_by)]
        return rows.from_(self.engine.table()).subquery(self.alias), [
            exp.Ordered(this=item, nulls_first=False) for item in order
        ]

    def _rounded(self, number: exp.Expr) -> exp.Expr:
        """A finite double that is not NULL in parts of 2^-16: whole numbers have the same text in every engine."""
        most = 2.0**35
        inside = clamped(number, double_literal(-most), double_literal(most))
        return self.engine.nearest_multiple(inside, 2.0**-16)


def _led_table(place: int) -> exp.Table:
    """What the tables on the way to people are called before a query, from this place on."""
    return exp.Table(this=exp.to_identifier(f"dither_led_{place}"), alias=exp.TableAlias(this=exp.to_identifier(_LED)))


def _is_chosen() -> exp.Expr:
    """Whether a row of the tables on the way to people is the first of its key and person."""
    return exp.EQ(this=exp.column(_PLACE, table=_LED, quoted=True), expression=literal(1))


def _read_led(query: exp.Expr, led: Sequence[_JoinedTable]) -> None:
    """Read columns of the tables on the way to people from their chosen rows; those of queries inside stay."""
    aliases = {part.alias for part in led}
    for item in [item for item in query.find_all(exp.Column) if item.table in aliases]:
        if item.find_ancestor(exp.Subquery, exp.CTE) is None:
            item.replace(exp.column(f"{item.table}_{item.name}", table=_LED, quoted=True))


def _reads_view(select: exp.Select) -> bool:
    """Whether a query is about the view itself, and no query inside of it."""
    source = select.args.get("from_") or select.args.get("from")
    return source is not None and isinstance(source.this, exp.Table) and source.this.name in (VIEW, PART_OF_VIEW)


def _conjuncts(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that all must hold."""
    if isinstance(tree, exp.Paren):
        yield from _conjuncts(tree.this)
    elif isinstance(tree, exp.And):
        yield from _conjuncts(tree.this)
        yield from _conjuncts(tree.expression)
    else:
        yield tree


def key_of(engine: Engine, name: str) -> exp.Expr:
    """A key or foreign key as joins compare it: a text byte by byte, or a whole number of 64 bits; NULL if missing."""
    stored = engine.stored_types()[name]
    return engine.text(name, stored) if stored == "text" else engine.whole_key(name)


def repeats(engine: Engine, name: str) -> bool:
    """Whether any key occurs twice; missing ones do not count.  Private, unless the table is public.

    Files mostly have their rows in the order of their keys.  If each key is above that of the row before, in whatever
    order rows are read, then no two are equal, which takes no table of all keys.  Only the first row has none before
    it: a second such row would mean that rows were not read in one order, and keys are then grouped.
    """
    key, previous = exp.column("k"), exp.column("p")
    rows = exp.select(exp.alias_(key_of(engine, name), "k")).from_(engine.table()).subquery("t")
    keys = exp.select(key).from_(rows).where(exp.Not(this=exp.Is(this=key.copy(), expression=exp.Null())))
    number = exp.Count(this=exp.Star())
    if engine.has_running_windows:
        before = exp.Window(this=exp.Lag(this=key.copy()), over="OVER")
        pairs = keys.select(exp.alias_(before, "p")).subquery("pairs")
        rises = exp.case().when(exp.GT(this=key.copy(), expression=previous), literal(1)).else_(literal(0))
        others = exp.select(number.copy()).from_(pairs).where(exp.EQ(this=rises, expression=literal(0)))  # (the first)
        if int(engine.rows(others)[0][0]) <= 1:
            return False
    twice = exp.GT(this=number.copy(), expression=literal(1))
    repeated = keys.group_by(key.copy()).having(twice).limit(1).subquery("repeated")
    return int(engine.rows(exp.select(number).from_(repeated))[0][0]) > 0


def _stored_type(declared: ColumnType) -> str:
    if isinstance(declared, Category):
        return "text"
    if isinstance(declared, Date):
        return "date"
    return "boolean" if isinstance(declared, Boolean) else "real"
