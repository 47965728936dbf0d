"""The middle score: private for every relation, drawn by its law, right only where the grid is the records' unit."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from dither.errors import NotApplicable
from dither.mechanisms.choice import applicable, prepare
from dither.mechanisms.mechanism import MechanismSpec
from dither.mechanisms.permute_and_flip import MiddleScore
from dither.noise.permuted import admitted_chances
from dither.privacy import Loss, Neighbours
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue, rank_of
from dither.statistics.unknown_size import SharedRank
from dither_lab.audit.enumeration import as_column, datasets, neighbours
from dither_lab.audit.exhaustive import keeps, worst_pair

ALARM = 1e-9
GRID = Grid(Fraction(1), 0, 5)


def replaced(share, records=4):
    """The mechanism's statistic and all pairs of columns that differ in one record."""
    columns = {x: as_column(x, GRID) for x in datasets(range(6), records)}
    pairs = [(columns[x], columns[y]) for x in columns for y in neighbours(x, range(6))]
    return RankedValue(rank_of(share, records), records, GRID, share), pairs


def come_or_gone(share, records=4):
    """The same where one record is added or removed."""
    columns = {x: as_column(x, GRID) for size in range(1, records + 1) for x in datasets(range(6), size)}
    pairs = []
    for x, column in columns.items():
        for more in (tuple(sorted((*x, value))) for value in range(6)):
            if more in columns:
                pairs += [(column, columns[more]), (columns[more], column)]
    return SharedRank(share, records, GRID, Neighbours.ADD_REMOVE), pairs


@pytest.mark.parametrize("universe", [replaced, come_or_gone])
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 4), Fraction(2, 3)])
def test_private_on_a_whole_universe(universe, share):
    """The largest log-ratio of all neighbours stays within epsilon, and exceeds a loss 1.3 times smaller."""
    statistic, pairs = universe(share)
    prepared = MiddleScore().prepare(MechanismSpec(statistic, Loss(2.0)))
    lower, upper, _ = worst_pair(prepared, pairs)
    assert keeps(lower, upper, 2.0)
    assert not keeps(lower, upper, 2.0 / 1.3)


def test_draws_follow_the_law():
    """4,000 answers against scores counted by hand; false alarms: at most 1e-9.  Another rate does not pass."""
    records, count = (0, 2, 2, 3, 5, 5, 5), 4_000
    statistic = RankedValue(4, 7, GRID, Fraction(1, 2))
    prepared = MiddleScore().prepare(MechanismSpec(statistic, Loss(1.5)))
    column = as_column(records, GRID)
    scores = np.array([abs(sum(x < z for x in records) - sum(x > z for x in records)) for z in range(6)])
    assert prepared.costs(column).tolist() == scores.tolist()
    drawn = Counter(prepared.run(column).number for _ in range(count))
    room = math.sqrt(math.log(2 * 6 / ALARM) / (2 * count))

    def passes(rate):
        law = admitted_chances(scores, rate)
        return all(abs(drawn[z] / count - law[z]) <= room for z in range(6))

    assert passes(1.5 / 4)
    assert not passes(1.5 / 4 * 2.5)


def test_the_least_score_is_found_wherever_zero_is_crossed():
    """For all columns of three records: every point of the least score is admitted by every coin, and no other."""
    statistic = RankedValue(2, 3, GRID, Fraction(1, 2))
    prepared = MiddleScore().prepare(MechanismSpec(statistic, Loss(1.0)))
    for x in itertools.combinations_with_replacement(range(6), 3):
        column = as_column(x, GRID)
        scores = prepared.costs(column)
        admits = prepared.admission(column, statistic.reachable_values(column))
        assert [admits(z, 0) for z in range(6)] == (scores == scores.min()).tolist()
        assert [admits(z, 2) for z in range(6)] == (scores <= scores.min() + 2).tolist()


def error(records, bounds, epsilon, mechanism):
    """The expected error of a median, by the mechanism's own law."""
    query = dt.Median(bounds=bounds, step=1)
    shape = query.shape(records)
    statistic, column = query.resolve(shape), query.read(records, shape)
    return prepare(statistic, epsilon=epsilon, mechanism=mechanism)[1].error_laws(column)[0].mean


def test_it_finds_the_median_of_whole_ages_and_loses_that_of_two_values():
    """A tenth of the error on tied ages; an error of 50 at every epsilon on records of 0 and 100: never a default."""
    ages = np.clip(np.rint(np.random.default_rng(5).normal(45, 18, 10_000)), 0, 120).astype(np.int64)
    assert error(ages, (0, 120), 0.1, "middle_score") < 0.5 * error(ages, (0, 120), 0.1, "inverse")
    two = np.repeat([0, 100], [450, 550])
    for epsilon in (0.1, 1.0, 10.0):
        assert error(two, (0, 100), epsilon, "middle_score") > 45
    assert error(two, (0, 100), 1.0, "inverse") < 0.01
    statistic = dt.Median(bounds=(0, 100), step=1).resolve(dt.Median(bounds=(0, 100), step=1).shape(two))
    assert applicable(statistic)[0] == "inverse"


def test_selections_of_a_private_number_are_answered():
    """Behind a filter, an empty selection included; the interval is that of any drawn answer."""
    ages = np.array([30, 31, 31, 32, 33] * 40)
    with dt.open(
        {"age": ages, "group": ["a", "b"] * 100},
        columns={"age": dt.Integer(0, 100), "group": dt.Category(["a", "b", "c"])},
        budget=dt.Budget(epsilon=100.0),
    ) as session:
        answered = session.ask(dt.Median("age"), epsilon=10.0, where="group = 'a'", mechanism="middle_score")
        assert 29 <= answered.value <= 34
        assert answered.mechanism == "middle_score"
        low, high = answered.interval
        assert low <= high
        empty = session.ask(dt.Median("age"), epsilon=1.0, where="group = 'c'", mechanism="middle_score")
        assert 0 <= empty.value <= 100


def test_what_it_is_not_for_is_refused():
    """Extremes, ranks without a share and fine grids."""
    x = [1, 2, 3]
    for ask in (
        lambda: dt.minimum(x, bounds=(0, 10), step=1, epsilon=1, mechanism="middle_score"),
        lambda: dt.ask(dt.OrderStatistic(bounds=(0, 10), step=1, rank=2), x, epsilon=1, mechanism="middle_score"),
        lambda: dt.median(x, bounds=(0, 10), epsilon=1, mechanism="middle_score"),
    ):
        with pytest.raises(NotApplicable, match="mechanism"):
            ask()
