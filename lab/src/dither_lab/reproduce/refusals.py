"""Exact laws of DL09's algorithms: bounds on the probability of a refusal, and the medians of their errors.

A test refuses a margin g with probability e^(-e (g - ln^2 n))/2.  Records are drawn independently, and margins are
at least m unless some order statistic strays or some spacing is wide; both are binomial tails, bounded by Chernoff's
inequality, so that n may be as large as one likes.  All probabilities are logarithms.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

NEVER = -math.inf


def log_sum(parts: Sequence[float]) -> float:
    """ln of a sum of e^parts."""
    most = max(parts)
    return most if most == NEVER else most + math.log(sum(math.exp(part - most) for part in parts))


def tail_above(n: float, p: float, share: float) -> float:
    """ln P(Bin(n, p) >= share n) at most."""
    return 0.0 if share <= p else -n * _divergence(share, p)


def tail_below(n: float, p: float, share: float) -> float:
    """ln P(Bin(n, p) <= share n) at most."""
    return 0.0 if share >= p else -n * _divergence(share, p)


def _divergence(a: float, p: float) -> float:
    if p in (0.0, 1.0):
        return math.inf if a != p else 0.0
    first = a * math.log(a / p) if a > 0 else 0.0
    return first + ((1 - a) * (math.log1p(-a) - math.log1p(-p)) if a < 1 else 0.0)


def strays(n: float, share: float, m: float, cdf: Callable[[float], float], at: float, room: float) -> float:
    """ln P(some rank within m of share n is farther than ``room`` from the quantile ``at``), at most."""
    # X_(k) > t if and only if fewer than k records are at most t.
    return log_sum(
        [
            tail_below(n, cdf(at + room), min(share + (m + 1) / n, 1.0)),
            tail_above(n, cdf(at - room), max(share - (m + 1) / n, 0.0)),
        ]
    )


def rare(n: float, each: float) -> float:
    """ln of n^(-e ln n)."""
    return -each * math.log(n) ** 2


def margin_needed(n: float) -> float:
    """A margin that is refused with probability n^(-e ln n)/2."""
    return 2 * math.log(n) ** 2


def scale_refused(
    n: float, each: float, shares: tuple[float, float], ends: tuple[float, float], cdf: Callable[[float], float]
) -> float:
    """ln P(algorithm S refuses n independent records), at most.

    In one of the two discretisations the logarithm of the true range is a quarter of a bin away from both ends; margins
    are large enough if m changes, and the sample, move it by less.
    """
    m, wide = margin_needed(n), ends[1] - ends[0]
    room = wide * -math.expm1(-math.log1p(1 / math.log(n)) / 4) / 2
    parts = [strays(n, share, m, cdf, at, room) for share, at in zip(shares, ends, strict=True)]
    return min(0.0, log_sum([*parts, math.log(0.5) + rare(n, each)]))


def scale_below(n: float, each: float, power: float) -> float:
    """ln P(the noise makes the scale less than n^-power of itself): Laplace noise on the logarithmic scale."""
    return math.log(0.5) - each * power * math.log(n) / math.log1p(1 / math.log(n))


def median_refused(
    n: float,
    each: float,
    shares: tuple[float, float],
    ends: tuple[float, float],
    middle: float,
    cdf: Callable[[float], float],
    density: Callable[[float], float],
) -> float:
    """ln P(algorithm M refuses n independent records), at most: the best of all splits of what may go wrong."""
    m, wide = margin_needed(n), ends[1] - ends[0]
    scale = scale_refused(n, each, shares, ends, cdf)
    best = 0.0
    for power in np.linspace(0.01, 0.66, 66).tolist():
        bins = 0.9 * wide * n ** (-power - 1 / 3)
        near = 0.05 * wide
        least = min(density(middle + t) for t in np.linspace(-2 * near, 2 * near, 9).tolist())
        # m spacings beside the median wider than a quarter of a bin: fewer than m records there.
        spacing = math.log(2) + tail_below(n, min(least * bins / 4, 1.0), (m + 1) / n)
        parts = [scale, scale_below(n, each, power), strays(n, 0.5, 0, cdf, middle, near), spacing]
        best = min(best, log_sum([*parts, math.log(0.5) + rare(n, each)]))
    return best


def median_refused_at_least(n: float, each: float, wide: float, most: float) -> float:
    """ln P(algorithm M refuses records at the quantiles of F), at least, for a density of at most ``most``.

    Where the noisy scale makes bins so narrow that none holds more than ln^2 n records, both tests fail with
    probability 1/2 or more.
    """
    few = math.log(n) ** 2
    power = math.log(max(wide * most * n ** (2 / 3) / max(few - 1, 1e-9), 1.0)) / math.log(n)
    return scale_below(n, each, power) + math.log(0.25)


@functools.cache
def law_median(each: float, growth: float) -> float:
    """The median of |L1| growth^(L2/e), L1 and L2 standard Laplace: noise whose scale is noisy itself."""
    u = (np.arange(1200) + 0.5) / 1200
    waiting = -np.log1p(-u)
    signed = np.concatenate([-waiting, waiting])
    return float(np.median(np.outer(waiting, np.exp(signed * math.log(growth) / each))))
