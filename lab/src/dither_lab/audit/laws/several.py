"""The law of several quantiles at once (``inverse/vector``), by its definitions: for grids of a few points."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms.mechanism import Prepared
from dither_lab.audit.checks import float_bound
from dither_lab.audit.laws.facts import D, Facts
from dither_lab.audit.laws.outputs import ListedDistribution, Outputs
from dither_lab.audit.laws.registry import IndependentLaw, Pair, WorstPair, output_law

Answers = tuple[int, ...]


@output_law("inverse/vector")
class SeveralLaw(IndependentLaw):
    """One joint draw (Gillenwater et al. 2021), level by level (Kaplan et al. 2022), or each quantile alone."""

    proof = "inverse"
    every_point = True
    vector = True
    estimated = "that quantiles do not overtake each other is left out (docs/proofs/quotes.md)"

    def outputs(self, prepared: Any, facts: Facts[D], data: D) -> Outputs:
        law = several_law(prepared, data)
        values = tuple(int(value) for value in facts.statistic.values(data))
        numbers = []
        for index in range(len(values)):
            chances: Counter[int] = Counter()
            for answers, chance in law.items():
                chances[answers[index]] += chance  # type: ignore[assignment]
            numbers.append(ListedDistribution(chances))
        return Outputs(values, tuple(numbers))

    def worst_pair(self, prepared: Any, facts: Facts[D], pairs: list[Pair[D]]) -> WorstPair[D]:  # noqa: ARG002
        laws: dict[int, dict[Answers, float]] = {}

        def law(data: D) -> dict[Answers, float]:
            if id(data) not in laws:
                laws[id(data)] = several_law(prepared, data)
            return laws[id(data)]

        def ratio(pair: Pair[D]) -> float:
            here, there = law(pair[0]), law(pair[1])
            if here.keys() != there.keys():
                return math.inf
            return max(abs(math.log(here[answers] / there[answers])) for answers in here)

        worst = max(pairs, key=ratio)
        reached, claimed = ratio(worst), prepared.loss.epsilon
        return reached, float_bound(reached, claimed), worst

    def weakened(self, prepared: Any, factor: Fraction) -> Prepared:
        return replace(prepared, rate=prepared.rate / factor)  # type: ignore[no-any-return]


def joint_law(
    fine: NDArray[np.int64], bounds: tuple[int, int], ranks: Sequence[int], rate: float
) -> dict[Answers, float]:
    """The joint draw: every tuple of points, sorted, weighted by its score."""
    targets = [0.0, *(rank - 0.5 for rank in ranks), float(len(fine))]
    below = {z: int(np.sum(fine < z)) for z in range(bounds[0], bounds[1] + 1)}
    weight: Counter[Answers] = Counter()
    for z in product(range(bounds[0], bounds[1] + 1), repeat=len(ranks)):
        cut = [0, *(below[point] for point in sorted(z)), len(fine)]
        score = sum(abs((cut[j] - cut[j - 1]) - (targets[j] - targets[j - 1])) for j in range(1, len(cut)))
        weight[tuple(sorted(z))] += math.exp(-rate * score)  # type: ignore[assignment]
    return _normalised(weight)


def nested_law(
    fine: Sequence[int],
    bounds: tuple[int, int],
    ranks: Sequence[int],
    rate: float,
    *,
    relative: bool = False,
) -> dict[Answers, float]:
    """Some quantiles jointly, then those between two of them jointly (docs/proofs/quantiles.md, section 3).

    relative: a mistake: the last segment of a group is wanted as long as its records make it, so that a record which is
    added moves the scores of two segments.
    """
    count, n = len(ranks), len(fine)
    groups = max(round(math.sqrt(count + 1)), 1)
    roots = [round(Fraction(j * (count + 1), groups)) - 1 for j in range(1, groups)]
    law: Counter[Answers] = Counter()
    first = wanted_law(fine, bounds, [0.0, *(ranks[root] - 0.5 for root in roots), float(n)], rate)
    for drawn, chance in first.items():
        edges = [bounds[0], *drawn, bounds[1]]
        paths: dict[Answers, float] = {(): chance}
        for group, (before, after) in enumerate(zip([-1, *roots], [*roots, count], strict=True)):
            low, high = edges[group], edges[group + 1]
            inside = [x for x in fine if (group == 0 or x >= low) and (group == len(roots) or x < high)]
            start = 0.0 if group == 0 else ranks[before] - 0.5
            stop = float(n) if group == len(roots) else ranks[after] - 0.5
            wanted = [0.0, *(rank - 0.5 - start for rank in ranks[before + 1 : after]), stop - start]
            if relative:
                wanted[-1] = float(len(inside))
            own = wanted_law(inside, (low, high), wanted, rate) if after - before > 1 else {(): 1.0}
            root = drawn[group : group + 1]
            paths = {(*path, *z, *root): p * q for path, p in paths.items() for z, q in own.items()}
        law.update(paths)  # chances add up like counts
    return dict(law)


def wanted_law(
    records: Sequence[int], bounds: tuple[int, int], wanted: Sequence[float], rate: float
) -> dict[Answers, float]:
    """Every tuple of points, weighted by how far segments are from wanted sizes; the places where they are to end."""
    below = {z: sum(x < z for x in records) for z in range(bounds[0], bounds[1] + 1)}
    weight: Counter[Answers] = Counter()
    for z in product(range(bounds[0], bounds[1] + 1), repeat=len(wanted) - 2):
        cut = [0, *(below[point] for point in sorted(z)), len(records)]
        score = sum(abs((cut[j] - cut[j - 1]) - (wanted[j] - wanted[j - 1])) for j in range(1, len(cut)))
        weight[tuple(sorted(z))] += math.exp(-rate * score)  # type: ignore[assignment]
    return _normalised(weight)


@dataclass(frozen=True)
class LevelNode:
    """One quantile to draw: which one, between which, and its share among the records between them."""

    index: int
    left: int | None
    right: int | None
    share: Fraction


def drawing_order(shares: Sequence[Fraction]) -> list[LevelNode]:
    """The middle quantile, then the middles of both sides, and so on (docs/proofs/quantiles.md)."""
    results: list[LevelNode] = []

    def between(first: int, last: int, left: int | None, right: int | None) -> None:
        if first > last:
            return
        low = Fraction(0) if left is None else shares[left]
        high = Fraction(1) if right is None else shares[right]
        middles = {(first + last) // 2, (first + last + 1) // 2}
        middle = min(sorted(middles), key=lambda j: abs(2 * shares[j] - low - high))
        results.append(LevelNode(middle, left, right, (shares[middle] - low) / (high - low)))
        between(first, middle - 1, left, middle)
        between(middle + 1, last, middle, right)

    between(0, len(shares) - 1, None, None)
    return results


def node_law(records: Sequence[int], bottom: int, top: int, share: float, rate: float) -> dict[int, float]:
    """One quantile of a level, on the records strictly between two that are drawn."""
    inside = [x for x in records if bottom < x < top]
    if top - bottom <= 1:
        return {bottom: 1.0}
    weight = {
        z: math.exp(-rate * abs((1 - share) * sum(x < z for x in inside) - share * sum(x > z for x in inside)))
        for z in range(bottom + 1, top)
    }
    return _normalised(weight)


def levels_law(
    records: Sequence[int], bounds: tuple[int, int], shares: tuple[Fraction, ...], rate: float
) -> dict[Answers, float]:
    """All levels together."""
    paths: dict[tuple[tuple[int, int], ...], float] = {(): 1.0}
    for node in drawing_order(shares):
        grown: dict[tuple[tuple[int, int], ...], float] = {}
        for path, chance in paths.items():
            drawn = dict(path)
            bottom = bounds[0] - 1 if node.left is None else drawn[node.left]
            top = bounds[1] + 1 if node.right is None else drawn[node.right]
            for z, p in node_law(records, bottom, top, float(node.share), rate).items():
                step = (*path, (node.index, min(max(z, bounds[0]), bounds[1])))
                grown[step] = grown.get(step, 0.0) + chance * p
        paths = grown
    return {tuple(z for _, z in sorted(path)): chance for path, chance in paths.items()}


def spread_ties(values: Sequence[int], places: int) -> list[int]:
    """Records, all different: the j-th of those tied at one value gets place j with its bits in reverse."""
    bits = places.bit_length() - 1
    return sorted(
        value * places + int(format(j, f"0{bits}b")[::-1], 2)
        for value, tied in groupby(sorted(values))
        for j, _ in enumerate(tied)
    )


def several_law(prepared: Any, data: Any) -> dict[Answers, float]:
    """The law of all answers of a mechanism for several quantiles, intervals aside."""
    statistic, rate = prepared.statistic, float(prepared.rate)
    low, high = statistic.grid.ends
    if prepared.order_of_draws == "alone":
        return _alone(data.values.tolist(), (low, high), statistic, rate)
    places = 2
    while places < statistic.records:
        places *= 2
    fine = spread_ties([int(value) - low for value in data.values], places)
    bounds = (0, (high + 1 - low) * places - 1)
    if prepared.order_of_draws == "joint":
        ranks = [max(1, math.ceil(share * statistic.records)) for share in statistic.shares]
        law = joint_law(np.array(fine, dtype=np.int64), bounds, ranks, rate)
    elif prepared.order_of_draws == "nested":
        ranks = [max(1, math.ceil(share * statistic.records)) for share in statistic.shares]
        law = nested_law(fine, bounds, ranks, rate)
    else:
        law = levels_law(fine, bounds, statistic.shares, rate)
    result: Counter[Answers] = Counter()
    for points, chance in law.items():
        result[tuple(low + point // places for point in points)] += chance  # type: ignore[assignment]
    return dict(result)


def _alone(records: list[int], bounds: tuple[int, int], statistic: Any, rate: float) -> dict[Answers, float]:
    """Each quantile by inverse sensitivity, then sorted: k changes reach k ranks further."""
    ranked, single = sorted(records), []
    for share in statistic.shares:
        rank = max(1, math.ceil(share * len(ranked)))
        extreme = rank in (1, len(ranked))
        weight = {}
        for z in range(bounds[0], bounds[1] + 1):
            # The value is at least z if fewer than ``rank`` records lie below z, and at most z likewise.
            below, above = sum(x < z for x in ranked), sum(x > z for x in ranked)
            cost = max(below - (rank - 1), above - (len(ranked) - rank), 1 if extreme else 0)
            weight[z] = math.exp(-rate * (2 if extreme else 1) * cost)
        single.append(_normalised(weight))
    result: Counter[Answers] = Counter()
    for points in product(*(law.items() for law in single)):
        result[tuple(sorted(z for z, _ in points))] += math.prod(p for _, p in points)  # type: ignore[assignment]
    return dict(result)


def _normalised(weights: Mapping[Any, float]) -> dict[Any, float]:
    total = math.fsum(weights.values())
    return {z: weight / total for z, weight in weights.items()}
