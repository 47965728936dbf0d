"""Public measures on a grid: weights of answers that do not depend on the data.

The inverse-sensitivity mechanism may start from any measure that does not depend on the data; privacy is the same
(docs/proofs/inverse.md).  All answers alike is the natural one.  For a maximum it is a poor one: between the
largest record and the bound all answers have one cost, and their middle is far from the truth.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

SEGMENTS = 64
LEAN = 6
"""How many times epsilon the measure of an extreme falls (in logarithms) from one bound to the other."""
FEW_POINTS = 1 << 12
"""On coarse grids (ages, grades) bounds are usually close to the data; there all points are alike."""
MOST_LEAN = 40.0


@dataclass(frozen=True)
class Measure:
    """Whole-number weights of grid points, constant on equal segments of [low, high]."""

    edges: tuple[int, ...]
    """The first point of each segment, and the point after the last."""
    weights: tuple[int, ...]

    @classmethod
    def even(cls, ends: tuple[int, int]) -> Measure:
        """Every point alike."""
        return cls((ends[0], ends[1] + 1), (1,))

    @classmethod
    def leaning(cls, ends: tuple[int, int], epsilon: Fraction, *, down: bool) -> Measure:
        """Falling exponentially towards the upper bound (``down``: mass leans down) or towards the lower one."""
        low, high = ends
        if high - low < FEW_POINTS:
            return cls.even(ends)
        slope = min(LEAN * float(epsilon), MOST_LEAN)
        scale = 2.0 ** (math.ceil(slope / math.log(2.0)) + 8)
        falling = [max(round(scale * math.exp(-slope * k / SEGMENTS)), 1) for k in range(SEGMENTS)]
        edges = tuple(low + (high + 1 - low) * k // SEGMENTS for k in range(SEGMENTS + 1))
        return cls(edges, tuple(falling if down else reversed(falling)))

    @functools.cached_property
    def _cumulated(self) -> list[int]:
        sizes = (high - low for low, high in pairwise(self.edges))
        return list(accumulate((size * weight for size, weight in zip(sizes, self.weights, strict=True)), initial=0))

    @property
    def total(self) -> int:
        """The weight of all points."""
        return self._cumulated[-1]

    def below(self, point: int) -> int:
        """The weight of all points before this one."""
        segment = min(bisect_right(self.edges, point) - 1, len(self.weights) - 1)
        return self._cumulated[segment] + (point - self.edges[segment]) * self.weights[segment]

    def below_each(self, points: Sequence[int]) -> list[int]:
        """The weight of all points before each of these."""
        if len(self.weights) > 1:
            return [self.below(point) for point in points]
        first, weight = self.edges[0], self.weights[0]
        return [(point - first) * weight for point in points]

    def at(self, weight: int) -> int:
        """The point that holds this place when all weights are laid end to end."""
        segment = min(bisect_right(self._cumulated, weight) - 1, len(self.weights) - 1)
        return self.edges[segment] + (weight - self._cumulated[segment]) // self.weights[segment]
