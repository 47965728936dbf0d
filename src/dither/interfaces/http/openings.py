"""Datasets whose schema file was laid in the home folder, opened in the background: no listing waits for a source."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future
from typing import Protocol

from dither.errors import DitherError, UnknownDataset
from dither.interfaces.http.problems import Refused
from dither.interfaces.http.threads import Threads
from dither.ledger import Ledger

LONGEST_WAIT = 10.0
"""Seconds that a request about one dataset waits for its source to be opened."""
NEXT_ATTEMPT = 30.0
"""Seconds after which a source that could not be opened is opened again at the next request."""


class Openable(Protocol):
    """A dataset whose source can be opened, which registers it in the ledger."""

    name: str

    def open_account(self) -> None:
        """Open the source; errors do not say where it is."""


class Openings:
    """The openings under way, and those that failed a short while ago."""

    def __init__(self, ledger: Ledger, threads: Threads) -> None:
        self._ledger, self._threads = ledger, threads
        self._lock = threading.Lock()
        self._begun: dict[str, tuple[Openable, float, Future[None]]] = {}

    def is_registered(self, name: str) -> bool:
        """Whether the ledger has an account for a dataset."""
        try:
            self._ledger.dataset(name)
        except UnknownDataset:
            return False
        return True

    def begin(self, dataset: Openable) -> Future[None]:
        """The opening of a dataset: that under way, or that of the last seconds, or a new one."""
        with self._lock:
            before = self._begun.get(dataset.name)
            if before is not None and before[0] is dataset:
                _, started, opening = before
                is_recent = time.monotonic() - started < NEXT_ATTEMPT
                if not opening.done() or (is_recent and opening.exception() is not None):
                    return opening
            opening = self._threads.submit_long(dataset.open_account, dataset.name)
            self._begun[dataset.name] = (dataset, time.monotonic(), opening)
            return opening

    def failure(self, dataset: Openable) -> DitherError | None:
        """Why a dataset could not be opened, if that is known; begins to open it otherwise."""
        opening = self.begin(dataset)
        error = opening.exception() if opening.done() else None
        return error if isinstance(error, DitherError) else None

    async def wait(self, dataset: Openable) -> bool:
        """Wait until a dataset is opened; false if that takes long.  An opening that fails raises its error."""
        opening = asyncio.wrap_future(self.begin(dataset))
        done, _ = await asyncio.wait([opening], timeout=LONGEST_WAIT)
        if done:
            opening.result()
        return bool(done)


def not_opened_yet(name: str) -> Refused:
    """The error of a request that needs the account of a dataset whose source is not opened yet."""
    return Refused(
        503,
        "not-opened-yet",
        f"the source of {name!r} is being opened: ask again in some seconds; nothing was read, nothing was charged",
        {"Retry-After": "5"},
    )
