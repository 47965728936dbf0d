"""Low sample complexity and distances to a property: both lemmas by brute force, and the one that fails as printed."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

import dither as dt
from dither.errors import InvalidArgument
from dither.mechanisms import worst_case
from dither.privacy import Neighbours
from dither.sensitivity.low_sample import check_premises, sample_sensitivity
from dither.statistics.distances import brute_distance, lipschitz_violation

BITS = (0, 1)


def sensitivity(function, records):
    """The largest change over all neighbours, by enumeration."""
    universe = list(product(BITS, repeat=records))
    return max(abs(function(x) - function((*x[:i], 1 - x[i], *x[i + 1 :]))) for x in universe for i in range(records))


def one_record_reader(function, records):
    """Reads one record at random and says what the function is on average given it."""
    universe = list(product(BITS, repeat=records))
    mean = {
        (i, bit): Fraction(sum(function(x) for x in universe if x[i] == bit), len(universe) // 2)
        for i in range(records)
        for bit in BITS
    }
    return lambda x: [(Fraction(1, records), {i}, mean[i, x[i]]) for i in range(records)]


def least_error(algorithm, function, records, more_than):
    """The least sigma with which the algorithm succeeds with a chance above ``more_than`` on every input."""
    needed = Fraction(0)
    for x in product(BITS, repeat=records):
        mass = Fraction(0)
        for error, p in sorted((abs(out - function(x)), p) for p, _, out in algorithm(x)):
            mass += p
            if mass > more_than:
                needed = max(needed, error)
                break
    return needed


def test_the_corrected_lemma_holds_for_every_small_function():
    """All 256 functions of three bits, read through one record: S(f) <= 2 sigma, and often nearly so."""
    closest = 0
    for table in product(BITS, repeat=8):

        def function(x, t=table):
            return t[4 * x[0] + 2 * x[1] + x[2]]

        algorithm = one_record_reader(function, 3)
        sigma = least_error(algorithm, function, 3, Fraction(2, 3))
        found = check_premises(algorithm, function, domain=BITS, records=3, within=sigma)
        assert found.reads == Fraction(1, 3)
        assert found.honest
        bound = sample_sensitivity(reads=found.reads, within=sigma, chance=found.chance)
        assert sensitivity(function, 3) <= bound
        closest = max(closest, sensitivity(function, 3) / bound if bound else 0)
    assert closest >= Fraction(1, 2)


@pytest.mark.parametrize("reads", [Fraction(0), Fraction(1, 3), Fraction(9, 10)])
def test_the_lemma_as_printed_is_false_at_equality(reads):
    """A bit, read with probability a and else guessed by a coin: within 0 with chance (1+a)/2, yet S = 1 > 0."""

    def guess(x):
        return [(reads, {0}, x[0]), ((1 - reads) / 2, set(), 0), ((1 - reads) / 2, set(), 1)]

    found = check_premises(guess, lambda x: x[0], domain=BITS, records=1, within=0)
    assert (found.reads, found.chance, found.honest) == (reads, (1 + reads) / 2, True)
    assert sensitivity(lambda x: x[0], 1) == 1
    with pytest.raises(InvalidArgument, match=r"^chance must "):
        sample_sensitivity(reads=reads, within=0, chance=found.chance)


def test_a_subsample_bounds_the_sensitivity_of_a_sum():
    """Four bits, three of them read: the scaled subsample proves a bound on the sum that is at least the true 1."""

    def scaled_subsample(x):
        return [(Fraction(1, 4), read, Fraction(4, 3) * sum(x[i] for i in read)) for read in combinations(range(4), 3)]

    sigma = least_error(scaled_subsample, sum, 4, Fraction(7, 8))
    found = check_premises(scaled_subsample, sum, domain=BITS, records=4, within=sigma)
    assert found.reads == Fraction(3, 4)
    assert sample_sensitivity(reads=found.reads, within=sigma, chance=found.chance) == 2 >= sensitivity(sum, 4)


def test_an_algorithm_that_peeks_is_found_out():
    """An output that depends on a record the algorithm does not admit to read is noticed."""

    def peek(x):
        return [(1, set(), x[0])]

    assert not check_premises(peek, lambda x: x[0], domain=BITS, records=2, within=0).honest


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"reads": -0.1, "within": 1, "chance": 0.9}, "^reads must "),
        ({"reads": 1, "within": 1, "chance": 1}, "^chance must "),
        ({"reads": 0.5, "within": 1, "chance": 0.75}, "^chance must "),
        ({"reads": 0.5, "within": -1, "chance": 0.9}, "^within must "),
        ({"reads": 0.5, "within": math.nan, "chance": 0.9}, "^within must "),
        ({"reads": 0.5, "within": 1, "chance": 1.1}, "^chance must "),
    ],
)
def test_premises_that_fail_are_named(options, named):
    """Everything that can be checked from the numbers is."""
    with pytest.raises(InvalidArgument, match=named):
        sample_sensitivity(**options)


def test_the_distance_to_any_property_has_sensitivity_one():
    """All 255 non-empty sets of three bits, and the empty one, whose distance is infinite everywhere."""
    universe = list(product(BITS, repeat=3))
    for chosen in product((False, True), repeat=8):
        members = {x for x, keep in zip(universe, chosen, strict=True) if keep}
        assert lipschitz_violation(brute_distance(members.__contains__, domain=BITS), domain=BITS, records=3) is None


def test_the_checker_finds_what_is_not_lipschitz():
    """Twice a count, and an infinity next to a number."""
    here, there = lipschitz_violation(lambda x: 2 * sum(x), domain=BITS, records=3)
    assert abs(sum(here) - sum(there)) == 1
    assert lipschitz_violation(lambda x: math.inf if all(x) else 0, domain=BITS, records=2) is not None
    assert lipschitz_violation(lambda x: 2 * sum(x), domain=BITS, records=3, most=2) is None


def noise_law(centre, scale):
    """Integer Laplace, all but e^-40 of it."""
    reach = range(-40 * math.ceil(scale), 41 * math.ceil(scale) + 3)
    weights = {k: math.exp(-abs(k - centre) / scale) for k in reach}
    return {k: w / sum(weights.values()) for k, w in weights.items()}


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_noise_costs_epsilon_and_sharper_noise_is_caught(epsilon, monkeypatch):
    """The scale that is drawn with, on all distances of a universe that neighbours may have."""
    used = []
    monkeypatch.setattr(worst_case, "added", lambda law, location, scale: used.append((location, scale)) or 0)
    distance = brute_distance(lambda x: sum(x) >= 3, domain=BITS)
    losses, sharper = [], []
    for x in product(BITS, repeat=4):
        for y in ((*x[:i], 1 - x[i], *x[i + 1 :]) for i in range(4)):
            used.clear()
            for data in (x, y):
                dt.distance_to_property(data, distance=distance, epsilon=epsilon)
            (a, scale), (b, other) = used
            assert scale == other
            for found, size in ((losses, float(scale)), (sharper, float(scale) / 1.3)):
                here, there = noise_law(a, size), noise_law(b, size)
                found.append(max(abs(math.log(here[k] / there[k])) for k in range(-5, 10)))
    assert max(losses) == pytest.approx(epsilon)
    assert max(losses) <= epsilon * (1 + 1e-12)
    assert max(sharper) == pytest.approx(1.3 * epsilon)


def test_distances_are_clamped_and_rounded_down_before_the_noise(monkeypatch):
    """Infinity is the public maximum, negative numbers are 0, fractions go down (which keeps steps of at most 1)."""
    monkeypatch.setattr(worst_case, "added", lambda law, location, scale: location)
    for raw, seen in ((math.inf, 3), (-2, 0), (1.9, 1), (7, 3)):
        answer = dt.distance_to_property([0, 0, 0], distance=lambda _, r=raw: r, epsilon=1, confidence=None)
        assert answer.value == seen
        assert answer.interval is None
    graph = dt.distance_to_property(object(), distance=lambda _: 2, epsilon=1, most=10, neighbours=Neighbours.EDGE)
    assert graph.interval == (0, 5)
    assert graph.neighbours is Neighbours.EDGE


@pytest.mark.parametrize("wrong", ["far", None, math.nan, [1, 2], np.array([1.0, 2.0]), object(), 1 / 3 * 1j])
def test_a_distance_that_is_none_counts_as_the_greatest(wrong, monkeypatch):
    """So does one that raises: an error that depends on a record would be a leak."""
    monkeypatch.setattr(worst_case, "added", lambda law, location, scale: location)
    assert dt.distance_to_property([0, 0, 0], distance=lambda _: wrong, epsilon=1).value == 3
    assert dt.distance_to_property([0, 0, 0], distance=lambda _: 1 / 0, epsilon=1).value == 3


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"distance": 3, "epsilon": 1}, "^distance must "),
        ({"distance": None, "epsilon": 1}, "^distance must "),
        ({"distance": len, "epsilon": 0}, "^epsilon must "),
        ({"distance": len, "epsilon": 1, "most": 0}, "^most must "),
        ({"distance": len, "epsilon": 1, "neighbours": "close"}, "^neighbours must "),
        ({"distance": len, "epsilon": 1, "confidence": 95}, "^confidence must "),
    ],
)
def test_bad_arguments_are_named(options, named):
    """The message names the argument; data without a length need a public maximum."""
    with pytest.raises(InvalidArgument, match=named):
        dt.distance_to_property([1], **options)
    with pytest.raises(InvalidArgument, match=r"^most must "):
        dt.distance_to_property(object(), distance=lambda _: 1, epsilon=1)
