"""Databases for the ledger and for the server's own tables: connections, transactions, and errors that say what to do.

Reads and writes have a connection each, so that a writer who waits for another process keeps no reader waiting.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Protocol, TypeAlias

from dither.errors import DitherError, InvalidArgument, LedgerUnavailable
from dither.ledger.forks import prepare_for_forks
from dither.ledger.shared_commits import TransactionLost

UNTOUCHED = "nothing was read, nothing was charged"


@dataclass(frozen=True, slots=True)
class Purpose:
    """What an error says about the state it leaves: before the commit, and at the commit itself."""

    before: str
    at_commit: str
    writes: bool = True

    @property
    def again(self) -> Purpose:
        """The same behind a write of which nobody knows whether it succeeded."""
        return Purpose(self.at_commit, self.at_commit, self.writes)


READING = Purpose(UNTOUCHED, UNTOUCHED, writes=False)
WRITING = Purpose(
    UNTOUCHED,
    "it is not known whether this was written: ask again with the same request id, which pays at most once",
)
STORING = Purpose(
    "the charge stands and the release is not stored: ask again with the same request id, which pays nothing more",
    "the charge stands, and it is not known whether the release is stored: ask again with the same request id, "
    "which pays nothing more",
)


@dataclass(frozen=True, slots=True)
class Contents:
    """What a database is for."""

    called: str
    """Its name in errors."""
    table: str
    """A table that is there if any of its tables is."""
    writers_wait: str
    """The statement at which writers in PostgreSQL wait for each other; SQLite has one writer anyway."""


LONGEST_WAIT = 86_400
"""Seconds that somebody may wait for another process; drivers take milliseconds of 32 bits."""
FORKS_WAIT = 5.0
"""Seconds that a fork waits for a thread that uses a connection which no child may have."""
LEDGER = Contents("ledger", "dither_ledger", "SELECT number FROM dither_ledger FOR UPDATE")


Value: TypeAlias = str | int | float | bytes | list[str] | None
"""What is kept in a column."""
Row: TypeAlias = tuple[Any, ...]  # the types of its columns are those of the statement that asked for them
Changes: TypeAlias = list[tuple[str, tuple[Value, ...]]]


class Cursor(Protocol):
    """The rows of a statement."""

    def fetchall(self) -> list[Row]: ...


class Connection(Protocol):
    """What is used of a connection of any driver."""

    def execute(self, statement: str, values: Sequence[Value] = (), /) -> Cursor: ...
    def close(self) -> None: ...


_INHERITED: list[Connection] = []
"""Connections that came over a fork: kept, because closing them here would disturb the parent's."""


