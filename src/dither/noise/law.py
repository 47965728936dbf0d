"""What every noise law offers: a lazily refined draw, its tails, and admissible points with their proofs.

A law is the distribution of a *standard* variate Z.  A release is ``f(x) + (S(x) / alpha) Z`` rounded to a
public grid.  Between neighbours the two output distributions differ by a shift of at most
``alpha * min(1, e^l)`` and a dilation ``e^l`` with ``|l| <= beta`` (in units of the first scale).  The point
(alpha, beta) is *admissible* for a loss if every pair in that box satisfies the hockey-stick bound; see
docs/proofs/admissible.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, TypeAlias

from dither.errors import InvalidArgument, NotApplicable, NotProved
from dither.kernels.elementary import Floats
from dither.noise.entropy import LazyBits
from dither.numbers import Ball, Number, exact, round_down
from dither.privacy import Loss

Constants: TypeAlias = Literal["exact", "paper"]
MOST_HALVINGS = 200
"""Smaller parts of epsilon than 2**-200 are not tried as a smoothness."""


@dataclass(frozen=True)
class AdmissiblePoint:
    """An admissible point in use, and what its proof rests on."""

    law: Law
    alpha: Fraction
    beta: Fraction
    loss: Loss
    dimension: int
    constants: Constants
    proof: str

    @property
    def shape(self) -> dict[str, float]:
        """The law's parameters."""
        return self.law.shape

    @property
    def error_factor(self) -> float:
        """``E|Z| / (alpha beta)`` (the median of |Z| where the mean is infinite): lower is better.

        On evenly spaced data the expected error of a median is this factor times gap / e.
        """
        return self.law.typical / float(self.alpha * self.beta) if self.beta else float("inf")

    def __str__(self) -> str:
        return f"{self.law}: alpha={float(self.alpha):.6g}, beta={float(self.beta):.6g} for {self.loss}; {self.proof}"


class Law(ABC):
    """A symmetric standard noise law with a density that falls away from zero."""

    name: ClassVar[str]
    pure: ClassVar[bool]
    """True if the law gives delta = 0 under dilation."""
    why_delta: ClassVar[str] = "needs delta > 0 when its scale depends on the data"
    norm: ClassVar[Literal["l1", "l2"]] = "l1"
    """The norm in which shifts are measured in more than one dimension."""

    @abstractmethod
    def variate(self, tape: LazyBits, at: int = 0) -> Ball | None:
        """A ball around Z as far as the tape decides it; None if the tape must be extended.

        Uses the tape's reals from index ``at`` on.
        """

    @property
    @abstractmethod
    def shape(self) -> dict[str, float]:
        """The parameters, by name."""

    @property
    @abstractmethod
    def typical(self) -> float:
        """The mean of |Z|, or its median where the mean is infinite."""

    @property
    def mean_is_finite(self) -> bool:
        """Whether |Z| has a finite mean."""
        return True

    @abstractmethod
    def tail(self, distance: Floats) -> Floats:
        """P(|Z| > distance), entry by entry."""

    @abstractmethod
    def log_density(self, distance: Floats) -> Floats:
        """The logarithm of the density at this distance from zero, entry by entry; for audits and plots."""

    @abstractmethod
    def quantile(self, tail: float) -> float:
        """The distance with P(|Z| > distance) = tail."""

    @abstractmethod
    def prove(self, alpha: Fraction, beta: Fraction, loss: Loss, dimension: int = 1) -> str:
        """What proves that (alpha, beta) is admissible for ``loss``; raises NotProved if it is not."""

    @abstractmethod
    def guess_alpha(self, beta: float, loss: Loss, dimension: int) -> float:
        """The greatest admissible alpha for this beta, to float accuracy; 0 if there is none."""

    @abstractmethod
    def paper_point(self, loss: Loss, dimension: int) -> tuple[Fraction, Fraction]:
        """The (alpha, beta) that the literature gives."""

    def candidates(self, loss: Loss, beta: Fraction | None, dimension: int) -> list[tuple[Law, float, float]]:
        """Laws of this family with the (alpha, beta) that serve best, best first."""
        if beta is not None:
            return [(self, self.guess_alpha(float(beta), loss, dimension), float(beta))]
        best = best_beta(self, loss, dimension)
        return [(self, self.guess_alpha(best, loss, dimension), best)]

    def point(
        self,
        loss: Loss,
        *,
        beta: Fraction | None = None,
        dimension: int = 1,
        constants: Constants = "exact",
    ) -> AdmissiblePoint:
        """The proved point to use for ``loss``: the best on the frontier, the best at ``beta``, or the paper's."""
        self.check(loss, dilated=beta is None or beta > 0)
        if beta is not None and beta < 0:
            raise InvalidArgument("beta", beta, "must not be negative")
        if constants == "paper":
            alpha, paper_beta = self.paper_point(loss, dimension)
            proof = self.prove(alpha, paper_beta, loss, dimension)
            return AdmissiblePoint(self, alpha, paper_beta, loss, dimension, "paper", proof)
        for law, guess_alpha, guess_beta in self.candidates(loss, beta, dimension):
            result = _prove_near(law, guess_alpha, guess_beta if beta is None else beta, loss, dimension)
            if result is not None:
                return result
        if beta is None:
            raise NotProved(f"no admissible point of {self} could be proved for {loss}")
        raise InvalidArgument("beta", beta, f"{self} admits no noise at this beta for {loss}; pass a smaller one")

    def check(self, loss: Loss, *, dilated: bool) -> None:
        """Raise if this law cannot give ``loss``."""
        if dilated and not self.pure and loss.is_pure:
            raise NotApplicable(
                "noise",
                self.name,
                self.why_delta,
                "blunt_power_law, power_law, cauchy or student with delta=0, or this one with delta > 0",
            )

    def __str__(self) -> str:
        inside = ", ".join(f"{key}={value:g}" for key, value in self.shape.items())
        return f"{self.name}({inside})" if inside else self.name


