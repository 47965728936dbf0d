"""The reference, written by the code itself: signatures and docstrings of public names, help of commands."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

import click

import dither as dt
from dither import sklearn as estimators
from dither.interfaces.cli.main import main
from dither.queries.registry import entries
from dither.queries.wire import OF_TABLES

_OPTION = re.compile(r"^(?P<names>[a-zA-Z_][a-zA-Z_0-9, ]*): (?P<text>.*)")
SECTIONS = {
    "Statistics of arrays": (
        "median quantile quantiles minimum maximum order_statistic trimmed_mean iqr scale mode mean sum smallest_sum "
        "count variance covariance histogram regression kmeans kmeans_cost gaussian_mixture sample_and_aggregate "
        "randomized_response describe ask"
    ),
    "Statistics of graphs": "Graph edges triangles kstars ktriangles kcliques min_cut mst_cost",
    "Datasets and sessions": "open connect Session GraphSession Schema GraphSchema Budget",
    "Types of columns": "Real Integer Decimal Boolean Category Date",
    "Answers": "Release Releases",
    "Quotes": "quote least_epsilon Quote Quotes Lognormal Normal Uniform Exponential PublicSample",
    "Composition": "compose queries_within budget_for Loss Neighbours",
}
"""Functions of other queries follow from the registry; the rest of ``dither.__all__`` is listed by where it lives."""


def api_page() -> str:
    """Every public name of ``dither``."""
    listed = [name for names in SECTIONS.values() for name in names.split()]
    rest = [name for name in dt.__all__ if name not in listed and name not in ("__version__", "inspect", "typing")]
    sections = {title: names.split() for title, names in SECTIONS.items()}
    functions = {one.function for one in entries().values() if one.of in OF_TABLES}
    sections["Statistics of arrays"] += [name for name in rest if name in functions]
    rest = [name for name in rest if name not in functions]
    homes = {"Queries": "queries", "Mechanisms": "mechanism", "Noises": "noise", "Errors": "errors", "More": ""}
    for title, package in homes.items():
        found = [name for name in rest if getattr(dt, name).__module__.startswith(f"dither.{package}")]
        rest = [name for name in rest if name not in found]
        sections[title] = found
    lines = [
        "# Python",
        "",
        (
            "Every public name, with the types of its parameters ([what they mean](../typing.md)). "
            "`import dither as dt`; data come first, everything else by keyword."
        ),
        "",
    ]
    for title, names in sections.items():
        if names:
            lines += [f"## {title}", ""]
        for name in names:
            lines += _entry(f"dt.{name}", getattr(dt, name))
    lines += ["## dt.inspect", "", *_docstring(dt.inspect)]
    for name, one in inspect.getmembers(dt.inspect, inspect.isfunction):
        if one.__module__ == "dither.inspect" and not name.startswith("_"):
            lines += _entry(f"dt.inspect.{name}", one)
    lines += ["## dither.sklearn", "", "[Estimators for scikit-learn](../estimators.md).", ""]
    for name in estimators.__all__:
        lines += _entry(f"dither.sklearn.{name}", getattr(estimators, name))
    lines += [
        "## dt.typing",
        "",
        *_docstring(dt.typing),
        "Names for annotations; [Types](../typing.md) explains them.",
        "",
    ]
    return "\n".join(lines) + "\n"


def _entry(name: str, thing: Any) -> list[str]:
    lines = [f"### {name}", "", "```py", f"{name}{_signature(thing)}", "```", "", *_docstring(thing)]
    if inspect.isclass(thing) and not issubclass(thing, Exception):
        for method, one in inspect.getmembers(thing):
            known = inspect.isfunction(one) or isinstance(inspect.getattr_static(thing, method), property)
            if known and not method.startswith("_") and (own := inspect.getdoc(one)):
                summary = own.split("\n\n")[0].replace("\n", " ")
                call = f".{method}{_signature(one, short=True)}" if inspect.isfunction(one) else f".{method}"
                lines += [f"`{call}`", f":   {summary}", ""]
    return lines


def _signature(thing: Any, *, short: bool = False) -> str:
    """Names, types and defaults; short: names and defaults alone, if they fit."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    own = [one for one in signature.parameters.values() if one.name not in ("self", "cls")]
    if short:
        bare = [one.replace(annotation=inspect.Parameter.empty) for one in own]
        text = _without_objects(str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty)))
        return "(...)" if len(text) > 60 else text
    returned = "" if inspect.isclass(thing) else _type(signature.return_annotation)
    arrow = f" -> {returned}" if returned else ""
    line = f"({', '.join(_parameter(one) for one in own)}){arrow}"
    by_name = any(one.kind is inspect.Parameter.KEYWORD_ONLY for one in own)
    return line if len(line) < 90 and not by_name else _column(own) + arrow


