"""Bit flipping: the mechanism of metric spaces on the Hamming cube."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidArgument
from dither.mechanisms.noise_intervals import SLACK, missed_share
from dither.noise.bernoulli import coins
from dither.noise.entropy import Source, system
from dither.numbers import Ball, Number, Real, ball, exact
from dither.privacy import Loss, Neighbours
from dither.sources.domain import read_bits


@dataclass(frozen=True, repr=False)
class FlippedBits:
    """A blurred bit vector.  With probability ``confidence`` at most ``radius`` of its bits are flipped."""

    value: NDArray[np.bool_]
    radius: int | None
    confidence: float | None
    flip: float
    """The public chance that a bit was flipped, 1 / (1 + e^rate) (to float accuracy)."""
    rate: float
    loss: Loss
    neighbours: Neighbours

    @property
    def ones(self) -> float:
        """An unbiased estimate of the number of ones before the flips."""
        seen, half = float(np.count_nonzero(self.value)), len(self.value) / 2.0
        # 1 - 2 flip = tanh(rate / 2), without cancellation.
        return half + (seen - half) / math.tanh(self.rate / 2.0)

    def __repr__(self) -> str:
        return f"<FlippedBits: {len(self.value)} bits, each flipped with chance {self.flip:.4g} ({self.loss})>"


def flip_bits(
    value: ArrayLike,
    *,
    epsilon: Number,
    sensitivity: Number = 1,
    neighbours: Neighbours = Neighbours.CHANGE_ONE,
    confidence: Number | None = 0.95,
) -> FlippedBits:
    """Release the bit vector ``value = f(x)`` with every bit flipped with chance ``1 / (1 + e^{eps/S})``.

    sensitivity: S, the number of bits in which f may differ between neighbours; public, as is the length.

    Guarantee  eps-DP for the stated neighbours, if f differs in at most S bits between them.
    Theorem    DMNS06 Theorem 2 with Remark 1 (the normaliser is the same everywhere);
               docs/proofs/metric_spaces.md section 2.
    Constants  Paper: "roughly 1/2 - eps/(2S)", which costs up to 2 eps and more; ours is exact, near 1/2 - eps/(4S).
    Cost       O(d).

    >>> blurred = flip_bits([0, 1] * 500, epsilon=2.0, sensitivity=1)
    >>> len(blurred.value), blurred.radius < 250
    (1000, True)
    """
    loss, missed = Loss.asked(epsilon), missed_share(confidence)
    rate = loss.exact_epsilon / _bits_moved(sensitivity)
    bits = read_bits(value, argument="value")
    flip = 1.0 / (1.0 + math.exp(min(float(rate), 700.0)))
    return FlippedBits(
        value=flipped(bits, rate),
        radius=None if missed is None else most_flips(len(bits), flip, float(missed)),
        confidence=None if missed is None else float(1 - missed),
        flip=flip,
        rate=float(rate),
        loss=loss,
        neighbours=neighbours,
    )


def flip_chance(rate: Fraction) -> Real:
    """``1 / (1 + e^rate)`` as a computable real."""

    def chance() -> Ball:
        odds = (-ball(rate)).exp()
        return odds / (1 + odds)

    return chance


def flipped(bits: NDArray[np.bool_], rate: Fraction, *, source: Source = system) -> NDArray[np.bool_]:
    """The bits after independent, exactly drawn flips."""
    return bits ^ coins(len(bits), flip_chance(rate), source=source)


def most_flips(length: int, flip: float, missed: float) -> int:
    """The least r with P(Bin(length, flip) > r) at most ``missed``."""
    import scipy.special  # noqa: PLC0415  (slow to load)

    r = np.arange(length, dtype=np.float64)
    # P(Bin(N, p) > r) is the incomplete beta function I_p(r + 1, N - r).
    enough = scipy.special.betainc(r + 1.0, length - r, flip) <= missed - SLACK
    return int(np.argmax(enough)) if bool(enough.any()) else length


def _bits_moved(sensitivity: Number) -> int:
    number = exact(sensitivity, "sensitivity")
    if number.denominator != 1 or number < 1:
        raise InvalidArgument("sensitivity", sensitivity, "must be a whole number of at least 1")
    return int(number)
