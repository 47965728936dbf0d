"""From a question to its plans, from public facts: in the server for its price, and again in the worker that reads."""

from __future__ import annotations

from typing import Any

from dither.data.graph_schema import GraphSchema
from dither.errors import InvalidArgument
from dither.privacy import Loss
from dither.session.statements import plans_of
from dither.sql.statement import parse_sql
from dither.surfaces.http.questions import Question


def statement_of(question: Question, schema: Any) -> Any:
    """The statement of SQL; None of a query."""
    if question.sql is None:
        return None
    if isinstance(schema, GraphSchema):
        raise InvalidArgument("sql", question.sql, "a graph is asked with query objects")
    return parse_sql(question.sql, schema)


def plans_in(session: Any, question: Question, statement: Any) -> list[Any]:
    """The plans of a question about the dataset of a session."""
    if isinstance(session.schema, GraphSchema):
        return [session.plan(_one(question), **graph_options(question))]
    if statement is not None:
        price = Loss.asked(question.epsilon, question.delta)
        return plans_of(statement, session.schema, price, question.weights, **question.options)
    plans: list[Any] = session.plans(
        question.queries, epsilon=question.epsilon, delta=question.delta, weights=question.weights,
        **question.options, **question.assumed,
    )  # fmt: skip
    return plans


def _one(question: Question) -> Any:
    if isinstance(question.queries, list):
        raise InvalidArgument("query", "a list", "a graph is asked one query at a time")
    return question.queries


def graph_options(question: Question) -> dict[str, Any]:
    """The options of a question about a graph."""
    for name in ("where", "by"):
        if question.options.get(name) is not None:
            raise InvalidArgument(name, question.options[name], "a graph is asked as a whole")
    for name in question.assumed:
        raise InvalidArgument(name, None, "of a graph nothing is assumed")
    options = {key: question.options[key] for key in ("calibration", "noise", "confidence")}
    return {"epsilon": question.epsilon, "delta": question.delta, **options}
