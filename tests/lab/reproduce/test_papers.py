"""All experiments in a small form: every number has an interval, every claim a verdict; exact ones are known."""

import math
import os
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from dither.noise.gaussian import Gaussian
from dither.privacy import Loss
from dither_lab.reproduce import (
    coq17,
    coq17_examples,
    dl09,
    dl09_influence,
    dmns06_limits,
    errata_coq17,
    nrs11,
    nrs11_blocks,
    nrs11_framework,
    refusals,
    scales,
    sources,
    v17,
    v17_alternatives,
)
from dither_lab.reproduce.experiment import TIMED, MeasuredPoints, Setting, Verdict
from dither_lab.reproduce.intervals import exact
from dither_lab.reproduce.run import experiments, run

TINY = Setting("tiny")
EVERY = experiments("all")


@pytest.fixture(autouse=True, scope="module")
def stand_ins():
    """Generated data, also where the real ones are at hand: quick, and the same everywhere."""
    folder = os.environ.pop(sources.FOLDER, None)
    cached = (sources.salaries, sources.friendships, sources.connected_subgraph)
    for one in cached:
        one.cache_clear()
    yield
    for one in cached:
        one.cache_clear()
    if folder is not None:
        os.environ[sources.FOLDER] = folder


def timeless(points):
    """Every time a millisecond: what was measured depends on the machine."""
    return MeasuredPoints(replace(p, y=exact(1.0)) if p.quantity == "time" else p for p in points)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("experiment", EVERY, ids=lambda one: f"{one.paper}-{one.key}")
def test_experiments_run_and_judge_every_claim(experiment):
    """Points lie in their intervals, which have a kind; rows cite a place, and what is not agreed to has a reason."""
    (finding,) = run([experiment], TINY)
    assert finding.points
    assert len(finding.rows) == len(experiment.claims) >= 1
    for point in finding.points:
        y = point.y
        assert math.isfinite(y.value)
        assert y.low - 1e-9 * abs(y.value) <= y.value <= y.high + 1e-9 * abs(y.value)
        assert y.how
    for claim, row in zip(experiment.claims, finding.rows, strict=True):
        assert row.where
        assert row.says
        assert row.rule.hypothesis
        assert row.rule.reason
        assert (row.rule.chance.bound is None) == (row.rule.chance is TIMED)
        # No verdict is a constant: measurements as they would be if something were wrong have another one.
        points = timeless(finding.points) if row.rule.chance is TIMED else finding.points
        assert claim.judge(claim.planted(points)).verdict is not claim.judge(points).verdict
        assert row.judged.ours
        assert row.judged.why or row.judged.verdict is Verdict.AGREES
    assert finding.picture.startswith(b"\x89PNG")
    assert all("stand-in" in source for source in finding.sources)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("paper", "key", "verdicts"),
    [
        ("coq17", "figure-2", "yes but"),
        ("coq17", "section-5-3", "but but but no"),
        ("v17", "composition", "yes yes yes"),
        ("dmns06", "separation", "yes yes yes yes"),
        ("dmns06", "leakage", "yes yes"),
        ("dmns06", "low-sample", "yes yes"),
        ("dmns06", "semantics", "yes yes"),
        ("nrs11", "figure-1", "yes"),
        ("nrs11", "figure-2", "yes but"),
        ("nrs11", "minimum", "yes"),
        ("nrs11", "hard", "but"),
        ("dl09", "influence", "yes yes"),
        ("v17", "theorem-2-7", "yes"),
        ("v17", "stable-values", "yes"),
        ("v17", "restricted", "yes"),
        ("v17", "floor", "yes"),
        ("coq17", "example-7", "but"),
        ("coq17", "example-13", "but no yes"),
        ("coq17", "example-14", "but but"),
        ("coq17", "proposition-15", "but"),
        ("coq17", "figure-9", "yes"),
        ("errata", "dmns06-sign", "no"),
        ("errata", "dmns06-covariance", "yes"),
        ("errata", "dmns06-lemma-1", "no"),
        ("errata", "nrs11-lemma-2-6", "no"),
        ("errata", "nrs11-centre", "no"),
        ("errata", "dl09-price", "no"),
        ("errata", "dl09-count", "no"),
        ("errata", "growth", "no"),
        ("errata", "coq17-bound", "no"),
        ("errata", "coq17-private", "no"),
        ("errata", "coq17-theorem-8", "no"),
        ("errata", "coq17-branch", "but"),
        ("errata", "coq17-algorithm-1", "no"),
    ],
)
def test_what_is_computed_exactly_has_one_verdict(paper, key, verdicts):
    """No noise is drawn in these, so their verdicts never change."""
    (experiment,) = [one for one in EVERY if (one.paper, one.key) == (paper, key)]
    (finding,) = run([experiment], TINY)
    words = {"yes": Verdict.AGREES, "but": Verdict.CORRECTED, "no": Verdict.DISAGREES}
    assert [row.judged.verdict for row in finding.rows] == [words[word] for word in verdicts.split()]


