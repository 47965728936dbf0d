"""Quantiles: JointExp (Gillenwater, Joseph, Kulesza, ICML 2021), SliceQuantiles (Imola and others, NeurIPS 2025).

Both for a changed record.  Intervals between neighbouring records, bounds included, are numbered from 0: an output in
interval i has i records below it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.special import gammaln, logsumexp

Floats = NDArray[np.float64]
NEGLIGIBLE = 200.0
"""Outputs that share an interval weigh e^-200 of others or less: beyond all differences of lengths, so left out."""


def _edges(records: Floats, bounds: tuple[float, float]) -> Floats:
    low, high = bounds
    return np.concatenate([[low], np.sort(np.clip(records, low, high)), [high]])


def _log_lengths(edges: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        lengths: Floats = np.log(np.diff(edges))
    return lengths


def _pick(log_weights: Floats, rng: np.random.Generator) -> int:
    weights = np.exp(log_weights - log_weights.max())
    total = np.cumsum(weights)
    return int(np.searchsorted(total, rng.random() * total[-1], side="right"))


class JointExp:
    """All quantiles by one exponential draw, written from the code that its authors published (dp_multiq).

    Ordered outputs have density proportional to exp(-(epsilon/4) sum |n_j - t_j|), n_j the records between output j and
    the next, t_j the number wanted: a changed record moves the sum by at most 2.  The sum over all of them is taken
    output by output; runs of outputs in one interval have the volume (length)^k / k!.
    """

    def __init__(
        self, records: Floats, quantiles: Sequence[float], *, bounds: tuple[float, float], epsilon: float
    ) -> None:
        self._edges = _edges(records, bounds)
        self._lengths = _log_lengths(self._edges)
        self._rate = epsilon / 4.0
        self._wanted = np.diff([0.0, *quantiles, 1.0]) * len(records)
        self._starts: list[Floats] = [self._cost(0, np.arange(len(records) + 1.0))]
        self._ends: list[Floats] = []
        for number in range(len(quantiles)):
            if number:
                self._starts.append(self._carried(number))
            self._ends.append(logsumexp(self._runs(number), axis=0))

    def _cost(self, number: int, gaps: Floats) -> Floats:
        """The logarithm of the weight of gaps before output ``number``."""
        costs: Floats = -self._rate * np.abs(gaps - self._wanted[number])
        return costs

    def _runs(self, last: int, places: slice = slice(None)) -> Floats:
        """Log weights of outputs up to ``last``, the run that ends with it in one interval: by its size and place."""
        lengths, rows, within = self._lengths[places], [], 0.0
        for size in range(1, last + 2):
            rows.append(self._starts[last - size + 1][places] + size * lengths + within - gammaln(size + 1.0))
            within -= self._rate * self._wanted[last - size + 1]
            if within < -NEGLIGIBLE:
                break
        return np.array(rows)

    def _carried(self, number: int) -> Floats:
        """Log weights of all outputs before ``number`` and the gap to it, by its interval, which is a later one.

        The weight of a gap g is e^(-r (t-g)) up to t and e^(-r (g-t)) beyond: two filters of one term each.
        """
        before, rate, wanted = self._ends[number - 1], self._rate, float(self._wanted[number])
        top, size = before.max(), len(before)
        weights, whole, fall = np.exp(before - top), min(int(wanted), size), math.exp(-rate)
        long = np.zeros(size)
        long[whole + 1 :] = weights[: max(0, size - whole - 1)] * math.exp(-rate * (whole + 1 - wanted))
        short = np.zeros(size + whole)
        short[whole:] = weights
        short[:size] -= math.exp(-rate * whole) * weights
        near = lfilter([1.0], [1.0, -fall], short[::-1])[::-1][:size] * math.exp(-rate * (wanted - whole))
        carried = np.maximum(lfilter([1.0], [1.0, -fall], long) + near, 0.0)
        carried[0] = 0.0
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(carried) + top
        return logs

    def _gap_after(self, last: int, after: int | None) -> Floats:
        """Log weights of the gap between output ``last`` and what comes after it, by the interval of the former."""
        records = len(self._lengths) - 1
        limit, place = (records + 1, records) if after is None else (after, after)
        return self._cost(last + 1, place - np.arange(float(limit)))

    def run_weights(self, last: int, after: int | None) -> Floats:
        """Log weights of the run of outputs in one interval that ends with ``last``, by its size and its interval.

        ``after`` is the interval of the next output, a later one; None if there is none.
        """
        gap = self._gap_after(last, after)
        return self._runs(last, slice(0, len(gap))) + gap

    def draw(self, rng: np.random.Generator) -> Floats:
        """All outputs in order; a run is drawn by its interval, then by its size."""
        outputs = np.empty(len(self._ends))
        last, after = len(outputs) - 1, None
        while last >= 0:
            gap = self._gap_after(last, after)
            place = _pick(self._ends[last][: len(gap)] + gap, rng)
            size = 1 + _pick(self._runs(last, slice(place, place + 1))[:, 0], rng)
            low, high = self._edges[place : place + 2]
            outputs[last - size + 1 : last + 1] = np.sort(rng.uniform(low, high, size))
            last, after = last - size, place
        return outputs


@dataclass(frozen=True)
class RankNoise:
    """Noise of a tree of counters, for ranks that one record moves by one from some quantile on.

    A prefix of the leaves is half of: all, less what is right of the path to its last leaf, plus what is left of it and
    that leaf.  A record counts in one node of every level, each time by a half.
    """

    leaves: int
    arity: int
    levels: int
    scale: float

    @classmethod
    def planned(cls, leaves: int, epsilon: float) -> RankNoise:
        """With the arity whose variance is least."""
        trees = []
        for arity in range(2, max(leaves, 2) + 1):
            levels = next(level for level in range(1, leaves + 1) if arity**level >= leaves)
            trees.append(cls(leaves, arity, levels, (levels + 1) / (2.0 * epsilon)))
        return min(trees, key=lambda tree: tree.terms * tree.scale**2)

    @property
    def terms(self) -> int:
        """How many draws are added up at most."""
        return 2 + self.levels * (self.arity - 1)

    def signs(self) -> NDArray[np.int8]:
        """Of every node (columns: level by level) in every prefix (rows)."""
        columns = []
        ends = np.arange(self.leaves)
        for level in range(self.levels + 1):
            size = self.arity ** (self.levels - level)
            nodes, path = np.arange(self.arity**level), ends // size
            siblings = nodes // self.arity == path[:, None] // self.arity if level else nodes == path[:, None]
            sign = np.sign(path[:, None] - nodes) * siblings
            own = (nodes == path[:, None]) if level in (0, self.levels) else np.zeros_like(sign, dtype=bool)
            columns.append(sign + own)
        table: NDArray[np.int8] = np.concatenate(columns, axis=1).astype(np.int8)
        return table

    def draw(self, rng: np.random.Generator) -> Floats:
        """Noise for the rank of every quantile."""
        signs = self.signs()
        return np.asarray(signs @ rng.laplace(0.0, self.scale, signs.shape[1]), dtype=np.float64)

    def bound(self, miss: float) -> float:
        """What no rank's noise exceeds but with probability ``miss`` (Chernoff, and a sum over all ranks)."""
        shares = np.linspace(0.001, 0.999, 999)
        logs = -self.terms * np.log1p(-(shares**2)) + math.log(2.0 * self.leaves / miss)
        return float(np.min(logs * self.scale / shares))


