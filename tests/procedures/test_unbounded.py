"""Statistics without bounds: margins against brute force, exact float arithmetic, exact divergences of whole plans."""

import math
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dither as dt
import oracle
from conftest import trials
from dither.accounting.cascades import Sequential
from dither.errors import InvalidArgument
from dither.kernels.exact_floats import any_difference_above, exact_float_sum, largest_difference, smallest_difference
from dither.mechanisms.margin_test import MarginTest
from dither.privacy import Loss
from dither.procedures.ordered import (
    Octaves,
    Ordered,
    RankRange,
    against_power,
    bin_margin,
    cell_margin,
    range_margin,
    reach_margin,
    trimmed_margin,
    window_margin,
)
from dither.procedures.plans import (
    Answer,
    LocationPlan,
    RangePlan,
    RangeProposal,
    ScalePlan,
    TrimmedPlan,
    paper_delta,
    paper_shortfall,
    plan_location,
    plan_range,
    plan_scale,
    plan_trimmed,
)
from dither.procedures.unbounded import CoarseScale, FoundNumber, ScaleStep, enough_records, least_records
from dither.procedures.unbounded_quantiles import SIZES, CodedRange
from dither_lab.audit.enumeration import datasets
from dither_lab.audit.propose_test_release import divergence, plan_law

FAR = 1e9
VALUES = (-FAR, 0.0, 1.0, 2.0, 4.0, 7.0, FAR)
QUARTILES = (Fraction(1, 4), Fraction(3, 4))
SHIFTS = (Fraction(0), Fraction(1, 2))


def ordered(x):
    """A dataset as private data."""
    return Ordered(np.array(x, dtype=float))


@pytest.fixture(scope="module", name="universe")
def universe_fixture():
    """All multisets of five records, and their distances in changed records."""
    listed = datasets(VALUES, 5)
    counts = np.array([[x.count(v) for v in VALUES] for x in listed])
    distances = 5 - np.minimum(counts[:, None, :], counts[None, :, :]).sum(axis=2)
    return listed, distances


def inner(listed):
    """Datasets without far records, which stand for infinity."""
    return [(i, x) for i, x in enumerate(listed) if max(map(abs, x)) < FAR]


@pytest.mark.parametrize("ranks", [(1, 5), (2, 4), (1, 3), (2, 3), (3, 5)])
def test_what_changes_reach_is_brute_force(universe, ranks):
    """Largest and smallest distance of two ranks within k changes, over all datasets of five records."""
    listed, distances = universe
    p, q = ranks
    spread = np.array([x[q - 1] - x[p - 1] for x in listed])
    for i, x in inner(listed):
        found = RankRange(ordered(x), p, q)
        assert found.value == spread[i]
        for k in range(4):
            within = spread[distances[i] <= k]
            assert found.least(k) == within.min()
            most = found.most(k)
            assert (most is None) == (within.max() >= FAR - 10)
            assert most is None or most == within.max()


@pytest.mark.parametrize("width", [Fraction(1), Fraction(3, 4), Fraction(13, 64)])
@pytest.mark.parametrize("shift", SHIFTS)
def test_changes_out_of_a_logarithmic_bin_are_brute_force(universe, width, shift):
    """The least number of changes that take the distance of two ranks out of its bin, for S, minus 1."""
    listed, distances = universe
    octaves = Octaves(width)
    index = [octaves.bin_of(Fraction(x[3] - x[1]), shift) for x in listed]
    for i, x in inner(listed):
        needed = min(distances[i][j] for j in range(len(listed)) if index[j] != index[i])
        assert bin_margin(RankRange(ordered(x), 2, 4), octaves, shift) == needed - 1


@pytest.mark.parametrize("width", [1.0, 2.5, 0.3, 100.0])
@pytest.mark.parametrize("rank", [2, 3, 4])
@pytest.mark.parametrize("shift", SHIFTS)
def test_changes_out_of_a_cell_are_brute_force(universe, width, rank, shift):
    """The least number of changes that take a rank out of its bin on the line, for M, minus 1."""
    listed, distances = universe
    cell = [math.floor(Fraction(x[rank - 1]) / Fraction(width) + shift) for x in listed]
    for i, x in inner(listed):
        needed = min(distances[i][j] for j in range(len(listed)) if cell[j] != cell[i])
        assert cell_margin(ordered(x), rank, Fraction(width), shift) == needed - 1


