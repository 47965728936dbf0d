"""What newcomers stumbled over: each of these said too little, or nothing."""

import functools
import warnings

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner

import dither as dt
from dither.interfaces.cli.main import main
from dither.sql.statement import parse_graph_items

PAY = np.random.default_rng(4).lognormal(11, 0.6, 3_000)
DAYS = np.array(["2020-02-02", "2020-03-03"], dtype="datetime64[D]")
COLUMNS = {
    "pay": dt.Real(0, 600_000),
    "job": dt.Category(["clerk", "nurse"]),
    "day": dt.Date("2019-01-01", "2020-12-31"),
}


@pytest.fixture
def session():
    """A payroll in memory."""
    jobs = ["clerk", "nurse"] * 1_500
    days = np.full(3_000, np.datetime64("2020-02-02"))
    table = {"pay": PAY, "job": jobs, "day": days.tolist()}
    return dt.open(table, columns=COLUMNS, rows=3_000, budget=dt.Budget(100.0))


def test_printing_a_release_tells_what_missing_values_count_as():
    """The public default is visible where people look first."""
    clamped = "; values outside 0 to 600,000 are clamped"
    printed = str(dt.median(PAY, bounds=(0, 600_000), epsilon=1.0))
    assert printed.endswith(f"; missing values are left out{clamped}")
    lower = str(dt.median(PAY, bounds=(0, 600_000), nulls="lower", epsilon=1.0))
    assert lower.endswith(f"; missing values are not left out, they count as 0{clamped}")
    assert "missing" not in str(dt.count(np.array([True, False]), epsilon=1.0))


@pytest.mark.parametrize("mechanism", ["inverse", "smooth", "worst_case"])
def test_a_quote_tells_how_wide_the_interval_will_be(mechanism):
    """Quoted against drawn half-widths on fresh samples of the prior.

    Widths have a standard deviation of at most 0.9 of their mean here; the median of 60 of them then is within 0.15 of
    the median of their law, against the factor 2 that is allowed: more than 6 standard deviations.
    """
    prior = dt.Lognormal(median=float(np.exp(11)), sigma=0.6)
    schema = dt.Schema("pay.csv", {"pay": dt.Real(0, 600_000)}, rows=3_000)
    query = dt.Mean("pay") if mechanism == "worst_case" else dt.Median("pay")
    quote = dt.quote(query, schema, epsilon=1.0, prior=prior, mechanism=mechanism)
    rng = np.random.default_rng(8)
    widths = []
    for _ in range(60):
        sample = rng.lognormal(11, 0.6, 3_000)
        interval = dt.ask(type(query)(bounds=(0, 600_000)), sample, epsilon=1.0, mechanism=mechanism).interval
        widths.append((interval[1] - interval[0]) / 2)
    assert quote.half_width == pytest.approx(float(np.median(widths)), rel=0.5 if mechanism != "worst_case" else 1e-3)
    assert f"interval about ± {quote.half_width:,.0f}" in str(quote) or f"± {quote.half_width:,.4g}" in str(quote)
    assert quote.to_dict()["bar"] == quote.half_width


def test_a_quote_without_a_interval_has_none():
    """No bar is asked for, or nothing is known about it for all data."""
    schema = dt.Schema("pay.csv", {"pay": dt.Real(0, 600_000)}, rows=3_000)
    assert dt.quote(dt.Median("pay"), schema, epsilon=1.0).half_width is None
    assert dt.quote(dt.Mean("pay"), schema, epsilon=1.0, confidence=None).half_width is None
    assert dt.quote(dt.Mean("pay", nulls="lower"), schema, epsilon=1.0).half_width > 0
    several = dt.quote(
        dt.Quantiles("pay", q=[0.25, 0.5]), schema, epsilon=1.0, prior=dt.Lognormal(median=6e4, sigma=0.6)
    )
    assert len(several.half_width) == 2


def test_many_groups_are_told_of_before_their_answers(session):
    """A date column has a group for each day: the public number is in the warning and in the quote."""
    days = 731
    with pytest.warns(UserWarning, match=f"{days:,} groups"):
        answers = session.sql("SELECT count(*) FROM data GROUP BY day", epsilon=1.0)
    assert len(answers) == days == session.quote(dt.Count(), by="day", epsilon=1.0).groups
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session.ask(dt.Count(), by="job", epsilon=1.0)


def test_sql_takes_a_prior(session):
    """As ask does: "auto" then is the mechanism with the least quoted error."""
    prior = dt.Lognormal(median=60_000, sigma=0.6)
    text = "SELECT trimmed_mean(pay) FROM data"
    best = next(iter(session.quote(dt.TrimmedMean("pay"), epsilon=0.1, prior=prior).alternatives))
    assert session.sql(text, epsilon=0.1, prior=prior).mechanism == best
    with pytest.raises(dt.InvalidArgument, match="rows"):
        session.sql("SELECT median(pay) FROM data WHERE job = 'clerk'", epsilon=0.1, prior=prior)
    assert (
        session.sql("SELECT median(pay) FROM data WHERE job = 'clerk'", epsilon=0.1, prior=prior, rows=1_500).value > 0
    )


