"""The types that a schema declares for columns: what may occur, declared by the owner."""

from __future__ import annotations

import datetime
import decimal
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, TypeAlias, cast

from dither.aliases import older_name, warn_of_older_name
from dither.errors import InvalidArgument
from dither.numbers import Number, exact, plain
from dither.privacy import LEFT_OUT
from dither.sources.column import missing_steps
from dither.sources.entries import days, durations, exact_seconds, reals, second, seconds, texts, truths
from dither.sources.formats import ISO_MOMENTS, DateFormat, DurationFormat, NumberFormat, TimestampFormat
from dither.sources.frames import Entries, Scalar, arrow, column_entries
from dither.sources.grid import Grid

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Day: TypeAlias = datetime.date | str | int
Nulls: TypeAlias = Number | str | datetime.date | None
"""What a missing value counts as: a value of the column, "lower", "upper" or "drop"."""
Option: TypeAlias = Nulls | Sequence[Number | str | datetime.date]
EPOCH = datetime.date(1970, 1, 1)
_LONGEST_STEP = 100_000 * 86_400
"""Seconds of the longest step of moments."""
MOST_KEYS = 100_000
"""A column with more declared values than this cannot be grouped by."""
LARGEST_MISSING = 2.0**1000
"""No missing value counts as more, where there are no bounds."""
NO_BOUNDS = "none"
"""The word of a schema file for a column of which no bounds are known."""
DROP = LEFT_OUT
"""The null policy that leaves a record out; the number of records left is then private."""


class ColumnType(ABC):
    """What a schema says about one column.  Everything here is public."""

    type_name: ClassVar[str]
    """The word for it in a schema file."""
    kind = older_name("type_name")
    sources: ClassVar[frozenset[str]]
    """The stored types (see engines.engine) that this type can be read from."""
    if TYPE_CHECKING:

        @property
        def nulls(self) -> Nulls: ...

    @property
    def reads_text(self) -> bool:
        """True if it says how its values are written where the source stores texts."""
        return False

    @property
    def drops_nulls(self) -> bool:
        """True if records without a value are left out."""
        return isinstance(self.nulls, str) and self.nulls == DROP

    def keys(self, name: str) -> tuple[str | int, ...]:
        """The declared values, for grouping."""
        raise InvalidArgument("by", name, f"must be a category, boolean, integer or date column, not {self.type_name}")

    @abstractmethod
    def to_dict(self) -> dict[str, Option]:
        """Plain values as they stand in a schema file."""

    def _options(self, **options: Option) -> dict[str, Option]:
        return {"type": self.type_name} | {key: value for key, value in options.items() if value is not None}


class Measured(ColumnType):
    """A column of numbers (or dates) between public bounds, on a public grid."""

    @property
    @abstractmethod
    def grid(self) -> Grid:
        """The public grid."""

    @property
    def is_bounded(self) -> bool:
        """False where the owner knows no bounds: then few questions can be asked without naming some."""
        return True

    @property
    def missing_value(self) -> float:
        """The number that a missing value counts as (where missing values are not dropped)."""
        return float(self.grid.value(self.missing))

    @property
    def missing(self) -> int:
        """The grid point that a missing value counts as (where missing values are not dropped)."""
        return missing_steps(None if self.drops_nulls else self.nulls, self.grid)

    def shown(self, number: float) -> float | datetime.date:
        """The older name of ``displayed``."""
        warn_of_older_name("displayed")
        return self.displayed(number)

    def displayed(self, number: float) -> float | datetime.date:
        """A released number as users of this type expect it."""
        return number

    def steps(self, value: Number | Day, argument: str) -> Fraction:
        """A value that a filter compares with, in units of the raw column."""
        return exact(value, argument)


