"""How far weighted sums of independent noise reach: for confidence intervals of functions of several noisy numbers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dither.noise.law import Law

Floats = NDArray[np.float64]

_TERMS = np.arange(1, 4097, dtype=np.float64)
_BEYOND = 1e-12
"""What the wrapped law may count twice."""
_HALVINGS = 48


def sum_quantile(law: Law, scales: Floats, miss: float) -> float:
    """What ``|sum_k scale_k Z_k|`` exceeds with probability at most ``miss``; Laplace or Gaussian Z_k, independent.

    It rises with every scale and grows in proportion to all of them (docs/proofs/least_squares.md, section 2).
    """
    largest = float(np.max(scales, initial=0.0))
    if not largest > 0.0:
        return 0.0
    parts = scales / largest
    if law.name == "gaussian":
        return law.quantile(miss) * largest * float(np.linalg.norm(parts)) * (1.0 + 1e-9)
    low, high = 0.0, _farthest(parts)
    tail = _LaplaceTail(parts)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if tail(middle) <= miss else (middle, high)
    return high * largest * (1.0 + 1e-9)


def _farthest(parts: Floats) -> float:
    """What a sum of Laplace variables, the largest of scale 1, exceeds with probability below ``_BEYOND``."""
    return 2.0 * (math.log(2.0 / _BEYOND) + float(np.sum(parts * parts)) / 3.0)


class _LaplaceTail:
    """An upper bound of ``P(|sum_k parts_k L_k| > x)``, the largest part 1, from its characteristic function.

    The Fourier series of the law wrapped around a circle that hardly anything wraps around; what is left of the series
    is added.
    """

    def __init__(self, parts: Floats) -> None:
        self._step = math.pi / _farthest(parts)
        places = _TERMS * self._step
        damped = np.exp(-np.log1p(np.square(np.outer(parts, places))).sum(axis=0))
        self._weights = damped / _TERMS
        # Beyond the last term the product falls by more than 0.99 / k^2, because the largest part is 1.
        self._slack = float(damped[-1]) / math.pi / 0.99 + _BEYOND

    def __call__(self, x: float) -> float:
        inside = self._step * x / math.pi + 2.0 / math.pi * float(np.sin(_TERMS * self._step * x) @ self._weights)
        return 1.0 - inside + self._slack
