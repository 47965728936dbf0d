"""Graphs in databases, asked over HTTP: registered, read and refused as tables there are."""

import contextlib
import os
import pickle
import sqlite3
from pathlib import Path

import pytest

from curators import CuratorProcess, with_dataset
from dither.interfaces.http.fork_server import ForkServer
from dither.interfaces.http.planners import HELPER

pytestmark = pytest.mark.slow

SCHEMA = """[dataset]
source = "{source}"
table = "{table}"
[graph]
vertices = 6
ends = ["a", "b"]
{more}
[budget]
epsilon = 2000
"""
COPIES = ("people", "laid")
"""One table is that of one dataset: its copies are those of others."""
WEIGHTED = 'weight = "cost"\ncap = 10'
ROWS = [(0, 1, 2.0), (1, 2, 3.0), (2, 0, 9.0), (3, 4, 1.0)]
"""One triangle; its lightest spanning forest costs 2 + 3 + 1."""
ODD = [(1, 0, 2.0), (5, 5, 1.0), (None, 3, 1.0), (6, 1, 1.0), (-1, 2, 1.0), (0.5, 1, 1.0), (1e300, 2, None)]
"""Records that are no edge, or one that is there already."""
PASSWORD = "DITHER_SOURCE_GRAPHS"


def _filled(execute) -> None:
    """Tables of edges with odd records, and of edges with weights."""
    execute("CREATE TABLE friendships (a DOUBLE PRECISION, b DOUBLE PRECISION, cost DOUBLE PRECISION)")
    execute("CREATE TABLE roads (a INTEGER, b INTEGER, cost DOUBLE PRECISION)")
    for table, rows in (("friendships", ROWS + ODD), ("roads", ROWS)):
        written = ", ".join(f"({', '.join('NULL' if one is None else repr(one) for one in row)})" for row in rows)
        execute(f"INSERT INTO {table} VALUES {written}")
    for copy in COPIES:
        execute(f"CREATE TABLE {copy} AS SELECT * FROM friendships")


def _in_files(folder: Path) -> None:
    import duckdb

    with duckdb.connect(str(folder / "graphs.duckdb")) as connection:
        _filled(connection.execute)
    with contextlib.closing(sqlite3.connect(folder / "graphs.sqlite")) as connection, connection:
        _filled(connection.execute)


def _asked(server, name, kind, epsilon=500.0, **more):
    body = {"query": {"kind": kind}, "epsilon": epsilon} | more
    quoted = server.call("POST", f"/v1/datasets/{name}/quote", body)
    assert quoted[0] == 200, quoted
    return server.call("POST", f"/v1/datasets/{name}/releases", body)


@pytest.fixture
def server(tmp_path, postgres_schema, monkeypatch):
    """A server with an empty data folder; the address of the database is in its environment."""
    import psycopg

    with psycopg.connect(postgres_schema, autocommit=True) as connection:
        _filled(connection.execute)
    scheme, rest = postgres_schema.split("://")
    monkeypatch.setenv(PASSWORD, rest)
    home = with_dataset(tmp_path / "home", epsilon=9)
    _in_files(home / "data")
    # One of the schemas is laid in the folder, the others are sent.
    laid = SCHEMA.format(source=f"{scheme}://${{{PASSWORD}}}", table="laid", more="")
    (home / "datasets" / "laid.toml").write_text(laid)
    running = CuratorProcess(home).start()
    running.source, running.address = f"{scheme}://${{{PASSWORD}}}", postgres_schema
    try:
        yield running
    finally:
        assert running.stop() == 0


