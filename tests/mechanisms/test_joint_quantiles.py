"""Several quantiles at once: exact laws on small universes, prices, ties, and the gain over splitting."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

import dither as dt
from conftest import trials
from dither.mechanisms import joint_draw as joint
from dither.mechanisms import joint_quantiles as several
from dither.mechanisms.joint_draw import joint_quantiles
from dither.mechanisms.joint_quantiles import JOINT_COST, SeveralDraws, cost_of_levels, draw_levels, levels
from dither.mechanisms.nested_quantiles import NESTED_COST, concentrated_nested, draw_nested, roots_of
from dither.noise import discrete_exponential as rungs
from dither.privacy import Loss
from dither.sources.column import Column, Shape
from dither_lab.audit.checks import Effort
from dither_lab.audit.laws.several import joint_law, levels_law, nested_law
from dither_lab.audit.nested_quantiles import segment_losses


def worst_joint_loss(rate, ranks, values, records):
    """The largest log-ratio of the joint law over all pairs of sets of distinct records that differ in one."""
    laws = {x: joint_law(np.array(x), (0, values - 1), ranks, rate) for x in combinations(range(values), records)}
    return max(
        max(abs(math.log(laws[x][z] / laws[y][z])) for z in laws[x])
        for x in laws
        for y in laws
        if len(set(x) & set(y)) == records - 1
    )


@pytest.mark.parametrize("ranks", [[1, 3], [2, 3], [2, 2], [1, 2, 4]])
def test_the_joint_draw_costs_four_times_its_rate(ranks):
    """No neighbours differ by more than 4 rate; a rate 30% larger would be seen to exceed it."""
    epsilon = 2.0
    assert worst_joint_loss(epsilon / JOINT_COST, ranks, 7, 4) <= epsilon + 1e-9


def test_the_price_of_the_joint_draw_is_not_three():
    """The check above can fail: at a third of epsilon some neighbours exceed it."""
    assert worst_joint_loss(2.0 / 3, [1, 3], 7, 4) > 2.0 * 0.95


@pytest.mark.sampled(1)
@pytest.mark.parametrize("ranks", [[2], [1, 3], [2, 2], [1, 2, 4]])
@pytest.mark.parametrize("certainty", [64, -4, -40])
def test_joint_draws_follow_their_law(ranks, certainty, monkeypatch):
    """Samples against the definition (chi-square, false alarm 1e-9), also when windows must be widened first."""
    fine, bounds, rate = np.array([1, 3, 4, 8]), (0, 9), Fraction(1, 2)
    monkeypatch.setattr(joint, "_CERTAINTY", certainty)
    law = joint_law(fine, bounds, ranks, float(rate))
    n = trials(8_000, 40_000)
    met = Counter(tuple(joint_quantiles(fine, bounds, ranks, rate)) for _ in range(n))
    assert set(met) <= set(law)
    common = [z for z in law if n * law[z] >= 5]
    rest = n - sum(met[z] for z in common)
    expected_rest = n * (1 - sum(law[z] for z in common))
    statistic = sum((met[z] - n * law[z]) ** 2 / (n * law[z]) for z in common)
    statistic += (rest - expected_rest) ** 2 / expected_rest if expected_rest > 5 else 0.0
    assert chi2.sf(statistic, len(common)) > 1e-9


@pytest.mark.slow
def test_the_law_test_has_power():
    """A rate 30% off is rejected by the same chi-square test."""
    fine, bounds, ranks = np.array([1, 3, 4, 8]), (0, 9), [1, 3]
    law = joint_law(fine, bounds, ranks, 0.5)
    n = 20_000
    met = Counter(tuple(joint_quantiles(fine, bounds, ranks, Fraction(13, 20))) for _ in range(n))
    statistic = sum((met[z] - n * law[z]) ** 2 / (n * law[z]) for z in law if n * law[z] >= 5)
    assert chi2.sf(statistic, len(law)) < 1e-9


@pytest.mark.parametrize("ranks", [[1, 2, 4], [2, 3, 3], [1, 1, 4]])
def test_nested_draws_cost_eight_times_their_rate(ranks):
    """Three quantiles, the middle one first, all neighbours of a universe, all answers."""
    epsilon, values, records = 4.0, 7, 4
    bounds, rate = (0, values - 1), epsilon / NESTED_COST
    laws = {x: nested_law(x, bounds, ranks, rate) for x in combinations(range(values), records)}
    worst = max(
        max(abs(math.log(laws[x][z] / laws[y][z])) for z in laws[x])
        for x in laws
        for y in laws
        if len(set(x) & set(y)) == records - 1
    )
    assert 0.3 * epsilon < worst <= epsilon + 1e-9


def test_a_record_that_comes_or_goes_costs_half_of_a_level():
    """Inside of one segment, all data; wanted sizes that follow the records would cost half as much again."""
    honest, broken = (segment_losses(Effort(quick=True), relative=relative) for relative in (False, True))
    assert honest.holds
    assert honest.lower > 0.95 * honest.claimed.epsilon
    assert not broken.holds
    assert broken.lower > 1.5 * broken.claimed.epsilon


def test_roots_of_nested_draws_are_evenly_spread():
    """About the root of the number, and groups of about as many between them."""
    for count in (3, 21, 49, 99, 400):
        roots = roots_of(count)
        sizes = [after - before - 1 for before, after in pairwise([-1, *roots, count])]
        assert max(sizes) - min(sizes) <= 1
        assert abs(len(roots) - math.sqrt(count)) <= 1.5


@pytest.mark.sampled(1)
@pytest.mark.parametrize("certainty", [64, -4, -40])
@pytest.mark.parametrize("ranks", [[1, 2, 4], [2, 3, 3]])
def test_nested_draws_follow_their_law(ranks, certainty, monkeypatch):
    """Samples against the definition (chi-square, false alarm 1e-9), also when windows must be widened first."""
    fine, bounds, rate = np.array([1, 3, 4, 7]), (0, 8), Fraction(1, 2)
    monkeypatch.setattr(joint, "_CERTAINTY", certainty)
    law, n = nested_law(fine.tolist(), bounds, ranks, float(rate)), trials(6_000, 40_000)
    met = Counter(tuple(draw_nested(fine, bounds, ranks, rate)) for _ in range(n))
    assert set(met) <= set(law)
    assert _surprise(met, law, n) > 1e-9


@pytest.mark.slow
def test_the_test_of_the_nested_law_has_power():
    """A rate 30% off, and wanted sizes that follow the records, are rejected by the same test."""
    fine, bounds, ranks, n = np.array([1, 3, 4, 7]), (0, 8), [1, 2, 4], 20_000
    law, other = (nested_law(fine.tolist(), bounds, ranks, 0.5, relative=relative) for relative in (False, True))
    met = Counter(tuple(draw_nested(fine, bounds, ranks, Fraction(13, 20))) for _ in range(n))
    assert _surprise(met, law, n) < 1e-9
    met = Counter(tuple(draw_nested(fine, bounds, ranks, Fraction(1, 2))) for _ in range(n))
    assert _surprise(met, other, n) < 1e-9


def _surprise(met, law, n):
    """How likely such counts are under a law; rare tuples are counted together."""
    common = [z for z in law if n * law[z] >= 5]
    rest, expected = n - sum(met[z] for z in common), n * (1 - sum(law[z] for z in common))
    statistic = sum((met[z] - n * law[z]) ** 2 / (n * law[z]) for z in common)
    return chi2.sf(statistic + ((rest - expected) ** 2 / expected if expected > 5 else 0.0), len(common))


def test_more_quantiles_than_a_joint_draw_takes_are_drawn_nested():
    """A public rule, and what it states: rho of both levels."""
    statistic = dt.Quantiles(q=[k / 50 for k in range(1, 50)], bounds=(0, 1)).resolve(
        Shape(100_000, whole=False, nullable=False)
    )
    drawn = SeveralDraws.of(statistic, Loss(1.0), Fraction(1), None)
    assert (drawn.order_of_draws, drawn.rate) == ("nested", Fraction(1, NESTED_COST))
    assert drawn.loss.stated.rho == pytest.approx(2 * (2 * float(drawn.rate) ** 2), rel=1e-9)


@pytest.mark.parametrize("ranks", [[1, 2, 4], [2, 3, 3]])
def test_nested_draws_have_the_rho_that_they_state(ranks):
    """Renyi divergences of the exact law, all neighbours, several orders: at most rho times the order."""
    rate, values, records = 0.5, 7, 4
    rho = float(concentrated_nested(Fraction(1, 2)).rho)
    laws = {x: nested_law(x, (0, values - 1), ranks, rate) for x in combinations(range(values), records)}
    pairs = [(laws[x], laws[y]) for x in laws for y in laws if len(set(x) & set(y)) == records - 1]
    for order in (1.5, 2.0, 8.0):
        worst = max(math.log(math.fsum(p[z] ** order * q[z] ** (1 - order) for z in p)) / (order - 1) for p, q in pairs)
        assert worst <= rho * order + 1e-9


@pytest.mark.parametrize("shares", [(0.25, 0.5, 0.75), (0.1, 0.5, 0.6)])
def test_levels_cost_their_price(shares):
    """The whole draw by levels stays within rate times price on all neighbours of a small universe."""
    shares = tuple(Fraction(str(share)) for share in shares)
    epsilon, values, records = 2.0, 7, 4
    rate = epsilon / float(cost_of_levels(levels(shares)))
    laws = {x: levels_law(x, (0, values - 1), shares, rate) for x in combinations(range(values), records)}
    worst = max(
        max(abs(math.log(laws[x][z] / laws[y][z])) for z in laws[x])
        for x in laws
        for y in laws
        if len(set(x) & set(y)) == records - 1
    )
    assert 0.3 * epsilon < worst <= epsilon + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("certainty", [64, -4, -40])
def test_level_draws_follow_their_law(certainty, monkeypatch):
    """Samples of the level draw against its definition (chi-square, false alarm 1e-9), with windows to widen."""
    monkeypatch.setattr(rungs, "_CERTAINTY", certainty)
    fine, bounds, shares, rate = np.array([1, 3, 4, 8]), (0, 9), (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)), 1
    law = levels_law(tuple(fine), bounds, shares, float(rate))
    n = trials(8_000, 20_000)
    met = Counter(tuple(draw_levels(fine, bounds, shares, Fraction(rate))) for _ in range(n))
    assert set(met) <= set(law)
    statistic = sum((met[z] - n * law[z]) ** 2 / (n * law[z]) for z in law if n * law[z] >= 5)
    assert chi2.sf(statistic, sum(n * law[z] >= 5 for z in law)) > 1e-9


@pytest.mark.parametrize("count", [1, 2, 9, 30])
def test_answers_rise_and_lie_within_the_bounds(count):
    """Whatever the manner, answers are monotone; the manner depends on public facts."""
    x = np.random.default_rng(1).normal(50, 10, 2_000)
    q = [(j + 1) / (count + 1) for j in range(count)]
    release = dt.quantiles(x, q=q, bounds=(0, 100), epsilon=1.0)
    assert list(release.value) == sorted(release.value)
    assert all(0 <= v <= 100 for v in release.value)
    assert all(low <= v <= high for v, (low, high) in zip(release.value, release.interval, strict=True))


def test_ties_do_not_mislead():
    """60% equal ages: all deciles that fall into the tie are answered by it."""
    rng = np.random.default_rng(2)
    ages = np.where(rng.random(5_000) < 0.6, 45, rng.integers(18, 90, 5_000))
    release = dt.quantiles(ages, q=[0.3, 0.4, 0.5, 0.6, 0.7], bounds=(0, 120), epsilon=2.0, confidence=None)
    assert release.value[1:4] == (45, 45, 45)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=80), st.integers(1, 20), st.data())
def test_windows_of_refined_records_are_cut_out_of_all_of_them(x, reach, data):
    """Whatever places are read, in whatever order: the same numbers, and as many below any point."""
    spread, grid = several._spread(len(x)), dt.Integer(0, 9).grid
    every = several.refined(np.array(x), spread)
    windows = several.RefinedRecords(Column(np.array(x), grid), spread, reach)
    assert len(windows) == len(every)
    for _ in range(4):
        first, last = sorted(data.draw(st.integers(0, len(x))) for _ in range(2))
        assert windows[first:last].tolist() == every[first:last].tolist()
        point = data.draw(st.integers(-1, 10 * spread))
        for side in ("left", "right"):
            assert windows.searchsorted(point, side) == np.searchsorted(every, point, side=side)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.data())
def test_refined_neighbours_differ_in_one_record(x, data):
    """Ties get different places; one changed record, and any reordering, changes exactly one refined record at most."""
    spread = several._spread(len(x))
    y = list(x)
    y[data.draw(st.integers(0, len(x) - 1))] = data.draw(st.integers(0, 5))
    here, there = (several.refined(np.array(z), spread) for z in (x, data.draw(st.permutations(y))))
    assert len(set(here.tolist())) == len(x)
    assert (here // spread).tolist() == sorted(x)
    assert len(set(here.tolist()) - set(there.tolist())) <= 1


@pytest.mark.parametrize(
    ("low", "high", "n", "count"),
    [(1000, 1001, 20_000, 3), (-1001, -1000, 20_000, 3), (1000, 1001, 20_000, 25), (511.5, 512.5, 5_000, 2)],
)
def test_bounds_far_from_zero(low, high, n, count):
    """Whole numbers of steps stay within 64 bits wherever the bounds lie."""
    x = np.random.default_rng(5).uniform(low, high, n)
    q = [(j + 1) / (count + 1) for j in range(count)]
    answers = np.array(dt.quantiles(x, q=q, bounds=(low, high), epsilon=2.0, confidence=None).value)
    assert np.abs(answers - np.quantile(x, q)).max() < 0.1


@pytest.mark.slow
def test_deciles_beat_nine_separate_releases():
    """Total error of nine deciles at epsilon 1: at most 60% of nine releases with a ninth each (measured: 29%)."""
    x = np.clip(np.random.default_rng(3).lognormal(11, 0.6, 10_000), 0, 1e6)
    q, bounds = [j / 10 for j in range(1, 10)], (0, 1e6)
    truth = np.array([dt.inspect.value(dt.Quantile(q=one, bounds=bounds), x) for one in q])
    runs = trials(12, 60)
    together = [
        np.abs(np.array(dt.quantiles(x, q=q, bounds=bounds, epsilon=1.0, confidence=None).value) - truth).sum()
        for _ in range(runs)
    ]
    alone = [
        sum(
            abs(dt.quantile(x, q=one, bounds=bounds, epsilon=Fraction(1, 9), confidence=None).value - t)
            for one, t in zip(q, truth, strict=True)
        )
        for _ in range(runs)
    ]
    assert np.mean(together) <= 0.6 * np.mean(alone)