@pytest.mark.parametrize("width", [0.0, 1.0, 2.0, 3.5])
def test_margins_of_ranks_and_trimmed_means_are_those_of_exact_ladders(width):
    """min {k : A^(k) > width} with the bounds at infinity: NRS11's ladder, and the enumerated one of trimmed totals."""
    for x in datasets(VALUES[1:6], 5):
        for rank in (1, 3, 4):
            ladder = oracle.order_ladder(x, rank, -FAR, FAR, 6)
            assert window_margin(ordered(x), rank, width) == next(k for k, u in enumerate(ladder) if u > width)
        at = oracle.padded(x, -FAR, FAR)
        for m in (1, 2):
            ladder = [max(at(5 - m + t) - at(m + t - k) for t in range(k + 2)) for k in range(5)]
            assert trimmed_margin(ordered(x), m, width) == next(k for k, u in enumerate(ladder) if u > width)


@pytest.mark.parametrize("width", [0.0, 1.0, 3.0, 5.5])
def test_margins_of_ranges_are_safe_on_all_datasets(universe, width):
    """A margin above 0 means that no change moves the distance by more; neighbours' margins differ by at most 1.

    Never above the least number of changes that lead to data where one more does move it; there equal for most data.
    """
    listed, distances = universe
    spread = np.array([x[3] - x[1] for x in listed])
    near = distances <= 1
    unsafe = np.array([np.abs(spread[near[i]] - spread[i]).max() > width for i in range(len(listed))])
    found = np.array([range_margin(ordered(x), 2, 4, width) for x in listed])
    equal = 0
    for i, _ in inner(listed):
        exact = distances[i][unsafe].min()
        assert found[i] <= exact
        equal += found[i] == exact
        if found[i] >= 1:
            assert np.abs(spread[near[i]] - spread[i]).max() <= width
    assert np.abs(found[:, None] - found[None, :])[near].max() <= 1
    assert equal >= 0.5 * len(inner(listed))


def margins(x):
    """Every margin in use, on one dataset of eleven records."""
    data = ordered(x)
    found = {}
    for p, q in ((3, 9), (2, 8)):
        distances = RankRange(data, p, q)
        for width in (Fraction(1, 2), Fraction(2)):
            octaves = Octaves(width)
            found[p, width, "reach"] = reach_margin(distances, octaves.close)
            for shift in SHIFTS:
                found[p, width, shift] = bin_margin(distances, octaves, shift)
        found[p, "add"] = range_margin(data, p, q, 3.0)
        assert found[p, "add"] >= reach_margin(distances, lambda least, most: most - least <= 3)
    for width in (0.0, 0.7, 4.0):
        found["window", width] = window_margin(data, 6, width)
        found["trimmed", width] = trimmed_margin(data, 3, width)
        if width:
            for shift in SHIFTS:
                found["cell", width, shift] = cell_margin(data, 6, Fraction(width), shift)
    return found


def test_margins_are_lipschitz_and_reach_is_never_below_bins():
    """Random data with ties, gaps and far records; the changed record goes far, to a bin's edge or onto another one."""
    rng = np.random.default_rng(7)
    for _ in range(trials(50, 1000)):
        x = rng.choice([0.0, 0.0, 0.5, 1.0, 1.0, 2.0, 2.5, 3.0, 8.0, 1e6, -1e6], 11)
        if rng.random() < 0.5:
            x = x + rng.normal(0, 0.2, 11)
        here = margins(x)
        for place in (1e300, -1e300, 0.0, 1.0, 2.0, 3.5, float(rng.choice(x))):
            y = x.copy()
            y[rng.integers(11)] = place
            there = margins(y)
            assert all(abs(here[name] - there[name]) <= 1 for name in here)
        for p in (3, 2):
            for width in (Fraction(1, 2), Fraction(2)):
                assert here[p, width, "reach"] >= max(here[p, width, shift] for shift in SHIFTS)
        for width in (0.7, 4.0):
            assert here["window", width] >= max(here["cell", width, shift] for shift in SHIFTS)


