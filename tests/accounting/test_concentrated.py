"""Laws of losses as zCDP: the rho that each mechanism states, what adds up, and the filter that counts it."""

import contextlib
import math
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dither as dt
from dither.accounting import filters
from dither.accounting.concentrated import bounded_range, greatest_rho, integer_laplace, real_laplace, zcdp_delta
from dither.accounting.filters import open_filter, spend, times
from dither.mechanisms.choice import MECHANISMS
from dither.mechanisms.joint_quantiles import SeveralDraws, concentrated_levels, levels
from dither.mechanisms.mechanism import MechanismSpec
from dither.privacy import Budget, Concentrated, Loss, Neighbours
from dither.queries.order import Quantiles
from dither_lab.audit.audited_queries import audited_queries, prepare_case
from dither_lab.audit.concentration import chances, log_range, renyi_rho, stated_law
from dither_lab.audit.laws.registry import published
from dither_lab.audit.laws.several import node_law
from dither_lab.audit.universes import column_universe

ORDERS = (1.001, 1.1, 1.5, 2.0, 3.0, 6.0, 12.0, 40.0, 150.0)


def divergence_over_order(here, there, order):
    """D_a / a of two lists of probabilities."""
    moment = math.fsum(p * (p / q) ** (order - 1) for p, q in zip(here, there, strict=True))
    return math.log(moment) / (order * (order - 1))


def bounded_pair(epsilon, place):
    """Two two-point laws whose log-ratios are ``place epsilon`` and ``(place - 1) epsilon``."""
    up, down = math.exp(place * epsilon), math.exp((place - 1) * epsilon)
    q = (1 - down) / (up - down)
    return (q * up, (1 - q) * down), (q, 1 - q)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 3.0])
def test_bounded_range_has_rho_an_eighth_of_epsilon_squared(epsilon):
    """No two-point law with log-ratios in an interval of length epsilon shows more, and some nearly as much."""
    rho = float(bounded_range(Fraction(str(epsilon))).rho)
    pairs = [bounded_pair(epsilon, i / 200) for i in range(1, 200)]
    largest = max(divergence_over_order(*pair, order) for pair in pairs for order in ORDERS)
    assert largest <= rho * (1 + 1e-9)
    assert largest > 0.75 * rho  # so that a rho a quarter smaller would be found
    assert epsilon > 1 or largest > 0.98 * rho


def laplace_pair(steps, scale, reach=4000):
    """Integer Laplace noise around 0 and around ``steps``."""
    places = range(-reach, reach + steps + 1)
    weights = [[math.exp(-abs(k - centre) / scale) for k in places] for centre in (0, steps)]
    total = [math.fsum(one) for one in weights]
    return [w / total[0] for w in weights[0]], [w / total[1] for w in weights[1]]


@pytest.mark.parametrize(("steps", "scale"), [(1, 1.0), (1, 4.0), (2, 1.0), (3, 2.0), (7, 10.0), (40, 20.0)])
def test_integer_laplace_noise_has_the_stated_rho_exactly(steps, scale):
    """No order shows more than the mean loss, which is the formula; one percent less would be too little."""
    rho = float(integer_laplace(Fraction(steps) / Fraction(scale), 1 / Fraction(scale)).rho)
    pair = laplace_pair(steps, scale, reach=int(60 * scale))
    largest = max(divergence_over_order(*pair, order) for order in (1 + 1e-6, *ORDERS[:6]))
    assert 0.999 * rho < largest <= rho * (1 + 1e-6)


def test_the_rho_of_real_noise_is_too_small_for_integer_noise():
    """A count of sensitivity 1 at epsilon 1: 0.462, as of any pure mechanism, where real noise has 0.368."""
    largest = divergence_over_order(*laplace_pair(1, 1.0, 100), 1 + 1e-6)
    assert largest > 1.25 * float(real_laplace(Fraction(1)).rho)
    assert integer_laplace(Fraction(1), Fraction(1)).rho == Loss(1.0).concentrated.rho


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 10.0])
def test_real_laplace_noise_has_its_mean_loss_as_rho(epsilon):
    """By the closed form of its Renyi divergences; fine grids approach it from above."""
    rho = float(real_laplace(Fraction(str(epsilon))).rho)
    assert rho == pytest.approx(epsilon + math.exp(-epsilon) - 1, rel=1e-9)
    for order in (*ORDERS, 1e4):
        rest = (order - 1) / (2 * order - 1) * math.exp(-(2 * order - 1) * epsilon)
        scaled = math.log(order / (2 * order - 1) + rest) + (order - 1) * epsilon
        assert scaled / (order * (order - 1)) <= rho * (1 + 1e-9)
    fine = integer_laplace(Fraction(str(epsilon)), Fraction(1, 1000)).rho
    assert rho <= fine <= Fraction(rho) * (1 + Fraction(1, 10**4)) + Fraction(1, 10**12)


