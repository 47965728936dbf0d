"""Everything that a running server holds: ledger, tokens, datasets, questions under way, limits and counters."""

from __future__ import annotations

import asyncio
import contextvars
import os
import secrets
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from dither.errors import InvalidArgument
from dither.ledger import Ledger, open_ledger
from dither.ledger.records import Report
from dither.surfaces.http.catalog import Catalog
from dither.surfaces.http.jobs import Jobs
from dither.surfaces.http.limits import RateLimit
from dither.surfaces.http.schedule import DEFAULT_SECONDS
from dither.surfaces.http.store import ANALYST, OWNER, Store
from dither.surfaces.http.telemetry import Metrics, log

_ADDRESSES = ("postgresql://", "postgres://")
Value = TypeVar("Value")
DRAIN = 90.0
"""Seconds that questions under way have to end when the server does."""


@dataclass(frozen=True)
class Settings:
    """What whoever runs the server may choose; all of it is public."""

    rate: float = 20.0
    """Requests a second from one token."""
    burst: int = 60
    workers: int = 4
    most_waiting: int = 256
    """Questions under way at once."""
    answer_seconds: float = DEFAULT_SECONDS
    """The first slot of datasets that declare none."""
    roots: tuple[Path, ...] = ()
    """Folders besides HOME/data where sources may lie."""


class Curator:
    """One server process over a home folder; several may share it on a ledger in PostgreSQL."""

    def __init__(self, home: Path, ledger: str | Path | None = None, settings: Settings | None = None) -> None:
        self.home, self.settings = home, settings or Settings()
        self.process = secrets.token_hex(8)
        prepare_home(home)
        shared = isinstance(ledger, str) and ledger.startswith(_ADDRESSES)
        self._ledger_place = ledger if ledger is not None else home / "ledger.db"
        self.ledger: Ledger = open_ledger(self._ledger_place)
        try:
            self.store = Store(str(ledger) if shared else home / "server.db")
        except BaseException:
            self.ledger.close()
            raise
        self.catalog = Catalog(home, self.ledger, self.settings.roots)
        self.jobs = Jobs(self.settings.workers, self.settings.most_waiting)
        self.limit = RateLimit(self.settings.rate, self.settings.burst)
        self.strangers = RateLimit(self.settings.rate, self.settings.burst)
        self.metrics = Metrics()
        self.is_beating, self.is_idle = False, True
        self._tasks: set[asyncio.Task[None]] = set()
        self._pool = ThreadPoolExecutor(8, thread_name_prefix="public")

    async def run(self, work: Callable[..., Value], *values: Any) -> Value:
        """Do public work in a thread, so that nobody else waits for it."""
        context = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(self._pool, lambda: context.run(work, *values))

    def background(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something later, for nobody who waits."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def first_owner(self) -> str | None:
        """The secret of a first owner's token, if there was none yet."""
        made = self.store.create("owner", OWNER, only_if_no_owner=True, by="first start")
        return None if made is None else made[0]

    def demo_tokens(self) -> tuple[str, str]:
        """New tokens for an owner and an analyst of the demonstration; earlier ones end."""
        before = self.store.tokens()
        owner = self.store.create("demo-owner", OWNER, by="demo")
        analyst = self.store.create("demo-analyst", ANALYST, by="demo")
        for old in before:
            if old.name in ("demo-owner", "demo-analyst") and old.revoked is None:
                self.store.revoke(old.id)
        if owner is None or analyst is None:
            raise RuntimeError("tokens are always made here")
        return owner[0], analyst[0]

    def verified(self, known: str | None) -> Report:
        """Check the whole ledger on a connection of its own: nobody who asks a question waits for that."""
        with open_ledger(self._ledger_place, create=False, check=False) as ledger:
            return ledger.verify(known)

    def seconds_of(self, dataset: str) -> float:
        """The public length of a dataset's first slot."""
        return self.store.answer_seconds(dataset, self.settings.answer_seconds)

    def close(self) -> None:
        """Finish what is under way, up to a limit, and let go of everything."""
        self.is_idle = self.jobs.close(DRAIN)
        if not self.is_idle:
            log("ended with questions under way", count=self.jobs.under_way)
            return
        self._pool.shutdown(wait=True)
        self.catalog.close()
        self.store.close()
        self.ledger.close()


def prepare_home(home: Path) -> None:
    """The folders below the home, readable by their owner only."""
    try:
        for folder in (home, home / "datasets", home / "data"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(home, os.W_OK | os.X_OK) or not os.access(home / "datasets", os.W_OK | os.X_OK):
            raise PermissionError(13, "not writable")
    except OSError as error:
        raise InvalidArgument(
            "home", str(home), f"a folder that can be written is accepted ({error.strerror})"
        ) from None
