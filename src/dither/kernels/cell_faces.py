"""Least subgradients of ``sum |v_i - a_i.b|`` on the boundary of a cell, for any number of coefficients: from below.

A face of the cell is cut into small boxes.  On a box most records have one sign, and the others may have either; in a
public direction u every subgradient there is at least ``phi(u) = g.u - sum |a_i.u|``, g the sum over the former and
the sum over the latter.  The largest phi over public directions that lead out of the cell, and the least of it over
all boxes of all faces, is the bound.  One record moves each phi by at most two, hence the bound too, and all of it is
whole numbers (docs/proofs/regression.md, section 4).
"""

from __future__ import annotations

import functools
import math
from itertools import product

import numpy as np

from dither.kernels.arrangement import BITS, REACH, Lines, Whole
from dither.kernels.compiled import compiled
from dither.kernels.least_deviations import TOLERANCE, Point

UNIT_BITS = 10
"""Directions u are whole vectors of length at most 2**10."""
ONE = 1 << (BITS + UNIT_BITS)
"""What a whole record in its own direction adds to phi."""
INNER_TRIES = 4
"""How many directions are tried on a box that can still be cut: any number is right, and more prune earlier."""


@functools.cache
def directions(coefficients: int, finest: int) -> Whole:
    """All directions with coordinates in proportion to whole numbers of at most ``finest``: public."""
    results = []
    for whole in product(range(-finest, finest + 1), repeat=coefficients):
        if math.gcd(*whole) == 1:
            length = float(np.sqrt(float(sum(item * item for item in whole))))
            results.append([int(np.trunc(item / length * (1 << UNIT_BITS))) for item in whole])
    table = np.array(results, dtype=np.int64)
    if int((table * table).sum(axis=1).max()) > 1 << (2 * UNIT_BITS):
        raise RuntimeError("a direction is longer than one")
    return table


@compiled()
def _strongest(
    ahead: Whole,
    listed: Whole,
    count: int,
    g: Whole,
    outward: Whole,
    low: Whole,
    size: int,
    most: int,
    axis: int,
    enough: int,
    tries: int,
) -> int:
    """The largest phi(u) over directions u that lead out of the cell on this whole box; stops once it is enough."""
    coefficients = ahead.shape[1]
    scores = np.empty(len(outward), dtype=np.int64)
    for m in range(len(outward)):
        fits, score = True, 0
        for k in range(coefficients):
            u = outward[m, k]
            score += u * g[k]
            if k == axis:
                fits = fits and (u < 0 if low[k] == 0 else u > 0)
            else:
                fits = fits and (low[k] > 0 or u <= 0) and (low[k] + size < most or u >= 0)
        scores[m] = score if fits else -1
    order = np.argsort(-scores)
    best = 0
    for at in range(min(tries, len(order))):
        m = order[at]
        if scores[m] <= best:
            break
        phi = scores[m]
        for j in range(count):
            i = listed[j]
            dot = 0
            for k in range(coefficients):
                dot += ahead[i, k] * outward[m, k]
            phi -= abs(dot)
            if phi <= best:
                break
        if phi > best:
            best = phi
            if best >= enough:
                break
    return best


@compiled()
def _undecided(
    ahead: Whole,
    rest: Whole,
    tangent: Whole,
    listed: Whole,
    among: int,
    low: Whole,
    half: int,
    axis: int,
    depth: int,
    numbers: Whole,
    g: Whole,
) -> int:
    """Lists the records whose plane meets a box, and adds all others to g with the sign that they have on it."""
    count = 0
    for j in range(among):
        i = listed[j]
        value = rest[i] << depth
        for k in range(ahead.shape[1]):
            value += ahead[i, k] * (low[k] + (half if k != axis else 0))
        if abs(value) <= half * tangent[i]:
            numbers[count] = i
            count += 1
        else:
            sign = 1 if value > 0 else -1
            for k in range(ahead.shape[1]):
                g[k] += sign * ahead[i, k]
    return count


@compiled()
def _face_bound(
    ahead: Whole, rest: Whole, axis: int, upper: bool, depth: int, outward: Whole, best: int, floor: int
) -> int:
    """The least bound over the boxes of one face, or ``best`` if that is less; never below ``floor``."""
    records, coefficients = ahead.shape
    most = 2 << depth
    children = 1 << (coefficients - 1)
    lists = np.empty((depth + 2, records), dtype=np.int64)
    counts = np.zeros(depth + 2, dtype=np.int64)
    sums = np.zeros((depth + 2, coefficients), dtype=np.int64)
    lows = np.zeros((depth + 2, coefficients), dtype=np.int64)
    visited = np.zeros(depth + 2, dtype=np.int64)
    tangent = np.zeros(records, dtype=np.int64)
    for i in range(records):
        lists[0, i] = i
        for k in range(coefficients):
            if k != axis:
                tangent[i] += abs(ahead[i, k])
    counts[0] = records
    lows[:, axis] = most if upper else 0
    # Level 0 holds all records; the box of level t + 1 is one of the 2^(q-1) parts of the box of level t (level 1: the
    # face itself).
    level = 0
    while level >= 0:
        parts = 1 if level == 0 else children
        if visited[level] == parts:
            visited[level] = 0
            level -= 1
            continue
        part = visited[level]
        visited[level] += 1
        size = most >> level
        bit = 0
        for k in range(coefficients):
            if k != axis:
                lows[level + 1, k] = lows[level, k] + (size if level > 0 and (part >> bit) & 1 else 0)
                bit += 1
            sums[level + 1, k] = sums[level, k]
        count = _undecided(
            ahead,
            rest,
            tangent,
            lists[level],
            counts[level],
            lows[level + 1],
            size >> 1,
            axis,
            depth,
            lists[level + 1],
            sums[level + 1],
        )
        counts[level + 1] = count
        last = level == depth
        tries = len(outward) if last else INNER_TRIES
        bound = _strongest(
            ahead, lists[level + 1], count, sums[level + 1], outward, lows[level + 1], size, most, axis, best, tries
        )
        if bound >= best:
            continue
        if last:
            best = max(bound, floor)
            if best <= floor:
                return floor
        else:
            level += 1
    return best


def face_changes(lines: Lines, corner: tuple[int, ...], *, depth: int, finest: int, most: int) -> int:
    """``ceil(B / 2)``, B a lower bound of the least subgradient norm on the cell's boundary; from 1 to ``most``.

    It is above 1 only if all minimisers lie inside of the cell, and one changed record moves it by at most one.
    """
    ahead = np.ascontiguousarray(lines.directions)
    rest = (ahead * np.array(corner, dtype=np.int64)).sum(axis=1) - lines.doubled
    outward = directions(len(corner), finest)
    best, floor = 2 * ONE * most, 2 * ONE
    for axis in range(len(corner)):
        for upper in (False, True):
            best = int(_face_bound(ahead, rest, axis, upper, depth, outward, best, floor))
            if best <= floor:
                return 1
    return -(-best // (2 * ONE))


def cells_near(point: Point, shift: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The lower corners of the cells of a shifted grid, within reach, that may have a margin.

    If a cell has one, a point within TOLERANCE of the least value lies at most half as far from that cell; cells are
    looked at to twice that distance.
    """
    along = []
    for at, moved in zip(point.tolist(), shift, strict=True):
        places = {2 * math.floor((2 * at + off - moved) / 2) + moved for off in (-2 * TOLERANCE, 2 * TOLERANCE)}
        along.append(sorted(place for place in places if -REACH <= place <= REACH - 2))
    return list(product(*along))