def test_rhos_add_up_and_grow_with_the_square_of_a_group():
    """A sum keeps what is known; a group of k has k^2 rho; a share and a plain loss state nothing."""
    drawn, plain = Loss.bounded_range(0.4), Loss(0.4)
    assert (drawn + plain).concentrated == Concentrated(drawn.concentrated.rho + plain.concentrated.rho)
    assert drawn.for_group(3).concentrated.rho == 9 * drawn.concentrated.rho == Loss.bounded_range(1.2).concentrated.rho
    assert drawn.converted(Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE).concentrated.rho == 4 * drawn.concentrated.rho
    noisy = Loss(0.4, stated=integer_laplace(Fraction(2, 5), Fraction(2, 5)))
    assert noisy.for_group(2).concentrated == Loss(0.8).concentrated
    assert noisy.for_group(2).concentrated.rho < 4 * noisy.concentrated.rho
    gaussian = Loss(0.4, 1e-6, stated=Concentrated(Fraction(1, 2)))
    assert gaussian.for_group(2).concentrated == Concentrated(Fraction(2))
    assert drawn.share(Fraction(1, 2)).stated is plain.stated is (plain + plain).stated is drawn.pure().stated is None
    assert drawn == plain
    assert Loss(0.4, 1e-6).concentrated.delta == Fraction("1e-6")


def test_a_mechanism_does_not_inherit_what_another_states():
    """A loss that comes out of a draw and is asked of noise has the law of the noise."""
    drawn = dt.median(range(100), bounds=(0, 100), epsilon=0.5, confidence=None).loss
    universe = next(one for one in audited_queries() if one.name == "sum").universe(True)
    prepared = MECHANISMS["worst_case"]().prepare(MechanismSpec(universe.statistic, drawn))
    assert drawn.concentrated.rho == Fraction(1, 32)
    assert prepared.loss.concentrated.rho > Fraction(1, 10)


@pytest.mark.parametrize(
    ("query", "options", "rho"),
    [
        ("median", {"confidence": None}, 1 / 8),
        ("median", {}, (0.6**2 + 0.4**2) / 8),
        ("maximum", {"confidence": None}, 1 / 8),
        ("median", {"confidence": None, "mechanism": "ladder"}, 1 / 8),
        ("median", {"mechanism": "ladder"}, (2 / 3) ** 2 / 8 + 1 / 3 + math.exp(-1 / 3) - 1),
        ("median", {"confidence": None, "mechanism": dt.SmoothedLadder(beta=0.1)}, 0.9**2 / 2),
        ("median", {"confidence": None, "mechanism": dt.SmoothedLadder(beta=0.01)}, math.tanh(0.5)),
        ("median", {"confidence": None, "mechanism": "smooth"}, math.tanh(0.5)),
        ("sum", {}, 1 - (1 - math.exp(-1)) * 0.01 / math.sinh(0.01)),
        ("sum", {"noise": "gaussian", "delta": 1e-6}, None),
    ],
)
def test_what_releases_state(query, options, rho):
    """Drawn answers an eighth of epsilon squared, the width of an interval its own, noise what its law has."""
    release = getattr(dt, query)(range(100), bounds=(0, 100), step=1, epsilon=1.0, **options)
    own = release.loss.concentrated
    assert own.delta == 0
    if rho is None:
        # Noise of the least scale for (1, 1e-6): its rho gives more delta by the conversion, and less epsilon by none.
        assert 0.01 < own.rho < 0.04
        assert zcdp_delta(own.rho, 1.0) > 1e-6 > zcdp_delta(own.rho * Fraction(4, 5), 1.0)
    else:
        assert float(own.rho) == pytest.approx(rho, rel=1e-6)


