"""The plain sum of epsilons beside another rule: the worst adaptive analyst, exactly, and rules that it beats."""

import math
from fractions import Fraction

import pytest

import dither as dt
from dither.accounting.filters import covers, open_filter
from dither.privacy import Budget, Concentrated, Loss
from dither_lab.audit.adaptive_analysts import (
    SETTINGS,
    drawn,
    forgotten_rhos,
    separate_tallies,
    squares_alone,
    without_sums,
    worst_delta,
)


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_adaptive_analyst_gains_more_than_the_budget(setting):
    """Exactly, over all strategies: the divergence at the budget's epsilon is at most its delta."""
    reached = worst_delta(open_filter(setting.budget, filter=setting.name), setting.menu, setting.budget.epsilon)
    assert reached <= setting.budget.delta * (1 + 1e-9)


@pytest.mark.parametrize("wrong", [separate_tallies, forgotten_rhos, without_sums, squares_alone])
def test_wrong_rules_are_beaten(wrong):
    """Separate tallies reach seven times the budget's delta; a rule that only rhos count admits too little."""
    assert not wrong().holds


@pytest.mark.parametrize("name", ["advanced", "zcdp"])
@pytest.mark.parametrize("each", [0.001, 0.01, 0.05, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget(0.1, 1e-9), Budget(3.0, 1e-6)])
def test_no_rule_admits_less_than_adding_epsilons(name, each, budget):
    """Of pure answers, whatever their size."""
    loss = Loss(each)
    assert dt.queries_within(loss, budget, filter=name) >= dt.queries_within(loss, budget)


def test_five_pure_answers_of_a_fifth_fit():
    """Within (1, 1e-6), by each rule; rho alone admits one, squares none."""
    for name in ("basic", "advanced", "zcdp"):
        assert dt.queries_within(Loss(0.2), Budget(1.0, 1e-6), filter=name) == 5


def test_losses_with_a_delta_are_not_admitted_by_the_plain_sum():
    """Deltas of two rules would add up: the plain sum is for losses that have none."""
    state = open_filter(Budget(1.0, 1e-6), filter="zcdp")
    gaussian = Loss(0.3, 1e-9, stated=Concentrated(Fraction(9, 200)))
    assert not covers(state, gaussian)
    assert covers(state, Loss(0.3))
    assert dt.queries_within(Loss(0.2, 1e-12), Budget(1.0, 1e-6), filter="zcdp") == 1


@pytest.mark.parametrize("epsilon", [0.5, 4.0, 8.0, 9.0, 20.0, 100.0])
def test_no_stated_rho_is_above_that_of_every_pure_mechanism(epsilon):
    """Of drawn answers with and without an interval, of sums of them, of groups, and of what is read from a store."""
    most = Loss(epsilon).rho
    for confidence in (None, 0.95):
        r = dt.median(list(range(100)), bounds=(0, 100), step=1, epsilon=epsilon, confidence=confidence)
        assert r.loss.rho <= most
        assert Loss.from_fields({"epsilon": epsilon, "delta": 0.0, "rho": epsilon**2}).rho == most
    drawn_loss = Loss.bounded_range(epsilon)
    assert drawn_loss.rho == pytest.approx(min(epsilon**2 / 8, epsilon * math.tanh(epsilon / 2)), rel=1e-12)
    assert (drawn_loss + drawn_loss).rho <= Loss(2 * epsilon).rho
    assert drawn_loss.for_group(5).rho <= Loss(5 * epsilon).rho


def test_a_stated_rho_without_its_delta_stays():
    """Gaussian noise: the general bound may have less rho, but has its delta beside it."""
    loss = Loss(0.1, 1e-9, stated=Concentrated(Fraction(1)))
    assert loss.concentrated == Concentrated(Fraction(1))
    assert Loss(0.1, 1e-9, stated=Concentrated(Fraction(1), Fraction(1, 10**9))).rho == Loss(0.1, 1e-9).rho


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 9.0, 20.0])
@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_two_point_laws_of_bounded_range_have_no_more_than_the_stated_rho(epsilon, place):
    """Renyi divergences over nine orders; at an epsilon of 20 the square would say two and a half times too much."""
    answer = drawn(epsilon, place * epsilon)
    p, rho = answer.chance, answer.loss.rho
    for order in (1 + 1e-9, 1.25, 1.5, 2.0, 3.0, 5.0, 9.0, 33.0, 65.0):
        high, low = math.log(p) + (order - 1) * answer.high, math.log1p(-p) + (order - 1) * answer.low
        moment = max(high, low) + math.log1p(math.exp(-abs(high - low)))
        assert moment <= order * (order - 1) * rho * (1 + 1e-6) + 1e-12
