"""Dates, datetimes and time zones in one-line functions: bounds that are dates, each entry by itself."""

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dither as dt
from dither.sources.moments import CalendarNumbers

UTC, TOKYO = datetime.UTC, datetime.timezone(datetime.timedelta(hours=9))
MOMENTS = [
    datetime.datetime(2020, 1, 1, 0, 0, 0),  # noqa: DTZ001
    datetime.datetime(2020, 1, 1, 23, 59, 59, 999_999),  # noqa: DTZ001
    datetime.datetime(1969, 12, 31, 12),  # noqa: DTZ001
    datetime.datetime(1850, 2, 28, 3),  # noqa: DTZ001
    datetime.datetime(2200, 2, 28, 3, 4, 5),  # noqa: DTZ001
    None,
]
"""Without a time zone: UTC."""


def seconds(moment):
    """By the definition."""
    epoch = datetime.datetime(1970, 1, 1)  # noqa: DTZ001
    return None if moment is None else (moment - epoch) // datetime.timedelta(seconds=1)


def days(moment):
    """By the definition."""
    return None if moment is None else (moment.date() - datetime.date(1970, 1, 1)).days


def forms(moments):
    """The same moments in every form that is read."""
    tokyo = [None if one is None else one.replace(tzinfo=UTC).astimezone(TOKYO) for one in moments]
    series = pd.Series(pd.to_datetime(moments))
    yield "list", moments
    yield "zoned list", tokyo
    yield "texts", [None if one is None else one.isoformat() for one in moments]
    yield "objects", np.array(moments, dtype=object)
    yield "numpy", np.array(moments, dtype="datetime64[us]")
    yield "pandas", series
    yield "zoned pandas", series.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    yield "pandas objects", pd.Series(moments, dtype=object)
    yield "pandas arrow", series.astype(pd.ArrowDtype(pa.timestamp("us")))
    yield "zoned pandas arrow", pd.Series(tokyo, dtype=pd.ArrowDtype(pa.timestamp("us", "Asia/Tokyo")))
    yield "polars", pl.Series(moments, dtype=pl.Datetime("us"))
    yield (
        "zoned polars",
        pl.Series(moments, dtype=pl.Datetime("us")).dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo"),
    )
    yield "arrow", pa.array(moments, pa.timestamp("us"))
    yield "zoned arrow", pa.array(tokyo, pa.timestamp("us", "Asia/Tokyo"))
    yield (
        "arrow chunks",
        pa.chunked_array([pa.array(moments[:2], pa.timestamp("us")), pa.array(moments[2:], pa.timestamp("us"))]),
    )


@pytest.mark.parametrize("missing", [False, True])
def test_every_form_of_moments_is_read_alike(missing):
    """As whole seconds and as days of UTC, whether or not any of them is missing."""
    moments = MOMENTS if missing else MOMENTS[:-1]
    for name, data in forms(moments):
        for read, by_hand in ((CalendarNumbers(in_seconds=True), seconds), (CalendarNumbers(in_seconds=False), days)):
            if name == "texts" and not read.in_seconds:
                continue  # (a text with a time is no ISO date)
            found = read.read(data)
            listed = [
                None if hidden else int(one) for one, hidden in zip(found.data, np.ma.getmaskarray(found), strict=True)
            ]
            assert listed == [by_hand(one) for one in moments], name


def test_days_are_read_alike_too():
    """Columns of dates, and what is no date among objects."""
    dates = [datetime.date(2020, 1, 5), datetime.date(1900, 2, 28), None]
    wanted = [18266, -25509, None]
    for data in (
        dates,
        [*map(str, dates[:2]), "x"],
        pd.Series(dates, dtype=object),
        np.array(dates, dtype="datetime64[D]"),
        pl.Series(dates),
        pa.array(dates),
        pa.array(dates, pa.date64()),
        [*dates[:2], 7],
    ):
        found = CalendarNumbers(in_seconds=False).read(data)
        assert [None if one is np.ma.masked else int(one) for one in found] == wanted


def test_moments_beyond_the_calendar_count_as_its_ends():
    """In typed columns; no entry makes an error."""
    far = np.array(["20000-01-01", "-5000-01-01", "2020-01-01"], dtype="datetime64[s]")
    first, last = (
        (datetime.date.min - datetime.date(1970, 1, 1)).days,
        (datetime.date.max - datetime.date(1970, 1, 1)).days,
    )
    assert CalendarNumbers(in_seconds=False).read(far).tolist() == [last, first, 18262]
    assert CalendarNumbers(in_seconds=True).read(far).tolist() == [last * 86_400, first * 86_400, 18262 * 86_400]


