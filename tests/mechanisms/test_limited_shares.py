"""Node privacy by limited shares: exact losses of the race and of the drawn limit on all graphs of few vertices."""

import functools
import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import dither as dt
from dither.kernels.capped_degrees import kept_degrees
from dither.mechanisms.choice import prepare
from dither.mechanisms.drawn_limit import DrawnLimit
from dither.mechanisms.mechanism import MechanismSpec
from dither.mechanisms.race import MISS, Race, at_most, upper_quantile
from dither.privacy import Loss, Neighbours
from dither.queries.graphs import Edges, KStars, Triangles
from dither.sensitivity.limited_shares import limits_up_to
from dither.sources.graph import Graph, GraphShape
from dither_lab.audit.universes import node_universe

ALARM = 1e-9
CLOSE = Fraction(5, 4)


@functools.cache
def universe(vertices):
    """All graphs, and the pairs that differ in the edges of one vertex."""
    return node_universe(Edges(), vertices)


@functools.cache
def values(vertices, limits, query=Edges()):  # noqa: B008  (queries are values)
    """The values of all graphs under limits: a row for each graph."""
    statistic = query.resolve(GraphShape.of(vertices, Neighbours.NODE))
    return np.array([statistic.limited_values(one, limits) for one in universe(vertices).data])


def moved(vertices, limits, query=Edges()):  # noqa: B008
    """How far every pair of neighbours is apart under each limit."""
    here, there = np.array(universe(vertices).pairs).T
    found = values(vertices, limits, query)
    return found[here] - found[there]


def raced_loss(prepared, vertices, query=Edges()):  # noqa: B008
    """The most that all noisy values of the race show of a pair."""
    return float(
        (np.abs(moved(vertices, prepared.limits, query)) / np.array([float(s) for s in prepared.scales])).sum(1).max()
    )


def drawn_loss(prepared, vertices, query=Edges()):  # noqa: B008
    """The most that a drawn limit and the noisy value under it show of a pair."""
    here, there = np.array(universe(vertices).pairs).T
    chances = np.log([prepared.chances(list(map(int, one))) for one in values(vertices, prepared.limits, query)])
    far = np.abs(moved(vertices, prepared.limits, query)) / np.array([float(s) for s in prepared.scales])
    return float((chances[here] - chances[there] + far).max())


def prepared(mechanism, vertices, epsilon=1.0, confidence=None, query=Edges()):  # noqa: B008
    """A mechanism with close limits for few vertices."""
    statistic = query.resolve(GraphShape.of(vertices, Neighbours.NODE))
    return mechanism.prepare(MechanismSpec(statistic, Loss(epsilon), None, confidence))


@pytest.mark.slow
@pytest.mark.parametrize("vertices", [4, 5])
def test_a_limit_is_the_sensitivity_of_the_value_under_it(vertices):
    """Adding, removing and rewiring one vertex moves a limited value by the limit at most, and some graph by that."""
    limits = tuple(range(1, vertices))
    assert np.abs(moved(vertices, limits)).max(axis=0).tolist() == list(limits)
    assert (values(vertices, limits)[:, -1] == [one.size for one in universe(vertices).data]).all()
    assert (np.diff(values(vertices, limits), axis=1) >= 0).all()