@dataclass(frozen=True)
class Real(Measured):
    """Real numbers from ``lower`` to ``upper``; values outside are clamped.

    ``Real(None, None)``: no bounds are known.  Medians, quantiles, ranges, trimmed means, scales and regressions are
    answered without; other questions name bounds of their own, such as ``Mean("pay", bounds=(0, 600_000))``.  A missing
    value counts as 0 unless ``nulls`` is another number, or "drop".

    >>> Real(0, 600_000).grid.ends[0]
    0
    """

    lower: Number | None
    upper: Number | None
    step: Number | None = field(default=None, kw_only=True)
    nulls: Nulls = field(default=None, kw_only=True)
    format: str | None = field(default=None, kw_only=True)
    """How the number 1234.56 is written in texts, such as ``"$1,234.56"``; what is written otherwise is missing."""
    type_name: ClassVar[str] = "real"
    sources: ClassVar[frozenset[str]] = frozenset({"whole", "real", "decimal", "text"})

    def __post_init__(self) -> None:
        _ = self.written
        if not self.is_bounded:
            self._check_unbounded()
        else:
            _ = self.missing
        # However a number was written, equal declarations are equal.
        for name in ("lower", "upper", "step", "nulls"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                object.__setattr__(self, name, plain(exact(value, name)))

    @property
    def written(self) -> NumberFormat | None:
        """The format of texts; None: plain decimals, and in text files alone."""
        return None if self.format is None else NumberFormat.of(self.format)

    @property
    def reads_text(self) -> bool:
        return self.format is not None

    @property
    def is_bounded(self) -> bool:
        return self.lower is not None or self.upper is not None

    def _check_unbounded(self) -> None:
        if type(self) is not Real:
            raise InvalidArgument("bounds", None, f"must be two numbers of type {self.type_name}")
        if self.step is not None:
            raise InvalidArgument("step", self.step, "is not used without bounds: leave it out")
        _ = self.missing_value

    @property
    def missing_value(self) -> float:
        if self.is_bounded:
            return super().missing_value
        if self.nulls is None or self.drops_nulls:
            return 0.0
        number = math.inf if isinstance(self.nulls, (str, datetime.date)) else float(exact(self.nulls, "nulls"))
        if abs(number) > LARGEST_MISSING:
            raise InvalidArgument("nulls", self.nulls, 'must be a number, or "drop", without bounds')
        return number

    @property
    def grid(self) -> Grid:
        if not self.is_bounded:
            raise InvalidArgument(
                "bounds",
                None,
                "is missing: the column is declared without, so name some with the query, bounds=(lower, upper), known "
                "without looking at the data; medians, quantiles, ranges, trimmed means, scales and regressions of the "
                "whole table need none",
            )
        return Grid.between(self._ends, self.step)

    @property
    def _ends(self) -> tuple[Number, Number]:
        # One end without the other is refused where a grid is made of them.
        return cast("Number", self.lower), cast("Number", self.upper)

    def to_dict(self) -> dict[str, Option]:
        bounds: Option = [self.lower, self.upper] if self.lower is not None and self.upper is not None else NO_BOUNDS
        return self._options(bounds=bounds, step=self.step, nulls=self.nulls, format=self.format)


@dataclass(frozen=True)
class Integer(Real):
    """Whole numbers from ``lower`` to ``upper``."""

    type_name: ClassVar[str] = "integer"

    @property
    def grid(self) -> Grid:
        return Grid.between(self._ends, self.step, whole=True)

    def keys(self, name: str) -> tuple[int, ...]:
        if self.grid.step != 1 or self.grid.points > MOST_KEYS:
            raise InvalidArgument("by", name, f"must be an integer column with at most {MOST_KEYS} declared values")
        low, high = self.grid.ends
        return tuple(range(low, high + 1))


@dataclass(frozen=True)
class Decimal(Real):
    """Decimal numbers with a declared step, by default two places."""

    step: Number | None = field(default=decimal.Decimal("0.01"), kw_only=True)
    type_name: ClassVar[str] = "decimal"


@dataclass(frozen=True)
class Date(Measured):
    """Days from ``first`` to ``last``."""

    first: Day
    last: Day
    nulls: Nulls = field(default=None, kw_only=True)
    format: str | None = field(default=None, kw_only=True)
    """How days are written in texts, such as ``"%d.%m.%Y"``; what is written otherwise is missing."""
    type_name: ClassVar[str] = "date"
    per_day: ClassVar[int] = 1
    """How many of its numbers a day has."""
    sources: ClassVar[frozenset[str]] = frozenset({"date", "timestamp", "text"})

    def __post_init__(self) -> None:
        _ = self.written
        if isinstance(self.nulls, (str, datetime.date)) and self.nulls not in ("lower", "upper", DROP):
            object.__setattr__(self, "nulls", day_number(self.nulls, "nulls"))
        object.__setattr__(self, "first", _as_date(self.first, "first"))
        object.__setattr__(self, "last", _as_date(self.last, "last"))
        if not _as_date(self.first, "first") < _as_date(self.last, "last"):
            days = (str(self.first), str(self.last))
            raise InvalidArgument("bounds", days, "must be two days, the earlier one first")
        _ = self.missing

    def parsed(self, text: str) -> datetime.date:
        """A released text as what it is."""
        return datetime.date.fromisoformat(text)

    @property
    def written(self) -> DateFormat | None:
        """The format of texts; None: ISO dates, and in text files alone."""
        return None if self.format is None else DateFormat.of(self.format)

    @property
    def reads_text(self) -> bool:
        return self.format is not None

    @property
    def grid(self) -> Grid:
        return Grid.between((day_number(self.first, "first"), day_number(self.last, "last")), whole=True)

    def displayed(self, number: float) -> datetime.date:
        return EPOCH + datetime.timedelta(days=int(number))

    def steps(self, value: Number | Day, argument: str) -> Fraction:
        return Fraction(day_number(value, argument))

    def keys(self, name: str) -> tuple[int, ...]:
        if self.grid.points > MOST_KEYS:
            raise InvalidArgument("by", name, f"must be a date column with at most {MOST_KEYS} days")
        low, high = self.grid.ends
        return tuple(range(low, high + 1))

    def to_dict(self) -> dict[str, Option]:
        nulls = (
            self.nulls
            if self.nulls is None or isinstance(self.nulls, str)
            else self.displayed(day_number(self.nulls, "nulls"))
        )
        return self._options(bounds=[self.first, self.last], nulls=nulls, format=self.format)


@dataclass(frozen=True)
class Timestamp(Date):
    """Moments from ``first`` to ``last``, in whole seconds; ``step``: in multiples of so many seconds since 1970.

    Moments with a time zone are read as those of UTC, those without as they stand; fractions of seconds, and of steps,
    are cut off.  Answers have the time zone UTC where the bounds have one.

    >>> Timestamp("2024-01-01 00:00", "2024-12-31T23:59:59").last
    datetime.datetime(2024, 12, 31, 23, 59, 59)
    """

    step: int = field(default=1, kw_only=True)
    type_name: ClassVar[str] = "timestamp"
    per_day: ClassVar[int] = 86_400

    def __post_init__(self) -> None:
        _ = self.written
        if isinstance(self.step, bool) or not isinstance(self.step, int) or not 1 <= self.step <= _LONGEST_STEP:
            raise InvalidArgument("step", self.step, "must be a whole number of seconds, such as 3600 for hours")
        if isinstance(self.nulls, (str, datetime.date)) and self.nulls not in ("lower", "upper", DROP):
            object.__setattr__(self, "nulls", second_number(self.nulls, "nulls"))
        for name in ("first", "last"):
            object.__setattr__(self, name, _as_moment(getattr(self, name), name))
        if not self._first < self._last:
            ends = (str(self.first), str(self.last))
            raise InvalidArgument("bounds", ends, "must be two moments, the earlier one first")
        if self.grid.points < 2:
            raise InvalidArgument("step", self.step, "must be smaller than the bounds are apart")
        _ = self.missing

    @property
    def _first(self) -> int:
        return second_number(self.first, "first")

    @property
    def _last(self) -> int:
        return second_number(self.last, "last")

    @property
    def is_zoned(self) -> bool:
        """Whether answers have a time zone, UTC."""
        return any(isinstance(end, datetime.datetime) and end.tzinfo is not None for end in (self.first, self.last))

    @property
    def written(self) -> TimestampFormat | None:
        return None if self.format is None else cast("TimestampFormat", TimestampFormat.of(self.format))

    @property
    def grid(self) -> Grid:
        return Grid(Fraction(self.step), self._first // self.step, self._last // self.step)

    def displayed(self, number: float) -> datetime.datetime:
        moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=int(number))
        return moment if self.is_zoned else moment.replace(tzinfo=None)

    def steps(self, value: Number | Day, argument: str) -> Fraction:
        return Fraction(second_number(value, argument))

    def parsed(self, text: str) -> datetime.datetime:
        return datetime.datetime.fromisoformat(text)

    def keys(self, name: str) -> tuple[int, ...]:
        if self.grid.points > MOST_KEYS:
            wanted = f"has more than {MOST_KEYS} moments: declare a step in seconds, 86400 for days, or a date column"
            raise InvalidArgument("by", name, wanted)
        low, high = self.grid.ends
        return tuple(step * self.step for step in range(low, high + 1))

    def to_dict(self) -> dict[str, Option]:
        words = self.nulls is None or isinstance(self.nulls, str)
        nulls = self.nulls if words else self.displayed(second_number(self.nulls, "nulls"))
        step = None if self.step == 1 else self.step
        return self._options(bounds=[self.first, self.last], step=step, nulls=nulls, format=self.format)


@dataclass(frozen=True)
class Duration(Real):
    """Durations from ``lower`` to ``upper``: numbers of seconds, or ``datetime.timedelta``; answers are in seconds.

    ``format``: how they are written in texts, such as ``"%H:%M:%S"``.  Numbers that are stored there are seconds.

    >>> Duration(0, datetime.timedelta(hours=2)).upper
    7200
    """

    type_name: ClassVar[str] = "duration"
    sources: ClassVar[frozenset[str]] = frozenset({"duration", "whole", "real", "decimal", "text"})

    def __post_init__(self) -> None:
        for name in ("lower", "upper", "step", "nulls"):
            value = getattr(self, name)
            if isinstance(value, datetime.timedelta):
                object.__setattr__(self, name, plain(exact_seconds(value)))
        super().__post_init__()

    @property
    def spans(self) -> DurationFormat | None:
        """The format of texts; None: plain decimals, and in text files alone."""
        return None if self.format is None else DurationFormat.of(self.format)

    @property
    def written(self) -> None:
        """Texts are no plain numbers: see ``spans``."""
        _ = self.spans

    @property
    def grid(self) -> Grid:
        return Grid.between(self._ends, self.step)


@dataclass(frozen=True)
class Boolean(Measured):
    """True or false; numbers other than 0 are true, and a missing value counts as false unless declared otherwise."""

    nulls: Nulls = field(default=None, kw_only=True)
    type_name: ClassVar[str] = "boolean"
    sources: ClassVar[frozenset[str]] = frozenset({"boolean", "whole", "real", "decimal", "text"})

    def __post_init__(self) -> None:
        if self.nulls not in (None, True, False, DROP):
            raise InvalidArgument("nulls", self.nulls, 'must be true, false or "drop"')

    @property
    def grid(self) -> Grid:
        return Grid(Fraction(1), 0, 1)

    @property
    def missing(self) -> int:
        return int(self.nulls is True)

    def keys(self, name: str) -> tuple[int, ...]:  # noqa: ARG002
        return (0, 1)

    def to_dict(self) -> dict[str, Option]:
        return self._options(nulls=self.nulls)


@dataclass(frozen=True)
class Category(ColumnType):
    """One of the declared ``values``; anything else (a missing value too) is "other".

    Without values the categories are private: they can only be found by a thresholded histogram that costs delta.
    """

    values: Sequence[str] | None = None
    type_name: ClassVar[str] = "category"
    sources: ClassVar[frozenset[str]] = frozenset({"text", "whole", "boolean"})
    nulls = None

    def __post_init__(self) -> None:
        if self.values is None:
            return
        if isinstance(self.values, (str, bytes)) or not hasattr(self.values, "__iter__"):
            raise InvalidArgument("values", self.values, "must be a list of names")
        listed = tuple(str(value) for value in self.values)
        if not listed or len(set(listed)) != len(listed) or "other" in listed:
            raise InvalidArgument("values", list(listed)[:9], 'must be different names, none of them "other"')
        if not all(map(storable, listed)):
            raise InvalidArgument("values", list(listed)[:9], "must be Unicode names without NUL")
        object.__setattr__(self, "values", listed)

    def keys(self, name: str) -> tuple[str, ...]:
        if self.values is None:
            raise InvalidArgument(
                "by", name, "its categories are not declared: declare them, or ask with a delta to have them found"
            )
        return tuple(self.values)

    def to_dict(self) -> dict[str, Option]:
        return self._options(values=None if self.values is None else list(self.values))


TYPES: dict[str, type[ColumnType]] = {
    item.type_name: item for item in (Real, Integer, Decimal, Date, Timestamp, Duration, Boolean, Category)
}


def storable(text: str) -> bool:
    """Whether every engine can hold a text: NUL and halves of surrogate pairs would make some raise errors."""
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def day_number(value: Scalar, argument: str) -> int:
    """The days from 1970-01-01 to a date (a date, an ISO text, or that number itself)."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return (_as_date(value, argument) - EPOCH).days


def _as_date(value: Scalar, argument: str) -> datetime.date:
    if isinstance(value, datetime.datetime):
        return value.date() if value.tzinfo is None else value.astimezone(datetime.UTC).date()
    if isinstance(value, datetime.date):
        return value
    try:
        if isinstance(value, int) and not isinstance(value, bool):
            return EPOCH + datetime.timedelta(days=value)
        return datetime.date.fromisoformat(value)  # type: ignore[arg-type]  # anything else is refused below
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(argument, str(value), "must be a date such as 2024-01-31") from None


def second_number(value: Scalar, argument: str) -> int:
    """The whole seconds from 1970-01-01 to a moment (a datetime, an ISO text, or that number itself)."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    moment = _as_moment(value, argument)
    result = second(moment)
    if result is None:
        raise InvalidArgument(argument, str(value), MOMENT)
    return result


MOMENT = "must be a moment such as 2024-01-31 12:30:00, or 2024-01-31T12:30:00+01:00"


def _as_moment(value: Scalar, argument: str) -> datetime.datetime:
    """A public moment, without fractions of seconds."""
    try:
        if isinstance(value, int) and not isinstance(value, bool):
            return datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=value)  # noqa: DTZ001  (as it stands)
        moment = value if isinstance(value, datetime.date) else datetime.datetime.fromisoformat(cast("str", value))
        if not isinstance(moment, datetime.datetime):
            moment = datetime.datetime.combine(moment, datetime.time())
        return moment.replace(microsecond=0)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(argument, str(value), MOMENT) from None


