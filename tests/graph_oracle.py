"""Graphs, slowly and obviously: what a first-year student would believe.  A graph is a set of pairs u < v."""

import math
from itertools import combinations

import numpy as np


def neighbourhoods(edges, n):
    """The set of neighbours of every vertex."""
    near = [set() for _ in range(n)]
    for u, v in edges:
        near[u].add(v)
        near[v].add(u)
    return near


def edge_count(edges, n):
    """Edges."""
    return len(edges)


def clique_count(edges, n, k):
    """Sets of k vertices with all their edges."""
    return sum(all(pair in edges for pair in combinations(some, 2)) for some in combinations(range(n), k))


def star_count(edges, n, k):
    """A centre and k of its neighbours."""
    return sum(math.comb(len(near), k) for near in neighbourhoods(edges, n))


def k_triangle_count(edges, n, k):
    """An edge and k triangles on it."""
    near = neighbourhoods(edges, n)
    return sum(math.comb(len(near[u] & near[v]), k) for u, v in edges)


def common(edges, n):
    """{pair: how many neighbours both have}."""
    near = neighbourhoods(edges, n)
    return {(u, v): len(near[u] & near[v]) for u, v in combinations(range(n), 2)}


def frontier(edges, n):
    """The pairs of (common neighbours, neighbours of exactly one) that no other pair beats in both."""
    near = neighbourhoods(edges, n)
    points = {(len(near[u] & near[v]), len((near[u] ^ near[v]) - {u, v})) for u, v in combinations(range(n), 2)}
    return sorted(p for p in points if not any(q != p and q[0] >= p[0] and q[1] >= p[1] for q in points))


def local_sensitivity(f, edges, n):
    """The largest change of f by one edge more or less."""
    here = f(edges, n)
    return max(abs(f(edges ^ {pair}, n) - here) for pair in combinations(range(n), 2))


def within(edges, degree):
    """The edges that are among the first ``degree``, in the order of pairs, at both of their vertices."""
    ordered = sorted(edges)
    first = {v: [e for e in ordered if v in e][:degree] for e in edges for v in e}
    return {e for e in edges if all(e in first[v] for v in e)}


def all_graphs(n):
    """Every graph on n vertices; graph number g has the pairs whose bits are set in g."""
    pairs = list(combinations(range(n), 2))
    return [frozenset(p for bit, p in enumerate(pairs) if number >> bit & 1) for number in range(1 << len(pairs))]


def all_ladders(f, n, rungs):
    """max { LS(H) : H within s edges of G } for every graph G (rows) and s = 0 .. rungs - 1, by looking at all."""
    graphs = all_graphs(n)
    numbers = np.arange(len(graphs))
    values = np.array([f(graph, n) for graph in graphs])
    flips = [numbers ^ (1 << bit) for bit in range(n * (n - 1) // 2)]
    ladder = [np.max([np.abs(values - values[flip]) for flip in flips], axis=0)]
    for _ in range(rungs - 1):
        ladder.append(np.max([ladder[-1], *(ladder[-1][flip] for flip in flips)], axis=0))
    return values, np.stack(ladder, axis=1)


def twelve():
    """Twelve vertices on which one edge lifts the local sensitivity of 3-triangles by 8, and that edge.

    0 and 1 share the neighbours 2 and 3; each of the four edges between them is on two triangles; no two vertices have
    more than two common neighbours.
    """
    edges, fresh = {(0, 2), (0, 3), (1, 2), (1, 3)}, 4
    for u, v in [(0, 2), (1, 2), (0, 3), (1, 3)]:
        for _ in range(2):
            edges |= {(u, fresh), (v, fresh)}
            fresh += 1
    return frozenset(edges), (2, 3)
