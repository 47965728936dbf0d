"""Parameters of queries: what a field may hold in JSON, the limits that protect a server, and how a form calls it.

``PARAMETERS`` is the table by field name.  A query whose field means something else says so where it registers.
Numbers keep the exactness of what was written: a JSON reader that gives decimals gets decimals through.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, TypeAlias

from dither.errors import InvalidArgument
from dither.numbers import exact
from dither.typing import Json

MOST_NUMBERS = 1_000
MOST_NAMES = 100
LONGEST_NAME = 200
Exact: TypeAlias = int | float | Decimal
"""A number as a JSON reader gives it."""
Written: TypeAlias = "bool | Exact | str | Sequence[Written] | Mapping[str, Written] | None"
"""A value of JSON whose numbers are as exact as they were written."""
Schema: TypeAlias = dict[str, Json]
"""A JSON Schema."""
_NUMBER: Schema = {"type": "number"}


@dataclass(frozen=True)
class Parameter(ABC):
    """One field of a query."""

    label: str
    help: str = ""
    example: Written = None
    """What a form starts with, where the query has no default."""
    is_needed: bool = False
    """True if JSON must name it although the class has a default: what is sent is about registered data."""
    is_advanced: bool = False
    """True if forms leave it out: the schema, or a public rule, decides it."""
    type: ClassVar[str]
    """Which control a form has for it."""

    @abstractmethod
    def read(self, name: str, value: Written) -> Written:
        """The value for the query, or an error that says what is accepted."""

    @abstractmethod
    def schema(self) -> Schema:
        """As JSON Schema."""

    def facts(self) -> dict[str, Json]:
        """What a form needs to know besides label and help."""
        return {}


@dataclass(frozen=True)
class Text(Parameter):
    """A text, or one of some choices."""

    longest: int = LONGEST_NAME
    choices: tuple[str, ...] = ()
    type = "text"

    def read(self, name: str, value: Written) -> str:
        if not isinstance(value, str) or not 0 < len(value) <= self.longest:
            raise InvalidArgument(name, without_contents(value), f"must be a text of 1 to {self.longest} characters")
        if self.choices and value not in self.choices:
            raise InvalidArgument(name, value, f"must be one of {', '.join(self.choices)}")
        return value

    def schema(self) -> Schema:
        if self.choices:
            return {"enum": list(self.choices)}
        return {"type": "string", "minLength": 1, "maxLength": self.longest}

    def facts(self) -> dict[str, Json]:
        return {"choices": list(self.choices)} if self.choices else {}


class ColumnParameter(Text):
    """The name of a column."""

    type = "column"


class SourceParameter(Text):
    """The text of a program."""

    type = "source"


@dataclass(frozen=True)
class Names(Parameter):
    """A list of texts."""

    most: int = MOST_NAMES
    type = "names"

    def read(self, name: str, value: Written) -> list[str]:
        if not isinstance(value, list) or len(value) > self.most or not all(isinstance(one, str) for one in value):
            raise InvalidArgument(name, without_contents(value), f"must be a list of at most {self.most} texts")
        return value

    def schema(self) -> Schema:
        return {"type": "array", "items": {"type": "string"}, "maxItems": self.most}


class ColumnNames(Names):
    """The names of several columns."""

    type = "columns"


@dataclass(frozen=True)
class Flag(Parameter):
    """True or false."""

    type = "flag"

    def read(self, name: str, value: Written) -> bool:
        if not isinstance(value, bool):
            raise InvalidArgument(name, without_contents(value), "must be true or false")
        return value

    def schema(self) -> Schema:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Whole(Parameter):
    """A whole number."""

    least: int | None = None
    most: int | None = None
    type = "whole"

    def read(self, name: str, value: Written) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidArgument(name, without_contents(value), "must be a whole number")
        _within(name, value, self.least, self.most, "a whole number")
        return value

    def schema(self) -> Schema:
        return {"type": "integer"} | _limits(self.least, self.most)

    def facts(self) -> dict[str, Json]:
        return _limits(self.least, self.most)


@dataclass(frozen=True)
class Number(Parameter):
    """A finite number."""

    least: float | None = None
    most: float | None = None
    type = "number"

    def read(self, name: str, value: Written) -> Written:
        number = _number(name, value)
        _within(name, number, self.least, self.most, "a number")
        return number

    def schema(self) -> Schema:
        return _NUMBER | _limits(self.least, self.most)

    def facts(self) -> dict[str, Json]:
        return _limits(self.least, self.most)


@dataclass(frozen=True)
class NumbersParameter(Parameter):
    """A list of numbers; where ``or_one``, also one number."""

    most: int = MOST_NUMBERS
    or_one: bool = False
    type = "numbers"

    def read(self, name: str, value: Written) -> Written:
        if self.or_one and not isinstance(value, list):
            return _number(name, value)
        if not isinstance(value, list) or not 0 < len(value) <= self.most:
            raise InvalidArgument(name, without_contents(value), f"must be a list of 1 to {self.most} numbers")
        return tuple(_number(name, one) for one in value)

    def schema(self) -> Schema:
        several: Schema = {"type": "array", "items": _NUMBER, "minItems": 1, "maxItems": self.most}
        return {"anyOf": [_NUMBER, several]} if self.or_one else several


class PointList(NumbersParameter):
    """A list of points, each a list of numbers; or their numbers one after the other."""

    def read(self, name: str, value: Written) -> Written:
        if not isinstance(value, list) or not any(isinstance(one, list) for one in value):
            return super().read(name, value)
        if not all(isinstance(one, list) and one for one in value) or sum(map(len, value)) > self.most:
            raise InvalidArgument(name, without_contents(value), f"must be points with at most {self.most} numbers")
        return tuple(tuple(_number(name, number) for number in one) for one in value)

    def schema(self) -> Schema:
        flat = super().schema()
        return {"anyOf": [flat, {"type": "array", "items": flat, "minItems": 1, "maxItems": self.most}]}


class EdgesParameter(NumbersParameter):
    """The edges of bins of numbers; a form starts with quarters of the column's range."""

    type = "edges"


