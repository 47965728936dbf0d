"""What operators meet: full disks, open folders, odd options, logs, and messages that name no place on the machine."""

import asyncio
import json
import logging
import math
import os
import sqlite3
import stat
import threading

import pytest
from click.testing import CliRunner

from curators import CuratorProcess, call, median, with_dataset
from dither.errors import InvalidArgument, LedgerUnavailable
from dither.interfaces.cli.main import main
from dither.interfaces.http import health as health_module
from dither.interfaces.http import telemetry
from dither.interfaces.http.catalog import Dataset
from dither.interfaces.http.health import Health
from dither.interfaces.http.server_state import Curator, ServerSettings

ASK = "/v1/datasets/pay/releases"


@pytest.fixture
def curator(tmp_path):
    """Everything that a server holds, without a server."""
    made = Curator(with_dataset(tmp_path / "home"))
    yield made
    made.close()


@pytest.fixture
def client(curator):
    """Requests without a socket, with the token of an owner."""
    from starlette.testclient import TestClient

    from dither.interfaces.http.app import create_app

    secret = curator.first_owner()
    with TestClient(create_app(curator.home, curator=curator), headers={"Authorization": f"Bearer {secret}"}) as one:
        yield one


def test_tokens_and_health_have_threads_of_their_own(curator, client):
    """Whatever fills the other threads: whoever comes is recognised, and health is told."""
    end = threading.Event()
    try:
        for _ in range(64):
            curator.threads._short.submit(end.wait)
            curator.threads._long.submit(end.wait)
        assert client.get("/healthz").status_code == 200
        assert client.get("/v1/me").status_code == 200
    finally:
        end.set()


def test_a_store_that_does_not_answer_is_not_well(curator, client, monkeypatch):
    """Health says so in time, and tokens are looked up meanwhile."""
    end = threading.Event()
    monkeypatch.setattr(health_module, "SLOWEST", 0.2)
    monkeypatch.setattr(curator.health, "_seen", (-math.inf, None))
    monkeypatch.setattr(curator.store, "check_writable", lambda: end.wait(600))
    try:
        for _ in range(3):
            assert client.get("/healthz").status_code == 503
        assert client.get("/v1/me").status_code == 200
    finally:
        end.set()


def test_an_iterator_that_ends_early_is_a_failure_and_no_hang(curator, client, monkeypatch):
    """A future can't end with StopIteration: the request would never be answered."""
    monkeypatch.setattr(curator.store, "find", lambda _: next(iter(())))
    assert client.get("/v1/me").status_code == 500


def test_a_query_that_the_server_does_not_offer_is_refused():
    """By name, with the reason; no class is a query."""
    import dither as dt
    from dither.queries.wire import to_json

    with pytest.raises(InvalidArgument, match="a place in a public chain: ask it here"):
        to_json(dt.ChainSum([1, 2]))
    with pytest.raises(InvalidArgument, match="a query object such as"):
        to_json(dt.KMeans)


def test_health_is_bad_when_nothing_can_be_written(curator, client, monkeypatch):
    """A disk without room: 503 at the next look, and 200 again when there is room."""
    for name in ("EVERY", "OLDEST"):
        monkeypatch.setattr(health_module, name, 0.0)
    assert client.get("/healthz").status_code == 200
    real = os.write
    monkeypatch.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    response = client.get("/healthz")
    assert (response.status_code, response.json()["code"]) == (503, "ledger-unavailable")
    monkeypatch.setattr(os, "write", real)
    assert client.get("/healthz").status_code == 200
    assert not list(curator.home.glob(".probe*"))


def test_health_looks_once_in_a_while_and_keeps_nobody_waiting(curator, client, monkeypatch):
    """However often it is asked, by whomever; and while a slow disk is looked at, the last look counts."""
    looks, end = [], threading.Event()
    monkeypatch.setattr(curator.health, "_seen", (-math.inf, None))
    monkeypatch.setattr(curator.ledger, "datasets", lambda: looks.append(1))
    monkeypatch.setattr(health_module, "EVERY", 3_600.0)
    assert {client.get("/healthz").status_code for _ in range(20)} == {200}
    assert len(looks) == 1
    monkeypatch.setattr(health_module, "EVERY", 0.0)
    monkeypatch.setattr(health_module, "OLDEST", 3_600.0)
    monkeypatch.setattr(curator.store, "check_writable", lambda: end.wait(600))
    try:
        assert {client.get("/healthz").status_code for _ in range(20)} == {200}
        assert len(looks) == 2
    finally:
        end.set()


