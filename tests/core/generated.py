"""What type checkers read and the registries know: the files that ``make api`` writes.

``src/dither/made.pyi`` declares the one-line functions that are made of queries, ``src/dither/mechanism_names.py`` the
names of the mechanisms.  A function that needs overloads is declared by hand in ``dither.api``, under TYPE_CHECKING.
"""

import ast
import builtins
import inspect
import re
import subprocess
import sys
import textwrap
from enum import Enum
from pathlib import Path

import user_calls
from dither import api
from dither.mechanisms.registry import mechanisms
from dither.queries.query import Query
from dither.queries.registry import dataclass_fields, entries

PACKAGE = Path(api.__file__).parent
HEAD = "Written by `make api` from the registries: do not edit."
DATA = {"column": "Column", "columns": "Columns", "graph": "Graph"}
"""The data of a function, by what its query is asked of."""
KNOWN = {
    "Column": "dither.typing",
    "Columns": "dither.typing",
    "Anything": "dither.typing",
    "Graph": "dither.sources.graph",
}


class Imports:
    """The imports that a stub needs, found by the names that its annotations use."""

    def __init__(self):
        self.found: dict[str, set[str]] = {"dither.release": {"Release"}}

    def resolved(self, annotation: str, module) -> str:
        """An annotation of a module with the names of the places where they are defined."""
        return re.sub(r"(?<![\"'\w.])[A-Za-z_]\w*", lambda word: self._name(word[0], module), annotation)

    def _name(self, name: str, module) -> str:
        if hasattr(builtins, name):
            return name
        home, there = imported(module).get(name, (module.__name__, name))
        self.found.setdefault(home, set()).add(there)
        return there

    def lines(self) -> list[str]:
        """Sorted, as the formatter has them."""
        return [f"from {home} import {', '.join(sorted(names))}" for home, names in sorted(self.found.items())]


def imported(module) -> dict[str, tuple[str, str]]:
    """What a module imports by name, for type checkers too: where it is defined, and what it is called there."""
    tree = ast.parse(Path(inspect.getfile(module)).read_text(encoding="utf-8"))
    return {
        one.asname or one.name: (node.module, one.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for one in node.names
    }


def released_types(query: type) -> tuple[str, str, type]:
    """The types of a query's answers and intervals, as the class that is returned with them writes them."""
    for found in query.__mro__:
        if not issubclass(found, Query):
            continue
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(found))).body
        for base in definition.bases:
            if isinstance(base, ast.Subscript) and isinstance(base.slice, ast.Tuple):
                value, interval, *_ = (ast.unparse(one) for one in base.slice.elts)
                if not value.endswith("_co"):
                    return value, interval, found
    raise LookupError(f"{query.__name__} does not say what it releases: Query[float, Interval]")


def default_of(parameter: inspect.Parameter) -> str:
    """As stubs have it: simple values as they are, others as dots."""
    if parameter.default is inspect.Parameter.empty:
        return ""
    simple = parameter.default is None or type(parameter.default) in (int, float, str, bool)
    return f" = {parameter.default!r}" if simple and not isinstance(parameter.default, Enum) else " = ..."


def declaration(entry, imports: Imports) -> str:
    """What checkers are told about the function of a query."""
    fields = {one.name: home_of(entry.query, one.name) for one in dataclass_fields(entry.query) if one.init}
    types = {one.name: str(one.type) for one in dataclass_fields(entry.query)}
    signature = inspect.signature(getattr(api, entry.function)).parameters
    asked = []
    for name, one in signature.items():
        if name == "data":
            continue
        module = sys.modules[fields[name].__module__] if name in fields else api
        annotation = types[name] if name in fields else str(one.annotation)
        asked.append(f"{name}: {imports.resolved(annotation, module)}{default_of(one)}")
    value, interval, found = released_types(entry.query)
    module = sys.modules[found.__module__]
    data = DATA.get(entry.of, "Anything")
    imports.found.setdefault(KNOWN[data], set()).add(data)
    released = f"Release[{imports.resolved(value, module)}, {imports.resolved(interval, module)}]"
    return f"def {entry.function}(data: {data}, *, {', '.join(asked)},) -> {released}: ..."


def home_of(query: type, field: str) -> type:
    """The class that declares a field."""
    return next(one for one in query.__mro__ if field in inspect.get_annotations(one))


def made_functions() -> str:
    """The stub of all functions that are made of queries and not declared by hand."""
    by_hand = user_calls.declared_functions("dither.api")
    made = [one for one in entries().values() if one.has("function") and one.function not in vars(api)]
    imports = Imports()
    listed = [
        declaration(one, imports) for one in sorted(made, key=lambda one: one.function) if one.function not in by_hand
    ]
    return "\n".join([f"# {HEAD}", "", *imports.lines(), "", *listed, ""])


def mechanism_names() -> str:
    """The names of all mechanisms as a type."""
    names = ", ".join(f'"{name}"' for name in ("auto", *sorted(mechanisms())))
    return (
        f'"""The names of the mechanisms, for type checkers.\n\n{HEAD}\n"""\n\n'
        "from typing import Literal, TypeAlias\n\n"
        f'MechanismName: TypeAlias = Literal[{names}]\n"""The registered mechanisms, and "auto"."""\n'
    )


def generated() -> dict[Path, str]:
    """Every file and what it should hold, in the house format."""
    texts = {PACKAGE / "made.pyi": made_functions(), PACKAGE / "mechanism_names.py": mechanism_names()}
    return {path: formatted(path, text) for path, text in texts.items()}


def formatted(path: Path, text: str) -> str:
    """As ``make format`` would leave it."""
    for command in (["check", "--select", "I", "--fix", "--quiet"], ["format", "--quiet"]):
        words = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(path), "-"]
        text = subprocess.run(words, input=text, capture_output=True, text=True, check=True).stdout
    return text


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {path}\n")
