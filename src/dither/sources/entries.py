"""What one entry without a declared type counts as: a number, a text, or nothing.

Entries of lists and of columns of objects may be anything.  Each is read by itself, and none of them may raise an error
or a warning: whether one is there would depend on a single record.  That is why each is any ``object`` here.
"""

from __future__ import annotations

import contextlib
import datetime
import math
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

_NOTHING = ("NAType", "NaTType")
FAILURES = (Exception, SystemExit)
"""What an entry of anybody's own class may raise when it is looked at."""


def is_missing(entry: object) -> bool:  # anything: an entry of a list
    """True for None, NaN and the missing values of pandas; of a number of somebody's own class, if it says so."""
    try:
        return bool(entry is None or (isinstance(entry, float) and entry != entry) or type(entry).__name__ in _NOTHING)
    except FAILURES:
        return True


SPACES = "".join(chr(code) for code in range(0x3001) if unicodedata.category(chr(code)) == "Zs")
"""What is cut off at both ends of a text before it is read, as SQL's TRIM does: spaces, and neither tabs nor lines."""
TRUE_WORDS = ("true", "t", "yes", "1")
FALSE_WORDS = ("false", "f", "no", "0")
"""Texts that are truth values, in small letters; other texts are read as numbers."""


def real(entry: object) -> float:  # anything: an entry of a list
    """A number as a float, those beyond its range as infinities; NaN where it is missing or no number.

    Of texts those are numbers that Python reads as such, with ``_`` between figures too: as in text files.

    >>> real("12"), real("1_000"), real(10**400), real("twelve")
    (12.0, 1000.0, inf, nan)
    """
    if is_missing(entry) or isinstance(entry, (complex, np.complexfloating)):
        return math.nan
    if isinstance(entry, str):
        entry = str.strip(entry, SPACES)
        if not entry.isascii():
            return math.nan  # (figures of other scripts)
    try:
        return float(entry)  # type: ignore[arg-type]  # anything may be tried
    except OverflowError:
        with contextlib.suppress(*FAILURES):
            return math.inf if entry > 0 else -math.inf  # type: ignore[operator]  # anything may be tried
        return math.nan
    except FAILURES:
        return math.nan


def text(entry: object) -> str | None:  # anything: an entry of a list
    """An entry as a text that every engine can hold; None where it is missing or has none.

    >>> text(3.5), text(b"abc"), text("\\ud800") is None
    ('3.5', 'abc', True)
    """
    if is_missing(entry):
        return None
    try:
        written = entry.decode("utf-8", "replace") if isinstance(entry, bytes) else str(entry)
        written = str.__str__(written)  # (a text of anybody's own class as a plain one)
        written.encode()  # (half of a surrogate pair has no bytes)
    except FAILURES:
        return None
    return written


def truth(entry: object) -> bool | None:  # anything: an entry of a list
    """An entry as a truth value: numbers other than 0 are true; None where it is missing or neither.

    >>> truth(True), truth(0), truth("yes"), truth("0"), truth("maybe")
    (True, False, True, False, None)
    """
    if not is_missing(entry) and isinstance(entry, str):
        word = str.lower(str.strip(entry, SPACES))
        if word in TRUE_WORDS or word in FALSE_WORDS:
            return word in TRUE_WORDS
    number = real(entry)
    return None if math.isnan(number) else number != 0