def test_the_papers_bound_fails_where_it_was_found_to():
    """26 of 1,024 graphs with a_H as printed, 86 with a; ours never."""
    assert errata_coq17.five_vertices() == (86, 26, 0)


def test_algorithm_1_agrees_with_the_ladder_where_levels_are_close():
    """Without its exception the descent is the smooth bound of the chain; with it the noise is at least as large."""
    own = np.sort(np.random.default_rng(3).integers(1, 1000, 50)).astype(float)
    growth = 1.07
    plain = coq17.descended(own, growth, exception=False)
    assert plain == pytest.approx([coq17.climbed(own, k, math.log(growth)) for k in range(1, 51)])
    assert bool(np.all(coq17.descended(own, growth, exception=True) >= plain - 1e-12))


@pytest.mark.parametrize("shape", ["even", "uniform", "clumped"])
def test_nrs11s_three_algorithms_against_ours(shape):
    """J-List equals our smooth sensitivity; the linear one is within a factor 2, the sublinear one hardly above."""
    rng = np.random.default_rng(4)
    made = {"even": np.arange(1, 202) / 202, "uniform": rng.random(201), "clumped": rng.integers(0, 5, 201) / 4}
    data = made[shape]
    truth = dt.inspect.smooth(dt.Median(bounds=(0, 1)), data, beta=0.2)
    x = nrs11.padded(data)
    assert nrs11.divided(x, 0.2) == pytest.approx(truth, rel=1e-6)
    assert truth * (1 - 1e-6) <= nrs11.linear(x, 0.2) <= 2 * truth
    assert truth * (1 - 1e-6) <= nrs11.sublinear(x, 0.2) <= truth + 1 / 201


def test_the_ladder_mechanisms_mean_error_is_that_of_its_law():
    """Widths 2, 3 and then 5 for ever, summed by hand."""
    rate, total, error = 0.7, 1.0, 0.0
    widths, place = [2, 3], 0
    for t in range(1, 300):
        width = widths[t - 1] if t <= 2 else 5
        for distance in range(place + 1, place + width + 1):
            total += 2 * math.exp(-rate * t)
            error += 2 * distance * math.exp(-rate * t)
        place += width
    assert scales.ladder_error(np.array(widths), 5, rate) == pytest.approx(error / total)


def test_randomised_responses_attain_optimal_composition():
    """Twenty of them, by listing all outcomes."""
    epsilon, k, total = 0.3, 20, 1.2
    p = 1 / (1 + math.exp(-epsilon))
    delta = sum(
        math.comb(k, j) * max(p**j * (1 - p) ** (k - j) - math.exp(total) * p ** (k - j) * (1 - p) ** j, 0)
        for j in range(k + 1)
    )
    assert v17.responses_delta(epsilon, k, total) == pytest.approx(delta)


def responses(mechanism, d, epsilon):
    """The table p(z|x) of a randomised response, rows are answers."""
    domain = 2**d
    if mechanism == dmns06_limits.BENT:
        right = 1 / (1 + math.exp(-epsilon))
        up = dmns06_limits.bent(d) > 0
        return np.array([np.where(up, right, 1 - right), np.where(up, 1 - right, right)])
    if mechanism == dmns06_limits.TELL:
        truth = math.exp(epsilon) / (math.exp(epsilon) + domain - 1)
        table = np.full((domain, domain), (1 - truth) / (domain - 1))
        np.fill_diagonal(table, truth)
        return table
    flip = 1 / (1 + math.exp(epsilon / d))
    apart = np.array([[(x ^ z).bit_count() for x in range(domain)] for z in range(domain)])
    return flip**apart * (1 - flip) ** (d - apart)


def halves(table, r):
    """The laws of an answer about a random record in D_r and outside."""
    odd = np.array([(x & r).bit_count() % 2 for x in range(table.shape[1])], dtype=bool)
    return table[:, ~odd].mean(axis=1), table[:, odd].mean(axis=1)


