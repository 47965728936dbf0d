"""Plans and quotes of graphs, from public facts alone: the schema, public edges, and a prior."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Protocol, cast

from dither.errors import InvalidArgument, NotApplicable, NotProved
from dither.mechanisms.choice import MECHANISMS, applicable, named_noise
from dither.plain import exact_text, plain
from dither.privacy import Loss
from dither.queries.plan import Options
from dither.queries.planning import planned
from dither.queries.query import Query
from dither.queries.registry import entry_of, no_query
from dither.quotes.graph_priors import GRAPH_PRIORS, GraphPrior
from dither.quotes.quote import Figures, Quote, Quotes, for_all_data, on_graphs
from dither.release import SAMPLE, B, IntervalName, V
from dither.session.forms import form_of, form_of_0_1_0
from dither.session.plan import GraphPlan, SessionPlan
from dither.session.shares import shared
from dither.sources.graph import Graph, GraphShape
from dither.sources.graph_schema import GraphSchema, opened_edge_list
from dither.sql.statement import Statement, parse_sql, weights_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from dither.typing import (
        AskOptions,
        Confidence,
        GraphKnownOptions,
        HowOptions,
        MechanismChoice,
        MechanismName,
        NamedWeights,
        NoiseChoice,
        Number,
        Weights,
    )

LEVEL = 0.95
"""Of the quoted bound, where no interval is wanted."""
_ASKED_OF = ("graph", "weighted graph", "anything")


class PublicGraph(Protocol):
    """What is public about a registered graph."""

    @property
    def schema(self) -> GraphSchema:
        """What its owner declares."""

    @property
    def edges(self) -> Graph | None:
        """Its edges, with zeros for their weights; None where they are private."""


@dataclasses.dataclass(frozen=True)
class DeclaredGraph:
    """A graph of which only the schema is looked at, and its edges where they are public."""

    schema: GraphSchema
    edges: Graph | None


def graph_plan(
    query: Query[V, B],
    source: PublicGraph,
    *,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = SAMPLE,
) -> SessionPlan:
    """The plan of one query, from the schema and the public edges."""
    if not isinstance(query, Query):
        raise no_query(query)
    if entry_of(query).of not in _ASKED_OF:
        raise InvalidArgument("query", query, "must be a question about a graph such as Triangles()")
    options, schema = Options.asked(epsilon, delta, mechanism, noise, confidence, interval), source.schema
    if source.edges is not None:
        shape = cast("Query[V, B, Graph]", query).shape(source.edges)
    elif entry_of(query).of == "weighted graph":
        raise InvalidArgument("query", query.name, "the schema of a graph with weights declares weight and cap")
    else:
        shape = GraphShape.of(schema.vertices, schema.neighbours)
    inner = planned(query, shape, options)
    if options.simultaneous is not None:
        options = options.for_all(inner)
        inner = planned(query, shape, options)
    if inner.neighbours is not schema.neighbours:
        raise NotApplicable(
            "query", query.name, f"its loss is not about these data, whose neighbours are {schema.neighbours}", "edges"
        )
    declared = [schema.vertices, *schema.ends, schema.weight, schema.cap, schema.step]
    words = (query, options.loss, {"graph": plain(declared, exact_text)}, mechanism, noise, options.level)
    return GraphPlan(schema, query, inner, inner.loss, form_of(*words), form_of_0_1_0(*words), options.together)


def planned_under(query: Query, source: PublicGraph, prior: GraphPrior | None, options: AskOptions) -> SessionPlan:
    """The plan of one query; under a prior "auto" is the mechanism with the least quoted error."""
    if prior is not None:
        _check_prior(prior, source)
    if prior is not None and options.get("mechanism", "auto") == "auto":
        quoted = graph_quote(query, source, prior=prior, **options)
        options = {**options, "mechanism": cast("MechanismName", next(iter(quoted.alternatives), "auto"))}
    return graph_plan(query, source, **options)


def graph_plans(
    statement: Statement,
    source: PublicGraph,
    loss: Loss,
    weights: NamedWeights | None,
    *,
    prior: GraphPrior | None = None,
    **options: Unpack[HowOptions],
) -> list[SessionPlan]:
    """A plan for every query of a statement; together they cost at most ``loss``."""
    plans = []
    for item, part in shared(statement.items, loss, weights_of(statement, weights)):
        with statement.pointing_at(item):
            asked: AskOptions = {"epsilon": part.epsilon, "delta": part.delta, **options}
            plans.append(planned_under(item.query, source, prior, asked))
    return plans


def graph_quote(
    query: Query, source: PublicGraph, *, prior: GraphPrior | None = None, **options: Unpack[AskOptions]
) -> Quote:
    """Privacy loss, mechanism and error of one query about a graph.

    prior: what is publicly known of the edges; then the error is an estimate on graphs that are drawn from it, and
        "auto" the mechanism with the least.  Without one it is an upper bound for all graphs with as many vertices.
    """
    planned = graph_plan(query, source, **options)
    level = LEVEL if planned.confidence is None else planned.confidence
    if prior is None:
        return _quote(planned, for_all_data(planned.prepared, level), level)
    _check_prior(prior, source)
    vertices = source.schema.vertices
    if options.get("mechanism", "auto") != "auto":
        return _under_prior(planned, prior, vertices, level)
    statistic = planned.statistic
    names = [entry for entry in statistic.mechanism_preference if entry in applicable(statistic)]
    if named_noise(options.get("noise", "auto")) is not None:
        names = [entry for entry in names if MECHANISMS[entry].adds_noise]
    compared: dict[str, Quote] = {}
    for name in names:
        try:
            named: AskOptions = {**options, "mechanism": cast("MechanismName", name)}
            compared[name] = _under_prior(graph_plan(query, source, **named), prior, vertices, level)
        except (NotApplicable, NotProved, InvalidArgument):
            # It does not serve this privacy loss or noise; the default, at least, does.
            if name == planned.mechanism:
                raise
    ordered = sorted(compared.items(), key=lambda item: item[1].worst_expected)
    return dataclasses.replace(ordered[0][1], alternatives={name: entry.expected_error for name, entry in ordered})


def quote_graph(
    query: Query | Sequence[Query] | str,
    schema: GraphSchema,
    *,
    weights: NamedWeights | None = None,
    **options: Unpack[GraphKnownOptions],
) -> Quote | Quotes:
    """The quote of a query, or those of a list or of SQL, for a schema; edges are read where they are public."""
    source = DeclaredGraph(schema, None)
    if schema.weight is not None:
        with opened_edge_list(schema) as listed:
            source = DeclaredGraph(schema, listed.read_public())
    if isinstance(query, Query):
        return graph_quote(query, source, **options)
    if isinstance(query, str):
        return quote_graph_statement(parse_sql(query, schema), source, weights, **options)
    loss = Loss.asked(options["epsilon"], options.get("delta", 0.0))
    return Quotes(
        graph_quote(item, source, **_with_part(options, part))
        for item, part in shared(query, loss, cast("Weights | None", weights))
    )


def quote_graph_statement(
    statement: Statement,
    source: PublicGraph,
    weights: NamedWeights | None = None,
    **options: Unpack[GraphKnownOptions],
) -> Quotes:
    """Quotes for the queries of a statement; they share the loss as its answers do."""
    loss = Loss.asked(options["epsilon"], options.get("delta", 0.0))
    quotes = []
    for item, part in shared(statement.items, loss, weights_of(statement, weights)):
        with statement.pointing_at(item):
            quotes.append(graph_quote(item.query, source, **_with_part(options, part)))
    return Quotes(quotes)


def _with_part(options: GraphKnownOptions, part: Loss) -> GraphKnownOptions:
    return {**options, "epsilon": part.epsilon, "delta": part.delta}


def _check_prior(prior: GraphPrior, source: PublicGraph) -> None:
    if not isinstance(prior, GraphPrior):
        names = " or ".join(f"{item.__name__}(...)" for item in GRAPH_PRIORS)
        raise InvalidArgument("prior", prior, f"must be {names} for a graph")
    if source.edges is not None:
        raise InvalidArgument("prior", prior, "says which edges there are, and here edges are public: leave it out")


def _under_prior(planned: SessionPlan, prior: GraphPrior, vertices: int, level: float) -> Quote:
    figures = on_graphs(planned.prepared, prior, vertices, level)
    return _quote(planned, figures, level, prior=repr(prior))


def _quote(planned: SessionPlan, figures: Figures, level: float, prior: str | None = None) -> Quote:
    return Quote(
        query=planned.label,
        loss=planned.loss,
        expected_error=figures.expected,
        bound=figures.bound,
        confidence=level,
        mechanism=planned.mechanism,
        noise=planned.noise,
        kind=figures.kind,
        attained=figures.attained,
        prior=prior,
        half_width=figures.half_width if prior is not None else None,
        assumptions=("if it answers: a test may refuse",) if planned.prepared.refusal is not None else (),
        floor=figures.floor,
    )
