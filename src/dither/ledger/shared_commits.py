"""Changes of several threads in one transaction: a commit waits for the disk, however much it holds.

A thread whose turn it is leads: it makes its own change and those of all who wait by then, and commits once; they find
theirs made.  Each is acknowledged behind the commit, and refused by itself: its own change is taken back.
Where the transaction of several fails, each change is made again in a transaction of its own.  So changes must be such
that to make one twice is to make it once: a request is charged once, and of a charge's releases the first is kept.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from dither.ledger.forks import prepare_for_forks

if TYPE_CHECKING:
    from dither.ledger.database import Database, Lane, Purpose, Transaction

MOST_TOGETHER = 64
Made = TypeVar("Made")


class TransactionLost(Exception):
    """The database ended a transaction by itself, and all that was changed in it is undone."""


class WaitingChange:
    """One thread's change, and what became of it."""

    def __init__(self, purpose: Purpose, make: Callable[[Transaction], None]) -> None:
        self.purpose, self.make = purpose, make
        self.is_done = False
        """Whether it is durable, or was refused; written and read by who leads."""
        self.error: Exception | None = None


class Commits(ABC):
    """How changes are made durable; to make one twice must be to make it once."""

    @abstractmethod
    def commit(self, purpose: Purpose, make: Callable[[Transaction], Made]) -> Made:
        """What ``make`` returned, once it is durable."""


class OwnCommits(Commits):
    """Every change in a transaction of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def commit(self, purpose: Purpose, make: Callable[[Transaction], Made]) -> Made:
        with self._database.transaction(purpose) as work:
            return make(work)


class SharedCommits(Commits):
    """Who waits to change something through a lane; one of them at a time leads."""

    def __init__(self, lane: Lane, begin: str) -> None:
        self._lane, self._begin = lane, begin
        self.in_child()
        prepare_for_forks(self)

    def before_fork(self) -> None:
        """Who leads and who waits goes on in the parent."""

    def after_fork(self) -> None:
        """The same."""

    def in_child(self) -> None:
        """Who led or waited in the parent of a fork is not here."""
        self._lead, self._lock = threading.Lock(), threading.Lock()
        self._waiting: list[WaitingChange] = []

    def commit(self, purpose: Purpose, make: Callable[[Transaction], Made]) -> Made:
        made: list[Made] = []

        def kept(work: Transaction) -> None:
            made[:] = [make(work)]

        change = WaitingChange(purpose, kept)
        try:
            with self._lock:
                self._waiting.append(change)
            with self._lead:
                if not change.is_done:
                    self._make(change)
        finally:
            self._forget([change])
        if change.error is not None:
            raise change.error
        return made[0]

    def _forget(self, changes: list[WaitingChange]) -> None:
        with self._lock:
            self._waiting = [other for other in self._waiting if other not in changes]

    def _make(self, first: WaitingChange) -> None:
        """Make the first change, and those of all who wait by the time that nobody else writes.

        They are listed until they are made: where this thread is interrupted, who leads next makes them, again if need
        be.
        """
        others: list[WaitingChange] = []
        first.error, purposes = None, {}
        try:
            with self._lane.transaction(first.purpose, self._begin) as work:
                with self._lock:
                    others += [change for change in self._waiting if change is not first][: MOST_TOGETHER - 1]
                    in_turn = [change for change in self._waiting if change is first or change in others]
                if not others:
                    first.make(work)
                for change in in_turn if others else []:
                    self._make_part(work, change)
        except TransactionLost:
            purposes = {change: change.purpose for change in (first, *others)}
        except Exception as error:  # noqa: BLE001  (raised in the thread whose change it is)
            if others:  # it is not known whether the commit succeeded
                purposes = {change: change.purpose.again for change in (first, *others)}
            else:
                first.error = error
        for change, purpose in purposes.items():
            self._make_alone(change, purpose)
        for change in (first, *others):
            change.is_done = True
        self._forget(others)

    def _make_part(self, work: Transaction, change: WaitingChange) -> None:
        change.error = None
        try:
            with self._lane.part(work, change.purpose) as own:
                change.make(own)
        except TransactionLost:
            raise
        except Exception as error:  # noqa: BLE001  (raised in the thread whose change it is)
            change.error = error

    def _make_alone(self, change: WaitingChange, purpose: Purpose) -> None:
        change.error = None
        try:
            with self._lane.transaction(purpose, self._begin) as work:
                change.make(work)
        except Exception as error:  # noqa: BLE001  (raised in the thread whose change it is)
            change.error = error


def commits_of(database: Database) -> Commits:
    """Where a database waits for the disk by itself, threads that wait for each other share commits."""
    if database.shares_commits and not database.read_only:
        return SharedCommits(database.writer, database.begin_write)
    return OwnCommits(database)