def _parameter(one: inspect.Parameter) -> str:
    """A parameter with its type and its default."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(one.kind, "")
    declared = _type(one.annotation)
    text = f"{stars}{one.name}{f': {declared}' if declared else ''}"
    if one.default is inspect.Parameter.empty:
        return text
    return (
        f"{text} = {_without_objects(repr(one.default))}"
        if declared
        else f"{text}={_without_objects(repr(one.default))}"
    )


def _type(annotation: Any) -> str:
    """A type as the source writes it."""
    if annotation is inspect.Parameter.empty:
        return ""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _without_objects(text: str) -> str:
    return re.sub(r"<[^<>]*(?:<[^<>]*>)?[^<>]*>", "...", text)


def _column(parameters: list[inspect.Parameter]) -> str:
    """A parameter on each line, with the star that ends those by place."""
    lines = [_parameter(one) for one in parameters]
    by_name = [one.kind is inspect.Parameter.KEYWORD_ONLY for one in parameters]
    if True in by_name:
        lines.insert(by_name.index(True), "*")
    return "(\n" + "".join(f"    {line},\n" for line in lines) + ")"


def _docstring(thing: Any) -> list[str]:
    """Paragraphs as they are, ``name: text`` as definitions, examples as code."""
    text = inspect.getdoc(thing) or ""
    if text.startswith(f"{getattr(thing, '__name__', '')}("):
        return []  # dataclasses write their own signature
    names = _parameters(thing)
    lines: list[str] = []
    for paragraph in text.replace("``", "`").split("\n\n"):
        if paragraph.lstrip().startswith(">>>"):
            lines += ["```pycon", *paragraph.splitlines(), "```", ""]
        else:
            lines += [*_definitions(paragraph.splitlines(), names), ""]
    return lines


def _parameters(thing: Any) -> set[str]:
    try:
        return set(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        return set()


def _option(line: str, names: set[str]) -> re.Match[str] | None:
    found = _OPTION.match(line)
    return found if found and set(re.split(r", *", found["names"])) <= names else None


def _definitions(lines: list[str], names: set[str]) -> Iterable[str]:
    if not any(_option(line, names) for line in lines):
        # The parts of a mechanism's docstring (Guarantee, Theorem, ...) are aligned by hand.
        aligned = any(re.match(r"^[A-Z][a-z]+ {2,}\S", line) for line in lines)
        return ["```text", *lines, "```"] if aligned else [_escaped(line) for line in lines]
    entries: list[str] = []
    for line in lines:
        found = _option(line, names)
        if found:
            entries += ["", f"`{found['names']}`", f":   {_escaped(found['text'])}"]
        else:
            entries.append(f"    {_escaped(line.strip())}" if entries else _escaped(line))
    return entries


def _escaped(line: str) -> str:
    parts = line.split("`")
    quoted = [
        part.replace("*", "\\*").replace("<", "&lt;") if index % 2 == 0 else part for index, part in enumerate(parts)
    ]
    return "`".join(quoted)


def cli_page() -> str:
    """Every command with its options."""
    lines = ["# Shell", "", "Every command takes `--json`, and `--help` shows what stands here.", ""]
    for path, command in _commands(main, ("dither",)):
        lines += [f"## {' '.join(path)}", "", *_help(path, command)]
    return "\n".join(lines) + "\n"


def _commands(group: Any, path: tuple[str, ...]) -> Iterable[tuple[tuple[str, ...], click.Command]]:
    for name, command in sorted(group.commands.items()):
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))
        elif not command.hidden:
            yield (*path, name), command


def _help(path: tuple[str, ...], command: click.Command) -> list[str]:
    context = click.Context(command, info_name=" ".join(path))
    usage = " ".join(command.collect_usage_pieces(context))
    lines = ["```text", f"{' '.join(path)} {usage}", "```", ""]
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if paragraph.lstrip().startswith("\b"):
            lines += ["```text", *paragraph.replace("\b\n", "").splitlines(), "```", ""]
        else:
            lines += [*(_escaped(line) for line in paragraph.splitlines()), ""]
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    lines += ["| option | |", "|---|---|"]
    for one in options:
        kind = "" if one.is_flag else f" {one.make_metavar(context)}"
        default = "" if not one.show_default or one.default is None else f" Default: `{one.default}`."
        text = (one.help or "").replace("|", "\\|")
        lines += [f"| `{', '.join(one.opts)}{kind.replace('|', ' or ')}` | {_escaped(text)}{default} |"]
    return [*lines, ""]
