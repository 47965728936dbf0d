"""Noise scaled to the largest local sensitivities: only the levels above that of the data matter (COQ17)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from dither.errors import InvalidArgument, NotApplicable
from dither.mechanisms.mechanism import Mechanism, MechanismSpec, Prepared, point_of
from dither.mechanisms.registry import mechanism
from dither.mechanisms.smooth import (
    INTERVAL_BETA,
    SmoothNoise,
    check_smoothness,
    default_point,
    interval_and_answer,
)
from dither.noise.blunt_power_law import BluntPowerLaw
from dither.noise.laplace import Laplace
from dither.noise.law import AdmissiblePoint, Constants, Law
from dither.noise.pair_divergence import Enclosed, within
from dither.numbers import Ball, Number, ball, exact, precision
from dither.privacy import Loss
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.ladder import LEAST_BETA, MOST_BETA
from dither.sensitivity.levels import HasLevels, LevelFunction, Levels, LevelSystem, Margin
from dither.sensitivity.margins import Margins
from dither.statistics.levels import ByLevel, OwnLevel
from dither.statistics.statistic import Statistic, VectorStatistic

CLAIM = "its privacy rests on what the author of the levels claims about them"
HALVINGS = 6
"""So many times the beta that suits linearly growing ladders is halved in search of a better one."""


@mechanism("largest_local", needs=HasLevels)
@dataclass(frozen=True)
class LargestLocal(Mechanism):
    """Noise scaled to ``S = max_j e^{-beta j} U_j``, U_j the largest sensitivity of a level within j steps.

    Releases   value + (S / alpha) Z, rounded to the grid: Laplace noise if there is a delta, else a power law; with
               levels by several margins, such as those of medians, always a power law unless a noise is named.
    Guarantee  (eps, delta)-DP (Laplace, Gaussian) or eps-DP (blunt or plain power law, Cauchy, Student) for the
               query's neighbours.
    Theorem    COQ17 Prop. 11 by way of ladders: docs/proofs/largest_local.md.  Its Theorem 8 drops the ratio of the two
               densities' normalisers; the exact condition of docs/proofs/admissible.md stands in for it.
    Constants  Paper: alpha = eps/2, beta = ln(1 + eps/(2 ln(1/delta))), proved before use.  Ours: the point of the
               exact frontier that suits the public levels best; by several margins that of smooth sensitivity.
    Cost       The level of the data, and at most one climb between two remembered levels.

    ``levels``: a ``LevelFunction`` made by hand, ``Margins(...)`` or ``Margin(bound=...)`` for any query with a ladder,
    or None for the query's own levels.  Levels made by hand are a claim of their author, and releases say so; where
    their function fails or names no level the data count as on the highest, and the claim must hold with that.

    >>> import dither as dt
    >>> mechanism = dt.LargestLocal(levels=dt.Margin(bound=300))
    >>> release = dt.median(range(10_000), bounds=(0, 10_000), step=1, epsilon=1.0, delta=1e-6, mechanism=mechanism)
    >>> release.noise, 0 <= release.value <= 10_000
    ('laplace', True)
    """

    levels: LevelFunction | Margin | Margins | None = None
    beta: Number | None = None
    constants: Constants = "exact"

    def __post_init__(self) -> None:
        if self.levels is not None and not isinstance(self.levels, (LevelFunction, Margin, Margins)):
            accepted = "must be None, a LevelFunction, Margins(...) or Margin(bound=...)"
            raise InvalidArgument("levels", self.levels, accepted)
        if self.beta is not None and exact(self.beta, "beta") <= 0:
            raise InvalidArgument("beta", self.beta, "must be a positive number")
        if self.constants not in ("exact", "paper"):
            raise InvalidArgument("constants", self.constants, 'must be "exact" or "paper"')

    @property
    def claim(self) -> str | None:
        return CLAIM if isinstance(self.levels, LevelFunction) else None

    def serves(self, statistic: Statistic[Data] | VectorStatistic[Data]) -> bool:
        # Levels that are brought along suit the statistic they were made for.
        return self.levels is not None or super().serves(statistic)

    def prepare(self, ask: MechanismSpec[Data]) -> Prepared[Data]:
        statistic = ask.single_number(self.name)
        if self.levels is not None:
            function = self.levels.over(statistic)
            if isinstance(self.levels, LevelFunction):
                function = LevelFunction(function.levels, OwnLevel(function))
        elif isinstance(statistic, HasLevels):
            function = statistic.level_function()
        else:
            raise NotApplicable(
                "mechanism",
                self.name,
                "this query has no levels of its own",
                "LargestLocal(levels=Margins())",
            )
        # Levels without examples are those of a ladder, which Laplace noise serves worse than a power law.
        light = bool(ask.loss.delta) and bool(function.levels.examples())
        law = ask.noise or (Laplace() if light else BluntPowerLaw())
        interval_loss, loss = interval_and_answer(ask.usable, ask.confidence)
        if ask.noise is None and not light and self.beta is not None and self.constants == "exact":
            point = default_point(loss, exact(self.beta, "beta"))
        else:
            point = self._point(law, loss, function.levels)
        if interval_loss is not None and not function.levels.examples() and self._is_free:
            point = point_of(law, loss, point.beta * INTERVAL_BETA)
        check_smoothness(point, ask.loss)
        spent = Loss(ask.loss.epsilon, 0.0 if law.pure else ask.loss.delta)
        return LevelNoise(ByLevel(statistic, function), spent, point, "exact", interval_loss, ask.confidence)

    @property
    def _is_free(self) -> bool:
        """Whether the point is ours to choose."""
        return self.beta is None and self.constants == "exact"

    def _point(self, law: Law, loss: Loss, levels: LevelSystem) -> AdmissiblePoint:
        if self.constants == "paper":
            return paper_point(law, loss)
        if self.beta is not None:
            return point_of(law, loss, exact(self.beta, "beta"))
        best = point_of(law, loss, None)
        if not levels.examples():
            return best
        points = [best] + [point_of(law, loss, best.beta / 2**halvings) for halvings in range(1, HALVINGS + 1)]
        return min(points, key=lambda point: typical_noise(levels, point))


@dataclass(frozen=True)
class LevelNoise(SmoothNoise):
    """value + (S / alpha) Z, with S the smooth bound of the levels above that of the data."""

    mechanism = "largest_local"


def typical_noise(levels: LevelSystem, point: AdmissiblePoint) -> float:
    """The mean logarithm of the noise's size on a few public levels (1, 2, 4, ..., r): a rule for the point to use."""
    if not LEAST_BETA <= point.beta <= MOST_BETA:
        return math.inf
    size = point.law.typical / float(point.alpha)
    scales = [float(levels.ladder(level).smooth(point.beta)) * size for level in levels.examples()]
    # Only levels without any sensitivity have a bound of nothing; the floor is that of all smooth bounds.
    return statistics.fmean(math.log(max(scale, 1e-300)) for scale in scales)


