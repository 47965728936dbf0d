"""Plans of a registered dataset: a query that met a schema, with what the ledger keeps of the question."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Self, cast

from dither.errors import DitherError, EpsilonTooSmall, InvalidArgument, NotApplicable
from dither.mechanisms.choice import name_of
from dither.mechanisms.mechanism import Prepared
from dither.mechanisms.stable_bins import StableBins
from dither.numbers import float_up
from dither.privacy import PRIVATE, FilterName, Loss, Neighbours
from dither.procedures.people import MOST_LIMIT, ROWS_SHARE, PersonLimitDraw, row_limits
from dither.queries.plan import Options, Plan, R_contra, Result, WrappedPlan
from dither.queries.planning import planned
from dither.queries.query import Query
from dither.queries.registry import no_query
from dither.queries.vectors import Histogram
from dither.release import SAMPLE, Counted, IntervalName, PersonLimit, Released
from dither.session.forms import form_of, form_of_0_1_0, schema_digest
from dither.sources.canonical_filters import canonical_filter
from dither.sources.column import Shape
from dither.sources.graph_schema import GraphSchema
from dither.sources.grid import Grid
from dither.sources.linked_tables import names_of_columns
from dither.sources.predicates import Predicate, parse_filter
from dither.sources.schema import Schema
from dither.sources.selection import at_most_groups
from dither.sources.types import DROP, Category, ColumnType, Date, Duration
from dither.sources.views import parsed_expression, view_of_columns, with_computed
from dither.statistics.statistic import Statistic, VectorStatistic

if TYPE_CHECKING:
    import datetime

    from dither.typing import Confidence, Filter, Json, MechanismChoice, Names, NoiseChoice, Number

ROWS_REFUSED = (
    "no answer is possible with as many rows of one person as the limit that was found: declare rows_per_unit"
)
ROUNDED = 1 - Fraction(1, 1 << 40)
"""What is left of an epsilon whose parts are rounded up once more."""
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
    def answer_range(self) -> Counted:
        return self.inner.answer_range

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

    @property
    def keeps_rows(self) -> bool:
        """True if a key decides which rows of a person are kept."""
        return False

    def keyed(self, key: str) -> Self:  # noqa: ARG002
        """The plan with the key of an account."""
        return self

    def results(self, run: Callable[[R_contra], Result], groups: Sequence[R_contra]) -> list[Result]:
        """The results of all groups; ``run``: what ``opened`` gave."""
        if self.people is None:
            return [run(records) for records in groups]
        return [self.in_units(result) for result in self.inner.run_groups(groups)]

    def in_units(self, result: Result) -> Result:
        """The result as users of the column's type expect it."""
        return result


@dataclass(frozen=True)
class GraphPlan(SessionPlan[R_contra]):
    """A plan of a graph."""

    simultaneous: float | None = None


