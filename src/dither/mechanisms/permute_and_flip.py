"""Permute and flip: answers in a random order, each admitted by a coin; for single answers on coarse grids."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np

from dither.errors import NotApplicable
from dither.kernels.elementary import Floats
from dither.mechanisms.error import Cells, ErrorLaw, WorstCaseError, bounded_span, samples_for, whole_range
from dither.mechanisms.exponential import DrawnByChanges, links
from dither.mechanisms.half_width_draw import HalfWidthDraw, chain_of
from dither.mechanisms.inverse import answer_and_interval
from dither.mechanisms.mechanism import Mechanism, MechanismSpec, Outcome, Prepared, only_noises
from dither.mechanisms.registry import mechanism
from dither.noise.discrete_exponential import window
from dither.noise.permuted import admitted_chances, first_admitted
from dither.privacy import Concentrated, Loss, any_pure_rho
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.middle import HasMiddleScore
from dither.sensitivity.reachable import HasReachableValues, ReachableValues
from dither.sensitivity.sorted_chain import SortedChain, listed
from dither.statistics.order import COARSE_POINTS
from dither.statistics.statistic import Statistic, VectorStatistic

_TOO_FINE = f"grids of more than {COARSE_POINTS:,} points gain nothing by it"


class _Flipped(Mechanism):
    """What both scores have in common."""

    adds_noise = False
    covers_populations = True

    def serves(self, statistic: Statistic[Data] | VectorStatistic[Data]) -> bool:
        """Statistics on coarse grids whose chain is looked up at once: public."""
        return (
            isinstance(statistic, Statistic)
            and super().serves(statistic)
            and isinstance(statistic, HasReachableValues)
            and not statistic.linear_time_reachable_values
            and statistic.answers.high is not None
            and statistic.answers.low is not None
            and statistic.answers.points <= COARSE_POINTS
        )

    def _single(self, ask: MechanismSpec[Data]) -> Statistic[Data]:
        only_noises(self.name, ask.noise)
        statistic = ask.single_number(self.name)
        if not self.serves(statistic):
            raise NotApplicable("mechanism", self.name, f"not for this query: {_TOO_FINE}", "inverse")
        return statistic


@mechanism("permute_and_flip", needs=HasReachableValues)
@dataclass(frozen=True)
class PermuteAndFlip(_Flipped):
    """Tries grid points in a random order and answers with the first that a coin of chance ``e^{-rate cost}`` admits.

    Guarantee  eps-DP: the cost of every point, that of ``inverse``, changes by at most 1 between neighbours.  Not of
               bounded range: under a zcdp filter it adds up to four times what ``inverse`` does.
    Theorem    McKenna-Sheldon 2020 (arXiv 2010.12603); docs/proofs/permute_and_flip.md.
    Constants  rate = eps/2, as in the exponential mechanism, whose costs it never exceeds (stochastically); half of its
               error where one answer is nearly certain.
    Cost       At most one coin for each of at most 4,096 grid points.

    >>> import dither as dt
    >>> dt.median([3, 4, 5] * 100, bounds=(0, 10), step=1, epsilon=1, mechanism="permute_and_flip").mechanism
    'permute_and_flip'
    """

    def prepare(self, ask: MechanismSpec[Data]) -> Prepared[Data]:
        statistic = self._single(ask)
        epsilon, interval = answer_and_interval(ask, statistic)
        return FlippedDraw(statistic, _loss(ask.loss, epsilon, interval), epsilon / 2, interval)


@mechanism("middle_score", needs=HasMiddleScore)
@dataclass(frozen=True)
class MiddleScore(_Flipped):
    """Draws a quantile by how unevenly it splits the records, for grids whose step is the unit of the records.

    Ask for it only where every point between the records is in use among them, as whole ages and grades are: on a finer
    grid the best split lies *between* ties, far from all records.  Never a default.

    Guarantee  eps-DP: one change moves the score ``|(1-q) #{x < z} - q #{x > z}|`` of any point by at most 1.
    Theorem    docs/proofs/middle_score.md; drawn by permute and flip (docs/proofs/permute_and_flip.md).
    Constants  rate = eps/2; eps over twice max(q, 1-q) where records only come or go.  Exact: scores are whole numbers.
    Cost       One pass over the records, and at most one coin for each of at most 4,096 grid points.

    >>> import dither as dt
    >>> dt.median([3, 4, 5] * 100, bounds=(0, 10), step=1, epsilon=1, mechanism="middle_score").mechanism
    'middle_score'
    """

    def serves(self, statistic: Statistic[Data] | VectorStatistic[Data]) -> bool:
        """The same, of quantiles that are no extremes: public."""
        return isinstance(statistic, HasMiddleScore) and statistic.has_middle and super().serves(statistic)

    def prepare(self, ask: MechanismSpec[Data]) -> Prepared[Data]:
        statistic = self._single(ask)
        epsilon, interval = answer_and_interval(ask, statistic)
        rate = epsilon / (2 * _split(statistic).imbalance_sensitivity)
        return MiddleDraw(statistic, _loss(ask.loss, epsilon, interval), rate, interval)


def _split(statistic: Statistic[Data]) -> HasMiddleScore[Data]:
    """The same statistic, as one with imbalances: the mechanism serves no other."""
    return cast("HasMiddleScore[Data]", statistic)


def _loss(asked: Loss, epsilon: Fraction, interval: HalfWidthDraw | None) -> Loss:
    """What is known of the law: the answer is of no bounded range, the draw of its interval is."""
    if interval is None:
        return Loss(asked.epsilon)
    return Loss(asked.epsilon, stated=Concentrated(any_pure_rho(epsilon)) + interval.concentrated)


@dataclass(frozen=True)
class _Draw(DrawnByChanges[Data]):
    """The first point that its coin admits, and one draw for the width of the interval."""

    statistic: Statistic[Data]
    loss: Loss
    rate: Fraction
    """Of one unit of the cost."""
    interval: HalfWidthDraw | None
    noise_name = "exponential"

    @property
    def total_weight(self) -> int:
        return self.statistic.answers.points

    @abstractmethod
    def admission(self, data: Data, reachable: ReachableValues) -> Callable[[int, int], bool]:
        """(point, above) -> whether the point costs at most so much more than the cheapest: private."""

    @abstractmethod
    def costs(self, data: Data) -> Floats:
        """The cost of each grid point: private, for estimates of errors."""

    def run(self, data: Data) -> Outcome:
        low, reachable = self.statistic.answers.ends[0], chain_of(self.statistic).reachable_values(data)
        reachable = reachable.remembered(self.changes)
        admits = self.admission(data, reachable)
        place = first_admitted(self.total_weight, lambda place, above: admits(low + place, above), self.rate)
        return self.with_interval(data, low + place, reachable)

    def error_laws(self, records: Data) -> list[ErrorLaw]:
        low, high = self.statistic.answers.ends
        distances = np.abs(np.arange(low, high + 1) - self.statistic.value(records)).astype(np.float64)
        return [Cells(distances, distances, admitted_chances(self.costs(records), float(self.rate)))]

    @property
    def prior_samples(self) -> int:
        return samples_for(self.rate)


@dataclass(frozen=True)
class FlippedDraw(_Draw[Data]):
    """By how many records must change to make a point the value."""

    mechanism = "permute_and_flip"

    def admission(self, data: Data, reachable: ReachableValues) -> Callable[[int, int], bool]:  # noqa: ARG002
        if isinstance(reachable, SortedChain) and not listed(window(self.total_weight, self.rate)):
            low, counts = self.statistic.answers.ends[0], self._counts(reachable)
            return lambda point, above: reachable.changes_to(*counts[point - low]) <= above

        def admits(point: int, above: int) -> bool:
            down, up = max(-above, reachable.bottom), min(above, reachable.top)
            return reachable.values(down, down)[0] <= point <= reachable.values(up, up)[0]

        return admits

    def costs(self, data: Data) -> Floats:
        reachable = chain_of(self.statistic).reachable_values(data)
        low, high = self.statistic.answers.ends
        if isinstance(reachable, SortedChain) and not listed(window(self.total_weight, self.rate)):
            return np.array([reachable.changes_to(*counts) for counts in self._counts(reachable)], dtype=np.float64)
        reach, points = min(self.changes, max(reachable.top, -reachable.bottom)), np.arange(low, high + 1)
        up, down = links(reachable, reach, 1), links(reachable, reach, -1)
        steps = np.where(points >= up[0], np.searchsorted(up, points), np.searchsorted(-down, -points))
        return steps.astype(np.float64)

    def _counts(self, reachable: SortedChain) -> list[tuple[int, int | None]]:
        """How many records are below each grid point, and up to it: private."""
        low, high = self.statistic.answers.ends
        below = reachable.counts(range(low, high + 1))
        return list(zip(below, [*below[1:], None], strict=True))

    def worst_case_error(self, confidence: float, records: int | None = None) -> WorstCaseError:  # noqa: ARG002
        """Probabilities fall on either side of the value, so they are a mixture of even ones on intervals around it."""
        between = bounded_span(self.statistic.answers)
        within = float(np.ceil(between - (1.0 - confidence) * (between + 1.0)))
        return WorstCaseError((between / 2.0,), (within,))


@dataclass(frozen=True)
class MiddleDraw(_Draw[Data]):
    """By how unevenly a point splits the records."""

    mechanism = "middle_score"

    def admission(self, data: Data, reachable: ReachableValues) -> Callable[[int, int], bool]:  # noqa: ARG002
        imbalance, (low, high) = _split(self.statistic).imbalance(data), self.statistic.answers.ends
        # It never falls, so the least size is where it crosses zero.
        crossed = bisect_left(range(low, high), 0, key=imbalance) + low
        least = min(abs(imbalance(point)) for point in (max(crossed - 1, low), crossed))
        return lambda point, above: abs(imbalance(point)) <= least + above

    def costs(self, data: Data) -> Floats:
        imbalance, (low, high) = _split(self.statistic).imbalance(data), self.statistic.answers.ends
        return np.array([abs(imbalance(point)) for point in range(low, high + 1)], dtype=np.float64)

    def worst_case_error(self, confidence: float, records: int | None = None) -> WorstCaseError:  # noqa: ARG002
        """Where the grid is finer than the records the best split can be anywhere between them."""
        return whole_range(self.statistic.answer_grids)

    @property
    def draw_length(self) -> int:
        return self.interval_ranks // 2

    @property
    def reach(self) -> int:
        # It counts all records.
        return self.statistic.changes_to_worst_case or super().reach

    @property
    def prior_samples(self) -> int:
        return samples_for(self.rate * _split(self.statistic).imbalance_sensitivity)
