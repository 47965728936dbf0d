"""The registry of queries: what exists, under which names, with which fields, and through which doors it is asked.

Everything that lists statistics is derived from here: SQL functions, the JSON of HTTP and of the remote client, the
parser of the command line, the page's menus, stored forms, the documentation's table and the audit's coverage.  A query
registers itself where it is defined; this module imports the modules that do (``load``), and nothing else knows them.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, get_args

from dither.errors import InvalidArgument
from dither.queries.parameters import PARAMETERS, Parameter

if TYPE_CHECKING:
    from dither.plain import Json
    from dither.queries.query import Query

SourceType: TypeAlias = Literal[
    "column", "columns", "table", "graph", "weighted graph", "chain", "finite space", "anything"
]
"""What a query is asked of: one column, several, rows of a table, a graph, a graph with private weights, a place in a
public list of datasets, whatever the owner's function takes."""
Picture: TypeAlias = Literal["intervals", "bars", "quantiles", "line", "points"]
"""How the page draws an answer: each value with its interval, bars of counts, the distribution function that quantiles
are points of, a fitted line, points of a plane."""
Door: TypeAlias = Literal["function", "session", "quote", "sql", "cli", "http", "page", "client"]
DOORS: tuple[Door, ...] = ("function", "session", "quote", "sql", "cli", "http", "page", "client")
NUMBERS = ("real", "integer", "decimal", "duration")
"""The types of column that hold numbers."""
DATES = ("date", "timestamp")
"""The types of column that hold days or moments."""
Asked: TypeAlias = Any
"""A query object of the class that registers."""
Q = TypeVar("Q", bound="type[Query]")


@dataclass(frozen=True)
class Positional:
    """A field that a call takes without its name, and how many arguments it takes."""

    field: str
    least: int = 1
    most: int | None = 1
    """None: any number of them, which become a tuple."""
    is_list: bool = False
    """True if it takes one list in brackets."""

    @classmethod
    def of(cls, text: str) -> Positional:
        """``q`` takes one, ``trim?`` one or none, ``q+`` at least one, ``edges*`` any number, ``q[]`` one list."""
        for mark, counts in (("?", (0, 1)), ("+", (1, None)), ("*", (0, None))):
            if text.endswith(mark):
                return cls(text.removesuffix(mark), *counts)
        return cls(text.removesuffix("[]"), is_list=text.endswith("[]"))

    def __str__(self) -> str:
        return self.field if self.most == 1 else f"{self.field.removesuffix('s')}, ..."


def positionals(text: str) -> tuple[Positional, ...]:
    """The fields that a text such as ``"k"`` or ``"q+"`` names."""
    return tuple(Positional.of(part) for part in text.split())


@dataclass(frozen=True)
class Sql:
    """One function of SQL, and of calls at the shell, that stands for a query.

    Every query that has this door has a function of its own name; others are declared where it registers itself.
    """

    function: str
    arguments: str = ""
    """The fields whose numbers follow the columns; see ``Positional.of``."""
    fixed: Mapping[str, Json] = field(default_factory=dict)
    """Fields that the function decides."""
    form: str | None = None
    """How it is written, where that does not follow from the columns and ``example``."""
    example: str = ""
    """Numbers that may follow the columns."""
    star: bool = False
    """True if it is asked of ``*`` instead of a column."""
    within: bool = False
    """True if the column stands in WITHIN GROUP (ORDER BY column)."""
    note: str = ""
    """What errors add to the form."""
    near: tuple[str, ...] = ()
    """Functions of other systems that do not exist here and for which this one may serve."""

    @functools.cached_property
    def numbers(self) -> tuple[Positional, ...]:
        """What follows the columns."""
        return positionals(self.arguments)


GROUPS = ("Middle", "Totals", "Distribution", "Spread", "Models", "Graph", "Own code")
"""The groups of the menu, in order."""


@dataclass(frozen=True)
class Menu:
    """Where the page offers a query: a group of the menu, and its label there."""

    group: str
    label: str
    columns: tuple[str, ...] = ()
    """The types of column it is offered for; by default numbers, and dates where the query takes them."""
    place: int = 9
    """Its place in the group: what most people ask comes first; then labels decide."""
    picture: Picture = "intervals"


