"""The medoid of numbers with fitted noise, and metrics of the owner's: bounds, smoothness, promises."""

import math
import sys
import warnings
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import dither as dt
from conftest import trials
from dither.errors import InvalidArgument
from dither.privacy import Loss
from dither.procedures.aggregate import Aggregation
from dither.procedures.executor import Output
from dither.procedures.medoid import Medoid, medoid_and_bound
from dither.procedures.metrics import L1, OwnMetric, common_grids
from dither.procedures.sample_aggregate import plan
from dither.sources.grid import Grid

BETA = 0.3


def located(points, diameter, touched=1):
    """The medoid and its bound for points of the plane with l1."""
    distances = np.abs(points[:, None] - points[None]).sum(axis=2).astype(float)
    place, bound = medoid_and_bound(distances, diameter, touched, BETA)
    return points[place], bound


@pytest.mark.parametrize("touched", [1, 2])
def test_it_moves_by_at_most_its_bound_which_is_smooth(touched):
    """Clusters, ties and outliers in the plane, changed in as many answers as one person may."""
    rng = np.random.default_rng(touched)
    for _ in range(trials(400, 20_000)):
        blocks, top = int(rng.integers(4 * touched + 2, 16)), int(rng.integers(1, 30))
        here = rng.integers(0, rng.choice([1, 2, top]) + 1, size=(blocks, 2))
        there = here.copy()
        for place in rng.choice(blocks, size=touched, replace=False):
            there[place] = rng.integers(0, top + 1, size=2)
        (one, bound), (other, others) = located(here, 2.0 * top, touched), located(there, 2.0 * top, touched)
        averaged = (blocks + touched) // 2 + 1
        assert np.abs(one - other).sum() <= min(bound, others)
        assert abs(math.log(bound / others)) <= BETA + math.log1p(touched / averaged) + 2**-34


def test_all_tables_of_a_line():
    """Every table of five answers among five places, every neighbour; the raw radius of the data is not smooth."""
    places, blocks = (0, 1, 2, 9, 30), 5
    tables = list(product(places, repeat=blocks))
    facts = {one: located(np.column_stack([one, [0] * blocks]), 30.0) for one in tables}
    raw = {}
    for one in tables:
        radii = np.sort(np.abs(np.subtract.outer(one, one)), axis=1)
        raw[one] = 1e-9 + np.sort(radii[:, -1])[:3].mean()
    steepest = 0.0
    for table, (medoid, bound) in facts.items():
        for place, value in product(range(blocks), places):
            other = (*table[:place], value, *table[place + 1 :])
            medoid_there, bound_there = facts[other]
            assert abs(medoid[0] - medoid_there[0]) <= min(bound, bound_there)
            assert abs(math.log(bound / bound_there)) <= BETA + math.log1p(1 / 4) + 1e-9
            steepest = max(steepest, abs(math.log(raw[table] / raw[other])))
    assert steepest > 5


