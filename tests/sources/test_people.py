"""What each person has, on every engine: totals, limits and chosen rows against plain Python."""

import hashlib
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp

import dither as dt
from dither.sources.engines.duckdb import DuckDB
from dither.sources.engines.postgres import Postgres
from dither.sources.engines.spark import Spark
from dither.sources.engines.sqlite import SQLite
from dither.sources.grid import BIT, Grid
from dither.sources.people import MOST_TOTAL, PARTS, PeopleRecords, below_limit
from dither.sources.predicates import parse_filter
from dither.sources.schema import Schema
from dither.sources.selection import Selection
from dither.sources.windows import EngineColumns, SharedReading, binned_numbers

GROUPS = ["a", "b", "c"]
COLUMNS = {
    "x": dt.Real(-50, 1000, nulls="drop"),
    "y": dt.Real(None, None),
    "g": dt.Category(GROUPS),
    "k": dt.Integer(0, 5),
}
LIMITS = (1, 2, 3, 4, 6, 8, 12)


def table_of(seed, rows=300):
    """People with none to many rows, rows of nobody, odd numbers and groups that are not declared."""
    rng = np.random.default_rng(seed)
    who = [None if v < 0.03 else int(v * v * rows / 4) for v in rng.random(rows)]
    odd = [np.nan, np.inf, -np.inf, 1e300, 5e-324, -0.0, 0.5 + 2.0**-40]
    x = [
        None if v < 0.05 else float(rng.choice(odd)) if v < 0.15 else float(rng.normal(80, 120))
        for v in rng.random(rows)
    ]
    y = [None if abs(v) < 0.1 else float(v) if abs(v) < 2 else math.copysign(1e14, v) for v in rng.normal(0, 1, rows)]
    g = [None if v < 0.04 else str(rng.choice([*GROUPS, "other"])) for v in rng.random(rows)]
    k = [None if v < 0.04 else float(rng.choice([0, 1, 2, 5, 1.5])) for v in rng.random(rows)]
    types = {"u": pa.int64(), "x": pa.float64(), "y": pa.float64(), "g": pa.string(), "k": pa.float64()}
    return pa.table(
        {name: pa.array(column, types[name]) for name, column in zip(types, (who, x, y, g, k), strict=True)}
    )


def schema_of(table, limit="private"):
    """The table, with people who own any number of rows, or of whom so many count."""
    return Schema(table, COLUMNS, unit="u", rows_per_unit=limit)


def owned(table, column, grid, *, by=False, where=lambda row: True):
    """Plain Python: the steps of each person, in each group."""
    result = {}
    for row in table.to_pylist():
        value = row[column] if column else 1.0
        if row["u"] is None or not where(row) or (by and row["g"] not in GROUPS):
            continue
        if value is None or math.isnan(value):
            if column == "x":
                continue
            value = 0.0
        steps = 1 if column is None else int(grid.quantise(np.array([value]), 0)[0])
        result.setdefault(row["u"], {}).setdefault(row["g"] if by else None, []).append(steps)
    return result


def scaled(vector, limit, parts):
    """A person's totals within a limit: the same doubles as engines compute."""
    size = sum(map(abs, vector))
    if size <= limit:
        return [parts * item for item in vector]
    share = below_limit(limit) * parts / float(size)
    return [int(math.copysign(max(round(abs(item) * share - 0.5), 0), item)) for item in vector]


