"""The ledger: who may spend what on which data, what was spent, and what was answered for it.

Charge, compute, store, answer, in this order: ``charge`` is durable before it returns, so a crash loses budget and
never privacy; the answer that is sent is what ``store`` returned.  Every change is one entry of a chain of hashes and
one transaction.  The rules in words: docs/ledger.md.
"""

from __future__ import annotations

import dataclasses
import hmac
import itertools
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Self, TypeAlias

from dither.accounting import filters
from dither.accounting.filters import DELTA_UNITS, FilterState
from dither.aliases import accepts_older
from dither.errors import BudgetExceeded, Contradiction, InvalidArgument, LedgerUnavailable, Retired
from dither.ledger import accounts, chain
from dither.ledger.accounts import AccountRow
from dither.ledger.database import STORING, WRITING, Database, Purpose, Transaction
from dither.ledger.database_schema import prepare
from dither.ledger.entries import (
    ALIAS,
    DERIVED,
    FAILED,
    Body,
    Charge,
    Entry,
    Filter,
    Registered,
    Report,
    Stored,
    budget_of,
    canonical,
    charged_units,
    derived_entries,
    fingerprints_of,
    loss_of,
    name,
    plain_json,
    public_json,
    question_key,
)
from dither.ledger.one_journey import KnownHead, charge_statement, release_statement
from dither.ledger.replay import verify
from dither.ledger.shared_commits import commits_of
from dither.numbers import Number
from dither.plain import Json, JsonObject
from dither.privacy import Budget, Loss, Relation

_ANSWERS = "kind = 'release' AND dataset = ? AND key = ? AND NOT body LIKE ?"
"""The answers of a question, but for those like ``_FAILURE``."""
_FAILURE = f'{{"release":{{"answers":[],"{FAILED}":%'
_UNTOUCHED = "nothing was read, nothing was charged"
_MOST_UNANSWERED = 10_000
_Request: TypeAlias = tuple[str, str, str]
"""Dataset, analyst and request id."""
Spent: TypeAlias = list[tuple[AccountRow, FilterState]]
"""The accounts that pay, each with its state behind a charge."""


@dataclasses.dataclass(frozen=True)
class ReleasesOf:
    """Releases whose questions name a query, and how far the ledger was read for them."""

    head: int
    """The number of the last entry."""
    version: int
    """The present version of the data."""
    found: list[tuple[Entry, Body]]
    """Charges, and what the entries of their releases say, oldest first."""


_SIZES = "SELECT number, LENGTH(body) FROM dither_entries"


