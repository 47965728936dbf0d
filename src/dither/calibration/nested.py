"""Several quantiles at once: the middle one first, then both halves, each among its own records only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.calibration.ends import Ends
from dither.calibration.mechanism import Mechanism, Outcome
from dither.calibration.shells import ShellDraw
from dither.noise.rungs import Spans, draw_span, window
from dither.privacy import Loss
from dither.queries.order import RankedValues

VALUE_SHARE = Fraction(1, 2)
"""The part of epsilon that buys the answers when error bars are wanted."""
MOST_BITS = 61


@dataclass(frozen=True)
class Node:
    """One quantile to draw: which one, and its share among the records between its already drawn neighbours."""

    index: int
    left: int | None
    right: int | None
    share: Fraction


def levels(shares: tuple[Fraction, ...]) -> list[list[Node]]:
    """The order of drawing: the middle quantile, then the middles of both sides, and so on.  Public."""
    found: list[list[Node]] = []
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
            level.append(Node(middle, left, right, (shares[middle] - low) / (high - low)))
            later += [(first, middle - 1, left, middle), (middle + 1, last, middle, right)]
        if level:
            found.append(level)
        pending = later
    return found


def price(plan: list[list[Node]]) -> Fraction:
    """What rate 1 costs (docs/proofs/quantiles.md).

    A changed record leaves one node of a level and enters another, which moves their scores by at most
    max(q, 1 - q) each, or stays inside one node and moves its score by at most 1; at the root it always stays.
    """
    return 2 + sum((4 * max(max(node.share, 1 - node.share) for node in level) for level in plan[1:]), Fraction(0))


@dataclass(frozen=True)
class NestedDraw(Mechanism):
    """Draws all quantiles with one rate, level by level.

    Guarantee  eps-DP with rate = eps / price(plan), or every quantile on its own with eps / (2 m), whichever rate is
               larger; the choice is public.
    Theorem    docs/proofs/quantiles.md, after Kaplan, Schnapp and Stemmer 2022; the change-one price is ours.
    Constants  Ties are spread inside their grid step by the records' own positions, so heavy ties do not mislead.
    Cost       A window of ranks around each quantile; one sort.
    """

    statistic: RankedValues
    loss: Loss
    rate: Fraction
    plan: list[list[Node]] | None
    """None: every quantile is drawn on its own."""
    ends: Ends | None
    noise_name = "exponential"

    @classmethod
    def prepared(cls, statistic: RankedValues, loss: Loss, confidence: Fraction | None) -> NestedDraw:
        """The mechanism, from public facts."""
        epsilon, count = loss.exact_epsilon, len(statistic.shares)
        ends = None
        if confidence is not None:
            ends = Ends(epsilon * (1 - VALUE_SHARE) / (2 * count), 1 - confidence)
            epsilon *= VALUE_SHARE
        plan = levels(statistic.shares)
        nested, alone = epsilon / price(plan), epsilon / (2 * count)
        fits = (statistic.grid.points * _spread(statistic.records)).bit_length() <= MOST_BITS
        spent = Loss(loss.epsilon)
        if nested > alone and fits:
            return cls(statistic, spent, nested, plan, ends)
        return cls(statistic, spent, alone, None, ends)

    def run(self, data: Any) -> Outcome:
        answers = self._alone(data) if self.plan is None else self._nested(data, self.plan)
        if self.ends is None:
            return Outcome(tuple(answers))
        each = zip(self.statistic.each(), answers, strict=True)
        return Outcome(tuple(answers), tuple(self.ends.draw(one, data, answer) for one, answer in each))

    def _alone(self, data: Any) -> list[int]:
        draws = (ShellDraw(one, self.loss, self.rate, None).run(data).answer for one in self.statistic.each())
        return sorted(draw for draw in draws if isinstance(draw, int))

    def _nested(self, data: Any, plan: list[list[Node]]) -> list[int]:
        spread = _spread(self.statistic.records)
        low, high = self.statistic.grid.ends
        fine = np.sort(data.values * spread + _positions(len(data.values), spread))
        drawn: dict[int | None, int] = {}
        for level in plan:
            for node in level:
                bottom = low * spread - 1 if node.left is None else drawn[node.left]
                top = (high + 1) * spread if node.right is None else drawn[node.right]
                drawn[node.index] = _draw_between(fine, bottom, top, node.share, self.rate)
        return [min(max(drawn[index] // spread, low), high) for index in range(len(self.statistic.shares))]


def _spread(records: int) -> int:
    """Into how many places a grid step is cut, so that all records get places of their own."""
    return 1 << max(records - 1, 1).bit_length()


def _positions(records: int, spread: int) -> NDArray[np.int64]:
    """The place of each record inside its step: its index with the bits reversed.

    A record that is replaced keeps its index, so neighbours still differ in one refined record.
    """
    index = np.arange(records, dtype=np.int64)
    reversed_bits = np.zeros(records, dtype=np.int64)
    for _ in range(spread.bit_length() - 1):
        reversed_bits = (reversed_bits << 1) | (index & 1)
        index = index >> 1
    return reversed_bits


def _draw_between(fine: NDArray[np.int64], bottom: int, top: int, share: Fraction, rate: Fraction) -> int:
    """A point strictly between bottom and top with weight e^{-rate score}.

    score(z) = |(1 - q) #{x < z} - q #{x > z}| over the records strictly between.  It is |i - q n'| in the gap after
    record i of n', and |i - (1 - q) - q n'| at record i.
    """
    if top - bottom <= 1:
        return bottom
    start, stop = int(np.searchsorted(fine, bottom, side="right")), int(np.searchsorted(fine, top, side="left"))
    inside = stop - start
    target = share * inside
    points = top - bottom - 1

    def spans(reach: int) -> Spans:
        first = max(math.floor(target) - reach, 0)
        last = min(math.ceil(target) + reach, inside)
        edges = [int(v) for v in fine[start + max(first - 1, 0) : start + min(last + 1, inside)]]
        if first == 0:
            edges = [bottom, *edges]
        if last == inside:
            edges = [*edges, top]
        # edges[j] is record first + j; gap i lies between records i and i + 1.
        sizes, costs = [], []
        for j, i in enumerate(range(first, last + 1)):
            sizes.append(edges[j + 1] - edges[j] - 1)
            costs.append(abs(i - target))
            if i < last:
                sizes.append(1)
                costs.append(abs(i + 1 - (1 - share) - target))
        return Spans(edges[0] + 1, sizes, costs, points - sum(sizes), Fraction(reach))

    seen, span, index = draw_span(spans, window(points, rate), inside + 1, rate)
    return seen.first + sum(seen.sizes[:span]) + index
