"""Points of several coordinates by one draw: the cost of a point is the largest of what its coordinates cost.

Points that cost at most t are a box, whatever t is, so how many points cost exactly t is a difference of two products
of whole numbers, and the draw is exact (docs/proofs/joint_medians.md).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from dither.noise.discrete_exponential import draw_cost
from dither.noise.entropy import Source, system
from dither.sensitivity.reachable import ReachableValues

Box = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class ChainCoordinate:
    """One coordinate: what a number of changes reaches, and ``widening`` steps more on either side for each of them.

    The widening is public; with it, too, costs move by at most 1 between neighbours.
    """

    chain: ReachableValues
    ends: tuple[int, int]
    widening: int = 0

    @property
    def points(self) -> int:
        """How many values there are: public."""
        return self.ends[1] - self.ends[0] + 1

    @property
    def farthest(self) -> int:
        """From this cost on all values are reached: public."""
        return max(self.chain.top, -self.chain.bottom)

    def within(self, first: int, last: int) -> list[tuple[int, int]]:
        """The values that cost at most t, for t from first to last: private."""
        low, high = self.ends
        below, above = self.chain.values(-last, -first), self.chain.values(first, last)
        costs = range(first, last + 1)
        return [
            (max(lower - self.widening * t, low), min(upper + self.widening * t, high))
            for t, lower, upper in zip(costs, reversed(below), above, strict=True)
        ]


def draw_point(coordinates: Sequence[ChainCoordinate], rate: Fraction, source: Source = system) -> tuple[int, ...]:
    """A point with probability proportional to ``e^{-rate cost}``; 2 rate is the privacy loss."""
    boxes = _Boxes(coordinates)
    points = math.prod(coordinate.points for coordinate in coordinates)
    farthest = max(coordinate.farthest for coordinate in coordinates)
    sensitivity, index = draw_cost(boxes.sizes, points, farthest + 1, rate, source)
    return point_at(boxes(sensitivity - 1), boxes(sensitivity - 2) if sensitivity > 1 else None, index)


class _Boxes:
    """Private: the boxes of all costs, computed as far as they were asked for."""

    def __init__(self, coordinates: Sequence[ChainCoordinate]) -> None:
        self._coordinates = coordinates
        self._found: list[Box] = []

    def __call__(self, cost: int) -> Box:
        if cost >= len(self._found):
            columns = [coordinate.within(len(self._found), cost) for coordinate in self._coordinates]
            self._found.extend(zip(*columns, strict=True))
        return self._found[cost]

    def sizes(self, first: int, last: int) -> list[int]:
        """How many points cost exactly ``first - 1``, ..., ``last - 1``."""
        self(last - 1)
        inside = [0, *(volume(box) for box in self._found[:last])]
        return [inside[sensitivity] - inside[sensitivity - 1] for sensitivity in range(first, last + 1)]


def volume(box: Box) -> int:
    """How many points a box holds."""
    return math.prod(high - low + 1 for low, high in box)


def point_at(outer: Box, inner: Box | None, index: int) -> tuple[int, ...]:
    """The point of a number (from 0) among those of a box that are not in a smaller one within it.

    Such a point has a first coordinate that is outside of the smaller box: the coordinates before it are inside, those
    after it anywhere.
    """
    if inner is None:
        return _listed([[span] for span in outer], index)
    parts: list[list[list[tuple[int, int]]]] = []
    for j, ((low, high), (first, last)) in enumerate(zip(outer, inner, strict=True)):
        around = [span for span in ((low, first - 1), (last + 1, high)) if span[0] <= span[1]]
        parts.append([*([span] for span in inner[:j]), around, *([span] for span in outer[j + 1 :])])
    sizes = list(accumulate(math.prod(_length(spans) for spans in part) for part in parts))
    which = bisect_right(sizes, index)
    return _listed(parts[which], index - (sizes[which - 1] if which else 0))


def _length(spans: Sequence[tuple[int, int]]) -> int:
    return sum(high - low + 1 for low, high in spans)


def _listed(spans: Sequence[Sequence[tuple[int, int]]], index: int) -> tuple[int, ...]:
    """The point of a number in a product of unions of intervals."""
    results = []
    for choices in spans:
        index, place = divmod(index, _length(choices))
        for low, high in choices:
            if place <= high - low:
                results.append(low + place)
                break
            place -= high - low + 1
    return tuple(results)
