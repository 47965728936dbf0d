"""Jobs: programs, several servers, processes that die, failures nobody foresaw, tokens that end meanwhile."""

import json
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

import dither as dt
import odd_workers
from curators import CuratorProcess, median, until, with_dataset
from dither.errors import InvalidArgument
from dither.interfaces.http.store import KeptJob, Store
from dither.queries.wire import from_json

ASK = "/v1/datasets/pay/releases"
SOURCE = "def middle(table):\n    pay = sorted(table['pay'].to_pylist())\n    return pay[len(pay) // 2]\n"


def program(**more: object) -> dict[str, object]:
    """A question that runs code, in few and short slots."""
    query = {"kind": "program", "source": SOURCE, "function": "middle", "columns": ["pay"], "bounds": [0, 1000000]}
    return {"query": query | {"blocks": 4, "slot": 0.3} | more, "epsilon": 0.5}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server whose analysts may ask programs, or not."""
    one = CuratorProcess(with_dataset(tmp_path_factory.mktemp("jobs") / "home", epsilon=100)).start()
    one.token("alice", kinds=["median", "program"])
    one.token("bob")
    yield one
    one.stop()


@pytest.mark.slow
def test_programs_run_as_jobs(server, isolated):
    """Quoted with blocks and seconds, charged once, answered at the end of a public schedule, from the store again."""
    status, payload, _ = server.call("POST", "/v1/datasets/pay/quote", program(), token="alice")
    assert status == 200, payload
    quote = payload["quotes"][0]
    assert (quote["blocks"], quote["expected_error"]) == (4, None)
    begun = time.monotonic()
    status, payload, headers = server.call("POST", ASK, program() | {"wait": False}, token="alice")
    assert (status, payload["state"]) == (202, "running"), payload
    assert payload["answer_seconds"] == pytest.approx(quote["seconds"] + 0.05)
    until(lambda: server.call("GET", headers["Location"], token="alice")[1]["state"] != "running", 120)
    assert time.monotonic() - begun >= quote["seconds"]
    done = server.call("GET", headers["Location"], token="alice")[1]
    assert done["state"] == "done", done
    release = done["answer"]["releases"][0]
    assert release["query"] == "program middle"
    assert 0 <= release["value"] <= 1_000_000
    spent = server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"]
    session = dt.connect(server.url, token=server.tokens["alice"], dataset="pay")
    again = session.ask(
        dt.Program(
            dt.sandbox.Function(SOURCE, "middle"), ["pay"], bounds=(0, 1_000_000), blocks=4, settings={"slot": 0.3}
        ),
        epsilon=0.5,
    )
    assert again.value == release["value"]
    assert server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"] == spent


def test_programs_are_for_those_who_may(server):
    """A token that does not name the kind may not bring code, alone or among others; nothing is charged."""
    spent = server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"]
    both = program() | {"query": [program()["query"], {"kind": "median", "column": "pay"}]}
    for question in (program(), both):
        status, payload, _ = server.call("POST", ASK, question, token="bob")
        assert (status, payload["code"]) == (403, "forbidden")
        assert server.call("POST", "/v1/datasets/pay/quote", question, token="bob")[1]["code"] == "forbidden"
    assert "program" not in server.call("GET", "/v1/datasets/pay", token="bob")[1]["kinds"]
    assert "program" in server.call("GET", "/v1/datasets/pay", token="alice")[1]["kinds"]
    assert server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"] == spent


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "bad",
    [
        {"source": "def middle(:"},
        {"source": "def other(t): return 1"},
        {"source": "x" + ".a" * 40_000},
        {"source": "-" * 90_000 + "1"},
        {"source": "(" * 5_000 + ")" * 5_000},
        {"source": "lambda:" * 12_000 + "1"},
        {"source": "a+" * 40_000 + "a"},
        {"source": 7},
        {"function": "os.system"},
        {"bounds": None},
        {"bounds": [1, 0]},
        {"bounds": [[0, 1], [0, 1]]},
        {"bounds": [0, "x"]},
        {"blocks": 0},
        {"blocks": 10**9},
        {"blocks": 1.5},
        {"slot": 0},
        {"slot": 1e9},
        {"blocks": 100, "slot": 3600},
        {"output": 0},
        {"preload": ["os; import sys"]},
        {"columns": ["nope"]},
        {"aggregator": "nope"},
        {"metric": "nope"},
        {"sampling": "nope"},
        {"default": "x"},
        {"executor": "trusted"},
        {"settings": {"visible": ["/"]}},
        {"path": "/bin/sh"},
    ],
    ids=lambda one: str(one)[:40],
)
def test_bad_programs(server, bad):
    """Refused from public facts, with a code, before anything is charged; where it runs is not an analyst's choice."""
    spent = server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"]
    status, payload, _ = server.call("POST", ASK, program(**bad), token="alice")
    assert status in (400, 422), payload
    assert payload["code"] in ("invalid-argument", "unknown-field", "not-applicable")
    assert server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"] == spent