class Ledger:
    """Budgets, charges and releases of several datasets; safe for threads, and for processes where it is on disk."""

    is_durable: ClassVar[bool] = True
    """False if it is forgotten with this process."""

    def __init__(self, database: Database, *, create: bool = True, check: bool = True) -> None:
        self._database = database
        self._commits = commits_of(database)
        self._known_head: KnownHead | None = None
        """From the last write of this process: only proposed to the database, which compares it.

        It and ``_unanswered`` change in the writer's turn alone, for threads share them."""
        self._unanswered: dict[int, Entry] = {}
        """Charges of this process whose release is not stored yet."""
        self._failed: set[_Request] = set()
        """Requests that are known here to have failed for good, and of which that is not stored yet."""
        self._unstored: dict[_Request, tuple[Mapping[str, Json], str | None]] = {}
        """Releases that could not be stored, with the marks of their sources: they are not drawn again."""
        try:
            prepare(database, create=create, check=check)
        except BaseException:
            database.close()
            raise

    def close(self) -> None:
        """Close the connection; everything that was acknowledged is already durable."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:  # the exception, if there is one
        self.close()

    # What owners do

    @accepts_older("kind", "filter")
    def register(
        self,
        dataset: str,
        budget: Budget,
        *,
        filter: str = "basic",
        slack: Number | None = None,
        fingerprint: str | None = None,
        aliases: Sequence[str] = (),
        relation: Relation | None = None,
    ) -> None:
        """Open an account for a dataset, once: saying the same again changes nothing, saying otherwise is an error.

        ``fingerprint`` is a public mark of the source (never a hash of private contents), and ``aliases`` are further
        ones of the same source.  Names with one of them in common share one account.  ``relation`` says between which
        datasets all losses of the account hold; an account without one takes the first that is stated.
        """
        name("dataset", dataset)
        state = accounts.rules(budget, filter, slack)
        body: Body = {"account": 0, "filter": _filter(state), "fingerprint": fingerprint}
        if aliases:
            body["aliases"] = list(aliases)
        marks = fingerprints_of(body)
        for mark in marks:
            name("fingerprint", mark)
        with self._database.transaction() as look:
            known = self._known(look, dataset, state, marks, relation)
            if known is not None and not (_takes(known, relation) or _new_marks(look, marks)):
                return
        with self._database.transaction(WRITING) as work:
            known = self._known(work, dataset, state, marks, relation)
            new = _new_marks(work, marks)
            if known is not None and not (_takes(known, relation) or new):
                return
            shared = known or _marked(work, dataset, marks)
            if known is None and shared is not None:
                _agree(shared, state, relation, f"the data of {dataset!r} are registered under another name")
                if shared.retired:
                    raise Retired(f"the data of {dataset!r} are retired under another name; {_UNTOUCHED}")
            account = accounts.create(work, state) if shared is None else shared.id
            if known is None:
                work.run("INSERT INTO dither_names (dataset, account) VALUES (?, ?)", dataset, account)
            for mark in new:
                work.run(
                    "INSERT INTO dither_fingerprints (fingerprint, account, version) VALUES (?, ?, ?)",
                    mark,
                    account,
                    1 if shared is None and mark == marks[0] else ALIAS,
                )
            if shared is not None and shared.retired and shared.relation is None:
                relation = None  # it stays as it is
            if relation is not None and (shared is None or shared.relation is None):
                accounts.write_relation(work, account, relation)
            body["account"], body["relation"] = account, None if relation is None else relation.to_dict()
            chain.append(work, "register", dataset, body)

    def _known(
        self, look: Transaction, dataset: str, state: FilterState, marks: Sequence[str], relation: Relation | None
    ) -> AccountRow | None:
        """The account of a name that is registered, if all that is said about it agrees."""
        account = accounts.find(look, dataset)
        if account is None:
            return None
        _agree(account, state, relation, f"dataset {dataset!r} is registered")
        if marks:
            marked = _marked(look, dataset, marks)
            if marked is None or marked.id != account.id:
                raise Contradiction(
                    f"dataset {dataset!r} is registered with another fingerprint; if its data have grown, "
                    f"`grow` records that and keeps the budget; {_UNTOUCHED}"
                )
        return account

    def grow(self, dataset: str, *, fingerprint: str | None = None) -> int:
        """Record that the data have changed; returns the number of the new version.

        The account stays, and so does what was spent: the people of earlier versions are still in the data.
        Stored answers of earlier versions are no longer given for new questions.
        """
        if fingerprint is not None:
            name("fingerprint", fingerprint)
        with self._database.transaction(WRITING) as work:
            account = _open_account(work, dataset)
            if fingerprint is not None:
                if _fingerprint(work, account) == fingerprint:
                    return account.version
                marked = accounts.of_fingerprint(work, fingerprint)
                if marked is not None and marked.id != account.id:
                    raise Contradiction(
                        f"the data that {dataset!r} should grow into have a budget of their own under another name; "
                        + _UNTOUCHED
                    )
            version = account.version + 1
            work.run("UPDATE dither_accounts SET version = ? WHERE id = ?", version, account.id)
            if fingerprint is not None:
                work.run("DELETE FROM dither_fingerprints WHERE fingerprint = ?", fingerprint)
                work.run(
                    "INSERT INTO dither_fingerprints (fingerprint, account, version) VALUES (?, ?, ?)",
                    fingerprint,
                    account.id,
                    version,
                )
            chain.append(work, "grow", dataset, {"version": version, "fingerprint": fingerprint})
            return version

    @accepts_older("kind", "filter")
    def allow(
        self, dataset: str, analyst: str, budget: Budget, *, filter: str = "basic", slack: Number | None = None
    ) -> None:
        """Give an analyst a budget of their own, within the dataset's; it counts what they have spent already.

        It may be raised or lowered later, though not below what is spent.
        """
        name("analyst", analyst)
        state = accounts.rules(budget, filter, slack)
        with self._database.transaction(WRITING) as work:
            account = _open_account(work, dataset)
            own = accounts.of_analyst(work, account.id, analyst)
            if own is not None and accounts.same_rules(own.state, state):
                return
            state = chain.spent_by(work, account, analyst, state)
            if not filters.is_admitted(state):
                raise InvalidArgument("budget", str(budget), f"must be at least what {analyst!r} has spent already")
            if own is None:
                accounts.create(work, state, parent=account.id, analyst=analyst)
            else:
                accounts.replace(work, own.id, state)
            chain.append(work, "allow", dataset, {"filter": _filter(state)}, analyst=analyst)

    def retire(self, dataset: str) -> None:
        """No more charges on these data, under any of their names; history and stored answers stay."""
        with self._database.transaction(WRITING) as work:
            account = accounts.of_dataset(work, name("dataset", dataset))
            if not account.retired:
                work.run("UPDATE dither_accounts SET retired = 1 WHERE id = ?", account.id)
                chain.append(work, "retire", dataset, {})

    # What a question does

    def charge(
        self,
        dataset: str,
        loss: Loss | Sequence[Loss],
        *,
        question: Mapping[str, Json],
        request_id: str | None = None,
        analyst: str = "local",
        older: Mapping[str, Json] | None = None,
    ) -> Charge:
        """Pay for a question, or for a batch of losses all or nothing; on disk before it returns.

        ``question`` holds, as public JSON, everything that determines the release, the privacy loss included.  The same
        request id again returns the same charge, with its release if there is one, and pays nothing.
        """
        losses = _losses(loss)
        asked = public_json("question", question)
        name("analyst", analyst)
        request = secrets.token_hex(16) if request_id is None else name("request_id", request_id)
        units = [list(filters.charge(item)) for item in losses]
        rhos = [list(filters.concentrated_charge(item)) for item in losses]
        quick, purpose = self._charged_at_once(name("dataset", dataset), analyst, request, asked, losses)
        if quick is not None:
            return quick

        def make(work: Transaction) -> Charge | tuple[Entry, AccountRow, AccountRow | None, Spent]:
            account = accounts.of_dataset(work, dataset)
            before = _before(work, dataset, analyst, request, _forms(asked, older), losses)
            if before is not None:
                return before
            if account.retired:
                raise _retired(dataset)
            own = accounts.of_analyst(work, account.id, analyst)
            spent = _spent(account, own, losses, dataset, analyst)
            for item, after in spent:
                accounts.write_spent(work, item.id, after)
            body: Body = {"question": json.loads(asked), "losses": units, "version": account.version, "rhos": rhos}
            key = question_key(asked, account.version)
            entry = chain.append(work, "charge", dataset, body, analyst=analyst, request=request, key=key)
            return entry, account, own, spent

        made = self._commits.commit(purpose, make)
        if isinstance(made, Charge):
            return made
        self._remember(*made)
        return chain.charge_of(made[0], None, fresh=True)

    def _charged_at_once(
        self, dataset: str, analyst: str, request: str, asked: str, losses: list[Loss]
    ) -> tuple[Charge | None, Purpose]:
        """The same in one statement, if the accounts are known and nobody else wrote; and what for to try again."""
        if not self._database.changes_in_queries:
            return None, WRITING
        with self._database.writer.turn:
            known = self._known_head
            account = None if known is None else known.accounts.get(dataset)
            if known is None or account is None or account.retired or (account.id, analyst) not in known.own:
                return None, WRITING
            own = known.own[account.id, analyst]
            try:
                spent = _spent(account, own, losses, dataset, analyst)
            except BudgetExceeded:
                return None, WRITING  # which says so, by what the database has
            key = question_key(asked, account.version)
            labels: chain.Labels = {"dataset": dataset, "analyst": analyst, "request": request, "key": key}
            body = {"question": json.loads(asked), "version": account.version}
            body["losses"] = [list(filters.charge(item)) for item in losses]
            body["rhos"] = [list(filters.concentrated_charge(item)) for item in losses]
            text = canonical(body)
            row = chain.following(known.number, known.hash, "charge", {**labels, "charge": None}, text)
            written = self._database.writer.at_once(*charge_statement(known, row, spent))
            if not written:
                self._known_head = None
                return None, WRITING.again if written is None else WRITING
            entry = chain.entry_of(row)
            self._remember(entry, account, own, spent)
        return chain.charge_of(entry, None, fresh=True), WRITING

    def _remember(self, entry: Entry, account: AccountRow, own: AccountRow | None, spent: Spent) -> None:
        """What is known behind a charge of this process."""
        if not self._database.changes_in_queries:
            return
        own_spent = None if own is None else spent[-1][1]
        with self._database.writer.turn:
            known = self._known_head or KnownHead(0, "")
            self._known_head = known.charged(entry, account, spent[0][1], own, own_spent)
            self._unanswered[entry.number] = entry
            if len(self._unanswered) > _MOST_UNANSWERED:
                del self._unanswered[next(iter(self._unanswered))]

    def charged(
        self,
        dataset: str,
        loss: Loss | Sequence[Loss],
        *,
        question: Mapping[str, Json],
        request_id: str,
        analyst: str,
        older: Mapping[str, Json] | None = None,
    ) -> Charge | None:
        """The charge that this request made earlier, if it did: what ``charge`` would return, but nothing is paid.

        older: the same question as an earlier version wrote it.
        """
        losses = _losses(loss)
        asked = public_json("question", question)
        with self._database.transaction() as look:
            accounts.of_dataset(look, name("dataset", dataset))
            forms = _forms(asked, older)
            return _before(look, dataset, name("analyst", analyst), name("request_id", request_id), forms, losses)

    def store(self, charge: Charge, release: Mapping[str, Json], *, source: str | None = None) -> Stored:
        """Keep the release of a charge and return the one to answer with: the first that was stored.

        Two workers may compute an answer for one retried request; only one of the answers ever leaves.  ``source`` is
        the ``mark`` of the state of the source that was read.
        """
        if not isinstance(charge, Charge):
            raise InvalidArgument("charge", charge, "must be a Charge")
        kept = plain_json("release", release)
        if source is not None:
            name("source", source)
        try:
            stored = self._stored_release(charge, kept, source)
        except LedgerUnavailable:
            if FAILED not in release:
                self._unstored[_request(charge)] = release, source
                if len(self._unstored) > _MOST_UNANSWERED:
                    self._failed.add(dropped := next(iter(self._unstored)))
                    del self._unstored[dropped]
            raise
        self._unstored.pop(_request(charge), None)
        return stored

    def _stored_release(self, charge: Charge, kept: str, source: str | None) -> JsonObject:
        quick, purpose = self._stored_at_once(charge, kept, source)
        if quick is not None:
            return dict(quick.body["release"])

        def make(work: Transaction) -> Entry:
            paid = chain.one_entry(work, "number = ? AND kind = 'charge'", charge.number)
            if paid is None or (paid.dataset, paid.request) != (charge.dataset, charge.request_id):
                raise InvalidArgument("charge", charge.number, "must be a charge of this ledger")
            stored = chain.release_of(work, charge.number)
            if stored is not None:
                return stored
            # With the time of its charge: how long the answer took may depend on the data.
            return chain.append(
                work,
                "release",
                paid.dataset,
                _release_body(kept, source),
                analyst=paid.analyst,
                request=paid.request,
                key=paid.key,
                charge=paid.number,
                at=paid.at,
            )

        stored = self._commits.commit(purpose, make)
        if self._database.changes_in_queries:
            with self._database.writer.turn:
                self._known_head = None if self._known_head is None else self._known_head.moved(stored)
        return dict(stored.body["release"])

    def fail(self, charge: Charge) -> JsonObject:
        """Note that a charge has failed for good, and return what is stored: an answer that was there before stays."""
        self._failed.add(_request(charge))
        stored = self.store(charge, {"answers": [], FAILED: True})
        self._failed.discard(_request(charge))
        return stored

    def has_failed(self, charge: Charge) -> bool:
        """Whether it is known here, though not stored, that a charge failed for good."""
        return not charge.fresh and _request(charge) in self._failed

    def has_unstored(self, charge: Charge) -> bool:
        """Whether there is a release of this charge that could not be stored: ``store_again`` does."""
        return _request(charge) in self._unstored

    def store_again(self, charge: Charge) -> JsonObject:
        """Store the release of a charge that could not be stored when it was drawn."""
        release, source = self._unstored[_request(charge)]
        return self.store(charge, release, source=source)

    def _stored_at_once(self, charge: Charge, kept: str, source: str | None) -> tuple[Entry | None, Purpose]:
        """The same in one statement, of a charge that this process made, if nobody else wrote."""
        if not self._database.changes_in_queries:
            return None, STORING
        with self._database.writer.turn:
            known, paid = self._known_head, self._unanswered.pop(charge.number, None)
            same = paid is not None and (paid.dataset, paid.request) == (charge.dataset, charge.request_id)
            if known is None or paid is None or not same:
                return None, STORING
            labels: chain.Labels = {name: getattr(paid, name) for name in chain.LABELS}
            text = canonical(_release_body(kept, source))
            labels["charge"] = paid.number
            row = chain.following(known.number, known.hash, "release", labels, text, paid.at)
            written = self._database.writer.at_once(*release_statement(known, row))
            if not written:
                self._known_head = None
                return None, STORING.again if written is None else STORING
            entry = chain.entry_of(row)
            self._known_head = known.moved(entry)
        return entry, STORING

    def answer_to(self, dataset: str, question: Mapping[str, Json]) -> Stored | None:
        """The stored release of an identical question on the same version of the data, free; None if there is none."""
        stored = self.stored(dataset, question)
        return None if stored is None else stored[0]

    def stored(self, dataset: str, question: Mapping[str, Json]) -> tuple[Stored, str | None] | None:
        """The same with the mark of its source, if that is known.  Of several answers it is the newest."""
        asked = public_json("question", question)
        with self._database.transaction() as look:
            account = accounts.of_dataset(look, name("dataset", dataset))
            row = look.one(
                f"SELECT body FROM dither_entries WHERE {_ANSWERS} ORDER BY number DESC LIMIT 1",  # noqa: S608
                dataset,
                question_key(asked, account.version),
                _FAILURE,
            )
        if row is None:
            return None
        body = json.loads(row[0])
        return dict(body["release"]), body.get("source")

    def stored_charge(self, dataset: str, question: Mapping[str, Json]) -> Entry | None:
        """The charge that paid for the answer that ``stored`` gives; None if it gives none."""
        asked = public_json("question", question)
        with self._database.transaction() as look:
            account = accounts.of_dataset(look, name("dataset", dataset))
            stored = look.one(
                f"SELECT charge FROM dither_entries WHERE {_ANSWERS} ORDER BY number DESC LIMIT 1",  # noqa: S608
                dataset,
                question_key(asked, account.version),
                _FAILURE,
            )
            row = None if stored is None else look.one(f"{chain.ENTRIES} WHERE number = ?", stored[0])
        return None if row is None else chain.entry_of(row)

    def releases_of(self, dataset: str, query: str, *, after: int = 0) -> ReleasesOf:
        """The releases behind an entry of the ledger whose question names a query, with the charges that paid for them.

        Those of earlier versions of the data are left out: they no longer answer new questions.
        """
        with self._database.transaction() as look:
            account = accounts.of_dataset(look, name("dataset", dataset))
            head = look.one("SELECT number FROM dither_ledger") or (0,)
            rows = chain.releases_naming(look, dataset, query, after)
        kept = [(entry, body) for entry, body in rows if entry.body["version"] == account.version]
        return ReleasesOf(int(head[0]), account.version, kept)

    def mark(self, state: str) -> str:
        """What entries keep of the state of a source: the same for the same state in this ledger, and no way back."""
        with self._database.transaction() as look:
            row = look.one("SELECT secret FROM dither_ledger")
        return hmac.digest(bytes.fromhex(row[0]) if row else b"", state.encode(), "sha256").hex()[:32]

    def has_answers_of_other_sources(self, dataset: str, source: str) -> bool:
        """True if a stored answer that may still be given was computed from another state of the source."""
        with self._database.transaction() as look:
            account = accounts.of_dataset(look, name("dataset", dataset))
            return chain.has_others(look, account, dataset, name("source", source))

    # What everyone may see

    def left(self, dataset: str, analyst: str | None = None) -> Loss:
        """The greatest single loss that would still be accepted, from this analyst if one is named."""
        with self._database.transaction() as look:
            account = accounts.of_dataset(look, name("dataset", dataset))
            own = None if analyst is None else accounts.of_analyst(look, account.id, name("analyst", analyst))
        if account.retired:
            return Loss(0.0)
        whole = filters.left(account.state)
        if own is None:
            return whole
        part = filters.left(own.state)
        return Loss(min(whole.epsilon, part.epsilon), min(whole.delta, part.delta))

    def spent(self, dataset: str, analyst: str | None = None) -> Loss:
        """The sum of all losses paid, by one analyst if named.

        An advanced filter adds up squares and a zcdp filter rhos, so under them this sum may pass the budget's epsilon.
        """
        with self._database.transaction() as look:
            account = accounts.of_dataset(look, name("dataset", dataset))
            state = account.state
            if analyst is not None:
                state = chain.spent_by(look, account, name("analyst", analyst), state)
        return loss_of(state.spent_epsilon, min(state.spent_delta, DELTA_UNITS))

    def datasets(self) -> list[Registered]:
        """All registered names with their rules."""
        with self._database.transaction() as look:
            rows = look.all("SELECT dataset FROM dither_names ORDER BY dataset")
            return [_registered(look, item) for (item,) in rows]

    def dataset(self, dataset: str) -> Registered:
        """One registered name with its rules."""
        with self._database.transaction() as look:
            return _registered(look, name("dataset", dataset))

    def entries(self, dataset: str, analyst: str | None = None) -> list[Entry]:
        """The history of a dataset under this name, oldest first; one analyst's part of it if named."""
        with self._database.transaction() as look:
            accounts.of_dataset(look, name("dataset", dataset))
            rows = look.all(f"{chain.ENTRIES} WHERE dataset = ? ORDER BY number", dataset)
        results = [chain.entry_of(row) for row in rows]
        return results if analyst is None else [entry for entry in results if entry.analyst == analyst]

    def charges_within(
        self,
        dataset: str,
        analyst: str | None = None,
        *,
        after: int = 0,
        skip: int = 0,
        limit: int = 1_000,
        most_bytes: int,
    ) -> tuple[int, bool]:
        """How many of the charges that ``charges`` would return have, with their answers, at most so many bytes.

        One at least, where there is one; and whether it would return more.
        """
        whose, values = ("", ()) if analyst is None else (" AND analyst = ?", (name("analyst", analyst),))
        with self._database.transaction() as look:
            sizes = look.all(
                f"{_SIZES} WHERE dataset = ? AND number > ? AND kind = 'charge'{whose} "
                "ORDER BY number LIMIT ? OFFSET ?",
                name("dataset", dataset),
                after,
                *values,
                limit,
                skip,
            )
            if not sizes:
                return 0, False
            answers = look.all(
                "SELECT charge, LENGTH(body) FROM dither_entries WHERE kind = 'release' AND charge BETWEEN ? AND ?",
                sizes[0][0],
                sizes[-1][0],
            )
        answered: dict[int, int] = dict(answers)
        count = _count_within([size + answered.get(number, 0) for number, size in sizes], most_bytes)
        return count, count < len(sizes)

    def charges(
        self, dataset: str, analyst: str | None = None, *, after: int = 0, skip: int = 0, limit: int = 1_000
    ) -> list[tuple[Entry, Stored | None]]:
        """Up to ``limit`` charges behind a number, each with what was answered for it, if anything was yet.

        ``skip`` leaves out so many of them.
        """
        with self._database.transaction() as look:
            accounts.of_dataset(look, name("dataset", dataset))
            whose, values = ("", ()) if analyst is None else (" AND analyst = ?", (name("analyst", analyst),))
            paid = look.all(
                f"{chain.ENTRIES} WHERE dataset = ? AND number > ? AND kind = 'charge'{whose} ORDER BY number "
                "LIMIT ? OFFSET ?",
                dataset,
                after,
                *values,
                limit,
                skip,
            )
            if not paid:
                return []
            payload = look.all(
                "SELECT charge, body FROM dither_entries WHERE kind = 'release' AND charge BETWEEN ? AND ?",
                paid[0][0],
                paid[-1][0],
            )
        answers: dict[int, str] = dict(payload)
        return [
            (chain.entry_of(row), json.loads(answers[row[0]])["release"] if row[0] in answers else None) for row in paid
        ]

    def place_of(self, dataset: str, analyst: str, number: int) -> int:
        """The place of a charge in an analyst's own history, from 1; 0 where it is somebody else's."""
        with self._database.transaction() as look:
            own = look.all(
                "SELECT number FROM dither_entries WHERE kind = 'charge' AND dataset = ? AND analyst = ? "
                "AND number <= ? ORDER BY number",
                name("dataset", dataset),
                name("analyst", analyst),
                number,
            )
        return len(own) if own and own[-1][0] == number else 0

    def page(
        self, after: int, limit: int, dataset: str | None = None, *, most_bytes: int | None = None
    ) -> tuple[list[Entry], tuple[int, str]]:
        """Up to ``limit`` entries behind a number, of one dataset if named; and the head of the chain with its number.

        most_bytes: of all entries together; the first is returned whatever its size.

        One snapshot: the last entry of an unfiltered list that ends the chain has the head's hash.
        """
        with self._database.transaction() as look:
            if dataset is not None:
                accounts.of_dataset(look, name("dataset", dataset))
            where, values = ("", ()) if dataset is None else (" AND dataset = ?", (dataset,))
            if most_bytes is not None:
                sizes = look.all(f"{_SIZES} WHERE number > ?{where} ORDER BY number LIMIT ?", after, *values, limit)
                limit = _count_within([size for _, size in sizes], most_bytes)
            rows = look.all(f"{chain.ENTRIES} WHERE number > ?{where} ORDER BY number LIMIT ?", after, *values, limit)
            head = look.one("SELECT number, hash FROM dither_ledger") or (0, "")
        return [chain.entry_of(row) for row in rows], (int(head[0]), str(head[1]))

    def verify(self, known: str | None = None) -> Report:
        """Recompute everything from the entries, and compare every index with its table.

        ``known`` is a hash seen earlier that must still be in the chain.
        """
        with self._database.transaction() as look:
            report = verify(look, known)
            return (
                report
                if not report.ok
                else dataclasses.replace(report, problem=self._database.index_problem(look, whole=True))
            )

    def export(self) -> Iterator[JsonObject]:
        """All entries as plain values, oldest first, one snapshot."""
        with self._database.transaction() as look:
            rows = look.all(f"{chain.ENTRIES} ORDER BY number")
        return (chain.entry_of(row).to_dict() for row in rows)


