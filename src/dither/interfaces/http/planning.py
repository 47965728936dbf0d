"""Plans and quotes, made from public facts in a helper process that can be ended: nothing private is read or charged.

The analyst chooses how long this takes (many queries, small epsilon, a prior), so it gets neither a thread of the
server nor time or memory without a limit.
"""

from __future__ import annotations

import os
import pickle
import resource
import warnings
from collections import OrderedDict
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from dither.borders import fields_of, read
from dither.errors import InvalidArgument, InvalidData, SourceFailed
from dither.interfaces.http.bodies import json_text, parse
from dither.interfaces.http.environment import forget_secrets
from dither.interfaces.http.models import MOST_QUERIES, QuoteDelivery
from dither.interfaces.http.problems import forbidden, problem
from dither.interfaces.http.questions import (
    Question,
    canonical_text,
    named_queries,
    query_names,
    question_of,
    stated_loss,
)
from dither.interfaces.http.schedule import program_of, programs_of, seconds_of
from dither.interfaces.http.store import Token
from dither.interfaces.http.telemetry import log_failure, log_to_stderr
from dither.plain import Given, JsonObject
from dither.privacy import Loss
from dither.queries.query import Query
from dither.quotes.quote import Quote
from dither.session.account import Planned, total_loss
from dither.session.derived import (
    Derivation,
    StoredHistogram,
    best_derivation,
    derived_fields,
    fresh_text,
    may_be_derived,
)
from dither.session.graph_quotes import (
    DeclaredGraph,
    graph_plans,
    graph_quote,
    planned_under,
    quote_graph_statement,
)
from dither.session.plan import SessionPlan
from dither.session.quoting import quote
from dither.session.statements import plans_for, plans_of
from dither.session.stored_quotes import Forms, forms_of
from dither.sources.graph import Graph
from dither.sources.graph_schema import GraphSchema, opened_edge_list
from dither.sources.schema import Schema
from dither.sql.statement import Statement, parse_sql

if TYPE_CHECKING:
    from dither.quotes.graph_priors import GraphPrior
    from dither.typing import AskOptions, KnownOptions

MOST_MEMORY = 4 << 30
"""Bytes that a helper may have: the loaded code takes about a quarter of that."""
MOST_GRAPHS = 4
"""Graphs whose public edges a helper keeps."""
MOST_REPLY = 64 << 20
"""Bytes of a plan or a quote: the server takes them in."""
NICE = 5
"""Helpers yield to questions that were paid for."""
D = TypeVar("D", bound=QuoteDelivery)


class Admitted(NamedTuple, Generic[D]):
    """A body whose token may ask what it names; its queries are not built yet."""

    delivery: D
    key: str
    """The same for the same question."""


@dataclass(frozen=True)
class PlannedQuestion:
    """A question that may be asked: its plans and, of SQL, its statement."""

    plans: list[SessionPlan]
    statement: Statement | None
    loss: Loss
    names: frozenset[str]
    stated: Loss
    """The loss that the question states."""


@dataclass(frozen=True)
class Quoted:
    """What is answered to a request for a quote: written here, so that the server only passes it on."""

    quotes: list[str]
    """In JSON, one for each plan."""
    losses: list[Loss]
    """Of the plans."""
    names: frozenset[str]
    stated: Loss
    """The loss that the question states."""
    forms: Forms
    """What the ledger stores of the same question."""
    is_assumed: bool
    """Whether something is assumed of the records."""
    derivable: bytes | None
    """The plans, pickled, where a stored histogram may answer one of them."""


@dataclass(frozen=True)
class DerivedQuote:
    """The quote of a free answer."""

    entry: int
    """The charge whose histogram answers: those who ask know it by another number."""
    instead: str
    """What a fresh answer would cost."""
    rest: str
    """The other fields, in JSON."""


def admitted(delivery: type[D], body: dict[str, Given], token: Token) -> Admitted[D]:
    """What the server itself reads of a question.  Its rights come first: nothing is built for those who have none."""
    check_rights(named_queries(body), stated_loss(body), token)
    sent = read(delivery, {name: body[name] for name in fields_of(delivery) if name in body})
    return Admitted(sent, canonical_text(body, delivery))


