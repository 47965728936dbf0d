"""Gaussian noise in any dimension, and its exact admissible set for l2 shifts.

The hockey-stick divergence between N(0, I) and N(s, r^2 I) is a difference of two noncentral chi-square
masses.  That it stays within delta over the *whole* neighbour box is proved cell by cell: an
Ornstein-Uhlenbeck channel maps the pair at one dilation to the pair at any smaller one, so one evaluation at
the end of a cell bounds the cell (docs/proofs/admissible.md, section 5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from flint import arb

from dither.errors import NotProved
from dither.kernels.elementary import Floats
from dither.noise.entropy import LazyBits
from dither.noise.gamma_quantiles import gamma_quantile
from dither.noise.law import Law
from dither.numbers import Ball, ball, precision
from dither.privacy import Loss

_BITS = 192
MOST_CELLS = 400
MOST_TERMS = 100_000
"""Terms of a noncentral chi-square law; a dilation so small that it needs more proves nothing."""
MOST_DOUBLINGS = 64
"""No alpha above 2**64 is tried: the divergence of such a shift is 1 to the last digit, and delta is less."""


@dataclass(frozen=True)
class Gaussian(Law):
    """Density ``(2 pi)^{-d/2} e^{-|z|^2 / 2}``.

    Guarantee  (eps, delta)-DP, shifts measured in l2.
    Theorem    docs/proofs/admissible.md section 5 replaces NRS11 Lemma 2.10; beta = 0 is the analytic Gaussian
               mechanism.
    Constants  Paper: alpha = eps/(5 sqrt(2 ln(2/delta))), beta = eps/(4(d + ln(2/delta))).
    """

    name = "gaussian"
    pure = False
    norm = "l2"
    why_delta = "needs delta > 0"

    def variate(self, tape: LazyBits, at: int = 0) -> Ball | None:
        """Box-Muller: an inverse error function would take a time that depends on |Z|."""
        radius = (-2 * tape.uniform(at).log()).sqrt()
        size = radius * (2 * tape.uniform(at + 1)).cos_pi()
        return size if size.is_finite() else None

    @property
    def shape(self) -> dict[str, float]:
        return {}

    @property
    def typical(self) -> float:
        return math.sqrt(2.0 / math.pi)

    def tail(self, distance: Floats) -> Floats:
        import scipy.special  # noqa: PLC0415  (slow to load)

        outside: Floats = scipy.special.erfc(distance / math.sqrt(2.0))
        return outside

    def log_density(self, distance: Floats) -> Floats:
        return -0.5 * distance * distance - 0.5 * math.log(2.0 * math.pi)

    def quantile(self, tail: float) -> float:
        return -NormalDist().inv_cdf(tail / 2.0)

    def rise(self, distance: Ball) -> Ball:
        """``-ln`` of the density, up to a constant."""
        return distance * distance / 2

    def slope(self, distance: Ball) -> Ball:
        """The derivative of ``rise``."""
        return distance

    def beyond(self, distance: Ball) -> Ball:
        """P(Z > distance)."""
        return _normal_below(-distance)

    def far_rise(self, distance: Ball) -> tuple[Ball, Ball] | None:  # noqa: ARG002
        """None: tails are light."""
        return None

    @property
    def steepest_slope(self) -> Fraction | None:
        """None: the slope has no bound."""
        return None

    def check(self, loss: Loss, *, dilated: bool) -> None:  # noqa: ARG002
        super().check(loss, dilated=True)

    def prove(self, alpha: Fraction, beta: Fraction, loss: Loss, dimension: int = 1) -> str:
        with precision(_BITS):
            size, epsilon, delta = ball(alpha), ball(loss.exact_epsilon), ball(loss.exact_delta)
            if not shift_mass(size, epsilon) <= delta:
                raise NotProved(f"alpha={float(alpha):g} alone needs a larger delta")
            if beta == 0:
                return "closed form: the analytic Gaussian mechanism (docs/proofs/admissible.md, section 5)"
            least = self._prove_small_dilations(size, ball(beta), epsilon, delta, dimension)
            cells, examined = [(least, ball(beta))], 0
            while cells:
                low, high = cells.pop()
                examined += 1
                # The channel shrinks shifts by the factor below, so start from one that much larger.
                lengthen = (((-2 * high).expm1()) / ((-2 * low).expm1())).sqrt()
                shift = size * (-low).exp() * lengthen
                if all(mass <= delta for mass in dilation_masses(shift, high, epsilon, dimension)):
                    continue
                at_end = dilation_masses(size * (-high).exp(), high, epsilon, dimension)
                if examined > MOST_CELLS or not all(mass <= delta for mass in at_end):
                    raise NotProved(f"alpha={float(alpha):g}, beta={float(beta):g} needs a larger delta")
                middle = ((low * high).sqrt()).mid()
                cells += [(low, middle), (middle, high)]
        return "cell by cell in balls (docs/proofs/admissible.md, section 5)"

    def _prove_small_dilations(self, alpha: Ball, beta: Ball, epsilon: Ball, delta: Ball, dimension: int) -> Ball:
        """A dilation below which shift and dilation may simply be composed; the cells start there."""
        for halvings in range(2, 30):
            least = (beta / (1 << halvings)).mid()
            for part in (8, 32, 128, 512):
                spent = epsilon / part
                both = shift_mass(alpha, epsilon - spent) + (epsilon - spent).exp() * max_ball(
                    dilation_masses(arb(0), least, spent, dimension)
                )
                # The reverse order of the two steps needs the other factor.
                other = max_ball(dilation_masses(arb(0), least, spent, dimension)) + spent.exp() * shift_mass(
                    alpha, epsilon - spent
                )
                if both <= delta and other <= delta:
                    return least
        raise NotProved("small dilations could not be separated from the shift")

    def guess_alpha(self, beta: float, loss: Loss, dimension: int) -> float:
        with precision(_BITS):
            epsilon, delta, stretch = ball(loss.exact_epsilon), ball(loss.exact_delta), ball(Fraction(beta))

            def fits(alpha: float) -> bool:
                size = ball(Fraction(alpha))
                if not shift_mass(size, epsilon) <= delta:
                    return False
                if beta == 0.0:
                    return True
                shift = size * (-stretch).exp()
                try:
                    return all(mass <= delta for mass in dilation_masses(shift, stretch, epsilon, dimension))
                except NotProved:
                    return False

            low, high = 0.0, 1.0
            for _ in range(MOST_DOUBLINGS):
                if not fits(high):
                    break
                low, high = high, 2.0 * high
            if low == 0.0 and not fits(1e-9):
                return 0.0
            while high - low > 1e-9 * high:
                middle = (low + high) / 2.0
                low, high = (middle, high) if fits(middle) else (low, middle)
        return low

    def paper_point(self, loss: Loss, dimension: int) -> tuple[Fraction, Fraction]:
        """Lemma 2.10: from quantiles of one coordinate and of the squared norm; above epsilon 1 its simpler form."""
        with precision(_BITS):
            if loss.exact_epsilon > 1:
                logarithm = (2 / ball(loss.exact_delta)).log()
                alpha = ball(loss.exact_epsilon) / (5 * (2 * logarithm).sqrt())
                beta = ball(loss.exact_epsilon) / (4 * (dimension + logarithm))
                return Fraction(float(alpha.lower())), Fraction(float(beta.lower()))
            # P(Z_1 > t) is half of P(Z_1^2 > t^2), and Z_1^2 / 2 has a Gamma law of order 1/2.
            coordinate = (2 * gamma_quantile(Fraction(1, 2), loss.exact_delta)).sqrt()
            alpha = ball(loss.exact_epsilon) / (5 * coordinate)
            beta = ball(loss.exact_epsilon) / (4 * gamma_quantile(Fraction(dimension, 2), loss.exact_delta / 2))
            return Fraction(float(alpha.lower())), Fraction(float(beta.lower()))


def shift_mass(shift: Ball, epsilon: Ball) -> Ball:
    """The hockey-stick divergence of a shift alone: Phi(a/2 - eps/a) - e^eps Phi(-a/2 - eps/a)."""
    if not shift > 0:
        return ball(0)
    near, far = shift / 2 - epsilon / shift, -shift / 2 - epsilon / shift
    return _normal_below(near) - epsilon.exp() * _normal_below(far)


def dilation_masses(shift: Ball, dilation: Ball, epsilon: Ball, dimension: int) -> tuple[Ball, Ball]:
    """Both hockey-stick divergences between N(0, I) and N(s, e^{-2 l} I), |s| = shift, l > 0."""
    narrow = (-dilation).exp()
    lost = -(-2 * dilation).expm1()  # 1 - r^2
    curvature = (2 * dilation).expm1()  # r^-2 - 1
    offset = dimension * dilation
    centre, centre_narrow = shift / lost, shift * narrow / lost
    outside = (2 * (epsilon + offset) + shift * shift / lost) / curvature
    forward = _mass_outside(outside, centre, dimension) - epsilon.exp() * _mass_outside(
        outside / (narrow * narrow), centre_narrow, dimension
    )
    inside = (2 * (offset - epsilon) + shift * shift / lost) / curvature
    if inside <= 0:
        return forward, ball(0)
    inside = inside.nonnegative_part()
    reverse = _mass_inside(inside / (narrow * narrow), centre_narrow, dimension) - epsilon.exp() * _mass_inside(
        inside, centre, dimension
    )
    return forward, reverse


def max_ball(balls: tuple[Ball, Ball]) -> Ball:
    """A ball around the larger of two reals."""
    return balls[0].max(balls[1])


def _normal_below(at: Ball) -> Ball:
    return (-at / arb(2).sqrt()).erfc() / 2


def _mass_outside(squared_radius: Ball, centre: Ball, dimension: int) -> Ball:
    """P(|y - c|^2 > R2) for standard normal y in R^d and |c| = centre."""
    if dimension == 1:
        radius = squared_radius.sqrt()
        return _normal_below(centre - radius) + _normal_below(-centre - radius)
    return _mixture(squared_radius, centre, dimension, upper=True)


def _mass_inside(squared_radius: Ball, centre: Ball, dimension: int) -> Ball:
    """P(|y - c|^2 < R2)."""
    if dimension == 1:
        radius = squared_radius.sqrt()
        return _normal_below(centre + radius) - _normal_below(centre - radius)
    return _mixture(squared_radius, centre, dimension, upper=False)


def _mixture(squared_radius: Ball, centre: Ball, dimension: int, *, upper: bool) -> Ball:
    """The noncentral chi-square law is a Poisson mixture of chi-squares of d + 2j degrees of freedom.

    Terms j <= last are summed; the rest has at most the Poisson tail, which is added as an interval.
    """
    half_square, mean = squared_radius / 2, centre * centre / 2
    last = int(min(float(mean.upper()) + 16 * math.sqrt(float(mean.upper()) + 1) + 60, MOST_TERMS + 1.0))
    if last > MOST_TERMS:
        raise NotProved("so small a dilation beside so large a shift takes too long to work out")
    order = ball(Fraction(dimension, 2))
    weight = (-mean).exp()
    below = half_square.gamma_lower(order, 1)  # P(order, x); P(order + 1, x) = P(order, x) - x^order e^-x / Gamma
    step = (order * half_square.log() - half_square - (order + 1).lgamma()).exp()
    total, used = ball(0), ball(0)
    for j in range(last + 1):
        total += weight * ((1 - below) if upper else below)
        used += weight
        below -= step
        step *= half_square / (order + j + 1)
        weight *= mean / (j + 1)
    return total + (1 - used).nonnegative_part().union(ball(0))
