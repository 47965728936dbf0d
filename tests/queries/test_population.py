"""``interval="population"``: what it covers, through every door, and where it is refused."""

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner

import dither as dt
from dither.errors import DitherError, InvalidArgument, NotApplicable, NotProved
from dither.interfaces.cli.main import main
from dither.queries.plan import Options
from dither.queries.planning import planned
from dither.queries.programs import RowFacts
from dither.release import Release
from dither.sources.column import Shape
from dither.sources.grid import Grid
from dither.statistics.sampling_ranks import sampling_ranks

PAY = np.random.default_rng(3).lognormal(11.0, 0.5, 4_000)
BOUNDS = (0, 600_000)


def middle(block):
    """A program that is biased in small blocks."""
    return float(np.var(block))


def test_releases_say_which_interval_they_have():
    """In the sentence, in HTML, in JSON and back; usual intervals have no such word."""
    usual = dt.median(PAY, bounds=BOUNDS, epsilon=2.0)
    wide = dt.median(PAY, bounds=BOUNDS, epsilon=2.0, interval="population")
    assert (usual.interval_of, wide.interval_of) == ("sample", "population")
    assert "95% between" in str(usual)
    assert "interval_of" not in usual.to_dict()
    assert "95% for the population between" in str(wide)
    assert "for the population" in wide._repr_html_()
    assert Release.from_dict(wide.to_dict()) == wide


@pytest.mark.parametrize("nulls", [None, "lower", "drop"])
@pytest.mark.parametrize("ask", [dt.median, dt.mean])
def test_means_and_medians_of_private_and_public_numbers(ask, nulls):
    """Epsilon is what was asked for, and the interval lies within the bounds around the answer."""
    release = ask(PAY, bounds=BOUNDS, epsilon=1.0, interval="population", nulls=nulls)
    assert release.loss.epsilon == 1.0
    assert 0 <= release.interval[0] <= release.value <= release.interval[1] <= 600_000


EVEN = np.arange(1, 1_000.0)
ANSWERED = {
    "median": lambda **options: dt.median(EVEN, **options),
    "of a private number": lambda **options: dt.median(EVEN, nulls="drop", **options),
    "several": lambda **options: dt.quantiles(EVEN, q=[0.5], **options),
    "jointly": lambda **options: dt.quantiles(EVEN, q=[0.5, 0.9], **options),
    "program": lambda **options: dt.sample_and_aggregate(EVEN, middle, blocks=99, executor="trusted", **options),
}


@pytest.mark.parametrize("ask", ANSWERED.values(), ids=ANSWERED.keys())
def test_what_is_released_holds_the_ranks_that_sampling_asks_for(ask):
    """With next to no noise, too: a narrower interval would hold the sample alone and miss the population."""
    options = {"bounds": (0, 100_000) if ask is ANSWERED["program"] else (0, 1_000), "epsilon": 1_000.0}
    narrow, wide = (np.ravel(ask(interval=name, **options).interval) for name in ("sample", "population"))
    lower, upper = sampling_ranks(len(EVEN), Fraction(1, 2), Fraction(1, 20))
    if ask is not ANSWERED["program"]:
        assert wide[0] <= lower < upper <= wide[1]
    assert wide[1] - wide[0] > 10 * (narrow[1] - narrow[0])


def test_several_quantiles_trimmed_means_and_programs():
    """Each states its own loss and what its intervals cover."""
    options = {"epsilon": 2.0, "interval": "population"}
    releases = [
        dt.quantiles(PAY, q=[0.25, 0.75], bounds=BOUNDS, **options),
        dt.trimmed_mean(PAY, bounds=BOUNDS, **options),
        dt.sample_and_aggregate(PAY, np.median, bounds=BOUNDS, executor="trusted", **options),
        dt.regression(PAY, PAY, **options),
    ]
    for release in releases:
        assert release.interval_of == "population"
        assert release.loss.epsilon == 2.0
        assert "for the population" in str(release)


