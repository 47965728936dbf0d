"""``dither quote`` at the shell: no data are needed."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from dither.interfaces.cli.main import main

SCHEMA = """
[dataset]
source = "not-there.csv"
rows = 40000
[budget]
epsilon = 1
[columns]
year = { type = "integer", bounds = [2011, 2014] }
total_pay = { type = "real", bounds = [0, 600000] }
"""
MEDIAN = "median(total_pay)"
PRIOR = ("--prior", "lognormal:70000:0.8")


@pytest.fixture(name="schema")
def schema_fixture(tmp_path):
    """A schema whose source does not exist."""
    path = tmp_path / "payroll.toml"
    path.write_text(SCHEMA)
    return str(path)


def quoted(*words):
    """The JSON that ``dither quote`` prints."""
    done = CliRunner().invoke(main, ["quote", *words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def refused(*words):
    """The message of a refusal."""
    done = CliRunner().invoke(main, ["quote", *words])
    assert done.exit_code == 2, done.output
    return done.stderr


def test_a_price_gives_an_error(schema):
    """An estimate with a prior, an upper bound without."""
    with_prior = quoted(schema, MEDIAN, "--epsilon", "0.5", "--by", "year", *PRIOR)["quotes"][0]
    without = quoted(schema, f"SELECT {MEDIAN} FROM payroll GROUP BY year", "--epsilon", "0.5")["quotes"][0]
    assert (with_prior["kind"], without["kind"]) == ("estimate", "upper bound")
    assert with_prior["expected_error"] < 1000 < without["expected_error"]
    assert with_prior["groups"] == 4
    assert with_prior["epsilon"] == 0.5


@pytest.mark.slow
def test_a_target_gives_a_price(schema):
    """The least epsilon for an error of 500."""
    found = quoted(schema, MEDIAN, "--target-error", "500", "--by", "year", *PRIOR)
    assert 0 < found["epsilon"] < 0.5
    assert found["quotes"][0]["expected_error"] <= 500
    stricter = quoted(schema, MEDIAN, "--target-error", "500", "--of", "bound", "--by", "year", *PRIOR)
    assert stricter["epsilon"] > found["epsilon"]
    assert stricter["quotes"][0]["bound"] <= 500


def test_a_table_says_what_the_errors_are(schema, tmp_path):
    """In words; several numbers have a line each; a public sample serves as a prior."""
    sample = tmp_path / "old.txt"
    sample.write_text("\n".join(str(1000 * k) for k in range(20, 120)))
    done = CliRunner().invoke(
        main,
        [
            "quote",
            schema,
            f"quantiles(total_pay, 0.25, 0.75), {MEDIAN}",
            "--epsilon",
            "1",
            "--prior-sample",
            str(sample),
        ],
    )
    assert done.exit_code == 0, done.output
    assert "if the records are as the prior says" in done.stdout
    assert "0.75" in done.stdout
    assert "upper bound for all data" in CliRunner().invoke(main, ["quote", schema, MEDIAN, "--epsilon", "1"]).stdout


def test_bad_options_are_named(schema):
    """Nothing is read, and the message says what is accepted."""
    assert "either --epsilon or --target-error" in refused(schema, MEDIAN)
    assert "either --epsilon or --target-error" in refused(schema, MEDIAN, "--epsilon", "1", "--target-error", "5")
    assert "lognormal:MEDIAN:SIGMA" in refused(schema, MEDIAN, "--epsilon", "1", "--prior", "lognormal:5")
    assert "must be one query" in refused(schema, f"{MEDIAN}, avg(total_pay)", "--target-error", "5")
    assert "rows" in refused(schema, MEDIAN, "--epsilon", "1", "--where", "year = 2011", *PRIOR)
    assert "must be at least 3.01e+05" in refused(schema, MEDIAN, "--target-error", "500")


def test_a_count_that_a_stored_histogram_answers_is_free(tmp_path):
    """Beside the schema's ledger, or in one that is named; --again quotes the fresh answer."""
    schema = tmp_path / "pay.toml"
    schema.write_text(SCHEMA.replace("not-there.csv", "pay.csv").replace("rows = 40000\n", ""))
    (tmp_path / "pay.csv").write_text("year,total_pay\n" + "2011,1\n2012,2\n" * 50)
    asked = ("count(*)", "--where", "total_pay >= 2", "--epsilon", "0.5")
    assert quoted(str(schema), *asked)["epsilon"] == 0.5
    done = CliRunner().invoke(main, ["ask", str(schema), "histogram(total_pay, 0, 2, 600000)", "--epsilon", "0.5"])
    assert done.exit_code == 0, done.output
    free = quoted(str(schema), *asked)
    assert (free["epsilon"], free["quotes"][0]["derived_from"]) == (0, 2)
    assert quoted(str(schema), *asked, "--ledger", str(tmp_path / "pay.ledger")) == free
    assert quoted(str(schema), *asked, "--again")["epsilon"] == 0.5
    answered = CliRunner().invoke(main, ["ask", str(schema), *asked])
    assert "free: computed from the release of charge 2; --again pays for a new answer" in answered.output
    assert "spent epsilon 0.5" in answered.output
    assert CliRunner().invoke(main, ["quote", str(schema), *asked, "--ledger", str(tmp_path / "none")]).exit_code == 2


