"""Databases in PostgreSQL, for several servers at once."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, ClassVar, cast

from dither.errors import DitherError, InvalidArgument, LedgerDamaged, LedgerUnavailable
from dither.ledger.database import Changes, Connection, Database, Transaction
from dither.ledger.database_schema import POSTGRES_ONLY
from dither.ledger.indexes import incomplete_index

if TYPE_CHECKING:
    import psycopg

_CREATION_LOCK = 4_720_318_560_291_736_507  # any number that other programs are unlikely to take


class PostgresDatabase(Database):
    """``place``: a DSN as psycopg takes it; the tables lie in the first schema of its search path."""

    begin_read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    # Before there are tables, writers wait at a lock by number.
    begin_create = f"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock({_CREATION_LOCK})"
    # Not to_regclass, which may answer from a cache that is older than the wait for the lock.
    find_table = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = ?"
    types: ClassVar[dict[str, str]] = {"BIGINT": "BIGINT", "STRICT": ""}
    changes_in_queries = True
    ledger_extras = POSTGRES_ONLY
    place: str

    def check(self) -> None:
        """psycopg is needed."""
        if not isinstance(self.place, str) or not self.place:
            raise InvalidArgument("dsn", self.place, "must be a PostgreSQL connection string")
        try:
            import psycopg  # noqa: PLC0415  (an extra)
        except ImportError:
            raise LedgerUnavailable(
                f"a {self.contents.called} in PostgreSQL needs psycopg: pip install 'dither[postgres]'; "
                "nothing was charged"
            ) from None
        self._driver: ModuleType = psycopg

    def driver_errors(self) -> tuple[type[Exception], ...]:
        """What psycopg raises."""
        return (self._driver.Error,)

    def connect(self, *, writes: bool) -> Connection:  # noqa: ARG002  (transactions that read say so themselves)
        """A session whose commits wait for the disk; a server that does not sync at all is refused."""
        connection: psycopg.Connection = self._driver.connect(
            self.place,
            autocommit=True,
            connect_timeout=max(2, int(self.wait)),
            application_name=f"dither {self.contents.called}",
            prepare_threshold=None,  # (a statement that is prepared takes a journey more, once)
        )
        try:
            connection.execute("SET synchronous_commit = on")
            connection.execute(f"SET lock_timeout = {max(1, int(1000 * self.wait))}")
            synced = connection.execute("SHOW fsync").fetchone()
        except self._driver.Error:
            connection.close()
            raise
        if synced is None or synced[0] != "on":
            connection.close()
            raise LedgerUnavailable(
                "PostgreSQL runs with fsync off, so no charge would be durable; nothing was charged"
            )
        return connection

    def spelled(self, statement: str) -> str:
        """psycopg writes %s for a value."""
        return statement.replace("?", "%s")

    def change(self, connection: Connection, statements: Changes) -> None:
        """All in one round trip, because others wait for the lock."""
        with _of_psycopg(connection).pipeline():
            super().change(connection, statements)

    def in_transaction(self, connection: Connection) -> bool:
        """True if a transaction is open; a broken connection says so too, and is then given up."""
        return bool(_of_psycopg(connection).info.transaction_status != self._driver.pq.TransactionStatus.IDLE)

    @property
    def begin_write(self) -> str:
        """Waits for other writers; whatever is read afterwards sees all that they committed."""
        return f"BEGIN ISOLATION LEVEL READ COMMITTED; {self.contents.writers_wait}"

    def surely_failed(self, error: Exception) -> bool:
        """The server said so, and not that it or the connection went away."""
        state = getattr(error, "sqlstate", None) or ""
        return bool(state) and state[:2] not in ("08", "57")

    def lost(self, connection: Connection | None) -> bool:
        """True if the connection is gone."""
        return connection is None or _of_psycopg(connection).closed

    def index_problem(self, look: Transaction, *, whole: bool) -> str | None:
        """Every index must hold as many rows as its table, and find each of them."""
        index = incomplete_index(look, whole=whole)
        if index is None:
            return None
        return (
            f"the ledger in PostgreSQL is damaged: the index {index} does not find all rows of its table, so what was "
            "charged might be charged again; rebuild it with REINDEX and verify, or restore a backup"
        )

    def explain(self, error: Exception) -> DitherError:
        """By SQLSTATE; never with the connection string, which may hold a password."""
        what = f"the {self.contents.called} in PostgreSQL"
        state = getattr(error, "sqlstate", None) or ""
        first = (str(error).strip().splitlines() or [""])[0]
        if state == "55P03":
            return LedgerUnavailable(f"{what} was locked for more than {self.wait:g} seconds")
        if state.startswith("53"):
            return LedgerUnavailable(f"PostgreSQL has no room for the {self.contents.called} ({first})")
        if state in ("42501", "25006"):
            return LedgerUnavailable(f"{what} may not be written by this user ({first})")
        if state.startswith("23"):
            return LedgerDamaged(f"{what} refused a change that breaks its rules ({first})")
        if not state:
            return LedgerUnavailable("PostgreSQL cannot be reached, or the connection was lost")
        return LedgerUnavailable(f"{what} failed ({first})")


def _of_psycopg(connection: Connection) -> psycopg.Connection:
    """The same: ``connect`` makes all connections of this database."""
    return cast("psycopg.Connection", connection)