def test_regressions_by_medians_of_blocks_cover_the_population_in_any_case():
    """Their intervals always hold what sampling asks for; those of least squares never do."""
    rows = np.linspace(-1, 1, 3_000)
    assert dt.regression(rows, rows, epsilon=2.0).interval_of == "population"
    options = {"method": "ols", "bounds": (-1, 1), "epsilon": 2.0}
    assert dt.regression(rows, rows, **options).interval_of == "sample"
    with pytest.raises(NotApplicable, match='method="medians"'):
        dt.regression(rows, rows, interval="population", **options)


REFUSED = {
    "a word that is none": lambda: dt.median(PAY, bounds=BOUNDS, epsilon=1.0, interval="people"),
    "no confidence": lambda: dt.median(PAY, bounds=BOUNDS, epsilon=1.0, interval="population", confidence=None),
    "no bounds": lambda: dt.median(PAY, epsilon=1.0, interval="population"),
    "a mean without bounds": lambda: dt.mean(PAY, epsilon=1.0, interval="population"),
    "another mechanism": lambda: dt.median(PAY, bounds=BOUNDS, epsilon=1.0, mechanism="smooth", interval="population"),
    "an extreme": lambda: dt.quantile(PAY, q=1, bounds=BOUNDS, epsilon=1.0, interval="population"),
    "a largest record": lambda: dt.ask(dt.Maximum(bounds=BOUNDS), PAY, epsilon=1.0, interval="population"),
    "a statistic that has none": lambda: dt.ask(dt.Std(bounds=BOUNDS), PAY, epsilon=1.0, interval="population"),
    "a rank": lambda: dt.ask(dt.OrderStatistic(bounds=BOUNDS, rank=9), PAY, epsilon=1.0, interval="population"),
    "a graph": lambda: dt.ask(dt.Triangles(), dt.Graph([(0, 1)], n=3), epsilon=1.0, interval="population"),
    "several means": lambda: dt.mean({"a": PAY, "b": PAY}, bounds=BOUNDS, epsilon=1.0, interval="population"),
    "overlapping blocks": lambda: dt.sample_and_aggregate(
        PAY, np.median, bounds=BOUNDS, executor="trusted", sampling="overlapping", epsilon=1.0, interval="population"
    ),
    "another aggregator": lambda: dt.sample_and_aggregate(
        PAY, np.median, bounds=BOUNDS, executor="trusted", aggregator="centre", epsilon=1.0, interval="population"
    ),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED.keys())
def test_what_has_no_such_interval_is_refused_before_anything_is_read(call):
    """With the argument's name and what to write instead."""
    with pytest.raises((InvalidArgument, NotApplicable), match="interval") as error:
        call()
    assert "nothing was read, nothing was charged" in str(error.value)


def test_no_answer_costs_more_rho_than_is_stated():
    """Noise of fewer grid steps has a larger rho, and how many it has depends on the answer that was released."""
    facts, options = Shape(10, whole=True, nullable=False), Options.asked(4.0, interval="population")
    plan = planned(dt.Mean(bounds=(0, 4)), facts, options)
    each = [plan.spread.about(centre, plan.spread.column).loss for centre in range(5)]
    assert plan.spread.loss.concentrated.rho == max(loss.concentrated.rho for loss in each)
    trimmed = planned(dt.TrimmedMean(bounds=(0, 4)), facts, options).spread
    for low, high in itertools.combinations(range(5), 2):
        grid = Grid(Fraction(1), low, high)
        for centre in range(low, high + 1):
            paid = trimmed.ranks.loss + trimmed.about(centre, grid).loss
            assert trimmed.loss.concentrated.rho >= paid.concentrated.rho


def test_trimmed_means_of_a_private_number_stay_refused():
    """As without an interval for the population."""
    with pytest.raises(NotProved):
        dt.trimmed_mean(PAY, bounds=BOUNDS, nulls="drop", epsilon=1.0, interval="population")


