"""Published methods in floats: their laws against enumerations and exact formulas."""

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import binom

from dither_lab.bench.anchors.polyplace import PolyPlace, least_factor
from dither_lab.bench.anchors.quantiles import JointExp, RankNoise, SliceQuantiles
from dither_lab.bench.anchors.regression import FAILURE, adassp, tukey_em
from dither_lab.bench.areas import people


class _Silent:
    """Stands in for a generator: every normal draw is 0."""

    def normal(self, size=None):
        return 0.0 if size is None else np.zeros(size)


def _gaussian_delta(loss: float, epsilon: float) -> float:
    """Of several Gaussian draws: ``loss`` is the root of the sum of squares of sensitivity over noise."""
    law = NormalDist()
    return law.cdf(loss / 2 - epsilon / loss) - math.exp(epsilon) * law.cdf(-loss / 2 - epsilon / loss)


@pytest.mark.parametrize(("times", "holds"), [(1.0, True), (0.8, False)])
def test_the_noise_of_adassp_covers_a_changed_record(times, holds):
    """At epsilon 1 and delta 1e-6, with sensitivities of 1, sqrt(2) and 2; with a fifth less noise it does not."""
    spread = times * 3.0 * math.sqrt(math.log(6e6))
    loss = math.sqrt(1.0 + 2.0 + 4.0) / spread
    assert (_gaussian_delta(loss, 1.0) <= 1e-6) is holds
    if holds:
        assert _gaussian_delta(loss, 1.0) == pytest.approx(2.8e-7, rel=0.05)


def test_a_changed_record_moves_the_moments_of_adassp_by_no_more():
    """Those three sensitivities: the least eigenvalue, the upper triangle of the moments, and the products."""
    rng = np.random.default_rng(1)
    rest = rng.normal(size=(6, 3))
    for _ in range(300):
        one, other = (row / np.linalg.norm(row) for row in rng.normal(size=(2, 3)))
        label, another = rng.choice([-1.0, 1.0], 2)
        here, there = (rest.T @ rest + np.outer(row, row) for row in (one, other))
        assert abs(np.linalg.eigvalsh(here)[0] - np.linalg.eigvalsh(there)[0]) <= 1.0 + 1e-12
        assert np.linalg.norm(np.triu(here - there)) <= math.sqrt(2.0) + 1e-12
        assert np.linalg.norm(label * one - another * other) <= 2.0 + 1e-12


def test_adassp_without_noise_is_ridge_regression():
    """With the ridge that the least eigenvalue leaves to be wanted; none where that is large."""
    rng = np.random.default_rng(2)
    for count in (200, 200_000):
        design = rng.uniform(-1, 1, (count, 2))
        labels = design @ [2.0, -1.0]
        given = {"epsilon": 1.0, "delta": 1e-6, "row_bound": math.sqrt(2.0), "label_bound": 3.0}
        answer = adassp(design, labels, **given, rng=_Silent())
        moments, margin = design.T @ design, math.log(6e6)
        wanted = math.sqrt(2 * margin * math.log(8 / FAILURE)) * 2.0 * 3.0
        ridge = max(0.0, wanted - max(0.0, np.linalg.eigvalsh(moments)[0] - 2.0 * margin * 3.0))
        assert (ridge == 0.0) is (count == 200_000)
        assert answer == pytest.approx(np.linalg.solve(moments + ridge * np.eye(2), design.T @ labels))


def test_tukey_em_answers_amid_the_fits_of_blocks():
    """Without noise in the labels all fits agree, and so does the answer."""
    rng = np.random.default_rng(3)
    design = np.column_stack([np.ones(4_000), rng.uniform(-1, 1, (4_000, 2))])
    answer = tukey_em(design, design @ [0.5, 2.0, -1.0] + rng.normal(0, 1e-6, 4_000), models=200, epsilon=1.0, rng=rng)
    assert answer == pytest.approx([0.5, 2.0, -1.0], abs=1e-5)


