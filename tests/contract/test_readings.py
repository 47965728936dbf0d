"""How each entry is read, on every engine against plain Python: which are present, and which read as declared."""

import itertools
from collections import Counter

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
