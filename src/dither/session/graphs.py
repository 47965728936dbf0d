"""A session over a registered graph: the same account and the same order of events as for tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, cast, overload

from dither.aliases import accepts_calibration
from dither.errors import InvalidArgument
from dither.ledger import Ledger
from dither.plain import exact_text, plain
from dither.privacy import Loss
from dither.queries.plan import Options
from dither.queries.query import Query
from dither.queries.registry import entry_of, no_query
from dither.quotes.quote import Quote, Quotes, for_all_data
from dither.release import B, Release, Releases, V
from dither.session.account import LOCAL, PaidSession, total_loss
from dither.session.forms import form_of, form_of_0_1_0
from dither.session.plan import SessionPlan
from dither.session.reading import GraphSource
from dither.session.shares import shared
from dither.session.statements import named
from dither.sources.graph import Graph, GraphShape
from dither.sources.graph_schema import GraphSchema
from dither.sql.statement import Statement, parse_sql, weights_of
from dither.statistics.statistic import Statistic, VectorStatistic

if TYPE_CHECKING:
    from typing import Never, Unpack

    from dither.queries.query import F, R
    from dither.typing import (
        Answered,
        AskOptions,
        Confidence,
        HowOptions,
        MechanismChoice,
        NamedWeights,
        NoiseChoice,
        Number,
    )

Given: TypeAlias = Any
"""An option of one of the overloads above it."""

LEVEL = 0.95
"""Of the quoted bound, where no interval is wanted."""
_ASKED_OF = ("graph", "weighted graph", "anything")


class GraphSession(PaidSession):
    """Ask a graph; every answer is charged to its budget before the private edges, or weights, are read."""

    _source: GraphSource

    def __init__(self, schema: GraphSchema, *, ledger: Ledger | None = None, source: GraphSource | None = None) -> None:
        self.schema = schema
        super().__init__(schema, ledger, source or GraphSource(schema))

    def __repr__(self) -> str:
        return f"<GraphSession {self.schema.name}: {self.schema.vertices} vertices; {self.budget}>"

    @accepts_calibration
    def ask(
        self,
        query: Query[V, B],
        *,
        epsilon: Number,
        delta: Number = 0.0,
        mechanism: MechanismChoice = "auto",
        noise: NoiseChoice = "auto",
        confidence: Confidence = 0.95,
        again: bool = False,
        request_id: str | None = None,
        analyst: str = LOCAL,
    ) -> Release[V, B]:
        """Ask a query such as ``Triangles()`` or ``MSTCost()``; options as for tables."""
        planned = self.plan(
            query, epsilon=epsilon, delta=delta, mechanism=mechanism, noise=noise, confidence=confidence
        )
        answered: Releases[V, B] = self.answer([planned], again=again, request_id=request_id, analyst=analyst)
        return answered[0]

    @accepts_calibration
    def sql(
        self,
        text: str,
        *,
        epsilon: Number,
        delta: Number = 0.0,
        weights: NamedWeights | None = None,
        mechanism: MechanismChoice = "auto",
        noise: NoiseChoice = "auto",
        confidence: Confidence = 0.95,
        again: bool = False,
        request_id: str | None = None,
        analyst: str = LOCAL,
    ) -> Answered:
        """Ask in SQL: ``SELECT triangles(), kstars(2) FROM friends``; a graph is asked as a whole.

        epsilon, delta: the whole privacy loss.  All queries of the list share it evenly, or by ``weights``: a list with
        one for each, or a mapping of names (``AS name``) to weights.  Everything is answered, or nothing and nothing is
        charged.  Returns one release, or ``Releases`` of several queries.
        """
        return self.answer_statement(
            parse_sql(text, self.schema),
            epsilon=epsilon,
            delta=delta,
            weights=weights,
            again=again,
            request_id=request_id,
            analyst=analyst,
            mechanism=mechanism,
            noise=noise,
            confidence=confidence,
        )

    def answer_statement(
        self,
        statement: Statement,
        *,
        epsilon: Number,
        delta: Number = 0.0,
        weights: NamedWeights | None = None,
        again: bool = False,
        request_id: str | None = None,
        analyst: str = LOCAL,
        **options: Unpack[HowOptions],
    ) -> Answered:
        """Answer a statement that was read before; see ``sql``."""
        plans = self.plans_of(statement, Loss.asked(epsilon, delta), weights, **options)
        answers = self.answers(plans, again=again, request_id=request_id, analyst=analyst)
        answered = Releases(named(statement, answers), total_loss(plans))
        return cast("Answered", answered if len(plans) > 1 else answered[0])

    def plans_of(
        self,
        statement: Statement,
        loss: Loss,
        weights: NamedWeights | None = None,
        **options: Unpack[HowOptions],
    ) -> list[SessionPlan]:
        """A plan for every query of a statement; together they cost at most ``loss``."""
        plans = []
        for item, part in shared(statement.items, loss, weights_of(statement, weights)):
            with statement.pointing_at(item):
                plans.append(self.plan(item.query, epsilon=part.epsilon, delta=part.delta, **options))
        return plans

    def quote_statement(
        self,
        statement: Statement,
        *,
        epsilon: Number,
        delta: Number = 0.0,
        weights: NamedWeights | None = None,
        **options: Unpack[HowOptions],
    ) -> Quotes:
        """Quotes for the queries of a statement; they share the loss as its answers do."""
        quotes = []
        for item, part in shared(statement.items, Loss.asked(epsilon, delta), weights_of(statement, weights)):
            with statement.pointing_at(item):
                quotes.append(self.quote(item.query, epsilon=part.epsilon, delta=part.delta, **options))
        return Quotes(quotes)

    @accepts_calibration
    def plan(
        self,
        query: Query,
        *,
        epsilon: Number,
        delta: Number = 0.0,
        mechanism: MechanismChoice = "auto",
        noise: NoiseChoice = "auto",
        confidence: Confidence = 0.95,
    ) -> SessionPlan:
        """What would be computed and charged: public facts only."""
        return graph_plan(
            query,
            self._source,
            epsilon=epsilon,
            delta=delta,
            mechanism=mechanism,
            noise=noise,
            confidence=confidence,
        )

    @overload
    def quote(self, query: Query, **options: Unpack[AskOptions]) -> Quote: ...
    @overload
    def quote(self, query: str, *, weights: NamedWeights | None = None, **options: Unpack[AskOptions]) -> Quotes: ...
    @accepts_calibration
    def quote(self, query: Query | str, *, confidence: Confidence = 0.95, **options: Given) -> Quote | Quotes:
        """Privacy loss, mechanism and error of a question, before it is asked: reads nothing, charges nothing.

        The error is an upper bound for all graphs with as many vertices.  A text is SQL; its quotes are ``Quotes``.
        """
        if isinstance(query, str):
            return self.quote_statement(parse_sql(query, self.schema), confidence=confidence, **options)
        planned = self.plan(query, confidence=confidence, **options)
        level = LEVEL if planned.confidence is None else planned.confidence
        figures = for_all_data(planned.prepared, level)
        may_refuse = planned.prepared.refusal is not None
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
            assumptions=("if it answers: a test may refuse",) if may_refuse else (),
        )

    def inspected(self, query: Query[V, B, Never, F, R]) -> tuple[Statistic[R] | VectorStatistic[R], R]:
        """NOT private: the statistic and the graph, for ``dither.inspect``; charges nothing."""
        return self.plan(query, epsilon=1.0, confidence=None).prepared.statistic, self._source.graph_for(query)


def graph_plan(
    query: Query[V, B],
    source: GraphSource,
    *,
    epsilon: Number,
    delta: Number,
    mechanism: MechanismChoice,
    noise: NoiseChoice,
    confidence: Confidence,
) -> SessionPlan:
    """The plan of one query, from the schema and the public edges."""
    if not isinstance(query, Query):
        raise no_query(query)
    if entry_of(query).of not in _ASKED_OF:
        raise InvalidArgument("query", query, "must be a question about a graph such as Triangles()")
    options, schema = Options.asked(epsilon, delta, mechanism, noise, confidence), source.schema
    if source.edges is not None:
        shape = cast("Query[V, B, Graph]", query).shape(source.edges)
    elif entry_of(query).of == "weighted graph":
        raise InvalidArgument("query", query.name, "the schema of a graph with weights declares weight and cap")
    else:
        shape = GraphShape(schema.vertices, whole=True, nullable=False)
    inner = query.plan(shape, options)
    declared = [schema.vertices, *schema.ends, schema.weight, schema.cap, schema.step]
    words = (query, options.loss, {"graph": plain(declared, exact_text)}, mechanism, noise, options.level)
    return SessionPlan(schema, query, inner, inner.loss, form_of(*words), form_of_0_1_0(*words))
