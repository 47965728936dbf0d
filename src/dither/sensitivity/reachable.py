"""What few changes can make of a value, for mechanisms that draw an answer by how many records must change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Generic, overload

from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.padded_links import FEW_LINKS


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

    def remembered(self, reach: int) -> ReachableValues:
        """The same chain; its links within a public reach are looked up once, if they are few."""
        start, stop = max(-reach, self.bottom), min(reach, self.top)
        if stop - start >= FEW_LINKS:
            return self
        links: list[int] = []

        def values(first: int, last: int) -> Sequence[int]:
            if first < start or last > stop:
                return self.values(first, last)
            if not links:
                links.extend(self.values(start, stop))
            return links[first - start : last - start + 1]

        return replace(self, values=values)

    def most_up_to(self, ends: Sequence[int], first: int, last: int) -> list[int]:
        """Of each end the most changes, of first to last, whose reach is at most it; less than the first if there are
        none.

        Beyond its own ends, which are public, the chain is not looked at: there it is a bound.
        """
        start, stop = max(first, self.bottom), min(last, self.top)
        links = self.values(start, stop)
        most = [start - 1 + bisect_right(links, end) for end in ends]
        return most if stop == last else [last if result == stop else result for result in most]

    def most_down_to(self, ends: Sequence[int], first: int, last: int) -> list[int]:
        """The same downwards: the most changes that reach no less than an end."""
        return _mirrored(self).most_up_to([-end for end in ends], first, last)

    def foresee(self, points: Sequence[int], links: int) -> None:
        """So many links will be compared with these points."""


class _Mirrored(Sequence[int]):
    """Private: the negatives of links from the last to the first, none of them made before it is looked at."""

    def __init__(self, links: Sequence[int]) -> None:
        self._links = links

    def __len__(self) -> int:
        return len(self._links)

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> list[int]: ...
    def __getitem__(self, place: int | slice) -> int | list[int]:
        if isinstance(place, slice):
            return [self[index] for index in range(len(self))[place]]
        return -self._links[-1 - place]


def _mirrored(reachable: ReachableValues) -> ReachableValues:
    """The chain of the negative value."""

    def values(first: int, last: int) -> Sequence[int]:
        links = reachable.values(-last, -first)
        return [-link for link in reversed(links)] if len(links) <= FEW_LINKS else _Mirrored(links)

    return ReachableValues(values, -reachable.top, -reachable.bottom)


class HasReachableValues(ABC, Generic[Data]):
    """A statistic with a chain, so that answers can be drawn by how many changes they need."""

    linear_time_reachable_values: ClassVar[bool] = False
    """True if ``R_k`` takes time O(k), so that k of them take O(k^2); else each takes the same time."""
    if TYPE_CHECKING:

        @property
        def answers_are_records(self) -> bool:
            """True if the value is one of the records: a round number wherever they are.  Public."""

        @property
        def reaches_ranks(self) -> bool:
            """True if chains are sorted records, seen from a rank (``SortedChain``): counts replace links.  Public."""

        @property
        def monotone_cost(self) -> bool:
            """True if one change moves the costs of all answers the same way, up or down (minimum, maximum): public.

            The exponential mechanism then needs half the noise (monotone scores).
            """

    else:
        answers_are_records = False
        reaches_ranks = False

    @property
    def is_maximum(self) -> bool | None:
        """Of a statistic with a monotone cost: whether it is the largest record (True) or the smallest (False).

        None: it is as much the one as the other.
        """
        return None

    @abstractmethod
    def reachable_values(self, data: Data) -> ReachableValues:
        """The chain: private."""


class HasPopulationChains(ABC, Generic[Data]):
    """A statistic whose population's counterpart lies between two others of the sample, each with a chain of its own.

    Chains of neighbours interlace: what one change does to the records moves neither by more than one link.
    """

    @abstractmethod
    def population_chains(self, data: Data, miss: Fraction) -> tuple[ReachableValues, ReachableValues]:
        """The chains of a lower and an upper end; both miss with a chance of at most ``miss`` together: private."""

    @abstractmethod
    def population_ranks(self, miss: Fraction) -> int:
        """How many links lie between both ends: public."""
