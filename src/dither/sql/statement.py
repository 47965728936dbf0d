"""From SQL to a statement: queries with their names, a filter, and groups, over one registered table.

The grammar is small and closed: whatever is not in it is refused at the word where it starts.  docs/sql.md has it.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import TokenType, exp

from dither.errors import InvalidArgument, InvalidText
from dither.queries.query import Query
from dither.queries.registry import entry_of
from dither.sources.graph_schema import GraphSchema
from dither.sources.predicates import Both, FilterReader, Predicate, parsed
from dither.sources.schema import Schema
from dither.sql.calls import CLAUSES, FILE, GRAPH, RESERVED, Call, CallReader, Field, Scope, scope_of
from dither.sql.functions import columns_of, query_of, supported
from dither.sql.joins import Tables
from dither.sql.ordering import COMPARISONS, Having, RowOrder, SortKey
from dither.sql.select import is_select
from dither.sql.tokens import Word, Words

if TYPE_CHECKING:
    from dither.typing import NamedWeights, Number

_AFTER_WHERE = {
    "GROUP BY",
    "ORDER BY",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "FETCH",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "WINDOW",
    "QUALIFY",
}
_OPERATORS = {"+", "-", "/", "%", "*", "||", "::", "=", "<", ">", "<>", "!=", "<=", ">=", "^", "**", "//", "AND", "OR"}


@dataclass(frozen=True)
class Item:
    """One query of a SELECT list."""

    query: Query
    alias: str | None
    text: str
    start: int
    end: int
    columns: tuple[str, ...] = ()
    """The columns that it names."""


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
    schema: Schema | None = None
    """What the tables that are joined, and the columns that are computed, make of the dataset's schema."""
    ordering: RowOrder | None = None
    """HAVING, ORDER BY and LIMIT."""

    @property
    def queries(self) -> list[tuple[Query, str | None]]:
        """The queries with their names."""
        return [(item.query, item.alias) for item in self.items]

    @contextlib.contextmanager
    def pointing_at(self, item: Item) -> Iterator[None]:
        """Within it, errors about a query or a group point at where it was written; any other error is as it is."""
        try:
            yield
        except InvalidText:
            raise
        except InvalidArgument as error:
            if error.argument == "by" and error.given in self.by and self.places:
                place = self.places[self.by.index(str(error.given))]
            elif error.argument in ("column", "query", *entry_of(item.query).fields):
                place = (item.start, item.end)
            else:
                raise
            raise InvalidText(self.argument, self.text, error.rule, *place) from None


def parse_sql(text: str, schema: Schema | GraphSchema, argument: str = "sql") -> Statement:
    """The statement of a text, or an error that says what is supported and points at the offending word.

    >>> from dither.sources.types import Integer
    >>> schema = Schema("x.csv", {"age": Integer(0, 120)}, "people")
    >>> parse_sql("SELECT median(age) AS middle FROM people WHERE age > 17", schema).queries
    [(Median(column='age', bounds=None, step=None, nulls=None), 'middle')]
    """
    return _StatementReader(Words(text, argument), scope_of(schema), schema.name).statement()


def parse_items(text: str, schema: Schema | GraphSchema, argument: str = "question") -> Statement:
    """A SELECT list without the rest: ``median(age), count(*)``."""
    return _StatementReader(Words(text, argument), scope_of(schema)).only_items()


def parse_question(text: str, schema: Schema | GraphSchema) -> Statement:
    """SQL, or the list of a SELECT without the rest."""
    return parse_sql(text, schema) if is_select(text) else parse_items(text, schema)


def called(text: str, schema: Schema | GraphSchema) -> Query | list[Query]:
    """The query that a text calls, such as ``median(age)``; a list where it calls several.

    >>> from dither.sources.types import Integer
    >>> called("MEDIAN(Age)", Schema("x.csv", {"age": Integer(0, 120)}))
    Median(column='age', bounds=None, step=None, nulls=None)
    """
    if is_select(text):
        raise InvalidArgument("query", text, "is SQL: ask it with session.sql(...)")
    items = parse_items(text, schema, "query").items
    return items[0].query if len(items) == 1 else [item.query for item in items]


