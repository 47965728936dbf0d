"""The exact local sensitivity on given data, where a statistic knows it: what no private answer can hide."""

from __future__ import annotations

from dither.privacy import Neighbours
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.local import HasLocalSensitivity
from dither.sensitivity.reachable import HasReachableValues
from dither.statistics.statistic import Statistic

_KNOWN = (Neighbours.CHANGE_ONE, Neighbours.EDGE, Neighbours.LISTED)
"""Chains of other relations reach further than one change does where the number of records is private."""


def exact_local_sensitivity(statistic: Statistic[Data], data: Data) -> int | None:
    """The most that one change moves the value from these data, in steps; None if only a bound is known.  Private.

    Reachable values say what one change makes of it; counts in graphs say it themselves.  What the author of a function
    claims is a bound.
    """
    if statistic.neighbours not in _KNOWN:
        return None
    if isinstance(statistic, HasReachableValues):
        reachable, value = statistic.reachable_values(data), statistic.value(data)
        low, high = statistic.answers.ends
        up = high if reachable.top <= 1 else int(reachable.values(1, 1)[0])
        down = low if reachable.bottom >= -1 else int(reachable.values(-1, -1)[0])
        return max(up - value, value - down)
    if isinstance(statistic, HasLocalSensitivity):
        return statistic.local(data) if statistic.local_is_exact else None
    return None