def test_the_geometric_argument():
    """The medoid of answers of which t of m lie in a ball is within (2t + m)/(2t - m) radii of its centre."""
    rng = np.random.default_rng(5)
    nearest = 0.0
    for _ in range(trials(2_000, 50_000)):
        blocks = int(rng.integers(3, 12))
        held = int(rng.integers(blocks // 2 + 1, blocks + 1))
        inside = rng.uniform(-1, 1, size=(held, 1))
        points = np.vstack([inside, rng.choice([1.0, 3.0, 20.0]) * rng.uniform(-1, 1, size=(blocks - held, 1))])
        sums = np.abs(points - points.T).sum(axis=1)
        reached = abs(points[int(np.argmin(sums)), 0])
        allowed = (2 * held + blocks) / (2 * held - blocks)
        nearest = max(nearest, reached / allowed)
    assert 0.2 < nearest <= 1.0


def test_the_scale_in_use_is_the_bound():
    """The noise that is drawn has the bound's scale and the smoothness of a proved point."""
    task = Aggregation(90, 1, Output(2, bounds=(0, 40)), Loss(6.0), None, "l1")
    made = Medoid().prepare(task)
    assert made.mechanism == "medoid"
    rng = np.random.default_rng(2)
    for _ in range(20):
        here = rng.integers(0, 3, size=(90, 2)).astype(float)
        there = here.copy()
        there[int(rng.integers(90))] = rng.integers(0, 41, size=2)
        (one, bound), (other, others) = made.located(here), made.located(there)
        apart = made.metric.distances(np.array([made._steps(here)[one], made._steps(there)[other]]), made.grids)[0, 1]
        assert apart <= min(bound, others) * (1 + 1e-9)
        assert abs(math.log(bound / others)) <= float(made.point.beta)


def test_asked_by_name():
    """Near where the blocks agree."""
    rows = np.random.default_rng(3).normal(5, 0.01, size=(4_000, 2))
    release = dt.sample_and_aggregate(
        rows,
        lambda block: block.mean(axis=0),
        output=2,
        bounds=(0, 10),
        aggregator="medoid",
        blocks=400,
        epsilon=20.0,
        confidence=None,
        executor="trusted",
    )
    assert release.mechanism == "medoid"
    assert np.abs(np.array(release.value) - 5).max() < 2


def widest(one, other):
    """The larger of both differences: below l2, which is at most sqrt 2 times as much."""
    return float(np.abs(one - other).max())


def test_an_own_metric_is_used_as_it_is():
    """What it says, times the declared stretch, where it keeps its promise; not the maximum with l2."""
    output = Output(2, bounds=(0, 9))
    grids = common_grids(output, 20)
    metric = OwnMetric(widest, l2_per_unit=2.0)
    metric.check(output)
    steps = np.array([[0, 0], [1_000, 0], [1_000, 1_000], [0, 500]])
    found = metric.distances(steps, grids)
    expected = 2 * np.abs(steps[:, None] - steps[None]).max(axis=2)
    assert np.allclose(found, expected, rtol=1e-9)
    assert (found >= L1().distances(steps, grids) / math.sqrt(2) * (1 - 1e-9)).all()


def test_a_metric_below_l2_is_refused_with_what_would_do():
    """On public probe points, before anything is read; the number that is named is accepted."""
    output = Output(2, bounds=(0, 9))
    with pytest.raises(InvalidArgument, match="l2_per_unit=") as refusal:
        plan(1_000, output, Loss(1.0, 1e-6), aggregator="centre", metric=widest)
    needed = float(str(refusal.value).split("l2_per_unit=")[1].split(")")[0])
    assert 1 < needed < 1.5
    enough = OwnMetric(widest, l2_per_unit=needed * 1.01)
    assert plan(1_000, output, Loss(1.0, 1e-6), aggregator="centre", metric=enough)
    with pytest.raises(InvalidArgument, match=r"space=MetricSpace\.of"):
        plan(1_000, output, Loss(1.0, 1e-6), aggregator="centre", metric=lambda a, b: float(a[0] != b[0]))


@pytest.mark.parametrize("stretch", [0, -1.0, float("nan"), "2"])
def test_a_stretch_is_a_positive_number(stretch):
    """Else it is named."""
    with pytest.raises(InvalidArgument, match="l2_per_unit"):
        OwnMetric(widest, l2_per_unit=stretch)


def test_a_broken_promise_is_mended():
    """Beyond the probes a distance below what was promised counts as what was promised: privacy does not rest on it."""
    grids = common_grids(Output(1, bounds=(0, 9)), 20)
    shrinking = OwnMetric(lambda a, b: 0.0)
    found = shrinking.distances(np.array([[0], [700]]), grids)
    assert found[0, 1] == pytest.approx(700, rel=1e-9)


def test_the_release_says_what_it_rests_on():
    """A claim of the metric's author."""
    rows = np.linspace(0, 1, 3_000)
    options = {"bounds": (0, 1), "aggregator": "centre", "blocks": 200, "epsilon": 4.0, "executor": "trusted"}
    own = dt.sample_and_aggregate(rows, np.mean, metric=lambda a, b: float(abs(a[0] - b[0])), delta=1e-6, **options)
    assert "author of the metric" in str(own)
    assert dt.sample_and_aggregate(rows, np.mean, **options).claim is None


@pytest.mark.parametrize(
    "odd",
    [lambda: sys.exit(1), lambda: 1 / 0, lambda: warnings.warn("seen", stacklevel=1), lambda: 10**5000, lambda: "far"],
    ids=["exit", "fails", "warns", "huge", "text"],
)
def test_what_a_metric_does_on_private_answers_stays_there(odd):
    """At an answer that no probe point is: it counts as the greatest distance, and nothing else is seen of it."""

    def distance(a, b):
        return odd() if 0.125 in (*a, *b) else float(abs(a[0] - b[0]))

    metric, output = OwnMetric(distance), Output(1, bounds=(0, 1))
    metric.check(output)
    grid = Grid.between((0, 1), step=Fraction(1, 1024))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = metric.distances(np.array([[128], [400], [500]]), (grid,))
    assert found[0, 1:] == pytest.approx(1024, rel=1e-9)
    assert found[1, 2] == pytest.approx(100, rel=1e-9)
