"""The memory of a dataset's worker: it does not grow with the number of questions."""

from pathlib import Path

import pytest

from conftest import missing
from curators import CuratorProcess, with_dataset
from odd_workers import workers_of

WARMING, ASKED = 100, 300
MOST = 30
"""Kilobytes for each question; caches of threads that were never freed took 230."""


def resident(pid):
    """Kilobytes of a process that are in memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


@pytest.mark.slow
def test_means_leave_nothing_in_the_worker(tmp_path):
    """Each is read in a thread of its own, whose caches end with it."""
    if not Path("/proc/self/status").exists():
        missing("memory by /proc")
    server = CuratorProcess(with_dataset(tmp_path / "home", epsilon=1_000), seconds=0.01).start()
    try:

        def ask(numbers):
            for number in numbers:
                body = {"query": {"kind": "mean", "column": "pay"}, "epsilon": round(0.5 + number / 1_000, 3)}
                status, payload, _ = server.call("POST", "/v1/datasets/pay/releases", body)
                assert status == 200, payload
            return {pid: resident(pid) for pid in workers_of(server.process.pid)}

        before = ask(range(WARMING))
        after = ask(range(WARMING, WARMING + ASKED))
    finally:
        server.stop()
    assert before.keys() == after.keys()  # no worker was replaced; one of them is spare
    growth = {pid: after[pid] - before[pid] for pid in before}
    assert max(growth.values()) < MOST * ASKED, growth
