"""What servers answer: the models of all JSON that leaves a server and that a client reads.

The OpenAPI document is made of them.  Newer servers may send more than these fields.  A release is read by
``ReleaseAnswer`` whatever was asked; ``values_model`` is the narrower model of the answers to one registered query.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import itertools
import math
import sys
from collections.abc import Callable, Hashable
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias, get_args, get_origin

from pydantic import ConfigDict, Field, PlainValidator, RootModel, WithJsonSchema, model_validator

from dither.borders import (
    MISSING,
    OBJECT,
    Accepts,
    Exact,
    Form,
    Model,
    by_name,
    choice,
    digest,
    either,
    flag,
    followed,
    is_list,
    listed,
    model,
    names,
    number,
    pair,
    says,
    whole,
)
from dither.errors import InvalidArgument
from dither.plain import Given, Json
from dither.privacy import Budget, Loss, Neighbours
from dither.queries.registry import Picture, entry, released_types
from dither.quotes.quote import ESTIMATE, EXACT, UNKNOWN, UPPER_BOUND
from dither.release import POPULATION, SAMPLE, IntervalName

if TYPE_CHECKING:
    Read: TypeAlias = Given
else:
    Read = Any  # pydantic takes it as it was read

MOST_VALUES = 1 << 22
"""Values in one answer: as many as a workload of counting queries may have."""
MOST_RELEASES = 1_000_000
"""Answers to one question: 50 queries in each of 20,000 groups."""
_INFINITE = ("Infinity", "-Infinity")
OWNER, ANALYST = ROLES = ("owner", "analyst")
"""What a token may be for."""


def _as_float_can(value: Exact) -> Exact:
    """A number that a float can be near to: a whole number of JSON may have more digits than any float."""
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        raise InvalidArgument("", value, "must be a finite number")
    return value


Epsilon = Annotated[Exact, Accepts(followed(number(least=0), _as_float_can))]
Delta = Annotated[Exact, Accepts(number(0, 1))]
Finite = Annotated[Exact, Accepts(followed(number(), _as_float_can))]
Whole = Annotated[int, Accepts(whole(0))]
Flag = Annotated[bool, Accepts(flag())]
Level = Annotated[Exact, Accepts(number(0, 1))]
Hash = Annotated[str, Accepts(digest())]
_SOME = Field(min_length=1, max_length=MOST_RELEASES, fail_fast=True)
_MOST = Field(max_length=MOST_RELEASES, fail_fast=True)
_NOTHING = says(f"must be a list with at least one answer, and with {MOST_RELEASES:,} at most")


# --- what a released value, its interval and its error may be -----------------------------------------------------


def _checked(test: Callable[[Given], bool], sentence: str, schema: dict[str, Json]) -> Form:
    def checked(value: Given) -> Given:
        if not test(value):
            raise InvalidArgument("", value, sentence)
        return value

    return Annotated[Any, PlainValidator(checked), WithJsonSchema(schema)]


def _described_as(accepted: Form, schema: dict[str, Json]) -> Form:
    """The same, with another JSON Schema."""
    return Annotated[accepted, WithJsonSchema(schema)]


def _is_number(value: Given) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return False
    return isinstance(value, int) or math.isfinite(value)


def _is_end(value: Given) -> bool:
    return _is_number(value) or value in _INFINITE


def _is_day(value: Given) -> bool:
    """Whether it is a date or a moment as JSON has them."""
    for read in (datetime.date.fromisoformat, datetime.datetime.fromisoformat):
        with contextlib.suppress(ValueError):
            if isinstance(value, str) and read(value).isoformat() == value:
                return True
    return False


_INFINITE_SCHEMA: dict[str, Json] = {"type": "string", "enum": list(_INFINITE)}
_SCALAR_SCHEMA: dict[str, Json] = {"type": ["number", "string", "boolean"]}
_DAY_SCHEMA: dict[str, Json] = {"type": "string", "format": "date"}
NUMBER = number()
COUNT = _checked(
    lambda value: _is_number(value) and value == int(value),  # type: ignore[arg-type]  # a number
    "must be a whole number",
    {"type": "integer"},
)
DAY_OR_NUMBER = _checked(
    lambda value: _is_number(value) or _is_day(value),
    "must be a finite number, or a date such as 2024-01-31",
    {"anyOf": [{"type": "number"}, _DAY_SCHEMA]},
)
END = _checked(
    _is_end,
    f"must be a number, {' or '.join(_INFINITE)}",
    {"anyOf": [{"type": "number"}, _INFINITE_SCHEMA]},
)
DAY_OR_END = _checked(
    lambda value: _is_end(value) or _is_day(value),
    f"must be a number, {' or '.join(_INFINITE)}, or a date such as 2024-01-31",
    {"anyOf": [{"type": "number"}, _INFINITE_SCHEMA, _DAY_SCHEMA]},
)
SCALAR = _checked(
    lambda value: isinstance(value, (bool, str)) or _is_number(value),
    "must be a finite number, a text, true or false",
    _SCALAR_SCHEMA,
)
ERROR = _checked(
    lambda value: value == "Infinity" or (_is_number(value) and 0 <= value <= sys.float_info.max),  # type: ignore[operator]  # a number
    "must be a number of at least 0, or Infinity",
    {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "enum": ["Infinity"]}]},
)


def _several(of: Form, least: int = 0) -> Form:
    return followed(listed(of, MOST_VALUES, least), list)


def _or_several(of: Form, least: int = 0) -> Form:
    """One, or a list."""
    return either(is_list, _several(of, least), of)


_VALUE = _or_several(_or_several(SCALAR))
_POINT_OR_END = _or_several(SCALAR)
_INTERVAL = _several(either(is_list, _several(_POINT_OR_END), SCALAR | None))
Value = Annotated[Read, Accepts(_VALUE | None)]
"""One value, several, or several points."""
Interval = Annotated[Read, Accepts(_INTERVAL | None)]
"""Two ends, an interval for each of several values (None where one has none), or two corners for each point."""
_ERRORS = _or_several(ERROR, 1) | None
Errors = Annotated[Read, Accepts(_ERRORS)]
"""The error of one number, or of each of several, one at least; None: not known."""
Counted = Annotated[Read, Accepts(_or_several(SCALAR | None) | None)]
"""What missing records count as: a number or a date, or one for each column."""


def _ends_or_several(end: Form, schema: dict[str, Json]) -> Form:
    """Two ends, or two for each of several.

    One list whose items differ: generated clients cannot tell two types of list apart.
    """
    ends = followed(listed(end, 2, 2), list)
    pair: dict[str, Json] = {"type": "array", "items": schema, "minItems": 2, "maxItems": 2}
    return _described_as(
        either(lambda value: is_list(value) and is_list(next(iter(value), None)), _several(ends, 1), ends),
        {"type": "array", "items": {"anyOf": [pair, schema]}, "minItems": 1},
    )


_CLAMPED = _ends_or_several(SCALAR, _SCALAR_SCHEMA)
Clamped = Annotated[Read, Accepts(_CLAMPED | None)]
"""The bounds to which values outside are clamped: two ends, or two for each column."""
_RANGE = _ends_or_several(SCALAR | None, {"type": ["number", "string", "boolean", "null"]})
Range = Annotated[Read, Accepts(_RANGE | None)]
"""Between which ends an answer can lie: two, or two for each value; null as an end: there is none."""
Keys = Annotated[dict[str, Read], Accepts(by_name(SCALAR | None, 1_000, "keys"))]
"""The key of a group."""
Names = Annotated[list[str], Accepts(names(MOST_VALUES))]
_OBJECT = _checked(lambda value: isinstance(value, dict), OBJECT, {"type": "object"})
Public = Annotated[dict[str, Read], Accepts(_OBJECT)]
"""A JSON object that is passed on as it is."""


def _alike(value: Given, interval: Given) -> str | None:
    """What is wrong with an interval of this value."""
    if interval is None:
        return None
    if value is None:
        return "must be null, since there is no value"
    if not is_list(interval):
        return "must be a list"
    if not is_list(value):
        return None if _is_interval(interval, value) else "must be a list of two ends such as [0, 100]"
    if len(interval) != len(value):
        return "must be as many as there are in value"
    for part, ends in zip(value, interval, strict=True):
        if ends is not None and not _is_interval(ends, part):
            return "must be a list with an interval such as [0, 100] for each value"
    return None


def _is_interval(ends: Given, value: Given) -> bool:
    """Two ends; of a point two corners, which may be of its first coordinates only."""
    if not is_list(ends) or len(ends) != 2:
        return False
    if not is_list(value):
        return all(_is_end(end) or isinstance(end, str) for end in ends)
    low, high = ends
    return is_list(low) and is_list(high) and len(low) == len(high) <= len(value)


# --- releases -----------------------------------------------------------------------------------------------------


class AnswerModel(Model):
    """Fields that a client needs, among others.  Built when first read: a server writes them and reads none."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


