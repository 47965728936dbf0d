"""The public interface as text: Python names, commands, schema files, HTTP and SQL; ``make api`` writes it.

Names, parameters and defaults, without annotations and docstrings.  A class lists what it defines itself and names its
bases; bases that are not public names are listed once, under their modules.
"""

import abc
import inspect
import re
import sys
import typing
from pathlib import Path

import click

import dither as dt
from dither import sklearn as estimators

FILE = Path(__file__).parent / "api.txt"


def signature(called) -> str:
    """Parameters and defaults, as they are written in a call."""
    try:
        found = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):
        return ""
    plain = [one.replace(annotation=one.empty, default=one.default) for one in found if one.name != "self"]
    return re.sub(r" at 0x[0-9a-f]+", "", str(inspect.Signature(plain)))


def members(path: str, found: type):
    """What a class defines itself."""
    own = {**dict.fromkeys(inspect.get_annotations(found)), **vars(found)}
    for name in sorted(one for one in own if not one.startswith("_")):
        value = own[name]
        called = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        yield f"{path}.{name}{signature(called) if inspect.isfunction(called) else ''}"


def class_lines(path: str, found: type, inner: dict):
    """A class and its members; bases of ours that are met on the way are added to ``inner``."""
    ours = [one for one in found.__bases__ if one.__module__.startswith("dither.")]
    inner.update({f"{one.__module__}.{one.__qualname__}": one for one in ours})
    bases = ", ".join(one.__name__ for one in found.__bases__ if one not in (object, abc.ABC, typing.Generic))
    code = f" code {found.code}" if issubclass(found, dt.DitherError) else ""
    yield f"{path}{signature(found)}{f' of {bases}' if bases else ''}{code}"
    yield from members(path, found)


def module_lines(path: str, found):
    """What a module defines: functions, classes and aliases; options by their names."""
    aliases = inspect.get_annotations(found)
    for name in sorted({*vars(found), *aliases}):
        value = getattr(found, name, None)
        if name.startswith("_") or isinstance(value, typing.TypeVar):
            continue
        if name in aliases or getattr(value, "_is_protocol", False):
            yield f"{path}.{name}"
        elif getattr(value, "__module__", "") == found.__name__:
            options = " ".join(value.__annotations__) if typing.is_typeddict(value) else None
            yield f"{path}.{name}{signature(value)}" if options is None else f"{path}.{name}: {options}"


def python():
    """Every public name."""
    inner: dict[str, type] = {}
    public = set()
    for name in sorted(dt.__all__):
        value = getattr(dt, name)
        if inspect.isclass(value):
            public.add(value)
            yield from class_lines(f"dither.{name}", value, inner)
        elif inspect.ismodule(value):
            yield from module_lines(f"dither.{name}", value)
        elif name != "__version__":
            yield f"dither.{name}{signature(value) if callable(value) else ''}"
    for name in estimators.__all__:
        yield from class_lines(f"dither.sklearn.{name}", getattr(estimators, name), inner)
    listed: set[str] = set()
    while left := sorted(set(inner) - listed):
        for path in left:
            listed.add(path)
            if inner[path] not in public:
                yield from class_lines(path, inner[path], inner)


def commands(found: click.Command, path: str):
    """A command with its arguments and options, and those below it."""
    words = []
    for one in found.params:
        spellings = "/".join([*one.opts, *one.secondary_opts]) if isinstance(one, click.Option) else one.name.upper()
        words.append(spellings if one.required or isinstance(one, click.Argument) else f"[{spellings}]")
    yield " ".join([path, *words])
    for name, inner in sorted(getattr(found, "commands", {}).items()):
        yield from commands(inner, f"{path} {name}")


def fields(schema: dict) -> str:
    """The fields of an object, those that are needed without brackets."""
    needed = schema.get("required", ())
    return " ".join(one if one in needed else f"[{one}]" for one in schema.get("properties", {}))


def answer(response: dict) -> str:
    """What an answer is called, if it has a model."""
    (content,) = response["content"].values()
    return f" {content['schema']['$ref'].rpartition('/')[2]}" if "$ref" in content["schema"] else ""


def http():
    """Routes with the fields of their bodies, what may stand after ``?``, and the models that bodies name."""
    from dither.interfaces.http.openapi import document

    whole = document()
    for path, methods in sorted(whole["paths"].items()):
        for method, one in sorted(methods.items()):
            after = [each["name"] for each in one.get("parameters", ()) if each["in"] == "query"]
            body = one.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            answers = [f"{status}{answer(each)}" for status, each in one["responses"].items() if status != "default"]
            route = f"{method.upper()} {path}{'?' + '&'.join(after) if after else ''}"
            body = whole["components"]["schemas"][body["$ref"].rpartition("/")[2]] if body else {}
            yield " ".join(filter(None, [route, fields(body), "->", *answers]))
    for name, schema in sorted(whole["components"]["schemas"].items()):
        yield f"{name}: {fields(schema)}"


def sql():
    """Functions."""
    from dither.queries.registry import entries

    for one in entries().values():
        yield from (one.form(function) for function in one.functions)


def schema_files():
    """Sections and keys."""
    from dither.sources import schema_models as models

    sections = {"of a table": models.TableFile, "of a graph": models.GraphFile}
    sections |= {"dataset": models.DatasetSection, "graph": models.GraphSection, "budget": models.BudgetSection}
    sections |= {f"columns.NAME of type {name}": one for name, one in models.COLUMNS.items()}
    sections |= {f"priors.NAME of kind {name}": one for name, one in models.PRIORS.items()}
    for section, model in sections.items():
        keys = [name if one.is_required() else f"[{name}]" for name, one in model.model_fields.items()]
        yield f"{section}: {' '.join(keys)}"


def names():
    """Mechanisms by name."""
    from dither.mechanisms.registry import mechanisms

    yield from sorted(mechanisms())


def dump() -> str:
    """All of it."""
    from dither.interfaces.cli.main import main

    parts = {
        "Python": python(),
        "Commands": commands(main, "dither"),
        "Schema files": schema_files(),
        "HTTP": http(),
        "SQL": sorted(set(sql())),
        "Mechanisms": names(),
    }
    return "\n".join(f"# {title}\n\n" + "".join(f"{line}\n" for line in lines) for title, lines in parts.items())


if __name__ == "__main__":
    FILE.write_text(dump(), encoding="utf-8")
    sys.stdout.write(f"wrote {FILE}: add a line for what changed under Unreleased in CHANGELOG.md\n")
