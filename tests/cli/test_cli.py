"""The command line: answers, JSON, pictures and errors of one line."""

import contextlib
import datetime
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import dither as dt
from dither.interfaces.cli.main import main
from dither.interfaces.cli.output import show
from dither.release import Release
from dither.sources.schema_file import read_schema

DITHER = str(Path(sys.executable).parent / "dither")


def run_installed(*words, cwd=None):
    """Run the installed command as a person would, in a process of its own."""
    return subprocess.run([DITHER, *words], capture_output=True, text=True, cwd=cwd, check=False)


def run(*words, cwd=None):
    """The same command in this process, which need not load everything again."""
    with contextlib.chdir(cwd or "."):
        done = CliRunner().invoke(main, words)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A CSV and a Parquet file with the same people."""
    import duckdb

    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(2)
    rows = "\n".join(
        f"p{i},{v:.2f},{a}"
        for i, (v, a) in enumerate(zip(rng.lognormal(11, 0.5, 3000), rng.integers(18, 80, 3000), strict=True))
    )
    (folder / "pay.csv").write_text(f"name,total pay,age\n{rows}\nlast,,\n")
    duckdb.sql(f"COPY (FROM read_csv('{folder}/pay.csv')) TO '{folder}/pay.parquet'")
    return folder


@pytest.mark.parametrize("file", ["pay.csv", "pay.parquet"])
@pytest.mark.parametrize(
    "question", ["median(total pay)", 'quantile("total pay", 0.25)', "minimum(total pay)", "maximum(total pay)"]
)
def test_ask_answers_about_a_file(files, file, question):
    """One column of a CSV or Parquet file, as JSON."""
    done = run("ask", str(files / file), question, "--bounds", "0", "600000", "--epsilon", "1", "--json")
    assert done.returncode == 0, done.stderr
    payload = json.loads(done.stdout)
    assert 0 <= payload["value"] <= 600_000
    assert payload["epsilon"] == 1
    assert payload["query"].endswith("of total pay")


def test_parquet_integers_give_integer_answers(files):
    """The declared type of a Parquet column is public; a CSV's is not, there the step is declared."""
    payload = json.loads(
        run("ask", str(files / "pay.parquet"), "median(age)", "--bounds", "0", "120", "--epsilon", "1", "--json").stdout
    )
    assert isinstance(payload["value"], int)
    csv = ("ask", str(files / "pay.csv"), "median(age)", "--bounds", "0", "120", "--epsilon", "1", "--json")
    assert isinstance(json.loads(run(*csv).stdout)["value"], float)
    assert isinstance(json.loads(run(*csv, "--step", "1").stdout)["value"], int)


@pytest.mark.slow
def test_ask_prints_a_table_and_saves_a_picture(files, tmp_path):
    """Without --json: the answer, its bar, the price; --plot saves a PNG."""
    done = run_installed(
        "ask",
        str(files / "pay.csv"),
        "median(total pay)",
        "--bounds",
        "0",
        "600000",
        "--epsilon",
        "0.5",
        "--plot",
        str(tmp_path / "answer.png"),
    )
    assert done.returncode == 0, done.stderr
    heading, answer, *_ = done.stdout.splitlines()
    assert heading.split() == ["question", "answer", "95%", "interval", "epsilon", "mechanism"]
    assert answer.split()[-2:] == ["0.5", "inverse"]
    assert answer.startswith("median of total pay")
    assert (tmp_path / "answer.png").stat().st_size > 5_000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pay.csv", "medain(age)"], "did you mean median(column)"),
        (["pay.csv", "mode(age)"], "bounds=(0, 120): mode(column) does not take it"),
        (["pay.csv", "median(age"], "question"),
        (["pay.csv", "quantile(age)"], "question"),
        (["pay.csv", "median(height)"], "got 'height'"),
        (["pay.parquet", "median(name)"], "numbers"),
        (["pay.txt", "median(age)"], "file"),
        (["none.csv", "median(age)"], "file"),
        (["pay.csv", "median(age)", "--epsilon", "nan"], "epsilon"),
        (["pay.csv", "median(age)", "--epsilon", "-1"], "epsilon"),
        (["pay.csv", "median(age)", "--bounds", "9", "1"], "bounds"),
        (["pay.csv", "median(age)", "--bounds", "a", "b"], "bounds"),
        (["pay.csv", "median(age)", "--mechanism", "guess"], "mechanism"),
        (["pay.csv", "quantile(age, 2)"], "q must be"),
    ],
)
def test_errors_are_one_line_with_exit_code_2(files, words, message):
    """Bad input is named; no traceback, and the same as JSON with a stable code."""
    words = ["ask", str(files / words[0]), *words[1:]]
    if "--epsilon" not in words:
        words += ["--epsilon", "1"]
    if "--bounds" not in words:
        words += ["--bounds", "0", "120"]
    done = run(*words)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    payload = json.loads(run(*words, "--json").stdout)
    assert payload["error"]["code"] in ("invalid-argument", "invalid-text", "not-applicable", "invalid-data")


