"""How unevenly an answer splits the records, for draws on a grid that is the unit of the records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Generic

import numpy as np

from dither.privacy import Neighbours
from dither.sensitivity.global_sensitivity import Data
from dither.sources.column import RankedRecords


class HasMiddleScore(ABC, Generic[Data]):
    """A quantile, whose answers can be scored by how unevenly they split the records.

    With ``q = a/b`` an answer z has the imbalance ``(b - a) #{x < z} - a #{x > z}``: a whole number that never falls
    with z, and that is nearest to zero where z splits the records best (docs/proofs/middle_score.md).
    """

    if TYPE_CHECKING:

        @property
        def neighbours(self) -> Neighbours: ...

        @property
        def share(self) -> Fraction | None: ...

    @property
    def has_middle(self) -> bool:
        """True of a quantile strictly between 0 and 1: public."""
        return self.share is not None and 0 < self.share < 1

    @property
    def middle_share(self) -> Fraction:
        """The q of such a quantile: public."""
        if self.share is None or not self.has_middle:
            raise RuntimeError("no imbalance says which extreme or which rank is meant")
        return self.share

    @abstractmethod
    def imbalance(self, data: Data) -> Callable[[int], int]:
        """The imbalance of every grid point: private."""

    @property
    def imbalance_sensitivity(self) -> int:
        """How far one change can move the imbalance of any point: public."""
        share = self.middle_share
        if self.neighbours is Neighbours.ADD_REMOVE:
            return max(share.numerator, share.denominator - share.numerator)
        return share.denominator


def split_by(data: RankedRecords, share: Fraction) -> Callable[[int], int]:
    """The imbalance of these records: private."""
    above, whole, records = share.numerator, share.denominator, data.records
    if not records:
        return lambda point: 0
    _, values, counts = data.runs(1, records)
    up_to = np.cumsum(counts)

    def imbalance(point: int) -> int:
        place = int(np.searchsorted(values, point))
        below = int(up_to[place - 1]) if place else 0
        tied = int(counts[place]) if place < len(values) and int(values[place]) == point else 0
        return (whole - above) * below - above * (records - below - tied)

    return imbalance
