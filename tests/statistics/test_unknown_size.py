"""Statistics of selections: values, ladders, chains and sensitivities against enumeration over all small datasets."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import NotProved
from dither.mechanisms.inverse import Inverse
from dither.mechanisms.mechanism import MechanismSpec
from dither.mechanisms.smoothed_ladder import SmoothedRungs
from dither.privacy import Loss, Neighbours
from dither.queries.order import Median, OrderStatistic, Quantiles
from dither.queries.smallest import SmallestSum
from dither.queries.totals import TrimmedMean
from dither.queries.vectors import Covariance, Histogram, MeanVector
from dither.sensitivity.ladder import Ladder
from dither.sources.column import Column, Shape
from dither.sources.grid import Grid
from dither.statistics import unknown_size
from dither.statistics.order import rank_of
from dither.statistics.smallest import SmallestTotal
from dither.statistics.unknown_size import (
    FilteredMean,
    FilteredTotal,
    MeanLadder,
    SharedRank,
    SharedRankDifference,
    for_people,
    reachable_ranks,
)
from dither.statistics.unknown_spread import FilteredVariance
from dither_lab.audit.enumeration import output_law

VALUES = (0, 1, 3, 4)
GRID = Grid(Fraction(1), 0, 4)
MOST = 5
SHARES = [
    Fraction(0),
    Fraction(1, 10),
    Fraction(1, 4),
    Fraction(1, 3),
    Fraction(1, 2),
    Fraction(2, 3),
    Fraction(9, 10),
    Fraction(1),
]
BOTH = [Neighbours.ADD_REMOVE, Neighbours.ADD_REMOVE_CHANGE]


def column(records, grid=GRID):
    """A dataset as private data."""
    return Column(np.array(records, dtype=np.int64), grid)


def universe(values=VALUES, most=MOST):
    """Every multiset of at most so many records."""
    return [x for size in range(most + 1) for x in combinations_with_replacement(values, size)]


def neighbours(x, relation, values=VALUES, most=MOST):
    """Every dataset one step away."""
    found = {tuple(sorted((*x, v))) for v in values if len(x) < most}
    found |= {tuple(sorted(x[:i] + x[i + 1 :])) for i in range(len(x))}
    if relation is Neighbours.ADD_REMOVE_CHANGE:
        found |= {tuple(sorted((*x[:i], v, *x[i + 1 :]))) for i in range(len(x)) for v in values}
    return found - {x}


def violations(statistic, relation, values=VALUES, rungs=MOST + 2):
    """Where the axioms of a ladder fail."""
    space = universe(values)
    value = {x: statistic.value(column(x, statistic.records_on)) for x in space}
    climbed = {
        x: [int(u) for u in statistic.ladder(column(x, statistic.records_on)).sensitivity_at_distance(0, rungs + 1)]
        for x in space
    }
    bad = []
    for x in space:
        for y in neighbours(x, relation, values):
            if abs(value[x] - value[y]) > climbed[x][0]:
                bad.append((x, y, "covers"))
            bad += [(x, y, k) for k in range(rungs) if climbed[x][k] > climbed[y][k + 1]]
    return bad


@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize("share", SHARES)
def test_ladders_of_ranks_obey_the_axioms(share, relation):
    """All shares, all neighbours of at most five records."""
    assert violations(SharedRank(share, MOST, GRID, relation), relation) == []


@pytest.mark.parametrize("relation", BOTH)
def test_ladders_of_differences_obey_the_axioms(relation):
    """Quartiles of all small selections."""
    lower, upper = (SharedRank(share, MOST, GRID, relation) for share in (Fraction(1, 4), Fraction(3, 4)))
    assert violations(SharedRankDifference(lower, upper, Grid(Fraction(1), 0, 4), relation), relation) == []


@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize("grid", [GRID, Grid(Fraction(1), -3, 1), Grid(Fraction(1), 10, 14)])
def test_ladders_of_means_and_sums_obey_the_axioms(grid, relation):
    """Bounds around, below and above zero."""
    low, high = grid.ends
    values = (low, low + 1, high)
    assert violations(FilteredMean(grid, relation), relation, values) == []
    assert violations(FilteredTotal(MOST, grid, relation), relation, values) == []


@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("grid", [GRID, Grid(Fraction(1), -3, 1), Grid(Fraction(1, 4), 10, 14)])
def test_ladders_of_variances_obey_the_axioms(grid, ddof, relation):
    """Against numpy's variance, and the smooth bound covers what the rungs ask for."""
    low, high = grid.ends
    statistic = FilteredVariance(grid, ddof, relation)
    assert violations(statistic, relation, (low, low + 1, low + 2, high)) == []
    for x in universe((low, low + 1, high)):
        truth = np.var(np.array(x) * float(grid.step), ddof=ddof) if len(x) > ddof else 0.0
        found = statistic.answers.value(statistic.value(column(x, grid)))
        assert found == pytest.approx(truth, abs=1e-9)
        ladder = statistic.ladder(column(x, grid))
        for beta in (Fraction(1, 50), Fraction(1, 5), Fraction(1), Fraction(3)):
            rungs = ladder.sensitivity_at_distance(0, 40)
            needed = max(float(one) * math.exp(-float(beta) * k) for k, one in enumerate(rungs))
            assert ladder.smooth(beta) >= needed * (1 - 1e-12)


