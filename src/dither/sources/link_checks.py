"""What an owner wants to know of linked tables: keys that lead nowhere or repeat, and rows of one person.

Exact and NOT private: for the owner's own eyes.  Everything is counted inside the engine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sqlglot import exp

from dither.sources.engines.engine import Engine
from dither.sources.engines.factory import engine_over
from dither.sources.engines.views import ViewEngine, key_of
from dither.sources.predicates import literal
from dither.sources.schema import Schema
from dither.sources.views import joined_view

SHARES = (0.5, 0.9, 0.99)


@dataclass(frozen=True)
class LinkFigures:
    """One foreign key: how many rows have none, and how many have one that leads nowhere."""

    table: str
    column: str
    target: str
    rows: int
    missing: int
    orphans: int


@dataclass(frozen=True)
class KeyFigures:
    """One key: how many of its values occur more than once, and how many of these are of several people."""

    table: str
    column: str
    repeated: int
    shared: int | None
    """None where it is not a person's foreign key that stands beside it."""


@dataclass(frozen=True)
class PersonFigures:
    """Rows of one person in one table: quantiles over people, the most, and how many have more than are used."""

    table: str
    people: int
    quantiles: tuple[int, ...]
    most: int
    beyond: int


def link_figures(schema: Schema, engine: ViewEngine) -> list[LinkFigures]:
    """NOT private: of every link."""
    figures = []
    for name, table in schema.tables.items():
        for column, target in table.links.items():
            child, parent = engine.table_engine(name), engine.table_engine(target)
            key = str(schema.tables[target].key)
            as_text = child.stored_types()[column] != parent.stored_types()[key]
            rows = exp.select(exp.alias_(_key(child, column, as_text), "f")).from_(child.table()).subquery("c")
            known = (
                exp.select(exp.alias_(_key(parent, key, as_text), "k")).distinct().from_(parent.table()).subquery("p")
            )
            query = (
                exp.select(exp.Count(this=exp.Star()), exp.Count(this=exp.column("f")), exp.Count(this=exp.column("k")))
                .from_(rows)
                .join(known, on=exp.EQ(this=exp.column("f"), expression=exp.column("k")), join_type="left")
            )
            total, filled, found = (int(number) for number in child.rows(query)[0])
            figures.append(LinkFigures(name, column, target, total, total - filled, filled - found))
    return figures


def key_figures(schema: Schema, engine: ViewEngine) -> list[KeyFigures]:
    """NOT private: of every key of a private table."""
    figures = []
    for name, table in schema.tables.items():
        if table.public or table.key is None:
            continue
        own = engine.table_engine(name)
        foreign = next((column for column, target in table.links.items() if target == schema.person), None)
        columns = [exp.alias_(key_of(own, table.key), "k")]
        if foreign is not None:
            columns.append(exp.alias_(key_of(own, foreign), "f"))
        rows = exp.select(*columns).from_(own.table()).subquery("t")
        people = exp.Count(this=exp.Distinct(expressions=[exp.column("f")])) if foreign is not None else literal(1)
        several = (
            exp.select(exp.alias_(people, "n"))
            .from_(rows)
            .where(exp.Not(this=exp.Is(this=exp.column("k"), expression=exp.Null())))
            .group_by(exp.column("k"))
            .having(exp.GT(this=exp.Count(this=exp.Star()), expression=literal(1)))
        )
        more = exp.case().when(exp.GT(this=exp.column("n"), expression=literal(1)), literal(1))
        query = exp.select(exp.Count(this=exp.Star()), exp.Count(this=more)).from_(several.subquery("s"))
        repeated, shared = (int(number) for number in own.rows(query)[0])
        figures.append(KeyFigures(name, table.key, repeated, None if foreign is None else shared))
    return figures


def person_figures(schema: Schema, engine: ViewEngine) -> list[PersonFigures]:
    """NOT private: how many rows one person has in every private table."""
    figures = []
    for name, table in schema.tables.items():
        if table.public:
            continue
        view = engine_over(engine, joined_view(schema, {name: name}, []))
        person = view.person("", "")
        own = (
            exp.select(exp.alias_(exp.Count(this=exp.Star()), "n"))
            .from_(view.table())
            .where(exp.Not(this=exp.Is(this=person.copy(), expression=exp.Null())))
            .group_by(person)
        )
        query = exp.select(exp.column("n"), exp.Count(this=exp.Star())).from_(own.subquery("people")).group_by("n")
        counts = sorted((int(rows), int(people)) for rows, people in view.rows(query))
        total = sum(people for _, people in counts)
        limit = schema.rows_per_unit
        figures.append(
            PersonFigures(
                name,
                total,
                tuple(_quantile(counts, total, share) for share in SHARES),
                counts[-1][0] if counts else 0,
                sum(people for rows, people in counts if isinstance(limit, int) and rows > limit),
            )
        )
    return figures


def _quantile(counts: list[tuple[int, int]], total: int, share: float) -> int:
    left = math.ceil(share * total)
    for rows, people in counts:
        left -= people
        if left <= 0:
            return rows
    return 0


def _key(engine: Engine, name: str, as_text: bool) -> exp.Expr:
    return exp.cast(key_of(engine, name), "text") if as_text else key_of(engine, name)
