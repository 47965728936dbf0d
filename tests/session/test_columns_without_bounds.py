"""A column that is declared without bounds: what needs none is asked of it, everything else names bounds of its own."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import dither as dt
from dither.errors import InvalidArgument, InvalidText, NotApplicable
from dither.interfaces.cli.main import main
from dither.sources.schema_file import dump_schema, read_schema

GOOD = np.random.default_rng(3).normal(50, 10, 4_000)
ODD = [float("nan"), float("inf"), -float("inf"), 1e300, -5e-324, None]
VALUES = [*GOOD.tolist(), *ODD]
FILE = """version = 2
[dataset]
source = "x.csv"
rows = {rows}
[budget]
epsilon = 100
delta = 0.1
[columns]
x = {{ type = "real", bounds = "none" }}
"""


def opened(**options):
    """A session with one column without bounds, and one with."""
    columns = {"x": dt.Real(None, None, **options), "y": dt.Real(0, 200)}
    rows = {"x": VALUES, "y": [0 if one is None else one for one in VALUES]}
    return dt.open(rows, columns=columns, rows=len(VALUES), budget=dt.Budget(1e5, 0.9))


@pytest.mark.parametrize(
    ("query", "near", "error"),
    [
        (dt.Median("x"), 50, 1),
        (dt.Quantile("x", q=0.9), 62.8, 1.5),
        (dt.IQR("x"), 13.5, 2),
        (dt.TrimmedMean("x", trim=0.1), 50, 1),
        (dt.Scale("x"), 13.5, 3),
        (dt.Mean("x", bounds=(0, 100)), 50, 1),
        (dt.Median("x", bounds=(0, 100)), 50, 1),
    ],
    ids=lambda one: getattr(one, "name", None),
)
def test_what_needs_no_bounds_or_names_them(query, near, error):
    """Answers are those of the same question to an array; odd records are records."""
    session = opened()
    found = session.ask(query, epsilon=20.0, delta=1e-3)
    assert found.value == pytest.approx(near, abs=error)
    assert found.missing == (0 if query.name in ("iqr", "trimmed_mean", "scale") else "drop")
    assert session.quote(query, epsilon=1.0, delta=1e-3).loss.epsilon <= 1


def test_histograms_regressions_and_programs():
    """Edges are bounds of their own; a regression needs none; a program sees the numbers as they are."""
    session = opened()
    counts = session.ask(dt.Histogram("x", edges=[0, 50, 100]), epsilon=50.0).value
    assert sum(counts) == pytest.approx(len(VALUES), abs=4)
    assert session.ask(dt.Count(), epsilon=1.0, where="x >= 50").derived_from
    slope = session.ask(dt.Regression(target="y", features=["x"]), epsilon=20.0, delta=1e-3).value[1]
    assert slope == pytest.approx(1, abs=0.2)


def test_what_a_missing_value_counts_as():
    """0, another number, or nothing where it is dropped; then the number of records is private."""
    assert opened(nulls=70).ask(dt.Median("x"), epsilon=1.0).missing == 70
    assert opened(nulls=70).ask(dt.Mean("x", bounds=(0, 60)), epsilon=1.0).missing == 60
    with pytest.raises(NotApplicable, match="number of rows must be public"):
        opened(nulls="drop").ask(dt.IQR("x"), epsilon=1.0)
    assert opened(nulls="drop").ask(dt.Median("x"), epsilon=1.0).missing == "drop"
    assert opened(nulls="drop").ask(dt.Sum("x", bounds=(0, 100)), epsilon=1.0).missing == "drop"


@pytest.mark.parametrize(
    "query",
    [
        dt.Maximum("x"),
        dt.Covariance(["x", "y"]),
        dt.Correlation(["x", "y"]),
        dt.KMeans(["x", "y"], k=2),
        dt.MeanVector(["x", "y"]),
    ],
    ids=lambda one: one.name,
)
def test_other_questions_say_what_is_missing(query):
    """Before anything is charged."""
    session = opened()
    with pytest.raises(InvalidArgument, match="declared without"):
        session.ask(query, epsilon=1.0, delta=1e-3)
    with pytest.raises(InvalidArgument, match="declared without"):
        session.quote(query, epsilon=1.0, delta=1e-3)
    assert session.budget.spent == dt.Loss(0.0)


def test_filters_and_groups_are_refused_without_bounds():
    """Ranges, trimmed means and scales need a public number of records; nothing without bounds is asked of groups."""
    session = opened()
    with pytest.raises(NotApplicable, match="number of rows must be public"):
        session.ask(dt.IQR("x"), epsilon=1.0, where="x > 3")
    assert session.ask(dt.Median("x"), epsilon=5.0, where="x > 3").value == pytest.approx(50, abs=3)
    assert session.ask(dt.Median("x", bounds=(0, 100)), epsilon=5.0, where="x > 3").value == pytest.approx(50, abs=3)
    with pytest.raises(InvalidText, match="declared without"):
        session.sql("SELECT max(x) FROM data", epsilon=1.0)
    assert session.sql("SELECT median(x) FROM data", epsilon=5.0).value == pytest.approx(50, abs=3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dt.Integer(None, None), r"^bounds must be two numbers of type integer"),
        (lambda: dt.Decimal(None, None), r"^bounds must be two numbers of type decimal"),
        (lambda: dt.Real(0, None), r"^bounds must be two finite numbers"),
        (lambda: dt.Real(None, 1), r"^bounds must be two finite numbers"),
        (lambda: dt.Real(None, None, step=1), r"^step is not used without bounds"),
        (lambda: dt.Real(None, None, nulls="lower"), r"^nulls must be a number"),
        (lambda: dt.Real(None, None, nulls=2.0**1001), r"^nulls must be a number"),
        (lambda: opened().ask(dt.Median("x", step=1), epsilon=1), r"^step is not used without bounds"),
    ],
)
def test_declarations_that_are_none(make, words):
    """One bound is none, and only real numbers may be without."""
    with pytest.raises(InvalidArgument, match=words):
        make()


def test_schema_files_and_the_shell(tmp_path):
    """``bounds = "none"``, written back as it was read; a missing key is still an error."""
    (tmp_path / "x.csv").write_text("x\n" + "".join(f"{one}\n" for one in GOOD))
    (tmp_path / "x.toml").write_text(FILE.format(rows=len(GOOD)))
    schema = read_schema((tmp_path / "x.toml").read_text(), "x.toml")
    assert schema.columns["x"] == dt.Real(None, None)
    assert 'bounds = "none"' in dump_schema(schema)
    assert read_schema(dump_schema(schema), "x.toml").columns == schema.columns
    done = CliRunner().invoke(main, ["ask", str(tmp_path / "x.toml"), "median(x)", "--epsilon", "5", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["releases"][0]["value"] == pytest.approx(50, abs=3)
    for wrong, words in (('"non"', "write two ends"), ("[0]", "write two ends")):
        with pytest.raises(InvalidText, match=words):
            read_schema(FILE.format(rows=9).replace('"none"', wrong), "x.toml")
    with pytest.raises(InvalidText, match="bounds are missing"):
        read_schema(FILE.format(rows=9).replace(', bounds = "none"', ""), "x.toml")
    with pytest.raises(InvalidText, match="write two ends"):
        read_schema(FILE.format(rows=9).replace('"real"', '"integer"'), "x.toml")
