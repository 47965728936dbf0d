"""Aggregators: from the answers of all blocks to one private answer.  What is public is settled by ``prepare``.

An aggregator sees a table of ``blocks`` rows, of which one person can change at most ``touched``; it knows nothing of
programs or people.  It must hold against *any* such table: the program may have been written to betray one person.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dither.errors import NotApplicable
from dither.mechanisms.base_measure import Measure
from dither.mechanisms.choice import prepare
from dither.mechanisms.half_width_draw import LEANS, distances
from dither.mechanisms.inverse import VALUE_SHARE
from dither.mechanisms.mechanism import Prepared
from dither.privacy import Loss
from dither.procedures.answer_spaces import AnswerSpace
from dither.procedures.executor import Answers, Output
from dither.procedures.metrics import GivenMetric
from dither.release import SAMPLE, IntervalName
from dither.sources.column import Column, RankedRecords
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue, rank_of
from dither.statistics.statistic import Statistic
from dither.statistics.unknown_size import for_people

HALF = Fraction(1, 2)
ASTRAY = math.log(1_000)
"""Nats beyond those of the grid: the answer that all blocks give is missed once in a thousand releases."""
WIDE = math.log(10)
"""Nats beyond those of the width: where all blocks agree, the interval is wider than a point once in ten releases."""


@dataclass(frozen=True)
class Aggregation:
    """The public facts of a release: what the blocks answer, how many there are, and the privacy loss."""

    blocks: int
    touched: int
    """The most blocks that one person is in."""
    output: Output
    loss: Loss
    confidence: Fraction | None = None
    """None: no interval."""
    metric: GivenMetric = None
    """A metric (dither.procedures.metrics) where the aggregator uses one; None: its own choice."""
    space: AnswerSpace | None = None
    """The finite space that answers are points of; None: they are numbers."""
    steps: tuple[Fraction, ...] | None = None
    """The declared step of each number; None: a fine one between its bounds."""
    interval: IntervalName = SAMPLE
    """What the interval covers: the aggregate of these blocks, or the middle of the law that they are drawn from."""

    @property
    def length(self) -> int:
        """How many numbers a block answers."""
        return self.output.length

    @property
    def grids(self) -> tuple[Grid, ...]:
        """The public grid of each number; answers are rounded to it before anything else."""
        return answer_grids(self.output, self.steps)


def answer_grids(output: Output, steps: tuple[Fraction, ...] | None) -> tuple[Grid, ...]:
    """The public grid of each number, from its bounds and its declared step."""
    each = (None,) * output.length if steps is None else steps
    return tuple(Grid.between(bounds, step) for bounds, step in zip(output.bounds, each, strict=True))


@dataclass(frozen=True)
class Aggregated:
    """What leaves an aggregate: private no longer."""

    values: tuple[float, ...] | None
    """None: refused, by a test that is part of the mechanism; that is a result, and it is paid for."""
    intervals: tuple[tuple[float, float], ...] | None = None
    """For each number, an interval that covers the aggregate without noise."""


class Aggregate(ABC):
    """A private algorithm over tables of answers, ready to run."""

    if TYPE_CHECKING:

        @property
        def loss(self) -> Loss:
            """All that it costs."""

        @property
        def mechanism(self) -> str: ...
        @property
        def noise(self) -> str: ...

    @abstractmethod
    def run(self, answers: Answers) -> Aggregated:
        """Aggregate the table (blocks x length) of answers within their bounds.  Raises nothing that depends on it."""


class Aggregator(ABC):
    """A way to aggregate the answers of the blocks."""

    name: ClassVar[str]

    @abstractmethod
    def prepare(self, task: Aggregation) -> Aggregate:
        """The algorithm for a task, from public facts alone; refuses here or never."""

    @abstractmethod
    def blocks_wanted(self, task: Aggregation) -> int:
        """How many blocks make the noise negligible: a public rule (``task.blocks`` is not looked at)."""

    def advice(self, task: Aggregation) -> str | None:  # noqa: ARG002
        """What to change where so few blocks can't tell the answers of the grid apart: from public facts."""
        return None


