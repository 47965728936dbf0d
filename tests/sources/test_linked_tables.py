"""Linked tables: whose rows a join has, on every kind of source, against nested loops; and what is refused."""

import dataclasses
import itertools
import random
from collections import defaultdict
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp

import dither as dt
from contract.record_sources import BY_ENGINE, Place, csv_file, duckdb_table, parquet_arrow
from dither.errors import InvalidArgument, InvalidText
from dither.session.statements import plan_for
from dither.sources.engines.duckdb import DuckDB
from dither.sources.engines.factory import engine_over
from dither.sources.engines.views import ViewEngine, repeats
from dither.sources.linked_tables import LinkedTable
from dither.sources.predicates import literal
from dither.sources.schema import Schema
from dither.sql.statement import parse_sql
from linked_oracle import joined, least_by_hash, without

TYPES = {
    "people": {"id": pa.int64(), "town": pa.int64(), "kind": pa.string()},
    "orders": {"number": pa.int64(), "person": pa.int64(), "price": pa.float64()},
    "items": {"order": pa.int64(), "product": pa.string(), "amount": pa.int64(), "discount": pa.float64()},
    "towns": {"code": pa.int64(), "region": pa.string()},
    "products": {"name": pa.string(), "weight": pa.float64()},
}
KEYS = {"people": "id", "orders": "number", "towns": "code", "products": "name"}
LINKS = {
    "people": {"town": "towns"},
    "orders": {"person": "people"},
    "items": {"order": "orders", "product": "products"},
}
COLUMNS = {
    "people": {"kind": dt.Category(["a", "b"])},
    "orders": {"price": dt.Real(0, 100)},
    "items": {"amount": dt.Integer(0, 10), "discount": dt.Real(0, 1, nulls=Fraction(1, 4))},
    "towns": {"region": dt.Category(["north", "south"])},
    "products": {"weight": dt.Real(0, 8)},
}
DATABASE = {
    "people": [
        {"id": 1, "town": 10, "kind": "a"},
        {"id": 2, "town": 20, "kind": "b"},
        {"id": 3, "town": None, "kind": "a"},
        {"id": 4, "town": 99, "kind": "b"},
        {"id": 4, "town": 10, "kind": "a"},  # the key repeats
        {"id": None, "town": 10, "kind": "a"},
    ],
    "orders": [
        {"number": 100, "person": 1, "price": 10.5},
        {"number": 101, "person": 1, "price": 250.0},  # beyond its bounds
        {"number": 102, "person": 2, "price": 30.0},
        {"number": 103, "person": 4, "price": 5.25},
        {"number": 103, "person": 4, "price": 7.75},  # the key repeats
        {"number": 103, "person": 4, "price": None},
        {"number": 104, "person": 77, "price": 8.0},  # of nobody who is listed
        {"number": 105, "person": None, "price": 9.0},
        {"number": 106, "person": 3, "price": None},
        {"number": 107, "person": 3, "price": 1.0},
        {"number": 107, "person": 2, "price": 2.0},  # two people have the same number
        {"number": None, "person": 2, "price": 3.0},
    ],
    "items": [
        {"order": 100, "product": "tea", "amount": 1, "discount": 0.5},
        {"order": 100, "product": "Tea", "amount": 2, "discount": 0.25},
        {"order": 101, "product": "salt", "amount": 3, "discount": None},
        {"order": 102, "product": None, "amount": 4, "discount": 0.0},
        {"order": 103, "product": "tea", "amount": None, "discount": 1.0},
        {"order": 104, "product": "salt", "amount": 6, "discount": 0.1},
        {"order": 103, "product": "salt", "amount": 1, "discount": 0.5},
        {"order": 107, "product": "salt", "amount": 7, "discount": 0.3},
        {"order": 999, "product": "tea", "amount": 8, "discount": 0.2},  # of no order
        {"order": None, "product": "tea", "amount": 9, "discount": 0.2},
    ],
    "towns": [{"code": 10, "region": "north"}, {"code": 20, "region": "south"}],
    "products": [{"name": "tea", "weight": 0.5}, {"name": "salt", "weight": 1.0}],
}
ORDERS = ("orders", [])
ITEMS = ("items", [("items", "order", "orders", "orders", "number")])
ITEMS_OF_PEOPLE = ("items", [*ITEMS[1], ("orders", "person", "people", "people", "id")])
EVERYTHING = (
    "items",
    [
        *ITEMS_OF_PEOPLE[1],
        ("people", "town", "towns", "towns", "code"),
        ("items", "product", "products", "products", "name"),
    ],
)


def arrow_table(name, rows):
    """Rows as an Arrow table of the declared types."""
    types = TYPES[name]
    return pa.table({item: pa.array([row[item] for row in rows], kind) for item, kind in types.items()})


def linked(sources, rows_per_unit=50, **options):
    """The schema of the tables, each given as a source or as keywords of a source."""
    tables = {
        name: LinkedTable(
            **(source if isinstance(source, dict) else {"source": source}),
            columns=COLUMNS[name],
            key=KEYS.get(name),
            links=LINKS.get(name, {}),
            public=name in ("towns", "products"),
        )
        for name, source in sources.items()
    }
    return Schema.linked(tables, person="people", rows_per_unit=rows_per_unit, budget=dt.Budget(1000.0), **options)


def frames(database):
    """The tables of a database as Arrow tables."""
    return {name: arrow_table(name, rows) for name, rows in database.items()}


