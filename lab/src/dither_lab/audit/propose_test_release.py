"""Exact output laws of mechanisms that test first, and the hockey-stick divergence between two of them.

Pass probabilities and noise have closed forms, so what an attacker can tell from any number of runs on two neighbouring
datasets is computed, not sampled.  Rounding to a public grid happens after the laws here and cannot add to it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import numpy as np

from dither.mechanisms.mechanism import Prepared
from dither.mechanisms.stable_bins import GaussianBins, StableBins
from dither.procedures.ordered import Octaves, Ordered, RankRange, bin_margin
from dither.procedures.plans import LocationPlan, ProcedurePlan, RangePlan, ScalePlan, TrimmedPlan
from dither.procedures.unbounded import SHIFTS, CoarseScale, ScaleStep, TestedProposal, octave

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
    result = sum(max(p - growth * there.atoms.get(key, 0.0), 0.0) for key, p in here.atoms.items())
    for key, piece in here.pieces.items():
        other = there.pieces.get(key)
        result += piece[0] if other is None else laplace_excess(piece, other, growth)
    return result


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


def mechanism_law(prepared: Prepared, data: Any) -> Mixed:
    """The law of a mechanism that tests first; integer noise as atoms."""
    from dither_lab.audit.laws.registry import law_of, published  # noqa: PLC0415  (laws are made of what stands above)

    law: Any = law_of(prepared)
    result: Mixed = law.mixed(prepared, published(prepared), data)
    return result


@singledispatch
def plan_law(plan: ProcedurePlan, data: Ordered) -> Mixed:  # noqa: ARG001
    """The law of all that a plan releases, scales included; each kind of plan registers its own below."""
    raise TypeError(f"no exact law of {plan!r}")


@plan_law.register
def _(plan: ScalePlan, data: Ordered) -> Mixed:
    law = Mixed()
    _scale_law(law, plan.step, data)
    return law


@plan_law.register
def _(plan: LocationPlan, data: Ordered) -> Mixed:
    def after(law: Mixed, edge: Any, weight: float) -> None:
        step = plan.step(float(edge * plan.share))
        _if_passed(law, edge, weight, cascade_chance(step, data), data.at(plan.rank), step.width / float(plan.release))

    return _by_scale(plan.scale, data, after)


@plan_law.register
def _(plan: RangePlan, data: Ordered) -> Mixed:
    lower, upper, n = plan.scale.lower, plan.scale.upper, data.records
    x = np.concatenate([np.full(n, -np.inf), data.ranks(1, n), np.full(n, np.inf)])

    def after(law: Mixed, edge: Any, weight: float) -> None:
        left = weight
        for j, proposal in enumerate(plan.proposals):
            wide = float(edge * proposal.share)
            passed = proposal.test.chance(_range_margin(x, (n + lower - 1, n + upper - 1), wide))
            value = float(x[n + upper - 1]) - float(x[n + lower - 1])
            law.add((float(edge), j), left * passed, value, wide / float(proposal.release))
            left *= 1.0 - passed
        law.atoms[float(edge), REFUSED] += left

    return _by_scale(plan.scale, data, after)


def _range_margin(x: np.ndarray, places: tuple[int, int], wide: float) -> int:
    """How many changes until one more moves either rank by more than this: window after window, in plain numpy."""
    for k in range(len(x) // 3):
        if any((x[i : i + k + 2] - x[i - k - 1 : i + 1]).max() > wide for i in places):
            return k
    return len(x) // 3


@plan_law.register
def _(plan: TrimmedPlan, data: Ordered) -> Mixed:
    def after(law: Mixed, edge: Any, weight: float) -> None:
        mean = data.total(plan.trimmed + 1, data.records - plan.trimmed) / plan.kept
        law.add(float(edge), weight, float(mean), float(edge * plan.factor / (plan.kept * plan.release)))

    return _by_scale(plan.scale, data, after)


def _by_scale(scale: Any, data: Ordered, after: Callable[[Mixed, Any, float], None]) -> Mixed:
    """A coarse scale first (one of several edges, or a refusal), then what follows from it."""
    law, left = Mixed(), 1.0
    for edge, chance in _edges(scale, data):
        after(law, edge, left * chance)
        left *= 1.0 - chance
    law.atoms[REFUSED] += left
    return law


def _if_passed(law: Mixed, edge: Any, weight: float, passed: float, value: Any, scale: float) -> None:
    """A test, then Laplace noise."""
    key = float(edge)
    law.atoms[key, REFUSED] += weight * (1.0 - passed)
    law.add(key, weight * passed, float(value), scale)


def _scale_law(law: Mixed, step: ScaleStep, data: Ordered) -> None:
    distance = RankRange(data, step.lower, step.upper).value
    passed = cascade_chance(step, data)
    law.atoms[REFUSED] += 1.0 - passed
    if distance == 0:
        law.atoms["zero"] += passed
    else:
        law.add("log", passed, math.log2(distance), float(step.width / step.release))


def cascade_chance(step: TestedProposal, data: Ordered) -> float:
    """The probability that some test of a step passes."""
    return 1.0 - math.prod(1.0 - step.test.chance(margin) for margin in step.margins(data))


@singledispatch
def _edges(scale: Any, data: Ordered) -> list[tuple[Any, float]]:  # noqa: ARG001
    """(edge, probability that its test passes) in the order of the cascade."""
    raise TypeError(f"no exact law of what follows {scale!r}")


@_edges.register
def _(scale: CoarseScale, data: Ordered) -> list[tuple[Any, float]]:
    octaves, distances = Octaves(scale.width), RankRange(data, scale.lower, scale.upper)
    results = []
    for shift in SHIFTS:
        index = octaves.bin_of(distances.value, shift)
        edge = 0 if index is None else octave((index + 1 - shift) * scale.width, up=True)
        results.append((edge, scale.test.chance(bin_margin(distances, octaves, shift))))
    return results


@singledispatch
def bin_law(bins: Any, count: int) -> dict[int | None, float]:  # noqa: ARG001
    """The law of what is released of one bin with so many records: a noisy count, or None where it is hidden."""
    raise TypeError(f"no exact law of {bins!r}")


@bin_law.register
def laplace_bin(bins: StableBins, count: int) -> dict[int | None, float]:
    """Integer Laplace noise, cut at a threshold."""
    rate, top = float(bins.rate), bins.threshold
    mass = math.tanh(rate / 2.0)
    last = max(count, top) + math.ceil(12.0 / rate)
    released: dict[int | None, float] = {k: mass * math.exp(-rate * abs(k - count)) for k in range(top, last)}
    released[last] = math.exp(-rate * (last - count)) / (1.0 + math.exp(-rate))
    released[None] = 1.0 - bins.chance(count)
    return released


@bin_law.register
def gaussian_bin(bins: GaussianBins, count: int) -> dict[int | None, float]:
    """Gaussian noise, rounded and cut at a threshold."""
    scale, top = float(bins.scale) * math.sqrt(2.0), bins.threshold

    def beyond(edge: float) -> float:
        return math.erfc((edge - count) / scale) / 2.0

    last = max(count, top) + math.ceil(8.0 * scale)
    released: dict[int | None, float] = {k: beyond(k - 0.5) - beyond(k + 0.5) for k in range(top, last)}
    released[last] = beyond(last - 0.5)
    released[None] = 1.0 - beyond(top - 0.5)
    return released


def bins_divergence(
    bins: StableBins | GaussianBins, here: dict[Any, int], there: dict[Any, int], epsilon: float
) -> float:
    """The divergence of two stable histograms, by going through all joint outcomes; for few bins and short tails."""
    law, other = ({(): 1.0}, {(): 1.0})
    for key in sorted(set(here) | set(there)):
        law, other = (_joint(item, bins, side.get(key, 0)) for item, side in ((law, here), (other, there)))
    growth = math.exp(epsilon)
    return sum(max(p - growth * other.get(outcome, 0.0), 0.0) for outcome, p in law.items())


def _joint(law: dict[Any, float], bins: StableBins | GaussianBins, count: int) -> dict[Any, float]:
    if count == 0:
        return {(*outcome, None): p for outcome, p in law.items()}
    return {(*outcome, k): p * q for outcome, p in law.items() for k, q in bin_law(bins, count).items()}
