"""The distance to a property: how many records would have to change (DMNS06 section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from dither.numbers import Number, exact
from dither.privacy import Neighbours
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.ladder import Algorithm, Ladder
from dither.sensitivity.low_sample import changed_once
from dither.sources.domain import Value, declared, spelled, whole
from dither.sources.grid import Grid
from dither.statistics.own_code import result_of
from dither.statistics.statistic import Statistic


@dataclass(frozen=True, eq=False)
class DistanceToSet(Statistic[Data]):
    """The least number of changes that give the data a property, rounded down and clamped to [0, most].

    Guarantee  One change moves the distance to any set by at most 1; rounding and clamping keep that.  A distance of
               the owner's own is taken at their word; where it fails, or is no number, it counts as ``most``.
    Theorem    DMNS06 section 3.2; docs/proofs/metric_spaces.md section 6.
    """

    distance: Callable[[Data], Number]
    most: int
    neighbours: Neighbours = Neighbours.CHANGE_ONE
    sensitivity_is_constant = True
    global_sensitivity = 1

    @property
    def answers(self) -> Grid:
        return Grid(Fraction(1), 0, self.most)

    def value(self, data: Data) -> int:
        def steps(records: Data) -> int:
            result = self.distance(records)
            # Rounding down keeps a function that moves by at most 1 within steps of 1; infinity is the top.
            return self.most if result == math.inf else min(max(math.floor(exact(result)), 0), self.most)

        distance = result_of(steps, data)
        return self.most if distance is None else distance

    def ladder(self, data: Data, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return Ladder(lambda start, stop: np.ones(stop - start, dtype=np.int64), 1, top=0)


def brute_distance(
    holds: Callable[[tuple[Value, ...]], bool], *, domain: Iterable[Value]
) -> Callable[[Sequence[Value]], int | float]:
    """The exact distance to ``{x : holds(x)}``, by trying every set of changes; infinite for an empty property.

    Cost: exponential in the number of changes, and depends on the data; for small data and for tests.

    >>> brute_distance(lambda x: len(set(x)) == 1, domain="ab")("aabab")
    2
    """
    values = declared(spelled(domain), "domain")

    def distance(data: Sequence[Value]) -> int | float:
        here = tuple(data)
        for changes in range(len(here) + 1):
            for places in combinations(range(len(here)), changes):
                for replaced in product(values, repeat=changes):
                    there = list(here)
                    for place, value in zip(places, replaced, strict=True):
                        there[place] = value
                    if holds(tuple(there)):
                        return changes
        return math.inf

    return distance


def lipschitz_violation(
    function: Callable[[tuple[Value, ...]], float], *, domain: Iterable[Value], records: int, most: Number = 1
) -> tuple[tuple[Value, ...], tuple[Value, ...]] | None:
    """Two neighbours on which ``function`` differs by more than ``most``; None if there are none in this universe.

    Cost: |domain|**records evaluations.

    >>> lipschitz_violation(sum, domain=(0, 1), records=4) is None
    True
    """
    values, n, bound = declared(domain, "domain"), whole("records", records, least=1, most=12), exact(most, "most")
    value = {x: function(x) for x in product(values, repeat=n)}
    for x, here in value.items():
        for _, y in changed_once(x, values):
            # Two infinities are equal, and their difference is no number.
            if here != value[y] and not abs(here - value[y]) <= bound:
                return x, y
    return None
