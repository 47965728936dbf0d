"""Which mechanisms serve which statistics, the default first: a public rule, pinned for every statistic."""

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from pkgutil import resolve_name

import numpy as np
import pytest
from click.testing import CliRunner

import dither as dt
from dither.accounting.concentrated import pure_rho
from dither.interfaces.cli.main import main
from dither.mechanisms.choice import MECHANISMS, NOISES, applicable, epsilon_of_rho, prepare
from dither.mechanisms.documentation import page
from dither.mechanisms.registry import mechanism
from dither.mechanisms.smooth import Smooth
from dither.privacy import Neighbours
from dither.sensitivity.global_sensitivity import HasGlobalSensitivity
from dither.sensitivity.ladder import HasLadder
from dither.sensitivity.levels import Levels
from dither.sources.column import Column
from dither.sources.grid import Grid
from dither.statistics import (
    distances,
    graphs,
    moments,
    node_graphs,
    order,
    restricted,
    smallest,
    spread,
    totals,
    trees,
    unknown_size,
    vectors,
    workloads,
)
from dither.statistics.bit_workloads import attribute_means
from dither.statistics.centre_of_attention import ShortestMiddle
from dither.statistics.levels import ByLevel
from dither.statistics.statistic import Statistic, VectorStatistic
from dither.statistics.unknown_size import for_people
from dither.statistics.unknown_spread import FilteredVariance

