"""Spanning trees and minimum cuts: ladders against enumeration, values against other libraries, bad input."""

import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest

import dither as dt
import oracle
from conftest import needs_package, trials
from contract.contracts import within
from dither.errors import DitherError, InvalidArgument, NotApplicable
from dither.kernels import cuts, thresholds
from dither.kernels.cuts import (
    capped_flow,
    compact,
    edge_connectivity,
    glued,
    near_classes,
    pack_forests,
    search_classes,
    simple,
)
from dither.kernels.thresholds import WeightThresholds
from dither.mechanisms.choice import applicable
from dither.mechanisms.mechanism import MechanismSpec
from dither.mechanisms.smooth import Smooth
from dither.mechanisms.worst_case import WorstCase
from dither.noise.heavy_tails import Cauchy
from dither.noise.laplace import Laplace
from dither.privacy import Loss, Neighbours
from dither.queries.trees import BridgeWarning, MinCut, MSTCost
from dither.sensitivity.ladder import Ladder
from dither.sources.graph import Graph
from dither_lab.audit.enumeration import noise_divergence

pytestmark = pytest.mark.filterwarnings("ignore::dither.queries.trees.BridgeWarning")

SMALL = [
    graph
    for graph in nx.graph_atlas_g()
    if 3 <= len(graph) <= 5 and len(graph.edges) <= 6 and len(graph.edges) >= 2 and nx.is_connected(graph)
]


def weighted(edges, n, weights, cap, step=None):
    """A graph with whole weights."""
    return Graph(np.array(edges).reshape(-1, 2), n=n, weights=np.array(weights), cap=cap, step=step)


def random_graph(rng, n, p):
    """The edges of a random connected graph: a random tree and more."""
    order = rng.permutation(n)
    tree = {tuple(sorted((int(order[i]), int(order[rng.integers(i)])))) for i in range(1, n)}
    more = {pair for pair in combinations(range(n), 2) if rng.random() < p}
    return sorted(tree | more)


def statistic_of(graph):
    """The resolved statistic of a weighted graph."""
    query = MSTCost()
    return query.resolve(query.shape(graph))


def rungs_of(graph, count):
    """The first rungs."""
    return statistic_of(graph).ladder(graph).sensitivity_at_distance(0, count).tolist()


# --- enumeration ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("graph", SMALL, ids=lambda graph: graph.name)
def test_ladder_equals_enumeration_on_small_graphs(graph):
    """Every rung is the largest local sensitivity within k changes, over all weightings from small sets."""
    edges = sorted(tuple(sorted(edge)) for edge in graph.edges)
    values = (0, 1, 3) if len(edges) > 4 else (0, 1, 2, 5)
    rungs = len(edges) + 1
    costs, ladders = oracle.all_tree_ladders(edges, len(graph), values, rungs)
    for place in list(np.ndindex(costs.shape))[:: trials(3 if len(edges) > 4 else 1, 1)]:
        data = weighted(edges, len(graph), [values[i] for i in place], values[-1])
        statistic = statistic_of(data)
        assert statistic.value(data) == costs[place]
        assert statistic.ladder(data).sensitivity_at_distance(0, rungs).tolist() == [
            ladder[place] for ladder in ladders
        ]


def test_pieces_add_up():
    """Two components (and an isolated vertex): the cost is the sum, the ladder the maximum, as enumerated."""
    edges = [(0, 2), (0, 4), (2, 4), (1, 5), (1, 6), (5, 6)]
    values = (0, 2, 3)
    costs, ladders = oracle.all_tree_ladders(edges, 7, values, 4)
    for place in list(np.ndindex(costs.shape))[::5]:
        data = weighted(edges, 7, [values[i] for i in place], 3)
        statistic = statistic_of(data)
        assert statistic.value(data) == costs[place]
        assert statistic.ladder(data).sensitivity_at_distance(0, 4).tolist() == [ladder[place] for ladder in ladders]
    assert statistic.connectivity == 2
    assert statistic.answers.ends == (0, 3 * 4)


