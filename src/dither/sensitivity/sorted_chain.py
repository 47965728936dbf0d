"""Chains that are sorted records, seen from a rank: what they reach follows from counts, no link need be listed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.sensitivity.reachable import ReachableValues, Whole
from dither.sources.column import RankedRecords

MOST_LINKS = 1 << 18
"""Up to so many links are listed and looked at one by one; with more, records are counted below some points instead.

Public, so that what is read depends on no record.  A window of so many ranks takes some 80 MB and half a second, less
than three passes over tens of millions of rows."""


def listed(links: int) -> int:
    """How many links of a sorted chain are looked at one by one where so many matter: public; none of too many."""
    return links if links <= MOST_LINKS else 0


@dataclass(frozen=True)
class SortedChain(ReachableValues):
    """``R_t`` is the record at rank ``rank_at(t)``, which never falls with t and is at least 1 for t = 0; ranks below 1
    are the lower bound, those above all records the upper one.

    So ``R_t < z`` where ``rank_at(t) <= #{x < z}``, and ``R_t <= z`` where ``rank_at(t) <= #{x <= z}`` or z is the
    upper bound: few counts say as much about a point as all links (docs/proofs/inverse.md, "Counts instead of links").
    """

    rank_at: Callable[[int], int]
    """The rank that so many changes reach: private, as the number of records may be."""
    data: RankedRecords
    """Private."""

    def __repr__(self) -> str:
        return "SortedChain(<private>)"

    def scaled(self, rows: int) -> SortedChain:
        """The chain of which every link is so many of this one: all records of a person change at once."""

        def values(first: int, last: int) -> Sequence[int]:
            return list(self.values(rows * first, rows * last)[::rows])

        bottom, top = self.bottom // rows, -(-self.top // rows)
        return SortedChain(values, bottom, top, lambda changes: self.rank_at(rows * changes), self.data)

    def counts(self, points: Sequence[int]) -> list[int]:
        """How many records are less than each of these points; one pass over them, or none: private."""
        return [int(count) for count in self.data.below(points)]

    def changes_to(self, below: int, up_to: int | None) -> int:
        """How many changes reach a point that has so many records below it, and so many up to it: private.

        ``up_to`` is None of the upper bound, which is never above what is reached.  Fewer records below and more up to
        it never make it more, so the least of a run of points follows from both of its ends.
        """
        up = bisect_left(range(self.top), True, key=lambda changes: self.rank_at(changes) > below)
        if up_to is None:
            return up
        return max(up, bisect_left(range(-self.bottom), True, key=lambda changes: self.rank_at(-changes) <= up_to))

    def near(self, changes: Sequence[int]) -> list[int]:
        """Points at or near what so many changes reach, as far as that is a record: private."""
        records = self.data.records
        ranks = sorted({rank for rank in map(self.rank_at, changes) if 1 <= rank <= records})
        return [int(point) for point in self.data.near(ranks)] if ranks else []

    def most_up_to(self, ends: Whole, first: int, last: int) -> NDArray[np.int64]:
        if listed(last - first):
            return super().most_up_to(ends, first, last)
        high, links, points = self.data.grid.ends[1], range(first, last + 1), ends.tolist()

        def within(count: int) -> int:
            return first - 1 + bisect_left(links, True, key=lambda changes: self.rank_at(changes) > count)

        each = zip(points, self.counts([end + 1 for end in points]), strict=True)
        return np.array([last if end >= high else within(count) for end, count in each], dtype=np.int64)

    def most_down_to(self, ends: Whole, first: int, last: int) -> NDArray[np.int64]:
        if listed(last - first):
            return super().most_down_to(ends, first, last)
        low, links, points = self.data.grid.ends[0], range(first, last + 1), ends.tolist()

        def within(count: int) -> int:
            return first - 1 + bisect_left(links, True, key=lambda changes: self.rank_at(-changes) <= count)

        each = zip(points, self.counts(points), strict=True)
        return np.array([last if end <= low else within(count) for end, count in each], dtype=np.int64)

    def foresee(self, points: Whole, links: int) -> None:
        if not listed(links):
            self.counts(points.tolist())
