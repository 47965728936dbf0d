"""A mechanism as its auditor sees it: samples of what it answers and, where they are known, the exact laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dither.audit.attacks import Histogram, LikelihoodRatio
from dither.audit.blackbox import FAILURE, Attack, Finding, Sampler, audit
from dither.audit.enumeration import end_law, output_law
from dither.mechanisms.exponential import ExponentialDraw
from dither.mechanisms.ladder import LadderDraw
from dither.mechanisms.mechanism import Outcome, Prepared
from dither.mechanisms.smooth import SmoothNoise
from dither.mechanisms.worst_case import Scaled
from dither.noise.law import Law
from dither.sensitivity.ladder import Algorithm, Ladder
from dither.sensitivity.reachable import ReachableValues
from dither.statistics.statistic import Statistic

Answer = tuple[int | None, ...]
"""(value,) or (value, lower, upper), in grid steps, and longer for several numbers; None is a refusal."""


def as_answer(outcome: Outcome) -> Answer:
    """All that an outcome shows, as one flat tuple."""
    values = outcome.answer if isinstance(outcome.answer, tuple) else (outcome.answer,)
    ends = (end for bar in outcome.interval or () for end in (bar if isinstance(bar, tuple) else (bar,)))
    return (*values, *ends)


def runs(prepared: Prepared, data: Any) -> Sampler:
    """A sampler that runs a mechanism on one dataset, again and again."""
    return lambda count: [as_answer(prepared.run(data)) for _ in range(count)]


class Remembering(Statistic):
    """A statistic that computes the value, smooth bound and chain of a dataset once.

    These are functions of the data alone, so the law of the answers is the same and thousands of runs are several times
    faster.
    """

    def __init__(self, statistic: Statistic) -> None:
        self.plain = statistic
        self.neighbours, self.answers, self.global_sensitivity = (
            statistic.neighbours,
            statistic.answers,
            statistic.global_sensitivity,
        )
        self.monotone_cost = getattr(statistic, "monotone_cost", False)
        self._known: dict[Any, Any] = {}

    def value(self, data: Any) -> int:
        return int(self._once(data, "value", lambda: self.plain.value(data)))

    def ladder(self, data: Any, algorithm: Algorithm = "exact") -> Ladder:
        ladder: Ladder = self._once(data, algorithm, lambda: self.plain.ladder(data, algorithm))
        remembered = Ladder(ladder.rungs, ladder.global_sensitivity, top=ladder.top)
        remembered.smooth = lambda beta: self._once(  # type: ignore[method-assign]
            data, (algorithm, beta), lambda: ladder.smooth(beta)
        )
        return remembered

    def reachable_values(self, data: Any) -> ReachableValues:
        """The chain of a layered statistic."""
        plain: Any = self.plain
        reachable: ReachableValues = self._once(data, "reachable_values", lambda: plain.reachable_values(data))
        return reachable

    def _once(self, data: Any, what: Any, compute: Callable[[], Any]) -> Any:
        # The data are kept, or another dataset could come to have the same id.
        key = (id(data), what)
        if key not in self._known:
            self._known[key] = (data, compute())
        return self._known[key][1]


def remembering(prepared: Any) -> Any:
    """The same mechanism on a remembering statistic."""
    return replace(prepared, statistic=Remembering(prepared.statistic))


def examine(
    prepared: Prepared,
    here: Any,
    there: Any,
    *,
    samples: int,
    known: Prepared | None = None,
    failure_probability: float = FAILURE,
) -> Finding:
    """Audit what a mechanism claims on one pair of neighbouring datasets.

    known: an honest mechanism whose exact laws say where to look; then the likelihood-ratio attack tests every run.
    Without it, or where its laws are not known, the histogram attack looks for itself.
    """
    attack: Attack = Histogram()
    laws = None if known is None else [answer_law(known, data) for data in (here, there)]
    if laws is not None and laws[0] is not None and laws[1] is not None:
        attack = LikelihoodRatio(laws[0], laws[1])
    return audit(
        runs(prepared, here),
        runs(prepared, there),
        claimed=prepared.loss,
        attacks=[attack],
        samples=samples,
        failure_probability=failure_probability,
    )


def answer_law(prepared: Prepared, data: Any) -> dict[Answer, float] | None:
    """The exact law of the answers, error bar included, on a small grid; None where it is not known in closed form.

    Known for draws from shells with and without bars, and for draws from rungs and added noise without bars.
    """
    if isinstance(prepared, ExponentialDraw):
        return _shell_law(prepared, data)
    if isinstance(prepared, LadderDraw):
        return None if prepared.bar else {(answer,): p for answer, p in output_law(prepared, data).items()}
    if isinstance(prepared, Scaled) and prepared.confidence is None:
        tail = integer_tail if prepared.point.law.name == "laplace" else rounded_tail
        return _noise_law(tail, prepared.point.law, prepared.statistic, data, float(prepared.scale))
    if isinstance(prepared, SmoothNoise) and prepared.bar_loss is None:
        bound = prepared.statistic.ladder(data, prepared.algorithm).smooth(prepared.point.beta)
        scale = float(bound / prepared.point.alpha)
        return _noise_law(rounded_tail, prepared.point.law, prepared.statistic, data, scale)
    return None


def _shell_law(prepared: ExponentialDraw, data: Any) -> dict[Answer, float]:
    answers, ends = output_law(prepared, data), prepared.ends
    if ends is None:
        return {(answer,): p for answer, p in answers.items()}
    joint: dict[Answer, float] = {}
    for answer, p in answers.items():
        lower, upper = (end_law(ends, prepared.statistic, data, answer, upper=upper) for upper in (False, True))
        joint |= {(answer, low, high): p * a * b for low, a in lower.items() for high, b in upper.items()}
    return joint


def rounded_tail(law: Law, scale: float, steps: int) -> float:
    """``P(floor(scale Z + 1/2) >= steps)`` for a positive number of steps."""
    return 0.5 * float(law.tail(np.asarray((steps - 0.5) / scale)))


def integer_tail(law: Law, scale: float, steps: int) -> float:  # noqa: ARG001
    """``P(K >= steps)`` for integer Laplace noise and a positive number of steps."""
    return math.exp(-steps / scale) / (1.0 + math.exp(-1.0 / scale))


def _noise_law(
    tail: Callable[[Law, float, int], float], law: Law, statistic: Statistic, data: Any, scale: float
) -> dict[Answer, float]:
    """The value plus symmetric noise in whole steps, clamped to the grid."""
    low, high = statistic.answers.ends
    value = statistic.value(data)
    # Each side is a difference of its own tails: no cancellation far out.
    beyond = [0.5, *(tail(law, scale, steps) for steps in range(1, high - low + 1)), 0.0]
    weights: dict[Answer, float] = {}
    for answer in range(low, high + 1):
        away = abs(answer - value)
        clamped = answer in (low, high)
        if away == 0:
            weights[answer,] = 1.0 - (1 if clamped else 2) * beyond[1]
        else:
            weights[answer,] = beyond[away] - (0.0 if clamped else beyond[away + 1])
    return weights
