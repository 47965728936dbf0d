"""Joins of linked tables: one person comes, goes or changes with all rows everywhere, over all toy databases.

A toy database is what two people hold in two or three linked tables, beside rows of nobody; neighbours differ in what
one of them holds, all rows everywhere, under the same key or another.  Some hold rows that have lost their owner, keys
that repeat, or an order number that both have.  Statements are read and planned as they ship; what their noise is added
to must move by no more than it is for, all of it together: the draw of a limit, the count of people and the noise.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import permutations, product
from typing import Literal, TypeAlias, TypeVar
from unittest import mock

from sqlglot import exp

import dither as dt
from dither.queries.people import PeoplePlan
from dither.session.session import Session
from dither.session.statements import plan_for
from dither.sources.engines.factory import engine_over
from dither.sources.engines.views import ViewEngine, _JoinedTable
from dither.sources.linked_tables import Instance
from dither.sources.predicates import literal
from dither.sources.schema import Schema
from dither.sources.types import ColumnType
from dither.sql.statement import parse_sql
from dither_lab.audit.checks import ROUNDING, Check, Effort, Evidence
from dither_lab.audit.laws.people_readings import PLACES, RUNGS, PlannedStatement, Reading, WithinLimit, read

EPSILON, LIMIT = 1.0, 2
SHARED = 900
"""An order number that several people may have; the items of it belong to all of them."""
LOST = 800
"""A number that no order has."""
TWO = 2
READ = ("price", "amount")
COVERS, PROOF = frozenset({"linked tables", "several rows a person"}), "linked_tables"

Entry: TypeAlias = int | float | str | None
Row: TypeAlias = tuple[Entry, ...]
Rows: TypeAlias = tuple[Row, ...]
R = TypeVar("R")
Mutant: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Something broken on purpose, for a while."""
RowsOfPerson: TypeAlias = int | Literal["private"]


@dataclass(frozen=True)
class Holding:
    """What one person has in each table; order numbers are those of one person unless they are shared or lost."""

    name: str
    people: tuple[tuple[int | None, str], ...] = ()
    """Town and kind."""
    orders: tuple[tuple[int, float | None], ...] = ()
    """Number and price."""
    items: tuple[tuple[int, int], ...] = ()
    """Order and amount."""


HOLDINGS = (
    Holding("nothing"),
    Holding("many items", ((10, "b"),), ((1, 1.0), (2, 4.0)), ((1, 3),) * 4 + ((2, 1),) * 2),
    Holding("items that lost their order", ((10, "a"),), ((1, 4.0),), ((1, 3),) * 4 + ((LOST, 3),) * 9),
    Holding("an order whose number others have", ((10, "a"),), ((SHARED, 4.0), (1, 1.0)), ((1, 2),)),
    Holding("one item", ((20, "a"),), ((1, 2.0),), ((1, 1),)),
    Holding("keys that repeat", ((10, "a"), (20, "b")), ((1, 3.0), (1, None)), ((1, 2), (1, 3))),
    Holding("orders, and no row of a person", (), ((1, 4.0), (2, 4.0), (3, 4.0)), ((1, 3), (3, 3))),
)
OTHERS = (
    Holding("nothing"),
    Holding("an order whose number others have", ((20, "b"),), ((SHARED, 4.0), (1, 1.0))),
)
"""What somebody else holds, which stays."""
FEW = 4
"""Holdings of a quick audit: the first ones."""
OF_NOBODY = Holding("nobody", ((10, "a"),), ((LOST + 1, 3.0),), ((SHARED, 3), (SHARED, 1), (LOST + 2, 3)))
"""Rows of every database: a person without a key, an order of nobody, items of a shared and of an unknown order."""

