"""Schema files: everything that a schema says survives a round trip, and every mistake is shown at its line."""

import re
import string
import warnings
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dither as dt
from dither.errors import InvalidText
from dither.sources.schema_file import dump_schema, load_schema, read_schema
from dither.sources.toml_places import Places

ROOT = Path(__file__).parents[2]
HEAD = '[dataset]\nsource = "pay.csv"\n'
FULL = """\
# the payroll of a city
[dataset]
name = "payroll"
source = "pay.parquet"
rows = 148_654
unit = "person"
rows_per_unit = 4

[budget]
epsilon = 1.5
delta = 1e-6
filter = "advanced"
slack = 0.0000005

[columns.total_pay]
type = "real"
bounds = [0, 600_000.5]
nulls = "upper"

[columns]
year = { type = "integer", bounds = [2010, 2020] }
"the job".type = "category"
"the job".values = ["clerk", "nurse"]
hired.type = "date"
hired.bounds = [1980-01-01, "2020-12-31"]
hired.nulls = 2000-01-01

[columns.'rate']
type = "decimal"
bounds = [-1, 1]
step = 0.001
nulls = 0.5

[columns.active]
type = "boolean"
nulls = "drop"
"""


def pointed(text):
    """The error of a text, and the part of the text that it points at."""
    with pytest.raises(InvalidText) as caught:
        read_schema(text, "payroll.toml")
    error = caught.value
    assert "payroll.toml" in str(error)
    return error, text[error.start : error.end]


def test_every_key_arrives():
    """Sections, dotted keys, inline tables and quoted keys mean what they mean in TOML; numbers stay decimals."""
    schema = read_schema(FULL, "payroll.toml", folder="here")
    assert (schema.name, schema.source, schema.rows) == ("payroll", "pay.parquet", 148654)
    assert (schema.unit, schema.rows_per_unit) == ("person", 4)
    assert schema.budget == dt.Budget(1.5, 1e-6)
    assert (schema.filter, schema.slack) == ("advanced", Decimal("0.0000005"))
    assert schema.columns == {
        "total_pay": dt.Real(0, Decimal("600000.5"), nulls="upper"),
        "year": dt.Integer(2010, 2020),
        "the job": dt.Category(["clerk", "nurse"]),
        "hired": dt.Date("1980-01-01", date(2020, 12, 31), nulls="2000-01-01"),
        "rate": dt.Decimal(-1, 1, step=0.001, nulls=0.5),
        "active": dt.Boolean(nulls="drop"),
    }
    assert schema.folder == "here"


def test_defaults():
    """A name from the file, a private number of rows, and no budget that nobody declared."""
    schema = read_schema(HEAD + "[columns.a]\ntype = 'boolean'", "x.toml", name="pay")
    assert (schema.name, schema.rows, schema.budget, schema.unit) == ("pay", "private", None, None)


