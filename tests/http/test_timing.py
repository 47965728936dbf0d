"""Response times say nothing about the data: neighbouring datasets that make a question do different work."""

import time

import pytest
from scipy.stats import ks_2samp

from conftest import trials
from curators import CuratorProcess, write_pay

pytestmark = pytest.mark.slow

SECONDS = 0.6
CLUB = 230
"""So many vertices know each other in one of the graphs: its 113 million cliques of four are counted one by one."""
TRIES = 20
"""Of the least time of so many tries on the sparse graph a busy machine takes no part any more."""
ALPHA = 1e-9
"""The test's false-alarm rate."""
ROUNDS = 4
"""Where the machine is so busy that the control is not found, all answers are asked for again, so often at most."""
NAMES = ("sparse", "dense")
GRAPH = """[dataset]
source = "{name}.csv"

[graph]
vertices = 1200

[budget]
epsilon = 1000
"""


def _two_graphs(folder) -> None:
    """A sparse graph and a dense one: counting cliques takes far longer on the second."""
    (folder / "datasets").mkdir(parents=True, exist_ok=True)
    ring = [(one, (one + 1) % 1200) for one in range(1200)]
    club = [(one, other) for one in range(CLUB) for other in range(one + 1, CLUB)]
    for name, edges in (("sparse", ring), ("dense", sorted({(min(one), max(one)) for one in ring + club}))):
        lines = "".join(f"{one},{other}\n" for one, other in edges)
        (folder / "data" / f"{name}.csv").write_text("source,target\n" + lines)
        (folder / "datasets" / f"{name}.toml").write_text(GRAPH.format(name=name))


def _seconds(server: CuratorProcess, path: str) -> float:
    body = {"query": {"kind": "kcliques", "k": 4}, "epsilon": 0.5, "again": True}
    start = time.monotonic()
    status, payload, _ = server.call("POST", f"/v1/datasets/{path}/releases", body)
    assert status == 200, payload
    return time.monotonic() - start


def test_response_times(tmp_path):
    """The answers' times have the same law (Kolmogorov and Smirnov, false alarms 1e-9), the work's have not.

    The graphs differ in many edges, not in one: what cannot be told apart here is not told apart for neighbours either.
    The power is shown in the same run: had the difference in work, which owners see, reached the response times, the
    same test on as many answers would have raised its alarm.  Orders alternate, so that the load of the machine falls
    on both alike, and two of 24 answers may be late by chance.  Where a slot was missed because of that load, the time
    within the next one counts: slots are public.
    """
    write_pay(tmp_path / "home")
    _two_graphs(tmp_path / "home")
    server = CuratorProcess(tmp_path / "home", seconds=SECONDS).start()
    try:
        for name in NAMES:
            server.call("PATCH", f"/v1/datasets/{name}", {"answer_seconds": 6.0})
            _seconds(server, name)  # compiles
            server.call("PATCH", f"/v1/datasets/{name}", {"answer_seconds": SECONDS})
        worked = {name: _worked(server, name) for name in NAMES}
        for _ in range(TRIES):
            worked = {name: min(worked[name], _worked(server, name)) for name in NAMES}
            if worked["dense"] > 4 * worked["sparse"]:
                break
        difference = (worked["dense"] - worked["sparse"]) / SECONDS
        assert worked["dense"] > 2 * worked["sparse"]
        for _ in range(ROUNDS):
            seen: dict[str, list[float]] = {name: [] for name in NAMES}
            for turn in range(trials(24, 200)):
                for name in NAMES if turn % 2 else reversed(NAMES):
                    seen[name].append(_seconds(server, name) / SECONDS % 1.0)
            assert ks_2samp(seen["sparse"], seen["dense"]).pvalue > ALPHA / ROUNDS
            control = ks_2samp(seen["sparse"], [one + difference for one in seen["dense"]]).pvalue
            if control < ALPHA / ROUNDS:
                break
        assert control < ALPHA / ROUNDS
    finally:
        server.stop()


def _worked(server: CuratorProcess, name: str) -> float:
    """The real time of the work, which owners see of a job once it is ready."""
    body = {"query": {"kind": "kcliques", "k": 4}, "epsilon": 0.5, "again": True, "wait": False}
    place = server.call("POST", f"/v1/datasets/{name}/releases", body)[2]["Location"]
    while True:
        progress = server.call("GET", place)[1]["progress"]
        if progress["stage"] == "ready":
            return progress["seconds"]
        time.sleep(0.005)
