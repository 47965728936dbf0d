"""Smallest circles that hold t of m points of the plane, for all t at once, decided in whole numbers.

A smallest circle has a diameter between two of its points or is the circumcircle of an acute triangle of three.
Coordinates below 2**14 keep every comparison within 64 bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.kernels.compiled import compiled

LARGEST = 1 << 14
Whole = NDArray[np.int64]
Floats = NDArray[np.float64]


@compiled(error_model="numpy")
def _on_diameter(points: Whole, i: int, j: int) -> int:
    """How many points the circle holds whose diameter goes from point i to point j."""
    sx, sy = points[i, 0] + points[j, 0], points[i, 1] + points[j, 1]
    dx, dy = points[i, 0] - points[j, 0], points[i, 1] - points[j, 1]
    held = 0
    for x in range(len(points)):
        ux, uy = 2 * points[x, 0] - sx, 2 * points[x, 1] - sy
        if ux * ux + uy * uy <= dx * dx + dy * dy:
            held += 1
    return held


@compiled(error_model="numpy")
def _around(points: Whole, i: int, det: int, nx: int, ny: int) -> int:
    """How many points the circle through point i holds whose centre is there plus (nx, ny) / (2 det)."""
    held = 0
    for x in range(len(points)):
        ux, uy = points[x, 0] - points[i, 0], points[x, 1] - points[i, 1]
        if det * (ux * ux + uy * uy) <= ux * nx + uy * ny:
            held += 1
    return held


@compiled(error_model="numpy")
def _circles(points: Whole, best: Floats) -> None:
    """For each number of points the least squared radius of a circle that holds as many, and its centre."""
    m = len(points)
    for i in range(m):
        for j in range(i + 1):
            dx, dy = points[i, 0] - points[j, 0], points[i, 1] - points[j, 1]
            held, square = _on_diameter(points, i, j), (dx * dx + dy * dy) / 4.0
            if square < best[held - 1, 0]:
                best[held - 1, 0] = square
                best[held - 1, 1] = (points[i, 0] + points[j, 0]) / 2.0
                best[held - 1, 2] = (points[i, 1] + points[j, 1]) / 2.0
            for k in range(j):
                ax, ay = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1]
                bx, by = points[k, 0] - points[i, 0], points[k, 1] - points[i, 1]
                aa, bb, ab, det = ax * ax + ay * ay, bx * bx + by * by, ax * bx + ay * by, ax * by - ay * bx
                # Only acute triangles matter.
                if det != 0 and ab > 0 and aa > ab and bb > ab:
                    turn = 1 if det > 0 else -1
                    nx, ny = turn * (by * aa - ay * bb), turn * (ax * bb - bx * aa)
                    held = _around(points, i, turn * det, nx, ny)
                    px, py = nx / (2.0 * turn * det), ny / (2.0 * turn * det)
                    if px * px + py * py < best[held - 1, 0]:
                        best[held - 1, 0] = px * px + py * py
                        best[held - 1, 1] = points[i, 0] + px
                        best[held - 1, 2] = points[i, 1] + py


def smallest_circles(points: Whole, wanted: int) -> tuple[Floats, Floats]:
    """The radii of the smallest circles with 1, 2, ..., m points, to a relative 2**-50, and the centre of the one with
    ``wanted`` points.

    >>> smallest_circles(np.array([[0, 0], [4, 0], [2, 1], [9, 9]]), 3)[0].round(3).tolist()
    [0.0, 1.118, 2.0, 6.364]
    """
    if points.min() < 0 or points.max() >= 2 * LARGEST:
        raise ValueError("coordinates beyond the range in which comparisons are exact")
    best = np.full((len(points), 3), np.inf)
    _circles(np.ascontiguousarray(points, dtype=np.int64), best)
    # A circle that holds more points holds fewer too.
    result = wanted - 1 + int(np.argmin(best[wanted - 1 :, 0]))
    return np.sqrt(np.minimum.accumulate(best[::-1, 0])[::-1]), best[result, 1:]
