"""``describe`` on Adult at (1, 1e-6): quartiles of four columns, and every category above 1%."""

import math

import numpy as np
import pandas as pd
import pytest

import dither as dt
from conftest import needs_data


@pytest.mark.slow
def test_adult_is_described():
    """Within 3% of the ranks, which fails with a probability below 1e-9; docs/describe.md has the errors of 20 runs."""
    path = needs_data("tables/adult.parquet")
    frame = pd.read_parquet(path)
    found = dt.describe(path, epsilon=1.0, delta=1e-6)
    assert dt.compose([one.loss for column in found for one in column.releases], delta=1e-6).epsilon <= 1.0
    for name in ("age", "hours_per_week", "fnlwgt", "education_num"):
        values = np.sort(frame[name].to_numpy())
        for label, answer, (low, high) in found[name].quantiles.rows():
            rank = float(label[:-1]) / 100 * len(values)
            reach = 0.03 * len(values)
            assert np.searchsorted(values, answer, "left") - reach <= rank
            assert rank <= np.searchsorted(values, answer, "right") + reach
            assert low <= answer <= high
            assert high - low <= 3 * (values[-1] - values[0])
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            counts = frame[name].value_counts()
            assert set(counts[counts > math.ceil(0.01 * len(frame))].index) <= set(found[name].frequent.labels)
