"""Public bounds of points, and the one map of them onto the unit cube.

Procedures that compare coordinates with each other compare parts of their widths: pay up to 200,000 and age up to 120
weigh the same.  The map is fixed by public bounds and takes each point by itself, so neighbours stay neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.kernels.elementary import Floats
from dither.sources.grid import MOST_STEPS, Grid


@dataclass(frozen=True)
class Space:
    """Public: where the points lie."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def between(cls, bounds: Iterable[tuple[float, float]]) -> Space:
        """From a pair (lower, upper) for each coordinate."""
        pairs = list(bounds)
        return cls(tuple(float(low) for low, _ in pairs), tuple(float(high) for _, high in pairs))

    @property
    def dimensions(self) -> int:
        """How many coordinates a point has."""
        return len(self.low)

    @property
    def widths(self) -> Floats:
        """The width of each pair of bounds."""
        numbers: Floats = np.array(self.high) - np.array(self.low)
        return numbers

    @property
    def width(self) -> float:
        """The widest of the bounds."""
        return float(self.widths.max())

    def within(self, points: Floats) -> Floats:
        """Points cut to the bounds, coordinate by coordinate; what is missing counts as the middle."""
        low, high = np.array(self.low), np.array(self.high)
        present = np.where(np.isnan(points), (low + high) / 2, points)
        cut: Floats = np.clip(present, low, high)
        return cut

    def to_cube(self, points: Floats) -> Floats:
        """Points cut to the bounds, each coordinate as a part of its width."""
        parts: Floats = np.clip((self.within(points) - np.array(self.low)) / self.widths, 0.0, 1.0)
        return parts

    def from_cube(self, parts: Floats) -> Floats:
        """Back into the bounds; what lies outside the cube comes to its boundary, and ends are met exactly."""
        low, high = np.array(self.low), np.array(self.high)
        there = np.clip(low + np.clip(parts, 0.0, 1.0) * self.widths, low, high)
        met: Floats = np.where(parts >= 1.0, high, there)
        return met

    def grids(self, bits: int) -> tuple[Grid, ...]:
        """A grid for each coordinate, with 2**bits steps in every width; fewer where bounds are far from zero."""
        pairs = [(Fraction(low), Fraction(high)) for low, high in zip(self.low, self.high, strict=True)]
        farthest = max(max(abs(low), abs(high)) / (high - low) for low, high in pairs)
        steps = 1 << min(bits, max(int(MOST_STEPS / farthest).bit_length() - 1, 0))
        return tuple(Grid.between((low, high), (high - low) / steps) for low, high in pairs)


def diagonal(dimensions: int) -> float:
    """No two points of the unit cube are farther apart."""
    return math.sqrt(dimensions)
