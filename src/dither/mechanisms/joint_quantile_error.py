"""Errors of quantiles that are drawn jointly: marginals of a walk over rank positions.

The joint draw weighs a tuple of answers by ``e^{-rate score}`` with score ``|d_1| + |d_2 - d_1| + .. + |d_m|``, where
d_j is by how many ranks answer j misses its place (docs/proofs/quotes.md).  Forward and backward sums over windows of
ranks give the law of each answer; that answers may not overtake each other is left out, which matters only where
quantiles lie within a few ranks of each other.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dither.kernels.elementary import Floats
from dither.mechanisms.error import Cells
from dither.sources.column import RankedRecords


def joint_error_laws(data: RankedRecords, ranks: list[int], rate: Fraction) -> list[Cells]:
    """The law of the error at each rank."""
    points = data.grid.points
    # Beyond the records there are no gaps.
    reach = min(math.ceil((math.log(points) + 30.0) / float(rate)) + 1, data.records + 1)
    gaps = [_Gaps(data, rank, reach) for rank in ranks]
    speed = float(rate)
    outside = np.exp(-speed * np.abs(np.arange(-reach, reach) + 0.5))
    forward = [outside * gaps[0].width]
    for gap in gaps[1:]:
        forward.append(_scaled(_smeared(forward[-1], speed) * gap.width))
    backward = [outside]
    for gap in gaps[:0:-1]:
        backward.append(_scaled(_smeared(backward[-1] * gap.width, speed)))
    return [gap.cells(item * two) for gap, item, two in zip(gaps, forward, reversed(backward), strict=True)]


def _scaled(sums: Floats) -> Floats:
    return np.asarray(sums / sums.max())


def _smeared(values: Floats, rate: float) -> Floats:
    """``sum_i values_i e^{-rate |i - j|}`` for every j, by a fast convolution."""
    from scipy.signal import lfilter  # noqa: PLC0415  (scipy is slow to load)

    shrink = math.exp(-rate)
    up = lfilter([1.0], [1.0, -shrink], values)
    down = lfilter([1.0], [1.0, -shrink], values[::-1])[::-1]
    return np.asarray(up + down - values)


class _Gaps:
    """The gaps between the records around one rank; position i lies between records rank + i and rank + i + 1."""

    def __init__(self, data: RankedRecords, rank: int, reach: int) -> None:
        low, high = data.grid.ends
        values = data.ranks(rank - reach, rank + reach)
        centre = int(data.ranks(rank, rank)[0])
        # Places relative to the centre; ties are spread inside their grid step, as the mechanism does.
        places = (values - centre).astype(np.float64)
        start = np.searchsorted(values, values, side="left")
        tied = np.searchsorted(values, values, side="right") - start
        places += np.where(tied > 1, (np.arange(len(values)) - start + 0.5) / tied, 0.0)
        ranks = np.arange(rank - reach, rank + reach + 1)
        places = np.where(ranks < 1, low - centre - 1.0, np.where(ranks > data.records, high - centre + 0.0, places))
        self._places = places
        self.width = np.diff(places)

    def cells(self, weight: Floats) -> Cells:
        """Distances of the gaps from the value, by their weights."""
        kept = self.width > 0.0
        # Answers are the grid steps that the drawn places fall into.
        first, last = np.floor(self._places[:-1][kept]), np.ceil(self._places[1:][kept]) - 1.0
        last = np.maximum(first, last)
        near = np.where(first >= 0.0, first, np.maximum(-last, 0.0))
        return Cells(near, np.maximum(last, -first), weight[kept])
