"""A program in sandboxes on this machine: one block a core, in rounds of a fixed length."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from dither.errors import InvalidArgument, NotIsolated
from dither.procedures.executor import Answers, Output
from dither.sandbox import memory
from dither.sandbox.probe import require_isolation
from dither.sandbox.programs import Executable, Function, Program, as_program
from dither.sandbox.schedule import SHORTEST_SLOT, Schedule, checked_seconds
from dither.sandbox.worker import Job, Limits, Task, Worker

MIB = 1 << 20
_STARTING_SECONDS = 120.0
_KEEPERS = 4  # processes of the sandbox itself that count against the same limit


class Sandbox:
    """Runs an analyst's program on blocks of people, each block alone, and answers on a public schedule.

    ``slot`` is the time that one block takes as seen from outside; the program may run for three quarters of it.
    ``example`` is a block of made-up, public rows: the program is tried on it before any data are read, and its errors
    are told.  On real blocks nothing is told: a failure of any kind is the default of ``output``.

    Guarantee  The time until ``run`` returns is ``schedule(blocks).seconds`` whatever the data are.  Whether, when and
               how a program fails on one block changes the answer of that block alone, as long as the margin lasts:
               docs/sandbox.md says which slots a busy machine can keep, and which channels remain.
    Cost       ceil(blocks / cores) * slot seconds and a margin of a tenth; 15 ms of processor time a block with
               scikit-learn loaded.
    """

    def __init__(
        self,
        program: object,
        *,
        output: Output,
        slot: float = 1.0,
        cores: int | None = None,
        preload: Sequence[str] = (),
        example: Any = None,
        lead: float = 0.0,
        memory_mib: int = 512,
        scratch_mib: int = 16,
        processes: int = 16,
        visible: Sequence[str | os.PathLike[str]] = (),
    ) -> None:
        self._program = as_program(program)
        self._output = output
        self._slot = checked_seconds("slot", slot, SHORTEST_SLOT)
        self._lead = checked_seconds("lead", lead, 0.0)
        self._cores = _usable_cores(cores)
        self._example = example
        if example is not None and not memory.is_sendable(example):
            raise InvalidArgument("example", type(example), "an array of numbers, texts or dates, or an Arrow table")
        limits = Limits(
            memory=_whole("memory_mib", memory_mib, 16, 1 << 20) * MIB,
            scratch=_whole("scratch_mib", scratch_mib, 1, 1 << 16) * MIB,
            processes=_whole("processes", processes, 1, 1024) + _KEEPERS,
            seconds=self._slot,
        )
        self._task = Task(
            program=self._program,
            outputs=output.length,
            preload=_preloads(self._program, preload),
            limits=limits,
            visible=tuple(_existing(one) for one in visible),
            has_example=example is not None,
        )
        self._workers: list[Worker] = []
        self._spare: Worker | None = None
        self._one_release = threading.Lock()
        self.failures = 0

    @property
    def output(self) -> Output:
        """The public shape of an answer."""
        return self._output

    @property
    def cores(self) -> int:
        return len(self._cores)

    def schedule(self, blocks: int) -> Schedule:
        """The public plan for so many blocks."""
        return Schedule(blocks=blocks, cores=self.cores, slot=self._slot, lead=self._lead)

    def __enter__(self) -> Self:
        require_isolation()
        try:
            self._workers = [Worker(self._task) for _ in self._cores]
            self._spare = Worker(self._task)
            ready_by = time.monotonic() + _STARTING_SECONDS
            for worker in [*self._workers, self._spare]:
                worker.wait_ready(ready_by)
            for worker, core in zip(self._workers, self._cores, strict=True):
                worker.pin(core)
            self._check()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all sandboxes."""
        for worker in [*self._workers, *([self._spare] if self._spare else [])]:
            worker.close()
        self._workers, self._spare = [], None

    def run(
        self, blocks: Sequence[Any], *, progress: Callable[[int, int], None] | None = None, begun: float | None = None
    ) -> Answers:
        """The answers, one row a block, at the planned moment.

        ``begun`` is the monotonic time at which the release began, if drawing the blocks shall count into ``lead``.
        ``progress`` hears of finished and planned rounds; both are public.  ``failures`` then holds how many blocks
        got the default: that is the owner's to see, never the analyst's.
        """
        if not self._workers:
            raise InvalidArgument("sandbox", "closed", "use it in a with statement")
        for block in blocks:
            if not memory.is_sendable(block):
                raise InvalidArgument("blocks", type(block), "arrays of numbers, texts or dates, or Arrow tables")
        if not self._one_release.acquire(blocking=False):
            raise InvalidArgument("sandbox", "busy", "one release at a time; open another sandbox")
        try:
            self._replace_dead(time.monotonic() + _STARTING_SECONDS)
            return self._release(blocks, time.monotonic() if begun is None else begun, progress)
        except BaseException:  # an interrupt: what is under way must not reach into the next release
            for worker in self._workers:
                worker.close(at_once=True)
            raise
        finally:
            self._one_release.release()

    def _release(self, blocks: Sequence[Any], begin: float, progress: Callable[[int, int], None] | None) -> Answers:
        plan = self.schedule(len(blocks))
        end = begin + plan.seconds
        answers = self._output.defaults(len(blocks))
        failed = len(blocks)
        with contextlib.ExitStack() as opened:
            waiting = self._jobs(blocks, opened)
            batch = list(itertools.islice(waiting, self.cores))
            for number in range(plan.rounds):
                _wait_until(begin + plan.lead + number * plan.slot)
                if time.monotonic() + plan.slot > end:
                    break
                batch, done = self._round(batch, waiting, plan, end)
                for place, job in done:
                    answer = self._output.accept(job.answer())
                    if answer is not None:
                        answers[place] = answer
                        failed -= 1
                    job.close()
                if progress is not None:
                    progress(number + 1, plan.rounds)
        self.failures = failed
        _wait_until(end)
        return answers

    def _round(
        self, batch: list[tuple[int, Job]], waiting: Iterator[tuple[int, Job]], plan: Schedule, end: float
    ) -> tuple[list[tuple[int, Job]], list[tuple[int, Job]]]:
        """One slot on every core, its full limit even if it begins late; meanwhile the next blocks are prepared."""
        started = time.monotonic()
        used = self._workers[: len(batch)]
        for worker, (_, job) in zip(used, batch, strict=True):
            worker.start(job)
        following = list(itertools.islice(waiting, self.cores))
        _wait_until(started + plan.limit)
        for worker in used:
            worker.ask_to_stop()
        stopped = [worker.stopped(end) for worker in used]
        self._replace_dead(end)
        return following, [entry for entry, fine in zip(batch, stopped, strict=True) if fine]

    def _jobs(self, blocks: Sequence[Any], opened: contextlib.ExitStack) -> Iterator[tuple[int, Job]]:
        for place, block in enumerate(blocks):
            job = Job(self._task, block)
            opened.callback(job.close)
            yield place, job

    def _replace_dead(self, end: float) -> None:
        """A sandbox that died (the kernel may take one when memory is short) gives its place to the spare one."""
        for place, worker in enumerate(self._workers):
            if worker.alive:
                continue
            substitute, self._spare = self._spare or Worker(self._task), Worker(self._task)
            with contextlib.suppress(NotIsolated, InvalidArgument):  # then its blocks get the default
                substitute.wait_ready(end)
                substitute.pin(self._cores[place])
            self._workers[place] = substitute

    def _check(self) -> None:
        """Load the program once, and run it on the public example if there is one; its errors may be told."""
        executable = isinstance(self._program, Executable)
        if executable and self._example is None:
            return
        job = Job(self._task, np.zeros((0, 1)) if self._example is None else self._example)
        try:
            self._workers[0].check(job)
            if job.answer() is not None:
                return
            told = (job.text() or b"").decode("utf-8", "replace").strip() if not executable else ""
            accepted = f"a program that ends with {self._output.length} numbers on the public example"
            name = "executable" if isinstance(self._program, Executable) else self._program.name
            raise InvalidArgument("program", name, f"{accepted} ({told})" if told else accepted)
        finally:
            job.close()


def _wait_until(moment: float) -> None:
    left = moment - time.monotonic()
    if left > 0:
        time.sleep(left)


def _usable_cores(wanted: int | None) -> tuple[int, ...]:
    here = sorted(os.sched_getaffinity(0))
    count = len(here) if wanted is None else _whole("cores", wanted, 1, len(here))
    return tuple(here[:count])


def _preloads(program: Program, wanted: Sequence[str]) -> tuple[str, ...]:
    if not all(isinstance(one, str) and all(part.isidentifier() for part in one.split(".")) for one in wanted):
        raise InvalidArgument("preload", list(wanted), "names of modules")
    return tuple(dict.fromkeys((*(("numpy",) if isinstance(program, Function) else ()), *wanted)))


def _existing(path: str | os.PathLike[str]) -> Path:
    if not Path(path).exists():
        raise InvalidArgument("visible", str(path), "files or folders that exist")
    return Path(path)


def _whole(argument: str, given: int, least: int, most: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
        raise InvalidArgument(argument, given, f"a whole number between {least} and {most}")
    return given
