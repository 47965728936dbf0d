"""Counting queries over a finite domain: every number is a sum over one histogram."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic

import numpy as np
from numpy.typing import NDArray

from dither.kernels.elementary import Integers
from dither.sensitivity.global_sensitivity import Data


class HasDomainHistogram(ABC, Generic[Data]):
    """Several counts, each of which is a sum over the histogram of a declared finite domain (V17 Theorem 2.9)."""

    if TYPE_CHECKING:

        @property
        def domain_size(self) -> int:
            """The number of points of the domain: public."""

        @property
        def histogram_sensitivity(self) -> int:
            """How far one change can move the histogram in l1: public."""

        @property
        def public_records(self) -> int | None:
            """The number of records where that is public, else None."""

        @property
        def points_counted(self) -> NDArray[np.int64]:
            """For each count, how many points of the domain it sums over: public."""

    @abstractmethod
    def histogram(self, data: Data) -> NDArray[np.int64]:
        """How many records lie at each point of the domain: private."""

    @abstractmethod
    def from_histogram(self, histogram: Integers) -> Integers:
        """All counts as sums over a histogram, true or noisy."""
