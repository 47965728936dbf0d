"""``dither serve`` whose worker processes misbehave: python odd_workers.py serve ...

What they do when they read depends on the statistic that is asked, and on files in the home folder; see ``odd``.
"""

import ctypes
import os
import sys
import time
from pathlib import Path
from typing import Any

from dither.errors import SourceFailed
from dither.kernels.progress import report
from dither.noise.entropy import system

COMMAND = [sys.executable, __file__, "work"]
GO_ON = "go-on"
"""Whoever waits goes on as soon as this file is in the folder of the data; who reads leaves a file there too."""


def odd(plan: Any, folder: Path) -> None:
    """Halfway: abort a maximum and fail a variance, after a draw abort a sum and fail a quantile; others wait.

    A minimum waits for a file, a trimmed mean too after a draw, and a mean holds the interpreter's lock meanwhile.
    """
    kind = type(plan.query).__name__
    report(0.5)
    with (folder / f"reading-{kind}").open("a") as read:
        read.write(".")
    if kind == "Maximum":
        os.abort()
    if kind in ("Sum", "Quantile", "TrimmedMean"):
        system(8)
    if kind == "Sum":
        os.abort()
    if kind == "Quantile":
        raise SourceFailed("the file secret.csv cannot be read; what was charged stays charged")
    if kind == "Variance":
        raise MemoryError("777123")
    while kind in ("Minimum", "TrimmedMean") and not (folder / GO_ON).exists():
        time.sleep(0.02)
    if kind == "Mean":
        # No other thread of this process runs meanwhile: calls through PyDLL keep the lock, and nothing else asks.
        sys.setswitchinterval(1e6)
        held = ctypes.PyDLL(None)
        while held.access(str(folder / GO_ON).encode(), 0):
            held.usleep(20_000)
        sys.setswitchinterval(0.005)


def work() -> None:
    """A worker whose reading is odd."""
    from dither.interfaces.http import dataset_worker
    from dither.session.reading import TableSource

    answer = TableSource._read_together

    def read(source: Any, plans: Any, runs: Any) -> Any:
        for plan in plans:
            odd(plan, Path(plan.schema.folder))
        return answer(source, plans, runs)

    TableSource._read_together = read
    sys.argv = sys.argv[1:]
    dataset_worker.main()


def _is_worker(command: Path) -> bool:
    try:
        words = command.read_bytes().split(b"\0")
    except OSError:
        return False
    return b"work" in words or b"dither.interfaces.http.dataset_worker" in words


def workers_of(pid: int) -> list[int]:
    """The workers that a server started, without those that have ended."""
    return [one for one in children_of(pid) if _is_worker(Path(f"/proc/{one}/cmdline"))]


def children_of(pid: int) -> list[int]:
    """The processes that a process started, without those that have ended."""
    found = []
    for one in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = one.read_text().rpartition(")")
        except OSError:
            continue
        state, parent = rest.split()[:2]
        if int(parent) == pid and state != "Z":
            found.append(int(name.split()[0]))
    return found


def processes_below(pid: int) -> set[int]:
    """All processes that a process has started, and those that these have."""
    own = set(children_of(pid))
    return own.union(*(processes_below(each) for each in own))


def is_there(pid: int) -> bool:
    """Whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__" and sys.argv[1] == "work":
    work()
elif __name__ == "__main__":
    from dither.interfaces.http import workers

    workers.COMMAND = COMMAND
    from dither.interfaces.cli.main import main

    sys.argv[0] = "dither"
    main()