def _new_marks(look: Transaction, marks: Sequence[str]) -> list[str]:
    """The fingerprints that lead to no account yet."""
    return [mark for mark in dict.fromkeys(marks) if accounts.of_fingerprint(look, mark) is None]


def _marked(look: Transaction, dataset: str, marks: Sequence[str]) -> AccountRow | None:
    """The account that fingerprints of one source lead to."""
    found = [account for mark in marks if (account := accounts.of_fingerprint(look, mark)) is not None]
    if len({account.id for account in found}) > 1:
        raise Contradiction(
            f"the fingerprints of the data of {dataset!r} belong to several accounts, which can't become one; "
            + _UNTOUCHED
        )
    return found[0] if found else None


def _takes(account: AccountRow, relation: Relation | None) -> bool:
    """True if an account that knew no relation has one from now on."""
    return relation is not None and account.relation is None and not account.retired


def _agree(account: AccountRow, state: FilterState, relation: Relation | None, known_as: str) -> None:
    if relation is not None and account.relation not in (None, relation):
        raise Contradiction(
            f"{known_as} with the neighbour relation {account.relation}, not {relation}: losses of two relations do "
            f"not add up, so a relation is set once; declare the one that is registered; {_UNTOUCHED}"
        )
    if not accounts.same_rules(account.state, state):
        held = account.state
        raise Contradiction(
            f"{known_as} with a {held.name} budget of {budget_of(held.epsilon, held.delta)} and a slack of "
            f"{loss_of(0, held.slack).delta:g}: a budget is set once; {_UNTOUCHED}"
        )


