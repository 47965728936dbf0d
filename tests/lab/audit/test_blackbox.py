"""The auditor's statistics: its bounds are valid whatever it attacks, and it has the power that it states."""

import math
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, chi2

from conftest import trials
from dither.errors import InvalidArgument, NotApplicable
from dither.mechanisms.choice import prepare
from dither.mechanisms.mechanism import Outcome
from dither.privacy import Loss
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue
from dither.statistics.statistic import Statistic
from dither_lab.audit import broken_mechanisms
from dither_lab.audit.answers import Remembering, answer_law, as_answer, remembering, runs
from dither_lab.audit.attacks import HistogramAttack, LikelihoodRatio, Score
from dither_lab.audit.blackbox import (
    Aim,
    Attack,
    Event,
    audit,
    epsilon_bound,
    lower_probability,
    upper_probability,
)
from dither_lab.audit.enumeration import as_column, neighbours
from dither_lab.audit.pairs import Pair, pairs_for, worst_pairs
from dither_lab.audit.power import detection_probability, samples_needed

RNG = np.random.default_rng(20)
GRID = Grid(Fraction(1), 0, 8)


def laplace(centre, scale=1.0):
    """A sampler of real numbers."""
    return lambda count: (centre + scale * RNG.laplace(size=count)).tolist()


def coin(p):
    """A sampler of booleans."""
    return lambda count: (RNG.random(count) < p).tolist()


@pytest.mark.parametrize("failure", [0.3, 1e-3, 1e-12])
@pytest.mark.parametrize(("hits", "total"), [(1, 10), (5, 10), (9, 10), (3, 4_000), (3_990, 4_000)])
def test_clopper_pearson_against_its_definition(hits, total, failure):
    """At the lower bound so many hits, at the upper bound so few, have exactly the failure probability."""
    assert binom.sf(hits - 1, total, lower_probability(hits, total, failure)) == pytest.approx(failure, rel=1e-4)
    assert binom.cdf(hits, total, upper_probability(hits, total, failure)) == pytest.approx(failure, rel=1e-4)


def test_the_ends_of_the_scale():
    """No hits bound nothing from below, only hits nothing from above; no bound on epsilon is negative."""
    assert lower_probability(0, 10, 1e-3) == 0.0
    assert upper_probability(10, 10, 1e-3) == 1.0
    assert epsilon_bound(0, 10, 0, 10, 0.0, 1e-3) == 0.0
    assert epsilon_bound(2, 10, 9, 10, 0.0, 1e-3) == 0.0
    assert epsilon_bound(10, 10, 0, 10, 0.99, 1e-3) == 0.0


def too_high(p, q, delta, total, bound):
    """The exact probability that a bound on epsilon exceeds the truth."""
    truth = math.log((p - delta) / q)
    hits = np.arange(total + 1)
    wrong = np.array([[bound(a, b) > truth for b in hits] for a in hits])
    return float(binom.pmf(hits, total, p) @ wrong @ binom.pmf(hits, total, q))


@pytest.mark.parametrize("failure", [0.2, 0.01, 1e-6])
@pytest.mark.parametrize(("p", "q", "delta"), [(0.5, 0.2, 0.0), (0.9, 0.05, 0.1), (0.3, 0.29, 0.0), (0.6, 0.01, 0.3)])
def test_the_bound_is_wrong_no_more_often_than_it_says(p, q, delta, failure):
    """Summed over all outcomes, nothing simulated."""
    total = 60
    assert too_high(p, q, delta, total, lambda a, b: epsilon_bound(a, total, b, total, delta, failure)) <= failure


def test_a_bound_without_confidence_would_be_seen_to_be_wrong():
    """The sum above can fail: the plain ratio of frequencies is too high about half the time."""
    total = 60
    assert too_high(0.5, 0.2, 0.0, total, lambda a, b: math.log(max(a, 0.5) / max(b, 0.5))) > 0.4


