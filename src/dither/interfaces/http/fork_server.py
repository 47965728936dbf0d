"""A small process that forks others: helpers that start in a moment, share memory, and can be ended one by one.

It is forked before the server has threads, connections or data (or started by name where that is too late), and holds
nothing but loaded code.  A request is the name of a function and one end of a pipe; the answer is the new process.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NoReturn

_PARENT_DEATH_SIGNAL = 1
_LONGEST_NAME = 200


class Forked:
    """A running helper: its end of the pipe, and the right to end it."""

    def __init__(self, connection: Connection, handle: int) -> None:
        self.connection = connection
        self._handle = handle

    def processor_seconds(self) -> float:
        """Processor time that it has used; none once it is gone."""
        try:
            described = Path(f"/proc/self/fdinfo/{self._handle}").read_text()
            number = re.search(r"^Pid:\s*(\d+)", described, re.MULTILINE)
            times = Path(f"/proc/{number[1] if number else 0}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """kill -9, of this very process: its number may be another's by now, this handle never is."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        self.connection.close()
        os.close(self._handle)


class ForkServer:
    """Starts helpers on request; they all end with it, and it ends with the process that made it."""

    def __init__(self, control: socket.socket, process: subprocess.Popen[bytes] | None = None) -> None:
        self._control = control
        self.process = process
        """Where it is a fresh interpreter."""
        self._lock = threading.Lock()
        self.has_ended = False

    @classmethod
    def forked(cls) -> ForkServer:
        """From this process, which must not have threads of its own yet."""
        ours, theirs = socket.socketpair()
        if os.fork() == 0:
            ours.close()
            _serve(theirs)
        theirs.close()
        return cls(ours)

    @classmethod
    def started(cls) -> ForkServer:
        """As a fresh interpreter: slower to be ready, possible at any time."""
        ours, theirs = socket.socketpair()
        with theirs:
            command = f"from {__name__} import main; main({theirs.fileno()})"
            process = subprocess.Popen([sys.executable, "-c", command], pass_fds=[theirs.fileno()])
        threading.Thread(target=process.wait, daemon=True, name="fork server").start()
        return cls(ours, process)

    def start(self, function: str) -> Forked:
        """A new process that calls ``module:function`` with its end of a pipe, and ends when that returns."""
        ours, theirs = socket.socketpair()
        handles: list[int] = []
        with theirs, self._lock, contextlib.suppress(ConnectionError):
            socket.send_fds(self._control, [function.encode()], [theirs.fileno()])
            _, handles, *_ = socket.recv_fds(self._control, 1, 1)
        if not handles:
            ours.close()
            self.has_ended = True
            raise OSError("the process that starts helpers has ended")
        return Forked(Connection(ours.detach()), handles[0])

    def close(self) -> None:
        """End it, and with it every helper."""
        self._control.close()


def main(descriptor: int) -> NoReturn:
    """The fork server as a program: load what helpers use, then wait for requests."""
    importlib.import_module("dither.interfaces.http.planning")
    _serve(socket.socket(fileno=descriptor))


def _serve(control: socket.socket) -> NoReturn:
    """In the fork server, until the other end is closed."""
    for item in (signal.SIGINT, signal.SIGTERM):  # these are for the server, which then closes the pipes
        signal.signal(item, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # exit codes of helpers are not used
    with contextlib.suppress(OSError):
        while True:
            name, handles, *_ = socket.recv_fds(control, _LONGEST_NAME, 1)
            if not handles:
                break
            child = os.fork()
            if child == 0:
                control.close()
                _help(name.decode(), handles[0])
            os.close(handles[0])
            handle = os.pidfd_open(child)
            socket.send_fds(control, [b"."], [handle])
            os.close(handle)
    os._exit(0)


def _help(name: str, descriptor: int) -> NoReturn:
    """In a helper."""
    code = 1
    try:
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        module, _, function = name.partition(":")
        with contextlib.suppress(EOFError, ConnectionError):
            getattr(importlib.import_module(module), function)(Connection(descriptor))
        code = 0
    finally:
        os._exit(code)
