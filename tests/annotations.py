"""Annotations that say nothing: ``Any`` and ``object``, also behind aliases, counted by reading syntax trees."""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

VAGUE = {"Any", "object"}


def module_name(path: Path, root: Path) -> str:
    """The dotted name of a module."""
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def names_in(annotation: ast.expr) -> Iterator[str]:
    """All names in an annotation, those in quotes included."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                yield from names_in(ast.parse(node.value, mode="eval").body)
            except SyntaxError:
                continue  # a literal that is no type


def aliases_in(tree: ast.Module) -> dict[str, ast.expr]:
    """The aliases of types that a module defines."""
    found = {}
    for node in ast.walk(tree):
        match node:
            case ast.AnnAssign(
                target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias"), value=ast.expr() as value
            ):
                found[name] = value
            case ast.Assign(targets=[ast.Name(id=name)], value=(ast.Subscript() | ast.BinOp()) as value) if (
                name[:1].isupper() and not name.isupper()
            ):
                found[name] = value
    return found


def imports_in(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """Where the names come from that a module imports."""
    return {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def annotations_in(tree: ast.Module) -> Iterator[ast.expr]:
    """Every annotation of a parameter, a result or a variable; of an alias what it stands for."""
    for node in ast.walk(tree):
        match node:
            case ast.AnnAssign(annotation=ast.Name(id="TypeAlias"), value=ast.expr() as value):
                yield value
            case ast.AnnAssign(annotation=annotation):
                yield annotation
            case ast.FunctionDef(returns=returns) | ast.AsyncFunctionDef(returns=returns) if returns is not None:
                yield returns
            case ast.arg(annotation=ast.expr() as annotation):
                yield annotation


@functools.cache
def vague_annotations(package: Path) -> dict[str, list[int]]:
    """The lines of each module with an annotation in which ``Any`` or ``object`` stands, itself or behind an alias."""
    trees = {module_name(path, package): ast.parse(path.read_text(encoding="utf-8")) for path in package.rglob("*.py")}
    paths = {module_name(path, package): path.relative_to(package).as_posix() for path in package.rglob("*.py")}
    imports = {module: imports_in(tree) for module, tree in trees.items()}
    aliases = {module: aliases_in(tree) for module, tree in trees.items()}
    vague = {(module, name) for module in trees for name in VAGUE}

    def is_vague(module: str, name: str) -> bool:
        if (module, name) in vague:
            return True
        first, _, rest = name.partition(".")
        home, there = imports[module].get(first, ("", ""))
        return ((f"{home}.{there}", rest) if rest else (home, there)) in vague

    grown = True
    while grown:
        new = {
            (module, name)
            for module, defined in aliases.items()
            for name, value in defined.items()
            if any(is_vague(module, one) for one in names_in(value))
        }
        grown = not new <= vague
        vague |= new
    return {
        paths[module]: sorted(
            one.lineno for one in annotations_in(tree) if any(is_vague(module, name) for name in names_in(one))
        )
        for module, tree in trees.items()
    }
