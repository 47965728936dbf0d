"""Which engine a source belongs to."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dither.errors import InvalidArgument, InvalidText
from dither.sources.engines.engine import Engine
from dither.sources.engines.views import ViewEngine, repeats
from dither.sources.lines import USUAL, TextLayout
from dither.sources.schema import Schema
from dither.sources.types import Boolean, ColumnType


@dataclass(frozen=True)
class EngineEntry:
    """One engine: its class, in the module of its own name, and which sources are its own."""

    class_name: str
    addresses: tuple[str, ...] = ()
    """What the texts of its sources begin with; none: it reads files."""
    suffixes: tuple[str, ...] = ()
    """How the names of its files end, in small letters, where another engine than the first reads them."""
    reads_lines: bool = False
    """Whether some of its files are texts: then it takes ``layout``."""
    objects: tuple[str, ...] = ()
    """The packages whose objects it reads."""
    is_served: bool = True
    """Whether a server may open its sources: not where a source may name any path of the machine."""

    @property
    def reads_files(self) -> bool:
        """Whether its sources are paths of files."""
        return not self.addresses


ENGINES = {
    "duckdb": EngineEntry("DuckDB", reads_lines=True),
    "postgres": EngineEntry("Postgres", addresses=("postgresql://", "postgres://")),
    "spark": EngineEntry("Spark", addresses=("spark",), objects=("pyspark",), is_served=False),
    "sqlite": EngineEntry("SQLite", suffixes=(".sqlite", ".sqlite3")),
}
"""All engines by name; the first reads what no other one does."""


def engine_for(schema: Schema) -> Engine:
    """Open the source of a schema, and check that its columns are what the schema says they are."""
    if schema.tables:
        return _linked(schema)
    engine = _engine(schema)
    check(schema, engine)
    return engine


def _linked(schema: Schema) -> Engine:
    """The engine of linked tables: one for each of them, in one connection."""
    names = {name: linked_engine(schema, name) for name in schema.tables}
    first = next(iter(schema.tables))
    for name, engine in names.items():
        if engine != names[first]:
            raise InvalidArgument(
                f"tables.{name}.source", engine, f"all tables must be of one engine, and {first} is of {names[first]}"
            )
    engines: dict[str, Engine] = {}

    def opened(name: str) -> Engine:
        with _about_table(name):
            return _engine(table_schema(schema, name), next(iter(engines.values()), None))

    for name in schema.tables:
        engines[name] = opened(name)
    for name in schema.tables:
        with _about_table(name):
            _check_columns(schema.tables[name].columns, engines[name])
    _check_keys(schema, engines)
    _check_public_keys(schema, engines)
    return ViewEngine(engines, schema, opened)


def linked_engine(schema: Schema, name: str) -> str:
    """The name of the engine of one linked table."""
    table = schema.tables[name]
    return table.engine or guessed(_expanded(table.source) if isinstance(table.source, str) else table.source)


def table_schema(schema: Schema, name: str) -> Schema:
    """One of the linked tables by itself."""
    item = schema.tables[name]
    return Schema(
        item.source,
        item.columns or {"undeclared": Boolean()},
        name,
        table=item.table,
        engine=item.engine,
        folder=schema.folder,
        layout=item.layout,
        version=schema.version,
    )


@contextlib.contextmanager
def _about_table(name: str) -> Iterator[None]:
    """Errors about a source are about that of this table."""
    try:
        yield
    except InvalidText:
        raise
    except InvalidArgument as error:
        problem = InvalidArgument(f"tables.{name}.{error.argument}", error.given, error.rule)
    else:
        return
    raise problem


def _check_keys(schema: Schema, engines: Mapping[str, Engine]) -> None:
    """Keys and foreign keys are there, and of types that can be compared record by record: public facts only."""
    for name, table in schema.tables.items():
        types = engines[name].stored_types()
        for argument, column in (
            *((("key", table.key),) if table.key is not None else ()),
            *((f"links.{column}", column) for column in table.links),
        ):
            place = f"tables.{name}.{argument}"
            if column not in types:
                raise InvalidArgument(place, column, engines[name].absent_column())
            if types[column] not in ("whole", "text"):
                raise InvalidArgument(place, column, f"must be a column of texts or whole numbers, not {types[column]}")


def _check_public_keys(schema: Schema, engines: Mapping[str, Engine]) -> None:
    """The keys of public tables, which everybody may know, tell their rows apart."""
    for name, table in schema.tables.items():
        if not table.public or table.key is None:
            continue
        if repeats(engines[name], table.key):
            raise InvalidArgument(
                f"tables.{name}.key", table.key, "this key repeats in the public table: rows would be counted twice"
            )


def _engine(schema: Schema, beside: Engine | None = None) -> Engine:
    """beside: an engine of the same kind, with whose tables this one's are joined."""
    source = _expanded(schema.source) if isinstance(schema.source, str) else schema.source
    name = schema.engine or guessed(source)
    if name not in ENGINES:
        raise InvalidArgument("engine", name, f"must be one of {', '.join(ENGINES)}")
    entry = ENGINES[name]
    if entry.reads_files and isinstance(source, (str, Path)) and schema.folder is not None:
        source = Path(schema.folder) / source
    if schema.layout != USUAL and not (entry.reads_lines and isinstance(source, (str, Path))):
        first = next(iter(schema.layout.options))
        raise InvalidArgument(first, schema.layout.options[first], "is for text files: leave it out")
    options = {"layout": schema.layout} if entry.reads_lines else {}
    made = getattr(importlib.import_module(f"{__package__}.{name}"), entry.class_name)
    opened: Engine = made(source, schema.table, **options, **({} if beside is None else {"beside": beside}))
    return opened


