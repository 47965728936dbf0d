"""SQL: every supported form becomes the right queries, everything else is refused at the right word."""

import string
from decimal import Decimal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dither as dt
from dither.errors import InvalidText
from dither.session import statements
from dither.sources.predicates import LONGEST, parse_filter
from dither.sql.calls import scope_of
from dither.sql.functions import functions_of
from dither.sql.statement import parse_file_call, parse_items, parse_sql
from registered import calls_of_columns

SCHEMA = dt.Schema(
    "pay.csv",
    {
        "total_pay": dt.Real(0, 600_000),
        "year": dt.Integer(2010, 2020),
        "job": dt.Category(["clerk", "nurse", "x'; DROP TABLE payroll; --"]),
        "town": dt.Category(),
        "active": dt.Boolean(),
        "hired": dt.Date("1980-01-01", "2020-12-31"),
        'odd "name"; --': dt.Real(0, 1),
        "Größe": dt.Real(0, 3),
    },
    "payroll",
    rows=1000,
    budget=dt.Budget(1.0),
)


def asked(select_list):
    """The queries of a SELECT list."""
    statement = parse_sql(f"SELECT {select_list} FROM payroll", SCHEMA)
    short = parse_items(select_list, SCHEMA)
    assert short.queries == statement.queries
    return statement.queries