@pytest.mark.parametrize(
    ("text", "at", "reason"),
    [
        ("[dataset\n", "", "not TOML"),
        (HEAD + "rows = 1\nrows = 2", "", "not TOML"),
        (HEAD + 'unit = "a', "", "not TOML"),
        ("", "", "[dataset] is missing"),
        (HEAD, "[dataset]", "no column is declared"),
        (HEAD + "[columns]", "[columns]", "no column is declared"),
        ("[datset]\n", "[datset]", "did you mean dataset?"),
        ("x = 1\n" + HEAD, "x", "accepted are dataset, columns, budget"),
        ("dataset = 3\n", "3", "a section [dataset]"),
        ("[[dataset]]\nsource = 'a'", "[[dataset]]", "a section [dataset]"),
        ("[dataset]\nname='a'\n[columns.a]\ntype='boolean'", "[dataset]", "source is missing"),
        (HEAD + "row = 5\n[columns.a]\ntype='boolean'", "row", "did you mean rows?"),
        (HEAD + "rows = 0\n[columns.a]\ntype='boolean'", "0", "number of rows"),
        (HEAD + "rows = 5.0\n[columns.a]\ntype='boolean'", "5.0", "number of rows"),
        (HEAD + "rows = 'many'\n[columns.a]\ntype='boolean'", "'many'", "number of rows"),
        (HEAD + "rows = true\n[columns.a]\ntype='boolean'", "true", "number of rows"),
        (HEAD + "table = 3\n[columns.a]\ntype='boolean'", "3", "a text"),
        (HEAD + "engine = 'duckdbb'\n[columns.a]\ntype='boolean'", "'duckdbb'", "did you mean duckdb?"),
        (HEAD + "rows_per_unit = 3\n[columns.a]\ntype='boolean'", "3", "must be 1 without a unit column"),
        (HEAD + "unit='p'\nrows_per_unit = 0\n[columns.a]\ntype='boolean'", "0", "declare how many rows"),
        (HEAD + "[budget]\ndelta = 0.1\n[columns.a]\ntype='boolean'", "[budget]", "epsilon is missing"),
        (HEAD + "[budget]\nepsilon = -1\n[columns.a]\ntype='boolean'", "-1", "positive"),
        (HEAD + "[budget]\nepsilon = inf\n[columns.a]\ntype='boolean'", "inf", "finite"),
        (HEAD + "[budget]\nepsilon = '1'\n[columns.a]\ntype='boolean'", "'1'", "a number"),
        (HEAD + "[budget]\nepsilon = 1\ndelta = 1.5\n[columns.a]\ntype='boolean'", "1.5", "[0, 1)"),
        (HEAD + "[budget]\nepsilon = 1\nfilter = 'odometer'\n[columns.a]\ntype='boolean'", "'odometer'", '"basic"'),
        (HEAD + "[budget]\nepsilon = 1\nfilter = 'advanced'\n[columns.a]\ntype='boolean'", "'advanced'", "delta"),
        (HEAD + "[budget]\nepsilon = 1\nslack = 0.1\n[columns.a]\ntype='boolean'", "slack", "advanced"),
        (HEAD + "[columns]\na = 3", "3", "a section [columns.a]"),
        (HEAD + "[columns.a]\nbounds = [0, 1]", "[columns.a]", "the type is missing"),
        (HEAD + "[columns.a]\ntype = 'realistic'", "'realistic'", "did you mean real?"),
        (HEAD + "[columns.a]\ntype = 3", "3", '"real"'),
        (HEAD + "[columns.a]\ntype = 'real'", "[columns.a]", "bounds are missing"),
        (HEAD + "[columns.a]\ntype = 'real'\nbound = [0, 1]", "bound", "did you mean bounds?"),
        (HEAD + "[columns.a]\ntype = 'boolean'\nbounds = [0, 1]", "bounds", "a boolean column has no bounds"),
        (HEAD + "[columns.a]\ntype = 'real'\nbounds = [5, 1]", "[5, 1]", "below the upper"),
        (HEAD + "[columns.a]\ntype = 'real'\nbounds = [5]", "[5]", "two ends"),
        (HEAD + "[columns.a]\ntype = 'real'\nbounds = 5", "5", "two ends"),
        (HEAD + "[columns.a]\ntype = 'real'\nbounds = [0,\n  'b']", "'b'", "a number"),
        (HEAD + "[columns.a]\ntype = 'real'\nbounds = [0, nan]", "nan", "finite"),
        (HEAD + "[columns.a]\ntype = 'real'\nbounds = [0, 1e99999]", "[0, 1e99999]", "finite"),
        (HEAD + "[columns.a]\ntype = 'real'\nbounds = [0, 1]\nstep = 0", "0", "positive"),
        (HEAD + "[columns.a]\ntype = 'real'\nbounds = [0, 1]\nstep = 7", "[0, 1]", "two multiples"),
        (HEAD + "[columns.a]\ntype = 'real'\nbounds = [0, 1]\nnulls = 7", "7", "within the bounds"),
        (HEAD + "[columns.a]\ntype = 'real'\nbounds = [0, 1]\nnulls = 'drip'", "'drip'", "did you mean drop?"),
        (HEAD + "[columns.a]\ntype = 'boolean'\nnulls = 'lower'", "'lower'", '"drop"'),
        (HEAD + "[columns.a]\ntype = 'date'\nbounds = [2020-01-01, 2010-01-01]", "[2020-01-01, 2010-01-01]", "below"),
        (HEAD + "[columns.a]\ntype = 'date'\nbounds = [2020-01-01, 3]", "3", "a date"),
        (HEAD + "[columns.a]\ntype = 'category'\nvalues = []", "[]", "list of names"),
        (HEAD + "[columns.a]\ntype = 'category'\nvalues = ['x', # why\n 'y',\n 'x']", "'x'", "different names"),
        (HEAD + "[columns.a]\ntype = 'category'\nvalues = ['other']", "'other'", "different names"),
        (HEAD + "[columns.a]\ntype = 'category'\nvalues = ['x', 1.5]", "1.5", "a name in quotes"),
        (HEAD + '[columns]\n"" = {type = "boolean"}', '""', "a column needs a name"),
        ("x = " + "[" * 4000, "x", "too large"),
        ("x = " + "9" * 5000, "x", "too large"),
    ],
)
def test_mistakes_are_shown_at_their_place(text, at, reason):
    """The line, what is wrong with it, and what is accepted."""
    error, found = pointed(text)
    assert reason in str(error)
    if at:
        assert found == at
    assert f"line {text.count(chr(10), 0, error.start) + 1}," in str(error)


