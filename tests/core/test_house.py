"""Rules of the house, kept by reading the syntax trees of the package."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "dither"
MODULES = sorted(PACKAGE.rglob("*.py"))
MAY_USE_PSEUDO_RANDOMNESS = {"audit", "bench", "demo", "reproduce"}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")

each_module = pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(PACKAGE).as_posix())


def _is_pseudo_random(module: str) -> bool:
    return f"{module}.".startswith(("random.", "numpy.random."))


def pseudo_random_lines(source: str) -> list[int]:
    """Lines that reach `random`, `numpy.random` or scipy's `.rvs`, however they are spelled."""
    tree = ast.parse(source)
    numpy_names = {
        alias.asname or "numpy"
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "numpy" or (alias.name.startswith("numpy.") and alias.asname is None)
    }
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names) if any(_is_pseudo_random(alias.name) for alias in names):
                found.add(node.lineno)
            case ast.ImportFrom(module=str(module), names=names, level=0) if _is_pseudo_random(module) or any(
                _is_pseudo_random(f"{module}.{alias.name}") for alias in names
            ):
                found.add(node.lineno)
            case ast.Attribute(value=ast.Name(id=name), attr="random") if name in numpy_names:
                found.add(node.lineno)
            case ast.Call(func=ast.Attribute(attr="rvs")):
                found.add(node.lineno)
            case ast.Call(
                func=ast.Name(id="__import__" | "import_module") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(module)), *_],
            ) if _is_pseudo_random(module):
                found.add(node.lineno)
    return sorted(found)


def unfinished_lines(source: str) -> list[int]:
    """Lines that admit to be unfinished."""
    return [number for number, line in enumerate(source.splitlines(), 1) if UNFINISHED.search(line)]


def test_there_is_a_package_to_read():
    """The tests below look at real modules and not at an empty list."""
    assert PACKAGE / "__init__.py" in MODULES


@each_module
def test_release_paths_use_no_pseudo_random_generator(path):
    """Only audit, bench, demo and reproduce may use generators that are not cryptographic."""
    if path.relative_to(PACKAGE).parts[0] not in MAY_USE_PSEUDO_RANDOMNESS:
        assert pseudo_random_lines(path.read_text(encoding="utf-8")) == []


@each_module
def test_public_modules_say_what_they_are_for(path):
    """Every module without a leading underscore on its path starts with a docstring."""
    names = path.relative_to(PACKAGE).with_suffix("").parts
    if not any(name.startswith("_") and not name.startswith("__") for name in names):
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@each_module
def test_nothing_is_left_unfinished(path):
    """No module carries a note to finish it later or a placeholder that raises."""
    assert unfinished_lines(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "import random as r",
        "from random import gauss",
        "import numpy.random",
        "import numpy.random as npr",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import numpy as np\nnp.random.default_rng(1)",
        "import numpy.linalg\nnumpy.random.normal()",
        "def f():\n    import numpy as xp\n    return xp.random",
        "from scipy import stats\nstats.laplace.rvs()",
        "import importlib\nimportlib.import_module('numpy.random')",
        "__import__('random')",
    ],
)
def test_the_search_for_pseudo_randomness_finds_it(source):
    """Every usual way to reach a pseudo-random generator is recognised."""
    assert pseudo_random_lines(source)


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\nnp.sort([1])",
        "from dither.noise import random_bits",
        "import secrets\nrandom = secrets.token_bytes(8)",
        "from os import urandom",
    ],
)
def test_the_search_for_pseudo_randomness_does_not_cry_wolf(source):
    """Cryptographic sources and unrelated names pass."""
    assert pseudo_random_lines(source) == []


@pytest.mark.parametrize("mark", ["TO" + "DO", "FIX" + "ME", "X" * 3, "raise NotImplemented" + "Error"])
def test_the_search_for_unfinished_work_finds_it(mark):
    """A planted mark is recognised on its own line."""
    assert unfinished_lines(f"a = 1\n# {mark}: later\n") == [2]
