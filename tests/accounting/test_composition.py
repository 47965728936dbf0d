"""Composition of fixed batches against brute force over all outcomes of randomised response."""

import itertools
import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conftest import needs_package
from dither.accounting import composition, concentrated, profiles
from dither.accounting.capacity import queries_within
from dither.accounting.composition import advanced, basic, compose, heterogeneous, optimal
from dither.accounting.rounding import printed_down, printed_up
from dither.errors import InvalidArgument
from dither.numbers import ball, exact, precision
from dither.privacy import Budget, Loss, Neighbours

DIGITS = 50
THOUSAND = [Loss(0.01, 1e-9)] * 1000

epsilons = st.floats(0.01, 2.0)
small_deltas = st.sampled_from([0.0, 1e-9, 1e-4, 0.01])
targets = st.floats(-8.0, -0.8).map(lambda power: 10**power)
losses = st.builds(Loss, epsilons, small_deltas)
batches = st.lists(losses, min_size=1, max_size=6)


def decimal(value):
    """The number that a user wrote, in the precision in force."""
    number = exact(value)
    return Decimal(number.numerator) / Decimal(number.denominator)


def true_delta(batch, epsilon):
    """The hockey-stick divergence of composed randomised responses: a sum over all 2^k outcomes."""
    with localcontext(prec=DIGITS):
        bar, kept = decimal(epsilon).exp(), Decimal(1)
        for loss in batch:
            kept *= 1 - decimal(loss.delta)
        chances = [decimal(loss.epsilon).exp() / (1 + decimal(loss.epsilon).exp()) for loss in batch]
        apart = Decimal(0)
        for answers in itertools.product((True, False), repeat=len(batch)):
            here, there = Decimal(1), Decimal(1)
            for truth, chance in zip(answers, chances, strict=True):
                here *= chance if truth else 1 - chance
                there *= 1 - chance if truth else chance
            apart += max(Decimal(0), here - bar * there)
        return 1 - kept * (1 - apart)


def true_epsilon(batch, delta):
    """The least epsilon with that divergence at most ``delta``, from below, to 1e-12."""
    low, high = 0.0, sum(loss.epsilon for loss in batch) + 1e-12
    if true_delta(batch, 0.0) <= decimal(delta):
        return 0.0
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if true_delta(batch, middle) <= decimal(delta) else (middle, high)
    return low


def is_sound(batch, claim):
    """What the tests below rely on: the claimed loss covers the worst mechanism of these prices."""
    return true_delta(batch, claim.epsilon) <= decimal(claim.delta)


def enough(batch, target):
    """A target delta that the single deltas leave room in."""
    return min(0.9, target + sum(loss.delta for loss in batch))


def test_basic_is_the_exact_sum():
    """Ten times 0.1 is 1, and the sums carry no float error."""
    assert basic([Loss(0.1, 1e-7)] * 10) == Loss(1.0, 1e-6)
    assert basic([]) == Loss(0.0)


def test_advanced_agrees_with_a_hand_worked_case():
    """k = 1000, eps = 0.01, pure: M = 10 tanh(0.005) and e^{-u^2/0.2} 0.1/(0.1 + u) = 1e-6 give 1.5366."""
    u = 1.0
    for _ in range(100):
        u = math.sqrt(0.2 * math.log(0.1 / (0.1 + u) / 1e-6))
    found = advanced([Loss(0.01)] * 1000, delta=1e-6).epsilon
    assert found == pytest.approx(10 * math.tanh(0.005) + u, rel=1e-9)
    assert found == pytest.approx(1.5366, abs=2e-4)


def test_advanced_is_below_the_textbook_and_below_kov_theorem_3_4():
    """The integral gains on Hoeffding alone and on the logarithm of e + sqrt(V)/d'."""
    ours = advanced([Loss(0.01)] * 1000, delta=1e-6).epsilon
    mean, variance = 10 * math.tanh(0.005), 0.1
    assert (
        ours
        < mean + math.sqrt(2 * variance * math.log(math.e + math.sqrt(variance) / 1e-6))
        == pytest.approx(1.641, abs=1e-3)
    )
    assert ours < mean + math.sqrt(2 * variance * math.log(1e6)) == pytest.approx(1.712, abs=1e-3)


@settings(max_examples=40, deadline=None)
@given(epsilons, small_deltas, st.integers(1, 8), targets)
@example(0.5, 0.0, 1, 1e-8)
def test_optimal_is_the_brute_force_optimum(epsilon, delta, k, target):
    """Neither below the optimum over all 2^k outcomes nor more than 1e-9 above it."""
    batch = [Loss(epsilon, delta)] * k
    target = enough(batch, target)
    claim = optimal(epsilon, delta, k, target)
    assert is_sound(batch, claim)
    assert claim.epsilon <= true_epsilon(batch, target) * (1 + 1e-9) + 1e-9


