"""Arithmetic on columns: ``price * (1 - discount)``, with bounds that follow from those of the columns.

Every record has a value, and no record makes an engine raise an error.  Columns are cut to their declared bounds first,
so the bounds of an expression are those of interval arithmetic; of a column without bounds values beyond 1e30 count as
that.  Numbers nearer to zero than 1e-60 count as zero, and products of too many factors are refused, so nothing
overflows or underflows: PostgreSQL takes both for errors.  Numbers are divided by constants only.  All engines compute
in doubles, each operation rounded once, so they agree to the last bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from dither.errors import InvalidArgument
from dither.sources.predicates import constant, literal
from dither.sources.types import Boolean, ColumnType, Date, Integer, Measured, Real

Interval = tuple[Fraction, Fraction]
MOST_OPERATIONS = 20
UNBOUNDED = Fraction(10) ** 30
"""What values of a column without bounds are cut to inside an expression."""
NEAREST = Fraction(1e-60)
"""What is nearer to zero counts as zero."""
_LEAST, _MOST = Fraction(1, 10**300), Fraction(10) ** 300
_ULP = Fraction(1, 1 << 53)
_WHOLE = 1 << 53
_NODES: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
_SQL: dict[str, Callable[..., exp.Expr]] = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul, "/": exp.Div}


class Expression(ABC):
    """A number that is computed from columns of one record; public."""

    @abstractmethod
    def columns(self) -> Iterator[str]:
        """The columns it reads."""

    @abstractmethod
    def interval(self, declared: Mapping[str, ColumnType]) -> Interval:
        """Between which numbers it lies."""

    @abstractmethod
    def nearest_to_zero(self) -> Fraction:
        """How near to zero it is at least, where it is not zero."""

    @abstractmethod
    def sql(self, leaves: Mapping[str, exp.Expr]) -> exp.Expr:
        """The expression in terms of columns that were cut to their bounds."""

    @abstractmethod
    def __str__(self) -> str:
        """The one form that it is known by."""

    @property
    def operations(self) -> int:
        """How many operations it has."""
        return 0


@dataclass(frozen=True)
class ColumnValue(Expression):
    """A column."""

    column: str

    def columns(self) -> Iterator[str]:
        yield self.column

    def interval(self, declared: Mapping[str, ColumnType]) -> Interval:
        return column_interval(declared[self.column])

    def nearest_to_zero(self) -> Fraction:
        return NEAREST

    def sql(self, leaves: Mapping[str, exp.Expr]) -> exp.Expr:
        return leaves[self.column].copy()

    def __str__(self) -> str:
        return self.column if self.column.isidentifier() else '"' + self.column.replace('"', '""') + '"'


@dataclass(frozen=True)
class Constant(Expression):
    """A public number."""

    number: Decimal

    def columns(self) -> Iterator[str]:
        yield from ()

    def interval(self, declared: Mapping[str, ColumnType]) -> Interval:  # noqa: ARG002
        return Fraction(float(self.number)), Fraction(float(self.number))

    def nearest_to_zero(self) -> Fraction:
        return abs(Fraction(float(self.number))) or Fraction(1)

    def sql(self, leaves: Mapping[str, exp.Expr]) -> exp.Expr:  # noqa: ARG002
        return literal(float(self.number))

    def __str__(self) -> str:
        return f"{self.number.normalize():f}"


@dataclass(frozen=True)
class Operation(Expression):
    """A sum, a difference, a product, or a quotient by a constant."""

    operator: str
    left: Expression
    right: Expression

    def columns(self) -> Iterator[str]:
        yield from self.left.columns()
        yield from self.right.columns()

    def interval(self, declared: Mapping[str, ColumnType]) -> Interval:
        (a, b), (c, d) = self.left.interval(declared), self.right.interval(declared)
        if self.operator == "+":
            return a + c, b + d
        if self.operator == "-":
            return a - d, b - c
        ends = [x * y if self.operator == "*" else x / y for x in (a, b) for y in (c, d)]
        return min(ends), max(ends)

    def nearest_to_zero(self) -> Fraction:
        left, right = self.left.nearest_to_zero(), self.right.nearest_to_zero()
        if self.operator in "+-":
            # A difference of doubles is a multiple of the last bit of the lesser one.
            return min(left, right) * _ULP
        return (left * right if self.operator == "*" else left / right) * (1 - _ULP)

    def sql(self, leaves: Mapping[str, exp.Expr]) -> exp.Expr:
        parts = {"this": self.left.sql(leaves), "expression": self.right.sql(leaves)}
        typed = {"typed": True} if self.operator == "/" else {}
        return exp.Paren(this=_SQL[self.operator](**parts, **typed))

    def __str__(self) -> str:
        return f"{_part(self.left, self.operator, right=False)} {self.operator} {_part(self.right, self.operator)}"

    @property
    def operations(self) -> int:
        return 1 + self.left.operations + self.right.operations


def _part(part: Expression, operator: str, *, right: bool = True) -> str:
    """A part in brackets, where it must have them."""
    if isinstance(part, Constant) and part.number < 0:
        return f"({part})"
    if not isinstance(part, Operation):
        return str(part)
    weaker = operator in "*/" and part.operator in "+-"
    return f"({part})" if weaker or right else str(part)


def column_interval(declared: ColumnType) -> Interval:
    """Between which numbers a column of numbers lies once it is cut."""
    if isinstance(declared, Measured) and declared.is_bounded:
        grid = declared.grid
        low, high = (Fraction(float(end * grid.step)) for end in grid.ends)
        return max(low, -_MOST), min(high, _MOST)
    return -UNBOUNDED, UNBOUNDED


def is_arithmetic(node: exp.Expr) -> bool:
    """Whether a syntax tree is an operation, in brackets or not."""
    while isinstance(node, exp.Paren):
        node = node.this
    return type(node) in _NODES or (isinstance(node, exp.Neg) and constant(node) is None)


class Unreadable(Exception):
    """A node that is no arithmetic on columns, and why."""

    def __init__(self, node: exp.Expr, reason: str) -> None:
        super().__init__(reason)
        self.node, self.reason = node, reason


WRITE = "write columns of numbers and constants with +, -, *, / and brackets"


def expression_of(node: exp.Expr, resolved: Callable[[exp.Column], str]) -> Expression:
    """The expression of a syntax tree; ``resolved``: what the name of a column means, or an error."""
    number = constant(node)
    if isinstance(number, Decimal):
        if number and not 1e-60 <= abs(float(number)) <= 1e60:
            raise Unreadable(node, "write numbers between 1e-60 and 1e60")
        return Constant(number)
    if isinstance(node, exp.Paren):
        return expression_of(node.this, resolved)
    if isinstance(node, exp.Neg):
        return Operation("-", Constant(Decimal(0)), expression_of(node.this, resolved))
    if isinstance(node, exp.Column):
        return ColumnValue(resolved(node))
    if type(node) not in _NODES:
        raise Unreadable(node, WRITE)
    operator = _NODES[type(node)]
    built = Operation(operator, *(expression_of(part, resolved) for part in (node.this, node.expression)))
    if operator == "/" and not (isinstance(built.right, Constant) and built.right.number):
        raise Unreadable(node.expression, "divide by a number other than 0: a column may be 0 in one record")
    if built.operations > MOST_OPERATIONS:
        raise Unreadable(node, f"write at most {MOST_OPERATIONS} operations")
    return built


def declared_as(expression: Expression, declared: Mapping[str, ColumnType]) -> Real:
    """The type of an expression: its bounds, and whether missing values are left out."""
    names = list(dict.fromkeys(expression.columns()))
    if not names:
        raise InvalidArgument("column", str(expression), "must name at least one column")
    types = [declared[name] for name in names]
    for name, item in zip(names, types, strict=True):
        if not isinstance(item, Real) or isinstance(item, Boolean | Date):
            raise InvalidArgument("column", name, f"{name} is a column of type {item.type_name}: {WRITE}")
    low, high = expression.interval(declared)
    if max(abs(low), abs(high)) > _MOST or expression.nearest_to_zero() < _LEAST:
        raise InvalidArgument(
            "column", str(expression), "has numbers that are too large or too small: write fewer factors"
        )
    drops = any(item.drops_nulls for item in types)
    nulls = "drop" if drops else None
    if any(isinstance(item, Real) and not item.is_bounded for item in types):
        return Real(None, None, nulls=nulls)
    if low == high:
        raise InvalidArgument("column", str(expression), "is the same for every record")
    whole = all(isinstance(item, Integer) for item in types) and _is_whole(expression)
    if whole and max(abs(low), abs(high)) <= _WHOLE:
        return Integer(int(low), int(high), nulls=nulls)
    return Real(low, high, nulls=nulls)


def _is_whole(expression: Expression) -> bool:
    if isinstance(expression, Operation):
        return expression.operator != "/" and _is_whole(expression.left) and _is_whole(expression.right)
    return not isinstance(expression, Constant) or expression.number == int(expression.number)
