"""What mechanisms state about the laws of their losses, on every pair of neighbours of a small universe.

Renyi divergences of several orders are computed from the laboratory's own laws and compared with the stated rho; the
logarithms of all ratios of a drawn answer must lie in an interval of the length that its rho stands for.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

from dither.mechanisms.mechanism import Prepared
from dither.privacy import Loss
from dither_lab.audit.checks import Evidence, within_rounding
from dither_lab.audit.laws.facts import D, Facts
from dither_lab.audit.laws.outputs import Distribution
from dither_lab.audit.laws.registry import law_of, published
from dither_lab.audit.laws.several import several_law
from dither_lab.audit.universes import Universe

ORDERS = (1.25, 1.5, 2.0, 3.0, 5.0, 9.0, 17.0, 33.0, 65.0)
"""Beside the limit 1, which is the mean of the loss."""
LISTED = frozenset({"inverse", "inverse/vector", "ladder", "smoothed_ladder", "worst_case", "smooth"})
"""Mechanisms whose answers on a small grid can be listed with their probabilities."""
MOST_POINTS = 400
"""Answers on larger grids are not listed: the same mechanism is looked at on smaller ones."""
NEGLIGIBLE = 1e-13
"""Probabilities that are differences of floats are not known below this: the range leaves them out."""

Chances = Mapping[Hashable, float]


def is_listed(name: str, universe: Universe) -> bool:
    """Whether a mechanism (by the full name of its law) is looked at on this universe."""
    grids = universe.statistic.answer_grids
    bounded = all(grid.low is not None and grid.high is not None and grid.points <= MOST_POINTS for grid in grids)
    return name in LISTED and bounded


def stated_law(prepared: Prepared, universe: Universe, stride: int = 1) -> Evidence:
    """Whether no pair of neighbours shows more than the stated rho, nor (of a draw) a longer range."""
    pairs, facts = universe.different_pairs[::stride], published(prepared)
    rho = float(prepared.loss.concentrated.rho)
    laws: dict[int, Chances] = {}

    def law(data: Any) -> Chances:
        if id(data) not in laws:
            laws[id(data)] = chances(prepared, facts, data)
        return laws[id(data)]

    largest = max((renyi_rho(law(here), law(there)) for here, there in pairs), default=0.0)
    note = f"rho {largest:.4g} of {rho:.4g} stated"
    holds = within_rounding(largest, rho)
    if claims_bounded_range(prepared.loss):
        longest = max((log_range(law(here), law(there)) for here, there in pairs), default=0.0)
        allowed = math.sqrt(8.0 * rho)
        note += f"; range {longest:.4g} of {allowed:.4g}"
        holds = holds and within_rounding(longest, allowed)
    return Evidence(holds, cases=len(pairs), note=note)


def claims_bounded_range(loss: Loss) -> bool:
    """Whether a pure loss has a rho that nothing but bounded range gives."""
    drawn = loss.epsilon**2 / 8
    return loss.delta == 0 and drawn < _pure_rho(loss.epsilon) and within_rounding(float(loss.rho), drawn)


def _pure_rho(epsilon: float) -> float:
    """The rho of randomised response, of which every pure mechanism is a processing."""
    return epsilon * math.tanh(epsilon / 2)


def chances(prepared: Prepared, facts: Facts[D], data: D) -> Chances:
    """Every answer on the grid with its probability, interval included where the laboratory has its law."""
    law = law_of(prepared)
    if law.vector:
        return dict(several_law(prepared, data).items())
    listed = law.answers(prepared, facts, data)
    if listed is not None:
        return dict(listed.items())
    outputs = law.outputs(prepared, facts, data)
    low, high = facts.statistic.answers.ends
    return {place: chance(outputs.numbers[0], outputs.values[0], place) for place in range(low, high + 1)}


def chance(distribution: Distribution, value: int, place: int) -> float:
    """The probability of one place, from the tail on its own side of the value."""
    if place <= value:
        return distribution.below(place + 1) - distribution.below(place)
    return distribution.above(place - 1) - distribution.above(place)


def renyi_rho(here: Chances, there: Chances) -> float:
    """The greatest of ``D_a / a`` over some orders a, and of the mean loss: a rho below which the truth is not."""
    pairs = [(p, there.get(answer, 0.0)) for answer, p in here.items() if p > 0.0]
    if any(q <= 0.0 for _, q in pairs):
        return math.inf
    losses = [(p, math.log(p / q)) for p, q in pairs]
    results = [math.fsum(p * loss for p, loss in losses)]
    for order in ORDERS:
        moment = math.fsum(p * math.expm1((order - 1.0) * loss) for p, loss in losses)
        results.append(math.log1p(moment) / (order * (order - 1.0)))
    return max(results)


def log_range(here: Chances, there: Chances) -> float:
    """The length of the interval in which the logarithms of all ratios lie."""
    ratios = [math.log(p / there[answer]) for answer, p in here.items() if min(p, there.get(answer, 0.0)) > NEGLIGIBLE]
    return max(ratios) - min(ratios)
