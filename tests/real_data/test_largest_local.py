"""COQ17's experiment on the salaries of San Francisco."""

import numpy as np
import pytest

from dither.mechanisms.largest_local import LargestLocal
from dither.mechanisms.mechanism import MechanismSpec
from dither.noise.laplace import Laplace
from dither.privacy import Loss
from dither.queries.smallest import ChainSum


def scale(prepared, data):
    """The scale of the noise, in dollars."""
    bound = prepared.statistic.ladder(data).smooth(prepared.point.beta)
    return float(bound / prepared.point.alpha * prepared.statistic.answers.step)


def test_noise_of_the_sums_of_the_smallest_salaries(needs_data):
    """For k = 10%, ..., 90% of n: far below the worst case, at most 55% of the noise with the paper's constants."""
    import duckdb

    path = needs_data("tables/sf_salaries.parquet")
    pay = duckdb.sql(f"SELECT TotalPay FROM '{path}'").fetchnumpy()["TotalPay"].astype(np.float64)
    n = len(pay)
    query = ChainSum(pay, step=0.01)
    statistic = query.resolve(query.shape(0))
    assert float(statistic.value(n) * statistic.answers.step) == pytest.approx(74768.321972 * n, rel=1e-9)
    ask = MechanismSpec(statistic, Loss(1.0, 1 / (2 * n)), Laplace())
    ours, paper = LargestLocal().prepare(ask), LargestLocal(constants="paper").prepare(ask)
    for tenth in range(1, 10):
        k = n * tenth // 10
        assert scale(ours, k) < 0.55 * scale(paper, k)
        assert scale(ours, k) < 0.3 * 567_595.43
