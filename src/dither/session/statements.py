"""Plans of one query, of several and of a statement: how they share a price, and how their answers are named."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from dither.accounting.filters import DELTA_UNITS, EPSILON_UNITS
from dither.errors import InvalidArgument
from dither.numbers import exact
from dither.privacy import Loss
from dither.queries.query import Query
from dither.release import Release
from dither.session.plan import TablePlan, is_public, plan
from dither.sources.schema import Schema
from dither.sql.statement import Item, Statement, weights_of

Thing = TypeVar("Thing")


def plan_for(query: Query, schema: Schema, *, prior: Any = None, rows: Any = None, **options: Any) -> TablePlan:
    """The plan of one query, from the schema alone: no source is opened."""
    if prior is not None and options.get("mechanism", "auto") == "auto":
        from dither.session.quoting import chosen_mechanism  # noqa: PLC0415  (built on this module)

        options["mechanism"] = chosen_mechanism(query, schema, prior=prior, rows=rows, **options)
    return plan(query, schema, **options)


def plans_for(
    query: Query | Sequence[Query],
    schema: Schema,
    *,
    epsilon: Any,
    delta: Any = 0.0,
    weights: Sequence[Any] | None = None,
    **options: Any,
) -> list[TablePlan]:
    """The plans of one query, or of several that share a price."""
    if isinstance(query, Query):
        return [plan_for(query, schema, epsilon=epsilon, delta=delta, **options)]
    return [
        plan_for(one, schema, epsilon=part.epsilon, delta=part.delta, **options)
        for one, part in shared(query, Loss.asked(epsilon, delta), weights)
    ]


def plans_of(statement: Statement, schema: Schema, price: Loss, weights: Any = None, **options: Any) -> list[TablePlan]:
    """A plan for every query of a statement; together they cost at most ``price``."""
    options |= {"where": statement.where, "by": list(statement.by) or None}
    plans = []
    for item, part in shared_by_items(statement, schema, price, weights):
        with statement.pointing_at(item):
            plans.append(plan_for(item.query, schema, epsilon=part.epsilon, delta=part.delta, **options))
    return plans


def shared_by_items(statement: Statement, schema: Schema, price: Loss, weights: Any = None) -> list[tuple[Item, Loss]]:
    """The queries of a statement, each with its part of the price.

    Those that cost something share it by their weights.  The number of rows of a table that declares it is public: it
    costs nothing, so it takes no share.
    """
    given = weights_of(statement, weights)
    shares_of(given, len(statement.items))
    free = [_is_free(statement, item, schema) for item in statement.items]
    paying = [weight for weight, one in zip(given, free, strict=True) if not one]
    shares = iter(shares_of(paying, len(paying)) if paying else [])
    return [
        (item, price if one else part_of(price, next(shares))) for item, one in zip(statement.items, free, strict=True)
    ]


def _is_free(statement: Statement, item: Item, schema: Schema) -> bool:
    with statement.pointing_at(item):
        return not item.columns and is_public(item.query.bound(schema), schema, statement.where, statement.by)
    return False


def named(statement: Statement, answers: Sequence[Sequence[Release]]) -> list[Release]:
    """The releases of all queries in a row, each with the name that its query was given."""
    return [
        release
        if item.alias is None
        else dataclasses.replace(release, query=f"{item.alias} ({release.query})", alias=item.alias)
        for item, each in zip(statement.items, answers, strict=True)
        for release in each
    ]


def shared(things: Iterable[Thing], price: Loss, weights: Sequence[Any] | None) -> list[tuple[Thing, Loss]]:
    """Several questions, each with its part of a price: evenly, or by weights."""
    listed = list(things)
    return [(one, part_of(price, share)) for one, share in zip(listed, shares_of(weights, len(listed)), strict=True)]


def part_of(price: Loss, share: Fraction) -> Loss:
    """A share of a price in whole units of the ledger, rounded down: charges never add up to more than the price."""
    whole = price.share(share)
    return Loss(_floor(whole.exact_epsilon, EPSILON_UNITS), _floor(whole.exact_delta, DELTA_UNITS))


def _floor(number: Fraction, units: int) -> float:
    rounded = Fraction(math.floor(number * units), units)
    return rounded.numerator / rounded.denominator


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
