"""Quantiles of Gamma laws, rounded up: norms of Laplace and Gaussian noise (NRS11 Definition 2.8, rho)."""

from __future__ import annotations

import math
from fractions import Fraction

from dither.numbers import Ball, ball

_HALVINGS = 80


def gamma_quantile(order: Fraction, exceeded: Fraction) -> Ball:
    """The least place t, rounded up, with P(Y > t) at most ``exceeded`` for Y of a Gamma law of this order and scale 1.

    The sum of d exponential variables, the l1 norm of Laplace noise, has order d; half of the squared l2 norm of d
    Gaussian variables has order d/2.  At the precision in force.
    """
    most = ball(exceeded)

    def rare(place: float) -> bool:
        return bool(ball(Fraction(place)).gamma_upper(ball(order), 1) <= most)

    low, high = 0.0, 2.0 * float(order) - 2.0 * math.log(float(exceeded)) + 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if rare(middle) else (middle, high)
    return ball(Fraction(high))
