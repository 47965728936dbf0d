"""Largest local sensitivities: levels, their ladders, COQ17's recursion and memory, its test vectors and its errata."""

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dither as dt
import oracle
from dither.errors import InvalidArgument, NotApplicable, NotProved
from dither.mechanisms.largest_local import LargestLocal, descending_bounds, paper_point, scales_fit, unfit_pairs
from dither.mechanisms.mechanism import MechanismSpec
from dither.mechanisms.smooth import Smooth
from dither.noise.laplace import Laplace
from dither.privacy import Loss
from dither.queries.smallest import ChainSum
from dither.sensitivity.levels import LevelFunction, Levels, Margin
from dither.sources.grid import Grid
from dither.statistics.levels import ByLevel
from dither.statistics.order import RankedValue
from dither_lab.audit.divergence import hockey_stick
from dither_lab.audit.enumeration import as_column, datasets, neighbours, noise_divergence

SALARIES = [24634, 29475, 37468, 48104, 69624, 113511]
PAPER = Loss(5.0, 1 / 2000)
"""The price in COQ17's example."""

level_lists = st.lists(st.integers(0, 1000), min_size=1, max_size=30).map(sorted)


def growth(loss):
    """1 + t/2 of COQ17, as a rational just below."""
    return 1 + Fraction(loss.epsilon / math.log(1 / loss.delta) / 2)


def reachable(levels, level, steps):
    """By trying: every level that so many steps of the relation reach."""
    reached = {level}
    for _ in range(steps):
        reached = {b for a in reached for b in levels.related(a)}
    return reached


@given(level_lists, st.integers(1, 4), st.data())
@settings(deadline=None)
def test_rungs_are_the_largest_sensitivities_within_reach(sensitivities, width, data):
    """Levels related by distance and the same relation given pair by pair agree with trying all ways."""
    count = len(sensitivities)
    near = Levels(sensitivities, width=width)
    pairs = [(a, b) for a in range(1, count + 1) for b in range(a, min(a + width, count) + 1)]
    level = data.draw(st.integers(1, count))
    truth = [sensitivities[max(reachable(near, level, j)) - 1] for j in range(8)]
    for levels in (near, Levels(sensitivities, pairs=pairs)):
        assert levels.ladder(level).sensitivity_at_distance(0, 8).tolist() == truth
        assert levels.ladder(level).sensitivity_at_distance(3, 6).tolist() == truth[3:6]


@given(level_lists, st.data())
@settings(deadline=None)
def test_rungs_of_related_levels_interlace(sensitivities, data):
    """U_k(v) <= U_{k+1}(w) for related levels, whatever the relation: the second axiom."""
    count = len(sensitivities)
    some = st.tuples(st.integers(1, count), st.integers(1, count))
    levels = Levels(sensitivities, pairs=data.draw(st.lists(some, max_size=20)))
    climbed = {v: levels.ladder(v).sensitivity_at_distance(0, 7).tolist() for v in range(1, count + 1)}
    for v in climbed:
        for w in levels.related(v):
            assert v in levels.related(w)
            assert all(climbed[v][k] <= climbed[w][k + 1] for k in range(6))


@given(level_lists, st.integers(1, 3), st.integers(1, 9), st.fractions(Fraction(1, 100), 3), st.data())
@settings(deadline=None)
def test_remembered_levels_change_nothing(sensitivities, width, memory, beta, data):
    """The smooth bound with any memory equals that of the plain ladder, to the accuracy of its inflation."""
    levels = Levels(sensitivities, width=width, memory=memory)
    level = data.draw(st.integers(1, levels.count))
    plain = oracle.smooth_bound(levels.ladder(level).sensitivity_at_distance(0, levels.count + 1).tolist(), float(beta))
    ours = levels.ladder(level).smooth(beta)
    assert plain <= float(ours) * (1 + 1e-12)
    assert float(ours) <= max(plain, levels.global_sensitivity * math.exp(-128)) * (1 + 1e-8)


def test_memory_is_shared_between_threads():
    """A rate that others pushed out of the memory while it was computed is still answered."""

    class Forgetful(Levels):
        """Loses what it remembers as soon as it is stored: another thread came by."""

        def __setattr__(self, name, value):
            super().__setattr__(name, {} if name == "_remembered" else value)

    forgetful = Forgetful(range(40), memory=4)
    for level in (1, 17, 40):
        assert forgetful.bound(level, 0.1) == Levels(range(40), memory=4).bound(level, 0.1)


