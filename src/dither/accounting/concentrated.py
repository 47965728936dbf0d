"""Zero-concentrated differential privacy: rho adds up, and converts to (epsilon, delta) and back.

A mechanism is rho-zCDP if its Renyi divergence of every order alpha > 1 between neighbours is at most
rho alpha.  Every conversion below holds for *each* alpha, so a good alpha may be found in floats; the bound is
then evaluated at that rational alpha in balls and rounded to the safe side.  Proofs: docs/proofs/composition.md,
section 5; the rhos of mechanisms: docs/proofs/concentrated.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

from dither.accounting.rounding import BITS, bottom, least, positive, printed_down, printed_up, probability, top
from dither.errors import InvalidArgument
from dither.numbers import Ball, Number, ball, precision
from dither.privacy import RHO_DIGITS, Concentrated, Loss, any_pure_rho, bounded_range_rho, rho_up

_GOLDEN = (math.sqrt(5) - 1) / 2
_MOST_DOUBLINGS = 64
_HALVINGS = 24


def gaussian_rho(sensitivity: Number, scale: Number) -> Fraction:
    """The exact rho of Gaussian noise: ``sensitivity^2 / (2 scale^2)``, sensitivity measured in l2.

    >>> gaussian_rho(1, 10)
    Fraction(1, 200)
    """
    return positive("sensitivity", sensitivity, zero=True) ** 2 / (2 * positive("scale", scale) ** 2)


def pure_rho(epsilon: Number) -> Fraction:
    """The least rho that every epsilon-DP mechanism has, rounded up: ``epsilon tanh(epsilon / 2)``.

    >>> pure_rho(0.1) < Fraction(1, 200)
    True
    """
    return any_pure_rho(positive("epsilon", epsilon, zero=True))


def bounded_range(epsilon: Fraction) -> Concentrated:
    """A draw whose log-ratios between neighbours all lie in an interval of length epsilon.

    rho is ``epsilon^2 / 8``, or ``epsilon tanh(epsilon / 2)`` where that is less (above epsilon 8).
    """
    return Concentrated(bounded_range_rho(epsilon))


def any_of(loss: Loss) -> Concentrated:
    """What every mechanism of this loss has: rho = ``epsilon tanh(epsilon / 2)``, and its delta."""
    return Loss(loss.epsilon, loss.delta).concentrated


def real_laplace(epsilon: Fraction) -> Concentrated:
    """A number moved by at most epsilon scales of real Laplace noise: rho = ``epsilon + e^-epsilon - 1``."""
    return integer_laplace(epsilon, Fraction(0))


def integer_laplace(epsilon: Fraction, step: Fraction) -> Concentrated:
    """The same of Laplace noise on a grid whose step is so many scales: ``epsilon - (1 - e^-epsilon) step/sinh step``.

    More than of real noise: where one step is all that a number moves by, it is ``epsilon tanh(epsilon / 2)``.
    """
    if epsilon == 0:
        return Concentrated(Fraction(0))
    with precision(BITS):
        shrink = ball(step) / ball(step).sinh() if step else ball(1)
        rho = rho_up(ball(epsilon) + ball(-epsilon).expm1() * shrink)
    return Concentrated(min(rho, any_pure_rho(epsilon)))


def tanh_rho(epsilon: Fraction) -> Ball:
    """``epsilon tanh(epsilon / 2)`` as a ball: the mean privacy loss of randomised response, and its rho."""
    return ball(epsilon) * ball(epsilon / 2).tanh()


def zcdp_epsilon(rho: Number, delta: Number) -> float:
    """The least epsilon for which rho-zCDP is proved to give (epsilon, delta)-DP, rounded up.

    >>> round(zcdp_epsilon(0.05, 1e-6), 3)
    1.472
    """
    r, d = positive("rho", rho, zero=True), probability("delta", delta, zero=False)
    return printed_up(conversion(r, d))


def conversion(rho: Fraction, delta: Fraction) -> Fraction:
    """``zcdp_epsilon`` before it is rounded to a float."""
    if rho == 0:
        return Fraction(0)
    r, log_inverse = float(rho), -_log(delta)
    alpha = _order(lambda a: a * r + _excess(a, log_inverse))
    with precision(BITS):
        value = ball(rho) * ball(alpha) + _excess_ball(alpha, delta)
        return max(Fraction(0), top(value))


def zcdp_delta(rho: Number, epsilon: Number) -> float:
    """The least delta for which rho-zCDP is proved to give (epsilon, delta)-DP, rounded up; below 1.

    >>> zcdp_delta(0.05, 1.4716) < 1e-6
    True
    """
    r, e = positive("rho", rho, zero=True), positive("epsilon", epsilon, zero=True)
    if r == 0:
        return 0.0
    rate, number = float(r), float(e)
    alpha = _order(lambda a: (a - 1) * (a * rate - number) - math.log(a - 1) + a * math.log1p(-1 / a))
    with precision(BITS):
        a = ball(alpha)
        value = top(((a - 1) * (a * ball(r) - ball(e))).exp() / (a - 1) * (a * (1 - 1 / a).log()).exp())
    # A delta of 1 says nothing, and every mechanism has every delta above it.
    if value >= 1:
        raise InvalidArgument("epsilon", epsilon, f"must be larger for rho={rate:g} to give a delta below 1")
    return printed_up(value)


def zcdp_rho(epsilon: Number, delta: Number) -> float:
    """The greatest rho that is proved to give (epsilon, delta)-DP, rounded down; 0 if there is none.

    >>> round(zcdp_rho(1.0, 1e-6), 5)
    0.02436
    """
    return printed_down(greatest_rho(positive("epsilon", epsilon), probability("delta", delta, zero=False)))


def greatest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """``zcdp_rho`` as a rational, rounded down; the same on every machine: no order is found in floats.

    Orders are 1 + 2^k first, then whole multiples of finer and finer powers of two around the best.
    """

    def reached(order: Fraction) -> Fraction:
        value = bottom((ball(epsilon) - _excess_ball(1 + order, delta)) / ball(1 + order))
        return Fraction(math.floor(value * 10**RHO_DIGITS), 10**RHO_DIGITS)

    with precision(BITS):
        best = max((Fraction(2) ** k for k in range(-_MOST_DOUBLINGS, _MOST_DOUBLINGS)), key=reached)
        step = best / 2
        for _ in range(_HALVINGS):
            best = max((best, best - step, best + step), key=reached)
            step /= 2
        return max(Fraction(0), reached(best))


def gaussian_epsilon(rhos: Iterable[Number], delta: Number) -> float:
    """The least epsilon of Gaussian releases composed by their rhos, rounded up.

    Guarantee  (epsilon, delta)-DP of all releases together; the scales must be fixed in advance.
    Theorem    Gaussians with rhos r_i are together as distinguishable as one with rho = sum r_i, whose profile is
               ``Phi(m/2 - eps/m) - e^eps Phi(-m/2 - eps/m)`` with m = sqrt(2 rho) (Balle-Wang 2018, Theorem 8).
    Constants  Exact, so never above ``zcdp_epsilon`` of the sum.

    >>> round(gaussian_epsilon([0.01] * 5, 1e-6), 3)
    1.368
    """
    d = probability("delta", delta, zero=False)
    rho = sum((positive("rhos", item, zero=True) for item in rhos), Fraction(0))
    if rho == 0:
        return 0.0

    def proved(epsilon: Fraction) -> bool:
        with precision(BITS):
            m, e = (2 * ball(rho)).sqrt(), ball(epsilon)
            root = ball(2).sqrt()
            here = ((e / m - m / 2) / root).erfc() / 2
            there = ((e / m + m / 2) / root).erfc() / 2
            return bool(here - e.exp() * there <= ball(d))

    return printed_up(least(proved, conversion(rho, d)))


def approximate(epsilons: Iterable[tuple[Fraction, int]], delta: Ball) -> Fraction:
    """Epsilon at ``delta`` of pure steps ``(epsilon, how many)``, by adding up ``epsilon tanh(epsilon / 2)``."""
    with precision(BITS):
        rho = sum((tanh_rho(epsilon) * count for epsilon, count in epsilons if epsilon), ball(0))
        return conversion(top(rho), bottom(delta))


def compose_gaussians(rhos: Iterable[Number], *, delta: Number) -> Loss:
    """The privacy loss of several Gaussian releases together, as a ``Loss`` at the stated delta.

    >>> compose_gaussians([0.005, 0.005], delta=1e-6).delta
    1e-06
    """
    if isinstance(rhos, (str, bytes)) or not isinstance(rhos, Iterable):
        raise InvalidArgument("rhos", rhos, "must be a list of non-negative numbers")
    d = probability("delta", delta, zero=False)
    return Loss(gaussian_epsilon(rhos, d), printed_up(d))


def _excess(alpha: float, log_inverse_delta: float) -> float:
    """What the conversion adds to ``alpha rho``; CKS20 section 2.3, solved for epsilon."""
    return (log_inverse_delta - math.log(alpha)) / (alpha - 1) + math.log1p(-1 / alpha)


def _excess_ball(alpha: Fraction, delta: Fraction) -> Ball:
    a = ball(alpha)
    return (-ball(delta).log() - a.log()) / (a - 1) + (1 - 1 / a).log()


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _order(cost: Callable[[float], float]) -> Fraction:
    """An order alpha > 1 that nearly minimises ``cost``: golden section over ln(alpha - 1).

    Only the tightness of the result depends on it, never its soundness.
    """
    low, high = math.log(1e-6), math.log(1e12)
    for _ in range(120):
        width = (high - low) * _GOLDEN
        if cost(1 + math.exp(high - width)) < cost(1 + math.exp(low + width)):
            high = low + width
        else:
            low = high - width
    return 1 + Fraction(math.exp((low + high) / 2)).limit_denominator(10**9)
