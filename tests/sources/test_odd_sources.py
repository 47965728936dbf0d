"""Odd sources on all engines: collations, awkward texts, values at the ends of types, and names of our own queries."""

import datetime
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import psycopg
import pyarrow as pa
import pytest
from sqlglot import exp, parse_one

import dither as dt
from conftest import needs_package
from dither.session.session import Session
from dither.sources.engines.postgres import Postgres
from dither.sources.schema import Schema

SURE = {"epsilon": 500.0, "confidence": None}
"""At this epsilon a count is off by one with probability below e^-80."""
BUDGET = dt.Budget(1e6, 1e-3)


def session(engine, columns, **options):
    """A session over an engine that is open already."""
    return Session(Schema(None, columns, budget=BUDGET, **options), engine=engine)


def odd_in_postgres(dsn, statements):
    """A table called odd."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS odd")
        for statement in statements:
            connection.execute(statement)
    return Postgres(dsn, "odd")


def test_postgres_collations_put_a_record_in_one_group(postgres):
    """A collation that ignores case would put one record into the groups of both spellings."""
    engine = odd_in_postgres(
        postgres,
        [
            "CREATE COLLATION IF NOT EXISTS blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
            "CREATE TABLE odd (job text COLLATE blind, who text COLLATE blind)",
            "INSERT INTO odd VALUES ('clerk', 'a'), ('clerk', 'A'), ('Clerk', 'a')",
        ],
    )
    columns = {"job": dt.Category(["clerk", "Clerk", "CLERK"])}
    opened = session(engine, columns, rows=3)
    assert [one.value for one in opened.ask(dt.Count(), by="job", **SURE)] == [2, 1, 0]
    assert list(opened.ask(dt.Histogram("job"), **SURE).value) == [2, 1, 0, 0]
    assert opened.ask(dt.Count(), where="job = 'CLERK'", **SURE).value == 0
    assert session(engine, columns, unit="who", rows_per_unit=1, name="people").ask(dt.Count(), **SURE).value == 2


def test_postgres_values_at_the_ends_of_types_raise_no_error(postgres):
    """Infinities, NaN, huge and tiny numerics, infinite and ancient dates: a record never decides about an answer."""
    engine = odd_in_postgres(
        postgres,
        [
            "CREATE TABLE odd (d double precision, n numeric, day date, at timestamptz, f real, b bigint)",
            """INSERT INTO odd VALUES
               ('NaN', 'NaN', 'infinity', 'infinity', 'NaN', 9223372036854775807),
               ('Infinity', '1e5000', '-infinity', '-infinity', 'Infinity', -9223372036854775808),
               ('-Infinity', '1e-5000', '4713-01-01 BC', '4713-01-01 BC', '1e-45', 0),
               ('5e-324', 'Infinity', '5874897-12-31', '294276-12-31', '3e38', 1), (NULL, NULL, NULL, NULL, NULL, NULL),
               ('1.7e308', '-Infinity', '2010-01-01', '2010-01-01', '-3e38', 2)""",
        ],
    )
    days = dt.Date("2000-01-01", "2020-01-01")
    columns = {"d": dt.Real(0, 10), "n": dt.Real(0, 10), "f": dt.Real(-1e-3, 1e-3), "b": dt.Integer(0, 3)}
    columns |= {"day": days, "at": days}
    opened = session(engine, columns, rows=6)
    for name in columns:
        assert opened.ask(dt.Median(name), epsilon=1.0).value is not None
        assert opened.ask(dt.Mean(name), epsilon=1.0, where=f"{name} IS NOT NULL").value is not None
    assert [one.value for one in opened.ask(dt.Count(), by="b", **SURE)] == [1, 1, 1, 0]
    assert opened.ask(dt.Count(), where="n >= 5", **SURE).value == 2
    assert opened.ask(dt.Count(), where="day >= '2015-01-01'", **SURE).value == 2


def test_awkward_texts_mean_the_same_on_all_engines(engines_of):
    """Quotes, backslashes, percent signs, blanks and what an engine might take for a variable or a comment."""
    names = [
        "o'n",
        "\\",
        "\\'",
        "%s",
        "${spark.app.name}",
        " a",
        "a ",
        "a",
        "A",
        "--",
        "\u00e9",
        "e\u0301",
        "{{x}}",
        "a\nb",
        "\t",
    ]
    table = pa.table({"name": pa.array([one for place, one in enumerate(names) for _ in range(place + 1)])})
    for label, engine in engines_of(table).items():
        declared = session(engine, {"name": dt.Category(names)}, name=label)
        wanted = list(range(1, len(names) + 1))
        assert [one.value for one in declared.ask(dt.Count(), by="name", **SURE)] == wanted, label
        assert list(declared.ask(dt.Histogram("name"), **SURE).value) == [*wanted, 0], label
        found = session(engine, {"name": dt.Category()}, name=f"{label} found")
        grouped = found.ask(dt.Count(), by="name", epsilon=2000.0, delta=0.5e-3, confidence=None)
        counts = {one.group["name"]: one.value for one in grouped}
        assert set(names[3:]) <= set(counts), label
        assert all(counts[one] == names.index(one) + 1 for one in counts), label


def test_names_of_our_own_queries_are_free_for_columns(engines_of):
    """Columns called x, i, u, k0, r, a, t: a filter, a group and a unit mean the source's."""
    rows = 60
    table = pa.table(
        {
            "x": pa.array([3] * rows),
            "i": pa.array([place % 2 for place in range(rows)]),
            "k0": pa.array([7] * rows),
            "u": pa.array([place // 3 for place in range(rows)]),
            "r": pa.array([9] * rows),
            "g": pa.array([1] * rows),
            "pay": pa.array([1.0] * rows),
        }
    )
    columns = {name: dt.Integer(0, 10) for name in ("x", "i", "k0", "r", "g")} | {"pay": dt.Integer(0, 1)}
    for label, engine in engines_of(table).items():
        opened = session(engine, columns, name=label)
        assert opened.ask(dt.Sum("pay"), where="x = 3 AND k0 = 7 AND r = 9", **SURE).value == rows, label
        by = opened.ask(dt.Sum("pay"), by=["i"], where="x = 3", **SURE)
        assert [one.value for one in by][:3] == [rows // 2, rows // 2, 0], label
        people = session(engine, columns, name=f"{label} people", unit="u", rows_per_unit=2)
        assert people.ask(dt.Sum("pay"), where="x = 3", epsilon=2000.0, confidence=None).value == 40, label
        fewer = session(engine, columns, name=f"{label} few", unit="x", rows_per_unit=5)
        assert fewer.ask(dt.Count(), epsilon=2000.0, confidence=None).value == 5, label


def test_errors_of_engines_carry_no_context(engines_of, postgres):
    """A division that fails on a record would quote it in every traceback."""
    table = pa.table({"name": pa.array(["alice", "bob"])})
    for label, engine in engines_of(table).items():
        # SQLite casts any text to a number; what it fails on is an absolute value that is none.
        failing = "ABS(-9223372036854775807 - LENGTH(SUBSTR(name, 1, 1)))" if label == "sqlite" else "CAST(name AS INT)"
        query = parse_one(f"SELECT {failing} FROM t", dialect=engine.dialect)
        query.set("from_", None)
        wanted = query.from_(engine.table())
        for read in (engine.rows, engine.arrays):
            with pytest.raises(dt.SourceFailed) as caught:
                read(wanted)
            assert caught.value.__context__ is None, label
            assert caught.value.__cause__ is None, label


def test_spark_refuses_collated_columns(spark):
    """Columns that compare texts in another way than byte by byte are none of the kinds that can be read."""
    needs_package("pyspark")
    from dither.sources.engines.spark import Spark

    frame = spark.sql("SELECT 'clerk' COLLATE UTF8_LCASE AS job")
    assert Spark(frame).stored_types()["job"] == "other"


def test_spark_dates_and_numbers_at_the_ends_of_types(spark):
    """NaN, infinities, first and last days."""
    from dither.sources.engines.spark import Spark

    frame = spark.createDataFrame(
        [
            (float("nan"), datetime.date(1, 1, 1)),
            (float("inf"), datetime.date(9999, 12, 31)),
            (None, None),
            (-1e308, None),
        ],
        "d double, day date",
    )
    columns = {"d": dt.Real(0, 10), "day": dt.Date("2000-01-01", "2020-01-01")}
    opened = session(Spark(frame), columns, rows=4)
    for name in columns:
        assert opened.ask(dt.Median(name), epsilon=1.0).value is not None
    assert opened.ask(dt.Count(), where="d >= 5", **SURE).value == 1


def test_postgres_reads_and_keeps_where_nothing_can_be_written(postgres):
    """A view that writes is refused, also where totals of people are kept; a user without the right keeps nothing."""
    odd_in_postgres(
        postgres,
        [
            "DROP VIEW IF EXISTS writing",
            "DROP TABLE IF EXISTS written",
            "CREATE TABLE written (p integer)",
            (
                "CREATE OR REPLACE FUNCTION noted() RETURNS integer LANGUAGE sql VOLATILE "
                "AS 'INSERT INTO public.written VALUES (1) RETURNING 1'"
            ),
            "CREATE VIEW writing AS SELECT noted() AS u",
            "CREATE TABLE odd (u integer)",
            "INSERT INTO odd VALUES (1), (1), (2)",
        ],
    ).close()
    engine, query = Postgres(postgres, "writing"), parse_one("SELECT u FROM public.writing", dialect="postgres")
    for read in (engine.rows, engine.kept):
        with pytest.raises(dt.errors.SourceFailed), engine.snapshot():
            read(query)
    engine.close()
    plain = Postgres(postgres, "odd")
    assert plain.rows(parse_one("SELECT COUNT(*) FROM public.written"))[0] == (0,)
    totals = parse_one("SELECT u, COUNT(*) AS c FROM public.odd GROUP BY u", dialect="postgres")
    with plain.snapshot():
        kept = plain.kept(totals)
        assert isinstance(kept, exp.Table)
        assert sorted(plain.rows(exp.select("u", "c").from_(kept))) == [(1, 2), (2, 1)]
    with psycopg.connect(postgres, autocommit=True) as connection:
        name = plain.rows(parse_one("SELECT current_database()"))[0][0]
        connection.execute("DROP ROLE IF EXISTS reader")
        connection.execute("CREATE ROLE reader LOGIN")
        place = plain._schema_name
        connection.execute(f'REVOKE TEMP ON DATABASE "{name}" FROM PUBLIC')
        connection.execute(f'GRANT USAGE ON SCHEMA "{place}" TO reader')
        connection.execute("GRANT SELECT ON odd TO reader")
        try:
            reader = Postgres(psycopg.conninfo.make_conninfo(postgres, user="reader"), f"{place}.odd")
            with reader.snapshot():
                kept = reader.kept(exp.select("u").from_(reader.table()))
                assert isinstance(kept, exp.Subquery)
                assert len(reader.rows(exp.select("u").from_(kept))) == 3
            reader.close()
        finally:
            connection.execute(f'GRANT TEMP ON DATABASE "{name}" TO PUBLIC')
            connection.execute("DROP OWNED BY reader")
            connection.execute("DROP ROLE reader")
    plain.close()


def test_one_postgres_table_is_one_source_however_it_is_named(postgres):
    """With or without its schema, at an address in any spelling; in another schema the same name is another table."""
    plain = odd_in_postgres(
        postgres,
        [
            "CREATE SCHEMA IF NOT EXISTS elsewhere",
            "DROP TABLE IF EXISTS elsewhere.odd",
            "CREATE TABLE elsewhere.odd (other text)",
            "CREATE TABLE odd (p integer)",
        ],
    )
    place = plain._schema_name
    assert Postgres(postgres, f"{place}.odd").fingerprint() == plain.fingerprint()
    port = urlsplit(postgres).port
    for spelling in (
        f"postgresql://postgres@localhost:{port}/postgres",
        f"postgresql://postgres@LOCALHOST:{port}/%70ostgres",
        f"postgres://?host=127.0.0.1&port={port}&user=postgres&dbname=postgres",
        f"postgresql://postgres@/?hostaddr=127.0.0.1&port={port}",
        f"postgresql://postgres@127.0.0.1:{port}/postgres?application_name=other",
    ):
        assert Postgres(spelling, f"{place}.odd").fingerprint() == plain.fingerprint()
    assert plain.stored_types() == {"p": "whole"}
    there = Postgres(postgres, "elsewhere.odd")
    assert there.stored_types() == {"other": "text"}
    assert there.fingerprint() != plain.fingerprint()
    with pytest.raises(dt.InvalidArgument, match="table that exists"):
        Postgres(postgres, "odd; DROP TABLE odd")


class Unwritable:
    """Fails however it is written."""

    def __str__(self):
        raise RuntimeError("secret")

    __repr__ = __float__ = __str__


def test_mappings_of_lists_have_their_declared_types():
    """No entry decides about how the others are read, or whether the table can be opened."""
    columns = {
        "v": dt.Integer(0, 10),
        "g": dt.Category(["a"]),
        "ok": dt.Boolean(),
        "day": dt.Date("2020-01-01", "2020-12-31"),
    }
    for odd in (None, 10**400, 2**70, "x", "\ud800", Unwritable(), 1.5, float("nan"), datetime.date(2020, 5, 5), [1]):
        table = {name: [one, odd, one] for name, one in (("v", 3), ("g", "a"), ("ok", True), ("day", "2020-02-02"))}
        opened = dt.open(table, columns=columns, budget=BUDGET, rows=3)
        assert dt.inspect.value(dt.Median("v"), opened) == 3
        assert dt.inspect.value(dt.Count(), opened, where="g = 'a' AND ok") in (2, 3)
        assert dt.inspect.value(dt.Minimum("day"), opened, where="day = '2020-02-02'") is not None


def test_mappings_of_arrays_with_odd_texts():
    """Half of a surrogate pair in an array of texts, columns of objects of pandas, texts of Arrow."""
    columns = {"g": dt.Category(["a"])}
    odd = pd.Series(pd.Categorical.from_codes([0, 1], categories=objects(["a", Unwritable()])))
    for texts in (
        odd,
        np.array(["a", "\ud800"]),
        pd.Series(["a", Unwritable()], dtype=object),
        pd.Series(["a", "b"]),
        pa.array(["a", "b"]),
        pa.array([b"a", b"\xff"], pa.binary()).view(pa.string()),
    ):
        opened = dt.open({"g": texts}, columns=columns, budget=BUDGET, rows=2)
        assert dt.inspect.value(dt.Count(), opened, where="g = 'a'") == 1


def test_streams_are_read_into_tables():
    """A stream ends with its first reader; the second question would fail."""
    table = pa.table({"v": [1.0, 2.0, 3.0]})
    opened = dt.open(table.to_reader(), columns={"v": dt.Integer(0, 10)}, budget=BUDGET, rows=3)
    assert [dt.inspect.value(dt.Sum("v"), opened) for _ in range(2)] == [6, 6]


def test_frames_with_odd_texts_keep_their_rows():
    """Objects, categories and texts of pandas, and Arrow texts that are no UTF-8."""
    texts = ["a", "\ud800", Unwritable(), 10**5000, b"\xff", None, 3.5, "a"]
    frames = [pd.DataFrame({"g": pd.Series(texts, dtype=object)})]
    frames += [pd.DataFrame({"g": pd.Categorical.from_codes(range(7), categories=objects([*texts[:5], 3.5, "b"]))})]
    bad = pa.array([b"a", b"\xff", None, b"a"], pa.binary()).view(pa.string())
    frames += [
        pa.table({"g": bad}),
        pa.table({"g": bad.dictionary_encode()}),
        pa.table({"g": bad.cast(pa.large_binary()).view(pa.large_string())}),
    ]
    for frame in frames:
        for categories in (["a"], None):
            opened = dt.open(frame, columns={"g": dt.Category(categories)}, budget=BUDGET, rows=len(frame))
            wanted = 1 if isinstance(frame, pd.DataFrame) and str(frame.dtypes.iloc[0]) == "category" else 2
            assert dt.inspect.value(dt.Count(), opened, where="g = 'a'") == wanted
            opened.ask(dt.Count(), by="g", epsilon=1.0, delta=0 if categories else 1e-6)


def objects(entries):
    """An array of objects."""
    made = np.empty(len(entries), dtype=object)
    made[:] = entries
    return made


def test_pyspark_logs_no_record_of_a_query_that_fails(spark):
    """Its errors quote values; those of other queries in the same session are still logged."""
    needs_package("pyspark")
    import logging

    from dither.sources.engines.spark import Spark

    logger_class = pytest.importorskip("pyspark.logger").PySparkLogger
    frame = spark.sql("SELECT CAST(x AS INT) AS pay FROM VALUES ('1'), ('hunter2') AS t(x)")
    engine = Spark(frame)
    lines: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    handler = Kept()
    loggers = [logger_class.getLogger(name) for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]
    for one in loggers:
        one.addHandler(handler)
    try:
        with pytest.raises(dt.DitherError) as error:
            engine.rows(parse_one(f"SELECT SUM(pay) FROM {engine.table().sql()}"))
        assert "hunter2" not in str(error.value)
        assert lines == []
        with pytest.raises(Exception, match="hunter2"):
            frame.collect()
        assert "hunter2" in "".join(lines)
    finally:
        for one in loggers:
            one.removeHandler(handler)
        engine.close()


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "WIN1252"])
def test_a_database_whose_texts_may_be_none_in_utf8_is_refused(postgres, encoding):
    """Texts without an encoding are bytes of any sort, and the byte 81 of WIN1252 is no character: reading it fails."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS unencoded")
        connection.execute(f"CREATE DATABASE unencoded ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
        address = f"postgresql://postgres@127.0.0.1:{connection.info.port}/unencoded"
    try:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("CREATE TABLE anything (job text)")
        with pytest.raises(dt.InvalidArgument, match=encoding):
            Postgres(address, "anything")
    finally:
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute("DROP DATABASE unencoded")


ATTACK = r"job = 'z\'' OR (SELECT count(*) FROM odd WHERE job = $$secret$$) = 1) AS t) AS parts) AS totals --'"
"""With backslashes as escapes the text ends early, and what follows is SQL: all records count if one is there."""


@pytest.mark.parametrize("setting", ["standard_conforming_strings=off", "client_encoding=LATIN1"])
def test_settings_of_a_database_decide_nothing_about_records(postgres, setting):
    """Filters stay texts where backslashes were escapes, and a text that the client's encoding lacks is a group."""
    odd_in_postgres(
        postgres,
        [
            "CREATE TABLE odd (job text)",
            "INSERT INTO odd SELECT 'clerk' FROM generate_series(1, 50)",
            "INSERT INTO odd VALUES ('secret'), ('\u65e5')",
        ],
    )
    engine = Postgres(psycopg.conninfo.make_conninfo(postgres, options=f"-c {setting}"), "odd")
    opened = session(engine, {"job": dt.Category()})
    assert opened.ask(dt.Count(), where=ATTACK, **SURE).value == 0
    assert opened.ask(dt.Count(), where="job = 'clerk\\'", **SURE).value == 0
    groups = opened.ask(dt.Count(), by="job", delta=1e-6, **SURE)
    assert {"job": "clerk"} in [release.group for release in groups]


def test_a_setting_that_is_none_is_refused_before_the_charge(monkeypatch):
    """DITHER_FEW_ROWS decides how records are read, after the charge."""
    opened = dt.open({"v": [1, 2, 3]}, columns={"v": dt.Integer(0, 10)}, budget=BUDGET, rows=3)
    monkeypatch.setenv("DITHER_FEW_ROWS", "many")
    with pytest.raises(dt.InvalidArgument, match="DITHER_FEW_ROWS"):
        opened.ask(dt.Median("v"), epsilon=1.0)
    assert opened.budget.spent == dt.Loss(0.0)


def people(units):
    """How many people a count is centred on."""
    columns = {"v": dt.Integer(0, 10)}
    opened = dt.open({"v": [1] * len(units), "u": units}, columns=columns, unit="u", rows_per_unit=1, budget=BUDGET)
    return dt.inspect.value(dt.Count(), opened)


@pytest.mark.slow
def test_nobody_decides_who_the_others_are():
    """One more person moves the number of people by one, whatever their identity is written as."""
    moments = [datetime.datetime(2000, 1, 1, 0, 0, second, tzinfo=datetime.UTC) for second in range(50)]
    shifted = [one.astimezone(datetime.timezone(datetime.timedelta(hours=1))) for one in moments]
    for units in (moments, [*moments, *shifted], list(range(50)), [1, 2.5, "x"]):
        for other in (datetime.date(2001, 1, 1), "y", 77, 1.5, True, 10**400):
            assert people([*units, other]) == people([other, *units]) == people(units) + 1
        assert people([*units, None]) == people([*units, float("nan")]) == people(units)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_moments_beyond_the_calendar_fail_nothing(tmp_path, unit, zone):
    """As dates, and in columns that nobody declared; they cannot tell people apart."""
    import pyarrow.parquet as pq

    day = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit] * 86_400
    moments = [10_957 * day] * 5 + [2**62, -(2**62), 2**63 - 1, -(2**63) + 5, None]
    made = pa.array(moments, pa.int64()).cast(pa.timestamp(unit, zone))
    table = pa.table({"at": made, "v": [1.0] * 10, "span": pa.array(moments, pa.int64()).cast(pa.duration(unit))})
    sources = [table, table.to_pandas()]
    if unit != "s":  # (which Parquet does not have)
        pq.write_table(table.drop_columns(["span"]), tmp_path / "t.parquet")
        sources += [str(tmp_path / "t.parquet")]
    days, reals = {"at": dt.Date("2000-01-01", "2020-01-01")}, {"v": dt.Real(0, 2)}
    for source in sources:
        plain = dt.open(source, columns=reals, budget=BUDGET, rows=10)
        assert dt.inspect.value(dt.Sum("v"), plain) == 10
        plain.ask(dt.Count(), where="v > 0", epsilon=1.0)
        # DuckDB converts milliseconds while it reads, and has no type for nanoseconds with a zone.
        if isinstance(source, str) and (unit == "ms" or (unit == "ns" and zone is not None)):
            with pytest.raises(dt.InvalidArgument, match="at"):
                dt.open(source, columns=days, budget=BUDGET)
            continue
        opened = dt.open(source, columns=days | reals, budget=BUDGET, rows=10)
        for where in (None, "at >= '2000-01-01'", "at IS NULL"):
            assert opened.ask(dt.Count(), where=where or "v > 0", epsilon=1.0).value is not None
        assert opened.ask(dt.Median("at"), epsilon=1.0).value is not None
        with pytest.raises(dt.InvalidArgument, match="moments in time"):
            dt.open(source, columns=reals, budget=BUDGET, unit="at", rows_per_unit=1)


