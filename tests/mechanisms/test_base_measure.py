"""Public measures: weights add up, places and points invert each other, extremes stay private and gain."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dither as dt
from dither.mechanisms import base_measure as measure
from dither.mechanisms.base_measure import Measure
from dither.mechanisms.inverse import Inverse
from dither.mechanisms.mechanism import MechanismSpec
from dither.privacy import Loss
from dither.sources.column import Shape
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue
from dither_lab.audit.enumeration import as_column, datasets, output_law, worst_log_ratio


@given(st.integers(-1000, 1000), st.integers(5000, 10**6), st.floats(0.01, 20), st.booleans(), st.data())
def test_places_and_points_invert_each_other(low, width, epsilon, down, data):
    """Laying all weights end to end, every place belongs to one point and every point has its weight."""
    lean = Measure.leaning((low, low + width), Fraction(epsilon), down=down)
    point = data.draw(st.integers(low, low + width))
    first, after = lean.below(point), lean.below(point + 1)
    assert after > first
    assert lean.at(first) == lean.at(after - 1) == point
    assert lean.below(low) == 0
    assert lean.below(low + width + 1) == lean.total


@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_extremes_are_private_under_a_leaning_measure(rank, epsilon, monkeypatch):
    """The exact law on a whole universe stays within epsilon, and follows the declared weights."""
    monkeypatch.setattr(measure, "FEW_POINTS", 0)
    grid = Grid(Fraction(1), 0, 9)
    prepared = Inverse().prepare(MechanismSpec(RankedValue(rank, 3, grid), Loss(epsilon)))
    assert len(set(prepared.measure.weights)) > 1
    values = range(0, 10, 3)
    universe = datasets(values, 3)
    worst, *_ = worst_log_ratio(lambda x: output_law(prepared, as_column(x, grid)), values, universe)
    assert 0.5 * epsilon < worst <= epsilon * (1 + 1e-12)
    x = universe[3]
    law = output_law(prepared, as_column(x, grid))
    weight = {}
    for z in range(10):
        away = sum(v < z for v in x) if rank == 1 else sum(v > z for v in x)
        own = prepared.measure.below(z + 1) - prepared.measure.below(z)
        weight[z] = own * math.exp(-epsilon * max(away, 1))
    total = sum(weight.values())
    assert law == pytest.approx({z: w / total for z, w in weight.items()}, rel=1e-9)


def test_a_measure_that_depends_on_the_data_is_caught(monkeypatch):
    """The audit fails when the measure leans away from the largest record instead of the public bound."""
    monkeypatch.setattr(measure, "FEW_POINTS", 0)
    grid = Grid(Fraction(1), 0, 9)
    honest = Inverse().prepare(MechanismSpec(RankedValue(3, 3, grid), Loss(1.0)))

    def law(x):
        tuned = replace(honest, measure=Measure((0, max(x), 10), (5, 1)) if max(x) else honest.measure)
        return output_law(tuned, as_column(x, grid))

    worst, *_ = worst_log_ratio(law, range(0, 10, 3), datasets(range(0, 10, 3), 3))
    assert worst > 1.1


def test_leaning_pays_for_wide_bounds():
    """With a bound far above the data the maximum's error falls below half of the even measure's."""
    x = np.random.default_rng(3).random(1000) * 100
    errors = {}
    for lean in (0, measure.LEAN):
        prepared = Inverse().prepare(
            MechanismSpec(dt.Maximum(bounds=(0, 1000)).resolve(dt.Maximum(bounds=(0, 1000)).shape(x)), Loss(1.0))
        )
        if lean == 0:
            prepared = replace(prepared, measure=Measure.even(prepared.statistic.answers.ends))
        query = dt.Maximum(bounds=(0, 1000))
        column = query.read(x, query.shape(x))
        step = float(prepared.statistic.answers.step)
        errors[lean] = np.mean([abs(prepared.run(column).answer * step - x.max()) for _ in range(200)])
    assert errors[measure.LEAN] < 0.5 * errors[0]


def test_extremes_of_one_record_lean_their_own_way():
    """Of one record minimum, median and maximum are the same rank: the question decides where the mass leans."""
    wide = {"bounds": (0, 1 << 20), "step": 1}
    shape = Shape(1, whole=True, nullable=False)
    leans = [
        Inverse().prepare(MechanismSpec(query.resolve(shape), Loss(1.0))).measure.weights
        for query in (dt.Minimum(**wide), dt.Maximum(**wide), dt.Median(**wide))
    ]
    assert leans[0] == tuple(reversed(leans[1]))
    assert leans[0][0] < leans[0][-1]
    assert leans[2] == (1,)
