"""A session over a registered graph: the same account and the same order of events as for tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, overload

from dither.aliases import accepts_calibration
from dither.errors import InvalidArgument
from dither.ledger import Ledger
from dither.notebooks import table_html
from dither.privacy import Loss
from dither.queries.query import Query
from dither.quotes.quote import Quote, Quotes
from dither.release import B, Release, Releases, V
from dither.session.account import LOCAL, PaidSession
from dither.session.graph_quotes import graph_plans, graph_quote, planned_under, quote_graph_statement
from dither.session.plan import SessionPlan
from dither.session.reading import GraphSource
from dither.session.stored_quotes import quotes_now
from dither.sources.graph_schema import GraphSchema
from dither.sql.statement import Statement, called, parse_question, parse_sql
from dither.statistics.statistic import Statistic, VectorStatistic

if TYPE_CHECKING:
    from typing import Never, Unpack

    from dither.queries.query import F, R
    from dither.quotes.graph_priors import GraphPrior
    from dither.typing import (
        Answered,
        AskOptions,
        Confidence,
        GraphKnownOptions,
        GraphOptions,
        IntervalName,
        MechanismChoice,
        NamedWeights,
        NoiseChoice,
        Number,
    )

Given: TypeAlias = Any
"""An option of one of the overloads above it."""


class GraphSession(PaidSession):
    """Ask a graph; every answer is charged to its budget before the private edges, or weights, are read."""

    _source: GraphSource

    def __init__(self, schema: GraphSchema, *, ledger: Ledger | None = None, source: GraphSource | None = None) -> None:
        self.schema = schema
        super().__init__(schema, ledger, source or GraphSource(schema))

    def __repr__(self) -> str:
        return f"<GraphSession {self.schema.name}: {self.schema.vertices} vertices; {self.budget}>"

    def _repr_html_(self) -> str:
        facts = [("vertices", f"{self.schema.vertices:,}"), ("protects", str(self.schema.neighbours))]
        return table_html(["", "graph"], facts, title=self.schema.name) + self.budget._repr_html_()

    @accepts_calibration
    def ask(
        self,
        query: Query[V, B] | str,
        *,
        epsilon: Number,
        delta: Number = 0.0,
        mechanism: MechanismChoice = "auto",
        noise: NoiseChoice = "auto",
        confidence: Confidence = 0.95,
        interval: IntervalName = "sample",
        prior: GraphPrior | None = None,
        again: bool = False,
        request_id: str | None = None,
        analyst: str = LOCAL,
    ) -> Release[V, B]:
        """Ask a query such as ``Triangles()`` or ``MSTCost()``; options as for tables.

        prior: what is publicly known of the edges (``ErdosRenyi``, ``DegreeSequence``), as for ``quote``; "auto" then
            takes the mechanism with the least quoted error.
        """
        if isinstance(query, str):
            queries = called(query, self.schema)
            if not isinstance(queries, Query):
                raise InvalidArgument("query", query, "is several queries: ask them with session.sql(...)")
            query = queries
        planned = self.plan(
            query,
            epsilon=epsilon,
            delta=delta,
            mechanism=mechanism,
            noise=noise,
            confidence=confidence,
            interval=interval,
            prior=prior,
        )
        answered: Releases[V, B] = self._answer([planned], again=again, request_id=request_id, analyst=analyst)
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
        interval: IntervalName = "sample",
        prior: GraphPrior | None = None,
        again: bool = False,
        request_id: str | None = None,
        analyst: str = LOCAL,
    ) -> Answered:
        """Ask in SQL: ``SELECT triangles(), kstars(2) FROM friends``; a graph is asked as a whole.

        epsilon, delta: the whole privacy loss.  All queries of the list share it evenly, or by ``weights``: a list with
        one for each, or a mapping of names (``AS name``) to weights.  Everything is answered, or nothing and nothing is
        charged.  Returns one release, or ``Releases`` of several queries.
        """
        statement, loss = parse_sql(text, self.schema), Loss.asked(epsilon, delta)
        plans = self._plans_of(
            statement,
            loss,
            weights,
            mechanism=mechanism,
            noise=noise,
            confidence=confidence,
            interval=interval,
            prior=prior,
        )
        return self._answer_statement(statement, plans, again=again, request_id=request_id, analyst=analyst)

    def _plans_of(
        self,
        statement: Statement,
        loss: Loss,
        weights: NamedWeights | None,
        **options: Unpack[GraphOptions],
    ) -> list[SessionPlan]:
        """A plan for every query of a statement; together they cost at most ``loss``."""
        return graph_plans(statement, self._source, loss, weights, **options)

    def _quote_statement(
        self,
        statement: Statement,
        *,
        epsilon: Number,
        delta: Number = 0.0,
        weights: NamedWeights | None = None,
        **options: Unpack[GraphOptions],
    ) -> Quotes:
        """Quotes for the queries of a statement; they share the loss as its answers do."""
        return quote_graph_statement(statement, self._source, weights, epsilon=epsilon, delta=delta, **options)

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
        interval: IntervalName = "sample",
        prior: GraphPrior | None = None,
    ) -> SessionPlan:
        """What would be computed and charged: public facts only."""
        options: AskOptions = {
            "epsilon": epsilon,
            "delta": delta,
            "mechanism": mechanism,
            "noise": noise,
            "confidence": confidence,
            "interval": interval,
        }
        return planned_under(query, self._source, prior, options)

    @overload
    def quote(self, query: Query, *, again: bool = False, **options: Unpack[GraphKnownOptions]) -> Quote: ...
    @overload
    def quote(
        self,
        query: str,
        *,
        weights: NamedWeights | None = None,
        again: bool = False,
        **options: Unpack[GraphKnownOptions],
    ) -> Quotes: ...
    @accepts_calibration
    def quote(
        self, query: Query | str, *, again: bool = False, confidence: Confidence = 0.95, **options: Given
    ) -> Quote | Quotes:
        """Privacy loss, mechanism and error of a question, before it is asked: reads nothing, charges nothing.

        prior: what is publicly known of the edges, ``ErdosRenyi(p)`` or ``DegreeSequence(degrees)``: the error is then
            an estimate on such graphs, and "auto" the mechanism with the least.  Without one the error is an upper
            bound for all graphs with as many vertices.  A text is SQL; its quotes are ``Quotes``.
        again: quote a fresh answer; a question that was answered before is quoted as free.
        """
        plans: list[SessionPlan]
        if isinstance(query, Query):
            quoted = graph_quote(query, self._source, confidence=confidence, **options)
            if again:
                return quoted
            plans = [self.plan(query, confidence=confidence, **options)]
            return quotes_now(self._ledger, self._name, plans, [quoted])[0]
        statement = parse_question(query, self.schema)
        quotes = self._quote_statement(statement, confidence=confidence, **options)
        if again:
            return quotes
        loss = Loss.asked(options["epsilon"], options.get("delta", 0.0))
        known = {key: option for key, option in options.items() if key not in ("epsilon", "delta", "weights")}
        plans = self._plans_of(statement, loss, options.get("weights"), confidence=confidence, **known)
        return Quotes(quotes_now(self._ledger, self._name, plans, quotes))

    def _inspected(self, query: Query[V, B, Never, F, R]) -> tuple[Statistic[R] | VectorStatistic[R], R]:
        """NOT private: the statistic and the graph, for ``dither.inspect``; charges nothing."""
        return self.plan(query, epsilon=1.0, confidence=None).prepared.statistic, self._source.graph_for(query)
