"""Bounds that are drawn: the law of the limits by brute force, and what one record does to totals clamped to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np

from dither.privacy import Loss, Neighbours
from dither.procedures.fitted_bounds import Bracket, FittedBounds, LimitDraw, weights
from dither.procedures.ordered import Ordered
from dither.queries.spread import Variance
from dither.queries.totals import Mean, Sum
from dither.sources.column import Shape
from dither_lab.audit.checks import ROUNDING, Check, Effort, Evidence

Records = tuple[float, ...]
Law = list[float]
"""The logarithms of the chances of all pairs of limits, the lower one first."""
Costs = Callable[[Sequence[float], Sequence[float]], list[int]]
"""(records of one side, limits) -> what each limit costs."""
VALUES = (-9.0, -1.0, 0.0, 0.5, 3.0, 1e6)
LOWEST, HIGHEST = -4, 44
"""Half octaves: from a quarter to beyond the largest value."""
RATE = Fraction(1)


def limits() -> list[float]:
    """Powers of the root of two, of eight bits."""
    return [math.ldexp(181 / 128 if index % 2 else 1.0, index // 2) for index in range(LOWEST, HIGHEST + 1)]


def exceeding(side: Sequence[float], among: Sequence[float]) -> list[int]:
    """How many records lie above each limit."""
    return [sum(item > limit for item in side) for limit in among]


def side_law(side: Sequence[float], rate: float, costs: Costs = exceeding) -> list[float]:
    """Weights (3/7)^k e^{-rate cost}, by the formula."""
    logs = [k * math.log(3 / 7) - rate * cost for k, cost in enumerate(costs(side, limits()))]
    most = max(logs)
    total = most + math.log(math.fsum(math.exp(log - most) for log in logs))
    return [log - total for log in logs]


def pair_law(records: Records, rate: float, costs: Costs = exceeding) -> Law:
    """Both sides of zero."""
    above, below = (side_law([sign * record for record in records], rate, costs) for sign in (1.0, -1.0))
    return [item + other for item, other in product(above, below)]


def neighbour_pairs(size: int, neighbours: Neighbours) -> Iterator[tuple[Records, Records]]:
    """All of a small universe: one record changed, or added."""
    for rest in combinations_with_replacement(VALUES, size - 1):
        if neighbours is Neighbours.CHANGE_ONE:
            yield from (((*rest, a), (*rest, b)) for a, b in product(VALUES, repeat=2) if a != b)
        else:
            yield from ((rest, (*rest, a)) for a in VALUES)
            yield from (((*rest, a), rest) for a in VALUES)


def limits_evidence(
    size: int, neighbours: Neighbours, rate: Fraction = RATE, costs: Costs = exceeding, *, sides: int = 2
) -> Evidence:
    """The largest log-ratio and range of the draws of ``sides`` limits against what is charged for them."""
    # A record that changes may leave one side and enter the other; one that comes or goes is on one side only.
    claimed = float(RATE) * (sides if neighbours is Neighbours.CHANGE_ONE else 1)
    law = pair_law if sides == 2 else side_law
    loss = spread = 0.0
    cases = 0
    for here, there in neighbour_pairs(size, neighbours):
        ratios = [a - b for a, b in zip(law(here, float(rate), costs), law(there, float(rate), costs), strict=True)]
        loss, spread, cases = max(loss, *ratios), max(spread, max(ratios) - min(ratios)), cases + 1
    worst = max(loss, spread)
    kept = worst <= claimed * (1 + ROUNDING)
    return Evidence(kept, Loss(claimed), loss, worst if kept else None, cases, f"range {spread:.4f} of {claimed:g}")


def _same_law(effort: Effort) -> Evidence:
    """Counts and weights of what ships are those of the formula on all datasets."""
    draw, cases = LimitDraw(RATE), 0
    public = weights(len(limits()))
    for size in range(effort.of(4, 5)):
        for records in combinations_with_replacement(VALUES, size):
            ours = draw.counts(np.array(records), LOWEST)[: len(limits())]
            logs = [math.log(weight) - cost for weight, cost in zip(public, ours, strict=True)]
            most = max(logs)
            total = most + math.log(math.fsum(math.exp(log - most) for log in logs))
            theirs = side_law(records, 1.0)
            cases += 1
            if any(abs(a - total - b) > ROUNDING for a, b in zip(logs, theirs, strict=True)):
                return Evidence(False, cases=cases, note="another law")
    return Evidence(True, cases=cases, note="the law of the formula")


def _clamped(effort: Effort) -> Evidence:
    """Within all brackets, what one record moves is at most the sensitivity that noise is fitted to."""
    size, cases = effort.of(3, 4), 0
    brackets = [Bracket.of(centre, below, above) for centre, below, above in product((0.0, 2.5), *_ends())]
    # Means of a private number of records are audited as filtered means.
    relations = {Mean(): (False,), Sum(): (False, True), Variance(): (False, True)}
    for bracket, (query, asked) in product(brackets, relations.items()):
        for private in asked:
            neighbours = Neighbours.ADD_REMOVE if private else Neighbours.CHANGE_ONE
            shape = Shape(size, whole=False, nullable=False, private=private, neighbours=neighbours)
            statistic = query.within(bracket.grid).resolve(shape)  # type: ignore[attr-defined]  # of one column
            allowed = statistic.global_sensitivity
            for here, there in neighbour_pairs(size, neighbours):
                moved = statistic.value(bracket.column(Ordered(np.array(here, dtype=float)))) - statistic.value(
                    bracket.column(Ordered(np.array(there, dtype=float)))
                )
                cases += 1
                if abs(moved) > allowed:
                    return Evidence(False, cases=cases, note=f"{query.name} moves by {moved} of {allowed} allowed")
    return Evidence(True, cases=cases, note="no record moves a clamped total by more than its bounds")


def _ends() -> tuple[list[Fraction], list[Fraction]]:
    return [Fraction(0), Fraction(1), Fraction(8)], [Fraction(1, 4), Fraction(181, 64)]


def _spent(effort: Effort) -> Evidence:  # noqa: ARG001
    """Draws, noise and counts together spend no more than was asked, and both limits are paid for."""
    from dither.queries.plan import Options  # noqa: PLC0415

    cases = 0
    for epsilon, records, positive, counted in product((0.5, 1.0, 8.0), (2_000, 10**6), (False, True), (False, True)):
        query = Mean(non_negative=positive, count_beyond=counted)
        plan = query.plan(Shape(records, whole=False, nullable=False), Options(Loss(epsilon)))
        fitted: FittedBounds = plan.fitted  # type: ignore[attr-defined]
        paid = (1 if positive else 2) * fitted.side + (fitted.centre or 0)
        parts = [plan.typical, *([plan.beyond] if counted else [])]  # type: ignore[attr-defined]
        cases += 1
        if paid + sum(part.loss.exact_epsilon for part in parts) > Fraction(epsilon):
            return Evidence(False, Loss(epsilon), cases=cases, note="the parts cost more than the whole")
    return Evidence(True, cases=cases, note="sums in rationals")


def fitted_bounds_checks() -> Iterator[Check]:
    """All of them."""
    covers = frozenset({"mean", "sum", "variance", "std", "without bounds", "fitted bounds"})
    for neighbours, sides in product((Neighbours.CHANGE_ONE, Neighbours.ADD_REMOVE), (1, 2)):

        def run(effort: Effort, neighbours: Neighbours = neighbours, sides: int = sides) -> Evidence:
            return limits_evidence(effort.of(2, 3), neighbours, sides=sides)

        detail = f"limits drawn on {'one side' if sides == 1 else 'both sides'}, {neighbours}"
        yield Check("mean", "exact", run, detail=detail, covers=covers, proof="fitted_bounds")
    for detail, check in {
        "limits by the formula": _same_law,
        "totals within drawn bounds": _clamped,
        "parts cost no more than the whole": _spent,
    }.items():
        yield Check("mean", "exhaustive", check, detail=detail, covers=covers, proof="fitted_bounds")


def _around_two(side: Sequence[float], among: Sequence[float]) -> list[int]:
    """Broken: a limit that two records exceed is best."""
    return [abs(count - 2) for count in exceeding(side, among)]


def _largest(side: Sequence[float], among: Sequence[float]) -> list[int]:
    """Broken: the first limit that cuts nothing, nearly for sure."""
    counts = exceeding(side, among)
    return [20 * (count > 0) for count in counts]


def in_fitted_bounds() -> Iterator[Check]:
    """Ways to break the draws, which the audit must find."""
    cases: dict[str, Callable[[], Evidence]] = {
        "both limits at the whole rate": lambda: limits_evidence(2, Neighbours.CHANGE_ONE, RATE * 2, sides=2),
        "a rate 30% large": lambda: limits_evidence(2, Neighbours.ADD_REMOVE, RATE * Fraction(13, 10), sides=1),
        "a cost of two directions": lambda: limits_evidence(3, Neighbours.CHANGE_ONE, costs=_around_two, sides=1),
        "the first limit that cuts nothing": lambda: limits_evidence(2, Neighbours.ADD_REMOVE, costs=_largest, sides=1),
    }
    for name, broken in cases.items():

        def run(effort: Effort, broken: Callable[[], Evidence] = broken) -> Evidence:  # noqa: ARG001
            return broken()

        yield Check(name, "exact", run, detail="mean without bounds", proof="audit")
