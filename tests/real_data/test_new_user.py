"""A new user's forty steps: two questions about each of five real tables, as CSV, Parquet, pandas and Polars.

No step has an interval that excludes the truth of the declared reading more often than it says.  The truth is worked
out by numpy from what is declared: missing values left out, values outside the bounds clamped.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dither as dt
from conftest import needs_data, trials

RUNS = trials(5, 12)
EPSILON = 1.0


def lower_median(values):
    """The middle, or the lower of two."""
    return np.sort(values)[(len(values) - 1) // 2]


TABLES = {
    "adult": ("tables/adult.parquet", {"age": dt.Integer(0, 120), "sex": dt.Category(["Female", "Male"])}),
    "pums": ("tables/pums_ca_1000.parquet", {"income": dt.Real(0, 500_000), "married": dt.Boolean()}),
    "salaries": ("tables/sf_salaries.parquet", {"TotalPay": dt.Real(0, 600_000), "Benefits": dt.Real(0, 80_000)}),
    "housing": (
        "tables/california_housing.parquet",
        {"total_bedrooms": dt.Real(0, 5_000), "median_house_value": dt.Real(0, 600_000)},
    ),
    "faithful": ("tables/old_faithful.parquet", {"duration": dt.Real(0, 10), "waiting": dt.Integer(0, 120)}),
}
QUESTIONS = [
    ("adult", dt.Median("age"), None, lambda t: lower_median(t["age"])),
    ("adult", dt.Mean("age"), "sex = 'Female'", lambda t: t["age"][t["sex"] == "Female"].mean()),
    ("pums", dt.Median("income"), None, lambda t: lower_median(t["income"].clip(0, 500_000))),
    ("pums", dt.Count(), "married = true", lambda t: (t["married"] != 0).sum()),
    ("salaries", dt.Median("TotalPay"), None, lambda t: lower_median(t["TotalPay"].clip(0, 600_000))),
    ("salaries", dt.Mean("Benefits"), None, lambda t: t["Benefits"].dropna().clip(0, 80_000).mean()),
    ("housing", dt.Median("total_bedrooms"), None, lambda t: lower_median(t["total_bedrooms"].dropna().clip(0, 5_000))),
    ("housing", dt.Std("median_house_value"), None, lambda t: t["median_house_value"].clip(0, 600_000).std(ddof=0)),
    ("faithful", dt.Mean("duration"), None, lambda t: t["duration"].mean()),
    ("faithful", dt.Maximum("waiting"), None, lambda t: t["waiting"].max()),
]
SOURCES = ("csv", "parquet", "pandas", "polars")


def opened(name, source, folder):
    """A session of one table in one form, with the columns that are asked."""
    file, columns = TABLES[name]
    frame = pd.read_parquet(needs_data(file))[list(columns)]
    path = folder / f"{name}.{source}"
    if source == "csv":
        frame.to_csv(path, index=False)
    elif source == "parquet":
        frame.to_parquet(path)
    given = {"pandas": frame, "polars": pl.from_pandas(frame)}.get(source, str(path))
    return dt.open(given, columns=columns, rows=len(frame), budget=dt.Budget(1e6))


@pytest.fixture(scope="module")
def intervals(tmp_path_factory):
    """(question, its truth, its intervals, its answers) of all steps."""
    folder = tmp_path_factory.mktemp("tables")
    found = []
    for place, (name, query, where, truth) in enumerate(QUESTIONS):
        expected = float(truth(pd.read_parquet(needs_data(TABLES[name][0]))))
        for source in SOURCES:
            session = opened(name, source, folder)
            releases = [session.ask(query, where=where, epsilon=EPSILON, again=True) for _ in range(RUNS)]
            found.append((place, expected, [release.interval for release in releases], releases[0]))
            session.close()
    return found


def missed(found, shrunk=1.0):
    """For each question, in how many of its steps and runs the interval misses; shrunk: about its middle."""
    counts = dict.fromkeys(range(len(QUESTIONS)), 0)
    for place, truth, ends, _ in found:
        for low, high in ends:
            middle, half = (low + high) / 2, shrunk * (high - low) / 2
            counts[place] += not middle - half - 1e-9 <= truth <= middle + half + 1e-9
    return counts


@pytest.mark.slow
def test_no_step_misses_more_often_than_it_says(intervals):
    """Forty steps.  Chances of a false alarm at 5%: of one question below 1e-10, of all together below 1e-9.

    The twin, intervals of a tenth of their width, is far beyond both.
    """
    assert len(intervals) == 40
    each = missed(intervals)
    assert max(each.values()) < (12 if RUNS == 5 else 20), each
    assert sum(each.values()) <= (36 if RUNS == 5 else 68), each
    assert sum(missed(intervals, 0.1).values()) > 68


@pytest.mark.slow
def test_every_step_says_how_it_read_the_table(intervals):
    """What becomes of missing values and of those outside the bounds stands in every answer about a column."""
    for place, _, _, release in intervals:
        if QUESTIONS[place][1].column is not None:
            assert "values outside" in str(release)
            assert "missing values" in str(release)