ROOT = Path(__file__).parents[2]
GRID = Grid(Fraction(1), 0, 100)
TOTAL = Grid(Fraction(1), 0, 1000)
COME_OR_GO = Neighbours.ADD_REMOVE
RANK = order.RankedValue(5, 10, GRID)
SHARE = unknown_size.SharedRank(Fraction(1, 2), 10, GRID, COME_OR_GO)
SUM = totals.TrimmedTotal(0, 10, GRID, TOTAL)
COUNTS = workloads.WorkloadCounts(workloads.points("abc"), ("a", "b", "c"), 10)
CHAIN = smallest.ChainTotal((0, 1, 3), Levels([1, 1, 2]), TOTAL)
STATISTICS = {
    "RankedValue": RANK,
    "RankedValue, largest": order.RankedValue(10, 10, GRID),
    "RankedValues": order.RankedValues((Fraction(1, 4), Fraction(1, 2)), 10, GRID, ("a", "b")),
    "RankDifference": spread.RankDifference(order.RankedValue(3, 10, GRID), order.RankedValue(8, 10, GRID), GRID),
    "SquaredSpread": spread.SquaredSpread(10, GRID, TOTAL),
    "SquaresAbout": spread.SquaresAbout(2, 10, GRID, Neighbours.ADD_REMOVE_CHANGE),
    "TrimmedTotal, all": SUM,
    "TrimmedTotal, trimmed": totals.TrimmedTotal(2, 10, GRID, TOTAL),
    "SmallestTotal": smallest.SmallestTotal(3, 10, GRID, TOTAL),
    "ChainTotal": CHAIN,
    "ShortestMiddle": ShortestMiddle(10, 1, GRID),
    "ByLevel": ByLevel(CHAIN, CHAIN.level_function()),
    "BinCounts": vectors.BinCounts(("a", "b")),
    "Moments": moments.Moments(10, GRID, (GRID,)),
    "CrossProduct": moments.CrossProduct(10, GRID, GRID, TOTAL),
    "DistanceToSet": distances.DistanceToSet(len, 10),
    "WorkloadCounts": COUNTS,
    "WorkloadCounts, large domain": workloads.WorkloadCounts(attribute_means(30), ("a",) * 30, 10),
    "Totals": vectors.Totals((GRID,), (TOTAL,), ("a",)),
    "CrossProducts": vectors.CrossProducts(10, (GRID,), (TOTAL,), ("a",)),
    "SharedRank": SHARE,
    "FilteredTotal": unknown_size.FilteredTotal(10, GRID, COME_OR_GO),
    "FilteredMean": unknown_size.FilteredMean(GRID, COME_OR_GO),
    "FilteredVariance": FilteredVariance(GRID, 0, COME_OR_GO),
    "PaddedRank": order.PaddedRank(2, 5, GRID, neighbours=COME_OR_GO),
    "SharedRankDifference": unknown_size.SharedRankDifference(SHARE, SHARE, GRID, COME_OR_GO),
    "OfPeople": for_people(unknown_size.FilteredMean(GRID, COME_OR_GO), 3),
    "OfPeople, total": for_people(unknown_size.FilteredTotal(10, GRID, COME_OR_GO), 3),
    "OfPeople, edges": for_people(graphs.EdgeCount(9), 3),
    "ReachableValuesOfPeople": for_people(SHARE, 3),
    "ReachableValuesOfPeople, all": for_people(SUM, 3),
    "EdgeCount": graphs.EdgeCount(9),
    "TriangleCount": graphs.TriangleCount(9),
    "StarCount": graphs.StarCount(9, 2),
    "KTriangleCount": graphs.KTriangleCount(9, 2),
    "CliqueCount": graphs.CliqueCount(9, 4),
    "BoundedTriangleCount": graphs.BoundedTriangleCount(9, 3),
    "BoundedStarCount": restricted.BoundedStarCount(9, 2, 3),
    "BoundedKTriangleCount": restricted.BoundedKTriangleCount(9, 2, 4),
    "BoundedCliqueCount": restricted.BoundedCliqueCount(9, 4, 4),
    "BoundedEdgeCount": graphs.BoundedEdgeCount(9, 3),
    "NodeEdgeCount": node_graphs.NodeEdgeCount(9),
    "LimitedEdgeCount": node_graphs.LimitedEdgeCount(9, 3),
    "LimitedStarCount": node_graphs.LimitedStarCount(9, 2, 3),
    "NodeTriangleCount": node_graphs.NodeTriangleCount(9),
    "LimitedTriangleCount": node_graphs.LimitedTriangleCount(9, 3),
    "NodeStarCount": node_graphs.NodeStarCount(9, 2),
    "EdgeConnectivity": trees.EdgeConnectivity(9),
    "SpanningForestCost, cut by few edges": trees.SpanningForestCost(8, 3, GRID),
    "SpanningForestCost, cut by many edges": trees.SpanningForestCost(8, 8, GRID),
}
TESTS = ["propose_test", "stable"]
DRAWN = ["inverse", "smooth", "ladder", "worst_case"]
FITTED = ["smooth", "ladder", "worst_case"]
BY_RUNGS = ["worst_case", "smooth", "ladder"]
WORST_CASE = [*BY_RUNGS, "staircase"]
BY_PROXY = [*FITTED, *TESTS, "largest_local", "noisy_local"]
SERVED = {
    "RankedValue": [*DRAWN, *TESTS, "largest_local"],
    "RankedValue, largest": [*DRAWN, *TESTS, "largest_local"],
    "RankedValues": ["inverse", "smooth", "worst_case"],
    "RankDifference": [*DRAWN, *TESTS],
    "SquaredSpread": WORST_CASE,
    "TrimmedTotal, all": ["worst_case", "smooth", "inverse", "ladder", "staircase"],
    "SquaresAbout": WORST_CASE,
    "TrimmedTotal, trimmed": [*DRAWN, *TESTS],
    "SmallestTotal": [*DRAWN, *TESTS],
    "ChainTotal": [*FITTED, *TESTS, "largest_local"],
    "ShortestMiddle": [*FITTED, *TESTS],
    "ByLevel": [*BY_RUNGS, *TESTS],
    "BinCounts": ["worst_case"],
    "Moments": ["worst_case"],
    "CrossProduct": WORST_CASE,
    "DistanceToSet": WORST_CASE,
    "WorkloadCounts": ["worst_case", "noisy_histogram", "k_norm"],
    "WorkloadCounts, large domain": ["worst_case", "k_norm"],
    "Totals": ["worst_case", "smooth"],
    "CrossProducts": ["worst_case"],
    "SharedRank": [*DRAWN, *TESTS, "largest_local"],
    "FilteredTotal": WORST_CASE,
    "FilteredMean": [*FITTED, *TESTS, "noisy_count"],
    "FilteredVariance": [*FITTED, *TESTS],
    "PaddedRank": [*DRAWN, *TESTS, "largest_local"],
    "SharedRankDifference": [*FITTED, *TESTS],
    "OfPeople": [*FITTED, *TESTS, "noisy_count"],
    "OfPeople, total": WORST_CASE,
    "OfPeople, edges": WORST_CASE,
    "ReachableValuesOfPeople": [*DRAWN, *TESTS],
    "ReachableValuesOfPeople, all": [*DRAWN, "staircase"],
    "EdgeCount": [*WORST_CASE, "largest_local"],
    "TriangleCount": BY_PROXY,
    "StarCount": BY_PROXY,
    "KTriangleCount": BY_PROXY,
    "CliqueCount": BY_PROXY,
    "BoundedTriangleCount": WORST_CASE,
    "BoundedStarCount": WORST_CASE,
    "BoundedKTriangleCount": WORST_CASE,
    "BoundedCliqueCount": WORST_CASE,
    "BoundedEdgeCount": WORST_CASE,
    "NodeEdgeCount": ["drawn_limit", "race", "worst_case", "staircase", "ladder", "smooth"],
    "LimitedEdgeCount": WORST_CASE,
    "LimitedStarCount": WORST_CASE,
    "NodeTriangleCount": ["drawn_limit", "race", "worst_case", "staircase", "ladder", "smooth"],
    "LimitedTriangleCount": WORST_CASE,
    "NodeStarCount": ["drawn_limit", "race", "worst_case", "staircase", "ladder", "smooth"],
    "EdgeConnectivity": WORST_CASE,
    "SpanningForestCost, cut by few edges": [*BY_RUNGS, *TESTS],
    "SpanningForestCost, cut by many edges": [*FITTED, *TESTS],
}
PINNED = {one for served in SERVED.values() for one in served}


