"""Questions as JSON objects, read strictly: queries or SQL, a privacy loss, options."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any

from dither.aliases import CALIBRATION
from dither.errors import InvalidArgument
from dither.interfaces.http.bodies import MOST_DIGITS, flag_field, known_fields, names_field, number_field, text_field
from dither.queries.parameters import without_contents
from dither.queries.registry import entry_of
from dither.queries.wire import from_json
from dither.quotes.priors import declared_prior
from dither.sources.schema import PRIOR_PARAMETERS

MOST_QUERIES = 50
LONGEST_TEXT = 20_000
_EXACT = Context(prec=MOST_DIGITS)

_FIELDS = (
    "query",
    "sql",
    "epsilon",
    "delta",
    "where",
    "by",
    "mechanism",
    "noise",
    "confidence",
    "weights",
    "request_id",
    "again",
    "wait",
    "rows",
    "prior",
)
_QUOTED = tuple(one for one in _FIELDS if one not in ("request_id", "again", "wait"))


@dataclass(frozen=True)
class Question:
    """What was asked, in the words of a session."""

    queries: Any
    """A query, a list of queries, or None where the question is SQL."""
    sql: str | None
    epsilon: Any
    delta: Any
    options: dict[str, Any]
    """mechanism, noise, confidence, and where and by of a query."""
    weights: Any = None
    request_id: str | None = None
    again: bool = False
    wait: bool = True
    assumed: dict[str, Any] = field(default_factory=dict)
    """What is publicly known: rows and prior."""


def question_of(body: dict[str, Any], *, quoted: bool = False) -> Question:
    """The question that a body asks."""
    known_fields(body, (*(_QUOTED if quoted else _FIELDS), CALIBRATION))
    if CALIBRATION in body:
        if "mechanism" in body:
            raise InvalidArgument(CALIBRATION, None, "mechanism is its new name: send only that one")
        body = {"mechanism" if key == CALIBRATION else key: value for key, value in body.items()}
    if ("query" in body) == ("sql" in body):
        raise InvalidArgument("query", None, "send either query or sql")
    if body.get("epsilon") is None:
        raise InvalidArgument("epsilon", None, "is missing: send what the whole answer may spend")
    options: dict[str, Any] = {
        "mechanism": text_field(body, "mechanism", "auto"),
        "noise": text_field(body, "noise", "auto"),
        "confidence": number_field(body, "confidence") if "confidence" in body else Decimal("0.95"),
    }
    where, by = text_field(body, "where", longest=LONGEST_TEXT), _by(body)
    sql = text_field(body, "sql", longest=LONGEST_TEXT) if "sql" in body else None
    assumed = _assumed(body)
    if "sql" in body:
        if sql is None:
            raise InvalidArgument("sql", None, "must be a text")
        for name, value in (("where", where), ("by", by)):
            if value is not None:
                raise InvalidArgument(name, value, f"write it into the SQL: {name.upper()} ...")
        if not quoted and assumed:
            raise InvalidArgument(next(iter(assumed)), None, "is used for quotes only where sql is sent: leave it out")
    else:
        options |= {"where": where, "by": by}
    return Question(
        None if sql is not None else _queries(body["query"]),
        sql,
        number_field(body, "epsilon"),
        number_field(body, "delta", 0),
        options,
        _weights(body),
        _request_id(body),
        flag_field(body, "again", False),
        flag_field(body, "wait", True),
        assumed,
    )


def _request_id(body: dict[str, Any]) -> str | None:
    value: str | None = text_field(body, "request_id")
    if value is not None and not value.isprintable():
        raise InvalidArgument("request_id", value, "must have printable characters only, such as letters and digits")
    return value


def canonical_text(body: dict[str, Any]) -> str:
    """The same only for questions that differ in the order of fields, the spelling of decimals and how they are sent.

    >>> canonical_text({"epsilon": Decimal("0.10"), "wait": True}) == canonical_text({"epsilon": Decimal("1e-1")})
    True
    >>> canonical_text({"confidence": None}) == canonical_text({})  # no interval, and the usual one
    False
    >>> canonical_text({"epsilon": Decimal("0.5")}) == canonical_text({"epsilon": "0.5"})
    False
    """
    return json.dumps(
        {key: _tagged(value) for key, value in body.items() if key in (*_QUOTED, CALIBRATION)}, sort_keys=True
    )


def _tagged(value: Any) -> Any:
    """A text begins with a quotation mark, a decimal with a digit or a sign; whole numbers stay numbers."""
    if isinstance(value, dict):
        return {key: _tagged(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_tagged(one) for one in value]
    if isinstance(value, Decimal):
        return f"{value.normalize(_EXACT):f}"
    return f"'{value}" if isinstance(value, str) else value


def _by(body: dict[str, Any]) -> Any:
    return [body["by"]] if isinstance(body.get("by"), str) else names_field(body, "by")


def _assumed(body: dict[str, Any]) -> dict[str, Any]:
    assumed: dict[str, Any] = {}
    if body.get("rows") is not None:
        assumed["rows"] = _whole(body, "rows")
    if body.get("prior") is not None:
        assumed["prior"] = prior_of(body["prior"])
    return assumed


def _queries(body: Any) -> Any:
    if isinstance(body, list):
        if not 0 < len(body) <= MOST_QUERIES:
            raise InvalidArgument("query", type(body), f"must be a list of 1 to {MOST_QUERIES} queries")
        return [from_json(one) for one in body]
    return from_json(body)


def query_names(question: Question, statement: Any) -> set[str]:
    """The public names of all queries in a question."""
    if statement is not None:
        return {entry_of(item.query).name for item in statement.items}
    queries = question.queries if isinstance(question.queries, list) else [question.queries]
    return {entry_of(one).name for one in queries}


def _whole(body: dict[str, Any], field: str) -> int:
    value = body[field]
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidArgument(field, without_contents(value), "must be a whole number")
    return value


def _weights(body: dict[str, Any]) -> Any:
    value = body.get("weights")
    if value is None:
        return None
    if isinstance(value, dict) and "sql" in body and len(value) <= MOST_QUERIES:
        return {name: number_field(value, name) for name in value}
    if isinstance(value, list) and len(value) <= MOST_QUERIES and None not in value:
        return [number_field({"weights": one}, "weights") for one in value]
    raise InvalidArgument("weights", type(value), "must be a list of numbers (of SQL also an object of them)")


def prior_of(body: Any) -> Any:
    """A prior for quotes."""
    if not isinstance(body, dict) or not isinstance(body.get("kind"), str) or body["kind"] not in PRIOR_PARAMETERS:
        given = body.get("kind") if isinstance(body, dict) else type(body)
        raise InvalidArgument("prior.kind", without_contents(given), f"must be one of {', '.join(PRIOR_PARAMETERS)}")
    distribution = body["kind"]
    fields = PRIOR_PARAMETERS[distribution]
    known_fields(body, ("kind", *fields), "prior.")
    for one in fields:
        if body.get(one) is None and (distribution, one) != ("exponential", "low"):
            raise InvalidArgument(f"prior.{one}", None, f"is missing: a {distribution} prior needs it")
    return declared_prior(
        {"kind": distribution} | {one: number_field(body, one) for one in fields if body.get(one) is not None}
    )
