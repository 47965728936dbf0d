"""The lightest cut of private weights: against all cuts, its sensitivity on whole universes, and bad input."""

from itertools import combinations, product

import numpy as np
import pytest

import dither as dt
from conftest import trials
from dither.errors import InvalidArgument
from dither.kernels.weighted_cut import lightest_cut

SQUARE = [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)]


def all_cuts(count, edges, weights):
    """The least weight over all ways to part the vertices."""
    return min(
        sum(w for (a, b), w in zip(edges, weights, strict=True) if (a in side) != (b in side))
        for size in range(1, count)
        for side in map(set, combinations(range(count), size))
    )


def test_values_against_all_cuts():
    """Random graphs of up to eight vertices, some in pieces."""
    rng = np.random.default_rng(6)
    for _ in range(trials(200, 4_000)):
        count = int(rng.integers(2, 9))
        pairs = [pair for pair in combinations(range(count), 2) if rng.random() < rng.choice([0.3, 0.8, 1.0])]
        if pairs:
            weights = rng.integers(0, int(rng.choice([2, 10, 1 << 40])), size=len(pairs))
            assert lightest_cut(count, np.array(pairs), weights) == all_cuts(count, pairs, weights.tolist())


def test_one_weight_moves_it_by_at_most_the_cap():
    """All weightings of a square with a diagonal and all neighbours: the cap is attained, so 0.7 of it would not do."""
    query, cap = dt.WeightedMinCut(), 4
    graphs = {
        weights: dt.Graph(SQUARE, n=4, weights=np.array(weights), cap=cap) for weights in product((0, 1, 4), repeat=5)
    }
    statistic = query.resolve(query.shape(next(iter(graphs.values()))))
    values = {weights: statistic.value(graph) for weights, graph in graphs.items()}
    assert all(value == all_cuts(4, SQUARE, weights) for weights, value in values.items())
    moved = max(
        abs(value - values[(*weights[:place], other, *weights[place + 1 :])])
        for weights, value in values.items()
        for place, other in product(range(5), (0, 1, 4))
    )
    assert moved == cap == statistic.global_sensitivity
    assert max(values.values()) <= statistic.answers.ends[1] == 2 * cap


def test_a_release():
    """Near the truth; weights outside the cap are clamped and missing ones are the cap, without a word."""
    edges = list(combinations(range(12), 2))
    weights = np.full(len(edges), 2.0)
    weights[0], weights[1], weights[2] = -5.0, 900.0, np.nan
    graph = dt.Graph(edges, n=12, weights=weights, cap=4)
    release = dt.weighted_min_cut(graph, epsilon=8.0)
    # Vertex 0 has weights 0, 4 and 4 beside eight of 2; vertex 1 has one of 0 and ten of 2.
    assert abs(release.value - 20) < 20
    assert release.missing == 4
    assert release.neighbours is dt.Neighbours.WEIGHT


@pytest.mark.parametrize(
    ("graph", "options", "named"),
    [
        (dt.Graph(SQUARE, n=4), {}, "weights"),
        (dt.Graph(SQUARE, n=5, weights=[1] * 5, cap=2), {}, "in pieces"),
        (dt.Graph(SQUARE, n=4, weights=[1] * 5), {}, "cap"),
        (dt.Graph(SQUARE, n=4, weights=[1] * 5), {"cap": 0}, "bounds|cap"),
        (dt.Graph(SQUARE, n=4, weights=[1] * 5), {"cap": -3}, "bounds|cap"),
        (dt.Graph([(0, 1)], n=1_501, weights=[1], cap=2), {}, "vertices"),
        ([1, 2], {}, "data"),
    ],
)
def test_bad_input_is_named(graph, options, named):
    """From public facts: edges, caps, vertices."""
    with pytest.raises(InvalidArgument, match=named):
        dt.weighted_min_cut(graph, epsilon=1.0, **options)