CASES = [
    ("count(*)", dt.Count()),
    ("COUNT ( * )", dt.Count()),
    ("count_if(active)", dt.Count("active")),
    ("count(active)", dt.CountPresent("active")),
    ("COUNT(year)", dt.CountPresent("year")),
    ("quality(total_pay)", dt.Quality("total_pay")),
    ("sum(total_pay)", dt.Sum("total_pay")),
    ("avg(total_pay)", dt.Mean("total_pay")),
    ("mean(TOTAL_PAY)", dt.Mean("total_pay")),
    ("variance(year)", dt.Variance("year", ddof=1)),
    ("var_samp(year)", dt.Variance("year", ddof=1)),
    ("var_pop(year)", dt.Variance("year", ddof=0)),
    ("std(year)", dt.Std("year", ddof=1)),
    ("stddev(year)", dt.Std("year", ddof=1)),
    ("stddev_samp(year)", dt.Std("year", ddof=1)),
    ("stddev_pop(year)", dt.Std("year", ddof=0)),
    ("median(hired)", dt.Median("hired")),
    ('median("total_pay")', dt.Median("total_pay")),
    ('median("odd ""name""; --")', dt.Median('odd "name"; --')),
    ("median(größe)", dt.Median("Größe")),
    ("quantile(year, 0.9)", dt.Quantile("year", q=Decimal("0.9"))),
    ("quantile(year, .9)", dt.Quantile("year", q=Decimal("0.9"))),
    ("quantile_disc(year, 9e-1)", dt.Quantile("year", q=Decimal("0.9"))),
    ("percentile_disc(0.25) WITHIN GROUP (ORDER BY year)", dt.Quantile("year", q=Decimal("0.25"))),
    ("quantile(year, [0.1, 0.9])", dt.Quantiles("year", q=(Decimal("0.1"), Decimal("0.9")))),
    ("quantiles(year, 0.1, 0.9)", dt.Quantiles("year", q=(Decimal("0.1"), Decimal("0.9")))),
    ("min(year)", dt.Minimum("year")),
    ("max(year)", dt.Maximum("year")),
    ("trimmed_mean(year)", dt.TrimmedMean("year")),
    ("trimmed_mean(year, 0.2)", dt.TrimmedMean("year", trim=Decimal("0.2"))),
    ("iqr(year)", dt.IQR("year")),
    ("histogram(job)", dt.Histogram("job")),
    ("histogram(year, [-10, +2.5, 1e3])", dt.Histogram("year", edges=(-10, Decimal("2.5"), 1000))),
    ("histogram(year, 2010, 2015, 2_020)", dt.Histogram("year", edges=(2010, 2015, 2020))),
    ("histogram(job, categories => ['clerk', 'x'])", dt.Histogram("job", categories=["clerk", "x"])),
    ("scale(year)", dt.Scale("year")),
    ("scale(year, low = 0.1, HIGH => 0.9)", dt.Scale("year", low=Decimal("0.1"), high=Decimal("0.9"))),
    ("iqr(year, low => 0.1)", dt.IQR("year", low=Decimal("0.1"))),
    ("mode(job)", dt.Mode("job")),
    ("mode(job, rows_per_person => 2)", dt.Mode("job", rows_per_person=2)),
    ("order_statistic(year, 5)", dt.OrderStatistic("year", rank=5)),
    ("order_statistic(year, rank => 5)", dt.OrderStatistic("year", rank=5)),
    ("smallest_sum(year, 3)", dt.SmallestSum("year", k=3)),
    ("quantile(year, q => 0.9)", dt.Quantile("year", q=Decimal("0.9"))),
    ("quantile(year, q => [0.1, 0.9])", dt.Quantiles("year", q=(Decimal("0.1"), Decimal("0.9")))),
    ("quantiles(year, [0.1, 0.9])", dt.Quantiles("year", q=(Decimal("0.1"), Decimal("0.9")))),
    (
        "median(year, bounds => [2011, 2014], nulls => 'upper')",
        dt.Median("year", bounds=(2011, 2014), nulls="upper"),
    ),
    ("mean_vector(year, total_pay)", dt.MeanVector(("year", "total_pay"))),
    ("ball_mean(year, total_pay, radius => 20)", dt.BallMean(("year", "total_pay"), radius=20)),
    ("covariance(year, total_pay)", dt.Covariance(("year", "total_pay"))),
    ("covariance()", dt.Covariance()),
    ("covar_pop(total_pay, year)", dt.PairCovariance(("total_pay", "year"), ddof=0)),
    ("covar_samp(total_pay, year)", dt.PairCovariance(("total_pay", "year"), ddof=1)),
    ("pair_covariance(total_pay, year)", dt.PairCovariance(("total_pay", "year"))),
    ("corr(total_pay, year)", dt.Correlation(("total_pay", "year"))),
    ("correlation(total_pay, year)", dt.Correlation(("total_pay", "year"))),
    ("regr_slope(total_pay, year)", dt.LeastSquares(("total_pay", "year"), part="slope")),
    ("regr_intercept(total_pay, year)", dt.LeastSquares(("total_pay", "year"), part="intercept")),
    ("least_squares(total_pay, year)", dt.LeastSquares(("total_pay", "year"))),
    ("counting_queries(active)", dt.CountingQueries(("active",))),
    (
        "kmeans_cost(year, total_pay, [2012, 5, 2014, 9])",
        dt.KMeansCost(("year", "total_pay"), centres=(2012, 5, 2014, 9)),
    ),
    ("regression(total_pay, year, active)", dt.Regression("total_pay", ("year", "active"))),
    ("regression(total_pay)", dt.Regression("total_pay")),
    ("regression(total_pay, year, method => 'ols')", dt.Regression("total_pay", ("year",), method="ols")),
    (
        "regression(total_pay, year, method => 'shortcut', intercept => false, block_size => 9)",
        dt.Regression("total_pay", ("year",), method="shortcut", intercept=False, block_size=9),
    ),
    ("kmeans(year, total_pay, k => 3)", dt.KMeans(("year", "total_pay"), k=3)),
    ("kmeans(year, total_pay, 3)", dt.KMeans(("year", "total_pay"), k=3)),
    (
        "kmeans(year, total_pay, k = 3, bounds => [[0, 1], [2, 3]])",
        dt.KMeans(("year", "total_pay"), k=3, bounds=[(0, 1), (2, 3)]),
    ),
    ("gaussian_mixture(year, k => 2, blocks => 40)", dt.GaussianMixture(("year",), k=2, blocks=40)),
]
CASES += calls_of_columns("year", {"minimum", "maximum", *(text.split("(")[0] for text, _ in CASES)}).values()


@pytest.mark.parametrize(("text", "query"), CASES)
def test_every_function(text, query):
    """One function of one column, with or without a name."""
    assert asked(text) == [(query, None)]
    assert asked(f"{text} AS answer") == [(query, "answer")]
    assert asked(f'{text} "the answer"') == [(query, "the answer")]
    assert asked(f"{text} /* ; */ -- the end\n") == [(query, None)]


def test_every_function_is_tested():
    """No function of a table is missing above; aliases of names are."""
    tested = {"countif", "minimum", "maximum"}
    assert tested | {text.split("(")[0].strip().lower() for text, _ in CASES} == set(functions_of(scope_of(SCHEMA)))


