"""Columns of CSV and Parquet files.  Errors name the file, never a record."""

from __future__ import annotations

import contextlib
import csv
import functools
import math
from collections.abc import Callable, Iterable, Sized
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument, InvalidData, suggested
from dither.sources.formats import NumberFormat
from dither.sources.lines import DELIMITERS, UNREADABLE, USUAL, TextLayout, header, inner_suffix, records, text_columns
from dither.sources.parquet import MILLISECONDS, connect, literal_path, parquet_schema

Masked: TypeAlias = "np.ma.MaskedArray[tuple[int, ...], np.dtype[np.generic]]"
if TYPE_CHECKING:
    import pyarrow as pa

Collected = TypeVar("Collected", bound=Sized)

PARQUET = (".parquet", ".pq")
DATABASES = (".duckdb", ".db")
"""How the names of files end that hold tables by their names."""
_WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "BOOLEAN"}
_REAL = {"FLOAT", "DOUBLE", "DECIMAL", "HUGEINT", "UHUGEINT", "UBIGINT"}
_READ = "FROM read_parquet(?, hive_partitioning = false, utf8_validation = 'replace')"
"""Folders add no columns; a text with a byte that is no UTF-8 is read as another text: one record makes no error."""
_AS_TEXT = dict.fromkeys(("VARCHAR", "UUID", "ENUM", "BLOB", "DATE", "TIMESTAMP_NS"), "CAST({0} AS VARCHAR)") | {
    zoned: f"CASE WHEN {{0}} IS NULL THEN NULL ELSE CAST(LEAST(GREATEST({{0}}, {zoned} '0001-01-01 00:00:00{zone}'), "
    f"{zoned} '9999-12-31 23:59:59.999999{zone}') AS VARCHAR) END"
    for zoned, zone in (("TIMESTAMP", ""), ("TIMESTAMP WITH TIME ZONE", "+00"))
}
"""Types whose records all have texts; moments too far for one count as the nearer end of the calendar."""


def read_file_column(
    path: str | Path,
    column: str,
    *,
    empty: bool = False,
    layout: TextLayout = USUAL,
    written: NumberFormat | None = None,
) -> Masked:
    """One numeric column, always masked, so that its type does not depend on whether an entry is missing.

    A Parquet file declares its types.  A CSV file does not, and reading types off its records would make the answer's
    grid, or an error, depend on them: its first line names the columns, its entries are real numbers (declare
    ``step=1`` for whole answers), and whatever is not a number counts as missing.  ``empty``: a file without records
    is accepted.  ``written``: how numbers are written there.
    """
    file = _known_file(path)
    if not is_text(file):
        return _parquet(file, column)
    read = _numbers if written is None else functools.partial(_written_numbers, written)
    values = np.concatenate([np.zeros(0), *_column_of(file, column, layout, read, empty=empty)])
    return np.ma.MaskedArray(values, np.isnan(values))


def read_file_entries(path: str | Path, column: str, *, layout: TextLayout = USUAL) -> list[str | int | float | None]:
    """One column of any type, for categories: numbers of a Parquet file as such, everything else as texts.

    A missing entry is None; in a CSV that is an empty one, or a line that is too short.
    """
    file = _known_file(path)
    if not is_text(file):
        values: list[str | int | float | None] = _parquet(file, column, texts=True).tolist()
        return values
    return [entry for each in _column_of(file, column, layout, _texts) for entry in each]


def file_rows(path: str | Path, *, layout: TextLayout = USUAL) -> int:
    """How many records a file has: public where nobody is added or removed."""
    file = _known_file(path)
    if is_text(file):
        width, rows = len(_fields(header(file, layout), layout.delimiter_of(file))), None
        with contextlib.suppress(*UNREADABLE):
            rows = sum(1 for line in records(file, layout) if width == 1 or line)
    else:
        rows = _parquet_rows(file)
    if rows is None:
        raise InvalidData(f"{file.name} could not be read to its end; nothing was charged")
    return rows


def _parquet_rows(file: Path) -> int | None:
    import duckdb  # noqa: PLC0415  (slow to load)

    with contextlib.suppress(duckdb.Error), connect() as connection:
        return int(connection.execute(f"SELECT count(*) {_READ}", [literal_path(file)]).fetchall()[0][0])
    return None


