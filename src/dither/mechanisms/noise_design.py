"""The least Laplace noise for each dataset of a finite space under COQ17's Theorem 8, corrected."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from fractions import Fraction

from dither.errors import NotProved
from dither.noise.laplace import Laplace
from dither.privacy import Loss

ROUNDS = 60
"""Halvings of the interval in which the largest beta lies."""
UP = 1.0 + 2.0**-40
"""Covers the rounding of a product and of an exponential."""


def largest_beta(share: Fraction, loss: Loss) -> float:
    """How far, in logarithms, noise of neighbours may differ if shifts get this share of epsilon; rounded down."""
    alpha, law = share * loss.exact_epsilon, Laplace()

    def holds(beta: Fraction) -> bool:
        try:
            law.prove(alpha, beta, loss)
        except NotProved:
            return False
        return True

    low, high = Fraction(0), loss.exact_epsilon
    for _ in range(ROUNDS):
        middle = Fraction(float((low + high) / 2))
        low, high = (middle, high) if holds(middle) else (low, middle)
    return float(low)


def least_scales(
    local: Sequence[float], neighbours: Sequence[Sequence[int]], shares: Sequence[Fraction], loss: Loss
) -> list[float]:
    """The least scales of Laplace noise with both conditions for every pair of neighbours, rounded up.

    Condition 1: ``scale_x >= LS(x) / (share_x epsilon)``.  Condition 2: scales of neighbours differ by a factor of at
    most ``e^beta``, beta the largest for the greater of both shares.  The least solution has a scale that comes from
    condition 1 at some dataset and falls by these factors along a path (docs/proofs/largest_local.md, section 6).
    """
    betas = {share: largest_beta(share, loss) for share in set(shares)}
    found = [
        one / float(share * loss.exact_epsilon) * UP if one else 0.0 for one, share in zip(local, shares, strict=True)
    ]
    waiting = [(-scale, place) for place, scale in enumerate(found)]
    heapq.heapify(waiting)
    settled = [False] * len(found)
    for _ in range(len(waiting) + sum(map(len, neighbours))):
        if not waiting:
            break
        _, place = heapq.heappop(waiting)
        if settled[place]:
            continue
        settled[place] = True
        for other in neighbours[place]:
            fall = min(betas[shares[place]], betas[shares[other]])
            least = found[place] * math.exp(-fall) * UP
            if not settled[other] and least > found[other]:
                found[other] = least
                heapq.heappush(waiting, (-least, other))
    return found
