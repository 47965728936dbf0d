"""Estimators with scikit-learn's conventions: one release for each fit, and no error, warning or pickle of a record."""

import functools
import math
import pickle
import warnings

import numpy as np
import pytest

import dither as dt
from conftest import needs_package

needs_package("sklearn")
from sklearn import linear_model, preprocessing  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import cross_val_predict  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

from dither import sklearn as ds  # noqa: E402

SPREAD = (-2.0, 2.0)
NO_ERROR = "an error because of one entry would say what it is"
NOISE = "two fits differ by their noise, and equal ones are asked for"
NO_LABELS = "labels_ would keep a private value of each record in the estimator"
CHECKED = {
    "LinearRegression": (
        ds.LinearRegression(bounds=SPREAD, y_bounds=SPREAD, epsilon=100, delta=0.1),
        {
            "check_dtype_object": NO_ERROR,
            "check_supervised_y_no_nan": NO_ERROR,
            "check_regressor_data_not_an_array": NOISE,
            "check_supervised_y_2d": NOISE,
            "check_regressors_int": NOISE,
            "check_fit_idempotent": NOISE,
        },
    ),
    "KMeans": (
        ds.KMeans(3, bounds=SPREAD, epsilon=100),
        {"check_dtype_object": NO_ERROR, "check_clustering": NO_LABELS},
    ),
    "GaussianMixture": (ds.GaussianMixture(2, bounds=SPREAD, epsilon=100), {"check_dtype_object": NO_ERROR}),
    "StandardScaler": (
        ds.StandardScaler(bounds=SPREAD, epsilon=100),
        {"check_dtype_object": NO_ERROR, "check_fit_idempotent": NOISE},
    ),
}
each_estimator = pytest.mark.parametrize("name", sorted(CHECKED))


@each_estimator
def test_scikit_learn_checks_them(name):
    """All of its checks but those listed, at most a third; skipped are those that need equal fits or another array."""
    estimator, expected = CHECKED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, expected_failed_checks=expected, on_fail=None)
    assert [one["check_name"] for one in results if one["status"] == "failed"] == []
    by_status = {
        status: [one for one in results if one["status"] == status] for status in ("passed", "xfail", "skipped")
    }
    failed = {one["check_name"] for one in by_status["xfail"]}
    # Two fits differ by their noise; now and then by less than a check allows.
    assert {check for check, reason in expected.items() if reason != NOISE} <= failed <= set(expected)
    assert sum(map(len, by_status.values())) == len(results) >= 38
    assert 3 * (len(by_status["xfail"]) + len(by_status["skipped"])) <= len(results)


def exactly(query, data, **_):
    """What the query would answer without noise, with intervals that say so."""
    values = tuple(np.asarray(data).mean(axis=0))
    loss = dt.Loss(1.0)
    ends = tuple((one, one) for one in values)
    return dt.Release(values, ends, 0.95, loss, dt.Neighbours.CHANGE_ONE, "mean", "worst_case", "laplace")


@pytest.fixture
def no_noise(monkeypatch):
    """Estimators over a pipeline that adds none, with what they asked."""
    asked = []

    def ask(query, data, **options):
        asked.append((query, options))
        return exactly(query, data)

    monkeypatch.setattr(ds, "ask", ask)
    return asked


@pytest.fixture
def table():
    """Three columns of different widths, and a response."""
    rng = np.random.default_rng(1)
    X = rng.uniform([0, -5, 100], [1, 5, 300], size=(500, 3))
    return X, X @ [2.0, -1.0, 0.03] + 4 + rng.uniform(-0.5, 0.5, 500)


BOUNDS = [(0, 1), (-5, 5), (100, 300)]


@pytest.mark.parametrize("intercept", [True, False])
def test_without_noise_it_is_least_squares(no_noise, table, intercept):
    """Coefficients are those of scikit-learn, and one question was asked at the whole loss."""
    X, y = table
    model = ds.LinearRegression(bounds=BOUNDS, y_bounds=(-10, 30), epsilon=0.7, delta=1e-6, fit_intercept=intercept)
    model.fit(X, y)
    exact = linear_model.LinearRegression(fit_intercept=intercept).fit(X, y)
    assert model.coef_ == pytest.approx(exact.coef_, rel=1e-6)
    assert model.intercept_ == pytest.approx(exact.intercept_, rel=1e-6)
    assert model.predict(X) == pytest.approx(exact.predict(X), rel=1e-6)
    assert [options for _, options in no_noise] == [{"epsilon": 0.7, "delta": 1e-6}]