def test_a_raw_count_of_changes_does_not_start_at_zero():
    """DL09's A0 is at least 1 even where neighbours fall into different bins: used raw, it would pass too often."""
    x, y = ordered([0, 0, 0.999, 1.0, 1.0]), ordered([0, 0, 1.0, 1.0, 1.0])
    pair = [cell_margin(one, 3, Fraction(1), Fraction(0)) for one in (x, y)]
    assert pair == [0, 0]


def test_differences_and_sums_of_floats_are_exact():
    """Against rationals, on numbers of very different sizes."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        high, low = (rng.normal(size=8) * 2.0 ** rng.integers(-60, 60, 8) for _ in range(2))
        truth = [Fraction(a) - Fraction(b) for a, b in zip(high, low, strict=True)]
        assert largest_difference(high, low) == max(truth)
        assert smallest_difference(high, low) == min(truth)
        assert exact_float_sum(high) == sum(map(Fraction, high))
        for bound in (float(max(truth)), math.nextafter(float(max(truth)), 0.0), 0.0):
            assert any_difference_above(high, low, bound) == (max(truth) > Fraction(bound))
    tiny = np.array([1.0, 2.0**-60, 5e-324, -1.0, 2.0**1000, -(2.0**1000)])
    assert exact_float_sum(tiny) == Fraction(2) ** -60 + Fraction(5e-324)
    # 1 + 2^-60 - 1 rounds to 0 in floats, but the difference of 1 and -2^-60 exceeds 1.
    assert any_difference_above(np.array([1.0]), np.array([-(2.0**-60)]), 1.0)


def test_powers_of_two_are_compared_exactly():
    """At, just below and just above 2^(a/b), where logarithms cannot tell."""
    for exponent in (Fraction(0), Fraction(5), Fraction(-3), Fraction(7, 64), Fraction(1, 2)):
        power = Fraction(2) ** exponent.numerator
        near = Fraction(math.isqrt(int(power * 4**300 if exponent.denominator == 2 else 0))) / 2**300
        if exponent.denominator == 1:
            assert against_power(power, exponent) == 0
            assert against_power(power + Fraction(1, 1 << 400), exponent) == 1
            assert against_power(power - Fraction(1, 1 << 400), exponent) == -1
        elif exponent.denominator == 2:
            assert against_power(near, exponent) == -1
            assert against_power(near + Fraction(1, 2**300), exponent) == 1
    octaves = Octaves(Fraction(1, 2))
    assert octaves.bin_of(Fraction(8), Fraction(0)) == 6
    assert octaves.bin_of(Fraction(8) - Fraction(1, 1 << 300), Fraction(0)) == 5
    assert octaves.bin_of(Fraction(0), Fraction(0)) is None


# --- exact divergences of whole plans -----------------------------------------------------------------

SMALL = (0.0, 1.0, 1.25, 2.0, 40.0)
TEST = MarginTest(Fraction(2), Fraction(1, 50))
COARSE = CoarseScale(TEST, 2, 5, Fraction(1))
PLANS = {
    "scale by reach": ScalePlan(Loss(9.0), ScaleStep(TEST, Fraction(1), "reach", 2, 5, Fraction(1))),
    "scale by bins": ScalePlan(Loss(9.0), ScaleStep(TEST, Fraction(1), "bins", 2, 5, Fraction(1))),
    "location": LocationPlan(Loss(9.0), COARSE, 3, Fraction(3, 4), TEST, Fraction(1), "reach"),
    "location by bins": LocationPlan(Loss(9.0), COARSE, 3, Fraction(3, 4), TEST, Fraction(1), "bins"),
    "range": RangePlan(
        Loss(9.0),
        COARSE,
        (RangeProposal(Fraction(3, 8), TEST, Fraction(2)), RangeProposal(Fraction(3, 4), TEST, Fraction(1))),
    ),
    "trimmed mean": TrimmedPlan(Loss(9.0), COARSE, 2, 2, Fraction(1), Fraction(1), Fraction(0)),
}


@pytest.fixture(scope="module", name="pairs")
def pairs_fixture():
    """Neighbouring datasets of six records, spread over the universe, extremes included."""
    listed = datasets(SMALL, 6)
    found = []
    for x in listed:
        for old in sorted(set(x)):
            rest = list(x)
            rest.remove(old)
            found += [(x, tuple(sorted([*rest, new]))) for new in (0.0, 2.0, 40.0, 1e12) if new != old]
    return found


def worst(plan, pairs, epsilon):
    """The largest exact divergence over the pairs, both ways."""
    laws = {}

    def law(x):
        if x not in laws:
            laws[x] = plan_law(plan, ordered(x))
            assert laws[x].total == pytest.approx(1.0)
        return laws[x]

    return max(max(divergence(law(x), law(y), epsilon), divergence(law(y), law(x), epsilon)) for x, y in pairs)


@pytest.mark.parametrize("name", PLANS)
def test_plans_are_private_at_their_price(pairs, name):
    """All that is released, scales included, on adversarial neighbours: within the price of the arrangement."""
    plan = PLANS[name]
    price = plan.composition
    assert worst(plan, pairs, float(price.epsilon)) <= float(price.delta) * (1 + 1e-9)


@pytest.mark.parametrize("name", ["scale by reach", "scale by bins", "trimmed mean"])
def test_a_delta_that_is_30_percent_too_large_is_seen(pairs, name):
    """Tests that let a margin of zero pass 1.3 times as often."""
    plan = PLANS[name]
    test = MarginTest(TEST.epsilon, TEST.delta * Fraction(13, 10))
    part = {"step": replace(plan.step, test=test)} if "scale" in name else {"scale": replace(plan.scale, test=test)}
    assert worst(replace(plan, **part), pairs, float(plan.composition.epsilon)) > float(plan.composition.delta) * 1.02


def runs_of(*parts):
    """Private data from (value, count) pairs."""
    return ordered([value for value, count in parts for _ in range(count)])


def scale_pair(m):
    """One change doubles the distance of ranks 51 and 151; m more make it large."""
    return (
        runs_of((0.0, 100), (64.0, 51), (128.0, m), (1e6, 50 - m)),
        runs_of((0.0, 99), (64.0, 51), (128.0, m), (1e6, 51 - m)),
    )


def location_pair(m):
    """One change moves rank 101 by 8, the width that 1/16 of the scale's upper edge proposes; m more make it far."""
    return (
        runs_of((0.0, 60), (30.0, 41), (38.0, m), (64.0, 100 - m)),
        runs_of((0.0, 59), (30.0, 41), (38.0, m), (64.0, 101 - m)),
    )