@settings(max_examples=40, deadline=None)
@given(batches, targets)
def test_unequal_prices_are_bounded_from_above_and_closely(batch, target):
    """The grid bound covers the brute-force optimum and is within 1% and one grid step per release of it."""
    target = enough(batch, target)
    claim = heterogeneous(batch, delta=target)
    assert is_sound(batch, claim)
    step = math.hypot(*(loss.epsilon for loss in batch)) / profiles.POINTS_PER_DEVIATION
    assert claim.epsilon <= true_epsilon(batch, target) * 1.01 + step * len(batch)


@settings(max_examples=40, deadline=None)
@given(batches, targets)
def test_every_method_is_sound_and_auto_is_the_least(batch, target):
    """All bounds cover the worst mechanism; auto returns none that another method beats."""
    target = enough(batch, target)
    claims = {name: compose(batch, delta=target, method=name) for name in ("basic", "advanced", "zcdp")}
    best = compose(batch, delta=target)
    assert all(is_sound(batch, claim) for claim in [*claims.values(), best])
    assert all(best.epsilon <= claim.epsilon for claim in claims.values())


@settings(max_examples=25, deadline=None)
@given(st.lists(losses, min_size=1, max_size=5), st.floats(-4.0, -0.8))
def test_ten_percent_less_is_found_out(batch, power):
    """Power of the soundness check: the optimum made 10% smaller fails it."""
    target = enough(batch, 10**power)
    found = true_epsilon(batch, target)
    if found > 0.01:
        assert not is_sound(batch, Loss(0.9 * found, target))


def test_optimal_is_never_above_advanced_or_basic():
    """On a table of prices and numbers of releases."""
    for epsilon, k, target in itertools.product((0.001, 0.1, 1.0), (1, 2, 30, 2000), (1e-12, 1e-6, 1e-2)):
        batch = [Loss(epsilon)] * k
        found = optimal(epsilon, 0.0, k, target).epsilon
        assert found <= advanced(batch, delta=target).epsilon <= basic(batch).epsilon


def test_the_points_of_kov_theorem_3_3_are_met():
    """At delta = 1 - (1 - delta)^k (1 - delta_i) the least epsilon is (k - 2i) epsilon, up to rounding."""
    k, e, d = 50, Decimal("0.2"), Decimal("1e-7")
    with localcontext(prec=DIGITS):
        for i in range(1, 25, 4):
            terms = (math.comb(k, m) * ((e * (k - m)).exp() - (e * (k - 2 * i + m)).exp()) for m in range(i))
            target = 1 - (1 - d) ** k * (1 - sum(terms) / (1 + e.exp()) ** k)
            found = optimal(0.2, 1e-7, k, Fraction(target))
            assert found.epsilon == pytest.approx(float((k - 2 * i) * e), rel=1e-9, abs=1e-9)


def test_a_thousand_small_releases_cost_at_most_1_37():
    """1000 x (0.01, 1e-9) at delta 2e-6: optimum 1.3654, zCDP 1.4716, advanced 1.5367."""
    found = {name: compose(THOUSAND, delta=2e-6, method=name).epsilon for name in list(composition.METHODS)[:6]}
    assert found["auto"] == found["optimal"] <= found["heterogeneous"] <= 1.37
    assert found["auto"] == pytest.approx(1.365447, abs=1e-6)
    assert found["zcdp"] == pytest.approx(1.471588, abs=1e-6)
    assert found["advanced"] == pytest.approx(1.536692, abs=1e-6)


def test_a_grid_that_no_price_fits_costs_little():
    """A thousand prices off every coarse grid: above the equal prices just below, within 0.1% of those just above."""
    generator = np.random.default_rng(1)
    batch = [Loss(float(value)) for value in generator.uniform(0.00999, 0.01001, 1000)]
    found = heterogeneous(batch, delta=1e-6).epsilon
    assert optimal(0.00999, 0, 1000, 1e-6).epsilon <= found <= optimal(0.01001, 0, 1000, 1e-6).epsilon * 1.001


def test_skipping_impossible_outcomes_changes_nothing():
    """The shortened sum for many releases equals the sum over all numbers of lies to 15 digits, from above."""
    epsilon, k = Fraction(1, 100), 20000
    with precision(192):
        delta = ball(Fraction(1, 10**6))
        whole = profiles._walk(profiles._binomial(epsilon, k, 0), k * epsilon, 2 * epsilon, delta)
        assert whole <= profiles.equal_steps(epsilon, k, delta) <= whole * (1 + Fraction(1, 10**15))