def check_rights(names: frozenset[str], asked: Loss | None, token: Token) -> None:
    """An error if this token may not ask this, as far as it is known."""
    refused = sorted(name for name in names if not token.may_ask(name))
    if refused:
        instead = "" if token.queries is None else f", only {', '.join(token.queries) or 'nothing'}"
        raise forbidden(f"this token may not ask {', '.join(refused)}{instead}")
    if asked is None:
        return
    if token.epsilon_cap is not None and asked.epsilon > token.epsilon_cap:
        raise forbidden(f"this token may spend at most epsilon {token.epsilon_cap:g} on one question")
    if token.delta_cap is not None and asked.delta > token.delta_cap:
        raise forbidden(f"this token may spend at most delta {token.delta_cap:g} on one question")


def planned_text(text: bytes, schema: Schema | GraphSchema, token: Token) -> PlannedQuestion:
    """What would be computed and charged for the question in a body."""
    return planned(question_of(parse(text)), schema, token)


def quoted_text(text: bytes, schema: Schema | GraphSchema, token: Token) -> Quoted:
    """Privacy loss, mechanism and expected error for the question in a body."""
    return quoted(question_of(parse(text), quoted=True), schema, token)


def planned(question: Question, schema: Schema | GraphSchema, token: Token) -> PlannedQuestion:
    """What would be computed and charged."""
    statement = _statement(question, schema)
    names = frozenset(query_names(question, statement))
    asked = Loss.asked(question.epsilon, question.delta)
    check_rights(names, asked, token)
    if isinstance(schema, GraphSchema) and statement is not None:
        plans: list[SessionPlan] = graph_plans(
            statement, _graph(schema), asked, question.weights, prior=_graph_prior(question), **question.options
        )
    elif isinstance(schema, GraphSchema):
        prior = _graph_prior(question)
        plans = [planned_under(_one(question), _graph(schema), prior, _graph_options(question))]
    elif statement is not None:
        plans = list(plans_of(statement, schema, asked, question.weights, **question.options))
    else:
        plans = list(
            plans_for(
                _queries(question),
                schema,
                epsilon=question.epsilon,
                delta=question.delta,
                weights=question.weights,
                **question.options,
                **cast("KnownOptions", question.assumed),
            )
        )
    return PlannedQuestion(plans, statement, total_loss(plans), names, asked)


def quoted(question: Question, schema: Schema | GraphSchema, token: Token) -> Quoted:
    """Privacy loss, mechanism and expected error."""
    built = planned(question, schema, token)
    programs_of(built.plans)
    if isinstance(schema, GraphSchema) and built.statement is not None:
        quotes: Quote | list[Quote] = quote_graph_statement(
            built.statement,
            _graph(schema),
            question.weights,
            epsilon=question.epsilon,
            delta=question.delta,
            **question.options,
            prior=_graph_prior(question),
        )
    elif isinstance(schema, GraphSchema):
        prior = _graph_prior(question)
        quotes = graph_quote(_one(question), _graph(schema), prior=prior, **_graph_options(question))
    else:
        asked: Any = question.sql if question.sql is not None else question.queries  # each has an overload of its own
        quotes = quote(
            asked,
            schema,
            epsilon=question.epsilon,
            delta=question.delta,
            weights=question.weights,
            **question.options,
            **cast("KnownOptions", question.assumed),
        )
    listed = quotes if isinstance(quotes, list) else [quotes]
    return Quoted(
        quotes=[json_text(_sent(*candidate)) for candidate in zip(listed, built.plans, strict=True)],
        losses=[Loss(0.0) if plan.costs_nothing else plan.loss for plan in built.plans],
        names=built.names,
        stated=built.stated,
        forms=forms_of(built.plans),
        is_assumed=bool(question.assumed),
        derivable=pickle.dumps((built.plans, listed)) if any(map(may_be_derived, built.plans)) else None,
    )


def derived_quotes(derivable: bytes, histograms: list[StoredHistogram]) -> list[DerivedQuote | None]:
    """The quotes of the plans that stored histograms answer; None for the others."""
    plans, quotes = pickle.loads(derivable)  # noqa: S301  (of ``quoted``)
    ways = [best_derivation(plan, histograms) for plan in plans]
    return [None if way is None else _derived_quote(way, quote) for way, quote in zip(ways, quotes, strict=True)]


def best_answer(asked: Planned, listed: list[StoredHistogram]) -> Derivation | None:
    """How a stored histogram answers a plan, with its answers; None if none does."""
    way = best_derivation(asked, listed)
    if way is not None:
        _ = way.releases  # worked out once, and here
    return way