def test_a_whole_statement():
    """Several queries, groups in the list, a filter over two lines, GROUP BY and a semicolon."""
    statement = parse_sql(
        """select Job, median(total_pay) as middle, count(*) -- people
           from PAYROLL
           where year between 2012 and 2014 and not (job = 'nurse' or active) /* comment */
           group by job, "active" ;""",
        SCHEMA,
    )
    assert statement.queries == [(dt.Median("total_pay"), "middle"), (dt.Count(), None)]
    assert statement.by == ("job", "active")
    assert str(statement.where) == str(
        parse_filter("year between 2012 and 2014 and not (job = 'nurse' or active)", SCHEMA)
    )


@pytest.mark.parametrize(
    ("text", "at", "reason"),
    [
        ("SELECT * FROM payroll", "*", "records are never released"),
        ("SELECT median(total_pay) FROM payroll JOIN other ON a = b", "JOIN", "a join is not supported"),
        ("SELECT median(total_pay) FROM payroll LEFT JOIN other USING (a)", "LEFT", "a join is not supported"),
        ("SELECT median(total_pay) FROM payroll, other", ",", "a join is not supported"),
        ("SELECT median(total_pay) FROM (SELECT * FROM payroll)", "SELECT", "a subquery is not supported"),
        ("SELECT (SELECT 1), median(total_pay) FROM payroll", "(", "a function of a column is expected"),
        ("SELECT median(total_pay) FROM payroll WHERE year IN (SELECT 1)", "SELECT", "a subquery is not supported"),
        ("SELECT median(total_pay) FROM payroll WHERE EXISTS (SELECT 1)", "EXISTS", "a subquery is not supported"),
        ("WITH a AS (SELECT 1) SELECT median(total_pay) FROM a", "WITH", "a common table expression"),
        ("SELECT median(total_pay) FROM payroll ORDER BY 1", "ORDER BY", "ORDER BY is about groups"),
        ("SELECT job, count(*) FROM payroll GROUP BY job ORDER BY 3", "3", "write a place from 1 to 2, or a name"),
        ("SELECT median(total_pay) FROM payroll WHERE year = 2012 ORDER\n BY 1", "ORDER\n BY", "is about groups"),
        ("SELECT median(total_pay) FROM payroll LIMIT 5", "LIMIT", "LIMIT is about groups"),
        ("SELECT median(total_pay) FROM payroll GROUP BY job LIMIT some", "some", "a whole number behind LIMIT"),
        ("SELECT median(total_pay) FROM payroll GROUP BY job HAVING count(*) > 5", "count(*)", "only what is asked"),
        ("SELECT DISTINCT job FROM payroll", "DISTINCT", "DISTINCT is not supported"),
        ("SELECT sum(DISTINCT year) FROM payroll", "DISTINCT", "DISTINCT is not supported"),
        ("SELECT count(DISTINCT job) FROM payroll", "DISTINCT", "DISTINCT is not supported"),
        ("SELECT median(year) FROM payroll UNION SELECT 1", "UNION", "UNION is not supported"),
        ("SELECT median(year) OVER (PARTITION BY job) FROM payroll", "OVER", "a window function is not"),
        ("SELECT count(*) FILTER (WHERE active) FROM payroll", "FILTER", "FILTER is not supported"),
        ("SELECT CASE WHEN active THEN 1 END FROM payroll", "CASE", "CASE is not supported"),
        ("SELECT sum(CASE WHEN active THEN 1 END) FROM payroll", "CASE", "CASE is not supported"),
        ("SELECT cast(year AS int) FROM payroll", "cast", "a cast is not supported"),
        ("SELECT mad(year) FROM payroll", "mad", "iqr(column) may serve instead"),
        ("SELECT quantile_cont(year, 0.5) FROM payroll", "quantile_cont", "quantile(column, 0.9) may serve"),
        ("SELECT read_csv('x') FROM payroll", "'x'", "no expressions"),
        ("SELECT pg_sleep(5) FROM payroll", "pg_sleep", "not offered"),
        ('SELECT "median"(year) FROM payroll', '"median"', "not offered"),
        ("SELECT median(year % 2) FROM payroll", "%", "no expressions"),
        ("SELECT median(abs(year)) FROM payroll", "abs", "no expressions"),
        ("SELECT median(year) + 1 FROM payroll", "+", "arithmetic with median"),
        ("SELECT median(year)::int FROM payroll", "::", "arithmetic with median"),
        ("SELECT -median(year) FROM payroll", "-", "a function of a column is expected"),
        ("SELECT median(year) FROM payroll; DROP TABLE payroll", "DROP", "one statement"),
        ("SELECT median(year) FROM payroll WHERE year = 2012; DROP TABLE payroll", "DROP", "one statement"),
        ("DROP TABLE payroll", "DROP", "starts with SELECT"),
        ("median(year)", "median", "starts with SELECT"),
        ("SELECT median(year) FROM salaries", "salaries", "the registered one is payroll"),
        ('SELECT median(year) FROM "PAYROLL"', '"PAYROLL"', "the registered one is payroll"),
        ("SELECT median(year) FROM main.payroll", "main", "the registered one is payroll"),
        ("SELECT median(year) FROM payroll.other", "payroll", "the registered one is payroll"),
        ("SELECT median(year) FROM payroll AS p", "AS", "another name for the table"),
        ("SELECT median(year) FROM payroll p", "p", "another name for the table"),
        ("SELECT median(year) FROM 'payroll'", "'payroll'", "the registered one is payroll"),
        ("SELECT median(year) FROM read_csv('x')", "read_csv", "the registered one is payroll"),
        ("SELECT median(yeer) FROM payroll", "yeer", "unknown column; did you mean year?; declared are total_pay"),
        ('SELECT median("YEAR") FROM payroll', '"YEAR"', "unknown column"),
        ("SELECT median(other.year) FROM payroll", "other.year", "unknown column"),
        ("SELECT year, median(year) FROM payroll", "year", "must stand in GROUP BY"),
        ("SELECT job FROM payroll GROUP BY job", "SELECT", "nothing is asked"),
        ("SELECT median(year) FROM payroll GROUP BY 1", "1", "the name of a column"),
        ("SELECT median(year) FROM payroll GROUP BY nope", "nope", "unknown column"),
        ("SELECT median(year) FROM payroll GROUP BY job, job", "job", "once"),
        ("SELECT median(year) FROM payroll GROUP BY ROLLUP (job)", "ROLLUP", "ROLLUP is not supported"),
        ("SELECT median(year) FROM payroll GROUP BY job WHERE year = 1", "WHERE", "not supported here"),
        ("SELECT count(yeer) FROM payroll", "yeer", "unknown column"),
        ("SELECT count(*, year) FROM payroll", "count(*, year)", "count_if(flag)"),
        ("SELECT count(1) FROM payroll", "count(1)", "write count(column)"),
        ("SELECT sum(*) FROM payroll", "sum(*)", "write sum(column)"),
        ("SELECT median() FROM payroll", "median()", "write median(column)"),
        ("SELECT median(year, 2) FROM payroll", "2", "only median(column)"),
        ("SELECT quantile(year) FROM payroll", "quantile(year)", "quantile(column, 0.9)"),
        ("SELECT quantile(year, job) FROM payroll", "job", "write a number"),
        ("SELECT quantile(year, 1.5) FROM payroll", "quantile(year, 1.5)", "[0, 1]"),
        ("SELECT quantile(year, 1e999999999) FROM payroll", "quantile(year, 1e999999999)", "finite"),
        ("SELECT trimmed_mean(year, 0.7) FROM payroll", "trimmed_mean(year, 0.7)", ""),
        ("SELECT histogram(year, 3, 2) FROM payroll", "histogram(year, 3, 2)", "increasing"),
        ("SELECT percentile_disc(0.5) FROM payroll", "percentile_disc(0.5)", "WITHIN GROUP"),
        ("SELECT percentile_disc(0.5) WITHIN GROUP (year) FROM payroll", "year", "ORDER BY column"),
        ("SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY year DESC) FROM payroll", "DESC", "ORDER BY column"),
        ("SELECT iqr(year) WITHIN GROUP (ORDER BY year) FROM payroll", "iqr(year) WITHIN GROUP (ORDER BY year)", ""),
        ("SELECT min(year) AS a, max(year) AS a FROM payroll", "min(year)", "two queries are called a"),
        ("SELECT min(year) AS FROM payroll", "FROM", "a name is expected"),
        ("SELECT min(year) AS 'a' FROM payroll", "'a'", "a name is expected"),
        ("SELECT min(year), FROM payroll", "FROM", "a function of a column is expected"),
        ("SELECT median(year FROM payroll", "FROM", "no expressions"),
        ("SELECT median(year", "median", "never closed"),
        ("SELECT median(year) FROM payroll WHERE", "", "a condition is expected"),
        ("SELECT median(year) FROM payroll WHERE GROUP BY job", "GROUP BY", "a condition is expected"),
        ("SELECT median(year) FROM payroll WHERE yeer = 1", "yeer", "unknown column"),
        ("SELECT median(year) FROM payroll\nWHERE year = 1\n AND year = month", "month", ""),
        ("SELECT median(year) FROM payroll WHERE year + 1 = 2", "year + 1", "comparisons of columns"),
        ("SELECT median(year) FROM payroll WHERE job = 'baker'", "'baker'", "not a declared category"),
        ("SELECT median(year) FROM payroll WHERE year = 'x''; DROP TABLE y'", "'x''; DROP TABLE y'", "a number"),
        ("SELECT median(year) FROM payroll WHERE job = 'abc", "'", "never closed"),
        ('SELECT median("year) FROM payroll', '"', "never closed"),
        ("SELECT median(year) /* FROM payroll", "", ""),
        ("SELECT median(year) FROM payroll WHERE year = 1 OR 1 = 1", "1", "comparisons of columns"),
        ("SELECT median(year) FROM payroll WHERE job = 'a\\' OR 1=1 --'", "'a\\'", "not a declared category"),
        ("SELECT median(ye\0ar) FROM payroll", "ye\0ar", ""),
        ("SELECT median(year) FROM payroll\0", "", ""),
        ("SELECT median(ｙear) FROM payroll", "ｙear", "unknown column"),
        ("SELECT median(year) FROM payroll WHERE " + "(" * 200 + "year = 1" + ")" * 200, "(", "brackets inside"),
        ("SELECT median(" + "[" * 200, "[", "brackets inside"),
        ("SELECT median(year) FROM payroll WHERE " + "NOT " * 4000 + "active", "", "too deeply"),
        ("SELECT median(year) FROM payroll WHERE year = " + "-" * 3 + "1", "", ""),
    ],
)
def test_everything_else_is_refused_at_its_word(text, at, reason):
    """The error says what is supported and marks the word."""
    with pytest.raises(InvalidText) as caught:
        parse_sql(text, SCHEMA)
    error = caught.value
    assert reason in str(error)
    assert str(error).startswith("sql, line ")
    assert "nothing was read, nothing was charged" in str(error)
    if at:
        assert text[error.start : error.end] == at