@pytest.mark.parametrize(
    ("count", "quantiles", "epsilon"),
    [(6, [0.25, 0.5, 0.75], 1.0), (5, [0.5], 2.0), (7, [0.1, 0.2, 0.6], 8.0), (4, [0.3, 0.7], 0.5), (3, [0.5, 0.9], 9)],
)
def test_the_law_of_joint_exp_is_the_one_it_states(count, quantiles, epsilon):
    """Over all ways to place the outputs into intervals, several in one included; with a rate off by 30% it is not."""
    records = np.random.default_rng(count).uniform(0, 10, count)
    lengths = np.diff([0.0, *np.sort(records), 10.0])
    wanted = np.diff([0.0, *quantiles, 1.0]) * count
    weights = {}
    for places in itertools.combinations_with_replacement(range(count + 1), len(quantiles)):
        gaps = np.diff([0, *places, count])
        volume = math.prod(lengths[p] ** places.count(p) / math.factorial(places.count(p)) for p in set(places))
        weights[places] = volume * math.exp(-epsilon / 4 * np.abs(gaps - wanted).sum())
    total = sum(weights.values())

    def furthest(law):
        return max(abs(_chance(law, places) - weight / total) for places, weight in weights.items())

    assert furthest(JointExp(records, quantiles, bounds=(0, 10), epsilon=epsilon)) < 1e-12
    assert furthest(JointExp(records, quantiles, bounds=(0, 10), epsilon=1.3 * epsilon)) > 1e-4


def _chance(law, places):
    """The probability that the outputs lie there, run by run from the last."""
    last, after, logs = len(places) - 1, None, 0.0
    while last >= 0:
        size = places.count(places[last])
        runs = law.run_weights(last, after)
        logs += runs[size - 1, places[last]] - logsumexp(runs)
        last, after = last - size, places[last]
    return math.exp(logs)


@pytest.mark.parametrize(("times", "fits"), [(1.0, True), (1.3, False)])
def test_joint_exp_draws_by_its_law(times, fits):
    """4,000 draws of two quantiles of six records: no way to place them is too rare or too frequent.

    28 ways, two tails of 1e-11 each: a false alarm below 1e-9.  Draws whose epsilon is off by 30% don't fit.
    """
    records, rng = np.array([1.0, 4.0, 4.5, 6.0, 7.0, 8.5]), np.random.default_rng(4)
    law = JointExp(records, [0.3, 0.6], bounds=(0, 10), epsilon=4.0)
    other = JointExp(records, [0.3, 0.6], bounds=(0, 10), epsilon=4.0 * times)
    drawn = [tuple(int(place) for place in np.searchsorted(records, other.draw(rng))) for _ in range(4_000)]
    tails = []
    for places in itertools.combinations_with_replacement(range(7), 2):
        chances = binom(4_000, _chance(law, places))
        tails += [chances.cdf(drawn.count(places)), chances.sf(drawn.count(places) - 1)]
    assert bool(min(tails) > 1e-11) is fits


