"""A statistic whose ladder is read off a public level function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dither.privacy import Neighbours
from dither.sensitivity.ladder import Algorithm, Ladder
from dither.sensitivity.levels import LevelFunction
from dither.sources.grid import Grid
from dither.statistics.statistic import Statistic


@dataclass(frozen=True)
class ByLevel(Statistic):
    """A statistic whose ladder is read off its levels."""

    base: Statistic
    function: LevelFunction

    @property
    def neighbours(self) -> Neighbours:  # type: ignore[override]
        return self.base.neighbours

    @property
    def answers(self) -> Grid:  # type: ignore[override]
        return self.base.answers

    @property
    def global_sensitivity(self) -> int:  # type: ignore[override]
        return self.function.levels.global_sensitivity

    @property
    def records_on(self) -> Grid:
        return self.base.records_on

    def value(self, data: Any) -> int:
        return self.base.value(data)

    def ladder(self, data: Any, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return self.function.levels.ladder(self.function.level(data))
