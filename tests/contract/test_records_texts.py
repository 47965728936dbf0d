"""Whatever a record is, it counts as declared: texts, lines of CSV files, ends of types, and entries of any class.

The other half of ``test_records``: fields that are no numbers, bytes that are no text, objects that cannot be shown.
"""

import datetime
import gzip
import sys
import warnings
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dither as dt
from contract import record_oracle as oracle
from contract.record_cases import INF, LOWER, NAN, ODD, QUESTIONS, STEP, TABLES, UPPER, chosen, close, real
from contract.record_oracle import Declared
from contract.record_sources import SPARK, TEXTS, asked, long_form, read_by, some, stored

SURE = {"epsilon": 500.0, "confidence": None}
"""At this epsilon a count is off by one with probability below e^-50."""
FIELDS = {
    "abc": None,
    " 12 ": 12,
    "1e1": 10,
    "1E-1": 0.1,
    "1_0": 10,
    "0x10": None,
    "inf": INF,
    "-inf": -INF,
    "Infinity": INF,
    "nan": None,
    "NaN": None,
    "": None,
    "  ": None,
    "-": None,
    "+3": 3,
    ".5": 0.5,
    "5.": 5,
    "--5": None,
    "1 2": None,
    "1e400": INF,
    "-1e400": -INF,
    "1e-400": 0,
    "007": 7,
    "true": None,
    "3\t": 3,
    "9" * 400: INF,
    "1;5": None,
    "#4": None,
    "é": None,
    "NULL": None,
    "3,5": None,
    '4"': None,
    '"': None,
    "-0.0": 0,
    "0.25": 0.25,
    "0.75": 0.75,
    "'5'": None,
}
"""Fields of a CSV, and the number that each of them is."""


def held(place, name, data):
    """A file with these bytes."""
    file = place(name).file(".csv" if name == "csv_file" else ".csv.gz")
    file.write_bytes(data if name == "csv_file" else gzip.compress(data))
    return {"source": str(file)}


def quoted(field):
    """A field as a CSV has it."""
    return '"' + field.replace('"', '""') + '"' if any(one in field for one in ',"\n') else field


@pytest.mark.sampled(1)
@pytest.mark.parametrize("path", ["whole", "brackets"])
@pytest.mark.parametrize("name", ["csv_file", "packed_csv"])
def test_fields_that_are_numbers_and_fields_that_are_none(name, path, place, monkeypatch):
    """A field is a number by itself or it is missing; the oracle and the list agree on which."""
    read_by(path, monkeypatch)
    for field, value in FIELDS.items():
        assert oracle.number(field) == (None if value is None else float(value)), field
    lines = ["v,g", *(f"{quoted(field)},a" for field in FIELDS)]
    given = held(place, name, "\n".join(lines).encode() + b"\n")
    for nulls in chosen((None, "upper", 3.0, "drop"), 2, (name, path)):
        column, declared = real(nulls)
        steps = declared.read(list(FIELDS))
        private = nulls == "drop"
        with asked(given, {"v": column, "g": dt.Category(["a"])}, rows=len(FIELDS)) as session:
            for one in chosen([one for one in QUESTIONS if one.private or not private], 6, (name, path, nulls)):
                found, truth = dt.inspect.value(one.query("v"), session), one.truth(steps, declared, private)
                assert close(found, oracle.plain(truth), one.tolerance * 12 if private else 0.0), one.name
            missing = sum(value is None for value in FIELDS.values())
            assert dt.inspect.value(dt.Count(), session, where="v IS NULL") == missing


