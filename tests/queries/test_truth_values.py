"""Truth values have one reading everywhere: numbers other than 0 are true, what is missing counts as declared."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import dither as dt

NUMBERS = np.array([-2.0, -0.25, 0.0, 0.25, 1.0, 7.0, np.nan, np.inf] * 50)
TRUE = 6 * 50
"""Of these numbers, without the missing ones."""
WHOLE = np.array([-2, 0, 1, 3] * 100)
FRAMES = {
    "mapping": lambda x: {"flag": x},
    "pandas": lambda x: pd.DataFrame({"flag": x}),
    "arrow": lambda x: pa.table({"flag": pa.array(x)}),
}


def counted(query, data):
    """The count, with noise that is 0 but once in e^100 releases."""
    return dt.ask(query, data, epsilon=100.0, confidence=None).value


@pytest.mark.parametrize("given", [np.asarray, list, pd.Series, pa.array], ids=["array", "list", "series", "arrow"])
def test_arrays(given):
    """Counts and families of counting queries of real and whole numbers, in memory."""
    assert counted(dt.Count(), given(NUMBERS)) == TRUE
    assert counted(dt.Count(), given(WHOLE)) == 300
    assert dt.count(given(WHOLE), epsilon=100.0, confidence=None).value == 300
    assert counted(dt.Count(nulls=1), given(NUMBERS)) == TRUE + 50


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_frames_and_sessions(frame):
    """The same numbers in a frame, and declared as boolean in a session, in SQL and in a filter."""
    for values, true in ((NUMBERS, TRUE), (WHOLE, 300)):
        assert counted(dt.CountingQueries(), frame(values)) == (true,)
        session = dt.open(frame(values), columns={"flag": dt.Boolean()}, rows=400, budget=dt.Budget(1_000.0))
        how = {"epsilon": 100.0, "confidence": None}
        assert session.ask(dt.Count("flag"), **how).value == true
        assert session.ask(dt.CountingQueries(["flag"]), **how).value == (true,)
        assert session.sql("SELECT count_if(flag) FROM data", **how).value == true
        assert session.sql("SELECT count(*) FROM data WHERE flag", **how).value == true


def test_files(tmp_path):
    """Of a CSV file, whose numbers are texts, and words beside them; of Parquet, which stores numbers."""
    words = [*(str(one) for one in WHOLE), *["true", "no", "maybe", ""] * 25]
    (tmp_path / "flags.csv").write_text("flag\n" + "\n".join(f'"{one}"' for one in words) + "\n")
    pa.parquet.write_table(pa.table({"flag": NUMBERS}), tmp_path / "flags.parquet")
    for name, rows, true in (("flags.csv", 500, 325), ("flags.parquet", 400, TRUE)):
        session = dt.open(tmp_path / name, columns={"flag": dt.Boolean()}, rows=rows, budget=dt.Budget(100.0))
        assert session.ask(dt.Count("flag"), epsilon=100.0, confidence=None).value == true


def test_words_in_memory():
    """Lists, arrays of objects and columns of objects are read as CSV files are: words, and numbers as texts."""
    words = ["yes", "No", " true ", "f", "maybe", "", None, "0", "2", "-0.5", 3, b"yes", float("nan")] * 20
    for given in (words, np.array(words, dtype=object), pd.Series(words, dtype=object)):
        assert dt.count(given, epsilon=100.0, confidence=None).value == 5 * 20
        assert dt.count(given, epsilon=100.0, confidence=None, nulls="upper").value == 10 * 20
        assert counted(dt.CountingQueries(), {"flag": given}) == (5 * 20,)
