"""Grid points by how many records must change to reach them, and draws from them."""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dither.errors import NotApplicable
from dither.kernels.elementary import Floats
from dither.mechanisms.base_measure import Measure, RoundNumbers
from dither.mechanisms.counted_draw import draw_by_counts
from dither.mechanisms.error import MOST_SAMPLES, Cells, ErrorLaw, WorstCaseError, bounded_span, samples_for
from dither.mechanisms.half_width_draw import HalfWidthDraw, chain_of
from dither.mechanisms.mechanism import SLOW, Outcome, Prepared
from dither.noise.discrete_exponential import draw_cost, window
from dither.privacy import Loss
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.padded_links import LinkArray
from dither.sensitivity.reachable import ReachableValues
from dither.sensitivity.sorted_chain import SortedChain, listed
from dither.statistics.order import COARSE_POINTS
from dither.statistics.statistic import Statistic

TWO_SIDED_FROM = 3
"""Of extremes on coarse grids: from this epsilon on the value itself costs less than what lies beyond it."""
_MOST_LINKS = 2048
_MOST_SHELLS = 1 << 14
"""So many shells are looked at in estimates of errors."""
_LISTED = 16
"""So many round numbers between two records are looked at one by one in estimates of errors."""


@dataclass(frozen=True)
class Shells:
    """The grid points by cost, from a chain: shell t + offset holds (R_{t-1}, R_t] and [R_{-t}, R_{-t+1}).

    The value R_0 has a shell of its own (offset 1), or for one-sided chains shares the first one (offset 0): there all
    costs must move the same way (docs/proofs/inverse.md).  Points count with their weight in a public measure.
    """

    reachable_values: ReachableValues
    offset: int
    measure: Measure

    @property
    def shell_count(self) -> int:
        """The number of shells that can hold a point: public."""
        return max(self.reachable_values.top, -self.reachable_values.bottom) + self.offset

    def counts(self, first: int, last: int) -> list[int]:
        """The weights of costs first..last (from 1)."""
        sizes = self.sizes(first, last)
        return sizes if isinstance(sizes, list) else sizes.tolist()

    def sizes(self, first: int, last: int) -> list[int] | NDArray[np.int64]:
        """The same, as an array where links and weights fit into one."""
        inner, outer = max(first - self.offset, 1), last - self.offset
        if outer < inner:
            return [self._own()] if first == 1 else []
        up, down = self.reachable_values.values(inner - 1, outer), self.reachable_values.values(-outer, 1 - inner)
        if isinstance(up, LinkArray) and isinstance(down, LinkArray) and self.measure.is_small:
            below = self.measure.below_array(np.concatenate([down.array, up.array + 1]))
            rising = np.diff(below)
            sizes = rising[outer - inner + 2 :] + rising[outer - inner :: -1]
            if first > 1:
                return sizes
            own = rising[outer - inner + 1]
            if self.offset:
                return np.concatenate([[own], sizes])
            sizes[0] += own
            return sizes
        above, under = self.measure.below_each([link + 1 for link in up]), self.measure.below_each(down)
        listed = [
            far - near + low - lower
            for (near, far), (lower, low) in zip(pairwise(above), reversed(list(pairwise(under))), strict=True)
        ]
        if first > 1:
            return listed
        centre = above[0] - under[-1]
        return [centre, *listed] if self.offset else [listed[0] + centre, *listed[1:]]

    def _own(self) -> int:
        """The weight of the value itself."""
        centre = self.reachable_values.values(0, 0)[0]
        return self.measure.below(centre + 1) - self.measure.below(centre)

    def point(self, cost: int, index: int) -> int:
        """The point of a cost that holds a place in its weight."""
        steps, below = cost - self.offset, self.measure.below
        if steps:
            low, high = self.reachable_values.values(-steps, 1 - steps)
            under = below(high) - below(low)
            if index < under:
                return self.measure.within(low, high, index)
            index -= under
            near, far = (link + 1 for link in self.reachable_values.values(steps - 1, steps))
            if index < below(far) - below(near):
                return self.measure.within(near, far, index)
        return self.reachable_values.values(0, 0)[0]


def listed_links(statistic: Statistic[Data], links: int) -> int:
    """How many links are looked at one by one where so many matter: public; of sorted records, none of too many."""
    return listed(links) if chain_of(statistic).reaches_ranks else links


