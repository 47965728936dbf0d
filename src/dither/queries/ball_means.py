"""Means of vectors that lie in a declared ball: l1 or l2 bounds on whole records (DMNS06 section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument
from dither.kernels.sums import exact_sum
from dither.numbers import exact
from dither.privacy import Neighbours
from dither.queries.parameters import ColumnNames, Number, NumbersParameter, Text
from dither.queries.query import Missing, not_proved
from dither.queries.registry import Menu, query
from dither.queries.vectors import Matrix, MatrixShape
from dither.sources.column import Shape, Table, columns_of, missing_steps, only_columns, read_column
from dither.sources.grid import Grid
from dither.statistics.statistic import VectorStatistic
from dither.typing import Columns, Intervals, Nulls, NumberList, Numbers
from dither.typing import Number as AnyNumber

BITS = 24
"""Without a declared step the radius has between 2**24 and 2**25 steps."""
MOST_STEPS = 1 << 28
FARTHEST = 1 << 51
"""Centres are at most so many steps from 0."""
MOST_COLUMNS = 64
WIDER = 64
"""Coordinates are cut at so many radii from the centre."""
_LARGEST = (1 << 63) - 1
Norm = Literal["l1", "l2"]
Whole = NDArray[np.int64]


def in_ball(vectors: Whole, radius: int, norm: Norm) -> Whole:
    """Rows scaled onto the ball where they lie outside it, and rounded towards its centre: none is outside after that.

    >>> in_ball(np.array([[3, -4], [1, 0]]), 3, "l2").tolist()
    [[1, -2], [1, 0]]
    """
    # Products of two coordinates, and sums of squares up to the radius, must fit 64 bits: public, by the shape alone.
    most = max(WIDER, vectors.shape[1]) * radius**2
    if most > _LARGEST:
        raise InvalidArgument("radius", radius, f"must have a square of at most 2^63 / {max(WIDER, vectors.shape[1])}")
    cut = np.clip(vectors, -WIDER * radius, WIDER * radius)
    if norm == "l1":
        length = np.abs(cut).sum(axis=1)
        scaled = np.sign(cut) * (np.abs(cut) * radius // np.maximum(length, 1)[:, None])
        return np.where((length > radius)[:, None], scaled, cut)
    # Squares of coordinates up to the radius are exact; a longer coordinate alone is outside.
    near = np.clip(cut, -radius, radius)
    outside = (np.abs(cut) > radius).any(axis=1) | ((near * near).sum(axis=1) > radius * radius)
    square = (cut.astype(np.float64) ** 2).sum(axis=1)
    # A little less than the factor itself, so that rounding cannot lead outside.
    factor = radius / np.sqrt(np.maximum(square, 1.0)) * (1.0 - 2.0**-40)
    inside = np.trunc(cut * factor[:, None]).astype(np.int64)
    return np.where(outside[:, None], inside, cut)


@dataclass(frozen=True)
class BallTotals(VectorStatistic):
    """The sums of the coordinates of vectors within a ball.

    Guarantee  Two vectors of the ball are at most two radii apart in its norm.
    Theorem    DMNS06 section 3.2 (gamma, the greatest l1 norm); docs/proofs/totals.md, "Vectors in a ball".
    """

    columns: tuple[Grid, ...]
    """The grids that the records are read on."""
    step: Fraction
    """The common step of all coordinates."""
    centre: tuple[int, ...]
    radius: int
    """In common steps, as the centre is."""
    norm: Norm
    answers: tuple[Grid, ...]
    labels: tuple[str, ...]
    global_sensitivities: tuple[int, ...]
    """Two radii for each coordinate."""
    l1: int | Fraction
    l2_squared: int | Fraction
    neighbours = Neighbours.CHANGE_ONE

    @property
    def reach(self) -> int:
        """Coordinates further from the centre are cut before anything is scaled."""
        return WIDER * self.radius

    def values(self, data: Table) -> Sequence[int]:
        # A function of each record by itself: whatever floats do, neighbours stay neighbours.
        offsets = [
            np.clip(np.rint(column.values * float(grid.step / self.step)) - centre, -self.reach, self.reach)
            for column, grid, centre in zip(data.columns, self.columns, self.centre, strict=True)
        ]
        inside = in_ball(np.column_stack(offsets).astype(np.int64), self.radius, self.norm)
        return [
            exact_sum(np.ascontiguousarray(column)) + len(column) * centre
            for column, centre in zip(inside.T, self.centre, strict=True)
        ]


@query(
    "ball_mean",
    of="columns",
    menu=Menu("Middle", "Mean of vectors in a ball"),
    parameters={
        "columns": ColumnNames("Columns", "None chosen: all of numbers.", most=MOST_COLUMNS),
        "radius": Number("Radius of the ball", "Records outside are scaled onto it.", example=50),
        "norm": Text("Norm", choices=("l1", "l2"), is_advanced=True),
        "centre": NumbersParameter("Centre of the ball", "Empty: 0.", most=MOST_COLUMNS, is_advanced=True),
        "bounds": None,
        "step": None,
        "nulls": None,
    },
)
@dataclass(frozen=True)
class BallMean(Matrix[Numbers, Intervals]):
    """The mean of vectors that lie in a public ball around a public centre.

    radius: of the ball, in the unit of the columns.  Records outside are scaled onto it.
    norm: "l1" (the sum of absolute differences from the centre) or "l2".
    centre: a number for each column; None: 0.
    bounds: also of each column, if there are some: coordinates are cut to them before a record is scaled.

    Noise is for two vectors of the ball, whatever the number of columns: with "l1" and Laplace noise it is that of one
    column with bounds of plus and minus the radius, where declared bounds for each column have as many times that as
    there are columns.  With "l2" Gaussian noise is that of one column.
    """

    radius: AnyNumber = field(kw_only=True)
    norm: Norm = field(default="l2", kw_only=True)
    centre: NumberList | None = field(default=None, kw_only=True)
    noun: ClassVar[str] = "mean within a ball"
    instead = "ask mean(c) of each column, which is answered there"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.norm not in ("l1", "l2"):
            raise InvalidArgument("norm", self.norm, 'must be "l1" or "l2"')
        if exact(self.radius, "radius") <= 0:
            raise InvalidArgument("radius", self.radius, "must be a positive number")
        if self.step is not None and not 0 < exact(self.step, "step") <= exact(self.radius, "radius"):
            raise InvalidArgument("step", self.step, "must be positive and at most the radius")
        if self.centre is not None:
            listed = list(self.centre) if isinstance(self.centre, (list, tuple, np.ndarray)) else [self.centre]
            object.__setattr__(self, "centre", tuple(listed))
            for candidate in listed:
                exact(candidate, "centre")
        if self._steps(exact(self.radius)) > MOST_STEPS:
            raise InvalidArgument("step", self.step, f"must be at least the radius / {MOST_STEPS}")

    @property
    def common_step(self) -> Fraction:
        """The public step of all coordinates."""
        if self.step is not None:
            return exact(self.step, "step")
        radius = exact(self.radius, "radius")
        exponent = radius.numerator.bit_length() - radius.denominator.bit_length()
        return Fraction(2) ** (exponent - BITS - 1)

    def _steps(self, number: Fraction) -> int:
        return math.floor(number / self.common_step)

    def _centre(self, columns: int) -> tuple[int, ...]:
        given = (0,) * columns if self.centre is None else self.centre
        if len(given) != columns:
            raise InvalidArgument("centre", list(given)[:9], f"must be a number for each of the {columns} columns")
        middle = tuple(self._steps(exact(argument, "centre")) for argument in given)
        if max(map(abs, middle)) > FARTHEST:
            raise InvalidArgument("centre", list(given)[:9], "must be nearer to 0, or have a larger step or radius")
        return middle

    def grids(self, shape: Shape) -> tuple[Grid, ...]:
        if self.bounds is not None or isinstance(shape, MatrixShape):
            return super().grids(shape)
        reach = WIDER * self._steps(exact(self.radius))
        centre = self._centre(shape.columns)
        return tuple(Grid(self.common_step, middle - reach, middle + reach) for middle in centre)

    def _counted_as(self, grids: tuple[Grid, ...]) -> Sequence[Nulls]:
        """What a missing value of each column counts as: the centre, unless something else is declared."""
        if self.nulls is not None:
            return [self.nulls] * len(grids)
        return [
            min(max(float(self.common_step * middle), float(grid.value(grid.ends[0]))), float(grid.value(grid.ends[1])))
            for grid, middle in zip(grids, self._centre(len(grids)), strict=True)
        ]

    def read(self, data: Columns, shape: Shape) -> Table:
        grids = self.grids(shape)
        columns = columns_of(only_columns(data, self.columns), count=shape.columns)
        return Table(
            [
                read_column(column, grid, missing)
                for column, grid, missing in zip(columns, grids, self._counted_as(grids), strict=True)
            ]
        )

    def missing(self, shape: Shape) -> Missing:
        if not shape.nullable:
            return None
        grids = self.grids(shape)
        each = tuple(
            grid.value(missing_steps(item, grid)) for grid, item in zip(grids, self._counted_as(grids), strict=True)
        )
        return each[0] if len(set(each)) == 1 else each

    def resolve(self, shape: Shape) -> BallTotals:
        if shape.private:
            raise not_proved(self)
        if shape.columns > MOST_COLUMNS:
            raise InvalidArgument("columns", f"<{shape.columns} columns>", f"must be at most {MOST_COLUMNS}")
        grids, n, reach = self.grids(shape), shape.records, self._steps(exact(self.radius))
        if max(grid.step / self.common_step for grid in grids) > FARTHEST:
            raise InvalidArgument("radius", self.radius, "must be larger: the columns' steps are far wider")
        centre = self._centre(len(grids))
        answers = tuple(
            Grid(self.common_step / n, n * (coordinate - reach), n * (coordinate + reach)) for coordinate in centre
        )
        across = Fraction(math.nextafter(math.sqrt(len(grids)), math.inf)) if len(grids) > 1 else Fraction(1)
        return BallTotals(
            grids,
            self.common_step,
            centre,
            reach,
            self.norm,
            answers,
            tuple(self._labels(shape)),
            (2 * reach,) * len(grids),
            1 if self.norm == "l1" else across,
            1,
        )
