"""Which engine a source belongs to."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from dither.errors import InvalidArgument
from dither.sources.engines.engine import Engine
from dither.sources.schema import Schema
from dither.sources.types import Boolean

ENGINES = ("duckdb", "postgres", "spark")
_POSTGRES = ("postgresql://", "postgres://")


def engine_for(schema: Schema) -> Engine:
    """Open the source of a schema, and check that its columns are what the schema says they are."""
    engine = _engine(schema)
    check(schema, engine)
    return engine


def _engine(schema: Schema) -> Engine:
    source = _expanded(schema.source) if isinstance(schema.source, str) else schema.source
    name = schema.engine or guessed(source)
    if name not in ENGINES:
        raise InvalidArgument("engine", name, f"must be one of {', '.join(ENGINES)}")
    if name == "postgres":
        from dither.sources.engines.postgres import Postgres  # noqa: PLC0415

        return Postgres(source, schema.table)
    if name == "spark":
        from dither.sources.engines.spark import Spark  # noqa: PLC0415

        return Spark(source, schema.table)
    from dither.sources.engines.duckdb import DuckDB  # noqa: PLC0415

    if isinstance(source, (str, Path)) and schema.folder is not None:
        source = Path(schema.folder) / source
    return DuckDB(source, schema.table)


def guessed(source: Any) -> str:  # a path, an address, or a frame of any library
    """The engine that a source looks like."""
    if isinstance(source, str):
        if source.startswith(_POSTGRES):
            return "postgres"
        return "spark" if source.startswith("spark") else "duckdb"
    return "spark" if type(source).__module__.startswith("pyspark") else "duckdb"


def _expanded(source: str) -> str:
    """``${NAME}`` stands for an environment variable, so that passwords need not stand in a schema."""

    def variable(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise InvalidArgument("source", match[0], "must be the name of an environment variable that is set")
        return os.environ[match[1]]

    return re.sub(r"\$\{(\w+)\}", variable, source)


def check(schema: Schema, engine: Engine) -> None:
    """Compare declared and stored types: public facts only."""
    stored_types = engine.stored_types()
    for name, declared in schema.columns.items():
        if name not in stored_types:
            raise InvalidArgument(f"columns.{name}", name, engine.absent_column())
        if stored_types[name] not in declared.sources or (
            stored_types[name] == "text" and declared.type_name != "category" and not engine.casts_text
        ):
            raise InvalidArgument(
                f"columns.{name}",
                declared.type_name,
                f"is of another type than the source, which stores {stored_types[name]}: declare that",
            )
    if schema.unit is not None and schema.unit not in stored_types:
        raise InvalidArgument("unit", schema.unit, engine.absent_column())
    if schema.unit in engine.moments:
        raise InvalidArgument(
            "unit", schema.unit, "must be a column of texts, whole numbers or dates, not of moments in time"
        )
    if schema.unit is not None and stored_types[schema.unit] not in ("whole", "text", "date", "boolean"):
        raise InvalidArgument(
            "unit", schema.unit, f"must be a column that tells people apart, not {stored_types[schema.unit]}"
        )


def engine_of(source: Any, *, table: str | None = None, engine: str | None = None, folder: str | None = None) -> Engine:
    """The engine of a source whose columns are not declared yet: for owners who draft a schema."""
    return _engine(Schema(source, {"undeclared": Boolean()}, table=table, engine=engine, folder=folder))
