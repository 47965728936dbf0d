"""The law of |answer - statistic| for given records: the same weights that the mechanisms draw by, in floats.

A quote is not a release: floats are good enough, and nothing here is private, because the records are imagined.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import NotApplicable
from dither.kernels.elementary import Floats
from dither.mechanisms.exponential import ExponentialDraw, Shells
from dither.mechanisms.joint_quantiles import SeveralDraws
from dither.mechanisms.ladder import LadderDraw
from dither.mechanisms.mechanism import Prepared
from dither.mechanisms.propose_test import TestedNoise
from dither.mechanisms.smooth import SmoothNoise
from dither.mechanisms.worst_case import Scaled, ScaledVector
from dither.noise.discrete_exponential import first_reach, window
from dither.noise.laplace import Laplace
from dither.noise.law import Law
from dither.quotes.joint_quantile_error import walked
from dither.sensitivity.ladder import Ladder
from dither.sensitivity.reachable import ReachableValues
from dither.sources.grid import Grid

_NODES = 2000
_MOST_RUNGS = 1024
_MOST_LINKS = 2048


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
class Added(ErrorLaw):
    """Added noise, cut to the public range: ``rooms`` is how far it is from the value to either bound."""

    law: Law
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


def cut_mean(law: Law, scale: float, room: float, *, whole: bool = False) -> float:
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
        return scale * law.typical if float(getattr(law, "power", 3)) > 2.0 else math.inf
    farthest = room / scale
    places = np.concatenate([[0.0], np.geomspace(min(1e-4, farthest / 10.0), farthest, _NODES)])
    return scale * float(np.trapezoid(law.tail(places), places))


class Mixture(ErrorLaw):
    """Several laws, all alike."""

    def __init__(self, laws: Sequence[ErrorLaw]) -> None:
        self._laws = laws

    @property
    def mean(self) -> float:
        return math.fsum(law.mean for law in self._laws) / len(self._laws)

    def beyond(self, distance: float) -> float:
        return math.fsum(law.beyond(distance) for law in self._laws) / len(self._laws)

    def quantile(self, miss: float) -> float:
        """The least whole distance (large ones: to a thousandth) that is exceeded with at most this probability."""
        low, high = -1.0, max(2.0 * self.mean, 1.0)
        while math.isfinite(high) and self.beyond(high) > miss:
            low, high = high, 2.0 * high
        while math.isfinite(high) and high - low > max(1.0, 1e-3 * high):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self.beyond(middle) > miss else (low, middle)
        return float(math.floor(high)) if math.isfinite(high) else high


def error_laws(prepared: Prepared, data: Any) -> list[ErrorLaw]:
    """The law of the error of each number that a mechanism would release about these (imagined) records."""
    if isinstance(prepared, ExponentialDraw):
        return [_of_shells(prepared.shells(data), prepared.rate)]
    if isinstance(prepared, LadderDraw):
        return [_of_ladder(prepared, data)]
    if isinstance(prepared, Scaled):
        whole = prepared.point.law.name == "laplace"
        around = rooms(prepared.statistic.answers, prepared.statistic.value(data))
        return [Added(prepared.point.law, float(prepared.scale), around, whole)]
    if isinstance(prepared, TestedNoise):
        around = rooms(prepared.statistic.answers, prepared.statistic.value(data))
        return [Added(Laplace(), float(prepared.scale), around, whole=True)]
    if isinstance(prepared, SmoothNoise):
        bound = prepared.statistic.ladder(data, prepared.algorithm).smooth(prepared.point.beta)
        around = rooms(prepared.statistic.answers, prepared.statistic.value(data))
        return [Added(prepared.point.law, float(bound / prepared.point.alpha), around)]
    if isinstance(prepared, ScaledVector):
        return _of_vector(prepared, data)
    if isinstance(prepared, SeveralDraws):
        return _of_several(prepared, data)
    raise NotApplicable("prior", type(prepared).__name__, "no error is worked out for it", "quotes without a prior")


def rooms(grid: Grid, value: int) -> tuple[float, float]:
    """How far it is from a value to either public bound."""
    down = math.inf if grid.low is None else float(value - grid.low)
    return down, math.inf if grid.high is None else float(grid.high - value)


def _of_vector(prepared: ScaledVector, data: Any) -> list[ErrorLaw]:
    statistic, whole = prepared.statistic, prepared.law.name == "laplace"
    if all(grid.low is None and grid.high is None for grid in statistic.answers):
        around = [(math.inf, math.inf)] * len(statistic.global_sensitivities)
    else:
        around = [rooms(grid, one) for grid, one in zip(statistic.answers, statistic.values(data), strict=True)]
    scales = [float(global_sensitivity * prepared.unit) for global_sensitivity in statistic.global_sensitivities]
    return [Added(prepared.law, scale, one, whole) for scale, one in zip(scales, around, strict=True)]


def _of_shells(shells: Shells, rate: Fraction) -> Cells:
    """Cells of the grid in which all points have one cost and one weight in the measure."""
    reach = min(window(shells.measure.total, rate), shells.rungs)
    up, down = (_links(shells.reachable_values, reach, sign) for sign in (1, -1))
    centre = up[0]
    edges, weights = (
        np.array(shells.measure.edges, dtype=np.int64),
        np.array([float(w) for w in shells.measure.weights]),
    )
    inner = edges[(edges > down[-1]) & (edges <= up[-1])]
    starts = np.unique(np.concatenate([down, [centre], up + 1, inner]))
    first, last = starts[:-1], starts[1:] - 1
    # The first link at or beyond a cell, on its own side of the centre.
    steps = np.where(first >= centre, np.searchsorted(up, first), np.searchsorted(-down, -first))
    costs = np.maximum(steps + shells.offset, 1)
    each = weights[np.searchsorted(edges, first, side="right") - 1]
    log_mass = np.log(each * (last - first + 1)) - float(rate) * costs
    above = first >= centre
    near, far = np.where(above, first - centre, centre - last), np.where(above, last - centre, centre - first)
    return Cells(near.astype(np.float64), far.astype(np.float64), np.exp(log_mass - log_mass.max()))


def _links(reachable: ReachableValues, reach: int, sign: int) -> NDArray[np.int64]:
    """The chain from the value outwards; of very many links, the far ones are interpolated between some."""
    if reach <= _MOST_LINKS:
        found = reachable.values(0, reach) if sign > 0 else reachable.values(-reach, 0)[::-1]
        try:
            return np.array(found, dtype=np.int64)
        except OverflowError:
            pass
        raise NotApplicable(
            "prior", "this many records", "their sum has more steps than an estimate can hold", "quotes without a prior"
        )
    near = np.arange(_MOST_LINKS // 8)
    places = np.unique(np.concatenate([near, np.geomspace(len(near), reach, 256).astype(np.int64), [reach]]))
    some = [reachable.values(sign * int(place), sign * int(place))[0] for place in places]
    return np.rint(np.interp(np.arange(reach + 1), places, np.array(some, dtype=np.float64))).astype(np.int64)


def _of_ladder(prepared: LadderDraw, data: Any) -> ErrorLaw:
    ladder = prepared.statistic.ladder(data)
    down, up = rooms(prepared.statistic.answers, prepared.statistic.value(data))
    cells = _ladder_cells(ladder, prepared.rate, max(down, up))
    return Mixture([cells.cut(down), cells.cut(up)])


def _ladder_cells(ladder: Ladder, rate: Fraction, room: float) -> Cells:
    reach = first_reach(2 * ladder.global_sensitivity, rate)
    if ladder.top is not None and math.isfinite(room):
        # From the top on rungs are as wide as the cap, and what lies beyond the room is cut to it: one cell.
        reach = min(reach, ladder.top + math.ceil(room / ladder.global_sensitivity) + 1)
    behind = math.exp(-float(rate) * reach) / math.expm1(float(rate))
    widths = _widths(ladder, reach)
    ends = np.concatenate([[0.0], np.cumsum(widths)])
    kept = widths > 0.0
    mass = 2.0 * widths * np.exp(-float(rate) * np.arange(1, reach + 1))
    return Cells(
        np.concatenate([[0.0], ends[:-1][kept] + 1.0, [ends[-1] + 1.0]]),
        np.concatenate([[0.0], ends[1:][kept], [ends[-1] + ladder.global_sensitivity]]),
        np.concatenate([[1.0], mass[kept], [2.0 * ladder.global_sensitivity * behind]]),
    )


def _widths(ladder: Ladder, count: int) -> Floats:
    """The first rungs; of very many, some are looked at and those between interpolated, because rungs only rise."""
    if count <= _MOST_RUNGS:
        return ladder.rungs(0, count).astype(np.float64)
    places = np.unique(np.geomspace(1, count, _MOST_RUNGS // 4).astype(np.int64) - 1)
    found = [float(ladder[int(place)]) for place in places]
    return np.interp(np.arange(count), places, found)


def _of_several(prepared: SeveralDraws, data: Any) -> list[ErrorLaw]:
    each = prepared.statistic.each()
    if prepared.manner == "alone":
        draws = (ExponentialDraw.of(one, prepared.loss, 2 * prepared.rate, None) for one in each)
        return [_of_shells(draw.shells(data), draw.rate) for draw in draws]
    if prepared.manner == "joint":
        return [Cells(*cells) for cells in walked(data, [one.rank for one in each], prepared.rate)]
    raise NotApplicable(
        "prior", f"{len(each)} quantiles", "no error is worked out for so many at once", "up to 20 of them, or no prior"
    )
