"""Functions of the moments of two columns: covariance, correlation and the line of least squares."""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, TypeVar, cast, get_args

from dither.errors import InvalidArgument
from dither.mechanisms.mechanism import Prepared
from dither.privacy import Loss
from dither.queries.parameters import ColumnNames, Text
from dither.queries.parameters import Names as TextNames
from dither.queries.plan import Options, Plan, R_contra, Result, WrappedPlan
from dither.queries.query import Missing, Query, not_proved
from dither.queries.registry import Menu, Sql, query
from dither.queries.vectors import Matrix, MatrixShape, column_names
from dither.release import B_co, Counted, Released, V_co
from dither.sources.column import Shape, Table, columns_of, complete_rows, only_columns
from dither.sources.grid import Grid
from dither.sources.schema import Schema
from dither.sources.types import Measured
from dither.statistics.moments import ColumnSums, CrossProduct, Moments
from dither.statistics.statistic import Statistic, VectorStatistic
from dither.typing import Columns, Interval, MechanismChoice, Names

if TYPE_CHECKING:
    from dither.queries.tables import TableRecords

T = TypeVar("T")
NO_SPREAD = 2.0**-40
"""A variance of at most this share of the squared half width of the bounds counts as none."""
STEEPEST = 2.0**20
"""The steepest slope, in half widths: where the variance of x is above ``NO_SPREAD``, none is steeper."""
_ROUNDING = 2.0**-44
"""More than rounding errors of floats can make in a variance or covariance in [-1, 1]."""
_PARAMETERS = {
    "columns": ColumnNames("Two columns", "The second explains the first."),
    **dict.fromkeys(("bounds", "step", "nulls", "names")),
}
Part: TypeAlias = Literal["both", "slope", "intercept"]
PARTS: tuple[Part, ...] = get_args(Part)
Span = tuple[float, float]


@dataclass(frozen=True)
class _Pair(Matrix[V_co, B_co]):
    """A question about two bounded columns."""

    accepts = ("where", "by")  # type: ignore[assignment]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.columns is not None and len(self.columns) != 2:
            raise InvalidArgument("columns", self.columns, "must be two columns")

    def grids(self, shape: Shape) -> tuple[Grid, ...]:
        if shape.columns != 2:
            raise InvalidArgument("columns", f"{shape.columns} columns", "must be two columns")
        return super().grids(shape)

    def bound(self, schema: Schema) -> Query:
        result = super().bound(schema)
        if len(result.used) != 2:
            raise InvalidArgument("columns", list(result.used)[:9], "must be two columns: name them")
        return result

    def table_facts(self, schema: Schema, shape: Shape) -> Shape:
        grids = tuple(schema.measured(name).grid for name in self.used)
        known = {item.name: getattr(shape, item.name) for item in dataclasses.fields(Shape)}
        return MatrixShape(**{**known, "columns": 2, "names": self.used}, declared=grids)

    def missing_in(self, schema: Schema) -> Missing:
        return None if any(schema.columns[name].drops_nulls for name in self.used) else super().missing_in(schema)

    def read(self, data: Columns, shape: Shape) -> ColumnSums:
        return ColumnSums.of(self.table(data, shape))

    def select(self, records: TableRecords, prepared: Prepared | None) -> Sequence[ColumnSums]:  # noqa: ARG002
        return records.pair_sums(self.used)


