"""The cube's noise: the law of its coordinates, its density ratios, and what it gains on attribute means."""

import math

import numpy as np
import pytest

import dither as dt
from dither.mechanisms.choice import prepare
from dither.mechanisms.k_norm import CubeMarginal
from dither.sources.column import Table
from dither.statistics.bit_workloads import attribute_means
from dither.statistics.workloads import WorkloadCounts

ALARM = 1e-9


def counts_of(attributes, records=10**6):
    """Attribute means of so many records, far from both ends of the range, and data for them."""
    statistic = WorkloadCounts(attribute_means(attributes), tuple("x" * attributes), records)
    return statistic, Table([Half()] * attributes)


class Half:
    """A column of a million bits of which half are ones: nobody needs to add them up."""

    def total(self):
        """The number of ones."""
        return 500_000


@pytest.mark.parametrize("dimension", [1, 2, 3, 64, 3000])
def test_a_coordinate_is_a_mixture_of_gamma_lengths(dimension):
    """P(|z_j| > t) is the mean of the tails of Gamma(1), ..., Gamma(d), far out as well."""
    from scipy.special import gammaincc

    law = CubeMarginal(dimension)
    for t in (0.0, 0.3, dimension / 3, dimension - 0.5, dimension + 0.5, 1.5 * dimension):
        mixed = np.mean(gammaincc(np.arange(1, dimension + 1), t))
        assert law.tail(np.array([t]))[0] == pytest.approx(mixed, rel=1e-9)
    places = np.linspace(0, 2 * dimension + 60, 6_001)
    assert np.trapezoid(law.tail(places), places) == pytest.approx(law.typical, rel=1e-3)
    assert law.tail(np.array([law.quantile(0.05)]))[0] <= 0.05
    assert law.tail(np.array([law.quantile(0.05) * (1 - 1e-6)]))[0] > 0.05


def test_ratios_of_answers_are_within_epsilon_and_attain_it():
    """Two numbers: the probability of every cell by integrating the density over it, for centres one step apart."""
    epsilon, points = 0.8, (np.arange(40) + 0.5) / 40 - 0.5

    def chance(cell, centre):
        x, y = np.meshgrid(cell[0] - centre[0] + points, cell[1] - centre[1] + points)
        return np.exp(-epsilon * np.maximum(np.abs(x), np.abs(y))).mean()

    cells = [(a, b) for a in range(-6, 7) for b in range(-6, 7)]
    for there in ((1, 0), (1, 1), (1, -1)):
        losses = [math.log(chance(cell, (0, 0)) / chance(cell, there)) for cell in cells]
        assert max(map(abs, losses)) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("shrunk", [1.0, 0.7])
def test_draws_follow_the_law_of_a_coordinate(shrunk):
    """1,500 draws of three numbers (Dvoretzky-Kiefer-Wolfowitz, false alarm 1e-9); noise 30% too small is found."""
    statistic, data = counts_of(3)
    _, mechanism = prepare(statistic, epsilon=0.05, mechanism="k_norm")
    runs = 1500
    errors = np.array([mechanism.run(data).answer for _ in range(runs)]) - 500_000
    drawn = np.sort(np.abs(errors[:, 1]) * shrunk)
    # A rounded distance is within 1/2 of the real one, that is 1/40 of the scale.
    tails = CubeMarginal(3).tail(np.stack([drawn - 0.5, drawn + 0.5]).clip(0) * 0.05)
    empirical = 1 - np.arange(1, runs + 1) / runs
    far = np.maximum(empirical - tails[0], tails[1] - empirical - 1 / runs).max()
    assert bool(far <= math.sqrt(math.log(2 / ALARM) / (2 * runs))) is (shrunk == 1.0)


def test_the_largest_error_of_all_numbers_is_a_gamma_length():
    """800 draws of eight numbers: the mean of the largest error is d / epsilon within six standard errors."""
    statistic, data = counts_of(8)
    _, mechanism = prepare(statistic, epsilon=0.1, mechanism="k_norm")
    largest = [np.abs(np.array(mechanism.run(data).answer) - 500_000).max() for _ in range(800)]
    # The standard deviation of Gamma(8) is sqrt(8); rounding adds at most 1/2.
    assert abs(np.mean(largest) - 80) < 6 * math.sqrt(8) * 10 / math.sqrt(800) + 0.5


def test_64_attribute_means_have_a_quarter_of_laplace_s_largest_error():
    """V17 Table 2.1: 64 / epsilon against 64 (ln 64 + 0.58) / epsilon; 60 releases of each, at most 0.3."""
    statistic, data = counts_of(64)
    sizes = {}
    for mechanism in ("k_norm", "worst_case"):
        _, prepared = prepare(statistic, epsilon=1.0, mechanism=mechanism)
        sizes[mechanism] = np.mean([np.abs(np.array(prepared.run(data).answer) - 500_000).max() for _ in range(60)])
    # The ratio of the means is 0.211 with a standard error of 0.007: 0.3 is twelve of them away.
    assert sizes["k_norm"] <= 0.3 * sizes["worst_case"]


def test_intervals_cover():
    """Half-widths are the quantiles of a coordinate: 2,000 intervals at 90%, false alarm 1e-9 (Hoeffding)."""
    statistic, data = counts_of(4)
    _, mechanism = prepare(statistic, epsilon=0.5, mechanism="k_norm", confidence=0.9)
    missed = 0
    for _ in range(2000):
        low, high = mechanism.run(data).interval[2]
        missed += not low <= 500_000 <= high
    allowed = math.sqrt(math.log(1 / ALARM) / (2 * 2000))
    assert missed / 2000 <= 0.1 + allowed


def test_auto_takes_it_for_attribute_means():
    """The public rule: the least expected error."""
    rows = np.ones((500, 16))
    assert dt.counting_queries(rows, epsilon=1.0).mechanism == "k_norm"
    assert dt.counting_queries(rows, epsilon=1.0, mechanism=dt.KNorm()).noise == "cube"
