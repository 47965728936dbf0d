"""Counting queries: exact sensitivities, sums that agree, public choices and honest bars."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from dither.errors import InvalidArgument, InvalidData, NotApplicable
from dither.mechanisms import noise_intervals as bars
from dither.mechanisms.noise_intervals import laplace_half_width, laplace_sum_half_width, laplace_sum_half_widths
from dither.noise.gaussian import Gaussian, shift_mass
from dither.numbers import ball, precision
from dither.privacy import Loss
from dither.procedures import counting
from dither.procedures import noisy_histogram as histograms
from dither.procedures.counting import answer_counts, expected_deviations, root_up
from dither.procedures.noisy_histogram import noisy_histogram
from dither.statistics.bit_workloads import attribute_means, conjunctions
from dither.statistics.workloads import points, predicates, thresholds

PREDICATES = [lambda v: v >= 2, lambda v: v % 2 == 0, lambda v: v == 3, lambda v: True]


def naive(family, record):
    """Which queries of a family a single record satisfies, by their labels."""
    match family.name:
        case "points":
            return [record == label for label in family.labels()]
        case "thresholds":
            return [family.values.index(record) <= family.values.index(label) for label in family.labels()]
        case "attribute means":
            return [bool(record[j]) for j in family.labels()]
        case "conjunctions":
            return [all(record[j] == bit for j, bit in label.items()) for label in family.labels()]
        case _:
            return [bool(one(record)) for one in PREDICATES]


FAMILIES = [
    (points("xyzw"), "xyzw"),
    (points([5, 3]), [5, 3]),
    (thresholds([7, 1, 4, 9]), [7, 1, 4, 9]),
    (predicates(PREDICATES, values=range(5)), range(5)),
    *((attribute_means(d), list(product((0, 1), repeat=d))) for d in (1, 3)),
    *((conjunctions(3, width=w), list(product((0, 1), repeat=3))) for w in (None, 1, 2, 3)),
]
each_family = pytest.mark.parametrize(
    ("family", "domain"), FAMILIES, ids=[f"{f.name}-{f.queries}-{f.size}" for f, _ in FAMILIES]
)


@each_family
def test_sensitivities_are_exact(family, domain):
    """The number of answers that a change of one record moves, largest over all pairs of the domain."""
    worst = max(
        sum(a != b for a, b in zip(naive(family, v), naive(family, w), strict=True))
        for v, w in product(domain, repeat=2)
    )
    assert family.sensitivity == worst


@each_family
def test_answers_are_sums_over_the_histogram(family, domain):
    """Counted record by record, counted directly, and summed over the histogram: the same numbers."""
    data = [value for k, value in enumerate(domain) for _ in range(k + 1)]
    expected = np.sum([naive(family, record) for record in data], axis=0)
    records = family.read(data)
    assert family.counts(records).tolist() == expected.tolist()
    assert family.from_histogram(family.histogram(records)).tolist() == expected.tolist()
    assert family.queries == len(expected)
    assert family.size == len(domain)


@each_family
def test_points_counted_are_the_sizes_of_the_queries(family, domain):
    """A histogram with one record at every point answers how much of the domain each query counts."""
    assert family.points_counted.tolist() == np.sum([naive(family, v) for v in domain], axis=0).tolist()


def test_the_families_of_the_table_have_the_stated_sizes():
    """V17 Table 2.1: D, D, 3^d, 2^t C(d, t) and d queries."""
    assert points(range(16)).queries == thresholds(range(16)).queries == 16
    assert conjunctions(4).queries == 81
    assert conjunctions(9, width=3).queries == 8 * math.comb(9, 3)
    assert attribute_means(4).queries == 4


def recorded(monkeypatch, name):
    """Replace a noise by zeros, wherever it is used, and record the scales that it is asked for."""
    asked = []

    def silent(*given, **_):
        count, scale = given[-2:]
        asked.append(scale)
        return np.zeros(count, dtype=np.int64)

    for module in (counting, histograms):
        monkeypatch.setattr(module, name, silent, raising=False)
    return asked


def worst_pure_loss(family, domain, method, monkeypatch):
    """What any change of one record moves, in l1, over the scale that is really drawn with."""
    asked = recorded(monkeypatch, "integer_laplace_draws")
    table, worst = {value: np.array(naive(family, value), dtype=int) for value in domain}, 0.0
    for v, w in combinations(domain, 2):
        answer = answer_counts([v, v], family=family, epsilon=0.7, method=method)
        assert answer.loss == Loss(0.7)
        if method == "laplace":
            moved = np.abs(table[v] - table[w]).sum()
        else:
            here, there = (family.histogram(family.read([v, other])) for other in (v, w))
            moved = np.abs(here - there).sum()
        worst = max(worst, int(moved) / float(asked[-1]))
    return worst


@each_family
@pytest.mark.parametrize("method", ["laplace", "histogram"])
def test_pure_noise_costs_exactly_epsilon(family, domain, method, monkeypatch):
    """On integers the log-ratio of Laplace noise is the l1 distance over the scale: epsilon at most, and attained."""
    assert worst_pure_loss(family, domain, method, monkeypatch) == pytest.approx(0.7)


@each_family
@pytest.mark.parametrize("method", ["laplace", "histogram"])
def test_noise_for_a_sensitivity_understated_by_30_percent_is_caught(family, domain, method, monkeypatch):
    """The same enumeration, with a sensitivity that is too small in the code: the loss is 1.3 epsilon."""
    understated = Fraction(10 * family.sensitivity, 13)
    monkeypatch.setattr(type(family), "sensitivity", property(lambda self: understated))
    monkeypatch.setattr(counting, "HISTOGRAM_SENSITIVITY", Fraction(20, 13))
    assert worst_pure_loss(family, domain, method, monkeypatch) > 1.2 * 0.7


@each_family
def test_gaussian_noise_gives_delta_exactly(family, domain, monkeypatch):
    """The hockey-stick divergence at the scale in use is just within delta, and above it with 30% less noise."""
    asked = recorded(monkeypatch, "rounded_draws")
    answer = answer_counts([domain[0]] * 3, family=family, epsilon=1, delta=1e-6, method="gaussian")
    with precision(128):
        shift = ball(family.sensitivity).sqrt() / ball(asked[-1])
        spent = shift_mass(shift, ball(1))
        assert spent <= ball(Fraction(1, 10**6))
        assert spent > ball(Fraction(99, 10**8))
        assert shift_mass(shift * 10 / 7, ball(1)) > ball(Fraction(1, 10**6))
    assert answer.loss == Loss(1.0, 1e-6)
    assert answer.rho == Fraction(family.sensitivity) / (2 * asked[-1] ** 2)


@each_family
@pytest.mark.parametrize("method", ["laplace", "gaussian", "histogram"])
def test_without_noise_every_method_gives_the_true_counts(family, domain, method, monkeypatch):
    """What is released is the count plus noise and nothing else, also where the rest of the domain is counted."""
    recorded(monkeypatch, "integer_laplace_draws")
    recorded(monkeypatch, "rounded_draws")
    data = [value for k, value in enumerate(domain) for _ in range(k + 1)]
    answer = answer_counts(data, family=family, epsilon=1, delta=1e-6, method=method)
    assert answer.values.tolist() == family.counts(family.read(data)).tolist()
    assert answer.shares == pytest.approx(answer.values / len(data))


@pytest.mark.parametrize(
    ("family", "delta", "chosen"),
    [
        (points(range(50)), 0, "histogram"),
        (points(range(50)), 1e-6, "histogram"),
        (thresholds(range(50)), 0, "histogram"),
        (thresholds([0, 1]), 0, "laplace"),
        (attribute_means(20), 0, "laplace"),
        (attribute_means(5), 1e-6, "laplace"),
        (attribute_means(400), 1e-6, "gaussian"),
        (conjunctions(6), 1e-6, "histogram"),
        (conjunctions(20, width=2), 0, "laplace"),
        (conjunctions(20, width=2), 1e-6, "gaussian"),
        (conjunctions(40, width=1), 0, "laplace"),
    ],
    ids=lambda v: getattr(v, "name", str(v)),
)
def test_the_choice_is_public_and_the_quietest(family, delta, chosen):
    """Table 2.1 in practice: the choice follows from sizes and prices alone, before any record is read."""
    table = expected_deviations(family, epsilon=1, delta=delta)
    assert min(table, key=table.get) == chosen
    assert counting._plan(family, Loss.asked(1, delta), "auto").method == chosen


def sum_law(scale, terms):
    """The law of a sum of integer Laplace variables, by plain convolution."""
    ratio, reach = math.exp(-1 / scale), math.ceil(45 * scale)
    one = np.array([ratio ** abs(k) for k in range(-reach, reach + 1)]) * (1 - ratio) / (1 + ratio)
    law = np.ones(1)
    for _ in range(terms):
        law = np.convolve(law, one)
    return law


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(20)])
@pytest.mark.parametrize("terms", [1, 2, 5, 33])
@pytest.mark.parametrize("missed", [Fraction(1, 20), Fraction(1, 1000)])
def test_bars_of_sums_are_the_exact_quantiles(scale, terms, missed):
    """The least half-width that plain convolution allows; Chernoff's bound is never below it, nor twice as wide."""
    law = sum_law(float(scale), terms)
    centre = len(law) // 2

    def outside(w):
        return 1 - law[centre - w : centre + w + 1].sum()

    half = laplace_sum_half_width(scale, terms, missed)
    assert outside(half) <= missed
    assert half == 0 or outside(half - 1) > float(missed) - 1e-8
    chernoff = bars._chernoff(scale, terms, float(missed))
    assert half <= chernoff <= 2 * half + 3


