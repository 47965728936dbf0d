"""The standard deviation: the root of a private variance, with the same interval and the same loss."""

import math

import numpy as np
import pytest

import dither as dt

AGES = np.arange(1_000) % 90.0
BOUNDS = (0, 100)


@pytest.mark.parametrize("ddof", [0, 1])
def test_the_true_value_is_the_root_of_the_variance(ddof):
    """As numpy computes it, on the grid of the records."""
    query = dt.Std(bounds=BOUNDS, ddof=ddof)
    assert dt.inspect.value(query, AGES) == pytest.approx(AGES.std(ddof=ddof), rel=1e-9)
    assert dt.inspect.value(query, AGES) == math.sqrt(dt.inspect.value(dt.Variance(bounds=BOUNDS, ddof=ddof), AGES))
    with pytest.raises(dt.InvalidArgument, match="inspect that one"):
        dt.inspect.ladder(query, AGES)


def test_it_costs_what_a_variance_costs_and_covers():
    """Post-processing: the loss is the same, ends are roots of ends, answers are never negative."""
    release = dt.std(AGES, bounds=BOUNDS, epsilon=2.0)
    assert release.loss == dt.variance(AGES, bounds=BOUNDS, epsilon=2.0).loss == dt.Loss(2.0)
    low, high = release.interval
    assert 0 <= low <= release.value <= high
    assert release.query == "standard deviation"
    few = [dt.std([50.0, 50.0], bounds=BOUNDS, epsilon=0.01) for _ in range(20)]
    assert all(one.value >= 0 and one.interval[0] >= 0 for one in few)


def test_intervals_cover_as_often_as_they_say(trials):
    """Bernstein's inequality: 200 intervals of 95% miss 40 times with probability below 1e-9."""
    truth, runs = AGES.std(), trials(200, 2_000)
    missed = 0
    for _ in range(runs):
        low, high = dt.std(AGES, bounds=BOUNDS, epsilon=0.5).interval
        missed += not low <= truth <= high
    assert missed <= runs // 5


@pytest.mark.slow
def test_where_the_number_of_records_is_private_it_is_answered():
    """As the variance is: the root of a larger noise."""
    session = dt.open({"age": AGES}, columns={"age": dt.Real(0, 100)}, budget=dt.Budget(1_000.0))
    release = session.ask(dt.Std("age"), epsilon=500.0)
    assert release.value == pytest.approx(AGES.std(), abs=1)
    assert release.interval[0] <= AGES.std() <= release.interval[1]


@pytest.mark.parametrize("prior", [None, dt.Normal(mean=45, sd=26)])
def test_quotes_follow_from_the_variance(prior):
    """Roots of the variance's errors, which hold for all data; a prior does not change that."""
    schema = dt.Schema("x.csv", {"age": dt.Real(0, 100)}, rows=len(AGES))
    quote = dt.quote(dt.Std("age"), schema, epsilon=0.5, prior=prior)
    below = dt.quote(dt.Variance("age"), schema, epsilon=0.5)
    assert quote.kind == "upper bound"
    assert quote.expected_error == math.sqrt(below.expected_error)
    assert quote.bound == math.sqrt(below.bound)
    assert quote.loss == below.loss
    least = dt.least_epsilon(dt.Std("age"), schema, target_error=quote.expected_error)
    assert least.loss.epsilon == pytest.approx(0.5, rel=0.03)


def test_quoted_errors_hold_where_they_are_largest(trials):
    """All records alike: the answer is the root of the noise alone, or 0.

    The bound is exceeded in 2.5% of the cases, half of it in 24%.  More than 12% of 500, or
    12% and less, have a binomial probability below 1e-10.
    """
    schema = dt.Schema("x.csv", {"age": dt.Real(0, 100)}, rows=1_000)
    quote = dt.quote(dt.Std("age", nulls="lower"), schema, epsilon=0.5, confidence=None)
    runs, asked = trials(500, 4_000), {"bounds": BOUNDS, "nulls": "lower", "epsilon": 0.5, "confidence": None}
    errors = [dt.std([0.0] * 1_000, **asked).value for _ in range(runs)]
    beyond = sum(error > quote.bound for error in errors)
    assert beyond <= 0.12 * runs
    assert sum(error > 0.5 * quote.bound for error in errors) > 0.12 * runs  # (half the bound fails)
    assert np.mean(errors) <= quote.expected_error


def test_squares_beyond_all_floats_are_the_largest_float():
    """Not an error after the charge, which would depend on the records."""
    far = [-1.5e154, 1.5e154] * 500
    for release in (
        dt.variance(far, bounds=(-1.5e154, 1.5e154), epsilon=5.0),
        dt.std(far, bounds=(-1.5e154, 1.5e154), epsilon=5.0),
    ):
        assert math.isfinite(release.value)
        assert release.value > 1e150
