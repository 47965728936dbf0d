"""Questions as JSON objects: one table of kinds, for tables and graphs, read strictly into query objects."""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any

from dither.aliases import CALIBRATION
from dither.errors import InvalidArgument
from dither.interfaces.http.bodies import MOST_DIGITS, flag_field, known_fields, names_field, number_field, text_field
from dither.interfaces.http.programs import FIELDS as PROGRAM_FIELDS
from dither.interfaces.http.programs import program_of
from dither.quotes.priors import declared_prior
from dither.sources.schema import PRIOR_PARAMETERS

MOST_QUERIES = 50
MOST_NUMBERS = 1_000
LONGEST_TEXT = 20_000
_COLUMN = ("column", "bounds", "step", "nulls")
_EXACT = Context(prec=MOST_DIGITS)

PROGRAM = "program"
"""Runs code of the analyst's: allowed to owners, and to tokens that name it among their kinds."""

KINDS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "median": ("order", "Median", _COLUMN),
    "quantile": ("order", "Quantile", (*_COLUMN, "q")),
    "quantiles": ("order", "Quantiles", (*_COLUMN, "q")),
    "minimum": ("order", "Minimum", _COLUMN),
    "maximum": ("order", "Maximum", _COLUMN),
    "order_statistic": ("order", "OrderStatistic", (*_COLUMN, "rank")),
    "count": ("totals", "Count", ("column", "nulls")),
    "sum": ("totals", "Sum", _COLUMN),
    "mean": ("totals", "Mean", _COLUMN),
    "trimmed_mean": ("totals", "TrimmedMean", (*_COLUMN, "trim")),
    "variance": ("spread", "Variance", (*_COLUMN, "ddof")),
    "iqr": ("spread", "IQR", (*_COLUMN, "low", "high")),
    "histogram": ("vectors", "Histogram", ("column", "edges", "categories", "nulls")),
    "edges": ("graphs", "Edges", ("max_degree",)),
    "triangles": ("graphs", "Triangles", ("max_degree",)),
    "kstars": ("graphs", "KStars", ("k",)),
    "ktriangles": ("graphs", "KTriangles", ("k",)),
    "kcliques": ("graphs", "KCliques", ("k",)),
    "min_cut": ("trees", "MinCut", ()),
    "mst_cost": ("trees", "MSTCost", ()),
    PROGRAM: ("", "Program", PROGRAM_FIELDS),
}
"""Of every kind: the module and the name of its query, and the fields it has."""
GRAPH_KINDS = ("edges", "triangles", "kstars", "ktriangles", "kcliques", "min_cut")
WEIGHT_KINDS = ("mst_cost",)
TABLE_KINDS = tuple(one for one in KINDS if one not in (*GRAPH_KINDS, *WEIGHT_KINDS))
_NEEDED = {
    "quantile": "q", "quantiles": "q", "order_statistic": "rank", "kstars": "k", "ktriangles": "k", "kcliques": "k",
}  # fmt: skip
_WHOLE = ("rank", "ddof", "k", "max_degree")
_FIELDS = (
    "query", "sql", "epsilon", "delta", "where", "by", "mechanism", "noise", "confidence", "weights", "request_id",
    "again", "wait", "rows", "prior",
)  # fmt: skip
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


def question_of(told: dict[str, Any], *, quoted: bool = False) -> Question:
    """The question that a body asks."""
    known_fields(told, (*(_QUOTED if quoted else _FIELDS), CALIBRATION))
    if CALIBRATION in told:
        if "mechanism" in told:
            raise InvalidArgument(CALIBRATION, None, "mechanism is its new name: send only that one")
        told = {"mechanism" if key == CALIBRATION else key: value for key, value in told.items()}
    if ("query" in told) == ("sql" in told):
        raise InvalidArgument("query", None, "either query or sql is accepted, and one of them is needed")
    if told.get("epsilon") is None:
        raise InvalidArgument("epsilon", None, "the whole price of the answer is needed")
    options: dict[str, Any] = {
        "mechanism": text_field(told, "mechanism", "auto"),
        "noise": text_field(told, "noise", "auto"),
        "confidence": number_field(told, "confidence") if "confidence" in told else Decimal("0.95"),
    }
    where, by = text_field(told, "where", longest=LONGEST_TEXT), _by(told)
    sql = text_field(told, "sql", longest=LONGEST_TEXT) if "sql" in told else None
    assumed = _assumed(told)
    if "sql" in told:
        if sql is None:
            raise InvalidArgument("sql", None, "a text is accepted")
        for name, value in (("where", where), ("by", by)):
            if value is not None:
                raise InvalidArgument(name, value, f"write it into the SQL: {name.upper()} ...")
        if not quoted and assumed:
            raise InvalidArgument(next(iter(assumed)), None, "of SQL only quotes use what is publicly known")
    else:
        options |= {"where": where, "by": by}
    return Question(
        None if sql is not None else _queries(told["query"]),
        sql,
        number_field(told, "epsilon"),
        number_field(told, "delta", 0),
        options,
        _weights(told),
        _request_id(told),
        flag_field(told, "again", False),
        flag_field(told, "wait", True),
        assumed,
    )


