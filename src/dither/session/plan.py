"""A plan: a question that met a schema.  Built from public facts alone, before anything is charged or read."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.errors import EpsilonTooSmall, InvalidArgument
from dither.mechanisms.choice import prepare
from dither.mechanisms.mechanism import Prepared
from dither.mechanisms.stable_bins import StableBins
from dither.numbers import exact, float_up
from dither.privacy import Loss, Neighbours
from dither.queries.order import OrderStatistic, Quantiles
from dither.queries.query import ColumnQuery, Query
from dither.queries.spread import IQR
from dither.queries.totals import Count, Mean, TrimmedMean
from dither.queries.vectors import Histogram
from dither.sources.column import Shape, missing_steps
from dither.sources.grid import Grid
from dither.sources.predicates import Predicate, parse_filter
from dither.sources.schema import Schema
from dither.sources.selection import at_most_groups
from dither.sources.types import Category, ColumnType, Date, Measured, storable
from dither.statistics.statistic import Statistic, VectorStatistic
from dither.statistics.unknown_size import for_people

MOST_TOGETHER = 10_000_000
"""Several quantiles are drawn together from all records: tables above this size refuse."""
KEYS_SHARE = Fraction(1, 4)
"""The part of epsilon that finds groups nobody declared; all of delta goes with it."""
_DATED = (OrderStatistic, Quantiles, Mean, TrimmedMean)
"""Questions whose answers are dates where the records are."""


@dataclass(frozen=True)
class Plan:
    """Everything public about a question: what is computed, how, and at what price."""

    schema: Schema
    query: Query
    declared: ColumnType | None
    """The type of the column; None where rows are counted."""
    statistic: Statistic | VectorStatistic
    prepared: Prepared
    mechanism: str
    loss: Loss
    """The whole price, all groups together."""
    predicate: Predicate | None
    by: tuple[str, ...]
    confidence: float | None
    asked: dict[str, Any]
    """The question in plain JSON values: what the ledger keeps."""
    finder: StableBins | None = None
    """Finds the groups where the values of a column to group by are not declared; paid from the same price."""

    @property
    def grid(self) -> Grid:
        """The grid of the records."""
        if isinstance(self.statistic, Statistic):
            return self.statistic.records_on
        return self.declared.grid if isinstance(self.declared, Measured) else Grid(Fraction(1), 0, 1)

    @property
    def missing(self) -> int:
        """What a missing value counts as, in grid steps."""
        if isinstance(self.declared, Measured) and isinstance(self.query, ColumnQuery):
            return missing_steps(self.query.nulls, self.grid)
        return self.grid.ends[1]

    @property
    def label(self) -> str:
        """How releases name the question."""
        where = "" if self.predicate is None else f" where {self.predicate.told(self.schema)}"
        return f"{self.query.label}{where}"

    @property
    def expected_rows(self) -> int | None:
        """The public number of rows, where the whole table is read."""
        whole = self.predicate is None and not self.by and self.schema.unit is None
        drops = self.declared is not None and self.declared.drops_nulls
        return self.schema.rows if whole and not drops and isinstance(self.schema.rows, int) else None

    @property
    def groups(self) -> int | None:
        """How many groups are declared, 1 without groups; None where they have to be found."""
        if self.finder is not None:
            return None
        return math.prod(len(self.schema.columns[name].keys(name)) for name in self.by)

    @property
    def is_dated(self) -> bool:
        """True if the answer is a date."""
        return isinstance(self.declared, Date) and isinstance(self.query, _DATED)

    @property
    def costs_nothing(self) -> bool:
        """True if the answer is the public number of rows."""
        return self.declared is None and self.expected_rows is not None

    def shown(self, number: Any) -> Any:
        """A released number as users of the column's type expect it."""
        return self.declared.shown(round(number)) if self.is_dated and isinstance(self.declared, Date) else number


