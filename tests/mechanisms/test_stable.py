"""Stable values, choices and histograms of undeclared categories: exact laws and brute force."""

import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

import dither as dt
from dither.errors import InvalidArgument, NotApplicable
from dither.mechanisms.margin_test import MarginTest
from dither.mechanisms.mechanism import MechanismSpec
from dither.mechanisms.propose_test import ProposeTest
from dither.mechanisms.stable import Stable, lead_margin, stable_choice
from dither.mechanisms.stable_bins import GaussianBins, StableBins
from dither.numbers import ball, exact, precision
from dither.privacy import Loss
from dither.queries.order import Median
from dither.queries.spread import IQR
from dither.queries.totals import TrimmedMean
from dither.sources.column import Shape
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue
from dither_lab.audit.enumeration import as_column, datasets, neighbours
from dither_lab.audit.procedure_checks import gaussian_bins_delta
from dither_lab.audit.propose_test_release import bins_divergence, divergence, gaussian_bin, mechanism_law

GRID = Grid(Fraction(1), 0, 2)
LOSS = Loss(1.0, 0.02)


def worst(prepared, loss):
    """The largest exact divergence over neighbouring datasets of six records over three values."""
    laws = {x: mechanism_law(prepared, as_column(x, GRID)) for x in datasets(range(3), 6)}
    return max(divergence(laws[x], laws[y], loss.epsilon) for x in laws for y in neighbours(x, range(3)))


def test_stable_values_are_private_on_a_whole_universe_and_sharp():
    """Within (epsilon, delta) on all neighbours; 20% less epsilon or 30% less delta would not hold."""
    prepared = Stable().prepare(MechanismSpec(RankedValue(3, 6, GRID), LOSS))
    assert worst(prepared, LOSS) <= LOSS.delta * (1 + 1e-9)
    dearer = replace(prepared, test=MarginTest(prepared.test.epsilon, prepared.test.delta * Fraction(13, 10)))
    assert worst(dearer, LOSS) > LOSS.delta * 1.2
    assert worst(prepared, Loss(0.8, 0.02)) > LOSS.delta


def test_a_stable_answer_is_exact():
    """Grades of many people: the median does not move with few of them and is told as it is; its bar is itself."""
    grades = np.repeat([1, 2, 3, 4, 5], [50, 100, 400, 100, 50])
    release = dt.median(grades, bounds=(1, 5), epsilon=1.0, delta=1e-6, mechanism="stable")
    assert (release.value, release.interval) == (3, (3, 3))
    spread = dt.median(np.arange(700), bounds=(0, 700), epsilon=1.0, delta=1e-6, mechanism="stable")
    assert spread.refused
    assert spread.loss == release.loss == Loss(1.0, 1e-6)
    assert "test did not pass" in spread.to_dict()["reason"]


def test_stable_needs_delta():
    """The error names it."""
    with pytest.raises(InvalidArgument, match="delta"):
        dt.median([1.0] * 99, bounds=(0, 2), epsilon=1.0, mechanism="stable")
    with pytest.raises(InvalidArgument, match="delta"):
        dt.mode(["a"] * 99, epsilon=1.0)
    with pytest.raises(InvalidArgument, match="delta"):
        dt.histogram(["a"] * 99, epsilon=1.0)


def winner(x):
    """The most common letter, ties by the alphabet."""
    counts = Counter(x)
    return min(counts, key=lambda letter: (-counts[letter], letter))


def test_leads_never_exceed_the_changes_that_overtake():
    """For all columns of up to six letters: at least margin + 1 changes are needed for another winner."""
    for n in (1, 3, 5):
        universe = list(product("abc", repeat=n))
        for x in universe:
            needed = min(
                (sum(a != b for a, b in zip(x, y, strict=True)) for y in universe if winner(y) != winner(x)), default=9
            )
            assert lead_margin(Counter(x), 1) <= needed - 1