class LossAnswer(AnswerModel):
    """A privacy loss."""

    epsilon: Epsilon
    delta: Delta
    rho: Epsilon | None = None
    rho_delta: Delta | None = None

    @model_validator(mode="after")
    def _is_loss(self) -> Self:
        Loss(self.epsilon, self.delta)  # type: ignore[arg-type]  # it takes any number
        return self


_COUNTS = pair(COUNT, "must be a list of two whole numbers")


class ClampedToAnswer(AnswerModel):
    """Bounds that were found privately."""

    low: Finite
    high: Finite
    beyond: Annotated[int, Accepts(COUNT)] | None = None
    beyond_interval: Annotated[tuple[int, int], Accepts(_COUNTS)] | None = None


class PersonLimitAnswer(AnswerModel):
    """A limit of what one person contributes: declared, or found privately for a part of epsilon."""

    epsilon: Finite | None
    rows: Whole | None = None
    total: Annotated[tuple[Exact, Exact], Accepts(pair(Finite, "must be a list of two numbers"))] | None = None
    is_weighted: Flag = False
    counted: Annotated[str, Accepts(choice("rows", "groups"))] = "rows"


class ReleaseAnswer(LossAnswer):
    """One release; servers of version 0.1.0 call its mechanism ``calibration``."""

    value: Value
    refused: Flag = False
    interval: Interval
    confidence: Level | None
    neighbours: Annotated[str, Accepts(choice(*map(str, Neighbours)))]
    query: str
    mechanism: str | None = None
    calibration: str
    noise: str | None
    missing: Counted
    clamped: Clamped = None
    labels: Names | None
    group: Keys | None = None
    reason: str | None = None
    alias: str | None = None
    claim: str | None = None
    derived_from: Whole | None = None
    clamped_to: ClampedToAnswer | None = None
    person_limit: PersonLimitAnswer | None = None
    unit: str | None = None
    range: Range = None
    notes: Names = Field(default_factory=list)
    """What the answer is about, in sentences, which follow from the other fields."""
    interval_of: Annotated[IntervalName, Accepts(choice(SAMPLE, POPULATION))] = SAMPLE
    simultaneous: Level | None = None

    @model_validator(mode="after")
    def _as_many(self) -> Self:
        """Intervals are like their values, and where several values have labels, there are as many of them."""
        wrong = _alike(self.value, self.interval)
        if wrong is not None:
            raise InvalidArgument("interval", type(self.interval), wrong)
        if is_list(self.value) and self.labels is not None and len(self.labels) != len(self.value):
            raise InvalidArgument("labels", list, "must be as many as there are in value")
        return self


