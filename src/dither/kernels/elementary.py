"""Logarithm and exponential of arrays with proved error bounds, from IEEE + - * / alone.

A platform's ``log`` and ``exp`` come with no promise; these do.  With u = 2**-53 the bounds below follow from
the standard model ``fl(a op b) = (a op b)(1 + e), |e| <= u`` (docs/proofs/elementary.md); numpy evaluates one
operation at a time, and a fused multiply-add would only lower the error.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64] | NDArray[np.object_]
"""int64, or Python integers where they do not fit into 62 bits."""

LOG_ERROR = 2.0**-45
"""Absolute error of ``log`` for arguments in [2**-64, 2**64]."""
EXP_ERROR = 2.0**-47
"""Relative error of ``exp`` for arguments in [-512, 512]."""

_LN2 = 0.6931471805599453  # the double nearest to ln 2
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # 33 bits, so that whole multiples below 2**20 are exact
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")  # ln 2 - _LN2_HIGH, to a double
_SQRT_HALF = 0.7071067811865476
_ODD = tuple(1.0 / (2 * k + 1) for k in range(10, 0, -1))
_FACTORIALS = (
    6227020800.0,
    479001600.0,
    39916800.0,
    3628800.0,
    362880.0,
    40320.0,
    5040.0,
    720.0,
    120.0,
    24.0,
    6.0,
    2.0,
)


def log(x: Floats) -> Floats:
    """Natural logarithm of normal positive floats."""
    mantissa, exponent = np.frexp(x)
    small = mantissa < _SQRT_HALF
    mantissa = np.where(small, 2.0 * mantissa, mantissa)
    exponent = exponent - small
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square = ratio * ratio
    series = np.full_like(ratio, _ODD[0])
    for coefficient in _ODD[1:]:
        series *= square
        series += coefficient
    series *= square
    series += 1.0
    series *= 2.0 * ratio
    series += exponent * _LN2
    return series


def exp(t: Floats) -> Floats:
    """Exponential."""
    whole = np.rint(t * (1.0 / _LN2))
    rest = (t - whole * _LN2_HIGH) - whole * _LN2_LOW
    series = np.full_like(rest, 1.0 / _FACTORIALS[0])
    for factorial in _FACTORIALS[1:]:
        series *= rest
        series += 1.0 / factorial
    series *= rest
    series += 1.0
    series *= rest
    series += 1.0
    return np.ldexp(series, whole.astype(np.int64))
