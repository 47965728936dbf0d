"""From a file to answers at the shell: register, ask, and a budget that runs out."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

from dither.interfaces.cli.main import main
from dither.sources.schema_file import load_schema

DITHER = str(Path(sys.executable).parent / "dither")
SCHEMA = """
[dataset]
source = "data/pay.csv"
[budget]
epsilon = 1
[columns]
year = { type = "integer", bounds = [2010, 2014] }
total_pay = { type = "real", bounds = [0, 600000] }
job = { type = "category", values = ["clerk"] }
"""
COLUMNS = (
    "--column",
    "total_pay=real:0:600000",
    "--column",
    "year=integer:2010:2014",
    "--column",
    "job=category:clerk:nurse",
    "--column",
    "hired=date:2000-01-01:2020-12-31",
    "--column",
    "active=boolean",
)


class Done(NamedTuple):
    """What a command left."""

    returncode: int
    stdout: str
    stderr: str


def run(folder, *words, typed=None):
    """Run a command in a folder, in this process."""
    with contextlib.chdir(folder):
        done = CliRunner().invoke(main, words, input=typed or "")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Done(done.exit_code, done.stdout, done.stderr)


LOUD = ("--epsilon", "50")


def run_installed(folder, *words):
    """Run the installed command as a person would."""
    return subprocess.run([DITHER, *words], capture_output=True, text=True, cwd=folder, check=False, timeout=120)


def payload_of(folder, *words):
    """The JSON that a command prints."""
    done = run(folder, *words, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def folder(tmp_path):
    """A CSV with 2000 people in a folder of its own."""
    rng = np.random.default_rng(3)
    pay, year = rng.lognormal(11, 0.5, 2000), rng.integers(2011, 2015, 2000)
    rows = [
        f"p{i % 900},{pay[i]:.2f},{year[i]},{'clerk' if i % 2 else 'nurse'},2012-0{i % 9 + 1}-15,{i % 4 == 0}"
        for i in range(2000)
    ]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "pay.csv").write_text("name,total_pay,year,job,hired,active\n" + "\n".join(rows) + "\n")
    return tmp_path


@pytest.mark.slow
def test_register_ask_and_run_out(folder):
    """The whole way of an owner and an analyst; what does not fit is refused, and nothing of it is charged."""
    drafted = payload_of(
        folder, "register", "data/pay.csv", "-o", "payroll.toml", *COLUMNS, "--rows", "2000", "--epsilon", "1"
    )
    assert drafted["complete"]
    assert drafted["undeclared"] == ["name"]
    assert drafted["stored"]["total_pay"] == "text"
    assert load_schema(folder / "payroll.toml").rows == 2000

    printed = run_installed(folder, "ask", "payroll.toml", "median(total_pay)", "--epsilon", "0.4")
    assert printed.returncode == 0, printed.stderr
    assert "budget epsilon 1; spent epsilon 0.4; left epsilon 0.6" in printed.stdout

    text = "SELECT job, avg(total_pay) AS pay, count(*) FROM payroll WHERE year > 2011 GROUP BY job"
    grouped = payload_of(folder, "ask", "payroll.toml", text, "--epsilon", "0.5", "--weights", "pay=4")
    assert [release["group"]["job"] for release in grouped["releases"]] == ["clerk", "nurse"] * 2
    assert [release["epsilon"] for release in grouped["releases"]] == [0.4, 0.4, 0.1, 0.1]
    assert grouped["budget"]["left"]["epsilon"] == pytest.approx(0.1)

    again = payload_of(folder, "ask", "payroll.toml", "median(total_pay)", "--epsilon", "0.4")
    assert again["budget"]["spent"]["epsilon"] == pytest.approx(0.9)

    refused = run(folder, "ask", "payroll.toml", "max(year), min(year)", "--epsilon", "0.2", "--json")
    assert refused.returncode == 2
    assert json.loads(refused.stdout)["error"]["code"] == "budget-exceeded"
    last = payload_of(folder, "ask", "payroll.toml", "count(*)", "--epsilon", "0.1", "--by", "active", "--by", "year")
    assert len(last["releases"]) == 10
    assert last["budget"]["left"]["epsilon"] == 0
    free = payload_of(folder, "ask", "payroll.toml", "count(*)", "--epsilon", "0.1")
    assert free["releases"][0]["value"] == 2000
    kept = run(folder, "ledger", "show", "payroll.ledger")
    assert kept.returncode == 0, kept.stderr
    assert "payroll" in kept.stdout
    history = run(folder, "ledger", "show", "payroll.ledger", "payroll")
    assert "median(total_pay)" in history.stdout
    free = payload_of(folder, "quote", "payroll.toml", "median(total_pay)", "--epsilon", "0.4")
    assert (free["epsilon"], free["quotes"][0]["stored"]) == (0, True)


@pytest.mark.slow
def test_answers_in_tables_and_pictures(folder):
    """Groups are columns of the table; names with brackets stay; --plot saves a picture."""
    assert run(folder, "register", "data/pay.csv", "-o", "p.toml", *COLUMNS, "--epsilon", "9").returncode == 0
    done = run(
        folder,
        "ask",
        "p.toml",
        'median(hired) AS "[bold]day"',
        "--by",
        "job",
        "--where",
        "year = 2012",
        "--epsilon",
        "2",
        "--plot",
        "answer.png",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:2] == ["job", "question"]
    assert "[bold]day (median of hired where year = 2012)" in done.stdout
    assert "2012-0" in done.stdout
    assert (folder / "answer.png").stat().st_size > 5_000


def test_priors_are_declared_by_register(folder):
    """Quotes are then estimates; what is no prior is refused with the forms of one."""
    words = ("register", "data/pay.csv", "-o", "p.toml", *COLUMNS, "--rows", "2000", "--epsilon", "1")
    assert run(folder, *words, "--prior", "total_pay=lognormal:60000:0.5").returncode == 0
    assert load_schema(folder / "p.toml").priors["total_pay"] == {"kind": "lognormal", "median": 60000, "sigma": 0.5}
    [quoted] = payload_of(folder, "quote", "p.toml", "median(total_pay)", "--epsilon", "1")["quotes"]
    assert quoted["kind"] == "estimate"
    for spec, words_of_it in (("total_pay=lognorm:1:2", "lognormal:median:sigma"), ("name=normal:1:2", "--column")):
        done = run(folder, *words, "--force", "--prior", spec)
        assert done.returncode == 2
        assert words_of_it in done.stderr


def test_dates_as_bounds_of_a_file(folder):
    """ISO dates, and dates in a format for all columns."""
    found = payload_of(folder, "ask", "data/pay.csv", "median(hired)", "--bounds", "2012-01-01", "2013-01-01", *LOUD)
    assert found["releases"][0]["value"].startswith("2012-0")
    assert found["releases"][0]["clamped"] == ["2012-01-01", "2013-01-01"]
    (folder / "days.csv").write_text("day\n" + "31/3/11\n" * 200)
    words = ("ask", "days.csv", "median(day)", "--bounds", "2011-01-01", "2012-01-01", "--format", "%d/%m/%y", *LOUD)
    assert payload_of(folder, *words)["releases"][0]["value"] == "2011-03-31"


def test_a_draft_without_flags_decides_nothing(folder):
    """Everything is left to fill in; the explanation is in the file and on the screen; questions are refused."""
    done = run(folder, "register", "data/pay.csv", "-o", "data/draft.toml")
    assert done.returncode == 0, done.stderr
    assert "a maximum is one person's record" in done.stdout
    text = (folder / "data" / "draft.toml").read_text()
    assert 'source = "pay.csv"' in text
    assert 'rows = "private"' in text
    assert "# [columns.total_pay]  # stored as text" in text
    assert not any(record in text for record in ("p12", "2012-0", "clerk"))
    asked = run(folder, "ask", "data/draft.toml", "count(*)", "--epsilon", "1")
    assert asked.returncode == 2
    assert "no column is declared" in asked.stderr


def test_the_talk(folder):
    """Typed answers make the same schema; a mistake is explained and asked again; counting needs a yes."""
    typed = (
        "skip\nreal\n600000\n0\nreal\n0\n600000\ninteger\n2010\n2014\ncategory\nclerk, nurse\nskip\nboolean\n"
        "name\n3\ncount\n{public}\n0.5\n1e-6\n"
    )
    done = run(
        folder, "register", "data/pay.csv", "-o", "a.toml", "--interactive", typed=typed.replace("{public}", "y")
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "lower < upper" in done.stdout
    assert "The source has 2,000 rows" in done.stdout
    schema = load_schema(folder / "a.toml")
    assert list(schema.columns) == ["total_pay", "year", "job", "active"]
    assert (schema.rows, schema.unit, schema.rows_per_unit) == (2000, "name", 3)
    assert (schema.budget.epsilon, schema.budget.delta) == (0.5, 1e-6)
    done = run(
        folder, "register", "data/pay.csv", "-o", "b.toml", "--interactive", typed=typed.replace("{public}", "n")
    )
    assert done.returncode == 0
    assert load_schema(folder / "b.toml").rows == "private"


@pytest.mark.slow
def test_files_are_not_overwritten(folder):
    """Only with --force; a refused flag leaves no file behind."""
    words = ("register", "data/pay.csv", "-o", "p.toml", *COLUMNS, "--epsilon", "1")
    assert run(folder, *words).returncode == 0
    (folder / "p.toml").write_text("# mine")
    refused = run(folder, *words)
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    assert (folder / "p.toml").read_text() == "# mine"
    assert run(folder, *words, "--force").returncode == 0
    assert load_schema(folder / "p.toml").columns


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["data/pay.csv", "-o", "x.txt"], ".toml"),
        (["data/pay.csv", "-o", "no/such/x.toml"], "existing folder"),
        (["data/none.csv", "-o", "x.toml"], "readable file"),
        (["data/pay.csv", "-o", "x.toml", "--column", "pay=real:0:1"], "must be a column of the source: name"),
        (["data/pay.csv", "-o", "x.toml", "--column", "year"], "NAME=TYPE"),
        (["data/pay.csv", "-o", "x.toml", "--column", "year=whole:0:1"], "NAME=TYPE"),
        (["data/pay.csv", "-o", "x.toml", "--column", "year=integer:0"], "NAME=TYPE"),
        (["data/pay.csv", "-o", "x.toml", "--column", "year=integer:5:1"], "lower < upper"),
        (["data/pay.csv", "-o", "x.toml", "--column", "year=integer:a:b"], "must be a number"),
        (["data/pay.csv", "-o", "x.toml", "--column", "hired=date:today:2020-01-01"], "a date such as"),
        (["data/pay.csv", "-o", "x.toml", "--column", "job=category:a:a"], "different names"),
        (["data/pay.csv", "-o", "x.toml", "--nulls", "year=drop"], "declared with --column"),
        (["data/pay.csv", "-o", "x.toml", "--rows", "0"], "positive whole number"),
        (["data/pay.csv", "-o", "x.toml", "--rows", "many"], "positive whole number"),
        (["data/pay.csv", "-o", "x.toml", "--unit", "who"], "a column of the source"),
        (["data/pay.csv", "-o", "x.toml", "--rows-per-unit", "3"], "is for --unit"),
        (["data/pay.csv", "-o", "x.toml", "--epsilon", "-1"], "epsilon"),
        (["data/pay.csv", "-o", "x.toml", "--epsilon", "lots"], "a number"),
    ],
)
def test_bad_flags(folder, words, message):
    """Each is named, exit code 2, and nothing is written."""
    done = run(folder, "register", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "x.toml").exists()


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["p.toml", "median(pay)"], "unknown column"),
        (["p.toml", "medain(year)"], "not offered; did you mean median(column)"),
        (["p.toml", "mode(year)"], "the number of rows must be public"),
        (["p.toml", "year"], "write a function here"),
        (["p.toml", "SELECT median(year) FROM q"], "the registered one is p"),
        (["p.toml", "SELECT median(year) FROM p ORDER BY 1"], "ORDER BY is about groups"),
        (["p.toml", "SELECT median(year) FROM p", "--where", "year = 2012"], "write it into the SQL"),
        (["p.toml", "median(year)", "--where", "year = "], "where, line 1"),
        (["p.toml", "median(year)", "--where", "pay = 3"], "unknown column"),
        (["p.toml", "median(year)", "--by", "nobody"], "got 'nobody'"),
        (["p.toml", "median(year)", "--by", "total_pay"], "not real"),
        (["p.toml", "median(year)", "--by", "job", "--by", "job"], "different columns"),
        (["p.toml", "median(year)", "--bounds", "0", "1"], "declared in the schema file"),
        (["p.toml", "median(year)", "--weights", "a"], "weights"),
        (["p.toml", "median(year)", "--weights", "a=1"], "weights"),
        (["p.toml", "median(year)", "--confidence", "2"], "confidence"),
        (["p.toml", "median(year)", "--plot", "x.xyz"], "plot"),
        (["none.toml", "median(year)"], "readable schema file"),
        (["data/pay.csv", "median(year)", "--bounds", "0", "9", "--again"], "is for a schema file"),
        (["data/pay.csv", "median(year)", "--where", "year = 1"], "--column year=real:LOWER:UPPER"),
        (["data/pay.csv", "median(year)", "--bounds", "0", "9", "--where", "job = 'a'"], "unknown column"),
        (["data/pay.csv", "median(year)", "--column", "yeer=integer:0:9"], "must be a column of the source"),
        (["p.toml", "median(year)", "--column", "year=integer:0:9"], "declared in the schema file"),
        (["p.toml", "median(year)", "--delimiter", ";"], "declared in the schema file"),
    ],
)
def test_bad_questions(folder, words, message):
    """Each is named, exit code 2, and nothing is charged."""
    (folder / "p.toml").write_text(SCHEMA)
    done = run(folder, "ask", *words, "--epsilon", "0.5")
    assert done.returncode == 2, done.stdout
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    if words[0] == "p.toml":
        left = payload_of(folder, "ask", "p.toml", "count(*)", "--where", "year = 2012", "--epsilon", "1")["budget"][
            "left"
        ]
        assert left["epsilon"] == 0


def test_the_column_that_tells_people_apart_need_not_be_declared(folder):
    """It is listed as what it is, and the number of rows as not that of people."""
    words = (
        "register",
        "data/pay.csv",
        "-o",
        "unit.toml",
        *COLUMNS,
        "--unit",
        "name",
        "--rows-per-unit",
        "1",
        "--rows",
        "2000",
        "--epsilon",
        "1",
    )
    done = run(folder, *words)
    assert done.returncode == 0, done.stderr
    assert "tells people apart" in done.stdout
    assert "not declared: name" not in done.stdout
    text = (folder / "unit.toml").read_text()
    assert "[columns.name]" not in text
    assert "not of people" in text


def test_a_replaced_source_is_noticed_at_the_shell(tmp_path):
    """The stored answer is given with a note on standard error that names the way to a new one."""
    (tmp_path / "t.toml").write_text(
        '[dataset]\nname = "t"\nsource = "t.csv"\n[columns.v]\ntype = "real"\nbounds = [0, 99]\n[budget]\nepsilon = 9\n'
    )
    words = ["ask", str(tmp_path / "t.toml"), "median(v)", "--epsilon", "1"]
    (tmp_path / "t.csv").write_text("v\n" + "10\n" * 300)
    assert "--again" not in CliRunner().invoke(main, words).stderr
    (tmp_path / "t.csv").write_text("v\n" + "9\n" * 300)
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0
    assert "has changed since a stored answer was computed" in done.stderr
    assert "--again" in done.stderr
