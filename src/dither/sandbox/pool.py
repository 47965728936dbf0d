"""A program in sandboxes on this machine: one block a core, in rounds of a fixed length."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from dither.errors import InvalidArgument, NotIsolated
from dither.procedures.executor import TRIAL, Answers, Block, Output
from dither.sandbox import memory
from dither.sandbox.probe import require_isolation
from dither.sandbox.programs import Executable, Function, GivenProgram, Program, as_program
from dither.sandbox.schedule import SHORTEST_SLOT, Schedule, checked_seconds, moment_after_drawing, wait_until
from dither.sandbox.worker import BlockJob, ResourceLimits, SandboxWorker, Task, encoded
from dither.systems import reason_without_linux

MIB = 1 << 20
_STARTING_SECONDS = 120.0
_DESTROYING_SECONDS = 0.05
_KEEPERS = 4  # processes of the sandbox itself that count against the same limit


class _Core:
    """A core and its two sandboxes: while one is being cleared of a block that is over, the other has the next one."""

    def __init__(self, number: int, task: Task) -> None:
        self._number = number
        self._task = task
        self.workers = [SandboxWorker(task), SandboxWorker(task)]
        self._pinned: set[SandboxWorker] = set()

    def free(self) -> SandboxWorker | None:
        """A sandbox that can take a block now."""
        for worker in self.workers:
            if worker.is_free():
                if worker not in self._pinned:
                    worker.pin(self._number)
                    self._pinned.add(worker)
                return worker
        return None

    def replace_dead(self) -> None:
        """Replace sandboxes that died (when memory is short, say) without waiting for the new ones."""
        for place, worker in enumerate(self.workers):
            if not worker.alive:
                self._pinned.discard(worker)
                self.workers[place] = SandboxWorker(self._task)

    def wait_ready(self, deadline: float) -> None:
        """Until both can take a block; raises what went wrong, which can be no matter of data."""
        for worker in self.workers:
            worker.wait_ready(deadline)

    def clear(self, deadline: float) -> None:
        """Until both are rid of their blocks; one that is not by then is destroyed."""
        for worker in self.workers:
            if not worker.stopped(deadline):
                worker.close(at_once=True)

    def close(self, *, at_once: bool = False) -> None:
        """End both."""
        for worker in self.workers:
            worker.close(at_once=at_once)


class Sandbox:
    """Runs an analyst's program on blocks of people, each block alone, and answers on a public schedule.

    ``slot`` is the time that one block takes as seen from outside; the program may run for three quarters of it.
    ``example`` is a block of made-up, public rows: the program is tried on it before any data are read, and its errors
    are shown.  On real blocks no error is shown: after any failure the answer is the default of ``output``.
    ``files=False`` shows functions no file at all: what they import is loaded before, as far as their text names it or
    ``preload`` does.  Which files of a machine are in its memory is then nothing that blocks can change or find out.

    Guarantee  The time until ``run`` returns is ``schedule(blocks).seconds`` whatever the data are.  Whether, when and
               how a program fails on one block changes the answer of that block alone, as long as the kernel ends it
               within the slot that follows its own: no block waits for it, and a second sandbox on the same core takes
               the next block.  One that takes longer costs blocks of its own core only, one for each further slot.
               docs/sandbox.md says which channels remain.
    Cost       ceil(blocks / cores) * slot seconds and a margin of a tenth; 9 ms of processor time a block with
               scikit-learn loaded.  Two sandboxes for each core.
    """

    def __init__(
        self,
        program: GivenProgram,
        *,
        output: Output,
        slot: float = 1.0,
        cores: int | None = None,
        preload: Sequence[str] = (),
        example: Block | None = None,
        lead: float = 0.0,
        memory_mib: int = 512,
        scratch_mib: int = 16,
        processes: int = 16,
        visible: Sequence[str | os.PathLike[str]] = (),
        files: bool = True,
    ) -> None:
        if (reason := reason_without_linux()) is not None:
            raise NotIsolated(reason)
        self._program = as_program(program)
        self._output = output
        self._slot = checked_seconds("slot", slot, SHORTEST_SLOT)
        self._lead = checked_seconds("lead", lead, 0.0)
        self._cores = _usable_cores(cores)
        self._example = example
        if example is not None and not memory.is_sendable(example):
            raise InvalidArgument(
                "example", type(example), "must be an array of numbers, texts or dates, or an Arrow table"
            )
        limits = ResourceLimits(
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
            visible=tuple(_existing(path) for path in visible),
            has_example=example is not None,
            files=files or isinstance(self._program, Executable),
        )
        self._running: list[_Core] = []
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
            for number in self._cores:
                self._running.append(_Core(number, self._task))
            ready_by = time.monotonic() + _STARTING_SECONDS
            for core in self._running:
                core.wait_ready(ready_by)
            self._check()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all sandboxes."""
        for core in self._running:
            core.close()
        self._running = []

    def run(
        self, blocks: Sequence[Block], *, progress: Callable[[int, int], None] | None = None, begun: float | None = None
    ) -> Answers:
        """The answers, one row a block, at the planned moment.

        ``begun`` is the monotonic time at which the release began, if drawing the blocks shall count into ``lead``; a
        lead that does not suffice is doubled until it does, and the owner is warned.
        ``progress`` hears of finished and planned rounds; both are public.  ``failures`` then holds how many blocks
        got the default: that is the owner's to see, never the analyst's.
        """
        if not self._running:
            raise InvalidArgument("sandbox", "closed", "use it in a with statement")
        for block in blocks:
            if not memory.is_sendable(block):
                raise InvalidArgument(
                    "blocks", type(block), "must be arrays of numbers, texts or dates, or Arrow tables"
                )
        if not self._one_release.acquire(blocking=False):
            raise InvalidArgument("sandbox", "busy", "is busy with a release: wait for it, or open another sandbox")
        try:
            self._get_ready()
            # Encoded before the first slot: how long that takes must not lengthen the time of a block that runs.
            contents = [encoded(self._program, block) for block in blocks]
            return self._release(contents, moment_after_drawing(begun, self._lead), progress)
        except BaseException:  # an interrupt: what is under way must not reach into the next release
            for core in self._running:
                core.close(at_once=True)
            raise
        finally:
            self._one_release.release()

    def _get_ready(self) -> None:
        """All sandboxes as at the beginning; one that cannot be had leaves its blocks to the other of its core."""
        by = time.monotonic() + _STARTING_SECONDS
        for core in self._running:
            core.replace_dead()
        for core in self._running:
            with contextlib.suppress(NotIsolated, InvalidArgument):
                core.wait_ready(by)

    def _release(
        self, contents: Sequence[bytes | None], first_round: float, progress: Callable[[int, int], None] | None
    ) -> Answers:
        plan = self.schedule(len(contents))
        end = first_round + plan.seconds - plan.lead
        answers = self._output.defaults(len(contents))
        failed = len(contents)
        for number in range(plan.rounds):
            wait_until(first_round + number * plan.slot)
            if time.monotonic() + plan.slot > end:
                break
            first = number * self.cores
            payload = self._round(contents[first : first + self.cores], plan)
            for place, numbers in enumerate(payload, start=first):
                answer = self._output.accept(numbers)
                if answer is not None:
                    answers[place] = answer
                    failed -= 1
            if progress is not None:
                progress(number + 1, plan.rounds)
        self.failures = failed
        for core in self._running:
            core.clear(end - _DESTROYING_SECONDS)
        wait_until(end)
        return answers

    def _round(self, contents: Sequence[bytes | None], plan: Schedule) -> list[Sequence[float] | None]:
        """One slot on every core; it lasts until its end and no longer, whatever the blocks do.

        A delay of this machine shifts the round, with its full limit.  A delay of a block does not: if it is not gone
        at the end of its slot it is the default, and its sandbox is out of use until it is.
        """
        with contextlib.ExitStack() as opened:
            started = time.monotonic()
            batch: list[tuple[SandboxWorker, BlockJob] | None] = []
            for core, content in zip(self._running, contents, strict=False):  # the last round may be short
                worker = core.free()
                if worker is None or content is None:
                    batch.append(None)
                    continue
                job = BlockJob(self._task, content)
                opened.callback(job.close)
                worker.start(job)
                batch.append((worker, job))
            wait_until(started + plan.limit)
            for item in batch:
                if item is not None:
                    item[0].ask_to_stop()
            payload = [None if item is None else _reply_of(*item, started + plan.slot) for item in batch]
            for core in self._running:
                core.replace_dead()
            return payload

    def _check(self) -> None:
        """Load the program once, and run it on the public example if there is one; its errors may be shown."""
        executable = isinstance(self._program, Executable)
        if executable and self._example is None:
            return
        content = encoded(self._program, np.zeros((0, 1)) if self._example is None else self._example)
        if content is None:
            raise InvalidArgument(
                "example", type(self._example), "must have rows that the program's format can represent"
            )
        job = BlockJob(self._task, content)
        try:
            self._running[0].workers[0].check(job)
            if job.answer() is not None:
                return
            payload = (job.text() or b"").decode("utf-8", "replace").strip() if not executable else ""
            accepted = f"must end with {self._output.length} numbers on the public example"
            name = "executable" if isinstance(self._program, Executable) else self._program.name
            wrong = f"{accepted} ({payload})" if payload else accepted
            raise InvalidArgument("program", name, wrong if self._example is None else f"{wrong}: {TRIAL}")
        finally:
            job.close()


def _reply_of(worker: SandboxWorker, job: BlockJob, deadline: float) -> Sequence[float] | None:
    """The answer of a block that is gone in time."""
    return job.answer() if worker.stopped(deadline) else None


def _usable_cores(wanted: int | None) -> tuple[int, ...]:
    here = sorted(os.sched_getaffinity(0))
    count = len(here) if wanted is None else _whole("cores", wanted, 1, len(here))
    return tuple(here[:count])


def _preloads(program: Program, wanted: Sequence[str]) -> tuple[str, ...]:
    if not all(isinstance(item, str) and all(part.isidentifier() for part in item.split(".")) for item in wanted):
        raise InvalidArgument("preload", list(wanted), "must be names of modules")
    return tuple(dict.fromkeys((*(("numpy",) if isinstance(program, Function) else ()), *wanted)))


def _existing(path: str | os.PathLike[str]) -> Path:
    if not Path(path).exists():
        raise InvalidArgument("visible", str(path), "must be files or folders that exist")
    return Path(path)


def _whole(argument: str, given: int, least: int, most: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
        raise InvalidArgument(argument, given, f"must be a whole number from {least} to {most}")
    return given
