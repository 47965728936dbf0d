"""Means of a private number of records: a noisy count first (docs/proofs/filtered.md, section 6)."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from dither.errors import InvalidArgument, NotApplicable
from dither.mechanisms.choice import prepare
from dither.mechanisms.error import Mixture
from dither.mechanisms.sum_and_count import quotient_above, quotient_tail
from dither.privacy import Neighbours
from dither.queries.totals import Mean
from dither.sources.column import Column
from dither.sources.grid import Grid
from dither.statistics.unknown_size import FilteredMean, for_people
from dither_lab.audit.broken_mechanisms import noise_too_small
from dither_lab.audit.exhaustive import privacy
from dither_lab.audit.laws.registry import law_named
from dither_lab.audit.universes import selection_universe

COLUMN = Grid(Fraction(1), 0, 100)
BOTH = (Neighbours.ADD_REMOVE_CHANGE, Neighbours.ADD_REMOVE)


def prepared_for(statistic, epsilon=1.0, confidence=None, mechanism="noisy_count"):
    """From public facts."""
    return prepare(statistic, epsilon=epsilon, confidence=confidence, mechanism=mechanism)[1]


def records(values):
    """A sorted column."""
    return Column(np.sort(np.array(values, dtype=np.int64)), COLUMN)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_all_that_is_released_keeps_the_loss(relation, rows, confidence):
    """Count, sum and second count, or a draw along the ladder, on all small selections: attained, and not exceeded."""
    universe = selection_universe(Mean(bounds=(0, 4)), (0, 1, 4), 3, relation, rows)
    honest = prepared_for(universe.statistic, 1.0, confidence)
    evidence = privacy(honest, universe)
    assert evidence.holds
    assert evidence.lower == pytest.approx(1.0, abs=1e-9)
    assert not privacy(noise_too_small(honest), universe).holds


def test_every_threshold_counts():
    """Neighbours on both sides of a threshold: the branches of the noisy count are the same for all data."""
    prepared = prepared_for(FilteredMean(COLUMN, BOTH[0]))
    assert list(prepared.thresholds) == sorted(prepared.thresholds)
    for share, least in zip(prepared.shares, prepared.thresholds, strict=True):
        sure = least - 3 * prepared.count_scale
        beta = float(prepared.along(share).beta)
        assert beta * (float(sure) - 1) >= math.log(float(sure)) + 3 - 1e-9
        assert beta * (float(sure) - 3) < math.log(float(sure) - 2) + 3


def test_the_ways_to_break_it_are_listed():
    """Three mistakes; the audit's tests show that each is found."""
    found = {one.name for one in law_named("noisy_count").mutants(lambda universe: prepared_for(universe.statistic))}
    assert len(found) == 3


@pytest.mark.sampled(1)
@pytest.mark.parametrize("count", [0, 3, 40, 200])
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_its_own_error_is_that_of_its_draws(count, confidence):
    """Dvoretzky-Kiefer-Wolfowitz at 1e-9 for 3,000 draws; noise a half too small is seen."""
    data = records([20] * (count // 2) + [70] * (count - count // 2))
    prepared = prepared_for(FilteredMean(COLUMN, BOTH[0]), 1.0, confidence)
    value, runs = prepared.statistic.value(data), 3_000
    allowed = math.sqrt(math.log(2 / 1e-9) / (2 * runs))
    off = np.sort([abs(prepared.run(data).number - value) for _ in range(runs)])
    (law,) = prepared.error_laws(data)

    def apart(stated):
        return max(abs(stated.beyond(float(d)) - np.mean(off > d)) for d in off[::50])

    assert apart(law) <= allowed
    if count >= 3:
        (wrong,) = prepared_for(FilteredMean(COLUMN, BOTH[0]), 2.2, confidence).error_laws(data)
        assert apart(wrong) > allowed


@pytest.mark.sampled(1)
@pytest.mark.parametrize("values", [[], [0] * 30, [100] * 400, [10, 90] * 60, [37] * 5_000])
def test_intervals_hold_the_mean_as_often_as_they_say(values):
    """At most a tenth of 1,500 is missed, but for Hoeffding's allowance at 1e-9; halves of the intervals miss more."""
    data = records(values)
    prepared = prepared_for(FilteredMean(COLUMN, BOTH[0]), 1.0, 0.9)
    value, runs = prepared.statistic.value(data), 1_500
    outcomes = [prepared.run(data) for _ in range(runs)]
    assert all(one.ends[0] <= one.number <= one.ends[1] for one in outcomes)
    allowed = math.sqrt(math.log(1e9) / (2 * runs))
    assert np.mean([not one.ends[0] <= value <= one.ends[1] for one in outcomes]) <= 0.1 + allowed
    if len(set(values)) == 2 or len(values) == 5_000:
        halved = [abs(one.number - value) > (one.ends[1] - one.ends[0]) / 8 for one in outcomes]
        assert np.mean(halved) > 0.1 + allowed


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.0])
def test_the_tail_of_two_laplace_numbers(share):
    """By the trapezoid rule over the second of them."""
    y = np.linspace(-60, 60, 400_001)
    for distance in (0.0, 0.5, 2.0, 8.0):
        away = np.stack([distance - share * y, distance + share * y])
        tail = np.where(away > 0, np.exp(-np.abs(away)) / 2, 1 - np.exp(-np.abs(away)) / 2).sum(axis=0)
        found = np.trapezoid(np.exp(-np.abs(y)) / 2 * tail, y)
        assert quotient_tail(np.array([distance]), share)[0] == pytest.approx(found, rel=1e-5)


