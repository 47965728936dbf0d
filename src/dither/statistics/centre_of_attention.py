"""The unconstrained centre of attention of numbers: the middle of the shortest interval that holds a majority."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from dither.privacy import Neighbours
from dither.sensitivity.ladder import Algorithm, Ladder, Sensitivities
from dither.sources.column import RankedRecords
from dither.sources.grid import Grid
from dither.statistics.statistic import FITTED_FIRST, Statistic


@dataclass(frozen=True)
class ShortestMiddle(Statistic[RankedRecords]):
    """The middle of the shortest interval that holds ``t0 = floor((m+s)/2) + 1`` of m records; one person changes s.

    Guarantee  Rungs ``U_k = W(t0 + (k+1)s)``, the length of the shortest interval with so many records, the whole range
               beyond m: both axioms hold.
    Theorem    NRS11 Definition 4.6 and Claim 4.7 on the line; docs/proofs/aggregate.md, section 2.
    Cost       O(m) for a rung.

    Answers lie on half steps, so that the middle is exact.
    """

    records: int
    touched: int
    column: Grid
    neighbours = Neighbours.CHANGE_ONE
    mechanism_preference = FITTED_FIRST

    @property
    def records_on(self) -> Grid:
        return self.column

    @functools.cached_property
    def answers(self) -> Grid:
        low, high = self.column.ends
        return Grid(self.column.step / 2, 2 * low, 2 * high)

    @property
    def global_sensitivity(self) -> int:
        low, high = self.answers.ends
        return high - low

    @property
    def majority(self) -> int:
        """t0: any two sets of so many records share an unchanged one."""
        return (self.records + self.touched) // 2 + 1

    def value(self, data: RankedRecords) -> int:
        held = min(self.majority, self.records)
        ordered = data.ranks(1, self.records)
        lengths = ordered[held - 1 :] - ordered[: self.records - held + 1]
        first = int(np.argmin(lengths))
        return int(ordered[first]) + int(ordered[first + held - 1])

    def ladder(self, data: RankedRecords, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        ordered = data.ranks(1, self.records)

        def sensitivity_at_distance(start: int, stop: int) -> Sensitivities:
            held = [self.majority + (k + 1) * self.touched for k in range(start, stop)]
            return np.array([2 * self._shortest(ordered, item) for item in held], dtype=np.int64)

        return Ladder(
            sensitivity_at_distance, self.global_sensitivity, top=max(0, (self.records - self.majority) // self.touched)
        )

    def _shortest(self, ordered: Sensitivities, held: int) -> int:
        low, high = self.column.ends
        if held > self.records:
            return high - low
        return int((ordered[held - 1 :] - ordered[: self.records - held + 1]).min())