class Transaction:
    """Runs statements with ``?`` for values; all of them happen or none."""

    def __init__(self, database: Database, connection: Connection, purpose: Purpose) -> None:
        self._database = database
        self.connection = connection
        self._purpose = purpose
        self._waiting: Changes = []

    def all(self, statement: str, *values: Value) -> list[Row]:
        """All rows of a query."""
        self.send()
        try:
            result = self.connection.execute(self._database.spelled(statement), values).fetchall()
        except self._database.driver_errors() as error:
            self._database.refuse(error, self._purpose.before)
        return [tuple(row) for row in result]

    def one(self, statement: str, *values: Value) -> Row | None:
        """The first row of a query, if there is one."""
        rows = self.all(statement, *values)
        return rows[0] if rows else None

    def run(self, statement: str, *values: Value) -> None:
        """A change; it reaches the database before the next query or the commit, whichever comes first."""
        self._waiting.append((self._database.spelled(statement), values))

    def send(self) -> None:
        """Send the changes that wait, together."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            try:
                self._database.change(self.connection, waiting)
            except self._database.driver_errors() as error:
                self._database.refuse(error, self._purpose.before)


class Lane:
    """One connection, used by one thread at a time; opened again after a loss and in a forked process."""

    def __init__(self, database: Database, *, writes: bool) -> None:
        self._database = database
        self._writes = writes
        self.turn = threading.RLock()
        self.connection: Connection | None = None
        self._owner = os.getpid()
        self._kept_for_fork = False
        prepare_for_forks(self)

    def before_fork(self) -> None:
        """Close a connection that no child may have, in turn, and let nobody open another until the fork is over."""
        if not self._database.closes_before_forks:
            return
        self._kept_for_fork = self.turn.acquire(timeout=FORKS_WAIT)
        if not self._kept_for_fork or self.connection is None or self._owner != os.getpid():
            return
        if not self._database.in_transaction(self.connection):  # the thread that forks may be in one
            self._discard()

    def after_fork(self) -> None:
        """Others go on; the next transaction connects."""
        if self._kept_for_fork:
            self._kept_for_fork = False
            self.turn.release()

    def in_child(self) -> None:
        """Nobody else is here; where the parent was still connected, a connection from here would not be safe."""
        if self._database.closes_before_forks and (self.connection is not None or not self._kept_for_fork):
            self._database.connected_in_parent()
        self.turn, self._kept_for_fork = threading.RLock(), False

    @contextmanager
    def transaction(self, purpose: Purpose, begin: str) -> Iterator[Transaction]:
        """All changes are made, or none."""
        with self.turn:
            transaction = self._begun(purpose, begin)
            try:
                yield transaction
                transaction.send()
            except BaseException:
                self._roll_back()
                raise
            try:
                transaction.connection.execute("COMMIT")
                if purpose.writes:
                    self._database.carry_over(transaction.connection)
            except self._database.driver_errors() as error:
                self._roll_back()
                self._database.refuse(error, purpose.at_commit)
            except BaseException:
                self._roll_back()
                raise

    @contextmanager
    def part(self, whole: Transaction, purpose: Purpose) -> Iterator[Transaction]:
        """Changes within a transaction, in its turn, that are taken back by themselves where something fails."""
        part = Transaction(self._database, whole.connection, purpose)
        self._run(whole.connection, "SAVEPOINT part")
        try:
            yield part
            part.send()
        except BaseException:
            self._run(whole.connection, "ROLLBACK TO part", "RELEASE part")
            raise
        self._run(whole.connection, "RELEASE part")

    def _run(self, connection: Connection, *statements: str) -> None:
        """Statements about parts of a transaction: where they fail, the whole of it is given up."""
        try:
            for statement in statements:
                connection.execute(statement)
        except self._database.driver_errors():
            raise TransactionLost from None

    def at_once(self, statement: str, values: Sequence[Value]) -> bool | None:
        """Whether one statement, a transaction of its own, found rows to change; None if nobody knows."""
        with self.turn:
            if self.connection is None or self._owner != os.getpid():
                return False
            try:
                return bool(self.connection.execute(self._database.spelled(statement), values).fetchall())
            except self._database.driver_errors() as error:
                self._roll_back()
                if self._database.lost(self.connection):
                    self._discard()
                return False if self._database.surely_failed(error) else None
            except BaseException:
                self._roll_back()
                raise

    def _begun(self, purpose: Purpose, begin: str) -> Transaction:
        if self._owner == os.getpid():
            self._roll_back()  # what a thread began that was interrupted just then
        if self.connection is None or self._owner != os.getpid():
            return self._started(self._reconnected(purpose), purpose, begin)
        try:
            return self._started(self.connection, purpose, begin)
        except LedgerUnavailable:
            if not self._database.lost(self.connection):
                raise
        # The server went away since the last transaction.  Nothing has been written yet, so a second try is safe.
        return self._started(self._reconnected(purpose), purpose, begin)

    def _started(self, connection: Connection, purpose: Purpose, begin: str) -> Transaction:
        try:
            connection.execute(begin)
        except self._database.driver_errors() as error:
            self._roll_back()
            self._database.refuse(error, purpose.before)
        return Transaction(self._database, connection, purpose)

    def _reconnected(self, purpose: Purpose) -> Connection:
        if self.connection is not None and self._owner != os.getpid():
            _INHERITED.append(self.connection)
        self.connection = None
        try:
            self.connection = self._database.connect(writes=self._writes)
        except self._database.driver_errors() as error:
            self._database.refuse(error, purpose.before)
        self._owner = os.getpid()
        return self.connection

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
            if self.connection is not None:
                self.connection.close()
        self.connection = None

    def close(self) -> None:
        """Close the connection."""
        with self.turn:
            if self.connection is not None and self._owner == os.getpid():
                self._discard()


class Database(ABC):
    """A database, reached by one connection for reads and one for writes; in memory (``place`` None) by one.

    Subclasses say how one kind of database is opened and spoken to, and begin no transactions themselves.
    """

    begin_read: ClassVar[str]
    begin_create: ClassVar[str]
    find_table: ClassVar[str]
    """Finds a row if the table of that name is there."""
    types: ClassVar[dict[str, str]]
    """What {BIGINT} and {STRICT} stand for in statements that create tables."""
    changes_in_queries: ClassVar[bool] = False
    """Whether one statement can look, change several tables and answer: a charge is one journey then."""
    ledger_extras: ClassVar[tuple[str, ...]]
    """Statements that a new ledger needs in this database beyond its tables."""

    def __init__(
        self, place: Path | str | None, wait: float, *, contents: Contents = LEDGER, read_only: bool = False
    ) -> None:
        if isinstance(wait, bool) or not isinstance(wait, (int, float)) or not 0 <= wait <= LONGEST_WAIT:
            raise InvalidArgument("wait", wait, f"must be a number of seconds from 0 to {LONGEST_WAIT:,}")
        self.place, self.wait, self.contents, self.read_only = place, wait, contents, read_only
        self.check()
        self.writer = Lane(self, writes=True)
        self.reader = self.writer if place is None else Lane(self, writes=False)

    @abstractmethod
    def check(self) -> None:
        """Refuse, before anything is opened, a place or a driver that is not usable."""

    @abstractmethod
    def driver_errors(self) -> tuple[type[Exception], ...]:
        """What the driver raises."""

    @abstractmethod
    def connect(self, *, writes: bool) -> Connection:
        """A new connection in autocommit mode, set up to be durable."""

    @abstractmethod
    def explain(self, error: Exception) -> DitherError:
        """The driver's error as one of ours, without the note on what was charged."""

    @property
    @abstractmethod
    def begin_write(self) -> str:
        """Begins a transaction in which nobody else writes."""

    @property
    def shares_commits(self) -> bool:
        """Whether threads of a process share commits; servers of databases see to that themselves."""
        return False

    @property
    def closes_before_forks(self) -> bool:
        """Whether no connection may be open at a fork."""
        return False

    def connected_in_parent(self) -> None:  # noqa: B027  (most databases don't mind)
        """Refuse to connect in this process: its parent was connected when it forked."""

    def has_tables(self, transaction: Transaction) -> bool:
        """True if the tables are there."""
        return transaction.one(self.find_table, self.contents.table) is not None

    @abstractmethod
    def in_transaction(self, connection: Connection) -> bool:
        """True if a transaction is open."""

    @abstractmethod
    def index_problem(self, look: Transaction, *, whole: bool) -> str | None:
        """What is wrong with the indexes of a ledger: rows of its tables that a lookup would not find.

        A charge that a lookup misses would be charged again, and a name that it misses would get a second budget.
        The indexes for those are always checked; ``whole``: all indexes are.
        """

    def spelled(self, statement: str) -> str:
        """A statement in the driver's own spelling of placeholders."""
        return statement

    def change(self, connection: Connection, statements: Changes) -> None:
        """Run statements that return nothing, in order."""
        for statement, values in statements:
            connection.execute(statement, values)

    def refuse(self, error: Exception, state: str) -> NoReturn:
        """Raise the driver's error as one of ours, with what it means for what was charged."""
        ours = self.explain(error)
        raise type(ours)(f"{ours}; {state}") from None

    @contextmanager
    def transaction(self, purpose: Purpose = READING, *, creating: bool = False) -> Iterator[Transaction]:
        """All changes are made, or none.  A writing transaction sees the newest state; nobody else writes meanwhile."""
        if purpose.writes and self.read_only:
            raise LedgerUnavailable(
                f"the {self.contents.called} was opened with read_only=True, open it without; {purpose.before}"
            )
        lane = self.writer if purpose.writes else self.reader
        begin = self.begin_create if creating else self.begin_write if purpose.writes else self.begin_read
        with lane.transaction(purpose, begin) as transaction:
            yield transaction

    def carry_over(self, connection: Connection) -> None:  # noqa: B027  (most databases do this themselves)
        """Move what was just committed to where the data rest, where the database does not do so itself."""

    def surely_failed(self, error: Exception) -> bool:  # noqa: ARG002
        """Whether a statement that ended with an error changed nothing for sure."""
        return False

    def lost(self, connection: Connection | None) -> bool:
        """True if the connection is gone and a new one may work."""
        return connection is None

    def close(self) -> None:
        """Close the connections."""
        self.writer.close()
        self.reader.close()
