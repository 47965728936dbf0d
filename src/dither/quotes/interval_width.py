"""How wide error bars will be: their typical half-widths on imagined records, in grid steps.

A bar has to hold for all data and is drawn privately, so it is wider than the error that a quote expects.
"""

from __future__ import annotations

import math
from typing import Any

from dither.mechanisms.exponential import ExponentialDraw
from dither.mechanisms.interval_endpoints import Ends
from dither.mechanisms.joint_quantiles import SeveralDraws
from dither.mechanisms.ladder import LadderDraw
from dither.mechanisms.ladder_interval import SPREAD
from dither.mechanisms.mechanism import Prepared
from dither.mechanisms.smooth import SmoothNoise, bar_factor
from dither.mechanisms.worst_case import Scaled, ScaledVector, public_half_width
from dither.quotes.error_distribution import rooms
from dither.statistics.statistic import Statistic


def public_half_widths(prepared: Prepared) -> tuple[float, ...] | None:
    """Half-widths that are the same for all data; None where they are not, or where there is no bar."""
    if isinstance(prepared, Scaled) and prepared.confidence is not None:
        return (float(public_half_width(prepared.point.law, prepared.scale, prepared.confidence)),)
    if isinstance(prepared, ScaledVector) and prepared.confidence is not None:
        widths = {
            global_sensitivity: float(
                public_half_width(prepared.law, global_sensitivity * prepared.unit, prepared.confidence)
            )
            for global_sensitivity in set(prepared.statistic.global_sensitivities)
        }
        return tuple(widths[global_sensitivity] for global_sensitivity in prepared.statistic.global_sensitivities)
    return None


def typical_half_widths(prepared: Prepared, data: Any) -> tuple[float, ...] | None:
    """Half of the distance between the ends of each bar around the true value; None where no bar is worked out."""
    if isinstance(prepared, ExponentialDraw) and prepared.ends is not None:
        return (_between(prepared.ends, prepared.statistic, data),)
    if isinstance(prepared, SeveralDraws) and prepared.ends is not None:
        return tuple(_between(prepared.ends, one, data) for one in prepared.statistic.each())
    if isinstance(prepared, SmoothNoise) and prepared.bar_loss is not None and prepared.confidence is not None:
        # The noise on the logarithm of the scale has median 0.
        point, spread = prepared.point, prepared.point.beta / prepared.bar_loss.exact_epsilon
        bound = prepared.statistic.ladder(data, prepared.algorithm).smooth(point.beta)
        width = float(bound / point.alpha) * bar_factor(point.law, float(spread), float(1 - prepared.confidence))
        return (_cut(width, prepared.statistic, data),)
    if isinstance(prepared, LadderDraw) and prepared.bar is not None:
        bar = prepared.bar
        bound = bar.quantiles(prepared.statistic.ladder(data)).smooth(bar.beta)
        return (_cut(float(bound) * float(bar.miss) ** -float(SPREAD), prepared.statistic, data),)
    public = public_half_widths(prepared)
    if public is not None and isinstance(prepared, Scaled):
        return (_cut(public[0], prepared.statistic, data),)
    return public


def _cut(width: float, statistic: Statistic, data: Any) -> float:
    """A half-width around the true value, with both ends cut to the public range."""
    return sum(min(width, room) for room in rooms(statistic.answers, statistic.value(data))) / 2.0


def _between(ends: Ends, statistic: Any, data: Any) -> float:
    """The mean distance of the two ends that are drawn around the true value, halved."""
    value = statistic.reachable_values(data).values(0, 0)[0]
    rate = float(ends.epsilon / 2)
    away = 0.0
    for upper in (False, True):
        places, costs = ends.candidates(statistic, data, value, upper=upper)
        weights = [math.exp(-rate * cost) for cost in costs]
        drawn = math.fsum(weight * abs(place - value) for weight, place in zip(weights, places, strict=True))
        away += drawn / math.fsum(weights)
    return away / 2.0