def centres(session, text):
    """NOT private: what the items of a statement are about, without noise: by group, one number for each item."""
    statement = parse_sql(text, session.schema)
    found = []
    for item in statement.items:
        made = plan_for(
            item.query,
            statement.schema or session.schema,
            epsilon=1.0,
            confidence=None,
            where=statement.where,
            by=list(statement.by) or None,
        )
        function = item.query.function_of(made.statistic)
        values = {}
        for key, records in session._source.groups_for_owner(made).items():
            steps = made.statistic.numbers(records)
            grids = made.statistic.answer_grids
            released = made.statistic.released([g.value(s) for g, s in zip(grids, steps, strict=True)])
            values[key] = function(released)
        found.append(values)
    return found


def number(row, name, low, high):
    """A number within its bounds; None if missing."""
    value = row[name]
    return None if value is None else min(max(value, low), high)


def price(row):
    """The price of an order."""
    return number(row["orders"], "price", 0.0, 100.0)


def amount(row):
    """The amount of an item."""
    return number(row["items"], "amount", 0, 10)


def revenue(row):
    """What ``price * amount * (1 - discount)`` is; a missing discount counts as a quarter."""
    discount = row["items"]["discount"]
    factors = price(row), amount(row)
    return None if None in factors else factors[0] * factors[1] * (1.0 - (0.25 if discount is None else discount))


def known(values):
    """Those that are not missing."""
    return [value for value in values if value is not None]


