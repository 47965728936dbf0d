"""Exact output laws of mechanisms that test first, and the hockey-stick divergence between two of them.

Pass probabilities and noise have closed forms, so what an attacker can tell from any number of runs on two neighbouring
datasets is computed, not sampled.  Rounding to a public grid happens after the laws here and cannot add to it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from dither.mechanisms.propose_test import TestedNoise
from dither.mechanisms.stable import StableValue
from dither.mechanisms.stable_bins import StableBins
from dither.procedures.ordered import Octaves, Ordered, RankRange, bin_margin, reach_margin
from dither.procedures.plans import LocationPlan, Plan, RangePlan, ScalePlan, TrimmedPlan
from dither.procedures.robust import SHIFTS, CoarseScale, Proposal, ScaleStep, octave

REFUSED = "refused"


@dataclass
class Mixed:
    """Atoms with their probabilities, and Laplace pieces (weight, centre, scale) by what was released before them."""

    atoms: dict[Hashable, float] = field(default_factory=lambda: defaultdict(float))
    pieces: dict[Hashable, tuple[float, float, float]] = field(default_factory=dict)

    def add(self, key: Hashable, weight: float, centre: float, scale: float) -> None:
        """A Laplace piece; pieces of one key share centre and scale.  A scale of zero is an atom."""
        if scale == 0.0:
            self.atoms[key, centre] += weight
        else:
            self.pieces[key] = (self.pieces.get(key, (0.0,))[0] + weight, centre, scale)

    @property
    def total(self) -> float:
        """One, if nothing was forgotten."""
        return sum(self.atoms.values()) + sum(weight for weight, *_ in self.pieces.values())


def divergence(here: Mixed, there: Mixed, epsilon: float) -> float:
    """``sup_A P(A) - e^epsilon Q(A)``, exactly: the least delta that this pair allows."""
    growth = math.exp(epsilon)
    found = sum(max(p - growth * there.atoms.get(key, 0.0), 0.0) for key, p in here.atoms.items())
    for key, piece in here.pieces.items():
        other = there.pieces.get(key)
        found += piece[0] if other is None else laplace_excess(piece, other, growth)
    return found


def laplace_excess(here: tuple[float, float, float], there: tuple[float, float, float], growth: float) -> float:
    """``integral max(0, w f - growth w' f')`` for two Laplace densities of one scale."""
    (weight, centre, scale), (other, elsewhere, _) = here, there
    if weight == 0.0:
        return 0.0
    shift = abs(centre - elsewhere) / scale
    # The ratio f / f' is e^shift on the near side and falls to e^-shift; it must exceed growth w' / w.
    needed = math.log(growth * other / weight) if other > 0.0 else -math.inf
    if needed >= shift:
        return 0.0
    if needed < -shift:
        return weight - growth * other
    cut = (shift - needed) / 2.0
    return weight * _below(cut) - growth * other * _below(cut - shift)


def _below(z: float) -> float:
    return 0.5 * math.exp(z) if z < 0.0 else 1.0 - 0.5 * math.exp(-z)


def mechanism_law(prepared: TestedNoise | StableValue, data: Any) -> Mixed:
    """The law of a calibrated mechanism that tests first; integer noise as atoms."""
    law, passed = Mixed(), prepared.test.chance(prepared.margin(data))
    law.atoms[REFUSED] = 1.0 - passed
    value = prepared.statistic.value(data)
    if isinstance(prepared, StableValue):
        law.atoms[value] += passed
        return law
    rate = 1.0 / float(prepared.scale)
    mass = math.tanh(rate / 2.0)
    reach = math.ceil(45.0 / rate)
    for k in range(-reach, reach + 1):
        law.atoms[value + k] += passed * mass * math.exp(-rate * abs(k))
    return law


def plan_law(plan: Plan, data: Ordered) -> Mixed:
    """The law of all that a plan releases, scales included."""
    law = Mixed()
    if isinstance(plan, ScalePlan):
        _scale_law(law, plan.step, data)
    elif isinstance(plan, (LocationPlan, RangePlan, TrimmedPlan)) and isinstance(plan.scale, CoarseScale):
        left = 1.0
        for edge, chance in _edges(plan.scale, data):
            _after(law, plan, data, edge, left * chance)
            left *= 1.0 - chance
        law.atoms[REFUSED] += left
    else:
        raise TypeError(f"no exact law of {type(plan).__name__}")
    return law


def _scale_law(law: Mixed, step: ScaleStep, data: Ordered) -> None:
    distance = RankRange(data, step.lower, step.upper).value
    passed = cascade_chance(step, data)
    law.atoms[REFUSED] += 1.0 - passed
    if distance == 0:
        law.atoms["zero"] += passed
    else:
        law.add("log", passed, math.log2(distance), float(step.width / step.release))


def cascade_chance(step: Proposal, data: Ordered) -> float:
    """The probability that some test of a step passes."""
    return 1.0 - math.prod(1.0 - step.test.chance(margin) for margin in step.margins(data))


def _edges(scale: CoarseScale, data: Ordered) -> list[tuple[Any, float]]:
    """(edge, probability that its test passes) in the order of the cascade."""
    octaves, distances = Octaves(scale.width), RankRange(data, scale.lower, scale.upper)
    found = []
    for shift in SHIFTS:
        index = octaves.bin_of(distances.value, shift)
        edge = 0 if index is None else octave((index + 1 - shift) * scale.width, up=True)
        found.append((edge, scale.test.chance(bin_margin(distances, octaves, shift))))
    return found


def _after(law: Mixed, plan: LocationPlan | RangePlan | TrimmedPlan, data: Ordered, edge: Any, weight: float) -> None:
    """What follows once a scale is known."""
    key = float(edge)
    if isinstance(plan, TrimmedPlan):
        mean = data.total(plan.trimmed + 1, data.records - plan.trimmed) / plan.kept
        law.add(key, weight, float(mean), float(edge * plan.factor / (plan.kept * plan.release)))
        return
    if isinstance(plan, LocationPlan):
        step = plan.step(float(edge * plan.share))
        passed, value, width = cascade_chance(step, data), data.at(plan.rank), step.width
    else:
        distances, wide = RankRange(data, plan.scale.lower, plan.scale.upper), edge * plan.share
        margin = reach_margin(distances, lambda least, most: most - least <= wide)
        passed, value, width = plan.test.chance(margin), distances.value, float(wide)
    law.atoms[key, REFUSED] += weight * (1.0 - passed)
    law.add(key, weight * passed, float(value), width / float(plan.release))


def bins_divergence(bins: StableBins, here: dict[Any, int], there: dict[Any, int], epsilon: float) -> float:
    """The divergence of two stable histograms, by going through all joint outcomes; for few bins and short tails."""
    law, other = ({(): 1.0}, {(): 1.0})
    for key in sorted(set(here) | set(there)):
        law, other = _joint(law, bins, here.get(key, 0)), _joint(other, bins, there.get(key, 0))
    growth = math.exp(epsilon)
    return sum(max(p - growth * other.get(outcome, 0.0), 0.0) for outcome, p in law.items())


def _joint(law: dict[Any, float], bins: StableBins, count: int) -> dict[Any, float]:
    if count == 0:
        return {(*outcome, None): p for outcome, p in law.items()}
    rate, top = float(bins.rate), bins.threshold
    mass = math.tanh(rate / 2.0)
    last = max(count, top) + math.ceil(12.0 / rate)
    shown: dict[int | None, float] = {k: mass * math.exp(-rate * abs(k - count)) for k in range(top, last)}
    shown[last] = math.exp(-rate * (last - count)) / (1.0 + math.exp(-rate))
    shown[None] = 1.0 - bins.chance(count)
    return {(*outcome, k): p * q for outcome, p in law.items() for k, q in shown.items()}
