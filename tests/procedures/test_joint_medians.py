"""Regression by one draw for all coefficients: what it costs, answers, covers and refuses."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom

import dither as dt
from conftest import answered
from dither.errors import InvalidArgument
from dither.privacy import Loss
from dither.procedures.block_fits import RegressionRecords, block_fits
from dither.procedures.joint_medians import BITS, COEFFICIENTS, candidates, outward, plan_joint, widening_of
from dither.procedures.regression import RegressionFacts


def plane(n, features, seed=1, noise=0.3):
    """Slopes from 2 down to -1."""
    rng = np.random.default_rng(seed)
    X, slopes = rng.uniform(-1, 1, (n, features)), np.linspace(2, -1, features)
    return X, X @ slopes + 0.5 + noise * rng.normal(size=n), np.array([0.5, *slopes])


def test_five_features_work_from_five_thousand_records_on():
    """With intervals and without; blocks then have two to three records a coefficient."""
    X, y, true = plane(5_000, 5)
    plain = answered(dt.regression, X, y, epsilon=1.0, confidence=None)
    assert plain.mechanism == "joint_medians"
    assert plain.loss == Loss(1.0)
    assert np.abs(np.array(plain.value) - true).mean() < 0.1
    with_intervals = answered(dt.regression, X, y, epsilon=1.0)
    assert len(with_intervals.interval) == 6
    with pytest.raises(InvalidArgument, match="at least"):
        dt.regression(X[:3_000], y[:3_000], epsilon=1.0, confidence=None)


@pytest.mark.parametrize("miss", [None, Fraction(1, 20)])
@pytest.mark.parametrize("features", [1, 5, 12])
def test_the_least_number_of_records_is_the_least_and_parts_add_up(features, miss):
    """One less is refused before anything is read; losses add up to epsilon exactly."""
    with pytest.raises(InvalidArgument, match="at least") as caught:
        plan_joint(RegressionFacts(30, features), Loss(1.0), miss)
    least = int(str(caught.value).split("at least ")[1].split()[0])
    plan = plan_joint(RegressionFacts(least, features), Loss(1.0), miss)
    assert plan.composition.epsilon == 1
    assert plan.composition.fits(plan.loss)
    with pytest.raises(InvalidArgument):
        plan_joint(RegressionFacts(least - 1, features), Loss(1.0), miss)


def test_a_record_changes_one_entry_of_every_coordinate():
    """Codes and distances of all other blocks stay what they are, bit for bit."""
    X, y, _ = plane(600, 2)
    plan = plan_joint(RegressionFacts(600, 2), Loss(8.0), None)
    order = np.arange(600)
    fits = block_fits(RegressionRecords(X, y), order, plan.size, intercept=True)
    X[7], y[7] = 1e300, np.inf
    moved = block_fits(RegressionRecords(X, y), order, plan.size, intercept=True)
    for j in range(3):
        here, there = plan.column(fits, j).values, plan.column(moved, j).values
        assert (here != there).sum() <= 1
        assert (fits.distances(j, 0.7) != moved.distances(j, 0.7)).sum() <= 1


def test_fits_that_all_agree_are_found_with_many_features():
    """Records without noise: to as many digits as the widening leaves."""
    X, y, true = plane(20_000, 4, noise=0.0)
    for confidence in (None, 0.95):
        release = answered(dt.regression, X, y, epsilon=2.0, confidence=confidence)
        assert release.value == pytest.approx(true, rel=0.01)


def test_widenings_are_public_and_shrink_with_the_number_of_blocks():
    """More blocks or more epsilon: finer answers for fits that all agree."""
    wide = [widening_of(6, blocks, Fraction(1)) for blocks in (300, 600, 1_200, 5_000)]
    assert wide == sorted(wide, reverse=True)
    assert 1 <= wide[-1] < wide[0] < 1 << BITS
    assert widening_of(2, 10**7, Fraction(1)) == 1


def test_intervals_cover_the_middle_of_the_law():
    """40 samples of two features; an interval misses at most as often as 5% allows, false alarm below 1e-9."""
    missed, runs = 0, 40
    for seed in range(runs):
        X, y, true = plane(6_000, 2, seed)
        release = dt.regression(X, y, epsilon=1.0)
        missed += sum(not low <= one <= high for one, (low, high) in zip(true, release.interval, strict=True))
    # (the three of a sample may miss together)
    assert missed <= 3 * binom.isf(1e-9, runs, 0.05)


def test_candidates_are_nested_and_hold_their_answer():
    """Whatever the sizes of answers and scales are, the last candidate being everything."""
    values, scales = (1e-12, -3.0, 2.0**70, 0.0), (1e-3, 0.0, 1e30, 2.0**-64)
    boxes = candidates(values, scales)
    for smaller, larger in pairwise(boxes):
        assert all(a <= c and d <= b for (c, d), (a, b) in zip(smaller, larger, strict=True))
    codes = COEFFICIENTS.codes(np.array(values)).tolist()
    assert all(low <= code <= high for code, (low, high) in zip(codes, boxes[0], strict=True))
    assert boxes[-1] == [COEFFICIENTS.grid.ends] * 4
    low, high = outward(*boxes[0][1])
    assert low < -3.0 < high


def test_gross_outliers_in_a_minority_of_the_records_do_little_harm():
    """5% of the records far away, five features."""
    X, y, true = plane(30_000, 5)
    X[::20], y[::20] = 50.0, -1e4
    release = answered(dt.regression, X, y, epsilon=1.0, confidence=None)
    assert np.abs(np.array(release.value) - true).mean() < 0.05
