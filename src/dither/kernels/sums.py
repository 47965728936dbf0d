"""Sums of integers that do not overflow: exact, whatever the order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_LIMB = 18
_MASK = (1 << _LIMB) - 1
# A product of two limbs has at most 36 bits, so 2**26 of them fit into 62.
_BLOCK = 1 << 26


def exact_sum(values: NDArray[np.int64]) -> int:
    """The sum as a Python integer."""
    high, low = values >> 32, values & 0xFFFFFFFF
    # Either half has at most 32 bits, so sums of up to 2**31 of them fit.
    return (int(high.sum()) << 32) + int(low.sum())


def exact_dot(left: NDArray[np.int64], right: NDArray[np.int64]) -> int:
    """The inner product of two arrays of non-negative integers below 2**54, as a Python integer."""
    total = 0
    for start in range(0, len(left), _BLOCK):
        a, b = (_limbs(part[start : start + _BLOCK]) for part in (left, right))
        for i, one in enumerate(a):
            for j, two in enumerate(b):
                total += int((one * two).sum()) << (_LIMB * (i + j))
    return total


def _limbs(values: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [values & _MASK, (values >> _LIMB) & _MASK, values >> (2 * _LIMB)]
