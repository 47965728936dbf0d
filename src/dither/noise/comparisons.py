"""Exact comparisons: whether a number plus noise exceeds a threshold, as if computed with infinitely many digits."""

from __future__ import annotations

from dither.noise.entropy import LazyBits, Source, system
from dither.noise.exact import GUARD_BITS, INITIAL_BITS
from dither.noise.law import Law
from dither.numbers import Real, ball, precision


def exceeds(law: Law, location: Real, scale: Real, threshold: Real, *, source: Source = system) -> bool:
    """Whether ``location + scale * Z > threshold`` for a fresh Z; equality has probability zero."""
    return settle_exceeds(law, location, scale, threshold, LazyBits(INITIAL_BITS, source))


def settle_exceeds(law: Law, location: Real, scale: Real, threshold: Real, bits: LazyBits) -> bool:
    """Read the tape until it decides the comparison."""
    while True:
        with precision(bits.bits + GUARD_BITS):
            variate = law.variate(bits)
            if variate is not None:
                excess = ball(location) + ball(scale) * variate - ball(threshold)
                if excess > 0:
                    return True
                if excess < 0:
                    return False
        bits.extend()
