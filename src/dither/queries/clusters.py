"""Clusterings of private points: k-means and mixtures of spherical Gaussians (NRS11 sec. 5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

import numpy as np

from dither.errors import InvalidArgument
from dither.kernels.elementary import Floats
from dither.mechanisms.mechanism import Prepared
from dither.plain import JsonObject
from dither.privacy import Loss, Neighbours
from dither.procedures.clusters import MOST_CENTRES, MOST_DIMENSIONS, ClusterPlan, plan_clusters
from dither.procedures.private_pass import Components
from dither.procedures.space import Space
from dither.queries.parameters import Bounds, ColumnNames, Whole
from dither.queries.plan import Options, Plan, Result
from dither.queries.query import Missing, Query
from dither.queries.registry import DATES, NUMBERS, Menu, Sql, query
from dither.queries.unbounded import declared_missing, public_rows
from dither.queries.vectors import column_names
from dither.release import B_co, Counted, V_co
from dither.sources.column import Shape, columns_of, count_of, floats_of, only_columns
from dither.sources.grid import Grid
from dither.sources.schema import Schema
from dither.sources.types import Measured
from dither.typing import Array, Columns, Corners, EachBounds, Names, Points
from dither.typing import Bounds as OneBounds
from dither.typing import Whole as WholeNumber

if TYPE_CHECKING:
    from dither.queries.tables import TableRecords

T = TypeVar("T")
NOT_FOUND = "too few people are near for them to be distinguished from noise"
_NARROWEST, _WIDEST = Fraction(1, 1 << 400), Fraction(1 << 400)


@dataclass(frozen=True)
class PointFacts:
    """What is public about points: how many, and their coordinates."""

    records: int
    dimensions: int
    private: bool = False
    rows_per_person: int = 1
    nullable: bool = False
    """True if the types allow missing values, whether or not there are any."""


class PointsQuery(Query[V_co, B_co, Columns]):
    """A query about points: columns of numbers within public bounds."""

    column = None
    accepts = ()
    instead = "ask mean(c) and quantile(c, 0.1), which are answered there, or run a program of your own with a filter"
    if TYPE_CHECKING:

        @property
        def columns(self) -> Names | None:
            """Their names; None: all of numbers."""

        @property
        def bounds(self) -> EachBounds | None:
            """The public range of each."""

    @property
    def label(self) -> str:
        return self.noun if self.columns is None else f"{self.noun} of {', '.join(self.columns)}"

    def shape(self, data: Columns) -> PointFacts:
        columns = self._coordinates(data)
        nullable = any(column.dtype.kind == "f" or isinstance(column, np.ma.MaskedArray) for column in columns)
        return PointFacts(len(columns[0]), len(columns), nullable=nullable)

    def missing(self, shape: PointFacts) -> Missing:
        """Where missing coordinates are put: the middle of the bounds of each."""
        if not shape.nullable:
            return None
        return middles_of(bound_pairs(self.bounds, shape.dimensions))

    def clamped(self, facts: PointFacts) -> Counted:
        """The bounds of each coordinate, to which points outside are clamped."""
        return one_or_each(bound_pairs(self.bounds, facts.dimensions))

    def points(self, data: Columns) -> Floats:
        """The points as rows: private."""
        return np.column_stack([floats_of(column) for column in self._coordinates(data)])

    def _coordinates(self, data: Columns) -> list[Array]:
        """The coordinates of the points: shapes and types are public."""
        chosen = only_columns(data, self.columns)
        columns = [] if isinstance(chosen, dict) and not chosen else columns_of(chosen, "points", count_of(self.bounds))
        if not 1 <= len(columns) <= MOST_DIMENSIONS:
            raise InvalidArgument(
                "points", f"{len(columns)} coordinates", f"must have from 1 to {MOST_DIMENSIONS} coordinates"
            )
        return columns

    # --- in a table ----------------------------------------------------------------------------------------

    def bound(self, schema: Schema) -> Query:
        numbers = tuple(name for name, column in schema.columns.items() if column.type_name in NUMBERS)
        columns = self.columns or numbers
        if not columns:
            raise InvalidArgument("columns", None, "must be a table with columns of numbers")
        ends = [_declared_ends(schema, name) for name in columns]
        pairs = bound_pairs(ends if self.bounds is None else self.bounds, len(columns))
        return replace(self, columns=columns, bounds=pairs)  # type: ignore[type-var]

    @property
    def used(self) -> tuple[str, ...]:
        return () if self.columns is None else tuple(self.columns)

    def table_facts(self, schema: Schema, shape: Shape) -> PointFacts:
        return PointFacts(public_rows(self, schema, shape).records, len(self.used))

    def missing_in(self, schema: Schema) -> Missing:
        return declared_missing(schema, self.used)

    def selected_points(self, records: TableRecords) -> Floats:
        """The points of a table as rows: private."""
        rows = records.rows(self.used)
        return np.column_stack([rows.column(name).to_numpy().astype(np.float64) for name in self.used])


@dataclass(frozen=True)
class CentresPlan(Plan[Floats]):
    """A clustering ready to run."""

    label: str
    loss: Loss
    confidence: float | None
    procedure: ClusterPlan
    query: KMeans
    missing: Missing = None
    clamped: Counted = None
    neighbours = Neighbours.CHANGE_ONE
    mechanism = "private passes"
    noise = "gaussian"

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"{self.query.part} {place + 1}" for place in range(int(self.query.k)))

    def run(self, records: Floats) -> Result:
        result = self.procedure.run(records)
        rows = self.query.rows_of(result.components)
        lacking = int(self.query.k) - len(rows)
        reason = f"{lacking} of {int(self.query.k)} {self.query.part}s not found: {NOT_FOUND}" if lacking else None
        if not rows:
            return Result(None, reason=reason)
        order = sorted(range(len(rows)), key=rows.__getitem__)
        ends = result.components.intervals
        return Result(
            tuple(rows[place] for place in order),
            None if ends is None else tuple((_row(ends[0][place]), _row(ends[1][place])) for place in order),
            reason=reason,
            labels=self.labels[: len(rows)],
        )


_PARAMETERS = {
    "k": Whole("How many", example=3, least=1, most=MOST_CENTRES),
    "bounds": Bounds("Bounds", "Narrower than the schema declares.", most=MOST_DIMENSIONS, is_advanced=True),
    "columns": ColumnNames("Columns", "None chosen: all of numbers.", most=MOST_DIMENSIONS),
}


@query(
    "kmeans",
    of="table",
    menu=Menu("Models", "k-means", picture="points"),
    parameters=_PARAMETERS,
    sql=(Sql("kmeans", "k", example="k => 3"),),
)
@dataclass(frozen=True)
class KMeans(PointsQuery[Points, Corners]):
    """The centres of k clusters of the named ``columns``, or of all columns of numbers.

    Distances are measured in parts of each column's bounds, so that no column outweighs another by its unit.
    """

    columns: Names | None = None
    k: WholeNumber = field(kw_only=True)
    bounds: EachBounds | None = field(default=None, kw_only=True)
    """In a session they may be left out: then they are those that the schema declares."""
    blocks: int | None = field(default=None, kw_only=True)
    noun: ClassVar[str] = "kmeans"
    soft: ClassVar[bool] = False
    part: ClassVar[str] = "centre"

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, (int, np.integer)) or self.k < 1:
            raise InvalidArgument("k", self.k, "must be a whole number of at least 1")
        if self.columns is not None:
            object.__setattr__(self, "columns", column_names(self.columns))
        if self.bounds is not None:
            bound_pairs(self.bounds, None)

    def plan(self, facts: PointFacts, options: Options) -> Plan:
        options.only_auto("clusters have one of their own", "nothing to choose")
        space = Space.between(bound_pairs(self.bounds, facts.dimensions))
        miss = None if options.miss is None else float(options.miss)
        procedure = plan_clusters(
            facts.records, space, int(self.k), options.loss, soft=self.soft, blocks=self.blocks, miss=miss
        )
        if not procedure.composition.fits(options.loss):
            raise RuntimeError("the parts of a plan cost more than the whole")
        return CentresPlan(
            self.label, options.loss, options.level, procedure, self, self.missing(facts), self.clamped(facts)
        )

    def read(self, data: Columns, shape: PointFacts) -> Floats:  # noqa: ARG002
        return self.points(data)

    def rows_of(self, components: Components) -> list[tuple[float, ...]]:
        """What is released of each component."""
        return [_row(centre) for centre in components.centres]

    def stored_0_1_0(self) -> JsonObject:
        columns = list(self.columns or ())
        pairs = [list(pair) for pair in bound_pairs(self.bounds, len(columns))]
        return {"kind": self.name, "columns": columns, "k": int(self.k), "blocks": self.blocks, "bounds": pairs}

    not_stored_0_1_0 = ("where", "by", "calibration", "noise")
    plain_0_1_0 = True

    def select(self, records: TableRecords, prepared: Prepared | None) -> Sequence[Floats]:  # noqa: ARG002
        return [self.selected_points(records)]


@query(
    "gaussian_mixture",
    of="table",
    menu=Menu("Models", "Gaussian mixture", picture="points"),
    parameters=_PARAMETERS,
    sql=(Sql("gaussian_mixture", "k", example="k => 3"),),
)
@dataclass(frozen=True)
class GaussianMixture(KMeans):
    """A mixture of k spherical Gaussians of the named ``columns``, or of all columns of numbers."""

    noun: ClassVar[str] = "gaussian_mixture"
    soft: ClassVar[bool] = True
    part: ClassVar[str] = "component"

    @property
    def label(self) -> str:
        return f"{super().label} (means, then weight and standard deviation)"

    def rows_of(self, components: Components) -> list[tuple[float, ...]]:
        if components.shares is None or components.deviations is None:
            raise RuntimeError("a pass of a mixture has shares and deviations")
        return [_row(item) for item in np.column_stack([components.centres, components.shares, components.deviations])]


def _declared_ends(schema: Schema, name: str) -> tuple[float, float]:
    declared = schema.column(name, "columns")
    if not isinstance(declared, Measured) or declared.type_name in (*DATES, "boolean") or declared.drops_nulls:
        raise InvalidArgument(
            "columns",
            name,
            "must be columns of numbers whose missing values are not dropped: name them, columns=[...], in the shell "
            "--columns A,B",
        )
    low, high = declared.grid.ends
    return float(declared.grid.value(low)), float(declared.grid.value(high))


def _row(numbers: Floats) -> tuple[float, ...]:
    return tuple(float(number) for number in numbers)


def middles_of(pairs: Iterable[tuple[float, float]]) -> float | tuple[float, ...]:
    """The middle of each pair of bounds, once where all have the same: what a missing coordinate counts as."""
    return one_or_each((low + high) / 2 for low, high in pairs)


def one_or_each(items: Iterable[T]) -> T | tuple[T, ...]:
    """What releases say of several columns: the one thing that all have, or one for each."""
    each = tuple(items)
    return each[0] if len(set(each)) == 1 else each


def bound_pairs(bounds: EachBounds | None, dimensions: int | None) -> list[tuple[float, float]]:
    """A pair of floats for each coordinate; None leaves open how many there are."""
    accepted = "must be a pair (lower, upper) for all coordinates, or one pair for each"
    if bounds is None or isinstance(bounds, (str, bytes)) or not hasattr(bounds, "__len__"):
        raise InvalidArgument("bounds", bounds, accepted)
    each = len(bounds) > 0 and all(hasattr(pair, "__len__") and not isinstance(pair, (str, bytes)) for pair in bounds)
    listed = cast("Sequence[OneBounds]", bounds if each else [bounds] * (dimensions or 1))
    pairs = [tuple(pair) for pair in listed]
    if dimensions is not None and len(pairs) != dimensions:
        raise InvalidArgument("bounds", f"{len(pairs)} pairs", f"must be one pair, or {dimensions} of them")
    for pair in pairs:
        grid = Grid.between(pair)
        # Squares of lengths, down to 2**-48 of a width, must be floats that are neither infinite nor zero.
        if not _NARROWEST <= grid.step * (grid.points - 1) <= _WIDEST:
            raise InvalidArgument("bounds", pair, "must be between 2**-400 and 2**400 apart")
    return [(float(low), float(high)) for low, high in pairs]
