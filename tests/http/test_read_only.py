"""A package that cannot be written to, run by a user without a home: what the shipped systemd unit makes of it."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import dither
from conftest import missing
from curators import CuratorProcess, until, with_dataset

pytestmark = pytest.mark.slow

NOBODY = 65534
GRAPH = """[dataset]
source = "friends.csv"

[graph]
vertices = 30
ends = ["a", "b"]

[budget]
epsilon = 10
"""
CACHED = """
from dither.kernels import adjacency
print(adjacency.__file__)
print(adjacency.compressed.dispatcher().stats.cache_path)
import numpy as np
print(adjacency.compressed(np.array([[0, 1], [1, 2]]), 3)[0].tolist())
"""


class Bare:
    """A read-only copy of the package, folders that another user may write to, and how to run something there."""

    def __init__(self, folder: Path) -> None:
        self.package = folder / "install"
        shutil.copytree(
            Path(dither.__file__).parent, self.package / "dither", ignore=shutil.ignore_patterns("__pycache__")
        )
        for path in (self.package, *self.package.rglob("*")):
            path.chmod(path.stat().st_mode & ~0o222)
        self.temporary = folder / "tmp"
        self.temporary.mkdir(mode=0o700)
        self.before: list[str] = []
        self.environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(self.package),
            "HOME": str(self.package / "no" / "home"),
            "TMPDIR": str(self.temporary),
        }
        if os.geteuid() == 0:  # root may write everywhere: somebody else, who may read everything
            if shutil.which("setpriv") is None:
                missing("needs setpriv (Debian: util-linux)")
            other = [
                "setpriv",
                "--pdeathsig",
                "KILL",
                f"--reuid={NOBODY}",
                f"--regid={NOBODY}",
                "--clear-groups",
            ]
            self.before = [*other, "--bounding-set=-all", "--"]
            self.give(self.temporary)
            again = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import dither'], check=True)"
            if self.run(again).returncode:  # others may not run the interpreter, or not read its packages
                only = "dac_read_search"
                self.before = [
                    *other,
                    f"--inh-caps=+{only}",
                    f"--ambient-caps=+{only}",
                    f"--bounding-set=-all,+{only}",
                    "--",
                ]
        done = self.run("import os; open(os.environ['PYTHONPATH'] + '/dither/written', 'w')")
        if "PermissionError" not in done.stderr:
            missing(f"needs a user who may not write to the package: {done.stderr[-200:]}")

    def give(self, path: Path) -> None:
        """Make the user of this test the owner."""
        if os.geteuid() == 0:
            for one in (path, *path.rglob("*")):
                os.chown(one, NOBODY, NOBODY)

    def run(self, program: str) -> subprocess.CompletedProcess[str]:
        """What a program of Python prints there."""
        return subprocess.run(
            [*self.before, sys.executable, "-c", program],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            timeout=300,
        )


@pytest.fixture
def bare():
    """Conditions of the unit, in a folder that others may enter (those of pytest are closed)."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        made = Bare(Path(folder))
        yield made
        for path in (made.package, *made.package.rglob("*")):  # so that it can be removed
            path.chmod(path.stat().st_mode | stat.S_IWUSR)


def test_compiled_code_is_kept_among_temporary_files(bare):
    """In a folder of one's own: closed to others, and found again by the next process."""
    first, second = bare.run(CACHED), bare.run(CACHED)
    assert first.returncode == 0, first.stderr
    assert first.stderr == ""
    source, cache, answer = first.stdout.splitlines()
    assert Path(source).is_relative_to(bare.package)
    assert answer == "[0, 1, 3, 4]"
    assert Path(cache).is_relative_to(bare.temporary)
    (folder,) = bare.temporary.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.rglob("adjacency.compressed-*.nbi"))
    assert second.stdout == first.stdout


def test_a_folder_that_others_could_write_to_is_not_trusted(bare):
    """What lies there would be run as code; without such a folder every process compiles for itself, and answers."""
    owner = NOBODY if os.geteuid() == 0 else os.geteuid()
    parents = {}
    for case in ("good", "open to others", "a link", "a file", "of somebody else", "no sticky bit", "not writable"):
        parents[case] = bare.temporary / case
        parents[case].mkdir(mode=0o700)
    folder = {case: parent / f"dither-kernels-{owner}" for case, parent in parents.items()}
    folder["open to others"].mkdir()
    folder["open to others"].chmod(0o770)
    folder["a link"].symlink_to("elsewhere")
    (parents["a link"] / "elsewhere").mkdir(mode=0o700)
    folder["a file"].touch(mode=0o600)
    folder["of somebody else"].mkdir(mode=0o700)
    parents["no sticky bit"].chmod(0o777)
    bare.give(bare.temporary)
    if os.geteuid() == 0:
        os.chown(folder["of somebody else"], 0, 0)
    else:
        del parents["of somebody else"]
    parents["not writable"].chmod(0o500)
    listed = {case: str(parent) for case, parent in parents.items()}
    done = bare.run(
        "import tempfile\nfrom dither.kernels.compiled import private_folder\n"
        f"for case, tempfile.tempdir in {listed}.items():\n"
        "    print(case, private_folder() is not None, sep=':')" + CACHED
    )
    assert done.returncode == 0, done.stderr
    *found, _, cache, answer = done.stdout.splitlines()
    assert found == [f"{case}:{case == 'good'}" for case in parents]
    assert (cache, answer) == ("None", "[0, 1, 3, 4]")


def test_the_curator_starts_and_answers(bare):
    """Statistics of a table and of a graph, whose kernels are compiled."""
    home = with_dataset(bare.package.parent / "home", epsilon=10)
    (home / "datasets" / "friends.toml").write_text(GRAPH)
    edges = "".join(f"{one},{other}\n" for one in range(30) for other in range(one) if (one * other) % 3 == 0)
    (home / "data" / "friends.csv").write_text("a,b\n" + edges)
    home.chmod(0o700)
    bare.give(home)
    server = CuratorProcess(home)
    server.before, server.environment = bare.before, bare.environment
    server.start()
    try:
        for dataset, query in (("pay", {"kind": "median", "column": "pay"}), ("friends", {"kind": "triangles"})):
            body = {"query": query, "epsilon": 1, "wait": False}
            status, payload, headers = server.call("POST", f"/v1/datasets/{dataset}/releases", body)
            assert status == 202, payload
            until(lambda place=headers["Location"]: server.call("GET", place)[1]["state"] != "running")
            job = server.call("GET", headers["Location"])[1]
            assert job["state"] == "done", job
    finally:
        server.stop()
    assert "Traceback" not in server.logs()
