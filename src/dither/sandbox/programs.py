"""The two kinds of program: a Python function given as source text, and any executable.

A function travels as source, never as a pickle: nothing of the owner's process goes along but what the text says.
Parsing needs no data, so what does not parse, has the wrong name or leans on surrounding variables is refused here.
"""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, ModuleType
from typing import Literal, TypeAlias

from dither.errors import InvalidArgument
from dither.procedures.executor import OwnFunction

_MOST_CHARACTERS = 1_000_000
_MOST_IMPORTS = 200
_LITERALS = (bool, int, float, complex, str, bytes, type(None))


@dataclass(frozen=True, slots=True)
class Function:
    """A Python function of one block: the source that defines it and its name.

    >>> Function("def centre(rows):\\n    return rows.mean(axis=0)", "centre").name
    'centre'
    """

    source: str
    name: str

    def __post_init__(self) -> None:
        if len(self.source) > _MOST_CHARACTERS:
            raise InvalidArgument(
                "program", f"{len(self.source)} characters", f"must have at most {_MOST_CHARACTERS:,} characters"
            )
        try:
            tree = ast.parse(self.source)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            where = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
            reason = error.msg if isinstance(error, SyntaxError) else type(error).__name__
            raise InvalidArgument("program", self.name, f"must be source that parses ({reason}{where})") from None
        if self.name not in _defined_names(tree):
            raise InvalidArgument("program", self.name, "must name a function that the source defines")

    @classmethod
    def of(cls, function: OwnFunction) -> Function:
        """The source of a function that was written with ``def``.

        Modules, what was imported from modules, and literals that it mentions by a global name are written out above
        it; any other global variable, and every variable of an enclosing function, is refused.
        """
        name = getattr(function, "__name__", "")
        code = getattr(function, "__code__", None)
        if not isinstance(code, CodeType) or not name.isidentifier():
            raise InvalidArgument(
                "program", function, "must be a function written with def, a source file, or an Executable"
            )
        if code.co_freevars:
            names = ", ".join(code.co_freevars)
            raise InvalidArgument("program", name, f"must not use {names} of an enclosing function")
        try:
            source = textwrap.dedent(inspect.getsource(function))
        except (OSError, TypeError):
            raise InvalidArgument(
                "program", name, "must be a function whose source can be found; or pass its text"
            ) from None
        if not source.lstrip().startswith(("def ", "@")):
            raise InvalidArgument("program", name, "must be a function written with def")
        mentioned = _global_names(code) | _names_around(source)
        above = [_definition(item, function.__globals__) for item in sorted(mentioned - {name})]
        # Annotations are for readers; without this line they would be evaluated inside.
        return cls("\n".join(["from __future__ import annotations", *filter(None, above), source]), name)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], name: str) -> Function:
        """The function ``name`` of a source file."""
        try:
            source = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise InvalidArgument("program", str(path), "must be a readable source file in UTF-8") from None
        return cls(source, name)


@dataclass(frozen=True, slots=True)
class Executable:
    """A program that reads a block on stdin and writes its numbers to stdout, separated by spaces, commas or lines.

    ``format="csv"`` sends a line of ``columns`` (if given) and a line for each row, ``"arrow"`` an Arrow stream.
    An exit status other than 0 counts as a failure.  It sees ``/usr`` and what is passed as ``visible``.
    """

    path: str | os.PathLike[str]
    arguments: Sequence[str] = ()
    format: Literal["csv", "arrow"] = field(default="csv", kw_only=True)
    columns: Sequence[str] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        path = Path(self.path)
        if not path.is_file() or not os.access(path, os.X_OK):
            raise InvalidArgument("program", str(path), "must be a file that may be executed")
        if self.format not in {"csv", "arrow"}:
            raise InvalidArgument("format", self.format, "must be 'csv' or 'arrow'")
        if not all(isinstance(argument, str) and "\0" not in argument for argument in self.arguments):
            raise InvalidArgument("arguments", list(self.arguments), "must be texts without NUL")


Program: TypeAlias = Function | Executable
GivenProgram: TypeAlias = Program | OwnFunction | str


def as_program(given: GivenProgram) -> Program:
    """A program from what an analyst may give: a Program, a function, or a path ``file.py:function``."""
    if isinstance(given, (Function, Executable)):
        return given
    if isinstance(given, str):
        path, colon, name = given.rpartition(":")
        if colon and path.endswith(".py"):
            return Function.from_file(path, name)
        raise InvalidArgument("program", given, "must be 'file.py:function', a function, a Function or an Executable")
    if callable(given):
        return Function.of(given)
    raise InvalidArgument("program", given, "must be a function, 'file.py:function', a Function or an Executable")


def imported(program: Program) -> list[str]:
    """Names of modules that a function's source imports, or may: of ``from a import b`` also a.b.

    >>> imported(Function("import os.path\\ndef f(rows):\\n    from json import loads", "f"))
    ['json', 'json.loads', 'os.path']
    """
    names: set[str] = set()
    if isinstance(program, Function):
        for node in ast.walk(ast.parse(program.source)):
            if isinstance(node, ast.Import):
                names |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return sorted(names)[:_MOST_IMPORTS]


def _defined_names(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name) for alias in node.names}
        else:
            names |= {
                item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
            }
    return names


def _global_names(code: CodeType) -> set[str]:
    """Names that the function or one inside it loads from the module."""
    names = {
        instruction.argval
        for instruction in dis.get_instructions(code)
        if instruction.opname in {"LOAD_GLOBAL", "LOAD_NAME"}
    }
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _global_names(constant)
    return names


def _names_around(source: str) -> set[str]:
    """Names in decorators and default values, which are evaluated where the function is defined."""
    try:
        (head,) = ast.parse(source).body
    except (SyntaxError, ValueError):
        return set()
    if not isinstance(head, ast.FunctionDef):
        return set()
    evaluated = [
        *head.decorator_list,
        *head.args.defaults,
        *(item for item in head.args.kw_defaults if item is not None),
    ]
    return {item.id for node in evaluated for item in ast.walk(node) if isinstance(item, ast.Name)}


def _definition(name: str, around: Mapping[str, object]) -> str | None:  # the globals of a module
    """A line that defines a global name anew, None if the name is no global of the function's module."""
    if name not in around or hasattr(builtins, name):
        return None
    value = around[name]
    if isinstance(value, ModuleType):
        return (
            f"import {value.__name__} as {name}"
            if "." in value.__name__ or value.__name__ != name
            else f"import {name}"
        )
    if isinstance(value, float):
        return f"{name} = float({str(value)!r})"  # also for infinities
    if isinstance(value, _LITERALS):
        return f"{name} = {value!r}"
    home, origin = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(home, str) and isinstance(origin, str) and home not in {around.get("__name__"), "__main__"}:
        if origin.isidentifier():
            return f"from {home} import {origin} as {name}"
    elif callable(value) and isinstance(getattr(value, "__code__", None), CodeType):
        raise InvalidArgument(
            "program", name, "must be one function; define its helpers inside it, or pass a source file"
        )
    raise InvalidArgument("program", name, "must use no global variable other than modules, imports and literals")