@pytest.mark.slow
@pytest.mark.parametrize("few", [0, 64])
def test_ladder_equals_the_formula_over_all_cuts(monkeypatch, few):
    """Random graphs of up to nine vertices, many weights or few: rungs up to and beyond the connectivity."""
    monkeypatch.setattr(cuts, "FEW", few)
    rng = np.random.default_rng(20260)
    for _ in range(trials(150, 3000)):
        n = int(rng.integers(2, 10))
        edges, cap = random_graph(rng, n, rng.random()), int(rng.choice([1, 2, 10, 1000]))
        weights = rng.integers(0, cap + 1, len(edges)).tolist()
        data = weighted(edges, n, weights, cap)
        assert rungs_of(data, 6) == oracle.cut_ladder(edges, weights, n, cap, 6)


def test_windows_give_the_same_rungs():
    """Rungs asked in growing windows, one by one or backwards are the rungs asked at once."""
    rng = np.random.default_rng(3)
    edges = random_graph(rng, 40, 0.5)
    data = weighted(edges, 40, rng.integers(0, 1000, len(edges)), 1000)
    statistic = statistic_of(data)
    at_once = statistic.ladder(data).sensitivity_at_distance(0, 14).tolist()
    ladder = statistic.ladder(data)
    assert [ladder[k] for k in range(14)] == at_once
    assert (
        statistic.ladder(data).sensitivity_at_distance(0, 3).tolist()
        + statistic.ladder(data).sensitivity_at_distance(3, 14).tolist()
        == at_once
    )
    assert [statistic.ladder(data)[k] for k in reversed(range(14))] == at_once[::-1]


def test_several_cores_give_the_same_rungs(monkeypatch):
    """However the work is shared out, rungs and their order are the same."""
    rng = np.random.default_rng(4)
    edges = np.array(random_graph(rng, 60, 0.5))
    weights = rng.integers(0, 1000, len(edges))
    alone = WeightThresholds(60, *edges.T, weights, 1000).sensitivity_at_distance(0, 20).tolist()
    monkeypatch.setattr(thresholds, "ALONE", 0)
    assert WeightThresholds(60, *edges.T, weights, 1000).sensitivity_at_distance(0, 20).tolist() == alone


