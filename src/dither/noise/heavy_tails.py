"""The pure laws: density proportional to ``(1 + (|z|/c)^a)^(-p/a)``, one family with three famous members.

Power law (a = c = 1), generalised Cauchy (a = p = gamma, c = 1) and Student-t (a = 2, p = dof + 1,
c = sqrt(dof)).  Their tails are powers, so a dilation by e^beta costs a bounded log-ratio, and they give
delta = 0 with a data-dependent scale.  Proofs: docs/proofs/admissible.md, sections 2 and 3.
"""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Literal, TypeAlias

import numpy as np
from flint import ctx
from numpy.typing import NDArray

from dither.errors import NotProved
from dither.kernels.elementary import Floats
from dither.noise.entropy import LazyBits
from dither.noise.law import Law, best_beta, golden_maximum, parameter
from dither.noise.small_losses import flow_alpha, flow_proves
from dither.noise.suprema import rise_at_most, shifted_rise_at_most
from dither.numbers import Ball, Number, ball, exact, precision
from dither.privacy import Loss

_Exponent: TypeAlias = tuple[Literal["root"], int] | tuple[Literal["power"], int] | tuple[Literal["general"], Ball]
STEEPEST = 64.0
"""The largest p that is tried where beta is given: from here on a power law is a Laplace law to the eye."""
SMALL_LOSS = Fraction(1, 100)
"""Below it the closed form of section 3 stands in for the three corners: it costs less than 0.1% of alpha there."""
LEAST_TAIL = Fraction(1, 1 << 10)
"""Tails fall at least as fast as ``|z|^-(1 + 2^-10)``: a draw then has a few hundred thousand binary digits at most."""
MOST_TAIL = 1 << 10
MOST_TRIALS = 1 << 14
"""Rejections in a row.  A pair is accepted with probability above 1/32, so as many have probability below 2**-700,
whatever the data are: they do not enter here."""


