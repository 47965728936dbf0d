"""What releases say in words: numbers with the digits that their interval supports, and what an answer is about."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, localcontext
from typing import TypeAlias

from dither.privacy import Neighbours

Ends: TypeAlias = "tuple[Hashable, Hashable] | None"
"""Two ends of an interval or of a range, each of which may be missing."""

SIGNIFICANT = 2
"""So many digits of half the width of an interval are printed, of the answer as of both ends."""
_TINY = 1e-4
"""Numbers that are nearer to zero are written with an exponent."""
_PRECISION = 700
"""Digits of decimals: more than any double needs."""
_HIDDEN = {
    Neighbours.EDGE: "one edge",
    Neighbours.NODE: "one vertex with its edges",
    Neighbours.WEIGHT: "the weight of one edge",
    Neighbours.CHAIN: "one step along the chain of datasets",
    Neighbours.LISTED: "one step between listed datasets",
}
NOTHING_LEARNT = (
    "nothing was learnt{about}: the interval is the whole range of possible answers (likely reasons: too few rows for "
    "this epsilon, or a column that can't be read as declared; quote and the owner's dither check tell which, for free)"
)


def hidden_text(neighbours: Neighbours, unit: str | None) -> str:
    """What the noise of a release hides: the unit of privacy.

    >>> hidden_text(Neighbours.PERSON, "customer"), hidden_text(Neighbours.CHANGE_ONE, None)
    ('hides one person of customer', 'hides one row')
    """
    if neighbours is Neighbours.PERSON:
        return f"hides one {person_text(unit)}"
    return f"hides {_HIDDEN.get(neighbours, 'one row')}"


def person_text(unit: str | None) -> str:
    """A person, with what tells people apart: a column, or of linked tables the table of people."""
    return "person" if unit is None else f"person of {unit}"


def learnt_nothing(interval: Ends, possible: Ends) -> bool:
    """Whether an interval is the whole range of possible answers: by released numbers and public facts."""
    if interval is None or possible is None or None in (*interval, *possible):
        return False
    (low, high), (least, most) = interval, possible
    return bool(low <= least and high >= most)  # type: ignore[operator]  # of one type: numbers, or dates


def within(value: Hashable, possible: Ends) -> Hashable:
    """The possible answer that is nearest to a number: noise may have moved a count below 0."""
    if possible is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    least, most = possible
    value = value if not isinstance(least, (int, float)) else max(value, least)
    return value if not isinstance(most, (int, float)) else min(value, most)


def answer_text(value: Hashable, interval: Ends, possible: Ends = None) -> str:
    """An answer, rounded to what its interval supports; an end of the possible answers is what it is.

    >>> answer_text(582_201.37, (564_227.0, 600_176.0)), answer_text(5_685, (5_679, 5_691))
    ('582,000', '5,685')
    """
    if isinstance(value, tuple):
        pairs = zip(value, _pairs(value, interval), strict=True)
        return f"({', '.join(answer_text(item, pair) for item, pair in pairs)})"
    if possible is not None and value in possible:
        return bound_text(value)
    return _rounded(value, _exponent(interval), ROUND_HALF_EVEN)


def ends_text(interval: tuple[Hashable, Hashable], possible: Ends = None) -> tuple[str, str]:
    """Both ends of an interval, rounded outward; ends of the range of possible answers are what they are.

    >>> ends_text((564_227.0, 600_176.0)), ends_text((0.0, 707.10678), (0.0, 707.10678))
    (('564,000', '601,000'), ('0', '707.107'))
    """
    low, high = interval
    if isinstance(low, tuple) and isinstance(high, tuple):
        pairs = [ends_text(pair) for pair in zip(low, high, strict=True)]
        return f"({', '.join(first for first, _ in pairs)})", f"({', '.join(last for _, last in pairs)})"
    exponent = _exponent(interval)
    least, most = (None, None) if possible is None else possible
    return (
        bound_text(low) if low == least else _rounded(low, exponent, ROUND_FLOOR),
        bound_text(high) if high == most else _rounded(high, exponent, ROUND_CEILING),
    )


def _pairs(value: Sequence[Hashable], interval: Ends) -> list[Ends]:
    """The ends of each coordinate of a point; the last ones may have none."""
    low, high = (None, None) if interval is None else interval
    known = list(zip(low, high, strict=True)) if isinstance(low, tuple) and isinstance(high, tuple) else []
    return [*known, *[None] * (len(value) - len(known))]


def _is_number(value: Hashable) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _exponent(interval: Ends) -> int | None:
    """The power of ten to which numbers are rounded beside an interval; None: it does not say."""
    if interval is None or not all(map(_is_number, interval)):
        return None
    half = (float(interval[1]) - float(interval[0])) / 2  # type: ignore[arg-type]  # these are numbers
    return math.floor(math.log10(half)) - SIGNIFICANT + 1 if 0 < half < math.inf else None


def _rounded(number: Hashable, exponent: int | None, rounding: str) -> str:
    if exponent is None or not _is_number(number):
        return formatted(number)
    with localcontext() as context:
        context.prec = _PRECISION
        exact = Decimal(number if isinstance(number, int) else repr(float(number)))  # type: ignore[arg-type]  # a number
        power = max(exponent, 0) if isinstance(number, int) else exponent
        result = exact.quantize(Decimal(1).scaleb(power), rounding)
        if not result:
            return "0"
        return f"{result:,f}" if abs(result) >= _TINY else f"{result:.{SIGNIFICANT}g}"


def bound_text(end: Hashable) -> str:
    """A declared bound: whole where it is."""
    if isinstance(end, (int, float)) and not isinstance(end, bool) and abs(end) >= _LONG:
        return f"{float(end):.6g}"
    return formatted(int(end) if isinstance(end, float) and end.is_integer() else end)


_LONG = 1e19
"""Bounds from here on, beyond all whole numbers of 64 bits, are written with an exponent."""


def formatted_all(numbers: Hashable) -> str:
    """One number, or several in a row."""
    return ", ".join(formatted(number) for number in numbers) if isinstance(numbers, tuple) else formatted(numbers)


def formatted(number: Hashable) -> str:
    """A number with as many digits as people read, a point as several; dates and categories as they are."""
    if isinstance(number, tuple):
        return f"({', '.join(formatted(item) for item in number)})"
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        return str(number)
    if isinstance(number, int):
        return f"{number:,}"
    if abs(number) < 1000:
        return f"{number:.6g}"
    return f"{number:,.0f}" if number.is_integer() else f"{number:,.2f}"
