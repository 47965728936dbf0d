"""Draws by counts have the law of draws that list all links, at every epsilon, and do not work more at a small one."""

import math
from collections import Counter
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import dither as dt
from dither.mechanisms import counted_draw
from dither.mechanisms.base_measure import Measure
from dither.mechanisms.counted_draw import draw_by_counts
from dither.mechanisms.exponential import ExponentialDraw, Shells
from dither.mechanisms.half_width_draw import LEANS, HalfWidthDraw, around_answer
from dither.mechanisms.permute_and_flip import FlippedDraw
from dither.noise.discrete_exponential import window
from dither.privacy import Loss, Neighbours
from dither.sensitivity import sorted_chain
from dither.sensitivity.sorted_chain import MOST_LINKS
from dither.sources.column import Column
from dither.sources.grid import Grid
from dither.statistics.order import PaddedRank, RankedValue
from dither.statistics.unknown_size import SharedRank, for_people, reachable_rank, reachable_ranks

TOP = 12
GRID = Grid(Fraction(1), 0, TOP)
RATES = (Fraction(1, 3), Fraction(1, 10**4), Fraction(1, 10**9))


class Misled(Column):
    """Records of which what lies near a rank is anybody's guess."""

    __slots__ = ("guesses",)

    def near(self, ranks):
        """Any points."""
        return np.array(self.guesses[: len(ranks)], dtype=np.int64)


def column(records, guesses=None):
    """Records of the small grid; with ``guesses`` cuts are where these say."""
    data = (Column if guesses is None else Misled)(np.array(records, dtype=np.int64), GRID)
    if guesses is not None:
        data.guesses = guesses
    return data


def statistics(records):
    """Order statistics of so many records, of the sorts that have a chain."""
    for share in (Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)):
        for neighbours in (Neighbours.ADD_REMOVE_CHANGE, Neighbours.ADD_REMOVE):
            yield SharedRank(share, 9, GRID, neighbours)
            yield for_people(SharedRank(share, 9, GRID, neighbours), 2)
    for rank in range(1, records + 1):
        yield RankedValue(rank, records, GRID)
        yield for_people(RankedValue(rank, records, GRID), 3)
    yield PaddedRank(5, 9, GRID)


def cost_of_each(shells):
    """The cost of every grid point, by listing all shells."""
    costs = {}
    for cost in range(1, shells.shell_count + 1):
        (size,) = shells.counts(1, cost)[-1:]
        for place in range(size):
            costs[shells.point(cost, place)] = cost
    return costs


class Coin:
    """A geometric number that writes down what it is compared with, and admits it."""

    def __init__(self):
        self.asked = []

    def __ge__(self, more):
        self.asked.append(more)
        return True


def every_draw(chain, measure, offset, rate, reach):
    """Of each place of each run the point that it stands for, its cost as the draw has it, and its coin's exponent."""
    results, run = [], 0
    runs, coins = mock.Mock(), mock.Mock()
    with (
        mock.patch.object(counted_draw, "CANDIDATES", 1),
        mock.patch.object(counted_draw, "draw_indices", runs),
        mock.patch.object(counted_draw, "uniform_integer") as places,
        mock.patch.object(counted_draw, "geometric", coins),
    ):
        costs = weights = [1]
        while run < len(weights):
            runs.return_value, place = [run], 0
            while place < weights[run]:
                places.return_value, coins.return_value = place, Coin()
                point = draw_by_counts(chain, measure, offset, rate, reach)
                costs, weights = runs.call_args.args[0], runs.call_args.kwargs["weights"]
                (more,) = coins.return_value.asked
                results.append((point, costs[run] + more, more))
                place += 1
            run += 1
    return results


RECORDS = st.lists(st.integers(0, TOP), max_size=7)


