"""Half-widths of intervals around noisy counts: the noise is public, so its quantiles cost nothing.

Half-widths are computed in floats and rounded outward; coverage is at least what is stated, for all data.
Proofs: docs/proofs/counting_queries.md, section 2.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither.kernels.elementary import Integers
from dither.numbers import Number
from dither.privacy import fraction_of_unit

SLACK = 1e-9
"""What float arithmetic may be wrong by; tails are compared with this much to spare."""
_MOST_CELLS = 1 << 21
_MOST_CONVOLVED = 1 << 12
_MOST_PLACES = 1 << 18
"""Laws of wider sums are computed in coarser steps, so that memory does not grow with the scale."""
_BARELY = 2.0**-60
_MOST_ADDED = 1 << 12
"""Of more terms the mean is bounded by the standard deviation."""


def missed_share(confidence: Number | None) -> Fraction | None:
    """``1 - confidence``, or None if no interval is wanted."""
    return None if confidence is None else 1 - fraction_of_unit("confidence", confidence)


def laplace_half_width(scale: Fraction, missed: Fraction) -> int:
    """The least w with P(|K| > w) = 2 r^{w+1} / (1 + r) at most ``missed``, r = e^{-1/scale}: integer Laplace noise."""
    ratio = math.exp(-1.0 / float(scale))
    needed = float(scale) * math.log(2.0 / (float(missed) * (1.0 + ratio)))
    return max(math.ceil(needed * (1.0 + SLACK) + SLACK) - 1, 0)


def largest_laplace_scale(half_width: int, missed: Fraction) -> Fraction:
    """At least every scale at which integer Laplace noise is beyond ``half_width`` with at most this probability."""
    low, high = 0.0, 1.0

    def exceeded(scale: float) -> bool:
        return 2.0 * math.exp(-(half_width + 1) / scale) / (1.0 + math.exp(-1.0 / scale)) > float(missed)

    while not exceeded(high):
        low, high = high, 2.0 * high
    while high - low > SLACK * high:
        middle = (low + high) / 2.0
        low, high = (low, middle) if exceeded(middle) else (middle, high)
    return Fraction(high * (1.0 + SLACK))


def laplace_deviation(scale: Fraction) -> float:
    """The standard deviation of integer Laplace noise: sqrt(2 r) / (1 - r)."""
    rate = 1.0 / float(scale)
    return math.sqrt(2.0) * math.exp(-rate / 2.0) / -math.expm1(-rate)


def laplace_sum_half_widths(scale: Fraction, terms: NDArray[np.int64], missed: Fraction) -> Integers:
    """Half-widths of sums of so many independent integer Laplace variables, entry by entry.

    A sum of more variables is spread wider, so numbers of terms above 32 are rounded up to a public list that grows
    by a twentieth: a few FFTs serve any number of queries, and no interval is more than 2.5% too wide.
    """
    most = int(terms.max(initial=0))
    steps = list(range(min(most, 32) + 1))
    while steps[-1] < most:
        steps.append(min(most, steps[-1] + max(1, steps[-1] // 20)))
    used = np.searchsorted(np.array(steps), terms)
    widths = dict.fromkeys(range(len(steps)), 0)
    for index in np.unique(used).tolist():
        widths[index] = laplace_sum_half_width(scale, steps[index], missed)
    return whole_numbers(list(widths.values()))[used]


def whole_numbers(values: list[int]) -> Integers:
    """An array that holds these numbers, and sums of them with noise, without overflow."""
    return np.array(values, dtype=np.int64 if max(values, default=0) < 1 << 60 else object)


@functools.lru_cache(maxsize=4096)
def laplace_sum_half_width(scale: Fraction, terms: int, missed: Fraction) -> int:
    """The least w with P(|K_1 + ... + K_c| > w) at most ``missed`` (to float accuracy, from above).

    The characteristic function of the sum is inverted on a circle long enough to hold all but 2**-64 of it; where
    that is too long, Chernoff's bound is used.
    """
    if terms == 0:
        return 0
    if terms == 1:
        return laplace_half_width(scale, missed)
    beyond, tail = _chernoff(scale, terms, 2.0**-64), float(missed)
    cells = 1 << (2 * beyond + 2).bit_length()
    if cells > _MOST_CELLS or tail < 1e3 * SLACK:
        return _chernoff(scale, terms, tail)
    angle = 2.0 * np.pi * np.arange(cells // 2 + 1) / cells
    lost = -math.expm1(-1.0 / float(scale))
    # 1 - 2 r cos t + r^2 = (1 - r)^2 + 4 r sin^2(t/2), without cancellation.
    spread = 4.0 * (1.0 - lost) * np.sin(angle / 2.0) ** 2 / lost**2
    masses = np.fft.irfft(np.exp(-terms * np.log1p(spread)), cells)
    inside = masses[0] + 2.0 * np.cumsum(np.concatenate([[0.0], masses[1 : cells // 2]]))
    return int(np.argmax(inside >= 1.0 - tail + SLACK))


def laplace_sum_mean(scale: Fraction, terms: int) -> float:
    """At least the expected absolute value of a sum of so many integer Laplace variables; exact up to 4,096 of them.

    ``E|S_c| = a sum over j = 1 .. c of P(S_j = 0)`` with ``a = 2r/(1-r)^2``; the probabilities follow from each other.
    Time grows with the number of terms alone, memory does not grow.
    """
    if terms > _MOST_ADDED:
        return laplace_deviation(scale) * math.sqrt(terms) * (1.0 + SLACK)
    lost = -math.expm1(-1.0 / float(scale))
    a = 2.0 * (1.0 - lost) / lost**2
    square = 1.0 + 2.0 * a
    before, here, total = 0.0, 1.0 / math.sqrt(square), 0.0
    for n in range(terms):
        total += a * here
        before, here = here, ((2 * n + 1) * (1.0 + a) / square * here - n * before / square) / (n + 1)
    return total


class SumLaw(NamedTuple):
    """A law that a sum of integer Laplace variables stays below: ``|sum| <= step |J| + excess`` but for 2^-60."""

    step: int
    excess: int
    masses: NDArray[np.float64]
    """P(J = 0, 1, 2, ...)."""


def laplace_sum_law(scale: Fraction, terms: int) -> SumLaw:
    """The law of a sum, exactly where it is narrow enough to be listed, else in steps of several.

    A geometric variable is ``step F + R`` with F geometric and R below ``step``, so a sum is step times a sum of scale
    ``scale / step`` plus a difference of Rs, which is bounded and rarely far from 0 (docs/proofs/counting_queries.md,
    section 2).
    """
    step = 1 + _chernoff(scale, terms, 1e-36) // _MOST_PLACES if terms else 1
    excess = min(terms, math.sqrt(2.0 * terms * math.log(2.0 / _BARELY))) * (step - 1)
    return SumLaw(step, math.ceil(excess), laplace_sum_masses(scale / step, terms))


def laplace_sum_masses(scale: Fraction, terms: int) -> NDArray[np.float64]:
    """P(K_1 + ... + K_c = 0, 1, 2, ...) as far as 1e-36 of it is outside, to a relative accuracy of about 1e-12.

    Convolutions of positive masses, by squaring: nothing cancels.  Wide sums use the FFT: that accuracy is absolute.
    """
    reach = _chernoff(scale, terms, 1e-36) if terms else 0
    lost = -math.expm1(-1.0 / float(scale))
    places = np.arange(-reach, reach + 1, dtype=np.float64)
    result, power = np.ones(1), lost / (2.0 - lost) * np.exp(-np.abs(places) / float(scale))
    if reach > _MOST_CONVOLVED:
        import scipy.signal  # noqa: PLC0415  (slow to load)

        convolve = scipy.signal.fftconvolve
    else:
        convolve = np.convolve
    while terms:
        result = _middle(convolve(result, power), reach) if terms & 1 else result
        terms >>= 1
        power = _middle(convolve(power, power), reach) if terms else power
    return np.maximum(result[len(result) // 2 :], 0.0)


def _middle(masses: NDArray[np.float64], reach: int) -> NDArray[np.float64]:
    centre = len(masses) // 2
    return masses[max(centre - reach, 0) : centre + reach + 1]


def _chernoff(scale: Fraction, terms: int, tail: float) -> int:
    """A w with P(|sum| > w) <= 2 exp(c ln M(s) - s (w + 1)) <= tail for the best s found below 1 / scale."""
    rate = 1.0 / float(scale)
    s = rate * np.concatenate([np.logspace(-6.0, -0.01, 400), 1.0 - np.logspace(-6.0, -2.0, 60)])
    # (1 - r e^s)(1 - r e^-s) = (1 - r)^2 - r e^s (1 - e^-s)^2, without cancellation or overflow.
    shrunk = np.exp(s - rate) * (np.expm1(-s) / math.expm1(-rate)) ** 2
    widths = (-terms * np.log1p(-shrunk) + math.log(2.0 / tail)) / s
    return max(math.ceil(float(widths.min()) * (1.0 + SLACK) + SLACK) - 1, 0)
