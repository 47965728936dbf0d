"""Response times say nothing about the data: neighbouring datasets that make a question do different work."""

import time

from scipy.stats import ks_2samp

from conftest import trials
from curators import CuratorProcess, write_pay

SECONDS = 0.5
SLOW = 0.06
"""How much longer the work takes on one of the two datasets in this test, in seconds."""
ALPHA = 1e-4
"""The test's false-alarm rate."""
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
    club = [(one, other) for one in range(110) for other in range(one + 1, 110)]
    for name, edges in (("sparse", ring), ("dense", sorted({(min(one), max(one)) for one in ring + club}))):
        lines = "".join(f"{one},{other}\n" for one, other in edges)
        (folder / "data" / f"{name}.csv").write_text("source,target\n" + lines)
        (folder / "datasets" / f"{name}.toml").write_text(GRAPH.format(name=name))


def _times(server: CuratorProcess, path: str, count: int, read) -> list[float]:
    return [read(server, path) for _ in range(count)]


def _seconds(server: CuratorProcess, path: str) -> float:
    body = {"query": {"kind": "kcliques", "k": 4}, "epsilon": 0.5, "again": True}
    start = time.monotonic()
    status, told, _ = server.call("POST", f"/v1/datasets/{path}/releases", body)
    assert status == 200, told
    return time.monotonic() - start


def test_response_times(tmp_path):
    """The answers' times have the same law (Kolmogorov and Smirnov, false alarms 1e-4), the work's have not.

    The power is shown in the same run: the owner sees the real time of the work, on which the same test, with the same
    number of answers, does raise its alarm.  The load of the machine moves all response times by a few milliseconds;
    orders alternate, so that it falls on both alike.
    """
    write_pay(tmp_path / "home")
    _two_graphs(tmp_path / "home")
    server = CuratorProcess(tmp_path / "home", seconds=SECONDS).start()
    try:
        for name in ("sparse", "dense"):
            server.call("PATCH", f"/v1/datasets/{name}", {"answer_seconds": 6.0})
            _seconds(server, name)  # compiles
            server.call("PATCH", f"/v1/datasets/{name}", {"answer_seconds": SECONDS})
        seen: dict[str, list[float]] = {"sparse": [], "dense": []}
        worked: dict[str, list[float]] = {"sparse": [], "dense": []}
        for turn in range(trials(14, 200)):
            for name in ("sparse", "dense") if turn % 2 else ("dense", "sparse"):
                seen[name].append(_seconds(server, name) / SECONDS % 1.0)
                worked[name].append(_worked(server, name))
        assert ks_2samp(worked["sparse"], worked["dense"]).pvalue < ALPHA
        assert ks_2samp(seen["sparse"], seen["dense"]).pvalue > ALPHA
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
