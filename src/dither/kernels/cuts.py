"""Cuts of multigraphs: forests packed by weight, contraction by capped search orders, capped flows.

A multigraph of ``count`` vertices is three arrays: ends ``a`` and ``b`` of its edges and how many times each is there.
A search for whether vertices are ``order``-connected (joined by that many edge-disjoint paths) may contract pairs that
are, since no cut of fewer edges separates them; docs/proofs/trees.md has the lemmas that the functions name.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.kernels.compiled import compiled

Whole: TypeAlias = NDArray[np.int64] | NDArray[np.int32]
"""An array of whole numbers."""

FEW = 64
"""Smaller graphs are searched again and again rather than edge by edge."""
WORK = 500
"""How many times the edges of a graph may be looked at before edge by edge is given up for another search."""


class Multigraph(NamedTuple):
    """Vertices 0 .. vertices - 1, and edges without loops and parallels: ends and multiplicities."""

    vertices: int
    a: Whole
    b: Whole
    times: Whole


@compiled(nogil=True)
def root(parent: Whole, vertex: int) -> int:
    """The representative of a vertex, halving the way to it."""
    while parent[vertex] != vertex:
        parent[vertex] = parent[parent[vertex]]
        vertex = parent[vertex]
    return vertex


@compiled(nogil=True)
def pack_forests(count: int, a: Whole, b: Whole, most: int) -> Whole:
    """For each edge, in the order given, the first of ``most`` forests that it leaves acyclic; ``most`` if none.

    The components of a forest refine those of the one before it, so the first is found by bisection (Lemma 3).
    """
    parent = np.empty((most, count), dtype=np.int32)
    for i in range(most):
        for v in range(count):
            parent[i, v] = v
    index = np.empty(len(a), dtype=np.int32)
    for e in range(len(a)):
        low, high = 0, most
        while low < high:
            middle = (low + high) // 2
            if root(parent[middle], a[e]) == root(parent[middle], b[e]):
                low = middle + 1
            else:
                high = middle
        index[e] = low
        if low < most and a[e] != b[e]:
            parent[low, root(parent[low], a[e])] = root(parent[low], b[e])
    return index


@compiled(nogil=True)
def numbered(parent: Whole) -> tuple[int, Whole]:
    """The classes of a union-find structure, numbered 0, 1, ...: their count and the number of each vertex."""
    number = np.full(len(parent), -1, dtype=np.int32)
    labels = np.empty(len(parent), dtype=np.int32)
    classes = 0
    for v in range(len(parent)):
        r = root(parent, v)
        if number[r] < 0:
            number[r] = classes
            classes += 1
        labels[v] = number[r]
    return classes, labels


@compiled(nogil=True)
def classes_joined(count: int, a: Whole, b: Whole) -> tuple[int, Whole]:
    """The components of a graph: how many, and the number of each vertex's."""
    parent = np.arange(count, dtype=np.int32)
    for e in range(len(a)):
        parent[root(parent, a[e])] = root(parent, b[e])
    return numbered(parent)


@compiled(nogil=True)
def merged(classes: int, a: Whole, b: Whole, times: Whole) -> tuple[Whole, Whole, Whole]:
    """The edges without loops, parallels merged: (a, b, times)."""
    first = np.zeros(classes + 1, dtype=np.int64)
    for e in range(len(a)):
        if a[e] != b[e]:
            first[min(a[e], b[e]) + 1] += 1
    for v in range(classes):
        first[v + 1] += first[v]
    kept = first[classes]
    other, many = np.empty(kept, dtype=np.int32), np.empty(kept, dtype=np.int64)
    place = first[:-1].copy()
    for e in range(len(a)):
        if a[e] != b[e]:
            low = min(a[e], b[e])
            other[place[low]] = max(a[e], b[e])
            many[place[low]] = times[e]
            place[low] += 1
    seen = np.full(classes, -1, dtype=np.int64)
    out_a, out_b, out = np.empty(kept, dtype=np.int32), np.empty(kept, dtype=np.int32), np.empty(kept, dtype=np.int64)
    size = 0
    for v in range(classes):
        begin = size
        for i in range(first[v], first[v + 1]):
            at = seen[other[i]]
            if at >= begin:
                out[at] += many[i]
            else:
                seen[other[i]] = size
                out_a[size], out_b[size], out[size] = v, other[i], many[i]
                size += 1
    return out_a[:size], out_b[:size], out[:size]