@pytest.mark.parametrize(
    ("grid", "missing"),
    [
        (Grid(Fraction(1, 1 << 16), -(1 << 51), 1 << 51), 0),
        (Grid(Fraction(1), -50, 1000), 7),
        (Grid(Fraction(1, 10), -3, 3), -3),
    ],
)
def test_steps_of_a_column_are_rounded_clamped_and_filled_as_by_the_grid(engines_of, grid, missing):
    """At the ends, beyond them, at ties, and where there is no value."""
    size = float(grid.step)
    ends = [end * size for end in grid.ends]
    near = [math.nextafter(end, toward) for end in ends for toward in (-math.inf, math.inf)]
    numbers = [*ends, *near, -1e300, 1e300, 0.0, -0.0, 0.5 * size, 1.5 * size, -0.5 * size, size / 3, None]
    table = pa.table({"y": pa.array(numbers, pa.float64())})
    wanted = grid.quantise(np.array([math.nan if number is None else number for number in numbers]), missing)
    for name, engine in engines_of(table).items():
        selection = Selection(engine, Schema(table, {"y": COLUMNS["y"]}))
        steps = selection.filled_steps(exp.column("y"), grid, missing * size)
        found = [int(row[0]) for row in engine.rows(exp.select(steps).from_(engine.table()))]
        assert sorted(found) == sorted(wanted.tolist()), name


@pytest.mark.slow
@pytest.mark.parametrize("column", [None, "x", "y"])
def test_totals_of_people_are_those_of_plain_python_on_every_engine(engines_of, column):
    """People above limits, clamped and scaled totals, weighted rows; with and without groups and a filter."""
    table = table_of(1)
    schema = schema_of(table)
    grid = {None: BIT, "x": Grid(Fraction(1), -50, 1000), "y": Grid(Fraction(1, 1 << 16), -(1 << 51), 1 << 51)}[column]
    limits = LIMITS if column is None else tuple(40 << exponent for exponent in range(0, 50, 3))
    limit = limits[2]
    everyone = owned(table, column, grid)
    totals = [sum(rows[None]) for rows in everyone.values()]
    assert all(abs(total) < MOST_TOTAL for total in totals)
    sizes = [len(rows[None]) for rows in everyone.values()]
    few = owned(table, column, grid, where=lambda row: row["k"] is not None and row["k"] >= 2)
    grouped = [[sum(rows.get(group, ())) for group in GROUPS] for rows in owned(table, column, grid, by=True).values()]
    parts = PARTS if column is None else 1
    vectors = [scaled(vector, limit, parts) for vector in grouped]
    assert all(sum(map(abs, vector)) <= limit * parts for vector in vectors)
    for name, engine in engines_of(table).items():
        whole = PeopleRecords(Selection(engine, schema), column, grid, 0)
        above, below = whole.totals_above(limits)
        assert above == [sum(total > item for total in totals) for item in limits], name
        assert below == [sum(-total > item for total in totals) for item in limits], name
        assert whole.rows_above(LIMITS) == [sum(size > item for size in sizes) for item in LIMITS], name
        assert whole.people() == len(everyone), name
        assert whole.totals_within(7, limit) == [sum(max(min(total, limit), -7) for total in totals)], name
        if column is not None:
            low = grid.ends[0]
            weighted = whole.weighted(3)
            shifted = [(len(rows[None]), sum(rows[None]) - low * len(rows[None])) for rows in everyone.values()]
            lower = [
                part if rows <= 3 else max(round(float(part) * (below_limit(3) / float(rows)) - 0.5), 0)
                for rows, part in shifted
            ]
            assert weighted.records == sum(min(rows, 3) for rows, _ in shifted), name
            assert weighted.sum == sum(lower) + low * weighted.records, name
        by_group = PeopleRecords(Selection(engine, schema, None, ("g",)), column, grid, 0)
        assert by_group.totals_within(limit, limit, parts) == [sum(part) for part in zip(*vectors, strict=True)], name
        lengths = [sum(map(abs, vector)) for vector in grouped]
        assert by_group.totals_above(limits)[0] == [sum(length > item for length in lengths) for item in limits], name
        filtered = PeopleRecords(Selection(engine, schema, parse_filter("k >= 2", schema)), column, grid, 0)
        assert filtered.people() == len(few), name
        engine.close()


