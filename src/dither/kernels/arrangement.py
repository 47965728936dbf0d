"""Least subgradients of ``sum |v_i - a_i.b|`` in the plane, exactly: lines against the edges of a cell.

Everything is a whole number.  Record i is the line ``a_i . b = v_i`` with ``|a_i| <= 2**BITS``; places are counted in
half cells, so that the grids shifted by half a cell have whole corners too.  Along an edge a line is crossed at
``-r / a_t`` with ``a_t <= 2**19``: two different such places between 0 and 2 are at least 2**-38 apart, so
their nearest floats differ too and *sorting floats sorts the rationals*; the same holds for the angles of the
lines.  Only distances are rounded, and their error is bounded (docs/proofs/regression.md, section 4).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.kernels.compiled import compiled

BITS = 19
"""Directions are whole vectors of length at most 2**19: two of them cross to less than 2**39."""
OFFSET_BITS = 39
"""Offsets v are cut at 2**39, far outside of every cell that is looked at."""
REACH = 1 << 20
"""Cells are looked for at most so many half cells from zero, either way."""
MOST_LINES = 1 << 22
"""With so many lines cross products of sums still fit into 64 bits."""
LEAST_LENGTH = 2.0**-500
"""Squares of at least this part of the range of floats keep all their digits."""
_FARTHEST = 1 << 41
"""No line of slope other than zero crosses a grid line farther out than this."""

Whole = NDArray[np.int64]
Sweep: TypeAlias = tuple[int, int, int, NDArray[np.float64], Whole]


class Lines(NamedTuple):
    """Private: directions (n, 2) and doubled offsets (n,), so that places are whole numbers of half cells."""

    directions: Whole
    doubled: Whole

    def __repr__(self) -> str:
        return "Lines(<private>)"


def lines_of(design: NDArray[np.float64], response: NDArray[np.float64], sides: NDArray[np.float64]) -> Lines:
    """Each record as a line, on its own: ``x_i`` in units of the cell's sides, divided by its length.

    A record that is not finite, or whose x is zero or tiny, becomes a line that says nothing (direction zero): below
    LEAST_LENGTH squares lose digits, and the quotient might be longer than one.  Every step is one IEEE operation per
    record, so a record's line depends on that record alone.
    """
    unit = float(1 << BITS)
    with np.errstate(all="ignore"):
        scaled = design * sides[None, :]
        squares = scaled[:, 0] * scaled[:, 0]
        for k in range(1, scaled.shape[1]):
            squares = squares + scaled[:, k] * scaled[:, k]
        length = np.sqrt(squares)
        ahead = np.trunc(scaled / length[:, None] * unit)
        offset = np.rint(response / length * unit)
        usable = np.isfinite(ahead).all(axis=1) & np.isfinite(length) & (length >= LEAST_LENGTH)
        usable &= np.isfinite(response) & ~np.isnan(offset)
    ahead = np.where(usable[:, None], ahead, 0.0).astype(np.int64)
    # Rounding of the length may leave a direction longer than one: step back towards zero.
    longer = (ahead * ahead).sum(axis=1) > 1 << (2 * BITS)
    ahead = np.where(longer[:, None], ahead - np.sign(ahead), ahead)
    most = float(1 << OFFSET_BITS)
    whole = np.where(usable, np.clip(np.where(usable, offset, 0.0), -most, most), 0.0).astype(np.int64)
    said = (ahead != 0).any(axis=1)
    return Lines(np.ascontiguousarray(ahead[said]), 2 * whole[said])


@compiled()
def _slope_before(tangent: Whole, rest: Whole, place: int) -> tuple[int, int]:
    """The tangential subgradient just before and just after a place on a grid line."""
    before = after = 0
    for i in range(len(tangent)):
        at = rest[i] + tangent[i] * place
        if at > 0:
            before += tangent[i]
            after += tangent[i]
        elif at < 0:
            before -= tangent[i]
            after -= tangent[i]
        else:
            size = abs(tangent[i])
            before -= size
            after += size
    return before, after


@compiled()
def _events(tangent: Whole, normal: Whole, rest: Whole, length: int) -> Sweep:
    """What a sweep along one edge needs: the subgradient before its start, and the lines crossed, in order.

    Returns (g_t, g_n, along, keys, events): ``along`` is the total weight of lines that contain the edge, ``events``
    the directions (turned so that they point along the edge) of the lines crossed, sorted by place and then by angle.
    """
    count, along, g_t, g_n = 0, 0, 0, 0
    crossed = np.zeros(len(tangent), dtype=np.int64)
    for i in range(len(tangent)):
        t, n, r = tangent[i], normal[i], rest[i]
        if t < 0:
            t, n, r = -t, -n, -r
        if t == 0 and r == 0:
            along += abs(n)
        elif r > 0:
            g_t += t
            g_n += n
        else:
            g_t -= t
            g_n -= n
            if t > 0 and r + t * length >= 0:
                crossed[count] = i
                count += 1
    places, angles = np.empty(count), np.empty(count)
    vectors = np.empty((count, 2), dtype=np.int64)
    for k in range(count):
        i = crossed[k]
        t, n, r = tangent[i], normal[i], rest[i]
        if t < 0:
            t, n, r = -t, -n, -r
        vectors[k, 0], vectors[k, 1] = t, n
        places[k] = float(-r) / float(t)
        angles[k] = float(n) / float(t + abs(n))
    first = np.argsort(angles, kind="mergesort")
    then = np.argsort(places[first], kind="mergesort")
    order = first[then]
    return g_t, g_n, along, places[order], vectors[order]


@compiled()
def _to_segment(p_t: int, p_n: int, d_t: int, d_n: int, times: int) -> float:
    """The distance from the origin to the segment from p to p + times d, rounded."""
    x, y = float(p_t), float(p_n)
    u, v = float(d_t), float(d_n)
    if x * u + y * v >= 0.0:
        return math.sqrt(x * x + y * y)
    far_x, far_y = float(p_t + times * d_t), float(p_n + times * d_n)
    if far_x * u + far_y * v <= 0.0:
        return math.sqrt(far_x * far_x + far_y * far_y)
    return abs(float(p_t * d_n - p_n * d_t)) / math.sqrt(u * u + v * v)


@compiled()
def _to_zonotope(g_t: int, g_n: int, along: int, vectors: Whole, first: int, last: int) -> float:
    """The distance from the origin to ``g + sum [0, 2] vectors[first:last] + [-along, along] e_n``; 0 if inside.

    The boundary runs through the vectors by rising angle and back through their negatives.
    """
    p_t, p_n = g_t, g_n - along
    count = last - first + (1 if along > 0 else 0)
    if count == 0:
        return math.sqrt(float(p_t) * float(p_t) + float(p_n) * float(p_n))
    best, inside, flat = math.inf, True, True
    for sign in (1, -1):
        for k in range(first, first + count):
            if k < last:
                d_t, d_n, times = vectors[k, 0], vectors[k, 1], 2
            else:
                d_t, d_n, times = 0, 1, 2 * along
            start = 0 if first == last else first
            if first < last and d_t * vectors[start, 1] != d_n * vectors[start, 0]:
                flat = False
            if d_n * p_t * sign - d_t * p_n * sign < 0:
                inside = False
            best = min(best, _to_segment(p_t, p_n, sign * d_t, sign * d_n, times))
            p_t += sign * times * d_t
            p_n += sign * times * d_n
    return 0.0 if inside and not flat else best


@compiled()
def _groups(places: NDArray[np.float64], length: int) -> tuple[Whole, Whole]:
    """Where runs of equal places begin and end; the two ends of the edge count even if no line passes there."""
    starts = np.empty(len(places) + 2, dtype=np.int64)
    stops = np.empty(len(places) + 2, dtype=np.int64)
    count = 0
    if len(places) == 0 or places[0] > 0.0:
        starts[0], stops[0], count = 0, 0, 1
    k = 0
    while k < len(places):
        stop = k + 1
        while stop < len(places) and places[stop] == places[k]:
            stop += 1
        starts[count], stops[count] = k, stop
        count += 1
        k = stop
    if len(places) == 0 or places[-1] < float(length):
        starts[count], stops[count] = len(places), len(places)
        count += 1
    return starts[:count], stops[:count]


@compiled()
def _edge_distances(
    g_t: int, g_n: int, along: int, places: NDArray[np.float64], vectors: Whole, length: int
) -> tuple[NDArray[np.float64], Whole, Whole, Whole]:
    """For every place on the edge where lines cross (and both its ends): the distance, and g before it."""
    starts, stops = _groups(places, length)
    results = np.empty(len(starts))
    before = np.empty((len(starts), 2), dtype=np.int64)
    for k in range(len(starts)):
        before[k, 0], before[k, 1] = g_t, g_n
        results[k] = _to_zonotope(g_t, g_n, along, vectors, starts[k], stops[k])
        for j in range(starts[k], stops[k]):
            g_t += 2 * vectors[j, 0]
            g_n += 2 * vectors[j, 1]
    return results, before, starts, stops


@compiled()
def _normal_side(g_t: int, g_n: int, along: int, places: NDArray[np.float64], vectors: Whole, length: int) -> int:
    """The sign of the normal subgradients ``(0, g_n)`` on an edge that holds the least point of its line.

    1 or -1 if all of them have that sign, 0 if zero is among them.
    """
    starts, stops = _groups(places, length)
    for k in range(len(starts)):
        after = g_t
        for j in range(starts[k], stops[k]):
            after += 2 * vectors[j, 0]
        if g_t <= 0 <= after:
            low = _chain_sign(g_t, g_n - along, vectors, starts[k], stops[k], 1)
            high = _chain_sign(g_t, g_n + along, vectors, starts[k], stops[k], -1)
            if low > 0:
                return 1
            return -1 if high < 0 else 0
        for j in range(starts[k], stops[k]):
            g_t += 2 * vectors[j, 0]
            g_n += 2 * vectors[j, 1]
    return 0


@compiled()
def _chain_sign(p_t: int, p_n: int, vectors: Whole, first: int, last: int, step: int) -> int:
    """The sign of the normal coordinate where a chain of vectors from p (p_t <= 0) meets the normal axis.

    By rising angle (step 1) the chain is the lower side of the zonotope, by falling angle the upper side.
    """
    k, left = first if step > 0 else last - 1, last - first
    while left > 0:
        d_t, d_n = vectors[k, 0], vectors[k, 1]
        if p_t + 2 * d_t >= 0:
            return int(np.sign(p_n * d_t - p_t * d_n))
        p_t += 2 * d_t
        p_n += 2 * d_n
        k += step
        left -= 1
    return int(np.sign(p_n))


class _GridLine:
    """Lines seen from the grid line where coordinate ``axis`` is ``place`` half cells."""

    def __init__(self, lines: Lines, axis: int, place: int) -> None:
        self.normal = np.ascontiguousarray(lines.directions[:, axis])
        self.tangent = np.ascontiguousarray(lines.directions[:, 1 - axis])
        self.rest = self.normal * place - lines.doubled

    def events(self, start: int, length: int) -> Sweep:
        """The sweep from ``start`` over ``length`` half cells."""
        return _events(self.tangent, self.normal, self.rest + self.tangent * start, length)

    def least_segment(self, guess: int) -> int:
        """A whole place l with a least point of the function on this line between l and l + 1."""
        low, high, at, stride = -_FARTHEST, _FARTHEST, guess, 1
        while True:
            before, _ = _slope_before(self.tangent, self.rest, at)
            _, after = _slope_before(self.tangent, self.rest, at + 1)
            if before <= 0 <= after:
                return at
            if before > 0:
                high = at
                at = max(at - stride, (low + high) // 2)
            else:
                low = at + 1
                at = min(at + 1 + stride, (low + high) // 2)
            stride *= 4


class _Sides:
    """On which side of a grid line all minimisers lie: 1 above, -1 below, 0 if one lies on it.  Remembers."""

    def __init__(self, lines: Lines, axis: int) -> None:
        self._lines, self._axis = lines, axis
        self._known: dict[int, int] = {}
        self._guess = 0

    def __call__(self, place: int) -> int:
        if place not in self._known:
            line = _GridLine(self._lines, self._axis, place)
            self._guess = line.least_segment(self._guess)
            g_t, g_n, along, places, vectors = line.events(self._guess, 1)
            self._known[place] = -int(_normal_side(g_t, g_n, along, places, vectors, 1))
        return self._known[place]

    def around(self) -> tuple[int, int] | None:
        """The last place below all minimisers and the first above all of them; None beyond the reach."""
        if self(-REACH) != 1 or self(REACH) != -1:
            return None
        low, high = -REACH, REACH
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self(middle) == 1 else (low, middle)
        first, last = low, REACH
        while last - first > 1:
            middle = (first + last) // 2
            first, last = (first, middle) if self(middle) == -1 else (middle, last)
        return low, last


def minimiser_box(lines: Lines) -> tuple[tuple[int, int], ...] | None:
    """The least box of whole half cells with all minimisers strictly inside; None if it is out of reach."""
    results = []
    for axis in range(lines.directions.shape[1]):
        around = _Sides(lines, axis).around() if lines.directions.shape[1] == 2 else _around_on_a_line(lines)
        if around is None:
            return None
        results.append(around)
    return tuple(results)


def _around_on_a_line(lines: Lines) -> tuple[int, int] | None:
    """The same for one coefficient, where minimisers are weighted medians."""
    tangent, rest = lines.directions[:, 0].copy(), -lines.doubled

    def ends(place: int) -> tuple[int, int]:
        before, after = _slope_before(tangent, rest, place)
        return int(before), int(after)

    if ends(-REACH)[1] >= 0 or ends(REACH)[0] <= 0:
        return None
    low, high = -REACH, REACH
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if ends(middle)[1] < 0 else (low, middle)
    first, last = low, REACH
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (first, middle) if ends(middle)[0] > 0 else (middle, last)
    return low, last


def cell_around(box: tuple[tuple[int, int], ...] | None, shift: tuple[int, ...]) -> tuple[int, ...] | None:
    """The lower corner (in half cells) of the cell of a shifted grid that holds the box; None if none does.

    Only cells that lie within the reach as a whole: in a cell that straddles it a neighbour's minimisers could be out
    of reach, and a large margin would be next to none.
    """
    if box is None:
        return None
    corner = tuple(low - (low - moved) % 2 for (low, _), moved in zip(box, shift, strict=True))
    fits = all(at >= -REACH and high <= at + 2 <= REACH for at, (_, high) in zip(corner, box, strict=True))
    return corner if fits else None


class _Swept(NamedTuple):
    """Private: one edge of a cell after its sweep."""

    along: int
    vectors: Whole
    distances: NDArray[np.float64]
    before: Whole
    starts: Whole
    stops: Whole

    def squared(self, k: int) -> Fraction:
        """The exact squared distance at place number k."""
        crossing = self.vectors[self.starts[k] : self.stops[k]].tolist()
        return _squared_distance(self.before[k].tolist(), self.along, crossing)


def _swept(lines: Lines, axis: int, place: int, start: int) -> _Swept:
    g_t, g_n, along, places, vectors = _GridLine(lines, axis, place).events(start, 2)
    return _Swept(int(along), vectors, *_edge_distances(g_t, g_n, along, places, vectors, 2))


def boundary_changes(lines: Lines, corner: tuple[int, ...]) -> int:
    """``ceil(A / 2)``, A the least subgradient norm on the boundary of the cell (one unit is a whole direction).

    Each changed record moves every subgradient by at most two, so fewer changes put no minimiser on the boundary.
    Cost: O(n log n); distances are floats with a proved error, and where that leaves the answer open it is settled in
    rationals.
    """
    if len(corner) == 1:
        return _point_changes(lines, corner[0])
    swept = [_swept(lines, axis, corner[axis] + side, corner[1 - axis]) for axis in (0, 1) for side in (0, 2)]
    unit = 2.0 * (1 << BITS)
    least = min(float(edge.distances.min()) for edge in swept)
    slack = float_error(len(lines.doubled))
    low, high = math.ceil((least - slack) / unit), math.ceil((least + slack) / unit)
    if least == 0.0:
        return 0
    if low == high:
        return low
    near = (edge.squared(k) for edge in swept for k in np.flatnonzero(edge.distances <= least + 2 * slack).tolist())
    return _ceil_root(min(near) / (4 << (2 * BITS)))


def float_error(lines: int) -> float:
    """More than the error of a computed distance among so many lines (docs/proofs/regression.md, section 4)."""
    return float(max(lines, 1)) * 2.0 ** (BITS - 46)


def _point_changes(lines: Lines, corner: int) -> int:
    """One coefficient: the boundary is two points, and subgradients there are intervals."""
    gaps = []
    for place in (corner, corner + 2):
        before, after = _slope_before(lines.directions[:, 0].copy(), -lines.doubled, place)
        gaps.append(max(int(before), -int(after), 0))
    return -(-min(gaps) // (2 << BITS))


def _squared_distance(g: list[int], along: int, vectors: list[list[int]]) -> Fraction:
    """The exact squared distance from the origin to a zonotope, as ``_to_zonotope``."""
    p = (int(g[0]), int(g[1]) - int(along))
    steps = [(2 * t, 2 * n) for t, n in vectors] + ([(0, 2 * int(along))] if along else [])
    edges = list(_polygon(p, steps))
    if not edges:
        return Fraction(p[0] ** 2 + p[1] ** 2)
    solid = any(d[0] * steps[0][1] != d[1] * steps[0][0] for d in steps)
    if solid and all(d[1] * q[0] - d[0] * q[1] >= 0 for q, d in edges):
        return Fraction(0)
    return min(_squared_to_segment(q, d) for q, d in edges)


def _polygon(p: tuple[int, int], steps: list[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    for sign in (1, -1):
        for t, n in steps:
            yield p, (sign * t, sign * n)
            p = (p[0] + sign * t, p[1] + sign * n)


def _squared_to_segment(p: tuple[int, int], d: tuple[int, int]) -> Fraction:
    if p[0] * d[0] + p[1] * d[1] >= 0:
        return Fraction(p[0] ** 2 + p[1] ** 2)
    q = (p[0] + d[0], p[1] + d[1])
    if q[0] * d[0] + q[1] * d[1] <= 0:
        return Fraction(q[0] ** 2 + q[1] ** 2)
    return Fraction((p[0] * d[1] - p[1] * d[0]) ** 2, d[0] ** 2 + d[1] ** 2)


def _ceil_root(square: Fraction) -> int:
    """The least whole number whose square is not below ``square``."""
    return math.isqrt(max(math.ceil(square) - 1, 0)) + 1 if square > 0 else 0