@functools.cache
def values_model(name: str) -> type[Model]:
    """The model of value and interval in an answer to the registered query of this name, by the types it declares."""
    registered = entry(name)
    value, interval = released_types(registered.query)
    has_dates = registered.query.dates == "dates"
    return model(
        f"{registered.query.__name__}Values",
        value=(_form(value, DAY_OR_NUMBER if has_dates else NUMBER) | None, ...),
        interval=(_ends_form(interval, DAY_OR_END if has_dates else END) | None, ...),
    )


def _form(released: Form | None, form: Form) -> Form:
    """The JSON of a value of this type, where ``one`` is a number."""
    if released is Any:
        return _or_several(form)
    if released is Hashable:
        return SCALAR
    if released is int:
        return COUNT
    if released is float:
        return form
    if get_origin(released) is tuple and get_args(released)[1:] == (...,):
        return _several(_form(get_args(released)[0], form))
    raise RuntimeError(f"{released}: say in interfaces.answers how a value of this type is read")


def _ends_form(released: Form | None, end: Form) -> Form:
    """The JSON of an interval of this type, where ``end`` is one of its ends."""
    inner = get_args(released)
    if released is None:
        return _checked(lambda _: False, "must be null: this query has no intervals", {"type": "null"})
    if released is Any:
        return either(
            lambda value: is_list(value) and any(map(is_list, value)), _several(_ends(end) | None), _ends(end)
        )
    if inner[1:] == (...,):
        return _several(_ends_form(inner[0], end) | None)
    return _ends(_several(end) if get_origin(inner[0]) is tuple else end)