@pytest.mark.parametrize("zone", [None, UTC])
def test_answers_are_dates_or_datetimes_like_the_bounds(zone):
    """Values, intervals and what missing entries count as."""
    noon = [datetime.datetime(2020, 6, 15, 12, tzinfo=zone)] * 400
    bounds = tuple(datetime.datetime(year, 1, 1, tzinfo=zone) for year in (2019, 2022))
    release = dt.median(noon, bounds=bounds, epsilon=50.0)
    assert release.value == noon[0]
    assert release.interval[0] <= noon[0] <= release.interval[1]
    assert release.missing == "drop"
    assert release.clamped == bounds
    assert dt.median(noon, bounds=bounds, nulls="lower", epsilon=50.0).missing == bounds[0]
    dates = (datetime.date(2019, 1, 1), datetime.date(2022, 1, 1))
    for query in (dt.median, dt.minimum, dt.maximum, dt.mean):
        release = query([datetime.date(2020, 6, 15)] * 400, bounds=dates, epsilon=100.0)
        assert type(release.value) is datetime.date
        assert dates[0] <= release.interval[0] <= release.value <= release.interval[1] <= dates[1]
    assert dt.iqr(noon, bounds=dates, epsilon=50.0).value == 0
    assert dt.median([None] * 400, bounds=dates, nulls=datetime.date(2020, 2, 2), epsilon=100.0).value == datetime.date(
        2020, 2, 2
    )


def test_refusals_depend_on_types_alone():
    """Numbers with bounds that are dates, dates with bounds that are numbers, and questions that refuse dates."""
    dates, day = (datetime.date(2019, 1, 1), datetime.date(2022, 1, 1)), [datetime.date(2020, 1, 1)] * 9
    for call, words in (
        (lambda: dt.sum(day, bounds=dates, epsilon=1.0), "sum is not asked of dates"),
        (lambda: dt.median(np.ones(9), bounds=dates, epsilon=1.0), "must be dates where bounds are"),
        (lambda: dt.median(pd.Series(["a"] * 9, dtype="string"), bounds=dates, epsilon=1.0), "must be dates"),
        (lambda: dt.median(pd.to_datetime(pd.Series(day)), bounds=(0, 9), epsilon=1.0), r"bounds=\(date, date\)"),
        (lambda: dt.median(day, bounds=dates[::-1], epsilon=1.0), "the earlier one first"),
        (lambda: dt.median(np.array(["2020"], "datetime64[Y]"), bounds=dates, epsilon=1.0), "days or finer"),
    ):
        with pytest.raises(dt.InvalidArgument, match=words):
            call()


class OwnDate(datetime.date):
    """A date of anybody's own class."""

    def __sub__(self, other):
        raise ValueError("a record")


class OwnMoment(datetime.datetime):
    """CalendarNumbers that say something else about themselves."""

    said: object = 10**30

    def date(self):
        """No date."""
        warnings.warn("a record", stacklevel=1)
        return self.said

    def __sub__(self, other):
        class Length:
            def __floordiv__(self, other):
                return OwnMoment.said

        return Length()


@pytest.mark.parametrize("said", [10**30, "text", None, 1.5, float("nan")])
@pytest.mark.filterwarnings("error")
def test_no_date_of_an_own_class_raises_an_error_or_a_warning(said, monkeypatch):
    """Subtraction, which anybody's own class may have changed, takes no part; what is no date is missing."""
    monkeypatch.setattr(OwnMoment, "said", said)
    listed = [OwnDate(2020, 1, 1), OwnMoment(2020, 1, 1), datetime.date(2020, 1, 2)]
    for in_seconds in (False, True):
        read = CalendarNumbers(in_seconds).read(listed)
        assert read.mask.tolist()[::2] == [False, False]
        assert read[0] + (86_400 if in_seconds else 1) == read[2]
        assert np.abs(np.ma.getdata(read)).max() < 1 << 40
    bounds = (datetime.date(2000, 1, 1), datetime.date(2030, 1, 1))
    assert bounds[0] <= dt.median(listed, bounds=bounds, epsilon=1.0).value <= bounds[1]


@pytest.mark.parametrize("in_seconds", [False, True])
def test_masked_moments_are_missing(in_seconds):
    """Whatever stands behind the mask."""
    column = np.ma.MaskedArray(np.array(["2020-01-01", "2021-01-01", "NaT"], "datetime64[D]"), [True, False, False])
    assert CalendarNumbers(in_seconds).read(column).mask.tolist() == [True, False, True]
    assert CalendarNumbers(in_seconds).read(column.astype(object)).mask.tolist() == [True, False, True]


@pytest.mark.filterwarnings("error")
def test_no_date_of_an_own_class_in_a_table_raises_an_error_or_a_warning(monkeypatch):
    """Lists and columns of objects of a session, where dates are declared."""
    declared = {"day": dt.Date("2000-01-01", "2030-01-01")}
    for said in (10**30, "text", None, float("nan"), datetime.date(2020, 1, 1)):
        monkeypatch.setattr(OwnMoment, "said", said)
        listed = [OwnDate(2020, 1, 1), OwnMoment(2020, 1, 1), datetime.date(2020, 1, 2)]
        for source in ({"day": listed}, pd.DataFrame({"day": pd.Series(listed, dtype=object)})):
            with dt.open(source, columns=declared, rows=3, budget=dt.Budget(10.0)) as session:
                assert dt.inspect.value(dt.CountPresent("day"), session) == 3
