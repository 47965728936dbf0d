"""What the server itself keeps: tokens (hashed), and public settings of datasets.

In a SQLite file of its own below the home folder, or beside the ledger in PostgreSQL, so that several servers agree.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from dither.errors import DitherError, LedgerUnavailable

OWNER, ANALYST = "owner", "analyst"
ROLES = (OWNER, ANALYST)
VERSION = 1
_TABLES = (
    "CREATE TABLE IF NOT EXISTS dither_server (version BIGINT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS dither_server_tokens (
        id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL, role TEXT NOT NULL, created TEXT NOT NULL,
        expires TEXT, revoked TEXT, rules TEXT NOT NULL)""",
    "CREATE TABLE IF NOT EXISTS dither_server_settings (dataset TEXT PRIMARY KEY, answer_seconds TEXT NOT NULL)",
)
_COLUMNS = "SELECT id, name, role, created, expires, revoked, rules FROM dither_server_tokens"


@dataclass(frozen=True)
class Token:
    """Who asks, and what they may do.  The secret itself is nowhere kept."""

    id: str
    name: str
    role: str
    created: str
    expires: str | None
    revoked: str | None
    epsilon_cap: float | None = None
    kinds: tuple[str, ...] | None = None
    datasets: tuple[str, ...] | None = None

    @property
    def is_owner(self) -> bool:
        """True for the role that registers data and gives out tokens."""
        return self.role == OWNER

    @property
    def is_valid(self) -> bool:
        """True unless it was revoked or has expired."""
        return self.revoked is None and (self.expires is None or datetime.now(UTC).isoformat() < self.expires)

    def may_see(self, dataset: str) -> bool:
        """True if the token was not given for other datasets only."""
        return self.datasets is None or dataset in self.datasets

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dict(self.__dict__)


class Store:
    """Tokens and settings; safe for threads and processes."""

    def __init__(self, place: Path | str) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._connection: Any = None
        with self._work() as run:
            for statement in _TABLES:
                run(statement)
            version = run("SELECT version FROM dither_server")
            if not version:
                run("INSERT INTO dither_server (version) VALUES (?)", VERSION)
            elif version[0][0] > VERSION:
                raise LedgerUnavailable(f"{self._called} was written by a newer version of dither")

    # --- tokens --------------------------------------------------------------------------------------------

    def create(
        self, name: str, role: str, *, expires_in: float | None = None, rules: dict[str, Any] | None = None,
        only_if_no_owner: bool = False,
    ) -> tuple[str, Token] | None:  # fmt: skip
        """A new token: its secret, which is told once, and what is kept of it; None if there is an owner already."""
        secret = f"dither_{secrets.token_urlsafe(32)}"
        now = datetime.now(UTC)
        expires = None if expires_in is None else (now + timedelta(seconds=expires_in)).isoformat()
        row = (secrets.token_hex(8), _hash(secret), name, role, now.isoformat(), expires, json.dumps(rules or {}))
        with self._work() as run:
            if only_if_no_owner and run("SELECT 1 FROM dither_server_tokens WHERE role = ? LIMIT 1", OWNER):
                return None
            run(
                "INSERT INTO dither_server_tokens (id, hash, name, role, created, expires, rules) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                *row,
            )
            made = _token(run(f"{_COLUMNS} WHERE id = ?", row[0])[0])
        return secret, made

    def find(self, secret: str) -> Token | None:
        """The token behind a secret, if it is valid."""
        with self._work(write=False) as run:
            found = run(f"{_COLUMNS} WHERE hash = ?", _hash(secret))
        token = _token(found[0]) if found else None
        return token if token is not None and token.is_valid else None

    def tokens(self) -> list[Token]:
        """All tokens that were ever given out."""
        with self._work(write=False) as run:
            return [_token(row) for row in run(f"{_COLUMNS} ORDER BY created, id")]

    def revoke(self, token_id: str) -> Token | None:
        """End a token at once; None if there is no such token."""
        with self._work() as run:
            run(
                "UPDATE dither_server_tokens SET revoked = ? WHERE id = ? AND revoked IS NULL",
                datetime.now(UTC).isoformat(), token_id,
            )  # fmt: skip
            found = run(f"{_COLUMNS} WHERE id = ?", token_id)
        return _token(found[0]) if found else None

    # --- settings ------------------------------------------------------------------------------------------

    def answer_seconds(self, dataset: str, default: float) -> float:
        """The public length of a dataset's first slot."""
        with self._work(write=False) as run:
            found = run("SELECT answer_seconds FROM dither_server_settings WHERE dataset = ?", dataset)
        return float(found[0][0]) if found else default

    def set_answer_seconds(self, dataset: str, seconds: float) -> None:
        """Declare it."""
        with self._work() as run:
            run("DELETE FROM dither_server_settings WHERE dataset = ?", dataset)
            run("INSERT INTO dither_server_settings (dataset, answer_seconds) VALUES (?, ?)", dataset, repr(seconds))

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    # --- the database --------------------------------------------------------------------------------------

    @property
    def _called(self) -> str:
        return "the server's database" if isinstance(self._place, str) else str(self._place)

    @contextmanager
    def _work(self, *, write: bool = True) -> Iterator[Any]:
        """One transaction; an error of the driver is told without its words, which may name an address."""
        on_postgres = isinstance(self._place, str)
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._connected()
                cursor = self._connection.cursor()
                cursor.execute("BEGIN" if on_postgres or not write else "BEGIN IMMEDIATE")
                if on_postgres and write:
                    cursor.execute("SELECT pg_advisory_xact_lock(1684632680)")

                def run(statement: str, *values: Any) -> list[tuple[Any, ...]]:
                    cursor.execute(statement.replace("?", "%s") if on_postgres else statement, values)
                    return cursor.fetchall() if cursor.description is not None else []

                yield run
                cursor.execute("COMMIT")
            except DitherError:
                self._dropped()
                raise
            except Exception as error:
                self._dropped()
                if not _from_driver(error):
                    raise
                raise LedgerUnavailable(f"{self._called} cannot be used now; nothing was charged") from None

    def _connected(self) -> Any:
        if isinstance(self._place, str):
            import psycopg

            return psycopg.connect(self._place, autocommit=True, connect_timeout=10)
        connection = sqlite3.connect(self._place, timeout=30, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        self._place.chmod(0o600)
        return connection

    def _dropped(self) -> None:
        """After a failure the next call connects anew; what was not committed is gone."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _from_driver(error: Exception) -> bool:
    return type(error).__module__.split(".")[0] in ("sqlite3", "psycopg", "builtins") and not isinstance(
        error, (TypeError, KeyError, AttributeError)
    )


def _hash(secret: str) -> str:
    """Secrets have 256 random bits: a plain hash cannot be searched."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _token(row: tuple[Any, ...]) -> Token:
    number, name, role, created, expires, revoked, text = row
    rules = json.loads(text)
    kinds, datasets = (None if rules.get(key) is None else tuple(rules[key]) for key in ("kinds", "datasets"))
    return Token(number, name, role, created, expires, revoked, rules.get("epsilon_cap"), kinds, datasets)
