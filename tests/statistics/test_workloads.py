"""Families of counting queries: what they ask, how far one record moves them, and noise for exactly that."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from dither.errors import InvalidArgument, NotApplicable
from dither.mechanisms import noisy_histogram as histograms
from dither.mechanisms import worst_case
from dither.mechanisms.choice import applicable, prepare
from dither.noise.gaussian import Gaussian, shift_mass
from dither.numbers import ball, precision
from dither.privacy import Loss, Neighbours
from dither.sources.column import Column, Table
from dither.sources.grid import Grid
from dither.statistics.bit_workloads import attribute_means, conjunctions
from dither.statistics.workloads import WorkloadCounts, points, predicates, thresholds

PREDICATES = [lambda v: v >= 2, lambda v: v % 2 == 0, lambda v: v == 3, lambda v: True]
BIT = Grid(Fraction(1), 0, 1)


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


def read(family, data):
    """Records as families take them: places in the list of values, or columns of bits."""
    if hasattr(family, "values"):
        places = np.array([list(family.values).index(one) for one in data], dtype=np.int64)
        return Column(places, Grid(Fraction(1), 0, family.size - 1))
    return Table([Column(np.array(one, dtype=np.int64), BIT) for one in zip(*data, strict=True)])


def counts_of(family, records, **facts):
    """The counts as a statistic of so many records."""
    return WorkloadCounts(family, tuple(map(str, family.labels())), records, **facts)


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
WAYS = {
    "laplace": ("worst_case", "laplace"),
    "gaussian": ("worst_case", "gaussian"),
    "histogram": ("noisy_histogram", "auto"),
    "cube": ("k_norm", "auto"),
}


def prepared(family, records, way, epsilon=1.0, delta=1e-6, confidence=None):
    """A mechanism for so many records."""
    mechanism, noise = WAYS[way]
    options = {"mechanism": mechanism, "noise": noise, "confidence": confidence}
    return prepare(counts_of(family, records), epsilon=epsilon, delta=delta, **options)[1]


@each_family
def test_sensitivities_are_exact(family, domain):
    """The number of answers that a change of one record moves, largest over all pairs of the domain."""
    worst = max(
        sum(a != b for a, b in zip(naive(family, v), naive(family, w), strict=True))
        for v, w in product(domain, repeat=2)
    )
    assert family.sensitivity == worst


@each_family
def test_weights_are_exact(family, domain):
    """The number of answers that a record moves which comes or goes, largest over the domain."""
    assert family.weight == max(sum(naive(family, v)) for v in domain)


@each_family
@pytest.mark.parametrize("rows", [1, 3])
def test_norms_follow_the_neighbours(family, domain, rows):
    """l1, l2 squared and l-infinity for each relation, by going through all pairs of records that move alike."""
    table = {v: np.array(naive(family, v), dtype=int) for v in domain}
    changes = [table[v] - table[w] for v, w in product(domain, repeat=2)]
    comes = list(table.values())
    moved = {
        Neighbours.CHANGE_ONE: changes,
        Neighbours.ADD_REMOVE: comes,
        Neighbours.ADD_REMOVE_CHANGE: changes + comes,
    }
    for relation, steps in moved.items():
        statistic = counts_of(family, 9, neighbours=relation, rows=rows)
        assert statistic.l1 == max(rows * np.abs(step).sum() for step in steps)
        assert statistic.l2_squared == max(((rows * step) ** 2).sum() for step in steps)
        assert statistic.linf == rows
        bins = 1 if relation is Neighbours.ADD_REMOVE else 2
        assert statistic.histogram_sensitivity == rows * bins


@each_family
def test_answers_are_sums_over_the_histogram(family, domain):
    """Counted record by record, counted directly, and summed over the histogram: the same numbers."""
    data = [value for k, value in enumerate(domain) for _ in range(k + 1)]
    expected = np.sum([naive(family, record) for record in data], axis=0)
    records = read(family, data)
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

    for module in (worst_case, histograms):
        monkeypatch.setattr(module, name, silent, raising=False)
    return asked


def worst_pure_loss(family, domain, way, monkeypatch):
    """What any change of one record moves, in l1, over the scale that is really drawn with."""
    asked = recorded(monkeypatch, "integer_laplace_draws")
    table, worst = {value: np.array(naive(family, value), dtype=int) for value in domain}, 0.0
    mechanism = prepared(family, 2, way, epsilon=0.7, delta=0)
    assert mechanism.loss == Loss(0.7)
    for v, w in combinations(domain, 2):
        mechanism.run(read(family, [v, v]))
        if way == "laplace":
            moved = np.abs(table[v] - table[w]).sum()
        else:
            here, there = (family.histogram(read(family, [v, other])) for other in (v, w))
            moved = np.abs(here - there).sum()
        worst = max(worst, int(moved) / float(asked[-1]))
    return worst


@each_family
@pytest.mark.parametrize("way", ["laplace", "histogram"])
def test_pure_noise_costs_exactly_epsilon(family, domain, way, monkeypatch):
    """On integers the log-ratio of Laplace noise is the l1 distance over the scale: epsilon at most, and attained."""
    worst = worst_pure_loss(family, domain, way, monkeypatch)
    assert worst == pytest.approx(0.7)
    assert worst <= 0.7


@each_family
@pytest.mark.parametrize("way", ["laplace", "histogram"])
def test_noise_for_a_sensitivity_understated_by_30_percent_is_caught(family, domain, way, monkeypatch):
    """The same enumeration, with a sensitivity that is too small in the code: the loss is 1.3 epsilon."""
    understated = Fraction(10 * family.sensitivity, 13)
    monkeypatch.setattr(type(family), "sensitivity", property(lambda self: understated))
    monkeypatch.setattr(WorkloadCounts, "histogram_sensitivity", Fraction(20, 13))
    assert worst_pure_loss(family, domain, way, monkeypatch) > 1.2 * 0.7


@each_family
def test_gaussian_noise_gives_delta_exactly(family, domain, monkeypatch):
    """The hockey-stick divergence at the scale in use is just within delta, and above it with 30% less noise."""
    asked = recorded(monkeypatch, "rounded_draws")
    mechanism = prepared(family, 3, "gaussian")
    mechanism.run(read(family, [domain[0]] * 3))
    with precision(128):
        shift = ball(family.sensitivity).sqrt() / ball(asked[-1])
        spent = shift_mass(shift, ball(1))
        assert spent <= ball(Fraction(1, 10**6))
        assert spent > ball(Fraction(99, 10**8))
        assert shift_mass(shift * 10 / 7, ball(1)) > ball(Fraction(1, 10**6))
    assert mechanism.loss == Loss(1.0, 1e-6)


@each_family
@pytest.mark.parametrize("way", ["laplace", "gaussian", "histogram"])
def test_without_noise_every_way_gives_the_true_counts(family, domain, way, monkeypatch):
    """What is released is the count plus noise and nothing else, also where the rest of the domain is counted."""
    recorded(monkeypatch, "integer_laplace_draws")
    recorded(monkeypatch, "rounded_draws")
    data = [value for k, value in enumerate(domain) for _ in range(k + 1)]
    records = read(family, data)
    assert list(prepared(family, len(data), way).run(records).answer) == family.counts(records).tolist()


@each_family
def test_behind_a_filter_sums_do_not_rest_on_the_number_of_records(family, domain, monkeypatch):
    """Where that number is private every query is a sum of its own bins, and its interval that of so many of them."""
    recorded(monkeypatch, "integer_laplace_draws")
    statistic = counts_of(family, 50, neighbours=Neighbours.ADD_REMOVE_CHANGE)
    _, mechanism = prepare(statistic, epsilon=1.0, mechanism="noisy_histogram", confidence=0.9)
    records = read(family, list(domain)[:2])
    assert list(mechanism.run(records).answer) == family.counts(records).tolist()
    assert mechanism.terms.tolist() == family.points_counted.tolist()


@pytest.mark.parametrize(
    ("family", "delta", "chosen"),
    [
        (points(range(50)), 0, "worst_case"),
        (points(range(50)), 1e-6, "worst_case"),
        (thresholds(range(50)), 0, "noisy_histogram"),
        (thresholds([0, 1]), 0, "worst_case"),
        (attribute_means(20), 0, "k_norm"),
        (attribute_means(5), 1e-6, "k_norm"),
        (attribute_means(400), 1e-6, "worst_case"),
        (conjunctions(6), 1e-6, "noisy_histogram"),
        (conjunctions(20, width=2), 0, "worst_case"),
        (conjunctions(20, width=2), 1e-6, "worst_case"),
        (conjunctions(40, width=1), 0, "k_norm"),
    ],
    ids=lambda v: getattr(v, "name", str(v)),
)
def test_the_choice_is_public_and_the_least_error(family, delta, chosen):
    """Table 2.1 in practice: the choice follows from sizes and losses alone, before any record is read."""
    statistic = counts_of(family, 10**6)
    name, mechanism = prepare(statistic, epsilon=1, delta=delta)
    assert name == chosen
    tried = [prepare(statistic, epsilon=1, delta=delta, mechanism=one)[1] for one in applicable(statistic)]
    errors = [np.mean(one.worst_case_error(0.95).expected) for one in tried]
    assert np.mean(mechanism.worst_case_error(0.95).expected) == pytest.approx(min(errors))


def test_the_gaussian_way_adds_what_it_says():
    """Its scale is that of the analytic Gaussian for the square root of the sensitivity."""
    alpha = Gaussian().point(Loss(1.0, 1e-6), beta=Fraction(0)).alpha
    mechanism = prepared(attribute_means(400), 10**6, "gaussian")
    assert float(mechanism.unit) == pytest.approx(20 / float(alpha))
    assert mechanism.unit >= 20 / alpha


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 1e5])
def test_extreme_losses_are_served(way, epsilon):
    """Noise beyond 64 bits does not overflow: answers and intervals stay between 0 and n."""
    for family, data in ((thresholds(range(6)), [3] * 9), (conjunctions(3), [[0, 1, 1]] * 9)):
        records = read(family, data)
        found = prepared(family, 9, way, epsilon=epsilon, confidence=Fraction(19, 20)).run(records)
        for value, (low, high) in zip(found.answer, found.interval, strict=True):
            assert 0 <= low <= value <= high <= 9
        if epsilon > 1:
            # Mechanisms take an epsilon above 100 for 100: errors of more than 4 have a probability below 1e-13.
            assert np.abs(np.array(found.answer) - family.counts(records)).max() <= 4


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: points([1]), "^values must "),
        (lambda: points([1, 1]), "^values must "),
        (lambda: thresholds(7), "^values must "),
        (lambda: thresholds({1, 2, 3}), "^values must "),
        (lambda: conjunctions(0), "^attributes must "),
        (lambda: conjunctions(3, width=4), "^width must "),
        (lambda: conjunctions(20), "^attributes must "),
        (lambda: conjunctions(1000, width=5), "^width must "),
        (lambda: attribute_means(2.5), "^attributes must "),
        (lambda: predicates([], values=range(3)), "^asked must "),
        (lambda: predicates([lambda v: True], values=range(3)), "^asked must "),
        (lambda: predicates([3], values=range(3)), "^asked must "),
    ],
)
def test_bad_arguments_are_named(make, named):
    """The message names the argument."""
    with pytest.raises(InvalidArgument, match=named):
        make()


def test_what_does_not_apply_names_what_does():
    """Gaussian noise without delta, a histogram of 2^30 points."""
    with pytest.raises(NotApplicable):
        prepared(points([1, 2]), 5, "gaussian", delta=0)
    with pytest.raises(NotApplicable, match="worst_case, k_norm"):
        prepared(attribute_means(30), 5, "histogram")