@dataclass(frozen=True)
class TablePlan(SessionPlan[R_contra]):
    """A plan of a table: which rows, in which groups."""

    schema: Schema
    predicate: Predicate | None
    by: tuple[str, ...]
    finder: StableBins | None = None
    """Finds the groups where the values of a column to group by are not declared; paid from the same loss."""
    simultaneous: float | None = None
    limit: RowLimit | None = None
    """Finds how many rows of one person count, where that is private; paid from the same loss."""
    people_finder: PeopleFinder | None = None
    """The same as ``finder`` where people own any number of rows."""
    key: str = dataclasses.field(default="", repr=False)
    """Decides which rows of a person are kept: secret, and the same for all questions of an account."""

    @property
    def keeps_rows(self) -> bool:
        return self.schema.unit is not None

    def keyed(self, key: str) -> Self:
        return dataclasses.replace(self, key=key)

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
        unit = " in seconds" if isinstance(self.declared, Duration) and self.query.dates != "refused" else ""
        return f"{self.inner.label}{unit}{self._joined}{where}"

    @property
    def _joined(self) -> str:
        """Of linked tables: which of them are read."""
        view = self.schema.view if self.schema.tables else None
        return "" if view is None else f" in {' joined with '.join(item.table for item in view.instances)}"

    @property
    def missing(self) -> Counted:
        if self.inner.missing == DROP or any(self.schema.columns[name].drops_nulls for name in self.query.used):
            return DROP
        number = self.query.missing_in(self.schema)
        return number if number is None or isinstance(number, tuple) else self._in_unit(number)

    @property
    def clamped(self) -> Counted:
        ends: Counted = self._dates(self.inner.clamped) if self.reads_dates else self.inner.clamped
        return ends

    @property
    def answer_range(self) -> Counted:
        ends: Counted = self._dates(self.inner.answer_range) if self.is_dated else self.inner.answer_range
        return ends

    @property
    def unit(self) -> str | None:
        return self.schema.person or self.schema.unit

    @property
    def person_limit(self) -> PersonLimit | None:
        """The declared limit of rows; what is about people, and not about their rows, has none."""
        about_people = self.people is not None or self.query.is_about_people
        if self.schema.unit is None or self.schema.limit_is_private or about_people:
            return None
        return PersonLimit(None, self.schema.row_limit)

    @property
    def labels(self) -> tuple[str, ...] | None:
        declared = self.declared
        if not isinstance(declared, Date) or not isinstance(self.query, Histogram) or self.query.edges is None:
            return self.inner.labels
        # Records are whole days or seconds: of an edge between two of them the later one is the first of its bin.
        return self.query.labels_between(lambda edge: str(declared.displayed(math.ceil(edge))))

    @property
    def expected_rows(self) -> int | None:
        """The public number of rows, where the whole table is read."""
        return expected_rows(self.query, self.schema, self.predicate, self.by)

    @property
    def groups(self) -> int | None:
        """How many groups are declared, 1 without groups; None where they have to be found."""
        if any(undeclared(self.schema.columns[name]) for name in self.by):
            return None
        return math.prod(len(self.schema.columns[name].keys(name)) for name in self.by)

    @property
    def is_dated(self) -> bool:
        """True if the answer is a date."""
        return isinstance(self.declared, Date) and self.query.dates == "dates"

    @property
    def reads_dates(self) -> bool:
        """True if what records are clamped to, and missing ones count as, are dates."""
        return isinstance(self.declared, Date) and self.query.dates in ("dates", "bins")

    @property
    def costs_nothing(self) -> bool:
        return is_public(self.query, self.schema, self.predicate, self.by)

    def _in_unit(self, number: float) -> float | datetime.date:
        declared = self.declared
        return declared.displayed(round(number)) if isinstance(declared, Date) and self.reads_dates else number

    def in_units(self, result: Result) -> Result:
        if not self.is_dated:
            return result
        return dataclasses.replace(result, value=self._dates(result.value), interval=self._dates(result.interval))

    def _dates(self, numbers: Released) -> Released:
        if isinstance(numbers, tuple):
            return tuple(self._dates(number) for number in numbers)
        return None if numbers is None else self._in_unit(numbers)


@dataclass(frozen=True)
class PeopleFinder:
    """A limit of rows by a draw, and then groups with enough rows, of each person at most so many."""

    draw: PersonLimitDraw
    epsilon: Fraction
    delta: Fraction

    @property
    def loss(self) -> Loss:
        """What finding groups costs."""
        return Loss(float_up(self.draw.rate + self.epsilon), float_up(self.delta))

    def bins(self, limit: int) -> StableBins:
        """What finds groups under a limit."""
        return StableBins(self.epsilon, self.delta, limit)


@dataclass(frozen=True)
class RowLimit:
    """A limit of rows by a draw, and then the plan of the same question where so many rows of each person count."""

    draw: PersonLimitDraw
    query: Query
    schema: Schema
    predicate: Predicate | None
    by: tuple[str, ...]
    options: Options
    """With what is left of the loss, less a little for rounding up."""
    left: Fraction
    """The epsilon that is left."""
    delta: Fraction

    def planned(self, limit: int) -> TablePlan:
        """The plan under a limit, from public facts; an error where none is possible."""
        asked = self.options
        return plan(
            self.query,
            dataclasses.replace(self.schema, rows_per_unit=limit),
            epsilon=asked.loss.epsilon,
            delta=asked.loss.delta,
            where=self.predicate,
            by=list(self.by) or None,
            mechanism=asked.mechanism,
            noise=asked.noise,
            confidence=asked.simultaneous or asked.confidence,
        )

    def plan_at(self, limit: int, key: str = "") -> TablePlan | None:
        """The plan under a limit that was drawn; None if it cannot be answered for what is left."""
        try:
            planned = self.planned(limit)
        except DitherError:
            return None
        within = planned.loss.exact_epsilon <= self.left and planned.loss.exact_delta <= self.delta
        return dataclasses.replace(planned, key=key) if within else None

    def found(self, limit: int) -> PersonLimit:
        """What a release says about it."""
        return PersonLimit(float(self.draw.rate), limit)


