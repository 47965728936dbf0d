"""Noise scaled to a local sensitivity with noise of its own, scaled by a noisy Lipschitz proxy (Karwa et al. 2011)."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np

from dither.errors import InvalidArgument, NotApplicable
from dither.kernels.elementary import Floats
from dither.mechanisms.error import ErrorLaw, WorstCaseError, cut_half_width, rooms
from dither.mechanisms.mechanism import Mechanism, MechanismSpec, Outcome, Prepared, only_noises
from dither.mechanisms.registry import mechanism
from dither.mechanisms.worst_case import around, headroom, placed, public_half_width, public_noise_error
from dither.noise.laplace import Laplace, integer_laplace
from dither.numbers import Number, ball, exact, integer_in, precision
from dither.privacy import Loss
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.local import HasLocalSensitivity
from dither.statistics.statistic import Statistic

SHARES = (Fraction(1, 5), Fraction(2, 5), Fraction(2, 5))
"""Of epsilon: for the Lipschitz proxy, for the local sensitivity, for the answer."""
_FAR = 30.0
_CELLS = 256
"""Integer Laplace noise is summed up to 30 times its scale on either side, in at most so many runs."""


@mechanism("noisy_local", needs=HasLocalSensitivity)
@dataclass(frozen=True)
class NoisyLocal(Mechanism):
    """Laplace noise scaled to a private upper bound on the local sensitivity.

    Releases   a Lipschitz proxy and a local sensitivity, each with integer Laplace noise and raised so far that it
               falls short of the truth with probability delta/2; then the answer with integer Laplace noise of that
               scale.
    Guarantee  (eps, delta)-DP: both thresholds and all three noises are paid for.
    Theorem    Karwa, Raskhodnikova, Smith, Yaroslavtsev 2011, Algorithm 1, for any such statistic;
               docs/proofs/noisy_local.md.
    Constants  Karwa et al. split evenly and treat k-triangles; here a fifth goes to the Lipschitz proxy, none where
               the change of the local sensitivity does not depend on it.  Their bound on that change,
               3 C(a, k-1) + a C(a, k-2), is too small for k >= 3.
    Cost       The Lipschitz proxy and the local sensitivity.  Intervals are free: the scale is private no more.

    >>> import dither as dt
    >>> graph = dt.Graph([(0, 1), (1, 2), (0, 2), (2, 3)], n=5)
    >>> release = dt.ask(dt.KStars(2), graph, epsilon=2.0, delta=1e-6, mechanism="noisy_local")
    >>> release.loss
    Loss(epsilon=2.0, delta=1e-06)
    """

    shares: tuple[Number, Number, Number] = SHARES

    def __post_init__(self) -> None:
        accepted = "must be three positive shares that add up to at most 1"
        if not isinstance(self.shares, tuple) or len(self.shares) != 3:
            raise InvalidArgument("shares", self.shares, accepted)
        parts = [exact(share, "shares") for share in self.shares]
        if min(parts) <= 0 or sum(parts) > 1:
            raise InvalidArgument("shares", self.shares, accepted)

    def prepare(self, ask: MechanismSpec[Data]) -> Prepared[Data]:
        only_noises(self.name, ask.noise, "laplace")
        statistic = ask.statistic
        if not isinstance(statistic, Statistic) or not isinstance(statistic, HasLocalSensitivity):
            raise NotApplicable(
                "mechanism", self.name, "this query does not bound how far its local sensitivity moves", "smooth"
            )
        if not ask.loss.delta:
            raise NotApplicable(
                "delta",
                ask.loss.delta,
                "a noisy local sensitivity may fall short of the truth",
                "delta > 0, or mechanism='smooth' or 'ladder' with delta = 0",
            )
        epsilon, delta = ask.usable.exact_epsilon, ask.usable.exact_delta
        first, second, third = (exact(share, "shares") for share in self.shares)
        if statistic.local_sensitivity_change(0) == statistic.local_sensitivity_change(statistic.most_lipschitz_proxy):
            # The change of the local sensitivity is the same on all data: no Lipschitz proxy is needed.
            rest = epsilon * (first + second + third) / (second + third)
            return NoisyLocalNoise(statistic, ask.loss, None, rest * second, rest * third, delta, ask.confidence)
        return NoisyLocalNoise(
            statistic, ask.loss, epsilon * first, epsilon * second, epsilon * third, delta / 2, ask.confidence
        )


@dataclass(frozen=True)
class NoisyLocalNoise(Prepared[Data]):
    """Three integer Laplace draws, each scaled by the one before."""

    mechanism = "noisy_local"
    statistic: Statistic[Data]
    loss: Loss
    proxy_epsilon: Fraction | None
    """None: the change of the local sensitivity is public without a Lipschitz proxy."""
    local_epsilon: Fraction
    answer_epsilon: Fraction
    shortfall: Fraction
    """The chance that each raised number falls short of the truth."""
    confidence: Fraction | None
    noise_name = "laplace"

    @property
    def _moving(self) -> HasLocalSensitivity[Data]:
        """The same statistic, as one whose local sensitivity moves slowly: ``prepare`` serves no other."""
        return cast("HasLocalSensitivity[Data]", self.statistic)

    def run(self, data: Data) -> Outcome:
        statistic = self._moving
        local_sensitivity_change = statistic.local_sensitivity_change(self._proxy(statistic.lipschitz_proxy(data)))
        scale = Fraction(self._local(statistic.local(data), local_sensitivity_change)) / self.answer_epsilon
        noisy = integer_laplace(
            self.statistic.value(data),
            scale,
            headroom=headroom(self.statistic.global_sensitivity / self.answer_epsilon),
        )
        half_width = None if self.confidence is None else public_half_width(Laplace(), scale, self.confidence)
        return around(self.statistic, noisy, half_width)

    def _proxy(self, true: int) -> int:
        """At least the true Lipschitz proxy, but for the allowed shortfall: private no more."""
        most = self._moving.most_lipschitz_proxy
        if self.proxy_epsilon is None:
            return most
        scale = 1 / self.proxy_epsilon
        noisy = integer_laplace(true, scale, headroom=headroom(scale)) + raised_by(scale, self.shortfall)
        return min(max(noisy, 0), most)

    def _local(self, true: int, local_sensitivity_change: int) -> int:
        """At least the true local sensitivity, but for the allowed shortfall: private no more."""
        noisy = true
        if local_sensitivity_change:
            scale = local_sensitivity_change / self.local_epsilon
            noisy = integer_laplace(true, scale, headroom=headroom(scale)) + raised_by(scale, self.shortfall)
        # One grid step at least: a scale of nothing would be no noise.  No local sensitivity exceeds the global one.
        return min(max(noisy, 1), self._most_local)

    @property
    def _most_local(self) -> int:
        return max(self.statistic.global_sensitivity, 1)

    def error_laws(self, records: Data) -> list[ErrorLaw]:
        local, mass = self._noisy_locals(records)
        return [LaplaceMixture(local / float(self.answer_epsilon), mass, rooms(*placed(self.statistic, records)))]

    def worst_case_error(self, confidence: float, records: int | None = None) -> WorstCaseError:  # noqa: ARG002
        """No scale is greater than that of the global sensitivity, and the error grows with the scale."""
        most = Fraction(self._most_local) / self.answer_epsilon
        return dataclasses.replace(public_noise_error(Laplace(), most, self.statistic, confidence), attained=False)

    def typical_half_widths(self, records: Data) -> tuple[float, ...] | None:
        if self.confidence is None:
            return None
        locals_, mass = self._noisy_locals(records)
        grid, value = placed(self.statistic, records)
        scales = (Fraction(local) / self.answer_epsilon for local in locals_.tolist())
        widths = [
            cut_half_width(float(public_half_width(Laplace(), scale, self.confidence)), grid, value) for scale in scales
        ]
        return (float(np.dot(mass, widths)),)

    def _noisy_locals(self, records: Data) -> tuple[Floats, Floats]:
        """The local sensitivities that may be used, and how likely each is."""
        statistic = self._moving
        proxy, most = statistic.lipschitz_proxy(records), statistic.most_lipschitz_proxy
        changes: dict[int, float] = {}
        if self.proxy_epsilon is None:
            changes[statistic.local_sensitivity_change(most)] = 1.0
        else:
            scale = 1 / self.proxy_epsilon
            raised = proxy + raised_by(scale, self.shortfall)
            for noise, mass in zip(*integer_laplace_cells(float(scale)), strict=True):
                change = statistic.local_sensitivity_change(min(max(raised + round(float(noise)), 0), most))
                changes[change] = changes.get(change, 0.0) + float(mass)
        local, parts = statistic.local(records), []
        for change, mass in changes.items():
            if not change:
                parts.append((np.array([float(local)]), np.array([mass])))
                continue
            scale = change / self.local_epsilon
            noise, each = integer_laplace_cells(float(scale))
            parts.append((float(local + raised_by(scale, self.shortfall)) + noise, mass * each))
        result = np.clip(np.concatenate([item for item, _ in parts]), 1.0, float(self._most_local))
        distinct, place = np.unique(result, return_inverse=True)
        weights: Floats = np.bincount(place, weights=np.concatenate([mass for _, mass in parts])).astype(np.float64)
        return distinct, weights


@dataclass(frozen=True)
class LaplaceMixture(ErrorLaw):
    """Integer Laplace noise of a random scale, cut to the public range."""

    scales: Floats
    mass: Floats
    """Of each scale; they add up to 1."""
    rooms: tuple[float, float]
    """How far it is from the value to either bound."""

    @property
    def mean(self) -> float:
        shrink = np.exp(-1.0 / self.scales)
        whole = 2.0 * shrink / ((1.0 + shrink) * -np.expm1(-1.0 / self.scales))
        inside = sum(-np.expm1(-room / self.scales) for room in self.rooms) / 2.0
        return float(np.dot(self.mass, whole * inside))

    def beyond(self, distance: float) -> float:
        tail = 2.0 * np.exp(-(math.floor(distance) + 1) / self.scales) / (1.0 + np.exp(-1.0 / self.scales))
        return float(np.dot(self.mass, tail)) * sum(distance < room for room in self.rooms) / 2.0


def integer_laplace_cells(scale: float) -> tuple[Floats, Floats]:
    """Values of integer Laplace noise and their probabilities; of a large scale, runs of values by their middles."""
    farthest = math.ceil(_FAR * scale)
    edges = np.unique(np.rint(np.linspace(0.0, farthest, min(farthest, _CELLS) + 1)))
    tail = np.exp(-(edges + 1.0) / scale) / (1.0 + math.exp(-1.0 / scale))
    middles, sides = (edges[1:] + edges[:-1] + 1.0) / 2.0, tail[:-1] - tail[1:]
    values = np.concatenate([-middles[::-1], [0.0], middles])
    masses = np.concatenate([sides[::-1], [math.tanh(0.5 / scale)], sides])
    return values, masses / masses.sum()


def raised_by(scale: Fraction, shortfall: Fraction) -> int:
    """The least t with ``P(K < -t) <= shortfall`` for integer Laplace noise K, or a little more.

    ``P(K < -t) = e^{-(t+1)/scale} / (1 + e^{-1/scale})``.
    """
    with precision(128):
        inverse = ball(1 / scale)
        steps = (-ball(shortfall).log() - (1 + (-inverse).exp()).log()) / inverse
        return max(integer_in(steps.upper().ceil()) - 1, 0)
