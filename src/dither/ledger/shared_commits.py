"""Changes of several threads in one transaction: a commit waits for the disk, however much it holds.

A thread that finds nobody at work leads: it makes its own change and those of all who wait by then, commits once, and
hands on to the next.  Each is acknowledged behind the commit, and refused by itself: its own change is taken back.
Where the transaction of several fails, each change is made again in a transaction of its own.  So changes must be such
that to make one twice is to make it once: a request is charged once, and of a charge's releases the first is kept.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

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
        self.turn = threading.Event()
        """Set when it is made, or when its thread leads."""
        self.leads = False
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
    """Who waits to change something through a lane, and whether somebody leads."""

    def __init__(self, lane: Lane, begin: str) -> None:
        self._lane, self._begin = lane, begin
        self._renew()

    def _renew(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[WaitingChange] = []
        self._is_led = False
        self._owner = os.getpid()

    def commit(self, purpose: Purpose, make: Callable[[Transaction], Made]) -> Made:
        made: list[Made] = []

        def kept(work: Transaction) -> None:
            made[:] = [make(work)]

        change = WaitingChange(purpose, kept)
        if self._owner != os.getpid():
            self._renew()  # who led in the parent of a fork is not here
        with self._lock:
            change.leads, self._is_led = not self._is_led, True
            if not change.leads:
                self._waiting.append(change)
        if not change.leads:
            self._wait(change)
        if change.leads:
            self._lead(change)
        if change.error is not None:
            raise change.error
        return made[0]

    def _wait(self, change: WaitingChange) -> None:
        try:
            change.turn.wait()
        except BaseException:
            # An interruption: nobody may be handed the lead, or wait for it, whose thread is gone.
            with self._lock:
                if change in self._waiting:
                    self._waiting.remove(change)
                leads = change.leads
            if leads:
                self._hand_on()
            raise

    def _lead(self, first: WaitingChange) -> None:
        others: list[WaitingChange] = []
        try:
            self._make(first, others)
        except BaseException:
            # An interruption of this thread, say: who leads next makes the changes of the others again.
            with self._lock:
                self._waiting[:0] = others
            others = []
            raise
        finally:
            for change in others:
                change.turn.set()
            self._hand_on()

    def _hand_on(self) -> None:
        with self._lock:
            following = self._waiting.pop(0) if self._waiting else None
            self._is_led = following is not None
            if following is not None:
                following.leads = True
                following.turn.set()

    def _make(self, first: WaitingChange, others: list[WaitingChange]) -> None:
        """Make the first change, and those of all who wait by the time that nobody else writes."""
        again = False
        try:
            with self._lane.transaction(first.purpose, self._begin) as work:
                with self._lock:
                    others += self._waiting[: MOST_TOGETHER - 1]
                    del self._waiting[: len(others)]
                if not others:
                    first.make(work)
                for change in [first, *others] if others else []:
                    self._make_part(work, change)
        except TransactionLost:
            pass
        except Exception as error:  # noqa: BLE001  (raised in the thread whose change it is)
            if not others:
                first.error = error
                return
            again = True  # it is not known whether the commit succeeded
        else:
            return
        for change in (first, *others):
            self._make_alone(change, change.purpose.again if again else change.purpose)

    def _make_part(self, work: Transaction, change: WaitingChange) -> None:
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
