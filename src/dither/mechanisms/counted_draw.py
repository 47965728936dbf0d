"""Exact draws by inverse sensitivity at any epsilon: runs of points are drawn by counts of records, then accepted.

A draw that lists ranks looks at some 50/rate of them.  Here the grid is cut at a few points, about one for every 1/rate
ranks; how many records lie below each cut bounds the costs of all points between two of them.  A run is drawn by its
least cost, a point of it evenly, and the point is accepted with the chance by which its own cost is higher: the law is
that of the listed draw, whatever the cuts are, and there are as many of them at every epsilon.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from dither.mechanisms.base_measure import Measure
from dither.noise.discrete_exponential import draw_indices, geometric
from dither.noise.entropy import Source, system, uniform_integer
from dither.sensitivity.sorted_chain import SortedChain

CANDIDATES = 32
"""So many points are drawn together, so that one pass counts the records below all of them; one is rejected with a
chance of at most 1 - 1/e where cuts are exact, and all of them with 4e-7."""


def draw_by_counts(
    chain: SortedChain, measure: Measure, offset: int, rate: Fraction, reach: int, source: Source = system
) -> int:
    """A grid point with probability proportional to its weight times ``e^{-rate cost}``, as ``Shells`` has them.

    Guarantee  The exact law, for all cuts (docs/proofs/inverse.md, "Counts instead of links").
    Cost       Two cuts for every 1/rate of ``reach`` changes on either side, and two counts for each candidate.
    """
    low, after = measure.edges[0], measure.edges[-1]
    step = max(1, int(1 / rate))
    near = chain.near([sign * changes for sign in (1, -1) for changes in range(0, reach + step, step)])
    # Every record near a cut is a run of its own, and so is the upper bound, which no record is above.
    cuts = sorted({low, after - 1, after, *near, *(point + 1 for point in near)})
    below = dict(zip(cuts, chain.counts(cuts), strict=True))

    def cost(held: int, up_to: int | None) -> int:
        return max(chain.changes_to(held, up_to) + offset, 1)

    def least_cost(first: int, end: int) -> int:
        return cost(below[first], None if end == after else below[end])

    while True:
        runs = list(pairwise(sorted(below)))
        costs = [least_cost(first, end) for first, end in runs]
        weights = [measure.below(end) - measure.below(first) for first, end in runs]
        candidates = []
        for place in draw_indices(costs, rate, CANDIDATES, source, weights=weights):
            point = measure.within(*runs[place], uniform_integer(weights[place], source))
            candidates.append((point, costs[place]))
        points = sorted({end for point, _ in candidates for end in (point, point + 1)} - below.keys())
        below.update(zip(points, chain.counts(points), strict=True))
        for point, least in candidates:
            if geometric(rate, source) >= least_cost(point, point + 1) - least:
                return point
