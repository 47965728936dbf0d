"""Exact local sensitivities by brute force, and the floor under every error."""

import math

import pytest

import dither as dt
from dither.errors import InvalidArgument
from dither.privacy import Neighbours
from dither.statistics.local import exact_local_sensitivity
from dither_lab.audit.audited_queries import audited_queries

EXACT = {
    "median",
    "minimum",
    "quantile",
    "order statistic",
    "trimmed mean",
    "interquartile range",
    "sum",
    "mean",
    "count",
    "sum of the smallest",
    "winsorised mean",
    "triangles",
    "2-stars",
    "3-stars",
    "2-triangles",
    "4-cliques",
    "finite space",
}
"""Whose universes reach both bounds; that of the maximum has no record at the upper one."""


@pytest.mark.parametrize("audited", [one for one in audited_queries() if one.name in EXACT], ids=lambda one: one.name)
def test_local_sensitivities_are_brute_force(audited):
    """Over all neighbours of a small universe."""
    universe = audited.universe(True)
    values = [universe.statistic.value(data) for data in universe.data]
    most = [0] * len(values)
    for here, there in universe.pairs:
        most[here] = max(most[here], abs(values[here] - values[there]))
    assert [exact_local_sensitivity(universe.statistic, data) for data in universe.data] == most


def test_bounds_are_no_local_sensitivities():
    """Claims of authors, counts whose ladder is a bound, and relations in which chains reach further: none."""
    unknown = [one.universe(True) for one in audited_queries() if one.name in ("filtered median", "variance", "edges")]
    assert {exact_local_sensitivity(one.statistic, one.data[0]) for one in unknown} == {None}
    assert all(one.statistic.neighbours is not Neighbours.LISTED for one in unknown)
    own = dt.Custom(name="own", value=max, ladder=lambda x, k: 1, bounds=(0, 9), step=1, default=0)
    claimed = {"local_sensitivity": lambda x: 1, "local_sensitivity_change": 1}
    other = dt.Custom(name="own", value=max, **claimed, bounds=(0, 9), step=1, default=0)
    for query in (own, other):
        with pytest.raises(InvalidArgument, match="local sensitivity"):
            dt.inspect.floor(query, [1, 2], epsilon=1.0)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.0), (1.0, 1e-6), (3.0, 0.01)])
def test_no_mechanism_beats_the_floor_and_one_meets_it(epsilon, delta):
    """Randomised response between the two values is private and as often right; a little more often is not private."""
    found = dt.inspect.floor(dt.Median(bounds=(0, 100)), [10, 20, 90], epsilon=epsilon, delta=delta)
    assert found.error == 35.0
    q = found.probability
    assert q <= math.exp(epsilon) * (1 - q) + delta + 1e-12
    assert q + 1e-6 > math.exp(epsilon) * (1 - q - 1e-6) + delta
    assert q <= (1 + delta) / (1 + math.exp(-epsilon))
    # Laplace noise for the true distance of the pair stays within half of it less often.
    assert 1 - math.exp(-epsilon / 2) <= q


def test_the_floor_is_for_single_numbers():
    """Several have none of their own."""
    with pytest.raises(InvalidArgument):
        dt.inspect.floor(dt.Quantiles(q=(0.1, 0.5), bounds=(0, 9)), [1, 2, 3], epsilon=1.0)
