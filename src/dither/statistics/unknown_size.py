"""Statistics of selections: behind a filter or in a group the number of records is private.

One person may then add, remove or replace a record (``ADD_REMOVE_CHANGE``); in one of many groups a record comes or
goes (``ADD_REMOVE``), because a person who changes groups leaves one and enters another.  ``most`` is a public bound on
the number of records.  Proofs: docs/proofs/filtered.md; enumerated in tests/statistics/test_unknown_size.py.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dither.kernels.elementary import exp
from dither.privacy import FilterName, Neighbours
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.ladder import (
    DEEPEST,
    MOST_SLOW_DISTANCES,
    Algorithm,
    Ladder,
    Sensitivities,
    rounded_up,
    usable_rate,
)
from dither.sensitivity.margins import LevelsByMargins
from dither.sensitivity.middle import HasMiddleScore, split_by
from dither.sensitivity.padded_links import FEW_LINKS, padded
from dither.sensitivity.reachable import HasPopulationChains, HasReachableValues, ReachableValues
from dither.sensitivity.sorted_chain import SortedChain
from dither.sensitivity.sum_and_count import HasSumAndCount
from dither.sources.column import RankedRecords
from dither.sources.grid import Grid
from dither.statistics.order import (
    OrderLadder,
    RankedValue,
    chain_from,
    preferred_for_extremes,
    preferred_for_quantiles,
    rank_of,
)
from dither.statistics.sampling_ranks import known_sampling_ranks, sampling_ranks
from dither.statistics.statistic import FITTED_FIRST, Statistic, VectorStatistic, preferred_for_totals

FINE_STEPS = 36
"""Means are released in steps of at most 2**-36 of the bounds."""


@dataclass(frozen=True)
class SharedRank(
    Statistic[RankedRecords],
    HasReachableValues[RankedRecords],
    HasPopulationChains[RankedRecords],
    LevelsByMargins[RankedRecords],
    HasMiddleScore[RankedRecords],
):
    """The value at rank ``max(1, ceil(q n))`` of a selection with a private number n of records.

    An empty selection has the upper bound as its value.

    Guarantee  The ladder of the order statistic obeys both axioms when a record is added, removed or replaced.  The
               chain interlaces: it is the sorted data for add-remove-change, and for add-remove what so many additions
               and removals can reach, which is twice as slow for a median.
    Theorem    docs/proofs/filtered.md.
    """

    share: Fraction
    most: int
    answers: Grid
    neighbours: Neighbours
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
        # Counts of one tail alone, whatever n is.
        return self.share in (0, 1)

    @property
    def is_maximum(self) -> bool:
        """Extremes only: whether the answer is the largest."""
        return self.share == 1

    def preferred_at(self, epsilon: Fraction, *, interval: bool, ledger: FilterName | None) -> str | None:
        if self.monotone_cost:
            return preferred_for_extremes(self.answers, epsilon, interval=interval)
        return preferred_for_quantiles(self.answers, ledger)

    @property
    def changes_to_worst_case(self) -> int:
        return self._farthest

    @property
    def shares(self) -> tuple[float, ...]:
        """Where in the sorted data its ranks lie."""
        return (float(self.share),)

    def ranked(self, data: RankedRecords) -> RankedValue:
        """The order statistic that it is for these data: private."""
        return RankedValue(rank_of(self.share, data.records), data.records, self.answers)

    def value(self, data: RankedRecords) -> int:
        return self.ranked(data).value(data)

    def ladder(self, data: RankedRecords, algorithm: Algorithm = "exact") -> Ladder:
        here = self.ranked(data)
        if algorithm == "linear":
            return here.ladder(data, algorithm)
        # The number of records is private here: a sublinear search is cut where the public bound on it says.
        return OrderLadder(here, data, cut_for=self.most if algorithm == "sublinear" else None)

    def imbalance(self, data: RankedRecords) -> Callable[[int], int]:
        return split_by(data, self.middle_share)

    def reachable_values(self, data: RankedRecords) -> ReachableValues:
        here = self.ranked(data)
        if self.neighbours is not Neighbours.ADD_REMOVE or self.monotone_cost:
            # For extremes costs must stay counts of one tail.
            return chain_from(data, here.rank, self.answers.ends, self.most + 1, self.most + 1)
        share, records = self.share, data.records
        low, high = self.answers.ends

        def rank_at(changes: int) -> int:
            return reachable_rank(share, records, changes)

        def values(first: int, last: int) -> Sequence[int]:
            every = range(first, last + 1)
            start, stop = 0, len(every)
            if stop > FEW_LINKS:
                # Ranks rise with the changes: beyond the records the chain is its bounds, however far somebody looks.
                start, stop = bisect_left(every, 1, key=rank_at), bisect_right(every, records, key=rank_at)
            inside = np.zeros(0, dtype=np.int64)
            if start < stop:
                places = reachable_ranks(share, records, every[start], every[stop - 1])
                inside = data.ranks(int(places[0]), int(places[-1]))[places - places[0]]
            return padded(low, start, inside, high, len(every) - max(start, stop))

        # To put the upper bound at its rank, as many records as there are may have to be outnumbered.
        farthest = self._farthest
        return SortedChain(values, -farthest, farthest, rank_at, data)

    def ranks_within(self, changes: int) -> int:
        if self.neighbours is not Neighbours.ADD_REMOVE or self.monotone_cost:
            return changes
        return math.ceil(max(self.share, 1 - self.share) * changes) + 1

    def population_chains(self, data: RankedRecords, miss: Fraction) -> tuple[ReachableValues, ReachableValues]:
        # Ranks and the number of records above them rise by 0 or 1 with each record that is added, so that chains of
        # the sorted data interlace; their ends must not say how many records there are.
        lower, upper = (
            chain_from(data, rank, self.answers.ends, self.most + 1, self.most + 1)
            for rank in sampling_ranks(data.records, self.share, miss)
        )
        return lower, upper

    def population_ranks(self, miss: Fraction) -> int:
        lower, upper = known_sampling_ranks(self.most, self.share, miss)
        return upper - lower

    @functools.cached_property
    def _farthest(self) -> int:
        slowest = max(self.share, 1 - self.share)
        return int((self.most + 2) / slowest) + 2


def reachable_rank(share: Fraction, records: int, changes: int) -> int:
    """The rank of ``reachable_ranks`` for one number of changes, in whole numbers of any size."""
    count, reached = abs(changes), []
    for added in (count, max(count - records, 0)):
        removed = count - added
        rank = max(1, -(-share.numerator * (records + added - removed) // share.denominator))
        reached.append(rank + removed if changes > 0 else rank - added)
    return max(reached) if changes > 0 else min(reached)


def reachable_ranks(share: Fraction, records: int, first: int, last: int) -> NDArray[np.int64]:
    """For each number of changes from first to last, the rank whose value so many additions and removals can bring to
    rank ``max(1, ceil(q n))``: the highest for positive numbers, the lowest for negative ones.

    Upwards one adds at the top or removes at the bottom, downwards the other way round; the rank is linear in how many
    of the changes are additions, up to rounding, so one of the two extremes is best.  A removal is possible only while
    there is a record.  Ranks below 1 and above n stand for the bounds.

    As many records more as q's denominator b move all of them by q b.  So where no number of changes comes near the
    number of records, ranks are those of the fewest such records, computed once.
    """
    over, under = share.numerator, share.denominator
    near = max(abs(first), abs(last)) + under
    if records < near + under or last - first > _FEW_CHANGES:
        return _reachable_ranks(share, records, first, last)
    more = (records - near) // under
    return _listed_ranks(share, records - more * under, first, last) + more * over


def _reachable_ranks(share: Fraction, records: int, first: int, last: int) -> NDArray[np.int64]:
    changes = np.arange(first, last + 1)
    count, rising = np.abs(changes), changes > 0
    reached = []
    for added in (count, np.maximum(count - records, 0)):
        removed = count - added
        rank = _ranks(share, records + added - removed)
        reached.append(np.where(rising, rank + removed, rank - added))
    return np.asarray(np.where(rising, np.maximum(*reached), np.minimum(*reached)), dtype=np.int64)


_FEW_CHANGES = 1 << 12
_listed_ranks = functools.lru_cache(maxsize=64)(_reachable_ranks)


def _ranks(share: Fraction, records: NDArray[np.int64]) -> NDArray[np.int64]:
    """``max(1, ceil(q n))`` of many n, exactly."""
    over, under = share.numerator, share.denominator
    dtype = np.int64 if over * (int(records.max()) + 1) < 1 << 62 else object
    return np.asarray(np.maximum(1, -(-(over * records.astype(dtype)) // under)), dtype=np.int64)


@dataclass(frozen=True)
class FilteredTotal(Statistic[RankedRecords]):
    """The sum of the selected records (a count where all of them are 1), computed exactly.

    Guarantee  Global sensitivity max(|lo|, |hi|), or with replacement max(|lo|, |hi|, hi - lo): attained.
    """

    most: int
    column: Grid
    neighbours: Neighbours
    sensitivity_is_constant = True
    sums_powers = 1

    @property
    def records_on(self) -> Grid:
        return self.column

    @functools.cached_property
    def answers(self) -> Grid:
        low, high = self.column.ends
        return Grid(self.column.step, min(low, 0) * self.most, max(high, 0) * self.most)

    @property
    def global_sensitivity(self) -> int:
        low, high = self.column.ends
        replaced = high - low if self.neighbours is not Neighbours.ADD_REMOVE else 0
        return max(abs(low), abs(high), replaced)

    def preferred_at(self, epsilon: Fraction, *, interval: bool, ledger: FilterName | None) -> str | None:  # noqa: ARG002
        return preferred_for_totals(self.global_sensitivity, epsilon, ledger)

    def value(self, data: RankedRecords) -> int:
        return data.total()

    @property
    def changes_to_worst_case(self) -> int:
        return 0

    def ladder(self, data: RankedRecords, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return Ladder(
            lambda start, stop: np.full(stop - start, self.global_sensitivity, dtype=object),
            self.global_sensitivity,
            top=0,
        )


@dataclass(frozen=True)
class FilteredMean(Statistic[RankedRecords], HasSumAndCount[RankedRecords]):
    """The mean of the selected records; the middle of the bounds for an empty selection.

    Guarantee  Rungs ``(hi - lo) / max(1, n - k)``, rounded up on the grid of the answers.
    Theorem    docs/proofs/filtered.md: adding, removing or replacing one of n records moves a mean by at most
               (hi - lo) / n, and k changes leave at least n - k records.
    """

    column: Grid
    neighbours: Neighbours
    beta_per_epsilon = Fraction(1, 5)
    mechanism_preference = FITTED_FIRST
    sums_powers = 1

    def preferred_at(self, epsilon: Fraction, *, interval: bool, ledger: FilterName | None) -> str | None:  # noqa: ARG002
        return "noisy_count"

    @property
    def records_on(self) -> Grid:
        return self.column

    @property
    def _finer(self) -> int:
        low, high = self.column.ends
        return 1 << max(0, FINE_STEPS - (high - low).bit_length() + 1)

    @functools.cached_property
    def answers(self) -> Grid:
        low, high = self.column.ends
        return Grid(self.column.step / self._finer, low * self._finer, high * self._finer)

    @property
    def global_sensitivity(self) -> int:
        low, high = self.answers.ends
        return high - low

    def value(self, data: RankedRecords) -> int:
        low, high = self.answers.ends
        return data.total() * self._finer // data.records if data.records else (low + high) // 2

    @property
    def deviation_range(self) -> int:
        low, high = self.column.ends
        return high - low

    def count(self, data: RankedRecords) -> int:
        return data.records

    def doubled_deviations(self, data: RankedRecords) -> int:
        return 2 * data.total() - sum(self.column.ends) * data.records if data.records else 0

    def ladder(self, data: RankedRecords, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return self.ladder_of_count(data.records)

    def ladder_of_count(self, records: int) -> Ladder:
        return MeanLadder(records, self.global_sensitivity)


class MeanLadder(Ladder):
    """Rungs ``ceil(cap / max(1, n - k))``, with a smooth bound in closed form."""

    def __init__(self, records: int, global_sensitivity: int) -> None:
        super().__init__(self._explicit, global_sensitivity, top=max(0, records - 1))
        self._records = records

    def _explicit(self, start: int, stop: int) -> Sensitivities:
        left = np.maximum(self._records - np.arange(start, stop, dtype=np.int64), 1)
        return -(-np.int64(self.global_sensitivity) // left)

    def most_decayed(self, start: int, stop: int, rate: float) -> int:
        """``max(cap / (n - start), cap e^{-rate (last - start)}) + 1``, for the reasons of ``smooth``."""
        left, end = max(self._records - start, 1), min(stop - 1, max(self._records - 1, 0))
        last = math.exp(-min(rate * max(end - start, 0), DEEPEST)) * (1.0 + 1e-9)
        return max(-(-self.global_sensitivity // left), math.ceil(Fraction(last) * self.global_sensitivity)) + 1

    def smooth(self, beta: Fraction) -> Fraction:
        """``max(cap / n, cap e^{-beta (n-1)}) + 1``: the weights ``e^{-beta k} / (n - k)`` are log-convex in k.

        One grid step pays for rounding the rungs up: a constant is smooth, and so is a sum of smooth bounds.
        """
        rate, records = usable_rate(beta), max(self._records, 1)
        last = float(exp(np.array([-min(rate * (records - 1), DEEPEST)]))[0])
        return rounded_up(self.global_sensitivity * max(1.0 / records, last)) + 1


@dataclass(frozen=True)
class SharedRankDifference(Statistic[RankedRecords]):
    """The difference of two quantiles of a selection.

    Guarantee  The sum of both ladders obeys the axioms termwise.
    """

    lower: SharedRank
    upper: SharedRank
    answers: Grid
    neighbours: Neighbours
    mechanism_preference = FITTED_FIRST
    linear_time_ladder = True

    @property
    def records_on(self) -> Grid:
        return self.lower.answers

    @property
    def changes_to_worst_case(self) -> int:
        return self.lower.most

    @property
    def global_sensitivity(self) -> int:
        return self.answers.ends[1]

    @property
    def shares(self) -> tuple[float, ...]:
        """Where in the sorted data its ranks lie."""
        return (float(self.lower.share), float(self.upper.share))

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

        return Ladder(sensitivity_at_distance, self.global_sensitivity, top=data.records, deepest=MOST_SLOW_DISTANCES)


@dataclass(frozen=True)
class OfPeople(Statistic[Data]):
    """A statistic for neighbours that differ in up to ``rows`` steps: all rows of one person."""

    base: Statistic[Data]
    rows: int
    neighbours: Neighbours = Neighbours.PERSON

    @property
    def answers(self) -> Grid:
        return self.base.answers

    @property
    def records_on(self) -> Grid:
        return self.base.records_on

    @property
    def rows_per_person(self) -> int:
        return self.rows

    @property
    def _diameter(self) -> int | None:
        grid = self.base.answers
        return None if grid.low is None or grid.high is None else grid.high - grid.low

    @property
    def global_sensitivity(self) -> int:
        stepped = self.rows * self.base.global_sensitivity
        return stepped if self._diameter is None else min(stepped, self._diameter)

    @property
    def changes_to_worst_case(self) -> int | None:
        base = self.base.changes_to_worst_case
        return None if base is None else -(-base // self.rows)

    @property
    def sensitivity_is_constant(self) -> bool:
        # Several steps of a constant ladder make a constant one.
        return self.base.sensitivity_is_constant

    @property
    def linear_time_ladder(self) -> bool:
        return self.base.linear_time_ladder

    @property
    def beta_per_epsilon(self) -> Fraction | None:
        return self.base.beta_per_epsilon

    def smoothness(self, epsilon: Fraction, *, interval: bool) -> Fraction | None:
        return self.base.smoothness(epsilon, interval=interval)

    @property
    def mechanism_preference(self) -> tuple[str, ...]:
        return self.base.mechanism_preference

    def preferred_at(self, epsilon: Fraction, *, interval: bool, ledger: FilterName | None) -> str | None:
        return self.base.preferred_at(epsilon, interval=interval, ledger=ledger)

    @property
    def shares(self) -> tuple[float, ...]:
        """Where in the sorted data its ranks lie."""
        return self.base.shares

    @property
    def sums_powers(self) -> int:
        return self.base.sums_powers

    def value(self, data: Data) -> int:
        return self.base.value(data)

    def ladder(self, data: Data, algorithm: Algorithm = "exact") -> Ladder:
        return self.base.ladder(data, algorithm).stepped(self.rows, self._diameter)

    def ladder_of_count(self, records: int) -> Ladder | None:
        base = self.base.ladder_of_count(records)
        return None if base is None else base.stepped(self.rows, self._diameter)


@dataclass(frozen=True)
class ReachableValuesOfPeople(OfPeople[Data], HasReachableValues[Data]):
    """The same for a statistic with a chain: one person moves along it by up to ``rows`` links."""

    mechanism_preference = FITTED_FIRST
    monotone_cost = False

    @property
    def answers_are_records(self) -> bool:
        return isinstance(self.base, HasReachableValues) and self.base.answers_are_records

    @property
    def reaches_ranks(self) -> bool:
        return isinstance(self.base, HasReachableValues) and self.base.reaches_ranks

    def reachable_values(self, data: Data) -> ReachableValues:
        base = self.base
        if not isinstance(base, HasReachableValues):
            raise TypeError(type(base).__name__)
        fine = base.reachable_values(data)
        rows = self.rows
        if isinstance(fine, SortedChain):
            return fine.scaled(rows)

        def values(first: int, last: int) -> Sequence[int]:
            return list(fine.values(rows * first, rows * last)[::rows])

        return ReachableValues(values, fine.bottom // rows, -(-fine.top // rows))


@dataclass(frozen=True)
class MeanOfPeople(OfPeople[Data], HasSumAndCount[Data]):
    """The same for a mean of a private number of records."""

    @property
    def _mean(self) -> HasSumAndCount[Data]:
        if not isinstance(self.base, HasSumAndCount):
            raise TypeError(type(self.base).__name__)
        return self.base

    @property
    def deviation_range(self) -> int:
        return self._mean.deviation_range

    def count(self, data: Data) -> int:
        return self._mean.count(data)

    def doubled_deviations(self, data: Data) -> int:
        return self._mean.doubled_deviations(data)


S = TypeVar("S", bound=Statistic | VectorStatistic)


def for_people(statistic: S, rows: int) -> S | Statistic:
    """The statistic for neighbours that differ in all rows of one person; vectors have that in their shape."""
    if rows == 1 or not isinstance(statistic, Statistic):
        return statistic
    if isinstance(statistic, HasReachableValues):
        return ReachableValuesOfPeople(statistic, rows)
    if isinstance(statistic, HasSumAndCount):
        return MeanOfPeople(statistic, rows)
    return OfPeople(statistic, rows)
