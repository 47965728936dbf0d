"""The law of noise whose scale was released first: ``noisy_local`` (Karwa et al. 2011, Algorithm 1)."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dither.mechanisms.mechanism import Prepared
from dither.privacy import Loss
from dither_lab.audit.laws.facts import D, Facts
from dither_lab.audit.laws.outputs import MixtureLaw, Noisy, Outputs
from dither_lab.audit.laws.registry import DELTA, IndependentLaw, Pair, WorstPair, output_law
from dither_lab.audit.laws.tested import by_delta


@output_law("noisy_local")
class NoisyLocalLaw(IndependentLaw):
    """A raised proxy, a raised local sensitivity, and the answer with integer Laplace noise of that scale."""

    proof = "noisy_local"
    noises = ("laplace",)
    reusable = False

    def outputs(self, prepared: Any, facts: Facts[D], data: D) -> Outputs:
        grid, value, statistic = facts.statistic.answers, facts.value(data), facts.statistic
        parts: dict[int, float] = {}
        for proxy, chance in proxy_law(prepared, statistic.lipschitz_proxy(data)).items():
            change = statistic.local_sensitivity_change(proxy)
            for local, more in local_law(prepared, statistic.local(data), change).items():
                parts[local] = parts.get(local, 0.0) + chance * more
        mixture = [
            (chance, Noisy(value, local / float(prepared.answer_epsilon), grid.low, grid.high))
            for local, chance in parts.items()
        ]
        return Outputs((value,), (MixtureLaw(mixture),))

    def worst_pair(self, prepared: Any, facts: Facts[D], pairs: list[Pair[D]]) -> WorstPair[D]:
        return by_delta(prepared.loss, pairs, lambda x, y, e: noisy_local_delta(prepared, x, y, e, facts))

    def weakened(self, prepared: Any, factor: Fraction) -> Prepared:
        return replace(prepared, answer_epsilon=prepared.answer_epsilon / factor)  # type: ignore[no-any-return]

    def loss(self, noise: str, epsilon: float) -> Loss:  # noqa: ARG002
        return Loss(epsilon, DELTA)


def noisy_local_delta(prepared: Any, here: D, there: D, epsilon: float, facts: Facts[D] | None = None) -> float:
    """``sup_A P_x(A) - e^eps P_y(A)`` over everything released: the proxy, the local sensitivity and the answer."""
    statistic: Any = prepared.statistic
    value = statistic.value if facts is None else facts.value
    proxies = [proxy_law(prepared, statistic.lipschitz_proxy(data)) for data in (here, there)]
    values = [value(data) for data in (here, there)]
    total = 0.0
    for proxy, chance in proxies[0].items():
        change = statistic.local_sensitivity_change(proxy)
        locals_ = [local_law(prepared, statistic.local(data), change) for data in (here, there)]
        for local, more in locals_[0].items():
            joint = chance * more
            other = proxies[1].get(proxy, 0.0) * locals_[1].get(local, 0.0)
            scale = local / float(prepared.answer_epsilon)
            total += _excess(joint, other * math.exp(epsilon), values[0] - values[1], scale)
    return total


def raised_by(scale: Fraction, shortfall: Fraction) -> int:
    """The least t with ``P(K < -t) = e^{-(t+1)/scale} / (1 + e^{-1/scale}) <= shortfall``, by trying."""
    step, steps = 1.0 / float(scale), 0
    while math.exp(-(steps + 1) * step) / (1.0 + math.exp(-step)) > float(shortfall):
        steps += 1
    return steps


def proxy_law(prepared: Any, true: int) -> dict[int, float]:
    """The probabilities of all raised proxies."""
    most: int = prepared.statistic.most_lipschitz_proxy
    if prepared.proxy_epsilon is None:
        return {most: 1.0}
    raised = true + raised_by(1 / prepared.proxy_epsilon, prepared.shortfall)
    return clamped_law(raised, 1.0 / float(prepared.proxy_epsilon), 0, most)


def local_law(prepared: Any, true: int, change: int) -> dict[int, float]:
    """The probabilities of all raised local sensitivities."""
    most = max(prepared.statistic.global_sensitivity, 1)
    if not change:
        return {min(max(true, 1), most): 1.0}
    raised = true + raised_by(change / prepared.local_epsilon, prepared.shortfall)
    return clamped_law(raised, change / float(prepared.local_epsilon), 1, most)


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