@dataclass(frozen=True)
class QueryEntry:
    """One registered query."""

    name: str
    """Its public name: of the one-line function, in JSON, at the shell and in the ledger."""
    query: type[Query]
    of: SourceType
    sql: tuple[Sql, ...] = ()
    menu: Menu | None = None
    without: Mapping[Door, str] = field(default_factory=dict)
    """The doors that it does not have, each with the reason."""
    stored_as: str = ""
    """What version 0.1.0 called it in ledgers."""
    own_parameters: Mapping[str, Parameter | None] = field(default_factory=dict)
    """Fields that mean something else than the table of parameters says; None: not a parameter in JSON."""
    in_json: Mapping[str, Parameter] | None = None
    """All parameters in JSON, where these are not the fields of the class."""
    function: str = ""
    """The one-line function, where users know it under another name than the query's."""
    runs_code: bool = False
    """True if it runs code of the analyst's: tokens must name it."""
    any_type: Callable[[Asked], bool] = field(default=lambda _: False, compare=False)
    """Whether a query object is asked of entries of any type, not of numbers."""
    proof: str = ""
    """The page of docs/proofs with its sensitivity."""
    audited: Mapping[str, Json | Fraction] = field(default_factory=dict)
    """Fields for which few records say something: the audit enumerates all data of four."""

    @functools.cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """What JSON may say about it: its fields, with their types, limits and labels."""
        if self.in_json is not None:
            return self.in_json
        known: Mapping[str, Parameter | None] = {**PARAMETERS, **self.own_parameters}
        missing = [name for name in self.fields if name not in known]
        if missing:
            raise RuntimeError(f"{self.name}: declare parameters={{{missing[0]!r}: ...}} where it registers")
        return {name: item for name in self.fields if (item := known[name]) is not None}

    @functools.cached_property
    def column_types(self) -> tuple[str, ...]:
        """The types of column that the page offers it for."""
        if self.menu is not None and self.menu.columns:
            return self.menu.columns
        return NUMBERS if getattr(self.query, "dates", "refused") == "refused" else (*NUMBERS, *DATES)

    @functools.cached_property
    def fields(self) -> tuple[str, ...]:
        """The names of its parameters, the column or columns first."""
        return tuple(item.name for item in dataclass_fields(self.query) if item.init)

    @functools.cached_property
    def needed(self) -> tuple[str, ...]:
        """The parameters without a default."""
        missing = dataclasses.MISSING
        return tuple(
            item.name
            for item in dataclass_fields(self.query)
            if item.init and item.default is missing and item.default_factory is missing
        )

    def few_records(self, **fields: Json | Fraction) -> Query:
        """The query that audits ask of few records, with these fields besides its own."""
        return self.query(**{**dict.fromkeys(self.needed, 2), **self.audited, **fields})

    def has(self, door: Door) -> bool:
        """Whether it can be asked through this door."""
        return door not in self.without

    @functools.cached_property
    def columns(self) -> tuple[Positional, ...]:
        """The fields that name columns; several of them may be left out, which means all of numbers."""
        counts = {"column": (1, 1), "columns": (0, None)}
        named = [
            (name, counts[parameter.type]) for name, parameter in self.parameters.items() if parameter.type in counts
        ]
        return tuple(Positional(name, *count) for name, count in named)

    @functools.cached_property
    def settable(self) -> tuple[str, ...]:
        """The parameters that are no columns."""
        named = {column.field for column in self.columns}
        return tuple(parameter for parameter in self.parameters if parameter not in named)

    @functools.cached_property
    def declared(self) -> tuple[str, ...]:
        """The fields that a schema fills in: of data without one they are given with the query."""
        empty = (item.name for item in dataclass_fields(self.query) if item.init and item.default is None)
        return tuple(item for item in empty if item not in self.parameters)

    @functools.cached_property
    def functions(self) -> tuple[Sql, ...]:
        """Its functions of SQL, one of its own name among them."""
        if not self.has("sql"):
            return ()
        if any(item.function == self.name for item in self.sql):
            return self.sql
        return (*self.sql, Sql(self.name, " ".join(item for item in self.needed if item in self.settable)))

    def form(self, function: Sql) -> str:
        """How one of its functions is written."""
        if function.form is not None:
            return function.form
        numbers = [function.example] if function.example else [str(number) for number in function.numbers]
        columns = [str(column) for column in self.columns]
        if function.within:
            return f"{function.function}({', '.join(numbers)}) WITHIN GROUP (ORDER BY {', '.join(columns)})"
        return f"{function.function}({'*' if function.star else ', '.join([*columns, *numbers])})"


