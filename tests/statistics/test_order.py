"""Order statistics: values, exact ladders and smooth bounds against the oracle."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from dither.mechanisms.base_measure import Measure
from dither.mechanisms.inverse import Inverse
from dither.mechanisms.mechanism import MechanismSpec
from dither.privacy import Loss
from dither.sensitivity.ladder import Ladder
from dither.sources.grid import Grid
from dither.statistics.order import OrderLadder, RankedValue
from dither_lab.audit.enumeration import as_column, datasets, ladder_violations

HIGH = 4
GRID = Grid(Fraction(1), 0, HIGH)


def ranked(rank, records, high=HIGH):
    """The statistic on the grid 0..high."""
    return RankedValue(rank, records, Grid(Fraction(1), 0, high))


def test_a_ladder_one_rank_short_is_caught():
    """The comparison above can fail: a ladder that forgets one rank differs from enumeration."""
    values, x, rank = range(HIGH + 1), (0, 1, 4), 2
    exact = oracle.exact_ladder(lambda y: sorted(y)[rank - 1], x, values, 3)
    at = oracle.padded(x, 0, HIGH)
    short = [max(at(rank + t) - at(rank + t - k) for t in range(k + 1)) for k in range(3)]
    assert short != exact


@pytest.mark.parametrize("records", [1, 2, 3, 4, 5])
def test_axioms_of_the_linear_ladder_on_a_whole_universe(records):
    """The symmetric rungs of the linear algorithm are a ladder too: all pairs, all ranks."""

    class Chosen(RankedValue):
        def ladder(self, data, _="exact"):
            return super().ladder(data, "linear")

    for rank in range(1, records + 1):
        statistic = Chosen(rank, records, GRID)
        assert ladder_violations(statistic, range(HIGH + 1), records, records + 2) == []


def test_raw_local_sensitivity_breaks_the_axioms():
    """The axiom check can fail: local sensitivity repeated on every rung is no ladder."""

    class Raw(RankedValue):
        def ladder(self, data, algorithm="exact"):
            first = super().ladder(data)[0]
            return Ladder(lambda start, stop: np.full(stop - start, first), self.global_sensitivity)

    assert ladder_violations(Raw(2, 3, GRID), range(HIGH + 1), 3, 2)


columns = st.lists(st.integers(0, 60), min_size=1, max_size=40)


@given(columns, st.data(), st.floats(0.001, 3.0))
def test_smooth_bound_equals_the_oracle(x, data, beta):
    """Divide and conquer over a window equals the maximum over all rungs, from above and to 1e-9."""
    rank = data.draw(st.integers(1, len(x)))
    statistic = ranked(rank, len(x), 60)
    wanted = oracle.smooth_bound(oracle.order_ladder(x, rank, 0, 60, len(x) + 1), beta)
    column = as_column(tuple(sorted(x)), statistic.answers)
    ladder = statistic.ladder(column)
    plain = Ladder(ladder.sensitivity_at_distance, ladder.global_sensitivity, top=ladder.top)
    for found in (ladder.smooth(Fraction(beta)), plain.smooth(Fraction(beta))):
        assert wanted <= float(found) * (1 + 1e-15)
        assert float(found) <= wanted * (1 + 1e-9)


@given(columns, st.data(), st.floats(0.01, 2.0))
def test_the_papers_approximations(x, data, beta):
    """NRS11 Claim 3.5: the linear algorithm is within a factor 2, the sublinear within cap / n^2."""
    rank = data.draw(st.integers(1, len(x)))
    statistic = ranked(rank, len(x), 60)
    column = as_column(tuple(sorted(x)), statistic.answers)
    exact, linear, sublinear = (
        float(statistic.ladder(column, algorithm).smooth(Fraction(beta)))
        for algorithm in ("exact", "linear", "sublinear")
    )
    assert exact <= linear * (1 + 1e-9)
    assert linear <= 2 * exact * (1 + 1e-9)
    assert exact <= sublinear * (1 + 1e-9)
    assert sublinear <= exact + 60 / (len(x) + 1) ** 2 + 1e-9


@given(columns, st.data(), st.floats(0.001, 1.0))
def test_smooth_bounds_of_neighbours_differ_by_at_most_beta(x, data, beta):
    """The computed number itself, rounding included, is beta-smooth (all three algorithms)."""
    rank = data.draw(st.integers(1, len(x)))
    y = list(x)
    y[data.draw(st.integers(0, len(x) - 1))] = data.draw(st.integers(0, 60))
    statistic = ranked(rank, len(x), 60)
    for algorithm in ("exact", "linear", "sublinear"):
        here, there = (
            statistic.ladder(as_column(tuple(sorted(z)), statistic.answers), algorithm).smooth(Fraction(beta))
            for z in (x, y)
        )
        assert abs(math.log(here / there)) <= beta
        assert here >= abs(sorted(x)[rank - 1] - sorted(y)[rank - 1])


def test_evenly_spaced_data_have_the_papers_smooth_sensitivity():
    """NRS11 sec. 3.1: on x_i = i/n the smooth sensitivity is max_k e^{-beta k} (k+1)/n."""
    n, beta = 10_001, Fraction(1, 20)
    statistic = RankedValue(5_001, n, Grid(Fraction(1, n), 0, n))
    column = as_column(tuple(range(1, n + 1)), statistic.answers)
    wanted = max(math.exp(-float(beta) * k) * (k + 1) for k in range(200))
    assert float(statistic.ladder(column).smooth(beta)) == pytest.approx(wanted, rel=1e-9)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=12), st.data())
def test_shells_are_the_inverse_sensitivity(x, data):
    """Every grid point sits in exactly one shell, and in the one that the oracle's cost names."""
    rank = data.draw(st.integers(1, len(x)))
    statistic = ranked(rank, len(x), 20)
    prepared = Inverse().prepare(MechanismSpec(statistic, Loss(1.0)))
    # Extremes have a leaning measure: with an even one every point holds one place.
    prepared = replace(prepared, measure=Measure.even(statistic.answers.ends))
    shells = prepared.shells(as_column(tuple(sorted(x)), statistic.answers))
    found = {}
    for cost, size in enumerate(shells.counts(1, len(x) + 2), 1):
        for index in range(size):
            point = shells.point(cost, index)
            assert point not in found
            found[point] = cost - shells.offset
    assert found == {z: oracle.inverse_cost(x, rank, z) for z in range(21)}


