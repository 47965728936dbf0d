"""Verification of a ledger from its entries: hashes, order, rules and sums are computed again."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from dither.accounting import filters
from dither.accounting.filters import FilterState, Units
from dither.ledger.accounts import state_of
from dither.ledger.chain import ENTRIES, entry_of
from dither.ledger.database import Row, Transaction
from dither.ledger.database_schema import ACCOUNTS, RELATION, STATE
from dither.ledger.entries import (
    ALIAS,
    FAILED,
    GENESIS,
    Entry,
    Filter,
    Report,
    canonical,
    chained,
    charged_units,
    derived_entries,
    fingerprints_of,
    question_key,
)
from dither.plain import JsonObject
from dither.privacy import Relation

_LABELS = ("dataset", "analyst", "request", "key", "charge")
_PAGE = 2000


class Broken(Exception):
    """An entry that the ledger's rules would not have written."""


def verify(look: Transaction, known: str | None = None) -> Report:
    """Read all entries of one snapshot in order; the first that is wrong is named."""
    replay, number, previous, met = Replay(), 0, GENESIS, known in (None, GENESIS)
    for row in _rows(look):
        number += 1
        try:
            _check_chain(row, number, previous)
            replay.apply(entry_of(row))
        except Broken as broken:
            return Report(number, previous, f"entry {number}: {broken}", number)
        except (KeyError, TypeError, ValueError, AttributeError):
            return Report(number, previous, f"entry {number} is not of a form that dither writes", number)
        previous = row[10]
        met = met or previous == known
    problem = _check_head(look, number, previous) or replay.compare(look)
    if problem is None and not met:
        problem = f"no entry has the hash {known}: entries after or with it are gone, or it is from another ledger"
    relations = {name: replay.relations.get(account) for name, account in sorted(replay.names.items())}
    return Report(number, previous, problem, relations=relations)


def _rows(look: Transaction) -> Iterator[Row]:
    page = look.all(f"{ENTRIES} ORDER BY number LIMIT ?", _PAGE)
    while page:
        yield from page
        page = look.all(f"{ENTRIES} WHERE number > ? ORDER BY number LIMIT ?", page[-1][0], _PAGE)


def _check_chain(row: Row, number: int, previous: str) -> None:
    if row[0] != number:
        raise Broken(f"is missing, the next one there is {row[0]}")
    if row[9] != previous:
        raise Broken("does not follow the entry before it")
    labels = dict(zip(_LABELS, row[3:8], strict=True))
    if chained(row[0], row[1], row[2], labels, row[8], row[9]) != row[10]:
        raise Broken("was changed, its hash does not fit")


def _check_head(look: Transaction, number: int, previous: str) -> str | None:
    head = look.one("SELECT number, hash FROM dither_ledger")
    if head is None:
        return "the head of the chain is gone"
    if tuple(head) != (number, previous):
        return f"the head of the chain is entry {head[0]}, the last one there is {number}"
    return None


