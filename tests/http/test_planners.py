"""Plans and quotes run in processes of their own: admitted, in turns, for a limited time, ended when nobody waits."""

import asyncio
import os
import threading
import time

import pytest

from curators import PAYROLL, CuratorProcess, median, together, with_dataset
from dither.interfaces.http import planners as module
from dither.interfaces.http.fork_server import ForkServer
from dither.interfaces.http.planners import Planners
from dither.interfaces.http.planning import MOST_MEMORY
from dither.interfaces.http.problems import Refused
from odd_workers import is_there

pytestmark = pytest.mark.slow

FOR_EVER = 3_600


@pytest.fixture(scope="module")
def forks():
    """Starts helpers."""
    server = ForkServer.started()
    yield server
    server.close()


def run(forks, work, **limits):
    """``await work(planners)`` with planners of their own."""

    async def main():
        options = {"helpers": 2, "seconds": 60.0, "most_waiting": 16, "most_each": 8, **limits}
        made = Planners(lambda: forks, **options)
        try:
            return await asyncio.wait_for(work(made), 120)
        finally:
            made.close()

    return asyncio.run(main())


async def _until(condition):
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


def test_an_overrun_is_ended_with_its_process(forks):
    """It is refused as a question that takes too long, its process is gone, and the next one is served."""

    async def work(planners):
        pid = await planners.run("a", os.getpid)
        with pytest.raises(Refused, match="more than 1 seconds of a processor") as error:
            await planners.run("a", sum, range(10**13))
        assert (error.value.status, error.value.code) == (422, "takes-too-long")
        await _until(lambda: not is_there(pid))
        assert await planners.run("a", os.getpid) != pid

    run(forks, work, seconds=1.0)


def test_a_busy_machine_ends_nothing(forks):
    """The limit is processor time: what waits for its turn on a processor is not refused."""

    async def work(planners):
        await planners.run("a", time.sleep, 2.0)

    run(forks, work, seconds=1.0)


def test_a_fork_server_that_ended_says_so():
    """Whoever holds it starts another one."""
    server = ForkServer.started()
    helper = server.start("dither.interfaces.http.planning:helper")
    assert not server.has_ended
    server.process.kill()
    for _ in range(2):
        with pytest.raises(OSError, match="has ended"):
            server.start("dither.interfaces.http.planning:helper")
        assert server.has_ended
    helper.end()
    server.close()


def test_nobody_holds_all_helpers(forks):
    """One analyst's endless questions leave a helper for others, whose turn comes in rounds."""

    async def work(planners):
        greedy = [asyncio.create_task(planners.run("greedy", time.sleep, FOR_EVER)) for _ in range(4)]
        await asyncio.sleep(0)
        for _ in range(3):
            assert await planners.run("modest", os.getpid) > 0
        assert len(planners._running) == 1
        planners.stop()
        for outcome in await asyncio.gather(*greedy, return_exceptions=True):
            assert outcome.code == "stopping"

    run(forks, work)


def test_more_than_fits_is_refused(forks):
    """Of one analyst with 429, of all together with 503; both say when to come back."""

    async def work(planners):
        tasks = [asyncio.create_task(planners.run(who, time.sleep, FOR_EVER)) for who in ("a", "a", "b", "c", "d")]
        await asyncio.sleep(0)
        for who, status in (("a", 429), ("e", 503)):
            with pytest.raises(Refused) as error:
                await planners.run(who, os.getpid)
            assert error.value.status == status
            assert int(error.value.headers["Retry-After"]) >= 1
        planners.stop()
        await asyncio.gather(*tasks, return_exceptions=True)

    run(forks, work, most_waiting=3, most_each=2)


def test_whoever_hangs_up_frees_the_helper(forks):
    """What runs is ended, what waits is never begun."""

    async def work(planners):
        left = asyncio.Event()
        first = [asyncio.create_task(planners.run("a", time.sleep, FOR_EVER, gone=left.wait)) for _ in range(3)]
        await _until(lambda: planners._running)
        left.set()
        for outcome in await asyncio.gather(*first, return_exceptions=True):
            assert outcome.code == "gone"
        await _until(lambda: not planners._running)
        assert not planners._waiting
        assert await planners.run("a", os.getpid) > 0

    run(forks, work)


def test_nobody_waits_for_ever(forks, monkeypatch):
    """Whoever's turn does not come in time is told that the server is busy."""
    monkeypatch.setattr(module, "LONGEST", 0.2)

    async def work(planners):
        with pytest.raises(Refused, match="nothing was charged") as error:
            await planners.run("a", time.sleep, FOR_EVER)
        assert error.value.code == "busy"

    run(forks, work)


def test_the_same_question_is_worked_out_once(forks):
    """By its key; another key, or none, is worked out again."""

    async def work(planners):
        first = await planners.run("a", time.monotonic_ns, key="k")
        assert await planners.run("b", time.monotonic_ns, key="k") == first
        assert await planners.run("a", time.monotonic_ns, key="other") != first
        assert await planners.run("a", time.monotonic_ns) != first

    run(forks, work)


def test_a_helper_that_dies_is_replaced(forks):
    """As when the machine ends it for want of memory: that question is refused, the next one is served."""

    async def work(planners):
        with pytest.raises(Refused) as error:
            await planners.run("a", os._exit, 1)
        assert error.value.code == "busy"
        assert await planners.run("a", os.getpid) > 0

    run(forks, work)