# --- enumeration: all small datasets ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subject", "name"),
    [("median", "inverse"), ("minimum", "inverse"), ("filtered median", "inverse"), ("median", "ladder")],
)
def test_drawn_answers_have_bounded_range_on_all_small_datasets(subject, name):
    """The longest range is what is stated, no more and no less, so that a rate 20% wrong either way is found."""
    universe = next(one for one in audited_queries() if one.name == subject).universe(True)
    prepared = prepare_case(universe, MECHANISMS[name](), "")
    assert stated_law(prepared, universe).holds
    facts, stated = published(prepared), math.sqrt(8 * float(prepared.loss.concentrated.rho))
    laws = {id(data): chances(prepared, facts, data) for pair in universe.different_pairs for data in pair}
    longest = max(log_range(laws[id(here)], laws[id(there)]) for here, there in universe.different_pairs)
    assert longest == pytest.approx(stated, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_quantiles_by_levels_show_at_most_their_rho(epsilon):
    """Three quantiles of four records, level by level; the exact law over all pairs, and what a wrong rate shows."""
    universe = column_universe(Quantiles(q=(0.25, 0.5, 0.75), bounds=(0, 3), step=1), range(4), 4)
    statistic, plan = universe.statistic, levels(universe.statistic.shares)
    rate = Fraction(str(epsilon)) / 6
    draws = SeveralDraws(statistic, Loss(epsilon, stated=concentrated_levels(rate, plan)), rate, "levels", None)
    assert concentrated_levels(rate, plan).rho == pytest.approx(float(rate**2), rel=1e-9)
    facts = published(draws)
    laws = {id(data): chances(draws, facts, data) for pair in universe.different_pairs for data in pair}
    largest = max(renyi_rho(laws[id(here)], laws[id(there)]) for here, there in universe.different_pairs)
    assert 0.2 * float(rate**2) < largest <= float(rate**2)


@pytest.mark.parametrize("share", [1 / 2, 1 / 3, 3 / 4])
def test_a_node_of_a_level_has_the_range_that_its_rho_stands_for(share):
    """Over all records of one node: 2 rate where one is replaced, 2 rate max(q, 1 - q) where one comes or goes.

    Both are attained, so that a rate 1% wrong is found.
    """
    rate, places = 0.5, range(1, 8)
    nodes = [held for count in range(5) for held in combinations(places, count)]
    laws = {held: node_law(held, 0, 8, share, rate) for held in nodes}
    pairs = [(held, tuple(x for x in held if x != gone)) for held in nodes for gone in held]
    gone = max(log_range(laws[held], laws[rest]) for held, rest in pairs)
    replaced = max(
        log_range(laws[held], laws[tuple(sorted((*rest, new)))])
        for held, rest in pairs
        for new in places
        if new not in held
    )
    assert replaced == pytest.approx(2 * rate, rel=1e-6)
    assert gone == pytest.approx(2 * rate * max(share, 1 - share), rel=1e-6)


# --- the filter ------------------------------------------------------------------------------------------


def game(state, strategy, bar, depth, path=(), here=1.0, there=1.0):
    """Exact hockey-stick divergence of a game in draws of bounded range: epsilon and place chosen by what was seen."""
    if not depth:
        return max(here - bar * there, 0.0)
    epsilon, place = strategy(path)
    try:
        state = spend(state, Loss.bounded_range(epsilon))
    except dt.BudgetExceeded:
        return max(here - bar * there, 0.0)
    pair = bounded_pair(epsilon, place)
    return math.fsum(
        game(state, strategy, bar, depth - 1, (*path, seen), here * p, there * q)
        for seen, (p, q) in enumerate(zip(*pair, strict=True))
    )


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.floats(0.2, 3.0),
    st.floats(0.01, 0.3),
    st.lists(st.tuples(st.sampled_from([0.1, 0.5, 1.0, 1.5]), st.floats(0.05, 0.95)), min_size=4, max_size=16),
)
def test_an_adaptive_adversary_gains_no_more_than_the_budget_from_draws(epsilon, delta, menu):
    """Over the whole game tree, ranges placed by what was seen: bounded range itself is not closed under this."""

    def strategy(path):
        return menu[(sum(2**i for i, seen in enumerate(path) if seen) + 3 * len(path)) % len(menu)]

    state = open_filter(Budget(epsilon, delta), filter="zcdp")
    assert game(state, strategy, math.exp(epsilon), 9) <= delta * (1 + 1e-9) + 1e-12


