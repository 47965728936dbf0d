"""The registry of queries: what exists, under which names, with which fields, and through which doors it is asked.

Everything that lists statistics is derived from here: SQL functions, the JSON of HTTP and of the remote client, the
parser of the command line, the page's menus, stored forms, the documentation's table and the audit's coverage.  A query
registers itself where it is defined; this module imports the modules that do (``load``), and nothing else knows them.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from dither.errors import InvalidArgument

SourceType: TypeAlias = Literal["column", "columns", "table", "graph", "weighted graph", "chain"]
"""What a query is asked of: one column, several, rows of a table, a graph, a graph with private weights."""
Door: TypeAlias = Literal["function", "session", "quote", "sql", "cli", "http", "page", "client"]
DOORS: tuple[Door, ...] = ("function", "session", "quote", "sql", "cli", "http", "page", "client")
Q = TypeVar("Q", bound=type)


@dataclass(frozen=True)
class Sql:
    """One function of SQL that stands for a query.

    ``arguments``: what follows the column, a field's name with how many numbers it takes: ``q`` one, ``trim?`` one or
    none, ``q+`` at least one, ``edges*`` any number, ``q[]`` one list in brackets.  ``form``: how it is written where
    that does not follow, such as ``count(*)``.
    """

    function: str
    arguments: str = ""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Fields that the function decides."""
    form: str | None = None
    star: bool = False
    """True if it is asked of ``*`` instead of a column."""
    within: bool = False
    """True if the column stands in WITHIN GROUP (ORDER BY column)."""


@dataclass(frozen=True)
class Menu:
    """Where the page offers a query: a group of the menu, and its label there."""

    group: str
    label: str


@dataclass(frozen=True)
class Entry:
    """One registered query."""

    name: str
    """Its public name: of the one-line function, in JSON, at the shell and in the ledger."""
    query: type
    of: SourceType
    sql: tuple[Sql, ...] = ()
    menu: Menu | None = None
    without: Mapping[Door, str] = field(default_factory=dict)
    """The doors that it does not have, each with the reason."""
    stored_as: str = ""
    """What version 0.1.0 called it in ledgers."""

    @functools.cached_property
    def fields(self) -> tuple[str, ...]:
        """The names of its parameters, the column or columns first."""
        return tuple(one.name for one in dataclasses.fields(self.query) if one.init)

    @functools.cached_property
    def needed(self) -> tuple[str, ...]:
        """The parameters without a default."""
        missing = dataclasses.MISSING
        return tuple(
            one.name
            for one in dataclasses.fields(self.query)
            if one.init and one.default is missing and one.default_factory is missing
        )

    def has(self, door: Door) -> bool:
        """Whether it can be asked through this door."""
        return door not in self.without


_ENTRIES: dict[str, Entry] = {}


def query(
    name: str,
    *,
    of: SourceType,
    sql: tuple[Sql, ...] = (),
    menu: Menu | None = None,
    without: Mapping[Door, str] | None = None,
    stored_as: str | None = None,
) -> Callable[[Q], Q]:
    """Registers the class that follows under its public name."""

    def registered(cls: Q) -> Q:
        known = _ENTRIES.get(name)
        if known is not None and (known.query.__module__, known.query.__qualname__) != (
            cls.__module__,
            cls.__qualname__,
        ):
            raise RuntimeError(f"two queries have the name {name!r}")
        cls.name = name  # type: ignore[attr-defined]
        _ENTRIES[name] = Entry(name, cls, of, sql, menu, dict(without or {}), stored_as or cls.__name__)
        return cls

    return registered


@functools.cache
def load() -> None:
    """Import every module of this package, so that all queries are registered."""
    package = importlib.import_module("dither.queries")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"dither.queries.{module.name}")


def entries() -> Mapping[str, Entry]:
    """Every registered query by its public name."""
    load()
    return _ENTRIES


def entry(name: str) -> Entry:
    """The query of a public name."""
    found = entries().get(name)
    if found is None:
        raise InvalidArgument("query", name, f"one of these is accepted: {', '.join(entries())}")
    return found


def entry_of(asked: object) -> Entry:
    """The entry of a query object."""
    found = entries().get(getattr(type(asked), "name", ""))
    if found is None or type(asked) is not found.query:
        raise InvalidArgument("query", type(asked), 'a query object such as Median("total_pay") is accepted')
    return found
