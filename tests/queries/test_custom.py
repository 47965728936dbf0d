"""``dt.Custom`` through every door that it has, what refutes its claims, and what is wrong from public facts."""

import math
from fractions import Fraction

import numpy as np
import pyarrow.compute as pc
import pytest

import dither as dt
from dither.queries.custom import CLAIM
from dither.queries.registry import entry
from dither.queries.wire import from_json, to_json
from dither.release import Release
from dither.session.graphs import GraphSession
from dither.sources.graph_schema import GraphSchema

OUTSIDE = ("sql", "cli", "http", "page", "client")


def oldest(**claims):
    """The largest age of a table: a function of Arrow columns."""
    facts = {"bounds": (0, 120), "step": 1, "default": 0, "columns": "age"} | claims
    return dt.Custom(name="oldest", value=lambda table: pc.max(table["age"]), **facts)


def people(**options):
    """A session on 200 people."""
    data = {"age": [30, 40, 50, 60] * 50, "job": ["clerk", "nurse"] * 100, "who": list(range(100)) * 2}
    columns = {"age": dt.Integer(0, 120), "job": dt.Category(["clerk", "nurse"])}
    return dt.open(data, columns=columns, budget=dt.Budget(100.0, 1e-3), **({"rows": 200} | options))


# --- doors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["custom", "finite_space"])
def test_the_owners_code_has_no_door_for_others(name):
    """SQL, command line, HTTP, page and client do not have it, and say why; tokens would have to name it."""
    known = entry(name)
    assert known.runs_code
    for door in OUTSIDE:
        assert not known.has(door)
        assert "owner" in known.without[door]
    with pytest.raises(dt.InvalidArgument, match=r"query\.kind"):
        from_json({"kind": name})


def test_a_client_does_not_send_it():
    """The remote client refuses it before anything is sent."""
    with pytest.raises(dt.InvalidArgument, match="owner's process alone: ask it here"):
        to_json(oldest())


def test_sql_does_not_know_it():
    """Neither by its registered nor by its own name."""
    with people() as session:
        for call in ("custom(age)", "oldest(age)"):
            with pytest.raises(dt.DitherError):
                session.sql(f"SELECT {call} FROM data", epsilon=1.0)


def test_a_release_says_what_it_rests_on():
    """In text, in a notebook, in JSON and back; other releases say nothing of the kind."""
    release = dt.ask(dt.Custom(name="two", value=len, bounds=(0, 9), default=0), [1, 2], epsilon=1.0)
    assert release.claim == CLAIM
    for text in (str(release), repr(release), release._repr_html_()):
        assert CLAIM in text
    assert Release.from_dict(release.to_dict()) == release
    known = dt.median([1, 2, 3], bounds=(0, 4), epsilon=1.0)
    assert known.claim is None
    assert "claim" not in known.to_dict()


def test_a_session_charges_and_keeps_the_answer_of_the_same_object():
    """The same object is the same question, free; another one, though written alike, is a new question."""
    with people() as session:
        query = oldest(global_sensitivity=120)
        quote = session.quote(query, epsilon=1.0)
        release = session.ask(query, epsilon=1.0)
        assert release.loss == quote.loss == dt.Loss(1.0)
        assert release.claim == CLAIM
        assert release.query == "oldest"
        assert session.ask(query, epsilon=1.0) == release
        assert session.budget.spent == dt.Loss(1.0)
        session.ask(oldest(global_sensitivity=120), epsilon=1.0)
        assert session.budget.spent == dt.Loss(2.0)
        assert dt.inspect.value(query, session) == 60


def test_claims_must_be_about_the_neighbours_of_the_dataset():
    """Behind a filter rows come and go; people own several rows; claims about other relations are refused, free."""
    with people() as session:
        with pytest.raises(dt.NotApplicable, match="add-remove-change"):
            session.ask(oldest(), epsilon=1.0, where="job = 'nurse'")
        wide = oldest(neighbours="add-remove-change")
        assert 0 <= session.ask(wide, epsilon=1.0, where="job = 'nurse'").value <= 120
        assert 0 <= session.ask(wide, epsilon=1.0).value <= 120
        assert dt.inspect.value(wide, session, where="age < 50") == 40
        with pytest.raises(dt.InvalidArgument, match="the whole table"):
            session.ask(wide, epsilon=1.0, by="job")
        with pytest.raises(dt.NotApplicable, match="edge"):
            session.ask(oldest(neighbours="edge"), epsilon=1.0)
        assert session.budget.spent == dt.Loss(2.0)


