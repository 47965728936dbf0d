"""COQ17's Algorithm 1 step by step: Figure 9, Proposition 12, an independent version, and where it is not private."""

import math
from fractions import Fraction
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dither as dt
from dither.errors import InvalidArgument
from dither.mechanisms.largest_local import descending_bounds

PAY = [24634, 29475, 37468, 48104, 69624, 113511]


def algorithm_1(sensitivities, related, level, epsilon, delta):
    """COQ17 Figure 1, line by line: lambda_k for k = r down to the level."""
    t = epsilon / math.log(1 / delta)
    r = len(sensitivities)
    size = dict(enumerate(sensitivities, 1))
    tau = {k: min([low for low in size if low < k and (low, k) in related], default=k) for k in size}
    found = {r: epsilon / (2 * size[r])}
    for k in range(r - 1, level - 1, -1):
        if size[k + 1] / size[k] < 1 + t / 2:
            found[k] = found[k + 1]
        else:
            above = [high for high in size if high > k and (k, high) in related and tau[high] <= k]
            own = epsilon / (2 * size[k])
            found[k] = min(own, found[max(above)] * (1 + t / 2)) if above else own
    return found


def test_figure_9():
    """The numbers of the figure: eps/20 on level 4, then min(eps/15, eps/20 (1 + t/2)) on level 3, tau 3 and 2."""
    found = dt.inspect.descent(dt.Levels([1, 2, 3, 4]), 3, epsilon=5.0, delta=1 / 2000, step=2.5)
    t = 5 / math.log(2000)
    assert found.t == pytest.approx(t)
    assert [(one.level, one.sensitivity, one.lowest_neighbour, one.rule) for one in found.steps] == [
        (4, 10.0, 3, "top"),
        (3, 7.5, 2, "jump"),
    ]
    assert [one.parameter for one in found.steps] == pytest.approx([5 / 20, min(5 / 15, 5 / 20 * (1 + t / 2))])
    assert found.scale == pytest.approx(3.0, abs=0.02)
    assert found.unfit == ()
    assert "lambda_3 = min(epsilon/(2 L_3), lambda_4 (1 + t/2)) = 0.332227" in str(found)


@given(
    st.lists(st.integers(1, 500), min_size=1, max_size=12).map(sorted),
    st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), max_size=10),
    st.sampled_from([0.3, 1.0, 5.0]),
    st.sampled_from([1e-6, 1e-3, 0.1]),
    st.data(),
)
@settings(deadline=None, max_examples=60)
def test_the_steps_are_those_of_the_printed_algorithm(sensitivities, some, epsilon, delta, data):
    """Under any relation; and those of ``descending_bounds``, which computes in rationals."""
    count = len(sensitivities)
    pairs = {(a, b) for a, b in [*some, *pairwise(range(1, count + 1))] if max(a, b) <= count}
    level = data.draw(st.integers(1, count))
    levels = dt.Levels(sensitivities, pairs=pairs)
    found = dt.inspect.descent(levels, level, epsilon=epsilon, delta=delta)
    related = pairs | {(b, a) for a, b in pairs}
    expected = algorithm_1(sensitivities, related, level, epsilon, delta)
    assert {one.level: one.parameter for one in found.steps} == pytest.approx(expected)
    growth = 1 + Fraction(epsilon / math.log(1 / delta) / 2)
    bounds = descending_bounds(levels, growth)[level - 1 :]
    assert [one.parameter for one in found.steps][::-1] == pytest.approx([epsilon / 2 / float(b) for b in bounds])


def test_proposition_12_as_a_trace():
    """On levels whose ratios are large enough every step is a jump, and lambda_k is the formula."""
    epsilon, delta = 0.5, 1e-3
    t = epsilon / math.log(1 / delta)
    sizes = [round(1000 * 1.1**k) for k in range(20)]
    found = dt.inspect.descent(dt.Levels(sizes), 1, epsilon=epsilon, delta=delta)
    assert [one.rule for one in found.steps] == ["top", *["jump"] * 19]
    for one in found.steps:
        assert one.parameter == pytest.approx(epsilon / (2 * sizes[-1]) * (1 + t / 2) ** (20 - one.level))


