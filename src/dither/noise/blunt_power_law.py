"""The blunt power law: power tails, and a peak that falls no faster than the loss allows.

With the exponent p and a = p - 1, the density is proportional to ``(1 - |z|)^(a-1)`` up to ``1/a`` and, without a jump
or a kink there, to ``(1 + |z|)^-p`` beyond.  A shift and a dilation of the scale together then cost the same at every
place, where a power law spends most of its loss at the peak (docs/proofs/admissible.md, section 2a).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import ctx

from dither.errors import NotProved
from dither.kernels.elementary import Floats
from dither.noise.entropy import LazyBits
from dither.noise.law import Law, best_beta, golden_maximum, parameter
from dither.numbers import Ball, Number, ball, exact, precision
from dither.privacy import Loss

LEAST = 2 + Fraction(1, 64)
"""The smallest p: at 2 the peak would be a point and the mean infinite."""
MOST = 1 << 9
"""The largest p: from here on it is a Laplace law to the eye."""
MOST_TRIED = 64.0
"""The largest p that is looked for between the ends."""
STEP = 256
"""Exponents that are chosen are whole 256ths."""
_BITS = 128


@dataclass(frozen=True)
class BluntPowerLaw(Law):
    """Density proportional to ``(1-|z|)^{p-2}`` up to ``1/(p-1)``, to ``(1+|z|)^{-p}`` beyond; our default.

    Guarantee  eps-DP with a smooth scale, in one dimension and (as a product, l1 shifts) in d.
    Theorem    docs/proofs/admissible.md section 2a: the three corners of the neighbour box, each with its supremum in
               closed form.
    Constants  Ours alone; p is chosen with (alpha, beta) unless given.  The parameters are those of PolyPlace (Hladik
               and Tetek, FORC 2025), whose scale S/beta and exponent epsilon/beta are a point inside of ours.
    """

    p: Number | None = None
    name = "blunt_power_law"
    pure = True
    steepest_slope = None

    def __post_init__(self) -> None:
        if self.p is not None:
            object.__setattr__(self, "p", parameter(self.p, "p", LEAST, MOST))

    @property
    def power(self) -> Fraction:
        """The exponent p of the tail."""
        return Fraction(4) if self.p is None else exact(self.p)

    @property
    def shape(self) -> dict[str, float]:
        return {} if self.p is None else {"p": float(self.p)}

    def variate(self, tape: LazyBits, at: int = 0) -> Ball | None:
        """By inversion of the two halves: one uniform and no rejection."""
        sign, uniform = tape.signed(at)
        steepness, kept, outer, total = self._masses(ctx.prec)
        level = uniform * total
        if level < outer:
            size = (1 + 1 / steepness) * ((outer / level).log() / steepness).exp() - 1
        elif level > outer:
            size = -((level - outer + kept).log() / steepness).expm1()
        else:
            return None
        return sign * size if size.is_finite() else None

    @functools.lru_cache(maxsize=64)  # noqa: B019  (laws are small and few)
    def _masses(self, bits: int) -> tuple[Ball, Ball, Ball, Ball]:
        """a, ``(1 - 1/a)^a``, and a times the integral of the density's shape: beyond ``1/a``, and over all z >= 0."""
        with precision(bits):
            steepness = ball(self.power - 1)
            kept = (steepness * (-1 / steepness).log1p()).exp()
            outer = kept * (steepness + 1) / (steepness - 1)
            return steepness, kept, outer, 1 - kept + outer

    def rise(self, distance: Ball) -> Ball:
        """``-ln`` of the density, up to a constant: psi(w), which rises from 0."""
        return self._on_both_sides(self._inner_rise, self._outer_rise, distance)

    def slope(self, distance: Ball) -> Ball:
        """The derivative of ``rise``: it grows up to ``1/a``, where it is a, and falls from there on."""
        a = ball(self.power - 1)
        found = self._on_both_sides(lambda w: (a - 1) / (1 - w), lambda w: (a + 1) / (1 + w), distance)
        decided = bool(distance <= self._joint()) or bool(distance >= self._joint())
        return found if decided else found.union(a)

    def beyond(self, distance: Ball) -> Ball:
        """P(Z > distance)."""
        a, kept, outer, total = self._masses(ctx.prec)
        return self._on_both_sides(
            lambda w: ((a * (-w).log1p()).exp() - kept + outer) / (2 * total),
            lambda w: outer * (a * ((1 + 1 / a).log() - w.log1p())).exp() / (2 * total),
            distance,
        )

    def far_rise(self, distance: Ball) -> tuple[Ball, Ball]:
        """p, and what psi is at most above ``p ln z`` and a constant from this distance on: ``psi - p ln z`` falls."""
        p = ball(self.power)
        constant = self._inner_rise(self._joint()) - p * self._joint().log1p()
        return p, self.rise(distance) - p * distance.log() - constant

    def _joint(self) -> Ball:
        """1/a: where the two parts of the density meet."""
        return ball(1 / (self.power - 1))

    def _inner_rise(self, distance: Ball) -> Ball:
        return -ball(self.power - 2) * (-distance).log1p()

    def _outer_rise(self, distance: Ball) -> Ball:
        joint = self._joint()
        return self._inner_rise(joint) + ball(self.power) * ((distance - joint) / (1 + joint)).log1p()

    def _on_both_sides(self, inner: Callable[[Ball], Ball], outer: Callable[[Ball], Ball], distance: Ball) -> Ball:
        """One of two monotone functions; over a ball that may hold the joint, the hull of what its ends can have."""
        joint = self._joint()
        if distance <= joint:
            return inner(distance)
        if distance >= joint:
            return outer(distance)
        values = []
        for end in (distance.lower(), distance.upper()):
            values += [] if end > joint else [inner(end)]
            values += [] if end < joint else [outer(end)]
        return functools.reduce(lambda one, other: one.union(other), values)

    def rises_at_most(self, grow: Ball, moved: Ball, limit: Ball) -> bool:
        """Whether ``psi(w grow + moved) - psi(w) <= limit`` for every w >= 0: largest at 0, far out, or at one peak."""
        a = ball(self.power - 1)
        peak = ((a + 1) * grow - (a - 1) * (1 + moved)) / (2 * a * grow)
        places = [ball(0)] if peak < 0 else [ball(0), peak]
        return (
            bool(limit >= 0)
            and bool(ball(self.power) * grow.log() <= limit)
            and all(self.rise(w * grow + moved) - self.rise(w) <= limit for w in places)
        )

    @property
    def typical(self) -> float:
        a = float(self.power - 1)
        kept, outer, total = self._float_masses()
        near = (1.0 - 2.0 * kept) / (a + 1.0)
        return (near + outer * 2.0 / (a - 1.0)) / total

    def _float_masses(self) -> tuple[float, float, float]:
        a = float(self.power - 1)
        kept = math.exp(a * math.log1p(-1.0 / a))
        outer = kept * (a + 1.0) / (a - 1.0)
        return kept, outer, 1.0 - kept + outer

    def tail(self, distance: Floats) -> Floats:
        a = float(self.power - 1)
        kept, outer, total = self._float_masses()
        near = np.exp(a * np.log1p(-np.minimum(distance, 1.0 / a))) - kept + outer
        far = outer * np.exp(a * (math.log1p(1.0 / a) - np.log1p(distance)))
        result: Floats = np.where(distance <= 1.0 / a, near, far) / total
        return result

    def log_density(self, distance: Floats) -> Floats:
        a = float(self.power - 1)
        height = math.log(a / (2.0 * self._float_masses()[2]))
        near = (a - 1.0) * np.log1p(-np.minimum(distance, 1.0 / a))
        far = (a - 1.0) * math.log1p(-1.0 / a) - (a + 1.0) * (np.log1p(distance) - math.log1p(1.0 / a))
        result: Floats = height + np.where(distance <= 1.0 / a, near, far)
        return result

    def quantile(self, tail: float) -> float:
        a = float(self.power - 1)
        _, outer, total = self._float_masses()
        level = tail * total
        if level <= outer:
            return (1.0 + 1.0 / a) * math.pow(outer / level, 1.0 / a) - 1.0
        return -math.expm1(math.log1p((tail - 1.0) * total) / a)

    def prove(self, alpha: Fraction, beta: Fraction, loss: Loss, dimension: int = 1) -> str:
        with precision(_BITS):
            if dimension > 1:
                spent = ball((self.power - 1) * ((dimension - 1) * beta + max(alpha, beta)))
                if not spent <= ball(loss.exact_epsilon):
                    raise NotProved(f"p={float(self.power):g}, alpha={float(alpha):g}, beta={float(beta):g}")
                return "closed form: (p - 1)((d - 1) beta + max(alpha, beta)) <= epsilon (admissible.md, 2a)"
            for stretch in (Fraction(0), -beta, beta) if beta else (Fraction(0),):
                grow = ball(stretch).exp()
                moved = ball(alpha) * grow if stretch < 0 else ball(alpha)
                if not self.rises_at_most(grow, moved, ball(loss.exact_epsilon + stretch)):
                    raise NotProved(f"p={float(self.power):g}, alpha={float(alpha):g}, beta={float(beta):g}")
        return "closed form in balls at the three corners (docs/proofs/admissible.md, section 2a)"

    def guess_alpha(self, beta: float, loss: Loss, dimension: int) -> float:
        epsilon, a = loss.epsilon, float(self.power - 1)
        if a * dimension * beta > epsilon:
            return 0.0
        if dimension > 1:
            return epsilon / a - (dimension - 1) * beta
        # No more than where psi itself is epsilon, the log-ratio of a shift at the peak.
        joint = -(a - 1.0) * math.log1p(-1.0 / a)
        beyond = (1.0 + 1.0 / a) * math.exp(max(epsilon - joint, 0.0) / (a + 1.0)) - 1.0
        low, high = 0.0, beyond if epsilon > joint else -math.expm1(-epsilon / (a - 1.0))
        for _ in range(48):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self._worst(middle, beta) <= epsilon else (low, middle)
        return low

    def _worst(self, alpha: float, beta: float) -> float:
        """The largest log-ratio over the three corners, far out aside, to float accuracy."""
        return max(self._float_gain(stretch, alpha) - stretch for stretch in (0.0, -beta, beta))

    def _float_gain(self, stretch: float, alpha: float) -> float:
        """``psi(w e^b + m) - psi(w)`` where it is largest: at its peak, or at 0."""
        a, grow, growth = float(self.power - 1), math.exp(stretch), math.expm1(stretch)
        moved = alpha * grow if stretch < 0 else alpha
        peak = ((a + 1.0) * grow - (a - 1.0) * (1.0 + moved)) / (2.0 * a * grow)
        if moved > abs(growth) and peak > 0.0:
            before, behind = (a - 1.0) * (moved - growth) / (2.0 * a * grow), (a + 1.0) * (moved + growth) / (2.0 * a)
        else:
            peak, before, behind = 0.0, min(moved, 1.0 / a), max(moved - 1.0 / a, 0.0)
        return -(a - 1.0) * math.log1p(-before / (1.0 - peak)) + (a + 1.0) * math.log1p(behind / (1.0 + 1.0 / a))

    def candidates(self, loss: Loss, beta: Fraction | None, dimension: int) -> list[tuple[Law, float, float]]:
        if self.p is not None:
            return super().candidates(loss, beta, dimension)
        # The tail must be flat enough: d (p - 1) beta <= epsilon.  The steepest such p is best up to epsilon 3 or so.
        steepest = float(MOST if not beta else min(Fraction(MOST), 1 + loss.exact_epsilon / (dimension * beta)))

        def served(p: float) -> tuple[Law, float, float]:
            law = BluntPowerLaw(max(Fraction(math.floor(p * STEP), STEP), LEAST))
            if beta is not None:
                chosen = float(beta)
            elif dimension == 1:
                chosen = loss.epsilon / float(law.power - 1) * (1.0 - 1e-9)
            else:
                chosen = best_beta(law, loss, dimension)
            return law, law.guess_alpha(chosen, loss, dimension), chosen

        def worth(p: float) -> float:
            return value(served(p))

        def value(item: tuple[Law, float, float]) -> float:
            law, alpha, chosen = item
            return alpha * (chosen if beta is None else 1.0) / law.typical

        if steepest < float(LEAST):
            return []
        result = golden_maximum(worth, float(LEAST), min(steepest, MOST_TRIED), 1e-3)
        tried = [served(result + step / STEP) for step in (-1, 0, 1)]
        if beta is not None and dimension == 1:
            tried += [served(steepest - 1e-6), served(steepest - 1.0 / STEP)]
        return sorted(tried, key=value, reverse=True)

    def paper_point(self, loss: Loss, dimension: int) -> tuple[Fraction, Fraction]:
        """PolyPlace's scale and exponent: alpha = beta = epsilon/(p - 1) in one dimension."""
        # A little less: at the very point the tail of the narrower law costs just epsilon, which no ball proves.
        most = loss.exact_epsilon / (self.power - 1) * (1 - Fraction(1, 1 << 40))
        return most / dimension, most / dimension
