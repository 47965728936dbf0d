"""Sample and aggregate (NRS11 section 4): any program, run on blocks of people, released through a private aggregate.

Everything that can be refused is refused by ``plan``, from public facts; ``run`` draws, runs and aggregates.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from fractions import Fraction

from dither.errors import InvalidArgument
from dither.privacy import Loss
from dither.procedures.aggregate import MEDIAN, SMOOTH_MEDIAN, Aggregate, Aggregated, Aggregation, Aggregator
from dither.procedures.agreement import Average, fewest_blocks
from dither.procedures.centre import Centre
from dither.procedures.executor import Answers, Output
from dither.procedures.metrics import METRICS, GivenMetric, Matching, as_metric
from dither.procedures.partition import Independent, Overlapping, Partition, Sampling, checked_blocks, overlap

AGGREGATORS: dict[str, Aggregator] = {
    "median": MEDIAN,
    "smooth_median": SMOOTH_MEDIAN,
    "centre": Centre(),
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

    @property
    def loss(self) -> Loss:
        """All that it costs."""
        return self.aggregate.loss

    def run(self, answers: Answers) -> Aggregated:
        """Aggregate the answers of all blocks."""
        if answers.shape != (self.sampling.blocks, self.output.length):
            raise RuntimeError("an executor must answer for every block")
        return self.aggregate.run(answers)


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
) -> SampleAggregatePlan:
    """The plan of a release; refuses here or never.

    people: the public number of people (of rows where each has one); None: it is private.
    blocks: None takes the aggregator's public rule.
    aggregator: "auto", a name in AGGREGATORS, or an Aggregator.
    """
    if sampling not in SAMPLINGS:
        raise InvalidArgument("sampling", sampling, f"must be {', '.join(map(repr, SAMPLINGS))}")
    task = Aggregation(1, 1, output, loss, confidence, metric)
    name, chosen = _aggregator(aggregator, task, _most_blocks(people, blocks) if sampling == "partition" else 0)
    count = checked_blocks(_chosen_blocks(people, chosen, task, sampling) if blocks is None else blocks, people)
    drawn = _sampling(sampling, count, people)
    task = dataclasses.replace(task, blocks=count, touched=drawn.touched)
    return SampleAggregatePlan(drawn, name, chosen.prepare(task), output)


def _aggregator(given: Aggregator | str, task: Aggregation, blocks: int) -> tuple[str, Aggregator]:
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