def test_smooth_bounds_ask_for_no_rung_that_cannot_matter():
    """The rungs asked for end where cap e^{-beta k} falls below the bound; more or fewer at first changes nothing."""
    rungs = np.minimum(5 + np.arange(1000) // 3, 100)
    bounds = set()
    for first in (1, 8, 32, 500):
        asked = []

        def some(start, stop, asked=asked):
            asked.append(stop)
            return rungs[start:stop]

        bounds.add(Ladder(some, 100, first=first).smooth(Fraction(1, 10)))
        needed = np.log(100 / float(max(bounds))) / 0.1
        assert needed <= asked[-1] <= max(first, needed + 3)
    assert bounds == {Ladder(lambda start, stop: rungs[start:stop], 100).smooth(Fraction(1, 10))}
    assert float(max(bounds)) == pytest.approx(oracle.smooth_bound(rungs.tolist(), 0.1))


# --- axioms --------------------------------------------------------------------------------------------


def axiom_violations(shrink, rng, rounds):
    """How often a fifth less would break an axiom on random neighbouring weightings."""
    found = 0
    for _ in range(rounds):
        n = int(rng.integers(20, 60))
        edges = random_graph(rng, n, 0.2)
        cap = 1 << 20
        weights = rng.integers(0, cap + 1, len(edges))
        changed = weights.copy()
        ladder = WeightThresholds(*glued(n, *np.array(edges).T), weights, cap)
        # Half of the time the most telling edge: one of a tree, sent to an end.
        place = int(rng.integers(len(edges)))
        if rng.random() < 0.5:
            place = int(np.flatnonzero(weights == rng.choice(ladder.tree[2][-3:]))[0])
        changed[place] = rng.choice([0, cap, rng.integers(cap)])
        other = WeightThresholds(*glued(n, *np.array(edges).T), changed, cap)
        here, there = (t.sensitivity_at_distance(0, 12) * shrink for t in (ladder, other))
        found += abs(ladder.cost() - other.cost()) > min(here[0], there[0])
        found += int((here[:-1] > there[1:]).sum() + (there[:-1] > here[1:]).sum())
    return found


def test_axioms_on_random_neighbouring_weightings():
    """Rung 0 covers one change, and neighbours differ by at most one rung, on graphs of hundreds of edges."""
    assert axiom_violations(1, np.random.default_rng(5), trials(40, 600)) == 0


def test_the_axiom_check_can_fail():
    """Rungs a fifth smaller break the first axiom."""
    assert axiom_violations(0.8, np.random.default_rng(5), 200) > 0


# --- values and kernels --------------------------------------------------------------------------------


def test_cost_equals_other_libraries():
    """networkx and igraph agree, on graphs in one piece and in several."""
    needs_package("igraph")
    import igraph

    rng = np.random.default_rng(8)
    for _ in range(60):
        n = int(rng.integers(2, 40))
        edges = [pair for pair in combinations(range(n), 2) if rng.random() < 3 / n] or [(0, 1)]
        weights = rng.integers(0, 50, len(edges))
        graph = nx.Graph()
        graph.add_weighted_edges_from((*edge, int(w)) for edge, w in zip(edges, weights, strict=True))
        truth = sum(d["weight"] for *_, d in nx.minimum_spanning_edges(graph))
        other = igraph.Graph(n, edges).spanning_tree(weights=weights.tolist(), return_tree=False)
        assert dt.inspect.value(MSTCost(), weighted(edges, n, weights, 50)) == truth == weights[other].sum()


def test_minimum_cut_equals_other_libraries():
    """networkx on small graphs of all densities, igraph on larger ones; 0 for graphs in pieces."""
    needs_package("igraph")
    import igraph

    rng = np.random.default_rng(9)
    for _ in range(trials(150, 3000)):
        n = int(rng.integers(2, 14))
        graph = nx.gnp_random_graph(n, rng.random(), seed=int(rng.integers(1 << 30)))
        data = Graph(np.array(graph.edges, dtype=np.int64).reshape(-1, 2), n=n)
        assert dt.inspect.value(MinCut(), data) == nx.edge_connectivity(graph)
    for seed in range(5):
        graph = nx.random_partition_graph([30, 40], 0.4, 0.01, seed=seed)
        edges = np.array(graph.edges, dtype=np.int64)
        assert dt.inspect.value(MinCut(), Graph(edges, n=70)) == igraph.Graph(70, edges.tolist()).mincut().value


def test_minimum_cut_moves_by_at_most_one_edge():
    """On all graphs of four vertices: every edge added or removed moves it by at most 1, and some by 1."""
    pairs = list(combinations(range(4), 2))
    value = {
        chosen: edge_connectivity(4, *np.array([p for p, c in zip(pairs, chosen, strict=True) if c]).reshape(-1, 2).T)
        for chosen in product((0, 1), repeat=6)
    }
    moves = {
        abs(value[chosen] - value[(*chosen[:i], 1 - chosen[i], *chosen[i + 1 :])]) for chosen in value for i in range(6)
    }
    assert moves == {0, 1}


def test_forests_keep_every_threshold_graph():
    """Lemma 4: with K forests, local connectivities up to K below every weight are those of the whole graph."""
    rng = np.random.default_rng(10)
    for _ in range(trials(10, 100)):
        n, K = int(rng.integers(4, 9)), int(rng.integers(1, 5))
        edges = random_graph(rng, n, 0.8)
        a, b = compact(np.array(edges)[:, 0]), compact(np.array(edges)[:, 1])
        index = pack_forests(n, a, b, K)
        for stop in range(len(edges) + 1):
            whole = nx.Graph(edges[:stop])
            kept = nx.Graph([edge for edge, i in zip(edges[:stop], index, strict=False) if i < K])
            whole.add_nodes_from(range(n))
            kept.add_nodes_from(range(n))
            for u, v in combinations(range(n), 2):
                truth = nx.edge_connectivity(whole, u, v)
                assert min(K, nx.edge_connectivity(kept, u, v)) == min(K, truth)
                if (u, v) in edges[:stop]:
                    assert truth >= min(index[edges.index((u, v))] + 1, K)


@pytest.mark.slow
def test_searches_join_only_connected_vertices():
    """Lemma 5: what a capped search joins is so connected, and it joins something if all degrees allow.

    Flows between neighbours join just what is connected along edges; cut short, they join no more than that.
    """
    rng = np.random.default_rng(11)
    for _ in range(trials(150, 2000)):
        n, order = int(rng.integers(3, 10)), int(rng.integers(1, 7))
        edges = np.array(random_graph(rng, n, rng.random()))
        times = rng.integers(1, 4, len(edges))
        multigraph = simple(n, compact(edges[:, 0]), compact(edges[:, 1]), times)
        classes, labels = search_classes(*multigraph, order)
        near, hurried = (near_classes(*multigraph, order, work)[1] for work in (1 << 40, 30))
        graph = nx.Graph()
        graph.add_weighted_edges_from(
            ((int(u), int(v), int(c)) for (u, v), c in zip(edges, times, strict=True)), weight="capacity"
        )
        for u, v in combinations(range(n), 2):
            connected = nx.maximum_flow_value(graph, u, v) >= order
            assert connected or labels[u] != labels[v]
            assert connected or near[u] != near[v]
            assert connected or hurried[u] != hurried[v]
            assert near[u] == near[v] or not connected or not graph.has_edge(u, v)
        if min(dict(graph.degree(weight="capacity")).values()) >= order:
            assert classes < n


def test_flows_and_their_cuts():
    """A capped flow equals networkx's, and its cut has exactly that many edges if it is below the cap."""
    rng = np.random.default_rng(12)
    for _ in range(trials(100, 1000)):
        n = int(rng.integers(3, 10))
        edges = np.array(random_graph(rng, n, rng.random() / 2))
        times = rng.integers(1, 4, len(edges))
        graph = nx.Graph()
        graph.add_weighted_edges_from(
            ((int(u), int(v), int(c)) for (u, v), c in zip(edges, times, strict=True)), weight="capacity"
        )
        most = int(rng.integers(1, 8))
        flow, side = capped_flow(*simple(n, compact(edges[:, 0]), compact(edges[:, 1]), times), 0, n - 1, most)
        assert flow == min(most, nx.maximum_flow_value(graph, 0, n - 1))
        if flow < most:
            assert side[0]
            assert not side[n - 1]
            assert times[side[edges[:, 0]] != side[edges[:, 1]]].sum() == flow


def test_regular_structures_where_searches_stall():
    """Tori and rings of cliques need many searches and flows; their rungs equal those by networkx's cuts."""
    torus = nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 5, periodic=True))
    ring = nx.ring_of_cliques(4, 5)
    rng = np.random.default_rng(13)
    for graph in (torus, ring):
        edges = sorted(tuple(sorted(edge)) for edge in graph.edges)
        weights = rng.integers(0, 30, len(edges)).tolist()
        below = WeightThresholds(len(graph), *np.array(edges).T, np.array(weights), 30)
        assert below.sensitivity_at_distance(0, 4).tolist() == oracle.threshold_ladder(
            edges, weights, len(graph), 30, 4
        )


