"""Plans of one query, of several and of a statement: how they share a privacy loss, and how their answers are named."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dither.privacy import Loss
from dither.queries.query import Query
from dither.queries.registry import no_query
from dither.release import Release
from dither.session.plan import TablePlan, plan
from dither.session.quoting import chosen_mechanism, together
from dither.session.shares import shared, shared_by_items, shares_of
from dither.sources.schema import Schema
from dither.sql.statement import Statement

if TYPE_CHECKING:
    from typing import Unpack

    from dither.typing import (
        KnownOptions,
        NamedWeights,
        Number,
        PriorChoice,
        QuestionOptions,
        TableOptions,
        Weights,
    )


def plan_for(
    query: Query,
    schema: Schema,
    *,
    prior: PriorChoice | None = None,
    rows: int | None = None,
    **options: Unpack[QuestionOptions],
) -> TablePlan:
    """The plan of one query, from the schema alone: no source is opened."""
    if prior is not None and options.get("mechanism", "auto") == "auto":
        options["mechanism"] = chosen_mechanism(query, schema, prior=prior, rows=rows, **options)
    return plan(query, schema, **options)


def plans_for(
    query: Query | Sequence[Query],
    schema: Schema,
    *,
    epsilon: Number,
    delta: Number = 0.0,
    weights: Weights | None = None,
    **options: Unpack[TableOptions],
) -> list[TablePlan]:
    """The plans of one query, or of several that share a privacy loss."""
    if isinstance(query, Query):
        shares_of(weights, 1)
        return [plan_for(query, schema, epsilon=epsilon, delta=delta, **options)]
    if isinstance(query, (str, bytes)) or not isinstance(query, Iterable):
        raise no_query(query)
    parts = shared(query, Loss.asked(epsilon, delta), weights)
    options = together(options, len(parts))
    return [plan_for(item, schema, epsilon=part.epsilon, delta=part.delta, **options) for item, part in parts]


def plans_of(
    statement: Statement,
    schema: Schema,
    loss: Loss,
    weights: NamedWeights | None = None,
    **options: Unpack[KnownOptions],
) -> list[TablePlan]:
    """A plan for every query of a statement; together they spend at most ``loss``."""
    asked: TableOptions = {**options, "where": statement.where, "by": list(statement.by) or None}
    schema = statement.schema or schema
    asked = together(asked, len(statement.items))
    plans = []
    for item, part in shared_by_items(statement, schema, loss, weights):
        with statement.pointing_at(item):
            plans.append(plan_for(item.query, schema, epsilon=part.epsilon, delta=part.delta, **asked))
    return plans


def _in_order(statement: Statement, answers: Sequence[Sequence[Release]]) -> Sequence[Sequence[Release]]:
    return answers if statement.ordering is None else statement.ordering.applied(answers)


def named(statement: Statement, answers: Sequence[Sequence[Release]]) -> list[Release]:
    """The releases of all queries in a row, each with the name that its query was given."""
    return [
        release
        if item.alias is None
        else dataclasses.replace(release, query=f"{item.alias} ({release.query})", alias=item.alias)
        for item, each in zip(statement.items, _in_order(statement, answers), strict=True)
        for release in each
    ]
