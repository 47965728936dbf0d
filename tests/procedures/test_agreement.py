"""The certified average as an aggregator, and when "auto" takes it."""

from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from dither.errors import InvalidArgument, NotApplicable
from dither.privacy import Loss
from dither.procedures.aggregate import Aggregation
from dither.procedures.agreement import Average, fewest_blocks
from dither.procedures.executor import Output
from dither.procedures.metrics import Matching
from dither.procedures.sample_aggregate import automatic, plan

LOSS = Loss(1.0, 1e-6)


def answers(rng, blocks, middle, spread):
    """Blocks that agree, but for a tenth of them."""
    table = middle + spread * rng.normal(size=(blocks, len(middle)))
    table[::12] = rng.uniform(0, 1, table[::12].shape)
    return np.clip(table, 0, 1)


def test_agreeing_blocks_are_averaged():
    """Forty numbers from 500 blocks: errors of the order of the blocks' spread; medians have nothing left to tell."""
    rng = np.random.default_rng(1)
    middle = rng.uniform(0.3, 0.7, 40)
    made = Average().prepare(Aggregation(500, 1, Output(40, bounds=(0, 1)), LOSS))
    found = np.array(made.run(answers(rng, 500, middle, 0.001)).values)
    assert np.abs(found - middle).mean() < 0.02


def test_bounds_of_different_widths():
    """Distances are parts of bounds, so that wide numbers do not drown narrow ones."""
    rng = np.random.default_rng(2)
    output = Output(2, bounds=[(0, 1), (-1000, 1000)])
    table = np.column_stack([0.5 + 0.001 * rng.normal(size=600), 100 + rng.normal(size=600)])
    found = Average().prepare(Aggregation(600, 1, output, LOSS)).run(table).values
    assert abs(found[0] - 0.5) < 0.02
    assert abs(found[1] - 100) < 40


def test_sets_of_points_in_any_order():
    """Answers whose points come in any order are matched before they are averaged."""
    rng = np.random.default_rng(3)
    truth = np.array([[0.1, 0.1], [0.5, 0.9], [0.9, 0.2]])
    table = np.array([(truth[rng.permutation(3)] + 0.002 * rng.normal(size=(3, 2))).ravel() for _ in range(500)])
    task = Aggregation(500, 1, Output(6, bounds=(0, 1)), LOSS, metric=Matching(3))
    found = np.array(Average().prepare(task).run(table).values).reshape(3, 2)
    assert np.abs(found - truth).max() < 0.1


def test_intervals_cover_the_mean():
    """95% bars of 200 numbers: more than 40 missed has a probability below 1e-9."""
    rng = np.random.default_rng(4)
    middle = np.full(200, 0.5)
    task = Aggregation(500, 1, Output(200, bounds=(0, 1)), LOSS, Fraction(19, 20))
    table = answers(rng, 500, middle, 0.001)
    found = Average().prepare(task).run(table)
    missed = sum(not low <= 0.5 <= high for low, high in found.intervals)
    assert missed <= 40


def test_two_camps_are_refused_or_drowned():
    """Half of the blocks here, half there: a refusal, or noise of the order of the distance between the camps."""
    made = Average().prepare(Aggregation(500, 1, Output(2, bounds=(0, 1)), LOSS))
    steps = np.repeat([[[1 << 20, 1 << 20]], [[1 << 23, 1 << 23]]], 250, axis=0)
    # The camps are friends from a radius of 2**(47/2) steps on; a smaller one passes the test with probability delta.
    least = made.average.scale(47)
    assert least > (1 << 23) / 16
    for _ in range(20):
        found = made.average.run(steps)
        assert found is None or found.deviation >= least


def test_what_auto_means():
    """Medians while they can tell, averages for many numbers and for sets of points, centres for other metrics."""

    def chosen(length, loss, metric=None, blocks=500):
        return automatic(Aggregation(1, 1, Output(length, bounds=(0, 1)), loss, metric=metric), blocks)

    assert chosen(1, LOSS) == "median"
    assert chosen(8, LOSS) == "median"
    assert chosen(16, LOSS) == "average"
    assert chosen(16, Loss(1.0)) == "median"
    assert chosen(16, LOSS, blocks=20) == "median"
    assert chosen(6, LOSS, Matching(3)) == "average"
    assert chosen(6, Loss(1.0), Matching(3)) == "centre"
    assert chosen(6, LOSS, "l1") == "centre"


def test_through_the_front_door():
    """A program with thirty numbers, by name and by itself."""
    rows = np.random.default_rng(5).uniform(0, 1, (6000, 30))
    for aggregator in ("average", "auto"):
        release = dt.sample_and_aggregate(
            rows,
            lambda block: block.mean(axis=0),
            output=30,
            bounds=(0, 1),
            blocks=400,
            aggregator=aggregator,
            epsilon=1.0,
            delta=1e-6,
            executor="trusted",
        )
        assert release.mechanism == "certified average"
        assert release.loss == dt.Loss(1.0, 1e-6)
        assert release.refused or np.abs(np.array(release.value) - 0.5).mean() < 0.3


def test_what_is_refused_beforehand():
    """Other metrics, delta = 0, too few blocks."""
    with pytest.raises(NotApplicable, match="l1"):
        plan(10_000, Output(4, bounds=(0, 1)), LOSS, aggregator="average", metric="l1")
    with pytest.raises(InvalidArgument, match="delta"):
        plan(10_000, Output(4, bounds=(0, 1)), Loss(1.0), aggregator="average")
    with pytest.raises(InvalidArgument, match="blocks"):
        plan(10_000, Output(4, bounds=(0, 1)), LOSS, aggregator="average", blocks=fewest_blocks(LOSS) - 1)
    assert plan(10_000, Output(4, bounds=(0, 1)), LOSS, aggregator="average", blocks=fewest_blocks(LOSS))