def test_few_programs_in_a_question(server):
    """The sandboxes of all of them are open at once: fifty would take the memory of the machine."""
    many = program() | {"query": [program()["query"]] * 3}
    for address in (ASK, "/v1/datasets/pay/quote"):
        status, payload, _ = server.call("POST", address, many, token="alice")
        assert (status, payload["code"]) == (422, "invalid-argument")
        assert "3 programs" in payload["detail"]


def test_programs_from_afar_see_no_files():
    """A file that one block reads is in memory afterwards: a later program, tried free of charge, could find out."""
    made = from_json({"kind": "program", "source": SOURCE, "function": "middle", "bounds": [0, 1]})
    assert made.settings["files"] is False


@pytest.mark.parametrize(("slot", "accepted"), [("0.2", True), ("0.19", False)])
def test_the_least_slot_is_that_of_sandboxes(slot, accepted):
    """What a sandbox would refuse later is not quoted either."""
    query = {"kind": "program", "source": SOURCE, "function": "middle", "bounds": [0, 1], "slot": Decimal(slot)}
    if accepted:
        assert from_json(query).settings["slot"] == float(slot)
    else:
        with pytest.raises(InvalidArgument, match=r"query\.slot"):
            from_json(query)


@pytest.mark.slow
def test_a_program_that_fails_tells_nothing(server, isolated):
    """Its exception, with a record in its words, reaches nobody: the blocks are the default, and it is paid for."""
    source = (
        "def leak(table):\n    pay = table['pay'].to_pylist()\n"
        "    if 777123 in pay:\n        raise ValueError(str(pay))\n    return 7\n"
    )
    status, payload, _ = server.call("POST", ASK, program(source=source, function="leak", default=7), token="alice")
    assert status == 200, payload
    assert "777123" not in json.dumps(payload)
    assert "777123" not in server.logs()
    assert "ValueError" not in server.logs()


@pytest.mark.slow
def test_jobs_of_another_server(tmp_path, postgres_schema):
    """A job that one server runs is told of by the other, at its schedule, to who asked; the answer is the same."""
    home = with_dataset(tmp_path / "home", epsilon=10)
    first, second = (CuratorProcess(home, ledger=postgres_schema, seconds=2.5).start() for _ in range(2))
    second.tokens.update(first.tokens)
    try:
        for name in ("alice", "bob"):
            second.tokens[name] = first.token(name)
        status, payload, headers = first.call("POST", ASK, median(0.5, wait=False), token="alice")
        assert status == 202
        place = headers["Location"]
        assert second.call("GET", place, token="bob")[0] == 404
        there = second.call("GET", place, token="alice")[1]
        assert (there["state"], there["request_id"]) == ("running", payload["request_id"])
        assert "progress" not in there
        until(lambda: first.call("GET", place)[1]["progress"]["stage"] == "ready")
        early = second.call("GET", place, token="alice")[1]
        if first.call("GET", place, token="alice")[1]["state"] == "running":
            assert (early["state"], "answer" in early) == ("running", False)
        until(lambda: second.call("GET", place, token="alice")[1]["state"] == "done")
        here, there = (one.call("GET", place, token="alice")[1]["answer"] for one in (first, second))
        assert here["releases"] == there["releases"]
        # What was refused is told too.
        place = first.call("POST", ASK, median(500, wait=False), token="alice")[2]["Location"]
        until(lambda: second.call("GET", place, token="alice")[1]["state"] == "failed")
        assert second.call("GET", place, token="alice")[1]["problem"]["code"] == "budget-exceeded"
    finally:
        first.stop()
        second.stop()


@pytest.mark.slow
def test_jobs_outlive_their_server(tmp_path):
    """After a restart a finished job is still told; one whose process died says so, and is asked again for free."""
    home = with_dataset(tmp_path / "home", epsilon=10)
    server = CuratorProcess(home).start()
    try:
        place = server.call("POST", ASK, median(0.5, wait=False))[2]["Location"]
        until(lambda: server.call("GET", place)[1]["state"] == "done")
        releases = server.call("GET", place)[1]["answer"]["releases"]
    finally:
        server.stop()
    store, now = Store(home / "server.db"), datetime.now(UTC)
    for number, age in (("a" * 32, 5), ("b" * 32, 120)):
        then = now - timedelta(seconds=age)
        store.keep_job("gone", KeptJob(number, "owner", "pay", number, 300.0, then, then, None, None))
    store.close()
    server.start()
    try:
        assert server.call("GET", place)[1]["answer"]["releases"] == releases
        assert server.call("GET", "/v1/jobs/" + "a" * 32)[1]["state"] == "running"
        lost = server.call("GET", "/v1/jobs/" + "b" * 32)[1]
        assert (lost["state"], lost["problem"]["code"]) == ("failed", "lost")
        assert "same request_id" in lost["problem"]["detail"]
    finally:
        server.stop()


