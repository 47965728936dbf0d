"""Rules of the house that import contracts and ruff cannot say, checked on modules and classes as they are loaded."""

import ast
import dataclasses
import functools
import importlib
import pkgutil
import re
import types
from pathlib import Path

import pytest

import dither
from dither.mechanisms.mechanism import Mechanism, Prepared
from dither.mechanisms.registry import mechanisms
from dither.statistics.statistic import Statistic, VectorStatistic

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "dither"
LABORATORY = ROOT / "lab" / "src" / "dither_lab"
MODULES = sorted(PACKAGE.rglob("*.py"))
BOTH = [*MODULES, *sorted(LABORATORY.rglob("*.py"))]
MAY_USE_PSEUDO_RANDOMNESS = {"demo"}
DECIDED_BY_STRUCTURE = (Mechanism, Prepared, Statistic, VectorStatistic)
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")


def _violations(check, paths=MODULES):
    """What a check finds, for each file in which it finds something."""
    found = {path.relative_to(ROOT).as_posix(): check(path.read_text(encoding="utf-8")) for path in paths}
    return {path: lines for path, lines in found.items() if lines}


def test_there_is_a_package_to_read():
    """The tests below look at real modules and not at an empty list."""
    assert PACKAGE / "__init__.py" in MODULES
    assert LABORATORY / "__init__.py" in BOTH


# --- randomness, docstrings, unfinished work -----------------------------------------------------------------------


def _is_pseudo_random(module: str) -> bool:
    return f"{module}.".startswith(("random.", "numpy.random."))


def pseudo_random_lines(source: str) -> list[int]:
    """Lines that reach `random`, `numpy.random` or scipy's `.rvs` in ways that ruff's banned imports do not see."""
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


def test_release_paths_use_no_pseudo_random_generator():
    """Only the demo, which makes data up, may use generators that are not cryptographic."""
    strict = [path for path in MODULES if path.relative_to(PACKAGE).parts[0] not in MAY_USE_PSEUDO_RANDOMNESS]
    assert _violations(pseudo_random_lines, strict) == {}


@pytest.mark.sampled(99)
def test_public_modules_say_what_they_are_for():
    """Every module without a leading underscore on its path starts with a docstring."""

    def is_public(path):
        names = path.relative_to(ROOT).with_suffix("").parts
        return not any(name.startswith("_") and not name.startswith("__") for name in names)

    without = [path for path in BOTH if is_public(path) and not ast.get_docstring(ast.parse(path.read_text("utf-8")))]
    assert without == []


def test_nothing_is_left_unfinished():
    """No module carries a note to finish it later or a placeholder that raises."""
    assert _violations(unfinished_lines, BOTH) == {}


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


# --- decisions by class -------------------------------------------------------------------------------------------


@functools.cache
def loaded_modules() -> dict[str, types.ModuleType]:
    """Every module of the product, imported, by its name."""
    names = [one.name for one in pkgutil.walk_packages(dither.__path__, "dither.") if not one.name.endswith("__main__")]
    return {name: importlib.import_module(name) for name in ["dither", *names]}


def _value(node: ast.expr, names: dict[str, object]) -> object:
    """What a name or a chain of attributes stands for in a module; None if that is not known before it runs."""
    if isinstance(node, ast.Subscript):
        return _value(node.value, names)
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, names), node.attr, None)
    return names.get(node.id) if isinstance(node, ast.Name) else None


def _classes(node: ast.expr, names: dict[str, object]) -> list[type]:
    """The classes that an expression such as ``int | smooth.Noise`` or ``(A, B)`` names."""
    values = (_value(one, names) for one in ast.walk(node) if isinstance(one, ast.expr))
    return [one for one in values if isinstance(one, type)]


def class_decisions(source: str, names: dict[str, object], module: str) -> list[int]:
    """Lines that treat a mechanism or a statistic by its class or its name.

    ``names``: what the names of the module stand for.  A class may be asked for in its own module; inside
    ``mechanisms`` and ``statistics`` it may be asked whether there is one number or several; in the choice of a
    mechanism whether an argument is one.  Sensitivity structures are what decides, and are none of these classes.
    """
    allowed = {
        "dither.mechanisms": {Statistic, VectorStatistic},
        "dither.statistics": {Statistic, VectorStatistic},
        "dither.mechanisms.choice": {Mechanism},
    }
    free = {one for home, classes in allowed.items() if f"{module}.".startswith(f"{home}.") for one in classes}

    def is_foreign(one: type) -> bool:
        return issubclass(one, DECIDED_BY_STRUCTURE) and one.__module__ != module and one not in free

    others = {name for name, one in mechanisms().items() if one.__module__ != module} - {"auto"}
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, classes]):
                decides = any(map(is_foreign, _classes(classes, names)))
            case ast.MatchClass(cls=cls):
                decides = any(map(is_foreign, _classes(cls, names)))
            case ast.Compare(left=left, comparators=right):
                sides = [one for side in (left, *right) for one in ast.walk(side)]
                by_type = any(isinstance(one, ast.Call) and _value(one.func, {"type": type}) is type for one in sides)
                decides = by_type and any(any(map(is_foreign, _classes(side, names))) for side in (left, *right))
                decides |= any(isinstance(one, ast.Constant) and one.value in others for one in sides)
            case _:
                continue
        if decides:
            found.add(node.cls.lineno if isinstance(node, ast.MatchClass) else node.lineno)
    return sorted(found)


