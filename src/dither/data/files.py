"""Columns of CSV and Parquet files, read by DuckDB.  Errors name the file, never a record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dither.errors import InvalidArgument, InvalidData

_READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".gz": "read_csv",
    ".parquet": "read_parquet",
    ".pq": "read_parquet",
}
_WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "BOOLEAN"}
_REAL = {"FLOAT", "DOUBLE", "DECIMAL", "HUGEINT", "UHUGEINT", "UBIGINT"}


def read_file_column(path: str | Path, column: str) -> np.ma.MaskedArray[Any, Any]:
    """One numeric column; missing entries are masked.

    A Parquet file declares its types.  A CSV file does not: whether its numbers are whole would have to be read
    off the records, so they are real (declare ``step=1`` for whole answers), and entries that are not numbers
    count as missing.
    """
    import duckdb  # noqa: PLC0415  (slow to load)

    file = Path(path)
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise InvalidArgument("file", str(path), f"a file ending in {', '.join(_READERS)} is accepted")
    if not file.is_file():
        raise InvalidArgument("file", str(path), "the path of a readable file is accepted")
    with duckdb.connect() as connection:
        try:
            table = getattr(connection, reader)(str(file))
            kinds = dict(zip(table.columns, (str(kind) for kind in table.types), strict=True))
        except duckdb.Error:
            # The cause may quote a record.
            raise InvalidData(f"{file.name} could not be read as {reader[5:]}; nothing was charged") from None
        if column not in kinds:
            raise InvalidArgument("column", column, f"{file.name} has the columns {', '.join(kinds)}")
        kind = kinds[column].split("(")[0]
        if kind not in _WHOLE | _REAL:
            raise InvalidArgument("column", column, f"a column of numbers is accepted, this one is {kinds[column]}")
        try:
            if reader == "read_csv":
                table = connection.read_csv(str(file), all_varchar=True)
            name = '"' + column.replace('"', '""') + '"'
            wanted = "BIGINT" if kind in _WHOLE and reader != "read_csv" else "DOUBLE"
            values = table.project(f"TRY_CAST({name} AS {wanted}) AS x").fetchnumpy()["x"]
        except duckdb.Error:
            raise InvalidData(f"{file.name} could not be read to its end; nothing was charged") from None
    # Always masked, so that the type does not tell whether anything is missing.
    return np.ma.MaskedArray(values)