@pytest.mark.slow
@settings(deadline=None)
@given(st.fractions(Fraction(1, 1000), 3), st.fractions(Fraction(1, 1000), 1))
def test_a_split_step_merges_into_randomised_response(epsilon, step):
    """Adding up the grid masses above zero, and their likelihoods under the neighbour, gives back the step."""
    leaf = profiles._leaf(epsilon, step)
    places = [leaf.lowest + i * step for i in range(len(leaf.masses))]
    truth = 1 / (1 + math.exp(-epsilon))
    if leaf.lowest == -epsilon or len(places) > 3:
        upper = [(mass, place) for mass, place in zip(leaf.masses, places, strict=True) if place > 0 and mass]
        assert sum(mass for mass, _ in upper) == pytest.approx(truth, rel=1e-9)
        assert sum(mass * math.exp(-place) for mass, place in upper) == pytest.approx(1 - truth, rel=1e-9)
    assert 1 <= sum(leaf.masses) <= 1 + 1e-9


def test_chopped_tails_only_move_up():
    """Cutting keeps all mass, as infinite loss or at the lowest loss kept; no loss gets smaller."""
    losses = profiles._Losses(np.array([0.1, 0.2, 0.4, 0.2, 0.1]), Fraction(-2), Fraction(1))
    cut = profiles._chopped(losses, 0.15)
    assert cut.lost == pytest.approx(0.1, rel=0.01)
    assert cut.lost >= 0.1
    assert cut.lowest == -1
    assert cut.highest == 1
    assert cut.masses == pytest.approx([0.3, 0.4, 0.2])


def test_releases_compose_and_refused_ones_count():
    """Anything with a loss is accepted; a refusal was paid for."""
    answered = SimpleNamespace(loss=Loss(0.1), neighbours=Neighbours.CHANGE_ONE, refused=False)
    refused = SimpleNamespace(loss=Loss(0.2, 1e-6), neighbours=Neighbours.CHANGE_ONE, refused=True)
    assert compose([answered, refused, Loss(0.3)]) == Loss(0.6, 1e-6)


def test_dp_accounting_agrees():
    """The peer's distribution, where it is installed, is within 1% of our proved bound."""
    needs_package("dp_accounting")
    batch = [Loss(0.01, 1e-9)] * 500 + [Loss(0.017, 1e-9)] * 200
    peer = compose(batch, delta=2e-6, method="dp-accounting").epsilon
    assert compose(batch, delta=2e-6).epsilon == pytest.approx(peer, rel=0.01)


@settings(deadline=None)
@given(st.floats(1e-4, 5.0), st.integers(1, 40))
def test_pure_mechanisms_have_rho_epsilon_tanh(epsilon, tenths):
    """The Renyi divergence of randomised response is at most alpha eps tanh(eps/2), at order 1 with equality."""
    alpha = 1 + tenths / 10
    renyi = math.log(math.cosh((alpha - 0.5) * epsilon) / math.cosh(epsilon / 2)) / (alpha - 1)
    assert renyi <= alpha * float(concentrated.pure_rho(epsilon)) * (1 + 1e-9) + 1e-12
    assert concentrated.pure_rho(epsilon) <= exact(epsilon) ** 2 / 2


@pytest.mark.slow
@settings(deadline=None)
@given(st.floats(1e-6, 10.0), targets)
def test_zcdp_conversions_undo_each_other_safely(rho, delta):
    """There and back never gains privacy, and loses less than one part in a thousand."""
    epsilon = concentrated.zcdp_epsilon(rho, delta)
    if epsilon > 0:
        back = concentrated.zcdp_rho(epsilon, delta)
        assert rho * 0.999 <= back <= rho * (1 + 1e-9)
        assert concentrated.zcdp_delta(rho, epsilon) == pytest.approx(delta, rel=1e-3)


@pytest.mark.slow
@settings(deadline=None)
@given(st.floats(1e-4, 10.0), targets)
def test_the_exact_gaussian_is_below_its_zcdp_bound_and_sound(rho, delta):
    """Gaussian profile at the returned epsilon is within delta (float check), and 10% less is not."""
    epsilon = concentrated.gaussian_epsilon([rho / 2, rho / 2], delta)
    assert epsilon <= concentrated.zcdp_epsilon(rho, delta) * (1 + 1e-9)
    m = math.sqrt(2 * rho)

    def profile(e):
        tail = [math.erfc((e / m + sign * m / 2) / math.sqrt(2)) / 2 for sign in (-1, 1)]
        return tail[0] - math.exp(e) * tail[1]

    assert profile(epsilon) <= delta * (1 + 1e-6)
    if epsilon > 0.01:
        assert profile(0.9 * epsilon) > delta


def test_gaussians_compose_by_rho():
    """Four Gaussians of scale 20 are one of scale 10, exactly."""
    assert 4 * concentrated.gaussian_rho(1, 20) == concentrated.gaussian_rho(1, 10)
    many = concentrated.compose_gaussians([concentrated.gaussian_rho(1, 20)] * 4, delta=1e-6)
    assert many == concentrated.compose_gaussians([concentrated.gaussian_rho(1, 10)], delta=1e-6)


