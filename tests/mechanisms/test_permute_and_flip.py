"""Permute and flip: its law by all orders and coins, exact draws, what it never exceeds, and what it is not for."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from contract.contracts import MechanismContract
from dither.errors import NotApplicable
from dither.mechanisms.choice import prepare
from dither.mechanisms.mechanism import MechanismSpec
from dither.mechanisms.permute_and_flip import PermuteAndFlip
from dither.noise.discrete_exponential import settle_geometric
from dither.noise.entropy import LazyBits
from dither.noise.permuted import admitted_chances, first_admitted
from dither.noise.vectors import geometric_draws
from dither.privacy import Loss
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue
from dither_lab.audit.enumeration import as_column
from dither_lab.audit.laws.registry import law_named, published

ALARM = 1e-9


class TestPermuteAndFlip(MechanismContract):
    """All neighbours of a small universe, and a smaller loss that is seen to be exceeded."""

    cases = ((PermuteAndFlip(), None, Loss(1.0)), (PermuteAndFlip(), None, Loss(3.0)))


def by_all_orders(costs, rate):
    """The law of the description: every order of the points, every outcome of their coins."""
    chances = [0.0] * len(costs)
    coins = [math.exp(-rate * (cost - min(costs))) for cost in costs]
    orders = list(itertools.permutations(range(len(costs))))
    for order in orders:
        refused = 1.0
        for point in order:
            chances[point] += refused * coins[point] / len(orders)
            refused *= 1.0 - coins[point]
    return chances


@pytest.mark.parametrize("costs", [[0, 1], [3, 3, 3], [2, 0, 1, 1, 5], [0, 4, 1, 2, 2, 3]])
def test_three_ways_to_the_law_agree(costs):
    """All orders and coins, the integral in floats, and the laboratory's powers of the time."""
    for rate in (0.05, 0.5, 3.0):
        listed = by_all_orders(costs, rate)
        assert admitted_chances(np.array(costs), rate) == pytest.approx(listed, rel=1e-9)
        law = law_named("permute_and_flip")
        held = {point: {cost: 1} for point, cost in enumerate(costs)}
        rated = type("Rated", (), {"rate": Fraction(rate)})
        balls = law.flipped(rated, held, (0, len(costs) - 1)).law()
        assert [balls[point] for point in range(len(costs))] == pytest.approx(listed, rel=1e-12)


def looks_right(costs, rate, drawn_rate, count=4_000):
    """Whether draws at one rate look like the law of another, by a Hoeffding bound on each point."""
    law = by_all_orders(costs, float(rate))
    drawn = Counter(
        first_admitted(len(costs), lambda point, above: costs[point] - min(costs) <= above, drawn_rate)
        for _ in range(count)
    )
    room = math.sqrt(math.log(2 * len(costs) / ALARM) / (2 * count))
    return all(abs(drawn[point] / count - law[point]) <= room for point in range(len(costs)))


def test_draws_follow_the_law():
    """False alarms: at most 1e-9.  Coins of a rate 1.6 times as large do not pass."""
    costs = [2, 1, 1, 1, 0, 1, 3]
    assert looks_right(costs, Fraction(1), Fraction(1))
    assert not looks_right(costs, Fraction(1), Fraction(8, 5))


def test_the_mechanism_draws_by_its_costs():
    """4,000 answers about six records against the law of enumerated costs; false alarms: at most 1e-9."""
    grid, records, count = Grid(Fraction(1), 0, 8), (1, 3, 3, 4, 7, 8), 4_000
    prepared = PermuteAndFlip().prepare(MechanismSpec(RankedValue(3, 6, grid), Loss(2.0)))
    column = as_column(records, grid)
    costs = [max(0, sum(x < z for x in records) - 2, 3 - sum(x <= z for x in records)) for z in range(9)]
    law = admitted_chances(np.array(costs), 1.0)
    drawn = Counter(prepared.run(column).number for _ in range(count))
    room = math.sqrt(math.log(2 * 9 / ALARM) / (2 * count))
    assert all(abs(drawn[z] / count - law[z]) <= room for z in range(9))
    assert prepared.costs(column).tolist() == costs
    stated = law_named("permute_and_flip").answers(prepared, published(prepared), column)
    assert [stated[(z,)] for z in range(9)] == pytest.approx(law.tolist(), rel=1e-9)