@pytest.mark.parametrize("name", STATISTICS)
def test_which_mechanisms_serve_a_statistic_and_which_is_the_default(name):
    """The whole list, in its order: what "auto" means depends on nothing else.

    Mechanisms that no statistic prefers are used by name only; a new one says itself what it needs, and serves it.
    """
    served = applicable(STATISTICS[name])
    assert [one for one in served if one in PINNED] == SERVED[name]
    assert served[0] == SERVED[name][0]
    newer = {one for one in MECHANISMS.keys() - PINNED if isinstance(STATISTICS[name], MECHANISMS[one].needs)}
    assert set(served) == {*SERVED[name], *(one for one in newer if MECHANISMS[one]().serves(STATISTICS[name]))}


@pytest.mark.parametrize("rows_per_unit", [1, 3])
@pytest.mark.parametrize("name", TESTS)
def test_tests_of_totals_behind_a_filter_are_refused_before_the_charge(name, rows_per_unit):
    """One row moves a sum or a count by the global sensitivity on all data, so no data could pass."""
    data = {"pay": [1.0, 2.0, 3.0], "who": ["a", "b", "c"]}
    declared = {"pay": dt.Real(0, 5)}
    people = {"unit": "who", "rows_per_unit": rows_per_unit} if rows_per_unit > 1 else {}
    session = dt.open(data, columns=declared, budget=dt.Budget(10.0, 0.1), **people)
    for query in (dt.Count(), dt.Sum("pay")):
        with pytest.raises(dt.NotApplicable, match="worst_case") as refused:
            session.ask(query, where="pay > 1", epsilon=1.0, delta=1e-3, mechanism=name)
        assert "nothing was" in str(refused.value)
        assert not {*TESTS} & {*str(refused.value).split("applicable here: ")[1].replace(",", " ").split()}
    assert session.budget.spent == dt.Loss(0.0)


def test_preferences_name_mechanisms_that_exist():
    """A misspelt preference would be passed over in silence."""
    assert {name for one in STATISTICS.values() for name in one.mechanism_preference} <= MECHANISMS.keys() & PINNED


@pytest.mark.parametrize(("confidence", "enough"), [(None, 60), (0.95, 150)])
def test_trimmed_means_that_cut_many_records_are_drawn_along_the_smoothed_ladder(confidence, enough):
    """A public rule of the number cut and epsilon; a noise by name is added, and what takes too long is not chosen."""
    ends = Grid(Fraction(1), 0, 10**9)
    for cut, epsilon, expected in (
        (enough, 1.0, "smoothed_ladder"),
        (enough - 1, 1.0, "inverse"),
        (2 * enough, 0.5, "smoothed_ladder"),
        (10**7, 1e-3, "inverse"),
    ):
        statistic = totals.TrimmedTotal(cut, 10 * cut, GRID, ends)
        assert prepare(statistic, epsilon=epsilon, confidence=confidence)[0] == expected
    assert prepare(totals.TrimmedTotal(enough, 10 * enough, GRID, ends), epsilon=1.0, noise="cauchy")[0] == "smooth"
    assert prepare(totals.TrimmedTotal(0, 10 * enough, GRID, ends), epsilon=1.9)[0] == "worst_case"


