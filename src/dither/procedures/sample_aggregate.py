"""Sample and aggregate (NRS11 section 4): any program, run on blocks of people, released through a private aggregate.

Everything that can be refused is refused by ``plan``, from public facts; ``run`` draws, runs and aggregates.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.errors import InvalidArgument, NotApplicable
from dither.privacy import Loss
from dither.procedures.aggregate import (
    MEDIAN,
    SMOOTH_MEDIAN,
    Aggregate,
    Aggregated,
    Aggregation,
    Aggregator,
    answer_grids,
)
from dither.procedures.agreement import Average, fewest_blocks
from dither.procedures.answer_spaces import AnswerSpace
from dither.procedures.centre import Centre
from dither.procedures.drawn_point import POINT_AGGREGATORS
from dither.procedures.executor import Answers, Output
from dither.procedures.medoid import Medoid
from dither.procedures.metrics import METRICS, GivenMetric, Matching, as_metric
from dither.procedures.partition import Independent, Overlapping, Partition, Sampling, checked_blocks, overlap
from dither.procedures.unconstrained_centre import UnconstrainedCentre
from dither.release import POPULATION, SAMPLE, IntervalName
from dither.sources.grid import Grid

AGGREGATORS: dict[str, Aggregator] = {
    "median": MEDIAN,
    "smooth_median": SMOOTH_MEDIAN,
    "centre": Centre(),
    "medoid": Medoid(),
    "unconstrained_centre": UnconstrainedCentre(),
    "average": Average(),
}
SAMPLINGS = ("partition", "overlapping")
LEAST_PEOPLE = 8
"""The block count that is chosen for you leaves at least so many people in a block."""
MOST_CHOSEN = 5_000
MEDIAN_NATS = 56
"""Medians are drawn where each number has ``epsilon m / 4`` of at least 14: measured, below that they go astray."""
ROOM = Fraction(5, 4)
"""Blocks for an average, in the least number that can be certified."""


@dataclass(frozen=True)
class SampleAggregatePlan:
    """Everything public about a release: how blocks are drawn, how answers are aggregated, and the privacy loss."""

    sampling: Sampling
    aggregator: str
    aggregate: Aggregate
    output: Output
    space: AnswerSpace | None = None
    """The space of the points that are released; None: numbers are."""
    grids: tuple[Grid, ...] | None = None
    """Declared grids of the numbers; None: the aggregate's own, which are fine."""
    advice: str | None = None
    """What would make the answer better, from public facts; None: nothing is wrong."""

    @property
    def loss(self) -> Loss:
        """All that it costs."""
        return self.aggregate.loss

    def run(self, answers: Answers) -> Aggregated:
        """Aggregate the answers of all blocks."""
        if answers.shape != (self.sampling.blocks, self.output.length):
            raise RuntimeError("an executor must answer for every block")
        if self.grids is None:
            return self.aggregate.run(answers)
        return _on_grids(self.aggregate.run(_rounded(answers, self.grids)), self.grids)


def plan(
    people: int | None,
    output: Output,
    loss: Loss,
    *,
    blocks: int | None = None,
    metric: GivenMetric = None,
    aggregator: Aggregator | str = "auto",
    sampling: str = "partition",
    confidence: Fraction | None = None,
    space: AnswerSpace | None = None,
    steps: tuple[Fraction, ...] | None = None,
    interval: IntervalName = SAMPLE,
) -> SampleAggregatePlan:
    """The plan of a release; refuses here or never.

    people: the public number of people (of rows where each has one); None: it is private.
    blocks: None takes the aggregator's public rule.
    steps: of the grid of each number; answers are rounded to it, and so is what is released.
    aggregator: "auto", a name in AGGREGATORS (with a space: in POINT_AGGREGATORS), or an Aggregator.
    interval: "population": of the law that the blocks' answers are drawn from, by medians of blocks that share nobody.
    """
    if sampling not in SAMPLINGS:
        raise InvalidArgument("sampling", sampling, f"must be {', '.join(map(repr, SAMPLINGS))}")
    if interval != SAMPLE:
        _check_population(people, aggregator, sampling, metric, space)
        aggregator = "median"
    task = Aggregation(1, 1, output, loss, confidence, metric, space, steps, interval)
    name, chosen = _aggregator(aggregator, task, _most_blocks(people, blocks) if sampling == "partition" else 0)
    count = checked_blocks(_chosen_blocks(people, chosen, task, sampling) if blocks is None else blocks, people)
    drawn = _sampling(sampling, count, people)
    task = dataclasses.replace(task, blocks=count, touched=drawn.touched)
    declared = None if steps is None else answer_grids(output, steps)
    return SampleAggregatePlan(drawn, name, chosen.prepare(task), output, space, declared, chosen.advice(task))


