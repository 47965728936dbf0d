"""Quotes: the error that was promised is the error that is measured, and without a prior never less."""

import itertools
import math
from datetime import date
from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from conftest import trials
from dither.mechanisms.choice import MECHANISMS, applicable, prepare
from dither.mechanisms.error import Mixture, cut_mean
from dither.mechanisms.mechanism import MechanismSpec
from dither.privacy import Loss, Neighbours
from dither.quotes.prior_sample import ImaginedColumn
from dither.quotes.priors import parse_prior, read_sample
from dither.quotes.uniforms import uniforms
from dither.session.plan import plan
from dither.sources.column import Column
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue
from dither.statistics.unknown_size import SharedRank

ROWS = 4_000
# (The ties are no round number, which a draw would hit nearly always.)
PUBLISHED = np.concatenate(
    [np.linspace(20_000, 45_000, 800), np.full(400, 52_000.123457), np.linspace(60_000, 250_000, 800)]
)
SOURCES = {
    "lognormal": (dt.Lognormal(70_000, 0.8), lambda r: r.lognormal(math.log(70_000), 0.8, ROWS)),
    "normal": (dt.Normal(300_000, 50_000), lambda r: r.normal(300_000, 50_000, ROWS)),
    "uniform": (dt.Uniform(0, 500_000), lambda r: r.uniform(0, 500_000, ROWS)),
    "exponential": (dt.Exponential(60_000), lambda r: r.exponential(60_000, ROWS)),
    "public sample": (
        dt.PublicSample(PUBLISHED),
        lambda r: np.interp(r.uniform(size=ROWS), (np.arange(2000) + 0.5) / 2000, PUBLISHED),
    ),
}
SCHEMA = dt.Schema(
    "nowhere.csv",
    {
        "pay": dt.Real(0, 600_000),
        "year": dt.Integer(2011, 2014),
        "full_time": dt.Boolean(),
        "job": dt.Category(["clerk", "nurse"]),
        "hired": dt.Date("2000-01-01", "2020-12-31"),
    },
    rows=ROWS,
)
PRIVATE = dt.Schema("nowhere.csv", SCHEMA.columns)
PRIOR = dt.Lognormal(median=70_000, sigma=0.8)


def measured(query, schema, make, draws, **options):
    """Errors of the mechanism itself, each about a fresh sample."""
    planned = plan(query, schema, **options)
    statistic, grid = planned.statistic, planned.statistic.records_on
    several = hasattr(statistic, "values")
    step = float(statistic.answers[0].step if several else statistic.answers.step)
    found = []
    for number in range(draws):
        data = Column(grid.quantise(make(np.random.default_rng(number)), 0), grid)
        true = np.array(statistic.values(data) if several else statistic.value(data), dtype=float)
        found.append(np.abs(np.array(planned.prepared.run(data).answer, dtype=float) - true) * step)
    return np.array(found)


# --- with a matching prior ----------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("query", "schema", "options"),
    [
        (dt.Median("pay"), SCHEMA, {"epsilon": 0.2, "mechanism": "inverse"}),
        (dt.Quantile("pay", q=0.8), PRIVATE, {"epsilon": 2.0}),
        (dt.Minimum("pay"), SCHEMA, {"epsilon": 1.0}),
        (dt.TrimmedMean("pay"), SCHEMA, {"epsilon": 0.5, "mechanism": "inverse"}),
        (dt.Mean("pay"), SCHEMA, {"epsilon": 0.5}),
    ],
    ids=lambda one: getattr(one, "distribution", None),
)
def test_quoted_errors_are_within_a_factor_two_of_measured_ones(query, schema, options, source):
    """Errors are about exponential, independent: the mean of 170 is below half of its expectation with probability
    e^{-170 (ln 2 - 1/2)}, and 4e-10 even if quotes are 15% high; bounds of 95% hold less than 80% of 170 errors with
    probability below 1e-10.  Two in three errors of a sample with ties are 0, and the mean of n has a relative standard
    deviation of 1.9/sqrt(n): half of it is six of these away for n = 600."""
    prior, make = SOURCES[source]
    quote = dt.quote(query, schema, prior=prior, rows=ROWS, **options)
    draws = trials(600, 1000) if source == "public sample" else trials(170, 1000)
    errors = measured(query, schema, make, draws, **{**options, "mechanism": quote.mechanism})
    assert quote.kind == "estimate"
    assert errors.mean() / 2 < quote.expected_error < 2 * errors.mean()
    assert np.mean(errors <= quote.bound) >= 0.8
    assert quote.bound < 6 * quote.expected_error