def test_leads_are_lipschitz_whatever_a_person_owns():
    """Margins of neighbours differ by at most 1 when a person owns s rows, and a margin of 1 keeps the winner."""
    rng = np.random.default_rng(5)
    for s in (1, 2, 5):
        for _ in range(400):
            rows = rng.choice(list("abcd"), 40, p=[0.4, 0.35, 0.2, 0.05]).tolist()
            moved = [*rng.choice(list("abe"), s).tolist(), *rows[s:]]
            here, there = (lead_margin(Counter(one), s) for one in (rows, moved))
            assert abs(here - there) <= 1
            assert winner(rows) == winner(moved) or max(here, there) == 0


@pytest.mark.slow
def test_choices_are_exact_or_refused():
    """A clear winner is told, a close race is refused; models are compared by scores of any sensitivity."""
    assert stable_choice({"tree": 870, "line": 610}, Loss(1.0, 1e-6)) == "tree"
    assert stable_choice({"tree": 500, "line": 500}, Loss(1.0, 1e-6)) is None
    assert (
        stable_choice({"tree": Fraction(9, 10), "line": Fraction(1, 2)}, Loss(1.0, 1e-6), sensitivity=Fraction(1, 9))
        is None
    )
    assert stable_choice({}, Loss(1.0, 1e-6)) is None
    with pytest.raises(InvalidArgument, match="sensitivity"):
        stable_choice({"a": 1}, Loss(1.0, 1e-6), sensitivity=0)
    release = dt.mode(np.repeat(["x", "y"], [900, 100]), epsilon=1.0, delta=1e-6)
    assert release.value == "x"
    assert "mode = x" in str(release)
    assert release.plot().texts[0].get_text() == "x"
    assert dt.mode(["x", "y"] * 50, epsilon=1.0, delta=1e-6).refused


def histograms(rows):
    """Every way to hold so many rows in three bins."""
    return [dict(zip("abc", split, strict=True)) for split in product(range(rows + 1), repeat=3) if sum(split) == rows]


def moved(counts, s):
    """All histograms after one person has replaced up to s rows."""
    return [
        there for there in histograms(sum(counts.values())) if 2 * s >= sum(abs(there[k] - counts[k]) for k in "abc")
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta", "s"), [(1.5, 0.01, 1), (3.0, 0.02, 2), (4.0, 0.05, 3)])
def test_stable_histograms_are_private_and_sharp(epsilon, delta, s):
    """Exact joint laws of all histograms of a few rows; a threshold that is one lower exceeds delta (for s = 1)."""
    bins = StableBins(Fraction(str(epsilon)), Fraction(str(delta)), s)

    def most(one):
        return max(bins_divergence(one, x, y, epsilon) for x in histograms(s + 1) for y in moved(x, s))

    assert most(bins) <= delta * (1 + 1e-6)

    class Lower(StableBins):
        threshold = bins.threshold - 1 - (s > 1)

    assert most(Lower(bins.epsilon, bins.delta, s)) > delta


def test_noise_30_percent_smaller_is_caught():
    """Rates 30% too large exceed the loss on counts near the threshold."""
    bins = StableBins(Fraction(1), Fraction(1, 1000))

    class Loud(StableBins):
        rate = bins.rate * Fraction(10, 7)
        threshold = bins.threshold

    t = bins.threshold
    assert bins_divergence(bins, {"a": t, "b": t + 1}, {"a": t + 1, "b": t}, 1.0) <= 1e-3
    assert bins_divergence(Loud(bins.epsilon, bins.delta), {"a": t, "b": t + 1}, {"a": t + 1, "b": t}, 1.0) > 1e-3


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-9), (5.0, 1e-3)])
def test_thresholds_are_exact(epsilon, delta):
    """A person alone in a bin is shown with probability at most delta, and one step lower with more."""
    bins = StableBins.of(Loss(epsilon, delta))
    assert bins.chance(1) <= delta * (1 + 1e-9)
    assert bins.chance(2) > delta
    # The literature's real-valued threshold, for comparison.
    assert abs(bins.threshold - (1 + 2 / epsilon * math.log(1 / (2 * delta)))) <= 1.5