@pytest.mark.slow
def test_a_client_asks_again_for_a_lost_job(server, monkeypatch):
    """Under the same request id, until somebody has the answer."""
    session = dt.connect(server.url, token=server.tokens["alice"], dataset="pay")
    call, asked = session._call, []
    running = {"id": "x", "state": "running", "ready_in": 0.0}

    def lossy(method, path, body=None, **expected):
        if method == "POST":
            asked.append(body["request_id"])
            payload = call(method, path, body, **expected)
            return running if len(asked) <= 2 else payload
        if path == "/v1/jobs/x" and len(asked) == 1:
            raise dt.interfaces.client.ServerRefused(404, "not-found", "gone")
        if path == "/v1/jobs/x":
            gone = {"type": "about:blank", "title": "lost", "status": 503, "code": "lost", "detail": "gone"}
            return {"state": "failed", "problem": gone}
        return call(method, path, body, **expected)

    monkeypatch.setattr(session, "_call", lossy)
    spent = session.budget.spent.epsilon
    assert session.ask(dt.Median("pay"), epsilon=0.33, wait=False).loss == dt.Loss(0.33)
    assert len(asked) == 3
    assert len(set(asked)) == 1
    assert session.budget.spent.epsilon == pytest.approx(spent + 0.33)


@pytest.mark.slow
def test_revoked_while_waiting(server):
    """Who is revoked before the slot ends gets no answer, of a question or of a job; the charge stays."""
    import threading

    server.call("PATCH", "/v1/datasets/pay", {"answer_seconds": 6})
    try:
        server.token("eve", kinds=["median"])
        number = next(one["id"] for one in server.call("GET", "/v1/tokens")[1]["tokens"] if one["name"] == "eve")
        spent = server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"]
        place = server.call("POST", ASK, median(0.07, wait=False), token="eve")[2]["Location"]
        responses = []
        asking = threading.Thread(target=lambda: responses.append(server.call("POST", ASK, median(0.08), token="eve")))
        asking.start()
        until(lambda: server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"] > spent + 0.14)
        server.call("DELETE", f"/v1/tokens/{number}")
        asking.join()
        assert (responses[0][0], responses[0][1]["code"]) == (401, "unauthenticated")
        assert server.call("GET", place, token="eve")[0] == 401
        assert server.call("GET", place)[0] == 200  # (the owner still sees it)
    finally:
        server.call("PATCH", "/v1/datasets/pay", {"answer_seconds": 0.05})


@pytest.mark.slow
def test_unforeseen_failures_keep_the_schedule(tmp_path, monkeypatch):
    """A failure is answered, counted and logged when the slot ends, not when it happens."""
    from starlette.testclient import TestClient

    from dither.interfaces.http import telemetry
    from dither.interfaces.http.app import create_app
    from dither.interfaces.http.server_state import Curator, ServerSettings

    monkeypatch.setattr("dither.interfaces.http.workers.COMMAND", odd_workers.COMMAND)
    broken = {"query": {"kind": "variance", "column": "pay"}, "epsilon": 0.5}
    logged: list[tuple[float, str]] = []
    monkeypatch.setattr(telemetry.LOG, "error", lambda event, **more: logged.append((time.monotonic(), str(more))))
    home = with_dataset(tmp_path / "home", epsilon=10)
    curator = Curator(home, settings=ServerSettings(answer_seconds=1.0))
    secret = curator.first_owner()
    with TestClient(create_app(home, curator=curator), headers={"Authorization": f"Bearer {secret}"}) as client:
        assert client.get("/v1/datasets/pay").status_code == 200  # a worker has started
        begun = time.monotonic()
        place = client.post(ASK, json=broken | {"wait": False}).headers["Location"]
        until(lambda: client.get(place).json()["progress"]["stage"] == "ready")
        seen, counted = list(logged), client.get("/metrics").text
        if time.monotonic() - begun < 0.9:  # all of that was looked at before the slot ended
            assert seen == []
            assert "dither_failures_total 1" not in counted
        answer = client.post(ASK, json=broken | {"request_id": "x", "again": True})
        assert time.monotonic() - begun >= 1.0
        assert (answer.status_code, answer.json()["code"]) == (500, "internal")
        assert "777123" not in answer.text
        until(lambda: len(logged) == 2)
        assert logged[0][0] - begun >= 1.0
        assert "777123" not in str(logged)
        assert "MemoryError" in str(logged[0])
        assert "dither_failures_total 2" in client.get("/metrics").text


@pytest.mark.slow
def test_a_second_question_does_not_uncover_the_first(tmp_path):
    """Another question under the same request id is refused, and its slot says nothing about the first one's answer."""
    from dither.interfaces.http.jobs import Job, Jobs

    jobs, now = Jobs(1, 10), time.monotonic()
    slow = Job("a", "pay", "r", 0.05, now, {"q": 1})
    quick = Job("a", "pay", "r", 0.05, now, {"q": 2})
    release = __import__("threading").Event()
    assert jobs.start(slow, lambda: release.wait(30) and {}) is slow
    assert jobs.start(Job("a", "pay", "r", 0.05, now, {"q": 1}), dict) is slow  # a retry
    assert jobs.start(quick, dict, program=True) is quick
    until(lambda: quick.is_visible)
    assert not all(one.is_visible for one in jobs.of_request("pay", "a", "r"))
    release.set()
    jobs.close()
