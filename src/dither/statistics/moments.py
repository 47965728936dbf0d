"""Moments of several columns: the sums that correlations and least squares are functions of."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement

import numpy as np

from dither.kernels.sums import exact_dot, exact_sum
from dither.privacy import Neighbours
from dither.sensitivity.ladder import Algorithm, Ladder
from dither.sources.column import Table
from dither.sources.grid import Grid
from dither.statistics.statistic import Statistic, VectorStatistic


@dataclass(frozen=True, repr=False)
class ColumnSums:
    """Private: how many records there are, and the sums and products of their steps above the lower bounds."""

    records: int
    sums: tuple[int, ...]
    """Of every column: the response first."""
    products: dict[tuple[int, int], int]
    """Of the columns j <= k."""

    def __repr__(self) -> str:
        return "ColumnSums(<private>)"

    @classmethod
    def of(cls, table: Table) -> ColumnSums:
        """The sums of several columns of the same records, exactly."""
        above = [column.values - column.grid.ends[0] for column in table.columns]
        pairs = combinations_with_replacement(range(len(above)), 2)
        return cls(
            len(above[0]), tuple(map(exact_sum, above)), {(j, k): exact_dot(above[j], above[k]) for j, k in pairs}
        )

    @classmethod
    def of_nothing(cls, columns: int) -> ColumnSums:
        """No records."""
        return cls(0, (0,) * columns, dict.fromkeys(combinations_with_replacement(range(columns), 2), 0))

    def __add__(self, other: ColumnSums) -> ColumnSums:
        return ColumnSums(
            self.records + other.records,
            tuple(item + more for item, more in zip(self.sums, other.sums, strict=True)),
            {pair: product + other.products[pair] for pair, product in self.products.items()},
        )


@dataclass(frozen=True)
class Moments(VectorStatistic[ColumnSums | Table]):
    """Sums and products of a response and its features, and the number of records where that is private.

    ``sum u_j, sum v, sum u_j^2, [sum v^2,] sum u_j u_k, sum u_j v``, where u and v are features and response in
    coordinates whose 0 is the middle of their bounds, and whose -1 and 1 are the bounds.

    Guarantee  One change moves sums and products of two columns by at most 2, squares by 1, and all of them together
               by at most ``l1`` in units of these; a record that comes or goes by 1 each.  All of it is attained.
    Theorem    docs/proofs/moments.md.
    """

    records: int
    """The number of records, or the most there can be."""
    y: Grid
    x: tuple[Grid, ...]
    has_y_square: bool = True
    private: bool = False
    """True if the number of records is private: it is the last of the moments then."""
    neighbours: Neighbours = Neighbours.CHANGE_ONE
    rows: int = 1
    is_cut: bool = True
    """False if noisy moments are not cut to the range that records have."""

    @property
    def rows_per_person(self) -> int:
        return self.rows

    @functools.cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The columns (0 is the response) whose products are squares, and then those of two columns."""
        features = range(1, len(self.x) + 1)
        squares = [(j, j) for j in features] + ([(0, 0)] if self.has_y_square else [])
        return (*squares, *combinations(features, 2), *((0, j) for j in features))

    @functools.cached_property
    def labels(self) -> tuple[str, ...]:
        names = ("y", "x") if len(self.x) == 1 else ("y", *(f"x{j + 1}" for j in range(len(self.x))))
        products = [f"{names[k]}^2" if j == k else f"{names[k]}{names[j]}" for j, k in self.pairs]
        return (*names[1:], names[0], *products, *(("records",) if self.private else ()))

    @functools.cached_property
    def widths(self) -> tuple[int, ...]:
        """How many steps lie between the bounds of y and of each x, at least one: u and v in half steps are at most
        that."""
        return tuple(max(item.ends[1] - item.ends[0], 1) for item in (self.y, *self.x))

    def centred(self, column: int) -> tuple[Fraction, Fraction]:
        """The middle of the bounds of a column (0 is the response), and half of their width: 0 and 1 of its moments."""
        grid = (self.y, *self.x)[column]
        half = grid.step * self.widths[column] / 2
        return grid.step * grid.ends[0] + half, half

    @functools.cached_property
    def _caps(self) -> tuple[int, ...]:
        """The largest u, v, products and 1, in steps of the answers."""
        width = self.widths
        return (*width[1:], width[0], *(width[j] * width[k] for j, k in self.pairs), *((1,) if self.private else ()))

    @functools.cached_property
    def _is_positive(self) -> tuple[bool, ...]:
        """Which of them are squares, or the number of records."""
        squares = [j == k for j, k in self.pairs]
        return (*([False] * len(self.widths)), *squares, *((True,) if self.private else ()))

    @functools.cached_property
    def answers(self) -> tuple[Grid, ...]:
        if not self.is_cut:
            return tuple(Grid(Fraction(1, cap), None, None) for cap in self._caps)
        return tuple(
            Grid(Fraction(1, cap), 0 if is_positive else -cap * self.records, cap * self.records)
            for cap, is_positive in zip(self._caps, self._is_positive, strict=True)
        )

    @property
    def global_sensitivities(self) -> tuple[int, ...]:
        if self.neighbours is Neighbours.ADD_REMOVE:
            return self._caps
        return tuple(
            cap if is_positive else 2 * cap for cap, is_positive in zip(self._caps, self._is_positive, strict=True)
        )

    @property
    def l1(self) -> Fraction:
        if self.neighbours is Neighbours.ADD_REMOVE:
            return Fraction(self.rows * len(self.labels))
        d, m = len(self.widths), len(self.x)
        replaced = Fraction(d * (d + 4) ** 2, 4 * (d + 3)) if self.has_y_square else Fraction(m * m + 7 * m + 4, 4)
        return self.rows * (self._comes(2) if self.private else replaced)

    @property
    def l2_squared(self) -> Fraction:
        if self.neighbours is Neighbours.ADD_REMOVE:
            return Fraction(self.rows**2 * len(self.labels))
        d, squares = len(self.widths), len(self.x) + self.has_y_square
        replaced = max(
            Fraction((d + 1) * (d + 1 - k - other), 4) + k + Fraction((k + other) * (k + other - 1), 8)
            for k in (0, squares)
            for other in range(d - squares + 1)
        )
        return self.rows**2 * (max(self._comes(4), replaced) if self.private else replaced)

    def _comes(self, part: int) -> Fraction:
        """What a record that comes moves: signed moments count as one part, because a replaced one moves them by 2."""
        positive = sum(self._is_positive)
        return positive + Fraction(len(self.labels) - positive, part)

    def values(self, data: ColumnSums | Table) -> Sequence[int]:
        data = data if isinstance(data, ColumnSums) else ColumnSums.of(data)
        n, width, total = data.records, self.widths, data.sums
        # u = 2 x - a in half steps, for x steps above the lower bound of a column that is a steps wide.
        sums = [2 * item - n * a for item, a in zip(total, width, strict=True)]
        products = [
            4 * data.products[j, k] - 2 * width[k] * total[j] - 2 * width[j] * total[k] + n * width[j] * width[k]
            for j, k in self.pairs
        ]
        return (*sums[1:], sums[0], *products, *((n,) if self.private else ()))


@dataclass(frozen=True)
class CrossProduct(Statistic[ColumnSums | Table]):
    """``n sum xy - sum x sum y`` of two columns: their covariance in units of its grid.

    Guarantee  One change moves it by at most (n - 1) w w', w and w' the widths of the bounds: attained.
    Theorem    docs/proofs/totals.md, section 4.
    """

    records: int
    y: Grid
    x: Grid
    answers: Grid
    neighbours = Neighbours.CHANGE_ONE
    sensitivity_is_constant = True

    @property
    def global_sensitivity(self) -> int:
        (a, b), (c, d) = self.x.ends, self.y.ends
        return (self.records - 1) * (b - a) * (d - c)

    def value(self, data: ColumnSums | Table) -> int:
        data = data if isinstance(data, ColumnSums) else ColumnSums.of(data)
        y, x = data.sums
        return self.records * data.products[0, 1] - y * x

    @property
    def changes_to_worst_case(self) -> int:
        return 0

    def ladder(self, data: ColumnSums | Table, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        """The global sensitivity at every distance."""
        cap = self.global_sensitivity
        return Ladder(lambda start, stop: np.full(stop - start, cap, dtype=object), cap, top=0)
