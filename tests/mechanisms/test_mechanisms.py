"""Mechanisms on small universes, looked at completely."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import oracle
from dither.mechanisms.inverse import Inverse
from dither.mechanisms.mechanism import MechanismSpec
from dither.mechanisms.smooth import Smooth, half_width_factor
from dither.noise.blunt_power_law import BluntPowerLaw
from dither.noise.gaussian import Gaussian
from dither.noise.heavy_tails import Cauchy, PowerLaw, Student
from dither.noise.laplace import Laplace
from dither.privacy import Loss
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue
from dither_lab.audit.enumeration import (
    as_column,
    datasets,
    neighbours,
    noise_divergence,
    output_law,
    worst_log_ratio,
)

HIGH, RECORDS = 6, 4
GRID = Grid(Fraction(1), 0, HIGH)
VALUES = range(HIGH + 1)
UNIVERSE = datasets(VALUES, RECORDS)
LAWS = [BluntPowerLaw(), PowerLaw(), Cauchy(4), Cauchy(1.5), Student(3), Laplace(), Gaussian()]


def ranked(rank=2):
    """The statistic under test."""
    return RankedValue(rank, RECORDS, GRID)


@pytest.mark.parametrize("rank", [1, 2, 4])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_inverse_is_the_exponential_mechanism(rank, epsilon):
    """Its exact output law equals the oracle's on every dataset, times the public measure of extremes."""
    prepared = Inverse().prepare(MechanismSpec(ranked(rank), Loss(epsilon)))
    one_sided = rank in (1, RECORDS) and epsilon < 3
    assert prepared.one_sided == one_sided
    weights = [prepared.measure.below(z + 1) - prepared.measure.below(z) for z in VALUES]
    for x in UNIVERSE:
        plain = oracle.inverse_law(x, rank, 0, HIGH, epsilon if one_sided else epsilon / 2)
        if rank in (1, RECORDS) and not one_sided:  # the oracle's value costs 1 there
            plain[sorted(x)[rank - 1]] *= math.exp(epsilon / 2)
        wanted = {z: weights[z] * p for z, p in plain.items()}
        law = output_law(prepared, as_column(x, GRID))
        assert law == pytest.approx({z: p / sum(wanted.values()) for z, p in wanted.items()}, rel=1e-12)


def test_the_sharper_rate_of_extremes_is_not_private_in_between():
    """Minimum and maximum may use rate = epsilon; the audit shows that other ranks may not."""
    sharp = replace(Inverse().prepare(MechanismSpec(ranked(2), Loss(1.0))), rate=Fraction(1))
    worst, *_ = worst_log_ratio(lambda x: output_law(sharp, as_column(x, GRID)), VALUES, UNIVERSE)
    assert worst > 1.2


def test_the_audit_catches_widened_ties():
    """Widening overlapping intervals is not private; the sound rule for ties is the one above."""
    epsilon = 0.1
    worst, *_ = worst_log_ratio(
        lambda x: oracle.widened_ties_law(x, 2, 0, HIGH, epsilon, 1), VALUES, datasets(VALUES, RECORDS)
    )
    assert worst > 2 * epsilon


@pytest.mark.parametrize("law", [PowerLaw(), Laplace()], ids=str)
def test_the_audit_catches_raw_local_sensitivity(law):
    """Scaling noise to the local sensitivity itself (beta ignored) is not private, and is seen not to be."""
    loss = Loss(1.0, 0.0 if law.pure else 1e-5)
    prepared = Smooth().prepare(MechanismSpec(ranked(), loss, law))

    class Raw(type(prepared.statistic)):
        def ladder(self, data, algorithm="exact"):
            ladder = super().ladder(data, algorithm)
            ladder.smooth = lambda beta: Fraction(max(ladder[0], 0)) + Fraction(1, 1000)
            return ladder

    raw = replace(prepared, statistic=Raw(2, RECORDS, GRID))
    worst = max(
        noise_divergence(raw, as_column(x, GRID), as_column(y, GRID)).delta
        for x in UNIVERSE[::7]
        for y in neighbours(x, VALUES)
    )
    assert worst > 100 * loss.delta + 1e-3


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("spread", [0.05, 0.5, 1.5])
def test_interval_factor_is_the_quantile_of_the_pivot(law, spread):
    """P(|Z| e^{-spread L} > c) is at most 5%, and at least 4.8%: an honest bar (by quadrature)."""
    from scipy.integrate import quad

    c = half_width_factor(law, spread, 0.05)

    def missed(length):
        both = float(law.tail(c * math.exp(spread * length))) + float(law.tail(c * math.exp(-spread * length)))
        return 0.5 * math.exp(-length) * both

    share = quad(missed, 0, 5, limit=300)[0] + quad(missed, 5, 80, limit=300)[0]
    assert 0.048 <= share <= 0.05


@pytest.mark.sampled(3)
@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("spread", [0.2, 1.2])
@pytest.mark.parametrize("miss", [1e-3, 1e-6])
def test_intervals_of_high_confidence_are_as_wide_as_they_claim(law, spread, miss):
    """Rare noise on the logarithm decides them (cells of equal mass missed up to 14 times too often)."""
    c = half_width_factor(law, spread, miss)
    ends = np.linspace(0.0, math.log(1 / miss) + 25.0, 60_001)
    masses = -np.diff(np.exp(-ends)) / 2
    # From above: in every cell the L with the larger share.
    above = masses @ (law.tail(c * np.exp(spread * ends[:-1])) + law.tail(c * np.exp(-spread * ends[1:])))
    below = masses @ (law.tail(c * np.exp(spread * ends[1:])) + law.tail(c * np.exp(-spread * ends[:-1])))
    assert 0.8 * miss <= below
    assert above <= miss
