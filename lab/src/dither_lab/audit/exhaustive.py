"""The exact privacy of a mechanism on a whole small universe, and whether ladders and sensitivities keep their axioms.

Draws by cost, integer noise and thresholds are computed in balls and rationals, so that what is shown to
hold does hold.  Noise with a private scale is covered in two steps: every pair of the universe lies inside the box of
shifts and dilations (compared in balls), and the law is proved for the whole box by interval arithmetic.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dither.mechanisms.mechanism import Prepared
from dither_lab.audit.checks import Evidence, within_rounding
from dither_lab.audit.laws.facts import D, Facts, has_norm_ladder, norm_rungs
from dither_lab.audit.laws.registry import Pair, WorstPair, law_of, published
from dither_lab.audit.laws.structures import broken_structures
from dither_lab.audit.universes import Universe

NORM_RUNGS = 6
ALL_BOUNDS = frozenset({"ladder", "reachable"})


def privacy(prepared: Prepared, universe: Universe, stride: int = 1) -> Evidence:
    """What a mechanism shows on every pair of neighbours (on every ``stride``-th of them), against what it claims."""
    pairs = universe.different_pairs[::stride]
    lower, upper, _ = worst_pair(prepared, pairs)
    claimed = prepared.loss
    return Evidence(keeps(lower, upper, claimed.epsilon), claimed, lower, upper, len(pairs))


def keeps(lower: float, upper: float | None, claimed: float) -> bool:
    """Whether a law keeps its claim: by the bound on all pairs or, without one, by the worst pair in floats."""
    return within_rounding(lower, claimed) if upper is None else upper <= claimed


def worst_pair(prepared: Prepared, pairs: list[Pair[D]], facts: Facts[D] | None = None) -> WorstPair[D]:
    """The pair of neighbours that shows most, with bounds on its epsilon at the claimed delta."""
    return law_of(prepared).worst_pair(prepared, published(prepared) if facts is None else facts, pairs)


def axioms(universe: Universe, rungs: int, shrink: Fraction = Fraction(1)) -> Evidence:
    """Whether rung 0 covers one step, neighbours differ by at most one rung and no rung exceeds the global sensitivity.

    ``shrink``: rungs made smaller by a factor, to see that the check can fail.
    """
    statistic: Any = universe.statistic
    values = [statistic.value(data) for data in universe.data]
    climbed = [
        [
            math.floor(shrink * int(sensitivity))
            for sensitivity in statistic.ladder(data).sensitivity_at_distance(0, rungs + 1)
        ]
        for data in universe.data
    ]
    broken, most = 0, 0
    for here, there in universe.pairs:
        moved = abs(values[here] - values[there])
        most = max(most, moved)
        falls = any(climbed[here][k] > climbed[there][k + 1] for k in range(rungs))
        broken += moved > climbed[here][0] or falls
    rising = all(
        list(sensitivity) == sorted(sensitivity) and sensitivity[-1] <= statistic.global_sensitivity
        for sensitivity in climbed
    )
    broken += most > statistic.global_sensitivity
    note = (
        f"{broken} violations"
        if broken or not rising
        else f"largest step {most} of global sensitivity {statistic.global_sensitivity}"
    )
    return Evidence(not broken and rising, cases=len(universe.pairs), note=note)


def structures(universe: Universe, bounds: frozenset[str]) -> Evidence:
    """Whether what a statistic publishes about its sensitivity is what brute force finds, or a bound on it."""
    broken = broken_structures(
        universe.enumerated(), universe.data, universe.pairs, bounds if universe.complete else ALL_BOUNDS
    )
    exact = sorted(ALL_BOUNDS - bounds)
    return Evidence(
        not broken, cases=len(universe.pairs), note="; ".join(broken) or f"exact: {', '.join(exact) or 'none'}"
    )


def _breaks_norm_ladder(universe: Universe, values: list[list[int]], shrink: Fraction) -> bool:
    statistic: Any = universe.statistic
    rungs = [
        [shrink * sensitivity for sensitivity in norm_rungs(statistic, data, NORM_RUNGS)] for data in universe.data
    ]
    power = 1 if statistic.norm == "l1" else 2
    units = statistic.norm_units or (1,) * len(values[0])
    for here, there in universe.pairs:
        moves = zip(values[here], values[there], units, strict=True)
        moved = sum(Fraction(abs(a - b), unit) ** power for a, b, unit in moves)
        if moved > rungs[here][0] ** power:
            return True
        if any(own > above for own, above in zip(rungs[here], rungs[there][1:], strict=False)):
            return True
    return False


def sensitivities(universe: Universe, shrink: Fraction = Fraction(1)) -> Evidence:
    """Whether no step moves any number beyond its own sensitivity, nor all of them together beyond the stated norms."""
    statistic: Any = universe.statistic
    values = [[int(value) for value in statistic.values(data)] for data in universe.data]
    global_sensitivities = [shrink * global_sensitivity for global_sensitivity in statistic.global_sensitivities]
    worst = [Fraction(0), Fraction(0), Fraction(0)]
    for here, there in universe.pairs:
        parts = [
            abs(a - b) / global_sensitivity
            for a, b, global_sensitivity in zip(values[here], values[there], global_sensitivities, strict=True)
        ]
        result = (max(parts), sum(parts, Fraction(0)), sum((part**2 for part in parts), Fraction(0)))
        worst = [max(pair) for pair in zip(worst, result, strict=True)]
    if has_norm_ladder(statistic) and _breaks_norm_ladder(universe, values, shrink):
        return Evidence(False, cases=len(universe.pairs), note="the ladder of the norm breaks an axiom")
    # A histogram's sensitivity is one record; a person's rows may move a bin further, within the norms.
    holds = worst[1] <= statistic.l1 and worst[2] <= statistic.l2_squared
    note = f"l1 {float(worst[1]):g} of {statistic.l1}, l2 squared {float(worst[2]):g} of {statistic.l2_squared}"
    return Evidence(holds, cases=len(universe.pairs), note=note)