def guessed(source: Any) -> str:  # a path, an address, or a frame of any library
    """The engine that a source looks like."""
    for name, entry in ENGINES.items():
        if isinstance(source, (str, Path)):
            is_address = isinstance(source, str) and source.startswith(entry.addresses)
            if is_address or str(source).lower().endswith(entry.suffixes):
                return name
        elif type(source).__module__.startswith(entry.objects):
            return name
    return next(iter(ENGINES))


def _expanded(source: str) -> str:
    """``${NAME}`` stands for an environment variable, so that passwords need not stand in a schema."""

    def variable(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise InvalidArgument("source", match[0], "must be the name of an environment variable that is set")
        return os.environ[match[1]]

    return re.sub(r"\$\{(\w+)\}", variable, source)


def engine_over(engine: Engine, schema: Schema) -> Engine:
    """The engine of what a question reads: the table itself, or a view of it or of linked tables."""
    if schema.view is None:
        return engine
    if isinstance(engine, ViewEngine):
        return engine.over(schema)
    return ViewEngine({schema.view.instances[0].table: engine}, schema, lambda _: engine)


def check(schema: Schema, engine: Engine) -> None:
    """Compare declared and stored types: public facts only."""
    _check_columns(schema.columns, engine)
    stored_types = engine.stored_types()
    if schema.unit is not None and schema.unit not in stored_types:
        raise InvalidArgument("unit", schema.unit, engine.absent_column())
    if schema.unit in engine.moments:
        raise InvalidArgument(
            "unit", schema.unit, "must be a column of texts, whole numbers or dates, not of moments in time"
        )
    if schema.unit is not None and stored_types[schema.unit] not in ("whole", "text", "date", "timestamp", "boolean"):
        raise InvalidArgument(
            "unit", schema.unit, f"must be a column that tells people apart, not {stored_types[schema.unit]}"
        )


def _check_columns(columns: Mapping[str, ColumnType], engine: Engine) -> None:
    stored_types = engine.stored_types()
    for name, declared in columns.items():
        if name not in stored_types:
            raise InvalidArgument(f"columns.{name}", name, engine.absent_column())
        if name in engine.unreadable:
            raise InvalidArgument(f"columns.{name}", declared.type_name, engine.unreadable[name])
        if stored_types[name] not in declared.sources or (
            stored_types[name] == "text"
            and declared.type_name != "category"
            and not engine.casts_text
            and not declared.reads_text
        ):
            span = 'declare type = "duration", whose bounds are seconds'
            usual = span if stored_types[name] == "duration" else "declare that"
            instead = _of_texts(declared) if stored_types[name] == "text" else usual
            raise InvalidArgument(
                f"columns.{name}",
                declared.type_name,
                f"is of another type than the source, which stores {stored_types[name]}: {instead}",
            )


def _of_texts(declared: ColumnType) -> str:
    """What to write for a column of texts that is declared as something else."""
    times = {"date": "%d.%m.%Y", "timestamp": "%d.%m.%Y %H:%M:%S", "duration": "%H:%M:%S"}
    formats = times | dict.fromkeys(("real", "integer", "decimal"), "1,234.56")
    if declared.type_name not in formats:
        return "declare a category, or store numbers"
    return f'say how they are written, such as format = "{formats[declared.type_name]}", or declare a category'


def engine_of(
    source: Any,  # a path, an address, or a frame of any library
    *,
    table: str | None = None,
    engine: str | None = None,
    folder: str | None = None,
    layout: TextLayout = USUAL,
) -> Engine:
    """The engine of a source whose columns are not declared yet: for owners who draft a schema."""
    undeclared = {"undeclared": Boolean()}
    return _engine(Schema(source, undeclared, table=table, engine=engine, folder=folder, layout=layout))
