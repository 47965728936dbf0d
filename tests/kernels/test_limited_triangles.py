"""Triangles of limited shares: certified values against a general solver, bounds beyond all rounding, many blocks."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from dither.kernels import limited_triangles as kernel
from dither.kernels.limited_triangles import BLOCK, GAP, PART, SLOPE, DualProgram, limited_triangles, triangle_shares
from dither.sources.graph import Graph
from dither_lab.audit.laws.limited import triangles_by_force, triangles_of


def random_graph(seed, n=12, tail=1.0):
    """Even, or with a heavy tail."""
    rng = np.random.default_rng(seed)
    return Graph(np.minimum((n * rng.random((int(rng.integers(2 * n, 8 * n)), 2)) ** tail).astype(int), n - 1), n=n)


def program(graph, limit):
    """The program of one limit."""
    ranked = graph.ranked
    return DualProgram.of(ranked, triangle_shares(ranked.starts, ranked.ends, ranked.split), limit)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(8))
def test_values_lie_within_the_gap_below_the_optimum(seed):
    """Of a general solver; above the linear program under 7/8 of the limit, below the one under the whole limit."""
    graph = random_graph(seed, tail=1.0 + seed % 3)
    triangles = triangles_of(graph)
    touches = np.array([[v in three for three in triangles] for v in range(graph.vertices)], dtype=float)
    for limit in (1, 2, 3, 5, 8, 13, 21):
        value = limited_triangles(graph.ranked, [limit])[0]
        best = triangles_by_force(graph, limit, 10**9)
        assert math.floor(best - limit / 64 - 1e-6) <= value <= best + 1e-6
        linear = [
            -linprog(-np.ones(len(triangles)), A_ub=touches, b_ub=np.full(graph.vertices, cap), bounds=(0, 1)).fun
            for cap in (0.875 * limit, limit)
        ]
        assert linear[0] - 1e-6 <= best <= linear[1] + 1e-6


def test_a_limit_that_cuts_nothing_gives_the_count():
    """From 8/7 of the largest share on; below it something is cut."""
    graph = random_graph(3)
    ranked = graph.ranked
    shares = triangle_shares(ranked.starts, ranked.ends, ranked.split)
    listed = triangles_of(graph)
    assert sorted(shares) == sorted(sum(v in three for three in listed) for v in range(graph.vertices))
    enough = math.ceil(int(shares.max()) / PART)
    assert limited_triangles(ranked, [enough, 2 * enough]) == [len(listed)] * 2
    assert limited_triangles(ranked, [enough // 2])[0] < len(listed)
    assert limited_triangles(Graph([], n=5).ranked, [1, 2]) == [0, 0]


def test_the_constants_of_the_proof():
    """The slope of phi times the part of a limit, and the gap, are the limit."""
    assert SLOPE * PART + GAP == 1
    assert (Fraction(kernel._K), Fraction(kernel._BEND)) == (SLOPE, SLOPE - 1)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_hold_for_every_dual_point(seed):
    """In exact fractions: the upper bound is not below the dual value, the lower one not above the optimum."""
    graph, limit = random_graph(seed, 9), 4
    concave = program(graph, limit)
    rng = np.random.default_rng(seed)
    best = triangles_by_force(graph, limit, 10**9) - concave.uncut
    terms = [(row, int(many)) for row, many in zip(concave.merged, concave.times, strict=True)]
    terms += [(row, 1) for row in concave.listed]
    for y in (concave.start(), *(concave.projected(1.2 * rng.random(concave.vertices + 1)) for _ in range(6))):
        low, high = concave.bounds(y)
        exact = Fraction(concave.tau) * sum(map(Fraction, y.tolist()))
        for row, many in terms:
            room = SLOPE - sum(Fraction(float(y[v])) for v in row)
            u = min(max(4 * room, Fraction(0)), Fraction(1))
            exact += many * (SLOPE * u - u * u / 8 - u * (SLOPE - room))
        assert exact <= high <= exact + Fraction(1, 10**9)
        assert low <= best + 1e-6
        assert best - 1e-6 <= high
        value, gradient = concave.dual(y)
        assert value == pytest.approx(float(high), abs=1e-9)
        if concave.vertices:
            moved = concave.projected(y + 1e-6 * (np.arange(concave.vertices + 1) == 0))
            assert concave.dual(moved)[0] - value == pytest.approx((moved - y)[0] * gradient[0], abs=1e-9)


def test_sums_of_many_vertices_do_not_overflow():
    """The dual point of 200,000 vertices at the upper end: 2^66 steps of its grid."""
    ring = np.arange(200_000)
    edges = np.concatenate([np.stack([ring, (ring + step) % len(ring)], 1) for step in (1, 2, 3)])
    concave = program(Graph(edges, n=len(ring)), 1)
    assert concave.vertices == len(ring)
    low, high = concave.bounds(concave.projected(np.full(len(ring) + 1, 1.125)))
    assert low == 0
    assert high == Fraction(7, 8) * Fraction(9, 8) * len(ring)


def test_triangles_that_are_not_kept_give_the_same_program(monkeypatch):
    """Found anew in blocks: the same bounds at every dual point."""
    graph = random_graph(5, 60)
    kept = program(graph, 3)
    assert kept.listed is not None
    monkeypatch.setattr(kernel, "BLOCK", 7)
    assert BLOCK > 7
    anew = replace(kept, listed=None)
    assert len(list(anew.blocks())) > 5
    assert sum(len(triples) for triples, _ in anew.blocks()) == len(kept.listed) + len(kept.merged)
    y = kept.start()
    for _ in range(3):
        assert anew.bounds(y) == kept.bounds(y)
        y = kept.improved(y)


@pytest.mark.parametrize("tail", [1.0, 3.0])
def test_larger_graphs_are_certified_in_few_steps(tail):
    """2,000 vertices under every limit: the gap is reached, steps lower the dual value."""
    graph = random_graph(1, 2_000, tail)
    for limit in (1, 3, 9, 27):
        concave = program(graph, limit)
        y, steps = concave.start(), 0
        low, high = concave.bounds(y)
        while high - low > GAP * limit:
            y, steps = concave.improved(y), steps + 1
            low, after = concave.bounds(y)
            assert after <= high + Fraction(1, 10**6)
            high = after
            assert steps < 300
        assert limited_triangles(graph.ranked, [limit]) == [concave.uncut + math.floor(low)]


def test_sums_of_more_triangles_than_64_bits_can_add_up_at_once():
    """2^39 triangles that are counted together: bounds in whole 2^-52 would wrap around, and certify anything."""
    graph, rows, many = Graph([(0, 1)], n=2).ranked, 16, 1 << 35
    merged = np.full((rows, 3), rows, dtype=np.int32)
    merged[:, 0] = np.arange(rows)
    times, shares = np.full(rows, many), np.append(np.full(rows, float(many)), 0.0)
    none = np.zeros(2, dtype=np.int64), np.empty((0, 3), dtype=np.int32)
    merged_alone = DualProgram(float(many), 0, shares, merged, times, graph, np.full(2, rows, dtype=np.int32), *none)
    low, high = merged_alone.bounds(np.zeros(rows + 1))
    assert high == rows * many
    assert high * (1 - Fraction(1, 2**48)) <= low <= high


def test_a_limit_of_nothing_counts_nothing():
    """All weights are 0; the dual, which divides by the limit, is not asked, and refuses such a limit."""
    complete = Graph([(i, j) for i in range(6) for j in range(i)], n=6)
    with np.errstate(all="raise"):
        assert limited_triangles(complete.ranked, [0, 1, 100]) == [0, *limited_triangles(complete.ranked, [1]), 20]
        assert limited_triangles(Graph([], n=3).ranked, [0]) == [0]
    for limit in (0, -1):
        with pytest.raises(ValueError, match="at least 1"):
            program(complete, limit)