@pytest.mark.slow
def test_each_of_several_quantiles_is_quoted():
    """Joint draws: all three quoted errors within a factor 2 (150 draws, false alarms below 1e-9)."""
    query = dt.Quantiles("pay", q=[0.25, 0.5, 0.75])
    quote = dt.quote(query, SCHEMA, epsilon=4.0, prior=PRIOR)
    found = measured(query, SCHEMA, SOURCES["lognormal"][1], trials(150, 800), epsilon=4.0).mean(axis=0)
    assert quote.labels == ("0.25", "0.5", "0.75")
    assert all(one / 2 < quoted < 2 * one for one, quoted in zip(found, quote.expected_error, strict=True))


@pytest.mark.parametrize("mechanism", ["smooth", "ladder", "worst_case"])
def test_other_mechanisms_are_quoted_too(mechanism):
    """Medians by added noise and by the ladder; heavy tails make 300 draws vary by 15%: a factor 2 is above 6 sigma."""
    options = {"epsilon": 1.0, "mechanism": mechanism, "confidence": None}
    quote = dt.quote(dt.Median("pay"), SCHEMA, prior=PRIOR, **options)
    errors = measured(dt.Median("pay"), SCHEMA, SOURCES["lognormal"][1], trials(300, 3000), **options)
    assert errors.mean() / 2 < quote.expected_error < 2 * errors.mean()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("query", [dt.Median("pay"), dt.Mean("pay"), dt.Maximum("pay"), dt.IQR("pay")], ids=repr)
def test_more_epsilon_never_quotes_a_greater_error(query):
    """Monotone over a coarse list of prices, with a prior and without one."""
    prices = (0.05, 0.2, 0.8, 3.2)
    for prior in (None, dt.Exponential(60_000)):
        mechanism = "auto" if prior is None else applicable(plan(query, SCHEMA, epsilon=1).statistic)[0]
        errors = [
            dt.quote(query, SCHEMA, epsilon=one, prior=prior, mechanism=mechanism).expected_error for one in prices
        ]
        # The measure of extremes leans more where there is more epsilon, so their bound for all data grows.
        if prior is not None or not isinstance(query, dt.Maximum):
            assert errors == sorted(errors, reverse=True)


# --- without a prior ----------------------------------------------------------------------------------------


def test_worst_case_noise_is_quoted_exactly():
    """Integer Laplace noise: E|K| = 1 / sinh(1/s); its tail gives the bound."""
    quote = dt.quote(dt.Histogram("job"), SCHEMA, epsilon=0.5)
    scale = 2 / 0.5
    assert quote.kind == "exact"
    assert quote.expected_error == pytest.approx((1 / math.sinh(1 / scale),) * 3)
    beyond = [2 * math.exp(-(k + 1) / scale) / (1 + math.exp(-1 / scale)) for k in range(100)]
    assert quote.bound == (next(k for k, one in enumerate(beyond) if one <= 0.05),) * 3


def test_means_are_quoted_in_closed_form():
    """Scale (hi - lo) / (n eps), far from the bounds."""
    quote = dt.quote(dt.Mean("pay", nulls="lower"), SCHEMA, epsilon=1.0)
    assert quote.kind == "upper bound"
    assert quote.expected_error == pytest.approx(600_000 / ROWS, rel=1e-6)
    assert quote.bound == pytest.approx(600_000 / ROWS * math.log(20), rel=1e-6)


