"""How each entry is read, on every engine against plain Python: which are present, and which read as declared."""

import datetime
import itertools
from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import dither as dt
from contract.record_cases import INF, LOWER, NAN, TABLES, UPPER, chosen
from contract.record_oracle import number
from contract.record_sources import SPARK, TEXTS, asked, long_form, some, stored
from dither.sources.states import STATES

SURE = {"epsilon": 500.0, "confidence": None}
"""At this epsilon a count is off by one with probability below e^-50."""
WORDS = ["a", None, "b", "b", "c", "", "other", None]
STRAY = [None, "5", "-1e9", "n/a", "nan", "", "1,234", "1e400", "12", "$5"]


def state(record):
    """By the rule: empty and NaN are missing, what is no number is unreadable, what is outside is clamped."""
    if record is None or (isinstance(record, float) and record != record) or record == "":
        return "missing"
    value = number(record)
    if value is None:
        return "unreadable"
    return "as declared" if LOWER <= value <= UPPER else "clamped"


def counted(states):
    """How many records each state has, in order."""
    found = Counter(states)
    return tuple(found[one] for one in STATES)


def shares(states):
    """The shares of what does not read as declared."""
    return tuple(one / max(len(states), 1) for one in counted(states)[1:])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", some("presence and states", 3, 3, 2, 1, 1))
def test_numbers_are_present_missing_or_clamped(name, place):
    """Every source counts the same records, with every null policy, a public and a private number of rows."""
    tables = chosen(TABLES.items(), 1 if name in SPARK else 3, name, long_form(name))
    for label, records in [*tables, ("clamped", [LOWER - 1.0, LOWER, UPPER, UPPER + 1.0, NAN, None, INF, -INF])]:
        given = stored(name, place, {"v": records})
        # A CSV has the text "nan" for NaN, which is there and no number.
        states = [state("nan" if one is not None and one != one and name in TEXTS else one) for one in records]
        present = sum(one in ("as declared", "clamped") for one in states)
        for nulls, rows in itertools.product((None, "drop"), (None, len(records))):
            with asked(given, {"v": dt.Real(LOWER, UPPER, nulls=nulls)}, rows=rows) as session:
                assert dt.inspect.value(dt.CountPresent("v"), session) == present, (name, label)
                assert dt.inspect.value(dt.Quality("v"), session) == pytest.approx(shares(states)), (name, label)
                if nulls is None and rows is None:
                    assert session.ask(dt.CountPresent("v"), **SURE).value == present
                    assert session.ask(dt.Quality("v"), **SURE).value == pytest.approx(shares(states), abs=1e-9)
                    half = [one for one in records if (found := number(one)) is not None and found > 0]
                    assert dt.inspect.value(dt.CountPresent("v"), session, where="v > 0") == len(half)


@pytest.mark.parametrize("name", some("presence of words", 2, 2, 2, 1, 1))
def test_words_are_present_and_declared_or_not(name, place):
    """A category that nobody declared is unreadable; an empty field of a CSV is missing."""
    given = stored(name, place, {"v": pa.array(WORDS, pa.string())})
    empty = name in TEXTS
    states = [
        "missing" if one is None or (empty and one == "") else ("as declared" if one in ("a", "b") else "unreadable")
        for one in WORDS
    ]
    with asked(given, {"v": dt.Category(["a", "b"])}) as session:
        assert dt.inspect.value(dt.CountPresent("v"), session) == sum(one != "missing" for one in states)
        assert dt.inspect.value(dt.Quality("v"), session) == pytest.approx(shares(states))


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_fields_of_text_files_are_unreadable_where_they_are_no_numbers(name, place):
    """A field that is no plain number is there, and unreadable; count(column) does not count it."""
    given = stored(name, place, {"v": pa.array(STRAY, pa.string()), "w": pa.array(["x"] * len(STRAY))})
    states = [state(one) for one in STRAY]
    assert {"missing", "unreadable", "clamped", "as declared"} == set(states)
    with asked(given, {"v": dt.Real(LOWER, UPPER)}) as session:
        readable = sum(one in ("as declared", "clamped") for one in states)
        assert dt.inspect.value(dt.CountPresent("v"), session) == readable
        assert dt.inspect.value(dt.Quality("v"), session) == pytest.approx(shares(states))