def test_people_with_several_rows():
    """Claims about one row are stretched to all rows of a person; claims about people are taken as they are."""
    with people(rows="private", unit="who", rows_per_unit=2) as session:
        query = {"step": 1, "bounds": (0, 1_000), "default": 0, "columns": "age"}
        total = {"name": "rows", "value": lambda table: table.num_rows, "global_sensitivity": 1}
        per_row = dt.Custom(**query, **total, neighbours="add-remove-change")
        per_person = dt.Custom(**query, **total, neighbours="person")
        plans = [session.plan(one, epsilon=1.0) for one in (per_row, per_person)]
        assert [plan.statistic.global_sensitivity for plan in plans] == [2, 1]
        several = dt.Custom(
            **(query | {"bounds": [(0, 1), (0, 1)]}), name="two", value=lambda t: (0, 1), neighbours="add-remove-change"
        )
        with pytest.raises(dt.NotApplicable, match="several rows"):
            session.plan(several, epsilon=1.0)


def test_a_graph_session_answers_claims_about_edges(tmp_path):
    """The function gets the graph; claims about records are refused."""
    file = tmp_path / "friends.csv"
    file.write_text("source,target\n0,1\n1,2\n")
    session = GraphSession(GraphSchema(str(file), 5, "friends", budget=dt.Budget(10.0)))
    most = {"name": "largest degree", "value": lambda g: np.bincount(g.edges.ravel()).max(), "bounds": (0, 4)}
    query = dt.Custom(**most, step=1, default=0, global_sensitivity=1, neighbours="edge")
    release = session.ask(query, epsilon=1.0)
    assert release.neighbours is dt.Neighbours.EDGE
    assert release.claim == CLAIM
    assert session.ask(query, epsilon=1.0) == release
    assert dt.inspect.value(query, session) == 2
    with pytest.raises(dt.NotApplicable, match="neighbours are edge"):
        session.ask(dt.Custom(**most, default=0), epsilon=1.0)
    with pytest.raises(dt.NotApplicable, match="neighbours are edge"):
        dt.ask(dt.Custom(**most, default=0), dt.Graph([(0, 1)], n=3), epsilon=1.0)


def test_data_that_can_be_read_only_once_are_refused():
    """Value and claims are several calls."""
    with pytest.raises(dt.InvalidArgument, match="more than once"):
        dt.ask(dt.Custom(name="n", value=len, bounds=(0, 9), default=0), iter([1, 2]), epsilon=1.0)


def test_several_numbers_are_answered():
    """With either norm; a wrong length is a failure."""
    facts = {"name": "ends", "bounds": [(0, 9), (0, 9)], "step": 1, "global_sensitivity": 9, "default": (1, 2)}
    for norm, delta in (("l1", 0.0), ("l2", 1e-6)):
        query = dt.Custom(value=lambda x: (min(x), max(x)), norm=norm, **facts)
        release = dt.ask(query, [3, 4], epsilon=50.0, delta=delta)
        assert all(0 <= one <= 9 for one in release.value)
        assert release.labels == ("1", "2")
        assert release.claim == CLAIM
    fitted = dt.Custom(value=lambda x: (min(x), max(x)), ladder=lambda x, k: k + 1, **facts)
    release = dt.ask(fitted, [3, 4], epsilon=50.0)
    assert release.mechanism == "smooth"
    assert all(low <= one <= high for one, (low, high) in zip(release.value, release.interval, strict=True))
    for noise, delta in (("cauchy", 0.0), ("laplace", 1e-6), ("gaussian", 1e-6)):
        paper = dt.Smooth(constants="paper")
        assert dt.ask(fitted, [3, 4], epsilon=1.0, delta=delta, noise=noise, mechanism=paper).noise.startswith(noise)
    with pytest.raises(dt.InvalidArgument, match="beta=5"):
        dt.ask(fitted, [3, 4], epsilon=1.0, mechanism=dt.Smooth(beta=5))
    with pytest.raises(dt.NotApplicable, match="smooth, worst_case"):
        dt.ask(fitted, [3, 4], epsilon=1.0, mechanism="ladder")
    wrong = dt.Custom(value=lambda x: (1, 2, 3), **facts)
    assert dt.inspect.value(wrong, [3, 4]) == (1, 2)


