"""Records without bounds: sorted floats, what few changes can do to their ranks, and margins.

A float is an exact rational, so all comparisons here are exact.  Records are cut to +-2**1000, and beyond the first and
the last rank lie -inf and +inf: without bounds a changed record may go anywhere.  Chains and margins are derived in
docs/proofs/robust_scale.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dither.kernels.elementary import Floats
from dither.kernels.exact_floats import any_difference_above, exact_float_sum, largest_difference, smallest_difference
from dither.numbers import Ball, ball, float_up, precision
from dither.sources.column import as_array, floats_of
from dither.sources.frames import ColumnLike
from dither.sources.grid import Grid

LARGEST = 2.0**1000
"""Records beyond this count as this: differences of two of them are still floats."""


class RankedColumn(Protocol):
    """A column that knows its order statistics, in whole steps of a public grid."""

    @property
    def grid(self) -> Grid: ...
    @property
    def records(self) -> int: ...
    def ranks(self, first: int, last: int) -> NDArray[np.int64]: ...
    def below(self, points: Sequence[int]) -> NDArray[np.int64]: ...


class Ordered:
    """Private: the records in order."""

    __slots__ = ("_sorted",)

    def __init__(self, values: Floats) -> None:
        """``values``: finite floats within +-2**1000, in any order."""
        self._sorted = np.sort(values)

    def __repr__(self) -> str:
        return "Ordered(<private>)"

    @property
    def records(self) -> int:
        """The number of records: private where missing ones are left out, or behind a filter."""
        return len(self._sorted)

    def ranks(self, first: int, last: int) -> Floats:
        """The records of ranks first..last (from 1), infinite beyond both ends."""
        inside = self._sorted[max(first - 1, 0) : max(last, 0)]
        before = max(0, min(last, 0) - first + 1)
        after = max(0, last - max(self.records, first - 1))
        if not before and not after:
            return inside
        return np.concatenate([np.full(before, -np.inf), inside, np.full(after, np.inf)])

    def at(self, rank: int) -> Fraction:
        """The record of a rank from 1 to n, exactly."""
        return Fraction(float(self._sorted[rank - 1]))

    def below(self, edge: Fraction) -> int:
        """How many records are less than an edge."""
        # For floats x: x < edge exactly if x < the least float that is not below the edge.
        return int(np.searchsorted(self._sorted, float_up(edge), side="left"))

    def total(self, first: int, last: int) -> Fraction:
        """The exact sum of the ranks first..last."""
        return exact_float_sum(self.ranks(first, last))


class OnGrid(Ordered):
    """Private: the records of a column with bounds, for procedures that know of none.

    A record is the float of its grid point, a function of that record alone that keeps the order.
    """

    __slots__ = ("_column",)

    def __init__(self, column: RankedColumn) -> None:
        self._column = column

    @property
    def records(self) -> int:
        return self._column.records

    def ranks(self, first: int, last: int) -> Floats:
        start, stop = max(first, 1), min(last, self.records)
        inside = np.zeros(0)
        if start <= stop:
            inside = self._column.ranks(start, stop).astype(np.float64) * self._step
        before = max(0, min(last, 0) - first + 1)
        after = max(0, last - max(self.records, first - 1))
        return np.concatenate([np.full(before, -np.inf), inside, np.full(after, np.inf)])

    def at(self, rank: int) -> Fraction:
        return Fraction(float(self.ranks(rank, rank)[0]))

    def below(self, edge: Fraction) -> int:
        low, high = self._column.grid.ends
        # The first grid point whose float is not below the edge.  Floats rise with their points, which have at most 52
        # bits, so a float is less than half a step from its point.
        nearest = min(max(math.floor(edge / Fraction(self._step)), low), high)
        points = range(nearest - 1, nearest + 3)
        point = next((item for item in points if Fraction(item * self._step) >= edge), high + 1)
        return self.records if point > high else int(self._column.below([max(point, low)])[0])

    @property
    def _step(self) -> float:
        return float(self._column.grid.step)


def read_unbounded(data: ColumnLike, missing: float | None) -> Ordered:
    """The records of a numeric array, huge ones cut; missing ones count as a public value, or are left out (None)."""
    values = floats_of(as_array(data))
    absent = np.isnan(values)
    values = np.clip(values, -LARGEST, LARGEST)
    values = values[~absent] if missing is None else np.where(absent, missing, values)
    return Ordered(values + 0.0)  # -0.0 is 0.0


class RankRange:
    """Private: the distance ``x_(q) - x_(p)`` of two ranks p < q, and how far k changes can move it."""

    def __init__(self, data: Ordered, lower: int, upper: int) -> None:
        self._data, self._p, self._q = data, lower, upper

    @property
    def value(self) -> Fraction:
        """The distance, exactly."""
        return self._data.at(self._q) - self._data.at(self._p)

    @property
    def limit(self) -> int:
        """So many changes make the distance as large as one likes: public."""
        return min(self._p, self._data.records - self._q + 1)

    def most(self, changes: int) -> Fraction | None:
        """The largest distance within so many changes; None if it is infinite."""
        if changes >= self.limit:
            return None
        above = self._data.ranks(self._q, self._q + changes)
        below = self._data.ranks(self._p - changes, self._p)
        return largest_difference(above, below)

    def least(self, changes: int) -> Fraction:
        """The smallest distance within so many changes."""
        if changes >= self._q - self._p:
            return Fraction(0)
        above = self._data.ranks(self._q - changes, self._q)
        below = self._data.ranks(self._p, self._p + changes)
        return smallest_difference(above, below)

    def rounded_most(self, changes: int) -> float:
        """``most`` to the nearest float, infinite where it is."""
        if changes >= self.limit:
            return math.inf
        above, below = (self._data.ranks(r, r + changes) for r in (self._q, self._p - changes))
        return float((above - below).max())

    def rounded_least(self, changes: int) -> float:
        """``least`` to the nearest float."""
        if changes >= self._q - self._p:
            return 0.0
        above, below = (self._data.ranks(r, r + changes) for r in (self._q - changes, self._p))
        return float((above - below).min())


Close = Callable[[Fraction, Fraction], bool]
"""(least, most) -> whether all distances between are close enough; may only turn false as they move apart."""


def reach_margin(distances: RankRange, close: Close) -> int:
    """``min {k : what k + 1 changes reach is not close}``: at least every binned margin, and 1-Lipschitz."""

    def apart(k: int) -> bool:
        most = distances.most(k + 1)
        return most is None or not close(distances.least(k + 1), most)

    return first_true(apart, distances.limit - 1)


def bin_margin(distances: RankRange, octaves: Octaves, shift: Fraction) -> int:
    """The least number of changes that take the distance out of its logarithmic bin, minus 1."""
    index = octaves.bin_of(distances.value, shift)

    def out(k: int) -> bool:
        most = distances.most(k + 1)
        return most is None or not all(octaves.holds(index, shift, end) for end in (distances.least(k + 1), most))

    return first_true(out, distances.limit - 1)


def window_margin(data: Ordered, rank: int, width: float) -> int:
    """``min {k : some window of k + 1 rank steps around the rank spans more than width}``: by the exact ladder."""

    def wide(k: int) -> bool:
        above, below = data.ranks(rank, rank + k + 1), data.ranks(rank - k - 1, rank)
        return any_difference_above(above, below, width)

    return first_true(wide, min(rank - 1, data.records - rank))


def range_margin(data: Ordered, lower: int, upper: int, width: float) -> int:
    """The margin of the distance of two ranks: one change moves both the same way, so the larger move bounds it."""
    return min(window_margin(data, rank, width) for rank in (lower, upper))


def cell_margin(data: Ordered, rank: int, width: Fraction, shift: Fraction) -> int:
    """The least number of changes that take a rank out of its bin, minus 1; bins begin at ``(k - shift) width``."""
    k = math.floor(data.at(rank) / width + shift)
    rising = data.below((k + 1 - shift) * width) + 1 - rank
    falling = rank - data.below((k - shift) * width)
    return min(rising, falling) - 1


def trimmed_margin(data: Ordered, trimmed: int, bound: float) -> int:
    """The margin of the exact ladder of a trimmed total: ``max_t x_(n-m+t) - x_(m+t-k)`` against a bound."""
    n, m = data.records, trimmed

    def wide(k: int) -> bool:
        return any_difference_above(data.ranks(n - m, n - m + k + 1), data.ranks(m - k, m + 1), bound)

    return first_true(wide, m)


def first_true(predicate: Callable[[int], bool], known: int) -> int:
    """The least k >= 0 for which a monotone predicate holds; it holds at ``known``."""
    low, high = 0, known
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if predicate(middle) else (middle + 1, high)
    return low


@dataclass(frozen=True)
class Octaves:
    """Exact comparisons on the logarithmic scale: widths are rationals, in powers of two."""

    width: Fraction

    def close(self, least: Fraction, most: Fraction) -> bool:
        """Whether ``most <= 2**width least``; zero is close to zero only."""
        if least == 0 or most == 0:
            return most == 0
        return against_power(most / least, self.width) <= 0

    def bin_of(self, value: Fraction, shift: Fraction) -> int | None:
        """``floor(log2(value) / width + shift)``; zero has a bin of its own, None."""
        if value == 0:
            return None
        with precision(96):
            guess = math.floor(float(log2(value) / ball(self.width)) + float(shift))
        while against_power(value, (guess - shift) * self.width) < 0:
            guess -= 1
        while against_power(value, (guess + 1 - shift) * self.width) >= 0:
            guess += 1
        return guess

    def holds(self, index: int | None, shift: Fraction, value: Fraction) -> bool:
        """Whether a value lies in the bin."""
        if index is None or value == 0:
            return index is None and value == 0
        low, high = ((index + end - shift) * self.width for end in (0, 1))
        return against_power(value, low) >= 0 and against_power(value, high) < 0


def log2(value: Fraction) -> Ball:
    """A ball around the binary logarithm of a positive rational, at the precision in force."""
    return ball(value).log() / ball(2).log()


def against_power(value: Fraction, exponent: Fraction) -> int:
    """The sign of ``value - 2**exponent``, exactly, for a positive value."""
    with precision(128):
        difference = log2(value) - ball(exponent)
        if difference > 0:
            return 1
        if difference < 0:
            return -1
    # Too close for 128 bits, perhaps equal: compare whole powers.
    power, whole = value**exponent.denominator, Fraction(2) ** exponent.numerator
    return (power > whole) - (power < whole)
