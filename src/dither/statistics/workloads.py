"""Families of counting queries over finite domains (V17 Table 2.1), and their counts as a statistic of many numbers.

A counting query asks how many records satisfy a predicate.  A family knows its exact change-one sensitivity and how to
answer all its queries from one histogram of the domain.  Families over rows of bits live in ``bit_workloads``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Generic, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument
from dither.kernels.elementary import Integers
from dither.privacy import Neighbours
from dither.sensitivity.domain_histogram import HasDomainHistogram
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.largest_change import HasLargestChange
from dither.sources.column import BinnableRecords
from dither.sources.domain import Value, declared, spelled
from dither.sources.grid import Grid
from dither.statistics.statistic import VectorStatistic

Counts: TypeAlias = Integers
Label: TypeAlias = Hashable | Mapping[int, int]
"""What a counting query asks for: a value, a place, or the values of some attributes."""
MOST_POINTS = 1 << 22
_MOST_PREDICATES = 1 << 26
_MOST_COMPARISONS = 1 << 33


class Family(ABC, Generic[Data]):
    """Counting queries that are asked together."""

    name: ClassVar[str]

    if TYPE_CHECKING:

        @property
        def size(self) -> int:
            """The number of points of the domain."""

        @property
        def queries(self) -> int: ...

    @property
    @abstractmethod
    def sensitivity(self) -> int:
        """The greatest number of answers that one changed record moves, each by 1: S in l1 and S squared in l2."""

    @property
    @abstractmethod
    def weight(self) -> int:
        """The greatest number of queries that one record satisfies: how many answers move where it comes or goes."""

    @property
    @abstractmethod
    def points_counted(self) -> NDArray[np.int64]:
        """For each query, how many points of the domain it counts."""

    @abstractmethod
    def labels(self) -> Iterator[Label]:
        """What each query asks, in order."""

    @abstractmethod
    def histogram(self, records: Data) -> NDArray[np.int64]:
        """How many records lie at each point of the domain: private."""

    @abstractmethod
    def from_histogram(self, histogram: Counts) -> Counts:
        """All answers as sums over a histogram, true or noisy."""

    def counts(self, records: Data) -> Counts:
        """The true answers: private."""
        return self.from_histogram(self.histogram(records))


@dataclass(frozen=True)
class _Listed(Family[BinnableRecords]):
    """A domain given by its values, in order; records are numbers of places in that list (a ``Column`` or binned)."""

    values: tuple[Hashable, ...]

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def queries(self) -> int:
        return len(self.values)

    def labels(self) -> Iterator[Label]:
        return iter(self.values)

    def histogram(self, records: BinnableRecords) -> NDArray[np.int64]:
        return np.array(records.bin_counts(self.size), dtype=np.int64)


class Points(_Listed):
    """How many records equal each value."""

    name = "points"

    @property
    def sensitivity(self) -> int:
        return 2

    @property
    def weight(self) -> int:
        return 1

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
    def weight(self) -> int:
        return self.size

    @property
    def points_counted(self) -> NDArray[np.int64]:
        return np.arange(1, self.size + 1, dtype=np.int64)

    def from_histogram(self, histogram: Counts) -> Counts:
        return histogram.cumsum()


@dataclass(frozen=True, eq=False)
class Predicates(_Listed):
    """Any counting queries, as a table of truth values: one row for each query, one column for each value."""

    table: NDArray[np.bool_]
    name = "predicates"

    def __eq__(self, other: object) -> bool:  # as Python has it
        if not isinstance(other, Predicates):
            return NotImplemented
        return self.values == other.values and np.array_equal(self.table, other.table)

    def __hash__(self) -> int:
        return hash((self.values, self.table.shape, self.table.tobytes()))

    @property
    def queries(self) -> int:
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
    def weight(self) -> int:
        return int(self.table.sum(axis=0).max())

    @property
    def points_counted(self) -> NDArray[np.int64]:
        return np.asarray(self.table.sum(axis=1), dtype=np.int64)

    def labels(self) -> Iterator[Label]:
        return iter(range(self.queries))

    def from_histogram(self, histogram: Counts) -> Counts:
        counts: Counts = np.matmul(self.table.astype(histogram.dtype), histogram)
        return counts


@dataclass(frozen=True)
class WorkloadCounts(VectorStatistic[Data], HasDomainHistogram[Data], HasLargestChange):
    """The counts of a family of counting queries.

    Guarantee  One changed record moves at most S of the counts, each by one: S in l1, sqrt(S) in l2, 1 in l-infinity.
               One that comes or goes moves as many as it satisfies.  ``rows`` records of one person may all move alike.
    Theorem    V17 Table 2.1 with exact S; docs/proofs/counting_queries.md.
    """

    family: Family[Data]
    labels: tuple[str, ...]
    most: int
    """The number of records, or the most there can be."""
    neighbours: Neighbours = Neighbours.CHANGE_ONE
    rows: int = 1
    mechanism_preference = ("worst_case", "noisy_histogram", "k_norm")
    prefers_least_error = True

    @property
    def rows_per_person(self) -> int:
        return self.rows

    @property
    def l1(self) -> int:
        family = self.family
        if self.neighbours is Neighbours.CHANGE_ONE:
            return self.rows * family.sensitivity
        if self.neighbours is Neighbours.ADD_REMOVE:
            return self.rows * family.weight
        return self.rows * max(family.sensitivity, family.weight)

    @property
    def l2_squared(self) -> int:
        # Counts move by whole numbers of at most ``rows`` each.
        return self.rows * self.l1

    @property
    def linf(self) -> int:
        return self.rows

    @property
    def answers(self) -> tuple[Grid, ...]:
        return (Grid(Fraction(1), 0, self.most),) * self.family.queries

    @property
    def global_sensitivities(self) -> tuple[int, ...]:
        return (1,) * self.family.queries

    @property
    def domain_size(self) -> int:
        return self.family.size

    @property
    def histogram_sensitivity(self) -> int:
        return self.rows * (1 if self.neighbours is Neighbours.ADD_REMOVE else 2)

    @property
    def public_records(self) -> int | None:
        return self.most if self.neighbours is Neighbours.CHANGE_ONE else None

    @property
    def points_counted(self) -> NDArray[np.int64]:
        return self.family.points_counted

    def values(self, data: Data) -> Sequence[int]:
        results: list[int] = self.family.counts(data).tolist()
        return results

    def histogram(self, data: Data) -> NDArray[np.int64]:
        return self.family.histogram(data)

    def from_histogram(self, histogram: Counts) -> Counts:
        return self.family.from_histogram(histogram)


def points(values: Iterable[Hashable]) -> Points:
    """All queries "how many records equal v".

    >>> points("abc").sensitivity
    2
    """
    return Points(_values(values))


def thresholds(values: Iterable[Hashable]) -> Thresholds:
    """All queries "how many records are at or before v" in the declared order.

    >>> thresholds(range(10)).sensitivity
    9
    """
    if isinstance(values, (set, frozenset)):
        raise InvalidArgument("values", type(values), "must be a sequence: a set has no order")
    return Thresholds(_values(values))


def predicates(asked: Iterable[Callable[[Value], bool]], *, values: Iterable[Value]) -> Predicates:
    """Any counting queries, as predicates on the declared values; evaluated on the values, never on records.

    >>> predicates([lambda v: v > 1, lambda v: v % 2 == 0], values=range(4)).sensitivity
    2
    """
    known, listed = _values(values), tuple(asked)
    if not listed or not all(callable(candidate) for candidate in listed):
        raise InvalidArgument("asked", type(asked), "must have at least one function of a value")
    if len(listed) * len(known) > _MOST_PREDICATES:
        raise InvalidArgument(
            "asked", f"<{len(listed)} queries>", f"must have at most {_MOST_PREDICATES} truth values in all"
        )
    table = np.array([[bool(candidate(value)) for value in known] for candidate in listed], dtype=bool)
    if bool((table == table[:, :1]).all()):
        raise InvalidArgument("asked", type(asked), "must have at least one query that distinguishes two values")
    return Predicates(known, table)


def _values(values: Iterable[Value]) -> tuple[Value, ...]:
    known = declared(spelled(values), "values")
    if len(known) > MOST_POINTS:
        raise InvalidArgument("values", f"<{len(known)} values>", f"must have at most {MOST_POINTS} values")
    return known