def test_the_second_of_two_equal_words_is_the_one_pointed_at():
    """Places are places, not searches for a word."""
    text = HEAD + "[columns.a]\ntype = 'real'\nbounds = [0, 1]\n[columns.b]\ntype = 'real'\nbounds = [1, 0]\n"
    error, _ = pointed(text)
    assert error.start == text.index("[1, 0]")
    text = HEAD + "[columns.a]\ntype = 'category'\nvalues = ['x', 'y', 'x']"
    assert pointed(text)[0].start == text.rindex("'x'")


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=12)
numbers = st.one_of(
    st.integers(-1000, 1000),
    st.decimals(-1000, 1000, places=3),
    st.floats(-1000, 1000, allow_nan=False, allow_subnormal=False).map(lambda x: round(x, 6)),
    st.fractions(-100, 100, max_denominator=12),
)


@st.composite
def column_types(draw):
    """Any declaration of a column."""
    kind = draw(st.sampled_from(["real", "integer", "decimal", "date", "boolean", "category"]))
    if kind == "category":
        listed = names.filter(lambda name: name != "other")
        return dt.Category(draw(st.none() | st.lists(listed, min_size=1, unique=True)))
    if kind == "boolean":
        return dt.Boolean(nulls=draw(st.sampled_from([None, True, False, "drop"])))
    nulls = draw(st.sampled_from([None, "lower", "upper", "drop"]))
    if kind == "date":
        first, last = sorted(draw(st.lists(st.dates(), min_size=2, max_size=2, unique=True)))
        return dt.Date(first, last, nulls=draw(st.sampled_from([nulls, first])))
    if kind == "integer":
        lower = draw(st.integers(-1000, 1000))
        return dt.Integer(lower, lower + draw(st.integers(1, 1000)), nulls=nulls)
    lower = draw(numbers)
    upper = Fraction(lower) + draw(st.integers(1, 1000))
    return dt.Real(lower, upper, nulls=nulls) if kind == "real" else dt.Decimal(lower, upper, nulls=nulls)


@st.composite
def schemas(draw):
    """Any schema of a file."""
    unit = draw(st.none() | names)
    delta = draw(st.sampled_from([0.0, 1e-6, 0.07]))
    advanced = delta > 0 and draw(st.booleans())
    return dt.Schema(
        draw(names),
        draw(st.dictionaries(names, column_types(), min_size=1, max_size=4)),
        draw(names),
        draw(st.just("private") | st.integers(1, 10**9)),
        table=draw(st.none() | names),
        engine=draw(st.sampled_from([None, "duckdb", "spark"])),
        unit=unit,
        rows_per_unit=1 if unit is None else draw(st.integers(1, 50)),
        budget=draw(st.none() | st.floats(1e-6, 1e6).map(lambda epsilon: dt.Budget(epsilon, delta))),
        filter="advanced" if advanced else "basic",
        slack=draw(st.sampled_from([None, 1e-9])) if advanced else None,
    )


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(schemas())
def test_round_trip(schema):
    """What is written is read again, whatever the names contain."""
    again = read_schema(dump_schema(schema), "x.toml")
    if schema.budget is None:
        # The kind of filter is written with the budget it guards.
        assert again.columns == schema.columns
    else:
        assert again == schema


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    st.text()
    | st.text(string.printable)
    | st.lists(
        st.sampled_from(
            [
                "[dataset]\n",
                "[budget]\n",
                "[columns.a]\n",
                "[columns]\n",
                "source = 'x'\n",
                "type = 'real'\n",
                "rows = 5\n",
                "bounds = [0, 1]\n",
                "a = {type = 'boolean'}\n",
                "nulls = 1e9999\n",
                "epsilon = 0x10\n",
                "''' \n",
                '"""a\\"\n"""',
                "values = [[1], {a = 1}]\n",
                "type.x = 1\n",
                "name = '\\n'\n",
                "[[columns.a]]\n",
                "unit = 07:32:00\n",
                "step = 1e-9999\n",
            ]
        )
    ).map("".join)
)
def test_any_text_is_a_schema_or_a_clear_error(text):
    """Nothing but errors raised on purpose, and every place lies inside the text."""
    try:
        read_schema(text, "x.toml")
    except InvalidText as error:
        assert error.start <= len(text)  # noqa: PT017


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(names, names, min_size=1, max_size=5))
def test_places_name_the_keys_of_the_text(entries):
    """The scanner finds every quoted key where it stands."""
    from dither.sources.schema_file import written

    text = "".join(f"{written(key)} = [ {written(value)}, 1 ] # {key!r}\n" for key, value in entries.items())
    places = Places(text)
    for key, value in entries.items():
        start, end = places.of((key,))
        assert text[start:end] == written(key)
        start, end = places.of((key, 0), value=True)
        assert text[start:end] == written(value)


