"""Worker processes: copied out of the package, started in an environment, asked one line at a time."""

from __future__ import annotations

import contextlib
import importlib.resources
import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dither_lab.bench.design import OURS
from dither_lab.bench.peers import Standing, clean_environment, last_line

PATIENCE = 600.0
"""Seconds that a worker may take for one reply."""


class WorkerFailed(Exception):
    """A worker ended, took too long, or said that a task failed."""


def unpack(folder: Path) -> Path:
    """The worker scripts as files: they run in environments that do not have this package."""
    folder.mkdir(parents=True, exist_ok=True)
    for item in importlib.resources.files("dither_lab.bench.workers").iterdir():
        if item.name.endswith(".py"):
            (folder / item.name).write_text(item.read_text())
    return folder


class Worker:
    """A process that does one library's tasks of one area."""

    def __init__(self, standing: Standing, script: Path, log: Path) -> None:
        self._name, self._log = standing.name, log
        environment = dict(os.environ) if standing.name == OURS else clean_environment()
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                [str(standing.python), "-W", "ignore", str(script.parent / "loop.py"), str(script)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                start_new_session=True,  # so that a worker can be ended with what it started
            )

    def ask(self, request: dict[str, Any], patience: float = PATIENCE) -> dict[str, Any]:
        """The reply to a request."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise WorkerFailed(f"{self._name}: no pipes")
        try:
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()
        except OSError:
            raise WorkerFailed(self._last_words()) from None
        line, end = b"", time.monotonic() + patience
        while not line.endswith(b"\n"):
            if not select.select([stdout], [], [], max(0.0, end - time.monotonic()))[0]:
                self.end(force=True)
                raise WorkerFailed(f"no answer in {patience:.0f} s")
            chunk = os.read(stdout.fileno(), 1 << 20)
            if not chunk:
                raise WorkerFailed(self._last_words())
            line += chunk
        reply: dict[str, Any] = json.loads(line)
        if "failed" in reply:
            raise WorkerFailed(str(reply["failed"]))
        return reply

    def end(self, *, force: bool = False) -> None:
        """Let it finish, or not."""
        process = self._process
        if process.poll() is None:
            if force:
                self._kill()
            elif process.stdin is not None:
                process.stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            self._kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _last_words(self) -> str:
        self._process.wait()
        return f"worker ended: {last_line(self._log.read_text())}"


class Pool:
    """The workers of one run, started when they are first needed."""

    def __init__(self, standings: dict[str, Standing], folder: Path) -> None:
        self._standings, self._folder = standings, folder
        self._scripts = unpack(folder / "workers")
        self._workers: dict[tuple[str, str], Worker] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def worker(self, area: str, who: str, lane: str = "") -> Worker:
        """The one for an area and a library; ways of the same library in different lanes get processes of their own."""
        key = (area, f"{who}{lane}")
        if key not in self._workers:
            name = f"{area}_{who.lower().replace('-', '_')}"
            log = self._folder / f"{name}{lane}.log"
            self._workers[key] = Worker(self._standings[who], self._scripts / f"{name}.py", log)
        return self._workers[key]

    def drop(self, area: str, who: str, lane: str = "") -> None:
        """End one, because it failed in a way that may last."""
        worker = self._workers.pop((area, f"{who}{lane}"), None)
        if worker is not None:
            worker.end(force=True)

    def clear(self) -> None:
        """End all."""
        for worker in self._workers.values():
            worker.end()
        self._workers.clear()
