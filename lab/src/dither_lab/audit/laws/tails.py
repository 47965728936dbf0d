"""Tails of the noise laws, from their densities as the papers print them; not the code that the mechanisms draw by."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Tail = Callable[[Floats], Floats]
"""P(|Z| > distance), entry by entry."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
_TAILS: dict[str, Callable[[dict[str, float]], Tail]] = {}


def noise_tail(name: str) -> Callable[[Callable[[dict[str, float]], Tail]], Callable[[dict[str, float]], Tail]]:
    """Register the tail of a noise law under its public name: from its shape parameters."""

    def register(make: Callable[[dict[str, float]], Tail]) -> Callable[[dict[str, float]], Tail]:
        _TAILS[name] = make
        return make

    return register


def tail_of(law: Any) -> Tail:
    """The laboratory's tail of a noise law, by its public name and shape."""
    return _TAILS[law.name](dict(law.shape))


def registered_tails() -> frozenset[str]:
    """The noise laws that have one."""
    return frozenset(_TAILS)


@noise_tail("laplace")
def laplace(shape: dict[str, float]) -> Tail:  # noqa: ARG001
    """Density ``e^{-|z|} / 2``."""
    return lambda distance: np.asarray(np.exp(-distance))


@noise_tail("gaussian")
def gaussian(shape: dict[str, float]) -> Tail:  # noqa: ARG001
    """Density ``e^{-z^2/2} / sqrt(2 pi)``."""
    return lambda distance: np.asarray(special.erfc(distance / math.sqrt(2.0)))


@noise_tail("power_law")
def power_law(shape: dict[str, float]) -> Tail:
    """Density ``(p - 1) / 2 (1 + |z|)^{-p}``."""
    return lambda distance: np.asarray(np.exp((1.0 - shape["p"]) * np.log1p(distance)))


@noise_tail("blunt_power_law")
def blunt_power_law(shape: dict[str, float]) -> Tail:
    """Density proportional to ``(1 - |z|)^(p-2)`` up to ``1/(p-1)``, continued by a power, integrated numerically."""
    p = shape["p"]
    joint = 1.0 / (p - 1.0)
    height = (1.0 - joint) ** (p - 2.0) * (1.0 + joint) ** p
    far = height * (1.0 + joint) ** (1.0 - p) / (p - 1.0)
    near = float(_integral(lambda t: (1.0 - t) ** (p - 2.0), np.array(joint)))

    def tail(distance: Floats) -> Floats:
        z = np.asarray(distance, dtype=np.float64)
        inside = near - _integral(lambda t: (1.0 - t) ** (p - 2.0), np.minimum(z, joint))
        outside = height * (1.0 + np.maximum(z, joint)) ** (1.0 - p) / (p - 1.0)
        return np.asarray(np.where(z <= joint, inside + far, outside) / (near + far))

    return tail


@noise_tail("student")
def student(shape: dict[str, float]) -> Tail:
    """Student's t."""
    return lambda distance: np.asarray(2.0 * special.stdtr(shape["dof"], -distance))


@noise_tail("cauchy")
def cauchy(shape: dict[str, float]) -> Tail:
    """Density proportional to ``1 / (1 + |z|^gamma)`` (NRS11 Lemma 2.7), integrated numerically.

    Beyond 1 the substitution ``v = z^{1 - gamma}`` makes it ``dv / ((gamma - 1) (1 + v^{gamma / (gamma - 1)}))``.
    """
    gamma = shape["gamma"]
    half = math.pi / gamma / math.sin(math.pi / gamma)

    def tail(distance: Floats) -> Floats:
        z = np.asarray(distance, dtype=np.float64)
        inside = np.minimum(z, 1.0)
        near = half - _integral(lambda t: 1.0 / (1.0 + t**gamma), inside)
        outside = np.maximum(z, 1.0) ** (1.0 - gamma)
        far = _integral(lambda v: 1.0 / ((gamma - 1.0) * (1.0 + v ** (gamma / (gamma - 1.0)))), outside)
        return np.asarray(np.where(z <= 1.0, near, far) / half)

    return tail


def _integral(integrand: Callable[[Floats], Floats], end: Floats) -> Floats:
    """From 0 to each of some ends, by Gauss and Legendre."""
    half = np.asarray(end, dtype=np.float64)[..., None] / 2.0
    return np.asarray((integrand(half * (_NODES + 1.0)) * _WEIGHTS * half).sum(axis=-1))