def wrong_findings(here, there, claimed, truth, failure, audits, attacks=None, samples=400):
    """How many audits state a bound above the truth."""
    return sum(
        audit(
            here,
            there,
            claimed=claimed,
            attacks=attacks or [HistogramAttack(bins=20)],
            samples=samples,
            failure_probability=failure,
        ).lower_bound
        > truth
        for _ in range(audits)
    )


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_findings_on_laplace_laws_are_wrong_no_more_often_than_stated(delta):
    """Laplace noise with a shift of 1 has ``delta = 1 - e^{(epsilon - 1) / 2}``.  False alarm of this test: 1e-9."""
    audits, failure = trials(300, 3_000), 0.2
    truth = 1.0 + 2.0 * math.log1p(-delta)
    wrong = wrong_findings(laplace(0.0), laplace(1.0), Loss(1.0, delta), truth, failure, audits)
    assert binom.sf(wrong - 1, audits, failure) > 1e-9


def test_testing_on_the_selection_half_would_be_wrong():
    """The twin of the test above: two equal laws, events tested on the samples that chose them.  A bound above 0
    is wrong there; it happens almost always, and far more often than the failure probability allows."""
    failure, found, honest = 0.2, 0, 0
    for _ in range(60):
        study = [RNG.integers(0, 40, 200).tolist() for _ in range(2)]
        fresh = [RNG.integers(0, 40, 200).tolist() for _ in range(2)]
        events = HistogramAttack().events(*study, Aim(Loss(0.0), 200, failure / 2))
        for sides, counted in ((study, True), (fresh, False)):
            bounds = []
            for event in events:
                likely, rare = sides[::-1] if event.reverse else sides
                hits = (int(event.holds(side).sum()) for side in (likely, rare))
                bounds.append(epsilon_bound(next(hits), 200, next(hits), 200, 0.0, failure / 2))
            found += counted and max(bounds) > 0
            honest += not counted and max(bounds) > 0
    assert binom.sf(found - 1, 60, failure) < 1e-9
    assert binom.sf(honest - 1, 60, failure) > 1e-9


class Spy(Attack):
    """Proposes one event and keeps what it was shown and what was tested."""

    learns = True

    def __init__(self, learns=True):
        self.learns, self.studied, self.tested = learns, [], []

    def events(self, here, there, aim):
        self.studied += [*here, *there]
        self.aim = aim
        return [Event("all", self._holds)]

    def _holds(self, outputs):
        self.tested += outputs
        return np.ones(len(outputs), dtype=bool)


class Numbered:
    """A sampler whose answers are all different; remembers what the spy had proposed when it was asked."""

    def __init__(self, spy, first):
        self.spy, self.next, self.asked = spy, first, []

    def __call__(self, count):
        self.asked.append((count, len(self.spy.studied)))
        self.next += count
        return list(range(self.next - count, self.next))


def test_events_are_tested_on_samples_that_did_not_choose_them():
    """No answer is both studied and tested, and test samples are drawn after the choice was made."""
    spy = Spy()
    here, there = Numbered(spy, 0), Numbered(spy, 1_000_000)
    found = audit(here, there, claimed=Loss(1.0), attacks=[spy], samples=101)
    assert not set(spy.studied) & set(spy.tested)
    assert (len(spy.studied), len(spy.tested), spy.aim.samples) == (100, 102, 51)
    assert here.asked == [(50, 0), (51, 100)]
    assert there.asked == [(50, 0), (51, 100)]
    assert found.samples == 101


def test_an_attack_that_does_not_learn_tests_every_sample():
    """Nothing is set aside."""
    spy = Spy(learns=False)
    audit(Numbered(spy, 0), Numbered(spy, 1_000_000), claimed=Loss(1.0), attacks=[spy], samples=100)
    assert (len(spy.studied), len(spy.tested)) == (0, 200)


def test_a_finding_is_a_frozen_statement():
    """Claim, bound, failure probability, samples, event, verdict; it says all of them and cannot be changed."""
    found = audit(coin(0.9), coin(0.1), claimed=Loss(1.0), attacks=[HistogramAttack()], samples=2_000)
    assert found.detected
    assert 1.0 < found.lower_bound < math.log(9)
    assert "refuted" in str(found)
    assert "2,000 runs" in str(found)
    with pytest.raises(FrozenInstanceError):
        found.detected = False


