"""What type checkers say to users: every wrong call is rejected, and nothing is said against a right one."""

import ast
import importlib.util
import inspect
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import get_args, get_overloads

import numpy as np
import pytest

import dither as dt
import user_calls
from conftest import missing, trials
from core.generated import generated, released_types
from dither import api, typing
from dither.accounting.composition import METHODS
from dither.accounting.filters import FILTERS
from dither.mechanisms.choice import NOISES
from dither.mechanisms.norm_noise import VARIATES
from dither.mechanisms.registry import mechanisms
from dither.procedures.drawn_point import POINT_AGGREGATORS
from dither.procedures.metrics import METRICS
from dither.procedures.sample_aggregate import AGGREGATORS, SAMPLINGS
from dither.queries.query import Query
from dither.queries.registry import dataclass_fields, entries
from dither.sandbox import Sandbox

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
RIGHT = '''
import datetime
from decimal import Decimal
from fractions import Fraction
from typing import assert_type, cast

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import dither as dt
from dither.typing import Answered, CountInterval, Interval, Intervals, Number, Numbers, Points

pay = np.arange(100.0)
lists = {"pay": [1.0, 2.0], "job": ["clerk", "nurse"]}
schema = dt.Schema("pay.csv", {"pay": dt.Real(0, 100)})


def columns_of_all_kinds(epsilon: Number) -> None:
    """Arrays, lists and columns of other libraries; numbers of every type."""
    for number in (1, 1.0, Decimal("0.1"), Fraction(1, 10), np.float64(0.1), np.int64(1), epsilon):
        dt.median(pay, bounds=(0, number), epsilon=number, delta=number, confidence=number, step=number, nulls=number)
    dt.median([1, 2.5, None], bounds=[0, 100], epsilon=1)
    dt.median((True, False), bounds=(0.0, Fraction(1, 2)), epsilon=1)
    dt.median(range(10), bounds=(0, 10), epsilon=1, confidence=None, nulls="upper")
    dt.median(np.ma.masked_array([1, 2], [True, False]), bounds=(0, 10), epsilon=1)
    dt.median(pd.Series([1, 2]), bounds=(0, 10), epsilon=1)
    dt.median(pl.Series([1, 2]), bounds=(0, 10), epsilon=1)
    dt.median(pa.array([1, 2]), bounds=(0, 10), epsilon=1)
    dt.covariance(pd.DataFrame({"a": [1], "b": [2]}), bounds=(0, 10), epsilon=1)
    dt.covariance(pl.DataFrame({"a": [1], "b": [2]}), bounds={"a": (0, 1), "b": (0, 2)}, epsilon=1)
    dt.covariance(pa.table({"a": [1], "b": [2]}), bounds=[(0, 1), (0, 2)], epsilon=1)
    dt.covariance({"a": [1], "b": pay}, bounds=(0, 10), epsilon=1)
    dt.covariance([[1, 2], [3, 4]], bounds=(0, 10), epsilon=1)
    dt.histogram(["a", "b"], categories=["a", "b"], epsilon=1)
    dt.histogram(pl.Series(["a"]), categories=("a", "b"), epsilon=1)
    dt.histogram(pay, edges=np.linspace(0, 1, 5), epsilon=1)
    dt.ask(dt.Median("pay", bounds=(0, 1)), lists, epsilon=1)


def mechanisms_by_name_and_as_objects() -> None:
    """Both are taken everywhere."""
    dt.median(pay, bounds=(0, 1), epsilon=1, mechanism="smooth", noise="cauchy")
    dt.median(pay, bounds=(0, 1), epsilon=1, mechanism=dt.Smooth(), noise=dt.Cauchy(gamma=4))


def results() -> None:
    """Checkers know what is released."""
    median = dt.median(pay, bounds=(0, 1), epsilon=1)
    assert_type(median, dt.Release[float, Interval])
    assert_type(median.interval, tuple[float, float] | None)
    half: float = median.value / 2
    if median.value is None:
        print(half, median.reason)
    assert_type(dt.count([True], epsilon=1), dt.Release[int, CountInterval])
    assert_type(dt.quantiles(pay, q=[0.5], bounds=(0, 1), epsilon=1), dt.Release[Numbers, Intervals])
    assert_type(dt.mean(pay, bounds=(0, 1), epsilon=1), dt.Release[float, Interval])
    assert_type(dt.mean({"a": [1], "b": [2]}, bounds=(0, 1), epsilon=1), dt.Release[Numbers, Intervals])
    assert_type(dt.mean(np.ones((2, 2)), bounds=[(0, 1), (0, 1)], epsilon=1), dt.Release[Numbers, Intervals])
    assert_type(dt.mode(["bus", "car"], epsilon=1, delta=1e-6), dt.Release[str, None])
    assert_type(dt.ask(dt.Median(bounds=(0, 1)), pay, epsilon=1), dt.Release[float, Interval])
    assert_type(dt.ask(dt.Quantiles(q=[0.5], bounds=(0, 1)), pay, epsilon=1), dt.Release[Numbers, Intervals])
    points: Points = dt.kmeans([[1, 2]], k=1, bounds=(0, 1), epsilon=1, delta=1e-6).value
    of_any: dt.Release = dt.histogram(pay, edges=[0, 1], epsilon=1)
    print(points, of_any)
    dt.count_from(dt.histogram(pay, edges=[0, 1], epsilon=1), "0 to 1")


def sessions() -> None:
    """Local and remote ones alike; what a session of a graph is asked."""
    session = dt.open(lists, columns={"pay": dt.Real(0, 100)}, budget=dt.Budget(1.0))
    assert_type(session, dt.Session)
    assert_type(dt.open(dt.GraphSchema("friends.txt", 3)), dt.GraphSession)
    assert_type(session.ask(dt.Median("pay"), epsilon=1), dt.Release[float, Interval])
    assert_type(session.ask(dt.Median("pay"), epsilon=1, by="job"), dt.Releases[float, Interval])
    assert_type(session.ask([dt.Median("pay"), dt.Mean("pay")], epsilon=1), dt.Releases[float, Interval])
    for one in session.ask([dt.Median("pay"), dt.Quantiles("pay", q=[0.5])], epsilon=1, weights=[1, 2]):
        print(one.value, one.group, one.interval)
    assert_type(session.quote(dt.Median("pay"), epsilon=1), dt.Quote)
    assert_type(session.quote([dt.Median("pay"), dt.Count()], epsilon=1, weights=[1, 2]), dt.Quotes)
    assert_type(session.quote("SELECT median(pay) FROM data", epsilon=1), dt.Quotes)
    assert_type(dt.quote(dt.Median("pay"), schema, epsilon=1, prior={"pay": dt.Normal(1, 2)}), dt.Quote)
    assert_type(session.least_epsilon(dt.Median("pay"), target_error=10), dt.Quote)
    answer = session.sql("SELECT median(pay) FROM data", epsilon=1, weights={"a": 1})
    assert_type(answer, Answered)
    print(answer.value, [one.value for one in answer], answer.loss, isinstance(answer, dt.Release))
    remote = dt.connect("https://curator.example", token="token")
    assert_type(remote.ask(dt.Median("pay"), epsilon=1, where="age > 3"), dt.Release[float, Interval])
    assert_type(remote.ask(dt.Median("pay"), epsilon=1, by=["job"]), dt.Releases[float, Interval])
    assert_type(remote.ask([dt.Median("pay"), dt.Mean("pay")], epsilon=1), dt.Releases[float, Interval])
    print(remote.quote(dt.Median("pay"), epsilon=1, mechanism="smooth").bound)
    print(remote.quote("SELECT median(pay) FROM data", epsilon=1)[0].bound)
    day = cast(datetime.date, session.ask(dt.Median("hired"), epsilon=1).value)
    graphs = cast(dt.GraphSession, dt.open("friends.toml"))
    assert_type(graphs.ask(dt.Triangles(), epsilon=1), dt.Release[int, CountInterval])
    print(day, session.ask(dt.Median("pay"), epsilon=1, by="job").to_frame().shape)
    dt.median(pay, bounds=(0, 1), epsilon=1).plot().figure.savefig("median.png")
'''


