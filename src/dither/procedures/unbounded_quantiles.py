"""Quantiles and their distances without bounds and without a test: inverse sensitivity on a public floating grid.

The grid is geometric away from zero, so it reaches 2**64 either way with a few hundred octaves: what the
range costs is the logarithm of that.  Pure differential privacy, no refusals.  docs/proofs/robust_scale.md, section 7.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Generic, TypeVar

import numpy as np

from dither.accounting.cascades import Composition, Step
from dither.errors import InvalidArgument
from dither.mechanisms.exponential import ExponentialDraw
from dither.mechanisms.half_width_draw import HalfWidthDraw, chain_of
from dither.mechanisms.inverse import VALUE_SHARE
from dither.mechanisms.joint_quantiles import MOST_JOINT, SeveralDraws
from dither.mechanisms.limits import check_cost
from dither.mechanisms.mechanism import MOST_EPSILON
from dither.privacy import Loss, Neighbours
from dither.procedures.floating import FloatingGrid
from dither.procedures.ordered import Ordered, RankRange
from dither.procedures.plans import Answer, ProcedurePlan, distinct_ranks, outer_ranks, within
from dither.procedures.unbounded import NEVER, FoundNumber, least_records
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.ladder import MOST_SLOW_DISTANCES, Algorithm, Ladder, Sensitivities
from dither.sensitivity.reachable import HasReachableValues, ReachableValues
from dither.sources.column import Column, RankedRecords
from dither.statistics.order import RankedValue, RankedValues, rank_of
from dither.statistics.statistic import FITTED_FIRST, Statistic
from dither.statistics.unknown_size import SharedRank

Plan = TypeVar("Plan", bound=ProcedurePlan)
REALS = FloatingGrid(1.0, bits=30, lowest=-64, highest=64)
"""Where answers live: 30 bits of mantissa from 2**-64 to 2**64, evenly spaced around zero."""


APART = 2.0**-7
"""Half a percent: how far the next record is, for public floors of how many records there must be."""
SIZES = replace(REALS, signed=False)
"""Where distances live."""
SIZE_SHARE = Fraction(1, 20)
"""The part of epsilon for whether there are enough records, where their number is private."""


@dataclass(frozen=True)
class CodedRange(Statistic[Ordered], HasReachableValues[Ordered]):
    """The code of the distance ``x_(q) - x_(p)`` of two ranks, with its exact chain.

    A code rises with the rounded distance, and rounding rises with the distance, so what i changes reach is the code of
    what they reach; interlacing is kept (docs/proofs/robust_scale.md, section 7).
    """

    lower: int
    upper: int
    records: int
    neighbours = Neighbours.CHANGE_ONE
    mechanism_preference = FITTED_FIRST
    monotone_cost = False
    linear_time_ladder = True
    linear_time_reachable_values = True
    answers = SIZES.grid

    @property
    def changes_to_worst_case(self) -> int:
        return self.records

    @property
    def global_sensitivity(self) -> int:
        return SIZES.top

    def value(self, data: Ordered) -> int:
        return self._links(data, 0, 0)[0]

    def ladder(self, data: Ordered, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        def sensitivity_at_distance(start: int, stop: int) -> Sensitivities:
            up, down = self._links(data, start + 1, stop), self._links(data, -stop, -start - 1)
            return np.asarray(np.array(up) - np.array(down[::-1]))

        return Ladder(sensitivity_at_distance, self.global_sensitivity, top=self.records, deepest=MOST_SLOW_DISTANCES)

    def reachable_values(self, data: Ordered) -> ReachableValues:
        p, q, n = self.lower, self.upper, self.records
        return ReachableValues(lambda first, last: self._links(data, first, last), p - q, min(p, n - q + 1))

    def _links(self, data: Ordered, first: int, last: int) -> list[int]:
        distances = RankRange(data, self.lower, self.upper)
        reached = [distances.rounded_most(k) if k >= 0 else distances.rounded_least(-k) for k in range(first, last + 1)]
        codes: list[int] = SIZES.codes(np.array(reached)).tolist()
        return codes


@dataclass(frozen=True)
class DrawnPlan(ProcedurePlan, Generic[Data]):
    """One draw of the code of a number, and one for the width of its interval."""

    statistic: Statistic[Data]
    epsilon: Fraction
    """The epsilon of the answer."""
    interval_epsilon: Fraction | None
    """The epsilon of the interval."""
    mechanism_name = "inverse"
    noise = "exponential"

    @property
    def composition(self) -> Composition:
        return Step(self.epsilon + (self.interval_epsilon or 0))

    def run(self, data: Ordered, miss: Fraction | None = None) -> Answer:
        coded = self._coded(data)
        answer = ExponentialDraw.of(self.statistic, self.loss, self.epsilon, None).run(coded).number
        value = Fraction(REALS.value(answer))
        if miss is None or self.interval_epsilon is None:
            return Answer(FoundNumber(value))
        drawn, reachable = HalfWidthDraw(self.interval_epsilon, miss), chain_of(self.statistic).reachable_values(coded)
        low, high = drawn.weighed(self._grid.intervals(answer), reachable, reachable).draw(drawn.rate)
        outer = _outward(low, high)
        return Answer(FoundNumber(value, Fraction(max(outer[0], self._least)), Fraction(outer[1])))

    _least: ClassVar[float] = -math.inf
    """No true value is smaller."""
    _grid: ClassVar[FloatingGrid] = REALS
    """Where the codes of answers live."""

    @abstractmethod
    def _coded(self, data: Ordered) -> Data:
        """The records as the statistic reads them."""


@dataclass(frozen=True)
class DrawnQuantilePlan(DrawnPlan[RankedRecords]):
    """A quantile, of records that are coded."""

    def _coded(self, data: Ordered) -> RankedRecords:
        return Column(REALS.codes(data.ranks(1, data.records)), REALS.grid, ordered=True)


@dataclass(frozen=True)
class DrawnRangePlan(DrawnPlan[Ordered]):
    """The distance of two quantiles, which codes its own values."""

    _least = 0.0
    _grid = SIZES

    def _coded(self, data: Ordered) -> Ordered:
        return data


def enough_to_draw(records: int, possible: Callable[[int], bool], epsilon: Fraction) -> None:
    """Raise, naming the least number of records, where draws without bounds may end anywhere: a public condition."""
    if possible(records):
        return
    least, known = least_records(possible), "pass bounds=(lower, upper), a range you know without looking at the data"
    if least == NEVER:
        never = "must have bounds: single records decide this answer, however many there are, so that a draw among all"
        raise InvalidArgument("data", records, f"{never} magnitudes ends anywhere; {known}")
    needed = f"must have at least {least} records where no bounds are known, at epsilon={float(epsilon):g}"
    raise InvalidArgument("data", records, f"{needed}: with fewer a draw may end at any magnitude; {known}")


def least_epsilon(room: int, points: int) -> Fraction:
    """The least epsilon of a draw that is more likely to lie among the records than beyond all of them.

    ``room``: how many changes lead beyond all records; ``points``: how many more points lie there than near the value.
    They weigh at most ``points e^{-(epsilon / 2) room}`` as much (docs/proofs/robust_scale.md, section 7).
    """
    return Fraction(math.ceil(2**11 * math.log(2 * points)), 2**10 * room) if room else Fraction(NEVER)


def relative_points(grid: FloatingGrid) -> int:
    """Points of a grid over those of the gap between the value and the next record, if that is ``APART`` octaves."""
    return math.ceil(grid.octaves / APART)


def plan_drawn_quantile(records: int, loss: Loss, share: Fraction, *, interval: bool) -> DrawnQuantilePlan:
    """Any quantile; all of epsilon for the answer, or half of it where an interval is wanted; delta is not spent."""

    def room(count: int) -> int:
        rank = rank_of(share, count)
        return min(rank, count - rank + 1)

    statistic = RankedValue(rank_of(share, records), records, REALS.grid)
    return _plan(DrawnQuantilePlan, statistic, loss, (records, room, REALS), interval=interval)


def plan_selected_quantile(
    most: int, neighbours: Neighbours, epsilon: Fraction, share: Fraction, *, interval: bool
) -> tuple[DrawnQuantilePlan, int]:
    """The same of a private number of records, at what a count of them leaves of epsilon, and how many it must say."""
    rest = Loss.asked((1 - SIZE_SHARE) * epsilon)
    part = rest.exact_epsilon * VALUE_SHARE if interval else rest.exact_epsilon

    def possible(count: int) -> bool:
        rank = rank_of(share, count)
        return least_epsilon(max(min(rank, count - rank + 1) - 1, 0), relative_points(REALS)) <= part

    statistic = SharedRank(share, most, REALS.grid, neighbours)
    check_cost(ExponentialDraw.of(statistic, rest, part, None), float(epsilon))
    enough_to_draw(most, lambda count: possible(max(count - count_room(epsilon), 0)), epsilon)
    return _drawn(DrawnQuantilePlan, statistic, rest, part, interval=interval), least_records(possible)


def count_room(epsilon: Fraction) -> int:
    """How far below the number of records a count for ``SIZE_SHARE`` of epsilon lies with probability 1/20."""
    return math.ceil(math.log(10.0) / float(SIZE_SHARE * epsilon))


def plan_drawn_range(records: int, loss: Loss, shares: tuple[Fraction, Fraction], *, interval: bool) -> DrawnRangePlan:
    """The distance of any two quantiles, likewise."""
    lower, upper = distinct_ranks(records, shares)
    statistic = CodedRange(lower, upper, records)
    return _plan(DrawnRangePlan, statistic, loss, (records, lambda n: outer_ranks(n, shares), SIZES), interval=interval)


def plan_drawn_quantiles(statistic: RankedValues, loss: Loss, confidence: Fraction | None) -> SeveralDraws:
    """Several quantiles of coded records by one joint draw; delta is not spent."""
    count = len(statistic.shares)
    if not 1 < count <= MOST_JOINT:
        accepted = f"must be 2 to {MOST_JOINT} quantiles where no bounds are known"
        raise InvalidArgument("q", f"{count} quantiles", f"{accepted}: ask for fewer, or pass bounds=(lower, upper)")
    epsilon = min(loss.exact_epsilon, Fraction(int(MOST_EPSILON)))

    def drawn(records: int) -> SeveralDraws:
        return SeveralDraws.of(replace(statistic, records=records), Loss(loss.epsilon), epsilon, confidence)

    def possible(records: int) -> bool:
        ranks = [rank_of(share, records) for share in statistic.shares]
        room = min(ranks[0], records - ranks[-1] + 1)
        return room >= joint_room(count, relative_points(REALS), drawn(records).rate)

    enough_to_draw(statistic.records, possible, loss.exact_epsilon)
    prepared = drawn(statistic.records)
    if prepared.order_of_draws != "joint":
        few = "must be larger where no bounds are known, or the records fewer: a joint draw would take too long"
        raise InvalidArgument("epsilon", loss.epsilon, few)
    return prepared


def joint_room(count: int, points: int, rate: Fraction) -> int:
    """How many records must lie beyond the outermost of so many quantiles, for an answer beyond all to be unlikely.

    A tuple with such an answer has a score that is 2 room - 2 more at the least, and all weigh points^count as much.
    """
    return math.ceil((count * math.log(points) + math.log(2.0)) / float(2 * rate)) + 1


def drawn_values(
    prepared: SeveralDraws, data: Ordered
) -> tuple[tuple[float, ...], tuple[tuple[float, float], ...] | None]:
    """Numbers and their intervals, drawn as codes."""
    codes, intervals = prepared.drawn(Column(REALS.codes(data.ranks(1, data.records)), REALS.grid, ordered=True))
    values = tuple(REALS.value(code) for code in codes)
    return values, None if intervals is None else tuple(_outward(low, high) for low, high in intervals)


def _outward(low: int, high: int) -> tuple[float, float]:
    """A code stands for all reals up to the next one away from zero."""
    return REALS.value(low - 1 if low <= 0 else low), REALS.value(high + 1 if high >= 0 else high)


def _plan(
    plan_class: Callable[[Loss, Statistic[Data], Fraction, Fraction | None], Plan],
    statistic: Statistic[Data],
    loss: Loss,
    among: tuple[int, Callable[[int], int], FloatingGrid],
    *,
    interval: bool,
) -> Plan:
    """``among``: how many records there are, how many of so many lie beyond the answer at the least, and the grid."""
    epsilon = min(loss.exact_epsilon, Fraction(int(MOST_EPSILON)))
    part = epsilon * VALUE_SHARE if interval else epsilon
    records, room, grid = among
    check_cost(ExponentialDraw.of(statistic, Loss(loss.epsilon), part, None), loss.epsilon)
    # The gap next to the value is one change away.
    needed = relative_points(grid)
    enough_to_draw(records, lambda count: least_epsilon(room(count) - 1, needed) <= part, loss.exact_epsilon)
    return _drawn(plan_class, statistic, loss, part, interval=interval)


def _drawn(
    plan_class: Callable[[Loss, Statistic[Data], Fraction, Fraction | None], Plan],
    statistic: Statistic[Data],
    loss: Loss,
    part: Fraction,
    *,
    interval: bool,
) -> Plan:
    """``part``: the epsilon of the answer; what is left of the whole is for the interval."""
    spent, whole = Loss(loss.epsilon), min(loss.exact_epsilon, Fraction(int(MOST_EPSILON)))
    return within(plan_class(spent, statistic, part, whole - part if interval else None), spent)
