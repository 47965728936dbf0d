"""Hypotheses of one's own: the projected value, its sensitivity over a whole universe, and wrong projections."""

from itertools import product

import pytest

import dither as dt
from dither.errors import InvalidArgument
from dither_lab.audit.own_functions import datasets, near, under_hypothesis

VALUES = [0, 1, 4]


def small(x):
    """Records above 1 count as 1."""
    return [min(v, 1) for v in x]


def asked(**more):
    """The sum of small records: one change moves it by 1, and by 4 without the hypothesis."""
    given = {
        "name": "small ones",
        "value": sum,
        "projection": small,
        "projection_change": 1,
        "restricted_sensitivity": 1,
        "bounds": (0, 12),
        "step": 1,
        "default": 0,
    }
    return dt.restricted(**{**given, **more})


def test_the_value_is_that_of_the_projected_data():
    """Where the hypothesis holds it is the value itself."""
    query = asked()
    for x in product(VALUES, repeat=3):
        found = dt.inspect.value(query, list(x))
        assert found == sum(min(v, 1) for v in x)
        assert max(x) > 1 or found == sum(x)


def test_claims_hold_on_a_whole_universe_and_false_ones_are_found():
    """A projection that keeps large records where there are few of them does not keep the hypothesis."""
    assert not dt.inspect.refute(asked(), values=VALUES, records=3, failing=())
    wrong = asked(projection=lambda x: x if sum(x) == 4 else small(x))
    assert dt.inspect.refute(wrong, values=VALUES, records=3, failing=())
    assert dt.inspect.refute(asked(restricted_sensitivity=0.7, step=0.25), values=VALUES, records=3, failing=())


def test_changes_of_the_projection_multiply_the_sensitivity():
    """And the release has noise for that, and says on what its privacy rests."""
    universe = under_hypothesis(False)
    assert universe.statistic.global_sensitivity == 1
    assert len(universe.data) == len(datasets(3))
    assert (
        max(abs(universe.statistic.value(x) - universe.statistic.value(y)) for x in universe.data for y in near(x)) == 1
    )
    release = dt.ask(asked(projection_change=3), [1, 0, 4], epsilon=1.0)
    assert (release.mechanism, release.claim is not None) == ("worst_case", True)
    session = dt.open({"x": [1]}, columns={"x": dt.Integer(0, 4)}, rows=1, budget=dt.Budget(1.0))
    errors = [session.quote(asked(projection_change=c), epsilon=0.5).expected_error for c in (1, 3)]
    assert errors[1] > 1.5 * errors[0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"projection": 3},
        {"value": None},
        {"projection_change": 0},
        {"projection_change": 1.5},
        {"projection_change": True},
        {"restricted_sensitivity": -1},
        {"restricted_sensitivity": "text"},
        {"bounds": None, "step": None},
    ],
)
def test_what_is_no_hypothesis_is_refused(wrong):
    """Before anything is read."""
    with pytest.raises(InvalidArgument):
        asked(**wrong)