def test_files_that_are_no_schemas(tmp_path):
    """Absent, binary, far too long, a folder, Windows line ends and a byte order mark."""
    for name, contents in (("a.toml", b"\xff\xfe\x00"), ("b.toml", b"x" * 8_000_001)):
        (tmp_path / name).write_bytes(contents)
        with pytest.raises(dt.InvalidArgument, match=r"^schema must "):
            load_schema(tmp_path / name)
    for missing in (tmp_path / "none.toml", tmp_path, tmp_path / "nul\0.toml"):
        with pytest.raises(dt.InvalidArgument, match="readable schema file"):
            load_schema(missing)
    (tmp_path / "pay.toml").write_bytes("\ufeff".encode() + FULL.replace("\n", "\r\n").encode())
    schema = load_schema(tmp_path / "pay.toml")
    assert schema == read_schema(FULL, "x")
    assert schema.folder == str(tmp_path)


def test_a_schema_that_contradicts_its_source_points_at_the_line(tmp_path):
    """A column that is not there, a type that cannot be read, a source that is missing, a budget nobody can keep."""
    import duckdb

    duckdb.sql(f"COPY (SELECT 1.5 AS pay, DATE '2020-01-01' AS hired) TO '{tmp_path}/pay.parquet'")
    good = "[dataset]\nsource = 'pay.parquet'\n[budget]\nepsilon = 1\n[columns.pay]\ntype = 'real'\nbounds = [0, 9]\n"
    for text, at, reason in (
        (good.replace("columns.pay", "columns.hired"), "type = 'real'", "stores date"),
        (good.replace("columns.pay", "columns.pya"), "type = 'real'", "pay, hired"),
        (good.replace("pay.parquet", "gone.parquet"), "gone.parquet", "readable file"),
        (good.replace("epsilon = 1", "epsilon = 1e12"), "1e12", "at most"),
        (good.replace("[budget]", "unit = 'who'\nrows_per_unit = 2\n[budget]"), "who", "a column of the source"),
    ):
        (tmp_path / "pay.toml").write_text(text)
        with pytest.raises(InvalidText, match=reason) as caught:
            dt.open(tmp_path / "pay.toml", ledger=":memory:")
        assert at.split("'")[-2 if "'" in at else 0] in text[caught.value.start : caught.value.end]
    (tmp_path / "pay.toml").write_text(good)
    with dt.open(tmp_path / "pay.toml") as session:
        assert session.schema.name == "pay"
    assert (tmp_path / "pay.ledger").exists()


@pytest.mark.filterwarnings("always:.* has no version:FutureWarning")
def test_a_file_without_a_version_is_read_as_before_and_says_which_line_to_write(tmp_path):
    """Whatever the source is, or if there is none; files with a version are silent."""
    file = tmp_path / "pay.toml"
    file.write_text(FULL)
    with pytest.warns(FutureWarning, match="pay.toml has no version .* the line version = 2 above") as warned:
        before = load_schema(file)
    assert [(one.filename, one.lineno) for one in warned] == [(str(file), 1)]
    for version in (1, 2):
        file.write_text(f"version = {version}\n{FULL}")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert load_schema(file) == before


