"""Moments and durations, stored as such and as texts: every engine reads every record by itself, and all alike.

The declared reading is worked out here by brute force: a moment is its whole seconds since 1970, of UTC where it has a
time zone, rounded down to the declared step and clamped to the bounds; a duration is its seconds.
"""

# ruff: noqa: DTZ001, DTZ007, DTZ901  (moments without a time zone are what is tested)

import datetime
import math

import numpy as np
import pyarrow as pa
import pytest

import dither as dt
from contract.record_sources import FILES, FRAMES, POSTGRES, SPARK, SQLITE, TEXTS, asked, some, stored

EPOCH = datetime.datetime(1970, 1, 1)
LOW, HIGH = datetime.datetime(1969, 12, 31, 23, 0), datetime.datetime(1970, 1, 3, 0, 30)
MOMENTS = [
    None,
    EPOCH,
    EPOCH - datetime.timedelta(microseconds=1),
    EPOCH + datetime.timedelta(microseconds=999_999),
    datetime.datetime(1969, 12, 31, 23, 30, 0, 5),
    datetime.datetime(1970, 1, 1, 23, 59, 59, 999_999),
    datetime.datetime(1970, 1, 2, 12, 34, 56),
    datetime.datetime(1, 1, 1),
    datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999),
    datetime.datetime(2024, 2, 29, 1),
]
WRITTEN = [
    None,
    "",
    "1970-01-01",
    "1970-01-01 00:00",
    "1970-01-02T12:34:56",
    "1970-01-02T12:34:56.789",
    " 1970-01-02 12:34:56Z",
    "1970-01-02 12:34:56+01:00",
    "1970-01-02 00:00:00-0130",
    "1970-01-02 12:34:56 +02",
    "1970-01-02 24:00:00",
    "1970-01-02 12:60",
    "1970-02-30 12:00",
    "02.01.1970 12:34",
    "2.1.1970 1:5",
    "31.12.69 23:30",
    "1970-01-02 12:34:56 CET",
    "9999-12-31 23:59:59-12:00",
    "0001-01-01 00:00:00+12:00",
    "tomorrow",
    "12:34",
]
FORMATS = ["%d.%m.%Y %H:%M", "%Y-%m-%d %H:%M:%S%z", "%d.%m.%y %H:%M", "%Y-%m-%dT%H:%M:%S.%f"]
SPANS = [None, 0, 1, -1, 1_500_000, 59_999_999, 3_600_000_000, -86_400_000_000, 10**15, (1 << 53) + 1]
"""In microseconds."""
WRITTEN_SPANS = [
    None,
    "",
    "0:00",
    "1:30",
    "90:05",
    "-1:30",
    "+0:01",
    "1:30.25",
    "1:2:3",
    "26:00:01",
    "1:",
    "x",
    " 5:06 ",
]
SPAN_FORMATS = ["%M:%S", "%H:%M:%S", "%M:%S.%f"]


def seconds(moment):
    """The whole seconds of a moment, rounded down."""
    return None if moment is None else (moment - EPOCH) // datetime.timedelta(seconds=1)