@pytest.mark.parametrize("mechanism", dmns06_limits.MECHANISMS)
def test_advantages_about_parities_against_summing(mechanism):
    """For d = 4: one answer for every r, and two answers by listing all pairs of them."""
    d, epsilon = 4, dmns06_limits.EPSILON
    table = responses(mechanism, d, epsilon)
    assert table.sum(axis=0) == pytest.approx(np.ones(2**d))
    assert (table.max(axis=1) / table.min(axis=1)).max() <= math.exp(epsilon) * (1 + 1e-9)
    laws = [halves(table, r) for r in range(1, 2**d)]
    distances = sorted(np.abs(p - q).sum() / 2 for p, q in laws)
    allowed = dmns06_limits.parity_bias(mechanism, d, epsilon)
    assert distances[math.ceil(2 * len(distances) / 3) - 1] <= allowed * (1 + 1e-9)
    p, q = min(laws, key=lambda law: abs(np.abs(law[0] - law[1]).sum() / 2 - allowed))
    both = np.abs(np.outer(p, p) - np.outer(q, q)).sum() / 2
    assert dmns06_limits.advantage(mechanism, d, 2) == pytest.approx(both)


def test_a_parity_for_each_person_against_summing():
    """Two people, one bent bit each, whose leanings are opposite: four outcomes by hand."""
    d, epsilon = 4, dmns06_limits.EPSILON
    table = responses(dmns06_limits.BENT, d, epsilon)
    laws = [halves(table, r) for r in range(1, 2**d)]
    up = next(law for law in laws if law[0][0] > law[1][0] + 1e-9)
    down = next(law for law in laws if law[0][0] < law[1][0] - 1e-9)
    distance = np.abs(np.outer(up[0], down[0]) - np.outer(up[1], down[1])).sum() / 2
    assert dmns06_limits.advantage(dmns06_limits.BENT, d, 2, own=True) == pytest.approx(distance)


def test_no_mechanism_exceeds_the_bound_for_all_of_them():
    """Random tables of d = 3 whose ratios are at most e^eps: the mean over r, and two thirds of the r."""
    rng, d, epsilon = np.random.default_rng(5), 3, dmns06_limits.EPSILON
    limit, kept = math.sinh(epsilon / 2) / math.sqrt(2**d - 1), 0
    for _ in range(3000):
        table = np.exp(epsilon / 2 * rng.choice([-1, 1], (6, 2**d)))
        table = np.concatenate([table, 6 * math.exp(epsilon / 2) - table.sum(axis=0, keepdims=True)])
        if table.min() < 0.1 or (table.max(axis=1) / table.min(axis=1)).max() > math.exp(epsilon) * (1 + 1e-12):
            continue
        kept += 1
        table /= table.sum(axis=0)
        distances = [np.abs(p - q).sum() / 2 for p, q in (halves(table, r) for r in range(1, 2**d))]
        assert np.mean(distances) <= limit * (1 + 1e-9)
        assert np.quantile(distances, 2 / 3) <= dmns06_limits.every_mechanism(d, 1)
    assert kept > 20


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["scale", "median"])
def test_bounds_on_refusals_hold_for_drawn_records(algorithm):
    """Given the records a refusal has an exact probability; its mean over 20 samples of 10^6 is below the bound."""
    n, name = 1_000_000, "normal"
    distribution, rng = dl09.DISTRIBUTIONS[name], np.random.default_rng(8)
    refused = []
    for _ in range(20):
        data = dl09.Ordered(distribution.draw(rng, n))
        if algorithm == "scale":
            step = dl09.plan_scale(n, dl09.LOSS, dl09.QUARTILES, "paper").step
            refused.append(math.prod(1 - step.test.chance(m) for m in step.margins(data)))
        else:
            plan = dl09.plan_location(n, dl09.LOSS, Fraction(1, 2), "paper")
            narrow = plan.step(distribution.iqr * float(plan.share) * n**-0.05)
            refused.append(math.prod(1 - narrow.test.chance(m) for m in narrow.margins(data)))
    if algorithm == "scale":
        bound = refusals.scale_refused(n, 4 / 3, (0.25, 0.75), distribution.quartiles, distribution.cdf)
        assert np.mean(refused) <= math.exp(bound)
    else:
        # A scale that is too small by n^0.05 leaves a margin of hundreds, one by n^0.6 none.
        assert max(refused) < 1e-6
        narrow = plan.step(distribution.iqr * float(plan.share) * n**-0.6)
        assert math.prod(1 - narrow.test.chance(m) for m in narrow.margins(data)) > 0.25