def _derived_quote(way: Derivation, fresh: Quote) -> DerivedQuote:
    named = derived_fields(way.entry, fresh_text(fresh))
    rest = {name: part for name, part in way.quote(fresh).to_dict().items() if name not in named}
    return DerivedQuote(way.entry, fresh_text(fresh), json_text(rest))


def helper(connection: Connection) -> None:
    """In a helper process: work on requests one by one, until the other end is closed."""
    os.nice(NICE)
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    limit = MOST_MEMORY if hard == resource.RLIM_INFINITY else min(MOST_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    warnings.simplefilter("ignore")
    forget_secrets()  # public edges are read here, perhaps at an address of the owner's choice
    log_to_stderr()
    while True:
        function, *values = pickle.loads(connection.recv_bytes())  # noqa: S301  (from the server itself)
        try:
            outcome = function(*values)
        except Exception as error:  # noqa: BLE001  (sent in public terms, like everywhere)
            outcome = refused = problem(_too_large() if isinstance(error, MemoryError) else error)
            if refused.code == "internal":
                log_failure(error, route="planning")
        reply = pickle.dumps(outcome)
        connection.send_bytes(reply if len(reply) <= MOST_REPLY else pickle.dumps(problem(_too_large())))


def _too_large() -> InvalidArgument:
    return InvalidArgument("query", "this question", "planning it takes too much memory: ask for less at once")


def _statement(question: Question, schema: Schema | GraphSchema) -> Statement | None:
    if question.sql is None:
        return None
    statement = parse_sql(question.sql, schema)
    if len(statement.items) > MOST_QUERIES:
        raise InvalidArgument("sql", f"{len(statement.items)} queries", f"must have at most {MOST_QUERIES} queries")
    return statement


def _graph(schema: GraphSchema) -> DeclaredGraph:
    """What is public of a graph: the schema alone where edges are private, and then its source is not looked at."""
    if schema.weight is None:
        return DeclaredGraph(schema, None)
    try:
        return DeclaredGraph(schema, _public_edges(schema))
    except (InvalidArgument, InvalidData, OSError):
        raise SourceFailed(f"the source of {schema.name!r} cannot be read now; nothing was charged") from None


_EDGES: OrderedDict[tuple[bytes, str], Graph] = OrderedDict()
"""Public edges that were read, by the schema and the state of its source."""


def _public_edges(schema: GraphSchema) -> Graph | None:
    """The public edges; read anew where their source says that it has changed, or says nothing."""
    with opened_edge_list(schema) as listed:
        state = listed.state()
        key = (pickle.dumps(schema), state or "")
        if state is None or key not in _EDGES:
            listed.ready()
            edges = listed.read_public()
            if edges is None or state is None:
                return edges
            _EDGES[key] = edges
            while len(_EDGES) > MOST_GRAPHS:
                _EDGES.popitem(last=False)
    _EDGES.move_to_end(key)
    return _EDGES[key]


def _one(question: Question) -> Query:
    queries = _queries(question)
    if isinstance(queries, list):
        raise InvalidArgument("query", "a list", "must be one query where a graph is asked")
    return queries


def _queries(question: Question) -> Query | list[Query]:
    if question.queries is None:
        raise RuntimeError("a question that is not SQL has queries")
    return question.queries


def _graph_options(question: Question) -> AskOptions:
    for name in ("where", "by"):
        if question.options.get(name) is not None:
            raise InvalidArgument(
                name, question.options[name], "is not used for a graph, which is asked as a whole: leave it out"
            )
    options = {key: question.options[key] for key in ("mechanism", "noise", "confidence", "interval")}
    return cast("AskOptions", {"epsilon": question.epsilon, "delta": question.delta, **options})


def _graph_prior(question: Question) -> GraphPrior | None:
    """What is publicly known of the edges of a graph; a prior of a column is refused where it is used."""
    if "rows" in question.assumed:
        raise InvalidArgument("rows", question.assumed["rows"], "is not used for a graph: leave it out")
    return cast("GraphPrior | None", question.assumed.get("prior"))


def _sent(quote: Quote, plan: SessionPlan) -> JsonObject:
    """A quote as it is sent; of programs, which run on a public schedule, with that."""
    payload = quote.to_dict()
    if quote.expected_error is None:
        payload |= {"kind": None, "confidence": None}
    if plan.is_scheduled:
        payload |= {"blocks": program_of(plan).blocks, "seconds": seconds_of(plan)}
    return payload
