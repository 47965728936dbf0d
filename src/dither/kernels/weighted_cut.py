"""The lightest cut of a weighted graph (Stoer and Wagner), in whole numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.kernels.compiled import compiled

Whole = NDArray[np.int64]


@compiled(error_model="numpy")
def _merged_cuts(weights: Whole) -> int:
    """Joins vertices until one is left; the lightest cut of a phase separates its last vertex.  Overwrites."""
    left = len(weights)
    vertices = np.arange(left)
    best = np.int64(-1)
    for size in range(left, 1, -1):
        bound = np.zeros(size, dtype=np.int64)
        added = np.zeros(size, dtype=np.bool_)
        before, last = 0, 0
        for _ in range(size):
            before, chosen = last, -1
            for place in range(size):
                if not added[place] and (chosen < 0 or bound[place] > bound[chosen]):
                    chosen = place
            last = chosen
            added[last] = True
            for place in range(size):
                if not added[place]:
                    bound[place] += weights[vertices[last], vertices[place]]
        if best < 0 or bound[last] < best:
            best = bound[last]
        here, gone = vertices[before], vertices[last]
        for place in range(size):
            other = vertices[place]
            if other != here and other != gone:
                weights[here, other] += weights[gone, other]
                weights[other, here] = weights[here, other]
        vertices[last] = vertices[size - 1]
    return int(best)


def lightest_cut(count: int, edges: NDArray[np.integer], weights: Whole) -> int:
    """The least total weight of edges whose removal leaves the vertices 0 .. count - 1 in two pieces.

    Cost: count**3 steps, whatever the weights are.

    >>> lightest_cut(3, np.array([[0, 1], [1, 2], [0, 2]]), np.array([5, 3, 4]))
    7
    """
    table = np.zeros((count, count), dtype=np.int64)
    table[edges[:, 0], edges[:, 1]] = weights
    table[edges[:, 1], edges[:, 0]] = weights
    return int(_merged_cuts(table))