def untyped_entries(declared: ColumnType | None, entries: Entries) -> pa.Array:
    """Entries without a stored type as an Arrow column of the declared type; missing where an entry is none of it.

    Texts where nothing is declared (the column that tells people apart): a type guessed from all entries would let one
    person decide how others are read.
    """
    pa = arrow()
    if isinstance(declared, Timestamp):
        moments = ISO_MOMENTS if declared.written is None else declared.written
        return pa.array(seconds(entries, moments.second), pa.timestamp("s"))
    if isinstance(declared, Duration):
        spans = declared.spans
        return pa.array(durations(entries, None if spans is None else spans.seconds), pa.float64())
    if isinstance(declared, Date):
        return pa.array(days(entries, (declared.written or ISO_MOMENTS).day), pa.date32())
    if isinstance(declared, Boolean):
        return pa.array(truths(entries), pa.float64(), from_pandas=True).cast(pa.bool_())  # (NaN is missing)
    if isinstance(declared, Real) and (written := declared.written) is not None:
        entries = [written.number(entry) if isinstance(entry, str) else entry for entry in entries]
    if isinstance(declared, Measured):
        return pa.array(reals(entries), pa.float64())
    return pa.array(texts(entries), pa.string())


def with_objects_as_declared(frame: pd.DataFrame, columns: Mapping[str, ColumnType]) -> pd.DataFrame:
    """A pandas frame whose columns of objects hold numbers, dates and truth values where these are declared.

    Objects have no stored type; each is read by itself, as the entries of a list are.  Others stay as they are.
    """
    import pandas as pd  # noqa: PLC0415  (there, for the frame is one of its own)

    if not isinstance(frame, pd.DataFrame) or not frame.columns.is_unique:
        return frame
    read = {}
    for name, declared in columns.items():
        if isinstance(declared, Measured) and name in frame.columns and str(frame[name].dtype) == "object":
            entries = untyped_entries(declared, column_entries(frame[name]))
            read[name] = pd.Series(pd.arrays.ArrowExtensionArray(entries), index=frame.index)
    return frame.assign(**read) if read else frame
