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


def noise_too_small(prepared: Prepared, *, factor: object = 0.8) -> Prepared:
    """Noise ``factor`` times as large as was proved; draws from shells fall off that much faster."""
    smaller = exact(factor, "factor")
    if isinstance(prepared, (Scaled, SmoothNoise)):
        return replace(prepared, point=replace(prepared.point, alpha=prepared.point.alpha / smaller))
    if isinstance(prepared, (ExponentialDraw, LadderDraw)):
        return replace(prepared, rate=prepared.rate / smaller)
    if isinstance(prepared, NoisyLocalNoise):
        return replace(prepared, answer_epsilon=prepared.answer_epsilon / smaller)
    raise _unsuited("noise_too_small", prepared, "Scaled, SmoothNoise, ExponentialDraw, LadderDraw or NoisyLocalNoise")


def local_sensitivity_used_raw(prepared: Prepared) -> Prepared:
    """Noise scaled to the local sensitivity of the data at hand, which can jump between neighbours."""
    return _with_smooth(prepared, "local_sensitivity_used_raw", lambda ladder, _: Fraction(ladder[0]))


def beta_ignored(prepared: Prepared, *, factor: object = 3) -> Prepared:
    """A smooth bound computed with a beta ``factor`` times the one that was paid for: it moves that much faster."""
    faster = exact(factor, "factor")
    return _with_smooth(prepared, "beta_ignored", lambda ladder, beta: ladder.smooth(faster * beta))


def bar_unpaid(prepared: Prepared, *, factor: object = 100) -> Prepared:
    """An error bar that tells the private scale, or its ends, ``factor`` times as precisely as was paid for."""
    times = exact(factor, "factor")
    if isinstance(prepared, SmoothNoise) and prepared.bar_loss is not None:
        return replace(prepared, bar_loss=Loss(float(prepared.bar_loss.exact_epsilon * times)))
    if isinstance(prepared, ExponentialDraw) and prepared.ends is not None:
        return replace(prepared, ends=replace(prepared.ends, epsilon=prepared.ends.epsilon * times))
    raise _unsuited("bar_unpaid", prepared, "SmoothNoise or ExponentialDraw with an error bar")


def grid_from_data(prepared: Prepared) -> Prepared:
    """Answers rounded to a grid whose step is the local sensitivity of the data at hand."""
    return Regridded(prepared)


def delta_ignored(prepared: Prepared) -> Prepared:
    """Noise that was calibrated with a delta, sold as if it were zero."""
    if prepared.loss.is_pure:
        raise _unsuited("delta_ignored", prepared, "a mechanism with a delta")
    return replace(prepared, loss=Loss(prepared.loss.epsilon))  # type: ignore[type-var]


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


def _with_smooth(prepared: Prepared, name: str, bound: Callable[[Ladder, Fraction], Fraction]) -> Prepared:
    if not isinstance(prepared, SmoothNoise):
        raise _unsuited(name, prepared, "SmoothNoise")
    return replace(prepared, statistic=_Misjudged(prepared.statistic, bound))


def _unsuited(name: str, prepared: Prepared, served: str) -> NotApplicable:
    return NotApplicable("mechanism", type(prepared).__name__, f"{name} does not fit it", served)
