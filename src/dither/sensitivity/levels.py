"""Level functions: a public scale of sensitivities that private data stand on (COQ17 sec. 3.2, restated).

A level function puts every dataset on one of r levels.  Public are the sensitivities ``L_1 <= ... <= L_r`` and a
symmetric relation that holds every pair of levels that two neighbours can have; private is the level of the data at
hand, whose local sensitivity must not exceed that of its level.  The largest sensitivity that can be reached in at most
j steps of the relation is rung j of a ladder (docs/proofs/largest_local.md).  Levels need not be numbers in a row:
those of ``dither.sensitivity.margins`` are lists of margins, one for each of several public bounds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Generic, TypeAlias

import numpy as np

from dither.aliases import older_name
from dither.errors import InvalidArgument
from dither.kernels.order import decay
from dither.numbers import Number, exact
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.ladder import DEEPEST, HasLadder, Ladder, Sensitivities, least_bound, rounded_up, usable_rate

MOST_MEMORY = 128
"""So many remembered bounds may be chained without their rounding errors adding up to what is allowed for."""
_RATES = 4
"""Smooth bounds are remembered for so many rates."""


Level: TypeAlias = int | tuple[int, ...]
"""The number of a level, from 1; or a margin for each of several bounds."""


class LevelSystem(ABC):
    """Public: levels with their sensitivities, and which of them neighbours can have."""

    @property
    @abstractmethod
    def global_sensitivity(self) -> int:
        """The largest sensitivity of all levels."""

    @abstractmethod
    def sensitivity(self, level: Level) -> int:
        """Of one level: at least the local sensitivity of all data on it."""

    @abstractmethod
    def are_related(self, level: Level, other: Level) -> bool:
        """Whether neighbours can stand on these two levels."""

    @abstractmethod
    def ladder(self, level: Level) -> Ladder:
        """The ladder of data on this level: private, because the level is."""

    @abstractmethod
    def examples(self) -> Sequence[Level]:
        """Some levels, from low to high sensitivities, on which a public rule compares noises; or none."""


class Levels(LevelSystem):
    """Public: the sensitivities of r levels, numbered from 1, and which levels neighbours can have.

    Levels at most ``width`` apart are related; or exactly those of ``pairs`` (in either order) and each with itself.
    ``memory``: at how many places smooth bounds are remembered, a trade of storage for time.
    """

    def __init__(
        self,
        sensitivities: Iterable[int],
        *,
        width: int = 1,
        pairs: Iterable[tuple[int, int]] | None = None,
        memory: int = 64,
    ) -> None:
        listed = [int(sensitivity) for sensitivity in sensitivities]
        if not listed or min(listed) < 0 or any(a > b for a, b in pairwise(listed)):
            raise InvalidArgument("sensitivities", len(listed), "must be non-negative whole numbers in rising order")
        for argument, number in (("width", width), ("memory", memory)):
            if not isinstance(number, int) or isinstance(number, bool) or number < 1:
                raise InvalidArgument(argument, number, "must be a whole number of at least 1")
        if memory > MOST_MEMORY:
            raise InvalidArgument("memory", memory, f"must need at most {MOST_MEMORY} places")
        self.sensitivities: Sensitivities = np.array(listed, dtype=np.int64 if listed[-1] < 1 << 62 else object)
        self.width = width
        self.memory = memory
        self.pairs = None if pairs is None else frozenset((min(a, b), max(a, b)) for a, b in pairs)
        if self.pairs is not None and any(a < 1 or b > self.count for a, b in self.pairs):
            raise InvalidArgument("pairs", len(self.pairs), f"must be pairs of levels from 1 to {self.count}")
        self._remembered: dict[float, dict[int, float]] = {}

    def __repr__(self) -> str:
        return f"Levels({self.count} levels)"

    @property
    def count(self) -> int:
        """The number of levels, r."""
        return len(self.sensitivities)

    @property
    def global_sensitivity(self) -> int:
        """The sensitivity of the highest level: the global one."""
        return int(self.sensitivities[-1])

    cap = older_name("global_sensitivity")

    def related(self, level: int) -> Sequence[int]:
        """The levels that a neighbour of a dataset on this level can have, itself included."""
        if self.pairs is None:
            return range(max(level - self.width, 1), min(level + self.width, self.count) + 1)
        return sorted({level, *(a + b - level for a, b in self.pairs if level in (a, b))})

    def sensitivity(self, level: Level) -> int:
        """Of one level."""
        return int(self.sensitivities[_number(level) - 1])

    def are_related(self, level: Level, other: Level) -> bool:
        """Whether neighbours can stand on these two levels."""
        return _number(other) in self.related(_number(level))

    def examples(self) -> list[int]:
        """The levels 1, 2, 4, ... and the highest."""
        return sorted({min(1 << power, self.count) for power in range(self.count.bit_length() + 1)})

    def ladder(self, level: Level) -> Ladder:
        """The ladder of data on this level: private, because the level is."""
        level = _number(level)
        return _Climb(self, level) if self.pairs is None else Ladder(self._wandering(level), self.global_sensitivity)

    def _wandering(self, level: int) -> Callable[[int, int], Sensitivities]:
        """Rungs under any relation: the highest level of all that j steps can reach, down and up again."""
        reached, highest = {level}, [level]

        def sensitivity_at_distance(start: int, stop: int) -> Sensitivities:
            nonlocal reached
            while len(highest) < stop:
                grown = reached.union(*(self.related(item) for item in reached))
                if grown == reached:
                    highest.extend([highest[-1]] * (stop - len(highest)))
                else:
                    reached = grown
                    highest.append(max(grown))
            return self.sensitivities[np.array(highest[start:stop], dtype=np.int64) - 1]

        return sensitivity_at_distance

    @property
    def stride(self) -> int:
        """From one remembered place to the next: a multiple of the width."""
        return self.width * max(-(-self.count // (self.memory * self.width)), 1)

    def remembered(self, rate: float) -> dict[int, float]:
        """Smooth bounds at ``memory`` public places, evenly spaced, from the top down (COQ17 sec. 4.1).

        Computed whole when a rate is first used, so that the cache does not depend on who asked.
        """
        results = self._remembered.get(rate)
        if results is None:
            results = {self.count: float(self.global_sensitivity)}
            above = self.count
            for first in range(self.count - self.width + 1, 0, -self.stride):
                # Steps of the width pass through one of so many levels in a row.
                for level in range(first, min(first + self.width, self.count)):
                    results[level] = self._climbed(level, above, rate, results)
                above = first
            # Replaced whole: another thread may drop this rate from the cache, but none sees a part of it.
            self._remembered = {rate: results, **dict(list(self._remembered.items())[: _RATES - 1])}
        return results

    def bound(self, level: int, rate: float) -> float:
        """``max_j e^{-rate j} L_{level + j width}``, in floats: at most one climb between remembered places."""
        first = self.count - self.width + 1
        place = first - (first - level) // self.stride * self.stride if level <= first else self.count
        return self._climbed(level, place, rate, self.remembered(rate))

    def _climbed(self, level: int, place: int, rate: float, known: dict[int, float]) -> float:
        """The bound of a level from those of the ``width`` levels from a higher place on.

        Beyond ``e^{-128}`` nothing exceeds the floor of all smooth bounds.
        """
        steps = min(-((level - place) // self.width), math.ceil(DEEPEST / rate))
        weights = decay(rate, steps + 1)
        above = known.get(min(level + steps * self.width, self.count), 0.0) * float(weights[steps])
        own = self.sensitivities[level - 1 : level - 1 + steps * self.width : self.width].astype(np.float64)
        return max(above, float((own * weights[: len(own)]).max(initial=0.0)))


def _number(level: Level) -> int:
    if isinstance(level, tuple):
        raise InvalidArgument("level", len(level), "must be the number of a level, from 1")
    return int(level)


class _Climb(Ladder):
    """The ladder of levels related by distance: straight up, with remembered smooth bounds."""

    def __init__(self, levels: Levels, level: int) -> None:
        super().__init__(self._straight, levels.global_sensitivity, top=-((level - levels.count) // levels.width))
        self._levels, self._level = levels, level

    def _straight(self, start: int, stop: int) -> Sensitivities:
        steps = self._level + self._levels.width * np.arange(start, stop)
        return np.asarray(self._levels.sensitivities[np.minimum(steps, self._levels.count) - 1])

    def smooth(self, beta: Fraction) -> Fraction:
        rate = usable_rate(beta)
        best = self._levels.bound(self._level, rate)
        return rounded_up(max(best, least_bound(self.global_sensitivity)))


@dataclass(frozen=True, eq=False)
class LevelFunction(Generic[Data]):
    """Levels, and the function that puts data on them."""

    levels: LevelSystem
    level: Callable[[Data], Level]
    """Private: the level of the data, from 1.  Where plans are sent to another process it has a name: no lambda."""

    def __post_init__(self) -> None:
        if not isinstance(self.levels, LevelSystem):
            raise InvalidArgument("levels", type(self.levels), "must be levels such as Levels([1, 2, 5])")
        if not callable(self.level):
            raise InvalidArgument("level", type(self.level), "must be a function of the data")

    def over(self, statistic: HasLadder[Data]) -> LevelFunction[Data]:
        """Itself: a level function that was made by hand suits the statistic it was made for."""
        if self.levels.global_sensitivity < statistic.global_sensitivity:
            raise InvalidArgument(
                "levels",
                self.levels.global_sensitivity,
                f"must have a highest sensitivity of at least the global one, {statistic.global_sensitivity}",
            )
        return self


@dataclass(frozen=True)
class Margin:
    """Levels of any statistic with a ladder: how many changes its sensitivity stays within a public bound.

    The number of changes before some rung exceeds the bound is 1-Lipschitz; a dataset where it is k stands k levels
    below the top, and all but the top have the bound as their sensitivity.  ``depth``: so many changes are looked at.
    """

    bound: Number
    """In the answers' own units: public, never tuned on the data."""
    depth: int = 1000

    def __post_init__(self) -> None:
        if not isinstance(self.depth, int) or isinstance(self.depth, bool) or self.depth < 1:
            raise InvalidArgument("depth", self.depth, "must be a whole number of at least 1")

    def over(self, statistic: HasLadder[Data]) -> LevelFunction[Data]:
        """The level function for a statistic."""
        steps = math.floor(exact(self.bound, "bound") / statistic.answers.step)
        if not 1 <= steps < statistic.global_sensitivity:
            most = float(statistic.answers.step * statistic.global_sensitivity)
            least = float(statistic.answers.step)
            raise InvalidArgument("bound", self.bound, f"must be a bound of at least {least:g} and below {most:g}")
        levels = Levels([steps] * self.depth + [statistic.global_sensitivity])

        def level(data: Data) -> int:
            return self.depth + 1 - statistic.ladder(data).truncated(self.depth).margin(steps)

        return LevelFunction(levels, level)


class HasLevels(ABC, Generic[Data]):
    """A statistic with a level function of its own."""

    @abstractmethod
    def level_function(self) -> LevelFunction[Data]:
        """The public levels, and the private level of data."""
