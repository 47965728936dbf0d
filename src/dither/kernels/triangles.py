"""Triangles and common neighbourhoods of large sparse graphs; compiled, on all cores, never the square of a matrix.

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

ALONE = 64
"""So many rows are searched by one core before the others join: the first rows prune all the rest."""


AHEAD, LINE = 32, 15
"""Of so many rows two entries, so far apart, are read before any is walked: memory fetches them side by side."""
MOST_COUNT = (1 << 31) - 2
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


# --- common neighbourhoods ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Frontier:
    """The pairs of vertices that no other pair beats in both numbers.

    ``common``: how many neighbours the pair shares (a); ``half``: how many vertices are joined to exactly one of the
    two (b).  Rising in ``common``, falling in ``half``.
    """

    common: Whole
    half: Whole

    @property
    def most_common(self) -> int:
        """The largest common neighbourhood of any two vertices."""
        return int(self.common[-1])


def common_frontier(graph: Ranked) -> Frontier:
    """The exact Pareto frontier of (a_ij, b_ij) over all pairs of vertices, adjacent or not.  Needs two vertices.

    Rows are visited by falling degree.  ``a_ij <= min(d_i, d_j)`` and ``b_ij <= d_i + d_j - 2 a_ij``: what is known of
    the frontier soon rules out all partners below some degree, then all rows, and in every row all pairs that share
    fewer than some number t of neighbours.  Those that share t still share two if the t - 2 largest neighbours are left
    out, which spares most of the walk (docs/proofs/graphs.md, section 2).
    """
    starts, n = graph.starts, graph.vertices
    best = np.full(int(starts[1]) + 2, -1, dtype=np.int64)
    partners, first, size, cores = n, 0, ALONE, workers(len(graph.ends))
    while first < min(partners, n) - 1:
        parts = _cut(first, min(first + size, n), 1 if first == 0 else cores)
        known = [best] + [best.copy() for _ in parts[1:]]

        def run(
            lane: int,
            parts: list[tuple[int, int]] = parts,
            known: list[Whole] = known,
            partners: int = partners,
        ) -> int:
            begin, end = parts[lane]
            left: int = _search_rows(starts, graph.ends, begin, end, partners, known[lane])
            return left

        partners = max(spread(run, range(len(parts)), cores))
        for other in known[1:]:
            np.maximum(best, other, out=best)
        first, size = parts[-1][1], min(2 * size, 1 << 16)
        report(min(1.0, first / partners))
    steps = np.flatnonzero(best[:-1] > best[1:])
    return Frontier(steps.astype(np.int64), best[steps])


def _cut(first: int, last: int, parts: int) -> list[tuple[int, int]]:
    edges = [int(edge) for edge in np.linspace(first, last, parts + 1)]
    return [(a, b) for a, b in pairwise(edges) if b > a]


@compiled(nogil=True)
def _search_rows(starts: Starts, ends: Ends, first: int, last: int, partners: int, best: Whole) -> int:
    """Search the pairs i < j with i from first to last - 1.

    ``best[a]`` is the largest b found with at least a common neighbours, -1 if there is none; updated.  Returns how
    many vertices are still worth having as partners.
    """
    n = len(starts) - 1
    count = np.zeros(n, dtype=np.int32)
    candidates = np.empty(n, dtype=np.int32)
    rows, fetched = np.empty(AHEAD, dtype=np.int64), np.empty((AHEAD, 2), dtype=np.int32)
    ruled = np.full(len(best), -1, dtype=np.int64)
    stale, base = True, 0
    for i in range(first, min(last, n - 1)):
        if stale:
            _rule_out(best, ruled)
        degree = starts[i + 1] - starts[i]
        while partners > i + 1:
            least = starts[partners] - starts[partners - 1]
            if degree + least > ruled[least]:
                break
            partners -= 1
        if partners <= i + 1:
            break
        if base > MOST_COUNT - degree:
            count[:] = 0
            base = 0
        sharing = _least_open(best, degree + starts[i + 2] - starts[i + 1])
        skipped = max(0, sharing - 2)
        needed = max(1, sharing - skipped)
        result = _walk(starts, ends, i, partners, skipped, needed, count, base, candidates, rows, fetched)
        stale = False
        if sharing == 0:
            stale = _strangers(starts, ends, i, partners, count, base, best)
        for slot in range(result):
            j = candidates[slot]
            common = count[j] - base + _shared(starts, ends, i, j, skipped)
            half = degree + starts[j + 1] - starts[j] - 2 * common
            if best[common] < half:
                stale |= _seen(best, common, half - (2 if _joined(starts, ends, i, j) else 0))
        base += degree
    return partners


@compiled(nogil=True)
def _least_open(best: Whole, both: int) -> int:
    """The least number of common neighbours with which a pair, its degrees summing up to ``both``, may be new."""
    common = 0
    while common < len(best) - 1 and best[common] >= both - 2 * common:
        common += 1
    return common


@compiled(nogil=True)
def _walk(
    starts: Starts,
    ends: Ends,
    i: int,
    partners: int,
    skipped: int,
    needed: int,
    count: Short,
    base: int,
    candidates: Short,
    rows: Whole,
    fetched: Short,
) -> int:
    """Count in ``count[j] - base`` what i shares with j, i < j < partners, beyond its first ``skipped`` neighbours.

    Lists those j that share at least ``needed``.
    """
    result, few = 0, partners < len(starts) // 2
    for begin in range(starts[i] + skipped, starts[i + 1], AHEAD):
        several = min(AHEAD, starts[i + 1] - begin)
        for row in range(several):
            w = ends[begin + row]
            place = starts[w + 1] - 1
            if few:
                # Partners are near the beginning of the row, else near its end; i itself is in it.
                place = starts[w] + np.searchsorted(ends[starts[w] : place + 1], partners) - 1
            rows[row] = place
            fetched[row, 0], fetched[row, 1] = ends[place], ends[max(place - LINE, starts[w])]
        for row in range(several):
            place = rows[row]
            while ends[place] > i:
                j = ends[place]
                place -= 1
                shared = max(count[j], base) + 1
                count[j] = shared
                if shared == base + needed:
                    candidates[result] = j
                    result += 1
    return result


@compiled(nogil=True)
def _strangers(starts: Starts, ends: Ends, i: int, partners: int, count: Short, base: int, best: Whole) -> bool:
    """Pairs of row i with nothing in common."""
    news = False
    for j in range(i + 1, partners):
        both = starts[i + 1] - starts[i] + starts[j + 1] - starts[j]
        if both <= best[0]:
            break
        if count[j] <= base:
            news |= _seen(best, 0, both - (2 if _joined(starts, ends, i, j) else 0))
    return news


@compiled(nogil=True)
def _shared(starts: Starts, ends: Ends, i: int, j: int, first: int) -> int:
    """How many of the first neighbours of i are neighbours of j."""
    here, there, common = starts[i], starts[j], 0
    while here < starts[i] + first and there < starts[j + 1]:
        if ends[here] == ends[there]:
            common += 1
            here += 1
            there += 1
        elif ends[here] < ends[there]:
            here += 1
        else:
            there += 1
    return common


@compiled(nogil=True)
def _joined(starts: Starts, ends: Ends, i: int, j: int) -> bool:
    row = ends[starts[i] : starts[i + 1]]
    place = np.searchsorted(row, j)
    return bool(place < len(row) and row[place] == j)


@compiled(nogil=True)
def _seen(best: Whole, common: int, half: int) -> bool:
    """Enter a pair; True if it was not dominated."""
    if best[common] >= half:
        return False
    while common >= 0 and best[common] < half:
        best[common] = half
        common -= 1
    return True


@compiled(nogil=True)
def _rule_out(best: Whole, ruled: Whole) -> None:
    """``ruled[d]``: a pair whose smaller degree is d is dominated, whatever it shares, if its degrees sum up to this.

    Such a pair has a <= d common neighbours and b <= sum - 2 a: dominated for every a if sum <= best[a] + 2 a for all.
    """
    least = best[0]
    for common in range(len(best)):
        least = min(least, best[common] + 2 * common) if best[common] >= 0 else -1
        ruled[common] = least


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
