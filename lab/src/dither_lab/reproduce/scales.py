"""How much noise a mechanism adds, computed rather than sampled.  NOT private: scales fitted to the data."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np

from dither.mechanisms.mechanism import MechanismSpec
from dither.mechanisms.noisy_local import NoisyLocalNoise, raised_by
from dither.mechanisms.smooth import Smooth, SmoothNoise
from dither.noise.laplace import Laplace
from dither.noise.law import Law
from dither.privacy import Loss
from dither.sensitivity.ladder import Ladder
from dither.statistics.statistic import Statistic
from dither_lab.reproduce.intervals import Estimate, mean

DEEP = 120.0
"""Rungs that weigh less than e^-120 are left out of sums."""


def unit(prepared: Any) -> float:
    """One grid step in the data's own units."""
    return float(prepared.statistic.answers.step)


def scale(prepared: SmoothNoise, data: Any) -> float:
    """The scale of fitted noise on these data."""
    bound = prepared.statistic.ladder(data, prepared.algorithm).smooth(prepared.point.beta)
    return float(bound / prepared.point.alpha) * unit(prepared)


def typical(prepared: SmoothNoise, data: Any) -> float:
    """The median of |error|."""
    return scale(prepared, data) * prepared.point.law.quantile(0.5)


def smooth_noise(
    statistic: Statistic, loss: Loss, law: Law | None = None, *, paper: bool = False, algorithm: Any = "exact"
) -> SmoothNoise:
    """Smooth sensitivity, with our constants or NRS11's."""
    noise = Smooth(constants="paper" if paper else "exact", algorithm=algorithm).prepare(
        MechanismSpec(statistic, loss, law)
    )
    assert isinstance(noise, SmoothNoise)  # noqa: S101
    return noise


def laplace_scale(statistic: Statistic, loss: Loss, data: Any) -> float:
    """The scale of NRS11's Laplace noise (Lemma 2.9)."""
    return scale(smooth_noise(statistic, loss, Laplace(), paper=True), data)


def ladder_error(widths: np.ndarray, cap: float, rate: float, *, whole: bool = True) -> float:
    """The mean |error| of the ladder mechanism, exactly: rung widths U_0, U_1, ... and the cap behind them.

    ``whole``: answers are whole numbers; else the continuous form.
    """
    rungs = max(math.ceil(DEEP / rate), len(widths))
    sizes = np.full(rungs, float(cap))
    sizes[: len(widths)] = np.asarray(widths, dtype=float)
    before = np.concatenate([[0.0], np.cumsum(sizes)[:-1]])
    weights = 2 * sizes * np.exp(-rate * np.arange(1, rungs + 1))
    away = before + (sizes + (1 if whole else 0)) / 2
    return float((weights * away).sum() / (1 + weights.sum()))


def ladder_noise(ladder: Ladder, epsilon: float) -> float:
    """The same for a ladder of ours, in grid steps."""
    rate = epsilon / 2
    rungs = math.ceil(DEEP / rate) if ladder.top is None else min(ladder.top, math.ceil(DEEP / rate))
    return ladder_error(ladder.sensitivity_at_distance(0, rungs).astype(float), ladder.global_sensitivity, rate)


def noisy_local_noise(prepared: NoisyLocalNoise, data: Any, rng: np.random.Generator, draws: int = 2000) -> Estimate:
    """The mean scale of noisy local sensitivity's last noise, over its two draws before."""
    statistic: Any = prepared.statistic
    results = np.empty(draws)
    for index in range(draws):
        lipschitz_proxy = statistic.most_lipschitz_proxy
        if prepared.proxy_epsilon is not None:
            lipschitz_proxy = _raised(
                statistic.lipschitz_proxy(data), 1 / prepared.proxy_epsilon, prepared.shortfall, rng
            )
            lipschitz_proxy = min(max(lipschitz_proxy, 0), statistic.most_lipschitz_proxy)
        local_sensitivity_change = statistic.local_sensitivity_change(lipschitz_proxy)
        local = statistic.local(data)
        if local_sensitivity_change:
            local = _raised(local, local_sensitivity_change / prepared.local_epsilon, prepared.shortfall, rng)
        results[index] = min(max(local, 1), max(statistic.global_sensitivity, 1))
    return mean(results).times(unit(prepared) / float(prepared.answer_epsilon))


_lift = functools.lru_cache(4096)(raised_by)


def _raised(true: int, size: Fraction, shortfall: Fraction, rng: np.random.Generator) -> int:
    return true + round(rng.laplace(0.0, float(size))) + _lift(size, shortfall)
