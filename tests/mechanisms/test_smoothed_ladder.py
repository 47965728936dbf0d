"""The smoothed ladder: its widths, its privacy on whole universes, its draws, its errors and its interval."""

import functools
import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from conftest import trials
from contract.contracts import MechanismContract
from dither.errors import EpsilonTooSmall, InvalidArgument, NotApplicable
from dither.mechanisms.choice import applicable, prepare
from dither.mechanisms.error import Mixture
from dither.mechanisms.mechanism import MechanismSpec
from dither.mechanisms.smoothed_ladder import (
    AlongRungs,
    Dominating,
    SmoothedLadder,
    SmoothedRungs,
    draw,
    floor_of,
    later_part,
)
from dither.numbers import ball, precision
from dither.privacy import Loss, Neighbours
from dither.queries.order import Median, Minimum
from dither.queries.smallest import ChainSum
from dither.quotes.prior_sample import ImaginedColumn
from dither.sensitivity.ladder import Ladder
from dither.sources.grid import Grid
from dither.statistics.graphs import StarCount
from dither.statistics.order import RankedValue
from dither.statistics.totals import TrimmedTotal
from dither.statistics.unknown_size import FilteredMean
from dither_lab.audit import broken_mechanisms
from dither_lab.audit.answers import as_answer
from dither_lab.audit.enumeration import as_column, datasets, neighbours
from dither_lab.audit.exhaustive import privacy, worst_pair
from dither_lab.audit.law_comparison import draws_follow
from dither_lab.audit.laws.registry import law_named
from dither_lab.audit.universes import chain_universe, column_universe, graph_universe

HIGH, RECORDS = 6, 4
GRID = Grid(Fraction(1), 0, HIGH)
VALUES = range(HIGH + 1)
DIGITS = 192


class TestSmoothedLadder(MechanismContract):
    cases = [(SmoothedLadder(), None, Loss(e)) for e in (0.1, 1.0)]


class TestSmoothedLadderWithAGivenBeta(MechanismContract):
    cases = [(SmoothedLadder(beta=beta), None, Loss(1.0)) for beta in (0.1, 0.3)]


def prepared_for(statistic, epsilon=1.0, beta=None, confidence=None):
    """The mechanism for a statistic."""
    return SmoothedLadder(beta=beta).prepare(MechanismSpec(statistic, Loss(epsilon), None, confidence))


def by_definition(rungs, cap, decay, count):
    """``max_j decay^j max(U_{k+j}, h)`` in rationals; rungs are the cap from the end of the list on."""
    every = [max(Fraction(rung), floor_of(cap)) for rung in rungs] + [Fraction(cap)]

    def rung(k):
        return every[min(k, len(rungs))]

    return [max(decay**j * rung(k + j) for j in range(max(len(rungs) - k, 0) + 1)) for k in range(count)]


def listed(rungs, cap):
    """A ladder of these rungs and then its cap."""
    return Ladder(
        lambda a, b: np.array([rungs[k] if k < len(rungs) else cap for k in range(a, b)]), cap, top=len(rungs)
    )


@pytest.mark.parametrize("decay", [Fraction(9, 10), Fraction(63, 64), Fraction(1, 2**60)])
@pytest.mark.parametrize("rungs", [[0, 0, 0, 5], [1, 1, 2, 2, 40], [3, 3], [7], [0] * 30 + [90]])
def test_widths_are_enclosed_and_are_the_definition(rungs, decay):
    """Whole numbers below and above the rational number, less than 2 a rung apart, for any part of them."""
    cap = max(rungs) * 2
    truth = by_definition(rungs, cap, decay, len(rungs))
    for count in range(1, len(rungs) + 1):
        low, high = SmoothedRungs(listed(rungs, cap), decay).enclosed(count, DIGITS)
        assert all(under <= width * 2**DIGITS <= over for under, width, over in zip(low, truth, high, strict=False))
        assert len(low) == len(high) == count
        assert all(over - under <= 4 * len(rungs) for under, over in zip(low, high, strict=True))


