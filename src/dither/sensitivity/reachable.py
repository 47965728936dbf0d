"""What few changes can make of a value, for mechanisms that draw an answer by how many records must change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING, ClassVar, Generic, overload

from dither.sensitivity.global_sensitivity import Data


class PaddedLinks(Sequence[int]):
    """Private: links of a chain, and as many of its bounds on either side as somebody looks at; those take no room."""

    def __init__(self, low: int, before: int, inside: Sequence[int], high: int, after: int) -> None:
        self._low, self._before, self._inside, self._high, self._after = low, before, inside, high, after

    def __repr__(self) -> str:
        return "PaddedLinks(<private>)"

    def __len__(self) -> int:
        return self._before + len(self._inside) + self._after

    def __iter__(self) -> Iterator[int]:
        return chain(repeat(self._low, self._before), self._inside, repeat(self._high, self._after))

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> list[int]: ...
    def __getitem__(self, place: int | slice) -> int | list[int]:
        if isinstance(place, slice):
            return list(self)[place]
        within = range(len(self))[place] - self._before
        if 0 <= within < len(self._inside):
            return self._inside[within]
        return self._low if within < 0 else self._high


FEW_LINKS = 1 << 13
"""Up to so many links are a list, which is faster to look at."""


def padded(low: int, before: int, inside: list[int], high: int, after: int) -> Sequence[int]:
    """Links of a chain between its bounds."""
    if before + len(inside) + after <= FEW_LINKS:
        return [low] * before + inside + [high] * after
    return PaddedLinks(low, before, inside, high, after)


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
