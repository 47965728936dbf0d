"""Charges and releases that reach the database in one statement, for as long as nobody else writes.

A ledger remembers the head of its chain, and the accounts as they were at that head, from its own last write.  The next
entry is then computed without reading, and sent in one statement that takes effect only if the head and the accounts
are still these: it waits at the head's row as every writer does, and writes nothing if another writer moved it.  What
was refused, or lost on the way, is done again by an ordinary transaction, which finds a request that was paid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from dither.accounting.filters import FilterState
from dither.ledger.accounts import AccountRow, guard
from dither.ledger.chain import EntryRow
from dither.ledger.database import Value
from dither.ledger.database_schema import WORD
from dither.ledger.entries import Entry

_SAME_ACCOUNT = """EXISTS (SELECT 1 FROM dither_accounts WHERE id = ? AND version = ? AND retired = 0 AND epsilon = ?
    AND delta = ? AND slack = ? AND kind = ? AND spent_epsilon = ? AND spent_high = ? AND spent_low = ?
    AND spent_delta = ?)"""
_NOT_CHARGED = """NOT EXISTS (SELECT 1 FROM dither_entries
    WHERE kind = 'charge' AND dataset = ? AND analyst = ? AND request = ?)"""
_CHARGED = """EXISTS (SELECT 1 FROM dither_entries
    WHERE kind = 'charge' AND at = ? AND dataset = ? AND analyst = ? AND request = ? AND key = ? AND number = ?)"""
_NOT_ANSWERED = "NOT EXISTS (SELECT 1 FROM dither_entries WHERE kind = 'release' AND charge = ?)"
_SPEND = """UPDATE dither_accounts SET kind = ?, spent_epsilon = ?, spent_high = ?, spent_low = ?, spent_delta = ?
    FROM head WHERE id = ?"""
_NOBODY_ELSE = """WITH head AS (SELECT number AS last FROM dither_ledger WHERE number = ? AND hash = ? AND {conditions}
    FOR UPDATE)"""
_APPEND = """entry AS (INSERT INTO dither_entries
    (number, at, kind, dataset, analyst, request, key, charge, body, previous, hash)
    SELECT CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT),
    CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT) FROM head RETURNING number),
    moved AS (UPDATE dither_ledger SET number = ?, hash = ? FROM head WHERE one = 1)
    SELECT number FROM entry"""

Statement: TypeAlias = tuple[str, tuple[Value, ...]]


@dataclass(frozen=True)
class KnownHead:
    """The head of the chain, and accounts as they were at it."""

    number: int
    hash: str
    accounts: Mapping[str, AccountRow] = field(default_factory=dict)
    """By dataset."""
    own: Mapping[tuple[int, str], AccountRow | None] = field(default_factory=dict)
    """By account and analyst; None of one who has no budget of their own."""

    def moved(self, entry: Entry) -> KnownHead:
        """What is known behind an entry that changed no account, if it is the next."""
        if entry.previous != self.hash:
            return KnownHead(entry.number, entry.hash)
        return replace(self, number=entry.number, hash=entry.hash)

    def charged(
        self,
        entry: Entry,
        account: AccountRow,
        spent: FilterState,
        own: AccountRow | None,
        own_spent: FilterState | None,
    ) -> KnownHead:
        """What is known behind a charge: these accounts, as they are now."""
        moved = self.moved(entry)
        analyst = entry.analyst or ""
        after = None if own is None or own_spent is None else replace(own, state=own_spent)
        # Other names may share the account: they are looked up again.
        others = {name: row for name, row in moved.accounts.items() if row.id != account.id}
        return replace(
            moved,
            accounts={**others, entry.dataset: replace(account, state=spent)},
            own={**moved.own, (account.id, analyst): after},
        )


def charge_statement(head: KnownHead, row: EntryRow, spent: Sequence[tuple[AccountRow, FilterState]]) -> Statement:
    """Writes a charge, and what accounts have spent behind it, unless somebody wrote or the request was charged."""
    conditions = [_SAME_ACCOUNT] * len(spent)
    values: list[Value] = [head.number, head.hash]
    for account, _ in spent:
        state = account.state
        values += [account.id, account.version, state.epsilon, state.delta, state.slack, *_columns(state)]
    conditions.append(_NOT_CHARGED)
    values += row[3:6]
    changes = []
    for place, (account, after) in enumerate(spent):
        changes.append(f"spent{place} AS ({_SPEND})")
        values += [*_columns(after), account.id]
    return _statement(conditions, changes), (*values, *row, row[0], row[-1])


def release_statement(head: KnownHead, row: EntryRow) -> Statement:
    """Writes the release of a charge, unless somebody wrote, or it has one, or there is no such charge."""
    _, at, _, *labels, _, _, _ = row
    values = (head.number, head.hash, at, *labels, labels[-1])
    return _statement([_CHARGED, _NOT_ANSWERED], []), (*values, *row, row[0], row[-1])


def _statement(conditions: list[str], changes: list[str]) -> str:
    return ", ".join([_NOBODY_ELSE.format(conditions=" AND ".join(conditions)), *changes, _APPEND])


def _columns(state: FilterState) -> tuple[str, int, int, int, int]:
    return (guard(state), state.spent_epsilon, *divmod(state.spent_squares, WORD), state.spent_delta)