def lower_median(values):
    """The lower median."""
    ordered = sorted(known(values))
    return ordered[(len(ordered) - 1) // 2]


JOINED = (
    'items i JOIN orders o ON i."order" = o.number JOIN people p ON o.person = p.id '
    "JOIN towns ON town = code JOIN products ON product = name"
)
CASES = [
    (
        "SELECT count(*) FROM people",
        ("people", []),
        lambda rows: len([r for r in rows if r["people"]["id"] is not None]),
    ),
    ("SELECT count(*) FROM orders", ORDERS, lambda rows: len([r for r in rows if r["orders"]["person"] is not None])),
    ("SELECT count(*) FROM items", ITEMS, lambda rows: len([r for r in rows if r["orders"]["person"] is not None])),
    (
        'SELECT count(*) FROM items JOIN orders ON items."order" = orders.number JOIN people ON person = id',
        ITEMS_OF_PEOPLE,
        len,
    ),
    (
        'SELECT count(*) FROM items i, orders o, people p WHERE (i."order" = o.number) AND p.id = o.person',
        ITEMS_OF_PEOPLE,
        len,
    ),
    (
        "SELECT sum(amount) FROM items",
        ITEMS,
        lambda rows: sum(known(amount(r) for r in rows if r["orders"]["person"] is not None)),
    ),
    (
        "SELECT sum(price) FROM orders o INNER JOIN people p ON p.id = o.person",
        ("orders", [("orders", "person", "people", "people", "id")]),
        lambda rows: sum(known(map(price, rows))),
    ),
    (
        'SELECT sum(price * amount * (1 - discount)) FROM items i JOIN orders o ON i."order" = o.number',
        ITEMS,
        lambda rows: sum(known(revenue(r) for r in rows if r["orders"]["person"] is not None)),
    ),
    (
        'SELECT median(price * amount * (1 - discount)) FROM items i JOIN orders o ON i."order" = o.number',
        ITEMS,
        lambda rows: lower_median(revenue(r) for r in rows if r["orders"]["person"] is not None),
    ),
    (
        "SELECT max(amount) FROM items",
        ITEMS,
        lambda rows: max(known(amount(r) for r in rows if r["orders"]["person"] is not None)),
    ),
    (
        "SELECT min(Amount) FROM ITEMS",
        ITEMS,
        lambda rows: min(known(amount(r) for r in rows if r["orders"]["person"] is not None)),
    ),
    (
        f"SELECT avg(weight) FROM {JOINED}",
        EVERYTHING,
        lambda rows: sum(r["products"]["weight"] for r in rows) / len(rows),
    ),
    (
        f"SELECT count(*) FROM {JOINED} WHERE region = 'north' AND weight < price",
        EVERYTHING,
        lambda rows: len(
            [
                r
                for r in rows
                if r["towns"]["region"] == "north"
                and price(r) is not None
                and r["products"]["weight"] < r["orders"]["price"]
            ]
        ),
    ),
]


def expected(database, case):
    """What nested loops give."""
    _, (facts, joins), value = case
    return value(list(joined(database, facts, joins)))


def opened(sources, **options):
    """A session."""
    return dt.open(linked(sources, **options))


@pytest.fixture(params=["frames", "csv", "parquet", "database", "several databases", "mixed"])
def sources(request, tmp_path):
    """The tables in files and frames that DuckDB reads."""
    place, tables = Place(tmp_path, request.getfixturevalue), frames(DATABASE)
    if request.param == "frames":
        return tables
    if request.param == "several databases":
        return {name: duckdb_table(place, table) for name, table in tables.items()}
    if request.param == "database":
        import duckdb

        file = place.file(".duckdb")
        with duckdb.connect(str(file)) as connection:
            for name, table in tables.items():
                connection.register("given", table)
                connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
        return {name: {"source": str(file), "table": name} for name in tables}
    builders = {"csv": [csv_file], "parquet": [parquet_arrow], "mixed": [csv_file, parquet_arrow, duckdb_table]}
    each = itertools.cycle(builders[request.param])
    return {name: next(each)(place, table) for name, table in tables.items()}


@pytest.mark.sampled(1)
def test_joins_have_the_rows_of_nested_loops_in_every_file(sources):
    """Counts, sums, averages, medians and extremes of joined tables, with orphans, repeated and missing keys."""
    with opened(sources) as session:
        for case in CASES:
            assert centres(session, case[0])[0][()] == pytest.approx(expected(DATABASE, case), rel=1e-9), case[0]


@pytest.mark.sampled(1)
def test_groups_and_filters_may_be_of_any_table(sources):
    """A column of people, one of a public table, and both."""
    with opened(sources) as session:
        text = (
            'SELECT sum(amount), count(*) FROM items i JOIN orders o ON i."order" = o.number '
            "JOIN people p ON o.person = p.id JOIN towns ON town = code WHERE amount > 1 GROUP BY kind, region"
        )
        rows = list(joined(DATABASE, "items", EVERYTHING[1][:3]))
        summed, counted = centres(session, text)
        for key in itertools.product("ab", ("north", "south")):
            own = [
                amount(row)
                for row in rows
                if (row["people"]["kind"], row["towns"]["region"]) == key and (amount(row) or 0) > 1
            ]
            assert (summed[key], counted[key]) == (sum(own), len(own)), key


def relation(session, text):
    """NOT private: every row of what a statement reads, as (person, values of some columns)."""
    statement = parse_sql(text, session.schema)
    engine = engine_over(session._source.engine, statement.schema)
    values = [engine.number(name, "real") for name in statement.schema.columns]
    query = exp.select(engine.person("", ""), *values).from_(engine.table())
    return sorted(
        (row for row in engine.rows(query) if row[0] is not None),
        key=lambda row: [(item is not None, str(item)) for item in row],
    )


STATEMENTS = [
    "SELECT count(*) FROM people",
    "SELECT count(*) FROM people JOIN towns ON town = code",
    "SELECT count(*) FROM orders",
    "SELECT count(*) FROM orders JOIN people ON person = id",
    "SELECT count(*) FROM orders JOIN people ON person = id JOIN towns ON town = code",
    "SELECT count(*) FROM items",
    'SELECT count(*) FROM items JOIN orders ON "order" = number',
    'SELECT count(*) FROM items JOIN orders ON "order" = number JOIN people ON person = id',
    f"SELECT count(*) FROM {JOINED}",
]
WORLD = 1000
"""Keys of the n-th small database begin at n times this: one query then reads all of them."""


def small_databases(count, seed):
    """Databases of two to four people with keys that repeat, lead nowhere, are shared or missing."""
    chance = random.Random(seed)
    for _ in range(count):
        ids = [1, 2, 3, None]
        numbers = [10, 11, 12, None]
        yield {
            "people": [
                {"id": chance.choice(ids), "town": chance.choice([10, 20, 99, None]), "kind": chance.choice("ab")}
                for _ in range(chance.randint(0, 4))
            ],
            "orders": [
                {
                    "number": chance.choice(numbers),
                    "person": chance.choice(ids),
                    "price": chance.choice([1.0, 2.0, None]),
                }
                for _ in range(chance.randint(0, 5))
            ],
            "items": [
                {
                    "order": chance.choice(numbers),
                    "product": chance.choice(["tea", "salt", "x", None]),
                    "amount": chance.choice([1, 2, 3]),
                    "discount": 0.5,
                }
                for _ in range(chance.randint(0, 5))
            ],
        }


def in_one(databases):
    """All databases in one, with keys of their own."""
    whole = {"people": [], "orders": [], "items": [], "towns": DATABASE["towns"], "products": DATABASE["products"]}
    keys = {"people": ("id",), "orders": ("number", "person"), "items": ("order",)}
    for place, database in enumerate(databases):
        for name, columns in keys.items():
            whole[name] += [
                {**row, **{key: None if row[key] is None else row[key] + place * WORLD for key in columns}}
                for row in database[name]
            ]
    return whole


def rows_by_person(rows):
    """The rows of each person."""
    found = defaultdict(list)
    for person, *values in rows:
        found[person].append(tuple(values))
    return found


def check_one_person_is_one_person(databases, read):
    """Where one person goes with all rows, nobody else's rows change: in every statement, for every person."""
    pairs = [
        (place, person, database, without(database, person))
        for place, (database, person) in enumerate((database, person) for database in databases for person in (1, 2, 3))
    ]
    here, there = (in_one(pair[at] for pair in pairs) for at in (2, 3))
    with opened(frames(here)) as one, opened(frames(there)) as other:
        for text in STATEMENTS:
            before, after = rows_by_person(read(one, text)), rows_by_person(read(other, text))
            for place, person, *_ in pairs:
                for each in (1, 2, 3):
                    name = each + place * WORLD
                    if each == person:
                        assert not after.get(name), (text, place)
                    else:
                        assert before.get(name, []) == after.get(name, []), (text, place, each)


def test_one_person_coming_or_going_with_all_rows_changes_rows_of_no_other():
    """Three linked tables, keys of all sorts, every shape of join: 1,200 pairs of neighbours.

    A changed person is one who goes and one who comes, so this covers changes too.
    """
    check_one_person_is_one_person(list(small_databases(400, seed=1)), relation)


def multiplied(query):
    """A join that multiplies rows: an item goes with every order of the same small database."""
    for join in query.args["joins"]:
        for same in list(join.args["on"].find_all(exp.EQ)):
            same.set("this", _small(same.this))
            same.set("expression", _small(same.expression))
    return query


def with_orphans(query):
    """Rows that lead to nobody are kept, and counted as those of person 1."""
    for join in query.args["joins"]:
        join.set("side", "LEFT")
    person = next(item for item in query.expressions if item.alias == "person")
    first = query.args["joins"][0].args["on"].find(exp.EQ).this
    nobody = exp.Add(this=exp.Mul(this=_small(first), expression=literal(WORLD)), expression=literal(1))
    person.set("this", exp.Coalesce(this=person.this.copy(), expressions=[nobody]))
    return query


def given_to_the_first(query):
    """Of orders with the same number one person's alone is used: the least."""
    person = next(item for item in query.expressions if item.alias == "person")
    over = exp.Window(
        this=exp.Min(this=person.this.copy()), partition_by=[query.args["joins"][0].args["on"].find(exp.EQ).this.copy()]
    )
    return query.qualify(exp.EQ(this=person.this.copy(), expression=over))


def _small(key):
    """Which small database a key is of."""
    return exp.cast(exp.Floor(this=exp.Div(this=key.copy(), expression=literal(WORLD))), "bigint")


def test_one_row_for_each_number_whoever_has_it_is_found(monkeypatch):
    """The check above fails where rows are chosen among those of several people."""
    right = ViewEngine._led

    def wrong(self, ways):
        tables = right(self, ways)
        for place in (item for _, query in tables for item in query.find_all(exp.Window)):
            place.set("partition_by", place.args["partition_by"][:1])
        return tables

    monkeypatch.setattr(ViewEngine, "_led", wrong)
    with pytest.raises(AssertionError):
        check_one_person_is_one_person(list(small_databases(60, seed=2)), relation)


@pytest.mark.parametrize("key", ["number", "id"])
def test_nobody_has_more_rows_in_a_join_than_in_the_table_that_it_is_about(key):
    """Who repeats a number among orders and among items, or a row of people, has each item once."""
    rows = 400
    database = {
        **DATABASE,
        "people": [{"id": 1, "town": 10, "kind": "a"}] * (rows if key == "id" else 1),
        "orders": [{"number": 7, "person": 1, "price": float(at)} for at in range(rows if key == "number" else 1)],
        "items": [{"order": 7, "product": "tea", "amount": 1, "discount": 0.5}] * rows,
    }
    with opened(frames(database)) as session:
        for text in STATEMENTS[-4:]:
            assert len(relation(session, text)) == rows, text


def test_rows_are_chosen_before_any_condition():
    """Of orders with one number the same is used, whatever is asked: parts add up to the whole."""
    with opened(frames(DATABASE)) as session:
        join = 'items i JOIN orders o ON i."order" = o.number'
        parts = [centres(session, f"SELECT count(*) FROM {join} WHERE price {end}")[0][()] for end in ("<= 6", "> 6")]
        prices = [price(row) for row in joined(DATABASE, *ITEMS) if row["orders"]["person"] is not None]
        assert parts == [len([item for item in known(prices) if (item > 6) is above]) for above in (False, True)]


def test_the_order_of_a_table_decides_nothing_about_states_of_entries():
    """Of rows with the same number a text that is no number and a missing one are equal in all but their state."""
    people = range(50)
    join = "items JOIN orders ON orders.number = items.of"
    shares = []
    for texts in ((None, "n/a"), ("n/a", None)):
        tables = {
            "people": LinkedTable(pa.table({"id": people}), key="id"),
            "orders": LinkedTable(
                pa.table(
                    {
                        "number": [person for person in people for _ in texts],
                        "person": [person for person in people for _ in texts],
                        "price": [text for _ in people for text in texts],
                    }
                ),
                {"price": dt.Real(0, 100, format="1,234.56")},
                key="number",
                links={"person": "people"},
            ),
            "items": LinkedTable(pa.table({"of": people, "amount": people}), links={"of": "orders"}),
        }
        schema = Schema.linked(tables, person="people", rows_per_unit=5, budget=dt.Budget(1000.0))
        with dt.open(schema) as session:
            ways = (join, f"{join} JOIN people ON orders.person = people.id")
            shares.append([centres(session, f"SELECT quality(price) FROM {way}") for way in ways])
    assert shares[0] == shares[1]


def test_tables_that_got_a_repeated_key_are_read_anew(tmp_path):
    """Whether a key repeats is asked again as soon as a file has changed."""
    places = {name: tmp_path / f"{name}.parquet" for name in DATABASE}
    item, order = DATABASE["items"][0], DATABASE["orders"][0]
    for orders in ([order], [order, {**order, "price": 1.0}], [order]):
        for name, rows in {**DATABASE, "orders": orders, "items": [item] * 5}.items():
            pq.write_table(arrow_table(name, rows), places[name])
        with opened({name: str(place) for name, place in places.items()}) as session:
            assert centres(session, STATEMENTS[5])[0][()] == 5


@pytest.mark.slow
@pytest.mark.parametrize("written", [parquet_arrow, csv_file, duckdb_table])
def test_a_key_that_repeats_is_found_wherever_its_rows_are(written, tmp_path):
    """Rising and falling keys, in pieces that rise by themselves, whole numbers and texts, some of them missing."""
    rng, place = random.Random(5), Place(tmp_path, lambda name: None)
    lists = [[], [1], [1, 1], [1, 2], [2, 1], [None, None], [None, 1, None, 2], [1, 2, 3, 1, 2, 3], [1, None, 1]]
    lists += [[rng.choice([*range(size * 3), None]) for _ in range(size)] for size in (2, 3, 4, 5) * 4]
    for keys in lists:
        texts = [None if key is None else f"{key:>3}" for key in keys]
        for name, values in (("whole", pa.array(keys, pa.int64())), ("text", pa.array(texts, pa.string()))):
            engine = DuckDB(**written(place, pa.table({"k": values, "rest": pa.array(texts, pa.string())})))
            known = [key for key in keys if key is not None]
            assert repeats(engine, "k") == (len(set(known)) < len(known)), (name, keys)
            engine.close()


def test_a_key_that_repeats_is_found_across_parts_of_a_file_that_are_read_at_the_same_time(tmp_path, monkeypatch):
    """Each of the parts rises; keys that rise from the first row to the last are not grouped."""
    asked = []
    rows = DuckDB.rows
    monkeypatch.setattr(DuckDB, "rows", lambda self, query: asked.append(self.sql(query)) or rows(self, query))
    parts, size = 40, 5_000
    rising = list(range(parts * size))
    again = [*range(size // 2), *rising[: -(size // 2)]]
    halves = [*rising[::2], *rising[::2]]
    for place, (keys, wanted) in enumerate([(rising, False), (again, True), (halves, True), (rising[::-1], False)]):
        file = tmp_path / f"{place}.parquet"
        pq.write_table(pa.table({"k": pa.array(keys, pa.int64())}), file, row_group_size=size)
        engine = DuckDB(file, threads=4)
        asked.clear()
        assert repeats(engine, "k") is wanted
        assert any("GROUP BY" in query for query in asked) is (keys is not rising)
        engine.close()


@pytest.mark.parametrize("mutant", [multiplied, with_orphans, given_to_the_first])
def test_a_wrong_join_is_found(mutant, monkeypatch):
    """The check above fails where one person's rows multiply another's, are kept without an owner, or change owners."""
    right = ViewEngine._joined

    def wrong(self, names, fraction, led=()):
        query = right(self, names, fraction, led)
        return mutant(query) if self._view.instances[0].table == "items" else query

    monkeypatch.setattr(ViewEngine, "_joined", wrong)
    with pytest.raises(AssertionError):
        check_one_person_is_one_person(list(small_databases(60, seed=2)), relation)


def test_what_one_person_has_beyond_the_limit_is_chosen_by_a_hash_of_her_own_rows():
    """With a limit of two rows a sum is that of two rows of each person, whoever else there is."""
    with opened(frames(DATABASE), rows_per_unit=2) as session:
        rows = defaultdict(list)
        for row in joined(DATABASE, *ITEMS):
            if row["orders"]["person"] is not None and amount(row) is not None:
                rows[row["orders"]["person"]].append(amount(row))
        kept = [one for person, own in rows.items() for one in least_by_hash(own, person, 2, str)]
        assert any(len(own) > 2 for own in rows.values())
        assert centres(session, "SELECT sum(amount) FROM items")[0][()] == sum(kept)


def test_columns_without_a_join_of_their_own_are_joined_along_the_links():
    """In Python the tables follow from the columns; rows without columns are people."""
    with opened(frames(DATABASE)) as session:
        by_region = dt.inspect.value(dt.Sum("amount"), session, by="region")
        rows = [row for row in joined(DATABASE, "items", EVERYTHING[1][:3]) if amount(row) is not None]
        for region in ("north", "south"):
            assert by_region[region,] == sum(amount(row) for row in rows if row["towns"]["region"] == region)
        assert dt.inspect.value(dt.Count(), session) == 5
        summed = dt.inspect.value(dt.Sum("price * (1 - discount)"), session, where="kind = 'a'")
        own = [
            row for row in joined(DATABASE, *ITEMS_OF_PEOPLE) if row["people"]["kind"] == "a" and price(row) is not None
        ]
        assert summed == pytest.approx(
            sum(price(r) * (1 - (0.25 if r["items"]["discount"] is None else r["items"]["discount"])) for r in own)
        )


PEOPLE_COUNTED = [
    ("SELECT count(DISTINCT people.id) FROM people", 4),
    ("SELECT count(DISTINCT id) FROM people", 4),
    ("SELECT count(DISTINCT o.Person) FROM orders o", 5),
    ("SELECT count(DISTINCT person) FROM orders", 5),
    ("SELECT count(DISTINCT p.id) FROM orders JOIN people p ON person = id", 4),
    ("SELECT count(DISTINCT orders.person) FROM orders JOIN people p ON person = id", 4),
    ('SELECT count(DISTINCT person) FROM items JOIN orders ON "order" = number WHERE amount > 1', 4),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("text", "people"), PEOPLE_COUNTED)
@pytest.mark.parametrize("limit", [1, "private"])
def test_people_are_counted_by_their_key_or_by_what_refers_to_it(text, people, limit):
    """At epsilon 50 the noise is 0 but for a chance of 1e-21; no row limit matters."""
    with opened(frames(DATABASE), rows_per_unit=limit) as session:
        assert session.sql(text, epsilon=50.0).value == people


@pytest.mark.parametrize("column", ["orders.number", "number", "people.town", "towns.code", "x.id", '"ID"', "kind"])
def test_nothing_else_is_counted_distinct(column):
    """Other keys are those of several people."""
    with opened(frames(DATABASE)) as session:
        joined_tables = "orders JOIN people ON person = id JOIN towns ON town = code"
        with pytest.raises(InvalidText, match="DISTINCT"):
            session.sql(f"SELECT count(DISTINCT {column}) FROM {joined_tables}", epsilon=1.0)


def test_a_public_table_may_be_joined_twice():
    """Under two names: towns of people, and towns of shops."""
    shops = pa.table({"shop": pa.array([1, 2]), "place": pa.array([20, 10])})
    sales = pa.table({"who": pa.array([1, 1, 2]), "where": pa.array([1, 2, 1]), "paid": pa.array([5.0, 6.0, 7.0])})
    tables = {
        "people": LinkedTable(arrow_table("people", DATABASE["people"]), {}, key="id", links={"town": "towns"}),
        "sales": LinkedTable(sales, {"paid": dt.Real(0, 10)}, links={"who": "people", "where": "shops"}),
        "shops": LinkedTable(shops, {}, key="shop", links={"place": "towns"}, public=True),
        "towns": LinkedTable(arrow_table("towns", DATABASE["towns"]), COLUMNS["towns"], key="code", public=True),
    }
    with dt.open(Schema.linked(tables, person="people", rows_per_unit=9, budget=dt.Budget(9.0))) as session:
        text = (
            'SELECT sum(paid) FROM sales JOIN people ON who = id JOIN shops ON sales."where" = shop '
            "JOIN towns home ON home.code = people.town JOIN towns AS away ON shops.place = away.code "
            "WHERE home.region = 'north' GROUP BY away.region"
        )
        assert centres(session, text)[0] == {("north",): 6, ("south",): 5}
        with pytest.raises(InvalidText, match="several columns have this name"):
            session.sql(text.replace("home.region", "region"), epsilon=1.0)
        with pytest.raises(InvalidArgument, match="several ways"):
            session.ask(dt.Sum("paid"), where="region = 'north'", epsilon=1.0)


REFUSED = [
    ('SELECT count(*) FROM items LEFT JOIN orders ON "order" = number', "LEFT", "a left join is not offered"),
    ("SELECT count(*) FROM (SELECT * FROM items)", "SELECT", "a subquery is not offered"),
    ('SELECT count(*) FROM items JOIN people ON "order" = id', '"order" = id', "no declared key"),
    (
        'SELECT count(*) FROM items JOIN orders ON "order" = number AND price > 2',
        '"order" = number AND price > 2',
        "no declared key",
    ),
    ("SELECT count(*) FROM items, people", "people", "is not joined with items"),
    ("SELECT count(*) FROM towns", "towns", "this table is public"),
    (
        "SELECT count(*) FROM orders AS one JOIN orders AS two ON one.number = two.number",
        "one.number = two.number",
        "no declared key",
    ),
    ("SELECT count(*) FROM nothing", "nothing", "unknown table"),
    ('SELECT count(*) FROM "Items"', '"Items"', "unknown table"),
    ("SELECT count(*) FROM items AS people", "people", "is another table"),
    ("SELECT count(*) FROM orders JOIN orders ON person = id", "orders", "two tables are called orders"),
    ("SELECT sum(price) FROM items", "price", "unknown column"),
    ("SELECT sum(amount / discount) FROM items", "discount", "divide by a number"),
    ("SELECT sum(kind * 2) FROM people", "kind * 2", "of type category"),
    ("SELECT sum(amount * oops) FROM items", "oops", "unknown column"),
    ("SELECT count(*) FROM orders JOIN people USING (number)", "number", "no declared key"),
    ("SELECT count(*) FROM orders CROSS JOIN people", "CROSS", "a cross join is not offered"),
    ("SELECT count(*) FROM orders NATURAL JOIN people", "NATURAL", "a natural join is not offered"),
    ("SELECT count(*) FROM orders ORDER BY price", "ORDER BY", "is about groups"),
    ("SELECT kind, count(*) FROM people GROUP BY kind HAVING sum(price) > 1", "price", "unknown column"),
    ("SELECT kind, count(*) FROM people GROUP BY kind ORDER BY region", "region", "unknown column"),
    ("SELECT kind, count(*) FROM people GROUP BY kind LIMIT many", "many", "whole number"),
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("text", "word", "reason"), REFUSED)
def test_what_is_not_offered_is_refused_at_its_word(text, word, reason):
    """Nothing is charged, and the error points at the word."""
    with opened(frames(DATABASE)) as session:
        with pytest.raises(InvalidText, match=reason) as refused:
            session.sql(text, epsilon=1.0)
        assert text[refused.value.start : refused.value.end] == word
        assert session.history == []


def test_declarations_without_an_owner_for_each_row_are_refused():
    """Cycles, links to the table itself, two owners, no owner, public tables of people."""

    def tables(**changes):
        built = {
            name: {
                "source": None,
                "key": KEYS.get(name),
                "links": LINKS.get(name, {}),
                "public": name in ("towns", "products"),
            }
            for name in TYPES
        }
        for name, change in changes.items():
            built.setdefault(name, {"source": None})
            built[name] = {**built[name], **change}
        return {name: LinkedTable(columns=COLUMNS.get(name, {}), **fields) for name, fields in built.items()}

    for changes, argument, reason in (
        ({"people": {"links": {"town": "towns", "boss": "orders"}}}, "tables.orders.links.person", "go round"),
        ({"people": {"links": {"boss": "people"}}}, "tables.people.links.boss", "refers to itself"),
        ({"orders": {"links": {}}}, "tables.orders.links", "belong to nobody"),
        ({"items": {"links": {"order": "orders", "person": "people"}}}, "tables.items.links.person", "two people"),
        ({"people": {"public": True}}, "tables.people.public", "not public"),
        ({"people": {"key": None}}, "tables.people.key", "missing"),
        ({"towns": {"links": {"mayor": "people"}}}, "tables.towns.links.mayor", "can't refer to rows of people"),
        ({"orders": {"links": {"person": "peopel"}}}, "tables.orders.links.person", "did you mean people"),
        ({"towns": {"key": None}}, "tables.people.links.town", "has no key"),
        ({"Items": {"public": True}}, "tables", "two tables have this name"),
    ):
        with pytest.raises(InvalidArgument, match=reason) as refused:
            Schema.linked(tables(**changes), person="people", rows_per_unit=1)
        assert refused.value.argument == argument
    with pytest.raises(InvalidArgument, match="one of the tables"):
        Schema.linked(tables(), person="nobody", rows_per_unit=1)


def test_keys_of_other_types_than_texts_and_whole_numbers_are_refused_before_anything_is_read():
    """Reals are equal to reals that were computed otherwise, or not: they tell nobody apart."""
    for name, item in (("people", "id"), ("orders", "person")):
        tables = frames(DATABASE)
        place = tables[name].column_names.index(item)
        tables[name] = tables[name].set_column(place, item, tables[name].column(item).cast(pa.float64()))
        with pytest.raises(InvalidArgument, match="texts or whole numbers") as refused:
            opened(tables)
        assert refused.value.argument.startswith(f"tables.{name}.")


def test_a_text_and_a_whole_number_are_the_same_key_where_they_are_written_alike():
    """'007' is another key than 7; and whose a row is does not depend on how other rows are written."""
    tables = frames(DATABASE)
    numbers = ["1", "1", "02", "4", "4", "4", None, " 3", "3", "x", "2", "2"]
    tables["orders"] = tables["orders"].set_column(1, "person", pa.array(numbers))
    with opened(tables) as session:
        (counted,) = centres(session, "SELECT count(*) FROM orders JOIN people ON person = id GROUP BY kind")
        assert counted == {("a",): 6, ("b",): 2}  # of the two rows of person 4 that of kind a is used


def test_a_key_that_repeats_in_a_public_table_is_refused():
    """A public fact, so an error that points at the key."""
    tables = frames(DATABASE)
    tables["towns"] = pa.concat_tables([tables["towns"], tables["towns"]])
    with pytest.raises(InvalidArgument, match="repeats in the public table") as refused:
        opened(tables)
    assert refused.value.argument == "tables.towns.key"


def test_who_owns_a_row_is_settled_when_a_dataset_is_registered(tmp_path):
    """The ledger keeps the links that lead to people; with others the dataset is refused."""
    before, tables = linked(frames(DATABASE), name="shop"), frames(DATABASE)
    dt.open(before, ledger=tmp_path / "shop.ledger").close()
    tables["items"] = tables["items"].append_column("buyer", pa.array([1] * len(DATABASE["items"])))
    changed = {**linked(tables).tables}
    changed["items"] = dataclasses.replace(changed["items"], links={"buyer": "people"})
    other = Schema.linked(changed, person="people", rows_per_unit=50, name="shop", budget=dt.Budget(1000.0))
    with pytest.raises(dt.errors.DitherError, match="items"):
        dt.open(other, ledger=tmp_path / "shop.ledger")
    # The column that a link refers to decides it too.
    tables["orders"] = tables["orders"].append_column("other", pa.array(range(len(DATABASE["orders"]))))
    changed = {**linked(tables).tables}
    changed["orders"] = dataclasses.replace(changed["orders"], key="other")
    other = Schema.linked(changed, person="people", rows_per_unit=50, name="shop", budget=dt.Budget(1000.0))
    with pytest.raises(dt.errors.DitherError, match=r"orders\.other"):
        dt.open(other, ledger=tmp_path / "shop.ledger")


def test_names_that_look_like_sql_are_names(tmp_path):
    """Quotes, brackets and statements in the names of tables, keys, columns and values reach an engine as names."""
    odd = 'x"; DROP TABLE y; --'
    person = pa.table({odd: pa.array([1, 2]), "kind'": pa.array(["a'b", "c"])})
    rows = pa.table({"o'": pa.array([1, 1, 2]), f"{odd} ": pa.array([1.0, 2.0, 3.0])})
    tables = {
        odd: LinkedTable(person, {"kind'": dt.Category(["a'b", "c"])}, key=odd),
        "rows": LinkedTable(rows, {f"{odd} ": dt.Real(0, 10)}, links={"o'": odd}),
    }
    with dt.open(Schema.linked(tables, person=odd, rows_per_unit=5, budget=dt.Budget(9.0))) as session:
        quoted = '"' + odd.replace('"', '""') + '"'
        value = '"' + f"{odd} ".replace('"', '""') + '"'
        text = f"SELECT sum({value}) FROM rows JOIN {quoted} AS p ON \"o'\" = p.{quoted} WHERE \"kind'\" = 'a''b'"
        assert centres(session, text)[0][()] == 3
        assert centres(session, f"SELECT sum({value} * 2) FROM rows")[0][()] == 12


def test_a_table_of_a_database_is_no_frame_of_the_same_name(tmp_path):
    """Frames have names of our own in the connection, and none of them stands for a table of a file."""
    import duckdb

    file = tmp_path / "people.duckdb"
    for name in ("source", "source_1", "dither_lines_1", "dither_view"):
        with duckdb.connect(str(file)) as connection:
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM (VALUES (1, 5.0), (2, 6.0)) AS t(id, pay)")
        rows = pa.table({"id": pa.array([1, 1]), "pay": pa.array([50.0, 70.0])})
        tables = {
            "people": LinkedTable(str(file), {"pay": dt.Real(0, 100)}, key="id", table=name),
            "rows": LinkedTable(rows, {"pay": dt.Real(0, 100)}, links={"id": "people"}),
        }
        with dt.open(Schema.linked(tables, person="people", rows_per_unit=5, budget=dt.Budget(9.0))) as session:
            assert centres(session, "SELECT sum(pay) FROM people")[0][()] == 11
            assert centres(session, "SELECT sum(pay) FROM rows")[0][()] == 120


def test_the_same_statement_is_answered_from_the_ledger_and_another_join_is_not():
    """Which tables are joined is part of a question."""
    with opened(frames(DATABASE)) as session:
        texts = [
            "SELECT count(*) FROM orders",
            "SELECT count(*) FROM orders JOIN people ON person = id",
            "SELECT count(*) FROM items",
        ]
        for text in texts:
            session.sql(text, epsilon=1.0)
        assert session.budget.spent.epsilon == 3.0
        session.sql("select COUNT(*) from ORDERS o join people AS o2 on o2.ID = o.Person", epsilon=1.0)
        assert len({str(item.question) for item in session.history}) == len(session.history)


def test_one_statement_reads_the_tables_once_for_each_pass_and_fetches_totals_only(monkeypatch):
    """A count by groups of joined tables is one query, whose result has a row for each group."""
    with opened(frames(DATABASE)) as session:
        asked = []
        rows, arrays = (getattr(ViewEngine, name) for name in ("rows", "arrays"))

        def noted(method):
            def read(self, query):
                result = method(self, query)
                asked.append((self.sql(self._filled(query)), len(result) if method is rows else len(result[0])))
                return result

            return read

        monkeypatch.setattr(ViewEngine, "rows", noted(rows))
        monkeypatch.setattr(ViewEngine, "arrays", noted(arrays))
        text = (
            'SELECT region, sum(amount) FROM items i JOIN orders o ON i."order" = o.number '
            "JOIN people p ON o.person = p.id JOIN towns ON town = code GROUP BY region"
        )
        session.sql(text, epsilon=1.0)
        fetched = [item for item in asked if "items" in str(session.schema.tables) and "JOIN" in item[0]]
        assert len(fetched) == 1
        assert fetched[0][1] <= 2


def test_groups_that_are_released_are_sorted_cut_and_filtered_after_the_release():
    """ORDER BY, HAVING and LIMIT choose among what is released; the loss and the stored answer are the same."""
    with opened(frames(DATABASE)) as session:
        text = "SELECT kind, count(*) AS n, sum(price) AS total FROM orders JOIN people ON person = id GROUP BY kind"
        whole = session.sql(text, epsilon=100.0)
        spent = session.budget.spent
        values = {release.group["kind"]: release.value for release in whole if release.alias == "n"}
        for ending, wanted in (
            (" ORDER BY n", sorted(values, key=lambda kind: values[kind])),
            (" ORDER BY n DESC", sorted(values, key=lambda kind: -values[kind])),
            (" ORDER BY kind DESC LIMIT 1", ["b"]),
            (" ORDER BY kind LIMIT 1 OFFSET 1", ["b"]),
            (" HAVING count(*) > 1000000", []),
            (" HAVING n > -1 AND total >= -1 ORDER BY 2, kind", sorted(values, key=lambda kind: (values[kind], kind))),
            (" ORDER BY 1 DESC", sorted(values, reverse=True)),
        ):
            answered = session.sql(text + ending, epsilon=100.0)
            names = [release.group["kind"] for release in answered if release.alias == "n"]
            assert names == wanted, ending
            assert all(release in whole for release in answered)
        assert session.budget.spent == spent


INSPECTED = [
    (dt.Sum("price * amount"), {"where": "kind = 'a'"}),
    (dt.Sum("amount"), {"by": "kind"}),
    (dt.Median("price"), {}),
    (dt.Count(people=True), {"where": "amount > 1"}),
    (dt.Count(people=True), {"where": "price >= 0", "by": "kind"}),
]


def test_of_private_limits_all_rows_are_inspected_and_no_ladders():
    """The values of everybody's rows; how many of them count is drawn by each answer."""
    with opened(frames(DATABASE), rows_per_unit="private") as session:
        rows = [row for row in joined(DATABASE, *ITEMS_OF_PEOPLE) if amount(row) is not None]
        by_kind = dt.inspect.value(dt.Sum("amount"), session, by="kind")
        for kind in "ab":
            assert by_kind[kind,] == sum(amount(row) for row in rows if row["people"]["kind"] == kind)
        ordered = {row["person"] for row in DATABASE["orders"] if row["price"] is not None} - {None}
        assert dt.inspect.value(dt.Count(people=True), session, where="price >= 0") == len(ordered)
        with pytest.raises(InvalidArgument, match="values alone can be inspected"):
            dt.inspect.ladder(dt.Sum("amount"), session)


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_the_same_centres_on_every_engine(request, tmp_path_factory):
    """DuckDB, PostgreSQL, Spark and SQLite: every statement has the same rows and the same numbers."""
    place = Place(tmp_path_factory.mktemp("linked"), request.getfixturevalue)
    found = {}
    for name, build in BY_ENGINE.items():
        sources = {table: build(place, arrow_table(table, rows)) for table, rows in DATABASE.items()}
        if name == "sqlite":
            sources = _in_one_file(place, sources)
        with opened({table: {**source, "engine": name} for table, source in sources.items()}) as session:
            found[name] = [centres(session, case[0])[0][()] for case in CASES]
            text = f"SELECT count(*), sum(price * amount) FROM {JOINED} WHERE price > amount GROUP BY kind"
            found[name].append(centres(session, text))
        private = {"rows_per_unit": "private"}
        with opened({table: {**source, "engine": name} for table, source in sources.items()}, **private) as session:
            found[name] += [dt.inspect.value(query, session, **options) for query, options in INSPECTED]
            # In one snapshot, with totals that the engine keeps, of rows that are chosen.
            answers = session.sql(f"SELECT kind, count(*), sum(amount) FROM {JOINED} GROUP BY kind", epsilon=1.0)
            assert [release.group["kind"] for release in answers] == ["a", "b", "a", "b"], name
    assert found["duckdb"][: len(CASES)] == [pytest.approx(expected(DATABASE, case), rel=1e-9) for case in CASES]
    for name, numbers in found.items():
        assert numbers == found["duckdb"], name


def _in_one_file(place, sources):
    """The tables of several SQLite files in one."""
    import sqlite3

    file = place.file(".sqlite")
    with sqlite3.connect(file) as connection:
        for table, source in sources.items():
            connection.execute("ATTACH ? AS other", (source["source"],))
            types = ", ".join(f'"{item}" {_sqlite(kind)}' for item, kind in TYPES[table].items())
            connection.execute(f'CREATE TABLE "{table}" ({types})')
            connection.execute(f'INSERT INTO "{table}" SELECT * FROM other."{source["table"]}"')
            connection.commit()
            connection.execute("DETACH other")
    return {table: {"source": str(file), "table": table} for table in sources}


def _sqlite(kind):
    return {pa.int64(): "INTEGER", pa.float64(): "REAL", pa.string(): "TEXT"}[kind]