def plan(
    query: object,
    schema: Schema,
    *,
    epsilon: object,
    delta: object = 0.0,
    where: object = None,
    by: object = None,
    mechanism: object = "auto",
    noise: object = "auto",
    confidence: object = 0.95,
) -> Plan:
    """The plan for a question, or an error that says what is accepted; nothing is read."""
    if not isinstance(query, Query):
        raise InvalidArgument("query", query, 'a query object such as Median("total_pay") is accepted')
    predicate = where if isinstance(where, Predicate) or where is None else parse_filter(where, schema)
    keys = group_columns(by, schema)
    asked = Loss.asked(epsilon, delta)
    bound, declared = bind(query, schema)
    shape = shape_of_selection(schema, declared, filtered=predicate is not None, grouped=bool(keys))
    statistic = bound.resolve(shape)
    if isinstance(bound, Quantiles) and schema.most_rows > MOST_TOGETHER:
        raise InvalidArgument(
            "query", "quantiles", f"together only in tables of at most {MOST_TOGETHER:,} rows; ask for each alone"
        )
    if isinstance(statistic, Statistic) and not keys:
        statistic = for_people(statistic, shape.rows_per_person)
    finder, rest = _finder(keys, schema, asked)
    # Whoever changes groups leaves one and enters another: two steps for each of a person's rows.
    steps = 2 * schema.rows_per_unit if keys else 1
    each = rest.per_step(steps)
    try:
        name, prepared = prepare(
            statistic, epsilon=each.epsilon, delta=each.delta, mechanism=mechanism, noise=noise,
            confidence=confidence,
        )  # fmt: skip
    except EpsilonTooSmall as error:
        raise error.of_whole(asked.epsilon, asked.epsilon / each.epsilon) from None
    level = None if confidence is None else float(exact(confidence, "confidence"))
    loss = prepared.loss.for_group(steps)
    if finder is not None:
        loss = loss + Loss(float_up(finder.epsilon), float_up(finder.delta))
    return Plan(
        schema, bound, declared, statistic, prepared, name, loss, predicate, keys, level,
        _question(bound, schema, asked, predicate, keys, mechanism, noise, level), finder,
    )  # fmt: skip


def group_columns(by: object, schema: Schema) -> tuple[str, ...]:
    """The columns to group by, each with declared keys."""
    if by is None:
        return ()
    names = (by,) if isinstance(by, str) else by
    if not isinstance(names, Sequence) or not names or len(set(names)) != len(names):
        raise InvalidArgument("by", by, "the name of a column, or a list of different names, is accepted")
    for name in names:
        if not undeclared(schema.column(name, "by")):
            schema.column(name, "by").keys(str(name))
    at_most_groups([str(name) for name in names], schema)
    return tuple(str(name) for name in names)


def undeclared(kind: ColumnType) -> bool:
    """True for a category whose values are private."""
    return isinstance(kind, Category) and kind.values is None


def _finder(by: tuple[str, ...], schema: Schema, asked: Loss) -> tuple[StableBins | None, Loss]:
    """What finds undeclared groups, and what is left of the price for the answers."""
    hidden = [name for name in by if undeclared(schema.columns[name])]
    if not hidden:
        return None, asked
    if not asked.delta:
        raise InvalidArgument(
            "by", hidden[0], "its categories are not declared: declare them, or ask with a delta to have them found"
        )
    found = asked.share(KEYS_SHARE).exact_epsilon
    finder = StableBins(found, asked.exact_delta, schema.rows_per_unit)
    return finder, asked.share(1 - KEYS_SHARE).pure()


def bind(query: Query, schema: Schema) -> tuple[Query, ColumnType | None]:
    """The query with everything that the schema declares about its column."""
    if query.column is None:
        if isinstance(query, Count):
            return query, None
        raise InvalidArgument("column", None, f"a declared column is accepted: {', '.join(schema.columns)}")
    declared = schema.column(query.column)
    if isinstance(query, Histogram):
        return _bound_histogram(query, declared), declared
    if not isinstance(query, ColumnQuery):
        raise InvalidArgument("query", query.kind, "a question about one column is accepted in a session")
    kind = schema.measured(query.column)
    if isinstance(kind, Date) and not isinstance(query, (*_DATED, IQR)):
        raise InvalidArgument("query", query.kind, f"{query.column} has dates: quantiles, mean and iqr are accepted")
    if isinstance(query, Count) and kind.kind != "boolean":
        raise InvalidArgument(
            "column", query.column, "count of a boolean column, or of no column with a filter, is accepted"
        )
    filled: dict[str, Any] = {}
    if not isinstance(query, Count):
        low, high = kind.grid.ends
        filled["bounds"] = query.bounds if query.bounds is not None else (low * kind.grid.step, high * kind.grid.step)
        filled["step"] = query.step if query.step is not None else kind.grid.step
    if query.nulls is None:
        filled["nulls"] = kind.grid.step * kind.missing
        if query.bounds is not None and not isinstance(query, Count):
            # Like any other record, what a missing value counts as is cut to the bounds of the question.
            grid = Grid.between(query.bounds, filled["step"])
            filled["nulls"] = grid.step * grid.clamp(round(filled["nulls"] / grid.step))
    return dataclasses.replace(query, **filled), kind