FILE = "job;pay;day\n"
RECORDS = {"none": b"", "some": b"clerk;1.234,50;2020-01-31\n" * 30, "odd": b'\xff\x00;;\n"' * 9}
DECLARED = ("--column", "job=category:clerk:nurse", "--rows", "3000", "--epsilon", "0.5")


@pytest.fixture(name="files")
def files_fixture(tmp_path):
    """Files of the same name that differ in their records alone."""
    paths = {}
    for name, records in RECORDS.items():
        (tmp_path / name).mkdir()
        paths[name] = tmp_path / name / "own.csv"
        paths[name].write_bytes(FILE.encode() + records)
    return {name: str(path) for name, path in paths.items()}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("median(pay)", ("--bounds", "0", "6000", "--format", "1.234,56")),
        ("median(pay)", ("--bounds", "0,6000", "--by", "job")),
        ("mean(pay)", ("--bounds", "0", "6000", "--where", "job = 'clerk'", "--prior", "lognormal:700:0.8")),
        ("SELECT avg(pay), count(*) FROM own GROUP BY job", ("--column", "pay=real:0:6000")),
        ("median(day)", ("--bounds", "2000-01-01", "2030-01-01")),
        ("median(pay)", ()),
    ],
)
def test_a_file_without_a_schema_is_quoted_by_what_flags_declare(files, question, words):
    """As for a schema with the same columns; records are not read, whatever they are."""
    quotes = [quoted(file, question, *words, *DECLARED) for file in files.values()]
    assert quotes[0] == quotes[1] == quotes[2]
    assert all(one["epsilon"] <= 0.5 for one in quotes[0]["quotes"])


def test_a_file_is_quoted_as_its_schema_is(files, tmp_path):
    """The same figures, mechanism and assumptions."""
    (tmp_path / "own.toml").write_text(
        '[dataset]\nsource = "own.csv"\nrows = 3000\n[budget]\nepsilon = 1\n'
        '[columns]\npay = { type = "real", bounds = [0, 6000] }\n'
        'job = { type = "category", values = ["clerk", "nurse"] }\n'
    )
    flags = ("--bounds", "0", "6000", *DECLARED)
    by_schema = quoted(str(tmp_path / "own.toml"), "mean(pay)", "--by", "job", "--epsilon", "0.5")
    assert quoted(files["none"], "mean(pay)", "--by", "job", *flags) == by_schema


def test_how_many_records_a_text_file_has_is_said_and_a_parquet_file_says_it(files, tmp_path):
    """A refusal names the option; slips in the name of a column are answered with the nearest."""
    words = ("--bounds", "0", "6000", "--epsilon", "1")
    assert "--rows 20000" in refused(files["some"], "median(pay)", *words)
    assert "did you mean pay?" in refused(files["some"], "median(pya)", "--rows", "9", "--epsilon", "1")
    assert "is declared in the schema" in refused("x.toml", "median(pay)", "--server", "http://127.0.0.1:9", *words)
    pq.write_table(pa.table({"pay": [1.0] * 700}), tmp_path / "pay.parquet")
    (quote,) = quoted(str(tmp_path / "pay.parquet"), "median(pay)", *words)["quotes"]
    assert any("700 records" in text for text in quote["assumptions"])