def test_memory_shortens_the_climb():
    """With m places in memory nobody climbs more than r / m levels."""
    levels = Levels(range(10_000), memory=100)
    known = levels.remembered(0.01)
    assert len(known) == 100
    gaps = [b - a for a, b in pairwise(sorted({0, *known}))]
    assert max(gaps) <= 100


@given(level_lists, st.fractions(Fraction(101, 100), 2))
@settings(deadline=None)
def test_the_descending_recursion_is_the_smooth_bound_of_the_ladder(sensitivities, growing):
    """COQ17's Algorithm 1 on levels whose neighbours are next to each other, exactly, without its exception.

    With the exception it never adds less noise.
    """
    levels = Levels(sensitivities)
    count = levels.count
    ladder_form = [max(Fraction(sensitivities[v + j]) / growing**j for j in range(count - v)) for v in range(count)]
    assert descending_bounds(levels, growing, branch=False) == ladder_form
    assert all(p >= q for p, q in zip(descending_bounds(levels, growing), ladder_form, strict=True))


def test_proposition_12():
    """On well-ordered levels lambda_k = eps / (2 L_r) (1 + t/2)^(r-k), with or without the exception."""
    loss = Loss(0.5, 1e-3)
    g = growth(loss)
    sensitivities = [10**6]
    while len(sensitivities) < 12:
        sensitivities.append(math.ceil(sensitivities[-1] * g))
    assert all(b >= a * g for a, b in pairwise(sensitivities))
    levels = Levels(sensitivities)
    expected = [Fraction(sensitivities[-1]) / g ** (11 - k) for k in range(12)]
    assert descending_bounds(levels, g) == expected
    beta = paper_point(Laplace(), loss).beta
    assert [float(levels.ladder(k + 1).smooth(beta)) for k in range(12)] == pytest.approx(
        [float(one) for one in expected], rel=1e-7
    )


def test_figure_9_and_the_amplitudes_of_section_5_3():
    """COQ17's arithmetic on six vertices: amplitude 3 for LLS and for SS (with levels i 5/2, here in halves)."""
    levels = Levels([5, 10, 15, 20])
    t = 5 / math.log(2000)
    largest = descending_bounds(levels, growth(PAPER))[2] / 2
    assert float(largest) == pytest.approx(10 / (1 + t / 2))
    assert float(2 * largest / 5) == pytest.approx(3.0, abs=0.02)
    smooth = levels.ladder(3).smooth(Fraction(t / 2)) / 2
    assert float(2 * smooth / 5) == pytest.approx(3.0, abs=1e-6)
    # The printed noise of NLS, about 72, does not follow from the printed formula, whose expectation is far larger.
    bound = 2 + math.log(3 * 2000) / (5 / 3)
    scale = 4 * bound / (5 / 3)
    assert (7.5 + scale * math.log(3 * 2000)) / (5 / 3) > 90


def test_where_levels_skip_the_printed_recursion_is_not_private():
    """Level 1 has a neighbour at the top, level 2 has not: Algorithm 1 gives neighbours scales that are too far apart.

    The ladder, which also goes down and up again, is private for the same relation.
    """
    loss = Loss(0.5, 1e-3)
    g = growth(loss)
    levels = Levels([2**k for k in range(16)], pairs=[*pairwise(range(1, 17)), (1, 16)])
    printed = descending_bounds(levels, g)
    pairs = [(a, b) for a, b in product(range(1, 17), repeat=2) if b in levels.related(a)]
    # Noise of scale 2 S / eps around equal values: the dilation alone gives it away.
    prepared = {k: (Fraction(0), 2 * printed[k - 1] / Fraction(loss.epsilon)) for k in range(1, 17)}
    assert unfit_pairs(prepared, pairs, loss)
    beta = paper_point(Laplace(), loss).beta
    sound = {k: (Fraction(0), 2 * levels.ladder(k).smooth(beta) / Fraction(loss.epsilon)) for k in range(1, 17)}
    assert unfit_pairs(sound, pairs, loss) == []


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-2, 1 / math.e])
def test_the_papers_constants_are_proved_before_use(epsilon, delta):
    """alpha = eps/2 with beta = ln(1 + t/2) satisfies the exact condition up to eps = 5 and delta = 1/e."""
    point = paper_point(Laplace(), Loss(epsilon, delta))
    assert float(point.beta) == pytest.approx(math.log1p(epsilon / math.log(1 / delta) / 2))


