"""The ladder mechanism: its law, its privacy on whole universes, its draws and its error bars."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import dither as dt
import oracle
from conftest import trials
from dither.errors import InvalidArgument, NotApplicable
from dither.mechanisms.ladder import LadderMechanism, displacement, points_at_cost
from dither.mechanisms.ladder_interval import LadderInterval
from dither.mechanisms.mechanism import MechanismSpec
from dither.noise.discrete_exponential import draw_endless, geometric
from dither.privacy import Loss
from dither.queries.totals import TrimmedMean
from dither.sensitivity.ladder import Ladder
from dither.sources.column import Shape
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue
from dither_lab.audit.enumeration import as_column, datasets, neighbours, output_law, worst_log_ratio

HIGH, RECORDS = 6, 4
GRID = Grid(Fraction(1), 0, HIGH)
VALUES = range(HIGH + 1)
UNIVERSE = datasets(VALUES, RECORDS)
TRIMMED = TrimmedMean(trim=Fraction(1, 4), bounds=(0, 3)).resolve(Shape(RECORDS, whole=True, nullable=False))


def statistics():
    """Whole-number statistics with a ladder, and the values of their records."""
    return [(RankedValue(rank, RECORDS, GRID), VALUES) for rank in (1, 2)] + [(TRIMMED, range(4))]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_output_law_is_the_ladder_mechanism(epsilon):
    """The law that the audit looks at equals the oracle's, point by point, on every dataset."""
    for statistic, values in statistics():
        prepared = LadderMechanism().prepare(MechanismSpec(statistic, Loss(epsilon)))
        for x in datasets(values, RECORDS)[::3]:
            column = as_column(x, statistic.records_on)
            rungs = [int(u) for u in statistic.ladder(column).sensitivity_at_distance(0, 9)]
            truth = oracle.ladder_law(
                statistic.value(column),
                rungs,
                statistic.global_sensitivity,
                *statistic.answers.ends,
                epsilon / 2,
                far=500,
            )
            assert output_law(prepared, column) == pytest.approx(truth, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_private_on_whole_universes_and_not_more(epsilon):
    """The largest log-ratio of all neighbours is at most epsilon.

    A rate 30% too large is caught at epsilon = 0.1; at larger ones four records do not contain the very worst pair, and
    it takes a factor 2 to be sure.
    """
    for statistic, values in statistics():
        prepared = LadderMechanism().prepare(MechanismSpec(statistic, Loss(epsilon)))

        def worst(one, statistic=statistic, values=values):
            return worst_log_ratio(
                lambda x: output_law(one, as_column(x, statistic.records_on)), values, datasets(values, RECORDS)
            )[0]

        assert worst(prepared) <= epsilon * (1 + 1e-12)
        careless = replace(prepared, rate=prepared.rate * (Fraction(13, 10) if epsilon < 1 else 2))
        assert worst(careless) > epsilon


def test_rungs_below_the_local_sensitivity_are_caught():
    """With rungs of 70% the costs are not 1-Lipschitz any more, and the audit sees it."""
    epsilon = 1.0

    class Shrunk(RankedValue):
        def ladder(self, data, algorithm="exact"):
            whole = super().ladder(data, algorithm)
            return Ladder(
                lambda a, b: (whole.sensitivity_at_distance(a, b) * 7) // 10, self.global_sensitivity, top=whole.top
            )

    prepared = LadderMechanism().prepare(MechanismSpec(Shrunk(2, RECORDS, GRID), Loss(epsilon)))
    worst, *_ = worst_log_ratio(lambda x: output_law(prepared, as_column(x, GRID)), VALUES, UNIVERSE)
    assert worst > epsilon * 1.2


def test_places_of_a_rung_are_its_two_sides():
    """Costs and indices run through every whole number once, the nearest first."""
    ladder = Ladder(lambda a, b: np.array([0, 2, 2, 3, 5][a:b]), 5, top=5)
    sizes = points_at_cost(ladder)(0, 8)
    assert sizes == [1, 0, 4, 4, 6, 10, 10, 10, 10]
    places = [[displacement(ladder, cost, index) for index in range(size)] for cost, size in enumerate(sizes)]
    assert sorted(place for rung in places for place in rung) == list(range(-27, 28))
    far = [max((abs(place) for place in rung), default=0) for rung in places]
    assert far == [0, 0, 2, 4, 7, 12, 17, 22, 27]


def test_endless_draws_have_the_stated_law():
    """Costs with and without a known end of growth, against the closed form; false alarms below 1e-9 (Hoeffding)."""
    sizes, most, rate = [1, 0, 6, 6, 10], 12, Fraction(1, 2)

    def counts(first, last):
        return [sizes[c] if c < len(sizes) else most for c in range(first, last + 1)]

    weights = np.array([size * math.exp(-c / 2) for c, size in enumerate(counts(0, 200))])
    cumulated = np.cumsum(weights) / weights.sum()
    many = trials(4000, 100_000)
    for settled in (5, 9, None):
        drawn = np.array([draw_endless(counts, most, settled, rate)[0] for _ in range(many)])
        found = np.array([np.mean(drawn <= c) for c in range(12)])
        # Dvoretzky-Kiefer-Wolfowitz: P(sup > t) <= 2 e^{-2 n t^2}.
        allowed = math.sqrt(math.log(2 / 3e-10) / (2 * many))
        assert np.abs(found - cumulated[:12]).max() < allowed


def test_endless_draws_refine_the_same_real():
    """A tape at the very edge between two costs asks for more bits; both continuations are on the right side."""
    sizes, most, rate = [1, 4], 4, Fraction(1)

    def counts(first, last):
        return [sizes[c] if c < 2 else most for c in range(first, last + 1)]

    total = 1 + 4 * math.exp(-1) / (1 - math.exp(-1))
    edge = int(Fraction(1 / total) * 2**128)
    for offset, expected in ((-(2**80), 0), (2**80, 1)):
        words = iter([(edge + offset).to_bytes(16, "big")])

        def source(size, words=words):
            first = next(words, None)
            return first if first is not None and len(first) == size else bytes(size)

        assert draw_endless(counts, most, 2, rate, source)[0] == expected


def test_geometric_steps_are_whole_and_exact():
    """V = e^{-k rate} is the edge between k - 1 and k steps."""
    rate = Fraction(1, 3)
    for k in (1, 2, 7):
        edge = int(Fraction(math.exp(-k / 3)) * 2**136)
        for offset, expected in ((-(2**90), k), (2**90, k - 1)):
            assert geometric(rate, lambda size, v=edge + offset: v.to_bytes(17, "big")[:size]) == expected


def test_draws_follow_the_audited_law():
    """What ``run`` returns against the exact law; false alarms below 1e-9."""
    prepared = LadderMechanism().prepare(MechanismSpec(RankedValue(2, RECORDS, GRID), Loss(1.0)))
    x = as_column((0, 2, 3, 6), GRID)
    law, many = output_law(prepared, x), trials(4000, 100_000)
    answers = np.bincount([prepared.run(x).answer for _ in range(many)], minlength=HIGH + 1) / many
    allowed = math.sqrt(math.log(2 * (HIGH + 1) / 1e-9) / (2 * many))
    assert max(abs(answers[z] - p) for z, p in law.items()) < allowed


def bar(epsilon=Fraction(1, 2), miss=Fraction(1, 10), rate=Fraction(1, 2)):
    """A bar on the small universe."""
    return LadderInterval(epsilon, miss, rate, HIGH)


def test_quantiles_of_the_error_are_right():
    """Every rung of the bar's ladder is the oracle's quantile, to the whole number, or the span."""
    one = LadderInterval(Fraction(1, 2), Fraction(1, 10), Fraction(1, 2), 60)
    for widths in ([0, 0, 1, 4], [3, 3, 3, 3], [1, 2, 5, 7]):
        for top in (4, None):
            ladder = Ladder(lambda a, b, w=widths: np.array([w[k] if k < 4 else 9 for k in range(a, b)]), 9, top=top)
            ours = [int(u) for u in one.quantiles(ladder).sensitivity_at_distance(0, 8)]
            truth = [min(oracle.tail_quantile(widths, 9, 0.5, 0.05 * math.exp(-k), far=150), 60) for k in range(8)]
            assert all(t <= u <= t + 1 for u, t in zip(ours, truth, strict=True))


def test_the_quantiles_are_a_ladder_on_a_whole_universe():
    """H_k(x) <= H_{k+1}(y) for all neighbours; with half the fall of the tails it fails somewhere."""
    for statistic, values in statistics():
        one = LadderInterval(Fraction(1, 2), Fraction(1, 10), Fraction(1, 2), 50)
        universe = datasets(values, RECORDS)
        ladders = {x: statistic.ladder(as_column(x, statistic.records_on)) for x in universe}
        climbed = {x: one.quantiles(ladder).sensitivity_at_distance(0, 9).tolist() for x, ladder in ladders.items()}
        violations = [
            (x, y, k)
            for x in universe
            for y in neighbours(x, values)
            for k in range(8)
            if climbed[x][k] > climbed[y][k + 1]
        ]
        assert violations == []
        # The check can fail: single quantiles, without the fall, differ between neighbours.
        assert any(climbed[x][0] > climbed[y][0] for x in universe for y in neighbours(x, values))


def test_what_a_interval_tells_moves_by_what_was_paid_for():
    """|ln Q(x) - ln Q(y)| <= beta for all neighbours; a bound smoothed at three times the rate moves faster."""
    # The ladder of a dataset k changes away from trouble: nothing, and then everything.
    cap = 10**6
    one = LadderInterval(Fraction(2, 3), Fraction(1, 20), Fraction(2, 3), 10**9)
    distances = range(60)
    ladders = [Ladder(lambda a, b, k=k: np.where(np.arange(a, b) < k, 1, cap), cap, top=k) for k in distances]

    def fastest(times):
        logarithms = [math.log(one.quantiles(ladder).smooth(one.beta * times)) for ladder in ladders]
        return max(abs(here - there) for here, there in pairwise(logarithms))

    assert fastest(1) <= float(one.beta)
    assert fastest(3) > float(one.beta)


def test_prices_too_small_for_a_interval_are_refused_before_anything_is_read():
    """Below 3.2e-8 no smooth bound is computed; without a bar any price will do."""
    statistic = RankedValue(2, RECORDS, GRID)
    with pytest.raises(InvalidArgument, match="epsilon"):
        LadderMechanism().prepare(MechanismSpec(statistic, Loss(1e-8), None, Fraction(1, 2)))
    answer = LadderMechanism().prepare(MechanismSpec(statistic, Loss(1e-8))).run(as_column((0, 1, 2, 3), GRID)).answer
    assert answer in VALUES


def test_intervals_cover(trials):
    """At 80% the bar misses at most 20% of the time; false alarms below 1e-9."""
    grid = Grid(Fraction(1), 0, 1000)
    statistic = RankedValue(250, 500, grid)
    x = as_column(tuple(range(0, 1000, 2)), grid)
    prepared = LadderMechanism().prepare(MechanismSpec(statistic, Loss(1.0), None, Fraction(4, 5)))
    many, true = trials(300, 5000), statistic.value(x)
    missed = 0
    for _ in range(many):
        low, high = prepared.run(x).interval
        missed += not low <= true <= high
    assert missed / many <= 0.2 + math.sqrt(math.log(1e9) / (2 * many))


def test_a_release_spends_what_was_asked_and_names_the_mechanism():
    """By name and by object, with and without a bar."""
    for mechanism in ("ladder", dt.LadderMechanism()):
        for confidence in (None, 0.9):
            release = dt.median(
                list(range(100)), bounds=(0, 100), step=1, epsilon=1.0, mechanism=mechanism, confidence=confidence
            )
            assert release.loss == Loss(1.0)
            assert release.mechanism == "ladder"
            assert (release.interval is None) == (confidence is None)


def test_what_does_not_apply_names_what_does():
    """Noise by name, and queries of several numbers."""
    with pytest.raises(NotApplicable, match="auto"):
        dt.median([1, 2, 3], bounds=(0, 5), epsilon=1.0, mechanism="ladder", noise="laplace")
    with pytest.raises(NotApplicable, match="worst_case"):
        dt.histogram([1, 2, 3], edges=[0, 2, 5], epsilon=1.0, mechanism="ladder")
