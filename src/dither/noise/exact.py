"""Exactly rounded draws: ``round(location + scale * Z)`` as if computed with infinitely many digits.

The tape holds the first bits of the uniform reals that Z is made of.  Ball arithmetic gives an interval for
the sum; when its ends round to the same integer that integer is the answer, else more bits of the same reals
are read.  What is released is therefore a rounding of the ideal draw, and privacy is that of the ideal
mechanism (post-processing), whatever the secret location and scale are.
"""

from __future__ import annotations

from fractions import Fraction

from dither.noise.entropy import LazyBits, Source, system
from dither.noise.law import Law
from dither.numbers import Real, ball, precision

INITIAL_BITS = 96
GUARD_BITS = 32
_HALF = ball(Fraction(1, 2))


def rounded_draw(law: Law, location: Real, scale: Real, *, headroom: int = 40, source: Source = system) -> int:
    """``floor(location + scale * Z + 1/2)`` for a fresh Z, in units of the public grid.

    ``headroom``: log2 of a *public* bound on scale, so that the first bits decide almost always.
    """
    return settle(law, location, scale, LazyBits(INITIAL_BITS + headroom, source))


def settle(law: Law, location: Real, scale: Real, bits: LazyBits) -> int:
    """Read the tape until it decides the rounded draw."""
    while True:
        with precision(bits.bits + GUARD_BITS):
            variate = law.variate(bits)
            if variate is not None:
                total = ball(location) + ball(scale) * variate + _HALF
                decided = total.floor().unique_fmpz()
                if decided is not None:
                    return int(decided)
        bits.extend()
