"""Rules of the house, kept by reading the syntax trees of the package."""

import ast
import dataclasses
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "dither"
LABORATORY = ROOT / "lab" / "src" / "dither_lab"
MODULES = sorted(PACKAGE.rglob("*.py"))
MAY_USE_PSEUDO_RANDOMNESS = {"demo"}
KINDS = {"Mechanism", "Prepared", "Statistic", "VectorStatistic"}
SUBJECTS = {"calibration", "chosen", "mechanism", "prepared", "statistic"}
"""What mechanisms and statistics are called where they are used."""
STILL_DECIDE_BY_CLASS: dict[str, int] = {}
"""Modules that still tell mechanisms or statistics apart, with the number of places.  This may only shrink."""
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")

each_module = pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
each_of_both = pytest.mark.parametrize(
    "path", [*MODULES, *sorted(LABORATORY.rglob("*.py"))], ids=lambda p: p.relative_to(ROOT).as_posix()
)


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


def _named(node: ast.expr) -> str:
    """The last name of an expression such as ``plan.statistic``."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_structure(name: str, module: str) -> bool:
    return module.startswith("sensitivity/") and name.startswith("Has")


def classes_of(sources: dict[str, str]) -> dict[str, set[str]]:
    """All mechanisms, prepared mechanisms, statistics and sensitivity structures, with the modules that define them."""
    bases = {}
    for module, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef):
                bases.setdefault(node.name, []).append((module, {_named(base) for base in node.bases}))
    found: dict[str, set[str]] = {}
    grown = True
    while grown:
        grown = False
        for name, homes in bases.items():
            for module, parents in homes:
                ours = name in KINDS or _is_structure(name, module) or bool(parents & found.keys())
                if ours and module not in found.get(name, set()):
                    found.setdefault(name, set()).add(module)
                    grown = True
    return found


def registered_names(sources: dict[str, str]) -> dict[str, str]:
    """The public name of every mechanism, with the module that enters it into the registry."""
    return {
        mark.args[0].value: module
        for module, source in sources.items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
        for mark in node.decorator_list
        if isinstance(mark, ast.Call) and _named(mark.func) == "mechanism"
    }


def class_decisions(module: str, source: str, classes: dict[str, set[str]], names: dict[str, str]) -> list[int]:
    """Lines that treat a mechanism or statistic by its class, its attributes' existence or its name.

    Allowed are: a class in its own module; inside ``mechanisms`` and ``statistics`` the sensitivity structures and
    whether there is one number or several; in ``mechanisms/choice.py`` whether an argument is a mechanism, or its name.
    """
    allowed = {name for name, homes in classes.items() if module in homes}
    if module.startswith(("mechanisms/", "statistics/")):
        structures = {name for name, homes in classes.items() if any(_is_structure(name, home) for home in homes)}
        allowed |= structures | {"Statistic", "VectorStatistic"}
    if module == "mechanisms/choice.py":
        allowed |= {"Mechanism", "MECHANISMS"}
    foreign = classes.keys() - allowed
    others = {name for name, home in names.items() if home != module}
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kinds]):
                if any(_named(one) in foreign for one in ast.walk(kinds)):
                    found.add(node.lineno)
            case ast.Call(func=ast.Name(id="getattr" | "hasattr" | "type"), args=[subject, *_]):
                if _named(subject) in SUBJECTS:
                    found.add(node.lineno)
            case ast.MatchClass(cls=kind) if _named(kind) in foreign:
                found.add(node.cls.lineno)
            case ast.Compare(left=left, comparators=right):
                sides = [one for side in (left, *right) for one in ast.walk(side)]
                if any(isinstance(one, ast.Constant) and one.value in others for one in sides):
                    found.add(node.lineno)
                if any(isinstance(one, ast.Call) and _named(one.func) == "type" for one in sides) and any(
                    _named(one) in foreign for one in sides
                ):
                    found.add(node.lineno)
                tabled = {_named(one) for one in right if _named(one).isupper()} - allowed
                if _named(left) == "mechanism" and tabled:
                    found.add(node.lineno)
    return sorted(found)


def _sources() -> dict[str, str]:
    return {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in MODULES}


def test_nobody_decides_by_the_class_of_a_mechanism_or_statistic():
    """A mechanism or statistic says itself what others need to know; the modules listed above are on their way."""
    sources = _sources()
    classes, names = classes_of(sources), registered_names(sources)
    found = {module: class_decisions(module, source, classes, names) for module, source in sources.items()}
    counted = {module: len(lines) for module, lines in found.items() if lines}
    more = {module: found[module] for module, count in counted.items() if count > STILL_DECIDE_BY_CLASS.get(module, 0)}
    assert more == {}
    assert STILL_DECIDE_BY_CLASS.keys() <= counted.keys(), "a module that is clean leaves the list"


def test_there_is_a_package_to_read():
    """The tests below look at real modules and not at an empty list."""
    assert PACKAGE / "__init__.py" in MODULES


@each_module
def test_release_paths_use_no_pseudo_random_generator(path):
    """Only the demo, which makes data up, may use generators that are not cryptographic."""
    if path.relative_to(PACKAGE).parts[0] not in MAY_USE_PSEUDO_RANDOMNESS:
        assert pseudo_random_lines(path.read_text(encoding="utf-8")) == []


@each_of_both
def test_public_modules_say_what_they_are_for(path):
    """Every module without a leading underscore on its path starts with a docstring."""
    names = path.relative_to(ROOT).with_suffix("").parts
    if not any(name.startswith("_") and not name.startswith("__") for name in names):
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@each_of_both
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


PLANTED = {
    "sensitivity/ladder.py": "class HasLadder: pass",
    "mechanisms/mechanism.py": "class Prepared: pass\nclass Mechanism: pass",
    "statistics/statistic.py": "class Statistic: pass\nclass VectorStatistic: pass",
    "statistics/order.py": "class Rank(Statistic): pass\nclass First(Rank): pass",
    "mechanisms/smooth.py": "@mechanism('smooth', needs=HasLadder)\nclass Smooth(Mechanism): pass\n"
    "class Noise(mechanism.Prepared): pass",
}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("quotes/quote.py", "isinstance(one, Noise)"),
        ("quotes/quote.py", "isinstance(one, (int, smooth.Noise))"),
        ("quotes/quote.py", "issubclass(one, Rank | int)"),
        ("quotes/quote.py", "isinstance(plan.statistic, Statistic)"),
        ("quotes/quote.py", "isinstance(one, HasLadder)"),
        ("quotes/quote.py", "type(one) is First"),
        ("quotes/quote.py", "{Noise: 1}[type(prepared)]"),
        ("quotes/quote.py", "getattr(prepared, 'rate', None)"),
        ("quotes/quote.py", "hasattr(plan.statistic, 'labels')"),
        ("quotes/quote.py", "plan.mechanism == 'smooth'"),
        ("quotes/quote.py", "name in ('smooth', 'auto')"),
        ("quotes/quote.py", "plan.mechanism not in COMPARED"),
        ("quotes/quote.py", "match one:\n    case Noise():\n        pass"),
        ("mechanisms/choice.py", "isinstance(one, First)"),
        ("mechanisms/ladder.py", "isinstance(one, Noise)"),
    ],
)
def test_the_search_for_decisions_by_class_finds_them(module, source):
    """Every usual way to tell mechanisms or statistics apart is recognised."""
    assert class_decisions(module, source, classes_of(PLANTED), registered_names(PLANTED))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("mechanisms/smooth.py", "isinstance(one, Noise)"),
        ("mechanisms/ladder.py", "isinstance(one, HasLadder)"),
        ("mechanisms/ladder.py", "isinstance(one, Statistic)"),
        ("mechanisms/choice.py", "isinstance(given, Mechanism)"),
        ("quotes/quote.py", "isinstance(one, int)"),
        ("quotes/quote.py", "plan.mechanism == 'auto'"),
        ("quotes/quote.py", "plan.mechanism in tried"),
        ("mechanisms/choice.py", "mechanism in MECHANISMS"),
        ("quotes/quote.py", "getattr(frame, 'columns')"),
    ],
)
def test_the_search_for_decisions_by_class_does_not_cry_wolf(module, source):
    """Structures, a class in its own module, and what is neither mechanism nor statistic pass."""
    assert class_decisions(module, source, classes_of(PLANTED), registered_names(PLANTED)) == []


def dataclasses_of_the_package():
    """Every dataclass that any module of the product defines."""
    for path in MODULES:
        name = ".".join(["dither", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")
        if name.endswith("__main__"):
            continue
        for one in vars(importlib.import_module(name)).values():
            if isinstance(one, type) and dataclasses.is_dataclass(one) and one.__module__ == name:
                yield one


def compares_too_little(one):
    """True if two objects that differ in a field may be equal: an ``__eq__`` of a parent that has fewer fields."""
    home = next(parent for parent in one.__mro__ if "__eq__" in vars(parent))
    own = {field.name for field in dataclasses.fields(one) if field.compare}
    return home is not object and dataclasses.is_dataclass(home) and not own <= set(home.__dataclass_fields__)


def test_nothing_is_equal_to_what_differs_in_a_field():
    """Plans are remembered by their statistics: one that equals another is answered with the other's plan."""
    found = list(dataclasses_of_the_package())
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


# --- one name, one class --------------------------------------------------------------------------------------


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
    homes = class_homes([*MODULES, *LABORATORY.rglob("*.py")])
    assert len(homes) > 500
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_two_classes_of_one_name_are_found(tmp_path):
    """Also where one of them is defined inside of a function."""
    (tmp_path / "a.py").write_text("class Same: ...\nclass Other: ...\n")
    (tmp_path / "b.py").write_text("def f():\n    class Same: ...\n")
    assert {name: len(paths) for name, paths in class_homes(tmp_path.glob("*.py")).items()} == {"Same": 2, "Other": 1}
