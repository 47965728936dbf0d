"""How far private slopes are from the truth, with and without gross outliers, and how often tested methods refuse."""

import numpy as np
import pytest

import dither as dt
from conftest import trials


def plane(rng, n, features, outliers):
    """y = 2 x1 (- x2) + 0.5 + N(0, 0.3); outliers sit together in a far corner, the worst that 5% can do to slopes."""
    X = rng.uniform(-1, 1, (n, features))
    y = X @ np.array([2.0, -1.0][:features]) + 0.5 + rng.normal(0, 0.3, n)
    moved = rng.choice(n, int(outliers * n), replace=False)
    X[moved], y[moved] = -1.0, 5.0
    return X, y


def mean_error(method, n, features, outliers, runs, epsilon=1.0):
    """The mean error of the slopes over fresh datasets, and how many releases were refused."""
    rng, errors, refused = np.random.default_rng(1), [], 0
    for _ in range(runs):
        X, y = plane(rng, n, features, outliers)
        release = dt.regression(X, y, method=method, epsilon=epsilon, delta=1e-6, confidence=None)
        if release.refused:
            refused += 1
        else:
            errors.append(np.abs(np.array(release.value[1:]) - [2.0, -1.0][:features]).mean())
    return float(np.mean(errors)) if errors else float("inf"), refused


@pytest.mark.parametrize(("outliers", "most"), [(0.0, 0.03), (0.05, 0.05)])
def test_slopes_of_ten_thousand_records(outliers, most):
    """The error asked for; ours is a quarter of it, so that a false alarm is rarer than 1e-9."""
    error, refused = mean_error("auto", 10_000, 2, outliers, trials(20, 200))
    assert error <= most
    assert refused == 0


def test_least_squares_would_fail_the_same_test():
    """The outliers are gross: least squares without any noise misses by more than 0.5."""
    X, y = plane(np.random.default_rng(2), 10_000, 2, 0.05)
    slopes = np.linalg.lstsq(np.column_stack([np.ones(10_000), X]), y)[0][1:]
    assert np.abs(slopes - [2.0, -1.0]).mean() > 0.5


def test_the_robust_regression_finds_its_cell():
    """R_H: no more than a tenth refused, and an error near that of its own estimator (false alarm below 1e-9)."""
    error, refused = mean_error("robust", 10_000, 1, 0.0, trials(15, 150))
    assert error <= 0.04
    assert refused <= trials(3, 15)


def test_the_short_cut_needs_many_records():
    """R_S answers from ten thousand records on, and its error falls faster than one over the root of their number."""
    few, _ = mean_error("shortcut", 10_000, 1, 0.0, trials(8, 40), epsilon=2.0)
    many, refused = mean_error("shortcut", 200_000, 1, 0.0, trials(4, 20), epsilon=2.0)
    assert refused == 0
    assert many < few / 5
    assert many < 0.1


def test_intervals_cover_the_true_coefficients():
    """95% bars of three coefficients, sampling included: more than a quarter missed has probability below 1e-9."""
    rng, missed, runs = np.random.default_rng(3), 0, trials(15, 150)
    for _ in range(runs):
        X, y = plane(rng, 20_000, 2, 0.0)
        release = dt.regression(X, y, epsilon=1.0)
        bars = zip(release.interval, (0.5, 2.0, -1.0), strict=True)
        missed += sum(not low <= truth <= high for (low, high), truth in bars)
    assert missed <= 3 * runs / 4


def test_rare_and_tied_columns():
    """A column of zeros and ones, whole-number responses, large offsets: the slopes still come out."""
    rng = np.random.default_rng(4)
    n = 40_000
    X = np.column_stack([rng.integers(0, 2, n), rng.integers(1990, 2020, n)]).astype(float)
    y = np.rint(30_000 + 5_000 * X[:, 0] + 200 * (X[:, 1] - 2000) + rng.normal(0, 2_000, n))
    value = dt.regression(X, y, epsilon=1.0, confidence=None).value
    assert value[1] == pytest.approx(5_000, abs=500)
    assert value[2] == pytest.approx(200, abs=40)