Database: TypeAlias = tuple[Holding, Holding]
COLUMNS = {
    "people": {"id": "int64", "town": "int64", "kind": "string"},
    "orders": {"number": "int64", "person": "int64", "price": "double"},
    "items": {"order": "int64", "amount": "int64"},
    "towns": {"code": "int64", "region": "string"},
}
DECLARED: dict[str, dict[str, ColumnType]] = {
    "people": {"kind": dt.Category(["a", "b"])},
    "orders": {"price": dt.Real(0, 4)},
    "items": {"amount": dt.Integer(0, 3)},
    "towns": {"region": dt.Category(["north", "south"])},
}
TOWNS: Rows = ((10, "north"), (20, "south"))
ITEMS_OF_PEOPLE = 'items JOIN orders ON "order" = number JOIN people ON person = id'


def _of(items: str, rest: str = "") -> str:
    return f"SELECT {items} FROM {ITEMS_OF_PEOPLE}{rest}"  # noqa: S608  (read by dither, and by no engine)


TWO_TABLES = (
    "SELECT count(*) FROM orders",
    "SELECT sum(price) FROM orders JOIN people ON person = id",
    "SELECT count(*) FROM orders JOIN people ON person = id JOIN towns ON town = code GROUP BY region",
    "SELECT avg(price) FROM orders JOIN people ON person = id WHERE kind = 'a'",
    "SELECT median(price) FROM orders",
    "SELECT count(DISTINCT person) FROM orders",
)
THREE_TABLES = (
    "SELECT count(*) FROM items",
    _of("sum(price * amount)"),
    _of("sum(amount)", " JOIN towns ON town = code GROUP BY kind, region"),
    'SELECT avg(amount) FROM items JOIN orders ON "order" = number',
    _of("max(amount)", " WHERE price > 1"),
    "SELECT median(amount) FROM items GROUP BY amount",
    _of("min(price)"),
    _of("count(DISTINCT people.id)", " GROUP BY kind"),
)
"""Every shape that joins are offered for: counts, sums, means, quantiles and extremes, filtered and in groups."""


def databases(holdings: Sequence[Holding]) -> Iterator[Database]:
    """All databases: one of several others, and a person who holds anything."""
    return product(OTHERS, holdings)


def neighbours(holdings: Sequence[Holding]) -> Iterator[tuple[Database, Database]]:
    """All pairs of databases that differ in one person with all rows."""
    for other in OTHERS:
        for before, after in permutations(holdings, 2):
            yield (other, before), (other, after)


def rows_of(database: Database) -> dict[str, Rows]:
    """The tables, row by row; who changes has the same key afterwards, or another."""
    people: list[Row] = [(None, *row) for row in OF_NOBODY.people]
    orders: list[Row] = [(number, None, price) for number, price in OF_NOBODY.orders]
    items: list[Row] = list(OF_NOBODY.items)
    keys = 1, 2 + HOLDINGS.index(database[1]) % 2
    for who, holding in zip(keys, database, strict=True):

        def own(number: int, who: int = who) -> int:
            return number if number >= LOST else 10 * who + number

        people += [(who, *row) for row in holding.people]
        orders += [(own(number), who, price) for number, price in holding.orders]
        items += [(own(number), amount) for number, amount in holding.items]
    return {"people": tuple(people), "orders": tuple(orders), "items": tuple(items), "towns": TOWNS}


def opened(database: Database, tables: int, rows_per_unit: RowsOfPerson) -> Session:
    """A session on a toy database of two or three linked tables and a public one."""
    import pyarrow as pa  # noqa: PLC0415  (slow to load)

    linked = {"people": {"town": "towns"}, "orders": {"person": "people"}, "items": {"order": "orders"}}
    keys = {"people": "id", "orders": "number", "towns": "code"}
    built = {}
    for name, rows in rows_of(database).items():
        if name == "items" and tables == TWO:
            continue
        types = COLUMNS[name]
        given = {item: pa.array([row[at] for row in rows], types[item]) for at, item in enumerate(types)}
        built[name] = dt.LinkedTable(
            pa.table(given), DECLARED[name], key=keys.get(name), links=linked.get(name, {}), public=name == "towns"
        )
    schema = Schema.linked(built, person="people", rows_per_unit=rows_per_unit, budget=dt.Budget(EPSILON))
    return dt.open(schema)