def test_bars_of_many_queries_never_fall_below_their_own():
    """Rounding the number of terms up widens a bar by at most 3%."""
    terms = np.arange(0, 400, dtype=np.int64)
    shared = laplace_sum_half_widths(Fraction(20), terms, Fraction(1, 20))
    own = np.array([laplace_sum_half_width(Fraction(20), int(c), Fraction(1, 20)) for c in terms])
    assert (shared >= own).all()
    assert (shared <= 1.03 * own + 1).all()


def test_a_missed_share_below_float_accuracy_uses_chernoff():
    """A billionth cannot be read off an FFT; the bound still covers."""
    half = laplace_sum_half_width(Fraction(2), 3, Fraction(1, 10**12))
    law = sum_law(2.0, 3)
    assert law[: len(law) // 2 - half].sum() * 2 <= 1e-12


def test_joint_bars_are_wider():
    """A union bound over all queries: each bar is that of the k-th part of the allowance."""
    options = {"family": attribute_means(8), "epsilon": 1, "method": "laplace"}
    rows = np.ones((10_000, 8), dtype=int)
    rows[::2] = 0
    one, all_of_them = (answer_counts(rows, joint=joint, **options).intervals for joint in (False, True))
    assert np.diff(one, axis=1).max() == 2 * laplace_half_width(Fraction(8), Fraction(1, 20))
    assert np.diff(all_of_them, axis=1).max() == 2 * laplace_half_width(Fraction(8), Fraction(1, 160))


def test_any_counting_query_from_one_histogram(monkeypatch):
    """Without noise every subset of the domain is counted exactly; its bar is that of the smaller side."""
    asked = recorded(monkeypatch, "integer_laplace_draws")
    data = [0, 1, 1, 2, 2, 2, 3, 3, 3, 3]
    released = noisy_histogram(data, values=range(4), epsilon=0.5)
    assert asked == [4]
    for size in range(5):
        for subset in combinations(range(4), size):
            answer = released.count(lambda v, s=subset: v in s)
            assert answer.value == sum(v in subset for v in data)
            half = laplace_sum_half_width(Fraction(4), min(size, 4 - size), Fraction(1, 20))
            assert answer.interval == (max(answer.value - half, 0), min(answer.value + half, 10))
            assert answer.loss == Loss(0.5)


@pytest.mark.parametrize("shrunk", [False, True])
def test_bars_from_the_histogram_cover_as_stated(shrunk, trials):
    """2,000 releases: misses stay within 1e-9 of the binomial law of 5%; bars of half the width are found out."""
    runs, data = trials(1000, 20_000), [0] * 50 + [1] * 30 + [2] * 20
    missed = 0
    for _ in range(runs):
        answer = noisy_histogram(data, values=range(6), epsilon=1.0).count(lambda v: v in (1, 2))
        half = (answer.interval[1] - answer.interval[0]) / (4 if shrunk else 2)
        missed += abs(answer.value - 50) > half
    allowed = runs * 0.05 + math.sqrt(runs * math.log(1e9) / 2)
    assert (missed <= allowed) is not shrunk


def test_the_square_root_is_rounded_up():
    """A Gaussian scale is never below what was proved."""
    for value in (Fraction(2), Fraction(1, 7), Fraction(4), Fraction(10**12, 3)):
        root = root_up(value)
        assert root**2 >= value
        assert (root - Fraction(1, 1 << 40)) ** 2 < value


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: points([1]), "values="),
        (lambda: points([1, 1]), "values="),
        (lambda: thresholds(7), "values="),
        (lambda: thresholds({1, 2, 3}), "values="),
        (lambda: conjunctions(0), "attributes="),
        (lambda: conjunctions(3, width=4), "width="),
        (lambda: conjunctions(20), "attributes="),
        (lambda: conjunctions(1000, width=5), "width="),
        (lambda: attribute_means(2.5), "attributes="),
        (lambda: predicates([], values=range(3)), "asked="),
        (lambda: predicates([lambda v: True], values=range(3)), "asked="),
        (lambda: predicates([3], values=range(3)), "asked="),
        (lambda: answer_counts([1], family=[1], epsilon=1), "family="),
        (lambda: answer_counts([1], family=points([1, 2]), epsilon=1, method="best"), "method="),
        (lambda: answer_counts([1], family=points([1, 2]), epsilon=1, joint=1), "joint="),
        (lambda: answer_counts([1], family=points([1, 2]), epsilon=1, delta=1), "delta="),
        (lambda: answer_counts([1], family=points([1, 2]), epsilon=1, other=5), "other="),
        (lambda: answer_counts([[0, 1]], family=attribute_means(2), epsilon=1, other=0), "other="),
        (lambda: answer_counts([[0, 1]], family=attribute_means(3), epsilon=1), "data="),
        (lambda: answer_counts([[0, 1], [1]], family=attribute_means(2), epsilon=1), "data="),
        (lambda: noisy_histogram([1], values=[1, 2], epsilon=1).count(3), "predicate="),
    ],
)
def test_bad_arguments_are_named(make, named):
    """The message names the argument."""
    with pytest.raises(InvalidArgument, match=named):
        make()


