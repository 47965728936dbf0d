"""Several quantiles of one column, for mechanisms that draw them together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Generic

from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.reachable import HasReachableValues
from dither.sources.grid import Grid


class HasQuantiles(ABC, Generic[Data]):
    """The quantiles of several shares of one bounded column with a public number of records.

    A change of one record moves the number of records below any point by at most 1: what joint draws rest on
    (docs/proofs/quantiles.md).
    """

    if TYPE_CHECKING:

        @property
        def shares(self) -> tuple[Fraction, ...]:
            """In rising order: public."""

        @property
        def records(self) -> int: ...
        @property
        def grid(self) -> Grid: ...

    @abstractmethod
    def each(self) -> Sequence[HasReachableValues[Data]]:
        """The single quantiles: statistics with a rank and reachable values."""
