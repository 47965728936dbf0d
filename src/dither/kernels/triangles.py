"""Triangles of large sparse graphs; compiled, on all cores, never the square of a matrix.

Graphs are compressed rows (``kernels.adjacency``).  Nothing here knows about privacy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from queue import SimpleQueue
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dither.kernels.adjacency import Ends, Starts
from dither.kernels.compiled import compiled
from dither.kernels.progress import report

Whole: TypeAlias = NDArray[np.int64]
Short: TypeAlias = NDArray[np.int32]
Part = TypeVar("Part")
Found = TypeVar("Found")

AHEAD, LINE = 32, 15
"""Of so many rows two entries, so far apart, are read before any is walked: memory fetches them side by side."""
SMALL = 1 << 16
"""Entries of a graph that is done by one core before another could start."""


def workers(entries: int) -> int:
    """The number of cores to use for a graph with so many entries in its rows: at most 8 of those that are free."""
    if entries < SMALL:
        return 1
    return max(1, min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 8))


def spread(run: Callable[[Part], Found], over: Sequence[Part], cores: int) -> Iterator[Found]:
    """Results of ``run`` in order; compiled kernels do not hold the interpreter's lock, so threads serve."""
    if cores == 1 or len(over) == 1:
        yield from map(run, over)
    else:
        with ThreadPoolExecutor(cores) as pool:
            yield from pool.map(run, over)


@compiled(nogil=True)
def by_falling_degree(starts: Starts) -> Short:
    """The vertices, largest degree first; equal ones in rising order."""
    n = len(starts) - 1
    largest = 0
    for v in range(n):
        largest = max(largest, starts[v + 1] - starts[v])
    place = np.zeros(largest + 2, dtype=np.int64)
    for v in range(n):
        place[largest - (starts[v + 1] - starts[v]) + 1] += 1
    for fall in range(largest + 1):
        place[fall + 1] += place[fall]
    order = np.empty(n, dtype=np.int32)
    for v in range(n):
        fall = largest - (starts[v + 1] - starts[v])
        order[place[fall]] = v
        place[fall] += 1
    return order


@dataclass(frozen=True)
class Ranked:
    """The same graph with vertices renamed by falling degree.

    ``split[v]`` ends the part of row v that names vertices before v: those are few for every vertex, at most the square
    root of twice the number of edges.
    """

    starts: Starts
    ends: Ends
    split: Whole

    @classmethod
    def of(cls, starts: Starts, ends: Ends) -> Ranked:
        """Renamed rows, sorted; linear in the number of edges."""
        return cls(*_renamed(starts, ends, by_falling_degree(starts)))

    @property
    def vertices(self) -> int:
        """The number of vertices."""
        return len(self.starts) - 1


@compiled(nogil=True)
def _renamed(starts: Starts, ends: Ends, order: Short) -> tuple[Starts, Ends, Whole]:
    n = len(order)
    rank = np.empty(n, dtype=np.int32)
    fresh = np.zeros(n + 1, dtype=np.int64)
    for i in range(n):
        rank[order[i]] = i
        fresh[i + 1] = fresh[i] + starts[order[i] + 1] - starts[order[i]]
    place = fresh[:n].copy()
    split = fresh[:n].copy()
    named = np.empty(len(ends), dtype=np.int32)
    for i in range(n):
        split[i] = place[i]
        u = order[i]
        for at in range(starts[u], starts[u + 1]):
            j = rank[ends[at]]
            named[place[j]] = i
            place[j] += 1
    return fresh, named, split


# --- triangles ------------------------------------------------------------------------------------------


def triangle_count(graph: Ranked) -> int:
    """The number of triangles."""
    count = 0
    for counted in in_parallel(graph, _count_triangles):
        count += int(counted)
    return count


def edge_supports(graph: Ranked) -> Short:
    """For every entry of ``graph.ends``, in how many triangles its edge lies."""
    partial = [np.zeros(len(graph.ends), dtype=np.int32) for _ in range(workers(len(graph.ends)))]
    for _ in in_parallel(graph, _count_supports, partial):
        pass
    total = partial[0]
    for other in partial[1:]:
        total += other
    _mirror(graph.starts, graph.ends, graph.split, total)
    return total


def in_parallel(graph: Ranked, kernel: Callable[..., Found], buffers: list[Short] | None = None) -> Iterator[Found]:
    """Run ``kernel(starts, ends, split, first, last[, buffer])`` over blocks of vertices of about equal size."""
    n = graph.vertices
    cores = workers(len(graph.ends))
    blocks = 8 * cores if cores > 1 else 1
    shares = np.linspace(0, graph.starts[-1], blocks + 1)
    cuts = np.unique(np.concatenate([[0], np.searchsorted(graph.starts, shares), [n]]).clip(0, n))
    spans = [(int(a), int(b)) for a, b in pairwise(cuts)]
    free: SimpleQueue[tuple[Short, ...]] = SimpleQueue()
    for lane in range(cores):
        free.put(() if buffers is None else (buffers[lane],))

    def run(span: tuple[int, int]) -> Found:
        own = free.get()
        try:
            return kernel(graph.starts, graph.ends, graph.split, *span, *own)
        finally:
            free.put(own)

    for done, result in enumerate(spread(run, spans, cores)):
        report((done + 1) / len(spans))
        yield result


