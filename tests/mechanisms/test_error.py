"""What mechanisms say about their own error: measured, and never above what they prove for all data."""

import importlib
import inspect
import math
import pkgutil
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import dither as dt
import dither.mechanisms
from dither.mechanisms.choice import applicable, prepare
from dither.mechanisms.error import Mixture
from dither.mechanisms.largest_local import LargestLocal
from dither.mechanisms.mechanism import Prepared
from dither.mechanisms.noisy_local import integer_laplace_cells
from dither.privacy import Neighbours
from dither.queries.graphs import Edges, KCliques, KStars, KTriangles, Triangles
from dither.quotes.prior_sample import ImaginedColumn
from dither.quotes.quote import for_all_data
from dither.sensitivity.levels import Margin
from dither.sources.graph import Graph
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue
from dither.statistics.unknown_size import FilteredMean, for_people

DRAWS, SIGMAS = 4000, 6.2
"""The share of errors beyond a place is off by more than 6.2 standard deviations with probability below 1e-9."""


def prepared_classes():
    """Every class of a prepared mechanism that ships, but for those that others are made of."""
    for module in pkgutil.iter_modules(dither.mechanisms.__path__):
        importlib.import_module(f"dither.mechanisms.{module.name}")
    found, waiting = [], [Prepared]
    while waiting:
        below = waiting.pop().__subclasses__()
        waiting += below
        found += [one for one in below if not inspect.isabstract(one)]
    return [one for one in found if one.__module__.startswith("dither.mechanisms.")]


def crowded(vertices=24, share=0.4):
    """A graph with stars, triangles and cliques in it."""
    rng = np.random.default_rng(7)
    return Graph([pair for pair in combinations(range(vertices), 2) if rng.random() < share], n=vertices)


def agree(law, errors):
    """Whether as many errors as the law says are beyond its median and beyond its upper fifth."""
    for miss in (0.5, 0.2):
        place = Mixture([law]).quantile(miss)
        expected = law.beyond(place)
        allowed = SIGMAS * math.sqrt(max(expected * (1 - expected), 1 / len(errors)) / len(errors))
        if abs(np.mean(errors > place) - expected) > allowed:
            return False
    return True


@pytest.mark.parametrize("made", prepared_classes(), ids=lambda one: one.__name__)
def test_every_mechanism_says_what_its_error_is(made):
    """None falls through to what holds for any answer in a range without saying so itself."""
    own = [vars(each) for each in made.__mro__ if each is not Prepared and issubclass(each, Prepared)]
    assert all(any(name in each for each in own) for name in ("error_laws", "worst_case_error"))


def measured(prepared, statistic, records, draws=DRAWS):
    """Errors of answers about the same records; refusals are left out."""
    answers = [prepared.run(records).answer for _ in range(draws)]
    return np.array([abs(answer - statistic.value(records)) for answer in answers if answer is not None], dtype=float)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("query", [KStars(2), KTriangles(2)], ids=repr)
@pytest.mark.parametrize("mechanism", ["worst_case", "smooth", "ladder", "largest_local", "noisy_local"])
def test_laws_are_those_of_the_draws_on_a_graph(mechanism, query):
    """4,000 draws on one graph, false alarms below 1e-8; noise that is 30% larger is noticed."""
    graph = crowded()
    statistic = query.resolve(graph.shape)
    _, prepared = prepare(statistic, epsilon=4.0, delta=1e-2, mechanism=mechanism)
    errors, (law,) = measured(prepared, statistic, graph), prepared.error_laws(graph)
    assert len(errors) == DRAWS
    assert agree(law, errors)
    assert not agree(law, 1.3 * errors)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "mechanism",
    ["worst_case", "smooth", "inverse", "ladder", LargestLocal(levels=Margin(bound=300, depth=40)), "propose_test"],
    ids=str,
)
def test_laws_are_those_of_the_draws_on_a_column(mechanism):
    """A median of records as quotes imagine them, rates as above; the law of a test is for when it answers."""
    records = ImaginedColumn(dt.Uniform(0, 4000), Grid(Fraction(1), 0, 5000), 400)
    statistic = RankedValue(200, 400, records.grid)
    _, prepared = prepare(statistic, epsilon=1.0, delta=1e-2, mechanism=mechanism)
    errors, (law,) = measured(prepared, statistic, records), prepared.error_laws(records)
    assert len(errors) == DRAWS or (prepared.refusal is not None and len(errors) > DRAWS / 2)
    assert agree(law, errors)
    assert not agree(law, 1.3 * errors + 1)