@pytest.mark.parametrize(
    ("here", "there", "attack"),
    [
        (laplace(0.0), laplace(3.0), HistogramAttack()),
        (laplace(3.0), laplace(0.0), HistogramAttack()),
        (lambda n: RNG.poisson(2, n).tolist(), lambda n: RNG.poisson(8, n).tolist(), HistogramAttack()),
        (lambda n: RNG.choice(["a", "b", "c"], n, p=[0.8, 0.1, 0.1]).tolist(), lambda n: ["c"] * n, HistogramAttack()),
        (lambda n: [(None,)] * n, lambda n: [(x,) for x in RNG.random(n)], HistogramAttack()),
        (
            lambda n: [(x, x - 1, x + 1) for x in RNG.random(n)],
            lambda n: [(x, x - 1, x + 2) for x in RNG.random(n)],
            HistogramAttack(bins=8),
        ),
        (
            lambda n: [RNG.normal(0, 1, 50) for _ in range(n)],
            lambda n: [RNG.normal(0.5, 1, 50) for _ in range(n)],
            HistogramAttack(features=lambda vector: float(vector.sum())),
        ),
        (laplace(0.0), laplace(3.0), Score(lambda z: np.abs(np.array(z) - 3.0) - np.abs(z))),
        (coin(0.9), coin(0.1), LikelihoodRatio({True: 0.9, False: 0.1}, {True: 0.1, False: 0.9})),
    ],
    ids=["scalar", "reverse", "integer", "category", "refusal", "bar", "vector", "score", "likelihood"],
)
def test_all_kinds_of_answers_can_be_told_apart(here, there, attack):
    """A difference that is worth more than epsilon = 1.5 is found in each kind of answer."""
    assert audit(here, there, claimed=Loss(1.5), attacks=[attack], samples=4_000).detected


def test_an_answer_that_was_not_foreseen_has_a_cell_of_its_own():
    """Categories that the study never saw are not counted as any that it did see."""
    first, second = HistogramAttack().events(["a"] * 50, ["b"] * 50, Aim(Loss(0.1), 50, 0.1))
    assert first.holds(["a", "b", "z"]).tolist() == [True, False, False]
    assert second.holds(["a", "b", "z"]).tolist() == [False, True, False]


def test_the_likelihood_ratio_attack_finds_the_best_event():
    """With ample samples the event of exact laws is the half-line where the ratio is largest."""
    here, there = {0: 0.1, 1: 0.4, 2: 0.5}, {0: 0.01, 1: 0.09, 2: 0.9}
    first, second = LikelihoodRatio(here, there).events([], [], Aim(Loss(1.0), 10**7, 1e-9))
    assert first.holds([0, 1, 2]).tolist() == [True, False, False]
    assert second.reverse
    assert second.holds([0, 1, 2]).tolist() == [False, False, True]


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_power_is_the_probability_of_detection(delta):
    """Against the sum over all pairs of counts."""
    p, q, total, failure, claimed = 0.7, 0.15, 100, 1e-3, Loss(0.6, delta)
    hits = np.arange(total + 1)
    seen = np.array(
        [[epsilon_bound(a, total, b, total, delta, failure / 2) > claimed.epsilon for b in hits] for a in hits]
    )
    exact = binom.pmf(hits, total, p) @ seen @ binom.pmf(hits, total, q)
    found = detection_probability(p, q, claimed=claimed, samples=total, failure_probability=failure)
    assert 0.1 < exact < 0.9
    assert found == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("claimed", [Loss(2.0), Loss(1.0, 0.01)])
