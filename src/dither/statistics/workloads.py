"""Families of counting queries over declared finite domains (V17 Table 2.1): what they ask and how far they can move.

A counting query asks how many records satisfy a predicate.  A family knows its exact change-one sensitivity and how
to answer all its queries from one histogram of the domain.  Families over rows of bits live in ``bit_families``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument
from dither.sources.domain import declared, encode

Counts = NDArray[Any]
"""Whole numbers: int64, or Python integers where noise does not fit."""
MOST_POINTS = 1 << 22
_MOST_PREDICATES = 1 << 26
_MOST_COMPARISONS = 1 << 33


class Family(ABC):
    """Counting queries that are asked together."""

    name: str
    size: int
    """The number of points of the domain."""
    queries: int

    @property
    @abstractmethod
    def sensitivity(self) -> int:
        """The greatest number of answers that one changed record moves, each by 1: S in l1 and S squared in l2."""

    @property
    @abstractmethod
    def points_counted(self) -> NDArray[np.int64]:
        """For each query, how many points of the domain it counts."""

    @abstractmethod
    def labels(self) -> Iterator[Any]:
        """What each query asks, in order."""

    @abstractmethod
    def read(self, data: Any, other: Any = None) -> NDArray[Any]:
        """The records in the form that the other methods take: private."""

    @abstractmethod
    def histogram(self, records: NDArray[Any]) -> NDArray[np.int64]:
        """How many records lie at each point of the domain: private."""

    @abstractmethod
    def from_histogram(self, histogram: Counts) -> Counts:
        """All answers as sums over a histogram, true or noisy."""

    def counts(self, records: NDArray[Any]) -> Counts:
        """The true answers: private."""
        return self.from_histogram(self.histogram(records))


@dataclass(frozen=True)
class _Listed(Family):
    """A domain given by its values, in order."""

    values: tuple[Hashable, ...]

    @property
    def size(self) -> int:  # type: ignore[override]
        return len(self.values)

    @property
    def queries(self) -> int:  # type: ignore[override]
        return len(self.values)

    def labels(self) -> Iterator[Any]:
        return iter(self.values)

    def read(self, data: Any, other: Any = None) -> NDArray[Any]:
        return encode(data, self.values, "values", other)

    def histogram(self, records: NDArray[Any]) -> NDArray[np.int64]:
        return np.bincount(records, minlength=self.size).astype(np.int64)


class Points(_Listed):
    """How many records equal each value."""

    name = "points"

    @property
    def sensitivity(self) -> int:
        return 2

    @property
    def points_counted(self) -> NDArray[np.int64]:
        return np.ones(self.size, dtype=np.int64)

    def from_histogram(self, histogram: Counts) -> Counts:
        return histogram


class Thresholds(_Listed):
    """How many records are at or before each value, in the declared order."""

    name = "thresholds"

    @property
    def sensitivity(self) -> int:
        # From the first value to the last; the last query counts everyone and never moves.
        return self.size - 1

    @property
    def points_counted(self) -> NDArray[np.int64]:
        return np.arange(1, self.size + 1, dtype=np.int64)

    def from_histogram(self, histogram: Counts) -> Counts:
        return np.cumsum(histogram)


@dataclass(frozen=True, eq=False)
class Predicates(_Listed):
    """Any counting queries, as a table of truth values: one row for each query, one column for each value."""

    table: NDArray[np.bool_]
    name = "predicates"

    @property
    def queries(self) -> int:  # type: ignore[override]
        return len(self.table)

    @cached_property
    def _moved(self) -> int:
        columns = self.table.T.astype(np.int32)
        weights = columns.sum(axis=1)
        if self.table.size * self.size > _MOST_COMPARISONS:
            # Too many pairs to compare: a bound that no pair exceeds.
            return min(self.queries, int(np.sort(weights)[-2:].sum()))
        # |u - v| = |u| + |v| - 2 u.v for zeros and ones.
        return max(int((weights[i] + weights - 2 * (columns @ columns[i])).max()) for i in range(self.size))

    @property
    def sensitivity(self) -> int:
        return self._moved

    @property
    def points_counted(self) -> NDArray[np.int64]:
        return np.asarray(self.table.sum(axis=1), dtype=np.int64)

    def labels(self) -> Iterator[Any]:
        return iter(range(self.queries))

    def from_histogram(self, histogram: Counts) -> Counts:
        return self.table.astype(histogram.dtype) @ histogram


def points(values: Any) -> Points:
    """All queries "how many records equal v".

    >>> points("abc").sensitivity
    2
    """
    return Points(_values(values))


def thresholds(values: Any) -> Thresholds:
    """All queries "how many records are at or before v" in the declared order.

    >>> thresholds(range(10)).sensitivity
    9
    """
    if isinstance(values, (set, frozenset)):
        raise InvalidArgument("values", type(values), "a sequence is accepted: a set has no order")
    return Thresholds(_values(values))


def predicates(asked: Iterable[Callable[[Any], Any]], *, values: Any) -> Predicates:
    """Any counting queries, as predicates on the declared values; evaluated on the values, never on records.

    >>> predicates([lambda v: v > 1, lambda v: v % 2 == 0], values=range(4)).sensitivity
    2
    """
    known, listed = _values(values), tuple(asked)
    if not listed or not all(callable(one) for one in listed):
        raise InvalidArgument("asked", type(asked), "at least one function of a value is accepted")
    if len(listed) * len(known) > _MOST_PREDICATES:
        raise InvalidArgument("asked", f"<{len(listed)} queries>", f"at most {_MOST_PREDICATES} truth values in all")
    table = np.array([[bool(one(value)) for value in known] for one in listed], dtype=bool)
    if bool((table == table[:, :1]).all()):
        raise InvalidArgument("asked", type(asked), "at least one query that tells two values apart is accepted")
    return Predicates(known, table)


def _values(values: Any) -> tuple[Hashable, ...]:
    known = declared(tuple(values) if isinstance(values, str) else values, "values")
    if len(known) > MOST_POINTS:
        raise InvalidArgument("values", f"<{len(known)} values>", f"at most {MOST_POINTS} values are accepted")
    return known
