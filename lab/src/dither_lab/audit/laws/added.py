"""The laws of added noise: ``worst_case`` (one number or several), ``smooth`` and ``largest_local``."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dither.errors import NotProved
from dither.mechanisms.mechanism import Prepared
from dither.noise.gaussian import Gaussian
from dither.noise.law import Law
from dither.numbers import ball, precision
from dither.privacy import Loss
from dither_lab.audit.checks import least_epsilon
from dither_lab.audit.divergence import Divergence, hockey_stick
from dither_lab.audit.laws.facts import Facts, norm_rungs, smooth_bound
from dither_lab.audit.laws.outputs import Noisy, Outputs
from dither_lab.audit.laws.registry import (
    ADDED,
    DELTA,
    NEEDS_DELTA,
    Answer,
    IndependentLaw,
    Pair,
    WorstPair,
    output_law,
)
from dither_lab.audit.laws.tails import tail_of

BITS = 160
FAR = 256
"""So many rungs of a norm are looked at."""
NEAREST = 24
"""How many pairs near the corners of a box have their divergence computed; all of them are compared with the box."""


class _AddedNoise(IndependentLaw):
    """value + (S / alpha) Z, rounded to the grid; S is what the kinds of noise differ in."""

    noises = ADDED

    @abstractmethod
    def bound(self, prepared: Any, facts: Facts, data: Any) -> Fraction:
        """S, in grid steps."""

    def box_bound(self, prepared: Any, facts: Facts, data: Any) -> Fraction:
        """S with the rounding of the code that ships: what must lie in the proved box exactly."""
        return self.bound(prepared, facts, data)

    def whole(self, prepared: Any) -> bool:  # noqa: ARG002
        """Whether the noise is the integer Laplace law."""
        return False

    def distribution(self, prepared: Any, facts: Facts, data: Any) -> Noisy:
        """Of the answer."""
        grid, point = facts.statistic.answers, prepared.point
        scale = float(self.bound(prepared, facts, data) / point.alpha)
        tail = None if self.whole(prepared) else tail_of(point.law)
        return Noisy(facts.value(data), scale, grid.low, grid.high, tail)

    def outputs(self, prepared: Any, facts: Facts, data: Any) -> Outputs:
        return Outputs((facts.value(data),), (self.distribution(prepared, facts, data),))

    def listed(self, prepared: Any, facts: Facts, data: Any) -> dict[Answer, float]:
        """Every answer, without interval."""
        return {(answer,): p for answer, p in self.distribution(prepared, facts, data).chances().items()}

    def divergence(self, prepared: Any, facts: Facts, here: Any, there: Any) -> Divergence:
        """The divergence between the outputs on two datasets, before rounding."""
        point = prepared.point
        scales = [float(self.bound(prepared, facts, data) / point.alpha) for data in (here, there)]
        shift = (facts.value(there) - facts.value(here)) / scales[0]
        return hockey_stick(point.law, shift, math.log(scales[1] / scales[0]), point.loss.epsilon)

    def worst_pair(self, prepared: Any, facts: Facts, pairs: list[Pair]) -> WorstPair:
        """All pairs lie in the box of the proved point; the worst of them by its divergence."""
        point = prepared.point
        spent = point.loss
        bounds: dict[int, Fraction] = {}

        def bound(data: Any) -> Fraction:
            if id(data) not in bounds:
                bounds[id(data)] = self.box_bound(prepared, facts, data)
            return bounds[id(data)]

        def place(pair: Pair) -> tuple[float, float]:
            scale = float(bound(pair[0]) / point.alpha)
            return (facts.value(pair[1]) - facts.value(pair[0])) / scale, math.log(bound(pair[1]) / bound(pair[0]))

        def shows(pair: Pair) -> tuple[float, float]:
            found = hockey_stick(point.law, *place(pair), spent.epsilon)
            return (found.epsilon, found.delta) if spent.is_pure else (found.delta, found.epsilon)

        def corner(pair: Pair) -> float:
            shift, dilation = place(pair)
            return abs(shift) / float(point.alpha) + abs(dilation) / float(point.beta or 1)

        # Pairs with the same shift and dilation show the same; those near the corners of the box show most.
        distinct = {(round(place(pair)[0], 9), round(place(pair)[1], 9)): pair for pair in pairs}
        worst = max(sorted(distinct.values(), key=corner)[-NEAREST:], key=shows)
        with precision(BITS):
            growth = ball(point.beta).exp()
            for here, there in pairs:
                inside = abs(facts.value(here) - facts.value(there)) <= min(bound(here), bound(there))
                if not (inside and ball(bound(there)) <= ball(bound(here)) * growth):
                    return math.inf, math.inf, (here, there)
        lower, upper = proved(point.law, point.alpha, point.beta, spent, *place(worst))
        extra = self.interval_epsilon(prepared)
        return lower + extra, None if upper is None else upper + extra, worst

    def interval_epsilon(self, prepared: Any) -> float:  # noqa: ARG002
        """What is spent on an interval."""
        return 0.0

    def weakened(self, prepared: Any, factor: Any) -> Prepared:
        point = replace(prepared.point, alpha=prepared.point.alpha / factor)
        return replace(prepared, point=point)  # type: ignore[no-any-return]


@output_law("worst_case")
class WorstCaseLaw(_AddedNoise):
    """S is the global sensitivity (DMNS06 Proposition 1); Laplace noise is the integer law."""

    proof = "admissible"

    def bound(self, prepared: Any, facts: Facts, data: Any) -> Fraction:  # noqa: ARG002
        return Fraction(facts.global_sensitivity)

    def whole(self, prepared: Any) -> bool:
        return bool(prepared.point.law.name == "laplace")

    def answers(self, prepared: Any, facts: Facts, data: Any) -> dict[Answer, float] | None:
        return None if prepared.confidence is not None else self.listed(prepared, facts, data)

    def worst_pair(self, prepared: Any, facts: Facts, pairs: list[Pair]) -> WorstPair:
        if self.whole(prepared):
            scale = facts.global_sensitivity / prepared.point.alpha
            return integer_noise(lambda x: [facts.value(x)], [scale], pairs)
        return super().worst_pair(prepared, facts, pairs)


class _SmoothNoise(_AddedNoise):
    """Noise with a private scale; an interval spends a share of epsilon of its own."""

    def loss(self, noise: str, epsilon: float) -> Loss:
        return Loss(epsilon, DELTA if noise in NEEDS_DELTA else 0.0)

    def answers(self, prepared: Any, facts: Facts, data: Any) -> dict[Answer, float] | None:
        return None if prepared.interval_loss is not None else self.listed(prepared, facts, data)

    def interval_epsilon(self, prepared: Any) -> float:
        return 0.0 if prepared.interval_loss is None else float(prepared.interval_loss.epsilon)

    def interval_for_free(self, prepared: Any, factor: Any) -> Prepared | None:
        if prepared.interval_loss is None:
            return None
        loss = Loss(float(prepared.interval_loss.exact_epsilon * factor))
        return replace(prepared, interval_loss=loss)  # type: ignore[no-any-return]


@output_law("smooth")
class SmoothLaw(_SmoothNoise):
    """``S = max_k e^{-beta k} U_k`` (NRS11 Definition 2.2, Claim 3.2)."""

    proof = "smooth"
    smooth_ladder = True

    def bound(self, prepared: Any, facts: Facts, data: Any) -> Fraction:
        return facts.smooth(data, prepared.point.beta, prepared.algorithm)


@output_law("largest_local")
class LargestLocalLaw(_SmoothNoise):
    """``S = max_j e^{-beta j} U_j``, U_j the largest sensitivity of levels within j steps (COQ17 Proposition 11)."""

    proof = "largest_local"

    def bound(self, prepared: Any, facts: Facts, data: Any) -> Fraction:  # noqa: ARG002
        levels = prepared.statistic.function.levels
        reached, rungs = {prepared.statistic.function.level(data)}, []
        while True:
            rungs.append(int(levels.sensitivities[max(reached) - 1]))
            further = reached.union(*(levels.related(level) for level in reached))
            if further == reached:
                break
            reached = further
        return Fraction(smooth_bound(rungs, rungs[-1], prepared.point.beta))

    def box_bound(self, prepared: Any, facts: Facts, data: Any) -> Fraction:
        return facts.smooth(data, prepared.point.beta)


def integer_noise(values: Callable[[Any], list[int]], scales: list[Fraction], pairs: list[Pair]) -> WorstPair:
    """Integer Laplace noise: the log-ratio is at most the sum of shifts over scales, and attained far out."""

    def loss(pair: Pair) -> Fraction:
        moved = zip(values(pair[0]), values(pair[1]), scales, strict=True)
        return sum((abs(a - b) / scale for a, b, scale in moved), Fraction(0))

    worst = max(pairs, key=loss)
    # Answers are clamped to the grid: what the unclamped ones show is an upper bound, reached in practice.
    return float(loss(worst)), float(loss(worst)) * (1 + 2**-52), worst


@output_law("worst_case/vector")
class VectorLaw(IndependentLaw):
    """Every number plus noise of its own sensitivity times one public unit (DMNS06; Gaussian by the l2 norm)."""

    proof = "admissible"
    noises = ("laplace", "gaussian")
    vector = True

    def outputs(self, prepared: Any, facts: Facts, data: Any) -> Outputs:
        statistic = facts.statistic
        tail = None if prepared.law.name == "laplace" else tail_of(prepared.law)
        values = tuple(int(value) for value in statistic.values(data))
        numbers = tuple(
            Noisy(value, float(step * prepared.unit), grid.low, grid.high, tail)
            for value, step, grid in zip(values, statistic.global_sensitivities, statistic.answers, strict=True)
        )
        return Outputs(values, numbers)

    def worst_pair(self, prepared: Any, facts: Facts, pairs: list[Pair]) -> WorstPair:
        statistic = facts.statistic
        scales = [step * prepared.unit for step in statistic.global_sensitivities]
        if prepared.law.name == "laplace":
            return integer_noise(lambda x: [int(v) for v in statistic.values(x)], scales, pairs)

        def length(pair: Pair) -> Fraction:
            moved = zip(statistic.values(pair[0]), statistic.values(pair[1]), scales, strict=True)
            return sum((((int(a) - int(b)) / scale) ** 2 for a, b, scale in moved), Fraction(0))

        worst = max(pairs, key=length)
        # Rounded up: the proof below is for a shift that is at least as long.
        shift = Fraction(math.nextafter(math.sqrt(length(worst)), math.inf))
        return *proved(Gaussian(), shift, Fraction(0), prepared.loss, float(shift), 0.0), worst

    def weakened(self, prepared: Any, factor: Any) -> Prepared:
        return replace(prepared, unit=prepared.unit * factor)  # type: ignore[no-any-return]


@output_law("smooth/vector")
class SmoothVectorLaw(IndependentLaw):
    """Every number plus independent noise of one scale, by the smooth bound of the norm (NRS11 Lemma 2.6 in R^d)."""

    proof = "custom"
    noises = ADDED
    vector = True

    def loss(self, noise: str, epsilon: float) -> Loss:
        return Loss(epsilon, DELTA if noise in NEEDS_DELTA else 0.0)

    def scale(self, prepared: Any, facts: Facts, data: Any) -> float:
        """``max_k e^{-beta k} U_k`` over alpha, in the norm of the noise."""
        statistic, point = facts.statistic, prepared.point
        ladder = statistic.norm_ladder(data)
        if ladder.follows_smooth_bound:
            bound = float(ladder.smooth(point.beta))
        else:
            bound = smooth_bound(norm_rungs(statistic, data, FAR), statistic.norm_sensitivity, point.beta)
        return bound * self.stretch(prepared, statistic) / float(point.alpha)

    def stretch(self, prepared: Any, statistic: Any) -> float:
        """l1 is at most sqrt(d) times l2; l2 at most l1."""
        stretched = prepared.point.law.name != "gaussian" and statistic.norm == "l2"
        return math.sqrt(len(statistic.answers)) if stretched else 1.0

    def outputs(self, prepared: Any, facts: Facts, data: Any) -> Outputs:
        values = tuple(int(value) for value in facts.statistic.values(data))
        scale, tail = self.scale(prepared, facts, data), tail_of(prepared.point.law)
        placed = zip(values, facts.statistic.answers, strict=True)
        return Outputs(values, tuple(Noisy(value, scale, grid.low, grid.high, tail) for value, grid in placed))

    def worst_pair(self, prepared: Any, facts: Facts, pairs: list[Pair]) -> WorstPair:
        """All pairs lie in the box of the point that is proved for so many dimensions."""
        statistic, point = facts.statistic, prepared.point
        law, growth = point.law, math.exp(float(point.beta)) * (1 + 1e-9)

        known: dict[int, tuple[float, list[int]]] = {}

        def of(data: Any) -> tuple[float, list[int]]:
            if id(data) not in known:
                known[id(data)] = self.scale(prepared, facts, data), [int(one) for one in statistic.values(data)]
            return known[id(data)]

        def box(pair: Pair) -> tuple[list[float], float]:
            (scale, values), (next_scale, next_values) = of(pair[0]), of(pair[1])
            return [(b - a) / scale for a, b in zip(values, next_values, strict=True)], next_scale / scale

        def length(shifts: list[float]) -> float:
            return math.hypot(*shifts) if law.name == "gaussian" else math.fsum(map(abs, shifts))

        def shows(pair: Pair) -> float:
            shifts, ratio = box(pair)
            if point.loss.is_pure:
                # Far out in every coordinate: the suprema of independent coordinates add up.
                return math.fsum(hockey_stick(law, one, math.log(ratio), point.loss.epsilon).epsilon for one in shifts)
            return max(hockey_stick(law, one, math.log(ratio), point.loss.epsilon).delta for one in shifts)

        for pair in pairs:
            shifts, ratio = box(pair)
            inside = length(shifts) <= float(point.alpha) * min(1.0, ratio) * (1 + 1e-9)
            if not (inside and 1 / growth <= ratio <= growth):
                return math.inf, math.inf, pair
        near = sorted(pairs, key=lambda pair: length(box(pair)[0]))[-NEAREST:]
        worst = max(near, key=shows)
        try:
            law.prove(point.alpha, point.beta, point.loss, len(statistic.answers))
        except NotProved:
            return shows(worst), math.inf, worst
        extra = 0.0 if prepared.interval_loss is None else float(prepared.interval_loss.epsilon)
        claimed = float(point.loss.epsilon)
        lower = min(shows(worst), claimed) if point.loss.is_pure else 0.0
        return lower + extra, claimed + extra, worst

    def weakened(self, prepared: Any, factor: Any) -> Prepared:
        point = replace(prepared.point, alpha=prepared.point.alpha / factor)
        return replace(prepared, point=point)  # type: ignore[no-any-return]


def proved(law: Law, alpha: Fraction, beta: Fraction, loss: Loss, shift: float, dilation: float) -> tuple[float, float]:
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
