"""Cascades of the owner's own: what they cost, what runs, what fails quietly, and how they are asked."""

import math
from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from dither.errors import InvalidArgument, NotApplicable
from dither.procedures.own_cascades import OwnCascades, arrangement, read_levels
from dither_lab.audit.checks import Effort
from dither_lab.audit.own_cascades import cascade_checks, in_cascades

LOSS = {"epsilon": 4.0, "delta": 1e-4}


def sure(value=lambda data, *_: 7.0, bound=0, **more):
    """A proposal that passes on all data."""
    return dt.Proposal(value=value, bound=bound, margin=lambda *_: 10**9, **more)


def never(**more):
    """A proposal that passes with a probability of at most delta."""
    return dt.Proposal(value=lambda *_: 1.0, bound=1, margin=lambda *_: 0, **more)


@pytest.mark.parametrize("lengths", [(1,), (2,), (2, 2), (1, 3, 2)])
def test_levels_cost_what_theorem_17_says(lengths):
    """(K + sum J_k) shares of epsilon, sum J_k of delta; parallel parts add up (Corollary 20)."""
    levels = read_levels([[never() for _ in range(length)] for length in lengths])
    whole = arrangement(levels, Fraction(1, 10), Fraction(1, 10**6))
    assert whole.epsilon == Fraction(len(lengths) + sum(lengths), 10)
    assert whole.delta == Fraction(sum(lengths), 10**6)
    beside = read_levels([{str(place): [never()] * length for place, length in enumerate(lengths)}])
    assert arrangement(beside, Fraction(1, 10), Fraction(1, 10**6)).epsilon == whole.epsilon
    made = OwnCascades.of(levels, Fraction(1), Fraction(1, 10**6))
    assert made.composition.epsilon == 1
    assert made.composition.delta == Fraction(1, 10**6)


def test_nested_levels_cost_what_theorem_22_says():
    """DL09 Example 23 with its arithmetic put right is two scales side by side, then four tests of twice epsilon."""
    scales = {"one": [never(), never()], "other": [never(), never()]}
    cells = [never(test=2, release=2) for _ in range(4)]
    whole = arrangement(read_levels([scales, cells]), Fraction(1), Fraction(1, 100))
    assert (whole.epsilon, whole.delta) == (16, Fraction(8, 100))


def test_the_first_that_passes_answers_and_later_levels_see_it():
    """Values that are released exactly, because a bound of 0 was proposed and passed."""
    seen = []

    def after(data, *released):
        seen.append(released)
        return len(data) + released[0]

    query = dt.Cascade(levels=[[never(), sure()], sure(after)])
    assert dt.ask(query, [1, 2, 3], **LOSS).value == 10.0
    assert seen == [(7.0,)]
    beside = dt.Cascade(levels=[sure(), {"here": sure(after), "there": [never(), sure(bound=1e-9)]}])
    release = dt.ask(beside, [1, 2, 3], **LOSS)
    assert release.value == pytest.approx((10.0, 7.0), abs=1e-6)
    assert release.labels == ("here", "there")


def test_refusals_name_their_level():
    """All alternatives refused: a result that is charged for."""
    release = dt.ask(dt.Cascade(levels=[sure(), [never(), never()]]), [1], **LOSS)
    assert release.refused
    assert "level 2" in release.reason
    assert release.loss == dt.Loss(4.0, 1e-4)


def test_margins_are_read_off_ladders():
    """The least rung above the bound; a ladder that fails counts as above it."""
    proposal = dt.Proposal(value=max, bound=3, ladder=lambda data, k: [0, 2, 3, 5][k])
    assert proposal.distance([1], 3.0, (), 50) == 3
    assert proposal.distance([1], 5.0, (), 50) == 4  # the list has no fifth rung
    assert proposal.distance([1], 5.0, (), 2) == 2


@pytest.mark.parametrize("returned", [float("nan"), -4, None, "text", float("inf"), [1]])
def test_functions_that_fail_count_as_public_rules_say(returned):
    """A margin as 0, a value as its default, a bound as none; nothing raises or warns."""
    odd = dt.Proposal(value=lambda *_: 1.0, bound=1, margin=lambda *_: returned)
    assert odd.distance([1], 1.0, (), 9) == 0
    broken = dt.Proposal(value=lambda *_: 1.0, bound=lambda *_: returned, margin=lambda *_: 9)
    assert broken.width(()) is None
    assert dt.ask(dt.Cascade(levels=[sure(), broken]), [1], **LOSS).refused
    value = sure(lambda *_: returned, default=5)
    if returned != -4:
        assert dt.ask(dt.Cascade(levels=[value]), [1], **LOSS).value == 5.0


