"""Copies of a home on one ledger in PostgreSQL: their files are the same data, and share a budget."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from curators import CuratorProcess, median, with_dataset
from dither.errors import Contradiction
from dither.interfaces.http.dataset_worker import Sources
from dither.interfaces.http.worker_sessions import session_in
from dither.ledger import MemoryLedger, PostgresLedger, open_ledger
from dither.sources.schema_file import read_schema

ASK = "/v1/datasets/pay/releases"
TABLE = """version = 2
[dataset]
source = "{source}"
rows = 2
[budget]
epsilon = 1
[columns.x]
type = "integer"
bounds = [0, 9]
"""
IN_SQLITE = TABLE.replace('source = "{source}"', 'source = "x.db"\ntable = "t"\nengine = "sqlite"')
GRAPH = 'version = 2\n[dataset]\nsource = "edges.csv"\n[graph]\nvertices = 4\n[budget]\nepsilon = 1\n'
LINKED = """version = 2
[dataset]
person = "people"
rows_per_unit = 2
[budget]
epsilon = 1
[tables.people]
source = "people.csv"
key = "id"
[tables.visits]
source = "visits.csv"
links = { person = "people" }
[tables.visits.columns.cost]
type = "integer"
bounds = [0, 9]
"""


def data(home: Path) -> Path:
    """A folder with sources of every sort that a server reads from files."""
    folder = home / "data"
    (folder / "below").mkdir(parents=True)
    for name in ("x.csv", "below/x.csv"):
        (folder / name).write_text("x\n1\n2\n")
    (folder / "linked.csv").symlink_to("x.csv")
    (folder / "edges.csv").write_text("source,target\n0,1\n")
    (folder / "people.csv").write_text("id\n1\n2\n")
    (folder / "visits.csv").write_text("person,cost\n1,2\n")
    with sqlite3.connect(folder / "x.db") as connection:
        connection.execute("CREATE TABLE t (x INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)])
    connection.close()
    return folder


def marks(folder: Path, text: str) -> list[str]:
    """As the worker of a server says them."""
    return Sources(read_schema(text, "x.toml", folder=str(folder))).opened()


@pytest.mark.parametrize(
    "text",
    [TABLE.format(source="x.csv"), TABLE.format(source="below/x.csv"), IN_SQLITE, GRAPH, LINKED],
    ids=["table", "folder", "sqlite", "graph", "linked"],
)
def test_copies_have_a_mark_in_common(tmp_path, text):
    """The first; the second is the path of each, by which other programs may know the file."""
    here, there = (marks(data(tmp_path / home), text) for home in ("here", "there"))
    assert here[0] == there[0]
    assert len({*here, *there}) == 3
    assert str(tmp_path) not in here[0]


def test_other_files_have_other_marks(tmp_path):
    """In one home each file has its own; two names of one file have the same, and so has a folder that is a link."""
    folder = data(tmp_path / "here")
    (tmp_path / "link").symlink_to(folder)
    outside = tmp_path / "x.csv"
    shutil.copy(folder / "x.csv", outside)
    (folder / "outside.csv").symlink_to(outside)
    found = {
        name: marks(folder, TABLE.format(source=name))
        for name in ("x.csv", "below/x.csv", "linked.csv", "below/../x.csv", "outside.csv", str(folder / "x.csv"))
    }
    assert found["linked.csv"] == found["below/../x.csv"] == found[str(folder / "x.csv")] == found["x.csv"]
    assert marks(tmp_path / "link", TABLE.format(source="x.csv")) == found["x.csv"]
    assert not {*found["x.csv"]} & {*found["below/x.csv"]}
    assert found["outside.csv"] == [f"file:{outside.resolve()}"]


class Opened:
    """A worker that has opened a source."""

    def __init__(self, *marks):
        self.marks = [*marks]

    def opened(self, **_):
        """What the worker of a dataset replies."""
        return {"marks": self.marks}


def test_only_ledgers_of_several_servers_know_copies(postgres_schema):
    """Homes that share a file as their ledger are different homes, whatever their files are called."""
    schema = read_schema(TABLE.format(source="x.csv"), "x.toml", name="x")
    here, there, other = (
        Opened("data:x.csv", "file:/here/x.csv"),
        Opened("data:x.csv", "file:/there/x.csv"),
        Opened("data:y.csv", "file:/there/y.csv"),
    )
    with PostgresLedger(postgres_schema) as ledger:
        for worker in (here, there):
            session_in(worker, schema, ledger)
        with pytest.raises(Contradiction):
            session_in(other, schema, ledger)
        assert ledger.verify().ok
    with MemoryLedger() as ledger:
        session_in(here, schema, ledger)
        with pytest.raises(Contradiction):
            session_in(there, schema, ledger)


@pytest.fixture
def start(tmp_path, postgres_schema):
    """Starts servers on one ledger; the first makes the token of the owner."""
    started = []

    def build(home):
        server = CuratorProcess(home, ledger=postgres_schema).start()
        server.tokens.update(started[0].tokens if started else {})
        started.append(server)
        return server

    yield build
    for server in started:
        server.stop()


@pytest.mark.slow
def test_servers_over_copies_share_a_budget(tmp_path, start, postgres_schema):
    """Both answer, from one budget; a name that one of them adds for the same file is noticed by both."""
    home = with_dataset(tmp_path / "here", epsilon=1.0)
    shutil.copytree(home, tmp_path / "there")
    here, there = start(home), start(tmp_path / "there")
    for server, spent in ((here, 0.25), (there, 0.5), (here, 0.75)):
        status, payload, _ = server.call("POST", ASK, median(0.25, again=True))
        assert status == 200, payload
        for each in (here, there):
            assert each.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"] == spent
    assert here.call("POST", ASK, median(0.25))[1]["releases"] == there.call("POST", ASK, median(0.25))[1]["releases"]
    for each in (here, there):
        assert each.call("GET", "/v1/datasets/pay")[1]["source_changed"] is False
    text = (home / "datasets" / "pay.toml").read_text()
    status, payload, _ = there.call("POST", "/v1/datasets", {"name": "wages", "schema": text})
    assert status == 201, payload
    assert there.call("GET", "/v1/datasets/wages/budget")[1]["left"]["epsilon"] == 0.25
    more = {"name": "more", "schema": text.replace("epsilon = 1.0", "epsilon = 2.0")}
    assert there.call("POST", "/v1/datasets", more)[0] == 409
    with open_ledger(postgres_schema) as ledger:
        assert ledger.verify().ok


@pytest.mark.slow
def test_a_home_with_other_files_is_refused_or_said(tmp_path, start):
    """Another file name under a registered name is refused; another file of that name is said to owners and logged."""
    home = with_dataset(tmp_path / "here", epsilon=1.0)
    first = start(home)
    assert first.call("POST", ASK, median(0.25))[0] == 200
    renamed = with_dataset(tmp_path / "renamed", epsilon=1.0)
    (renamed / "data" / "pay.csv").rename(renamed / "data" / "wages.csv")
    schema = renamed / "datasets" / "pay.toml"
    schema.write_text(schema.read_text().replace("pay.csv", "wages.csv"))
    status, payload, _ = start(renamed).call("POST", ASK, median(0.25))
    assert (status, payload["code"]) == (409, "contradiction"), payload
    other = with_dataset(tmp_path / "other", epsilon=1.0)
    with (other / "data" / "pay.csv").open("a") as out:
        out.write("1,clerk\n")
    server = start(other)
    assert server.call("POST", ASK, median(0.25))[0] == 200  # the stored answer, which costs nothing
    assert server.call("GET", "/v1/datasets/pay")[1]["source_changed"] is True
    assert '"source changed"' in server.logs()
