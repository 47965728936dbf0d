"""Private intervals of the ladder mechanism.

The quantiles of the mechanism's own error form a ladder: what is exceeded with probability m at one dataset is
exceeded at its neighbours with probability at most ``e^{2 rate} m``.  So the smooth bound of that ladder is at least
the wanted quantile and its logarithm has a small sensitivity (docs/proofs/ladder_mechanism.md, section 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np

from dither.kernels.elementary import Floats, exp, log
from dither.noise.exact import rounded_draw
from dither.noise.laplace import Laplace
from dither.numbers import Ball, ball, precision
from dither.sensitivity.ladder import Ladder, Sensitivities

SPREAD = Fraction(7, 20)
"""The scale of the Laplace noise on the logarithm of the interval; beta is this part of the interval's epsilon."""
LOG_GRID = 1 << 20
_TOLERANCE = 2.0**-22
"""More than the relative error of any tail computed below."""
_SLACK = 2.0**-19
"""Added to the exponent of neighbouring tails: pays for the tolerance."""
_DEEPEST = 480.0
"""Tails below e^-480 are not looked at: from there on the ladder of quantiles is its cap."""
_NOTHING = 1e-300
_MOST_QUANTILES = 1 << 18
"""So many quantiles are worked out, one by one; from there on the ladder of quantiles is its cap."""


@dataclass(frozen=True)
class LadderInterval:
    """A private release of how far a draw with this rate may be from the truth.

    Guarantee  ``epsilon``-DP, and at least the true distance with probability ``1 - miss``, for all data.
    Cost       A few hundred over epsilon rungs of the ladder.
    """

    epsilon: Fraction
    miss: Fraction
    rate: Fraction
    """Of the draw that the interval is for."""
    span: int
    """No clamped answer is farther away: public."""

    @property
    def beta(self) -> Fraction:
        """The smoothness of the bound."""
        return self.epsilon * SPREAD

    def draw_length(self, global_sensitivity: int) -> int:
        """How many rungs of a ladder with this cap it looks at, where the bound is a grid step or more: public."""
        depth = (2.0 * float(self.rate) + _SLACK) * math.log(max(self.span, 2)) / float(self.beta)
        return _far(global_sensitivity, None, float(self.rate), min(depth - math.log(float(self.miss) / 2.0), _DEEPEST))

    def half_width(self, ladder: Ladder) -> int:
        """Released: ``ln Q + Lap(SPREAD)``, shifted so that it falls below ln Q half as often as may be missed."""
        if ladder.global_sensitivity == 0 or self.span == 0:
            return 0  # the same answer on all data: there is no logarithm to release
        bound = self.quantiles(ladder).smooth(self.beta)

        def location() -> Ball:
            return ball(bound).log() * LOG_GRID

        logarithm = rounded_draw(Laplace(), location, SPREAD * LOG_GRID, headroom=64) / LOG_GRID
        shift = float(SPREAD) * math.log(1.0 / float(self.miss))
        return min(math.ceil(math.exp(min(logarithm + shift, 700.0)) * (1 + 1e-5)), self.span)

    def quantiles(self, ladder: Ladder) -> Ladder:
        """Rung k: what the error exceeds with probability at most ``(miss / 2) e^{-k (2 rate + slack)}``."""
        fall = 2.0 * float(self.rate) + _SLACK
        first = math.log(float(self.miss) / 2.0)
        deepest = max(math.floor((_DEEPEST + first) / fall), 0)

        def sensitivity_at_distance(start: int, stop: int) -> Sensitivities:
            far = _far(ladder.global_sensitivity, ladder.top, float(self.rate), -first + fall * stop)
            targets = first - fall * np.arange(start, stop, dtype=np.float64)
            return error_quantiles(ladder, self.rate, far, targets, self.span)

        return Ladder(sensitivity_at_distance, self.span, top=deepest, deepest=_MOST_QUANTILES)


def _far(global_sensitivity: int, top: int | None, rate: float, depth: float) -> int:
    """So many rungs that what lies beyond is e^-40 of a tail of e^-depth: public, but for a ladder's own top."""
    most = math.log(2.0 * global_sensitivity) + math.log1p(1.0 / rate)
    far = math.ceil((depth + most + 40.0) / rate) + 1
    return far if top is None else min(far, top)


def error_quantiles(ladder: Ladder, rate: Fraction, far: int, log_tails: Floats, span: int) -> Sensitivities:
    """The least distances that the error exceeds with at most these probabilities, rounded up; at most ``span``.

    With G_t the mass beyond rung t in units of e^{-rate t}: ``G_{t-1} = e^{-rate} (U_{t-1} + G_t)``.  Never below the
    true quantile, and never above that of a tail smaller by a factor 1 - 4 _TOLERANCE.
    """
    widths = ladder.sensitivity_at_distance(0, far)
    with precision(96):
        shrink = float((-ball(rate)).exp().mid())
        mass = float(ladder.global_sensitivity / ball(rate).expm1())
    masses = [max(mass, _NOTHING)]
    for width in widths[::-1].astype(np.float64).tolist():
        mass = shrink * (width + mass)
        masses.append(max(mass, _NOTHING))
    beyond = np.array(masses[::-1])
    half_total = float(log(np.array([0.5 + beyond[0]]))[0])
    speed = float(rate)
    tails = log(beyond) - speed * np.arange(far + 1)
    levels = log_tails + half_total
    # The first rung whose end is surely exceeded no more often than allowed.  Behind the last one listed rungs are
    # as wide as the cap, and every one leaves e^{-rate} of the mass before.
    sensitivity = np.searchsorted(-tails, -(levels - 2.0 * _TOLERANCE))
    missing = np.maximum(tails[far] - (levels - 2.0 * _TOLERANCE), 0.0)
    sensitivity = np.where(sensitivity > far, far + np.ceil(missing / speed).astype(np.int64), sensitivity)
    mass_behind = beyond[np.minimum(sensitivity, far)]
    back = exp(levels + speed * sensitivity) * (1.0 - _TOLERANCE) - mass_behind * (1.0 + _TOLERANCE)
    ends = [0, *accumulate(int(width) for width in widths.tolist())]
    results = []
    for t, saved in zip(sensitivity.tolist(), back.tolist(), strict=True):
        width = ladder.global_sensitivity if t > far else ends[t] - ends[t - 1] if t else 0
        end = ends[min(t, far)] + max(t - far, 0) * ladder.global_sensitivity
        results.append(min(end - min(max(math.floor(saved), 0), width), span))
    return np.array(results, dtype=np.int64 if span < 1 << 62 else object)