@pytest.mark.parametrize("vertices", [4, 5])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_losses_on_all_pairs_of_neighbours(vertices, epsilon):
    """The race attains its epsilon, and noise a fifth smaller is found; the drawn limit stays within it."""
    raced = prepared(Race(base=CLOSE), vertices, epsilon)
    assert len(raced.limits) > 1
    assert raced_loss(raced, vertices) == pytest.approx(epsilon, rel=1e-12)
    short = replace(raced, scales=tuple(scale * Fraction(4, 5) for scale in raced.scales))
    assert raced_loss(short, vertices) > 1.2 * epsilon
    drawn = prepared(DrawnLimit(base=CLOSE), vertices, epsilon)
    assert drawn_loss(drawn, vertices) <= epsilon


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_the_drawn_limit_attains_its_loss(epsilon):
    """Values that move by their limits, in other directions, show all of epsilon; a fifth more loss would be found."""
    drawn = replace(prepared(DrawnLimit(), 1_000, epsilon), limits=(1, 30, 900), moved=(1, 30, 900))
    pairs = [((0, 150, 1050), (1, 120, 1950)), ((2, 1202, 3002), (1, 1232, 2102)), ((0, 150, 1050), (1, 180, 1950))]

    def shown(mechanism):
        return max(
            math.log(p / q) + abs(a - b) / scale
            for here, there in pairs
            for one, other in ((here, there), (there, here))
            for p, q, a, b, scale in zip(
                mechanism.chances(list(one)), mechanism.chances(list(other)), one, other, mechanism.scales, strict=True
            )
        )

    assert 0.97 * epsilon < shown(drawn) <= epsilon
    for part in ("draw_epsilon", "noise_epsilon"):
        assert shown(replace(drawn, **{part: getattr(drawn, part) * Fraction(6, 5)})) > 1.05 * epsilon


@pytest.mark.parametrize("vertices", [4, 5])
def test_answers_of_the_race_and_lower_ends_miss_as_rarely_as_they_say(vertices):
    """Exactly, on every graph: P(answer > count) and P(lower end > count)."""
    raced = prepared(Race(base=CLOSE), vertices, 1.0, Fraction(19, 20))
    drawn = prepared(DrawnLimit(base=CLOSE), vertices, 1.0, Fraction(19, 20))
    off = np.array([upper_quantile(scale, 0.05) for scale in drawn.scales])
    for one in values(vertices, raced.limits):
        count = int(one[-1])
        below = math.prod(
            float(at_most(np.array([count - value + off]), scale)[0])
            for value, off, scale in zip(one, raced.penalties, raced.scales, strict=True)
        )
        assert 1 - below <= MISS
        short = zip(drawn.chances(list(map(int, one))), one, off, drawn.scales, strict=True)
        missed = sum(p * (1 - at_most(np.array([count - v + w]), scale)[0]) for p, v, w, scale in short)
        assert missed <= 0.05


def test_the_two_tails_of_the_noise():
    """Quantiles are the least that miss as rarely, and the distribution function is the sum of its law."""
    for scale in (Fraction(1, 3), Fraction(7, 2), Fraction(900)):
        mass = np.exp(-np.abs(np.arange(-9000, 9001)) / float(scale))
        sums = np.cumsum(mass / mass.sum())
        for place in (-20, -1, 0, 1, 33):
            assert at_most(np.array([float(place)]), scale)[0] == pytest.approx(sums[9000 + place], abs=1e-4)
        width = upper_quantile(scale, 0.01)
        assert 1 - at_most(np.array([float(width)]), scale)[0] <= 0.01
        assert width == 0 or 1 - at_most(np.array([width - 1.0]), scale)[0] > 0.0099


@pytest.mark.slow
@pytest.mark.parametrize("name", ["race", "drawn_limit"])
def test_draws_follow_the_stated_law(name):
    """4,000 answers about a graph against P(error > d) (Dvoretzky-Kiefer-Wolfowitz, false alarm 1e-9); 30% less noise
    is found."""
    rng = np.random.default_rng(3)
    graph = Graph(np.minimum((300 * rng.random((2_000, 2)) ** 2).astype(int), 299), n=300, neighbours="node")
    statistic = Edges().resolve(graph.shape)
    _, mechanism = prepare(statistic, epsilon=1.0, mechanism=name)
    runs, law = 4_000, mechanism.error_laws(graph)[0]
    errors = np.abs([mechanism.run(graph).answer - graph.size for _ in range(runs)])

    def furthest(sample):
        return max(abs(float((sample > d).mean()) - law.beyond(float(d))) for d in np.unique(errors))

    allowed = math.sqrt(math.log(2 / ALARM) / (2 * runs))
    assert furthest(errors) <= allowed
    assert furthest(np.floor(errors * 0.7)) > allowed
    assert abs(errors.mean() - law.mean) < 6 * errors.std() / math.sqrt(runs)
    worst = mechanism.worst_case_error(0.95)
    assert law.mean <= worst.expected[0]
    assert law.beyond(worst.quantile[0]) <= 0.05


