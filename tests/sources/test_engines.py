"""The same answers everywhere: values, ladders and smooth bounds on DuckDB, PostgreSQL, Spark and plain arrays."""

import datetime
import decimal
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import dither as dt
from blocks import drawn_blocks
from dither.session.plan import plan
from dither.session.reading import selected
from dither.sources.column import Column
from dither.sources.engines.spark import Spark
from dither.sources.predicates import parse_filter
from dither.sources.schema import Schema
from dither.sources.selection import Selection, threshold
from dither.sources.windows import EngineColumns

JOBS = ["clerk", "nurse, head", 'o\'neil "x" \\ %', "λ"]
COLUMNS = {
    "pay": dt.Real(-50, 1000, nulls=7),
    "fine": dt.Real(0, 1, step=0.001, nulls="upper"),
    "age": dt.Integer(18, 90),
    "cents": dt.Decimal(0, 500),
    "job": dt.Category(JOBS),
    "boss": dt.Boolean(),
    "day": dt.Date("2020-01-01", "2021-12-31"),
    "kept": dt.Real(0, 10, nulls="drop"),
}


def random_table(seed, rows=600):
    """Numbers beyond their bounds, ties, NaN, infinities, missing values and odd texts."""
    rng = np.random.default_rng(seed)
    gaps = [lambda one: None if rng.random() < 0.05 else one][0]
    pay = [
        gaps(float(v))
        for v in rng.choice([*rng.lognormal(4, 1.5, rows), np.nan, np.inf, -np.inf, 1e300, 5e-324, -0.0], rows)
    ]
    fine = [gaps(float(v)) for v in np.round(rng.uniform(-0.2, 1.2, rows), 4)]
    kept = [gaps(float(v)) for v in rng.uniform(-1, 11, rows)]
    age = [gaps(int(v)) for v in rng.integers(0, 120, rows)]
    cents = [gaps(decimal.Decimal(int(v)) / 100) for v in rng.integers(-1000, 60_000, rows)]
    job = [gaps(str(v)) for v in rng.choice([*JOBS, "other one", ""], rows)]
    boss = [gaps(bool(v)) for v in rng.integers(0, 2, rows)]
    day = [gaps(datetime.date(2019, 6, 1) + datetime.timedelta(days=int(v))) for v in rng.integers(0, 1200, rows)]
    person = [int(v) for v in rng.integers(0, rows // 3, rows)]
    return pa.table(
        {
            "pay": pa.array(pay, pa.float64()),
            "fine": pa.array(fine, pa.float64()),
            "age": pa.array(age, pa.int64()),
            "cents": pa.array(cents, pa.decimal128(12, 2)),
            "job": pa.array(job, pa.string()),
            "boss": pa.array(boss, pa.bool_()),
            "day": pa.array(day, pa.date32()),
            "kept": pa.array(kept, pa.float64()),
            "person": pa.array(person, pa.int64()),
        }
    )


QUESTIONS = [
    (dt.Median("pay"), {}),
    (dt.Quantile("fine", q=0.9), {}),
    (dt.Median("age"), {"where": "pay > 40 AND (job = 'clerk' OR boss)"}),
    (dt.Minimum("cents"), {"where": "NOT (age BETWEEN 30 AND 40)"}),
    (dt.Maximum("day"), {"where": "day >= '2020-03-01' AND job IS NOT NULL"}),
    (dt.Sum("pay"), {}),
    (dt.Mean("cents"), {"where": "job IN ('nurse, head', 'o''neil \"x\" \\ %')"}),
    (dt.Median("kept"), {}),
    (dt.IQR("pay"), {"where": "fine < 0.5"}),
    (dt.TrimmedMean("fine", trim=0.1), {}),
    (dt.Variance("pay"), {}),
    (dt.Count("boss"), {"where": "age >= 18"}),
    (dt.Count(), {"where": "pay IS NULL OR job <> 'clerk'"}),
    (dt.Median("pay"), {"by": "job"}),
    (dt.Sum("age"), {"by": ["boss", "job"]}),
    (dt.Mean("pay"), {"by": "boss", "where": "age < 60"}),
]


def facts(question, options, schema, engine):
    """Value, ladder and smooth bound of every group: what dt.inspect shows."""
    made = plan(question, schema, epsilon=1.0, **options)
    selection = Selection(engine, made.schema, made.predicate, made.by, secret="fixed")
    found = []
    for data in selected(made, selection):
        ladder = made.statistic.ladder(data)
        rungs = [int(rung) for rung in ladder.sensitivity_at_distance(0, 6)]
        found.append((made.statistic.value(data), rungs, ladder.smooth(Fraction(1, 10))))
    return found


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(20))
def test_values_ladders_and_smooth_bounds_are_the_same_everywhere(engines_of, seed):
    """Twenty random tables, half of them with people who own several rows."""
    table = random_table(seed, rows=400)
    engines = engines_of(table)
    unit = {"unit": "person", "rows_per_unit": 2} if seed % 2 else {}
    schema = Schema(table, COLUMNS, rows=table.num_rows, budget=dt.Budget(1.0), **unit)
    # A different part of the questions for each table, all of them in four.
    asked = [pair for place, pair in enumerate(QUESTIONS) if (place + seed) % 4 == 0]
    for question, options in asked:
        try:
            here = facts(question, options, schema, engines["duckdb"])
        except dt.NotProved:
            continue
        for name, engine in engines.items():
            assert facts(question, options, schema, engine) == here, (name, question, options)
    for engine in engines.values():
        engine.close()


def test_owners_inspect_sessions_on_every_engine(engines_of):
    """dt.inspect takes a session; values, ladders and smooth bounds are those of the other engines."""
    table = random_table(42, rows=300)
    inspected = []
    for engine in engines_of(table).values():
        session = dt.Session(Schema(table, COLUMNS, rows=300, budget=dt.Budget(1.0)), engine=engine)
        inspected += [
            (
                dt.inspect.value(query, session),
                dt.inspect.ladder(query, session, rungs=5),
                dt.inspect.smooth(query, session, beta=0.1),
            )
            for query in (dt.Median("pay"), dt.Sum("cents"), dt.Maximum("age"))
        ]
        assert session.budget.spent == dt.Loss(0.0)
    assert inspected == inspected[:3] * (len(inspected) // 3)


def test_engines_agree_with_arrays():
    """The same statistic on a plain array, read and rounded by numpy."""
    table = random_table(99, rows=2000)
    from dither.sources.engines.duckdb import DuckDB

    schema = Schema(table, COLUMNS, rows=table.num_rows, budget=dt.Budget(1.0))
    engine = DuckDB(table)
    for name, bounds, nulls in (("pay", (-50, 1000), 7), ("age", (18, 90), None)):
        array = np.array([np.nan if v is None else v for v in table[name].to_pylist()], dtype=float)
        step = 1 if name == "age" else None
        query = dt.Median(bounds=bounds, nulls=nulls, step=step).settled("auto")
        made = plan(dt.Median(name), schema, epsilon=1.0)
        data = selected(made, Selection(engine, made.schema))[0]
        assert made.statistic.answers.value(made.statistic.value(data)) == dt.inspect.value(query, array)
        assert [
            float(made.grid.step * int(u)) for u in made.statistic.ladder(data).sensitivity_at_distance(0, 8)
        ] == dt.inspect.ladder(query, array, rungs=8)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("shares", [(0.0,), (0.5,), (0.25, 0.75), (1.0,)])
@pytest.mark.parametrize("shape", ["smooth", "tied", "sorted", "missing"])
def test_brackets_find_the_ranks_of_large_tables(monkeypatch, shape, shares):
    """Windows fetched by bracketing equal those of the sorted column, also where the first bracket is too narrow."""
    from dither.sources import windows
    from dither.sources.engines.duckdb import DuckDB

    monkeypatch.setattr(windows, "FEW_ROWS", 1000)
    monkeypatch.setattr(windows, "FEW_POINTS", 100)
    monkeypatch.setattr(windows, "_sampled_share", lambda rows, groups, brackets: 400 / 20_000)
    monkeypatch.setattr(windows, "MISSED", 0.9)
    rng = np.random.default_rng(7)
    n = 20_000
    values = {
        "smooth": rng.lognormal(3, 1, n),
        "tied": rng.choice([1.0, 2.0, 50.0], n),
        "sorted": np.arange(n) / 50,
        "missing": np.where(rng.random(n) < 0.4, np.nan, rng.uniform(0, 400, n)),
    }[shape]
    declared = dt.Real(-7, 300, nulls=150)
    schema = Schema("x", {"v": declared, "g": dt.Integer(0, 2)}, rows=n)
    groups = rng.integers(0, 4, n)
    engine = DuckDB(pa.table({"v": values, "g": groups}))
    steps = declared.grid.quantise(values, declared.missing)
    for by in ((), ("g",)):
        columns = EngineColumns(
            Selection(engine, schema, by=by), "v", declared.grid, declared.missing, None if by else n
        )
        columns.shares, columns.width = shares, 40
        for index, data in enumerate(columns.each()):
            truth = Column(steps if not by else steps[groups == index], declared.grid)
            assert data.records == truth.records
            for share in shares:
                rank = max(1, int(share * truth.records))
                for first, last in ((rank - 30, rank + 30), (rank, rank), (rank - 200, rank + 300), (-5, 3)):
                    assert np.array_equal(data.ranks(first, last), truth.ranks(first, last))
            assert data.total() == truth.total()
            assert data.moments() == truth.moments()
            assert data.total(50, truth.records - 80) == truth.total(50, truth.records - 80)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("query", "scans"),
    [
        (dt.Mean("v"), 1),
        (dt.Mean("v", nulls="lower"), 1),
        (dt.Variance("v"), 2),
        (dt.Variance("v", nulls="lower"), 1),
        (dt.Maximum("v"), 1),
        (dt.Minimum("v"), 1),
        (dt.Median("v"), 2),
        (dt.IQR("v"), 2),
        (dt.TrimmedMean("v", trim=0.1), 2),
    ],
)
def test_a_table_is_read_a_few_times_at_most(query, scans, monkeypatch):
    """Totals and extremes in one pass; ranks by a sample and one pass that counts, sums and fetches, however many.

    A bracket is too narrow with a chance of a few hundredths, and is then counted once more, much wider.
    """
    from dither.sources import windows
    from dither.sources.engines.duckdb import DuckDB

    monkeypatch.setattr(windows, "FEW_ROWS", 10)
    n = 400_000
    frame = pa.table({"v": np.random.default_rng(5).lognormal(3, 1, n)})
    opened = dt.open(frame, columns={"v": dt.Real(0, 300)}, rows=n, budget=dt.Budget(100.0))
    statements = []
    for name in ("rows", "arrays", "long_arrays", "arrays_and_list"):
        inner = getattr(DuckDB, name)
        monkeypatch.setattr(
            DuckDB, name, lambda self, query, inner=inner: (statements.append(query), inner(self, query))[1]
        )
    opened.ask(query, epsilon=5.0)
    assert scans <= len(statements) <= scans + (scans > 1)


def test_thresholds_replace_rounding():
    """The least double that rounds to a step: its neighbour below does not."""
    for grid in (dt.Real(0, 600_000).grid, dt.Real(-3, 7, step=0.001).grid, dt.Integer(0, 100).grid):
        low, high = grid.ends
        for steps in (low + 1, (low + high) // 2, (low + high) // 2 + 1, high):
            at = threshold(grid, steps)
            below = np.nextafter(at, -np.inf)
            assert (
                grid.quantise(np.array([at, below]), low).tolist()[0]
                >= steps
                > grid.quantise(np.array([below]), low)[0]
            )
        assert threshold(grid, low) == -np.inf
        assert threshold(grid, high + 1) == np.inf


def test_people_keep_no_more_rows_than_declared(engines_of):
    """Counts by group and in all never exceed the declared rows of each person, on every engine alike."""
    table = random_table(5, rows=500)
    people = len(set(table["person"].to_pylist()))
    for rows in (1, 3):
        schema = Schema(table, COLUMNS, unit="person", rows_per_unit=rows)
        sizes = []
        for engine in engines_of(table).values():
            data = EngineColumns(Selection(engine, schema, secret="k"), "pay", COLUMNS["pay"].grid, 0, None).each()[0]
            assert data.records <= rows * people
            sizes.append((data.records, data.total()))
        assert len(set(sizes)) == 1
        kept = sum(min(rows, count) for count in np.unique(table["person"].to_pylist(), return_counts=True)[1])
        assert sizes[0][0] == kept


def test_what_one_person_keeps_depends_on_nobody_else():
    """Removing a person changes only that person's rows."""
    from dither.sources.engines.duckdb import DuckDB

    table = random_table(11, rows=300)
    person = np.array(table["person"].to_pylist())
    schema = Schema(table, COLUMNS, unit="person", rows_per_unit=2)
    grid = COLUMNS["pay"].grid

    def kept(rows):
        data = EngineColumns(Selection(DuckDB(rows), schema, secret="k"), "pay", grid, 0, None).each()[0]
        return sorted(data.values.tolist())

    everyone = kept(table)
    for one in (person[0], person[7]):
        without = kept(table.filter(pa.array(person != one)))
        alone = kept(table.filter(pa.array(person == one)))
        assert sorted([*without, *alone]) == everyone


def test_filters_select_the_same_rows_as_python(engines_of):
    """Three-valued logic, odd texts and dates, row by row."""
    table = random_table(3, rows=300)
    schema = Schema(table, COLUMNS)
    records = table.to_pylist()

    def number(one, name):
        value = one[name]
        return None if value is None or (isinstance(value, float) and np.isnan(value)) else value

    cases = {
        "pay > 40": lambda r: number(r, "pay") is not None and r["pay"] > 40,
        "pay <= 40 OR boss": lambda r: (number(r, "pay") is not None and r["pay"] <= 40) or bool(r["boss"]),
        "job = 'o''neil \"x\" \\ %'": lambda r: r["job"] == JOBS[2],
        "NOT boss": lambda r: r["boss"] is False,
        "boss IS NOT TRUE": lambda r: r["boss"] is not True,
        "pay IS NULL": lambda r: number(r, "pay") is None,
        "day = '2020-05-17' OR cents = 12.5": lambda r: (
            r["day"] == datetime.date(2020, 5, 17) or r["cents"] == decimal.Decimal("12.5")
        ),
        "age IN (20, 30, 40)": lambda r: r["age"] in (20, 30, 40),
        "fine >= 0.1 AND fine < 0.2": lambda r: number(r, "fine") is not None and 0.1 <= r["fine"] < 0.2,
    }
    for engine in engines_of(table).values():
        for text, truth in cases.items():
            selection = Selection(engine, schema, parse_filter(text, schema))
            found = EngineColumns(selection, None, dt.Boolean().grid, 1, None).each()[0].records
            assert found == sum(bool(truth(one)) for one in records), (engine.dialect, text)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"unit": "person", "rows_per_unit": 2}])