def test_the_refused_word_is_marked_where_it_stands():
    """The caret stands under the word of the right line."""
    with pytest.raises(InvalidText) as caught:
        parse_sql("SELECT median(year)\nFROM payroll\nUNION SELECT 1", SCHEMA)
    assert "line 3, column 1" in str(caught.value)
    assert "\n  UNION SELECT 1\n  ^^^^^\n" in str(caught.value)
    assert "supported is SELECT of count(*)" in str(caught.value)


def test_categories_are_data_not_sql():
    """A declared category that looks like an attack is compared, not run; so is a column with an odd name."""
    session = dt.open(
        {"job": ["clerk", "x'; DROP TABLE payroll; --", "a\\' OR 1=1"] * 300, 'odd "name"; --': [1.0, 2.0, 3.0] * 300},
        columns={
            "job": dt.Category(["clerk", "x'; DROP TABLE payroll; --", "a\\' OR 1=1"]),
            'odd "name"; --': dt.Real(0, 4),
        },
        name="payroll",
        rows=900,
        budget=dt.Budget(1000.0),
    )
    for value in ("x'; DROP TABLE payroll; --", "a\\' OR 1=1", "clerk"):
        quoted = value.replace("'", "''")
        release = session.sql(f"SELECT count(*) FROM payroll WHERE job = '{quoted}'", epsilon=50)
        assert abs(release.value - 300) <= 3
    median = session.sql('SELECT median("odd ""name""; --") FROM payroll', epsilon=50)
    assert abs(median.value - 2) < 0.1


