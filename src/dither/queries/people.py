"""Counts, sums and means of people who own any number of rows: limits are drawn first, then totals within them asked.

A person moves one number, or one vector, by no more than the limit that was drawn, whatever all of their rows are
(docs/proofs/people.md).  Draw and noise together spend the epsilon that was asked for; the limit is part of the
release, and the answer and its interval are about everybody's totals within it.
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dither.mechanisms.mechanism import MOST_EPSILON, Prepared
from dither.privacy import Concentrated, Loss, Neighbours, any_pure_rho
from dither.procedures.people import (
    MOST_LIMIT,
    ROWS_SHARE,
    SIDE_SHARE,
    TOTAL_SHARE,
    UNIT,
    UNIT_STEPS,
    PersonLimitDraw,
    least_people,
    row_limits,
    total_limits,
)
from dither.procedures.unbounded_quantiles import SIZE_SHARE
from dither.queries.plan import Options, PeopleRead, Plan, Result, StatisticPlan, WithinDrawnPlan
from dither.queries.query import prepared_statistic
from dither.release import Counted, PersonLimit
from dither.sources.grid import BIT, Grid
from dither.sources.people import PARTS, LimitedSum, PeopleGroup, PeopleRecords
from dither.statistics.statistic import Statistic
from dither.statistics.unknown_size import FilteredMean, FilteredTotal, for_people

TOO_FEW_PEOPLE = (
    "there may be too few people to find how much one of them may contribute: declare rows_per_unit, "
    "or ask with a larger epsilon"
)


def serves_groups(options: Options) -> bool:
    """Whether totals of groups are answered at once: their noise is Laplace's, and no other was asked for."""
    return options.is_auto


@dataclass(frozen=True)
class PeoplePlan(WithinDrawnPlan[PeopleGroup]):
    """A limit of what one person contributes by a draw, then totals within it."""

    label: str
    read: PeopleRead
    most: int
    """A public bound on the number of rows."""
    draw: PersonLimitDraw
    options: Options
    """What is left for the answer, all groups together."""
    asked: Loss
    is_grouped: bool
    missing: Counted = None
    clamped: Counted = None

    @abstractmethod
    def statistic(self, below: int, above: int) -> Statistic:
        """The statistic of one group within limits: one person moves it by no more than its sensitivity."""

    @abstractmethod
    def result(self, people: PeopleRecords, indices: Sequence[int]) -> list[Result]:
        """The results of some groups: private in, public out."""

    @property
    def answer_range(self) -> Counted:
        return (0, None) if self.read.column is None else None

    @property
    def people(self) -> PeopleRead:
        return self.read

    @property
    def draws(self) -> int:
        """How many limits are drawn."""
        return 1

    @property
    def draw_epsilon(self) -> Fraction:
        """What the limits cost."""
        return self.draws * self.draw.rate

    def within(self, below: int, above: int) -> StatisticPlan[LimitedSum]:
        """The plan of one group within limits.

        A person who changes may leave one group and enter another, with all that the limit allows in both: together
        they move by twice the limit, and each of the groups has noise for that.  It is Laplace's: the proof adds up how
        far all groups move.
        """
        options = self.options
        if self.is_grouped:
            half = options.loss.pure().share(Fraction(1, 2))
            options = dataclasses.replace(options, loss=half, mechanism="worst_case", noise="laplace")
        name, prepared = prepared_statistic(self.statistic(below, above), options)
        return StatisticPlan(self.label, prepared, name, options.level)

    @property
    def typical(self) -> StatisticPlan[LimitedSum]:
        """The plan within some limits: loss, mechanism and noise are those of all."""
        return self.within(0, self.draw.limits[0])

    def rehearse(self) -> None:
        """Refuse now what would be refused later: every plan within limits that may be drawn is like one of these."""
        first, *_, last = self.draw.limits
        for below, above in ((0, first), (0, last), (first, last)):
            answered = self.within(below, above).loss.exact_epsilon * (2 if self.is_grouped else 1)
            if self.draw_epsilon + answered + self.size_epsilon > self.asked.exact_epsilon:
                raise RuntimeError("the parts of a plan cost more than the whole")

    @property
    def size_epsilon(self) -> Fraction:
        """What is spent on whether there are enough people."""
        return Fraction(0)

    @property
    def loss(self) -> Loss:
        stated = Concentrated(Fraction(0))
        for _ in range(self.draws):
            stated = stated + Loss.bounded_range(self.draw.rate).concentrated
        rest = self.options.loss.exact_epsilon + self.size_epsilon
        stated = stated + Concentrated(any_pure_rho(rest), self.typical.loss.exact_delta)
        return Loss(self.asked.epsilon, self.typical.loss.delta, stated=stated)

    @property
    def neighbours(self) -> Neighbours:
        return Neighbours.PERSON

    def run(self, records: PeopleGroup) -> Result:
        return self.result(records.people, [records.index])[0]

    def run_groups(self, groups: Sequence[PeopleGroup]) -> list[Result]:
        # A limit is that of all groups together.
        return self.result(groups[0].people, [group.index for group in groups]) if groups else []


