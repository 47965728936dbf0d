"""Clients and servers that lie: every answer ends in a release, or in an error of dither's own, after few requests."""

import contextlib
import functools
import io
import itertools
import json
import socketserver
import threading
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import pytest

import dither as dt
import dither.interfaces.client as client
from dither.errors import DitherError
from dither.interfaces import strict_json
from dither.interfaces.client import RemoteSession, ServerRefused, ServerUnreachable
from dither.mechanisms.choice import MECHANISMS
from server_answers import QUOTE, RELEASE

pytestmark = pytest.mark.slow

RUNNING = {"id": "j", "state": "running", "ready_in": 0}
MOST_REQUESTS = 2_000


class TooManyRequestsError(BaseException):
    """The client does not end."""


def session(*answers):
    """A session whose server gives these answers in turn, texts or objects, and the last of them for ever."""
    texts = itertools.chain(answers, itertools.repeat(answers[-1]))
    count = itertools.count()

    def opened(request, **_):
        if next(count) > MOST_REQUESTS:
            raise TooManyRequestsError
        one = next(texts)
        one = one(request) if callable(one) else one
        return io.BytesIO((one if isinstance(one, str) else json.dumps(one)).encode())

    made = RemoteSession("http://curator.example", token="x", dataset="pay")
    made._opener = SimpleNamespace(open=opened)
    return made


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Pauses take no time, and jobs are waited for less long."""
    monkeypatch.setattr(client.time, "sleep", lambda _: None)
    monkeypatch.setattr(client, "LONGEST_WAIT", 3_000.0)


def asked(request):
    """What a request asks for."""
    return json.loads(request.data)


@pytest.mark.parametrize("error", [1.0, 10.0], ids=["reached", "not_reached"])
@pytest.mark.parametrize("several", [{}, {"alternatives": {"smooth": 1.0}}], ids=["one", "several"])
def test_a_search_for_epsilon_ends(error, several):
    """A server that names another mechanism in every quote."""
    numbers = itertools.count()

    def quoted(request):
        named = {"mechanism": f"m{next(numbers)}", "epsilon": asked(request)["epsilon"]}
        return {"quotes": [QUOTE | several | named | {"expected_error": error}]}

    with pytest.raises(ServerRefused, match="mechanisms and reach no end"):
        session(quoted).least_epsilon(dt.Count("a"), target_error=2.0)
    assert next(numbers) <= len(MECHANISMS) + 2


def test_a_search_takes_so_many_quotes(monkeypatch):
    """Whatever mechanisms they name."""
    monkeypatch.setattr(client, "MOST_QUOTES", 5)
    lying = session(lambda request: {"quotes": [QUOTE | {"epsilon": asked(request)["epsilon"]}]})
    with pytest.raises(ServerRefused, match="reach no end after 6"):
        lying.least_epsilon(dt.Count("a"), target_error=2.0)


@pytest.mark.parametrize(
    "lie",
    [{"epsilon": 1e-9}, {"epsilon": 0.0}, {"epsilon": 2.0}, {"delta": 0.5}, {"delta": 1.0}, {"epsilon": 10**350}],
    ids=["less", "nothing", "more", "delta", "no_promise", "too_many_digits"],
)
def test_a_quote_for_another_loss(lie):
    """A search compares the errors of the losses that it asked for."""
    with pytest.raises(ServerRefused, match=r"must not be one for|epsilon must be"):
        session({"quotes": [QUOTE | lie]}).least_epsilon(dt.Count("a"), target_error=2.0)


@pytest.mark.parametrize("delta", [None, 0, 1e-6, Decimal("0.1234567890123456789012"), Fraction(1, 3)], ids=str)
def test_a_quote_for_the_loss_that_was_asked_for(delta):
    """Read as a server reads it, however it was written; a mechanism that needs no delta is quoted with none."""

    def quoted(request, share):
        sent = strict_json.parse(request.data)
        loss = dt.Loss.asked(sent["epsilon"], sent.get("delta", 0))
        error = 1.0 / loss.epsilon
        return {"quotes": [QUOTE | {"epsilon": loss.epsilon, "delta": share * loss.delta, "expected_error": error}]}

    for share in (0, 1):
        honest = session(functools.partial(quoted, share=share))
        assert 0.5 <= honest.least_epsilon(dt.Count("a"), target_error=2.0, delta=delta).loss.epsilon < 0.51


def test_an_answer_to_no_query():
    """An honest server refuses an empty list."""
    lying = session({"releases": [RELEASE], "epsilon": 1.0, "delta": 0.0})
    with pytest.raises(DitherError):
        lying.ask([], epsilon=1.0)


@pytest.mark.parametrize("free", [{"mechanism": "public"}, {"derived_from": 3}], ids=["public", "derived"])
def test_a_quote_for_nothing(free):
    """What costs nothing is quoted with no loss, whatever was asked for."""
    quoted = session({"quotes": [QUOTE | free | {"epsilon": 0.0}]})
    assert quoted.least_epsilon(dt.Count("a"), target_error=2.0).loss == dt.Loss(0.0)


@pytest.mark.parametrize("name", ["floor", "seconds", "expected_error", "bound"])
@pytest.mark.parametrize("number", ["1e390", "1" + 390 * "0", "-1"], ids=["decimal", "whole", "negative"])
def test_figures_beyond_all_floats(name, number):
    """No figure of a quote is refused later, when it is printed."""
    text = json.dumps({"quotes": [QUOTE | {name: "here"}]}).replace('"here"', number)
    with pytest.raises(ServerRefused, match=rf"quotes\[0\].{name} must be"):
        session(text).quote(dt.Count("a"), epsilon=1.0)


@pytest.mark.parametrize("lie", [{"bound": [1.0]}, {"expected_error": None, "bound": [1.0]}], ids=["one", "none"])
def test_errors_and_bounds_are_alike(lie):
    """As many bounds as errors."""
    with pytest.raises(ServerRefused, match="as many as"):
        session({"quotes": [QUOTE | lie]}).quote(dt.Count("a"), epsilon=1.0)


@pytest.mark.parametrize("answers", [1, 3])
def test_as_many_answers_as_queries(answers):
    """Releases and quotes; of groups, which may be found, each has all of them."""
    queries = [dt.Count("a"), dt.Count("b")]
    lying = session({"releases": [RELEASE] * answers, "epsilon": 1.0, "delta": 0.0})
    for by in (None, "job"):
        with pytest.raises(ServerRefused, match="one for each query, and 2 were asked"):
            lying.ask(queries, epsilon=1.0, by=by)
    with pytest.raises(ServerRefused, match="one for each query, and 2 were asked"):
        session({"quotes": [QUOTE] * answers}).quote(queries, epsilon=1.0)
    if answers > 1:
        with pytest.raises(ServerRefused, match="one for each query, and 1 were asked"):
            lying.ask(dt.Count("a"), epsilon=1.0)


@pytest.mark.parametrize("place", ["total", "spent", "left"])
@pytest.mark.parametrize("lie", [{"delta": 1.5}, {"epsilon": 10**301}], ids=["delta", "epsilon"])
def test_budgets_of_nonsense(place, lie):
    """The server's mistake, not the caller's: no word about charges."""
    loss = {"epsilon": 1.0, "delta": 0.0}
    lies = [lie, {"delta": 1}] if place == "total" else [lie]
    for one in lies:
        with pytest.raises(ServerRefused, match=f"can't be read: {place}") as refused:
            session({"total": loss, "spent": loss, "left": loss} | {place: loss | one}).budget  # noqa: B018
        assert "charged" not in str(refused.value)


def test_a_history_without_end(monkeypatch):
    """Pages of rising numbers: so many charges are read, and no page has more than were asked for."""
    monkeypatch.setattr(client, "MOST_CHARGES", 2_500)
    charge = {"epsilon": 1.0, "delta": 0.0, "question": {}, "releases": None}
    numbers = itertools.count(1)
    lying = session(lambda _: {"releases": [charge | {"number": next(numbers)} for _ in range(1_000)]})
    with pytest.raises(ServerRefused, match="at most 2,500 charges"):
        lying.history  # noqa: B018
    assert next(numbers) == 3_001
    with pytest.raises(ServerRefused, match="1000 at most"):
        session({"releases": [charge | {"number": one} for one in range(1, 1_002)]}).history  # noqa: B018


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n", b" "),
        (b"HTTP/1.1 500 Wrong\r\nContent-Length: 1000000\r\n\r\n", b" "),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n"),
        (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
    ],
    ids=["continue", "body", "problem", "trailer", "header"],
)
def test_a_response_without_end(first, again, monkeypatch):
    """One deadline for the whole of it, however soon each byte comes."""
    monkeypatch.setattr(client, "LONGEST_RESPONSE", 0.2)
    over = threading.Event()

    class Endless(socketserver.BaseRequestHandler):
        def handle(self):
            with contextlib.suppress(OSError):
                self.request.recv(65_536)
                self.request.sendall(first)
                while not over.wait(0.01):
                    self.request.sendall(again)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Endless) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with pytest.raises((ServerUnreachable, ServerRefused), match=r"no answer from|status 500"):
                RemoteSession(f"http://127.0.0.1:{server.server_address[1]}", token="x").datasets  # noqa: B018
        finally:
            over.set()
            server.shutdown()


def test_a_search_without_errors():
    """Quotes of no number at all."""
    with pytest.raises(ServerRefused, match="must be a list of 1 to"):
        session({"quotes": [QUOTE | {"expected_error": [], "bound": []}]}).least_epsilon(dt.Count("a"), target_error=2)


@pytest.mark.parametrize(
    "releases",
    ["text", 5, None, [], [{"value": "x"}], [RELEASE | {"neighbours": "nonsense"}], [RELEASE | {"epsilon": -5}]],
    ids=["text", "number", "null", "empty", "no_release", "neighbours", "epsilon"],
)
def test_a_job_that_says_releases(releases):
    """A field that its model leaves out is not taken for the answer."""
    lying = session(RUNNING, RUNNING | {"releases": releases, "epsilon": 1.0, "delta": 0.0})
    with pytest.raises(DitherError):
        lying.ask(dt.Count("a"), epsilon=1.0)


def test_a_time_of_many_digits():
    """What no float prints stays a decimal; a pause is a number of seconds, and no more than a float can be."""
    done = {"id": "j", "state": "done", "ready_in": 0, "answer": {"releases": [RELEASE], "epsilon": 1.0, "delta": 0.0}}
    running = session('{"id": "j", "state": "running", "ready_in": 0.12345678901234567890}', done)
    assert running.ask(dt.Count("a"), epsilon=1.0).value == RELEASE["value"]
    with pytest.raises(ServerRefused, match="ready_in must be a finite number"):
        session(RUNNING | {"ready_in": 10**390}).ask(dt.Count("a"), epsilon=1.0)