def test_without_noise_it_is_the_standard_scaler(no_noise, table):
    """Means, variances and scales; a column without spread is not divided."""
    X = np.column_stack([table[0], np.full(500, 7.0)])
    scaler = ds.StandardScaler(bounds=[*BOUNDS, (0, 10)], epsilon=0.7).fit(X)
    exact = preprocessing.StandardScaler().fit(X)
    assert scaler.mean_ == pytest.approx(exact.mean_)
    assert scaler.scale_ == pytest.approx(exact.scale_)
    assert scaler.transform(X) == pytest.approx(exact.transform(X), abs=1e-9)
    assert scaler.inverse_transform(scaler.transform(X)) == pytest.approx(X)
    assert len(no_noise) == 1


def test_moments_lie_within_the_bounds_that_noise_is_scaled_to(monkeypatch, table):
    """Whatever the records are: the least and the largest entry of every column that is asked about."""
    seen = []

    def ask(query, data, **_):
        ends = np.array(query.bounds, dtype=float)
        seen.append(bool(np.all((data >= ends[:, 0]) & (data <= ends[:, 1]))))
        return exactly(query, data)

    monkeypatch.setattr(ds, "ask", ask)
    X = np.vstack([table[0], [[math.inf, -math.inf, math.nan], [1e308, -1e308, 5e-324]]])
    y = np.append(table[1], [math.inf, math.nan])
    for intercept in (True, False):
        ds.LinearRegression(bounds=BOUNDS, y_bounds=(-10, 30), fit_intercept=intercept).fit(X, y)
    ds.StandardScaler(bounds=BOUNDS).fit(X)
    assert seen == [True, True, True]


class Odd:
    """An entry whose class does not want to be looked at."""

    def __float__(self):
        raise RuntimeError("private")

    __str__ = __repr__ = __bool__ = __float__


ODD_ENTRIES = [math.nan, math.inf, -math.inf, None, "a text", Odd(), 10**400, 1 + 2j, [1, 2], "7"]


@each_estimator
@pytest.mark.parametrize("place", range(len(ODD_ENTRIES)), ids=[f"entry {place}" for place in range(len(ODD_ENTRIES))])
def test_no_entry_raises_or_warns(name, place):
    """In an array of objects, a list of rows and a frame: fitted and used, whatever one entry is."""
    pd = pytest.importorskip("pandas")
    numbers = np.random.default_rng(2).uniform(-1, 1, size=(60, 2))
    entries = numbers.astype(object)
    entries[3, 1] = ODD_ENTRIES[place]
    y = numbers.sum(axis=1).astype(object)
    y[5] = ODD_ENTRIES[place]
    frame = pd.DataFrame({"a": numbers[:, 0], "b": pd.Series(list(entries[:, 1]), dtype=object)})
    for X in (entries, [list(row) for row in entries], frame):
        estimator = clone(CHECKED[name][0])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            estimator.fit(X, y)
            answers = estimator.transform(X) if hasattr(estimator, "transform") else estimator.predict(X)
        assert len(answers) == 60


@each_estimator
def test_what_is_pickled_and_printed_is_public(name):
    """A fitted estimator has no array as long as the data, and comes back from a pickle with the same answers."""
    numbers = np.random.default_rng(3).uniform(-1, 1, size=(997, 2))
    estimator = clone(CHECKED[name][0]).fit(numbers, numbers.sum(axis=1))
    assert all(len(one) < 997 for one in vars(estimator).values() if hasattr(one, "__len__"))
    assert len(pickle.dumps(estimator)) < 8_000
    again = pickle.loads(pickle.dumps(estimator))
    method = "transform" if hasattr(estimator, "transform") else "predict"
    assert np.array_equal(getattr(again, method)(numbers), getattr(estimator, method)(numbers))
    assert again.loss_ == estimator.loss_
    assert estimator.loss_.epsilon == 100


def test_pipelines_and_folds_fit_private_estimators():
    """A scaler before a regression, fitted once for each fold."""
    rng = np.random.default_rng(4)
    X = rng.uniform(0, 10, size=(3_000, 1))
    y = 3 * X[:, 0] + 5
    model = make_pipeline(
        ds.StandardScaler(bounds=(0, 10), epsilon=50),
        ds.LinearRegression(bounds=(-2, 2), y_bounds=(0, 40), epsilon=50),
    )
    answers = cross_val_predict(model, X, y, cv=3)
    assert np.abs(answers - y).max() < 1
    assert model.set_params(linearregression__epsilon=20).get_params()["linearregression__epsilon"] == 20


