"""How connected a weighted graph is below each weight: the numbers behind the ladder of spanning trees.

For a cut S let ``w_t(S)`` be its t-th lightest edge, or the cap if it has fewer.  Two maxima over all cuts are wanted:
``max_S w_t(S)``, the least threshold below which the graph is t-connected, and ``max_S w_t(S) - w_1(S)``.  Both are
found from below: a cut that is known raises the bound, and a bound is final once contraction has shown that no cut
exceeds it (docs/proofs/trees.md, sections 3 and 4).  No number here depends on the order of equal weights.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from dither.kernels.cuts import (
    Whole,
    capped_flow,
    classes_joined,
    compact,
    connected_classes,
    contracted,
    crossing_weights,
    degrees,
    pack_forests,
    relabelled,
    simple,
)
from dither.kernels.progress import report

ALONE = 1_000_000
"""With fewer edges times rungs, starting a second core takes longer than it saves."""


class WeightThresholds:
    """A connected graph with whole weights from 0 to a cap, looked at below every weight."""

    def __init__(self, count: int, a: Whole, b: Whole, weights: Whole, cap: int) -> None:
        order = np.argsort(weights, kind="stable")
        self.count = count
        self.cap = cap
        self._a, self._b = compact(a[order]), compact(b[order])
        self._weights = np.ascontiguousarray(weights[order], dtype=np.int64)
        self._pack(1)
        tree = self._forest == 0
        self.tree = (self._a[tree], self._b[tree], self._weights[tree])
        """The edges of a lightest spanning tree, by rising weight."""
        self._raised: dict[int, int] = {}
        self._known: list[int] = []

    def __repr__(self) -> str:
        return "WeightThresholds(<private>)"

    def _pack(self, forests: int) -> None:
        """Keep only edges that some of the ``forests`` lightest forests use."""
        self.forests = forests
        self._forest = pack_forests(self.count, self._a, self._b, forests)

    def cost(self) -> int:
        """The weight of a lightest spanning tree."""
        return sum(self.tree[2].tolist())

    def sensitivity_at_distance(self, start: int, stop: int) -> NDArray[np.int64]:
        """``max(max_S w_{k+1}(S), max_S w_{k+2}(S) - w_1(S))`` for k = start .. stop - 1."""
        if stop + 1 > self.forests:
            self._pack(stop + 1)
        wanted = range(len(self._known), stop)
        if len(wanted) * len(self._a) < ALONE:
            self._append(map(self._at_distance, wanted), stop)
        else:
            # Rungs are independent of each other but for the thresholds, which are so too.
            with ThreadPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
                list(pool.map(self.least_threshold, range(wanted.start + 1, stop + 2)))
                self._append(pool.map(self._at_distance, wanted), stop)
        return np.array(self._known[start:stop], dtype=np.int64)

    def _append(self, result: Iterable[int], stop: int) -> None:
        for sensitivity in result:
            self._known.append(sensitivity)
            report(len(self._known) / stop)

    def _at_distance(self, k: int) -> int:
        least = self.least_threshold(k + 1)
        if least >= self.cap:
            return self.cap
        return self.greatest_rise(k + 2, least)

    def least_threshold(self, order: int) -> int:
        """``max_S w_order(S)``: the least weight below which the graph is so connected; the cap if it never is."""
        if order < 1:
            return 0
        if order not in self._raised:
            self._raised[order] = min(self._least_threshold(order), self.cap)
        return self._raised[order]

    def _least_threshold(self, order: int) -> int:
        if order == 1:
            return int(self.tree[2][-1])
        below = Below(self, order)
        threshold = self._raised.get(order - 1, 0)
        while True:
            # Every class is a cut: the graph is not ``order``-connected below the cut's own threshold.
            threshold = max(threshold, int(below.crossing()[1].max()))
            if threshold >= self.cap:
                return self.cap
            below.admit(threshold)
            while below.graph.vertices > 1 and below.least_degree() >= order:
                below.search()
            if below.graph.vertices == 1:
                return threshold

    def greatest_rise(self, order: int, rise: int = 0) -> int:
        """``max(rise, max_S w_order(S) - w_1(S))``.

        A cut whose rise is greater separates the ends of an edge e of the spanning tree, its lightest one, and these
        are not ``order``-connected below ``rise + w(e)``.  So tree edges are contracted by rising weight.
        """
        everything = self.least_threshold(order)
        below = Below(self, order)
        a, b, weights = self.tree
        place = 0
        while True:
            lightest, highest = below.crossing()
            rise = max(rise, int((highest - lightest).max()))
            while place < len(a) and below.labels[a[place]] == below.labels[b[place]]:
                place += 1
            if place == len(a) or rise + int(weights[place]) >= everything:
                return rise
            below.admit(rise + int(weights[place]))
            if below.graph.vertices > 1 and not below.search():
                rise = max(rise, below.divide(int(a[place]), int(b[place])))


class Below:
    """The graph below a rising threshold, with vertices contracted that are ``order``-connected there."""

    def __init__(self, whole: WeightThresholds, order: int) -> None:
        kept = whole._forest < order
        self._a, self._b, self._weights = whole._a[kept], whole._b[kept], whole._weights[kept]
        self._last = whole._forest[kept] == order - 1
        self._cap = whole.cap
        self.order = order
        self.labels: Whole = np.arange(whole.count, dtype=np.int32)
        self.graph = simple(whole.count, self._a[:0], self._b[:0], np.zeros(0, dtype=np.int64))
        self._admitted = 0

    def admit(self, threshold: int) -> None:
        """Let edges in up to this weight; the ends of one in the last forest are ``order``-connected (Lemma 4)."""
        stop = int(np.searchsorted(self._weights, threshold, side="right"))
        if stop <= self._admitted:
            return
        a = relabelled(self.labels, self._a[self._admitted : stop])
        b = relabelled(self.labels, self._b[self._admitted : stop])
        last = self._last[self._admitted : stop]
        self._admitted = stop
        ends = np.concatenate([self.graph.a, a]), np.concatenate([self.graph.b, b])
        times = np.concatenate([self.graph.times, np.ones(len(a), dtype=np.int64)])
        self.graph = simple(self.graph.vertices, *ends, times)
        self._contract(*classes_joined(self.graph.vertices, a[last], b[last]))

    def crossing(self) -> Whole:
        """For each class, seen as a cut: its lightest edge and its ``order``-th lightest, in the whole graph."""
        if self.graph.vertices == 1:
            return np.zeros((2, 1), dtype=np.int64)
        return crossing_weights(
            self.graph.vertices, self.labels, self._a, self._b, self._weights, self.order, self._cap
        )

    def _crossing(self, classes: int, labels: Whole) -> Whole:
        return crossing_weights(classes, labels, self._a, self._b, self._weights, self.order, self._cap)

    def least_degree(self) -> int:
        """The least number of admitted edges that leave a class."""
        return int(degrees(*self.graph).min())

    def search(self) -> bool:
        """Contract what a search shows to be connected; False if that is nothing."""
        before = self.graph.vertices
        self._contract(*connected_classes(self.graph, self.order))
        return self.graph.vertices < before

    def divide(self, u: int, v: int) -> int:
        """Contract two vertices, or give the rise of a smallest cut between them if it has fewer edges."""
        source, sink = int(self.labels[u]), int(self.labels[v])
        flow, side = capped_flow(*self.graph, source, sink, self.order)
        if flow >= self.order:
            joined = np.array([source], dtype=np.int32), np.array([sink], dtype=np.int32)
            self._contract(*classes_joined(self.graph.vertices, *joined))
            return 0
        cut = relabelled(side.astype(np.int32), self.labels)
        lightest, highest = self._crossing(2, cut)[:, 0]
        return int(highest - lightest)

    def _contract(self, classes: int, labels: Whole) -> None:
        if classes < self.graph.vertices:
            self.labels = relabelled(labels, self.labels)
            self.graph = contracted(self.graph, classes, labels)
