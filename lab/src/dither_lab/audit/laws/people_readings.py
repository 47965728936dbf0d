"""What statements about people read of a database, and what their noise is for, by the sort of their plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypeVar, cast

from dither.queries.people import CountOfPeople, DistinctPeople, PeopleMean, PeoplePlan
from dither.session.plan import TablePlan
from dither.session.session import Session
from dither.sources.engines.factory import engine_over
from dither.sources.grid import BIT
from dither.sources.people import PARTS, LimitedSum, PeopleGroup, PeopleRecords
from dither.sources.selection import Selection
from dither.statistics.statistic import Statistic
from dither.statistics.unknown_size import FilteredTotal
from dither.typing import GroupKey

RUNGS = 3
PLACES = (1, 3, 7)
"""Places of the limits under which totals are computed: some people lie above each and some below."""
R = TypeVar("R")
Ladder: TypeAlias = tuple[int, tuple[int, ...]]
"""The value of a group in steps, and how far one more change moves it after 0, 1, 2, ..."""


@dataclass(frozen=True)
class WithinLimit:
    """What noise is added to under one limit: totals and the scale of their noise, or values and their ladders."""

    totals: tuple[int, ...] = ()
    scale: float = 1.0
    ladders: tuple[Ladder, ...] = ()
    steps: int = 1
    """How many steps of the ladders one person may take."""
    is_shared: bool = False
    """True if the steps are those of all groups together, each of the same size."""


@dataclass(frozen=True)
class Reading:
    """What one statement reads of one database, and what its noise is for."""

    within: tuple[WithinLimit, ...]
    """Under the declared limit, or under some that may be drawn."""
    rate: float = 0.0
    exceeding: tuple[int, ...] = (0,)
    """How many people exceed each limit; one that is declared is drawn from one."""
    places: tuple[int, ...] = (0,)
    people: int = 0
    size_epsilon: float = 0.0
    """What a noisy count of people spends."""


@dataclass(frozen=True)
class PlannedStatement:
    """The plan of a statement, which is public: the same for all databases."""

    plan: TablePlan
    limited: tuple[TablePlan, ...] = ()
    """Where a limit of rows is drawn: the plans under some limits."""


def read(session: Session, planned: PlannedStatement) -> Reading:
    """What a statement reads there, as it ships."""
    plan, inner = planned.plan, planned.plan.inner
    if isinstance(inner, PeoplePlan | DistinctPeople):
        groups: dict[tuple[GroupKey, ...], PeopleGroup] = session._source.groups_for_owner(plan)
        people = next(iter(groups.values())).people
        return _of_people(inner, people) if isinstance(inner, PeoplePlan) else _counted(inner, people)
    if plan.limit is None:
        return Reading((_under_declared_limit(session, plan),))
    within = tuple(_under_declared_limit(session, limited) for limited in planned.limited)
    draw = plan.limit.draw
    selection = Selection(engine_over(session._source.engine, plan.schema), plan.schema, plan.predicate)
    name = plan.query.column
    used = name if name is not None and selection.drops(name) else None
    exceeding = PeopleRecords(selection, used, BIT, 0).rows_above(draw.limits)
    return Reading(within, float(draw.rate), tuple(exceeding), PLACES)


def _counted(plan: DistinctPeople, people: PeopleRecords) -> Reading:
    scale = plan.counted.prepared.noise_scale(LimitedSum(0, 0))
    return Reading((WithinLimit((people.people(),), float(scale or 0)),))


def _under_declared_limit(session: Session, plan: TablePlan) -> WithinLimit:
    statistic, steps = cast("Statistic", plan.statistic), 2 * plan.schema.row_limit if plan.by else 1
    groups = session._source.groups_for_owner(plan).values()
    ladders = tuple(_ladder(statistic, records, steps) for records in groups)
    return WithinLimit(ladders=ladders, steps=steps, is_shared=isinstance(statistic, FilteredTotal))


def _ladder(statistic: Statistic[R], records: R, steps: int) -> Ladder:
    rungs = statistic.ladder(records).sensitivity_at_distance(0, steps + RUNGS)
    return statistic.value(records), tuple(int(rung) for rung in rungs)


def _of_people(plan: PeoplePlan, people: PeopleRecords) -> Reading:
    within = []
    for limit in (plan.draw.limits[place] for place in PLACES):
        if isinstance(plan, PeopleMean):
            within.append(WithinLimit(ladders=(_ladder(plan.statistic(0, limit), people.weighted(limit), 1),)))
            continue
        scale = plan.within(0, limit).prepared.noise_scale(LimitedSum(0, 0))
        if scale is None or plan.draws != 1:
            raise RuntimeError("toy tables have totals of one sign, with noise of one scale")
        parts = PARTS if isinstance(plan, CountOfPeople) else 1
        within.append(WithinLimit(tuple(people.totals_within(0, limit, parts)), float(scale)))
    limits = plan.draw.limits
    exceeding = people.rows_above(limits) if isinstance(plan, PeopleMean) else people.totals_above(limits)[0]
    return Reading(
        tuple(within), float(plan.draw.rate), tuple(exceeding), PLACES, people.people(), float(plan.size_epsilon)
    )
