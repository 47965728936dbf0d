"""Hostile requests beside a question that really takes long: nothing fails, and the server stays responsive."""

import json
import random
import socket
import threading
import time

import pytest

from conftest import needs_package, trials
from curators import CuratorProcess, call, median, together, until, with_dataset

pytestmark = pytest.mark.slow

SLOW = """[dataset]
source = "slow.duckdb"
table = "slow"
rows = {rows}

[budget]
epsilon = 1000000

[columns.pay]
type = "integer"
bounds = [0, 1000000]
"""
WORDS = (
    "",
    "pay",
    "\x00",
    "\ud800",
    "(" * 3_000,
    "'; DROP TABLE pay; --",
    "../../etc/passwd",
    "é" * 5_000,
    "1e999",
    "\n",
)
NUMBERS = (0, -1, 1e-300, 1e300, 2**70, 0.1, 1, 50, None, True, "x", [], {})
NONSENSE = (
    b"",
    b"\x16\x03\x01\x00\xa5",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET " + b"a" * 70_000,
    b"POST /v1/me HTTP/1.1\r\nX: ",
    b"POST /v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
)


def hostile_body(chance: random.Random) -> bytes:
    """Something that looks like a question, spoiled in one way or another."""
    sort = chance.randrange(6)
    if sort == 0:
        return b'"' + b'\\"' * chance.randrange(130_000)
    if sort == 1:
        return b"[" * chance.randrange(100_000)
    if sort == 2:
        items = ", ".join(["median(pay)"] * chance.randrange(1, 400))
        return json.dumps({"sql": f"SELECT {items} FROM pay", "epsilon": chance.choice(NUMBERS)}).encode()
    if sort == 3:
        prior = {"kind": "lognormal", "median": chance.choice(NUMBERS), "sigma": chance.choice(NUMBERS)}
        body = {**median(0.5), "prior": prior, "rows": chance.choice(NUMBERS), "by": chance.choice(WORDS)}
        return json.dumps(body).encode()
    body = {
        **median(0.01),
        chance.choice(["epsilon", "where", "noise", "request_id", "weights"]): chance.choice(NUMBERS),
    }
    body["query"][chance.choice(["column", "bounds", "step", "kind"])] = chance.choice([*WORDS, *NUMBERS])
    text = json.dumps(body).encode()
    return text if sort == 4 else text[: chance.randrange(len(text))]


BUSY = -503
"""The server says that it is busy, and when to come back: on a loaded machine that is no failure."""


def hostile_request(server: CuratorProcess, chance: random.Random) -> int:
    """Send one; its status, BUSY, or 0 where none is expected."""
    if chance.random() < 0.1:
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
            line.sendall(chance.choice(NONSENSE))
        return 0
    place = chance.choice(["pay", "pay", "slow", "nope", "%2e%2e", "x" * 500])
    what = chance.choice(["quote", "quote", "releases", "budget", ""])
    token = chance.choice([server.tokens["eve"], server.tokens["mallory"], "guess", None])
    address = f"/v1/datasets/{place}/{what}"
    status, answer, headers = call(server.port, "POST", address, token=token, raw=hostile_body(chance), timeout=600)
    is_busy = status == 503 and answer["code"] == "busy" and "Retry-After" in headers
    return BUSY if is_busy else status


def test_hostile_requests_beside_a_long_question(tmp_path):
    """No server error; in full (10,000 requests, a question of about 20 seconds) health is told within 0.5 s."""
    needs_package("duckdb")
    import duckdb

    home = with_dataset(tmp_path / "home", epsilon=1_000)
    rows = trials(300_000, 12_000_000)
    with duckdb.connect(str(home / "data" / "slow.duckdb")) as database:
        digest = "md5(md5(md5(i::VARCHAR)))"
        database.execute(
            f"CREATE VIEW slow AS SELECT (hash({digest}) % 1000000)::INTEGER AS pay FROM range({rows}) AS t(i)"
        )
    (home / "datasets" / "slow.toml").write_text(SLOW.format(rows=rows))
    server = CuratorProcess(home, seconds=0.5).start()
    ended, statuses, delays = threading.Event(), [], []

    def ask_on() -> None:
        """One question about the slow table is under way at any time."""
        while not ended.is_set():
            body = {"query": {"kind": "mean", "column": "pay"}, "epsilon": 1, "again": True, "wait": False}
            status, payload, _ = server.call("POST", "/v1/datasets/slow/releases", body)
            statuses.append(status)
            if status == 202:
                until(lambda job=payload["id"]: server.call("GET", f"/v1/jobs/{job}")[1]["state"] != "running", 600)

    def look_on() -> None:
        while not ended.wait(0.1):
            started = time.monotonic()
            statuses.append(server.call("GET", "/healthz", token=None)[0])
            delays.append(time.monotonic() - started)

    try:
        server.token("eve")
        server.token("mallory", kinds=["median"], epsilon_cap=0.02)
        watching = [threading.Thread(target=one) for one in (ask_on, look_on)]
        for one in watching:
            one.start()
        each = trials(100, 2_500)

        def storm(place: int) -> list[int]:
            chance = random.Random(place)
            return [hostile_request(server, chance) for _ in range(each)]

        results = together(storm, 4)
        ended.set()
        for one in watching:
            one.join()
        for one in results:
            assert not isinstance(one, BaseException), one
            statuses += one
        assert {one for one in statuses if one >= 500} == set()
        assert {200, 202, 400, 401, 404, 422} <= set(statuses)
        assert '"failure"' not in server.logs()
        if trials(0, 1):
            slowest = ", ".join(f"{one:.3f}" for one in sorted(delays)[-5:])
            print(f"healthz: {len(delays)} looks, slowest {slowest} s")
            assert max(delays) < 0.5
            assert BUSY not in statuses
    finally:
        ended.set()
        server.stop(120)
