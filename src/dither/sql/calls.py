"""The grammar of a call, for SQL and for the command line: ``name(column, ..., number, ..., field => value)``.

Columns come first, then numbers, then fields by their names (``field = value`` is the same).  Which functions there
are, and what their arguments mean, is the affair of ``functions``; here a text becomes arguments with their places.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from sqlglot import TokenType, exp

from dither.errors import InvalidArgument, InvalidText
from dither.numbers import Number
from dither.queries.registry import SourceType
from dither.sources.expressions import WRITE, Unreadable, expression_of
from dither.sources.graph_schema import GraphSchema
from dither.sources.predicates import meant_columns, not_one_column, parsed, place_of
from dither.sources.schema import Schema
from dither.sources.views import computing, person_columns
from dither.sql.tokens import Word, Words

CLAUSES = {
    "JOIN": "a join is",
    "LEFT": "a join is",
    "RIGHT": "a join is",
    "INNER": "a join is",
    "OUTER": "a join is",
    "FULL": "a join is",
    "CROSS": "a join is",
    "NATURAL": "a join is",
    "LATERAL": "a join is",
    "ON": "a join is",
    "USING": "a join is",
    "ORDER BY": "ORDER BY is",
    "LIMIT": "LIMIT is",
    "OFFSET": "OFFSET is",
    "FETCH": "FETCH is",
    "HAVING": "HAVING is",
    "DISTINCT": "DISTINCT is",
    "UNION": "UNION is",
    "INTERSECT": "INTERSECT is",
    "EXCEPT": "EXCEPT is",
    "OVER": "a window function is",
    "WINDOW": "a window function is",
    "PARTITION BY": "a window function is",
    "QUALIFY": "QUALIFY is",
    "FILTER": "FILTER is",
    "SELECT": "a subquery is",
    "WITH": "a common table expression is",
    "EXISTS": "a subquery is",
    "TABLESAMPLE": "a sample is",
    "USING SAMPLE": "a sample is",
    "INTO": "INTO is",
    "CASE": "CASE is",
    "CAST": "a cast is",
    "EXCLUDE": "EXCLUDE is",
    "ROLLUP": "ROLLUP is",
    "CUBE": "CUBE is",
    "GROUPING SETS": "GROUPING SETS is",
    "PIVOT": "PIVOT is",
}
"""What a word starts that is not supported."""
RESERVED = {"SELECT", "FROM", "WHERE", "GROUP BY", "AS", "AND", "OR", "NOT", "BY", "GROUP", "WITHIN", *CLAUSES}
STAR = "*"
PEOPLE = "people"
"""The field of a count that counts people."""
_GIVES = (TokenType.FARROW, TokenType.EQ)
_ARITHMETIC = (TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH)
_SIGNS = (TokenType.DASH, TokenType.PLUS)
_ENDS = (TokenType.COMMA, TokenType.R_PAREN)
_NO_NAME = (TokenType.L_PAREN, TokenType.STRING, TokenType.IDENTIFIER)
"""What the name of a column can't have in it, unless it stands in double quotes."""
_WITHIN = "write WITHIN GROUP (ORDER BY column)"


@dataclass(frozen=True)
class Scope:
    """What calls are about: which queries can be asked of it, and how its columns are named."""

    source: str
    types: frozenset[SourceType]
    schema: Schema | None = None
    """What declares the columns; without it a table has any, and a graph none."""
    any_column: bool = False

    @property
    def declared(self) -> str:
        """The names of the columns, for errors."""
        return "none" if self.schema is None else ", ".join(self.schema.columns)


FILE = Scope("a file", frozenset({"column", "columns", "table"}), any_column=True)
"""A file without a schema: whatever stands in the place of a column is the name of one."""
GRAPH = Scope("a graph", frozenset({"graph", "weighted graph"}))


def scope_of(schema: Schema | GraphSchema) -> Scope:
    """What calls about a registered dataset are about."""
    return GRAPH if isinstance(schema, GraphSchema) else Scope("a table", FILE.types, schema)


@dataclass(frozen=True)
class ColumnName:
    """An argument that names a column."""

    name: str


Given: TypeAlias = "Decimal | int | str | bool | tuple[Given, ...]"
"""What a field is given: a number, a text, a truth value, or a list of them."""
Field: TypeAlias = "Number | str | Sequence[Field]"
"""A field of a query: the same, as the query takes it."""


@dataclass(frozen=True)
class Argument:
    """An argument with its place: ``*``, a column, a number, or a list of numbers; behind a name any value."""

    value: Given | ColumnName
    start: int
    end: int
    field: str | None = None

    @property
    def is_column(self) -> bool:
        """True for the name of a column."""
        return isinstance(self.value, ColumnName)

    @property
    def given(self) -> Given:
        """The value; of a column its name."""
        return self.value.name if isinstance(self.value, ColumnName) else self.value