def test_values_without_bounds():
    """A step and a global sensitivity are enough; answers are not cut."""
    query = dt.Custom(
        name="sum",
        value=sum,
        step=1,
        global_sensitivity=5,
        default=0,
        local_sensitivity=lambda x: 1,
        local_sensitivity_change=1,
    )
    for mechanism in ("worst_case", "smooth"):
        assert isinstance(dt.ask(query, [100, 200], epsilon=1.0, mechanism=mechanism).value, int)
    assert dt.ask(query, [100], epsilon=4.0, delta=1e-2, mechanism="noisy_local").noise == "laplace"


def test_tests_that_no_data_could_pass_are_refused_before_anything_is_charged():
    """Rounding without a declared step, or of a smooth bound, can always move an answer by one step of the grid."""
    exact = {"name": "flag", "value": lambda x: 1, "bounds": (0, 1), "default": 1}
    calm = {"ladder": lambda x, k: 0 if k < 10_000 else 1, "rungs": 1 << 15}
    release = dt.ask(dt.Custom(**exact, **calm, step=1), [1], epsilon=1.0, delta=1e-6, mechanism="stable")
    assert release.value == 1
    for facts in (calm, {"smooth_bound": lambda x, beta: 0, "step": 1}):
        with pytest.raises(dt.InvalidArgument, match="all data of this size would be refused"):
            dt.ask(dt.Custom(**exact, **facts), [1], epsilon=1.0, delta=1e-6, mechanism="stable")
    tested = dt.ask(dt.Custom(**exact, **calm), [1], epsilon=1.0, delta=1e-6, mechanism=dt.ProposeTest(bound=0.01))
    assert not tested.refused


# --- refutations --------------------------------------------------------------------------------------------


def middle(**claims):
    """The lower median of an array."""
    facts = {"bounds": (0, 9), "step": 1, "default": 0} | claims
    return dt.Custom(name="middle", value=lambda x: np.sort(x)[(len(x) - 1) // 2], **facts)


def order_ladder(x, k):
    """The exact ladder of the median (NRS11 Prop. 3.4)."""
    ordered, rank = np.sort(x), (len(x) - 1) // 2

    def at(place):
        return 0 if place < 0 else 9 if place >= len(x) else ordered[place]

    return max(at(rank + t) - at(rank + t - k - 1) for t in range(k + 2))


def test_a_ladder_of_zeros_is_refuted():
    """Exhaustively on few records, by seeded draws on many, and from the data at hand."""
    zeros = middle(ladder=lambda x, k: 0)
    small = dt.inspect.refute(zeros, values=range(10), records=3, failing=())
    large = dt.inspect.refute(zeros, values=range(10), records=200)
    begun = dt.inspect.refute(zeros, np.arange(51) % 10, values=[0, 9])
    for found, exhaustive in ((small, True), (large, False), (begun, False)):
        assert found
        assert found.is_exhaustive is exhaustive
        assert "rung 0 is 0" in found.claim
        assert sum(a is not b and a != b for a, b in zip(found.here, found.there, strict=True)) == 1
        assert "refuted: ladder" in str(found)
    assert dt.inspect.refute(zeros, values=range(10), records=200) == large, "the same seed, the same search"


def test_a_true_ladder_is_not_refuted_and_one_that_forgets_missing_records_is():
    """Sorting puts NaN at the end, so the ladder holds without them and with infinite ones, and fails with them."""
    true = middle(ladder=order_ladder)
    held = dt.inspect.refute(true, values=[0, 3, 9], records=3, failing=())
    assert not held
    assert held.is_exhaustive
    assert held.pairs == 27 * 6
    assert "not refuted" in str(held)
    found = dt.inspect.refute(true, values=[0, 3, 9], records=3)
    assert found
    assert any(math.isnan(one) or math.isinf(one) for one in (*found.here, *found.there))
    assert not dt.inspect.refute(middle(ladder=lambda x, k: 9), values=[0, 3, 9], records=3)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"global_sensitivity": 3}, "global sensitivity"),
        ({"ladder": lambda x, k: Fraction(7, 10) * order_ladder(x, k)}, "ladder"),
        ({"ladder": lambda x, k: order_ladder(x, 0)}, "ladder: rung 0 is"),
        ({"smooth_bound": lambda x, beta: order_ladder(x, 0)}, "e\\^beta"),
        ({"smooth_bound": lambda x, beta: 1}, "smooth bound: one change"),
        ({"levels": dt.LevelFunction(dt.Levels([1, 9]), lambda x: 1)}, "level 1 has"),
        ({"levels": dt.LevelFunction(dt.Levels([3, 6, 9]), lambda x: 3 if x[0] else 1)}, "levels: one change"),
        ({"local_sensitivity": lambda x: 1, "local_sensitivity_change": 0}, "local sensitivity: one change"),
        ({"local_sensitivity": lambda x: order_ladder(x, 0), "local_sensitivity_change": 1}, "change of the local"),
    ],
)
def test_wrong_claims_are_refuted(claims, words):
    """Each with the claim that does not hold; exhaustively and by draws."""
    import re

    small = dt.inspect.refute(middle(**claims), values=[0, 2, 5, 9], records=3, failing=())
    assert re.search(words, small.claim), small.claim
    assert dt.inspect.refute(middle(**claims), values=range(10), records=31, failing=(), tries=20_000)