def declared_reading(second, step=1):
    """What a record counts as between the bounds; missing ones as the lower."""
    low, high = (seconds(end) // step * step for end in (LOW, HIGH))
    return low if second is None else min(max(second // step * step, low), high)


def parsed(text, written=None):
    """A text as seconds by datetime's own readers, whose forms the lists above keep to; None where it is none."""
    text = (text or "").strip()
    try:
        if written is None:
            if not text[:4].isdigit() or "CET" in text or "24:" in text:
                return None
            moment = datetime.datetime.fromisoformat(text.replace(" +", "+"))
        else:
            moment = datetime.datetime.strptime(text, written)
    except ValueError:
        return None
    if moment.tzinfo is not None:
        offset = moment.utcoffset()
        moment = moment.replace(tzinfo=None)
        second = seconds(moment) - int(offset.total_seconds())
        last = datetime.datetime(9999, 12, 31, 23, 59, 59)
        return min(max(second, seconds(datetime.datetime.min)), seconds(last))
    return seconds(moment)


def span(text, written):
    """A duration of a text, by hand."""
    text = (text or "").strip()
    sign = -1 if text.startswith("-") else 1
    parts = text.lstrip("+-").split(":") if text[:1] in "+-" else text.split(":")
    wanted = written.split(":")
    if len(parts) != len(wanted) or not text:
        return None
    total = 0.0
    for part, form in zip(parts, wanted, strict=True):
        whole, point, fraction = part.partition(".")
        if bool(point) != form.endswith("%f") or not whole.isdigit() or (point and not fraction.isdigit()):
            return None
        unit = {"%H": 3600, "%M": 60, "%S": 1}[form[:2]]
        total += int(whole) * unit + (float(f"0.{fraction}") if point else 0.0)
    return sign * total


def read(session, name, rows):
    """What each record counts as, by a group for each of them."""
    values = dt.inspect.value(dt.Minimum(name), session, by="i")
    return [values[index,] for index in range(rows)]


TYPED = {name for family in (FILES, FRAMES, POSTGRES, SPARK) for name in family} - {"postgres_numeric"}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [one for one in some("moments", 2, 3, 0, 1, 1, 0) if one in TYPED])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_moments_are_whole_seconds_of_utc(name, zone, place):
    """Rounded down, before 1970 too; with a time zone and without; in steps of an hour."""
    stamps = pa.array(MOMENTS, pa.timestamp("us")).cast(pa.timestamp("us", zone))
    given = stored(name, place, {"t": stamps, "i": pa.array(range(len(MOMENTS)), pa.int64())})
    for step in (1, 3_600):
        columns = {
            "t": dt.Timestamp(LOW, HIGH, nulls="lower", step=step),
            "i": dt.Integer(0, len(MOMENTS) - 1),
        }
        with asked(given, columns) as session:
            expected = [declared_reading(seconds(one), step) for one in MOMENTS]
            assert read(session, "t", len(MOMENTS)) == expected, (name, zone, step)
            assert dt.inspect.value(dt.CountPresent("t"), session) == len(MOMENTS) - 1
            late = dt.inspect.value(dt.Count(), session, where="t >= '1970-01-02 12:00'")
            inside = [one for one in MOMENTS if one is not None and seconds(one) // step * step >= 129_600]
            assert late == len(inside)


NANOSECONDS = [None, -(1 << 63) + 1, -(1 << 63) + 2, -1, 0, 1, 10**9 - 1, (1 << 63) - 2, (1 << 63) - 1]
"""The least and the largest of 64 bits among them, which DuckDB takes for infinite."""


@pytest.mark.parametrize("name", ["arrow_frame", "pandas_numpy", "pandas_arrow", "parquet_arrow", "duckdb_table"])
def test_moments_of_nanoseconds_end_before_the_calendar_does(name, place):
    """Whatever 64 bits hold is rounded down, and no record fails another's question."""
    stamps = pa.array(NANOSECONDS, pa.int64()).cast(pa.timestamp("ns"))
    rows = len(NANOSECONDS)
    given = stored(name, place, {"t": stamps, "i": pa.array(range(rows), pa.int64())})
    columns = {"t": dt.Timestamp(LOW, HIGH, nulls="lower"), "i": dt.Integer(0, rows - 1)}
    expected = [None if one is None else one // 10**9 for one in NANOSECONDS]
    with asked(given, columns) as session:
        assert read(session, "t", rows) == [declared_reading(one) for one in expected], name
        assert dt.inspect.value(dt.CountPresent("t"), session) == rows - 1
        assert dt.inspect.value(dt.Mean("t"), session) == pytest.approx(
            sum(declared_reading(one) for one in expected) / rows, abs=1
        )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", some("written moments", 1, 2, 1, 1, 1, 1))
def test_moments_in_texts_are_read_alike(name, place):
    """In a declared format everywhere; in text files ISO 8601 without one."""
    given = stored(name, place, {"t": pa.array(WRITTEN, pa.string()), "i": pa.array(range(len(WRITTEN)), pa.int64())})
    for written in [*FORMATS, *([None] if name in TEXTS else [])]:
        columns = {
            "t": dt.Timestamp(LOW, HIGH, nulls="lower", format=written),
            "i": dt.Integer(0, len(WRITTEN) - 1),
        }
        expected = [parsed(one, written) for one in WRITTEN]
        with asked(given, columns) as session:
            assert read(session, "t", len(WRITTEN)) == [declared_reading(one) for one in expected], (name, written)
            present = dt.inspect.value(dt.CountPresent("t"), session)
            assert present == sum(one is not None for one in expected), (name, written)


@pytest.mark.parametrize("name", [one for one in some("durations", 2, 3, 0, 1, 1, 0) if one in TYPED])
def test_durations_are_seconds(name, place):
    """Of whatever unit they are stored in."""
    if name in ("parquet_polars", "parquet_duckdb", "parquet_spark", "duckdb_view"):
        pytest.skip("it stores durations as something else")
    given = stored(name, place, {"d": pa.array(SPANS, pa.duration("us")), "i": pa.array(range(len(SPANS)), pa.int64())})
    columns = {"d": dt.Duration(-5_000, 5_000, step=0.25, nulls="lower"), "i": dt.Integer(0, len(SPANS) - 1)}
    with asked(given, columns) as session:
        expected = [-5_000 if one is None else min(max(round(one / 1e6 * 4) / 4, -5_000), 5_000) for one in SPANS]
        assert read(session, "d", len(SPANS)) == expected, name


@pytest.mark.parametrize("name", some("written durations", 1, 2, 1, 1, 1, 1))
def test_durations_in_texts_are_read_alike(name, place):
    """In a declared format; plain decimals of a text file are seconds without one."""
    given = stored(
        name, place, {"d": pa.array(WRITTEN_SPANS, pa.string()), "i": pa.array(range(len(WRITTEN_SPANS)), pa.int64())}
    )
    for written in SPAN_FORMATS:
        columns = {
            "d": dt.Duration(-100_000, 100_000, step=0.25, format=written, nulls="lower"),
            "i": dt.Integer(0, len(WRITTEN_SPANS) - 1),
        }
        expected = [span(one, written) for one in WRITTEN_SPANS]
        with asked(given, columns) as session:
            low = [-100_000.0 if one is None else one for one in expected]
            assert read(session, "d", len(WRITTEN_SPANS)) == low, (name, written)


def test_lists_and_objects_are_read_entry_by_entry():
    """Moments with and without zones, days, texts, numbers; what is none is missing, and no entry raises."""

    class Odd(datetime.datetime):
        def __sub__(self, other):
            raise ValueError("no")

    zone = datetime.timezone(datetime.timedelta(hours=2))
    entries = [
        EPOCH,
        datetime.datetime(1970, 1, 1, 3, tzinfo=zone),
        datetime.date(1970, 1, 2),
        "1970-01-01T00:00:05+00:00",
        5,
        "soon",
        None,
        Odd(1970, 1, 1),
        math.nan,
    ]
    data = {"t": entries, "i": list(range(len(entries)))}
    columns = {"t": dt.Timestamp(LOW, HIGH, nulls="lower"), "i": dt.Integer(0, len(entries) - 1)}
    with asked({"source": data}, columns) as session:
        low = seconds(LOW)
        assert read(session, "t", len(entries))[:7] == [0, 3_600, 86_400, 5, low, low, low]
    spans = [datetime.timedelta(seconds=1.5), 2, "3", "x", None, datetime.timedelta.max]
    columns = {"d": dt.Duration(0, 10, step=0.5, nulls="lower"), "i": dt.Integer(0, len(spans) - 1)}
    with asked({"source": {"d": spans, "i": list(range(len(spans)))}}, columns) as session:
        assert read(session, "d", len(spans)) == [1.5, 2, 3, 0, 0, 10]


def test_arrays_of_durations_have_a_mask_and_a_unit():
    """A masked one is missing, as among reals; what has no fixed length is refused by its type."""
    query = dt.Maximum(bounds=(datetime.timedelta(0), datetime.timedelta(hours=1)), nulls="lower")
    for unit, factor in (("s", 1), ("m", 60), ("ms", 1e-3)):
        spans = np.ma.MaskedArray(np.array([5, 7], f"timedelta64[{unit}]"), [False, True])
        assert dt.inspect.value(query, spans) == pytest.approx(5 * factor, abs=1e-6)
        assert dt.inspect.value(query, spans.data) == pytest.approx(7 * factor, abs=1e-6)
    for unit in ("[Y]", "[M]", "[ps]", ""):
        with pytest.raises(dt.InvalidArgument, match="weeks down to nanoseconds"):
            dt.maximum(np.array([1, 2], f"timedelta64{unit}"), bounds=query.bounds, epsilon=1.0)


def test_days_are_not_compared_with_moments():
    """One is a number of days and the other of seconds: refused before anything is read, and moments are compared."""
    days = pa.array([datetime.date(1970, 1, 1), datetime.date(1970, 1, 3)])
    moments = pa.array([datetime.datetime(1970, 1, 2)] * 2, pa.timestamp("us"))
    later = pa.array([datetime.datetime(1970, 1, 2, 1), datetime.datetime(1970, 1, 1)], pa.timestamp("us"))
    columns = {name: dt.Timestamp(LOW, HIGH) for name in ("at", "later")} | {"day": dt.Date("1969-01-01", "1971-01-01")}
    with asked({"source": pa.table({"day": days, "at": moments, "later": later})}, columns) as session:
        for where in ("day < at", "at = day", "day <> at"):
            with pytest.raises(dt.DitherError, match="compare columns of the same type"):
                session.quote(dt.Count(), epsilon=1.0, where=where)
        assert dt.inspect.value(dt.Count(), session, where="at < later") == 1


def test_a_twin_that_rounds_up_is_caught(place):
    """The cases tell rounding down from rounding to the nearest second, and UTC from a wall clock."""
    nearest = [None if one is None else round((one - EPOCH) / datetime.timedelta(seconds=1)) for one in MOMENTS]
    assert [declared_reading(one) for one in nearest] != [declared_reading(seconds(one)) for one in MOMENTS]
    walls = [parsed((one or "").partition("+")[0]) for one in WRITTEN]
    assert walls != [parsed(one) for one in WRITTEN]
    assert place is not None


@pytest.mark.parametrize("name", list(SQLITE)[:1])
def test_numbers_are_no_moments_in_sqlite(name, place):
    """They may be Julian days or seconds since 1970."""
    given = stored(name, place, {"t": pa.array(MOMENTS, pa.timestamp("us")), "i": pa.array(range(len(MOMENTS)))})
    columns = {"t": dt.Timestamp(LOW, HIGH, nulls="lower"), "i": dt.Integer(0, len(MOMENTS) - 1)}
    with asked(given, columns) as session:
        assert read(session, "t", len(MOMENTS)) == [declared_reading(seconds(one)) for one in MOMENTS]
