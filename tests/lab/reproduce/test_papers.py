"""All experiments in a small form: every number has an interval, every claim a verdict; exact ones are known."""

import math
import os
from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from dither.noise.gaussian import Gaussian
from dither.privacy import Loss
from dither_lab.reproduce import coq17, dmns06, errata_coq17, nrs11, nrs11_blocks, scales, sources, v17
from dither_lab.reproduce.experiment import Setting, Verdict
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
    for row in finding.rows:
        assert row.where
        assert row.says
        assert row.judged.ours
        assert row.judged.why or row.judged.verdict is Verdict.AGREES
    assert finding.picture.startswith(b"\x89PNG")
    assert all("stand-in" in source for source in finding.sources)


@pytest.mark.parametrize(
    ("paper", "key", "verdicts"),
    [
        ("coq17", "figure-2", "yes but"),
        ("coq17", "section-5-3", "but no but no"),
        ("v17", "composition", "yes yes but"),
        ("errata", "dmns06-sign", "no"),
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


@pytest.mark.parametrize("mechanism", dmns06.MECHANISMS)
def test_distances_of_parities_against_summing(mechanism):
    """For d = 3 every mechanism is a table of probabilities whose halves are compared one by one."""
    d, epsilon = 3, 0.8
    domain = 2**d
    if mechanism.startswith("tell"):
        truth = math.exp(epsilon) / (math.exp(epsilon) + domain - 1)
        table = np.full((domain, domain), (1 - truth) / (domain - 1))
        np.fill_diagonal(table, truth)
    elif mechanism.startswith("each"):
        flip = 1 / (1 + math.exp(epsilon / d))
        apart = np.array([[(x ^ z).bit_count() for x in range(domain)] for z in range(domain)])
        table = flip**apart * (1 - flip) ** (d - apart)
    else:
        half = np.repeat(np.array([-1.0, 1.0]), 2 * domain)
        signs = np.random.default_rng([d, 6]).permuted(np.repeat(half[:, None], domain, axis=1), axis=0)
        table = np.exp(epsilon / 2 * signs)
        table /= table.sum(axis=0)
    assert table.sum(axis=0) == pytest.approx(np.ones(domain))
    assert (table.max(axis=1) / table.min(axis=1)).max() <= math.exp(epsilon) * (1 + 1e-9)
    found = dmns06.distinguishing(mechanism, d, epsilon)
    for r in range(1, domain):
        even = [x for x in range(domain) if (x & r).bit_count() % 2 == 0]
        distance = np.abs(table[:, even].mean(axis=1) - table.mean(axis=1)).sum() / 2
        assert found[r - 1] == pytest.approx(distance)


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