def _bound_histogram(query: Histogram, declared: ColumnType) -> Histogram:
    if isinstance(declared, Category):
        if query.edges is not None:
            raise InvalidArgument("edges", list(query.cuts)[:9], "a category column is counted by its categories")
        if query.categories is None:
            return dataclasses.replace(query, categories=declared.keys(str(query.column)))
        if not all(map(storable, query.names)):
            raise InvalidArgument("categories", list(query.names)[:9], "names without the character NUL are accepted")
        return query
    if query.edges is None:
        raise InvalidArgument("edges", None, "edges must be declared for a column of numbers")
    if query.nulls is not None or not isinstance(declared, Measured):
        return dataclasses.replace(query, nulls=query.missing(Shape(1, whole=False, nullable=True)))
    return dataclasses.replace(query, nulls=_within(query, declared))


def _within(query: Histogram, declared: Measured) -> Any:
    """Where missing values go: the declared value, cut to the edges."""
    value = float(declared.grid.value(declared.missing))
    return min(max(value, query.cuts[0]), query.cuts[-1])


def shape_of_selection(schema: Schema, declared: ColumnType | None, *, filtered: bool, grouped: bool) -> Shape:
    """The public facts of the records that a question is about."""
    dropped = declared is not None and declared.drops_nulls
    public = isinstance(schema.rows, int) and schema.unit is None and not filtered and not grouped and not dropped
    whole = declared is None or declared.kind in ("integer", "date", "boolean")
    if public:
        return Shape(schema.most_rows, whole, nullable=True)
    if grouped:
        # One step is one record that comes or goes; how many of them a person makes is paid for by group privacy.
        return Shape(schema.most_rows, whole, nullable=True, private=True, neighbours=Neighbours.ADD_REMOVE)
    return Shape(
        schema.most_rows, whole, nullable=True, private=True, neighbours=Neighbours.ADD_REMOVE_CHANGE,
        rows_per_person=schema.rows_per_unit,
    )  # fmt: skip


def _question(
    query: Query, schema: Schema, asked: Loss, predicate: Predicate | None, by: tuple[str, ...], mechanism: object,
    noise: object, confidence: float | None,
) -> dict[str, Any]:  # fmt: skip
    """The question in plain JSON values, the same for the same question however it was written."""
    fields = {
        field.name: plain(getattr(query, field.name))
        for field in dataclasses.fields(query)  # type: ignore[arg-type]
        if getattr(query, field.name) is not None
    }
    return {
        "query": {"kind": type(query).__name__, **fields},
        "where": None if predicate is None else str(predicate),
        "by": list(by),
        "epsilon": asked.epsilon,
        "delta": asked.delta,
        "calibration": mechanism if isinstance(mechanism, str) else repr(mechanism),
        "noise": noise if isinstance(noise, str) else repr(noise),
        "confidence": confidence,
        "schema": schema_digest(schema, {*by, *(predicate.columns() if predicate else ()), query.column}),
    }


def schema_digest(schema: Schema, used: set[Any]) -> str:
    """What the schema says about the columns in use: another schema makes it another question."""
    columns = {name: kind.to_dict() for name, kind in schema.columns.items() if name in used}
    told = [columns, schema.rows, schema.unit, schema.rows_per_unit]
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:16]


def plain(value: Any) -> Any:
    """A parameter of a question in plain JSON values."""
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    if isinstance(value, (datetime.date,)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return str(exact(value))
