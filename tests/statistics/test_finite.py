"""Explicit finite data spaces: everything that is enumerated, against slow search; every mechanism on all of them."""

import math
from collections import deque
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import dither as dt
from dither.mechanisms.choice import MECHANISMS, applicable
from dither_lab.audit.audited_queries import prepare_case
from dither_lab.audit.exhaustive import axioms, privacy, structures
from dither_lab.audit.universes import Universe

PAY = [24634, 29475, 37468, 48104, 69624, 113511]


def distances(datasets, near, start):
    """Breadth-first: how many steps every dataset is away; those out of reach are left out."""
    found, waiting = {start: 0}, deque([start])
    while waiting:
        here = waiting.popleft()
        for there in near[here]:
            if there not in found:
                found[there] = found[here] + 1
                waiting.append(there)
    return found


def random_space(seed, size=9, links=12):
    """Datasets with random values and neighbours: often in several pieces, with levels that skip."""
    rng = np.random.default_rng(seed)
    values = {f"d{k}": int(v) for k, v in enumerate(rng.integers(0, 12, size))}
    names = list(values)
    pairs = {tuple(sorted(rng.choice(names, 2, replace=False).tolist())) for _ in range(links)}
    near = {x: [b if a == x else a for a, b in pairs if x in (a, b)] for x in names}
    return dt.FiniteSpace(names, neighbours=sorted(pairs), value=values), values, near


SPACES = range(12)


@pytest.mark.parametrize("seed", SPACES)
def test_everything_is_what_slow_search_finds(seed):
    """Local, global and smooth sensitivities, ladders, levels, lowest and highest neighbour levels."""
    space, values, near = random_space(seed)
    local = {x: max((abs(values[x] - values[y]) for y in near[x]), default=0) for x in values}
    step = Fraction(space.statistic.answers.step)
    assert step == (math.gcd(*values.values()) or 1)
    assert space.global_sensitivity == max(local.values())
    assert space.levels == tuple(sorted(set(local.values())))
    for x in values:
        away = distances(values, near, x)
        ladder = [max(local[y] for y in away if away[y] <= k) for k in range(max(away.values()) + 1)]
        assert space.local_sensitivity(x) == local[x]
        found = space.ladder(x)
        assert found == ladder[: len(found)]
        assert set(ladder[len(found) - 1 :]) == {found[-1]}
        smooth = max(local[y] * math.exp(-0.3 * steps) for y, steps in away.items())
        assert space.smooth_sensitivity(x, 0.3) == pytest.approx(smooth, rel=1e-12)
        assert space.levels[space.level(x) - 1] == local[x]
    for k in range(1, len(space.levels) + 1):
        here = [x for x in values if local[x] == space.levels[k - 1]]
        related = {space.level(y) for x in here for y in near[x]} | {k}
        assert space.lowest_neighbour_level(k) == min(related)
        assert space.highest_neighbour_level(k) == max(related)


def universe_of(space):
    """All datasets of a space, and all pairs of neighbours."""
    statistic = space.statistic
    return Universe(statistic, list(range(len(statistic.steps))), [tuple(p) for p in statistic.pairs.T.tolist()])


@pytest.mark.parametrize("seed", [s for s in SPACES if random_space(s)[0].global_sensitivity > 0])
def test_structures_hold_and_every_mechanism_is_private(seed):
    """In several pieces too; exact laws of all pairs of neighbours, 30% less noise is seen somewhere."""
    universe = universe_of(random_space(seed)[0])
    assert axioms(universe, 12).holds
    assert structures(universe, frozenset({"reachable"})).holds
    served = applicable(universe.statistic)
    assert {"inverse", "smooth", "ladder", "worst_case", "largest_local", "noisy_local"} <= set(served)
    for name, noise in (
        ("inverse", ""),
        ("ladder", ""),
        ("smooth", "power_law"),
        ("largest_local", "laplace"),
        ("worst_case", "laplace"),
        ("noisy_local", "laplace"),
    ):
        assert privacy(prepare_case(universe, MECHANISMS[name](), noise), universe).holds, name


def test_rungs_that_are_30_percent_short_are_seen():
    """The check above can fail."""
    universe = universe_of(dt.FiniteSpace(range(7), neighbours="chain", value=lambda k: sum(PAY[:k])))
    assert axioms(universe, 5).holds
    assert not axioms(universe, 5, Fraction(7, 10)).holds


def test_example_5_of_coq17():
    """The chain of six salaries in one line: LS(x_1) = 29475; the same ladder as ChainSum."""
    space = dt.FiniteSpace(range(7), neighbours="chain", value=lambda k: sum(PAY[:k]))
    assert [space.local_sensitivity(k) for k in range(1, 6)] == PAY[1:]
    assert space.levels == tuple(PAY)
    assert [space.lowest_neighbour_level(k) for k in range(2, 7)] == [1, 2, 3, 4, 5]
    assert [space.highest_neighbour_level(k) for k in range(1, 6)] == [2, 3, 4, 5, 6]
    chain = dt.ChainSum(PAY, step=1)
    for k in range(7):
        known = dt.inspect.ladder(chain, k, rungs=7)
        assert dt.inspect.ladder(space, k, rungs=7) == known
    for mechanism in ("inverse", "smooth", "ladder", "worst_case", "largest_local"):
        assert 0 <= dt.ask(space, 3, epsilon=1.0, mechanism=mechanism).value <= sum(PAY)
    assert dt.ask(space, 3, epsilon=9.0, delta=0.1, mechanism="noisy_local").neighbours is dt.Neighbours.LISTED
    tested = dt.ProposeTest(bound=100_000)
    assert dt.ask(space, 3, epsilon=9.0, delta=0.4, mechanism=tested).refused in (True, False)


