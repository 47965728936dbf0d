"""Finite metric spaces: draw an answer near the true one, wherever a distance makes sense."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument
from dither.kernels.elementary import Integers
from dither.kernels.point_distances import NAMED, equality
from dither.mechanisms.noise_intervals import SLACK
from dither.noise.discrete_exponential import draw_index
from dither.noise.entropy import Source, system
from dither.numbers import Number, ball, exact, precision, round_down
from dither.sources.domain import Value, declared, spelled

MOST_POINTS = 1000
Distance: TypeAlias = Callable[[Value, Value], Number] | Sequence[Sequence[Number]] | NDArray[np.generic]
"""A metric: a function of two points, or a square table with a row for each."""


@dataclass(frozen=True, eq=False)
class MetricSpace:
    """Finitely many public points with a metric: ``unit * steps[i, j]`` is the distance of points i and j."""

    points: tuple[Hashable, ...]
    steps: Integers
    unit: Fraction

    @classmethod
    def of(cls, points: Iterable[Value], distance: Distance[Value] | str) -> MetricSpace:
        """A space from its points and their distances; numbers mean what they print.

        distance: a square table, a function of two points, or a name: "equality" (labels), "edit" (strings),
            "kendall" (rankings, as tuples), "symmetric_difference" (sets, or tuples).

        Checked exactly, for all points: zero from each point to itself and to no other, symmetry, triangle inequality.

        >>> MetricSpace.of("abc", lambda p, q: abs(ord(p) - ord(q))).same_around_every_point
        False
        """
        named = declared(spelled(points), "points")
        if len(named) > MOST_POINTS:
            raise InvalidArgument("points", f"<{len(named)} points>", f"must have at most {MOST_POINTS} points")
        table = _table(named, distance)
        unit = Fraction(1, math.lcm(*(number.denominator for row in table for number in row)))
        whole = [[int(number / unit) for number in row] for row in table]
        small = max(max(row) for row in whole) < 1 << 61
        steps = np.array(whole, dtype=np.int64 if small else object)
        _check_metric(steps)
        return cls(named, steps, unit)

    @cached_property
    def around(self) -> list[tuple[tuple[int, int], ...]]:
        """For each point, how many points lie at which distance (in steps)."""
        return [tuple(sorted(Counter(row).items())) for row in self.steps.tolist()]

    @property
    def same_around_every_point(self) -> bool:
        """True if the normaliser does not depend on the centre; exact, see docs/proofs/metric_spaces.md section 3."""
        return len(set(self.around)) == 1

    def reach(self, sensitivity: Fraction) -> int:
        """The largest distance, in steps, that does not exceed ``sensitivity``."""
        most = math.floor(sensitivity / self.unit)
        return max(step for profiles in set(self.around) for step, _ in profiles if step <= most)

    def rate(self, epsilon: Fraction, reach: int, constants: str = "exact") -> Fraction:
        """A proved decay per step: between eps / (2 reach), which always serves, and eps / reach."""
        most = epsilon / reach
        if constants == "paper":
            return most if self.same_around_every_point else most / 2
        near = self._surroundings(reach)
        if near.loss_at_most(most, epsilon):
            return most
        low, high = float(most) / 2, float(most)
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if near.float_loss(middle) <= epsilon else (low, middle)
        for slack in (1e-12, 1e-9, 1e-6, 1e-3):
            tried = round_down(low * (1.0 - slack))
            if tried > most / 2 and near.loss_at_most(tried, epsilon):
                return tried
        return most / 2

    def radius(self, rate: Fraction, missed: float) -> Fraction:
        """The least distance that a draw exceeds with probability at most ``missed``, whatever the centre."""
        worst = 0
        for profiles in set(self.around):
            weights = np.array([count * math.exp(-float(rate) * step) for step, count in profiles])
            outside = 1.0 - np.cumsum(weights) / weights.sum()
            enough = outside <= missed - SLACK
            worst = max(worst, profiles[int(np.argmax(enough)) if bool(enough.any()) else -1][0])
        return worst * self.unit

    def _surroundings(self, reach: int) -> _Surroundings:
        profiles = sorted(set(self.around))
        place = {item: index for index, item in enumerate(profiles)}
        profile = np.array([place[item] for item in self.around])
        here, there = np.nonzero(self.steps <= reach)
        apart: dict[tuple[int, int], int] = {}
        for a, b, step in zip(
            profile[here].tolist(), profile[there].tolist(), self.steps[here, there].tolist(), strict=True
        ):
            apart[a, b] = max(apart.get((a, b), 0), step)
        return _Surroundings(profiles, apart)


@dataclass(frozen=True)
class _Surroundings:
    """How many others are at each distance of a point, and the greatest distance within reach of two such profiles."""

    profiles: list[tuple[tuple[int, int], ...]]
    apart: dict[tuple[int, int], int]

    def float_loss(self, rate: float) -> float:
        """The loss at this rate, in floats: guides the search and proves nothing."""
        sizes = [
            math.log(math.fsum(count * math.exp(-rate * step) for step, count in profile)) for profile in self.profiles
        ]
        return max(rate * step + sizes[b] - sizes[a] for (a, b), step in self.apart.items())

    def loss_at_most(self, rate: Fraction, epsilon: Fraction) -> bool:
        """Whether ``rate d(z, z') + ln Z(z') - ln Z(z) <= epsilon`` is proved for all pairs of centres."""
        with precision(192):
            decay = {step: (-ball(rate * step)).exp() for profile in self.profiles for step, _ in profile}
            size = [sum((count * decay[step] for step, count in profile), ball(0)).log() for profile in self.profiles]
            return all(
                rate * step <= epsilon if a == b else bool(ball(rate * step) + size[b] - size[a] <= ball(epsilon))
                for (a, b), step in self.apart.items()
            )


def nearby(space: MetricSpace, centre: int, rate: Fraction, *, source: Source = system) -> int:
    """The index of a point drawn with probability proportional to ``e^{-rate steps}``, exactly."""
    return draw_index(space.steps[centre].tolist(), rate, source)


def _table(points: tuple[Value, ...], distance: Distance[Value] | str) -> list[list[Fraction]]:
    if isinstance(distance, str):
        if distance not in NAMED:
            raise InvalidArgument(
                "distance", distance, f"must be {', '.join(NAMED)}, a function of two points or a square table"
            )
        measured = NAMED[distance]
        if measured is equality:
            return [[Fraction(p != q) for q in points] for p in points]
        return _table(points, measured)
    if callable(distance):
        try:
            results = [[distance(p, q) for q in points] for p in points]
        except Exception as error:
            raise InvalidArgument("distance", type(error), f"must not fail on the points ({error})"[:300]) from error
        return [[exact(number, "distance") for number in row] for row in results]
    rows = [list(row) for row in distance] if isinstance(distance, (list, tuple, np.ndarray)) else []
    if len(rows) != len(points) or any(len(row) != len(points) for row in rows):
        raise InvalidArgument(
            "distance", type(distance), "must be a function of two points, or a square table with a row for each"
        )
    return [[exact(number, "distance") for number in row] for row in rows]


def _check_metric(steps: Integers) -> None:
    away = ~np.eye(len(steps), dtype=bool)
    if np.any(steps[~away] != 0) or np.any(steps[away] <= 0):
        raise InvalidArgument("distance", "<not a metric>", "must be zero from each point to itself and to no other")
    if np.any(steps != steps.T):
        raise InvalidArgument("distance", "<not a metric>", "must be the same in both directions")
    for k in range(len(steps)):
        if np.any(steps > steps[:, k, None] + steps[None, k, :]):
            raise InvalidArgument("distance", "<not a metric>", "must satisfy the triangle inequality")
