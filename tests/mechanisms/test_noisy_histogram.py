"""Sums over one noisy histogram: noise for two bins, intervals of sums, large domains."""

import math

import pytest

import dither as dt
from dither.errors import NotApplicable
from dither.mechanisms.noise_intervals import laplace_sum_half_width
from dither.mechanisms.noisy_histogram import MOST_POINTS

EDGES = [0, 1, 2, 3, 4, 5, 6]


def asked(**options):
    """Thresholds of a small column."""
    data = [0] * 50 + [1] * 30 + [2] * 20
    return dt.counting_queries(
        data, family="thresholds", edges=EDGES, nulls="lower", mechanism="noisy_histogram", **options
    )


@pytest.mark.parametrize("shrunk", [False, True])
def test_intervals_cover_as_stated(shrunk, trials):
    """2,000 releases: misses stay within 1e-9 of the binomial law of 5%; intervals of half the width are found out."""
    runs, missed = trials(1000, 20_000), 0
    for _ in range(runs):
        # The middle of an interval that is cut at a bound is not the answer: the twin needs some that are not.
        release = asked(epsilon=0.6 if shrunk else 0.3)
        low, high = release.interval[1]
        middle, half = (low + high) / 2, (high - low) / (4 if shrunk else 2)
        missed += abs(middle - 80) > half
    allowed = runs * 0.05 + math.sqrt(runs * math.log(1e9) / 2)
    assert (missed <= allowed) is not shrunk


def test_half_widths_are_those_of_as_many_bins_as_are_summed():
    """Two bins for the second threshold; the last counts everybody and is public."""
    from fractions import Fraction

    release = asked(epsilon=2.0)
    half = laplace_sum_half_width(Fraction(1), 2, Fraction(1, 20))
    low, high = release.interval[1]
    assert high - low == 2 * half or high == 100
    assert release.value[-1] == 100
    assert release.interval[-1] == (100, 100)
    assert release.loss == dt.Loss(2.0)


def test_domains_that_are_too_large_are_refused():
    """From the number of columns alone."""
    with pytest.raises(NotApplicable, match="worst_case"):
        dt.counting_queries([[0] * 23] * 3, epsilon=1.0, mechanism="noisy_histogram")
    assert MOST_POINTS == 1 << 22
    with pytest.raises(NotApplicable, match="noise"):
        asked(epsilon=1.0, noise="laplace")