def test_frames_of_groups_can_be_wide_and_use_the_names_that_were_given(session):
    """One row for each group, a column for each name."""
    answers = session.sql("SELECT job, median(pay) AS middle, count(*) FROM data GROUP BY job", epsilon=2.0)
    frame = answers.to_frame(wide=True)
    assert list(frame.columns) == [
        "job",
        "middle",
        "middle_lower",
        "middle_upper",
        "count",
        "count_lower",
        "count_upper",
        "notes",
    ]
    assert frame["job"].tolist() == ["clerk", "nurse"]
    assert len(answers.to_frame()) == 4
    assert answers[0].to_frame().to_dict("records") == answers.to_frame().iloc[:1].to_dict("records")
    assert dt.Release.from_dict(answers[0].to_dict()).alias == "middle"


@pytest.mark.parametrize("question", ["kstars(2)", "kstars(k=2)", " kstars( k = 2 ) "])
def test_stars_are_asked_at_the_shell_as_in_python(question):
    """With and without the name of the argument."""
    assert [item.query for item in parse_graph_items(question).items] == [dt.KStars(2)]


@pytest.mark.parametrize("question", ["kstars(k=)", "kstars(j=2)", "triangles(k=2)"])
def test_other_names_are_refused(question):
    """Only k, only with a number, only where it belongs."""
    with pytest.raises(dt.InvalidArgument, match="question"):
        parse_graph_items(question)


def test_a_price_in_quotes_says_so():
    """Text from a file or a form: the error says what to do."""
    with pytest.raises(dt.InvalidArgument, match=r"not a text: write 0\.5 without quotes"):
        dt.median(PAY, bounds=(0, 600_000), epsilon="0.5")
    with pytest.raises(dt.InvalidArgument, match="must be a finite number"):
        dt.median(PAY, bounds=(0, 600_000), epsilon="a half")


def test_no_limit_of_rows_is_assumed_anywhere(tmp_path):
    """A unit without a limit is refused with both choices, in a schema file as in Python."""
    from dither.sources.schema_file import load_schema

    file = tmp_path / "s.toml"
    head = '[dataset]\nsource = "a.csv"\nunit = "who"\n'
    tail = '[budget]\nepsilon = 1\n[columns.a]\ntype = "boolean"\n'
    file.write_text(head + tail)
    both = '(?s)rows_per_unit = 10 .*rows_per_unit = "private"'
    with pytest.raises(dt.InvalidArgument, match=both):
        load_schema(file)
    with pytest.raises(dt.InvalidArgument, match=both):
        dt.Schema("a.csv", {"a": dt.Boolean()}, unit="who")
    file.write_text(f"{head}rows_per_unit = 1\n{tail}")
    assert load_schema(file).rows_per_unit == 1
    assert dt.Schema("a.csv", {"a": dt.Boolean()}).rows_per_unit == 1  # every row is a person


def test_long_tables_are_cut_on_the_screen_and_whole_in_json(tmp_path):
    """Ages have 121 groups: sixty rows and a line that says how many more there are."""
    (tmp_path / "a.csv").write_text("age\n" + "40\n" * 500)
    head = '[dataset]\nsource = "a.csv"\nrows = 500\n[budget]\nepsilon = 9\n'
    (tmp_path / "a.toml").write_text(f'{head}[columns.age]\ntype = "integer"\nbounds = [0, 120]\n')
    words = ["ask", str(tmp_path / "a.toml"), "count(*)", "--by", "age", "--epsilon", "1"]
    output = CliRunner().invoke(main, words).output
    assert "... and 61 more: --json prints all of them" in output
    assert CliRunner().invoke(main, [*words, "--json"]).output.count('"query"') == 121


@pytest.mark.parametrize("width", [80, 120])
def test_tables_fit_a_terminal(width, monkeypatch, capsys):
    """Nothing but the question is broken into lines; narrow terminals have the mechanism below."""
    from rich.console import Console

    from dither.interfaces.cli import output

    monkeypatch.setattr(output, "console_of", lambda _: Console(width=width, highlight=False))
    release = dt.median(PAY, bounds=(0, 600_000), epsilon=0.5)
    output.show([release], ["a question that is long enough to be broken into several lines of a narrow terminal"])
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= width for line in lines)
    ((_, answer, (low, high)),) = release.formatted_rows()
    assert any(answer in line and f"{low} .. {high}" in line for line in lines)
    assert ("mechanism: inverse" in lines) == (width < 100)


