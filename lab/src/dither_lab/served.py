"""A real server in a process of its own, over a home made for it: for benchmarks and audits."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self, TypeAlias
from urllib.parse import urlsplit

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class HttpReply(NamedTuple):
    """All that a client sees of an answer."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Served:
    """``dither serve`` on this machine, ended by ``stop`` or at the end of a ``with``."""

    def __init__(self, files: Mapping[str, str], *, slot: float, ledger: str | None = None) -> None:
        """files: texts by their path below the home; a dataset is ``datasets/NAME.toml`` with its data in ``data/``."""
        self._folder = tempfile.TemporaryDirectory(prefix="dither-served-")
        home = Path(self._folder.name) / "home"
        for path, text in files.items():
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).write_text(text)
        words = ["serve", "--json", "--home", str(home), "--port", "0", "--answer-seconds", str(slot)]
        words += [] if ledger is None else ["--ledger", ledger]
        self._log = (Path(self._folder.name) / "log").open("w+")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dither", *words, "--rate", "100000"],
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            self._log.seek(0)
            said = self._log.read()[-150:]
            self.stop()
            raise RuntimeError(f"the server does not start: {said}")
        payload = json.loads(line)
        self._port, self._token = urlsplit(payload["address"]).port, payload["tokens"]["owner"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End it."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._log.close()
        self._folder.cleanup()

    def connect(self) -> http.client.HTTPConnection:
        """A connection of one's own."""
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)

    def ask(self, connection: http.client.HTTPConnection, method: str, path: str, body: Json = None) -> HttpReply:
        """One request as the owner."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        connection.request(method, path, body=None if body is None else json.dumps(body), headers=headers)
        response = connection.getresponse()
        return HttpReply(response.status, response.getheaders(), response.read())
