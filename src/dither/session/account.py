"""What every session shares: one dataset's account in a ledger, and the order charge, read, store, answer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, SupportsFloat

from dither.errors import InvalidArgument
from dither.ledger import Ledger, MemoryLedger
from dither.ledger.entries import Body, Stored, loss_of
from dither.privacy import Budget, Loss, Relation
from dither.release import Release, Releases
from dither.session.reading import Source

if TYPE_CHECKING:
    from dither.plain import JsonObject

LOCAL = "local"
"""The analyst of charges where none is named."""


@dataclass(frozen=True)
class Account:
    """What a dataset may spend, what was spent and what is left."""

    total: Budget
    spent: Loss
    left: Loss

    def __str__(self) -> str:
        return f"budget {self.total}; spent {self.spent}; left {self.left}"


@dataclass(frozen=True)
class Spend:
    """One charge of the history: what was asked, what it cost, and what was answered."""

    number: int
    question: JsonObject
    loss: Loss
    release: Stored | None


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
        self.on_changed_source: Callable[[str], None] = _warned
        self._ledger = ledger or MemoryLedger()
        self._ledger.register(
            schema.name,
            schema.budget,
            filter=schema.filter,
            slack=schema.slack,
            fingerprint=source.fingerprint() or None,
            relation=schema.relation,
        )

    def answer(
        self, plans: Sequence[Planned], *, again: bool = False, request_id: str | None = None, analyst: str = LOCAL
    ) -> Releases:
        """Charge all plans at once, then read: answers for all of them or a charge for none."""
        answers = self.answers(plans, again=again, request_id=request_id, analyst=analyst)
        return Releases((one for each in answers for one in each), total_loss(plans))

    def answers(
        self, plans: Sequence[Planned], *, again: bool = False, request_id: str | None = None, analyst: str = LOCAL
    ) -> list[list[Release]]:
        """The same, with the releases of each plan in a list of their own.

        request_id: a name for this request; sent again it gets the same releases and pays nothing more.
        analyst: who pays.
        """
        paid = [one for one in plans if not one.costs_nothing]
        question: JsonObject = {"questions": [one.asked for one in paid]}
        stored = self._stored(paid, question, again, request_id, analyst) if paid else None
        if stored is None and paid:
            stored = self._bought(paid, question, request_id, analyst)
        bought = iter(stored["answers"] if stored else [])
        return [
            [self._source.public(one)]
            if one.costs_nothing
            else [self._source.restored(one, release) for release in next(bought)]
            for one in plans
        ]

    def _stored(
        self, plans: Sequence[Planned], question: JsonObject, again: bool, request_id: str | None, analyst: str
    ) -> Stored | None:
        """A stored answer: of this very request first, then of the same question, in the form of any version."""
        older = {"questions": [one.older for one in plans]}
        if request_id is not None:
            losses = [one.loss for one in plans]
            before = self._ledger.charged(
                self._name, losses, question=question, older=older, request_id=request_id, analyst=analyst
            )
            if before is not None:
                return self._from_store(before.release, before.source)
        if again:
            return None
        stored = self._ledger.stored(self._name, question) or self._ledger.stored(self._name, older)
        return None if stored is None else self._from_store(*stored)

    def _from_store(self, release: Stored | None, source: str | None) -> Stored | None:
        """A stored release; of each later state of the source the owner learns once in a session."""
        mark = None if source is None else self._mark()
        if mark not in (None, source, self._noticed):
            self._noticed = mark
            self.on_changed_source(
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

    def _bought(self, plans: Sequence[Planned], question: JsonObject, request_id: str | None, analyst: str) -> Stored:
        with self._source.prepared(plans) as read:
            source = self._mark()
            charge = self._ledger.charge(
                self._name,
                [one.loss for one in plans],
                question=question,
                older={"questions": [one.older for one in plans]},
                request_id=request_id,
                analyst=analyst,
            )
            if charge.release is not None:
                self._from_store(charge.release, charge.source)
                return charge.release
            answers = read()
        return self._ledger.store(charge, {"answers": answers}, source=source)

    @property
    def budget(self) -> Account:
        """What may be spent in all, what was spent, what is left."""
        name = self._name
        return Account(self._ledger.dataset(name).budget, self._ledger.spent(name), self._ledger.left(name))

    @property
    def history(self) -> list[Spend]:
        """Every charge, oldest first, with its answer."""
        entries = self._ledger.entries(self._name)
        answers = {entry.charge: entry.body["release"] for entry in entries if entry.kind == "release"}
        return [
            Spend(entry.number, entry.body["question"], _loss(entry.body), answers.get(entry.number))
            for entry in entries
            if entry.kind == "charge"
        ]

    def close_source(self) -> None:
        """Let go of the data, and keep the ledger open for others who use it."""
        self._source.close()

    def close(self) -> None:
        """Let go of connections; everything that was charged is already durable."""
        self.close_source()
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:  # the exception, if there is one
        self.close()


def total_loss(plans: Sequence[Planned]) -> Loss:
    """What several questions cost together."""
    return sum((one.loss for one in plans if not one.costs_nothing), Loss(0.0))


def _warned(message: str) -> None:
    # Not ``warn``: of one line of code it shows the same text once in a process, and this is for every session.
    here = _warned.__code__
    warnings.warn_explicit(message, UserWarning, here.co_filename, here.co_firstlineno)


def _loss(body: Body) -> Loss:
    return sum((loss_of(*units) for units in body["losses"]), Loss(0.0))