def range_pair(m):
    """One change moves the distance of ranks 51 and 151 by 8, likewise."""
    return (
        runs_of((0.0, 100), (64.0, 51), (72.0, m), (1e6, 50 - m)),
        runs_of((0.0, 99), (64.0, 51), (72.0, m), (1e6, 51 - m)),
    )


def trimmed_pair(m):
    """One change moves the sum of ranks 51 to 151 by all of their range, which fills its bin; no test is near."""
    return runs_of((0.0, 91 + m), (127.9, 110 - m)), runs_of((0.0, 90 + m), (127.9, 111 - m))


SHARP = MarginTest(Fraction(1), Fraction(1, 10**4))
WIDE = CoarseScale(SHARP, 51, 151, Fraction(1))
AT_THE_THRESHOLD = {
    "scale": (ScalePlan(Loss(9.0), ScaleStep(SHARP, Fraction(1), "reach", 51, 151, Fraction(1))), scale_pair, 2.0),
    "location": (
        LocationPlan(Loss(9.0), replace(WIDE, lower=31, upper=171), 101, Fraction(1, 16), SHARP, Fraction(1), "reach"),
        location_pair,
        2.0,
    ),
    "range": (
        RangePlan(Loss(9.0), WIDE, (RangeProposal(Fraction(1, 16), SHARP, Fraction(1)),)),
        range_pair,
        3.0,
    ),
    "trimmed mean": (
        TrimmedPlan(Loss(9.0), replace(WIDE, lower=50, upper=152), 50, 101, Fraction(1), Fraction(1), Fraction(0)),
        trimmed_pair,
        1.0,
    ),
}


