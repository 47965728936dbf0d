"""Counting queries on rows of bits (V17 Table 2.1): attribute means and conjunctions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument
from dither.sources.column import Table
from dither.sources.domain import whole
from dither.statistics.workloads import Counts, Family, Label

MOST_QUERIES = 1 << 22


@dataclass(frozen=True)
class _Bits(Family[Table]):
    """The domain {0, 1}^d; records are a ``Table`` of d columns of bits, the first one most significant."""

    attributes: int

    @property
    def size(self) -> int:
        return int(1 << self.attributes)

    def matrix(self, records: Table) -> NDArray[np.int64]:
        """The rows of a table of bits: private."""
        return np.column_stack([column.values for column in records.columns]).astype(np.int64)

    def histogram(self, records: Table) -> NDArray[np.int64]:
        powers = 1 << np.arange(self.attributes - 1, -1, -1, dtype=np.int64)
        return np.bincount(self.matrix(records) @ powers, minlength=self.size).astype(np.int64)


class AttributeMeans(_Bits):
    """How many records have each attribute."""

    name = "attribute means"

    @property
    def queries(self) -> int:
        return self.attributes

    @property
    def sensitivity(self) -> int:
        return self.attributes

    @property
    def weight(self) -> int:
        return self.attributes

    @property
    def points_counted(self) -> NDArray[np.int64]:
        return np.full(self.attributes, self.size // 2, dtype=np.int64)

    def labels(self) -> Iterator[Label]:
        return iter(range(self.attributes))

    def from_histogram(self, histogram: Counts) -> Counts:
        cube = histogram.reshape((2,) * self.attributes)
        return np.array(
            [cube.take(1, axis=j).sum() for j in range(self.attributes)],
            dtype=object if histogram.dtype == object else np.int64,
        )

    def counts(self, records: Table) -> Counts:
        return np.array([column.total() for column in records.columns], dtype=np.int64)


@dataclass(frozen=True)
class Conjunctions(_Bits):
    """How many records agree with each choice of values for some attributes: ``width`` of them, or any number."""

    width: int | None
    name = "conjunctions"

    @property
    def _widths(self) -> tuple[int, ...]:
        return tuple(range(self.attributes + 1)) if self.width is None else (self.width,)

    def _places(self) -> Iterator[tuple[int, ...]]:
        return (chosen for width in self._widths for chosen in combinations(range(self.attributes), width))

    @property
    def queries(self) -> int:
        return sum(math.comb(self.attributes, width) << width for width in self._widths)

    @property
    def sensitivity(self) -> int:
        # Each record satisfies one conjunction for each choice of places; opposite records share the empty one only.
        return 2 * sum(math.comb(self.attributes, width) for width in self._widths if width)

    @property
    def weight(self) -> int:
        return sum(math.comb(self.attributes, width) for width in self._widths)

    @property
    def points_counted(self) -> NDArray[np.int64]:
        return np.repeat(
            np.array([1 << (self.attributes - width) for width in self._widths], dtype=np.int64),
            [math.comb(self.attributes, width) << width for width in self._widths],
        )

    def labels(self) -> Iterator[Mapping[int, int]]:
        return (
            dict(zip(places, wanted, strict=True))
            for places in self._places()
            for wanted in product((0, 1), repeat=len(places))
        )

    def from_histogram(self, histogram: Counts) -> Counts:
        cube, axes = histogram.reshape((2,) * self.attributes), frozenset(range(self.attributes))
        parts = [
            np.asarray(cube.sum(axis=tuple(axes - set(places))), dtype=histogram.dtype).reshape(-1)
            for places in self._places()
        ]
        return np.concatenate(parts)

    def counts(self, records: Table) -> Counts:
        parts, rows = [], self.matrix(records)
        for places in self._places():
            powers = 1 << np.arange(len(places) - 1, -1, -1, dtype=np.int64)
            codes = (rows[:, list(places)] @ powers).astype(np.int64)
            parts.append(np.bincount(codes, minlength=1 << len(places)))
        return np.concatenate(parts).astype(np.int64)


def attribute_means(attributes: int) -> AttributeMeans:
    """For rows of d bits, the d queries "how many records have attribute j"."""
    return AttributeMeans(whole("attributes", attributes, least=1, most=1 << 16))


def conjunctions(attributes: int, *, width: int | None = None) -> Conjunctions:
    """For rows of d bits, all conjunctions of ``width`` literals; of any number of literals without ``width``.

    >>> conjunctions(4, width=2).queries, conjunctions(4).queries == 3**4
    (24, True)
    """
    d = whole("attributes", attributes, least=1, most=1 << 10)
    chosen = None if width is None else whole("width", width, least=1, most=d)
    if d > 13 and chosen is None:
        raise InvalidArgument("attributes", attributes, "must be at most 13 without a width")
    family = Conjunctions(d, chosen)
    if family.queries > MOST_QUERIES:
        raise InvalidArgument("width", width, f"must give at most {MOST_QUERIES} conjunctions")
    return family