@pytest.mark.parametrize("factor", [1.25, 2.0])
def test_samples_needed_are_enough_and_not_far_too_many(claimed, factor):
    """The stated power is reached, and is not reached with 10% fewer samples; learning doubles the number."""
    rare = 0.01
    likely = rare * math.exp(factor * claimed.epsilon) + claimed.delta
    needed = samples_needed(rare, claimed=claimed, factor=factor, power=0.95, learns=False)
    power = [detection_probability(likely, rare, claimed=claimed, samples=n) for n in (needed, int(0.9 * needed))]
    assert power[0] >= 0.95 > power[1]
    assert samples_needed(rare, claimed=claimed, factor=factor, power=0.95) == 2 * needed


def test_rarer_events_and_smaller_factors_need_more_samples():
    """About 1/q, and about 1/(factor - 1) squared."""
    base = samples_needed(0.01, claimed=Loss(2.0), factor=1.4)
    assert 8 < samples_needed(0.001, claimed=Loss(2.0), factor=1.4) / base < 12
    assert 3 < samples_needed(0.01, claimed=Loss(2.0), factor=1.2) / base < 6


@pytest.mark.parametrize("records", [1, 2, 3, 4, 7])
def test_pairs_are_neighbours(records):
    """Every pair differs in exactly one record, stays on the grid, and appears once; all kinds are there."""
    for rank in range(1, records + 1):
        pairs = worst_pairs(RankedValue(rank, records, GRID))
        for pair in pairs:
            assert tuple(sorted(pair.there)) in neighbours(tuple(sorted(pair.here)), range(9))
        assert len({(pair.here, pair.there) for pair in pairs}) == len(pairs)
        assert {"a record crosses the whole range", "a gap at the rank"} <= {pair.name for pair in pairs}


def test_the_library_of_pairs_can_be_extended():
    """A statistic without pairs is refused until it has some."""

    class Novel(Statistic):
        def value(self, data):
            return 0

        def ladder(self, data, algorithm="exact"):
            raise AssertionError

    with pytest.raises(InvalidArgument, match="Novel"):
        worst_pairs(Novel())
    pairs_for(Novel)(
        lambda statistic: [Pair("one", (0,), (1,)), Pair("the same", (0,), (1,)), Pair("none", (1,), (1,))]
    )
    assert [pair.name for pair in worst_pairs(Novel())] == ["one"]


LAWS = [
    ("inverse", "auto", None),
    ("inverse", "auto", 0.9),
    ("worst_case", "laplace", None),
    ("worst_case", "cauchy", None),
    ("smooth", "power_law", None),
]


@pytest.mark.parametrize(("mechanism", "noise", "confidence"), LAWS)
def test_exact_laws_are_those_of_the_samples(mechanism, noise, confidence):
    """Pearson's statistic over cells that are not too small; false alarm about 1e-9."""
    data = worst_pairs(RankedValue(2, 3, GRID))[1].columns(GRID)[0]
    _, prepared = prepare(RankedValue(2, 3, GRID), epsilon=1.0, mechanism=mechanism, noise=noise, confidence=confidence)
    law, total = answer_law(prepared, data), trials(2_000, 20_000)
    assert math.fsum(law.values()) == pytest.approx(1.0, abs=1e-12)
    assert law == answer_law(remembering(prepared), data)
    answers = runs(remembering(prepared), data)(total)
    assert set(answers) <= set(law)
    cells = [z for z in law if law[z] * total >= 20]
    expected = np.array([law[z] * total for z in cells])
    counted = np.array([answers.count(z) for z in cells])
    rest = total - expected.sum()
    statistic = ((counted - expected) ** 2 / expected).sum() + (total - counted.sum() - rest) ** 2 / max(rest, 20.0)
    assert chi2.sf(statistic, len(cells)) > 1e-9


def test_clamping_hides_what_it_does_not_release():
    """Noise 20% too small breaks the claim of Laplace noise, by exact laws of all pairs of one record; the worst events
    of Gaussian noise lie beyond the bounds, so there the released answers still keep theirs."""
    statistic = RankedValue(1, 1, GRID)
    columns = [as_column((value,), GRID) for value in range(9)]
    for noise, delta, broken in (("laplace", 0.0, True), ("gaussian", 0.02, False)):
        _, honest = prepare(statistic, epsilon=2.0, delta=delta, mechanism="worst_case", noise=noise)
        laws = [answer_law(broken_mechanisms.noise_too_small(honest), data) for data in columns]
        worst = max(math.fsum(max(p[z] - math.exp(2.0) * q[z], 0.0) for z in p) for p in laws for q in laws)
        assert (worst > delta + 1e-3) == broken


