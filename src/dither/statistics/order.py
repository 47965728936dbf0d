"""Order statistics: any rank, quantiles, median, minimum, maximum; exact ladders (NRS11 sec. 3.1, 3.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument
from dither.kernels.elementary import Floats, exp
from dither.kernels.order import decay, heaviest_pair
from dither.privacy import FilterName, Neighbours
from dither.sensitivity.ladder import (
    DEEPEST,
    MOST_SLOW_DISTANCES,
    Algorithm,
    Ladder,
    Sensitivities,
    least_bound,
    reaches,
    rounded_up,
    usable_rate,
)
from dither.sensitivity.margins import LevelsByMargins
from dither.sensitivity.middle import HasMiddleScore, split_by
from dither.sensitivity.norms import HasNormLadder
from dither.sensitivity.padded_links import padded
from dither.sensitivity.quantiles import HasQuantiles
from dither.sensitivity.reachable import HasPopulationChains, HasReachableValues, ReachableValues
from dither.sensitivity.sorted_chain import SortedChain
from dither.sources.column import Column, RankedRecords
from dither.sources.grid import Grid
from dither.statistics.sampling_ranks import known_sampling_ranks
from dither.statistics.statistic import FITTED_FIRST, Statistic, VectorStatistic

COARSE_POINTS = 1 << 12
"""Grids of at most so many points (ages, grades, minutes of a day) are coarse: drawn extremes hit the record itself."""
SMOOTH_EXTREMES_FROM = 8
"""Extremes on finer grids: from this epsilon on smooth noise errs less than a draw, whose error stays that of the gap
between record and bound (docs/decisions.md, "Minimum and maximum")."""
SMOOTH_EXTREMES_WITH_INTERVALS_FROM = 12


def preferred_for_extremes(grid: Grid, epsilon: Fraction, *, interval: bool) -> str | None:
    """The mechanism that "auto" means for a minimum or maximum on this grid: public facts; None: the usual one."""
    least = SMOOTH_EXTREMES_WITH_INTERVALS_FROM if interval else SMOOTH_EXTREMES_FROM
    return "smooth" if grid.points > COARSE_POINTS and epsilon >= least else None


def preferred_for_quantiles(grid: Grid, ledger: FilterName | None) -> str | None:
    """The mechanism that "auto" means for a rank that is no extreme: public facts; None: the usual one.

    Where losses add up as epsilon, permute and flip errs no more than a draw with replacement on a coarse grid; its rho
    is up to four times as large (docs/decisions.md, "Permute and flip").
    """
    return "permute_and_flip" if ledger in ("basic", "advanced") and grid.points <= COARSE_POINTS else None


@dataclass(frozen=True)
class RankedValue(
    Statistic[RankedRecords],
    HasReachableValues[RankedRecords],
    HasPopulationChains[RankedRecords],
    LevelsByMargins[RankedRecords],
    HasMiddleScore[RankedRecords],
):
    """The value at one rank of a bounded column with a public number of records.

    Guarantee  The ladder obeys both axioms and is the exact one: A^(k) = max_t x_(r+t) - x_(r+t-k-1).
    Theorem    NRS11 Prop. 3.4 for the median, any rank alike; docs/proofs/order.md; enumerated in the tests.
    Cost       Rung k: O(k).  Smooth bound: O(w log w) for the window of w ranks that matters.
    """

    rank: int
    records: int
    answers: Grid
    share: Fraction | None = None
    """What made it that rank, if a share did: of one record minimum, median and maximum are the same rank."""
    neighbours = Neighbours.CHANGE_ONE
    mechanism_preference = FITTED_FIRST
    linear_time_ladder = True
    answers_are_records = True
    reaches_ranks = True

    @property
    def global_sensitivity(self) -> int:
        low, high = self.answers.ends
        return high - low

    @property
    def monotone_cost(self) -> bool:
        # Costs are max(1, #{x < z}) at rank 1 and max(1, #{x > z}) at rank n: counts of one tail alone.
        return self.rank in (1, self.records)

    @property
    def changes_to_worst_case(self) -> int:
        return self.records

    @property
    def max_distance_to_instability(self) -> int:
        # Attained where all records are equal to one of the bounds.
        return max(self.records - self.rank, self.rank - 1)

    @property
    def is_maximum(self) -> bool | None:
        """Extremes only: whether the answer is the largest record; None where it is as much the smallest."""
        if self.records > 1 or self.share is None:
            return self.rank > 1
        return None if 0 < self.share < 1 else self.share == 1

    def preferred_at(self, epsilon: Fraction, *, interval: bool, ledger: FilterName | None) -> str | None:
        if not self.monotone_cost:
            return preferred_for_quantiles(self.answers, ledger)
        if self.is_maximum is None:
            return None
        return preferred_for_extremes(self.answers, epsilon, interval=interval)

    @property
    def shares(self) -> tuple[float, ...]:
        """Where in the sorted data its ranks lie: public."""
        return (self.rank / self.records,)

    def value(self, data: RankedRecords) -> int:
        return int(data.ranks(self.rank, self.rank)[0])

    def ladder(self, data: RankedRecords, algorithm: Algorithm = "exact") -> Ladder:
        if algorithm == "linear":
            top = max(self.rank - 1, self.records - self.rank)
            return Ladder(
                lambda start, stop: self._symmetric_sensitivities(data, start, stop), self.global_sensitivity, top=top
            )
        return OrderLadder(self, data, cut_for=self.records if algorithm == "sublinear" else None)

    def even_data(self) -> Column:
        return evenly_spread(self.records, self.answers)

    def _symmetric_sensitivities(self, data: RankedRecords, start: int, stop: int) -> Sensitivities:
        """NRS11 Claim 3.5: U_k = x_(r+k+1) - x_(r-k-1), within a factor 2 of the exact rungs."""
        above = data.ranks(self.rank + start + 1, self.rank + stop)
        below = data.ranks(self.rank - stop, self.rank - start - 1)[::-1]
        return np.asarray(above - below)

    def reachable_values(self, data: RankedRecords) -> ReachableValues:
        return chain_from(data, self.rank, self.answers.ends, self.rank, self.records - self.rank + 1)

    def imbalance(self, data: RankedRecords) -> Callable[[int], int]:
        return split_by(data, self.middle_share)

    def population_chains(self, data: RankedRecords, miss: Fraction) -> tuple[ReachableValues, ReachableValues]:
        lower, upper = (
            chain_from(data, rank, self.answers.ends, rank, self.records - rank + 1)
            for rank in self._sampling_ranks(miss)
        )
        return lower, upper

    def population_ranks(self, miss: Fraction) -> int:
        lower, upper = self._sampling_ranks(miss)
        return upper - lower

    def _sampling_ranks(self, miss: Fraction) -> tuple[int, int]:
        if self.share is None:
            raise RuntimeError("a rank that no share made is no quantile of a population")
        return known_sampling_ranks(self.records, self.share, miss)


@dataclass(frozen=True)
class PaddedRank(RankedValue):
    """The value at one rank of a selection with a private number of records; the upper bound where there are fewer.

    ``records`` is a public bound on their number: records that are not there count as the upper bound, so adding or
    removing one is changing one of ``records`` records.

    Guarantee  Ladder and chain are those of so many records, for changed, added and removed ones.
    Theorem    docs/proofs/filtered.md, section 2.
    """

    neighbours: Neighbours = field(default=Neighbours.CHANGE_ONE, kw_only=True)


def ranks_from(data: RankedRecords, rank: int, ends: tuple[int, int]) -> Callable[[int, int], Sequence[int]]:
    """The sorted records seen from a rank: private.  Rank 0 and the one above all records are the bounds."""
    low, high = ends

    def values(first: int, last: int) -> Sequence[int]:
        # Beyond the records the chain is its bounds, however far somebody looks.
        start, stop = max(rank + first, 1), min(rank + last, data.records)
        inside = data.ranks(start, stop) if start <= stop else np.zeros(0, dtype=np.int64)
        before = min(max(1 - rank - first, 0), last - first + 1)
        return padded(low, before, inside, high, last - first + 1 - before - len(inside))

    return values


def chain_from(data: RankedRecords, rank: int, ends: tuple[int, int], down: int, up: int) -> SortedChain:
    """The sorted records seen from a rank; so many changes, which is public, take the value to either bound."""
    return SortedChain(ranks_from(data, rank, ends), -down, up, lambda changes: rank + changes, data)


def evenly_spread(records: int, grid: Grid) -> Column:
    """Public: so many records at equal distances, no two of the gaps between them and the bounds differing much."""
    return _EvenColumn(records, grid)


class _EvenColumn(Column):
    """Records that are worked out when they are asked for: proposals look at few of very many."""

    __slots__ = ("_count",)

    def __init__(self, records: int, grid: Grid) -> None:
        super().__init__(np.zeros(0, dtype=np.int64), grid)
        self._count = records

    @property
    def records(self) -> int:
        return self._count

    @property
    def values(self) -> NDArray[np.int64]:
        return self.ranks(1, self._count)

    def ranks(self, first: int, last: int) -> NDArray[np.int64]:
        low, high = self.grid.ends
        inside = range(max(first, 1), min(last, self._count) + 1)
        places = [low + (high - low) * (2 * i - 1) // (2 * self._count) for i in inside]
        before, after = max(0, min(last, 0) - first + 1), max(0, last - max(self._count, first - 1))
        return np.array([low] * before + places + [high] * after, dtype=np.int64)


class OrderLadder(Ladder):
    """The exact ladder of one rank, with NRS11's near-linear smooth bound on a window of ranks."""

    def __init__(self, statistic: RankedValue, data: RankedRecords, *, cut_for: int | None = None) -> None:
        """``cut_for``: a public number of records; smooth bounds then look at few ranks of so many (sublinear)."""
        # All n records must change before both ends of the bounds can be neighbours in rank.
        super().__init__(
            self._explicit, statistic.global_sensitivity, top=statistic.records, deepest=MOST_SLOW_DISTANCES
        )
        self._rank, self._data, self._records = statistic.rank, data, statistic.records
        self._cut_for = cut_for

    def _explicit(self, start: int, stop: int) -> Sensitivities:
        window = self._data.ranks(self._rank - stop, self._rank + stop)
        rungs = []
        for k in range(start, stop):
            below = window[stop - k - 1 : stop + 1]
            above = window[stop : stop + k + 2]
            rungs.append(int((above - below).max()))
        return np.array(rungs, dtype=np.int64)

    def smooth(self, beta: Fraction) -> Fraction:
        rate = usable_rate(beta)
        # A window that reaches beyond both ends of the data holds every pair; one of DEEPEST / rate ranks
        # leaves out only pairs below the floor.
        limit = min(max(self._rank, self._records - self._rank + 1), math.ceil(DEEPEST / rate))
        if self._cut_for is not None:
            # NRS11 Claim 3.5(2): look at k0 ranks on either side and put the cap behind them; k0 is public.
            rungs = math.ceil(2.0 * math.log(self._cut_for + 1) / rate)
            reach = min(limit, rungs)
            behind = self.global_sensitivity * float(exp(np.array([-min(rate * rungs, 2 * DEEPEST)]))[0])
            return rounded_up(max(self._heaviest(reach, decay(rate, 2 * reach + 1)), behind))
        best, reach = least_bound(self.global_sensitivity), min(64, limit)
        while True:
            weights = decay(rate, 2 * reach + 1)
            best = max(best, self._heaviest(reach, weights))
            # Pairs with at least ``reach`` ranks between weigh at most cap e^{-rate reach}.
            if reach >= limit or reaches(best, self.global_sensitivity, float(weights[reach])):
                return rounded_up(best)
            reach = min(2 * reach, limit)

    def _heaviest(self, reach: int, weights: Floats) -> float:
        left = self._data.ranks(self._rank - reach, self._rank)
        right = self._data.ranks(self._rank, self._rank + reach)
        return heaviest_pair(left, right, weights)

    def stepped(self, size: int, diameter: int | None = None) -> Ladder:  # noqa: ARG002
        """``V_k = A^(s(k+1)-1)``: for order statistics s changes at once still reach only s ranks further."""
        if size < 1:
            raise InvalidArgument("size", size, "must be at least 1 record")
        if size == 1:
            return self

        def sensitivity_at_distance(start: int, stop: int) -> Sensitivities:
            return np.array([self[size * (k + 1) - 1] for k in range(start, stop)], dtype=np.int64)

        top = None if self.top is None else -(-self.top // size)
        return Ladder(sensitivity_at_distance, self.global_sensitivity, top=top, deepest=max(self.deepest // size, 1))


@dataclass(frozen=True)
class RankedValues(VectorStatistic[RankedRecords], HasQuantiles[RankedRecords], HasNormLadder[RankedRecords]):
    """The quantiles of several shares, in rising order; their ladder in l1 is the sum of those of each."""

    shares: tuple[Fraction, ...]
    records: int
    grid: Grid
    labels: tuple[str, ...]
    neighbours = Neighbours.CHANGE_ONE
    mechanism_preference = FITTED_FIRST

    def read_near(self) -> tuple[float, ...]:
        return tuple(float(share) for share in self.shares)

    @property
    def records_on(self) -> Grid:
        return self.grid

    @property
    def answers(self) -> tuple[Grid, ...]:
        return (self.grid,) * len(self.shares)

    @property
    def global_sensitivities(self) -> tuple[int, ...]:
        return (self.grid.ends[1] - self.grid.ends[0],) * len(self.shares)

    @property
    def changes_to_worst_case(self) -> int:
        return self.records

    @property
    def l1(self) -> int:
        return len(self.shares)

    l2_squared = l1
    norm = "l1"

    @property
    def norm_sensitivity(self) -> int:
        return sum(self.global_sensitivities)

    def norm_ladder(self, data: RankedRecords) -> Ladder:
        ladders = [statistic.ladder(data) for statistic in self.each()]

        # Thousands of quantiles of a column of 2^52 steps move further together than 64 bits hold.
        size = np.int64 if self.norm_sensitivity < 1 << 62 else object

        def together(start: int, stop: int) -> Sensitivities:
            each = [ladder.sensitivity_at_distance(start, stop).astype(size) for ladder in ladders]
            return np.asarray(np.sum(each, axis=0, dtype=size))

        return Ladder(together, self.norm_sensitivity, top=self.records, deepest=MOST_SLOW_DISTANCES)

    def each(self) -> list[RankedValue]:
        """The single quantiles."""
        return [RankedValue(rank_of(share, self.records), self.records, self.grid, share) for share in self.shares]

    def values(self, data: RankedRecords) -> Sequence[int]:
        return [statistic.value(data) for statistic in self.each()]


def rank_of(share: Fraction, records: int) -> int:
    """The rank ``ceil(q n)``, exactly, and at least 1."""
    return max(1, math.ceil(share * records))
