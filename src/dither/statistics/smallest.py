"""Sums of the smallest records: of a private column, and along a public chain of datasets (COQ17 Ex. 5 and 14)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from dither.kernels.sums import exact_sum
from dither.privacy import Neighbours
from dither.sensitivity.ladder import Algorithm, Ladder, Sensitivities
from dither.sensitivity.levels import HasLevels, LevelFunction, Levels
from dither.sensitivity.reachable import ReachableValues
from dither.sources.column import RankedRecords
from dither.sources.grid import Grid
from dither.statistics.statistic import FITTED_FIRST, Statistic
from dither.statistics.totals import ColumnTotal


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
    def changes_to_worst_case(self) -> int:
        return self.records

    def value(self, data: RankedRecords) -> int:
        return exact_sum(data.ranks(1, self.smallest))

    def ladder(self, data: RankedRecords, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        k, low = self.smallest, self.column.ends[0]

        def sensitivity_at_distance(start: int, stop: int) -> Sensitivities:
            near = data.ranks(k + start, k + stop)
            return np.asarray(np.maximum(near[:-1] - low, near[1:] - data.ranks(1, 1)[0]))

        return Ladder(sensitivity_at_distance, self.global_sensitivity, top=self.records - k + 1)

    def reachable_values(self, data: RankedRecords) -> ReachableValues:
        k, low = self.smallest, self.column.ends[0]
        centre = self.value(data)

        def values(first: int, last: int) -> Sequence[int]:
            up, down = max(last, 0), max(-first, 0)
            raised = (data.ranks(k + 1, k + up) - data.ranks(1, up)).tolist() if up else []
            lowered = (low - data.ranks(k + 1 - down, k)[::-1]).tolist() if down else []
            links = [*reversed([*accumulate(lowered, initial=centre)][1:]), *accumulate(raised, initial=centre)]
            return links[first + down : last + down + 1]

        return ReachableValues(values, -k, self.records)


@dataclass(frozen=True, eq=False)
class ChainTotal(Statistic[int], HasLevels[int]):
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
    mechanism_preference = FITTED_FIRST

    @property
    def global_sensitivity(self) -> int:
        return self.levels.global_sensitivity

    def value(self, data: int) -> int:
        return self.sums[data]

    def ladder(self, data: int, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return self.levels.ladder(data + 1)

    def level_function(self) -> LevelFunction[int]:
        return LevelFunction(self.levels, self.level_of_place)

    def level_of_place(self, data: int) -> int:
        """The level of a place in the chain: private."""
        return data + 1