def parse_graph_items(text: str, argument: str = "question") -> Statement:
    """Calls about a graph that is registered elsewhere: ``triangles(), kstars(2)``."""
    return _StatementReader(Words(text, argument), GRAPH).only_items()


def parse_file_call(text: str, given: Mapping[str, Field], argument: str = "question") -> Statement:
    """One call about a file without a schema; ``given``: fields that were given apart from it.

    >>> parse_file_call("quantile(total pay, 0.9)", {"bounds": (0, 9)}).items[0].query
    Quantile(column='total pay', bounds=(0, 9), step=None, nulls=None, q=Decimal('0.9'))
    """
    statement = _StatementReader(Words(text, argument), FILE, given=given).only_items()
    if len(statement.items) > 1:
        second = statement.items[1]
        reason = "write one function here; several need their columns declared"
        raise InvalidText(argument, statement.text, reason, second.start, second.end)
    return statement


def file_calls(text: str, argument: str = "question") -> list[tuple[str, ...]]:
    """The columns of each call about a file.

    >>> file_calls("median(pay), covariance(pay, age)")
    [('pay',), ('pay', 'age')]
    """
    return [item.columns for item in _StatementReader(Words(text, argument), FILE).only_items().items]


class _StatementReader:
    """Reads one statement from left to right."""

    def __init__(self, words: Words, scope: Scope, table: str = "", given: Mapping[str, Field] | None = None) -> None:
        self.words, self.table, self.given = words, table, given
        self.declared = scope.schema
        self.supported = supported(scope)
        self.calls = CallReader(words, scope, self.supported)
        self.tables: Tables | None = None
        """What stands behind FROM, where tables are linked."""
        self.items: list[Item] = []
        self.listed: list[tuple[str, Word]] = []
        """Columns of the SELECT list that must be groups."""
        self.places: list[int | str] = []
        """What stands at each place of the SELECT list: which item, or the name of a column."""

    def statement(self) -> Statement:
        """SELECT items FROM tables [WHERE filter] [GROUP BY columns] [HAVING ...] [ORDER BY ...] [LIMIT n] [;]"""
        words = self.words
        if not words.took("SELECT"):
            raise self.calls.unexpected("a statement starts with SELECT")
        joined = self._joined()
        self._items()
        if not words.took("FROM"):
            raise self.calls.unexpected("FROM is expected here" if words.is_done else "this is not supported here")
        if joined is None:
            self._table()
        else:
            words.back_to(joined)
        where, groups = self._selection()
        ordering = self._ordering(tuple(name for name, _ in groups)) if self.scope.schema is not None else None
        self._end()
        by = tuple(name for name, _ in groups)
        for name, word in self.listed:
            if name not in by:
                raise words.problem(word, f"a column of the list must stand in GROUP BY; {self.supported}")
        if not self.items:
            raise words.problem_at(0, len("SELECT"), f"nothing is asked; {self.supported}")
        places = tuple((word.start, word.end) for _, word in groups)
        return Statement(words.text, words.argument, tuple(self.items), where, by, places, self._computed(), ordering)

    @property
    def scope(self) -> Scope:
        """What the statement is about, with all columns that are computed so far."""
        return self.calls.scope

    def _computed(self) -> Schema | None:
        """The schema of joined tables and computed columns; None where a statement has neither."""
        return None if self.scope.schema is self.declared else self.scope.schema

    def _joined(self) -> int | None:
        """Read FROM before all else, where columns are those of the tables there; where it ends."""
        words, schema = self.words, self.scope.schema
        if schema is None or not schema.tables:
            return None
        start, depth = words.place, 0
        while not words.is_done and not (depth == 0 and words.here.upper == "FROM"):
            depth += (words.here.type is TokenType.L_PAREN) - (words.here.type is TokenType.R_PAREN)
            words.take()
        if not words.took("FROM"):
            raise words.problem(words.here, f"FROM is expected: name tables, {', '.join(schema.tables)}")
        self.tables = Tables(words, schema)
        self.tables.read()
        end = words.place
        if words.took("WHERE"):
            self._links()
        self.calls.scope = dataclasses.replace(self.scope, schema=self.tables.view())
        words.back_to(start)
        return end

    def _links(self) -> None:
        """Keys that are compared in WHERE join tables."""
        start, end = self._condition()
        with contextlib.suppress(InvalidText):  # (what is wrong with it is said when it is read)
            tree = parsed(self.words.blanked(start, end), self.words.argument)
            for part in _conjuncts(tree):
                if self.tables is not None:
                    self.tables.is_link(part)

    def _selection(self) -> tuple[Predicate | None, list[tuple[str, Word]]]:
        words, schema = self.words, self.scope.schema
        if schema is None:
            if words.here.upper in ("WHERE", "GROUP BY"):
                raise words.problem(words.here, f"{self.scope.source} is asked as a whole; {self.supported}")
            return None, []
        where = self._where(schema) if words.took("WHERE") else None
        return where, self._groups() if words.took("GROUP BY") else []

    def only_items(self) -> Statement:
        """Items [;]"""
        self._items()
        self._end()
        for _, word in self.listed:
            raise self.words.problem(word, f"write a function here, such as median({word.text})")
        return Statement(self.words.text, self.words.argument, tuple(self.items), schema=self._computed())

    def _end(self) -> None:
        if self.words.here.type is TokenType.SEMICOLON and not self.words.is_done:
            self.words.take()
            if not self.words.is_done:
                raise self.words.problem(self.words.here, "write one statement")
        if not self.words.is_done:
            raise self.calls.unexpected("this is not supported here")

    # --- the SELECT list -------------------------------------------------------------------------------

    def _items(self) -> None:
        self._item()
        while self.words.took(","):
            self._item()
        times = Counter(item.alias for item in self.items)
        for item in self.items:
            if item.alias is not None and times[item.alias] > 1:
                raise self.words.problem_at(item.start, item.end, f"two queries are called {item.alias}")

    def _item(self) -> None:
        words = self.words
        first = words.here
        if first.type is TokenType.STAR:
            raise words.problem(first, f"records are never released; {self.supported}")
        if not first.is_name or (first.upper in RESERVED and words.following.type is not TokenType.L_PAREN):
            raise self.calls.unexpected("a function of a column is expected here")
        if words.following.type is not TokenType.L_PAREN:
            self.listed.append((self._column(), first))
            self.places.append(self.listed[-1][0])
            self._alias()
            return
        if first.upper in CLAUSES and first.upper not in ("LEFT", "RIGHT"):
            raise self.calls.unexpected("")
        call = self.calls.call()
        query = query_of(call, self.scope, self.given)
        self._no_more(call)
        place = call.name.start, call.end
        self.places.append(len(self.items))
        self.items.append(Item(query, self._alias(), call.text, *place, columns_of(call, self.scope)))

    def _column(self) -> str:
        return str(self.calls.column().given)

    def _no_more(self, call: Call) -> None:
        here = self.words.here
        if here.text.upper() in _OPERATORS and not here.is_quoted and here.type is not TokenType.STRING:
            raise self.words.problem(here, f"arithmetic with {call.name.text} is not supported; {self.supported}")

    def _alias(self) -> str | None:
        words = self.words
        if words.took("AS"):
            word = words.take()
            if not word.is_name or (word.upper in RESERVED):
                raise words.problem(word, "a name is expected behind AS")
            return word.text
        if words.here.is_name and words.here.upper not in RESERVED:
            return words.take().text
        return None

    # --- FROM, WHERE, GROUP BY -------------------------------------------------------------------------

    def _table(self) -> None:
        words = self.words
        word = words.take()
        if word.type is TokenType.L_PAREN:
            raise words.problem(words.here, f"a subquery is not supported; {self.supported}")
        wanted = self.table
        same = word.text == wanted or (not word.is_quoted and word.text.lower() == wanted.lower())
        if not word.is_name or not same or words.here.type in (TokenType.DOT, TokenType.L_PAREN):
            raise words.problem(word, f"unknown table; the registered one is {wanted}")
        if words.here.type is TokenType.COMMA:
            raise words.problem(words.here, f"a join is not supported; {self.supported}")
        if words.here.upper == "AS" or (words.here.is_name and words.here.upper not in RESERVED):
            raise words.problem(words.here, f"another name for the table is not supported; {self.supported}")

    def _where(self, schema: Schema) -> Predicate | None:
        words = self.words
        start, end = self._condition()
        try:
            blanked = words.blanked(start, end)
            tree = parsed(blanked, words.argument)
            reader = FilterReader(schema, blanked, words.argument)
            if self.tables is None:
                return reader.read(tree)
            parts = [part for part in _conjuncts(tree) if not self.tables.is_link(part)]
            read = tuple(reader.read(part) for part in parts)
            return None if not read else read[0] if len(read) == 1 else Both(read)
        except InvalidText as error:
            whole = error.start < start
            problem = words.problem_at(start if whole else error.start, end if whole else error.end, error.reason)
        raise problem

    def _condition(self) -> tuple[int, int]:
        """Where the condition behind WHERE begins and ends; all of it is taken."""
        words = self.words
        start, end, depth = words.here.start, words.here.start, 0
        while not words.is_done and not (
            depth == 0 and (words.here.upper in _AFTER_WHERE or words.here.type is TokenType.SEMICOLON)
        ):
            if words.here.upper in CLAUSES and words.here.upper not in ("LEFT", "RIGHT", "ON", "FULL"):
                raise self.calls.unexpected("")
            depth += (words.here.type is TokenType.L_PAREN) - (words.here.type is TokenType.R_PAREN)
            end = words.take().end
        if end == start:
            raise words.problem(words.here, "a condition is expected behind WHERE")
        return start, end

    def _groups(self) -> list[tuple[str, Word]]:
        groups: list[tuple[str, Word]] = []
        seen: set[str] = set()
        while True:
            word = self.words.here
            if not word.is_name or word.upper in RESERVED or self.words.following.type is TokenType.L_PAREN:
                raise self.calls.unexpected("the name of a column is expected behind GROUP BY")
            name = self._column()
            if name in seen:
                raise self.words.problem(word, "a column can be grouped by once")
            seen.add(name)
            groups.append((name, word))
            if not self.words.took(","):
                return groups

    # --- HAVING, ORDER BY, LIMIT: of what is released ---------------------------------------------------

    def _ordering(self, by: tuple[str, ...]) -> RowOrder | None:
        words, having, keys = self.words, list[Having](), list[SortKey]()
        limit, offset, first = None, 0, words.here
        if first.upper in ("HAVING", "ORDER BY", "LIMIT", "OFFSET") and not by:
            raise words.problem(first, f"{first.text} is about groups: write GROUP BY before it")
        if words.took("HAVING"):
            having.append(self._having())
            while words.took("AND"):
                having.append(self._having())
        if words.took("ORDER BY"):
            keys.append(self._sort_key(by))
            while words.took(","):
                keys.append(self._sort_key(by))
        if words.took("LIMIT"):
            limit = self._whole_number("LIMIT")
        if words.took("OFFSET"):
            offset = self._whole_number("OFFSET")
        if words.here.start == first.start:
            return None
        return RowOrder(tuple(having), tuple(keys), limit, offset)

    def _item_here(self) -> int:
        """Which query of the list is named or called here."""
        words, first = self.words, self.words.here
        if first.is_name and words.following.type is TokenType.L_PAREN:
            query = query_of(self.calls.call(), self.scope, self.given)
            place = next((place for place, item in enumerate(self.items) if item.query == query), None)
            if place is None:
                raise words.problem_at(
                    first.start, words.last_end, "only what is asked in the list is released: write it there too"
                )
            return place
        word = words.take()
        names = [item.alias for item in self.items]
        alike = [place for place, name in enumerate(names) if name is not None and name.lower() == word.text.lower()]
        if not word.is_name or len(alike) != 1:
            raise words.problem(word, "write a query of the list, or the name that it was given with AS")
        return alike[0]

    def _having(self) -> Having:
        words = self.words
        item = self._item_here()
        sign = words.take()
        if sign.text not in COMPARISONS:
            raise words.problem(sign, f"compare what is released with a number: {', '.join(COMPARISONS)}")
        number = self.calls.number_or_none()
        if number is None:
            raise words.problem(words.here, "write a number here: HAVING compares what is released with numbers")
        return Having(item, sign.text, number)

    def _sort_key(self, by: tuple[str, ...]) -> SortKey:
        words, here = self.words, self.words.here
        item: int | None = None
        column: str | None = None
        aliases = {item.alias.lower() for item in self.items if item.alias is not None}
        if here.type is TokenType.NUMBER:
            place = self._whole_number("ORDER BY")
            if not 1 <= place <= len(self.places):
                raise words.problem(here, f"write a place from 1 to {len(self.places)}, or a name")
            named = self.places[place - 1]
            item, column = (None, named) if isinstance(named, str) else (named, None)
        elif words.following.type is TokenType.L_PAREN or here.text.lower() in aliases:
            item = self._item_here()
        elif here.is_name and here.upper not in RESERVED:
            column = self._column()
            if column not in by:
                raise words.problem(here, "write a column of GROUP BY, or a query of the list")
        else:
            raise words.problem(here, "write a column of GROUP BY, or a query of the list")
        descending = words.took("DESC")
        if not descending:
            words.took("ASC")
        return SortKey(item, column, descending)

    def _whole_number(self, clause: str) -> int:
        word = self.words.take()
        if word.type is not TokenType.NUMBER or not word.text.isdigit() or len(word.text) > 18:
            raise self.words.problem(word, f"write a whole number behind {clause}")
        return int(word.text)


