"""When answers leave: at the ends of public slots, whatever the data made of the work before.

Programs have a public schedule of their own, which the slot of a question contains.
"""

from __future__ import annotations

import os
from typing import Any

from dither.errors import InvalidArgument
from dither.sandbox.schedule import Schedule
from dither.session.plan import SessionPlan

DEFAULT_SECONDS = 1.0
LEAST_SECONDS, MOST_SECONDS = 0.01, 86_400.0
LONGEST_WAIT = 60.0
"""A client waits at most this long; then it gets the address of a job."""
MOST_PROGRAMS_ASKED = 2
LONGEST_RUN = 86_400.0
STARTING = 5.0
"""Seconds that are set aside for starting sandboxes and drawing blocks."""


def slot_end(seconds: float, elapsed: float) -> float:
    """The end of the slot that an answer of this age leaves with: ``seconds``, or that doubled as often as needed.

    >>> slot_end(1.0, 0.2), slot_end(1.0, 1.0), slot_end(1.0, 3.5)
    (1.0, 1.0, 4.0)
    """
    end = seconds
    while end < elapsed:
        end *= 2.0
    return end


def programs_of(plans: list[SessionPlan]) -> list[SessionPlan]:
    """The programs of a question; their sandboxes are all open at once, so there are few of them."""
    matches = [plan for plan in plans if plan.is_scheduled]
    if len(matches) > MOST_PROGRAMS_ASKED:
        raise InvalidArgument("query", f"{len(matches)} programs", f"must have at most {MOST_PROGRAMS_ASKED} programs")
    return matches


def program_of(plan: SessionPlan) -> Any:  # a ``ProgramPlan``: nothing else is scheduled
    """The plan of a program that a session has wrapped."""
    return plan.inner


def seconds_of(plan: SessionPlan) -> float:
    """How long a program takes on this machine, starting included: public, and the same whatever the data are."""
    cores = len(os.sched_getaffinity(0))
    program = program_of(plan)
    running = Schedule(blocks=program.runs, cores=cores, slot=program.query.settings["slot"]).seconds
    if running > LONGEST_RUN:
        raise InvalidArgument(
            "query.blocks",
            program.blocks,
            f"must end within {LONGEST_RUN:g} seconds; these blocks and this slot take {running:.0f}",
        )
    return running + STARTING
