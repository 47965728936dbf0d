"""Several numbers at once: histograms, means of several columns, covariances."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument
from dither.mechanisms.mechanism import Prepared
from dither.numbers import exact
from dither.plain import JsonObject
from dither.queries.parameters import Bounds as BoundsParameter
from dither.queries.parameters import ColumnNames, Whole
from dither.queries.plan import Options, Plan
from dither.queries.query import Missing, Query, StatisticQuery, drop_not_declared, not_proved
from dither.queries.registry import DATES, NUMBERS, Menu, Sql, query
from dither.queries.unbounded import (
    MOST_CATEGORIES,
    CategoryEntries,
    FoundBinsPlan,
    entries_listed,
    entries_of,
    entries_shape,
    public_rows,
)
from dither.release import B_co, Counted, V_co
from dither.sources.column import (
    Column,
    Shape,
    Table,
    as_array,
    columns_of,
    count_of,
    floats_of,
    missing_steps,
    only_columns,
    read_column,
    shape_of,
    table_shape_of,
)
from dither.sources.entries import FAILURES
from dither.sources.grid import Grid
from dither.sources.schema import Schema
from dither.sources.types import Category as CategoryType
from dither.sources.types import Date, Measured, storable
from dither.statistics.moments import ColumnSums
from dither.statistics.vectors import BinCounts, CrossProducts, Totals
from dither.typing import (
    Bounds,
    Categories,
    CategoryValue,
    Columns,
    CountIntervals,
    Counts,
    EntriesData,
    Intervals,
    MechanismChoice,
    Names,
    Nulls,
    Number,
    NumberList,
    Numbers,
    SeveralBounds,
)

if TYPE_CHECKING:
    from dither.queries.tables import TableRecords
    from dither.sources.windows import BinnedRecords

AT_ONCE = 1 << 18
"""How many records are placed in their bins at once."""


@query(
    "histogram",
    of="column",
    menu=Menu("Distribution", "Histogram", (*NUMBERS, "category"), 1, "bars"),
    any_type=lambda asked: asked.edges is None,
    sql=(
        Sql(
            "histogram",
            "edges*",
            form="histogram(column) of a category, histogram(column, 0, 50, 100) or histogram(column, bins => 10)",
        ),
    ),
    parameters={
        "bounds": BoundsParameter("Bounds of the bins", "Those that are declared.", is_advanced=True),
        "bins": Whole("Bins", "Of equal width, instead of edges.", least=1, most=1_000, is_advanced=True),
    },
)
@dataclass(frozen=True)
class Histogram(StatisticQuery[Counts, CountIntervals, EntriesData]):
    """Counts of the records between declared ``edges``, or of declared ``categories`` (anything else is "other").

    Bins are [e0, e1), [e1, e2), ..., [e_{k-1}, e_k]; the first and the last edge are the public bounds.  ``bins``: so
    many of equal width between ``bounds``, in a session those that its schema declares.
    """

    column: str | None = None
    edges: NumberList | None = field(default=None, kw_only=True)
    bins: int | None = field(default=None, kw_only=True)
    bounds: Bounds | None = field(default=None, kw_only=True)
    categories: Categories | None = field(default=None, kw_only=True)
    nulls: Nulls | None = field(default=None, kw_only=True)
    noun: ClassVar[str] = "histogram"
    dates = "bins"
    default_drop = True

    since_0_1_0 = ("bins", "bounds")

    def __post_init__(self) -> None:
        self._cut_evenly()
        if self.edges is None and self.categories is None:
            if self.bins is not None:
                return  # a session takes the bounds from its schema
            if self.nulls is not None:
                raise InvalidArgument("nulls", self.nulls, "either edges or categories must be declared")
            return  # a session takes the categories from its schema; else they are found
        if self.edges is not None and self.categories is not None:
            raise InvalidArgument("edges", self.edges, "either edges or categories must be declared")
        if self.edges is not None:
            if not all(low < high for low, high in pairwise(self._edges)):
                raise InvalidArgument("edges", self._edges[:9], "must be strictly increasing numbers")
        else:
            names = self._listed("categories", 1)
            if not all(isinstance(name, Hashable) for name in names):
                raise InvalidArgument("categories", names, "must be hashable categories such as text or numbers")
            if len({str(name) for name in names} | {"other"}) != len(names) + 1:
                raise InvalidArgument("categories", names, 'must be different categories, none of them "other"')
        self._missing()

    def _cut_evenly(self) -> None:
        """Edges in the place of a number of bins, where the bounds are known."""
        if self.bins is None:
            if self.bounds is not None:
                raise InvalidArgument("bounds", self.bounds, "is used with bins=: pass bins=10, or edges=[0, 50, 100]")
            return
        if isinstance(self.bins, bool) or not isinstance(self.bins, int) or not 1 <= self.bins <= MOST_CATEGORIES:
            raise InvalidArgument("bins", self.bins, f"must be a whole number from 1 to {MOST_CATEGORIES}")
        for name in ("edges", "categories"):
            if getattr(self, name) is not None:
                raise InvalidArgument(name, getattr(self, name), "is not used with bins=: leave one of them out")
        if self.bounds is not None:
            Grid.between(self.bounds)  # (refuses what are no bounds)
            low, high = (exact(end, "bounds") for end in self.bounds)
            edges = tuple(float(low + (high - low) * place / self.bins) for place in range(self.bins + 1))
            for name, value in (("edges", edges), ("bins", None), ("bounds", None)):
                object.__setattr__(self, name, value)

    def _listed(self, name: str, least: int) -> list[CategoryValue]:
        given = getattr(self, name)
        if given is None:
            raise InvalidArgument(name, given, "either edges or categories must be declared")
        if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
            raise InvalidArgument(name, given, "must be a list")
        listed = list(given)
        if len(listed) < least:
            raise InvalidArgument(name, listed, f"must have at least {least} entries")
        return listed

    @property
    def names(self) -> tuple[str, ...]:
        """The declared categories, as texts."""
        return tuple(str(name) for name in self._listed("categories", 1))

    @property
    def cuts(self) -> tuple[float, ...]:
        """The edges of the bins of numbers."""
        return tuple(self._edges)

    @functools.cached_property
    def _edges(self) -> list[float]:
        listed = self._listed("edges", 2)
        floats = [edge for edge in listed if isinstance(edge, float) and math.isfinite(edge)]
        if len(floats) == len(listed):
            return [float(edge) for edge in floats]
        return [float(exact(edge, "edges")) for edge in listed]

    @property
    def _bins(self) -> Grid:
        return Grid(Fraction(1), 0, len(self.bin_labels) - 1)

    @functools.cached_property
    def bin_labels(self) -> tuple[str, ...]:
        """The names of the bins, in order."""
        if self.categories is not None:
            return (*(str(name) for name in self._listed("categories", 1)), "other")
        return self.labels_between(_short)

    def labels_between(self, written: Callable[[float], str]) -> tuple[str, ...]:
        """The names of the bins of numbers, from those of their edges."""
        return tuple(f"{low} to {high}" for low, high in pairwise(map(written, self._edges)))

    @property
    def _found(self) -> bool:
        """True if the bins are not declared: finding them needs delta > 0."""
        return self.edges is None and self.categories is None

    def shape(self, data: EntriesData) -> Shape:
        if self.bins is not None:
            raise InvalidArgument("bounds", None, "is missing: bins need bounds=(lower, upper), a range you know")
        if self.edges is None:
            return entries_shape(data)
        return shape_of(data).without_missing() if self.drops_nulls else shape_of(data)

    def drops_with(self, mechanism: MechanismChoice) -> bool:
        # Among categories a record without a value is one of the others.
        return (self.edges is not None or self.bins is not None) and super().drops_with(mechanism)

    def drops_in(self, schema: Schema, mechanism: MechanismChoice) -> tuple[str, ...]:  # noqa: ARG002
        return (str(self.column),) if self.drops_with(mechanism) else ()

    def plan(self, facts: Shape, options: Options) -> Plan:
        if self._found:
            return FoundBinsPlan.of(self.label, facts.records, options, facts.rows_per_person)
        return super().plan(facts, options)

    def resolve(self, shape: Shape) -> BinCounts:
        return BinCounts(self.bin_labels, shape.neighbours, shape.rows_per_person)

    def read(self, data: EntriesData, shape: Shape) -> Column | CategoryEntries:  # noqa: ARG002
        if self._found:
            return entries_of(data)
        if self.categories is not None:
            place = {name: index for index, name in enumerate(self._listed("categories", 1))}
            # A whole number is the category that is written like it: 4 is "4".
            place = {**{str(name): index for name, index in place.items()}, **place}
            values, others = entries_listed(data), len(self.bin_labels) - 1
            result = np.fromiter((_place(place, value, others) for value in values), dtype=np.int64, count=len(values))
            return Column(result, self._bins)
        return Column(self._placed(as_array(data)), self._bins)

    def _placed(self, column: NDArray[np.generic]) -> NDArray[np.int64]:
        """The bin of every record; block by block, because all at once takes several times the memory."""
        edges, missing = np.array(self._edges), self._missing()
        result, filled = np.empty(len(column), np.int64), 0
        for start in range(0, len(column), AT_ONCE):
            block = floats_of(column[start : start + AT_ONCE])
            known = ~np.isnan(block)
            block = block[known] if self.drops_nulls else np.where(known, block, missing)
            places = np.searchsorted(edges, block, side="right") - 1
            np.clip(places, 0, len(edges) - 2, out=result[filled : filled + len(places)])
            filled += len(places)
        return result[:filled]

    def _missing(self) -> float:
        if self.nulls is None or self.nulls == "lower" or (self.drops_nulls and self.edges is not None):
            return self._edges[0] if self.edges is not None else 0.0
        if self.nulls == "upper":
            return self._edges[-1]
        value = math.nan if isinstance(self.nulls, str) else float(exact(self.nulls, "nulls"))
        if not self._edges[0] <= value <= self._edges[-1]:
            raise InvalidArgument("nulls", self.nulls, 'must be "lower", "upper", "drop" or a number within the edges')
        return value

    def missing(self, shape: Shape) -> int | float | None:
        return self._missing() if self.edges is not None and shape.nullable else None

    def clamped(self, facts: Shape) -> Counted:  # noqa: ARG002
        return None if self.edges is None else (self._edges[0], self._edges[-1])

    def bound(self, schema: Schema) -> Query:
        declared = schema.column(self.column)
        if isinstance(declared, CategoryType):
            if self.edges is not None:
                raise InvalidArgument(
                    "edges", list(self.cuts)[:9], "is not used for a column of categories: leave it out"
                )
            if self.bins is not None:
                raise InvalidArgument("bins", self.bins, "is not used for a column of categories: leave it out")
            if self.categories is None:
                return self if declared.values is None else replace(self, categories=declared.keys(str(self.column)))
            if not all(map(storable, self.names)):
                raise InvalidArgument("categories", list(self.names)[:9], "must be names without the character NUL")
            return self
        if self.bins is not None and self.bounds is None and isinstance(declared, Date):
            return replace(self, bins=None, edges=_whole_cuts(declared.grid, self.bins)).bound(schema)
        if self.bins is not None and isinstance(declared, Measured):
            low, high = (declared.grid.value(end) for end in declared.grid.ends)
            return replace(self, bounds=(low, high)).bound(schema)
        if self.edges is None:
            wanted = "is missing: pass edges=[0, 50, 100], or bins=10 for equal ones between the declared bounds"
            raise InvalidArgument("edges", None, wanted)
        if isinstance(declared, Date):
            _check_days(declared, self.cuts)
        if self.drops_nulls:
            if not declared.drops_nulls:
                raise drop_not_declared(self.nulls)
            return replace(self, nulls=None).bound(schema)
        if self.nulls is not None or not isinstance(declared, Measured):
            return replace(self, nulls=self._missing())
        # What a missing value counts as is the declared value, cut to the edges.
        value = declared.missing_value
        return replace(self, nulls=min(max(value, self.cuts[0]), self.cuts[-1]))

    def table_facts(self, schema: Schema, shape: Shape) -> Shape:
        return public_rows(self, schema, shape, MOST_CATEGORIES) if self._found else shape

    def select(self, records: TableRecords, prepared: Prepared | None) -> Sequence[BinnedRecords | CategoryEntries]:  # noqa: ARG002
        column = str(self.column)
        if self._found:
            return [entries_of(records.rows(self.used).column(0).to_pylist())]
        if self.edges is None:
            return records.counted(column, self.names)
        return records.binned(column, self.cuts, self._missing())

    def stored(self) -> JsonObject:
        # What is counted are the texts of categories: 1 and 1.0 are different ones.
        return super().stored() | ({} if self.categories is None else {"categories": list(self.names)})

    def missing_in(self, schema: Schema) -> Missing:
        if self.edges is None or schema.column(self.column).drops_nulls:
            return None
        return self._missing()


def _place(places: dict[CategoryValue, int], value: CategoryValue, others: int) -> int:
    """The bin of a record; whatever is not declared, or cannot be looked up, is in the last bin, "other"."""
    try:
        if value not in places and type(value) in _WHOLE:
            return places.get(str(value), others)
        return places.get(value, others)
    except FAILURES:  # an entry may be of anybody's own class
        return others


_WHOLE = frozenset({int, *(np.dtype(code).type for code in "bhilqBHILQ")})
"""Types of whole numbers, and no classes made of them."""


def _whole_cuts(grid: Grid, bins: int) -> tuple[int, ...]:
    """Edges of bins of nearly equal width at points of a grid: a day is in one bin."""
    low, high = grid.ends
    if bins > high - low:
        raise InvalidArgument("bins", bins, f"must be at most {high - low}: there are no more steps within the bounds")
    return tuple(int(grid.value(low + -((low - high) * place // bins))) for place in range(bins + 1))


def _check_days(declared: Date, edges: Sequence[float]) -> None:
    """Edges of dates are shown as dates, so they must be some."""
    try:
        for edge in (edges[0], edges[-1]):
            declared.displayed(math.ceil(edge))
    except (OverflowError, ValueError):
        wanted = "must be days or seconds since 1970 within the years 1 to 9999, as the column counts them"
        raise InvalidArgument("edges", list(edges)[:9], wanted) from None


def _short(edge: float) -> str:
    """The shortest exact form, with thousands separated."""
    return f"{int(edge):,}" if edge == int(edge) and abs(edge) < 1e15 else f"{edge!r}"


_DECLARED = ("bounds", "step", "nulls")
"""What the schema of a registered table declares, and questions do not."""


@dataclass(frozen=True)
class MatrixShape(Shape):
    """The columns of a table whose schema declares their grids."""

    declared: tuple[Grid, ...] = ()


def column_names(given: Names) -> tuple[str, ...]:
    """Different names of columns; one name is a list of one."""
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not names or len(set(names)) != len(names):
        raise InvalidArgument("columns", given, "must be the name of a column, or a list of different names")
    return tuple(str(name) for name in names)


@dataclass(frozen=True)
class Matrix(StatisticQuery[V_co, B_co, Columns]):
    """A question about several bounded columns: ``bounds`` is a list of pairs, or one pair for all."""

    columns: Names | None = None
    """Their names, where the data have some; None: all of them."""
    bounds: SeveralBounds | None = field(default=None, kw_only=True)
    """Needed for arrays; a session takes them from its schema."""
    step: Number | None = field(default=None, kw_only=True)
    nulls: Nulls | None = field(default=None, kw_only=True)
    names: Sequence[str] | None = field(default=None, kw_only=True)
    column = None
    accepts = ()

    def __post_init__(self) -> None:
        if self.columns is not None:
            object.__setattr__(self, "columns", column_names(self.columns))

    @property
    def label(self) -> str:
        return self.noun if self.columns is None else f"{self.noun} of {', '.join(self.columns)}"

    def shape(self, data: Columns) -> Shape:
        return table_shape_of(only_columns(data, self.columns), count=count_of(self.bounds, self.names))

    def bound(self, schema: Schema) -> Query:
        for name in _DECLARED:
            if getattr(self, name) is not None:
                raise InvalidArgument(name, getattr(self, name), "is declared in the schema: leave it out")
        columns = self.columns or tuple(name for name, column in schema.columns.items() if isinstance(column, Measured))
        for name in columns:
            if schema.measured(name, "columns").type_name in DATES:
                raise InvalidArgument("columns", name, "must be columns of numbers")
        return replace(self, columns=columns)

    @property
    def used(self) -> tuple[str, ...]:
        return () if self.columns is None else tuple(self.columns)

    def table_facts(self, schema: Schema, shape: Shape) -> Shape:
        public_rows(self, schema, shape)
        grids = tuple(schema.measured(name).grid for name in self.used)
        return MatrixShape(
            shape.records, whole=False, nullable=True, columns=len(grids), names=self.used, declared=grids
        )

    def select(self, records: TableRecords, prepared: Prepared | None) -> Sequence[Table | ColumnSums]:  # noqa: ARG002
        return [Table(records.steps(self.used))]

    def missing_in(self, schema: Schema) -> Missing:
        declared = [schema.measured(name) for name in self.used]
        each = tuple(declaration.grid.value(declaration.missing) for declaration in declared)
        return each[0] if len(set(each)) == 1 else each

    def grids(self, shape: Shape) -> tuple[Grid, ...]:
        """A grid for each column; public."""
        if isinstance(shape, MatrixShape):
            return shape.declared
        return grids_between(self.bounds, shape.names or ("",) * shape.columns, self.step, whole=shape.whole)

    def _labels(self, shape: Shape) -> list[str]:
        names = list(self.names or shape.names or (f"x{j + 1}" for j in range(shape.columns)))
        if len(names) != shape.columns:
            raise InvalidArgument("names", names, f"must be a name for each of the {shape.columns} columns")
        return [str(name) for name in names]

    def read(self, data: Columns, shape: Shape) -> Table | ColumnSums:
        return self.table(data, shape)

    def table(self, data: Columns, shape: Shape) -> Table:
        """The columns on their grids: private."""
        grids = self.grids(shape)
        columns = columns_of(only_columns(data, self.columns), count=shape.columns)
        return Table([read_column(c, grid, self.nulls) for c, grid in zip(columns, grids, strict=True)])

    def clamped(self, facts: Shape) -> Counted:
        each = tuple((grid.value(grid.ends[0]), grid.value(grid.ends[1])) for grid in self.grids(facts))
        return each[0] if len(set(each)) == 1 else each

    def missing(self, shape: Shape) -> Missing:
        if not shape.nullable:
            return None
        each = tuple(grid.value(missing_steps(self.nulls, grid)) for grid in self.grids(shape))
        return each[0] if len(set(each)) == 1 else each


def grids_between(
    given: SeveralBounds | None, names: Sequence[str], step: Number | None = None, *, whole: bool
) -> tuple[Grid, ...]:
    """A grid for each of several columns: between a pair for each of them, in order or by name, or one pair for all."""
    accepted, bounds = f"must be a pair for each of the {len(names)} columns, or one pair for all", given
    if isinstance(bounds, Mapping):
        if set(bounds) != set(names):
            raise InvalidArgument("bounds", sorted(map(str, bounds)), f"must be a pair for each of {list(names)}")
        bounds = [bounds[name] for name in names]
    if not isinstance(bounds, Sequence) or isinstance(bounds, str) or len(bounds) == 0:
        raise InvalidArgument("bounds", given, accepted)
    listed = list(bounds) if hasattr(bounds[0], "__len__") else [bounds] * len(names)
    if len(listed) != len(names):
        raise InvalidArgument("bounds", listed, accepted)
    return tuple(Grid.between(cast("Bounds", pair), step, whole=whole) for pair in listed)


_PARAMETERS = {"columns": ColumnNames("Columns", "None chosen: all of numbers."), **dict.fromkeys(_DECLARED)}


@query(
    "mean_vector",
    of="columns",
    menu=Menu("Middle", "Means of several columns"),
    function="mean",
    parameters=_PARAMETERS,
)
@dataclass(frozen=True)
class MeanVector(Matrix[Numbers, Intervals]):
    """The means of several bounded columns."""

    noun: ClassVar[str] = "mean"
    instead = "ask mean(c) of each column, which is answered there"

    def resolve(self, shape: Shape) -> Totals:
        if shape.private:
            raise not_proved(self)
        grids, n = self.grids(shape), shape.records
        answers = tuple(Grid(grid.step / n, grid.ends[0] * n, grid.ends[1] * n) for grid in grids)
        return Totals(grids, answers, tuple(self._labels(shape)))


@query(
    "covariance",
    of="columns",
    menu=Menu("Spread", "Covariance"),
    parameters=_PARAMETERS,
)
@dataclass(frozen=True)
class Covariance(Matrix[Numbers, Intervals]):
    """The covariance matrix (divided by n) of several bounded columns: the entries (j, k) with j <= k."""

    noun: ClassVar[str] = "covariance"
    instead = "ask corr(a, b), regr_slope(a, b) or variance(c), which are answered there"

    def resolve(self, shape: Shape) -> CrossProducts:
        if shape.private:
            raise not_proved(self)
        grids, n = self.grids(shape), shape.records
        answers, labels, names = [], [], self._labels(shape)
        for j, grid in enumerate(grids):
            for k in range(j, len(grids)):
                other = grids[k]
                most = (grid.ends[1] - grid.ends[0]) * (other.ends[1] - other.ends[0]) * (n // 2) * (n - n // 2)
                answers.append(Grid(grid.step * other.step / n**2, 0 if j == k else -most, most))
                labels.append(f"{names[j]}, {names[k]}")
        return CrossProducts(n, grids, tuple(answers), tuple(labels))
