"""Whole algorithms without bounds, run end to end on pairs at the threshold; intervals; draws of stable bins.

Every finding of the auditor is wrong with probability at most 1e-9; other rates stand next to the tests.
"""

import functools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from conftest import trials
from dither.mechanisms.margin_test import MarginTest
from dither.mechanisms.stable_bins import StableBins
from dither.privacy import Loss
from dither.procedures.ordered import Ordered
from dither.procedures.plans import ScalePlan, plan_location, plan_range, plan_scale, plan_trimmed
from dither.procedures.unbounded import ScaleStep
from dither.procedures.unbounded_quantiles import plan_drawn_quantile, plan_drawn_range
from dither_lab.audit.attacks import HistogramAttack
from dither_lab.audit.blackbox import audit
from dither_lab.audit.propose_test_release import cascade_chance

QUARTILES = (Fraction(1, 4), Fraction(3, 4))


def runs_of(*parts):
    """Private data from (value, count) pairs."""
    return Ordered(np.repeat([float(value) for value, _ in parts], [count for _, count in parts]))


def sampler(plan, data):
    """Answers as the auditor sees them: a number, or a refusal far from all of them."""

    def draw(count):
        found = (plan.run(data).found.value for _ in range(count))
        return [-100.0 if value is None else -50.0 if value == 0 else math.log2(float(value)) for value in found]

    return draw


class Remembering(ScaleStep):
    """Margins are computed once for all runs on the same data."""

    @functools.lru_cache(maxsize=64)  # noqa: B019
    def margins(self, data):
        return super().margins(data)


STEP = Remembering(MarginTest(Fraction(1), Fraction(1, 100)), Fraction(1), "reach", 51, 151, Fraction(1))
PLAN = ScalePlan(Loss(2.0, 0.01), STEP)
HERE = runs_of((0, 100), (64, 51), (128, 4), (1e6, 46))
THERE = runs_of((0, 99), (64, 51), (128, 4), (1e6, 47))


def test_the_auditor_finds_nothing_in_what_ships_and_everything_in_what_is_broken():
    """A scale at the threshold that one change doubles: no refutation as sold, one if sold at a quarter of its price.

    Of 15 lower bounds from 4,000 runs the mean is 1.02 and the standard deviation 0.07, seven of them above the 0.5 to
    be refuted.
    """
    runs = trials(5000, 30_000)
    here, there = sampler(PLAN, HERE), sampler(PLAN, THERE)
    assert not audit(here, there, claimed=PLAN.loss, attacks=[HistogramAttack(bins=12)], samples=runs).detected
    cheap = Loss(0.5, 0.01)
    assert audit(here, there, claimed=cheap, attacks=[HistogramAttack(bins=12)], samples=runs).detected


def test_an_unsafe_scale_is_refused_and_one_that_is_not_tested_is_found():
    """Margins of zero on both sides: refused but for delta; with a test that often passes the auditor sees it.

    Of 15 lower bounds from 3,000 runs the least is 2.7 and their standard deviation 0.06, against a price of 2.
    """
    jump = runs_of((0, 150), (64, 1), (1e9, 50)), runs_of((0, 151), (1e9, 50))
    plans = [PLAN, replace(PLAN, step=replace(STEP, test=MarginTest(Fraction(1), Fraction(49, 100))))]
    runs = trials(4000, 10_000)
    found = [
        audit(
            *(sampler(plan, data) for data in jump), claimed=PLAN.loss, attacks=[HistogramAttack(bins=12)], samples=runs
        ).detected
        for plan in plans
    ]
    assert found == [False, True]


def test_refusals_happen_as_often_as_the_closed_form_says():
    """A cascade of two discretisations at the threshold; wrong with probability below 1e-9 (Hoeffding)."""
    plan = replace(PLAN, step=replace(STEP, margin_rule="bins"))
    runs = trials(1500, 20_000)
    data = runs_of((0, 100), (90, 51), (91, 4), (1e6, 46))
    refused = sum(plan.run(data).found.refused for _ in range(runs))
    assert abs(refused / runs - (1 - cascade_chance(plan.step, data))) <= math.sqrt(math.log(2e9) / (2 * runs))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["scale", "median", "range", "trimmed mean", "drawn median", "drawn range"])
def test_intervals_cover(name):
    """90% bars cover the statistic of the records at least that often; a false alarm is less likely than 1e-9."""
    n, loss, half = 4000, Loss(2.0, 1e-4), Fraction(1, 2)
    x = np.sort(np.random.default_rng(2).lognormal(0, 1, n))
    spread = x[2999] - x[999]
    plan, truth = {
        "scale": lambda: (plan_scale(n, loss, QUARTILES, "exact"), spread),
        "median": lambda: (plan_location(n, loss, half), x[1999]),
        "range": lambda: (plan_range(n, loss, QUARTILES, "exact"), spread),
        "trimmed mean": lambda: (plan_trimmed(n, loss, 400, "exact"), x[400:3600].mean()),
        "drawn median": lambda: (plan_drawn_quantile(n, loss, half, interval=True), x[1999]),
        "drawn range": lambda: (plan_drawn_range(n, loss, QUARTILES, interval=True), spread),
    }[name]()
    runs, data = trials(225, 3000), Ordered(x)
    answers = [plan.run(data, Fraction(1, 10)).found for _ in range(runs)]
    answered = [found for found in answers if not found.refused]
    assert len(answered) > 0.9 * runs
    covered = sum(
        float(found.low) <= truth * (1 + 1e-12) and truth <= float(found.high) * (1 + 1e-12) for found in answered
    )
    assert covered >= 0.9 * len(answered) - math.sqrt(len(answered) * math.log(1e9) / 2)


def test_bins_are_shown_as_often_as_the_closed_form_says():
    """Counts around the threshold; each is wrong with probability below 1e-9 (Hoeffding)."""
    bins = StableBins(Fraction(2), Fraction(1, 1000))
    runs = trials(3000, 50_000)
    for count in (bins.threshold - 2, bins.threshold, bins.threshold + 3):
        released = len(bins.release(range(runs), [count] * runs))
        assert abs(released / runs - bins.chance(count)) <= math.sqrt(math.log(2e9) / (2 * runs))
