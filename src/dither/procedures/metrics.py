"""Distances between answers: l1, l2, matching of point sets, or a function of the owner's.

Answers lie on public grids, whose steps are either equal parts of each number's bounds or of one size.  A metric
returns its distances in grid steps as floats that are never too small and too large by at most a factor
``1 + ROUNDING`` (docs/proofs/aggregate.md, section 4), and says which norm it is never below: noise is added in that
norm.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument
from dither.kernels.matching import squared_matching_distances
from dither.numbers import Number, exact
from dither.procedures.executor import Answers, Output
from dither.sources.grid import Grid
from dither.statistics.own_code import as_number, number_of

ROUNDING = 2.0**-38
MOST_NUMBERS = 4096
"""Longer answers have no metric: the float error of a sum of so many terms is part of the proof."""
FINEST = 36
"""Answers are rounded to at most 2**36 steps of their widest range."""
_UP = 1.0 + 2.0**-40
_ALIKE = 1e-9
_LARGEST = 1e300
Whole = NDArray[np.int64]


class Metric(ABC):
    """A distance between answers of a public shape."""

    name: ClassVar[str]
    norm: Literal["l1", "l2"]
    """A norm that the distance is never below (for point sets: after the best permutation)."""
    points: int = 1
    """Into how many points of equal length an answer falls, their order being of no meaning."""

    def check(self, output: Output) -> None:
        """Refuse answers of a shape that this distance does not fit: public facts only."""
        if output.length > MOST_NUMBERS:
            raise InvalidArgument("output", output.length, f"must be at most {MOST_NUMBERS} with a metric")

    def bits(self, length: int) -> int:  # noqa: ARG002
        """The widest range is cut into at most 2**bits steps."""
        return FINEST

    @abstractmethod
    def diameter(self, widths: Whole) -> float:
        """At least the greatest distance between answers whose numbers have these ranges, in steps."""

    @abstractmethod
    def distances(self, answers: Whole, grids: tuple[Grid, ...]) -> Answers:
        """All distances between the rows of ``answers``, in steps."""


@dataclass(frozen=True)
class L1(Metric):
    """The sum of absolute differences."""

    name = "l1"
    norm = "l1"

    def diameter(self, widths: Whole) -> float:
        return float(np.sum(widths.astype(np.float64))) * _UP

    def distances(self, answers: Whole, grids: tuple[Grid, ...]) -> Answers:  # noqa: ARG002
        # Differences of whole numbers below 2**53 are exact in floats.
        points = answers.astype(np.float64)
        return np.array([np.abs(points - point).sum(axis=1) * _UP for point in points])


@dataclass(frozen=True)
class L2(Metric):
    """Euclidean distance."""

    name = "l2"
    norm = "l2"

    def diameter(self, widths: Whole) -> float:
        return math.sqrt(float(np.sum(widths.astype(np.float64) ** 2))) * _UP

    def distances(self, answers: Whole, grids: tuple[Grid, ...]) -> Answers:  # noqa: ARG002
        points = answers.astype(np.float64)
        return np.array([np.sqrt(((points - point) ** 2).sum(axis=1)) * _UP for point in points])


@dataclass(frozen=True)
class Matching(Metric):
    """For answers that are sets of ``points`` points: the l2 distance after the best permutation of one of them.

    NRS11's variant of the Wasserstein distance, ``(min_p sum_j |c_j - c'_p(j)|^2)^(1/2)``, in parts of the bounds of
    each coordinate: one with a wide unit does not outweigh the others.  Computed in whole numbers.
    An answer lists its points one after the other; the release lists them in order.
    """

    points: int = 1
    name = "matching"
    norm = "l2"

    def __post_init__(self) -> None:
        if isinstance(self.points, bool) or not isinstance(self.points, int) or not 1 <= self.points <= 512:
            raise InvalidArgument("points", self.points, "must be the number of points of an answer, from 1 to 512")

    def check(self, output: Output) -> None:
        super().check(output)
        if output.length % self.points:
            raise InvalidArgument("output", output.length, f"must be a multiple of the {self.points} points")
        each = output.length // self.points
        if any(bounds != output.bounds[place % each] for place, bounds in enumerate(output.bounds)):
            raise InvalidArgument("bounds", "different ones", "must be the same bounds for every point")

    def bits(self, length: int) -> int:
        # Squares of all differences must add up to less than 2**58.
        return min(FINEST, (57 - length.bit_length()) // 2)

    def diameter(self, widths: Whole) -> float:
        return L2().diameter(widths)

    def distances(self, answers: Whole, grids: tuple[Grid, ...]) -> Answers:  # noqa: ARG002
        sets = np.ascontiguousarray(answers.reshape(len(answers), self.points, -1))
        return np.asarray(np.sqrt(squared_matching_distances(sets).astype(np.float64)) * _UP)


@dataclass(frozen=True)
class OwnMetric(Metric):
    """A function of two answers that the owner vouches for, cut at the greatest distance that noise allows for.

    function: a metric, up to a relative error of 2**-40: symmetric, zero between equals and within the triangle
        inequality.
    l2_per_unit: noise is added in l2, so that has to be bounded by the metric: answers at a distance of 1 are at most
        so far apart in l2.

    Both are the owner's promise.  Public probe points are tried before anything is read, and what they refute is
    refused.  On data nothing is refused: a result that is no number, or none at all, counts as the greatest distance,
    and one that breaks the promise on ``l2_per_unit`` is raised to what was promised, which changes no other.

    For a metric that bounds no norm list the answers: ``space=MetricSpace.of(points, function)``.
    """

    function: Callable[[Answers, Answers], Number]
    l2_per_unit: float = 1.0
    name = "own"
    norm = "l2"

    def __post_init__(self) -> None:
        if exact(self.l2_per_unit, "l2_per_unit") <= 0:
            raise InvalidArgument("l2_per_unit", self.l2_per_unit, "must be a positive number")

    def check(self, output: Output) -> None:
        super().check(output)
        probes = _probes(output)
        result = np.array([[self._distance(probe, other) for other in probes] for probe in probes])
        if (result < 0).any():
            raise InvalidArgument("metric", "negative", "must never be negative; it is on public probe points")
        largest = float(result.max())
        if (np.abs(result - result.T) > _ALIKE * largest).any():
            raise InvalidArgument("metric", "asymmetric", "must be symmetric; it is not on public probe points")
        if (np.diag(result) != 0).any():
            raise InvalidArgument(
                "metric", "not zero", "must be zero between equal answers; it is not on public probe points"
            )
        # In the shortest way over a third point, the way through the end itself is the distance.
        detour = (result[:, :, None] + result[None, :, :]).min(axis=1)
        if (result > detour + _ALIKE * largest).any():
            raise InvalidArgument(
                "metric",
                "no triangle inequality",
                "must satisfy the triangle inequality; it does not on public probe points",
            )
        apart = np.array([[float(np.linalg.norm(probe - other)) for other in probes] for probe in probes])
        if (apart > float(self.l2_per_unit) * result * (1 + _ALIKE)).any():
            with np.errstate(divide="ignore", invalid="ignore"):
                needed = float(np.nanmax(np.where(apart > 0, apart / result, 0.0)))
            instead = f"OwnMetric(function, l2_per_unit={needed:.3g})" if math.isfinite(needed) else "no l2_per_unit"
            raise InvalidArgument(
                "metric",
                "below l2",
                f"must bound l2, in which noise is added: on public probe points {instead} would; "
                "or list the answers: space=MetricSpace.of(points, function)",
            )

    def _distance(self, answers: Answers, other: Answers) -> float:
        """On public probe points: errors may be shown."""
        try:
            payload = self.function(answers.copy(), other.copy())
        except Exception as error:
            raise InvalidArgument("metric", type(error), "must not fail on public probe points") from error
        number = as_number(payload)
        if number is None or abs(number) > _LARGEST:
            accepted = "must be a function of two answers that returns a finite number"
            raise InvalidArgument("metric", type(payload) if number is not None else payload, accepted)
        return float(number)

    def diameter(self, widths: Whole) -> float:
        return L2().diameter(widths)

    def distances(self, answers: Whole, grids: tuple[Grid, ...]) -> Answers:
        euclid = L2().distances(answers, grids)
        most = self.diameter(np.array([grid.points - 1 for grid in grids]))
        lows = np.array([grid.ends[0] for grid in grids])
        size, stretch = float(grids[0].step), float(self.l2_per_unit)
        real = (answers + lows) * size
        for index in range(len(answers)):
            for other in range(index):
                own = self._clamped(real[index], real[other], most * size / stretch) * stretch / size * _UP
                euclid[index, other] = euclid[other, index] = min(max(euclid[index, other], own), most)
        return euclid

    def _clamped(self, answers: Answers, other: Answers, most: float) -> float:
        """On private answers: no failure, exit or warning leaves here, for each may depend on a person."""
        number = number_of(self.function, answers, other)
        return most if number is None or number > most else float(max(number, Fraction(0)))


GivenMetric: TypeAlias = Metric | str | Callable[[Answers, Answers], Number] | None
METRICS: dict[str, Metric] = {"l1": L1(), "l2": L2()}


def as_metric(given: GivenMetric) -> Metric | None:
    """A metric by name, as given, or a function; None stays None."""
    if given is None or isinstance(given, Metric):
        return given
    if isinstance(given, str) and given in METRICS:
        return METRICS[given]
    if callable(given):
        return OwnMetric(given)
    raise InvalidArgument(
        "metric", given, 'must be "l1", "l2", Matching(points), a function of two answers, or OwnMetric(function)'
    )


def in_parts(given: Metric | None) -> bool:
    """True if distances are measured in parts of each number's bounds; "l1", "l2" and functions have the own unit."""
    return given is None or isinstance(given, Matching)


def common_grids(output: Output, bits: int) -> tuple[Grid, ...]:
    """One public step for all numbers of an answer: distances need a common unit."""
    widest = max(Fraction(high) - Fraction(low) for low, high in output.bounds)
    exponent = widest.numerator.bit_length() - widest.denominator.bit_length()  # widest < 2**(exponent + 1)
    size = Fraction(2) ** (exponent + 1 - bits)
    return tuple(Grid.between(bounds, size) for bounds in output.bounds)


def _probes(output: Output) -> list[Answers]:
    """Public points of the range of answers: its ends, its default, and some between."""
    low, high = np.array(output.bounds).T
    shares = [np.zeros(output.length), np.ones(output.length)]
    # Multiples of an irrational number: no two coordinates move together.
    irrational = (np.arange(output.length) + 1) * 0.6180339887498949
    shares += [np.modf(turn * irrational)[0] for turn in range(1, 8)]
    return [np.asarray(output.default), *(low + share * (high - low) for share in shares)]