@pytest.mark.parametrize(
    "data",
    [
        STRAY,
        np.array(STRAY, dtype=object),
        [1.0, NAN, None, INF, 10**400, "x", float(LOWER), UPPER + 1],
        np.array([1.0, NAN, INF, UPPER]),
        np.arange(5),
        np.ma.MaskedArray([1.0, 2.0, 3.0], [False, True, False]),
        pa.chunked_array([[1, None], [7]]),
    ],
    ids=lambda data: type(data).__name__,
)
def test_arrays_and_lists_are_read_entry_by_entry(data):
    """One-line functions follow the same rule; without a declared type a text is present, whatever it says."""
    listed = data.to_pylist() if hasattr(data, "to_pylist") else list(data)
    listed = [None if one is np.ma.masked else one for one in listed]
    states = ["unreadable" if one == "" else state(one) for one in listed]
    bounds = (LOWER, UPPER)
    assert dt.quality(data, bounds=bounds, **SURE).value == pytest.approx(shares(states), abs=1e-9)
    assert dt.count_present(data, **SURE).value == sum(one != "missing" for one in states)


@pytest.mark.parametrize("records", [None, 40])
def test_intervals_of_shares_hold_what_the_counts_can_be(records):
    """Every vector of counts within its intervals gives shares within theirs."""
    from dither.queries.presence import share_ends
    from dither.queries.presence import shares as shares_of

    ends = ((3, 5), (0, 2), (-2, 1), (1, 3))
    found = share_ends(ends, records)
    for counts in itertools.product(*(range(max(low, 0), high + 1) for low, high in ends)):
        for one, (low, high) in zip(shares_of(counts, records), found, strict=True):
            assert low <= one <= high
    assert share_ends(((0, 0),) * 4, None) == ((0.0, 0.0),) * 3


# --- declared formats ----------------------------------------------------------------------------------------------

WRITTEN = [
    *(None, "", " ", "-", "+", ".", ",", "$", "x", "nan", "inf", "1e5", "0x10", "1_000"),
    *("0", "-0", "7", "+7", "-7", "1234", "12345", "1,234", "1.234", "1,234.5", "1.234,5", "1,23", "12,34,567"),
    *(
        "$5",
        "-$5",
        "$-5",
        "$ 5",
        "$$5",
        "5$",
        "--5",
        "5-",
        "5 \u20ac",
        "5\u00a0\u20ac",
        "5\u20ac",
        "1 234",
        "1\u202f234",
        "12 34",
    ),
    *(".5", "5.", ",5", "5,", "0.1", "0,1", "1'234", "'5", "5\n", "\n5", " 5 ", "5\t", "5\x0b", "\u0665", "\uff15"),
    *("\u00a05", "5\u202f ", "\u30005", "\u20285", "5\u200b"),
    *("9" * 255, "9" * 256, "0." + "0" * 254 + "1", "0." + "0" * 300 + "1", "0," + "0" * 254 + "1", "1" + ",000" * 84),
    *("1" + ",000" * 85, "-" + "9" * 255, "EUR5", "5EUR", "E5EUR", "E5", "5;", "a'b", 'a"b', "\\5", "5\\"),
]
NUMBER_FORMATS = ("1234.56", "1,234.56", "1.234,56", "$1,234", "1 234,56 \u20ac", "1'234.56", "E1234EUR", "1234,56")
DAYS = [
    *(None, "", "1/1/11", "01/01/2011", "12/31/99", "2/29/00", "2/30/00", "2/29/1900", "0/1/11", "13/1/11", "1/0/11"),
    *("1/32/11", "4/31/11", "1/1/68", "1/1/69", "1.1.2011", "31.12.9999", "1.1.0000", "1.1.0001", "29.2.2000"),
    *("29.2.1900", "20110131", "20110231", "2011013", "2011-01-31", "2011-01-31 23:59:59", "2011-01-31 99:99:99"),
    *("\u00a01/1/11\u3000", "1/1/11\u2028"),
    *(" 1/1/11 ", "1/1/11\n", "1/1/111", "x", "1/1/", "//", "\u0661/1/11", "1/1/11 ", "31.4.2010", "10000101"),
]
DATE_FORMATS = ("%m/%d/%y", "%d.%m.%Y", "%Y%m%d", "%Y-%m-%d %H:%M:%S", "%m/%d/%Y")


SPACES = " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
"""All of Unicode's category Zs."""


