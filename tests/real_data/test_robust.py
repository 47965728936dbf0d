"""San Francisco salaries without bounds and without declared job titles."""

import numpy as np
import pytest

import dither as dt
from conftest import needs_data
from dither.sources.files import read_file_column

PRICE = {"epsilon": 1.0, "delta": 1e-6}


@pytest.fixture(scope="module")
def pay():
    """The TotalPay column."""
    return read_file_column(needs_data("tables/sf_salaries.parquet"), "TotalPay")


@pytest.fixture(scope="module")
def titles():
    """The JobTitle column, as text."""
    import duckdb

    file = needs_data("tables/sf_salaries.parquet")
    return duckdb.sql(f"SELECT JobTitle FROM '{file}'").fetchnumpy()["JobTitle"]


def test_salaries_need_no_bounds(pay):
    """Each answer is farther off than stated with probability below 1e-9: noise scales are known."""
    ordered = np.sort(pay)
    n = len(ordered)
    spread = ordered[-(-3 * n // 4) - 1] - ordered[-(-n // 4) - 1]
    assert abs(dt.median(pay, epsilon=1.0).value - 71_426.6) < 400
    assert abs(dt.iqr(pay, epsilon=1.0).value - spread) < 800
    assert abs(dt.trimmed_mean(pay, **PRICE).value - ordered[n // 10 : n - n // 10].mean()) < 100
    tested = dt.median(pay, mechanism="propose_test", **PRICE)
    assert tested.refused or abs(tested.value - 71_426.6) < 25_000
    scale = dt.scale(pay, **PRICE)
    assert scale.refused or 0.7 < scale.value / spread < 1.4


def test_job_titles_need_not_be_declared(titles):
    """Common titles are found with their counts, those of few people are not (false alarms: below 1e-6)."""
    names, counts = np.unique(titles.astype(str), return_counts=True)
    truth = dict(zip(names.tolist(), counts.tolist(), strict=True))
    release = dt.histogram(titles, epsilon=1.0, delta=1e-12)
    assert all(abs(count - truth[name]) < 60 for name, count in zip(release.labels, release.value, strict=True))
    assert {name for name, count in truth.items() if count > 100} <= set(release.labels)
    assert not {name for name, count in truth.items() if count < 3} & set(release.labels)
    assert dt.mode(titles, **PRICE).value == max(truth, key=truth.get)