def less_noise(part):
    """The same with 30% less noise."""
    return replace(part, release=part.release * Fraction(10, 7))


@pytest.mark.parametrize("name", AT_THE_THRESHOLD)
def test_pairs_at_the_threshold_show_the_price_and_no_more(name):
    """Values move by all that was proposed while margins cross the threshold: the parts involved cost what they cost.

    Within their price; beyond it if the noise is 30% smaller; and 20% less epsilon would not hold.
    """
    plan, pair, epsilon = AT_THE_THRESHOLD[name]

    def found(one, price):
        laws = [[plan_law(one, data) for data in pair(m)] for m in range(1, 18)]
        return max(max(divergence(x, y, price), divergence(y, x, price)) for x, y in laws)

    if isinstance(plan, ScalePlan):
        broken = replace(plan, step=less_noise(plan.step))
    elif isinstance(plan, RangePlan):
        broken = replace(plan, proposals=tuple(map(less_noise, plan.proposals)))
    else:
        broken = less_noise(plan)
    delta = float(plan.composition.delta)
    assert found(plan, epsilon) <= delta * (1 + 1e-9)
    assert found(plan, epsilon * 0.8) > delta * 10
    assert found(broken, epsilon) > delta * 10


# --- plans from public facts ---------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Loss(1.0, 1e-6), Loss(0.5, 1e-4), Loss(5.0, 1e-3)])
@pytest.mark.parametrize("constants", ["exact", "paper"])
def test_plans_cost_what_was_asked(loss, constants):
    """The arrangement fits; epsilon is spent in full, the paper's delta is its own."""
    n = 10**7
    for plan in (
        plan_scale(n, loss, QUARTILES, constants),
        plan_location(n, loss, Fraction(1, 2), constants),
        plan_range(n, loss, QUARTILES, constants),
        plan_trimmed(n, loss, n // 10, constants),
    ):
        assert plan.composition.fits(plan.loss)
        assert plan.loss.epsilon == loss.epsilon
        assert plan.composition.epsilon == pytest.approx(loss.epsilon)
        assert 0 < plan.loss.delta <= loss.delta
        assert isinstance(plan.composition, Sequential) or isinstance(plan, ScalePlan)


@pytest.mark.parametrize("records", [2_000, 20_000, 200_000, 10_000_000])
def test_the_refined_range_has_less_noise_than_the_scale(records):
    """Noise that is public: at most 0.6 of the scale's from 20,000 records on, where the coarse scale is up to 1.55 D.

    It was 3 to 4 times the scale's with one proposal, the reach margin and a third of epsilon for the coarse tests.
    """
    loss = Loss(1.0, 1e-6)
    scale, plan = plan_scale(records, loss, QUARTILES, "exact"), plan_range(records, loss, QUARTILES, "exact")
    narrow, wide = plan.proposals
    relative = float(scale.step.width / scale.step.release) * math.log(2)
    mean_edge = (2 ** float(plan.scale.width) - 1) / (float(plan.scale.width) * math.log(2))
    noise = float(narrow.share / narrow.release) * mean_edge
    assert narrow.share < wide.share
    if records >= 20_000:
        assert noise <= 0.6 * relative


def test_the_papers_constants():
    """delta = n^{-epsilon ln n} / 2, thresholds ln^2 n; the trimmed mean's missing delta."""
    n, e = 50_000, Fraction(1, 6)
    assert float(paper_delta(n, e)) == pytest.approx(n ** (-float(e) * math.log(n)) / 2)
    plan = plan_location(n, Loss(1.0, 1e-3), Fraction(1, 2), "paper")
    assert plan.test.least_margin == math.floor(math.log(n) ** 2) + 1
    assert plan.loss.delta == pytest.approx(4 * float(paper_delta(n, e)))
    short = float(paper_shortfall(n, Fraction(1, 4), Fraction(1, 2)))
    assert short == pytest.approx(0.5 * math.exp(-0.25 * 0.5 * math.log(n) / math.log(1 + 1 / math.log(n))), rel=0.3)


@pytest.mark.parametrize("constants", ["exact", "paper"])
def test_too_few_records_are_refused_by_number(constants):
    """The error names the least number; with one record less it is still raised, with that number it is not."""
    loss = Loss(1.0, 1e-6)
    for make in (
        lambda n: plan_scale(n, loss, QUARTILES, constants),
        lambda n: plan_location(n, loss, Fraction(1, 2), constants),
        lambda n: plan_range(n, loss, QUARTILES, constants),
        lambda n: plan_location(n, loss, Fraction(1, 50), constants),
        lambda n: plan_trimmed(n, loss, max(n // 10, 1), constants, Fraction(1, 10)),
    ):
        with pytest.raises(InvalidArgument, match=r"epsilon=1 and delta=1e-06 need at least \d+ records") as caught:
            make(20)
        least = int(str(caught.value).split("at least ")[1].split()[0])
        make(least)
        with pytest.raises(InvalidArgument, match=f"at least {least} records; got {least - 1}; nothing was read"):
            make(least - 1)


def test_the_least_number_is_found():
    """By doubling and halving; conditions that never hold end somewhere."""
    assert least_records(lambda n: n >= 12_345) == 12_345
    assert least_records(lambda n: False, most=1 << 20) == 1 << 20
    enough_records(10, lambda n: True, Fraction(1), Fraction(1, 2))


def test_plans_need_delta_and_ranks():
    """Without delta, without two ranks, without anything to trim."""
    with pytest.raises(InvalidArgument, match="delta"):
        plan_scale(10_000, Loss(1.0), QUARTILES, "exact")
    with pytest.raises(InvalidArgument, match="ranks"):
        plan_range(10_000, Loss(1.0, 1e-6), (Fraction(1, 4), Fraction(1, 4)), "exact")
    with pytest.raises(InvalidArgument, match="trim"):
        plan_trimmed(10_000, Loss(1.0, 1e-6), 0, "exact")
    with pytest.raises(InvalidArgument, match="however many"):
        plan_location(10_000, Loss(1.0, 1e-6), Fraction(1), "exact")


# --- drawn ranges --------------------------------------------------------------------------------------


def test_chains_of_coded_ranges_interlace_and_are_brute_force(universe):
    """R_i is the code of the largest distance within i changes, R_-i of the smallest; neighbours interlace."""
    listed, distances = universe
    statistic = CodedRange(2, 4, 5)
    codes = SIZES.codes(np.array([x[3] - x[1] for x in listed]))
    chains = {}
    for i, x in inner(listed):
        chain = statistic.reachable_values(ordered(x))
        links = chain.values(-3, 3)
        chains[i] = links
        for k in range(4):
            within = codes[distances[i] <= k]
            assert links[3 - k] == within.min()
            assert links[3 + k] == (SIZES.top if k >= chain.top else within.max())
        assert chain.values(chain.bottom, chain.bottom) == [0]
        assert statistic.ladder(ordered(x))[0] >= max(abs(codes[i] - codes[distances[i] <= 1]))
    for i, here in chains.items():
        for j, there in chains.items():
            if distances[i, j] == 1:
                assert all(there[k - 1] <= here[k] <= there[k + 1] for k in range(1, 6))


def test_noise_beyond_all_floats_is_no_error(monkeypatch):
    """Records around 2**1000 with a tiny epsilon: the answer is the largest float."""
    found = FoundNumber(Fraction(2) ** 1030, -(Fraction(2) ** 1030), Fraction(2) ** 1031)
    monkeypatch.setattr(LocationPlan, "run", lambda *_: Answer(found))
    release = dt.median(np.arange(10_000.0), bounds=None, epsilon=1.0, delta=1e-6, mechanism="propose_test")
    assert release.value == sys.float_info.max
    assert release.interval == (-sys.float_info.max, sys.float_info.max)
