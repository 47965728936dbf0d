"""Regression on real tables: against least absolute deviations computed without privacy."""

import duckdb
import numpy as np
import pytest

import dither as dt
from conftest import needs_data


@pytest.mark.slow
def test_house_values_against_income():
    """California housing, value on income: within a tenth of the median regression's slope, without bounds."""
    path = needs_data("tables/california_housing.parquet")
    table = duckdb.sql(f"select * from '{path}'").fetchnumpy()
    names = {name.lower(): name for name in table}
    income = np.asarray(table[names.get("medinc", names.get("median_income"))], dtype=float)
    value = np.asarray(table[names.get("medhouseval", names.get("median_house_value"))], dtype=float)
    release = dt.regression({"income": income}, value, epsilon=1.0)
    slope = robust_slope(income, value)
    assert release.labels == ("intercept", "income")
    assert release.value[1] == pytest.approx(slope, rel=0.15)
    assert release.interval[1][0] < slope < release.interval[1][1]


def robust_slope(x, y):
    """Least absolute deviations by reweighting."""
    design = np.column_stack([np.ones(len(x)), x])
    fit = np.linalg.lstsq(design, y)[0]
    for _ in range(200):
        weights = 1 / np.maximum(np.abs(y - design @ fit), 1e-3 * np.abs(y).mean())
        fit = np.linalg.solve((design * weights[:, None]).T @ design, (design * weights[:, None]).T @ y)
    return fit[1]
