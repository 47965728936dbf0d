"""Laws of |answer - statistic|, in grid steps: what a mechanism says about its own error.

``Prepared.error_laws`` gives the law for given records, ``Prepared.worst_case_error`` a bound for all data.  They serve
quotes, so floats are good enough.  A law for private records is private: quotes draw theirs from a public prior.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import Protocol

import numpy as np

from dither.errors import NotApplicable
from dither.kernels.elementary import Floats
from dither.sources.grid import Grid

FEWEST_SAMPLES, MOST_SAMPLES = 4, 64
"""How many samples of a prior an estimate is averaged over."""
ENOUGH_GAPS = 400
"""So many gaps between records are looked at in all, where an answer depends on few of them."""
_NODES = 2000


class NoiseLaw(Protocol):
    """What is used of the law of noise: its tail and its size."""

    @property
    def typical(self) -> float: ...
    @property
    def mean_is_finite(self) -> bool: ...
    def tail(self, distance: Floats, /) -> Floats: ...


class ErrorLaw(ABC):
    """A distribution of distances, in grid steps."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """The expected distance."""

    @abstractmethod
    def beyond(self, distance: float) -> float:
        """How likely a greater distance is."""


@dataclass(frozen=True)
class Cells(ErrorLaw):
    """Runs of equally likely whole distances ``near .. far`` with their masses (not yet divided by their sum)."""

    near: Floats
    far: Floats
    mass: Floats

    @classmethod
    def zero(cls) -> Cells:
        """The law of an answer that is the statistic itself."""
        nothing = np.zeros(1)
        return cls(nothing, nothing, np.ones(1))

    @property
    def mean(self) -> float:
        return float(np.dot(self.mass, self.near + self.far) / (2.0 * self.mass.sum()))

    def beyond(self, distance: float) -> float:
        part = (self.far - math.floor(distance)) / (self.far - self.near + 1.0)
        return float(np.dot(self.mass, np.clip(part, 0.0, 1.0)) / self.mass.sum())

    def cut(self, room: float) -> Cells:
        """The law where greater distances than ``room`` become ``room``."""
        inside = np.clip((room - self.near + 1.0) / (self.far - self.near + 1.0), 0.0, 1.0)
        kept = inside > 0.0
        outside = float(np.dot(self.mass, 1.0 - inside))
        return Cells(
            np.append(self.near[kept], room),
            np.append(np.minimum(self.far, room)[kept], room),
            np.append((self.mass * inside)[kept], outside),
        )


@dataclass(frozen=True)
class AddedNoise(ErrorLaw):
    """Added noise, cut to the public range: ``rooms`` is how far it is from the value to either bound."""

    law: NoiseLaw
    scale: float
    rooms: tuple[float, float]
    whole: bool = False
    """The integer Laplace law, instead of a real one that is rounded."""

    @property
    def mean(self) -> float:
        return sum(cut_mean(self.law, self.scale, room, whole=self.whole) for room in self.rooms) / 2.0

    def beyond(self, distance: float) -> float:
        return self._tail(math.floor(distance)) * sum(distance < room for room in self.rooms) / 2.0

    def _tail(self, distance: int) -> float:
        if not self.scale:
            return 0.0
        if self.whole:
            return 2.0 * math.exp(-(distance + 1) / self.scale) / (1.0 + math.exp(-1.0 / self.scale))
        return float(self.law.tail(np.array([(distance + 0.5) / self.scale]))[0])


@dataclass(frozen=True)
class DistributedError(ErrorLaw):
    """The error of an answer whose distribution function is known, cut to the public range."""

    value: int
    rooms: tuple[float, float]
    at_most: Callable[[Floats], Floats]
    """P(answer <= place) before it is cut to the range."""

    @classmethod
    def on(cls, grid: Grid, value: int, at_most: Callable[[Floats], Floats]) -> DistributedError:
        """The law on a grid."""
        return cls(value, rooms(grid, value), at_most)

    def _beyond(self, distances: Floats) -> Floats:
        down, up = self.rooms
        above = np.where(distances < up, 1.0 - self.at_most(self.value + distances), 0.0)
        return above + np.where(distances < down, self.at_most(self.value - distances - 1.0), 0.0)

    @property
    def mean(self) -> float:
        farthest = max(self.rooms)
        # E|error| is the sum of P(error > k) over k from 0 on; between the places it is interpolated.
        places = np.unique(np.floor(np.concatenate([np.arange(64.0), np.geomspace(64.0, max(farthest, 65.0), _NODES)])))
        places = places[places < farthest]
        if not len(places):
            return 0.0
        tails = self._beyond(places)
        steps = np.diff(places)
        # A trapezoid for whole numbers from one place up to, and without, the next one.
        between = steps * tails[:-1] + (tails[1:] - tails[:-1]) * (steps - 1.0) / 2.0
        return float(between.sum() + tails[-1] * (farthest - places[-1]))

    def beyond(self, distance: float) -> float:
        return float(self._beyond(np.array([math.floor(distance)], dtype=np.float64))[0])


class Mixture(ErrorLaw):
    """Several laws, each with the same weight unless weights are given."""

    def __init__(self, laws: Sequence[ErrorLaw], weights: Sequence[float] | None = None) -> None:
        self._laws = laws
        self._weights = [1.0] * len(laws) if weights is None else weights

    @property
    def mean(self) -> float:
        return self._average([law.mean for law in self._laws])

    def beyond(self, distance: float) -> float:
        return self._average([law.beyond(distance) for law in self._laws])

    def _average(self, numbers: Sequence[float]) -> float:
        return math.fsum(map(mul, self._weights, numbers)) / math.fsum(self._weights)

    def quantile(self, miss: float) -> float:
        """The least whole distance (large ones: to a thousandth) that is exceeded with at most this probability."""
        low, high = -1.0, max(2.0 * self.mean, 1.0)
        while math.isfinite(high) and self.beyond(high) > miss:
            low, high = high, 2.0 * high
        while math.isfinite(high) and high - low > max(1.0, 1e-3 * high):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self.beyond(middle) > miss else (low, middle)
        return float(math.floor(high)) if math.isfinite(high) else high


@dataclass(frozen=True)
class WorstCaseError:
    """Bounds on the error of each released number that hold for all data, in grid steps (docs/proofs/quotes.md)."""

    expected: tuple[float, ...]
    """At least the expected error."""
    quantile: tuple[float, ...]
    """What the error stays within with the stated confidence."""
    attained: bool = False
    """Whether the bound is the error itself unless an answer is cut to its range."""
    exact: bool = False
    """Whether the error is the same for all data."""


def whole_range(grids: Sequence[Grid]) -> WorstCaseError:
    """What holds for any answer in a bounded range."""
    spans = tuple(bounded_span(grid) for grid in grids)
    return WorstCaseError(spans, spans)


def span(grid: Grid) -> float:
    """From one public bound to the other, in grid steps."""
    return math.inf if grid.low is None or grid.high is None else float(grid.high - grid.low)


def bounded_span(grid: Grid) -> float:
    """The same where there must be bounds."""
    if grid.low is None or grid.high is None:
        raise NotApplicable("prior", None, "answers without bounds have no error that holds for all data", "a prior")
    return float(grid.high - grid.low)


def rooms(grid: Grid, value: int) -> tuple[float, float]:
    """How far it is from a value to either public bound."""
    down = math.inf if grid.low is None else float(value - grid.low)
    return down, math.inf if grid.high is None else float(grid.high - value)


def cut_half_width(width: float, grid: Grid, value: int) -> float:
    """Half of the length of an interval of this half-width around a value, both ends cut to the public range."""
    return sum(min(width, room) for room in rooms(grid, value)) / 2.0


def cut_mean(law: NoiseLaw, scale: float, room: float, *, whole: bool = False) -> float:
    """``E min(|noise|, room)``: the sum of P(|noise| >= k) over k = 1 .. room.

    For rounded real noise, the integral of the tail up to ``room``, which is convex, hence not below that sum
    (docs/proofs/quotes.md); the trapezoids are not below the integral.
    """
    if room <= 0 or not scale:
        return 0.0
    if whole:
        shrink = math.exp(-1.0 / scale)
        return 2.0 * shrink * -math.expm1(-room / scale) / ((1.0 + shrink) * -math.expm1(-1.0 / scale))
    if math.isinf(room):
        return scale * law.typical if law.mean_is_finite else math.inf
    farthest = room / scale
    places = np.concatenate([[0.0], np.geomspace(min(1e-4, farthest / 10.0), farthest, _NODES)])
    return scale * float(np.trapezoid(law.tail(places), places))


def most_cut_mean(law: NoiseLaw, scale: float, between: float, *, whole: bool = False) -> float:
    """The greatest expected error of noise cut to a range: that of a value in its middle."""
    halves = (between, between) if math.isinf(between) else (float(between // 2), float(-(-between // 2)))
    return sum(cut_mean(law, scale, half, whole=whole) for half in halves) / 2.0


def samples_for(rate: Fraction) -> int:
    """How many samples of a prior to average over for a draw at this rate, which depends on the few gaps next to it."""
    return min(max(math.ceil(ENOUGH_GAPS * float(rate) / 2.0), FEWEST_SAMPLES), MOST_SAMPLES)
