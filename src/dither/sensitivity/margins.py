"""Levels by several public bounds: how many changes each of them stands (COQ17 sec. 3.2 for medians, Example 13).

The level of a dataset is the list of its margins.  Rungs are those of the statistic's own ladder, rounded up to the
next bound, of which few have to be computed (docs/proofs/largest_local.md, section 5).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Generic

import numpy as np

from dither.errors import InvalidArgument
from dither.kernels.elementary import Integers
from dither.numbers import Number, exact
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.ladder import MOST_SLOW_DISTANCES, HasLadder, Ladder, Sensitivities
from dither.sensitivity.levels import HasLevels, Level, LevelFunction, LevelSystem

LEAST_RATIO = Fraction(65, 64)
"""Bounds that are nearer to each other save nothing."""
MOST_DEPTH = MOST_SLOW_DISTANCES


class MarginLevels(LevelSystem):
    """Levels that are lists of margins: how many changes each of several rising bounds stands.

    Margins of neighbours differ by at most 1, each of them; where the first that is not 0 is that of bound b, the local
    sensitivity is at most b.
    """

    def __init__(self, bounds: Sequence[int], global_sensitivity: int, depth: int) -> None:
        size = np.int64 if global_sensitivity < 1 << 62 else object
        self.bounds = np.array([*bounds, global_sensitivity], dtype=size)
        self.depth = depth

    def __repr__(self) -> str:
        return f"MarginLevels({len(self.bounds) - 1} bounds)"

    @property
    def global_sensitivity(self) -> int:
        return int(self.bounds[-1])

    def sensitivity(self, level: Level) -> int:
        """The least bound that stands: the global sensitivity where none does."""
        return int(self.bounds[int((_margins(level) <= 0).sum())])

    def are_related(self, level: Level, other: Level) -> bool:
        """Whether no margin differs by more than 1."""
        return bool((np.abs(np.subtract(_margins(level), _margins(other))) <= 1).all())

    def ladder(self, level: Level) -> Ladder:
        """Rung j: the least bound that stands more than j changes; the cap from the public depth on."""
        margins = _margins(level)

        def sensitivity_at_distance(start: int, stop: int) -> Sensitivities:
            return np.asarray(self.bounds[np.searchsorted(margins, np.arange(start, stop), side="right")])

        return Ladder(sensitivity_at_distance, self.global_sensitivity, top=self.depth)

    def examples(self) -> tuple[Level, ...]:
        """None: noise is chosen for sensitivities that grow by the same amount with each change, as for a ladder."""
        return ()


def _margins(level: Level) -> Integers:
    return np.array(level if isinstance(level, tuple) else (level,), dtype=np.int64)


@dataclass(frozen=True)
class Margins:
    """Levels of any statistic with a ladder by several public bounds: how many changes each of them stands.

    Rungs are the true ones rounded up to the next bound, so the noise is at most ``ratio`` times that of the smooth
    sensitivity, and few sensitivities are computed: O(log) of them for each bound.

    bounds: rising, in the answers' own units, below the global sensitivity; public, never tuned on the data.  None: a
        step of the answers, and each ``ratio`` times the one before (at least a step more), below the global one.
    ratio: of bounds that are not given; above 1.
    depth: so many changes are looked at; from there on rungs count as the global sensitivity.

    >>> import dither as dt
    >>> mechanism = dt.LargestLocal(levels=dt.Margins(bounds=[10, 30, 100, 300, 1_000]))
    >>> release = dt.median(range(10_000), bounds=(0, 10_000), step=1, epsilon=1.0, delta=1e-6, mechanism=mechanism)
    >>> release.mechanism, 0 <= release.value <= 10_000
    ('largest_local', True)
    """

    bounds: Sequence[Number] | None = None
    ratio: Number = Fraction(9, 8)
    depth: int = 1 << 14

    def __post_init__(self) -> None:
        if not isinstance(self.depth, int) or isinstance(self.depth, bool) or not 1 <= self.depth <= MOST_DEPTH:
            raise InvalidArgument("depth", self.depth, f"must be a whole number from 1 to {MOST_DEPTH}")
        if self.bounds is not None:
            listed = tuple(exact(value, "bounds") for value in _several(self.bounds))
            if not listed or any(a >= b for a, b in pairwise(listed)) or listed[0] <= 0:
                raise InvalidArgument("bounds", len(listed), "must be positive numbers in rising order")
            object.__setattr__(self, "bounds", listed)
        if not exact(self.ratio, "ratio") >= LEAST_RATIO:
            raise InvalidArgument("ratio", self.ratio, f"must be at least {float(LEAST_RATIO):g}")

    def over(self, statistic: HasLadder[Data]) -> LevelFunction[Data]:
        """The level function for a statistic."""
        most = statistic.global_sensitivity
        if self.bounds is None:
            steps = _geometric(most, exact(self.ratio))
        else:
            steps = sorted({math.floor(exact(bound) / statistic.answers.step) for bound in self.bounds})
        if steps and (steps[0] < 1 or steps[-1] >= most):
            least, cap = float(statistic.answers.step), float(statistic.answers.step * most)
            given = [float(exact(bound)) for bound in self.bounds or ()]
            raise InvalidArgument("bounds", given, f"must be bounds of at least {least:g} and below {cap:g}")
        return LevelFunction(MarginLevels(steps, most, self.depth), _MarginsOf(statistic, tuple(steps), self.depth))


def _several(bounds: Sequence[Number]) -> Sequence[Number]:
    if isinstance(bounds, (str, bytes)) or not isinstance(bounds, Iterable):
        raise InvalidArgument("bounds", bounds, "must be a list of numbers, such as [10, 100, 1_000]")
    return list(bounds)


def _geometric(most: int, ratio: Fraction) -> list[int]:
    """One step and its multiples by the ratio, as whole numbers below the global sensitivity."""
    results: list[int] = []
    bound = 1
    while bound < most:
        results.append(bound)
        bound = max(math.floor(bound * ratio), bound + 1)
    return results


@dataclass(frozen=True)
class _MarginsOf(Generic[Data]):
    """The margins of a statistic's ladder: private.  They rise with the bounds, so each search begins at the last."""

    statistic: HasLadder[Data]
    steps: tuple[int, ...]
    depth: int

    def __call__(self, data: Data) -> tuple[int, ...]:
        sensitivity = functools.cache(self.statistic.ladder(data).truncated(self.depth).__getitem__)
        results: list[int] = []
        for bound in self.steps:
            results.append(_margin_from(sensitivity, bound, results[-1] if results else 0, self.depth))
        return tuple(results)


def _margin_from(sensitivity: Callable[[int], int], bound: int, known: int, depth: int) -> int:
    """``min {k >= known : U_k > bound}``, at most the depth: steps that double, then halves."""
    low, step = known, 1
    while low < depth and sensitivity(low) <= bound:
        if low + step >= depth or sensitivity(low + step) > bound:
            high = min(low + step, depth)
            low += 1
            while low < high:
                middle = (low + high) // 2
                low, high = (low, middle) if sensitivity(middle) > bound else (middle + 1, high)
            break
        low, step = low + step, 2 * step
    return min(low, depth)


class LevelsByMargins(HasLadder[Data], HasLevels[Data]):
    """A statistic whose levels are margins by bounds in a geometric row: ``Margins()``."""

    def level_function(self) -> LevelFunction[Data]:
        """By public bounds: a step, and each 9/8 times the one before."""
        return Margins().over(self)
