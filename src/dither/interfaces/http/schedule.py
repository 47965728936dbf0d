"""When answers leave: at the ends of public slots, whatever the data made of the work before."""

from __future__ import annotations

DEFAULT_SECONDS = 1.0
LEAST_SECONDS, MOST_SECONDS = 0.01, 86_400.0
LONGEST_WAIT = 60.0
"""A client waits at most this long; then it gets the address of a job."""


def slot_end(seconds: float, elapsed: float) -> float:
    """The end of the slot that an answer of this age leaves with: ``seconds``, or that doubled as often as needed.

    >>> slot_end(1.0, 0.2), slot_end(1.0, 1.0), slot_end(1.0, 3.5)
    (1.0, 1.0, 4.0)
    """
    end = seconds
    while end < elapsed:
        end *= 2.0
    return end
