"""Compressed rows of an undirected graph from a list of its edges: compiled, linear in the number of edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.kernels.compiled import compiled

Starts = NDArray[np.int64]
"""n + 1 numbers: the neighbours of v are ``ends[starts[v] : starts[v + 1]]``."""
Ends = NDArray[np.int32]
"""Neighbours, rising within each row; every edge appears at both of its vertices."""


@compiled(nogil=True)
def compressed(edges: NDArray[np.int64] | NDArray[np.int32], n: int) -> tuple[Starts, Ends]:
    """Rows of the simple graph behind a list of pairs.

    Pairs that are no edge on the vertices 0 .. n - 1 (loops, vertices outside) are left out; repeated and reversed
    pairs count once.  Two passes of distribution sort the rows: walking them in rising order and handing each vertex
    to its neighbours leaves every row sorted.
    """
    degree = np.zeros(n + 1, dtype=np.int64)
    for row in range(edges.shape[0]):
        u, v = edges[row, 0], edges[row, 1]
        if u != v and u >= 0 and v >= 0 and u < n and v < n:
            degree[u] += 1
            degree[v] += 1
    starts = np.zeros(n + 1, dtype=np.int64)
    for vertex in range(n):
        starts[vertex + 1] = starts[vertex] + degree[vertex]
    place = starts[:n].copy()
    unsorted = np.empty(starts[n], dtype=np.int32)
    for row in range(edges.shape[0]):
        u, v = edges[row, 0], edges[row, 1]
        if u != v and u >= 0 and v >= 0 and u < n and v < n:
            unsorted[place[u]] = v
            unsorted[place[v]] = u
            place[u] += 1
            place[v] += 1
    place[:] = starts[:n]
    ends = np.empty(starts[n], dtype=np.int32)
    for vertex in range(n):
        for at in range(starts[vertex], starts[vertex + 1]):
            other = unsorted[at]
            ends[place[other]] = vertex
            place[other] += 1
    return _without_repetitions(starts, ends, n)


@compiled(nogil=True)
def _without_repetitions(starts: Starts, ends: Ends, n: int) -> tuple[Starts, Ends]:
    """Sorted rows without repeated entries, packed in place."""
    packed = np.zeros(n + 1, dtype=np.int64)
    free = 0
    for vertex in range(n):
        last = -1
        for at in range(starts[vertex], starts[vertex + 1]):
            other = ends[at]
            if other != last:
                ends[free] = other
                free += 1
                last = other
        packed[vertex + 1] = free
    return packed, ends if free == len(ends) else ends[:free].copy()


@compiled(nogil=True)
def edge_list(starts: Starts, ends: Ends) -> NDArray[np.int32]:
    """Every edge once as (u, v) with u < v, in rising order."""
    edges = np.empty((len(ends) // 2, 2), dtype=np.int32)
    free = 0
    for vertex in range(len(starts) - 1):
        for at in range(starts[vertex], starts[vertex + 1]):
            if ends[at] > vertex:
                edges[free, 0] = vertex
                edges[free, 1] = ends[at]
                free += 1
    return edges
