"""One account, one neighbour relation: set once and chained; another one is refused before anything is charged."""

import contextlib
import re
import sqlite3
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

import dither as dt
from dither.errors import Contradiction, LedgerDamaged, LedgerUnavailable
from dither.interfaces.cli.main import main
from dither.ledger import MemoryLedger, PostgresLedger, SqliteLedger, open_ledger
from dither.ledger.entries import canonical, chained
from dither.privacy import Budget, Loss, Neighbours, Relation
from dither.sources.graph_schema import GraphSchema

OLD = Path(__file__).with_name("ledger_0_1_0.sql").read_text(encoding="utf-8")
"""A ledger that version 0.1.0 wrote, as text."""
ROWS, PRIVATE_ROWS = Relation(Neighbours.CHANGE_ONE), Relation(Neighbours.ADD_REMOVE_CHANGE)
PEOPLE = Relation(Neighbours.PERSON, ("u",), 10)
PAY = {"budget": Budget(1.0, 1e-6), "filter": "advanced"}


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Where a ledger may be."""
    return str(tmp_path / "ledger.db") if request.param == "sqlite" else request.getfixturevalue("postgres_schema")


def of_version_1(place):
    """Lay the old ledger there."""
    if not place.startswith("postgresql"):
        with contextlib.closing(sqlite3.connect(place)) as connection:
            connection.executescript(OLD)
        return place
    import psycopg

    statements = re.findall(r"^(?:CREATE (?:UNIQUE )?(?:TABLE|INDEX)|INSERT).*?;$", OLD, re.MULTILINE | re.DOTALL)
    # What others refer to comes first: tables, rows, then indexes, and entries after the names in them.
    kinds = ("CREATE TABLE", "INSERT", "CREATE")
    ordered = sorted(
        statements,
        key=lambda one: ([one.startswith(kind) for kind in kinds].index(True), "dither_entries" in one.split("(")[0]),
    )
    with psycopg.connect(place, autocommit=True) as connection:
        for one in ordered:
            connection.execute(one.replace("INTEGER", "BIGINT").replace(") STRICT", ")").encode())
    return place


@pytest.mark.slow
def test_an_old_account_takes_the_relation_of_its_next_opening(place):
    """Entries and head stay as they were, one entry is added, and from then on the relation stands."""
    with open_ledger(of_version_1(place)) as ledger:
        before = ledger.verify()
        assert before.ok, before.problem
        old = list(ledger.export())
        assert len(old) == before.entries == 8
        assert before.relations == {"pay": None, "survey": None, "wages": None}
        assert ledger.charge("pay", Loss(0.1), question={}, request_id="three").fresh  # by whoever states none
        ledger.register("pay", **PAY, fingerprint="file:/data/pay-2.parquet", relation=PEOPLE)
        for name, other in (("pay", ROWS), ("wages", PRIVATE_ROWS), ("new", ROWS)):
            with pytest.raises(Contradiction, match=r"person, identified by u.* nothing was charged"):
                ledger.register(name, **PAY, fingerprint="file:/data/pay.parquet", relation=other)
        ledger.register("wages", **PAY, relation=PEOPLE)
        ledger.register("survey", Budget(2.0), relation=ROWS)
        report = ledger.verify(before.head)
        assert report.ok, report.problem
        assert report.relations == {"pay": PEOPLE.to_dict(), "wages": PEOPLE.to_dict(), "survey": ROWS.to_dict()}
        written = list(ledger.export())
        assert written[:8] == old
        assert [one["kind"] for one in written[8:]] == ["charge", "register", "register"]
        assert written[9]["body"]["relation"] == PEOPLE.to_dict()
        assert not ledger.charge("survey", Loss(0.5), question={"query": "count"}, request_id="two").fresh
    with open_ledger(place, create=False) as ledger:
        assert ledger.dataset("wages").relation == PEOPLE
        assert ledger.verify().ok


@pytest.mark.parametrize(
    "other",
    [
        ROWS,
        PRIVATE_ROWS,
        Relation(Neighbours.PERSON, ("v",), 10),
        Relation(Neighbours.PERSON, ("u",), 9),
        Relation(Neighbours.EDGE, ("source", "target")),
    ],
)
def test_another_relation_is_refused(place, other):
    """Neighbours, unit and rows each: every one of them; under the same name and under another name of the data."""
    with open_ledger(place) as ledger:
        ledger.register("pay", Budget(1.0), fingerprint="file", relation=PEOPLE)
        ledger.charge("pay", Loss(0.25), question={})
        before = list(ledger.export())
        for name in ("pay", "wages"):
            with pytest.raises(Contradiction, match="nothing was charged"):
                ledger.register(name, Budget(1.0), fingerprint="file", relation=other)
        ledger.register("pay", Budget(1.0), relation=PEOPLE)
        assert list(ledger.export()) == before
        assert ledger.verify().ok


@pytest.mark.slow
def test_of_two_first_openings_one_wins(place):
    """Threads with connections of their own state different relations at once: one relation stands, its side only."""
    relations = [ROWS, PRIVATE_ROWS, PEOPLE, Relation(Neighbours.PERSON, ("u",), 9)] * 2
    ready, won, lost = threading.Barrier(len(relations)), [], []
    open_ledger(of_version_1(place)).close()

    def opening(relation):
        with open_ledger(place) as ledger:
            ready.wait()
            try:
                ledger.register("survey", Budget(2.0), relation=relation)
                won.append(relation)
            except Contradiction:
                lost.append(relation)

    threads = [threading.Thread(target=opening, args=(one,)) for one in relations]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(won) == 2
    assert len(lost) == 6
    assert won[0] == won[1]
    with open_ledger(place) as ledger:
        assert ledger.dataset("survey").relation == won[0]
        assert sum(one["kind"] == "register" and one["dataset"] == "survey" for one in ledger.export()) == 2
        assert ledger.verify().ok


def test_a_changed_relation_is_found(tmp_path):
    """In the table, and in an entry whose hashes were made to fit again."""
    with SqliteLedger(tmp_path / "ledger.db") as ledger:
        ledger.register("pay", Budget(1.0), fingerprint="file", relation=PEOPLE)
        ledger.register("wages", Budget(1.0), fingerprint="file", relation=PEOPLE)
        rows = list(ledger.export())

    def edited(*statements):
        with contextlib.closing(sqlite3.connect(tmp_path / "ledger.db")) as connection, connection:
            for statement in ("DROP TRIGGER IF EXISTS dither_entries_stay", *statements):
                connection.execute(*statement) if isinstance(statement, tuple) else connection.execute(statement)
        with SqliteLedger(tmp_path / "ledger.db") as ledger:
            return ledger.verify().problem

    table = "UPDATE dither_accounts SET relation = ?"
    assert "table of accounts" in edited((table, (canonical(ROWS.to_dict()),)))
    assert "table of accounts" in edited((table, (None,)))
    assert edited((table, (canonical(PEOPLE.to_dict()),))) is None
    for relation, said in ((ROWS.to_dict(), "another neighbour relation"), ({"neighbours": "none"}, "entry 2")):
        row = rows[1]
        body = canonical(row["body"] | {"relation": relation})
        labels = {name: row[name] for name in ("dataset", "analyst", "request", "key", "charge")}
        mark = chained(2, row["at"], "register", labels, body, row["previous"])
        assert said in edited(
            ("UPDATE dither_entries SET body = ?, hash = ? WHERE number = 2", (body, mark)),
            ("UPDATE dither_ledger SET hash = ?", (mark,)),
        )


def test_an_edited_schema_is_refused(tmp_path):
    """Person-level, then row-level; a public number of rows, then a private one: nothing charged, nothing free."""
    (tmp_path / "t.csv").write_text("u,v\n" + "".join(f"{row // 10},{row % 7}\n" for row in range(200)))
    words = {"columns": {"v": dt.Real(0, 100)}, "budget": Budget(2.0), "ledger": tmp_path / "x.ledger", "name": "t"}
    variants = [
        {"unit": "u", "rows_per_unit": 10},
        {"unit": "u", "rows_per_unit": 9},
        {"unit": "v", "rows_per_unit": 10},
        {"rows": 200},
        {},
    ]
    for first in variants:
        (tmp_path / "x.ledger").unlink(missing_ok=True)
        with dt.open(tmp_path / "t.csv", **first, **words) as session:
            session.ask(dt.Sum("v"), epsilon=1.0)
        for other in variants:
            if other != first:
                with pytest.raises(Contradiction, match=r"neighbour relation .* nothing was charged"):
                    dt.open(tmp_path / "t.csv", **other, **words)
        with dt.open(tmp_path / "t.csv", **first, **words) as session:
            assert session.budget.spent == Loss(1.0)
    with dt.open(tmp_path / "t.csv", rows=200, **words | {"ledger": tmp_path / "y.ledger"}) as session:
        assert session.schema.relation == ROWS
    with dt.open(tmp_path / "t.csv", rows=300, **words | {"ledger": tmp_path / "y.ledger"}):
        pass  # a table that has grown is still one where single rows change


def test_graphs_have_a_relation_too(tmp_path):
    """Private edges, then private weights over public edges; other columns that identify an edge."""
    (tmp_path / "g.csv").write_text("source,target,other,w\n0,1,2,1\n1,2,0,2\n")
    ledger = MemoryLedger()
    schema = GraphSchema(str(tmp_path / "g.csv"), 3, name="g", budget=Budget(1.0))
    with contextlib.closing(ledger):
        dt.open(schema, ledger=ledger)
        assert ledger.dataset("g").relation == Relation(Neighbours.EDGE, ("source", "target"))
        for other in ({"weight": "w", "cap": 5}, {"ends": ("source", "other")}):
            with pytest.raises(Contradiction, match="edge, identified by source and target"):
                dt.open(GraphSchema(str(tmp_path / "g.csv"), 3, name="g", budget=Budget(1.0), **other), ledger=ledger)
        dt.open(
            GraphSchema(str(tmp_path / "g.csv"), 3, ends=("target", "source"), name="g", budget=Budget(1.0)),
            ledger=ledger,
        )
        assert ledger.verify().entries == 1


def test_relations_survive_their_text():
    """What is written is what is read."""
    for one in (ROWS, PRIVATE_ROWS, PEOPLE, Relation(Neighbours.WEIGHT, ("a", "b"))):
        assert Relation.from_dict(one.to_dict()) == one


def test_postgres_refuses_like_sqlite(postgres_schema):
    """A session over a ledger in PostgreSQL: the relation of the first opening stands for the second server too."""
    frame = {"v": [1.0, 2.0] * 50}
    words = {"columns": {"v": dt.Real(0, 10)}, "budget": Budget(1.0), "name": "t"}
    dt.open(frame, rows=100, ledger=PostgresLedger(postgres_schema), **words).close()
    with pytest.raises(Contradiction, match="neighbour relation change-one, not add-remove-change"):
        dt.open(frame, ledger=PostgresLedger(postgres_schema), **words)


def contents(place):
    """All that is stored there: the file as it is, or the rows and columns of the tables."""
    if not place.startswith("postgresql"):
        return Path(place).read_bytes()
    import psycopg

    with psycopg.connect(place, autocommit=True) as connection:
        tables = ("ledger", "accounts", "names", "fingerprints", "entries")
        found = [connection.execute(f"SELECT * FROM dither_{one} ORDER BY 1") for one in tables]
        return [([column.name for column in one.description], one.fetchall()) for one in found]


def test_whoever_reads_an_old_ledger_does_not_change_it(place, tmp_path):
    """It is evidence: verify, show, export and backup read it as it is, and the copy is of the same version."""
    before = contents(of_version_1(place))
    commands = [["verify", place], ["show", place], ["show", place, "pay"], ["export", place]]
    if not place.startswith("postgresql"):
        commands.append(["backup", place, str(tmp_path / "copy.db")])
    for words in commands:
        done = CliRunner().invoke(main, ["ledger", *words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert contents(place) == before, words
    with open_ledger(place, read_only=True) as ledger:
        assert ledger.verify().entries == 8
        assert ledger.dataset("pay").relation is None
        with pytest.raises(LedgerUnavailable, match=r"read_only=True.*nothing was charged"):
            ledger.charge("pay", Loss(0.1), question={})
        with open_ledger(place) as writer:
            writer.register("pay", **PAY, relation=PEOPLE)
        assert ledger.dataset("pay").relation == PEOPLE  # upgraded by another meanwhile
        assert ledger.verify().ok
    if (tmp_path / "copy.db").exists():
        with contextlib.closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
            assert copy.execute("SELECT version FROM dither_ledger").fetchone() == (1,)


def test_a_damaged_old_ledger_is_not_upgraded(tmp_path):
    """Not even by whoever leaves out the check: an upgrade is a change."""
    path = of_version_1(str(tmp_path / "ledger.db"))
    index = "dither_one_charge_per_request"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        sql = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (index,)).fetchone()[0]
        connection.execute(f"DROP INDEX {index}")
        connection.execute(f"{sql} AND number > 100")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (sql, index))
    with pytest.raises(LedgerDamaged, match=index):
        SqliteLedger(path, check=False)
    with SqliteLedger(path, check=False, read_only=True) as ledger:
        assert index in ledger.verify().problem
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT version FROM dither_ledger").fetchone() == (1,)


def test_a_ledger_in_a_folder_that_cannot_be_written_is_verified(tmp_path, monkeypatch):
    """SQLite could not note there that it reads; it need not where nobody has the file open."""
    path = of_version_1(str(tmp_path / "ledger.db"))
    with SqliteLedger(path) as ledger:
        head = ledger.verify().head
    monkeypatch.setattr("dither.ledger.sqlite.os.access", lambda *_: False)
    with SqliteLedger(path, read_only=True) as ledger:
        assert ledger.verify(head).ok
        assert [one.name for one in tmp_path.iterdir()] == ["ledger.db"]
    with SqliteLedger(path) as writer, SqliteLedger(path, read_only=True) as ledger:
        writer.register("more", Budget(1.0))
        assert ledger.dataset("more").budget == Budget(1.0)
