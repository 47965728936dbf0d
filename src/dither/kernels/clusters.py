"""Clusterings of many small blocks of points, and how far sets of centres are apart.

A block's clustering is a function of that block alone: plain loops over IEEE floats in a fixed order, a fixed number of
rounds, and starts that are drawn from a public sequence.  That is all that privacy asks of it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dither.kernels.compiled import compiled

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

STARTS = 12
"""Clusterings that are tried for each block; the one of least cost is kept."""
ROUNDS = 12
"""Lloyd's steps for each start: always as many."""
MIXTURE_ROUNDS = 25
FAR = np.iinfo(np.int64).max


@compiled(error_model="numpy")
def _uniform(state: np.uint64) -> tuple[np.uint64, float]:
    """The next number of a public sequence (splitmix64), in [0, 1)."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    mixed = state
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed = mixed ^ (mixed >> np.uint64(31))
    return state, float(mixed >> np.uint64(11)) / 9007199254740992.0


@compiled(error_model="numpy")
def _squared(numbers: Floats, other: Floats) -> float:
    total = 0.0
    for j in range(len(numbers)):
        apart = numbers[j] - other[j]
        total += apart * apart
    return total


@compiled(error_model="numpy")
def _seeded(points: Floats, weights: Floats, k: int, state: np.uint64, centres: Floats) -> np.uint64:
    """k-means++: each further centre is a point, likelier where no centre is near."""
    n = len(points)
    nearest = np.full(n, np.inf)
    for c in range(k):
        state, share = _uniform(state)
        total = 0.0
        for i in range(n):
            total += weights[i] if c == 0 else weights[i] * nearest[i]
        left, chosen = share * total, n - 1
        for i in range(n):
            left -= weights[i] if c == 0 else weights[i] * nearest[i]
            if left < 0.0:
                chosen = i
                break
        centres[c] = points[chosen]
        for i in range(n):
            nearest[i] = min(nearest[i], _squared(points[i], centres[c]))
    return state


@compiled(error_model="numpy")
def _lloyd(points: Floats, weights: Floats, centres: Floats) -> float:
    """One of Lloyd's steps in place; returns the cost before it.  A centre without points stays."""
    k, width = centres.shape
    sums, counts, cost = np.zeros((k, width)), np.zeros(k), 0.0
    for i in range(len(points)):
        best, least = 0, np.inf
        for c in range(k):
            apart = _squared(points[i], centres[c])
            if apart < least:
                best, least = c, apart
        cost += weights[i] * least
        counts[best] += weights[i]
        for j in range(width):
            sums[best, j] += weights[i] * points[i, j]
    for c in range(k):
        if counts[c] > 0.0:
            for j in range(width):
                centres[c, j] = sums[c, j] / counts[c]
    return cost


@compiled(error_model="numpy")
def kmeans(points: Floats, weights: Floats, k: int, starts: int = STARTS, rounds: int = ROUNDS) -> Floats:
    """The best of several runs of Lloyd's algorithm on weighted points."""
    best, least = np.zeros((k, points.shape[1])), np.inf
    centres = np.zeros((k, points.shape[1]))
    state = np.uint64(20250101)
    for _ in range(starts):
        state = _seeded(points, weights, k, state, centres)
        cost = np.inf
        for _ in range(rounds):
            cost = _lloyd(points, weights, centres)
        if cost < least:
            least = cost
            best[:] = centres
    return best


@compiled(error_model="numpy")
def _shared(points: Floats, centres: Floats, shares: Floats, variances: Floats, part: Floats) -> None:
    """How much of each point belongs to each component."""
    k, width = centres.shape
    for i in range(len(points)):
        top = -np.inf
        for c in range(k):
            part[i, c] = (
                math.log(max(shares[c], 1e-12))
                - 0.5 * width * math.log(variances[c])
                - 0.5 * _squared(points[i], centres[c]) / variances[c]
            )
            top = max(top, part[i, c])
        total = 0.0
        for c in range(k):
            part[i, c] = math.exp(part[i, c] - top)
            total += part[i, c]
        for c in range(k):
            part[i, c] /= total


