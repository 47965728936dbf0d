"""Nothing outside a record decides how it is read: no other record, session, role, machine, file name or function.

Each class of mistake has a detector here, and ``test_outside_a_record_mutants`` puts each mistake back alone.
"""

import contextlib
import datetime
import os
import sqlite3
import struct
import time
from urllib.parse import quote

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp

import dither as dt
from contract.record_sources import EVERYWHERE, TEXTS, asked, stored
from dither.sources.engines.duckdb import DuckDB
from dither.sources.engines.postgres import Postgres
from dither.sources.files import file_column_type, file_rows, read_file_column, read_file_entries
from dither.sources.formats import ISO_MOMENTS
from dither.sources.moments import CalendarNumbers

EPOCH = datetime.date(1970, 1, 1)
FIRST, LAST = datetime.date.min, datetime.date.max

# --- days in texts: one rule, one table of spellings ----------------------------------------------------------------

SPELLINGS = {
    "2024-01-31": datetime.date(2024, 1, 31),
    "2024-1-3": datetime.date(2024, 1, 3),
    " 2024-01-31": datetime.date(2024, 1, 31),
    "\u00a02024-01-31\u3000": datetime.date(2024, 1, 31),
    "2024-01-31 12:30": datetime.date(2024, 1, 31),
    "2024-01-31T12:30:00Z": datetime.date(2024, 1, 31),
    "2024-01-31T12:30:15.123456789": datetime.date(2024, 1, 31),
    "2024-01-31T23:30:00-05:00": datetime.date(2024, 2, 1),
    "2024-01-31 00:30 +0500": datetime.date(2024, 1, 30),
    "2024-02-29": datetime.date(2024, 2, 29),
    "0001-01-01": FIRST,
    "0001-01-01 00:30+05": FIRST,
    "9999-12-31": LAST,
    "9999-12-31T23:30:00-05:00": LAST,
    **dict.fromkeys(("2023-02-29", "2024-02-30", "2024-00-10", "2024-13-01", "2024-01-00", "2024-01-32", "0000-01-01")),
    **dict.fromkeys(
        ("20240131", "2024-W05-3", "2024-031", "2024-01", "2024/01/31", "31.01.2024", "1/3/11", "24-01-31")
    ),
    **dict.fromkeys(
        ("2024-01-31 24:00", "2024-01-31 12:60", "2024-01-31T12", "2024-01-31 noon", "2024-01-31x", "x", "")
    ),
    **dict.fromkeys(("infinity", "-infinity", "10000-01-01", "-2024-01-31", "+2024-01-31", "2024-01-31\t", "now")),
    **dict.fromkeys(
        ("\u0662\u0660\u0662\u0664-01-31", "\uff12024-01-31", "2024\u201101\u201131", "2024-01-31T12:30 CET")
    ),
}
"""What each text is where no format is declared; None: missing.  Day of UTC, cut to the calendar."""


def lists(place, table):
    """Columns as lists."""
    return {"source": table.to_pydict()}


def objects(place, table):
    """A pandas frame of objects."""
    return {
        "source": pd.DataFrame({name: pd.Series(table[name].to_pylist(), dtype=object) for name in table.column_names})
    }


def sqlite_dates(place, table):
    """A SQLite file whose texts are declared as days."""
    file = place.file(".sqlite")
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE records (d DATE, i INTEGER)")
        connection.executemany("INSERT INTO records VALUES (?, ?)", zip(*table.to_pydict().values(), strict=True))
    return {"source": str(file), "table": "records"}


READS_TEXTS = {**TEXTS, **{one.__name__: one for one in (lists, objects, sqlite_dates)}}
REFUSES_TEXTS = sorted(EVERYWHERE.keys() - TEXTS.keys() - {"postgres_numeric", "parquet_pandas", "parquet_spark"})