@pytest.mark.parametrize("name", ["TrimmedTotal, all", "FilteredTotal"])
def test_sums_have_staircase_noise_from_epsilon_two_on(name):
    """Unless losses add up as rho, a law of noise was named, or one record moves the sum by one step only."""
    statistic = STATISTICS[name]
    for ledger in (None, "basic", "advanced"):
        assert prepare(statistic, epsilon=2.0, ledger=ledger)[0] == "staircase"
        assert prepare(statistic, epsilon=1.99, ledger=ledger)[0] == "worst_case"
    assert prepare(statistic, epsilon=2.0, ledger="zcdp")[0] == "worst_case"
    assert prepare(statistic, epsilon=2.0, noise="laplace")[0] == "worst_case"
    counted = unknown_size.FilteredTotal(10, Grid(Fraction(1), 0, 1), COME_OR_GO)
    assert prepare(counted, epsilon=5.0)[0] == "worst_case"


@pytest.mark.parametrize("name", ["RankedValue", "SharedRank", "PaddedRank"])
@pytest.mark.parametrize("confidence", [None, 0.95])
def test_quantiles_on_coarse_grids_are_flipped_where_losses_add_up_as_epsilon(name, confidence):
    """Not without a ledger, nor under a zcdp filter, nor on fine grids, nor extremes: a public rule."""
    statistic = STATISTICS[name]
    chosen = {
        ledger: prepare(statistic, epsilon=1.0, confidence=confidence, ledger=ledger)[0]
        for ledger in (None, "basic", "advanced", "zcdp")
    }
    assert chosen == {
        None: "inverse",
        "basic": "permute_and_flip",
        "advanced": "permute_and_flip",
        "zcdp": "inverse",
    }
    fine = replace(statistic, answers=Grid(Fraction(1), 0, 4_096))
    assert prepare(fine, epsilon=1.0, confidence=confidence, ledger="basic")[0] == "inverse"
    assert prepare(STATISTICS["RankedValue, largest"], epsilon=1.0, ledger="basic")[0] == "inverse"


@pytest.mark.parametrize("rows", [2, 5])
@pytest.mark.parametrize("ledger", [None, "basic", "zcdp"])
@pytest.mark.parametrize("name", ["SharedRank", "PaddedRank", "FilteredTotal", "FilteredMean", "TrimmedTotal, trimmed"])
def test_auto_means_the_same_for_people_with_several_rows(name, ledger, rows):
    """How many rows of one person count may be found after a quote: what it names is what runs under every limit."""
    statistic = STATISTICS[name]
    for epsilon in (1.0, 2.0, 40.0):
        named = prepare(statistic, epsilon=epsilon, ledger=ledger)[0]
        assert prepare(for_people(statistic, rows), epsilon=epsilon, ledger=ledger)[0] == named


def test_extremes_of_people_have_smooth_noise_where_those_of_records_have():
    """On fine grids from epsilon 8 on; the draw of people has no leaning measure, and errs more."""
    fine = Grid(Fraction(1), 0, 10**6)
    largest = for_people(unknown_size.SharedRank(Fraction(1), 4_000, fine, COME_OR_GO), 4)
    assert prepare(largest, epsilon=8.0)[0] == "smooth"
    assert prepare(largest, epsilon=7.9)[0] == "inverse"
    column = Column(np.arange(0, 500_000, 250), fine)
    smooth, drawn = (
        prepare(largest, epsilon=8.0, mechanism=mechanism)[1].error_laws(column)[0].mean
        for mechanism in ("smooth", "inverse")
    )
    assert smooth < drawn / 2


def test_the_registry_holds_every_mechanism_once():
    """Under its own name, with the structure it needs; a second one of a name is refused."""
    assert all(made.name == name and made.needs != (object,) for name, made in MECHANISMS.items())
    assert MECHANISMS["worst_case"].needs == (HasGlobalSensitivity,)  # what every statistic offers is enough for it
    with pytest.raises(ValueError, match="smooth"):
        mechanism("smooth", needs=HasLadder)(Smooth)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_that_may_refuse_says_so_before_and_after_it_is_prepared(name):
    """What "auto" may not choose under a prior, and what has words for a refusal."""
    enough = (order.RankedValue(50, 100, GRID), graphs.TriangleCount(60))  # (records for a test to pass)
    suited = next(one for one in (*enough, *STATISTICS.values()) if name in applicable(one))
    _, prepared = prepare(suited, epsilon=1.0, delta=1e-3, mechanism=name)
    assert MECHANISMS[name].may_refuse == (prepared.refusal is not None)
    if name in PINNED:
        assert MECHANISMS[name].may_refuse == (name in TESTS)


