"""Accounts as rows: filter states with the names and fingerprints that lead to them."""

from __future__ import annotations

import json
from dataclasses import dataclass

from dither.accounting.filters import FilterState, open_filter
from dither.errors import InvalidArgument, UnknownDataset
from dither.ledger.database import Row, Transaction
from dither.ledger.database_schema import ACCOUNTS, RELATION, STATE, WORD
from dither.ledger.entries import canonical
from dither.numbers import Number
from dither.privacy import Budget, Relation

MOST_EPSILON = 1_000_000
"""The greatest budget a ledger keeps: its sums fit into the words of every database."""

_COLUMNS = f"SELECT a.id, a.version, a.retired, {RELATION}, {STATE} FROM {ACCOUNTS} "  # noqa: S608
_OF_NAME = f"{_COLUMNS} JOIN dither_names n ON n.account = a.id WHERE n.dataset = ?"
_OF_FINGERPRINT = f"{_COLUMNS} JOIN dither_fingerprints f ON f.account = a.id WHERE f.fingerprint = ?"
_OF_ANALYST = f"{_COLUMNS} WHERE a.parent = ? AND a.analyst = ?"


@dataclass(frozen=True, slots=True)
class AccountRow:
    """The budget of one dataset under all its names, or of one analyst on it."""

    id: int
    version: int
    retired: bool
    state: FilterState
    relation: Relation | None
    """Between which datasets its losses hold; None of an analyst, and until an opening says so."""


def rules(budget: Budget, filter: str, slack: Number | None) -> FilterState:
    """A filter with nothing spent, of a size that a ledger can keep."""
    state = open_filter(budget, filter=filter, slack=slack)
    if budget.epsilon > MOST_EPSILON:
        raise InvalidArgument("budget.epsilon", budget.epsilon, f"must be at most {MOST_EPSILON:,}")
    return state


def same_rules(state: FilterState, other: FilterState) -> bool:
    """True if two filters would admit the same, whatever was spent."""
    return (state.name, state.epsilon, state.delta, state.slack) == (
        other.name,
        other.epsilon,
        other.delta,
        other.slack,
    )


def find(work: Transaction, dataset: str) -> AccountRow | None:
    """The account behind a name."""
    return _account(work.one(_OF_NAME, dataset))


def of_dataset(work: Transaction, dataset: str) -> AccountRow:
    """The account behind a name that must be registered."""
    account = find(work, dataset)
    if account is None:
        raise UnknownDataset(dataset)
    return account


def of_fingerprint(work: Transaction, fingerprint: str) -> AccountRow | None:
    """The account of the data with this fingerprint, now or earlier."""
    return _account(work.one(_OF_FINGERPRINT, fingerprint))


def of_analyst(work: Transaction, parent: int, analyst: str) -> AccountRow | None:
    """An analyst's own budget on a dataset, if one was set."""
    return _account(work.one(_OF_ANALYST, parent, analyst))


def analysts(work: Transaction, parent: int) -> list[tuple[str, AccountRow]]:
    """All budgets of analysts on a dataset."""
    names = work.all("SELECT analyst FROM dither_accounts WHERE parent = ? ORDER BY analyst", parent)
    return [(item, result) for (item,) in names if (result := of_analyst(work, parent, item)) is not None]


def create(work: Transaction, state: FilterState, *, parent: int | None = None, analyst: str | None = None) -> int:
    """A new account; its number."""
    row = work.one("SELECT COALESCE(MAX(id), 0) + 1 FROM dither_accounts")
    number = int(row[0]) if row else 1
    work.run(
        "INSERT INTO dither_accounts (id, parent, analyst, version, retired, kind, filter, epsilon, delta, slack, "
        "most_high, most_low, spent_epsilon, spent_high, spent_low, spent_delta) "
        "VALUES (?, ?, ?, 1, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        number,
        parent,
        analyst,
        guard(state),
        state.name,
        state.epsilon,
        state.delta,
        state.slack,
        *divmod(state.most_squares, WORD),
        state.spent_epsilon,
        *divmod(state.spent_squares, WORD),
        state.spent_delta,
    )
    return number


def replace(work: Transaction, account: int, state: FilterState) -> None:
    """Other rules for an account that stays, with what was spent as they count it."""
    work.run(
        "UPDATE dither_accounts SET kind = ?, filter = ?, epsilon = ?, delta = ?, slack = ?, most_high = ?, "
        "most_low = ?, spent_epsilon = ?, spent_high = ?, spent_low = ?, spent_delta = ? WHERE id = ?",
        guard(state),
        state.name,
        state.epsilon,
        state.delta,
        state.slack,
        *divmod(state.most_squares, WORD),
        state.spent_epsilon,
        *divmod(state.spent_squares, WORD),
        state.spent_delta,
        account,
    )


def guard(state: FilterState) -> str:
    """Which CHECK of the table guards an account now: on the sum of epsilons, or on that of squares or rhos.

    Of an account that is not basic it is the first for as long as that sum alone would do, then the second for good.
    """
    return "basic" if state.within_sum else "advanced"


def state_of(columns: Row) -> FilterState:
    """The filter of an account from the columns STATE."""
    kind, named, epsilon, delta, slack, spent, high, low, spent_delta = columns
    return FilterState(named or kind, epsilon, delta, slack, spent, high * WORD + low, spent_delta, kind == "basic")


def write_relation(work: Transaction, account: int, relation: Relation) -> None:
    """The relation of an account that has none yet."""
    work.run("UPDATE dither_accounts SET relation = ? WHERE id = ?", canonical(relation.to_dict()), account)


def write_spent(work: Transaction, account: int, state: FilterState) -> None:
    """Write what was spent; the table's CHECKs refuse more than the budget."""
    work.run(
        "UPDATE dither_accounts SET kind = ?, spent_epsilon = ?, spent_high = ?, spent_low = ?, spent_delta = ? "
        "WHERE id = ?",
        guard(state),
        state.spent_epsilon,
        *divmod(state.spent_squares, WORD),
        state.spent_delta,
        account,
    )


def _account(row: Row | None) -> AccountRow | None:
    if row is None:
        return None
    number, version, retired, relation = row[:4]
    held = None if relation is None else Relation.from_dict(json.loads(str(relation)))
    return AccountRow(number, version, bool(retired), state_of(row[4:]), held)