def _rest(options: Options, spent: Fraction) -> Options:
    """The options with what is left of the loss."""
    return dataclasses.replace(options, loss=Loss.asked(_epsilon(options) - spent, options.loss.delta))


def _epsilon(options: Options) -> Fraction:
    return min(options.loss.exact_epsilon, Fraction(int(MOST_EPSILON)))


@dataclass(frozen=True)
class CountOfPeople(PeoplePlan):
    """The number of rows, of each person at most a limit; where there are groups everybody's counts are scaled to it.

    Guarantee  eps-DP when a person comes, goes or changes, with all rows.
    Theorem    docs/proofs/people.md, sections 2 and 4.
    """

    @classmethod
    def planned(cls, label: str, read: PeopleRead, most: int, options: Options, *, grouped: bool) -> CountOfPeople:
        """From public facts."""
        rate = ROWS_SHARE * _epsilon(options)
        draw = PersonLimitDraw(rate, row_limits(min(most, MOST_LIMIT)))
        plan = cls(label, read, most, draw, _rest(options, rate), options.loss, grouped)
        plan.rehearse()
        return plan

    def statistic(self, below: int, above: int) -> Statistic:  # noqa: ARG002
        if self.is_grouped:
            return FilteredTotal(self.most, Grid(Fraction(1, PARTS), 0, above * PARTS), Neighbours.ADD_REMOVE)
        return for_people(FilteredTotal(self.most, BIT, Neighbours.ADD_REMOVE_CHANGE), above)

    def result(self, people: PeopleRecords, indices: Sequence[int]) -> list[Result]:
        above, _ = people.totals_above(self.draw.limits)
        limit = self.draw.draw(above)
        plan = self.within(0, limit)
        sums = people.totals_within(0, limit, PARTS)
        counted: Literal["rows", "groups"] = "groups" if self.read.presence else "rows"
        found = PersonLimit(float(self.draw_epsilon), limit, is_weighted=self.is_grouped, counted=counted)
        return [_whole(plan.run(LimitedSum(sums[index], sums[index])), found) for index in indices]


def _whole(result: Result, limit: PersonLimit) -> Result:
    """A count as a whole number, its interval outward: post-processing."""
    ends = result.interval
    whole = None if ends is None else (math.floor(ends[0]), math.ceil(ends[1]))
    return dataclasses.replace(result, value=round(result.value), interval=whole, person_limit=limit)


@dataclass(frozen=True)
class DistinctPeople(Plan[PeopleGroup]):
    """The number of people who have a row.

    Guarantee  One person, with all rows, is one of them or is not: sensitivity 1.
    Theorem    docs/proofs/people.md, section 2.
    """

    counted: StatisticPlan[LimitedSum]
    read: PeopleRead

    @classmethod
    def planned(cls, label: str, read: PeopleRead, most: int, options: Options) -> DistinctPeople:
        """From public facts."""
        name, prepared = prepared_statistic(FilteredTotal(most, BIT, Neighbours.ADD_REMOVE_CHANGE), options)
        return cls(StatisticPlan(label, prepared, name, options.level), read)

    @property
    def label(self) -> str:
        return self.counted.label

    @property
    def loss(self) -> Loss:
        return self.counted.loss

    @property
    def people(self) -> PeopleRead:
        return self.read

    @property
    def released_by(self) -> Prepared:
        return self.counted.released_by

    @property
    def mechanism(self) -> str:
        return self.counted.mechanism

    @property
    def noise(self) -> str:
        return self.counted.noise

    @property
    def confidence(self) -> float | None:
        return self.counted.confidence

    @property
    def neighbours(self) -> Neighbours:
        return Neighbours.PERSON

    def run(self, records: PeopleGroup) -> Result:
        number = records.people.people()
        return self.counted.run(LimitedSum(number, number))


