"""A session: questions about one registered dataset, paid from its budget.

The order of events is the promise: a question is planned from public facts, charged durably, and only then read.
What fails before the charge costs nothing; what fails after it stays charged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.data.engines.engine import Engine
from dither.data.engines.opened import engine_for
from dither.data.schema import Schema
from dither.errors import InvalidArgument
from dither.ledger import Ledger, MemoryLedger
from dither.ledger.records import loss_of
from dither.privacy import Budget, Loss
from dither.queries.query import Query
from dither.reals import exact
from dither.release import Release, Releases
from dither.session.plan import Plan, plan
from dither.session.reading import read_and_answer, restored


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
    question: dict[str, Any]
    loss: Loss
    release: dict[str, Any] | None


class Session:
    """Ask a dataset; every answer is charged to its budget before the data are read.

    >>> import dither as dt
    >>> session = dt.open({"age": [30, 40, 50, 60] * 50}, columns={"age": dt.Integer(0, 120)}, rows=200,
    ...                   budget=dt.Budget(1.0))
    >>> 0 <= session.ask(dt.Median("age"), epsilon=0.5).value <= 120
    True
    >>> session.budget.left
    Loss(epsilon=0.5, delta=0.0)
    """

    def __init__(self, schema: Schema, *, ledger: Ledger | None = None, engine: Engine | None = None) -> None:
        if schema.budget is None:
            raise InvalidArgument("budget", None, "what the dataset may spend in all, such as Budget(1.0), is accepted")
        self.schema = schema
        self._engine = engine or engine_for(schema)
        self._ledger = ledger or MemoryLedger()
        source = self._engine.fingerprint()
        self._ledger.register(
            schema.name, schema.budget, kind=schema.filter, slack=schema.slack, fingerprint=source or None
        )

    def __repr__(self) -> str:
        return f"<Session {self.schema.name}: {', '.join(self.schema.columns)}; {self.budget}>"

    # --- questions ---------------------------------------------------------------------------------------

    def ask(
        self,
        query: Query | Sequence[Query],
        *,
        epsilon: Any,
        delta: Any = 0.0,
        where: Any = None,
        by: Any = None,
        calibration: Any = "auto",
        noise: Any = "auto",
        confidence: Any = 0.95,
        weights: Sequence[Any] | None = None,
        prior: Any = None,
        rows: Any = None,
        again: bool = False,
    ) -> Any:
        """Ask one query, or several at once: all of them are answered, or none and nothing is charged.

        epsilon, delta: the whole price, error bars, groups and all queries included.
        where: a filter such as ``"year = 2014 AND job IN ('clerk', 'nurse')"``.
        by: a column with declared values, or a list of them: one answer for each group, empty ones too.
        weights: how several queries share the price; evenly by default.
        prior, rows: what is publicly known, as for ``quote``; "auto" then takes the calibration with the least quoted
            error instead of the one that suits most data.
        again: a question that was answered is answered again from the ledger, free; True pays for a new answer.
        """
        options = {"calibration": calibration, "noise": noise, "confidence": confidence, "prior": prior, "rows": rows}
        if isinstance(query, Query):
            plans = [self.plan(query, epsilon=epsilon, delta=delta, where=where, by=by, **options)]
            answered = self.answer(plans, again=again)
            return answered if by is not None else answered[0]
        queries = list(query)
        plans = []
        for one, share in zip(queries, shares_of(weights, len(queries)), strict=True):
            part = Loss.asked(epsilon, delta).share(share)
            plans.append(self.plan(one, epsilon=part.epsilon, delta=part.delta, where=where, by=by, **options))
        return self.answer(plans, again=again)

    def quote(self, query: Any, **options: Any) -> Any:
        """Price, calibration and error of a question, before it is asked: reads nothing, charges nothing.

        The options of ``ask``, and public knowledge: ``prior`` and ``rows``; see ``dither.quote``.
        """
        from dither.session.quoting import quote  # noqa: PLC0415  (built on this module)

        return quote(query, self.schema, **options)

    def least_epsilon(self, query: Any, *, target_error: Any, **options: Any) -> Any:
        """The quote with the least epsilon whose error reaches a target; see ``dither.least_epsilon``."""
        from dither.session.quoting import least_epsilon  # noqa: PLC0415  (built on this module)

        return least_epsilon(query, self.schema, target_error=target_error, **options)

    def plan(self, query: Query, *, prior: Any = None, rows: Any = None, **options: Any) -> Plan:
        """What would be computed and charged: public facts only."""
        if prior is not None and options.get("calibration", "auto") == "auto":
            from dither.session.quoting import chosen_calibration  # noqa: PLC0415  (built on this module)

            options["calibration"] = chosen_calibration(query, self.schema, prior=prior, rows=rows, **options)
        return plan(query, self.schema, **options)

    def answer(self, plans: Sequence[Plan], *, again: bool = False) -> Releases:
        """Charge all plans at once, then read: answers for all of them or a charge for none."""
        free = {index: _public_count(one) for index, one in enumerate(plans) if one.costs_nothing}
        paid = [one for index, one in enumerate(plans) if index not in free]
        question = {"questions": [one.asked for one in paid]}
        told = None if again or not paid else self._ledger.answer_to(self.schema.name, question)
        if told is None and paid:
            told = self._bought(paid, question)
        answers = iter(told["releases"] if told else [])
        releases: list[Release] = []
        for index, one in enumerate(plans):
            releases += [free[index]] if index in free else [restored(one, next(answers)) for _ in range(one.groups)]
        return Releases(releases, sum((one.loss for one in paid), Loss(0.0)))

    def _bought(self, plans: list[Plan], question: dict[str, Any]) -> dict[str, Any]:
        self._engine.ready()
        charge = self._ledger.charge(self.schema.name, [one.loss for one in plans], question=question)
        releases = [release for one in plans for release in read_and_answer(one, self._engine)]
        return self._ledger.store(charge, {"releases": [release.to_dict() for release in releases]})

    # --- the account ---------------------------------------------------------------------------------------

    @property
    def budget(self) -> Account:
        """What may be spent in all, what was spent, what is left."""
        name = self.schema.name
        return Account(self._ledger.dataset(name).budget, self._ledger.spent(name), self._ledger.left(name))

    @property
    def history(self) -> list[Spend]:
        """Every charge, oldest first, with its answer."""
        entries = self._ledger.entries(self.schema.name)
        answers = {entry.charge: entry.body["release"] for entry in entries if entry.kind == "release"}
        return [
            Spend(entry.number, entry.body["question"], _price(entry.body), answers.get(entry.number))
            for entry in entries
            if entry.kind == "charge"
        ]

    def close(self) -> None:
        """Let go of connections; everything that was charged is already durable."""
        self._engine.close()
        self._ledger.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def shares_of(weights: Sequence[Any] | None, parts: int) -> list[Fraction]:
    """How several questions share a price: evenly, or by weights."""
    if parts == 0:
        raise InvalidArgument("query", [], "at least one query is accepted")
    if weights is None:
        return [Fraction(1, parts)] * parts
    exactly = [exact(one, "weights") for one in weights]
    if len(exactly) != parts or any(one <= 0 for one in exactly):
        raise InvalidArgument(
            "weights", list(weights), f"a positive number for each of the {parts} queries is accepted"
        )
    return [one / sum(exactly) for one in exactly]


def _price(body: dict[str, Any]) -> Loss:
    return sum((loss_of(*units) for units in body["losses"]), Loss(0.0))


def _public_count(one: Plan) -> Release:
    """The number of rows of a table that declares it: public, and free."""
    rows = one.schema.most_rows
    return Release(
        value=rows, interval=(rows, rows), confidence=1.0, loss=Loss(0.0), neighbours=one.schema.neighbours,
        query=one.label, calibration="public", noise="none",
    )  # fmt: skip