# --- privacy -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "noise", "loss"),
    [
        (Smooth(), None, Loss(1.0)),
        (Smooth(), Cauchy(4), Loss(1.0)),
        (Smooth(), Laplace(), Loss(1.0, 1e-5)),
        (WorstCase(), Laplace(), Loss(0.5)),
    ],
    ids=["power law", "cauchy", "laplace", "worst case"],
)
def test_private_on_all_weightings_of_a_triangle_and_a_square(mechanism, noise, loss):
    """The exact divergence between all neighbours stays within the loss, and not within a loss 1.6 times smaller."""
    sharper_fails = False
    for edges, n in (([(0, 1), (0, 2), (1, 2)], 3), ([(0, 1), (0, 3), (1, 2), (2, 3)], 4)):
        values = (0, 1, 8)
        graphs = {w: weighted(edges, n, w, 8) for w in product(values, repeat=len(edges))}
        statistic = statistic_of(graphs[(0,) * len(edges)])
        prepared = mechanism.prepare(MechanismSpec(statistic, loss, noise))
        sharper = Loss(loss.epsilon / 1.6, loss.delta)
        # Mechanisms see values and ladders only: one pair of neighbours for each combination is enough.
        facts = {w: (statistic.value(graph), *rungs_of(graph, 3)) for w, graph in graphs.items()}
        neighbours = [
            (here, (*here[:i], v, *here[i + 1 :])) for here in graphs for i in range(len(edges)) for v in values
        ]
        for here, there in {(facts[here], facts[there]): (here, there) for here, there in neighbours}.values():
            for price in (loss, sharper):
                priced = replace(prepared, point=replace(prepared.point, loss=price))
                kept = within(noise_divergence(priced, graphs[here], graphs[there]), price)
                assert kept or price is sharper
                sharper_fails |= not kept
    assert sharper_fails


