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


MOST_IMPORTED = 60
"""Modules that ``import dither`` may load beyond those of a bare Python, all of the standard library: it loads 39,
which take 0.02 s of processor time."""
MOST_FOR_HELP = 220
"""The same for ``dither --help``, of the standard library and click: it loads 160, which take 0.11 s."""


def modules_of(code):
    """The modules that a fresh Python has loaded after some code, without those that it loads for no code."""
    script = f"import sys\nbare = set(sys.modules)\n{code}\nprint(*sorted(set(sys.modules) - bare))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


def loaded_by(code):
    """The top-level packages, and our own modules, that some code loads."""
    modules = modules_of(code)
    return {name.partition(".")[0] for name in modules}, [name for name in modules if name.startswith("dither")]


def command(words):
    """A command of dither as code."""
    run = f"sys.argv = ['dither', *{words.split()!r}]\nfrom dither.interfaces.cli.main import main\n"
    return run + "try:\n    main()\nexcept SystemExit:\n    pass"


def test_import_dither_loads_nothing_slow():
    """Public names are loaded when they are first used."""
    packages, own = loaded_by("import dither")
    assert not packages & SLOW
    assert own == ["dither"]


def test_import_dither_and_help_load_few_modules():
    """Nothing but the standard library, and click for commands; few modules of these."""
    for code, guests, most in (
        ("import dither", set(), MOST_IMPORTED),
        (command("--help"), {"click", "colorama", "dither_lab"}, MOST_FOR_HELP),
    ):
        modules = modules_of(code)
        packages = {name.partition(".")[0] for name in modules}
        assert packages - sys.stdlib_module_names <= {"dither", *guests}
        assert len(modules) <= most, modules


@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", ["--help", "ask --help", "quote --help", "register --help", "serve --help"])
def test_help_loads_nothing_slow(words):
    """Commands import what they need when they run, not when their help is read."""
    packages, own = loaded_by(command(words))
    assert not packages & SLOW
    quick = ("dither.interfaces", "dither.errors", "dither_lab.commands")
    assert all(name.startswith(quick) or name in {"dither", "dither_lab"} for name in own)


@pytest.mark.slow
@pytest.mark.parametrize("words", ["", "--by job --column job=category:clerk:nurse"], ids=["file", "engine"])
def test_a_question_about_a_short_file_loads_no_compiler(tmp_path, words):
    """Nor scipy or pandas, whatever stands in the file: quoted entries, missing ones, and what is no number."""
    lines = ['"1",clerk', ",nurse", '"2"",nurse', "3,clerk", "4", '"x""5",clerk'] * 50
    (tmp_path / "x.csv").write_text("\n".join(["pay,job", *lines]) + "\n")
    asked = f"ask {tmp_path / 'x.csv'} median(pay) --bounds 0 9 --epsilon 1 {words}"
    packages, _ = loaded_by(command(asked))
    assert "pyarrow" in packages
    assert not packages & {"numba", "pandas", "scipy"}


@pytest.mark.slow
def test_the_count_can_fail():
    """A median needs numpy: the list would show it."""
    packages, own = loaded_by("import dither\ndither.median([1.0, 2.0], bounds=(0, 3), epsilon=1.0)")
    assert "numpy" in packages
    assert len(own) > 20
    assert len(modules_of("import dither\ndither.median")) > MOST_IMPORTED
