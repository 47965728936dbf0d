"""When a release is answered: a public plan, fixed before any data are read.

Blocks run in rounds, one block a core; a round lasts one slot whatever its blocks do, and the whole release is
answered at the planned moment, not earlier and not later.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass

from dither.errors import InvalidArgument

SHORTEST_SLOT = 0.02
"""What an open ``Sandbox`` takes: for programs that the owner has read, and for measuring."""

LEAST_SLOT = 0.2
"""What programs of others get at least.  Starting a block was measured to take up to 10 ms of processor time; ending
one that wrote all it could takes a fifth of its time or less, 30 ms; on a busy machine both take several times as long.
In a shorter slot a block may be late for reasons that lie in other blocks, and its end may be felt by the next one."""

LEAD = 2.0
"""Seconds for reading and drawing blocks, unless given: twice what a million rows take."""

SETTLING = 0.25
"""Seconds for aggregating what the blocks answered."""

RUNNING_SHARE = 0.75
"""Part of a slot in which a program may run.  The rest is for the kernel to take its memory back: that takes time in
proportion to what was written, and writing a page for the first time was measured to cost five times what freeing it
does, or more."""

LEAST_RESERVE = 0.012
"""Ending a process that was forked from one with large libraries takes 5 to 11 ms even if it wrote nothing."""

_MARGIN_SHARE = 0.1
_LEAST_MARGIN = 0.25


@dataclass(frozen=True, slots=True)
class Schedule:
    """The plan of one release: every number is public.

    ``lead`` is the time set aside for reading and drawing the blocks.  The margin takes up delays of the machine, not
    of blocks; one that has not run when it is used up counts as the default.

    >>> plan = Schedule(blocks=200, cores=2, slot=0.1)
    >>> plan.rounds, round(plan.seconds, 3)
    (100, 11.0)
    """

    blocks: int
    cores: int
    slot: float
    lead: float = 0.0

    @property
    def rounds(self) -> int:
        return math.ceil(self.blocks / self.cores)

    @property
    def limit(self) -> float:
        """Seconds a program may run on one block, starting included."""
        return min(self.slot * RUNNING_SHARE, self.slot - LEAST_RESERVE)

    @property
    def seconds(self) -> float:
        """From asking to answering."""
        running = self.rounds * self.slot
        return self.lead + running + max(_LEAST_MARGIN, _MARGIN_SHARE * running)


def checked_seconds(argument: str, given: float, least: float) -> float:
    """A public number of seconds."""
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not least <= given <= 86_400:
        raise InvalidArgument(argument, given, f"must be from {least} to 86400 seconds")
    return float(given)


def public_moment(begin: float, step: float) -> float:
    """The first of ``begin + step``, ``begin + 2 step``, ``begin + 4 step``, ... that is not over.

    Work that takes time in proportion to private numbers ends at one of these, however long it takes.

    >>> public_moment(0.0, 1.0) >= time.monotonic()
    True
    """
    now = time.monotonic()
    while begin + step < now:
        step *= 2
    return begin + step


def moment_after_drawing(begun: float | None, lead: float) -> float:
    """When the first block may run: as planned, or with the lead doubled until it suffices, which is logged.

    From now on where the beginning of the release was not recorded, or no lead was planned.
    """
    if begun is None or lead == 0:
        return time.monotonic() + lead
    moment = public_moment(begun, lead)
    if moment > begun + lead:
        warnings.warn(
            f"reading and drawing the blocks took longer than lead={lead} seconds, so the answer comes "
            f"{moment - begun - lead:.0f} seconds later than planned, which shows how long it took up to a factor of "
            "two; plan with a longer lead",
            RuntimeWarning,
            stacklevel=2,
        )
    return moment


def wait_until_planned(moment: float, step: float) -> None:
    """Sleep until then; if it is over, until a whole step after it, or that doubled until it suffices.

    How late something is may depend on the data: it is logged up to a factor of two.
    """
    wait_until(moment if time.monotonic() <= moment else public_moment(moment, step))


def wait_until(moment: float) -> None:
    """Sleep until then; not at all if it is over."""
    left = moment - time.monotonic()
    if left > 0:
        time.sleep(left)
