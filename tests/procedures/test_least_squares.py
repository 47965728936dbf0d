"""Least squares from noisy moments: quantiles of sums of noise, intervals that follow from them, every interface."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import dither as dt
from dither.errors import InvalidArgument, NotApplicable
from dither.noise.gaussian import Gaussian
from dither.noise.laplace import Laplace
from dither.noise.weighted_sums import sum_quantile
from dither.privacy import Loss
from dither.procedures.block_fits import RegressionRecords
from dither.procedures.least_squares import NormalEquations, plan_moments
from dither.procedures.regression import RegressionFacts
from dither.sources.grid import Grid

BOUNDS = [(-1, 1), (0, 4), (-5, 5)]


def sample(n, seed=1):
    """Two features and a response, some of them beyond the bounds."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-1, 1, n), rng.uniform(-0.1, 4.1, n)])
    return X, X @ [2.0, -0.5] + 1.0 + rng.normal(0, 0.5, n)


def solved(X, y, *, intercept):
    """By numpy, of the clamped records."""
    low, high = np.array(BOUNDS, dtype=float).T
    X, y = np.clip(X, low[:-1], high[:-1]), np.clip(y, low[-1], high[-1])
    design = np.column_stack([np.ones(len(y)), X]) if intercept else X
    return np.linalg.lstsq(design, y, rcond=None)[0]


def planned(n, *, epsilon=1.0, delta=0.0, intercept=True, miss=Fraction(1, 20)):
    """A plan between the bounds."""
    grids = [Grid.between(pair) for pair in BOUNDS]
    model = RegressionFacts(n, 2, intercept=intercept)
    return plan_moments(model, Loss(epsilon, delta), miss, tuple(grids[:-1]), grids[-1])


# --- quantiles of weighted sums ------------------------------------------------------------------------


@pytest.mark.parametrize("miss", [0.2, 0.05, 1e-3])
def test_quantiles_of_sums_of_laplace_noise_are_those_of_closed_forms(miss):
    """One, two equal and three different scales; never below, and above by less than a part in 200."""
    weights = [s**4 / math.prod(s * s - t * t for t in (1.0, 2.0, 5.0) if t != s) for s in (1.0, 2.0, 5.0)]
    for scales, tail in (
        ([3.0], lambda x: math.exp(-x / 3.0)),
        ([1.0, 1.0], lambda x: (1.0 + x / 2.0) * math.exp(-x)),
        (
            [1.0, 2.0, 5.0],
            lambda x: sum(w * math.exp(-x / s) for w, s in zip(weights, (1.0, 2.0, 5.0), strict=True)),
        ),
    ):
        found = sum_quantile(Laplace(), np.array(scales), miss)
        assert tail(found) <= miss <= tail(found * 0.995)


def test_quantiles_of_sums_rise_with_every_scale_and_in_proportion():
    """What the intervals need of them."""
    scales = np.array([0.3, 1.0, 0.02, 0.0])
    for law in (Laplace(), Gaussian()):
        here = sum_quantile(law, scales, 0.01)
        assert sum_quantile(law, 7.0 * scales, 0.01) == pytest.approx(7.0 * here, rel=1e-6)
        for j in range(4):
            assert sum_quantile(law, scales + 0.2 * np.eye(4)[j], 0.01) > here
        assert sum_quantile(law, np.zeros(3), 0.01) == 0.0
    assert sum_quantile(Gaussian(), np.array([3.0, 4.0]), 0.05) == pytest.approx(5 * 1.959964, rel=1e-6)


# --- the answer ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
def test_with_little_noise_it_is_least_squares_of_the_clamped_records(intercept):
    """As numpy computes it."""
    X, y = sample(200_000)
    plan = planned(len(y), epsilon=100.0, intercept=intercept)
    fit = plan.run(RegressionRecords(X, y))
    assert fit.values == pytest.approx(solved(X, y, intercept=intercept), abs=1e-3)
    assert all(low < value < high for value, (low, high) in zip(fit.values, fit.intervals, strict=True))


