"""Medians of several coefficients by one draw, over a whole small universe: costs by brute force, law and draws."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np

from dither.mechanisms.nested_boxes import ChainCoordinate, draw_point
from dither.privacy import Loss
from dither.sources.column import Column
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue
from dither_lab.audit.checks import Check, Effort, Evidence

BLOCKS, TOP, WIDENING = 3, 3, 1
POINTS = tuple(product(range(TOP + 1), repeat=2))
CLAIMED = Loss(1.0)
Fits = tuple[tuple[int, ...], ...]


def _cost(fits: Fits, point: tuple[int, ...], widening: int) -> int:
    """The least t for which the point is, in every coefficient, within t widenings of what t changes can make of the
    lower median: as docs/proofs/joint_medians.md states it, with changes counted one by one."""
    for t in range(BLOCKS + 1):
        reached = []
        for at, column in zip(point, zip(*fits, strict=True), strict=True):
            middles = [sorted(other)[(BLOCKS - 1) // 2] for other in _within(column, t)]
            reached.append(min(middles) - widening * t <= at <= max(middles) + widening * t)
        if all(reached):
            return t
    raise RuntimeError("all entries can be changed")


@functools.cache
def _within(column: tuple[int, ...], changes: int) -> list[tuple[int, ...]]:
    """All columns that differ in at most so many entries."""
    every = product(range(TOP + 1), repeat=BLOCKS)
    return [other for other in every if sum(a != b for a, b in zip(column, other, strict=True)) <= changes]


@functools.cache
def _law(fits: Fits, rate: float, widening: int) -> tuple[float, ...]:
    weights = [math.exp(-rate * _cost(fits, point, widening)) for point in POINTS]
    return tuple(weight / math.fsum(weights) for weight in weights)


def _coordinates(fits: Fits, widening: int) -> list[ChainCoordinate]:
    grid, result = Grid(Fraction(1), 0, TOP), []
    for column in np.array(fits, dtype=np.int64).T:
        reachable = RankedValue((BLOCKS + 1) // 2, BLOCKS, grid).reachable_values(Column(column, grid))
        result.append(ChainCoordinate(reachable, (0, TOP), widening))
    return result


def _over_all(factor: float) -> Evidence:
    """The largest ratio over all neighbours, for draws at a multiple of the rate."""
    rate, worst, cases = factor * CLAIMED.epsilon / 2, 0.0, 0
    for fits in combinations_with_replacement(POINTS, BLOCKS):
        here = _law(fits, rate, 0)
        for place, other in product(range(BLOCKS), POINTS):
            there = _law(tuple(sorted((*fits[:place], other, *fits[place + 1 :]))), rate, 0)
            worst = max(worst, *(math.log(a / b) for a, b in zip(here, there, strict=True)))
            cases += 1
    return Evidence(worst <= CLAIMED.epsilon * (1 + 1e-9), CLAIMED, worst, cases=cases)


def _boxes_are_costs(effort: Effort) -> Evidence:  # noqa: ARG001
    """Whether the boxes of the code are the points of each cost, for all data."""
    cases = 0
    for fits, widening in product(combinations_with_replacement(POINTS, BLOCKS), (0, WIDENING)):
        boxes = list(zip(*(coordinate.within(0, BLOCKS) for coordinate in _coordinates(fits, widening)), strict=True))
        for point in POINTS:
            inside = (all(low <= at <= high for at, (low, high) in zip(point, box, strict=True)) for box in boxes)
            cases += 1
            if next(t for t, is_inside in enumerate(inside) if is_inside) != _cost(fits, point, widening):
                return Evidence(False, CLAIMED, cases=cases, note=f"the cost of {point} is another")
    return Evidence(True, CLAIMED, cases=cases, note="costs by brute force")


def _draws(effort: Effort, factor: float = 1.0) -> Evidence:
    """Draws of the code against the law: a distance that they exceed with probability below 1e-9 (Hoeffding)."""
    fits, runs = ((0, 3), (1, 1), (3, 2)), effort.of(4_000, 20_000)
    drawn = Counter(draw_point(_coordinates(fits, WIDENING), 2 * Fraction(factor)) for _ in range(runs))
    law = _law(fits, 2.0, WIDENING)
    apart = max(abs(drawn[point] / runs - chance) for point, chance in zip(POINTS, law, strict=True))
    most = math.sqrt(math.log(2 * len(POINTS) / 1e-9) / (2 * runs))
    return Evidence(apart <= most, CLAIMED, cases=runs, note=f"off by {apart:.3g} of at most {most:.3g}")


def joint_median_checks() -> Iterator[Check]:
    """The law, the boxes and the draws."""
    names = frozenset({"regression", "Regression", "regression medians"})
    for detail, run in (
        ("joint medians, all neighbours", lambda _: _over_all(1.0)),
        ("joint medians, boxes", _boxes_are_costs),
        ("joint medians, draws", _draws),
    ):
        yield Check("regression", "exhaustive", run, detail=detail, covers=names, proof="joint_medians")


def in_joint_medians() -> Iterator[Check]:
    """Draws at a rate that is 30% too large, in the law and in the code."""
    yield Check(
        "a joint draw 30% too sharp",
        "exhaustive",
        lambda _: _over_all(1.3),
        detail="joint medians, law",
        proof="joint_medians",
    )
    yield Check(
        "a joint draw 30% too sharp",
        "exhaustive",
        lambda effort: _draws(effort, 1.3),
        detail="joint medians, draws",
        proof="joint_medians",
    )
