"""Optimal matchings of small sets of points, exactly: whole numbers throughout."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.kernels.compiled import compiled

Whole = NDArray[np.int64]
FAR = np.iinfo(np.int64).max


@compiled()
def matching_cost(costs: Whole) -> int:
    """The least sum of ``costs[i, p(i)]`` over all permutations p: the Hungarian method with potentials, O(k^3).

    k times the largest cost must stay below 2**58: potentials and slacks are within five times that.
    """
    k = costs.shape[0]
    # Column 0 is a place where each new row starts; rows and columns of the matrix count from 1.
    row_price, column_price = np.zeros(k + 1, dtype=np.int64), np.zeros(k + 1, dtype=np.int64)
    matched = np.zeros(k + 1, dtype=np.int64)
    for row in range(1, k + 1):
        matched[0] = row
        at = 0
        least = np.full(k + 1, FAR, dtype=np.int64)
        came_from = np.zeros(k + 1, dtype=np.int64)
        used = np.zeros(k + 1, dtype=np.bool_)
        while True:
            used[at] = True
            here, step, following = matched[at], FAR, 0
            for column in range(1, k + 1):
                if used[column]:
                    continue
                slack = costs[here - 1, column - 1] - row_price[here] - column_price[column]
                if slack < least[column]:
                    least[column], came_from[column] = slack, at
                if least[column] < step:
                    step, following = least[column], column
            for column in range(k + 1):
                if used[column]:
                    row_price[matched[column]] += step
                    column_price[column] -= step
                elif least[column] != FAR:
                    least[column] -= step
            at = following
            if matched[at] == 0:
                break
        while at != 0:
            matched[at] = matched[came_from[at]]
            at = came_from[at]
    return int(-column_price[0])


@compiled()
def squared_matching_distances(sets: Whole) -> Whole:
    """``min over p of sum_j |c_j - c'_p(j)|^2`` for all pairs of sets of points: (m, k, l) -> (m, m), symmetric."""
    m, k, length = sets.shape
    results = np.zeros((m, m), dtype=np.int64)
    costs = np.zeros((k, k), dtype=np.int64)
    for index in range(m):
        for other in range(index):
            for i in range(k):
                for j in range(k):
                    total = 0
                    for c in range(length):
                        apart = sets[index, i, c] - sets[other, j, c]
                        total += apart * apart
                    costs[i, j] = total
            results[index, other] = results[other, index] = matching_cost(costs)
    return results