def check_file_columns(path: str | Path, columns: Iterable[str]) -> None:
    """Refuse what ``read_file_column`` would refuse in a file's name and the names of its columns; reads no record."""
    for column in columns:
        file_column_type(path, column)


def file_column_type(path: str | Path, column: str) -> np.dtype[np.generic]:
    """The type that ``read_file_column`` gives a column, from the file's name and header alone; reads no record."""
    file = _known_file(path)
    if not is_text(file):
        return _parquet(file, column, read=False).dtype
    _place(file, column, USUAL)
    return np.dtype(np.float64)


def file_mark(file: Path, below: Path | None = None) -> str:
    """Which file this is, in public terms: by its path, or by that below a folder, if it lies there.

    Copies of a folder have the second in common.


    >>> file_mark(Path("/home/data/pay.csv"), Path("/home/data")), file_mark(Path("/other/pay.csv"), Path("/home/data"))
    ('data:pay.csv', 'file:/other/pay.csv')
    """
    path = file.resolve()
    if below is not None and path.is_relative_to(below.resolve()):
        return f"data:{path.relative_to(below.resolve())}"
    return f"file:{path}"


def state_of_file(file: Path) -> str | None:
    """When a file, and the log of a database file, were last written, and how long they are.  For owners only."""
    stamps = []
    for item in (file, file.with_name(f"{file.name}.wal")):
        with contextlib.suppress(OSError):
            status = item.stat()
            stamps.append(f"{status.st_mtime_ns}:{status.st_size}")
    return ",".join(stamps) or None


def is_text(file: Path) -> bool:
    """Whether its name says that it is a text file: delimited, or with a record a line."""
    return inner_suffix(file) in DELIMITERS


def _known_file(path: str | Path) -> Path:
    """A file of a known kind."""
    file = Path(path)
    inner = inner_suffix(file)
    if inner not in (*DELIMITERS, *PARQUET):
        accepted = ", ".join((*DELIMITERS, ".csv.gz", *PARQUET))
        raise InvalidArgument("file", str(path), f"must be a file ending in {accepted}")
    if not file.is_file():
        raise InvalidArgument("file", str(path), "must be the path of a readable file")
    return file


def _place(file: Path, column: str, layout: TextLayout) -> tuple[int, int]:
    """Where a column stands in the line that names them, and how many there are; case counts where it must."""
    first, delimiter = header(file, layout), layout.delimiter_of(file)
    if not first.strip():
        raise InvalidArgument("file", str(file), "must be a file whose first line names the columns")
    names = _fields(first, delimiter)
    alike = [name for name in names if name.lower() == column.lower()]
    if names.count(column) > 1 or (column not in names and len(alike) > 1):
        accepted = f"stands {len(alike)} times in the first line of {file.name}: give each column a name of its own"
        raise InvalidArgument("column", column, accepted)
    if column not in names and len(alike) == 1:
        return names.index(alike[0]), len(names)
    if column not in names:
        # Neither listing nor suggesting them: without a header the first line would be a record.
        accepted = f"must be a name from the first line of {file.name} (separated by {delimiter!r})"
        accepted += "; are there lines before it (--skip-lines), or another --delimiter?"
        raise InvalidArgument("column", column, accepted)
    return names.index(column), len(names)


def _column_of(
    file: Path,
    column: str,
    layout: TextLayout,
    read: Callable[[pa.Array], Collected],
    *,
    empty: bool = False,
) -> list[Collected]:
    """One entry of each line, read piece by piece."""
    place, width = _place(file, column, layout)
    values = None
    with contextlib.suppress(*UNREADABLE):
        batches = text_columns(file, layout, {column: place}, width)
        values = [read(batch.column(0)) for batch in batches]
    if values is None:
        raise InvalidData(f"{file.name} could not be read to its end; nothing was charged")
    if not any(map(len, values)) and not empty:
        raise InvalidArgument("file", file.name, "must have at least one record after the first line")
    return values