# --- what is released of a database -----------------------------------------------------------------------------------


def planned(schema: Schema, text: str) -> PlannedStatement:
    """As it ships."""
    statement = parse_sql(text, schema)
    (item,) = statement.items
    joined = statement.schema or schema
    by = list(statement.by) or None
    plan = plan_for(item.query, joined, epsilon=EPSILON, confidence=None, where=statement.where, by=by)
    if plan.limit is None:
        return PlannedStatement(plan)
    draw, plan_at = plan.limit.draw, plan.limit.plan_at
    limited = [within for place in PLACES if (within := plan_at(draw.limits[place])) is not None]
    return PlannedStatement(plan, tuple(limited))


# --- what neighbours show ---------------------------------------------------------------------------------------------


def limit_law(reading: Reading) -> list[float]:
    """Logarithms of the chances of all limits: (2/7)^k e^(-rate people above)."""
    logs = [place * math.log(2 / 7) - reading.rate * above for place, above in enumerate(reading.exceeding)]
    most = max(logs)
    total = most + math.log(math.fsum(math.exp(log - most) for log in logs))
    return [log - total for log in logs]


def loss_between(here: Reading, there: Reading) -> float:
    """The largest logarithm of a ratio of densities; infinite where a ladder does not cover what moves."""
    laws = limit_law(here), limit_law(there)
    worst = here.size_epsilon * abs(here.people - there.people)
    spent = worst
    for place, one, other in zip(here.places, here.within, there.within, strict=True):
        drawn = laws[0][place] - laws[1][place]
        if one.totals:
            distance = sum(abs(a - b) for a, b in zip(one.totals, other.totals, strict=True))
            worst = max(worst, spent + drawn + distance / one.scale)
        elif drawn > here.rate * (1 + ROUNDING) or not _is_covered(one, other):
            return math.inf
    return worst


def _is_covered(one: WithinLimit, other: WithinLimit) -> bool:
    """Both axioms of ladders for the steps of one person, group by group."""
    moves = []
    for (value, rungs), (moved, others) in zip(one.ladders, other.ladders, strict=True):
        moves.append(abs(value - moved))
        if moves[-1] > sum(rungs[: one.steps]):
            return False
        if any(rungs[k] > others[k + one.steps] for k in range(RUNGS)):
            return False
    return not one.is_shared or sum(moves) <= one.steps * one.ladders[0][1][0]


def losses(
    tables: int,
    rows_per_unit: RowsOfPerson,
    holdings: Sequence[Holding],
    statements: Sequence[str] | None = None,
) -> Evidence:
    """The largest loss of every statement over all neighbours, against what is charged."""
    texts = statements or (TWO_TABLES if tables == TWO else THREE_TABLES)
    readings: dict[Database, list[Reading]] = {}
    plans: list[PlannedStatement] = []
    for database in databases(holdings):
        with opened(database, tables, rows_per_unit) as session:
            plans = plans or [planned(session.schema, text) for text in texts]
            readings[database] = [read(session, plan) for plan in plans]
    worst, cases = 0.0, 0
    for here, there in neighbours(holdings):
        for text, one, other in zip(texts, readings[here], readings[there], strict=True):
            cases += 1
            worst = max(worst, loss := loss_between(one, other))
            if loss > EPSILON * (1 + ROUNDING):
                pair = f"{here[1].name}, then {there[1].name}, beside {here[0].name}"
                return Evidence(False, dt.Loss(EPSILON), loss, None, cases, f"{text}: {loss:.4g} ({pair})")
    note = f"{len(texts)} statements, {worst:.4f} of {EPSILON:g}"
    return Evidence(True, dt.Loss(EPSILON), worst, EPSILON, cases, note)


# --- whose rows a join has --------------------------------------------------------------------------------------------


