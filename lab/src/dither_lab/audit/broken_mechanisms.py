"""Mechanisms broken on purpose: each mistake has been made in published code or papers, and each must be found.

Every function takes a real mechanism and returns one that makes the same claim (or, for ``delta_ignored``, a bolder
one) and does not keep it.  For tests and for measuring auditors; nothing on a release path imports this module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dither.errors import NotApplicable
from dither.mechanisms.mechanism import Outcome, Prepared
from dither.numbers import Number, exact
from dither.privacy import Loss, Neighbours
from dither.sensitivity.ladder import Algorithm, Ladder, least_bound
from dither.sources.grid import Grid
from dither.statistics.statistic import Statistic
from dither_lab.audit.imitation import imitation
from dither_lab.audit.laws.registry import law_of


def noise_too_small(prepared: Prepared, *, factor: Number = 0.8) -> Prepared:
    """Noise ``factor`` times as large as was proved; weights of draws fall off that much faster."""
    broken = law_of(prepared).weakened(prepared, exact(factor, "factor"))
    if broken is None:
        raise _unsuited("noise_too_small", prepared, "a mechanism that adds noise or draws by cost")
    return broken


def noise_and_law_too_small(prepared: Prepared, *, factor: Number = 0.7) -> Prepared:
    """Noise ``factor`` times as large as its public parameters say, and an own law of the error that says the same.

    Nothing in it disagrees: parameters are proved, quotes and intervals fit the draws.  Only a law that was computed
    elsewhere, from those parameters and the statistic's values, can find it.
    """
    weaker = noise_too_small(prepared, factor=factor)
    return imitation(prepared, weaker.run, weaker.error_laws)


def local_sensitivity_used_raw(prepared: Prepared) -> Prepared:
    """Noise scaled to the local sensitivity of the data at hand, which can jump between neighbours."""
    return _with_smooth(prepared, "local_sensitivity_used_raw", lambda ladder, _: Fraction(ladder[0]))


def beta_ignored(prepared: Prepared, *, factor: Number = 3) -> Prepared:
    """A smooth bound computed with a beta ``factor`` times the one that was proved: it moves that much faster."""
    faster = exact(factor, "factor")
    return _with_smooth(prepared, "beta_ignored", lambda ladder, beta: ladder.smooth(faster * beta))


def interval_unpaid(prepared: Prepared, *, factor: Number = 100) -> Prepared:
    """An interval that shows the private scale, or its ends, ``factor`` times as precisely as its epsilon allows."""
    broken = law_of(prepared).interval_for_free(prepared, exact(factor, "factor"))
    if broken is None:
        raise _unsuited("interval_unpaid", prepared, "smooth or inverse with an interval")
    return broken


def grid_from_data(prepared: Prepared) -> Prepared:
    """Answers rounded to a grid whose step is the local sensitivity of the data at hand."""
    statistic: Any = prepared.statistic

    def run(data: Any) -> Outcome:
        outcome: Any = prepared.run(data)
        if outcome.answer is None:
            return outcome  # type: ignore[no-any-return]
        step = max(statistic.ladder(data)[0], 1)
        return replace(outcome, answer=statistic.answers.clamp(step * round(outcome.answer / step)))  # type: ignore[no-any-return]

    return imitation(prepared, run)


def delta_ignored(prepared: Prepared) -> Prepared:
    """Noise that was calibrated with a delta above zero and is claimed to have none."""
    if prepared.loss.is_pure:
        raise _unsuited("delta_ignored", prepared, "a mechanism with a delta")
    return replace(prepared, loss=Loss(prepared.loss.epsilon))  # type: ignore[type-var]


class _Misjudged(Statistic):
    """A statistic whose ladders have another smooth bound."""

    neighbours: Neighbours
    answers: Grid
    global_sensitivity: int

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
        broken = Ladder(honest.sensitivity_at_distance, honest.global_sensitivity, top=honest.top)
        floor = Fraction(least_bound(honest.global_sensitivity))
        broken.smooth = lambda beta: max(self.bound(honest, beta), floor)  # type: ignore[method-assign]
        return broken


def _with_smooth(prepared: Prepared, name: str, bound: Callable[[Ladder, Fraction], Fraction]) -> Prepared:
    if not law_of(prepared).smooth_ladder:
        raise _unsuited(name, prepared, "smooth")
    broken: Any = prepared
    return replace(broken, statistic=_Misjudged(broken.statistic, bound))  # type: ignore[no-any-return]


def _unsuited(name: str, prepared: Prepared, served: str) -> NotApplicable:
    return NotApplicable("mechanism", prepared.mechanism, f"{name} does not fit it", served)
