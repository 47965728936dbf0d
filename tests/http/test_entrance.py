"""What every request and every response has in common: sockets, headers, limits, and what the log says of refusals."""

import asyncio
import errno
import json
import socket

import pytest
import uvicorn

from curators import with_dataset
from dither.errors import NotIsolated, TooFewDescriptors
from dither.interfaces.cli.serve import _listening
from dither.interfaces.http import telemetry
from dither.interfaces.http.app import create_app
from dither.interfaces.http.connections import RESERVE, LimitedServer, limited
from dither.interfaces.http.problems import problem
from dither.interfaces.http.response_headers import HEADERS
from dither.interfaces.http.server_state import Curator, ServerSettings


@pytest.fixture
def curator(tmp_path):
    """Everything that a server holds, with room for three requests at once from one sender, and no more for an hour."""
    made = Curator(with_dataset(tmp_path / "home"), settings=ServerSettings(rate=0.0001, burst=3))
    yield made
    made.close()


@pytest.fixture
def client(curator):
    """Requests without a socket."""
    from starlette.testclient import TestClient

    with TestClient(create_app(curator.home, curator=curator), raise_server_exceptions=False) as one:
        yield one


async def _exchange(app, work):
    """``work(port, server)`` in a thread beside a real server of an application, on the socket of ``dither serve``."""
    listening = _listening("127.0.0.1", 0)
    config = uvicorn.Config(app, http=limited(8), loop="asyncio", log_config=None, ws="none", lifespan="off")
    server = LimitedServer(config, lambda: None)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        return await asyncio.to_thread(work, listening.getsockname()[1], server)
    finally:
        server.should_exit = True
        await serving


async def _echo(scope, receive, send):
    """Answers with the path that it was asked for."""
    body = f"{scope['path']}?{scope['query_string'].decode()}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


