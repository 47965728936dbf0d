"""Parameters of queries: what a field may hold in JSON, the limits that protect a server, and how a form calls it.

``PARAMETERS`` is the table by field name.  A query whose field means something else says so where it registers.
Numbers keep the exactness of what was written: a JSON reader that gives decimals gets decimals through.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from dither.errors import InvalidArgument

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from dither.borders import Form
    from dither.plain import Json, JsonObject

T = TypeVar("T")
MOST_NUMBERS = 1_000
MOST_NAMES = 100
LONGEST_NAME = 200


@dataclass(frozen=True)
class Parameter(ABC):
    """One field of a query."""

    label: str
    help: str = ""
    example: Json = None
    """What a form starts with, where the query has no default."""
    is_needed: bool = False
    """True if JSON must name it although the class has a default: what is sent is about registered data."""
    is_advanced: bool = False
    """True if forms leave it out: the schema, or a public rule, decides it."""
    type: ClassVar[str]
    """Which control a form has for it."""

    @abstractmethod
    def accepts(self) -> Form:
        """The type of its values for a model; see ``dither.borders``."""

    @functools.cached_property
    def _reader(self) -> TypeAdapter[Any]:  # what a model reads
        from pydantic import TypeAdapter

        return TypeAdapter(self.accepts())  # type: ignore[arg-type]  # types as values: PEP 747 is not in use yet

    def read(self, name: str, value: Any) -> Any:  # what a model reads
        """The value for the query, or an error that says what is accepted."""
        from dither import borders

        return borders.read_with(self._reader.validate_python, value, name)

    def facts(self) -> JsonObject:
        """What a form needs to know besides label and help."""
        return {}


@dataclass(frozen=True)
class Text(Parameter):
    """A text, or one of some choices."""

    longest: int = LONGEST_NAME
    choices: tuple[str, ...] = ()
    type = "text"

    def accepts(self) -> Form:
        from dither.borders import choice, text

        return choice(*self.choices) if self.choices else text(self.longest)

    def facts(self) -> JsonObject:
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

    def accepts(self) -> Form:
        from dither.borders import names

        return names(self.most)


class ColumnNames(Names):
    """The names of several columns."""

    type = "columns"


@dataclass(frozen=True)
class Flag(Parameter):
    """True or false."""

    type = "flag"

    def accepts(self) -> Form:
        from dither.borders import flag

        return flag()


class _Limited(Parameter):
    """A number with limits."""

    if TYPE_CHECKING:

        @property
        def least(self) -> float | None: ...
        @property
        def most(self) -> float | None: ...

    def facts(self) -> JsonObject:
        from dither.borders import limits

        return limits(self.least, self.most)


@dataclass(frozen=True)
class Whole(_Limited):
    """A whole number."""

    least: int | None = None
    most: int | None = None
    type = "whole"

    def accepts(self) -> Form:
        from dither.borders import whole

        return whole(self.least, self.most)


@dataclass(frozen=True)
class Number(_Limited):
    """A finite number."""

    least: float | None = None
    most: float | None = None
    type = "number"

    def accepts(self) -> Form:
        from dither.borders import number

        return number(self.least, self.most)


@dataclass(frozen=True)
class NumbersParameter(Parameter):
    """A list of numbers; where ``or_one``, also one number."""

    most: int = MOST_NUMBERS
    or_one: bool = False
    type = "numbers"

    def accepts(self) -> Form:
        from dither.borders import either, is_list, listed, number

        several = listed(number(), self.most, 1, "numbers")
        return either(is_list, several, number()) if self.or_one else several


class PointList(NumbersParameter):
    """A list of points, each a list of numbers; or their numbers one after the other."""

    def accepts(self) -> Form:
        from dither.borders import either, followed, is_list, listed

        flat = super().accepts()
        points = followed(listed(flat, self.most, 1, "points"), self._few)
        return either(lambda value: is_list(value) and any(map(is_list, value)), points, flat)

    def _few(self, points: tuple[tuple[T, ...], ...]) -> tuple[tuple[T, ...], ...]:
        if sum(map(len, points)) > self.most:
            raise InvalidArgument("", type(points), f"must be points with at most {self.most} numbers")
        return points


class EdgesParameter(NumbersParameter):
    """The edges of bins of numbers; a form starts with quarters of the column's range."""

    type = "edges"


@dataclass(frozen=True)
class Bounds(Parameter):
    """A pair of numbers; where ``most`` is more than one, also a list of so many pairs."""

    most: int = 1
    type = "bounds"

    def accepts(self) -> Form:
        from dither.borders import either, followed, is_list, listed, number, pair

        more = "" if self.most == 1 else ", or a list of pairs,"
        pair_of_numbers = pair(number(), f"must be a list of two numbers such as [0, 100]{more}")
        if self.most == 1:
            return pair_of_numbers
        several = followed(listed(pair_of_numbers, self.most, 1, "pairs"), list)
        return either(lambda value: is_list(value) and any(map(is_list, value[:1])), several, pair_of_numbers)


@dataclass(frozen=True)
class MissingValue(Parameter):
    """What a missing value counts as: a number, or an end of the range."""

    type = "missing"
    _ends: ClassVar[tuple[str, ...]] = ("lower", "upper")

    def accepts(self) -> Form:
        from dither.borders import choice, either, number

        ends = choice(*self._ends, sentence='must be a number, "lower" or "upper"')
        return either(lambda value: isinstance(value, str), ends, number())


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
    "people": Flag("People instead of rows", "Where a column tells them apart.", is_advanced=True),
    "non_negative": Flag("Nothing is below zero", "Only where no bounds are known.", is_advanced=True),
    "count_beyond": Flag(
        "Count what lies beyond the bounds that are found", "Only where no bounds are known.", is_advanced=True
    ),
    "method": Text("Method", choices=("auto", "ols", "medians", "shortcut", "robust"), is_advanced=True),
    "intercept": Flag("With an intercept", is_advanced=True),
    "block_size": Whole("Records in a block", least=1, most=1_000_000_000, is_advanced=True),
    "constants": Text("Constants", choices=("exact", "paper"), is_advanced=True),
    "blocks": Whole("Blocks", "Empty: a public rule.", least=1, most=100_000, is_advanced=True),
}
"""What a field of this name holds, unless its query says otherwise."""