class HeavyTail(Law):
    """Shared by the family: draw by a ratio of uniforms, tails by the incomplete beta function.

    With ``U, V`` uniform and ``W = V^{1/(p-1)}``, the ratio ``c U / W`` given ``U^a + W^a <= 1`` has exactly
    this density on the positive half-line (docs/proofs/sampling.md).
    """

    pure = True

    @property
    @abstractmethod
    def inner(self) -> Fraction:
        """The exponent a inside."""

    @property
    @abstractmethod
    def power(self) -> Fraction:
        """The exponent p of the tail."""

    @property
    def squared_width(self) -> Fraction:
        """c squared: the place where the density leaves its plateau."""
        return Fraction(1)

    def variate(self, tape: LazyBits, at: int = 0) -> Ball | None:
        inner, root, width = self._constants(ctx.prec)
        for pair in range(at, at + 2 * MOST_TRIALS, 2):
            sign, upper = tape.signed(pair)
            lower = _raised(tape.uniform(pair + 1), root)
            test = _raised(upper, inner) + _raised(lower, inner)
            if test <= 1:
                ratio = sign * upper / lower * width
                return ratio if ratio.is_finite() else None
            if not test > 1:
                return None
        raise RuntimeError("the source of random bits repeats itself: no pair was accepted")

    @functools.lru_cache(maxsize=64)  # noqa: B019  (laws are small and few)
    def _constants(self, bits: int) -> tuple[_Exponent, _Exponent, Ball]:
        """The exponents a and 1/(p-1) and the width c, at a precision."""
        with precision(bits):
            return _exponent(self.inner), _exponent(1 / (self.power - 1)), ball(self.squared_width).sqrt()

    def rise(self, distance: Ball) -> Ball:
        """``-ln`` of the density, up to a constant: psi(z) = (p/a) ln(1 + (z/c)^a)."""
        inside = distance / ball(self.squared_width).sqrt()
        return ball(self.power / self.inner) * (inside ** ball(self.inner)).log1p()

    def slope(self, distance: Ball) -> Ball:
        """The derivative of ``rise`` at positive distances."""
        width = ball(self.squared_width).sqrt()
        inside = distance / width
        grown = inside ** ball(self.inner)
        return ball(self.power) * grown / (inside * (1 + grown)) / width

    def beyond(self, distance: Ball) -> Ball:
        """P(Z > distance): half of an incomplete beta function of ``1 / (1 + (z/c)^a)``."""
        grown = (distance / ball(self.squared_width).sqrt()) ** ball(self.inner)
        orders = ball((self.power - 1) / self.inner), ball(1 / self.inner)
        return (1 / (1 + grown)).beta_lower(*orders, regularized=True) / 2

    def rises_at_most(self, grow: Ball, moved: Ball, limit: Ball) -> bool:
        """Whether ``psi(w grow + moved) - psi(w) <= limit`` is proved for every w >= 0, cell by cell."""
        return rise_at_most(self, grow, moved, limit)

    def far_rise(self, distance: Ball) -> tuple[Ball, Ball]:
        """``p`` and ``(p/a) ln(1 + (c/z)^a)``: beyond this distance psi is ``p ln(z/c)`` and at most that much more."""
        shrunk = (ball(self.squared_width).sqrt() / distance) ** ball(self.inner)
        return ball(self.power), ball(self.power / self.inner) * shrunk.log1p()

    @property
    def steepest_slope(self) -> Fraction | None:
        """Not needed: tails are heavy."""
        return None

    @property
    def steepest(self) -> float:
        """The largest slope, attained where (z/c)^a = a - 1 (at 0 for a = 1)."""
        a = float(self.inner)
        lipschitz = (a - 1.0) ** ((a - 1.0) / a) / a if a > 1 else 1.0
        return float(self.power) * lipschitz / math.sqrt(float(self.squared_width))

    @property
    def mean_is_finite(self) -> bool:
        return self.power > 2

    @property
    def typical(self) -> float:
        a, p = float(self.inner), float(self.power)
        width = math.sqrt(float(self.squared_width))
        if self.mean_is_finite:
            log_mean = _log_beta(2 / a, (p - 2) / a) - _log_beta(1 / a, (p - 1) / a)
            return width * math.exp(log_mean)
        return self.quantile(0.5)

    def tail(self, distance: Floats) -> Floats:
        grown = (distance / math.sqrt(float(self.squared_width))) ** float(self.inner)
        near = np.minimum(grown, 1.0)
        # Near zero 1 / (1 + grown) would lose the digits of grown, far out its complement those of the tail.
        inside = _special().betainc(*self._beta_orders, near / (1.0 + near))
        outside: Floats = _special().betainc(*self._beta_orders[::-1], 1.0 / (1.0 + grown))
        return np.where(grown < 1.0, 1.0 - inside, outside)

    def log_density(self, distance: Floats) -> Floats:
        a, p = float(self.inner), float(self.power)
        width = math.sqrt(float(self.squared_width))
        height = math.log(a / (2.0 * width)) - _log_beta(1 / a, (p - 1) / a)
        return height - (p / a) * np.log1p((distance / width) ** a)

    def quantile(self, tail: float) -> float:
        width, special = math.sqrt(float(self.squared_width)), _special()
        if tail > 0.5:
            share = float(special.betaincinv(*self._beta_orders, 1.0 - tail))
            grown = share / (1.0 - share)
        else:
            share = float(special.betaincinv(*self._beta_orders[::-1], tail))
            grown = (1.0 - share) / share
        return float(width * grown ** (1.0 / float(self.inner)))

    @property
    def _beta_orders(self) -> tuple[float, float]:
        # (z/c)^a / (1 + (z/c)^a) has the Beta(1/a, (p-1)/a) law.
        return 1 / float(self.inner), float((self.power - 1) / self.inner)

    def prove(self, alpha: Fraction, beta: Fraction, loss: Loss, dimension: int = 1) -> str:
        epsilon = loss.exact_epsilon
        if dimension > 1:
            return self._prove_product(alpha, beta, epsilon, dimension)
        if epsilon < SMALL_LOSS:
            if not flow_proves(self, alpha, beta, epsilon):
                raise NotProved(f"alpha={float(alpha):g}, beta={float(beta):g} not proved")
            return "closed form for small losses (docs/proofs/admissible.md, section 3)"
        corners = (
            (Fraction(0), alpha, "no dilation"),
            (-beta, alpha, "to the wider law"),
            (beta, alpha, "to the narrower law"),
        )
        for stretch, shift, which in corners if beta else corners[:1]:
            # Wider: (w + alpha) e^{-beta} against w, at a cost of beta; narrower: w e^beta + alpha, a gain.
            if not shifted_rise_at_most(self, shift, stretch, epsilon + stretch):
                raise NotProved(f"alpha={float(alpha):g}, beta={float(beta):g} not proved at the corner {which}")
        return "interval arithmetic at the three corners (docs/proofs/admissible.md, section 3)"

    def _prove_product(self, alpha: Fraction, beta: Fraction, epsilon: Fraction, dimension: int) -> str:
        with precision(128):
            dilation_cost = dimension * max(self.power - 1, Fraction(1)) * beta
            if not ball(dilation_cost) + ball(alpha) * self._steepest_ball() <= ball(epsilon):
                raise NotProved(f"alpha={float(alpha):g}, beta={float(beta):g} in {dimension} dimensions")
        return "closed form: d max(p-1, 1) beta + alpha max slope <= epsilon (docs/proofs/admissible.md, section 3)"

    def _steepest_ball(self) -> Ball:
        a = self.inner
        lipschitz = ball(a - 1) ** ball((a - 1) / a) / ball(a) if a > 1 else ball(1)
        return ball(self.power) * lipschitz / ball(self.squared_width).sqrt()

    def guess_alpha(self, beta: float, loss: Loss, dimension: int) -> float:
        epsilon, p = loss.epsilon, float(self.power)
        if dimension > 1:
            return (epsilon - dimension * max(p - 1.0, 1.0) * beta) / self.steepest
        if (p - 1.0) * beta >= epsilon:
            return 0.0
        if epsilon < SMALL_LOSS:
            return flow_alpha(self, beta, epsilon)
        low, high = 0.0, (math.expm1(epsilon) + epsilon) * 10.0 / self.steepest
        while high - low > 1e-10 * high:
            middle = (low + high) / 2.0
            low, high = (middle, high) if self._worst(middle, beta) <= epsilon else (low, middle)
        return low

    def _worst(self, alpha: float, beta: float) -> float:
        """The largest log-ratio over the neighbour box, to float accuracy."""
        corners = {(0.0, alpha), (-beta, alpha), (beta, alpha)}
        return max(_float_supremum(self, shift, stretch) - stretch for stretch, shift in corners)