LINES = {
    b"5,\xff": (5, None),
    b"\xff5,a": (None, "a"),
    b"5,a\xc3": (5, None),
    b"5,\xed\xa0\x80": (5, None),
    b"\x01,a": (None, "a"),
    b"5\x01,b": (None, "b"),
    b"5,a\x01b": (5, None),
    b"5,a\x00": (5, None),
    b"\x00": (None, None),
    b"5\x00,a": (None, "a"),
    b'5,"a': (5, None),
    b'"5,a': (None, "a"),
    b'"': (None, None),
    b'"5","a"': (5, "a"),
    b"5": (5, None),
    b",": (None, None),
    b",a": (None, "a"),
    b"5,a,b,c": (5, "a"),
    b"5,a,": (5, "a"),
    b" 5 ,a ": (5, None),
    b"5,'a'": (5, None),
    b"5;a": (None, None),
    b"5\ta": (None, None),
    b"#5,a": (None, "a"),
    b"5,a\x0c": (5, None),
    b"5,a\\": (5, None),
    b"inf,a": (INF, "a"),
    b"5," + b"x" * 2_300_000: (5, None),
    b"1" * 2_300_000 + b",a": (INF, None),
    "5,a\u2028".encode(): (5, None),
    "5,\u00e9".encode(): (5, "é"),
    "5,e\u0301".encode(): (5, None),
}
"""Lines of a CSV with the columns v and g: the number and the declared category that each of them holds.

Of a line the first 2**20 bytes count (docs/proofs/records.md).
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("name", ["csv_file", "packed_csv"])
def test_every_line_is_one_record_whatever_its_bytes(name, ending, place):
    """No line is lost, joined with another or split, so that the declared number of rows is always there."""
    names = ["a", "b", "é"]
    lines = [line for line in LINES for _ in range(2)]
    ordinary = [b"1,a", b"2,b"] * 4
    data = ending.join([b"v,g", *ordinary, *lines, *ordinary]) + ending
    given = held(place, name, data)
    column, declared = real()
    records = [1, 2] * 8 + [LINES[line][0] for line in lines]
    groups = ["a", "b"] * 8 + [LINES[line][1] for line in lines]
    with asked(given, {"v": column, "g": dt.Category(names)}, rows=len(records)) as session:
        assert dt.inspect.value(dt.Histogram("g"), session) == oracle.categories(groups, names)
        found = dt.inspect.rows(session, ["v"]).column(0).to_pylist()
        assert Counter(found) == Counter(float(declared.step * one) for one in declared.read(records))
        for one in chosen(QUESTIONS, 4, (name, ending)):
            truth = oracle.plain(one.truth(declared.read(records), declared, False))
            assert dt.inspect.value(one.query("v"), session) == truth, one.name
        assert session.ask(dt.Median("v"), epsilon=1.0).value is not None


@pytest.mark.parametrize("line", chosen(LINES, 10, "single lines"), ids=lambda line: repr(line[:12]))
def test_a_single_odd_line_never_decides_whether_there_is_an_answer(line, place):
    """Among ordinary lines, with a declared number of rows."""
    given = held(place, "csv_file", b"\n".join([b"v,g", *[b"1,a"] * 9, line, *[b"2,b"] * 9]))
    column, declared = real()
    with asked(given, {"v": column, "g": dt.Category(["a", "b"])}, rows=19) as session:
        steps = declared.read([1] * 9 + [2] * 9 + [LINES[line][0]])
        assert dt.inspect.value(dt.Sum("v"), session) == oracle.plain(declared.step * sum(steps))
        assert session.ask(dt.Sum("v"), epsilon=1.0).value is not None
        assert sum(session.ask(dt.Histogram("g"), **SURE).value) == 19


# --- categories -------------------------------------------------------------------------------------------

NAMES = ["a", "A", "a ", " a", "é", "e\u0301", "1", "true", "o'n", "\\", "%s", "${x}", "--"]
WORDS = [*NAMES, *NAMES[:5], None, "aa", "á", "z", "\u200ba", "NULL", "a\n"]


def as_words(name, words):
    """The words that a source can hold."""
    return [one for one in words if one is None or name not in TEXTS or "\n" not in one]


@pytest.mark.parametrize("name", some("categories", 4, 4, 2, 1, 1))
def test_texts_are_equal_only_if_all_their_characters_are(name, place):
    """No case, no blank, no accent is forgiven, and one record is in one group."""
    words = as_words(name, WORDS)
    given = stored(name, place, {"g": pa.array(words, pa.string())})
    with asked(given, {"g": dt.Category(NAMES)}, rows=len(words)) as session:
        truth = oracle.categories(words, NAMES)
        assert dt.inspect.value(dt.Histogram("g"), session) == truth
        assert list(dt.inspect.value(dt.Count(), session, by="g").values()) == list(truth[:-1])
        for word in chosen(NAMES, 1 if name in SPARK else 3, name, long_form(name)):
            text = word.replace("'", "''")
            same, other = (dt.inspect.value(dt.Count(), session, where=f"g {sign} '{text}'") for sign in ("=", "<>"))
            assert (same, other) == (words.count(word), sum(one not in (word, None) for one in words)), word
        assert dt.inspect.value(dt.Count(), session, where="g IS NULL") == words.count(None)


def broken(raw):
    """An Arrow column of texts whose bytes are no UTF-8."""
    offsets = np.cumsum([0, *(len(one or b"") for one in raw)]).astype(np.int32)
    known = np.packbits([one is not None for one in raw], bitorder="little")
    buffers = [
        pa.py_buffer(known.tobytes()),
        pa.py_buffer(offsets.tobytes()),
        pa.py_buffer(b"".join(filter(None, raw))),
    ]
    return pa.Array.from_buffers(pa.string(), len(raw), buffers)


RAW = [b"a", b"b", b"\xff", b"a\xff", b"\xed\xa0\x80", "é".encode(), b"a", None, b"a\x00", b"\xc3"]


@pytest.mark.parametrize("where", ["arrow", "parquet", "plain parquet", "spark"])
def test_bytes_that_are_no_text_are_another_text(where, place):
    """They are no declared category, they are not missing, and every question about them is answered."""
    names, table = ["a", "b", "é"], pa.table({"g": broken(RAW), "v": pa.array(range(len(RAW)))})
    source = table
    if where != "arrow":
        file = place("parquet_arrow").file(".parquet")
        options = {"use_dictionary": False, "row_group_size": 3} if where == "plain parquet" else {}
        pq.write_table(table, file, **options)
        source = str(file) if where != "spark" else place("spark_frame").server("spark").read.parquet(str(file))
    with asked({"source": source}, {"g": dt.Category(names), "v": dt.Integer(0, 9)}, rows=len(RAW)) as session:
        assert dt.inspect.value(dt.Histogram("g"), session) == (2, 1, 1, 6)
        assert list(dt.inspect.value(dt.Count(), session, by="g").values()) == [2, 1, 1]
        assert dt.inspect.value(dt.Count(), session, where="g IS NULL") == 1
        assert dt.inspect.value(dt.Count(), session, where="g <> 'a'") == 7
        assert dt.inspect.rows(session, ["g"]).num_rows == len(RAW)
    with asked({"source": source}, {"v": dt.Integer(0, 9)}, unit="g", rows_per_unit=1, name="people") as session:
        assert session.ask(dt.Count(), epsilon=1.0).value is not None
    with asked({"source": source}, {"g": dt.Category(), "v": dt.Integer(0, 9)}, name="found") as session:
        session.ask(dt.Count(), by="g", epsilon=1.0, delta=1e-6)


@pytest.mark.parametrize("plain", [False, True])
def test_missing_texts_in_a_page_of_equal_ones(plain, place):
    """Statistics of a page (all texts are equal, some are missing) must not decide about its records."""
    words = ["a"] * 3000 + [None] + ["b"] * 2000
    file = place("parquet_arrow").file(".parquet")
    pq.write_table(pa.table({"g": pa.array(words)}), file, use_dictionary=not plain, row_group_size=3001)
    with asked({"source": str(file)}, {"g": dt.Category(["a", "b"])}, rows=len(words)) as session:
        truths = {
            "g IS NULL": 1,
            "g IS NOT NULL": 5000,
            "g = 'a'": 3000,
            "g IS NULL OR g = 'b'": 2001,
            "g <> 'a'": 2000,
        }
        for where, truth in truths.items():
            assert dt.inspect.value(dt.Count(), session, where=where) == truth, where
        assert dt.inspect.value(dt.Histogram("g"), session) == (3000, 2000, 1)


class Unshowable:
    """An entry without a text."""

    def __str__(self):
        raise ValueError("an entry")

    __repr__ = __str__


class WronglyShown:
    """An entry whose text is no text."""

    def __str__(self):
        return 5  # noqa: PLE0307


class NoFloat(float):
    """A number that is none."""

    def __float__(self):
        raise ValueError("an entry")

    __str__ = __repr__ = Unshowable.__str__


ENTRIES = [
    "\ud800",
    Unshowable(),
    WronglyShown(),
    NoFloat(3.0),
    10**5000,
    -(10**400),
    np.longdouble("1e4000"),
    Decimal("sNaN"),
    b"\xff",
    [1],
    {"a": 1},
    object(),
    2 + 3j,
    pd.NaT,
    pd.NA,
    NAN,
    None,
    "a\x00",
    datetime.date(2020, 1, 1),
    Fraction(10**400),
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: type(entry).__name__)
def test_an_entry_of_any_class_in_a_frame_is_another_text(entry, place):
    """One object of a pandas column: never an error, never a warning, never one of the declared categories."""
    column = np.empty(6, dtype=object)
    column[:] = ["a", "b", None, "a", "b", "a"]
    column[4] = entry
    frame = pd.DataFrame({"g": pd.Series(column, dtype=object), "v": np.arange(6.0)})
    with asked({"source": frame}, {"g": dt.Category(["a", "b"]), "v": dt.Real(0, 5)}, rows=6) as session:
        assert dt.inspect.value(dt.Histogram("g"), session) == (3, 1, 2)
        assert list(dt.inspect.value(dt.Count(), session, by="g").values()) == [3, 1]
        assert session.ask(dt.Histogram("g"), **SURE).value == (3, 1, 2)


def test_categories_of_dictionaries_and_enums(place):
    """Dictionary, categorical and enumerated columns are their texts."""
    words = ["a", "b", None, "a", "zz", "A"]
    frames = [
        pa.table({"g": pa.array(words).dictionary_encode()}),
        pa.table({"g": pa.array(words, pa.large_string())}),
        pd.DataFrame({"g": pd.Categorical(words)}),
        pd.DataFrame({"g": pd.Series(words, dtype="string[pyarrow]")}),
        pl.DataFrame({"g": pl.Series(words, dtype=pl.Categorical)}),
        pl.DataFrame({"g": pl.Series(words, dtype=pl.Enum(["a", "b", "zz", "A"]))}),
    ]
    for frame in frames:
        with asked({"source": frame}, {"g": dt.Category(["a", "b"])}, rows=len(words)) as session:
            assert dt.inspect.value(dt.Histogram("g"), session) == (2, 1, 3)


# --- arrays -----------------------------------------------------------------------------------------------

BASE = [1.0, 2.0, 7.0, 3.0]
ANYTHING = [
    *ODD,
    10**400,
    -(10**400),
    10**5000,
    Decimal("0.75"),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("Infinity"),
    Decimal("1e400"),
    Decimal("1e-400"),
    Fraction(3, 4),
    Fraction(10**400),
    Fraction(1, 10**400),
    True,
    np.float32(0.75),
    np.int64(3),
    np.longdouble("1e4000"),
    np.longdouble("-1e4000"),
    pd.NA,
    pd.NaT,
]


def known(entry):
    """What the oracle takes for an entry."""
    if entry is pd.NA or entry is pd.NaT:
        return None
    return (INF if entry > 0 else -INF) if isinstance(entry, np.longdouble) else entry


@pytest.mark.parametrize("entry", ANYTHING, ids=lambda entry: f"{type(entry).__name__}")
def test_an_entry_of_a_list_or_of_objects_is_read_by_itself(entry):
    """Untyped entries of lists, arrays of objects and columns of them."""
    _, declared = real()
    untyped = np.empty(5, dtype=object)
    untyped[:4], untyped[4] = BASE, entry
    records = [*BASE, known(entry)]
    steps = declared.read(records)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for array in ([*BASE, entry], (*BASE, entry), untyped, pd.Series(untyped, dtype=object)):
            for one in (QUESTIONS[0], QUESTIONS[2], QUESTIONS[7]):
                query = type(one.query("v"))(bounds=(LOWER, UPPER), step=STEP, nulls="lower", **trim(one))
                assert dt.inspect.value(query, array) == oracle.plain(one.truth(steps, declared, False)), one.name
            edges = [-2.0, 0.0, 1.0, 10.0]
            found = dt.inspect.value(dt.Histogram(edges=edges, nulls="lower"), array)
            assert found == oracle.bins(records, edges, declared)


def trim(one):
    """The parameters that a question has beside its column."""
    return {"trim": Fraction(1, 5)} if one.name == "TrimmedMean" else {}


TYPED = {
    "float64": np.array,
    "float32": lambda records: np.array(records, dtype=np.float32),
    "float16": lambda records: np.array(records, dtype=np.float16),
    "longdouble": lambda records: np.array(records, dtype=np.longdouble),
    "masked": lambda records: np.ma.MaskedArray(records, [False] * len(records)),
    "pandas": pd.Series,
    "pandas nullable": lambda records: pd.Series(records, dtype="Float64"),
    "pandas arrow": lambda records: pd.Series(records, dtype="double[pyarrow]"),
    "polars": pl.Series,
    "arrow": pa.array,
    "chunks": lambda records: pa.chunked_array([records[:2], records[2:]]),
}


@pytest.mark.parametrize("kind", TYPED)
def test_typed_arrays(kind):
    """Every odd number in arrays of numpy, pandas, Polars and Arrow."""
    _, declared = real()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # (a double that a narrow type cannot hold)
        records = [one for one in TABLES["everything odd"] if one is not None]
        array = TYPED[kind](records)
        if kind in ("float32", "float16"):
            records = [float(one) for one in array]
    steps = declared.read(records)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for one in (QUESTIONS[0], QUESTIONS[2], QUESTIONS[7]):
            query = type(one.query("v"))(bounds=(LOWER, UPPER), step=STEP, nulls="lower", **trim(one))
            assert dt.inspect.value(query, array) == oracle.plain(one.truth(steps, declared, False)), one.name
        edges = [-2.0, 0.0, 1.0, 10.0]
        assert dt.inspect.value(dt.Histogram(edges=edges, nulls="lower"), array) == oracle.bins(
            records, edges, declared
        )


@pytest.mark.parametrize("huge", ["1e4000", "-1e4000", "1e-4000"])
def test_numbers_beyond_doubles(huge):
    """An array of extended precision whose records no double holds."""
    array = np.array([*BASE, 0], dtype=np.longdouble)
    array[4] = np.longdouble(huge)
    _, declared = real()
    records = [*BASE, 0.0 if "-4000" in huge else INF if huge[0] == "1" else -INF]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        total = dt.inspect.value(dt.Sum(bounds=(LOWER, UPPER), step=STEP, nulls="lower"), array)
        assert total == oracle.plain(declared.step * sum(declared.read(records)))
        edges = [-2.0, 0.0, 1.0, 10.0]
        assert dt.inspect.value(dt.Histogram(edges=edges, nulls="lower"), array) == oracle.bins(
            records, edges, declared
        )


LOUD = {
    np.float16: (np.uint16, 0x7C01),
    np.float32: (np.uint32, 0x7F800001),
    np.float64: (np.uint64, (0x7FF << 52) + 1),
}
"""Bits of a NaN that processors report when they convert it."""


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", LOUD)
def test_no_nan_warns_of_itself(kind, masked):
    """A warning would say that one is among the records."""
    bits, loud = LOUD[kind]
    array = np.arange(2_000).astype(kind)
    array.view(bits)[7] = loud
    array = np.ma.MaskedArray(array, np.arange(2_000) < 7) if masked else array
    bounded = {"bounds": (0, 2_000)}
    asked_of = [dt.Median(), dt.Mean(), dt.Sum(), dt.Std(), dt.IQR(), dt.Scale(), dt.Quantiles(q=(0.25, 0.75))]
    asked_of += [dt.Median(**bounded), dt.Mean(**bounded), dt.Std(**bounded), dt.Sum(**bounded, nulls="lower")]
    asked_of += [dt.Histogram(edges=[0, 9, 99]), dt.Quality(**bounded), dt.CountPresent(), dt.TrimmedMean()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for query in asked_of:
            assert dt.ask(query, array, epsilon=10.0, delta=1e-6).loss.epsilon <= 10.0


# --- ends of types that Arrow does not have ---------------------------------------------------------------

CALENDAR = dt.Date("1970-01-01", "1970-04-11", nulls="lower")
DAYS = {"infinity": 100, "-infinity": 0, "1970-02-01": 31, "1970-04-12": 100, "0001-01-01": 0, "9999-12-31": 100}


@pytest.mark.parametrize("path", ["whole", "brackets"])
@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_infinite_days_are_clamped(engine, path, place, request, monkeypatch):
    """Days and times beyond the calendar, before and after the bounds; a missing one counts as declared."""
    read_by(path, monkeypatch)
    rows = [*DAYS, None]
    kinds = {"d": "date", "t": "timestamp", "z": "timestamptz"}
    statements = ["CREATE TABLE days (d date, t timestamp, z timestamptz)"]
    statements += [f"INSERT INTO days VALUES ({', '.join([repr(one) if one else 'NULL'] * 3)})" for one in rows]
    if engine == "duckdb":
        import duckdb

        file = place("duckdb_table").file(".duckdb")
        with duckdb.connect(str(file)) as connection:
            for statement in statements:
                connection.execute(statement)
        given = {"source": str(file), "table": "days"}
    else:
        given = {"source": executed(request.getfixturevalue("postgres_schema"), statements), "table": "days"}
    steps, declared = sorted([*DAYS.values(), 0]), Declared(Fraction(0), Fraction(100), Fraction(1))
    with asked(given, dict.fromkeys(kinds, CALENDAR), rows=len(rows)) as session:
        for name in kinds:
            for one in chosen([one for one in QUESTIONS if one.dates], 2, (engine, path, name)):
                truth = oracle.plain(one.truth(steps, declared, False))
                assert dt.inspect.value(one.query(name), session) == truth, (name, one.name)
            assert dt.inspect.value(dt.Count(), session, where=f"{name} IS NULL") == 1
            assert dt.inspect.value(dt.Count(), session, where=f"{name} > '1970-02-01'") == 3
            session.ask(dt.Median(name), epsilon=1.0)


def executed(address, statements):
    """Run statements in PostgreSQL."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)
    return address


