"""Quotes for a schema: public facts only, no source is opened, nothing is read or charged."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, cast, get_args, overload

from dither.aliases import accepts_calibration
from dither.errors import EpsilonTooSmall, InvalidArgument, NotApplicable, NotProved
from dither.mechanisms.choice import MECHANISMS, applicable, epsilon_of_rho, named_noise
from dither.mechanisms.mechanism import MOST_EPSILON
from dither.numbers import exact
from dither.privacy import Loss, Simultaneous, fraction_of_unit
from dither.queries.query import Query
from dither.queries.vectors import Histogram
from dither.quotes.priors import Prior, check_within, declared_prior, prior_of
from dither.quotes.quote import (
    EXACT,
    LEVEL,
    UNKNOWN,
    UPPER_BOUND,
    Figures,
    Quote,
    Quotes,
    for_all_data,
    over_shapes,
    under_prior,
)
from dither.release import SAMPLE
from dither.session.plan import TablePlan, adds_rho, plan
from dither.session.shares import shared, shared_by_items, shares_of
from dither.sources.graph_schema import GraphSchema
from dither.sources.schema import Schema
from dither.sources.types import DROP, Measured
from dither.sql.select import is_select
from dither.sql.statement import Statement, called, parse_question
from dither.typing import ErrorName

if TYPE_CHECKING:
    from typing import Unpack

    from dither.quotes.graph_priors import GraphPrior
    from dither.typing import (
        Confidence,
        Filter,
        GraphKnownOptions,
        HowOptions,
        IntervalName,
        KnownOptions,
        LeastEpsilonOptions,
        MechanismChoice,
        MechanismName,
        NamedWeights,
        Names,
        NoiseChoice,
        Number,
        PriorChoice,
        QuestionOptions,
        QuoteOptions,
        TableOptions,
        Weights,
    )

LEAST_EPSILON = 1e-4
ASSUMED_ROWS = 1_000
"""The typical error is that of so many records, where nobody says how many there are."""
PRECISION = 1.01
"""The least epsilon is found to about one percent."""


@overload
def quote(query: Query, schema: GraphSchema, **options: Unpack[GraphKnownOptions]) -> Quote: ...
@overload
def quote(
    query: Sequence[Query] | str,
    schema: GraphSchema,
    *,
    weights: NamedWeights | None = None,
    **options: Unpack[GraphKnownOptions],
) -> Quotes: ...
@overload
def quote(
    query: Query,
    schema: Schema,
    *,
    epsilon: Number,
    delta: Number = 0.0,
    where: Filter | None = None,
    by: Names | None = None,
    prior: PriorChoice | None = None,
    rows: int | None = None,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
) -> Quote: ...
@overload
def quote(
    query: Sequence[Query],
    schema: Schema,
    *,
    epsilon: Number,
    delta: Number = 0.0,
    where: Filter | None = None,
    by: Names | None = None,
    prior: PriorChoice | None = None,
    rows: int | None = None,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
    weights: Weights | None = None,
) -> Quotes: ...
@overload
def quote(
    query: str,
    schema: Schema,
    *,
    epsilon: Number,
    delta: Number = 0.0,
    prior: PriorChoice | None = None,
    rows: int | None = None,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
    weights: NamedWeights | None = None,
) -> Quotes: ...
@accepts_calibration
def quote(
    query: Query | Sequence[Query] | str,
    schema: Schema | GraphSchema,
    *,
    epsilon: Number,
    delta: Number = 0.0,
    where: Filter | None = None,
    by: Names | None = None,
    prior: PriorChoice | GraphPrior | None = None,
    rows: int | None = None,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
    weights: NamedWeights | None = None,
) -> Quote | Quotes:
    """Privacy loss, mechanism and error of one query (a ``Quote``), or of a list or SQL (``Quotes``).

    prior: what is publicly known about the values (``Lognormal``, ``Normal``, ``Uniform``, ``Exponential``,
        ``PublicSample``), for all columns, or a mapping of columns to priors.  Without one it is what the schema
        declares about the column, if anything; else the error is an upper bound for all data.  Of a graph:
        ``ErdosRenyi`` or ``DegreeSequence``.
    rows: how many records you assume in the selection, or in each group, where that number is private.  Where the
        table's number of rows is public and nothing is filtered, all groups are taken to be alike.
    mechanism: "auto" compares all that apply under a prior and takes the best; without one it is the public rule.

    >>> import dither as dt
    >>> schema = dt.Schema("pay.csv", {"pay": dt.Real(0, 600_000)}, rows=100_000)
    >>> dt.quote(dt.Median("pay"), schema, epsilon=0.5).kind
    'upper bound'
    >>> quoted = dt.quote(dt.Median("pay"), schema, epsilon=0.5, prior=dt.Lognormal(median=70_000, sigma=0.8))
    >>> 5 < quoted.worst_expected < 20
    True
    """
    if isinstance(schema, GraphSchema):
        from dither.session.graph_quotes import quote_graph  # noqa: PLC0415  (graph kernels are slow to load)

        for name, given in (("where", where), ("by", by), ("rows", rows)):
            if given is not None:
                raise InvalidArgument(name, given, "a graph is asked as a whole: leave it out")
        return quote_graph(
            query,
            schema,
            weights=weights,
            epsilon=epsilon,
            delta=delta,
            mechanism=mechanism,
            noise=noise,
            confidence=confidence,
            interval=interval,
            prior=cast("GraphPrior | None", prior),
        )
    known: KnownOptions = {
        "prior": cast("PriorChoice | None", prior),
        "rows": rows,
        "mechanism": mechanism,
        "noise": noise,
        "confidence": confidence,
        "interval": interval,
    }
    options: TableOptions = {**known, "where": where, "by": by}
    if isinstance(query, str) and not is_select(query) and (where is not None or by is not None):
        query = called(query, schema)
    if isinstance(query, Query):
        shares_of(cast("Weights | None", weights), 1)
        return _quoted(query, schema, epsilon=epsilon, delta=delta, **options)
    if isinstance(query, str):
        if where is not None or by is not None:
            raise InvalidArgument("where" if by is None else "by", where if by is None else by, "SQL says it itself")
        return quote_statement(parse_question(query, schema), schema, Loss.asked(epsilon, delta), weights, **known)
    parts = shared(query, Loss.asked(epsilon, delta), cast("Weights | None", weights))
    options = together(options, len(parts))
    return Quotes(_quoted(item, schema, epsilon=part.epsilon, delta=part.delta, **options) for item, part in parts)


def together(options: TableOptions, queries: int) -> TableOptions:
    """The options of each of some queries that are asked together: what all intervals may miss is shared evenly."""
    confidence = options.get("confidence")
    if not isinstance(confidence, Simultaneous):
        return options
    return {**options, "confidence": confidence.among(queries)}


def quote_statement(
    statement: Statement,
    schema: Schema,
    loss: Loss,
    weights: NamedWeights | None = None,
    **options: Unpack[KnownOptions],
) -> Quotes:
    """Quotes for the queries of a statement that was read before; they share the privacy loss as its answers do."""
    asked: TableOptions = {**options, "where": statement.where, "by": list(statement.by) or None}
    schema = statement.schema or schema
    asked = together(asked, len(statement.items))
    quotes = []
    for item, part in shared_by_items(statement, schema, loss, weights):
        with statement.pointing_at(item):
            quotes.append(_quoted(item.query, schema, epsilon=part.epsilon, delta=part.delta, **asked))
    return Quotes(quotes)


@accepts_calibration
def least_epsilon(
    query: Query,
    schema: Schema,
    *,
    target_error: Number,
    of: ErrorName = "expected_error",
    **options: Unpack[LeastEpsilonOptions],
) -> Quote:
    """The quote with the least epsilon (to about one percent) whose error is at most ``target_error``.

    of: "expected_error", "bound" for the error that is not exceeded with the stated confidence, or "typical_error" for
    the greatest expected error over standard shapes within the bounds.  The other options are those of ``quote``.
    """

    def quoted(epsilon: float, instead: HowOptions) -> Quote:
        asked: LeastEpsilonOptions = {**options, **instead}
        return _quoted(query, schema, epsilon=epsilon, **asked)

    return searched_epsilon(query, quoted, target_error, of)


def searched_epsilon(
    query: Query, quoted: Callable[[float, HowOptions], Quote], target_error: Number, of: str
) -> Quote:
    """The search behind ``least_epsilon``, by quotes of a schema or of a server.

    quoted: the quote for an epsilon; its second argument may fix the mechanism.
    """
    target = exact(target_error, "target_error")
    if target <= 0:
        raise InvalidArgument("target_error", target_error, "must be a positive number")
    if of not in get_args(ErrorName):
        raise InvalidArgument("of", of, f"must be {', '.join(map(repr, get_args(ErrorName)))}")
    if not isinstance(query, Query):
        raise InvalidArgument("query", query, "must be one query object such as Median('total_pay')")

    def error(item: Quote) -> float:
        if of == "typical_error" and item.typical_error is not None:
            return item.typical_error[1]
        return item.worst_bound if of == "bound" else item.worst_expected

    def good(fixed: HowOptions, epsilon: float) -> bool:
        try:
            return error(quoted(epsilon, fixed)) <= target
        except EpsilonTooSmall:
            return False

    # Comparing mechanisms takes long: it is done where the search starts and at what it found.
    here, reached, tried = quoted(1.0, {}), [], set[str]()
    if here.kind == UNKNOWN:
        why = f"no error of {here.query} is known beforehand: it depends on the data"
        raise NotApplicable("target_error", target_error, why, "a query with an epsilon that you choose")
    while here.mechanism not in tried:
        tried.add(here.mechanism)
        # The mechanisms that are compared are those that have names.
        fixed: HowOptions = {"mechanism": cast("MechanismName", here.mechanism)} if here.alternatives else {}
        least = _searched(functools.partial(good, fixed))
        if least is not None:
            reached.append((least, fixed))
        here = quoted(MOST_EPSILON if least is None else least, {})
    if not reached:
        raise InvalidArgument(
            "target_error",
            target_error,
            f"must be at least {error(here):.4g}: {here.meaning}"
            + ("" if here.prior else "; a prior gives an estimate")
            + (
                ""
                if not here.typical_text
                else f"; typically it is {here.typical_text}, see of='typical_error', --of typical"
            ),
        )
    least, fixed = min(reached, key=operator.itemgetter(0))
    return dataclasses.replace(quoted(least, fixed), alternatives=quoted(least, {}).alternatives)


def _searched(reached: Callable[[float], bool]) -> float | None:
    """The least epsilon: from 1 outwards in factors of 4, then halving; small ones take long and are tried last."""
    high = low = 1.0
    while not reached(high):
        if high >= MOST_EPSILON:
            return None
        low, high = high, min(4.0 * high, float(MOST_EPSILON))
    while low == high or reached(low):
        if low <= LEAST_EPSILON:
            return low
        low, high = max(low / 4.0, LEAST_EPSILON), low
    while high > PRECISION * low:
        middle = float(f"{math.sqrt(low * high):.3g}")
        if not low < middle < high:
            break
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def chosen_mechanism(query: Query, schema: Schema, **options: Unpack[QuoteOptions]) -> MechanismName:
    """The mechanism that "auto" means under a prior: the one with the least quoted error."""
    chosen = _quoted(query, schema, **options)
    return cast("MechanismName", next(iter(chosen.alternatives), "auto"))


def _quoted(
    query: Query,
    schema: Schema,
    *,
    prior: PriorChoice | None = None,
    rows: int | None = None,
    **options: Unpack[QuestionOptions],
) -> Quote:
    planned = plan(query, schema, **options)
    if planned.released_by is None:
        _checked_rows(planned, rows)
        figures = _of_function(planned)
        if figures is not None:
            return _with_typical(_quote(planned, figures), planned, rows)
        return Quote(
            query=planned.label,
            loss=planned.loss,
            expected_error=None,
            bound=None,
            confidence=_level(planned),
            mechanism=planned.mechanism,
            noise=planned.noise,
            kind=UNKNOWN,
            groups=planned.groups,
            labels=planned.labels,
            assumptions=() if planned.advice is None else (planned.advice,),
        )
    column_prior = prior_of(prior, planned.query.column, schema.columns)
    if column_prior is None or not _speaks_of(planned) or planned.costs_nothing:
        _checked_rows(planned, rows)
        declared = _under_declared(planned, rows) if prior is None else None
        return declared or _with_typical(_for_all_data(planned, rows), planned, rows)
    counted, assumed = _records(planned, rows)
    if options.get("mechanism", "auto") != "auto":
        return _under_prior(planned, column_prior, counted, assumed)
    law = named_noise(options.get("noise", "auto"))
    # The default at this epsilon, and what else the statistic prefers.
    preferred = dict.fromkeys((planned.mechanism, *planned.statistic.mechanism_preference))
    names = [entry for entry in preferred if entry in applicable(planned.statistic)]
    if law is not None:
        names = [entry for entry in names if MECHANISMS[entry].adds_noise]
    plans: dict[str, TablePlan] = {}
    compared: dict[str, Quote] = {}
    for name in names:
        try:
            named: QuestionOptions = {**options, "mechanism": cast("MechanismName", name)}
            again = plan(query, planned.schema, **named)
            compared[name] = _under_prior(again, column_prior, counted, assumed)
            plans[name] = again
        except (NotApplicable, NotProved, InvalidArgument):
            # It does not serve this privacy loss or noise; the default, at least, does.
            if name == planned.mechanism:
                raise
    asked = compared
    if adds_rho(schema):
        least = min(entry.loss.concentrated.rho for entry in plans.values())
        compared = {}
        for name in plans:
            # At the least rho, that of one of them, another may not serve any more.
            with contextlib.suppress(NotApplicable, NotProved, InvalidArgument):
                lowered = _of_rho(query, planned.schema, least, name, options)
                compared[name] = _under_prior(lowered, column_prior, counted, assumed)
    ordered = sorted(compared.items(), key=lambda item: item[1].worst_expected)
    best = asked[ordered[0][0]]
    return dataclasses.replace(best, alternatives={name: entry.expected_error for name, entry in ordered})


def _of_rho(query: Query, schema: Schema, rho: Fraction, name: str, options: QuestionOptions) -> TablePlan:
    """The plan by one mechanism at an epsilon at which it adds no more than so much to the ledger."""

    def at(epsilon: float) -> TablePlan:
        lowered: QuestionOptions = {**options, "mechanism": cast("MechanismName", name), "epsilon": epsilon}
        return plan(query, schema, **lowered)

    return at(epsilon_of_rho(lambda e: at(e).loss.concentrated.rho, float(options["epsilon"]), rho))


def _with_typical(quoted: Quote, planned: TablePlan, rows: int | None) -> Quote:
    """The quote for all data with the range of errors over standard shapes, where it says little by itself."""
    records_on = planned.query.records_on[0]
    if quoted.kind != UPPER_BOUND or quoted.attained or records_on is None or not _speaks_of(planned):
        return quoted
    try:
        counted, assumed = _records(planned, rows)
    except InvalidArgument:
        counted = min(ASSUMED_ROWS, planned.schema.most_rows)
        assumed = (f"typical for {counted:,} records{_where(planned)}: say how many you expect, rows= or --rows",)
    try:
        function = planned.query.transformed if planned.released_by is None else None
        typical = over_shapes(planned.prepared, records_on, counted, function)
    except (NotApplicable, NotProved, InvalidArgument):
        return quoted  # (what holds for all data is still true)
    assumptions = quoted.assumptions or assumed  # (both are about the number of records)
    return dataclasses.replace(quoted, typical_error=typical, assumptions=assumptions)


def _under_declared(planned: TablePlan, rows: int | None) -> Quote | None:
    """An estimate under what the schema declares about the column, for the very mechanism that would answer."""
    payload = planned.schema.priors.get(str(planned.query.column))
    if payload is None or not _speaks_of(planned) or planned.costs_nothing:
        return None
    try:
        counted, assumed = _records(planned, rows)
        return _under_prior(planned, declared_prior(payload), counted, ("values as the schema declares", *assumed))
    except (NotApplicable, NotProved, InvalidArgument):
        return None  # what holds for all data is still true


def _of_function(planned: TablePlan) -> Figures | None:
    """For all data: what the error of a statistic can become in a function of it; None where that is not known."""
    if planned.read_for is None or planned.query.error_after(0.0) is None:
        return None
    statistic = planned.read_for.statistic
    counted = None if statistic.ladder_of_count(1) is None else _if_none_is_missing(planned)
    below = for_all_data(planned.read_for, _level(planned), counted)
    return Figures(planned.query.error_after(below.expected), planned.query.error_after(below.bound), UPPER_BOUND)


def _speaks_of(planned: TablePlan) -> bool:
    """Whether a prior on values says anything about this question."""
    declared = planned.declared
    return (
        isinstance(declared, Measured) and declared.type_name != "boolean" and not isinstance(planned.query, Histogram)
    )


def _under_prior(planned: TablePlan, prior: Prior, rows: int, assumed: tuple[str, ...]) -> Quote:
    records_on = planned.query.records_on[0]
    if records_on is None:
        raise NotApplicable("prior", planned.query.name, "no error is worked out for it", "quotes without a prior")
    check_within(prior, records_on)
    figures = under_prior(planned.prepared, prior, records_on, rows, _level(planned))
    return _quote(planned, figures, prior=repr(prior), rows=rows, assumptions=assumed)


def _for_all_data(planned: TablePlan, rows: int | None) -> Quote:
    if planned.costs_nothing:
        return Quote(planned.label, Loss(0.0), 0.0, 0.0, _level(planned), "public", "none", EXACT)
    # With the number of records some bounds for all data are better.
    complete = _if_none_is_missing(planned)
    used = None if planned.statistic.ladder_of_count(1) is None else complete if rows is None else rows
    figures = for_all_data(planned.prepared, _level(planned), used)
    assumed = () if used is None else (f"assuming at least {used:,} records{_where(planned)}",)
    if used is not None and rows is None:
        assumed = (f"assuming that no value is missing: {used:,} records",)
    return _quote(planned, figures, rows=used if used is not None else planned.expected_rows, assumptions=assumed)


def _if_none_is_missing(planned: TablePlan) -> int | None:
    """The number of records of a whole table, where it is private only because missing values are left out."""
    rows, schema = planned.schema.rows, planned.schema
    whole = planned.predicate is None and not planned.by and schema.unit is None
    return rows if whole and isinstance(rows, int) and planned.missing == DROP else None


def _quote(
    planned: TablePlan,
    figures: Figures,
    *,
    assumptions: tuple[str, ...] = (),
    prior: str | None = None,
    rows: int | None = None,
) -> Quote:
    if planned.prepared.refusal is not None:
        assumptions = (*assumptions, "if it answers: a test may refuse")
    if planned.interval_of != SAMPLE:
        assumptions = (*assumptions, "the interval is for the population, the error for the records")
    return Quote(
        query=planned.label,
        loss=planned.loss,
        expected_error=figures.expected,
        bound=figures.bound,
        confidence=_level(planned),
        mechanism=planned.mechanism,
        noise=planned.prepared.noise_name,
        kind=figures.kind,
        attained=figures.attained,
        half_width=None if planned.is_widened else figures.half_width,
        groups=planned.groups,
        labels=planned.labels,
        assumptions=assumptions,
        prior=prior,
        rows=rows,
        floor=figures.floor,
    )


def _level(planned: TablePlan) -> float:
    return LEVEL if planned.confidence is None else float(fraction_of_unit("confidence", planned.confidence))


def _records(planned: TablePlan, rows: int | None) -> tuple[int, tuple[str, ...]]:
    """The number of records that a quote under a prior is for, and what is assumed about it."""
    _checked_rows(planned, rows)
    if planned.expected_rows is not None:
        return planned.expected_rows, ()
    if rows is not None:
        return rows, (f"assuming {rows:,} records{_where(planned)}",)
    groups = planned.groups
    if planned.predicate is None and isinstance(planned.schema.rows, int) and groups is not None:
        each = max(planned.schema.rows // groups, 1)
        whence = "all rows, shared evenly" if planned.by else "all rows"
        return each, (f"assuming {each:,} records{_where(planned)}: {whence}",)
    raise InvalidArgument("rows", None, "is private here; with a prior pass the number that you assume")


def _checked_rows(planned: TablePlan, rows: int | None) -> None:
    if rows is None:
        return
    if not isinstance(rows, int) or isinstance(rows, bool) or not 1 <= rows <= planned.schema.most_rows:
        raise InvalidArgument("rows", rows, f"must be a whole number from 1 to {planned.schema.most_rows}")
    if planned.expected_rows not in (None, rows):
        raise InvalidArgument("rows", rows, f"is public: pass {planned.expected_rows}, or leave it out")


def _where(planned: TablePlan) -> str:
    return " in each group" if planned.by else " in the selection"
