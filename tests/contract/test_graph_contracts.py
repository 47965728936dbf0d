"""Every count in graphs, under contract: all graphs with 4 and 5 vertices, and neighbours of a few hundred."""

import functools
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

import graph_oracle as oracle
from conftest import trials
from contract.contracts import within
from dither.mechanisms.ladder import LadderMechanism
from dither.mechanisms.mechanism import MechanismSpec
from dither.mechanisms.smooth import Smooth
from dither.mechanisms.worst_case import WorstCase
from dither.noise.blunt_power_law import BluntPowerLaw
from dither.noise.gaussian import Gaussian
from dither.noise.heavy_tails import Cauchy, PowerLaw, Student
from dither.noise.laplace import Laplace
from dither.privacy import Loss
from dither.queries.graphs import Edges, KCliques, KStars, KTriangles, Triangles
from dither.queries.trees import MinCut
from dither.sources.graph import Graph
from dither_lab.audit.enumeration import largest_log_ratio, noise_divergence, output_law

RUNGS = 7


@functools.cache
def seen(query, n):
    """Value and rungs of every graph on n vertices."""
    statistic = query.resolve(small(n)[0].shape)
    return [
        (statistic.value(g), [int(u) for u in statistic.ladder(g).sensitivity_at_distance(0, 12)]) for g in small(n)
    ]


@functools.cache
def small(n):
    """Every graph on n vertices, as private data."""
    return [Graph(sorted(graph), n=n) for graph in oracle.all_graphs(n)]