def paper_point(law: Law, loss: Loss) -> AdmissiblePoint:
    """COQ17's alpha = eps/2 and beta = ln(1 + t/2), t = eps / ln(1/delta), with a proof that they are admissible."""
    if law.name != "laplace":
        raise NotApplicable("constants", "paper", "COQ17 gives constants for Laplace noise alone", 'constants="exact"')
    law.check(loss, dilated=True)
    alpha = loss.exact_epsilon / 2
    with precision(96):
        step = ball(loss.exact_epsilon) / -ball(loss.exact_delta).log()
        beta = Fraction(float((1 + step / 2).log().lower()))
    return AdmissiblePoint(law, alpha, beta, loss, 1, "paper", law.prove(alpha, beta, loss))


def descending_bounds(levels: Levels, growth: Fraction, *, branch: bool = True) -> list[Fraction]:
    """COQ17's Algorithm 1 as printed: ``eps / (2 lambda_k)`` for the levels k = 1 .. r, with growth = 1 + t/2.

    ``branch``: keep the printed exception that a level whose sensitivity is nearly that of the next gets its noise.
    For comparison and reproduction: without the exception it equals the smooth bound of the ladder where higher levels
    have higher neighbours, and where they do not the printed algorithm is unsound (docs/proofs/largest_local.md).
    """
    results: dict[int, Fraction] = {levels.count: Fraction(levels.global_sensitivity)}
    for level in range(levels.count - 1, 0, -1):
        own, above = (Fraction(int(sensitivity)) for sensitivity in levels.sensitivities[level - 1 : level + 1])
        if branch and above < own * growth:
            results[level] = results[level + 1]
            continue
        highest = max(levels.related(level))
        results[level] = own if highest == level else max(own, results[highest] / growth)
    return [results[level] for level in range(1, levels.count + 1)]


def scales_fit(here: Fraction, there: Fraction, shift: Fraction, loss: Loss) -> bool:
    """Whether Laplace noise of two scales, around values that far apart, is within a loss in both directions.

    Theorem    COQ17 Theorem 8 with the ratio of the normalisers put back; docs/proofs/largest_local.md, section 4.
    """
    wide, narrow, away = max(here, there), min(here, there), abs(shift)
    if narrow <= 0:
        return here == there and away == 0
    with precision(192):
        ratio, epsilon = ball(wide / narrow), ball(loss.exact_epsilon)
        if wide == narrow:
            return bool(away / wide <= loss.exact_epsilon)
        logarithm = ratio.log()
        if not logarithm + ball(away / wide) <= epsilon:
            return False
        return bool(_mass_beyond(logarithm, ratio, ball(away / narrow), epsilon) <= ball(loss.exact_delta))


def _mass_beyond(logarithm: Ball, ratio: Ball, shift: Ball, epsilon: Ball) -> Ball:
    """The delta of going from the wider law to the narrower one, ``shift`` in units of the narrower scale."""
    far = (-(epsilon + logarithm + shift) / (ratio - 1)).exp() / 2 * (1 - 1 / ratio)
    if shift <= epsilon + logarithm:
        return far + (-(epsilon + logarithm - shift) / (ratio - 1)).exp() / 2 * (1 - 1 / ratio)
    # The narrow law is so far away that the ratio exceeds e^eps up to a point beyond the wide law's centre.
    edge = (shift - logarithm - epsilon) / (ratio + 1)
    return far + 1 - (-edge).exp() / 2 - (epsilon - shift + edge * ratio).exp() / 2


def unfit_pairs(
    prepared: Mapping[Hashable, tuple[Fraction, Fraction]],
    neighbours: Iterable[tuple[Hashable, Hashable]],
    loss: Loss,
    law: Enclosed | None = None,
) -> list[tuple[Hashable, Hashable]]:
    """The neighbours between which a hand-made mechanism (dataset -> value, scale of its noise) is not private.

    Laplace noise by the closed form, any other law by the proof in cells of docs/proofs/largest_local.md, section 7.
    """
    known: dict[tuple[Fraction, Fraction, Fraction], bool] = {}

    def fits(here: Fraction, there: Fraction, shift: Fraction) -> bool:
        # The two directions of a pair are one question.
        key = (min(here, there), max(here, there), abs(shift))
        if key not in known:
            known[key] = scales_fit(*key, loss) if law is None else within(law, *key, loss)
        return known[key]

    return [
        (item, other)
        for item, other in neighbours
        if not fits(prepared[item][1], prepared[other][1], prepared[item][0] - prepared[other][0])
    ]
