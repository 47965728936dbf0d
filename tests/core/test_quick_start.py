"""Doors open quickly: what ``import dither`` and ``dither --help`` load is counted, not timed."""

import subprocess
import sys

import pytest

SLOW = {
    "cryptography",
    "duckdb",
    "flint",
    "igraph",
    "matplotlib",
    "networkx",
    "numba",
    "numpy",
    "pandas",
    "polars",
    "psycopg",
    "pyarrow",
    "pydantic",
    "pyspark",
    "ray",
    "rich",
    "scipy",
    "sklearn",
    "sqlglot",
    "starlette",
    "uvicorn",
}
"""Each of these takes a tenth of a second or more."""


def loaded_by(code):
    """The top-level packages, and the number of our own modules, that a fresh Python has loaded after some code."""
    script = f"{code}\nimport sys\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    modules = done.stdout.splitlines()[-1].split()
    return {name.partition(".")[0] for name in modules}, [name for name in modules if name.startswith("dither")]


def test_import_dither_loads_nothing_slow():
    """Public names are loaded when they are first used."""
    packages, own = loaded_by("import dither")
    assert not packages & SLOW
    assert own == ["dither"]


@pytest.mark.parametrize("words", ["--help", "ask --help", "quote --help", "register --help", "serve --help"])
def test_help_loads_nothing_slow(words):
    """Commands import what they need when they run, not when their help is read."""
    run = f"import sys\nsys.argv = ['dither', *{words.split()!r}]\nfrom dither.interfaces.cli.main import main\n"
    packages, own = loaded_by(run + "try:\n    main()\nexcept SystemExit:\n    pass")
    assert not packages & SLOW
    quick = ("dither.interfaces", "dither.errors", "dither_lab.commands")
    assert all(name.startswith(quick) or name in {"dither", "dither_lab"} for name in own)


def test_the_count_can_fail():
    """A median needs numpy: the list would show it."""
    packages, own = loaded_by("import dither\ndither.median([1.0, 2.0], bounds=(0, 3), epsilon=1.0)")
    assert "numpy" in packages
    assert len(own) > 20