@settings(max_examples=40, deadline=None)
@given(RECORDS, st.lists(st.integers(0, TOP), max_size=4) | st.none(), st.sampled_from(RATES), st.data())
def test_places_times_chances_are_the_weights_of_the_listed_draw(records, guesses, rate, data):
    """Exactly: with weight e^{-rate least} a run, a place of it at random and a coin e^{-rate more}, each point has as
    many places as it weighs, and least + more is its cost by listing all shells; wherever the cuts are."""
    statistic = data.draw(st.sampled_from(list(statistics(len(records)))))
    measure = data.draw(st.sampled_from([Measure.even(GRID.ends), Measure((0, 4, 9, TOP + 1), (5, 1, 2))]))
    offset = data.draw(st.sampled_from([0, 1])) if statistic.monotone_cost else 1
    chain = statistic.reachable_values(column(records, guesses))
    shells = Shells(chain, offset, Measure.even(GRID.ends))
    costs = cost_of_each(shells)
    assert sorted(costs) == list(range(TOP + 1))
    results = every_draw(chain, measure, offset, rate, min(window(measure.total, rate), shells.shell_count))
    assert {(point, cost) for point, cost, _ in results} == set(costs.items())
    assert all(more >= 0 for *_, more in results)
    places = Counter(point for point, *_ in results)
    assert places == {point: measure.below(point + 1) - measure.below(point) for point in range(TOP + 1)}


def test_a_least_cost_that_is_no_bound_would_be_seen():
    """The same check fails where a run is drawn by the cost of its first point: the coin would have to exceed 1."""
    chain = RankedValue(3, 5, GRID).reachable_values(column([2, 4, 6, 8, 10], [2]))
    honest = chain.changes_to
    with mock.patch.object(type(chain), "changes_to", lambda _, below, up_to: honest(below, below)):
        results = every_draw(chain, Measure.even(GRID.ends), 1, Fraction(1, 3), 10)
    assert {(point, cost) for point, cost, _ in results} != set(
        cost_of_each(Shells(chain, 1, Measure.even(GRID.ends))).items()
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("epsilon", "many"), [(2.0, 4000), (0.1, 1000), (1e-6, 1000)])
@pytest.mark.parametrize("guesses", [None, [1, 11]], ids=["cut at records", "cut anywhere"])
def test_drawn_answers_have_their_law(epsilon, many, guesses, monkeypatch):
    """Against weights from the definition, by chi-square: a false alarm has a chance of 1e-10.

    At epsilon 2 a rate that is 30% too small fails, but with a chance below 1e-15.
    """
    monkeypatch.setattr(sorted_chain, "MOST_LINKS", 0)
    records = [1, 3, 3, 3, 8, 9, 12]
    drawn = ExponentialDraw.of(RankedValue(4, 7, GRID), Loss(epsilon), Fraction(epsilon), None)
    data = column(records, guesses)
    met = Counter(drawn.run(data).number for _ in range(many))
    counts = [met[point] for point in range(TOP + 1)]

    def expected(rate):
        costs = [1 + max(0, sum(x < z for x in records) - 3, 4 - sum(x <= z for x in records)) for z in range(TOP + 1)]
        weights = np.exp(-rate * np.array(costs, dtype=float))
        return many * weights / weights.sum()

    assert stats.chisquare(counts, expected(epsilon / 2)).pvalue > 1e-10
    if epsilon == 2.0:
        assert stats.chisquare(counts, expected(0.7 * epsilon / 2)).pvalue < 1e-10


@settings(max_examples=60, deadline=None)
@given(RECORDS, st.integers(0, TOP), st.sampled_from([Fraction(1), Fraction(1, 20)]), st.data())
def test_intervals_cost_the_same_by_counts(records, answer, epsilon, data):
    """Every candidate, for every chain of its kind."""
    statistic = data.draw(st.sampled_from(list(statistics(len(records)))))
    chain, drawn = statistic.reachable_values(column(records)), HalfWidthDraw(epsilon, Fraction(1, 20))
    nested = [(item,) for item in around_answer(answer, GRID.ends)]
    for lean in LEANS:
        for target in {0, 2, drawn.target(len(nested), lean)}:
            by_links = drawn.costs(nested, [(chain, chain)], target, lean)
            with mock.patch.object(sorted_chain, "MOST_LINKS", 0):
                assert drawn.costs(nested, [(chain, chain)], target, lean) == by_links


