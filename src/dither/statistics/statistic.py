"""A statistic: a query resolved against public facts.  Mechanisms know statistics, never queries or data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

from dither.sensitivity.global_sensitivity import HasGlobalSensitivity
from dither.sensitivity.ladder import HasLadder, Ladder
from dither.sources.grid import Grid

FITTED_FIRST = ("inverse", "smooth", "ladder", "worst_case")
"""The preference of statistics whose sensitivity on usual data is far below the global one."""
WORST_CASE_FIRST = ("worst_case", "smooth", "inverse", "ladder")
"""The preference of statistics that one record can move by the global sensitivity on most data: nothing to fit."""


class Statistic(HasLadder):
    """A number on a public grid, computed from private data, with a ladder."""

    mechanism_preference: ClassVar[tuple[str, ...]] = WORST_CASE_FIRST
    """What "auto" means: the first of these mechanisms that serves the statistic.  Others are used only by name."""
    smoothness: ClassVar[Fraction | None] = None
    """The public rule for beta, as a share of epsilon, where the ladder starts far above its growth.

    None: the beta that suits a linearly growing ladder.  Laws that need delta keep their own (docs/decisions.md).
    """

    slow_rungs: ClassVar[bool] = False
    """True if rung k takes a time proportional to k."""

    @property
    def records_on(self) -> Grid:
        """Where the records live: public."""
        return self.answers

    @property
    def most_changes(self) -> int | None:
        """Public: after so many changes of any data all rungs are the cap and the chain has reached both ends."""
        return None

    @property
    def answer_grids(self) -> tuple[Grid, ...]:
        """The grid of each released number: public."""
        return (self.answers,)

    def released(self, numbers: Sequence[float]) -> Any:
        """What belongs to the one number of an answer, such as its error: a number, not a tuple."""
        return numbers[0]

    def ladder_of_count(self, records: int) -> Ladder | None:  # noqa: ARG002
        """The ladder of all data with so many records where it depends on nothing else and falls with their number;
        None where it depends on more."""
        return None

    @abstractmethod
    def value(self, data: Any) -> int:
        """The true value, in grid steps: private."""

    @property
    def most_margin(self) -> int | None:
        """A public bound on how many changes any data can be away from a rung above zero; None if none is known."""
        return None

    def even_data(self) -> Any:
        """Public data to read a default proposal off, such as records spread evenly; None if there are none."""
        return None


class VectorStatistic(HasGlobalSensitivity):
    """Several numbers at once, each on its own public grid, with their joint sensitivity."""

    mechanism_preference: ClassVar[tuple[str, ...]] = WORST_CASE_FIRST
    """What "auto" means: the first of these mechanisms that serves the statistic."""
    answers: tuple[Grid, ...]
    """A grid for each number: public."""
    l1: int
    """How far one change can move all numbers together, each measured in units of its cap: public."""
    l2_squared: int
    """The same in squares."""
    labels: tuple[str, ...]

    @property
    def most_changes(self) -> int | None:
        """Public: after so many changes of any data all of its numbers can be anything; None if that is not known."""
        return None

    @property
    def answer_grids(self) -> tuple[Grid, ...]:
        """The grid of each released number: public."""
        return self.answers

    def released(self, numbers: Sequence[float]) -> Any:
        """What belongs to the numbers of an answer, such as their errors: a tuple."""
        return tuple(numbers)

    def ladder_of_count(self, records: int) -> Ladder | None:  # noqa: ARG002
        """None: several numbers have no ladder."""
        return None

    @abstractmethod
    def values(self, data: Any) -> Sequence[int]:
        """The true values, in grid steps: private."""
