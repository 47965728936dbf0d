"""The global sensitivity: the most that one record can ever move a value.  Every statistic has one."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVar
else:
    from typing import TypeVar

from dither.privacy import Neighbours

if TYPE_CHECKING:
    Data = TypeVar("Data", default=Any)  # a list of statistics of several sorts of data says nothing about them
    """The data that a statistic is computed from: a column, a table, a graph, or the owner's own."""
else:
    Data = TypeVar("Data")


class HasGlobalSensitivity(ABC):  # noqa: B024  (its properties are for type checkers, fields of dataclasses else)
    """One or several numbers, with how far a change of one record can move each on any data (DMNS06 Def. 3)."""

    if TYPE_CHECKING:

        @property
        def neighbours(self) -> Neighbours:
            """What one change is: public."""

        @property
        def global_sensitivities(self) -> tuple[int, ...]:
            """How far one change can move each number, in its grid steps: public."""

        @property
        def sensitivity_is_constant(self) -> bool:
            """True if one change can move it by the global sensitivity on all data: nothing to fit, no test passes."""

    else:
        sensitivity_is_constant = False

    @property
    def is_constant(self) -> bool:
        """True if no change can move any number: the same answer on all data."""
        return not any(self.global_sensitivities)