@dataclass(frozen=True)
class Bounds(Parameter):
    """A pair of numbers; where ``most`` is more than one, also a list of so many pairs."""

    most: int = 1
    type = "bounds"

    def read(self, name: str, value: Written) -> Written:
        if self.most > 1 and isinstance(value, list) and value and isinstance(value[0], list):
            if len(value) > self.most:
                raise InvalidArgument(name, without_contents(value), f"must be at most {self.most} pairs")
            return [self._pair(name, one) for one in value]
        return self._pair(name, value)

    def _pair(self, name: str, value: Written) -> tuple[Exact, Exact]:
        if not isinstance(value, list) or len(value) != 2:
            more = "" if self.most == 1 else ", or a list of pairs,"
            raise InvalidArgument(
                name, without_contents(value), f"must be a list of two numbers such as [0, 100]{more}"
            )
        return _number(name, value[0]), _number(name, value[1])

    def schema(self) -> Schema:
        pair: Schema = {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}
        if self.most == 1:
            return pair
        return {"anyOf": [pair, {"type": "array", "items": pair, "minItems": 1, "maxItems": self.most}]}


@dataclass(frozen=True)
class MissingValue(Parameter):
    """What a missing value counts as: a number, or an end of the range."""

    type = "missing"
    _ends: ClassVar[tuple[str, ...]] = ("lower", "upper")

    def read(self, name: str, value: Written) -> Written:
        if isinstance(value, str):
            if value not in self._ends:
                raise InvalidArgument(name, value, 'must be a number, "lower" or "upper"')
            return value
        return _number(name, value)

    def schema(self) -> Schema:
        return {"anyOf": [_NUMBER, {"enum": list(self._ends)}]}


def _number(name: str, value: Written) -> Exact:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)) or not math.isfinite(value):
        raise InvalidArgument(name, without_contents(value), "must be a finite number")
    return value


def _within(name: str, number: Exact, least: float | None, most: float | None, what: str) -> None:
    # A decimal such as 0.2 is not below the float that prints as 0.2.
    if (least is not None and exact(number) < exact(least)) or (most is not None and exact(number) > exact(most)):
        low = "" if least is None else f" of at least {least:g}" if most is None else f" from {least:g}"
        high = "" if most is None else f" to {most:g}" if least is not None else f" of at most {most:g}"
        raise InvalidArgument(name, without_contents(number), f"must be {what}{low}{high}")


def _limits(least: float | None, most: float | None) -> Schema:
    given = {"minimum": least, "maximum": most}
    return {name: one for name, one in given.items() if one is not None}


def without_contents(value: object) -> object:
    """What an error shows of a JSON value: itself where it is short and plain, else its type."""
    return value if value is None or isinstance(value, (str, bool, int, float, Decimal)) else type(value)


COLUMN = ColumnParameter("Column", is_needed=True)
WITH_COMMAS = "With commas between them"
PARAMETERS: dict[str, Parameter] = {
    "column": COLUMN,
    "columns": ColumnNames("Columns"),
    "target": ColumnParameter("Response", "The column that is explained.", is_needed=True),
    "features": ColumnNames("Features", "None chosen: all other columns of numbers."),
    "bounds": Bounds("Bounds", "Narrower than the schema declares.", is_advanced=True),
    "step": Number("Step", "Of the grid that answers lie on.", is_advanced=True),
    "nulls": MissingValue("Missing values count as", is_advanced=True),
    "q": NumbersParameter("Which quantile", or_one=True),
    "rank": Whole("Rank", "1 is the smallest.", example=2),
    "trim": Number("Trimmed at either end", "A share of the records: 0.1 leaves out a tenth at each end."),
    "low": Number("Lower quantile", "Between 0 and 1."),
    "high": Number("Upper quantile", "Between 0 and 1."),
    "ddof": Whole("Divided by", "0: by the number of records; 1: by one less.", least=0, most=1),
    "k": Whole("k", example=3),
    "edges": EdgesParameter("Edges", f"{WITH_COMMAS}, from the lower bound to the upper."),
    "categories": Names("Categories", "Instead of those that the schema declares.", most=1_000, is_advanced=True),
    "max_degree": Whole(
        "Highest degree", "Count only edges within the first so many of both of their vertices.", is_advanced=True
    ),
    "rows_per_person": Whole("Records of one person, at most", least=1, most=1_000_000, is_advanced=True),
    "names": Names("Names of the columns in the answer", is_advanced=True),
    "method": Text("Method", choices=("auto", "shortcut", "robust"), is_advanced=True),
    "intercept": Flag("With an intercept", is_advanced=True),
    "block_size": Whole("Records in a block", least=1, most=1_000_000_000, is_advanced=True),
    "constants": Text("Constants", choices=("exact", "paper"), is_advanced=True),
    "blocks": Whole("Blocks", "Empty: a public rule.", least=1, most=100_000, is_advanced=True),
}
"""What a field of this name holds, unless its query says otherwise."""
