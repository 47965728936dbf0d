"""Several quantiles of one column, for mechanisms that draw them together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dither.sources.grid import Grid


class HasQuantiles(ABC):
    """The quantiles of several shares of one bounded column with a public number of records.

    A change of one record moves the number of records below any point by at most 1: what joint draws rest on
    (docs/proofs/quantiles.md).
    """

    shares: tuple[Fraction, ...]
    """In rising order: public."""
    records: int
    grid: Grid

    @abstractmethod
    def each(self) -> Sequence[Any]:
        """The single quantiles: statistics with a rank and reachable values."""
