"""Noise scaled to the smooth sensitivity of the data at hand."""

from __future__ import annotations

import contextlib
import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from dither.accounting.concentrated import any_of, real_laplace
from dither.errors import InvalidArgument
from dither.kernels.elementary import Floats
from dither.mechanisms.error import AddedNoise, ErrorLaw, WorstCaseError, cut_half_width, most_cut_mean, rooms, span
from dither.mechanisms.mechanism import Mechanism, MechanismSpec, Outcome, Prepared, point_of
from dither.mechanisms.registry import mechanism
from dither.mechanisms.worst_case import around, headroom, placed
from dither.noise.blunt_power_law import BluntPowerLaw
from dither.noise.exact import rounded_draw
from dither.noise.heavy_tails import PowerLaw
from dither.noise.laplace import Laplace
from dither.noise.law import AdmissiblePoint, Constants, Law
from dither.numbers import Ball, Number, ball, exact
from dither.privacy import Loss
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.ladder import LEAST_BETA, MOST_BETA, Algorithm, HasLadder
from dither.sensitivity.norms import HasNormLadder
from dither.statistics.statistic import Statistic, VectorStatistic

INTERVAL_SHARE = Fraction(1, 4)
"""The part of epsilon for the interval (docs/decisions.md has the measurements)."""
INTERVAL_BETA = Fraction(7, 10)
"""With an interval, the part of the best beta that is used: the logarithm of a smoother scale needs less noise."""
LOG_GRID = 1 << 20
"""Logarithms of scales are released in steps of 2**-20."""
_CELL = 1 / 200
_BEYOND = 14.0
"""All but e^-14 of the share that may be missed is integrated, in cells of this length."""


@mechanism("smooth", needs=(HasLadder, HasNormLadder))
@dataclass(frozen=True)
class Smooth(Mechanism):
    """Noise scaled to the beta-smooth bound of a ladder.

    Guarantee  eps-DP (blunt or plain power law, Cauchy, Student) or (eps, delta)-DP (Laplace, Gaussian) for the
               query's neighbours.
    Theorem    NRS11 Lemma 2.6, replaced by the exact admissible box of docs/proofs/admissible.md; the computed
               bound is smooth by docs/proofs/smooth.md.
    Constants  Paper: alpha = beta = eps/10 (Cauchy).  Ours: on the exact frontier, 16 to 18 times less noise.
    Cost       The smooth bound of the statistic's ladder, and one draw.

    ``beta``: a public smoothness; by default the one that suits a linearly growing ladder best.
    """

    beta: Number | None = None
    constants: Constants = "exact"
    algorithm: Algorithm = "exact"

    def __post_init__(self) -> None:
        if self.beta is not None and exact(self.beta, "beta") <= 0:
            raise InvalidArgument("beta", self.beta, "must be a positive number")
        if self.constants not in ("exact", "paper"):
            raise InvalidArgument("constants", self.constants, 'must be "exact" or "paper"')
        if self.algorithm not in ("exact", "linear", "sublinear"):
            raise InvalidArgument("algorithm", self.algorithm, 'must be "exact", "linear" or "sublinear"')

    def prepare(self, ask: MechanismSpec[Data]) -> Prepared[Data]:
        if isinstance(ask.statistic, VectorStatistic) and isinstance(ask.statistic, HasNormLadder):
            from dither.mechanisms.smooth_vectors import prepare_vector  # noqa: PLC0415  (built on this module)

            return prepare_vector(self, ask, ask.statistic)
        statistic = ask.single_number(self.name)
        law = ask.noise or (PowerLaw() if self.constants == "paper" else BluntPowerLaw())
        interval_loss, loss = interval_and_answer(ask.usable, ask.confidence)
        beta = self._smoothness(statistic, law, loss, interval=interval_loss is not None)
        if ask.noise is None and self.constants == "exact":
            point = default_point(loss, beta)
        else:
            point = point_of(law, loss, beta, self.constants)
        if interval_loss is not None and beta is None and self.constants == "exact":
            point = point_of(law, loss, point.beta * INTERVAL_BETA, self.constants)
        check_smoothness(point, ask.loss)
        stated = any_of(loss.pure() if law.pure else loss)
        if interval_loss is not None:
            stated += real_laplace(interval_loss.exact_epsilon)
        spent = Loss(ask.loss.epsilon, 0.0 if law.pure else ask.loss.delta, stated=stated)
        return SmoothNoise(statistic, spent, point, self.algorithm, interval_loss, ask.confidence)

    def _smoothness(self, statistic: Statistic[Data], law: Law, loss: Loss, *, interval: bool) -> Fraction | None:
        """The public rule for beta: as asked, as the statistic suggests to pure laws, or (None) as suits the law."""
        if self.beta is not None:
            return exact(self.beta, "beta")
        if not law.pure or self.constants == "paper":
            return None
        return statistic.smoothness(loss.exact_epsilon, interval=interval)


