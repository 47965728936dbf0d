"""What the laboratory knows about a dataset: by brute force over a small universe, or as its statistic publishes it.

``Enumerated`` looks at nothing but the statistic's values and at which datasets are neighbours.  ``Published`` reads
the sensitivity structures of the statistic, where a universe is too large to go through or a structure claims to be no
more than a bound; ``structures.py`` checks those against the enumeration.  No mechanism is asked anything here.
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dither.sensitivity.domain_histogram import HasDomainHistogram
from dither.sensitivity.levels import HasLevels
from dither.sensitivity.limited_shares import HasLimitedShares
from dither.sensitivity.local import HasLocalSensitivity
from dither.sensitivity.norms import HasNormLadder
from dither.sensitivity.reachable import HasReachableValues
from dither.sources.column import Column
from dither.sources.grid import Grid
from dither.statistics.statistic import Statistic, VectorStatistic

D = TypeVar("D")
"""A dataset: records, a graph, a number, whatever the statistic is of."""
FLOOR = 128.0
"""No smooth bound is below ``e^-128`` of the global sensitivity (docs/proofs/smooth.md)."""
SHOWN_RUNGS = 6
"""How many sensitivities tell two datasets of few records apart."""


class Facts(ABC, Generic[D]):
    """Values and sensitivities of single datasets, in grid steps."""

    def __init__(self, statistic: Any) -> None:
        self.statistic = statistic

    @property
    @abstractmethod
    def global_sensitivity(self) -> int:
        """The most that one change can move the value, on any data."""

    @abstractmethod
    def value(self, data: D) -> int:
        """The statistic."""

    @abstractmethod
    def sensitivities(self, data: D, count: int, algorithm: str = "exact") -> list[int]:
        """How far one change can move the value after at most 0, 1, ..., count - 1 others: rising."""

    @abstractmethod
    def settled(self, data: D) -> int:
        """From so many changes on, sensitivities are the global one."""

    @abstractmethod
    def reachable(self, data: D) -> tuple[list[int], list[int]]:
        """The least and the largest values that at most 0, 1, 2, ... changes can make."""

    @abstractmethod
    def smooth(self, data: D, beta: Fraction, algorithm: str = "exact") -> Fraction:
        """``max_k e^{-beta k} U_k``, rounded up (NRS11 Definition 2.2)."""

    def margin(self, data: D, bound: int) -> int:
        """How many changes it takes until one more could move the value by more than ``bound``."""
        rungs = self.sensitivities(data, self.settled(data) + 1)
        return next((k for k, sensitivity in enumerate(rungs) if sensitivity > bound), len(rungs))


def smooth_bound(rungs: Sequence[int], global_sensitivity: int, beta: Fraction) -> float:
    """``max_k e^{-beta k} U_k`` in floats, for sensitivities that are global from the end of the list on."""
    reach, rate = [*rungs, global_sensitivity], float(beta)
    return max(
        global_sensitivity * math.exp(-FLOOR),
        *(sensitivity * math.exp(-rate * k) for k, sensitivity in enumerate(reach)),
    )


class Published(Facts[D]):
    """As the statistic publishes them."""

    @property
    def global_sensitivity(self) -> int:
        return int(self.statistic.global_sensitivity)

    def value(self, data: D) -> int:
        return int(self.statistic.value(data))

    def sensitivities(self, data: D, count: int, algorithm: str = "exact") -> list[int]:
        return [
            int(sensitivity) for sensitivity in self.statistic.ladder(data, algorithm).sensitivity_at_distance(0, count)
        ]

    def settled(self, data: D) -> int:
        top = self.statistic.ladder(data).top
        if top is not None:
            return int(top)
        low, high = self.statistic.answers.ends
        return int(high - low + 1)

    def reachable(self, data: D) -> tuple[list[int], list[int]]:
        published = self.statistic.reachable_values(data)
        down, up = published.values(published.bottom, 0), published.values(0, published.top)
        return [int(value) for value in reversed(down)], [int(value) for value in up]

    def smooth(self, data: D, beta: Fraction, algorithm: str = "exact") -> Fraction:
        bound: Fraction = self.statistic.ladder(data, algorithm).smooth(beta)
        return bound

    def margin(self, data: D, bound: int) -> int:
        return int(self.statistic.ladder(data).margin(bound))


class Enumerated(Facts[D]):
    """By going through a whole universe: distances between datasets, then maxima over them.

    ``published``: the structures ("ladder", "reachable", "smooth") that claim to be no more than bounds, and are taken
    from the statistic instead.
    """

    def __init__(
        self, statistic: Any, data: Sequence[D], pairs: Sequence[tuple[int, int]], published: frozenset[str]
    ) -> None:
        super().__init__(statistic)
        self._data = list(data)
        self._number = {id(record): i for i, record in enumerate(self._data)}
        self._pairs = pairs
        self._published = Published[D](statistic)
        self._bounds = published

    @functools.cached_property
    def _near(self) -> NDArray[np.bool_]:
        near = np.eye(len(self._data), dtype=bool)
        here, there = np.array(self._pairs, dtype=np.int64).T
        near[here, there] = True
        return near

    @functools.cached_property
    def _values(self) -> NDArray[np.int64]:
        return np.array([int(self.statistic.value(record)) for record in self._data], dtype=np.int64)

    @functools.cached_property
    def local_sensitivities(self) -> NDArray[np.int64]:
        """The most that one change moves each dataset's value."""
        return np.asarray(np.where(self._near, np.abs(self._values[:, None] - self._values[None, :]), 0).max(axis=1))

    def _within(self, each: NDArray[np.int64], *, most: bool) -> NDArray[np.int64]:
        """Row k: the largest (or least) of all datasets within k changes."""
        results = [each]
        while True:
            last = results[-1]
            spread = np.where(self._near, last[None, :], last[:, None])
            reached = spread.max(axis=1) if most else spread.min(axis=1)
            if (reached == last).all():
                return np.array(results)
            results.append(reached)

    @functools.cached_property
    def _rungs(self) -> NDArray[np.int64]:
        return self._within(self.local_sensitivities, most=True)

    @property
    def depth(self) -> int:
        """After so many changes nothing more can be reached."""
        return len(self._rungs) - 1

    @functools.cached_property
    def _highest(self) -> NDArray[np.int64]:
        return self._within(self._values, most=True)

    @functools.cached_property
    def _lowest(self) -> NDArray[np.int64]:
        return self._within(self._values, most=False)

    @property
    def global_sensitivity(self) -> int:
        if "ladder" in self._bounds:
            return self._published.global_sensitivity
        return int(self.local_sensitivities.max())

    def value(self, data: D) -> int:
        return int(self._values[self._number[id(data)]])

    def sensitivities(self, data: D, count: int, algorithm: str = "exact") -> list[int]:
        if "ladder" in self._bounds or algorithm == "linear":
            return self._published.sensitivities(data, count, algorithm)
        return self.enumerated_sensitivities(data, count)

    def enumerated_sensitivities(self, data: D, count: int) -> list[int]:
        """Whatever the statistic claims."""
        own: list[int] = self._rungs[:, self._number[id(data)]].tolist()
        return (own + own[-1:] * max(count - len(own), 0))[:count]

    def settled(self, data: D) -> int:
        return self._published.settled(data) if "ladder" in self._bounds else len(self._rungs) - 1

    def reachable(self, data: D) -> tuple[list[int], list[int]]:
        return self._published.reachable(data) if "reachable" in self._bounds else self.enumerated_reachable(data)

    def enumerated_reachable(self, data: D) -> tuple[list[int], list[int]]:
        """Whatever the statistic claims."""
        number = self._number[id(data)]
        return self._lowest[:, number].tolist(), self._highest[:, number].tolist()

    def smooth(self, data: D, beta: Fraction, algorithm: str = "exact") -> Fraction:
        if "smooth" in self._bounds:
            return self._published.smooth(data, beta, algorithm)
        rungs = self.sensitivities(data, self.settled(data) + 1, algorithm)
        return Fraction(smooth_bound(rungs, self.global_sensitivity, beta))

    def margin(self, data: D, bound: int) -> int:
        rungs = self.sensitivities(data, self.settled(data) + 1)
        return next((k for k, sensitivity in enumerate(rungs) if sensitivity > bound), len(rungs))


