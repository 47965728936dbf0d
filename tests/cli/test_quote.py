"""``dither quote`` at the shell: no data are needed."""

import json

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
