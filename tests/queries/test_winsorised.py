"""The winsorised mean: its value, its ladder and what changes can reach, all by enumeration."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import dither as dt
import oracle
from contract.contracts import QueryContract
from dither.mechanisms.inverse import Inverse
from dither.mechanisms.mechanism import MechanismSpec
from dither.mechanisms.smooth import Smooth
from dither.privacy import Loss
from dither.queries.winsorised import WinsorisedMean
from dither.sources.column import Shape
from dither_lab.audit.enumeration import as_column, datasets, neighbours, noise_divergence, output_law, worst_log_ratio

VALUES = range(4)


def statistic_of(replaced, records, high=3):
    """The statistic that replaces so many of so many records at either end."""
    query = WinsorisedMean(share=Fraction(replaced, records), bounds=(0, high))
    return query.resolve(Shape(records, whole=True, nullable=False))


def total(replaced):
    """By the definition: sort, replace, add up."""

    def winsorised(x):
        ordered = sorted(x)
        low, high = ordered[replaced], ordered[len(x) - 1 - replaced]
        return sum(min(max(one, low), high) for one in ordered)

    return winsorised


class TestWinsorisedTotals(QueryContract):
    """Values, both axioms, and every rung against the largest local sensitivity; rungs of 70% are caught."""

    values = VALUES
    exact = False

    def statistics(self, records):
        for replaced in range((records - 1) // 2 + 1):
            yield statistic_of(replaced, records), total(replaced)


@pytest.mark.parametrize(("replaced", "records"), [(0, 1), (0, 3), (1, 3), (1, 4), (1, 5), (2, 5)])
def test_the_ladder_is_near_to_the_exact_one(replaced, records):
    """At most three times as large, equal to it where both cuts are the median; the global sensitivity is attained."""
    values = range(3 if records == 5 else 4)
    statistic, f = statistic_of(replaced, records, high=max(values)), total(replaced)
    largest = 0
    for x in datasets(values, records):
        truth = oracle.exact_ladder(f, x, values, records)
        ours = [
            int(one) for one in statistic.ladder(as_column(x, statistic.records_on)).sensitivity_at_distance(0, records)
        ]
        assert all(t <= u <= 3 * t for u, t in zip(ours, truth, strict=True)), x
        assert records != 2 * replaced + 1 or ours == truth
        largest = max(largest, *truth)
    assert largest == statistic.global_sensitivity


@pytest.mark.parametrize(("replaced", "records"), [(0, 2), (1, 3), (1, 4), (2, 5)])
def test_reachable_values_are_what_changes_can_reach(replaced, records):
    """The least and the largest value within k changes, on every dataset; both ends of the grid at the public ends."""
    statistic, f = statistic_of(replaced, records), total(replaced)
    everything = {y: f(y) for y in product(VALUES, repeat=records)}
    for x in datasets(VALUES, records):
        chain = statistic.reachable_values(as_column(x, statistic.records_on))
        links = chain.values(-records, records)
        for k in range(records + 1):
            near = [v for y, v in everything.items() if sum(a != b for a, b in zip(x, y, strict=True)) <= k]
            assert (links[records - k], links[records + k]) == (min(near), max(near)), (x, k)
        ends = chain.values(chain.bottom, chain.bottom)[0], chain.values(chain.top, chain.top)[0]
        assert ends == statistic.answers.ends


@pytest.mark.slow
def test_it_is_private_on_a_whole_universe():
    """Exact divergences between all neighbours of four records with five values; 30% less noise is caught."""
    statistic, values = statistic_of(1, 4, high=4), range(5)
    column = {x: as_column(x, statistic.records_on) for x in datasets(values, 4)}
    smooth = Smooth().prepare(MechanismSpec(statistic, Loss(1.0)))

    def smooth_loss(one):
        return max(noise_divergence(one, column[x], column[y]).epsilon for x in column for y in neighbours(x, values))

    assert smooth_loss(smooth) <= 1.0 + 1e-9
    assert smooth_loss(replace(smooth, point=replace(smooth.point, alpha=smooth.point.alpha * Fraction(10, 7)))) > 1.0

    def inverse_loss(asked):
        prepared = Inverse().prepare(MechanismSpec(statistic, Loss(asked)))
        return worst_log_ratio(lambda x: output_law(prepared, column[x]), values, column)[0]

    assert 1.0 / 1.3 < inverse_loss(1.0) <= 1.0 + 1e-12
    assert inverse_loss(1.3) > 1.0


def test_outliers_hardly_move_it_and_the_noise_is_fitted():
    """A twentieth of the records at the bound: the answer stays, within far less than the worst case allows.

    The interval is drawn from the data; a miss by more than 2,000 has a probability below e^-30.
    """
    pay = np.linspace(30_000, 70_000, 20_000)
    pay[::20] = 600_000
    ordered = np.sort(pay)
    ordered[:2_000], ordered[-2_000:] = ordered[2_000], ordered[-2_001]
    query = dt.WinsorisedMean(bounds=(0, 600_000))
    assert dt.inspect.value(query, pay) == pytest.approx(ordered.mean(), rel=1e-9)
    release = dt.winsorised_mean(pay, bounds=(0, 600_000), epsilon=1.0)
    assert release.mechanism == "inverse"
    assert abs(release.value - ordered.mean()) < 2_000
    assert release.query == "0.1 winsorised mean"


def test_what_is_no_share_and_a_private_number_of_records_are_refused():
    """By name, with nothing charged."""
    for share in (-0.1, 0.5, 1):
        with pytest.raises(dt.InvalidArgument, match="share"):
            dt.winsorised_mean([1.0, 2.0], share=share, bounds=(0, 3), epsilon=1.0)
    session = dt.open({"age": [1.0, 2.0]}, columns={"age": dt.Real(0, 100)}, budget=dt.Budget(1.0))
    with pytest.raises(dt.NotProved):
        session.ask(dt.WinsorisedMean("age"), epsilon=0.5)
    assert session.budget.spent == dt.Loss(0.0)


def test_totals_beyond_64_bits_are_exact():
    """m times a rung of a grid of 2**52 steps: Python's integers."""
    bounds, n = (0, 2**52), 9_001
    query = dt.WinsorisedMean(share=Fraction(4_000, n), bounds=bounds, step=1)
    x = np.where(np.arange(n) < 4_001, 0.0, 2.0**52)
    statistic = query.resolve(query.shape(x))
    ladder = statistic.ladder(query.read(x, query.shape(x)))
    assert ladder[0] == ladder.global_sensitivity == 4_001 * 2**52
    assert dt.ask(query, x, epsilon=1.0, mechanism="smooth").value is not None