def _ends(of: Form) -> Form:
    return followed(pair(of, "must be a list of two ends such as [0, 100]"), list)


class Total(AnswerModel):
    """What may be spent."""

    epsilon: Annotated[Exact, Accepts(number(above=0))]
    delta: Delta

    @model_validator(mode="after")
    def _is_budget(self) -> Self:
        """A delta of 1 would promise nothing."""
        Budget(self.epsilon, self.delta)  # type: ignore[arg-type]  # likewise
        return self


class Budgeted(AnswerModel):
    """What may be spent, what was spent, what is left."""

    total: Total
    spent: LossAnswer
    left: LossAnswer


class AccountAnswer(Budgeted):
    """The same of a dataset; of an analyst with a budget of their own also that, for an owner those of all analysts."""

    filter: str = "basic"
    own: Budgeted | None = None
    analysts: Annotated[dict[str, Budgeted], Accepts(by_name(Budgeted, 1_000_000, "analysts"))] | None = None


class ReleasesAnswer(LossAnswer):
    """The answer to a question."""

    releases: Annotated[list[ReleaseAnswer], _MOST]
    """None where groups are found, and none was."""
    dataset: str | None = None
    request_id: str | None = None
    budget: AccountAnswer | None = None


class Problem(AnswerModel):
    """Why there is no answer: the fields of RFC 9457, and a stable code."""

    model_config = ConfigDict(defer_build=False)
    type: str
    title: str
    status: Whole
    code: str
    detail: str


class Progress(AnswerModel):
    """What only an owner sees of a job."""

    stage: str
    seconds: Epsilon
    share: Delta | None


class JobAnswer(AnswerModel):
    """A question in the background."""

    id: str
    dataset: str | None = None
    request_id: str | None = None
    state: Annotated[str, Accepts(choice("running", "done", "failed"))]
    answer_seconds: Epsilon | None = None
    ready_in: Finite
    answer: ReleasesAnswer | None = None
    problem: Problem | None = None
    progress: Progress | None = None

    @model_validator(mode="after")
    def _settled(self) -> Self:
        if self.state == "done" and self.answer is None:
            raise InvalidArgument("answer", None, MISSING)
        if self.state == "failed" and self.problem is None:
            raise InvalidArgument("problem", None, MISSING)
        return self


def is_job(given: Given) -> bool:
    """Whether an answer to a question has a state, as jobs have and releases have not; other fields say nothing."""
    return isinstance(given, dict) and "state" in given


class QuestionAnswer(RootModel["ReleasesAnswer | JobAnswer"]):
    """What a question gets: its answer, or the state of its job."""

    model_config = ConfigDict(defer_build=True)
    root: Annotated[ReleasesAnswer | JobAnswer, Accepts(either(is_job, JobAnswer, ReleasesAnswer))]


# --- quotes, budgets, charges -------------------------------------------------------------------------------------


