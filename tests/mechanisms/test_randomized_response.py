"""Randomised response: every report private by itself, every estimate unbiased, every bar honest."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dither.errors import InvalidArgument, InvalidData
from dither.mechanisms.randomized_response import (
    change_chance,
    counts_covered,
    randomized_response,
    reports_at_most,
    respond,
    unbiased,
)
from dither.noise.bernoulli import leading_word
from dither.numbers import ball, precision

CASES = [(2, Fraction(1, 10)), (2, Fraction(1)), (3, Fraction(1)), (5, Fraction(3, 2)), (4, Fraction(6))]
FALSE_ALARM = 1e-9


def report_law(truth, categories, epsilon):
    """The law of one report, from the chance that the sampler uses."""
    with precision(128):
        changed = float(ball(change_chance(categories, epsilon)))
    return [1 - changed if report == truth else changed / (categories - 1) for report in range(categories)]


def worst_loss(categories, used, records=2):
    """The largest log-ratio over all datasets of two records, all neighbours and all pairs of reports."""
    worst = 0.0
    for x in product(range(categories), repeat=records):
        for i, value in product(range(records), range(categories)):
            y = (*x[:i], value, *x[i + 1 :])
            for reports in product(range(categories), repeat=records):
                here, there = (
                    math.prod(report_law(truth, categories, used)[r] for truth, r in zip(data, reports, strict=True))
                    for data in (x, y)
                )
                worst = max(worst, abs(math.log(here / there)))
    return worst


@pytest.mark.parametrize(("categories", "epsilon"), CASES[:3])
def test_all_reports_together_cost_exactly_epsilon(categories, epsilon):
    """On every pair of neighbours the log-ratio is at most epsilon, and some pair attains it."""
    assert worst_loss(categories, epsilon) == pytest.approx(float(epsilon), rel=1e-9)


@pytest.mark.parametrize(("categories", "epsilon"), CASES[:3])
def test_a_sharper_response_is_caught(categories, epsilon):
    """The same enumeration finds a response that is 30% too truthful."""
    assert worst_loss(categories, epsilon * Fraction(13, 10)) > 1.2 * float(epsilon)


@pytest.mark.parametrize(("categories", "epsilon"), CASES)
def test_the_sampler_follows_that_law(categories, epsilon):
    """Words below the chance move a record to each other category equally often; words above leave it."""
    cut = leading_word(change_chance(categories, epsilon))
    truth = np.array([1], dtype=np.int64)
    for stay in (cut + 1, 2**64 - 1):
        assert respond(truth, categories, epsilon, source=lambda n, w=stay: np.uint64(w).tobytes()).tolist() == [1]
    reached = []
    for other in range(categories - 1):
        words = [cut - 1, other]
        reached += respond(truth, categories, epsilon, source=lambda n, w=words: np.uint64(w.pop(0)).tobytes()).tolist()
    assert sorted(reached) == [c for c in range(categories) if c != 1]


@pytest.mark.parametrize("growth", [Fraction(7, 2), Fraction(101, 100)])
@pytest.mark.parametrize("categories", [2, 3])
def test_estimates_are_exactly_unbiased(categories, growth):
    """In rationals the mean estimate over all reports is the true count, for every dataset of three records."""
    keep, stray = growth / (growth + categories - 1), 1 / (growth + categories - 1)
    for x in product(range(categories), repeat=3):
        for asked in range(categories):
            mean = Fraction(0)
            for reports in product(range(categories), repeat=3):
                chance = math.prod(keep if r == truth else stray for r, truth in zip(reports, x, strict=True))
                mean += chance * unbiased(Fraction(reports.count(asked)), 3, categories, growth - 1)
            assert mean == x.count(asked)


@pytest.mark.parametrize(("records", "keep", "stray"), [(1, 0.8, 0.2), (9, 0.7, 0.1), (25, 0.6, 0.4), (40, 0.95, 0.01)])
@pytest.mark.parametrize("missed", [0.05, 0.3])
def test_intervals_cover_for_every_true_count(records, keep, stray, missed):
    """Exact probabilities: each true count is covered at least as often as stated, and good data give short bars."""
    bars = [counts_covered(count, records, keep, stray, missed) for count in range(records + 1)]
    masses = {m: np.convolve(binomial(m, keep), binomial(records - m, stray)) for m in range(records + 1)}
    for m in range(records + 1):
        covered = sum(mass for count, mass in enumerate(masses[m]) if bars[count][0] <= m <= bars[count][1])
        assert covered >= 1 - missed
    if keep > 0.9:
        assert bars[20][1] - bars[20][0] < 10


def binomial(trials, chance):
    """All masses of a binomial law."""
    return [math.comb(trials, j) * chance**j * (1 - chance) ** (trials - j) for j in range(trials + 1)]


def test_the_distribution_of_reports_agrees_with_plain_convolution():
    """The windowed sum of two binomials is the whole one."""
    whole = np.cumsum(np.convolve(binomial(30, 0.7), binomial(50, 0.2)))
    assert [reports_at_most(c, 30, 80, 0.7, 0.2) for c in range(81)] == pytest.approx(whole.tolist(), abs=1e-12)


@pytest.mark.parametrize(("used", "passes"), [(1.0, True), (1.3, False)])
def test_the_public_function_keeps_as_often_as_it_says(used, passes):
    """Hoeffding's bound at a false-alarm rate of 1e-9; the twin that is 30% too truthful fails it."""
    n = 40_000
    truth = [0, 1] * (n // 2)
    kept = sum(a == b for a, b in zip(randomized_response(truth, epsilon=used).reports, truth, strict=True)) / n
    stated = math.exp(1) / (math.exp(1) + 1)
    assert (abs(kept - stated) < math.sqrt(math.log(2 / FALSE_ALARM) / (2 * n))) is passes


@pytest.mark.parametrize("epsilon", [1e-9, 1e5, 1e200])
def test_extreme_prices_are_served(epsilon):
    """Almost no information and all of it: finite numbers, and bars that cover.

    A bar that knows nothing ends beyond the range one time in twenty; thirty times of fifty is less likely than 1e-20.
    """
    answers = [randomized_response([1] * 30 + [0] * 70, epsilon=epsilon) for _ in range(50)]
    assert all(math.isfinite(answer.estimate) for answer in answers)
    covering = [answer.interval == ((30, 30) if epsilon > 1 else (0, 100)) for answer in answers]
    assert all(covering) if epsilon > 1 else sum(covering) > 20


def test_categories_keep_their_names_and_others_are_declared():
    """Reports are declared values; a record outside them counts as the public one that was named."""
    answer = randomized_response(["red", "green", None], categories=["red", "green"], other="green", epsilon=50)
    assert answer.reports == ("red", "green", "green")
    assert answer.estimate == pytest.approx({"red": 1.0, "green": 2.0})
    assert answer.interval == {"red": (1, 1), "green": (2, 2)}
    assert randomized_response([1, 0, 1], epsilon=5000.0).estimate == pytest.approx(2.0)
    assert randomized_response([True, False], epsilon=1, confidence=None).interval is None


@pytest.mark.parametrize(
    ("data", "options", "named"),
    [
        ([0, 1], {"epsilon": 0}, "^epsilon must "),
        ([0, 1], {"epsilon": -1}, "^epsilon must "),
        ([0, 1], {"epsilon": 1, "confidence": 1}, "^confidence must "),
        ([], {"epsilon": 1}, "^data must "),
        ("abc", {"epsilon": 1, "categories": ["a", "b"]}, "^data must "),
        (["a"], {"epsilon": 1, "categories": ["a"]}, "^categories must "),
        (["a"], {"epsilon": 1, "categories": ["a", "a"]}, "^categories must "),
        (["a"], {"epsilon": 1, "categories": [math.nan, 1.0]}, "^categories must "),
        (["a"], {"epsilon": 1, "categories": 7}, "^categories must "),
        (["a"], {"epsilon": 1, "categories": ["a", "b"], "other": "c"}, "^other must "),
    ],
)
def test_bad_arguments_are_named(data, options, named):
    """The message names the argument and says that nothing was charged."""
    with pytest.raises(InvalidArgument, match=named) as found:
        randomized_response(data, **options)
    assert "nothing was charged" in str(found.value)


@pytest.mark.parametrize(
    ("data", "categories"),
    [
        (np.ma.masked_array([0, 1], [False, True]), None),
        (np.ma.masked_array([0, 1], [False, True]), [0, 1]),
        ([0, 1, 77], None),
        ([0.0, math.nan], None),
        (["a", "secret"], ["a", "b"]),
    ],
)
def test_records_outside_the_domain_are_not_shown(data, categories):
    """An undeclared record is an error that does not quote it."""
    with pytest.raises(InvalidData) as found:
        randomized_response(data, epsilon=1, categories=categories)
    assert "77" not in str(found.value)
    assert "secret" not in str(found.value)