class SliceQuantiles:
    """Noisy ranks, then one exponential draw among the records around each: slices of 2h + 1 records.

    **No anchor**: of the paper (arXiv 2505.13662) only the beginning could be read; written from the code that its
    authors published, with its shares of epsilon (a quarter for the ranks, a sixth for the draws) and its h.  Three
    things are not as in that code: nodes of the tree have noise of their own, which is drawn anew for every answer and
    not whole-numbered (a record moves nodes by halves), and delta is divided by what that code multiplies it by.

    Guarantee  (epsilon, delta)-DP for a changed record, where slices are disjoint but with a small probability.
    """

    MISS = 0.05
    """The chance with which an output may lie outside its slice."""

    def __init__(
        self,
        records: Floats,
        quantiles: Sequence[float],
        *,
        bounds: tuple[float, float],
        grid: float,
        epsilon: float,
        delta: float,
    ) -> None:
        reason = self.refusal(len(records), len(quantiles), bounds=bounds, grid=grid, epsilon=epsilon, delta=delta)
        if reason is not None:
            raise ValueError(reason)
        self._bounds, self._rate = bounds, epsilon / 12.0
        self._half, self._noise = self._plan(len(quantiles), bounds, grid, epsilon)
        self._records = np.sort(np.clip(records, *bounds))
        self._ranks = np.floor(np.array(quantiles) * len(records))

    @classmethod
    def _plan(cls, quantiles: int, bounds: tuple[float, float], grid: float, epsilon: float) -> tuple[int, RankNoise]:
        half = math.ceil(12.0 / epsilon * math.log(2.0 * quantiles * (bounds[1] - bounds[0]) / (grid * cls.MISS)))
        return half, RankNoise.planned(quantiles, epsilon / 4.0)

    @classmethod
    def refusal(
        cls, records: int, quantiles: int, *, bounds: tuple[float, float], grid: float, epsilon: float, delta: float
    ) -> str | None:
        """Why evenly spaced quantiles can't be had with this delta; None if they can."""
        half, noise = cls._plan(quantiles, bounds, grid, epsilon)
        needed = 2.0 * (half + noise.bound(delta / (1.0 + math.exp(epsilon / 4.0 + epsilon / 3.0))))
        gap = records // (quantiles + 1)
        if needed < gap:
            return None
        return f"its slices must be disjoint: {gap:,} records between quantiles, {math.ceil(needed):,} needed"

    def draw(self, rng: np.random.Generator) -> Floats:
        """The middle quantile first, then those on either side within what it leaves."""
        ranks = np.rint(self._ranks + self._noise.draw(rng)).astype(int)
        outputs = np.empty(len(ranks))
        parts = [(0, len(ranks), self._bounds)]
        while parts:
            first, last, (low, high) = parts.pop()
            if first == last:
                continue
            middle = (first + last) // 2
            start = max(int(ranks[middle]) - self._half, 0)
            edges = _edges(self._records[start : max(int(ranks[middle]) + self._half + 1, 0)], (low, high))
            count = len(edges) - 2
            place = _pick(_log_lengths(edges) - self._rate * np.abs(np.arange(count + 1.0) - count / 2.0), rng)
            outputs[middle] = rng.uniform(*edges[place : place + 2])
            parts += [(first, middle, (low, outputs[middle])), (middle + 1, last, (outputs[middle], high))]
        return outputs
