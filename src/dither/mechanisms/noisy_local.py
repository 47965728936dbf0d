"""Noise scaled to a noisy local sensitivity, whose own noise is scaled to a noisy gauge (Karwa et al. 2011)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dither.errors import InvalidArgument, NotApplicable
from dither.mechanisms.mechanism import Mechanism, MechanismSpec, Outcome, Prepared, only_noises
from dither.mechanisms.worst_case import around, headroom, public_half_width
from dither.noise.laplace import Laplace, integer_laplace
from dither.numbers import ball, exact, precision
from dither.privacy import Loss
from dither.sensitivity.local import HasLocalSensitivity
from dither.statistics.statistic import Statistic

SHARES = (Fraction(1, 5), Fraction(2, 5), Fraction(2, 5))
"""Of epsilon: for the gauge, for the local sensitivity, for the answer."""


@dataclass(frozen=True)
class NoisyLocal(Mechanism):
    """Laplace noise scaled to a private upper bound on the local sensitivity.

    Releases   a gauge and a local sensitivity, each with integer Laplace noise and raised so far that it falls short of
               the truth with probability delta/2; then the answer with integer Laplace noise of that scale.
    Guarantee  (eps, delta)-DP: both thresholds and all three noises are paid for.
    Theorem    Karwa, Raskhodnikova, Smith, Yaroslavtsev 2011, Algorithm 1, for any steady statistic;
               docs/proofs/noisy_local.md.
    Constants  Karwa et al. split evenly and treat k-triangles; here a fifth goes to the gauge, none where the drift
               does not depend on it.  Their drift 3 C(a, k-1) + a C(a, k-2) is too small for k >= 3.
    Cost       The gauge and the local sensitivity.  Error bars are free: the scale is private no more.

    >>> import dither as dt
    >>> graph = dt.Graph([(0, 1), (1, 2), (0, 2), (2, 3)], n=5)
    >>> release = dt.ask(dt.KStars(2), graph, epsilon=2.0, delta=1e-6, mechanism="noisy_local")
    >>> release.loss
    Loss(epsilon=2.0, delta=1e-06)
    """

    shares: tuple[Any, Any, Any] = SHARES
    name = "noisy_local"

    def __post_init__(self) -> None:
        accepted = "three positive shares that add up to at most 1 are accepted"
        if not isinstance(self.shares, tuple) or len(self.shares) != 3:
            raise InvalidArgument("shares", self.shares, accepted)
        parts = [exact(share, "shares") for share in self.shares]
        if min(parts) <= 0 or sum(parts) > 1:
            raise InvalidArgument("shares", self.shares, accepted)

    def prepare(self, ask: MechanismSpec) -> Prepared:
        only_noises(self.name, ask.noise, "laplace")
        statistic = ask.statistic
        if not isinstance(statistic, Statistic) or not isinstance(statistic, HasLocalSensitivity):
            raise NotApplicable(
                "mechanism", self.name, "this query does not bound how far its local sensitivity moves", "smooth"
            )
        if not ask.loss.delta:
            raise NotApplicable(
                "delta", ask.loss.delta, "a noisy local sensitivity may fall short of the truth",
                "delta > 0, or mechanism='smooth' or 'ladder' with delta = 0",
            )  # fmt: skip
        epsilon, delta = ask.usable.exact_epsilon, ask.usable.exact_delta
        first, second, third = (exact(share, "shares") for share in self.shares)
        if statistic.local_sensitivity_change(0) == statistic.local_sensitivity_change(statistic.most_lipschitz_proxy):
            # The drift is the same on all data: nothing to buy a gauge for.
            rest = epsilon * (first + second + third) / (second + third)
            return NoisyLocalNoise(statistic, ask.loss, None, rest * second, rest * third, delta, ask.confidence)
        return NoisyLocalNoise(
            statistic, ask.loss, epsilon * first, epsilon * second, epsilon * third, delta / 2, ask.confidence
        )


@dataclass(frozen=True)
class NoisyLocalNoise(Prepared):
    """Three integer Laplace draws, each scaled by the one before."""

    mechanism: ClassVar[str] = "noisy_local"
    statistic: Statistic
    loss: Loss
    gauge_epsilon: Fraction | None
    """None: the drift is public without a gauge."""
    local_epsilon: Fraction
    answer_epsilon: Fraction
    shortfall: Fraction
    """The chance that each raised number falls short of the truth."""
    confidence: Fraction | None
    noise_name = "laplace"

    def run(self, data: Any) -> Outcome:
        steady: Any = self.statistic
        local_sensitivity_change = steady.local_sensitivity_change(self._gauge(steady.lipschitz_proxy(data)))
        scale = Fraction(self._local(steady.local(data), local_sensitivity_change)) / self.answer_epsilon
        noisy = integer_laplace(
            self.statistic.value(data),
            scale,
            headroom=headroom(self.statistic.global_sensitivity / self.answer_epsilon),
        )
        half_width = None if self.confidence is None else public_half_width(Laplace(), scale, self.confidence)
        return around(self.statistic, noisy, half_width)

    def _gauge(self, true: int) -> int:
        """At least the true gauge, but for the allowed shortfall: private no more."""
        most: int = self.statistic.most_lipschitz_proxy  # type: ignore[attr-defined]
        if self.gauge_epsilon is None:
            return most
        scale = 1 / self.gauge_epsilon
        noisy = integer_laplace(true, scale, headroom=headroom(scale)) + raised_by(scale, self.shortfall)
        return min(max(noisy, 0), most)

    def _local(self, true: int, local_sensitivity_change: int) -> int:
        """At least the true local sensitivity, but for the allowed shortfall: private no more."""
        noisy = true
        if local_sensitivity_change:
            scale = local_sensitivity_change / self.local_epsilon
            noisy = integer_laplace(true, scale, headroom=headroom(scale)) + raised_by(scale, self.shortfall)
        # One grid step at least: a scale of nothing would be no noise.  No local sensitivity exceeds the cap.
        return min(max(noisy, 1), max(self.statistic.global_sensitivity, 1))


def raised_by(scale: Fraction, shortfall: Fraction) -> int:
    """The least t with ``P(K < -t) <= shortfall`` for integer Laplace noise K, or a little more.

    ``P(K < -t) = e^{-(t+1)/scale} / (1 + e^{-1/scale})``.
    """
    with precision(128):
        inverse = ball(1 / scale)
        steps = (-ball(shortfall).log() - (1 + (-inverse).exp()).log()) / inverse
        return max(int(steps.upper().ceil().unique_fmpz()) - 1, 0)
