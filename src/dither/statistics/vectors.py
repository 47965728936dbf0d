"""Statistics of many numbers: histograms, mean vectors, covariance matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dither.kernels.sums import exact_dot, exact_sum
from dither.privacy import Neighbours
from dither.sensitivity.ladder import Ladder
from dither.sensitivity.norms import HasNormLadder
from dither.sources.column import BinnableRecords, Table
from dither.sources.grid import Grid
from dither.statistics.statistic import VectorStatistic

_COUNTS = Grid(Fraction(1), None, None)


@dataclass(frozen=True)
class BinCounts(VectorStatistic[BinnableRecords]):
    """How many records fall into each bin.

    A replaced record leaves one bin and enters another: l1 sensitivity 2, l2 sqrt(2); one that comes or goes touches
    one bin.  ``rows`` records of one person may all leave the same bin and enter the same other one.
    """

    labels: tuple[str, ...]
    neighbours: Neighbours = Neighbours.CHANGE_ONE
    rows: int = 1
    are_counts: ClassVar[bool] = True

    @property
    def rows_per_person(self) -> int:
        return self.rows

    @property
    def l1(self) -> int:
        return self.rows * (1 if self.neighbours is Neighbours.ADD_REMOVE else 2)

    @property
    def l2_squared(self) -> int:
        return self.rows * self.l1

    @property
    def answers(self) -> tuple[Grid, ...]:
        return (_COUNTS,) * len(self.labels)

    @property
    def global_sensitivities(self) -> tuple[int, ...]:
        return (1,) * len(self.labels)

    def values(self, data: BinnableRecords) -> Sequence[int]:
        return data.bin_counts(len(self.labels))


@dataclass(frozen=True)
class Totals(VectorStatistic[Table], HasNormLadder[Table]):
    """The sums of several columns of the same records.

    Their ladder is in l1, each column in units of its width: one change moves every sum by the width at most, and after
    one other change it can move all of them that far, so all rungs are the global sensitivity.
    """

    columns: tuple[Grid, ...]
    answers: tuple[Grid, ...]
    labels: tuple[str, ...]
    neighbours = Neighbours.CHANGE_ONE

    @property
    def global_sensitivities(self) -> tuple[int, ...]:
        return tuple(grid.ends[1] - grid.ends[0] for grid in self.columns)

    @property
    def l1(self) -> int:
        return len(self.columns)

    l2_squared = l1
    norm = "l1"

    @property
    def norm_units(self) -> tuple[int, ...]:
        return tuple(max(width, 1) for width in self.global_sensitivities)

    @property
    def norm_sensitivity(self) -> int:
        return len(self.columns)

    def norm_ladder(self, data: Table) -> Ladder:  # noqa: ARG002
        most = self.norm_sensitivity
        return Ladder(lambda start, stop: np.full(stop - start, most, dtype=np.int64), most, top=0)

    def values(self, data: Table) -> Sequence[int]:
        return [exact_sum(column.values) for column in data.columns]


@dataclass(frozen=True)
class CrossProducts(VectorStatistic[Table]):
    """``n sum x_j x_k - sum x_j sum x_k`` for all j <= k: the covariance matrix in units of its grid.

    Guarantee  One change moves entry (j, k) by at most (n - 1) w_j w_k, w the widths of the bounds; all entries can
               move that far together, so the bound is attained.
    Theorem    docs/proofs/totals.md; DMNS06's 8 gamma^2 / n is looser.
    """

    records: int
    columns: tuple[Grid, ...]
    answers: tuple[Grid, ...]
    labels: tuple[str, ...]
    neighbours = Neighbours.CHANGE_ONE

    def _pairs(self) -> list[tuple[int, int]]:
        return [(j, k) for j in range(len(self.columns)) for k in range(j, len(self.columns))]

    @property
    def global_sensitivities(self) -> tuple[int, ...]:
        width = [grid.ends[1] - grid.ends[0] for grid in self.columns]
        return tuple(max(self.records - 1, 1) * width[j] * width[k] for j, k in self._pairs())

    @property
    def l1(self) -> int:
        return len(self._pairs())

    l2_squared = l1

    def values(self, data: Table) -> Sequence[int]:
        shifted = [column.values - column.grid.ends[0] for column in data.columns]
        sums = [exact_sum(column) for column in shifted]
        return [self.records * exact_dot(shifted[j], shifted[k]) - sums[j] * sums[k] for j, k in self._pairs()]
