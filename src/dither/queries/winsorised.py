"""The winsorised mean of a bounded column, a statistic with a ladder of its own: all of it but its proof and test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dither.errors import InvalidArgument
from dither.numbers import exact
from dither.privacy import Neighbours
from dither.queries.parameters import Number
from dither.queries.query import ColumnQuery, not_proved
from dither.queries.registry import Menu, Sql, query
from dither.sensitivity.ladder import MOST_SLOW_DISTANCES, Algorithm, Ladder, Sensitivities
from dither.sensitivity.reachable import HasReachableValues, ReachableValues
from dither.sources.column import Column, Shape
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue, evenly_spread
from dither.statistics.statistic import FITTED_FIRST, WORST_CASE_FIRST, Statistic
from dither.statistics.totals import TrimmedTotal
from dither.typing import Interval
from dither.typing import Number as AnyNumber


@dataclass(frozen=True)
class WinsorisedTotal(Statistic, HasReachableValues):
    """The total of n records after the m lowest became ``x_(m+1)`` and the m highest ``x_(n-m)``.

    Guarantee  The ladder is a bound, at most three times the exact one; the reachable values are exact.
    Theorem    docs/proofs/winsorised.md: the total of the ranks between and m times either rank, term by term.
    Cost       Rung k: O(k); reachable values: windows of ranks around both cuts.
    """

    between: TrimmedTotal
    answers: Grid
    neighbours = Neighbours.CHANGE_ONE
    monotone_cost = False
    linear_time_ladder = True

    @property
    def replaced(self) -> int:
        """How many records are replaced at either end: public."""
        return self.between.trimmed

    @property
    def cuts(self) -> tuple[RankedValue, RankedValue]:
        """The records that the lowest and the highest are replaced by."""
        n, m = self.between.records, self.replaced
        return RankedValue(m + 1, n, self.between.column), RankedValue(n - m, n, self.between.column)

    @property
    def records_on(self) -> Grid:
        return self.between.column

    @property
    def global_sensitivity(self) -> int:
        # Where both cuts are the median, one change can move all n; else one end of records and what is between.
        n, m = self.between.records, self.replaced
        return self.between.global_sensitivity * (n if n == 2 * m + 1 else m + 1)

    @property
    def sensitivity_is_constant(self) -> bool:
        return self.replaced == 0

    @property
    def mechanism_preference(self) -> tuple[str, ...]:
        return FITTED_FIRST if self.replaced else WORST_CASE_FIRST

    @property
    def changes_to_worst_case(self) -> int:
        return self.between.records

    @property
    def max_distance_to_instability(self) -> int:
        return self.between.max_distance_to_instability

    @property
    def shares(self) -> tuple[float, ...]:
        return tuple(share for cut in self.cuts for share in cut.shares)

    def value(self, data: Column) -> int:
        return self.between.value(data) + self.replaced * sum(cut.value(data) for cut in self.cuts)

    def ladder(self, data: Column, algorithm: Algorithm = "exact") -> Ladder:
        parts = [self.between.ladder(data, algorithm), *(cut.ladder(data, algorithm) for cut in self.cuts)]

        def sensitivities(start: int, stop: int) -> Sensitivities:
            between, lower, upper = (part.sensitivity_at_distance(start, stop) for part in parts)
            # Python integers: m times a rung may exceed 64 bits.
            total = between + self.replaced * (lower + upper).astype(object)
            return np.asarray(np.minimum(total, self.global_sensitivity))

        return Ladder(sensitivities, self.global_sensitivity, top=self.between.records, deepest=MOST_SLOW_DISTANCES)

    def reachable_values(self, data: Column) -> ReachableValues:
        n, m = self.between.records, self.replaced
        between = self.between.reachable_values(data)
        ends = [cut.reachable_values(data) for cut in self.cuts]

        def values(first: int, last: int) -> Sequence[int]:
            each = (part.values(first, last) for part in (between, *ends))
            return [total + m * (low + high) for total, low, high in zip(*each, strict=True)]

        return ReachableValues(values, m - n, n - m)

    def even_data(self) -> Column:
        return evenly_spread(self.between.records, self.records_on)


@query(
    "winsorised_mean",
    of="column",
    menu=Menu("Middle", "Winsorised mean", place=4),
    sql=(Sql("winsorised_mean", "share?", example="0.1"),),
    parameters={"share": Number("Replaced at either end", "A share of the records: 0.1 replaces a tenth at each end.")},
    proof="winsorised",
    audited={"share": Fraction(1, 4)},
)
@dataclass(frozen=True)
class WinsorisedMean(ColumnQuery[float, Interval]):
    """The mean after the lowest and the highest ``share`` of the records became the nearest record that is kept.

    >>> import dither as dt
    >>> pay = [*range(30_000, 70_000, 4), *[600_000] * 100]
    >>> 45_000 < dt.winsorised_mean(pay, bounds=(0, 600_000), epsilon=1.0).value < 55_000
    True
    """

    share: AnyNumber = field(default=Fraction(1, 10), kw_only=True)
    noun: ClassVar[str] = "winsorised mean"
    instead = "ask median(c), quantile(c, 0.1) or mean(c), which are answered there"
    dates = "dates"

    def check(self) -> None:
        if not 0 <= exact(self.share, "share") < Fraction(1, 2):
            raise InvalidArgument("share", self.share, "must be a share of at least 0 and below 1/2")

    @property
    def label(self) -> str:
        return f"{float(exact(self.share)):g} {super().label}"

    def statistic(self, shape: Shape, grid: Grid) -> Statistic:
        if shape.private:
            raise not_proved(self)
        n, (low, high) = shape.records, grid.ends
        m = math.floor(exact(self.share) * n)
        between = TrimmedTotal(m, n, grid, Grid(grid.step, low * (n - 2 * m), high * (n - 2 * m)))
        return WinsorisedTotal(between, Grid(grid.step / n, low * n, high * n))