def test_searches_know_rows_that_come_and_go_and_edges():
    """Add-remove, add-remove-change and graphs; built-in queries too."""
    length = {"name": "length", "value": len, "bounds": (0, 9), "step": 1, "default": 0}
    for relation in ("add-remove", "add-remove-change"):
        right = dt.Custom(**length, global_sensitivity=1, neighbours=relation)
        assert not dt.inspect.refute(right, values=[0, 1], records=3, failing=())
        wrong = dt.Custom(**length, ladder=lambda x, k: 0, neighbours=relation)
        assert dt.inspect.refute(wrong, values=[0, 1], records=3, failing=())
        assert dt.inspect.refute(wrong, values=range(50), records=60, failing=())
        assert dt.inspect.refute(wrong, [1, 2, 3])
    edges = {"name": "edges", "value": lambda g: len(g.edges), "bounds": (0, 99), "step": 1, "default": 0}
    assert not dt.inspect.refute(dt.Custom(**edges, global_sensitivity=1, neighbours="edge"), vertices=4)
    for facts in ({"vertices": 4}, {"vertices": 9}, {"data": dt.Graph([(0, 1)], n=9)}):
        assert dt.inspect.refute(dt.Custom(**edges, ladder=lambda g, k: 0, neighbours="edge"), **facts)
    assert not dt.inspect.refute(dt.KStars(2), vertices=4)
    assert not dt.inspect.refute(dt.Median(bounds=(0, 9), step=1), values=[0, 5, 9], records=3)
    assert not dt.inspect.refute(dt.FiniteSpace(range(5), neighbours="chain", value=lambda k: k * k))
    listed = dt.Custom(name="own", value=lambda x: x, bounds=(0, 9), step=1, default=0, ladder=lambda x, k: 1)
    near = {0: [3], 3: [0]}
    assert dt.inspect.refute(listed, datasets=[0, 3], neighbours=near.get).claim.startswith("ladder")


def test_a_function_that_fails_everywhere_is_noticed():
    """Nothing is refuted where every value is the default: the search says how often the function failed."""
    broken = dt.Custom(name="typo", value=lambda x: x.maen(), bounds=(0, 9), default=0, global_sensitivity=1)
    found = dt.inspect.refute(broken, values=[0, 1], records=2, failing=())
    assert not found
    assert found.failed == found.datasets == 4
    assert "failed on 4 of 4" in str(found)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({}, "values and records"),
        ({"values": [1]}, "values and records"),
        ({"values": [1], "records": 0}, "at least 1"),
        ({"values": [1], "records": 2, "tries": 0}, "tries must be .*; got 0"),
        ({"values": [1], "records": 2, "rungs": 1.5}, "rungs must be .*; got 1.5"),
        ({"vertices": 1}, "at least 2"),
        ({"datasets": [1]}, "a function that lists"),
        ({"datasets": [], "neighbours": len}, "at least one dataset"),
    ],
)
def test_searches_without_a_universe_are_refused(facts, words):
    """Errors name what is accepted."""
    with pytest.raises(dt.InvalidArgument, match=words):
        dt.inspect.refute(middle(), **facts)


