"""Ten thousand hostile requests beside ordinary ones: the server stays up, answers health, and ends when it is told to.

``FORMS`` lists the forms of requests.  A new one is a function with ``@form``: it gets a number, which makes its
requests differ, and returns what is sent.  Forms that take a helper process long have ``impatient``: whoever sends
them hangs up after so many seconds.
"""

import contextlib
import http.client
import json
import resource
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from curators import CuratorProcess, held, until, with_dataset
from dither.queries.wire import served
from odd_workers import is_there, processes_below

pytestmark = pytest.mark.slow

REQUESTS = 10_000
CLIENTS = 3
"""Hostile ones at a time: more would measure the machine."""
HEALTH = 0.5
"""Seconds: of 100 looks at health one may take longer, beside what another small server takes on the same machine."""
MEMORY = 1 << 30
"""Bytes that hostile requests may add to the server."""
ENDING = 15.0
"""Seconds from SIGTERM to the end."""
PAY = "/v1/datasets/pay"
MEDIAN = {"kind": "median", "column": "pay"}
SILENT = """version = 2
[dataset]
source = "postgresql://user:secret@127.0.0.1:{port}/data"
table = "t"
rows = 100
[budget]
epsilon = 5
[columns.x]
type = "real"
bounds = [0, 1]
step = 0.1
"""


@dataclass(frozen=True)
class Sent:
    """One request."""

    method: str
    path: str
    body: object = None
    token: str | None = "hostile"
    raw: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Form:
    """A form of hostile requests."""

    build: Callable[[int], Sent]
    share: int = 30
    """How many of its requests are sent for one of the rarest form."""
    impatient: float | None = None
    codes: tuple[str, ...] = ()
    """Problems of status 503 that are no failures of the server: a source that does not answer."""


FORMS: dict[str, Form] = {}


def form(**options):
    """Add a form of requests under the name of its function."""

    def add(build):
        FORMS[build.__name__] = Form(build, **options)
        return build

    return add


def program(source="def g(rows): return 1", **more):
    """A program as a client sends it."""
    return {"kind": "program", "source": source, "function": "g", "blocks": 10, **more}


def quote(**body):
    """A request for a quote of epsilon 1."""
    return Sent("POST", f"{PAY}/quote", {"epsilon": 1} | body)


@form(share=1, impatient=1.0)
def edit_distances(number):
    """A space of a thousand strings."""
    words = ", ".join(f"{place:03d}abcdefghijk{number:06d}" for place in range(900))
    return quote(query=program(space=f"strings: {words}"))


@form()
def edit_distances_without_rights(number):
    """The same of a token that may not ask programs."""
    return Sent("POST", f"{PAY}/quote", edit_distances(number).body, token="narrow")


@form(share=1, impatient=1.0)
def f_strings(number):
    """A program whose text takes long to parse."""
    return quote(query=[program(f"x = {number}\nf'" + "{1}" * 33_000 + "'\ndef g(rows): return 1", bounds=[0, 1])] * 2)


@form()
def deep_programs(number):
    """Programs that no parser takes."""
    texts = ("(" * 9_000, "-" * 50_000 + "1", "[" * 90 + "]" * 90, "a." * 20_000 + "a", "\t" * 9_000 + "if")
    return quote(query=program(f"{texts[number % len(texts)]}\ndef g(rows): return {number}", bounds=[0, 1]))


@form()
def texts_that_are_none(number):
    """Halves of surrogate pairs, in JSON and in the JSON of labels; also to be charged."""
    space = f'labels: ["\\ud800", "{number}"]'
    sent = (
        quote(query=program(space=space)),
        Sent("POST", f"{PAY}/releases", {"epsilon": 1, "query": program(space=space), "request_id": f"s{number}"}),
        Sent("POST", f"{PAY}/quote", raw=b'{"epsilon": 1, "query": {"kind": "median", "column": "\\ud800"}}'),
        Sent("POST", f"{PAY}/quote", raw=b'{"epsilon": 1, "sql": "SELECT \xff"}'),
    )
    return sent[number % len(sent)]