def _open_account(work: Transaction, dataset: str) -> AccountRow:
    account = accounts.of_dataset(work, name("dataset", dataset))
    if account.retired:
        raise _retired(dataset)
    return account


def _before(
    look: Transaction, dataset: str, analyst: str, request: str, forms: tuple[str, ...], losses: Sequence[Loss]
) -> Charge | None:
    """What a request was charged earlier; an error if it asked something else then.

    Answers that were computed from earlier releases cost nothing then, whatever they would cost now.  A request that is
    still to be answered must not cost more than was paid: another version may answer it by a mechanism of another rho.
    """
    forms = tuple(_without_derived(form) for form in forms)
    before = chain.charged(look, dataset, analyst, request)
    if before is None:
        return None
    # What the question of an older version cost follows from that question; only its rounding may have changed.
    question = {key: value for key, value in before.body["question"].items() if key != DERIVED}
    derived = derived_entries(before.body["question"])
    if derived is not None and len(derived) == len(losses):
        losses = [own if derivation is None else Loss(0.0) for own, derivation in zip(losses, derived, strict=True)]
    asked = canonical(question)
    units, paid = [list(filters.charge(loss)) for loss in losses], before.body["losses"]
    same = paid == units or (asked != forms[0] and len(paid) == len(units) and _at_most(units, paid))
    release = chain.release_of(look, before.number)
    if same and release is None and _counts_rhos(look, dataset, analyst):
        then = [[charge.rho, charge.rho_delta] for charge in charged_units(before.body)]
        same = _at_most([list(filters.concentrated_charge(loss)) for loss in losses], then)
    if asked not in forms or not same:
        raise Contradiction(
            f"request_id={request!r} was used for another question or privacy loss; nothing was charged this time"
        )
    return chain.charge_of(before, release, fresh=False)


