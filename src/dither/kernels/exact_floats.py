"""Exact differences and sums of floating-point numbers, as rationals.

``a - b`` in floats is the exact difference rounded to nearest, which is monotone; what it loses is itself a float, so
the pair (rounded difference, loss) orders exact differences lexicographically.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dither.kernels.elementary import Floats
from dither.kernels.sums import exact_sum


def differences(high: Floats, low: Floats) -> tuple[Floats, Floats]:
    """``high - low`` entry by entry: rounded, and what rounding lost (Knuth's two-sum; entries within 2**1022)."""
    rounded = high - low
    back = rounded - high
    return rounded, (high - (rounded - back)) - (low + back)


def largest_difference(high: Floats, low: Floats) -> Fraction:
    """The exact largest ``high - low``."""
    rounded, lost = differences(high, low)
    top = rounded.max()
    return Fraction(float(top)) + Fraction(float(lost[rounded == top].max()))


def smallest_difference(high: Floats, low: Floats) -> Fraction:
    """The exact smallest ``high - low``."""
    rounded, lost = differences(high, low)
    bottom = rounded.min()
    return Fraction(float(bottom)) + Fraction(float(lost[rounded == bottom].min()))


def any_difference_above(high: Floats, low: Floats, bound: float) -> bool:
    """Whether some exact ``high - low`` exceeds ``bound``; infinite entries are allowed."""
    with np.errstate(invalid="ignore"):
        rounded, lost = differences(high, low)
    # A loss that is not a number belongs to an infinite difference, which the first comparison has seen.
    return bool(np.any(rounded > bound) or np.any(lost[rounded == bound] > 0.0))


def exact_float_sum(values: Floats) -> Fraction:
    """The exact sum, whatever the order: mantissas are added as integers, exponent by exponent."""
    mantissas, exponents = np.frexp(values)
    # A float is a whole number of at most 53 bits times 2**(exponent - 53).
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    order = np.argsort(exponents, kind="stable")
    places, starts = np.unique(exponents[order], return_index=True)
    total = Fraction(0)
    for place, part in zip(places.tolist(), np.split(whole[order], starts[1:]), strict=True):
        total += exact_sum(part) * Fraction(2) ** (place - 53)
    return total