def test_health_needs_a_store_that_can_be_written(curator, monkeypatch):
    """A file that became read-only under the server."""
    curator.store.close()
    file = curator.home / "server.db"

    def connected(*, writes: bool) -> sqlite3.Connection:
        return sqlite3.connect(f"file:{file}?mode=ro", uri=True, isolation_level=None, check_same_thread=False)

    monkeypatch.setattr(curator.store._database, "connect", connected)
    health = Health(curator.ledger, curator.store, None)
    with pytest.raises(LedgerUnavailable):
        asyncio.run(health.check())
    health.close()


@pytest.mark.parametrize("rate", ["inf", "nan", "0", "-1", "1e9"])
def test_rates_that_are_none(tmp_path, rate):
    """An error that says what is accepted, and no traceback."""
    result = CliRunner().invoke(main, ["serve", "--home", str(tmp_path / "home"), "--rate", rate])
    assert result.exit_code != 0
    assert "rate must" in result.output
    assert "1,000,000" in result.output


@pytest.mark.slow
def test_a_home_is_closed_to_others(tmp_path):
    """One of mode 755 becomes 700, which the log says; what the server and the demonstration write is its own.

    In the log, templates of other libraries are shown without what would be filled in, and without the percent signs.
    """
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    home.chmod(0o755)
    server = CuratorProcess(home, "--demo").start()
    server.stop()
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert "home closed to others" in server.logs()
    kept = [*(home / "data").iterdir(), *(home / "datasets").iterdir(), *home.glob("*.db*")]
    assert len(kept) >= 6
    assert {stat.S_IMODE(one.stat().st_mode) for one in kept} == {0o600}
    lines = [json.loads(line) for line in server.logs().splitlines()]
    assert lines
    assert not [one for one in lines if "%" in one["event"]]


def test_what_is_said_again_and_again_is_said_a_few_times(monkeypatch):
    """Accept errors once wrote a megabyte a second; how many were left out is said later."""
    now = [0.0]
    monkeypatch.setattr(telemetry.time, "monotonic", lambda: now[0])
    sparing = telemetry.Sparing()

    def line(name: str = "asyncio", text: str = "socket.accept() out of system resource") -> logging.LogRecord:
        return logging.LogRecord(name, logging.ERROR, "", 0, text, (), None)

    assert sum(sparing.filter(line()) for _ in range(10_000)) == telemetry.MOST_ALIKE
    assert sparing.filter(line(text="another"))
    assert all(sparing.filter(line("dither.server", "request")) for _ in range(100))
    now[0] = 61.0
    later = line()
    assert sparing.filter(later)
    assert json.loads(telemetry.JsonLines().format(later))["left_out"] == 10_000 - telemetry.MOST_ALIKE


def test_sources_are_looked_at_beside_short_work(client, monkeypatch):
    """An owner who looks at a dataset, changes or retires it may wait for its source; nobody else waits for that."""
    threads = []
    monkeypatch.setattr(Dataset, "source_has_changed", lambda _: threads.append(threading.current_thread().name))
    for method, body in (("GET", None), ("PATCH", {"answer_seconds": 1}), ("DELETE", None)):
        assert client.request(method, "/v1/datasets/pay", json=body).status_code == 200
    assert len(threads) == 3
    assert all(one.startswith("long") for one in threads)


@pytest.mark.slow
def test_the_page_and_unknown_addresses_have_a_limit(tmp_path):
    """Files, the API's description and addresses with nothing there: counted by the address of the connection."""
    server = CuratorProcess(with_dataset(tmp_path / "home"), "--rate", "0.01").start()
    try:
        for path in ("/", "/openapi.json", "/nothing"):
            responses = [call(server.port, "GET", path) for _ in range(320)]
            refused = [one for one in responses if one[0] == 429]
            assert refused, path
            assert refused[0][1]["code"] == "too-many-requests"
            assert int(refused[0][2]["Retry-After"]) >= 1
    finally:
        server.stop()


