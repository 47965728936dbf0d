"""What every session shares: one dataset's account in a ledger, and the order charge, read, store, answer."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, SupportsFloat, cast

from dither.errors import Contradiction, InvalidArgument, LedgerUnavailable, note_draw
from dither.ledger import Ledger, MemoryLedger
from dither.ledger.entries import DERIVED, FAILED, Body, Charge, Stored, charged_losses, derived_entries, derived_of
from dither.noise.entropy import watched
from dither.notebooks import share_html, table_html
from dither.privacy import Budget, Loss, Relation
from dither.release import MOST_PRINTED, Release, Releases
from dither.session.derived import Derivation, StoredHistograms
from dither.session.reading import Answers, Source
from dither.session.statements import named
from dither.sql.statement import Statement

if TYPE_CHECKING:
    from dither.plain import JsonObject
    from dither.typing import Answered

ROWS_OF_PEOPLE = "which rows of a person count"
"""What the key is derived from that decides it, under the secret of the ledger."""
NOT_RECORDED = "not recorded: this budget is forgotten with the session"
LOCAL = "local"
"""The analyst of charges where none is named."""


@dataclass(frozen=True)
class Account:
    """What a dataset may spend, what was spent and what is left."""

    total: Budget
    spent: Loss
    left: Loss
    is_recorded: bool = True
    """False if nothing keeps account of it beyond this session."""

    def __str__(self) -> str:
        recorded = "" if self.is_recorded else f"; {NOT_RECORDED}"
        return f"budget {self.total}; spent {self.spent}; left {self.left}{recorded}"

    def __repr__(self) -> str:
        return f"<Account: {self}>"

    def _repr_html_(self) -> str:
        rows = [("budget", str(self.total)), ("spent", str(self.spent)), ("left", str(self.left))]
        used = (self.total.epsilon - self.left.epsilon) / self.total.epsilon
        recorded = "" if self.is_recorded else f"; {NOT_RECORDED}"
        return table_html(["", "privacy loss"], rows) + share_html(used, f"{used:.0%} of epsilon is spent{recorded}")


@dataclass(frozen=True)
class Spend:
    """One charge of the history: what was asked, what it cost, and what was answered."""

    number: int
    question: JsonObject
    loss: Loss
    release: Stored | None

    @property
    def releases(self) -> list[Release]:
        """The answers of all queries and groups; none while there is no answer."""
        return (
            [] if self.release is None else [Release.from_dict(one) for each in self.release["answers"] for one in each]
        )

    def __str__(self) -> str:
        return f"#{self.number}, {self.loss}: {self._text()}"

    def __repr__(self) -> str:
        return f"<Spend {self}>"

    def _answers(self) -> list[str]:
        few = [release.summary for release in self.releases[:MOST_PRINTED]]
        more = len(self.releases) - len(few)
        return [*few, f"and {more:,} more"] if more > 0 else few

    def _row(self) -> tuple[str, str, str]:
        return f"#{self.number}", self._text(), str(self.loss)

    def _text(self) -> str:
        if self.release is None or FAILED in self.release:
            return "charged, and not answered"
        return "; ".join(self._answers()) or "no group was found"

    def _repr_html_(self) -> str:
        return table_html(_HEADS, [self._row()])


_HEADS = ("charge", "answers", "privacy loss")


class SpendHistory(list[Spend]):
    """Every charge, oldest first."""

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "nothing was charged yet"

    def __repr__(self) -> str:
        return f"<SpendHistory of {len(self)} charges{''.join(f'{chr(10)}  {spend}' for spend in self)}>"

    def _repr_html_(self) -> str:
        return table_html(_HEADS, [spend._row() for spend in self], note="" if self else "nothing was charged yet")


class _Attempt:
    """One attempt to answer a request.  A failure after the first draw ends the request: the draw may have decided it.

    Where another attempt has stored an answer meanwhile, that is given instead.  docs/ledger.md, "Repeats".
    """

    def __init__(self, ledger: Ledger) -> None:
        self.stored: JsonObject = {}
        self._ledger = ledger
        self._charge: Charge | None = None
        self._watch = watched()

    def begin(self, charge: Charge) -> None:
        """It is charged, and reading begins, unless this process knows that it failed for good."""
        if self._ledger.has_failed(charge):
            with contextlib.suppress(LedgerUnavailable):
                self._ledger.fail(charge)
            raise _failed_for_good()
        self._charge = charge

    def __enter__(self) -> Self:
        self._draws = self._watch.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._watch.__exit__(None, None, None)
        if (
            failure is None
            or self._charge is None
            or not self._draws.have_begun
            or self._ledger.has_unstored(self._charge)
        ):
            return False
        try:
            self.stored = self._ledger.fail(self._charge)
        except Exception:  # noqa: BLE001  (it is the failure that is raised; this process knows that it was final)
            self.stored = {FAILED: True}
        if FAILED in self.stored:
            note_draw(failure)
            return False
        return isinstance(failure, Exception)  # and not where the program is to end


class Planned(Protocol):
    """A question that was planned from public facts."""

    @property
    def loss(self) -> Loss:
        """The whole privacy loss."""

    @property
    def asked(self) -> JsonObject:
        """The question in plain JSON values."""

    @property
    def older(self) -> JsonObject:
        """The question as version 0.1.0 kept it."""

    @property
    def costs_nothing(self) -> bool:
        """True if the answer is public."""

    @property
    def keeps_rows(self) -> bool:
        """True if a key decides which rows of a person are kept."""

    def keyed(self, key: str) -> Planned:
        """The question with that key."""


class Declared(Protocol):
    """What the account needs of a schema."""

    @property
    def name(self) -> str:
        """The dataset's name."""

    @property
    def budget(self) -> Budget | None:
        """What may be spent in all."""

    @property
    def filter(self) -> str:
        """The rule that guards it."""

    @property
    def slack(self) -> SupportsFloat | None:
        """What the rule keeps of delta."""

    @property
    def relation(self) -> Relation:
        """Between which datasets all losses hold."""


