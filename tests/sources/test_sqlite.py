"""SQLite: whatever a record is stored as, in whatever column, it is read as declared, and no record makes an error."""

import contextlib
import datetime
import itertools
import math
import sqlite3

import numpy as np
import pytest
from sqlglot import exp

import dither as dt
from contract import record_oracle as oracle
from contract.record_cases import LOWER, POLICIES, QUESTIONS, UPPER, chosen, close, real
from contract.record_sources import PATHS, asked, both_ways, read_by
from dither.sources.engines import sqlite
from dither.sources.engines.engine import Engine, double_literal
from dither.sources.engines.factory import engine_of, guessed
from dither.sources.engines.sqlite import SQLite
from dither.sources.predicates import literal

ODD = [
    *(None, 3, -1, 2**53 + 1, 2**63 - 1, -(2**63), 0.25, -0.0, 5e-324, 1.7e308, math.inf, -math.inf, math.nan),
    *("7", "abc", "", "1e400", "nan", "inf", "a\x00b", "9" * 400, b"", b"5", b"\xff\xfe", b"\x00" * 9, 9.75),
]
"""Numbers, texts and bytes: any of them may stand in any column."""
TYPES = {"INTEGER": "whole", "REAL": "real", "DECIMAL(9, 2)": "decimal", "DOUBLE PRECISION": "real", "BIGINT": "whole"}


def database(file, columns, rows, *more):
    """A file with the table t."""
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"CREATE TABLE t ({columns})")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(rows[0]))})", rows)
        for statement in more:
            connection.execute(statement)
    return {"source": str(file), "table": "t"}


def held(given, name="v"):
    """What SQLite keeps of each record: a column of numbers makes numbers of texts that are some."""
    with contextlib.closing(sqlite3.connect(given["source"])) as connection:
        return [row[0] for row in connection.execute(f"SELECT {name} FROM t ORDER BY rowid")]


def numbers(records):
    """The rule: numbers are numbers, and any text or bytes beside them are missing."""
    return [one if isinstance(one, (int, float)) else None for one in records]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("declared_as", TYPES)
def test_texts_and_bytes_in_columns_of_numbers_are_missing(declared_as, path, tmp_path, monkeypatch):
    """Every statistic of records of all storage classes is that of the declared reading."""
    read_by(path, monkeypatch)
    given = database(tmp_path / "t.sqlite", f"v {declared_as}", [(one,) for one in ODD])
    records = numbers(held(given))
    assert None in records[1:]
    for nulls, private in chosen(itertools.product(POLICIES, (False, True)), 3, (declared_as, path)):
        column, declared = real(nulls)
        hidden = private or nulls == "drop"
        steps = declared.read(records)
        with asked(given, {"v": column}, rows=None if private else len(ODD)) as session:
            for one in QUESTIONS:
                if (one.private or not hidden) and (hidden or len(steps) >= one.least):
                    found = dt.inspect.value(one.query("v"), session)
                    truth = oracle.plain(one.truth(steps, declared, hidden))
                    assert close(found, truth, one.tolerance * (UPPER - LOWER) if hidden else 0.0), (one.name, nulls)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("odd", "path"), both_ways(ODD), ids=lambda one: repr(one)[:16])
def test_one_odd_record_never_decides_whether_there_is_an_answer(odd, path, tmp_path, monkeypatch):
    """In every column at once: a number, a key, a category, a flag, a day, a person."""
    read_by(path, monkeypatch)
    usual = (1, 1.5, "a", 1, "1970-02-01", "x")
    kinds = "i INTEGER, r REAL, c TEXT, b BOOLEAN, d DATE, u INTEGER COLLATE NOCASE"
    given = database(tmp_path / "t.sqlite", kinds, [usual] * 9 + [(odd,) * 6] + [(2, 2.5, "b", 0, "1970-03-01", "X")])
    columns = {"i": dt.Integer(0, 3), "r": dt.Real(0, 9), "c": dt.Category(["a", "b"]), "b": dt.Boolean()}
    columns["d"] = dt.Date("1970-01-01", "1970-12-31")
    with asked(given, columns, rows=11) as session:
        for question in (dt.Sum("i"), dt.Variance("r"), dt.Median("r"), dt.Median("d"), dt.Count("b"), dt.Quality("i")):
            assert session.ask(question, epsilon=1.0).value is not None
        assert sum(session.ask(dt.Histogram("c"), epsilon=500.0, confidence=None).value) == 11
        for by in ("i", "c", "b", "d"):
            assert session.ask(dt.Median("r"), by=by, where="r > 1 OR i IS NULL", epsilon=1.0)
        assert dt.inspect.rows(session, list(columns)).num_rows == 11
    with asked(given, {**columns, "c": dt.Category()}, unit="u", rows_per_unit=1, name="people") as session:
        assert session.ask(dt.Sum("i"), epsilon=1.0).value is not None
        assert dt.inspect.value(dt.Count(), session) == 2 + (odd is not None and odd == odd)  # (x, X, and this one)
        session.ask(dt.Count(), by="c", epsilon=1.0, delta=1e-6)