def test_blocks_of_programs_hold_the_same_rows_everywhere(engines_of, options):
    """The rows that programs see: all of them in some block, rounded alike, people together; a fresh draw each time."""
    table = random_table(5)
    schema = Schema(table, {**COLUMNS, "person": dt.Integer(0, 1000)}, budget=dt.Budget(1.0), **options)
    query = dt.Program(len, bounds=(0, 1), blocks=7, executor="trusted")
    made = plan(query, schema, epsilon=1.0, where="age >= 30 OR boss")
    held = {}
    for name, engine in engines_of(table).items():
        blocks = drawn_blocks(made, engine)
        owners = [set(block["person"].to_pylist()) for block in blocks]
        assert len(blocks) == 7
        if options:
            assert sum(len(one) for one in owners) == len(set.union(*owners))
        rows = pa.concat_tables(blocks).to_pylist()
        held[name] = sorted(map(repr, rows)) if not options else sorted({repr(row["person"]) for row in rows})
        per_person = np.unique([row["person"] for row in rows], return_counts=True)[1]
        assert not options or per_person.max() <= 2
    assert all(rows == held["duckdb"] for rows in held.values())


DECIDES = re.compile(r"""dialect\s*(?:[=!]=|in\b)|engine\s*[=!]=\s*["']""")


def test_nobody_decides_by_the_name_of_an_engine():
    """What an engine does in its own way is a method of it: a new one is a new module and a line in the factory."""
    package = Path(dt.__file__).parent
    found = {one.name for one in package.rglob("*.py") if DECIDES.search(one.read_text(encoding="utf-8"))}
    assert found == set()
    assert DECIDES.search('listed = "VALUES" if self.dialect == "spark" else "(VALUES"')


def test_spark_says_when_its_files_changed(spark, tmp_path):
    """By time and size of files on this machine; of a DataFrame nothing is known."""
    source = f"spark+local[2]!{tmp_path / 'of space'}"
    spark.range(9).write.parquet(str(tmp_path / "of space"))
    before = Spark(source)
    assert before.state() == Spark(source).state()
    assert before.state() is not None
    spark.range(10).write.mode("overwrite").parquet(str(tmp_path / "of space"))
    assert Spark(source).state() != before.state()
    assert Spark(spark.range(9)).state() is None
