"""A real server process asked by many analysts at once, the ledger behind it beside a bare insert, and quotes."""

from __future__ import annotations

import atexit
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dither as dt
from dither.ledger import SqliteLedger
from dither_lab.postgres import PostgresServer, postgres_programs
from dither_lab.served import Json, Served

POSTGRES = "DITHER_BENCH_POSTGRES"
SCHEMA = """[dataset]
source = "pay.csv"
rows = 200

[budget]
epsilon = 100000

[columns.pay]
type = "integer"
bounds = [0, 1000000]
"""
QUESTION: Json = {"query": {"kind": "median", "column": "pay"}, "epsilon": 0.001, "again": True}


def _served(options: dict[str, Any]) -> Served:
    """A server with one dataset, ended with this process."""
    rows = "\n".join(str(100 + 37 * k) for k in range(200))
    files = {"data/pay.csv": f"pay\n{rows}\n", "datasets/pay.toml": SCHEMA}
    served = Served(files, slot=options["slot"], ledger=database() if options["ledger"] == "postgres" else None)
    atexit.register(served.stop)
    return served


def _ask(served: Served, method: str, path: str, body: Json, times: int) -> None:
    """The same request several times, on one connection."""
    connection = served.connect()
    for _ in range(times):
        reply = served.ask(connection, method, path, body)
        if reply.status != 200:
            raise RuntimeError(f"{reply.status}: {reply.body[:100]!r}")
    connection.close()


@cache
def server_address() -> str:
    """Of the PostgreSQL that DITHER_BENCH_POSTGRES names, or of one started for this process."""
    named = os.environ.get(POSTGRES)
    if named:
        return named
    programs = postgres_programs()
    if programs is None:
        raise RuntimeError(f"needs PostgreSQL (Debian: postgresql), or its address in {POSTGRES}")
    server = PostgresServer(programs)
    atexit.register(server.close)
    server.start()
    return server.dsn()


def database() -> str:
    """The address of an empty database of PostgreSQL, dropped at the end."""
    import psycopg

    address = server_address()
    name = f"dither_bench_{os.getpid()}_{time.monotonic_ns()}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")

    def drop() -> None:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    atexit.register(drop)
    return urlsplit(address)._replace(path=f"/{name}").geturl()


def _together(options: dict[str, Any], method: str, path: str, body: Json) -> Callable[[], None]:
    served, analysts = _served(options), options["analysts"]
    pool = ThreadPoolExecutor(analysts)

    def work() -> None:
        for done in [pool.submit(_ask, served, method, path, body, options["each"]) for _ in range(analysts)]:
            done.result()

    return work


def releases(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """Private answers: charged durably, drawn, stored, answered in their slot."""
    return _together(options, "POST", "/v1/datasets/pay/releases", QUESTION)


def constant(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """The same server, tokens checked, answering who one is."""
    return _together(options, "GET", "/v1/me", None)


def quotes(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """A statement of many medians, of columns that no statement before it had."""
    number = iter(range(1 << 60))
    names = [f"c{place}" for place in range(options["queries"])]
    calls = ", ".join(f"median({name})" for name in names)

    def work() -> None:
        upper = 600_000 + next(number)
        columns = {name: dt.Real(0, upper) for name in names}
        records = {name: [1.0, 2.0] for name in names}
        with dt.open(records, columns=columns, rows=2, name="pay", budget=dt.Budget(1.0)) as session:
            session.quote(calls, epsilon=1.0)

    return work


def charge(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """Charges to the ledger, each durable."""
    folder = tempfile.TemporaryDirectory(prefix="dither-bench-")
    ledger, number = SqliteLedger(Path(folder.name) / "ledger.sqlite"), iter(range(1 << 60))
    atexit.register(folder.cleanup)
    ledger.register("pay", dt.Budget(1_000_000.0))

    def work() -> None:
        for _ in range(options["each"]):
            ledger.charge("pay", dt.Loss(0.001), question={"number": next(number)})

    return work


def insert_sqlite(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """Bare inserts of one row, each committed durably, with the same settings as a ledger's file."""
    folder = tempfile.TemporaryDirectory(prefix="dither-bench-")
    connection = sqlite3.connect(Path(folder.name) / "rows.sqlite", isolation_level=None)
    atexit.register(folder.cleanup)
    for setting in ("journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = 1"):
        connection.execute(f"PRAGMA {setting}").fetchall()
    connection.execute("CREATE TABLE bare (number INTEGER PRIMARY KEY, body TEXT)")

    def work() -> None:
        for _ in range(options["each"]):
            connection.execute("INSERT INTO bare (body) VALUES (?)", ("x" * 200,))

    return work


def insert_postgres(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """Bare inserts of one row, each committed durably."""
    import psycopg

    connection = psycopg.connect(database(), autocommit=True)
    connection.execute("CREATE TABLE bare (number BIGSERIAL PRIMARY KEY, body TEXT)")

    def work() -> None:
        for _ in range(options["each"]):
            connection.execute("INSERT INTO bare (body) VALUES (%s)", ("x" * 200,))

    return work
