"""What the server itself keeps: tokens (hashed), public settings of datasets, and jobs.

In a SQLite file below the home folder, or beside the ledger in PostgreSQL where several servers share it; through the
same database layer as the ledger (``dither.ledger.database``).
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dither.errors import LedgerUnavailable
from dither.interfaces.answers import ANALYST, OWNER
from dither.interfaces.http.problems import last_owner, unauthenticated
from dither.ledger.database import Contents, Database, Purpose, Row, Transaction
from dither.ledger.postgres import PostgresDatabase
from dither.ledger.sqlite import SqliteDatabase, file_of
from dither.plain import JsonObject
from dither.queries.registry import entry

VERSION = 1
_CONTENTS = Contents("server's database", "dither_server", "SELECT pg_advisory_xact_lock(1684632680)")
_AT_MOST_ONCE = "a query under the same request_id is charged at most once"
_READING = Purpose(_AT_MOST_ONCE, _AT_MOST_ONCE, writes=False)
_WRITING = Purpose(_AT_MOST_ONCE, _AT_MOST_ONCE)
_WAIT = 30.0
LONGEST_KEPT = timedelta(days=7)
"""Outcomes of jobs are kept for so long; the ledger has the answers for good."""
_TABLES = (
    "CREATE TABLE IF NOT EXISTS dither_server (version BIGINT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS dither_server_tokens (
        id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL, role TEXT NOT NULL, created TEXT NOT NULL,
        expires TEXT, revoked TEXT, rules TEXT NOT NULL)""",
    "CREATE TABLE IF NOT EXISTS dither_server_settings (dataset TEXT PRIMARY KEY, answer_seconds TEXT NOT NULL)",
    # Added later: a file of version 1 without it simply has no jobs.
    """CREATE TABLE IF NOT EXISTS dither_server_jobs (
        id TEXT PRIMARY KEY, process TEXT NOT NULL, analyst TEXT NOT NULL, dataset TEXT NOT NULL,
        request_id TEXT NOT NULL, seconds TEXT NOT NULL, started TEXT NOT NULL, seen TEXT NOT NULL, shown TEXT,
        outcome TEXT)""",
)
_NOBODY = (
    "",
    "",
    ANALYST,
    "",
    None,
    "never",
    '{"epsilon_cap": null, "delta_cap": null, "kinds": null, "datasets": null}',
)
_COLUMNS = "SELECT id, name, role, created, expires, revoked, rules FROM dither_server_tokens"


@dataclass(frozen=True)
class Token:
    """A token: who asks, and what they may do.  Its secret is not stored."""

    id: str
    name: str
    role: str
    created: str
    expires: str | None
    revoked: str | None
    epsilon_cap: float | None = None
    delta_cap: float | None = None
    queries: tuple[str, ...] | None = None
    datasets: tuple[str, ...] | None = None
    by: str | None = None
    """Who made it: an owner's token by name, or a command."""

    @property
    def is_owner(self) -> bool:
        """True for the role that registers data and gives out tokens."""
        return self.role == OWNER

    @property
    def is_valid(self) -> bool:
        """True unless it was revoked or has expired."""
        return self.revoked is None and (self.expires is None or datetime.now(UTC).isoformat() < self.expires)

    @property
    def manages_all(self) -> bool:
        """True of a valid owner's token that is not for some datasets only."""
        return self.is_owner and self.is_valid and self.datasets is None

    def may_ask(self, query: str) -> bool:
        """True for queries that it names; where it names none, for all but those that run code, which owners ask."""
        if self.queries is not None:
            return query in self.queries
        return self.is_owner or not entry(query).runs_code

    def may_see(self, dataset: str) -> bool:
        """True if the token was not given for other datasets only."""
        return self.datasets is None or dataset in self.datasets

    def may_manage(self, other: Token) -> bool:
        """True of an owner, for tokens that see nothing beyond what this one sees."""
        return self.datasets is None or (other.datasets is not None and set(other.datasets) <= set(self.datasets))

    def to_dict(self) -> JsonObject:
        """Plain values for JSON."""
        return {"kinds" if name == "queries" else name: value for name, value in self.__dict__.items()}