class QuoteAnswer(LossAnswer):
    """One quote."""

    query: str
    expected_error: Errors
    bound: Errors
    confidence: Level | None
    kind: Annotated[str, Accepts(choice(ESTIMATE, UPPER_BOUND, EXACT, UNKNOWN))] | None = None
    attained: Flag = False
    meaning: str | None = None
    mechanism: str | None = None
    calibration: str
    noise: str | None
    prior: str | None = None
    rows: Whole | None = None
    assumptions: Names = Field(default_factory=list)
    groups: Whole | None = 1
    labels: Names | None = None
    bar: Errors = None
    alternatives: Annotated[dict[str, Read], Accepts(by_name(_ERRORS, 1_000, "errors"))] = Field(default_factory=dict)
    blocks: Whole | None = None
    seconds: Epsilon | None = None
    derived_from: Whole | None = None
    floor: Epsilon | None = None
    typical_error: Annotated[Read, Accepts(pair(ERROR, "must be two errors") | None)] = None

    @model_validator(mode="after")
    def _as_many(self) -> Self:
        expected, bound = (len(item) if is_list(item) else -1 for item in (self.expected_error, self.bound))
        if expected != bound:
            raise InvalidArgument("bound", type(self.bound), "must be as many as there are in expected_error")
        return self


class QuotesAnswer(AnswerModel):
    """All quotes of a question."""

    dataset: str | None = None
    epsilon: Epsilon | None = None
    delta: Delta | None = None
    stored: Flag = False
    """Whether the answer to exactly this question is stored, which is then given at no loss."""
    quotes: Annotated[list[QuoteAnswer], _SOME, _NOTHING]


class ChargeAnswer(LossAnswer):
    """One charge, with its answer as far as it may be seen."""

    number: Whole
    at: str | None = None
    analyst: str | None = None
    request_id: str | None = None
    question: Public
    releases: Annotated[list[ReleaseAnswer], Field(max_length=MOST_RELEASES, fail_fast=True)] | None


class History(AnswerModel):
    """A page of charges."""

    releases: Annotated[list[ChargeAnswer], Field(max_length=MOST_RELEASES, fail_fast=True)]
    more: Flag = False
    """True where the page has fewer charges than were asked for, because their answers are large."""

    @model_validator(mode="after")
    def _rising(self) -> Self:
        numbers = [release.number for release in self.releases]
        if any(later <= earlier for earlier, later in itertools.pairwise(numbers)):
            raise InvalidArgument("releases", list, "must have rising numbers")
        return self


# --- datasets -----------------------------------------------------------------------------------------------------


_PRIVATE = _described_as(choice("private"), {"type": "string", "enum": ["private"]})
PublicRows = Annotated[int | str, Accepts(either(lambda rows: isinstance(rows, str), _PRIVATE, whole(0)))]
"""How many rows there are, or that this is private."""


class DatasetSummary(AnswerModel):
    """A dataset in a list."""

    name: str
    kind: Annotated[str, Accepts(choice("table", "graph"))]
    rows: PublicRows | None = None
    vertices: Whole | None = None
    weighted: Flag | None = None
    retired: Flag = False
    opened: Flag = True
    """False where the source was not opened yet: nothing is known of the budget then."""
    answer_seconds: Epsilon | None = None
    budget: AccountAnswer | None = None


class BrokenDataset(AnswerModel):
    """For owners: a dataset whose schema can't be used."""

    name: str
    problem: Problem


class DatasetAnswer(DatasetSummary):
    """What is public about a dataset, and what may be asked."""

    neighbours: Annotated[str, Accepts(choice(*map(str, Neighbours)))] | None = None
    cap: Finite | None = None
    step: Finite | None = None
    unit: str | None = None
    rows_per_unit: PublicRows | None = None
    person: str | None = None
    """Of linked tables: the one with a row for each person."""
    tables: Annotated[dict[str, Read], Accepts(by_name(Public, 10_000, "tables"))] | None = None
    """Of linked tables: each with its key, what its foreign keys refer to, and whether it is public."""
    version: Whole | None = None
    """Of the schema file: 1 counts missing values as the lower bound where nothing is declared."""
    columns: Annotated[dict[str, Read], Accepts(by_name(Public, 100_000, "columns"))] | None = None
    priors: Annotated[dict[str, Read], Accepts(by_name(Public, 100_000, "priors"))] | None = None
    kinds: Annotated[dict[str, list[str]], Accepts(by_name(Names, 10_000, "queries"))] | None = None
    source_changed: Flag | None = None
    """For owners: whether stored answers are of an earlier state of the source; null if that is not known."""
    warnings: Names = Field(default_factory=list)
    """For owners: what to change in the schema file."""