def _conjuncts(tree: exp.Expr) -> list[exp.Expr]:
    """The conditions that all must hold."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return [item for part in tree.flatten() for item in _conjuncts(part)] if isinstance(tree, exp.And) else [tree]


def with_filter(statement: Statement, where: Predicate | None, by: tuple[str, ...]) -> Statement:
    """The same queries with a filter and groups that were given apart."""
    return dataclasses.replace(statement, where=where, by=by)


def weights_of(statement: Statement, weights: NamedWeights | None) -> list[Number]:
    """One weight for each query: from a list, or from a mapping of names (or of what was written) to weights."""
    if weights is None:
        return [1] * len(statement.items)
    if not isinstance(weights, Mapping) and hasattr(weights, "items"):
        weights = dict(weights.items())
    if isinstance(weights, Mapping):
        names = {name for item in statement.items for name in (item.alias, item.text) if name is not None}
        for name in weights:
            if name not in names:
                raise InvalidArgument("weights", name, f"must be a query of the list: {', '.join(sorted(names))}")
        return [weights.get(item.alias or "", weights.get(item.text, 1)) for item in statement.items]
    if isinstance(weights, (str, bytes)) or not hasattr(weights, "__iter__"):
        raise InvalidArgument("weights", weights, "must be a list of numbers, or a mapping of names to numbers")
    return list(weights)
