"""``dither run`` and ``dither clusters``: programs and clusters of registered datasets from the shell."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import dither as dt
from dither.interfaces.cli.main import main
from dither.queries.tables import made_up_rows
from dither.sources.schema import Schema

pytest.importorskip("pyarrow")

# On a busy machine drawing blocks may take longer than planned, which the owner is warned of.
pytestmark = pytest.mark.filterwarnings("ignore:reading and drawing the blocks")

SCHEMA = """
[dataset]
source = "shops.csv"
rows = 3000

[budget]
epsilon = 50
delta = 1e-5

[columns.x]
type = "real"
bounds = [-10, 10]

[columns.y]
type = "real"
bounds = [-10, 10]
"""
PROGRAM = """
def middle(rows):
    return [rows["x"].to_numpy().mean(), rows["y"].to_numpy().mean()]

def broken(rows):
    return rows["z"]
"""
CENTRES = np.array([(-5.0, -5.0), (5.0, 5.0)])


@pytest.fixture
def shops(tmp_path):
    """A registered dataset of two blobs, and a file of programs beside it."""
    rng = np.random.default_rng(1)
    points = CENTRES[np.arange(3000) % 2] + rng.normal(0, 0.5, (3000, 2))
    lines = "\n".join(f"{x:.4f},{y:.4f}" for x, y in points)
    (tmp_path / "shops.csv").write_text(f"x,y\n{lines}\n", encoding="utf-8")
    (tmp_path / "shops.toml").write_text(SCHEMA, encoding="utf-8")
    (tmp_path / "programs.py").write_text(PROGRAM, encoding="utf-8")
    return tmp_path


def called(folder, *arguments):
    """Exit code and what was printed; the name of a file in the folder becomes its path."""
    paths = [str(folder / one) if (folder / one.partition(":")[0]).exists() else one for one in arguments]
    done = CliRunner().invoke(main, paths)
    return done.exit_code, done.output


RUN = [
    "run",
    "shops.toml",
    "programs.py:middle",
    "--output",
    "2",
    "--bounds",
    "-10",
    "10",
    "--blocks",
    "40",
    "--slot",
    "0.5",
    "--preload",
    "pyarrow",
]


@pytest.mark.slow
def test_a_program_is_run_and_paid_for(shops, isolated):
    """The answer, its price, and what is left; the same question again is free."""
    code, output = called(shops, *RUN, "--epsilon", "40", "--confidence", "none", "--json")
    assert code == 0, output
    made = json.loads(output.splitlines()[-1])
    assert np.abs(made["releases"][0]["value"]).max() < 2
    assert made["budget"]["spent"]["epsilon"] == 40
    code, again = called(shops, *RUN, "--epsilon", "40", "--confidence", "none", "--json")
    assert json.loads(again.splitlines()[-1]) == made


def test_a_program_may_be_shown_no_files(shops, isolated):
    """What it imports is there all the same; what it opens is not."""
    code, output = called(shops, *RUN, "--epsilon", "1", "--no-files", "--dry-run")
    assert code == 0, output
    (shops / "reader.py").write_text("import os\n\ndef read(table):\n    return open(os.__file__).read(0) == ''\n")
    reader = ["run", "shops.toml", "reader.py:read", "--bounds", "0", "1", "--epsilon", "1", "--dry-run"]
    assert called(shops, *reader)[0] == 0
    code, output = called(shops, *reader, "--no-files")
    assert code != 0
    assert "FileNotFoundError" in output


@pytest.mark.slow
def test_a_dry_run_tries_the_program_and_charges_nothing(shops, isolated):
    """On rows made up from the schema; what is wrong with a program is said."""
    code, output = called(shops, *RUN, "--epsilon", "1", "--dry-run", "--json")
    assert code == 0, output
    plan = json.loads(output.splitlines()[-1])["plan"]
    assert (plan["blocks"], plan["aggregator"], plan["epsilon"]) == (40, "median", 1.0)
    assert "40 blocks are too few" in plan["advice"]
    code, output = called(shops, *RUN, "--epsilon", "20", "--step", "0.5", "--step", "1", "--dry-run", "--json")
    assert "advice" not in json.loads(output.splitlines()[-1])["plan"], output
    broken = [one.replace("middle", "broken") for one in RUN]
    code, output = called(shops, *broken, "--epsilon", "1", "--dry-run")
    assert code == 2
    assert "KeyError" in output
    assert not list(shops.glob("*.ledger")) or dt.open(shops / "shops.toml").budget.spent == dt.Loss(0.0)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (["--slot", "0.01"], "0.2"),
        (["--executor", "trusted"], "executor"),
        (["--blocks", "9999"], "blocks"),
        (["--metric", "matching:two"], "metric"),
        (["--columns", "nobody"], "columns"),
        (["--where", "nobody = 1"], "nobody"),
        (["--output", "3", "--bounds", "0", "1"], "bounds"),
        (["--default", "99"], "default"),
        (["--epsilon", "much"], "epsilon"),
    ],
)
def test_bad_options_are_named(shops, changed, message):
    """And nothing is charged."""
    code, output = called(shops, *RUN, *(["--epsilon", "1"] if "--epsilon" not in changed else []), *changed)
    assert code == 2, output
    assert message in output


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("programs.py:nobody", "function that the source defines"),
        ("nowhere.py:f", "source file"),
        ("programs.py", "FUNCTION"),
        ("nothing", "executed"),
    ],
)
def test_bad_programs_are_named(shops, program, message):
    """What is no program."""
    code, output = called(shops, "run", "shops.toml", program, "--bounds", "0", "1", "--epsilon", "1")
    assert code == 2, output
    assert message in output


@pytest.mark.slow
def test_clusters_of_a_registered_dataset(shops):
    """With the bounds of the schema."""
    code, output = called(shops, "clusters", "shops.toml", "-k", "2", "--epsilon", "4", "--delta", "1e-6", "--json")
    assert code == 0, output
    made = json.loads(output)
    assert np.abs(np.array(made["releases"][0]["value"]) - CENTRES).max() < 0.5
    assert made["budget"]["spent"] == {"epsilon": 4.0, "delta": 1e-6}
    code, output = called(
        shops, "clusters", "shops.toml", "-k", "2", "--mixture", "--columns", "x", "--epsilon", "4", "--delta", "1e-6"
    )
    assert code == 0, output
    assert "component 2" in output, output
    code, output = called(shops, "clusters", "shops.toml", "-k", "2", "--epsilon", "1")
    assert code == 2
    assert "delta" in output


def test_clusters_in_a_session():
    """Paid once, restored from the ledger, and refused where public facts do not suffice."""
    rng = np.random.default_rng(2)
    points = CENTRES[np.arange(3000) % 2] + rng.normal(0, 0.5, (3000, 2))
    table = {"x": points[:, 0], "y": points[:, 1], "job": ["clerk"] * 3000}
    columns = {"x": dt.Real(-10, 10), "y": dt.Real(-10, 10), "job": dt.Category(["clerk"])}
    session = dt.open(table, columns=columns, rows=3000, budget=dt.Budget(9.0, 1e-5))
    query = dt.KMeans(["x", "y"], k=2)
    release = session.ask(query, epsilon=4.0, delta=1e-6)
    assert np.abs(np.array(release.value) - CENTRES).max() < 0.5
    assert release.neighbours is session.schema.neighbours
    assert session.ask(query, epsilon=4.0, delta=1e-6) == release
    assert session.budget.spent == dt.Loss(4.0, 1e-6)
    for question, options, named in [
        (query, {"where": "x > 0"}, "where"),
        (query, {"by": "job"}, "by"),
        (query, {"mechanism": "smooth"}, "mechanism"),
        (dt.KMeans(["job"], k=2), {}, "columns"),
        (dt.KMeans(["nobody"], k=2), {}, "nobody"),
    ]:
        with pytest.raises(dt.DitherError, match=named):
            session.ask(question, epsilon=1.0, delta=1e-6, **options)
    private = dt.open(table, columns=columns, budget=dt.Budget(9.0, 1e-5))
    with pytest.raises(dt.DitherError, match="rows"):
        private.ask(query, epsilon=1.0, delta=1e-6)
    with pytest.raises(dt.DitherError, match="bounds"):
        dt.ask(query, table, epsilon=1.0, delta=1e-6)
    assert session.budget.spent == dt.Loss(4.0, 1e-6)


def test_made_up_rows_are_of_the_declared_types():
    """Every type of column, within its bounds, and not all alike."""
    columns = {
        "pay": dt.Real(-5, 5),
        "age": dt.Integer(0, 120),
        "job": dt.Category(["clerk", "nurse"]),
        "place": dt.Category(),
        "active": dt.Boolean(),
        "since": dt.Date("2015-01-01", "2025-01-01"),
    }
    rows = made_up_rows(Schema(None, columns), list(columns), 100)
    assert len(rows) == 100
    assert all(len(set(rows[name].to_pylist())) > 1 for name in columns)
    assert -5 <= min(rows["pay"].to_pylist()) < max(rows["pay"].to_pylist()) <= 5
    assert set(rows["job"].to_pylist()) == {"clerk", "nurse"}


@pytest.mark.slow
def test_a_program_that_fails_on_made_up_rows_is_not_paid_for(shops, isolated):
    """Otherwise its failures would count as the default, and the answer would look like one; --untried insists."""
    broken = [one.replace("middle", "broken") for one in RUN]
    code, output = called(shops, *broken, "--epsilon", "1")
    assert code == 2
    assert "KeyError" in output
    assert dt.open(shops / "shops.toml").budget.spent == dt.Loss(0.0)
    code, output = called(shops, *broken, "--epsilon", "1", "--untried")
    assert code == 0, output
    assert dt.open(shops / "shops.toml").budget.spent == dt.Loss(1.0)


@pytest.mark.parametrize(
    "command",
    [
        ["run", "shops.csv", "programs.py:middle", "--bounds", "0", "1", "--epsilon", "1"],
        ["clusters", "shops.csv", "-k", "2", "--epsilon", "1", "--delta", "1e-6"],
    ],
)
def test_data_in_the_place_of_a_schema_are_refused_unread(shops, command):
    """By their name: an error that points into the text would show a record of a file without a header."""
    (shops / "shops.csv").write_text("mary smith,91000\n", encoding="utf-8")
    code, output = called(shops, *command)
    assert code == 2
    assert "dither register" in output
    assert "mary" not in output
    code, output = called(shops, "quote", "shops.csv", "median(x)", "--epsilon", "1")
    assert code == 2
    assert "rows is missing" in output
    assert "mary" not in output
