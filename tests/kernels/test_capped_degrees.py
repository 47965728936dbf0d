"""Edges of limited degree: the flow against linear programs."""

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog

from dither.kernels.capped_degrees import capped_flow
from dither.sources.graph import Graph


def by_program(graph, cap):
    """Twice the largest sum of weights in [0, 1], at most ``cap`` at each vertex."""
    edges = graph.edges
    if not len(edges):
        return 0
    touches = np.zeros((graph.vertices, len(edges)))
    touches[edges[:, 0], np.arange(len(edges))] = touches[edges[:, 1], np.arange(len(edges))] = 1
    found = linprog(-np.ones(len(edges)), A_ub=touches, b_ub=np.full(graph.vertices, cap), bounds=(0, 1))
    assert abs(-2 * found.fun - round(-2 * found.fun)) < 1e-6
    return round(-2 * found.fun)


@pytest.mark.slow
def test_every_graph_with_up_to_six_vertices():
    """All of them up to renaming, under every limit."""
    for one in nx.graph_atlas_g():
        if 2 <= one.number_of_nodes() <= 6:
            graph = Graph.from_networkx(one)
            for cap in range(1, graph.vertices):
                assert capped_flow(graph.starts, graph.ends, cap) == by_program(graph, cap), (one.edges, cap)


@pytest.mark.parametrize("seed", range(12))
def test_larger_graphs(seed):
    """Even and skewed ones of forty vertices: paths of many steps."""
    rng = np.random.default_rng(seed)
    skew = 1 + seed % 3
    pairs = np.minimum((40 * rng.random((int(rng.integers(60, 400)), 2)) ** skew).astype(int), 39)
    graph = Graph(pairs, n=40)
    for cap in (1, 2, 3, 5, 8, 13):
        assert capped_flow(graph.starts, graph.ends, cap) == by_program(graph, cap)


def test_limits_rise_to_the_count():
    """A limit of the largest degree cuts nothing, one above it neither; a star loses all but the limit."""
    star = Graph([(0, k) for k in range(1, 50)], n=60)
    assert [capped_flow(star.starts, star.ends, cap) for cap in (1, 7, 49, 59)] == [2, 14, 98, 98]
    triangle = Graph([(0, 1), (1, 2), (0, 2)], n=3)
    assert capped_flow(triangle.starts, triangle.ends, 1) == 3
