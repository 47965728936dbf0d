"""What few changes can make of a value, for mechanisms that draw an answer by how many records must change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Generic, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.padded_links import FEW_LINKS, LinkArray

Whole: TypeAlias = NDArray[np.int64] | NDArray[np.object_]
"""Whole numbers, or those of Python where they need more than 64 bits."""


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
        seen: list[Sequence[int]] = []

        def values(first: int, last: int) -> Sequence[int]:
            if first < start or last > stop:
                return self.values(first, last)
            if not seen:
                seen.append(self.values(start, stop))
            return seen[0][first - start : last - start + 1]

        return replace(self, values=values)

    def most_up_to(self, ends: Whole, first: int, last: int) -> NDArray[np.int64]:
        """Of each end the most changes, of first to last, that raise no value above it; less than the first if there
        are none.

        Beyond its own ends, which are public, the chain is not looked at: there it is a bound.
        """
        start, stop = max(first, self.bottom), min(last, self.top)
        return _most(_places(self.values(start, stop), ends, bisect_right), start, stop, last)

    def most_down_to(self, ends: Whole, first: int, last: int) -> NDArray[np.int64]:
        """The same for changes that lower no value below it."""
        start, stop = max(first, -self.top), min(last, -self.bottom)
        links = self.values(-stop, -start)
        return _most(len(links) - _places(links, ends, bisect_left), start, stop, last)

    def foresee(self, points: Whole, links: int) -> None:
        """So many links will be compared with these points."""


def _most(within: NDArray[np.int64], start: int, stop: int, last: int) -> NDArray[np.int64]:
    """The most changes by how many of start .. stop keep within an end; those behind the chain's own end all do."""
    most = within + (start - 1)
    return most if stop == last else np.where(most == stop, last, most)


def _places(links: Sequence[int], ends: Whole, bisect: Callable[[Sequence[int], int], int]) -> NDArray[np.int64]:
    """How many links lie before each end, or are no greater (``bisect_right``); of very many few are looked at."""
    if isinstance(links, LinkArray) and ends.dtype == np.int64:
        return np.searchsorted(links.array, ends, side="right" if bisect is bisect_right else "left")
    return np.array([bisect(links, end) for end in ends.tolist()], dtype=np.int64)


class HasReachableValues(ABC, Generic[Data]):
    """A statistic with a chain, so that answers can be drawn by how many changes they need."""

    linear_time_reachable_values: ClassVar[bool] = False
    """True if ``R_k`` takes time O(k), so that k of them take O(k^2); else each takes the same time."""

    def ranks_within(self, changes: int) -> int:
        """How many ranks from its own so many changes lead at most: public; it only decides how to read."""
        return changes

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
