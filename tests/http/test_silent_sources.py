"""A source that does not answer: its own questions wait, and nothing else does."""

import json
import queue
import socket
import threading
import time

import pytest

from curators import CuratorProcess, median, until, with_dataset
from dither.errors import SourceFailed
from dither.interfaces.http import bodies, jobs, lanes, openings, server_state
from dither.interfaces.http.jobs import Job, Jobs
from dither.interfaces.http.lanes import Lanes
from dither.interfaces.http.openings import Openings
from dither.interfaces.http.server_state import Curator
from dither.plain import answered_number, plain
from dither.sources.engines import postgres

SILENT = """version = 2
[dataset]
source = "postgresql://u:word@127.0.0.1:{port}/d"
table = "t"
rows = 100
[budget]
epsilon = 5
[columns.pay]
type = "integer"
bounds = [0, 1000]
"""


@pytest.fixture
def silent_port():
    """Where something accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listening:
        yield listening.getsockname()[1]


def test_one_share_leaves_threads_to_the_others():
    """Work that hangs in one dataset, however much of it there is, holds its share; the others have threads."""
    made, end, ran = Lanes(4, each=2, name="test"), threading.Event(), queue.SimpleQueue()
    hanging = [made.submit(lambda: end.wait(60), share="silent") for _ in range(20)]
    for number in range(3):
        for _ in range(5):
            made.submit(lambda number=number: ran.put(number), share=f"other {number}")
    assert sorted(ran.get(timeout=60) for _ in range(15)) == sorted([0, 1, 2] * 5)
    assert sum(one.running() for one in hanging) == 2
    end.set()
    assert all(one.result(timeout=60) for one in hanging)
    made.close(wait=True)


def test_as_many_datasets_hang_as_there_are_lanes():
    """Each dataset gets a thread, beyond the number of threads too, up to a public limit."""
    made, end = Lanes(2, each=1, name="test"), threading.Event()
    hanging = [made.submit(lambda: end.wait(60), share=str(number)) for number in range(lanes.MOST_LANES + 3)]
    until(lambda: sum(one.running() for one in hanging) == lanes.MOST_LANES)
    assert made.submit(lambda: None, share="one more").running() is False
    end.set()
    made.close(wait=True)


def test_an_iterator_that_ends_early_is_an_error_here_too():
    """A coroutine could not wait for it otherwise."""
    made = Lanes(1, each=1, name="test")
    with pytest.raises(RuntimeError, match="ended early"):
        made.submit(lambda: next(iter(()))).result(timeout=60)
    made.close(wait=True)
    with pytest.raises(RuntimeError, match="have ended"):
        made.submit(dict)


def test_listings_read_what_is_registered(tmp_path, silent_port):
    """A dataset whose source does not answer is listed as not opened yet, and no listing waits for it."""
    from starlette.testclient import TestClient

    from dither.interfaces.http.app import create_app

    home = with_dataset(tmp_path / "home")
    (home / "datasets" / "silent.toml").write_text(SILENT.format(port=silent_port))
    made, end, opened = Curator(home), threading.Event(), []
    secret = made.first_owner()
    with TestClient(create_app(home, curator=made), headers={"Authorization": f"Bearer {secret}"}) as client:
        pay, silent = made.catalog.dataset("pay"), made.catalog.dataset("silent")
        silent.open = lambda: opened.append(threading.current_thread().name) or end.wait(60)
        try:
            for _ in range(9):
                listed = {one["name"]: one for one in client.get("/v1/datasets").json()["datasets"]}
                assert (listed["silent"]["opened"], listed["silent"]["budget"]) == (False, None)
                assert listed["silent"]["rows"] == 100
            until(lambda: opened)
            assert len(opened) == 1
            assert opened[0].startswith("long")
            assert client.get("/v1/datasets/pay/budget").status_code == 200
            until(lambda: client.get("/v1/datasets").json()["datasets"][0]["opened"])
            assert pay.is_open
            openings.LONGEST_WAIT, before = 0.01, openings.LONGEST_WAIT
            try:
                for path in ("", "/budget", "/releases"):
                    response = client.get(f"/v1/datasets/silent{path}")
                    assert (response.status_code, response.json()["code"]) == (503, "not-opened-yet")
                    assert response.headers["retry-after"] == "5"
            finally:
                openings.LONGEST_WAIT = before
        finally:
            end.set()


def test_an_opening_that_failed_is_not_repeated_at_once():
    """Its failure is the answer for a while; a dataset with another schema is opened anew."""

    class Failing:
        name = "silent"

        def open_account(self) -> None:
            raise SourceFailed("it is not there; nothing was charged")

    class Threads:
        begun = 0

        def submit_long(self, work, share):
            self.begun += 1
            made = Lanes(1, each=1, name="test")
            outcome = made.submit(work, share=share)
            made.close(wait=True)
            return outcome

    threads = Threads()
    found, first = Openings(None, threads), Failing()
    assert [str(found.failure(first))[:15] for _ in range(3)] == ["it is not there"] * 3
    assert threads.begun == 1
    assert isinstance(found.failure(Failing()), SourceFailed)
    assert threads.begun == 2


def test_a_database_that_does_not_answer_is_an_error(silent_port, monkeypatch):
    """Connecting has a limit in time; without one this test does not end."""
    pytest.importorskip("psycopg")
    monkeypatch.setattr(postgres, "LONGEST_SILENCE", 2)
    with pytest.raises(SourceFailed, match="could not be reached"):
        postgres.Postgres(f"postgresql://u:word@127.0.0.1:{silent_port}/d", "t")


def test_a_connection_that_falls_silent_is_ended(monkeypatch):
    """Whoever reads from it sees its end, instead of waiting for ever."""
    monkeypatch.setattr(postgres, "LONGEST_SILENCE", 0.05)
    ours, theirs = socket.socketpair()
    with ours, theirs, postgres.answering_in_time(ours):
        ours.settimeout(60)
        assert ours.recv(1) == b""
    with pytest.raises(OSError, match=r"closed|Bad file"):
        ours.send(b"x")


def test_the_server_ends_within_fifteen_seconds():
    """All that is waited for after SIGTERM, together."""
    assert server_state.DRAIN + server_state.LETTING_GO <= 13


@pytest.mark.slow
def test_a_silent_source_stops_no_other_dataset_and_no_sigterm(tmp_path, silent_port):
    """Questions, listings and owners who wait for it, beside questions about another dataset; then SIGTERM."""
    pytest.importorskip("psycopg")
    home = with_dataset(tmp_path / "home", epsilon=100)
    (home / "datasets" / "silent.toml").write_text(SILENT.format(port=silent_port))
    server = CuratorProcess(home).start()
    waiting = []

    def hang(method, path, body=None):
        thread = threading.Thread(target=lambda: server.call(method, path, body), daemon=True)
        thread.start()
        waiting.append(thread)

    try:
        for number in range(8):
            hang("POST", "/v1/datasets/silent/releases", median(0.01, request_id=f"hang-{number}"))
            hang("GET", "/v1/datasets/silent")
            hang("GET", "/v1/datasets")
        status, payload, _ = server.call("POST", "/v1/datasets/pay/releases", median(0.1), timeout=60)
        assert status == 200, payload
        assert server.call("GET", "/v1/datasets", timeout=60)[0] == 200
        assert server.call("GET", "/v1/datasets/pay", timeout=60)[0] == 200
        begun = time.monotonic()
        assert server.stop(60) in (0, 1)
        assert time.monotonic() - begun < 60  # (131 s before; 12 s on a machine with nothing else to do)
    finally:
        server.kill()


# --- what is kept and written --------------------------------------------------------------------------------


def test_answers_are_kept_up_to_a_number_of_bytes(monkeypatch):
    """The oldest are forgotten first, those that somebody waits for never; the job itself is still known."""
    monkeypatch.setattr(jobs, "MOST_BYTES", 2_500)
    made = Jobs(1, 10)
    every = []
    for number in range(8):
        job = Job("a", "pay", f"r{number}", 0.01, time.monotonic(), {"q": number})
        if number == 1:
            job.readers = 1
        every.append(made.start(job, lambda: {"epsilon": 1.0, "delta": 0.0, "text": "x" * 1_000}))
        until(lambda job=job: job.is_visible)
    made.start(Job("a", "pay", "last", 0.01, time.monotonic(), {"q": "last"}), dict)
    kept = [job.answer is not None for job in every]
    assert kept == [False, True, False, False, False, False, True, True]
    assert [job.is_forgotten for job in every] == [not one for one in kept]
    assert made.find(every[0].id) is every[0]
    assert every[0].loss == (1.0, 0.0)
    made.close()


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        None,
        {"a": []},
        {"a": {}},
        {"releases": [{"value": [1, 2.5, float("inf")], "more": {"b": [[1], [2]]}}, {"c": 'ü\n"'}], "n": 3},
        [[[[[[1, {"x": [None]}]]]]]],
        {1: (1, 2)},
    ],
)
def test_json_in_pieces_is_the_json_of_the_whole(value):
    """To the last byte, at every depth."""
    from dither.interfaces import strict_json

    assert bytes(bodies.encoded(value)).decode() == strict_json.text_of(plain(value, answered_number))


def test_large_answers_are_written_in_small_pieces():
    """No piece of a large answer is larger than one release, so that no thread waits long for another."""
    release = {"value": 1.5, "labels": ["a"] * 10}
    answer = {"releases": [{"number": one, "releases": [release] * 100} for one in range(20)]}
    pieces = list(bodies._pieces(answer, bodies._DEPTH))
    assert max(map(len, pieces)) <= len(json.dumps(release)) + 2
    assert json.loads(b"".join(pieces)) == answer


def test_what_is_written_already_becomes_part_of_an_answer():
    """An answer that is kept is not read again to be sent."""
    part = bodies.encoded({"a": 1})
    assert bodies.encoded({"answer": part, "more": [part]}) == b'{"answer": {"a": 1}, "more": [{"a": 1}]}'


@pytest.mark.slow
def test_pages_end_by_bytes(tmp_path, monkeypatch):
    """History and ledger have one entry at least and say that there are more; page by page nothing is missed."""
    from starlette.testclient import TestClient

    from dither.interfaces.http import service
    from dither.interfaces.http.app import create_app

    home = with_dataset(tmp_path / "home", epsilon=5)
    made = Curator(home)
    secret = made.first_owner()
    with TestClient(create_app(home, curator=made), headers={"Authorization": f"Bearer {secret}"}) as client:
        for number in range(4):
            body = median(0.01 * (number + 1))
            assert client.post("/v1/datasets/pay/releases", json=body).status_code == 200
        whole = client.get("/v1/datasets/pay/releases").json()
        assert (len(whole["releases"]), whole["more"]) == (4, False)
        entries = client.get("/v1/ledger").json()["entries"]
        monkeypatch.setattr(service, "MOST_PAGE_BYTES", 1)
        for path, name, expected in (
            ("/v1/datasets/pay/releases", "releases", [one["number"] for one in whole["releases"]]),
            ("/v1/ledger", "entries", [one["number"] for one in entries]),
        ):
            numbers, more = [], True
            while more:
                page = client.get(f"{path}?after={numbers[-1] if numbers else 0}").json()
                assert len(page[name]) == 1
                numbers += [one["number"] for one in page[name]]
                more = page["more"]
            assert numbers == expected
