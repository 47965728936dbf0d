"""Private medians of a Parquet file through a session, error bars included."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

import numpy as np
import pyarrow as pa

import dither as dt
from dither.queries.query import Query


class PrivateTableOptions(TypedDict):
    """What is asked."""

    rows: int
    groups: int
    epsilon: float
    by: str | None


class PrivateTableFile(TypedDict):
    """Where the table is."""

    path: str


SHARES = [0.1, 0.25, 0.5, 0.75, 0.9]
STATEMENT = "SELECT median(pay), mean(pay), sum(pay), maximum(pay), quantile(pay, 0.9), count(*) FROM pay GROUP BY team"


def _asked(options: PrivateTableOptions, data: PrivateTableFile, query: Query) -> Callable[[], None]:
    columns = {"pay": dt.Real(0, 600_000), "job": dt.Integer(0, options["groups"] - 1)}
    session = dt.open(data["path"], columns=columns, rows=options["rows"], budget=dt.Budget(1e6))

    def work() -> None:
        session.ask(query, epsilon=options["epsilon"], by=options["by"], again=True)

    return work


def median(options: PrivateTableOptions, data: PrivateTableFile) -> Callable[[], None]:
    """Of all rows, or of every group."""
    return _asked(options, data, dt.Median("pay"))


def median_after_another(options: PrivateTableOptions, data: PrivateTableFile) -> Callable[[], None]:
    """Of all rows, in a process that has answered a median of a thousand."""
    few = pa.table({"pay": np.linspace(0.0, 1000.0, 1_000)})
    session = dt.open(few, columns={"pay": dt.Real(0, 600_000)}, rows=1_000, budget=dt.Budget(1e6))
    session.ask(dt.Median("pay"), epsilon=options["epsilon"])
    return median(options, data)


def csv_median(options: PrivateTableOptions, data: PrivateTableFile) -> Callable[[], None]:
    """Of all rows of a CSV file."""
    return median(options, data)


def mean(options: PrivateTableOptions, data: PrivateTableFile) -> Callable[[], None]:
    """Of all rows."""
    return _asked(options, data, dt.Mean("pay"))


def sum(options: PrivateTableOptions, data: PrivateTableFile) -> Callable[[], None]:
    """Of all rows."""
    return _asked(options, data, dt.Sum("pay"))


def variance(options: PrivateTableOptions, data: PrivateTableFile) -> Callable[[], None]:
    """Of all rows."""
    return _asked(options, data, dt.Variance("pay"))


def maximum(options: PrivateTableOptions, data: PrivateTableFile) -> Callable[[], None]:
    """Of all rows."""
    return _asked(options, data, dt.Maximum("pay"))


def trimmed_mean(options: PrivateTableOptions, data: PrivateTableFile) -> Callable[[], None]:
    """Of all rows."""
    return _asked(options, data, dt.TrimmedMean("pay", trim=0.1))


def quantiles(options: PrivateTableOptions, data: PrivateTableFile) -> Callable[[], None]:
    """Five of all rows."""
    return _asked(options, data, dt.Quantiles("pay", q=SHARES))


def statement(options: PrivateTableOptions, data: PrivateTableFile) -> Callable[[], None]:
    """Six statistics by twenty groups."""
    columns = {"pay": dt.Real(0, 600_000), "team": dt.Integer(0, 19)}
    session = dt.open(data["path"], columns=columns, rows=options["rows"], name="pay", budget=dt.Budget(1e6))

    def work() -> None:
        session.sql(STATEMENT, epsilon=options["epsilon"], again=True)

    return work
