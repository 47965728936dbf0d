"""Queries as JSON, from the registry: ``to_json`` and ``from_json`` for servers and clients, ``catalogue`` for forms.

In JSON a query is an object with its public name as ``kind`` and those of its fields that are not their defaults.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import cast

from dither.errors import InvalidArgument, UnknownField
from dither.plain import finite_number, plain
from dither.queries.parameters import Written, without_contents
from dither.queries.query import Field, Query
from dither.queries.registry import GROUPS, Menu, QueryEntry, SourceType, dataclass_fields, entries, entry_of
from dither.typing import Json

OF_TABLES: tuple[SourceType, ...] = ("column", "columns", "table")


def served() -> Mapping[str, QueryEntry]:
    """The queries that servers answer, by their public names."""
    return {name: one for name, one in entries().items() if one.has("http")}


def served_of(*sources: SourceType) -> tuple[str, ...]:
    """The names of the queries that servers answer about sources of these types."""
    return tuple(name for name, one in served().items() if one.of in sources)


def to_json(query: Query) -> dict[str, Json]:
    """A query as a client sends it."""
    entry = entry_of(query)
    if not entry.has("client"):
        raise InvalidArgument("query", entry.name, f"{entry.without['client']}: ask it here")
    given = {name: plain(one, finite_number) for name, one in query.parameters().items()}
    unknown = [name for name in given if name not in entry.parameters]
    if unknown:
        raise InvalidArgument(
            unknown[0], without_contents(given[unknown[0]]), f"is not sent to a server with {entry.name}: leave it out"
        )
    return {"kind": entry.name, **given}


def from_json(payload: Written) -> Query:
    """The query that a JSON value describes; strictly: no other fields, no other types."""
    name = payload.get("kind") if isinstance(payload, dict) else type(payload)
    entry = served().get(name) if isinstance(name, str) else None
    if entry is None or not isinstance(payload, dict):
        raise InvalidArgument("query.kind", without_contents(name), f"must be one of {', '.join(served())}")
    for field in payload:
        if field != "kind" and field not in entry.parameters:
            raise UnknownField(f"query.{field}", ("kind", *entry.parameters))
    given = {
        field: parameter.read(f"query.{field}", payload[field])
        for field, parameter in entry.parameters.items()
        if payload.get(field) is not None
    }
    for field in required(entry):
        if field not in given:
            raise InvalidArgument(f"query.{field}", None, f"is missing: {entry.name} needs it")
    return entry.query.from_parameters(given)


def required(entry: QueryEntry) -> tuple[str, ...]:
    """The fields that JSON must name."""
    return tuple(name for name, parameter in entry.parameters.items() if parameter.is_needed or name in entry.needed)


def schema_of(entry: QueryEntry) -> dict[str, Json]:
    """The JSON Schema of a query's fields."""
    return {name: parameter.schema() for name, parameter in entry.parameters.items()}


@functools.cache
def catalogue() -> list[dict[str, Json]]:
    """Everything that a form needs to offer the queries: names, labels, groups, fields, columns, SQL."""
    offered = [one for one in served().values() if one.menu is not None]
    return [_described(one) for one in sorted(offered, key=_place)]


def _place(entry: QueryEntry) -> tuple[int, int, str]:
    """Where a menu has it: groups in the order of ``GROUPS``, and in each the most common queries first."""
    menu = entry.menu or Menu("", "")
    return GROUPS.index(menu.group) if menu.group in GROUPS else len(GROUPS), menu.place, menu.label


def _described(entry: QueryEntry) -> dict[str, Json]:
    menu, needed = entry.menu, required(entry)
    if menu is None:
        raise RuntimeError(f"{entry.name} is on no menu")
    return {
        "name": entry.name,
        "label": menu.label,
        "group": menu.group,
        "help": (entry.query.__doc__ or "").strip().split("\n")[0],
        "of": entry.of,
        "columns": list(entry.column_types),
        "named": [one.field for one in entry.columns],
        "fields": [
            {
                "name": name,
                "type": one.type,
                "label": one.label,
                "help": one.help,
                "required": name in needed,
                "advanced": one.is_advanced,
                "default": plain(default_of(entry, name)),
                "example": cast("Json", one.example),
                **one.facts(),
            }
            for name, one in entry.parameters.items()
        ],
        "sql": [
            {
                "function": one.function,
                "arguments": one.arguments,
                "fixed": plain(one.fixed),
                "star": one.star,
                "within": one.within,
            }
            for one in entry.functions
        ],
    }


def default_of(entry: QueryEntry, name: str) -> Field:
    """The default of a field; None if it has none."""
    found = [one.default for one in dataclass_fields(entry.query) if one.name == name]
    return found[0] if found and found[0] is not dataclasses.MISSING else None