def test_tails_are_above_the_binomial_ones():
    """Chernoff's bounds against sums, on both sides, and no rounding at shares near 1e-26."""
    from scipy.stats import binom

    for n, p, k in ((50, 0.3, 25), (200, 0.5, 120), (1000, 0.01, 30)):
        assert refusals.tail_above(n, p, k / n) >= math.log(binom.sf(k - 1, n, p))
        assert refusals.tail_below(n, 1 - p, 1 - k / n) >= math.log(binom.cdf(n - k, n, 1 - p))
    assert refusals.tail_below(1e30, 2e-26, 1e-26) == pytest.approx(-1e4 * (1 - math.log(2)))


def test_noise_of_the_centre_of_attention_is_that_of_its_release():
    """The scale that is plotted is the one with which answers are drawn: half of all |Z| lie below the median."""
    made = nrs11_blocks.aggregator()
    points = nrs11_blocks.blobs(10_000, 0.3, np.random.default_rng(2))
    answers = nrs11_blocks.block_answers(points, np.random.default_rng(3), 0.0)
    size = nrs11_blocks.noise_size(made, answers)
    assert isinstance(made.point.law, Gaussian)
    place, bound = made.located(answers)
    assert size == pytest.approx(float(Fraction(bound) / made.point.alpha) * float(made.grids[0].step))
    assert 0 <= place < nrs11_blocks.BLOCKS


def test_prices_of_coq17():
    """delta = eps / 2n, t = eps / ln(1/delta), amplitude 2 S / eps."""
    known = coq17.priced(0.5, 1000)
    assert known.loss == Loss(0.5, 0.00025)
    assert known.t == pytest.approx(0.5 / math.log(4000))
    assert known.amplitude(3.0) == 12.0


@pytest.mark.parametrize("x", [(0, 1, 1), (2, 2, 5), (5, 5, 5), (0, 0, 4)])
def test_enumerated_smooth_sensitivity_is_the_librarys(x):
    """The minimum of three records on 0..5, all 216 data, against the ladder."""
    table = np.min(np.indices((6,) * 3), axis=0)
    local, smooth = nrs11_framework.enumerated(table, 0.5)
    query = dt.Minimum(bounds=(0, 5))
    data = np.array(x, dtype=float)
    assert dt.inspect.ladder(query, data, rungs=1)[0] == pytest.approx(local[x], abs=1e-6)
    assert dt.inspect.smooth(query, data, beta=0.5) == pytest.approx(smooth[x], abs=1e-6)


@pytest.mark.parametrize("name", ["median", "interquartile range"])
def test_influence_functions_are_limits_of_contaminations(name):
    """Quantiles of (1 - t) F + t at x, for t = 1e-7."""
    bell, t = dl09_influence.BELL, 1e-7

    def quantile(p, x):
        low = bell.inv_cdf((p - t) / (1 - t))
        return low if x < low else bell.inv_cdf(p / (1 - t))

    for x in (-3.0, -0.3, 0.4, 2.0):
        if name == "median":
            change = quantile(0.5, x)
        else:
            change = quantile(0.75, x) - quantile(0.25, x) - 2 * bell.inv_cdf(0.75)
        assert change / t == pytest.approx(dl09_influence.influence(name, x), abs=1e-4)


def test_the_law_of_noise_with_a_noisy_scale_is_that_of_draws():
    """200,000 draws of a fixed seed against the quadrature."""
    rng, each, growth = np.random.default_rng(4), 0.25, 1.1
    draws = np.abs(rng.laplace(0, 1, 200_000)) * growth ** (rng.laplace(0, 1, 200_000) / each)
    assert refusals.law_median(each, growth) == pytest.approx(np.median(draws), rel=0.02)


def test_the_bound_of_six_vertices_on_two_graphs():
    """All pairs but those with the complete graph, which has no bound."""
    compared, wrong, undefined = coq17_examples.bounds_of_six()
    assert (compared, wrong, undefined) == (15 * 2**14 - 15, 0, 1)


def test_restricted_sensitivity_by_hand():
    """Three vertices: with degrees up to 1 rewiring moves one edge; a vertex without one may get two."""
    assert v17_alternatives.restricted(3, 1) == (1, 2, 2)