@dataclass(frozen=True)
class Complaint:
    """What a checker says about a place in a file; columns begin with 0."""

    file: str
    line: int
    column: int
    text: str


@dataclass(frozen=True)
class Written:
    """The files of a user: calls with a mistake by line, the same without it, and the documentation's examples."""

    folder: Path
    mistakes: dict[int, user_calls.Mistake]
    planted: int

    @property
    def files(self) -> list[str]:
        """The paths of all files."""
        return [str(self.folder / name) for name in ("wrong.py", "without.py", "right.py")]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The files of a user."""
    folder = tmp_path_factory.mktemp("user")
    mistakes = user_calls.mistakes(every=bool(trials(0, 1)))
    assert len(mistakes) > trials(1_500, 2_500)
    calls = {
        "wrong.py": [*(one.wrong for one in mistakes), user_calls.PLANTED],
        "without.py": dict.fromkeys(one.right for one in mistakes),
    }
    for name, lines in calls.items():
        text = "".join(user_calls.in_functions(list(lines)))
        (folder / name).write_text(user_calls.HEAD + text, encoding="utf-8")
    (folder / "right.py").write_text(user_calls.right_calls(RIGHT), encoding="utf-8")
    places = user_calls.places(len(mistakes) + 1)
    return Written(folder, dict(zip(places, mistakes, strict=False)), places[-1])


def judged(complaints, written):
    """Every mistake has a complaint about it, the call with three has three, and nothing else has any."""
    wrong = [one for one in complaints if one.file == "wrong.py"]
    lines = [one.line for one in wrong]
    found = [f"accepted: {each.wrong}" for line, each in written.mistakes.items() if line not in lines]
    for one in wrong:
        if one.line not in written.mistakes:
            found += [] if one.line == written.planted else [f"in line {one.line}: {one.text}"]
        elif not is_about(one, written.mistakes[one.line]):
            found.append(f"something else, of {written.mistakes[one.line].wrong}: {one.column} {one.text}")
    text = {Path(file).name: Path(file).read_text(encoding="utf-8").splitlines() for file in written.files}
    for one in complaints:
        if one.file != "wrong.py":
            call = text[one.file][one.line - 1].strip() if one.file in text else one.line
            found.append(f"a right call of {one.file}: {call}: {one.text}")
    assert not found, "\n".join(found)
    assert lines.count(written.planted) == 3


def is_about(complaint, mistake):
    """It points at the argument or names it, or the call has overloads of which none fits."""
    start, end = (user_calls.INDENT + one for one in (mistake.start, mistake.end))
    named = f'"{mistake.argument}"' in complaint.text
    return start <= complaint.column < end or named or mistake.has_overloads or "No overload" in complaint.text


def test_mypy_rejects_every_mistake_and_no_right_call(written):
    """By the settings of this tree, which are strict, and so with what it remembers of the packages there."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--show-column-numbers", "--hide-error-context", *written.files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout[-2_000:] + done.stderr[-2_000:]
    found = [re.match(r"(.+?):(\d+):(\d+): error: (.*)", line) for line in done.stdout.splitlines()]
    judged([Complaint(Path(one[1]).name, int(one[2]), int(one[3]) - 1, one[4]) for one in found if one], written)