@compiled(error_model="numpy")
def _fitted(points: Floats, part: Floats, centre: Floats, least_variance: float) -> tuple[float, float]:
    """Move a component to the mean of its parts; returns its share and variance, a share of -1 if it has no parts."""
    n, width = points.shape
    mass = 0.0
    for i in range(n):
        mass += part[i]
    if mass < 1e-9:
        return -1.0, least_variance
    for j in range(width):
        total = 0.0
        for i in range(n):
            total += part[i] * points[i, j]
        centre[j] = total / mass
    total = 0.0
    for i in range(n):
        total += part[i] * _squared(points[i], centre)
    return mass / n, max(total / (mass * width), least_variance)


@compiled(error_model="numpy")
def mixture(points: Floats, k: int, least_sd: float) -> Floats:
    """Centres and standard deviations of k spherical Gaussians: expectation-maximisation from the best k-means."""
    n, width = points.shape
    centres = kmeans(points, np.ones(n), k)
    spread, part = 0.0, np.zeros((n, k))
    for i in range(n):
        least = np.inf
        for c in range(k):
            least = min(least, _squared(points[i], centres[c]))
        spread += least
    shares = np.full(k, 1.0 / k)
    variances = np.full(k, max(spread / (n * width), least_sd * least_sd))
    for _ in range(MIXTURE_ROUNDS):
        _shared(points, centres, shares, variances, part)
        for c in range(k):
            share, variance = _fitted(points, part[:, c], centres[c], least_sd * least_sd)
            if share >= 0.0:
                shares[c], variances[c] = share, variance
    results = np.empty((k, width + 1))
    results[:, :width] = centres
    results[:, width] = np.sqrt(variances)
    return results


@compiled(error_model="numpy")
def clustered_blocks(points: Floats, order: Whole, blocks: int, k: int, least_sd: float) -> Floats:
    """k centres for every block of consecutive entries of ``order``, or centres and standard deviations.

    ``least_sd`` is zero for k-means and the least standard deviation that a component may have for mixtures.
    """
    size, width = len(order) // blocks, points.shape[1]
    results = np.zeros((blocks, k, width + (1 if least_sd > 0.0 else 0)))
    ones = np.ones(size)
    for b in range(blocks):
        block = np.empty((size, width))
        for i in range(size):
            block[i] = points[order[b * size + i]]
        if least_sd > 0.0:
            results[b] = mixture(block, k, least_sd)
        else:
            results[b] = kmeans(block, ones, k)
    return results


@compiled()
def matched_costs(sets: Whole) -> Whole:
    """For every two sets the larger of the two sums, over the points of one, of squares to the nearest of the other.

    Where the points of both sets are far apart against this number it is the square of their matching distance.
    """
    m, k, width = sets.shape
    costs, nearest = np.zeros((m, m), dtype=np.int64), np.empty(k, dtype=np.int64)
    for i in range(m):
        for j in range(i):
            nearest[:] = FAR
            there = 0
            for a in range(k):
                least = FAR
                for b in range(k):
                    total = 0
                    for c in range(width):
                        apart = sets[i, a, c] - sets[j, b, c]
                        total += apart * apart
                    least = min(least, total)
                    nearest[b] = min(nearest[b], total)
                there += least
            costs[i, j] = costs[j, i] = max(there, nearest.sum())
    return costs


@compiled()
def separations(sets: Whole) -> Whole:
    """The least squared distance between two points of each set; the greatest number for sets of one point."""
    m, k, width = sets.shape
    results = np.full(m, FAR)
    for i in range(m):
        for a in range(k):
            for b in range(a):
                total = 0
                for c in range(width):
                    apart = sets[i, a, c] - sets[i, b, c]
                    total += apart * apart
                results[i] = min(results[i], total)
    return results


@compiled()
def aligned(sets: Whole, reference: Whole) -> Whole:
    """Each set with its points in the order of the reference: the nearest one for each point of the reference."""
    m, k, width = sets.shape
    results = np.empty_like(sets)
    for i in range(m):
        for a in range(k):
            best, least = 0, FAR
            for b in range(k):
                total = 0
                for c in range(width):
                    apart = sets[i, b, c] - reference[a, c]
                    total += apart * apart
                if total < least:
                    best, least = b, total
            results[i, a] = sets[i, best]
    return results