def test_texts_without_measure():
    """Not a text, nothing, far too long."""
    for bad in (None, 5, "", "  \n", "SELECT " + "median(year), " * LONGEST):
        with pytest.raises(dt.InvalidArgument, match=r"^sql must "):
            parse_sql(bad, SCHEMA)


WORDS = st.sampled_from(
    [
        "SELECT",
        "FROM",
        "payroll",
        "WHERE",
        "GROUP BY",
        "median",
        "(",
        ")",
        "(year)",
        "year",
        "job",
        ",",
        "*",
        "count(*)",
        "=",
        "2012",
        "'clerk'",
        "AND",
        "OR",
        "NOT",
        "IN",
        "BETWEEN",
        "IS NULL",
        ";",
        "--",
        "/*",
        "*/",
        '"',
        "'",
        "[",
        "]",
        "AS",
        "WITHIN GROUP",
        "ORDER BY",
        "CASE",
        "::",
        "{",
        "}",
        "$$",
        "\\",
        "\0",
        "é",
        "histogram",
        "quantile",
        "0.5",
        "1e400",
        "-",
        ".",
        "INTERVAL",
        "DATE '2020-01-01'",
        "x'ff'",
    ]
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.text() | st.text(string.printable) | st.lists(WORDS, max_size=25).map(" ".join))
@example("SELECT median(year) FROM payroll WHERE {")
@example("SELECT median(year) FROM payroll WHERE year IN (1, 2")
def test_any_text_is_a_statement_or_a_clear_error(text):
    """Nothing but errors raised on purpose."""
    for tried in (text, f"SELECT median(year) FROM payroll WHERE {text}", f"SELECT {text} FROM payroll"):
        for read in (parse_sql, parse_items, parse_filter):
            try:
                read(tried, SCHEMA)
            except dt.DitherError as error:
                assert "nothing was charged" in str(error)  # noqa: PT017