def test_noise_has_the_scale_that_was_proposed():
    """Mean |noise| of 2,000 answers within 8 standard errors of bound / (epsilon / 2); 70% of it lies beyond them.

    A mean of 2,000 exponential variables is 8 standard errors off less than once in 10^9 times.
    """
    query, right = dt.Cascade(levels=[sure(lambda *_: 0.0, bound=8)]), 8 / 2
    noise = [abs(dt.ask(query, [1], epsilon=4.0, delta=1e-4).value) for _ in range(2_000)]
    allowed = 8 * right / math.sqrt(2_000)
    assert abs(np.mean(noise) - right) < allowed
    assert 0.7 * right < right - allowed


def test_intervals_cover():
    """The interval of a public scale: 200 answers, each side missed rarely."""
    query = dt.Cascade(levels=[sure(lambda *_: 0.0, bound=1)])
    releases = [dt.ask(query, [1], confidence=0.9, **LOSS) for _ in range(200)]
    missed = sum(not low <= 0 <= high for low, high in (one.interval for one in releases))
    assert missed < 65  # P(Bin(200, 0.1) >= 65) < 1e-15


@pytest.mark.parametrize(
    ("levels", "argument"),
    [
        ([], "levels"),
        ("text", "levels"),
        ([[]], "levels"),
        ([{}], "levels"),
        ([{1: sure()}], "levels"),
        ([sure(), "text"], "levels"),
        ([[sure()] * 65], "levels"),
    ],
)
def test_what_is_no_level_is_refused(levels, argument):
    """Before anything is read."""
    with pytest.raises(InvalidArgument, match=argument):
        dt.Cascade(levels=levels)


@pytest.mark.parametrize(
    "given",
    [
        {"value": 3},
        {"bound": -1},
        {"bound": 1e300},
        {"margin": None},
        {"margin": 3},
        {"ladder": max},
        {"test": 0},
        {"release": -1},
        {"default": "text"},
    ],
)
def test_what_is_no_proposal_is_refused(given):
    """Before anything is read."""
    with pytest.raises(InvalidArgument):
        dt.Proposal(**{"value": max, "bound": 1, "margin": min, **given})


def test_a_test_needs_delta_and_has_no_other_mechanism():
    """From public facts alone."""
    query = dt.Cascade(levels=[sure()])
    with pytest.raises(InvalidArgument, match="delta"):
        dt.ask(query, [1], epsilon=1.0)
    with pytest.raises(NotApplicable, match="mechanism"):
        dt.ask(query, [1], epsilon=1.0, delta=1e-6, mechanism="smooth")


def test_a_session_charges_refusals_and_answers_again_for_free():
    """One object is one question; it gets the declared columns."""
    session = dt.open({"x": [1.0, 2.0, 3.0]}, columns={"x": dt.Real(0, 10)}, rows=3, budget=dt.Budget(10.0, 0.1))
    query = dt.Cascade(levels=[sure(lambda rows: len(rows["x"]))])
    assert session.ask(query, **LOSS).value == 3.0
    assert session.ask(query, **LOSS).value == 3.0
    assert session.budget.spent.epsilon == 4.0
    assert session.ask(dt.Cascade(levels=[never()]), **LOSS).refused
    assert session.budget.spent.epsilon == 8.0


@pytest.mark.parametrize("check", list(cascade_checks()), ids=lambda one: one.method)
def test_two_levels_are_private_at_their_loss(check):
    """Exactly over all neighbours of a chain; and draws follow that law (false alarms below 1e-9)."""
    found = check.run(Effort(quick=True))
    assert found.holds
    assert found.lower is None or found.lower > 0.9 * found.claimed.epsilon


@pytest.mark.parametrize("check", list(in_cascades()), ids=lambda one: one.subject)
def test_broken_cascades_are_found(check):
    """Margins that begin at one, noise 30% small."""
    assert not check.run(Effort(quick=True)).holds


@pytest.mark.parametrize(
    "number",
    [10**5000, 10**309, -(10**309), 10**308, -1.7e308, Fraction(1, 10**5000)],
    ids=["far", "beyond", "below", "least", "float", "tiny"],
)
@pytest.mark.parametrize("bound", [0, 1, 1e290])
def test_numbers_beyond_all_floats_are_answered(number, bound):
    """By the largest float: whether a value has one depends on the data, and no error may."""
    one = sure(value=lambda data, *_: number, bound=bound)
    for confidence in (None, 0.95):
        release = dt.ask(dt.Cascade(levels=[one, one]), [1], epsilon=9.0, delta=0.1, confidence=confidence)
        assert math.isfinite(release.value)
        if bound == 1 and abs(number) > 1:
            assert release.value * (1 if number > 0 else -1) >= 1e308
