"""Plans of a registered dataset: a query that met a schema, with what the ledger keeps of the question."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.errors import EpsilonTooSmall, InvalidArgument
from dither.mechanisms.mechanism import Prepared
from dither.mechanisms.stable_bins import StableBins
from dither.numbers import float_up
from dither.privacy import Loss, Neighbours
from dither.queries.plan import Options, Plan, R_contra, Result, WrappedPlan
from dither.queries.query import Query
from dither.queries.registry import no_query
from dither.release import Counted, Released
from dither.session.forms import form_of, form_of_0_1_0, schema_digest
from dither.sources.column import Shape
from dither.sources.graph_schema import GraphSchema
from dither.sources.grid import Grid
from dither.sources.predicates import Predicate, parse_filter
from dither.sources.schema import Schema
from dither.sources.selection import at_most_groups
from dither.sources.types import DROP, Category, ColumnType, Date
from dither.statistics.statistic import Statistic, VectorStatistic

if TYPE_CHECKING:
    import datetime

    from dither.typing import Confidence, Filter, Json, MechanismChoice, Names, NoiseChoice, Number

KEYS_SHARE = Fraction(1, 4)
"""The part of epsilon that is spent on finding undeclared groups, with all of delta."""


@dataclass(frozen=True)
class SessionPlan(WrappedPlan[R_contra]):
    """A plan of a registered dataset."""

    schema: Schema | GraphSchema
    query: Query
    """With everything that the schema declares."""
    inner: Plan[R_contra]
    """What is run on the records of one group."""
    loss: Loss
    """The whole loss, all groups together."""
    asked: dict[str, Json]
    """The question in plain JSON values: what the ledger keeps."""
    older: dict[str, Json]
    """How version 0.1.0 kept the same question."""

    @property
    def label(self) -> str:
        return self.inner.label

    @property
    def neighbours(self) -> Neighbours:
        return self.schema.neighbours

    @property
    def costs_nothing(self) -> bool:
        """True if the answer is public."""
        return False

    @property
    def released_by(self) -> Prepared | None:
        return self.inner.released_by

    @property
    def prepared(self) -> Prepared:
        """The mechanism of a query that is one statistic, or a function of one."""
        if self.read_for is None:
            raise InvalidArgument("query", self.query.name, "must be a query that is one statistic")
        return self.read_for

    @property
    def statistic(self) -> Statistic | VectorStatistic:
        """The statistic of a query that is one."""
        return self.prepared.statistic

    @contextlib.contextmanager
    def opened(self) -> Iterator[Callable[[R_contra], Result]]:
        with self.inner.opened() as run:
            yield lambda records: self.in_units(run(records))

    def run(self, records: R_contra) -> Result:
        return self.in_units(self.inner.run(records))

    def in_units(self, result: Result) -> Result:
        """The result as users of the column's type expect it."""
        return result


@dataclass(frozen=True)
class TablePlan(SessionPlan[R_contra]):
    """A plan of a table: which rows, in which groups."""

    schema: Schema
    predicate: Predicate | None
    by: tuple[str, ...]
    finder: StableBins | None = None
    """Finds the groups where the values of a column to group by are not declared; paid from the same loss."""

    @property
    def declared(self) -> ColumnType | None:
        """The type of the column; None where rows are counted or several columns are read."""
        return None if self.query.column is None else self.schema.columns[self.query.column]

    @property
    def grid(self) -> Grid:
        """The grid of the records of the one column that is read."""
        grid, _ = self.query.records_on
        if grid is None:
            raise InvalidArgument("query", self.query.name, "must be a query about one column of numbers")
        return grid

    @property
    def label(self) -> str:
        where = "" if self.predicate is None else f" where {self.predicate.readable(self.schema)}"
        return f"{self.inner.label}{where}"

    @property
    def missing(self) -> Counted:
        if any(self.schema.columns[name].drops_nulls for name in self.query.used):
            return DROP
        number = self.query.missing_in(self.schema)
        return number if number is None or isinstance(number, tuple) else self._in_unit(number)

    @property
    def clamped(self) -> Counted:
        ends: Counted = self._dates(self.inner.clamped) if self.is_dated else self.inner.clamped
        return ends

    @property
    def expected_rows(self) -> int | None:
        """The public number of rows, where the whole table is read."""
        return expected_rows(self.query, self.schema, self.predicate, self.by)

    @property
    def groups(self) -> int | None:
        """How many groups are declared, 1 without groups; None where they have to be found."""
        if self.finder is not None:
            return None
        return math.prod(len(self.schema.columns[name].keys(name)) for name in self.by)

    @property
    def is_dated(self) -> bool:
        """True if the answer is a date."""
        return isinstance(self.declared, Date) and self.query.dates == "dates"

    @property
    def costs_nothing(self) -> bool:
        return is_public(self.query, self.schema, self.predicate, self.by)

    def _in_unit(self, number: float) -> float | datetime.date:
        declared = self.declared
        return declared.displayed(round(number)) if isinstance(declared, Date) and self.is_dated else number

    def in_units(self, result: Result) -> Result:
        if not self.is_dated:
            return result
        return Result(self._dates(result.value), self._dates(result.interval), result.reason)

    def _dates(self, numbers: Released) -> Released:
        if isinstance(numbers, tuple):
            return tuple(self._dates(number) for number in numbers)
        return None if numbers is None else self._in_unit(numbers)