def by_nested_loops(database: Database) -> dict[str, Counter[Row]]:
    """(person, price, amount) of the rows of some joins, by plain loops: a key that is missing is equal to none.

    Of orders with the same number, and of rows of people with the same key, one is used for each person.
    """
    rows = rows_of(database)
    orders = [(number, who, price) for number, who, price in rows["orders"] if who is not None]
    by_number: dict[tuple[Entry, Entry], list[tuple[str, Entry]]] = {}
    for number, who, price in orders:
        by_number.setdefault((number, who), []).append((f"|{_number_text(price)}|{who}", price))
    items: list[Row] = [
        (who, _least(own), amount)
        for order, amount in rows["items"]
        for (number, who), own in by_number.items()
        if order == number
    ]
    by_key: dict[Entry, list[tuple[str, Entry]]] = {}
    for key, town, kind in rows["people"]:
        by_key.setdefault(key, []).append((f"|{kind}|{town}", town))
    listed = [key for key in by_key if key is not None]
    in_towns = [key for key in listed if any(_least(by_key[key]) == code for code, _ in TOWNS)]
    joined: dict[str, list[Row]] = {
        "orders": [(who, price, None) for _, who, price in orders],
        "orders JOIN people ON person = id": [
            (who, price, None) for _, who, price in orders for key in listed if key == who
        ],
        "items": items,
        ITEMS_OF_PEOPLE: [row for row in items for key in listed if key == row[0]],
        f"{ITEMS_OF_PEOPLE} JOIN towns ON town = code": [row for row in items for key in in_towns if key == row[0]],
    }
    return {name: Counter(each) for name, each in joined.items()}


def _number_text(number: Entry) -> str:
    """A number as engines hash it: in parts of 2^-16."""
    return str(round(number * 65536)) if isinstance(number, float) else ""


def _least(rows: Sequence[tuple[str, Entry]]) -> Entry:
    """What the row with the least hash says; rows that are hashed alike are alike."""
    return min(rows, key=lambda row: hashlib.md5(row[0].encode(), usedforsecurity=False).hexdigest())[1]


def rows_evidence(holdings: Sequence[Holding]) -> Evidence:
    """Joins have the rows of nested loops, each with its person, in every database."""
    cases = 0
    for database in databases(holdings):
        with opened(database, 3, LIMIT) as session:
            for name, expected in by_nested_loops(database).items():
                statement = parse_sql(f"SELECT count(*) FROM {name}", session.schema)  # noqa: S608
                schema = statement.schema or session.schema
                engine = engine_over(session._source.engine, schema)
                known = [engine.number(item, "real") if item in schema.columns else exp.Null() for item in READ]
                own = exp.Not(this=exp.Is(this=engine.person("", ""), expression=exp.Null()))
                query = exp.select(engine.person("", ""), *known).from_(engine.table()).where(own)
                cases += 1
                if Counter(engine.rows(query)) != _without_unread(expected, name):
                    return Evidence(False, cases=cases, note=f"{name}: other rows than nested loops have, {database}")
    return Evidence(True, cases=cases, note="the rows of nested loops")


def _without_unread(rows: Counter[Row], name: str) -> Counter[Row]:
    """Rows without the columns that a join does not name: items alone have no price."""
    if name != "items":
        return rows
    kept: Counter[Row] = Counter()
    for (who, _, amount), times in rows.items():
        kept[who, None, amount] += times
    return kept


def linked_people_checks() -> Iterator[Check]:
    """Every shape on two and on three tables, with declared limits and with limits that are drawn; and their rows."""

    def some(effort: Effort) -> Sequence[Holding]:
        return HOLDINGS[: effort.of(FEW, len(HOLDINGS))]

    for tables, named in ((TWO, "two tables"), (3, "three tables")):
        limits: dict[str, RowsOfPerson] = {"declared limits": LIMIT, "private limits": "private"}
        for kind, limit in limits.items():

            def run(effort: Effort, tables: int = tables, limit: RowsOfPerson = limit) -> Evidence:
                return losses(tables, limit, some(effort))

            yield Check("linked tables", "exhaustive", run, detail=f"{named}, {kind}", covers=COVERS, proof=PROOF)
    yield Check(
        "linked tables",
        "exhaustive",
        lambda effort: rows_evidence(some(effort)),
        detail="rows of joins",
        covers=COVERS,
        proof=PROOF,
    )