@dataclass(frozen=True)
class PowerLaw(HeavyTail):
    """Density ``(p-1)/2 (1 + |z|)^{-p}``; our default.

    Guarantee  eps-DP with a smooth scale, in one dimension and (as a product, l1 shifts) in d.
    Theorem    docs/proofs/admissible.md section 2: admissible iff
               eps >= max(p ln(1+alpha), beta + p ln(1 + alpha e^{-beta}), (p-1) beta).
    Constants  Ours alone; p is chosen with (alpha, beta) unless given.
    """

    p: Number | None = None
    name = "power_law"

    def __post_init__(self) -> None:
        if self.p is not None:
            object.__setattr__(self, "p", parameter(self.p, "p", 1 + LEAST_TAIL, MOST_TAIL))

    inner = Fraction(1)

    @property
    def power(self) -> Fraction:
        return Fraction(4) if self.p is None else exact(self.p)

    @property
    def shape(self) -> dict[str, float]:
        return {} if self.p is None else {"p": float(self.p)}

    def variate(self, tape: LazyBits, at: int = 0) -> Ball | None:
        """By inversion: V^{-1/(p-1)} - 1, one uniform and no rejection."""
        sign, uniform = tape.signed(at)
        size = (-uniform.log() * self._rate(ctx.prec)).expm1()
        return sign * size if size.is_finite() else None

    def rises_at_most(self, grow: Ball, moved: Ball, limit: Ball) -> bool:
        # A quotient of linear functions: largest at 0 or far out.
        return bool(ball(self.power) * (1 + moved).log() <= limit) and bool(ball(self.power) * grow.log() <= limit)

    def beyond(self, distance: Ball) -> Ball:
        return (1 + distance) ** ball(1 - self.power) / 2

    @functools.lru_cache(maxsize=64)  # noqa: B019  (laws are small and few)
    def _rate(self, bits: int) -> Ball:
        with precision(bits):
            return ball(1 / (self.power - 1))

    def prove(self, alpha: Fraction, beta: Fraction, loss: Loss, dimension: int = 1) -> str:
        p, d = self.power, dimension
        with precision(128):
            epsilon = ball(loss.exact_epsilon)
            narrowing = ball(d * (p - 1) * beta)
            bounds = [
                d * ball(p) * (ball(alpha) / d).log1p(),
                d * (ball(beta) + ball(p) * (ball(alpha) * (-ball(beta)).exp() / d).log1p()),
                narrowing,
            ]
            # Narrower law: m coordinates share the shift, the others sit in the tail (section 2).
            bounds += [narrowing + m * ball(p) * ((ball(alpha) / m).log1p() - ball(beta)) for m in range(1, d + 1)]
            if not all(bound <= epsilon for bound in bounds):
                raise NotProved(f"p={float(p):g}, alpha={float(alpha):g}, beta={float(beta):g}")
        return "closed form in balls (docs/proofs/admissible.md, section 2)"

    def guess_alpha(self, beta: float, loss: Loss, dimension: int) -> float:
        epsilon, p, d = loss.epsilon, float(self.power), dimension
        room = epsilon - d * (p - 1.0) * beta
        if room < 0.0:
            return 0.0
        flat = d * math.expm1(epsilon / (d * p))
        wider = d * math.exp(beta) * math.expm1((epsilon - d * beta) / (d * p)) if epsilon > d * beta else 0.0
        narrower = min(m * math.expm1(beta + room / (m * p)) for m in range(1, d + 1))
        return min(flat, wider, narrower)

    def candidates(self, loss: Loss, beta: Fraction | None, dimension: int) -> list[tuple[Law, float, float]]:
        if self.p is not None:
            return super().candidates(loss, beta, dimension)

        def served(p: float) -> tuple[Law, float, float]:
            law = PowerLaw(Fraction(round(p * 256), 256))
            chosen = best_beta(law, loss, dimension) if beta is None else float(beta)
            return law, law.guess_alpha(chosen, loss, dimension), chosen

        def worth(p: float) -> float:
            law, alpha, chosen = served(p)
            return alpha * chosen / law.typical

        # The tail must be flat enough for beta: d (p - 1) beta <= epsilon.
        steepest = 12.0 if not beta else min(STEEPEST, 1.0 + loss.epsilon / (dimension * float(beta)))
        if beta is not None and steepest <= 2.0 + 1 / 256:
            return []
        if beta == 0:
            return [served(12.0)]
        result = golden_maximum(worth, 2.0 + 1 / 128, steepest, 1e-3)
        return sorted((served(result + step / 256) for step in (-1, 0, 1)), key=lambda s: -s[1] * s[2] / s[0].typical)

    def paper_point(self, loss: Loss, dimension: int) -> tuple[Fraction, Fraction]:
        """Lemma 2.7's constants with gamma = p: the papers have no power law, so this is for comparison."""
        step = loss.exact_epsilon / (2 * (self.power + 1))
        return step, step / dimension


