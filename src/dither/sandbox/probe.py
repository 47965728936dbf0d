"""Checks, once and before any program runs, that isolation holds on this machine.

A sandbox is started with a program that attempts what no program may do and reports which attempts failed.  Anything
that worked, or could not be tried, is named; then programs are refused.
"""

from __future__ import annotations

import functools
import platform
import re
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dither.errors import DitherError, InvalidArgument, NotIsolated
from dither.sandbox import bubblewrap, memory, seccomp
from dither.sandbox.programs import Function
from dither.sandbox.worker import BlockJob, ResourceLimits, SandboxWorker, Task
from dither.systems import reason_without_linux

_STARTING_SECONDS = 60.0
_OLDEST_KERNEL = (5, 14)  # from here on RLIMIT_NPROC counts the processes of one user namespace
_MIB = 1 << 20

_INSIDE: dict[str, str] = {
    "no files of the host": "not any(map(os.path.exists, host_paths))",
    "read-only root": "fails(lambda: open('/left-behind', 'w'))",
    "devices keep no time": "fails(lambda: os.utime('/dev/null'))",
    "no network": "fails(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))",
    "no local sockets": "fails(lambda: socket.socketpair())",
    "pid namespace": "os.getpid() == 1 and os.getppid() == 0",
    "no capabilities": "not any(capabilities())",
    "no new namespaces": "libc.unshare(0x10000000) != 0",
    "system call filter": "libc.unshare(0) != 0",
    "no new processes": "fails(os.fork)",
    "no shared memory": "libc.shmget(0, 4096, 0o1600) < 0 and fails(lambda: os.memfd_create('x'))",
    "memory limit": "fails(lambda: bytearray(2 * limit_bytes))",
    "scratch limit": "fails(fill_scratch)",
    "unprivileged user": "os.getuid() == 65534 and fails(lambda: os.setuid(0))",
}

_PROGRAM = """
import ctypes, os, socket, struct
libc = ctypes.CDLL(None)
limit_bytes = {memory}
host_paths = ("/etc/passwd", "/etc/hostname", "/proc", "/sys", "/var", "/run", "/dev/shm")

def fails(attempt):
    try:
        attempt()
    except (OSError, MemoryError):
        return True
    return False

def capabilities():
    held = ctypes.create_string_buffer(24)
    if libc.capget(struct.pack("<Ii", 0x20080522, 0), held) != 0:
        raise OSError("capget")
    return held.raw

def fill_scratch():
    for part in range(4):
        with open("/tmp/part%d" % part, "wb") as out:
            for _ in range({scratch} // 65536):
                out.write(bytes(65536))

def attempts(rows):
    return [{answers}]
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that must hold, whether it does, and what to do or know about it."""

    name: str
    holds: bool
    detail: str = ""


def probe() -> list[Finding]:
    """Everything that must hold before a program may run here, each with whether it does."""
    findings = _around()
    if all(finding.holds for finding in findings):
        findings += _attempts()
    return findings


@functools.cache
def require_isolation() -> None:
    """Pass, or raise NotIsolated with a list of what is missing."""
    missing = [item for item in probe() if not item.holds]
    if missing:
        raise NotIsolated(
            "; ".join(
                f"{missing_value.name} ({missing_value.detail})" if missing_value.detail else missing_value.name
                for missing_value in missing
            )
        )


def _around() -> list[Finding]:
    if (reason := reason_without_linux()) is not None:
        return [Finding(reason, holds=False)]
    release = re.match(r"(\d+)\.(\d+)", platform.release())
    kernel = (int(release[1]), int(release[2])) if release else (0, 0)
    try:
        architecture = seccomp.machine_architecture()
    except InvalidArgument:
        architecture = ""
    return [
        Finding("kernel 5.14 or newer", kernel >= _OLDEST_KERNEL, platform.release()),
        Finding("a known architecture", bool(architecture), platform.machine()),
        Finding("bubblewrap", bubblewrap.bwrap_path() is not None, "install the package bubblewrap"),
    ]


def _attempts() -> list[Finding]:
    limits = ResourceLimits(memory=64 * _MIB, scratch=_MIB, processes=8, seconds=10)
    answers = ", ".join(f"float({attempt})" for attempt in _INSIDE.values())
    source = _PROGRAM.format(memory=limits.memory, scratch=limits.scratch, answers=answers)
    task = Task(
        program=Function(source, "attempts"),
        outputs=len(_INSIDE),
        preload=("numpy",),
        limits=limits,
        has_example=True,
    )
    try:
        worker = SandboxWorker(task)
        worker.wait_ready(time.monotonic() + _STARTING_SECONDS)
    except DitherError as error:
        hint = "user namespaces may be switched off, or forbidden by the container or AppArmor"
        return [Finding("a sandbox that starts", holds=False, detail=f"{getattr(error, 'missing', error)}; {hint}")]
    job = BlockJob(task, memory.encode(np.zeros((1, 1))))
    try:
        user = _real_user(worker.process_id)
        worker.check(job)
        outcome = job.answer()
        payload = (job.text() or b"").decode("utf-8", "replace")
    finally:
        job.close()
        worker.close()
    findings = [Finding("not root on this machine", user != 0)]
    if outcome is None:
        return [*findings, Finding("attempts inside a sandbox", holds=False, detail=payload or "they did not finish")]
    return findings + [Finding(name, held == 1.0) for name, held in zip(_INSIDE, outcome, strict=True)]


def _real_user(process: int) -> int:
    for line in Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("Uid:"):
            return int(line.split()[1])
    return 0
