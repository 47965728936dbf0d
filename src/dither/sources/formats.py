"""Declared formats of numbers and dates that are stored as texts.

A format says of every text, by itself, which number or day it is, or that it is none: then the entry is missing.  The
patterns use what the regular expressions of Python, DuckDB, PostgreSQL and Java have in common, so every engine reads
the same; at most 255 figures on either side of the decimal mark keep every number within the range of doubles.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import math
import re
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from dither.errors import InvalidArgument
from dither.sources.entries import SPACES

BLANKS = " \u00a0\u202f"
"""Blanks that separate thousands or stand beside a currency: the plain one and those that do not break a line."""
_EXAMPLE = re.compile(
    r"(?P<prefix>[^0-9+\-]*?)1(?P<thousands>[^0-9+\-]?)234(?:(?P<decimal>[^0-9+\-])56)?(?P<suffix>[^0-9+\-]*)"
)
_MOST = 255
"""Figures on either side; PostgreSQL repeats nothing more often."""
_LONGEST = 12
"""Characters before or behind a number."""
_MARKS = ".,'\u2019_ \u00a0\u202f"
NUMBERS = "must be the number 1234.56 as it is written there, such as 1,234.56 or 1.234,56 or $1,234 or 1 234,56 EUR"
DATES = "must have a year, a month and a day once each, such as %d.%m.%Y or %m/%d/%y or %Y-%m-%d %H:%M:%S"


@dataclass(frozen=True)
class NumberFormat:
    """How numbers are written: what separates thousands and decimals, and what stands before and behind.

    Separators, prefix and suffix may be left out in a record; a text that is written in another way is no number.

    >>> NumberFormat.of("$1,234.56").number("-$12,000.5"), NumberFormat.of("1.234,56").number("0,25")
    (-12000.5, 0.25)
    """

    thousands: str
    decimal: str
    prefix: str = ""
    suffix: str = ""

    @classmethod
    @functools.cache
    def of(cls, text: str) -> NumberFormat:
        """The format in which 1234.56 is written so."""
        result = _EXAMPLE.fullmatch(text) if isinstance(text, str) else None
        if result is None:
            raise InvalidArgument("format", text, NUMBERS)
        thousands = result["thousands"]
        decimal = result["decimal"] or ("," if thousands == "." else ".")
        affixes = result["prefix"].strip(BLANKS), result["suffix"].strip(BLANKS)
        odd = any(
            len(affix) > _LONGEST or not _is_affix(affix) or (affix and not affix.strip("./")) for affix in affixes
        )
        if odd or thousands == decimal or decimal not in ".," or (thousands and thousands not in _MARKS):
            raise InvalidArgument("format", text, NUMBERS)
        return cls(" " if thousands in tuple(BLANKS) else thousands, decimal, *affixes)

    @property
    def removed(self) -> tuple[str, ...]:
        """What is taken out of a text, in this order, before its decimal mark becomes a point."""
        affixes = sorted((self.prefix, self.suffix), key=len, reverse=True)  # (one may be a part of the other)
        return tuple(affix for affix in (*affixes, *BLANKS, self.thousands.strip(), "+") if affix)

    @functools.cached_property
    def pattern(self) -> str:
        """What a text matches from its first to its last character, apart from spaces around it."""
        blank, figures = f"[{BLANKS}]?", f"[0-9]{{1,{_MOST}}}"
        mark = f"[{BLANKS}]" if self.thousands == " " else _literal(self.thousands)
        whole = f"(?:{figures}|[0-9]{{1,3}}(?:{mark}[0-9][0-9][0-9]){{1,84}})" if self.thousands else figures
        part = _literal(self.decimal)
        digits = f"(?:{whole}(?:{part}[0-9]{{0,{_MOST}}})?|{part}{figures})"
        before = f"(?:{_literal(self.prefix)}{blank})" if self.prefix else ""
        signed = f"(?:[+-]?{before}?|{before}[+-])" if before else "[+-]?"
        behind = f"(?:{blank}{_literal(self.suffix)})?" if self.suffix else ""
        return f"{signed}{digits}{behind}"

    def number(self, text: str) -> float:
        """The number that a text is; NaN where it is none."""
        text = str.__str__(text).strip(SPACES)  # (a text of anybody's own class as it is)
        if _compiled(self.pattern).fullmatch(text) is None:
            return math.nan
        for item in self.removed:
            text = text.replace(item, "")
        return float(text.replace(self.decimal, "."))


_ZONE_HERE = "<zone>"
_WIDTHS = {"Y": "[0-9][0-9][0-9][0-9]", "y": "[0-9][0-9]", "f": "[0-9]{1,9}", "z": _ZONE_HERE}
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_PARTS = ("Y", "y", "m", "d", "H", "M", "S", "f")
ISO_DAY = "[0-9][0-9][0-9][0-9]-[0-9][0-9]?-[0-9][0-9]?"
"""Texts that are days and nothing more: those of most records, which need no reading of hours and time zones."""
FIRST_OF_1900 = "69"
"""Years of two figures from here on are those of 19.., as Python and POSIX have it."""


@dataclass(frozen=True)
class DateFormat:
    """How days are written, in the directives of strptime: %Y, %y, %m, %d, and %H, %M, %S, %f, which are passed over.

    >>> DateFormat.of("%m/%d/%y").day("1/31/11"), DateFormat.of("%d.%m.%Y").day("30.2.2011") is None
    (datetime.date(2011, 1, 31), True)
    """

    tokens: tuple[tuple[str, str], ...]
    """("%", directive) or ("", a literal character), in order."""
    more: ClassVar[tuple[str, ...]] = ()
    """Directives beside those of dates."""

    @classmethod
    @functools.cache
    def of(cls, text: str) -> DateFormat:
        """The format of a text such as ``%d.%m.%Y``."""
        result, used = _tokens(text, _PARTS + cls.more)
        years = used.count("Y") + used.count("y")
        if years != 1 or not {"m", "d"} <= set(used):
            raise InvalidArgument("format", text, DATES)
        return cls(result)

    def pattern(self, captured: str | None = None) -> str:
        """What a text matches from its first to its last character; one directive is captured."""
        written = []
        for place, (mark, item) in enumerate(self.tokens):
            if not mark:
                written.append(_literal(item))
                continue
            near = [self.tokens[at][0] for at in (place - 1, place + 1) if 0 <= at < len(self.tokens)]
            width = _WIDTHS.get(item, "[0-9][0-9]" if "%" in near else "[0-9][0-9]?")
            written.append(f"({width})" if item == captured else width)
        return "".join(written)

    @property
    def year(self) -> str:
        """The directive of the year."""
        return "Y" if ("%", "Y") in self.tokens else "y"

    def day(self, text: str) -> datetime.date | None:
        """The day that a text is; None where it is none."""
        text = str.__str__(text).strip(SPACES)
        parts = {}
        for item in (self.year, "m", "d"):
            match = _compiled(self.pattern(item)).fullmatch(text)
            if match is None:
                return None
            parts[item] = match[1]
        year = parts[self.year] if self.year == "Y" else century(parts["y"]) + parts["y"]
        try:
            return datetime.date(int(year), int(parts["m"]), int(parts["d"]))
        except ValueError:
            return None


_LAST = {"H": 23, "M": 59, "S": 59}
"""The last hour, minute and second."""
FIRST_SECOND, LAST_SECOND = (
    int((item - datetime.datetime(1970, 1, 1)).total_seconds())  # noqa: DTZ001  (the calendar has no time zone)
    for item in (datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59))  # noqa: DTZ001
)
"""The ends of the calendar in seconds since 1970; what lies beyond counts as the nearer of them."""


@dataclass(frozen=True)
class TimestampFormat(DateFormat):
    """How moments are written: the directives of dates, with %H, %M and %S, and %z for a time zone.

    >>> TimestampFormat.of("%d.%m.%Y %H:%M").second("2.1.1970 01:30")
    91800
    """

    more: ClassVar[tuple[str, ...]] = ("z",)

    def pattern(self, captured: str | None = None) -> str:
        written = super().pattern(captured)
        return written.replace(_ZONE_HERE, _zone(captured))

    def second(self, text: str) -> int | None:
        return second_of(self, text)


@dataclass(frozen=True)
class IsoMoments:
    """Days and moments of ISO 8601, where no format is declared: 2024-01-31, 2024-01-31T12:30:15.5+01:00.

    The one rule for such texts, in every source: ``docs/schema.md`` states it.

    >>> ISO_MOMENTS.day("2024-01-31T23:30:00-05:00"), ISO_MOMENTS.day("20240131") is None
    (datetime.date(2024, 2, 1), True)
    """

    year: ClassVar[str] = "Y"
    _parts: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("Y", "[0-9][0-9][0-9][0-9]", "%s-"),
        ("m", "[0-9][0-9]?", "%s-"),
        ("d", "[0-9][0-9]?", "%s"),
        ("H", "[0-9][0-9]", "(?:[ T]%s:"),
        ("M", "[0-9][0-9]", "%s"),
        ("S", "[0-9][0-9]", "(?::%s(?:[.,][0-9]{1,9})?)?"),
    )

    def pattern(self, captured: str | None = None) -> str:
        """What a text matches; one part is captured."""
        written = "".join(around % (f"({width})" if name == captured else width) for name, width, around in self._parts)
        return f"{written} ?(?:{_zone(captured)})?)?"

    def second(self, text: str) -> int | None:
        """The seconds of a text; None where it is no moment."""
        return second_of(self, text)

    def day(self, text: str) -> datetime.date | None:
        """The day of a text: that of UTC where it has a time zone; None where it is neither a day nor a moment."""
        text = str.__str__(text).strip(SPACES)
        if _compiled(ISO_DAY).fullmatch(text) is None:
            second = self.second(text)
            return None if second is None else datetime.date.fromordinal(_EPOCH + second // 86_400)
        try:
            return datetime.date(*map(int, text.split("-")))
        except ValueError:
            return None


ISO_MOMENTS = IsoMoments()
Moments: TypeAlias = TimestampFormat | IsoMoments
"""How moments are written: what has a time zone is read as that of UTC, whatever has none as it stands."""


def second_of(written: Moments, text: str) -> int | None:
    """The seconds that a text is in a format of moments."""
    text = str.__str__(text).strip(SPACES)
    parts: dict[str, str] = {}
    for item in (written.year, "m", "d", "H", "M", "S", "sign", "hours", "minutes"):
        match = _compiled(written.pattern(item)).fullmatch(text)
        if match is None:
            return None
        parts[item] = (match[1] if match.groups() else None) or "0"
    year = parts[written.year] if written.year == "Y" else century(parts["y"]) + parts["y"]
    hour, minute, second, hours, minutes = (int(parts[item]) for item in ("H", "M", "S", "hours", "minutes"))
    if any(int(parts[item]) > last for item, last in _LAST.items()) or hours > _LAST["H"] or minutes > _LAST["M"]:
        return None
    try:
        day = datetime.date(int(year), int(parts["m"]), int(parts["d"])).toordinal() - _EPOCH
    except ValueError:
        return None
    offset = (hours * 3600 + minutes * 60) * (-1 if parts["sign"] == "-" else 1)
    return min(max(day * 86_400 + hour * 3600 + minute * 60 + second - offset, FIRST_SECOND), LAST_SECOND)


def _zone(captured: str | None) -> str:
    """A time zone, of which one part may be captured."""
    sign, hours, minutes = (
        f"({width})" if name == captured else width
        for name, width in (("sign", "[+-]"), ("hours", "[0-9][0-9]"), ("minutes", "[0-9][0-9]"))
    )
    return f"(?:Z|{sign}{hours}(?::?{minutes})?)"


SPANS = "must have %d, %H, %M or %S once each, such as %H:%M:%S or %M:%S.%f or %d days %H:%M:%S"
_SECONDS = {"d": 86_400, "H": 3_600, "M": 60, "S": 1}


@dataclass(frozen=True)
class DurationFormat:
    """How durations are written: %d days, %H hours, %M minutes, %S seconds, %f their fraction; each of any size.

    >>> DurationFormat.of("%H:%M:%S").seconds("30:00:05"), DurationFormat.of("%M:%S.%f").seconds("-1:30.5")
    (108005.0, -90.5)
    """

    tokens: tuple[tuple[str, str], ...]

    @classmethod
    @functools.cache
    def of(cls, text: str) -> DurationFormat:
        """The format of a text such as ``%H:%M:%S``."""
        result, used = _tokens(text, (*_SECONDS, "f"))
        if not set(used) - {"f"} or ("f" in used and "S" not in used):
            raise InvalidArgument("format", text, SPANS)
        near = any(item and after for (item, _), (after, _) in itertools.pairwise(result))
        if near:  # (figures of any number need something between them)
            raise InvalidArgument("format", text, SPANS)
        return cls(result)

    @property
    def units(self) -> dict[str, int]:
        """The directives of whole numbers, and how many seconds each has."""
        return {item: _SECONDS[item] for mark, item in self.tokens if mark and item != "f"}

    @property
    def has_fraction(self) -> bool:
        """Whether fractions of seconds are written."""
        return ("%", "f") in self.tokens

    def pattern(self, captured: str | None = None) -> str:
        """What a text matches from its first to its last character; one directive, or the "sign", is captured."""
        written = ["([+-]?)" if captured == "sign" else "[+-]?"]
        for mark, item in self.tokens:
            figures = "[0-9]{1,9}" if mark else _literal(item)
            written.append(f"({figures})" if mark and item == captured else figures)
        return "".join(written)

    def seconds(self, text: str) -> float:
        """The seconds that a text is; NaN where it is no duration."""
        text = str.__str__(text).strip(SPACES)
        parts: dict[str, str] = {}
        for item in ("sign", *self.units, *(["f"] if self.has_fraction else [])):
            match = _compiled(self.pattern(item)).fullmatch(text)
            if match is None:
                return math.nan
            parts[item] = match[1]
        whole = sum(int(parts[item]) * size for item, size in self.units.items())
        total = float(whole) + float(f"0.{parts.get('f', 0)}")
        return -total if parts["sign"] == "-" else total


def _tokens(text: str, allowed: tuple[str, ...]) -> tuple[tuple[tuple[str, str], ...], list[str]]:
    """A format in directives and literal characters, and its directives; each at most once."""
    result = re.findall(r"(%?)(.)", text) if isinstance(text, str) else []
    used = [item for mark, item in result if mark]
    wrong = len(set(used)) != len(used) or not set(used) <= set(allowed)
    if wrong or not all(mark or _is_affix(item) or item in " -+.,:/T" for mark, item in result):
        raise InvalidArgument("format", text, DATES if "y" in allowed else SPANS)
    return tuple(result), used


def century(year: str) -> str:
    """The first two figures of a year that is written with two."""
    return "19" if year >= FIRST_OF_1900 else "20"


def _is_affix(text: str) -> bool:
    """Whether a text may stand beside a number: letters, signs of currencies, %, points and slashes."""
    return all(
        character.isalpha()
        or character in "$%./#"
        or (ord(character) > 0x9F and character not in BLANKS and character.isprintable())
        for character in text
    )


def _literal(text: str) -> str:
    return "".join(character if character.isalpha() else f"[{character}]" for character in text)


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