@query(
    "pair_covariance",
    of="columns",
    menu=Menu("Spread", "Covariance of two columns"),
    parameters=_PARAMETERS,
    proof="totals",
    sql=(
        Sql("covar_pop", fixed={"ddof": 0}, form="covar_pop(y, x)"),
        Sql("covar_samp", fixed={"ddof": 1}, form="covar_samp(y, x)"),
        Sql("pair_covariance", form="pair_covariance(y, x)"),
    ),
)
@dataclass(frozen=True)
class PairCovariance(_Pair[float, Interval]):
    """The covariance of two bounded columns: divided by n (``ddof=0``) or by n - 1 (``ddof=1``).

    >>> import dither as dt
    >>> table = {"y": [0, 100] * 5_000, "x": [0, 100] * 5_000}
    >>> 2_000 < dt.pair_covariance(table, bounds=(0, 100), epsilon=5.0).value < 3_000
    True
    """

    ddof: Literal[0, 1] = field(default=0, kw_only=True)
    noun: ClassVar[str] = "covariance"
    instead = "ask corr(a, b) or regr_slope(a, b), which are answered there"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.ddof, bool) or self.ddof not in (0, 1):
            raise InvalidArgument("ddof", self.ddof, "must be 0 or 1")

    def resolve(self, shape: Shape) -> CrossProduct:
        (item, other), n = self.grids(shape), shape.records
        if shape.private:
            raise not_proved(self)
        if n <= self.ddof:
            raise InvalidArgument("ddof", self.ddof, f"must be fewer than the {n} records")
        # The largest value has half of the records at either end of both.
        most = (item.ends[1] - item.ends[0]) * (other.ends[1] - other.ends[0]) * (n // 2) * (n - n // 2)
        return CrossProduct(n, item, other, Grid(item.step * other.step / (n * (n - self.ddof)), -most, most))


@dataclass(frozen=True)
class _OfMoments(_Pair[V_co, B_co]):
    """A function of private moments: post-processing (docs/proofs/moments.md)."""

    is_transformed = True
    has_y_square: ClassVar[bool] = True
    possible: ClassVar[tuple[float, float] | None] = None
    """Between which ends it lies whatever the moments are, where that is known."""
    default_drop = True

    def shape(self, data: Columns) -> Shape:
        shape = super().shape(data)
        return shape.without_missing() if self.drops_nulls else shape

    def table(self, data: Columns, shape: Shape) -> Table:
        if not shape.dropped:
            return super().table(data, shape)
        columns = columns_of(only_columns(data, self.columns), count=shape.columns)
        return Table(complete_rows(columns, self.grids(shape)))

    def drops_in(self, schema: Schema, mechanism: MechanismChoice) -> tuple[str, ...]:
        if not self.drops_with(mechanism):
            return ()
        return self.used or tuple(name for name, column in schema.columns.items() if isinstance(column, Measured))

    def resolve(self, shape: Shape) -> Moments:
        y, x = self.grids(shape)
        return Moments(
            shape.records, y, (x,), self.has_y_square, shape.private, shape.neighbours, shape.rows_per_person
        )

    def plan(self, facts: Shape, options: Options) -> Plan:
        statistic, level = self.resolve(facts), options.level
        if options.miss is not None:
            # The intervals of the moments cover all of them at once (union bound).
            options = dataclasses.replace(options, confidence=1 - options.miss / len(statistic.labels))
        inner = super().plan(facts, options).inner  # type: ignore[attr-defined]
        return MomentsPlan(self.label, inner, self, statistic, self.parts(facts), level)

    def parts(self, shape: Shape) -> tuple[str, ...] | None:  # noqa: ARG002
        """The names of what is released where these are several numbers."""
        return None

    def function_of(self, statistic: Statistic | VectorStatistic) -> Callable[[Sequence[float]], V_co]:
        return functools.partial(self.of_moments, cast("Moments", statistic))

    @abstractmethod
    def of_moments(self, statistic: Moments, moments: Sequence[float]) -> V_co:
        """What is released in their place."""

    @abstractmethod
    def between(self, statistic: Moments, ends: Sequence[Span]) -> B_co:
        """What it can be where the moments lie between these ends."""


@dataclass(frozen=True)
class MomentsPlan(WrappedPlan[R_contra]):
    """A function of released moments, with an interval by interval arithmetic on theirs."""

    label: str
    inner: Plan[R_contra]
    query: _OfMoments
    statistic: Moments
    parts: tuple[str, ...] | None
    level: float | None
    """The confidence; each moment has an interval of a greater one."""

    @property
    def labels(self) -> tuple[str, ...] | None:
        return self.parts

    @property
    def answer_range(self) -> Counted:
        return self.query.possible

    @property
    def confidence(self) -> float | None:
        return self.level

    @property
    def loss(self) -> Loss:
        return self.inner.loss

    def run(self, records: R_contra) -> Result:
        result = self.inner.run(records)
        ends = None if result.interval is None else self.query.between(self.statistic, result.interval)
        return Result(self.query.of_moments(self.statistic, result.value), ends)


@dataclass(frozen=True)
class _Summary:
    """Means, variances and the covariance of u and v, from moments that may be noisy."""

    u: float
    v: float
    uu: float
    vv: float
    uv: float

    @classmethod
    def of(cls, statistic: Moments, moments: Sequence[float]) -> _Summary:
        given = dict(zip(statistic.labels, moments, strict=True))
        n = given.get("records", statistic.records)
        if n < 1:
            return cls(0.0, 0.0, 0.0, 0.0, 0.0)
        u, v = _cut(given["x"] / n), _cut(given["y"] / n)
        return cls(u, v, given["x^2"] / n - u * u, given.get("y^2", 0.0) / n - v * v, given["xy"] / n - u * v)


@dataclass(frozen=True)
class _Spans:
    """The same as intervals that hold them all."""

    u: Span
    v: Span
    uu: Span
    vv: Span
    uv: Span

    @classmethod
    def of(cls, statistic: Moments, ends: Sequence[Span]) -> _Spans:
        given = dict(zip(statistic.labels, ends, strict=True))
        n = given.get("records", (statistic.records, statistic.records))
        if n[0] < 1:
            whole, square = (-1.0, 1.0), (0.0, 1.0)
            return cls(whole, whole, square, square, whole)
        mean = {name: _quotient(given.get(name, (0.0, n[0])), n) for name in ("x", "y", "x^2", "y^2", "xy")}
        u, v = mean["x"], mean["y"]
        return cls(
            u,
            v,
            _less(mean["x^2"], _square(u), (0.0, 1.0)),
            _less(mean["y^2"], _square(v), (0.0, 1.0)),
            _less(mean["xy"], _times(u, v), (-1.0, 1.0)),
        )


def _cut(number: float, low: float = -1.0, high: float = 1.0) -> float:
    return min(max(number, low), high)


def _times(span: Span, other: Span) -> Span:
    corners = [a * b for a, b in product(span, other)]
    return min(corners), max(corners)


def _square(span: Span) -> Span:
    low, high = sorted(map(abs, span))
    return (0.0 if span[0] <= 0.0 <= span[1] else low * low), high * high


def _quotient(span: Span, records: Span) -> Span:
    """Means that lie in [-1, 1] for a number of records of at least 1."""
    corners = [a / n for a, n in product(span, records)]
    return _cut(min(corners)), _cut(max(corners))


def _less(span: Span, other: Span, within: Span) -> Span:
    """A difference that is known to lie within some range, widened by more than rounding errors."""
    return _cut(span[0] - other[1] - _ROUNDING, *within), _cut(span[1] - other[0] + _ROUNDING, *within)


@query(
    "correlation",
    of="columns",
    menu=Menu("Spread", "Correlation"),
    parameters=_PARAMETERS,
    proof="moments",
    sql=(Sql("corr", form="corr(y, x)"), Sql("correlation", form="correlation(y, x)")),
)
@dataclass(frozen=True)
class Correlation(_OfMoments[float, Interval]):
    """Pearson's correlation of two bounded columns: a function of five private moments, in [-1, 1].

    It is 0 where a (noisy) variance is not positive.  The interval is conservative: it holds for all moments within
    intervals that cover all of them at once.

    >>> import dither as dt
    >>> table = {"y": [0, 100] * 5_000, "x": [0, 100] * 5_000}
    >>> dt.correlation(table, bounds=(0, 100), epsilon=5.0).value > 0.9
    True
    """

    noun: ClassVar[str] = "correlation"
    possible = (-1.0, 1.0)

    def of_moments(self, statistic: Moments, moments: Sequence[float]) -> float:
        summary = _Summary.of(statistic, moments)
        if summary.uu <= NO_SPREAD or summary.vv <= NO_SPREAD:
            return 0.0
        return _cut(summary.uv / math.sqrt(summary.uu) / math.sqrt(summary.vv))

    def between(self, statistic: Moments, ends: Sequence[Span]) -> Span:
        spans = _Spans.of(statistic, ends)
        if spans.uu[0] <= NO_SPREAD or spans.vv[0] <= NO_SPREAD:
            return -1.0, 1.0
        divisor = [math.sqrt(a) * math.sqrt(b) for a, b in zip(spans.uu, spans.vv, strict=True)]
        corners = [a / b for a, b in product(spans.uv, divisor)]
        return _cut(min(corners)), _cut(max(corners))


@query(
    "least_squares",
    of="columns",
    menu=Menu("Models", "Line of least squares", picture="line"),
    parameters={
        **_PARAMETERS,
        "part": Text("Part", choices=PARTS, is_advanced=True),
        "target": Text("Response", "Instead of columns: the column that is explained.", is_advanced=True),
        "features": TextNames("Feature", "Instead of columns: the one that explains it.", is_advanced=True),
    },
    proof="moments",
    sql=(
        Sql("regr_slope", fixed={"part": "slope"}, form="regr_slope(y, x)"),
        Sql("regr_intercept", fixed={"part": "intercept"}, form="regr_intercept(y, x)"),
        Sql("least_squares", form="least_squares(y, x)"),
    ),
)
@dataclass(frozen=True)
class LeastSquares(_OfMoments[Released, Released]):
    """Intercept and slope of the line of least squares that explains the first of two bounded columns by the second.

    target, features: the two columns by their roles, as in ``Regression``; instead of ``columns``.
    part: "both", "slope" or "intercept"; all of them are functions of the same four private moments.

    Where the (noisy) variance of x is not positive the line is flat, at the mean of y.  The interval of each is
    conservative: it holds for all moments within intervals that cover all of them at once.

    >>> import dither as dt
    >>> table = {"y": [0, 100] * 5_000, "x": [0, 50] * 5_000}
    >>> intercept, slope = dt.least_squares(table, bounds=[(0, 100), (0, 50)], epsilon=5.0).value
    >>> -10 < intercept < 10 and 1.8 < slope < 2.2
    True
    """

    part: Part = field(default="both", kw_only=True)
    target: str | None = field(default=None, kw_only=True)
    features: Names | None = field(default=None, kw_only=True)
    noun: ClassVar[str] = "least squares"
    has_y_square = False

    def __post_init__(self) -> None:
        if self.target is not None or self.features is not None:
            object.__setattr__(self, "columns", self._by_role())
            object.__setattr__(self, "target", None)  # one question has one form
            object.__setattr__(self, "features", None)
        super().__post_init__()
        if self.part not in PARTS:
            raise InvalidArgument("part", self.part, f"must be one of {', '.join(PARTS)}")

    def _by_role(self) -> tuple[str, str]:
        if self.columns is not None:
            raise InvalidArgument("columns", self.columns, "must be left out where target and features are given")
        if not isinstance(self.target, str):
            raise InvalidArgument("target", self.target, "must be the name of one column, with features")
        features = () if self.features is None else column_names(self.features)
        if len(features) != 1:
            wanted = "must be one column, with target; several are asked with Regression"
            raise InvalidArgument("features", list(features), wanted)
        return self.target, features[0]

    @property
    def label(self) -> str:
        noun = self.noun if self.part == "both" else self.part
        if self.columns is None:
            return noun if self.part == "both" else f"{noun} of least squares"
        return f"{noun} of {self.columns[0]} on {self.columns[1]}"

    def parts(self, shape: Shape) -> tuple[str, ...] | None:
        return ("intercept", self._labels(shape)[1]) if self.part == "both" else None

    def of_moments(self, statistic: Moments, moments: Sequence[float]) -> float | Span:
        summary = _Summary.of(statistic, moments)
        slope = 0.0 if summary.uu <= NO_SPREAD else _cut(summary.uv / summary.uu, -STEEPEST, STEEPEST)
        line = _Line(statistic)
        return self._chosen(line.intercept(summary.v, slope, summary.u), line.slope(slope))

    def between(self, statistic: Moments, ends: Sequence[Span]) -> Span | tuple[Span, Span]:
        spans = _Spans.of(statistic, ends)
        slopes: Span = (-STEEPEST, STEEPEST)
        if spans.uu[0] > NO_SPREAD:
            corners = [_cut(a / b, *slopes) for a, b in product(spans.uv, spans.uu)]
            slopes = min(corners), max(corners)
        line = _Line(statistic)
        intercepts = [line.intercept(v, slope, u) for v, slope, u in product(spans.v, slopes, spans.u)]
        chosen = self._chosen((min(intercepts), max(intercepts)), (line.slope(slopes[0]), line.slope(slopes[1])))
        return chosen  # noqa: RET504  (of pairs: what is returned here would be inferred as wider)

    def _chosen(self, intercept: T, slope: T) -> T | tuple[T, T]:
        return (intercept, slope) if self.part == "both" else slope if self.part == "slope" else intercept


class _Line:
    """From centred coordinates back to the columns' own, exactly; numbers beyond all floats are the largest of them."""

    def __init__(self, statistic: Moments) -> None:
        self._middle, self._half = zip(*map(statistic.centred, range(2)), strict=True)

    def slope(self, slope: float) -> float:
        """A slope in half widths of y for a half width of x."""
        return _float(Fraction(slope) * self._half[0] / self._half[1])

    def intercept(self, v: float, slope: float, u: float) -> float:
        """Where the line through (u, v) is at x = 0."""
        at = -self._middle[1] / self._half[1] - Fraction(u)
        return _float(self._middle[0] + self._half[0] * (Fraction(v) + Fraction(slope) * at))


def _float(number: Fraction) -> float:
    most = Fraction(sys.float_info.max)
    return float(min(max(number, -most), most))
