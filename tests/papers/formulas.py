"""Laws and enumerations that the oracles of several papers share; nothing here knows dither."""

import math
from itertools import combinations, product

import numpy as np

import graph_oracle


def mean_laplace(scale):
    """E|Z| of whole numbers with P(Z = k) proportional to e^(-|k| / scale)."""
    q = math.exp(-1 / scale)
    return 2 * q / (1 - q * q)


def laplace_reach(scale, missed):
    """The least r with P(|Z| > r) at most ``missed`` for the same law."""
    q = math.exp(-1 / scale)
    return max(0, math.ceil(math.log(missed * (1 + q) / 2) / math.log(q) - 1e-9) - 1)


def datasets(values, records):
    """All datasets of so many records."""
    return list(product(values, repeat=records))


def neighbours(x, values):
    """All datasets that differ from x in one record."""
    return [(*x[:i], value, *x[i + 1 :]) for i in range(len(x)) for value in values if value != x[i]]


def distance(a, b):
    """In how many records two datasets differ."""
    return sum(one != other for one, other in zip(a, b, strict=True))


def local_sensitivities(f, values, records):
    """The local sensitivity of f at every dataset."""
    return {x: max(abs(f(x) - f(y)) for y in neighbours(x, values)) for x in datasets(values, records)}


def smooth_sensitivity(f, x, values, beta):
    """NRS11 Definition 2.2, over all datasets."""
    local = local_sensitivities(f, values, len(x))
    return max(found * math.exp(-beta * distance(x, y)) for y, found in local.items())


def lightest_cut(edges, n, weights):
    """The least weight of a cut, over all cuts."""
    sides = [{v for v in range(n) if bits >> v & 1} for bits in range(1, 2 ** (n - 1))]
    return min(sum(w for (u, v), w in zip(edges, weights, strict=True) if (u in side) != (v in side)) for side in sides)


def complete(n):
    """The edges of the complete graph."""
    return list(combinations(range(n), 2))


def laplace_divergence(here, there, epsilon):
    """H_epsilon between two Laplace laws (value, scale), by a sum over a fine grid."""
    (f, s), (g, r) = here, there
    t = np.concatenate([np.linspace(f - 60 * s, f + 60 * s, 600_001), np.linspace(g - 60 * r, g + 60 * r, 600_001)])
    t = np.unique(t)
    p, q = (np.exp(-np.abs(t - at) / size) / (2 * size) for at, size in (here, there))
    return np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0), t)


def rung_formula(edges, n, rungs):
    """Claim 3.13: the local sensitivity of triangles at distance s, from a_ij and b_ij."""
    near = graph_oracle.neighbourhoods(edges, n)
    pairs = []
    for i, j in combinations(range(n), 2):
        both = len(near[i] & near[j])
        either = len((near[i] | near[j]) - {i, j}) - both
        pairs.append((both, either))
    return [float(max(min(a + (s + min(s, b)) // 2, n - 2) for a, b in pairs)) for s in range(rungs)]


def random_graph(n, p, seed):
    """G(n, p) as a list of edges."""
    chosen = np.random.default_rng(seed).random(n * (n - 1) // 2) < p
    return [edge for edge, there in zip(complete(n), chosen, strict=True) if there]
