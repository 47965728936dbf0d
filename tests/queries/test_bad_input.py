"""What cannot be right is refused in a sentence, from public facts, before anything is charged."""

import math
import sys

import numpy as np
import pytest

import dither as dt
from dither.errors import InvalidArgument
from dither.sensitivity.levels import LevelFunction, Levels

ONE = {"name": "one", "value": len, "bounds": (0, 10), "step": 1, "default": 0}


def custom(**claims):
    """A function of one's own with other claims."""
    return dt.Custom(**{**ONE, **claims})


CASES = {
    "a detour is shorter": (lambda: dt.MetricSpace.of("abc", [[0, 1, 5], [1, 0, 1], [5, 1, 0]]), "triangle inequality"),
    "a distance below zero": (lambda: dt.MetricSpace.of("ab", [[0, -1], [-1, 0]]), "distance must be zero"),
    "a way back of another length": (lambda: dt.MetricSpace.of("ab", [[0, 1], [2, 0]]), "both directions"),
    "a table that is not square": (lambda: dt.MetricSpace.of("ab", [[0, 1, 1], [1, 0, 1]]), "a square table"),
    "a distance that is a text": (lambda: dt.MetricSpace.of("ab", lambda p, q: "x"), "a finite number"),
    "a distance that fails": (lambda: dt.MetricSpace.of("ab", lambda p, q: 1 / 0), "must not fail"),
    "no points": (lambda: dt.MetricSpace.of([], lambda p, q: 1), "at least 2 different values"),
    "no rankings": (lambda: dt.Rankings([]), "at least 2 different values"),
    "no sets": (lambda: dt.Subsets([]), "at least 1 different values"),
    "no datasets": (lambda: dt.FiniteSpace([], neighbours="chain", value=len), "at least one dataset"),
    "a value that is a text": (
        lambda: dt.FiniteSpace([1, 2], neighbours="chain", value=str),
        "a finite number for every dataset",
    ),
    "a value of two numbers": (
        lambda: dt.FiniteSpace([1, 2], neighbours="chain", value=lambda one: [one, one]),
        "a finite number for every dataset",
    ),
    "neighbours that are no datasets": (
        lambda: dt.FiniteSpace([1, 2], neighbours=lambda one: [9], value=int),
        "among the datasets",
    ),
    "levels that fall": (lambda: Levels([3, 1]), "in rising order"),
    "levels that do not cover": (
        lambda: custom(levels=LevelFunction(Levels([1, 2]), len), global_sensitivity=5),
        "at least the global one, 5",
    ),
    "levels that are a list": (lambda: LevelFunction([1, 2], len), "levels such as"),
    "a level that is no function": (lambda: LevelFunction(Levels([1, 2]), 1), "a function of the data"),
    "a ladder that is no function": (lambda: custom(ladder=[1, 2]), "a function ladder"),
    "a value that is no function": (lambda: custom(value=3, global_sensitivity=1), "a function of the data"),
    "a default of another shape": (
        lambda: custom(global_sensitivity=1, bounds=[(0, 1), (0, 1)], default=[0]),
        "one for each of 2",
    ),
    "a cap of zero": (lambda: dt.Graph([(0, 1)], n=2, weights=[5.0], cap=0), "cap must be .* above 0"),
    "a cap below zero": (lambda: dt.Graph([(0, 1)], n=2, weights=[5.0], cap=-1), "cap must be .* above 0"),
    "a cap that is no number": (lambda: dt.Graph([(0, 1)], n=2, weights=[5.0], cap=math.nan), "cap must be a finite"),
    "a weight too many": (lambda: dt.Graph([(0, 1)], n=2, weights=[5.0, 1.0], cap=9), "one weight for each edge"),
    "more coefficients than records": (
        lambda: dt.regression(np.ones((9, 9)), np.ones(9), epsilon=1),
        "must have more than 9 records",
    ),
    "more clusters than records": (
        lambda: dt.kmeans(np.ones((3, 2)), k=9, bounds=(0, 1), epsilon=1, delta=1e-6),
        "no more than records",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_refused(case):
    """With the name of the argument, and that nothing was charged."""
    make, words = CASES[case]
    with pytest.raises(InvalidArgument, match=words) as refusal:
        make()
    assert "nothing was charged" in str(refusal.value)


def test_a_session_charges_nothing_for_it():
    """The refusal comes before the charge."""
    columns = {name: dt.Real(0, 1) for name in "abcde"}
    session = dt.open(dict.fromkeys("abcde", [0.5] * 4), columns=columns, rows=4, budget=dt.Budget(9.0, 0.1))
    for query in (dt.Regression(target="a", method="medians"), dt.KMeans(["a", "b"], k=7)):
        with pytest.raises(InvalidArgument):
            session.ask(query, epsilon=1.0, delta=1e-6)
    assert session.budget.spent == dt.Loss(0.0)
    assert session.history == []


def test_a_falling_ladder_is_searched_for_not_refused():
    """Whether a ladder falls depends on the data: a question is answered, and ``refute`` shows the counterexample."""
    falling = custom(value=sum, ladder=lambda x, k: max(9 - 5 * k, 0), bounds=(0, 40))
    assert dt.ask(falling, [1, 2, 3], epsilon=1.0).value is not None
    assert "refuted: " in str(dt.inspect.refute(falling, values=[0, 5, 10], records=3))


def test_weights_beyond_the_cap_are_cut_to_it():
    """They are private: no error may depend on them."""
    triangle = [(0, 1), (1, 2), (0, 2)]
    for weights in ([1.0, 2.0, 9.0], [1.0, 2.0, 1e300], [1.0, 2.0, math.inf], [1.0, 2.0, math.nan]):
        graph = dt.Graph(triangle, n=3, weights=weights, cap=9)
        assert dt.inspect.value(dt.MSTCost(), graph) == 3


@pytest.mark.parametrize("mechanism", ["noisy_local", dt.ProposeTest(bound=400)], ids=["noisy_local", "propose_test"])
def test_a_local_sensitivity_of_ones_own_is_bounded_privately(mechanism):
    """Noise of the size of the local sensitivity, 80 times less than the worst case, in memory and in a session.

    The value is how many pairs of records agree, twice; one change moves it by at most twice the range of the counts,
    and that by at most 4.  Errors beyond 60 local sensitivities have a chance below 1e-12.
    """
    records = np.random.default_rng(5).integers(0, 50, 4_000)

    def counts(x):
        clean = np.nan_to_num(np.asarray(x, dtype=float), posinf=49, neginf=0)
        return np.bincount(np.clip(clean, 0, 49).astype(int), minlength=50)

    def pairs(x):
        return float((counts(x).astype(float) ** 2).sum())

    def local(x):
        return float(2 * (counts(x).max() - counts(x).min()) + 2)

    claims = {"local_sensitivity_change": 4, "global_sensitivity": 8_000, "bounds": (0, 16_000_000)}
    asked = {"epsilon": 2.0, "delta": 1e-6, "mechanism": mechanism}
    here = dt.ask(custom(value=pairs, local_sensitivity=local, **claims), records, **asked)
    columns = {"x": dt.Integer(0, 49)}
    session = dt.open({"x": records}, columns=columns, rows=4_000, budget=dt.Budget(9.0, 0.1))
    there = session.ask(
        custom(
            value=lambda t: pairs(t["x"].to_numpy()), local_sensitivity=lambda t: local(t["x"].to_numpy()), **claims
        ),
        **asked,
    )
    for found in (here, there):
        assert abs(found.value - pairs(records)) < 60 * local(records)
        assert "claims" in found.claim
    assert session.budget.spent.epsilon == 2.0


@pytest.mark.parametrize(
    "level",
    [
        lambda data: 1 / 0,
        lambda data: float("nan"),
        lambda data: "high",
        lambda data: None,
        lambda data: 0,
        lambda data: 99,
        lambda data: 1.5,
        lambda data: sys.exit(3),
    ],
    ids=["fails", "nan", "text", "none", "zero", "beyond", "between", "exit"],
)
def test_levels_made_by_hand_never_fail_after_the_charge(level):
    """Data whose level is none count as on the highest one, whatever the query; the release names the claim."""
    mechanism = dt.LargestLocal(levels=LevelFunction(Levels([1, 100]), level), constants="paper")
    query = dt.Median("x", bounds=(0, 100), step=1)
    loss = {"epsilon": 1.0, "delta": 1e-3}
    session = dt.open({"x": [1, 2, 50]}, columns={"x": dt.Integer(0, 100)}, rows=3, budget=dt.Budget(9.0, 0.1))
    for found in (
        dt.ask(query, [1, 2, 50], **loss, mechanism=mechanism),
        session.ask(query, **loss, mechanism=mechanism),
    ):
        assert found.value is not None
        assert found.claim == "its privacy rests on what the author of the levels claims about them"
    highest = dt.LargestLocal(levels=LevelFunction(Levels([1, 100]), lambda data: 2), constants="paper")
    scales = [dt.inspect.noise_scale(query, [1, 2, 50], **loss, mechanism=one) for one in (mechanism, highest)]
    assert scales[0] == scales[1] == pytest.approx(200)
    lowest = dt.LargestLocal(levels=LevelFunction(Levels([1, 100]), lambda data: 1), constants="paper")
    assert dt.inspect.noise_scale(query, [1, 2, 50], **loss, mechanism=lowest) < 199


def test_levels_of_the_library_are_no_claim():
    """Only what somebody brings along is."""
    release = dt.median(
        range(100), bounds=(0, 100), step=1, epsilon=1.0, mechanism=dt.LargestLocal(levels=dt.Margins())
    )
    assert release.claim is None


@pytest.mark.parametrize("name", ["distance_to_property", "metric_release", "norm_release", "low_sample_release"])
def test_functions_of_owners_say_what_their_privacy_rests_on(name):
    """As ``dt.Custom`` does, in words and in JSON."""
    given = {
        "distance_to_property": {"distance": len},
        "metric_release": {"function": len, "space": dt.MetricSpace.of(range(5), lambda p, q: abs(p - q))},
        "norm_release": {"function": lambda x: [len(x)], "dimension": 1},
        "low_sample_release": {"function": lambda x: [0.5], "dimension": 1, "reads": 0.1, "within": 0.1, "chance": 0.9},
    }[name]
    if name in ("metric_release", "norm_release"):
        given["sensitivity"] = 1
    release = getattr(dt, name)([1, 2, 3], **given, epsilon=1.0)
    assert "claims about its sensitivity" in str(release)
    assert release.to_dict()["claim"] == release.claim
