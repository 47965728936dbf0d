"""Tables of a ledger, the same for SQLite and PostgreSQL, and how older ones are brought up to date.

All amounts are whole units (epsilon 1e-9, delta 1e-18).  Sums of squares (1e-18) do not fit into 64 bits from
epsilon 4.6 on, so they are kept in two words: ``high * 10^18 + low``; under the filter zcdp they are sums of rhos.  The
CHECKs repeat the rule of the filters in integers, so that not even a faulty program can take an account below zero:
``kind`` says which of them guards an account now, ``filter`` by which rule it was opened.  An account of the filter
advanced or zcdp is guarded by the sum of epsilons (kind basic) until that passes the budget or a loss has a delta, and
by the sum of squares or rhos (kind advanced) from then on, for good.
"""

from __future__ import annotations

import secrets

from dither.errors import LedgerDamaged
from dither.ledger.database import UNTOUCHED, WRITING, Database, Transaction
from dither.ledger.entries import GENESIS

WORD = 10**18

VERSION = 4

# {BIGINT} and {STRICT} differ by database; nothing else does.
TABLES = (
    """CREATE TABLE dither_ledger (
        one {BIGINT} PRIMARY KEY CHECK (one = 1),
        version {BIGINT} NOT NULL,
        number {BIGINT} NOT NULL CHECK (number >= 0),
        hash TEXT NOT NULL,
        secret TEXT
    ) {STRICT}""",
    """CREATE TABLE dither_accounts (
        id {BIGINT} PRIMARY KEY,
        parent {BIGINT} REFERENCES dither_accounts (id),
        analyst TEXT,
        version {BIGINT} NOT NULL CHECK (version >= 1),
        retired {BIGINT} NOT NULL CHECK (retired IN (0, 1)),
        kind TEXT NOT NULL CHECK (kind IN ('basic', 'advanced')),
        epsilon {BIGINT} NOT NULL CHECK (epsilon >= 0),
        delta {BIGINT} NOT NULL CHECK (delta >= 0),
        slack {BIGINT} NOT NULL CHECK (slack BETWEEN 0 AND delta),
        most_high {BIGINT} NOT NULL,
        most_low {BIGINT} NOT NULL CHECK (most_low BETWEEN 0 AND 999999999999999999),
        spent_epsilon {BIGINT} NOT NULL CHECK (spent_epsilon >= 0),
        spent_high {BIGINT} NOT NULL CHECK (spent_high >= 0),
        spent_low {BIGINT} NOT NULL CHECK (spent_low BETWEEN 0 AND 999999999999999999),
        spent_delta {BIGINT} NOT NULL CHECK (spent_delta >= 0),
        relation TEXT,
        filter TEXT,
        UNIQUE (parent, analyst),
        CHECK ((parent IS NULL) = (analyst IS NULL)),
        CHECK (spent_delta <= delta - slack),
        CHECK (kind = 'advanced' OR spent_epsilon <= epsilon),
        CHECK (kind = 'basic' OR spent_high < most_high OR (spent_high = most_high AND spent_low <= most_low))
    ) {STRICT}""",
    """CREATE TABLE dither_names (
        dataset TEXT PRIMARY KEY,
        account {BIGINT} NOT NULL REFERENCES dither_accounts (id)
    ) {STRICT}""",
    """CREATE TABLE dither_fingerprints (
        fingerprint TEXT PRIMARY KEY,
        account {BIGINT} NOT NULL REFERENCES dither_accounts (id),
        version {BIGINT} NOT NULL
    ) {STRICT}""",
    """CREATE TABLE dither_entries (
        number {BIGINT} PRIMARY KEY CHECK (number >= 1),
        at TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('register', 'grow', 'allow', 'charge', 'release', 'retire')),
        dataset TEXT NOT NULL REFERENCES dither_names (dataset),
        analyst TEXT,
        request TEXT,
        key TEXT,
        charge {BIGINT} REFERENCES dither_entries (number),
        body TEXT NOT NULL,
        previous TEXT NOT NULL,
        hash TEXT NOT NULL
    ) {STRICT}""",
    """CREATE UNIQUE INDEX dither_one_charge_per_request ON dither_entries (dataset, analyst, request)
        WHERE kind = 'charge'""",
    "CREATE UNIQUE INDEX dither_one_release_per_charge ON dither_entries (charge) WHERE kind = 'release'",
    "CREATE INDEX dither_answers ON dither_entries (dataset, key) WHERE kind = 'release'",
    "CREATE INDEX dither_histories ON dither_entries (dataset, number)",
)

