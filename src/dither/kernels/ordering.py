"""Order statistics of an array by selection: only windows of ranks that are asked for are put in order.

A window is found by a sample (Floyd and Rivest): two entries of the sorted sample that almost surely lie on either side
of the ranks, one pass that counts what is below the first, and one that takes what lies between them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither.kernels.sums import exact_sum, exact_sum_below

FEW = 1 << 14
"""Arrays of at most so many entries are sorted at once."""
AROUND = 1 << 10
"""So many ranks on either side of those asked for are put in order with them: the next question is about them."""
PART = 8
"""Who asks for more than an eighth of the array at once gets all of it sorted."""
DEVIATIONS = 4.0
"""How many standard deviations of a sampled rank a window is wider than it need be."""
MOST_WINDOWS = 16
"""An array that was asked for so many places is sorted."""
COARSE = 1 << 16
"""Entries that lie on so many public places fit 16 bits, and are sorted digit by digit."""


class Runs(NamedTuple):
    """Neighbouring values of a sorted array, each with all of its entries."""

    below: int
    """How many entries are smaller than the first."""
    values: NDArray[np.int64]
    counts: NDArray[np.int64]


def runs_of(ordered: NDArray[np.int64], below: int = 0) -> Runs:
    """The different values of a sorted array, and how often each occurs."""
    if not len(ordered):
        return Runs(below, ordered, ordered)
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return Runs(below, ordered[starts], np.diff(np.append(starts, len(ordered))))


class Ordering:
    """An array in ascending order, as far as was asked: sorted windows, each with the place where it begins."""

    __slots__ = ("_below", "_ends", "_sample", "_values", "_windows")

    def __init__(
        self, values: NDArray[np.int64], *, ordered: bool = False, ends: tuple[int, int] | None = None
    ) -> None:
        """ends: the least and the greatest value that an entry can have, public."""
        self._values = values
        self._ends = ends
        self._below: dict[int, int] = {}
        self._sample: NDArray[np.int64] | None = None
        self._windows: list[tuple[int, NDArray[np.int64]]] = [(0, values)] if ordered else []

    def between(self, first: int, last: int) -> NDArray[np.int64]:
        """The entries at places first .. last - 1 (from 0) of the sorted array."""
        start, window = self._window(first, last)
        return window[first - start : last - start]

    def runs(self, first: int, last: int) -> Runs:
        """The different values at places first .. last - 1."""
        start, window = self._window(first, last)
        # A window holds all entries that are equal to its first or to its last.
        lower, upper = window[first - start], window[last - 1 - start]
        low, high = np.searchsorted(window, lower, side="left"), np.searchsorted(window, upper, side="right")
        return runs_of(window[low:high], start + int(low))

    def total(self, first: int, last: int) -> int:
        """The exact sum of the entries at places first .. last - 1; what lies between the two places is not sorted."""
        if first >= last:
            return 0
        if PART * (last - first) <= len(self._values):
            return exact_sum(self.between(first, last))
        return self._total_before(last) - self._total_before(first)

    def _total_before(self, place: int) -> int:
        if place in (0, len(self._values)):
            return exact_sum(self._values[:place])
        start, window = self._window(place - 1, place)
        if start not in self._below:
            # A window holds all entries that are equal to its first.
            self._below[start] = exact_sum_below(self._values, window[0]) if start else 0
        return self._below[start] + exact_sum(window[: place - start])

    def _window(self, first: int, last: int) -> tuple[int, NDArray[np.int64]]:
        """A window that holds these places."""
        for start, window in self._windows:
            if start <= first and last <= start + len(window):
                return start, window
        size = len(self._values)
        if size <= FEW or PART * (last - first) > size or len(self._windows) >= MOST_WINDOWS:
            return self._sorted()
        around = max(AROUND, last - first)
        result = self._selected(max(first - around, 0), min(last + around, size))
        if not (result[0] <= first and last <= result[0] + len(result[1])):
            return self._sorted()  # (the sample misled)
        self._windows.append(result)
        return result

    def _sorted(self) -> tuple[int, NDArray[np.int64]]:
        if not self._windows or len(self._windows[0][1]) < len(self._values):
            self._windows = [(0, self._in_order())]
        return self._windows[0]

    def _in_order(self) -> NDArray[np.int64]:
        if self._ends is None or self._ends[1] - self._ends[0] >= COARSE:
            return np.sort(self._values)
        low = self._ends[0]
        # A stable sort of 16 bits takes two passes, whatever the entries are.
        return np.sort((self._values - low).astype(np.uint16), kind="stable").astype(np.int64) + low

    def _selected(self, first: int, last: int) -> tuple[int, NDArray[np.int64]]:
        """The entries between two entries of a sample, sorted, and how many are smaller."""
        values, size = self._values, len(self._values)
        if self._sample is None:
            self._sample = np.sort(values[:: max(1, round(size ** (1 / 3)))])
        sample = self._sample
        margin = math.ceil(DEVIATIONS * math.sqrt(len(sample)) / 2.0)
        left = first * len(sample) // size - margin
        right = last * len(sample) // size + margin
        low, high = left > 0, right < len(sample)
        if low and high:
            below = int(np.count_nonzero(values < sample[left]))
            inside = values[(values >= sample[left]) & (values <= sample[right])]
        elif low:
            inside = values[values >= sample[left]]
            below = size - len(inside)
        else:
            below = 0
            inside = values[values <= sample[right]] if high else values.copy()
        inside.sort()
        return below, inside
