"""Aggregators: from the answers of all blocks to one private answer.  What is public is settled by ``prepare``.

An aggregator sees a table of ``blocks`` rows, of which one person can change at most ``touched``; it knows nothing of
programs or people.  It must hold against *any* such table: the program may have been written to betray one person.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dither.errors import NotApplicable
from dither.mechanisms.choice import prepare
from dither.mechanisms.mechanism import Prepared
from dither.privacy import Loss
from dither.procedures.executor import Answers, Output
from dither.procedures.metrics import GivenMetric
from dither.sources.column import Column, RankedRecords
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue, rank_of
from dither.statistics.statistic import Statistic
from dither.statistics.unknown_size import for_people

HALF = Fraction(1, 2)


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

    @property
    def length(self) -> int:
        """How many numbers a block answers."""
        return self.output.length

    @property
    def grids(self) -> tuple[Grid, ...]:
        """The public grid of each number; answers are rounded to it before anything else."""
        return tuple(Grid.between(bounds) for bounds in self.output.bounds)


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
    ranks: tuple[int, int]
    """How many blocks epsilon = 1 takes for an answer that noise does not spoil: without an interval, and with one."""

    def prepare(self, task: Aggregation) -> Aggregate:
        if task.metric is not None:
            raise NotApplicable("metric", task.metric, f"{self.name} looks at each number alone", "aggregator='centre'")
        part = task.loss.share(Fraction(1, task.length))
        mechanisms = []
        for grid in task.grids:
            statistic = self.statistic(task.blocks, task.touched, grid)
            mechanisms.append(
                prepare(statistic, epsilon=part.epsilon, mechanism=self.mechanism, confidence=task.confidence)[1]
            )
        called = f"{self.name} ({self.mechanism})"
        return EachNumberAggregate(Loss(task.loss.epsilon), called, tuple(mechanisms), task.grids)

    def blocks_wanted(self, task: Aggregation) -> int:
        each = self.ranks[task.confidence is not None]
        return int(each * task.touched * task.length / task.loss.exact_epsilon) + 1


def median_of(blocks: int, touched: int, grid: Grid) -> Statistic[RankedRecords]:
    """The lower median of the blocks' answers."""
    return for_people(RankedValue(rank_of(HALF, blocks), blocks, grid), touched)


MEDIAN = EachNumber("median", median_of, "inverse", (80, 200))
SMOOTH_MEDIAN = EachNumber("smooth_median", median_of, "smooth", (80, 200))


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
