"""What a question reads instead of one table: linked tables joined along their keys, and columns that are computed.

A view is public: it follows from the schema and the question alone.  Its rows are those of one private table, the
facts, each with what its keys lead to; the person of a row is the one that its keys lead to.  Everything behind it
reads a view as a table with a column that tells people apart.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dither.errors import InvalidArgument
from dither.plain import Json
from dither.sources.expressions import Expression, Unreadable, declared_as, expression_of, is_arithmetic
from dither.sources.linked_tables import Instance, LinkedTable, names_of_columns, owner_link
from dither.sources.schema import Schema

LONGEST = 1000
"""Longer texts are no expressions."""


@dataclass(frozen=True)
class View:
    """Which tables are joined, what their columns are called, and which columns are computed."""

    instances: tuple[Instance, ...]
    """The facts first, and each of the others behind the one that refers to it."""
    columns: Mapping[str, tuple[str, str]]
    """The instance and the column in it that a name stands for."""
    unit: tuple[str, str] | None = None
    """The instance and the column in it that tell people apart."""
    computed: Mapping[str, Expression] = field(default_factory=dict)

    def form(self, used: Iterable[str]) -> list[Json]:
        """What the ledger keeps of it: which rows of which tables are read, and as what some names are read."""
        joined: list[Json] = [[item.table, item.child, item.column, item.name] for item in self.instances]
        read: dict[str, Json] = {name: list(self.columns[name]) for name in used if name in self.columns}
        return [joined, read, list(self.unit or ())]

    def leaves(self, name: str) -> list[str]:
        """The columns of which a computed column is made; none of any other."""
        return list(self.computed[name].columns()) if name in self.computed else []


# --- joins of linked tables -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Joined:
    """One condition of a join: a foreign key of one instance is the key of another."""

    child: str
    column: str
    parent: str


def linked_by(
    tables: Mapping[str, LinkedTable], one: tuple[str, str, str], other: tuple[str, str, str]
) -> Joined | None:
    """The link that makes two columns equal; each is (instance, table, column).  None if none is declared."""
    for (child, table, column), (parent, target, key) in ((one, other), (other, one)):
        if tables[table].links.get(column) == target and tables[target].key == key:
            return Joined(child, column, parent)
    return None


def joined_view(schema: Schema, named: Mapping[str, str], joins: Sequence[Joined]) -> Schema:
    """The schema of a join.  named: the table of every instance; joins: its conditions.

    Errors are about the argument "tables" and name an instance.
    """
    tables = schema.tables
    parents: dict[str, Joined] = {}
    for join in joins:
        if join.parent in parents and parents[join.parent] != join:
            raise InvalidArgument(
                "tables",
                join.parent,
                f"rows of {parents[join.parent].child} and of {join.child} both refer to it, so a join would have "
                "every pair of them: ask about one of the two",
            )
        parents[join.parent] = join
    facts = [name for name in named if name not in parents]
    if len(facts) != 1:
        private = [name for name in facts if not tables[named[name]].public] or facts
        raise InvalidArgument(
            "tables",
            facts[-1],
            f"{facts[-1]} is not joined with {private[0]}: join them along declared keys, {_keys(tables)}",
        )
    _check_private(schema, named, facts[0])
    ordered = _ordered(facts[0], named, parents)
    instances, unit = _to_person(schema, ordered)
    places = _named_columns(schema, named)
    columns = {name: tables[named[instance]].columns[column] for name, (instance, column) in places.items()}
    return replace(schema, columns=columns, view=View(instances, places, unit))


def _keys(tables: Mapping[str, LinkedTable]) -> str:
    listed = [
        f"{name}.{column} = {target}.{tables[target].key}"
        for name, table in tables.items()
        for column, target in table.links.items()
    ]
    return ", ".join(listed) or "of which there are none"


def _check_private(schema: Schema, named: Mapping[str, str], facts: str) -> None:
    tables = schema.tables
    if tables[named[facts]].public:
        raise InvalidArgument("tables", facts, "this table is public: read it as it is, or join it with rows of people")
    for table, times in Counter(named.values()).items():
        if times > 1 and not tables[table].public:
            raise InvalidArgument(
                "tables",
                [name for name in named if named[name] == table][-1],
                f"a join of {table} with itself has rows of two people, and no rule for whose they are: name it once",
            )


def _ordered(facts: str, named: Mapping[str, str], parents: Mapping[str, Joined]) -> list[Instance]:
    ordered = [Instance(facts, named[facts])]
    for here in ordered:
        ordered += [
            Instance(name, named[name], join.child, join.column)
            for name, join in parents.items()
            if join.child == here.name
        ]
    for name in named:
        if name not in {item.name for item in ordered}:
            raise InvalidArgument("tables", name, f"is not joined with {facts}")
    return ordered


def _to_person(schema: Schema, instances: list[Instance]) -> tuple[tuple[Instance, ...], tuple[str, str]]:
    """The instances, with those that are needed to know whose a row is; and where its person stands."""
    tables, here, listed = schema.tables, instances[0], list(instances)
    while (link := owner_link(tables, here.table)) is not None:
        column, target = link
        known = next((item for item in listed if (item.child, item.column) == (here.name, column)), None)
        if known is None and target == schema.person:
            # The foreign key says who it is.
            return tuple(listed), (here.name, column)
        if known is None:
            # Under a name that no statement can give it.
            known = Instance(f".{target}", target, here.name, column)
            listed.append(known)
        here = known
    return tuple(listed), (here.name, str(tables[here.table].key))


def person_columns(schema: Schema) -> list[tuple[str, str]]:
    """The instances and the columns in them that hold the person of a row of a join: its key, and what refers to it."""
    view = schema.view
    if view is None or view.unit is None:
        return []
    here = next(item for item in view.instances if item.name == view.unit[0])
    refers = here.table == schema.person and here.child is not None and here.column is not None
    return [view.unit, *([(str(here.child), str(here.column))] if refers else [])]


def _named_columns(schema: Schema, named: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """What the columns of instances are called: as in the schema, or by their instance where a table stands twice."""
    called, times = names_of_columns(schema.tables), Counter(named.values())
    return {
        called[table, column] if times[table] == 1 else f"{instance}.{column}": (instance, column)
        for instance, table in named.items()
        for column in schema.tables[table].columns
    }


def view_of_columns(schema: Schema, names: Iterable[str]) -> Schema:
    """The schema of the join that the columns of a question need; of rows without columns, the table of people."""
    called = {name: origin for origin, name in names_of_columns(schema.tables).items()}
    wanted = list(dict.fromkeys(called[name][0] for name in names if name in called)) or [str(schema.person)]
    ways = {start: [_ways(schema.tables, start, goal) for goal in wanted] for start in wanted}
    facts = next((start for start in wanted if all(ways[start])), None)
    if facts is None:
        raise InvalidArgument(
            "column",
            ", ".join(name for name in names if name in called),
            f"are columns of {' and '.join(wanted)}, none of which refers to all others: ask about one of them",
        )
    joins: list[Joined] = []
    for goal, several in zip(wanted, ways[facts], strict=True):
        if len(several) > 1:
            raise InvalidArgument("column", goal, f"keys lead there from {facts} in several ways: join them in SQL")
        joins += [join for join in several[0] if join not in joins]
    named = dict.fromkeys((facts, *(name for join in joins for name in (join.child, join.parent))))
    return joined_view(schema, {name: name for name in named}, joins)


def _ways(
    tables: Mapping[str, LinkedTable], start: str, goal: str, known: dict[str, list[list[Joined]]] | None = None
) -> list[list[Joined]]:
    """Ways along links from one table to another, at most two of them."""
    known = {goal: [[]]} if known is None else known
    if start not in known:
        ways = (
            [Joined(start, column, target), *rest]
            for column, target in tables[start].links.items()
            for rest in _ways(tables, target, goal, known)
        )
        known[start] = list(itertools.islice(ways, 2))
    return known[start]


def is_named(identifier: exp.Identifier, name: str) -> bool:
    """Whether an identifier means this name: quoted ones to the letter."""
    given = str(identifier.this)
    return given == name or (not identifier.quoted and given.lower() == name.lower())


# --- computed columns -------------------------------------------------------------------------------------------------


def with_computed(schema: Schema, names: Iterable[str | None]) -> Schema:
    """The schema with columns for those names that are arithmetic on others, such as ``price * (1 - discount)``."""
    result = schema
    for name in names:
        if isinstance(name, str) and name not in result.columns:
            expression = parsed_expression(name, result)
            if expression is not None:
                result = computing(result, expression, name)
    return result


def computing(schema: Schema, expression: Expression, name: str | None = None) -> Schema:
    """The schema with a column that is computed, under its own form unless it has another name."""
    called = str(expression) if name is None else name
    if called in schema.columns:
        return schema
    leaves = {item: schema.column(item) for item in expression.columns()}
    declared = declared_as(expression, leaves)
    if schema.tables and schema.view is None:  # which tables are joined is not known yet
        return replace(schema, columns={**schema.columns, called: declared})
    view = schema.view or _whole(schema)
    return replace(
        schema,
        columns={**schema.columns, called: declared},
        view=replace(view, computed={**view.computed, called: expression}),
    )


def _whole(schema: Schema) -> View:
    """The view of one table as it is."""
    named = schema.name
    unit = None if schema.unit is None else (named, schema.unit)
    return View((Instance(named, named),), {name: (named, name) for name in schema.columns}, unit)


def parsed_expression(text: str, schema: Schema) -> Expression | None:
    """The arithmetic that a text is; None where it is none, or names no declared columns."""
    if len(text) > LONGEST:
        return None
    try:
        tree = sqlglot.parse_one(text, dialect="duckdb")
        if not is_arithmetic(tree):
            return None
        return expression_of(tree, lambda node: _declared(node, schema))
    except (SqlglotError, RecursionError, ValueError, ArithmeticError, LookupError, Unreadable):
        return None


def _declared(node: exp.Column, schema: Schema) -> str:
    table = node.args.get("table")
    name = node.name if table is None else f"{table.name}.{node.name}"
    if name not in schema.columns:
        raise Unreadable(node, "unknown column")
    return name
