"""Floats rounded to a public grid, and exact sums of what they are rounded to, in pieces that stay in the cache."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PIECE = 1 << 15
"""So many values are rounded at a time."""
_PART = 1 << 13
"""Inner products of so many numbers are taken at a time: longer ones would start threads, which cost more."""
_EXACT_BITS = 53
"""Whole numbers of up to so many bits are floats, and so is every partial sum of such that stays below."""

Floats = NDArray[np.float64]


class Rounding(NamedTuple):
    """How a number becomes one of steps: divided, rounded (halves to even), clamped; NaN is ``missing``."""

    size: float
    """Of a step."""
    low: int
    high: int
    missing: int

    def steps(self, values: NDArray[np.generic]) -> NDArray[np.int64]:
        """Of every value, one by one."""
        steps = np.empty(len(values), dtype=np.int64)
        first = 0
        for piece in self._pieces(values):
            steps[first : first + len(piece)] = piece
            first += len(piece)
        return steps

    def can_sum(self, powers: int) -> bool:
        """Whether sums of a piece, and of squares where ``powers`` is 2, fit into floats: see ``sums``."""
        bits = (self.high - self.low).bit_length()
        return bits + bits % 2 * (powers - 1) + PIECE.bit_length() - 1 <= _EXACT_BITS

    def sums(self, values: NDArray[np.generic], powers: int) -> tuple[int, ...]:
        """The sum of the steps above ``low``, and that of their squares where ``powers`` is 2: exact.

        Every number added is whole, and what a piece of them adds up to has at most 53 bits (``can_sum``): no float
        rounds anything, whatever the order.  Squares are put together of the products of two limbs.
        """
        bits = ((self.high - self.low).bit_length() + 1) // 2
        limb, total, parts = math.ldexp(1.0, bits), 0, [0, 0, 0]
        upper, rest = np.empty(PIECE), np.empty(PIECE)
        for steps in self._pieces(values):
            if self.low:
                np.subtract(steps, self.low, out=steps)
            total += int(steps.sum())
            if powers == 2:
                a, b = upper[: len(steps)], rest[: len(steps)]
                np.multiply(steps, 1.0 / limb, out=a)
                np.floor(a, out=a)
                np.multiply(a, -limb, out=b)
                np.add(b, steps, out=b)
                for first in range(0, len(steps), _PART):
                    left, right = a[first : first + _PART], b[first : first + _PART]
                    for place, pair in enumerate(((left, left), (left, right), (right, right))):
                        parts[place] += int(np.dot(*pair))
        square = (((parts[0] << bits) + 2 * parts[1]) << bits) + parts[2]
        return (total, square)[:powers]

    def _pieces(self, values: NDArray[np.generic]) -> Iterator[Floats]:
        """The steps of a piece of the values after the other, as floats, all in the same memory."""
        scaled = np.empty(min(PIECE, len(values)))
        for first in range(0, len(values), PIECE):
            piece = values[first : first + PIECE]
            yield self._rounded(piece, scaled[: len(piece)])

    @np.errstate(over="ignore", invalid="ignore", under="ignore")
    def _rounded(self, values: NDArray[np.generic], out: Floats) -> Floats:
        if math.frexp(self.size)[0] == 0.5:  # (then its inverse is a float too, and multiplying is faster)
            np.multiply(values, 1.0 / self.size, out=out, dtype=np.float64)
        else:
            np.true_divide(values, self.size, out=out, dtype=np.float64)
        np.rint(out, out=out)
        if self.missing == self.high:  # (of NaN and a number fmin and fmax are the number)
            np.fmin(out, self.high, out=out)
        elif self.missing != self.low:
            np.copyto(out, self.missing, where=np.isnan(out))
        np.fmax(out, self.low, out=out)
        if self.missing != self.high:
            np.minimum(out, self.high, out=out)
        return out
