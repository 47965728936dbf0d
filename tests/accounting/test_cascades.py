"""Prices of arrangements: the paper's theorems, hand-worked cases, and exact divergences of small cascades."""

import math
from fractions import Fraction

import pytest

from dither.accounting.cascades import (
    FREE,
    CascadeComposition,
    Concurrent,
    Sequential,
    Step,
    Tested,
    even_cascade,
    paper_location,
    paper_robust,
    paper_scale,
    paper_shortcut,
    printed_robust,
)
from dither.errors import InvalidArgument
from dither.mechanisms.margin_test import MarginTest
from dither.privacy import Loss
from dither_lab.audit.laws_and_losses import cascade_delta

E, D = Fraction(1, 10), Fraction(1, 10**6)


@pytest.mark.parametrize("lengths", [(1,), (2,), (2, 2), (1, 3, 2), (4, 4, 4, 4)])
def test_levels_of_cascades_cost_what_theorem_17_says(lengths):
    """(K + sum J_k) epsilon and (sum J_k) delta."""
    whole = Sequential(tuple(even_cascade(length, Step(E, D), Step(E)) for length in lengths))
    assert whole.epsilon == (len(lengths) + sum(lengths)) * E
    assert whole.delta == sum(lengths) * D


def test_the_papers_algorithms_cost_what_it_says():
    """S (3, 2), M (6, 4), short-cut regression (6p, 4p): Theorems 4 and 5, Example 21."""
    assert (paper_scale(E, D).epsilon, paper_scale(E, D).delta) == (3 * E, 2 * D)
    assert (paper_location(E, D).epsilon, paper_location(E, D).delta) == (6 * E, 4 * D)
    for p in (1, 2, 5):
        assert (paper_shortcut(p, E, D).epsilon, paper_shortcut(p, E, D).delta) == (6 * p * E, 4 * p * D)


@pytest.mark.parametrize(("p", "printed", "right"), [(1, 6, 8), (2, 11, 16), (3, 18, 28)])
def test_the_papers_robust_regression_costs_more_than_it_says(p, printed, right):
    """Theorem 6 prints 2^p + 3p + 1; tests of sensitivity 2 and p noises make it 2^{p+1} + 4p.  delta is the same."""
    assert printed_robust(p, E, D).epsilon == printed * E == (2**p + 3 * p + 1) * E
    assert paper_robust(p, E, D).epsilon == right * E == (2 ** (p + 1) + 4 * p) * E
    assert paper_robust(p, E, D).delta == (2 * p + 2**p) * D


def test_a_test_of_sensitivity_two_is_seen_to_cost_twice_epsilon():
    """A statistic that one change moves by 2: pass probabilities differ by e^{2 epsilon}, not by e^epsilon."""
    test = MarginTest(E, D)
    assert test.chance(7) / test.chance(5) == pytest.approx(math.exp(2 * float(E)))


def test_a_cascade_worked_by_hand():
    """Tests of 0.1 and 0.2, releases of 0.5 and 0.3: max(0.1 + 0.5, 0.1 + 0.2 + 0.3); deltas of tests add up."""
    first = Tested(Step(Fraction(1, 10), D), Step(Fraction(1, 2), 5 * D))
    second = Tested(Step(Fraction(1, 5), 2 * D), Step(Fraction(3, 10), 7 * D))
    cascade = CascadeComposition((first, second))
    assert (cascade.epsilon, cascade.delta) == (Fraction(3, 5), 10 * D)
    assert cascade.loss == Loss(0.6, 1e-5)
    assert CascadeComposition((second, first)).epsilon == Fraction(4, 5)


def test_nested_and_parallel_arrangements_worked_by_hand():
    """Two parallel branches (a cascade; two levels) followed by a tested free answer (Theorem 22)."""
    branch = Sequential((even_cascade(2, Step(E, D), FREE), Step(3 * E)))
    whole = Sequential((Concurrent((even_cascade(2, Step(E, D), Step(E)), branch)), Tested(Step(E, D))))
    assert (whole.epsilon, whole.delta) == ((3 + 5 + 1) * E, (2 + 2 + 1) * D)
    inside = CascadeComposition((Tested(Step(E, D), whole), Tested(Step(E, D), FREE)))
    assert (inside.epsilon, inside.delta) == (10 * E, 7 * D)


def test_fitting_is_exact():
    """A price fits into itself and into nothing smaller."""
    cascade = even_cascade(2, Step(E, D), Step(E))
    assert cascade.fits(Loss(0.3, 2e-6))
    assert not cascade.fits(Loss(0.3, 1.9999999e-6))
    assert not cascade.fits(Loss(0.29999999, 2e-6))


def test_bad_parts_are_refused():
    """Negative prices, probabilities above one, cascades of nothing."""
    with pytest.raises(InvalidArgument, match="epsilon"):
        Step(Fraction(-1))
    with pytest.raises(InvalidArgument, match="delta"):
        Step(E, Fraction(2))
    with pytest.raises(InvalidArgument, match="alternatives"):
        CascadeComposition(())


@pytest.mark.parametrize("releases", [(0.6, 0.4), (0.2, 0.7), (0.4, 0.4)])
def test_a_cascade_stays_within_its_price_on_all_neighbouring_margins(releases):
    """The exact divergence over all pairs of margins of two alternatives, at the computed price and 20% below it."""
    tests = (MarginTest(Fraction(1, 2), Fraction(1, 5000)), MarginTest(Fraction(1, 3), Fraction(1, 4000)))
    parts = [
        Tested(Step(test.epsilon, test.delta), Step(Fraction(e).limit_denominator(100)))
        for test, e in zip(tests, releases, strict=True)
    ]
    price = CascadeComposition(tuple(parts))
    assert cascade_delta(tests, releases, float(price.epsilon)) <= float(price.delta) * (1 + 1e-9)
    assert cascade_delta(tests, releases, float(price.epsilon) * 0.8) > 2 * float(price.delta)
    # The deltas of both tests are needed.
    assert cascade_delta(tests, releases, float(price.epsilon)) > float(max(test.delta for test in tests)) * 1.3