@settings(deadline=None)
@given(st.fractions(0, 10, max_denominator=10**6))
def test_printed_bounds_are_on_the_safe_side(value):
    """What a float prints is not below the bound (above, for lower bounds), and within two last places."""
    assert value <= exact(printed_up(value)) <= value * (1 + Fraction(1, 2**51))
    assert value * (1 - Fraction(1, 2**51)) <= exact(printed_down(value)) <= value


@pytest.mark.parametrize(("epsilon", "delta", "budget"), [(0.01, 0.0, (1.0, 1e-6)), (0.3, 1e-9, (2.0, 1e-5))])
def test_the_number_of_fixed_questions_is_the_greatest(epsilon, delta, budget):
    """That many fit by optimal composition, and one more does not."""
    count = queries_within(Loss(epsilon, delta), Budget(*budget), filter="fixed")
    assert optimal(epsilon, delta, count, budget[1]).epsilon <= budget[0]
    assert optimal(epsilon, delta, count + 1, budget[1]).epsilon > budget[0]


def test_the_number_of_questions_by_filter():
    """Hand-worked: basic 1/0.01; advanced V <= (sqrt(2L + 2) - sqrt(2L))^2 with L = ln(2e6); fixed beats both."""
    price, budget = Loss(0.01), Budget(1.0, 1e-6)
    log = math.log(2e6)
    assert queries_within(price, budget) == 100
    by_hand = int((math.sqrt(2 * log + 2) - math.sqrt(2 * log)) ** 2 / 1e-4)
    assert queries_within(price, budget, filter="advanced") == by_hand == 333
    assert queries_within(price, budget, filter="fixed") == 562
    assert queries_within(Loss(0.0, 1e-9), budget, filter="fixed") == 1000
    assert queries_within(Loss(2.0), Budget(1.0)) == queries_within(Loss(2.0), Budget(1.0), filter="fixed") == 0


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: compose(Loss(1.0)), "losses"),
        (lambda: compose([Loss(1.0), 0.5]), "losses[1]"),
        (lambda: compose([Loss(0.1, 0.6)] * 2), "losses"),
        (lambda: compose(THOUSAND, delta=1e-7), "delta"),
        (lambda: compose(THOUSAND, delta=math.nan), "delta"),
        (lambda: compose(THOUSAND, delta=1), "delta"),
        (lambda: compose(THOUSAND, method="best"), "method"),
        (lambda: compose(THOUSAND, method="optimal"), "delta"),
        (lambda: compose([Loss(0.1), Loss(0.2)], delta=0.1, method="optimal"), "method"),
        (lambda: optimal(0.1, 0.0, 2.5, 1e-6), "k"),
        (lambda: optimal(-0.1, 0.0, 2, 1e-6), "epsilon"),
        (lambda: optimal(0.1, 0.5, 2, 1e-6), "target_delta"),
        (lambda: queries_within(0.1, Budget(1.0)), "loss"),
        (lambda: queries_within(Loss(0.1), 1.0), "budget"),
        (lambda: queries_within(Loss(0.0), Budget(1.0)), "loss"),
        (lambda: queries_within(Loss(0.1), Budget(1.0), filter="magic"), "filter"),
        (lambda: queries_within(Loss(0.1), Budget(1.0), filter="advanced"), "budget.delta"),
        (lambda: concentrated.zcdp_epsilon(-1, 1e-6), "rho"),
        (lambda: concentrated.zcdp_epsilon(1, 0), "delta"),
        (lambda: concentrated.gaussian_rho(1, 0), "scale"),
        (lambda: concentrated.compose_gaussians(0.1, delta=1e-6), "rhos"),
    ],
)
def test_bad_input_is_named(call, argument):
    """The error names the argument and says that nothing was read or charged."""
    with pytest.raises(InvalidArgument, match="nothing was charged") as caught:
        call()
    assert caught.value.argument == argument


def test_relations_are_not_mixed():
    """Guarantees for different neighbours do not add up."""
    edge = SimpleNamespace(loss=Loss(0.1), neighbours=Neighbours.EDGE)
    change = SimpleNamespace(loss=Loss(0.1), neighbours=Neighbours.CHANGE_ONE)
    with pytest.raises(InvalidArgument, match="one neighbour relation"):
        compose([edge, change])


def test_prices_are_counted_once_each():
    """Equal prices are grouped, whatever their order."""
    assert composition._counted([Loss(0.1), Loss(0.2), Loss(0.1)]) == Counter(
        {(Fraction(1, 10), 0): 2, (Fraction(1, 5), 0): 1}
    )