@pytest.mark.slow
def test_analysts_are_not_told_where_things_lie(tmp_path):
    """Broken schemas, sources, ledgers and stores: no error names a folder, or a line of a schema, to an analyst."""
    home = with_dataset(tmp_path / "secret-home", epsilon=10)
    server = CuratorProcess(home, seconds=0.01).start()
    server.token("alice")
    schema, source = home / "datasets" / "pay.toml", home / "data" / "pay.csv"
    good, rows = schema.read_text(), source.read_text()
    responses = []

    def collect(number: int) -> None:
        for method, path, body in (
            ("GET", "/v1/datasets", None),
            ("GET", "/v1/datasets/pay", None),
            ("GET", "/v1/datasets/pay/budget", None),
            ("POST", "/v1/datasets/pay/quote", median(0.01 + number / 1000)),
            ("POST", ASK, median(0.01 + number / 1000)),
            ("GET", ASK, None),
            ("GET", "/healthz", None),
        ):
            responses.append(server.call(method, path, body, token="alice"))

    try:
        schema.write_text(good.replace("[budget]", 'password = "hunter2"\n[budget'))
        collect(1)
        schema.write_text(good.replace("pay.csv", "../../etc/hunter2.csv"))
        collect(2)
        schema.write_text(good)
        source.unlink()
        collect(3)
        source.write_text("other,columns\n1,2\n")
        collect(4)
        source.write_text(rows)
        ledger = home / "ledger.db"
        ledger.rename(home / "elsewhere")
        ledger.mkdir()
        collect(5)
        ledger.rmdir()
        (home / "elsewhere").rename(ledger)
    finally:
        server.kill()
    assert [one for one in responses if one[0] >= 400]
    for status, body, _ in responses:
        assert "secret-home" not in json.dumps(body), body
        assert "hunter2" not in json.dumps(body), body
        assert status != 500, body


def test_folders_are_hidden_in_every_problem(tmp_path):
    """Whatever raises it, and whoever reads it."""
    from dither.interfaces.http.problems import problem

    (tmp_path / "books").mkdir()
    made = Curator(tmp_path / "place", tmp_path / "books" / "l.db", ServerSettings(roots=(tmp_path / "root",)))
    try:
        for file in ("place/data/x.csv", "root/y.csv", "books/l.db"):
            detail = problem(LedgerUnavailable(f"{tmp_path / file} can't be read")).detail
            assert str(tmp_path) not in detail
            assert file.rpartition("/")[2] in detail
    finally:
        made.close()


def test_mistakes_of_ours_in_the_store_are_no_outage(curator):
    """Only what the driver, or the machine, says about the database is one."""
    with pytest.raises(ValueError, match="ours"), curator.store._work():
        raise ValueError("ours")
    with pytest.raises(LedgerUnavailable), curator.store._work() as work:
        work.all("SELECT nothing FROM nowhere")
    with pytest.raises(LedgerUnavailable), curator.store._work():
        raise OSError(5, "Input/output error")
    assert curator.store.tokens() == []


@pytest.mark.parametrize("request_id", ["\n", "a\tb", "\x7f", "\u2028"])
def test_request_ids_can_be_printed(client, request_id):
    """They stand in logs, ledgers and headers."""
    response = client.post(ASK, json=median(0.1, request_id=request_id))
    assert (response.status_code, response.json()["code"]) == (422, "invalid-argument")


def test_request_ids_without_a_character_are_refused(client):
    """Half of a surrogate pair once was an unforeseen failure."""
    body = b'{"query": {"kind": "median", "column": "pay"}, "epsilon": 0.1, "request_id": "\\ud800"}'
    response = client.post(ASK, content=body, headers={"Content-Type": "application/json"})
    assert (response.status_code, response.json()["code"]) == (400, "malformed")