def days_read(source, rows, **options):
    """What each record counts as: a day, the first of all where it is missing."""
    columns = {"d": dt.Date(FIRST, LAST, nulls="lower"), "i": dt.Integer(0, rows)}
    with asked(source, columns, **options) as session:
        values = dt.inspect.value(dt.Minimum("d"), session, by="i")
        return [EPOCH + datetime.timedelta(days=int(values[index,])) for index in range(rows)]


def spelled():
    """The table of spellings, and a record that is missing."""
    texts = [None, *SPELLINGS]
    return pa.table({"d": pa.array(texts, pa.string()), "i": pa.array(range(len(texts)), pa.int64())})


@pytest.mark.parametrize("name", sorted(READS_TEXTS))
def test_days_in_texts_are_read_by_one_rule(name, place):
    """Text files, lists, columns of objects and SQLite read every spelling alike."""
    found = days_read(READS_TEXTS[name](place(name), spelled()), len(SPELLINGS) + 1)
    assert dict(zip(SPELLINGS, found[1:], strict=True)) == {text: day or FIRST for text, day in SPELLINGS.items()}


@pytest.mark.parametrize("name", REFUSES_TEXTS)
def test_days_in_columns_of_texts_need_a_format(name, place):
    """Everywhere else a column of texts is refused when it is opened, whatever it holds."""
    given = EVERYWHERE[name](place(name), spelled())
    with pytest.raises(dt.InvalidArgument, match="say how they are written"):
        days_read(given, len(SPELLINGS) + 1)


