"""Between which ranks of a sample a quantile of its population lies: exact binomial tails.

Of n records that were drawn independently from one law, the number below its q-quantile is at most binomial with
(n, q), and the number at or below it at least that: docs/proofs/intervals.md, section 6.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from statistics import NormalDist

from dither.numbers import ball, precision

_PRECISIONS = (128, 256, 512)


def sampling_ranks(records: int, share: Fraction, miss: Fraction) -> tuple[int, int]:
    """Ranks a < b with ``x_(a) <= quantile <= x_(b)`` but for a chance of at most ``miss``, half of it on either side.

    ``a = 0`` and ``b = records + 1`` are the bounds.  Both rise by 0 or 1 with each further record, and so does the
    number of records above b, because a binomial variable of n + 1 trials is one of n trials or that plus 1.
    """
    return _below(records, share, miss / 2), records + 1 - _below(records, 1 - share, miss / 2)


known_sampling_ranks = functools.lru_cache(maxsize=256)(sampling_ranks)
"""The same, remembered: for public numbers of records."""


def _below(records: int, share: Fraction, limit: Fraction) -> int:
    """The largest a for which fewer than a of so many records have a chance of at most ``limit`` to lie below."""
    spread = math.sqrt(float(records * share * (1 - share)))
    guess = math.floor(float(records * share) + NormalDist().inv_cdf(float(limit)) * spread)

    def fits(rank: int) -> bool:
        return is_rare(records, share, rank - 1, limit)

    low, step = min(max(guess, 0), records), 1
    while not fits(low):  # (0 does)
        low, step = max(low - step, 0), 2 * step
    high, step = low + 1, 1
    while fits(high):  # (records + 1 does not)
        low, high, step = high, min(high + step, records + 1), 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def is_rare(records: int, share: Fraction, most: int, limit: Fraction) -> bool:
    """Whether a binomial variable is at most ``most`` with a chance of at most ``limit``, exactly."""
    if most < 0:
        return True
    if most >= records:
        return limit >= 1
    for bits in _PRECISIONS:
        with precision(bits):
            chance = ball(1 - share).beta_lower(ball(records - most), ball(most + 1), regularized=True)
            if chance <= ball(limit):
                return True
            if chance > ball(limit):
                return False
    # As good as equal: add the terms up.
    over, under = share.numerator, share.denominator
    terms = (math.comb(records, k) * over**k * (under - over) ** (records - k) for k in range(most + 1))
    return Fraction(sum(terms), under**records) <= limit
