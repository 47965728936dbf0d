"""Files of users: the calls that ask, each with one argument of a wrong type, and the documentation's examples.

The wrong calls follow from the registry and from signatures, so a new query, parameter or option is in them at once.
"""

import ast
import builtins
import doctest
import importlib
import inspect
import textwrap
import typing
from collections.abc import Callable, Iterator
from pathlib import Path

import examples
from statistic_list import ENTRIES

import dither as dt
from dither.interfaces.client import RemoteSession
from dither.queries.registry import QueryEntry, entries

WRONG_HEAD = """\
import typing

import numpy as np

import dither as dt


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


"""
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
    "q": "0.5",
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
}
"""A right argument for every parameter without a default."""
ANYTHING = {"Anything", "Hashable", "D", "Given", "Foreign"}
"""Annotations that any value fits."""
TEXTS = {"str", "Names", "ColumnChoice", "Filter", "ExecutorChoice", "ProgramChoice", "BinChoice", "LedgerPlace"}
"""Annotations that a text fits."""


def declared_functions() -> dict[str, list[ast.FunctionDef]]:
    """What ``dither.api`` tells type checkers about the functions that are made of queries, overloads included."""
    tree = ast.parse(Path(inspect.getfile(importlib.import_module("dither.api"))).read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    found: dict[str, list[ast.FunctionDef]] = {}
    for node in (one for block in blocks for one in block.body if isinstance(one, ast.FunctionDef)):
        found.setdefault(node.name, []).append(node)
    return found


DECLARED = {
    name: {
        one.arg: ast.unparse(one.annotation) for one in (*each[0].args.args, *each[0].args.kwonlyargs) if one.annotation
    }
    for name, each in declared_functions().items()
}


class Taken(typing.NamedTuple):
    """A parameter of a call: its name, its annotation, whether it is needed and whether it goes by place."""

    name: str
    annotation: str
    needed: bool
    by_place: bool


def taken(called: Callable[..., object]) -> list[Taken]:
    """The parameters of a call; of overloads, those of any, and needed where all of them need them."""
    overloads = [_taken(one) for one in typing.get_overloads(inspect.unwrap(called)) or [called]]
    found: dict[str, Taken] = {}
    for one in (each for overload in overloads for each in overload):
        before = found.get(one.name, one)
        alike = [each for overload in overloads for each in overload if each.name == one.name]
        needed = len(alike) == len(overloads) and all(each.needed for each in alike)
        found[one.name] = before._replace(annotation=f"{before.annotation} | {one.annotation}", needed=needed)
    return list(found.values())


def _taken(called: Callable[..., object]) -> list[Taken]:
    found = []
    declared = DECLARED.get(getattr(called, "__name__", ""), {})
    for one in inspect.signature(called).parameters.values():
        if one.kind is one.VAR_KEYWORD:
            mapping = getattr(dt.typing, str(one.annotation).removeprefix("Unpack[").removesuffix("]"))
            for name, wanted in mapping.__annotations__.items():  # (with those that it inherits)
                text = wanted.__forward_arg__
                needed = text.startswith("Required[")
                found.append(Taken(name, text[len("Required[") : -1] if needed else text, needed, by_place=False))
        elif one.name not in ("self", "cls"):
            needed = one.default is one.empty
            place = needed and one.kind is one.POSITIONAL_OR_KEYWORD
            found.append(Taken(one.name, declared.get(one.name, str(one.annotation)), needed, place))
    return found


def call(target: str, parameters: list[Taken], given: dict[str, str]) -> str:
    """A call with a right argument for what is needed, and with what is given."""
    arguments = [
        given.get(one.name, GIVEN.get(one.name, ""))
        if one.by_place
        else f"{one.name}={given.get(one.name) or GIVEN[one.name]}"
        for one in parameters
        if one.needed or one.name in given
    ]
    arguments += [f"{name}={value}" for name, value in given.items() if name not in {one.name for one in parameters}]
    return f"{target}({', '.join(arguments)})"


def mistyped(annotation: str) -> list[str]:
    """Values that do not fit: one of a class of nobody's, and one that people might write."""
    words = set(annotation.replace("|", " ").replace("[", " ").replace("]", " ").replace(",", " ").split())
    if words & ANYTHING and not annotation.startswith("Query"):
        return []
    return ["Nonsense()", "3.5" if words & TEXTS else '"nonsense"']


def wrong_calls_of(target: str, called: Callable[..., object], right: dict[str, str]) -> Iterator[str]:
    """Every parameter mistyped; one that is needed left out; one that does not exist."""
    parameters = taken(called)
    yield call(target, parameters, {**right, "no_such_option": "1"})
    for one in parameters:
        for value in mistyped(one.annotation):
            yield call(target, parameters, {**right, one.name: value})
        if one.needed:
            rest = [each for each in parameters if each.name != one.name]
            yield call(
                target,
                [each._replace(by_place=False) for each in rest],
                {name: value for name, value in right.items() if name != one.name},
            )


def right_fields(entry: QueryEntry) -> dict[str, str]:
    """Arguments for the fields of a query that differ from the table."""
    return (
        {"q": "[0.5]"}
        if entry.name == "quantiles"
        else {"value": "own", "neighbours": '"chain"'}
        if entry.name == "finite_space"
        else {}
    )


def wrong_calls() -> list[str]:
    """Every wrong call, a line each."""
    lines = []
    for entry in entries().values():
        fields = right_fields(entry)
        lines += wrong_calls_of(f"dt.{entry.query.__name__}", entry.query, fields)
        if entry.has("function"):
            function = getattr(dt, entry.function)
            data = next(iter(inspect.signature(function).parameters))
            lines += wrong_calls_of(
                f"dt.{entry.function}", function, {**fields, data: DATA[entry.of]} if data != "X" else fields
            )
    for target, called, right in (
        ("dt.ask", dt.ask, {"query": "dt.Median(bounds=(0, 1))", "data": "pay"}),
        ("dt.count_from", dt.count_from, {}),
        ("dt.quote", dt.quote, {}),
        ("dt.least_epsilon", dt.least_epsilon, {"of": '"bound"'}),
        ("dt.open", dt.open, {"source": '"pay.csv"'}),
        ("dt.connect", dt.connect, {}),
        ("session.ask", dt.Session.ask, {}),
        ("session.sql", dt.Session.sql, {}),
        ("session.quote", dt.Session.quote, {}),
        ("session.least_epsilon", dt.Session.least_epsilon, {"of": '"bound"'}),
        ("graphs.ask", dt.GraphSession.ask, {"query": "dt.Triangles()"}),
        ("graphs.sql", dt.GraphSession.sql, {}),
        ("graphs.quote", dt.GraphSession.quote, {"query": "dt.Triangles()"}),
        ("remote.ask", RemoteSession.ask, {}),
        ("remote.sql", RemoteSession.sql, {}),
        ("remote.quote", RemoteSession.quote, {}),
    ):
        lines += wrong_calls_of(target, called, right)
    return list(dict.fromkeys([*lines, *MISTAKES]))


MISTAKES = [
    'dt.ask(dt.Median(bounds=(0, 1)), "not an array", epsilon=1.0)',
    "dt.ask(dt.Median(bounds=(0, 1)), graph, epsilon=1.0)",
    "dt.ask(dt.Triangles(), pay, epsilon=1.0)",
    "dt.ask(dt.Median(bounds=(0, 1)), pay, epsilon=1.0, calibration=dt.Smooth())",
    'dt.median(pay, bounds=(0, 1), epsilon=1.0, mechanism="smoth")',
    'dt.median(pay, bounds=(0, 1), epsilon=1.0, noise="lapalce")',
    "dt.median(pay, bounds=(0, 1, 2), epsilon=1.0)",
    "dt.median(pay, 1.0)",
    "dt.mode(3)",
    'dt.mode("bus", epsilon=1.0, delta=1e-6)',
    "dt.open(schema, columns={})",
    'dt.open({"pay": [1, 2]}, columns={"pay": (0, 100)})',
    "dt.medain(pay, bounds=(0, 1), epsilon=1.0)",
    "as_text: str = dt.median(pay, bounds=(0, 1), epsilon=1.0).value",
    "number: float = dt.quantiles(pay, q=[0.5], bounds=(0, 1), epsilon=1.0).value",
    "flag: bytes = session.ask(dt.Count(), epsilon=1.0).value",
    'several: dt.Releases[float] = session.ask(dt.Median("pay"), epsilon=1.0)',
    'one: dt.Release[float] = session.ask(dt.Median("pay"), by="job", epsilon=1.0)',
    'single: dt.Quote = session.quote("SELECT median(pay) FROM data", epsilon=1.0)',
    'remotely: dt.Release[str] = remote.ask(dt.Median("pay"), epsilon=1.0)',
    'remote.ask(dt.Median("pay"), epsilon=1.0, mechanism=dt.Smooth())',
    'session.sql("SELECT median(pay) FROM data", epsilon=1.0).valeu',
]
"""Mistakes of other kinds: results, misspelt names, data of another query."""
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
