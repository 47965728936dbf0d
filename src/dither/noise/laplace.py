"""Laplace noise, real and integer, and its exact admissible set."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.errors import NotProved
from dither.kernels.elementary import Floats
from dither.noise.entropy import LazyBits, Source, system
from dither.noise.exact import GUARD_BITS, INITIAL_BITS
from dither.noise.gamma_quantiles import gamma_quantile
from dither.noise.law import Law
from dither.numbers import Ball, Real, ball, precision
from dither.privacy import Loss


@dataclass(frozen=True)
class Laplace(Law):
    """Density ``e^{-|z|} / 2``.

    Guarantee  eps-DP with a public scale (beta = 0), (eps, delta)-DP with a smooth one.
    Theorem    DMNS06 Prop. 1 (beta = 0); docs/proofs/admissible.md section 4 replaces NRS11 Lemma 2.9.
    Constants  Paper: alpha = eps/2, beta = eps/(2 ln(2/delta)).  Ours: the exact frontier in one dimension;
               in d dimensions a closed form that is at most a factor 2 of delta away from it.
    """

    name = "laplace"
    pure = False

    def variate(self, tape: LazyBits, at: int = 0) -> Ball | None:
        sign, uniform = tape.signed(at)
        size = -uniform.log()
        return sign * size if size.is_finite() else None

    @property
    def shape(self) -> dict[str, float]:
        return {}

    @property
    def typical(self) -> float:
        return 1.0

    def tail(self, distance: Floats) -> Floats:
        return np.exp(-distance)

    def log_density(self, distance: Floats) -> Floats:
        return -distance - math.log(2.0)

    def quantile(self, tail: float) -> float:
        return -math.log(tail)

    def rise(self, distance: Ball) -> Ball:
        """``-ln`` of the density, up to a constant."""
        return distance

    def slope(self, distance: Ball) -> Ball:  # noqa: ARG002
        """The derivative of ``rise``."""
        return ball(1)

    def beyond(self, distance: Ball) -> Ball:
        """P(Z > distance)."""
        return (-distance).exp() / 2

    def far_rise(self, distance: Ball) -> tuple[Ball, Ball] | None:  # noqa: ARG002
        """None: tails are light."""
        return None

    @property
    def steepest_slope(self) -> Fraction | None:
        """The slope itself."""
        return Fraction(1)

    def prove(self, alpha: Fraction, beta: Fraction, loss: Loss, dimension: int = 1) -> str:
        epsilon = loss.exact_epsilon
        if alpha > epsilon:
            raise NotProved(f"alpha={float(alpha):g} exceeds epsilon={loss.epsilon:g}")
        if beta == 0:
            return "closed form: a shift of alpha <= epsilon (DMNS06 Prop. 1)"
        with precision(192):
            wider = dimension * ball(beta) + ball(alpha) * (-ball(beta)).exp()
            if not wider <= ball(epsilon):
                raise NotProved(f"beta={float(beta):g} leaves no room for the wider law")
            narrower = _narrower_mass(ball(alpha), ball(beta), ball(epsilon), dimension)
            if not narrower <= ball(loss.exact_delta):
                raise NotProved(f"alpha={float(alpha):g}, beta={float(beta):g} needs a larger delta")
        return "closed form in balls (docs/proofs/admissible.md, section 4)"

    def guess_alpha(self, beta: float, loss: Loss, dimension: int) -> float:
        epsilon, delta = loss.epsilon, loss.delta
        if beta <= 0.0:
            return epsilon
        most = min(epsilon, math.exp(beta) * (epsilon - dimension * beta))
        low, high = 0.0, most
        if high <= 0.0 or delta == 0.0:
            return 0.0

        def fits(alpha: float) -> bool:
            with precision(96):
                mass = _narrower_mass(ball(Fraction(alpha)), ball(Fraction(beta)), ball(Fraction(epsilon)), dimension)
            return float(mass) <= delta

        if not fits(0.0):
            return 0.0
        if fits(most):
            return most
        while high - low > 1e-12 * most:
            middle = (low + high) / 2.0
            low, high = (middle, high) if fits(middle) else (low, middle)
        return low

    def paper_point(self, loss: Loss, dimension: int) -> tuple[Fraction, Fraction]:
        """Lemma 2.9: beta from the quantile of the norm of the noise, and above epsilon 1 its simpler form."""
        epsilon = loss.exact_epsilon
        with precision(96):
            if epsilon <= 1 or dimension == 1:
                divisor = 2 * gamma_quantile(Fraction(dimension), loss.exact_delta / 2)
            else:
                divisor = 4 * (dimension + (2 / ball(loss.exact_delta)).log())
            beta = Fraction(float((ball(epsilon) / divisor).lower()))
        return epsilon / 2, beta


def _narrower_mass(alpha: Ball, beta: Ball, epsilon: Ball, dimension: int) -> Ball:
    """The delta of going to a law narrower by e^{-beta} and shifted by alpha (section 4 of the proof)."""
    growth = beta.expm1()
    if dimension == 1:
        near = (-(epsilon - alpha + beta) / growth).exp()
        far = (-(epsilon + alpha + beta) / growth).exp()
        return -(-beta).expm1() / 2 * (near + far)
    reach = (epsilon + dimension * beta - alpha) / growth
    order = ball(dimension)
    return reach.gamma_upper(order, 1) - (epsilon - alpha).exp() * (reach * beta.exp()).gamma_upper(order, 1)


def integer_laplace(location: int, scale: Real, *, headroom: int = 40, source: Source = system) -> int:
    """``location`` plus integer noise with P(k) proportional to ``e^{-|k| / scale}``, exactly.

    Guarantee  eps-DP for integer queries of sensitivity ``eps * scale``.
    Theorem    The difference of two geometric variables ``floor(-scale ln V)``; DMNS06 Prop. 1 on integers.
    """
    return settle_integer_laplace(location, scale, LazyBits(INITIAL_BITS + headroom, source))


def settle_integer_laplace(location: int, scale: Real, bits: LazyBits) -> int:
    """Read the tape until it decides the integer draw."""
    while True:
        with precision(bits.bits + GUARD_BITS):
            size = -ball(scale)
            gained = (size * bits.uniform(0).log()).floor().unique_fmpz()
            lost = (size * bits.uniform(1).log()).floor().unique_fmpz()
            if gained is not None and lost is not None:
                return location + int(gained) - int(lost)
        bits.extend()