def _counts_rhos(look: Transaction, dataset: str, analyst: str) -> bool:
    """Whether rhos are what a charge of this analyst pays with, from the dataset's budget or from their own."""
    account = accounts.of_dataset(look, dataset)
    states = [account.state, *(own.state for who, own in accounts.analysts(look, account.id) if who == analyst)]
    return any(state.name == "zcdp" for state in states)


def _without_derived(asked: str) -> str:
    """A question, whether or not its answers were computed from earlier releases."""
    question = json.loads(asked)
    return (
        canonical({key: value for key, value in question.items() if key != DERIVED}) if DERIVED in question else asked
    )


def _at_most(units: list[list[int]], paid: list[list[int]]) -> bool:
    pairs = (pair for now, then in zip(units, paid, strict=True) for pair in zip(now, then, strict=True))
    return all(now <= then for now, then in pairs)


def _forms(asked: str, older: Mapping[str, Json] | None) -> tuple[str, ...]:
    """A question as it is written now, and as it was."""
    return (asked,) if older is None else (asked, public_json("question", older))


def _retired(dataset: str) -> Retired:
    return Retired(f"dataset {dataset!r} is retired; {_UNTOUCHED}")


def _filter(state: FilterState) -> Filter:
    return {"kind": state.name, "epsilon": state.epsilon, "delta": state.delta, "slack": state.slack}