def test_constants_of_the_paper_that_do_not_hold_are_refused():
    """With delta near 1 the numbers of the paper are not private; nothing is released."""
    with pytest.raises(NotProved):
        paper_point(Laplace(), Loss(1.0, 0.97))


def printed_theorem_8(wide, narrow, shift, loss):
    """COQ17 Theorem 8 as printed, with the best alpha for each of the two datasets."""
    t = loss.epsilon / math.log(1 / loss.delta)
    for here, there in ((1 / wide, 1 / narrow), (1 / narrow, 1 / wide)):
        alpha = here * shift / loss.epsilon
        if alpha > 1 or abs(1 - there / here) > (1 - alpha) * t:
            return False
    return True


def true_delta(wide, narrow, shift, epsilon):
    """The exact divergence of the two laws, in the worse direction."""
    law = Laplace()
    return max(
        hockey_stick(law, shift / wide, math.log(narrow / wide), epsilon).delta,
        hockey_stick(law, shift / narrow, math.log(wide / narrow), epsilon).delta,
    )


def test_erratum_theorem_8_drops_the_normalisers():
    """A pair that satisfies both printed conditions and has three times the delta; the corrected check refuses it."""
    loss = Loss(10.0, 5e-4)
    wide, narrow, shift = 1.0, 1 / 1.85, 3.5
    assert printed_theorem_8(wide, narrow, shift, loss)
    assert true_delta(wide, narrow, shift, loss.epsilon) > 3 * loss.delta
    assert not scales_fit(Fraction(1), Fraction(narrow), Fraction(7, 2), loss)


def test_erratum_one_minus_e_to_beta():
    """COQ17 sec. 8.4 needs |1 - e^beta| <= beta, which is false; its beta also exceeds NRS11's."""
    loss = Loss(1.0, 1e-6)
    ours, theirs = float(Laplace().paper_point(loss, 1)[1]), 1.0 / (2 * math.log(1e6))
    assert abs(1 - math.exp(theirs)) > theirs
    assert ours == pytest.approx(1.0 / (2 * math.log(2e6)))
    assert theirs > ours
    # So condition 2 of Theorem 8 fails at the alpha = 1/2 that the paper takes; the exact condition holds.
    assert abs(1 - math.exp(theirs)) > (1 - 1 / 2) * loss.epsilon / math.log(1 / loss.delta)
    assert Laplace().prove(Fraction(1, 2), Fraction(theirs), loss)


@given(st.floats(1.0, 4.0), st.floats(0.0, 12.0), st.floats(0.05, 6.0), st.sampled_from([1e-6, 1e-3, 0.05, 0.4]))
@settings(deadline=None, max_examples=60)
def test_the_corrected_check_is_sound_and_sharp(ratio, shift, epsilon, delta):
    """Against the exact divergence: nothing above delta passes; what is refused exceeds it, or is not pure."""
    loss = Loss(epsilon, delta)
    fits = scales_fit(Fraction(ratio), Fraction(1), Fraction(shift), loss)
    law = Laplace()
    to_wider = hockey_stick(law, shift, math.log(ratio), epsilon)
    to_narrower = hockey_stick(law, shift / ratio, -math.log(ratio), epsilon)
    if fits:
        assert max(to_wider.delta, to_narrower.delta) <= delta * (1 + 1e-6) + 1e-12
    else:
        assert to_narrower.delta >= delta * (1 - 1e-6) - 1e-12 or to_wider.epsilon >= epsilon * (1 - 1e-9)


@pytest.mark.parametrize("constants", ["exact", "paper"])
def test_private_along_the_chain_of_salaries(constants):
    """The exact divergence of all neighbours of COQ17's example is within the loss; 30% less noise is not."""
    loss = Loss(1.0, 1e-3)
    statistic = ChainSum(SALARIES, step=1).resolve(None)
    prepared = LargestLocal(constants=constants).prepare(MechanismSpec(statistic, loss))
    found = [noise_divergence(prepared, k, other) for k in range(7) for other in (k - 1, k + 1) if 0 <= other <= 6]
    assert max(one.delta for one in found) <= loss.delta * (1 + 1e-6)


