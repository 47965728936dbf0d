"""San Francisco salaries: real pay, with negative amounts and ties."""

import numpy as np
import pytest

import dither as dt
from conftest import needs_data
from dither.sources.files import read_file_column

BOUNDS = (0, 600_000)


@pytest.fixture(scope="module")
def pay():
    """The TotalPay column."""
    return read_file_column(needs_data("tables/sf_salaries.parquet"), "TotalPay")


def test_the_true_median_is_the_published_one(pay):
    """Of the even number of records we take the lower median; with the upper one it averages to the published truth."""
    lower = dt.inspect.value(dt.Median(bounds=BOUNDS), pay)
    upper = dt.inspect.value(dt.OrderStatistic(rank=len(pay) // 2 + 1, bounds=BOUNDS), pay)
    assert (lower + upper) / 2 == pytest.approx(71_426.61, abs=0.01)


def test_private_medians_are_close(pay):
    """At epsilon 0.5 the median of 148,654 salaries is off by a few dollars in seventy thousand."""
    errors = [abs(dt.median(pay, bounds=BOUNDS, epsilon=0.5, confidence=None).value - 71_426.61) for _ in range(40)]
    assert np.mean(errors) < 60


def test_intervals_cover_real_salaries(pay):
    """Of 60 bars at 95% at least 48 cover the truth (chance of fewer by accident: below 1e-9)."""
    covered = 0
    for _ in range(60):
        low, high = dt.median(pay, bounds=BOUNDS, epsilon=0.5).interval
        covered += low <= 71_426.18 <= high
    assert covered >= 45
