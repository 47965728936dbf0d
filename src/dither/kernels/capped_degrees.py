"""Edges of a graph of which every vertex counts a limited number, in fractions or one by one: compiled, exact.

``Q(cap) = max sum of u_e`` over weights ``0 <= u_e <= 1`` of the edges, at most ``cap`` at any vertex.  It is half of
the maximum flow of the double cover: every vertex once on the left and once on the right, ``cap`` units through each,
one along each of the two arcs of an edge (docs/proofs/node_privacy.md, section 4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.kernels.adjacency import Ends, Starts
from dither.kernels.compiled import compiled

Whole = NDArray[np.int64]
_FAR = 2**31 - 1


@compiled(nogil=True)
def capped_flow(starts: Starts, ends: Ends, cap: int) -> int:
    """``2 Q(cap)``, a whole number.

    A vertex with no more edges than it has room for limits nothing: its edges go to the other ends' accounts, which
    there is an optimum for.  A vertex without room loses its edges.  What no such step is left for is a flow.
    """
    n = len(starts) - 1
    room, left = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    waiting, done = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    queued = np.zeros(n, dtype=np.bool_)
    first, last, counted = 0, 0, 0
    for v in range(n):
        room[v], left[v] = cap, starts[v + 1] - starts[v]
        if left[v] <= cap:
            queued[v], waiting[last] = True, v
            last += 1
    while first < last:
        v = waiting[first]
        first += 1
        done[v] = True
        is_free = left[v] <= room[v]
        for at in range(starts[v], starts[v + 1]):
            u = ends[at]
            if done[u]:
                continue
            left[u] -= 1
            if is_free and room[u] > 0:
                room[u] -= 1
                counted += 2
            if not queued[u] and (room[u] == 0 or left[u] <= room[u]):
                queued[u], waiting[last] = True, u
                last += 1
    if last == n:
        return counted
    return counted + _core_flow(starts, ends, done, room)


@compiled(nogil=True)
def _core_flow(starts: Starts, ends: Ends, done: NDArray[np.bool_], room: Whole) -> int:
    """The maximum flow of the double cover of the vertices that are not done: Dinic's algorithm."""
    core, heads = _core_rows(starts, ends, done)
    out = room[~done]
    into, kept = out.copy(), len(out)
    # Rows rise, so the arcs into a vertex are met in the order of its own row.
    back, place_of = np.empty(core[kept], dtype=np.int64), core[:kept].copy()
    for v in range(kept):
        for at in range(core[v], core[v + 1]):
            back[at] = place_of[heads[at]]
            place_of[heads[at]] += 1
    used, flow = _greedy(core, heads, back, out, into)
    while True:
        near, sink = _distances(core, heads, back, used, out, into)
        if sink == _FAR:
            return flow
        flow += _blocking(core, heads, back, used, out, into, near, sink)


@compiled(nogil=True)
def _core_rows(starts: Starts, ends: Ends, done: NDArray[np.bool_]) -> tuple[Whole, Ends]:
    """The rows of the vertices that are not done, renamed."""
    n = len(starts) - 1
    name, kept = np.full(n, -1, dtype=np.int32), 0
    for v in range(n):
        if not done[v]:
            name[v] = kept
            kept += 1
    core = np.zeros(kept + 1, dtype=np.int64)
    for v in range(n):
        if done[v]:
            continue
        many = 0
        for at in range(starts[v], starts[v + 1]):
            if not done[ends[at]]:
                many += 1
        core[name[v] + 1] = core[name[v]] + many
    heads = np.empty(core[kept], dtype=np.int32)
    for v in range(n):
        if done[v]:
            continue
        place = core[name[v]]
        for at in range(starts[v], starts[v + 1]):
            if not done[ends[at]]:
                heads[place] = name[ends[at]]
                place += 1
    return core, heads


