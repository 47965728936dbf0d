"""Sums, counts, means and trimmed means: totals of a range of ranks, with exact ladders and chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from dither.privacy import FilterName, Neighbours
from dither.sensitivity.ladder import MOST_SLOW_DISTANCES, Algorithm, Ladder, Sensitivities
from dither.sensitivity.reachable import HasReachableValues, ReachableValues
from dither.sources.column import Column, RankedRecords
from dither.sources.grid import Grid
from dither.statistics.order import evenly_spread
from dither.statistics.statistic import FITTED_FIRST, WORST_CASE_FIRST, Statistic, preferred_for_totals

SMOOTHED_FROM, SMOOTHED_WITH_INTERVAL_FROM = 60, 150
"""From so many records cut on a side, times epsilon, on the smoothed ladder had the smaller error (and the narrower
interval) on all data tried (docs/decisions.md)."""


class ColumnTotal(Statistic[RankedRecords], HasReachableValues[RankedRecords]):
    """A total of records of one bounded column: one change moves it by at most the column's range."""

    neighbours = Neighbours.CHANGE_ONE
    monotone_cost = False

    if TYPE_CHECKING:

        @property
        def column(self) -> Grid: ...
        @property
        def mechanism_preference(self) -> tuple[str, ...]: ...

    else:
        mechanism_preference = FITTED_FIRST

    @property
    def records_on(self) -> Grid:
        return self.column

    @property
    def global_sensitivity(self) -> int:
        low, high = self.column.ends
        return high - low


@dataclass(frozen=True)
class TrimmedTotal(ColumnTotal):
    """The total of the ranks m + 1 .. n - m of a bounded column; m = 0 is the sum of all records.

    Guarantee  Ladder and chain are the exact ones.
    Theorem    docs/proofs/totals.md: A^(k) = max_t x_(n-m+t) - x_(m+t-k), R_k - R_{k-1} = x_(n-m+k) - x_(m+k).
    Cost       Rung k: O(k); the chain: a window of ranks around both cuts.
    """

    trimmed: int
    records: int
    column: Grid
    answers: Grid

    @property
    def sensitivity_is_constant(self) -> bool:
        # One record can move a sum by its whole range whatever the others are: nothing to fit.
        return self.trimmed == 0

    @property
    def mechanism_preference(self) -> tuple[str, ...]:
        return FITTED_FIRST if self.trimmed else WORST_CASE_FIRST

    def preferred_at(self, epsilon: Fraction, *, interval: bool, ledger: FilterName | None) -> str | None:
        if not self.trimmed:
            return preferred_for_totals(self.global_sensitivity, epsilon, ledger)
        # Rungs stay small for as many changes as are cut, so a small beta suffices where those are many.
        enough = SMOOTHED_WITH_INTERVAL_FROM if interval else SMOOTHED_FROM
        return "smoothed_ladder" if self.trimmed * epsilon >= enough else None

    @property
    def linear_time_ladder(self) -> bool:
        # A sum's chain is read off in one pass, a trimmed one's ladder is not.
        return self.trimmed > 0

    @property
    def changes_to_worst_case(self) -> int:
        return 2 * (self.records - self.trimmed) + 1

    @property
    def max_distance_to_instability(self) -> int:
        # After as many changes as are cut on a side, one more moves a record that counts.
        return self.trimmed

    def read_near(self) -> tuple[float, ...]:
        share = self.trimmed / self.records
        return (share, 1.0 - share) if self.trimmed else ()

    @property
    def sums_ranks(self) -> bool:
        return self.trimmed > 0

    @property
    def sums_powers(self) -> int:
        return int(self.trimmed == 0)

    def value(self, data: RankedRecords) -> int:
        m = self.trimmed
        return data.total() if m == 0 else data.total(m + 1, self.records - m)

    def ladder(self, data: RankedRecords, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        n, m = self.records, self.trimmed

        def sensitivity_at_distance(start: int, stop: int) -> Sensitivities:
            above = data.ranks(n - m, n - m + stop)
            below = data.ranks(m - stop + 1, m + 1)
            # Rung k: max over t = 0 .. k+1 of x_(n-m+t) - x_(m+t-k); below[j] holds rank m - stop + 1 + j.
            return np.array([int((above[: k + 2] - below[stop - 1 - k :]).max()) for k in range(start, stop)])

        # From 2m + 1 changes on a record below all can be raised above all: t = m + 1 spans the bounds.
        return Ladder(sensitivity_at_distance, self.global_sensitivity, top=2 * m + 1, deepest=MOST_SLOW_DISTANCES)

    def even_data(self) -> Column:
        return evenly_spread(self.records, self.column)

    def reachable_values(self, data: RankedRecords) -> ReachableValues:
        n, m = self.records, self.trimmed
        centre = self.value(data)

        def values(first: int, last: int) -> Sequence[int]:
            up, down = max(last, 0), max(-first, 0)
            raised = (data.ranks(n - m + 1, n - m + up) - data.ranks(m + 1, m + up)).tolist() if up else []
            lowered = (data.ranks(n - m + 1 - down, n - m) - data.ranks(m + 1 - down, m)).tolist() if down else []
            above = list(accumulate(raised, initial=centre))
            below = list(accumulate((-step for step in reversed(lowered)), initial=centre))
            reachable = [*reversed(below[1:]), *above]
            return reachable[first + down : last + down + 1]

        return ReachableValues(values, m - n, n - m)
