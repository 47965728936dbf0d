"""Plain medians by DuckDB: its exact discrete quantile."""

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
