"""A released histogram answers counting queries about its bins for free, with intervals that cover."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import dither as dt
from dither.errors import InvalidArgument
from dither.mechanisms import worst_case
from dither.mechanisms.noise_intervals import laplace_half_width, laplace_sum_half_width, largest_laplace_scale

DATA = [0, 1, 1, 2, 2, 2, 3, 3, 3, 3]
EDGES = [0, 1, 2, 3, 4]
GAUSSIAN = {"epsilon": 1, "delta": 0.1, "noise": "gaussian"}


def silent(monkeypatch):
    """Histograms without noise."""
    monkeypatch.setattr(worst_case, "integer_laplace_draws", lambda count, scale: np.zeros(count, dtype=np.int64))


@pytest.mark.parametrize("missed", [Fraction(1, 20), Fraction(1, 1000)])
def test_the_largest_scale_is_not_below_the_true_one(missed):
    """For every scale: the half-width gives a scale that is at least as large, and by less than one step of it."""
    for scale in [Fraction(k, 7) for k in range(1, 200, 3)]:
        half = laplace_half_width(scale, missed)
        found = largest_laplace_scale(half, missed)
        assert found >= scale * (1 - Fraction(1, 10**8))
        assert laplace_half_width(found * Fraction(999, 1000), missed) <= half


def test_every_subset_of_the_bins_is_counted(monkeypatch):
    """Without noise exactly, for no loss; with a public number of records the interval is that of the smaller side."""
    silent(monkeypatch)
    histogram = dt.histogram(DATA, edges=EDGES, epsilon=0.5)
    widths = {high - low for low, high in histogram.interval}
    scale = largest_laplace_scale(widths.pop() // 2, Fraction(1, 20))
    assert not widths
    assert 4 <= scale < Fraction(9, 2)
    for size in range(5):
        for subset in combinations(range(4), size):
            labels = [histogram.labels[k] for k in subset]
            truth = sum(v in subset for v in DATA)
            for of in (labels, lambda one, chosen=labels: one in chosen):
                release = dt.count_from(histogram, of, records=10)
                assert release.value == truth
                assert release.loss == dt.Loss(0.0)
                half = laplace_sum_half_width(scale, min(size, 4 - size), Fraction(1, 20))
                assert release.interval == (max(truth - half, 0), min(truth + half, 10))
            half = laplace_sum_half_width(scale, size, Fraction(1, 20))
            assert dt.count_from(histogram, labels).interval == (max(truth - half, 0), truth + half)


@pytest.mark.parametrize("shrunk", [False, True])
def test_intervals_cover_as_stated(shrunk, trials):
    """Misses stay within 1e-9 of the binomial law of 5% (Hoeffding); intervals of half the width are found out."""
    runs, data, missed = trials(1000, 20_000), np.repeat([0, 1, 2], [500, 300, 200]), 0
    query = dt.Histogram(edges=list(range(7)))
    for _ in range(runs):
        low, high = dt.count_from(dt.ask(query, data, epsilon=0.2), ["1 to 2", "2 to 3"]).interval
        middle, half = (low + high) / 2, (high - low) / (4 if shrunk else 2)
        missed += abs(middle - 500) > half
    allowed = runs * 0.05 + math.sqrt(runs * math.log(1e9) / 2)
    assert (missed <= allowed) is not shrunk


def test_a_session_charges_the_histogram_once(tmp_path):
    """Counts of its bins need neither the session nor its ledger."""
    (tmp_path / "jobs.csv").write_text("job\n" + "clerk\n" * 300 + "nurse\n" * 200 + "pilot\n" * 100)
    types = {"job": dt.Category(["clerk", "nurse", "pilot"])}
    options = {"rows": 600, "budget": dt.Budget(epsilon=1), "ledger": ":memory:"}
    with dt.open(tmp_path / "jobs.csv", columns=types, **options) as session:
        histogram = session.ask(dt.Histogram("job"), epsilon=1.0)
        assert session.budget.spent.epsilon == 1.0
        flying = dt.count_from(histogram, ["nurse", "pilot"])
        assert abs(flying.value - 300) < 60
        assert "nurse, pilot" in flying.query
        assert session.budget.spent.epsilon == 1.0
    plain = dt.histogram(DATA, edges=EDGES, epsilon=1.0, confidence=None)
    assert dt.count_from(plain, ["0 to 1"]).interval is None
    assert dt.count_from(histogram, "pilot", confidence=None).interval is None


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: dt.count_from(3, ["a"]), "^release must "),
        (lambda: dt.count_from(dt.count([True] * 9, epsilon=1), ["a"]), "^release must "),
        (
            lambda: dt.count_from(dt.histogram(DATA, edges=EDGES, epsilon=1, delta=0.1, noise="gaussian"), []),
            "^release ",
        ),
        (lambda: dt.count_from(dt.histogram(["a"] * 99, epsilon=1, delta=0.1), ["a"]), "^release must "),
        (
            lambda: dt.count_from(dt.counting_queries(DATA, family="points", edges=EDGES, epsilon=1), []),
            "^release must ",
        ),
        (lambda: dt.count_from(dt.histogram(DATA, edges=EDGES, epsilon=1), ["no bin"]), "^of must "),
        (lambda: dt.count_from(dt.histogram(DATA, edges=EDGES, epsilon=1), 3), "^of must "),
        (lambda: dt.count_from(dt.histogram(DATA, edges=EDGES, epsilon=1), [], records=0), "^records must "),
        (lambda: dt.count_from(dt.histogram(DATA, edges=EDGES, epsilon=1), [], confidence=2), "^confidence must "),
    ],
)
def test_what_is_no_histogram_is_refused(make, named):
    """Other releases, other noise, bins that had to be found, bins that are not there."""
    with pytest.raises(InvalidArgument, match=named):
        make()
