"""The thin layer between the ledger's rules and a database: transactions, and errors that say what they mean.

Reads and writes have a connection each: whoever waits for another process to end its transaction keeps no reader
waiting.
"""

from __future__ import annotations

import os
import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from dither.errors import DitherError, LedgerDamaged, LedgerUnavailable
from dither.ledger.records import GENESIS
from dither.ledger.schema import TABLES, UPGRADES, VERSION

_UNTOUCHED = "nothing was read, nothing was charged"


@dataclass(frozen=True, slots=True)
class Purpose:
    """What an error says about the state it leaves: before the commit, and at the commit itself."""

    before: str
    at_commit: str
    writes: bool = True


READING = Purpose(_UNTOUCHED, _UNTOUCHED, writes=False)
WRITING = Purpose(
    _UNTOUCHED,
    "it is not known whether this was written: ask again with the same request id, which pays at most once",
)
STORING = Purpose(
    "the charge stands and the release is not stored: ask again with the same request id, which pays nothing more",
    "the charge stands, and it is not known whether the release is stored: ask again with the same request id, "
    "which pays nothing more",
)

_INHERITED: list[Any] = []
"""Connections that came over a fork: kept, because closing them here would disturb the parent's."""


class Transaction:
    """Runs statements with ``?`` for values; all of them happen or none."""

    def __init__(self, database: Database, connection: Any, purpose: Purpose) -> None:
        self._database = database
        self._connection = connection
        self._purpose = purpose
        self._waiting: list[tuple[str, tuple[object, ...]]] = []

    def all(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        self.send()
        try:
            found = self._connection.execute(self._database.spelled(statement), values).fetchall()
        except self._database.driver_errors() as error:
            self._database.refuse(error, self._purpose.before)
        return [tuple(row) for row in found]

    def one(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        """The first row of a query, if there is one."""
        rows = self.all(statement, *values)
        return rows[0] if rows else None

    def run(self, statement: str, *values: object) -> None:
        """A change; it reaches the database before the next query or the commit, whichever comes first."""
        self._waiting.append((self._database.spelled(statement), values))

    def send(self) -> None:
        """Send the changes that wait, together."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            try:
                self._database.change(self._connection, waiting)
            except self._database.driver_errors() as error:
                self._database.refuse(error, self._purpose.before)


class Lane:
    """One connection, used by one thread at a time; opened again after a loss and in a forked process."""

    def __init__(self, database: Database, *, writes: bool) -> None:
        self._database = database
        self._writes = writes
        self._turn = threading.RLock()
        self.connection: Any = None
        self._owner = os.getpid()

    @contextmanager
    def transaction(self, purpose: Purpose, begin: str) -> Iterator[Transaction]:
        """All or nothing."""
        with self._turn:
            transaction = self._begun(purpose, begin)
            try:
                yield transaction
                transaction.send()
            except BaseException:
                self._roll_back()
                raise
            try:
                self.connection.execute("COMMIT")
            except self._database.driver_errors() as error:
                self._roll_back()
                self._database.refuse(error, purpose.at_commit)
            except BaseException:
                self._roll_back()
                raise

    def _begun(self, purpose: Purpose, begin: str) -> Transaction:
        reused = self.connection is not None and self._owner == os.getpid()
        if not reused:
            self._reconnect(purpose)
        try:
            return self._started(purpose, begin)
        except LedgerUnavailable:
            if not reused or not self._database.lost(self.connection):
                raise
        # The server went away since the last transaction.  Nothing has been written yet, so a second try is safe.
        self._reconnect(purpose)
        return self._started(purpose, begin)

    def _started(self, purpose: Purpose, begin: str) -> Transaction:
        try:
            self.connection.execute(begin)
        except self._database.driver_errors() as error:
            self._roll_back()
            self._database.refuse(error, purpose.before)
        return Transaction(self._database, self.connection, purpose)

    def _reconnect(self, purpose: Purpose) -> None:
        if self.connection is not None and self._owner != os.getpid():
            _INHERITED.append(self.connection)
        self.connection = None
        try:
            self.connection = self._database.connect(writes=self._writes)
        except self._database.driver_errors() as error:
            self._database.refuse(error, purpose.before)
        self._owner = os.getpid()

    def _roll_back(self) -> None:
        if self.connection is None:
            return
        try:
            # Databases end a transaction themselves after some errors.
            if self._database.in_transaction(self.connection):
                self.connection.execute("ROLLBACK")
        except self._database.driver_errors():
            self._discard()

    def _discard(self) -> None:
        """Give up a connection whose state is not known; the next transaction opens another."""
        with suppress(*self._database.driver_errors()):
            self.connection.close()
        self.connection = None

    def close(self) -> None:
        """Close the connection."""
        with self._turn:
            if self.connection is not None and self._owner == os.getpid():
                self._discard()


class Database(ABC):
    """Where a ledger lies, reached by one connection for reads and one for writes; in memory (``place`` None) by one.

    Subclasses say how one kind of database is opened and spoken to, and start no transactions themselves.
    """

    begin_read: str
    begin_write: str
    begin_create: str
    has_ledger: ClassVar[str]
    """Finds a row if the tables are there."""
    types: ClassVar[dict[str, str]]
    extras: tuple[str, ...]

    def __init__(self, place: Any, wait: float, *, read_only: bool = False) -> None:
        self.place, self.wait, self.read_only = place, wait, read_only
        self.check()
        self.writer = Lane(self, writes=True)
        self.reader = self.writer if place is None else Lane(self, writes=False)

    @abstractmethod
    def check(self) -> None:
        """Refuse, before anything is opened, a place or a driver that can hold no ledger."""

    @abstractmethod
    def driver_errors(self) -> tuple[type[Exception], ...]:
        """What the driver raises."""

    @abstractmethod
    def connect(self, *, writes: bool) -> Any:
        """A new connection in autocommit mode, set up to be durable."""

    @abstractmethod
    def explain(self, error: Exception) -> DitherError:
        """The driver's error as one of ours, without the note on what was charged."""

    @abstractmethod
    def in_transaction(self, connection: Any) -> bool:
        """True if a transaction is open."""

    @abstractmethod
    def index_problem(self, look: Transaction, *, whole: bool) -> str | None:
        """What is wrong with the indexes: entries that are there and that a lookup would not find, above all.

        A charge that a lookup misses would be paid a second time, its release made a second time, and a name that it
        misses would get a second budget.  These are always looked at; ``whole`` is for all indexes.
        """

    def spelled(self, statement: str) -> str:
        """A statement in the driver's own spelling of placeholders."""
        return statement

    def change(self, connection: Any, statements: list[tuple[str, tuple[object, ...]]]) -> None:
        """Run statements that return nothing, in order."""
        for statement, values in statements:
            connection.execute(statement, values)

    def refuse(self, error: Exception, state: str) -> NoReturn:
        """Raise the driver's error as one of ours, with what it means for what was charged."""
        ours = self.explain(error)
        raise type(ours)(f"{ours}; {state}") from None

    @contextmanager
    def transaction(self, purpose: Purpose = READING, *, creating: bool = False) -> Iterator[Transaction]:
        """All or nothing.  A writing transaction sees the newest state, and no one else writes meanwhile."""
        if purpose.writes and self.read_only:
            raise LedgerUnavailable(f"the ledger was opened with read_only=True, open it without; {purpose.before}")
        lane = self.writer if purpose.writes else self.reader
        begin = self.begin_create if creating else self.begin_write if purpose.writes else self.begin_read
        with lane.transaction(purpose, begin) as transaction:
            yield transaction

    def lost(self, connection: Any) -> bool:
        """True if the connection is gone and a new one may work."""
        return connection is None

    def close(self) -> None:
        """Close the connections."""
        self.writer.close()
        self.reader.close()

    def prepare(self, *, create: bool, check: bool) -> None:
        """Create the tables if there are none, upgrade older ones, refuse newer ones and damaged ones.

        Whoever only reads leaves older ones as they are, and nothing is upgraded before it was checked.
        """
        with self.transaction() as look:
            known = look.one(self.has_ledger) is not None
            if not known and not create:
                raise LedgerDamaged(f"there is no ledger in this database; {_UNTOUCHED}")
            is_usable = known and (self._version(look) == VERSION or self.read_only)
            problem = self.index_problem(look, whole=False) if known and (check or not is_usable) else None
            if problem is not None:
                raise LedgerDamaged(f"{problem}; {_UNTOUCHED}")
            if is_usable:
                return
        with self.transaction(WRITING, creating=True) as change:
            if change.one(self.has_ledger) is None:
                self._create(change)
            version = self._version(change)
            while version < VERSION:
                for statement in UPGRADES[version]:
                    change.run(statement.format(**self.types))
                version += 1
                change.run("UPDATE dither_ledger SET version = ?", version)
            change.run("UPDATE dither_ledger SET secret = ? WHERE secret IS NULL", secrets.token_hex(32))

    def _create(self, change: Transaction) -> None:
        for statement in (*TABLES, *self.extras):
            change.run(statement.format(**self.types) if "{" in statement else statement)
        change.run("INSERT INTO dither_ledger (one, version, number, hash) VALUES (1, ?, 0, ?)", VERSION, GENESIS)

    def _version(self, look: Transaction) -> int:
        row = look.one("SELECT version FROM dither_ledger")
        if row is None:
            raise LedgerDamaged(f"the ledger has lost its version; {_UNTOUCHED}")
        if row[0] > VERSION:
            raise LedgerDamaged(
                f"the ledger has version {row[0]}, this program knows versions up to {VERSION}: "
                f"use the newer program; {_UNTOUCHED}"
            )
        return int(row[0])
