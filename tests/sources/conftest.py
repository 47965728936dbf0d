"""A table on three engines: DuckDB, a real PostgreSQL and a real Spark in local mode."""

import pytest

from dither.sources.engines.duckdb import DuckDB
from dither.sources.engines.postgres import Postgres
from dither.sources.engines.spark import Spark


def in_postgres(dsn, table, name="records"):
    """Copy an Arrow table into PostgreSQL; returns the engine."""
    import psycopg
    import pyarrow as pa

    kinds = {
        pa.float64(): "double precision",
        pa.int64(): "bigint",
        pa.int32(): "integer",
        pa.string(): "text",
        pa.bool_(): "boolean",
        pa.date32(): "date",
        pa.decimal128(12, 2): "numeric(12, 2)",
    }
    declared = ", ".join(f'"{field.name}" {kinds[field.type]}' for field in table.schema)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f'DROP TABLE IF EXISTS "{name}"')
        connection.execute(f'CREATE TABLE "{name}" ({declared})')
        with connection.cursor() as cursor, cursor.copy(f'COPY "{name}" FROM STDIN') as copy:
            for row in table.to_pylist():
                copy.write_row(list(row.values()))
    return Postgres(dsn, name)


@pytest.fixture(scope="session")
def engines_of(postgres, spark):
    """``engines_of(table)``: the same Arrow table on all three engines."""

    def opened(table):
        return {
            "duckdb": DuckDB(table),
            "postgres": in_postgres(postgres, table),
            "spark": Spark(spark.createDataFrame(table)),
        }

    return opened