SQLITE_ONLY = (
    """CREATE TRIGGER dither_entries_stay BEFORE UPDATE ON dither_entries
        BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END""",
    """CREATE TRIGGER dither_entries_remain BEFORE DELETE ON dither_entries
        BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END""",
)

POSTGRES_ONLY = (
    """CREATE FUNCTION dither_entries_refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'entries are append-only' USING ERRCODE = 'integrity_constraint_violation'; END $$""",
    """CREATE TRIGGER dither_entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON dither_entries
        FOR EACH STATEMENT EXECUTE FUNCTION dither_entries_refuse()""",
)

ACCOUNTS = "dither_accounts a CROSS JOIN (SELECT NULL AS relation, NULL AS filter) older"
RELATION = "(SELECT relation FROM dither_accounts own WHERE own.id = a.id)"
STATE = (
    "a.kind, (SELECT filter FROM dither_accounts own WHERE own.id = a.id), a.epsilon, a.delta, a.slack, "
    "a.spent_epsilon, a.spent_high, a.spent_low, a.spent_delta"
)
"""Accounts with their relation and filter, for readers of older versions too: their accounts have no such columns, so
that there the names are found outside, where they are NULL."""

UPGRADES: dict[int, tuple[str, ...]] = {
    1: ("ALTER TABLE dither_ledger ADD COLUMN secret TEXT", "ALTER TABLE dither_accounts ADD COLUMN relation TEXT"),
    2: ("ALTER TABLE dither_accounts ADD COLUMN filter TEXT",),
    # Programs of version 3 never change ``kind``: they must not write where it follows what was spent.  Accounts that
    # they opened stay guarded as they were, which admits less.
    3: (),
}
"""For each older version the statements that lead to the next; entries are never rewritten, so the chain stays."""


def prepare(database: Database, *, create: bool, check: bool) -> None:
    """Create the tables if there are none, upgrade older ones, refuse newer ones and damaged ones.

    A ledger of an older version that is opened to be read is left as it is; nothing is upgraded before it was checked.
    """
    with database.transaction() as look:
        known = database.has_tables(look)
        if not known and not create:
            raise LedgerDamaged(f"there is no ledger in this database; {UNTOUCHED}")
        is_usable = known and (_version(look) == VERSION or database.read_only)
        problem = database.index_problem(look, whole=False) if known and (check or not is_usable) else None
        if problem is not None:
            raise LedgerDamaged(f"{problem}; {UNTOUCHED}")
        if is_usable:
            return
    with database.transaction(WRITING, creating=True) as change:
        if not database.has_tables(change):
            _create(database, change)
        version = _version(change)
        while version < VERSION:
            for statement in UPGRADES[version]:
                change.run(statement.format(**database.types))
            version += 1
            change.run("UPDATE dither_ledger SET version = ?", version)
        change.run("UPDATE dither_ledger SET secret = ? WHERE secret IS NULL", secrets.token_hex(32))


def _create(database: Database, change: Transaction) -> None:
    for statement in (*TABLES, *database.ledger_extras):
        change.run(statement.format(**database.types) if "{" in statement else statement)
    change.run("INSERT INTO dither_ledger (one, version, number, hash) VALUES (1, ?, 0, ?)", VERSION, GENESIS)


def _version(look: Transaction) -> int:
    row = look.one("SELECT version FROM dither_ledger")
    if row is None:
        raise LedgerDamaged(f"the ledger has lost its version; {UNTOUCHED}")
    if row[0] > VERSION:
        raise LedgerDamaged(
            f"the ledger has version {row[0]}, this program knows versions up to {VERSION}: "
            f"use the newer program; {UNTOUCHED}"
        )
    return int(row[0])
