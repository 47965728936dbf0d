"""Worker processes: aborts, kills and overruns cost one question; the server answers others meanwhile; none is left."""

import contextlib
import json
import os
import signal
import socket
import sys
import threading
from pathlib import Path

import pytest

import dither as dt
from curators import CuratorProcess, median, until, with_dataset
from dither import errors
from dither.interfaces.http import workers
from dither.interfaces.http.channel import Channel, error_message, raise_error
from dither.interfaces.http.problems import Refused
from dither.interfaces.http.telemetry import WorkFailed, log_failure, places_of
from dither.ledger import open_ledger
from odd_workers import GO_ON, children_of, is_there, processes_below, workers_of

ASK = "/v1/datasets/pay/releases"
WAITING = {"query": {"kind": "minimum", "column": "pay"}, "epsilon": 0.25}
HOLDING = {"query": {"kind": "mean", "column": "pay"}, "epsilon": 0.25}
ABORTING = {"query": {"kind": "maximum", "column": "pay"}, "epsilon": 0.25}


@pytest.fixture
def server(tmp_path):
    """A server with odd workers."""
    one = CuratorProcess(with_dataset(tmp_path / "home", epsilon=100), odd=True).start()
    yield one
    one.stop()


def _spent(server: CuratorProcess) -> float:
    return server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"]


def _asked(server: CuratorProcess, body: dict, request: str) -> str:
    """Ask in the background; where the job is."""
    status, payload, headers = server.call("POST", ASK, body | {"wait": False, "request_id": request})
    assert status == 202, payload
    return headers["Location"]


def _outcome(server: CuratorProcess, place: str) -> dict:
    until(lambda: server.call("GET", place)[1]["state"] != "running", 120)
    return server.call("GET", place)[1]


def _is_read(server: CuratorProcess, statistic: str) -> None:
    until((server.home / "data" / f"reading-{statistic}").exists, 120)


def _go_on(server: CuratorProcess) -> None:
    (server.home / "data" / GO_ON).touch()


def _kill_workers(server: CuratorProcess) -> None:
    for one in workers_of(server.process.pid):
        os.kill(one, signal.SIGKILL)


def _is_charged_failure(job: dict) -> None:
    assert job["state"] == "failed"
    assert job["problem"]["code"] == "worker-ended"
    assert "stays charged" in job["problem"]["detail"]


def _checked(server: CuratorProcess, requests: set[str]) -> None:
    """The server ends well; its ledger is in order and has one charge for each request."""
    assert server.stop() == 0
    with open_ledger(server.home / "ledger.db", create=False) as ledger:
        assert ledger.verify().ok
        charges = [entry.request for entry in ledger.entries("pay") if entry.kind == "charge"]
        assert ledger.spent("pay").epsilon == 0.25 * len(charges)
    assert sorted(charges) == sorted(requests)


@pytest.mark.slow
def test_a_killed_worker_costs_one_question(server):
    """The question it read is a charged failure; the next is answered by a new worker; a retry pays nothing more."""
    place = _asked(server, WAITING, "first")
    _is_read(server, "Minimum")
    until(lambda: server.call("GET", place)[1]["progress"]["share"] == 0.5)  # owners see how far it is
    _kill_workers(server)
    _is_charged_failure(_outcome(server, place))
    assert _spent(server) == 0.25
    assert server.call("POST", ASK, median(0.25, request_id="second"))[0] == 200
    _go_on(server)
    status, payload, _ = server.call("POST", ASK, WAITING | {"request_id": "first"})
    assert (status, payload["request_id"]) == (200, "first"), payload
    assert _spent(server) == 0.5
    _checked(server, {"first", "second"})


