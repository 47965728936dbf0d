"""Plain statements over the same files by DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from typing import NotRequired, TypedDict


class PlainStatementOptions(TypedDict):
    """What is asked."""

    name: str
    statement: str
    epsilon: float
    opens: NotRequired[bool]


class PlainStatementData(TypedDict):
    """Where the tables are."""

    folder: str


def statement(options: PlainStatementOptions, data: PlainStatementData) -> Callable[[], None]:
    """The statement as it is."""
    import duckdb

    def opened() -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect()
        for table in ("customer", "orders", "lineitem", "nation", "region"):
            connection.read_parquet(f"{data['folder']}/{table}.parquet").create_view(table)
        return connection

    connection = opened()

    def work() -> None:
        (opened() if options.get("opens") else connection).sql(options["statement"]).fetchall()

    return work
