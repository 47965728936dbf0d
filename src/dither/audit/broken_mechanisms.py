"""Mechanisms broken on purpose: each mistake has been made in published code or papers, and each must be found.

Every function takes a real mechanism and returns one that makes the same claim (or, for ``delta_ignored``, a bolder
one) and does not keep it.  For tests and for measuring auditors; nothing on a release path imports this module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dither.errors import NotApplicable
from dither.mechanisms.exponential import ExponentialDraw
from dither.mechanisms.ladder import LadderDraw
from dither.mechanisms.mechanism import Outcome, Prepared
from dither.mechanisms.noisy_local import NoisyLocalNoise
from dither.mechanisms.smooth import SmoothNoise
from dither.mechanisms.worst_case import Scaled
from dither.numbers import exact
from dither.privacy import Loss
from dither.sensitivity.ladder import Algorithm, Ladder, least_bound
from dither.statistics.statistic import Statistic


def noise_too_small(mechanism: Prepared, *, factor: object = 0.8) -> Prepared:
    """Noise ``factor`` times as large as was proved; draws from shells fall off that much faster."""
    smaller = exact(factor, "factor")
    if isinstance(mechanism, (Scaled, SmoothNoise)):
        return replace(mechanism, point=replace(mechanism.point, alpha=mechanism.point.alpha / smaller))
    if isinstance(mechanism, (ExponentialDraw, LadderDraw)):
        return replace(mechanism, rate=mechanism.rate / smaller)
    if isinstance(mechanism, NoisyLocalNoise):
        return replace(mechanism, answer_epsilon=mechanism.answer_epsilon / smaller)
    raise _unsuited("noise_too_small", mechanism, "Scaled, SmoothNoise, ExponentialDraw, LadderDraw or NoisyLocalNoise")


def local_sensitivity_used_raw(mechanism: Prepared) -> Prepared:
    """Noise scaled to the local sensitivity of the data at hand, which can jump between neighbours."""
    return _with_smooth(mechanism, "local_sensitivity_used_raw", lambda ladder, _: Fraction(ladder[0]))


def beta_ignored(mechanism: Prepared, *, factor: object = 3) -> Prepared:
    """A smooth bound computed with a beta ``factor`` times the one that was paid for: it moves that much faster."""
    faster = exact(factor, "factor")
    return _with_smooth(mechanism, "beta_ignored", lambda ladder, beta: ladder.smooth(faster * beta))


def bar_unpaid(mechanism: Prepared, *, factor: object = 100) -> Prepared:
    """An error bar that tells the private scale, or its ends, ``factor`` times as precisely as was paid for."""
    times = exact(factor, "factor")
    if isinstance(mechanism, SmoothNoise) and mechanism.bar_loss is not None:
        return replace(mechanism, bar_loss=Loss(float(mechanism.bar_loss.exact_epsilon * times)))
    if isinstance(mechanism, ExponentialDraw) and mechanism.ends is not None:
        return replace(mechanism, ends=replace(mechanism.ends, epsilon=mechanism.ends.epsilon * times))
    raise _unsuited("bar_unpaid", mechanism, "SmoothNoise or ExponentialDraw with an error bar")


def grid_from_data(mechanism: Prepared) -> Prepared:
    """Answers rounded to a grid whose step is the local sensitivity of the data at hand."""
    return Regridded(mechanism)


def delta_ignored(mechanism: Prepared) -> Prepared:
    """Noise that was calibrated with a delta, sold as if it were zero."""
    if mechanism.loss.is_pure:
        raise _unsuited("delta_ignored", mechanism, "a mechanism with a delta")
    return replace(mechanism, loss=Loss(mechanism.loss.epsilon))  # type: ignore[type-var]


@dataclass(frozen=True)
class Regridded(Prepared):
    """An honest answer, rounded where honest answers are not."""

    honest: Prepared

    @property
    def statistic(self) -> Statistic:  # type: ignore[override]
        statistic: Any = self.honest.statistic
        return statistic  # type: ignore[no-any-return]

    @property
    def loss(self) -> Loss:  # type: ignore[override]
        return self.honest.loss

    @property
    def noise_name(self) -> str:  # type: ignore[override]
        return self.honest.noise_name

    def run(self, data: Any) -> Outcome:
        outcome, statistic = self.honest.run(data), self.statistic
        step = max(statistic.ladder(data)[0], 1)
        if not isinstance(outcome.answer, int):
            return outcome
        return replace(outcome, answer=statistic.answers.clamp(step * round(outcome.answer / step)))


class _Misjudged(Statistic):
    """A statistic whose ladders have another smooth bound."""

    def __init__(self, statistic: Statistic, bound: Callable[[Ladder, Fraction], Fraction]) -> None:
        self.plain, self.bound = statistic, bound
        self.neighbours, self.answers, self.global_sensitivity = (
            statistic.neighbours,
            statistic.answers,
            statistic.global_sensitivity,
        )

    def value(self, data: Any) -> int:
        return self.plain.value(data)

    def ladder(self, data: Any, algorithm: Algorithm = "exact") -> Ladder:
        honest = self.plain.ladder(data, algorithm)
        broken = Ladder(honest.rungs, honest.global_sensitivity, top=honest.top)
        floor = Fraction(least_bound(honest.global_sensitivity))
        broken.smooth = lambda beta: max(self.bound(honest, beta), floor)  # type: ignore[method-assign]
        return broken


def _with_smooth(mechanism: Prepared, name: str, bound: Callable[[Ladder, Fraction], Fraction]) -> Prepared:
    if not isinstance(mechanism, SmoothNoise):
        raise _unsuited(name, mechanism, "SmoothNoise")
    return replace(mechanism, statistic=_Misjudged(mechanism.statistic, bound))


def _unsuited(name: str, mechanism: Prepared, served: str) -> NotApplicable:
    return NotApplicable("mechanism", type(mechanism).__name__, f"{name} does not fit it", served)
