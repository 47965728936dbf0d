"""The power of an audit: the exact probability that a violation is found, and the samples that it takes."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betainccinv
from scipy.stats import binom

from dither.errors import InvalidArgument
from dither.privacy import Loss
from dither_lab.audit.blackbox import FAILURE

MOST_SAMPLES = 1 << 40


def detection_probability(
    likely: float,
    rare: float,
    *,
    claimed: Loss,
    samples: int,
    failure_probability: float = FAILURE,
    tests: int = 2,
) -> float:
    """The probability that ``samples`` test runs on either side refute a claim, for one event.

    likely, rare: the true probabilities of the event on the two datasets.
    tests: how many events share the failure probability; a learning attack has one in either direction.

    Theorem    docs/proofs/audit.md section 3: a sum over the counts of the rare side, up to 1e-13 of its mass.

    >>> 0.99 < detection_probability(0.5, 0.5 * np.exp(-2.5), claimed=Loss(2.0), samples=8_500) < 1
    True
    """
    share = failure_probability / tests / 2.0
    counts = np.arange(int(binom.ppf(1e-13, samples, rare)), int(binom.isf(1e-13, samples, rare)) + 1)
    ceiling = np.ones(len(counts))
    inside = counts < samples
    ceiling[inside] = betainccinv(counts[inside] + 1, samples - counts[inside], share)
    needed = math.exp(claimed.epsilon) * ceiling + claimed.delta
    # The lower bound passes t exactly when so many hits would be a surprise at t: P(Bin(t) >= hits) < share.
    least = np.where(needed < 1.0, binom.isf(share, samples, np.minimum(needed, 1.0)) + 1, samples + 1)
    return float(np.sum(binom.pmf(counts, samples, rare) * binom.sf(least - 1, samples, likely)))


def samples_needed(
    rare: float,
    *,
    claimed: Loss,
    factor: float,
    power: float = 0.99,
    failure_probability: float = FAILURE,
    tests: int = 2,
    learns: bool = True,
) -> int:
    """How many runs on either side detect, with probability ``power``, an epsilon ``factor`` times the claimed one.

    rare: the probability of the worst event on the side where it is rarer; on the other side it then is
    ``e^(factor epsilon) rare + delta``.
    learns: half of the runs choose the event and are not tested.

    >>> few, many = (samples_needed(q, claimed=Loss(2.0), factor=1.25) for q in (0.04, 0.004))
    >>> 15_000 < few < 18_000 and 170_000 < many < 200_000
    True
    """
    likely = math.exp(factor * claimed.epsilon) * rare + claimed.delta
    if not factor > 1.0:
        raise InvalidArgument("factor", factor, "must be a number above 1")
    if not (rare > 0.0 and likely <= 1.0):
        most = (1.0 - claimed.delta) * math.exp(-factor * claimed.epsilon)
        raise InvalidArgument("rare", rare, f"must be a probability in (0, {most:.3g}]")

    def sees(samples: int) -> bool:
        result = detection_probability(
            likely, rare, claimed=claimed, samples=samples, failure_probability=failure_probability, tests=tests
        )
        return result >= power

    high = 16
    while not sees(high):
        high *= 2
        if high > MOST_SAMPLES:
            raise InvalidArgument("factor", factor, f"must be larger: more than {MOST_SAMPLES} samples would be needed")
    low = high // 2
    # To one percent: the probability is not quite monotone in the number of samples.
    while high - low > max(high // 100, 1):
        middle = (low + high) // 2
        low, high = (low, middle) if sees(middle) else (middle, high)
    return 2 * high if learns else high