@dataclass(frozen=True)
class Call:
    """A function, its arguments, and the column behind WITHIN GROUP."""

    words: Words
    name: Word
    arguments: tuple[Argument, ...]
    within: Argument | None
    end: int

    @property
    def text(self) -> str:
        """The call as it was written."""
        return self.words.text[self.name.start : self.end]

    def problem(self, reason: str) -> InvalidText:
        """An error that points at the call."""
        return self.words.problem_at(self.name.start, self.end, reason)

    def problem_with(self, argument: Argument, reason: str) -> InvalidText:
        """An error that points at one argument."""
        return self.words.problem_at(argument.start, argument.end, reason)


def identifier(word: Word) -> exp.Identifier:
    """A word as the name of something."""
    return exp.to_identifier(word.text, quoted=word.is_quoted)


def _is_person(word: Word, table: Word | None, schema: Schema) -> bool:
    """Whether a name is that of what tells people apart: of linked tables a key, or a foreign key that refers to it."""
    if table is None and _alike(word, str(schema.unit)):
        return True
    named = [item for item in person_columns(schema) if schema.tables and _alike(word, item[1])]
    if table is not None:
        return any(_alike(table, instance) for instance, _ in named)
    # Without its table a name must not be that of another column.
    others = [
        column
        for item in (schema.view.instances if schema.view is not None else ())
        for declared in (schema.tables.get(item.table),)
        if declared is not None
        for column in {*declared.columns, *declared.links, *([declared.key] if declared.key else [])}
        if (item.name, column) not in named and _alike(word, column)
    ]
    return bool(named) and not others


def _alike(word: Word, name: str) -> bool:
    return word.text == name or (not word.is_quoted and word.text.lower() == name.lower())


