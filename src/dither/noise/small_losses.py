"""Admissible points of heavy-tailed laws at small losses, in closed form.

Between neighbours a standard variate is moved by ``w -> w e^b + m``, which is where the flow ``w' = b w + m'`` arrives
after one unit of time.  Along it ``psi`` rises by at most ``sup psi'(w) (m' + b w)``, so that number bounds the whole
log-ratio.  It is of the first order in (alpha, beta), hence found without cancellation however small they are, and the
frontier that it gives is the exact one in the limit (docs/proofs/admissible.md, section 3).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol

from flint import arb

from dither.numbers import Ball, ball, precision

_BITS = 160
_HALVINGS = 140


class Tail(Protocol):
    """A law with density proportional to ``(1 + (|z|/c)^a)^(-p/a)``, a > 1."""

    @property
    def inner(self) -> Fraction: ...
    @property
    def power(self) -> Fraction: ...
    @property
    def squared_width(self) -> Fraction: ...


def flow_proves(law: Tail, alpha: Fraction, beta: Fraction, epsilon: Fraction) -> bool:
    """Whether (alpha, beta) is admissible for epsilon by the three conditions of the flow."""
    with precision(_BITS):
        width = ball(law.squared_width).sqrt()
        # Everything in units of epsilon: the conditions are homogeneous but for the factor beta / (e^beta - 1).
        shift, stretch = ball(alpha / epsilon) / width, beta / epsilon
        if not _steepest_rise(law, shift, Fraction(0)) <= 1:
            return False
        if beta == 0:
            return True
        drift = shift * ball(beta) / ball(beta).expm1()
        return bool(
            ball(stretch) + _steepest_rise(law, drift, -stretch) <= 1
            and _steepest_rise(law, drift, stretch) - ball(stretch) <= 1
        )


def _steepest_rise(law: Tail, shift: Ball, stretch: Fraction) -> Ball:
    """A ball with the supremum over u >= 0 of ``p u^(a-1) (s + t u) / (1 + u^a)``, s = shift > 0, t = stretch.

    Its derivative has the sign of ``(a-1) s + a t u - s u^a``, which falls through zero once: there is one hump, and
    the place where it stands is enclosed by signs.
    """
    a, t = ball(law.inner), ball(stretch)

    def rising(u: Ball) -> Ball:
        return (a - 1) * shift + a * t * u - shift * u**a

    far = ball(2)
    for _ in range(_HALVINGS):
        if rising(far) < 0:
            break
        far *= 2
    else:
        return arb("inf")  # not enclosed: proves nothing
    # Signs near the hump itself may stay open; from either side the last place where they do not is kept.
    low, unsure = ball(0), far
    for _ in range(_HALVINGS):
        middle = ((low + unsure) / 2).mid()
        low, unsure = (middle, unsure) if rising(middle) > 0 else (low, middle)
    high, unsure = far, low
    for _ in range(_HALVINGS):
        middle = ((high + unsure) / 2).mid()
        high, unsure = (middle, unsure) if rising(middle) < 0 else (high, middle)
    at = low.union(high)
    return ball(law.power) * at ** (a - 1) * (shift + t * at) / (1 + at**a)


def flow_alpha(law: Tail, beta: float, epsilon: float) -> float:
    """The greatest alpha that the flow admits at this beta, to float accuracy."""
    width, stretch = math.sqrt(float(law.squared_width)), beta / epsilon
    low, high = 0.0, 1.0 / _float_rise(law, 1.0, 0.0)
    if stretch and not _fits(law, high, stretch):
        for _ in range(60):
            middle = (low + high) / 2.0
            low, high = (middle, high) if _fits(law, middle, stretch) else (low, middle)
        high = low
    shift = high * (math.expm1(beta) / beta if beta else 1.0)
    return min(shift, 1.0 / _float_rise(law, 1.0, 0.0)) * width * epsilon


def _fits(law: Tail, shift: float, stretch: float) -> bool:
    return stretch + _float_rise(law, shift, -stretch) <= 1.0 and _float_rise(law, shift, stretch) - stretch <= 1.0


def _float_rise(law: Tail, shift: float, stretch: float) -> float:
    """The same supremum in floats."""
    a, p = float(law.inner), float(law.power)
    low, high = 0.0, 1.0
    for _ in range(200):
        if (a - 1.0) * shift + a * stretch * high - shift * high**a < 0.0:
            break
        high *= 2.0
    for _ in range(80):
        middle = (low + high) / 2.0
        if (a - 1.0) * shift + a * stretch * middle - shift * middle**a > 0.0:
            low = middle
        else:
            high = middle
    if high > 1e6:
        # u^(a-1) / (1 + u^a) is 1 / (u + u^(1-a)), which does not overflow.
        return p * (shift + stretch * high) / (high + math.pow(high, 1.0 - a))
    return p * math.pow(high, a - 1.0) * (shift + stretch * high) / (1.0 + math.pow(high, a))
