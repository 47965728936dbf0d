"""The middle of fits of random blocks, all coefficients by one draw: regression with many features, without bounds.

A point costs as many changes of blocks as it takes to make it the middle in every coefficient at once; that is one
draw for all of them, instead of a share of epsilon for each (docs/proofs/joint_medians.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.accounting.cascades import Composition, Sequential, Step
from dither.mechanisms.half_width_draw import GROWTH, LEANS, HalfWidthDraw, Interval, leaning
from dither.mechanisms.mechanism import MOST_EPSILON
from dither.mechanisms.nested_boxes import ChainCoordinate, draw_point
from dither.noise.discrete_exponential import draw_index
from dither.privacy import Loss
from dither.procedures.block_fits import ROBUST_FROM, BlockFits, RegressionRecords, block_fits, random_order
from dither.procedures.floating import FloatingGrid, sampling_ranks
from dither.procedures.regression import (
    BLOCK,
    COUNT_NATS,
    SCALES,
    SINGULAR,
    Fit,
    RegressionFacts,
    RegressionPlan,
    check_block,
    too_many_failed,
)
from dither.procedures.unbounded import enough_records
from dither.release import POPULATION
from dither.sensitivity.reachable import ReachableValues
from dither.sources.column import Column
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue, rank_of

BITS = 40
SCALE_STEP = 8
"""Codes of scales in a power of four."""
COEFFICIENTS = FloatingGrid(2.0**-67, bits=BITS, highest=131)
"""Where coefficients are looked for: sizes from 2^-64 to 2^64 without a scale of their own, 2^40 of them an octave."""
NATS = 9
"""How rarely a draw may come from outside of the bulk of the fits: about e^-9."""
COEFFICIENT_NATS = Fraction(21, 2)
"""Nats of each coefficient: its 258 octaves, fits that spread over a fourth of one, and how near to the middle the draw
is (docs/proofs/joint_medians.md, section 2)."""
EASE = Fraction(3, 2)
"""So many times as many nats, and so many times narrower intervals, are asked for before blocks grow."""
MORE_RECORDS = 4
"""Blocks have at least so many records more than coefficients, or two for each coefficient if that is less."""
SCALE_NATS = Fraction(15, 4)
"""Nats of the scale of each: 65 powers of four, of which the bulk of the distances has one or two."""
SPARE_SCALE_NATS = 5
LEAST_AGREEMENT, MOST_AGREEMENT = 9, 36
"""Binary digits to which fits that all agree are answered."""
VALUE_SHARE = Fraction(1, 3)
"""The part of epsilon for the answer when intervals are wanted, unless it needs more."""
SCALE_SHARE = Fraction(1, 6)
"""The same for the scales of the intervals."""
WIDEST_RANKS = Fraction(1, 4)
"""The part of the blocks that the ranks of an interval may reach on either side of the middle."""
WIDTHS = tuple(2.0**-12 * float(GROWTH) ** i for i in range(60))
"""Half-widths of intervals, in scales; the last candidate is everything."""


@dataclass(frozen=True)
class JointMedians(RegressionPlan):
    """The middle of robust fits of random blocks, in all coefficients at once.

    Guarantee  epsilon-DP (no delta): each person sits in one block, and one block moves every cost by at most 1.
    Theorem    docs/proofs/joint_medians.md; the approximate Tukey depth of TukeyEM (Amin et al. 2022) as a cost.
    Constants  All of epsilon for one draw, no test and no delta; intervals take two more draws, each for all at once.
    Cost       O(n) fits, sorts, and products of whole numbers for some hundred costs.
    """

    size: int
    count_epsilon: Fraction
    """For the number of blocks without an answer."""
    value_epsilon: Fraction
    scale_epsilon: Fraction = Fraction(0)
    """For the scales of intervals; 0 where none are wanted."""
    interval_epsilon: Fraction = Fraction(0)

    name = "joint_medians"
    noise = "exponential"
    interval_of = POPULATION

    @property
    def composition(self) -> Composition:
        draws = (self.count_epsilon, self.value_epsilon, self.scale_epsilon, self.interval_epsilon)
        return Sequential(tuple(Step(draw) for draw in draws if draw))

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return self.model.records // self.size

    def run(self, sample: RegressionRecords) -> Fit:
        fits = block_fits(sample, random_order(sample.records), self.size, intercept=self.model.intercept)
        if too_many_failed(fits, self.count_epsilon):
            return Fit(None, refused_at=SINGULAR)
        columns = [self.column(fits, j) for j in range(self.model.coefficients)]
        values = tuple(map(COEFFICIENTS.value, draw_point(self.coordinates(columns), self.value_epsilon / 2)))
        if self.miss is None:
            return Fit(values)
        scales = draw_point(self.scales(fits, values), self.scale_epsilon / 2)
        boxes = candidates(values, [SCALES.value(SCALE_STEP * code) for code in scales])
        return Fit(values, tuple(outward(*ends) for ends in self.interval(boxes, columns, self.miss)))

    def column(self, fits: BlockFits, index: int) -> Column:
        """One coefficient of every block, as codes: private."""
        return Column(COEFFICIENTS.codes(fits.column(index, math.inf)).astype(np.int64), COEFFICIENTS.grid)

    def coordinates(self, columns: Sequence[Column]) -> list[ChainCoordinate]:
        """What changes of blocks make of the middle of each coefficient: private."""
        widening = widening_of(self.model.coefficients, self.blocks, self.value_epsilon)
        rank, ends = rank_of(Fraction(1, 2), self.blocks), COEFFICIENTS.grid.ends
        return [ChainCoordinate(ranked(column, rank), ends, widening) for column in columns]

    def scales(self, fits: BlockFits, values: Sequence[float]) -> list[ChainCoordinate]:
        """The same for the middle of the distances from an answer, in powers of four: private."""
        grid = Grid(Fraction(1), 0, SCALES.top // SCALE_STEP)
        rank, result = rank_of(Fraction(1, 2), self.blocks), []
        for j, value in enumerate(values):
            codes = SCALES.codes(fits.distances(j, value)).astype(np.int64) // SCALE_STEP
            result.append(ChainCoordinate(ranked(Column(codes, grid), rank), grid.ends))
        return result

    def interval(
        self, boxes: Sequence[Sequence[Interval]], columns: list[Column], miss: Fraction
    ) -> Sequence[Interval]:
        """The box that holds the entries at both of the ranks that sampling asks for, by one draw for all."""
        drawn, spare = HalfWidthDraw(self.interval_epsilon, miss / 2), sampling_ranks(self.blocks, miss / 2)
        rank = rank_of(Fraction(1, 2), self.blocks)
        chains = [
            (ranked(column, max(rank - spare, 1)), ranked(column, min(rank + spare, self.blocks))) for column in columns
        ]
        lean = drawn.lean(len(boxes), chains[0][1].top, -chains[0][0].bottom)
        costs = drawn.costs(boxes, chains, drawn.target(len(boxes), lean), lean)
        return boxes[draw_index(costs, drawn.rate, weights=leaning(len(boxes), lean))]


def ranked(column: Column, rank: int) -> ReachableValues:
    """The chain of a rank: private."""
    return RankedValue(rank, column.records, column.grid).reachable_values(column)


def candidates(values: Sequence[float], scales: Sequence[float]) -> list[list[Interval]]:
    """Nested boxes of codes around an answer, the last of them everything: public once answer and scales are."""
    everything = COEFFICIENTS.grid.ends
    centre, scale = np.array(values), np.array(scales)
    boxes = []
    for width in WIDTHS:
        lower, upper = (COEFFICIENTS.codes(centre + sign * width * scale) for sign in (-1.0, 1.0))
        # Outward by one code: codes and sums are rounded.
        ends = zip(lower.tolist(), upper.tolist(), strict=True)
        boxes.append([(max(low - 1, everything[0]), min(high + 1, everything[1])) for low, high in ends])
    return [*boxes, [everything] * len(values)]


def outward(low: int, high: int) -> tuple[float, float]:
    """An interval of codes as numbers: codes were cut towards zero."""
    top = COEFFICIENTS.top
    return COEFFICIENTS.value(max(low - 1, -top)), COEFFICIENTS.value(min(high + 1, top))


def widening_of(coefficients: int, blocks: int, epsilon: Fraction) -> int:
    """Codes that each further change reaches on either side: public.

    As little as keeps fits that all agree from being drowned by the rest of the grid.
    """
    nats = float(epsilon) * blocks / 4.0
    around = math.log(COEFFICIENTS.octaves) + 1.0 + max(math.log(float(epsilon) * blocks / (16.0 * coefficients)), 0.0)
    digits = math.floor(((nats - NATS) / coefficients - around) / math.log(2.0))
    agreed = min(max(digits, LEAST_AGREEMENT), MOST_AGREEMENT)
    return max((8 << (BITS - agreed)) // blocks, 1)


def plan_joint(model: RegressionFacts, loss: Loss, miss: Fraction | None, size: int | None = None) -> JointMedians:
    """Joint medians: the privacy loss is epsilon alone; blocks as large as leaves enough of them."""
    epsilon = min(loss.exact_epsilon, Fraction(int(MOST_EPSILON)))
    if size is not None:
        check_block(size, model)

    least = size or min(ROBUST_FROM * model.coefficients, model.coefficients + MORE_RECORDS)

    def possible(records: int) -> bool:
        return _split(model, records, least, epsilon, miss) is not None

    enough_records(model.records, possible, loss.exact_epsilon, Fraction(0))
    sizes = range(size or BLOCK * model.coefficients, least - 1, -1)
    eased = ((item, _split(model, model.records, item, epsilon, miss, EASE)) for item in sizes)
    best, split = next(
        ((item, split) for item, split in eased if split is not None),
        (least, _split(model, model.records, least, epsilon, miss)),
    )
    if split is None:
        raise RuntimeError("a number of records that was found to be enough is not")
    return JointMedians(model, Loss(loss.epsilon), miss, best, *split)


def _split(
    model: RegressionFacts,
    records: int,
    size: int,
    epsilon: Fraction,
    miss: Fraction | None,
    ease: Fraction = Fraction(1),
) -> tuple[Fraction, Fraction] | tuple[Fraction, Fraction, Fraction, Fraction] | None:
    """Epsilon for the count, the answer, and the scales and widths of intervals; None if that is not enough."""
    blocks = records // size
    if blocks < 2:
        return None
    count = COUNT_NATS * 2 / blocks
    q, rest = model.coefficients, epsilon - count
    answer = ease * (NATS + COEFFICIENT_NATS * q) * 4 / blocks
    scale = (SPARE_SCALE_NATS + SCALE_NATS * q) * 4 / blocks
    if miss is None:
        return (count, rest) if rest >= answer else None
    answer, scale = max(rest * VALUE_SHARE, answer), max(rest * SCALE_SHARE, scale)
    left = rest - answer - scale
    if left <= 0:
        return None
    ranks = sampling_ranks(blocks, miss / 2) + HalfWidthDraw(left, miss / 2).target(len(WIDTHS) + 1, LEANS[0])
    return (count, answer, scale, left) if ranks <= blocks * WIDEST_RANKS / ease else None