ENDS = {
    "n": ("numeric", ["NaN", "Infinity", "-Infinity", "1e5000", "-1e5000", "1e-5000", "0.25", "0.75", None, "3"]),
    "m": ("numeric(10, 2)", [None, "NaN", "99999999.99", "-99999999.99", "0.25", "0.75", "-0.01", "3", "10.01", "0"]),
    "r": ("real", ["NaN", "Infinity", "-Infinity", "3e38", "-3e38", "1e-45", "0.25", "0.1", None, "3"]),
    "d": ("double precision", ["NaN", "Infinity", "-Infinity", "1.7e308", "5e-324", "-0", "0.25", "10.1", None, "3"]),
    "o": ("wide", ["NaN", "Infinity", "-Infinity", "1.7e308", "5e-324", "-0", "0.75", "10.1", None, "3"]),
    "b": ("bigint", [2**63 - 1, -(2**63), 0, 1, None, 10, 11, -3, 2**53 + 1, 3]),
}


@pytest.mark.parametrize("path", ["whole", "brackets"])
def test_ends_of_the_types_of_postgres(path, postgres_schema, monkeypatch):
    """Numerics beyond doubles, NaN and infinities of all types, and domains over them."""
    read_by(path, monkeypatch)
    declared_as = ", ".join(f"{name} {kind}" for name, (kind, _) in ENDS.items())
    rows = zip(*(values for _, values in ENDS.values()), strict=True)
    listed = [", ".join("NULL" if one is None else f"'{one}'" for one in row) for row in rows]
    address = executed(
        postgres_schema,
        [
            "CREATE DOMAIN wide AS double precision",
            f"CREATE TABLE ends ({declared_as})",
            *(f"INSERT INTO ends VALUES ({row})" for row in listed),
        ],
    )
    column, declared = real()
    with asked({"source": address, "table": "ends"}, dict.fromkeys(ENDS, column), rows=10) as session:
        for name, (kind, values) in ENDS.items():
            records = [value(kind, one) for one in values]
            steps = declared.read(records)
            for one in chosen(QUESTIONS, 3, (path, name)):
                truth = oracle.plain(one.truth(steps, declared, False))
                assert dt.inspect.value(one.query(name), session) == truth, (name, one.name)
            missing = sum(oracle.number(one) is None for one in records)
            assert dt.inspect.value(dt.Count(), session, where=f"{name} IS NULL") == missing, name
            above = sum((oracle.number(one) or 0) > 1e300 for one in records)
            assert dt.inspect.value(dt.Count(), session, where=f"{name} > 1e300") == above, name