def read_number(text, written):
    """The rule in plain Python, without regular expressions; None where a text is no number in this format."""
    blanks, figures = " \u00a0\u202f", "0123456789"
    body = (text or "").strip(SPACES)
    negative, signs = False, 0
    if body[:1] in ("+", "-"):
        negative, signs, body = body[0] == "-", 1, body[1:]
    if written.prefix and body.startswith(written.prefix):
        body = body[len(written.prefix) :]
        body = body[1:] if body[:1] and body[0] in blanks else body
        if body[:1] in ("+", "-"):
            negative, signs, body = body[0] == "-", signs + 1, body[1:]
    if written.suffix and body.endswith(written.suffix):
        body = body[: -len(written.suffix)]
        body = body[:-1] if body[-1:] and body[-1] in blanks else body
    whole, _, part = body.partition(written.decimal)
    separators = blanks if written.thousands == " " else written.thousands
    if separators and any(one in separators for one in whole):
        for one in separators:
            whole = whole.replace(one, ",")
        groups = whole.split(",")
        if not 1 <= len(groups[0]) <= 3 or any(len(one) != 3 for one in groups[1:]) or len(groups) > 85:
            return None
        whole = "".join(groups)
    elif len(whole) > 255:
        return None
    if signs > 1 or len(part) > 255 or not (whole or part) or (not whole and not part):
        return None
    if not all(one in figures for one in whole + part):
        return None
    return float(f"{'-' if negative else ''}{whole or 0}.{part or 0}")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", some("number formats", 1, 2, 1, 1, 1))
def test_numbers_in_a_declared_format_are_read_alike_everywhere(name, place):
    """Every text by itself, on every engine; what is written in another way is missing."""
    from dither.sources.formats import NumberFormat

    texts = [one for one in WRITTEN if one is None or not (name in TEXTS and "\n" in one)]
    given = stored(name, place, {"t": pa.array(texts, pa.string()), "i": pa.array(range(len(texts)), pa.int64())})
    for written in NUMBER_FORMATS:
        expected = [read_number(one, NumberFormat.of(written)) for one in texts]
        assert [NumberFormat.of(written).number(one or "") for one in texts] == pytest.approx(
            [NAN if one is None else one for one in expected], rel=0, abs=0, nan_ok=True
        )
        columns = {"t": dt.Real(-1e260, 1e260, step=2.0**820, format=written), "i": dt.Integer(0, 999)}
        small = {"t": dt.Real(-10_000, 10_000, step=0.0625, format=written), "i": dt.Integer(0, 999)}
        for declared in (columns, small):
            with asked(given, declared) as session:
                known = [one for one in expected if one is not None]
                assert dt.inspect.value(dt.CountPresent("t"), session) == len(known), (name, written)
                low, high = declared["t"].grid.ends
                step = float(declared["t"].grid.step)
                steps = [min(max(round(one / step), low), high) for one in known]
                total = dt.inspect.value(dt.Sum("t", nulls=0), session)
                assert total == pytest.approx(sum(steps) * step, rel=1e-12), (name, written)
        with asked(given, small | {"i": dt.Integer(0, len(texts) - 1)}) as session:
            found = dt.inspect.value(dt.CountPresent("t"), session, by="i")
            assert [found[index,] for index in range(len(texts))] == [one is not None for one in expected], written


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", some("date formats", 1, 2, 1, 1, 1))
def test_days_in_a_declared_format_are_read_alike_everywhere(name, place):
    """Days that are none, such as the 30th of February, are missing; years of two figures are those of POSIX."""
    from dither.sources.formats import DateFormat

    texts = [one for one in DAYS if one is None or not (name in TEXTS and "\n" in one)]
    given = stored(name, place, {"t": pa.array(texts, pa.string()), "i": pa.array(range(len(texts)), pa.int64())})
    for written in DATE_FORMATS:
        expected = [DateFormat.of(written).day(one or "") for one in texts]
        for one, found in zip(texts, expected, strict=True):
            assert found == parsed_day(one, written), (one, written)
        columns = {
            "t": dt.Date("0001-01-01", "9999-12-31", format=written, nulls="lower"),
            "i": dt.Integer(0, len(texts) - 1),
        }
        with asked(given, columns) as session:
            known = sorted(one for one in expected if one is not None)
            assert dt.inspect.value(dt.CountPresent("t"), session) == len(known), (name, written)
            found = dt.inspect.value(dt.Minimum("t"), session, by="i")
            days = [one and (one - datetime.date(1970, 1, 1)).days for one in expected]
            low = (datetime.date(1, 1, 1) - datetime.date(1970, 1, 1)).days
            assert [found[index,] for index in range(len(texts))] == [low if one is None else one for one in days]


