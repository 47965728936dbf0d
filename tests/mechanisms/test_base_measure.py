"""Public measures: weights add up, places and points invert each other, draws stay private and gain."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dither as dt
import oracle
from dither.mechanisms import base_measure as measure
from dither.mechanisms.base_measure import Measure, RoundNumbers
from dither.mechanisms.choice import prepare
from dither.mechanisms.exponential import Shells
from dither.mechanisms.inverse import Inverse
from dither.mechanisms.mechanism import MechanismSpec
from dither.privacy import Loss
from dither.sources.column import Shape
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue
from dither_lab.audit.enumeration import as_column, datasets, output_law, worst_log_ratio


@given(st.integers(-1000, 1000), st.integers(5000, 10**6), st.floats(0.01, 20), st.booleans(), st.data())
def test_places_and_points_invert_each_other(low, width, epsilon, down, data):
    """Laying all weights end to end, every place belongs to one point and every point has its weight."""
    lean = Measure.leaning((low, low + width), Fraction(epsilon), down=down)
    point = data.draw(st.integers(low, low + width))
    first, after = lean.below(point), lean.below(point + 1)
    assert after > first
    begin = data.draw(st.integers(low, point))
    places = (first - lean.below(begin), after - 1 - lean.below(begin))
    assert [lean.within(begin, low + width + 1, place) for place in places] == [point, point]
    assert lean.below(low) == 0
    assert lean.below(low + width + 1) == lean.total


GRID = Grid(Fraction(1), 0, 9)
VALUES = range(0, 10, 3)
ROUND = Measure((0, 10), (1,), (RoundNumbers(Fraction(5, 2), 0, 4, 6), RoundNumbers(Fraction(5), 0, 2, 9)))
"""0, 2.5, 5 and 7.5 are round numbers, 0 and 5 even rounder ones."""


def test_every_point_of_a_range_has_as_many_places_as_its_weight():
    """All ranges of a small measure, place by place; behind the last place there is none."""
    for first, after in combinations(range(11), 2):
        weights = {point: ROUND.below(point + 1) - ROUND.below(point) for point in range(first, after)}
        total = sum(weights.values())
        assert Counter(ROUND.within(first, after, place) for place in range(total)) == weights
        with pytest.raises(IndexError):
            ROUND.within(first, after, total)


@given(st.fractions(Fraction(-1000), Fraction(1000)), st.fractions(Fraction(1, 50), Fraction(10**6)), st.data())
def test_round_numbers_are_nearest_points_and_invert(low, width, data):
    """On a fine grid below(), below_each() and within() agree with weights listed point by point near a place."""
    assume(abs(low) <= 5_000 * width)  # bounds that lie closer together, far from zero, have no grid and are refused
    grid = Grid.between((low, low + width))
    rounded = Measure.rounded(grid)
    assert len(rounded.round_numbers) == measure.MOST_UNITS
    numbers = data.draw(st.sampled_from(rounded.round_numbers))
    index = data.draw(st.integers(0, numbers.count - 1))
    exact = (numbers.first + index) * numbers.spacing
    point = numbers.point(index)
    assert abs(point - exact) <= Fraction(1, 2)
    assert grid.low <= point <= grid.high
    assert numbers.before(point + 1) - numbers.before(point) == 1
    for place in {grid.low, max(point - 1, grid.low), point, min(point + 1, grid.high), grid.high}:
        first, after = rounded.below(place), rounded.below(place + 1)
        own = 1 + sum(
            other.weight
            for other in rounded.round_numbers
            for near in (round(place / other.spacing) + shift for shift in (-1, 0, 1))
            if other.first <= near < other.first + other.count
            and math.floor(near * other.spacing + Fraction(1, 2)) == place
        )
        assert after - first == own
        assert rounded.within(place, place + 1, 0) == rounded.within(place, place + 1, own - 1) == place
        begin, end = max(place - 1, grid.low), min(place + 1, grid.high) + 1
        last = rounded.within(begin, end, rounded.below(end) - rounded.below(begin) - 1)
        assert rounded.within(begin, end, 0) == begin
        assert begin <= last < end
        assert rounded.below_each([place, place + 1]) == [first, after]
    assert rounded.below(grid.high + 1) == rounded.total
    # Half of the weight is on round numbers, up to what rounding loses.
    assert 0.49 < sum(n.count * n.weight for n in rounded.round_numbers) / rounded.total < 0.51


def test_grids_with_a_declared_step_have_no_round_numbers():
    """Whole numbers, and records whose unit is declared: every point alike."""
    for grid in (Grid.between((0, 600_000), step=1), Grid.between((0, 100), whole=True)):
        assert Measure.rounded(grid) == Measure.even(grid.ends)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.booleans(), st.integers(1, 8), st.data())
def test_shells_are_weighed_alike_in_arrays_and_lists(x, one_sided, first, data):
    """Weights of arrays of links are those of the same links in lists, under every sort of measure."""
    statistic = RankedValue(data.draw(st.integers(1, len(x))), len(x), GRID)
    chain = statistic.reachable_values(as_column(sorted(x), GRID))
    last = data.draw(st.integers(first, 15))
    for weights in (ROUND, Measure.even(GRID.ends), Measure.leaning(GRID.ends, Fraction(1), down=True)):
        shells = Shells(chain, 0 if one_sided else 1, weights)
        listed = replace(chain, values=lambda first, last: list(chain.values(first, last)))
        assert shells.counts(first, last) == replace(shells, reachable_values=listed).counts(first, last)


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_draws_are_private_under_round_numbers(epsilon):
    """The exact law on a whole universe stays within epsilon, and is what the weights say."""
    honest = Inverse().prepare(MechanismSpec(RankedValue(2, 3, GRID), Loss(epsilon)))
    prepared = replace(honest, measure=ROUND)
    universe = datasets(VALUES, 3)
    worst, *_ = worst_log_ratio(lambda x: output_law(prepared, as_column(x, GRID)), VALUES, universe)
    assert 0.5 * epsilon < worst <= epsilon * (1 + 1e-12)
    x = universe[5]
    own = {z: ROUND.below(z + 1) - ROUND.below(z) for z in range(10)}
    assert own == {0: 16, 1: 1, 2: 1, 3: 7, 4: 1, 5: 16, 6: 1, 7: 1, 8: 7, 9: 1}
    wanted = {z: own[z] * p for z, p in oracle.inverse_law(x, 2, 0, 9, epsilon / 2).items()}
    law = output_law(prepared, as_column(x, GRID))
    assert law == pytest.approx({z: p / sum(wanted.values()) for z, p in wanted.items()}, rel=1e-9)
    # Its own law of the error, for quotes, is the same; and so are its draws' places.
    (error,) = prepared.error_laws(as_column(x, GRID))
    assert error.mean == pytest.approx(sum(p * abs(z - sorted(x)[1]) for z, p in law.items()), rel=1e-9)
    shells = prepared.shells(as_column(x, GRID))
    held = [shells.point(cost, i) for cost, size in enumerate(shells.counts(1, 4), 1) for i in range(size)]
    assert {z: held.count(z) for z in range(10)} == own


def test_whole_numbers_profit_from_ties_without_a_step():
    """Grades as floats: the median is hit where a draw from all points alike lies in a gap."""
    query, x = dt.Median(bounds=(0, 10)), np.repeat([4.0, 5.0, 6.0, 7.0], [20, 90, 140, 50])
    shape = query.shape(x)
    prepared = Inverse().prepare(MechanismSpec(query.resolve(shape), Loss(0.5)))
    column = query.read(x, shape)
    errors = [
        draw.error_laws(column)[0].mean * float(prepared.statistic.answers.step)
        for draw in (prepared, replace(prepared, measure=Measure.even(prepared.statistic.answers.ends)))
    ]
    assert errors[0] < 0.1 < 0.3 < errors[1]


@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("epsilon", [0.3, 2.0, 4.0])
def test_extremes_are_private_under_a_leaning_measure(rank, epsilon):
    """The exact law on a whole universe stays within epsilon, and follows the declared weights: at a small epsilon by
    counts of one tail at the whole rate, at a large one with a value that costs nothing at half of it."""
    prepared = Inverse().prepare(MechanismSpec(RankedValue(rank, 3, GRID), Loss(epsilon)))
    assert len(set(prepared.measure.weights)) > 1
    universe = datasets(VALUES, 3)
    worst, *_ = worst_log_ratio(lambda x: output_law(prepared, as_column(x, GRID)), VALUES, universe)
    assert 0.5 * epsilon < worst <= epsilon * (1 + 1e-12)
    x = universe[3]
    law = output_law(prepared, as_column(x, GRID))
    value, weight = sorted(x)[rank - 1], {}
    for z in range(10):
        away = sum(v < z for v in x) if rank == 1 else sum(v > z for v in x)
        own = prepared.measure.below(z + 1) - prepared.measure.below(z)
        cost = epsilon * max(away, 1) if epsilon < 3 else epsilon / 2 * (max(away, 1) if z != value else 0)
        weight[z] = own * math.exp(-cost)
    total = sum(weight.values())
    assert law == pytest.approx({z: w / total for z, w in weight.items()}, rel=1e-9)


def test_a_two_sided_draw_at_the_whole_rate_is_caught():
    """The audit fails when the value of an extreme costs nothing at the rate of one-sided draws."""
    honest = Inverse().prepare(MechanismSpec(RankedValue(1, 3, GRID), Loss(1.0)))
    sharp = replace(honest, one_sided=False)
    worst, *_ = worst_log_ratio(lambda x: output_law(sharp, as_column(x, GRID)), VALUES, datasets(VALUES, 3))
    assert worst > 1.2


def test_extremes_of_whole_ages_improve_with_epsilon():
    """Minimum of 5,000 ages from 18 on in (0, 100): its expected error at epsilon 1, 5 and 20, intervals or not."""
    ages = np.clip(np.rint(np.random.default_rng(4).normal(45, 18, 5_000)), 18, 90).astype(np.int64)
    query = dt.Minimum(bounds=(0, 100))
    shape = query.shape(ages)
    statistic, column = query.resolve(shape), query.read(ages, shape)
    for confidence in (None, 0.95):
        errors = [
            prepare(statistic, epsilon=epsilon, confidence=confidence)[1].error_laws(column)[0].mean
            for epsilon in (1.0, 5.0, 20.0)
        ]
        assert errors[0] < 8.6
        assert errors[1] < 3.6
        assert errors[2] < 0.05


def test_extremes_on_fine_grids_are_noisy_from_a_public_epsilon_on():
    """Which mechanism it is follows from epsilon, the grid and whether there is an interval."""
    x = np.random.default_rng(4).random(200)
    fine, coarse = dt.Maximum(bounds=(0, 2)), dt.Maximum(bounds=(0, 2), step=0.01)
    for query, epsilon, confidence, wanted in (
        (fine, 7.9, None, "inverse"),
        (fine, 8, None, "smooth"),
        (fine, 11.9, 0.95, "inverse"),
        (fine, 12, 0.95, "smooth"),
        (coarse, 20, None, "inverse"),
    ):
        name, _ = prepare(query.resolve(query.shape(x)), epsilon=epsilon, confidence=confidence)
        assert name == wanted
        # Behind a filter too, where the number of records is private.
        private = replace(query.shape(x), private=True, neighbours=dt.Neighbours.ADD_REMOVE_CHANGE)
        assert prepare(query.resolve(private), epsilon=epsilon, confidence=confidence)[0] == wanted


def test_a_measure_that_depends_on_the_data_is_caught():
    """The audit fails when the measure leans away from the largest record instead of the public bound."""
    grid = GRID
    honest = Inverse().prepare(MechanismSpec(RankedValue(3, 3, grid), Loss(1.0)))

    def law(x):
        tuned = replace(honest, measure=Measure((0, max(x), 10), (5, 1)) if max(x) else honest.measure)
        return output_law(tuned, as_column(x, grid))

    worst, *_ = worst_log_ratio(law, range(0, 10, 3), datasets(range(0, 10, 3), 3))
    assert worst > 1.1


def test_leaning_pays_for_wide_bounds():
    """With a bound far above the data the maximum's error falls below half of the even measure's."""
    x = np.random.default_rng(3).random(1000) * 100
    errors = {}
    for lean in (0, measure.LEAN):
        prepared = Inverse().prepare(
            MechanismSpec(dt.Maximum(bounds=(0, 1000)).resolve(dt.Maximum(bounds=(0, 1000)).shape(x)), Loss(1.0))
        )
        if lean == 0:
            prepared = replace(prepared, measure=Measure.even(prepared.statistic.answers.ends))
        query = dt.Maximum(bounds=(0, 1000))
        column = query.read(x, query.shape(x))
        step = float(prepared.statistic.answers.step)
        errors[lean] = np.mean([abs(prepared.run(column).answer * step - x.max()) for _ in range(200)])
    assert errors[measure.LEAN] < 0.5 * errors[0]


def test_extremes_of_one_record_lean_their_own_way():
    """Of one record minimum, median and maximum are the same rank: the question decides where the mass leans."""
    wide = {"bounds": (0, 1 << 20), "step": 1}
    shape = Shape(1, whole=True, nullable=False)
    leans = [
        Inverse().prepare(MechanismSpec(query.resolve(shape), Loss(1.0))).measure.weights
        for query in (dt.Minimum(**wide), dt.Maximum(**wide), dt.Median(**wide))
    ]
    assert leans[0] == tuple(reversed(leans[1]))
    assert leans[0][0] < leans[0][-1]
    assert leans[2] == (1,)
