"""The common neighbourhoods of a large sparse graph that no others beat; compiled, on all cores.

Two searches: row by row, and for graphs without hubs, whose pairs share little, by classes of common neighbours.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dither.kernels.adjacency import Ends, Starts
from dither.kernels.compiled import compiled
from dither.kernels.progress import report
from dither.kernels.triangles import AHEAD, LINE, Ranked, Short, Whole, spread, workers

ALONE = 64
"""So many rows are searched by one core before the others join: the first rows prune all the rest."""
MOST_COUNT = (1 << 31) - 2
FEW, MOST_CLASSES = 4, 16
"""Pairs that share at least so many are searched for by classes of neighbours, so many at most."""
LARGE = 1 << 20
"""Entries of a graph whose rows leave the caches: visiting fewer of them is then worth more than a simple loop."""
TOGETHER = 256
"""Rows that are fetched side by side."""
BYTE = 256


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
    out, which spares most of the walk; or, of t - 1 classes of vertices, they share two of one class
    (docs/proofs/graphs.md, section 2).
    """
    starts, n = graph.starts, graph.vertices
    best = np.full(int(starts[1]) + 2, -1, dtype=np.int64)
    partners, first, size, cores = n, 0, ALONE, workers(len(graph.ends))
    by_classes = len(graph.ends) >= LARGE
    while first < min(partners, n) - 1:
        last = min(first + size, n)
        # Few partners are left where there are hubs: their rows are searched soon.
        if by_classes and first > 0 and 2 * partners > n:
            change = _classes_from(starts, best)
            if change <= first:
                if _search_classes(graph, first, partners, best, cores):
                    break
                by_classes = False
            else:
                last = min(last, change)
        parts = _cut(first, last, 1 if first == 0 else cores)
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


# --- by classes -----------------------------------------------------------------------------------------


def _classes_from(starts: Starts, best: Whole) -> int:
    """The first row from which on a pair of rows must share ``FEW`` neighbours to be new."""
    most = min(int(best[common]) + 2 * common for common in range(min(FEW, len(best)))) // 2
    return bisect_left(range(len(starts) - 1), True, key=lambda row: bool(starts[row + 1] - starts[row] <= most))


def _search_classes(graph: Ranked, first: int, partners: int, best: Whole, cores: int) -> bool:
    """Search the pairs i < j from first to partners - 1 in one go; False if too many share two to be worth it.

    A pair that is new shares t neighbours, and two of these are in one of t - 1 classes.  The rows of a vertex's
    neighbours are read up to that vertex, and only what is of its class: two of these rows share what is met twice.
    Classes are ranges of vertices: the marks of one stay in a cache, and its part of a row is in one piece.
    """
    starts, n = graph.starts, graph.vertices
    sharing = _least_open(best, int(starts[first + 2] - starts[first]))
    classes = min(sharing - 1, MOST_CLASSES)
    cuts = np.searchsorted(starts, np.linspace(0, starts[-1], classes + 1)[1:-1])
    begin = starts[:-1].copy()
    begin[:first] = starts[1 : first + 1] - 1
    begin[partners:] = starts[partners + 1 :] - 1
    for low, high in pairwise([0, *map(int, cuts), n]):
        parts = _cut(low, high, 1 if cores == 1 else 8 * cores)
        known = [best.copy() for _ in parts]

        def run(lane: int, low: int = low, parts: list[tuple[int, int]] = parts, known: list[Whole] = known) -> bool:
            done: bool = _search_class(starts, graph.ends, begin, low, *parts[lane], first, partners, known[lane])
            return done

        done = all(list(spread(run, range(len(parts)), cores))) if parts else True
        for other in known:
            np.maximum(best, other, out=best)
        if not done:
            return False
        _advance(starts, graph.ends, begin, high, first, partners)
        report(high / n)
    return True


@compiled(nogil=True)
def _advance(starts: Starts, ends: Ends, begin: Whole, high: int, first: int, last: int) -> None:
    """Let the rows from first to last - 1 begin with vertices from ``high`` on."""
    for row in range(first, last):
        place = begin[row]
        while place < starts[row + 1] and ends[place] < high:
            place += 1
        begin[row] = place


@compiled(nogil=True)
def _search_class(
    starts: Starts,
    ends: Ends,
    begin: Whole,
    low: int,
    one: int,
    end: int,
    first: int,
    partners: int,
    best: Whole,
) -> bool:
    """Search the pairs that share two vertices of a class that starts at low, the later from one to end - 1.

    ``begin[i]``: where the class begins in row i, or the last place of a row that is not searched.  False if the pairs
    are too many.
    """
    most = 64 + (starts[end] - starts[one]) // 32
    met = np.empty((most, 2), dtype=np.int32)
    number = _meet(starts, ends, begin, low, one, end, met)
    left = most
    for pair in range(number):
        left = _enter_sharing(starts, ends, met[pair, 0], met[pair, 1], first, partners, best, left)
    return bool(number < most and left > 0)


@compiled(nogil=True)
def _meet(starts: Starts, ends: Ends, begin: Whole, low: int, one: int, end: int, met: NDArray[np.int32]) -> int:
    """List the pairs of vertices of a class that two searched rows share, as far as there is room; their number."""
    mark = np.zeros(end - low, dtype=np.uint8)
    rows, fetched = np.empty(TOGETHER, dtype=np.int64), np.empty(TOGETHER, dtype=np.int32)
    number, vertex, current, stop = 0, one, 1, starts[one + 1]
    for entry in range(starts[one], starts[end], TOGETHER):
        several = min(TOGETHER, starts[end] - entry)
        # Loops of their own: nothing in them waits for what a row holds.
        for row in range(several):
            rows[row] = begin[ends[entry + row]]
        for row in range(several):
            fetched[row] = ends[rows[row]]
        for row in range(several):
            while entry + row >= stop:
                vertex += 1
                stop = starts[vertex + 1]
                current += 1
                if current == BYTE:
                    mark[:] = 0
                    current = 1
            place, other = rows[row], fetched[row]
            # The vertex is itself in the row.
            while other < vertex:
                at = np.uint32(other - low)
                if mark[at] == current:
                    if number == len(met):
                        return number
                    met[number, 0], met[number, 1] = vertex, other
                    number += 1
                mark[at] = current
                place += 1
                other = ends[place]
    return number


@compiled(nogil=True)
def _enter_sharing(
    starts: Starts, ends: Ends, u: int, v: int, first: int, partners: int, best: Whole, left: int
) -> int:
    """Enter the pairs of common neighbours of u and v from first to partners - 1, at most ``left``; how many more."""
    here, there = starts[u], starts[v]
    both = np.empty(min(starts[u + 1] - starts[u], starts[v + 1] - starts[v]), dtype=np.int32)
    number, stop = 0, starts[u + 1]
    while here < stop and there < starts[v + 1]:
        if ends[here] == ends[there]:
            if first <= ends[here] < partners:
                both[number] = ends[here]
                number += 1
            here += 1
            there += 1
        elif ends[here] < ends[there]:
            here += 1
        else:
            there += 1
    if number * (number - 1) // 2 > left:
        return 0
    for later in range(number):
        for earlier in range(later):
            i, j = both[earlier], both[later]
            common = _shared(starts, ends, i, j, starts[i + 1] - starts[i])
            half = starts[i + 1] - starts[i] + starts[j + 1] - starts[j] - 2 * common
            if best[common] < half:
                _seen(best, common, half - (2 if _joined(starts, ends, i, j) else 0))
    return left - number * (number - 1) // 2
