"""The one reader of frames: however Arrow or pandas store a column, no record decides how the others are read."""

import datetime
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import dither as dt

ZONED = pa.timestamp("s", tz="Europe/Berlin")


def moments(last):
    """Twenty people of the first day of 1970 and one more, in every way that a moment with a zone is stored."""
    plain = pa.array([0] * 20 + [last], ZONED)
    yield "arrow", pa.table({"a": plain})
    coded = pa.DictionaryArray.from_arrays(pa.array([0] * 20 + [1]), pa.array([0, last], ZONED))
    yield "dictionary", pa.table({"a": coded})
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([20, 21], pa.int32()), pa.array([0, last], ZONED))
    yield "runs", pa.table({"a": runs})
    yield "pandas", pd.DataFrame({"a": pd.arrays.ArrowExtensionArray(pa.chunked_array([plain]))})
    pieces = pa.chunked_array([plain.slice(0, 7), plain.slice(7)])
    yield "pandas in pieces", pd.DataFrame({"a": pd.arrays.ArrowExtensionArray(pieces)})


@pytest.mark.parametrize("stored", ["arrow", "dictionary", "runs", "pandas", "pandas in pieces"])
@pytest.mark.parametrize("last", [1, 2**62, -(2**62)])
def test_one_moment_beyond_the_calendar_disturbs_nobody(stored, last):
    """The median is the day of the others, whatever the last one is."""
    frame = dict(moments(last))[stored]
    columns = {"a": dt.Date("1960-01-01", "2020-01-01")}
    session = dt.open(frame, columns=columns, budget=dt.Budget(1000), rows=21)
    assert session.ask(dt.Median("a"), epsilon=50.0, confidence=None).value == datetime.date(1970, 1, 1)


@pytest.mark.slow
def test_days_are_those_of_utc_wherever_the_machine_stands():
    """Read again by a process in Tokyo."""
    code = "import test_frames as t; [t.test_one_moment_beyond_the_calendar_disturbs_nobody(s, 1) for s in t.STORED]"
    environment = os.environ | {"TZ": "Asia/Tokyo", "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr


STORED = ("arrow", "dictionary", "runs", "pandas", "pandas in pieces")


def test_runs_are_read_as_the_values_that_they_stand_for():
    """Ten of one and eleven of another: counts and sums are those of all records."""
    ends = pa.array([10, 21], pa.int32())
    texts = pa.RunEndEncodedArray.from_arrays(ends, pa.array(["x", "y"]))
    numbers = pa.RunEndEncodedArray.from_arrays(ends, pa.array([2.0, 1.0]))
    columns = {"t": dt.Category(["x", "y"]), "v": dt.Real(0, 10)}
    session = dt.open(pa.table({"t": texts, "v": numbers}), columns=columns, budget=dt.Budget(1000), rows=21)
    counts = session.ask(dt.Histogram("t"), epsilon=100.0, confidence=None).value
    assert [round(one) for one in counts[:2]] == [10, 11]
    assert abs(session.ask(dt.Sum("v"), epsilon=100.0, confidence=None).value - 31) < 4


def test_an_entry_that_pretends_to_be_an_array_is_missing():
    """In a list of rows as in a plain list."""

    class Pretends:
        def __array__(self, *_, **__):
            raise RuntimeError

    rows = [[5.0, 1.0] for _ in range(50)]
    rows[3][0] = Pretends()
    assert dt.pair_covariance(rows, bounds=(0, 10), epsilon=1.0).value is not None
