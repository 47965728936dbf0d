"""Plain statistics by DuckDB: exact discrete quantiles, and aggregates over the clamped column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def median(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """Of all rows, or of every group."""
    import duckdb

    connection = duckdb.connect()
    relation = connection.read_parquet(data["path"])
    by = options["by"]

    def work() -> None:
        relation.aggregate(f"{by}, quantile_disc(pay, 0.5)" if by else "quantile_disc(pay, 0.5)").fetchnumpy()

    return work


CLAMPED = "greatest(0, least(pay, 600000))"
STATISTICS = ("quantile_disc(x, 0.5)", "avg(x)", "sum(x)", "max(x)", "quantile_disc(x, 0.9)", "count(*)")


def _asked(data: dict[str, Any], *statements: str) -> Callable[[], None]:
    """Plain statements, of which {} is the source."""
    import duckdb

    connection, path = duckdb.connect(), data["path"]

    def work() -> None:
        for one in statements:
            connection.execute(one.format(f"(SELECT *, {CLAMPED} AS x FROM '{path}')")).fetchnumpy()

    return work


def mean(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """Of all rows."""
    return _asked(data, "SELECT avg(x) FROM {}")


def variance(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """Of all rows."""
    return _asked(data, "SELECT var_pop(x) FROM {}")


def maximum(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """Of all rows."""
    return _asked(data, "SELECT max(x) FROM {}")


def trimmed_mean(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """The plain mean: DuckDB has no trimmed one."""
    return _asked(data, "SELECT avg(x) FROM {}")


def quantiles(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """Five of all rows."""
    return _asked(data, "SELECT quantile_disc(x, [0.1, 0.25, 0.5, 0.75, 0.9]) FROM {}")


def statement(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """Six plain statements, one after the other."""
    return _asked(data, *(f"SELECT job, {one} FROM {{}} WHERE job < 20 GROUP BY job" for one in STATISTICS))


def csv_median(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """Of all rows of a CSV file."""
    return _asked(data, "SELECT quantile_disc(x, 0.5) FROM {}")
