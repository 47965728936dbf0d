"""Programs are tried on made-up rows of the data's types before anything is read or charged."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dither as dt
from dither.errors import InvalidArgument

PAY = np.linspace(20_000, 120_000, 4_001)
FRAME = {
    "pay": PAY,
    "age": np.arange(4_001) % 90,
    "active": np.arange(4_001) % 2 == 0,
    "since": np.array(["2020-01-01"] * 4_001, dtype="datetime64[ms]"),
}
OPTIONS = {"bounds": (0, 600_000), "epsilon": 2.0, "executor": "trusted"}


def broken(rows):
    """Fails on whatever it gets."""
    raise ValueError("no such thing")


@pytest.mark.parametrize(
    "rows",
    [PAY, np.column_stack([PAY, PAY]), FRAME, pd.DataFrame(FRAME), pl.DataFrame(FRAME)],
    ids=lambda rows: type(rows).__module__,
)
def test_a_program_that_fails_is_refused_with_its_own_error(rows):
    """Before, its default was released with a narrow interval."""
    with pytest.raises(InvalidArgument, match=r"made-up rows \(ValueError: no such thing\).*example=None"):
        dt.sample_and_aggregate(rows, broken, **OPTIONS)
    with pytest.raises(InvalidArgument, match="1 numbers are needed"):
        dt.sample_and_aggregate(rows, lambda rows: "text", **OPTIONS)


def test_what_it_is_tried_on_depends_on_types_alone():
    """Two arrays of one type, two frames of the same columns: the same made-up rows, none of them a record."""
    seen = []

    def program(rows):
        seen.append(rows)
        return 1.0

    for array in (PAY, PAY + 1e6):
        dt.sample_and_aggregate(array, program, **OPTIONS)
    first, second = (block for block in seen if len(block) == 100)
    assert np.array_equal(first, second)
    assert first.max() <= 100
    seen.clear()
    for offset in (0, 7):
        frame = pd.DataFrame({**FRAME, "age": FRAME["age"] + offset, "job": ["clerk" if offset else "nurse"] * 4_001})
        dt.sample_and_aggregate(frame.astype({"job": "string[pyarrow]"}), program, **OPTIONS)
    first, second = (block for block in seen if len(block) == 100)
    assert first.equals(second)
    assert first.column_names == ["pay", "age", "active", "since", "job"]
    assert set(first["job"].to_pylist()) == {"a", "b"}


def test_own_rows_or_none():
    """``example=`` is what it is tried on instead; None leaves the trial out, and lists have no types to make up."""
    needs_large = lambda rows: 1.0 if rows.min() > 10_000 else 1 / 0  # noqa: E731
    with pytest.raises(InvalidArgument, match="ZeroDivisionError"):
        dt.sample_and_aggregate(PAY, needs_large, **OPTIONS)
    assert 0 <= dt.sample_and_aggregate(PAY, needs_large, example=PAY[:9] + 5, **OPTIONS).value <= 600_000
    assert dt.sample_and_aggregate(PAY, broken, example=None, default=5, **OPTIONS).value is not None
    assert dt.sample_and_aggregate(PAY.tolist(), broken, default=5, **OPTIONS).value is not None


def test_a_session_charges_nothing():
    """Rows made up from the schema, within its bounds."""
    columns = {"pay": dt.Real(0, 200_000), "since": dt.Date("2015-01-01", "2025-01-01")}
    data = {"pay": PAY, "since": [datetime.date(2020, 1, 1)] * len(PAY)}
    session = dt.open(data, columns=columns, budget=dt.Budget(5.0))
    with pytest.raises(InvalidArgument, match="KeyError"):
        session.ask(dt.Program(lambda rows: rows["salary"], executor="trusted", bounds=(0, 1)), epsilon=1.0)
    assert session.budget.spent == dt.Loss(0.0)
    asked = dt.Program(lambda rows: np.mean(rows["pay"].to_numpy()), executor="trusted", bounds=(0, 200_000))
    assert 0 <= session.ask(asked, epsilon=1.0).value <= 200_000