def test_costs_are_never_above_those_of_the_exponential_mechanism():
    """On all multisets of costs of five points: no cost or more is likelier than in the exponential mechanism."""
    for costs in itertools.combinations_with_replacement(range(5), 5):
        for rate in (0.1, 0.7, 2.5):
            flipped = admitted_chances(np.array(costs), rate)
            weights = np.exp(-rate * np.array(costs))
            drawn = weights / weights.sum()
            for least in range(1, 5):
                beyond = np.array(costs) >= least
                assert flipped[beyond].sum() <= drawn[beyond].sum() * (1 + 1e-9)


def test_it_errs_less_than_inverse_on_coarse_grids():
    """Expected errors of the median of whole ages by both mechanisms' own laws."""
    x = np.clip(np.rint(np.random.default_rng(3).normal(45, 18, 2_000)), 0, 120).astype(np.int64)
    query = dt.Median(bounds=(0, 120))
    shape = query.shape(x)
    statistic, column = query.resolve(shape), query.read(x, shape)
    for epsilon, most in ((0.1, 0.95), (0.5, 0.8)):
        flipped, drawn = (
            prepare(statistic, epsilon=epsilon, mechanism=name)[1].error_laws(column)[0].mean
            for name in ("permute_and_flip", "inverse")
        )
        assert flipped < most * drawn


def test_it_has_no_bounded_range():
    """The logarithms of its ratios for one pair of neighbours span more than epsilon, so no rho of a draw is stated."""
    costs, rate = np.array([0, 1]), 0.05
    ratios = np.log(admitted_chances(costs, rate) / admitted_chances(costs[::-1], rate))
    coin = math.exp(-rate)
    assert ratios == pytest.approx([math.log((2 - coin) / coin), -math.log((2 - coin) / coin)], rel=1e-9)
    assert np.ptp(ratios) > 1.9 * (2 * rate)
    assert np.abs(ratios).max() <= 2 * rate
    loss = prepare(RankedValue(5, 10, Grid(Fraction(1), 0, 10)), epsilon=0.5, mechanism="permute_and_flip")[1].loss
    assert loss.rho == Loss(0.5).rho > Loss.bounded_range(0.5).rho


def test_intervals_cover_and_state_what_they_add():
    """50 releases at a confidence of 1 - 1e-11: none misses (false alarms at most 50e-11)."""
    x = np.repeat(np.arange(30, 50), 20)
    for _ in range(50):
        release = dt.median(x, bounds=(0, 120), epsilon=5.0, mechanism="permute_and_flip", confidence=1 - 1e-11)
        low, high = release.interval
        assert low <= 39 <= high
    assert release.loss.epsilon == 5.0
    assert Loss.bounded_range(5.0).rho < release.loss.rho < Loss(5.0).rho


def test_fine_grids_and_several_numbers_are_refused():
    """They gain nothing by it, and the error says what to ask instead."""
    for bounds, step in (((0, 100), None), ((0, 5_000), 1)):
        with pytest.raises(NotApplicable, match="inverse"):
            dt.median([1.0, 2.0], bounds=bounds, step=step, epsilon=1, mechanism="permute_and_flip")
    with pytest.raises(NotApplicable, match="mechanism"):
        dt.quantiles([1.0, 2.0], q=[0.2, 0.5], bounds=(0, 10), step=1, epsilon=1, mechanism="permute_and_flip")
    with pytest.raises(NotApplicable, match="noise"):
        dt.median([1.0], bounds=(0, 10), step=1, epsilon=1, mechanism="permute_and_flip", noise="laplace")


@pytest.mark.parametrize("rate", [Fraction(1, 20), Fraction(7, 3), Fraction(1, 10**6)])
def test_many_coins_are_those_of_one_by_one(rate):
    """Floats decide from the same bits as balls do: 3,000 words, and some near the ends of the unit interval."""
    words = np.random.default_rng(8).integers(1, 2**64, 3_000, dtype=np.uint64)
    words[:5] = [1, 2**20, 2**63, 2**64 - 2, 2**64 - 1]
    given = iter([words.tobytes()])
    drawn = geometric_draws(len(words), rate, source=lambda count: next(given, b"\x55" * count))
    singly = [LazyBits.continuing([int(word)], 64, lambda count: b"\x55" * count) for word in words]
    assert drawn == [settle_geometric(rate, bits) for bits in singly]
