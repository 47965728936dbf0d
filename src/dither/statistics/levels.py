"""A statistic whose ladder is read off a public level function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, cast

from dither.errors import InvalidArgument
from dither.numbers import Number
from dither.privacy import Neighbours
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.ladder import Algorithm, Ladder
from dither.sensitivity.levels import LevelFunction, Levels
from dither.sources.grid import Grid
from dither.statistics.own_code import number_of
from dither.statistics.statistic import Statistic

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, eq=False)
class OwnLevel(Generic[Data]):
    """The level that a function of the owner's names; the highest where it fails or names none."""

    function: LevelFunction[Data]

    def __post_init__(self) -> None:
        if not isinstance(self.function.levels, Levels):
            raise InvalidArgument("levels", type(self.function.levels), "must be levels such as Levels([1, 2, 5])")

    def __call__(self, data: Data) -> int:
        """The number of the level: private."""
        number = number_of(cast("Callable[..., Number]", self.function.level), data)
        highest = cast("Levels", self.function.levels).count
        return int(number) if number is not None and number.denominator == 1 and 1 <= number <= highest else highest


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