def test_subgraphs_of_a_complete_graph():
    """All graphs on five vertices: the exact ladder of triangles, and a bound for 2-triangles (NRS11, COQ17)."""
    edges = list(combinations(range(5), 2))
    graphs = [frozenset(e for bit, e in enumerate(edges) if code >> bit & 1) for code in range(1 << len(edges))]

    def pages(graph, k):
        common = (sum({(min(i, v), max(i, v)), (min(j, v), max(j, v))} <= graph for v in range(5)) for i, j in graph)
        return sum(math.comb(a, k) for a in common)

    triangles = dt.FiniteSpace(graphs, neighbours=lambda g: [g ^ {e} for e in edges], value=lambda g: pages(g, 1) // 3)
    doubled = dt.FiniteSpace(graphs, neighbours=lambda g: [g ^ {e} for e in edges], value=lambda g: pages(g, 2))
    for graph in graphs[::37]:
        known = dt.Graph(np.array(sorted(graph), dtype=np.int64).reshape(-1, 2), n=5)
        assert dt.inspect.ladder(triangles, graph, rungs=6) == dt.inspect.ladder(dt.Triangles(), known, rungs=6)
        bound = dt.inspect.ladder(dt.KTriangles(2), known, rungs=6)
        truth = dt.inspect.ladder(doubled, graph, rungs=6)
        assert all(b >= t for b, t in zip(bound, truth, strict=True))
    assert doubled.global_sensitivity == max(doubled.levels)


def test_values_between_whole_numbers_have_an_exact_step():
    """The largest step of which all values are multiples, decimals as they print; a declared step rounds."""
    space = dt.FiniteSpace(["a", "b", "c"], neighbours=[("a", "b"), ("b", "c")], value={"a": 2.5, "b": 5, "c": 7.1})
    assert space.statistic.answers.step == Fraction(1, 10)
    assert space.local_sensitivity("b") == 2.5
    coarse = dt.FiniteSpace([1, 2], neighbours="chain", value=lambda k: k / 3, step=0.5)
    assert coarse.global_sensitivity == 0
    assert dt.ask(coarse, 1, epsilon=1.0).value == 0.5


def test_data_outside_of_the_space_count_as_a_public_dataset():
    """Whatever they are: nothing is raised because of them."""
    space = dt.FiniteSpace(range(3), neighbours="chain", value=lambda k: 10 * k, default=2)
    shape = space.shape(7)
    for odd in (7, -1, "text", None, [1], float("nan"), ([],)):
        assert space.read(odd, shape) == 2
        assert 0 <= dt.ask(space, odd, epsilon=1.0).value <= 20
    assert dt.FiniteSpace(range(3), neighbours="chain", value=lambda k: k).read([1], shape) == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"datasets": []}, "at least one dataset"),
        ({"datasets": 5}, "a list of hashable datasets"),
        ({"datasets": "abc"}, "a list of hashable datasets"),
        ({"datasets": [[1], [2]]}, "hashable datasets"),
        ({"datasets": [1, 1, 2]}, "each dataset once"),
        ({"neighbours": [(0, 9)]}, "among the datasets"),
        ({"neighbours": [(0, 1, 2)]}, "pairs of datasets"),
        ({"neighbours": "ring"}, "chain"),
        ({"neighbours": lambda k: [k + 1]}, "among the datasets"),
        ({"neighbours": lambda k: 5}, "a function that lists neighbours"),
        ({"neighbours": None}, "must be"),
        ({"value": 3}, "a function of a dataset"),
        ({"value": {0: 1}}, "a finite number for every dataset"),
        ({"value": lambda k: math.nan}, "a finite number for every dataset"),
        ({"value": lambda k: 1 / k}, "a finite number for every dataset"),
        ({"value": lambda k: k * 1e300, "step": 1e-3}, "at most 2\\*\\*52 steps"),
        ({"step": 0}, "a positive number"),
        ({"default": 9}, "one of the datasets"),
    ],
)
def test_spaces_that_are_none_are_refused(given, words):
    """From public facts: nothing was read, nothing was charged."""
    facts = {"datasets": range(4), "neighbours": "chain", "value": lambda k: k} | given
    with pytest.raises(dt.InvalidArgument, match=words):
        dt.FiniteSpace(facts.pop("datasets"), **facts)


def test_questions_about_levels_and_datasets_that_are_none():
    """Errors name what is accepted."""
    space = dt.FiniteSpace(range(4), neighbours="chain", value=lambda k: k * k)
    with pytest.raises(dt.InvalidArgument, match="from 1 to 3"):
        space.lowest_neighbour_level(9)
    with pytest.raises(dt.InvalidArgument, match="one of the datasets"):
        space.local_sensitivity(9)
    with pytest.raises(dt.InvalidArgument, match="at least 0"):
        space.smooth_sensitivity(1, -1)


def test_a_space_that_is_too_large_is_refused(monkeypatch):
    """Tables of datasets by distance have a public limit."""
    from dither.statistics import finite

    monkeypatch.setattr(finite, "MOST_CELLS", 100)
    space = dt.FiniteSpace(range(30), neighbours="chain", value=lambda k: k * k)
    with pytest.raises(dt.InvalidArgument, match="datasets times their greatest distance"):
        dt.ask(space, 3, epsilon=1.0)
