"""Imagined records: what a sample from a prior would look like around any rank, without making all of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dither.errors import NotApplicable
from dither.kernels.elementary import Floats
from dither.kernels.ordering import Runs, runs_of
from dither.quotes.priors import Prior
from dither.quotes.uniforms import uniforms
from dither.sources.grid import Grid

BLOCK = 4096
"""So many neighbouring ranks are drawn together."""
FEW_BLOCKS = 16
"""Samples of at most so many blocks are drawn in full."""
MOST_LISTED = 1 << 22
"""No more neighbouring ranks are listed."""
HALVINGS = 48
"""So often the share of the records below a point is halved."""
NODES = 1 << 14
"""Totals of large samples are integrals over so many equally likely values."""


class ImaginedColumn:
    """A sorted sample of ``records`` values of a prior on a public grid.

    The order statistics of n uniform numbers are partial sums of n + 1 exponential ones, over their total.  They
    are made block by block when somebody looks at them; where there are many blocks, each is scaled to its expected
    sum, which moves ranks by a part 1 / sqrt(n) and leaves the gaps between them as they are.  The same number gives
    the same sample: a quote can be had again.
    """

    def __init__(self, prior: Prior, grid: Grid, records: int, number: int = 0) -> None:
        self.grid, self.records = grid, records
        self._prior, self._number = prior, number
        self._blocks: dict[int, NDArray[np.int64]] = {}
        self._ends: Floats | None = None
        blocks = -(-(records + 1) // BLOCK)
        if blocks <= FEW_BLOCKS:
            sums = np.cumsum([self._steps(index).sum() for index in range(blocks)])
            self._ends = np.concatenate([[0.0], sums / sums[-1]])

    def ranks(self, first: int, last: int) -> NDArray[np.int64]:
        """The order statistics of ranks first..last (from 1); the bounds stand in below 1 and above n."""
        low, high = self.grid.ends
        start, stop = min(max(first, 1), self.records + 1), max(min(last, self.records), 0)
        parts = [np.full(max(0, min(last, 0) - first + 1), low, dtype=np.int64)]
        if start <= stop:
            blocks = range((start - 1) // BLOCK, (stop - 1) // BLOCK + 1)
            inside = np.concatenate([self._block(index) for index in blocks])
            parts.append(inside[start - 1 - blocks.start * BLOCK : stop - blocks.start * BLOCK])
        parts.append(np.full(max(0, last - max(self.records, first - 1)), high, dtype=np.int64))
        return np.concatenate(parts)

    def runs(self, first: int, last: int) -> Runs:
        """The different values at ranks first..last; of records beyond them nothing is imagined."""
        if last - first >= MOST_LISTED:
            why = "a quote would have to make all of them up"
            raise NotApplicable("prior", "this many records", why, "quotes without a prior")
        return runs_of(self.ranks(first, last), first - 1)

    def near(self, ranks: Sequence[int]) -> NDArray[np.int64]:
        """The order statistics of some ranks; of many records without what chance adds to them."""
        if self._ends is not None:
            return self.values[np.array(ranks, dtype=np.int64) - 1]
        return self._on_grid((np.array(ranks, dtype=np.float64) - 0.5) / self.records)

    def below(self, points: Sequence[int]) -> NDArray[np.int64]:
        """How many records are less than each of these grid points; of many records, how many are expected."""
        wanted = np.array(points, dtype=np.int64)
        if self._ends is not None:
            return np.searchsorted(self.values, wanted, side="left")
        low, high = np.zeros(len(wanted)), np.ones(len(wanted))
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            reached = self._on_grid(middle) >= wanted
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return np.rint(low * self.records).astype(np.int64)

    @property
    def values(self) -> NDArray[np.int64]:
        """All records, sorted; for small samples only."""
        return self.ranks(1, self.records)

    def total(self, first: int | None = None, last: int | None = None) -> int:
        """The sum of all records, or of those at ranks first..last."""
        lowest, highest = (1, self.records) if first is None or last is None else (first, last)
        values, weight = self._summed(lowest, highest)
        return round(float(values.sum(dtype=np.float64)) * weight)  # whole numbers would overflow

    def moments(self) -> tuple[int, int]:
        """The sums of the records, and of their squares, above the lower end of the grid."""
        values, weight = self._summed(1, self.records)
        shifted = values.astype(np.float64) - self.grid.ends[0]
        return round(float(shifted.sum()) * weight), round(float((shifted**2).sum()) * weight)

    def _summed(self, first: int, last: int) -> tuple[NDArray[np.int64], float]:
        """Values that stand for the ranks first..last, and how many records each stands for."""
        if last < first:
            return np.zeros(0, dtype=np.int64), 1.0
        if self.records <= FEW_BLOCKS * BLOCK:
            return self.ranks(first, last), 1.0
        places = (first - 1 + (np.arange(NODES) + 0.5) / NODES * (last - first + 1)) / self.records
        return self._on_grid(places), (last - first + 1) / NODES

    def _steps(self, index: int) -> Floats:
        size = min(BLOCK, self.records + 1 - index * BLOCK)
        return -np.log(uniforms(f"{self._number} {index}", size))

    def _block(self, index: int) -> NDArray[np.int64]:
        if index not in self._blocks:
            steps = self._steps(index)
            start, end = self._span(index, len(steps))
            self._blocks[index] = self._on_grid(start + (end - start) * (np.cumsum(steps) / steps.sum()))
        return self._blocks[index]

    def _span(self, index: int, size: int) -> tuple[float, float]:
        """The shares of the records before and behind a block."""
        if self._ends is not None:
            return float(self._ends[index]), float(self._ends[index + 1])
        whole = self.records + 1
        return index * BLOCK / whole, (index * BLOCK + size) / whole

    def _on_grid(self, shares: Floats) -> NDArray[np.int64]:
        inside = np.clip(shares, 2.0**-60, 1.0 - 2.0**-53)
        low, high = self.grid.ends
        steps = np.rint(self._prior.quantile(inside) / float(self.grid.step))
        placed: NDArray[np.int64] = np.clip(np.nan_to_num(steps, posinf=high, neginf=low), low, high).astype(np.int64)
        return placed