def test_no_law_is_claimed_where_none_is_known():
    """Added noise with an error bar has no closed form here."""
    _, prepared = prepare(RankedValue(2, 3, GRID), epsilon=1.0, mechanism="smooth", confidence=0.9)
    assert answer_law(prepared, worst_pairs(RankedValue(2, 3, GRID))[0].columns(GRID)[0]) is None


def test_outcomes_become_flat_answers():
    """A number, its bar, several numbers with theirs, a refusal."""
    assert as_answer(Outcome(3)) == (3,)
    assert as_answer(Outcome(3, (1, 4))) == (3, 1, 4)
    assert as_answer(Outcome((3, 5), ((1, 4), (2, 6)))) == (3, 5, 1, 4, 2, 6)
    assert as_answer(Outcome(None)) == (None,)


def test_a_remembering_statistic_computes_once_and_never_mixes_datasets():
    """Values, smooth bounds and chains are those of the plain statistic, for each dataset."""
    plain = RankedValue(2, 3, GRID)
    known = Remembering(plain)
    for pair in worst_pairs(plain) * 2:
        for data in pair.columns(GRID):
            assert known.value(data) == plain.value(data)
            assert known.ladder(data).smooth(Fraction(1, 2)) == plain.ladder(data).smooth(Fraction(1, 2))
            assert list(known.reachable_values(data).values(-2, 2)) == list(plain.reachable_values(data).values(-2, 2))


def test_a_remembered_ladder_is_cut_where_the_plain_one_is():
    """Mechanisms look at what a ladder says of itself: with other limits the audit would see another mechanism."""
    plain = RankedValue(2, 3, GRID)
    data = as_column((1, 4, 6), GRID)
    here, there = plain.ladder(data), Remembering(plain).ladder(data)
    assert type(there) is type(here)
    assert (there.top, there.first, there.deepest) == (here.top, here.first, here.deepest)
    assert there.most_decayed(1, 3, 0.5) == here.most_decayed(1, 3, 0.5)


@pytest.mark.parametrize("broken", ["local_sensitivity_used_raw", "beta_ignored", "interval_unpaid", "delta_ignored"])
def test_a_mutation_refuses_what_it_cannot_break(broken):
    """Laplace noise with a public scale has no beta, no paid bar and no delta."""
    _, prepared = prepare(RankedValue(2, 3, GRID), epsilon=1.0, mechanism="worst_case")
    with pytest.raises(NotApplicable, match=broken):
        getattr(broken_mechanisms, broken)(prepared)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("failure_probability", {"failure_probability": 0.0}),
        ("samples", {"samples": 1}),
        ("attacks", {"attacks": []}),
    ],
)
def test_an_audit_refuses_nonsense(name, change):
    """Errors name the argument."""
    options = {"claimed": Loss(1.0), "attacks": [HistogramAttack()], "samples": 100, **change}
    with pytest.raises(InvalidArgument, match=name):
        audit(coin(0.5), coin(0.5), **options)


def test_attacks_and_power_refuse_nonsense():
    """Too few bins, too many categories, a factor of 1, an impossible event."""
    with pytest.raises(InvalidArgument, match="bins"):
        HistogramAttack(bins=1)
    with pytest.raises(InvalidArgument, match="features"):
        HistogramAttack(bins=2).events(["a", "b", "c"], ["a"], Aim(Loss(1.0), 1, 0.1))
    with pytest.raises(InvalidArgument, match="factor"):
        samples_needed(0.01, claimed=Loss(1.0), factor=1.0)
    with pytest.raises(InvalidArgument, match="rare"):
        samples_needed(0.5, claimed=Loss(1.0), factor=2.0)
