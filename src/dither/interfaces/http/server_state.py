"""Everything that a running server holds: ledger, tokens, datasets, questions under way, limits and counters."""

from __future__ import annotations

import asyncio
import os
import secrets
import stat
import threading
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path

from dither.errors import InvalidArgument
from dither.interfaces.answers import ANALYST, OWNER
from dither.interfaces.http.catalog import Catalog
from dither.interfaces.http.fork_server import ForkServer
from dither.interfaces.http.health import Health
from dither.interfaces.http.jobs import SHARE_EACH, Jobs
from dither.interfaces.http.openings import Openings
from dither.interfaces.http.planners import Planners
from dither.interfaces.http.problems import hide_folder
from dither.interfaces.http.request_limits import RateLimit
from dither.interfaces.http.schedule import DEFAULT_SECONDS
from dither.interfaces.http.store import Store
from dither.interfaces.http.telemetry import Metrics, RefusedRequests, log
from dither.interfaces.http.threads import Threads
from dither.interfaces.http.workers import Workers
from dither.ledger import Ledger, open_ledger
from dither.ledger.entries import Report
from dither.session.derived import StoredHistograms

_ADDRESSES = ("postgresql://", "postgres://")
DRAIN = 10.0
"""Seconds that questions under way have to end when the server does, from the signal on."""
LETTING_GO = 2.0
"""Seconds beyond that, in which connections and processes are closed."""


@dataclass(frozen=True)
class ServerSettings:
    """What the operator of the server may choose; all of it is public."""

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
    longest_seconds: float = 3_600.0
    """How long work on a question may take; a worker process that takes longer is ended."""
    planners: int = 2
    """Processes that plan and quote."""
    plan_seconds: float = 30.0
    """Processor seconds that a plan or a quote may take.

    The first one that needs a kernel may have to compile it, which takes about 10 (of the least spanning tree).
    """


class Curator:
    """One server process over a home folder; several may share it on a ledger in PostgreSQL."""

    def __init__(
        self,
        home: Path,
        ledger: str | Path | None = None,
        settings: ServerSettings | None = None,
        forks: ForkServer | None = None,
    ) -> None:
        home = home.absolute()
        self.home, self.settings = home, settings or ServerSettings()
        self.ends_process = False
        """Whether the process ends with this, so that nothing needs to be waited for."""
        self.process = secrets.token_hex(8)
        prepare_home(home)
        shared = isinstance(ledger, str) and ledger.startswith(_ADDRESSES)
        file = None if shared else (home / "ledger.db" if ledger is None else Path(ledger)).absolute()
        self._ledger_place: str | Path = str(ledger) if file is None else file
        hide_folder(home, "HOME")
        for root in (*self.settings.roots, *([] if file is None else [file.parent])):
            hide_folder(root, "…")
        self.ledger: Ledger = open_ledger(self._ledger_place)
        try:
            self.store = Store(str(ledger) if shared else home / "server.db")
        except BaseException:
            self.ledger.close()
            raise
        self.health = Health(self.ledger, self.store, None if file is None else file.parent)
        self.workers = Workers(self.settings.longest_seconds)
        self.catalog = Catalog(home, self.ledger, self.workers, self.settings.roots)
        self.jobs = Jobs(self.settings.workers, self.settings.most_waiting)
        self.limit = RateLimit(self.settings.rate, self.settings.burst)
        self.strangers = RateLimit(self.settings.rate, self.settings.burst)
        self.visitors = RateLimit(5 * self.settings.rate, 5 * self.settings.burst)
        """The page: a dozen files at once, and many people may share an address."""
        self.probes = RateLimit(5 * self.settings.rate, 5 * self.settings.burst)
        """Health: apart from all others, so that nobody else uses up a probe's share."""
        self.refused = RefusedRequests()
        self.metrics = Metrics()
        self.is_beating, self.is_idle = False, True
        self._end: float | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.threads = Threads()
        self.openings = Openings(self.ledger, self.threads)
        self._forks, self._lock = forks, threading.Lock()
        self._histograms: dict[str, StoredHistograms] = {}
        self.planners = Planners(
            self.fork_server,
            helpers=self.settings.planners,
            seconds=self.settings.plan_seconds,
            most_waiting=self.settings.most_waiting,
            most_each=max(8, self.settings.most_waiting // SHARE_EACH),
        )

    def fork_server(self) -> ForkServer:
        """What starts helper processes."""
        with self._lock:
            if self._forks is None or self._forks.has_ended:
                self._forks = ForkServer.started()
            return self._forks

    def histograms_of(self, dataset: str) -> StoredHistograms:
        """The histograms that the ledger stores of a dataset, read as far as it has grown."""
        with self._lock:
            if dataset not in self._histograms:
                self._histograms[dataset] = StoredHistograms(self.ledger, dataset)
            return self._histograms[dataset]

    def background(self, work: Coroutine[None, None, None]) -> None:
        """Do something in the background; no request waits for it."""
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
        """Check the whole ledger on a connection of its own, so that no query waits for it."""
        with open_ledger(self._ledger_place, check=False, read_only=True) as ledger:
            return ledger.verify(known)

    def seconds_of(self, dataset: str) -> float:
        """The public length of a dataset's first slot."""
        return self.store.answer_seconds(dataset, self.settings.answer_seconds)

    def stop(self) -> None:
        """Plan nothing more; what is under way has from now on until ``DRAIN`` to end."""
        self._end = time.monotonic() + DRAIN
        self.planners.stop()

    def close(self) -> None:
        """Finish what is under way, up to a limit, and let go of everything."""
        self.refused.flush()
        if self._end is None:
            self.stop()
        self.is_idle = self.jobs.close(max(0.0, (self._end or 0.0) - time.monotonic()))
        if not self.is_idle:
            log("ended with questions under way", count=self.jobs.under_way)
            return
        letting_go = threading.Thread(target=self._let_go, name="closing", daemon=True)
        letting_go.start()
        letting_go.join(LETTING_GO if self.ends_process else None)
        self.is_idle = not letting_go.is_alive()
        if not self.is_idle:
            log("ended with work under way")

    def _let_go(self) -> None:
        self.planners.close()
        self.threads.close()
        self.health.close()
        if self._forks is not None:
            self._forks.close()
        self.catalog.close()
        self.workers.close()
        self.store.close()
        self.ledger.close()


def prepare_home(home: Path) -> None:
    """The folders below the home, readable by their owner only."""
    try:
        for folder in (home, home / "datasets", home / "data"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _close_to_others(home)
        if not os.access(home, os.W_OK | os.X_OK) or not os.access(home / "datasets", os.W_OK | os.X_OK):
            raise PermissionError(13, "not writable")
    except OSError as error:
        raise InvalidArgument("home", str(home), f"must be a folder that can be written ({error.strerror})") from None


def _close_to_others(home: Path) -> None:
    """Make a folder readable by the server's user only: data, tokens and answers lie below."""
    mode = stat.S_IMODE(home.stat().st_mode)
    if mode & 0o077:
        home.chmod(mode & ~0o077)
        log("home closed to others", mode=f"{mode:o}", now=f"{mode & ~0o077:o}")