@compiled(nogil=True)
def _greedy(core: Whole, heads: Ends, back: Whole, out: Whole, into: Whole) -> tuple[NDArray[np.bool_], int]:
    """Take both arcs of an edge while both of its vertices have room, those with fewest edges first."""
    kept, flow = len(core) - 1, 0
    used = np.zeros(len(heads), dtype=np.bool_)
    degrees = core[1:] - core[:kept]
    for v in np.argsort(degrees, kind="mergesort"):
        for at in range(core[v], core[v + 1]):
            if out[v] == 0:
                break
            u = heads[at]
            if not used[at] and out[u] > 0:
                used[at] = used[back[at]] = True
                out[v] -= 1
                into[v] -= 1
                out[u] -= 1
                into[u] -= 1
                flow += 2
    return used, flow


@compiled(nogil=True)
def _distances(
    core: Whole, heads: Ends, back: Whole, used: NDArray[np.bool_], out: Whole, into: Whole
) -> tuple[NDArray[np.int32], int]:
    """Steps from the source in the residual graph (vertex v on the right is ``kept + v``), and to the sink."""
    kept = len(core) - 1
    near = np.full(2 * kept, _FAR, dtype=np.int32)
    waiting = np.empty(2 * kept, dtype=np.int64)
    first, last = 0, 0
    for v in range(kept):
        if out[v] > 0:
            near[v], waiting[last] = 0, v
            last += 1
    sink = _FAR
    while first < last:
        v = waiting[first]
        first += 1
        if near[v] >= sink:
            break
        after = near[v] + 1
        if v < kept:
            for at in range(core[v], core[v + 1]):
                u = kept + heads[at]
                if not used[at] and near[u] == _FAR:
                    near[u], waiting[last] = after, u
                    last += 1
                    if into[heads[at]] > 0:
                        sink = after
        else:
            for at in range(core[v - kept], core[v - kept + 1]):
                u = heads[at]
                if used[back[at]] and near[u] == _FAR:
                    near[u], waiting[last] = after, u
                    last += 1
    return near, sink


@compiled(nogil=True)
def _blocking(
    core: Whole,
    heads: Ends,
    back: Whole,
    used: NDArray[np.bool_],
    out: Whole,
    into: Whole,
    near: NDArray[np.int32],
    sink: int,
) -> int:
    """Shortest paths to the sink until none is left; every arc is looked at once, then given up."""
    kept, flow = len(core) - 1, 0
    following = np.concatenate((core[:kept], core[:kept]))
    path, nodes = np.empty(sink + 1, dtype=np.int64), np.empty(sink + 2, dtype=np.int64)
    for source in range(kept):
        while out[source] > 0:
            nodes[0], depth, reached = source, 0, False
            while True:
                v = nodes[depth]
                if depth == sink and into[v - kept] > 0:
                    reached = True
                    break
                is_left, own = v < kept, v if v < kept else v - kept
                moved = False
                while depth < sink and following[v] < core[own + 1]:
                    at = following[v]
                    if is_left:
                        u, is_open = kept + heads[at], not used[at]
                    else:
                        u, is_open = np.int64(heads[at]), used[back[at]]
                    if is_open and near[u] == near[v] + 1:
                        path[depth] = at if is_left else back[at]
                        depth += 1
                        nodes[depth] = u
                        moved = True
                        break
                    following[v] += 1
                if moved:
                    continue
                if depth == 0:
                    break
                depth -= 1
                following[nodes[depth]] += 1
            if not reached:
                break
            for step in range(sink):
                used[path[step]] = not used[path[step]]
            out[source] -= 1
            into[nodes[sink] - kept] -= 1
            flow += 1
    return flow


@compiled(nogil=True)
def kept_degrees(starts: Starts, ends: Ends, limit: int) -> Whole:
    """Degrees after edges are kept, in rising order, while both of their vertices have fewer than ``limit`` of them."""
    n = len(starts) - 1
    kept = np.zeros(n, dtype=np.int64)
    for u in range(n):
        for at in range(starts[u], starts[u + 1]):
            v = ends[at]
            if v > u and kept[u] < limit and kept[v] < limit:
                kept[u] += 1
                kept[v] += 1
    return kept