@given(st.lists(st.integers(0, 20), min_size=1, max_size=12), st.data())
def test_windows_of_shells_agree(x, data):
    """Any range of costs gives the same counts as the whole list."""
    rank = data.draw(st.integers(1, len(x)))
    statistic = ranked(rank, len(x), 20)
    shells = (
        Inverse().prepare(MechanismSpec(statistic, Loss(1.0))).shells(as_column(tuple(sorted(x)), statistic.answers))
    )
    first = data.draw(st.integers(1, 15))
    last = data.draw(st.integers(first, 20))
    assert shells.counts(first, last) == shells.counts(1, 20)[first - 1 : last]


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("tight", [True, False])
def test_stepped_ladders_cover_people_with_several_records(size, tight):
    """With s records a person, rungs obey both axioms for neighbours at distance s, on a whole universe."""
    records, values = 4, range(3)
    grid = Grid(Fraction(1), 0, 2)
    for rank in range(1, records + 1):
        statistic = RankedValue(rank, records, grid)
        climbed, value = {}, {}
        for x in datasets(values, records):
            ladder = statistic.ladder(as_column(x, grid))
            assert isinstance(ladder, OrderLadder)
            stepped = ladder.stepped(size) if tight else Ladder.stepped(ladder, size, 2)
            assert stepped.global_sensitivity == 2
            climbed[x], value[x] = (
                [int(u) for u in stepped.sensitivity_at_distance(0, 5)],
                statistic.value(as_column(x, grid)),
            )
        for x in climbed:
            for y in climbed:
                if multiset_distance(x, y) <= size:
                    assert abs(value[x] - value[y]) <= climbed[x][0]
                    assert all(climbed[x][k] <= climbed[y][k + 1] for k in range(4))


def multiset_distance(x, y):
    """The number of records that must be replaced."""
    left = list(y)
    for v in x:
        if v in left:
            left.remove(v)
    return len(left)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=25), st.data())
def test_margin_is_the_first_rung_above_a_bound(x, data):
    """The margin is min {k : U_k > b}, and 1-Lipschitz between neighbours."""
    rank, bound = data.draw(st.integers(1, len(x))), data.draw(st.integers(0, 29))
    statistic = ranked(rank, len(x), 30)
    y = list(x)
    y[data.draw(st.integers(0, len(x) - 1))] = data.draw(st.integers(0, 30))
    margins = []
    for z in (x, y):
        ladder = statistic.ladder(as_column(tuple(sorted(z)), statistic.answers))
        margin = ladder.margin(bound)
        slow = oracle.order_ladder(z, rank, 0, 30, len(z) + 1)
        assert margin == next(k for k, u in enumerate(slow) if u > bound)
        margins.append(margin)
    assert abs(margins[0] - margins[1]) <= 1


def test_truncation_replaces_high_rungs_by_the_cap():
    """NRS11 Claim 3.2: the truncated ladder still bounds the exact one and keeps the axioms' shape."""
    statistic = ranked(3, 5, 60)
    ladder = statistic.ladder(as_column((1, 2, 10, 20, 33), statistic.answers))
    cut = ladder.truncated(2)
    assert list(cut.sensitivity_at_distance(0, 5)) == [ladder[0], ladder[1], 60, 60, 60]
    assert cut.smooth(Fraction(1, 10)) >= ladder.smooth(Fraction(1, 10))


@settings(max_examples=30)
@given(st.integers(1, 5000), st.floats(0, 1))
def test_quantile_ranks_are_exact(n, q):
    """Ranks are ceil(q n) in exact decimals: 0.07 of 100 is rank 7, not 8."""
    from dither.queries.order import Quantile

    rank = Quantile(q=q, bounds=(0, 1)).rank_among(n)
    assert rank == max(1, math.ceil(Fraction(repr(q)) * n))
    assert Quantile(q=0.07, bounds=(0, 1)).rank_among(100) == 7
    assert math.ceil(0.07 * 100) == 8