@dataclass(frozen=True)
class SumOfPeople(PeoplePlan):
    """The sum of everybody's totals within limits; no bounds are needed.

    Guarantee  eps-DP when a person comes, goes or changes, with all rows.
    Theorem    docs/proofs/people.md, sections 3 and 4.
    """

    size: StatisticPlan[LimitedSum] | None = None
    """A noisy count of people."""
    least: int = 0
    """How many it must say for an answer."""

    @classmethod
    def planned(
        cls,
        label: str,
        read: PeopleRead,
        most: int,
        options: Options,
        *,
        grouped: bool,
        bounded: bool,
        missing: Counted,
    ) -> SumOfPeople:
        """From public facts."""
        epsilon = _epsilon(options)
        low, high = read.grid.ends
        sides = 1 if grouped or low >= 0 or high <= 0 else 2
        rate = (TOTAL_SHARE if sides == 1 else SIDE_SHARE) * epsilon
        counted = SIZE_SHARE * epsilon
        name, prepared = prepared_statistic(
            FilteredTotal(most, BIT, Neighbours.ADD_REMOVE_CHANGE),
            Options(Loss.asked(counted), "worst_case", "laplace"),
        )
        plan = cls(
            label,
            read,
            most,
            PersonLimitDraw(rate, total_limits(read.grid, bounded=bounded)),
            _rest(options, sides * rate + counted),
            options.loss,
            grouped,
            missing,
            (read.grid.value(low), read.grid.value(high)),
            StatisticPlan("people", prepared, name, None),
            least_people(rate, bounded=bounded),
        )
        plan.rehearse()
        return plan

    @property
    def draws(self) -> int:
        low, high = self.read.grid.ends
        return 1 if self.is_grouped or low >= 0 or high <= 0 else 2

    @property
    def size_epsilon(self) -> Fraction:
        return Fraction(0) if self.size is None else self.size.loss.exact_epsilon

    def statistic(self, below: int, above: int) -> Statistic:
        step, (low, high) = self.read.grid.step, self.read.grid.ends
        if self.is_grouped:
            ends = -above if low < 0 else 0, above if high > 0 else 0
            return FilteredTotal(self.most, Grid(step, *ends), Neighbours.ADD_REMOVE)
        return FilteredTotal(self.most, Grid(step, -below, above), Neighbours.ADD_REMOVE_CHANGE)

    def result(self, people: PeopleRecords, indices: Sequence[int]) -> list[Result]:
        counted = people.people()
        if self.size is not None and self.size.run(LimitedSum(counted, counted)).value < self.least:
            return [Result(None, reason=TOO_FEW_PEOPLE)] * len(indices)
        low, high = self.read.grid.ends
        above, below = people.totals_above(self.draw.limits)
        upper = self.draw.draw(above) if self.is_grouped or high > 0 else 0
        lower = upper if self.is_grouped else self.draw.draw(below) if low < 0 else 0
        plan = self.within(lower, upper)
        sums = people.totals_within(lower, upper)
        grid = self.read.grid
        found = PersonLimit(
            float(self.draw_epsilon),
            total=(grid.value(-lower if low < 0 else 0), grid.value(upper if high > 0 else 0)),
            is_weighted=self.is_grouped,
        )
        results = (plan.run(LimitedSum(counted, sums[index])) for index in indices)
        return [dataclasses.replace(result, person_limit=found) for result in results]


@dataclass(frozen=True)
class PeopleMean(PeoplePlan):
    """The mean of rows, where those of each person together weigh at most a limit; within declared bounds.

    Guarantee  eps-DP when a person comes, goes or changes, with all rows.
    Theorem    docs/proofs/people.md, section 5.
    """

    @classmethod
    def planned(cls, label: str, read: PeopleRead, most: int, options: Options, missing: Counted) -> PeopleMean:
        """From public facts."""
        rate = ROWS_SHARE * _epsilon(options)
        draw = PersonLimitDraw(rate, row_limits(min(most, MOST_LIMIT)))
        low, high = read.grid.ends
        ends = (read.grid.value(low), read.grid.value(high))
        plan = cls(label, read, most, draw, _rest(options, rate), options.loss, False, missing, ends)
        plan.rehearse()
        return plan

    @property
    def answer_range(self) -> Counted:
        return self.clamped

    def statistic(self, below: int, above: int) -> Statistic:  # noqa: ARG002
        return for_people(FilteredMean(self.read.grid, Neighbours.ADD_REMOVE_CHANGE), above)

    def result(self, people: PeopleRecords, indices: Sequence[int]) -> list[Result]:
        limit = self.draw.draw(people.rows_above(self.draw.limits))
        found = PersonLimit(float(self.draw_epsilon), limit, is_weighted=True)
        result = self.within(0, limit).run(people.weighted(limit))
        return [dataclasses.replace(result, person_limit=found) for _ in indices]


def unbounded_grid(step: Fraction | None) -> Grid:
    """The grid of the rows of a column without bounds: public."""
    return Grid(UNIT if step is None else step, -UNIT_STEPS, UNIT_STEPS)