def _request(charge: Charge) -> _Request:
    return charge.dataset, charge.analyst, charge.request_id


def _losses(loss: Loss | Sequence[Loss]) -> list[Loss]:
    losses = [loss] if isinstance(loss, Loss) else list(loss) if isinstance(loss, (list, tuple)) else []
    if not losses or not all(isinstance(item, Loss) for item in losses):
        raise InvalidArgument("loss", loss, "must be a Loss or a list of at least one")
    return losses


def _release_body(kept: str, source: str | None) -> Body:
    return {"release": json.loads(kept), **({} if source is None else {"source": source})}


def _spent(account: AccountRow, own: AccountRow | None, losses: list[Loss], dataset: str, analyst: str) -> Spent:
    """The accounts that pay, each with its state behind a charge."""
    spent = [(account, _paid(account.state, losses, dataset))]
    return spent if own is None else [*spent, (own, _paid(own.state, losses, dataset, analyst))]


def _paid(state: FilterState, losses: list[Loss], dataset: str, analyst: str | None = None) -> FilterState:
    after = state
    try:
        for loss in losses:
            after = filters.spend(after, loss, dataset=dataset)
    except BudgetExceeded:
        total = sum(losses, Loss(0.0))
        left = filters.left(state, pure=total.is_pure)
        raise BudgetExceeded(dataset=dataset, asked=total, left=left, analyst=analyst) from None
    return after


def _count_within(sizes: Sequence[int], most: int) -> int:
    """How many of the first have this size together: one at least, where there is one.

    >>> _count_within([3, 3, 3], 7), _count_within([9, 1], 7), _count_within([], 7)
    (2, 1, 0)
    """
    count = sum(total <= most for total in itertools.accumulate(sizes))
    return max(count, min(1, len(sizes)))


def _fingerprint(look: Transaction, account: AccountRow) -> str | None:
    row = look.one(
        "SELECT fingerprint FROM dither_fingerprints WHERE account = ? ORDER BY version DESC LIMIT 1", account.id
    )
    return None if row is None else str(row[0])


def _registered(look: Transaction, dataset: str) -> Registered:
    account = accounts.of_dataset(look, dataset)
    state = account.state
    return Registered(
        name=dataset,
        account=account.id,
        budget=budget_of(state.epsilon, state.delta),
        filter=state.name,
        slack=loss_of(0, state.slack).delta,
        version=account.version,
        retired=account.retired,
        fingerprint=_fingerprint(look, account),
        relation=account.relation,
        analysts={
            analyst: budget_of(own.state.epsilon, own.state.delta)
            for analyst, own in accounts.analysts(look, account.id)
        },
    )