def test_rungs_are_read_until_later_ones_cannot_matter():
    """A wall far away is seen from as far as it matters; an endless ladder below its cap is read only so far."""
    asked = []

    def rungs(start, stop):
        asked.append(stop)
        return np.array([5 if k < 400 else 1000 for k in range(start, stop)])

    decay = Fraction(99, 100)
    low, high = SmoothedRungs(Ladder(rungs, 1000, deepest=10**6), decay).enclosed(3, DIGITS)
    for k, (under, over) in enumerate(zip(low, high, strict=True)):
        assert under <= max(5, 1000 * decay ** (400 - k)) * 2**DIGITS <= over
        assert over - under < 2**20
    assert max(asked) < 1000


UNIVERSES = {
    "minimum": lambda: column_universe(Minimum(bounds=(0, 6)), range(7), 4),
    "median": lambda: column_universe(Median(bounds=(0, 4)), range(5), 5),
    "chain": lambda: chain_universe(ChainSum([1, 1, 1, 2, 3, 5, 9, 14], step=1), 8),
    "triangles": lambda: graph_universe(dt.Triangles(), 4),
    "2-triangles": lambda: graph_universe(dt.KTriangles(2), 4),
}
"""Small universes of order statistics, a chain and graphs."""


@functools.cache
def universe_of(name):
    """One of them, made once."""
    return UNIVERSES[name]()


each_universe = pytest.mark.parametrize("name", UNIVERSES)


@each_universe
def test_smoothed_rungs_are_a_ladder_and_move_by_e_to_the_beta(name):
    """In rationals, for all neighbours: V_k(x) <= V_{k+1}(y) and r V_k(x) <= V_k(y); raw rungs break the latter."""
    universe, decay, count = universe_of(name), Fraction(9, 10), 12
    statistic, climbed, raw = universe.statistic, [], []
    for data in universe.data:
        ladder = statistic.ladder(data)
        rungs = [int(rung) for rung in ladder.sensitivity_at_distance(0, 40)]
        raw.append(rungs[:count])
        climbed.append(by_definition(rungs, statistic.global_sensitivity, decay, count))
    values = [statistic.value(data) for data in universe.data]
    jumped = False
    for here, there in universe.pairs:
        assert abs(values[here] - values[there]) <= climbed[here][0]
        for k in range(count - 1):
            assert climbed[here][k] <= climbed[here][k + 1]
            assert climbed[here][k] <= climbed[there][k + 1]
            assert decay * climbed[here][k] <= climbed[there][k]
            jumped |= decay * raw[here][k] > raw[there][k]
    assert jumped


@pytest.mark.sampled(1)
@each_universe
@pytest.mark.parametrize(("epsilon", "share"), [(1.0, 30), (1.0, 3), (0.1, 10), (4.0, 10)])
def test_private_between_all_neighbours(name, epsilon, share):
    """The largest log-ratio of the densities, in balls, is at most epsilon; a rate 30% too large is caught."""
    universe = universe_of(name)
    prepared = prepared_for(universe.statistic, epsilon, beta=Fraction(epsilon) / share)
    assert privacy(prepared, universe).holds
    careless = replace(prepared, rate=prepared.rate * Fraction(13, 10))
    assert share < 10 or not privacy(careless, universe).holds


def test_private_on_all_graphs_of_five_vertices():
    """Triangles, two betas."""
    universe = graph_universe(dt.Triangles(), 5)
    for share in (30, 5):
        assert privacy(prepared_for(universe.statistic, 1.0, beta=Fraction(1, share)), universe).holds


def test_the_constant_is_nearly_sharp():
    """A chain whose rungs grow by e^beta at every step attains beta + rate e^-beta, to the rounding of its steps."""
    beta, steps = Fraction(1, 10), [round(1000 * math.exp(k / 10)) for k in range(40)]
    universe = chain_universe(ChainSum(steps, step=1), len(steps))
    prepared = prepared_for(universe.statistic, 1.0, beta=beta)
    lower, upper, _ = worst_pair(prepared, universe.different_pairs)
    assert upper <= 1.0
    assert lower == pytest.approx(0.1 + 0.9 * math.exp(-0.1), rel=5e-3)