def test_rhos():
    """L noises at eps/L each: eps^2 / (2 L) to first order; the draw's half has a bounded range."""
    statistic = Edges().resolve(GraphShape.of(100_000, Neighbours.NODE))
    _, raced = prepare(statistic, epsilon=0.5, mechanism="race")
    assert raced.loss.rho == pytest.approx(0.125 / len(raced.limits), rel=0.1)
    _, drawn = prepare(statistic, epsilon=0.5)
    assert drawn.mechanism == "drawn_limit"
    assert drawn.loss.rho == pytest.approx(0.25 / 32 + 0.25 / 8, rel=0.1)


def test_limits():
    """They rise to the largest share, no further apart than the base and rounding up."""
    for largest in (1, 2, 3, 10, 4_038, 196_590, 10**12):
        for base in (Fraction(5, 4), Fraction(2), Fraction(11, 2), Fraction(1000)):
            limits = limits_up_to(largest, base)
            assert limits[-1] == largest
            assert all(a < b <= base * a + 1 for a, b in pairwise(limits))
            assert limits[0] <= base + 1
    for wrong in (1, 1.1, -3, 10**7):
        with pytest.raises(dt.InvalidArgument, match="base"):
            prepared(Race(base=wrong), 4)


@pytest.mark.parametrize("vertices", [4, 5])
def test_stars_of_kept_edges(vertices):
    """The projection against its obvious form, its sensitivity on all pairs of neighbours, and the lemma on degrees."""
    here, there = np.array(universe(vertices).pairs).T
    graphs = universe(vertices).data
    for limit in range(1, vertices):
        degrees = np.array([kept_degrees(one.starts, one.ends, limit) for one in graphs])
        for one, kept in zip(graphs[::7], degrees[::7], strict=True):
            by_hand = [0] * vertices
            for u, v in one.edges.tolist():
                if max(by_hand[u], by_hand[v]) < limit:
                    by_hand[u], by_hand[v] = by_hand[u] + 1, by_hand[v] + 1
            assert by_hand == kept.tolist()
        assert np.abs(degrees[here] - degrees[there]).sum(axis=1).max() <= 3 * limit
        for k in range(1, limit + 1):
            statistic = KStars(k, max_degree=limit).resolve(GraphShape.of(vertices, Neighbours.NODE))
            counts = np.array([statistic.value(one) for one in graphs])
            most = int(np.abs(counts[here] - counts[there]).max())
            assert most <= statistic.global_sensitivity
            assert counts.max() <= statistic.most
            if limit == vertices - 1:
                assert most == statistic.global_sensitivity
                assert all(counts[i] == KStars(k).resolve(one.shape).value(one) for i, one in enumerate(graphs))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_sensitivity_of_stars_is_attained(k):
    """Vertex 0 leaves vertices that are full with it for others whose last edges it pushes out: 2 k C(D, k) stars."""
    limit, n = 4, 100
    pushed, full, pushing = range(40, 44), range(30, 34), range(1, 5)
    leaves = iter(range(50, n))
    others = [(u, w) for u, w in zip(pushing, pushed, strict=True)]
    others += [(u, 5 + 6 * i + j) for i, u in enumerate(pushing) for j in range(limit - 1)]
    others += [(w, next(leaves)) for w in (*pushed, *full) for _ in range(limit - 1)]
    statistic = KStars(k, max_degree=limit).resolve(GraphShape.of(n, Neighbours.NODE))
    left, joined = (Graph(others + [(0, u) for u in near], n=n) for near in (full, pushing))
    assert (
        statistic.value(left) - statistic.value(joined) == statistic.global_sensitivity == 2 * k * math.comb(limit, k)
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("vertices", [4, 5])
@pytest.mark.parametrize("query", [Triangles(), KStars(2), KStars(3)])
def test_triangles_and_stars_under_every_limit(vertices, query):
    """On all pairs of neighbours no value moves by more than its limit, the last one by all of it, and both mechanisms
    stay within epsilon; with the noise of half the last limit the race does not."""
    statistic = query.resolve(GraphShape.of(vertices, Neighbours.NODE))
    limits = tuple(range(1, statistic.largest_share + 1))
    most = np.abs(moved(vertices, limits, query)).max(axis=0)
    assert (most <= limits).all()
    assert most[-1] == limits[-1] == statistic.global_sensitivity
    counts = [
        type(query)(*([query.k] if hasattr(query, "k") else [])).resolve(one.shape).value(one)
        for one in universe(vertices).data
    ]
    found = values(vertices, limits, query)
    assert found[:, -1].tolist() == counts
    assert (found <= found[:, -1:]).all()
    for mechanism, loss in ((Race(base=CLOSE), raced_loss), (DrawnLimit(base=CLOSE), drawn_loss)):
        assert loss(prepared(mechanism, vertices, 1.0, query=query), vertices, query) <= 1.0 + 1e-12
    raced = prepared(Race(base=CLOSE), vertices, 1.0, query=query)
    last = replace(raced, limits=raced.limits[-1:], scales=(raced.scales[-1] / len(raced.limits) * Fraction(3, 4),))
    assert raced_loss(last, vertices, query) > 1.3


@pytest.mark.parametrize("seed", range(3))
def test_triangles_of_random_neighbours(seed):
    """Seven vertices of which one is rewired: no limited value moves by more than the limit."""
    rng, n = np.random.default_rng(seed), 7
    statistic = Triangles().resolve(GraphShape.of(n, Neighbours.NODE))
    limits = tuple(range(1, statistic.largest_share + 1))
    pairs = np.array([(u, v) for u in range(n) for v in range(u + 1, n)])
    for density in (0.5, 0.7, 0.9):
        kept = rng.random(len(pairs)) < density
        here = statistic.limited_values(Graph(pairs[kept], n=n), limits)
        for vertex in range(n):
            own = (pairs == vertex).any(axis=1)
            for mine in (np.zeros(len(pairs), bool), own, own & (rng.random(len(pairs)) < 0.5)):
                there = statistic.limited_values(Graph(pairs[(kept & ~own) | mine], n=n), limits)
                assert (np.abs(np.subtract(here, there)) <= limits).all()


@pytest.mark.parametrize("vertices", [4, 5])
def test_triangles_of_a_declared_degree(vertices):
    """Their sensitivity on all pairs of neighbours; the count where no vertex has more edges."""
    here, there = np.array(universe(vertices).pairs).T
    graphs = universe(vertices).data
    for degree in range(2, vertices + 1):
        statistic = Triangles(max_degree=degree).resolve(GraphShape.of(vertices, Neighbours.NODE))
        counts = np.array([statistic.value(one) for one in graphs])
        assert np.abs(counts[here] - counts[there]).max() <= statistic.global_sensitivity
        assert counts.max() <= statistic.most
        for one, count in zip(graphs, counts, strict=True):
            if np.diff(one.starts).max() <= degree:
                assert count == Triangles().resolve(one.shape).value(one)


def test_many_limits_are_planned_at_once():
    """Stars of thirty leaves among 200,000 people: hundreds of limits, a public list without large roots."""
    statistic = KStars(30).resolve(GraphShape.of(200_000, Neighbours.NODE))
    limits = limits_up_to(statistic.largest_share, Fraction(5, 2))
    assert len(limits) > 300
    degrees = [statistic.degree_within(limit) for limit in limits]
    assert degrees == sorted(degrees)
    assert degrees[-1] == 199_999
    assert all(
        60 * math.comb(d, 30) <= limit < 60 * math.comb(d + 1, 30)
        for d, limit in zip(degrees[1:-1], limits[1:-1], strict=True)
        if d < 199_998
    )


def test_only_counts_of_shares_are_served():
    """Where edges are people a race has no shares to limit; other noises are not used."""
    graph = Graph([(0, 1)], n=5)
    with pytest.raises(dt.NotApplicable, match="race"):
        dt.edges(graph, epsilon=1.0, mechanism="race")
    with pytest.raises(dt.NotApplicable, match="noise"):
        dt.edges(Graph([(0, 1)], n=5, neighbours="node"), epsilon=1.0, mechanism="race", noise="gaussian", delta=1e-6)