def parsed_day(text, written):
    """By datetime.strptime, where that reads no more than the declared figures."""
    text = (text or "").strip(SPACES)
    if not text.isascii() or any(one.isspace() and one != " " for one in text):
        return None
    try:
        day = datetime.datetime.strptime(text.replace("99:99:99", "00:00:00"), written).date()  # noqa: DTZ007
    except ValueError:
        return None
    # (strptime takes months and days of one figure where figures follow, and years of fewer than four)
    wanted = {"%Y%m%d": 8, "%Y": 4}
    return None if written == "%Y%m%d" and len(text) != wanted[written] else day


@pytest.mark.parametrize("name", some("texts without a format", 1, 2, 0, 1, 1))
def test_texts_without_a_declared_format_are_no_numbers(name, place):
    """Refused when the table is opened, before anything is read, whatever the texts are."""
    given = stored(name, place, {"t": pa.array(["1", "2"], pa.string())})
    for column in (dt.Real(0, 1), dt.Integer(0, 1), dt.Date("2000-01-01", "2001-01-01")):
        with pytest.raises(dt.InvalidArgument, match="say how they are written"), asked(given, {"t": column}):
            pass


@pytest.mark.parametrize("written", ["", "1", "12.34", "1,234,56", "1.234.56", "x1234+", "(1234)", "1-234", 7])
def test_formats_of_numbers_that_say_nothing_are_refused(written):
    """A format is the number 1234.56 as it is written there."""
    with pytest.raises(dt.InvalidArgument, match="format"):
        dt.Real(0, 1, format=written)


@pytest.mark.parametrize(
    "written", ["", "%Y", "%Y-%m", "%d.%m.%Y %d", "%Y%y%m%d", "%B %d %Y", "%Y(%m)%d", "[%Y]%m%d", 7]
)
def test_formats_of_dates_that_say_nothing_are_refused(written):
    """A format has a year, a month and a day once each."""
    with pytest.raises(dt.InvalidArgument, match="format"):
        dt.Date("2000-01-01", "2001-01-01", format=written)


def test_objects_of_a_frame_are_read_by_their_declared_type():
    """Dates, decimals and texts of an untyped pandas column, each by itself; a typed column of texts is refused."""
    import pandas as pd

    frame = pd.DataFrame(
        {
            "d": pd.Series([datetime.date(2020, 1, 5), "2020-01-07", None, "x"] * 3, dtype=object),
            "n": pd.Series([Decimal("1.5"), "$2,000", 3, "x"] * 3, dtype=object),
        }
    )
    columns = {
        "d": dt.Date("2020-01-01", "2020-12-31", nulls="drop"),
        "n": dt.Real(0, 5_000, step=0.5, nulls="drop", format="$1,234.56"),
    }
    for source in (frame, {name: list(frame[name]) for name in frame}):
        with asked({"source": source}, columns) as session:
            assert (
                dt.inspect.value(dt.Maximum("d"), session)
                == (datetime.date(2020, 1, 7) - datetime.date(1970, 1, 1)).days
            )
            assert dt.inspect.value(dt.CountPresent("d"), session) == 6
            assert dt.inspect.value(dt.Sum("n"), session) == 3 * 2004.5
    typed = frame.assign(n=frame["n"].astype(str).astype("string"))
    with (
        pytest.raises(dt.InvalidArgument, match="say how they are written"),
        asked({"source": typed}, {"n": dt.Real(0, 1)}),
    ):
        pass


@pytest.mark.parametrize("version", [1, 2])
def test_texts_without_a_format_are_dates_only_if_they_are_iso(version, tmp_path):
    """1/3/11 is a day of the year 1 to an engine: it is missing, and not the lower bound; version 1 reads it so."""
    texts = ["1/3/11", "1/4/11", "2011-03-01", " 2011-03-01 ", "2011-3-1", "2011-03-01 10:00:00", "2011/03/01", "x", ""]
    (tmp_path / "days.csv").write_text("\n".join(["d,n", *(f"{one},1" for one in texts)]), encoding="utf-8")
    schema = dt.Schema(
        str(tmp_path / "days.csv"), {"d": dt.Date("2011-01-01", "2011-12-31")}, budget=dt.Budget(1.0), version=version
    )
    with dt.Session(schema) as session:
        found = dt.inspect.value(dt.CountPresent("d"), session)
        assert found == (4 if version == 2 else 7)