class DrawnByChanges(Prepared[Data]):
    """What draws along a chain have in common: how far they look, and the draw of their interval."""

    if TYPE_CHECKING:

        @property
        def statistic(self) -> Statistic[Data]: ...
        @property
        def rate(self) -> Fraction: ...
        @property
        def interval(self) -> HalfWidthDraw | None: ...

    @property
    @abstractmethod
    def total_weight(self) -> int:
        """Of all answers, each of which weighs at least 1: public."""

    @property
    def draw_length(self) -> int:
        # Intervals look at links alone, which weigh half as much as shells.
        return max(listed_links(self.statistic, window(self.total_weight, self.rate)), self.interval_ranks // 2)

    @functools.cached_property
    def changes(self) -> int:
        """How many changes a draw, and that of its interval, look at one by one: public."""
        return max(listed_links(self.statistic, window(self.total_weight, self.rate)), self.interval_ranks)

    @property
    def reach(self) -> int:
        if self.interval is not None and self.interval.sampling is not None:
            return self.changes  # (chains of a population go from rank to rank)
        return chain_of(self.statistic).ranks_within(self.changes)

    @property
    def interval_ranks(self) -> int:
        """How many links on either side are looked at one by one for the interval: public."""
        if self.interval is None:
            return 0
        return listed_links(self.statistic, 2 * self.interval.ranks(self.statistic)) // 2

    def with_interval(self, data: Data, answer: int, reachable: ReachableValues) -> Outcome:
        """The answer, with its interval where one is wanted."""
        if self.interval is None:
            return Outcome(answer)
        return Outcome(answer, self.interval.draw(self.statistic, data, answer, reachable))

    def typical_half_widths(self, records: Data) -> tuple[float, ...] | None:
        return None if self.interval is None else (self.interval.typical_half_width(self.statistic, records),)


@dataclass(frozen=True)
class ExponentialDraw(DrawnByChanges[Data]):
    """One draw from the shells, and one for the width of the interval."""

    mechanism = "inverse"
    statistic: Statistic[Data]
    loss: Loss
    rate: Fraction
    interval: HalfWidthDraw | None
    measure: Measure
    one_sided: bool = False
    """Of an extreme: the value costs as much as what lies beyond it, so that all costs are counts of one tail."""
    noise_name = "exponential"

    @classmethod
    def of(
        cls,
        statistic: Statistic[Data],
        loss: Loss,
        epsilon: Fraction,
        interval: HalfWidthDraw | None,
        *,
        rounded: bool = False,
    ) -> ExponentialDraw[Data]:
        """The draw that spends ``epsilon`` on the answer; ``rounded``: round numbers weigh more.

        Extremes have a leaning measure, and the sharper rate unless one point is worth more than that: at a large
        epsilon, on a coarse grid, the value itself is drawn far more often than what lies beyond it (docs/decisions.md,
        "Minimum and maximum").
        """
        grid_ends, reachable = statistic.answers.ends, chain_of(statistic)
        if not reachable.monotone_cost:
            measure = Measure.rounded(statistic.answers) if rounded else Measure.even(grid_ends)
            return cls(statistic, loss, epsilon / 2, interval, measure)
        down = reachable.is_maximum
        if down is None:
            return cls(statistic, loss, epsilon, interval, Measure.even(grid_ends), one_sided=True)
        measure = Measure.leaning(grid_ends, epsilon, down=down)
        if epsilon >= TWO_SIDED_FROM and statistic.answers.points <= COARSE_POINTS:
            return cls(statistic, loss, epsilon / 2, interval, measure)
        return cls(statistic, loss, epsilon, interval, measure, one_sided=True)

    @property
    def total_weight(self) -> int:
        return self.measure.total

    @property
    def step_weight(self) -> int:
        return SLOW if chain_of(self.statistic).linear_time_reachable_values else 1

    def shells(self, data: Data) -> Shells:
        """The grid points by cost: private."""
        return Shells(chain_of(self.statistic).reachable_values(data), 0 if self.one_sided else 1, self.measure)

    def run(self, data: Data) -> Outcome:
        shells = self.shells(data)
        chain, reach = shells.reachable_values, min(window(self.measure.total, self.rate), shells.shell_count)
        if isinstance(chain, SortedChain) and not listed(reach):
            answer = draw_by_counts(chain, self.measure, shells.offset, self.rate, reach)
            return self.with_interval(data, answer, chain)
        if not chain_of(self.statistic).linear_time_reachable_values:
            shells = replace(shells, reachable_values=shells.reachable_values.remembered(self.changes))
        answer = shells.point(*draw_cost(shells.sizes, self.measure.total, shells.shell_count, self.rate))
        return self.with_interval(data, answer, shells.reachable_values)

    def error_laws(self, records: Data) -> list[ErrorLaw]:
        return [self._cells(self.shells(records))]

    @property
    def prior_samples(self) -> int:
        return MOST_SAMPLES if chain_of(self.statistic).monotone_cost else samples_for(self.rate)

    def worst_case_error(self, confidence: float, records: int | None = None) -> WorstCaseError:  # noqa: ARG002
        """Weights that fall on either side of the value are a mixture of the measure on intervals around it.

        An even measure is at most half the range away; a leaning one as far as its mean is from the lighter end; round
        numbers are at most one of their units farther than half of an interval that holds them (docs/proofs/quotes.md).
        """
        between, measure = bounded_span(self.statistic.answers), self.measure
        if measure.round_numbers:
            unit = float(max(numbers.spacing for numbers in measure.round_numbers))
            return WorstCaseError((between / 2.0 + unit,), (between,))
        if len(measure.weights) == 1:
            within = float(math.ceil(between - (1.0 - confidence) * (between + 1.0)))
            return WorstCaseError((between / 2.0,), (within,))
        low = float(measure.edges[0])
        total = math.fsum(
            weight * (last - first) * ((first + last - 1) / 2.0 - low)
            for weight, (first, last) in zip(measure.weights, pairwise(measure.edges), strict=True)
        )
        mean = total / float(measure.total)
        return WorstCaseError((max(mean, between - mean),), (between,))

    def _cells(self, shells: Shells) -> Cells:
        """Cells of the grid in which all points have one cost and one weight in the measure."""
        reach, rate = min(window(shells.measure.total, self.rate), shells.shell_count), float(self.rate)
        chain = shells.reachable_values
        if isinstance(chain, SortedChain) and not listed(reach):
            # Many changes as one: all that they reach weighs the same but for a part in hundreds.
            together = -(-reach // _MOST_SHELLS)
            chain, reach, rate = chain.scaled(together), -(-reach // together), rate * together
        up, down = (links(chain, reach, sign) for sign in (1, -1))
        centre = up[0]
        edges = np.array(shells.measure.edges, dtype=np.int64)
        weights = np.array([float(weight) for weight in shells.measure.weights])
        inner = edges[(edges > down[-1]) & (edges <= up[-1])]
        starts = np.unique(np.concatenate([down, [centre], up + 1, inner]))
        first, last = starts[:-1], starts[1:] - 1
        # The first link at or beyond a cell, on its own side of the centre.
        steps = np.where(first >= centre, np.searchsorted(up, first), np.searchsorted(-down, -first))
        costs = np.maximum(steps + shells.offset, 1)
        each = weights[np.searchsorted(edges, first, side="right") - 1]
        log_each = np.log(each) - rate * costs
        runs = [(first, last, log_each + np.log(last - first + 1))]
        for numbers in shells.measure.round_numbers:
            cell, run_first, run_last, log_weight = _runs(numbers, first, last)
            runs.append((run_first, run_last, log_weight - rate * costs[cell]))
        first, last, log_mass = (np.concatenate(parts) for parts in zip(*runs, strict=True))
        above = first >= centre
        near, far = np.where(above, first - centre, centre - last), np.where(above, last - centre, centre - first)
        return Cells(near.astype(np.float64), far.astype(np.float64), np.exp(log_mass - log_mass.max()))


def _runs(
    numbers: RoundNumbers, first: NDArray[np.int64], last: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], Floats]:
    """The round numbers in cells of the grid, few of them one by one, many as if they were spread evenly: in which
    cell they are, from where to where, and the logarithm of their weight."""
    before = numbers.before_each(first)
    held = numbers.before_each(last + 1) - before
    is_listed = held <= _LISTED
    runs = np.where(is_listed, held, 1)
    cells = np.repeat(np.arange(len(first)), runs)
    starts = before[cells] + np.arange(len(cells)) - np.repeat(np.cumsum(runs) - runs, runs)
    stops = starts + np.where(is_listed, 1, held)[cells] - 1
    weights = np.log(numbers.weight * (stops - starts + 1.0))
    return cells, numbers.points(starts), numbers.points(stops), weights


def links(reachable: ReachableValues, reach: int, sign: int) -> NDArray[np.int64]:
    """The chain from the value outwards; of very many links, the far ones are interpolated between some."""
    if reach <= _MOST_LINKS:
        result = reachable.values(0, reach) if sign > 0 else reachable.values(-reach, 0)[::-1]
        try:
            return np.array(result, dtype=np.int64)
        except OverflowError:
            pass
        raise NotApplicable(
            "prior", "this many records", "their sum has more steps than an estimate can hold", "quotes without a prior"
        )
    near = np.arange(_MOST_LINKS // 8)
    places = np.unique(np.concatenate([near, np.geomspace(len(near), reach, 256).astype(np.int64), [reach]]))
    some = [reachable.values(sign * int(place), sign * int(place))[0] for place in places]
    return np.rint(np.interp(np.arange(reach + 1), places, np.array(some, dtype=np.float64))).astype(np.int64)