def test_without_bounds_the_regression_of_the_library_is_asked():
    """Medians of blocks, all coefficients at once, which need no bounds; a method is passed on."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(6_000, 1))
    model = ds.LinearRegression(epsilon=50).fit(X, 3 * X[:, 0] + 5)
    assert model.release_.mechanism == "joint_medians"
    assert model.coef_ == pytest.approx([3.0], abs=0.2)
    with pytest.raises(dt.InvalidArgument, match="delta"):
        ds.LinearRegression(method="robust").fit(X, X[:, 0])
    with pytest.raises(dt.InvalidArgument, match="method"):
        ds.LinearRegression(method="robust", bounds=(0, 1), y_bounds=(0, 1)).fit(X, X[:, 0])


def test_a_refused_fit_says_so_when_it_is_used():
    """Columns that no block can solve: refused, paid, and kept as the release."""
    model = ds.LinearRegression(epsilon=50).fit(np.zeros((6_000, 1)), np.zeros(6_000))
    assert model.release_.refused
    assert model.loss_.epsilon == 50
    with pytest.raises(dt.InvalidArgument, match="refused"):
        model.predict([[1.0]])


@pytest.mark.parametrize(
    "estimator", [ds.KMeans(2), ds.GaussianMixture(2), ds.StandardScaler(), ds.LinearRegression(bounds=(0, 1))]
)
def test_bounds_are_asked_for(estimator):
    """A sentence that says what to pass; nothing is charged."""
    with pytest.raises(dt.InvalidArgument, match=r"pass (y_)?bounds=\(low, high\)"):
        estimator.fit(np.zeros((9, 2)), np.zeros(9))


@functools.cache
def three_groups():
    """Points around three places."""
    rng = np.random.default_rng(6)
    return np.concatenate([rng.normal(place, 0.3, size=(2_000, 2)) for place in ((1, 1), (5, 9), (9, 2))])


def test_clusters_have_the_records_that_are_near():
    """Of three groups far apart each has one label; mixtures know how wide they are."""
    points = three_groups()
    labels = ds.KMeans(3, bounds=(0, 10), epsilon=50).fit_predict(points)
    assert [len(set(labels[start : start + 2_000])) for start in (0, 2_000, 4_000)] == [1, 1, 1]
    mixture = ds.GaussianMixture(3, bounds=[(0, 10), (0, 10)], epsilon=50).fit(points)
    assert len(set(mixture.predict(points))) == 3
    assert np.sqrt(mixture.covariances_) == pytest.approx(0.3, abs=0.15)
    assert mixture.predict_proba(points).sum(axis=1) == pytest.approx(1.0)
    assert mixture.score(points) == pytest.approx(mixture.score_samples(points).mean())


def _fitted(name, X):
    """Each estimator, fitted to two columns of which some entries are missing, within (0, 10) and (0, 40)."""
    bounds = [(0, 10), (0, 40)]
    return {
        "KMeans": lambda: ds.KMeans(2, bounds=bounds, epsilon=2).fit(X),
        "GaussianMixture": lambda: ds.GaussianMixture(2, bounds=bounds, epsilon=2).fit(X),
        "StandardScaler": lambda: ds.StandardScaler(bounds=bounds, epsilon=2).fit(X),
        "LinearRegression": lambda: ds.LinearRegression(bounds=(0, 10), y_bounds=(0, 40), epsilon=2).fit(
            X[:, :1], X[:, 1]
        ),
    }[name]()


@pytest.mark.parametrize("name", sorted(set(ds.__all__)))
def test_releases_say_what_missing_entries_count_as(name):
    """The middle of their bounds, and which bounds values are clamped to: of the columns, not of scaled moments."""
    X = np.column_stack([np.linspace(0, 10, 3_000), np.linspace(0, 40, 3_000)])
    X[::7, 0] = np.nan
    release = _fitted(name, X).release_
    assert "missing values are not left out, they count as 5, 20" in release.notes()
    assert "values outside 0 to 10, 0 to 40 are clamped" in release.notes()


@pytest.mark.parametrize("intercept", [True, False])
def test_the_release_of_a_regression_names_its_estimator(intercept):
    """And what its numbers are; without bounds records with a missing entry are left out."""
    X = np.column_stack([np.linspace(0, 10, 3_000), np.linspace(-1, 1, 3_000) ** 2])
    model = ds.LinearRegression(bounds=(0, 10), y_bounds=(0, 40), epsilon=2, fit_intercept=intercept).fit(X, X[:, 0])
    first = str(model.release_).splitlines()[0]
    assert first.startswith(
        "regression (least squares of records clamped to bounds, by noisy moments; intervals cover "
    )
    assert model.release_.labels == ("x1", "x2", "y", "x1 x1", "x1 x2", "x2 x2", "x1 y", "x2 y")
    products = dict(zip(model.release_.labels, model.release_.value, strict=True))
    assert (
        abs(products["x1 y"] - np.mean((X[:, 0] / 5 - 1) * (X[:, 0] / 20 - 1) if intercept else X[:, 0] ** 2 / 400))
        < 0.1
    )
    medians = ds.LinearRegression(epsilon=50).fit(X[:, :1], 3 * X[:, 0]).release_
    assert str(medians).startswith("regression (medians of robust fits of blocks, not least squares)")
    assert "missing values are left out" in medians.notes()