def test_days_in_texts_of_arrays_and_moments_follow_the_same_rule():
    """One-line functions, and columns of moments: the day of a text is the day of its moment."""
    found = CalendarNumbers(in_seconds=False).read(list(SPELLINGS))
    for text, day, number, missing in zip(SPELLINGS, SPELLINGS.values(), found.data, found.mask, strict=True):
        second = ISO_MOMENTS.second(text)
        assert (None if second is None else EPOCH + datetime.timedelta(days=second // 86_400)) == day, text
        assert (None if missing else EPOCH + datetime.timedelta(days=int(number))) == day, text


@pytest.mark.slow
def test_every_day_of_the_calendar_is_one_in_text_files(place):
    """Days of leap years and of others, and days that are none, as Python has them."""
    file = place("csv_file").file(".csv")
    texts = [
        f"{year:04}-{month}-{day}"
        for year in (0, 1, 4, 100, 1582, 1900, 2000, 2023, 2024, 9999)
        for month in range(14)
        for day in range(33)
    ]
    file.write_text("d\n" + "".join(f"{text}\n" for text in texts))
    with contextlib.closing(DuckDB(file)) as engine:
        day = exp.Coalesce(this=engine.day("d", "text", ISO_MOMENTS), expressions=[exp.Literal.number(10**9)])
        found = engine.arrays(exp.select(exp.alias_(day, "x")).from_(engine.table()))[0].tolist()
    expected = [ISO_MOMENTS.day(text) for text in texts]
    assert sum(one is not None for one in expected) == 3 * 366 + 6 * 365
    assert found == [10**9 if one is None else (one - EPOCH).days for one in expected]


# --- the day of a moment, whatever the time zone of the machine, the session or the role ----------------------------

EAST = datetime.datetime(2024, 1, 1, 0, 30, tzinfo=datetime.timezone(datetime.timedelta(hours=5)))
UTC_DAY = datetime.date(2023, 12, 31)
ZONES = ("America/New_York", "Asia/Tokyo")
ZONED = (
    "parquet_arrow",
    "duckdb_table",
    "arrow_frame",
    "pandas_numpy",
    "pandas_arrow",
    "polars_frame",
    "lists",
    "objects",
)


def moments():
    """One moment that lies in another day in most time zones."""
    return {"d": pa.array([EAST], pa.timestamp("us", "UTC")), "i": pa.array([0], pa.int64())}


@contextlib.contextmanager
def machine_zone(zone):
    """Within it the machine has this time zone."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = zone
    time.tzset()
    try:
        yield
    finally:
        os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
        time.tzset()


def zoned_source(name, place):
    """The moment in a source; of lists and objects with the time zone that it was written in."""
    if name in ("lists", "objects"):
        source = {"d": [EAST], "i": [0]}
        return {"source": source if name == "lists" else pd.DataFrame(source, dtype=object)}
    return stored(name, place, moments())


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("name", ZONED)
def test_the_machines_time_zone_changes_no_day(name, zone, place):
    """Files, tables, frames and lists have the day of UTC."""
    with machine_zone(zone):
        assert days_read(zoned_source(name, place), 1) == [UTC_DAY]


def test_the_machines_time_zone_changes_no_day_of_a_view(place):
    """A view that casts by itself does so in UTC; nor do texts that dither ask makes of moments change."""
    import duckdb

    given, parquet = stored("duckdb_table", place, moments()), stored("parquet_arrow", place, moments())
    with duckdb.connect(given["source"]) as connection:
        connection.execute("CREATE VIEW days AS SELECT CAST(d AS DATE) AS d, i FROM records")
    for zone in ZONES:
        with machine_zone(zone):
            assert days_read({**given, "table": "days"}, 1) == [UTC_DAY]
            assert read_file_entries(parquet["source"], "d") == ["2023-12-31 19:30:00+00"]


@pytest.mark.parametrize("zone", ZONES)
def test_the_time_zone_of_a_role_changes_no_day(zone, place):
    """PostgreSQL: a table of moments, and a view that casts by itself."""
    import psycopg

    given = stored("postgres_table", place, moments())
    with psycopg.connect(given["source"], autocommit=True) as connection:
        connection.execute(f"CREATE VIEW {given['table']}_days AS SELECT d::date AS d, i FROM {given['table']}")
    address = f"{given['source']}?options={quote(f'-cTimeZone={zone} -cDateStyle=German')}"
    for table in (given["table"], f"{given['table']}_days"):
        assert days_read({"source": address, "table": table}, 1) == [UTC_DAY]


@pytest.mark.parametrize("zone", ZONES)
def test_the_time_zone_of_a_spark_session_changes_no_day(zone, place, spark):
    """A frame belongs to its owner's session, whose time zone stays as it is."""
    given = stored("spark_frame", place, moments())
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        assert days_read(given, 1) == [UTC_DAY]
        assert spark.conf.get("spark.sql.session.timeZone") == zone
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


# --- functions that replace built-in ones ---------------------------------------------------------------------------


def test_a_function_of_the_database_replaces_no_built_in_one(postgres):
    """PostgreSQL: a search path that names another schema first; the table is found along it all the same."""
    import psycopg

    name = f"hostile_{os.urandom(4).hex()}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
        connection.execute(f"CREATE TABLE {name}.pay (x double precision, d timestamp, i bigint)")
        connection.execute(f"INSERT INTO {name}.pay VALUES (7, '2024-01-31 12:30', 0)")
        for function, argument in (("round", "double precision"), ("floor", "numeric"), ("abs", "double precision")):
            made = f"{name}.{function}({argument}) RETURNS {argument} LANGUAGE sql AS 'SELECT -1::{argument}'"
            connection.execute(f"CREATE FUNCTION {made}")
    address = f"{postgres}?options={quote(f'-csearch_path={name},pg_catalog')}"
    assert days_read({"source": address, "table": "pay"}, 1) == [datetime.date(2024, 1, 31)]
    with asked({"source": address, "table": "pay"}, {"x": dt.Integer(0, 10)}) as session:
        assert dt.inspect.value(dt.Median("x"), session) == 7
    with pytest.raises(dt.InvalidArgument, match=r"schema\.table"):
        Postgres(address, f"{name}.pay.x")


def test_a_macro_of_a_database_file_replaces_no_built_in_function(place):
    """DuckDB: macros of the file's own are not those of our connection."""
    import duckdb

    given = stored("duckdb_table", place, {"x": [7.0], "i": pa.array([0], pa.int64())})
    with duckdb.connect(given["source"]) as connection:
        for macro in ("isfinite(x) AS false", "greatest(x, y) AS -1", "isnan(x) AS true"):
            connection.execute(f"CREATE MACRO {macro}")
    with asked(given, {"x": dt.Real(0, 10)}) as session:
        assert dt.inspect.value(dt.Median("x"), session) == pytest.approx(7)


# --- names of files -------------------------------------------------------------------------------------------------

NAMES = {"pay[1]": "pay1", "p*y": "pxy", "pa?": "pay", "[!a]": "b", "~pay": "pay", "{a,b}": "a", "x=7/pay": "pay"}
"""A name that could be a pattern, and one that it would match, or that an engine would read instead."""


def named_files(folder, name, suffix):
    """A file of this name, of three records 9, beside another one that the name as a pattern would be."""
    for stem, value, rows in ((NAMES[name], 1.0, 5), (name, 9.0, 3)):
        file = folder / f"{stem}{suffix}"
        file.parent.mkdir(exist_ok=True)
        if suffix == ".csv":
            file.write_text("x\n" + f"{value}\n" * rows)
        else:
            pq.write_table(pa.table({"x": [value] * rows}), file)
    return f"{name}{suffix}"


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("name", sorted(NAMES))
def test_the_name_of_a_file_is_no_pattern(name, suffix, tmp_path, monkeypatch):
    """Every reader reads this file and no other, from its own folder too."""
    monkeypatch.chdir(tmp_path)
    file = named_files(tmp_path, name, suffix)
    assert read_file_column(file, "x").tolist() == [9.0] * 3
    assert [float(one) for one in read_file_entries(file, "x")] == [9.0] * 3
    assert file_rows(file) == 3
    assert file_column_type(file, "x") == np.float64
    with asked({"source": file}, {"x": dt.Real(0, 10)}) as session:
        assert dt.inspect.value(dt.Sum("x"), session) == pytest.approx(27)


def test_a_name_that_cannot_be_written_for_duckdb_is_refused(tmp_path):
    """A backslash beside a character of patterns: refused by name, before anything is read."""
    file = tmp_path / "b\\[1].parquet"
    pq.write_table(pa.table({"x": [1.0]}), file)
    for read in (
        lambda: read_file_column(file, "x"),
        lambda: dt.open(str(file), columns={"x": dt.Real(0, 1)}, budget=dt.Budget(1)),
    ):
        with pytest.raises(dt.InvalidArgument, match="rename it"):
            read()


@pytest.mark.usefixtures("spark")
def test_the_name_of_a_file_is_no_pattern_in_spark(tmp_path):
    """The path behind the address is that of one file or folder."""
    for name in ("pay[1]", "{a,b}"):
        file = tmp_path / named_files(tmp_path, name, ".parquet")
        with asked({"source": f"spark+local[2]!{file}"}, {"x": dt.Real(0, 10)}) as session:
            assert dt.inspect.value(dt.Sum("x"), session) == pytest.approx(27)


# --- one record that makes a scan fail ------------------------------------------------------------------------------


def stored_bits(values, stored_type, whole=None):
    """An Arrow column of any bits."""
    array = pa.array(values, whole or pa.int64())
    return pa.Array.from_buffers(stored_type, len(array), array.buffers())


def stored_decimals(values, digits):
    """An Arrow column of decimals of any bits, with two places."""
    data = b"".join(int(one).to_bytes(16, "little", signed=True) for one in values)
    return pa.Array.from_buffers(pa.decimal128(digits, 2), len(values), [None, pa.py_buffer(data)])


def deprecated_moments(file, nanoseconds, day):
    """A Parquet file of moments in 96 bits, the last of them of any bits."""
    stamp = 123_456_789_012_345_678
    table = pa.table({"t": stored_bits([0, 0, stamp], pa.timestamp("ns"))})
    pq.write_table(
        table,
        file,
        use_deprecated_int96_timestamps=True,
        use_dictionary=False,
        compression="none",
        write_statistics=False,
    )
    days, rest = divmod(stamp, 86_400 * 10**9)
    data, mark = file.read_bytes(), struct.pack("<qi", rest, 2_440_588 + days)
    assert data.count(mark) == 1
    file.write_bytes(data.replace(mark, struct.pack("<qi", nanoseconds, day)))


LARGEST, LEAST = (1 << 63) - 1, -(1 << 63)
WHEN, NUMBER = dt.Timestamp("2000-01-01 00:00", "2020-01-01 00:00", nulls="lower"), dt.Real(0, 10)
DAY = dt.Date("2000-01-01", "2020-01-01", nulls="lower")
EXTREMES = {
    "milliseconds": (
        lambda last: stored_bits([0, 0, last], pa.timestamp("ms")),
        (LARGEST, LEAST, 9_404_640_000_000_000),
        WHEN,
    ),
    "microseconds": (lambda last: stored_bits([0, 0, last], pa.timestamp("us")), (LARGEST, LEAST), WHEN),
    "microseconds of UTC": (lambda last: stored_bits([0, 0, last], pa.timestamp("us", "UTC")), (LARGEST, LEAST), DAY),
    "nanoseconds": (lambda last: stored_bits([0, 0, last], pa.timestamp("ns")), (LARGEST, LEAST), WHEN),
    "days": (
        lambda last: stored_bits([0, 0, last], pa.date32(), pa.int32()),
        ((1 << 31) - 1, -(1 << 31), -200_000),
        DAY,
    ),
    "decimals of 18 digits": (lambda last: stored_decimals([1, 2, last], 18), (10**18, -(1 << 62)), NUMBER),
    "decimals of 20 digits": (lambda last: stored_decimals([1, 2, last], 20), (10**21,), NUMBER),
    "decimals of 38 digits": (lambda last: stored_decimals([1, 2, last], 38), ((1 << 127) - 1,), NUMBER),
    "numbers without a sign": (lambda last: pa.array([1, 2, last], pa.uint64()), ((1 << 64) - 1,), NUMBER),
    "96 bits": (None, ((0, (1 << 31) - 1), (LEAST, -(1 << 31)), (0, 1_000_000)), WHEN),
}
"""A type, what one record may be stored as in it, and what the column is declared as."""
ORDINARY = {"96 bits": (0, 2_440_588)}


def extreme_file(folder, name, last):
    """A Parquet file of three records of a type, the last of them this one."""
    file = folder / f"{abs(hash((name, last)))}.parquet"
    if name == "96 bits":
        deprecated_moments(file, *last)
    else:
        pq.write_table(pa.table({"t": EXTREMES[name][0](last)}), file)
    return file


def fate(read):
    """What becomes of an attempt: "answered", or why it was refused."""
    try:
        read()
    except dt.InvalidArgument as error:
        return error.rule
    except (dt.DitherError, ArithmeticError, ValueError) as error:
        return f"failed: {type(error).__name__}"
    return "answered"


def asked_about(source, declared):
    """Open a source, and ask about its column and about another selection by it."""
    with asked(source, {"t": declared}) as session:
        end = "5" if declared is NUMBER else "'2005-01-01'" if declared is DAY else "'2005-01-01 00:00'"
        session.ask(dt.Median("t"), epsilon=1.0)
        session.ask(dt.Count(), where=f"t > {end}", epsilon=1.0)


def check_fates(name, folder, reads):
    """One record changes no fate, and nothing fails: an answer, or a refusal by the type alone."""
    _, extremes, declared = EXTREMES[name]
    files = [extreme_file(folder, name, last) for last in (ORDINARY.get(name, 1), *extremes)]
    for read in reads:
        fates = {fate(lambda file=file, read=read: read(file, declared)) for file in files}
        assert len(fates) == 1, (name, fates)
        assert not any(one.startswith("failed") for one in fates), (name, fates)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", sorted(EXTREMES))
def test_one_record_makes_no_scan_of_a_file_fail(name, tmp_path):
    """Sessions, and what dither ask reads without a schema: as numbers, and as texts."""
    check_fates(
        name,
        tmp_path,
        (
            lambda file, declared: asked_about({"source": str(file)}, declared),
            lambda file, declared: read_file_entries(file, "t"),
            lambda file, declared: read_file_column(file, "t"),
        ),
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", sorted(EXTREMES.keys() - {"milliseconds", "nanoseconds", "96 bits"}))
def test_one_record_makes_no_scan_of_a_frame_fail(name):
    """Frames of Arrow, and of pandas over Arrow."""
    build, extremes, declared = EXTREMES[name]
    for form in (lambda table: table, lambda table: table.to_pandas(types_mapper=pd.ArrowDtype)):
        for last in (1, *extremes):
            asked_about({"source": form(pa.table({"t": build(last)}))}, declared)


def spark_frames(spark):
    """A frame over a file, and the address of the same file."""
    return (
        lambda file, declared: asked_about({"source": spark.read.parquet(str(file))}, declared),
        lambda file, declared: asked_about({"source": f"spark+local[2]!{file}"}, declared),
    )


@pytest.mark.parametrize("name", ["milliseconds", "decimals of 20 digits"])
def test_one_record_makes_no_scan_of_spark_fail(name, tmp_path, spark):
    """What Spark converts with an error for some records is refused by the type, from the schemas of the files."""
    check_fates(name, tmp_path, spark_frames(spark))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(EXTREMES.keys() - {"milliseconds", "decimals of 20 digits", "nanoseconds"}))
def test_one_record_makes_no_scan_of_spark_fail_in_any_type(name, tmp_path, spark):
    """All other types; Spark refuses nanoseconds itself, whatever the records are."""
    check_fates(name, tmp_path, spark_frames(spark))


def test_frames_of_spark_that_compute_from_such_columns_are_refused(tmp_path, spark):
    """A filter or an expression reads the column in every question; a frame without it may be asked."""
    file = tmp_path / "ms.parquet"
    pq.write_table(pa.table({"t": stored_bits([0, 0, LARGEST], pa.timestamp("ms")), "x": [1.0, 2.0, 3.0]}), file)
    frame, columns = spark.read.parquet(str(file)), {"x": dt.Real(0, 10)}
    for refused in (
        frame.filter("t > '2005-01-01'").drop("t"),
        frame.selectExpr("x", "year(t) AS y"),
        frame.groupBy("t").count().withColumnRenamed("count", "x"),
        frame.join(frame.select("x"), "x"),
    ):
        with (
            pytest.raises(dt.InvalidArgument, match=r"milliseconds.*drop it first"),
            asked({"source": refused}, columns),
        ):
            pass
    for accepted in (frame, frame.drop("t").filter("x > 1").selectExpr("x", "x + 1 AS y")):
        with asked({"source": accepted}, columns) as session:
            assert dt.inspect.value(dt.Maximum("x"), session) == pytest.approx(3)
    dropped = frame.persist().drop("t")
    try:
        with pytest.raises(dt.InvalidArgument, match="cached"), asked({"source": dropped}, columns):
            pass
    finally:
        frame.unpersist()


def test_frames_of_spark_whose_files_are_not_known_have_no_days(tmp_path, spark):
    """Days and moments of other files than Parquet are refused by their type, and so are readers that fail."""
    (tmp_path / "pay.csv").write_text("x,d\n1,2020-01-01\n")

    def frame_of(mode):
        reader = spark.read.schema("x DOUBLE, d DATE").option("header", "true").option("mode", mode)
        return reader.csv(str(tmp_path / "pay.csv"))

    for mode, columns in (("PERMISSIVE", {"d": DAY}), ("FAILFAST", {"x": NUMBER})):
        frame = frame_of(mode)
        with pytest.raises(dt.InvalidArgument, match=r"not known|FAILFAST"), asked({"source": frame}, columns):
            pass
    with asked({"source": frame_of("PERMISSIVE")}, {"x": NUMBER}) as session:
        assert dt.inspect.value(dt.Sum("x"), session) == pytest.approx(1)


def test_settings_of_spark_that_make_old_days_fail_are_refused(tmp_path, spark):
    """EXCEPTION raises for one day before 1582: refused when opened, and if the setting changes before a charge."""
    file, setting = tmp_path / "days.parquet", "spark.sql.parquet.datetimeRebaseModeInRead"
    pq.write_table(pa.table({"t": stored_bits([0, -200_000], pa.date32(), pa.int32())}), file)
    frame, usual = spark.read.parquet(str(file)), spark.conf.get(setting)
    with asked({"source": frame}, {"t": DAY}) as session:
        spark.conf.set(setting, "EXCEPTION")
        try:
            before = session.budget
            with pytest.raises(dt.SourceFailed, match="nothing was charged"):
                session.ask(dt.Median("t"), epsilon=1.0)
            assert session.budget == before
            with pytest.raises(dt.InvalidArgument, match="before 1582"), asked({"source": frame}, {"t": DAY}):
                pass
        finally:
            spark.conf.set(setting, usual)


# --- names that stand twice -----------------------------------------------------------------------------------------


def repeated_files(folder):
    """Text files and Parquet with two columns of one name."""
    (folder / "twice.csv").write_text("x,y,x\n1,2,3\n")
    (folder / "twice.tsv").write_text("x\ty\tx\n1\t2\t3\n")
    pq.write_table(repeated_frames()[0], folder / "twice.parquet")
    return [str(folder / f"twice.{suffix}") for suffix in ("csv", "tsv", "parquet")]


def repeated_frames():
    """Frames with two columns of one name."""
    names = ["x", "y", "x"]
    return pa.Table.from_arrays([pa.array([1.0])] * 3, names=names), pd.DataFrame([[1.0, 2.0, 3.0]], columns=names)


def repeated_view(folder):
    """A view of SQLite with two columns of one name, of which SQLite renames the second."""
    with contextlib.closing(sqlite3.connect(folder / "twice.sqlite")) as connection, connection:
        connection.execute("CREATE VIEW twice AS SELECT 1.0 AS x, 2.0 AS y, 3.0 AS x")
    return {"source": str(folder / "twice.sqlite"), "table": "twice"}


def test_names_that_stand_twice_are_refused(tmp_path):
    """When a source is opened, whatever is asked; text files say the places, for without a header they have records."""
    (tmp_path / "case.csv").write_text("x,X,y\n1,2,3\n")
    cases = [pd.DataFrame([[1.0, 2.0, 3.0]], columns=["x", "X", "y"]), str(tmp_path / "case.csv")]
    sources = [{"source": one} for one in (*repeated_files(tmp_path), *repeated_frames(), *cases)]
    for source in (*sources, repeated_view(tmp_path)):
        with pytest.raises(dt.DitherError) as raised, asked(source, {"y": dt.Real(0, 10)}):
            pass
        text = str(raised.value)
        named = ("='x'", "='X'", "two columns x", "columns 1 and 2", "columns 1 and 3")
        assert any(name in text for name in named), text
        assert "nothing was charged" in text, text


def test_names_that_stand_twice_are_refused_without_a_schema(tmp_path):
    """One-line functions of frames, and dither ask of a file: the column is named."""
    for file in repeated_files(tmp_path):
        for read in (read_file_column, read_file_entries, file_column_type):
            with pytest.raises(dt.InvalidArgument, match=r"stands (2 times|twice)"):
                read(file, "x")
    for frame in repeated_frames():
        with pytest.raises(dt.InvalidArgument, match="stands twice"):
            dt.correlation(frame, bounds=[(0, 10), (0, 10)], epsilon=1.0)


def test_names_that_stand_twice_are_refused_in_spark(spark):
    """A frame with one name twice, or with names that differ in case alone."""
    for frame in (spark.range(3).selectExpr("id AS x", "id AS x"), spark.range(3).selectExpr("id AS x", "id AS X")):
        with pytest.raises(dt.InvalidArgument, match="stands twice"), asked({"source": frame}, {"x": dt.Integer(0, 3)}):
            pass