def test_noise_30_percent_smaller_is_caught():
    """A chain whose sensitivities double at every step holds the worst pair: 30% less noise exceeds the loss."""
    loss = Loss(1.0, 1e-5)
    point = LargestLocal().prepare(MechanismSpec(ChainSum([2**k for k in range(12)], step=1).resolve(None), loss)).point
    alpha = point.alpha / Fraction(7, 10)
    values = Levels([2**k for k in range(40)])
    scales = [values.ladder(k).smooth(point.beta) / alpha for k in range(1, 40)]
    shifts = [Fraction(min(2**k, 2 ** (k - 1))) for k in range(1, 40)]
    assert not all(
        scales_fit(a, b, min(a, b) * alpha, loss) for (a, b), _ in zip(pairwise(scales), shifts, strict=False)
    )
    honest = [scale * Fraction(10, 7) for scale in scales]
    assert all(scales_fit(a, b, min(a, b) * point.alpha, loss) for a, b in pairwise(honest))


def test_the_chain_has_its_exact_ladder():
    """Rung j is the largest salary that comes or goes within j + 1 steps (COQ17 Ex. 5: LS(x_1) = 29475)."""
    statistic = ChainSum(SALARIES, step=1).resolve(None)
    assert [statistic.value(k) for k in range(4)] == [0, 24634, 54109, 91577]
    assert statistic.ladder(1).sensitivity_at_distance(0, 3).tolist() == [29475, 37468, 48104]
    local = [
        max(abs(statistic.value(k) - statistic.value(other)) for other in (k - 1, k + 1) if 0 <= other <= 6)
        for k in range(7)
    ]
    for k in range(7):
        truth = [max(local[max(k - j, 0) : k + j + 1]) for j in range(7)]
        assert statistic.ladder(k).sensitivity_at_distance(0, 7).tolist() == truth


def test_negative_values_on_the_chain_are_covered():
    """Pay can be negative; levels then rise with the largest absolute value so far."""
    statistic = ChainSum([-500, -3, 20, 100], step=1).resolve(None)
    for k in range(5):
        for other in (k - 1, k + 1):
            if 0 <= other <= 4:
                assert abs(statistic.value(k) - statistic.value(other)) <= statistic.ladder(k)[0]
    assert statistic.answers.ends == (-503, 0)


def test_margins_are_levels_of_a_median():
    """On every small dataset the levels of neighbours differ by at most one and cover the local sensitivity."""
    grid, values = Grid(Fraction(1), 0, 4), range(5)
    statistic = RankedValue(3, 5, grid)
    function = Margin(bound=1, depth=3).over(statistic)
    levels = {x: function.level(as_column(x, grid)) for x in datasets(values, 5)}
    assert set(levels.values()) == {2, 3, 4}
    for x, level in levels.items():
        sensitivity = oracle.local_sensitivity(lambda v: sorted(v)[2], x, values)
        assert sensitivity <= function.levels.sensitivities[level - 1]
        assert all(abs(level - levels[y]) <= 1 for y in neighbours(x, values))


def test_margins_make_a_median_private():
    """The whole pair: exact divergences of all neighbours on a small universe."""
    grid, values, loss = Grid(Fraction(1), 0, 4), range(5), Loss(2.0, 1e-2)
    statistic = RankedValue(3, 5, grid)
    prepared = LargestLocal(levels=Margin(bound=1, depth=4)).prepare(MechanismSpec(statistic, loss))
    assert isinstance(prepared.statistic, ByLevel)
    worst = max(
        noise_divergence(prepared, as_column(x, grid), as_column(y, grid)).delta
        for x in datasets(values, 5)[::2]
        for y in neighbours(x, values)
    )
    assert worst <= loss.delta * (1 + 1e-6)


def test_largest_local_answers_and_names_its_price():
    """Chains by name; other queries with levels of their own choosing; delta = 0 takes a pure law."""
    query = dt.ChainSum(SALARIES, step=1)
    for delta, noise in ((1e-6, "laplace"), (0.0, "blunt_power_law")):
        release = dt.ask(query, 3, epsilon=1.0, delta=delta, mechanism="largest_local")
        assert release.noise.startswith(noise)
        assert release.loss == Loss(1.0, delta)
        assert release.mechanism == "largest_local"
        assert release.interval[0] <= release.value <= release.interval[1]
    made = LevelFunction(Levels([100]), lambda _: 1)
    release = dt.median(
        range(50), bounds=(0, 100), step=1, epsilon=1.0, delta=1e-6, mechanism=LargestLocal(levels=made)
    )
    assert release.mechanism == "largest_local"


