"""One sandbox, seen from outside: a ``bwrap`` process and the socket on which its warm parent takes orders."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dither.errors import InvalidArgument, NotIsolated
from dither.procedures.executor import Block
from dither.sandbox import bubblewrap, memory, seccomp
from dither.sandbox.programs import Executable, Function, Program, imported
from dither.sandbox.syscalls import numbers

if TYPE_CHECKING:
    from dither.sandbox.fork_server import Settings

_FLAG_BYTES = 8
_COMPLAINT_BYTES = 4096
_ENDING_SECONDS = 5.0
CHECKING_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """What one block may use; public."""

    memory: int
    scratch: int
    processes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Task:
    """The settings that a sandbox is started with."""

    program: Program
    outputs: int
    preload: tuple[str, ...]
    limits: ResourceLimits
    visible: tuple[Path, ...] = ()
    has_example: bool = False
    files: bool = True


class BlockJob:
    """One block on its way: sealed data, room for an answer, room for text.  Close it after use."""

    def __init__(self, task: Task, content: bytes) -> None:
        """``content``: an encoded block."""
        self._task = task
        self.descriptors = [
            memory.sealed(content),
            memory.fixed_size(_FLAG_BYTES * (1 + task.outputs)),
            memory.fixed_size(memory.text_size(task.outputs)),
        ]

    def answer(self) -> Sequence[float] | None:
        """The numbers, or None if the program did not finish with the right number of them.  Not yet bounded."""
        raw = os.pread(self.descriptors[1], _FLAG_BYTES * (1 + self._task.outputs), 0)
        numbers = np.frombuffer(raw, np.float64)
        if numbers[0] != 1.0:
            return None
        if isinstance(self._task.program, Executable):
            return _numbers(self.text(), self._task.outputs)
        return [float(number) for number in numbers[1:]]

    def text(self) -> bytes | None:
        """What an executable wrote, or the complaint of a check; None if it filled all the room there was."""
        size = memory.text_size(self._task.outputs)
        raw = os.pread(self.descriptors[2], size, 0)
        return None if raw[-1:] != b"\0" else raw.rstrip(b"\0")

    def close(self) -> None:
        """Free its memory; may be called again."""
        while self.descriptors:
            os.close(self.descriptors.pop())


class SandboxWorker:
    """A running sandbox.  ``start`` and ``ask_to_stop`` bracket a block; between them it is on its own."""

    def __init__(self, task: Task) -> None:
        self._control, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with contextlib.ExitStack() as opened:
            opened.callback(inner.close)
            self._process = _launch(task, inner.fileno(), opened)
        self.alive = True
        self._ready = False
        self._stopping = False

    @property
    def process_id(self) -> int:
        """The outermost process of the sandbox, as this machine counts."""
        return self._process.pid

    def wait_ready(self, deadline: float) -> None:
        """Wait until the libraries are loaded; raises what went wrong, which can be no matter of data."""
        if self._ready:
            return
        message = self._receive(deadline)
        if message == b"READY":
            self._ready = True
            return
        complaint = self._process.stderr.read(_COMPLAINT_BYTES) if self._process.stderr and message == b"" else b""
        self.close()
        if message is None:
            raise NotIsolated("a sandbox did not get ready in time")
        if message.startswith(b"FAILED"):
            raise InvalidArgument("program", _text(message[6:]), "must be loadable, with its modules")
        raise NotIsolated(f"bwrap ended ({_text(complaint)})")

    def pin(self, core: int) -> None:
        """From now on run on this core alone; programs cannot undo it."""
        self._send(b"PIN%d" % core, [])

    def check(self, job: BlockJob) -> None:
        """Run the public example to its end."""
        self._send(b"CHECK", job.descriptors)
        if self._receive(time.monotonic() + 2 * CHECKING_SECONDS) != b"CHECKED":
            self.close(at_once=True)

    def start(self, job: BlockJob) -> None:
        self._send(b"GO", job.descriptors)

    def ask_to_stop(self) -> None:
        self._stopping = True
        self._send(b"STOP", [])

    def stopped(self, deadline: float) -> bool:
        """Whether the block is gone by then, with all it started; ask again if it is not."""
        if not self.alive:
            return False
        if self._stopping:
            message = self._receive(deadline)
            if message == b"STOPPED":
                self._stopping = False
            elif message is not None:
                self.close(at_once=True)
        return self.alive and not self._stopping

    def is_free(self) -> bool:
        """Whether it could take a block now; does not wait."""
        if self.alive and not self._ready:
            with contextlib.suppress(NotIsolated, InvalidArgument):
                self._look()
        return self.alive and self._ready and self.stopped(0.0)

    def _look(self) -> None:
        """Note that it is ready, if it has said so."""
        if select.select([self._control], [], [], 0)[0]:
            self.wait_ready(0.0)

    def close(self, *, at_once: bool = False) -> None:
        """End the sandbox and everything in it."""
        if not self.alive:
            return
        self.alive = False
        self._control.close()  # the parent inside ends when its socket does
        try:
            self._process.wait(0 if at_once else _ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()

    def _send(self, message: bytes, descriptors: Sequence[int]) -> None:
        if not self.alive:
            return
        try:
            socket.send_fds(self._control, [message], list(descriptors))
        except OSError:
            self.close(at_once=True)

    def _receive(self, deadline: float) -> bytes | None:
        """The next message, empty if the other end is gone, None if there was none in time."""
        self._control.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            return self._control.recv(_COMPLAINT_BYTES)
        except TimeoutError:
            return None
        except OSError:
            return b""


def _launch(task: Task, control: int, opened: contextlib.ExitStack) -> subprocess.Popen[bytes]:
    path = bubblewrap.bwrap_path()
    if path is None:
        raise NotIsolated("bwrap is not installed (package bubblewrap)")
    architecture = seccomp.machine_architecture()
    executable = Path(task.program.path) if isinstance(task.program, Executable) else None
    view = bubblewrap.view(executable=executable, visible=task.visible)

    def inherited(content: bytes) -> int:
        descriptor = memory.sealed(content)
        opened.callback(os.close, descriptor)
        return descriptor

    settings = inherited(json.dumps(_settings(task, architecture)).encode())
    parent_filter = inherited(seccomp.assemble(seccomp.PARENT, architecture))
    processes = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)  # closed before any package is loaded
    opened.callback(os.close, processes)
    payload = (control, settings, processes)
    request = {
        "binds": view.binds,
        "before": bubblewrap.arguments_before(path),
        "after": bubblewrap.arguments_after(view, filter_descriptor=parent_filter, inherited=payload),
    }
    wanted = inherited(json.dumps(request).encode())
    launcher = str(Path(__file__).with_name("launch.py"))
    return subprocess.Popen(
        [sys.executable, "-I", "-S", launcher, str(wanted)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=(*payload, parent_filter, wanted),
        env={},
        cwd="/",
        start_new_session=True,
    )


def _settings(task: Task, architecture: str) -> Settings:
    limits = task.limits
    is_function = isinstance(task.program, Function)
    code = seccomp.assemble(seccomp.FUNCTION if is_function else seccomp.EXECUTABLE, architecture)
    settings: Settings = {
        "program_type": "function" if is_function else "executable",
        "filter": code.hex(),
        "paths": bubblewrap.package_paths(),
        "devices": list(bubblewrap.DEVICES),
        "preload": list(task.preload),
        "outputs": task.outputs,
        "memory": limits.memory,
        "scratch": limits.scratch,
        "processes": limits.processes,
        "cpu_seconds": int(limits.seconds) + 2,
        "checking_seconds": CHECKING_SECONDS,
        "has_example": task.has_example,
        "files": task.files,
        "imports": [] if task.files else imported(task.program),
        "pivot_root": numbers(architecture)["pivot_root"],
    }
    if isinstance(task.program, Function):
        settings["source"], settings["name"] = task.program.source, task.program.name
    else:
        settings["arguments"] = [bubblewrap.PROGRAM, *task.program.arguments]
    return settings


def encoded(program: Program, block: Block) -> bytes | None:
    """A block as bytes; None if the program's format cannot represent it.

    Whether it can may depend on a person (a date beyond the calendar, half of a surrogate pair), so nothing is raised.
    """
    try:
        return _encoded(program, block)
    except Exception:  # noqa: BLE001 - whatever a library raises for such a value
        return None


def _encoded(program: Program, block: Block) -> bytes:
    if isinstance(program, Function):
        return memory.encode(block)
    if program.format == "arrow":
        return memory.encode_arrow(block, program.columns)
    return memory.encode_csv(block, program.columns)


def _numbers(text: bytes | None, expected: int) -> Sequence[float] | None:
    if text is None:
        return None
    words = text.replace(b",", b" ").split()
    if len(words) != expected:
        return None
    try:
        return [float(word) for word in words]
    except ValueError:
        return None


def _text(raw: bytes) -> str:
    """The last line, which in a traceback is the one that says what happened."""
    return raw.decode("utf-8", "replace").strip().rpartition("\n")[2][:500] or "no message"
