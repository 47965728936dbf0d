"""Distributions of what is released: of one number on a grid, and of several numbers or a refusal."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dither_lab.audit.laws.tails import Floats, Tail


class Distribution(ABC):
    """Of one whole number."""

    @abstractmethod
    def below(self, place: int) -> float:
        """P(answer < place), without cancellation."""

    @abstractmethod
    def above(self, place: int) -> float:
        """P(answer > place), likewise."""

    def beyond(self, value: int, distance: int) -> float:
        """P(|answer - value| > distance)."""
        return self.below(value - distance) + self.above(value + distance)


class ListedDistribution(Distribution):
    """Every answer with its probability."""

    def __init__(self, chances: Mapping[int, float]) -> None:
        self._places = np.array(sorted(chances), dtype=np.int64)
        self._chances = np.array([chances[int(place)] for place in self._places])

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        return (
            np.concatenate([[0.0], np.cumsum(self._chances)]),
            np.concatenate([np.cumsum(self._chances[::-1])[::-1], [0.0]]),
        )

    def below(self, place: int) -> float:
        return float(self._sums[0][np.searchsorted(self._places, place, side="left")])

    def above(self, place: int) -> float:
        return float(self._sums[1][np.searchsorted(self._places, place, side="right")])


@dataclass(frozen=True)
class Noisy(Distribution):
    """A value plus symmetric noise in whole steps, clamped to a range.

    ``tail`` None: the integer Laplace law, ``P(K = k)`` proportional to ``e^{-|k| / scale}``; else a real variate with
    this tail, rounded to the nearest step.
    """

    value: int
    scale: float
    low: int | None
    high: int | None
    tail: Tail | None = None

    def _reaches(self, steps: int) -> float:
        """P(noise >= steps) for a positive number of steps."""
        if self.scale == 0.0:
            return 0.0
        if self.tail is None:
            return math.exp(-steps / self.scale) / (1.0 + math.exp(-1.0 / self.scale))
        return 0.5 * float(self.tail(np.asarray((steps - 0.5) / self.scale)))

    def below(self, place: int) -> float:
        if self.low is not None and place <= self.low:
            return 0.0
        if self.high is not None and place > self.high:
            return 1.0
        away = self.value - place + 1
        return self._reaches(away) if away > 0 else 1.0 - self._reaches(1 - away)

    def above(self, place: int) -> float:
        if self.high is not None and place >= self.high:
            return 0.0
        if self.low is not None and place < self.low:
            return 1.0
        away = place + 1 - self.value
        return self._reaches(away) if away > 0 else 1.0 - self._reaches(1 - away)

    def chances(self) -> dict[int, float]:
        """Every answer with its probability; each side is a difference of its own tails."""
        if self.low is None or self.high is None:
            raise ValueError("answers without bounds cannot be listed")
        span = self.high - self.low
        reached = [0.5, *(self._reaches(steps) for steps in range(1, span + 1)), 0.0]
        results = {}
        for place in range(self.low, self.high + 1):
            away, clamped = abs(place - self.value), place in (self.low, self.high)
            if away == 0:
                results[place] = 1.0 - (1 if clamped else 2) * reached[1]
            else:
                results[place] = reached[away] - (0.0 if clamped else reached[away + 1])
        return results


@dataclass(frozen=True)
class MixtureLaw(Distribution):
    """One of several, by chance."""

    parts: Sequence[tuple[float, Distribution]]

    def below(self, place: int) -> float:
        return math.fsum(weight * part.below(place) for weight, part in self.parts)

    def above(self, place: int) -> float:
        return math.fsum(weight * part.above(place) for weight, part in self.parts)


@dataclass(frozen=True)
class Outputs:
    """What a mechanism releases about one dataset: the value and the distribution of each number, unless it refuses."""

    values: tuple[int, ...]
    numbers: tuple[Distribution, ...]
    """Given that they are released."""
    refused: float = 0.0