def test_sums_beyond_64_bits_are_exact(tmp_path):
    """SQLite's own sum raises an error there, and one of doubles rounds."""
    rows = [(2**62 + index,) for index in range(9)] + [(-(2**63),)] + [(2**63 - 1,)] * 4
    engine = SQLite(**database(tmp_path / "t.sqlite", "v INTEGER", rows))
    wanted = exp.select(engine.exact_sum(exp.column("v"))).from_(engine.table())
    assert int(engine.rows(wanted)[0][0]) == sum(one for (one,) in rows)


@pytest.mark.slow
def test_doubles_are_written_and_rounded_exactly(tmp_path):
    """SQLite's own reader of decimals is off by a bit of some; ties are rounded to even up to the largest grids."""
    engine = SQLite(**database(tmp_path / "t.sqlite", "v", [(1,)]))
    rng = np.random.default_rng(3)
    some = rng.integers(0, 2**63 - 2**53, 500).view(np.float64)
    odd = [0.1, 1 / 3, 5e-324, 2.0**-1022, np.nextafter(2.0**-1022, 0), np.finfo(float).max, math.inf, 2.0**52 + 1, 0.0]
    for batch in np.array_split(np.concatenate([some[np.isfinite(some)], odd]), 6):
        both = [float(one) for one in (*batch, *-batch)]
        assert list(engine.rows(exp.select(*map(double_literal, both)))[0]) == both
        listed = engine.values([(one,) for one in both], "g", ["x"])
        assert [row[0] for row in engine.rows(exp.select("x").from_(listed))] == both
    halves = [base + part / 2 for base in (0, 1, 2, 2**50, 2**51 - 1, 2**51, 2**52 - 2) for part in range(4)]
    wide = [2.0**52, 2.0**52 + 1, 2.0**53 - 1, *rng.uniform(0, 2.0**52, 200), *rng.uniform(0, 9, 100)]
    for batch in np.array_split(np.array([*halves, *wide]), 4):
        both = [float(one) for one in (*batch, *-batch)]
        nearest = [engine.nearest(double_literal(one)) for one in both]
        assert list(engine.rows(exp.select(*nearest))[0]) == [round(one) for one in both]


def test_days_are_iso_texts(tmp_path):
    """Those of a moment with a time zone are of UTC; numbers and other texts are missing; the calendar has two ends."""
    read = {
        "2020-02-29": datetime.date(2020, 2, 29),
        "2020-02-29 23:59:59.5": datetime.date(2020, 2, 29),
        "2020-03-01T00:30:00+01:00": datetime.date(2020, 2, 29),
        "9999-12-31": datetime.date(9999, 12, 31),
        "0001-01-01": datetime.date(1, 1, 1),
        "0001-01-01T00:00:00+23:00": datetime.date(1, 1, 1),
        **dict.fromkeys(("2020-02-30", "now", "", 2458909.5, 1582934400, b"2020-02-29")),
    }
    given = database(tmp_path / "t.sqlite", "d DATE", [(one,) for one in read])
    bounds = dt.Date("2000-01-01", "2030-12-31", nulls="drop")
    days = [bounds.grid.clamp((one - datetime.date(1970, 1, 1)).days) for one in read.values() if one is not None]
    with asked(given, {"d": bounds}) as session:
        assert dt.inspect.value(dt.CountPresent("d"), session) == len(days)
        found = dt.inspect.value(dt.Histogram("d", edges=[0, 10957.5, 18321.5, 40000]), session)
        assert found == (2, 3, 1)
        assert sorted(days)[2:5] == [18321] * 3