def test_searches_of_unknown_relations_ask_for_neighbours():
    """What one change of a person or a weight does is not known here; a query must be one statistic."""
    with pytest.raises(dt.InvalidArgument, match="pass datasets"):
        dt.inspect.refute(middle(neighbours="person"), values=[1], records=2)
    with pytest.raises(dt.InvalidArgument, match="one statistic"):
        dt.inspect.refute("median")


# --- from public facts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": ""}, "a short printable text"),
        ({"name": "two\nlines"}, "a short printable text"),
        ({"value": 5}, "value must be a function of the data"),
        ({"ladder": [3, 2, 1]}, "a function ladder"),
        ({"smooth_bound": 3}, "a function smooth_bound"),
        ({"local_sensitivity": 3, "local_sensitivity_change": 1}, "a function of the data"),
        ({"local_sensitivity": len}, "go together"),
        ({"local_sensitivity_change": 1}, "go together"),
        ({"local_sensitivity": len, "local_sensitivity_change": -1}, "at least 0"),
        ({"ladder": max, "smooth_bound": max}, "not ladder too"),
        ({"levels": [1, 2]}, "LevelFunction"),
        ({"levels": dt.LevelFunction(dt.Levels([1, 2]), len), "step": None}, "declare the step"),
        ({"levels": dt.LevelFunction(dt.Levels([1, 2]), len), "global_sensitivity": 5}, "at least the global one, 5"),
        ({"neighbours": "swap"}, "neighbours must be .*change-one.*; got 'swap'"),
        ({"neighbours": None}, "change-one"),
        ({"norm": "l1"}, "several numbers"),
        ({"norm": "l7", "bounds": [(0, 1), (0, 1)]}, '"l1" or "l2"'),
        ({"bounds": [(0, 1), (0, 1)], "ladder": 3}, "a function ladder"),
        ({"bounds": [(0, 1), (5, 5)]}, "lower < upper"),
        ({"bounds": [(0, 1), (0, 1)], "default": (0, 0, 0)}, "one for each of 2"),
        ({"bounds": [(0, 1), (0, 1)], "default": (0, 3)}, "between 0 and 1"),
        ({"bounds": None, "step": None}, "bounds=\\(low, high\\)"),
        ({"bounds": None}, "global_sensitivity is None"),
        ({"bounds": None, "step": -1, "global_sensitivity": 1}, "a positive number"),
        ({"bounds": None, "step": 1e-9, "global_sensitivity": 1e9}, "2\\*\\*52 steps"),
        ({"bounds": (5, 5)}, "lower < upper"),
        ({"default": 99}, "between 0 and 9"),
        ({"default": None}, "default must be .*; got None"),
        ({"default": math.nan}, "default must be .*; got nan"),
        ({"global_sensitivity": -1}, "at least 0"),
        ({"global_sensitivity": math.inf}, "global_sensitivity must be .*; got inf"),
        ({"rungs": 0}, "from 1 to"),
    ],
)
def test_what_is_wrong_is_said_when_it_is_made(given, words):
    """From public facts alone: nothing was read, nothing was charged."""
    facts = {"name": "odd", "value": len, "bounds": (0, 9), "step": 1, "default": 0} | given
    with pytest.raises(dt.InvalidArgument, match=words) as refused:
        dt.Custom(**facts)
    assert "nothing was read, nothing was charged" in str(refused.value)


def test_levels_that_fall_are_refused():
    """As everywhere."""
    with pytest.raises(dt.InvalidArgument, match="rising order"):
        dt.Levels([3, 1])


def test_the_default_and_the_neighbours_must_be_thought_of():
    """A default has no default; a relation of an enum is as good as its name."""
    with pytest.raises(TypeError, match="default"):
        dt.Custom(name="n", value=len, bounds=(0, 9))
    named = dt.Custom(name="n", value=len, bounds=(0, 9), default=0, neighbours=dt.Neighbours.ADD_REMOVE)
    assert named.neighbours is dt.Neighbours.ADD_REMOVE
    assert named.label == "n"
    assert type(named).name == "custom"