# --- the public face -----------------------------------------------------------------------------------


def complete(n, cap=100, seed=1):
    """A complete graph with small random weights under a large cap."""
    edges = list(combinations(range(n), 2))
    return weighted(edges, n, np.random.default_rng(seed).integers(0, 10, len(edges)), cap)


def test_releases_say_what_they_are():
    """Neighbours, mechanism, price and the public range; auto is smooth where the edges leave room."""
    release = dt.mst_cost(complete(12), epsilon=1.0)
    assert release.neighbours is Neighbours.WEIGHT
    assert (release.mechanism, release.loss, release.missing) == ("smooth", Loss(1.0), 100)
    assert 0 <= release.value <= 1100
    assert release.interval[0] <= release.value <= release.interval[1]
    cut = dt.min_cut(Graph(list(combinations(range(12), 2)), n=12), epsilon=1.0)
    assert (cut.neighbours, cut.mechanism) == (Neighbours.EDGE, "worst_case")
    assert 0 <= cut.value <= 11


@pytest.mark.sampled(1)
@pytest.mark.parametrize("mechanism", ["smooth", "ladder", "worst_case"])
@pytest.mark.parametrize("step", [None, 1])
def test_every_mechanism_answers(mechanism, step):
    """On whole and on finely cut weights, with and without a bar."""
    edges = list(combinations(range(12), 2))
    graph = Graph(edges, n=12, weights=np.linspace(0, 9, len(edges)), cap=100, step=step)
    for confidence in (None, 0.9):
        release = dt.mst_cost(graph, epsilon=1.0, mechanism=mechanism, confidence=confidence)
        assert 0 <= release.value <= 1100
        assert release.loss == Loss(1.0)


def test_auto_is_a_public_rule():
    """What auto means depends on the edges, never on the weights."""
    for n, first in ((4, "worst_case"), (8, "worst_case"), (9, "smooth"), (20, "smooth")):
        for seed in range(3):
            assert applicable(statistic_of(complete(n, seed=seed)))[0] == first


def test_smooth_answers_are_far_better_where_edges_abound():
    """On a dense graph with a large cap the smooth bound is a small part of the cap."""
    graph = complete(60, cap=100_000)
    assert dt.inspect.smooth(MSTCost(), graph, beta=0.3) < 100
    assert dt.inspect.ladder(MSTCost(), graph, rungs=3) == sorted(dt.inspect.ladder(MSTCost(), graph, rungs=3))


def test_real_weights_live_on_a_grid():
    """Float weights are rounded to the declared step; the answer is on the same grid."""
    edges = list(combinations(range(10), 2))
    graph = Graph(edges, n=10, weights=np.linspace(0, 1, 45), cap=1.0, step=0.25)
    assert dt.inspect.value(MSTCost(), graph) * 4 == int(dt.inspect.value(MSTCost(), graph) * 4)
    assert dt.mst_cost(graph, epsilon=1.0).value * 4 % 1 == 0


def test_weights_outside_are_clamped_and_missing_ones_are_the_cap():
    """As documented: below 0 is 0, above the cap and NaN are the cap."""
    edges = [(0, 1), (1, 2), (0, 2)]
    inside = Graph(edges, n=3, weights=[0.0, 8.0, 8.0], cap=8, step=1)
    outside = Graph(edges, n=3, weights=[-5.0, np.nan, 1e300], cap=8, step=1)
    for query in (MSTCost(), MSTCost(8), MSTCost(cap=8, step=1)):
        assert dt.inspect.value(query, inside) == dt.inspect.value(query, outside) == 8
        assert dt.inspect.ladder(query, inside) == dt.inspect.ladder(query, outside)


def test_a_query_may_lower_the_cap():
    """The query's cap overrides the graph's."""
    graph = weighted([(0, 1), (1, 2)], 3, [50, 3], 100)
    assert dt.inspect.value(MSTCost(), graph) == 53
    assert dt.inspect.value(MSTCost(cap=10), graph) == 13