def test_what_does_not_apply_names_what_does():
    """Gaussian noise without delta, a histogram of 2^30 points."""
    with pytest.raises(NotApplicable, match="histogram, laplace"):
        answer_counts([1], family=points([1, 2]), epsilon=1, method="gaussian")
    with pytest.raises(NotApplicable, match="laplace"):
        answer_counts([[0] * 30], family=attribute_means(30), epsilon=1, method="histogram")


def test_undeclared_records_are_not_shown_unless_they_count_as_another():
    """The error quotes nothing; ``other`` maps them to a public value."""
    with pytest.raises(InvalidData) as found:
        noisy_histogram([1, 4242], values=[1, 2], epsilon=1)
    assert "4242" not in str(found.value)
    assert noisy_histogram([1, 4242], values=[1, 2], epsilon=100, other=2).counts.tolist() == [1, 1]
    assert noisy_histogram(np.array([1.0, np.nan]), values=[1, 2], epsilon=100, other=2).counts.tolist() == [1, 1]


@pytest.mark.parametrize("method", ["laplace", "histogram", "gaussian"])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 1e5])
def test_extreme_prices_are_served(method, epsilon):
    """Noise beyond 64 bits does not overflow: answers and bars stay between 0 and n."""
    for family, data in ((thresholds(range(6)), [3] * 9), (conjunctions(3), [[0, 1, 1]] * 9)):
        answer = answer_counts(data, family=family, epsilon=epsilon, delta=1e-6, method=method)
        low, high = answer.intervals.T
        assert ((low >= 0) & (low <= answer.values) & (answer.values <= high) & (high <= 9)).all()
        if epsilon > 1:
            assert (answer.values == family.counts(family.read(data))).all()
    released = noisy_histogram([3] * 9, values=range(6), epsilon=epsilon)
    assert 0 <= released.count(lambda v: v < 4).value <= 9


def test_the_gaussian_method_adds_what_it_says():
    """Its deviation is that of the analytic Gaussian for the square root of the sensitivity."""
    family = attribute_means(400)
    alpha = Gaussian().point(Loss(1.0, 1e-6), beta=Fraction(0)).alpha
    assert expected_deviations(family, epsilon=1, delta=1e-6)["gaussian"] == pytest.approx(20 / float(alpha))
