"""Error bars cover the truth as often as they say, and not absurdly more often."""

import numpy as np
import pytest
from scipy.stats import binom

import dither as dt
from conftest import trials
from dither.mechanisms.choice import prepare
from dither.sources.column import shape_of

RNG = np.random.default_rng(11)
LOGNORMAL = np.clip(RNG.lognormal(11, 0.6, 20_000), 0, 1e6)
DATA = {
    "lognormal": (LOGNORMAL, (0, 1e6)),
    "uniform": (RNG.random(3_000), (0, 1)),
    "normal": (RNG.normal(0, 1, 5_000), (-10, 10)),
    "bimodal": (np.concatenate([RNG.normal(100, 10, 2_550), RNG.normal(900, 10, 2_450)]), (0, 1000)),
    "tied": (RNG.choice([18, 18, 18, 45, 45, 60], 4_000), (0, 120)),
    "gap": (np.concatenate([RNG.random(1_500) * 1e-6, 1 - RNG.random(1_499) * 1e-6]), (0, 1)),
}
CONTINUOUS = ("lognormal", "uniform", "normal")
LAPLACE = {"noise": "laplace", "delta": 1e-6}
CASES = [
    *((name, "inverse", 1.0, 0.5, {}) for name in DATA),
    *((name, "inverse", 0.2, 0.9, {}) for name in CONTINUOUS),
    *((name, "smooth", 1.0, 0.5, {}) for name in DATA),
    *((name, "smooth", 0.5, 0.25, LAPLACE) for name in CONTINUOUS),
    *((name, "worst_case", 1.0, 0.5, {}) for name in ("uniform", "tied")),
    ("lognormal", "inverse", 1.0, 1.0, {}),
    ("lognormal", "smooth", 2.0, 0.0, {}),
]


def bars(name, mechanism, epsilon, q, options, runs, confidence=0.95):
    """How often the bar covers the truth in ``runs`` releases."""
    data, bounds = DATA[name]
    query, shape = dt.Quantile(q=q, bounds=bounds), shape_of(data)
    statistic = query.resolve(shape)
    _, prepared = prepare(statistic, epsilon=epsilon, mechanism=mechanism, confidence=confidence, **options)
    column = query.read(data, shape)
    true = statistic.value(column)
    covered = 0
    for _ in range(runs):
        low, high = prepared.run(column).interval
        covered += low <= true <= high
    return covered


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{c[1]}-{c[4].get('noise', 'auto')}-{c[3]}")
def test_intervals_cover_with_the_stated_confidence(case):
    """At least 95%: a count this low has probability below 1e-9 if the claim is true.  And honestly: at most 99.9%
    on continuous data (one-sided, below 1e-9 if the true coverage is 99.5%)."""
    runs = trials(300, 2_000)
    covered = bars(*case, runs)
    assert binom.cdf(covered, runs, 0.95) > 1e-9
    if case[0] in CONTINUOUS and 0 < case[3] < 1 and runs >= 2_000:
        assert binom.sf(covered - 1, runs, 0.995) > 1e-9


def test_intervals_that_are_30_percent_too_short_are_caught():
    """The coverage test has power: bars made for a confidence of 0.6 fail it at once."""
    runs = 300
    covered = bars("uniform", "smooth", 1.0, 0.5, {}, runs, confidence=0.6)
    assert binom.cdf(covered, runs, 0.95) <= 1e-9
