"""Private statistics of an array in memory, and numpy's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

import dither as dt

BOUNDS = (0.0, 600_000.0)
STEP = 2.0**-18
"""About the step of the grid that a range of this size has."""
SHARES = [0.1, 0.25, 0.5, 0.75, 0.9]
EDGES = np.linspace(*BOUNDS, 51)

Work = Callable[[], None]


class ArrayOptions(TypedDict):
    """Nothing is asked beside the task."""


class ArrayData(TypedDict):
    """The records."""

    x: NDArray[np.float64]


def _work(function: Callable[[NDArray[np.float64]], object], data: ArrayData) -> Work:
    def work() -> None:
        function(data["x"])

    return work


def median(options: ArrayOptions, data: ArrayData) -> Work:
    """Private."""
    return _work(lambda x: dt.median(x, bounds=BOUNDS, epsilon=1.0), data)


def quantile(options: ArrayOptions, data: ArrayData) -> Work:
    """Private: the ninth decile."""
    return _work(lambda x: dt.quantile(x, q=0.9, bounds=BOUNDS, epsilon=1.0), data)


def minimum(options: ArrayOptions, data: ArrayData) -> Work:
    """Private."""
    return _work(lambda x: dt.minimum(x, bounds=BOUNDS, epsilon=1.0), data)


def maximum(options: ArrayOptions, data: ArrayData) -> Work:
    """Private."""
    return _work(lambda x: dt.maximum(x, bounds=BOUNDS, epsilon=1.0), data)


def trimmed_mean(options: ArrayOptions, data: ArrayData) -> Work:
    """Private."""
    return _work(lambda x: dt.trimmed_mean(x, trim=0.1, bounds=BOUNDS, epsilon=1.0), data)


def quantiles(options: ArrayOptions, data: ArrayData) -> Work:
    """Private: five."""
    return _work(lambda x: dt.quantiles(x, q=SHARES, bounds=BOUNDS, epsilon=1.0), data)


def mean(options: ArrayOptions, data: ArrayData) -> Work:
    """Private."""
    return _work(lambda x: dt.mean(x, bounds=BOUNDS, epsilon=1.0, nulls="lower"), data)


def sum(options: ArrayOptions, data: ArrayData) -> Work:
    """Private."""
    return _work(lambda x: dt.sum(x, bounds=BOUNDS, epsilon=1.0, nulls="lower"), data)


def variance(options: ArrayOptions, data: ArrayData) -> Work:
    """Private."""
    return _work(lambda x: dt.variance(x, bounds=BOUNDS, epsilon=1.0, nulls="lower"), data)


def histogram(options: ArrayOptions, data: ArrayData) -> Work:
    """Private: fifty bins."""
    return _work(lambda x: dt.histogram(x, edges=EDGES.tolist(), epsilon=1.0), data)


def plain_median(options: ArrayOptions, data: ArrayData) -> Work:
    """numpy's."""
    return _work(np.median, data)


def plain_quantiles(options: ArrayOptions, data: ArrayData) -> Work:
    """numpy's, the same five."""
    return _work(lambda x: np.quantile(x, SHARES), data)


def plain_sum(options: ArrayOptions, data: ArrayData) -> Work:
    """What an exact sum of clamped, rounded records is in numpy."""
    return _work(lambda x: np.rint(np.clip(x, *BOUNDS) / STEP).astype(np.int64).sum(), data)


def plain_variance(options: ArrayOptions, data: ArrayData) -> Work:
    """numpy's."""
    return _work(np.var, data)


def plain_histogram(options: ArrayOptions, data: ArrayData) -> Work:
    """numpy's, the same bins."""
    return _work(lambda x: np.histogram(x, EDGES), data)