def random_graphs(seed):
    """Sparse, clustered, skewed and dense graphs of up to a few hundred vertices, as sets of edges."""
    rng = np.random.default_rng(seed)

    def tidy(rows):
        return {(int(min(u, v)), int(max(u, v))) for u, v in rows if u != v}

    n = int(rng.integers(150, 400))
    yield n, tidy(rng.integers(0, n, (3 * n, 2)))
    hubs = np.minimum((n * rng.random((4 * n, 2)) ** 3).astype(int), n - 1)
    yield n, tidy(hubs)
    groups = [rng.choice(n, int(rng.integers(3, 14)), replace=False) for _ in range(n // 5)]
    yield n, tidy(pair for group in groups for pair in combinations(group, 2))
    yield 40, tidy(pair for pair in combinations(range(40), 2) if rng.random() < 0.6)


class GraphContract:
    """A count in graphs: value and ladder against complete enumeration; axioms on larger graphs."""

    query = None
    exact = True
    """Whether the ladder claims to be the exact one, not only a bound."""
    small_vertices = (4, 5)

    def count(self, edges, n):
        """The same number, obviously."""
        raise AssertionError("a contract needs a count")

    def rungs(self, graph, stop=RUNGS):
        """The first rungs."""
        return [int(u) for u in self.query.resolve(graph.shape).ladder(graph).sensitivity_at_distance(0, stop)]

    @pytest.mark.sampled(7)
    def test_values_and_ladders_against_enumeration(self):
        """On every graph with 4 and 5 vertices: the value, and every rung against all graphs within so many edges."""
        for n in self.small_vertices:
            values, ladders = oracle.all_ladders(self.count, n, RUNGS)
            statistic = self.query.resolve(small(n)[0].shape)
            for (ours_value, climbed), value, ladder in zip(seen(self.query, n), values, ladders, strict=True):
                ours = climbed[:RUNGS]
                assert ours_value == value
                assert ours == ladder.tolist() if self.exact else all(u >= t for u, t in zip(ours, ladder, strict=True))
                assert 0 <= value <= statistic.most
                assert ladder.max() <= statistic.global_sensitivity

    def test_the_cap_is_the_global_sensitivity(self):
        """The largest change on five vertices is the cap itself, and rungs end there."""
        n = self.small_vertices[-1]
        _, ladders = oracle.all_ladders(self.count, n, 11)
        statistic = self.query.resolve(small(n)[0].shape)
        assert ladders.max() == statistic.global_sensitivity
        assert max(self.rungs(small(n)[-1], 40)) == statistic.global_sensitivity

    def violations(self, shrink=1.0):
        """Where the axioms fail on all neighbours with five vertices, with rungs made smaller by a factor."""
        n = self.small_vertices[-1]
        values = [value for value, _ in seen(self.query, n)]
        rungs = [[int(u * shrink) for u in climbed] for _, climbed in seen(self.query, n)]
        return [
            (here, there)
            for here in range(len(values))
            for bit in range(n * (n - 1) // 2)
            for there in (here ^ (1 << bit),)
            if abs(values[here] - values[there]) > rungs[here][0]
            or any(u > v for u, v in zip(rungs[here], rungs[there][1:], strict=False))
        ]

    def test_ladder_axioms_on_a_whole_universe(self):
        """Rung 0 covers one edge, and neighbours differ by at most one rung."""
        assert self.violations() == []

    def test_the_axiom_check_can_fail(self):
        """Rungs shrunk to 70% violate the axioms somewhere."""
        assert self.violations(0.7)

    @pytest.mark.sampled(3)
    @pytest.mark.parametrize("seed", range(trials(2, 12)))
    def test_ladder_axioms_on_neighbours_of_hundreds_of_vertices(self, seed):
        """The same on random graphs, with edges changed at random and where most is at stake."""
        rng = np.random.default_rng(100 + seed)
        for n, edges in random_graphs(seed):
            shared = oracle.common(edges, n)
            busiest = sorted(shared, key=shared.get)[-3:]
            chosen = [tuple(sorted(int(v) for v in rng.choice(n, 2, replace=False))) for _ in range(3)]
            here = Graph(sorted(edges), n=n)
            statistic = self.query.resolve(here.shape)
            value, rungs = statistic.value(here), self.rungs(here, 40)
            assert rungs == sorted(rungs)
            assert n > 40 or value == self.count(edges, n)
            for pair in [*busiest, *chosen, *sorted(edges)[:2]]:
                there = Graph(sorted(edges ^ {pair}), n=n)
                others = self.rungs(there, 40)
                assert abs(value - statistic.value(there)) <= min(rungs[0], others[0])
                assert all(u <= v for u, v in zip(rungs, others[1:], strict=False))
                assert all(u <= v for u, v in zip(others, rungs[1:], strict=False))

    @pytest.mark.sampled(4)
    @pytest.mark.parametrize("loss", [Loss(0.5), Loss(2.0)][: trials(1, 2)], ids=str)
    def test_calibrations_are_private_on_small_graphs(self, loss):
        """The exact divergence between the outputs of all neighbours with four vertices stays within the loss."""
        n, light = self.small_vertices[0], Loss(loss.epsilon, 1e-4)
        graphs, shape = small(n), small(n)[0].shape
        statistic = self.query.resolve(shape)
        asked = [(Smooth(), law, loss) for law in (None, BluntPowerLaw(4), PowerLaw(4), Cauchy(4), Student(3))]
        asked += [(Smooth(), law, light) for law in (Laplace(), Gaussian())]
        asked += [(WorstCase(), law, loss) for law in (None, PowerLaw())] + [(WorstCase(), Gaussian(), light)]
        pairs = self.different_pairs(n)
        for mechanism, law, price in asked:
            prepared = mechanism.prepare(MechanismSpec(statistic, price, law))
            for here, there in pairs:
                assert within(noise_divergence(prepared, graphs[here], graphs[there]), price), (mechanism, law)
        drawn = LadderMechanism().prepare(MechanismSpec(statistic, loss))
        laws = {index: output_law(drawn, graphs[index]) for pair in pairs for index in pair}
        worst = max(largest_log_ratio(laws[here], laws[there]) for here, there in pairs)
        assert worst <= loss.epsilon * (1 + 1e-12)

    def different_pairs(self, n):
        """Pairs of neighbours, one for every combination of values and ladders: mechanisms see nothing else."""
        facts = [(value, *rungs) for value, rungs in seen(self.query, n)]
        pairs = [(here, here ^ (1 << bit)) for here in range(len(facts)) for bit in range(n * (n - 1) // 2)]
        return list({(facts[here], facts[there]): (here, there) for here, there in pairs}.values())


class TestEdges(GraphContract):
    query = Edges()

    def count(self, edges, n):
        return oracle.edge_count(edges, n)


class TestTriangles(GraphContract):
    query = Triangles()

    def count(self, edges, n):
        return oracle.clique_count(edges, n, 3)


class TestTwoStars(GraphContract):
    query = KStars(2)

    def count(self, edges, n):
        return oracle.star_count(edges, n, 2)


class TestThreeStars(GraphContract):
    query = KStars(3)

    def count(self, edges, n):
        return oracle.star_count(edges, n, 3)


class TestOneStars(GraphContract):
    query = KStars(1)

    def count(self, edges, n):
        return oracle.star_count(edges, n, 1)


class TestTwoTriangles(GraphContract):
    query = KTriangles(2)
    exact = False

    def count(self, edges, n):
        return oracle.k_triangle_count(edges, n, 2)


class TestThreeTriangles(GraphContract):
    query = KTriangles(3)
    exact = False
    small_vertices = (5,)

    def count(self, edges, n):
        return oracle.k_triangle_count(edges, n, 3)


class TestOneTriangles(GraphContract):
    query = KTriangles(1)
    exact = False

    def count(self, edges, n):
        return oracle.k_triangle_count(edges, n, 1)


class TestFourCliques(GraphContract):
    query = KCliques(4)
    exact = False

    def count(self, edges, n):
        return oracle.clique_count(edges, n, 4)


class TestFiveCliques(GraphContract):
    query = KCliques(5)
    exact = False
    small_vertices = (5,)

    def count(self, edges, n):
        return oracle.clique_count(edges, n, 5)


class TestMinCut(GraphContract):
    query = MinCut()
    exact = False

    def count(self, edges, n):
        graph = nx.Graph(list(edges))
        graph.add_nodes_from(range(n))
        return nx.edge_connectivity(graph)


class Bounded(GraphContract):
    """Counts on the edges within the first D: a flat ladder."""

    exact = False

    def test_the_cap_is_the_global_sensitivity(self):
        """No change on five vertices exceeds the global sensitivity; see tests/statistics/test_graphs.py."""
        _, ladders = oracle.all_ladders(self.count, 5, 1)
        assert ladders.max() <= self.query.resolve(small(5)[0].shape).global_sensitivity


class TestEdgesOfBoundedDegree(Bounded):
    query = Edges(max_degree=2)

    def count(self, edges, n):
        return len(oracle.within(edges, 2))


class TestTrianglesOfBoundedDegree(Bounded):
    query = Triangles(max_degree=2)

    def count(self, edges, n):
        return oracle.clique_count(oracle.within(edges, 2), n, 3)

    def test_the_axiom_check_can_fail(self):
        """A cap of a quarter would be exceeded on five vertices (the very worst pairs need more of them)."""
        assert self.violations(0.49)


class TestStarsOfBoundedDegree(Bounded):
    query = KStars(2, max_degree=2)

    def count(self, edges, n):
        return oracle.star_count(oracle.within(edges, 2), n, 2)


class TestTwoTrianglesOfBoundedDegree(Bounded):
    query = KTriangles(2, max_degree=3)

    def count(self, edges, n):
        return oracle.k_triangle_count(oracle.within(edges, 3), n, 2)

    def test_the_axiom_check_can_fail(self):
        """The very worst pairs need eight vertices (tests/statistics/test_graphs.py)."""
        assert self.violations(0.49)


class TestFourCliquesOfBoundedDegree(Bounded):
    query = KCliques(4, max_degree=3)

    def count(self, edges, n):
        return oracle.clique_count(oracle.within(edges, 3), n, 4)

    def test_the_axiom_check_can_fail(self):
        """The very worst pairs need eight vertices (tests/statistics/test_graphs.py)."""
        assert self.violations(0.49)