def test_bridges_are_explained():
    """A vertex with a single edge, or a bridge, warns; edges in cycles do not."""
    pendant = weighted([(0, 1), (1, 2), (0, 2), (2, 3)], 4, [1, 2, 3, 4], 9)
    with pytest.warns(BridgeWarning, match=r"1 vertices have only one edge.*cap 9.*gains nothing"):
        dt.mst_cost(pendant, epsilon=1.0)
    two = nx.barbell_graph(4, 0)
    with pytest.warns(BridgeWarning, match="hangs on the rest by a single edge"):
        dt.inspect.value(MSTCost(), weighted(list(two.edges), 8, range(len(two.edges)), 20))
    assert rungs_of(pendant, 2) == [5, 9]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dt.mst_cost(complete(5), epsilon=1.0)


def test_progress_is_told():
    """Shares of the rungs asked for, up to 1; they start again if more rungs turn out to matter."""
    seen = []
    dt.mst_cost(complete(20), epsilon=1.0, progress=seen.append)
    assert all(0 < share <= 1 for share in seen)
    assert seen[-1] == 1.0


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: dt.mst_cost([(0, 1)], epsilon=1.0), "graph"),
        (lambda: dt.mst_cost(Graph([(0, 1)], n=2), epsilon=1.0), "graph"),
        (lambda: dt.mst_cost(Graph([(0, 1)], n=2, weights=[1]), epsilon=1.0), "cap"),
        (lambda: dt.mst_cost(complete(4), cap=-1, epsilon=1.0), "bounds"),
        (lambda: dt.mst_cost(complete(4), cap=0, epsilon=1.0), "bounds"),
        (lambda: dt.mst_cost(complete(4), step=0, epsilon=1.0), "step"),
        (lambda: dt.mst_cost(complete(4), epsilon=0), "epsilon"),
        (lambda: dt.mst_cost(Graph([], n=4, weights=[], cap=1), epsilon=1.0), "weights"),
        (lambda: dt.mst_cost(Graph([(0, 0)], n=4, weights=[1], cap=1), epsilon=1.0), "edges"),
        (lambda: dt.mst_cost(Graph([(0, -1)], n=4, weights=[1], cap=1), epsilon=1.0), "edges"),
        (lambda: dt.mst_cost(Graph([(0, 4)], n=4, weights=[1], cap=1), epsilon=1.0), "edges"),
        (lambda: dt.mst_cost(Graph([(0, 1), (1, 0)], n=4, weights=[1, 2], cap=1), epsilon=1.0), "edges"),
        (lambda: dt.mst_cost(Graph([(0, 1)], n=4, weights=[1, 2], cap=1), epsilon=1.0), "weights"),
        (lambda: dt.min_cut(complete(4), epsilon=1.0), "graph"),
        (lambda: dt.min_cut([(0, 1)], epsilon=1.0), "graph"),
        (lambda: dt.min_cut(Graph([], n=1), epsilon=1.0), "got 1"),
    ],
)
def test_bad_input_is_named(call, word):
    """Wrong graphs, caps, steps and prices give errors that name them."""
    with pytest.raises(DitherError, match=word):
        call()


def test_what_does_not_apply_is_refused():
    """A mechanism that trees do not offer, and a shape that is no weighted graph's."""
    with pytest.raises(NotApplicable, match="smooth"):
        dt.mst_cost(complete(12), epsilon=1.0, mechanism="inverse")
    with pytest.raises(InvalidArgument, match="weights"):
        MSTCost(cap=1).resolve(Graph([(0, 1)], n=2).shape)


def test_empty_graphs_have_a_minimum_cut_of_zero():
    """No edges, or several pieces: 0, and an answer all the same."""
    assert dt.inspect.value(MinCut(), Graph([], n=5)) == 0
    assert dt.inspect.value(MinCut(), Graph([(0, 1), (2, 3)], n=4)) == 0
    assert 0 <= dt.min_cut(Graph([], n=5), epsilon=1.0).value <= 4


def test_nothing_private_is_shown():
    """Reprs of what holds weights hide them."""
    hidden = WeightThresholds(2, np.array([0]), np.array([1]), np.array([77]), 100)
    assert "77" not in repr(hidden)
    assert "private" in repr(hidden)
