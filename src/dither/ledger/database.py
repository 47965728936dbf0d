"""The thin layer between the ledger's rules and a database: transactions, and errors that say what they mean."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, ClassVar, Literal, NoReturn

from dither.errors import DitherError, LedgerDamaged, LedgerUnavailable
from dither.ledger.records import GENESIS
from dither.ledger.schema import TABLES, UPGRADES, VERSION

Stage = Literal["open", "work", "commit"]
_CHARGED: dict[Stage, str] = {
    "open": "nothing was read, nothing was charged",
    "work": "nothing was read, nothing was charged",
    "commit": "whether it was charged is not known: ask again with the same request id, which pays at most once",
}

_INHERITED: list[Any] = []
"""Connections that came over a fork: kept, because closing them here would disturb the parent's."""


class Transaction:
    """Runs statements with ``?`` for values; all of them happen or none."""

    def __init__(self, database: Database, connection: Any) -> None:
        self._database = database
        self._connection = connection

    def all(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return [tuple(row) for row in self._execute(statement, values).fetchall()]

    def one(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        """The first row of a query, if there is one."""
        rows = self.all(statement, *values)
        return rows[0] if rows else None

    def run(self, statement: str, *values: object) -> int:
        """The number of rows that a statement touched."""
        return int(self._execute(statement, values).rowcount)

    def _execute(self, statement: str, values: tuple[object, ...]) -> Any:
        try:
            return self._connection.execute(self._database.spelled(statement), values)
        except self._database.driver_errors() as error:
            self._database.refuse(error, "work")


class Database(ABC):
    """One connection, used by one thread at a time; opened again after a loss and in a forked process."""

    begin_write: str
    begin_read: str
    types: ClassVar[dict[str, str]]
    extras: tuple[str, ...]

    def __init__(self) -> None:
        self._turn = threading.RLock()
        self._connection: Any = None
        self._owner = os.getpid()

    @abstractmethod
    def driver_errors(self) -> tuple[type[Exception], ...]:
        """What the driver raises."""

    @abstractmethod
    def connect(self) -> Any:
        """A new connection in autocommit mode, set up to be durable."""

    @abstractmethod
    def explain(self, error: Exception) -> DitherError:
        """The driver's error as one of ours, without the note on what was charged."""

    @abstractmethod
    def has_ledger(self, transaction: Transaction) -> bool:
        """True if the tables are there."""

    @abstractmethod
    def in_transaction(self, connection: Any) -> bool:
        """True if a transaction is open."""

    def spelled(self, statement: str) -> str:
        """A statement in the driver's own spelling of placeholders."""
        return statement

    def lock(self, transaction: Transaction, creating: bool) -> None:  # noqa: B027
        """Wait until no one else writes (or creates tables); for databases whose BEGIN does not wait itself."""

    def refuse(self, error: Exception, stage: Stage) -> NoReturn:
        """Raise the driver's error as one of ours."""
        ours = self.explain(error)
        raise type(ours)(f"{ours}; {_CHARGED[stage]}") from None

    @contextmanager
    def transaction(self, *, write: bool = False, creating: bool = False) -> Iterator[Transaction]:
        """All or nothing.  A writing transaction sees the newest state, and no one else writes meanwhile."""
        with self._turn:
            transaction = self._begin(write, creating)
            try:
                yield transaction
            except BaseException:
                self._roll_back()
                raise
            try:
                self._connection.execute("COMMIT")
            except self.driver_errors() as error:
                self._roll_back()
                self.refuse(error, "commit")

    def _begin(self, write: bool, creating: bool) -> Transaction:
        reused = self._connection is not None and self._owner == os.getpid()
        if not reused:
            self._reconnect()
        try:
            return self._started(write, creating)
        except LedgerUnavailable:
            if not reused or not self.lost():
                raise
        # The server went away since the last transaction.  Nothing has been written yet, so a second try is safe.
        self._reconnect()
        return self._started(write, creating)

    def _started(self, write: bool, creating: bool) -> Transaction:
        transaction = Transaction(self, self._connection)
        try:
            transaction.run(self.begin_write if write else self.begin_read)
            if write:
                self.lock(transaction, creating)
        except BaseException:
            self._roll_back()
            raise
        return transaction

    def lost(self) -> bool:
        """True if the connection is gone and a new one may work."""
        return self._connection is None

    def _reconnect(self) -> None:
        if self._connection is not None and self._owner != os.getpid():
            _INHERITED.append(self._connection)
        self._connection = None
        try:
            self._connection = self.connect()
        except self.driver_errors() as error:
            self.refuse(error, "open")
        self._owner = os.getpid()

    def _roll_back(self) -> None:
        if self._connection is None:
            return
        try:
            # Databases end a transaction themselves after some errors.
            if self.in_transaction(self._connection):
                self._connection.execute("ROLLBACK")
        except self.driver_errors():
            self._discard()

    def _discard(self) -> None:
        """Give up a connection whose state is not known; the next transaction opens another."""
        with suppress(*self.driver_errors()):
            self._connection.close()
        self._connection = None

    def close(self) -> None:
        """Close the connection."""
        with self._turn:
            if self._connection is not None and self._owner == os.getpid():
                self._discard()

    def prepare(self, *, create: bool) -> None:
        """Create the tables if there are none, upgrade older ones, refuse newer ones."""
        with self.transaction() as look:
            if self.has_ledger(look) and self._version(look) == VERSION:
                return
        with self.transaction(write=True, creating=True) as change:
            if not self.has_ledger(change):
                if not create:
                    raise LedgerDamaged("there is no ledger in this database; nothing was read, nothing was charged")
                self._create(change)
            version = self._version(change)
            while version < VERSION:
                for statement in UPGRADES[version]:
                    change.run(statement.format(**self.types))
                version += 1
                change.run("UPDATE dither_ledger SET version = ?", version)

    def _create(self, change: Transaction) -> None:
        for statement in (*TABLES, *self.extras):
            change.run(statement.format(**self.types) if "{" in statement else statement)
        change.run("INSERT INTO dither_ledger (one, version, number, hash) VALUES (1, ?, 0, ?)", VERSION, GENESIS)

    def _version(self, look: Transaction) -> int:
        row = look.one("SELECT version FROM dither_ledger")
        if row is None:
            raise LedgerDamaged("the ledger has lost its version; nothing was read, nothing was charged")
        if row[0] > VERSION:
            raise LedgerDamaged(
                f"the ledger has version {row[0]}, this program knows versions up to {VERSION}: "
                "use the newer program; nothing was read, nothing was charged"
            )
        return int(row[0])