@dataclass(frozen=True)
class LimitedPlan(WrappedPlan[R_contra]):
    """A plan under a limit that is not drawn yet: its loss is the whole, and its error is not known beforehand."""

    inner: Plan[R_contra]
    loss: Loss

    @property
    def label(self) -> str:
        return self.inner.label

    @property
    def read_for(self) -> Prepared | None:
        return None

    def run(self, records: R_contra) -> Result:  # noqa: ARG002
        raise RuntimeError("the limit of rows is drawn first")


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
    interval: IntervalName = SAMPLE,
) -> TablePlan:
    """The plan for a question, or an error that says what is accepted; nothing is read."""
    if not isinstance(query, Query):
        raise no_query(query)
    predicate = where if isinstance(where, Predicate) or where is None else parse_filter(where, schema)
    keys = group_columns(by, schema)
    asked = Options.asked(epsilon, delta, mechanism, noise, confidence, interval)
    asked = dataclasses.replace(asked, ledger=cast("FilterName", schema.filter))
    for name, given in (("where", predicate), ("by", keys)):
        if given and name not in query.accepts:
            why = f"{query.name} is asked of the whole table{'; ' if query.instead else ''}{query.instead}"
            raise InvalidArgument(name, str(predicate) if name == "where" else by, why)
    schema = viewed(query, schema, predicate, keys)
    declared, schema = schema, schema.leaving_out(query.drops_in(schema, mechanism))
    bound = query.bound(schema)
    finder: StableBins | None = None
    people_finder: PeopleFinder | None = None
    limit: RowLimit | None = None
    if schema.limit_is_private or bound.is_about_people:
        inner, people_finder, limit = _planned_for_people(query, bound, schema, declared, predicate, keys, asked)
        loss = inner.loss if people_finder is None else inner.loss + people_finder.loss
    else:
        inner, loss, finder = _planned(bound, schema, predicate, keys, asked)
    used = {*keys, *(predicate.columns() if predicate else ()), *bound.used}
    about: dict[str, Json] = {"where": None if predicate is None else str(predicate), "by": list(keys)}
    one_form: dict[str, Json] = {
        "where": None if predicate is None else str(canonical_filter(predicate, schema)),
        "schema": schema_digest(schema, used),
    }
    level = asked.level if asked.simultaneous is None else inner.confidence
    how = (mechanism, noise, level, interval)
    form = form_of(bound, asked.loss, {**about, **one_form}, *how)
    # Where nothing is declared about missing values, version 0.1.0 counted them as the lower bound: an answer that was
    # paid for then is given again, and says so.
    by_default = declared is not schema and getattr(query, "nulls", None) != DROP
    older, kept = (query.bound(declared), declared) if by_default else (bound, schema)
    before = form_of_0_1_0(older, asked.loss, {**about, "schema": schema_digest(kept, used)}, *how)
    return TablePlan(
        schema,
        bound,
        inner,
        loss,
        form,
        before,
        predicate,
        keys,
        finder,
        asked.together if keys else asked.together or inner.simultaneous,
        limit=limit,
        people_finder=people_finder,
    )


def _planned_for_people(
    query: Query,
    bound: Query,
    schema: Schema,
    declared: Schema,
    predicate: Predicate | None,
    keys: tuple[str, ...],
    asked: Options,
) -> tuple[Plan, PeopleFinder | None, RowLimit | None]:
    """The plan where a person owns any number of rows: one of people's totals, or one of so many rows of each."""
    if asked.interval != SAMPLE:
        why = "how many rows a person owns is private, so that rows are no sample of known size"
        raise NotApplicable("interval", asked.interval, why, f"interval={SAMPLE!r}")
    facts = bound.table_facts(schema, shape_of_selection(schema, bound, filtered=predicate is not None, keys=keys))
    finder, rest = _people_finder(keys, schema, asked)
    of_people = bound.plan_of_people(facts, rest, grouped=bool(keys))
    if of_people is not None and asked.simultaneous is not None:
        all_of_them = rest.for_all(of_people, _number_of_groups(keys, schema, found=finder is not None))
        of_people = bound.plan_of_people(facts, all_of_them, grouped=bool(keys))
    if of_people is not None:
        return of_people, finder, None
    if bound.is_about_people:
        why = "people are counted in all groups at once, with Laplace noise"
        raise NotApplicable("mechanism", name_of(asked.mechanism), why, "mechanism='auto', noise='auto'")
    spent = ROWS_SHARE * asked.loss.exact_epsilon
    left = asked.loss.exact_epsilon - spent
    rest = dataclasses.replace(asked, loss=Loss.asked(left * ROUNDED, asked.loss.exact_delta * ROUNDED))
    every = row_limits(min(schema.most_rows, MOST_LIMIT))
    limit = RowLimit(
        PersonLimitDraw(spent, every), query, declared, predicate, keys, rest, left, asked.loss.exact_delta
    )
    first = limit.planned(1)
    if first.is_scheduled:
        raise NotApplicable("rows_per_unit", PRIVATE, f"{query.name} reads on a schedule", "a declared number of rows")
    whole = Loss(asked.loss.epsilon, asked.loss.delta if first.loss.delta else 0.0)
    # Where the answer within one row needs no delta nothing else may spend it.
    limit = dataclasses.replace(limit, delta=whole.exact_delta)
    # The more rows of one person count, the less is left for each: from some limit on there may be no answer.
    possible = bisect_left(every, True, key=lambda rows: limit.plan_at(rows) is None)
    draw = PersonLimitDraw(spent, every[: max(possible, 1)])
    return LimitedPlan(first.inner, whole), None, dataclasses.replace(limit, draw=draw)


