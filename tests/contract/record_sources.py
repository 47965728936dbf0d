"""The same records in every source that a session opens: files of several writers, frames, databases."""

import contextlib
import csv
import gzip
import itertools
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import dither as dt
from contract.record_cases import LONG, chosen

PATHS = ("whole", "brackets")
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Place:
    """Where sources are built: a folder, and servers where there are any."""

    folder: Path
    server: Callable[[str], Any]
    """The server of an engine, by the name of its fixture: started when it is first asked for."""

    def file(self, suffix: str) -> Path:
        """A path that nothing has used yet."""
        return self.folder / f"records{next(_NUMBERS)}{suffix}"


def written(value: Any) -> str:
    """A value as a CSV has it."""
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def csv_file(place: Place, table: pa.Table) -> dict[str, Any]:
    """A CSV with quotes where they are needed."""
    file = place.file(".csv")
    with file.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(table.column_names)
        rows.writerows([written(one) for one in row.values()] for row in table.to_pylist())
    return {"source": str(file)}


def tsv_file(place: Place, table: pa.Table) -> dict[str, Any]:
    """Fields between tabs, with quotes around all of them."""
    file = place.file(".tsv")
    with file.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_ALL)
        rows.writerow(table.column_names)
        rows.writerows([written(one) for one in row.values()] for row in table.to_pylist())
    return {"source": str(file)}