@pytest.fixture
def session():
    """A dataset of 2000 people with a large budget."""
    return dt.open(
        {"pay": [float(i % 100) for i in range(2000)], "job": ["clerk", "nurse"] * 1000, "year": [2012, 2013] * 1000},
        columns={"pay": dt.Real(0, 100), "job": dt.Category(["clerk", "nurse"]), "year": dt.Integer(2010, 2014)},
        rows=2000,
        name="payroll",
        budget=dt.Budget(100.0, 0.01),
    )


def test_one_query_is_one_release(session):
    """A single query without groups gives a Release, anything else Releases."""
    one = session.sql("SELECT median(pay) FROM payroll", epsilon=1)
    assert isinstance(one, dt.Release)
    assert one.query == "median of pay"
    assert session.budget.spent == dt.Loss(1.0)
    groups = session.sql("SELECT median(pay) AS middle FROM payroll GROUP BY job", epsilon=1)
    assert [release.group for release in groups] == [{"job": "clerk"}, {"job": "nurse"}]
    assert {release.query for release in groups} == {"middle (median of pay)"}
    assert session.budget.spent == dt.Loss(2.0)


def test_the_price_is_split_evenly(session):
    """Three queries share the price; the charge is never more than was asked for."""
    releases = session.sql("SELECT median(pay), sum(pay), min(pay) FROM payroll", epsilon=1)
    assert [release.loss.epsilon for release in releases] == [0.333333333] * 3
    assert session.budget.spent.epsilon <= 1


def test_weights(session):
    """A list or a mapping of names changes the shares."""
    text = "SELECT median(pay) AS middle, sum(pay) FROM payroll"
    for weights in ([3, 1], {"middle": 3}, {"middle": 1.5, "sum(pay)": 0.5}):
        losses = [release.loss.epsilon for release in session.sql(text, epsilon=1, weights=weights, again=True)]
        assert losses == [0.75, 0.25]
    for bad in ([1], [1, 0], [1, -1], {"nobody": 1}, {"middle": 0}, "ab", 5, [1, "a"]):
        with pytest.raises(dt.InvalidArgument, match="weights"):
            session.sql(text, epsilon=1, weights=bad)


def test_a_public_count_takes_no_share(session):
    """The declared number of rows is free, alone and in a list; a filtered one is not."""
    assert session.sql("SELECT count(*) FROM payroll", epsilon=1).loss == dt.Loss(0.0)
    both = session.sql("SELECT count(*), median(pay) FROM payroll", epsilon=1)
    assert [release.loss.epsilon for release in both] == [0.0, 1.0]
    both = session.sql("SELECT count(*), median(pay) FROM payroll WHERE year = 2012", epsilon=1)
    assert [release.loss.epsilon for release in both] == [0.5, 0.5]
    assert session.budget.spent == dt.Loss(2.0)