def best_beta(law: Law, loss: Loss, dimension: int) -> float:
    """The beta that maximises alpha * beta along the frontier (the default rule), by golden section."""
    low, high = 0.0, float(loss.epsilon)
    for _ in range(MOST_HALVINGS):
        if law.guess_alpha(high, loss, dimension) > 0.0:
            break
        high /= 2.0
    else:
        raise NotProved(f"no smoothness of {law} was found for {loss}")
    high = min(2.0 * high, float(loss.epsilon))
    return golden_maximum(lambda beta: beta * law.guess_alpha(beta, loss, dimension), low, high, 1e-5)


def golden_maximum(objective: Callable[[float], float], low: float, high: float, tolerance: float = 1e-7) -> float:
    """The best place that a golden section meets on [low, high]; the maximum of a unimodal function."""
    ratio, span = 0.6180339887498949, high - low
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = objective(left), objective(right)
    best = max((at_left, left), (at_right, right))
    while high - low > tolerance * span:
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = objective(left)
            best = max(best, (at_left, left))
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = objective(right)
            best = max(best, (at_right, right))
    return best[1]


def parameter(value: Number, argument: str, least: Fraction, most: int) -> Fraction:
    """A law's shape parameter, exactly: draws of other laws of its family would take too long or too many digits."""
    number = exact(value, argument)
    if not least <= number <= most:
        raise InvalidArgument(argument, value, f"must be a number from {float(least):.7g} to {most}")
    return number


def _prove_near(law: Law, alpha: float, beta: float | Fraction, loss: Loss, dimension: int) -> AdmissiblePoint | None:
    """Step back from a float guess of the frontier until the point can be proved."""
    for slack in (1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2):
        if not alpha > 0:
            return None
        tried = round_down(alpha * (1.0 - slack))
        kept = beta if isinstance(beta, Fraction) else round_down(beta * (1.0 - slack))
        try:
            return AdmissiblePoint(law, tried, kept, loss, dimension, "exact", law.prove(tried, kept, loss, dimension))
        except NotProved:
            continue
    return None
