"""Calls go one way: the modules that a question passes, and the few pairs of them that call each other both ways.

A question is followed with a profiler through every call in the package, in all threads of this process.  A pair that
calls both ways is a call-back; each is listed here with its reason, and any other fails.
"""

import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import dither as dt

ROOT = f"{Path(dt.__file__).parent}/"
DRAW = ("mechanisms/exponential.py", "noise/discrete_exponential.py")
"""A draw asks for the weights of more rungs only if those that it has seen do not decide it."""
ENGINE = ("sources/engines/duckdb.py", "sources/engines/engine.py")
"""What all engines share asks one of them for its own functions, and hides the errors of what it does."""
COMMIT = ("ledger/book.py", "ledger/shared_commits.py")
"""Who leads a commit makes the changes of all who wait for it."""
JOB = ("interfaces/http/jobs.py", "interfaces/http/service.py")
"""A job does the work of a question later, in a thread of its own."""
KEPT = ("interfaces/http/jobs.py", "interfaces/http/shared_jobs.py")
"""Where a job takes long, other servers are told of its end when it comes."""
LANE = ("interfaces/http/jobs.py", "interfaces/http/lanes.py")
"""A job waits for a thread of its dataset, which then does its work."""
READ = ("borders.py", "queries/parameters.py")
"""A parameter reads its value by a model, which asks the parameter for its own rules."""
SCHEMA = """[dataset]
name = "t"
source = "t.parquet"
rows = 2000
[budget]
epsilon = 100
delta = 0.001
[columns.x]
type = "real"
bounds = [0, 600000]
[columns.job]
type = "category"
values = ["a", "b"]
"""
PROGRAM = """def f(t):
    import pyarrow.compute as pc
    return [pc.mean(t.column("x")).as_py()]
"""


class Trace:
    """Which module of the package calls which."""

    def __init__(self):
        self.calls = set()

    def __call__(self, frame, event, arg):
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(ROOT):
            return
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(ROOT):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != name:
            self.calls.add((caller.f_code.co_filename.removeprefix(ROOT), name.removeprefix(ROOT)))

    @property
    def both_ways(self):
        return {tuple(sorted(pair)) for pair in self.calls if pair[::-1] in self.calls}


class Follower:
    """Follows all threads that are started while it is there, and this one; what it sees goes to the newest trace."""

    def __init__(self):
        self.trace = None

    def __call__(self, frame, event, arg):
        if self.trace is not None:
            self.trace(frame, event, arg)

    @contextmanager
    def following(self):
        self.trace = trace = Trace()
        sys.setprofile(self)
        try:
            yield trace
        finally:
            sys.setprofile(None)
            self.trace = None


@pytest.fixture(scope="module")
def follower():
    """Follows every thread that is started from here on."""
    follower = Follower()
    threading.setprofile(follower)
    yield follower
    threading.setprofile(None)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A Parquet file in the home folder of a server."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = tmp_path_factory.mktemp("home") / "data" / "t.parquet"
    file.parent.mkdir()
    x = np.random.default_rng(0).lognormal(11, 0.6, 2_000)
    pq.write_table(pa.table({"x": x, "job": ["a", "b"] * 1_000, "year": [2013, 2014] * 1_000}), file)
    return file


@pytest.fixture(scope="module")
def post(follower, data):
    """Asks a server in this process, whose threads are followed."""
    from starlette.testclient import TestClient

    from dither.interfaces.http.app import create_app

    app = create_app(data.parent.parent)
    headers = {"Authorization": f"Bearer {app.state.curator.first_owner()}"}
    with TestClient(app) as client:

        def post(path, body):
            reply = client.post(f"/v1/datasets{path}", headers=headers, json=body)
            while reply.status_code == 202:
                time.sleep(0.2)
                reply = client.get(reply.headers["Location"], headers=headers)
            assert reply.is_success, reply.text
            return reply.json()

        post("", {"name": "t", "schema": SCHEMA, "answer_seconds": 0.2})
        yield post


def test_the_median_of_an_array(follower):
    """From the function down to the draw."""
    x = np.random.default_rng(0).lognormal(11, 0.6, 2_000)
    dt.median(x, bounds=(0, 600_000), epsilon=0.5)
    with follower.following() as trace:
        dt.median(x, bounds=(0, 600_000), epsilon=0.5)
    assert ("answer.py", "queries/unbounded.py") in trace.calls
    assert trace.both_ways <= {DRAW}


def test_sql_on_a_table(follower, data):
    """From the text over plan, charge and engine down to the draw, and back as releases."""
    columns = {"x": dt.Real(0, 600_000), "job": dt.Category(["a", "b"]), "year": dt.Integer(2000, 2030)}

    def ask():
        with dt.open(data, columns=columns, rows=2_000, budget=dt.Budget(100), name="t") as session:
            return session.sql("SELECT median(x) FROM t WHERE year = 2014 GROUP BY job", epsilon=1.0)

    ask()
    with follower.following() as trace:
        assert len(ask()) == 2
    assert ("session/session.py", "sql/statement.py") in trace.calls
    assert ("session/reading.py", "answer.py") in trace.calls
    assert trace.both_ways <= {DRAW, ENGINE, COMMIT}


@pytest.mark.slow
def test_a_release_by_http(follower, post):
    """In the server's own process; its worker reads as a session does."""
    body = {"sql": "SELECT median(x) FROM t GROUP BY job", "epsilon": 1, "again": True}
    post("/t/releases", body)
    with follower.following() as trace:
        assert len(post("/t/releases", body)["releases"]) == 2
    assert ("interfaces/http/service.py", "session/account.py") in trace.calls
    assert trace.both_ways <= {JOB, KEPT, LANE, COMMIT}


@pytest.mark.slow
def test_a_program_by_http(follower, post, isolated):
    """The same for a program."""
    query = {"kind": "program", "source": PROGRAM, "function": "f", "columns": ["x"], "bounds": [0, 600_000]}
    with follower.following() as trace:
        post("/t/releases", {"query": query | {"blocks": 5, "slot": 0.3}, "epsilon": 1})
    assert ("interfaces/http/service.py", "session/account.py") in trace.calls
    assert trace.both_ways <= {JOB, KEPT, LANE, READ, COMMIT}
    assert len(trace.both_ways - {COMMIT}) <= 2


def test_a_pair_that_calls_both_ways_is_seen():
    """What the tests above would fail on: a call-back from below is a pair."""
    trace = Trace()
    trace.calls = {("a.py", "b.py"), ("b.py", "c.py"), ("b.py", "a.py")}
    assert trace.both_ways == {("a.py", "b.py")}