# --- broken on purpose ------------------------------------------------------------------------------------------------


def _multiplied(query: exp.Select) -> exp.Select:
    """An item goes with every order."""
    query.args["joins"][0].set("on", exp.true())
    return query


def _with_orphans(query: exp.Select) -> exp.Select:
    """Rows that lead to nobody are kept, as those of a person 0."""
    for join in query.args["joins"]:
        join.set("side", "LEFT")
    for person in (item for item in query.expressions if item.alias == "person"):
        person.set("this", exp.Coalesce(this=person.this.copy(), expressions=[literal(0)]))
    return query


def _given_to_the_last(query: exp.Select) -> exp.Select:
    """Of several people who have the same order number, the last is given its items."""
    for person in [item for item in query.expressions if item.alias == "person"]:
        order = query.args["joins"][0].args["on"].find(exp.EQ).this.copy()
        last = exp.Window(this=exp.Max(this=person.this.copy()), partition_by=[order])
        query = query.qualify(exp.EQ(this=person.this.copy(), expression=last))
    return query


@contextmanager
def _chosen_for_all() -> Iterator[None]:
    """One order for each number, whoever's it is, instead of one for each person who has it: the last one's."""
    right = ViewEngine._led

    def wrong(self: ViewEngine, ways: Sequence[tuple[_JoinedTable, exp.Expr]]) -> list[tuple[str, exp.Select]]:
        tables = right(self, ways)
        for place in (item for _, query in tables for item in query.find_all(exp.Window)):
            key, person = place.args["partition_by"]
            place.set("partition_by", [key])
            place.set("order", exp.Order(expressions=[exp.Ordered(this=person.copy(), desc=True)]))
        return tables

    with mock.patch.object(ViewEngine, "_led", wrong):
        yield


@contextmanager
def _joining(broken: Callable[[exp.Select], exp.Select]) -> Iterator[None]:
    """Joins of items, broken."""
    right = ViewEngine._joined

    def wrong(self: ViewEngine, names: set[str], fraction: float | None, led: Sequence[Instance] = ()) -> exp.Select:
        query = right(self, names, fraction, led)
        return broken(query) if self._view.instances[0].table == "items" else query

    with mock.patch.object(ViewEngine, "_joined", wrong):
        yield


@contextmanager
def _unpaid() -> Iterator[None]:
    """The whole epsilon for the noise, and the limit on top of it."""
    with (
        mock.patch("dither.queries.people._rest", lambda options, spent: options),
        mock.patch.object(PeoplePlan, "rehearse"),
    ):
        yield


def in_linked_people() -> Iterator[Check]:
    """Ways to break joins and their limits, which the audit must find."""
    count, total, by_group, *_ = THREE_TABLES
    cases: dict[str, tuple[Mutant, str]] = {
        "a join that multiplies rows": (lambda: _joining(_multiplied), count),
        "an orphan row counted": (lambda: _joining(_with_orphans), count),
        "a shared number given to one person": (lambda: _joining(_given_to_the_last), by_group),
        "one row for a number that several people have": (_chosen_for_all, by_group),
        "a limit of joined rows that is not paid for": (_unpaid, total),
    }
    for name, (broken, text) in cases.items():

        def run(effort: Effort, broken: Mutant = broken, text: str = text) -> Evidence:  # noqa: ARG001
            with broken():
                return losses(3, "private", HOLDINGS[:FEW], (text,))

        yield Check(name, "exhaustive", run, detail="linked tables", proof="audit")
