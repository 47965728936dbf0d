"""Error bars of aggregates cover the aggregate without noise as often as they say."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from conftest import trials
from dither.privacy import Loss
from dither.procedures.aggregate import MEDIAN, SMOOTH_MEDIAN, Aggregation
from dither.procedures.centre import Centre
from dither.procedures.executor import Output

ANSWERS = np.random.default_rng(3).normal(0.5, 0.02, (400, 2))
MISS = Fraction(1, 10)


def medians(made):
    """The lower medians."""
    return np.sort(ANSWERS, axis=0)[199]


def centre(made):
    """The answer of the block in the centre."""
    return ANSWERS[made.located(ANSWERS)[0]]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("aggregator", "delta", "truth"),
    [(MEDIAN, 0.0, medians), (SMOOTH_MEDIAN, 0.0, medians), (Centre(), 0.0, centre), (Centre(), 1e-5, centre)],
    ids=lambda one: getattr(one, "name", getattr(one, "__name__", one)),
)
def test_intervals_cover_the_aggregate(aggregator, delta, truth):
    """Misses of a 90% bar are no more than chance allows: false alarm 1e-9 a number.  Bounds are far away."""
    runs = trials(80, 3_000)
    output = Output(2, bounds=(-1e6, 1e6))
    made = aggregator.prepare(Aggregation(400, 1, output, Loss(4.0, delta), 1 - MISS))
    true = truth(made)
    missed = np.zeros(2)
    for _ in range(runs):
        bars = made.run(ANSWERS).intervals
        missed += [not low - 1e-3 <= one <= high + 1e-3 for one, (low, high) in zip(true, bars, strict=True)]
    assert (missed <= binom.isf(1e-9, runs, float(MISS))).all()
    if aggregator.name == "centre":
        # The bar is exact: one that hardly ever misses would be wider than it says.
        assert (missed >= binom.ppf(1e-9, runs, float(MISS))).all()