@compiled(nogil=True)
def relabelled(labels: Whole, a: Whole) -> Whole:
    """``labels[a]``, compiled: short arrays are the usual case."""
    out = np.empty(len(a), dtype=np.int32)
    for e in range(len(a)):
        out[e] = labels[a[e]]
    return out


@compiled(nogil=True)
def incidence(count: int, a: Whole, b: Whole) -> tuple[Whole, Whole]:
    """(first, arcs): the arcs of vertex v are ``arcs[first[v]:first[v + 1]]``; arc 2e leads a -> b, 2e + 1 back."""
    first = np.zeros(count + 1, dtype=np.int64)
    for e in range(len(a)):
        first[a[e] + 1] += 1
        first[b[e] + 1] += 1
    for v in range(count):
        first[v + 1] += first[v]
    arcs = np.empty(2 * len(a), dtype=np.int64)
    place = first[:-1].copy()
    for e in range(len(a)):
        arcs[place[a[e]]] = 2 * e
        place[a[e]] += 1
        arcs[place[b[e]]] = 2 * e + 1
        place[b[e]] += 1
    return first, arcs


@compiled(nogil=True)
def degrees(count: int, a: Whole, b: Whole, times: Whole) -> Whole:
    """The number of edges at each vertex."""
    degree = np.zeros(count, dtype=np.int64)
    for e in range(len(a)):
        degree[a[e]] += times[e]
        degree[b[e]] += times[e]
    return degree


@compiled(nogil=True)
def append(head: Whole, tail: Whole, after: Whole, before: Whole, which: int, vertex: int) -> None:
    """Put a vertex at the end of one of several linked lists."""
    last = tail[which]
    before[vertex], after[vertex], tail[which] = last, -1, vertex
    if last >= 0:
        after[last] = vertex
    else:
        head[which] = vertex


@compiled(nogil=True)
def remove(head: Whole, tail: Whole, after: Whole, before: Whole, which: int, vertex: int) -> None:
    """Take a vertex out of its linked list."""
    left, right = before[vertex], after[vertex]
    if left >= 0:
        after[left] = right
    else:
        head[which] = right
    if right >= 0:
        before[right] = left
    else:
        tail[which] = left


@compiled(nogil=True)
def search_classes(count: int, a: Whole, b: Whole, times: Whole, order: int) -> tuple[int, Whole]:
    """Classes of vertices that one capped maximum adjacency order shows to be ``order``-connected (Lemma 5).

    Vertices are scanned by falling number of edges to those already scanned, counted up to ``order``; the ends of an
    edge that brings that number to ``order`` are joined.  If every vertex has ``order`` edges, at least one pair is.
    Linear in the edges: the queue is ``order + 1`` linked lists.  First come, first served, from a vertex of least
    degree: on grids that joins several times more than the latest first would.
    """
    first, arcs = incidence(count, a, b)
    parent = np.arange(count).astype(np.int32)
    reached = np.zeros(count, dtype=np.int64)
    scanned = np.zeros(count, dtype=np.bool_)
    head, tail = np.full(order + 1, -1, dtype=np.int32), np.full(order + 1, -1, dtype=np.int32)
    after, before = np.full(count, -1, dtype=np.int32), np.full(count, -1, dtype=np.int32)
    start = int(np.argmin(degrees(count, a, b, times)))
    for step in range(count):
        append(head, tail, after, before, 0, (start + step) % count)
    top = 0
    for _ in range(count):
        while head[top] < 0:
            top -= 1
        x = head[top]
        remove(head, tail, after, before, top, x)
        scanned[x] = True
        for i in range(first[x], first[x + 1]):
            e = arcs[i] // 2
            y = a[e] + b[e] - x
            if scanned[y]:
                continue
            old = min(reached[y], order)
            reached[y] += times[e]
            new = min(reached[y], order)
            if new == order:
                parent[root(parent, x)] = root(parent, y)
            if new != old:
                remove(head, tail, after, before, old, y)
                append(head, tail, after, before, new, y)
                top = max(top, new)
    return numbered(parent)


