"""The plain sum of epsilons beside another rule: the worst adaptive analyst, exactly, and rules that it beats."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import pytest

import dither as dt
from dither.accounting.filters import FilterState, covers, open_filter, spend
from dither.privacy import Budget, Concentrated, Loss


@dataclass(frozen=True)
class Answer:
    """A loss, and the worst pair of laws that has it: two outcomes with these log-ratios."""

    loss: Loss
    high: float
    low: float

    @property
    def truth(self) -> float:
        """The probability of the outcome ``high`` under the first law: ratios have mean 1 under the second."""
        return (math.exp(-self.low) - 1) / (math.exp(-self.low) - math.exp(-self.high))


def pure(epsilon):
    """Randomised response, the worst of all pure mechanisms."""
    return Answer(Loss(epsilon), epsilon, -epsilon)


def drawn(epsilon, place):
    """A draw of bounded range whose log-ratios lie between place - epsilon and place."""
    return Answer(Loss.bounded_range(epsilon), place, place - epsilon)


def worst(state, menu, epsilon, admits, pays):
    """The largest divergence that any adaptive analyst reaches, over all strategies and all transcripts.

    An analyst picks the next answer by what was seen; that is a function of the state and of the log-ratio so far, so
    the maximum is computed from the end.
    """

    @cache
    def value(state, ratio):
        best = max(0.0, 1.0 - math.exp(epsilon - ratio / 1000))
        for answer in menu:
            if admits(state, answer.loss):
                after = pays(state, answer.loss)
                high, low = (value(after, ratio + round(1000 * end)) for end in (answer.high, answer.low))
                best = max(best, answer.truth * high + (1 - answer.truth) * low)
        return best

    return value(state, 0)


SETTINGS = [
    ("zcdp", Budget(1.0, 0.01), [pure(0.25), pure(0.5), drawn(0.5, 0.25), drawn(1.0, 0.5)]),
    ("zcdp", Budget(1.0, 0.05), [pure(0.2), pure(0.6), drawn(0.4, 0.3), drawn(0.8, 0.2)]),
    ("zcdp", Budget(0.5, 0.05), [pure(0.15), pure(0.25), drawn(0.5, 0.4), drawn(0.3, 0.1)]),
    ("zcdp", Budget(2.0, 0.02), [pure(0.5), pure(1.0), drawn(1.0, 0.75), drawn(1.5, 0.5)]),
    ("advanced", Budget(1.0, 0.05), [pure(0.2), pure(0.5), pure(1.0)]),
    ("advanced", Budget(2.0, 0.1), [pure(0.25), pure(0.75), pure(1.5)]),
]


@pytest.mark.parametrize(("name", "budget", "menu"), SETTINGS)
def test_no_adaptive_analyst_gains_more_than_the_budget(name, budget, menu):
    """Exactly, over all strategies: the divergence at the budget's epsilon is at most its delta."""
    reached = worst(open_filter(budget, filter=name), tuple(menu), budget.epsilon, covers, spend)
    assert reached <= budget.delta * (1 + 1e-9)


def separate(states, loss):
    """The first of two tallies that takes a loss, each knowing only what it was charged itself."""
    return next((place for place, state in enumerate(states) if covers(state, loss)), None)


def test_separate_tallies_are_beaten():
    """The same game where each answer is charged to one of the two rules: seven times the budget's delta."""
    budget, menu = Budget(1.0, 0.01), (pure(0.25), pure(0.5), drawn(0.5, 0.25), drawn(1.0, 0.5))
    by_rho = open_filter(budget, filter="zcdp")
    by_rho = FilterState(by_rho.name, by_rho.epsilon, by_rho.delta, by_rho.slack, within_sum=False)

    def pays(states, loss):
        place = separate(states, loss)
        return tuple(spend(state, loss) if i == place else state for i, state in enumerate(states))

    start = (open_filter(Budget(1.0)), by_rho)
    reached = worst(start, menu, 1.0, lambda states, loss: separate(states, loss) is not None, pays)
    assert reached > 5 * budget.delta


def test_rules_that_forget_a_sum_are_beaten():
    """A filter that adds only what its own rule admitted to rho: the plain sum starts anew, and is beaten."""
    budget, menu = Budget(1.0, 0.01), (pure(0.25), pure(0.5), drawn(0.5, 0.25))

    def pays(state, loss):
        after = spend(state, loss)
        free = after.within_sum
        return FilterState(
            after.name,
            after.epsilon,
            after.delta,
            after.slack,
            after.spent_epsilon,
            state.spent_squares if free else after.spent_squares,
            after.spent_delta,
            free,
        )

    assert worst(open_filter(budget, filter="zcdp"), menu, 1.0, covers, pays) > budget.delta


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
    p, rho = answer.truth, answer.loss.rho
    for order in (1 + 1e-9, 1.25, 1.5, 2.0, 3.0, 5.0, 9.0, 33.0, 65.0):
        high, low = math.log(p) + (order - 1) * answer.high, math.log1p(-p) + (order - 1) * answer.low
        moment = max(high, low) + math.log1p(math.exp(-abs(high - low)))
        assert moment <= order * (order - 1) * rho * (1 + 1e-6) + 1e-12