@pytest.mark.parametrize(("leaves", "epsilon"), [(2, 1.0), (9, 0.5), (10, 1.0), (49, 0.25)])
def test_noise_of_ranks_covers_a_shift_from_any_quantile_on(leaves, epsilon):
    """A change of one node in each level by a half shifts just the ranks from there on by one, at a loss of epsilon."""
    tree = RankNoise.planned(leaves, epsilon)
    signs = tree.signs()
    assert np.abs(signs).sum(axis=1).max() <= tree.terms
    starts = np.cumsum([0, *(tree.arity**level for level in range(tree.levels))])
    for first in range(leaves):
        nodes = [start + first // tree.arity ** (tree.levels - level) for level, start in enumerate(starts)]
        moved = signs[:, nodes].sum(axis=1) / 2.0
        assert moved.tolist() == [float(rank >= first) for rank in range(leaves)]
        assert len(nodes) / 2.0 / tree.scale == pytest.approx(epsilon)


def test_noise_of_ranks_stays_within_its_bound():
    """In 2,000 draws at a miss of 1e-13: false alarm below 1e-9.  A bound of a fifth of it is exceeded."""
    tree, rng = RankNoise.planned(19, 0.25), np.random.default_rng(5)
    largest = max(float(np.abs(tree.draw(rng)).max()) for _ in range(2_000))
    assert tree.bound(1e-13) / 5 < largest <= tree.bound(1e-13)


def test_slices_must_not_overlap():
    """With fewer records than that it refuses; with enough it answers in order, near its ranks."""
    rng = np.random.default_rng(6)
    given = {"bounds": (0.0, 1e6), "grid": 0.01, "epsilon": 1.0, "delta": 1e-6}
    quantiles = [k / 10 for k in range(1, 10)]
    with pytest.raises(ValueError, match="must be disjoint"):
        SliceQuantiles(rng.uniform(0, 1e6, 5_000), quantiles, **given)
    records = np.sort(rng.uniform(0, 1e6, 50_000))
    answer = SliceQuantiles(records, quantiles, **given).draw(rng)
    assert (np.diff(answer) > 0).all()
    # Noise of ranks beyond 2,000 and an output outside its slice: both below e^-40.
    assert np.abs(np.searchsorted(records, answer) - np.array(quantiles) * 50_000).max() < 2_500


BOXES = [(epsilon, share * epsilon) for epsilon in (0.1, 1.0, 3.0) for share in (0.05, 0.47, 0.95)]


@pytest.mark.parametrize(("epsilon", "gamma"), BOXES)
def test_the_law_for_smooth_bounds_is_pure_and_tight(epsilon, gamma):
    """Over shifts and dilations that neighbours can have; with an exponent that is larger by a fifth it is not."""

    def largest(exponent):
        worst = 0.0
        far = np.logspace(-6, 6, 1_001) / gamma
        points = np.concatenate([-far[::-1], [0.0], far])
        here = PolyPlace(1.0 / gamma, exponent).log_density(points)
        for log_ratio in np.linspace(-gamma, gamma, 9):
            for shift in np.linspace(-1.0, 1.0, 9) * min(1.0, math.exp(log_ratio)):
                there = PolyPlace(math.exp(log_ratio) / gamma, exponent).log_density(points - shift)
                worst = max(worst, float(np.abs(here - there).max()))
        return worst

    assert 0.999 * epsilon < largest(epsilon / gamma) <= epsilon * (1 + 1e-9)
    assert largest(1.2 * epsilon / gamma) > 1.1 * epsilon


@pytest.mark.parametrize("exponent", [2.2, 5.0, 40.0])
def test_moments_and_quantiles_of_the_law_are_its_density_s(exponent):
    """By quadrature."""
    law = PolyPlace(2.0, exponent)
    cuts = [0.0, 2.0 / exponent, 10.0, 1e3, 1e6, np.inf]

    def total(function):
        return sum(quad(function, *ends, limit=200)[0] for ends in itertools.pairwise(cuts))

    def density(x):
        return 2.0 * math.exp(law.log_density(np.array(x)))

    assert total(density) == pytest.approx(1.0, abs=1e-6)
    assert total(lambda x: x * density(x)) == pytest.approx(law.mean, rel=1e-4)
    for tail in (0.9, 0.5, 0.05, 1e-4):
        assert quad(density, 0.0, law.quantile(tail), points=[2.0 / exponent], limit=400)[0] == pytest.approx(1 - tail)


def test_the_law_tends_to_laplace_noise():
    """As gamma falls: mean and tail."""
    law = PolyPlace.for_bound(1.0, gamma=1e-4, epsilon=1.0)
    assert law.mean == pytest.approx(1.0, rel=1e-3)
    assert law.quantile(0.05) == pytest.approx(math.log(20.0), rel=1e-3)
    assert least_factor(1.0) == pytest.approx(4.43, abs=0.01)
    with pytest.raises(ValueError, match="between 0 and"):
        PolyPlace.for_bound(1.0, gamma=1.0, epsilon=1.0)


def test_medians_of_cells_are_by_columns():
    """As the archived figures are."""
    data = {"Q1 truth": np.array([[100.0, 10.0], [200.0, 20.0], [400.0, 40.0]])}
    answer = [101.0, 15.0, 204.0, 20.0, 400.0, 50.0]
    assert people.median_error(answer, data, name="Q1", columns=slice(0, 1)) == pytest.approx(1.0)
    assert people.median_error(answer, data, name="Q1", columns=slice(1, 2)) == pytest.approx(25.0)
