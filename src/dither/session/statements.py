"""Statements of several queries: how they share a price, and how their answers are named."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dither.accounting.filters import DELTA_UNITS, EPSILON_UNITS
from dither.errors import InvalidArgument
from dither.numbers import exact
from dither.privacy import Loss
from dither.release import Release
from dither.session.plan import TablePlan, plan
from dither.sources.schema import Schema
from dither.sql.statement import Item, Statement, weights_of


def plans_of(statement: Statement, schema: Schema, price: Loss, weights: Any = None, **options: Any) -> list[TablePlan]:
    """A plan for every query; together they cost at most ``price``.

    The queries that cost something share it by their weights.  The number of rows of a table that declares it is
    public: it costs nothing, so it takes no share.
    """
    given = weights_of(statement, weights)
    shares_of(given, len(statement.items))
    free = {item.start: one for item in statement.items if (one := _free(statement, item, schema, price, options))}
    paying = [weight for item, weight in zip(statement.items, given, strict=True) if item.start not in free]
    shares = iter(shares_of(paying, len(paying)) if paying else [])
    return [
        free[item.start]
        if item.start in free
        else _plan(statement, item, schema, part_of(price, next(shares)), options)
        for item in statement.items
    ]


def _free(statement: Statement, item: Item, schema: Schema, price: Loss, options: dict[str, Any]) -> TablePlan | None:
    if item.columns:
        return None
    made = _plan(statement, item, schema, price, options)
    return made if made.costs_nothing else None


def named(statement: Statement, answers: Sequence[Sequence[Release]]) -> list[Release]:
    """The releases of all queries in a row, each with the name that its query was given."""
    return [
        release
        if item.alias is None
        else dataclasses.replace(release, query=f"{item.alias} ({release.query})", alias=item.alias)
        for item, each in zip(statement.items, answers, strict=True)
        for release in each
    ]


def _plan(statement: Statement, item: Item, schema: Schema, price: Loss, options: dict[str, Any]) -> TablePlan:
    asked: dict[str, Any] = {"where": statement.where, "by": list(statement.by) or None, **options}
    asked |= {"epsilon": price.epsilon, "delta": price.delta}
    known = {name: asked.pop(name, None) for name in ("prior", "rows")}
    try:
        if known["prior"] is not None and asked.get("mechanism", "auto") == "auto":
            from dither.session.quoting import chosen_mechanism  # noqa: PLC0415  (built on this module)

            asked["mechanism"] = chosen_mechanism(item.query, schema, **known, **asked)
        return plan(item.query, schema, **asked)
    except InvalidArgument as error:
        problem = statement.pointing(error, item)
    raise problem


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