@dataclass(frozen=True)
class SmoothNoise(Prepared[Data]):
    """value + (S / alpha) Z, and a private interval from a noisy ln S."""

    mechanism = "smooth"
    statistic: Statistic[Data]
    loss: Loss
    point: AdmissiblePoint
    algorithm: Algorithm
    interval_loss: Loss | None
    confidence: Fraction | None

    @property
    def noise_name(self) -> str:
        return str(self.point.law)

    @property
    def reach(self) -> int:
        # The early stop usually comes after ln(cap / bound) / beta rungs.
        return min(math.ceil(24 / self.point.beta), 1 << 20) if self.point.beta else 1

    def noise_scale(self, records: Data) -> Fraction:
        return self._bound(records) / self.point.alpha

    def run(self, data: Data) -> Outcome:
        bound = self._bound(data)
        scale = bound / self.point.alpha
        most = headroom(self.statistic.global_sensitivity / self.point.alpha)
        noisy = rounded_draw(self.point.law, self.statistic.value(data), scale, headroom=most)
        return around(self.statistic, noisy, None if self.interval_loss is None else self._half_width(bound))

    def _bound(self, data: Data) -> Fraction:
        """The smooth bound on the local sensitivity: private."""
        return self.statistic.ladder(data, self.algorithm).smooth(self.point.beta)

    def _half_width(self, bound: Fraction) -> int:
        assert self.interval_loss is not None and self.confidence is not None  # noqa: PT018, S101
        unit, most = float(1 / self.point.alpha), float(self.statistic.global_sensitivity)
        return private_half_width(bound, unit, most, self.point, self.interval_loss, self.confidence)

    def error_laws(self, records: Data) -> list[ErrorLaw]:
        scale = float(self._bound(records) / self.point.alpha)
        return [AddedNoise(self.point.law, scale, rooms(*placed(self.statistic, records)))]

    def worst_case_error(self, confidence: float, records: int | None = None) -> WorstCaseError:
        """The scale is at most that of the global sensitivity, or of data with so many records where it depends on
        their number alone and falls with it."""
        bound, counted = Fraction(self.statistic.global_sensitivity), None
        if records is not None:
            counted = self.statistic.ladder_of_count(records)
        if counted is not None:
            bound = counted.smooth(self.point.beta)
        # Smooth bounds are computed a little above their true value, the global sensitivity included.
        scale, between = float(bound / self.point.alpha) * (1.0 + 1e-9), span(self.statistic.answers)
        half_width = scale * self.point.law.quantile(1.0 - confidence) + 1.0
        expected = most_cut_mean(self.point.law, scale, between)
        return WorstCaseError((expected,), (min(half_width, between),), attained=counted is not None)

    def typical_half_widths(self, records: Data) -> tuple[float, ...] | None:
        if self.interval_loss is None or self.confidence is None:
            return None
        scale = float(self._bound(records) / self.point.alpha)
        width = typical_half_width(scale, self.point, self.interval_loss, self.confidence)
        return (cut_half_width(width, *placed(self.statistic, records)),)


def default_point(loss: Loss, beta: Fraction | None) -> AdmissiblePoint:
    """The point of the default law, the blunt power law; of the power law at a beta that only that one admits."""
    with contextlib.suppress(InvalidArgument):
        return point_of(BluntPowerLaw(), loss, beta)
    return point_of(PowerLaw(), loss, beta)


