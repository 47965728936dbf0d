"""Several quantiles at once: by one joint draw, or (for very many) the middle one first and then both halves."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from dither.accounting.concentrated import bounded_range
from dither.errors import NotApplicable
from dither.kernels.ordering import Runs
from dither.mechanisms.error import ErrorLaw, WorstCaseError, samples_for, whole_range
from dither.mechanisms.exponential import ExponentialDraw
from dither.mechanisms.half_width_draw import HalfWidthDraw
from dither.mechanisms.joint_draw import joint_quantiles, joint_reach
from dither.mechanisms.joint_quantile_error import joint_error_laws
from dither.mechanisms.limits import MOST_STEPS
from dither.mechanisms.mechanism import Outcome, Prepared
from dither.mechanisms.nested_quantiles import NESTED_COST, concentrated_nested, draw_nested, roots_of
from dither.noise.discrete_exponential import Spans, draw_span, window
from dither.privacy import Concentrated, Loss, rho_up
from dither.release import SAMPLE, IntervalName
from dither.sensitivity.sorted_chain import listed
from dither.sources.column import RankedRecords
from dither.statistics.order import RankedValues

OrderOfDraws: TypeAlias = Literal["joint", "nested", "levels", "alone"]
VALUE_SHARE = Fraction(1, 2)
"""The part of epsilon for the answers when intervals are wanted."""
MOST_BITS = 61
MOST_JOINT = 20
"""Up to so many quantiles are drawn jointly; the time of that grows with the cube of their number."""
MOST_BLOCKS = 1 << 23
"""Blocks of answers that a joint draw adds up: some two minutes.  Where there are more, levels are drawn."""
MOST_CELLS = 1 << 20
"""Positions of all answers together, likewise: some 1.2 GB."""
LEVEL_WEIGHT = 4
"""Draws by levels look at two runs a record, with fractions for their costs."""
JOINT_COST = 4
"""What rate 1 of the joint draw costs: its score moves by at most 2 (docs/proofs/quantiles.md)."""


@dataclass(frozen=True)
class QuantileNode:
    """One quantile to draw: which one, and its share among the records between its already drawn neighbours."""

    index: int
    left: int | None
    right: int | None
    share: Fraction


def levels(shares: tuple[Fraction, ...]) -> list[list[QuantileNode]]:
    """The order of drawing: the middle quantile, then the middles of both sides, and so on.  Public."""
    results: list[list[QuantileNode]] = []
    pending: list[tuple[int, int, int | None, int | None]] = [(0, len(shares) - 1, None, None)]
    while pending:
        level, later = [], []
        for first, last, left, right in pending:
            if first > last:
                continue
            low = Fraction(0) if left is None else shares[left]
            high = Fraction(1) if right is None else shares[right]
            middle = min(
                range(first, last + 1), key=lambda j: (abs(2 * j - first - last) > 1, abs(2 * shares[j] - low - high))
            )
            level.append(QuantileNode(middle, left, right, (shares[middle] - low) / (high - low)))
            later += [(first, middle - 1, left, middle), (middle + 1, last, middle, right)]
        if level:
            results.append(level)
        pending = later
    return results


def cost_of_levels(plan: list[list[QuantileNode]]) -> Fraction:
    """What rate 1 costs (docs/proofs/quantiles.md).

    A changed record leaves one node of a level and enters another, which moves their scores by at most
    max(q, 1 - q) each, or stays inside one node and moves its score by at most 1; at the root it always stays.
    """
    return 2 + sum((4 * max(max(node.share, 1 - node.share) for node in level) for level in plan[1:]), Fraction(0))


def concentrated_levels(rate: Fraction, plan: list[list[QuantileNode]]) -> Concentrated:
    """The same as zCDP (docs/proofs/concentrated.md, section 4): of each level, whichever of the two is more."""
    most = [max(max(node.share, 1 - node.share) for node in level) for level in plan[1:]]
    return Concentrated(rho_up(rate**2 * (Fraction(1, 2) + sum(max(Fraction(1, 2), D**2) for D in most))))


@dataclass(frozen=True)
class SeveralDraws(Prepared[RankedRecords]):
    """Draws all quantiles: jointly, level by level, or each on its own; a public choice.

    Guarantee  eps-DP.
    Theorem    docs/proofs/quantiles.md, after Gillenwater, Joseph and Kulesza 2021 (joint) and Kaplan, Schnapp and
               Stemmer 2022 (levels); the change-one losses are ours.
    Constants  rate = eps/4 jointly; eps / cost_of_levels(plan) by levels; eps/(2m) alone.  Ties are spread evenly
               inside their grid step, so heavy ties do not mislead.
    Cost       A window of ranks around each quantile; one sort.
    """

    mechanism = "inverse/vector"
    statistic: RankedValues
    loss: Loss
    rate: Fraction
    order_of_draws: OrderOfDraws
    interval: HalfWidthDraw | None
    noise_name = "exponential"

    @classmethod
    def of(
        cls,
        statistic: RankedValues,
        loss: Loss,
        epsilon: Fraction,
        confidence: Fraction | None,
        interval_of: IntervalName = SAMPLE,
    ) -> SeveralDraws:
        """The mechanism, from public facts; ``epsilon`` is the part of the loss that can be used."""
        count = len(statistic.shares)
        interval = None
        if confidence is not None:
            each, miss = epsilon * (1 - VALUE_SHARE) / count, 1 - confidence
            interval = (
                HalfWidthDraw(each, miss)
                if interval_of == SAMPLE
                else HalfWidthDraw.for_population(each, miss, statistic.each()[count // 2])
            )
            epsilon *= VALUE_SHARE
        fits = (statistic.grid.points * _spread(statistic.records)).bit_length() <= MOST_BITS
        nested, alone = epsilon / cost_of_levels(levels(statistic.shares)), epsilon / (2 * count)
        joint = epsilon / JOINT_COST
        order_of_draws: OrderOfDraws
        if fits and 1 < count <= MOST_JOINT and _has_room(statistic, joint):
            rate, order_of_draws, stated = joint, "joint", bounded_range(epsilon)
        elif fits and count > MOST_JOINT and _has_nested_room(statistic, epsilon / NESTED_COST):
            rate = epsilon / NESTED_COST
            order_of_draws, stated = "nested", concentrated_nested(rate)
        elif fits and nested > alone and _has_room_for_levels(statistic, nested):
            rate, order_of_draws, stated = nested, "levels", concentrated_levels(nested, levels(statistic.shares))
        else:
            rate, order_of_draws, stated = alone, "alone", Concentrated(bounded_range(epsilon / count).rho * count)
        if interval is not None:
            stated += Concentrated(interval.concentrated.rho * count)
        return cls(statistic, Loss(loss.epsilon, stated=stated), rate, order_of_draws, interval)

    @property
    def draw_length(self) -> int:
        points = self.statistic.grid.points
        links = 0 if self.interval is None else self._looked(self.interval) // 2
        if self.order_of_draws == "levels":
            return max(links, window(points * _spread(self.statistic.records), self.rate))
        # Of joint and nested draws ``of`` has counted the blocks.
        return max(links, listed(window(points, self.rate))) if self.order_of_draws == "alone" else links

    @property
    def step_weight(self) -> int:
        return LEVEL_WEIGHT if self.order_of_draws == "levels" else 1

    @property
    def reach(self) -> int:
        points = self.statistic.grid.points * _spread(self.statistic.records)
        if self.order_of_draws in ("joint", "nested"):
            together = len(self.statistic.shares) if self.order_of_draws == "joint" else _group_size(self.statistic)
            ranks = joint_reach(together, points, self.rate) + 1
        else:
            ranks = window(points, self.rate)
            if self.order_of_draws == "alone":
                ranks = listed(window(self.statistic.grid.points, self.rate))
        return ranks if self.interval is None else max(ranks, self._looked(self.interval))

    def _looked(self, interval: HalfWidthDraw) -> int:
        return max(listed(2 * interval.ranks(item)) // 2 for item in self.statistic.each())

    def run(self, data: RankedRecords) -> Outcome:
        return Outcome(*self.drawn(data))

    def drawn(self, data: RankedRecords) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...] | None]:
        """The answers, and their intervals where these are wanted."""
        answers = self._alone(data) if self.order_of_draws == "alone" else self._together(data)
        if self.interval is None:
            return tuple(answers), None
        each = zip(self.statistic.each(), answers, strict=True)
        return tuple(answers), tuple(self.interval.draw(item, data, answer) for item, answer in each)

    def _together(self, data: RankedRecords) -> list[int]:
        spread = _spread(self.statistic.records)
        low, high = self.statistic.grid.ends
        # Counted from the lower bound, so that what ``prepared`` has checked to fit does fit.
        fine = RefinedRecords(data, spread, self.reach)
        bounds = 0, (high + 1 - low) * spread - 1
        if self.order_of_draws == "joint":
            drawn = joint_quantiles(fine, bounds, self._ranks, self.rate)
        elif self.order_of_draws == "nested":
            drawn = draw_nested(fine, bounds, self._ranks, self.rate)
        else:
            drawn = draw_levels(fine, bounds, self.statistic.shares, self.rate)
        return [low + place // spread for place in drawn]

    @property
    def _ranks(self) -> list[int]:
        return [statistic.rank for statistic in self.statistic.each()]

    def _alone(self, data: RankedRecords) -> list[int]:
        draws = (
            ExponentialDraw.of(statistic, self.loss, 2 * self.rate, None).run(data).answer
            for statistic in self.statistic.each()
        )
        return sorted(draw for draw in draws if isinstance(draw, int))

    def error_laws(self, records: RankedRecords) -> list[ErrorLaw]:
        each = self.statistic.each()
        if self.order_of_draws == "alone":
            draws = (ExponentialDraw.of(statistic, self.loss, 2 * self.rate, None) for statistic in each)
            return [law for draw in draws for law in draw.error_laws(records)]
        if self.order_of_draws == "joint":
            return [*joint_error_laws(records, [statistic.rank for statistic in each], self.rate)]
        most = "up to 20 of them, or no prior"
        raise NotApplicable("prior", f"{len(each)} quantiles", "no error is worked out for so many at once", most)

    @property
    def prior_samples(self) -> int:
        return samples_for(self.rate)

    def worst_case_error(self, confidence: float, records: int | None = None) -> WorstCaseError:  # noqa: ARG002
        """Nothing better than the range is proved for numbers that are drawn together."""
        return whole_range(self.statistic.answer_grids)

    def typical_half_widths(self, records: RankedRecords) -> tuple[float, ...] | None:
        if self.interval is None:
            return None
        return tuple(self.interval.typical_half_width(statistic, records) for statistic in self.statistic.each())


def _has_room(statistic: RankedValues, rate: Fraction) -> bool:
    """Whether a joint draw stays within its limits of time and memory: public."""
    count, points = len(statistic.shares), statistic.grid.points * _spread(statistic.records)
    positions = min(2 * joint_reach(count, points, rate), statistic.records + 1)
    return count * positions <= MOST_CELLS and count * (count + 1) // 2 * positions <= MOST_BLOCKS


def _has_room_for_levels(statistic: RankedValues, rate: Fraction) -> bool:
    """The same of draws by levels; draws of each by itself need no ranks where there are too many."""
    looked = window(statistic.grid.points * _spread(statistic.records), rate)
    return LEVEL_WEIGHT * min(looked, statistic.records) <= MOST_STEPS


def _group_size(statistic: RankedValues) -> int:
    """How many quantiles a nested draw has at most: public."""
    roots = roots_of(len(statistic.shares))
    return max(len(roots), *(after - before - 1 for before, after in pairwise([-1, *roots, len(statistic.shares)])))


def _has_nested_room(statistic: RankedValues, rate: Fraction) -> bool:
    """The same of nested draws."""
    size, points = _group_size(statistic), statistic.grid.points * _spread(statistic.records)
    positions = min(2 * joint_reach(size, points, rate), statistic.records + 1)
    draws = len(roots_of(len(statistic.shares))) + 2
    return size * positions <= MOST_CELLS and draws * size * (size + 1) // 2 * positions <= MOST_BLOCKS


def draw_levels(
    fine: NDArray[np.int64] | RefinedRecords, bounds: tuple[int, int], shares: tuple[Fraction, ...], rate: Fraction
) -> list[int]:
    """All quantiles of distinct sorted records, level by level."""
    drawn: dict[int | None, int] = {}
    for level in levels(shares):
        for node in level:
            bottom = bounds[0] - 1 if node.left is None else drawn[node.left]
            top = bounds[1] + 1 if node.right is None else drawn[node.right]
            place = _draw_between(fine, bottom, top, node.share, rate)
            drawn[node.index] = min(max(place, bounds[0]), bounds[1])
    return [drawn[index] for index in range(len(shares))]


def _spread(records: int) -> int:
    """Into how many places a grid step is cut, so that all records get places of their own."""
    return 1 << max(records - 1, 1).bit_length()


def refined(values: NDArray[np.int64], spread: int) -> NDArray[np.int64]:
    """Sorted records, all different: the j-th of those tied at one value gets the place ``reverse(j)`` in its step.

    The places depend on how many records are tied, not on their order: a run that loses a record loses its last
    place, one that gains a record gains the next one, so neighbours differ in one refined record.
    """
    ordered = np.sort(values)
    index = np.arange(len(ordered), dtype=np.int64)
    starts = np.where(np.concatenate([[True], ordered[1:] != ordered[:-1]]), index, 0)
    return np.sort(ordered * spread + _reversed_bits(index - np.maximum.accumulate(starts), spread))


def _reversed_bits(numbers: NDArray[np.int64], spread: int) -> NDArray[np.int64]:
    """The numbers below ``spread`` (a power of two) with their bits in reverse: neighbours end up far apart."""
    results = np.zeros_like(numbers)
    for _ in range(spread.bit_length() - 1):
        results = (results << 1) | (numbers & 1)
        numbers = numbers >> 1
    return results


class RefinedRecords:
    """Private: what ``refined`` makes of all records, of which only windows around places that matter are read.

    Places within a run of ties have a closed form, so a run of any length takes no memory.
    """

    def __init__(self, data: RankedRecords, spread: int, reach: int) -> None:
        """``reach``: how many ranks on either side are read at once."""
        self._data, self._spread, self._reach = data, spread, reach
        self._low = data.grid.ends[0]
        self._windows: list[Runs] = []

    def __repr__(self) -> str:
        return "RefinedRecords(<private>)"

    def __len__(self) -> int:
        return self._data.records

    @overload
    def __getitem__(self, places: int) -> int: ...
    @overload
    def __getitem__(self, places: slice) -> NDArray[np.int64]: ...
    def __getitem__(self, places: int | slice) -> int | NDArray[np.int64]:
        if isinstance(places, int):
            return int(self[places : places + 1][0])
        first, last, _ = places.indices(len(self))
        if first >= last:
            return np.zeros(0, dtype=np.int64)
        runs = self._holding(first, last)
        places_here = np.arange(first - runs.below, last - runs.below)
        ends = np.cumsum(runs.counts)
        at = np.searchsorted(ends, places_here, side="right")
        within = places_here - (ends - runs.counts)[at]
        return (runs.values[at] - self._low) * self._spread + _nth_reversed(within, runs.counts[at], self._spread)

    def _holding(self, first: int, last: int) -> Runs:
        for runs in self._windows:
            if runs.below <= first and last <= runs.below + int(runs.counts.sum()):
                return runs
        ranks = max(first + 1 - self._reach, 1), min(last + self._reach, len(self))
        self._windows.append(self._data.runs(*ranks))
        return self._windows[-1]

    def searchsorted(self, point: int, side: Literal["left", "right"]) -> int:
        """How many are below a point, or with side="right" not above it."""
        limit = point + (side == "right")
        low, high = 0, len(self)
        for runs in self._windows:  # whatever they hold, they narrow the search
            inside = range(runs.below, runs.below + int(runs.counts.sum()))
            if inside and self[inside[0]] < limit:
                low = max(low, inside[0] + 1)
                high = high if self[inside[-1]] < limit else min(high, inside[-1])
            elif inside:
                high = min(high, inside[0])
        return bisect_left(self, limit, low, high)


def _nth_reversed(places: NDArray[np.int64], counts: NDArray[np.int64], spread: int) -> NDArray[np.int64]:
    """The numbers at these places of the sorted list of ``reverse(0), ..., reverse(count - 1)``.

    Bit by bit from the highest: of the j below a count whose low t bits are p there are ceil((count - p) / 2^t).
    """
    result, prefix, left = np.zeros_like(places), np.zeros_like(places), places.copy()
    for bit in range(spread.bit_length() - 1):
        zeros = np.maximum(-(-(counts - prefix) // (2 << bit)), 0)
        is_one = left >= zeros
        left -= np.where(is_one, zeros, 0)
        prefix |= is_one.astype(np.int64) << bit
        result = (result << 1) | is_one
    return result


def _draw_between(
    fine: NDArray[np.int64] | RefinedRecords, bottom: int, top: int, share: Fraction, rate: Fraction
) -> int:
    """A point strictly between bottom and top with weight e^{-rate score}.

    score(z) = |(1 - q) #{x < z} - q #{x > z}| over the records strictly between.  It is |i - q n'| in the gap after
    record i of n', and |i - (1 - q) - q n'| at record i.
    """
    if top - bottom <= 1:
        return bottom
    start, stop = int(fine.searchsorted(bottom, side="right")), int(fine.searchsorted(top, side="left"))
    inside = stop - start
    target = share * inside
    points = top - bottom - 1

    below, above = math.floor(target), math.ceil(target)

    def spans(reach: int) -> Spans:
        first, last = max(below - reach, 0), min(above + reach, inside)
        edges = [int(v) for v in fine[start + max(first - 1, 0) : start + min(last + 1, inside)]]
        if first == 0:
            edges = [bottom, *edges]
        if last == inside:
            edges = [*edges, top]
        # edges[j] is record first + j; gap i lies between records i and i + 1.  Listed from the target outwards.
        runs: list[tuple[int, int, int, Fraction]] = []
        for j, i in enumerate(range(first, last + 1)):
            ring = max(below - i, i - above, 0)
            runs.append((ring, edges[j] + 1, edges[j + 1] - edges[j] - 1, abs(i - target)))
            if i < last:
                outer = max(ring, below - i - 1, i + 1 - above)
                runs.append((outer, edges[j + 1], 1, abs(i + 1 - (1 - share) - target)))
        runs.sort()
        sizes = [size for _, _, size, _ in runs]
        return Spans(
            [place for _, place, _, _ in runs], sizes, [cost for *_, cost in runs], points - sum(sizes), Fraction(reach)
        )

    return draw_span(spans, window(points, rate), inside + 1, rate)