def test_smooth_sensitivity_of_the_chain_is_the_same_ladder():
    """On the chain SS and LLS differ in their constants alone."""
    statistic = ChainSum(SALARIES, step=1).resolve(None)
    ask = MechanismSpec(statistic, Loss(1.0, 1e-6), Laplace())
    smooth, largest = Smooth(beta=0.01).prepare(ask), LargestLocal(beta=0.01).prepare(ask)
    assert smooth.point == largest.point
    for k in range(7):
        assert float(largest.statistic.ladder(k).smooth(largest.point.beta)) == pytest.approx(
            float(statistic.ladder(k).smooth(smooth.point.beta)), rel=1e-9
        )


def test_the_point_in_use_is_chosen_by_the_public_levels():
    """Levels that grow slowly take a smaller beta and a larger alpha; levels that double keep the usual one."""
    loss = Loss(1.0, 1e-6)
    usual = Laplace().point(loss)
    slow = LargestLocal().prepare(MechanismSpec(ChainSum(range(10_000, 30_000), step=1).resolve(None), loss)).point
    fast = LargestLocal().prepare(MechanismSpec(ChainSum([2**k for k in range(30)], step=1).resolve(None), loss)).point
    assert slow.alpha > 1.5 * usual.alpha
    assert slow.beta < usual.beta / 10
    assert fast == usual


def test_bad_levels_are_refused():
    """Each with the name of the argument; what does not apply names what does."""
    for bad in ([], [3, 2], [-1, 2]):
        with pytest.raises(InvalidArgument, match="sensitivities"):
            Levels(bad)
    with pytest.raises(InvalidArgument, match="width"):
        Levels([1], width=0)
    for memory in (0, 129, 2.5):
        with pytest.raises(InvalidArgument, match="memory"):
            Levels([1], memory=memory)
    with pytest.raises(InvalidArgument, match="pairs"):
        Levels([1, 2], pairs=[(1, 3)])
    with pytest.raises(InvalidArgument, match="levels"):
        LargestLocal(levels=3)
    with pytest.raises(InvalidArgument, match="bound"):
        dt.median(range(9), bounds=(0, 10), step=1, epsilon=1.0, mechanism=LargestLocal(levels=Margin(bound=10)))
    with pytest.raises(InvalidArgument, match="depth"):
        Margin(bound=1, depth=0)
    small = LevelFunction(Levels([1]), lambda _: 1)
    with pytest.raises(InvalidArgument, match="global"):
        dt.median(range(9), bounds=(0, 10), step=1, epsilon=1.0, mechanism=LargestLocal(levels=small))
    with pytest.raises(NotApplicable, match="inverse"):
        dt.trimmed_mean(range(9), bounds=(0, 10), epsilon=1.0, mechanism="largest_local")
    with pytest.raises(NotApplicable, match="delta"):
        dt.ask(dt.ChainSum(SALARIES), 3, epsilon=1.0, mechanism="largest_local", noise="laplace")
    with pytest.raises(NotApplicable, match="constants"):
        dt.ask(dt.ChainSum(SALARIES), 3, epsilon=1.0, mechanism=LargestLocal(constants="paper"))
    with pytest.raises(InvalidArgument, match="data"):
        dt.ask(dt.ChainSum(SALARIES), [3], epsilon=1.0)
    with pytest.raises(InvalidArgument, match="finite"):
        dt.ChainSum([1.0, math.inf])


def test_places_outside_the_chain_are_moved_to_its_ends():
    """How many values are in is private: no error may tell."""
    query = dt.ChainSum(SALARIES, step=1)
    assert query.read(99, query.shape(99)) == 6
    assert query.read(np.int64(-4), query.shape(0)) == 0


def test_gaussian_noise_is_found_at_every_halving():
    """At a small beta its proof separates shift and dilation, which needs a step of up to 1% back from the frontier."""
    query = dt.ChainSum([3, 4, 6, 9, 14, 22], step=1)
    release = dt.ask(query, 3, epsilon=1.0, delta=1e-4, mechanism="largest_local", noise="gaussian")
    assert release.noise == "gaussian"
