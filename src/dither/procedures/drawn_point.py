"""One point of a finite space for the answers of all blocks: drawn by how many of them must change.

Proof: docs/proofs/answer_spaces.md.  Costs are counted in half changes: whole numbers.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.errors import InvalidArgument, NotApplicable
from dither.noise.discrete_exponential import draw_cost
from dither.noise.entropy import Source, system
from dither.privacy import Loss
from dither.procedures.aggregate import Aggregate, Aggregated, Aggregation, Aggregator
from dither.procedures.answer_spaces import AnswerSpace, Places, Steps
from dither.procedures.executor import Answers

MOST_DISTANCES = 100_000_000
"""The centre compares all points with all blocks."""
CLEAR = 8
"""Blocks wanted, in touched blocks times ``(ln points + 3) / epsilon``: where most agree others are rarely drawn."""


def medoid_costs(space: AnswerSpace, places: Places) -> Steps:
    """For each point c the greatest ``(F(c) - F(c')) / d(c, c')``, rounded up; F: the sum of distances to the answers.

    In half changes: one changed answer moves ``F(c) - F(c')`` by at most ``2 d(c, c')``.  Zero for medoids, which have
    the least sum, and for no other point.
    """
    return space.steepest(space.sums(places))


def centre_costs(space: AnswerSpace, places: Places) -> Steps:
    """For each point c the least, over radii r, of what is wrong with r: blocks that a ball around c lacks to a
    majority, or that some smaller ball has too many.

    In half changes.  Zero for unconstrained centres of attention (NRS11 Def. 4.6) and for no other point.
    """
    majority = len(places) // 2 + 1
    result, counts = np.unique(places, return_counts=True)
    narrow = np.min_scalar_type(space.diameter)
    apart = np.column_stack([space.distances(int(place)).astype(narrow) for place in result])
    radii = np.sort(np.repeat(apart, counts, axis=1), axis=1)
    smallest = radii.min(axis=0)
    """The radius of the smallest ball with 1, 2, ... answers."""
    least = np.full(space.size, majority, dtype=np.int64)
    for held in range(1, len(places) + 1):
        within = radii[:, held - 1]
        crowded = np.searchsorted(smallest, within, side="left") - majority + 1
        least = np.minimum(least, np.maximum(crowded, max(majority - held, 0)))
    return 2 * least


Costs = Callable[[AnswerSpace, Places], Steps]


class PointAggregator(Aggregator):
    """A point of a finite space, drawn with probability proportional to ``e^(-eps cost / 2s)``.

    Guarantee  eps-DP: the cost of a point moves by at most s where s blocks change.
    Theorem    docs/proofs/answer_spaces.md; the exponential mechanism.  The medoid is NRS11's Remark 2 and, for
               rankings, Kemeny's consensus; the centre is that of NRS11 Definition 4.6.
    Constants  NRS11 adds noise of the order of a majority's radius; a draw adds none where most blocks agree.
               Labels, all equally far apart, have e^(-eps cost / s).
    Cost       Medoid: points times diameter times neighbours (rankings, sets) or points squared; centre: points times
               blocks.
    """

    @property
    @abstractmethod
    def costs(self) -> Costs:
        """The cost of every point, from the space and the places of the answers."""

    def moves_apart(self, space: AnswerSpace) -> int:  # noqa: ARG002
        """How far the costs of two points can move apart with one answer, in changes."""
        return 2

    def check(self, space: AnswerSpace, blocks: int) -> None:
        """Refuse what would take too long, from public facts."""

    def prepare(self, task: Aggregation) -> Aggregate:
        if task.space is None:
            raise NotApplicable("aggregator", self.name, "points are drawn from a space", "space=")
        if task.metric is not None:
            raise InvalidArgument("metric", task.metric, "is that of the space: leave it out")
        self.check(task.space, task.blocks)
        start = task.space.place([int(number) for number in task.output.default])
        if start is None:
            raise RuntimeError("the default is no point of the space")
        rate = task.loss.exact_epsilon / (2 * self.moves_apart(task.space) * task.touched)
        return DrawnPoint(Loss(task.loss.epsilon), self.name, task.space, self.costs, rate, task.blocks, start)

    def blocks_wanted(self, task: Aggregation) -> int:
        points = 1 if task.space is None else task.space.size
        return int(CLEAR * task.touched * (math.log(points) + 3) / task.loss.exact_epsilon) + 1


@dataclass(frozen=True)
class DrawnPoint(Aggregate):
    """The exponential mechanism over the points of a space."""

    loss: Loss
    mechanism: str
    space: AnswerSpace
    costs: Costs
    rate: Fraction
    """The public decay of the probability per half change."""
    blocks: int
    default: int
    noise = "exponential"

    def run(self, answers: Answers) -> Aggregated:
        return Aggregated((float(self.drawn(self.space.places(answers, self.default))),))

    def drawn(self, places: Places, source: Source = system) -> int:
        """The place of the point that is released."""
        costs = self.costs(self.space, places)
        most = self.blocks + 2
        sizes = [int(count) for count in np.bincount(costs, minlength=most + 1)]
        sensitivity, index = draw_cost(
            lambda first, last: sizes[first - 1 : last], self.space.size, most + 1, self.rate, source
        )
        return int(np.flatnonzero(costs == sensitivity - 1)[index])

    def changes(self, missed: Fraction) -> int:
        """With probability ``1 - missed`` so many changed answers would make the drawn point a medoid or centre.

        At most ``(points - 1) e^(-rate k)`` of the mass has a cost of k or more, beside a weight of 1 at cost 0.
        """
        k = math.ceil((math.log(max(self.space.size - 1, 1)) - math.log(float(missed))) / float(self.rate) + 1e-9)
        return math.ceil(Fraction(max(k - 1, 0), 2))


class MedoidOfPoints(PointAggregator):
    """The point with the least sum of distances to the answers."""

    name = "medoid"

    @property
    def costs(self) -> Costs:
        return medoid_costs

    def moves_apart(self, space: AnswerSpace) -> int:
        return 1 if space.equidistant else 2


class CentreOfPoints(PointAggregator):
    """The point with the smallest ball around it that holds a majority of the answers."""

    name = "centre"

    @property
    def costs(self) -> Costs:
        return centre_costs

    def check(self, space: AnswerSpace, blocks: int) -> None:
        if space.size * blocks > MOST_DISTANCES:
            most = MOST_DISTANCES // space.size
            raise InvalidArgument("blocks", blocks, f"must be at most {most} for the centre of so many points")


MEDOID = MedoidOfPoints()
CENTRE = CentreOfPoints()
POINT_AGGREGATORS: dict[str, PointAggregator] = {"medoid": MEDOID, "centre": CENTRE}