def dataclass_fields(asked: Query | type[Query]) -> tuple[dataclasses.Field[Asked], ...]:
    """The fields of a query, which is a dataclass where it is registered."""
    return dataclasses.fields(asked)  # type: ignore[arg-type]


def released_types(asked: type[Query]) -> tuple[Any, Any]:  # types as values: PEP 747 is not in use yet
    """What a class of queries declares that it releases: the type of its value, and that of its interval.

    >>> released_types(entry("median").query)
    (<class 'float'>, tuple[float, float])
    """
    for ancestor in asked.__mro__:
        for base in vars(ancestor).get("__orig_bases__", ()):
            declared = get_args(base)
            if len(declared) >= 2 and not isinstance(declared[0], TypeVar):
                return declared[0], declared[1]
    raise RuntimeError(f"{asked.__name__}: declare what it releases, such as ColumnQuery[float, Interval]")


_ENTRIES: dict[str, QueryEntry] = {}


def query(
    name: str,
    *,
    of: SourceType,
    sql: tuple[Sql, ...] = (),
    menu: Menu | None = None,
    without: Mapping[Door, str] | None = None,
    stored_as: str | None = None,
    parameters: Mapping[str, Parameter | None] | None = None,
    in_json: Mapping[str, Parameter] | None = None,
    function: str | None = None,
    runs_code: bool = False,
    any_type: Callable[[Asked], bool] = lambda _: False,
    proof: str = "",
    audited: Mapping[str, Json | Fraction] | None = None,
) -> Callable[[Q], Q]:
    """Registers the class that follows under its public name.

    parameters: what fields hold, where the table of parameters says otherwise or nothing; None: not for JSON.
    in_json: all parameters in JSON, where these are not the fields.
    any_type: whether a query object is asked of entries of any type, not of numbers.
    proof: the page of docs/proofs with its sensitivity; the audit cites it, and enumerates a statistic of one column.
    audited: fields for which four records say something, such as a share of a quarter; the audit asks with them.
    """

    def registered(cls: Q) -> Q:
        known = _ENTRIES.get(name)
        if known is not None and (known.query.__module__, known.query.__qualname__) != (
            cls.__module__,
            cls.__qualname__,
        ):
            both = f"{known.query.__module__}.{known.query.__qualname__} and {cls.__module__}.{cls.__qualname__}"
            raise RuntimeError(f"two queries have the name {name!r}: {both}; rename one")
        cls.name = name
        if "noun" not in vars(cls):
            cls.noun = name.replace("_", " ")
        _ENTRIES[name] = QueryEntry(
            name,
            cls,
            of,
            sql,
            menu,
            dict(without or {}),
            stored_as or cls.__name__,
            dict(parameters or {}),
            in_json,
            function or name,
            runs_code,
            any_type,
            proof,
            dict(audited or {}),
        )
        return cls

    return registered


@functools.cache
def load() -> None:
    """Import every module of this package, so that all queries are registered."""
    package = importlib.import_module("dither.queries")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"dither.queries.{module.name}")


def entries() -> Mapping[str, QueryEntry]:
    """Every registered query by its public name."""
    load()
    return _ENTRIES


def proved_columns() -> tuple[QueryEntry, ...]:
    """The statistics of one column that name their proof where they register: audits ask them unasked."""
    return tuple(item for item in entries().values() if item.of == "column" and item.proof)


def entry(name: str) -> QueryEntry:
    """The query of a public name."""
    result = entries().get(name)
    if result is None:
        raise InvalidArgument("query", name, f"must be one of {', '.join(entries())}")
    return result


def entry_of(asked: object) -> QueryEntry:  # anything: what is no query is refused
    """The entry of a query object."""
    result = entries().get(getattr(type(asked), "name", ""))
    if result is None or type(asked) is not result.query:
        raise no_query(asked)
    return result


def no_query(given: object) -> InvalidArgument:  # anything: what is no query is refused
    """The error for what is no query object: a class of queries, a text, anything else."""
    if isinstance(given, str):
        return InvalidArgument(
            "query", given, 'must be a query object such as Median("age"); texts are for session.sql'
        )
    if isinstance(given, type) and given.__name__ in {item.query.__name__ for item in entries().values()}:
        name = given.__name__
        return InvalidArgument("query", name, f"is a class: pass a query object such as {name}(...)")
    return InvalidArgument("query", type(given), 'must be a query object such as Median("age")')
