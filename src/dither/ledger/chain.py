"""Entries as rows: how the chain is read and how it grows."""

from __future__ import annotations

import functools
import json
from datetime import UTC, datetime
from typing import TypeAlias

from dither.accounting.filters import FilterState, spent, unspent
from dither.errors import LedgerDamaged
from dither.ledger.accounts import AccountRow
from dither.ledger.database import Row, Transaction, Value
from dither.ledger.entries import Body, Charge, Entry, canonical, chained, charged_losses, charged_units

ENTRIES = """SELECT number, at, kind, dataset, analyst, request, key, charge, body, previous, hash
    FROM dither_entries"""
LABELS = ("dataset", "analyst", "request", "key", "charge")
Labels: TypeAlias = dict[str, str | int | None]
"""What an entry is about, by LABELS."""
EntryRow: TypeAlias = tuple[Value, ...]
"""Number, time, kind, labels, body, the hash before and its own."""
_INSERT = """INSERT INTO dither_entries
    (number, at, kind, dataset, analyst, request, key, charge, body, previous, hash)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""


def entry_of(row: Row) -> Entry:
    """An entry from its row; the body is JSON text."""
    number, at, kind, dataset, analyst, request, key, charge, body, previous, mark = row
    return Entry(number, at, kind, dataset, analyst, request, key, charge, json.loads(body), previous, mark)


def append(
    work: Transaction,
    kind: str,
    dataset: str,
    body: Body,
    *,
    analyst: str | None = None,
    request: str | None = None,
    key: str | None = None,
    charge: int | None = None,
    at: str | None = None,
) -> Entry:
    """Write the next entry and move the head of the chain to it."""
    head = work.one("SELECT number, hash FROM dither_ledger")
    if head is None:
        raise LedgerDamaged("the ledger has lost the head of its chain; nothing was read, nothing was charged")
    labels: Labels = {"dataset": dataset, "analyst": analyst, "request": request, "key": key, "charge": charge}
    row = following(int(head[0]), str(head[1]), kind, labels, canonical(body), at)
    work.run(_INSERT, *row)
    work.run("UPDATE dither_ledger SET number = ?, hash = ?", row[0], row[-1])
    return entry_of(row)


def following(last: int, previous: str, kind: str, labels: Labels, text: str, at: str | None = None) -> EntryRow:
    """The row of the entry behind a head, its hash included."""
    at = at or datetime.now(UTC).isoformat(timespec="milliseconds")
    mark = chained(last + 1, at, kind, labels, text, previous)
    return (last + 1, at, kind, *(labels[name] for name in LABELS), text, previous, mark)


def one_entry(look: Transaction, condition: str, *values: Value) -> Entry | None:
    """The entry that fulfils a condition, if there is one."""
    row = look.one(f"{ENTRIES} WHERE {condition}", *values)
    return None if row is None else entry_of(row)


def release_of(look: Transaction, charge: int) -> Entry | None:
    """What was stored for a charge, if anything was."""
    return one_entry(look, "kind = 'release' AND charge = ?", charge)


def has_others(look: Transaction, account: AccountRow, dataset: str, source: str) -> bool:
    """True if a stored answer of the present version was computed from another state of the source."""
    grown = look.one(
        "SELECT COALESCE(MAX(e.number), 0) FROM dither_entries e JOIN dither_names n ON n.dataset = e.dataset "
        "WHERE n.account = ? AND e.kind = 'grow'",
        account.id,
    )
    # Keys are sorted: a body with a mark ends with it, a body without one ends with that of the release.
    row = look.one(
        "SELECT 1 FROM dither_entries WHERE kind = 'release' AND dataset = ? AND charge > ? AND body LIKE ? "
        "AND NOT body LIKE ? LIMIT 1",
        dataset,
        grown[0] if grown else 0,
        '%"}',
        f'%"source":"{source}"}}',
    )
    return row is not None


def releases_naming(look: Transaction, dataset: str, query: str, after: int) -> list[tuple[Entry, Body]]:
    """The releases behind an entry whose questions name a query: the charges that paid for them, and their bodies."""
    columns = ("number", "at", "kind", "dataset", "analyst", "request", "key", "charge", "body", "previous", "hash")
    rows = look.all(
        f"SELECT {', '.join(f'c.{column}' for column in columns)}, r.body FROM dither_entries r "  # noqa: S608
        "JOIN dither_entries c ON c.number = r.charge "
        "WHERE r.kind = 'release' AND r.dataset = ? AND r.number > ? AND c.body LIKE ? ORDER BY r.number",
        dataset,
        after,
        f'%"name":"{query}"%',
    )
    return [(entry_of(row[:-1]), json.loads(row[-1])) for row in rows]


def charged(look: Transaction, dataset: str, analyst: str, request: str) -> Entry | None:
    """The charge of a request that was paid before."""
    return one_entry(look, "kind = 'charge' AND dataset = ? AND analyst = ? AND request = ?", dataset, analyst, request)


def charge_of(entry: Entry, release: Entry | None, *, fresh: bool) -> Charge:
    """A charge from its entry."""
    return Charge(
        number=entry.number,
        dataset=entry.dataset,
        analyst=entry.analyst or "",
        request_id=entry.request or "",
        losses=charged_losses(entry.body),
        question=entry.body["question"],
        version=entry.body["version"],
        release=None if release is None else release.body["release"],
        source=None if release is None else release.body.get("source"),
        fresh=fresh,
    )


def spent_by(look: Transaction, account: AccountRow, analyst: str, state: FilterState) -> FilterState:
    """A filter with all that an analyst has spent on an account, added up from the entries."""
    rows = look.all(
        "SELECT e.body FROM dither_entries e JOIN dither_names n ON n.dataset = e.dataset "
        "WHERE n.account = ? AND e.analyst = ? AND e.kind = 'charge' ORDER BY e.number",
        account.id,
        analyst,
    )
    units = (item for (body,) in rows for item in charged_units(json.loads(body)))
    return functools.reduce(spent, units, unspent(state))
