"""Edges with triangles on them, and cliques: counts, and the pairs of vertices where one edge changes most.

Exact whole numbers of any size: sums of binomial coefficients are kept in several limbs of 31 bits where one machine
word may not hold them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.kernels.adjacency import Ends, Starts
from dither.kernels.compiled import compiled
from dither.kernels.progress import report
from dither.kernels.triangles import Ranked, Short, Whole, in_parallel, spread, workers

Real: TypeAlias = NDArray[np.float64]
Bits: TypeAlias = NDArray[np.uint64]

LIMB = 31
MOST_FLOAT_BITS = 900
MOST_COUNTED = 10**290
"""No enumeration ever gets here; a bound cut to this still calls for one."""
_ROUNDING = 1.0 + 1e-9
"""Float bounds are inflated by far more than the error of a sum of up to 2^20 terms."""


def rows_by_potential(potential: Real) -> Short:
    """Vertices by falling bound on what their pairs can be worth."""
    return np.argsort(-potential, kind="stable").astype(np.int32)


def search(order: Short, run: Callable[[int, Short], None], open_at: Callable[[int], bool], cores: int) -> None:
    """Run blocks of rows, growing ones dealt out to all cores, until no row is open any more."""
    first, size = 0, 8
    while first < len(order) and open_at(first):
        rows = order[first : first + size]
        lanes = range(cores if first else 1)
        parts = [(lane, rows[lane :: len(lanes)]) for lane in lanes]
        list(spread(lambda part: run(*part), parts, cores))
        first, size = first + len(rows), min(2 * size, 1 << 13)
        report(first / len(order))


# --- k-triangles ----------------------------------------------------------------------------------------


def k_triangle_count(supports: Short, k: int) -> int:
    """``sum over edges of C(triangles on the edge, k)``."""
    counts = np.bincount(supports) if len(supports) else np.zeros(1, dtype=np.int64)
    twice = sum(int(edges) * math.comb(size, k) for size, edges in enumerate(counts) if edges)
    return twice // 2


def k_triangle_change(graph: Ranked, supports: Short, k: int, most_common: int) -> int:
    """The most that adding or removing one edge changes the number of k-triangles.

    ``max over pairs of C(a_ij, k) + sum over common neighbours l of C(a_il - x_ij, k-1) + C(a_jl - x_ij, k-1)``.
    """
    if len(graph.ends) == 0:
        return 0
    whole = [math.comb(a, k) for a in range(most_common + 1)]
    part = [math.comb(a, k - 1) for a in range(most_common + 1)]
    limbs = 1
    if whole[-1] + 2 * most_common * part[-1] >= 1 << 62:
        limbs = -(-max(whole[-1], part[-1]).bit_length() // LIMB)
    # Bounds in floats: numbers too large for them lose their lowest bits, upwards.
    shift = max(0, max(whole[-1], part[-1]).bit_length() - MOST_FLOAT_BITS)
    above = [float((item >> shift) + (1 if shift else 0)) for item in part]
    potential = _potential(graph.starts, supports, np.array(above), most_common)
    order = rows_by_potential(potential)
    cores = workers(len(graph.ends))
    best = np.zeros((cores, limbs), dtype=np.int64)
    tables = _limbs(whole, limbs), _limbs(part, limbs)

    def run(lane: int, rows: Short) -> None:
        _pair_sums(graph.starts, graph.ends, supports, *tables, np.ascontiguousarray(rows), best[lane])

    def found() -> int:
        return max(sum(int(limb) << (LIMB * place) for place, limb in enumerate(row)) for row in best)

    def open_at(first: int) -> bool:
        rest = float((whole[-1] >> shift) + 1) + 2.0 * float(potential[order[first]])
        return rest * _ROUNDING > float(found() >> shift)

    search(order, run, open_at, cores)
    return found()


def _limbs(numbers: list[int], limbs: int) -> Whole:
    if limbs == 1:
        return np.array(numbers, dtype=np.int64)[:, None]
    mask = (1 << LIMB) - 1
    return np.array(
        [[(number >> (LIMB * place)) & mask for place in range(limbs)] for number in numbers], dtype=np.int64
    )


@compiled(nogil=True)
def _potential(starts: Starts, supports: Short, worth: Real, most: int) -> Real:
    """For each vertex a bound on the worth of at most ``most`` of its edges."""
    bound = np.zeros(len(starts) - 1)
    for u in range(len(starts) - 1):
        total, largest = 0.0, 0.0
        for at in range(starts[u], starts[u + 1]):
            total += worth[supports[at]]
            largest = max(largest, worth[supports[at]])
        bound[u] = min(total, largest * most)
    return bound


@compiled(nogil=True)
def _pair_sums(
    starts: Starts, ends: Ends, supports: Short, whole: Whole, part: Whole, rows: Short, best: Whole
) -> None:
    """The largest sum over pairs with their first vertex in ``rows``, in limbs, lowest first."""
    n, limbs = len(starts) - 1, whole.shape[1]
    count = np.zeros(n, dtype=np.int32)
    joined = np.zeros(n, dtype=np.int32)
    sums = np.zeros((n, limbs), dtype=np.int64)
    touched = np.empty(n, dtype=np.int32)
    value = np.zeros(limbs, dtype=np.int64)
    for u in rows:
        free = 0
        for at in range(starts[u], starts[u + 1]):
            joined[ends[at]] = 1
        for at in range(starts[u], starts[u + 1]):
            w = ends[at]
            for to in range(starts[w], starts[w + 1]):
                v = ends[to]
                if v == u:
                    continue
                if count[v] == 0:
                    touched[free] = v
                    free += 1
                count[v] += 1
                # An edge between the two is itself part of both triangles' supports.
                here, there = supports[at] - joined[v], supports[to] - joined[v]
                for limb in range(limbs):
                    sums[v, limb] += part[here, limb] + part[there, limb]
        for slot in range(free):
            v = touched[slot]
            for limb in range(limbs):
                value[limb] = sums[v, limb] + whole[count[v], limb]
                sums[v, limb] = 0
            count[v] = 0
            _keep_larger(value, best)
        for at in range(starts[u], starts[u + 1]):
            joined[ends[at]] = 0


@compiled(nogil=True)
def _keep_larger(value: Whole, best: Whole) -> None:
    limbs = len(best)
    for limb in range(limbs - 1):
        value[limb + 1] += value[limb] >> LIMB
        value[limb] &= (1 << LIMB) - 1
    for limb in range(limbs - 1, -1, -1):
        if value[limb] != best[limb]:
            if value[limb] > best[limb]:
                best[:] = value
            return


# --- cliques --------------------------------------------------------------------------------------------


def clique_count(graph: Ranked, k: int) -> int:
    """The number of cliques of k >= 3 vertices.  Time grows with that number; memory does not."""
    widest = int((graph.split - graph.starts[:-1]).max())
    count = 0
    for counted in in_parallel(graph, _clique_kernel(widest, k)):
        count += int(counted)
    return count


def _clique_kernel(widest: int, k: int) -> Callable[[Starts, Ends, Whole, int, int], int]:
    def kernel(starts: Starts, ends: Ends, split: Whole, first: int, last: int) -> int:
        counted: int = _count_cliques(starts, ends, split, first, last, widest, k)
        return counted

    return kernel


@compiled(nogil=True)
def _count_cliques(starts: Starts, ends: Ends, split: Whole, first: int, last: int, widest: int, k: int) -> int:
    """Cliques whose last vertex is in the block: cliques of k - 1 vertices among the earlier neighbours."""
    words = (widest + 63) // 64
    place = np.full(len(starts), -1, dtype=np.int32)
    below = np.zeros((max(widest, 1), max(words, 1)), dtype=np.uint64)
    stack = np.zeros((k + 1, max(words, 1)), dtype=np.uint64)
    count = 0
    for u in range(first, last):
        size = split[u] - starts[u]
        if size < k - 1:
            continue
        members = ends[starts[u] : split[u]]
        count += _cliques_within(starts, ends, split, members, k - 1, place, below, stack)
    return count


@compiled(nogil=True)
def _cliques_within(
    starts: Starts, ends: Ends, split: Whole, members: Short, k: int, place: Short, below: Bits, stack: Bits
) -> int:
    """The number of cliques of k >= 2 vertices among rising ``members``; ``place`` is all -1 before and after."""
    size = len(members)
    words = (size + 63) // 64
    for slot in range(size):
        place[members[slot]] = slot
        for word in range(words):
            below[slot, word] = np.uint64(0)
    for slot in range(size):
        v = members[slot]
        for at in range(starts[v], split[v]):
            other = place[ends[at]]
            if other >= 0:
                below[slot, other >> 6] |= np.uint64(1) << np.uint64(other & 63)
    for word in range(words):
        stack[k, word] = np.uint64(0)
    for slot in range(size):
        stack[k, slot >> 6] |= np.uint64(1) << np.uint64(slot & 63)
        place[members[slot]] = -1
    return _descend(below, stack, words, k)


@compiled(nogil=True)
def _descend(below: Bits, stack: Bits, words: int, k: int) -> int:
    """Cliques of k vertices in the set ``stack[k]``, by depth-first search without recursion.

    ``stack[d]`` holds the vertices still to be tried as the highest of a clique of d more.
    """
    result, depth = 0, k
    while depth <= k:
        word = words - 1
        while word >= 0 and stack[depth, word] == 0:
            word -= 1
        if word < 0:
            depth += 1
            continue
        vertex = word * 64 + _highest(stack[depth, word])
        stack[depth, word] ^= np.uint64(1) << np.uint64(vertex & 63)
        if depth == 2:
            for each in range(words):
                result += _ones(stack[depth, each] & below[vertex, each])
        else:
            for each in range(words):
                stack[depth - 1, each] = stack[depth, each] & below[vertex, each]
            depth -= 1
    return result


@compiled(nogil=True)
def _highest(word: int) -> int:
    """The position of the highest set bit."""
    position = 0
    rest = np.uint64(word)
    for shift in (32, 16, 8, 4, 2, 1):
        if rest >> np.uint64(shift):
            rest >>= np.uint64(shift)
            position += shift
    return position


@compiled(nogil=True)
def _ones(word: int) -> int:
    """The number of set bits."""
    rest = np.uint64(word)
    rest -= (rest >> np.uint64(1)) & np.uint64(0x5555555555555555)
    rest = (rest & np.uint64(0x3333333333333333)) + ((rest >> np.uint64(2)) & np.uint64(0x3333333333333333))
    rest = (rest + (rest >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((rest * np.uint64(0x0101010101010101)) >> np.uint64(56))  # type: ignore[return-value]


def clique_change(graph: Ranked, supports: Short, k: int, most_common: int) -> int:
    """The most that one edge changes the number of k-cliques, k >= 4: cliques of k - 2 in a common neighbourhood."""
    if len(graph.ends) == 0 or most_common < k - 2:
        return 0
    # In a clique of k - 2 within N_i and N_j a vertex l has k - 3 others, all shared with i and with j.
    worth = np.array([float(min(math.comb(a, k - 3), MOST_COUNTED)) for a in range(most_common + 1)]) * (
        _ROUNDING / (k - 2)
    )
    potential = _potential(graph.starts, supports, worth, most_common)
    order = rows_by_potential(potential)
    cores = workers(len(graph.ends))
    best = np.zeros(cores, dtype=np.int64)
    rest = graph.starts, graph.ends, graph.split, supports, worth

    def run(lane: int, rows: Short) -> None:
        best[lane] = _clique_pairs(*rest, np.ascontiguousarray(rows), k - 2, most_common, int(best.max()))

    search(order, run, lambda first: bool(potential[order[first]] * _ROUNDING > best.max()), cores)
    return int(best.max())


@compiled(nogil=True)
def _clique_pairs(
    starts: Starts,
    ends: Ends,
    split: Whole,
    supports: Short,
    worth: Real,
    rows: Short,
    k: int,
    most_common: int,
    best: int,
) -> int:
    """The most cliques of k >= 2 vertices in a common neighbourhood, over pairs with their first vertex in ``rows``."""
    n = len(starts) - 1
    joined = np.zeros(n, dtype=np.int32)
    bound = np.zeros(n)
    touched = np.empty(n, dtype=np.int32)
    seen = np.zeros(n, dtype=np.int32)
    members = np.empty(most_common, dtype=np.int32)
    place = np.full(n, -1, dtype=np.int32)
    words = (most_common + 63) // 64
    below = np.zeros((most_common, words), dtype=np.uint64)
    stack = np.zeros((k + 1, words), dtype=np.uint64)
    for u in rows:
        free = 0
        for at in range(starts[u], starts[u + 1]):
            joined[ends[at]] = 1
        for at in range(starts[u], starts[u + 1]):
            w = ends[at]
            for to in range(starts[w], starts[w + 1]):
                v = ends[to]
                if v == u:
                    continue
                if seen[v] == 0:
                    seen[v] = 1
                    touched[free] = v
                    free += 1
                bound[v] += worth[min(supports[at], supports[to]) - joined[v]]
        for slot in range(free):
            v = touched[slot]
            if bound[v] * _ROUNDING >= best + 1:
                size = 0
                for at in range(starts[v], starts[v + 1]):
                    if joined[ends[at]] == 1:
                        members[size] = ends[at]
                        size += 1
                best = max(best, _cliques_within(starts, ends, split, members[:size], k, place, below, stack))
            bound[v] = 0.0
            seen[v] = 0
        for at in range(starts[u], starts[u + 1]):
            joined[ends[at]] = 0
    return best
