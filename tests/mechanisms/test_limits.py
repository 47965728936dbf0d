"""How small an epsilon may be, and that searches, plans and refinements end."""

import ast
import functools
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import dither as dt
from dither.errors import EpsilonTooSmall, InvalidArgument
from dither.interfaces.cli.main import main
from dither.mechanisms.choice import prepare
from dither.mechanisms.joint_quantiles import SeveralDraws
from dither.mechanisms.limits import MOST_STEPS, rounded_up
from dither.mechanisms.margin_test import MarginTest
from dither.noise.bernoulli import leading_word
from dither.noise.discrete_exponential import doubled
from dither.noise.entropy import MOST_BITS, LazyBits
from dither.noise.exact import settle
from dither.noise.gaussian import Gaussian
from dither.noise.laplace import Laplace
from dither.numbers import ball
from dither.privacy import Loss, Neighbours
from dither.procedures.certified_average import AGREEING, least_blocks
from dither.queries.order import Quantiles
from dither.sensitivity.ladder import MOST_SLOW_DISTANCES, Ladder
from dither.sensitivity.levels import Levels
from dither.sources.column import Shape
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue
from dither.statistics.totals import TrimmedTotal
from dither.statistics.unknown_size import FilteredMean, SharedRank

ROOT = Path(__file__).parents[2]
GENEROUS = 60
"""Seconds: what ends does so within a few, what does not never would."""
FINE = Grid(Fraction(1), 0, 1 << 36)


def session(**options):
    """Twenty rows whose number is private."""
    table = pa.table({"v": np.linspace(0, 100, 20), "g": ["a", "b"] * 10})
    columns = {"v": dt.Real(0, 100), "g": dt.Category(["a", "b"])}
    return dt.open(table, columns=columns, budget=dt.Budget(1.0, 1e-3), **options)


@pytest.mark.parametrize(
    "options",
    [{}, {"confidence": None}, {"by": "g"}, {"where": "v < 50"}],
    ids=lambda options: ",".join(options) or "plain",
)
def test_an_epsilon_that_would_fill_the_memory_is_refused_before_the_charge(options):
    """Rungs of ladders are looked at one by one; the least epsilon that the error names is accepted."""
    opened, options = session(), {**options, "mechanism": "ladder"}
    with pytest.raises(EpsilonTooSmall, match="nothing was charged") as refusal:
        opened.ask(dt.Median("v"), epsilon=1e-5, **options)
    assert opened.budget.spent == Loss(0.0)
    with pytest.raises(EpsilonTooSmall):
        opened.quote(dt.Median("v"), epsilon=1e-5, **options)
    least = refusal.value.least
    assert opened.quote(dt.Median("v"), epsilon=least, **options).loss.epsilon <= least * (1 + 1e-12)
    with pytest.raises(EpsilonTooSmall):
        opened.quote(dt.Median("v"), epsilon=least * 0.7, **options)


def test_sql_refuses_like_the_session():
    """One plan for every way in."""
    opened = session(name="data")
    with pytest.raises(EpsilonTooSmall):
        opened.sql("SELECT median(v) FROM data GROUP BY g", epsilon=1e-6, mechanism="ladder")
    assert opened.budget.spent == Loss(0.0)


def test_functions_and_the_shell_refuse_too(tmp_path):
    """Millions of records in memory, and a table at the shell whose ledger stays as it was."""
    with pytest.raises(EpsilonTooSmall):
        dt.trimmed_mean(np.zeros(3_000_000), bounds=(0, 1), epsilon=1e-6)
    with pytest.raises(EpsilonTooSmall):
        dt.iqr(np.zeros(3_000_000), epsilon=1e-6)
    (tmp_path / "pay.csv").write_text("pay\n" + "\n".join(map(str, range(20))) + "\n")
    (tmp_path / "pay.toml").write_text(
        '[dataset]\nsource = "pay.csv"\n[budget]\nepsilon = 1\n[columns]\npay = { type = "real", bounds = [0, 100] }\n'
    )
    words = ["ask", str(tmp_path / "pay.toml"), "median(pay)", "--epsilon", "1e-5"]
    done = CliRunner().invoke(main, [*words, "--mechanism", "ladder"])
    assert done.exit_code != 0
    assert "must be at least 0.0063" in done.stderr
    assert CliRunner().invoke(main, words).exit_code == 0


def test_a_share_is_what_counts():
    """Of a group's question the mechanism gets half: twice the epsilon is needed, and the error says the whole."""
    least = {}
    for by in (None, "g"):
        with pytest.raises(EpsilonTooSmall) as refusal:
            session().ask(dt.Median("v"), epsilon=1e-6, by=by, mechanism="ladder")
        assert refusal.value.given == 1e-6
        least[by] = refusal.value.least
    assert least["g"] == pytest.approx(2 * least[None], rel=0.1)