@pytest.mark.slow
def test_an_abort_costs_one_question(server):
    """As DuckDB's own checks do: the server lives, and says so of this question only; the log holds no word of it."""
    for request in ("first", "second"):
        status, payload, _ = server.call("POST", ASK, ABORTING | {"request_id": request, "again": True})
        assert (status, payload["code"]) == (503, "worker-ended")
        assert server.call("POST", ASK, median(0.25, request_id=f"{request}-good", again=True))[0] == 200
    assert _spent(server) == 1.0
    assert '"code": "worker-ended"' in server.logs()
    assert "Abort" not in server.logs()
    (ended, *_) = [line for line in map(json.loads, server.logs().splitlines()) if line["event"] == "worker ended"]
    assert (ended["dataset"], ended["exit_code"], ended["had_replied"]) == ("pay", -signal.SIGABRT, True)
    _checked(server, {"first", "second", "first-good", "second-good"})


SUM = {"query": {"kind": "sum", "column": "pay"}, "epsilon": 0.25}
QUANTILE = {"query": {"kind": "quantile", "column": "pay", "q": 0.9}, "epsilon": 0.25}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "code"), [(SUM, "worker-ended"), (QUANTILE, "source-failed")], ids=["abort", "source"]
)
def test_a_failure_after_a_draw_ends_the_request(server, body, code):
    """It may be what the draw decided: the same request is not drawn for again, and another one is charged."""
    status, payload, _ = server.call("POST", ASK, body | {"request_id": "first"})
    assert (status, payload["code"]) == (503, code)
    assert "secret" not in payload["detail"]
    assert "a number had been drawn" in payload["detail"]
    assert "pays nothing more" not in payload["detail"]
    status, payload, _ = server.call("POST", ASK, body | {"request_id": "first"})
    assert (status, payload["code"]) == (409, "contradiction"), payload
    assert "nothing was charged this time" in payload["detail"]
    assert server.call("POST", ASK, body | {"request_id": "second"})[0] == 503
    assert _spent(server) == 0.5
    assert [one["releases"] for one in server.call("GET", ASK)[1]["releases"]] == [None, None]
    _checked(server, {"first", "second"})


@pytest.mark.slow
def test_a_question_that_drew_is_not_read_again_beside_others(server):
    """Of several that were read nobody knows which one ended the process: one that drew may be why it did."""
    place = _asked(server, WAITING, "innocent")
    _is_read(server, "Minimum")
    status, payload, _ = server.call("POST", ASK, SUM | {"request_id": "guilty"})
    assert (status, payload["code"]) == (503, "worker-ended")
    assert "a number had been drawn" in payload["detail"]
    assert (server.home / "data" / "reading-Sum").read_text() == "."  # once
    _go_on(server)
    assert _outcome(server, place)["state"] == "done"
    _checked(server, {"innocent", "guilty"})


@pytest.mark.slow
def test_an_overrun_after_a_draw_ends_the_request(tmp_path):
    """How long it takes may be what the draw decided."""
    server = CuratorProcess(with_dataset(tmp_path / "home", epsilon=100), "--longest-seconds", "5", odd=True).start()
    try:
        body = {"query": {"kind": "trimmed_mean", "column": "pay"}, "epsilon": 0.25, "request_id": "slow"}
        status, payload, _ = server.call("POST", ASK, body)
        assert (status, payload["code"]) == (503, "worker-ended")
        assert "a number had been drawn" in payload["detail"]
        _go_on(server)
        assert server.call("POST", ASK, body)[0] == 409
        assert _spent(server) == 0.25
    finally:
        server.stop()


@pytest.mark.slow
def test_others_are_answered_when_one_question_aborts(server):
    """What was read in the same process is read again, alone: only the question that aborts there too has failed."""
    place = _asked(server, WAITING, "innocent")
    _is_read(server, "Minimum")
    status, payload, _ = server.call("POST", ASK, ABORTING | {"request_id": "guilty"})
    assert (status, payload["code"]) == (503, "worker-ended")
    _go_on(server)
    job = _outcome(server, place)
    assert job["state"] == "done", job
    _checked(server, {"innocent", "guilty"})


