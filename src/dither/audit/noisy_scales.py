"""The exact privacy of noise whose scale was released first: noisy local sensitivities on small universes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dither.mechanisms.noisy_local import NoisyLocalNoise, raised_by


def noisy_local_delta(prepared: NoisyLocalNoise, here: Any, there: Any, epsilon: float) -> float:
    """``sup_A P_x(A) - e^eps P_y(A)`` over everything released: the gauge, the local sensitivity and the answer."""
    steady: Any = prepared.statistic
    gauges = [gauge_law(prepared, steady.lipschitz_proxy(data)) for data in (here, there)]
    values = [prepared.statistic.value(data) for data in (here, there)]
    total = 0.0
    for lipschitz_proxy, chance in gauges[0].items():
        local_sensitivity_change = steady.local_sensitivity_change(lipschitz_proxy)
        locals_ = [local_law(prepared, steady.local(data), local_sensitivity_change) for data in (here, there)]
        for local, more in locals_[0].items():
            joint = chance * more
            other = gauges[1].get(lipschitz_proxy, 0.0) * locals_[1].get(local, 0.0)
            scale = local / float(prepared.answer_epsilon)
            total += _excess(joint, other * math.exp(epsilon), values[0] - values[1], scale)
    return total


def gauge_law(prepared: NoisyLocalNoise, true: int) -> dict[int, float]:
    """The probabilities of all raised gauges."""
    most: int = prepared.statistic.most_lipschitz_proxy  # type: ignore[attr-defined]
    if prepared.gauge_epsilon is None:
        return {most: 1.0}
    raised = true + raised_by(1 / prepared.gauge_epsilon, prepared.shortfall)
    return clamped_law(raised, 1.0 / float(prepared.gauge_epsilon), 0, most)


def local_law(prepared: NoisyLocalNoise, true: int, local_sensitivity_change: int) -> dict[int, float]:
    """The probabilities of all raised local sensitivities."""
    global_sensitivity = max(prepared.statistic.global_sensitivity, 1)
    if not local_sensitivity_change:
        return {min(max(true, 1), global_sensitivity): 1.0}
    raised = true + raised_by(local_sensitivity_change / prepared.local_epsilon, prepared.shortfall)
    return clamped_law(raised, local_sensitivity_change / float(prepared.local_epsilon), 1, global_sensitivity)


def clamped_law(centre: int, scale: float, low: int, high: int) -> dict[int, float]:
    """Integer Laplace noise around a centre, moved to the ends of a range."""
    ratio = math.exp(-1.0 / scale)

    def at_most(z: int) -> float:
        if z < centre:
            return ratio ** (centre - z) / (1 + ratio)
        return 1.0 - ratio ** (z - centre + 1) / (1 + ratio)

    law = {z: at_most(z) - at_most(z - 1) for z in range(low + 1, high)}
    if low == high:
        return {low: 1.0}
    return {low: at_most(low), **law, high: 1.0 - at_most(high - 1)}


def _excess(weight: float, other: float, shift: int, scale: float) -> float:
    """``sum_z (weight P(K = z) - other P(K = z + shift))^+`` for integer Laplace noise K."""
    reach = math.ceil(45 * scale) + abs(shift)
    z = np.arange(-reach, reach + 1)
    norm = -math.expm1(-1.0 / scale) / (1.0 + math.exp(-1.0 / scale))
    here = weight * norm * np.exp(-np.abs(z) / scale)
    there = other * norm * np.exp(-np.abs(z + shift) / scale)
    return float(np.maximum(here - there, 0.0).sum())