@pytest.mark.filterwarnings("ignore:.*has no version:FutureWarning")
def test_a_schema_is_written_for_the_version_that_it_was_read_with(tmp_path):
    """What 0.1.0 wrote keeps its reading, also without a version; what is made here is of the newest."""
    file = tmp_path / "pay.toml"
    edges = '[dataset]\nsource = "edges.csv"\n[graph]\nvertices = 5\n'
    for text in (FULL, edges):
        for head, version in (("", 1), ("version = 1\n", 1), ("version = 2\n", 2)):
            file.write_text(head + text)
            schema = load_schema(file)
            assert schema.version == version
            assert dump_schema(schema).startswith(f"version = {version}\n\n[dataset]\n")
            assert read_schema(dump_schema(schema), "again.toml") == schema
    for built in (dt.Schema("pay.csv", {"a": dt.Boolean()}), dt.GraphSchema("edges.csv", 5, budget=dt.Budget(1))):
        assert dump_schema(built).startswith("version = 2\n\n[dataset]\n")
    for version in (0, 3, True, "2", 1.0, 2.0):
        with pytest.raises(dt.InvalidArgument, match="version must be 1 or 2"):
            dt.Schema("pay.csv", {"a": dt.Boolean()}, version=version)


def test_the_mistake_on_the_page_is_shown_as_the_page_says():
    """docs/schema.md: its example with the two ends exchanged, line and column included."""
    blocks = re.findall(r"```(toml|text)\n(.*?)```", (ROOT / "docs" / "schema.md").read_text(), re.DOTALL)
    example = next(text for language, text in blocks if language == "toml")
    printed = next(text for language, text in blocks if language == "text")
    with pytest.raises(dt.DitherError) as refused:
        read_schema(example.replace("[0, 600000]", "[600000, 0]"), "payroll.toml")
    assert str(refused.value) == printed.strip()


@pytest.mark.parametrize("version", ["3", "0", "true", "'2'", "2.0", "[2]"])
def test_unknown_versions_are_refused(version):
    """A file of a later dither is not read as if it were of this one."""
    error, at = pointed(f"version = {version}\n{FULL}")
    assert at == version
    assert "write 1 or 2" in str(error)


def test_frames_have_no_schema_file():
    """What lives in memory cannot be named in a file."""
    with pytest.raises(dt.InvalidArgument, match="source"):
        dump_schema(dt.Schema(object(), {"a": dt.Boolean()}))


def test_equal_declarations_are_equal_however_they_are_written():
    """0.1 as a float, a decimal or a fraction declares the same column."""
    assert dt.Real(0, 0.1) == dt.Real(Decimal(0), Fraction(1, 10))
    assert dt.Decimal(0, 5).to_dict()["step"] == Decimal("0.01")
    assert dt.Date(0, "1970-01-11") == dt.Date(date(1970, 1, 1), 10)
    with pytest.raises(dt.InvalidArgument):
        dt.Date(0, 10**12)


def test_an_address_that_is_one_variable_tells_the_engine(tmp_path, monkeypatch):
    """``source = "${PAYROLL_DB}"``: what the variable holds decides, not its name."""
    from dither.sources.engines import postgres
    from dither.sources.engines.factory import engine_of

    monkeypatch.setenv("PAYROLL_DB", "postgresql://nobody@nowhere/hr")
    monkeypatch.setattr(postgres, "Postgres", lambda source, table: (source, table))
    assert engine_of("${PAYROLL_DB}", table="pay") == ("postgresql://nobody@nowhere/hr", "pay")


@pytest.mark.filterwarnings("default:.* has no version:FutureWarning")
def test_two_files_of_one_name_are_both_named(tmp_path):
    """A warning about one is not taken for the other's."""
    for folder in ("x", "y"):
        file = tmp_path / folder / "pay.toml"
        file.parent.mkdir()
        file.write_text('[dataset]\nsource = "pay.csv"\n[columns]\npay = { type = "real", bounds = [0, 9] }\n')
        with pytest.warns(FutureWarning, match="pay.toml has no version"):
            load_schema(file)