@compiled(nogil=True)
def bridgeless_classes(count: int, a: Whole, b: Whole, times: Whole) -> tuple[int, Whole]:
    """The classes of 2-connected vertices: components once single edges that close no cycle are removed."""
    first, arcs = incidence(count, a, b)
    result, low = np.full(count, -1, dtype=np.int64), np.zeros(count, dtype=np.int64)
    come = np.full(count, -1, dtype=np.int64)
    place = first[:-1].copy()
    parent = np.arange(count, dtype=np.int32)
    stack = np.empty(count, dtype=np.int64)
    clock = 0
    for source in range(count):
        if result[source] >= 0:
            continue
        size = 1
        stack[0] = source
        result[source] = low[source] = clock
        clock += 1
        while size:
            x = stack[size - 1]
            if place[x] < first[x + 1]:
                e = arcs[place[x]] // 2
                place[x] += 1
                y = a[e] + b[e] - x
                if result[y] < 0:
                    come[y] = e
                    result[y] = low[y] = clock
                    clock += 1
                    stack[size] = y
                    size += 1
                elif e != come[x] or times[e] > 1:
                    low[x] = min(low[x], result[y])
            else:
                size -= 1
                if size:
                    over = stack[size - 1]
                    low[over] = min(low[over], low[x])
                    if low[x] <= result[over]:
                        parent[root(parent, x)] = root(parent, over)
    return numbered(parent)