def test_a_mean_without_its_missing_values_is_quoted_as_if_none_were():
    """The number of rows is public; that nothing is missing is assumed, and said."""
    quote = dt.quote(dt.Mean("pay"), SCHEMA, epsilon=1.0)
    assert quote.kind == "upper bound"
    assert quote.assumptions == (f"assuming that no value is missing: {ROWS:,} records",)
    assert 600_000 / ROWS < quote.expected_error < 10 * 600_000 / ROWS
    filtered = dt.quote(dt.Mean("pay"), SCHEMA, epsilon=1.0, where="year = 2014")
    assert filtered.expected_error > 100_000


@pytest.mark.parametrize("rank", [1, 2, 4])
@pytest.mark.parametrize("mechanism", ["inverse", "ladder", "smooth", "worst_case"])
def test_no_data_have_a_greater_error_than_the_bound(rank, mechanism):
    """All sorted quadruples on a grid of 7 points, every mechanism: exact expectations, no chance involved."""
    statistic = RankedValue(rank, 4, Grid(Fraction(1), 0, 6))
    _, prepared = prepare(statistic, epsilon=0.7, mechanism=mechanism)
    worst = prepared.worst_case_error(0.9)
    (expected,), (within,) = worst.expected, worst.quantile
    laws = [
        prepared.error_laws(Column(np.array(records), statistic.answers))[0]
        for records in itertools.combinations_with_replacement(range(7), 4)
    ]
    assert max(law.mean for law in laws) <= expected + 1e-9
    assert max(law.beyond(within) for law in laws) <= 0.1 + 1e-9


def test_the_bound_for_draws_is_attained():
    """Half of the records at either end: the next record is the whole range away, and draws fall anywhere between."""
    statistic = RankedValue(2, 4, Grid(Fraction(1), 0, 10**6))
    _, prepared = prepare(statistic, epsilon=1.0, mechanism="inverse")
    law = prepared.error_laws(Column(np.array([0, 0, 10**6, 10**6]), statistic.answers))[0]
    assert 0.99 * 500_000 < law.mean <= prepared.worst_case_error(0.95).expected[0]


def test_a_leaning_measure_is_bounded_by_its_lighter_end():
    """A maximum with all other records at the lower bound: draws lean down, away from it."""
    statistic = RankedValue(3, 3, Grid(Fraction(1), 0, 10**6))
    _, prepared = prepare(statistic, epsilon=1.0, mechanism="inverse")
    law = prepared.error_laws(Column(np.array([0, 0, 10**6]), statistic.answers))[0]
    bound = prepared.worst_case_error(0.95).expected[0]
    assert 500_000 < law.mean <= bound * (1 + 1e-9) < 1.05 * law.mean


@pytest.mark.sampled(5)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("query", [dt.Median("pay"), dt.Maximum("pay"), dt.Mean("pay")], ids=repr)
def test_without_a_prior_the_quote_is_never_below_the_measured_error(query, source):
    """The mean of 100 errors; for worst-case noise, whose bound is attained, up to four standard errors (1e-4)."""
    quote = dt.quote(query, PRIVATE if isinstance(query, dt.Mean) else SCHEMA, epsilon=0.5, rows=ROWS)
    schema = PRIVATE if isinstance(query, dt.Mean) else SCHEMA
    errors = measured(query, schema, SOURCES[source][1], trials(100, 1000), epsilon=0.5)
    assert quote.kind == "upper bound"
    assert errors.mean() - 4 * errors.std() / math.sqrt(len(errors)) <= quote.expected_error


def test_a_private_mean_uses_the_number_of_rows_that_is_assumed():
    """Its scale depends on the number of records only, so so many records are all that must be known."""
    anyhow = dt.quote(dt.Mean("pay"), PRIVATE, epsilon=1.0)
    counted = dt.quote(dt.Mean("pay"), PRIVATE, epsilon=1.0, rows=ROWS)
    assert counted.expected_error < anyhow.expected_error / 100
    assert counted.kind == "upper bound"
    assert "assuming at least 4,000 records" in counted.assumptions[0]


