"""What every engine offers, and how the columns of a source become numbers, days and texts inside it.

Queries are built once as syntax trees and written in each engine's dialect; identifiers are always quoted and literals
escaped by the writer.  Two rules hold where records become numbers.  No record may make an engine raise an error:
every number is finite from the start, and whatever could overflow is clamped first.  And no engine may decide about one
record by statistics of the others: a NaN is recognised by a function of the record alone, which no optimiser replaces
by a constant because a file's statistics, which leave NaN out, seem to allow it.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
import sqlglot
from numpy.typing import ArrayLike, NDArray
from sqlglot import exp

from dither.errors import InvalidArgument, SourceFailed
from dither.sources.entries import FALSE_WORDS, SPACES, TRUE_WORDS
from dither.sources.formats import (
    FIRST_OF_1900,
    FIRST_SECOND,
    ISO_DAY,
    ISO_MOMENTS,
    LAST_SECOND,
    DateFormat,
    DurationFormat,
    IsoMoments,
    Moments,
    NumberFormat,
)
from dither.sources.frames import arrow
from dither.sources.predicates import Constant, literal

STORED_TYPES = ("whole", "real", "decimal", "text", "boolean", "date", "timestamp", "duration", "other")
"""What a source says about a column: all that matters of its type."""

_KEPT = itertools.count()

Result = TypeVar("Result")
Row: TypeAlias = tuple[int | float | str, ...]  # queries ask for what is not NULL, or compare before they look

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST_DOUBLE = float(np.finfo(np.float64).max)
"""What an infinite record counts as: beyond all bounds, and below the ends of no bracket but an infinite one."""
DAY_SECONDS = 86_400
HALF_BITS = 40
"""Sums of up to 2**40 products of two numbers of 27 bits are two numbers of less than 63 bits each."""
CALENDAR = ("0001-01-01", "9999-12-31")
"""The first and the last day that every engine knows; what lies beyond counts as the nearer of them."""

_IN_CALENDAR = sqlglot.parse_one(
    "y >= 1 AND m BETWEEN 1 AND 12 AND d BETWEEN 1 AND CASE WHEN m IN (4, 6, 9, 11) THEN 30 WHEN m <> 2 THEN 31 "
    "WHEN y % 4 = 0 AND (y % 100 <> 0 OR y % 400 = 0) THEN 29 ELSE 28 END"
)
"""Whether there is a day d of month m in year y, all engines alike."""


class Engine(ABC):
    """A table in an engine, which is not copied as a whole."""

    dialect: str
    bytewise: str | None
    """The collation in which texts are equal only if all their bytes are; None if columns of "text" have no other."""
    double: str = "DOUBLE"
    """The type of doubles, as it is written behind CAST('...' AS."""
    stores_nan: bool = True
    """Whether a column of reals can hold NaN, which is missing; False where NaN is stored as NULL."""
    has_grouping_sets: bool = True
    """Whether one statement can count by several columns, each by itself."""
    has_running_windows: bool = False
    """Whether what stands in the row before, in the order in which rows are read, takes little more than reading."""
    moderate: frozenset[str] = frozenset()
    """Columns of numbers that are 0 or between 1e-20 and 1e20 in size, by their stored type alone."""
    unreadable: Mapping[str, str] = MappingProxyType({})
    """Columns that no question may read, and why: one record could make the engine's own reading of their type fail."""
    moments: frozenset[str] = frozenset()
    """Columns that cannot tell people apart, for some of their values have no text in this engine: moments in time."""

    last_scan: tuple[bytes, exp.Select] | None = None
    """The query of the last pass (``scans.scan``), by all that it was made of, if that is public."""

    if TYPE_CHECKING:

        @property
        def casts_text(self) -> bool:
            """Whether texts that are no numbers can be read as missing instead of raising an error."""

    @abstractmethod
    def stored_types(self) -> dict[str, str]:
        """The stored type of every column (one of ``STORED_TYPES``), from the source's public description."""

    @abstractmethod
    def table(self, fraction: float | None = None) -> exp.Expr:
        """What stands behind FROM: all rows, or each with the given probability."""

    @abstractmethod
    def estimated_rows(self) -> int:
        """About how many rows there are, cheaply; only decides how to read."""

    @abstractmethod
    def rows(self, query: exp.Select) -> list[Row]:
        """The result of a query with few rows, as Python numbers."""

    @abstractmethod
    def arrays(self, query: exp.Select) -> list[NDArray[np.int64]]:
        """The columns of a result of whole numbers without NULL."""

    def long_arrays(self, query: exp.Select) -> list[NDArray[np.int64]]:
        """The same of very many rows, where an engine has a faster way to hand over those."""
        return self.arrays(query)

    @abstractmethod
    def stream(self, query: exp.Select, stored_types: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The result of a query as Arrow record batches; each column is "whole" (int64) or "text"."""

    @abstractmethod
    def nearest(self, number: exp.Expr) -> exp.Expr:
        """A double as the nearest whole number, a bigint; ties to even."""

    def nearest_multiple(self, number: exp.Expr, size: float) -> exp.Expr:
        """How many times a public size is in a number, rounded; the quotient is known not to overflow."""
        if is_power_of_two(size):  # the same number, for a fraction of the time
            return self.nearest(exp.Mul(this=number, expression=double_literal(1.0 / size)))
        return self.nearest(exp.Div(this=number, expression=double_literal(size), typed=True))

    def exact_sum(self, whole: exp.Expr) -> exp.Expr:
        """The sum of whole numbers, each a bigint, in a type that it cannot overflow."""
        return exp.Sum(this=whole)

    def cut_sum(self, whole: exp.Expr, most: int) -> exp.Expr:
        """The same as a bigint, cut to what is not above ``most`` in size."""
        return exp.cast(clamped(self.exact_sum(whole), exp.Neg(this=literal(most)), literal(most)), "bigint")

    def halves(self, total: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
        """A sum that is not below 0 as two bigints: how often 2**HALF_BITS is in it, and the rest."""
        half = literal(1 << HALF_BITS)
        upper = exp.Anonymous(this="div", expressions=[total.copy(), half])
        lower = exp.Mod(this=total.copy(), expression=half.copy())
        return exp.cast(upper, "bigint"), exp.cast(lower, "bigint")

    def extremes(self, value: exp.Expr, most: int, *, least: bool) -> exp.Expr | None:  # noqa: ARG002
        """The list of so many least or largest values as one aggregate; None where the engine has none."""
        return None

    def list_of(self, whole: exp.Expr) -> exp.Expr | None:  # noqa: ARG002
        """All whole numbers of a group as one aggregate; None where the engine has none, or is no faster by it."""
        return None

    def arrays_and_list(
        self,
        query: exp.Select,  # noqa: ARG002
    ) -> tuple[list[NDArray[np.int64]], NDArray[np.int64], NDArray[np.int64]]:
        """As ``arrays``, and of a last column of lists how long each is (0: NULL), and what all hold."""
        raise RuntimeError("lists were asked of an engine that has no aggregate for them")

    @abstractmethod
    def day_number(self, day: exp.Expr) -> exp.Expr:
        """The days from 1970-01-01 to a DATE."""

    @abstractmethod
    def epoch_second(self, name: str) -> exp.Expr:
        """A column of "timestamp" as whole seconds since 1970, rounded down; of UTC where it has a time zone."""

    @abstractmethod
    def span_seconds(self, name: str) -> exp.Expr:
        """A column of "duration" as seconds, a double."""

    @abstractmethod
    def fingerprint(self, below: Path | None = None) -> str:
        """Which source this is, in public terms; nothing for a frame, which only its dataset's name tells apart.

        below: a folder; files that lie there are named by their paths in it, so that its copies have the same names.
        """

    def state(self) -> str | None:
        """What the source itself says about its last change, such as a file's time and size; None if nothing.

        It may depend on the records: it is compared on the owner's machine and never shown.
        """
        return None

    @property
    def says_every_change(self) -> bool:
        """Whether ``state`` is another one as soon as anything has changed."""
        return False

    @abstractmethod
    def ready(self) -> None:
        """Fail, before anything is charged, if the source is not there."""

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Within it all queries see the same rows, or reading fails."""
        yield

    def kept(self, query: exp.Select) -> exp.Expr:
        """The result of a query, as a table of later queries until ``forget``; unless it is kept, computed by each."""
        return query.subquery("kept")

    def forget(self, table: exp.Expr) -> None:  # noqa: B027  (most engines keep nothing)
        """Let go of a table that was kept."""

    def close(self) -> None:  # noqa: B027  (most engines have nothing to close)
        """Let go of connections."""

    def sql(self, query: exp.Expr) -> str:
        """A query in the engine's own words."""
        return query.sql(dialect=self.dialect)

    def values(self, rows: Iterable[Sequence[Constant]], name: str, columns: Sequence[str]) -> exp.Expr:
        """A list of public rows as a table.  Written out at once: as a tree, thousands of rows take seconds."""
        return exp.Var(this=f"(VALUES {self.listed(rows)}) AS {name}({', '.join(columns)})")

    def listed(self, rows: Iterable[Sequence[Constant]]) -> str:
        """Public rows as they stand behind VALUES."""
        return ", ".join(f"({', '.join(self.constant(value) for value in row)})" for row in rows)

    def constant(self, value: Constant) -> str:
        """A public constant; every double exactly."""
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            written = repr(value) if np.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")
            return f"CAST('{written}' AS {self.double})"
        return self.sql(literal(value))

    # --- columns as numbers, days and texts -----------------------------------------------------------

    def number(self, name: str, stored_type: str, written: NumberFormat | None = None) -> exp.Expr:
        """A column as a finite double; NULL if missing or NaN.  written: how texts are numbers."""
        raw = column(name)
        if stored_type == "text" and written is not None:
            return self._written_number(self._trimmed(name), written)
        if stored_type == "text":
            self._needs_casts(name)
            # What has spaces of other scripts around it is cut first; of all others that would take most of the time.
            trimmed = exp.TryCast(this=exp.Trim(this=raw), to=exp.DataType.build("double"))
            plain = exp.TryCast(this=raw.copy(), to=exp.DataType.build("double"))
            raw = exp.Coalesce(this=plain, expressions=[trimmed])
        elif stored_type == "decimal":
            raw = self.from_decimal(raw)
        elif stored_type == "boolean":
            raw = exp.cast(exp.cast(raw, "int"), "double")
        else:
            raw = exp.cast(raw, "double")
        if stored_type in ("whole", "boolean", "decimal"):
            return raw
        return self.finite(raw)

    def finite(self, number: exp.Expr) -> exp.Expr:
        """A double as a finite one: NULL if it is NaN, the largest double of its sign if it is infinite."""
        above, below = (node(this=number.copy(), expression=double_literal(0.0)) for node in (exp.GT, exp.LT))
        return (
            exp.case()
            .when(self.is_finite(number), number.copy(), copy=False)
            .when(self.is_nan(number), exp.Null(), copy=False)
            .when(above, double_literal(LARGEST_DOUBLE), copy=False)
            .when(below, double_literal(-LARGEST_DOUBLE), copy=False)
            .else_(exp.Null(), copy=False)
        )

    @abstractmethod
    def is_finite(self, number: exp.Expr) -> exp.Expr:
        """Whether a double is neither NaN nor infinite, by a test of this record alone."""

    @abstractmethod
    def is_nan(self, number: exp.Expr) -> exp.Expr:
        """Whether a double is NaN, by a test of this record alone."""

    def from_decimal(self, raw: exp.Expr) -> exp.Expr:
        """A decimal as a double."""
        return exp.cast(raw, "double")

    def day(self, name: str, stored_type: str, written: DateFormat | IsoMoments | None = None) -> exp.Expr:
        """A column of dates as day numbers; NULL if missing.

        The day of a moment is that of UTC, by its seconds: the session's time zone has no part in it.  written: how
        texts are dates; None: as the engine casts them, which version 0.1.0 did.
        """
        raw = column(name)
        if stored_type == "timestamp":
            return self._day_of_second(self.epoch_second(name))
        if stored_type != "text":
            return self.day_number(exp.cast(raw, "date"))
        if isinstance(written, DateFormat):
            return self.day_number(self._written_day(self._trimmed(name), written))
        self._needs_casts(name)
        if written is None:
            return self.day_number(exp.TryCast(this=exp.Trim(this=raw), to=exp.DataType.build("date")))
        return self._iso_day(self._trimmed(name))

    def _iso_day(self, text: exp.Expr) -> exp.Expr:
        """Texts as days by the rule of ``ISO_MOMENTS``; most are days alone, and need no reading of hours."""
        year_zero = exp.EQ(
            this=exp.Substring(this=text.copy(), start=literal(1), length=literal(4)), expression=literal("0000")
        )
        alone = self.day_number(_cast_or_null(text, "date"))
        of_moment = self._day_of_second(self._written_second(text, ISO_MOMENTS))
        return (
            exp.case()
            .when(self.matches(text, ISO_DAY), exp.case().when(year_zero, exp.Null()).else_(alone))
            .else_(of_moment)
        )

    @staticmethod
    def _day_of_second(second: exp.Expr) -> exp.Expr:
        """The day of UTC of a whole number of seconds; engines cut quotients differently, and here none is cut."""
        quotient = exp.Div(this=exp.Paren(this=floored(second, DAY_SECONDS)), expression=literal(DAY_SECONDS))
        return exp.cast(exp.Paren(this=quotient), "bigint")

    def second(self, name: str, stored_type: str, written: Moments | None = None) -> exp.Expr:
        """A column of moments as whole seconds since 1970; NULL if missing.  written: how texts are moments."""
        if stored_type == "text":
            if written is None:
                self._needs_casts(name)
            return self._written_second(self._trimmed(name), ISO_MOMENTS if written is None else written)
        if stored_type == "date":
            return exp.Mul(this=exp.cast(self.day(name, stored_type), "bigint"), expression=literal(DAY_SECONDS))
        return self.epoch_second(name)

    def span(self, name: str, stored_type: str, written: DurationFormat | None = None) -> exp.Expr:
        """A column of durations as seconds, a finite double; NULL if missing.  written: how texts are durations."""
        if stored_type == "text" and written is not None:
            return self._written_span(self._trimmed(name), written)
        if stored_type == "duration":
            return self.finite(self.span_seconds(name))
        return self.number(name, stored_type)

    def _written_second(self, text: exp.Expr, written: Moments) -> exp.Expr:
        """Texts in a format as seconds; NULL where there is no such day, hour, minute or second."""
        part = functools.partial(self._figures, text, written)
        seconds = "h * 3600 + m * 60 + s - (zh * 3600 + zm * 60) * CASE WHEN g = '-' THEN -1 ELSE 1 END"
        known = "h <= 23 AND m <= 59 AND s <= 59 AND zh <= 23 AND zm <= 59"
        parts = {
            **{name: part(item) for name, item in (("h", "H"), ("m", "M"), ("s", "S"))},
            "zh": part("hours"),
            "zm": part("minutes"),
            "g": self._part(text, written, "sign"),
        }
        day = exp.cast(self.day_number(self._written_day(text, written)), "bigint")
        total = exp.Add(this=exp.Mul(this=day, expression=literal(DAY_SECONDS)), expression=_filled(seconds, parts))
        inside = clamped(exp.cast(total, "bigint"), literal(FIRST_SECOND), literal(LAST_SECOND))
        known_day = exp.Not(this=exp.Is(this=day.copy(), expression=exp.Null()))
        result = exp.case().when(exp.and_(_filled(known, parts), known_day), inside).else_(exp.Null())
        return exp.case().when(self.matches(text, written.pattern()), result).else_(exp.Null())

    def _written_span(self, text: exp.Expr, written: DurationFormat) -> exp.Expr:
        """Texts in a format as seconds."""
        figures: list[exp.Expr] = [
            exp.Mul(this=self._figures(text, written, item), expression=literal(size))
            for item, size in written.units.items()
        ]
        whole = functools.reduce(lambda item, two: exp.Add(this=item, expression=two), figures)
        total: exp.Expr = exp.cast(exp.Paren(this=whole), "double")
        if written.has_fraction:
            fraction = exp.DPipe(this=literal("0."), expression=self._part(text, written, "f"))
            total = exp.Add(this=total, expression=_cast_or_null(exp.Paren(this=fraction), "double"))
        negative = exp.EQ(this=self._part(text, written, "sign"), expression=literal("-"))
        signed = exp.case().when(negative, exp.Neg(this=exp.Paren(this=total))).else_(total.copy())
        return exp.case().when(self.matches(text, written.pattern()), signed).else_(exp.Null())

    def _part(self, text: exp.Expr, written: Moments | DurationFormat, item: str) -> exp.Expr:
        """One part of a text in a format; an empty text where the format, or the record, has none."""
        if written.pattern(item) == written.pattern():
            return exp.Literal.string("")
        return exp.Coalesce(this=self.captured(text, written.pattern(item)), expressions=[exp.Literal.string("")])

    def _figures(self, text: exp.Expr, written: Moments | DurationFormat, item: str) -> exp.Expr:
        """The same as a whole number; 0 where there is none: with a figure before it no engine casts an empty text."""
        figures = exp.DPipe(this=exp.Literal.string("0"), expression=self._part(text, written, item))
        return _cast_or_null(exp.Paren(this=figures), "bigint")

    def _trimmed(self, name: str) -> exp.Expr:
        # What is cut off is named: without that engines differ about which spaces there are.
        return exp.Trim(this=self.text(name, "text"), expression=exp.Literal.string(SPACES))

    def _written_number(self, text: exp.Expr, written: NumberFormat) -> exp.Expr:
        """Texts in a declared format as numbers; the format keeps them within the range of doubles."""
        plain = text.copy()
        for item in written.removed:
            plain = _replaced(plain, item, "")
        plain = plain if written.decimal == "." else _replaced(plain, written.decimal, ".")
        return exp.case().when(self.matches(text, written.pattern), _cast_or_null(plain, "double")).else_(exp.Null())

    def _written_day(self, text: exp.Expr, written: DateFormat | Moments) -> exp.Expr:
        """Texts in a declared format as dates; NULL where there is no such day."""
        year, month, day = (self.captured(text, written.pattern(item)) for item in (written.year, "m", "d"))
        if written.year == "y":
            later = exp.GTE(this=year.copy(), expression=exp.Literal.string(FIRST_OF_1900))
            century = exp.case().when(later, exp.Literal.string("19")).else_(exp.Literal.string("20"))
            year = exp.DPipe(this=exp.Paren(this=century), expression=year)
        dash = exp.Literal.string("-")
        parts = [year, dash, _padded(month), dash.copy(), _padded(day)]
        written_so = functools.reduce(lambda item, two: exp.DPipe(this=item, expression=two), parts)
        whole = {name: _cast_or_null(item, "int") for name, item in zip("ymd", (year, month, day), strict=True)}
        known = _IN_CALENDAR.transform(lambda item: whole[item.name].copy() if isinstance(item, exp.Column) else item)
        # Two cases, one in the other: no engine casts what does not match, or makes a date of a day that is none.
        result = exp.case().when(known, _cast_or_null(written_so, "date")).else_(exp.Null())
        return exp.case().when(self.matches(text, written.pattern()), result).else_(exp.Null())

    def matches(self, text: exp.Expr, pattern: str) -> exp.Expr:
        """Whether a text matches a pattern of ``sources.formats`` from its first to its last character."""
        return exp.RegexpLike(this=text.copy(), expression=literal(f"^(?:{pattern})$"))

    def captured(self, text: exp.Expr, pattern: str) -> exp.Expr:
        """What the one group of such a pattern holds, where it matches."""
        return exp.Anonymous(this="regexp_extract", expressions=[text.copy(), literal(f"^(?:{pattern})$"), literal(1)])

    def truth(self, name: str, stored_type: str, *, numbers: bool = True) -> exp.Expr:
        """A column of truth values as 0 or 1, of numbers whether they are other than 0; NULL if missing.

        numbers: whether texts of a CSV may be other numbers than 0 and 1, which version 0.1.0 did not know.
        """
        raw = column(name)
        if stored_type == "boolean":
            return exp.cast(raw, "int")
        yes: exp.Expr
        no: exp.Expr
        if stored_type != "text":
            number = raw if stored_type == "whole" else self.number(name, stored_type)
            yes, no = _is_not_zero(number)
            return exp.case().when(yes, literal(1)).when(no, literal(0)).else_(exp.Null())
        word = exp.Lower(this=exp.Trim(this=raw))
        yes, no = (
            exp.In(this=word.copy(), expressions=[literal(w) for w in words]) for words in (TRUE_WORDS, FALSE_WORDS)
        )
        read = exp.case().when(yes, literal(1)).when(no, literal(0))
        if self.casts_text and numbers:  # of a CSV, in which numbers are texts too
            yes, no = _is_not_zero(self.number(name, stored_type))
            read = read.when(yes, literal(1)).when(no, literal(0))
        return read.else_(exp.Null())

    def text(self, name: str, stored_type: str) -> exp.Expr:
        """A column as text; NULL if missing."""
        if stored_type == "boolean":
            word = exp.case().when(column(name), exp.Literal.string("true")).else_(exp.Literal.string("false"))
            return exp.case().when(exp.Is(this=column(name), expression=exp.Null()), exp.Null()).else_(word)
        # Byte by byte: where 'a' and 'A' are equal one record would be in the groups of both.
        text = exp.cast(column(name), "text")
        collation = exp.to_identifier(self.bytewise, quoted=True)
        return text if collation is None else exp.Collate(this=text, expression=collation)

    def whole_key(self, name: str) -> exp.Expr:
        """A column of "whole" to group by, which engines join fastest; NULL where it is no whole number."""
        # What does not fit is no declared key, and must not make an engine raise an error.
        return exp.TryCast(this=column(name), to=exp.DataType.build("bigint"))

    def person(self, name: str, stored_type: str) -> exp.Expr:
        """The column that tells people apart; NULL if missing."""
        return self.text(name, stored_type) if stored_type == "text" else column(name)

    def entry_state(self, name: str) -> exp.Expr | None:  # noqa: ARG002
        """What became of a record's entry (``sources.states``), where that is known already; None where it is not."""
        return None

    def absent_column(self) -> str:
        """The text of an error about a column that does not exist: the names that do."""
        return f"must be a column of the source: {', '.join(self.stored_types())}"

    def _needs_casts(self, name: str) -> None:
        if not self.casts_text:
            raise InvalidArgument(
                f"columns.{name}", "text", f"{self.dialect} stores it as text: declare it as a category"
            )


def column(name: str) -> exp.Expr:
    """A column of the source, quoted."""
    return exp.column(name, quoted=True)


def clamped(value: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    """A value that is not NULL, cut to a range.

    Engines differ about NULL in these functions; the writer's own care for it would repeat the argument many times.
    """
    least = exp.Anonymous(this="GREATEST", expressions=[value.copy(), low])
    return exp.Anonymous(this="LEAST", expressions=[least, high])


def within_infinities(number: exp.Expr) -> exp.Expr:
    """Whether a double lies between the infinities, for engines in which NaN is above both."""
    low, high = (double_literal(end) for end in (-np.inf, np.inf))
    return exp.and_(exp.GT(this=number.copy(), expression=low), exp.LT(this=number.copy(), expression=high))


def kept_name() -> str:
    """The name of a table that an engine keeps: no two statements have the same."""
    return f"dither_kept_{next(_KEPT)}"


def is_power_of_two(size: float) -> bool:
    """Whether products with it, and quotients by it, are exact."""
    return math.frexp(size)[0] == 0.5


def double_literal(value: float) -> exp.Expr:
    """A double, exactly; infinities too."""
    if np.isinf(value):
        return exp.cast(exp.Literal.string("Infinity" if value > 0 else "-Infinity"), "double")
    return literal(float(value))


def whole_result(values: ArrayLike) -> NDArray[np.int64]:
    """A column of a result as int64; anything masked is a broken promise of the query."""
    if isinstance(values, np.ma.MaskedArray):
        values = values.filled(0)
    return np.asarray(values, dtype=np.int64)


def guarded(what: str, work: Callable[[], Result], *errors: type[Exception]) -> Result:
    """The result of an engine's work; its errors, which may quote records, become one that does not.

    A function and no context manager: what is raised at the end of a ``with`` block keeps the engine's error as its
    context, and every traceback would print it.
    """
    with contextlib.suppress(*(errors or (Exception,))):
        return work()
    raise SourceFailed(f"{what} could not be read; what was charged for this question stays charged")


def arrow_schema(names: Sequence[str], stored_types: Sequence[str]) -> pa.Schema:
    """The schema of a streamed result."""
    pa = arrow()
    types = {"whole": pa.int64(), "real": pa.float64(), "text": pa.string()}
    return pa.schema([(name, types[stored_type]) for name, stored_type in zip(names, stored_types, strict=True)])


def streamed(what: str, work: Callable[[], Iterator[Result]]) -> Iterator[Result]:
    """The same for work that comes in pieces."""
    pieces = guarded(what, lambda: iter(work()))
    while True:
        piece = guarded(what, lambda: next(pieces, None))
        if piece is None:
            return
        yield piece


def _replaced(text: exp.Expr, old: str, new: str) -> exp.Expr:
    return exp.Anonymous(this="replace", expressions=[text, literal(old), exp.Literal.string(new)])


def _cast_or_null(text: exp.Expr, stored_type: str) -> exp.Expr:
    """A text that is known to be a number or a date as such; engines that have a cast without errors use it."""
    return exp.TryCast(this=text.copy(), to=exp.DataType.build(stored_type))


def _padded(figures: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="lpad", expressions=[figures, literal(2), literal("0")])


def _filled(condition: str, parts: Mapping[str, exp.Expr]) -> exp.Expr:
    """An expression with these parts in the place of its columns."""
    tree = sqlglot.parse_one(condition)
    return exp.Paren(
        this=tree.transform(lambda item: parts[item.name].copy() if isinstance(item, exp.Column) else item)
    )


def floored(number: exp.Expr, size: int) -> exp.Expr:
    """A whole number rounded down to a multiple of a size; engines cut remainders towards zero."""
    if size == 1:
        return number
    rest = exp.Paren(this=exp.Mod(this=exp.Paren(this=number.copy()), expression=literal(size)))
    above = exp.Paren(this=exp.Add(this=rest, expression=literal(size)))
    return exp.Paren(
        this=exp.Sub(
            this=exp.Paren(this=number.copy()),
            expression=exp.Paren(this=exp.Mod(this=above, expression=literal(size))),
        )
    )


def _is_not_zero(number: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    """Whether a number is other than 0, and whether it is 0."""
    zero = literal(0)
    return exp.NEQ(this=number, expression=zero), exp.EQ(this=number.copy(), expression=zero.copy())