@dataclass(frozen=True)
class KeptJob:
    """A job as every server finds it: ``outcome`` is public from ``visible_from`` on, the end of a public slot."""

    id: str
    analyst: str
    dataset: str
    request_id: str
    seconds: float
    started: datetime
    seen: datetime
    """When its process was last known to work on it."""
    visible_from: datetime | None
    outcome: str | None
    """JSON: ``{"answer": ...}`` or ``{"problem": ...}``."""


class Store:
    """Tokens, settings and jobs; safe for threads and processes."""

    def __init__(self, place: Path | str) -> None:
        self._database = _database(place)
        with self._work(creating=True) as work:
            for statement in _TABLES:
                work.run(statement)
            version = work.one("SELECT version FROM dither_server")
            if version is None:
                work.run("INSERT INTO dither_server (version) VALUES (?)", VERSION)
            elif version[0] > VERSION:
                raise LedgerUnavailable(
                    f"the server's database has version {version[0]}, this program knows versions up to {VERSION}: "
                    "use the newer program"
                )

    # --- tokens --------------------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        role: str,
        *,
        expires_in: float | None = None,
        rules: JsonObject | None = None,
        only_if_no_owner: bool = False,
        by: str | None = None,
    ) -> tuple[str, Token] | None:
        """A new token: its secret, which is shown once, and what is kept of it; None if there is an owner already.

        ``by`` says who made it, for the list of tokens.
        """
        secret = f"dither_{secrets.token_urlsafe(32)}"
        now = datetime.now(UTC)
        expires = None if expires_in is None else (now + timedelta(seconds=expires_in)).isoformat()
        kept = json.dumps({**(rules or {}), "by": by})
        row = (secrets.token_hex(8), _hash(secret), name, role, now.isoformat(), expires, kept)
        with self._work() as work:
            if only_if_no_owner and work.all("SELECT 1 FROM dither_server_tokens WHERE role = ? LIMIT 1", OWNER):
                return None
            work.run(
                "INSERT INTO dither_server_tokens (id, hash, name, role, created, expires, rules) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                *row,
            )
            token = _token(work.all(f"{_COLUMNS} WHERE id = ?", row[0])[0])
        return secret, token

    def find(self, secret: str) -> Token | None:
        """The token behind a secret, if it is valid."""
        with self._work(write=False) as work:
            rows = work.all(f"{_COLUMNS} WHERE hash = ?", _hash(secret))
        token = _token(rows[0] if rows else _NOBODY)  # the same work for secrets that were never given out
        return token if token.is_valid else None

    def still_valid(self, token: Token) -> None:
        """An error if a token that came in was revoked, or has expired, since."""
        with self._work(write=False) as work:
            rows = work.all(f"{_COLUMNS} WHERE id = ?", token.id)
        if not rows or not _token(rows[0]).is_valid:
            raise unauthenticated()

    def tokens(self) -> list[Token]:
        """All tokens that were ever given out."""
        with self._work(write=False) as work:
            return [_token(row) for row in work.all(f"{_COLUMNS} ORDER BY created, id")]

    def revoke(self, token_id: str) -> Token | None:
        """End a token at once; None if there is no such token.

        The last one that manages everything cannot be revoked: no other could create tokens.
        """
        with self._work() as work:
            valid = [row.id for row in map(_token, work.all(_COLUMNS)) if row.manages_all]
            if valid == [token_id]:
                raise last_owner()
            work.run(
                "UPDATE dither_server_tokens SET revoked = ? WHERE id = ? AND revoked IS NULL",
                datetime.now(UTC).isoformat(),
                token_id,
            )
            rows = work.all(f"{_COLUMNS} WHERE id = ?", token_id)
        return _token(rows[0]) if rows else None

    # --- settings ------------------------------------------------------------------------------------------

    def answer_seconds(self, dataset: str, default: float) -> float:
        """The public length of a dataset's first slot."""
        with self._work(write=False) as work:
            rows = work.all("SELECT answer_seconds FROM dither_server_settings WHERE dataset = ?", dataset)
        return float(rows[0][0]) if rows else default

    def set_answer_seconds(self, dataset: str, seconds: float) -> None:
        """Declare it."""
        with self._work() as work:
            work.run("DELETE FROM dither_server_settings WHERE dataset = ?", dataset)
            work.run(
                "INSERT INTO dither_server_settings (dataset, answer_seconds) VALUES (?, ?)", dataset, repr(seconds)
            )

    # --- jobs ----------------------------------------------------------------------------------------------

    def keep_job(self, process: str, job: KeptJob) -> None:
        """Record a job that begins, so that other servers can answer for it."""
        started = job.started.isoformat()
        with self._work() as work:
            work.run("DELETE FROM dither_server_jobs WHERE started < ?", (datetime.now(UTC) - LONGEST_KEPT).isoformat())
            work.run(
                "INSERT INTO dither_server_jobs (id, process, analyst, dataset, request_id, seconds, started, seen) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                job.id,
                process,
                job.analyst,
                job.dataset,
                job.request_id,
                repr(job.seconds),
                started,
                job.seen.isoformat(),
            )

    def end_job(self, job_id: str, visible_from: datetime, outcome: str) -> None:
        """Record how a job ended, and from when on that is public."""
        with self._work() as work:
            work.run(
                "UPDATE dither_server_jobs SET shown = ?, outcome = ? WHERE id = ?",
                visible_from.isoformat(),
                outcome,
                job_id,
            )

    def still_working(self, process: str) -> bool:
        """Note that a process still works on its jobs; false if it has none."""
        with self._work() as work:
            waiting = work.all(
                "SELECT 1 FROM dither_server_jobs WHERE process = ? AND outcome IS NULL LIMIT 1", process
            )
            if waiting:
                work.run(
                    "UPDATE dither_server_jobs SET seen = ? WHERE process = ? AND outcome IS NULL",
                    datetime.now(UTC).isoformat(),
                    process,
                )
        return bool(waiting)

    def find_job(self, job_id: str) -> KeptJob | None:
        """A job of any server."""
        with self._work(write=False) as work:
            rows = work.all(
                "SELECT id, analyst, dataset, request_id, seconds, started, seen, shown, outcome "
                "FROM dither_server_jobs WHERE id = ?",
                job_id,
            )
        if not rows:
            return None
        number, analyst, dataset, request_id, seconds, started, seen, visible_from, outcome = rows[0]
        return KeptJob(
            number,
            analyst,
            dataset,
            request_id,
            float(seconds),
            datetime.fromisoformat(started),
            datetime.fromisoformat(seen),
            None if visible_from is None else datetime.fromisoformat(visible_from),
            outcome,
        )

    def check_writable(self) -> None:
        """An error if nothing can be written; changes nothing."""
        with self._work() as work:
            work.run("UPDATE dither_server SET version = version")

    def close(self) -> None:
        """Close the connections."""
        self._database.close()

    @contextmanager
    def _work(self, *, write: bool = True, creating: bool = False) -> Iterator[Transaction]:
        """One transaction; errors of the driver and of the machine become ``LedgerUnavailable``."""
        try:
            with self._database.transaction(_WRITING if write else _READING, creating=creating) as work:
                yield work
        except OSError:
            raise LedgerUnavailable(f"the server's database cannot be used now; {_AT_MOST_ONCE}") from None


def _database(place: Path | str) -> Database:
    if isinstance(place, str):
        return PostgresDatabase(place, _WAIT, contents=_CONTENTS)
    database = SqliteDatabase(file_of(place, create=True, contents=_CONTENTS), _WAIT, contents=_CONTENTS)
    place.chmod(0o600)
    return database


def _hash(secret: str) -> str:
    """Secrets have 256 random bits: a plain hash cannot be searched."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _token(row: Row) -> Token:
    number, name, role, created, expires, revoked, text = row
    rules = json.loads(text)
    queries, datasets = (None if rules.get(key) is None else tuple(rules[key]) for key in ("kinds", "datasets"))
    caps = rules.get("epsilon_cap"), rules.get("delta_cap")
    return Token(number, name, role, created, expires, revoked, *caps, queries, datasets, rules.get("by"))