def ideal(value, rungs, cap, decay, rate, words):
    """The real draw for given uniform numbers, with many digits: rung by cumulated mass, then the place in it."""
    widths = by_definition(rungs, cap, decay, len(rungs))
    with precision(400):
        fall = (-ball(rate)).exp()
        masses = [ball(width) * fall**t for t, width in enumerate(widths)]
        total = sum(masses, ball(cap) * fall ** len(masses) / (1 - fall))
        passed, rung = ball(0), 0
        uniform = ball(Fraction(words[0], 2**128))
        while rung < len(masses) and (passed + masses[rung]) / total < uniform:
            passed, rung = passed + masses[rung], rung + 1
        word = words[-1]
        sign = 1 if word >> (WIDE - 1) else -1
        theta = ball(Fraction(word % 2 ** (WIDE - 1), 2 ** (WIDE - 1)))
        part = -(theta * (fall - 1)).log1p() / ball(rate)
        if rung == len(masses):
            steps = (-ball(Fraction(words[1], 2**GEOMETRIC)).log() / ball(rate)).floor()
            start = sum(map(ball, widths), ball(0)) + steps * cap
            return value + sign * (start + part * cap)
        return value + sign * (sum(map(ball, widths[:rung]), ball(0)) + part * ball(widths[rung]))


WIDE, GEOMETRIC = 104, 136


