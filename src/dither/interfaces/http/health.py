"""Whether the server could charge a question now: its ledger and its own store can be read, and written.

Nothing private is touched, and how long it takes says nothing about data.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from dither.errors import DitherError, LedgerUnavailable
from dither.interfaces.http.store import Store
from dither.ledger import Ledger
from dither.sources.descriptors import is_short

EVERY, OLDEST = 2.0, 10.0
"""Seconds: after the first a new look is begun, after the second the last result is no longer used."""
SLOWEST = 5.0
"""Seconds after which a ledger that does not answer is not well."""
PROBE = 64 * 1024
"""Bytes that there must be room for beside the ledger: a charge and its answer take a few pages."""


class Health:
    """Looks at ledger and store once in a while, in a thread of its own: who asks need not wait for a disk."""

    def __init__(self, ledger: Ledger, store: Store, folder: Path | None) -> None:
        self._ledger, self._store, self._folder = ledger, store, folder
        """The folder of a ledger that is a file."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="health")
        self._under_way: Future[None] | None = None
        self._seen: tuple[float, Exception | None] = (-math.inf, None)
        """When it was looked last, and what was wrong."""

    async def check(self) -> None:
        """An error unless a question could be charged."""
        age = time.monotonic() - self._seen[0]
        if age >= EVERY and (self._under_way is None or self._under_way.done()):
            self._under_way = self._thread.submit(self._look)
        if age > OLDEST and self._under_way is not None:
            looking = asyncio.wrap_future(self._under_way)
            if not (await asyncio.wait([looking], timeout=SLOWEST))[0]:
                raise LedgerUnavailable(f"ledger and tokens did not answer within {SLOWEST:g} seconds")
        failure = self._seen[1]
        if isinstance(failure, DitherError):
            raise LedgerUnavailable(str(failure))
        if failure is not None:
            raise RuntimeError("a look at ledger and tokens failed") from failure

    def close(self) -> None:
        """Look no more."""
        self._thread.shutdown(wait=True)

    def _look(self) -> None:
        failure = None
        try:
            self._ledger.datasets()
            if self._folder is not None:
                _write_probe(self._folder)
            self._store.check_writable()
        except Exception as error:  # noqa: BLE001  (whatever it is, whoever asks gets it)
            failure = error
        self._seen = time.monotonic(), failure


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
    except OSError as error:
        if is_short(error):
            raise LedgerUnavailable(
                "no file descriptor is left (ulimit -n, LimitNOFILE of a service): no question can be charged"
            ) from None
        raise LedgerUnavailable(
            "nothing can be written beside the ledger (is the disk full, or read-only?): no question can be charged"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            file.unlink()
