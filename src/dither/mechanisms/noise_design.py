"""The least noise for each dataset of a finite space under COQ17's Theorem 8, corrected, for any law (Remark 9)."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from fractions import Fraction

from dither.errors import NotProved
from dither.noise.law import Law
from dither.numbers import float_down, round_down
from dither.privacy import Loss

ROUNDS = 60
"""Halvings of the interval in which the largest beta lies, where a proof is a closed form."""
FEW_ROUNDS = 20
"""The same where a proof goes cell by cell."""
UP = 1.0 + 2.0**-40
"""Covers the rounding of a product and of an exponential."""


def largest_shift(law: Law, loss: Loss) -> Fraction:
    """How far values of neighbours may be apart, in units of one scale that all datasets share; rounded down."""
    if law.name == "laplace":
        return loss.exact_epsilon
    guess = law.guess_alpha(0.0, loss, 1)
    for slack in (1e-9, 1e-6, 1e-3, 1e-2):
        shift = round_down(guess * (1 - slack)) if guess > 0 else Fraction(0)
        if shift > 0 and _holds(law, shift, Fraction(0), loss):
            return shift
    raise NotProved(f"no shift of {law} could be proved for {loss}")


def largest_beta(share: Fraction, loss: Loss, law: Law) -> float:
    """How far, in logarithms, noise of neighbours may differ if shifts are at most this share of the largest.

    Rounded down, and proved; 0 where nothing more is.
    """
    alpha = share * largest_shift(law, loss)
    low, high = Fraction(0), loss.exact_epsilon
    for _ in range(ROUNDS if law.name in ("laplace", "power_law", "blunt_power_law") else FEW_ROUNDS):
        middle = Fraction(float((low + high) / 2))
        low, high = (middle, high) if _holds(law, alpha, middle, loss) else (low, middle)
    return float(low)


def _holds(law: Law, alpha: Fraction, beta: Fraction, loss: Loss) -> bool:
    try:
        law.prove(alpha, beta, loss)
    except NotProved:
        return False
    return True


def least_scales(
    local: Sequence[float], neighbours: Sequence[Sequence[int]], shares: Sequence[Fraction], loss: Loss, law: Law
) -> list[float]:
    """The least scales of noise with both conditions for every pair of neighbours, rounded up.

    Condition 1: ``scale_x >= LS(x) / (share_x A)``, A the largest shift of noise of one scale (Laplace: epsilon).
    Condition 2: scales of neighbours differ by a factor of at most ``e^beta``, beta the largest for the greater share.
    The least solution has a scale that comes from condition 1 at some dataset and falls by these factors along a path
    (docs/proofs/largest_local.md, section 6).
    """
    most = largest_shift(law, loss)
    betas = {share: largest_beta(share, loss, law) for share in set(shares)}
    results = [item / float_down(share * most) * UP if item else 0.0 for item, share in zip(local, shares, strict=True)]
    waiting = [(-scale, place) for place, scale in enumerate(results)]
    heapq.heapify(waiting)
    settled = [False] * len(results)
    for _ in range(len(waiting) + sum(map(len, neighbours))):
        if not waiting:
            break
        _, place = heapq.heappop(waiting)
        if settled[place]:
            continue
        settled[place] = True
        for other in neighbours[place]:
            fall = min(betas[shares[place]], betas[shares[other]])
            least = results[place] * math.exp(-fall) * UP
            if not settled[other] and least > results[other]:
                results[other] = least
                heapq.heappush(waiting, (-least, other))
    return results