BUDGET = "declare what the dataset may spend in all, such as Budget(1.0) or a section [budget] of the schema file"


class PaidSession:
    """A source with an account: every answer is charged before anything is read."""

    def __init__(self, schema: Declared, ledger: Ledger | None, source: Source) -> None:
        if schema.budget is None:
            raise InvalidArgument("budget", None, BUDGET)
        self._name, self._source = schema.name, source
        self._noticed: str | None = None
        self._on_changed_source: Callable[[str], None] = _warned
        self._ledger = ledger or MemoryLedger()
        self._histograms = StoredHistograms(self._ledger, schema.name)
        marks = source.marks()
        self._ledger.register(
            schema.name,
            schema.budget,
            filter=schema.filter,
            slack=schema.slack,
            fingerprint=marks[0] if marks else None,
            aliases=marks[1:],
            relation=schema.relation,
        )

    def _answer(
        self, plans: Sequence[Planned], *, again: bool = False, request_id: str | None = None, analyst: str = LOCAL
    ) -> Releases:
        """Charge all plans at once, then read: answers for all of them or a charge for none."""
        answers = self._answers(plans, again=again, request_id=request_id, analyst=analyst)
        return Releases((release for each in answers for release in each), spent_loss(plans, answers))

    def _answers(
        self, plans: Sequence[Planned], *, again: bool = False, request_id: str | None = None, analyst: str = LOCAL
    ) -> list[list[Release]]:
        """The same, with the releases of each plan in a list of their own.

        request_id: a name for this request; sent again it gets the same releases and pays nothing more.
        analyst: who pays.
        """
        paid = [plan for plan in plans if not plan.costs_nothing]
        question: JsonObject = {"questions": [plan.asked for plan in paid]}
        stored, entries = self._stored(paid, question, again, request_id, analyst) if paid else (None, None)
        if stored is None and paid:
            derived = self._derived(paid, again, entries)
            stored = self._bought(paid, question, derived, request_id, analyst)
        bought = iter(stored["answers"] if stored else [])
        return [
            [self._source.public(plan)]
            if plan.costs_nothing
            else [self._source.restored(plan, release) for release in next(bought)]
            for plan in plans
        ]

    def _answer_statement(
        self,
        statement: Statement,
        plans: Sequence[Planned],
        *,
        again: bool = False,
        request_id: str | None = None,
        analyst: str = LOCAL,
    ) -> Answered:
        """Answer the plans of a statement: one release, or all of them where there are several queries or groups."""
        answers = self._answers(plans, again=again, request_id=request_id, analyst=analyst)
        answered = Releases(named(statement, answers), spent_loss(plans, answers))
        return cast("Answered", answered if statement.by or len(plans) > 1 else answered[0])

    def _stored(
        self, plans: Sequence[Planned], question: JsonObject, again: bool, request_id: str | None, analyst: str
    ) -> tuple[Stored | None, list[int | None] | None]:
        """A stored answer: of this very request first, then of the same question, in the form of any version.

        Of a request that was charged and not answered: which of its answers are computed from earlier releases.
        """
        older = {"questions": [plan.older for plan in plans]}
        if request_id is not None:
            losses = [plan.loss for plan in plans]
            before = self._ledger.charged(
                self._name, losses, question=question, older=older, request_id=request_id, analyst=analyst
            )
            if before is not None:
                entries = derived_entries(before.question) or [None] * len(plans)
                return self._from_store(before.release, before.source), entries
        if again:
            return None, None
        stored = self._ledger.stored(self._name, question) or self._ledger.stored(self._name, older)
        return None if stored is None else self._from_store(*stored), None

    def _derived(
        self, plans: Sequence[Planned], again: bool, entries: list[int | None] | None
    ) -> list[Derivation | None]:
        """For each plan how a stored histogram answers it, at no loss; None where it has to be paid for.

        entries: what a request that was charged before said: it keeps to it.
        """
        if entries is None:
            return [None if again else self._histograms.answering(plan) for plan in plans]
        results = [
            None if entry is None else self._histograms.answering(plan, entry=entry)
            for plan, entry in zip(plans, entries, strict=True)
        ]
        if any(entry is not None and result is None for entry, result in zip(entries, results, strict=True)):
            raise Contradiction(
                "this request was to be answered from an earlier release, which no longer answers it; nothing was "
                "charged: ask with another request_id"
            )
        return results

    def _from_store(self, release: Stored | None, source: str | None) -> Stored | None:
        """A stored release; of each later state of the source the owner learns once in a session."""
        if release is not None:
            _answered(release)
        mark = None if source is None else self._mark()
        if mark not in (None, source, self._noticed):
            self._noticed = mark
            self._on_changed_source(
                f"the source of {self._name!r} has changed since a stored answer was computed, and the stored answer "
                "is given: again=True (--again at the shell) pays for a new one"
            )
        return release

    def _mark(self) -> str | None:
        state = self._source.state()
        return None if state is None else self._ledger.mark(state)

    @property
    def source_has_changed(self) -> bool | None:
        """For owners: True if stored answers were computed before the source was last changed; None if not known."""
        mark = self._mark()
        return None if mark is None else self._ledger.has_answers_of_other_sources(self._name, mark)

    def _bought(
        self,
        plans: Sequence[Planned],
        question: JsonObject,
        derived: Sequence[Derivation | None],
        request_id: str | None,
        analyst: str,
    ) -> Stored:
        """Charge what is not derived, read it, and store all answers together.

        What was computed from the same releases before is given as it is stored; where nothing of it was paid for and
        the request has a name, it is computed and kept under that name.
        """
        read_plans = [plan for plan, how in zip(plans, derived, strict=True) if how is None]
        if any(derived) and (read_plans or request_id is None):
            before = self._ledger.stored(self._name, question | {DERIVED: _derived_form(derived)})
            if before is not None and (kept := self._from_store(*before)) is not None:
                return kept
        with _Attempt(self._ledger) as attempt:
            with (
                self._source.prepared([self._keyed(plan) for plan in read_plans])
                if read_plans
                else contextlib.nullcontext(_nothing) as read
            ):
                origin = self._source_of(derived)
                source = self._mark() if read_plans else origin
                charge = self._ledger.charge(
                    self._name,
                    [plan.loss if how is None else Loss(0.0) for plan, how in zip(plans, derived, strict=True)],
                    question=question | ({DERIVED: _derived_form(derived)} if any(derived) else {}),
                    older={"questions": [plan.older for plan in plans]},
                    request_id=request_id,
                    analyst=analyst,
                )
                if charge.release is not None:
                    self._from_store(charge.release, charge.source)
                    return charge.release
                if self._ledger.has_unstored(charge):
                    return _answered(self._ledger.store_again(charge))
                if charge.question.get(DERIVED) != (_derived_form(derived) if any(derived) else None):
                    raise Contradiction("this request was charged meanwhile; ask again with the same request_id")
                attempt.begin(charge)
                answers = iter(read())
            attempt.stored = self._ledger.store(
                charge,
                {
                    "answers": [
                        next(answers) if how is None else [release.stored_fields() for release in how.releases]
                        for how in derived
                    ]
                },
                source=source,
            )
        return _answered(attempt.stored)

    def _keyed(self, plan: Planned) -> Planned:
        """The plan with the key that decides which rows of a person count: the same in all answers of an account.

        docs/proofs/people.md, section 6.
        """
        return plan.keyed(self._ledger.mark(ROWS_OF_PEOPLE)) if plan.keeps_rows else plan

    def _source_of(self, derived: Sequence[Derivation | None]) -> str | None:
        """The mark of the source that derived answers go back to, if it is one; owners learn if it has changed."""
        marks = {derivation.histogram.source for derivation in derived if derivation is not None}
        for mark in marks:
            self._from_store(None, mark)
        return marks.pop() if len(marks) == 1 else None

    @property
    def budget(self) -> Account:
        """What may be spent in all, what was spent, what is left."""
        name = self._name
        known = self._ledger
        return Account(known.dataset(name).budget, known.spent(name), known.left(name), known.is_durable)

    @property
    def history(self) -> SpendHistory:
        """Every charge, oldest first, with its answer."""
        entries = self._ledger.entries(self._name)
        answers = {entry.charge: entry.body["release"] for entry in entries if entry.kind == "release"}
        return SpendHistory(
            Spend(entry.number, entry.body["question"], _loss(entry.body), answers.get(entry.number))
            for entry in entries
            if entry.kind == "charge"
        )

    def _close_source(self) -> None:
        """Let go of the data, and keep the ledger open for others who use it."""
        self._source.close()

    def close(self) -> None:
        """Let go of connections; everything that was charged is already durable."""
        self._close_source()
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:  # the exception, if there is one
        self.close()


