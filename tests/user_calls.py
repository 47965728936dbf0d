"""Files of users: the calls that ask, each with one argument of a wrong type, and the documentation's examples.

The wrong calls follow from the registry and from signatures, so a new query, parameter or option is in them at once.
"""

import ast
import builtins
import doctest
import enum
import importlib
import inspect
import math
import textwrap
import typing
from collections.abc import Callable, Collection, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import examples
from statistic_list import ENTRIES

import dither as dt
from dither.interfaces.client import RemoteSession
from dither.queries.registry import QueryEntry, entries

HEAD = """\
import typing
from decimal import Decimal
from fractions import Fraction

import numpy as np

import dither as dt
from dither.typing import Numbers


class Nonsense: ...


pay = np.arange(100.0)
rows = np.ones((100, 2))
graph = dt.Graph([(0, 1), (1, 2)], n=3)
schema = dt.Schema("pay.csv", {"pay": dt.Real(0, 100)})
friends = dt.GraphSchema("friends.txt", 3)
space = dt.MetricSpace.of(range(5), lambda p, q: abs(p - q))
counts = dt.histogram(["a", "b"], categories=["a", "b"], epsilon=1.0)
session = dt.open(schema)
graphs = dt.open(friends)
remote = dt.connect("https://curator.example", token="token")


def own(data: typing.Any) -> float:
    return 1.0


def level(data: list[int]) -> int:
    return len(data)


def distance(one: typing.Any, other: typing.Any) -> float:
    return 1.0


def neighbours(data: list[int]) -> list[list[int]]:
    return [data[1:]]


texts = ["bus", "car"]
program = dt.Program(own, bounds=(0, 1))
finite = dt.FiniteSpace(range(3), value=own, neighbours="chain")
"""
INDENT = 4
CALLS = 50
"""Calls in one function: checkers take longer for a module of thousands of statements."""


def in_functions(lines: list[str]) -> Iterator[str]:
    """Calls, a line each, some of them in each of several functions."""
    for begun in range(0, len(lines), CALLS):
        yield f"def calls_{begun}() -> None:\n"
        yield from (f"{' ' * INDENT}{line}\n" for line in lines[begun : begun + CALLS])