def _request_id(body: dict[str, Any]) -> str | None:
    value: str | None = text_field(body, "request_id")
    if value is not None and not value.isprintable():
        raise InvalidArgument("request_id", value, "it has characters that can't be printed; send letters and digits")
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


def _by(told: dict[str, Any]) -> Any:
    return [told["by"]] if isinstance(told.get("by"), str) else names_field(told, "by")


def _assumed(told: dict[str, Any]) -> dict[str, Any]:
    assumed: dict[str, Any] = {}
    if told.get("rows") is not None:
        assumed["rows"] = _whole(told, "rows")
    if told.get("prior") is not None:
        assumed["prior"] = prior_of(told["prior"])
    return assumed


def _queries(told: Any) -> Any:
    if isinstance(told, list):
        if not 0 < len(told) <= MOST_QUERIES:
            raise InvalidArgument("query", type(told), f"a list of 1 to {MOST_QUERIES} queries is accepted")
        return [query_of(one) for one in told]
    return query_of(told)


def query_of(told: Any) -> Any:
    """A query object from JSON."""
    if not isinstance(told, dict) or not isinstance(told.get("kind"), str) or told["kind"] not in KINDS:
        given = told.get("kind") if isinstance(told, dict) else type(told)
        raise InvalidArgument("query.kind", _plain(given), f"one of {', '.join(KINDS)} is accepted")
    kind = told["kind"]
    if kind == PROGRAM:
        return program_of(told)
    module, name, fields = KINDS[kind]
    known_fields(told, ("kind", *fields), "query.")
    needed = _NEEDED.get(kind)
    if needed is not None and told.get(needed) is None:
        raise InvalidArgument(f"query.{needed}", None, f"{kind} needs it")
    if kind in TABLE_KINDS and kind != "count" and not isinstance(told.get("column"), str):
        raise InvalidArgument("query.column", _plain(told.get("column")), "the name of a column is accepted")
    given = {one: _value(told, one) for one in fields if told.get(one) is not None}
    made = getattr(importlib.import_module(f"dither.queries.{module}"), name)
    return made(**given)


def kind_of(query: Any) -> str:
    """The kind of a query object: its name in this table."""
    named = type(query).__name__
    for kind, (_, name, _fields) in KINDS.items():
        if named == name:
            return kind
    raise InvalidArgument("query", named, f"the server does not offer it; ask one of {', '.join(KINDS)}")


def kinds_of(question: Question, statement: Any) -> set[str]:
    """The kinds of all queries in a question."""
    if statement is not None:
        return {kind_of(item.query) for item in statement.items}
    queries = question.queries if isinstance(question.queries, list) else [question.queries]
    return {kind_of(one) for one in queries}


def _value(told: dict[str, Any], field: str) -> Any:
    value = told[field]
    if field == "column":
        return text_field(told, field)
    if field in _WHOLE:
        return _whole(told, field)
    if field == "categories":
        return names_field(told, field, most=MOST_NUMBERS)
    if field == "nulls" and isinstance(value, str):
        return text_field(told, field)
    if isinstance(value, list):
        if not 0 < len(value) <= MOST_NUMBERS or field not in ("q", "edges", "bounds"):
            raise InvalidArgument(f"query.{field}", type(value), f"at most {MOST_NUMBERS} numbers are accepted")
        numbers = tuple(number_field({field: one}, field) for one in value)
        if None in numbers:
            raise InvalidArgument(f"query.{field}", type(value), "a list of numbers is accepted")
        return numbers
    if field in ("edges", "bounds"):
        raise InvalidArgument(f"query.{field}", _plain(value), "a list of numbers is accepted")
    return number_field(told, field)


def _whole(told: dict[str, Any], field: str) -> int:
    value = told[field]
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidArgument(field, _plain(value), "a whole number is accepted")
    return value


def _weights(told: dict[str, Any]) -> Any:
    value = told.get("weights")
    if value is None:
        return None
    if isinstance(value, dict) and "sql" in told and len(value) <= MOST_QUERIES:
        return {name: number_field(value, name) for name in value}
    if isinstance(value, list) and len(value) <= MOST_QUERIES and None not in value:
        return [number_field({"weights": one}, "weights") for one in value]
    raise InvalidArgument("weights", type(value), "a list of numbers (of SQL also an object of them) is accepted")


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (str, bool, int, Decimal)) else type(value)


def prior_of(told: Any) -> Any:
    """A prior for quotes."""
    if not isinstance(told, dict) or not isinstance(told.get("kind"), str) or told["kind"] not in PRIOR_PARAMETERS:
        given = told.get("kind") if isinstance(told, dict) else type(told)
        raise InvalidArgument("prior.kind", _plain(given), f"one of {', '.join(PRIOR_PARAMETERS)} is accepted")
    kind = told["kind"]
    fields = PRIOR_PARAMETERS[kind]
    known_fields(told, ("kind", *fields), "prior.")
    for one in fields:
        if told.get(one) is None and (kind, one) != ("exponential", "low"):
            raise InvalidArgument(f"prior.{one}", None, f"{kind} needs it")
    return declared_prior(
        {"kind": kind} | {one: number_field(told, one) for one in fields if told.get(one) is not None}
    )  # fmt: skip
