"""Sums of the k smallest records, of private data and along a public chain (COQ17)."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import ClassVar

import numpy as np

from dither.errors import InvalidArgument
from dither.numbers import exact
from dither.queries.query import ColumnQuery, StatisticQuery
from dither.queries.registry import Menu, Sql, query
from dither.sensitivity.levels import Levels
from dither.sources.column import Shape, as_array
from dither.sources.grid import Grid
from dither.statistics.smallest import ChainTotal, SmallestTotal
from dither.typing import Column as Values
from dither.typing import Interval, Number, Whole


@query(
    "smallest_sum",
    of="column",
    menu=Menu("Totals", "Sum of the smallest"),
    sql=(Sql("smallest_sum", "k", example="3"),),
)
@dataclass(frozen=True)
class SmallestSum(ColumnQuery[float, Interval]):
    """The sum of the k smallest records of one bounded column.

    Where the number of records is private (behind a filter, in groups) there may be fewer than k: each missing one
    counts as the upper bound.
    """

    k: int = field(kw_only=True)
    noun: ClassVar[str] = "sum of the smallest"
    default_drop = True

    def check(self) -> None:
        if not isinstance(self.k, int) or isinstance(self.k, bool) or self.k < 1:
            raise InvalidArgument("k", self.k, "must be a whole number from 1 to the number of records")

    @property
    def label(self) -> str:
        return f"{super().label} {self.k}"

    def statistic(self, shape: Shape, grid: Grid) -> SmallestTotal:
        if self.k > shape.records:
            raise InvalidArgument("k", self.k, f"must be a whole number from 1 to {shape.records}")
        low, high = grid.ends
        answers = Grid(grid.step, low * self.k, high * self.k)
        return SmallestTotal(self.k, shape.records, grid, answers, shape.neighbours)


@query(
    "chain_sum",
    of="chain",
    without=dict.fromkeys(
        ("function", "session", "quote", "sql", "cli", "http", "page", "client"),
        "its data are a place in a public chain",
    ),
)
@dataclass(frozen=True, eq=False)
class ChainSum(StatisticQuery[float, Interval, Whole]):
    """The sum of the first k of ``values``, smallest first; the data asked about are k (COQ17 Ex. 5).

    The values are public, how many of them are in the dataset is not.  Neighbours are the next and the previous dataset
    of the chain, and no others: this protects which values are in, not the values.

    >>> import dither as dt
    >>> query = ChainSum([24634, 29475, 37468, 48104, 69624, 113511], step=1)
    >>> 0 <= dt.ask(query, 3, epsilon=1.0).value <= 322816
    True
    """

    values: Values
    step: Number | None = field(default=None, kw_only=True)
    noun: ClassVar[str] = "sum along a chain"
    column = None
    nulls = None
    _statistic: ClassVar[ChainTotal]

    def __post_init__(self) -> None:
        listed = as_array(self.values, "values")
        if not np.isfinite(listed.astype(np.float64)).all():
            raise InvalidArgument("values", type(self.values), "must be finite numbers")
        low, high = float(listed.min()), float(listed.max())
        grid = Grid.between((min(low, 0.0), max(high, 1.0)), self.step, whole=listed.dtype.kind in "iub")
        steps = np.sort(grid.quantise(listed, 0))
        sums = (0, *accumulate(steps.tolist()))
        largest = np.maximum.accumulate(np.abs(steps))
        levels = Levels([*largest.tolist(), int(largest[-1])])
        answers = Grid(grid.step, min(sums), max(sums))
        object.__setattr__(self, "_statistic", ChainTotal(sums, levels, answers))

    def shape(self, data: Whole) -> Shape:
        if not isinstance(data, (int, np.integer)) or isinstance(data, bool):
            raise InvalidArgument("data", type(data), "must be the number of values in the dataset, a whole number")
        return Shape(len(self._statistic.sums) - 1, whole=True, nullable=False)

    def resolve(self, shape: Shape) -> ChainTotal:  # noqa: ARG002
        return self._statistic

    def read(self, data: Whole, shape: Shape) -> int:
        return min(max(int(exact(data, "data")), 0), shape.records)

    def missing(self, shape: Shape) -> None:  # noqa: ARG002
        return None