def places(count: int) -> list[int]:
    """The lines in which the calls stand."""
    first = HEAD.count("\n") + 2
    return [first + place + place // CALLS for place in range(count)]


DATA = {
    "column": "pay",
    "columns": "rows",
    "table": "rows",
    "graph": "graph",
    "weighted graph": "graph",
    "chain": "3",
    "finite space": "3",
    "anything": "pay",
}
"""What a query of each source type is asked of."""
GIVEN = {
    "layout": "dt.TextLayout()",
    "source": '"pay.csv"',
    "links": '{"customer": "customers"}',
    "tables": '{"customers": dt.LinkedTable("customers.csv", key="number")}',
    "q": "0.5",
    "p": "0.5",
    "degrees": "[1, 1, 2]",
    "k": "2",
    "radius": "1",
    "levels": "[dt.Proposal(value=own, bound=1.0, ladder=own)]",
    "projection": "own",
    "projection_change": "1",
    "restricted_sensitivity": "1",
    "bounds": "(0, 100)",
    "epsilon": "1.0",
    "delta": "1e-6",
    "X": "rows",
    "y": "pay",
    "centres": "[(0.5, 0.5)]",
    "program": "own",
    "distance": "own",
    "value": "own",
    "space": "space",
    "sensitivity": "1",
    "reads": "0.1",
    "within": "0.1",
    "chance": "0.9",
    "name": '"own"',
    "default": "0",
    "values": "[1, 2, 3]",
    "datasets": "range(3)",
    "neighbours": '"chain"',
    "target_error": "10",
    "columns": '{"pay": dt.Real(0, 100)}',
    "release": "counts",
    "of": '["a"]',
    "url": '"https://curator.example"',
    "token": '"token"',
    "text": '"SELECT median(pay) FROM data"',
    "query": 'dt.Median("pay")',
    "schema": "schema",
    "by": '"job"',
    "loss": "dt.Loss(0.1)",
    "losses": "[dt.Loss(0.1)]",
    "event": "dt.to_dp_event([dt.Loss(0.1)])",
    "asked": "dt.Loss(0.1)",
    "left": "dt.Loss(0.1)",
    "budget": "dt.Budget(1.0)",
    "before": "0.5",
    "beta": "0.1",
    "bound": "1.0",
    "data": "pay",
    "dataset": '"pay"',
    "edges": "[(0, 1)]",
    "vertices": "3",
    "n": "3",
    "first": '"2024-01-01"',
    "last": '"2024-12-31"',
    "items": '["a", "b"]',
    "function": "distance",
    "low": "0",
    "high": "1",
    "lower": "0",
    "upper": "100",
    "mean": "1",
    "median": "1",
    "sd": "1",
    "sigma": "1",
    "sensitivities": "[1, 2]",
    "session": "session",
    "quotes": "[]",
    "argument": '"bounds"',
    "given": "3",
    "accepted": '"a pair"',
    "applicable": '"smooth"',
    "reason": '"no ladder"',
    "kind": '"upper bound"',
    "expected_error": "1.0",
    "interval": "(0.0, 1.0)",
    "weights": "[1, 2]",
    "where": '"pay > 3"',
    "prior": "dt.Normal(1, 2)",
    "rows": "100",
    "mechanism": '"worst_case"',
    "noise": '"laplace"',
    "confidence": "0.9",
    "request_id": '"one"',
    "again": "True",
    "slot": "1.0",
    "lead": "1.0",
    "cores": "1",
    "preload": '["numpy"]',
    "example": "rows",
    "memory_mib": "512",
    "scratch_mib": "64",
    "processes": "8",
    "visible": '["data"]',
    "files": "True",
    "settings": "{}",
    "alternatives": "{}",
    "priors": "{}",
    "engine": '"duckdb"',
    "unit": '"person"',
    "filter": '"advanced"',
}
"""A right argument for every parameter without a default, and for others whose default is None."""
ANYTHING = {
    *("Anything", "Hashable", "D", "Data", "Given", "Foreign", "Any", "object"),
    *("V_co", "B_co", "MaybeNone", "Figure"),
}
"""Annotations that any value fits."""
TEXTS = {
    *("str", "Names", "ColumnChoice", "Filter", "ExecutorChoice", "ProgramChoice", "BinChoice", "LedgerPlace"),
    *("Day", "Nulls", "Sequence", "Iterable", "ArrayLike", "Counted"),
}
"""Annotations that a text fits, if only because it is a sequence."""
FRACTIONS = {"Number", "float", "Amount", "Nulls", "ArrayLike", "Counted"}
"""Annotations that 3.5 fits."""


def declared_functions(*modules: str) -> dict[str, list[ast.FunctionDef]]:
    """What type checkers are told about the functions that are made of queries, overloads included.

    By hand in ``dither.api``, and by ``make api`` in ``dither.made``.
    """
    api = Path(inspect.getfile(importlib.import_module("dither.api")))
    trees = {
        name: ast.parse(path.read_text(encoding="utf-8"))
        for name, path in (("dither.api", api), ("dither.made", api.with_name("made.pyi")))
        if name in (modules or ("dither.api", "dither.made")) and path.exists()
    }
    bodies = [
        node.body
        for node in (trees["dither.api"].body if "dither.api" in trees else [])
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    bodies += [tree.body for name, tree in trees.items() if name != "dither.api"]
    found: dict[str, list[ast.FunctionDef]] = {}
    for node in (one for body in bodies for one in body if isinstance(one, ast.FunctionDef)):
        found.setdefault(node.name, []).append(node)
    return found


DECLARED = {
    name: {
        one.arg: ast.unparse(one.annotation) for one in (*each[0].args.args, *each[0].args.kwonlyargs) if one.annotation
    }
    for name, each in declared_functions().items()
}


class Taken(typing.NamedTuple):
    """A parameter of a call: its name, its annotation, whether it goes by place, and its default.

    The default is "" where it is needed, and "..." where it cannot be told.
    """

    name: str
    annotation: str
    by_place: bool
    default: str


class Mistake(typing.NamedTuple):
    """A call with one mistake, the same call without it, and the argument with the columns where it stands.

    Of a call with overloads checkers may say which of its other arguments fits none that takes this one.
    """

    wrong: str
    right: str
    argument: str
    start: int
    end: int
    has_overloads: bool = False
    annotation: str = ""
    """Of the parameter, where the value is one that people might write."""


def taken(called: Callable[..., object], form: int | None = None) -> list[Taken]:
    """The parameters of a call, or of one of its overloads; annotations are those of all overloads together.

    Without a ``form`` they are those of any overload, and needed where all of them need them.
    """
    overloads = [_taken(one) for one in typing.get_overloads(inspect.unwrap(called)) or [called]]
    found: dict[str, Taken] = {}
    for one in (each for overload in overloads for each in overload):
        alike = [each for overload in overloads for each in overload if each.name == one.name]
        annotations = dict.fromkeys(each.annotation for each in alike)
        default = next((each.default for each in alike if each.default), "" if len(alike) == len(overloads) else "...")
        found[one.name] = one._replace(annotation=" | ".join(annotations), default=default)
    if form is None:
        return list(found.values())
    return [one._replace(annotation=found[one.name].annotation) for one in overloads[form]]


def _taken(called: Callable[..., object]) -> list[Taken]:
    found = []
    declared = DECLARED.get(getattr(called, "__name__", ""), {})
    for one in inspect.signature(called).parameters.values():
        if one.kind is one.VAR_KEYWORD:
            mapping = getattr(dt.typing, str(one.annotation).removeprefix("Unpack[").removesuffix("]"))
            for name, wanted in mapping.__annotations__.items():  # (with those that it inherits)
                text = wanted.__forward_arg__
                needed = text.startswith("Required[")
                annotation = text[len("Required[") : -1] if needed else text
                found.append(Taken(name, annotation, by_place=False, default="" if needed else "..."))
        elif one.name not in ("self", "cls"):
            default = "" if one.default is one.empty else written_default(one.default)
            place = not default and one.kind is one.POSITIONAL_OR_KEYWORD
            found.append(Taken(one.name, declared.get(one.name, str(one.annotation)), place, default))
    return found


def written_default(value: object) -> str:
    """A default as people would write it in a call."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, enum.Enum):
        return f"dt.{type(value).__name__}.{value.name}"
    if isinstance(value, tuple):
        return f"({''.join(f'{written_default(one)}, ' for one in value)})"
    return repr(value) if isinstance(value, (str, int, float, Fraction, Decimal, type(None))) else "..."


def right_argument(one: Taken, right: dict[str, str]) -> str:
    """A right argument: that of the call, the default, or that of the table."""
    table = GIVEN | {"interval": '"population"'} if one.annotation == "IntervalName" else GIVEN
    return right.get(one.name) or (table[one.name] if one.default in ("", "...") else one.default)


def call(target: str, arguments: dict[str, str], by_place: Collection[str], marked: str) -> tuple[str, int, int]:
    """A call as text, with the columns of one of its arguments, or of all where it is not among them."""
    text, columns = f"{target}(", (0, 0)
    for name, value in arguments.items():
        text += ", " if text[-1] != "(" else ""
        begun = len(text)
        text += value if name in by_place else f"{name}={value}"
        columns = (begun, len(text)) if name == marked else columns
    text += ")"
    return text, *(columns if columns[1] else (0, len(text)))


def mistyped(annotation: str) -> list[str]:
    """Values that do not fit: one of a class of nobody's, and one that people might write."""
    members = _members(ast.parse(annotation, mode="eval").body)
    names = {ast.unparse(one.value if isinstance(one, ast.Subscript) else one) for one in members}
    if names & ANYTHING:
        return []
    if not names & TEXTS:
        return ["Nonsense()", '"nonsense"']
    return ["Nonsense()"] if names & FRACTIONS else ["Nonsense()", "3.5"]


def _members(annotation: ast.expr) -> Iterator[ast.expr]:
    match annotation:
        case ast.BinOp(left=left, right=right):
            yield from _members(left)
            yield from _members(right)
        case ast.Constant(value=str(text)):
            yield from _members(ast.parse(text, mode="eval").body)
        case ast.Subscript(value=ast.Name(id="InitVar"), slice=inner):
            yield from _members(inner)
        case _:
            yield annotation


def mistakes_of(
    target: str,
    called: Callable[..., object],
    right: dict[str, str],
    form: int | None = None,
    foreign: Collection[str] = (),
) -> Iterator[Mistake]:
    """Every parameter mistyped; one that is needed left out; one that does not exist, or only in other overloads."""
    parameters = taken(called, form)
    needed = {one.name: right_argument(one, right) for one in parameters if not one.default or one.name in right}
    by_place = [one.name for one in parameters if one.by_place]
    known = {one.name: one for one in taken(called)}
    overloads = form is not None

    def written(arguments: dict[str, str], name: str) -> tuple[str, int, int]:
        return call(target, arguments, by_place if name in arguments else (), name)

    base = call(target, needed, by_place, "")[0]
    for name in ("no_such_option", *foreign):
        wrong, start, end = written(needed | {name: GIVEN[name] if name in known else "1"}, name)
        yield Mistake(wrong, base, name, start, end, overloads)
    for one in parameters:
        accepted = written(needed | {one.name: right_argument(one, right)}, one.name)[0]
        for value in mistyped(one.annotation):
            wrong, start, end = written(needed | {one.name: value}, one.name)
            plausible = "" if value == "Nonsense()" else one.annotation
            yield Mistake(wrong, accepted, one.name, start, end, overloads, plausible)
        if not known[one.name].default:
            wrong, start, end = written({name: value for name, value in needed.items() if name != one.name}, one.name)
            yield Mistake(wrong, accepted, one.name, start, end, overloads)


def right_fields(entry: QueryEntry) -> dict[str, str]:
    """Arguments for the fields of a query that differ from the table."""
    return (
        {"q": "[0.5]"}
        if entry.name == "quantiles"
        else {"value": "own", "neighbours": '"chain"'}
        if entry.name == "finite_space"
        else {}
    )


SEVERAL = '[dt.Median("pay"), dt.Mean("pay")]'
MIXED = '[dt.Median("pay"), dt.Quantiles("pay", q=[0.5])]'
LISTED = '"median(pay), count(*)"'
STATEMENT = '"SELECT median(pay) FROM data"'
OF_GRAPHS = {"prior": "dt.ErdosRenyi(0.5)"}
FORMS: dict[str, tuple[Callable[..., object], list[tuple[dict[str, str], Collection[str]]]]] = {
    "dt.quote": (
        dt.quote,
        [
            ({"query": "dt.Triangles()", **OF_GRAPHS, "schema": "friends"}, ["weights", "where", "by", "rows"]),
            ({"query": STATEMENT, **OF_GRAPHS, "schema": "friends"}, ["where", "by", "rows"]),
            ({}, ["weights"]),
            ({"query": SEVERAL}, []),
            ({"query": STATEMENT}, ["where", "by"]),
        ],
    ),
    "dt.open": (
        dt.open,
        [
            ({"source": "friends"}, ["columns", "rows", "engine"]),
            ({"source": "schema"}, ["columns", "unit", "filter"]),
            ({"source": '"pay.toml"'}, []),
            ({"source": '{"pay": [1, 2]}'}, []),
        ],
    ),
    "session.ask": (
        dt.Session.ask,
        [
            ({}, ["weights"]),
            ({"by": '"job"'}, ["weights"]),
            ({"query": SEVERAL}, []),
            ({"query": MIXED}, []),
            ({"query": LISTED}, []),
        ],
    ),
    "session.quote": (
        dt.Session.quote,
        [({}, ["weights"]), ({"query": SEVERAL}, []), ({"query": STATEMENT}, ["where", "by"])],
    ),
    "graphs.quote": (
        dt.GraphSession.quote,
        [({"query": "dt.Triangles()", **OF_GRAPHS}, ["weights"]), ({"query": STATEMENT, **OF_GRAPHS}, [])],
    ),
    "remote.ask": (
        RemoteSession.ask,
        [
            ({}, ["weights"]),
            ({"by": '"job"'}, ["weights"]),
            ({"query": SEVERAL}, []),
            ({"query": MIXED}, []),
            ({"query": LISTED}, []),
        ],
    ),
    "remote.quote": (
        RemoteSession.quote,
        [({}, ["weights"]), ({"query": SEVERAL}, []), ({"query": STATEMENT}, ["where", "by"])],
    ),
    "dt.inspect.value": (dt.inspect.value, [({}, []), ({"data": "session"}, [])]),
    "dt.inspect.ladder": (dt.inspect.ladder, [({}, []), ({"data": "session"}, [])]),
}
"""Calls with overloads: for each of these right arguments, and parameters that only others of them have."""
METHODS: dict[str, tuple[Callable[..., object], dict[str, str]]] = {
    "session.sql": (dt.Session.sql, {}),
    "session.plan": (dt.Session.plan, {}),
    "session.least_epsilon": (dt.Session.least_epsilon, {"of": '"bound"'}),
    "graphs.ask": (dt.GraphSession.ask, {"query": "dt.Triangles()"}),
    "graphs.sql": (dt.GraphSession.sql, {}),
    "graphs.plan": (dt.GraphSession.plan, {"query": "dt.Triangles()"}),
    "remote.sql": (RemoteSession.sql, {}),
    "remote.budget_of": (RemoteSession.budget_of, {"dataset": '"pay"'}),
    "remote.history_of": (RemoteSession.history_of, {"dataset": '"pay"'}),
}
"""Methods of sessions."""
OF_THEIR_OWN: dict[str, dict[str, str]] = {
    "dt.describe": {"data": '{"pay": pay}'},
    "dt.ask": {"query": "dt.Median(bounds=(0, 1))", "data": "pay"},
    "dt.least_epsilon": {"of": '"bound"'},
    "dt.randomized_response": {"data": '["a", "b"]', "categories": '["a", "b"]'},
    "dt.flip_bits": {"value": "[True, False]"},
    "dt.inspect.descent": {"levels": "dt.Levels([1, 2])", "at": "2"},
    "dt.LevelFunction": {"levels": "dt.Levels([1, 2])", "level": "level"},
    "dt.LargestLocal": {"levels": "dt.LevelFunction(dt.Levels([1, 2]), level)"},
    "dt.MetricSpace": {"points": "(1, 2)", "steps": "np.zeros((2, 2), dtype=np.int64)", "unit": "Fraction(1)"},
    "dt.Release": {
        "value": "1.0",
        "mechanism": '"smooth"',
        "noise": '"laplace"',
        "query": '"median"',
        "neighbours": "dt.Neighbours.CHANGE_ONE",
        "confidence": "0.95",
        "labels": '("a",)',
        "group": '{"job": "clerk"}',
    },
    "dt.Releases": {"releases": "[counts]"},
    "dt.Quote": {
        "bound": "1.0",
        "mechanism": '"smooth"',
        "noise": '"laplace"',
        "query": '"median"',
        "confidence": "0.95",
        "prior": '"normal"',
        "labels": '("a",)',
    },
    "dt.Category": {"values": '["a", "b"]'},
    "dt.Date": {"nulls": '"2024-01-01"'},
    "dt.Graph": {"weights": "[1.0, 2.0]"},
    "dt.GraphSession": {"schema": "friends"},
    "dt.GraphSchema": {"source": '"friends.txt"'},
    "dt.Schema": {"source": '"pay.csv"', "unit": '"job"'},
    "dt.restricted": {"norm": '"l1"'},
    "dt.inspect.rows": {"columns": '["pay"]'},
    "dt.inspect.blocks": {"query": "program", "data": "rows"},
    "dt.inspect.cells": {"query": "dt.Regression()", "data": "(rows, pay)", "sides": "[1, 1, 1]"},
    "dt.inspect.separation": {"bounds": "[(0.0, 1.0), (0.0, 1.0)]", "points": "rows"},
    "dt.inspect.unfit_pairs": {"mechanism": '{"x": (3, 2.0)}', "neighbours": '[("x", "x")]'},
    "dt.inspect.admissible": {"noise": '"laplace"'},
    "dt.inspect.largest_lambdas": {"space": "finite"},
    "dt.inspect.refute": {"neighbours": "neighbours", "datasets": "[[1], [2]]", "data": "[1]"},
}
"""Arguments of public functions and classes that differ from the table."""
UNCHECKED = {
    "dt.Neighbours": "an enumeration: checkers let its call take any value",
    "dt.DitherError": "an exception: it takes what exceptions take",
    "dt.InvalidData": "an exception",
    "dt.NotProved": "an exception",
    "dt.SourceFailed": "an exception",
}
"""Public names of which no wrong call can be made, and why."""


def public_names() -> Iterator[tuple[str, Callable[..., object]]]:
    """What ``__init__.pyi`` lists besides queries and their functions: functions and classes, those of its modules."""
    registered = {name for one in entries().values() for name in (one.query.__name__, one.function)}
    stub = ast.parse(Path(inspect.getfile(dt)).with_suffix(".pyi").read_text(encoding="utf-8"))
    for node in (one for one in stub.body if isinstance(one, ast.ImportFrom)):
        for name in (alias.name for alias in node.names if alias.name not in registered):
            value = getattr(dt, name)
            if name == "inspect":
                for inner, function in vars(value).items():
                    if inspect.isfunction(function) and not inner.startswith("_") and _lives_in(function, value):
                        yield f"dt.inspect.{inner}", function
            elif callable(value):
                yield f"dt.{name}", value


def _lives_in(function: Callable[..., object], module: ModuleType) -> bool:
    return function.__module__ == module.__name__


def mistakes(*, every: bool = True) -> list[Mistake]:
    """Every call with a mistake.

    Not ``every``: each parameter of each call is mistyped once, by an object of a class of nobody's, and by what people
    might write where its annotation is met for the first time.
    """
    found: list[Mistake] = []
    for entry in entries().values():
        fields = right_fields(entry)
        found += mistakes_of(f"dt.{entry.query.__name__}", entry.query, fields)
        if entry.has("function"):
            function = getattr(dt, entry.function)
            data = next(iter(inspect.signature(function).parameters))
            given = {**fields, data: DATA[entry.of]} if data != "X" else fields
            found += mistakes_of(f"dt.{entry.function}", function, given)
    for target, called in public_names():
        if target not in FORMS and target not in UNCHECKED:
            found += mistakes_of(target, called, OF_THEIR_OWN.get(target, {}))
    for target, (called, forms) in FORMS.items():
        for form, (right, foreign) in enumerate(forms):
            found += mistakes_of(target, called, right, form, foreign)
    for target, (called, right) in METHODS.items():
        found += mistakes_of(target, called, right)
    found += [changed(right, old, new) for right, change in MISTAKES for old, new in change.items()]
    found = list({one.wrong: one for one in found}.values())
    if every:
        return found
    first = {one.annotation: one for one in reversed(found) if one.annotation}
    return [one for one in found if not one.annotation or first[one.annotation] is one]


def changed(right: str, old: str, new: str) -> Mistake:
    """A right call in which something else stands in one place."""
    assert right.count(old) == 1, (right, old)
    return Mistake(right.replace(old, new), right, "", 0, len(right) - len(old) + len(new))


MISTAKES = [
    ("dt.ask(dt.Median(bounds=(0, 1)), pay, epsilon=1.0)", {"pay": '"not an array"'}),
    ("dt.ask(dt.Median(bounds=(0, 1)), pay, epsilon=1.0)", {"pay": "graph"}),
    ("dt.ask(dt.Triangles(), graph, epsilon=1.0)", {"graph": "pay"}),
    (
        "dt.ask(dt.Median(bounds=(0, 1)), pay, epsilon=1.0, mechanism=dt.Smooth())",
        {"mechanism=dt.Smooth()": "calibration=dt.Smooth()"},
    ),
    ('dt.median(pay, bounds=(0, 1), epsilon=1.0, mechanism="smooth")', {'mechanism="smooth"': 'mechanism="smoth"'}),
    ('dt.median(pay, bounds=(0, 1), epsilon=1.0, noise="laplace")', {'noise="laplace"': 'noise="lapalce"'}),
    ("dt.median(pay, bounds=(0, 1), epsilon=1.0)", {"bounds=(0, 1)": "bounds=(0, 1, 2)"}),
    ("dt.median(pay, bounds=(0, 1), epsilon=1.0)", {"pay, ": "pay, 1.0, "}),
    ("dt.mode(texts, epsilon=1.0, delta=1e-6)", {"texts": "3"}),
    ("dt.mode(texts, epsilon=1.0, delta=1e-6)", {"texts": '"bus"'}),
    ("dt.open(schema, budget=None)", {"budget=None": "columns={}"}),
    ('dt.open({"pay": [1, 2]}, columns={"pay": dt.Real(0, 100)})', {"dt.Real(0, 100)": "(0, 100)"}),
    ("dt.median(pay, bounds=(0, 1), epsilon=1.0)", {"median": "medain"}),
    ("number: float = dt.median(pay, bounds=(0, 1), epsilon=1.0).value", {"float": "str"}),
    ("numbers: Numbers = dt.quantiles(pay, q=[0.5], bounds=(0, 1), epsilon=1.0).value", {"Numbers": "float"}),
    ("count: int = session.ask(dt.Count(), epsilon=1.0).value", {"int": "bytes"}),
    ('release: dt.Release[float] = session.ask(dt.Median("pay"), epsilon=1.0)', {"Release": "Releases"}),
    ('releases: dt.Releases[float] = session.ask(dt.Median("pay"), by="job", epsilon=1.0)', {"Releases": "Release"}),
    (f"quote: dt.Quotes = session.quote({STATEMENT}, epsilon=1.0)", {"Quotes": "Quote"}),
    ('remotely: dt.Release[float] = remote.ask(dt.Median("pay"), epsilon=1.0)', {"float": "str"}),
    (
        'remote.ask(dt.Median("pay"), epsilon=1.0, mechanism="smooth")',
        {'mechanism="smooth"': "mechanism=dt.Smooth()"},
    ),
    (f"session.sql({STATEMENT}, epsilon=1.0).value", {".value": ".valeu"}),
    (f"session.ask({SEVERAL}, epsilon=1.0, weights=[1, 2])", {"weights=[1, 2]": 'weights={"a": 1}'}),
    (f"session.ask({SEVERAL}, epsilon=1.0, weights=[1, 2])", {"weights=[1, 2]": 'weights=["a", "b"]'}),
    (f"session.quote({SEVERAL}, epsilon=1.0, weights=[1, 2])", {"weights=[1, 2]": 'weights={"a": 1}'}),
    (f"session.quote({STATEMENT}, epsilon=1.0, weights={{'a': 1}})", {"'a': 1": "1: 'a'"}),
    (f"session.sql({STATEMENT}, epsilon=1.0, weights={{'a': 1}})", {"'a': 1": "'a': 'b'"}),
    (f"remote.ask({SEVERAL}, epsilon=1.0, weights=[1, 2])", {"weights=[1, 2]": 'weights={"a": 1}'}),
    (f"remote.quote({SEVERAL}, epsilon=1.0, weights=[1, 2])", {"weights=[1, 2]": 'weights={"a": 1}'}),
    (f"session.ask({SEVERAL}, epsilon=1.0)", {'dt.Mean("pay")': '"mean(pay)"'}),
    (f"remote.quote({SEVERAL}, epsilon=1.0)", {'dt.Mean("pay")': "3"}),
    ("dt.queries_within(dt.Loss(0.1), dt.Budget(1.0))", {"dt.Budget(1.0)": "dt.Loss(1.0)"}),
    ("dt.compose([dt.Loss(0.1)])", {"[dt.Loss(0.1)]": "[0.1, 0.2]"}),
    ('dt.compose([dt.Loss(0.1)], delta=1e-6, method="optimal")', {"optimal": "optimum"}),
    ('dt.queries_within(dt.Loss(0.1), dt.Budget(1.0), filter="fixed")', {"fixed": "fixd"}),
]
"""Mistakes of other kinds: results, misspelt names, data of another query; of a right call what is changed."""
PLANTED = 'dt.median("not an array", bounds="nonsense", epsilon=[1])'
"""One call with three mistakes."""


# --- right calls ------------------------------------------------------------------------------------------------

RIGHT_HEAD = """\
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-any-generics
# mypy: allow-untyped-decorators, disable-error-code="no-untyped-call"
from typing import Any
"""
ROOT = examples.ROOT
FILES = ("# analysis.py", "# centres.py", "# make_data.py")
"""Files of their own: programs that sandboxes run, and data."""
DOCTESTS = ("dither.api", "dither.typing", "dither.inspect", "dither.session.session", "dither.session.quoting")


def right_calls(own: str) -> str:
    """The documentation's examples, a function for each page, and the examples of docstrings, a function for each."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    written = {
        page.relative_to(ROOT).as_posix(): "\n".join(
            block.text
            for block in examples.blocks(page.read_text(encoding="utf-8"))
            if block.language == "python" and not block.text.startswith(FILES) and "(Statistic)" not in block.text
        )
        for page in pages
    }
    written |= {f"statistics/{one.slug}": one.example for one in ENTRIES}
    written |= {f"{name}": text for module in DOCTESTS for name, text in docstring_examples(module)}
    written |= {
        f"{one.query.__module__}.{one.query.__name__}": text
        for one in entries().values()
        for _, text in docstring_examples_of(one.query, vars(importlib.import_module(one.query.__module__)))
    }
    functions = [
        as_function(f"example_{place}", name, text) for place, (name, text) in enumerate(written.items()) if text
    ]
    return "\n\n".join([RIGHT_HEAD, own, *functions]) + "\n"


def docstring_examples(module: str) -> Iterator[tuple[str, str]]:
    """The examples in the docstrings of a module, with what they import of it."""
    found = importlib.import_module(module)
    for test in doctest.DocTestFinder(exclude_empty=True).find(found):
        yield from _named_examples(test, vars(found))


def docstring_examples_of(thing: object, known: dict[str, object]) -> Iterator[tuple[str, str]]:
    """The examples in the docstring of a class."""
    for test in doctest.DocTestFinder(exclude_empty=True, recurse=False).find(thing):
        yield from _named_examples(test, known)


def _named_examples(test: doctest.DocTest, known: dict[str, object]) -> Iterator[tuple[str, str]]:
    if not test.examples:
        return
    text = "".join(one.source for one in test.examples)
    tree = ast.parse(text)
    bound = {name for node in ast.walk(tree) for name in _bound(node)}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - bound
    module = known["__name__"]
    imports = [f"from {module} import {name}" for name in sorted(used) if name in known]
    yield test.name, "\n".join([*imports, text])


def _bound(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()):
            yield name
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            for alias in names:
                yield alias.asname or alias.name.partition(".")[0]
        case ast.arg(arg=name):
            yield name


def as_function(name: str, title: str, text: str) -> str:
    """A page as a function; what it does not define itself, such as a token, is given to it."""
    tree = ast.parse(text)
    bound = {one for node in ast.walk(tree) for one in _bound(node)} | set(vars(builtins))
    free = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - bound)
    arguments = ", ".join(f"{one}: Any" for one in free)
    return f"# {title}\ndef {name}({arguments}) -> None:\n{textwrap.indent(text, '    ')}"