def value(kind, written):
    """A value of PostgreSQL as the oracle knows it."""
    if written is None or kind == "bigint":
        return written
    number = Decimal(written)
    return float(np.float32(float(number))) if kind == "real" else number


def test_whole_numbers_of_128_bits(place):
    """HUGEINT and UHUGEINT of DuckDB."""
    import duckdb

    file = place("duckdb_table").file(".duckdb")
    most = 2**127 - 1
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE whole (h hugeint, u uhugeint)")
        connection.execute(f"INSERT INTO whole VALUES ({most}, {2**128 - 1}), (-{most}, 0), (3, 3), (NULL, NULL)")
    with asked(
        {"source": str(file), "table": "whole"}, dict.fromkeys("hu", dt.Integer(LOWER, UPPER, nulls="lower")), rows=4
    ) as session:
        assert dt.inspect.value(dt.Sum("h"), session) == 10 - 2 + 3 - 2
        assert dt.inspect.value(dt.Sum("u"), session) == 10 + 0 + 3 - 2
        assert dt.inspect.value(dt.Count(), session, by="h")[(3,)] == 1


def test_the_longest_whole_number_can_be_shown():
    """Python refuses to write numbers of more than 4300 digits: a session must not ask it to."""
    assert sys.get_int_max_str_digits() == 4300
    frame = pd.DataFrame({"g": pd.Series(["a", 10**5000], dtype=object)})
    with asked({"source": frame}, {"g": dt.Category(["a"])}, rows=2) as session:
        assert dt.inspect.value(dt.Histogram("g"), session) == (1, 1)
