"""How several queries share a privacy loss: evenly, or by weights, in whole units of the ledger."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TypeVar

from dither.accounting.filters import DELTA_UNITS, EPSILON_UNITS
from dither.errors import InvalidArgument
from dither.numbers import exact
from dither.privacy import Loss
from dither.session.plan import is_public
from dither.sources.schema import Schema
from dither.sql.statement import Item, Statement, weights_of
from dither.typing import NamedWeights, Weights

Thing = TypeVar("Thing")


def shared(things: Iterable[Thing], loss: Loss, weights: Weights | None) -> list[tuple[Thing, Loss]]:
    """Several questions, each with its part of a privacy loss: evenly, or by weights."""
    listed = list(things)
    return [
        (candidate, part_of(loss, share))
        for candidate, share in zip(listed, shares_of(weights, len(listed)), strict=True)
    ]


def part_of(loss: Loss, share: Fraction) -> Loss:
    """A share of a privacy loss in whole units of the ledger, rounded down: charges add up to at most the whole."""
    whole = loss.share(share)
    return Loss(_floor(whole.exact_epsilon, EPSILON_UNITS), _floor(whole.exact_delta, DELTA_UNITS))


def _floor(number: Fraction, units: int) -> float:
    rounded = Fraction(math.floor(number * units), units)
    return rounded.numerator / rounded.denominator


def shares_of(weights: Weights | None, parts: int) -> list[Fraction]:
    """How several questions share a privacy loss: evenly, or by weights."""
    if parts == 0:
        raise InvalidArgument("query", [], "must have at least one query")
    if weights is None:
        return [Fraction(1, parts)] * parts
    exactly = [exact(weight, "weights") for weight in weights]
    if len(exactly) != parts or any(item <= 0 for item in exactly):
        raise InvalidArgument("weights", list(weights), f"must be a positive number for each of the {parts} queries")
    return [item / sum(exactly) for item in exactly]


def shared_by_items(
    statement: Statement, schema: Schema, loss: Loss, weights: NamedWeights | None = None
) -> list[tuple[Item, Loss]]:
    """The queries of a statement, each with its part of the privacy loss.

    Those that cost something share it by their weights.  The number of rows of a table that declares it is public: it
    costs nothing, so it takes no share.
    """
    given = weights_of(statement, weights)
    shares_of(given, len(statement.items))
    free = [_is_free(statement, item, schema) for item in statement.items]
    paying = [weight for weight, entry in zip(given, free, strict=True) if not entry]
    shares = iter(shares_of(paying, len(paying)) if paying else [])
    return [
        (item, loss if entry else part_of(loss, next(shares)))
        for item, entry in zip(statement.items, free, strict=True)
    ]


def _is_free(statement: Statement, item: Item, schema: Schema) -> bool:
    with statement.pointing_at(item):
        bound = item.query.bound(schema)
    return is_public(bound, schema, statement.where, statement.by)
