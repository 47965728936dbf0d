"""``frame.dither`` and ``series.dither``: the one-line functions, for pandas and Polars, lazy frames too."""

import pandas as pd
import polars as pl
import pytest

import dither as dt
import dither.pandas
import dither.polars
from dither.accessors import FrameMethods, SeriesMethods
from dither.queries.registry import entries

FRAME = pd.DataFrame(
    {"pay": [1.0, 2.0, 3.0] * 500, "job": ["a", "b", "c"] * 500, "year": [2001.0, 2002.0, 2003.0] * 500}
)
FRAMES = [FRAME, pl.from_pandas(FRAME), pl.from_pandas(FRAME).lazy()]
SURE = {"bounds": (0, 5), "epsilon": 100.0}


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__module__)
def test_frames_answer_as_the_functions_do(frame):
    """By the name of a column, with the same options; a wrong name is refused before anything is read."""
    assert frame.dither.median("pay", **SURE).value == pytest.approx(2, abs=0.01)
    assert frame.dither.histogram("job", categories=["a", "b"], epsilon=100.0).labels == ("a", "b", "other")
    with pytest.raises(dt.InvalidArgument, match="did you mean pay"):
        frame.dither.median("pya", **SURE)


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__module__)
def test_frames_are_described_and_asked_about_several_columns(frame):
    """By query objects, as by ``dt.ask``; ``describe`` is that of all columns."""
    bounds = {"pay": (0, 5), "year": (2000, 2020)}
    release = frame.dither.ask(dt.Correlation(["pay", "year"], bounds=bounds), epsilon=100.0)
    assert release.value == pytest.approx(1, abs=0.05)
    described = frame.dither.describe(epsilon=20.0, delta=1e-6)
    assert described["job"].type_name == "text"
    assert described["pay"].quantiles.value[2] == pytest.approx(2, abs=0.5)


def test_a_count_says_what_it_counts():
    """Entries that are true, not those that are there: a 0 is not counted."""
    zeros = pd.DataFrame({"people": [0, 1, 2] * 500})
    release = zeros.dither.count("people", epsilon=100.0)
    assert (release.value, release.query) == (1_000, "count of true entries")
    assert zeros.dither.count_present("people", epsilon=100.0).value == 1_500


@pytest.mark.parametrize("frame", FRAMES[:2], ids=lambda frame: type(frame).__module__)
def test_columns_answer_as_the_functions_do(frame):
    """With nothing but the options."""
    assert frame["pay"].dither.mean(**SURE).value == pytest.approx(2, abs=0.1)
    assert frame["job"].dither.count_present(epsilon=100.0).value == 1_500


def test_frames_and_columns_have_the_same_methods_all_of_them_functions():
    """Each of them is a function of one column of this library."""
    methods = {name for name in vars(SeriesMethods) if not name.startswith("_")} - {"column"}
    of_frames = {name for name in vars(FrameMethods) if not name.startswith("_")}
    assert of_frames == methods | {"column_of", "ask", "describe"}
    assert all(callable(getattr(dt, name)) for name in methods)
    assert {"count", "sum", "mean", "median", "quantile", "histogram"} <= methods <= set(entries())
    assert dither.pandas.DitherFrame.median is FrameMethods.median
    assert dither.polars.DitherPolarsSeries.median is SeriesMethods.median
