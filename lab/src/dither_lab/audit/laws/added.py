"""The laws of added noise: ``worst_case`` (one number or several), ``smooth`` and ``largest_local``."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dither.errors import NotProved
from dither.mechanisms.mechanism import Prepared
from dither.noise.gaussian import Gaussian
from dither.noise.law import Law
from dither.numbers import ball, precision
from dither.privacy import Loss
from dither.queries.order import Median
from dither.sensitivity.margins import MarginLevels
from dither_lab.audit.checks import least_epsilon
from dither_lab.audit.divergence import Divergence, hockey_stick
from dither_lab.audit.imitation import broken_draw
from dither_lab.audit.laws.facts import D, Facts, norm_rungs, smooth_bound
from dither_lab.audit.laws.outputs import Noisy, Outputs
from dither_lab.audit.laws.registry import (
    ADDED,
    DELTA,
    NEEDS_DELTA,
    Answer,
    IndependentLaw,
    Mutant,
    Pair,
    WorstPair,
    output_law,
)
from dither_lab.audit.laws.tails import tail_of
from dither_lab.audit.universes import Universe, column_universe

BITS = 160
FAR = 256
"""So many rungs of a norm are looked at."""
NEAREST = 24
"""How many pairs near the corners of a box have their divergence computed; all of them are compared with the box."""


class _AddedNoise(IndependentLaw):
    """value + (S / alpha) Z, rounded to the grid; S is what the kinds of noise differ in."""

    noises = ADDED

    @abstractmethod
    def bound(self, prepared: Any, facts: Facts[D], data: D) -> Fraction:
        """S, in grid steps."""

    def box_bound(self, prepared: Any, facts: Facts[D], data: D) -> Fraction:
        """S with the rounding of the code that ships: what must lie in the proved box exactly."""
        return self.bound(prepared, facts, data)

    def whole(self, prepared: Any) -> bool:  # noqa: ARG002
        """Whether the noise is the integer Laplace law."""
        return False

    def distribution(self, prepared: Any, facts: Facts[D], data: D) -> Noisy:
        """Of the answer."""
        grid, point = facts.statistic.answers, prepared.point
        scale = float(self.bound(prepared, facts, data) / point.alpha)
        tail = None if self.whole(prepared) else tail_of(point.law)
        return Noisy(facts.value(data), scale, grid.low, grid.high, tail)

    def outputs(self, prepared: Any, facts: Facts[D], data: D) -> Outputs:
        return Outputs((facts.value(data),), (self.distribution(prepared, facts, data),))

    def listed(self, prepared: Any, facts: Facts[D], data: D) -> dict[Answer, float]:
        """Every answer, without interval."""
        return {(answer,): p for answer, p in self.distribution(prepared, facts, data).chances().items()}

    def divergence(self, prepared: Any, facts: Facts[D], here: D, there: D) -> Divergence:
        """The divergence between the outputs on two datasets, before rounding."""
        point = prepared.point
        scales = [float(self.bound(prepared, facts, data) / point.alpha) for data in (here, there)]
        shift = (facts.value(there) - facts.value(here)) / scales[0]
        return hockey_stick(point.law, shift, math.log(scales[1] / scales[0]), point.loss.epsilon)

    def worst_pair(self, prepared: Any, facts: Facts[D], pairs: list[Pair[D]]) -> WorstPair[D]:
        """All pairs lie in the box of the proved point; the worst of them by its divergence."""
        point = prepared.point
        spent = point.loss
        bounds: dict[int, Fraction] = {}

        def bound(data: D) -> Fraction:
            if id(data) not in bounds:
                bounds[id(data)] = self.box_bound(prepared, facts, data)
            return bounds[id(data)]

        def place(pair: Pair[D]) -> tuple[float, float]:
            scale = float(bound(pair[0]) / point.alpha)
            return (facts.value(pair[1]) - facts.value(pair[0])) / scale, math.log(bound(pair[1]) / bound(pair[0]))

        def shows(pair: Pair[D]) -> tuple[float, float]:
            result = hockey_stick(point.law, *place(pair), spent.epsilon)
            return (result.epsilon, result.delta) if spent.is_pure else (result.delta, result.epsilon)

        def corner(pair: Pair[D]) -> float:
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

    def weakened(self, prepared: Any, factor: Fraction) -> Prepared:
        point = replace(prepared.point, alpha=prepared.point.alpha / factor)
        return replace(prepared, point=point)  # type: ignore[no-any-return]


@output_law("worst_case")
class WorstCaseLaw(_AddedNoise):
    """S is the global sensitivity (DMNS06 Proposition 1); Laplace noise is the integer law."""

    proof = "admissible"

    def bound(self, prepared: Any, facts: Facts[D], data: D) -> Fraction:  # noqa: ARG002
        return Fraction(facts.global_sensitivity)

    def whole(self, prepared: Any) -> bool:
        return bool(prepared.point.law.name == "laplace")

    def answers(self, prepared: Any, facts: Facts[D], data: D) -> dict[Answer, float] | None:
        return None if prepared.confidence is not None else self.listed(prepared, facts, data)

    def worst_pair(self, prepared: Any, facts: Facts[D], pairs: list[Pair[D]]) -> WorstPair[D]:
        if self.whole(prepared):
            scale = facts.global_sensitivity / prepared.point.alpha
            return integer_noise(lambda x: [facts.value(x)], [scale], pairs)
        return super().worst_pair(prepared, facts, pairs)


class _SmoothNoise(_AddedNoise):
    """Noise with a private scale; an interval spends a share of epsilon of its own."""

    def loss(self, noise: str, epsilon: float) -> Loss:
        return Loss(epsilon, DELTA if noise in NEEDS_DELTA else 0.0)

    def answers(self, prepared: Any, facts: Facts[D], data: D) -> dict[Answer, float] | None:
        return None if prepared.interval_loss is not None else self.listed(prepared, facts, data)

    def interval_epsilon(self, prepared: Any) -> float:
        return 0.0 if prepared.interval_loss is None else float(prepared.interval_loss.epsilon)

    def interval_for_free(self, prepared: Any, factor: Fraction) -> Prepared | None:
        if prepared.interval_loss is None:
            return None
        loss = Loss(float(prepared.interval_loss.exact_epsilon * factor))
        return replace(prepared, interval_loss=loss)  # type: ignore[no-any-return]


@output_law("smooth")
class SmoothLaw(_SmoothNoise):
    """``S = max_k e^{-beta k} U_k`` (NRS11 Definition 2.2, Claim 3.2)."""

    proof = "smooth"
    smooth_ladder = True

    def bound(self, prepared: Any, facts: Facts[D], data: D) -> Fraction:
        return facts.smooth(data, prepared.point.beta, prepared.algorithm)


@output_law("largest_local")
class LargestLocalLaw(_SmoothNoise):
    """``S = max_j e^{-beta j} U_j``, U_j the largest sensitivity of levels within j steps (COQ17 Proposition 11)."""

    proof = "largest_local"

    def bound(self, prepared: Any, facts: Facts[D], data: D) -> Fraction:
        levels = prepared.statistic.function.levels
        if isinstance(levels, MarginLevels):
            return Fraction(
                smooth_bound(rounded_rungs(levels, facts, data), levels.global_sensitivity, prepared.point.beta)
            )
        reached, rungs = {prepared.statistic.function.level(data)}, []
        while True:
            rungs.append(int(levels.sensitivities[max(reached) - 1]))
            further = reached.union(*(levels.related(level) for level in reached))
            if further == reached:
                break
            reached = further
        return Fraction(smooth_bound(rungs, rungs[-1], prepared.point.beta))

    def box_bound(self, prepared: Any, facts: Facts[D], data: D) -> Fraction:
        return facts.smooth(data, prepared.point.beta)

    def mutants(self, prepare: Callable[[Universe], Any]) -> Iterator[Mutant]:
        universe = column_universe(Median(bounds=(0, 6)), range(7), 3)
        for law in (LevelsInARow(), OneChangeTooMany()):
            yield Mutant(law.mistake, universe, broken_draw(prepare(universe), law, universe.enumerated()), law)


def rounded_rungs(levels: MarginLevels, facts: Facts[D], data: D) -> list[int]:
    """Sensitivities by enumeration, each rounded up to the next public bound, up to the public depth."""
    public = [int(bound) for bound in levels.bounds]
    settled = min(facts.settled(data) + 1, levels.depth)
    rungs = facts.sensitivities(data, settled)
    above = {sensitivity: min(bound for bound in public if bound >= sensitivity) for sensitivity in set(rungs)}
    return [above[sensitivity] for sensitivity in rungs]


class _BrokenLevels(LargestLocalLaw):
    """The same claim, and one mistake."""

    mistake: str

    def box_bound(self, prepared: Any, facts: Facts[D], data: D) -> Fraction:
        return self.bound(prepared, facts, data)

    def mutants(self, prepare: Callable[[Universe], Any]) -> Iterator[Mutant]:  # noqa: ARG002
        return iter(())


class LevelsInARow(_BrokenLevels):
    """COQ17 Example 13: local sensitivities of a median as levels, of which neighbours were only to have the next."""

    mistake = "sensitivities of a median as levels in a row"

    def bound(self, prepared: Any, facts: Any, data: D) -> Fraction:
        every = sorted({int(sensitivity) for sensitivity in facts.local_sensitivities})
        above = [item for item in every if item >= facts.sensitivities(data, 1)[0]]
        return Fraction(smooth_bound(above, every[-1], prepared.point.beta))


class OneChangeTooMany(_BrokenLevels):
    """Margins that are one too large: the local sensitivity itself is left out."""

    mistake = "margins of one change too many"

    def bound(self, prepared: Any, facts: Facts[D], data: D) -> Fraction:
        levels = prepared.statistic.function.levels
        late = [int(levels.bounds[0]), *rounded_rungs(levels, facts, data)]
        return Fraction(smooth_bound(late, levels.global_sensitivity, prepared.point.beta))


def integer_noise(values: Callable[[D], list[int]], scales: list[Fraction], pairs: list[Pair[D]]) -> WorstPair[D]:
    """Integer Laplace noise: the log-ratio is at most the sum of shifts over scales, and attained far out."""

    def loss(pair: Pair[D]) -> Fraction:
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

    def outputs(self, prepared: Any, facts: Facts[D], data: D) -> Outputs:
        statistic = facts.statistic
        tail = None if prepared.law.name == "laplace" else tail_of(prepared.law)
        values = tuple(int(value) for value in statistic.values(data))
        numbers = tuple(
            Noisy(value, float(step * prepared.unit), grid.low, grid.high, tail)
            for value, step, grid in zip(values, statistic.global_sensitivities, statistic.answers, strict=True)
        )
        return Outputs(values, numbers)

    def worst_pair(self, prepared: Any, facts: Facts[D], pairs: list[Pair[D]]) -> WorstPair[D]:
        statistic = facts.statistic
        scales = [step * prepared.unit for step in statistic.global_sensitivities]
        if prepared.law.name == "laplace":
            return integer_noise(lambda x: [int(v) for v in statistic.values(x)], scales, pairs)

        def length(pair: Pair[D]) -> Fraction:
            moved = zip(statistic.values(pair[0]), statistic.values(pair[1]), scales, strict=True)
            return sum((((int(a) - int(b)) / scale) ** 2 for a, b, scale in moved), Fraction(0))

        worst = max(pairs, key=length)
        # Rounded up: the proof below is for a shift that is at least as long.
        shift = Fraction(math.nextafter(math.sqrt(length(worst)), math.inf))
        return *proved(Gaussian(), shift, Fraction(0), prepared.loss, float(shift), 0.0), worst

    def weakened(self, prepared: Any, factor: Fraction) -> Prepared:
        return replace(prepared, unit=prepared.unit * factor)  # type: ignore[no-any-return]


@output_law("smooth/vector")
class SmoothVectorLaw(IndependentLaw):
    """Every number plus independent noise of one scale, by the smooth bound of the norm (NRS11 Lemma 2.6 in R^d)."""

    proof = "custom"
    noises = ADDED
    vector = True

    def loss(self, noise: str, epsilon: float) -> Loss:
        return Loss(epsilon, DELTA if noise in NEEDS_DELTA else 0.0)

    def scale(self, prepared: Any, facts: Facts[D], data: D) -> float:
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

    def outputs(self, prepared: Any, facts: Facts[D], data: D) -> Outputs:
        values = tuple(int(value) for value in facts.statistic.values(data))
        scale, tail = self.scale(prepared, facts, data), tail_of(prepared.point.law)
        placed = zip(values, facts.statistic.answers, self.units(facts.statistic), strict=True)
        return Outputs(
            values, tuple(Noisy(item, scale * unit, grid.low, grid.high, tail) for item, grid, unit in placed)
        )

    def units(self, statistic: Any) -> Sequence[int]:
        """What each number is measured in: its global sensitivity where it says so, else one step."""
        if statistic.norm_units is None:
            return [1] * len(statistic.answers)
        return [max(int(most), 1) for most in statistic.global_sensitivities]

    def worst_pair(self, prepared: Any, facts: Facts[D], pairs: list[Pair[D]]) -> WorstPair[D]:
        """All pairs lie in the box of the point that is proved for so many dimensions."""
        statistic, point = facts.statistic, prepared.point
        law, growth = point.law, math.exp(float(point.beta)) * (1 + 1e-9)

        known: dict[int, tuple[float, list[int]]] = {}

        def of(data: D) -> tuple[float, list[int]]:
            if id(data) not in known:
                known[id(data)] = self.scale(prepared, facts, data), [int(item) for item in statistic.values(data)]
            return known[id(data)]

        def box(pair: Pair[D]) -> tuple[list[float], float]:
            (scale, values), (next_scale, next_values) = of(pair[0]), of(pair[1])
            moves = zip(values, next_values, self.units(statistic), strict=True)
            return [(b - a) / (scale * unit) for a, b, unit in moves], next_scale / scale

        def length(shifts: list[float]) -> float:
            return math.hypot(*shifts) if law.name == "gaussian" else math.fsum(map(abs, shifts))

        def shows(pair: Pair[D]) -> float:
            shifts, ratio = box(pair)
            if point.loss.is_pure:
                # Far out in every coordinate: the suprema of independent coordinates add up.
                return math.fsum(
                    hockey_stick(law, shift, math.log(ratio), point.loss.epsilon).epsilon for shift in shifts
                )
            return max(hockey_stick(law, shift, math.log(ratio), point.loss.epsilon).delta for shift in shifts)

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

    def weakened(self, prepared: Any, factor: Fraction) -> Prepared:
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
