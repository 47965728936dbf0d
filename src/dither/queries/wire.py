"""Queries as JSON, from the registry: ``to_json`` and ``from_json`` for servers and clients, ``catalogue`` for forms.

In JSON a query is an object with its public name as ``kind`` and those of its fields that are not their defaults.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dither.errors import InvalidArgument, suggested
from dither.plain import Given, finite_number, plain, without_contents
from dither.queries.query import Field, Query
from dither.queries.registry import GROUPS, Menu, QueryEntry, SourceType, dataclass_fields, entries, entry_of
from dither.typing import Json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from dither.borders import Model

OF_TABLES: tuple[SourceType, ...] = ("column", "columns", "table")


def served() -> Mapping[str, QueryEntry]:
    """The queries that servers answer, by their public names."""
    return {name: entry for name, entry in entries().items() if entry.has("http")}


def served_of(*sources: SourceType) -> tuple[str, ...]:
    """The names of the queries that servers answer about sources of these types."""
    return tuple(name for name, item in served().items() if item.of in sources)


def to_json(query: Query) -> dict[str, Json]:
    """A query as a client sends it."""
    entry = entry_of(query)
    if not entry.has("client"):
        raise InvalidArgument("query", entry.name, f"{entry.without['client']}: ask it here")
    given = {name: plain(parameter, finite_number) for name, parameter in query.parameters().items()}
    unknown = [name for name in given if name not in entry.parameters]
    if unknown:
        raise InvalidArgument(
            unknown[0], without_contents(given[unknown[0]]), f"is not sent to a server with {entry.name}: leave it out"
        )
    return {"kind": entry.name, **given}


def from_json(payload: Json) -> Query:
    """The query that a JSON value describes; strictly: no other fields, no other types."""
    from dither import borders

    built: Query = borders.read_with(_reader().validate_python, payload, "query")
    return built


@functools.cache
def _reader() -> TypeAdapter[Query]:
    from pydantic import TypeAdapter

    return TypeAdapter(query_type())


@functools.cache
def query_type() -> Any:  # type forms of pydantic
    """The type of queries in JSON for models (``dither.borders``), read into query objects."""
    from dither import borders

    models = {name: _model(item) for name, item in served().items()}

    def sentence(given: Given) -> str:
        return f"must be one of {', '.join(sorted(models))}{suggested(given, models)}"

    return borders.followed(borders.tagged("kind", models, sentence), _query)


def _model(entry: QueryEntry) -> type[Model]:
    """The model of one query: its name as ``kind``, and its parameters."""
    from dither import borders

    needed = required(entry)
    fields: dict[str, Any] = {  # type forms of pydantic
        name: (parameter.accepts(), ...) if name in needed else (parameter.accepts() | None, None)
        for name, parameter in entry.parameters.items()
    }
    return borders.model(entry.query.__name__, kind=(borders.choice(entry.name), ...), **fields)


def _query(model: Any) -> Query:  # of a model that was made here, with a field for each parameter
    given = {name: getattr(model, name) for name in served()[model.kind].parameters}
    return served()[model.kind].query.from_parameters(
        {name: argument for name, argument in given.items() if argument is not None}
    )


def required(entry: QueryEntry) -> tuple[str, ...]:
    """The fields that JSON must name."""
    return tuple(name for name, parameter in entry.parameters.items() if parameter.is_needed or name in entry.needed)


@functools.cache
def catalogue() -> list[dict[str, Json]]:
    """Everything that a form needs to offer the queries: names, labels, groups, fields, columns, SQL."""
    offered = [item for item in served().values() if item.menu is not None]
    return [_described(item) for item in sorted(offered, key=_place)]


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
        "class": entry.query.__name__,
        "noun": entry.query.noun,
        "picture": menu.picture,
        "of": entry.of,
        "columns": list(entry.column_types),
        "selections": list(entry.query.selections()),
        "instead": entry.query.instead,
        "named": [column.field for column in entry.columns],
        "fields": [
            {
                "name": name,
                "type": parameter.type,
                "label": parameter.label,
                "help": parameter.help,
                "required": name in needed,
                "advanced": parameter.is_advanced,
                "default": plain(default_of(entry, name)),
                "example": parameter.example,
                **parameter.facts(),
            }
            for name, parameter in entry.parameters.items()
        ],
        "sql": [
            {
                "function": function.function,
                "arguments": function.arguments,
                "fixed": plain(function.fixed),
                "star": function.star,
                "within": function.within,
            }
            for function in entry.functions
        ],
    }


def default_of(entry: QueryEntry, name: str) -> Field:
    """The default of a field; None if it has none."""
    results = [field.default for field in dataclass_fields(entry.query) if field.name == name]
    return results[0] if results and results[0] is not dataclasses.MISSING else None