def expected_rows(bound: Query, schema: Schema, predicate: Predicate | None, by: Sequence[str]) -> int | None:
    """The number of rows that a query reads, where all are read and their number is public."""
    whole = predicate is None and not by and schema.unit is None and isinstance(schema.rows, int)
    drops = any(schema.columns[name].drops_nulls for name in bound.used)
    return schema.most_rows if whole and not drops else None


def is_public(bound: Query, schema: Schema, predicate: Predicate | None, by: Sequence[str]) -> bool:
    """True if the answer is the public number of rows: it costs nothing."""
    return not bound.used and expected_rows(bound, schema, predicate, by) is not None


def plan(
    query: Query,
    schema: Schema,
    *,
    epsilon: Number,
    delta: Number = 0.0,
    where: Filter | None = None,
    by: Names | None = None,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
) -> TablePlan:
    """The plan for a question, or an error that says what is accepted; nothing is read."""
    if not isinstance(query, Query):
        raise no_query(query)
    predicate = where if isinstance(where, Predicate) or where is None else parse_filter(where, schema)
    keys = group_columns(by, schema)
    asked = Options.asked(epsilon, delta, mechanism, noise, confidence)
    for name, given in (("where", predicate), ("by", keys)):
        if given and name not in query.accepts:
            raise InvalidArgument(name, where if name == "where" else by, f"{query.name} is asked of the whole table")
    declared, schema = schema, schema.leaving_out(query.drops_in(schema, mechanism))
    bound = query.bound(schema)
    facts = bound.table_facts(schema, shape_of_selection(schema, bound, filtered=predicate is not None, keys=keys))
    finder, rest = _finder(keys, schema, asked.loss)
    # A person who changes groups leaves one and enters another: two steps for each of their rows.
    steps = 2 * schema.rows_per_unit if keys else 1
    each = rest if steps == 1 else rest.per_step(steps)
    try:
        inner = bound.plan(facts, Options(each, mechanism, noise, asked.confidence))
    except EpsilonTooSmall as error:
        raise error.of_whole(asked.loss.epsilon, asked.loss.epsilon / each.epsilon) from None
    loss = inner.loss if steps == 1 else inner.loss.for_group(steps)
    if finder is not None:
        loss = loss + Loss(float_up(finder.epsilon), float_up(finder.delta))
    used = {*keys, *(predicate.columns() if predicate else ()), *bound.used}
    about: dict[str, Json] = {"where": None if predicate is None else str(predicate), "by": list(keys)}
    options = (mechanism, noise, asked.level)
    form = form_of(bound, asked.loss, {**about, "schema": schema_digest(schema, used)}, *options)
    # Where nothing is declared about missing values, version 0.1.0 counted them as the lower bound: an answer that was
    # paid for then is given again, and says so.
    by_default = declared is not schema and getattr(query, "nulls", None) != DROP
    older, kept = (query.bound(declared), declared) if by_default else (bound, schema)
    before = form_of_0_1_0(older, asked.loss, {**about, "schema": schema_digest(kept, used)}, *options)
    return TablePlan(schema, bound, inner, loss, form, before, predicate, keys, finder)


def group_columns(by: Names | None, schema: Schema) -> tuple[str, ...]:
    """The columns to group by, each with declared keys."""
    if by is None:
        return ()
    names = (by,) if isinstance(by, str) else by
    if not isinstance(names, Sequence) or not names or len(set(names)) != len(names):
        raise InvalidArgument("by", by, "must be the name of a column, or a list of different names")
    for name in names:
        if not undeclared(schema.column(name, "by")):
            schema.column(name, "by").keys(str(name))
    at_most_groups([str(name) for name in names], schema)
    return tuple(str(name) for name in names)


def undeclared(kind: ColumnType) -> bool:
    """True for a category whose values are private."""
    return isinstance(kind, Category) and kind.values is None


def _finder(by: tuple[str, ...], schema: Schema, asked: Loss) -> tuple[StableBins | None, Loss]:
    """What finds undeclared groups, and what is left of the loss for the answers."""
    hidden = [name for name in by if undeclared(schema.columns[name])]
    if not hidden:
        return None, asked
    if not asked.delta:
        raise InvalidArgument(
            "by", hidden[0], "its categories are not declared: declare them, or ask with a delta to have them found"
        )
    result = asked.share(KEYS_SHARE).exact_epsilon
    finder = StableBins(result, asked.exact_delta, schema.rows_per_unit)
    return finder, asked.share(1 - KEYS_SHARE).pure()


def shape_of_selection(schema: Schema, bound: Query, *, filtered: bool, keys: tuple[str, ...]) -> Shape:
    """The public facts of the records that a question is about."""
    declared = [schema.columns[name] for name in bound.used]
    dropped = any(declaration.drops_nulls for declaration in declared)
    public = isinstance(schema.rows, int) and schema.unit is None and not filtered and not keys and not dropped
    whole = all(declaration.type_name in ("integer", "date", "boolean") for declaration in declared)
    if public:
        return Shape(schema.most_rows, whole, nullable=True)
    if keys:
        # One step is one record that comes or goes; how many of them a person makes is paid for by group privacy.
        return Shape(schema.most_rows, whole, nullable=True, private=True, neighbours=Neighbours.ADD_REMOVE)
    return Shape(
        schema.most_rows,
        whole,
        nullable=True,
        private=True,
        neighbours=Neighbours.ADD_REMOVE_CHANGE,
        rows_per_person=schema.rows_per_unit,
    )
