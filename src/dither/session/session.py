"""A session: questions about one registered dataset, paid from its budget.

The order of events is the promise: a question is planned from public facts, charged durably, and only then read.
What fails before the charge costs nothing; what fails after it stays charged.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from dither.data.engines.engine import Engine
from dither.data.engines.opened import engine_for
from dither.data.schema import Schema
from dither.errors import InvalidArgument
from dither.ledger import Ledger, MemoryLedger
from dither.ledger.records import loss_of
from dither.privacy import Budget, Loss
from dither.programs import Program, opened
from dither.queries.query import Query
from dither.release import Release, Releases
from dither.session.plan import Plan, plan
from dither.session.programs import ProgramPlan, answer_program, plan_program
from dither.session.reading import read_and_answer, restored
from dither.session.statements import named, part_of, plans_of, shares_of
from dither.sql.statement import Statement, parse_sql


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
        query: Query | Program | Sequence[Query | Program],
        *,
        epsilon: Any,
        delta: Any = 0.0,
        where: Any = None,
        by: Any = None,
        calibration: Any = "auto",
        noise: Any = "auto",
        confidence: Any = 0.95,
        weights: Sequence[Any] | None = None,
        again: bool = False,
    ) -> Any:
        """Ask one query, or several at once: all of them are answered, or none and nothing is charged.

        epsilon, delta: the whole price, error bars, groups and all queries included.
        where: a filter such as ``"year = 2014 AND job IN ('clerk', 'nurse')"``.
        by: a column with declared values, or a list of them: one answer for each group, empty ones too.
        weights: how several queries share the price; evenly by default.
        again: a question that was answered is answered again from the ledger, free; True pays for a new answer.
        """
        if isinstance(query, (Query, Program)):
            options = {"calibration": calibration, "noise": noise, "confidence": confidence}
            single = [self.plan(query, epsilon=epsilon, delta=delta, where=where, by=by, **options)]
            answered = self.answer(single, again=again)
            return answered if by is not None else answered[0]
        queries = list(query)
        plans: list[Plan | ProgramPlan] = []
        for one, share in zip(queries, shares_of(weights, len(queries)), strict=True):
            part = part_of(Loss.asked(epsilon, delta), share)
            plans.append(
                self.plan(
                    one, epsilon=part.epsilon, delta=part.delta, where=where, by=by, calibration=calibration,
                    noise=noise, confidence=confidence,
                )
            )  # fmt: skip
        return self.answer(plans, again=again)

    def sql(
        self,
        text: str,
        *,
        epsilon: Any,
        delta: Any = 0.0,
        weights: Any = None,
        calibration: Any = "auto",
        noise: Any = "auto",
        confidence: Any = 0.95,
        again: bool = False,
    ) -> Any:
        """Ask in SQL: ``SELECT median(total_pay) FROM payroll WHERE year = 2014 GROUP BY job``.

        epsilon, delta: the whole price.  All queries of the list share it evenly, except for a count of rows whose
        number is public: that is free.  Everything is answered, or nothing and nothing is charged.
        weights: other shares: a list with one for each query, or a mapping of names (``AS name``) to weights.

        Returns one release, or ``Releases`` where several queries or groups are asked for.
        """
        options = {"calibration": calibration, "noise": noise, "confidence": confidence}
        return self.answer_statement(
            parse_sql(text, self.schema), epsilon=epsilon, delta=delta, weights=weights, again=again, **options
        )

    def answer_statement(
        self, statement: Statement, *, epsilon: Any, delta: Any = 0.0, weights: Any = None, again: bool = False,
        **options: Any,
    ) -> Any:  # fmt: skip
        """Answer a statement that was read before; see ``sql``."""
        plans = plans_of(statement, self.schema, Loss.asked(epsilon, delta), weights, **options)
        answered = named(statement, plans, self.answer(plans, again=again))
        return answered if statement.by or len(plans) > 1 else answered[0]

    def plan(self, query: Query | Program, **options: Any) -> Plan | ProgramPlan:
        """What would be computed and charged: public facts only."""
        if isinstance(query, Program):
            return plan_program(query, self.schema, **options)
        return plan(query, self.schema, **options)

    def answer(self, plans: Sequence[Plan | ProgramPlan], *, again: bool = False) -> Releases:
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

    def _bought(self, plans: list[Plan | ProgramPlan], question: dict[str, Any]) -> dict[str, Any]:
        with contextlib.ExitStack() as running:
            # What is wrong with a program or with isolation is said before anything is charged.
            executors: list[Any] = [
                running.enter_context(opened(one.query, tables=True)) if isinstance(one, ProgramPlan) else None
                for one in plans
            ]
            self._engine.ready()
            charge = self._ledger.charge(self.schema.name, [one.loss for one in plans], question=question)
            releases: list[Release] = []
            for one, executor in zip(plans, executors, strict=True):
                if isinstance(one, ProgramPlan):
                    releases.append(answer_program(one, self._engine, executor))
                else:
                    releases += read_and_answer(one, self._engine)
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _price(body: dict[str, Any]) -> Loss:
    return sum((loss_of(*units) for units in body["losses"]), Loss(0.0))


def _public_count(one: Plan | ProgramPlan) -> Release:
    """The number of rows of a table that declares it: public, and free."""
    rows = one.schema.most_rows
    return Release(
        value=rows, interval=(rows, rows), confidence=1.0, loss=Loss(0.0), neighbours=one.schema.neighbours,
        query=one.label, calibration="public", noise="none",
    )  # fmt: skip
