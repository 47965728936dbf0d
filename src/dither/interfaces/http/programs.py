"""Programs on a server: how many a question may have, and how long they take by their public schedule."""

from __future__ import annotations

import os
from typing import Any

from dither.errors import InvalidArgument
from dither.sandbox.schedule import Schedule
from dither.session.plan import TablePlan

MOST_PROGRAMS_ASKED = 2
LONGEST_RUN = 86_400.0
STARTING = 5.0
"""Seconds that are set aside for starting sandboxes and drawing blocks."""


def programs_of(plans: list[Any]) -> list[TablePlan]:
    """The programs of a question; their sandboxes are all open at once, so there are few of them."""
    found = [one for one in plans if one.is_scheduled]
    if len(found) > MOST_PROGRAMS_ASKED:
        raise InvalidArgument("query", f"{len(found)} programs", f"must have at most {MOST_PROGRAMS_ASKED} programs")
    return found


def seconds_of(plan: TablePlan) -> float:
    """How long a program takes on this machine, starting included: public, and the same whatever the data are."""
    cores = len(os.sched_getaffinity(0))
    program: Any = plan.inner
    running = Schedule(blocks=program.blocks, cores=cores, slot=program.query.settings["slot"]).seconds
    if running > LONGEST_RUN:
        raise InvalidArgument(
            "query.blocks",
            program.blocks,
            f"must end within {LONGEST_RUN:g} seconds; these blocks and this slot take {running:.0f}",
        )
    return running + STARTING
