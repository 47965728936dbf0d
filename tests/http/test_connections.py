"""Connections: how many, how long, and what a request may look like before anybody reads it."""

import asyncio
import contextlib
import json
import resource
import socket
import subprocess
import sys
import threading

import pytest
import uvicorn

from conftest import trials
from curators import CuratorProcess, median, until, with_dataset
from dither.interfaces.http import connections
from dither.interfaces.http.connections import LimitedServer, limited

pytestmark = pytest.mark.slow

ASK = "/v1/datasets/pay/releases"
HALVES = (b"", b"GET / HTTP/1.1\r\nX-a: ", b"POST /v1/tokens HTTP/1.1\r\nHost: x\r\n", b"\x16\x03\x01\x00")


def test_questions_are_answered_beside_idle_connections(tmp_path):
    """Half-open and idle connections beyond the limit push out each other, and nobody who asks.

    In full 1,500 of them and the limit of 1,000 that servers have; in short 300 and 100.
    """
    count = trials(300, 1_500)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4_096)), hard))
    server = CuratorProcess(with_dataset(tmp_path / "home", epsilon=100), "--connections", str(trials(100, 1_000)))
    server.start()
    lines = []
    try:
        server.token("alice")
        for number in range(count):
            lines.append(socket.create_connection(("127.0.0.1", server.port), timeout=30))
            with contextlib.suppress(OSError):
                lines[-1].sendall(HALVES[number % len(HALVES)])
            if number % 50 == 0:
                assert server.call("GET", "/healthz", token=None)[0] == 200
        before = server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"]
        for number in range(3):
            body = median(0.25, request_id=str(number), again=True)
            assert server.call("POST", ASK, body, token="alice")[0] == 200
        assert server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"] == before + 0.75
        assert server.process.poll() is None
        assert len(server.logs()) < 100_000
    finally:
        for one in lines:
            one.close()
        assert server.stop() == 0
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def _app(scope, receive, send):
    """Answers with the body, or never."""
    if scope["type"] == "lifespan":
        while True:
            event = (await receive())["type"]
            await send({"type": f"{event}.complete"})
            if event == "lifespan.shutdown":
                return
    if scope["path"] == "/never":
        await asyncio.sleep(3_600)
    if scope["path"] == "/large":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(64):  # more than the machine's buffers hold
            await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def served():
    """A server with four connections at most, in a thread, and its port."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        _app, http=limited(4), loop="asyncio", log_config=None, timeout_graceful_shutdown=1, ws="none"
    )
    server = LimitedServer(config, lambda: None)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield server, listening.getsockname()[1]
    server.should_exit = True
    thread.join(60)
    assert not thread.is_alive()


def _under_way(served, requests: int) -> None:
    """So many requests have reached the application: until then their connections wait like any other."""
    until(lambda: len(served[0].server_state.tasks) == requests)


@pytest.fixture
def port(served):
    """Where it listens."""
    return served[1]


def _line(port: int, text: bytes = b"") -> socket.socket:
    line = socket.create_connection(("127.0.0.1", port), timeout=60)
    line.sendall(text)
    return line


def _is_ended(line: socket.socket) -> bool:
    """True once the other side has closed it; the limit of a minute only passes if it never does."""
    try:
        while line.recv(65_536):
            pass
    except ConnectionResetError:
        pass
    return True


GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("start", [b"", b"GET / HTTP/1.1\r\nX-a: ", GET + b"GET / HT"])
def test_slow_headers_are_given_up(port, monkeypatch, start):
    """A byte now and then does not help; neither does a first request that was whole."""
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.3)
    line = _line(port, start)
    dripping = threading.Event()

    def drip() -> None:
        with contextlib.suppress(OSError):
            while start and not dripping.wait(0.05):
                line.sendall(b"x")

    thread = threading.Thread(target=drip)
    thread.start()
    assert _is_ended(line)
    dripping.set()
    thread.join()
    line.close()


def test_whoever_waits_longest_makes_room(served, port):
    """Not those whose request is under way."""
    busy = _line(port, b"GET /never HTTP/1.1\r\nHost: x\r\n\r\n")
    _under_way(served, 1)
    first = _line(port, b"GET / HT")
    others = [_line(port, b"GET / HT") for _ in range(2)]
    late = _line(port, GET)
    assert late.recv(100).startswith(b"HTTP/1.1 200")
    assert _is_ended(first)
    busy.settimeout(0.2)
    with pytest.raises(TimeoutError):
        busy.recv(1)
    for one in (busy, first, *others, late):
        one.close()


def test_a_connection_too_many_is_refused(served, port):
    """Where nobody waits, whoever comes last has to go."""
    busy = [_line(port, b"GET /never HTTP/1.1\r\nHost: x\r\n\r\n") for _ in range(4)]
    _under_way(served, 4)
    late = _line(port)
    assert _is_ended(late)
    for one in (*busy, late):
        one.close()


def test_answers_that_nobody_reads_are_given_up(served, monkeypatch):
    """The buffers of the machine are full, and stay so."""
    monkeypatch.setattr(connections, "WRITE_SECONDS", 0.3)
    server, port = served
    line = _line(port, b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
    until(lambda: server.server_state.total_requests == 0 and server.server_state.connections)
    until(lambda: not server.server_state.connections)
    line.close()


@pytest.mark.parametrize(
    "headers",
    [b"Content-Length: 4\r\nTransfer-Encoding: chunked", b"transfer-encoding: chunked\r\ncontent-length: 0"],
)
def test_two_lengths_are_refused_and_the_connection_closed(port, headers):
    """400 as problem+json; what would follow, to whoever believes the other length, is not looked at."""
    line = _line(port, b"POST / HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n\r\n0\r\n\r\n" + GET)
    received = b""
    while part := line.recv(65_536):
        received += part
    line.close()
    head, _, body = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    assert b"application/problem+json" in head
    assert b"connection: close" in head.lower()
    assert json.loads(body)["code"] == "malformed"


def test_too_few_descriptors_are_noticed_before_the_charge(tmp_path):
    """A question that could not open its files costs nothing."""
    with_dataset(tmp_path / "home")
    code = """
import resource, sys, os
import dither as dt
from pathlib import Path
home = Path(sys.argv[1])
session = dt.open(str(home / "data" / "pay.csv"), columns={"pay": dt.Integer(0, 1_000_000)}, rows=200,
                  budget=dt.Budget(1.0), ledger=str(home / "ledger.db"))
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 30, hard))
try:
    session.ask(dt.Median("pay"), epsilon=0.5)
except dt.DitherError as error:
    print(error.code, error)
print(session.budget.spent.epsilon)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
session.ask(dt.Median("pay"), epsilon=0.5)
print(session.budget.spent.epsilon)
"""
    lines = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "home")], check=True, capture_output=True, text=True, timeout=120
    ).stdout.splitlines()
    assert lines[0].startswith("too-few-descriptors")
    assert "nothing was charged" in lines[0]
    assert lines[1:] == ["0.0", "0.5"]


def test_few_descriptors_mean_few_connections(monkeypatch):
    """The server keeps enough of them for the questions of all its workers."""
    from dither.interfaces.cli.serve import _connections
    from dither.sources import descriptors

    monkeypatch.setattr(descriptors, "raise_descriptors", lambda: 1_024)
    assert _connections(1_000, 4) == 1_024 - 6 * descriptors.NEEDED
    monkeypatch.setattr(descriptors, "raise_descriptors", lambda: 65_536)
    assert _connections(1_000, 4) == 1_000