@compiled(nogil=True)
def _count_triangles(starts: Starts, ends: Ends, split: Whole, first: int, last: int) -> int:
    """Triangles whose last vertex is in the block: u > v > w."""
    stamp = np.full(len(starts), -1, dtype=np.int32)
    fetched = np.empty((AHEAD, 2), dtype=np.int32)
    count = 0
    for u in range(first, last):
        for at in range(starts[u], split[u]):
            stamp[ends[at]] = u
        for begin in range(starts[u], split[u], AHEAD):
            several = min(AHEAD, split[u] - begin)
            for row in range(several):
                v = ends[begin + row]
                fetched[row, 0], fetched[row, 1] = ends[starts[v]], ends[min(starts[v] + LINE, starts[v + 1] - 1)]
            for row in range(several):
                v = ends[begin + row]
                for to in range(starts[v], split[v]):
                    count += stamp[ends[to]] == u
    return count


@compiled(nogil=True)
def _count_supports(starts: Starts, ends: Ends, split: Whole, first: int, last: int, supports: Short) -> int:
    """The same triangles, entered at the earlier end of each of their edges."""
    place = np.full(len(starts), -1, dtype=np.int64)
    for u in range(first, last):
        for at in range(starts[u], split[u]):
            place[ends[at]] = at
        for at in range(starts[u], split[u]):
            v = ends[at]
            for to in range(starts[v], split[v]):
                third = place[ends[to]]
                if third >= 0:
                    supports[at] += 1
                    supports[to] += 1
                    supports[third] += 1
        for at in range(starts[u], split[u]):
            place[ends[at]] = -1
    return 0


@compiled(nogil=True)
def _mirror(starts: Starts, ends: Ends, split: Whole, supports: Short) -> None:
    """Copy what is known at (u, v), v < u, to (v, u); rows are sorted, so the second parts fill up in order."""
    place = split.copy()
    for u in range(len(starts) - 1):
        for at in range(starts[u], split[u]):
            v = ends[at]
            supports[place[v]] = supports[at]
            place[v] += 1


# --- degrees --------------------------------------------------------------------------------------------


def degree_pairs(starts: Starts, ends: Ends) -> list[tuple[int, int]]:
    """The pairs of degrees (larger first, without an edge between the two) that no other pair of vertices beats.

    An edge lowers both by one, so every adjacent pair is beaten by the two vertices of largest degree; a pair that is
    not must have one vertex of the largest degree, or two of the second largest.
    """
    degrees, order = np.diff(starts), by_falling_degree(starts)
    first, second = int(degrees[order[0]]), int(degrees[order[1]])

    def strangers(vertices: Short, candidates: Short) -> int:
        """The place of the first candidate that some vertex is not joined to; their number if there is none."""
        nearest = len(candidates)
        for u in vertices:
            unknown = ~np.isin(candidates[:nearest], ends[starts[u] : starts[u + 1]]) & (candidates[:nearest] != u)
            nearest = int(unknown.argmax()) if unknown.any() else nearest
        return nearest

    # Among more vertices of degree d than d + 1 two are strangers: the loops below stay linear in the edges.
    largest = order[: np.searchsorted(-degrees[order], -first, side="right")][: first + 2]
    near = order[: first + 2]
    stranger = strangers(largest, near)
    results = [(max(first - 1, 0), max(second - 1, 0))]
    if stranger < len(near):
        results.append((first, int(degrees[near[stranger]])))
    if second < first:
        next_largest = order[1 : np.searchsorted(-degrees[order], -second, side="right")][: second + 2]
        if strangers(next_largest, next_largest) < len(next_largest):
            results.append((second, second))
    return results


@compiled(nogil=True)
def bounded_degree(starts: Starts, ends: Ends, most: int) -> tuple[Starts, Ends]:
    """The graph of those edges that are among the first ``most`` at both of their vertices.

    First in the order of pairs (u, v), u < v; at each vertex that is the rising order of its neighbours.
    """
    n = len(starts) - 1
    passed = np.zeros(n, dtype=np.int64)
    fresh = np.zeros(n + 1, dtype=np.int64)
    kept = np.empty(len(ends), dtype=np.int32)
    free = 0
    for u in range(n):
        for at in range(starts[u], starts[u + 1]):
            v = ends[at]
            # Rows are visited in rising order: so many neighbours of v come before u.
            if at - starts[u] < most and passed[v] < most:
                kept[free] = v
                free += 1
            passed[v] += 1
        fresh[u + 1] = free
    return fresh, kept[:free].copy()