def test_decimals_that_are_none_fail_nothing():
    """Bits beyond 38 digits."""
    for raw in (-(2**127), 2**127 - 1, 1):
        bits = b"".join(int(one).to_bytes(16, "little", signed=True) for one in (1, 2, raw))
        for scale in (0, 10):
            made = pa.Array.from_buffers(pa.decimal128(38, scale), 3, [None, pa.py_buffer(bits)])
            opened = dt.open(pa.table({"v": made}), columns={"v": dt.Real(0, 10)}, budget=BUDGET, rows=3)
            assert opened.ask(dt.Median("v"), epsilon=1.0).value is not None


def test_views_over_text_files_are_refused(tmp_path):
    """The types of their columns are taken from records, and one record makes reading fail."""
    import duckdb

    (tmp_path / "t.csv").write_text("v\n1\n2\n")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.read_csv(str(tmp_path / "t.csv")).create_view("below")
        connection.execute("CREATE VIEW seen AS SELECT * FROM below")
        connection.execute("CREATE TABLE kept AS SELECT 1.5 AS v")
        connection.execute("CREATE VIEW above AS SELECT v FROM kept")
    for table in ("kept", "above"):
        opened = dt.open(tmp_path / "t.duckdb", table=table, columns={"v": dt.Real(0, 2)}, budget=BUDGET, rows=1)
        assert dt.inspect.value(dt.Sum("v"), opened) == 1.5
        opened.close()
    with pytest.raises(dt.InvalidArgument, match="text files"):
        dt.open(tmp_path / "t.duckdb", table="seen", columns={"v": dt.Real(0, 2)}, budget=BUDGET)


def test_long_lines_are_cut(tmp_path):
    """Splitting a line of very many fields takes no more memory than a public number of bytes needs."""
    from dither.sources.lines import LONGEST, blocks

    file = tmp_path / "t.csv"
    file.write_bytes(b"v,w\n1,2\n" + b"," * (40 << 20) + b"\n3,4\n" + b"5," * (2 << 20))
    lengths = [len(line) for block in blocks(file) for line in block.split(b"\n")[:-1]]
    assert lengths == [3, LONGEST, 3, LONGEST]
    opened = dt.open(str(file), columns={"v": dt.Real(0, 10)}, budget=BUDGET, rows=4)
    assert dt.inspect.value(dt.Sum("v"), opened) == 9