@pytest.mark.parametrize("level", [-1.0, -0.4, 0.0, 0.2, 1.0])
@pytest.mark.parametrize(("total", "count"), [(0.0, 0.0), (0.3, 0.5), (-2.0, 4.0), (9.0, 20.0)])
def test_the_tail_of_a_noisy_quotient(level, total, count):
    """Likewise."""
    y = np.linspace(-60, 60, 400_001)
    away = level * np.maximum(count + y, 1.0) - total
    tail = np.where(away > 0, np.exp(-np.abs(away)) / 2, 1 - np.exp(-np.abs(away)) / 2)
    found = np.trapezoid(np.exp(-np.abs(y)) / 2 * tail, y)
    assert quotient_above(level, total, count) == pytest.approx(found, rel=1e-5)


def test_no_data_have_a_greater_error_than_the_bound():
    """For an assumed number of records and more of them, means at a bound and in the middle, people with rows too."""
    mean = FilteredMean(COLUMN, BOTH[0])
    for statistic in (mean, for_people(mean, 3)):
        prepared = prepared_for(statistic, 1.0)
        assert prepared.worst_case_error(0.9).expected == (statistic.global_sensitivity,)
        for least in (20, 400, 5_000):
            worst = prepared.worst_case_error(0.9, least)
            for count in (least, 2 * least, 3 * least):
                for values in ([0] * count, [0, 100] * (count // 2)):
                    (law,) = prepared.error_laws(records(values))
                    assert law.mean <= worst.expected[0]
                    assert law.beyond(worst.quantile[0]) <= 0.1 + 1e-9
                    assert Mixture([law]).quantile(0.1) <= worst.quantile[0]


def test_errors_and_widths_of_many_records():
    """What was asked of 5,000 records at epsilon 1: 1.05; with an interval 1.2, and 3.8 half-widths."""
    data = records([20, 30, 40, 70] * 1_250)
    unit = FilteredMean(COLUMN, BOTH[0]).global_sensitivity / 5_000
    for relation in BOTH:
        statistic = FilteredMean(COLUMN, relation)
        (law,) = prepared_for(statistic).error_laws(data)
        wide = prepared_for(statistic, 1.0, 0.95)
        assert law.mean <= 1.05 * unit
        assert wide.error_laws(data)[0].mean <= 1.2 * unit
        assert wide.typical_half_widths(data)[0] <= 3.8 * unit


def test_it_is_what_auto_means_for_means_of_selections():
    """Arrays with missing entries left out, and not where the number of records is public; noise by name is smooth."""
    values = [1.0, None, 3.0] * 50
    assert dt.mean(values, bounds=(0, 4), nulls="drop", epsilon=1.0).mechanism == "noisy_count"
    assert dt.mean([1.0, 3.0], bounds=(0, 4), nulls="lower", epsilon=1.0).mechanism == "worst_case"
    smooth = dt.mean(values, bounds=(0, 4), nulls="drop", epsilon=1.0, noise="power_law")
    assert smooth.mechanism == "smooth"


def test_bad_shares_and_other_statistics_are_refused():
    """Before anything is read."""
    for share in (0, 1, -0.5, 2):
        with pytest.raises(InvalidArgument, match="share"):
            dt.NoisyCount(share=share)
    with pytest.raises(NotApplicable):
        dt.median([1.0], bounds=(0, 4), epsilon=1.0, mechanism="noisy_count")
    with pytest.raises(NotApplicable):
        dt.mean([1.0], bounds=(0, 4), nulls="drop", epsilon=1.0, mechanism="noisy_count", noise="laplace")


def test_shares_are_spent_as_stated():
    """All of epsilon, in two parts; the share is an option; a delta is not spent."""
    statistic = FilteredMean(COLUMN, BOTH[0])
    for mechanism, part in (("noisy_count", Fraction(1, 50)), (dt.NoisyCount(share=0.25), Fraction(1, 4))):
        prepared = prepare(statistic, epsilon=2.0, delta=1e-6, mechanism=mechanism)[1]
        assert prepared.count_epsilon == 2 * part
        assert prepared.count_epsilon + prepared.answer_epsilon == 2
        assert (prepared.loss.epsilon, prepared.loss.delta) == (2.0, 0.0)
        assert float(prepared.loss.rho) <= 2.0 * math.tanh(1.0)
    assert replace(prepared, count_epsilon=Fraction(1)).thresholds[0] < prepared.thresholds[0]
