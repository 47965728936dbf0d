"""Losses add up, split, grow with groups and convert without ever being understated."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import InvalidArgument
from dither.numbers import exact
from dither.privacy import Budget, Loss, Neighbours, fraction_of_unit

epsilons = st.one_of(
    st.floats(1e-6, 20.0), st.integers(1, 999).map(lambda k: k / 100), st.integers(1, 99999).map(lambda k: k / 1000)
)
deltas = st.one_of(st.just(0.0), st.floats(1e-15, 1e-3), st.sampled_from([1e-6, 3e-9, 0.001]))
losses = st.builds(Loss, epsilons, deltas)
parts = st.fractions(0, 1, max_denominator=1000)


def grown_delta(loss, people):
    """delta (1 + e^eps + ... + e^{(k-1) eps}) to sixty digits, term by term."""
    with localcontext() as context:
        context.prec = 60
        epsilon = Decimal(repr(loss.epsilon))
        return Fraction(Decimal(repr(loss.delta)) * sum((epsilon * i).exp() for i in range(people)))


@given(losses, losses)
def test_sums_are_rounded_up_and_hardly(one, other):
    """The sum that a Loss states is at least the exact sum and at most a part in 2^51 more."""
    total = one + other
    for stated, true in (
        (total.exact_epsilon, one.exact_epsilon + other.exact_epsilon),
        (total.exact_delta, one.exact_delta + other.exact_delta),
    ):
        assert true <= stated <= true * (1 + Fraction(1, 2**51))


def test_sums_of_decimals_are_decimals():
    """Ten times 0.1 is 1 and not a float above it."""
    total = Loss(0.0)
    for _ in range(10):
        total += Loss(0.1, 1e-7)
    assert total == Loss(1.0, 1e-6)


@given(losses, st.lists(st.integers(1, 50), min_size=1, max_size=8))
def test_shares_never_exceed_the_whole(loss, weights):
    """However a loss is split, exactly added shares are at most the whole, and nearly all of it."""
    shares = [loss.share(Fraction(weight, sum(weights))) for weight in weights]
    for whole, taken in (
        (loss.exact_epsilon, [share.exact_epsilon for share in shares]),
        (loss.exact_delta, [share.exact_delta for share in shares]),
    ):
        assert whole * (1 - Fraction(1, 2**50)) <= sum(taken) <= whole


@given(losses, parts)
def test_two_shares_fit_into_the_budget_they_came_from(loss, part):
    """Sums are rounded up, yet never past the float that the shares were taken from."""
    assert Budget(loss.epsilon, loss.delta).covers(loss.share(part) + loss.share(1 - part))


@pytest.mark.parametrize("delta", [5e-324, 1e-323, 2.5e-323, 2.3e-308])
@pytest.mark.parametrize("part", [Fraction(1, 7), Fraction(2, 5), Fraction(4, 5), Fraction(99, 100)])
def test_shares_of_the_least_floats_stay_in_range(delta, part):
    """Rounding down stops at zero."""
    share = Loss(1.0, delta).share(part)
    assert 0 <= share.exact_delta <= exact(delta) * part


@given(losses, st.integers(1, 12))
def test_a_group_loses_at_least_the_formula(loss, people):
    """(k eps, delta (1 + e^eps + ...)) rounded up by at most a part in 2^50, unless nothing is left to promise."""
    group = loss.for_group(people)
    assert loss.exact_epsilon * people <= group.exact_epsilon <= loss.exact_epsilon * people * (1 + Fraction(1, 2**51))
    delta = grown_delta(loss, people)
    if delta < Fraction(99, 100):
        assert delta * (1 - Fraction(1, 10**50)) <= group.exact_delta <= delta * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize("people", [1, 2, 3, 7])
def test_without_epsilon_only_delta_grows(people):
    """The quotient is k at eps = 0, where its formula divides by zero."""
    group = Loss(0.0, 1e-6).for_group(people)
    assert group.epsilon == 0.0
    assert people * Fraction(1, 10**6) <= group.exact_delta <= people * Fraction(1, 10**6) * (1 + Fraction(1, 2**50))


def hockey_stick(p, q, factor):
    """The least delta with p(A) <= factor q(A) + delta for all events A."""
    return sum(max(a - factor * b, 0) for a, b in zip(p, q, strict=True))


@given(
    st.lists(st.lists(st.integers(0, 20), min_size=4, max_size=4), min_size=3, max_size=5),
    st.sampled_from([0.05, 0.3, 1.0, 2.0]),
)
def test_group_privacy_covers_every_chain_of_distributions(rows, epsilon):
    """For a chain of output laws whose steps are (eps, delta)-close, the ends are as close as for_group says."""
    chain = [[Fraction(a + 1, sum(row) + len(row)) for a in row] for row in rows]
    factor = Fraction(math.exp(epsilon))
    steps = [hockey_stick(p, q, factor) for one, two in pairwise(chain) for p, q in ((one, two), (two, one))]
    step = float(max(steps)) * (1 + 1e-12) + 1e-15
    people = len(chain) - 1
    group = Loss(epsilon, min(step, 0.99)).for_group(people)
    if group.delta < 0.99:
        growth = Fraction(math.exp(epsilon * people)) * (1 + Fraction(1, 10**12))
        assert hockey_stick(chain[0], chain[-1], growth) <= group.exact_delta
        assert hockey_stick(chain[-1], chain[0], growth) <= group.exact_delta


@pytest.mark.parametrize("people", [2, 3, 6])
@pytest.mark.parametrize("epsilon", [0.1, 0.7])
def test_no_smaller_delta_would_do(people, epsilon):
    """On the chain a_i = e^eps a_{i+1} + delta every step is (eps, delta)-close and the formula is attained."""
    loss = Loss(epsilon, 1e-6)
    factor = math.exp(epsilon)
    chance = [0.0]
    for _ in range(people):
        chance.insert(0, factor * chance[0] + loss.delta)
    laws = [[Fraction(a), 1 - Fraction(a)] for a in chance]
    for one, two in pairwise(laws):
        for p, q in ((one, two), (two, one)):
            assert hockey_stick(p, q, Fraction(factor)) <= loss.exact_delta * (1 + Fraction(1, 10**9))
    attained = hockey_stick(laws[0], laws[-1], Fraction(math.exp(epsilon * people)))
    assert attained >= loss.for_group(people).exact_delta * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize("people", [0, -1, 1.5, True, "2", None])
def test_a_group_is_a_positive_whole_number(people):
    """Anything else is refused."""
    with pytest.raises(InvalidArgument, match=r"^people must "):
        Loss(1.0).for_group(people)


@given(losses)
def test_replacing_is_removing_and_adding(loss):
    """add-remove (eps, delta) gives change-one (2 eps, (1 + e^eps) delta), and nothing smaller."""
    converted = loss.converted(Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE)
    assert converted == loss.for_group(2) == loss.converted(Neighbours.ADD_REMOVE, Neighbours.ADD_REMOVE_CHANGE)
    if converted.delta < 0.99:
        assert converted.exact_delta >= grown_delta(loss, 2) * (1 - Fraction(1, 10**50))


FREE = {(relation, relation) for relation in Neighbours} | {
    (Neighbours.ADD_REMOVE_CHANGE, Neighbours.ADD_REMOVE),
    (Neighbours.ADD_REMOVE_CHANGE, Neighbours.CHANGE_ONE),
}
DOUBLED = {
    (Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE),
    (Neighbours.ADD_REMOVE, Neighbours.ADD_REMOVE_CHANGE),
}


@pytest.mark.parametrize("held", Neighbours)
@pytest.mark.parametrize("wanted", Neighbours)
def test_conversions_exist_only_where_one_relation_implies_the_other(held, wanted):
    """Every pair of relations is free, doubled or refused; change-one says nothing about add-remove."""
    loss = Loss(0.5, 1e-6)
    if (held, wanted) in FREE:
        assert loss.converted(held, wanted) == loss
    elif (held, wanted) in DOUBLED:
        assert loss.converted(held, wanted) == loss.for_group(2)
    else:
        with pytest.raises(InvalidArgument, match=str(held)):
            loss.converted(held, wanted)


@pytest.mark.parametrize(("epsilon", "delta"), [(-0.1, 0), (math.nan, 0), (math.inf, 0), (1, -1e-9), (1, 2)])
def test_impossible_losses_are_refused(epsilon, delta):
    """Negative and infinite losses are no losses; certainty (delta = 1) can be a loss but not a price."""
    with pytest.raises(InvalidArgument):
        Loss(epsilon, delta)
    with pytest.raises(InvalidArgument):
        Budget(epsilon, delta)


def test_a_price_must_be_positive_but_a_sum_may_start_at_zero():
    """Loss(0) is the empty sum; a release for nothing is refused."""
    assert (Loss(0.0) + Loss(0.1)) == Loss(0.1)
    with pytest.raises(InvalidArgument, match=r"epsilon must be .*; got 0"):
        Loss.asked(0)
    with pytest.raises(InvalidArgument, match=r"epsilon must be .*; got 0"):
        Budget(0)


@given(losses)
def test_a_budget_covers_itself_and_nothing_above(loss):
    """The comparison is exact: one float more does not fit."""
    budget = Budget(loss.epsilon, loss.delta)
    assert budget.covers(loss)
    assert not budget.covers(Loss(math.nextafter(loss.epsilon, math.inf), loss.delta))
    assert not budget.covers(Loss(loss.epsilon, math.nextafter(loss.delta, 1.0)))


@pytest.mark.parametrize("value", [0, 1, -0.1, 1.1, math.nan])
def test_open_unit_fractions_exclude_their_ends(value):
    """fraction_of_unit is strict unless told otherwise."""
    with pytest.raises(InvalidArgument):
        fraction_of_unit("share", value)
    if value in (0, 1):
        assert fraction_of_unit("share", value, closed=True) == value


def test_a_price_has_a_delta_below_one():
    """What users ask for and what owners budget lies in [0, 1)."""
    with pytest.raises(InvalidArgument, match="delta"):
        Loss.asked(1.0, 1)
    with pytest.raises(InvalidArgument, match="delta"):
        Budget(1.0, 1)


def test_a_delta_of_one_or_more_is_not_stated_as_less():
    """Two steps of (0, 1/2) may reveal everything; the group must not be promised a delta below 1."""
    assert Loss(0.0, 0.5).for_group(2).exact_delta >= 1


def test_rationals_are_rounded_to_the_safe_side():
    """A loss of 1/k is not understated and a budget of 1/k is not overstated."""
    for parts in range(3, 40):
        assert Loss(Fraction(1, parts)).exact_epsilon >= Fraction(1, parts)
        assert exact(Budget(Fraction(1, parts)).epsilon) <= Fraction(1, parts)
