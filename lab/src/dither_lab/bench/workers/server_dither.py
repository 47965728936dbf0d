"""A real server process asked by many analysts at once, the ledger behind it beside a bare insert, and quotes."""

from __future__ import annotations

import atexit
import http.client
import json
import os
import sqlite3
import subprocess
import sys
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
QUESTION = {"query": {"kind": "median", "column": "pay"}, "epsilon": 0.001, "again": True}


class Server:
    """``dither serve`` in a process of its own, ended with this one."""

    def __init__(self, slot: float, ledger: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="dither-bench-")
        home = Path(self._folder.name) / "home"
        for part in ("data", "datasets"):
            (home / part).mkdir(parents=True)
        (home / "data" / "pay.csv").write_text("pay\n" + "\n".join(str(100 + 37 * k) for k in range(200)) + "\n")
        (home / "datasets" / "pay.toml").write_text(SCHEMA)
        words = ["serve", "--json", "--home", str(home), "--port", "0", "--answer-seconds", str(slot)]
        words += ["--ledger", database()] if ledger == "postgres" else []
        self._log = (Path(self._folder.name) / "log").open("w+")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dither", *words, "--rate", "100000"],
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        atexit.register(self.stop)
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            self._log.seek(0)
            raise RuntimeError(f"the server does not start: {self._log.read()[-150:]}")
        payload = json.loads(line)
        self._port, self._token = urlsplit(payload["address"]).port, payload["tokens"]["owner"]

    def stop(self) -> None:
        """End it."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._log.close()
        self._folder.cleanup()

    def ask(self, method: str, path: str, body: Any, times: int) -> None:
        """The same request several times, on one connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        for _ in range(times):
            connection.request(method, path, body=None if body is None else json.dumps(body), headers=headers)
            response = connection.getresponse()
            text = response.read()
            if response.status != 200:
                raise RuntimeError(f"{response.status}: {text[:100]!r}")
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


def _together(options: dict[str, Any], method: str, path: str, body: Any) -> Callable[[], None]:
    server, analysts = Server(options["slot"], options["ledger"]), options["analysts"]
    pool = ThreadPoolExecutor(analysts)

    def work() -> None:
        for done in [pool.submit(server.ask, method, path, body, options["each"]) for _ in range(analysts)]:
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
