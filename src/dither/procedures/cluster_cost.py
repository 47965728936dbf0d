"""The cost of public centres (k-SED, NRS11 section 5): the squared distance of each point from the nearest centre.

A point of the unit cube has one number, within a public range.  Proof: docs/proofs/certified_average.md, section 8.
"""

from __future__ import annotations

import heapq

import numpy as np

from dither.kernels.elementary import Floats

SPLITS = 2_000
"""How often the cube is cut to find the largest cost that a point can have."""


def costs(parts: Floats, centres: Floats) -> Floats:
    """The cost of each point: a function of that point alone, bit for bit."""
    least = np.full(len(parts), np.inf)
    for centre in centres:
        total = np.zeros(len(parts))
        for place, coordinate in enumerate(centre):
            apart = parts[:, place] - coordinate
            total += apart * apart
        np.minimum(least, total, out=least)
    return least


def greatest_cost(centres: Floats) -> float:
    """At least the largest cost of a point of the unit cube, and near to it: public.

    In a box no point costs more than its farthest corner from any one centre.  The box with the largest such number is
    cut in half, across its longest side, again and again.
    """
    dimensions = centres.shape[1]
    boxes = [(-_most(np.zeros(dimensions), np.ones(dimensions), centres), 0, np.zeros(dimensions), np.ones(dimensions))]
    for split in range(SPLITS):
        worst, order, low, high = heapq.heappop(boxes)
        middle = (low + high) / 2.0
        if -worst <= float(costs(middle[None], centres)[0]) * (1.0 + 1e-3):
            heapq.heappush(boxes, (worst, order, low, high))
            break
        side = int(np.argmax(high - low))
        for half in range(2):
            lower, upper = low.copy(), high.copy()
            (lower if half else upper)[side] = middle[side]
            heapq.heappush(boxes, (-_most(lower, upper, centres), 2 * split + half + 1, lower, upper))
    return -boxes[0][0] * (1.0 + 1e-9)


def _most(low: Floats, high: Floats, centres: Floats) -> float:
    farthest = np.maximum(np.abs(centres - low), np.abs(high - centres))
    return float((farthest**2).sum(axis=1).min())