def test_memory_has_a_limit(forks):
    """What takes too much is refused, and the helper serves the next one."""

    async def work(planners):
        pid = await planners.run("a", os.getpid)
        with pytest.raises(Refused, match="too much memory") as error:
            await planners.run("a", bytearray, 2 * MOST_MEMORY)
        assert error.value.status == 422
        assert await planners.run("a", os.getpid) == pid

    run(forks, work)


def test_a_failure_shows_nothing_of_itself(forks):
    """An unforeseen error in a helper is one here, without its words."""

    async def work(planners):
        with pytest.raises(RuntimeError, match="a helper failed") as error:
            await planners.run("a", int, "secret")
        assert "secret" not in str(error.value)

    run(forks, work)


def test_helpers_end_with_the_server(forks):
    """Closing one end ends the fork server and all that it started."""
    server = ForkServer.started()
    helper = server.start(module.HELPER)
    import pickle

    helper.connection.send_bytes(pickle.dumps((os.getpid,)))
    pid = pickle.loads(helper.connection.recv_bytes())
    helper.connection.send_bytes(pickle.dumps((time.sleep, FOR_EVER)))
    server.close()
    end = time.monotonic() + 60
    while is_there(pid):
        assert time.monotonic() < end
        time.sleep(0.02)
    helper.end()


# --- in a server -------------------------------------------------------------------------------------------

SLOW = [{"kind": "quantile", "column": "pay", "q": number / 100} for number in range(1, 51)]
"""Each takes about half a second under a prior, where there are many rows."""
PRIOR = {"kind": "lognormal", "median": 70_000, "sigma": 0.5}


@pytest.fixture(scope="module")
def one_server(tmp_path_factory):
    """A server that also knows of a large table; quotes need no source."""
    home = with_dataset(tmp_path_factory.mktemp("planners") / "home", epsilon=100)
    (home / "datasets" / "large.toml").write_text(PAYROLL.format(epsilon=1).replace("rows = 200", "rows = 1000000000"))
    one = CuratorProcess(home).start()
    one.token("alice")
    one.token("bob")
    yield one
    one.kill()


@pytest.fixture
def server(one_server):
    """The same for all tests, started again after one that ends it."""
    return one_server if one_server.process is not None else one_server.start()


def test_statements_are_as_long_as_lists(server):
    """SQL has no more queries than a list may have."""
    body = {"sql": "SELECT " + ", ".join(["median(pay)"] * 51) + " FROM pay", "epsilon": 1}
    for what in ("quote", "releases"):
        status, payload, _ = server.call("POST", f"/v1/datasets/pay/{what}", body)
        assert (status, payload["code"]) == (422, "invalid-argument")
        assert "51 queries" in payload["detail"]


def test_a_stored_quote_needs_the_same_rights(server):
    """What was worked out for one token is not told to another that may not ask it."""
    server.token("counts", kinds=["count"])
    server.token("small", epsilon_cap=0.01)
    place = "/v1/datasets/pay/quote"
    assert server.call("POST", place, median(0.5), token="alice")[0] == 200
    for name in ("counts", "small"):
        assert server.call("POST", place, median(0.5), token=name)[1]["code"] == "forbidden"


def test_a_stored_plan_is_of_the_same_question(server):
    """Without an interval is another question than with the usual one, and is not given the plan of that."""
    for more, expected in (({}, 0.95), ({"confidence": None}, None), ({"confidence": 0.9}, 0.9)):
        status, answer, _ = server.call("POST", "/v1/datasets/pay/releases", median(0.5, **more))
        assert (status, answer["releases"][0]["confidence"]) == (200, expected), answer


def test_priors_have_limits(server):
    """What no column can hold is no prior; sums beyond all estimates are refused, and nothing fails."""
    mean = {"query": {"kind": "mean", "column": "pay"}, "epsilon": 1}
    for prior in (
        {"kind": "lognormal", "median": 5, "sigma": 1e50},
        {"kind": "normal", "mean": 1e50, "sd": 1},
        {"kind": "uniform", "low": -1e40, "high": 1e40},
        {"kind": "exponential", "mean": 1e55},
    ):
        assert server.call("POST", "/v1/datasets/large/quote", {**mean, "prior": prior})[0] == 422
    steep = {"kind": "uniform", "low": 0, "high": 1e30}
    assert server.call("POST", "/v1/datasets/large/quote", {**mean, "prior": steep})[0] in (200, 422)


def test_slow_quotes_stop_nobody_and_end_with_the_server(server):
    """Eight of them: tokens are looked up, health is told, questions answered; then SIGTERM ends the process."""
    responses = []

    def ask(place: int) -> object:
        body = {"query": SLOW, "epsilon": 25, "delta": place * 1e-9, "prior": PRIOR}
        return server.call("POST", "/v1/datasets/large/quote", body, token="alice")

    asking = threading.Thread(target=lambda: responses.extend(together(ask, 8)))
    asking.start()
    for _ in range(5):
        assert server.call("GET", "/healthz", token=None)[0] == 200
        assert server.call("GET", "/v1/me", token="bob")[0] == 200
        assert server.call("POST", "/v1/datasets/pay/releases", median(0.1, again=True), token="bob")[0] == 200
    assert server.stop(60) == 0  # far below the 90 seconds of a drain: nobody waits for what costs nothing
    asking.join()
    codes = {one[1].get("code") for one in responses if not isinstance(one, BaseException)}
    assert codes <= {"stopping", "takes-too-long", None}  # (a quick machine may have finished one)