def _fields(line: str, delimiter: str) -> list[str]:
    """The entries of one line.  Every line is a record of its own: a stray quote must not swallow its neighbours."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _numbers(entries: pa.Array) -> NDArray[np.float64]:
    """Entries as numbers: all at once where Arrow reads each of them, else one by one, with the same numbers."""
    with contextlib.suppress(ValueError):
        return _or_nan(entries.cast("float64"))
    return np.fromiter(map(_number, entries.to_pylist()), dtype=np.float64)


def _or_nan(numbers: pa.Array) -> NDArray[np.float64]:
    """Numbers of Arrow, NaN where one is missing: from its buffers, for its own ways load pandas where it is there."""
    known, values = numbers.buffers()
    where = slice(numbers.offset, numbers.offset + len(numbers))
    result = np.frombuffer(values, dtype=np.float64)[where].copy()
    if known is not None:
        result[np.unpackbits(np.frombuffer(known, dtype=np.uint8), bitorder="little")[where] == 0] = math.nan
    return result


def _written_numbers(written: NumberFormat, entries: pa.Array) -> NDArray[np.float64]:
    """Numbers in a declared format, anything else as missing."""
    read = (math.nan if entry is None else written.number(entry) for entry in entries.to_pylist())
    return np.fromiter(read, dtype=np.float64)


def _texts(entries: pa.Array) -> list[str | None]:
    """Texts as they are."""
    texts: list[str | None] = entries.to_pylist()
    return texts


def _number(entry: str | None) -> float:
    """A number, true or false as 1 or 0, anything else as missing."""
    if entry is None:
        return math.nan
    try:
        return float(entry) if entry.isascii() else math.nan
    except ValueError:
        return {"true": 1.0, "false": 0.0}.get(entry.strip().lower(), math.nan)


def _parquet(file: Path, column: str, *, read: bool = True, texts: bool = False) -> Masked:
    """``texts``: what is stored as no number is read as texts, instead of refused."""
    import duckdb  # noqa: PLC0415  (slow to load)

    values = None
    with connect() as connection:
        schema, stored_types = parquet_schema(connection, file), {}
        with contextlib.suppress(duckdb.Error):
            described = connection.execute(f"DESCRIBE {_READ}", [literal_path(file)]).fetchall()
            stored_types = {str(name): str(stored_type) for name, stored_type, *_ in described}
        if not stored_types:
            raise InvalidData(f"{file.name} could not be read as Parquet; nothing was charged")
        alike = [name for name in stored_types if name.lower() == column.lower()]
        if column not in stored_types and len(alike) != 1:
            listed = f"{file.name} has the columns {', '.join(stored_types)}{suggested(column, stored_types)}"
            raise InvalidArgument("column", column, listed)
        column = column if column in stored_types else alike[0]
        if column in schema.durations and not texts:
            wanted = f"is of durations: declare it, --column {column}=duration:0:3600, in seconds"
            raise InvalidArgument("column", column, wanted)
        stored_type = stored_types[column].split("(")[0]
        if stored_type not in _WHOLE | _REAL and not texts:
            raise InvalidArgument("column", column, f"must be a column of numbers, this one is {stored_types[column]}")
        if column in schema.milliseconds:
            raise InvalidArgument("column", column, MILLISECONDS)
        if stored_type not in _WHOLE | _REAL and stored_type not in _AS_TEXT:
            wanted = f"must be a column of numbers, texts, days or moments, this one is {stored_types[column]}"
            raise InvalidArgument("column", column, wanted)
        whole = stored_type in _WHOLE
        if not read:
            return np.ma.MaskedArray(np.zeros(0, dtype=np.int64 if whole else np.float64))
        name = '"' + column.replace('"', '""') + '"'
        numbers = f"CAST({{0}} AS {'BIGINT' if whole else 'DOUBLE'})"
        value = (numbers if whole or stored_type in _REAL else _AS_TEXT[stored_type]).format(name)
        with contextlib.suppress(duckdb.Error):
            values = connection.execute(f"SELECT {value} AS x {_READ}", [literal_path(file)]).fetchnumpy()["x"]
    if values is None:
        raise InvalidData(f"{file.name} could not be read to its end; nothing was charged")
    return np.ma.MaskedArray(values, np.ma.getmaskarray(values))