def refused(call, *words):
    """The sentence of an error, which has these words."""
    with pytest.raises((dt.InvalidArgument, TypeError)) as caught:
        call()
    for one in words:
        assert one in str(caught.value), str(caught.value)
    return str(caught.value)


def test_errors_name_what_to_write_instead():
    """Graphs of other libraries, files, columns of texts, unknown settings and keywords, days in the wrong order."""
    pandas = pytest.importorskip("pandas")
    refused(lambda: dt.triangles([(0, 1)], epsilon=1.0), "one of networkx, igraph or scipy.sparse")
    refused(lambda: dt.Graph("friends.csv", n=400), "Graph.from_file", "friends.csv")
    frame = pandas.DataFrame({"age": [1.0, 2.0], "species": pandas.array(["a", "b"], dtype="string")})
    refused(lambda: dt.covariance(frame, bounds=(0, 9), epsilon=1.0), "data['species']", "stores string")
    call = functools.partial(dt.sample_and_aggregate, np.ones(500), np.mean, bounds=(0, 1), epsilon=1.0)
    refused(lambda: call(slt=1), "slt is no setting", "memory_mib, preload")
    refused(
        lambda: dt.winsorised_mean([1.0] * 9, trim=0.1, bounds=(0, 1), epsilon=1.0), "winsorised_mean() got", "'trim'"
    )
    refused(lambda: dt.Date("2022-01-01", "2021-01-01"), "('2022-01-01', '2021-01-01')", "the earlier one first")


def test_too_few_records_are_named_in_a_sentence():
    """How many there are, and how many are needed."""
    sentence = refused(
        lambda: dt.median([1.0] * 344, epsilon=1.0, delta=1e-6, mechanism="propose_test"), "data must have"
    )
    assert "344 records'" not in sentence
    assert "; got 344; nothing was read" in sentence


def test_an_empty_list_of_categories_is_shown_as_nothing_found():
    """No interval where there is no number; none of few categories is ever found at this threshold."""
    release = dt.histogram([f"name {place}" for place in range(100)], epsilon=1.0, delta=1e-12)
    assert release.value == ()
    assert str(release).startswith("histogram = [], nothing found (")


def test_the_older_keyword_of_a_derived_function_points_at_its_caller():
    """A warning is shown where somebody can act on it."""
    with pytest.warns(DeprecationWarning, match="calibration= is now called mechanism=") as caught:
        dt.winsorised_mean([1.0] * 100, bounds=(0, 1), calibration="worst_case", epsilon=1.0)
    assert caught[0].filename == __file__


def test_the_warning_of_an_older_name_says_when_it_goes():
    """As those of all other older names do."""
    with pytest.warns(DeprecationWarning, match=r"queries_within; the older name goes with version 0\.3"):
        dt.budget_for(dt.Loss(0.1), dt.Budget(1.0))


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        (lambda: dt.compose([0.5]), r"losses\[0\] must be a Loss, such as dt.Loss\(0.5\), or a Release"),
        (lambda: dt.median([2**53 + 1], bounds=(2**53, 2**53 + 9), epsilon=1), "pass step=4, at the shell --step 4"),
        (lambda: dt.median([1e12], bounds=(1e12, 1e12 + 1), epsilon=1), "pass step=0.000244140625"),
        (lambda: dt.median(DAYS, bounds=("2020-01-01", "2021-01-01"), epsilon=1), "of dates two datetime.date"),
        (lambda: dt.median(DAYS, bounds=(DAYS[0], DAYS[1]), epsilon=1), "of dates two datetime.date"),
        (lambda: dt.mean(DAYS - DAYS[0], bounds=(0, 5), epsilon=1), r"of durations bounds=\(timedelta, timedelta\)"),
        (lambda: dt.ask(dt.Median("agee", bounds=(0, 9)), {"age": [1.0]}, epsilon=1), "did you mean age"),
    ],
)
def test_errors_name_the_remedy(call, remedy):
    """What to write instead, for what newcomers tried first."""
    with pytest.raises(dt.InvalidArgument, match=remedy):
        call()


def test_the_step_that_an_error_names_is_accepted():
    """The steps of the cases above."""
    far = dt.median([2**53 + 4] * 99, bounds=(2**53, 2**53 + 96), step=4, epsilon=50)
    assert far.value == 2**53 + 4
    assert "values outside 9,007,199,254,740,992 to 9,007,199,254,741,088 are clamped" in str(far)
    near = dt.median([1e12] * 99, bounds=(1e12, 1e12 + 1), step=0.000244140625, epsilon=50)
    assert near.value == pytest.approx(1e12)


def test_a_relation_of_duckdb_is_opened():
    """It belongs to a connection of its own, and is read when it is opened."""
    relation = duckdb.sql("SELECT range % 10 AS x FROM range(2000)")
    session = dt.open(relation, columns={"x": dt.Integer(0, 10)}, budget=dt.Budget(60))
    assert session.ask("median(x)", epsilon=50).value in (4, 5)
