"""Private medians of a Parquet file through a session, error bars included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dither as dt


def median(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """Of all rows, or of every group."""
    columns = {"pay": dt.Real(0, 600_000), "job": dt.Integer(0, options["groups"] - 1)}
    session = dt.open(data["path"], columns=columns, rows=options["rows"], budget=dt.Budget(1e6))
    query, by = dt.Median("pay"), options["by"]

    def work() -> None:
        session.ask(query, epsilon=options["epsilon"], by=by, again=True)

    return work