def test_stable_answers_have_no_error():
    """All records alike: always answered, always the truth, and the interval is the answer."""
    records = ImaginedColumn(dt.PublicSample([7.0, 7.0]), Grid(Fraction(1), 0, 5000), 400)
    statistic = RankedValue(200, 400, records.grid)
    _, prepared = prepare(statistic, epsilon=1.0, delta=1e-2, mechanism="stable", confidence=0.9)
    (law,), worst = prepared.error_laws(records), prepared.worst_case_error(0.9)
    assert measured(prepared, statistic, records, 100).tolist() == [0.0] * 100
    assert (law.mean, law.beyond(0.0)) == (0.0, 0.0)
    assert (worst.expected, worst.quantile, worst.exact) == ((0.0,), (0.0,), True)
    assert prepared.typical_half_widths(records) == (0.0,)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("confidence", [None, 0.9])
@pytest.mark.parametrize("query", [Edges(), Triangles(), KStars(2), KTriangles(2), KCliques(4)], ids=repr)
def test_no_graph_has_a_greater_error_than_the_bound(query, confidence):
    """All graphs of five vertices, every mechanism: laws, no chance involved."""
    pairs = list(combinations(range(5), 2))
    graphs = [Graph([one for j, one in enumerate(pairs) if k >> j & 1], n=5) for k in range(0, 1 << len(pairs), 5)]
    statistic = query.resolve(graphs[0].shape)
    for name in applicable(statistic):
        _, prepared = prepare(statistic, epsilon=1.0, delta=1e-3, mechanism=name, confidence=confidence)
        worst = prepared.worst_case_error(0.8)
        for graph in graphs:
            (law,) = prepared.error_laws(graph)
            assert law.mean <= worst.expected[0] * (1 + 1e-9)
            assert law.beyond(worst.quantile[0]) <= 0.2 * (1 + 1e-9)


def test_noisy_local_sensitivity_is_quoted_below_the_whole_range():
    """Its scale is at most that of the global sensitivity, and intervals are as wide as it says."""
    graph = crowded()
    statistic = KStars(2).resolve(graph.shape)
    _, prepared = prepare(statistic, epsilon=4.0, delta=1e-6, mechanism="noisy_local", confidence=0.9)
    error = for_all_data(prepared, 0.9)
    scale = statistic.global_sensitivity / float(prepared.answer_epsilon)
    assert error.expected == pytest.approx(scale, rel=1e-2)
    assert error.bound < statistic.most / 10
    assert (error.kind, error.attained, error.half_width) == ("upper bound", False, None)
    (law,), (width,) = prepared.error_laws(graph), prepared.typical_half_widths(graph)
    assert law.mean < error.expected
    ends = np.array([prepared.run(graph).interval for _ in range(500)])
    assert np.mean(ends[:, 1] - ends[:, 0]) / 2 == pytest.approx(width, rel=0.1)


def test_a_bound_is_attained_only_where_the_scale_is_public():
    """An assumed number of records makes smooth noise public for a mean, and for nothing else."""
    column = Grid(Fraction(1), 0, 5000)
    mean = FilteredMean(column, Neighbours.ADD_REMOVE)
    for statistic, known in ((mean, True), (for_people(mean, 3), True), (RankedValue(200, 400, column), False)):
        _, prepared = prepare(statistic, epsilon=1.0, mechanism="smooth")
        anyhow, counted = prepared.worst_case_error(0.9), prepared.worst_case_error(0.9, 400)
        assert (anyhow.attained, counted.attained) == (False, known)
        assert (counted.expected < anyhow.expected) == known
        (law,) = prepared.error_laws(ImaginedColumn(dt.Uniform(0, 5000), column, 400))
        assert law.mean <= counted.expected[0]
        assert not known or law.mean == pytest.approx(counted.expected[0], rel=1e-3)


@pytest.mark.parametrize("scale", [0.3, 2.5, 40.0, 1e5])
def test_integer_laplace_noise_is_summed_with_the_right_mean(scale):
    """E|K| = 1 / sinh(1/s); runs of many values are off by a thousandth."""
    values, masses = integer_laplace_cells(scale)
    assert masses.sum() == pytest.approx(1.0)
    assert np.dot(np.abs(values), masses) == pytest.approx(1 / math.sinh(1 / scale), rel=2e-3)
