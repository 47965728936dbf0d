"""Means of a private number of records: a sum around the middle of the bounds, divided by a count."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic

from dither.sensitivity.global_sensitivity import Data


class HasSumAndCount(ABC, Generic[Data]):
    """What a mechanism that asks for the number of records first needs to know of a mean.

    In steps of the records the value is ``(low + high)/2 + doubled_deviations / (2 count)``, rounded down on the grid
    of the answers, and the middle for no records.  A record that is added or removed moves the count by 1 and the
    doubled deviations by at most ``deviation_range``; one that is replaced leaves the count and moves them by at most
    twice as much.  The ladder is that of the count (``Statistic.ladder_of_count``).
    """

    if TYPE_CHECKING:

        @property
        def deviation_range(self) -> int:
            """From one bound to the other, in steps of the records: public."""

    @abstractmethod
    def count(self, data: Data) -> int:
        """How many records there are: private."""

    @abstractmethod
    def doubled_deviations(self, data: Data) -> int:
        """The sum of ``2 x - low - high`` over the records x, in their steps: private."""
