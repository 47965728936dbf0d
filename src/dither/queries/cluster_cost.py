"""What public centres cost: the mean of squared distances to the nearest of them (k-SED, NRS11 section 5)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from dither.errors import InvalidArgument
from dither.kernels.elementary import Floats
from dither.mechanisms.mechanism import Prepared
from dither.numbers import exact
from dither.procedures.cluster_cost import costs, greatest_cost
from dither.procedures.clusters import MOST_CENTRES, MOST_DIMENSIONS
from dither.procedures.space import Space
from dither.queries.clusters import PointFacts, PointsQuery, bound_pairs
from dither.queries.parameters import Bounds, ColumnNames, PointList
from dither.queries.query import StatisticQuery, not_proved
from dither.queries.registry import Menu, Sql, query
from dither.queries.vectors import column_names
from dither.sources.column import Column
from dither.sources.grid import Grid
from dither.statistics.totals import TrimmedTotal
from dither.typing import Centres, Columns, EachBounds, Interval, Names, NumberList

if TYPE_CHECKING:
    from dither.queries.tables import TableRecords

MOST_NUMBERS = 4_096
_ACCEPTED = "must be a list of points, or of their coordinates one after the other"


@query(
    "kmeans_cost",
    of="table",
    menu=Menu("Models", "Cost of given centres"),
    parameters={
        "centres": PointList(
            "Centres", "Their coordinates, one centre after the other.", example=(20, 20, 80, 80), most=MOST_NUMBERS
        ),
        "bounds": Bounds("Bounds", "Narrower than the schema declares.", most=MOST_DIMENSIONS, is_advanced=True),
        "columns": ColumnNames("Columns", "None chosen: all of numbers.", most=MOST_DIMENSIONS),
    },
    sql=(Sql("kmeans_cost", "centres[]", example="[20, 20, 80, 80]"),),
    proof="certified_average",
)
@dataclass(frozen=True)
class KMeansCost(PointsQuery[float, Interval], StatisticQuery[float, Interval, Columns]):
    """The mean, over records, of the squared distance to the nearest of public ``centres``.

    As in ``KMeans`` distances are parts of each column's bounds; they are given in the unit of the widest column, so
    that with bounds of equal widths this is the usual cost.
    """

    columns: Names | None = None
    centres: Centres = field(kw_only=True)
    """A list of points, or of their coordinates one after the other; within the bounds."""
    bounds: EachBounds | None = field(default=None, kw_only=True)
    noun: ClassVar[str] = "k-means cost"

    def __post_init__(self) -> None:
        object.__setattr__(self, "centres", _listed(self.centres))
        if self.columns is not None:
            names = column_names(self.columns)
            object.__setattr__(self, "columns", names)
            if not isinstance(self.centres[0], tuple) and len(self.centres) % len(names) == 0:
                rows = range(0, len(self.centres), len(names))
                object.__setattr__(self, "centres", tuple(self.centres[row : row + len(names)] for row in rows))
        if self.bounds is not None:
            bound_pairs(self.bounds, None)

    def space(self, dimensions: int) -> Space:
        """Where the points lie: public."""
        return Space.between(bound_pairs(self.bounds, dimensions))

    def places(self, dimensions: int) -> Floats:
        """The centres in the unit cube: public."""
        flat = [item for entry in self.centres for item in (entry if isinstance(entry, tuple) else (entry,))]
        if len(flat) % dimensions or any(
            isinstance(centre, tuple) and len(centre) != dimensions for centre in self.centres
        ):
            raise InvalidArgument("centres", f"{len(flat)} numbers", f"must be points of {dimensions} coordinates")
        points = np.array(flat, dtype=np.float64).reshape(-1, dimensions)
        if len(points) > MOST_CENTRES:
            raise InvalidArgument("centres", len(points), f"must be at most {MOST_CENTRES} points")
        space = self.space(dimensions)
        if (space.within(points) != points).any():
            raise InvalidArgument("centres", "a point outside", "must lie within the bounds")
        return space.to_cube(points)

    def grid(self, dimensions: int) -> Grid:
        """Where the costs of records lie: public."""
        return _grid(self.space(dimensions), tuple(map(tuple, self.places(dimensions).tolist())))

    def resolve(self, shape: PointFacts) -> TrimmedTotal:
        if shape.private:
            raise not_proved(self)
        grid, n = self.grid(shape.dimensions), shape.records
        return TrimmedTotal(0, n, grid, Grid(grid.step / n, grid.ends[0] * n, grid.ends[1] * n))

    def read(self, data: Columns, shape: PointFacts) -> Column:  # noqa: ARG002
        return self._column(self.points(data))

    def select(self, records: TableRecords, prepared: Prepared | None) -> Sequence[Column]:  # noqa: ARG002
        return [self._column(self.selected_points(records))]

    def _column(self, points: Floats) -> Column:
        """The cost of each record on the grid: private."""
        dimensions = points.shape[1]
        space, grid = self.space(dimensions), self.grid(dimensions)
        result = costs(space.to_cube(points), self.places(dimensions)) * space.width**2
        return Column(grid.quantise(result, 0), grid)


@functools.lru_cache(maxsize=64)
def _grid(space: Space, places: tuple[tuple[float, ...], ...]) -> Grid:
    most = Fraction(greatest_cost(np.array(places))) * Fraction(space.width) ** 2
    return Grid.between((Fraction(0), most))


def _listed(centres: Centres) -> tuple[float, ...] | tuple[tuple[float, ...], ...]:
    """Numbers or tuples of numbers."""
    if centres is None or isinstance(centres, (str, bytes)) or not hasattr(centres, "__len__") or len(centres) == 0:
        raise InvalidArgument("centres", type(centres), _ACCEPTED)
    rows = centres.tolist() if isinstance(centres, np.ndarray) else list(centres)
    kinds = {hasattr(item, "__len__") for item in rows}
    if len(kinds) != 1 or any(isinstance(item, (str, bytes)) for item in rows):
        raise InvalidArgument("centres", type(centres), _ACCEPTED)
    if kinds == {False}:
        return tuple(float(exact(item, "centres")) for item in rows)
    return tuple(tuple(float(exact(cell, "centres")) for cell in row) for row in cast("list[NumberList]", rows))