def test_each_person_counts_once_in_each_group(engines_of):
    """However many rows they have there."""
    table = table_of(2)
    groups = [set(rows) for rows in owned(table, None, BIT, by=True).values()]
    for engine in engines_of(table).values():
        people = PeopleRecords(Selection(engine, schema_of(table), None, ("g",)), None, BIT, 0, presence=True)
        assert people.totals_within(0, 3) == [sum(group in own for own in groups) for group in GROUPS]
        engine.close()


def test_totals_far_beyond_all_limits_are_no_error(engines_of):
    """A person with many of the largest rows is above every limit, on every engine."""
    rows = 5_000
    table = pa.table(
        {
            "u": ["one"] * rows + ["two"],
            "y": [1e300] * rows + [-1e300],
            "x": [1.0] * (rows + 1),
            "g": ["a"] * (rows + 1),
            "k": [1.0] * (rows + 1),
        }
    )
    grid = Grid(Fraction(1, 1 << 16), -(1 << 51), 1 << 51)
    for name, engine in engines_of(table).items():
        people = PeopleRecords(Selection(engine, schema_of(table)), "y", grid, 0)
        assert people.totals_above((1, MOST_TOTAL - 1)) == ([1, 1], [1, 0]), name
        assert people.totals_within(5, MOST_TOTAL) == [MOST_TOTAL - 5], name
        by_group = PeopleRecords(Selection(engine, schema_of(table), None, ("g",)), "y", grid, 0)
        assert by_group.totals_above((MOST_TOTAL - 1,))[0] == [1], name
        engine.close()


@pytest.mark.slow
def test_totals_beyond_all_limits_in_several_groups_are_scaled_by_all_of_them(engines_of):
    """One person has the largest total in each of three groups: all together keep one limit, not three."""
    rows = 600
    table = pa.table(
        {
            "u": ["one"] * (3 * rows),
            "y": [1e300] * (2 * rows) + [-1e300] * rows,
            "x": [1.0] * (3 * rows),
            "g": [group for group in GROUPS for _ in range(rows)],
            "k": [1.0] * (3 * rows),
        }
    )
    grid = Grid(Fraction(1, 1 << 16), -(1 << 51), 1 << 51)
    for name, engine in engines_of(table).items():
        people = PeopleRecords(Selection(engine, schema_of(table), None, ("g",)), "y", grid, 0)
        assert people.totals_above((MOST_TOTAL,))[0] == [1], name
        for limit in (100, 1 << 40, MOST_TOTAL):
            within = people.totals_within(limit, limit)
            assert limit * 0.9 <= sum(map(abs, within)) <= limit, (name, limit)
            assert within[0] == within[1] == -within[2], (name, limit)
        engine.close()


def test_every_shape_is_answered_on_every_engine(engines_of):
    """Through a session: people's totals, and rows that are kept after a limit was drawn, in one snapshot."""
    table = table_of(6)
    for name, engine in engines_of(table).items():
        schema = Schema(table, COLUMNS, unit="u", rows_per_unit="private", budget=dt.Budget(1e3, 0.1), name=name)
        with dt.Session(schema, engine=engine) as session:
            for query, by in (
                (dt.Count(), None),
                (dt.Count(people=True), "g"),
                (dt.Sum("y"), "g"),
                (dt.Mean("x"), None),
                (dt.Median("x"), None),
                (dt.Median("x"), "g"),
            ):
                answered = session.ask(query, epsilon=2.0, by=by)
                assert len(answered) == len(GROUPS) if by else answered.query, (name, query)


def kept(rows, limit, secret, payload, names):
    """Plain Python: of each person the rows with the least hash, ties by what is read."""
    people = {}
    for row in rows:
        people.setdefault(row["u"], []).append(row)

    def order(row):
        text = "|".join([secret + str(row["u"]), *payload(row)])
        return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(), [row[name] for name in names]

    return [row for own in people.values() for row in sorted(own, key=order)[:limit]]


