"""Counts to which every person contributes a share, and what is left of them where shares are limited."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Generic

from dither.sensitivity.global_sensitivity import Data


class HasLimitedShares(ABC, Generic[Data]):
    """A count of people's shares, with its values where no person counts more than a limit."""

    if TYPE_CHECKING:

        @property
        def largest_share(self) -> int:
            """The most that one person can ever contribute: public.  Under this limit the value is the statistic's."""

    @abstractmethod
    def limited_values(self, data: Data, limits: Sequence[int]) -> list[int]:
        """The values under public limits, in grid steps: private.  None exceeds the statistic's own."""

    def limited_sensitivity(self, limit: int) -> int:
        """The most that one person moves the value under a limit, in grid steps: public."""
        return limit


def limits_up_to(largest: int, base: Fraction) -> tuple[int, ...]:
    """Whole limits up to the largest share, each the next one over ``base``, rounded up, or 1 less than it.  Public.

    >>> limits_up_to(1000, Fraction(10))
    (10, 100, 1000)
    """
    limits = [largest]
    while limits[-1] > base:
        limits.append(min(math.ceil(limits[-1] / base), limits[-1] - 1))
    return tuple(reversed(limits))
