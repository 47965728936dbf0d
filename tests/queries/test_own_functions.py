"""Points of metric spaces and vectors that a function of the owner's gives: grids, defaults, sessions."""

import math
import warnings

import numpy as np
import pytest

import dither as dt
from dither.errors import InvalidArgument
from dither.queries import own_functions
from dither.queries.plan import Options

TENTHS = dt.MetricSpace.of("abc", [[0, 0.1, 0.3], [0.1, 0, 0.2], [0.3, 0.2, 0]])
PATH = dt.MetricSpace.of(range(6), lambda p, q: abs(p - q))
WRONG = [None, "no point", math.nan, [1], {}, 4242, pytest.param(object(), id="object")]


def true_points(monkeypatch):
    """Draws that are the centre itself."""
    monkeypatch.setattr(own_functions, "nearby", lambda space, centre, rate: centre)


def true_vectors(monkeypatch):
    """Draws without noise."""
    monkeypatch.setattr(own_functions, "norm_draw", lambda location, scale, norm: [round(one) for one in location])


def planned(query, data, **options):
    """The plan of a query in memory."""
    return query.plan(query.shape(data), Options.asked(**options))


def test_a_release_names_a_point_and_its_loss():
    """At a large epsilon the answer is the truth; numbers that are no multiples of one unit are fine."""
    release = dt.metric_release("b", space=TENTHS, epsilon=100, sensitivity=0.25)
    assert release.value == "b"
    assert release.loss.epsilon == 100
    assert "95% within 0" in release.query
    plan = planned(dt.MetricRelease(space=TENTHS, sensitivity=1), "b", epsilon=1, confidence=None)
    assert plan.radius is None
    assert plan.rate == TENTHS.rate(plan.loss.exact_epsilon, TENTHS.reach(1))


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_what_is_no_point_counts_as_the_default(wrong, monkeypatch):
    """Whatever a function gives, or raises, there is an answer; nothing is shown or warned about."""
    true_points(monkeypatch)
    options = {"space": PATH, "epsilon": 1, "sensitivity": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dt.metric_release([1], function=lambda _: wrong, **options).value == 0
        assert dt.metric_release([1], function=lambda _: wrong, default=3, **options).value == 3
        assert dt.metric_release([1], function=lambda _: 1 / 0, default=3, **options).value == 3
    assert dt.metric_release([4, 5], function=max, **options).value == 5


def test_losses_of_all_pairs_of_centres_are_within_epsilon():
    """Every output of every pair within the sensitivity, by the plan's own rate; 30% faster decay is caught."""
    plan = planned(dt.MetricRelease(space=PATH, sensitivity=2), 0, epsilon=0.7)

    def worst(rate):
        weights = np.exp(-rate * PATH.steps)
        law = weights / weights.sum(axis=1, keepdims=True)
        near = [(a, b) for a in range(6) for b in range(6) if PATH.steps[a, b] * PATH.unit <= 2]
        return max(np.abs(np.log(law[a] / law[b])).max() for a, b in near)

    assert 0.7 * 0.999 < worst(float(plan.rate)) <= 0.7 * (1 + 1e-9)
    assert worst(1.3 * float(plan.rate)) > 0.8


def test_bad_arguments_of_points_are_named():
    """A sensitivity below the least distance, a space that is none, a default that is no point."""
    with pytest.raises(InvalidArgument, match=r"^sensitivity must "):
        dt.metric_release(1, space=PATH, epsilon=1, sensitivity=0.5)
    with pytest.raises(InvalidArgument, match=r"^space must "):
        dt.metric_release(1, space="path", epsilon=1, sensitivity=1)
    with pytest.raises(InvalidArgument, match=r"^constants must "):
        dt.metric_release(1, space=PATH, epsilon=1, sensitivity=1, constants="best")
    with pytest.raises(InvalidArgument, match=r"^default must "):
        dt.metric_release(1, space=PATH, epsilon=1, sensitivity=1, default=17)
    with pytest.raises(InvalidArgument, match=r"^function must "):
        dt.metric_release(1, space=PATH, epsilon=1, sensitivity=1, function="max")
    with pytest.raises(dt.NotApplicable, match=r"^mechanism='smooth': a point of a metric space is drawn"):
        dt.metric_release(1, space=PATH, epsilon=1, sensitivity=1, mechanism="smooth")


def test_answers_lie_on_the_public_grid():
    """With a declared step every entry is a multiple of it; the default depends on S and epsilon alone."""
    answer = dt.norm_release([1.234, -5.678], epsilon=50, sensitivity=0.01, norm="l2", step=0.125)
    assert all(number * 8 == round(number * 8) for number in answer.value)
    assert answer.value == (1.25, -5.625)
    query = dt.NormRelease(sensitivity=3)
    assert {planned(query, value, epsilon=1).step for value in ([0.0], [1e-9], [1e9])} == {2.0**-19}


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_vectors_use_the_stated_sensitivity(norm, monkeypatch):
    """The scale that is drawn with is S / eps, in steps of the grid; the interval is the radius of the norm."""
    used = []
    monkeypatch.setattr(
        own_functions, "norm_draw", lambda location, scale, kind: used.append((scale, kind)) or [0] * len(location)
    )
    release = dt.norm_release([1.0, 2.0, 3.0], epsilon=0.5, sensitivity=2, norm=norm, step=0.25)
    assert used == [(16, norm)]
    radius = own_functions.norm_radius(3, 4, norm, own_functions.Fraction(1, 4), 0.05)
    assert release.interval == ((-radius, radius),) * 3


def test_low_samples_use_twice_the_error():
    """The scale is 2 sigma / eps: the interval is that of Laplace noise of this scale."""
    release = dt.low_sample_release([5.0], reads=0.1, within=0.5, chance=0.9, epsilon=2.0)
    low, high = release.interval[0]
    assert high - low == pytest.approx(math.log(20), rel=1e-4)
    for options, named in (({"within": 0}, "^within must "), ({"chance": 0.55}, "^chance must ")):
        with pytest.raises(InvalidArgument, match=named):
            dt.low_sample_release([5.0], **{"reads": 0.1, "within": 0.5, "chance": 0.9, "epsilon": 2.0} | options)
    with pytest.raises(InvalidArgument, match=r"^neighbours=.*: the lemma is about neighbours that change one record"):
        dt.LowSampleRelease(reads=0.1, within=0.5, chance=0.9, neighbours=dt.Neighbours.EDGE)


@pytest.mark.parametrize("wrong", [*WRONG, [math.inf, 0.0], [1.0, math.nan], [1.0, 2.0, 3.0], ["a", "b"]], ids=repr)
def test_what_is_no_vector_counts_as_the_default(wrong, monkeypatch):
    """Zeros, or the declared vector; a number too large for floats after the noise is no error."""
    true_vectors(monkeypatch)
    options = {"dimension": 2, "epsilon": 1, "sensitivity": 1, "step": 1}
    assert dt.norm_release([1], function=lambda _: wrong, **options).value == (0.0, 0.0)
    assert dt.norm_release([1], function=lambda _: wrong, default=[3, 4], **options).value == (3.0, 4.0)
    assert dt.norm_release([1], function=lambda _: 1 / 0, **options).value == (0.0, 0.0)
    assert dt.norm_release([1], function=lambda _: (5, 6), **options).value == (5.0, 6.0)


def test_huge_entries_are_clamped():
    """1e308 and noise of 1e290 make no number that floats cannot hold."""
    release = dt.norm_release([1e308, -1e308], epsilon=1, sensitivity=1e289)
    assert [abs(one) == pytest.approx(1e300) for one in release.value] == [True, True]


@pytest.mark.parametrize(
    ("value", "options", "named"),
    [
        ([1.0], {"epsilon": 1, "sensitivity": 0}, "^sensitivity must "),
        ([1.0], {"epsilon": 1, "sensitivity": 1, "norm": "l3"}, "^norm must "),
        ([1.0], {"epsilon": 1, "sensitivity": 1, "step": -1}, "^step must "),
        ([1.0], {"epsilon": 0, "sensitivity": 1}, "^epsilon must "),
        ([], {"epsilon": 1, "sensitivity": 1}, "^value must "),
        ([[1.0]], {"epsilon": 1, "sensitivity": 1}, "^value must "),
        (np.ones((2, 2)), {"epsilon": 1, "sensitivity": 1}, "^value must "),
        ("one", {"epsilon": 1, "sensitivity": 1}, "^value must "),
        ([1.0], {"epsilon": 1, "sensitivity": 1, "confidence": 2}, "^confidence must "),
        ([1.0], {"epsilon": 1, "sensitivity": 1, "function": len}, "^dimension must "),
        ([1.0], {"epsilon": 1, "sensitivity": 1, "default": [1, 2]}, "^default must "),
        ([1.0], {"epsilon": 1, "sensitivity": 1, "default": [math.nan]}, "^default must "),
        ([1.0], {"epsilon": 1, "sensitivity": 1e300}, "^sensitivity must "),
    ],
)
def test_bad_arguments_of_vectors_are_named(value, options, named):
    """The message names the argument."""
    with pytest.raises(InvalidArgument, match=named):
        dt.norm_release(value, **options)


def test_in_a_session_each_function_is_a_question_of_its_own(tmp_path):
    """The same object is answered again from the store; another object is charged, whatever its function prints."""
    (tmp_path / "people.csv").write_text("age\n" + "\n".join(str(place % 90) for place in range(500)) + "\n")
    budget = dt.Budget(epsilon=100)
    with dt.open(
        tmp_path / "people.csv", columns={"age": dt.Integer(0, 120)}, rows=500, budget=budget, ledger=":memory:"
    ) as session:
        query = dt.DistanceToProperty(distance=lambda rows: sum(age < 18 for age in rows["age"].to_pylist()))
        release = session.ask(query, epsilon=5.0)
        assert abs(release.value - 108) <= 20
        assert session.ask(query, epsilon=5.0) == release
        assert session.budget.spent.epsilon == 5.0
        session.ask(dt.DistanceToProperty(distance=query.distance), epsilon=5.0)
        assert session.budget.spent.epsilon == 10.0
        with pytest.raises(InvalidArgument, match=r"^neighbours must "):
            session.ask(dt.DistanceToProperty(distance=len, neighbours=dt.Neighbours.EDGE), epsilon=1.0)
        with pytest.raises(InvalidArgument, match=r"^where=.*: distance_to_property is asked of the whole table"):
            session.ask(query, epsilon=1.0, where="age < 50")
        assert session.budget.spent.epsilon == 10.0


@pytest.mark.parametrize("end", [SystemExit, GeneratorExit, MemoryError])
def test_a_function_that_ends_the_program_counts_as_its_default(end):
    """Whatever it raises on one record: the others' process goes on."""

    def ends(data):
        if 99 in data:
            raise end
        return 1

    options = {"epsilon": 1.0}
    assert dt.distance_to_property([1, 2, 99], distance=ends, **options).value is not None
    options["sensitivity"] = 1
    space = dt.MetricSpace.of([0, 1, 2], lambda a, b: abs(a - b))
    assert dt.metric_release([1, 2, 99], function=ends, space=space, default=0, **options).value in (0, 1, 2)

    class Empty:
        """A function that is false as a truth value is a function all the same."""

        def __len__(self):
            return 0

        def __call__(self, data):
            return 2

    sure = {**options, "epsilon": 100.0}
    assert dt.metric_release(0, function=Empty(), space=space, default=0, **sure).value == 2
    vector = dt.norm_release([1, 2, 99], function=lambda data: [ends(data)], dimension=1, **options)
    assert len(vector.value) == 1
