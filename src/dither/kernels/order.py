"""Smooth sensitivity of order statistics: the heaviest pair of ranks around a target."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.kernels.elementary import Floats, exp


def decay(rate: float, count: int) -> Floats:
    """``e^{-rate k}`` for k = 0 .. count - 1; ``rate * count`` must stay below 512, where ``exp`` is proved."""
    if rate * (count - 1) > 512.0:
        raise ValueError(f"rate={rate}, count={count}: weights below e^-512 are not computed")
    return exp(-rate * np.arange(count, dtype=np.float64))


def heaviest_pair(left: NDArray[np.int64], right: NDArray[np.int64], weights: Floats) -> float:
    """``max (right[j] - left[i]) * weights[j + (len(left) - 1 - i) - 1]`` over all i, j.

    ``left`` holds the values at ranks r - a .. r and ``right`` those at ranks r .. r + b, both sorted, so the
    index of the weight is the number of ranks strictly between.  The best j for each i is monotone in i
    (NRS11, proof of Prop. 3.4): rows are visited at halving strides, each searching between the answers of
    its neighbours, all rows of a stride at once.  Time O((a + b) log a).
    """
    rows, columns = len(left), len(right)
    lowest, spread = left.astype(np.float64), right.astype(np.float64)
    best_column = np.zeros(rows, dtype=np.int64)
    best = 0.0
    stride = 1 << max(rows - 1, 0).bit_length()
    known = np.zeros(0, dtype=np.int64)
    while stride >= 1:
        fresh = np.arange(stride - 1, rows, 2 * stride)
        if fresh.size:
            before = np.searchsorted(known, fresh) - 1
            after = before + 1
            first = np.where(before >= 0, best_column[known[before]] if known.size else 0, 0)
            has_after = after < known.size
            last = np.full(fresh.size, columns - 1)
            if known.size:
                last = np.where(has_after, best_column[known[np.minimum(after, known.size - 1)]], last)
            lengths = last - first + 1
            starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
            row = np.repeat(fresh, lengths)
            column = np.arange(lengths.sum()) + np.repeat(first - starts, lengths)
            between = np.maximum(column + (rows - 1 - row) - 1, 0)
            mass = (spread[column] - lowest[row]) * weights[between]
            top = np.maximum.reduceat(mass, starts)
            winner = np.where(mass == np.repeat(top, lengths), column, -1)
            best_column[fresh] = np.maximum.reduceat(winner, starts)
            best = max(best, float(top.max()))
            known = np.union1d(known, fresh)
        stride //= 2
    return best