@dataclass(frozen=True)
class Cauchy(HeavyTail):
    """Density proportional to ``1 / (1 + |z|^gamma)``, gamma > 1 (NRS11 Lemma 2.7).

    Guarantee  eps-DP with a smooth scale, in one dimension and (as a product, l1 shifts) in d.
    Theorem    docs/proofs/admissible.md section 3.
    Constants  Paper: alpha = eps/(2(gamma+1)), beta = alpha/d.  Ours: the exact frontier in one dimension.
    """

    gamma: Number = 4
    name = "cauchy"

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", parameter(self.gamma, "gamma", 1 + LEAST_TAIL, MOST_TAIL))

    @property
    def inner(self) -> Fraction:
        return exact(self.gamma)

    @property
    def power(self) -> Fraction:
        return exact(self.gamma)

    @property
    def shape(self) -> dict[str, float]:
        return {"gamma": float(self.gamma)}

    def paper_point(self, loss: Loss, dimension: int) -> tuple[Fraction, Fraction]:
        step = loss.exact_epsilon / (2 * (exact(self.gamma) + 1))
        return step, step / dimension


@dataclass(frozen=True)
class Student(HeavyTail):
    """Student's t with ``dof`` degrees of freedom.

    Guarantee  eps-DP with a smooth scale, in one dimension and (as a product, l1 shifts) in d.
    Theorem    docs/proofs/admissible.md section 3.
    Constants  Literature: any split of eps = dof beta + alpha (dof+1)/(2 sqrt(dof)); ours: the exact frontier.
    """

    dof: Number = 3
    name = "student"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dof", parameter(self.dof, "dof", LEAST_TAIL, MOST_TAIL))

    inner = Fraction(2)

    @property
    def power(self) -> Fraction:
        return exact(self.dof) + 1

    @property
    def squared_width(self) -> Fraction:
        return exact(self.dof)

    @property
    def shape(self) -> dict[str, float]:
        return {"dof": float(self.dof)}

    def paper_point(self, loss: Loss, dimension: int) -> tuple[Fraction, Fraction]:
        """An even split of epsilon between shift and dilation in the closed form of the literature."""
        half = loss.exact_epsilon / 2
        slope = exact(math.nextafter(self.steepest, math.inf))
        return half / slope, half / (max(exact(self.dof), Fraction(1)) * dimension)


