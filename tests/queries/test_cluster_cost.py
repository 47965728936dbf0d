"""The cost of public centres: against brute force on whole universes, its sensitivity, and bad input."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from conftest import trials
from dither.procedures.cluster_cost import costs, greatest_cost
from dither.queries.clusters import PointFacts

BOUNDS = [(0.0, 8.0), (-1.0, 1.0)]
CENTRES = [(2.0, 0.0), (6.0, 0.5)]


def exact_cost(point, centres, bounds):
    """The squared distance to the nearest centre, in the unit of the widest coordinate, as a rational."""
    widths = [Fraction(high) - Fraction(low) for low, high in bounds]
    return min(
        sum(
            ((Fraction(x) - Fraction(c)) * max(widths) / width) ** 2
            for x, c, width in zip(point, centre, widths, strict=True)
        )
        for centre in centres
    )


def answered(query, points):
    """The statistic without noise."""
    statistic = query.resolve(PointFacts(len(points), len(points[0])))
    column = query.read(np.array(points), None)
    return statistic.answers.step * statistic.value(column), statistic


def test_values_and_sensitivity_on_a_whole_universe():
    """All pairs of points on a grid and all their neighbours: values as by hand, moves below the bound and near it."""
    query = dt.KMeansCost(centres=CENTRES, bounds=BOUNDS)
    places = list(itertools.product([0.0, 2.0, 4.0, 6.0, 8.0], [-1.0, 0.0, 1.0]))
    values = {}
    for pair in itertools.product(places, repeat=2):
        found, statistic = answered(query, pair)
        truth = sum(exact_cost(point, CENTRES, BOUNDS) for point in pair) / 2
        assert abs(found - truth) <= statistic.answers.step * 2
        values[pair] = found
    most = statistic.answers.step * statistic.global_sensitivity
    moved = max(
        abs(values[one, other] - values[one, changed]) for one, other, changed in itertools.product(places, repeat=3)
    )
    assert most * Fraction(9, 10) < moved <= most


def test_the_largest_cost_is_a_bound_and_near():
    """Random centres in one to three dimensions: no point costs more, some point nearly as much."""
    rng = np.random.default_rng(1)
    for _ in range(trials(20, 300)):
        k, dimensions = int(rng.integers(1, 6)), int(rng.integers(1, 4))
        centres = rng.uniform(0, 1, (k, dimensions))
        corners = np.array(list(itertools.product([0.0, 1.0], repeat=dimensions)))
        grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 33)] * dimensions), axis=-1).reshape(-1, dimensions)
        found = costs(np.vstack([corners, grid]), centres).max()
        assert found <= greatest_cost(centres) <= found * 1.25 + 1e-9


def test_a_record_has_its_cost_by_itself():
    """Bit for bit the same among others."""
    rng = np.random.default_rng(2)
    points, centres = rng.uniform(0, 1, (257, 3)), rng.uniform(0, 1, (4, 3))
    together = costs(points, centres)
    assert all(costs(point[None], centres)[0] == one for point, one in zip(points, together, strict=True))


def test_equal_widths_give_the_usual_cost():
    """Against the mean of squares in the points' own unit; noise of scale 125/20,000 is below 0.3 but for 1e-15."""
    rng = np.random.default_rng(3)
    points = rng.uniform(-10, 10, (20_000, 2))
    centres = np.array([[-5.0, 0.0], [5.0, 0.0]])
    usual = ((points[:, None] - centres[None]) ** 2).sum(axis=2).min(axis=1).mean()
    release = dt.kmeans_cost(points, centres=centres, bounds=(-10, 10), epsilon=1.0)
    assert abs(release.value - usual) < 0.3
    assert release.query == "k-means cost"
    flat = dt.KMeansCost(centres=[-5, 0, 5, 0], bounds=(-10, 10))
    assert answered(flat, points)[0] == answered(dt.KMeansCost(centres=centres, bounds=(-10, 10)), points)[0]


def test_what_is_missing_or_outside():
    """Missing entries count as the middle, others are cut to the bounds: nothing fails because of a record."""
    query = dt.KMeansCost(centres=[[0.5, 0.5]], bounds=(0, 1))
    assert answered(query, [(np.nan, 0.5), (0.5, 0.5)])[0] == 0
    cut, whole = (answered(query, [point, (0.5, 0.5)])[0] for point in ((np.inf, -1e300), (1.0, 0.0)))
    assert cut == whole


@pytest.mark.parametrize(
    ("argument", "changes"),
    [
        ("centres", {"centres": []}),
        ("centres", {"centres": "ab"}),
        ("centres", {"centres": 3}),
        ("centres", {"centres": [0.1, 0.2, 0.3]}),
        ("centres", {"centres": [(0.1, 0.2, 0.3)]}),
        ("centres", {"centres": [(0.1, 0.2), 0.3]}),
        ("centres", {"centres": [(0.1,), (0.1, 0.2, 0.3)]}),
        ("centres", {"centres": [(0.1, 2.0)]}),
        ("centres", {"centres": [(0.1, float("nan"))]}),
        ("centres", {"centres": [(0.1, 0.2)] * 101}),
        ("bounds", {"bounds": None}),
        ("bounds", {"bounds": [(0, 1)] * 3}),
    ],
)
def test_bad_input(argument, changes):
    """Public facts, said before anything is read."""
    given = {"centres": [(0.5, 0.5)], "bounds": (0, 1), "epsilon": 1.0, **changes}
    with pytest.raises(dt.InvalidArgument) as caught:
        dt.kmeans_cost(np.zeros((10, 2)), **given)
    assert caught.value.argument == argument


def test_one_question_has_one_form_however_it_is_written():
    """Coordinates in a row or point by point; a truth value is no number of degrees of freedom."""
    flat = dt.KMeansCost(("a", "b"), centres=[1, 2, 3, 4])
    assert flat == dt.KMeansCost(("a", "b"), centres=[[1, 2], [3, 4]])
    for query in (dt.Variance, dt.PairCovariance):
        with pytest.raises(dt.InvalidArgument, match="ddof"):
            query(ddof=True)
