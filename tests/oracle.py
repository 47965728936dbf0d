"""Slow and obvious: what a first-year student would believe.  Every fast kernel is compared with these."""

import math
import re
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np


def padded(x, lo, hi):
    """Rank -> value of the sorted data, with the bounds beyond both ends."""
    ordered = sorted(x)

    def at(rank):
        if rank < 1:
            return lo
        if rank > len(ordered):
            return hi
        return ordered[rank - 1]

    return at


def local_sensitivity(f, x, values):
    """The largest change of f when one record of x is replaced by any possible value."""
    here = f(x)
    return max(abs(f((*x[:i], v, *x[i + 1 :])) - here) for i in range(len(x)) for v in values)


def exact_ladder(f, x, values, rungs):
    """max { LS(y) : d(x, y) <= k } for k = 0 .. rungs - 1, by looking at every dataset y."""
    best = [0] * rungs
    for y in product(values, repeat=len(x)):
        distance = sum(a != b for a, b in zip(x, y, strict=True))
        if distance < rungs:
            best[distance] = max(best[distance], local_sensitivity(f, y, values))
    for k in range(1, rungs):
        best[k] = max(best[k], best[k - 1])
    return best


def order_ladder(x, rank, lo, hi, rungs):
    """NRS11 Prop. 3.4 as printed, for any rank."""
    at = padded(x, lo, hi)
    return [max(at(rank + t) - at(rank + t - k - 1) for t in range(k + 2)) for k in range(rungs)]


def smooth_bound(ladder, beta):
    """max_k e^{-beta k} U_k over the rungs given."""
    return max(u * math.exp(-beta * k) for k, u in enumerate(ladder))


def inverse_cost(x, rank, z):
    """The least number of records to change before z is the order statistic of that rank.

    For the extreme ranks an answer already right counts like one that needs a single change.
    """
    below, at_most = sum(v < z for v in x), sum(v <= z for v in x)
    if below < rank <= at_most:
        return 1 if rank in (1, len(x)) else 0
    return rank - at_most if at_most < rank else below - rank + 1


def inverse_law(x, rank, lo, hi, rate):
    """The exponential mechanism on the whole grid lo..hi, point by point."""
    weight = {z: math.exp(-rate * inverse_cost(x, rank, z)) for z in range(lo, hi + 1)}
    total = sum(weight.values())
    return {z: w / total for z, w in weight.items()}


def widened_ties_law(x, rank, lo, hi, epsilon, width):
    """UNSOUND: every interval between neighbouring records is widened, overlaps add up (as some code does)."""
    at = padded(x, lo, hi)
    weight = dict.fromkeys(range(lo - width, hi + width + 1), 0.0)
    for i in range(len(x) + 1):
        for z in range(at(i) - width, at(i + 1) + width + 1):
            weight[z] += math.exp(-epsilon / 2 * max(rank - i, i - rank + 1))
    total = sum(weight.values())
    return {z: w / total for z, w in weight.items()}


def ladder_law(value, rungs, cap, lo, hi, rate, far=4000):
    """The ladder mechanism point by point: rung t holds U_{t-1} whole numbers on either side; answers are clamped."""
    weight = dict.fromkeys(range(lo, hi + 1), 0.0)
    weight[value] += 1.0
    distance = 0
    for t in range(1, far):
        width = rungs[t - 1] if t <= len(rungs) else cap
        for _ in range(width):
            distance += 1
            weight[max(value - distance, lo)] += math.exp(-rate * t)
            weight[min(value + distance, hi)] += math.exp(-rate * t)
    total = sum(weight.values())
    return {z: w / total for z, w in weight.items()}


def tail_quantile(rungs, cap, rate, tail, far=4000):
    """The least distance that the error of the ladder mechanism exceeds with probability at most ``tail``."""
    weights = [1.0]
    for t in range(1, far):
        weights += [2.0 * math.exp(-rate * t)] * (rungs[t - 1] if t <= len(rungs) else cap)
    total, beyond = math.fsum(weights), 0.0
    for distance in range(len(weights) - 1, -1, -1):
        if beyond + weights[distance] > tail * total:
            return distance
        beyond += weights[distance]
    return 0


def spanning_forests(edges, n):
    """All lightest-forest candidates: maximal sets of edges (by index) without a cycle."""

    def pieces(chosen):
        parent = list(range(n))

        def find(v):
            while parent[v] != v:
                v = parent[v]
            return v

        for i in chosen:
            a, b = (find(v) for v in edges[i])
            if a == b:
                return None
            parent[a] = b
        return sum(parent[v] == v for v in range(n))

    sizes = {chosen: pieces(chosen) for size in range(n) for chosen in combinations(range(len(edges)), size)}
    fewest = min(left for left in sizes.values() if left is not None)
    return [chosen for chosen, left in sizes.items() if left == fewest]