def test_missing_records_are_left_out_and_infinite_ones_clamped():
    """Record by record."""
    X, y = sample(50_000)
    X[::50], y[1::100], X[2::100, 0], y[3::100] = np.nan, np.nan, np.inf, -np.inf
    kept = ~(np.isnan(X).any(axis=1) | np.isnan(y))
    fit = planned(len(y), epsilon=100.0).run(RegressionRecords(X, y))
    assert fit.values == pytest.approx(solved(X[kept], y[kept], intercept=True), abs=5e-3)


@pytest.mark.parametrize("records", ["constant", "collinear", "missing", "none left"])
def test_records_that_determine_nothing_get_an_answer_that_says_so(records):
    """No error, no warning, finite numbers; the interval of a slope without spread is wide."""
    X, y = sample(2_000)
    if records == "constant":
        X[:] = 0.5
    elif records == "collinear":
        X[:, 1] = 2 * X[:, 0] + 2
    else:
        y[:] = np.nan
    if records == "none left":
        X[:] = np.nan
    fit = planned(len(y)).run(RegressionRecords(X, y))
    assert np.isfinite(fit.values).all()
    assert np.isfinite(fit.intervals).all()
    assert fit.intervals[1][1] - fit.intervals[1][0] > 1.0


# --- intervals -----------------------------------------------------------------------------------------


def noisy_equations(plan, X, y, scale, rng):
    """The true normal equations, in half widths, and noisy ones; noise of ``scale`` times its own."""
    grids, caps = plan.statistic.answers, plan.statistic.global_sensitivities
    values = plan.statistic.values(plan.table(RegressionRecords(X, y)))
    noise = rng.laplace if plan.noise == "laplace" else rng.normal
    drawn = [Fraction(float(noise(0, scale * float(cap * plan.prepared.unit)))) for cap in caps]
    truth = [grid.step * one for grid, one in zip(grids, values, strict=True)]
    moved = [one + grid.step * more for grid, one, more in zip(grids, truth, drawn, strict=True)]
    return NormalEquations.of(plan, truth), NormalEquations.of(plan, moved)


def rows_hold(true, noisy, miss):
    """Whether the true coefficients satisfy the noisy equations up to their reach."""
    b = np.linalg.solve(true.matrix, true.right)
    sizes = np.abs(true.lift @ b + true.offset)
    return bool((np.abs(noisy.matrix @ b - noisy.right) <= noisy.reach(sizes, miss)).all())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_where_rows_hold_all_intervals_hold(intercept, delta):
    """An implication, for noise of many sizes and few or many records: not one exception."""
    rng, held = np.random.default_rng(5), 0
    for n, scale in ((300, 0.5), (3_000, 1.0), (3_000, 0.1), (30_000, 1.0)):
        X, y = sample(n, seed=n)
        plan, expected = planned(n, delta=delta, intercept=intercept), solved(X, y, intercept=intercept)
        for _ in range(12):
            true, noisy = noisy_equations(plan, X, y, scale, rng)
            if rows_hold(true, noisy, 0.05):
                held += 1
                for value, (low, high) in zip(expected, noisy.fit(Fraction(1, 20)).intervals, strict=True):
                    assert low - 1e-6 <= value <= high + 1e-6
    assert held > 30


