"""From SQL to a statement: queries with their names, a filter, and groups, over one registered table.

The grammar is small and closed: whatever is not in it is refused at the word where it starts.  docs/sql.md has it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlglot import TokenType, exp

from dither.errors import InvalidArgument, InvalidText
from dither.queries.query import Query
from dither.sources.predicates import FilterReader, Predicate, parsed, resolved_name
from dither.sources.schema import Schema
from dither.sql.functions import STAR, SUPPORTED, Argument, Call, query_of
from dither.sql.tokens import Word, Words

_CLAUSES = {
    "JOIN": "a join is", "LEFT": "a join is", "RIGHT": "a join is", "INNER": "a join is", "OUTER": "a join is",
    "FULL": "a join is", "CROSS": "a join is", "NATURAL": "a join is", "LATERAL": "a join is", "ON": "a join is",
    "USING": "a join is", "ORDER BY": "ORDER BY is", "LIMIT": "LIMIT is", "OFFSET": "OFFSET is", "FETCH": "FETCH is",
    "HAVING": "HAVING is", "DISTINCT": "DISTINCT is", "UNION": "UNION is", "INTERSECT": "INTERSECT is",
    "EXCEPT": "EXCEPT is", "OVER": "a window function is", "WINDOW": "a window function is",
    "PARTITION BY": "a window function is", "QUALIFY": "QUALIFY is", "FILTER": "FILTER is", "SELECT": "a subquery is",
    "WITH": "a common table expression is", "EXISTS": "a subquery is", "TABLESAMPLE": "a sample is",
    "USING SAMPLE": "a sample is", "INTO": "INTO is", "CASE": "CASE is", "CAST": "a cast is", "EXCLUDE": "EXCLUDE is",
    "ROLLUP": "ROLLUP is", "CUBE": "CUBE is", "GROUPING SETS": "GROUPING SETS is", "PIVOT": "PIVOT is",
}  # fmt: skip
_RESERVED = {"SELECT", "FROM", "WHERE", "GROUP BY", "AS", "AND", "OR", "NOT", "BY", "GROUP", "WITHIN", *_CLAUSES}
_AFTER_WHERE = {
    "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "OFFSET", "FETCH", "UNION", "INTERSECT", "EXCEPT", "WINDOW", "QUALIFY",
}  # fmt: skip
_OPERATORS = {"+", "-", "/", "%", "*", "||", "::", "=", "<", ">", "<>", "!=", "<=", ">=", "^", "**", "//", "AND", "OR"}


@dataclass(frozen=True)
class Item:
    """One query of a SELECT list."""

    query: Query
    alias: str | None
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Statement:
    """What a text asks: queries, a filter and groups."""

    text: str
    argument: str
    items: tuple[Item, ...]
    where: Predicate | None = None
    by: tuple[str, ...] = ()
    places: tuple[tuple[int, int], ...] = ()
    """Where the groups stand."""

    @property
    def queries(self) -> list[tuple[Query, str | None]]:
        """The queries with their names."""
        return [(item.query, item.alias) for item in self.items]

    def pointing(self, error: InvalidArgument, item: Item) -> InvalidArgument:
        """An error about a query or a group, pointing at where it was written; any other error as it is."""
        if isinstance(error, InvalidText):
            return error
        if error.argument == "by" and error.given in self.by and self.places:
            place = self.places[self.by.index(str(error.given))]
            return InvalidText(self.argument, self.text, error.accepted, *place)
        if error.argument in _ABOUT_QUERIES:
            return InvalidText(self.argument, self.text, error.accepted, item.start, item.end)
        return error


_ABOUT_QUERIES = {"column", "query", "edges", "categories", "q", "trim", "bounds", "step", "nulls", "ddof", "low"}


def parse_sql(text: object, schema: Schema, argument: str = "sql") -> Statement:
    """The statement of a text, or an error that says what is supported and points at the offending word.

    >>> from dither.sources.types import Integer
    >>> schema = Schema("x.csv", {"age": Integer(0, 120)}, "people")
    >>> parse_sql("SELECT median(age) AS middle FROM people WHERE age > 17", schema).queries
    [(Median(column='age', bounds=None, step=None, nulls=None), 'middle')]
    """
    return _Reader(Words(text, argument), schema).statement()


def parse_items(text: object, schema: Schema, argument: str = "question") -> Statement:
    """A SELECT list without the rest: ``median(age), count(*)``."""
    return _Reader(Words(text, argument), schema).only_items()


class _Reader:
    """Reads one statement from left to right."""

    def __init__(self, words: Words, schema: Schema) -> None:
        self.words, self.schema = words, schema
        self.items: list[Item] = []
        self.listed: list[tuple[str, Word]] = []
        """Columns of the SELECT list that must be groups."""

    def statement(self) -> Statement:
        """SELECT items FROM table [WHERE filter] [GROUP BY columns] [;]"""
        words = self.words
        if not words.took("SELECT"):
            raise self._unexpected("a statement starts with SELECT")
        self._items()
        if not words.took("FROM"):
            raise self._unexpected("FROM is expected here" if words.is_done else "this is not supported here")
        self._table()
        where = self._where() if words.took("WHERE") else None
        groups = self._groups() if words.took("GROUP BY") else []
        self._end()
        by = tuple(name for name, _ in groups)
        for name, word in self.listed:
            if name not in by:
                raise words.problem(word, f"a column of the list must stand in GROUP BY; {SUPPORTED}")
        if not self.items:
            raise words.problem_at(0, len("SELECT"), f"nothing is asked; {SUPPORTED}")
        places = tuple((word.start, word.end) for _, word in groups)
        return Statement(words.text, words.argument, tuple(self.items), where, by, places)

    def only_items(self) -> Statement:
        """Items [;]"""
        self._items()
        self._end()
        for _, word in self.listed:
            raise self.words.problem(word, f"a function is accepted here, such as median({word.text})")
        return Statement(self.words.text, self.words.argument, tuple(self.items))

    def _end(self) -> None:
        if self.words.here.kind is TokenType.SEMICOLON and not self.words.is_done:
            self.words.take()
            if not self.words.is_done:
                raise self.words.problem(self.words.here, "one statement is accepted")
        if not self.words.is_done:
            raise self._unexpected("this is not supported here")

    # --- the SELECT list -------------------------------------------------------------------------------

    def _items(self) -> None:
        self._item()
        while self.words.took(","):
            self._item()
        names = [item.alias for item in self.items if item.alias is not None]
        for item in self.items:
            if item.alias is not None and names.count(item.alias) > 1:
                raise self.words.problem_at(item.start, item.end, f"two queries are called {item.alias}")

    def _item(self) -> None:
        words = self.words
        first = words.here
        if first.kind is TokenType.STAR:
            raise words.problem(first, f"records are never released; {SUPPORTED}")
        if not first.is_name or (first.upper in _RESERVED and words.following.kind is not TokenType.L_PAREN):
            raise self._unexpected("a function of a column is expected here")
        if words.following.kind is not TokenType.L_PAREN:
            name = self._column()
            self.listed.append((name.value if isinstance(name.value, str) else "", first))
            self._alias()
            return
        if first.upper in _CLAUSES and first.upper not in ("LEFT", "RIGHT"):
            raise self._unexpected("")
        call = self._call()
        query = query_of(call)
        self._no_more(call)
        self.items.append(Item(query, self._alias(), words.text[call.name.start : call.end], call.name.start, call.end))

    def _no_more(self, call: Call) -> None:
        here = self.words.here
        if here.text.upper() in _OPERATORS and not here.is_quoted and here.kind is not TokenType.STRING:
            raise self.words.problem(here, f"arithmetic with {call.name.text} is not supported; {SUPPORTED}")

    def _call(self) -> Call:
        words = self.words
        name = words.take()
        words.take()
        arguments: list[Argument] = []
        while words.here.kind is not TokenType.R_PAREN:
            if arguments and not words.took(","):
                raise self._in_call(name)
            arguments.append(self._argument(name))
        end = words.take().end
        within = None
        if words.took("WITHIN", "GROUP"):
            for expected in ("(", "ORDER BY"):
                if not words.took(expected):
                    raise words.problem(words.here, "WITHIN GROUP (ORDER BY column) is accepted")
            within = self._column()
            if words.here.kind is not TokenType.R_PAREN:
                raise words.problem(words.here, "WITHIN GROUP (ORDER BY column) is accepted")
            end = words.take().end
        return Call(words, name, tuple(arguments), within, end)

    def _argument(self, name: Word) -> Argument:
        words = self.words
        here = words.here
        if here.kind is TokenType.STAR:
            words.take()
            return Argument(STAR, here.start, here.end)
        if here.kind is TokenType.L_BRACKET:
            words.take()
            numbers: list[Decimal] = []
            while words.here.kind is not TokenType.R_BRACKET:
                if numbers and not words.took(","):
                    raise self._in_call(name)
                numbers.append(self._number(name))
            return Argument(tuple(numbers), here.start, words.take().end)
        if here.is_name and here.upper not in _RESERVED and words.following.kind is not TokenType.L_PAREN:
            return self._column()
        number = self._number(name)
        return Argument(number, here.start, words.here.start)

    def _number(self, name: Word) -> Decimal:
        words = self.words
        first = words.here
        sign = "-" if words.took("-") else ""
        if not sign:
            words.took("+")
        point = "0." if words.took(".") else ""
        if words.here.kind is not TokenType.NUMBER:
            raise self._in_call(name)
        word = words.take()
        try:
            return Decimal(f"{sign}{point}{word.text}")
        except ArithmeticError:
            problem = words.problem_at(first.start, word.end, "this is not a number")
        raise problem

    def _in_call(self, name: Word) -> InvalidText:
        """What is wrong inside a call."""
        here = self.words.here
        if self.words.is_done:
            return self.words.problem(name, "a bracket that is never closed")
        if here.upper in _CLAUSES:
            return self._unexpected("")
        return self.words.problem(
            here, f"columns and numbers are accepted inside {name.text}, no expressions; {SUPPORTED}"
        )

    def _column(self) -> Argument:
        words = self.words
        word = words.take()
        if words.here.kind is TokenType.DOT:
            raise words.problem_at(word.start, words.following.end, "a column is named without its table")
        if not word.is_name:
            raise words.problem(word, f"the name of a column is expected here; {SUPPORTED}")
        name = resolved_name(exp.to_identifier(word.text, quoted=word.is_quoted), self.schema)
        if name is None:
            raise words.problem(word, f"unknown column; declared are {', '.join(self.schema.columns)}")
        return Argument(name, word.start, word.end)

    def _alias(self) -> str | None:
        words = self.words
        if words.took("AS"):
            word = words.take()
            if not word.is_name or (word.upper in _RESERVED):
                raise words.problem(word, "a name is expected behind AS")
            return word.text
        if words.here.is_name and words.here.upper not in _RESERVED:
            return words.take().text
        return None

    # --- FROM, WHERE, GROUP BY -------------------------------------------------------------------------

    def _table(self) -> None:
        words = self.words
        word = words.take()
        if word.kind is TokenType.L_PAREN:
            raise words.problem(words.here, f"a subquery is not supported; {SUPPORTED}")
        wanted = self.schema.name
        same = word.text == wanted or (not word.is_quoted and word.text.lower() == wanted.lower())
        if not word.is_name or not same or words.here.kind in (TokenType.DOT, TokenType.L_PAREN):
            raise words.problem(word, f"unknown table; the registered one is {wanted}")
        if words.here.kind is TokenType.COMMA:
            raise words.problem(words.here, f"a join is not supported; {SUPPORTED}")
        if words.here.upper == "AS" or (words.here.is_name and words.here.upper not in _RESERVED):
            raise words.problem(words.here, f"another name for the table is not supported; {SUPPORTED}")

    def _where(self) -> Predicate:
        words = self.words
        start, end, depth = words.here.start, words.here.start, 0
        while not words.is_done and not (
            depth == 0 and (words.here.upper in _AFTER_WHERE or words.here.kind is TokenType.SEMICOLON)
        ):
            if words.here.upper in _CLAUSES and words.here.upper not in ("LEFT", "RIGHT", "ON", "FULL"):
                raise self._unexpected("")
            depth += (words.here.kind is TokenType.L_PAREN) - (words.here.kind is TokenType.R_PAREN)
            end = words.take().end
        if end == start:
            raise words.problem(words.here, "a condition is expected behind WHERE")
        try:
            blanked = words.blanked(start, end)
            return FilterReader(self.schema, blanked, words.argument).read(parsed(blanked, words.argument))
        except InvalidText as error:
            whole = error.start < start
            problem = words.problem_at(start if whole else error.start, end if whole else error.end, error.reason)
        raise problem

    def _groups(self) -> list[tuple[str, Word]]:
        groups: list[tuple[str, Word]] = []
        while True:
            word = self.words.here
            if not word.is_name or word.upper in _RESERVED or self.words.following.kind is TokenType.L_PAREN:
                raise self._unexpected("the name of a column is expected behind GROUP BY")
            name = str(self._column().value)
            if name in (one for one, _ in groups):
                raise self.words.problem(word, "a column can be grouped by once")
            groups.append((name, word))
            if not self.words.took(","):
                return groups

    def _unexpected(self, reason: str) -> InvalidText:
        """The error for the next word, in terms of what it starts."""
        here = self.words.here
        what = _CLAUSES.get(here.upper)
        return self.words.problem(here, f"{reason if what is None else f'{what} not supported'}; {SUPPORTED}")


def with_filter(statement: Statement, where: Predicate | None, by: tuple[str, ...]) -> Statement:
    """The same queries with a filter and groups that were given apart."""
    return dataclasses.replace(statement, where=where, by=by)


def weights_of(statement: Statement, weights: Any) -> list[Any]:
    """One weight for each query: from a list, or from a mapping of names (or of what was written) to weights."""
    if weights is None:
        return [1] * len(statement.items)
    if hasattr(weights, "items"):
        names = {name for item in statement.items for name in (item.alias, item.text) if name is not None}
        for name in weights:
            if name not in names:
                raise InvalidArgument("weights", name, f"a query of the list is accepted: {', '.join(sorted(names))}")
        return [weights.get(item.alias, weights.get(item.text, 1)) for item in statement.items]
    if isinstance(weights, (str, bytes)) or not hasattr(weights, "__iter__"):
        raise InvalidArgument("weights", weights, "a list of numbers, or a mapping of names to numbers, is accepted")
    return list(weights)
