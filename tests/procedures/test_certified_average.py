"""Certified averages: bounds on whole universes, adverse neighbours, exact noise; docs/proofs/certified_average.md."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from conftest import trials
from dither.errors import InvalidArgument
from dither.kernels.clusters import aligned, clustered_blocks, matched_costs, separations
from dither.mechanisms.margin_test import MarginTest
from dither.noise.gaussian import shift_mass
from dither.numbers import ball, precision
from dither.privacy import Loss
from dither.procedures.certified_average import (
    AGREEING,
    CertifiedAverage,
    friend_counts,
    growth,
    h_index,
    least_blocks,
    plan_average,
    weighted_sum,
)

TEST = MarginTest(Fraction(1, 4), Fraction(1, 10**6))


class Small(CertifiedAverage):
    """A certificate for few blocks: h is given instead of following from a test."""

    def __init__(self, blocks, certified, overlap=1):
        for name, value in (("blocks", blocks), ("overlap", overlap), ("_h", certified), ("mu", Fraction(1, 10))):
            object.__setattr__(self, name, value)

    @property
    def certified(self):
        return self._h


def everything(values, blocks):
    """All tables of a universe and, for each exponent, their friends."""
    return np.array(list(itertools.product(values, repeat=blocks)))


def means(tables, plan, exponent):
    """The h-index and the weighted mean of every table of numbers, as the mechanism has them."""
    friends = ((tables[:, :, None] - tables[:, None, :]) ** 2 <= 2**exponent).sum(axis=2)
    index = np.array([h_index(row) for row in friends])
    weights = np.clip(friends - plan.majority + 1, 0, plan.ramp)
    return index, (weights * tables).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)


def neighbouring(tables, values):
    """Index pairs of tables that differ in one entry."""
    count, blocks = len(values), tables.shape[1]
    places = np.searchsorted(values, tables)
    here = np.arange(len(tables))
    for k in range(blocks):
        for c in range(count):
            yield here, here + (c - places[:, k]) * count ** (blocks - 1 - k)


def greatest_ratio(plan, values, exponent):
    """The most that the mean moves between certified neighbours, over the bound; also checks that the index is slow."""
    tables = everything(values, plan.blocks)
    index, mean = means(tables, plan, exponent)
    worst = 0.0
    for here, there in neighbouring(tables, values):
        assert np.abs(index[here] - index[there]).max() <= 1
        certified = (index[here] >= plan.certified) & (index[there] >= plan.certified)
        worst = max(worst, float((np.abs(mean[here] - mean[there]) * certified).max()))
    return worst / (2 * 2 ** (exponent / 2) * float(plan.spread))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("blocks", "certified"), [(5, 4), (5, 5), (6, 4), (6, 5), (6, 6), (7, 5), (7, 6), (7, 7)])
def test_the_bound_holds_and_is_attained_on_a_whole_universe(blocks, certified):
    """All tables of few blocks: never above the bound, and a bound 10% smaller would be wrong."""
    ratio = greatest_ratio(Small(blocks, certified), (0, 1, 2, 3, 9) if blocks > 5 else (0, 1, 2, 3, 5, 9), 0)
    assert 0.9 <= ratio <= 1 + 1e-12


def test_a_bare_majority_is_not_enough():
    """Blocks with half of the others as friends need not share a friend with those of neighbouring data."""

    class Bare(Small):
        majority = 3

    assert greatest_ratio(Bare(5, 3), (0, 1, 2, 3, 4), 0) > 1.05


def all_sets():
    """Pairs of points on a line, in either order, near to each other, moved, or torn apart."""
    return np.array([[[0], [9]], [[1], [9]], [[9], [0]], [[10], [1]], [[0], [4]], [[5], [5]]])


def test_sets_of_points_on_a_whole_universe():
    """Five blocks of two points each: after the best permutation the mean moves by no more than the bound."""
    plan, universe, exponent = Small(5, 4), all_sets(), 0
    tables = list(itertools.product(range(len(universe)), repeat=5))
    index, mean = np.zeros(len(tables), dtype=int), np.zeros((len(tables), 2))
    for place, table in enumerate(tables):
        answers = universe[list(table)]
        friends = friend_counts(matched_costs(answers), separations(answers), exponent, exponent)
        index[place] = h_index(friends)
        total, mass = weighted_sum(answers, friends, plan.majority, plan.ramp)
        mean[place] = np.array(total, dtype=float)[:, 0] / mass
    worst = 0.0
    for here, there in neighbouring(np.array(tables), range(len(universe))):
        assert np.abs(index[here] - index[there]).max() <= 1
        certified = (index[here] >= 4) & (index[there] >= 4)
        one, other = mean[here], mean[there]
        apart = np.minimum(((one - other) ** 2).sum(axis=1), ((one - other[:, ::-1]) ** 2).sum(axis=1))
        worst = max(worst, float((np.sqrt(apart) * certified).max()))
    assert 0.5 <= worst / (2 * float(plan.spread)) <= 1 + 1e-12


def test_two_changes_at_once():
    """Overlapping blocks: all pairs of tables at distance up to two."""
    plan = Small(6, 5, overlap=2)
    tables = everything((0, 1, 2), 6)
    index, mean = means(tables, plan, 0)
    apart = (tables[:, None, :] != tables[None, :, :]).sum(axis=2)
    assert np.abs(index[:, None] - index[None, :])[apart <= 2].max() <= 2
    both = (apart <= 2) & (index[:, None] >= 5) & (index[None, :] >= 5)
    ratio = np.abs(mean[:, None] - mean[None, :])[both].max() / (2 * float(plan.spread))
    assert 0.5 <= ratio <= 1 + 1e-12


def test_costs_of_radii_move_by_one():
    """What radii are drawn by changes by at most 1 for random neighbours, with outliers and torn sets."""
    rng = np.random.default_rng(1)
    plan = CertifiedAverage(least_blocks(TEST, ramp=8), TEST, Fraction(1, 10), Fraction(1, 10))
    for _ in range(trials(10, 100)):
        base = rng.integers(0, 1 << 24, (1, 3, 2))
        answers = np.clip(base + rng.integers(-(1 << 18), 1 << 18, (plan.blocks, 3, 2)), 0, 1 << 24)
        answers[: plan.blocks // rng.integers(2, 9)] = rng.integers(0, 1 << 24, (1, 3, 2))
        changed = answers.copy()
        changed[rng.integers(plan.blocks)] = rng.integers(0, 1 << 24, (3, 2))
        one, other = (
            plan.radius_costs(matched_costs(table), separations(table), table[0].size) for table in (answers, changed)
        )
        assert max(abs(a - b) for a, b in zip(one, other, strict=True)) <= 1


def split_ratio(plan, left, right, ramp=None):
    """Blocks at -1, 0 and 1 with radius 1; one block goes from the right to the left."""
    ramp = ramp or plan.ramp

    def mean(left, right):
        middle = plan.blocks - left - right
        table = np.repeat([-1, 0, 1], [left, middle, right])[:, None, None]
        friends = friend_counts(matched_costs(table), separations(table), 0, 0)
        total, mass = weighted_sum(table, friends, plan.majority, ramp)
        return h_index(friends), total[0, 0] / mass

    (here, one), (there, other) = mean(left, right), mean(left + 1, right - 1)
    return 0.0 if min(here, there) < plan.certified else abs(one - other) / (2 * float(plan.spread))


def test_split_blocks_of_a_real_size():
    """The worst that two camps with friends in between can do at 250 blocks: within the bound, and near to it."""
    plan = CertifiedAverage(250, MarginTest(Fraction(3, 8), Fraction(1, 10**6)), Fraction(1, 10), Fraction(1, 10))
    outside = plan.blocks - plan.certified
    ratios = [
        split_ratio(plan, left, right)
        for left in range(1, plan.blocks // 2, 8)
        for right in range(1, outside + 3, 4)
        if left + right < plan.blocks
    ]
    assert 0.5 <= max(ratios) <= 1


def test_abrupt_weights_are_caught():
    """Full weight from a majority of friends on: one block moves a whole camp in or out, and the bound is nothing."""
    plan = CertifiedAverage(250, MarginTest(Fraction(3, 8), Fraction(1, 10**6)), Fraction(1, 10), Fraction(1, 10))
    right = plan.blocks - plan.certified
    left = plan.blocks - plan.majority
    assert split_ratio(plan, left, right) <= 1
    assert split_ratio(plan, left, right, ramp=1) > 5


def test_one_outlier_does_little():
    """A block that goes astray costs its own share of the mean, a tenth of the bound or less."""
    plan = CertifiedAverage(250, MarginTest(Fraction(3, 8), Fraction(1, 10**6)), Fraction(1, 10), Fraction(1, 10))
    rng = np.random.default_rng(2)
    table = rng.integers(0, 4, (250, 1, 2))
    changed = table.copy()
    changed[7] = 1 << 23
    found = []
    for answers in (table, changed):
        friends = friend_counts(matched_costs(answers), separations(answers), 6, 6)
        total, mass = weighted_sum(answers, friends, plan.majority, plan.ramp)
        found.append(np.array([float(Fraction(int(entry), mass)) for entry in total[0]]))
    assert np.linalg.norm(found[0] - found[1]) <= 2 * 8 * float(plan.spread) / 10


def test_noise_a_fifth_too_small_breaks_the_promise():
    """The pair that attains the bound, by the exact profile of the Gaussian law."""
    loss = Loss(1.0, 1e-6)
    plan = plan_average(400, loss)
    shift = 2 * plan.spread / plan.scale(0)
    assert Fraction(999, 1000) * plan.mu <= shift <= plan.mu
    with precision(128):
        left, spent = ball(Fraction(1, 2)), ball(Fraction(1, 2 * 10**6))
        assert shift_mass(ball(shift), left) <= spent
        assert shift_mass(ball(shift * Fraction(5, 4)), left) > spent


def test_the_price_of_the_parts():
    """Radius, test and noise cost the whole, and no more."""
    plan = plan_average(400, Loss(1.0, 1e-6))
    assert plan.radius_epsilon + plan.test.epsilon + Fraction(1, 2) == 1
    assert plan.test.delta == Fraction(1, 2 * 10**6)


def drawn(plan, count):
    """Standardised answers of tables whose blocks all agree."""
    table = np.full((plan.blocks, 1, 50), 1 << 20)
    found = [plan.run(table) for _ in range(count)]
    return np.array(
        [[float((entry - (1 << 20)) / one.deviation) for entry in one.points[0]] for one in found if one is not None]
    )


@pytest.mark.parametrize(("share", "lawful"), [(1.0, True), (0.75, False)])
def test_the_noise_that_is_drawn(share, lawful):
    """2000 numbers or more: their variance is within 0.25 of 1 except with probability 1e-12; a quarter less is not."""
    numbers = drawn(plan_average(100, Loss(6.0, 1e-6)), trials(60, 400)) * share
    assert numbers.size >= 2000
    assert (abs(numbers.var() - 1) < 0.25) == lawful


def test_blocks_that_disagree_are_refused():
    """Two camps of equal size: refused except with probability delta."""
    plan = plan_average(400, Loss(1.0, 1e-6))
    table = np.repeat([0, 1 << 23], 200)[:, None, None]
    costs, apart = matched_costs(table), separations(table)
    index = h_index(friend_counts(costs, apart, 20, 20))
    assert index <= plan.certified
    answers = np.repeat([[[0], [1 << 21]], [[1 << 22], [1 << 24]]], 200, axis=0)
    assert plan.run(answers) is None


def test_alignment_is_by_nearest_points():
    """Sets in any order become one order."""
    sets = np.array([[[0, 0], [90, 90]], [[91, 89], [1, 0]]])
    assert aligned(sets, sets[0]).tolist() == [[[0, 0], [90, 90]], [[1, 0], [91, 89]]]
    assert matched_costs(sets)[0, 1] == 3
    assert separations(sets).tolist() == [16200, 90**2 + 89**2]


def test_a_point_changes_one_block():
    """Bit for bit: all other blocks keep their centres, for k-means and for mixtures."""
    rng = np.random.default_rng(3)
    points, order = rng.normal(size=(600, 2)), rng.permutation(600)
    changed = points.copy()
    changed[order[130]] = [50.0, -50.0]
    for least in (0.0, 0.01):
        one, other = (clustered_blocks(table, order, 20, 3, least) for table in (points, changed))
        differing = np.flatnonzero((one != other).any(axis=(1, 2)))
        assert differing.tolist() == [130 // 30]


def test_what_is_refused_beforehand():
    """Too few blocks, too many, and delta = 0: public facts."""
    with pytest.raises(InvalidArgument, match="blocks must be at least"):
        plan_average(20, Loss(1.0, 1e-6))
    with pytest.raises(InvalidArgument, match="at most"):
        plan_average(10_000, Loss(1.0, 1e-6))
    with pytest.raises(InvalidArgument, match="delta"):
        plan_average(400, Loss(1.0))
    least = least_blocks(TEST)
    assert CertifiedAverage(least, TEST, Fraction(1, 10), Fraction(1, 10)).ramp >= 1
    assert AGREEING < 1


def log_chances(plan, table, stretch=1):
    """The exact law of radius and refusal, as logarithms of chances; ``stretch`` spoils the margins."""
    costs, apart = matched_costs(table), separations(table)
    by_radius = np.array(plan.radius_costs(costs, apart, table[0].size))
    weights = np.exp(-float(plan.radius_epsilon) / (2 * plan.overlap) * (by_radius - by_radius.min()))
    law = []
    for exponent, weight in enumerate(weights / weights.sum()):
        used = exponent + growth(table[0].size)
        margin = max(h_index(friend_counts(costs, apart, used, used)) - plan.certified, 0) // plan.overlap
        passed = plan.test.chance(stretch * margin)
        law += [(weight * passed, weight * (1 - passed))]
    return np.log(np.maximum(law, 1e-300))


def greatest_loss(stretch):
    """Over chains of neighbouring tables in which one camp after another leaves."""
    plan = plan_average(90, Loss(6.0, 1e-2))
    worst = 0.0
    for outside in ((1 << 22,), (1 << 13, 1 << 20, 1 << 23)):
        table = np.zeros((90, 1, 1), dtype=np.int64)
        before = log_chances(plan, table, stretch)
        for place in range(48):
            table[place] = outside[place % len(outside)]
            after = log_chances(plan, table, stretch)
            # Passing with a margin of zero is what delta pays for.
            kept = np.minimum(before, after) > np.log(1e-2)
            worst = max(worst, float(np.abs(before - after)[kept].max()))
            before = after
    return worst, float(plan.radius_epsilon + plan.test.epsilon)


def test_radius_and_refusal_cost_what_they_should():
    """The exact chances of every radius and of passing, between neighbours on long chains."""
    worst, price = greatest_loss(1)
    assert 0.6 * price < worst <= price * (1 + 1e-9)


def test_margins_that_move_too_fast_are_caught():
    """Margins that move by two: the same chains cost more than was paid."""
    worst, price = greatest_loss(2)
    assert worst > 1.2 * price
