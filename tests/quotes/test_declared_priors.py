"""What a schema declares about values: read, written, and used by quotes, never by answers."""

import pytest

import dither as dt
from dither.errors import InvalidText
from dither.sources.schema_file import dump_schema, read_schema

TEXT = """[dataset]
source = "pay.csv"
rows = {rows}

[budget]
epsilon = 1

[columns.pay]
type = "real"
bounds = [0, 600000]

[columns.job]
type = "category"
values = ["a", "b"]

[priors.{column}]
{prior}
"""
KNOWN = 'kind = "lognormal"\nmedian = 70000\nsigma = 0.8'


def schema(column: str = "pay", prior: str = KNOWN, rows: object = 10_000) -> dt.Schema:
    """A schema with one prior."""
    return read_schema(TEXT.format(column=column, prior=prior, rows=rows), "pay.toml")


def test_a_schema_survives_being_written():
    """Priors too."""
    made = schema()
    again = read_schema(dump_schema(made), "pay.toml")
    assert again == made
    assert (
        dict(again.priors)
        == dict(made.priors)
        == {"pay": {"kind": "lognormal", "median": 70000, "sigma": made.priors["pay"]["sigma"]}}
    )


@pytest.mark.parametrize(
    ("column", "prior", "line"),
    [
        ("nope", KNOWN, "priors.nope"),
        ("job", KNOWN, "priors.job"),
        ("pay", "median = 1", "priors.pay"),
        ("pay", 'kind = "gaussian"', "gaussian"),
        ("pay", 'kind = "normal"\nmean = 4', "priors.pay"),
        ("pay", 'kind = "normal"\nmean = 4\nsd = 0', "sd = 0"),
        ("pay", 'kind = "normal"\nmean = "x"\nsd = 1', 'mean = "x"'),
        ("pay", 'kind = "uniform"\nlow = 0\nhigh = 1\nmode = 3', "mode = 3"),
    ],
)
def test_mistakes_are_pointed_at(column, prior, line):
    """At the line where they stand."""
    with pytest.raises(InvalidText) as error:
        schema(column, prior)
    assert line in str(error.value)


def test_quotes_use_it_and_answers_do_not():
    """The same figures as with the prior given, for the mechanism of the public rule; questions stay the same."""
    with_it, without = (
        schema(),
        read_schema(TEXT.format(column="pay", prior=KNOWN, rows=10_000).split("[priors")[0], "p"),
    )
    quoted = dt.quote(dt.Median("pay"), with_it, epsilon=0.5)
    prior = dt.Lognormal(median=70_000, sigma=0.8)
    given = dt.quote(dt.Median("pay"), without, epsilon=0.5, prior=prior, mechanism=quoted.mechanism)
    assert quoted.kind == "estimate"
    assert quoted.expected_error == pytest.approx(given.expected_error)
    plain = dt.quote(dt.Median("pay"), without, epsilon=0.5)
    assert (plain.kind, plain.mechanism) == ("upper bound", quoted.mechanism)
    from dither.session.plan import plan

    assert plan(dt.Median("pay"), with_it, epsilon=0.5).asked == plan(dt.Median("pay"), without, epsilon=0.5).asked


def test_where_the_number_of_records_is_private_the_bound_stays():
    """Nothing is assumed that nobody said; with a number it is an estimate again."""
    private = schema(rows='"private"')
    assert dt.quote(dt.Median("pay"), private, epsilon=0.5).kind == "upper bound"
    assert dt.quote(dt.Median("pay"), private, epsilon=0.5, rows=5_000).kind == "estimate"
    assert dt.quote(dt.Median("pay"), schema(), epsilon=0.5, prior={}).kind == "upper bound"
