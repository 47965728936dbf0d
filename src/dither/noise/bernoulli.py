"""Exact coins and uniform integers, many at a time.

A coin compares a uniform real with a computable chance.  Its first 64 bits decide unless they agree with the first
64 bits of the chance, which happens once in 2**64 coins; then more bits of the same real are read.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.noise.entropy import LazyBits, Source, random_words, system
from dither.noise.exact import GUARD_BITS
from dither.numbers import Real, ball, precision

_WORD = 64


def coins(count: int, chance: Real, *, source: Source = system) -> NDArray[np.bool_]:
    """``count`` independent coins, each true with probability exactly ``chance``, which lies in [0, 1).

    Give the smaller of the two chances: a chance within 2**-64 of 1 needs many digits to differ from 1.
    Cost: O(count), 10 ns a coin.
    """
    words, cut = random_words(count, source), leading_word(chance)
    heads: NDArray[np.bool_] = words < np.uint64(cut)
    for index in np.flatnonzero(words == np.uint64(cut)):
        heads[index] = settle_coin(chance, LazyBits.continuing([cut], _WORD, source))
    return heads


def leading_word(chance: Real) -> int:
    """``floor(2**64 chance)``: words below it are surely heads, words above it surely tails."""
    for doublings in range(1, 12):
        with precision(_WORD << doublings):
            scaled = ball(chance) * ball(1 << _WORD)
            low = scaled.lower().floor().unique_fmpz()
            high = scaled.upper().floor().unique_fmpz()
        # A chance that underflows is a ball around zero, but no chance is negative.
        if low is not None and high is not None and max(int(low), 0) == int(high):
            return int(high)
    raise RuntimeError("a chance that is a multiple of 2**-64 must be given exactly, not as an approximation")


def settle_coin(chance: Real, bits: LazyBits) -> bool:
    """Read the tape until it decides whether its real lies below ``chance``."""
    while True:
        with precision(bits.bits + GUARD_BITS):
            uniform, cut = bits.uniform(0), ball(chance)
            if uniform < cut:
                return True
            if uniform > cut:
                return False
        bits.extend()


def uniform_integers(count: int, bound: int, *, source: Source = system) -> NDArray[np.int64]:
    """``count`` independent uniform integers in [0, bound), bound at most 2**32; rejection from 64-bit words."""
    if not 1 <= bound <= 1 << 32:
        raise ValueError(f"bound must be a whole number from 1 to 2**32; got {bound}")
    drawn, spare = np.zeros(0, dtype=np.uint64), (1 << _WORD) % bound
    while len(drawn) < count:
        words = random_words(count - len(drawn), source)
        # The last 2**64 mod bound words would favour small remainders.
        kept = words <= np.uint64((1 << _WORD) - 1 - spare)
        drawn = np.concatenate([drawn, words[kept]])
    return (drawn % np.uint64(bound)).astype(np.int64)