@compiled(nogil=True)
def capped_flow(count: int, a: Whole, b: Whole, times: Whole, source: int, sink: int, most: int) -> tuple[int, Whole]:
    """A largest flow between two vertices, up to ``most``, and the source's side of a smallest cut if it is less."""
    first, arcs = incidence(count, a, b)
    spare = np.empty(2 * len(a), dtype=np.int64)
    for e in range(len(a)):
        spare[2 * e] = spare[2 * e + 1] = times[e]
    flow = 0
    queue = np.empty(count, dtype=np.int64)
    while True:
        come = np.full(count, -1, dtype=np.int64)
        come[source] = -2
        queue[0] = source
        done, size = 0, 1
        while done < size and come[sink] == -1:
            x = queue[done]
            done += 1
            for i in range(first[x], first[x + 1]):
                arc = arcs[i]
                y = a[arc // 2] + b[arc // 2] - x
                if come[y] == -1 and spare[arc] > 0:
                    come[y] = arc
                    queue[size] = y
                    size += 1
        if come[sink] == -1:
            return flow, come != -1
        amount = most - flow
        y = sink
        while y != source:
            amount = min(amount, spare[come[y]])
            y = a[come[y] // 2] + b[come[y] // 2] - y
        y = sink
        while y != source:
            spare[come[y]] -= amount
            spare[come[y] ^ 1] += amount
            y = a[come[y] // 2] + b[come[y] // 2] - y
        flow += amount
        if flow >= most:
            return flow, come != -1


@compiled(nogil=True)
def crossing_weights(classes: int, labels: Whole, a: Whole, b: Whole, weights: Whole, rank: int, beyond: int) -> Whole:
    """For each class the weights of the lightest and of the ``rank``-th lightest edge that leaves it.

    Edges come by rising weight; ``beyond`` stands in where there are fewer.
    """
    out = np.full((2, classes), beyond, dtype=np.int64)
    seen = np.zeros(classes, dtype=np.int64)
    for e in range(len(a)):
        x, y = labels[a[e]], labels[b[e]]
        if x != y:
            for z in (x, y):
                seen[z] += 1
                if seen[z] == 1:
                    out[0, z] = weights[e]
                if seen[z] == rank:
                    out[1, z] = weights[e]
    return out


@compiled(nogil=True)
def near_classes(count: int, a: Whole, b: Whole, times: Whole, order: int, work: int) -> tuple[int, Whole]:
    """Classes of vertices joined by edges between whose ends flows show ``order`` paths, until ``work`` arcs are seen.

    In graphs like grids such paths are short: a flow looks at a few vertices around its edge, where a search of the
    whole graph would join little.
    """
    first, arcs = incidence(count, a, b)
    degree = degrees(count, a, b, times)
    spare = np.repeat(times, 2)
    parent = np.arange(count).astype(np.int32)
    come, stamp = np.full(count, -1, dtype=np.int64), np.zeros(count, dtype=np.int64)
    queue = np.empty(count, dtype=np.int64)
    touched = np.empty(len(spare), dtype=np.int64)
    clock = 0
    for edge in range(len(a)):
        if work <= 0:
            break
        if root(parent, a[edge]) == root(parent, b[edge]) or min(degree[a[edge]], degree[b[edge]]) < order:
            continue
        # From the end with fewer edges: if they are the cut, that is seen at once.
        source, sink = (a[edge], b[edge]) if degree[a[edge]] <= degree[b[edge]] else (b[edge], a[edge])
        flow, changed = 0, 0
        while flow < order:
            clock += 1
            stamp[source] = clock
            queue[0] = source
            done, size = 0, 1
            while done < size and stamp[sink] != clock:
                x = queue[done]
                done += 1
                work -= first[x + 1] - first[x]
                for i in range(first[x], first[x + 1]):
                    arc = arcs[i]
                    y = a[arc // 2] + b[arc // 2] - x
                    if stamp[y] != clock and spare[arc] > 0:
                        stamp[y], come[y] = clock, arc
                        queue[size] = y
                        size += 1
            if stamp[sink] != clock or (work <= 0 and flow < order - 1):
                break
            # One unit at a time is enough for orders that occur, and keeps the list of touched arcs short.
            y = sink
            while y != source:
                arc = come[y]
                spare[arc] -= 1
                spare[arc ^ 1] += 1
                if changed < len(touched):
                    touched[changed] = arc
                changed += 1
                y = a[arc // 2] + b[arc // 2] - y
            flow += 1
        if flow >= order:
            parent[root(parent, a[edge])] = root(parent, b[edge])
        if changed <= len(touched):
            for i in range(changed):
                spare[touched[i]] += 1
                spare[touched[i] ^ 1] -= 1
        else:
            spare[:] = np.repeat(times, 2)
    return numbered(parent)


def compact(vertices: Whole) -> Whole:
    """Vertices as the one type that kernels are compiled for."""
    return np.ascontiguousarray(vertices, dtype=np.int32)


def glued(count: int, a: Whole, b: Whole) -> tuple[int, Whole, Whole]:
    """A connected graph with the same cycles and minimal cuts: one vertex of every component becomes vertex 0.

    Gives the number of vertices and the ends of the edges, in the order given.
    """
    a, b = compact(a), compact(b)
    pieces, labels = classes_joined(count, a, b)
    firsts = np.full(pieces, count, dtype=np.int64)
    np.minimum.at(firsts, labels, np.arange(count))
    rest = np.ones(count, dtype=bool)
    rest[firsts] = False
    places = np.where(rest, np.cumsum(rest), 0).astype(np.int32)
    return count - pieces + 1, relabelled(places, a), relabelled(places, b)


def contracted(graph: Multigraph, classes: int, labels: Whole) -> Multigraph:
    """The graph with each class made one vertex."""
    return simple(classes, relabelled(labels, graph.a), relabelled(labels, graph.b), graph.times)


def simple(count: int, a: Whole, b: Whole, times: Whole) -> Multigraph:
    """A multigraph from edges that may be loops or parallel."""
    return Multigraph(count, *merged(count, a, b, times))


def connected_classes(graph: Multigraph, order: int) -> tuple[int, Whole]:
    """Classes of ``order``-connected vertices: all there are for orders 1 and 2, else some.

    At least one pair is joined if every vertex has ``order`` edges.
    """
    if order == 1:
        return classes_joined(graph.vertices, graph.a, graph.b)
    if order == 2:
        return bridgeless_classes(graph.vertices, graph.a, graph.b, graph.times)
    classes, labels = search_classes(*graph, order)
    if classes < 0.9 * graph.vertices or graph.vertices < FEW:
        return classes, labels
    near, nearby = near_classes(*graph, order, WORK * len(graph.a))
    return (near, nearby) if near < classes else (classes, labels)


def edge_connectivity(count: int, a: Whole, b: Whole) -> int:
    """The least number of edges whose removal disconnects the graph; 0 if it is not connected or has one vertex.

    Contracts what is as connected as the best cut known: one vertex against the rest, at first (Nagamochi, Ono and
    Ibaraki).  Exact; no flow is ever computed.
    """
    if count < 2:
        return 0
    a, b, times = compact(a), compact(b), np.ones(len(a), dtype=np.int64)
    best = int(degrees(count, a, b, times).min())
    # Forests, packed in any order, keep every cut up to that many edges (Lemma 4).
    kept = pack_forests(count, a, b, best) < best
    graph = simple(count, a[kept], b[kept], times[kept])
    while best and graph.vertices > 1:
        graph = contracted(graph, *connected_classes(graph, best))
        if graph.vertices > 1:
            best = min(best, int(degrees(*graph).min()))
    return best
