"""The wheels of the product and of its laboratory hold what the tree has, and work where there is nothing else.

They are installed into one environment outside of the tree.  Nothing is downloaded: it is lent the distributions that
the wheels declare, those that these declare, and no other, so that an import that nobody declared fails there.
"""

import email
import fcntl
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from conftest import trials
from curators import CuratorProcess, median, with_dataset

ROOT = Path(__file__).parents[2]
PARTS = {"dither": ROOT, "dither_lab": ROOT / "lab"}
ACCESSORS = {"dither.pandas": "pandas", "dither.polars": "polars"}
"""Modules for users who have these packages already; no extra brings them."""
BUILD = """
import importlib, os, sys, tomllib
folder, *parts = sys.argv[1:]
for part in parts:
    os.chdir(part)
    with open("pyproject.toml", "rb") as file:
        backend = tomllib.load(file)["build-system"]["build-backend"]
    importlib.import_module(backend).build_wheel(folder)
"""
"""What pip and others do to build a wheel (PEP 517), in an environment that has the build backend already."""
IMPORT_ALL = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, f"{sys.argv[1]}.", onerror=lambda name: None):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            print(module.name, error.name)
"""
"""Loads every module of a package, and prints those that cannot be loaded with the module that they lack."""
pytestmark = pytest.mark.slow


def build_wheels(folder: Path) -> None:
    """One wheel for each distribution, built from this tree; a distribution without a wheel is a failure."""
    words = [sys.executable, "-c", BUILD, str(folder), *map(str, PARTS.values())]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"a wheel cannot be built:\n{done.stderr}"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory, worker_id):
    """The wheels of both distributions: built once, whichever processes of a run ask for them."""
    common = tmp_path_factory.getbasetemp()
    folder = (common if worker_id == "master" else common.parent) / "wheels"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(folder.glob("*.whl")):
            build_wheels(folder)
    found = {name: list(folder.glob(f"{name}-*.whl")) for name in PARTS}
    assert all(len(each) == 1 for each in found.values()), found
    return {name: each[0] for name, each in found.items()}


@pytest.mark.parametrize("name", PARTS)
def test_everything_of_the_package_is_in_its_wheel(wheels, name):
    """Modules, the page's files, the marker for type checkers; nothing else."""
    held = set(zipfile.ZipFile(wheels[name]).namelist())
    package = PARTS[name] / "src" / name
    files = {
        f"{name}/{path.relative_to(package).as_posix()}"
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files == {one for one in held if one.startswith(f"{name}/")}
    assert f"{name}/py.typed" in files
    assert {one.partition("/")[0].partition(".")[0].partition("-")[0] for one in held} == {name}
    assert name != "dither" or any(one.endswith("static/index.html") for one in files)


# --- what is declared -------------------------------------------------------------------------------------------


def wanted(requirements: Iterable[str], extra: str) -> list[Requirement]:
    """The requirements of a distribution that hold on this machine, for itself ("") or for one of its extras."""
    parsed = map(Requirement, requirements)
    return [one for one in parsed if one.marker is None or one.marker.evaluate({"extra": extra})]


def declared_by(wheel: Path, extra: str = "") -> list[Requirement]:
    """What a wheel says it needs."""
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA")))
    return wanted(email.message_from_bytes(text).get_all("Requires-Dist") or [], extra)


def closure(requirements: Iterable[Requirement]) -> set[str]:
    """The distributions that are needed, and those that these need, by the metadata of what is installed here."""
    seen: set[tuple[str, str]] = set()
    waiting = list(requirements)
    while waiting:
        one = waiting.pop()
        for extra in {"", *one.extras}:
            key = canonicalize_name(one.name), extra
            if key not in seen:
                seen.add(key)
                waiting += wanted(importlib.metadata.requires(one.name) or [], extra)
    return {name for name, _ in seen}


def entries_of(name: str) -> dict[str, Path]:
    """The files and folders of a distribution at the top of where it is installed."""
    found = importlib.metadata.distribution(name)
    assert found.files, f"{name} does not say what it installed"
    tops = {file.parts[0] for file in found.files} - {"..", "__pycache__"}
    return {top: Path(str(found.locate_file(top))) for top in tops}


def test_the_closure_follows_extras_and_markers():
    """httpx is a dependency of the extra server, which brings anyio, and httpcore brings h11; pytest is none."""
    found = closure([Requirement("httpx")])
    assert {"httpx", "httpcore", "h11", "anyio", "certifi"} <= found
    assert not {"pytest", "starlette", "click", "trio", "h2"} & found
    assert "psycopg-binary" in closure([Requirement("psycopg[binary]")])
    assert "psycopg-binary" not in closure([Requirement("psycopg")])


class Elsewhere:
    """A fresh environment outside of the tree that has what it is lent, and no pip."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.lent = folder / "lent"
        self.names: set[str] = set()
        self.lent.mkdir(parents=True)
        venv.create(folder / "env", with_pip=False)
        self.python = folder / "env" / "bin" / "python"
        self.site = next(folder.glob("env/lib/python*/site-packages"))
        (self.site / "lent.pth").write_text(f"{self.lent}\n")
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        self.environment["MPLCONFIGDIR"] = str(folder)

    def lend(self, names: set[str]) -> None:
        """Links to these distributions of the environment that the tests run in."""
        kept = {entry for name in importlib_names() - self.names - names for entry in entries_of(name)}
        for entry, place in {one: at for name in names - self.names for one, at in entries_of(name).items()}.items():
            assert entry not in kept, f"{entry} also belongs to a distribution that is not lent"
            if not (self.lent / entry).exists():
                (self.lent / entry).symlink_to(place)
        self.names |= names

    def install(self, wheel: Path) -> None:
        """By pip, which refuses where anything that the wheel needs is neither lent nor installed."""
        words = ["--python", self.python, "install", "--quiet", "--no-index", "--disable-pip-version-check", wheel]
        done = subprocess.run(
            [sys.executable, "-m", "pip", *words], env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    def run(self, *words, code=0, program=None):
        """What a command prints; notes of one that succeeds are not part of it."""
        done = subprocess.run(
            [program or self.python, *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + (done.stderr if code else "")

    def dither(self, *words, code=0):
        """What the installed command prints."""
        return self.run(*words, code=code, program=self.python.parent / "dither")

    def lacking(self, package: str) -> dict[str, str]:
        """The modules of a package that cannot be loaded, and the top-level package that each lacks."""
        lines = (line.split() for line in self.run("-c", IMPORT_ALL, package).splitlines())
        return {module: lacked.partition(".")[0] for module, lacked in lines}


def importlib_names() -> set[str]:
    """All distributions of the environment that the tests run in but those of this tree."""
    names = {canonicalize_name(one.metadata["Name"]) for one in importlib.metadata.distributions()}
    return names - {"dither", "dither-lab"}


def test_an_environment_has_what_it_is_lent_and_nothing_else(tmp_path):
    """A package outside of what is declared cannot be imported there, though it is installed here."""
    there = Elsewhere(tmp_path)
    there.lend(closure([Requirement("click")]))
    code = "import importlib.metadata as m, importlib.util as u, json, sys\n"
    code += "names = json.loads(sys.argv[1])\n"
    code += "print(json.dumps([[d.metadata['Name'] for d in m.distributions()], [n for n in names if u.find_spec(n)]]))"
    here = {top for top in importlib.metadata.packages_distributions() if re.fullmatch(r"\w+", top)}
    assert {"click", "numpy", "pytest", "hatchling"} <= here
    here = sorted(here - sys.stdlib_module_names | {"dither", "dither_lab"})
    assert json.loads(there.run("-c", code, json.dumps(here))) == [["click"], ["click"]]
    assert "No module named 'numpy'" in there.run("-c", "import numpy", code=1)


# --- what runs there --------------------------------------------------------------------------------------------


def test_the_product_works_without_the_laboratory_and_with_it(wheels, tmp_path):
    """Import, help, demo, an answer, a server; the laboratory's commands say how to get them, and then they run."""
    there = Elsewhere(tmp_path)
    there.lend(closure(declared_by(wheels["dither"])))
    there.install(wheels["dither"])
    the_product_answers(there)
    the_rest_is_an_extra_for_users(there, wheels["dither"])
    there.lend(closure(declared_by(wheels["dither"], "server") + declared_by(wheels["dither"], "sklearn")))
    the_product_serves(there)
    assert "pip install 'dither-lab'" in there.dither("audit", "--quick", code=2)

    assert [one.name for one in declared_by(wheels["dither_lab"])] == ["dither"]
    there.install(wheels["dither_lab"])
    the_laboratory_audits(there)


def the_product_answers(there: Elsewhere) -> None:
    """With its own dependencies and no extra."""
    assert str(there.site) in there.run("-c", "import dither; print(dither.__file__)")
    assert "ask" in there.dither("--help")
    assert "median pay" in there.dither("demo")
    assert (there.folder / "demo-output" / "payroll.png").stat().st_size > 5_000
    (there.folder / "ages.csv").write_text("age\n" + "\n".join(map(str, range(20, 80))))
    asked = ("ask", "ages.csv", "median(age)", "--bounds", "0", "120", "--epsilon", "1", "--json")
    assert 0 <= json.loads(there.dither(*asked))["value"] <= 120
    page = "from dither.interfaces.web.page import page_files; print(len(page_files()['index.html'].content))"
    assert int(there.run("-c", page)) > 100


def the_rest_is_an_extra_for_users(there: Elsewhere, wheel: Path) -> None:
    """Every module can be loaded but the estimators and the server, which lack what their extras declare."""
    lacking = there.lacking("dither")
    assert lacking.pop("dither.sklearn") == "sklearn"
    assert {module: lacking.pop(module, None) for module in ACCESSORS} == ACCESSORS
    assert "pip install 'dither[sklearn]'" in there.run("-c", "import dither.sklearn", code=1)
    assert {module.rpartition(".")[0] for module in lacking} == {"dither.interfaces.http"}, lacking
    assert set(lacking.values()) <= {canonicalize_name(one.name) for one in declared_by(wheel, "server")}
    assert "pip install 'dither[server]'" in there.dither("serve", code=2)


def the_product_serves(there: Elsewhere) -> None:
    """One private question over HTTP with an analyst's token; the server ends when it is asked to."""
    assert there.lacking("dither") == ACCESSORS
    curator = CuratorProcess(with_dataset(there.folder / "home"))
    curator.python, curator.environment = there.python, there.environment
    curator.start()
    try:
        token = curator.token("analyst")
        path = "/v1/datasets/pay/releases"
        assert curator.call("POST", path, median(), None)[0] == 401
        status, payload, _ = curator.call("POST", path, median(), token)
        spent = curator.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"]
    finally:
        code = curator.stop()
    assert status == 200, payload
    (release,) = payload["releases"]
    low, high = release["interval"]
    assert low <= release["value"] <= high
    assert spent == 0.1
    assert code == 0, curator.logs()


def the_laboratory_audits(there: Elsewhere) -> None:
    """Its commands have help, and the audit finds nothing: a part of it here, all of it where tests may be long."""
    assert str(there.site) in there.run("-c", "import dither_lab; print(dither_lab.__file__)")
    lacking = there.lacking("dither_lab")
    assert {module.rpartition(".")[0] for module in lacking} <= {"dither_lab.bench.workers"}, lacking
    for command in ("audit", "bench", "reproduce"):
        assert f"Usage: dither {command}" in there.dither(command, "--help")
    part = () if trials(0, 1) else ("count", "--mechanism", "worst_case")
    assert "no finding" in there.dither("audit", *part, "--quick", "--workers", "1" if part else "2")
