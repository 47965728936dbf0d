"""A statistic whose ladder is read off a public level function."""

from __future__ import annotations

from dataclasses import dataclass

from dither.privacy import Neighbours
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.ladder import Algorithm, Ladder
from dither.sensitivity.levels import LevelFunction
from dither.sources.grid import Grid
from dither.statistics.statistic import Statistic


@dataclass(frozen=True)
class ByLevel(Statistic[Data]):
    """A statistic whose ladder is read off its levels."""

    base: Statistic[Data]
    function: LevelFunction[Data]

    @property
    def neighbours(self) -> Neighbours:
        return self.base.neighbours

    @property
    def answers(self) -> Grid:
        return self.base.answers

    @property
    def global_sensitivity(self) -> int:
        return self.function.levels.global_sensitivity

    @property
    def records_on(self) -> Grid:
        return self.base.records_on

    def value(self, data: Data) -> int:
        return self.base.value(data)

    def ladder(self, data: Data, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return self.function.levels.ladder(self.function.level(data))
