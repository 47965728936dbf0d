"""Plain statistics by DuckDB: exact discrete quantiles, and aggregates over the clamped column."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict


class PlainTableOptions(TypedDict):
    """What is asked."""

    rows: int
    groups: int
    epsilon: float
    by: str | None


class PlainTableFile(TypedDict):
    """Where the table is."""

    path: str


def median(options: PlainTableOptions, data: PlainTableFile) -> Callable[[], None]:
    """Of all rows, or of every group."""
    import duckdb

    connection = duckdb.connect()
    relation = connection.read_parquet(data["path"])
    by = options["by"]

    def work() -> None:
        relation.aggregate(f"{by}, quantile_disc(pay, 0.5)" if by else "quantile_disc(pay, 0.5)").fetchnumpy()

    return work


def median_after_another(options: PlainTableOptions, data: PlainTableFile) -> Callable[[], None]:
    """The plain one."""
    return median(options, data)


CLAMPED = "greatest(0, least(pay, 600000)) AS x, *"
STATISTICS = ("quantile_disc(x, 0.5)", "avg(x)", "sum(x)", "max(x)", "quantile_disc(x, 0.9)", "count(*)")


def _asked(data: PlainTableFile, *aggregates: str, by: str | None = None) -> Callable[[], None]:
    """Plain statements, one after the other."""
    import duckdb

    connection, path = duckdb.connect(), data["path"]
    read = connection.read_csv if path.endswith(".csv") else connection.read_parquet
    rows = read(path).project(CLAMPED)

    def work() -> None:
        for aggregate in aggregates:
            rows.aggregate(aggregate if by is None else f"{by}, {aggregate}").fetchnumpy()

    return work


def mean(options: PlainTableOptions, data: PlainTableFile) -> Callable[[], None]:
    """Of all rows."""
    return _asked(data, "avg(x)")


def sum(options: PlainTableOptions, data: PlainTableFile) -> Callable[[], None]:
    """Of all rows."""
    return _asked(data, "sum(x)")


def variance(options: PlainTableOptions, data: PlainTableFile) -> Callable[[], None]:
    """Of all rows."""
    return _asked(data, "var_pop(x)")


def maximum(options: PlainTableOptions, data: PlainTableFile) -> Callable[[], None]:
    """Of all rows."""
    return _asked(data, "max(x)")


def trimmed_mean(options: PlainTableOptions, data: PlainTableFile) -> Callable[[], None]:
    """The plain mean: DuckDB has no trimmed one."""
    return _asked(data, "avg(x)")


def quantiles(options: PlainTableOptions, data: PlainTableFile) -> Callable[[], None]:
    """Five of all rows."""
    return _asked(data, "quantile_disc(x, [0.1, 0.25, 0.5, 0.75, 0.9])")


def statement(options: PlainTableOptions, data: PlainTableFile) -> Callable[[], None]:
    """Six plain statements, one after the other."""
    return _asked(data, *STATISTICS, by="team")


def csv_median(options: PlainTableOptions, data: PlainTableFile) -> Callable[[], None]:
    """Of all rows of a CSV file."""
    return _asked(data, "quantile_disc(x, 0.5)")
