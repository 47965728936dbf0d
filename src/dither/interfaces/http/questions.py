"""Questions as JSON objects, read strictly: queries or SQL, a privacy loss, options."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any

from dither.borders import Exact, fields_of, read
from dither.errors import InvalidArgument
from dither.interfaces.http.models import Ask, Assumed, Delivery, QuoteBody, QuoteDelivery, StatedLoss
from dither.interfaces.strict_json import MOST_DIGITS
from dither.plain import Given
from dither.privacy import Loss, Simultaneous
from dither.queries.query import Query
from dither.queries.registry import entry_of
from dither.queries.wire import served
from dither.release import SAMPLE
from dither.sql.statement import Statement

_EXACT = Context(prec=MOST_DIGITS)


@dataclass(frozen=True)
class Question:
    """What was asked, in the words of a session."""

    queries: Query | list[Query] | None
    """A query, a list of queries, or None where the question is SQL."""
    sql: str | None
    epsilon: Exact
    delta: Exact
    options: dict[str, Any]  # names as they were sent, looked up when the question is planned
    """mechanism, noise, confidence, and where and by of a query."""
    weights: Any = None  # a list, of SQL also a mapping
    assumed: Assumed = field(default_factory=Assumed)
    """What is publicly known: rows and prior."""


def question_of(body: dict[str, Given], *, quoted: bool = False) -> Question:
    """The question that a body asks."""
    asked = read(QuoteBody if quoted else Ask, body)
    options = {
        "mechanism": asked.calibration or asked.mechanism or "auto",
        "noise": asked.noise or "auto",
        "confidence": Simultaneous(asked.confidence) if asked.simultaneous and asked.confidence else asked.confidence,
        "interval": asked.interval or SAMPLE,
        **({"where": asked.where, "by": asked.by} if asked.sql is None else {}),
    }
    return Question(
        asked.query, asked.sql, asked.epsilon, asked.delta or 0, options, asked.weights, assumed=asked.assumed
    )


def named_queries(body: dict[str, Given]) -> frozenset[str]:
    """The public names of the queries that a body says it asks; no query is built, and SQL is not read."""
    listed = body.get("query")
    kinds = {item.get("kind") for item in (listed if isinstance(listed, list) else [listed]) if isinstance(item, dict)}
    return frozenset(name for name in served() if name in kinds)


def stated_loss(body: dict[str, Given]) -> Loss | None:
    """The loss that a body states; None where it states none that could be spent."""
    try:
        read_body = read(StatedLoss, {name: body[name] for name in fields_of(StatedLoss) if name in body})
        return Loss.asked(read_body.epsilon, read_body.delta or 0)
    except InvalidArgument:
        return None


def canonical_text(body: dict[str, Given], delivery: type[QuoteDelivery] = Delivery) -> str:
    """The same only for questions that differ in the order of fields, the spelling of decimals and how they are sent.

    delivery: the fields that say how it is sent, and not what is asked.

    >>> canonical_text({"epsilon": Decimal("0.10"), "wait": True}) == canonical_text({"epsilon": Decimal("1e-1")})
    True
    >>> canonical_text({"confidence": None}) == canonical_text({})  # no interval, and the usual one
    False
    >>> canonical_text({"epsilon": Decimal("0.5")}) == canonical_text({"epsilon": "0.5"})
    False
    """
    asked = {key: _tagged(value) for key, value in body.items() if key not in fields_of(delivery)}
    return json.dumps(asked, sort_keys=True)


def _tagged(value: Given) -> Given:
    """A text begins with a quotation mark, a decimal with a digit or a sign; whole numbers stay numbers."""
    if isinstance(value, dict):
        return {key: _tagged(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_tagged(part) for part in value]
    if isinstance(value, Decimal):
        return f"{value.normalize(_EXACT):f}"
    return f"'{value}" if isinstance(value, str) else value


def query_names(question: Question, statement: Statement | None) -> set[str]:
    """The public names of all queries in a question."""
    if statement is not None:
        return {entry_of(item.query).name for item in statement.items}
    queries = question.queries if isinstance(question.queries, list) else [question.queries]
    return {entry_of(query).name for query in queries}