@pytest.mark.slow
def test_an_overrun_costs_one_question(tmp_path):
    """The process is ended; what else it read is read again and answered."""
    server = CuratorProcess(with_dataset(tmp_path / "home", epsilon=100), "--longest-seconds", "10", odd=True).start()
    try:
        slow = _asked(server, WAITING, "slow")
        _is_read(server, "Minimum")
        other = _asked(server, WAITING | {"again": True}, "other")
        until(lambda: _spent(server) == 0.5)
        until(lambda: server.call("GET", slow)[1]["progress"]["stage"] == "ready", 120)
        _go_on(server)
        _is_charged_failure(_outcome(server, slow))
        job = _outcome(server, other)
        assert job["state"] == "done", job
        _checked(server, {"slow", "other"})
    finally:
        server.stop()


@pytest.mark.slow
def test_the_server_answers_while_a_worker_holds_its_lock(server):
    """Health, budgets and quotes come while a question keeps the interpreter of its worker to itself."""
    place = _asked(server, HOLDING, "first")
    _is_read(server, "Mean")
    for _ in range(50):
        assert server.call("GET", "/healthz", token=None)[0] == 200
    assert _spent(server) == 0.25
    assert server.call("POST", "/v1/datasets/pay/quote", median(0.25))[0] == 200
    assert server.call("GET", place)[1]["progress"]["stage"] == "running"
    _go_on(server)
    assert _outcome(server, place)["state"] == "done"
    _checked(server, {"first"})


@pytest.mark.slow
def test_a_question_that_waits_behind_a_killed_one_is_answered(server):
    """It was not charged yet: a new worker takes it, and it is charged once."""
    held = _asked(server, HOLDING, "held")
    _is_read(server, "Mean")
    behind = _asked(server, median(0.25), "behind")
    until(lambda: server.call("GET", behind)[1]["progress"]["stage"] == "running")
    assert _spent(server) == 0.25
    _kill_workers(server)
    _is_charged_failure(_outcome(server, held))
    job = _outcome(server, behind)
    assert job["state"] == "done", job
    _checked(server, {"held", "behind"})


@pytest.mark.slow
def test_no_worker_outlives_its_server(server):
    """kill -9 of the server ends its workers, even one that can't look; so does SIGTERM."""
    _asked(server, HOLDING, "first")
    _is_read(server, "Mean")
    started = workers_of(server.process.pid)
    assert started
    server.kill()
    until(lambda: not any(is_there(one) for one in started))
    (server.home / "data" / "reading-Mean").unlink()
    server.start()
    assert server.call("POST", ASK, median(0.25, request_id="second"))[0] == 200
    started = workers_of(server.process.pid)
    assert started
    _checked(server, {"first", "second"})
    until(lambda: not any(is_there(one) for one in started))


@pytest.mark.slow
def test_workers_drain_with_their_server(server):
    """A service manager sends SIGTERM to all processes: the question under way is answered all the same."""
    answers = []
    asking = threading.Thread(
        target=lambda: answers.append(server.call("POST", ASK, WAITING | {"request_id": "first"}))
    )
    asking.start()
    _is_read(server, "Minimum")
    process = server.process
    for one in (*workers_of(process.pid), process.pid):
        os.kill(one, signal.SIGTERM)
    _go_on(server)
    asking.join()
    assert answers[0][0] == 200, answers
    assert process.wait(60) == 0
    _checked(server, {"first"})


@pytest.mark.slow
def test_a_program_ends_with_its_worker(server, isolated):
    """Its rows are read, and its sandboxes run, below the worker: when that is killed, nothing of it goes on."""
    source = "def middle(table):\n    return float(len(table))\n"
    query = {"kind": "program", "source": source, "function": "middle", "columns": ["pay"], "bounds": [0, 1000]}
    place = _asked(server, {"query": query | {"blocks": 8, "slot": 60}, "epsilon": 0.25}, "program")
    until(lambda: _spent(server) == 0.25, 120)
    (worker,) = [one for one in workers_of(server.process.pid) if children_of(one)]
    running = processes_below(worker)
    assert running
    os.kill(worker, signal.SIGKILL)
    until(lambda: not any(is_there(one) for one in running))
    until(lambda: server.call("GET", place)[1]["progress"]["stage"] == "ready", 120)
    assert server.call("POST", ASK, median(0.25, request_id="next"))[0] == 200
    _checked(server, {"program", "next"})


