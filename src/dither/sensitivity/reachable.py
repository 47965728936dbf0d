"""What few changes can make of a value, for mechanisms that draw an answer by how many records must change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


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


class HasReachableValues(ABC):
    """A statistic with a chain, so that answers can be drawn by how many changes they need."""

    slow_links: ClassVar[bool] = False
    """True if link k takes a time proportional to k."""
    one_sided: bool
    """True if a change of one record moves the chain one way around every answer (minimum, maximum); public."""

    @abstractmethod
    def reachable_values(self, data: Any) -> ReachableValues:
        """The chain: private."""
