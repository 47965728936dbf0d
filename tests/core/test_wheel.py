"""The wheel holds everything that the tree has, and works where there is no tree."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from conftest import missing

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel, built from this tree by its own build backend."""
    folder = tmp_path_factory.mktemp("wheel")
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        missing(f"needs the build backend: {done.stderr[-300:]}")
    return next(folder.glob("dither-*.whl"))


def test_everything_of_the_package_is_in_the_wheel(wheel):
    """Modules, the page's files, the marker for type checkers, the licence; nothing else."""
    held = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "src" / "dither"
    files = {
        f"dither/{path.relative_to(package).as_posix()}"
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files == {name for name in held if name.startswith("dither/")}
    assert any(name.endswith("static/index.html") for name in files)
    assert "dither/py.typed" in files
    assert {name.partition("/")[0].partition(".")[0].partition("-")[0] for name in held} == {"dither"}


def test_the_wheel_works_outside_of_the_tree(wheel, tmp_path):
    """In a fresh environment that sees the dependencies of this one: import, help, demo, a server's page."""
    folder = tmp_path / "env"
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    site = next(folder.glob("lib/python*/site-packages"))
    # Dependencies are lent by this environment; an editable install of dither must not be.
    lent = sysconfig.get_paths()["purelib"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", site, str(wheel)], check=True
    )
    (site / "lent.pth").write_text(f"import sys; sys.path.append({lent!r})\n")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment["MPLCONFIGDIR"] = str(tmp_path)

    def run(*words):
        done = subprocess.run(
            [python, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert str(site) in run("-c", "import dither; print(dither.__file__)")
    assert "ask" in run("-m", "dither", "--help")
    assert "median pay" in run("-m", "dither", "demo")
    assert (tmp_path / "demo-output" / "payroll.png").stat().st_size > 5_000
    page = "from dither.interfaces.web.page import page_files; print(len(page_files()['index.html'].content))"
    assert int(run("-c", page)) > 100