def _sent(port: int, text: bytes) -> bytes:
    """What the server sends until it closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
        line.sendall(text)
        received = b""
        while part := line.recv(65_536):
            received += part
    return received


def test_accepted_connections_send_small_answers_at_once():
    """TCP_NODELAY is set: without it each answer on a connection that is kept waits for an acknowledgement, 44 ms."""

    def options(port, server):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
            line.sendall(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            assert line.recv(65_536).startswith(b"HTTP/1.1 200")
            (connection,) = server.server_state.connections
            accepted = connection.transport.get_extra_info("socket")
            return accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    assert asyncio.run(_exchange(_echo, options)) != 0


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("http://curator.example/healthz", "/healthz?"),
        ("HTTPS://curator.example:8443/v1/me?a=1", "/v1/me?a=1"),
        ("http://curator.example", "/?"),
        ("http://curator.example?a=1", "/?a=1"),
        ("/v1/http://x/y", "/v1/http://x/y?"),
    ],
)
def test_a_target_in_absolute_form_is_its_path(target, path):
    """RFC 9112, 3.2.2: a server has to accept it."""
    request = f"GET {target} HTTP/1.1\r\nHost: curator.example\r\nConnection: close\r\n\r\n".encode()
    received = asyncio.run(_exchange(_echo, lambda port, _: _sent(port, request)))
    assert received.partition(b"\r\n\r\n")[2].decode() == path


def test_every_response_has_the_headers(curator, client, monkeypatch):
    """Answers, problems, files of the page, unknown addresses, and failures."""
    monkeypatch.setattr(curator.store, "tokens", lambda: 1 / 0)
    secret = curator.first_owner()
    owner = {"Authorization": f"Bearer {secret}"}
    responses = [
        client.get("/healthz"),
        client.get("/v1/me", headers=owner),
        client.get("/v1/me"),
        client.get("/v1/tokens", headers=owner),
        client.get("/openapi.json"),
        client.get("/"),
        client.get("/static/app.js", headers={"If-None-Match": client.get("/static/app.js").headers["etag"]}),
        client.get("/nothing"),
        client.put("/healthz"),
        client.head("/healthz"),
    ]
    monkeypatch.setattr(curator.visitors, "take", lambda _: 1 / 0)
    responses.append(client.get("/"))
    statuses = [one.status_code for one in responses]
    assert statuses == [200, 200, 401, 500, 200, 200, 304, 404, 405, 200, 500]
    for one in responses:
        assert not [name for name in HEADERS if name not in one.headers], one.url
        assert one.headers["cross-origin-resource-policy"] == "same-origin"


def test_a_request_that_is_no_http_gets_a_problem_with_the_headers():
    """The connection itself writes it, before there is a request."""
    text = asyncio.run(_exchange(_echo, lambda port, _: _sent(port, b"nonsense\r\n\r\n")))
    head, _, body = text.decode().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 400")
    sent = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
    assert HEADERS.items() <= sent.items()
    assert json.loads(body)["code"] == "malformed"


def test_health_has_a_limit_of_its_own(curator, client):
    """Strangers and tokens at the same address use up their own share, and health has its own, which ends too."""
    assert [client.get("/v1/me").status_code for _ in range(5)] == [401, 401, 401, 429, 429]
    statuses = [client.get("/healthz").status_code for _ in range(20)]
    assert statuses[:15] == [200] * 15
    assert statuses[-1] == 429
    wrong = {"Authorization": "Bearer nope"}
    looked_up = []
    curator.store.find = looked_up.append
    assert client.get("/healthz", headers=wrong).status_code == 429
    assert looked_up == []  # a token is no matter of health


def test_refused_requests_are_logged_as_counts(curator, client, monkeypatch):
    """However many come, a minute has two lines of each sort: the first request, and how many followed."""
    lines = []
    monkeypatch.setattr(telemetry.LOG, "info", lambda event, extra: lines.append((event, extra["facts"])))
    for _ in range(500):
        client.get("/v1/me")
        client.get("/nothing")
    client.portal.call(curator.refused.flush)
    refused = [facts for event, facts in lines if event == "requests refused"]
    assert [event for event, _ in lines] == ["requests refused"] * len(lines)
    counts = {}
    for facts in refused:
        key = (facts["route"], facts["status"], facts["code"])
        counts[key] = counts.get(key, 0) + facts["count"]
    assert counts == {
        ("/v1/me", 401, "unauthenticated"): 3,
        ("/v1/me", 429, "too-many-requests"): 497,
        ("page", 429, "too-many-requests"): 485,
    }
    assert len(refused) <= 6


def test_counts_of_refused_requests_end_with_the_minute(monkeypatch):
    """A flood that stops is logged too, without another request."""
    lines = []
    monkeypatch.setattr(telemetry, "_MINUTE", 0.01)
    monkeypatch.setattr(telemetry, "log", lambda event, **facts: lines.append(facts["count"]))

    async def flood():
        refused = telemetry.RefusedRequests()
        for _ in range(100):
            refused.add("GET", "/v1/me", 401, "unauthenticated")
        while len(lines) < 2:
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(flood(), 60))
    assert lines == [1, 99]


def test_an_isolation_that_fails_names_no_path():
    """What bubblewrap says is for the log; a client gets the same sentence whatever is missing."""
    sent = problem(NotIsolated("bwrap ended (bwrap: Can't bind /home/secret/place: /proc/self/fd/7)"))
    assert sent == problem(NotIsolated("no namespaces"))
    assert (sent.code, sent.status) == ("not-isolated", 503)
    assert "/" not in sent.detail


@pytest.mark.parametrize("after", [0, 10**14, 10**15])
def test_every_page_that_is_documented_can_be_asked_for(after):
    """The largest number too; a larger one is refused with what is accepted."""
    from dither.borders import read
    from dither.errors import InvalidArgument
    from dither.interfaces.http.models import LedgerPart, Page

    for model in (Page, LedgerPart):
        assert read(model, {"after": str(after)}).after == after
        with pytest.raises(InvalidArgument, match="after must be a whole number"):
            read(model, {"after": str(10**15 + 1)})
        with pytest.raises(InvalidArgument, match="after must be a whole number"):
            read(model, {"after": "9" * 5_000})


def test_connections_that_wait_leave_a_reserve_of_descriptors():
    """Where numbers of descriptors run out, the one that has waited longest makes room; one that asks is answered."""

    def crowd(port, server):
        lines = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(12)]
        try:
            for line in lines[:4]:  # all of these used the reserve, so each makes room for a later one
                assert line.recv(1) == b""
            return _sent(port, b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        finally:
            for line in lines:
                line.close()

    async def run():
        listening = _listening("127.0.0.1", 0)
        protocol = limited(1_000, descriptors=listening.fileno() + RESERVE + 1)
        config = uvicorn.Config(_echo, http=protocol, loop="asyncio", log_config=None, ws="none", lifespan="off")
        server = LimitedServer(config, lambda: None)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            return await asyncio.to_thread(crowd, listening.getsockname()[1], server)
        finally:
            server.should_exit = True
            await serving

    assert b"200" in asyncio.run(run()).partition(b"\r\n")[0]


def test_too_few_descriptors_are_no_fault_of_the_data(tmp_path, monkeypatch):
    """What is short is said, in a question, in a start of a worker and in any failure to open a file."""
    made = Curator(with_dataset(tmp_path / "home"))
    try:
        dataset = made.catalog.dataset("pay")

        def opened():
            raise TooFewDescriptors("fewer than 64 file descriptors are left; nothing was charged")

        monkeypatch.setattr(dataset, "open", opened)
        with pytest.raises(TooFewDescriptors, match="64 file descriptors"), dataset.session():
            pass
        monkeypatch.setattr("subprocess.Popen.__init__", lambda *_, **__: (_ for _ in ()).throw(OSError(24, "many")))
        with pytest.raises(TooFewDescriptors, match="no file descriptor is left"):
            dataset._worker.opened()
    finally:
        monkeypatch.undo()
        made.close()
    sent = problem(OSError(errno.EMFILE, "Too many open files", "/home/secret/place"))
    assert (sent.status, sent.code) == (503, "too-few-descriptors")
    assert "secret" not in sent.detail
    assert problem(OSError(errno.EIO, "other")).code == "internal"
