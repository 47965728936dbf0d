"""FROM over linked tables: inner joins along declared keys, each condition checked against the schema.

``FROM orders AS o JOIN customers USING (customer)``, ``... ON o.customer = customers.id``, or a list of tables whose
keys are compared in WHERE.  What is joined is then a public view (``sources.views``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import TokenType, exp

from dither.errors import InvalidArgument, InvalidText
from dither.sources.predicates import parsed
from dither.sources.schema import Schema
from dither.sources.views import Joined, is_named, joined_view, linked_by
from dither.sql.calls import RESERVED
from dither.sql.tokens import Word, Words

OFFERED = "inner joins along declared keys are: JOIN table ON foreign key = key, or USING (column)"
_OTHERS = {
    "LEFT": "a left join is",
    "RIGHT": "a right join is",
    "FULL": "a full join is",
    "OUTER": "an outer join is",
    "CROSS": "a cross join is",
    "NATURAL": "a natural join is",
    "LATERAL": "a lateral join is",
    "SEMI": "a semi join is",
    "ANTI": "an anti join is",
    "ASOF": "an asof join is",
    "POSITIONAL": "a positional join is",
}
_AFTER_TABLE = {"JOIN", "INNER", "ON", "USING", *_OTHERS}


@dataclass
class Tables:
    """The tables of a FROM, each under its name, and how they are joined."""

    words: Words
    schema: Schema
    named: dict[str, str] = field(default_factory=dict)
    """The table of every name."""
    places: dict[str, Word] = field(default_factory=dict)
    joins: list[Joined] = field(default_factory=list)

    def read(self) -> None:
        """table {, table} {[INNER] JOIN table ON key = key {AND key = key} | USING (column)}"""
        words = self.words
        self._table()
        while True:
            if words.took(","):
                self._table()
            elif words.here.upper in _OTHERS:
                raise words.problem(words.here, f"{_OTHERS[words.here.upper]} not offered; {OFFERED}")
            elif words.took("INNER", "JOIN") or words.took("JOIN"):
                joined = self._table()
                self._condition(joined)
            else:
                return

    def view(self) -> Schema:
        """The schema of what is joined, or an error that points at a table."""
        try:
            return joined_view(self.schema, self.named, self.joins)
        except InvalidArgument as error:
            place = self.places.get(str(error.given), next(iter(self.places.values())))
            problem = self.words.problem(place, error.rule)
        raise problem

    def is_link(self, node: exp.Expr) -> bool:
        """Whether a condition makes a foreign key equal to the key it refers to; then the tables are joined by it."""
        if not isinstance(node, exp.EQ):
            return False
        sides = [self._key(side) for side in (node.this, node.expression)]
        if None in sides or sides[0] is None or sides[1] is None:
            return False
        link = linked_by(self.schema.tables, sides[0], sides[1])
        if link is None:
            return False
        if link not in self.joins:
            self.joins.append(link)
        return True

    def _table(self) -> str:
        words = self.words
        word = words.take()
        if word.type is TokenType.L_PAREN:
            raise words.problem(words.here, f"a subquery is not offered; {OFFERED}")
        tables = self.schema.tables
        table = next((name for name in tables if word.text == name), None)
        if table is None and not word.is_quoted:
            table = next((name for name in tables if word.text.lower() == name.lower()), None)
        if not word.is_name or table is None or words.here.type in (TokenType.DOT, TokenType.L_PAREN):
            raise words.problem(word, f"unknown table; there are {', '.join(tables)}")
        name = self._alias() or word
        called = name.text if name is not word else table
        if any(called.lower() == known.lower() for known in self.named):
            raise words.problem(name, f"two tables are called {called}: give one of them another name, AS name")
        if "." in called or (called not in tables and called.lower() in {item.lower() for item in tables}):
            raise words.problem(name, "write a name without dots that is none of another table")
        if called != table and called in tables:
            raise words.problem(name, f"{called} is another table: write another name")
        self.named[called], self.places[called] = table, word
        return called

    def _alias(self) -> Word | None:
        words = self.words
        if words.took("AS"):
            if not words.here.is_name or words.here.upper in RESERVED:
                raise words.problem(words.here, "a name is expected behind AS")
            return words.take()
        if words.here.is_name and words.here.upper not in RESERVED and words.here.upper not in _AFTER_TABLE:
            return words.take()
        return None

    def _condition(self, joined: str) -> None:
        words = self.words
        if words.took("USING"):
            self._using(joined)
            return
        if not words.took("ON"):
            raise words.problem(words.here, f"ON or USING is expected here; {OFFERED}")
        start = words.here.start
        depth = 0
        while not words.is_done and (depth or not self._ends()):
            depth += (words.here.type is TokenType.L_PAREN) - (words.here.type is TokenType.R_PAREN)
            words.take()
        end = words.last_end
        if end <= start:
            raise words.problem(words.here, f"a condition is expected behind ON; {OFFERED}")
        try:
            tree = parsed(words.blanked(start, end), words.argument)
        except InvalidText as error:
            problem = words.problem_at(max(start, error.start), end, error.reason)
        else:
            while isinstance(tree, exp.Paren):
                tree = tree.this
            parts = list(tree.flatten()) if isinstance(tree, exp.And) else [tree]
            if all(self.is_link(_bare(part)) for part in parts):
                return
            problem = words.problem_at(start, end, f"this is no declared key: {self._keys(joined)}; {OFFERED}")
        raise problem

    def _ends(self) -> bool:
        here = self.words.here
        return (
            here.upper in {"JOIN", "INNER", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "OFFSET", *_OTHERS}
            or here.type in (TokenType.COMMA, TokenType.SEMICOLON)
            or here.upper in ("UNION", "INTERSECT", "EXCEPT", "WINDOW", "QUALIFY", "FETCH")
        )

    def _using(self, joined: str) -> None:
        words = self.words
        if not words.took("("):
            raise words.problem(words.here, "write USING (column)")
        word = words.take()
        if words.here.type is not TokenType.R_PAREN or not word.is_name:
            raise words.problem(word, "write USING (column): keys of several columns are not offered")
        words.take()
        column = exp.to_identifier(word.text, quoted=word.is_quoted)
        before = [name for name in self.named if name != joined]
        links = [
            link
            for name in before
            for one in (self._named(column, name),)
            for other in (self._named(column, joined),)
            if one is not None and other is not None
            for link in (linked_by(self.schema.tables, one, other),)
            if link is not None
        ]
        if len(links) != 1:
            raise words.problem(word, f"this is no declared key: {self._keys(joined)}; {OFFERED}")
        self.joins.append(links[0])

    def _key(self, node: exp.Expr) -> tuple[str, str, str] | None:
        """The instance, table and column of a side of a condition, if it is a key or a foreign key."""
        node = _bare(node)
        if not isinstance(node, exp.Column) or node.args.get("db") or not isinstance(node.this, exp.Identifier):
            return None
        table = node.args.get("table")
        names = [name for name in self.named if table is None or is_named(table, name)]
        matches = [match for name in names for match in (self._named(node.this, name),) if match is not None]
        return matches[0] if len(matches) == 1 else None

    def _named(self, column: exp.Identifier, name: str) -> tuple[str, str, str] | None:
        table = self.schema.tables[self.named[name]]
        keys = (*((table.key,) if table.key is not None else ()), *table.links)
        key = next((item for item in keys if is_named(column, item)), None)
        return None if key is None else (name, self.named[name], key)

    def _keys(self, joined: str) -> str:
        tables, here = self.schema.tables, self.named[joined]
        listed = [
            f"{name}.{column} = {target}.{tables[target].key}"
            for name, table in tables.items()
            for column, target in table.links.items()
            if here in (name, target)
        ]
        return f"{here} is joined by {' or '.join(listed)}" if listed else f"{here} has no links"


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node