def test_graphs_in_databases_are_registered_and_asked(server):
    """PostgreSQL, DuckDB and SQLite; private edges, people, private weights: by a request and by a file."""
    asked = {
        "friends": (server.source, "friendships", "", "triangles", 1, 1),
        "people": (server.source, "people", 'neighbours = "node"', "edges", 4, 4),
        "roads": (server.source, "roads", WEIGHTED, "mst_cost", 6, 1),
        "duck": ("graphs.duckdb", "friendships", "", "triangles", 1, 1),
        "lite": ("graphs.sqlite", "roads", WEIGHTED, "mst_cost", 6, 1),
        "laid": (None, None, None, "triangles", 1, 1),
    }
    for name, (source, table, more, kind, expected, near) in asked.items():
        if source is not None:
            text = SCHEMA.format(source=source, table=table, more=more)
            status, payload, _ = server.call("POST", "/v1/datasets", {"name": name, "schema": text})
            assert status == 201, (name, payload)
            assert PASSWORD not in str(payload)
        status, payload, _ = _asked(server, name, kind)
        assert status == 200, (name, payload)
        assert payload["releases"][0]["value"] == pytest.approx(expected, abs=near), name
        payload = server.call("GET", f"/v1/datasets/{name}")[1]
        assert (payload["kind"], payload["vertices"]) == ("graph", 6)
        assert payload["source_changed"] in (False, None)  # (PostgreSQL may count the rows of the fixture late)


def test_sources_of_graphs_that_a_server_does_not_open(server):
    """As those of tables: other variables, other engines, files elsewhere, and columns that are not there."""
    refused = {
        "postgresql://${HOME}@127.0.0.1/x": "variables whose names begin with",
        "${DITHER_SOURCE_GRAPHS}": "must be a file below",
        "spark://somewhere": "must be a file below",
        "../server.db": "must be a file below",
        "/etc/passwd": "must be a file below",
        "graphs.duckdb": "must be",
    }
    for source, reason in refused.items():
        text = SCHEMA.format(source=source, table="absent", more="")
        status, payload, _ = server.call("POST", "/v1/datasets", {"name": "wrong", "schema": text})
        assert status in (400, 422), (source, payload)
        assert reason in payload["detail"], (source, payload)
        assert os.environ[PASSWORD] not in str(payload)
    text = SCHEMA.format(source=server.source, table="friendships", more="").replace('"b"', '"z"')
    status, payload, _ = server.call("POST", "/v1/datasets", {"name": "wrong", "schema": text})
    assert (status in (400, 422), "z" in payload["detail"]) == (True, True), payload
    assert "wrong" not in str(server.call("GET", "/v1/datasets")[1])


def test_a_database_that_changes_or_is_gone(server):
    """Owners learn that it changed; analysts that nothing was charged where it is gone, and not where it was."""
    import psycopg

    text = SCHEMA.format(source=server.source, table="roads", more=WEIGHTED)
    assert server.call("POST", "/v1/datasets", {"name": "roads", "schema": text})[0] == 201
    assert _asked(server, "roads", "mst_cost")[0] == 200
    with psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute("INSERT INTO roads VALUES (4, 5, 2)")
        # PostgreSQL says some seconds late that rows have changed: at most one question finds that out by itself.
        answers = [_asked(server, "roads", "mst_cost", again=True) for _ in range(2)]
        assert answers[1][0] == 200, answers[1][1]["detail"]
        assert answers[1][1]["releases"][0]["value"] == pytest.approx(8, abs=1)
        connection.execute("DROP TABLE roads")
    spent = server.call("GET", "/v1/datasets/roads/budget")[1]["spent"]
    body = {"query": {"kind": "mst_cost"}, "epsilon": 1, "again": True}
    status, payload, _ = server.call("POST", "/v1/datasets/roads/releases", body)
    assert status >= 400, payload
    assert "nothing was charged" in payload["detail"]
    assert not any(word in payload["detail"] for word in ("127.0.0.1", "postgres", "friendships", "table"))
    assert server.call("GET", "/v1/datasets/roads/budget")[1]["spent"] == spent


def test_a_helper_that_plans_has_no_secret_of_the_server(monkeypatch):
    """It reads public edges at an address that an owner chose: only variables of sources are left to it."""
    monkeypatch.setenv("PGPASSWORD", "hunter2")
    monkeypatch.setenv(PASSWORD, "known")
    started = ForkServer.started()
    try:
        helper = started.start(HELPER)
        for name, expected in (("PGPASSWORD", None), ("PGPASSFILE", os.devnull), (PASSWORD, "known")):
            helper.connection.send_bytes(pickle.dumps((os.getenv, name)))
            assert pickle.loads(helper.connection.recv_bytes()) == expected
        helper.end()
    finally:
        started.close()
