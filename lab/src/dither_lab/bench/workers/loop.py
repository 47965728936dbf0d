"""The measuring loop of all workers: ``python loop.py TASKS.py`` reads requests and writes replies, one JSON line each.

Standard library and numpy only, so that it runs in any environment.  Requests: ``prepare`` (a task, its options and
its datasets), ``round`` (answers and their times), ``memory`` (growth of the peak of this process during one answer).
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Work = Callable[[], Any]


class Prepared:
    """A task and the datasets that it was given; preparation that a user does once is not timed."""

    def __init__(self, tasks: Any, request: dict[str, Any]) -> None:
        self._task: Callable[[dict[str, Any], dict[str, Any]], Work] = getattr(tasks, request["task"])
        self._options, self._files = request["options"], request["files"]
        self._ready: dict[int, Work] = {}

    def work(self, index: int) -> Work:
        """What answers once about a dataset."""
        if index not in self._ready:
            with np.load(self._files[index]) as stored:
                data = {name: stored[name] for name in stored.files}
            # A name of a file travels as an array of one string.
            plain = {
                name: str(value) if value.ndim == 0 and value.dtype.kind == "U" else value
                for name, value in data.items()
            }
            self._ready[index] = self._task(self._options, plain)
        return self._ready[index]


def round_of(work: Work, calls: int, seconds: float) -> dict[str, Any]:
    """Answers until the calls or the seconds are used up, at least one."""
    answers: list[Any] = []
    walls: list[float] = []
    processor = time.process_time()
    began = time.perf_counter()
    while not walls or (len(walls) < calls and time.perf_counter() - began < seconds):
        start = time.perf_counter()
        answer = work()
        walls.append(time.perf_counter() - start)
        answers.append(plain(answer))
    return {
        "answers": answers,
        "seconds": sum(walls) / len(walls),
        "processor": (time.process_time() - processor) / len(walls),
    }


def plain(answer: Any) -> Any:
    """An answer that JSON can carry; None stands for a refusal."""
    if answer is None or isinstance(answer, str):
        return answer
    values = np.asarray(answer, dtype=float)
    if not np.isfinite(values).all():
        raise ArithmeticError(f"answered {answer}")
    return values.tolist() if values.ndim else float(values)


def memory_of(work: Work) -> float:
    """Mebibytes by which the peak of this process grows beyond what it holds before the answer."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:  # not Linux: only growth beyond all earlier peaks is seen
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        work()
        return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    before = _status("VmRSS")
    work()
    return max(0.0, (_status("VmHWM") - before) / 1024)


def _status(name: str) -> int:
    match = re.search(name + r":\s+(\d+)", Path("/proc/self/status").read_text())
    return int(match[1]) if match else 0


def answer_request(tasks: Any, prepared: dict[str, Prepared], request: dict[str, Any]) -> dict[str, Any]:
    """The reply to a request; whatever a library raises is its answer, and is reported."""
    try:
        name = request["name"]
        if request["do"] == "prepare":
            prepared.clear()
            prepared[name] = Prepared(tasks, request)
            return {}
        work = prepared[name].work(request["dataset"])
        if request["do"] == "memory":
            return {"mebibytes": memory_of(work)}
        return round_of(work, request["calls"], request["seconds"])
    except Exception as error:  # noqa: BLE001
        return {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:200]}


def main() -> None:
    """Serve requests until there are no more."""
    # Libraries print: replies keep a channel that they do not know.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    spec = importlib.util.spec_from_file_location("tasks", sys.argv[1])
    if spec is None or spec.loader is None:
        raise ImportError(sys.argv[1])
    tasks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tasks)
    prepared: dict[str, Prepared] = {}
    for line in sys.stdin:
        reply = answer_request(tasks, prepared, json.loads(line))
        seconds = reply.get("seconds")
        if seconds is not None and not math.isfinite(seconds):
            reply = {"failed": "no time"}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
