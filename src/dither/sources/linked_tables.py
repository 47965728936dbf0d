"""Linked tables: keys, foreign keys, the table of people and public lookups; all of it declared, none of it read.

Every row of a private table belongs to the person that its keys lead to, link by link; a link goes from a foreign key
to the key of one other table.  What is refused here is refused by the declaration alone.  What keys hold is the affair
of records: an inner join drops what leads nowhere, and whose a row is follows from keys (docs/proofs/linked_tables.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from dither.errors import InvalidArgument, suggested
from dither.sources.lines import USUAL, TextLayout
from dither.sources.types import ColumnType

MOST_TABLES = 64


@dataclass(frozen=True)
class LinkedTable:
    """One of several tables: where it is, its columns, its key, and which tables its foreign keys refer to.

    ``links`` maps foreign keys to the tables whose keys they hold.  ``public``: everybody may know the whole table (a
    list of nations, of products); any other table holds rows of people.

    >>> from dither.sources.types import Real
    >>> LinkedTable("orders.parquet", {"price": Real(0, 1000)}, key="number", links={"customer": "customers"}).key
    'number'
    """

    source: Any = field(repr=False)  # an engine's own
    columns: Mapping[str, ColumnType] = field(default_factory=lambda: MappingProxyType({}))
    key: str | None = field(default=None, kw_only=True)
    links: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), kw_only=True)
    public: bool = field(default=False, kw_only=True)
    table: str | None = field(default=None, kw_only=True)
    engine: str | None = field(default=None, kw_only=True)
    layout: TextLayout = field(default=USUAL, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", dict(self.columns))
        object.__setattr__(self, "links", dict(self.links))


@dataclass(frozen=True)
class Instance:
    """A table as a question reads it, under a name of its own."""

    name: str
    table: str
    child: str | None = None
    """The instance whose foreign key refers to this one; None: its rows are those that the question is about."""
    column: str | None = None
    """That foreign key."""


def check_tables(tables: Mapping[str, LinkedTable], person: str | None) -> None:
    """Refuse declarations in which a row would belong to nobody, to two people, or nobody knows to whom."""
    _check_names(tables)
    known = f"must be one of the tables: {', '.join(tables)}"
    if person is None or person not in tables:
        raise InvalidArgument(
            "person", person, f"{known}{suggested(person, tables)}; the one with a row for each person"
        )
    if tables[person].public:
        raise InvalidArgument(f"tables.{person}.public", True, "the table of people is not public: leave it out")
    if tables[person].key is None:
        raise InvalidArgument(f"tables.{person}.key", None, "is missing: the column that tells people apart")
    for name, table in tables.items():
        for column, target in table.links.items():
            _check_link(tables, name, column, target, known)
    checked: set[str] = set()
    for name in tables:
        _check_ends(tables, (name,), checked)
    for name, table in tables.items():
        _check_owner(tables, name, table, person)


def _check_names(tables: Mapping[str, LinkedTable]) -> None:
    if not isinstance(tables, Mapping) or len(tables) > MOST_TABLES:
        raise InvalidArgument(
            "tables", type(tables), f"must be a mapping of at most {MOST_TABLES} names to LinkedTable"
        )
    for name, table in tables.items():
        if not isinstance(name, str) or not name or "." in name:
            raise InvalidArgument("tables", name, "must be names without dots")
        if not isinstance(table, LinkedTable):
            raise InvalidArgument(f"tables.{name}", type(table), "must be a LinkedTable(source, columns)")
        for column, declared in table.columns.items():
            if not isinstance(column, str) or not column or not isinstance(declared, ColumnType):
                raise InvalidArgument(f"tables.{name}.columns.{column}", column, "must be a type such as Real(0, 1)")
    for folded, times in Counter(name.lower() for name in tables).items():
        if times > 1:
            raise InvalidArgument("tables", folded, "two tables have this name, in other letters")


def _check_link(tables: Mapping[str, LinkedTable], name: str, column: str, target: str, known: str) -> None:
    argument = f"tables.{name}.links.{column}"
    if target not in tables:
        raise InvalidArgument(argument, target, f"{known}{suggested(target, tables)}")
    if target == name:
        raise InvalidArgument(
            argument, target, "a table that refers to itself has no rule for whose a row is: leave the link out"
        )
    if tables[target].key is None:
        raise InvalidArgument(argument, target, f"{target} has no key: declare the column that this one refers to")
    if tables[name].public and not tables[target].public:
        raise InvalidArgument(argument, target, f"{name} is public: it can't refer to rows of people")


def _check_ends(tables: Mapping[str, LinkedTable], way: tuple[str, ...], checked: set[str]) -> None:
    """Refuse a cycle of links: from the last table of a way on."""
    here = way[-1]
    for column, target in tables[here].links.items() if here not in checked else ():
        if target in way:
            cycle = " -> ".join((*way[way.index(target) :], target))
            raise InvalidArgument(f"tables.{here}.links.{column}", target, f"the links go round: {cycle}")
        _check_ends(tables, (*way, target), checked)
    checked.add(here)


def _check_owner(tables: Mapping[str, LinkedTable], name: str, table: LinkedTable, person: str) -> None:
    private = [column for column, target in table.links.items() if not tables[target].public]
    if name == person and private:
        raise InvalidArgument(
            f"tables.{name}.links.{private[0]}",
            table.links[private[0]],
            "the table of people refers to public ones only",
        )
    if name == person or table.public:
        return
    if not private:
        raise InvalidArgument(
            f"tables.{name}.links",
            dict(table.links),
            f"its rows belong to nobody: name the foreign key that leads to {person}, or write public = true if "
            "everybody may know the table",
        )
    if len(private) > 1:
        raise InvalidArgument(
            f"tables.{name}.links.{private[1]}",
            table.links[private[1]],
            f"a row would belong to two people, by {private[0]} and by {private[1]}: keep one of the links",
        )


def owner_link(tables: Mapping[str, LinkedTable], name: str) -> tuple[str, str] | None:
    """The foreign key of a private table that leads to its rows' people, and where; None of the people's own."""
    return next(((key, target) for key, target in tables[name].links.items() if not tables[target].public), None)


def names_of_columns(tables: Mapping[str, LinkedTable]) -> dict[tuple[str, str], str]:
    """What each declared column is called: by its name, or with its table before it where several tables have it."""
    times = Counter(column.lower() for table in tables.values() for column in table.columns)
    return {
        (name, column): column if times[column.lower()] == 1 and "." not in column else f"{name}.{column}"
        for name, table in tables.items()
        for column in table.columns
    }


def ownership(tables: Mapping[str, LinkedTable], person: str) -> Iterator[str]:
    """What tells people apart, as the ledger keeps it: the key, and the links that lead to it, column by column."""
    yield f"{person}.{tables[person].key}"
    for name in sorted(tables):
        link = None if tables[name].public else owner_link(tables, name)
        if link is not None:
            yield f"{name}.{link[0]} -> {link[1]}.{tables[link[1]].key}"