def test_a_finite_space_is_traced_from_one_of_its_datasets():
    """COQ17 Example 5: the levels are the salaries that come next, and the trace ends at that of the dataset."""
    space = dt.FiniteSpace(range(7), neighbours="chain", value=lambda k: sum(PAY[:k]))
    found = dt.inspect.descent(space, 2, epsilon=1.0, delta=1e-3)
    assert [one.sensitivity for one in found.steps] == [113511, 69624, 48104, 37468]
    assert found.steps[-1].level == space.level(2)
    # In steps of its grid, whatever that is.
    doubled = dt.FiniteSpace(range(7), neighbours="chain", value=lambda k: 2.5 * sum(PAY[:k]))
    assert dt.inspect.descent(doubled, 2, epsilon=1.0, delta=1e-3).scale == pytest.approx(2.5 * found.scale)


def test_the_trace_says_where_the_printed_algorithm_is_not_private():
    """Level 1 has a neighbour at the top, level 2 has not: the scales of 1 and 2 are too far apart."""
    levels = dt.Levels([2**k for k in range(16)], pairs=[*pairwise(range(1, 17)), (1, 16)])
    found = dt.inspect.descent(levels, 1, epsilon=0.5, delta=1e-3)
    assert (1, 2) in found.unfit
    assert "NOT private for neighbours on levels 1 and 2" in str(found)
    straight = dt.Levels([2**k for k in range(16)])
    assert dt.inspect.descent(straight, 1, epsilon=0.5, delta=1e-3).unfit == ()


def test_bad_traces_are_refused():
    """Each with the name of the argument."""
    levels = dt.Levels([0, 1, 2])
    for at in (0, 4, "1", 1.0):
        with pytest.raises(InvalidArgument):
            dt.inspect.descent(levels, at, epsilon=1.0, delta=1e-3)
    with pytest.raises(InvalidArgument, match="sensitivity"):
        dt.inspect.descent(levels, 1, epsilon=1.0, delta=1e-3)
    with pytest.raises(InvalidArgument, match="delta"):
        dt.inspect.descent(levels, 2, epsilon=1.0, delta=0.0)
    with pytest.raises(InvalidArgument, match="step"):
        dt.inspect.descent(levels, 2, epsilon=1.0, delta=1e-3, step=0)
    with pytest.raises(InvalidArgument, match="levels"):
        dt.inspect.descent([1, 2], 1, epsilon=1.0, delta=1e-3)


def largest_after_one_edge(edges, vertices):
    """COQ17's a_H: the most triangles on one edge of H + e', over all e' not in H; None for the complete graph."""
    every, found = set(combinations(range(vertices), 2)), []
    for added in every - edges:
        grown = edges | {added}
        near = {v: {w for edge in grown for w in edge if v in edge and w != v} for v in range(vertices)}
        found.append(max(len(near[a] & near[b]) for a, b in grown))
    return max(found, default=None)


def test_proposition_15_on_all_graphs_with_five_vertices():
    """a_H differs by 0 or 1 between neighbours wherever it is defined: everywhere but at the complete graph.

    The bound (5/2) a_H of which it speaks is no bound on the local sensitivity of 2-triangles.
    """
    every = list(combinations(range(5), 2))
    graphs = [frozenset(chosen) for size in range(10) for chosen in combinations(every, size)]
    most = {graph: largest_after_one_edge(set(graph), 5) for graph in graphs}
    space = dt.FiniteSpace(
        graphs, neighbours=lambda g: [g ^ {edge} for edge in every if len(g ^ {edge}) < 10], value=most.__getitem__
    )
    assert space.global_sensitivity == 1
    brute = {abs(most[g] - most[g ^ {edge}]) for g in graphs for edge in every if len(g ^ {edge}) < 10}
    assert brute == {0, 1}
