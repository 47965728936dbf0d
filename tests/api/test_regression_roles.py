"""Regressions: least squares where bounds are known, one order and one set of keywords, an estimator that is named."""

import numpy as np
import pandas as pd
import pytest

import dither as dt
from dither.errors import InvalidArgument, NotApplicable
from dither.queries.wire import from_json, to_json

X = np.linspace(0.0, 10.0, 4_000)
Y = 3.0 * X + np.where(np.arange(4_000) % 5 == 0, 8.0, 0.0)
FRAME = pd.DataFrame({"age": X, "pay": Y})
LEAST = "least squares of records clamped to bounds"
MEDIANS = "medians of robust fits of blocks, not least squares"
KNOWN = {"bounds": (0, 10), "y_bounds": (0, 40), "epsilon": 50.0}


def session(**columns):
    """The frame, in a session."""
    return dt.open(FRAME, columns=columns, rows=4_000, budget=dt.Budget(1_000))


def test_least_squares_is_the_default_where_bounds_are_known():
    """Its slope is that of least squares, which robust fits of skewed errors are not; others are asked by name."""
    release = dt.regression(X, Y, **KNOWN)
    assert LEAST in release.query
    assert release.value[0] == pytest.approx(1.6, abs=0.2)  # a fifth of 8; the robust fit has 0
    robust = dt.regression(X, Y, method="medians", epsilon=50.0)
    assert MEDIANS in robust.query
    assert robust.value[0] == pytest.approx(0.0, abs=0.2)
    assert MEDIANS in dt.regression(X, Y, epsilon=50.0).query


def test_sessions_take_the_estimator_from_what_is_declared():
    """Bounds of all columns: least squares, of which the stored question says so; one unknown: medians of blocks."""
    with session(pay=dt.Real(0, 40), age=dt.Real(0, 10)) as known:
        release = known.ask(dt.Regression("pay", ["age"]), epsilon=50.0)
        assert LEAST in release.query
        assert known.ask(dt.Regression("pay", ["age"], method="ols"), epsilon=50.0) == release  # stored
        assert LEAST in known.sql("SELECT regression(pay, age) FROM data", epsilon=50.0).query
        assert MEDIANS in known.ask(dt.Regression("pay", ["age"], method="medians"), epsilon=50.0).query
    with session(pay=dt.Real(None, None), age=dt.Real(0, 10)) as unknown:
        assert MEDIANS in unknown.ask(dt.Regression("pay", ["age"]), epsilon=50.0).query


def test_the_first_line_says_what_intervals_cover():
    """Also over HTTP and in JSON, where it is the name of the question; nothing without intervals."""
    records = "intervals cover its fit of these records without noise"
    population = "intervals cover the centre of its fits in the population"
    assert records in str(dt.regression(X, Y, **KNOWN)).partition(" = ")[0]
    assert population in str(dt.regression(X, Y, epsilon=50.0)).partition(" = ")[0]
    assert "intervals" not in str(dt.regression(X, Y, confidence=None, **KNOWN))
    with pytest.raises(NotApplicable, match='method="medians"'):
        dt.regression(X, Y, interval="population", **KNOWN)


def test_features_and_target_stand_in_the_same_order_and_have_the_same_names():
    """Arrays as X, y with bounds, y_bounds (and in the estimator); columns as target, features."""
    both = {"age": (0, 10), "pay": (0, 40)}
    lines = [
        dt.regression(X, Y, **KNOWN),
        dt.regression(X, Y, bounds=[(0, 10), (0, 40)], epsilon=50.0),
        dt.regression(FRAME, target="pay", features=["age"], **KNOWN),
        dt.regression(FRAME, target="pay", bounds=both, epsilon=50.0),
        dt.least_squares(X, Y, **KNOWN),
        dt.least_squares(X, Y, bounds=[(0, 10), (0, 40)], epsilon=50.0),
        dt.least_squares(FRAME, target="pay", features=["age"], **KNOWN),
        dt.least_squares(FRAME, target="pay", features="age", bounds=both, epsilon=50.0),
        dt.least_squares(FRAME[["pay", "age"]], bounds=[(0, 40), (0, 10)], epsilon=50.0),
        dt.least_squares({"pay": Y, "age": X}, bounds=both, epsilon=50.0),
    ]
    for line in lines:
        assert line.value == (pytest.approx(1.6, abs=0.3), pytest.approx(3.0, abs=0.1))
    ds = pytest.importorskip("dither.sklearn")
    fitted = ds.LinearRegression(**KNOWN).fit(X[:, None], Y)
    assert fitted.coef_[0] == pytest.approx(3.0, abs=0.1)


def test_least_squares_by_role_is_the_same_question():
    """One stored form, whether columns are named in order or by role; also in JSON."""
    by_role = dt.LeastSquares(target="pay", features=["age"])
    assert by_role == dt.LeastSquares(("pay", "age"))
    assert to_json(by_role) == {"kind": "least_squares", "columns": ["pay", "age"]}
    sent = {"kind": "least_squares", "target": "pay", "features": ["age"]}
    assert from_json(sent) == by_role
    with session(pay=dt.Real(0, 40), age=dt.Real(0, 10)) as opened:
        assert opened.ask(by_role, epsilon=5.0) == opened.sql("SELECT least_squares(pay, age) FROM data", epsilon=5.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: dt.regression(X, epsilon=1.0), "target"),
        (lambda: dt.regression(FRAME, Y, target="pay", epsilon=1.0), "target.*left out where y"),
        (lambda: dt.regression(X, Y, y_bounds=(0, 1), epsilon=1.0), "bounds"),
        (lambda: dt.regression(X, Y, block_size=9, **KNOWN), "block_size"),
        (lambda: dt.least_squares(np.ones((9, 2)), np.ones(9), **KNOWN), "features.*one column"),
        (lambda: dt.least_squares(X, Y[:9], **KNOWN), "as many records"),
        (lambda: dt.LeastSquares(("a", "b"), target="a", features="b"), "columns"),
        (lambda: dt.LeastSquares(target="a"), "features"),
        (lambda: dt.LeastSquares(features="a"), "target"),
    ],
)
def test_what_contradicts_itself_is_refused_by_name(call, words):
    """Before anything is read."""
    with pytest.raises((InvalidArgument, NotApplicable), match=words):
        call()