@dataclass
class Replay:
    """The state of a ledger, rebuilt from its entries."""

    states: dict[int, FilterState] = field(default_factory=dict)
    versions: dict[int, int] = field(default_factory=dict)
    retired: set[int] = field(default_factory=set)
    names: dict[str, int] = field(default_factory=dict)
    relations: dict[int, JsonObject] = field(default_factory=dict)
    fingerprints: dict[str, tuple[int, int]] = field(default_factory=dict)
    allowances: dict[tuple[int, str], FilterState] = field(default_factory=dict)
    spent_by: dict[tuple[int, str], list[Units]] = field(default_factory=dict)
    requests: set[tuple[str, str | None, str | None]] = field(default_factory=set)
    answered: dict[int, tuple[str, int]] = field(default_factory=dict)
    """The dataset and version of every charge that has a release."""
    versions_charged: dict[int, int] = field(default_factory=dict)
    unanswered: dict[int, tuple[str, str | None, str | None, str | None]] = field(default_factory=dict)

    def apply(self, entry: Entry) -> None:
        """One more entry; raises if the rules would not have written it here."""
        if entry.kind == "register":
            self._register(entry)
            return
        account = self.names.get(entry.dataset)
        if account is None:
            raise Broken("is about a dataset that was not registered")
        if account in self.retired and entry.kind != "release":
            raise Broken("is about a dataset that was retired")
        if entry.kind == "grow":
            self._grow(entry, account)
        elif entry.kind == "allow":
            self._allow(entry, account)
        elif entry.kind == "charge":
            self._charge(entry, account)
        elif entry.kind == "release":
            if self.unanswered.pop(entry.charge or 0, None) != _labels(entry):
                raise Broken("is a release without a charge of its own")
            number = entry.charge or 0
            version = self.versions_charged.pop(number)
            if FAILED not in entry.body["release"]:
                self.answered[number] = (entry.dataset, version)
        elif entry.kind == "retire":
            self.retired.add(account)
        else:
            raise Broken(f"is of an unknown kind {entry.kind!r}")

    def _register(self, entry: Entry) -> None:
        account, marks = entry.body["account"], fingerprints_of(entry.body)
        state = _state(entry.body["filter"])
        if entry.dataset in self.names and not self._restates(entry, state):
            raise Broken("registers a dataset twice")
        self._relate(account, entry.body.get("relation"))
        shared = self._marked(marks)
        if entry.dataset in self.names:
            pass
        elif account in self.states:
            if shared != {account} or _rules(self.states[account]) != _rules(state) or account in self.retired:
                raise Broken("joins an account that it does not fit")
        elif shared:
            raise Broken("opens a second account for the same data")
        else:
            self.states[account], self.versions[account] = state, 1
            self.fingerprints.update((mark, (account, 1)) for mark in marks[:1])
        for mark in marks:
            self.fingerprints.setdefault(mark, (account, ALIAS))
        self.names[entry.dataset] = account

    def _marked(self, marks: Sequence[str]) -> set[int]:
        """The accounts that fingerprints lead to."""
        return {self.fingerprints[mark][0] for mark in marks if mark in self.fingerprints}

    def _restates(self, entry: Entry, state: FilterState) -> bool:
        """True of a second registration that adds fingerprints, or the relation, which was not known; nothing else."""
        account, marks = self.names[entry.dataset], fingerprints_of(entry.body)
        relates = account not in self.relations and entry.body.get("relation") is not None
        return (
            entry.body["account"] == account
            and not (relates and account in self.retired)
            and (relates or any(mark not in self.fingerprints for mark in marks))
            and _rules(self.states[account]) == _rules(state)
            and (not marks or self._marked(marks) == {account})
        )

    def _relate(self, account: int, relation: JsonObject | None) -> None:
        if relation is None:
            return
        if self.relations.setdefault(account, relation) != relation:
            raise Broken("registers with another neighbour relation")
        if Relation.from_dict(relation).to_dict() != relation:
            raise Broken("has a neighbour relation that is not of a form that dither writes")

    def _grow(self, entry: Entry, account: int) -> None:
        fingerprint, version = entry.body["fingerprint"], entry.body["version"]
        if version != self.versions[account] + 1:
            raise Broken("skips a version")
        self.versions[account] = version
        if fingerprint is not None:
            if self.fingerprints.get(fingerprint, (account,))[0] != account:
                raise Broken("grows into data with an account of their own")
            self.fingerprints[fingerprint] = (account, version)

    def _allow(self, entry: Entry, account: int) -> None:
        whose = (account, entry.analyst or "")
        state = functools.reduce(filters.spent, self.spent_by.get(whose, []), _state(entry.body["filter"]))
        if not filters.is_admitted(state):
            raise Broken("allows less than was spent")
        self.allowances[whose] = state

    def _charge(self, entry: Entry, account: int) -> None:
        labels, whose = _labels(entry), (account, entry.analyst or "")
        if labels[:3] in self.requests:
            raise Broken("charges a request twice")
        version = entry.body["version"]
        if version != self.versions[account] or entry.key != question_key(canonical(entry.body["question"]), version):
            raise Broken("charges for a version or question that it does not name")
        self._check_derived(entry, version)
        for units in charged_units(entry.body):
            if min(units) < 0:
                raise Broken("has a privacy loss below zero")
            self.states[account] = _after(self.states[account], units)
            if whose in self.allowances:
                self.allowances[whose] = _after(self.allowances[whose], units)
            self.spent_by.setdefault(whose, []).append(units)
        self.requests.add(labels[:3])
        self.unanswered[entry.number] = labels
        self.versions_charged[entry.number] = version

    def _check_derived(self, entry: Entry, version: int) -> None:
        """What cost nothing because an earlier release answers it must name such a release."""
        derived, losses = derived_entries(entry.body["question"]), entry.body["losses"]
        if derived is None:
            return
        for source, loss in zip(derived, losses, strict=True):
            if source is not None and (self.answered.get(source) != (entry.dataset, version) or loss != [0, 0]):
                raise Broken("derives an answer from what is no earlier release of the same data")

    def compare(self, look: Transaction) -> str | None:
        """The first difference between the tables and what the entries say."""
        found_accounts, found_allowances = {}, {}
        for row in look.all(
            f"SELECT id, parent, analyst, version, retired, {RELATION}, {STATE} FROM {ACCOUNTS}"  # noqa: S608
        ):
            state = state_of(row[6:])
            if row[1] is None:
                found_accounts[row[0]] = (row[3], bool(row[4]), state, row[5])
            else:
                found_allowances[row[1], row[2]] = state
        accounts = {
            key: (
                self.versions[key],
                key in self.retired,
                _guarded_alike(state, found_accounts[key][2]) if key in found_accounts else state,
                _text(self.relations.get(key)),
            )
            for key, state in self.states.items()
        }
        allowances = {
            key: _guarded_alike(state, found_allowances.get(key, state)) for key, state in self.allowances.items()
        }
        names: dict[str, int] = dict(look.all("SELECT dataset, account FROM dither_names"))
        fingerprints = {
            row[0]: (row[1], row[2])
            for row in look.all("SELECT fingerprint, account, version FROM dither_fingerprints")
        }
        agreeing = {
            "accounts": found_accounts == accounts,
            "budgets of analysts": found_allowances == allowances,
            "names": names == self.names,
            "fingerprints": fingerprints == self.fingerprints,
        }
        wrong = next((what for what, agrees in agreeing.items() if not agrees), None)
        return None if wrong is None else f"the table of {wrong} does not agree with the entries"


def _labels(entry: Entry) -> tuple[str, str | None, str | None, str | None]:
    return entry.dataset, entry.analyst, entry.request, entry.key


def _text(relation: JsonObject | None) -> str | None:
    return None if relation is None else canonical(relation)


def _guarded_alike(state: FilterState, found: FilterState) -> FilterState:
    """The state of entries as an account of version 3 keeps it: without the plain sum, which admits less."""
    return state if found.within_sum else replace(state, within_sum=False)


def _state(payload: Filter) -> FilterState:
    return FilterState(payload["kind"], payload["epsilon"], payload["delta"], payload["slack"])


def _rules(state: FilterState) -> tuple[str, int, int, int]:
    return state.name, state.epsilon, state.delta, state.slack


def _after(state: FilterState, units: Units) -> FilterState:
    """One privacy loss in whole units more; not by way of a Loss, whose floats may round it up."""
    after = filters.spent(state, units)
    if not filters.is_admitted(after):
        raise Broken("spends more than was left")
    return after
