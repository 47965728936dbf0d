"""Sums of integers that do not overflow: exact, whatever the order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_PIECE = 1 << 15
"""So many entries are summed at a time: they stay in the processor's cache."""
_LIMB = 18
_MASK = (1 << _LIMB) - 1
_WORD = 1 << 64
_MOST = 2.0**97
"""Below it the floating inner product of a piece is less than a quarter of a word away from the exact one."""


def exact_sum(values: NDArray[np.int64]) -> int:
    """The sum as a Python integer."""
    total = 0
    for start in range(0, len(values), _PIECE):
        piece = values[start : start + _PIECE]
        # Either half has at most 32 bits, so sums of up to 2**31 of them fit.
        total += (int((piece >> 32).sum()) << 32) + int((piece & 0xFFFFFFFF).sum())
    return total


def exact_sum_below(values: NDArray[np.int64], limit: np.int64) -> int:
    """The sum of the entries below a limit."""
    pieces = (values[start : start + _PIECE] for start in range(0, len(values), _PIECE))
    return sum(exact_sum(piece[piece < limit]) for piece in pieces)


def exact_dot(left: NDArray[np.int64], right: NDArray[np.int64]) -> int:
    """The inner product of two arrays of non-negative integers below 2**54, as a Python integer.

    Unsigned words give it modulo 2**64, floats give it up to an error: with n entries and u = 2**-53, every entry and
    product is rounded once and every partial sum at most n times, so the error is at most ``(n + 4) u`` parts of a sum
    that is itself below ``_MOST (1 + 2**-37)``: less than 2**60.  Only one number is both.  Larger sums are added limb
    by limb.
    """
    total = 0
    for start in range(0, len(left), _PIECE):
        a, b = left[start : start + _PIECE], right[start : start + _PIECE]
        about = float(np.dot(a.astype(np.float64), b.astype(np.float64)))
        if about < _MOST:
            rest = int(np.dot(a.view(np.uint64), b.view(np.uint64)))
            total += rest + (int(about) - rest + _WORD // 2) // _WORD * _WORD
        else:
            total += _dot_by_limbs(a, b)
    return total


def _dot_by_limbs(left: NDArray[np.int64], right: NDArray[np.int64]) -> int:
    """A product of two limbs has at most 36 bits, so the sum of a piece of them fits."""
    total = 0
    for i, limb in enumerate(_limbs(left)):
        for j, two in enumerate(_limbs(right)):
            total += int((limb * two).sum()) << (_LIMB * (i + j))
    return total


def _limbs(values: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [values & _MASK, (values >> _LIMB) & _MASK, values >> (2 * _LIMB)]
