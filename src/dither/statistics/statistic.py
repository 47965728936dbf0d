"""A statistic: a query resolved against public facts.  Mechanisms know statistics, never queries or data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Generic

from dither.privacy import FilterName
from dither.sensitivity.global_sensitivity import Data, HasGlobalSensitivity
from dither.sensitivity.ladder import HasLadder, Ladder
from dither.sources.grid import Grid

FITTED_FIRST: tuple[str, ...] = ("inverse", "smooth", "ladder", "worst_case")
"""The preference of statistics whose sensitivity on usual data is far below the global one."""
WORST_CASE_FIRST: tuple[str, ...] = ("worst_case", "smooth", "inverse", "ladder")
"""The preference of statistics that one record can move by the global sensitivity on most data: nothing to fit."""
STAIRCASE_FROM = 2
"""Of single sums and means: from this epsilon on staircase noise errs less than Laplace noise by 15% and more."""


def preferred_for_totals(sensitivity: int, epsilon: Fraction, ledger: FilterName | None) -> str | None:
    """The mechanism that "auto" means for a sum of this global sensitivity, in steps: public facts.

    Under a zcdp filter Laplace noise of the same rho errs less; with a sensitivity of one step it is the same law.
    """
    return "staircase" if epsilon >= STAIRCASE_FROM and sensitivity > 1 and ledger != "zcdp" else None


class Statistic(HasLadder[Data]):
    """A number on a public grid, computed from private data, with a ladder."""

    if TYPE_CHECKING:

        @property
        def mechanism_preference(self) -> tuple[str, ...]:
            """What "auto" means: the first of these mechanisms that serves the statistic; others only by name."""

        @property
        def prefers_least_error(self) -> bool:
            """True if "auto" means the mechanism with the least expected error for all data, ties to the first."""

        @property
        def beta_per_epsilon(self) -> Fraction | None:
            """The smoothness beta of smooth sensitivity, over epsilon: for ladders that start far above their growth.

            None: the beta that suits a linearly growing ladder.  Laws that need delta keep their own
            (docs/decisions.md).
            """

        @property
        def ladder_beta_per_epsilon(self) -> Fraction | None:
            """The same for the smoothed ladder, where it was measured; None: its own rule."""

        @property
        def linear_time_ladder(self) -> bool:
            """True if ``U_k`` takes time O(k), so that k of them take O(k^2); else each takes the same time."""

        @property
        def labels(self) -> tuple[str, ...] | None:
            """The names of several numbers; None: it is one number."""

        @property
        def are_counts(self) -> bool:
            """Whether its numbers count something, so that none can be below 0."""

    else:
        are_counts = False
        mechanism_preference = WORST_CASE_FIRST
        prefers_least_error = False
        beta_per_epsilon = None
        ladder_beta_per_epsilon = None
        linear_time_ladder = False
        labels = None

    def preferred_at(self, epsilon: Fraction, *, interval: bool, ledger: FilterName | None) -> str | None:  # noqa: ARG002
        """The mechanism that "auto" means at this epsilon, by a public rule that was measured; None: the usual one.

        ``ledger``: how the losses of this dataset add up; None: nothing is known of that.
        """
        return None

    def smoothness(self, epsilon: Fraction, *, interval: bool) -> Fraction | None:  # noqa: ARG002
        """The beta of smooth sensitivity where the answer spends this epsilon, by a public rule that was measured.

        None: the one that suits a linearly growing ladder.
        """
        return None if self.beta_per_epsilon is None else self.beta_per_epsilon * epsilon

    @property
    def records_on(self) -> Grid:
        """Where the records live: public."""
        return self.answers

    @property
    def changes_to_worst_case(self) -> int | None:
        """A number k of changes with ``U_k`` the global sensitivity, and every answer reachable, on all data: public.

        None: no such number is known.
        """
        return None

    @property
    def shares(self) -> tuple[float, ...]:
        """Where in the sorted data the records lie that decide it; empty: it is not a matter of ranks.  Public."""
        return ()

    def read_near(self) -> tuple[float, ...]:
        """Around which quantiles records will be read: public, a hint to the source."""
        return self.shares

    @property
    def sums_ranks(self) -> bool:
        """Whether records between two ranks are summed: public, a hint to the source."""
        return False

    @property
    def sums_powers(self) -> int:
        """Up to which power all records are summed (0: they are not): public, a hint to the source."""
        return 0

    @property
    def answer_grids(self) -> tuple[Grid, ...]:
        """The grid of each released number: public."""
        return (self.answers,)

    @property
    def rows_per_person(self) -> int:
        """How many rows one person may own, where neighbours differ in all of them: public."""
        return 1

    @property
    def single(self) -> Statistic[Data]:
        """Itself: it is one number."""
        return self

    def numbers(self, data: Data) -> Sequence[int]:
        """The true value of each number, in its grid steps: private."""
        return (self.value(data),)

    def released(self, numbers: Sequence[float]) -> float:
        """What belongs to the one number of an answer, such as its error: a number, not a tuple."""
        return numbers[0]

    def ladder_of_count(self, records: int) -> Ladder | None:  # noqa: ARG002
        """The ladder of all data with so many records where it depends on nothing else and falls with their number;
        None where it depends on more."""
        return None

    def fails(self, data: Data) -> bool:  # noqa: ARG002
        """Whether the value is a public default, because the owner's own function has none: private."""
        return False

    @abstractmethod
    def value(self, data: Data) -> int:
        """The true value, in grid steps: private."""

    @property
    def max_distance_to_instability(self) -> int | None:
        """The greatest distance to instability of any data (V17 sec. 3), ``min {k : U_k > 0}``: public.

        None: no bound is known.
        """
        return None

    def max_margin(self, bound: int) -> int | None:  # noqa: ARG002
        """The most changes, on any data, before one more could move the value by more than ``bound`` steps: public.

        None: no bound is known.
        """
        return self.max_distance_to_instability

    def even_data(self) -> Data | None:
        """Public data to read a default proposal off, such as records spread evenly; None if there are none."""
        return None