def test_no_record_of_a_csv_makes_an_error(tmp_path):
    """Text among numbers, ragged lines, quotes and odd bytes count as missing; the answer is there all the same."""
    lines = ["x,y"] + [f"{i % 7},a" for i in range(500)]
    for bad in ("abc,a", '"1,2",a', "5", "0x10,a", "", "1_0,a", '"unclosed', "\x00,b"):
        (tmp_path / "x.csv").write_text("\n".join([*lines, bad, "3,a"]) + "\n")
        done = run("ask", str(tmp_path / "x.csv"), "median(x)", "--bounds", "0", "7", "--epsilon", "5", "--json")
        assert done.returncode == 0, (bad, done.stdout, done.stderr)
        assert abs(json.loads(done.stdout)["value"] - 3) <= 1


def test_truth_values_and_blank_lines_of_a_csv(tmp_path):
    """True and false count as 1 and 0; an empty line of a single column is a missing record, not none."""
    (tmp_path / "x.csv").write_text("on\n" + "True\nfalse\n" * 300 + "\n" * 100)
    lower, upper = (
        json.loads(run("ask", str(tmp_path / "x.csv"), "count_if(on)", "--epsilon", "5", "--nulls", n, "--json").stdout)
        for n in ("lower", "upper")
    )
    assert abs(lower["value"] - 300) < 15
    assert abs(upper["value"] - 400) < 15


def test_counts_of_a_file_are_those_of_sql(tmp_path):
    """count(*) is the public number of records, count(column) counts what is not missing, whatever it says."""
    (tmp_path / "x.csv").write_text("cut,price\n" + "Fair,12\nGood,\n" * 300)
    for question, truth in (("count(*)", 600), ("count(cut)", 600), ("count(price)", 300)):
        release = json.loads(run("ask", str(tmp_path / "x.csv"), question, "--epsilon", "5", "--json").stdout)
        assert abs(release["value"] - truth) < 15
        assert release["epsilon"] == (0 if question == "count(*)" else 5)


def test_a_picture_that_cannot_be_saved_is_refused_before_anything_is_spent(files, tmp_path):
    """The ending and the folder are checked first."""
    for path in ("answer.xyz", "no/such/folder/a.png"):
        done = run(
            "ask",
            str(files / "pay.csv"),
            "median(age)",
            "--bounds",
            "0",
            "120",
            "--epsilon",
            "1",
            "--plot",
            path,
            cwd=tmp_path,
        )
        assert done.returncode == 2
        assert "plot must be" in done.stderr


def test_broken_files_do_not_show_their_records(tmp_path):
    """A file that is no Parquet is refused without quoting it."""
    (tmp_path / "x.parquet").write_text("secret-record")
    done = run("ask", str(tmp_path / "x.parquet"), "median(a)", "--bounds", "0", "1", "--epsilon", "1")
    assert done.returncode == 2
    assert "secret" not in done.stderr + done.stdout


