"""Public grids of numbers nobody has bounded: whole codes that rise with the value, with room for missing entries."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.kernels.elementary import Floats
from dither.procedures.floating import FloatingGrid

LEAST_BITS, MOST_BITS = 6, 20
"""Of an octave: answers are exact to a 64th of themselves at least, whole numbers up to two millions at most."""
SMALLEST = -32
"""Real numbers below 2**-32 are evenly spaced; none above 2**64 is told apart."""
FAILS = 7.0
"""e^-7: how rarely an answer may be from outside of the bulk of the data."""


@dataclass(frozen=True)
class Codes:
    """Codes from 0 to ``missing``; the last is that of entries without a value, which lie above all numbers."""

    bits: int
    whole: bool

    @property
    def floating(self) -> FloatingGrid:
        """The numbers: whole ones have codes of their own as far as the bits reach."""
        return FloatingGrid(1.0, bits=self.bits, lowest=self.bits if self.whole else SMALLEST)

    @property
    def missing(self) -> int:
        """The largest code."""
        return 2 * self.floating.top + 1

    @property
    def nats(self) -> float:
        """What a draw among all codes needs: that many ranks times its rate keep it near the quantile."""
        return math.log(self.missing + 1) + FAILS

    def of(self, numbers: Floats) -> NDArray[np.int64]:
        """Private: the code of each number; whole numbers are rounded down."""
        present = ~np.isnan(numbers)
        filled = np.where(present, np.floor(numbers) if self.whole else numbers, 0.0)
        return np.where(present, self.floating.codes(filled + 0.0) + self.floating.top, self.missing).astype(np.int64)

    def value(self, code: int) -> float | None:
        """The number of a code; None for that of missing entries."""
        return None if code >= self.missing else self.floating.value(code - self.floating.top) + 0.0

    def ends(self, low: int, high: int) -> tuple[float, float]:
        """All numbers whose codes lie between two, both included: a code stands for all up to the next from zero."""
        grid = self.floating
        low, high = min(low, self.missing - 1) - grid.top, min(high, self.missing - 1) - grid.top
        first = grid.value(low if low > 0 else low - 1)
        last = grid.value(high if high < 0 else high + 1)
        if self.whole:  # (the ends themselves belong to the next codes, unless they have one of their own)
            first = grid.value(low) if low > 0 else math.floor(first) + 1
            last = grid.value(high) if high < 0 else math.ceil(last) - 1
        return first + 0.0, last + 0.0
