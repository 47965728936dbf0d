"""From a query to the plan of its answer, with the interval that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.release import SAMPLE

if TYPE_CHECKING:
    from dither.queries.plan import Options, Plan
    from dither.queries.query import D, F, Query, R
    from dither.release import B, V


def planned(query: Query[V, B, D, F, R], facts: F, options: Options) -> Plan[R]:
    """The plan of an answer whose interval covers the statistic of the records, or that of their population."""
    return query.plan(facts, options) if options.interval == SAMPLE else query.plan_for_population(facts, options)
