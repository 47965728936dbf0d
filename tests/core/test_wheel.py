"""The wheels of the product and of its laboratory hold what the tree has, and work where there is no tree."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from conftest import missing, trials

ROOT = Path(__file__).parents[2]
PARTS = {"dither": ROOT, "dither_lab": ROOT / "lab"}
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """One wheel for each distribution, built from this tree by its own build backend."""
    folder = tmp_path_factory.mktemp("wheels")
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder)]
    done = subprocess.run([*words, *map(str, PARTS.values())], capture_output=True, text=True, check=False)
    if done.returncode:
        missing(f"needs the build backend: {done.stderr[-300:]}")
    return {name: next(folder.glob(f"{name}-*.whl")) for name in PARTS}


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


class Elsewhere:
    """A fresh environment outside of the tree that sees the dependencies of this one and no dither of its own."""

    def __init__(self, folder: Path):
        self.folder = folder
        venv.create(folder / "env", with_pip=False)
        self.python = folder / "env" / "bin" / "python"
        self.site = next(folder.glob("env/lib/python*/site-packages"))
        lent = folder / "lent"
        lent.mkdir()
        for one in Path(sysconfig.get_paths()["purelib"]).iterdir():
            if "dither" not in one.name:
                (lent / one.name).symlink_to(one)
        (self.site / "lent.pth").write_text(f"{lent}\n")
        self.environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        self.environment["MPLCONFIGDIR"] = str(folder)

    def install(self, wheel: Path) -> None:
        """Without its dependencies."""
        words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", self.site, str(wheel)]
        subprocess.run(words, check=True)

    def run(self, *words, code=0):
        """What a command prints."""
        done = subprocess.run(
            [self.python, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr


def test_the_product_works_without_the_laboratory_and_with_it(wheels, tmp_path):
    """Import, help, demo, an answer, a page; the laboratory's commands say how to get them, and then they run."""
    there = Elsewhere(tmp_path)
    there.install(wheels["dither"])
    assert str(there.site) in there.run("-c", "import dither; print(dither.__file__)")
    assert "ask" in there.run("-m", "dither", "--help")
    assert "median pay" in there.run("-m", "dither", "demo")
    assert (tmp_path / "demo-output" / "payroll.png").stat().st_size > 5_000
    (tmp_path / "ages.csv").write_text("age\n" + "\n".join(map(str, range(20, 80))))
    asked = ("-m", "dither", "ask", "ages.csv", "median(age)", "--bounds", "0", "120", "--epsilon", "1", "--json")
    assert 0 <= json.loads(there.run(*asked))["value"] <= 120
    page = "from dither.interfaces.web.page import page_files; print(len(page_files()['index.html'].content))"
    assert int(there.run("-c", page)) > 100
    assert "pip install 'dither-lab'" in there.run("-m", "dither", "audit", "--quick", code=2)

    there.install(wheels["dither_lab"])
    assert str(there.site) in there.run("-c", "import dither_lab; print(dither_lab.__file__)")
    whole = trials(0, 1)
    output = there.run(
        "-m", "dither", "audit", *([] if whole else ["count", "--mechanism", "worst_case"]), "--quick", "--workers", "2"
    )
    assert "no finding" in output
