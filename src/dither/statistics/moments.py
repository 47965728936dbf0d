"""Moments of two columns: the sums that correlations and least squares are functions of."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.kernels.sums import exact_dot, exact_sum
from dither.privacy import Neighbours
from dither.sensitivity.ladder import Algorithm, Ladder
from dither.sources.column import Table
from dither.sources.grid import Grid
from dither.statistics.statistic import Statistic, VectorStatistic


@dataclass(frozen=True, repr=False)
class PairSums:
    """Private: how many records there are, and the sums and products of their steps above the lower bounds."""

    records: int = 0
    x: int = 0
    y: int = 0
    xx: int = 0
    yy: int = 0
    xy: int = 0

    def __repr__(self) -> str:
        return "PairSums(<private>)"

    @classmethod
    def of(cls, table: Table) -> PairSums:
        """The sums of two columns y and x of the same records, exactly."""
        y, x = (one.values - one.grid.ends[0] for one in table.columns)
        return cls(len(x), exact_sum(x), exact_sum(y), exact_dot(x, x), exact_dot(y, y), exact_dot(x, y))

    def __add__(self, other: PairSums) -> PairSums:
        return PairSums(
            self.records + other.records,
            self.x + other.x,
            self.y + other.y,
            self.xx + other.xx,
            self.yy + other.yy,
            self.xy + other.xy,
        )


@dataclass(frozen=True)
class Moments(VectorStatistic[PairSums | Table]):
    """``sum u, sum v, sum u^2, [sum v^2,] sum uv`` of two columns, and the number of records where that is private.

    u and v are x and y in coordinates whose 0 is the middle of their bounds, and whose -1 and 1 are the bounds.

    Guarantee  One change moves the sums by at most 2, 2, 1, 1, 2, and all of them together by at most 18/5 in units of
               these (3 without ``sum v^2``); a record that comes or goes by 1 each.  All of it is attained.
    Theorem    docs/proofs/moments.md.
    """

    records: int
    """The number of records, or the most there can be."""
    y: Grid
    x: Grid
    has_y_square: bool = True
    private: bool = False
    """True if the number of records is private: it is the last of the moments then."""
    neighbours: Neighbours = Neighbours.CHANGE_ONE
    rows: int = 1

    @property
    def rows_per_person(self) -> int:
        return self.rows

    @property
    def labels(self) -> tuple[str, ...]:
        squares = ("x^2", "y^2") if self.has_y_square else ("x^2",)
        return ("x", "y", *squares, "xy", *(("records",) if self.private else ()))

    @property
    def widths(self) -> tuple[int, int]:
        """How many steps lie between the bounds of x and of y, at least one: u and v in half steps are at most that."""
        (a, b), (c, d) = self.x.ends, self.y.ends
        return max(b - a, 1), max(d - c, 1)

    @functools.cached_property
    def _caps(self) -> tuple[int, ...]:
        """The largest u, v, u^2, v^2, uv, 1, in steps of the answers."""
        x, y = self.widths
        squares = (x * x, y * y) if self.has_y_square else (x * x,)
        return (x, y, *squares, x * y, *((1,) if self.private else ()))

    @functools.cached_property
    def answers(self) -> tuple[Grid, ...]:
        positive = [name.endswith("^2") or name == "records" for name in self.labels]
        return tuple(
            Grid(Fraction(1, cap), 0 if is_positive else -cap * self.records, cap * self.records)
            for cap, is_positive in zip(self._caps, positive, strict=True)
        )

    @property
    def global_sensitivities(self) -> tuple[int, ...]:
        if self.neighbours is Neighbours.ADD_REMOVE:
            return self._caps
        signed = ("x", "y", "xy")
        return tuple(2 * cap if name in signed else cap for name, cap in zip(self.labels, self._caps, strict=True))

    @property
    def l1(self) -> Fraction:
        if self.neighbours is Neighbours.ADD_REMOVE:
            return Fraction(self.rows * len(self.labels))
        replaced = Fraction(18, 5) if self.has_y_square else Fraction(3)
        added = Fraction(9, 2) if self.has_y_square else Fraction(7, 2)
        return self.rows * (added if self.private else replaced)

    @property
    def l2_squared(self) -> Fraction:
        if self.neighbours is Neighbours.ADD_REMOVE:
            return Fraction(self.rows**2 * len(self.labels))
        added = Fraction(15, 4) if self.has_y_square else Fraction(3)
        return self.rows**2 * (added if self.private else Fraction(3))

    def values(self, data: PairSums | Table) -> Sequence[int]:
        data = data if isinstance(data, PairSums) else PairSums.of(data)
        n, (a, b) = data.records, self.widths
        # u = 2 x - a in half steps, for x steps above the lower bound.
        xx = 4 * data.xx - 4 * a * data.x + n * a * a
        yy = 4 * data.yy - 4 * b * data.y + n * b * b
        xy = 4 * data.xy - 2 * b * data.x - 2 * a * data.y + n * a * b
        squares = (xx, yy) if self.has_y_square else (xx,)
        return (2 * data.x - n * a, 2 * data.y - n * b, *squares, xy, *((n,) if self.private else ()))


@dataclass(frozen=True)
class CrossProduct(Statistic[PairSums | Table]):
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

    def value(self, data: PairSums | Table) -> int:
        data = data if isinstance(data, PairSums) else PairSums.of(data)
        return self.records * data.xy - data.x * data.y

    @property
    def changes_to_worst_case(self) -> int:
        return 0

    def ladder(self, data: PairSums | Table, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        """The global sensitivity at every distance."""
        cap = self.global_sensitivity
        return Ladder(lambda start, stop: np.full(stop - start, cap, dtype=object), cap, top=0)