@form()
def deep_labels(number):
    """Lists in lists."""
    spaces = ("labels: " + "[" * 19_000, "points: " + "[" * 19_000, "labels: " + "[" * 900 + "1" + "]" * 900)
    return quote(query=program(space=spaces[number % len(spaces)]))


@form()
def odd_bodies(number):
    """What is no JSON, too deep, too large or of another type."""
    texts = (b"{", b"[" * 100_000, b'{"a":' * 50_000, b"null", b'{"epsilon": NaN}', b'{"epsilon": 1e999999}')
    texts += (b'{"epsilon": ' + b"9" * 200_000 + b"}", b"x" * 300_000, b'{"epsilon": 1, "epsilon": 1}', b'"\\u0000"')
    return Sent("POST", f"{PAY}/{('quote', 'releases')[number % 2]}", raw=texts[number % len(texts)])


@form()
def odd_statements(number):
    """SQL and filters that are deep, long or not closed."""
    bodies = (
        {"where": "(" * 9_000 + "pay=1" + ")" * 9_000, "query": MEDIAN},
        {"where": "NOT " * 4_000 + "pay=1", "query": MEDIAN},
        {"where": " OR ".join(["pay=1"] * 2_000), "query": MEDIAN},
        {"sql": "SELECT " + ",".join(["median(pay)"] * 1_500) + " FROM pay"},
        {"sql": "SELECT median(" + "-" * 15_000 + "pay) FROM pay"},
        {"sql": "SELECT /*" * 2_000},
        {"sql": "SELECT '" * 2_000},
    )
    return quote(**bodies[number % len(bodies)])