@pytest.mark.slow
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_rows_hold_as_often_as_they_say(law):
    """2,000 draws; false alarm below 1e-9.  Noise that is 30% larger than it says is found."""
    X, y = sample(2_000)
    plan = planned(len(y), delta=0.0 if law == "laplace" else 1e-6)
    if plan.noise != law:
        plan = dataclasses.replace(plan, prepared=dataclasses.replace(plan.prepared, law=Gaussian()), noise=law)
    miss, runs = 0.3, 2_000
    most = binom.isf(1e-9, runs, miss)
    true, _ = noisy_equations(plan, X, y, 0.0, np.random.default_rng(0))
    b = np.linalg.solve(true.matrix, true.right)
    reach = true.reach(np.abs(b), miss)

    def missed(scale):
        rng, count = np.random.default_rng(11), 0
        for _ in range(runs):
            _, noisy = noisy_equations(plan, X, y, scale, rng)
            count += not (np.abs(noisy.matrix @ b - noisy.right) <= reach).all()
        return count

    assert missed(1.0) <= most < missed(1.3)


@pytest.mark.slow
def test_intervals_cover_through_the_front():
    """60 releases; all coefficients together miss at most as often as 5% allows, with a false alarm below 1e-9."""
    X, y = sample(5_000)
    true = solved(X, y, intercept=True)
    missed = 0
    for _ in range(60):
        release = dt.regression(X, y, method="ols", bounds=BOUNDS, epsilon=1.0)
        missed += not all(low <= one <= high for one, (low, high) in zip(true, release.interval, strict=True))
    assert missed <= binom.isf(1e-9, 60, 0.05)


# --- interfaces ----------------------------------------------------------------------------------------


def test_the_estimator_is_named_and_delta_is_not_needed():
    """Bounds by name; the label says least squares."""
    X, y = sample(20_000)
    bounds = dict(zip("aby", BOUNDS, strict=True))
    release = dt.regression({"a": X[:, 0], "b": X[:, 1]}, y, method="ols", bounds=bounds, epsilon=2)
    assert release.labels == ("intercept", "a", "b")
    assert "least squares" in str(release.query)
    assert (release.mechanism, release.noise, release.loss) == ("moments", "laplace", Loss(2.0))
    assert release.value == pytest.approx(solved(X, y, intercept=True), abs=0.3)
    assert release.neighbours.name == "CHANGE_ONE"


def test_sessions_and_sql_take_bounds_from_the_schema():
    """And refuse columns without."""
    X, y = sample(20_000)
    frame = {"a": X[:, 0], "b": X[:, 1], "y": y}
    columns = {"a": dt.Real(-1, 1), "b": dt.Real(0, 4), "y": dt.Real(-5, 5), "free": dt.Real(None, None)}
    with dt.open({**frame, "free": y}, columns=columns, budget=dt.Budget(epsilon=50.0), rows=len(y)) as session:
        asked = session.ask(dt.Regression("y", ("a", "b"), method="ols"), epsilon=5.0)
        by_sql = session.sql("SELECT regression(y, a, b, method => 'ols') FROM data", epsilon=5.0)
        expected = solved(X, y, intercept=True)
        assert asked.value == pytest.approx(expected, abs=0.2)
        assert "least squares" in str(asked.query)
        assert by_sql.value == pytest.approx(expected, abs=0.2)
        with pytest.raises(InvalidArgument, match="declared bounds"):
            session.ask(dt.Regression("y", ("free",), method="ols"), epsilon=1.0)
        with pytest.raises(InvalidArgument, match="leave it out"):
            session.ask(dt.Regression("y", ("a",), method="ols", bounds=(0, 1)), epsilon=1.0)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, InvalidArgument),
        ({"bounds": (0, 1), "method": "medians"}, NotApplicable),
        ({"bounds": [(0, 1)]}, InvalidArgument),
        ({"bounds": (0, 1), "block_size": 9}, NotApplicable),
        ({"bounds": (0, 1), "constants": "paper"}, NotApplicable),
        ({"bounds": (1e9, 1e9 + 1), "intercept": False}, InvalidArgument),
    ],
)
def test_bad_questions_are_refused_before_anything_is_read(options, error):
    """No bounds, bounds of something else, options of other methods."""
    X, y = sample(100)
    with pytest.raises(error):
        dt.regression(X, y, epsilon=1.0, **{"method": "ols", **options})