@dataclass(frozen=True)
class EachNumber(Aggregator):
    """A robust statistic of each number by itself, released like that of any other column.

    Guarantee  eps-DP: a person changes up to s records of each column, and the columns share the privacy loss.
    Theorem    The statistic's own proof with step size s (NRS11 Example 2); basic composition over the numbers.
    """

    name: str  # type: ignore[misc]
    statistic: Callable[[int, int, Grid], Statistic[RankedRecords]]
    """From the number of blocks, how many of them one person can change, and the grid of the answers."""
    mechanism: str
    nats: tuple[float, float]
    """By how much a block and a unit of epsilon tell two answers apart: without an interval, and with one."""
    draws: bool = False
    """True if an answer that is missed may lie anywhere between the bounds; else noise is small where blocks agree."""

    def prepare(self, task: Aggregation) -> Aggregate:
        if task.metric is not None:
            raise NotApplicable("metric", task.metric, f"{self.name} looks at each number alone", "aggregator='centre'")
        part = task.loss.share(Fraction(1, task.length))
        mechanisms = []
        for grid in task.grids:
            statistic = self.statistic(task.blocks, task.touched, grid)
            mechanisms.append(
                prepare(
                    statistic,
                    epsilon=part.epsilon,
                    mechanism=self.mechanism,
                    confidence=task.confidence,
                    interval=task.interval,
                )[1]
            )
        called = f"{self.name} ({self.mechanism})"
        return EachNumberAggregate(Loss(task.loss.epsilon), called, tuple(mechanisms), task.grids)

    def blocks_wanted(self, task: Aggregation) -> int:
        points = max(grid.points for grid in task.grids)
        blocks = self._blocks_for_answer(task)
        if not self.draws or task.confidence is None:
            return blocks
        # The width aims at a margin beyond which wider candidates, with all their weight, must cost enough.
        count, lean = len(distances(points)), LEANS[-1]
        heavier = (count - 1) * math.log1p(1 / lean) + math.log(lean + 1)
        nats = heavier + math.log(lean) - math.log(1 - task.confidence) + WIDE
        of_width = float((1 - VALUE_SHARE) / VALUE_SHARE) * self._told_apart(task, 1)
        return max(blocks, math.ceil(nats / of_width))

    def _blocks_for_answer(self, task: Aggregation) -> int:
        weight = max(Measure.rounded(grid).total for grid in task.grids)
        return math.ceil((math.log(weight) + ASTRAY) / self._told_apart(task, 1))

    def _told_apart(self, task: Aggregation, blocks: int) -> float:
        """How many nats so many blocks that agree put between their answer and any other."""
        nats = self.nats[task.confidence is not None]
        return nats * blocks * task.loss.epsilon / (task.touched * task.length)

    def advice(self, task: Aggregation) -> str | None:
        wanted = self._blocks_for_answer(task)
        if not self.draws or task.blocks >= wanted:
            return None
        points = int(math.exp(min(max(self._told_apart(task, task.blocks) - ASTRAY, 0.0), 40.0)))
        coarser = "" if points < 2 else f", or a step that leaves at most {points:,} values between the bounds"
        return (
            f"{task.blocks:,} blocks are too few to tell their answer from all others where they agree: "
            f"take {wanted:,} blocks{coarser}"
        )


def median_of(blocks: int, touched: int, grid: Grid) -> Statistic[RankedRecords]:
    """The lower median of the blocks' answers."""
    return for_people(RankedValue(rank_of(HALF, blocks), blocks, grid, HALF), touched)


MEDIAN = EachNumber("median", median_of, "inverse", (1 / 4, float(VALUE_SHARE / 4)), draws=True)
"""Exactly: other answers than that of all m blocks cost m / 2s changes, each e^(-epsilon / 2) or its share of that."""
SMOOTH_MEDIAN = EachNumber("smooth_median", median_of, "smooth", (0.4, 0.16))
"""Measured: where blocks agree the noise is then about 1e-6 of the bounds on the default grid."""


@dataclass(frozen=True)
class EachNumberAggregate(Aggregate):
    """One mechanism for each number."""

    loss: Loss
    mechanism: str
    mechanisms: tuple[Prepared[RankedRecords], ...]
    grids: tuple[Grid, ...]

    @property
    def noise(self) -> str:
        return self.mechanisms[0].noise_name

    def run(self, answers: Answers) -> Aggregated:
        values, intervals = [], []
        for column, prepared, grid in zip(answers.T, self.mechanisms, self.grids, strict=True):
            outcome = prepared.run(quantised(column, grid))
            (output_grid,) = prepared.statistic.answer_grids
            values.append(float(output_grid.value(outcome.number)))
            if outcome.ends is not None:
                low, high = outcome.ends
                intervals.append((float(output_grid.value(low)), float(output_grid.value(high))))
        return Aggregated(tuple(values), tuple(intervals) or None)


def quantised(numbers: Answers, grid: Grid) -> Column:
    """One number of every block, on its grid."""
    return Column(grid.quantise(np.ascontiguousarray(numbers, dtype=np.float64), grid.ends[0]), grid)
