"""Metric spaces: the fitted rate is proved, nearly attained, and never more careful than it must be."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import InvalidArgument
from dither.mechanisms.metric_space import MetricSpace, nearby


def cycle(m):
    """Points on a ring: every one looks alike."""
    return MetricSpace.of(range(m), lambda p, q: min((p - q) % m, (q - p) % m))


def path(m):
    """Points on a line: the ends differ from the middle."""
    return MetricSpace.of(range(m), lambda p, q: abs(p - q))


def star(leaves):
    """A hub and its leaves."""
    return MetricSpace.of(range(leaves + 1), lambda p, q: 0 if p == q else 1 if 0 in (p, q) else 2)


SPACES = {
    "cycle": cycle(7),
    "path": path(6),
    "star": star(5),
    "tenths": MetricSpace.of("abc", [[0, 0.1, 0.3], [0.1, 0, 0.2], [0.3, 0.2, 0]]),
}


def output_law(space, centre, rate):
    """The probabilities of all points."""
    weights = [math.exp(-float(rate) * step) for step in space.steps[centre].tolist()]
    return [w / sum(weights) for w in weights]


def worst_loss(space, rate, reach):
    """The largest log-ratio over all outputs and all pairs of centres that neighbours may have."""
    laws = [output_law(space, centre, rate) for centre in range(len(space.points))]
    return max(
        abs(math.log(a / b))
        for z, w in product(range(len(laws)), repeat=2)
        if space.steps[z, w] <= reach
        for a, b in zip(laws[z], laws[w], strict=True)
    )


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)])
@pytest.mark.parametrize("reach", [1, 2])
def test_the_fitted_rate_spends_epsilon_and_no_more(name, epsilon, reach):
    """All outputs and centres: the loss is epsilon to five digits; 30% sharper is caught; the paper's rate is safe."""
    space = SPACES[name]
    rate = space.rate(epsilon, reach)
    assert epsilon / (2 * reach) <= rate <= epsilon / reach
    loss = worst_loss(space, rate, reach)
    assert float(epsilon) * (1 - 1e-5) <= loss <= float(epsilon) * (1 + 1e-9)
    assert worst_loss(space, rate * Fraction(13, 10), reach) > float(epsilon) * 1.05
    assert worst_loss(space, space.rate(epsilon, reach, "paper"), reach) <= float(epsilon) * (1 + 1e-9)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=15, max_size=15), st.integers(1, 12), st.sampled_from([0.2, 1.0, 4.0]))
def test_random_spaces_are_private(weights, sensitivity, epsilon):
    """Shortest ways in random weighted graphs on six points, at any sensitivity."""
    table = np.zeros((6, 6), dtype=int)
    table[np.triu_indices(6, 1)] = weights
    table += table.T
    for k in range(6):
        table = np.minimum(table, table[:, k, None] + table[None, k, :])
    space = MetricSpace.of(range(6), table)
    reach = space.reach(Fraction(sensitivity))
    if reach:
        assert worst_loss(space, space.rate(Fraction(str(epsilon)), reach), reach) <= epsilon * (1 + 1e-9)


def test_the_factor_two_is_dropped_where_all_points_look_alike():
    """On a cycle the normaliser is the same everywhere; on a path it is not, and dropping the 2 would cost more."""
    assert cycle(7).same_around_every_point
    assert cycle(7).rate(Fraction(1), 1, "paper") == cycle(7).rate(Fraction(1), 1) == 1
    assert not path(6).same_around_every_point
    assert path(6).rate(Fraction(1), 1, "paper") == Fraction(1, 2)
    assert worst_loss(path(6), Fraction(1), 1) > 1.1


def test_surroundings_decide_the_normaliser():
    """Different surroundings give different normalisers at a rational rate; equal surroundings the same."""
    sums = [sum(math.exp(-step) for step in row) for row in path(6).steps.tolist()]
    kinds = path(6).around
    for a, b in product(range(6), repeat=2):
        assert (kinds[a] == kinds[b]) == math.isclose(sums[a], sums[b], rel_tol=1e-12)


def test_the_sign_of_equation_4():
    """With the printed sign the likeliest answer is the farthest one; ours is the truth."""
    for centre in range(6):
        ours, printed = output_law(path(6), centre, Fraction(1, 2)), output_law(path(6), centre, Fraction(-1, 2))
        assert max(range(6), key=lambda y: ours[y]) == centre
        assert printed[centre] == min(printed)


@pytest.mark.parametrize("name", SPACES)
def test_draws_follow_the_law(name):
    """Equally spaced tapes give each point as many draws as its probability says, to one draw."""
    space, rate, tapes = SPACES[name], Fraction(4, 5), 1009
    law, counts = output_law(space, 1, rate), np.zeros(len(space.points))
    for i in range(tapes):
        word = ((2 * i + 1) << 127) // tapes
        counts[nearby(space, 1, rate, source=lambda n, w=word: w.to_bytes(16, "big") if n == 16 else bytes(n))] += 1
    assert np.abs(counts - tapes * np.array(law)).max() <= 1


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("missed", [0.05, 0.4])
def test_the_radius_covers_from_every_centre(name, missed):
    """Exact probabilities, and no smaller distance would do for all centres."""
    space, rate = SPACES[name], Fraction(3, 4)
    radius = space.radius(rate, missed) / space.unit

    def outside(r):
        return max(
            sum(p for p, step in zip(output_law(space, z, rate), space.steps[z].tolist(), strict=True) if step > r)
            for z in range(len(space.points))
        )

    assert outside(radius) <= missed
    assert radius == 0 or outside(radius - 1) > missed


@pytest.mark.parametrize(
    ("points", "table", "why"),
    [
        ("ab", [[0, 1], [2, 0]], "both directions"),
        ("ab", [[1, 1], [1, 0]], "zero from each point"),
        ("ab", [[0, 0], [0, 0]], "zero from each point"),
        ("ab", [[0, -1], [-1, 0]], "zero from each point"),
        ("abc", [[0, 1, 3], [1, 0, 1], [3, 1, 0]], "triangle"),
        ("abc", [[0, 0.1, 0.31], [0.1, 0, 0.2], [0.31, 0.2, 0]], "triangle"),
        ("abc", [[0, 1], [1, 0]], "square table"),
        ("ab", "cd", "square table"),
        ("a", [[0]], "at least 2"),
        ("aa", [[0, 1], [1, 0]], "different"),
        ("ab", [[0, math.inf], [math.inf, 0]], "finite"),
        (range(1001), lambda p, q: abs(p - q), "at most 1000"),
    ],
)
def test_what_is_no_metric_is_refused(points, table, why):
    """Every axiom is checked, exactly: 0.31 > 0.1 + 0.2 is found, 0.3 would not be."""
    with pytest.raises(InvalidArgument, match=why):
        MetricSpace.of(points, table)
