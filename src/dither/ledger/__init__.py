"""Budgets, charges and releases, durable and chained: in memory, in a SQLite file, or in PostgreSQL."""

from __future__ import annotations

from pathlib import Path

from dither.ledger.book import Ledger
from dither.ledger.entries import Charge, Entry, Registered, Report
from dither.ledger.postgres import PostgresDatabase
from dither.ledger.sqlite import SqliteDatabase, file_of

__all__ = [
    "Ledger",
    "MemoryLedger",
    "SqliteLedger",
    "PostgresLedger",
    "open_ledger",
    "Charge",
    "Entry",
    "Registered",
    "Report",
]

_WAIT = 30.0


class MemoryLedger(Ledger):
    """A ledger that lasts as long as this object, in this process.

    >>> from dither.privacy import Budget, Loss
    >>> ledger = MemoryLedger()
    >>> ledger.register("pay", Budget(1.0))
    >>> paid = ledger.charge("pay", Loss(0.4), question={"median": "total_pay", "epsilon": 0.4})
    >>> ledger.store(paid, {"value": 52000})
    {'value': 52000}
    >>> ledger.answer_to("pay", {"median": "total_pay", "epsilon": 0.4})
    {'value': 52000}
    >>> ledger.left("pay")
    Loss(epsilon=0.6, delta=0.0)
    """

    is_durable = False

    def __init__(self) -> None:
        super().__init__(SqliteDatabase(None, _WAIT))


class SqliteLedger(Ledger):
    """A ledger in a local file; ``wait`` is how many seconds to wait for another process that writes.

    ``check=False`` opens it without the check of its indexes, which ``verify`` includes.  ``read_only=True``
    changes nothing: no ledger is created, one of an older version is read as it is, and charges are refused.
    """

    def __init__(
        self, path: str | Path, *, wait: float = _WAIT, create: bool = True, check: bool = True, read_only: bool = False
    ) -> None:
        create = create and not read_only
        self._file = SqliteDatabase(file_of(path, create=create), wait, read_only=read_only)
        super().__init__(self._file, create=create, check=check)

    def backup(self, copy: str | Path) -> Report:
        """Write a copy of this moment into a new file, while others go on; returns the check of the copy."""
        self._file.copy_to(Path(copy))
        with SqliteLedger(copy, check=False, read_only=True) as copied:
            return copied.verify()


class PostgresLedger(Ledger):
    """A ledger in PostgreSQL, shared by several servers."""

    def __init__(
        self, dsn: str, *, wait: float = _WAIT, create: bool = True, check: bool = True, read_only: bool = False
    ) -> None:
        database = PostgresDatabase(dsn, wait, read_only=read_only)
        super().__init__(database, create=create and not read_only, check=check)


def open_ledger(place: str | Path, *, create: bool = True, check: bool = True, read_only: bool = False) -> Ledger:
    """The ledger of a path, or of a ``postgresql://`` address."""
    if isinstance(place, str) and place.startswith(("postgresql://", "postgres://")):
        return PostgresLedger(place, create=create, check=check, read_only=read_only)
    return SqliteLedger(place, create=create, check=check, read_only=read_only)
