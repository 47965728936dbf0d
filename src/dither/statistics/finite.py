"""A public, finite data space: every dataset, every neighbour and every value is listed, and sensitivities are counted.

Nothing here is bounded or estimated: local sensitivities, ladders, reachable values and levels are maxima over the
datasets that so many changes reach (NRS11 Definitions 2.1 and 3.1, COQ17 section 3.2).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument
from dither.privacy import Neighbours
from dither.sensitivity.ladder import Algorithm, Ladder, Sensitivities
from dither.sensitivity.levels import HasLevels, LevelFunction, Levels
from dither.sensitivity.local import HasLocalSensitivity
from dither.sensitivity.reachable import HasReachableValues, ReachableValues
from dither.sources.grid import Grid
from dither.statistics.statistic import FITTED_FIRST, Statistic

MOST_CELLS = 1 << 25
"""Of the tables of datasets by distance that a space is enumerated in: 256 megabytes each."""
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FiniteStatistic(Statistic[int], HasReachableValues[int], HasLevels[int], HasLocalSensitivity[int]):
    """A value for each of finitely many datasets; the data are the number of one of them.

    Guarantee  All structures are the exact ones of the listed neighbours.
    Theorem    docs/proofs/custom.md, section 7.
    Cost       Pairs of neighbours times the diameter of the space, once.
    """

    steps: Whole
    """The value of each dataset, in grid steps: public, and so is everything that follows."""
    pairs: Whole
    """Two rows: the numbers of neighbouring datasets, each pair in both orders."""
    answers: Grid
    neighbours = Neighbours.LISTED
    mechanism_preference = FITTED_FIRST
    monotone_cost = False
    most_lipschitz_proxy = 0

    @functools.cached_property
    def local_sensitivities(self) -> Whole:
        """Of each dataset: the most that one step to a neighbour moves its value."""
        here, there = self.pairs
        results = np.zeros(len(self.steps), dtype=np.int64)
        np.maximum.at(results, here, np.abs(self.steps[here] - self.steps[there]))
        return results

    @functools.cached_property
    def rungs(self) -> Whole:
        """Row k: the largest local sensitivity within k steps of each dataset; the last row holds for all k beyond."""
        return self._spread(self.local_sensitivities)

    @functools.cached_property
    def highest(self) -> Whole:
        """Row k: the largest value within k steps."""
        return self._spread(self.steps)

    @functools.cached_property
    def lowest(self) -> Whole:
        """Row k: the least value within k steps."""
        return -self._spread(-self.steps)

    def _spread(self, first: Whole) -> Whole:
        here, there = self.pairs
        results = [first]
        while True:
            reached = results[-1].copy()
            np.maximum.at(reached, here, results[-1][there])
            if np.array_equal(reached, results[-1]):
                return np.array(results)
            results.append(reached)
            if len(results) * len(first) > MOST_CELLS:
                raise InvalidArgument(
                    "datasets",
                    f"{len(first)} datasets",
                    f"must have at most {MOST_CELLS} datasets times their greatest distance",
                )

    @functools.cached_property
    def global_sensitivity(self) -> int:
        return int(self.local_sensitivities.max(initial=0))

    @property
    def sensitivity_is_constant(self) -> bool:
        return bool((self.local_sensitivities == self.global_sensitivity).all())

    @property
    def changes_to_worst_case(self) -> int | None:
        """None where some datasets never reach the largest sensitivity or an end of the answers."""
        low, high = self.answers.ends
        whole = (self.rungs[-1] == self.global_sensitivity) & (self.highest[-1] == high) & (self.lowest[-1] == low)
        return self._depth if bool(whole.all()) else None

    @property
    def _depth(self) -> int:
        return max(len(table) for table in (self.rungs, self.highest, self.lowest)) - 1

    @property
    def max_distance_to_instability(self) -> int | None:
        return self.max_margin(0)

    def max_margin(self, bound: int) -> int | None:
        """Enumerated; None where some data are never near enough to exceed the bound."""
        if not bool((self.rungs[-1] > bound).all()):
            return None
        return int((self.rungs <= bound).sum(axis=0).max())

    def enumerated(self) -> FiniteStatistic:
        """Itself, with all tables made."""
        _ = self._depth
        return self

    def value(self, data: int) -> int:
        return int(self.steps[data])

    def ladder(self, data: int, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        table = self.rungs

        def rungs(start: int, stop: int) -> Sensitivities:
            return np.asarray(table[np.minimum(np.arange(start, stop), len(table) - 1), data])

        # Whether all data reach the largest sensitivity is public; how soon one dataset does is not.
        settled = bool((table[-1] == self.global_sensitivity).all())
        return Ladder(rungs, self.global_sensitivity, top=len(table) - 1 if settled else None)

    def reachable_values(self, data: int) -> ReachableValues:
        low, high = self.answers.ends
        up, down = (table[:, data].tolist() for table in (self.highest, self.lowest))
        # Data that never reach an end are said to do so one step after the last: still a chain that interlaces.
        last = self._depth + 1

        def at(index: int) -> int:
            if abs(index) >= last:
                return high if index > 0 else low
            side = up if index > 0 else down
            return int(side[min(abs(index), len(side) - 1)])

        def values(first: int, end: int) -> Sequence[int]:
            return [at(index) for index in range(first, end + 1)]

        return ReachableValues(values, -last, last)

    @functools.cached_property
    def _placed(self) -> tuple[Levels, Whole]:
        """Datasets by their local sensitivity: the levels of COQ17, related where neighbours have them."""
        sensitivities, place = np.unique(self.local_sensitivities, return_inverse=True)
        level = place.reshape(-1) + 1
        here, there = level[self.pairs]
        related = {(int(a), int(b)) for a, b in np.unique(np.stack([here, there]), axis=1).T}
        return Levels(sensitivities.tolist(), pairs=related), level

    @property
    def levels(self) -> Levels:
        """The different local sensitivities, and which of them neighbours have."""
        return self._placed[0]

    def level_of(self, data: int) -> int:
        """The level of a dataset, from 1."""
        return int(self._placed[1][data])

    def level_function(self) -> LevelFunction[int]:
        return LevelFunction(self.levels, self.level_of)

    def lipschitz_proxy(self, data: int) -> int:  # noqa: ARG002
        return 0

    def local(self, data: int) -> int:
        return int(self.local_sensitivities[data])

    @functools.cached_property
    def _change(self) -> int:
        here, there = self.pairs
        return int(np.abs(self.local_sensitivities[here] - self.local_sensitivities[there]).max(initial=0))

    def local_sensitivity_change(self, lipschitz_proxy: int) -> int:  # noqa: ARG002
        return self._change

    def smooth_sensitivity(self, data: int, beta: Fraction) -> float:
        """``max_y LS(y) e^{-beta d(x, y)}`` in grid steps, to float accuracy."""
        own = self.rungs[:, data]
        return max(float(sensitivity) * math.exp(-float(beta) * k) for k, sensitivity in enumerate(own.tolist()))