def packed_csv(place: Place, table: pa.Table) -> dict[str, Any]:
    """The same in a .csv.gz with the line ends of Windows and a byte order mark."""
    plain = Path(csv_file(place, table)["source"]).read_bytes()
    file = place.file(".csv.gz")
    file.write_bytes(gzip.compress(b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n")))
    return {"source": str(file)}


def arrow_frame(place: Place, table: pa.Table) -> dict[str, Any]:
    """An Arrow table."""
    return {"source": table}


def polars_frame(place: Place, table: pa.Table) -> dict[str, Any]:
    """A Polars frame."""
    import polars as pl

    return {"source": pl.from_arrow(table)}


def pandas_numpy(place: Place, table: pa.Table) -> dict[str, Any]:
    """A pandas frame over numpy: missing numbers are NaN."""
    return {"source": table.to_pandas()}


def pandas_arrow(place: Place, table: pa.Table) -> dict[str, Any]:
    """A pandas frame over Arrow: NaN and missing are two things."""
    import pandas as pd

    return {"source": table.to_pandas(types_mapper=pd.ArrowDtype)}


def pandas_nullable(place: Place, table: pa.Table) -> dict[str, Any]:
    """A pandas frame of types with a mask."""
    import pandas as pd

    kinds = {pa.float64(): pd.Float64Dtype(), pa.float32(): pd.Float32Dtype(), pa.int64(): pd.Int64Dtype()}
    kinds |= {pa.bool_(): pd.BooleanDtype(), pa.uint64(): pd.UInt64Dtype(), pa.string(): pd.StringDtype()}
    return {"source": table.to_pandas(types_mapper=kinds.get)}


def parquet_arrow(place: Place, table: pa.Table) -> dict[str, Any]:
    """Parquet as pyarrow writes it: one row group."""
    file = place.file(".parquet")
    pq.write_table(table, file)
    return {"source": str(file)}


def parquet_arrow_groups(place: Place, table: pa.Table) -> dict[str, Any]:
    """The same in row groups of two records, without dictionaries."""
    file = place.file(".parquet")
    pq.write_table(table, file, row_group_size=2, use_dictionary=False)
    return {"source": str(file)}


def parquet_arrow_blind(place: Place, table: pa.Table) -> dict[str, Any]:
    """The same without statistics, in the newer pages."""
    file = place.file(".parquet")
    pq.write_table(table, file, write_statistics=False, data_page_version="2.0", version="2.6")
    return {"source": str(file)}


def parquet_pandas(place: Place, table: pa.Table) -> dict[str, Any]:
    """As pandas writes it."""
    file = place.file(".parquet")
    table.to_pandas().to_parquet(file)
    return {"source": str(file)}


def parquet_polars(place: Place, table: pa.Table) -> dict[str, Any]:
    """As Polars writes it, in small row groups."""
    import polars as pl

    file = place.file(".parquet")
    pl.from_arrow(table).write_parquet(file, row_group_size=3)  # type: ignore[union-attr]
    return {"source": str(file)}


def parquet_duckdb(place: Place, table: pa.Table) -> dict[str, Any]:
    """As DuckDB writes it."""
    import duckdb

    file = place.file(".parquet")
    with duckdb.connect() as connection:
        connection.register("records", table)
        connection.execute(f"COPY records TO '{file}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")
    return {"source": str(file)}


def parquet_spark(place: Place, table: pa.Table) -> dict[str, Any]:
    """As Spark writes it."""
    folder = place.file("")
    place.server("spark").createDataFrame(table).coalesce(1).write.parquet(str(folder))
    return {"source": str(next(folder.glob("part-*.parquet")))}


def duckdb_table(place: Place, table: pa.Table) -> dict[str, Any]:
    """A table of a .duckdb file."""
    import duckdb

    file = place.file(".duckdb")
    with duckdb.connect(str(file)) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE records AS SELECT * FROM given")
    return {"source": str(file), "table": "records"}


def duckdb_view(place: Place, table: pa.Table) -> dict[str, Any]:
    """A view of a .duckdb file over a Parquet file; over a table where there are texts, refused out of files."""
    import duckdb

    if any(one.type == pa.string() for one in table.schema):
        given = duckdb_table(place, table)
        with duckdb.connect(given["source"]) as connection:
            connection.execute("CREATE VIEW seen AS SELECT * FROM records")
        return {**given, "table": "seen"}
    file, parquet = place.file(".duckdb"), parquet_arrow(place, table)["source"]
    with duckdb.connect(str(file)) as connection:
        connection.execute(f"CREATE VIEW records AS SELECT * FROM read_parquet('{parquet}')")
    return {"source": str(file), "table": "records"}


_POSTGRES = {
    pa.float64(): "double precision",
    pa.float32(): "real",
    pa.int64(): "bigint",
    pa.int32(): "integer",
    pa.string(): "text",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
    pa.timestamp("us", "UTC"): "timestamptz",
    pa.duration("us"): "interval",
}


def postgres_type(kind: pa.DataType) -> str:
    """The type of PostgreSQL for an Arrow type."""
    return _POSTGRES.get(kind, "numeric")


def _in_postgres(place: Place, table: pa.Table, types: dict[str, str]) -> str:
    import psycopg

    name = f"records_{os.urandom(6).hex()}"
    columns = ", ".join(f'"{one.name}" {types.get(one.name, postgres_type(one.type))}' for one in table.schema)
    with psycopg.connect(str(place.server("postgres")), autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {name} ({columns})")
        with connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
            for row in table.to_pylist():
                copy.write_row(list(row.values()))
        connection.execute(f"ANALYZE {name}")
        connection.execute(f"CREATE VIEW {name}_view AS SELECT * FROM {name}")
    return name


def postgres_table(place: Place, table: pa.Table) -> dict[str, Any]:
    """A table of PostgreSQL."""
    return {"source": str(place.server("postgres")), "table": _in_postgres(place, table, {})}


def postgres_view(place: Place, table: pa.Table) -> dict[str, Any]:
    """A view of PostgreSQL."""
    return {"source": str(place.server("postgres")), "table": _in_postgres(place, table, {}) + "_view"}


def postgres_numeric(place: Place, table: pa.Table) -> dict[str, Any]:
    """A table of PostgreSQL whose doubles are numeric, which has NaN and infinities too."""
    types = {one.name: "numeric" for one in table.schema if pa.types.is_floating(one.type)}
    columns = {
        one.name: pa.array([None if v is None else str(v) for v in table.column(one.name).to_pylist()])
        if one.name in types
        else table.column(one.name)
        for one in table.schema
    }
    return {"source": str(place.server("postgres")), "table": _in_postgres(place, pa.table(columns), types)}


def spark_frame(place: Place, table: pa.Table) -> dict[str, Any]:
    """A DataFrame of Spark."""
    return {"source": place.server("spark").createDataFrame(table)}


def spark_parquet(place: Place, table: pa.Table) -> dict[str, Any]:
    """A DataFrame of Spark over a Parquet file that pyarrow wrote."""
    return {"source": place.server("spark").read.parquet(parquet_arrow_groups(place, table)["source"])}


_SQLITE = {pa.string(): "TEXT", pa.bool_(): "BOOLEAN", pa.date32(): "DATE", pa.timestamp("us"): "TIMESTAMP"}


def sqlite_type(kind: pa.DataType) -> str:
    """The type of SQLite for an Arrow type."""
    usual = "INTEGER" if pa.types.is_integer(kind) else "REAL" if pa.types.is_floating(kind) else "DECIMAL"
    return _SQLITE.get(kind, usual)


def sqlite_table(place: Place, table: pa.Table) -> dict[str, Any]:
    """A table of a SQLite file, where days and decimals are texts; it has no NaN, and no whole number of 2**63."""
    import sqlite3

    def stored_as(value: Any) -> Any:
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            return float(value)
        return value if value is None or isinstance(value, (int, float)) else str(value)

    file = place.file(".sqlite")
    columns = ", ".join(f'"{one.name}" {sqlite_type(one.type)}' for one in table.schema)
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"CREATE TABLE records ({columns})")
        places = ", ".join("?" * table.num_columns)
        rows = [[stored_as(one) for one in row.values()] for row in table.to_pylist()]
        connection.executemany(f"INSERT INTO records VALUES ({places})", rows)
        connection.execute("CREATE VIEW seen AS SELECT * FROM records")
    return {"source": str(file), "table": "records"}


def sqlite_view(place: Place, table: pa.Table) -> dict[str, Any]:
    """A view of a SQLite file."""
    return {**sqlite_table(place, table), "table": "seen"}


FILES = {
    one.__name__: one
    for one in (
        parquet_arrow,
        parquet_arrow_groups,
        parquet_arrow_blind,
        parquet_pandas,
        parquet_polars,
        parquet_duckdb,
        duckdb_table,
        duckdb_view,
    )
}
FRAMES = {one.__name__: one for one in (arrow_frame, polars_frame, pandas_numpy, pandas_arrow, pandas_nullable)}
TEXTS = {one.__name__: one for one in (csv_file, packed_csv, tsv_file)}
POSTGRES = {one.__name__: one for one in (postgres_table, postgres_view, postgres_numeric)}
SPARK = {one.__name__: one for one in (spark_frame, spark_parquet, parquet_spark)}
SQLITE = {one.__name__: one for one in (sqlite_table, sqlite_view)}


EMBEDDED = {**FILES, **FRAMES, **TEXTS}
FAMILIES = (FILES, FRAMES, TEXTS, POSTGRES, SPARK, SQLITE)
"""An engine with sources of its own has a family here; tests take one of it, unless they say how many."""
EVERYWHERE = {name: one for family in FAMILIES for name, one in family.items()}
BY_ENGINE = {"duckdb": arrow_frame, "postgres": postgres_table, "spark": spark_frame, "sqlite": sqlite_table}
"""Of every engine the source that ``tests/sources`` compares with those of the others."""
BUDGET = dt.Budget(1_000_000, 0.1)


def stored(name: str, place: Callable[[str], Place], columns: dict[str, Any]) -> dict[str, Any]:
    """A source with these columns: names to Arrow arrays, or to lists of doubles."""
    table = pa.table(
        {key: one if isinstance(one, pa.Array) else pa.array(one, pa.float64()) for key, one in columns.items()}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries that write
        return EVERYWHERE[name](place(name), table)


@contextlib.contextmanager
def asked(given: dict[str, Any], columns: dict[str, Any], **options: Any) -> Iterator[Any]:
    """A session over a source; whatever is asked of it, a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session = dt.open(given["source"], table=given.get("table"), columns=columns, budget=BUDGET, **options)
        try:
            yield session
        finally:
            session._close_source()


def some(test: str, *few: int) -> list[str]:
    """Sources for a test, of every family so many; all of them if DITHER_LONG is set."""
    counted = itertools.zip_longest(FAMILIES, few, fillvalue=1)
    return [name for family, short in counted for name in chosen(family, short, test)]


def both_ways(names: Iterable[str]) -> list[tuple[str, str]]:
    """Each source with both ways of reading; with one of them in turn unless DITHER_LONG is set."""
    return [(name, way) for index, name in enumerate(names) for way in (PATHS if LONG else [PATHS[index % 2]])]


def read_by(path: str, monkeypatch: Any) -> None:
    """Choose how ranks are read: all values of a small table at once, or brackets around them."""
    if path == "brackets":
        monkeypatch.setenv("DITHER_FEW_ROWS", "0")
    else:
        monkeypatch.delenv("DITHER_FEW_ROWS", raising=False)


def long_form(name: str) -> int | None:
    """How many of everything the long form takes: few where a question takes a second."""
    return 3 if name in SPARK else None
