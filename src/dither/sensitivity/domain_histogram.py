"""Counting queries over a finite domain: every number is a sum over one histogram."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray


class HasDomainHistogram(ABC):
    """Several counts, each of which is a sum over the histogram of a declared finite domain (V17 Theorem 2.9)."""

    domain_size: int
    """The number of points of the domain: public."""
    histogram_sensitivity: int
    """How far one change can move the histogram in l1: public."""
    public_records: int | None
    """The number of records where that is public, else None."""
    points_counted: NDArray[np.int64]
    """For each count, how many points of the domain it sums over: public."""

    @abstractmethod
    def histogram(self, data: Any) -> NDArray[np.int64]:
        """How many records lie at each point of the domain: private."""

    @abstractmethod
    def from_histogram(self, histogram: NDArray[Any]) -> NDArray[Any]:
        """All counts as sums over a histogram, true or noisy."""