@pytest.mark.slow
def test_demo_ends_with_answers_budget_and_picture(tmp_path):
    """What make demo runs: real answers with error bars, the budget left, a saved plot."""
    done = run_installed("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "left epsilon" in done.stdout
    assert "95%" in done.stdout
    assert (tmp_path / "demo-output" / "payroll.png").stat().st_size > 10_000
    payload = json.loads(run("demo", "--json", cwd=tmp_path).stdout)
    assert len(payload["releases"]) == 9
    assert payload["left"] == 0.15


def test_help_names_every_command():
    """dither --help is the map."""
    out = run_installed("--help").stdout
    assert "ask" in out
    assert "demo" in out


def test_an_empty_file_is_called_what_it_is(tmp_path):
    """Not a matter of the column."""
    (tmp_path / "empty.csv").touch()
    path = str(tmp_path / "empty.csv")
    done = CliRunner().invoke(main, ["ask", path, "median(pay)", "--bounds", "0", "1", "--epsilon", "1"])
    assert done.exit_code == 2
    assert "first line names the columns" in done.output
    assert "got 'pay'" not in done.output


def test_every_command_is_told_in_one_line():
    """No description in the list of commands is cut off."""
    output = CliRunner().invoke(main, ["--help"], terminal_width=80).output
    listed = output.split("Commands:")[1]
    assert "..." not in listed
    assert all(f"  {name} " in listed for name in main.commands)


@pytest.mark.parametrize(
    ("asked", "message"), [(["medain"], "did you mean median"), (["--sabotage", "lapace"], "did you mean laplace")]
)
def test_an_audit_of_nothing_is_refused(asked, message):
    """With the name that was probably meant; a sabotage that is not there is not all of them."""
    done = CliRunner().invoke(main, ["audit", "--list", *asked])
    assert done.exit_code == 2
    assert message in done.output


@pytest.mark.parametrize("mechanism", ["noisy histogram", "worst_case", "a mechanism with a very long name"])
def test_no_column_of_a_table_is_cut_where_there_is_no_terminal(mechanism, capsys):
    """The column of questions has a least width, and where names are short that takes nothing of the other columns."""
    centres = tuple((float(place), 12_345.678901) for place in range(2))
    release = Release(
        value=centres,
        interval=tuple(((0.123456789, 0.1), (123_456.789, 0.2)) for _ in centres),
        confidence=0.95,
        loss=dt.Loss(1.0, 1e-6),
        neighbours=dt.Neighbours.CHANGE_ONE,
        query="kmeans of a, b",
        mechanism=mechanism,
        noise="gaussian",
        labels=("centre 1", "centre 2"),
    )
    show([release])
    assert mechanism in capsys.readouterr().out


def test_a_strangers_file_is_asked_without_a_schema(tmp_path):
    """Semicolons, decimal commas and lines before the header; filters, groups, SQL and several calls by flags alone."""
    rows = "".join(f"{'Fair' if i % 2 else 'Good'};{i % 7},5;{1 + i % 28}.3.2020\n" for i in range(2000))
    file = tmp_path / "x.csv"
    file.write_text("Exported\n\ncut;price;day\n" + rows)
    cut, day = ("--column", "cut=category:Fair:Good"), ("--column", "day=date:2020-01-01:2020-12-31")
    layout = ("--skip-lines", "2", "--format", "1234,56", "--format", "%d.%m.%Y", "--epsilon", "8", "--json")

    def values(question, *flags):
        done = run("ask", str(file), question, *flags, *layout)
        assert done.returncode == 0, done.stderr
        payload = json.loads(done.stdout)
        return [one["value"] for one in payload.get("releases", [payload])]

    assert values("mean(price)", "--bounds", "0,10") == pytest.approx([3.5], abs=0.1)
    mean, middle = values("mean(Price), median(day)", "--bounds", "0", "10", *day)
    assert mean == pytest.approx(3.5, abs=0.1)
    assert "2020-03-10" < middle < "2020-03-18"
    assert values("count(*)", "--by", "cut", *cut) == pytest.approx([1000, 1000], abs=40)
    assert values("count(*)", "--where", "cut = 'Fair'", *cut) == pytest.approx([1000], abs=40)
    price = ("--column", "price=real:0:10")
    *means, one, other = values("SELECT cut, mean(price), count(*) FROM x GROUP BY cut", *price, *cut)
    assert all(0 <= mean <= 10 for mean in means)
    assert (one, other) == pytest.approx((1000, 1000), abs=40)


def test_tables_of_groups_say_that_intervals_hold_one_by_one(tmp_path):
    """And which confidence makes all of them hold at once."""
    (tmp_path / "x.csv").write_text("cut,v\n" + "a,1\nb,2\n" * 500)
    flags = ("--bounds", "0", "9", "--by", "cut", "--column", "cut=category:a:b", "--epsilon", "2")
    done = run("ask", str(tmp_path / "x.csv"), "mean(v)", *flags)
    assert "each of the 2 intervals holds by itself with 95%" in done.stdout
    assert "--simultaneous" in done.stdout
    done = run("ask", str(tmp_path / "x.csv"), "mean(v)", "--bounds", "0", "9", "--epsilon", "2")
    assert "by itself" not in done.stdout


def test_owners_see_exactly_how_columns_are_read(tmp_path):
    """dither check: of files by what is stored or declared, of schemas as they are declared; nothing is charged."""
    file = tmp_path / "x.csv"
    file.write_text("pay,cut\n" + '"$1,000",a\n"$5,000",b\n,\nn/a,c\n' * 5)

    def shares(*words):
        done = run("check", *map(str, words), "--json")
        assert done.returncode == 0, done.stderr
        payload = json.loads(done.stdout)
        assert (payload["rows"], payload["private"]) == (20, False)
        names = ("missing", "unreadable", "clamped")
        return {name: [one[key] for key in names] for name, one in payload["columns"].items()}

    assert shares(file) == {"pay": [0.25, 0.75, 0.0], "cut": [0.25, 0.75, 0.0]}
    flags = ("--column", "pay=real:0:2000", "--format", "$1,234.56", "--column", "cut=category:a:b")
    assert shares(file, *flags) == {"pay": [0.25, 0.25, 0.25], "cut": [0.25, 0.25, 0.0]}
    done = run("register", str(file), "-o", str(tmp_path / "x.toml"), *flags, "--epsilon", "1", "--rows", "count")
    assert done.returncode == 0, done.stderr
    assert shares(tmp_path / "x.toml") == {"pay": [0.25, 0.25, 0.25], "cut": [0.25, 0.25, 0.0]}
    assert "not private" in run("check", str(tmp_path / "x.toml")).stdout
    declared = (tmp_path / "x.toml").read_text()
    assert "rows = 20" in declared
    (tmp_path / "x.toml").write_text(declared.replace("rows = 20", "rows = 30"))
    assert shares(tmp_path / "x.toml")["cut"] == [0.25, 0.25, 0.0]
    assert "the schema declares 30 rows" in run("check", str(tmp_path / "x.toml")).stdout
    assert not (tmp_path / "x.ledger").exists()


def test_durations_of_a_parquet_file_are_read_in_seconds(tmp_path):
    """Whatever unit they are stored in; declared as numbers they are refused by type, before anything is read."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for unit, second in (("s", 1), ("us", 10**6)):
        spans = pa.array([3 * second] * 500, pa.duration(unit))
        pq.write_table(pa.table({"d": spans, "v": [1] * 500}), tmp_path / "x.parquet")
        done = run("ask", str(tmp_path / "x.parquet"), "median(d)", "--bounds", "0", "9", "--epsilon", "100", "--json")
        assert json.loads(done.stdout)["releases"][0]["value"] == pytest.approx(3, abs=0.01)
    flags = ("--column", "d=real:0:9", "--epsilon", "1")
    done = run("register", str(tmp_path / "x.parquet"), "-o", str(tmp_path / "x.toml"), *flags)
    assert (done.returncode, 'declare type = "duration"' in done.stderr) == (2, True)


def test_an_unknown_column_of_a_text_file_has_no_suggestion(tmp_path):
    """Without a header the first line is a record: none of its fields is in the error, similar ones neither."""
    (tmp_path / "people.csv").write_text("mary-smith,91000\nbob,1\n")
    done = run("ask", "people.csv", "median(mary_smith)", "--bounds", "0", "9", "--epsilon", "1", cwd=tmp_path)
    assert done.returncode == 2
    assert "mary-smith" not in done.stdout + done.stderr
    assert "91000" not in done.stdout + done.stderr


def test_a_codebook_declares_columns(tmp_path):
    """Types, bounds, steps and values from a public file; flags come before it, and its mistakes are named by line."""
    (tmp_path / "x.csv").write_text("pay,age,cut,day,note\n10,30,a:b,2024-01-02,x\n")
    book = tmp_path / "book.csv"
    book.write_text(
        "name,type,lower,upper,step,values,label\n"
        "pay,,0,600000,,,Yearly pay\nage,integer,0,120,,,\ncut,,,,,a:b | c,\n"
        "day,date,2024-01-01,2024-12-31,,,\nnote,,,,,,Free text\n"
    )
    words = ("register", str(tmp_path / "x.csv"), "-o", str(tmp_path / "x.toml"), "--codebook", str(book))
    done = run(*words, "--column", "pay=real:0:9", "--epsilon", "1")
    assert done.returncode == 0, done.stderr
    drafted = read_schema((tmp_path / "x.toml").read_text(), "x.toml")
    assert {name: declared.to_dict() for name, declared in drafted.columns.items()} == {
        "pay": {"type": "real", "bounds": [0, 9]},
        "age": {"type": "integer", "bounds": [0, 120]},
        "cut": {"type": "category", "values": ["a:b", "c"]},
        "day": {"type": "date", "bounds": [datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)]},
    }
    for line, message in (
        ("nobody,real,0,9", "must name each column of the source once (book.csv, line 2)"),
        ("pay,real,9", "pay=real:9 (book.csv, line 2)"),
        ("pay,real,9,0", "bounds"),
        ("pay,number,0,9", "pay=number:0:9 (book.csv, line 2)"),
    ):
        book.write_text(f"name,type,lower,upper\n{line}\n")
        done = run(*words, "--force", "--epsilon", "1")
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    book.write_bytes(b"name\n\xff\n")
    assert "must be a CSV file that can be read" in run(*words, "--force").stderr