def _check_population(
    people: int | None,
    aggregator: Aggregator | str,
    sampling: str,
    metric: GivenMetric,
    space: AnswerSpace | None,
) -> None:
    """Refuse an interval for the population where blocks are not alike and independent, or have no medians."""
    only = "is for medians of numbers, of blocks that share nobody, of a public number of rows with one for each person"
    instead = f"interval={SAMPLE!r}"
    if people is None:
        raise NotApplicable("interval", POPULATION, f"{only}, which is private here", instead)
    if aggregator not in ("auto", "median") or metric is not None or space is not None:
        raise NotApplicable("interval", POPULATION, only, "aggregator='median' without metric and space")
    if sampling != "partition":
        raise NotApplicable("interval", POPULATION, only, "sampling='partition'")


def _rounded(answers: Answers, grids: tuple[Grid, ...]) -> Answers:
    """Each answer at the nearest point of its grid: block by block."""
    steps = [
        grid.quantise(np.ascontiguousarray(column), grid.ends[0]) for column, grid in zip(answers.T, grids, strict=True)
    ]
    return np.column_stack([float(grid.step) * column for column, grid in zip(steps, grids, strict=True)])


def _on_grids(result: Aggregated, grids: tuple[Grid, ...]) -> Aggregated:
    """What is released at grid points, with the ends of intervals moved outwards to them: post-processing."""
    if result.values is None:
        return result
    values = tuple(_grid_point(number, grid, round) for number, grid in zip(result.values, grids, strict=True))
    if result.intervals is None:
        return Aggregated(values)
    ends = zip(result.intervals, grids, strict=True)
    outwards = [(_grid_point(low, grid, math.floor), _grid_point(high, grid, math.ceil)) for (low, high), grid in ends]
    return Aggregated(values, tuple(outwards))


def _grid_point(number: float, grid: Grid, rounding: Callable[[Fraction], int]) -> float:
    """A number as it is if it is a grid point up to the rounding of floats, else rounded."""
    steps = Fraction(number) / grid.step
    nearest = float(grid.value(grid.clamp(round(steps))))
    return nearest if nearest == number else float(grid.value(grid.clamp(rounding(steps))))


def _aggregator(given: Aggregator | str, task: Aggregation, blocks: int) -> tuple[str, Aggregator]:
    if task.space is not None:
        name = "medoid" if given == "auto" else given
        if not isinstance(name, str) or name not in POINT_AGGREGATORS:
            accepted = ", ".join(map(repr, ("auto", *POINT_AGGREGATORS)))
            raise InvalidArgument("aggregator", given, f"must be {accepted} where answers are points of a space")
        return name, POINT_AGGREGATORS[name]
    if isinstance(given, Aggregator):
        return given.name, given
    name = automatic(task, blocks) if given == "auto" else given
    if not isinstance(name, str) or name not in AGGREGATORS:
        raise InvalidArgument("aggregator", given, f"must be {', '.join(map(repr, ('auto', *AGGREGATORS)))}")
    return name, AGGREGATORS[name]


def automatic(task: Aggregation, blocks: int) -> str:
    """What "auto" means, if there are up to so many blocks that do not overlap: a public rule.

    Medians of each number, where their share of epsilon tells the middle of so many blocks from all the rest; where it
    does not, and for metrics, a certified average if it can be had, and else the centre.
    """
    metric = as_metric(task.metric)
    if metric is None and task.loss.exact_epsilon * blocks >= MEDIAN_NATS * task.length:
        return "median"
    averaged = metric is None or metric is METRICS["l2"] or isinstance(metric, Matching)
    if averaged and not task.loss.is_pure and blocks >= ROOM * fewest_blocks(task.loss):
        return "average"
    return "median" if metric is None else "centre"


def _most_blocks(people: int | None, blocks: int | None) -> int:
    """How many blocks there may be; what is no number is refused later."""
    if isinstance(blocks, int):
        return blocks
    return MOST_CHOSEN if people is None else min(max(people // LEAST_PEOPLE, 1), MOST_CHOSEN)


def _sampling(name: str, blocks: int, people: int | None) -> Sampling:
    if name == "partition":
        return Independent(blocks) if people is None else Partition(blocks)
    if people is None:
        raise InvalidArgument("sampling", name, 'must be "partition" where the number of people is private')
    return Overlapping(blocks, people)


def _chosen_blocks(people: int | None, chosen: Aggregator, task: Aggregation, sampling: str) -> int:
    """As many as the aggregator wants, at least the square root of n; never so many that blocks are tiny."""
    if people is None:
        return min(chosen.blocks_wanted(task), MOST_CHOSEN)
    count = 1
    for _ in range(8):
        # Overlapping samples touch more blocks, which takes more blocks.
        touched = overlap(people, count) if sampling == "overlapping" else 1
        wanted = chosen.blocks_wanted(dataclasses.replace(task, touched=touched))
        count = min(max(wanted, math.isqrt(people)), MOST_CHOSEN, max(people // LEAST_PEOPLE, 1))
    return count
