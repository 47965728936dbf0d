"""Days and moments of arrays, lists and frames as whole numbers, where bounds are dates or datetimes.

Every entry is read by itself: the day of a moment with a time zone is that of UTC, a moment without one counts as UTC,
what is no date is missing.
"""

from __future__ import annotations

import datetime
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument
from dither.sources.entries import SPAN_UNITS, day, durations, exact_seconds, second, seconds_of
from dither.sources.formats import ISO_MOMENTS
from dither.sources.frames import ColumnLike, column_entries, is_table

_EPOCH = datetime.date(1970, 1, 1)
_FIRST, _LAST = ((item - _EPOCH).days for item in (datetime.date.min, datetime.date.max))
_A_DAY = 86_400
_FINE = ("D", "h", "m", "s", "ms", "us", "ns")
"""Units of numpy that are read; coarser ones hold more years than there are."""


@dataclass(frozen=True)
class CalendarNumbers:
    """Days, or seconds where bounds are datetimes; ``zoned``: whether answers have the time zone UTC."""

    in_seconds: bool
    zoned: bool = False

    @property
    def _per_day(self) -> int:
        return _A_DAY if self.in_seconds else 1

    def number(self, moment: datetime.date) -> int:
        """The whole days or seconds from 1970-01-01 to a public date or datetime."""
        if not self.in_seconds:
            return (moment - _EPOCH).days
        return _second(moment) or 0

    def displayed(self, number: float) -> datetime.date:
        """A released number as a date, or a datetime."""
        whole = min(max(round(number), _FIRST * self._per_day), (_LAST + 1) * self._per_day - 1)
        if not self.in_seconds:
            return _EPOCH + datetime.timedelta(days=whole)
        result = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=whole)
        return result if self.zoned else result.replace(tzinfo=None)

    def read(self, data: ColumnLike) -> np.ma.MaskedArray[tuple[int, ...], np.dtype[np.int64]]:
        """Private: each entry as whole days or seconds, masked where it is missing."""
        typed = _typed(data)
        if typed is not None:
            return self._of_typed(typed)
        entries = data.tolist() if isinstance(data, np.ndarray) else column_entries(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = [_second(entry) if self.in_seconds else _day(entry) for entry in entries]
        whole = np.array([0 if result is None else result for result in results], dtype=np.int64)
        return np.ma.MaskedArray(whole, [result is None for result in results])

    def _of_typed(self, values: NDArray[np.datetime64]) -> np.ma.MaskedArray[tuple[int, ...], np.dtype[np.int64]]:
        missing = np.isnat(np.ma.getdata(values)) | np.ma.getmaskarray(values)
        values = np.ma.getdata(values)
        present = np.where(missing, np.datetime64(0, "D").astype(values.dtype), values)
        days = np.clip(present.astype("datetime64[D]").astype(np.int64), _FIRST, _LAST)
        if not self.in_seconds:
            return np.ma.MaskedArray(days, missing)
        inside = present.astype("datetime64[D]").astype(np.int64) == days
        near = np.where(inside, present, np.datetime64(0, "D").astype(values.dtype))
        seconds = np.where(inside, near.astype("datetime64[s]").astype(np.int64), days * _A_DAY)
        return np.ma.MaskedArray(seconds, missing)


def moments_of(bounds: object) -> CalendarNumbers | None:  # anything: the bounds of a query
    """How entries are read between two dates or datetimes; None for bounds of anything else."""
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        return None
    low, high = bounds
    if not isinstance(low, datetime.date) or not isinstance(high, datetime.date):
        return None
    in_seconds = isinstance(low, datetime.datetime) or isinstance(high, datetime.datetime)
    zoned = any(getattr(end, "tzinfo", None) is not None for end in bounds)
    result = CalendarNumbers(in_seconds, zoned)
    if not result.number(low) < result.number(high):
        raise InvalidArgument("bounds", (str(low), str(high)), "must be two dates, the earlier one first")
    return result


@dataclass(frozen=True)
class DurationBounds:
    """Durations as seconds, where bounds are durations."""

    ends: tuple[Fraction, Fraction]

    def read(self, data: ColumnLike) -> NDArray[np.float64]:
        """Private: each entry as seconds; NaN where it is missing.  Entries that are numbers are seconds."""
        typed = _typed_spans(data)
        if typed is not None:
            return seconds_of(typed)
        return durations(data.tolist() if isinstance(data, np.ndarray) else column_entries(data))


def spans_of(bounds: object) -> DurationBounds | None:  # anything: the bounds of a query
    """How entries are read between two durations; None for bounds of anything else."""
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        return None
    low, high = bounds
    if not isinstance(low, datetime.timedelta) or not isinstance(high, datetime.timedelta):
        return None
    if not low < high:
        raise InvalidArgument("bounds", (str(low), str(high)), "must be two durations, the shorter one first")
    return DurationBounds((exact_seconds(low), exact_seconds(high)))


def spans_shape(data: ColumnLike) -> int:
    """How many entries there are: public; errors depend on the type of the data alone."""
    if is_table(data):
        raise InvalidArgument("data", type(data), "must be one column, such as frame['wait'], not a whole table")
    if _typed_spans(data) is None and not _may_hold_dates(data):
        raise InvalidArgument("data", type(data), "must be durations where bounds are: a column or a list of them")
    if len(data) == 0:
        raise InvalidArgument("data", type(data), "must have at least one record")
    return len(data)


def _typed_spans(data: ColumnLike) -> NDArray[np.timedelta64] | None:
    """A column that declares durations; None where it declares none."""
    array: NDArray[np.generic] | None = data if isinstance(data, np.ndarray) else None
    declared = str(getattr(data, "dtype", getattr(data, "type", ""))).lower()
    if array is None and declared.startswith(("timedelta", "duration")):
        column = data.array.__arrow_array__() if declared.endswith("[pyarrow]") else data  # type: ignore[union-attr]
        options = {"zero_copy_only": False} if hasattr(column, "from_buffers") else {}
        array = np.asarray(column.to_numpy(**options))  # type: ignore[union-attr]  # it declares a type
    if array is None or array.dtype.kind != "m" or array.ndim != 1:
        return None
    typed = cast("NDArray[np.timedelta64]", array)
    if np.datetime_data(typed.dtype)[0] not in SPAN_UNITS:
        raise InvalidArgument("data", str(array.dtype), "must be timedelta64 of weeks down to nanoseconds")
    return typed


def moments_shape(data: ColumnLike) -> int:
    """How many entries there are: public; errors depend on the type of the data alone."""
    if is_table(data):
        raise InvalidArgument("data", type(data), "must be one column, such as frame['day'], not a whole table")
    if _typed(data) is None and not _may_hold_dates(data):
        raise InvalidArgument("data", type(data), "must be dates where bounds are: a column or a list of them")
    if len(data) == 0:
        raise InvalidArgument("data", type(data), "must have at least one record")
    return len(data)


def _may_hold_dates(data: ColumnLike) -> bool:
    """True for lists and columns of objects; other types hold no dates."""
    if isinstance(data, np.ndarray):
        return data.dtype == object and data.ndim == 1
    declared = str(getattr(data, "dtype", getattr(data, "type", "object"))).lower()
    return declared in ("object", "null")


def _typed(data: ColumnLike) -> NDArray[np.datetime64] | None:
    """A column that declares moments, in UTC; None where it declares none.

    Each library converts such a column in one way, whether or not an entry is missing.
    """
    array: NDArray[np.generic] | None = data if isinstance(data, np.ndarray) else None
    declared = str(getattr(data, "dtype", getattr(data, "type", ""))).lower()
    if array is None and declared.startswith(("date", "timestamp")):
        column = data.array.__arrow_array__() if declared.endswith("[pyarrow]") else data  # type: ignore[union-attr]
        if getattr(getattr(column, "dtype", None), "tz", None) is not None:  # of pandas
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)  # type: ignore[union-attr]
        options = {"zero_copy_only": False} if hasattr(column, "from_buffers") else {}
        array = np.asarray(column.to_numpy(**options))  # type: ignore[union-attr]  # it declares a type
    if array is None or array.dtype.kind != "M" or array.ndim != 1:
        return None
    typed = cast("NDArray[np.datetime64]", array)
    if np.datetime_data(typed.dtype)[0] not in _FINE:
        raise InvalidArgument("data", str(array.dtype), "must be datetime64 of days or finer units")
    return typed


def _day(entry: object) -> int | None:  # anything: an entry of a list
    result = day(entry, ISO_MOMENTS.day)
    return None if result is None else (result - _EPOCH).days


def _second(entry: object) -> int | None:  # anything: an entry of a list
    """The whole seconds from 1970-01-01, of UTC, to a moment; None where an entry is none."""
    return second(entry, ISO_MOMENTS.second)
