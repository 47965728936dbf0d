"""The exact privacy of a mechanism on a whole small universe, and whether ladders and sensitivities keep their axioms.

Draws from shells and rungs, integer noise and thresholds are computed in balls and rationals, so that what is shown to
hold does hold.  Noise with a private scale is covered in two steps: every pair of the universe lies inside the box of
shifts and dilations (compared in balls), and the law is proved for the whole box by interval arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dither.audit.checks import Result, least_epsilon
from dither.audit.divergence import hockey_stick
from dither.audit.enumeration import answer_costs, largest_log_ratio
from dither.audit.noisy_scales import noisy_local_delta
from dither.audit.propose_test_release import divergence, mechanism_law
from dither.audit.several_laws import several_law
from dither.audit.universes import World
from dither.errors import NotProved
from dither.mechanisms.exponential import ExponentialDraw
from dither.mechanisms.joint_quantiles import SeveralDraws
from dither.mechanisms.ladder import LadderDraw
from dither.mechanisms.mechanism import Prepared
from dither.mechanisms.noisy_local import NoisyLocalNoise
from dither.mechanisms.propose_test import TestedNoise
from dither.mechanisms.smooth import SmoothNoise
from dither.mechanisms.stable import StableValue
from dither.mechanisms.worst_case import Scaled, ScaledVector
from dither.noise.gaussian import Gaussian
from dither.noise.law import Law
from dither.numbers import Ball, ball, precision, upper_float
from dither.privacy import Loss
from dither.statistics.statistic import Statistic, VectorStatistic

BITS = 160
SLACK = 1e-9
"""Of quadratures in floats; what is computed in balls needs none."""

NEAREST = 24
"""How many pairs near the corners of a box have their divergence computed; all of them are compared with the box."""

Pair = tuple[Any, Any]
Shown = tuple[float, float | None, Pair]
"""The least epsilon that the worst pair shows, the epsilon that no pair exceeds (None if not known), and that pair."""


def privacy(prepared: Prepared, world: World, stride: int = 1) -> Result:
    """What a mechanism costs on every pair of neighbours (on every ``stride``-th of them), against what it claims."""
    pairs = world.different_pairs[::stride]
    lower, upper, _ = worst_pair(prepared, pairs)
    claimed = prepared.loss
    return Result((lower if upper is None else upper) <= claimed.epsilon, claimed, lower, upper, len(pairs))


def worst_pair(prepared: Prepared, pairs: list[Pair]) -> Shown:
    """The pair of neighbours that tells most, with bounds on its epsilon at the claimed delta."""
    if isinstance(prepared, (ExponentialDraw, LadderDraw)):
        return _drawn(prepared, pairs)
    if isinstance(prepared, SeveralDraws):
        return _several(prepared, pairs)
    if isinstance(prepared, Scaled) and prepared.point.law.name == "laplace":
        return _integer_noise(lambda x: [prepared.statistic.value(x)], [prepared.scale], pairs)
    if isinstance(prepared, ScaledVector):
        return _vector_noise(prepared, pairs)
    if isinstance(prepared, (Scaled, SmoothNoise)):
        return _boxed(prepared, pairs)
    if isinstance(prepared, (TestedNoise, StableValue)):
        return _tested(prepared, pairs)
    if isinstance(prepared, NoisyLocalNoise):
        return _by_delta(prepared.loss, pairs, lambda x, y, e: noisy_local_delta(prepared, x, y, e))
    raise TypeError(f"no exact law of {type(prepared).__name__} is known")


def _drawn(prepared: ExponentialDraw | LadderDraw, pairs: list[Pair]) -> Shown:
    laws: dict[int, dict[int, Ball]] = {}
    with precision(BITS):

        def law(data: Any) -> dict[int, Ball]:
            if id(data) not in laws:
                laws[id(data)] = {z: p.log() for z, p in answer_costs(prepared, data).balls().items()}
            return laws[id(data)]

        best, most = (-math.inf, pairs[0]), -math.inf
        for here, there in pairs:
            ratios = [p - law(there)[z] for z, p in law(here).items()]
            least = max(float(r.lower()) for r in ratios)
            most = max(most, *(upper_float(r) for r in ratios))
            if least > best[0]:
                best = (least, (here, there))
    return max(best[0], 0.0), max(most, 0.0), best[1]


def _several(prepared: SeveralDraws, pairs: list[Pair]) -> Shown:
    laws: dict[int, Any] = {}

    def law(data: Any) -> Any:
        if id(data) not in laws:
            laws[id(data)] = several_law(prepared, data)
        return laws[id(data)]

    worst, number = max((largest_log_ratio(law(x), law(y)), i) for i, (x, y) in enumerate(pairs))
    claimed = prepared.loss.epsilon
    return worst, claimed if worst <= claimed * (1 + SLACK) else worst, pairs[number]


def _integer_noise(values: Callable[[Any], list[int]], scales: list[Fraction], pairs: list[Pair]) -> Shown:
    """Integer Laplace noise: the log-ratio is at most the sum of shifts over scales, and attained far out."""

    def loss(pair: Pair) -> Fraction:
        moved = zip(values(pair[0]), values(pair[1]), scales, strict=True)
        return sum((abs(a - b) / scale for a, b, scale in moved), Fraction(0))

    worst = max(pairs, key=loss)
    # Answers are clamped to the grid: what the unclamped ones show is an upper bound, reached in practice.
    return float(loss(worst)), float(loss(worst)) * (1 + 2**-52), worst


def _vector_noise(prepared: ScaledVector, pairs: list[Pair]) -> Shown:
    statistic = prepared.statistic
    scales = [global_sensitivity * prepared.unit for global_sensitivity in statistic.global_sensitivities]
    if prepared.law.name == "laplace":
        return _integer_noise(lambda x: [int(v) for v in statistic.values(x)], scales, pairs)

    def length(pair: Pair) -> Fraction:
        moved = zip(statistic.values(pair[0]), statistic.values(pair[1]), scales, strict=True)
        return sum((((int(a) - int(b)) / scale) ** 2 for a, b, scale in moved), Fraction(0))

    worst = max(pairs, key=length)
    # Rounded up: the proof below is for a shift that is at least as long.
    shift = Fraction(math.nextafter(math.sqrt(length(worst)), math.inf))
    return *_proved(Gaussian(), shift, Fraction(0), prepared.loss, float(shift), 0.0), worst


def _boxed(prepared: Scaled | SmoothNoise, pairs: list[Pair]) -> Shown:
    """All pairs lie in the box of the proved point; the worst of them by its divergence."""
    point, statistic = prepared.point, prepared.statistic
    paid = point.loss
    bar = getattr(prepared, "bar_loss", None)
    bounds: dict[int, Fraction] = {}

    def bound(data: Any) -> Fraction:
        if isinstance(prepared, Scaled):
            return Fraction(statistic.global_sensitivity)
        if id(data) not in bounds:
            bounds[id(data)] = statistic.ladder(data, prepared.algorithm).smooth(point.beta)
        return bounds[id(data)]

    def told(pair: Pair) -> tuple[float, float]:
        scale = float(bound(pair[0]) / point.alpha)
        return (
            (statistic.value(pair[1]) - statistic.value(pair[0])) / scale,
            math.log(bound(pair[1]) / bound(pair[0])),
        )

    def tells(pair: Pair) -> tuple[float, float]:
        found = hockey_stick(point.law, *told(pair), paid.epsilon)
        return (found.epsilon, found.delta) if paid.is_pure else (found.delta, found.epsilon)

    def corner(pair: Pair) -> float:
        shift, dilation = told(pair)
        return abs(shift) / float(point.alpha) + abs(dilation) / float(point.beta or 1)

    # Pairs with the same shift and dilation tell the same; those near the corners of the box tell most.
    kinds = {(round(told(pair)[0], 9), round(told(pair)[1], 9)): pair for pair in pairs}
    worst = max(sorted(kinds.values(), key=corner)[-NEAREST:], key=tells)
    with precision(BITS):
        growth = ball(point.beta).exp()
        for here, there in pairs:
            inside = abs(statistic.value(here) - statistic.value(there)) <= min(bound(here), bound(there))
            if not (inside and ball(bound(there)) <= ball(bound(here)) * growth):
                return math.inf, math.inf, (here, there)
    lower, upper = _proved(point.law, point.alpha, point.beta, paid, *told(worst))
    extra = 0.0 if bar is None else bar.epsilon
    return lower + extra, None if upper is None else upper + extra, worst


def _proved(
    law: Law, alpha: Fraction, beta: Fraction, loss: Loss, shift: float, dilation: float
) -> tuple[float, float]:
    """The epsilon of one pair, and the claimed one as an upper bound for all if interval arithmetic proves it."""
    if loss.is_pure:
        lower = max(hockey_stick(law, shift, dilation, loss.epsilon).epsilon, 0.0)
    else:
        lower = least_epsilon(lambda e: hockey_stick(law, shift, dilation, e).delta, loss.delta, loss.epsilon)
    try:
        law.prove(alpha, beta, loss)
    except NotProved:
        return lower, math.inf
    # Quadratures of the lower bound may exceed the proved one by their own rounding.
    return min(lower, loss.epsilon) if lower <= loss.epsilon * (1 + 1e-2) else lower, loss.epsilon


def _tested(prepared: TestedNoise | StableValue, pairs: list[Pair]) -> Shown:
    laws: dict[int, Any] = {}

    def law(data: Any) -> Any:
        if id(data) not in laws:
            laws[id(data)] = mechanism_law(prepared, data)
        return laws[id(data)]

    return _by_delta(prepared.loss, pairs, lambda x, y, e: divergence(law(x), law(y), e))


def _by_delta(loss: Loss, pairs: list[Pair], delta_of: Callable[[Any, Any, float], float]) -> Shown:
    def delta_at(pair: Pair, epsilon: float) -> float:
        return delta_of(pair[0], pair[1], epsilon)

    def shown_by(pair: Pair) -> float:
        return least_epsilon(lambda epsilon: delta_at(pair, epsilon), loss.delta, loss.epsilon)

    worst = max(pairs, key=lambda pair: delta_at(pair, loss.epsilon))
    if delta_at(worst, loss.epsilon) > loss.delta * (1 + SLACK):
        return shown_by(worst), None, worst
    # The pair that is worst at a smaller epsilon shows more of it.
    near = max(pairs, key=lambda pair: delta_at(pair, 0.9 * loss.epsilon))
    best = max((worst, near), key=shown_by)
    # No pair exceeds delta at the claimed epsilon, to the accuracy of floats.
    return min(shown_by(best), loss.epsilon), loss.epsilon, best


def axioms(world: World, rungs: int, shrink: Fraction = Fraction(1)) -> Result:
    """Whether rung 0 covers one step, neighbours differ by at most one rung and no rung exceeds the cap.

    ``shrink``: rungs made smaller by a factor, to see that the check can fail.
    """
    statistic = world.statistic
    if not isinstance(statistic, Statistic):
        raise TypeError("several numbers have no ladder")
    values = [statistic.value(data) for data in world.data]
    climbed = [
        [math.floor(shrink * int(rung)) for rung in statistic.ladder(data).rungs(0, rungs + 1)] for data in world.data
    ]
    broken, most = 0, 0
    for here, there in world.pairs:
        moved = abs(values[here] - values[there])
        most = max(most, moved)
        falls = any(climbed[here][k] > climbed[there][k + 1] for k in range(rungs))
        broken += moved > climbed[here][0] or falls
    rising = all(list(rung) == sorted(rung) and rung[-1] <= statistic.global_sensitivity for rung in climbed)
    broken += most > statistic.global_sensitivity
    note = (
        f"{broken} violations" if broken or not rising else f"largest step {most} of cap {statistic.global_sensitivity}"
    )
    return Result(not broken and rising, cases=len(world.pairs), note=note)


def sensitivities(world: World, shrink: Fraction = Fraction(1)) -> Result:
    """Whether no step moves any number beyond its cap, nor all of them together beyond the stated norms."""
    statistic = world.statistic
    if not isinstance(statistic, VectorStatistic):
        raise TypeError("one number has a ladder")
    values = [[int(value) for value in statistic.values(data)] for data in world.data]
    global_sensitivities = [shrink * global_sensitivity for global_sensitivity in statistic.global_sensitivities]
    worst = [Fraction(0), Fraction(0), Fraction(0)]
    for here, there in world.pairs:
        parts = [
            abs(a - b) / global_sensitivity
            for a, b, global_sensitivity in zip(values[here], values[there], global_sensitivities, strict=True)
        ]
        found = (max(parts), sum(parts, Fraction(0)), sum((part**2 for part in parts), Fraction(0)))
        worst = [max(pair) for pair in zip(worst, found, strict=True)]
    # A histogram's cap is one record; a person's rows may move a bin further, within the norms.
    holds = worst[1] <= statistic.l1 and worst[2] <= statistic.l2_squared
    note = f"l1 {float(worst[1]):g} of {statistic.l1}, l2 squared {float(worst[2]):g} of {statistic.l2_squared}"
    return Result(holds, cases=len(world.pairs), note=note)


def at_price(prepared: Prepared, loss: Loss) -> Prepared:
    """The same mechanism, sold at another price: for seeing that a check can fail."""
    return replace(prepared, loss=loss)  # type: ignore[type-var]
