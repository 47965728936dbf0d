"""The laws of mechanisms that test first: ``propose_test`` and ``stable``."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dither.mechanisms.mechanism import Mechanism, Prepared
from dither.privacy import Loss
from dither_lab.audit.checks import least_epsilon, within_rounding
from dither_lab.audit.laws.facts import D, Facts
from dither_lab.audit.laws.outputs import ListedDistribution, Noisy, Outputs
from dither_lab.audit.laws.registry import TESTED, IndependentLaw, Pair, WorstPair, output_law
from dither_lab.audit.propose_test_release import REFUSED, Mixed, divergence

FARTHEST = 45.0
"""Integer noise is listed up to so many times its scale; what lies beyond has probability e^-45."""


def pass_chance(epsilon: Fraction, delta: Fraction, margin: int) -> float:
    """``P(margin + Lap(1/epsilon) > ln(1 / (2 delta)) / epsilon)`` (DL09, with margins that start at 0)."""
    over = float(epsilon) * margin + math.log(2.0 * float(delta))
    return 0.5 * math.exp(over) if over <= 0.0 else 1.0 - 0.5 * math.exp(-over)


class _Tested(IndependentLaw):
    """A refusal, or an answer once the margin has passed."""

    def passes(self, prepared: Any, facts: Facts[D], data: D) -> float:
        """How often data like these pass the test."""
        margin = facts.margin(data, self.proposal(prepared))
        return pass_chance(prepared.test.epsilon, prepared.test.delta, margin)

    @abstractmethod
    def proposal(self, prepared: Any) -> int:
        """How far one change may move the value where the margin counts."""

    @abstractmethod
    def mixed(self, prepared: Any, facts: Facts[D], data: D) -> Mixed:
        """The law of all that is released, before answers are clamped."""

    def worst_pair(self, prepared: Any, facts: Facts[D], pairs: list[Pair[D]]) -> WorstPair[D]:
        laws: dict[int, Mixed] = {}

        def law(data: D) -> Mixed:
            if id(data) not in laws:
                laws[id(data)] = self.mixed(prepared, facts, data)
            return laws[id(data)]

        return by_delta(prepared.loss, pairs, lambda x, y, e: divergence(law(x), law(y), e))

    def loss(self, noise: str, epsilon: float) -> Loss:  # noqa: ARG002
        return TESTED


@output_law("propose_test")
class ProposeTestLaw(_Tested):
    """Integer Laplace noise of a public scale, if ``min {k : U_k > bound}`` passes (docs/proofs/propose_test.md)."""

    proof = "propose_test"
    noises = ("laplace",)
    every_point = True

    def proposal(self, prepared: Any) -> int:
        return int(prepared.bound)

    def outputs(self, prepared: Any, facts: Facts[D], data: D) -> Outputs:
        grid, value = facts.statistic.answers, facts.value(data)
        noisy = Noisy(value, float(prepared.scale), grid.low, grid.high)
        return Outputs((value,), (noisy,), 1.0 - self.passes(prepared, facts, data))

    def mixed(self, prepared: Any, facts: Facts[D], data: D) -> Mixed:
        law, passed, value = Mixed(), self.passes(prepared, facts, data), facts.value(data)
        law.atoms[REFUSED] = 1.0 - passed
        rate = 1.0 / float(prepared.scale)
        mass = math.tanh(rate / 2.0)
        reach = math.ceil(FARTHEST / rate)
        for k in range(-reach, reach + 1):
            law.atoms[value + k] += passed * mass * math.exp(-rate * abs(k))
        return law

    def weakened(self, prepared: Any, factor: Fraction) -> Prepared:
        return replace(prepared, scale=prepared.scale * factor)  # type: ignore[no-any-return]

    def on_few_records(self, mechanism: Any, statistic: Any) -> Mechanism:
        # A bound that some sensitivities of so small a universe keep.
        steps = max(statistic.global_sensitivity // 2, 1)
        return replace(mechanism, bound=steps * statistic.answers.step)  # type: ignore[no-any-return]

    def applies(self, statistic: Any) -> bool:
        # There is no bound below a global sensitivity of one step to propose.
        return bool(statistic.global_sensitivity > 1)


@output_law("stable")
class StableLaw(_Tested):
    """The value itself, if ``min {k : U_k > 0}`` passes (docs/proofs/stable.md)."""

    proof = "stable"

    def proposal(self, prepared: Any) -> int:  # noqa: ARG002
        return 0

    def outputs(self, prepared: Any, facts: Facts[D], data: D) -> Outputs:
        value = facts.value(data)
        return Outputs((value,), (ListedDistribution({value: 1.0}),), 1.0 - self.passes(prepared, facts, data))

    def mixed(self, prepared: Any, facts: Facts[D], data: D) -> Mixed:
        law, passed = Mixed(), self.passes(prepared, facts, data)
        law.atoms[REFUSED] = 1.0 - passed
        law.atoms[facts.value(data)] += passed
        return law


def by_delta(loss: Loss, pairs: list[Pair[D]], delta_of: Callable[[D, D, float], float]) -> WorstPair[D]:
    """The worst pair where the divergence at any epsilon is known."""

    def delta_at(pair: Pair[D], epsilon: float) -> float:
        return delta_of(pair[0], pair[1], epsilon)

    def epsilon_between(pair: Pair[D]) -> float:
        return least_epsilon(lambda epsilon: delta_at(pair, epsilon), loss.delta, loss.epsilon)

    worst = max(pairs, key=lambda pair: delta_at(pair, loss.epsilon))
    if not within_rounding(delta_at(worst, loss.epsilon), loss.delta):
        return epsilon_between(worst), None, worst
    # The pair that is worst at a smaller epsilon shows more of it.
    near = max(pairs, key=lambda pair: delta_at(pair, 0.9 * loss.epsilon))
    best = max((worst, near), key=epsilon_between)
    # No pair exceeds delta at the claimed epsilon, to the accuracy of floats.
    return min(epsilon_between(best), loss.epsilon), loss.epsilon, best
