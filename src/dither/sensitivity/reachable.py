"""What few changes can make of a value, for mechanisms that draw an answer by how many records must change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic

from dither.sensitivity.global_sensitivity import Data


@dataclass(frozen=True)
class ReachableValues:
    """What few changes can do to a value: ``R_0`` is the value, ``R_i`` the most that i changes can raise it to,
    ``R_{-i}`` the least that i changes can lower it to.

    Chains of neighbours interlace, ``R_{i-1}(y) <= R_i(x) <= R_{i+1}(y)``, because what i changes reach from x, i + 1
    reach from y.  For an order statistic the chain is the sorted data itself, seen from its rank.
    """

    values: Callable[[int, int], Sequence[int]]
    """(first, last) -> R_first .. R_last, in grid steps: private."""
    bottom: int
    """From this index down the chain is the lower end of the grid: public."""
    top: int
    """From this index up the chain is the upper end of the grid: public."""


class HasReachableValues(ABC, Generic[Data]):
    """A statistic with a chain, so that answers can be drawn by how many changes they need."""

    linear_time_reachable_values: ClassVar[bool] = False
    """True if ``R_k`` takes time O(k), so that k of them take O(k^2); else each takes the same time."""
    if TYPE_CHECKING:

        @property
        def monotone_cost(self) -> bool:
            """True if one change moves the costs of all answers the same way, up or down (minimum, maximum): public.

            The exponential mechanism then needs half the noise (monotone scores).
            """

    @property
    def is_maximum(self) -> bool | None:
        """Of a statistic with a monotone cost: whether it is the largest record (True) or the smallest (False).

        None: it is as much the one as the other.
        """
        return None

    @abstractmethod
    def reachable_values(self, data: Data) -> ReachableValues:
        """The chain: private."""
