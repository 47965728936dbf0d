"""A PostgreSQL of one's own: private, on this machine, gone when the process that started it is.

For benchmarks and tests.  Nothing is shared with a server that the machine may already run.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TypedDict

_OTHERS = ("postgres", "nobody")
"""Who runs PostgreSQL if root starts it, which it refuses."""
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "60",
    "shared_buffers": "32MB",
    "log_min_messages": "fatal",
}


class _User(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


def postgres_programs() -> Path | None:
    """The folder with initdb and postgres of the newest installed version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path and shutil.which("postgres") else None


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _stop_with_parent() -> None:
    """In the child: a signal if the parent is killed, so that no server outlives it."""
    ctypes.CDLL(None).prctl(1, signal.SIGQUIT)


class PostgresServer:
    """A PostgreSQL of its own, with a folder of its own; it may be killed and started again."""

    def __init__(self, programs: Path) -> None:
        self.programs = programs
        # A folder of the system's, since those of tests and benchmarks are closed to who runs the server.
        self.folder = Path(tempfile.mkdtemp(prefix="dither-postgres-"))
        self.port = _free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self._user = _User()
        if os.geteuid() == 0:
            accounts = {account.pw_name: account for account in pwd.getpwall()}
            who = next(accounts[name] for name in _OTHERS if name in accounts)
            self._user = _User(user=who.pw_uid, group=who.pw_gid, extra_groups=[])
            os.chown(self.folder, who.pw_uid, who.pw_gid)
        words = ("--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync")
        subprocess.run(
            [programs / "initdb", *words, "-D", self.folder / "data"],
            check=True,
            capture_output=True,
            cwd=self.folder,
            **self._user,
        )

    def dsn(self, database: str = "postgres") -> str:
        """An address that psycopg, DuckDB and JDBC drivers understand."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start, and wait until it answers; after a kill the old one's memory may be in use for a moment."""
        settings = {**_SETTINGS, "unix_socket_directories": str(self.folder), "port": str(self.port)}
        words = [str(self.programs / "postgres"), "-D", str(self.folder / "data")]
        words += [f"--{name}={value}" for name, value in settings.items()]
        ready = [str(self.programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        for _ in range(600):
            if self.process is None or self.process.poll() is not None:
                with (self.folder / "log").open("ab") as log:
                    self.process = subprocess.Popen(
                        words,
                        stdout=log,
                        stderr=log,
                        cwd=self.folder,
                        **self._user,
                        preexec_fn=_stop_with_parent,  # noqa: PLW1509
                    )
            if subprocess.run(ready, check=False).returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError((self.folder / "log").read_text())

    def kill(self) -> None:
        """kill -9, as a power cut would: its children notice and end too."""
        self._end(signal.SIGKILL)

    def _end(self, sign: signal.Signals) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(sign)
            self.process.wait(30)
        self.process = None

    def close(self) -> None:
        """Stop, and leave nothing behind."""
        self._end(signal.SIGINT)
        shutil.rmtree(self.folder, ignore_errors=True)
