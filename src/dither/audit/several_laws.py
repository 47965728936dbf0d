"""The exact laws of several quantiles at once, by their definitions: for grids of a few points and records."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms.exponential import ExponentialDraw
from dither.mechanisms.joint_quantiles import SeveralDraws, levels, refined

Answers = tuple[int, ...]


def joint_law(
    fine: NDArray[np.int64], bounds: tuple[int, int], ranks: Sequence[int], rate: float
) -> dict[Answers, float]:
    """The joint draw: every tuple of points, sorted, weighted by its score."""
    targets = [0.0, *(rank - 0.5 for rank in ranks), float(len(fine))]
    below = {z: int(np.sum(fine < z)) for z in range(bounds[0], bounds[1] + 1)}
    weight: Counter[Answers] = Counter()
    for z in product(range(bounds[0], bounds[1] + 1), repeat=len(ranks)):
        cut = [0, *(below[one] for one in sorted(z)), len(fine)]
        score = sum(abs((cut[j] - cut[j - 1]) - (targets[j] - targets[j - 1])) for j in range(1, len(cut)))
        weight[tuple(sorted(z))] += math.exp(-rate * score)  # type: ignore[assignment]
    return _normalised(weight)


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
    for node in [node for level in levels(shares) for node in level]:
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


def several_law(prepared: SeveralDraws, data: Any) -> dict[Answers, float]:
    """The law of all answers of a mechanism for several quantiles, its bars aside."""
    statistic, rate = prepared.statistic, float(prepared.rate)
    low, high = statistic.grid.ends
    if prepared.manner == "alone":
        return _alone(prepared, data)
    spread = 1 << max(statistic.records - 1, 1).bit_length()
    fine = refined(data.values - low, spread)
    bounds = (0, (high + 1 - low) * spread - 1)
    if prepared.manner == "joint":
        law = joint_law(fine, bounds, [one.rank for one in statistic.each()], rate)
    else:
        law = levels_law(fine.tolist(), bounds, statistic.shares, rate)
    found: Counter[Answers] = Counter()
    for places, chance in law.items():
        found[tuple(low + place // spread for place in places)] += chance  # type: ignore[assignment]
    return dict(found)


def _alone(prepared: SeveralDraws, data: Any) -> dict[Answers, float]:
    from dither.audit.enumeration import output_law  # noqa: PLC0415  (that module is built on draws alone)

    single = [
        output_law(ExponentialDraw.of(one, prepared.loss, 2 * prepared.rate, None), data)
        for one in prepared.statistic.each()
    ]
    found: Counter[Answers] = Counter()
    for places in product(*(law.items() for law in single)):
        found[tuple(sorted(z for z, _ in places))] += math.prod(p for _, p in places)  # type: ignore[assignment]
    return dict(found)


def _normalised(weights: Mapping[Any, float]) -> dict[Any, float]:
    total = math.fsum(weights.values())
    return {z: weight / total for z, weight in weights.items()}