@form()
def odd_numbers(number):
    """Numbers at the ends of what is a number."""
    odd = (10**59, 2**63, 2**31, 1e-60, 1e60, 1e-30, -1, 0)[number % 8]
    bodies = (
        {"query": {"kind": "order_statistic", "column": "pay", "rank": odd}},
        {"query": {"kind": "smallest_sum", "column": "pay", "k": odd}},
        {"query": MEDIAN | {"step": odd}},
        {"query": {"kind": "quantiles", "column": "pay", "q": [odd]}},
        {"query": MEDIAN, "epsilon": odd},
        {"query": MEDIAN, "rows": odd},
        {"query": MEDIAN, "confidence": odd},
        {"query": [MEDIAN] * 50, "weights": [odd] * 50},
        {"query": {"kind": "histogram", "column": "pay", "edges": [0, odd]}},
    )
    return quote(**bodies[number // 8 % len(bodies)])


@form(share=3, impatient=20.0)
def counts_from_a_histogram(number):
    """Counts that a stored histogram of a very small epsilon answers: a memory of 1/epsilon would be gigabytes."""
    return quote(query={"kind": "count"}, where="job = 'nurse'", confidence=round(0.5 + number % 1_000 / 2_001, 6))


@form(share=2)
def large_answers(number):
    """A stored answer of many numbers, sent again under other names: each job would keep its own."""
    body = {"epsilon": 1, "query": LARGE, "request_id": f"large {number}"}
    return Sent("POST", f"{PAY}/releases", body)


@form(share=1)
def large_pages(number):
    """A history of large answers."""
    return Sent("GET", f"{PAY}/releases?limit=1000&after={number % 3}")


@form(share=1, impatient=2.0, codes=("source-failed", "busy"))
def a_silent_source(number):
    """Questions about a database that takes connections and says nothing."""
    body = {"epsilon": 0.001, "query": {"kind": "median", "column": "x"}, "request_id": f"silent {number}"}
    return Sent("POST", "/v1/datasets/silent/releases", body | {"wait": number % 2 == 0})


@form(share=2, impatient=5.0, codes=("source-failed", "not-opened-yet"))
def listings_with_a_silent_source(number):
    """Datasets are listed, and shown, from what is registered."""
    return Sent("GET", "/v1/datasets" if number % 2 else "/v1/datasets/silent")


@form()
def strangers(number):
    """Without a token, with odd ones, at addresses that are none."""
    sent = (
        Sent("GET", "/v1/me", token=None),
        Sent("GET", "/v1/me", token="x" * 150),
        Sent("POST", f"{PAY}/releases", {"epsilon": 1, "query": MEDIAN}, token="nothing"),
        Sent("GET", "/nothing/" + "a" * 3_000, token=None),
        Sent("GET", "/v1/datasets/%2e%2e%2f%2e%2e/releases"),
        Sent("DELETE", "/v1/me"),
        Sent("GET", "/v1/jobs/" + "0" * 32),
    )
    return sent[number % len(sent)]


@form()
def odd_pages(number):
    """Places in lists far beyond their ends."""
    after = (10**15, 10**15 - 1, 2**53, 10**14, -1, "9" * 400, "x")[number % 7]
    return Sent("GET", f"{PAY}/releases?after={after}&limit=1000")


@form()
def absolute_addresses(number):
    """Requests as a proxy gets them."""
    return Sent("GET", f"http://elsewhere{number}.example/v1/me")


LARGE = [{"kind": "histogram", "column": "pay", "bins": 1_000 - place} for place in range(4)]


class Client:
    """A connection that is kept while it serves."""

    def __init__(self, server):
        self.server, self.connection = server, None

    def send(self, sent, patience=120.0):
        """(status, code of a problem); None where the client lost its patience."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port)
        self.connection.timeout = patience
        if self.connection.sock is not None:
            self.connection.sock.settimeout(patience)
        token = self.server.tokens.get(sent.token, sent.token)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        data = sent.raw if sent.raw is not None else None if sent.body is None else json.dumps(sent.body).encode()
        if data is not None:
            headers["Content-Type"] = "application/json"
        try:
            self.connection.request(sent.method, sent.path, body=data, headers=headers | sent.headers)
            response = self.connection.getresponse()
            text = response.read()
        except TimeoutError:
            self.close()
            return None
        except (http.client.HTTPException, OSError):  # refused while the body was sent
            self.close()
            return 0, "closed"
        problem = "problem" in response.headers.get("Content-Type", "")
        return response.status, json.loads(text)["code"] if problem else ""

    def close(self):
        """Hang up."""
        if self.connection is not None:
            self.connection.close()
        self.connection = None


@dataclass
class Load:
    """What was answered while a list of requests was sent."""

    answers: Counter = field(default_factory=Counter)
    failures: list = field(default_factory=list)
    ordinary: Counter = field(default_factory=Counter)
    health: list = field(default_factory=list)
    reference: list = field(default_factory=list)
    memory: int = 0

    def run(self, server, names, count):
        """Send so many requests of these forms from a few clients, and ordinary ones beside them."""
        wheel = [name for name in names for _ in range(FORMS[name].share)]
        numbers, end = iter(range(count)), threading.Event()
        take = threading.Lock()

        def hostile():
            client = Client(server)
            while True:
                with take:
                    number = next(numbers, None)
                if number is None:
                    break
                name = wheel[number * 7 % len(wheel)] if len(wheel) % 7 else wheel[number % len(wheel)]
                self._note(name, client.send(FORMS[name].build(number), FORMS[name].impatient or 120.0))
            client.close()

        watchers = [threading.Thread(target=work, args=(server, end)) for work in (self._ordinary, self._watched)]
        senders = [threading.Thread(target=hostile) for _ in range(CLIENTS)]
        for thread in (*watchers, *senders):
            thread.start()
        for thread in senders:
            thread.join()
        end.set()
        for thread in watchers:
            thread.join()
        return self

    def _note(self, name, answer):
        self.answers[name, answer] += 1
        if answer is not None and answer[0] >= 500 and answer[1] not in FORMS[name].codes:
            self.failures.append((name, answer))

    def _ordinary(self, server, end):
        client = Client(server)
        place = 0
        while not end.wait(0.2):
            place += 1
            body = {"epsilon": 0.001, "query": MEDIAN, "request_id": f"ordinary {place}"}
            for sent in (
                Sent("POST", f"{PAY}/quote", {"epsilon": round(0.1 + place / 1e6, 7), "query": MEDIAN}, "ordinary"),
                Sent("POST", f"{PAY}/releases", body, "ordinary"),
                Sent("GET", f"{PAY}/budget", None, "ordinary"),
            ):
                self.ordinary[client.send(sent)] += 1
        client.close()

    def _watched(self, server, end):
        with small_server() as port:
            while not self.health or not end.wait(0.05):
                self.reference.append(_seconds(port, "/"))
                self.health.append(_seconds(server.port, "/healthz"))
                self.memory = max(self.memory, resident(server))


def _seconds(port, path):
    """How long a request on a new connection takes; for ever where it is not answered well."""
    begin, connection = time.monotonic(), http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        status = connection.getresponse().status
    except OSError:
        status = 0
    finally:
        connection.close()
    return time.monotonic() - begin if status == 200 else float("inf")


@contextlib.contextmanager
def small_server():
    """Another server on this machine, which does nothing: what it takes is the machine's."""
    text = "from http.server import *\ns = HTTPServer(('127.0.0.1', 0), SimpleHTTPRequestHandler)\n"
    text += "print(s.server_port, flush=True)\ns.serve_forever()"
    words = [sys.executable, "-c", text]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd="/dev/shm")
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def resident(server):
    """Bytes of memory of the process that answers."""
    return int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * resource.getpagesize()


def later(values, share=0.99):
    """The least of the values that so great a share of them does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


@pytest.fixture(scope="module")
def silence():
    """The port of a database that takes connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        kept, end = [], threading.Event()

        def accept():
            listening.settimeout(0.2)
            while not end.is_set():
                with contextlib.suppress(TimeoutError):
                    kept.append(listening.accept()[0])

        thread = threading.Thread(target=accept)
        thread.start()
        yield listening.getsockname()[1]
        end.set()
        thread.join()
        for connection in kept:
            connection.close()


@pytest.fixture
def start(tmp_path, silence):
    """Starts servers, with a table, a silent source, and tokens."""
    started = []

    def build(**options):
        home = with_dataset(tmp_path / f"home{len(started)}", epsilon=10_000)
        (home / "datasets" / "silent.toml").write_text(SILENT.format(port=silence))
        server = CuratorProcess(home, **options).start()
        started.append(server)
        server.token("hostile", datasets=["pay", "silent"], kinds=[*served()])  # programs too
        server.token("ordinary", datasets=["pay"])
        server.token("narrow", kinds=["median"])
        small = {"epsilon": 1e-5, "query": {"kind": "histogram", "column": "job"}}
        assert server.call("POST", f"{PAY}/releases", small, token="hostile")[0] == 200
        large = {"epsilon": 1, "query": LARGE, "request_id": "large"}
        until(lambda: server.call("POST", f"{PAY}/releases", large, token="hostile")[0] == 200, what="a large answer")
        return server

    yield build
    for server in started:
        if server.process is not None:
            server.kill()


def check(load, before):
    """Nothing failed, health was answered in time, ordinary requests were served, memory is bounded."""
    assert load.failures == [], Counter(load.failures)
    refused = {answer: count for answer, count in load.ordinary.items() if answer is None or answer[0] != 200}
    assert not refused, refused
    assert load.memory - before <= MEMORY, f"{(load.memory - before) >> 20} MB more than before"
    slowest = HEALTH + 4 * later(load.reference)
    assert later(load.health) <= slowest, (later(load.health), later(load.reference), len(load.health))


def end_in_time(server):
    """SIGTERM, and the end."""
    process, begin = server.process, time.monotonic()
    try:
        server.stop(ENDING + 60)
    except subprocess.TimeoutExpired:
        server.process = process
        pytest.fail("it did not end")
    assert time.monotonic() - begin <= ENDING


def test_ten_thousand_hostile_requests(start):
    """Of all forms, beside ordinary ones; and then the server ends."""
    server = start()
    before = resident(server)
    load = Load().run(server, list(FORMS), REQUESTS)
    assert sum(load.answers.values()) == REQUESTS
    check(load, before)
    end_in_time(server)


def test_each_form_alone(start):
    """Every form is answered as it must be, so that a failure has a name; after one the server is another one."""
    server, wrong = start(), {}
    for name in FORMS:
        before, load = resident(server), Load().run(server, [name], 12)
        try:
            check(load, before)
        except AssertionError as error:
            wrong[name] = str(error).split("\n")[0]
            server.kill()
            server = start()
    assert not wrong, wrong


@pytest.mark.parametrize("name", [name for name, item in FORMS.items() if item.impatient is not None])
def test_it_ends_in_every_state(start, name):
    """While requests that take long are under way: planned, parsed, or waiting for a source that says nothing."""
    server = start()
    sent = FORMS[name].build

    def ask(number):
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            Client(server).send(sent(number))

    threads = [threading.Thread(target=ask, args=(number,), daemon=True) for number in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(2)
    until(lambda: server.call("GET", "/healthz", token=None)[0] == 200, 60, what="health")
    end_in_time(server)
    for thread in threads:
        thread.join(60)


def send_all(server, bodies):
    """Ask each of the questions in the background, as jobs."""
    for number, body in enumerate(bodies):
        job = {"epsilon": 1, "wait": False, "request_id": f"state {number}"}
        status, payload, _ = server.call("POST", f"{PAY}/releases", job | body, token="hostile")
        assert status == 202, payload


def end_with_everything(server):
    """SIGTERM, and the end of the server and of all that it has started."""
    started = processes_below(server.process.pid)
    end_in_time(server)
    until(lambda: not any(is_there(pid) for pid in started), 30, what="the end of all processes")


def test_it_ends_while_programs_run(start, isolated):
    """Sandboxes that would run for minutes end with it."""
    server = start()
    before = processes_below(server.process.pid)
    text = "import time\ndef g(rows):\n    time.sleep(50)\n    return 1"
    send_all(server, [{"query": program(text + f" + {number}", bounds=[0, 9], slot=60)} for number in range(2)])
    until(lambda: b"bwrap" in commands(processes_below(server.process.pid) - before), 120, what="a running program")
    end_with_everything(server)


def commands(pids):
    """What processes run."""
    texts = []
    for pid in pids:
        with contextlib.suppress(OSError):
            texts.append(Path(f"/proc/{pid}/cmdline").read_bytes())
    return b"\n".join(texts)


@pytest.mark.parametrize("statistic", ["minimum", "mean"])
def test_it_ends_while_records_are_read(start, statistic):
    """By workers that do not come to an end; of a mean, that also let no other thread of theirs run."""
    server = start(odd=True)
    send_all(server, [{"query": {"kind": statistic, "column": "pay"}, "epsilon": number} for number in range(1, 5)])
    until((server.home / "data" / f"reading-{statistic.title()}").exists, 120, what="a reading")
    end_with_everything(server)


def test_it_ends_while_charges_wait(start):
    """Another process holds the ledger."""
    server = start()
    with held(str(server.home / "ledger.db")):
        threads = [
            threading.Thread(
                target=Client(server).send,
                args=(Sent("POST", f"{PAY}/releases", {"epsilon": 0.5 + number, "query": MEDIAN}),),
                daemon=True,
            )
            for number in range(4)
        ]
        for thread in threads:
            thread.start()
        time.sleep(2)
        assert all(thread.is_alive() for thread in threads)
        end_with_everything(server)
    for thread in threads:
        thread.join(60)


def test_it_ends_while_nobody_reads_its_answers(start):
    """Clients that ask for large answers again and again and read none: those that are under way are cut off."""
    server, count = start(), 60
    request = f"GET {PAY}/releases?limit=1000 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.tokens['hostile']}"
    connections = []
    for _ in range(4):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(f"{request}\r\n\r\n".encode() * count)
        connections.append(connection)
    for connection in connections:
        connection.settimeout(60)
        assert connection.recv(4, socket.MSG_PEEK) == b"HTTP"
    time.sleep(2)
    end_with_everything(server)
    for connection in connections:
        received = b""
        with contextlib.suppress(OSError):
            while piece := connection.recv(1 << 20):
                received += piece
        connection.close()
        assert 0 < received.count(b"HTTP/1.1 200") < count
