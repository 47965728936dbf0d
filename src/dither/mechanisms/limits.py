"""How small an epsilon may be where time and memory grow as 1/epsilon: refused from public facts, before any charge.

A draw from a ladder, or by inverse sensitivity of a sum or a spread, looks at some 50/epsilon rungs or ranks, or at
all of them where there are fewer records than that.  Each takes about 330 bytes and two microseconds, hence the limit,
which is for the largest table that may be behind a question: their number may be private (docs/decisions.md has the
measurements).  Draws of quantiles and extremes count records below some points instead (``counted_draw``), and added
noise has closed forms: for both there is no limit but that of ``Loss.asked``.
"""

from __future__ import annotations

import math

from dither.errors import EpsilonTooSmall
from dither.mechanisms.mechanism import Prepared
from dither.sensitivity.global_sensitivity import Data

MOST_STEPS = 1 << 21
"""0.7 GB and five seconds; a sixteenth of it, some twenty seconds, where rung k takes a time proportional to k."""


def check_cost(prepared: Prepared[Data], epsilon: float) -> None:
    """Refuse a mechanism that would look at too many rungs; ``epsilon`` is what it was given."""
    limit = MOST_STEPS // prepared.step_weight
    there_are, steps = prepared.statistic.changes_to_worst_case, prepared.draw_length
    if steps > limit and (there_are is None or there_are >= limit):
        raise EpsilonTooSmall(epsilon, rounded_up(epsilon * steps / limit), steps)


def rounded_up(number: float) -> float:
    """A positive number of two digits that is not below this one: what errors name is accepted."""
    exponent = math.floor(math.log10(number)) - 1
    return float(f"{math.ceil(number / 10.0**exponent)}e{exponent}")
