"""Plain values: what dates, arrays, tuples and exact numbers become in JSON, and back.

Every door and the ledger convert with ``plain``; they differ only in what they make of a number.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, SupportsFloat, TypeAlias, TypeVar

from dither.errors import InvalidArgument
from dither.numbers import Number, exact
from dither.numbers import plain as simplest

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""What JSON can say."""
Given: TypeAlias = (
    "bool | int | float | str | Decimal | datetime.date | datetime.time | Sequence[Given] | Mapping[str, Given] | None"
)
"""What a strict reader makes of JSON or TOML: the same, with decimals as they were written, dates and times."""
Payload: TypeAlias = "str | SupportsFloat | datetime.date | Sequence[Payload] | Mapping[str, Payload] | None"
"""What ``plain`` makes JSON of; also arrays, which have ``tolist``."""
JsonObject: TypeAlias = "dict[str, Json]"
T = TypeVar("T")

MOST_ANSWERED = 400
"""Of a number in an answer, exponents counted: it may be any float, and counts in graphs are as large."""


def unchanged(value: T) -> T:
    """Numbers as they are: for values that stay in this process or in a ledger, infinities included."""
    return value


def exact_text(value: Number) -> str:
    """The exact rational as a text: the same for the same number, however it was written."""
    return str(exact(value))


def exact_number(value: Number) -> int | str:
    """The exact number, a whole one as such: the same for 1, 1.0 and Decimal("1.00")."""
    number = exact(value)
    return number.numerator if number.denominator == 1 else str(number)


def json_number(value: Number) -> float | str:
    """A number of strict JSON; infinities and NaN, which it has not, become texts."""
    number = float(value)
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def as_float(value: Decimal) -> float | Decimal:
    """The float that prints as this decimal; where none does, the decimal, which keeps its digits.

    >>> as_float(Decimal("0.10")), as_float(Decimal("0.12345678901234567890"))
    (0.1, Decimal('0.12345678901234567890'))
    """
    nearest = float(value)
    return nearest if Decimal(repr(nearest)) == value else value


def answered_number(value: Number) -> float | str | Decimal:
    """A number of strict JSON, with all digits of a decimal that a client reads."""
    if isinstance(value, Decimal) and value.is_finite() and len(str(value)) <= MOST_ANSWERED >= abs(value.adjusted()):
        return as_float(value)
    return json_number(value)


def finite_number(value: float | Decimal | Fraction) -> int | float | Decimal:
    """A finite number with all of its digits, whole ones as such; a fraction such as 1/3 as the nearest float."""
    try:
        if math.isfinite(value):
            if value == int(value):
                return int(value)
            digits = simplest(value) if isinstance(value, Fraction) else value
            return as_float(digits) if isinstance(digits, Decimal) else float(digits)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidArgument("value", value, "must be a finite number")


def plain(value: Any, number: Callable[[Any], Any] = json_number) -> Any:  # any value; what ``number`` makes of it
    """A value made of texts, whole numbers, truth values, lists and dictionaries; ``number`` converts all others.

    >>> plain((1, datetime.date(2026, 1, 2), float("inf")))
    [1, '2026-01-02', 'Infinity']
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(part, number) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part, number) for part in value]
    if isinstance(value, datetime.date):
        return value.isoformat()
    if not isinstance(value, float) and hasattr(value, "tolist"):
        return plain(value.tolist(), number)
    return number(value)


def with_infinities(value: Json) -> Any:  # as deep as what it is given
    """What ``json_number`` wrote, with infinities and NaN as numbers again."""
    if isinstance(value, list):
        return [with_infinities(part) for part in value]
    return float(value) if isinstance(value, str) and value in ("Infinity", "-Infinity", "NaN") else value


def without_contents(value: T) -> T | type[T]:
    """What an error shows of a JSON value: itself where it is short and plain, else its type."""
    return value if value is None or isinstance(value, (str, bool, int, float, Decimal)) else type(value)