WEIGHTED = '[dataset]\nsource = "roads.csv"\n[graph]\nvertices = 4\nweight = "cost"\ncap = 10\n[budget]\nepsilon = 9\n'
FRIENDS = '[dataset]\nsource = "roads.csv"\n[graph]\nvertices = 4\n[budget]\nepsilon = 9\n'
STAFF = """[dataset]
source = "{source}"
table = "staff"
rows = 100
[budget]
epsilon = 9
[columns.pay]
type = "integer"
bounds = [0, 1000]
"""


@pytest.mark.slow
def test_every_source_is_read_by_its_worker(tmp_path, postgres_schema):
    """Tables in files and in PostgreSQL, graphs with private edges and with private weights: the server opens none."""
    import psycopg

    home = with_dataset(tmp_path / "home", epsilon=9)
    (home / "data" / "roads.csv").write_text("source,target,cost\n0,1,2\n1,2,3\n2,3,4\n3,0,9\n0,2,1\n")
    (home / "datasets" / "roads.toml").write_text(WEIGHTED)
    (home / "data" / "friends.csv").write_text("source,target\n0,1\n1,2\n2,0\n")
    with psycopg.connect(postgres_schema, autocommit=True) as connection:
        connection.execute("CREATE TABLE staff (pay INTEGER NOT NULL)")
        connection.execute("INSERT INTO staff SELECT 5 * one FROM generate_series(1, 100) one")
    server = CuratorProcess(home).start()
    try:
        registered = {"friends": FRIENDS.replace("roads", "friends"), "staff": STAFF.format(source=postgres_schema)}
        for name, schema in registered.items():
            status, payload, _ = server.call("POST", "/v1/datasets", {"name": name, "schema": schema})
            assert status == 201, payload
        for name, kind in (("pay", "median"), ("staff", "median"), ("roads", "mst_cost"), ("friends", "triangles")):
            query = {"kind": kind} | ({"column": "pay"} if kind == "median" else {})
            for path in ("quote", "releases"):
                status, payload, _ = server.call(
                    "POST", f"/v1/datasets/{name}/{path}", {"query": query, "epsilon": 8.1}
                )
                assert status == 200, payload
        assert len(workers_of(server.process.pid)) == 5  # (one of them in reserve)
        opened = Path(f"/proc/{server.process.pid}/maps").read_text()
        assert "duckdb" not in opened
    finally:
        assert server.stop() == 0


@pytest.mark.slow
def test_few_workers_are_kept(tmp_path, monkeypatch):
    """Of more datasets than workers may be kept, those not asked for the longest time lose theirs, and get it again."""
    from starlette.testclient import TestClient

    from dither.interfaces.http.app import create_app
    from dither.interfaces.http.server_state import Curator

    monkeypatch.setattr("dither.interfaces.http.workers.MOST", 1)
    home = with_dataset(tmp_path / "home", epsilon=10)
    (home / "data" / "more.csv").write_bytes((home / "data" / "pay.csv").read_bytes())
    (home / "datasets" / "more.toml").write_text(
        (home / "datasets" / "pay.toml").read_text().replace("pay.csv", "more.csv")
    )
    curator, before = Curator(home), set(workers_of(os.getpid()))
    secret = curator.first_owner()
    with TestClient(create_app(home, curator=curator), headers={"Authorization": f"Bearer {secret}"}) as client:
        for name in ("pay", "more", "pay", "more"):
            answer = client.post(f"/v1/datasets/{name}/releases", json=median(0.5, again=True))
            assert answer.status_code == 200, answer.text
            until(lambda: len(set(workers_of(os.getpid())) - before) == 2)  # one kept, one in reserve
    until(lambda: set(workers_of(os.getpid())) <= before)