def spent_loss(plans: Sequence[Planned], answers: Sequence[Sequence[Release]]) -> Loss:
    """What the answers of several questions cost together: of those that earlier releases gave, nothing."""
    derived = [any(release.derived_from is not None for release in each) for each in answers]
    return total_loss([plan for plan, free in zip(plans, derived, strict=True) if not free])


def _answered(release: JsonObject) -> JsonObject:
    """What is stored for a request, unless it failed for good."""
    if FAILED in release:
        raise _failed_for_good()
    return release


def _failed_for_good() -> Contradiction:
    return Contradiction(
        "this request was charged, and failed after a number had been drawn: ask with another request_id, which is "
        "charged; nothing was charged this time"
    )


def _derived_form(derived: Sequence[Derivation | None]) -> JsonObject:
    return derived_of([None if derivation is None else derivation.entry for derivation in derived])


def _nothing() -> Answers:
    return []


def total_loss(plans: Sequence[Planned]) -> Loss:
    """What several questions cost together."""
    return sum((plan.loss for plan in plans if not plan.costs_nothing), Loss(0.0))


def _warned(message: str) -> None:
    # Not ``warn``: of one line of code it shows the same text once in a process, and this is for every session.
    here = _warned.__code__
    warnings.warn_explicit(message, UserWarning, here.co_filename, here.co_firstlineno)


def _loss(body: Body) -> Loss:
    return sum(charged_losses(body), Loss(0.0))