def test_pyright_rejects_every_mistake_and_no_right_call(written):
    """By basedpyright, which brings its own node, in pyright's standard mode."""
    if importlib.util.find_spec("basedpyright") is None:
        missing("needs basedpyright (the extra dev)")
    settings = {"typeCheckingMode": "standard", "include": [Path(one).name for one in written.files]}
    (written.folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    words = ["--pythonpath", sys.executable, "--outputjson", "-p", str(written.folder)]
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", *words],
        cwd=written.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    said = [one for one in json.loads(done.stdout)["generalDiagnostics"] if one["severity"] == "error"]
    starts = [one["range"]["start"] for one in said]
    judged(
        [
            Complaint(Path(one["file"]).name, start["line"] + 1, start["character"], one["message"])
            for one, start in zip(said, starts, strict=True)
        ],
        written,
    )


# --- what make api writes -------------------------------------------------------------------------------------


def test_what_make_api_writes_is_as_the_registries_have_it():
    """Functions that are made of queries and names of mechanisms: after a change `make api` writes both anew."""
    for path, text in generated().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is not as the registries have it: run make api"


def test_a_query_that_does_not_say_what_it_releases_is_named():
    """The types of an answer are read off the bases of its class."""
    assert released_types(dt.Std)[:2] == ("float", "Interval")
    with pytest.raises(LookupError, match=r"Query does not say what it releases"):
        released_types(Query)


def test_complaints_about_something_else_are_noticed(written):
    """Elsewhere on the line, about another argument; at the argument, or by its name, is right."""
    mistake = user_calls.Mistake("dt.f(a, b=1)", "dt.f(a)", "b", 8, 11)
    place = user_calls.INDENT
    assert is_about(Complaint("wrong.py", 1, place + 10, "int is no text"), mistake)
    assert is_about(Complaint("wrong.py", 1, place, 'Argument "b" is no text'), mistake)
    assert not is_about(Complaint("wrong.py", 1, place + 5, 'Argument 1 to "f" is no text'), mistake)
    text = Path(written.files[0]).read_text(encoding="utf-8").splitlines()
    for line, one in written.mistakes.items():
        assert text[line - 1][user_calls.INDENT :] == one.wrong


def test_public_names_without_wrong_calls_are_few():
    """Each has its reason, and is a public name; calls with overloads have an entry for each of them."""
    named = dict(user_calls.public_names())
    assert user_calls.UNCHECKED.keys() <= named.keys()
    assert len(user_calls.UNCHECKED) <= 5
    assert {"dt.belief", "dt.compose", "dt.Real", "dt.Graph", "dt.Normal", "dt.Budget", "dt.inspect.refute"} <= set(
        named
    )
    targets = {one.wrong.partition("(")[0] for one in user_calls.mistakes()}
    assert named.keys() - user_calls.UNCHECKED.keys() <= targets
    for target, (called, forms) in user_calls.FORMS.items():
        assert len(get_overloads(inspect.unwrap(called))) == len(forms), target


# --- what is written by hand follows the registries ----------------------------------------------------------


ACCEPTED = {
    "NoiseName": {"auto", *NOISES},
    "NeighboursName": {str(one) for one in dt.Neighbours},
    "FilterName": set(FILTERS),
    "CountingName": {*FILTERS, "fixed"},
    "CompositionName": set(METHODS),
    "AggregatorName": {"auto", *AGGREGATORS},
    "PointAggregatorName": {"auto", *POINT_AGGREGATORS},
    "SamplingName": set(SAMPLINGS),
    "NormName": set(VARIATES),
    "MetricChoice": set(METRICS),
    "ConstantsName": {"exact", "paper"},
    "Nulls": {"lower", "upper", "drop"},
    "ErrorName": {"expected_error", "bound", "typical_error"},
}
"""The names that each type of ``dither.typing`` may have; those that no registry lists are asked for below."""
ASKED = {
    "CountingName": lambda name: dt.queries_within(dt.Loss(0.1), dt.Budget(1.0, 1e-6), filter=name),
    "ConstantsName": lambda name: dt.inspect.admissible("cauchy", epsilon=1.0, constants=name),
    "Nulls": lambda name: dt.median([1.0, None], bounds=(0, 2), epsilon=1.0, nulls=name),
}
"""A call that takes such a name."""


def named_types():
    """The names in every alias of ``dither.typing``, those in quotes included."""
    tree = ast.parse(Path(inspect.getfile(typing)).read_text(encoding="utf-8"))
    for node in (one for one in tree.body if isinstance(one, ast.AnnAssign)):
        quoted = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        value = ast.parse(node.value.value, mode="eval") if quoted else node.value
        for inner in ast.walk(value):
            if isinstance(inner, ast.Subscript) and ast.unparse(inner.value) == "Literal":
                listed = inner.slice.elts if isinstance(inner.slice, ast.Tuple) else [inner.slice]
                yield node.target.id, {one.value for one in listed}


def test_names_of_types_are_those_of_the_registries():
    """A noise or the like that is entered or renamed has to be in ``dither.typing`` too; `make api` adds mechanisms."""
    assert dict(named_types()) == ACCEPTED
    assert get_args(typing.NoiseName)[0] == "auto"  # (what is read above is what checkers see)
    assert set(get_args(typing.MechanismName)) == {"auto", *mechanisms()}, "run make api"


@pytest.mark.parametrize("alias", ASKED)
def test_names_that_no_registry_lists_are_accepted(alias):
    """Each of them, and no other."""
    for name in ACCEPTED[alias]:
        ASKED[alias](name)
    with pytest.raises(dt.InvalidArgument):
        ASKED[alias]("nonsense")


def test_options_by_name_are_those_of_the_calls():
    """Typed mappings of options have the parameters of the functions that take them."""
    asked = inspect.signature(dt.ask).parameters
    assert set(typing.AskOptions.__annotations__) == set(asked) - {"query", "data"}
    quoted = inspect.signature(dt.quote).parameters
    assert set(typing.QuoteOptions.__annotations__) == set(quoted) - {"query", "schema", "weights"}
    assert set(typing.SandboxSettings.__annotations__) == set(inspect.signature(Sandbox).parameters) - {
        "program",
        "output",
    }
    session = set(inspect.signature(dt.Session.ask).parameters) - {"self", "query", "by", "analyst"}
    assert set(typing.RemoteSeveralOptions.__annotations__) == session | {"dataset"}


def made_declaration(entry):
    """The parameters of the function that is made of a query: name, annotation and default."""
    own = [one for one in dataclass_fields(entry.query) if one.init and one.name not in ("column", "columns")]
    signature = inspect.signature(getattr(api, entry.function)).parameters
    asked = {name: str(one.annotation) for name, one in signature.items()} | {one.name: str(one.type) for one in own}
    renamed = {"FunctionOfData": "OwnFunction", "AnyNumber": "Number"}
    return {
        name: (re.sub(r"\w+", lambda word: renamed.get(word[0], word[0]), asked[name]), one.default)
        for name, one in signature.items()
        if name != "data"
    }


def test_functions_that_are_made_of_queries_are_declared_as_they_are_made():
    """Checkers are told the parameters of each, in order, with their types and defaults (in stubs, simple ones)."""
    declared = user_calls.declared_functions()
    made = {one.function: one for one in entries().values() if one.has("function") and one.function not in vars(api)}
    assert declared.keys() == made.keys(), "run make api"
    for name, entry in made.items():
        expected = made_declaration(entry)
        for one in declared[name]:
            if one.args.kwarg is not None:
                continue  # the implementation of overloads
            found = {arg.arg: ast.unparse(arg.annotation) for arg in one.args.kwonlyargs}
            assert list(found) == list(expected), name
            for arg, default in zip(one.args.kwonlyargs, one.args.kw_defaults, strict=True):
                annotation, wanted = expected[arg.arg]
                if arg.arg != "part":  # overloads
                    assert found[arg.arg] == annotation, (name, arg.arg)
                    assert (default is None) == (wanted is inspect.Parameter.empty), (name, arg.arg)
                    if default is not None and ast.unparse(default) != "...":
                        assert eval(ast.unparse(default), vars(dt) | {"Fraction": Fraction}) == wanted  # noqa: S307


def test_what_is_released_is_of_the_declared_type():
    """Whole numbers where the type says so, tuples of them, and intervals alike."""
    pay, table = np.linspace(0, 100, 2_001), np.linspace(0, 100, 4_002).reshape(-1, 2)
    graph = dt.Graph([(a, b) for a in range(12) for b in range(a)], n=12)
    bounded = {"bounds": (0, 100), "epsilon": 5.0}
    one = [dt.median(pay, **bounded), dt.sum(pay, **bounded), dt.std(pay, **bounded), dt.correlation(table, **bounded)]
    for release in one:
        assert isinstance(release.value, float)
        assert len(release.interval) == 2
    for release in (dt.count(pay > 5, epsilon=5.0), dt.edges(graph, epsilon=5.0), dt.min_cut(graph, epsilon=5.0)):
        assert type(release.value) is int
        assert all(type(end) is int for end in release.interval)
    bins = dt.histogram(pay, edges=[0, 50, 100], epsilon=5.0)
    for release in (bins, dt.counting_queries(pay, family="points", edges=[0, 50, 100], epsilon=5.0)):
        assert all(type(count) is int for count in release.value)
        assert all(type(end) is int for bar in release.interval for end in bar)
    assert type(dt.count_from(bins, ["0 to 50"]).value) is int
    several = dt.quantiles(pay, q=[0.25, 0.5], **bounded), dt.covariance(table, **bounded)
    for release in (*several, dt.least_squares(table, **bounded)):
        assert all(isinstance(number, float) for number in release.value)
        assert all(len(bar) == 2 for bar in release.interval)


def test_types_can_be_written_at_run_time():
    """Annotations that are evaluated, also with the interval left out."""
    assert dt.Release[float].__origin__ is dt.Release
    assert dt.Releases[float, typing.Interval].__origin__ is dt.Releases
    assert isinstance(dt.count([True], epsilon=1.0), dt.Release)
    assert dt.Median.__mro__.index(dt.OrderStatistic) > 0