def test_an_adversary_beats_a_filter_that_counts_a_fifth_of_rho(monkeypatch):
    """Power of the game above."""
    whole = filters.concentrated_charge
    monkeypatch.setattr(filters, "concentrated_charge", lambda loss: (whole(loss)[0] // 5, whole(loss)[1]))
    state = open_filter(Budget(1.0, 0.01), filter="zcdp", slack=0.01)
    assert game(state, lambda path: (0.7, 0.5), math.exp(1.0), 12) > 0.01


def test_the_number_of_adaptive_answers_within_a_budget():
    """Of epsilon 0.01 within (1, 1e-6): 1,948 drawn ones and 487 of any pure kind; 1,942 and 485 by the usual split."""
    budget, drawn, plain = Budget(1.0, 1e-6), Loss.bounded_range(0.01), Loss(0.01)
    assert [dt.queries_within(one, budget, filter="zcdp", slack=1e-6) for one in (drawn, plain)] == [1948, 487]
    assert [dt.queries_within(one, budget, filter="zcdp") for one in (drawn, plain)] == [1942, 485]
    assert dt.queries_within(drawn, budget, filter="fixed") == 1948
    assert dt.queries_within(plain, budget, filter="fixed") == 562


@settings(deadline=None)
@given(st.integers(1, 10**10), st.integers(1, 10**18 // 2))
def test_the_greatest_rho_gives_the_budget(epsilon, slack):
    """What the filter admits converts to at most d' at the budget's epsilon, and hardly more would.

    Above a half the best orders are closer to 1 than those that ``zcdp_delta`` tries.
    """
    most = filters.most_rho(epsilon, slack)
    rho, e, d = Fraction(most, 10**18), Fraction(epsilon, 10**9), Fraction(slack, 10**18)
    if most and d < 1:
        assert zcdp_delta(rho, e) <= float(d) * (1 + 1e-12)
    more = greatest_rho(e, d) * Fraction(1001, 1000) + Fraction(1, 10**12)
    if more < 10:
        with contextlib.suppress(dt.InvalidArgument):  # no delta below 1
            assert zcdp_delta(more, e) > float(d) * (1 - 1e-9)


def test_deltas_of_releases_come_out_of_what_is_kept_for_them():
    """Gaussian noise has none beside its rho; what fails with a probability is refused once its part is spent."""
    state = open_filter(Budget(1.0, 1e-6), filter="zcdp", slack=9e-7)
    noisy = Loss(0.01, 1e-8, stated=Concentrated(Fraction(1, 10**5)))
    assert times(state, Loss(0.01, 1e-8)) == 10
    assert times(state, noisy) > 2000
    for _ in range(10):
        state = spend(state, Loss(0.001, 1e-8))
    with pytest.raises(dt.BudgetExceeded):
        spend(state, Loss(0.001, 1e-12))
    assert spend(state, Loss(0.001)).spent_delta == 10 * 10**10


def test_compose_uses_what_releases_state():
    """Drawn answers cost less together than noisy ones; Gaussian answers compose beyond the sum of their deltas."""
    draws = [dt.median(range(50), bounds=(0, 50), epsilon=0.05, confidence=None) for _ in range(100)]
    together = dt.compose(draws, delta=1e-6).epsilon
    assert together < 0.6 * dt.compose([Loss(0.05)] * 100, delta=1e-6).epsilon
    assert together == dt.compose(draws, delta=1e-6, method="zcdp").epsilon
    assert dt.compose(draws).epsilon == pytest.approx(5.0)
    assert dt.compose(iter(draws), delta=1e-6).epsilon == together
    noisy = [Loss(0.5, 1e-7, stated=Concentrated(Fraction(1, 1000)))] * 20
    assert dt.compose(noisy, delta=1e-6).epsilon < 1.0
    with pytest.raises(dt.InvalidArgument, match="delta"):
        dt.compose([Loss(0.5, 1e-7)] * 20, delta=1e-6)


def test_divergences_agree_with_their_definition():
    """The audit's Renyi divergences against sums written out."""
    here, there = {0: 0.5, 1: 0.3, 2: 0.2}, {0: 0.4, 1: 0.4, 2: 0.2}
    lists = list(here.values()), list(there.values())
    assert renyi_rho(here, there) == pytest.approx(
        max(divergence_over_order(*lists, order) for order in (1 + 1e-7, 1.25, 1.5, 2, 3, 5, 9, 17, 33, 65)), rel=1e-5
    )
    assert log_range(here, there) == pytest.approx(math.log(0.5 / 0.4) - math.log(0.3 / 0.4))
