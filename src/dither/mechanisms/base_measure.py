"""Public measures on a grid: weights of answers that do not depend on the data.

The inverse-sensitivity mechanism may start from any measure that does not depend on the data; privacy is the same
(docs/proofs/inverse.md).  All answers alike is the natural one.  For a maximum it is a poor one: between the
largest record and the bound all answers have one cost, and their middle is far from the truth.  On a fine grid it is a
poor one for records that are round numbers: a tie is one point among the billions that lie between it and the next.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from dither.sources.grid import Grid

SEGMENTS = 64
LEAN = 6
"""How many times epsilon the measure of an extreme falls (in logarithms) from one bound to the other."""
MOST_LEAN = 40.0
FEWEST_ROUND, MOST_UNITS = 100, 5
"""The largest decimal unit that has at least so many multiples within the bounds, and the ones below it: so many."""
FINE_POINTS = 1 << 30
"""Grids of fewer points were declared by a step, or hold whole numbers: there a round number is nothing special."""
_SMALL = 1 << 62


@dataclass(frozen=True)
class RoundNumbers:
    """The multiples of a decimal unit within the bounds, each at its nearest grid point, with a weight of their own."""

    spacing: Fraction
    """From one multiple to the next, in grid steps: at least 1."""
    first: int
    """The least multiple within the bounds."""
    count: int
    weight: int

    @functools.cached_property
    def ratio(self) -> tuple[int, int]:
        """Twice the spacing, as a numerator and a denominator of whole numbers."""
        return 2 * self.spacing.numerator, self.spacing.denominator

    def before(self, point: int) -> int:
        """How many of them lie before this grid point."""
        over, under = self.ratio
        before = -((1 - 2 * point) * under // over) - self.first
        return 0 if before < 0 else min(before, self.count)

    def is_small(self, farthest: int) -> bool:
        """Whether the products for points up to this distance from 0 fit into 64 bits."""
        over, under = self.ratio
        return max(over, (2 * farthest + 1) * under) < _SMALL

    def before_each(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same for each of these points."""
        if not self.is_small(int(np.abs(points).max(initial=0))):
            return np.array([self.before(point) for point in points.tolist()], dtype=np.int64)
        return self.before_halves(1 - 2 * points)

    def before_halves(self, halves: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same for points p given as 1 - 2 p, whose products are small."""
        over, under = self.ratio
        before = (halves if under == 1 else halves * under) // over
        np.subtract(-self.first, before, out=before)
        np.maximum(before, 0, out=before)
        return np.minimum(before, self.count, out=before)

    def point(self, index: int) -> int:
        """The grid point of one of them, by its number from 0 on."""
        over, under = self.ratio
        return ((self.first + index) * over + under) // (2 * under)

    def points(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same for each of these numbers."""
        over, under = self.ratio
        if (max(abs(self.first), abs(self.first + self.count)) + 1) * over + 2 * under >= _SMALL:
            return np.array([self.point(index) for index in indices.tolist()], dtype=np.int64)
        return ((self.first + indices) * over + under) // (2 * under)


@dataclass(frozen=True)
class Measure:
    """Whole-number weights of grid points, constant on segments of [low, high], and more for round numbers."""

    edges: tuple[int, ...]
    """The first point of each segment, and the point after the last."""
    weights: tuple[int, ...]
    round_numbers: tuple[RoundNumbers, ...] = ()

    @classmethod
    def even(cls, ends: tuple[int, int]) -> Measure:
        """Every point alike."""
        return cls((ends[0], ends[1] + 1), (1,))

    @classmethod
    def leaning(cls, ends: tuple[int, int], epsilon: Fraction, *, down: bool) -> Measure:
        """Falling exponentially towards the upper bound (``down``: mass leans down) or towards the lower one."""
        low, high = ends
        count = min(SEGMENTS, high - low + 1)
        slope = min(LEAN * float(epsilon), MOST_LEAN)
        scale = 2.0 ** (math.ceil(slope / math.log(2.0)) + 8)
        falling = [max(round(scale * math.exp(-slope * k / count)), 1) for k in range(count)]
        edges = tuple(low + (high + 1 - low) * k // count for k in range(count + 1))
        return cls(edges, tuple(falling if down else reversed(falling)))

    @classmethod
    def rounded(cls, grid: Grid) -> Measure:
        """Half of the weight on all points alike, the other half in equal parts on the multiples of decimal units.

        Grids that are not fine have all points alike.
        """
        units = () if grid.points < FINE_POINTS else _decimal_units(grid)
        return cls((grid.ends[0], grid.ends[1] + 1), (1,), units)

    @functools.cached_property
    def _cumulated(self) -> list[int]:
        sizes = (high - low for low, high in pairwise(self.edges))
        return list(accumulate((size * weight for size, weight in zip(sizes, self.weights, strict=True)), initial=0))

    @functools.cached_property
    def total(self) -> int:
        """The weight of all points."""
        return self._cumulated[-1] + sum(numbers.count * numbers.weight for numbers in self.round_numbers)

    def _plain_below(self, point: int) -> int:
        segment = min(bisect_right(self.edges, point) - 1, len(self.weights) - 1)
        return self._cumulated[segment] + (point - self.edges[segment]) * self.weights[segment]

    def below(self, point: int) -> int:
        """The weight of all points before this one."""
        return self._plain_below(point) + sum([item.before(point) * item.weight for item in self.round_numbers])

    @functools.cached_property
    def is_small(self) -> bool:
        """Whether weights of points within the edges, and what they are computed from, fit into 64 bits: public."""
        farthest = max(abs(self.edges[0]), abs(self.edges[-1]))
        return max(self.total, farthest) < _SMALL and all(item.is_small(farthest) for item in self.round_numbers)

    def below_array(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """The weight of all points before each of these, which are within the edges, where weights are small."""
        if len(self.weights) == 1:
            below = points - self.edges[0]
            if self.weights[0] != 1:
                below *= self.weights[0]
        else:
            edges, weights, cumulated = self._arrays
            segments = np.minimum(np.searchsorted(edges, points, side="right") - 1, len(weights) - 1)
            below = cumulated[segments] + (points - edges[segments]) * weights[segments]
        if self.round_numbers:
            halves = 1 - 2 * points
            for item in self.round_numbers:
                before = item.before_halves(halves)
                below += np.multiply(before, item.weight, out=before)
        return below

    @functools.cached_property
    def _arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        edges, weights, cumulated = (
            np.array(numbers, dtype=np.int64) for numbers in (self.edges, self.weights, self._cumulated)
        )
        return edges, weights, cumulated

    def below_each(self, points: Sequence[int]) -> list[int]:
        """The weight of all points before each of these."""
        if not self.is_small:
            return [self.below(point) for point in points]
        result: list[int] = self.below_array(np.fromiter(points, dtype=np.int64, count=len(points))).tolist()
        return result

    def within(self, first: int, after: int, place: int) -> int:
        """The point among first .. after - 1 that holds a place in their weight.

        First come the weights of all points in their order, then the round numbers, unit by unit.
        """
        begun = self._plain_below(first)
        plain = self._plain_below(after) - begun
        if place < plain:
            weight = begun + place
            segment = min(bisect_right(self._cumulated, weight) - 1, len(self.weights) - 1)
            return self.edges[segment] + (weight - self._cumulated[segment]) // self.weights[segment]
        place -= plain
        for item in self.round_numbers:
            passed = item.before(first)
            held = (item.before(after) - passed) * item.weight
            if place < held:
                return item.point(passed + place // item.weight)
            place -= held
        raise IndexError("a place behind the weight of all of these points")


@functools.lru_cache(maxsize=256)
def _decimal_units(grid: Grid) -> tuple[RoundNumbers, ...]:
    """The powers of ten whose multiples are round numbers on this grid, all of them together as heavy as the rest."""
    low, high = grid.ends
    most = grid.step * (high - low) / FEWEST_ROUND
    near = math.floor(math.log10(most.numerator) - math.log10(most.denominator))
    largest = next(place for place in (near + 1, near, near - 1) if Fraction(10) ** place <= most)
    result = []
    for spacing in (Fraction(10) ** (largest - place) / grid.step for place in range(MOST_UNITS)):
        first = math.ceil(low / spacing)
        count = math.floor(high / spacing) - first + 1
        result.append(RoundNumbers(spacing, first, count, grid.points // (count * MOST_UNITS)))
    return tuple(result)