def interval_and_answer(loss: Loss, confidence: Fraction | None) -> tuple[Loss | None, Loss]:
    """The shares of a loss for the interval (None: none is asked for) and for the answer."""
    if confidence is None:
        return None, loss
    return Loss(loss.share(INTERVAL_SHARE).epsilon), Loss(loss.share(1 - INTERVAL_SHARE).epsilon, loss.delta)


def check_smoothness(point: AdmissiblePoint, asked: Loss) -> None:
    """Refuse a loss whose point is too smooth, or not smooth enough, to be computed."""
    if not LEAST_BETA <= point.beta <= MOST_BETA:
        between = f"between {float(LEAST_BETA):.3g} and {MOST_BETA}"
        raise InvalidArgument("epsilon", asked.epsilon, f"its smoothness {float(point.beta):.3g} must lie {between}")


def private_half_width(
    bound: Fraction, unit: float, most: float, point: AdmissiblePoint, loss: Loss, confidence: Fraction
) -> int:
    """Half the width of an interval around noise of scale ``unit`` times a smooth bound S, which is at most ``most``.

    Released: ``ln S + Lap(beta / eps')``.  S is beta-smooth, so ln S has sensitivity beta.
    |error| / (unit e^L) = |Z| e^{-Lap} has a law that depends on public numbers only, so its quantile
    gives an interval with exactly the stated coverage (docs/proofs/intervals.md).
    """
    if bound == 0:
        return 0  # only where nothing can move: the same answer on all data
    logarithm, spread = noisy_logarithm(bound, point.beta, loss)
    reach = half_width_factor(point.law, spread, float(1 - confidence))
    width = math.exp(min(logarithm, 700.0)) * unit * reach
    return math.ceil(min(width * (1 + 1e-6), most * unit * 1e6)) + 1


def typical_half_width(scale: float, point: AdmissiblePoint, loss: Loss, confidence: Fraction) -> float:
    """The median of ``private_half_width`` for a scale: the noise on its logarithm has median 0."""
    return scale * half_width_factor(point.law, float(point.beta / loss.exact_epsilon), float(1 - confidence))


class Tailed(Protocol):
    """A law of distances: how likely greater ones are, and the other way round."""

    def tail(self, distance: Floats) -> Floats:
        """P(distance is exceeded), entry by entry."""

    def quantile(self, tail: float) -> float:
        """The distance that is exceeded with this probability."""


def noisy_logarithm(bound: Fraction, beta: Fraction, loss: Loss) -> tuple[float, float]:
    """``ln S + Lap(beta / eps')``, private no more, and the spread ``beta / eps'`` of its noise."""
    spread = beta / loss.exact_epsilon

    def location() -> Ball:
        return ball(bound).log() * LOG_GRID

    return rounded_draw(Laplace(), location, spread * LOG_GRID, headroom=64) / LOG_GRID, float(spread)


@functools.lru_cache(maxsize=1024)
def half_width_factor(law: Tailed, spread: float, miss: float) -> float:
    """The c with ``P(|Z| e^{-spread L} > c) = miss`` for a standard Laplace L, rounded up."""
    # Cells of |L| by length, not by mass: rare L decide intervals of high confidence.  What lies beyond is missed.
    ends = np.arange(0.0, math.log(1.0 / miss) + _BEYOND, _CELL)
    beyond = float(np.exp(-ends[-1]))
    cells, middles = -np.diff(np.exp(-ends)) / 2.0, (ends[1:] + ends[:-1]) / 2.0
    factors = np.concatenate([np.exp(spread * middles), np.exp(-spread * middles)])
    masses = np.concatenate([cells, cells])

    def missed(c: float) -> float:
        return float(masses @ law.tail(c * factors)) + beyond

    low, high = 0.0, law.quantile(miss)
    # Ends: tails fall to nothing, and what lies beyond the cells is e^-14 of what may be missed.
    while missed(high) > miss:
        low, high = high, 2.0 * high
    while high - low > 1e-4 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if missed(middle) > miss else (low, middle)
    return high * (1.0 + 1e-3)
