"""Databases in local SQLite files (or in memory): one writer at a time, every commit on disk before it returns."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import ClassVar, cast

from dither.errors import DitherError, InvalidArgument, LedgerDamaged, LedgerUnavailable
from dither.ledger.database import LEDGER, Connection, Contents, Database, Transaction
from dither.ledger.database_schema import SQLITE_ONLY

_OLDEST = (3, 37)  # the first with STRICT tables
_CARRIED_WITHIN = 1.0  # seconds
_BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED")
_UNWRITABLE = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")
_CONNECTED_IN_PARENT: set[tuple[int, int]] = set()
"""Devices and numbers of files that were open, by SQLite, in a parent at the time of its fork."""
_DAMAGED = ("SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_CONSTRAINT")


class SqliteDatabase(Database):
    """``place``: the path of a file, or None for a database in memory."""

    begin_read = "BEGIN"
    begin_create = "BEGIN IMMEDIATE"
    find_table = "SELECT 1 FROM sqlite_master WHERE name = ?"
    types: ClassVar[dict[str, str]] = {"BIGINT": "INTEGER", "STRICT": "STRICT"}
    ledger_extras = SQLITE_ONLY
    place: Path | None
    _opened = False

    @property
    def shares_commits(self) -> bool:
        """Where there is a disk to wait for."""
        return self.place is not None

    @property
    def closes_before_forks(self) -> bool:
        """A file's connections, for their locks; what is in memory would be lost."""
        return self.place is not None

    def connected_in_parent(self) -> None:
        """Refuse this file, however it is reached."""
        _CONNECTED_IN_PARENT.update(self._identity())

    def _identity(self) -> set[tuple[int, int]]:
        """Device and number of the file; nothing if it is not there."""
        if self.place is None or not self.place.exists():
            return set()
        found = self.place.stat()
        return {(found.st_dev, found.st_ino)}

    def check(self) -> None:
        """STRICT tables are needed."""
        if sqlite3.sqlite_version_info < _OLDEST:
            raise LedgerUnavailable(
                f"SQLite {sqlite3.sqlite_version} is too old: use 3.37 or newer; nothing was charged"
            )

    def driver_errors(self) -> tuple[type[Exception], ...]:
        """What sqlite3 raises."""
        return (sqlite3.Error,)

    def connect(self, *, writes: bool) -> sqlite3.Connection:
        """WAL with syncs at every commit; waits for other writers up to the limit.  Readers do not wait."""
        if self.place is None:
            if self._opened:
                raise LedgerUnavailable(
                    "a ledger in memory ends with its process or when it is closed; nothing was charged"
                )
            self._opened = True
            target = ":memory:"
        else:
            if _CONNECTED_IN_PARENT & self._identity():
                raise LedgerUnavailable(
                    f"{self.place} was in use by another thread when this process was forked, and SQLite's locks "
                    "don't hold behind that: use it from a process that was forked earlier or started anew; "
                    "nothing was charged"
                )
            target = f"{self.place.as_uri()}?immutable=1" if self._is_still() else str(self.place)
        connection = sqlite3.connect(
            target, timeout=self.wait, isolation_level=None, check_same_thread=False, uri=target.startswith("file:")
        )
        try:
            self._check_ours(connection)  # before the first PRAGMA that changes a file
            if self.read_only:
                connection.execute("PRAGMA query_only = ON")
                return connection
            mode = self._logged(connection)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA fullfsync = ON")  # of macOS, where a plain sync stops at the drive's own memory
            connection.execute("PRAGMA checkpoint_fullfsync = ON")
            connection.execute("PRAGMA wal_autocheckpoint = 0")  # see carry_over
            connection.execute("PRAGMA foreign_keys = ON")
            if not writes:
                connection.execute("PRAGMA query_only = ON")
        except BaseException:
            connection.close()
            raise
        if mode != "wal" and self.place is not None:
            connection.close()
            raise LedgerUnavailable(f"{self.place} lies where SQLite has no write-ahead log; nothing was charged")
        return connection

    def carry_over(self, connection: Connection) -> None:
        """Every commit is copied from the log into the main file, and the log emptied, before it is acknowledged.

        A log that is torn later then takes nothing with it.  To copy is not enough: pages of a whole log hide those
        of the main file, and of a torn one older pages would.  Readers of what is in the log hold this up, so it is
        repeated until they have moved on; one that reads for longer than a second does not hold up an answer, whose
        entry is in the synced log meanwhile.
        """
        deadline, ours = time.monotonic() + _CARRIED_WITHIN, _of_sqlite(connection)
        try:
            ours.execute("PRAGMA busy_timeout = 0")  # readers are waited for here, not for as long as writers
            while ours.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                if time.monotonic() > deadline:
                    break
                time.sleep(0.002)
        except sqlite3.Error:  # the commit stands in the synced log; the next checkpoint copies it
            return
        finally:
            ours.execute(f"PRAGMA busy_timeout = {round(1000 * self.wait)}")

    def _is_still(self) -> bool:
        """True if the file is only read, no process has it open, and its folder cannot be written to."""
        if not self.read_only or self.place is None or os.access(self.place.parent, os.W_OK):
            return False
        return not any(Path(f"{self.place}{end}").exists() for end in ("-wal", "-shm", "-journal"))

    def _logged(self, connection: sqlite3.Connection) -> str:
        """Switch to WAL, once in the life of a file; SQLite itself does not wait for others who do the same."""
        deadline = time.monotonic() + self.wait
        while True:
            try:
                return str(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
            except sqlite3.OperationalError as error:
                if not error.sqlite_errorname.startswith(_BUSY) or time.monotonic() > deadline:
                    raise
                time.sleep(0.005)

    def _check_ours(self, connection: sqlite3.Connection) -> None:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if names and self.contents.table not in names:
            raise LedgerDamaged(f"{self.place} is another database, not a {self.contents.called}; nothing was changed")

    def in_transaction(self, connection: Connection) -> bool:
        """True if a transaction is open."""
        return _of_sqlite(connection).in_transaction

    @property
    def begin_write(self) -> str:
        """SQLite has one writer at a time."""
        return self.begin_create

    def index_problem(self, look: Transaction, *, whole: bool) -> str | None:  # noqa: ARG002  (it is quick enough)
        """SQLite's own check of pages, order and every index against its table.

        ``quick_check`` leaves out the comparison of indexes with tables, which is what matters here.
        """
        results = [str(row[0]) for row in look.all("PRAGMA integrity_check(1)")]
        if results == ["ok"]:
            return None
        what = self.place or f"the {self.contents.called} in memory"
        return (
            f"{what} is damaged ({results[0]}): what was charged might be charged again; restore a backup, or rebuild "
            "the indexes of a copy with SQLite's REINDEX and verify that"
        )

    def copy_to(self, file: Path) -> None:
        """Write one snapshot into a new file, while others go on; a file that is there is not touched."""
        try:
            os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            raise InvalidArgument("copy", str(file), "must be a file that does not exist yet") from None
        except OSError as error:
            raise LedgerUnavailable(f"{file} cannot be written ({error.strerror}); the ledger is unchanged") from None
        try:
            with closing(sqlite3.connect(file)) as target, self.transaction() as look:
                _of_sqlite(look.connection).backup(target)
        except BaseException as error:
            file.unlink(missing_ok=True)
            if not isinstance(error, sqlite3.Error):
                raise
            raise LedgerUnavailable(f"{file} cannot be written ({error}); the ledger is unchanged") from None

    def explain(self, error: Exception) -> DitherError:
        """By SQLite's own error name; messages carry the path and SQLite's words, which are public."""
        what, code = self.place or f"the {self.contents.called} in memory", getattr(error, "sqlite_errorname", "") or ""
        if code.startswith(_BUSY):
            return LedgerUnavailable(f"{what} was in use by another process for more than {self.wait:g} seconds")
        if code.startswith("SQLITE_FULL"):
            return LedgerUnavailable(f"there is no room on the disk for {what}")
        if code.startswith(_UNWRITABLE):
            return LedgerUnavailable(f"{what} cannot be opened or written: is its folder there and writable?")
        if code.startswith(_DAMAGED):
            return LedgerDamaged(f"{what} is damaged or not a {self.contents.called} ({error})")
        return LedgerUnavailable(f"{what} failed ({error})")


def _of_sqlite(connection: Connection) -> sqlite3.Connection:
    """The same: ``connect`` makes all connections of this database."""
    return cast("sqlite3.Connection", connection)


def file_of(path: str | Path, *, create: bool, contents: Contents = LEDGER) -> Path:
    """A file that exists or is created, readable by its owner only."""
    if not isinstance(path, (str, Path)) or "\0" in str(path):
        raise InvalidArgument("path", path, "must be the path of a file")
    file = Path(path).absolute()
    try:
        if file.is_dir() or not file.parent.is_dir():
            raise InvalidArgument("path", str(path), "must be a file in an existing folder")
        if not file.exists():
            if not create:
                raise InvalidArgument("path", str(path), f"must be an existing {contents.called}")
            file.touch(mode=0o600)
            _sync_folder(file.parent)
    except OSError as error:
        raise LedgerUnavailable(
            f"{file} cannot be opened ({error.strerror}); nothing was read, nothing was charged"
        ) from None
    return file


def _sync_folder(folder: Path) -> None:
    """Sync a folder, so that the name of a new file is durable too.

    Windows opens no folders; NTFS keeps a log of names itself, which SQLite relies on there as well.
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