class CallReader:
    """Reads calls from left to right."""

    def __init__(self, words: Words, scope: Scope, supported: str) -> None:
        self.words, self.scope, self.supported = words, scope, supported

    def call(self) -> Call:
        """name ( [argument {, argument}] ) [WITHIN GROUP ( ORDER BY column )]"""
        words = self.words
        name = words.take()
        words.take()
        arguments: list[Argument] = []
        while words.here.type is not TokenType.R_PAREN:
            if arguments and not words.took(","):
                raise self._inside(name)
            arguments += self._distinct_people(name) or [self._argument(name, arguments)]
        end = words.take().end
        within = None
        if words.took("WITHIN", "GROUP"):
            for expected in ("(", "ORDER BY"):
                if not words.took(expected):
                    raise words.problem(words.here, _WITHIN)
            within = self._any_column(name) if self.scope.any_column else self.column()
            if words.here.type is not TokenType.R_PAREN or not within.is_column:
                raise words.problem(words.here, _WITHIN)
            end = words.take().end
        return Call(words, name, tuple(arguments), within, end)

    def _distinct_people(self, name: Word) -> list[Argument]:
        """``DISTINCT`` and the column that tells people apart, behind ``count(``: people are counted."""
        words, schema, here, place = self.words, self.scope.schema, self.words.here, self.words.place
        if here.upper != "DISTINCT" or name.text.lower() != "count" or schema is None or schema.unit is None:
            return []
        words.take()
        word, table = words.take(), None
        if words.here.type is TokenType.DOT and words.following.is_name:
            words.take()
            table, word = word, words.take()
        if not word.is_name or not _is_person(word, table, schema):
            words.back_to(place)
            return []
        end = words.last_end
        return [Argument(STAR, here.start, end), Argument(True, here.start, end, field=PEOPLE)]

    def column(self) -> Argument:
        """The name of a declared column."""
        words = self.words
        word, table = words.take(), None
        if words.here.type is TokenType.DOT and word.is_name and words.following.is_name:
            words.take()
            table, word = word, words.take()
        if not word.is_name or words.here.type is TokenType.DOT:
            raise words.problem(word, f"the name of a column is expected here; {self.supported}")
        if self.scope.schema is None:
            reason = (
                "write a call, such as median(column)"
                if self.scope.any_column
                else f"{self.scope.source} has no columns"
            )
            raise words.problem(word, f"{reason}; {self.supported}")
        meant = meant_columns(identifier(word), self.scope.schema, None if table is None else identifier(table))
        start = word.start if table is None else table.start
        if len(meant) != 1:
            raise words.problem_at(start, word.end, not_one_column(word.text, meant, self.scope.schema))
        return Argument(ColumnName(meant[0]), start, word.end)

    def _expression(self) -> Argument | None:
        """Arithmetic on columns, up to the next comma or bracket; None where there is none."""
        words, schema = self.words, self.scope.schema
        place, start, depth = words.place, words.here.start, 0
        operators = names = 0
        while not words.is_done and (depth or words.here.type not in _ENDS):
            depth += (words.here.type is TokenType.L_PAREN) - (words.here.type is TokenType.R_PAREN)
            operators += words.here.type in _ARITHMETIC
            names += words.here.is_name
            words.take()
        if schema is None or not operators or not names or words.is_done:
            words.back_to(place)
            return None
        end = words.last_end
        try:
            tree = parsed(words.blanked(start, end), words.argument)
            expression = expression_of(tree, self._leaf)
            wider = computing(schema, expression)
        except Unreadable as error:
            problem = words.problem_at(*place_of(error.node), error.reason)
        except InvalidText as error:
            problem = words.problem_at(max(start, error.start), min(end, max(error.end, start + 1)), error.reason)
        except InvalidArgument as error:
            problem = words.problem_at(start, end, error.rule)
        else:
            self.scope = dataclasses.replace(self.scope, schema=wider)
            return Argument(ColumnName(str(expression)), start, end)
        raise problem

    def _leaf(self, node: exp.Column) -> str:
        schema = self.scope.schema
        if schema is None or not isinstance(node.this, exp.Identifier):
            raise Unreadable(node, WRITE)
        meant = meant_columns(node.this, schema, node.args.get("table"))
        if len(meant) != 1:
            raise Unreadable(node, not_one_column(node.name, meant, schema))
        return meant[0]

    def unexpected(self, reason: str) -> InvalidText:
        """The error for the next word, in terms of what it starts."""
        here = self.words.here
        what = CLAUSES.get(here.upper)
        schema = self.scope.schema
        if what is not None and schema is not None and meant_columns(identifier(here), schema, None):
            return self.words.problem(
                here, f'{here.upper} is a word of SQL: write the column as "{here.text}", in quotes'
            )
        return self.words.problem(here, f"{reason if what is None else f'{what} not supported'}; {self.supported}")

    def _argument(self, name: Word, before: list[Argument]) -> Argument:
        words = self.words
        here = words.here
        if here.is_name and words.following.type in _GIVES:
            words.take()
            words.take()
            value = self._value(name, here.text)
            return Argument(value, here.start, words.last_end, field=here.text.lower())
        if before and before[-1].field is not None:
            raise words.problem(here, f"behind {before[-1].field} write other fields by name: field => value")
        if here.type is TokenType.STAR:
            words.take()
            return Argument(STAR, here.start, here.end)
        if here.type is TokenType.L_BRACKET:
            numbers = self._list(name, lambda: self._number(name))
            return Argument(numbers, here.start, words.last_end)
        if self.scope.any_column:
            return self._any_column(name)
        computed = self._expression()
        if computed is not None:
            return computed
        if here.is_name and here.upper not in RESERVED and words.following.type is not TokenType.L_PAREN:
            return self.column()
        return Argument(self._number(name), here.start, words.last_end)

    def _any_column(self, name: Word) -> Argument:
        """Everything up to a comma or bracket: a number if it is one, else the name of a column."""
        words = self.words
        place, first = words.place, words.here
        if first.type in _SIGNS or first.type in (TokenType.DOT, TokenType.NUMBER):
            number = self.number_or_none()
            if number is not None and words.here.type in _ENDS:
                return Argument(number, first.start, words.last_end)
            words.back_to(place)
        if first.is_quoted:
            words.take()
        while not first.is_quoted and words.here.type not in (*_ENDS, *_NO_NAME) and not words.is_done:
            words.take()
        if words.here.type not in _ENDS or words.is_done or words.here is first:
            raise self._inside(name)
        text = first.text if first.is_quoted else words.text[first.start : words.last_end]
        return Argument(ColumnName(text), first.start, words.last_end)

    def _value(self, name: Word, field: str) -> Given:
        """What a field is given: a number, a text, true, false, or a list of them (of pairs, for bounds)."""
        words = self.words
        here = words.here
        if here.type is TokenType.L_BRACKET:
            return self._list(name, lambda: self._value(name, field))
        if here.type is TokenType.STRING:
            return words.take().text
        if here.type in (TokenType.TRUE, TokenType.FALSE):
            return words.take().type is TokenType.TRUE
        if here.is_name and here.upper not in RESERVED:
            raise words.problem(here, f"write a value of {field}: a number, 'text', true, false, or [a, list]")
        return self._number(name)

    def _list(self, name: Word, read: Callable[[], Given]) -> tuple[Given, ...]:
        words = self.words
        words.take()
        values: list[Given] = []
        while words.here.type is not TokenType.R_BRACKET:
            if values and not words.took(","):
                raise self._inside(name)
            values.append(read())
        words.take()
        return tuple(values)

    def _number(self, name: Word) -> Decimal:
        number = self.number_or_none()
        if number is None:
            raise self._inside(name)
        return number

    def number_or_none(self) -> Decimal | None:
        """A number with its sign, if one stands here."""
        words = self.words
        first = words.here
        sign = "-" if words.took("-") else ""
        if not sign:
            words.took("+")
        point = "0." if words.took(".") else ""
        if words.here.type is not TokenType.NUMBER:
            return None
        word = words.take()
        try:
            return Decimal(f"{sign}{point}{word.text}")
        except ArithmeticError:
            problem = words.problem_at(first.start, word.end, "this is not a number")
        raise problem

    def _inside(self, name: Word) -> InvalidText:
        """What is wrong inside a call."""
        here = self.words.here
        if self.words.is_done:
            return self.words.problem(name, "a bracket that is never closed")
        if here.upper in CLAUSES:
            return self.unexpected("")
        return self.words.problem(
            here, f"write columns and numbers inside {name.text}, no expressions; {self.supported}"
        )
