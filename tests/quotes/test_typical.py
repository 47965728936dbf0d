"""Quotes without a prior: the range of errors over standard public shapes, before the bound for all data."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import dither as dt
from dither.interfaces.cli.main import main
from dither.quotes.priors import standard_shapes
from dither.quotes.quote import Quote

SCHEMA = dt.Schema("pay.csv", {"pay": dt.Real(0, 600_000), "job": dt.Category(["a", "b"])}, rows=4_000)
QUERIES = [
    dt.Median("pay"),
    dt.Mean("pay"),
    dt.Maximum("pay"),
    dt.IQR("pay"),
    dt.TrimmedMean("pay"),
    dt.Quantiles("pay", q=[0.25, 0.5, 0.75]),
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_the_typical_error_is_the_range_of_quotes_under_the_shapes(query):
    """Its ends are the least and the greatest quote under a shape, for the same mechanism; the worst case follows."""
    quoted = dt.quote(query, SCHEMA, epsilon=0.5)
    each = [
        dt.quote(query, SCHEMA, epsilon=0.5, prior=shape, mechanism=quoted.mechanism).worst_expected
        for shape in standard_shapes(0, 600_000)
    ]
    assert quoted.kind == "upper bound"
    # (quotes under a prior average over more samples)
    assert quoted.typical_error == pytest.approx((min(each), max(each)), rel=0.35)
    assert max(each) <= quoted.worst_expected
    assert str(quoted).index("typical error") < str(quoted).index("worst data")


def test_a_standard_deviation_has_the_error_of_the_root():
    """Against noise drawn: the mean error on an even sample lies within the typical range (twin: not the worst's)."""
    quoted = dt.quote(dt.Std("pay"), SCHEMA, epsilon=2.0)
    sample = np.linspace(0, 600_000, 4_000)
    least, most = quoted.typical_error
    errors = [
        abs(dt.std(sample, bounds=(0, 600_000), epsilon=2.0, nulls="drop").value - sample.std()) for _ in range(60)
    ]
    # A mean of 60 errors of a law with an exponential tail is within these factors with more than 1 - 1e-9.
    assert least / 6 < np.mean(errors) < 3 * most < 3 * quoted.expected_error


def test_what_is_known_better_has_no_typical_range():
    """Noise of a public scale, or a prior, says more."""
    counted = dt.quote(dt.Count("pay"), dt.Schema("x.csv", {"pay": dt.Boolean()}, rows=100), epsilon=1.0)
    assert counted.typical_error is None
    under = dt.quote(dt.Median("pay"), SCHEMA, epsilon=1.0, prior=dt.Uniform(0, 600_000))
    assert under.typical_error is None


def test_a_private_number_of_records_is_assumed_and_said():
    """Where nobody says how many records there are, a number is assumed."""
    private = dt.Schema("pay.csv", {"pay": dt.Real(0, 600_000)})
    quoted = dt.quote(dt.Median("pay"), private, epsilon=0.5)
    assert any("1,000 records" in assumption for assumption in quoted.assumptions)
    more = dt.quote(dt.Median("pay"), private, epsilon=0.5, rows=50_000)
    assert more.typical_error[1] < quoted.typical_error[1] / 10
    grouped = dt.quote(dt.Median("pay"), SCHEMA, epsilon=0.5, by="job")
    assert grouped.typical_error is not None


def test_the_least_epsilon_for_a_typical_error():
    """A target that no data-independent bound reaches is reached typically."""
    found = dt.least_epsilon(dt.Median("pay"), SCHEMA, target_error=500, of="typical_error")
    assert found.typical_error[1] <= 500
    assert found.loss.epsilon < 2
    with pytest.raises(dt.InvalidArgument, match="typically it is"):
        dt.least_epsilon(dt.Median("pay"), SCHEMA, target_error=500)


def test_json_and_the_shell_have_it(tmp_path):
    """Through JSON and back, and in the table of the shell."""
    quoted = dt.quote(dt.Median("pay"), SCHEMA, epsilon=0.5)
    assert Quote.from_dict(json.loads(json.dumps(quoted.to_dict()))).typical_error == quoted.typical_error
    (tmp_path / "pay.csv").write_text("pay\n1\n")
    schema = tmp_path / "pay.toml"
    schema.write_text(
        'version = 2\n[dataset]\nsource = "pay.csv"\nrows = 4000\n[budget]\nepsilon = 1\n'
        '[columns.pay]\ntype = "real"\nbounds = [0, 600000]\n'
    )
    shown = CliRunner().invoke(main, ["quote", str(schema), "median(pay)", "--epsilon", "0.5"])
    assert shown.exit_code == 0, shown.output
    assert "typical error" in shown.output
    assert "over values spread evenly" in shown.output
    searched = ["quote", str(schema), "median(pay)", "--target-error", "500", "--of", "typical", "--json"]
    answered = json.loads(CliRunner().invoke(main, searched).output)
    assert answered["quotes"][0]["typical_error"][1] <= 500