def test_programs_run_on_halves_too_and_their_bias_cancels():
    """A bias that is inverse to the number of records is gone; each block decides its own row and no other."""
    program = dt.Program(middle, bounds=(0, 10), executor="trusted")
    plan = planned(program, RowFacts(300, is_table=False), Options.asked(5.0, interval="population"))
    blocks = [np.arange(10.0) + place for place in range(plan.blocks)]
    pieces = plan.pieces(blocks)
    assert len(pieces) == plan.runs == 3 * plan.blocks
    halves = pieces[plan.blocks], pieces[2 * plan.blocks]
    assert sorted(np.concatenate(halves).tolist()) == blocks[0].tolist()
    true, bias = 4.0, 3.0
    answers = np.array([[true + bias / len(piece)] for piece in pieces])
    assert plan.joined(answers) == pytest.approx(np.full((plan.blocks, 1), true))
    for place in (0, plan.blocks, 2 * plan.blocks):
        changed = answers.copy()
        changed[place] = 10.0
        assert (plan.joined(changed) != plan.joined(answers)).ravel().tolist() == [True] + [False] * (plan.blocks - 1)
    assert plan.joined(np.full_like(answers, 1e9)).max() <= 10.0


@pytest.fixture
def table(tmp_path):
    """A registered file."""
    path = tmp_path / "pay.csv"
    path.write_text("pay,year\n" + "\n".join(f"{pay:.2f},{2010 + place % 3}" for place, pay in enumerate(PAY)) + "\n")
    schema = tmp_path / "pay.toml"
    schema.write_text(
        f'version = 2\n[dataset]\nsource = "pay.csv"\nrows = {len(PAY)}\n[budget]\nepsilon = 100\n'
        '[columns.pay]\ntype = "real"\nbounds = [0, 600000]\n'
        '[columns.year]\ntype = "integer"\nbounds = [2010, 2012]\n'
    )
    return schema


def test_sessions_sql_and_quotes_take_it(table):
    """One option everywhere; filters too, and it is a question of its own in the ledger."""
    with dt.open(table) as session:
        options = {"epsilon": 1.0, "interval": "population"}
        usual = session.ask(dt.Median("pay"), epsilon=1.0)
        wide = session.ask(dt.Median("pay"), **options)
        assert (usual.interval_of, wide.interval_of) == ("sample", "population")
        assert session.ask(dt.Median("pay"), **options) == wide  # stored, and free
        for query in (dt.Mean("pay"), dt.TrimmedMean("pay")):
            answered = session.ask(query, **options)
            assert answered.interval_of == "population"
            assert answered.interval[0] < answered.value < answered.interval[1]
        assert session.ask(dt.Mean("pay"), where="year = 2011", **options).interval_of == "population"
        grouped = session.sql("SELECT year, median(pay) FROM pay GROUP BY year", **options)
        assert {release.interval_of for release in grouped} == {"population"}
        quoted = session.quote(dt.Median("pay"), prior=dt.Lognormal(60_000, 0.5), **options)
        assert (
            quoted.half_width > session.quote(dt.Median("pay"), prior=dt.Lognormal(60_000, 0.5), epsilon=1.0).half_width
        )
        assert session.quote(dt.Mean("pay"), **options).half_width is None
        spent = session.budget.spent
        with pytest.raises(DitherError, match="interval"):
            session.ask(dt.Std("pay"), **options)
        assert session.budget.spent == spent


def test_the_command_line_takes_it(table):
    """Files and registered datasets."""
    for file, question in ((table, "median(pay)"), (table.with_suffix(".csv"), "mean(pay)")):
        bounds = ["--bounds", "0", "600000"] if file.suffix == ".csv" else []
        words = ["ask", str(file), question, "--epsilon", "1", "--interval", "population", *bounds]
        result = CliRunner().invoke(main, [*words, "--json"], catch_exceptions=False)
        assert "population" in json.dumps(json.loads(result.stdout))
        assert "for the population" in CliRunner().invoke(main, words, catch_exceptions=False).output