@pytest.mark.parametrize("command", ["ask", "quote"])
def test_the_help_of_commands_names_what_exists(command):
    """Examples only, so that help loads nothing slow; a wrong name is refused with all of them."""
    output = " ".join(CliRunner().invoke(main, [command, "--help"]).output.split())
    for names, word in ((MECHANISMS, "mechanism"), (NOISES, "law of noise")):
        examples = re.search(rf"or a {word} by name, such as ([\w, ]+)\.", output)
        assert examples is not None
        assert set(re.split(r", | or ", examples[1])) <= set(names)


def test_the_page_of_mechanisms_lists_all_of_them():
    """It is written from the registry; docs/choosing.md and docs/extending.md name those that statistics prefer."""
    rows = re.findall(r"^\| `(\w+)` \| `([\w.]+)` \| .+ \| .+ \|$", page(), re.MULTILINE)
    assert [name for name, _ in rows] == list(MECHANISMS)
    assert all(resolve_name(re.sub(r"^dt\b", "dither", made)) is MECHANISMS[name] for name, made in rows)
    for path in ("docs/choosing.md", "docs/extending.md"):
        text = (ROOT / path).read_text(encoding="utf-8")
        assert {name for name in PINNED if f"`{name}`" in text} == PINNED
        assert "reference/mechanisms.md" in text


def test_one_line_functions_list_every_noise():
    """Their docstrings name the laws, in any order."""
    listed = next(line for line in dt.median.__doc__.splitlines() if line.strip().startswith("noise:"))
    assert set(re.findall(r'"(\w+)"', listed)) == {"auto", *NOISES}


def test_every_statistic_is_pinned():
    """A statistic that is added without an entry above fails here; those of owners have tests of their own."""
    owners = ("dither.statistics.custom", "dither.statistics.finite")  # tests/statistics/test_custom.py, test_finite.py

    def concrete(base):
        for one in base.__subclasses__():
            yield from concrete(one)
            if one.__module__.startswith(owners) or one.__abstractmethods__:
                continue
            if one.__module__.startswith("dither.statistics"):
                yield one

    classes = {*concrete(Statistic), *concrete(VectorStatistic)}
    assert classes == {type(one) for one in STATISTICS.values()}


def test_epsilons_of_equal_rho_are_found():
    """The largest epsilon whose rho is at most another mechanism's, to a part in 256; none is raised."""
    rho = pure_rho(1.0)
    found = epsilon_of_rho(pure_rho, 3.0, rho)
    assert 1.0 - 3.0 / 256 < found <= 1.0
    assert epsilon_of_rho(pure_rho, 1.0, pure_rho(2.0)) == 1.0


def test_quotes_under_a_zcdp_filter_compare_at_equal_rho():
    """A draw adds eps^2/8, smooth noise four times as much: it is compared at about half of epsilon."""
    quoted = {}
    for name in ("basic", "zcdp"):
        budget = dt.Budget(5.0, 1e-6)
        session = dt.open({"a": [1.0] * 50}, columns={"a": dt.Real(0, 100)}, budget=budget, filter=name)
        quoted[name] = session.quote(dt.Median("a"), epsilon=0.5, prior=dt.Normal(50, 8), rows=2_000)
    plain, equal = quoted["basic"], quoted["zcdp"]
    assert plain.mechanism == equal.mechanism == "inverse"
    assert equal.alternatives["inverse"] == pytest.approx(plain.alternatives["inverse"], rel=0.2)
    assert equal.alternatives["smooth"] > 2 * plain.alternatives["smooth"]
    assert equal.loss.epsilon == 0.5


def test_auto_compares_the_least_errors_at_equal_rho():
    """Two attributes at a large epsilon: the mechanism is the best of those whose epsilons were lowered to one rho."""
    statistic = STATISTICS["WorkloadCounts"]
    name, prepared = prepare(statistic, epsilon=4.0, ledger="zcdp")
    tried = {one: prepare(statistic, epsilon=4.0, mechanism=one)[1] for one in applicable(statistic)}
    least = min(one.loss.concentrated.rho for one in tried.values())

    def error(mechanism):
        def at(epsilon):
            return prepare(statistic, epsilon=epsilon, mechanism=mechanism)[1]

        epsilon = epsilon_of_rho(lambda e: at(e).loss.concentrated.rho, 4.0, least)
        assert at(epsilon).loss.concentrated.rho <= least
        return sum(at(epsilon).worst_case_error(0.95).expected)

    errors = {one: error(one) for one in tried}
    assert errors[name] <= min(errors.values()) * (1 + 1e-6)
    assert prepared.loss.epsilon == 4.0