class VectorStatistic(HasGlobalSensitivity, Generic[Data]):
    """Several numbers at once, each on its own public grid, with their joint sensitivity."""

    are_counts: ClassVar[bool] = False
    """True if every number counts records, though its grid has no end at 0: noise may move it below."""

    if TYPE_CHECKING:

        @property
        def mechanism_preference(self) -> tuple[str, ...]:
            """What "auto" means: the first of these mechanisms that serves the statistic."""

        @property
        def prefers_least_error(self) -> bool:
            """True if "auto" means the mechanism with the least expected error for all data, ties to the first."""

        @property
        def answers(self) -> tuple[Grid, ...]:
            """A grid for each number: public."""

        @property
        def l1(self) -> int | Fraction:
            """How far one change can move all numbers together, each measured in units of its cap: public."""

        @property
        def l2_squared(self) -> int | Fraction:
            """The same in squares."""

        @property
        def labels(self) -> tuple[str, ...]: ...

    else:
        mechanism_preference = WORST_CASE_FIRST
        prefers_least_error = False

    @property
    def changes_to_worst_case(self) -> int | None:
        """A number of changes after which, on all data, each number can have any value: public; None: not known."""
        return None

    def read_near(self) -> tuple[float, ...]:
        """Around which quantiles records will be read: public, a hint to the source."""
        return ()

    @property
    def sums_ranks(self) -> bool:
        """Whether records between two ranks are summed: public, a hint to the source."""
        return False

    @property
    def sums_powers(self) -> int:
        """Up to which power all records are summed (0: they are not): public, a hint to the source."""
        return 0

    @property
    def answer_grids(self) -> tuple[Grid, ...]:
        """The grid of each released number: public."""
        return self.answers

    @property
    def records_on(self) -> Grid | None:
        """Where the records live, if that is one grid: public."""
        return None

    @property
    def rows_per_person(self) -> int:
        """How many rows one person may own, where neighbours differ in all of them: public."""
        return 1

    @property
    def single(self) -> None:
        """None: these are several numbers."""
        return None

    def numbers(self, data: Data) -> Sequence[int]:
        """The true value of each number, in its grid steps: private."""
        return self.values(data)

    def released(self, numbers: Sequence[float]) -> tuple[float, ...]:
        """What belongs to the numbers of an answer, such as their errors: a tuple."""
        return tuple(numbers)

    def ladder_of_count(self, records: int) -> Ladder | None:  # noqa: ARG002
        """None: several numbers have no ladder."""
        return None

    def fails(self, data: Data) -> bool:  # noqa: ARG002
        """Whether the values are public defaults, because the owner's own function has none: private."""
        return False

    @abstractmethod
    def values(self, data: Data) -> Sequence[int]:
        """The true values, in grid steps: private."""