@pytest.mark.parametrize("limit", [1, 3])
def test_rows_are_chosen_by_the_same_hash_on_every_engine(engines_of, limit):
    """Steps of a bounded column, and bins of numbers, whose texts differ between engines, against plain Python."""
    table, secret = table_of(3), "key"
    grid = COLUMNS["x"].grid
    known = [
        row for row in table.to_pylist() if row["u"] is not None and row["x"] is not None and not math.isnan(row["x"])
    ]
    for row in known:
        row["steps"] = int(grid.quantise(np.array([row["x"]]), 0)[0])
        row["x"] = float(np.clip(row["x"], -np.finfo(float).max, np.finfo(float).max))
    chosen = kept(known, limit, secret, lambda row: [str(row["steps"])], ["x"])
    expected = sorted(row["steps"] for row in chosen)

    def parts(row):
        inside = min(max(row["x"], -(2.0**51)), 2.0**51)
        whole = round(inside)
        return [str(whole), str(round((inside - whole) * 2.0**30))]

    binned = kept(known, limit, secret, parts, ["x"])
    cuts = (-100.0, 0.0, 50.0, 100.0, 500.0)
    counts = np.histogram(np.clip([row["x"] for row in binned], cuts[0], cuts[-1]), bins=cuts)[0].tolist()
    for name, engine in engines_of(table).items():
        selection = Selection(engine, schema_of(table, limit), secret=secret)
        data = EngineColumns(selection, "x", grid, 0, None).each()[0]
        assert sorted(data.values.tolist()) == expected, name
        (bins,) = binned_numbers(selection, "x", cuts, 0.0)
        assert list(bins.counts) == counts, name
        engine.close()


def test_the_order_of_a_table_decides_nothing():
    """Any order of the rows, copies of rows included, keeps the same rows of each person; another key keeps others."""
    table = table_of(4)
    table = pa.concat_tables([table, table.slice(0, 100)])

    def chosen(rows, secret):
        selection = Selection(DuckDB(rows), schema_of(rows, 2), secret=secret)
        streamed = selection.engine.stream(*selection.tuples(["x", "y", "k"]))
        return sorted(tuple(row.values()) for batch in streamed for row in batch.to_pylist())

    here = chosen(table, "one")
    shuffled = table.take(np.random.default_rng(0).permutation(table.num_rows))
    assert chosen(shuffled, "one") == here
    assert chosen(shuffled, "two") != here


@pytest.mark.slow
@pytest.mark.parametrize(("by", "where"), [((), "y > 0"), (("g",), None)])
def test_totals_that_a_statement_keeps_are_those_of_every_pass_by_itself(engines_of, by, where, monkeypatch):
    """Columns that are read together, rows and people: the same numbers, on every engine, which keeps them."""
    table = table_of(5)
    schema = schema_of(table)
    predicate = None if where is None else parse_filter(where, schema)
    wide, unbounded = Grid(Fraction(1), -50, 1000), Grid(Fraction(1, 1 << 16), -(1 << 51), 1 << 51)
    reads = [(None, BIT, False), (None, BIT, True), ("y", unbounded, False), ("y", wide, False), ("x", wide, False)]
    for name, engine in engines_of(table).items():
        selection = Selection(engine, schema, predicate, by)
        kept = []
        monkeypatch.setattr(type(engine), "kept", _noted(type(engine).kept, kept))
        reading = SharedReading()
        shared = [
            PeopleRecords(selection, item, grid, 0, presence=each, kept=reading.people(selection, item))
            for item, grid, each in reads
        ]
        alone = [PeopleRecords(selection, item, grid, 0, presence=each) for item, grid, each in reads]
        with engine.snapshot():
            for one, other in zip(shared, alone, strict=True):
                assert [one.people(), one.rows_above(LIMITS), one.totals_above(LIMITS), one.totals_within(40, 40)] == [
                    other.people(),
                    other.rows_above(LIMITS),
                    other.totals_above(LIMITS),
                    other.totals_within(40, 40),
                ], name
                assert all(isinstance(table, exp.Table) for table in kept), name
            # Of records that have an x, and of all: totals in each group, and with groups everybody's.
            tables = {
                table.name for totals in reading._people.values() for table in (totals._each, totals._people) if table
            }
            assert len(tables) == (4 if by else 2), name
            reading.close()
        assert _kept_tables(engine) == [], name
        engine.close()