def day(
    entry: object,  # anything: an entry of a list
    written: Callable[[str], datetime.date | None] | None = None,
) -> datetime.date | None:
    """An entry as a day: a date, or the day of a moment, that of UTC where it has a time zone; None where it is none.

    written: how texts are.
    """
    try:
        if isinstance(entry, str):
            return None if written is None else written(entry)
        if isinstance(entry, np.datetime64):
            entry = entry.astype("datetime64[D]").item()
        if isinstance(entry, datetime.datetime):
            known = second(entry)
            return None if known is None else datetime.date.fromordinal(_EPOCH + known // _A_DAY)
        # (a date of anybody's own class as a plain one)
        return datetime.date.fromordinal(datetime.date.toordinal(entry)) if isinstance(entry, datetime.date) else None
    except FAILURES:
        return None


_FIRST_OF_1970 = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_A_DAY = 86_400
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_FIRST_SECOND, _AFTER_LAST = ((day.toordinal() - _EPOCH) * _A_DAY for day in (datetime.date.min, datetime.date.max))


def second(
    entry: object,  # anything: an entry of a list
    written: Callable[[str], int | None] | None = None,
) -> int | None:
    """An entry as whole seconds from 1970-01-01, of UTC where it has a time zone; None where it is no moment.

    written: how texts are.  What lies beyond the calendar counts as the nearer end.
    """
    try:
        if isinstance(entry, str):
            return None if written is None else written(entry)
        if isinstance(entry, np.datetime64):
            entry = entry.astype("datetime64[s]").item()
        if is_missing(entry) or not isinstance(entry, datetime.date):
            return None
        if not isinstance(entry, datetime.datetime):
            known = day(entry)
            return None if known is None else (known.toordinal() - _EPOCH) * _A_DAY
        # (a moment of anybody's own class as a plain one)
        aware = entry if entry.tzinfo is not None else datetime.datetime.replace(entry, tzinfo=datetime.UTC)
        result = datetime.datetime.__sub__(aware, _FIRST_OF_1970) // datetime.timedelta(seconds=1)
        return min(max(result, _FIRST_SECOND), _AFTER_LAST + _A_DAY - 1)
    except FAILURES:
        return None


def seconds(
    entries: Iterable[object],  # anything: an entry of a list
    written: Callable[[str], int | None] | None = None,
) -> list[int | None]:
    """Many entries as seconds since 1970.  written: how texts are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [second(entry, written) for entry in entries]


def exact_seconds(span: datetime.timedelta) -> Fraction:
    """The seconds of a duration, exactly."""
    return Fraction(span // datetime.timedelta(microseconds=1), 1_000_000)


def duration(
    entry: object,  # anything: an entry of a list
    written: Callable[[str], float] | None = None,
) -> float:
    """An entry as seconds: a duration, or a number of them; NaN where it is neither.  written: how texts are."""
    try:
        if isinstance(entry, str) and written is not None:
            return written(entry)
        if isinstance(entry, np.timedelta64):
            return math.nan if np.isnat(entry) else float(seconds_of(np.asarray([entry]))[0])
        if isinstance(entry, datetime.timedelta) and not is_missing(entry):
            whole = datetime.timedelta.__floordiv__(entry, datetime.timedelta(microseconds=1))
            return float(whole) / 1e6
    except FAILURES:
        return math.nan
    return real(entry)


_LONG = {"W": 604_800, "D": 86_400, "h": 3_600, "m": 60, "s": 1}
SHORT = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""How many of a unit a second has."""
SPAN_UNITS = frozenset({*_LONG, *SHORT})
"""The units of typed durations that are read: months and years have no fixed length."""


def seconds_of(spans: NDArray[np.timedelta64]) -> NDArray[np.float64]:
    """Typed durations as seconds; NaN where one is missing or masked, or the unit is none of ``SPAN_UNITS``."""
    unit, count = np.datetime_data(spans.dtype)
    stored = np.ma.getdata(spans)
    whole = stored.astype(np.int64).astype(np.float64) * count
    read = whole * _LONG[unit] if unit in _LONG else whole / SHORT.get(unit, math.nan)
    return np.asarray(np.where(np.isnat(stored) | np.ma.getmaskarray(spans), math.nan, read), dtype=np.float64)


def durations(
    entries: Iterable[object],  # anything: an entry of a list
    written: Callable[[str], float] | None = None,
) -> NDArray[np.float64]:
    """Many entries as seconds."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.fromiter((duration(entry, written) for entry in entries), dtype=np.float64)


def days(
    entries: Iterable[object],  # anything: an entry of a list
    written: Callable[[str], datetime.date | None] | None = None,
) -> list[datetime.date | None]:
    """Many entries as days.  written: how texts are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [day(entry, written) for entry in entries]


def reals(entries: Iterable[object]) -> NDArray[np.float64]:  # anything: an entry of a list
    """Many entries as numbers."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.fromiter((real(entry) for entry in entries), dtype=np.float64)


def truths(entries: Iterable[object]) -> NDArray[np.float64]:  # anything: an entry of a list
    """Many entries as truth values: 1 and 0, NaN where one is missing or neither."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.fromiter(
            (math.nan if (result := truth(entry)) is None else result for entry in entries), dtype=np.float64
        )


def texts(entries: Iterable[object]) -> list[str | None]:  # anything: an entry of a list
    """Many entries as texts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [text(entry) for entry in entries]
