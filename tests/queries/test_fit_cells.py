"""The owner's look at the cells of the robust regression: what they are, and what is refused."""

import numpy as np
import pytest

import dither as dt
from dither.errors import InvalidArgument

LINE = dt.Regression("y", ["x"], method="robust")
X = np.linspace(-1, 1, 101)


def test_changes_are_enough_and_one_more_is_not():
    """One coefficient: the fit is a median of slopes, which stays where it is until half of the records say else."""
    query = dt.Regression(method="robust", intercept=False)
    whole, half = dt.inspect.cells(query, (np.ones(101), np.full(101, 0.6)), sides=[1])
    assert (whole.lower, half.lower) == ((0.0,), (0.5,))
    for one in (whole, half):
        assert one.changes == 50
    for changed, lower in ((50, (0.0,)), (51, (7.0,))):
        y = np.r_[np.full(101 - changed, 0.6), np.full(changed, 7.2)]
        found = dt.inspect.cells(query, (np.ones(101), y), sides=[1])[0]
        assert found.lower == lower
        assert found.changes == 0


@pytest.mark.parametrize("features", [1, 2])
def test_cells_hold_the_true_coefficients(features):
    """In every grid, in the units of the coefficients; odd records say nothing, and names of columns do."""
    rng = np.random.default_rng(17)
    X = rng.uniform(-1, 1, (2_000, features))
    y = X @ [2.1, -0.9][:features] + 0.3 + rng.normal(0, 0.1, 2_000)
    y[:3] = np.nan, np.inf, 1e300
    names = ["a", "b"][:features]
    data = {**dict(zip(names, X.T, strict=True)), "y": y}
    found = dt.inspect.cells(dt.Regression("y", names, method="robust"), data, sides=[2.0] * (features + 1))
    truth = [0.3, 2.1, -0.9][: features + 1]
    assert len(found) == 2 ** (features + 1)
    inside = [one for one in found if one.lower is not None]
    assert max(one.changes for one in inside) > 50
    for one in inside:
        assert all(low < at < low + 2 for low, at in zip(one.lower, truth, strict=True))
        assert all(low == int(low) for low in one.lower)  # halves of a side of 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: dt.inspect.cells(LINE, {"x": X, "y": X}, sides=[1]), "for each coefficient: intercept, x"),
        (lambda: dt.inspect.cells(LINE, {"x": X, "y": X}, sides=[1, 0]), "a positive number"),
        (lambda: dt.inspect.cells(LINE, {"x": X, "y": X}, sides=[1, float("nan")]), "sides must be"),
        (lambda: dt.inspect.cells(LINE, {"x": X}, sides=[1, 1]), "target must be the name"),
        (lambda: dt.inspect.cells(dt.Median("x"), {"x": X}, sides=[1, 1]), "must be a dt.Regression"),
        (
            lambda: dt.inspect.cells(dt.Regression(method="robust"), (np.ones((9, 6)), np.ones(9)), sides=[1] * 7),
            "at most 6",
        ),
    ],
)
def test_what_is_refused(call, words):
    """In a sentence that names the argument."""
    with pytest.raises(InvalidArgument, match=words):
        call()
