"""Histograms of columns of dates and moments: bins of whole days, named by dates."""

import datetime
from itertools import pairwise

import pytest

import dither as dt

START = datetime.date(2024, 1, 1)
ROWS = {
    "day": [START + datetime.timedelta(days=number % 366) for number in range(3_660)],
    "moment": [f"2024-01-01 {number % 24:02}:00" for number in range(3_660)],
}
COLUMNS = {
    "day": dt.Date("2024-01-01", "2024-12-31"),
    "moment": dt.Timestamp("2024-01-01 00:00", "2024-01-02 00:00"),
}


@pytest.fixture
def session():
    """A table in memory."""
    return dt.open(ROWS, columns=COLUMNS, rows=3_660, budget=dt.Budget(1_000.0), name="t")


def test_bins_are_named_by_dates(session):
    """Whole days between the declared ones; what is clamped is said in dates too, also of the stored answer."""
    release = session.ask(dt.Histogram("day", bins=4), epsilon=50.0)
    days = ["2024-01-01", "2024-04-02", "2024-07-02", "2024-10-01", "2024-12-31"]
    assert release.labels == tuple(f"{low} to {high}" for low, high in pairwise(days))
    assert release.clamped == (START, datetime.date(2024, 12, 31))
    assert all(abs(count - 10 * length) < 5 for count, length in zip(release.value, (92, 91, 91, 92), strict=True))
    assert "2024-01-01 to 2024-12-31 are clamped" in str(release)
    assert session.ask(dt.Histogram("day", bins=4), epsilon=50.0) == release
    assert session.sql("SELECT histogram(day, bins => 4) FROM t", epsilon=50.0) == release


def test_edges_are_numbers_of_days_and_named_by_the_first_day_of_each_bin(session):
    """An edge between two days is the later one."""
    first = (START - datetime.date(1970, 1, 1)).days
    release = session.ask(dt.Histogram("day", edges=[first, first + 30.5, first + 365]), epsilon=50.0)
    assert release.labels == ("2024-01-01 to 2024-02-01", "2024-02-01 to 2024-12-31")
    assert abs(release.value[0] - 310) < 5


def test_bins_of_moments(session):
    """Whole seconds, or steps."""
    release = session.ask(dt.Histogram("moment", bins=2), epsilon=50.0)
    assert release.labels == (
        "2024-01-01 00:00:00 to 2024-01-01 12:00:00",
        "2024-01-01 12:00:00 to 2024-01-02 00:00:00",
    )


def test_more_bins_than_days_are_refused(session):
    """Before anything is charged."""
    with pytest.raises(dt.InvalidArgument, match="bins must be at most 365"):
        session.ask(dt.Histogram("day", bins=366), epsilon=1.0)
    for edges in ([0, 1e7], [-1e9, 0], [0, 1e300]):
        with pytest.raises(dt.InvalidArgument, match="edges must be days or seconds"):
            session.ask(dt.Histogram("day", edges=edges), epsilon=1.0)
    assert session.budget.spent == dt.Loss(0.0)
