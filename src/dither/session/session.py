"""A session: questions about one registered dataset, paid from its budget.

The order of events is the promise: a question is planned from public facts, charged durably, and only then read.
What fails before the charge costs nothing; what fails after it stays charged.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast, overload

from dither.aliases import accepts_calibration
from dither.errors import InvalidArgument
from dither.ledger import Ledger
from dither.notebooks import table_html
from dither.privacy import Loss
from dither.queries.query import Query
from dither.quotes.quote import Quote, Quotes
from dither.release import B, Release, Releases, V
from dither.session import quoting
from dither.session.account import LOCAL, PaidSession
from dither.session.plan import TablePlan
from dither.session.reading import EVERY_ROW, TableSource
from dither.session.statements import plan_for, plans_for, plans_of
from dither.session.stored_quotes import quotes_now
from dither.sources.engines.engine import Engine
from dither.sources.engines.factory import engine_for
from dither.sources.predicates import parse_filter
from dither.sources.schema import Schema
from dither.sources.types import ColumnType
from dither.sql.select import is_select
from dither.sql.statement import Statement, called, parse_question, parse_sql
from dither.statistics.statistic import Statistic, VectorStatistic

if TYPE_CHECKING:
    from typing import Never, Unpack

    from dither.queries.query import F, R
    from dither.typing import (
        Answered,
        ArrowTable,
        Confidence,
        ErrorName,
        Filter,
        GroupKey,
        Interval,
        IntervalName,
        KnownOptions,
        LeastEpsilonOptions,
        MechanismChoice,
        NamedWeights,
        Names,
        NoiseChoice,
        Number,
        PriorChoice,
        QuestionOptions,
        QuoteOptions,
        SqlOptions,
        TableOptions,
        Weights,
    )

Given: TypeAlias = Any
"""An option of one of the overloads above it."""

MANY_GROUPS = 500
"""Questions with more groups than this are answered with a warning."""


def _declared_text(declared: ColumnType) -> str:
    """What is declared of a column besides its type, in words."""
    parts = []
    for key, option in declared.to_dict().items():
        if key == "bounds" and isinstance(option, (list, tuple)):
            parts.append(" to ".join(map(str, option)))
        elif isinstance(option, (list, tuple)):
            parts.append(", ".join(map(str, option)))
        elif key != "type":
            parts.append(f"{key} {option}")
    return "; ".join(parts)


class Session(PaidSession):
    """Ask a dataset; every answer is charged to its budget before the data are read.

    >>> import dither as dt
    >>> session = dt.open({"age": [30, 40, 50, 60] * 50}, columns={"age": dt.Integer(0, 120)}, rows=200,
    ...                   budget=dt.Budget(1.0))
    >>> 0 <= session.ask(dt.Median("age"), epsilon=0.5).value <= 120
    True
    >>> session.budget.left
    Loss(epsilon=0.5, delta=0.0)
    """

    _source: TableSource

    def __init__(
        self,
        schema: Schema,
        *,
        ledger: Ledger | None = None,
        engine: Engine | None = None,
        source: TableSource | None = None,
    ) -> None:
        self.schema = schema
        super().__init__(schema, ledger, source or TableSource(schema, engine or engine_for(schema)))

    def __repr__(self) -> str:
        return f"<Session {self.schema.name}: {', '.join(self.schema.columns)}; {self.budget}>"

    def _repr_html_(self) -> str:
        rows = [(name, declared.type_name, _declared_text(declared)) for name, declared in self.schema.columns.items()]
        number = self.schema.rows
        title = f"{self.schema.name}: {f'{number:,} rows' if isinstance(number, int) else 'number of rows private'}"
        return table_html(["column", "type", "values"], rows, title=title) + self.budget._repr_html_()

    # --- questions ---------------------------------------------------------------------------------------

    @overload
    def ask(
        self,
        query: Query[V, B],
        *,
        epsilon: Number,
        delta: Number = 0.0,
        where: Filter | None = None,
        by: None = None,
        mechanism: MechanismChoice = "auto",
        noise: NoiseChoice = "auto",
        confidence: Confidence = 0.95,
        interval: IntervalName = "sample",
        prior: PriorChoice | None = None,
        rows: int | None = None,
        again: bool = False,
        request_id: str | None = None,
        analyst: str = LOCAL,
    ) -> Release[V, B]: ...
    @overload
    def ask(
        self,
        query: Query[V, B],
        *,
        epsilon: Number,
        delta: Number = 0.0,
        where: Filter | None = None,
        by: Names,
        mechanism: MechanismChoice = "auto",
        noise: NoiseChoice = "auto",
        confidence: Confidence = 0.95,
        interval: IntervalName = "sample",
        prior: PriorChoice | None = None,
        rows: int | None = None,
        again: bool = False,
        request_id: str | None = None,
        analyst: str = LOCAL,
    ) -> Releases[V, B]: ...
    @overload
    def ask(
        self,
        query: Sequence[Query[float, Interval]],
        *,
        epsilon: Number,
        delta: Number = 0.0,
        where: Filter | None = None,
        by: Names | None = None,
        mechanism: MechanismChoice = "auto",
        noise: NoiseChoice = "auto",
        confidence: Confidence = 0.95,
        interval: IntervalName = "sample",
        weights: Weights | None = None,
        prior: PriorChoice | None = None,
        rows: int | None = None,
        again: bool = False,
        request_id: str | None = None,
        analyst: str = LOCAL,
    ) -> Releases[float, Interval]: ...
    @overload
    def ask(
        self,
        query: Sequence[Query],
        *,
        epsilon: Number,
        delta: Number = 0.0,
        where: Filter | None = None,
        by: Names | None = None,
        mechanism: MechanismChoice = "auto",
        noise: NoiseChoice = "auto",
        confidence: Confidence = 0.95,
        interval: IntervalName = "sample",
        weights: Weights | None = None,
        prior: PriorChoice | None = None,
        rows: int | None = None,
        again: bool = False,
        request_id: str | None = None,
        analyst: str = LOCAL,
    ) -> Releases: ...
    @overload
    def ask(
        self,
        query: str,
        *,
        epsilon: Number,
        delta: Number = 0.0,
        where: Filter | None = None,
        by: Names | None = None,
        mechanism: MechanismChoice = "auto",
        noise: NoiseChoice = "auto",
        confidence: Confidence = 0.95,
        interval: IntervalName = "sample",
        weights: Weights | None = None,
        prior: PriorChoice | None = None,
        rows: int | None = None,
        again: bool = False,
        request_id: str | None = None,
        analyst: str = LOCAL,
    ) -> Answered: ...
    @accepts_calibration
    def ask(
        self,
        query: Query | Sequence[Query] | str,
        *,
        epsilon: Number,
        delta: Number = 0.0,
        where: Filter | None = None,
        by: Names | None = None,
        mechanism: MechanismChoice = "auto",
        noise: NoiseChoice = "auto",
        confidence: Confidence = 0.95,
        interval: IntervalName = "sample",
        weights: Weights | None = None,
        prior: PriorChoice | None = None,
        rows: int | None = None,
        again: bool = False,
        request_id: str | None = None,
        analyst: str = LOCAL,
    ) -> Release | Releases:
        """Ask one query, or several at once: all of them are answered, or none and nothing is charged.

        query: a query object, a list of them, or a text of calls such as ``"median(total_pay), count(*)"``.
        epsilon, delta: the whole privacy loss, intervals, groups and all queries included.
        where: a filter such as ``"year = 2014 AND job IN ('clerk', 'nurse')"``.
        by: a column with declared values, or a list of them: one answer for each group, empty ones too.
        weights: how several queries share the privacy loss; evenly by default.
        prior, rows: what is publicly known, as for ``quote``; "auto" then takes the mechanism with the least quoted
            error instead of the one that suits most data.
        again: a question that was answered is answered again from the ledger, free, and so is a count that is a sum of
            bins of a stored histogram; True pays for a new answer.
        request_id: a name for this request: sent again it gets the same answer and pays nothing more.
        analyst: who pays.
        """
        query = called(query, self.schema) if isinstance(query, str) else query
        plans = self.plans(
            query,
            epsilon=epsilon,
            delta=delta,
            where=where,
            by=by,
            weights=weights,
            mechanism=mechanism,
            noise=noise,
            confidence=confidence,
            interval=interval,
            prior=prior,
            rows=rows,
        )
        _tell_of_many_groups(plans)
        answered = self._answer(plans, again=again, request_id=request_id, analyst=analyst)
        return answered if by is not None or not isinstance(query, Query) else answered[0]

    @accepts_calibration
    def plans(
        self,
        query: Query | Sequence[Query],
        *,
        epsilon: Number,
        delta: Number = 0.0,
        weights: Weights | None = None,
        **options: Unpack[TableOptions],
    ) -> list[TablePlan]:
        """What would be computed and charged for one query, or for several that share a privacy loss; see ``ask``."""
        return plans_for(query, self.schema, epsilon=epsilon, delta=delta, weights=weights, **options)

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
        prior: PriorChoice | None = None,
        rows: int | None = None,
        again: bool = False,
        request_id: str | None = None,
        analyst: str = LOCAL,
    ) -> Answered:
        """Ask in SQL: ``SELECT median(total_pay) FROM payroll WHERE year = 2014 GROUP BY job``.

        epsilon, delta: the whole loss.  All queries of the list share it evenly, except for a count of rows whose
        number is public: that is free.  Everything is answered, or nothing and nothing is charged.
        weights: other shares: a list with one for each query, or a mapping of names (``AS name``) to weights.
        prior, rows: what is publicly known, as for ``quote``: "auto" then takes the mechanism with the least error.

        Returns one release, or ``Releases`` where several queries or groups are asked for.
        """
        statement = parse_sql(text, self.schema)
        plans = self._plans_of(
            statement,
            Loss.asked(epsilon, delta),
            weights,
            mechanism=mechanism,
            noise=noise,
            confidence=confidence,
            interval=interval,
            prior=prior,
            rows=rows,
        )
        return self._answer_statement(statement, plans, again=again, request_id=request_id, analyst=analyst)

    def _plans_of(
        self, statement: Statement, loss: Loss, weights: NamedWeights | None, **options: Unpack[KnownOptions]
    ) -> list[TablePlan]:
        """A plan for every query of a statement; together they spend at most ``loss``."""
        plans = plans_of(statement, self.schema, loss, weights, **options)
        _tell_of_many_groups(plans)
        return plans

    @overload
    def quote(self, query: Query, *, again: bool = False, **options: Unpack[QuoteOptions]) -> Quote: ...
    @overload
    def quote(
        self,
        query: Sequence[Query],
        *,
        weights: Weights | None = None,
        again: bool = False,
        **options: Unpack[QuoteOptions],
    ) -> Quotes: ...
    @overload
    def quote(
        self, query: str, *, weights: NamedWeights | None = None, again: bool = False, **options: Unpack[SqlOptions]
    ) -> Quotes: ...
    @accepts_calibration
    def quote(self, query: Query | Sequence[Query] | str, *, again: bool = False, **options: Given) -> Quote | Quotes:
        """Privacy loss, mechanism and error of a question, before it is asked: reads nothing, charges nothing.

        The options of ``ask``, and public knowledge: ``prior`` and ``rows``; see ``dither.quote``.  A question that
        was answered before, and a count that a stored histogram answers, are quoted as free, unless ``again``.
        """
        quoted = quoting.quote(query, self.schema, **options)
        if again:
            return quoted
        if isinstance(query, str) and not is_select(query) and {"where", "by"} & options.keys():
            query = called(query, self.schema)
        if isinstance(query, str):
            loss = Loss.asked(options["epsilon"], options.get("delta", 0.0))
            known = {key: option for key, option in options.items() if key not in ("epsilon", "delta", "weights")}
            plans = plans_of(parse_question(query, self.schema), self.schema, loss, options.get("weights"), **known)
        else:
            plans = self.plans(query, **options)
        listed = [quoted] if isinstance(quoted, Quote) else quoted
        results = quotes_now(self._ledger, self._name, plans, listed, self._histograms)
        return results[0] if isinstance(quoted, Quote) else Quotes(results)

    @accepts_calibration
    def least_epsilon(
        self,
        query: Query,
        *,
        target_error: Number,
        of: ErrorName = "expected_error",
        **options: Unpack[LeastEpsilonOptions],
    ) -> Quote:
        """The quote with the least epsilon whose error reaches a target; see ``dither.least_epsilon``."""
        return quoting.least_epsilon(query, self.schema, target_error=target_error, of=of, **options)

    @accepts_calibration
    def plan(
        self,
        query: Query,
        *,
        prior: PriorChoice | None = None,
        rows: int | None = None,
        **options: Unpack[QuestionOptions],
    ) -> TablePlan:
        """What would be computed and charged: public facts only."""
        return plan_for(query, self.schema, prior=prior, rows=rows, **options)

    def _inspected_groups(
        self,
        query: Query[V, B, Never, F, R],
        *,
        where: Filter | None = None,
        by: Names | None = None,
        only_value: bool = False,
    ) -> tuple[Statistic[R] | VectorStatistic[R], dict[tuple[GroupKey, ...], R]]:
        """NOT private: the statistic and the records of each group, for ``dither.inspect``; charges nothing.

        only_value: where limits are private, the statistic of all rows of everybody, whose ladder means nothing.
        """
        schema = self.schema
        if schema.limit_is_private and not only_value:
            why = "how many rows of one person count is drawn for each answer: values alone can be inspected"
            raise InvalidArgument("rows_per_unit", schema.rows_per_unit, why)
        if schema.limit_is_private:
            schema = dataclasses.replace(schema, rows_per_unit=1)
        made = plan_for(query, schema, epsilon=1.0, confidence=None, where=where, by=by)
        if made.people is not None:
            statistic, counted = self._source.people_for_owner(made)
            return cast("Statistic[R]", statistic), cast("dict[tuple[GroupKey, ...], R]", counted)
        statistic_of_rows = made.statistic
        if self.schema.limit_is_private:
            made = dataclasses.replace(made, schema=dataclasses.replace(made.schema, rows_per_unit=EVERY_ROW))
        return statistic_of_rows, self._source.groups_for_owner(made)

    def _inspected_rows(self, columns: Sequence[str], *, where: Filter | None = None) -> ArrowTable:
        """NOT private: columns of the selected rows as programs see them, for ``dither.inspect``; charges nothing."""
        predicate = None if where is None else parse_filter(where, self.schema)
        return self._source.rows_for_owner(columns, predicate)


def _tell_of_many_groups(plans: Sequence[TablePlan]) -> None:
    """Warn, from public facts, of a question that most people would not have asked: one answer for each day."""
    most = max((plan.groups or 1 for plan in plans), default=1)
    if most > MANY_GROUPS:
        warnings.warn(
            f"{most:,} groups: every declared value gets an answer, empty ones too; narrower bounds or a filter make "
            "fewer of them",
            stacklevel=3,
        )
