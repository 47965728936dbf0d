"""The variance of a selection: behind a filter or in a group the number of records is private.

Proof: docs/proofs/filtered.md, section 3; enumerated in tests/statistics/test_unknown_size.py.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from dither.kernels.elementary import exp
from dither.privacy import Neighbours
from dither.sensitivity.ladder import DEEPEST, Algorithm, Ladder, Sensitivities, rounded_up, usable_rate
from dither.sources.column import RankedRecords
from dither.sources.grid import Grid
from dither.statistics.statistic import FITTED_FIRST, Statistic

FINE_STEPS = 60
"""Variances are released in steps of at most 2**-60 of the squared width of the bounds."""


@dataclass(frozen=True)
class FilteredVariance(Statistic[RankedRecords]):
    """The variance of the selected records, divided by n or by n - 1; 0 where that is not above 0.

    Guarantee  Rungs ``(hi - lo)^2 / max(1, n - k)``, at most the range of variances, rounded up on the grid of answers.
    Theorem    docs/proofs/filtered.md, section 3.
    """

    column: Grid
    ddof: Literal[0, 1]
    neighbours: Neighbours
    beta_per_epsilon = Fraction(1, 5)
    mechanism_preference = FITTED_FIRST

    @property
    def records_on(self) -> Grid:
        return self.column

    @property
    def _square(self) -> int:
        """The squared width of the bounds, in steps of the answers: a multiple of 4."""
        low, high = self.column.ends
        return (high - low) ** 2 * self._finer

    @property
    def _finer(self) -> int:
        low, high = self.column.ends
        return 4 << max(0, FINE_STEPS - ((high - low) ** 2).bit_length() + 1)

    @functools.cached_property
    def answers(self) -> Grid:
        # Half of the records at either end; divided by n - 1, two of them at different ends.
        return Grid(self.column.step**2 / self._finer, 0, self._square // (4 if self.ddof == 0 else 2))

    @property
    def global_sensitivity(self) -> int:
        return self.answers.ends[1]

    def value(self, data: RankedRecords) -> int:
        total, squares = data.moments()
        n = data.records
        if n <= self.ddof:
            return 0
        return (n * squares - total**2) * self._finer // (n * (n - self.ddof))

    def ladder(self, data: RankedRecords, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return self.ladder_of_count(data.records)

    def ladder_of_count(self, records: int) -> Ladder:
        return VarianceLadder(records, self._square, self.global_sensitivity)


class VarianceLadder(Ladder):
    """Rungs ``min(range, ceil(width^2 / max(1, n - k)))``, with a smooth bound in closed form."""

    def __init__(self, records: int, square: int, global_sensitivity: int) -> None:
        super().__init__(self._explicit, global_sensitivity, top=max(0, records - 1))
        self._records, self._square = records, square

    def _explicit(self, start: int, stop: int) -> Sensitivities:
        rungs = (-(-self._square // max(1, self._records - k)) for k in range(start, stop))
        return np.array([min(self.global_sensitivity, rung) for rung in rungs], dtype=object)

    def smooth(self, beta: Fraction) -> Fraction:
        """``min(range, max(s / n, s e^{-beta (n-1)}) + 1)`` with s the squared width, as for means."""
        rate, records = usable_rate(beta), max(self._records, 1)
        last = float(exp(np.array([-min(rate * (records - 1), DEEPEST)]))[0])
        return min(Fraction(self.global_sensitivity), self._square * max(Fraction(1, records), rounded_up(last)) + 1)
