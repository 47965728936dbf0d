"""The models of schema files: which sections and keys there are, and what each may hold.

The columns are those of the table of column types, the priors those of the table of priors.  Errors say what to write.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from types import EllipsisType, GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeGuard, TypeVar, get_args

from pydantic import Field, PlainValidator

from dither.borders import Accepts, Form, Model, choice, either, followed, model, pair, says, tagged
from dither.errors import InvalidArgument, suggested
from dither.plain import Given
from dither.privacy import FILTERS
from dither.sources.engines.factory import ENGINES
from dither.sources.graph_schema import Whose
from dither.sources.schema import MAY_BE_MISSING, PRIOR_PARAMETERS, VERSIONS
from dither.sources.types import NO_BOUNDS, TYPES

NO_TABLE = "no table is declared: a section such as [tables.orders] for each is needed"
NO_COLUMN = "no column is declared: at least one section such as [columns.total_pay] is needed"
Written: TypeAlias = int | Decimal | Fraction
"""A number as it was written."""
T = TypeVar("T")
if TYPE_CHECKING:
    AsWritten: TypeAlias = Given
else:
    AsWritten = Any  # pydantic takes it as it is: the schema looks at it
End = TypeVar("End", int, Decimal, Fraction, date)
_RATIO = re.compile(r"-?[0-9]{1,99}/[0-9]{1,99}\Z")


def _checked(function: Callable[[Given], T]) -> Form:
    return Annotated[Any, PlainValidator(function)]


def _one_of(options: tuple[str, ...], more: str = "") -> Callable[[Given], str]:
    listed = " ".join((", ".join(f'"{option}"' for option in options), more)).strip()
    return lambda given: f"write {listed}{suggested(given, options)}"


def among(*options: str, more: str = "") -> Form:
    """One of some words."""

    def checked(given: Given) -> str:
        if not isinstance(given, str) or given not in options:
            raise InvalidArgument("", given, _one_of(options, more)(given))
        return given

    return _checked(checked)


def _is_ratio(given: Given) -> TypeGuard[str]:
    return isinstance(given, str) and bool(_RATIO.match(given)) and int(given.split("/")[1]) != 0


def _exact(given: Given) -> Written:
    if _is_ratio(given):
        return Fraction(given)
    if isinstance(given, bool) or not isinstance(given, (int, Decimal)):
        raise InvalidArgument("", given, "write a number")
    if isinstance(given, Decimal) and not given.is_finite():
        raise InvalidArgument("", given, "write a finite number")
    return given


def _day(given: Given) -> date:
    if isinstance(given, date) and not isinstance(given, datetime):
        return given
    if isinstance(given, str):
        with contextlib.suppress(ValueError):
            return date.fromisoformat(given)
    raise InvalidArgument("", given, "write a date such as 2024-01-31")


def _moment(given: Given) -> datetime:
    if isinstance(given, datetime):
        return given
    if isinstance(given, date):
        return datetime(given.year, given.month, given.day)  # noqa: DTZ001  (as it stands)
    if isinstance(given, str):
        with contextlib.suppress(ValueError):
            return datetime.fromisoformat(given)
    raise InvalidArgument("", given, "write a moment such as 2024-01-31T12:30:00")


def _step_of_seconds(given: Given) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise InvalidArgument("", given, "write a whole number of seconds, such as 3600 for hours")
    return given


def _positive(given: Written) -> Written:
    if given <= 0:
        raise InvalidArgument("", given, "write a positive number")
    return given


def _whole(least: int, sentence: str) -> Form:
    return Annotated[int, Field(strict=True, ge=least), says(sentence)]


def _version(given: Given) -> int:
    if isinstance(given, bool) or given not in VERSIONS or not isinstance(given, int):
        raise InvalidArgument("", given, f"write {' or '.join(map(str, VERSIONS))}: no other version is known here")
    return given


TEXT = Annotated[str, Field(strict=True, min_length=1), says("write a text in quotes")]
NUMBER, DAY, MOMENT = _checked(_exact), _checked(_day), _checked(_moment)
Quoted = Annotated[str | None, Accepts(TEXT)]
Number = Annotated[Written, Accepts(NUMBER)]
NumberIfGiven = Annotated[Written | None, Accepts(NUMBER)]


# --- columns and priors, from their tables ----------------------------------------------------------------------------


def _ends(of: Form) -> Form:
    def ordered(ends: tuple[End, End]) -> tuple[End, End]:
        if not _comparable(ends[0]) < _comparable(ends[1]):
            raise InvalidArgument("", list(ends), "the lower end must be below the upper end")
        return ends

    return followed(pair(of, "write two ends [lower, upper]"), ordered)


def _comparable(end: End) -> End:
    """A moment without a time zone counts as one of UTC."""
    return end.replace(tzinfo=UTC) if isinstance(end, datetime) and end.tzinfo is None else end


def _values(given: Given) -> list[str]:
    if not isinstance(given, list) or not given:
        raise InvalidArgument("", type(given), 'write a list of names such as ["clerk", "nurse"]')
    results: dict[str, None] = {}
    for place, argument in enumerate(given):
        if not isinstance(argument, (str, int)) or isinstance(argument, bool):
            raise InvalidArgument(str(place), argument, "write a name in quotes, or a whole number")
        if str(argument) in results or str(argument) == "other":
            raise InvalidArgument(str(place), argument, 'write different names, none of them "other"')
        results[str(argument)] = None
    return list(results)


def _is_word(given: Given) -> bool:
    return isinstance(given, str) and not _is_ratio(given)


_WORDS = ("lower", "upper", "drop")
_NULLS = {
    "date": either(lambda given: given in _WORDS, among(*_WORDS), DAY),
    "timestamp": either(lambda given: given in _WORDS, among(*_WORDS), MOMENT),
    "boolean": either(lambda given: isinstance(given, bool), bool, among("drop", more="or true, or false")),
}


def _is_unbounded(given: Given) -> bool:
    return given == NO_BOUNDS


def _no_ends(given: Given) -> tuple[None, None]:  # noqa: ARG001
    """The bounds of a column without."""
    return None, None


def _column(name: str) -> type[Model]:
    """The model of one type of column: two ends of a range are its bounds, and its other fields are keys."""
    declared_type: Any = TYPES[name]  # a dataclass, as all of them are
    fields = dataclasses.fields(declared_type)
    needed = [field for field in fields if field.default is dataclasses.MISSING]
    numbers = either(_is_word, among(*_WORDS, more="or a value within the bounds"), NUMBER)
    step = _checked(_step_of_seconds) if name == "timestamp" else NUMBER
    options = {"step": step, "nulls": _NULLS.get(name, numbers), "values": _checked(_values), "format": TEXT}
    keys: dict[str, tuple[Form, EllipsisType | None]] = {"type": (choice(name), ...)}
    if len(needed) == 2:
        ends = _ends({"date": DAY, "timestamp": MOMENT}.get(name, NUMBER))
        keys["bounds"] = (either(_is_unbounded, _checked(_no_ends), ends) if name == "real" else ends, ...)
    declared = [field.name for field in fields if field not in needed]
    return model(
        f"{name.capitalize()}Column", **keys, **{declaration: (options[declaration], None) for declaration in declared}
    )


def _told_apart(models: dict[str, type[Model]], key: str) -> Form:
    def sentence(given: Given) -> str:
        missing = f"the {key} is missing: write one of {', '.join(models)}"
        return missing if given is None else _one_of(tuple(models))(given)

    return tagged(key, models, sentence)


def prior_models(number: Form, positive: Form) -> dict[str, type[Model]]:
    """The models of what may be publicly known of a column, by ``kind``; numbers are of these types."""
    types = {item: positive if item in ("median", "sigma", "sd") else number for item in _PRIOR_NUMBERS}
    return {
        kind: model(
            f"{kind.capitalize()}Prior",
            kind=(choice(kind), ...),
            **{
                parameter: (types[parameter], None if (kind, parameter) in MAY_BE_MISSING else ...)
                for parameter in parameters
            },
        )
        for kind, parameters in PRIOR_PARAMETERS.items()
    }


_PRIOR_NUMBERS = {parameter for parameters in PRIOR_PARAMETERS.values() for parameter in parameters}
COLUMNS = {name: _column(name) for name in TYPES}
PRIORS = prior_models(NUMBER, followed(NUMBER, _positive))


# --- sections ---------------------------------------------------------------------------------------------------------


_TWO_NAMES = followed(Annotated[list[Any], says('write two names such as ["source", "target"]')], tuple)


_FLAG = Annotated[bool, Field(strict=True), says("write true or false")]
_LINKS = GenericAlias(dict, (str, Annotated[str, Field(strict=True), says("write the name of a table in quotes")]))


def _sections(of: Form, sentence: str) -> Form:
    """Sections by their names, at least one."""
    several = GenericAlias(dict, (str, of))
    return Annotated[several, Field(min_length=1), says(sentence)]


class DatasetSection(Model):
    """Where the records are, and who counts as a person."""

    name: Quoted = None
    source: Annotated[str, Accepts(TEXT)]
    table: Quoted = None
    engine: Annotated[str | None, Accepts(among(*ENGINES))] = None
    rows: AsWritten = None
    unit: Quoted = None
    rows_per_unit: AsWritten = None
    delimiter: AsWritten = None
    skip_lines: AsWritten = None
    encoding: AsWritten = None


class LinkedDataset(Model):
    """Whose rows linked tables hold; and where they are, if all of them are in one place."""

    name: Quoted = None
    person: Annotated[str, Accepts(TEXT)]
    rows_per_unit: AsWritten = None
    source: Quoted = None
    engine: Annotated[str | None, Accepts(among(*ENGINES))] = None


class GraphDataset(Model):
    """Where the edges are."""

    name: Quoted = None
    source: Annotated[str, Accepts(TEXT)]
    table: Quoted = None
    engine: Annotated[str | None, Accepts(among(*ENGINES))] = None


class GraphSection(Model):
    """What an edge list holds."""

    vertices: Annotated[int, Accepts(_whole(1, "write a whole number of at least 1"))]
    ends: Annotated[tuple[str, str] | None, Accepts(_TWO_NAMES)] = None
    neighbours: Annotated[str | None, Accepts(among(*get_args(Whose)))] = None
    weight: Quoted = None
    cap: NumberIfGiven = None
    step: NumberIfGiven = None


class BudgetSection(Model):
    """What may be spent."""

    epsilon: Number
    delta: NumberIfGiven = None
    filter: Annotated[str, Accepts(among(*FILTERS))] = "basic"
    slack: NumberIfGiven = None


_VERSION = _checked(_version)


class TableFile(Model):
    """A schema file of a table."""

    dataset: DatasetSection
    columns: Annotated[dict[str, Model], Accepts(_sections(_told_apart(COLUMNS, "type"), NO_COLUMN))]
    budget: BudgetSection | None = None
    priors: Annotated[dict[str, Model], Accepts(dict[str, _told_apart(PRIORS, "kind")])] = Field(default_factory=dict)
    version: Annotated[int, Accepts(_VERSION)] = VERSIONS[0]


class TableSection(Model):
    """One of several linked tables."""

    source: Quoted = None
    table: Quoted = None
    engine: Annotated[str | None, Accepts(among(*ENGINES))] = None
    key: Quoted = None
    links: Annotated[dict[str, str], Accepts(_LINKS)] = Field(default_factory=dict)
    public: Annotated[bool, Accepts(_FLAG)] = False
    delimiter: AsWritten = None
    skip_lines: AsWritten = None
    encoding: AsWritten = None
    columns: Annotated[dict[str, Model], Accepts(dict[str, _told_apart(COLUMNS, "type")])] = Field(default_factory=dict)


class LinkedFile(Model):
    """A schema file of linked tables."""

    dataset: LinkedDataset
    tables: Annotated[dict[str, TableSection], Accepts(_sections(TableSection, NO_TABLE))]
    budget: BudgetSection | None = None
    priors: Annotated[dict[str, Model], Accepts(dict[str, _told_apart(PRIORS, "kind")])] = Field(default_factory=dict)
    version: Annotated[int, Accepts(_VERSION)] = VERSIONS[0]


class GraphFile(Model):
    """A schema file of a graph."""

    dataset: GraphDataset
    budget: BudgetSection | None = None
    graph: GraphSection
    version: Annotated[int, Accepts(_VERSION)] = VERSIONS[0]