def is_vector(statistic: Statistic | VectorStatistic) -> bool:
    """Whether a statistic is several numbers at once."""
    return isinstance(statistic, VectorStatistic)


def has_reachable_values(statistic: Any) -> bool:
    """Whether a statistic publishes what few changes can make of its value."""
    return isinstance(statistic, HasReachableValues)


def has_levels(statistic: Any) -> bool:
    """Whether a statistic publishes levels of its own."""
    return isinstance(statistic, HasLevels)


def has_local_sensitivity(statistic: Any) -> bool:
    """Whether a statistic publishes its local sensitivity and a bound on how far one change moves that."""
    return isinstance(statistic, HasLocalSensitivity)


def has_norm_ladder(statistic: Any) -> bool:
    """Whether a statistic publishes how far few changes move all of its numbers together."""
    return isinstance(statistic, HasNormLadder)


def norm_rungs(statistic: Any, data: Any, count: int) -> tuple[int, ...]:
    """The first rungs of such a statistic."""
    return tuple(int(sensitivity) for sensitivity in statistic.norm_ladder(data).sensitivity_at_distance(0, count))


def records_grid(statistic: Any) -> Grid:
    """Where the records of one column live; a record of a histogram is the number of its bin."""
    if not isinstance(statistic, VectorStatistic):
        grid: Grid = statistic.records_on
        return grid
    own = vars(statistic).get("grid")
    return own if isinstance(own, Grid) else Grid(Fraction(1), 0, len(statistic.labels) - 1)


def fingerprint(statistic: Any, data: Any) -> Hashable:
    """All that any mechanism sees of a dataset, as something that can be compared."""
    if isinstance(statistic, VectorStatistic):
        ranked = tuple(sorted(data.values.tolist())) if isinstance(data, Column) else ()
        norms = norm_rungs(statistic, data, SHOWN_RUNGS) if has_norm_ladder(statistic) else ()
        if isinstance(statistic, HasDomainHistogram):
            ranked = tuple(statistic.histogram(data).tolist())
        return (tuple(int(value) for value in statistic.values(data)), ranked, norms)
    rungs = tuple(int(sensitivity) for sensitivity in statistic.ladder(data).sensitivity_at_distance(0, SHOWN_RUNGS))
    chained: tuple[int, ...] = ()
    if isinstance(statistic, HasReachableValues):
        reachable = statistic.reachable_values(data)
        reach = min(SHOWN_RUNGS + 2, reachable.top, -reachable.bottom)
        chained = tuple(int(link) for link in reachable.values(-reach, reach))
    local: tuple[int, ...] = ()
    if isinstance(statistic, HasLocalSensitivity):
        local = (int(statistic.lipschitz_proxy(data)), int(statistic.local(data)))
    limited: tuple[int, ...] = ()
    if isinstance(statistic, HasLimitedShares):
        limited = tuple(statistic.limited_values(data, range(1, statistic.largest_share + 1)))
    level = (statistic.level_function().level(data),) if isinstance(statistic, HasLevels) else ()
    return (int(statistic.value(data)), rungs, chained, local, level + limited)