def _float_supremum(law: HeavyTail, shift: float, stretch: float) -> float:
    """The supremum over w >= 0 of psi(w e^stretch + shift') - psi(w), shift' as at that corner."""
    a, c = float(law.inner), math.sqrt(float(law.squared_width))
    factor, grow, log_c = float(law.power) / a, math.exp(stretch), math.log(c)
    moved = shift * grow if stretch < 0 else shift

    def gain(log_w: NDArray[np.float64]) -> NDArray[np.float64]:
        inside = np.log(np.exp(log_w) * grow + moved)
        return factor * (np.logaddexp(0.0, a * (inside - log_c)) - np.logaddexp(0.0, a * (log_w - log_c)))

    # A coarse scan finds the hump, a fine one climbs it; w = 0 and w -> infinity are the ends.
    coarse = np.linspace(-12.0, 24.0, 289)
    top = coarse[int(np.argmax(gain(coarse)))]
    climbed = float(np.max(gain(np.linspace(top - 0.125, top + 0.125, 201))))
    at_zero = factor * math.log1p((moved / c) ** a)
    return max(climbed, at_zero, float(law.power) * stretch)


def _exponent(exponent: Fraction) -> _Exponent:
    """Whole powers and whole roots are several times faster than general ones."""
    if exponent.denominator == 1:
        return "power", int(exponent)
    if exponent.numerator == 1:
        return "root", exponent.denominator
    return "general", ball(exponent)


def _raised(value: Ball, exponent: _Exponent) -> Ball:
    if exponent[0] == "root":
        return value.root(exponent[1])
    return value ** exponent[1]


def _log_beta(x: float, y: float) -> float:
    return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)


def _special() -> ModuleType:
    import scipy.special  # noqa: PLC0415  (a third of a second that most releases do not need)

    special: ModuleType = scipy.special
    return special
