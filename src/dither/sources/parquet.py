"""DuckDB's connections, and Parquet files as DuckDB reads them.

Every connection has the same settings, so that no value depends on the machine that it runs on.  The name of a file is
a name and never a pattern, and the folders above it add no columns.  What a column of a Parquet file may be asked for
follows from the file's schema alone: DuckDB converts some types while it reads, and one record can make that fail.
"""

from __future__ import annotations

import contextlib
import importlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dither.errors import InvalidArgument, InvalidData
from dither.sources.entries import SHORT
from dither.sources.frames import repeated_name

if TYPE_CHECKING:
    import duckdb

SWITCHED_OFF = (
    "statistics_propagation",
    "row_group_pruner",
    "join_filter_pushdown",
    "filter_pushdown",
    "top_n_window_elimination",
)
"""Optimisations that decide about records by minima and maxima of many; and one that fails.

NaN does not count in those; and a filter that is pushed into a Parquet file takes every text of a page for missing
where one is and the others are alike (DuckDB 2.0.0).  The last one raises an internal error for some queries of the
first row of each key (2.0.0), and whether such rows are asked for depends on records.
"""
SETTINGS = {
    "TimeZone": "UTC",  # else the machine's
    "Calendar": "gregorian",
    "ieee_floating_point_ops": "true",  # else x / 0 and ln(0) raise errors
    "integer_division": "false",
    "default_collation": "",
    "enable_progress_bar": "false",
    "pandas_analyze_sample": "0",  # objects are texts: a type guessed from some records fails on others
}
"""What each connection sets: values and errors of our queries depend on these."""
MILLISECONDS = "is of moments in milliseconds, of which one record can make reading fail: store microseconds"
_MILLISECONDS = re.compile(r"TIMESTAMP_MILLIS|MILLIS=(?!<null>)")
_PATTERN = re.compile(r"([*?[])")


def connect() -> duckdb.DuckDBPyConnection:
    """A connection with our settings.  Its database is empty: functions that a file defines replace no built-in one."""
    import duckdb  # noqa: PLC0415  (slow to load)

    connection = duckdb.connect(":memory:")
    settings = SETTINGS | {"disabled_optimizers": ",".join(SWITCHED_OFF)}
    connection.execute("; ".join(f"SET {name} = '{value}'" for name, value in settings.items()))
    return connection


def literal_path(file: Path) -> str:
    """The path of this file alone: DuckDB takes *, ? and [ for patterns, and ~ at the beginning for a folder."""
    path = str(file.absolute())
    if "\\" in path and _PATTERN.search(path):  # (there it may stand for a slash, or for the next character)
        raise InvalidArgument("file", file.name, "has a backslash and one of *, ?, [ in its path: rename it")
    return _PATTERN.sub(r"[\1]", path)


@dataclass(frozen=True)
class ParquetSchema:
    """The public schema of a Parquet file, as far as it matters."""

    milliseconds: frozenset[str]
    """Columns of moments that DuckDB converts while it reads, with an error for those too far."""
    durations: dict[str, float]
    """Columns of durations, and how many of the units that are stored a second has."""


def parquet_schema(connection: duckdb.DuckDBPyConnection, file: Path) -> ParquetSchema:
    """Read the schema of a file; every column must have a name of its own."""
    import duckdb  # noqa: PLC0415  (slow to load)

    rows = None
    with contextlib.suppress(duckdb.Error):
        query = "SELECT name, num_children, converted_type, logical_type FROM parquet_schema(?)"
        rows = connection.execute(query, [literal_path(file)]).fetchall()
    if not rows:
        raise InvalidData(f"{file.name} could not be read as Parquet; nothing was charged")
    if (name := repeated_name(_top_names(rows))) is not None:
        raise InvalidArgument("column", name, f"stands twice in {file.name}: give each column a name of its own")
    milliseconds = frozenset(str(row[0]) for row in rows if _MILLISECONDS.search(f"{row[2]} {row[3]}"))
    return ParquetSchema(milliseconds, parquet_durations(file))


def _top_names(rows: list[tuple[str, int | None, str | None, str | None]]) -> list[str]:
    """The columns themselves: what is nested in one follows it."""
    names, nested = [], 0
    for name, children, *_ in rows[1:]:
        if nested == 0:
            names.append(str(name))
        else:
            nested -= 1
        nested += children or 0
    return names


def parquet_durations(file: Path) -> dict[str, float]:
    """Columns that a Parquet file declares as durations, and how many of the units that it stores a second has."""
    with contextlib.suppress(Exception):  # (a file that is none is refused where it is read)
        schema = importlib.import_module("pyarrow.parquet").read_schema(file)
        return {field.name: SHORT[field.type.unit] for field in schema if str(field.type).startswith("duration")}
    return {}