@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize("rank", [1, 2, 4, 5])
def test_fixed_ranks_of_a_selection(rank, relation):
    """Values, ladders and chains; where there are fewer records, the upper bound."""
    shape = Shape(MOST, whole=True, nullable=False, private=True, neighbours=relation)
    statistic = OrderStatistic(bounds=(0, 4), rank=rank).resolve(shape)
    assert statistic.neighbours is relation
    assert violations(statistic, relation) == []
    links = {x: statistic.reachable_values(column(x)).values(-MOST - 2, MOST + 2) for x in universe()}
    for x in universe():
        assert statistic.value(column(x)) == (sorted(x)[rank - 1] if len(x) >= rank else 4)
        assert list(links[x]) == sorted(links[x])
        for y in neighbours(x, relation):
            assert all(links[y][i - 1] <= links[x][i] <= links[y][i + 1] for i in range(1, 2 * MOST + 4))


@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize("rank", [1, 3, 5])
def test_draws_of_fixed_ranks_are_private(rank, relation):
    """The law of the exponential mechanism over all pairs of neighbours."""
    epsilon = 0.7
    shape = Shape(MOST, whole=True, nullable=False, private=True, neighbours=relation)
    statistic = OrderStatistic(bounds=(0, 4), rank=rank).resolve(shape)
    prepared = Inverse().prepare(MechanismSpec(statistic, Loss(epsilon)))
    laws = {x: output_law(prepared, column(x)) for x in universe()}
    worst = max(
        abs(math.log(laws[x][z] / laws[y][z])) for x in universe() for y in neighbours(x, relation) for z in laws[x]
    )
    assert 0.3 * epsilon < worst <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("ddof", [0, 1])
def test_smooth_bounds_of_variances_are_smooth(ddof):
    """One record more or less moves them by e^beta at most, for up to 300 records."""
    statistic = FilteredVariance(GRID, ddof, Neighbours.ADD_REMOVE_CHANGE)
    for beta in (Fraction(1, 50), Fraction(1, 5), Fraction(1)):
        bounds = [statistic.ladder_of_count(n).smooth(beta) for n in range(300)]
        for here, there in pairwise(bounds):
            assert max(here, there) <= min(here, there) * Fraction(math.exp(float(beta)) * (1 + 1e-12))