# --- laws ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_the_law_of_a_draw_is_the_mechanisms_own(rank):
    """Against every point of every shell, weighed one by one."""
    statistic = RankedValue(rank, 5, Grid(Fraction(1), 0, 5000))
    _, prepared = prepare(statistic, epsilon=0.9, mechanism="inverse")
    data = Column(np.array([40, 700, 700, 2100, 4900]), statistic.answers)
    shells, value = prepared.shells(data), statistic.value(data)
    counts = shells.counts(1, shells.shell_count)
    weights, distances = [], []
    for cost, size in enumerate(counts, 1):
        places = np.array([shells.point(cost, index) for index in range(0, size, max(size // 500, 1))])
        weights.append(np.full(len(places), size * math.exp(-float(prepared.rate) * cost) / max(len(places), 1)))
        distances.append(np.abs(places - value))
    weight, distance = np.concatenate(weights), np.concatenate(distances)
    law = prepared.error_laws(data)[0]
    assert law.mean == pytest.approx(np.dot(weight, distance) / weight.sum(), rel=5e-3)
    for place in (10, 500, 2000):
        assert law.beyond(place) == pytest.approx(weight[distance > place].sum() / weight.sum(), abs=5e-3)


def test_cut_noise_has_the_mean_that_sums_give():
    """The sum of P(|K| >= k) for the integer law; not below the sum of the rounded law for others."""
    _, prepared = prepare(RankedValue(2, 3, Grid(Fraction(1), 0, 100)), epsilon=1.0, mechanism="worst_case")
    laplace = prepared.point.law
    sums = sum(2 * math.exp(-k / 7.5) / (1 + math.exp(-1 / 7.5)) for k in range(1, 21))
    assert cut_mean(laplace, 7.5, 20.0, whole=True) == pytest.approx(sums)
    for law in (laplace, dt.PowerLaw(), dt.Gaussian(), dt.Cauchy()):
        rounded = float(law.tail((np.arange(1, 51) - 0.5) / 3.0).sum())
        assert rounded <= cut_mean(law, 3.0, 50.0) <= 1.1 * rounded + 0.2


def test_imagined_samples_are_samples():
    """Ranks of small and large imagined columns: sorted, repeatable, near the prior's quantiles (five sigma)."""
    grid = dt.Real(0, 1).grid
    for records in (10, 5_000, 1_000_000):
        column = ImaginedColumn(dt.Uniform(0, 1), grid, records, 3)
        again = ImaginedColumn(dt.Uniform(0, 1), grid, records, 3)
        middle = column.ranks(records // 2 - 5, records // 2 + 5)
        assert (np.diff(middle) >= 0).all()
        assert (middle == again.ranks(records // 2 - 5, records // 2 + 5)).all()
        assert abs(float(grid.step) * middle[5] - 0.5) < 5 * 0.5 / math.sqrt(records)
        assert float(grid.step) * column.total() / records == pytest.approx(0.5, abs=1.5 / math.sqrt(records))
        total, squares = column.moments()
        assert squares / records >= (total / records) ** 2
        assert column.ranks(-2, 1)[:3].tolist() == [0, 0, 0]
        assert column.ranks(records, records + 2)[1:].tolist() == [grid.ends[1]] * 2
    assert 0.0 < uniforms("x", 10_000).min() < uniforms("x", 10_000).max() < 1.0


def test_the_largest_tables_are_imagined_as_quickly():
    """A trillion rows: only a window of them is made."""
    quote = dt.quote(dt.Median("pay"), PRIVATE, epsilon=1.0, prior=PRIOR, rows=1 << 40, mechanism="inverse")
    assert quote.expected_error < 0.001


def test_what_counts_all_records_is_quoted_for_as_many_as_can_be_made_up():
    """The middle score of a trillion rows is refused, instead of listing them; without a prior it is quoted."""
    asked = {"epsilon": 1.0, "mechanism": "middle_score"}
    with pytest.raises(dt.NotApplicable, match="this many records"):
        dt.quote(dt.Median("year"), PRIVATE, prior=dt.Uniform(2011, 2014), rows=1 << 40, **asked)
    assert dt.quote(dt.Median("year"), PRIVATE, prior=dt.Uniform(2011, 2014), rows=999, **asked).expected_error < 1
    assert dt.quote(dt.Median("year"), PRIVATE, **asked).mechanism == "middle_score"


@pytest.mark.parametrize(
    "prior", [dt.Normal(-1e9, 1), dt.Normal(1e9, 1), dt.Uniform(-9, -1), dt.PublicSample([9e6, 1e7])]
)
def test_priors_that_contradict_the_bounds_are_refused(prior):
    """All of their values would be clamped to one bound, and the error would be quoted as 0."""
    with pytest.raises(dt.InvalidArgument, match="bounds of the column, 0 to 600,000"):
        dt.quote(dt.Median("pay"), SCHEMA, epsilon=1.0, prior=prior)
    beside = dt.Uniform(-600_000, 12_000)
    assert dt.quote(dt.Median("pay"), SCHEMA, epsilon=1.0, prior=beside).prior == repr(beside)


def test_gaps_of_imagined_samples_are_exponential():
    """Mean 1/n and the same standard deviation (4,000 gaps: five sigma is 8%)."""
    grid = dt.Real(0, 1).grid
    gaps = np.diff(ImaginedColumn(dt.Uniform(0, 1), grid, 10**6).ranks(500_000, 504_000)) * float(grid.step)
    assert gaps.mean() == pytest.approx(1e-6, rel=0.1)
    assert gaps.std() == pytest.approx(1e-6, rel=0.1)


def test_quantiles_of_mixtures_are_least():
    """The least whole distance that is exceeded rarely enough."""
    statistic = SharedRank(Fraction(1, 2), 9, Grid(Fraction(1), 0, 50), Neighbours.ADD_REMOVE)
    prepared = MECHANISMS["inverse"]().prepare(MechanismSpec(statistic, Loss(1.0)))
    law = Mixture(prepared.error_laws(Column(np.arange(9) * 5, statistic.answers)))
    at = law.quantile(0.2)
    assert law.beyond(at) <= 0.2 < law.beyond(at - 1)


# --- what a quote says --------------------------------------------------------------------------------------


def test_groups_share_the_rows_and_the_quote_says_so():
    """Four years: a thousand rows each, assumed; a number that is given is used instead."""
    quote = dt.quote(dt.Median("pay"), SCHEMA, epsilon=1.0, by="year", prior=PRIOR)
    assert (quote.groups, quote.rows) == (4, 1000)
    assert "assuming 1,000 records in each group" in quote.assumptions[0]
    more = dt.quote(dt.Median("pay"), SCHEMA, epsilon=1.0, by="year", prior=PRIOR, rows=4000)
    assert more.expected_error < quote.expected_error / 2
    assert more.loss == quote.loss == Loss(1.0)


def test_a_prior_lets_auto_compare():
    """The best mechanism comes first, and asking with the prior uses it."""
    quote = dt.quote(dt.Median("pay"), SCHEMA, epsilon=1.0, prior=PRIOR)
    assert next(iter(quote.alternatives)) == quote.mechanism
    assert set(quote.alternatives) >= {"inverse", "smooth", "ladder", "worst_case"}
    assert not any(MECHANISMS[name].may_refuse for name in quote.alternatives)
    assert list(quote.alternatives.values()) == sorted(quote.alternatives.values())
    session = dt.open({"pay": [100.0] * 50}, columns={"pay": dt.Real(0, 600)}, rows=50, budget=dt.Budget(2.0))
    asked = session.plan(dt.TrimmedMean("pay"), epsilon=1.0, prior=dt.Uniform(0, 600))
    assert asked.mechanism == session.quote(dt.TrimmedMean("pay"), epsilon=1.0, prior=dt.Uniform(0, 600)).mechanism
    assert asked.mechanism != session.plan(dt.TrimmedMean("pay"), epsilon=1.0).mechanism
    assert session.ask(dt.Count(), epsilon=1.0, prior=PRIOR).value == 50
    pays = dt.Lognormal(median=70, sigma=0.8)
    noisy = session.quote(dt.Median("pay"), epsilon=1.0, prior=pays, noise="laplace", delta=1e-6)
    assert set(noisy.alternatives) <= {"smooth", "worst_case"}


def test_quotes_read_nothing_and_charge_nothing():
    """Of a session, and of a schema whose source does not exist."""
    session = dt.open({"pay": [1.0, 2.0, 3.0]}, columns={"pay": dt.Real(0, 10)}, rows=3, budget=dt.Budget(1.0))
    session.quote(dt.Median("pay"), epsilon=50.0)
    assert session.budget.spent == Loss(0.0)
    assert dt.quote(dt.Count(), SCHEMA, epsilon=1.0).loss == Loss(0.0)


def test_a_batch_shares_its_price():
    """All quotes of a list together cost what was said; a prior may be named for one column."""
    quote = dt.quote([dt.Median("pay"), dt.Mean("pay")], SCHEMA, epsilon=1.0, weights=[3, 1], prior={"pay": PRIOR})
    assert [one.loss.epsilon for one in quote] == [0.75, 0.25]
    assert quote.loss == Loss(1.0)
    assert [one.kind for one in quote] == ["estimate", "estimate"]
    assert "for all 2" in repr(quote)
    assert len(quote.to_dict()["quotes"]) == 2


def test_sql_is_quoted():
    """The queries of a statement share the price as their answers will; a public count is free."""
    quote = dt.quote("SELECT count(*), median(pay), avg(pay) FROM data", SCHEMA, epsilon=1.0, prior=PRIOR)
    assert [one.loss.epsilon for one in quote] == [0.0, 0.5, 0.5]
    grouped = dt.quote(
        "SELECT median(pay) FROM data WHERE full_time = true GROUP BY year", SCHEMA, epsilon=1.0, prior=PRIOR, rows=700
    )
    assert (grouped[0].groups, grouped[0].rows) == (4, 700)
    with pytest.raises(dt.InvalidArgument, match="SQL says it itself"):
        dt.quote("SELECT median(pay) FROM data", SCHEMA, epsilon=1.0, by="year")


def test_mechanisms_that_may_refuse_are_quoted_for_when_they_answer():
    """Propose, test, release: noise of a public scale where a bound is declared, else by a private scale."""
    own = dt.ProposeTest(bound=1_000)
    quote = dt.quote(dt.Median("pay"), SCHEMA, epsilon=1.0, delta=1e-6, mechanism=own)
    assert quote.expected_error < 60_000
    assert "may refuse" in quote.assumptions[0]
    under = dt.quote(dt.Median("pay"), SCHEMA, epsilon=1.0, delta=1e-6, prior=PRIOR, mechanism=own)
    assert under.expected_error == pytest.approx(quote.expected_error, rel=1e-2)
    found = dt.quote(dt.Median("pay"), SCHEMA, epsilon=1.0, delta=1e-6, mechanism="propose_test")
    assert found.expected_error is None


def test_groups_that_have_to_be_found_need_a_number_of_rows():
    """Nobody knows how many there are."""
    schema = dt.Schema("nowhere.csv", {"pay": dt.Real(0, 600_000), "job": dt.Category()}, rows=ROWS)
    asked = {"epsilon": 1.0, "delta": 1e-6, "by": "job", "prior": PRIOR}
    with pytest.raises(dt.InvalidArgument, match="rows"):
        dt.quote(dt.Median("pay"), schema, **asked)
    quote = dt.quote(dt.Median("pay"), schema, rows=500, **asked)
    assert quote.groups is None
    assert "in each group" in repr(quote)


def test_quotes_are_told_in_words_and_in_plain_values():
    """The word for what the error is stands in both."""
    quote = dt.quote(dt.Median("pay"), SCHEMA, epsilon=0.5)
    assert "upper bound for all data" in repr(quote)
    assert quote.to_dict()["kind"] == "upper bound"
    under = dt.quote(dt.Median("pay"), SCHEMA, epsilon=0.5, prior=PRIOR, where="year = 2014", rows=1000)
    assert "if the records are as the prior says" in repr(under)
    assert "Lognormal(median=70000, sigma=0.8)" in under.to_dict()["prior"]
    assert "&lt;" not in under._repr_html_()


def test_dates_are_quoted_in_days():
    """Twenty years of hirings."""
    prior = dt.Uniform(date(2000, 1, 1), date(2020, 12, 31))
    quote = dt.quote(dt.Median("hired"), SCHEMA, epsilon=1.0, prior=prior)
    assert 1 < quote.expected_error < 100


# --- the least epsilon --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("of", ["expected_error", "bound"])
def test_the_least_epsilon_reaches_the_target_and_less_does_not(of):
    """To a few percent."""
    quote = dt.least_epsilon(dt.Median("pay"), SCHEMA, target_error=500, of=of, prior=PRIOR, mechanism="inverse")
    assert getattr(quote, of) <= 500
    less = dt.quote(dt.Median("pay"), SCHEMA, epsilon=0.9 * quote.loss.epsilon, prior=PRIOR, mechanism="inverse")
    assert getattr(less, of) > 500


def test_the_least_epsilon_of_a_mean_needs_no_prior():
    """Scale (hi - lo) / (n eps)."""
    quote = dt.least_epsilon(dt.Mean("pay", nulls="lower"), SCHEMA, target_error=100)
    assert quote.loss.epsilon == pytest.approx(600_000 / ROWS / 100, rel=0.02)


def test_targets_out_of_reach_are_refused():
    """Without a prior a median has no error below half the range that holds for all data."""
    with pytest.raises(dt.InvalidArgument, match=r"upper bound for all data.*prior"):
        dt.least_epsilon(dt.Median("pay"), SCHEMA, target_error=500)
    with pytest.raises(dt.InvalidArgument, match="at least"):
        dt.least_epsilon(dt.Mean("pay"), SCHEMA, target_error=1e-12)


def test_a_query_whose_error_is_not_known_says_so():
    """Not "at least inf": no epsilon can be found for it."""
    schema = dt.Schema("x.csv", {"x": dt.Real(0, 1), "y": dt.Real(0, 1)}, rows=100_000)
    for query in (dt.Regression("y", ("x",)), dt.KMeans(("x", "y"), k=2)):
        with pytest.raises(dt.NotApplicable, match=r"no error of .* is known.*epsilon") as refused:
            dt.least_epsilon(query, schema, target_error=1.0, delta=1e-6)
        assert "inf" not in str(refused.value)


# --- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: dt.Lognormal(50_000, -1), "sigma"),
        (lambda: dt.Lognormal(-5, 1), "median"),
        (lambda: dt.Normal(0, 0), "sd"),
        (lambda: dt.Normal("high", 1), "mean"),
        (lambda: dt.Uniform(5, 5), "low"),
        (lambda: dt.Exponential(-1), "mean"),
        (lambda: dt.PublicSample([1.0]), "values"),
        (lambda: dt.PublicSample([1.0, math.nan]), "values"),
        (lambda: parse_prior("lognormal:1"), "prior"),
        (lambda: parse_prior("cauchy:1:2"), "prior"),
        (lambda: parse_prior("normal:a:b"), "prior"),
        (lambda: dt.quote(dt.Median("pay"), SCHEMA, epsilon=1, prior="lognormal"), "prior"),
        (lambda: dt.quote(dt.Median("pay"), SCHEMA, epsilon=1, prior={"salary": PRIOR}), "prior"),
        (lambda: dt.quote(dt.Median("pay"), PRIVATE, epsilon=1, prior=PRIOR), "rows"),
        (lambda: dt.quote(dt.Median("pay"), SCHEMA, epsilon=1, prior=PRIOR, where="year = 2014"), "rows"),
        (lambda: dt.quote(dt.Median("pay"), SCHEMA, epsilon=1, prior=PRIOR, rows=ROWS + 1), "rows"),
        (lambda: dt.quote(dt.Median("pay", nulls="lower"), SCHEMA, epsilon=1, prior=PRIOR, rows=ROWS - 1), "rows"),
        (lambda: dt.quote(dt.Median("pay"), SCHEMA, epsilon=1, by="year", rows=0), "rows"),
        (lambda: dt.quote(dt.Median("salary"), SCHEMA, epsilon=1), "column"),
        (lambda: dt.quote([], SCHEMA, epsilon=1), "query"),
        (lambda: dt.least_epsilon(dt.Median("pay"), SCHEMA, target_error=0), "target_error"),
        (lambda: dt.least_epsilon(dt.Median("pay"), SCHEMA, target_error=5, of="mean"), "of"),
        (lambda: dt.least_epsilon([dt.Median("pay")], SCHEMA, target_error=5), "query"),
    ],
)
def test_bad_input_is_named(make, argument):
    """The argument, and what is accepted."""
    with pytest.raises(dt.InvalidArgument, match="; got ") as refused:
        make()
    assert str(refused.value).startswith(argument)


def test_priors_as_people_type_them(tmp_path):
    """Numbers, dates, and a file with one number a line."""
    assert parse_prior("lognormal:70000:0.8") == dt.Lognormal(70_000.0, 0.8)
    assert parse_prior("uniform:2000-01-01:2020-12-31").quantile(np.array([0.5]))[0] > 10_000
    sample = tmp_path / "sample.txt"
    sample.write_text("pay\n1\n2\n\n3\n")
    assert float(read_sample(sample).quantile(np.array([0.5]))[0]) == 2.0
    with pytest.raises(dt.InvalidData, match="cannot be read"):
        read_sample(tmp_path / "none.txt")
    sample.write_text("pay\n")
    with pytest.raises(dt.InvalidArgument, match="one a line"):
        read_sample(sample)


def test_more_quantiles_than_are_drawn_jointly_are_quoted_without_a_prior_only():
    """Thirty quantiles go level by level; that law is not worked out."""
    query = dt.Quantiles("pay", q=[(k + 1) / 31 for k in range(30)])
    assert dt.quote(query, SCHEMA, epsilon=1.0).worst_expected == 600_000
    with pytest.raises(dt.NotApplicable, match="no error is worked out"):
        dt.quote(query, SCHEMA, epsilon=1.0, prior=PRIOR, mechanism="inverse")


def test_columns_that_are_declared_alike_share_the_work_of_a_quote(monkeypatch):
    """Fifty medians of such columns are worked out once, with the figures that each of them has alone."""
    from dither.quotes import quote as quotes

    columns = {f"c{place}": dt.Real(0, 600_000) for place in range(50)}
    schema = dt.Schema("wide", columns, rows=3_000, budget=dt.Budget(100.0))
    calls, inner = [], quotes.on_samples
    monkeypatch.setattr(quotes, "on_samples", lambda *given: (calls.append(given), inner(*given))[1])
    options = {"epsilon": 0.31, "prior": dt.Lognormal(50_000, 0.8), "mechanism": "inverse"}
    alone = dt.quote(dt.Median("c0"), schema, **options)
    together = dt.quote([dt.Median(name) for name in columns], schema, **options | {"epsilon": 0.31 * 50})
    assert len(calls) <= 2
    assert all(one.expected_error == pytest.approx(alone.expected_error, rel=1e-9) for one in together)
