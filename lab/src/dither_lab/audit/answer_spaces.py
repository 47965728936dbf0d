"""Draws of points of finite spaces: all tables of few answers, by costs that are computed here from their definition.

The laboratory's costs know nothing but the table of distances; the draw of the product contributes its rate and is
asked whether its own costs are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms.metric_space import MetricSpace
from dither.privacy import Loss
from dither.procedures.aggregate import Aggregation
from dither.procedures.answer_spaces import AnswerSpace, ListedPoints, Places, Rankings, Steps, Subsets
from dither.procedures.drawn_point import POINT_AGGREGATORS, DrawnPoint
from dither_lab.audit.checks import Check, Effort, Evidence

EPSILON = 1.0
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class AnswerUniverse:
    """All tables of so many answers among some points of a space, with the laboratory's table of distances."""

    name: str
    space: AnswerSpace
    distances: Whole
    answers: tuple[int, ...]
    blocks: int

    def tables(self) -> Iterator[tuple[int, ...]]:
        """Every table."""
        return product(self.answers, repeat=self.blocks)

    def neighbours(self, table: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """The tables with one answer changed."""
        for place, other in product(range(self.blocks), self.answers):
            if other != table[place]:
                yield (*table[:place], other, *table[place + 1 :])


def _line(points: int, answers: tuple[int, ...], blocks: int) -> AnswerUniverse:
    places = np.arange(points, dtype=np.int64)
    table = np.abs(places[:, None] - places[None, :])
    space = MetricSpace.of(range(points), table)
    return AnswerUniverse(f"a line of {points} points", ListedPoints(space), table, answers, blocks)


def universes(quick: bool) -> Iterator[AnswerUniverse]:
    """Small spaces of every sort, looked at completely, and a long line on which losses are nearly attained."""
    far = 250 if quick else 900
    yield _line(far, (0, 5, 6, far - 1), 4)
    yield _line(5, tuple(range(5)), 3)
    labels = MetricSpace.of(range(60), "equality")
    yield AnswerUniverse("labels", ListedPoints(labels), 1 - np.eye(60, dtype=np.int64), (0, 1, 2), 3)
    orders = list(permutations(range(3)))
    inversions = [
        [
            sum((p.index(a) < p.index(b)) != (q.index(a) < q.index(b)) for a, b in ((0, 1), (0, 2), (1, 2)))
            for q in orders
        ]
        for p in orders
    ]
    yield AnswerUniverse("rankings", Rankings(range(3)), np.array(inversions), tuple(range(6)), 3)
    masks = np.arange(8)
    bits = np.array([[int(mask ^ other).bit_count() for other in masks] for mask in masks])
    yield AnswerUniverse("sets", Subsets(range(3)), bits, tuple(range(8)), 3)


def medoid_costs(distances: Whole, table: tuple[int, ...]) -> Whole:
    """Half changes: the greatest fall of the sum of distances per step, rounded up."""
    sums = distances[:, list(table)].sum(axis=1)
    apart = distances + np.eye(len(distances), dtype=np.int64)
    numbers: Whole = np.maximum(-((sums[None, :] - sums[:, None]) // apart), 0).max(axis=1)
    return numbers


def centre_costs(distances: Whole, table: tuple[int, ...]) -> Whole:
    """Half changes: the best radius, by how far its balls are from a majority."""
    near, majority = distances[:, list(table)], len(table) // 2 + 1
    results = np.full(len(distances), majority)
    for radius in np.unique(near):
        crowd = int((near < radius).sum(axis=1).max())
        lacking = np.maximum(majority - (near <= radius).sum(axis=1), 0)
        results = np.minimum(results, np.maximum(lacking, crowd - majority + 1))
    return 2 * results


COSTS: dict[str, Callable[[Whole, tuple[int, ...]], Whole]] = {"medoid": medoid_costs, "centre": centre_costs}


def drawn(name: str, universe: AnswerUniverse) -> DrawnPoint:
    """What ships, for the tables of a universe."""
    output = universe.space.output(None)
    task = Aggregation(universe.blocks, 1, output, Loss(EPSILON), space=universe.space)
    prepared = POINT_AGGREGATORS[name].prepare(task)
    if not isinstance(prepared, DrawnPoint):
        raise TypeError(name)
    return prepared


def examined(name: str, universe: AnswerUniverse, prepared: DrawnPoint) -> Evidence:
    """The greatest loss between neighbours by the laboratory's costs, and whether the draw has the same costs."""
    laws, alike = {}, True
    for table in universe.tables():
        costs = COSTS[name](universe.distances, table)
        alike = alike and bool((prepared.costs(universe.space, np.array(table)) == costs).all())
        weights = -float(prepared.rate) * costs
        laws[table] = weights - math.log(np.exp(weights).sum())
    pairs = [(table, other) for table in laws for other in universe.neighbours(table)]
    largest_ratio = max(float(np.max(laws[item] - laws[other])) for item, other in pairs)
    kept = largest_ratio <= prepared.loss.epsilon * (1 + 1e-9)
    note = f"{universe.name}" if alike else f"{universe.name}: other costs than the laboratory's"
    return Evidence(kept and alike, prepared.loss, largest_ratio, largest_ratio if alike else None, len(pairs), note)


def point_checks() -> Iterator[Check]:
    """Both aggregators of points."""
    for name in COSTS:

        def run(effort: Effort, name: str = name) -> Evidence:
            results = [examined(name, universe, drawn(name, universe)) for universe in universes(effort.quick)]
            worst = max(results, key=lambda result: (not result.holds, result.lower or 0.0))
            return replace(worst, cases=sum(result.cases for result in results))

        covers = frozenset({"sample_and_aggregate", "Program", "Rankings", "Subsets", f"{name} of blocks"})
        yield Check(
            "sample_and_aggregate", "exhaustive", run, detail=f"{name} of points", covers=covers, proof="answer_spaces"
        )


def _raw_sums(space: AnswerSpace, places: Places) -> Steps:
    """The mistake of taking the sum of distances itself for a score that one answer moves by one."""
    sums = space.sums(places)
    raw: Steps = sums - sums.min()
    return raw


def in_points() -> Iterator[Check]:
    """Weights that fall off too fast, and scores whose sensitivity is another."""
    for name in COSTS:

        def faster(effort: Effort, name: str = name) -> Evidence:  # noqa: ARG001
            universe = _line(250, (0, 5, 6, 249) if name == "medoid" else (30, 40, 100, 249), 4)
            honest = drawn(name, universe)
            return examined(name, universe, replace(honest, rate=honest.rate * Fraction(5, 4)))

        yield Check("noise 20% small", "exhaustive", faster, detail=f"{name} of points", proof="audit")

    def raw(effort: Effort) -> Evidence:  # noqa: ARG001
        universe = _line(5, tuple(range(5)), 3)
        return examined("medoid", universe, replace(drawn("medoid", universe), costs=_raw_sums))

    yield Check("sums of distances used raw", "exhaustive", raw, detail="medoid of points", proof="audit")