class SourceFiles(AnswerModel):
    """For owners: the files that a schema may name as its source, by their paths there."""

    files: Names
    complete: Flag
    """False where there are more files than are listed."""


class SourceColumn(AnswerModel):
    """A column of a source, and the type that it is stored in."""

    name: str
    stored: str
    types: Names
    """As which it may be declared."""


class SourceColumns(AnswerModel):
    """For owners: the columns of a source before any of them is declared; no record is read."""

    columns: list[SourceColumn]


def _is_broken(given: Given) -> bool:
    return isinstance(given, dict) and "problem" in given


class Datasets(AnswerModel):
    """All datasets that a token may see."""

    datasets: Annotated[
        list[DatasetSummary | BrokenDataset], Accepts(_several(either(_is_broken, BrokenDataset, DatasetSummary)))
    ]


# --- the server, its queries, its ledger, its tokens ------------------------------------------------------------------


class HealthAnswer(AnswerModel):
    """That ledger and tokens can be read and written."""

    status: Annotated[str, Accepts(choice("ok"))]


class FieldForm(AnswerModel):
    """One field of a query, as a form offers it."""

    name: str
    type: str
    label: str
    help: str
    required: Flag
    advanced: Flag
    default: Read
    example: Read
    choices: Names | None = None
    minimum: Finite | None = None
    maximum: Finite | None = None


class SqlForm(AnswerModel):
    """A function of SQL that stands for a query."""

    function: str
    arguments: str
    fixed: Public
    star: Flag
    within: Flag


class QueryForm(AnswerModel):
    """One query, as a form offers it."""

    name: str
    label: str
    group: str
    help: str
    class_: Annotated[str, Field(alias="class")]
    """Its class in Python: ``dt.Median`` for ``Median``."""
    noun: str
    """What the ``query`` of its releases begins with, unless a statement gave it a name."""
    picture: Annotated[str, Accepts(choice(*get_args(Picture)))]
    """How a page may draw its answers."""
    of: str
    columns: Names
    selections: Names
    """Whether it is answered of the rows that a filter selects ("where") and of groups ("by")."""
    instead: str
    """What to ask where it is not; empty where it is."""
    named: Names
    fields_: Annotated[list[FieldForm], Field(alias="fields")]
    sql: list[SqlForm]


class Queries(AnswerModel):
    """The queries that there are."""

    queries: list[QueryForm]


class Head(AnswerModel):
    """The end of the chain of entries."""

    number: Whole
    hash: Hash


class LedgerEntry(AnswerModel):
    """One entry of the ledger; ``text`` is what its hash is made of."""

    number: Whole
    at: str
    kind: str
    dataset: str
    analyst: str | None
    request: str | None
    key: str | None
    charge: Whole | None
    body: Public
    previous: Hash
    hash: Hash
    text: str


class LedgerPage(AnswerModel):
    """A page of the ledger."""

    entries: list[LedgerEntry]
    more: Flag = False
    """True where there may be more entries than the page has, because they are large."""
    head: Head


class Verified(AnswerModel):
    """What a check of the whole ledger found."""

    ok: Flag
    entries: Whole
    head: Hash
    problem: str | None
    first_bad: Whole | None
    relations: Annotated[dict[str, Read], Accepts(by_name(Public | None, 1_000_000, "relations"))]


class Rights(AnswerModel):
    """What a token may do."""

    name: str
    role: Annotated[str, Accepts(choice(*ROLES))]
    epsilon_cap: Epsilon | None
    delta_cap: Delta | None
    kinds: Names | None
    datasets: Names | None
    expires: str | None


class TokenAnswer(Rights):
    """A token that was given out, without its secret."""

    id: str
    created: str
    revoked: str | None
    by: str | None


class NewSecret(TokenAnswer):
    """A new token with its secret, which is sent this once."""

    token: str


class Tokens(AnswerModel):
    """All tokens that were given out."""

    tokens: list[TokenAnswer]
