"""How far apart two outputs of added noise can be: exact log-ratios and hockey-stick divergences.

Computed from densities and tails alone, independently of the closed forms and proofs that calibrate the
noise, so that an error there shows here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dither.kernels.elementary import Floats
from dither.noise.law import AdmissiblePoint, Law

_REACH = np.concatenate([[0.0], np.logspace(-9.0, 14.0, 1200)])


@dataclass(frozen=True)
class Divergence:
    """The worst pair found: its largest log-ratio, and its delta at the epsilon asked about."""

    epsilon: float
    delta: float
    at: str


def log_ratio(law: Law, z: Floats, shift: float, dilation: float) -> Floats:
    """ln of the density of Z over that of ``shift + e^dilation Z``, at z."""
    there = np.abs(z - shift) * math.exp(-dilation)
    return law.log_density(np.abs(z)) - law.log_density(there) + dilation


def hockey_stick(law: Law, shift: float, dilation: float, epsilon: float) -> Divergence:
    """The divergence of Z from ``shift + e^dilation Z``: where the log-ratio exceeds epsilon, and by how much."""
    # Where a light tail has vanished, differences of logarithms are nothing but rounding.
    reach = _REACH[law.tail(_REACH) > 1e-280]
    z = np.unique(np.concatenate([-reach[::-1], reach, shift - reach[::-1], shift + reach]))
    ratio = log_ratio(law, z, shift, dilation)
    above = ratio > epsilon
    delta = 0.0
    edges = np.flatnonzero(np.diff(above.astype(np.int8)))
    cuts = [-math.inf, *(_crossing(law, z[i], z[i + 1], shift, dilation, epsilon) for i in edges), math.inf]
    inside = bool(above[0])
    for low, high in pairwise(cuts):
        if inside:
            scale = math.exp(-dilation)
            there = _mass(law, (low - shift) * scale, (high - shift) * scale)
            delta += _mass(law, low, high) - math.exp(epsilon) * there
        inside = not inside
    return Divergence(float(ratio.max()), max(delta, 0.0), f"shift {shift:.4g}, dilation {dilation:.4g}")


def over_box(point: AdmissiblePoint, *, noise_factor: float = 1.0, fineness: int = 21) -> Divergence:
    """The worst divergence over the whole neighbour box of a point, in one dimension.

    ``noise_factor`` 0.8 asks what would happen with noise 20% smaller than calibrated.
    """
    alpha, beta = float(point.alpha) / noise_factor, float(point.beta)
    results = [
        hockey_stick(point.law, shift, dilation, point.loss.epsilon) for dilation, shift in _box(alpha, beta, fineness)
    ]
    return max(
        results,
        key=lambda result: (result.delta, result.epsilon) if point.loss.delta else (result.epsilon, result.delta),
    )


def _box(alpha: float, beta: float, fineness: int) -> Iterator[tuple[float, float]]:
    dilations = np.linspace(-beta, beta, fineness) if beta else np.zeros(1)
    for dilation in dilations:
        widest = alpha * min(1.0, math.exp(dilation))
        for part in (0.0, 0.25, 0.5, 0.75, 0.9, 1.0):
            yield float(dilation), part * widest


def _mass(law: Law, low: float, high: float) -> float:
    """P(low < Z < high), without cancellation in the tails."""
    if low < 0.0 < high:
        return 1.0 - _beyond(law, -low) - _beyond(law, high)
    if high <= 0.0:
        low, high = -high, -low
    return _beyond(law, low) - _beyond(law, high)


def _beyond(law: Law, distance: float) -> float:
    """P(Z > distance) for a non-negative distance."""
    return 0.0 if math.isinf(distance) else 0.5 * float(law.tail(np.asarray(max(distance, 0.0))))


def _crossing(law: Law, low: float, high: float, shift: float, dilation: float, epsilon: float) -> float:
    """The place between two points where the log-ratio passes epsilon."""
    starts_above = float(log_ratio(law, np.asarray(low), shift, dilation)) > epsilon
    for _ in range(80):
        middle = 0.5 * (low + high)
        if (float(log_ratio(law, np.asarray(middle), shift, dilation)) > epsilon) == starts_above:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
