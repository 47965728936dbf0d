"""Smooth noise for several numbers at once: ladders of quantiles and mean vectors in l1, units, NRS11's constants."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

import dither as dt
from dither.mechanisms.choice import prepare
from dither.mechanisms.smooth_vectors import stretch
from dither.noise.gaussian import Gaussian
from dither.noise.laplace import Laplace
from dither.privacy import Loss
from dither.sources.column import Column, Table
from dither.sources.grid import Grid
from dither.statistics.order import RankedValues
from dither.statistics.vectors import Totals

GRID = Grid(Fraction(1), 0, 5)
GRAPH = dt.Graph([(0, 1), (1, 2), (0, 2), (2, 3)], n=8)
QUARTILES = RankedValues((Fraction(1, 4), Fraction(3, 4)), 4, GRID, ("a", "b"))
WIDE, NARROW = Grid(Fraction(1), 0, 6), Grid(Fraction(1), -1, 1)
SUMS = Totals((WIDE, NARROW), (Grid(Fraction(1), 0, 18), Grid(Fraction(1), -3, 3)), ("a", "b"))


def neighbours(universe):
    """All pairs of datasets that differ in one record."""
    for x in universe:
        for place in range(len(x)):
            for y in universe:
                if x[:place] == y[:place] and x[place + 1 :] == y[place + 1 :]:
                    yield x, y


def broken(statistic, datasets, pairs, factor=1.0):
    """How often the axioms of a ladder in l1 fail, for rungs of which a part is taken."""
    units = statistic.norm_units or (1,) * len(statistic.answers)
    facts = {}
    for name, data in datasets.items():
        rungs = statistic.norm_ladder(data).sensitivity_at_distance(0, 6) * factor
        facts[name] = [int(one) for one in statistic.values(data)], rungs
    wrong = 0
    for x, y in pairs:
        (here, rungs), (there, other) = facts[x], facts[y]
        moved = sum(abs(a - b) / unit for a, b, unit in zip(here, there, units, strict=True))
        wrong += moved > rungs[0] + 1e-12
        wrong += any(rungs[k] > other[k + 1] + 1e-12 for k in range(5))
        wrong += bool((rungs > statistic.norm_sensitivity).any())
    return wrong


@pytest.mark.slow
def test_the_ladder_of_several_quantiles_holds_for_all_data_of_four_records():
    """Both axioms on all 1,296 datasets of four records with six values; rungs of 70% are caught."""
    universe = list(product(range(6), repeat=4))
    ordered = [x for x in universe if x == tuple(sorted(x))]
    datasets = {x: Column(np.array(x, dtype=np.int64), GRID) for x in universe}
    pairs = [(x, y) for x, y in neighbours(universe) if x in set(ordered)]
    assert len(pairs) > 2000
    assert broken(QUARTILES, datasets, pairs) == 0
    assert broken(QUARTILES, datasets, pairs, 0.7) > 0


def test_moves_of_thousands_of_quantiles_together_are_exact():
    """3,000 quantiles of a column of 2^52 steps move by more than 64 bits hold: no sum wraps around."""
    grid, records, count = Grid(Fraction(1), -(1 << 51), 1 << 51), 8, 3000
    statistic = RankedValues(
        tuple(Fraction(i + 1, count + 1) for i in range(count)), records, grid, tuple(str(i) for i in range(count))
    )
    data = Column(np.array([grid.low] * 4 + [grid.high] * 4, dtype=np.int64), grid)
    each = [one.ladder(data).sensitivity_at_distance(0, 10).tolist() for one in statistic.each()]
    expected = [sum(rungs[k] for rungs in each) for k in range(10)]
    assert max(expected) == statistic.norm_sensitivity > 1 << 63
    ladder = statistic.norm_ladder(data)
    assert ladder.sensitivity_at_distance(0, 10).tolist() == expected
    assert ladder.smooth(Fraction(1, 100)) >= Fraction(np.exp(-0.1)) * max(expected)


def test_the_ladder_of_a_mean_vector_is_attained_in_units_of_its_widths():
    """Sums of two columns of different widths, all tables of two records: one change moves each by its width."""
    rows = list(product((0, 3, 6), (-1, 1)))
    universe = list(product(rows, repeat=2))
    datasets = {
        x: Table(
            [Column(np.array([row[k] for row in x], dtype=np.int64), grid) for k, grid in enumerate((WIDE, NARROW))]
        )
        for x in universe
    }
    pairs = list(neighbours(universe))
    assert broken(SUMS, datasets, pairs) == 0
    assert broken(SUMS, datasets, pairs, 0.7) > 0
    assert SUMS.norm_units == (6, 2)


def test_each_mean_has_noise_in_proportion_to_its_width():
    """Pay up to 200,000 does not blur ages up to 120: laws, intervals and worst cases scale with the widths."""
    query = dt.MeanVector(bounds=[(0, 200_000), (0, 120)])
    rng = np.random.default_rng(1)
    table = np.column_stack([rng.uniform(50_000, 150_000, 400), rng.uniform(30, 90, 400)])
    quiet = dt.ask(query, table, epsilon=40.0, mechanism="smooth")
    (low, high), (young, old) = quiet.interval
    assert (high - low) / (old - young) == pytest.approx(200_000 / 120, rel=0.05)
    assert quiet.mechanism == "smooth"
    shape = query.shape(table)
    _, prepared = prepare(query.resolve(shape), epsilon=1.0, mechanism="smooth", confidence=0.95)
    first, second = prepared.error_laws(query.read(table, shape))
    steps = prepared.statistic.global_sensitivities
    assert first.scale / second.scale == pytest.approx(steps[0] / steps[1])
    expected = prepared.worst_case_error(0.95).expected
    assert expected[0] / expected[1] == pytest.approx(steps[0] / steps[1], rel=1e-3)


def test_quantiles_by_smooth_noise():
    """Reached by name, with and without a delta; the default stays the joint draw."""
    x = np.linspace(0, 1, 4001)
    for options in ({}, {"delta": 1e-6}, {"noise": "cauchy"}, {"delta": 1e-6, "noise": "laplace"}):
        release = dt.quantiles(x, q=[0.25, 0.5, 0.75], bounds=(0, 1), epsilon=4.0, mechanism="smooth", **options)
        assert release.mechanism == "smooth"
        assert release.value == pytest.approx((0.25, 0.5, 0.75), abs=0.2)
    assert dt.quantiles(x, q=[0.25, 0.5], bounds=(0, 1), epsilon=1.0).mechanism == "inverse"
    assert dt.mean(np.column_stack([x, x]), bounds=(0, 1), epsilon=1.0).mechanism == "worst_case"


@pytest.mark.parametrize("dimension", [1, 2, 5, 20])
@pytest.mark.parametrize("loss", [Loss(0.1, 1e-6), Loss(1.0, 1e-6), Loss(0.5, 0.01)], ids=str)
def test_the_papers_constants_are_its_quantiles(loss, dimension):
    """NRS11 Lemmas 2.9 and 2.10 with rho of Definition 2.8, and both are proved admissible."""
    alpha, beta = Laplace().paper_point(loss, dimension)
    norm = stats.gamma(dimension).isf(loss.delta / 2)
    assert float(alpha) == pytest.approx(loss.epsilon / 2)
    assert float(beta) == pytest.approx(loss.epsilon / (2 * norm), rel=1e-9)
    assert Laplace().point(loss, dimension=dimension, constants="paper").beta == beta
    alpha, beta = Gaussian().paper_point(loss, dimension)
    assert float(alpha) == pytest.approx(loss.epsilon / (5 * stats.norm.isf(loss.delta / 2)), rel=1e-9)
    assert float(beta) == pytest.approx(loss.epsilon / (2 * stats.chi2(dimension).isf(loss.delta / 2)), rel=1e-9)
    assert Gaussian().point(loss, dimension=dimension, constants="paper").beta == beta
    simple = loss.epsilon / (4 * (dimension + np.log(2 / loss.delta)))
    assert float(beta) >= simple


def test_the_papers_simpler_constants_above_epsilon_one():
    """Its lemmas are stated below 1; beyond, the quantiles of one coordinate are not admissible everywhere."""
    loss = Loss(8.0, 0.2)
    _, beta = Gaussian().paper_point(loss, 1)
    assert float(beta) == pytest.approx(8.0 / (4 * (1 + np.log(10))), rel=1e-9)
    _, beta = Laplace().paper_point(loss, 3)
    assert float(beta) == pytest.approx(8.0 / (4 * (3 + np.log(10))), rel=1e-9)


@pytest.mark.parametrize("dimension", [1, 2, 3, 8])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_power_law_with_the_smaller_error_factor_is_taken(dimension, epsilon):
    """Which it is depends on the dimension: the power law has an exact frontier in two."""
    shares = tuple(Fraction(place, dimension + 1) for place in range(1, dimension + 1))
    statistic = RankedValues(shares, 4 * dimension, GRID, tuple(map(str, shares)))
    _, prepared = prepare(statistic, epsilon=epsilon, mechanism="smooth")
    chosen = {law.name: law.point(Loss(epsilon), dimension=dimension) for law in (dt.PowerLaw(), dt.BluntPowerLaw())}
    least = min(chosen.values(), key=lambda point: point.error_factor)
    assert prepared.noise_name == str(least.law)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("confidence", [None, 0.95])
@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("delta", [1e-6, 1e-3])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_a_delta_is_spent_only_where_gaussian_noise_is_smaller_than_that_of_both_power_laws(
    epsilon, delta, dimension, confidence
):
    """So no more is spent than by version 0.1.0, which knew one of them: requests that it charged are answered."""
    shares = tuple(Fraction(place, dimension + 1) for place in range(1, dimension + 1))
    statistic = RankedValues(shares, 4 * dimension, GRID, tuple(map(str, shares)))
    asked = {"epsilon": epsilon, "mechanism": "smooth", "confidence": confidence}

    def noise(name, delta):
        _, prepared = prepare(statistic, delta=delta, noise=name, **asked)
        return prepared.point.law.typical / float(prepared.point.alpha) * float(stretch(prepared.point.law, statistic))

    _, prepared = prepare(statistic, delta=delta, **asked)
    least = min(noise("power_law", 0.0), noise("blunt_power_law", 0.0))
    assert (prepared.loss.delta > 0) == (noise("gaussian", delta) < least)


@pytest.mark.parametrize("mechanism", [dt.Smooth, dt.LargestLocal])
def test_a_beta_that_only_the_power_law_admits_is_served_by_it(mechanism):
    """As by version 0.1.0, whose answers are given again only to questions that can still be planned."""
    x = np.linspace(0, 1, 401)
    release = dt.triangles(GRAPH, epsilon=1.0, mechanism=mechanism(beta=0.99), confidence=None)
    assert release.noise.startswith("power_law")
    smaller = dt.triangles(GRAPH, epsilon=1.0, mechanism=mechanism(beta=0.9), confidence=None)
    assert smaller.noise.startswith("blunt_power_law")
    with pytest.raises(dt.InvalidArgument, match="beta"):
        dt.median(x, bounds=(0, 1), epsilon=1.0, mechanism=dt.Smooth(beta=1.1), confidence=None)


def test_a_beta_that_only_the_power_law_admits_is_served_by_it_for_several_numbers():
    """The blunt one needs a steeper tail than so little epsilon for each of three allows."""
    x = np.linspace(0, 1, 401)
    asked = {"q": [0.25, 0.5, 0.75], "bounds": (0, 1), "epsilon": 1.0, "confidence": None}
    assert dt.quantiles(x, mechanism=dt.Smooth(beta=0.33), **asked).noise.startswith("power_law")
    with pytest.raises(dt.InvalidArgument, match="beta"):
        dt.quantiles(x, mechanism=dt.Smooth(beta=0.34), **asked)