@pytest.mark.parametrize("rungs", [[0, 0, 1, 4], [2, 3, 3, 50], [1] * 5], ids=str)
def test_draws_are_roundings_of_the_ideal_real_draw(rungs):
    """For given random bits, the whole number is the one nearest to the number computed with 400 digits."""
    rng, cap, decay, rate = np.random.default_rng(3), max(rungs) * 2, Fraction(19, 20), Fraction(1, 3)
    sizes = {16: 128, GEOMETRIC // 8: GEOMETRIC, WIDE // 8: WIDE}
    tails = 0
    for _ in range(200):
        drawn = []

        def source(size, drawn=drawn):
            found = rng.bytes(size)
            drawn.append((size, int.from_bytes(found, "big")))
            return found

        ours = draw(17, SmoothedRungs(listed(rungs, cap), decay), rate, 60, source)
        assert [size for size, _ in drawn] in ([16, 13], [16, 17, 13])
        assert all(size in sizes for size, _ in drawn)
        tails += len(drawn) == 3
        truth = ideal(17, rungs, cap, decay, rate, [word for _, word in drawn])
        with precision(400):
            assert ours == int((truth + ball(Fraction(1, 2))).floor().unique_fmpz())
    assert 0 < tails < 200


def test_a_draw_at_the_edge_of_a_rung_reads_more_bits():
    """Bits that agree with the edge between two rungs leave it open; both continuations are on the right side."""
    rungs, cap, decay, rate = [2], 4, Fraction(1, 2), Fraction(1)
    with precision(400):
        fall = (-ball(1)).exp()
        total = 2 + 4 * fall / (1 - fall)
        edge = int((2 / total * ball(2**128)).floor().unique_fmpz())
    for following, expected in ((0, range(-2, 3)), (2**64 - 1, None)):
        words = iter([edge.to_bytes(16, "big"), following.to_bytes(8, "big")])

        def source(size, words=words):
            found = next(words, None)
            return found if found is not None and len(found) == size else b"\x40" * size

        found = draw(0, SmoothedRungs(listed(rungs, cap), decay), rate, 60, source)
        assert (found in range(-2, 3)) == (expected is not None)


def far_column():
    """A median of records as quotes imagine them."""
    records = ImaginedColumn(dt.Uniform(0, 4000), Grid(Fraction(1), 0, 5000), 400)
    return RankedValue(200, 400, records.grid), records


def agree(law, errors):
    """Whether as many errors as the law says are beyond its median and upper fifth: 6.2 standard deviations, 1e-9."""
    for miss in (0.5, 0.2):
        place = Mixture([law]).quantile(miss)
        expected = law.beyond(place)
        if abs(np.mean(errors > place) - expected) > 6.2 * math.sqrt(expected * (1 - expected) / len(errors)):
            return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_errors_are_those_of_the_draws(epsilon):
    """2,500 draws about a column, false alarms below 1e-8; noise that is 30% larger is noticed."""
    statistic, records = far_column()
    prepared = prepared_for(statistic, epsilon)
    (law,) = prepared.error_laws(records)
    value = statistic.value(records)
    errors = np.array([abs(prepared.run(records).answer - value) for _ in range(2500)], dtype=float)
    assert agree(law, errors)
    assert not agree(law, 1.3 * errors + 1)
    assert np.mean(errors) == pytest.approx(law.mean, rel=0.25)


@pytest.mark.slow
def test_draws_follow_the_laboratorys_law():
    """Answers about all data of a small universe; wrong with probability 1e-9.  A rate 30% too large is noticed."""
    universe = universe_of("minimum")
    data = universe.data[60]
    many = trials(2500, 20_000)
    for factor, holds in ((1, True), (Fraction(13, 10), False)):
        prepared = prepared_for(universe.statistic, 1.0, beta=Fraction(1, 10))
        answers = [as_answer(replace(prepared, rate=prepared.rate * factor).run(data)) for _ in range(4 * many)]
        found = draws_follow(prepared, universe.enumerated(), [(data, answers)], 1e-9)
        assert found.holds == holds, found


def along(widths, widest, rate, rooms=(math.inf, math.inf)):
    """The law of the error for these widths."""
    return AlongRungs(np.array(widths, dtype=float), float(widest), rate, rooms)


def random_widths(rng, beta, count=30):
    """Widths that rise by at most e^beta, and the widest."""
    grown = np.exp(np.cumsum(np.append(0.0, rng.uniform(0, beta, count) * (rng.random(count) < 0.7))))
    return 50 * grown, 50 * float(grown[-1]) * math.exp(beta * rng.random())


def test_the_stated_law_is_the_integral_of_the_density():
    """Tails and means against quadrature, cut to a range or not."""
    widths, rate = [1.5, 1.5, 4.0, 9.0], 0.4
    law = along(widths, 9.0, rate)
    places = np.linspace(0, 400, 400_001)
    ends = np.concatenate([[0], np.cumsum(widths)])
    rungs = np.interp(places, np.append(ends, 400), np.append(np.arange(5.0), 4 + (400 - ends[-1]) / 9.0))
    density = np.exp(-rate * rungs)
    total = np.trapezoid(density, places)
    for distance in (0, 1, 3, 8, 15, 40, 90):
        beyond = np.trapezoid(np.where(places > distance + 0.5, density, 0), places) / total
        assert law.beyond(distance) == pytest.approx(beyond, rel=1e-3)
    assert law.mean == pytest.approx(np.trapezoid(density * places, places) / total, rel=1e-4)
    cut = along(widths, 9.0, rate, (7.0, 20.0))
    means = [np.trapezoid(density * np.minimum(places, room), places) / total for room in (7.0, 20.0)]
    assert cut.mean == pytest.approx(sum(means) / 2, rel=1e-4)
    assert cut.beyond(20) == 0.0
    assert cut.beyond(10) == pytest.approx(law.beyond(10) / 2)


def test_the_dominating_law_is_what_it_says():
    """Tail, quantile and mean of G(T + theta) against a long list of rungs that grow by e^beta."""
    rate, beta = 0.9, 0.1
    law = Dominating(rate, beta)
    widths = np.exp(beta * np.arange(400))
    long = along(widths, widths[-1], rate)
    for distance in (0.0, 0.5, 1.0, 2.5, 10.0, 60.0):
        assert float(law.tail(np.array([distance]))[0]) == pytest.approx(long._tail(distance), rel=1e-6)
    assert law.mean == pytest.approx(long.mean, rel=1e-6)
    assert float(law.tail(np.array([law.quantile(0.01)]))[0]) == pytest.approx(0.01, rel=1e-2)
    assert later_part(np.array([0.0, 1.0]), rate).tolist() == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize("share", [3, 10, 30])
def test_the_error_over_the_first_rung_is_dominated(share):
    """Tails of 150 random smoothed ladders at 30 places each: never above the public law, nor above Laplace noise."""
    rng, epsilon = np.random.default_rng(share), 1.0
    beta, near = epsilon / share, 0.0
    rate = epsilon - beta
    law = Dominating(rate, beta)
    for _ in range(150):
        widths, widest = random_widths(rng, beta)
        exact = along(widths, widest, rate)
        for distance in np.geomspace(0.1, 40, 30):
            tail = exact._tail(distance * widths[0])
            assert tail <= float(law.tail(np.array([distance]))[0]) * (1 + 1e-9)
            assert tail <= math.exp(-rate * distance * widths[0] / widest) * (1 + 1e-9)
            near = max(near, tail / float(law.tail(np.array([distance]))[0]))
    assert near > 0.9


@pytest.mark.parametrize("miss", [0.2, 0.05, 1e-3])
@pytest.mark.parametrize("share", [3, 30])
def test_intervals_cover_by_their_exact_probability(miss, share):
    """The chance to miss, integrated over the noise on ln V_0: at most what is allowed, and near it for the worst data.

    Data whose rungs grow by e^beta attain it; an interval without the noise in its factor would miss more often.
    """
    prepared = prepared_for(
        RankedValue(2, 9, Grid(Fraction(1), 0, 10**9)), 1.0, Fraction(9, 10) / share, 1 - Fraction(miss)
    )
    rate, spread = float(prepared.rate), float(prepared.beta / prepared.interval_epsilon)
    noise = np.linspace(-60, 60, 40_001)
    weights = np.exp(-np.abs(noise))
    weights /= weights.sum()

    def missed(widths, widest, factor):
        exact = along(widths, widest, rate)
        return sum(
            weight * exact._tail(min(math.exp(spread * shift), 1e300) * factor * widths[0])
            for shift, weight in zip(noise[::20], weights.reshape(-1)[::20] * 20, strict=True)
        )

    growing = np.exp(float(prepared.beta) * np.arange(3000 if share == 30 else 300))
    worst = missed(growing, growing[-1], prepared._factor)
    assert 0.8 * miss < worst <= miss * (1 + 2e-3)
    assert missed(np.ones(3), 1.0, prepared._factor) <= miss
    careless = Dominating(rate, float(prepared.beta)).quantile(miss)
    assert missed(growing, growing[-1], careless) > 1.05 * miss


def test_the_logarithm_that_is_told_moves_by_beta():
    """ln V_0 of all neighbours, in balls; with a decay three times as fast it moves faster."""
    for universe in map(universe_of, UNIVERSES):
        prepared = prepared_for(universe.statistic, 1.0, Fraction(1, 10))

        def most(decay, universe=universe):
            with precision(128):
                logarithms = [SmoothedRungs(universe.statistic.ladder(x), decay).first().log() for x in universe.data]
                return max(float((logarithms[here] - logarithms[there]).upper()) for here, there in universe.pairs)

        assert most(prepared.decay) <= 0.1
    assert most(prepared.decay**3) > 0.1


def test_the_interval_has_the_noise_that_it_spends():
    """ln of half-widths against Laplace noise of scale beta/eps'; false alarms below 1e-9, noise 30% smaller is caught.

    Dvoretzky-Kiefer-Wolfowitz.  What an interval spends is part of what the law shows.
    """
    statistic = RankedValue(500, 999, Grid(Fraction(1), 0, 10**12))
    prepared = prepared_for(statistic, 1.0, confidence=Fraction(9, 10))
    # Far from the bounds: no half-width is cut to what holds for all data.
    column = as_column(tuple(range(0, 999 * 10**6, 10**6)), statistic.answers)
    widths, many = prepared.widths(column), 10_000
    with precision(128):
        first = float(widths.first())
    logarithms = np.sort([math.log(prepared._half_width(widths) / (first * prepared._factor)) for _ in range(many)])
    spread = float(prepared.beta / prepared.interval_epsilon)
    allowed = math.sqrt(math.log(2e9) / (2 * many)) + 1 / many

    def distance(scale):
        below = np.where(
            logarithms < 0, np.exp(-np.abs(logarithms) / scale) / 2, 1 - np.exp(-np.abs(logarithms) / scale) / 2
        )
        return np.abs(np.arange(1, many + 1) / many - below).max()

    assert distance(spread) <= allowed < distance(spread / 0.7)
    universe = universe_of("minimum")
    honest = prepared_for(universe.statistic, 1.0, confidence=Fraction(9, 10))
    assert privacy(honest, universe, stride=20).holds
    assert not privacy(broken_mechanisms.interval_unpaid(honest), universe, stride=20).holds


def test_intervals_cover_in_runs(trials):
    """At 80% at most 20% are missed; false alarms below 1e-9 (Hoeffding)."""
    statistic, records = far_column()
    prepared = prepared_for(statistic, 1.0, confidence=Fraction(4, 5))
    value, many = statistic.value(records), trials(400, 5000)
    ends = [prepared.run(records).interval for _ in range(many)]
    missed = np.mean([not low <= value <= high for low, high in ends])
    assert missed <= 0.2 + math.sqrt(math.log(1e9) / (2 * many))
    (typical,) = prepared.typical_half_widths(records)
    assert np.median([(high - low) / 2 for low, high in ends]) == pytest.approx(typical, rel=0.2)


def test_no_data_have_a_greater_error_than_the_bound():
    """Laws of all data of the small universes against what holds for all data, and for an assumed number of records."""
    for universe in map(universe_of, UNIVERSES):
        prepared = prepared_for(universe.statistic, 1.0)
        worst = prepared.worst_case_error(0.8)
        for data in universe.distinct_data:
            (law,) = prepared.error_laws(data)
            assert law.mean <= worst.expected[0] * (1 + 1e-9)
            assert law.beyond(worst.quantile[0]) <= 0.2 * (1 + 1e-9)
    column = Grid(Fraction(1), 0, 5000)
    mean = FilteredMean(column, Neighbours.ADD_REMOVE)
    prepared = prepared_for(mean, 1.0)
    anyhow, counted = prepared.worst_case_error(0.9), prepared.worst_case_error(0.9, 400)
    (law,) = prepared.error_laws(ImaginedColumn(dt.Uniform(0, 5000), column, 400))
    assert law.mean <= counted.expected[0] < anyhow.expected[0] / 10
    assert law.beyond(counted.quantile[0]) <= 0.1


def test_the_ways_to_break_it_are_listed():
    """Four mistakes, each of which shows more than epsilon; the audit's tests show that each is found."""
    found = {
        one.name for one in law_named("smoothed_ladder").mutants(lambda universe: prepared_for(universe.statistic))
    }
    assert len(found) == 4


@pytest.mark.parametrize(
    "query",
    [dt.Median(bounds=(0, 100)), dt.TrimmedMean(bounds=(0, 100)), dt.IQR(bounds=(0, 100)), dt.Sum(bounds=(0, 100))],
    ids=lambda query: query.name,
)
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_it_answers_whatever_has_a_ladder(query, confidence):
    """By name and by object; what is spent is what was asked."""
    for mechanism in ("smoothed_ladder", dt.SmoothedLadder(), dt.SmoothedLadder(beta=0.02)):
        release = dt.ask(query, np.arange(100.0), epsilon=1.0, mechanism=mechanism, confidence=confidence)
        assert release.loss == Loss(1.0)
        assert release.mechanism == "smoothed_ladder"
        assert (release.interval is None) == (confidence is None)


def test_graphs_are_answered():
    """Triangles of a small graph, within what their law allows all but once in 1e9."""
    edges = [pair for pair in itertools.combinations(range(30), 2) if sum(pair) % 3]
    graph = dt.Graph(edges, n=30)
    release = dt.triangles(graph, epsilon=4.0, mechanism="smoothed_ladder", confidence=None)
    statistic = dt.Triangles().resolve(graph.shape)
    _, prepared = prepare(statistic, epsilon=4.0, mechanism="smoothed_ladder")
    (law,) = prepared.error_laws(graph)
    assert law.beyond(abs(release.value - statistic.value(graph))) > 1e-9


@pytest.mark.parametrize("epsilon", [1e-9, 100.0, 1e6])
def test_few_records_and_extreme_losses(epsilon):
    """The number of rungs is public and small: nothing to refuse, and nothing overflows."""
    for confidence in (None, 0.95):
        release = dt.median(
            np.arange(50.0), bounds=(0, 50), epsilon=epsilon, mechanism="smoothed_ladder", confidence=confidence
        )
        assert 0 <= release.value <= 50


def test_data_that_are_all_alike_are_answered_exactly():
    """Sensitivities of 0 as far as matters: the floor is far below a step.

    An answer is off with probability 6.1e-4 and by more than two steps with less than 1e-11: of 50 answers more than
    four are off with probability below 2e-10, one by more than two steps with probability below 5e-10.
    """
    prepared = prepared_for(RankedValue(500, 1001, Grid(Fraction(1), 0, 10**6)), 1.0)
    column = as_column((77,) * 1001, prepared.statistic.answers)
    answers = [prepared.run(column).answer for _ in range(50)]
    assert all(75 <= answer <= 79 for answer in answers)
    assert sum(answer != 77 for answer in answers) <= 4
    (law,) = prepared.error_laws(column)
    assert law.beyond(0) < 6.1e-4
    assert law.beyond(2) < 1e-11


def test_sensitivities_beyond_64_bits():
    """Stars of a large graph: exact whole numbers, as everywhere."""
    statistic = StarCount(4000, 9)
    assert statistic.global_sensitivity > 1 << 64
    prepared = prepared_for(statistic, 1.0, confidence=Fraction(9, 10))
    outcome = prepared.run(dt.Graph([(0, k) for k in range(1, 40)], n=4000))
    assert outcome.interval[0] <= outcome.answer <= outcome.interval[1]


def test_what_is_the_same_on_all_data_needs_no_noise():
    """A sensitivity of zero, also if the mechanism is prepared without the planner."""
    statistic = dt.ChainSum([0, 0, 0], step=1).resolve(dt.ChainSum([0, 0, 0], step=1).shape(2))
    prepared = prepared_for(statistic, 1.0, confidence=Fraction(9, 10))
    assert prepared.run(2).answer == statistic.value(2)
    (law,) = prepared.error_laws(2)
    assert (law.mean, law.beyond(0.0)) == (0.0, 0.0)
    assert prepared.typical_half_widths(2) == (0.0,)


def test_too_small_an_epsilon_is_refused_and_the_least_is_named():
    """From public facts, before anything is read."""
    many = RankedValue(5_000_000, 10_000_000, Grid(Fraction(1), 0, 1 << 36))
    with pytest.raises(EpsilonTooSmall) as refusal:
        prepare(many, epsilon=1e-6, mechanism="smoothed_ladder")
    prepare(many, epsilon=refusal.value.least, mechanism="smoothed_ladder")
    with pytest.raises(InvalidArgument, match="beta"):
        prepare(many, epsilon=1.0, mechanism=SmoothedLadder(beta=1e-9))


def test_rungs_that_are_looked_at_are_within_the_public_number():
    """What the limit counts bounds what is read, on data without and with a near wall."""
    statistic = RankedValue(5000, 10_000, Grid(Fraction(1), 0, 1 << 20))
    prepared = prepared_for(statistic, 2.0, confidence=Fraction(9, 10))
    for column in (np.zeros(10_000, dtype=np.int64), np.arange(10_000) * 100, np.repeat([0, 1 << 20], 5000)):
        widths = prepared.widths(as_column(tuple(column.tolist()), statistic.answers))
        widths.enclosed(min(prepared.window, widths.settled), DIGITS)
        assert len(widths._read) <= prepared.draw_length


def test_the_default_beta_is_a_public_rule():
    """A thirtieth of the answer's epsilon; 12 (8) over the records cut on a side where that is more, within limits.

    With an interval down to a sixtieth, from 16 over the records cut on.
    """
    for trimmed, confidence, share in (
        (10_000, None, Fraction(1, 30)),
        (100, None, Fraction(12, 100)),
        (10, None, Fraction(1, 5)),
        (10_000, Fraction(9, 10), Fraction(1, 60)),
        (600, Fraction(9, 10), Fraction(16, 600) / Fraction(9, 10)),
        (400, Fraction(9, 10), Fraction(1, 30)),
        (10, Fraction(9, 10), Fraction(1, 14)),
    ):
        statistic = TrimmedTotal(trimmed, 10 * trimmed, Grid(Fraction(1), 0, 100), Grid(Fraction(1), 0, 10**9))
        prepared = prepared_for(statistic, 1.0, confidence=confidence)
        assert prepared.beta == share * (1 if confidence is None else Fraction(9, 10))
        assert prepared.rate + prepared.beta + (prepared.interval_epsilon or 0) == 1
    assert prepared_for(StarCount(40, 2)).beta == Fraction(1, 30)


@pytest.mark.parametrize("beta", [0, -1, 1.0, 2.0, float("nan"), "a"])
def test_betas_outside_their_range_are_refused(beta):
    """Nothing is read: 0 < beta < epsilon."""
    with pytest.raises(InvalidArgument, match="beta"):
        dt.median([1, 2, 3], bounds=(0, 5), epsilon=1.0, mechanism=SmoothedLadder(beta=beta), confidence=None)


def test_an_interval_needs_a_smaller_beta():
    """Without one any beta below epsilon is accepted."""
    for beta, confidence, accepted in ((0.5, None, True), (0.5, 0.9, False), (0.3, 0.9, True)):
        asked = {"bounds": (0, 5), "epsilon": 1.0, "mechanism": SmoothedLadder(beta=beta), "confidence": confidence}
        if accepted:
            assert dt.median([1, 2, 3], **asked).loss == Loss(1.0)
        else:
            with pytest.raises(InvalidArgument, match="interval"):
                dt.median([1, 2, 3], **asked)


def test_what_does_not_apply_names_what_does():
    """Noise by name, and queries of several numbers; it is nobody's default."""
    with pytest.raises(NotApplicable, match="auto"):
        dt.median([1, 2, 3], bounds=(0, 5), epsilon=1.0, mechanism="smoothed_ladder", noise="laplace")
    with pytest.raises(NotApplicable, match="worst_case"):
        dt.histogram([1, 2, 3], edges=[0, 2, 5], epsilon=1.0, mechanism="smoothed_ladder")
    assert applicable(RankedValue(2, 4, GRID))[0] != "smoothed_ladder"


def test_sessions_store_it_and_quotes_know_it():
    """A paid answer is answered again, free; its error is quoted for all data and under a prior."""
    session = dt.open({"pay": np.arange(200.0)}, columns={"pay": dt.Real(0, 600)}, rows=200, budget=dt.Budget(2.0))
    asked = {"epsilon": 0.5, "mechanism": dt.SmoothedLadder(beta=0.05)}
    first = session.ask(dt.TrimmedMean("pay"), **asked)
    assert session.ask(dt.TrimmedMean("pay"), **asked).value == first.value
    assert session.budget.spent == Loss(0.5)
    anyhow = session.quote(dt.TrimmedMean("pay"), **asked)
    expected = session.quote(dt.TrimmedMean("pay"), **asked, prior=dt.Uniform(0, 600))
    assert anyhow.mechanism == expected.mechanism == "smoothed_ladder"
    assert 0 < expected.expected_error < anyhow.expected_error


def test_neighbouring_data_never_change_what_is_public():
    """Loss, window, rungs and reach depend on the statistic alone; widths redact themselves."""
    prepared = prepared_for(RankedValue(2, RECORDS, GRID))
    public = (prepared.draw_length, prepared.window, prepared.reach, prepared.public_half_widths(), prepared.refusal)
    for x in datasets(VALUES, RECORDS)[::50]:
        prepared.run(as_column(x, GRID))
        assert "private" in repr(prepared.widths(as_column(x, GRID)))
        assert any(True for _ in neighbours(x, VALUES))
    assert public == (prepared.draw_length, prepared.window, prepared.reach, None, None)