def _people_finder(keys: tuple[str, ...], schema: Schema, asked: Options) -> tuple[PeopleFinder | None, Options]:
    """What finds undeclared groups where people own any number of rows, and what is left for the answers."""
    if not any(undeclared(schema.columns[name]) for name in keys):
        return None, asked
    bins, rest = _finder(keys, dataclasses.replace(schema, rows_per_unit=1), asked.loss)
    if bins is None:
        raise RuntimeError("undeclared groups are found")
    spent = ROWS_SHARE * bins.epsilon
    finder = PeopleFinder(
        PersonLimitDraw(spent, row_limits(min(schema.most_rows, MOST_LIMIT))), bins.epsilon - spent, bins.delta
    )
    return finder, dataclasses.replace(asked, loss=rest)


def _planned(
    bound: Query, schema: Schema, predicate: Predicate | None, keys: tuple[str, ...], asked: Options
) -> tuple[Plan, Loss, StableBins | None]:
    """The plan of one group, the loss of all of them, and what finds groups that are not declared."""
    facts = bound.table_facts(schema, shape_of_selection(schema, bound, filtered=predicate is not None, keys=keys))
    finder, rest = _finder(keys, schema, asked.loss)
    # A person who changes groups leaves one and enters another: two steps for each of their rows.
    steps = 2 * schema.row_limit if keys else 1
    each = rest if steps == 1 else rest.per_step(steps)
    try:
        options = dataclasses.replace(asked, loss=each)
        inner = planned(bound, facts, options)
        if asked.simultaneous is not None:
            groups = _number_of_groups(keys, schema, found=finder is not None)
            inner = planned(bound, facts, options.for_all(inner, groups))
    except EpsilonTooSmall as error:
        raise error.of_whole(asked.loss.epsilon, asked.loss.epsilon / each.epsilon) from None
    loss = inner.loss if steps == 1 else inner.loss.for_group(steps)
    if finder is not None:
        loss = loss + Loss(float_up(finder.epsilon), float_up(finder.delta))
    return inner, loss, finder


def _number_of_groups(keys: tuple[str, ...], schema: Schema, *, found: bool) -> int | None:
    """How many groups there are; None where they are found."""
    return None if found else math.prod(len(schema.columns[name].keys(name)) for name in keys)


def viewed(query: Query, schema: Schema, predicate: Predicate | None, keys: Sequence[str]) -> Schema:
    """The schema of what a question reads: of linked tables the join that its columns need, and what it computes."""
    if schema.tables and schema.view is None:
        declared = set(names_of_columns(schema.tables).values())
        computed = (parsed_expression(name, schema) for name in query.used if name not in declared)
        leaves = [name for expression in computed if expression is not None for name in expression.columns()]
        filtered = () if predicate is None else predicate.columns()
        schema = view_of_columns(schema, [*query.used, *leaves, *filtered, *keys])
    return with_computed(schema, query.used)


def adds_rho(schema: Schema) -> bool:
    """Whether the ledger of this dataset adds up rho: mechanisms are then compared at equal rho.  Public."""
    return schema.filter == "zcdp"


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
    finder = StableBins(result, asked.exact_delta, schema.row_limit)
    return finder, asked.share(1 - KEYS_SHARE).pure()


def shape_of_selection(schema: Schema, bound: Query, *, filtered: bool, keys: tuple[str, ...]) -> Shape:
    """The public facts of the records that a question is about."""
    declared = [schema.columns[name] for name in bound.used]
    dropped = any(declaration.drops_nulls for declaration in declared)
    public = isinstance(schema.rows, int) and schema.unit is None and not filtered and not keys and not dropped
    whole = all(declaration.type_name in ("integer", "date", "timestamp", "boolean") for declaration in declared)
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
        rows_per_person=1 if schema.limit_is_private else schema.row_limit,
    )