def test_nobody_decides_by_the_class_of_a_mechanism_or_statistic():
    """A mechanism or statistic says itself what others need to know."""
    modules = loaded_modules()
    assert sum(issubclass(one, DECIDED_BY_STRUCTURE) for one in _own_classes()) > 100
    found = {
        name: class_decisions(Path(module.__file__).read_text("utf-8"), vars(module), name)
        for name, module in modules.items()
    }
    assert {name: lines for name, lines in found.items() if lines} == {}


def _own_classes() -> list[type]:
    """The classes that the product defines, on the top level of its modules."""
    return [
        one
        for name, module in loaded_modules().items()
        for one in vars(module).values()
        if isinstance(one, type) and one.__module__ == name
    ]


def _planted() -> dict[str, object]:
    """Names of a module: a mechanism, what it prepares and a statistic of one's own, under names that tell nothing."""
    from dither.mechanisms import smooth
    from dither.mechanisms.worst_case import ScaledVector
    from dither.statistics.order import RankedValue, RankedValues

    return {"smooth": smooth, "A": smooth.Smooth, "B": ScaledVector, "C": RankedValue, "D": RankedValues}


@pytest.mark.parametrize(
    "source",
    [
        "isinstance(one, A)",
        "isinstance(one, (int, smooth.Smooth))",
        "issubclass(one, B | int)",
        "isinstance(one, B[int])",
        "isinstance(plan.statistic, C)",
        "type(one) is D",
        "type(one) in (int, D)",
        "plan.mechanism == 'smooth'",
        "name in ('smooth', 'auto')",
        "match one:\n    case B():\n        pass",
    ],
)
def test_the_search_for_decisions_by_class_finds_them(source):
    """Every usual way to tell mechanisms or statistics apart is recognised, whatever the class is called there."""
    assert class_decisions(source, _planted(), "dither.quotes.quote")


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("dither.mechanisms.smooth", "isinstance(one, A)"),
        ("dither.mechanisms.ladder", "isinstance(one, HasLadder)"),
        ("dither.quotes.quote", "isinstance(one, int)"),
        ("dither.quotes.quote", "plan.mechanism == 'auto'"),
        ("dither.quotes.quote", "plan.mechanism in tried"),
        ("dither.quotes.quote", "type(one) is int"),
    ],
)
def test_the_search_for_decisions_by_class_does_not_cry_wolf(module, source):
    """A class in its own module, and what is neither mechanism nor statistic, pass."""
    assert class_decisions(source, _planted(), module) == []


# --- equality, and one name for one class -----------------------------------------------------------------------------


def compares_too_little(one):
    """True if two objects that differ in a field may be equal: an ``__eq__`` of a parent that has fewer fields."""
    home = next(parent for parent in one.__mro__ if "__eq__" in vars(parent))
    own = {field.name for field in dataclasses.fields(one) if field.compare}
    return home is not object and dataclasses.is_dataclass(home) and not own <= set(home.__dataclass_fields__)


def test_nothing_is_equal_to_what_differs_in_a_field():
    """Plans are remembered by their statistics: one that equals another is answered with the other's plan."""
    found = [one for one in _own_classes() if dataclasses.is_dataclass(one)]
    assert len(found) > 200
    assert [one.__qualname__ for one in found if compares_too_little(one)] == []


def test_the_check_of_equality_can_fail():
    """A child that leaves equality to a parent with fewer fields."""

    @dataclasses.dataclass(frozen=True)
    class Parent:
        a: int

    @dataclasses.dataclass(frozen=True, eq=False)
    class Child(Parent):
        b: int

    assert compares_too_little(Child)
    assert not compares_too_little(Parent)


def class_homes(paths):
    """The classes that are defined in these modules, with the modules that do."""
    found: dict[str, list[str]] = {}
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(path.as_posix())
    return found


def test_no_two_classes_have_one_name():
    """In the product and its laboratory together: a reader who meets a name can look for its class."""
    homes = class_homes(BOTH)
    assert len(homes) > 500
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_two_classes_of_one_name_are_found(tmp_path):
    """Also where one of them is defined inside of a function."""
    (tmp_path / "a.py").write_text("class Same: ...\nclass Other: ...\n")
    (tmp_path / "b.py").write_text("def f():\n    class Same: ...\n")
    assert {name: len(paths) for name, paths in class_homes(tmp_path.glob("*.py")).items()} == {"Same": 2, "Other": 1}