def _noted(keep, kept):
    def noted(self, query):
        kept.append(keep(self, query))
        return kept[-1]

    return noted


def _kept_tables(engine):
    """The names of the tables that an engine still keeps."""
    if isinstance(engine, Spark):
        return [*engine._kept, *(item.name for item in engine._session.catalog.listTables() if "kept" in item.name)]
    asked = {
        DuckDB: "SELECT table_name FROM duckdb_tables() WHERE temporary",
        Postgres: "SELECT relname FROM pg_class WHERE relpersistence = 't' AND relname LIKE 'dither_kept%'",
        SQLite: "SELECT name FROM sqlite_temp_master",
    }
    return engine._connection.execute(asked[type(engine)]).fetchall()


def test_a_statement_reads_its_rows_once(monkeypatch):
    """Sums, counts and people of one statement share a pass, also by groups; each is the release that it is alone."""
    made = []
    keep = DuckDB.kept
    monkeypatch.setattr(DuckDB, "kept", lambda self, query: made.append(query) or keep(self, query))
    options = {"columns": COLUMNS, "unit": "u", "rows_per_unit": "private", "budget": dt.Budget(1e6), "name": "rows"}
    with dt.open(table_of(6, rows=3_000), **options) as session:
        text = "SELECT g, count(*), sum(y), sum(y * 2), count(distinct u) AS people FROM rows GROUP BY g"
        releases = session.sql(text, epsilon=400.0)
        assert len(made) == 2  # totals in each group, and from these everybody's
        assert len(releases) == 12
        assert _kept_tables(session._source.engine) == []
        rows = [row for row in table_of(6, rows=3_000).to_pylist() if row["u"] is not None]
        for release in (item for item in releases if item.alias == "people"):
            own = {row["u"] for row in rows if row["g"] == release.group["g"]}
            assert abs(release.value - len(own)) <= 9  # scale 6 / 80: beyond with chance e^-120
        monkeypatch.setattr(DuckDB, "rows", _failing)
        with pytest.raises(dt.errors.SourceFailed):
            session.sql(text, epsilon=1.0)
        monkeypatch.undo()
        assert _kept_tables(session._source.engine) == []


def test_sums_without_bounds_share_their_pass(monkeypatch):
    """A missing value adds nothing to a person's total, so every sum is of the same rows."""
    made = []
    keep = DuckDB.kept
    monkeypatch.setattr(DuckDB, "kept", lambda self, query: made.append(query) or keep(self, query))
    rng = np.random.default_rng(5)
    table = pa.table(
        {
            "u": np.repeat(np.arange(2_000), 2),
            "x": pa.array([None if k % 3 else 2.0 for k in range(4_000)]),
            "y": rng.uniform(1, 3, 4_000),
        }
    )
    columns = {"x": dt.Real(None, None), "y": dt.Real(None, None)}
    options = {"unit": "u", "rows_per_unit": "private", "budget": dt.Budget(1e6), "name": "rows"}
    with dt.open(table, columns=columns, **options) as session:
        x, y, _ = session.sql("SELECT sum(x), sum(y), count(*) FROM rows", epsilon=60.0)
        assert len(made) == 1
        # A limit of at least the largest total and noise of scale limit / 10: beyond with chance e^-100.
        assert abs(x.value - 2.0 * 1_334) < 500
        assert abs(y.value - float(np.sum(table["y"].to_numpy()))) < 1_000


def _failing(self, query):
    raise dt.errors.SourceFailed("gone")
