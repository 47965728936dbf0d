"""The paper's way to test a cell, by looking at every vertex of the arrangement: slow, obvious, in rationals.

Places are in half cells, as in the kernel: the line of (a, w) is ``a . b = w`` with b counted in half cells.
"""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
from scipy.optimize import lsq_linear


def squared_norm(point):
    """The squared distance from the origin."""
    return point[0] ** 2 + point[1] ** 2


def to_segment(p, q):
    """The squared distance from the origin to a segment."""
    d = (q[0] - p[0], q[1] - p[1])
    length = squared_norm(d)
    if length == 0:
        return Fraction(squared_norm(p))
    t = min(max(Fraction(-(p[0] * d[0] + p[1] * d[1]), length), 0), 1)
    return squared_norm((p[0] + t * d[0], p[1] + t * d[1]))


def cross(p, q):
    """The area that two vectors span."""
    return p[0] * q[1] - p[1] * q[0]


def holds_origin(p, q, r):
    """Whether a triangle of positive area holds the origin."""
    turns = [cross(p, q), cross(q, r), cross(r, p)]
    solid = cross((q[0] - p[0], q[1] - p[1]), (r[0] - p[0], r[1] - p[1])) != 0
    return solid and (all(turn >= 0 for turn in turns) or all(turn <= 0 for turn in turns))


def to_hull(points):
    """The squared distance from the origin to the convex hull of a few points."""
    points = sorted(set(points))
    if len(points) == 1:
        return Fraction(squared_norm(points[0]))
    if any(holds_origin(*three) for three in combinations(points, 3)):
        return Fraction(0)
    return min(to_segment(p, q) for p, q in combinations(points, 2))


def subgradient_square(lines, b):
    """The least squared norm of a subgradient of ``sum |a . b - w|`` at b."""
    total, tied = (0, 0), []
    for a, w in lines:
        rest = a[0] * b[0] + a[1] * b[1] - w
        if rest == 0:
            tied.append(a)
        else:
            sign = 1 if rest > 0 else -1
            total = (total[0] + sign * a[0], total[1] + sign * a[1])
    hull = []
    for signs in product((-1, 1), repeat=len(tied)):
        x = total[0] + sum(s * a[0] for s, a in zip(signs, tied, strict=True))
        y = total[1] + sum(s * a[1] for s, a in zip(signs, tied, strict=True))
        hull.append((x, y))
    return to_hull(hull)


def crossings(lines):
    """All vertices of an arrangement of lines."""
    found = set()
    for (a, w), (c, u) in combinations(lines, 2):
        area = cross(a, c)
        if area:
            found.add((Fraction(w * c[1] - u * a[1], area), Fraction(a[0] * u - c[0] * w, area)))
    return found


def minimisers(lines):
    """The vertices of the set of minimisers; None if that set is not bounded."""
    vertices = crossings(lines)
    if not vertices:
        return None
    values = {b: sum(abs(a[0] * b[0] + a[1] * b[1] - w) for a, w in lines) for b in vertices}
    least = min(values.values())
    return [b for b, value in values.items() if value == least]


def cell_of(lines, shift, reach=50):
    """The lower corner of the cell with all minimisers strictly inside; None if there is none."""
    best = minimisers(lines)
    if best is None:
        return None
    corner = []
    for axis in (0, 1):
        low, high = min(b[axis] for b in best), max(b[axis] for b in best)
        fitting = [at for at in range(-reach, reach) if (at - shift[axis]) % 2 == 0 and at < low and high < at + 2]
        if not fitting:
            return None
        corner.append(fitting[0])
    return tuple(corner)


def outside_square(lines, corner):
    """The least squared norm of a subgradient anywhere outside of the open cell, over all vertices."""
    edges = [((1, 0), corner[0]), ((1, 0), corner[0] + 2), ((0, 1), corner[1]), ((0, 1), corner[1] + 2)]
    outside = [
        b
        for b in crossings([*lines, *edges])
        if not all(at < place < at + 2 for at, place in zip(corner, b, strict=True))
    ]
    return min(subgradient_square(lines, b) for b in outside)


# --- three coefficients ------------------------------------------------------------------------------------


def meeting(planes):
    """The point where three planes (a, w) meet, in rationals; None if they have no single one."""
    rows = [[Fraction(part) for part in (*a, w)] for a, w in planes]
    for column in range(3):
        pivot = next((row for row in range(column, 3) if rows[row][column] != 0), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [part / rows[column][column] for part in rows[column]]
        for row in range(3):
            if row != column:
                rows[row] = [
                    part - rows[row][column] * other for part, other in zip(rows[row], rows[column], strict=True)
                ]
    return tuple(row[3] for row in rows)


def rest_at(plane, b):
    """What is left of a record at b."""
    return sum(part * place for part, place in zip(plane[0], b, strict=True)) - plane[1]


def subgradient_norm(planes, b):
    """The least norm of a subgradient at b, by least squares with bounds."""
    rests = [rest_at(plane, b) for plane in planes]
    total = sum(
        (np.sign(float(r)) * np.array(p[0], float) for p, r in zip(planes, rests, strict=True) if r), np.zeros(3)
    )
    tied = [np.array(plane[0], float) for plane, rest in zip(planes, rests, strict=True) if rest == 0]
    if not tied:
        return float(np.linalg.norm(total))
    unit = max(np.abs(tied).max(), 1.0)
    found = lsq_linear(np.array(tied).T / unit, -total / unit, (-1.0, 1.0), method="bvls", tol=1e-14)
    return float(np.linalg.norm(found.fun)) * unit


def least_on_faces(planes, corner):
    """The least norm of a subgradient on the boundary of a cell: all points where planes and faces meet."""
    sides = [(tuple(int(k == axis) for k in range(3)), corner[axis] + side) for axis in range(3) for side in (0, 2)]
    inside = [at for at in (meeting(three) for three in combinations([*planes, *sides], 3)) if at is not None]
    on = {
        b
        for b in inside
        if all(at <= place <= at + 2 for at, place in zip(corner, b, strict=True))
        and any(place in (at, at + 2) for at, place in zip(corner, b, strict=True))
    }
    return min(subgradient_norm(planes, b) for b in on)


def holds_minimisers(planes, corner):
    """Whether all minimisers lie strictly inside of a cell."""
    vertices = {at for at in (meeting(three) for three in combinations(planes, 3)) if at is not None}
    if not vertices:
        return False
    values = {b: sum(abs(rest_at(plane, b)) for plane in planes) for b in vertices}
    least = min(values.values())
    best = [b for b, value in values.items() if value == least]
    return all(at < place < at + 2 for b in best for at, place in zip(corner, b, strict=True))
