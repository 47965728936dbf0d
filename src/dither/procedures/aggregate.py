"""Aggregators: from the answers of all blocks to one private answer.  What is public is settled by ``prepare``.

An aggregator sees a table of ``blocks`` rows, of which one person can change at most ``touched``; it knows nothing of
programs or people.  It must hold against *any* such table: the program may have been written to betray one person.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dither.calibration.mechanism import Mechanism
from dither.data.column import Column
from dither.data.grid import Grid
from dither.planner import prepare
from dither.privacy import Loss
from dither.procedures.executor import Answers, Output
from dither.queries.filtered import for_people
from dither.queries.order import RankedValue, rank_of

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Aggregation:
    """The public facts of a release: what the blocks answer, how many there are, and the price."""

    blocks: int
    touched: int
    """The most blocks that one person is in."""
    output: Output
    loss: Loss
    confidence: Fraction | None = None
    """None: no error bar."""
    metric: Any = None
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
    """For each number, a bar that covers the aggregate without noise."""


class Aggregate(ABC):
    """A private algorithm over tables of answers, ready to run."""

    loss: Loss
    """All that it costs."""
    calibration: str
    noise: str

    @abstractmethod
    def run(self, answers: Answers) -> Aggregated:
        """Aggregate the table (blocks x length) of answers within their bounds.  Raises nothing that depends on it."""


class Aggregator(ABC):
    """A manner of aggregating."""

    name: ClassVar[str]

    @abstractmethod
    def prepare(self, task: Aggregation) -> Aggregate:
        """The algorithm for a task, from public facts alone; refuses here or never."""

    @abstractmethod
    def blocks_wanted(self, task: Aggregation) -> int:
        """How many blocks it takes for noise to be no matter: a public rule (``task.blocks`` is not looked at)."""


@dataclass(frozen=True)
class Median(Aggregator):
    """The median of each number by itself, drawn or with noise like that of any other column.

    Guarantee  eps-DP ("inverse", "smooth" with a pure law): a person changes up to s records of each column, and the
               columns share the price.
    Theorem    docs/proofs/order.md with step size s (NRS11 Example 2); basic composition over the numbers.
    """

    calibration: str = "inverse"
    name = "median"

    def prepare(self, task: Aggregation) -> Aggregate:
        part = task.loss.share(Fraction(1, task.length))
        mechanisms = []
        for grid in task.grids:
            ranked = for_people(RankedValue(rank_of(HALF, task.blocks), task.blocks, grid), task.touched)
            mechanisms.append(
                prepare(
                    ranked, epsilon=part.epsilon, delta=0.0, calibration=self.calibration, confidence=task.confidence
                )[1]
            )
        return Medians(Loss(task.loss.epsilon), f"median ({self.calibration})", tuple(mechanisms), task.grids)

    def blocks_wanted(self, task: Aggregation) -> int:
        # The draw strays by about 2/eps ranks for each e-fold between the spread of the answers and their bounds.
        return int(80 * task.touched * task.length / task.loss.exact_epsilon) + 1


@dataclass(frozen=True)
class Medians(Aggregate):
    """One mechanism for each number."""

    loss: Loss
    calibration: str
    mechanisms: tuple[Mechanism, ...]
    grids: tuple[Grid, ...]

    @property
    def noise(self) -> str:  # type: ignore[override]
        return self.mechanisms[0].noise_name

    def run(self, answers: Answers) -> Aggregated:
        values, bars = [], []
        for column, mechanism, grid in zip(answers.T, self.mechanisms, self.grids, strict=True):
            outcome = mechanism.run(quantised(column, grid))
            value: Any = outcome.answer
            bar: Any = outcome.interval
            values.append(float(grid.value(value)))
            if bar is not None:
                bars.append((float(grid.value(bar[0])), float(grid.value(bar[1]))))
        return Aggregated(tuple(values), tuple(bars) or None)


def quantised(numbers: Any, grid: Grid) -> Column:
    """One number of every block, on its grid."""
    return Column(grid.quantise(np.ascontiguousarray(numbers, dtype=np.float64), grid.ends[0]), grid)
