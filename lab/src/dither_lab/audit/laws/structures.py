"""What a statistic publishes about its sensitivity, against brute force over a whole small universe."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dither_lab.audit.laws.facts import (
    D,
    Enumerated,
    Published,
    has_levels,
    has_local_sensitivity,
    has_reachable_values,
)

Pairs = Sequence[tuple[int, int]]
BETAS = (Fraction(1, 20), Fraction(1, 2), Fraction(2))
"""Where smooth bounds that somebody claims are compared."""


def broken_structures(facts: Enumerated[D], data: Sequence[D], pairs: Pairs, bounds: frozenset[str]) -> list[str]:
    """Each condition that some dataset or pair breaks.

    ``bounds``: the structures that claim no more than to be bounds; the others must be equal to the enumeration.
    """
    statistic = facts.statistic
    published = Published[D](statistic)
    result = list(_ladder(facts, published, data, exact="ladder" not in bounds))
    if has_reachable_values(statistic):
        result += _reachable(facts, published, data, pairs, exact="reachable" not in bounds)
    if has_local_sensitivity(statistic):
        result += _local(facts, statistic, data, pairs)
    if "smooth" in bounds:
        result += _smooth(facts, published, data, pairs)
    if has_levels(statistic):
        result += _levels(facts, statistic.level_function(), data, pairs)
    return sorted(set(result))


def _ladder(facts: Enumerated[D], published: Published[D], data: Sequence[D], *, exact: bool) -> Iterator[str]:
    for record in data:
        count = facts.depth + 2
        ours, truth = published.sensitivities(record, count), facts.enumerated_sensitivities(record, count)
        if any(u < t for u, t in zip(ours, truth, strict=True)):
            yield "the ladder is below the local sensitivity within reach"
        if exact and ours != truth:
            yield "the ladder is said to be exact and is not"


def _reachable(
    facts: Enumerated[D], published: Published[D], data: Sequence[D], pairs: Pairs, *, exact: bool
) -> Iterator[str]:
    reached = [published.reachable(record) for record in data]
    for record, (lowest, highest) in zip(data, reached, strict=True):
        for sign, ours, truth in zip((-1, 1), (lowest, highest), facts.enumerated_reachable(record), strict=True):
            both = [(sign * _at(ours, k), sign * _at(truth, k)) for k in range(max(len(ours), len(truth)))]
            if any(u < t for u, t in both):
                yield "reachable values leave out one that can be reached"
            if exact and any(u != t for u, t in both):
                yield "reachable values are said to be exact and are not"
    for here, there in pairs:
        for sign, ours, others in zip((-1, 1), reached[here], reached[there], strict=True):
            if any(sign * _at(ours, k) > sign * _at(others, k + 1) for k in range(len(ours))):
                yield "reachable values of neighbours do not interlace"


def _at(values: Sequence[int], k: int) -> int:
    return values[min(k, len(values) - 1)]


def _local(facts: Enumerated[D], statistic: Any, data: Sequence[D], pairs: Pairs) -> Iterator[str]:
    proxies = [int(statistic.lipschitz_proxy(record)) for record in data]
    local = [int(statistic.local(record)) for record in data]
    changes = [int(statistic.local_sensitivity_change(proxy)) for proxy in range(statistic.most_lipschitz_proxy + 1)]
    if any(a > b for a, b in pairwise(changes)):
        yield "the change of the local sensitivity falls"
    if any(own < truth for own, truth in zip(local, facts.local_sensitivities.tolist(), strict=True)):
        yield "the local sensitivity is understated"
    for here, there in pairs:
        if abs(proxies[here] - proxies[there]) > 1:
            yield "the proxy moves by more than one"
        if abs(local[here] - local[there]) > changes[proxies[here]]:
            yield "the local sensitivity moves further than its proxy allows"


def _smooth(facts: Enumerated[D], published: Published[D], data: Sequence[D], pairs: Pairs) -> Iterator[str]:
    for beta in BETAS:
        own = [float(published.smooth(record, beta)) for record in data]
        if any(bound < truth for bound, truth in zip(own, facts.local_sensitivities.tolist(), strict=True)):
            yield "the smooth bound is below the local sensitivity"
        if any(own[here] > own[there] * math.exp(beta) for here, there in pairs):
            yield "smooth bounds of neighbours differ by more than e^beta"


def _levels(facts: Enumerated[D], function: Any, data: Sequence[D], pairs: Pairs) -> Iterator[str]:
    level = [function.level(record) for record in data]
    sensitivity = [function.levels.sensitivity(own) for own in level]
    if any(own < truth for own, truth in zip(sensitivity, facts.local_sensitivities.tolist(), strict=True)):
        yield "a level has less than the local sensitivity"
    distinct = {(level[here], level[there]) for here, there in pairs}
    if any(not function.levels.are_related(here, there) for here, there in distinct):
        yield "neighbours stand on levels that are not related"
