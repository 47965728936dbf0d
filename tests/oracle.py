"""Slow and obvious: what a first-year student would believe.  Every fast kernel is compared with these."""

import math
from itertools import product


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
