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
from typing import get_args

import numpy as np
import pytest

import dither as dt
import user_calls
from conftest import missing
from dither import api, typing
from dither.accounting.filters import FILTERS
from dither.mechanisms.choice import NOISES
from dither.mechanisms.norm_noise import VARIATES
from dither.mechanisms.registry import mechanisms
from dither.procedures.sample_aggregate import AGGREGATORS, SAMPLINGS
from dither.queries.registry import dataclass_fields, entries
from dither.sandbox import Sandbox

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
    """What a checker says about a line of a file."""

    file: str
    line: int
    text: str


@pytest.fixture
def written(tmp_path):
    """Both files of a user, and the wrong calls by line."""
    calls = user_calls.wrong_calls()
    first = user_calls.WRONG_HEAD.count("\n") + 1
    (tmp_path / "wrong.py").write_text(
        user_calls.WRONG_HEAD + "".join(f"{one}\n" for one in [*calls, user_calls.PLANTED]), encoding="utf-8"
    )
    (tmp_path / "right.py").write_text(user_calls.right_calls(RIGHT), encoding="utf-8")
    assert len(calls) > 1_500
    return tmp_path, dict(enumerate(calls, first)), first + len(calls)


def judged(complaints, written):
    """Every wrong line has a complaint, the one with three mistakes has three, and no other line has any."""
    folder, wrong, planted = written
    of_wrong = [one.line for one in complaints if one.file == "wrong.py"]
    accepted = [call for line, call in wrong.items() if line not in of_wrong]
    assert not accepted, "accepted:\n" + "\n".join(accepted)
    assert of_wrong.count(planted) == 3
    assert min(of_wrong) >= min(wrong)
    text = (folder / "right.py").read_text(encoding="utf-8").splitlines()
    others = [f"{text[one.line - 1].strip()}\n    {one.text}" for one in complaints if one.file != "wrong.py"]
    assert not others, "complaints about right calls:\n" + "\n".join(others)


def test_mypy_rejects_every_wrong_call_and_no_right_one(written):
    """As strict as it can be; in the documentation's examples functions have no annotations."""
    folder = written[0]
    (folder / "mypy.ini").write_text(
        "[mypy]\nstrict = True\nignore_missing_imports = True\npretty = False\n", encoding="utf-8"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", ROOT / ".mypy_cache" / "users", "wrong.py", "right.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout[-2_000:] + done.stderr[-2_000:]
    found = (re.match(r"([^:]+):(\d+): error: (.*)", line) for line in done.stdout.splitlines())
    judged([Complaint(Path(one[1]).name, int(one[2]), one[3]) for one in found if one], written)


def test_pyright_rejects_every_wrong_call_and_no_right_one(written):
    """By basedpyright, which brings its own node, in pyright's standard mode."""
    if importlib.util.find_spec("basedpyright") is None:
        missing("needs basedpyright (the extra dev)")
    folder = written[0]
    settings = {"typeCheckingMode": "standard", "include": ["wrong.py", "right.py"]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--outputjson", "-p", str(folder)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    said = json.loads(done.stdout)["generalDiagnostics"]
    judged(
        [
            Complaint(Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["message"])
            for one in said
            if one["severity"] == "error"
        ],
        written,
    )


# --- what is written by hand follows the registries ----------------------------------------------------------


def test_names_of_types_are_those_of_the_registries():
    """A mechanism, noise or the like that is entered or renamed has to be in ``dither.typing`` too."""
    assert set(get_args(typing.MechanismName)) == {"auto", *mechanisms()}
    assert set(get_args(typing.NoiseName)) == {"auto", *NOISES}
    assert set(get_args(typing.NeighboursName)) == {str(one) for one in dt.Neighbours}
    assert set(get_args(typing.FilterName)) == set(FILTERS)
    assert set(get_args(typing.AggregatorName)) == {"auto", *AGGREGATORS}
    assert set(get_args(typing.SamplingName)) == set(SAMPLINGS)
    assert set(get_args(typing.NormName)) == set(VARIATES)


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


def declaration(entry):
    """What ``dither.api`` has to say about a function that is made of a query."""
    data = {"column": "Column", "columns": "Columns", "graph": "Graph"}.get(entry.of, "Anything")
    taken = [
        f"{name}: {annotation}" + ("" if default is inspect.Parameter.empty else f" = {default!r}")
        for name, (annotation, default) in made_declaration(entry).items()
    ]
    return f"def {entry.function}(data: {data}, *, {', '.join(taken)}) -> Release[...]: ..."


def test_functions_that_are_made_of_queries_are_declared_as_they_are_made():
    """``dither.api`` tells checkers the parameters of each, in order, with their types and defaults."""
    declared = user_calls.declared_functions()
    made = {one.function: one for one in entries().values() if one.has("function") and one.function not in vars(api)}
    lacking = "\n".join(declaration(one) for name, one in made.items() if name not in declared)
    assert declared.keys() == made.keys(), f"declare in dither.api, under TYPE_CHECKING:\n{lacking}"
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
                    if default is not None:
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