@pytest.mark.parametrize("s", [1, 2, 5, 40])
def test_a_person_with_many_rows_is_hidden_however_they_are_placed(s):
    """All in one bin, or one in each of many: the chance that any of them shows is at most delta."""
    bins = StableBins(Fraction(1), Fraction(1, 10**6), s)
    for parts in ([s], [1] * s, [s // 2, s - s // 2], [1, s - 1]):
        assert sum(bins.chance(c) for c in parts if c) <= 1e-6 * (1 + 1e-9)


def test_undeclared_categories_are_found():
    """Large ones are told with their counts, rare ones are not; empty bins are never needed."""
    data = ["bus"] * 4000 + ["car"] * 2000 + ["bike"] * 300 + [f"rocket {i}" for i in range(50)]
    release = dt.histogram(data, epsilon=1.0, delta=1e-9)
    assert release.labels == ("bus", "car", "bike")
    assert abs(release.value[0] - 4000) < 60
    assert all(low <= count <= high for count, (low, high) in zip(release.value, release.interval, strict=True))
    assert release.loss == Loss(1.0, 1e-9)
    assert StableBins(Fraction(1), Fraction(1, 10**6)).release([], []) == []
    with pytest.raises(NotApplicable, match="mechanism"):
        dt.histogram(data, epsilon=1.0, delta=1e-9, mechanism="smooth")
    with pytest.raises(NotApplicable, match="noise"):
        dt.histogram(data, epsilon=1.0, delta=1e-9, noise="cauchy")
    for wrong in ({"epsilon": Fraction(0)}, {"delta": Fraction(0)}, {"rows_per_person": 0}):
        with pytest.raises(InvalidArgument, match=next(iter(wrong))):
            StableBins(**{"epsilon": Fraction(1), "delta": Fraction(1, 10), **wrong})


ALIKE = [
    ([1] * 999, True),
    ([1] * 999, 1.0),
    ([True] * 999, 1),
    ([0.0] * 999, -0.0),
    ([Decimal("1.0")] * 999, Decimal("1.00")),
    ([("a", 1)] * 999, ("a", True)),
]


@pytest.mark.parametrize(("others", "one"), ALIKE)
def test_a_record_that_equals_others_does_not_choose_how_they_are_told(others, one):
    """One record in front, behind or absent: the same category is told in the same way."""
    labels = set()
    for data in ([one, *others], [*others, one], [*others, others[0]]):
        release = dt.mode(data, epsilon=2.0, delta=1e-6)
        labels.add((type(release.value), repr(release.value)))
        labels.add(dt.histogram(data, epsilon=2.0, delta=1e-6).labels)
    assert len(labels) == 2
    assert dt.mode(np.array([-0.0, *[0.0] * 999]), epsilon=2.0, delta=1e-6).value.hex() == "0x0.0p+0"


@pytest.mark.parametrize(
    "odd", [([],), [1], {}, np.array([1, 2]), pd.NA, None, math.nan, Decimal("sNaN"), float("inf"), object()]
)
def test_no_record_raises_an_error(odd):
    """Whatever one record of a list is, it is a category."""
    data = [*["bus"] * 999, odd]
    assert dt.mode(data, epsilon=2.0, delta=1e-6).value == "bus"
    assert dt.histogram(data, epsilon=2.0, delta=1e-6).labels == ("bus",)


def test_missing_whole_numbers_of_a_frame():
    """A nullable column."""
    data = pd.Series([1] * 900 + [None] * 50, dtype="Int64")
    assert dt.mode(data, epsilon=2.0, delta=1e-6).value == 1
    assert dt.histogram(data, epsilon=2.0, delta=1e-6).labels == ("1", "missing")


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta", "miss"), [(1.0, 1e-6, 0.05), (4.0, 1e-3, 0.1), (0.3, 0.1, 0.3)])
def test_intervals_cover_the_bins_that_are_shown(epsilon, delta, miss):
    """Exactly, for every count: a bin is shown because its noise is large, and that must not spoil its bar."""
    bins = StableBins.of(Loss(epsilon, delta))
    rate, threshold = float(bins.rate), bins.threshold
    far = math.ceil(45 / rate)
    worst_miss = 0.0
    for count in range(1, threshold + far // 2):
        released = missed = 0.0
        for noisy in range(threshold, max(threshold, count) + far):
            chance = math.exp(-rate * (abs(noisy - count) - max(threshold - count, 0)))
            low, high = bins.interval(noisy, exact(miss))
            released += chance
            missed += chance * (not low <= count <= high)
        worst_miss = max(worst_miss, missed / released)
    assert worst_miss <= miss * (1 + 1e-9)
    assert worst_miss >= miss * math.exp(-rate) * (1 - 1e-9)


def test_too_few_records_for_any_answer_are_an_error():
    """However much they agree: the least number is named, and is enough."""
    for ask in (dt.mode, dt.histogram):
        with pytest.raises(InvalidArgument, match="need at least") as caught:
            ask(["a"] * 5, epsilon=1.0, delta=1e-6)
        least = int(str(caught.value).split("at least ")[1].split()[0])
        ask(["a"] * least, epsilon=1.0, delta=1e-6)
        with pytest.raises(InvalidArgument, match=f"at least {least} records"):
            ask(["a"] * (least - 1), epsilon=1.0, delta=1e-6)


@pytest.mark.parametrize(
    "query", [Median(bounds=(0, 9), step=1), TrimmedMean(bounds=(0, 9), step=1, trim=0.1), IQR(bounds=(0, 9), step=1)]
)
def test_the_largest_margin_is_attained_and_never_exceeded(query):
    """Over all datasets of six records: the public bound on margins is one of them."""
    records = 6 if query.noun != "trimmed mean" else 10
    statistic = query.resolve(Shape(records, whole=True, nullable=False))
    values = (0, 4, 9)
    margins = [statistic.ladder(as_column(x, statistic.records_on)).margin(0) for x in datasets(values, records)]
    assert max(margins) <= statistic.max_distance_to_instability
    assert max(margins) == statistic.max_distance_to_instability or query.noun == "interquantile range"


@pytest.mark.parametrize("mechanism", ["stable", ProposeTest(bound=1)])
def test_too_few_records_for_a_test_are_an_error_that_names_enough(mechanism):
    """Ten records cannot pass at delta 1e-6; the number named can, and one less cannot."""
    with pytest.raises(InvalidArgument, match="records are enough") as caught:
        dt.median([4] * 10, bounds=(0, 9), step=1, epsilon=1.0, delta=1e-6, mechanism=mechanism)
    least = int(str(caught.value).split("at least ")[1].split()[0])
    dt.median([4] * least, bounds=(0, 9), step=1, epsilon=1.0, delta=1e-6, mechanism=mechanism)
    with pytest.raises(InvalidArgument, match="records"):
        dt.median([4] * (least - 1), bounds=(0, 9), step=1, epsilon=1.0, delta=1e-6, mechanism=mechanism)


# --- the same with Gaussian noise ------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), [(1.5, 0.02), (0.5, 0.05), (3.0, 0.001)])
def test_gaussian_bins_are_private_and_nearly_sharp(epsilon, delta):
    """Exact joint laws of neighbours; a fifth less noise, or a threshold for twice the delta, exceeds the loss."""
    bins = GaussianBins.of(Loss(epsilon, delta))
    assert gaussian_bins_delta(bins, epsilon) <= delta * (1 + 1e-6)

    class Quiet(GaussianBins):
        scale = bins.scale * Fraction(4, 5)
        threshold = bins.threshold

    class Early(GaussianBins):
        scale = bins.scale
        threshold = GaussianBins(bins.alpha, min(4 * bins.hidden, Fraction(1, 2))).threshold

    near = bins.threshold
    pair = {"a": 9 * near, "b": 9 * near + 1}, {"a": 9 * near + 1, "b": 9 * near}
    half = delta / 2 * (1 + 1e-6)
    assert bins_divergence(bins, *pair, epsilon) <= half
    assert bins_divergence(Quiet(bins.alpha, bins.hidden), *pair, epsilon) > half
    assert bins.chance(1) <= half / (1 + 1e-6) < Early(bins.alpha, bins.hidden).chance(1)


def test_a_threshold_for_half_of_the_least_float():
    """The tail beyond the threshold is as small as was asked, and not far smaller."""
    hidden = Fraction(5e-324) / 2
    bins = GaussianBins(Fraction(1), hidden)
    with precision(128):
        units = [(ball(bins.threshold - less) - ball(Fraction(3, 2))) / ball(bins.scale) for less in (0, 2)]
        least, more = ((item / ball(2).sqrt()).erfc() / 2 for item in units)
        assert least <= ball(hidden) < more


@pytest.mark.parametrize("order", [1.5, 2.0, 5.0, 20.0])
def test_gaussian_bins_state_their_rho(order):
    """Given that nobody alone shows, Renyi divergences of exact laws; a fifth less of rho is too little."""
    bins = GaussianBins.of(Loss(0.8, 0.01))
    rho = float(bins.stated.rho)

    def divergence(here, there):
        """Of counts that all show: products of rounded Gaussian laws."""
        total = 0.0
        for c, d in zip(here, there, strict=True):
            one, other = gaussian_bin(bins, c), gaussian_bin(bins, d)
            both = [(math.log(p), math.log(other[k])) for k, p in one.items() if p > 0 and other.get(k, 0) > 0]
            total += math.log(math.fsum(math.exp(order * p + (1 - order) * q) for p, q in both))
        return total / (order - 1)

    far = 40 * bins.threshold
    found = divergence((far, far + 1), (far + 1, far))
    assert 0.8 * rho * order < found <= rho * order * (1 + 1e-6)


@pytest.mark.parametrize(("epsilon", "delta", "miss"), [(1.0, 1e-6, 0.05), (4.0, 1e-3, 0.1), (0.5, 0.1, 0.3)])
def test_intervals_cover_gaussian_bins_that_are_shown(epsilon, delta, miss):
    """Exactly, for every count, given that it is shown; two fifths of the reach do not."""
    bins = GaussianBins.of(Loss(epsilon, delta))

    def missed(count, part):
        law = {k: p for k, p in gaussian_bin(bins, count).items() if k is not None}
        out = [p for k, p in law.items() if not covers(bins.interval(k, Fraction(str(miss))), k, count, part)]
        return math.fsum(out) / math.fsum(law.values())

    def covers(ends, k, count, part):
        return k - (k - ends[0]) * part <= count <= k + (ends[1] - k) * part

    counts = range(1, bins.threshold + math.ceil(6 * bins.scale))
    assert max(missed(count, 1) for count in counts) <= miss
    assert max(missed(count, 0.4) for count in counts) > miss


def test_gaussian_noise_finds_smaller_categories_at_the_same_rho():
    """What many columns are described with: thresholds at rho 0.001 and a delta of 1e-8."""
    gaussian = GaussianBins(Fraction(447, 10_000), Fraction(1, 10**8))
    assert float(gaussian.stated.rho) <= 0.001
    laplace = StableBins(Fraction(63, 1000), Fraction(1, 10**8))  # (63/1000)^2 / 4 is about 0.001
    assert gaussian.threshold < 0.4 * laplace.threshold
    release = dt.histogram(["a"] * 900 + ["b"] * 400, epsilon=1.0, delta=1e-6, noise="gaussian")
    assert (release.labels, release.noise) == (("a", "b"), "gaussian")
    assert release.loss.stated is not None
