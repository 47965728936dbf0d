"""Largest local sensitivities by several public bounds: margins as levels, their ladder, its noise beside others."""

import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dither as dt
import oracle
from dither.errors import InvalidArgument
from dither.mechanisms.largest_local import LargestLocal
from dither.mechanisms.mechanism import MechanismSpec
from dither.privacy import Loss
from dither.sensitivity.margins import Margins
from dither.sources.column import Column
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue
from dither_lab.audit.enumeration import as_column, datasets, neighbours, noise_divergence

GRID, VALUES, RECORDS = Grid(Fraction(1), 0, 4), range(5), 5
MEDIAN = RankedValue(3, RECORDS, GRID)


def middle(x):
    """The median of an odd number of records."""
    return sorted(x)[len(x) // 2]


def true_rungs(records=RECORDS):
    """For each dataset the largest local sensitivity within k changes, by enumeration."""
    universe = list(datasets(VALUES, records))
    rungs = [{x: oracle.local_sensitivity(middle, x, VALUES) for x in universe}]
    for _ in range(records):
        last = rungs[-1]
        rungs.append({x: max(last[x], *(last[y] for y in neighbours(x, VALUES))) for x in universe})
    return rungs


RUNGS = true_rungs()


def rounded_up(rung, bounds, most):
    """The least of the bounds that is at least the rung, or the global sensitivity."""
    return min((bound for bound in bounds if bound >= rung), default=most)


@pytest.mark.parametrize("bounds", [[1], [1, 2], [1, 3], [2], [1, 2, 3]], ids=str)
@pytest.mark.parametrize("depth", [1, 3, 20])
def test_rungs_are_the_true_ones_rounded_up_to_a_bound(bounds, depth):
    """On every dataset, up to the public depth, from where on they are the global sensitivity."""
    function = Margins(bounds=bounds, depth=depth).over(MEDIAN)
    for x in RUNGS[0]:
        level = function.level(as_column(x, GRID))
        rungs = [rounded_up(RUNGS[k][x], bounds, 4) if k < depth else 4 for k in range(RECORDS)]
        assert function.levels.ladder(level).sensitivity_at_distance(0, RECORDS).tolist() == rungs
        assert function.levels.sensitivity(level) >= RUNGS[0][x]


def test_levels_of_neighbours_are_related_and_margins_of_others_are_not():
    """Each margin moves by at most one; two datasets whose margins differ by two are no neighbours."""
    function = Margins(bounds=[1, 3], depth=20).over(MEDIAN)
    level = {x: function.level(as_column(x, GRID)) for x in RUNGS[0]}
    assert all(function.levels.are_related(level[x], level[y]) for x in level for y in neighbours(x, VALUES))
    assert not function.levels.are_related(level[2, 2, 2, 2, 2], level[0, 0, 0, 4, 4])


@given(
    st.lists(st.integers(0, 1000), min_size=1, max_size=40),
    st.lists(st.integers(1, 999), min_size=1, max_size=6, unique=True),
    st.integers(1, 60),
)
@settings(deadline=None)
def test_margins_are_those_of_the_ladder(values, bounds, depth):
    """The search that begins at the last margin finds what looking at every rung finds."""
    grid = Grid(Fraction(1), 0, 1000)
    statistic = RankedValue((len(values) + 1) // 2, len(values), grid)
    data = Column(np.array(sorted(values), dtype=np.int64), grid)
    rungs = statistic.ladder(data).sensitivity_at_distance(0, depth).tolist()
    expected = tuple(next((k for k, one in enumerate(rungs) if one > bound), depth) for bound in sorted(bounds))
    assert Margins(bounds=sorted(bounds), depth=depth).over(statistic).level(data) == expected


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["power_law", "laplace"])
def test_several_margins_make_a_median_private(noise):
    """Exact divergences of all neighbours are within the loss, and of noise 30% smaller they are not."""
    loss = Loss(1.0, 0.0 if noise == "power_law" else 1e-2)
    spec = MechanismSpec(MEDIAN, loss, dt.Laplace() if loss.delta else dt.PowerLaw())
    prepared = LargestLocal(levels=Margins(bounds=[1, 2, 3])).prepare(spec)

    # Pairs with the same values and scales have the same divergence.
    column = {x: as_column(x, GRID) for x in datasets(VALUES, RECORDS)}
    place = {x: (middle(x), prepared.noise_scale(data)) for x, data in column.items()}
    distinct = {(place[x], place[y]): (column[x], column[y]) for x in column for y in neighbours(x, VALUES)}

    def worst(one):
        found = [noise_divergence(one, *pair) for pair in distinct.values()]
        return max(divergence.delta if loss.delta else divergence.epsilon for divergence in found)

    limit = loss.delta or loss.epsilon
    assert worst(prepared) <= limit * (1 + 1e-6)
    weak = replace(prepared, point=replace(prepared.point, alpha=prepared.point.alpha / Fraction(7, 10)))
    assert worst(weak) > limit * 1.05


@pytest.mark.parametrize("ratio", [Fraction(9, 8), 2, 10])
def test_noise_is_at_most_the_ratio_times_that_of_the_smooth_sensitivity(ratio):
    """With bounds in a geometric row, at the same point, on spread and on clustered records."""
    rng = np.random.default_rng(5)
    for x in (rng.uniform(0, 10_000, 2_001), rng.normal(5_000, 50, 501), np.repeat([10, 5_000, 9_000], [40, 31, 30])):
        query, loss = dt.Median(bounds=(0, 10_000), step=1), {"epsilon": 1.0}
        smooth = dt.inspect.noise_scale(query, x, mechanism="smooth", **loss)
        levels = dt.inspect.noise_scale(query, x, mechanism=LargestLocal(levels=Margins(ratio=ratio)), **loss)
        # A bound of few steps is rounded to whole ones: the next is at most a step more.
        assert smooth * (1 - 1e-9) <= levels <= smooth * float(ratio) * (1 + 1e-6) + 40


def test_one_bound_is_the_margin_of_one():
    """``Margins(bounds=[b])`` has the rungs of ``Margin(bound=b)``."""
    for x in list(RUNGS[0])[::7]:
        data = as_column(x, GRID)
        one, several = dt.Margin(bound=1, depth=6).over(MEDIAN), Margins(bounds=[1], depth=6).over(MEDIAN)
        ladders = [function.levels.ladder(function.level(data)) for function in (one, several)]
        assert np.array_equal(*(ladder.sensitivity_at_distance(0, 9) for ladder in ladders))


def test_medians_are_answered_by_name_everywhere():
    """Arrays, sessions, filters and SQL take ``largest_local`` for medians and quantiles; no delta is spent."""
    pay = np.arange(2_000) % 1_000
    release = dt.median(pay, bounds=(0, 1_000), epsilon=1.0, delta=1e-6, mechanism="largest_local")
    assert release.mechanism == "largest_local"
    assert release.loss == Loss(1.0)
    assert release.noise.startswith("blunt_power_law")
    session = dt.open({"pay": pay}, columns={"pay": dt.Integer(0, 1_000)}, budget=dt.Budget(10.0))
    for query in (dt.Median("pay"), dt.Quantile("pay", q=0.9), dt.Maximum("pay")):
        for where in (None, "pay > 100"):
            answered = session.ask(query, where=where, epsilon=1.0, mechanism="largest_local")
            assert answered.mechanism == "largest_local"
    assert 0 <= session.sql("SELECT median(pay) FROM data", epsilon=1.0, mechanism="largest_local").value <= 1_000


def test_extreme_records_and_bounds_are_answered():
    """One record, all equal, a range of one step, and records that are no numbers: an answer, and no error."""
    for x in ([3], [4] * 50, [0, 0, 5, 5], [math.nan, 2, math.inf]):
        release = dt.median(x, bounds=(0, 5), step=1, epsilon=0.5, mechanism="largest_local")
        assert 0 <= release.value <= 5
    assert 0 <= dt.median([0, 1, 1], bounds=(0, 1), step=1, epsilon=1.0, mechanism="largest_local").value <= 1


def test_level_functions_by_margins_can_be_sent_to_another_process():
    """They have no lambda."""
    function = Margins().over(MEDIAN)
    again = pickle.loads(pickle.dumps(function.level))
    data = as_column((0, 1, 2, 2, 4), GRID)
    assert again(data) == function.level(data)


def test_bad_margins_are_refused():
    """From public facts, each with the name of the argument."""
    for bad in ([], [0, 1], [2, 1], [1, 1], "12", 5):
        with pytest.raises(InvalidArgument, match="bounds"):
            Margins(bounds=bad)
    for bad in (0, 1 << 30, 2.5, True):
        with pytest.raises(InvalidArgument, match="depth"):
            Margins(depth=bad)
    for bad in (1, 0.5, -2):
        with pytest.raises(InvalidArgument, match="ratio"):
            Margins(ratio=bad)
    for bad in ([0.5], [1, 4]):
        with pytest.raises(InvalidArgument, match="bounds"):
            Margins(bounds=bad).over(MEDIAN)


def test_functions_of_ones_own_have_numbered_levels():
    """Levels that are lists of margins are made for one statistic, and no claim about another function."""
    with pytest.raises(InvalidArgument, match="levels"):
        dt.Custom(name="middle", value=middle, levels=Margins().over(MEDIAN), bounds=(0, 4), step=1, default=0)


def test_the_scale_of_the_noise_is_shown_to_the_owner():
    """S/alpha of smooth noise, the global sensitivity over epsilon of noise of one scale; draws have none."""
    x, query = [1, 2, 2, 3, 9, 9, 9], dt.Median(bounds=(0, 10), step=1)
    point = dt.inspect.admissible("laplace", epsilon=2.0, delta=1e-3, beta=0.2)
    smooth = dt.inspect.smooth(query, x, beta=0.2) / float(point.alpha)
    for mechanism in (dt.Smooth(beta=0.2), LargestLocal(levels=Margins(), beta=0.2)):
        found = dt.inspect.noise_scale(query, x, epsilon=2.0, delta=1e-3, noise="laplace", mechanism=mechanism)
        assert found == pytest.approx(smooth)
    assert dt.inspect.noise_scale(query, x, epsilon=2.0, mechanism="worst_case") == pytest.approx(5.0)
    with pytest.raises(InvalidArgument, match="one scale"):
        dt.inspect.noise_scale(query, x, epsilon=2.0, mechanism="inverse")
