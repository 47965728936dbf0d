"""What runs where: arrays, files, sessions and ``dither ask`` on any system; programs and ``serve`` on Linux only.

Each test is a process of its own in which the modules and functions that other systems lack are hidden.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog")
FUNCTIONS = (
    *("fork", "forkpty", "geteuid", "getuid", "getegid", "getgid", "register_at_fork", "memfd_create", "pidfd_open"),
    *("sched_getaffinity", "pread", "pwrite", "killpg", "setsid", "mkfifo", "fchmod", "fchown", "chown", "getpgid"),
    *("wait4", "O_DIRECTORY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_PATH"),
)

_HIDE = f"""
import os, sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name in {MODULES!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

for name in {MODULES!r}:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Hidden())
for name in {FUNCTIONS!r}:
    if hasattr(os, name):
        delattr(os, name)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A CSV and a Parquet file of 1,000 rows, each with its schema."""
    (tmp_path / "pay.csv").write_text("pay\n" + "".join(f"{i % 100}\n" for i in range(1000)), encoding="utf-8")
    pq.write_table(pa.table({"pay": [float(i % 100) for i in range(1000)]}), tmp_path / "pay.parquet")
    for name in ("csv", "parquet"):
        (tmp_path / f"{name}.toml").write_text(
            f'version = 2\n[dataset]\nsource = "pay.{name}"\nrows = 1000\n[budget]\nepsilon = 1\n'
            '[columns.pay]\ntype = "real"\nbounds = [0, 100]\n',
            encoding="utf-8",
        )
    return tmp_path


def elsewhere(folder: Path, program: str) -> "subprocess.CompletedProcess[str]":
    """A program in a process that has nothing of Linux's own."""
    return subprocess.run(
        [sys.executable, "-c", f"{_HIDE}\n{program}"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def printed(folder: Path, program: str) -> list[str]:
    """What it prints; it must succeed."""
    done = elsewhere(folder, program)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split()


def test_every_module_but_those_of_programs_and_servers_is_imported_anywhere(folder: Path) -> None:
    """No module that answers questions needs a part of Linux, used or not."""
    names = printed(
        folder,
        """
import importlib, pkgutil, dither
own = ("dither.interfaces.http", "dither.sandbox.fork_server", "dither.sandbox.frozen", "dither.sandbox.launch")
for item in pkgutil.walk_packages(dither.__path__, "dither.", onerror=print):
    if not item.name.startswith(own) and not item.name.endswith("__main__"):
        importlib.import_module(item.name)
        print(item.name)
""",
    )
    assert {"dither.api", "dither.sandbox.pool", "dither.interfaces.cli.main", "dither.ledger.sqlite"} <= set(names)


def test_arrays_and_files_with_durable_ledgers_are_answered_anywhere(folder: Path) -> None:
    """Medians of lists, of a CSV and of a Parquet file, whose ledgers remember the charge."""
    numbers = printed(
        folder,
        """
import dither as dt
print(dt.median([1.0, 2.0, 3.0] * 100, bounds=(0, 10), epsilon=1).value)
for name in ("csv", "parquet"):
    with dt.open(f"{name}.toml") as session:
        print(session.ask(dt.Median("pay"), epsilon=0.75).value)
    with dt.open(f"{name}.toml") as session:
        try:
            session.ask(dt.Median("pay"), epsilon=0.75, again=True)
        except dt.BudgetExceeded:
            print("exceeded")
""",
    )
    assert numbers[2] == numbers[4] == "exceeded"
    assert all(0 <= float(number) <= 100 for number in (numbers[0], numbers[1], numbers[3]))


@pytest.mark.slow
def test_the_ledger_admits_no_more_than_the_budget_anywhere(folder: Path) -> None:
    """SQLite's own locks: of six processes that spend half of a budget each, two are answered."""
    ask = """
import dither as dt
with dt.open("csv.toml") as session:
    try:
        session.ask(dt.Median("pay"), epsilon=0.5, again=True)
        print("answered")
    except dt.BudgetExceeded:
        print("exceeded")
"""
    with ThreadPoolExecutor(6) as pool:
        outcomes = [word for words in pool.map(lambda _: printed(folder, ask), range(6)) for word in words]
    assert sorted(outcomes) == ["answered"] * 2 + ["exceeded"] * 4


_COMMANDS = """
from dither.interfaces.cli.main import main
for words in {commands!r}:
    sys.argv = ["dither", *words]
    try:
        main()
    except SystemExit as end:
        print("exit=" + str(end.code))
"""


@pytest.mark.slow
def test_dither_ask_answers_anywhere(folder: Path) -> None:
    """A CSV, a Parquet file and a schema file with its ledger."""
    bounds = ["--bounds", "0", "100"]
    commands = [
        ["ask", "pay.csv", "median(pay)", "--epsilon", "0.5", *bounds],
        ["ask", "pay.parquet", "median(pay)", "--epsilon", "0.5", *bounds],
        ["ask", "csv.toml", "median(pay)", "--epsilon", "0.5"],
    ]
    words = printed(folder, _COMMANDS.format(commands=commands))
    assert words.count("exit=0") == len(commands)


@pytest.mark.slow
def test_programs_and_servers_refuse_in_one_sentence_elsewhere(folder: Path) -> None:
    """They name what they need, and nothing is charged or written."""
    (folder / "own.py").write_text("def mean(rows):\n    return 1.0\n", encoding="utf-8")
    commands = [
        ["serve", "--home", "home"],
        ["run", "csv.toml", "own.py:mean", "--bounds", "0", "100", "--epsilon", "1"],
    ]
    program = (
        _COMMANDS.format(commands=commands) + "import dither as dt\nprint(dt.open('csv.toml').budget.spent.epsilon)"
    )
    done = elsewhere(folder, program)
    assert done.stdout.split() == ["exit=2", "exit=2", "0.0"], done.stdout
    serve, run = " ".join(done.stderr.split()).removeprefix("error: ").split(" error: ")
    assert serve == "dither serve does not run here: Linux is needed, and this Python has no fcntl; nothing was started"
    assert run.startswith("programs are not run here, isolation does not hold: Linux is needed, and this Python has no")
    assert run.endswith("nothing was read, nothing was charged")
    assert not (folder / "home").exists()


@pytest.mark.slow
def test_sample_and_aggregate_refuses_elsewhere_and_names_the_trusted_way(folder: Path) -> None:
    """The same sentence in Python; the owner's own functions run without isolation."""
    words = printed(
        folder,
        """
import dither as dt
rows = [[float(i % 100)] for i in range(2000)]
def mean(block):
    return float(block.mean())
try:
    dt.sample_and_aggregate(rows, mean, blocks=20, bounds=(0, 100), epsilon=1)
except dt.errors.NotIsolated as error:
    print(error)
print(dt.sample_and_aggregate(rows, mean, blocks=20, bounds=(0, 100), epsilon=1, executor="trusted").value)
""",
    )
    sentence = " ".join(words[:-1])
    assert "isolation does not hold: Linux is needed" in sentence
    assert "executor='trusted'" in sentence
    assert 0 <= float(words[-1]) <= 100
