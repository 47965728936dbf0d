"""When a release is answered: a public plan, fixed before any data are read.

Blocks run in rounds, one block a core; a round lasts one slot whatever its blocks do, and the whole release is
answered at the planned moment, not earlier and not later.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dither.errors import InvalidArgument

SHORTEST_SLOT = 0.02

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

    ``lead`` is the time set aside for drawing the blocks.  The margin takes up delays of the machine, not of
    blocks; one that has not run when it is used up counts as the default.

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
        raise InvalidArgument(argument, given, f"seconds between {least} and 86400")
    return float(given)