def test_people_are_told_apart_by_all_bytes_of_their_names(tmp_path):
    """Whatever the column's own collation and type say."""
    people = ["a", "A", 1, "1", 1.5, b"a", b"\xff", b"\xfe", None]
    rows = [(who, 2**index) for index, who in enumerate(people * 2)]
    given = database(tmp_path / "t.sqlite", "u INTEGER COLLATE NOCASE, v INTEGER", rows)
    with asked(given, {"v": dt.Integer(0, 2**20)}, unit="u", rows_per_unit=4) as session:
        # The bytes of a are a, the column makes a number of "1", and both broken texts are the same: three have 4 rows.
        assert dt.inspect.value(dt.Count(), session) == 3 * 4 + 2 * 2
    with asked(given, {"v": dt.Integer(0, 2**20)}, unit="u", rows_per_unit=1, name="once") as session:
        assert dt.inspect.value(dt.Count(), session) == 5


def test_texts_are_no_keys(tmp_path):
    """SQLite casts any text to the number 0, and 2.5 to 2."""
    given = database(tmp_path / "t.sqlite", "v INTEGER", [(0,), ("abc",), (2.5,), (2,), (b"1",), (None,), (1e300,)])
    with asked(given, {"v": dt.Integer(0, 2)}) as session:
        assert dt.inspect.value(dt.Count(), session, by="v") == {(0,): 1, (1,): 0, (2,): 1}


def test_broken_texts_are_one_group(tmp_path):
    """Where categories are found, records whose texts are written alike are counted together."""
    rows = [(b"\xff",)] * 300 + [(b"\xfe",)] * 200 + [("a",)] * 100
    as_texts = ("CREATE TABLE s (g TEXT)", "INSERT INTO s SELECT CAST(g AS TEXT) FROM t")
    given = database(tmp_path / "t.sqlite", "g BLOB", rows, *as_texts)
    with asked({**given, "table": "s"}, {"g": dt.Category()}) as session:
        found = session.ask(dt.Count(), by="g", epsilon=500.0, delta=1e-6, confidence=None)
        assert {one.group["g"]: one.value for one in found} == {"\ufffd": 500, "a": 100}


@pytest.mark.slow
def test_long_conditions_are_answered(tmp_path):
    """SQLite refuses trees of a thousand levels: what stands in a row is balanced."""
    engine = SQLite(**database(tmp_path / "t.sqlite", "v INTEGER", [(index,) for index in range(9000)]))
    some = exp.or_(*(exp.EQ(this=exp.column("v"), expression=literal(2 * index)) for index in range(3000)))
    assert len(engine.rows(exp.select("v").from_(engine.table()).where(some))) == 3000


def test_which_files_are_read(tmp_path):
    """By their suffix or the named engine; what may compute while it is read is no column and no table."""
    computed = (
        "CREATE TABLE c (v INTEGER, w AS (abs(v)) VIRTUAL, s AS (v + 1) STORED)",
        "CREATE VIRTUAL TABLE words USING fts5(word)",
    )
    given = database(tmp_path / "t.sqlite", "v INTEGER", [(1,)], *computed)
    assert list(SQLite(given["source"], "C").stored_types()) == ["v", "s"]
    for table in (None, "words", "x"):
        with pytest.raises(dt.InvalidArgument, match="c, t"):
            SQLite(given["source"], table)
    assert guessed(tmp_path / "T.SQLite3") == guessed("t.sqlite") == "sqlite"
    other = database(tmp_path / "t.db", "v INTEGER", [(1,)])
    assert isinstance(engine_of(other["source"], table="t", engine="sqlite"), SQLite)
    with pytest.raises(dt.SourceFailed, match="name its engine"):
        engine_of(other["source"], table="t")
    (tmp_path / "no.sqlite").write_text("no database" * 99)
    with pytest.raises(dt.SourceFailed, match="no database of SQLite"):
        SQLite(tmp_path / "no.sqlite", "t")
    with contextlib.closing(sqlite3.connect(tmp_path / "wide.sqlite")) as connection:
        connection.execute("PRAGMA encoding = 'UTF-16'")
        connection.execute("CREATE TABLE t (v)")
    with pytest.raises(dt.InvalidArgument, match="UTF-8"):
        SQLite(tmp_path / "wide.sqlite", "t")


