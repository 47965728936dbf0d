"""Whether the server could charge a question now: its ledger and its own store can be read, and written.

Nothing private is touched, and how long it takes says nothing about data.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path

from dither.errors import LedgerUnavailable
from dither.ledger import Ledger
from dither.surfaces.http.store import Store

EVERY = 2.0
"""Seconds between two looks; in between everybody is told what the last one saw."""
PROBE = 64 * 1024
"""Bytes that there must be room for beside the ledger: a charge and its answer take a few pages."""


class Health:
    """Looks at ledger and store, at most once in a while."""

    def __init__(self, ledger: Ledger, store: Store, folder: Path | None) -> None:
        self._ledger, self._store, self._folder = ledger, store, folder
        """The folder of a ledger that is a file."""
        self._lock = threading.Lock()
        self._looked: float | None = None
        self._failure: LedgerUnavailable | None = None

    def check(self) -> None:
        """An error unless a question could be charged."""
        with self._lock:
            if self._looked is None or time.monotonic() - self._looked >= EVERY:
                self._failure = None
                try:
                    self._look()
                except LedgerUnavailable as error:
                    self._failure = error
                self._looked = time.monotonic()
            failure = self._failure
        if failure is not None:
            raise LedgerUnavailable(str(failure))

    def _look(self) -> None:
        self._ledger.datasets()
        if self._folder is not None:
            _write_probe(self._folder)
        self._store.check_writable()


def _write_probe(folder: Path) -> None:
    file = folder / f".probe-{os.getpid()}"
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            if os.write(handle, bytes(PROBE)) < PROBE:
                raise OSError("only a part was written")
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError:
        raise LedgerUnavailable(
            "nothing can be written beside the ledger (is the disk full, or read-only?): no question can be charged"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            file.unlink()
