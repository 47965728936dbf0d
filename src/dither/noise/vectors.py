"""Long vectors of exactly rounded draws: floats decide where their proved error allows it, balls elsewhere.

Every entry starts from a 64-bit prefix of its own uniform real.  The float path computes the noise with an
error bound; where the bounded interval does not straddle a rounding boundary its rounding *is* the exact one.
The few others continue on a tape with the same prefix, so the result is the exact draw for that tape in every
case, and which path was taken changes nothing but time.  Proof: docs/proofs/elementary.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.kernels.elementary import EXP_ERROR, LOG_ERROR, Floats, Integers, exp, log
from dither.noise.discrete_exponential import geometric, settle_geometric
from dither.noise.entropy import LazyBits, Source, random_words, system
from dither.noise.exact import settle
from dither.noise.heavy_tails import PowerLaw
from dither.noise.laplace import Laplace, settle_integer_laplace
from dither.noise.law import Law
from dither.numbers import Real

_CHUNK = 1 << 16
_TRUSTED = float(1 << 51)
_U = 2.0**-53


def rounded_draws(law: Law, count: int, scale: Real, *, source: Source = system) -> Integers:
    """``count`` independent copies of ``floor(scale * Z + 1/2)``.

    The scale may be a secret; the time then is one too (how many entries floats cannot decide grows with it).
    """
    fast, size = _FAST.get(type(law)), _float(scale)
    if fast is None or not 2.0**-200 < size < _TRUSTED:
        return _collect([settle(law, 0, scale, LazyBits(128, source)) for _ in range(count)])
    parts = []
    for start in range(0, count, _CHUNK):
        words = random_words(min(_CHUNK, count - start), source)
        noise, error = fast(law, words, size)
        total = noise + 0.5
        below = np.floor(total)
        # One more rounding happened in the sum; NaN and huge entries compare as undecided.
        error = error + 2.0 * _U * (np.abs(total) + 1.0)
        decided = (total - below > error) & (below + 1.0 - total > error) & (np.abs(total) < _TRUSTED)
        parts.append(_repair(below, decided, words, lambda bits: settle(law, 0, scale, bits), source))
    return _join(parts)


def integer_laplace_draws(count: int, scale: Real, *, source: Source = system) -> Integers:
    """``count`` independent integers with P(k) proportional to ``e^{-|k| / scale}``."""
    size = _float(scale)
    if not 2.0**-200 < size < _TRUSTED:
        return _collect([settle_integer_laplace(0, scale, LazyBits(128, source)) for _ in range(count)])
    parts = []
    for start in range(0, count, _CHUNK):
        chunk = min(_CHUNK, count - start)
        words = random_words(2 * chunk, source).reshape(2, chunk)
        halves, decided = [], np.ones(chunk, dtype=bool)
        for half in words:
            below, surely = _geometric(half, size)
            decided &= surely
            halves.append(below)
        difference = halves[0] - halves[1]
        parts.append(_repair(difference, decided, words.T, lambda bits: settle_integer_laplace(0, scale, bits), source))
    return _join(parts)


def geometric_draws(count: int, rate: Fraction, *, source: Source = system) -> list[int]:
    """``count`` independent copies of ``floor(-ln V / rate)``: at least k with probability ``e^{-rate k}``."""
    size = _float(1 / rate)
    if not 2.0**-200 < size < _TRUSTED:
        return [geometric(rate, source) for _ in range(count)]
    words = random_words(count, source)
    below, decided = _geometric(words, size)
    drawn: list[int] = _repair(below, decided, words, lambda bits: settle_geometric(rate, bits), source).tolist()
    return drawn


def _geometric(words: NDArray[np.uint64], size: float) -> tuple[Floats, NDArray[np.bool_]]:
    """``floor(-size ln V)`` for the reals that begin with these bits, and whether floats are sure of it."""
    length, error = _exponential(words)
    length = size * length
    error = size * error + 4.0 * _U * (length + 1.0)
    below = np.floor(length)
    return below, (length - below > error) & (below + 1.0 - length > error) & (length < _TRUSTED)


def _float(scale: Real) -> float:
    """The scale as a float; 0 if it is no rational or too large, which sends every entry to the balls."""
    if not isinstance(scale, (int, Fraction)) or scale > _TRUSTED:
        return 0.0
    return float(scale)


def _laplace(_: Law, words: NDArray[np.uint64], scale: float) -> tuple[Floats, Floats]:
    """scale * Z and a bound on its absolute error; the top bit is the sign (as in LazyBits.signed)."""
    length, error = _exponential(words << np.uint64(1))
    return _signed(words, scale * length), scale * (error + 4.0 * _U * (length + 1.0))


def _power_law(law: Law, words: NDArray[np.uint64], scale: float) -> tuple[Floats, Floats]:
    if not isinstance(law, PowerLaw):
        raise TypeError(law)
    root = float(1 / (law.power - 1))
    length, error = _exponential(words << np.uint64(1))
    exponent = root * length
    # The root and the product are each rounded once; e^x with x off by d is off by a factor below 1 + 2d.
    off = root * error + 4.0 * _U * exponent
    grown = exp(np.minimum(exponent, 500.0))
    relative = 2.0 * off + 2.0 * EXP_ERROR
    usable = (exponent < 500.0) & (relative < 0.01)
    size = scale * (grown - 1.0)
    bound = np.where(usable, scale * grown * (relative + 8.0 * _U), np.inf)
    return _signed(words, size), bound


_FAST = {Laplace: _laplace, PowerLaw: _power_law}


def _exponential(words: NDArray[np.uint64]) -> tuple[Floats, Floats]:
    """-ln V for the reals that begin with these 64 bits, with an error bound.

    Only the first 52 bits are used, f = floor(2^52 V): then ln(2^52 V) - ln f lies in [0, 1/f].  (The sign
    takes one bit of the 64, and after the shift the last bit is unknown: 52 bits are known in both uses.)
    """
    known = (words >> np.uint64(12)).astype(np.float64)
    safe = np.maximum(known, 1.0)
    length = 52.0 * 0.6931471805599453 - log(safe)
    error = np.where(known >= 2.0**10, 1.0 / safe + LOG_ERROR + 2.0**-45, np.inf)
    return np.maximum(length, 0.0), error


def _signed(words: NDArray[np.uint64], size: Floats) -> Floats:
    return np.where((words >> np.uint64(63)).astype(bool), size, -size)


def _repair(
    values: Floats,
    decided: NDArray[np.bool_],
    words: NDArray[np.uint64],
    settled: Callable[[LazyBits], int],
    source: Source,
) -> Integers:
    """Fill in the entries that floats could not decide, continuing on the same bits."""
    undecided = np.flatnonzero(~decided)
    whole = np.where(decided, values, 0.0).astype(np.int64)
    if undecided.size == 0:
        return whole
    repaired = [settled(LazyBits.continuing([int(w) for w in np.atleast_1d(words[i])], 64, source)) for i in undecided]
    if any(abs(value) >= 1 << 62 for value in repaired):
        whole = whole.astype(object)
    whole[undecided] = repaired
    return whole


def _collect(values: list[int]) -> Integers:
    small = all(abs(value) < 1 << 62 for value in values)
    return np.array(values, dtype=np.int64 if small else object)


def _join(parts: list[Integers]) -> Integers:
    if not parts:
        return np.zeros(0, dtype=np.int64)
    dtype = object if any(part.dtype == object for part in parts) else np.int64
    return np.concatenate([part.astype(dtype) for part in parts])