def test_every_query_is_planned_once(session, monkeypatch):
    """Also a count of rows, whether it is free or not."""
    plan, planned = statements.plan, []

    def counted(query, *schema, **options):
        planned.append(query)
        return plan(query, *schema, **options)

    monkeypatch.setattr(statements, "plan", counted)
    for text in ("SELECT count(*), median(pay) FROM payroll", "SELECT count(*) FROM payroll WHERE year = 2012"):
        planned.clear()
        session.sql(text, epsilon=1)
        assert len(planned) == text.count("(")


def test_all_or_nothing(session):
    """A query that is not proved, or a price that does not fit, leaves the budget as it was."""
    for text in (
        "SELECT median(pay), trimmed_mean(pay) FROM payroll WHERE year = 2012",
        "SELECT median(pay), median(job) FROM payroll",
        "SELECT median(pay), histogram(pay) FROM payroll",
        "SELECT median(pay) FROM payroll GROUP BY pay",
    ):
        with pytest.raises(dt.DitherError, match="nothing was charged"):
            session.sql(text, epsilon=1)
    with pytest.raises(dt.BudgetExceeded):
        session.sql("SELECT median(pay), sum(pay) FROM payroll", epsilon=101)
    assert session.budget.spent == dt.Loss(0.0)
    assert session.history == []


def test_errors_of_planning_point_into_the_text(session):
    """A column that does not fit a function, and a group that cannot be one, are marked."""
    text = "SELECT min(pay), median(job) FROM payroll"
    with pytest.raises(InvalidText, match="a column of numbers") as caught:
        session.sql(text, epsilon=1)
    assert text[caught.value.start : caught.value.end] == "median(job)"
    text = "SELECT min(pay) FROM payroll GROUP BY job, pay"
    with pytest.raises(InvalidText, match="not real") as caught:
        session.sql(text, epsilon=1)
    assert caught.value.start == text.rindex("pay")
    with pytest.raises(dt.InvalidArgument, match=r"^epsilon must "):
        session.sql("SELECT min(pay) FROM payroll", epsilon=0)


def test_the_same_question_is_free(session):
    """However it is written; ``again`` pays for a new answer."""
    first = session.sql("SELECT median(pay) AS a FROM payroll WHERE year = 2012", epsilon=1)
    second = session.sql("select MEDIAN( pay ) from PAYROLL where (year = 2012) ;", epsilon=1)
    assert first.value == second.value
    assert session.budget.spent == dt.Loss(1.0)
    session.sql("SELECT median(pay) FROM payroll WHERE year = 2012", epsilon=1, again=True)
    assert session.budget.spent == dt.Loss(2.0)


def test_columns_named_like_a_word_of_sql():
    """They are asked in quotes, and an error says so where they are not."""
    columns = {"select": dt.Category(["a", "b"]), "limit": dt.Real(0, 10)}
    data = {"select": ["a", "b"] * 50, "limit": [1.0, 2.0] * 50}
    session = dt.open(data, columns=columns, budget=dt.Budget(60))
    for text, word in (
        ('SELECT select, avg("limit") FROM data GROUP BY select', "select"),
        ("SELECT histogram(select) FROM data", "select"),
        ("SELECT avg(limit) FROM data", "limit"),
    ):
        with pytest.raises(InvalidText, match=f'{word.upper()} is a word of SQL: write the column as "{word}"'):
            session.sql(text, epsilon=1)
    answers = session.sql('SELECT "select", avg("limit") FROM data GROUP BY "select"', epsilon=50)
    assert [answer.group for answer in answers] == [{"select": "a"}, {"select": "b"}]
    with pytest.raises(InvalidText, match="a subquery is not supported"):
        dt.open({"x": [1.0]}, columns={"x": dt.Real(0, 1)}, budget=dt.Budget(1)).sql(
            "SELECT median(SELECT x) FROM data", epsilon=1
        )
    with pytest.raises(InvalidText, match=r"write a call, such as median\(column\)"):
        parse_file_call("median", {})
