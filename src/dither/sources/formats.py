"""Declared formats of numbers and dates that are stored as texts.

A format says of every text, by itself, which number or day it is, or that it is none: then the entry is missing.  The
patterns use what the regular expressions of Python, DuckDB, PostgreSQL and Java have in common, so every engine reads
the same; at most 255 figures on either side of the decimal mark keep every number within the range of doubles.
"""

from __future__ import annotations

import datetime
import functools
import math
import re
from dataclasses import dataclass

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


_WIDTHS = {"Y": "[0-9][0-9][0-9][0-9]", "y": "[0-9][0-9]", "f": "[0-9]{1,9}"}
_PARTS = ("Y", "y", "m", "d", "H", "M", "S", "f")
ISO_DAY = "[0-9]{4,6}-[0-9]{1,2}-[0-9]{1,2}(?:[ T][^\\n]*)?|[+-]?[iI]nfinity"
"""Texts that are dates where no format is declared; what engines make of them decides about the rest."""
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

    @classmethod
    @functools.cache
    def of(cls, text: str) -> DateFormat:
        """The format of a text such as ``%d.%m.%Y``."""
        result = re.findall(r"(%?)(.)", text) if isinstance(text, str) else []
        used = [item for mark, item in result if mark]
        years = used.count("Y") + used.count("y")
        wrong = len(set(used)) != len(used) or not set(used) <= set(_PARTS) or years != 1
        if (
            wrong
            or not {"m", "d"} <= set(used)
            or not all(mark or _is_affix(item) or item in " -+.,:/T" for mark, item in result)
        ):
            raise InvalidArgument("format", text, DATES)
        return cls(tuple(result))

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
