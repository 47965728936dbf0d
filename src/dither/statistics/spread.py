"""Interquantile range and variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dither.privacy import Neighbours
from dither.sensitivity.ladder import MOST_SLOW_DISTANCES, Algorithm, Ladder, Sensitivities
from dither.sensitivity.reachable import HasReachableValues, ReachableValues
from dither.sources.column import Column, RankedRecords
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue, evenly_spread
from dither.statistics.statistic import FITTED_FIRST, Statistic


@dataclass(frozen=True)
class RankDifference(Statistic[RankedRecords], HasReachableValues[RankedRecords]):
    """``x_(q) - x_(p)`` for two ranks p < q of a bounded column.

    Guarantee  The ladder is the sum of the two exact ladders (axioms hold termwise); the chain is exact.
    Theorem    docs/proofs/totals.md: with k changes the two ranks can move apart, or towards each other, by k in total.
    Cost       Link k of the chain: O(k).
    """

    lower: RankedValue
    upper: RankedValue
    answers: Grid
    neighbours = Neighbours.CHANGE_ONE
    mechanism_preference = FITTED_FIRST
    monotone_cost = False
    linear_time_ladder = True
    linear_time_reachable_values = True

    @property
    def records_on(self) -> Grid:
        return self.lower.answers

    @property
    def changes_to_worst_case(self) -> int:
        return self.lower.records

    @property
    def global_sensitivity(self) -> int:
        return self.answers.ends[1]

    @property
    def max_distance_to_instability(self) -> int:
        # Both ranks must stay away from the other bound.
        return max(self.upper.records - self.upper.rank, self.lower.rank - 1)

    @property
    def shares(self) -> tuple[float, ...]:
        """Where in the sorted data its ranks lie: public."""
        return (*self.lower.shares, *self.upper.shares)

    def value(self, data: RankedRecords) -> int:
        return self.upper.value(data) - self.lower.value(data)

    def ladder(self, data: RankedRecords, algorithm: Algorithm = "exact") -> Ladder:
        below, above = self.lower.ladder(data, algorithm), self.upper.ladder(data, algorithm)

        def sensitivity_at_distance(start: int, stop: int) -> Sensitivities:
            return np.asarray(
                np.minimum(
                    below.sensitivity_at_distance(start, stop) + above.sensitivity_at_distance(start, stop),
                    self.global_sensitivity,
                )
            )

        return Ladder(
            sensitivity_at_distance, self.global_sensitivity, top=self.lower.records, deepest=MOST_SLOW_DISTANCES
        )

    def even_data(self) -> Column:
        return evenly_spread(self.lower.records, self.records_on)

    def reachable_values(self, data: RankedRecords) -> ReachableValues:
        p, q, n = self.lower.rank, self.upper.rank, self.lower.records

        def values(first: int, last: int) -> Sequence[int]:
            reach = max(abs(first), abs(last))
            near_p, near_q = data.ranks(p - reach, p + reach), data.ranks(q - reach, q + reach)

            def link(k: int) -> int:
                if k >= 0:
                    return int((near_q[reach : reach + k + 1] - near_p[reach - k : reach + 1]).max())
                return max(0, int((near_q[reach + k : reach + 1] - near_p[reach : reach - k + 1]).min()))

            return [link(k) for k in range(first, last + 1)]

        # Outward all n records may have to move; inward the two ranks meet after q - p changes.
        return ReachableValues(values, p - q, n)


@dataclass(frozen=True)
class SquaredSpread(Statistic[RankedRecords]):
    """``n sum x^2 - (sum x)^2``, the variance in units of step^2 / n^2, computed exactly.

    Guarantee  Global sensitivity (n - 1)(hi - lo)^2, attained.
    Theorem    docs/proofs/totals.md.
    """

    records: int
    column: Grid
    answers: Grid
    neighbours = Neighbours.CHANGE_ONE
    sensitivity_is_constant = True
    sums_powers = 2

    @property
    def records_on(self) -> Grid:
        return self.column

    @property
    def global_sensitivity(self) -> int:
        low, high = self.column.ends
        return (self.records - 1) * (high - low) ** 2

    @property
    def changes_to_worst_case(self) -> int:
        return 0

    def value(self, data: RankedRecords) -> int:
        total, squares = data.moments()
        return self.records * squares - total**2

    def ladder(self, data: RankedRecords, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return Ladder(
            lambda start, stop: np.full(stop - start, self.global_sensitivity, dtype=object),
            self.global_sensitivity,
            top=0,
        )


@dataclass(frozen=True)
class SquaresAbout(Statistic[RankedRecords]):
    """The sum of the squared distances of all records from a public centre, computed exactly.

    Divided by the number of records it is at least their variance, whatever the centre.

    Guarantee  Global sensitivity max(hi - c, c - lo)^2 for changed, added and removed records: attained.
    Theorem    docs/proofs/intervals.md, section 7.
    """

    centre: int
    most: int
    """The number of records, or a public bound on it."""
    column: Grid
    neighbours: Neighbours
    sensitivity_is_constant = True
    sums_powers = 2

    @property
    def records_on(self) -> Grid:
        return self.column

    @property
    def answers(self) -> Grid:
        return Grid(self.column.step**2, 0, self.most * self.global_sensitivity)

    @property
    def global_sensitivity(self) -> int:
        low, high = self.column.ends
        return max(high - self.centre, self.centre - low) ** 2

    @property
    def changes_to_worst_case(self) -> int:
        return 0

    def value(self, data: RankedRecords) -> int:
        total, squares = data.moments()
        above = self.centre - self.column.ends[0]
        return squares - 2 * above * total + data.records * above**2

    def ladder(self, data: RankedRecords, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return Ladder(
            lambda start, stop: np.full(stop - start, self.global_sensitivity, dtype=object),
            self.global_sensitivity,
            top=0,
        )
