"""Sums of the smallest records: of a private column, and along a public chain of datasets (COQ17 Ex. 5 and 14)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np

from dither.data.column import Column, Shape, as_array
from dither.data.grid import Grid
from dither.errors import InvalidArgument
from dither.kernels.sums import exact_sum
from dither.ladder import Ladder, Rungs
from dither.privacy import Neighbours
from dither.queries.levels import LevelFunction, Levelled, Levels
from dither.queries.query import ColumnQuery, Query
from dither.queries.statistic import Algorithm, Chain, Statistic
from dither.queries.totals import ColumnTotal
from dither.reals import exact


@dataclass(frozen=True)
class SmallestTotal(ColumnTotal):
    """The total of the k smallest records of a bounded column; where there are fewer, the upper bound for each missing.

    ``records`` is their number, or a public bound on it where it is private: records that are not there count as the
    upper bound, so adding or removing one is changing one of ``records`` records.

    Guarantee  Ladder and chain are the exact ones, for changed, added and removed records.
    Theorem    docs/proofs/largest_local.md: A^(j) = max(x_(k+j) - lo, x_(k+j+1) - x_(1)); docs/proofs/filtered.md.
    Cost       O(1) for each rung after sorting.
    """

    smallest: int
    records: int
    column: Grid
    answers: Grid
    neighbours: Neighbours = Neighbours.CHANGE_ONE

    @property
    def most_changes(self) -> int:
        return self.records

    def value(self, data: Column) -> int:
        return exact_sum(data.ranks(1, self.smallest))

    def ladder(self, data: Column, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        k, low = self.smallest, self.column.ends[0]

        def rungs(start: int, stop: int) -> Rungs:
            near = data.ranks(k + start, k + stop)
            return np.asarray(np.maximum(near[:-1] - low, near[1:] - data.ranks(1, 1)[0]))

        return Ladder(rungs, self.cap, top=self.records - k + 1)

    def chain(self, data: Column) -> Chain:
        k, low = self.smallest, self.column.ends[0]
        centre = self.value(data)

        def values(first: int, last: int) -> Sequence[int]:
            up, down = max(last, 0), max(-first, 0)
            raised = (data.ranks(k + 1, k + up) - data.ranks(1, up)).tolist() if up else []
            lowered = (low - data.ranks(k + 1 - down, k)[::-1]).tolist() if down else []
            links = [*reversed([*accumulate(lowered, initial=centre)][1:]), *accumulate(raised, initial=centre)]
            return links[first + down : last + down + 1]

        return Chain(values, -k, self.records)


@dataclass(frozen=True)
class SmallestSum(ColumnQuery):
    """The sum of the k smallest records of one bounded column.

    Where the number of records is private (behind a filter, in groups) there may be fewer than k: each missing one
    counts as the upper bound.
    """

    k: int = field(kw_only=True)
    kind: ClassVar[str] = "sum of the smallest"

    def __post_init__(self) -> None:
        if not isinstance(self.k, int) or isinstance(self.k, bool) or self.k < 1:
            raise InvalidArgument("k", self.k, "a whole number from 1 to the number of records is accepted")
        super().__post_init__()

    @property
    def label(self) -> str:
        return f"{super().label} {self.k}"

    def resolve(self, shape: Shape) -> SmallestTotal:
        if self.k > shape.records:
            raise InvalidArgument("k", self.k, f"a whole number from 1 to {shape.records} is accepted")
        grid = self.grid(whole=shape.whole)
        low, high = grid.ends
        answers = Grid(grid.step, low * self.k, high * self.k)
        return SmallestTotal(self.k, shape.records, grid, answers, shape.neighbours)


@dataclass(frozen=True, eq=False)
class ChainTotal(Statistic, Levelled):
    """The sum of the first k of a public list of values; k is private, neighbours have one value more or less.

    Guarantee  The ladder is the exact one for a list in rising order of values that are not negative.
    Theorem    docs/proofs/largest_local.md: level k + 1, L_v the largest of the first v values.
    Cost       O(1) after the public list is summed.
    """

    sums: tuple[int, ...]
    """0, then the sums of the first 1, 2, ... values: public."""
    levels: Levels
    answers: Grid
    neighbours = Neighbours.CHAIN
    fitted = True

    @property
    def cap(self) -> int:  # type: ignore[override]
        return self.levels.cap

    def value(self, data: int) -> int:
        return self.sums[data]

    def ladder(self, data: int, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return self.levels.ladder(data + 1)

    def level_function(self) -> LevelFunction:
        return LevelFunction(self.levels, lambda data: data + 1)


@dataclass(frozen=True, eq=False)
class ChainSum(Query):
    """The sum of the first k of ``values``, smallest first; the data asked about are k (COQ17 Ex. 5).

    The values are public, how many of them are in the dataset is not.  Neighbours are the next and the previous dataset
    of the chain, and no others: this protects which values are in, not the values.

    >>> import dither as dt
    >>> query = ChainSum([24634, 29475, 37468, 48104, 69624, 113511], step=1)
    >>> 0 <= dt.ask(query, 3, epsilon=1.0).value <= 322816
    True
    """

    values: Any
    step: Any = field(default=None, kw_only=True)
    kind: ClassVar[str] = "sum along a chain"
    column = None
    nulls = None

    def __post_init__(self) -> None:
        listed = as_array(self.values, "values")
        if not np.isfinite(listed.astype(np.float64)).all():
            raise InvalidArgument("values", type(self.values), "finite numbers are accepted")
        low, high = float(listed.min()), float(listed.max())
        grid = Grid.between((min(low, 0.0), max(high, 1.0)), self.step, whole=listed.dtype.kind in "iub")
        steps = np.sort(grid.quantise(listed, 0))
        sums = (0, *accumulate(steps.tolist()))
        largest = np.maximum.accumulate(np.abs(steps))
        levels = Levels([*largest.tolist(), int(largest[-1])])
        answers = Grid(grid.step, min(sums), max(sums))
        object.__setattr__(self, "_statistic", ChainTotal(sums, levels, answers))

    def shape(self, data: object) -> Shape:
        if not isinstance(data, (int, np.integer)) or isinstance(data, bool):
            raise InvalidArgument(
                "data", type(data), "the number of values in the dataset, a whole number, is accepted"
            )
        return Shape(len(self._statistic.sums) - 1, whole=True, nullable=False)  # type: ignore[attr-defined]

    def resolve(self, shape: Shape) -> ChainTotal:  # noqa: ARG002
        statistic: ChainTotal = self._statistic  # type: ignore[attr-defined]
        return statistic

    def read(self, data: object, shape: Shape) -> int:
        return min(max(int(exact(data, "data")), 0), shape.records)

    def missing(self, shape: Shape) -> None:  # noqa: ARG002
        return None
