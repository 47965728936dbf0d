"""Charges per second of a ledger, beside a bare durable insert into the same database: the cost of the rules.

python lab/benchmarks/ledger.py --postgres postgresql://… --json

A file of SQLite beside a bare insert is measured by ``dither bench server``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from dither.ledger import Ledger, MemoryLedger, PostgresLedger, SqliteLedger
from dither.privacy import Budget, Loss

ROUNDS = 5


def rate(act: Callable[[int], object], seconds: float) -> float:
    """Acts per second: the median of several rounds."""
    rounds, number = [], 0
    for _ in range(ROUNDS):
        began, first = time.perf_counter(), number
        while time.perf_counter() - began < seconds / ROUNDS:
            act(number)
            number += 1
        rounds.append((number - first) / (time.perf_counter() - began))
    return statistics.median(rounds)


def measured(ledger: Ledger, seconds: float) -> dict[str, float]:
    """Charges, charges with their release, and answers from the store."""
    ledger.register("bench", Budget(100_000.0))
    ledger.store(ledger.charge("bench", Loss(0.001), question={"n": "known"}), {"value": 1})
    return {
        "charge": rate(lambda n: ledger.charge("bench", Loss(0.001), question={"n": n}), seconds),
        "charge and store": rate(
            lambda n: ledger.store(ledger.charge("bench", Loss(0.001), question={"m": n}), {"value": n}), seconds
        ),
        "answer again": rate(lambda _: ledger.answer_to("bench", {"n": "known"}), seconds),
    }


def bare_postgres(dsn: str, seconds: float) -> float:
    """One row per commit."""
    import psycopg  # noqa: PLC0415  (an extra)

    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE dither_bare (number BIGINT PRIMARY KEY, body TEXT)")
        try:
            return rate(
                lambda n: connection.execute("INSERT INTO dither_bare VALUES (%s, %s)", (n, "x" * 200)), seconds
            )
        finally:
            connection.execute("DROP TABLE dither_bare")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgres", help="address of an empty database")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each figure")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = {"memory": {**measured(MemoryLedger(), options.seconds), "bare insert": float("nan")}}
    with tempfile.TemporaryDirectory(dir=".") as folder, SqliteLedger(Path(folder) / "ledger.db") as ledger:
        rows["sqlite"] = {**measured(ledger, options.seconds), "bare insert": float("nan")}
    if options.postgres:
        bare = bare_postgres(options.postgres, options.seconds)
        with PostgresLedger(options.postgres) as ledger:
            rows["postgres"] = {**measured(ledger, options.seconds), "bare insert": bare}
    for row in rows.values():
        row["charge / bare"] = row["charge"] / row["bare insert"]
    if options.json:
        print(json.dumps(rows))
        return
    table = Table("ledger", *next(iter(rows.values())))
    for name, row in rows.items():
        table.add_row(name, *(f"{value:,.2f}" if "/" in what else f"{value:,.0f}" for what, value in row.items()))
    Console().print(table)


if __name__ == "__main__":
    main()
