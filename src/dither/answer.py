"""The whole program: a query meets public facts and becomes a plan, the plan meets private records, a release leaves.

Sessions put a charge between plan and run; arrays and graphs in memory have no account.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.queries.plan import Options, Plan, Result
from dither.queries.planning import planned
from dither.queries.query import D, Query
from dither.queries.registry import no_query
from dither.release import B, Release, V

if TYPE_CHECKING:
    from dither.typing import GroupKey


def answer(query: Query[V, B, D], data: D, options: Options) -> Release[V, B]:
    """The answer to a query about data in memory."""
    if not isinstance(query, Query):
        raise no_query(query)
    query = query.settled(options.mechanism)
    facts = query.shape(data)
    plan = planned(query, facts, options)
    if options.simultaneous is not None:
        plan = planned(query, facts, options.for_all(plan))
    with plan.opened() as run:
        return released(plan, run(query.read(data, facts)), simultaneous=options.together)


def released(
    plan: Plan, result: Result, group: dict[str, GroupKey] | None = None, simultaneous: float | None = None
) -> Release:
    """The release of what a plan let out: the only place where one is made."""
    return Release(
        value=result.value,
        interval=result.interval,
        confidence=plan.confidence,
        loss=plan.loss,
        neighbours=plan.neighbours,
        query=plan.label,
        mechanism=plan.mechanism,
        noise=plan.noise,
        missing=plan.missing,
        clamped=plan.clamped if result.clamped_to is None else result.clamped_to.ends,
        labels=plan.labels if result.labels is None else result.labels,
        reason=result.reason,
        group=group,
        claim=plan.claim,
        derived_from=plan.derived_from,
        clamped_to=result.clamped_to,
        person_limit=result.person_limit or plan.person_limit,
        unit=plan.unit,
        range=plan.answer_range if result.clamped_to is None else None,
        interval_of=plan.interval_of,
        simultaneous=None if result.interval is None else simultaneous or plan.simultaneous,
    )
