"""Several quantiles at once by one joint draw: all answers share one epsilon instead of splitting it.

A tuple of answers cuts the records into segments; its score is how far the segments' sizes are from the wanted
ones, added up.  One changed record leaves one segment and enters another, so the score moves by at most 2,
however many quantiles are asked (Gillenwater, Joseph and Kulesza 2021).  The tuple is drawn exactly: a forward
sum over rank positions in whole-number intervals, then a backward walk (docs/proofs/quantiles.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dither.noise.discrete_exponential import doubled, located, powers
from dither.noise.entropy import LazyBits, Source, system, uniform_integer

_CERTAINTY = 64
_GUARD = 192


class FineRecords(Protocol):
    """Private: distinct whole numbers in rising order: an array, or windows of one."""

    def __len__(self) -> int: ...
    def __getitem__(self, places: slice, /) -> NDArray[np.int64]: ...


def joint_reach(count: int, points: int, rate: Fraction) -> int:
    """How many positions on either side of each rank decide a draw with certainty 1 - 2**-64: public."""
    return max(math.ceil((count * math.log(points) + _CERTAINTY * math.log(2.0)) / float(2 * rate)), 0) + 1


def joint_quantiles(
    fine: FineRecords,
    bounds: tuple[int, int],
    ranks: list[int],
    rate: Fraction,
    source: Source = system,
    *,
    offset: int = 1,
    whole: int | None = None,
) -> list[int]:
    """Answers for the given ranks of distinct sorted records between two bounds, in rising order.

    Weight ``e^{-rate score}`` for every tuple of points; the privacy loss of rate 1 is 4.

    offset: by how many half steps targets lie below the ranks.
    whole: the wanted number of all records, in half steps; by default what there is of them.  With a public one a
        record that is added or removed moves the score by at most 1.
    """
    points, count = bounds[1] - bounds[0] + 1, len(ranks)
    wanted = 2 * len(fine) if whole is None else whole
    # So many records too many or too few have to go somewhere.
    reach = joint_reach(count, points, rate) + (abs(2 * len(fine) - wanted) + 1) // 2
    tapes: list[LazyBits] = []
    guard = _GUARD
    while True:
        walk = _Walk(fine, bounds, ranks, rate, min(reach, len(fine) + 1 + max(ranks)), guard, offset, wanted)
        blocks = walk.blocks(tapes, source)
        if blocks is not None:
            drawn = [
                low + 1 + uniform_integer(high - low, source)
                for low, high, times in (walk.interval(*block) for block in blocks)
                for _ in range(times)
            ]
            return sorted(drawn)
        reach, guard = 2 * reach, doubled(guard)
        for bits in tapes:
            bits.extend()


@dataclass(frozen=True)
class _Sums:
    """Forward sums, all rounded one way: F[j][a] for j answers placed, the last one at position window[j].start + a."""

    placed: list[list[int]]
    entering: list[list[int]]
    """H[j][a]: the sums before answer j + 1 enters position window[j + 1].start + a from a lower one."""


class _Walk:
    """The forward sums and the backward walk for one window and one number of digits."""

    def __init__(
        self,
        fine: FineRecords,
        bounds: tuple[int, int],
        ranks: list[int],
        rate: Fraction,
        reach: int,
        guard: int,
        offset: int,
        whole: int,
    ) -> None:
        self._bounds, self._ranks, self._offset, self._whole = bounds, ranks, offset, whole
        self._records, self._count = len(fine), len(ranks)
        points = bounds[1] - bounds[0] + 1
        self._digits = self._count * points.bit_length() + guard
        self._windows = [range(max(r - reach, 0), min(r - 1 + reach, self._records) + 1) for r in ranks]
        # Costs are whole numbers of half steps, because targets lie half a rank below the ranks.
        self._weights = powers(rate / 2, 4 * reach + 64, self._digits)
        self._edges: dict[int, int] = {}
        for window in self._windows:
            first, last = max(window.start, 1), min(window.stop, self._records)
            self._edges |= dict(zip(range(first, last + 1), fine[first - 1 : last].tolist(), strict=True))
        self._gaps = {i: self._size(i) for window in self._windows for i in window}
        self._everything = all(len(window) == self._records + 1 for window in self._windows)
        self._outside = points**self._count if not self._everything else 0
        self._reach = reach
        self.low, self.high = (self._sums(up=up) for up in (False, True))

    def _edge(self, index: int) -> int:
        """Record ``index`` (from 1); below all records the point before the lower bound, above all the upper bound."""
        if index == 0:
            return self._bounds[0] - 1
        return self._bounds[1] if index > self._records else self._edges[index]

    def _size(self, position: int) -> int:
        return self._edge(position + 1) - self._edge(position)

    def interval(self, position: int, times: int) -> tuple[int, int, int]:
        """The points with ``position`` records below them, as (before the first, last), and how many answers."""
        return self._edge(position), self._edge(position + 1), times

    def _weight(self, halves: int, *, up: bool) -> int:
        """2^digits e^{-rate halves / 2}, rounded; beyond the list 0 or the last entry, which is still a bound."""
        weights = self._weights[1 if up else 0]
        if halves < len(weights):
            return weights[halves]
        return weights[-1] if up else 0

    def _times(self, value: int, halves: int, *, up: bool) -> int:
        product = value * self._weight(halves, up=up)
        return -((-product) >> self._digits) if up else product >> self._digits

    def _segment(self, j: int) -> int:
        """The wanted size of segment j (from 1), in half steps; the last one runs to the end of the records."""
        if j == 1:
            return 2 * self._ranks[0] - self._offset
        if j == self._count + 1:
            return self._whole - 2 * self._ranks[-1] + self._offset
        return 2 * (self._ranks[j - 1] - self._ranks[j - 2])

    def _sums(self, *, up: bool) -> _Sums:
        """All forward sums, rounded down or up."""
        placed = [[0] * len(window) for window in self._windows]
        entering: list[list[int]] = []
        for j in range(self._count):
            window = self._windows[j]
            if j == 0:
                entered = [self._weight(abs(2 * i - self._segment(1)), up=up) for i in window]
            else:
                entered = self._entered(placed[j - 1], j, up=up)
            entering.append(entered)
            inner = 0
            for times in range(1, self._count - j + 1):
                if times > 1:
                    inner += self._segment(j + times)
                target, cells = self._windows[j + times - 1], placed[j + times - 1]
                both = range(max(window.start, target.start), min(window.stop, target.stop))
                if not both:
                    break  # (windows rise)
                for i in both:
                    if entered[i - window.start]:
                        cells[i - target.start] += self._block(entered[i - window.start], i, times, inner, up=up)
        return _Sums(placed, entering)

    def _block(self, entered: int, position: int, times: int, inner: int, *, up: bool) -> int:
        """What ``times`` answers at one position add: g^k / k! and the segments of size zero between them."""
        product = entered * self._gaps[position] ** times
        ways = math.factorial(times)
        divided = -(-product // ways) if up else product // ways
        return self._times(divided, inner, up=up) if inner else divided

    def _entered(self, before: list[int], j: int, *, up: bool) -> list[int]:
        """H(i') = sum over i < i' of F(i) e^{-rate |i' - i - t|} for the positions i' of answer j + 1, t whole."""
        source, window, wanted = self._windows[j - 1], self._windows[j], self._segment(j + 1) // 2
        at = {i: value for i, value in zip(source, before, strict=True) if value}
        long = self._long_segments(at, window, wanted, up=up)
        if wanted <= 1:
            return long
        # Between i' - t and i': everything above i' - t, less what is not below i'.
        above = self._from_above(at, window, wanted - 1, 2, up=up)
        beside = self._from_above(at, window, 0, 2 * wanted, up=not up)
        return [item + max(two - three, 0) for item, two, three in zip(long, above, beside, strict=True)]

    def _long_segments(self, at: dict[int, int], window: range, wanted: int, *, up: bool) -> list[int]:
        """Sums over i <= i' - max(t, 1), which decay as i' grows."""
        lag = max(wanted, 1)
        first = window.start - 1
        running = sum(self._times(v, 2 * (first - i - wanted), up=up) for i, v in at.items() if i <= first - lag)
        sums = []
        for here in window:
            running = self._times(running, 2, up=up) + self._times(at.get(here - lag, 0), 2 * (lag - wanted), up=up)
            sums.append(running)
        return sums

    def _from_above(self, at: dict[int, int], window: range, shift: int, halves: int, *, up: bool) -> list[int]:
        """Sums over i >= i' - shift of F(i) e^{-rate (i - i' + shift)}, times a constant, going down."""
        last = window[-1] + 1
        running = sum(self._times(v, 2 * (i - last + shift), up=up) for i, v in at.items() if i >= last - shift)
        sums = []
        for here in reversed(window):
            running = self._times(running, 2, up=up) + at.get(here - shift, 0)
            sums.append(self._times(running, halves, up=up))
        return sums[::-1]

    def blocks(self, tapes: list[LazyBits], source: Source) -> list[tuple[int, int]] | None:
        """(position, number of answers) from the last block to the first; None if the tapes do not decide it."""
        draws = iter(range(3 * self._count))

        def decided(pairs: list[tuple[int, int]], weight: int) -> int | None:
            """The choice that the next tape falls into; ``weight`` is that of everything chosen already."""
            index = next(draws)
            while len(tapes) <= index:
                tapes.append(LazyBits(128, source))
            # What lies outside the windows may belong to any of the choices, so it widens every edge.
            beyond = -((-missing << self._digits) // max(weight, 1)) if missing else 0
            low = list(accumulate(p[0] for p in pairs))
            high = [edge + beyond for edge in accumulate(p[1] for p in pairs)]
            return located(low, high, 0, tapes[index]) if high[-1] else None

        both = (self.low, self.high)
        last = self._segment(self._count + 1)
        # Tuples that leave a window miss a target by the reach at least, which costs twice that, less what there are of
        # records too many or too few.
        surplus = abs(2 * self._records - self._whole)
        least = max(4 * self._reach - surplus, 0)
        missing = self._times(self._outside << self._digits, least, up=True) if self._outside else 0
        result, j, suffix, after = [], self._count, 1 << self._digits, None
        while j:
            # From the target outwards, so that a wider window only appends choices.
            rank, start = self._ranks[j - 1], self._windows[j - 1].start
            rings = sorted((max(rank - i, i - rank + 1), i) for i in self._windows[j - 1])
            window = [i for _, i in rings]
            costs = [
                abs(2 * (self._records - i) - last) if after is None else abs(2 * (after - i) - self._segment(j + 1))
                for i in window
            ]
            pairs = [
                (
                    self._times(both[0].placed[j - 1][i - start], cost, up=False),
                    self._times(both[1].placed[j - 1][i - start], cost, up=True),
                )
                if after is None or i < after
                else (0, 0)
                for i, cost in zip(window, costs, strict=True)
            ]
            a = decided(pairs, suffix)
            if a is None:
                return None
            suffix = self._times(suffix, costs[a], up=False)
            position = window[a]
            options: list[tuple[int, int]] = []
            for times in range(1, j + 1):
                entry = self._windows[j - times]
                if position not in entry:
                    options.append((0, 0))
                    continue
                inner = sum(self._segment(j - times + 1 + extra) for extra in range(1, times))
                low, high = (
                    self._block(sums.entering[j - times][position - entry.start], position, times, inner, up=up)
                    for sums, up in zip(both, (False, True), strict=True)
                )
                options.append((low, high))
            pick = decided(options, suffix)
            if pick is None:
                return None
            times = pick + 1
            result.append((position, times))
            inner = sum(self._segment(j - times + 1 + extra) for extra in range(1, times))
            suffix = self._block(suffix, position, times, inner, up=False)
            after, j = position, j - times
        return result
