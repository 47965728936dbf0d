"""What is installed: declared where it is imported, and at exact versions in the constraints file."""

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "dither"
LABORATORY = ROOT / "lab" / "src" / "dither_lab"
PROJECT_FILE = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PROJECT_FILE["project"]
LAB_PROJECT = tomllib.loads((ROOT / "lab" / "pyproject.toml").read_text())["project"]
BASE = {canonicalize_name(Requirement(one).name) for one in PROJECT["dependencies"]}
EXTRAS = {
    extra: {canonicalize_name(Requirement(one).name) for one in listed}
    for extra, listed in PROJECT["optional-dependencies"].items()
}
PEERS = {canonicalize_name(Requirement(one).name) for one in LAB_PROJECT["optional-dependencies"]["bench"]}
FOR_USERS = set().union(*(listed for extra, listed in EXTRAS.items() if extra not in {"dev", "docs"}))
"""What an extra that a user may want brings."""
DISTRIBUTIONS = importlib.metadata.packages_distributions()
GUESTS = {"pandas", "polars", "py4j"}
"""Frames are made, and accessors registered, for users who have pandas or Polars; py4j comes with pyspark."""


class _Running(ast.NodeTransformer):
    """What runs: without the parts that only type checkers read."""

    def visit_If(self, node: ast.If) -> object:
        """Whatever stands below ``if TYPE_CHECKING`` is left out."""
        self.generic_visit(node)
        return node.orelse if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING" else node


def imported(path: Path, *, always: bool = False) -> set[str]:
    """Third-party distributions that a module imports, or that it imports whenever it is loaded."""
    tree = _Running().visit(ast.parse(path.read_text(encoding="utf-8")))
    nodes = tree.body if always else list(ast.walk(tree))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0}
    tops = {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"dither", "dither_lab", "__future__"}
    return {canonicalize_name(DISTRIBUTIONS.get(top, [top])[0]) for top in tops}


def modules(package: Path) -> list[Path]:
    """All modules of a package."""
    return list(package.rglob("*.py"))


@pytest.mark.slow
def test_everything_that_is_imported_is_declared():
    """By the package itself or by an extra for users; igraph and other peers only by the laboratory's benchmarks."""
    found = set().union(*(imported(path) for path in modules(PACKAGE)))
    assert found - BASE - FOR_USERS == GUESTS
    assert "igraph" not in found
    benchmarks = set().union(*(imported(path) for path in modules(LABORATORY / "bench")))
    assert "igraph" in benchmarks & PEERS & EXTRAS["dev"]
    rest = set().union(*(imported(path) for path in modules(LABORATORY) if "bench" not in path.parts))
    assert rest <= BASE | FOR_USERS | GUESTS


def test_the_laboratory_belongs_to_this_very_version():
    """One tree, one version; its only dependency is the product."""
    assert LAB_PROJECT["version"] == PROJECT["version"]
    assert LAB_PROJECT["dependencies"] == [f"dither=={PROJECT['version']}"]


@pytest.mark.slow
def test_everything_that_every_user_installs_is_imported():
    """By the product itself."""
    assert set().union(*(imported(path) for path in modules(PACKAGE))) >= BASE


@pytest.mark.slow
def test_only_the_server_needs_more_when_it_is_loaded():
    """Any other module can be loaded where nothing but the package's own dependencies is installed."""
    for path in modules(PACKAGE) + modules(LABORATORY):
        if not path.is_relative_to(PACKAGE / "interfaces" / "http") and "workers" not in path.parts:
            assert imported(path, always=True) <= BASE, path


@pytest.mark.slow
def test_a_demo_needs_no_extra(tmp_path):
    """Questions and the picture, where importing anything that is not a dependency of the package fails."""
    allowed = BASE | {canonicalize_name(name) for one in BASE for name in needed_by(one)}
    hidden = sorted(top for top, names in DISTRIBUTIONS.items() if not {canonicalize_name(n) for n in names} & allowed)
    assert "igraph" in hidden
    code = f"""
import sys
for name in {hidden!r}:
    if name != "dither":
        sys.modules[name] = None
from dither.interfaces.cli.main import main
main(["demo", "--out", {str(tmp_path)!r}])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "payroll.png").stat().st_size > 5_000


def needed_by(name: str, seen: frozenset[str] = frozenset()) -> set[str]:
    """Distributions that a distribution needs, and those that these need."""
    found = set()
    for text in importlib.metadata.requires(name) or []:
        one = Requirement(text)
        if one.name not in seen and (one.marker is None or one.marker.evaluate({"extra": ""})):
            found |= {one.name} | needed_by(one.name, seen | {one.name})
    return found


def pinned() -> dict[str, str]:
    """Names and versions of the constraints file."""
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line) for line in lines)  # and no address
    return {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}


def test_constraints_are_complete():
    """Every dependency that `make setup` installs, directly or not, has an exact version within the declared bounds."""
    found = pinned()
    declared = [Requirement(one) for one in PROJECT["dependencies"] + PROJECT_FILE["build-system"]["requires"]]
    declared += [Requirement(one) for extra in EXTRAS for one in PROJECT["optional-dependencies"][extra]]
    for one in declared:
        assert one.specifier.contains(found[canonicalize_name(one.name)]), one
    installed = {canonicalize_name(one) for name in BASE | EXTRAS["dev"] for one in needed_by(name)}
    assert installed <= set(found)


def test_ci_installs_what_tests_skip_without():
    """Every Debian package that a skipped test names: there nothing may be skipped."""
    texts = [path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/*.py")]
    named = {name for text in texts for name in re.findall(r"\(Debian: ([a-z-]+)\)", text)}
    needs = re.findall(r'^    "([a-z0-9-]+) \| ', (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert {"curl", "postgresql"} <= named <= set(needs)


def test_every_file_names_the_same_version():
    """The citation and the dated changelog are of the version that is packed, which the security policy covers."""
    version, changes = PROJECT["version"], (ROOT / "CHANGELOG.md").read_text()
    dates = re.findall(rf"^## {re.escape(version)} - (\d{{4}}-\d\d-\d\d)$", changes, re.MULTILINE)
    citation = dict(re.findall(r"^(version|date-released): (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    assert [citation] == [{"version": version, "date-released": date} for date in dates]
    assert f"| {version.rpartition('.')[0]}.x | yes |" in (ROOT / "SECURITY.md").read_text()


def test_the_quick_tests_exist():
    """A test file that was renamed is renamed in the list of `make quick` too."""
    (listed,) = re.findall(r"\nQUICK  := \$\(foreach name,([^,]*),tests/", (ROOT / "Makefile").read_text())
    names = listed.replace("\\\n", " ").split()
    assert len(names) > 10
    for name in names:
        folder, _, file = name.rpartition("/")
        assert (ROOT / "tests" / folder / f"test_{file}.py").is_file(), name
