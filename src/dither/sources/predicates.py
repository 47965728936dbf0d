"""Filters: texts such as ``year = 2014 AND job IN ('clerk', 'nurse')``, checked against the schema.

Only comparisons of declared columns with literals, joined by AND, OR and NOT: every record is judged by itself, and no
record can make the source raise an error.  A comparison with a missing value (NaN too) selects nothing.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, TypeAlias

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dither.errors import InvalidArgument, InvalidText, suggested
from dither.sources.schema import Schema
from dither.sources.types import Boolean, Category, ColumnType, Date, Measured, storable

Cleaned = Mapping[str, exp.Expr]
"""Columns as expressions of the source: a number, a day number, 0 or 1, a text; NULL if missing."""
Constant: TypeAlias = str | int | float
Record: TypeAlias = Mapping[str, Constant | None]
"""The values of a record's columns as the source cleans them; None if missing."""
WriteConstant: TypeAlias = Callable[[str, Constant], str]
"""How a constant that a column is compared with is written."""

ACCEPTED = "write comparisons of columns with literals (=, <>, <, <=, >, >=, IN, BETWEEN, IS NULL) with AND, OR, NOT"
LONGEST = 20_000
DEEPEST = 100
LARGEST = 1e300
FARTHEST_DAY = 700_000
"""Days from 1970 that Python's dates reach at either side."""
_COMPARISONS: dict[type[exp.Expr], tuple[str, str]] = {
    exp.EQ: ("=", "="),
    exp.NEQ: ("<>", "<>"),
    exp.LT: ("<", ">"),
    exp.LTE: ("<=", ">="),
    exp.GT: (">", "<"),
    exp.GTE: (">=", "<="),
}
_HOLDS: dict[str, Callable[[Constant, Constant], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FOREIGN = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
"""What a parser of any text may stumble over."""
_NODES = {text: node for node, (text, _) in _COMPARISONS.items()}


class Predicate(ABC):
    """A condition on one record; public."""

    @abstractmethod
    def expression(self, cleaned: Cleaned) -> exp.Expr:
        """The condition in terms of the source's columns."""

    @abstractmethod
    def columns(self) -> Iterator[str]:
        """The columns it reads."""

    @abstractmethod
    def holds(self, record: Record) -> bool | None:
        """Whether a record fulfils it, by SQL's logic: None is unknown."""

    @abstractmethod
    def constants(self) -> Iterator[Constant]:
        """What columns are compared with."""

    @abstractmethod
    def text(self, write: WriteConstant) -> str:
        """The condition as people write it, with constants as ``write`` writes them."""

    def __str__(self) -> str:
        """The one form that the ledger knows it by: constants are numbers or texts."""
        return self.text(lambda _, value: _text(value))

    def readable(self, schema: Schema) -> str:
        """The condition for people: dates are dates, and flags are true or false."""
        return self.text(lambda column, value: _in_words(schema.columns[column], value))


@dataclass(frozen=True)
class Compare(Predicate):
    """A column against one value: a text for categories, else a number in the column's own units."""

    column: str
    operator: str
    value: Constant

    def expression(self, cleaned: Cleaned) -> exp.Expr:
        return _NODES[self.operator](this=cleaned[self.column].copy(), expression=literal(self.value))

    def columns(self) -> Iterator[str]:
        yield self.column

    def holds(self, record: Record) -> bool | None:
        value = record[self.column]
        return None if value is None else bool(_HOLDS[self.operator](value, self.value))

    def constants(self) -> Iterator[Constant]:
        yield self.value

    def text(self, write: WriteConstant) -> str:
        return f"{_name(self.column)} {self.operator} {write(self.column, self.value)}"


@dataclass(frozen=True)
class CompareColumns(Predicate):
    """A column against another column of the same record."""

    column: str
    operator: str
    other: str

    def expression(self, cleaned: Cleaned) -> exp.Expr:
        return _NODES[self.operator](this=cleaned[self.column].copy(), expression=cleaned[self.other].copy())

    def columns(self) -> Iterator[str]:
        yield self.column
        yield self.other

    def holds(self, record: Record) -> bool | None:
        value, other = record[self.column], record[self.other]
        return None if value is None or other is None else bool(_HOLDS[self.operator](value, other))

    def constants(self) -> Iterator[Constant]:
        yield from ()

    def text(self, write: WriteConstant) -> str:  # noqa: ARG002
        return f"{_name(self.column)} {self.operator} {_name(self.other)}"


@dataclass(frozen=True)
class OneOf(Predicate):
    """A column equal to one of several values."""

    column: str
    values: tuple[Constant, ...]

    def expression(self, cleaned: Cleaned) -> exp.Expr:
        return exp.In(this=cleaned[self.column].copy(), expressions=[literal(value) for value in self.values])

    def columns(self) -> Iterator[str]:
        yield self.column

    def holds(self, record: Record) -> bool | None:
        value = record[self.column]
        return None if value is None else value in self.values

    def constants(self) -> Iterator[Constant]:
        yield from self.values

    def text(self, write: WriteConstant) -> str:
        return f"{_name(self.column)} IN ({', '.join(write(self.column, value) for value in self.values)})"


@dataclass(frozen=True)
class Missing(Predicate):
    """A column without a value."""

    column: str

    def expression(self, cleaned: Cleaned) -> exp.Expr:
        return exp.Is(this=cleaned[self.column].copy(), expression=exp.Null())

    def columns(self) -> Iterator[str]:
        yield self.column

    def holds(self, record: Record) -> bool | None:
        return record[self.column] is None

    def constants(self) -> Iterator[Constant]:
        yield from ()

    def text(self, write: WriteConstant) -> str:  # noqa: ARG002
        return f"{_name(self.column)} IS NULL"


@dataclass(frozen=True)
class Not(Predicate):
    """The contrary; of unknown it is unknown, as in SQL."""

    part: Predicate

    def expression(self, cleaned: Cleaned) -> exp.Expr:
        return exp.Not(this=exp.Paren(this=self.part.expression(cleaned)))

    def columns(self) -> Iterator[str]:
        yield from self.part.columns()

    def holds(self, record: Record) -> bool | None:
        inner = self.part.holds(record)
        return None if inner is None else not inner

    def constants(self) -> Iterator[Constant]:
        yield from self.part.constants()

    def text(self, write: WriteConstant) -> str:
        return f"NOT ({self.part.text(write)})"


@dataclass(frozen=True)
class _Joined(Predicate):
    parts: tuple[Predicate, ...]
    word: ClassVar[str]
    node: ClassVar[Callable[..., exp.Expr]]

    def expression(self, cleaned: Cleaned) -> exp.Expr:
        return type(self).node(*(exp.Paren(this=part.expression(cleaned)) for part in self.parts))

    def columns(self) -> Iterator[str]:
        for part in self.parts:
            yield from part.columns()

    def constants(self) -> Iterator[Constant]:
        for part in self.parts:
            yield from part.constants()

    def text(self, write: WriteConstant) -> str:
        return f" {self.word} ".join(f"({part.text(write)})" for part in self.parts)


class Both(_Joined):
    """All of the conditions."""

    word = "AND"
    node = staticmethod(exp.and_)

    def holds(self, record: Record) -> bool | None:
        each = [part.holds(record) for part in self.parts]
        return False if False in each else None if None in each else True


class Either(_Joined):
    """At least one of the conditions."""

    word = "OR"
    node = staticmethod(exp.or_)

    def holds(self, record: Record) -> bool | None:
        each = [part.holds(record) for part in self.parts]
        return True if True in each else None if None in each else False


def literal(value: Constant) -> exp.Expr:
    """A constant of the source: a text, a whole number, or a double."""
    if isinstance(value, str):
        return exp.Literal.string(value)
    if isinstance(value, int):
        number: exp.Expr = exp.Literal.number(str(abs(value)))
    else:
        # Spelled out: a type that is given as text is parsed every time, which took a tenth of a small question.
        number = exp.Cast(
            this=exp.Literal.string(repr(abs(float(value)))),
            to=exp.DataType(this=exp.DataType.Type.DOUBLE, nested=False),
        )
    return exp.Neg(this=number) if value < 0 else number


def parse_filter(text: object, schema: Schema, argument: str = "where") -> Predicate:  # only texts are parsed
    """The filter that a text describes, or an error that points at what cannot be used.

    >>> from dither.sources.types import Integer
    >>> str(parse_filter("year = 2014 and not year > 2020", Schema("x.csv", {"year": Integer(2000, 2030)})))
    '(year = 2014) AND (NOT (year > 2020))'
    """
    if not isinstance(text, str) or not text.strip():
        raise InvalidArgument(argument, text, "must be a text such as year = 2014")
    if len(text) > LONGEST:
        raise InvalidArgument(argument, len(text), f"must be a text of at most {LONGEST} characters")
    tree = parsed(text, argument)
    return FilterReader(schema, text, argument).read(tree)


def parsed(text: str, argument: str) -> exp.Expr:
    """The syntax tree of one expression or statement."""
    problem: InvalidText | None = None
    try:
        trees = sqlglot.parse(text, dialect="duckdb")
        if len(trees) == 1 and trees[0] is not None:
            return trees[0]
        problem = InvalidText(argument, text, "write one expression")
    except SqlglotError as error:
        problem = InvalidText(argument, text, "this is not valid SQL", *_place(text, error))
    except RecursionError:
        problem = InvalidText(argument, text, "conditions are nested too deeply: write fewer levels")
    except _FOREIGN:
        problem = InvalidText(argument, text, "this is not valid SQL")
    raise problem


def _place(text: str, error: SqlglotError) -> tuple[int, int]:
    """Where the parser stopped, found by the words around the place; the whole text if it does not say."""
    written = (getattr(error, "errors", None) or [{}])[0]
    before, at, after = (written.get(key) or "" for key in ("start_context", "highlight", "end_context"))
    result = text.find(before + at + after) if at else -1
    return (0, len(text)) if result < 0 else (result + len(before), result + len(before) + len(at))


def place_of(node: exp.Expr) -> tuple[int, int]:
    """Where a node stands in its text: from its first to its last token that the parser remembers."""
    spots = [(item.meta["start"], item.meta["end"] + 1) for item in node.walk() if "start" in item.meta]
    return (min(start for start, _ in spots), max(end for _, end in spots)) if spots else (0, 1)


class FilterReader:
    """Turns a syntax tree into a predicate."""

    def __init__(self, schema: Schema, text: str, argument: str) -> None:
        self.schema, self.text, self.argument = schema, text, argument

    def problem(self, node: exp.Expr, reason: str) -> InvalidText:
        """An error that points at a node."""
        return InvalidText(self.argument, self.text, reason, *place_of(node))

    def read(self, node: exp.Expr, depth: int = 0) -> Predicate:
        """The predicate of one node."""
        if depth > DEEPEST:
            raise self.problem(node, f"write at most {DEEPEST} levels of conditions")
        if isinstance(node, exp.Paren):
            return self.read(node.this, depth + 1)
        if isinstance(node, exp.Not):
            return Not(self.read(node.this, depth + 1))
        if isinstance(node, (exp.And, exp.Or)):
            parts = tuple(self.read(part, depth + 1) for part in node.flatten())
            return Both(parts) if isinstance(node, exp.And) else Either(parts)
        if type(node) in _COMPARISONS:
            return self._comparison(node)
        if isinstance(node, exp.In):
            return self._one_of(node)
        if isinstance(node, exp.Between):
            if node.args.get("symmetric"):
                raise self.problem(node, "write BETWEEN without SYMMETRIC")
            name, declared = self._column(node.this)
            low, high = (self._value(node.args[end], name, declared, ">=") for end in ("low", "high"))
            return Both((Compare(name, ">=", low), Compare(name, "<=", high)))
        if isinstance(node, exp.Is):
            return self._is(node)
        if isinstance(node, exp.Column):
            name, declared = self._column(node)
            if isinstance(declared, Boolean):
                return Compare(name, "=", 1)
        raise self.problem(node, ACCEPTED)

    def _comparison(self, node: exp.Expr) -> Predicate:
        written, mirrored = _COMPARISONS[type(node)]
        left, right = node.this, node.expression
        if not isinstance(left, exp.Column) and isinstance(right, exp.Column):
            left, right, written = right, left, mirrored
        name, declared = self._column(left)
        if isinstance(right, exp.Column) and self._names(right):
            return self._columns_compared(node, name, declared, written, right)
        return Compare(name, written, self._value(right, name, declared, written))

    def _columns_compared(
        self, node: exp.Expr, name: str, declared: ColumnType, written: str, right: exp.Expr
    ) -> Predicate:
        other, other_type = self._column(right)
        if _unit_of(declared) != _unit_of(other_type):
            types = f"{name} is of type {declared.type_name} and {other} of type {other_type.type_name}"
            raise self.problem(node, f"{types}: compare columns of the same type")
        if isinstance(declared, Category) and written not in ("=", "<>"):
            raise self.problem(node, f"{name} is a category: compare it with =, <> or IN")
        return CompareColumns(name, written, other)

    def _names(self, node: exp.Column) -> bool:
        """Whether it names a declared column, of one table or of several."""
        return isinstance(node.this, exp.Identifier) and bool(meant_columns(node.this, self.schema, _table(node)))

    def _one_of(self, node: exp.In) -> Predicate:
        name, declared = self._column(node.this)
        listed = node.expressions
        if not listed or node.args.get("query") is not None or node.args.get("unnest") is not None:
            raise self.problem(node, "write IN with a list of literals")
        return OneOf(name, tuple(self._value(candidate, name, declared, "=") for candidate in listed))

    def _is(self, node: exp.Is) -> Predicate:
        name, declared = self._column(node.this)
        if isinstance(node.expression, exp.Null):
            return Missing(name)
        if isinstance(node.expression, exp.Boolean) and isinstance(declared, Boolean):
            same = Compare(name, "=", int(node.expression.this))
            return Both((Not(Missing(name)), same))
        raise self.problem(node, ACCEPTED)

    def _column(self, node: exp.Expr) -> tuple[str, ColumnType]:
        if not isinstance(node, exp.Column) or node.args.get("db") or not isinstance(node.this, exp.Identifier):
            raise self.problem(node, ACCEPTED)
        meant = meant_columns(node.this, self.schema, _table(node))
        if len(meant) != 1:
            raise self.problem(node, not_one_column(node.this.name, meant, self.schema))
        return meant[0], self.schema.columns[meant[0]]

    def _value(self, node: exp.Expr, name: str, declared: ColumnType, operator: str) -> Constant:
        given = constant(node)
        if isinstance(node, exp.Column) and getattr(node.this, "quoted", False):
            raise self.problem(node, "a text stands in single quotes; double quotes name a column")
        if given is None:
            raise self.problem(node, ACCEPTED)
        if isinstance(declared, Category):
            text = str(given) if not isinstance(given, bool) else str(given).lower()
            if not storable(text):
                raise self.problem(node, "write a text in Unicode without the character NUL")
            if operator not in ("=", "<>"):
                raise self.problem(node, f"{name} is a category: compare it with =, <> or IN")
            if declared.values is not None and text not in declared.values:
                few = ", ".join(repr(value) for value in declared.values[:12]) + (
                    ", ..." if len(declared.values) > 12 else ""
                )
                raise self.problem(node, f"not a declared category of {name}; declared are {few}")
            return text
        if isinstance(declared, Boolean):
            if given not in (0, 1, "true", "false"):
                raise self.problem(node, f"{name} is a boolean: write true or false")
            return int(given in (1, "true"))
        if (
            isinstance(given, bool)
            or not isinstance(declared, Measured)
            or isinstance(declared, Date) != isinstance(given, str)
        ):
            words = {"date": "date", "timestamp": "moment such as '2024-01-31 12:30'"}
            wanted = words.get(declared.type_name, "number")
            raise self.problem(node, f"{name} is of type {declared.type_name}: write a {wanted}")
        try:
            number = declared.steps(given, name)
        except InvalidArgument as error:
            raise self.problem(node, error.rule) from None
        if abs(number) > LARGEST:
            raise self.problem(node, f"write a number from {-LARGEST:g} to {LARGEST:g}")
        return int(number) if number.denominator == 1 and abs(number) < 1 << 53 else float(number)


def meant_columns(identifier: exp.Identifier, schema: Schema, table: exp.Identifier | None = None) -> list[str]:
    """The declared columns that an identifier may mean: exactly, or ignoring case where it is not quoted.

    table: the name of a table before it; without one it means a column of any table that is joined.
    """
    joined = schema.view if schema.tables else None
    if joined is None:
        if table is not None and (not schema.tables and not _same(table, schema.name)):
            return []
        name = str(identifier.this) if table is None or not schema.tables else f"{table.this}.{identifier.this}"
        own = exp.to_identifier(name, quoted=identifier.quoted)
        return [name] if name in schema.columns else [column for column in schema.columns if _same(own, column)]
    places = {name: item for name, item in joined.columns.items() if table is None or _same(table, item[0])}
    exact = [name for name, (_, column) in places.items() if column == identifier.this]
    alike = [name for name, (_, column) in places.items() if _same(identifier, column)]
    whole = [name for name in places if table is None and name == identifier.this]
    return whole or (exact if identifier.quoted or len(exact) == 1 else alike)


def _unit_of(declared: ColumnType) -> str:
    """What values are compared as: texts, days, seconds since 1970, or numbers."""
    return declared.type_name if isinstance(declared, Category | Date) else "number"


def _same(identifier: exp.Identifier, name: str) -> bool:
    given = str(identifier.this)
    return given == name or (not identifier.quoted and given.lower() == name.lower())


def _table(node: exp.Column) -> exp.Identifier | None:
    return node.args.get("table")


def not_one_column(given: str, meant: list[str], schema: Schema) -> str:
    """Why an identifier means no column, or several."""
    if len(meant) > 1:
        return f"several columns have this name: write the table before it, {' or '.join(meant)}"
    return f"unknown column{suggested(given, schema.columns)}; declared are {', '.join(schema.columns)}"


def constant(node: exp.Expr) -> str | bool | Decimal | None:
    """The value of a literal (numbers as Decimal texts make them), or None."""
    if isinstance(node, exp.Paren):
        return constant(node.this)
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Neg):
        inner = constant(node.this)
        return None if inner is None or isinstance(inner, (str, bool)) else -inner
    is_moment = isinstance(node, exp.Cast) and node.is_type("date", "timestamp", "timestamptz", "datetime")
    if is_moment and isinstance(node.this, exp.Literal):
        return str(node.this.this)
    if isinstance(node, exp.Literal):
        if node.is_string:
            return str(node.this)
        try:
            number = Decimal(str(node.this))
        except ArithmeticError:
            return None
        return number if number.is_finite() else None
    return None


def _name(column: str) -> str:
    return column if column.isidentifier() else '"' + column.replace('"', '""') + '"'


def _text(value: Constant) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def _in_words(declared: ColumnType, value: Constant) -> str:
    if isinstance(declared, Boolean):
        return "true" if value else "false"
    if isinstance(declared, Date) and isinstance(value, int) and abs(value) < FARTHEST_DAY * declared.per_day:
        return f"'{declared.displayed(value)}'"
    return _text(value)