@pytest.mark.parametrize(
    "error",
    [
        errors.InvalidArgument("pay", 1, "must be 2"),
        errors.SourceFailed("the source is not there; nothing was charged"),
        errors.NotIsolated("bubblewrap"),
        errors.BudgetExceeded(dataset="pay", asked=dt.Loss(1.0), left=dt.Loss(0.5)),
    ],
)
def test_errors_cross_with_their_class_and_text(error):
    """What was raised on purpose in a worker is raised in the server; of anything else only its type and our lines."""
    with pytest.raises(type(error)) as crossed:
        raise_error(error_message(error))
    assert str(crossed.value) == str(error)
    assert (crossed.value.code, crossed.value.status) == (error.code, error.status)
    with pytest.raises(WorkFailed) as failed:
        raise_error(error_message(MemoryError("777123")))
    assert (failed.value.error, "777123" in str(failed.value)) == ("MemoryError", False)


def test_only_failures_of_workers_bring_places(caplog):
    """Attributes of any other exception are not believed: they may hold anything."""

    class Odd(Exception):
        error, places = "777123", ["777123"]

    assert places_of(Odd()) == []
    log_failure(Odd())
    log_failure(WorkFailed("MemoryError", ["a.py:1"]))
    assert [one.facts["error"] for one in caplog.records] == ["Odd", "MemoryError"]


SOURCE = workers.WorkerSource("pay", "", "schema", "/")


@pytest.fixture
def kept():
    """Workers of this process."""
    made = workers.Workers(60.0)
    yield made
    made.close()


@pytest.mark.parametrize("junk", [b"\xff" * 8, b"\x7f" * 8, b"\0" * 7 + b"\x04null", b"\0" * 7 + b"\x02{]"])
def test_what_is_no_message_ends_the_worker(kept, monkeypatch, junk):
    """Its questions are refused, and nobody waits for ever; the next question gets another process."""
    program = f"import os, sys, time; os.write(int(sys.argv[1]), {junk!r}); time.sleep(3600)"
    monkeypatch.setattr(workers, "COMMAND", [sys.executable, "-c", program])
    process = kept.start(SOURCE)
    until(lambda: process.has_ended)
    until(lambda: process._child.poll() is not None)
    assert kept.start(SOURCE) is not process
    with pytest.raises(Refused, match="nothing was charged") as error:
        workers.DatasetWorker(kept, SOURCE).opened()
    assert error.value.code == "worker-ended"


def test_a_length_beyond_all_messages_is_the_end():
    """Nothing is allocated for it."""
    ours, theirs = socket.socketpair()
    with contextlib.closing(Channel(ours)) as channel, theirs:
        theirs.sendall(b"\0\0\x10" + b"\0" * 5)
        assert channel.receive() is None


def test_after_the_end_workers_are_refused():
    """As a server that is ending, which is no failure; of a source nothing is known then."""
    closed = workers.Workers(60.0)
    closed.close()
    worker = workers.DatasetWorker(closed, SOURCE)
    with pytest.raises(Refused) as error:
        worker.opened()
    assert (error.value.status, error.value.code) == (503, "stopping")
    assert worker.state() is None


def test_workers_have_no_password_of_the_ledger(kept, monkeypatch):
    """Nor a token; what sources name stays."""
    monkeypatch.setattr(workers, "COMMAND", [sys.executable, "-c", "import time; time.sleep(3600)"])
    secret = ("PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE", "DITHER_TOKEN")
    for name in (*secret, "DITHER_SOURCE_PAY"):
        monkeypatch.setenv(name, f"hunter-{name}")
    process = kept.start(SOURCE)
    environment = Path(f"/proc/{process._child.pid}/environ")
    until(environment.read_bytes)  # (empty for a moment while a program is begun)
    words = environment.read_bytes().split(b"\0")
    assert [one for one in words if b"hunter" in one] == [b"DITHER_SOURCE_PAY=hunter-DITHER_SOURCE_PAY"]
    assert b"PGPASSFILE=/dev/null" in words
    process.end()