def test_a_variance_with_a_fifth_less_is_caught():
    """The axiom check can fail: removing one of two records at the ends moves a variance by a quarter of the square."""

    class Narrow(FilteredVariance):
        def ladder_of_count(self, records):
            found = super().ladder_of_count(records)
            return Ladder(
                lambda a, b: np.array([int(u) * 4 // 5 for u in found.sensitivity_at_distance(a, b)], dtype=object),
                self.global_sensitivity,
            )

    for ddof, relation in product((0, 1), BOTH):
        assert violations(Narrow(GRID, ddof, relation), relation)


def test_the_sensitivity_of_a_filtered_sum_is_attained():
    """Bounds [10, 20] give 20, not 10; with both signs and replacement the whole width."""
    assert FilteredTotal(9, Grid(Fraction(1), 10, 20), Neighbours.ADD_REMOVE_CHANGE).global_sensitivity == 20
    assert FilteredTotal(9, Grid(Fraction(1), -5, 20), Neighbours.ADD_REMOVE_CHANGE).global_sensitivity == 25
    assert FilteredTotal(9, Grid(Fraction(1), -5, 20), Neighbours.ADD_REMOVE).global_sensitivity == 20


def test_a_mean_that_forgets_removals_is_caught():
    """The axiom check can fail: rungs of n + k records instead of n - k are no ladder."""

    class Forgetful(FilteredMean):
        def ladder(self, data, algorithm="exact"):
            from dither.sensitivity.ladder import Ladder

            cap = self.global_sensitivity
            return Ladder(lambda a, b: np.array([-(-cap // max(1, data.records + k)) for k in range(a, b)]), cap)

    assert violations(Forgetful(GRID, Neighbours.ADD_REMOVE), Neighbours.ADD_REMOVE)


def test_a_sum_with_the_width_as_its_sensitivity_is_caught():
    """The axiom check can fail: bounds [10, 20] with the width 10."""

    class Narrow(FilteredTotal):
        global_sensitivity = 10

    grid = Grid(Fraction(1), 10, 20)
    assert violations(Narrow(MOST, grid, Neighbours.ADD_REMOVE), Neighbours.ADD_REMOVE, (10, 20))


@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize("share", SHARES)
def test_chains_interlace(share, relation):
    """``R_{i-1}(y) <= R_i(x) <= R_{i+1}(y)`` for all neighbours: all that the inverse mechanism needs."""
    statistic = SharedRank(share, MOST, GRID, relation)
    links = {x: statistic.reachable_values(column(x)).values(-14, 14) for x in universe()}
    for x in universe():
        assert list(links[x]) == sorted(links[x])
        assert links[x][14] == statistic.value(column(x))
        for y in neighbours(x, relation):
            assert all(links[y][i - 1] <= links[x][i] <= links[y][i + 1] for i in range(1, 28))


@pytest.mark.parametrize("share", [share for share in SHARES if 0 < share < 1])
def test_the_chain_of_additions_and_removals_is_what_they_reach(share):
    """By brute force: the extremes of the value after at most i additions and removals."""
    values, most = (0, 2, 4), 9
    statistic = SharedRank(share, most, GRID, Neighbours.ADD_REMOVE)
    for x in universe(values, 3):
        reached, seen = {x}, {x}
        for changes in range(1, 6):
            reached = {y for z in reached for y in neighbours(z, Neighbours.ADD_REMOVE, values, most)} - seen
            seen |= reached
            found = [statistic.value(column(y)) for y in seen]
            low, high = (
                statistic.reachable_values(column(x)).values(-changes, -changes)[0],
                statistic.reachable_values(column(x)).values(changes, changes)[0],
            )
            assert (low, high) == (min(found), max(found)), (x, changes)


def test_reachable_ranks_of_large_selections():
    """A median moves by one rank for every two additions or removals."""
    ranks = reachable_ranks(Fraction(1, 2), 10**12, -4, 4)
    assert (ranks - rank_of(Fraction(1, 2), 10**12)).tolist() == [-2, -2, -1, -1, 0, 1, 1, 2, 2] or (
        np.abs(np.diff(ranks)).max() <= 1
    )
    huge = reachable_ranks(Fraction(10**17 + 1, 3 * 10**17), 2**40, 0, 3)
    assert huge[0] == rank_of(Fraction(10**17 + 1, 3 * 10**17), 2**40)


@given(st.fractions(0, 1, max_denominator=40), st.integers(0, 400), st.integers(-60, 60), st.integers(0, 60))
def test_reachable_ranks_are_those_of_fewer_records_moved(share, records, first, more):
    """Computed once for the fewest records and moved, or for these records themselves: the same ranks."""
    ranks = reachable_ranks(share, records, first, first + more)
    assert ranks.tolist() == unknown_size._reachable_ranks(share, records, first, first + more).tolist()


def law(prepared, x):
    """The exact answer probabilities of a draw from shells."""
    return output_law(prepared, column(x))


@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize("epsilon", [0.3, 1.5])
def test_draws_keep_their_epsilon_on_the_whole_universe(share, relation, epsilon):
    """Log ratios of the exact laws of all neighbours are at most epsilon, and for some pair nearly so."""
    prepared = Inverse().prepare(MechanismSpec(SharedRank(share, MOST, GRID, relation), Loss(epsilon)))
    laws = {x: law(prepared, x) for x in universe()}
    worst = max(
        abs(np.log(laws[x][z] / laws[y][z]))
        for x in universe()
        for y in neighbours(x, relation)
        for z in laws[x]
        if laws[x][z] or laws[y][z]
    )
    assert 0.3 * epsilon < worst <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("rows", [2, 3])
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 2), Fraction(1)])
def test_all_rows_of_one_person_are_covered(share, rows):
    """Adding, removing or replacing up to ``rows`` records at once: ladder, chain and the exact law."""
    most = 4
    statistic = for_people(SharedRank(share, most, GRID, Neighbours.ADD_REMOVE_CHANGE), rows)
    space = universe((0, 2, 4), most)
    value = {x: statistic.value(column(x)) for x in space}
    climbed = {x: [int(u) for u in statistic.ladder(column(x)).sensitivity_at_distance(0, 5)] for x in space}
    prepared = Inverse().prepare(MechanismSpec(statistic, Loss(1.0)))
    laws = {x: law(prepared, x) for x in space}
    for x, y in product(space, space):
        if distance(x, y) <= rows:
            assert abs(value[x] - value[y]) <= climbed[x][0]
            assert all(climbed[x][k] <= climbed[y][k + 1] for k in range(4))
            assert max(abs(np.log(laws[x][z] / laws[y][z])) for z in laws[x]) <= 1.0 + 1e-9


def test_a_person_with_more_rows_than_declared_is_not_covered():
    """The test above can fail: two rows break a guarantee for one."""
    grid, epsilon = Grid(Fraction(1), 0, 400), 0.2
    statistic = SharedRank(Fraction(1, 2), 6, grid, Neighbours.ADD_REMOVE_CHANGE)
    space = [(0,) * a + (200,) * b + (400,) * c for a in range(6) for b in range(6 - a) for c in range(6 - a - b)]
    prepared = Inverse().prepare(MechanismSpec(statistic, Loss(epsilon)))
    laws = {x: output_law(prepared, column(x, grid)) for x in space}

    def worst(rows):
        pairs = ((x, y) for x, y in product(space, space) if distance(x, y) <= rows)
        return max(max(abs(np.log(laws[x][z] / laws[y][z])) for z in laws[x]) for x, y in pairs)

    assert worst(1) <= epsilon
    assert worst(2) > 1.2 * epsilon


def distance(x, y):
    """How many records must be added, removed or replaced: the larger of the two differences of multisets."""
    left, right = list(x), list(y)
    for value in x:
        if value in right:
            right.remove(value)
            left.remove(value)
    return max(len(left), len(right))


@pytest.mark.parametrize(
    "statistic",
    [FilteredTotal(4, GRID, Neighbours.ADD_REMOVE_CHANGE), FilteredMean(GRID, Neighbours.ADD_REMOVE_CHANGE)],
)
def test_totals_of_people_are_covered(statistic):
    """Two rows of one person at once."""
    people = for_people(statistic, 2)
    space = universe((0, 1, 4), 4)
    value = {x: people.value(column(x)) for x in space}
    climbed = {x: [int(u) for u in people.ladder(column(x)).sensitivity_at_distance(0, 5)] for x in space}
    for x, y in product(space, space):
        if distance(x, y) <= 2:
            assert abs(value[x] - value[y]) <= min(climbed[x][0], people.global_sensitivity)
            assert all(climbed[x][k] <= climbed[y][k + 1] for k in range(4))


PRIVATE = Shape(100, whole=False, nullable=True, private=True, neighbours=Neighbours.ADD_REMOVE_CHANGE)


@pytest.mark.parametrize(
    "query",
    [
        TrimmedMean(bounds=(0, 1)),
        Quantiles(bounds=(0, 1), q=[0.2, 0.4]),
        MeanVector(bounds=(0, 1)),
        Covariance(bounds=(0, 1)),
    ],
)
def test_what_is_not_proved_behind_a_filter_refuses(query):
    """Every statistic without a proof says so."""
    with pytest.raises(NotProved, match="not proved where the number of records is private"):
        query.resolve(PRIVATE)


def test_private_shapes_resolve_to_selections():
    """The relation of the selection reaches the statistic."""
    statistic = Median(bounds=(0, 1)).resolve(PRIVATE)
    assert isinstance(statistic, SharedRank)
    assert statistic.neighbours is Neighbours.ADD_REMOVE_CHANGE


def test_histograms_of_groups_and_people():
    """The sensitivities are attained."""
    edges = Histogram(edges=[0, 1, 2])
    one = edges.resolve(Shape(9, whole=True, nullable=False, private=True, neighbours=Neighbours.ADD_REMOVE))
    many = edges.resolve(
        Shape(9, whole=True, nullable=False, private=True, neighbours=Neighbours.ADD_REMOVE_CHANGE, rows_per_person=3)
    )
    assert (one.l1, one.l2_squared) == (1, 1)
    assert (many.l1, many.l2_squared) == (6, 18)
    # Three rows of one person leave one bin and enter another.
    before, after = np.array([3, 0]), np.array([0, 3])
    assert int(np.abs(before - after).sum()) == many.l1
    assert int(((before - after) ** 2).sum()) == many.l2_squared


@pytest.mark.parametrize("deepest", [1, 3])
def test_smooth_bounds_stay_smooth_where_a_cut_is_met(deepest):
    """A ladder that counts as its cap from an early public rung on: neighbours' bounds differ by e^beta at most."""
    beta = Fraction(1, 4)
    for relation in BOTH:
        bounds = {}
        for x in universe():
            exact = SharedRank(Fraction(1, 2), MOST, GRID, relation).ladder(column(x))
            bounds[x] = Ladder(
                exact.sensitivity_at_distance, exact.global_sensitivity, top=exact.top, deepest=deepest
            ).smooth(beta)
        assert max(bounds.values()) == bounds[()]
        assert min(bounds.values()) == pytest.approx(4 * math.exp(-deepest / 4), rel=1e-6)
        assert all(
            bounds[x] <= bounds[y] * Fraction(math.exp(0.25)) for x in universe() for y in neighbours(x, relation)
        )


@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize("beta", [Fraction(1, 4), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)])
def test_sublinear_bounds_are_cut_at_a_public_place(share, beta, relation):
    """All datasets of up to seven records: the cut is that of the public bound on their number, as by brute force,

    so that neighbours with another number of records share it; and bounds of neighbours differ by e^beta at most.
    """
    values, most, public = (0, 4), 7, 30
    statistic = SharedRank(share, public, GRID, relation)
    cut, rate = math.ceil(2 * math.log(public + 1) / float(beta)), float(beta)
    found = {}
    for x in universe(values, most):
        found[x] = float(statistic.ladder(column(x), "sublinear").smooth(beta))
        padded = [0] * 40 + sorted(x) + [4] * 40
        at = 40 + rank_of(share, len(x)) - 1
        reach = min(cut, 39)
        pairs = [
            (padded[j] - padded[i]) * math.exp(-rate * (j - i - 1))
            for i in range(at - reach, at + 1)
            for j in range(at, at + reach + 1)
            if i < j
        ]
        assert found[x] == pytest.approx(max(*pairs, 4 * math.exp(-rate * cut)), rel=1e-6)
    for x in universe(values, most):
        for y in neighbours(x, relation, values, most):
            assert found[x] <= found[y] * math.exp(rate) * (1 + 1e-12)


SMALLEST = [(1, (0, 1, 3, 4), GRID), (2, (0, 1, 3, 4), GRID), (3, (-3, -1, 1), Grid(Fraction(1), -3, 1))]


@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize(("k", "values", "grid"), SMALLEST)
def test_sums_of_the_smallest_of_a_selection(k, values, grid, relation):
    """Value, axioms, exact local sensitivity and interlacing chains, on all selections of up to five records.

    Selections with fewer than k records count each missing one as the upper bound.
    """
    statistic = smallest(k, grid, relation)
    assert statistic.neighbours is relation
    high = grid.ends[1]
    space = universe(values)
    value = {x: statistic.value(column(x, grid)) for x in space}
    assert value == {x: sum(sorted((*x, *[high] * k))[:k]) for x in space}
    assert violations(statistic, relation, values) == []
    links = {x: statistic.reachable_values(column(x, grid)).values(-k - 2, MOST + 2) for x in space}
    for x in space:
        assert list(links[x]) == sorted(links[x])
        assert links[x][k + 2] == value[x]
        for y in neighbours(x, relation, values):
            assert all(links[y][i - 1] <= links[x][i] <= links[y][i + 1] for i in range(1, k + MOST + 4))
        # Every record can be in the universe, so the first rung is the local sensitivity where there is room to add.
        if len(x) < MOST and relation is Neighbours.ADD_REMOVE_CHANGE and grid.ends[0] in values and high in values:
            moves = [abs(value[x] - value[y]) for y in neighbours(x, relation, values)]
            assert statistic.ladder(column(x, grid))[0] == max(moves)


@pytest.mark.parametrize("relation", BOTH)
def test_draws_of_sums_of_the_smallest_are_private(relation):
    """The exact output laws of all neighbours: within epsilon, whatever the number of records."""
    epsilon = 1.0
    prepared = Inverse().prepare(MechanismSpec(smallest(2, GRID, relation), Loss(epsilon)))
    laws = {x: output_law(prepared, column(x)) for x in universe((0, 1, 4), 4)}
    worst = max(
        abs(math.log(laws[x][z] / laws[y][z]))
        for x in laws
        for y in neighbours(x, relation, (0, 1, 4), 4)
        for z in laws[x]
    )
    assert worst <= epsilon * (1 + 1e-9)


def test_a_sum_of_the_smallest_that_drops_missing_records_is_caught():
    """The axiom check can fail: missing records that count as nothing."""

    class Dropped(SmallestTotal):
        def value(self, data):
            return int(data.ranks(1, min(self.smallest, data.records)).sum()) if data.records else 0

    honest = smallest(2, Grid(Fraction(1), 10, 14), Neighbours.ADD_REMOVE)
    broken = Dropped(honest.smallest, honest.records, honest.column, honest.answers, honest.neighbours)
    assert violations(honest, Neighbours.ADD_REMOVE, (10, 11, 14)) == []
    assert violations(broken, Neighbours.ADD_REMOVE, (10, 11, 14))


def smallest(k, grid, relation):
    """The statistic of a selection with at most MOST records."""
    shape = Shape(MOST, whole=True, nullable=False, private=True, neighbours=relation)
    return SmallestSum(k=k, bounds=grid.ends).resolve(shape)


@pytest.mark.parametrize("rate", [1e-3, 0.05, 0.7])
def test_rungs_of_means_that_are_not_looked_at_lie_below_their_bound(rate):
    """max e^{-rate (k - start)} U_k over all k, listed; a bound of 70% would be too low for some."""
    tight = 0.0
    for records, cap in ((1, 10**6), (40, 10**6), (300, 999), (300, 10**12)):
        ladder = MeanLadder(records, cap)
        for start in (0, 1, records // 2, records - 1):
            for stop in (start + 1, records + 5):
                listed = ladder.sensitivity_at_distance(start, stop).astype(float)
                most = float((listed * np.exp(-rate * np.arange(stop - start))).max())
                bound = ladder.most_decayed(start, stop, rate)
                assert bound >= most * (1 - 1e-12)
                tight = max(tight, most / bound)
    assert tight > 0.7


def test_smoothed_rungs_of_means_are_those_of_all_rungs():
    """Enclosed by reading few of them, and by listing every one."""
    decay = Fraction(99, 100)
    for records, cap in ((2_000, 10**9), (300, 10**9), (5, 1000)):
        rungs = SmoothedRungs(MeanLadder(records, cap), decay)
        low, high = rungs.enclosed(min(10, rungs.settled), 128)
        listed = [*map(int, MeanLadder(records, cap).sensitivity_at_distance(0, records)), cap]
        for k, (under, over) in enumerate(zip(low, high, strict=True)):
            exact = max(value * decay**j for j, value in enumerate(listed[k:]))
            assert under <= exact * 2**128 <= over
            assert over - under < 2**20
        assert len(rungs._read) <= records
    assert len(SmoothedRungs(MeanLadder(10**6, 10**12), decay).enclosed(10, 128)[0]) == 10