def all_tree_ladders(edges, n, values, rungs):
    """The cost of a lightest spanning forest at every weighting from ``values``, and its exact ladder there.

    Arrays with an axis for each edge.  A^(k) is the largest A^(k-1) within one more change.
    """
    weight = [np.array(values).reshape([-1 if i == j else 1 for j in range(len(edges))]) for i in range(len(edges))]
    shape = (len(values),) * len(edges)
    forests = spanning_forests(edges, n)
    costs = np.min([np.broadcast_to(sum(weight[i] for i in chosen), shape) for chosen in forests], axis=0)

    def widest(array, how):
        return [np.broadcast_to(how(array, axis=i, keepdims=True), shape) for i in range(len(edges))]

    rises = [most - costs for most in widest(costs, np.max)] + [costs - least for least in widest(costs, np.min)]
    ladders = [np.max(rises, axis=0)]
    for _ in range(rungs - 1):
        ladders.append(np.max(widest(ladders[-1], np.max), axis=0))
    return costs, ladders


def cut_ladder(edges, weights, n, cap, rungs):
    """NRS11 Equation 3, looking at every cut."""

    def at(cut, t):
        return cut[t - 1] if t <= len(cut) else cap

    cuts = [
        sorted(w for (u, v), w in zip(edges, weights, strict=True) if (side >> u ^ side >> v) & 1)
        for side in range(1, 2 ** (n - 1))
    ]
    return [max(max(at(c, k + 1), at(c, k + 2) - at(c, 1)) for c in cuts) for k in range(rungs)]


def threshold_ladder(edges, weights, n, cap, rungs):
    """The same by networkx: connectivity of every threshold graph, and between the ends of every edge."""
    import networkx as nx

    def below(w):
        graph = nx.Graph([edge for edge, weight in zip(edges, weights, strict=True) if weight <= w])
        graph.add_nodes_from(range(n))
        return graph

    graphs = {w: below(w) for w in sorted(set(weights))}
    connected = {w: nx.edge_connectivity(graph) for w, graph in graphs.items()}
    trees = {w: nx.gomory_hu_tree(unit(graph)) if nx.is_connected(graph) else None for w, graph in graphs.items()}

    def local(u, v, w):
        if trees[w] is None:
            return nx.edge_connectivity(graphs[w], u, v)
        path = nx.shortest_path(trees[w], u, v)
        return min(trees[w][a][b]["weight"] for a, b in pairwise(path))

    def least(enough):
        return min((w for w in graphs if enough(w)), default=cap)

    def rung(k):
        rises = [
            least(lambda w, u=u, v=v: local(u, v, w) >= k + 2) - weight
            for (u, v), weight in zip(edges, weights, strict=True)
        ]
        return max([least(lambda w: connected[w] >= k + 1), *rises])

    return [rung(k) for k in range(rungs)]


def unit(graph):
    """The graph with capacity 1 on every edge."""
    graph = graph.copy()
    for edge in graph.edges.values():
        edge["capacity"] = 1
    return graph


def medoid_cost(points, distance, answers, point):
    """The greatest (F(c) - F(c')) / d(c, c') over the other points, rounded up, in half changes."""

    def total(one):
        return sum(distance(one, answer) for answer in answers)

    falls = [Fraction(total(point) - total(other), distance(point, other)) for other in points if other != point]
    return max(0, *(math.ceil(fall) for fall in falls))


def centre_cost(points, distance, answers, point):
    """The least, over radii, of what is wrong with a radius, in half changes: docs/proofs/answer_spaces.md."""
    majority = len(answers) // 2 + 1
    radii = {0} | {distance(one, answer) for one in points for answer in answers}

    def wrong(radius):
        held = sum(distance(point, answer) <= radius for answer in answers)
        crowd = max(sum(distance(one, answer) < radius for answer in answers) for one in points)
        return max(0, majority - held, crowd - majority + 1)

    return 2 * min(wrong(radius) for radius in radii)


def exponential_law(costs, rate):
    """Probabilities proportional to e^(-rate cost)."""
    weights = [math.exp(-rate * cost) for cost in costs]
    return [weight / math.fsum(weights) for weight in weights]


def fields_of(line, delimiter):
    """The fields of a line of delimited text: quoted ones up to their closing quote, others up to the delimiter."""
    found, rest = [], line
    while True:
        quoted = re.match(r'"((?:[^"]|"")*)"', rest)
        if quoted:
            found.append(quoted.group(1).replace('""', '"'))
            rest = rest[quoted.end() :]
        else:
            found.append(rest.split(delimiter)[0])
        if delimiter not in rest:
            return found
        rest = rest.split(delimiter, 1)[1]
