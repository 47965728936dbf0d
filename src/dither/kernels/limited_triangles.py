"""Triangles of a graph of which every vertex counts a limited share: a concave program with a certified optimum.

``P(limit) = max sum of phi(u_T)`` over weights ``0 <= u_T <= 1`` of the triangles, at most ``tau = 7/8 limit`` at any
vertex, where ``phi(u) = 9/8 u - 1/8 u^2``.  What is returned lies between ``P - limit/64`` and ``P``, rounded down: a
dual point bounds P from above and feasible weights bound it from below, both in arithmetic that rounds in a known
direction (docs/proofs/node_privacy.md, section 6).  Nothing here knows about privacy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.kernels.adjacency import Ends, Starts
from dither.kernels.compiled import compiled
from dither.kernels.triangles import Ranked, spread, workers

Whole = NDArray[np.int64]
Floats = NDArray[np.float64]
Triples = NDArray[np.int32]

SLOPE = Fraction(9, 8)
"""The slope of phi at 0; that at 1 is 7/8 and phi(1) = 1."""
PART = Fraction(7, 8)
"""Of a limit that the weights at one vertex may sum up to."""
GAP = Fraction(1, 64)
"""Of a limit by which the value may stay below the optimum: SLOPE PART + GAP = 1."""
LISTED = 1 << 24
"""So many triangles are kept in memory, or four times the number of edges; more are found anew in every pass."""
BLOCK = 1 << 22
MERGED = 1 << 35
"""So many of those that are counted together are added up at once, and one row more: sums stay within 64 bits."""

_K = 1.125
_BEND = 0.125
_UNIT = 4503599627370496.0  # 2^52
_LOW = (1 << 26) - 1
_GRID = 281474976710656.0  # 2^48
_DOWN = 1.0 - 2.0**-50
_UP = 1.0 + 2.0**-50


def limited_triangles(graph: Ranked, limits: Sequence[int]) -> list[int]:
    """The values under limits; the number of triangles under those that cut nothing, and 0 under a limit of 0."""
    shares = triangle_shares(graph.starts, graph.ends, graph.split)
    count, largest = int(shares.sum()) // 3, int(shares.max(initial=0))
    cores = min(workers(len(graph.ends)), max(2 * LISTED // max(count, 1), 1))  # each keeps the triangles of its limit

    def value(limit: int) -> int:
        if limit == 0:  # every triangle has weight 0, and phi(0) = 0; the dual divides by the limit
            return 0
        return count if largest <= PART * limit else _limited(graph, shares, limit)

    return list(spread(value, limits, cores))


def _limited(graph: Ranked, shares: Whole, limit: int) -> int:
    program = DualProgram.of(graph, shares, limit)
    y = program.start()
    while True:
        low, high = program.bounds(y)
        if high - low <= GAP * limit:
            return program.uncut + math.floor(low)
        y = program.improved(y)


@dataclass(frozen=True)
class DualProgram:
    """The dual of one limit: ``D(y) = tau sum y_v + sum_T g(y_a + y_b + y_c)`` over 0 <= y <= 9/8, g convex.

    Only vertices with more than tau triangles limit anything: they are named 0 .. n - 1; n stands for all others.
    Triangles with none of them count, those with one or two are counted together.
    """

    tau: float
    """Exact: a multiple of 1/8."""
    uncut: int
    shares: Floats
    """Triangles at each vertex that has too many; 0 for the others together."""
    merged: Triples
    """Triangles with one or two such vertices, each once."""
    times: Whole
    """How often."""
    graph: Ranked
    names: NDArray[np.int32]
    finds: Whole
    """How many triangles of three such vertices each vertex finds."""
    listed: Triples | None

    @classmethod
    def of(cls, graph: Ranked, shares: Whole, limit: int) -> DualProgram:
        """The vertices with too many triangles, and what is counted at them; ``limit`` is at least 1."""
        if limit < 1:
            raise ValueError(f"limit={limit} must be at least 1")
        tau = float(PART * limit)
        heavy = shares > tau
        count = int(heavy.sum())
        names = np.full(len(shares), count, dtype=np.int32)
        names[heavy] = np.arange(count, dtype=np.int32)
        uncut, singles, pairs, finds = _by_heavy(graph.starts, graph.ends, graph.split, names, count)
        own, slots = np.flatnonzero(singles), np.flatnonzero(pairs)
        merged = np.full((len(own) + len(slots), 3), count, dtype=np.int32)
        merged[: len(own), 0] = own
        merged[len(own) :, 0] = names[np.searchsorted(graph.starts, slots, side="right") - 1]
        merged[len(own) :, 1] = names[graph.ends[slots]]
        times = np.concatenate((singles[own], pairs[slots].astype(np.int64)))
        result = cls(
            tau, int(uncut), np.append(shares[heavy], 0).astype(float), merged, times, graph, names, finds, None
        )
        if int(finds.sum()) > max(LISTED, 2 * len(graph.ends)):
            return result
        listed = _listed(graph.starts, graph.ends, graph.split, names, count, 0, len(finds), int(finds.sum()))
        return cls(**{**vars(result), "listed": listed})

    @property
    def vertices(self) -> int:
        """How many have too many triangles."""
        return len(self.shares) - 1

    def blocks(self) -> Iterator[tuple[Triples, Whole]]:
        """All triangles with a vertex that has too many, and how often each counts; an empty list means once."""
        cuts = np.flatnonzero(np.diff(np.cumsum(self.times) // MERGED)) + 1
        yield from zip(np.split(self.merged, cuts), np.split(self.times, cuts), strict=True)
        once, graph = np.empty(0, dtype=np.int64), self.graph
        if self.listed is not None:
            yield self.listed, once
            return
        cumulated, first = np.concatenate(([0], np.cumsum(self.finds))), 0
        while first < len(self.finds):
            last = max(int(np.searchsorted(cumulated, cumulated[first] + BLOCK, side="right")) - 1, first + 1)
            total = int(cumulated[last] - cumulated[first])
            yield (
                _listed(graph.starts, graph.ends, graph.split, self.names, self.vertices, first, last, total),
                once,
            )
            first = last

    def start(self) -> Floats:
        """The dual point at which equal vertices have equal weights."""
        shares = np.maximum(self.shares, self.tau)
        y = (_K - 2 * _BEND * self.tau / shares) / 3
        return self.projected(y)

    def projected(self, y: Floats) -> Floats:
        """Within 0 .. 9/8, in whole 2^-48: sums of three are exact."""
        y = np.rint(np.clip(y, 0.0, _K) * _GRID) / _GRID
        y[self.vertices] = 0.0
        return y

    def dual(self, y: Floats) -> tuple[float, Floats]:
        """D and its gradient, in floats."""
        loads, value = np.zeros(len(y)), self.tau * float(y.sum())
        for triples, times in self.blocks():
            value += _dual(triples, times, y, loads)
        gradient = self.tau - loads
        gradient[self.vertices] = 0.0
        return value, gradient

    def bounds(self, y: Floats) -> tuple[Fraction, Fraction]:
        """Feasible weights near those of a dual point, their value; and the dual value.  Both beyond all rounding."""
        high, low = np.zeros(len(y), dtype=np.int64), np.zeros(len(y), dtype=np.int64)
        steps = np.rint(y * _GRID).astype(np.int64)
        total = (int((steps >> 26).sum()) << 26) + int((steps & _LOW).sum())  # halves: whole sums do not overflow
        upper = Fraction(total, 1 << 48) * Fraction(self.tau)
        for triples, times in self.blocks():
            upper += _whole(_loads(triples, times, y, high, low))
        loads = (high.astype(float) * (_LOW + 1) + low.astype(float)) / _UNIT
        loads[self.vertices] = 0.0
        ratios = np.where(loads > self.tau * _DOWN, self.tau / np.maximum(loads, self.tau) * _DOWN, 1.0)
        lower = Fraction(0)
        for triples, times in self.blocks():
            lower += _whole(_value(triples, times, y, ratios))
        return lower, upper

    def improved(self, y: Floats) -> Floats:
        """A Newton step where it lowers D, then a step that always does (docs/proofs/node_privacy.md, section 6)."""
        value, gradient = self.dual(y)
        damping = 1.0
        for _ in range(4):
            direction = self._newton(y, gradient, damping)
            for step in (1.0, 0.5, 0.25):
                tried = self.projected(y + step * direction)
                lower, after = self.dual(tried)
                if lower <= value + min(1e-4 * _product_sum(gradient, tried - y), 0.0):
                    y, gradient = tried, after
                    break
            else:
                damping *= 16.0
                continue
            break
        return self.projected(y - gradient * (2 * _BEND / 3) / np.maximum(self.shares, 1.0))

    def _newton(self, y: Floats, gradient: Floats, damping: float) -> Floats:
        """Conjugate gradients for the step, where y is not held at 0, to a tenth."""
        free = (y > 1e-3) | (gradient < 0)
        free[self.vertices] = False
        blocks = self._curved(y)
        diagonal = self._product(y, None, blocks)
        damped = damping * np.abs(gradient) + 1e-7 * np.maximum(self.shares, 1.0)
        scaling = np.where(free, 1.0 / (diagonal + damped), 0.0)
        left = np.where(free, -gradient, 0.0)
        scaled = scaling * left
        direction, path, size = np.zeros(len(y)), scaled.copy(), _product_sum(left, scaled)
        enough = size / 100.0
        for _ in range(200):
            if size <= enough or size == 0.0:
                break
            moved = np.where(free, self._product(y, path, blocks) + damped * path, 0.0)
            length = size / _product_sum(path, moved)
            direction += length * path
            left -= length * moved
            scaled = scaling * left
            before, size = size, _product_sum(left, scaled)
            path = scaled + size / before * path
        return direction

    def _curved(self, y: Floats) -> list[tuple[Triples, Whole]] | None:
        """Those triangles whose weight lies between 0 and 1: all that D is curved by.  None where none are kept."""
        if self.listed is None:
            return None
        chosen = ((triples, times, _are_curved(triples, y)) for triples, times in self.blocks())
        return [(triples[curved], times[curved] if len(times) else times) for triples, times, curved in chosen]

    def _product(self, y: Floats, path: Floats | None, blocks: list[tuple[Triples, Whole]] | None) -> Floats:
        """The second derivative of D times a path; without one its diagonal.  blocks: the triangles that it is of."""
        result = np.zeros(len(y))
        for triples, times in self.blocks() if blocks is None else blocks:
            if path is None:
                _diagonal(triples, times, y, result)
            else:
                _curvature(triples, times, y, path, result)
        result[self.vertices] = 0.0
        return result


def _product_sum(one: Floats, other: Floats) -> float:
    """The sum of products, by one thread: those that libraries start for it wait longer than it takes."""
    return float((one * other).sum())


def _whole(sums: tuple[int, int]) -> Fraction:
    """Two sums of whole 2^-52, high and low halves."""
    return Fraction((int(sums[0]) << 26) + int(sums[1]), 1 << 52)


@compiled(nogil=True)
def triangle_shares(starts: Starts, ends: Ends, split: Whole) -> Whole:
    """In how many triangles each vertex lies."""
    n = len(starts) - 1
    shares, mark = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int32)
    for v in range(n):
        for at in range(starts[v], split[v]):
            mark[ends[at]] = v
        for at in range(starts[v], split[v]):
            b = ends[at]
            many = 0
            for place in range(starts[b], split[b]):
                a = ends[place]
                if mark[a] == v:
                    shares[a] += 1
                    many += 1
            shares[b] += many
            shares[v] += many
    return shares


@compiled(nogil=True)
def _by_heavy(
    starts: Starts, ends: Ends, split: Whole, names: NDArray[np.int32], heavy: int
) -> tuple[int, Whole, NDArray[np.int32], Whole]:
    """Triangles by how many of their vertices are named below ``heavy``.

    None: their number; one: by vertex; two: by the place of their edge in the rows; three: by the vertex that finds
    them.
    """
    n = len(starts) - 1
    uncut, singles = 0, np.zeros(heavy, dtype=np.int64)
    pairs, triples = np.zeros(len(ends), dtype=np.int32), np.zeros(n, dtype=np.int64)
    mark = np.full(n, -1, dtype=np.int64)
    for v in range(n):
        has_v = names[v] < heavy
        for at in range(starts[v], split[v]):
            mark[ends[at]] = at
        for at in range(starts[v], split[v]):
            b = ends[at]
            has_b = names[b] < heavy
            for place in range(starts[b], split[b]):
                a = ends[place]
                if mark[a] < starts[v]:
                    continue
                if names[a] < heavy:
                    if has_b and has_v:
                        triples[v] += 1
                    elif has_b:
                        pairs[place] += 1
                    elif has_v:
                        pairs[mark[a]] += 1
                    else:
                        singles[names[a]] += 1
                elif has_b and has_v:
                    pairs[at] += 1
                elif has_b:
                    singles[names[b]] += 1
                elif has_v:
                    singles[names[v]] += 1
                else:
                    uncut += 1
    return uncut, singles, pairs, triples


@compiled(nogil=True)
def _listed(
    starts: Starts,
    ends: Ends,
    split: Whole,
    names: NDArray[np.int32],
    heavy: int,
    first: int,
    last: int,
    total: int,
) -> Triples:
    """The triangles of three vertices named below ``heavy`` that the vertices first .. last - 1 find."""
    result, free = np.empty((total, 3), dtype=np.int32), 0
    mark = np.full(len(starts) - 1, -1, dtype=np.int64)
    for v in range(first, last):
        if names[v] >= heavy:
            continue
        for at in range(starts[v], split[v]):
            mark[ends[at]] = v
        for at in range(starts[v], split[v]):
            b = ends[at]
            if names[b] >= heavy:
                continue
            for place in range(starts[b], split[b]):
                a = ends[place]
                if mark[a] == v and names[a] < heavy:
                    result[free, 0], result[free, 1], result[free, 2] = names[a], names[b], names[v]
                    free += 1
    return result


@compiled(nogil=True)
def _dual(triples: Triples, times: Whole, y: Floats, loads: Floats) -> float:
    """The sum of ``g(s) = max over u of phi(u) - s u``, s the sum of three y, and the loads of its weights u."""
    value, weighted = 0.0, len(times) > 0
    for row in range(len(triples)):
        a, b, c = triples[row, 0], triples[row, 1], triples[row, 2]
        room = _K - (y[a] + y[b] + y[c])
        if room <= 0.0:
            continue
        many = float(times[row]) if weighted else 1.0
        u = room / (2 * _BEND)
        if u >= 1.0:
            u = 1.0
            value += many * (room - _BEND)
        else:
            value += many * u * room / 2
        many *= u
        loads[a] += many
        loads[b] += many
        loads[c] += many
    return value


@compiled(nogil=True)
def _loads(triples: Triples, times: Whole, y: Floats, high: Whole, low: Whole) -> tuple[int, int]:
    """The sum of g rounded up, in whole 2^-52, and the loads exactly, both in halves of 26 bits."""
    top, bottom, weighted = 0, 0, len(times) > 0
    for row in range(len(triples)):
        a, b, c = triples[row, 0], triples[row, 1], triples[row, 2]
        room = _K - (y[a] + y[b] + y[c])
        if room <= 0.0:
            continue
        many = int(times[row]) if weighted else 1
        u = room / (2 * _BEND)
        if u >= 1.0:
            u = 1.0
            value = int((room - _BEND) * _UNIT)
        else:
            value = int(u * room / 2 * _UNIT * _UP) + 1
        top += many * (value >> 26)
        bottom += many * (value & _LOW)
        weight = int(u * _UNIT)
        upper, lower = many * (weight >> 26), many * (weight & _LOW)
        high[a] += upper
        high[b] += upper
        high[c] += upper
        low[a] += lower
        low[b] += lower
        low[c] += lower
    return top, bottom


@compiled(nogil=True)
def _value(triples: Triples, times: Whole, y: Floats, ratios: Floats) -> tuple[int, int]:
    """The sum of phi of the weights times the least ratio of their vertices, rounded down, in whole 2^-52."""
    top, bottom, weighted = 0, 0, len(times) > 0
    for row in range(len(triples)):
        a, b, c = triples[row, 0], triples[row, 1], triples[row, 2]
        room = _K - (y[a] + y[b] + y[c])
        if room <= 0.0:
            continue
        many = int(times[row]) if weighted else 1
        u = min(room / (2 * _BEND), 1.0) * min(ratios[a], ratios[b], ratios[c])
        value = int(u * (_K - _BEND * u) * _DOWN * _UNIT)
        top += many * (value >> 26)
        bottom += many * (value & _LOW)
    return top, bottom


@compiled(nogil=True)
def _are_curved(triples: Triples, y: Floats) -> NDArray[np.bool_]:
    result = np.empty(len(triples), dtype=np.bool_)
    for row in range(len(triples)):
        room = _K - (y[triples[row, 0]] + y[triples[row, 1]] + y[triples[row, 2]])
        result[row] = 0.0 < room < 2 * _BEND
    return result


@compiled(nogil=True)
def _diagonal(triples: Triples, times: Whole, y: Floats, result: Floats) -> None:
    weighted = len(times) > 0
    for row in range(len(triples)):
        a, b, c = triples[row, 0], triples[row, 1], triples[row, 2]
        room = _K - (y[a] + y[b] + y[c])
        if 0.0 < room < 2 * _BEND:
            many = (float(times[row]) if weighted else 1.0) / (2 * _BEND)
            result[a] += many
            result[b] += many
            result[c] += many


@compiled(nogil=True)
def _curvature(triples: Triples, times: Whole, y: Floats, path: Floats, result: Floats) -> None:
    weighted = len(times) > 0
    for row in range(len(triples)):
        a, b, c = triples[row, 0], triples[row, 1], triples[row, 2]
        room = _K - (y[a] + y[b] + y[c])
        if 0.0 < room < 2 * _BEND:
            many = (float(times[row]) if weighted else 1.0) / (2 * _BEND) * (path[a] + path[b] + path[c])
            result[a] += many
            result[b] += many
            result[c] += many