@pytest.mark.parametrize(
    "query", [dt.Mean("v"), dt.Sum("v"), dt.Histogram("g"), dt.IQR("v"), dt.Count()], ids=lambda query: query.noun
)
def test_noise_in_closed_form_has_no_such_limit(query):
    """Counts, sums, means, histograms and smooth noise answer at 1e-6, and so does the worst case for medians."""
    opened = session()
    assert opened.ask(query, epsilon=1e-6, where="v < 90").loss.epsilon == 1e-6
    assert opened.ask(dt.Median("v"), epsilon=1e-6, mechanism="worst_case").loss.epsilon == 1e-6
    assert opened.ask(dt.Median("v"), epsilon=1e-6, mechanism="smooth").loss.epsilon == 1e-6


@pytest.mark.parametrize("ask", [dt.median, dt.maximum, dt.iqr, dt.trimmed_mean, dt.quantiles])
def test_few_public_records_are_cheap_at_any_epsilon(ask):
    """The number of ranks is public and small: nothing to refuse."""
    options = {"q": [0.25, 0.5, 0.75]} if ask is dt.quantiles else {}
    assert ask(np.arange(50.0), bounds=(0, 50), epsilon=1e-9, **options).loss.epsilon == 1e-9


def test_limits_are_derived_from_ranks():
    """What is accepted looks at no more rungs than the limit, or at all of few."""
    many, sums = (
        RankedValue(5_000_000, 10_000_000, FINE),
        TrimmedTotal(1_000_000, 10_000_000, FINE, Grid(Fraction(1), 0, 8_000_000 << 36)),
    )
    for statistic, mechanism, most in ((sums, "inverse", MOST_STEPS), (many, "ladder", MOST_STEPS // 16)):
        with pytest.raises(EpsilonTooSmall) as refusal:
            prepare(statistic, epsilon=1e-6, mechanism=mechanism)
        accepted = prepare(statistic, epsilon=refusal.value.least, mechanism=mechanism)[1]
        assert 0.7 * most < accepted.draw_length <= most
    assert [rounded_up(x) for x in (1.0, 0.0123, 5.01e-5, 9.99e-5)] == [1.0, 0.013, 5.1e-5, 1e-4]


def test_joint_draws_with_too_many_positions_become_levels():
    """A public rule: memory and time of the joint draw grow with the number of positions, and so do those of levels."""
    statistic = Quantiles(q=[k / 10 for k in range(1, 10)], bounds=(0, 1)).resolve(
        Shape(1_000_000, whole=False, nullable=False)
    )
    orders = {
        epsilon: SeveralDraws.of(statistic, Loss(epsilon), Fraction(epsilon), None).order_of_draws
        for epsilon in (1.0, 0.1, 1e-2, 1e-3)
    }
    assert orders == {1.0: "joint", 0.1: "joint", 1e-2: "levels", 1e-3: "alone"}


ENDLESS = {
    "variance of one record": "dt.variance([3.0], bounds=(0, 10), epsilon=1.0, mechanism='ladder')",
    "a chain of zeros": "dt.ask(dt.ChainSum([0, 0, 0]), 2, epsilon=1.0)",
    "a chain of zeros, ladder": "dt.ask(dt.ChainSum([0, 0, 0]), 2, epsilon=1.0, mechanism='ladder')",
    "a chain of zeros, largest": "dt.ask(dt.ChainSum([0, 0, 0]), 2, epsilon=1.0, mechanism='largest_local')",
    "a chain of zeros, stable": "dt.ask(dt.ChainSum([0, 0, 0]), 2, epsilon=1.0, delta=1e-6, mechanism='stable')",
    "cauchy": "dt.median(range(100), bounds=(0, 100), epsilon=1e-6, mechanism='smooth', noise='cauchy')",
    "student": "dt.median(range(100), bounds=(0, 100), epsilon=1e-6, mechanism='smooth', noise='student')",
    "blocks": "dither.procedures.certified_average.least_blocks(MarginTest(Fraction(1, 10**9), Fraction(1, 10**6)))",
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("call", ENDLESS.values(), ids=ENDLESS)
def test_what_public_facts_decide_ends(call):
    """Each of these never ended, or took minutes, whatever the data were."""
    imports = (
        "from fractions import Fraction; import dither as dt; import dither.procedures.certified_average; "
        "from dither.mechanisms.margin_test import MarginTest"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{imports}; print({call})"],
        check=False,
        capture_output=True,
        text=True,
        timeout=GENEROUS,
    )
    assert done.returncode == 0, done.stderr


def test_least_blocks_are_the_least():
    """Against trying all of them from 1 on."""
    for epsilon, overlap, ramp in ((1, 1, 1), (3, 2, 8), (10, 5, 1)):
        test = MarginTest(Fraction(epsilon, 10), Fraction(1, 10**6))
        spare, blocks = overlap * (test.margin_for() + 1) + ramp, 1
        while -(-AGREEING * blocks // 1) - (blocks + overlap) // 2 < spare:
            blocks += 1
        assert least_blocks(test, overlap, ramp) == blocks


def test_a_ladder_that_never_reaches_its_cap_is_cut_at_a_public_rung():
    """Smooth bounds and margins end; the rungs behind the cut count as the cap, which is a ladder again."""
    looked = []

    def low(start, stop):
        looked.append(stop)
        return np.ones(stop - start, dtype=np.int64)

    ladder = Ladder(low, 1000, deepest=5000)
    assert float(ladder.smooth(Fraction(1, 10**6))) == pytest.approx(1000 * np.exp(-0.005), rel=1e-6)
    assert ladder.margin(10) == 5000
    assert max(looked) <= 5001
    lonely = Levels([1, 5], pairs=[]).ladder(1)
    assert lonely.margin(2) == lonely.deepest


@pytest.mark.parametrize("beta", [Fraction(1, 1000), Fraction(1, 4), Fraction(2)])
def test_the_smooth_bound_of_means_in_closed_form(beta):
    """Between the greatest weighted rung and one grid step more; smooth between neighbouring numbers of records."""
    statistic = FilteredMean(Grid(Fraction(1), 0, 5000), Neighbours.ADD_REMOVE_CHANGE)

    class Counted:
        def __init__(self, records):
            self.records = records

    found = []
    for records in range(300):
        ladder = statistic.ladder(Counted(records))
        rungs = ladder.sensitivity_at_distance(0, records + 2).astype(float)
        truth = float(np.max(rungs * np.exp(-float(beta) * np.arange(records + 2))))
        found.append(float(ladder.smooth(beta)))
        assert truth <= found[-1] <= truth * (1 + 1e-6) + 1
    grown = np.diff(np.log(found))
    assert np.abs(grown).max() <= float(beta)


def test_searches_of_slow_rungs_are_cut_sooner():
    """Where rung k takes a time proportional to k: of equal records twice as many would have to change."""
    reached = []

    class Equal:
        records = 4 * MOST_SLOW_DISTANCES

        def ranks(self, first, last):
            reached.append((last - first) // 2)
            return np.zeros(last - first + 1, dtype=np.int64)

    ladder = SharedRank(Fraction(1, 2), 10**9, FINE, Neighbours.ADD_REMOVE).ladder(Equal())
    assert ladder.margin(0) == MOST_SLOW_DISTANCES
    assert max(reached) <= MOST_SLOW_DISTANCES + 1


@pytest.mark.slow
def test_a_number_that_is_none_ends_in_an_error_and_not_in_a_loop():
    """The bound of all refinements: around finite numbers it is met with probability below 2**-30000."""
    with pytest.raises(RuntimeError, match="no finite number"):
        settle(Laplace(), lambda: ball(0).log(), 1, LazyBits(128))
    with pytest.raises(RuntimeError, match="weights"):
        functools.reduce(lambda digits, _: doubled(digits), range(64), 192)
    with pytest.raises(RuntimeError, match="exactly"):
        leading_word(lambda: (ball(2).sqrt() ** 2) / 4)
    assert leading_word(Fraction(1, 2)) == 1 << 63
    assert MOST_BITS >= 1 << 16


def test_small_dilations_of_gaussians_end():
    """In several dimensions a noncentral law with 1e11 terms proves nothing, at once."""
    from dither.errors import NotProved

    with pytest.raises(NotProved):
        Gaussian().prove(Fraction(1, 100), Fraction(1, 10**8), Loss(1.0, 1e-6), dimension=3)


def test_confidence_next_to_1_is_refused_before_the_charge():
    """Bars are worked out in floats: 1 - 1e-400 divided by zero, after the charge."""
    with pytest.raises(InvalidArgument, match="confidence"):
        dt.median([1.0, 2.0], bounds=(0, 3), epsilon=1.0, confidence=1 - Fraction(1, 10**400), mechanism="smooth")


LOOPED = (
    "noise",
    "mechanisms",
    "statistics",
    "sensitivity",
    "queries",
    "quotes",
    "accounting",
    "procedures",
    "privacy.py",
)


def test_every_loop_is_accounted_for():
    """docs/proofs says of each ``while`` why it ends: in sampling.md, or on the mechanism's own page."""
    pages = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs/proofs").glob("*.md"))]
    documented = {
        (file, name): int(count or 1)
        for page in pages
        for file, name, count in re.findall(r"`([a-z_/]+\.py)` `([A-Za-z_.]+)`(?: \((\d)\))?", page)
    }
    found = {}
    for place in LOOPED:
        path = ROOT / "src/dither" / place
        for file in [path] if path.suffix else sorted(path.glob("*.py")):
            for name, loops in loops_of(ast.parse(file.read_text())):
                found[str(file.relative_to(ROOT / "src/dither")), name] = loops
    assert documented == found


def loops_of(tree):
    """(function, number of while loops) of a module, the innermost function that holds each."""
    counts = {}

    def visit(node, name):
        if isinstance(node, ast.FunctionDef):
            name = node.name
        if isinstance(node, ast.While):
            counts[name] = counts.get(name, 0) + 1
        for child in ast.iter_child_nodes(node):
            visit(child, name)

    visit(tree, "")
    return counts.items()