def test_one_question_reads_one_state_of_the_file(tmp_path):
    """Rows that others write are not seen, a column that is gone is no text, a replaced file is opened anew."""
    given = database(tmp_path / "t.sqlite", "v INTEGER, w INTEGER", [(1, 1)] * 5, "PRAGMA user_version = 1")
    with contextlib.closing(sqlite3.connect(given["source"])) as other:
        other.execute("PRAGMA journal_mode = WAL")
        engine = SQLite(**given)
        before = engine.state()
        with engine.snapshot():
            with other:
                other.execute("INSERT INTO t VALUES (2, 2)")
            assert engine.estimated_rows() == 5
        assert engine.estimated_rows() == 6
        assert engine.state() != before
        with other:
            other.execute("ALTER TABLE t RENAME COLUMN w TO x")
        with pytest.raises(dt.SourceFailed, match="other columns"), engine.snapshot():
            pass
    database(tmp_path / "new.sqlite", "v INTEGER, w INTEGER", [(1, 1)] * 8)
    for one in tmp_path.glob("t.sqlite-*"):
        one.unlink()
    (tmp_path / "new.sqlite").replace(tmp_path / "t.sqlite")
    engine.ready()
    with engine.snapshot():
        assert engine.estimated_rows() == 8
    (tmp_path / "t.sqlite").unlink()
    with pytest.raises(dt.SourceFailed, match="not there"):
        engine.ready()


def _read_numbers(tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        test_texts_and_bytes_in_columns_of_numbers_are_missing("INTEGER", "whole", tmp_path, patch)


MUTANTS = {
    "sums in 64 bits": (SQLite, "exact_sum", Engine.exact_sum, test_sums_beyond_64_bits_are_exact),
    "people by the column's collation": (
        SQLite,
        "person",
        Engine.person,
        test_people_are_told_apart_by_all_bytes_of_their_names,
    ),
    "texts cast to keys": (SQLite, "whole_key", Engine.whole_key, test_texts_are_no_keys),
    "texts are above all numbers": (SQLite, "finite", Engine.finite, _read_numbers),
    "SQLite reads decimals": (
        sqlite,
        "_double",
        lambda value: f"({value!r})".replace("inf", "9e999"),
        test_doubles_are_written_and_rounded_exactly,
    ),
    "SQLite rounds": (
        SQLite,
        "nearest",
        lambda _, number: exp.Anonymous(this="round", expressions=[number]),
        test_doubles_are_written_and_rounded_exactly,
    ),
    "texts as they are": (SQLite, "text", lambda _, name, kind: exp.column(name), test_broken_texts_are_one_group),
    "trees of any depth": (sqlite, "_LONG_CONDITION", 10**9, test_long_conditions_are_answered),
}
"""What SQLite, or another engine, would do by itself, and the test that finds it."""


@pytest.mark.parametrize("name", MUTANTS)
def test_each_mistake_is_found(name, tmp_path, monkeypatch):
    """Put back alone, it makes its test fail."""
    where, attribute, mistake, test = MUTANTS[name]
    monkeypatch.setattr(where, attribute, mistake)
    with pytest.raises((AssertionError, dt.SourceFailed)):
        test(tmp_path)


def test_a_group_whose_name_has_the_character_nul_is_found(tmp_path):
    """A statement can't hold it: the question failed after the charge, by what records say."""
    with sqlite3.connect(tmp_path / "nul.sqlite") as made:
        made.execute("CREATE TABLE t (job TEXT)")
        made.executemany("INSERT INTO t VALUES (?)", [("a\0b",)] * 60 + [("a",)] * 70)
    made.close()
    opened = dt.open(tmp_path / "nul.sqlite", table="t", columns={"job": dt.Category()}, budget=dt.Budget(1e3, 1e-3))
    found = opened.ask(dt.Count(), by="job", epsilon=500.0, delta=1e-6, confidence=None)
    assert [(one.group["job"], one.value) for one in found] == [("a", 70), ("a\0b", 60)]