@settings(max_examples=40, deadline=None)
@given(RECORDS, st.data())
def test_coins_admit_the_same_points_by_counts(records, data):
    """Permute and flip: the same points at every number that a coin shows, and the same estimates."""
    statistic = data.draw(st.sampled_from(list(statistics(len(records)))))
    flipped, private = FlippedDraw(statistic, Loss(0.1), Fraction(1, 20), None), column(records)
    chain = statistic.reachable_values(private)

    def admitted():
        admits = flipped.admission(private, chain)
        return [admits(point, above) for point in range(TOP + 1) for above in range(12)]

    by_links, costs = admitted(), flipped.costs(private)
    with mock.patch.object(sorted_chain, "MOST_LINKS", 0):
        assert admitted() == by_links
        assert flipped.costs(private).tolist() == costs.tolist()


def test_one_rank_at_a_time_is_that_of_many():
    """Of additions and removals, in both directions and far beyond the records."""
    for share in (Fraction(1, 10), Fraction(1, 2), Fraction(2, 3)):
        for records in (0, 1, 6, 25):
            ranks = reachable_ranks(share, records, -80, 80).tolist()
            assert [reachable_rank(share, records, changes) for changes in range(-80, 81)] == ranks


class Watched(Column):
    """Records that write down how much is asked of them."""

    __slots__ = ("asked",)

    def near(self, ranks):
        """Counted."""
        self.asked.append(len(ranks))
        return super().near(ranks)

    def below(self, points):
        """Counted."""
        self.asked.append(len(points))
        return super().below(points)

    def ranks(self, first, last):
        """Counted."""
        self.asked.append(last - first + 1)
        return super().ranks(first, last)


def test_the_work_does_not_grow_as_one_over_epsilon():
    """Points and ranks that are asked for, of a million records: as few at 1e-9 as at 5e-4, and far below the number
    of ranks that matter."""
    grid = Grid.between((0, 600_000))
    statistic = RankedValue(500_000, 1_000_000, grid)
    values = np.sort(grid.quantise(np.random.default_rng(3).lognormal(11, 0.6, 1_000_000), 0))
    for epsilon in (5e-4, 1e-4, 1e-5, 1e-6, 1e-9):
        loss, interval = Loss(epsilon), HalfWidthDraw(Fraction(epsilon) * 2 / 5, Fraction(1, 20))
        prepared = ExponentialDraw.of(statistic, loss, Fraction(epsilon) * 3 / 5, interval, rounded=True)
        data = Watched(values, grid, ordered=True)
        data.asked = []
        prepared.run(data)
        assert prepared.draw_length == 0
        assert window(prepared.measure.total, prepared.rate) > MOST_LINKS
        # Of rejections there are three batches at most, but with a chance of 1e-25.
        cuts = 2 * (math.ceil(math.log(prepared.measure.total) + 28) + 2)
        assert sum(data.asked) <= cuts + 2 * cuts + 3 + 3 * 2 * counted_draw.CANDIDATES + 4 * 130


@pytest.mark.parametrize("confidence", [None, 0.95])
def test_a_median_answers_at_the_least_epsilon_there_is(confidence):
    """Whose number of records is public or private; above a billionth no epsilon is refused."""
    records, options = np.arange(600_000.0), {"bounds": (0, 600_000), "epsilon": 1e-9, "confidence": confidence}
    assert dt.median(records, **options).loss.epsilon == 1e-9
    assert dt.median(records, **options, nulls="drop").loss.epsilon == 1e-9
    assert dt.quantile(records, q=0.9, **options).loss.epsilon == 1e-9
    assert dt.maximum(records, **options).loss.epsilon == 1e-9
    assert dt.quantiles(records, q=[0.1, 0.5], **options).loss.epsilon == 1e-9
