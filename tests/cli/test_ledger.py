"""dither ledger: what people see of a ledger, and the commands of docs/ledger.md."""

import contextlib
import json
import sqlite3
from pathlib import Path
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from dither.errors import LedgerUnavailable
from dither.interfaces.cli.main import main
from dither.ledger import PostgresLedger, SqliteLedger
from dither.privacy import Budget, Loss, Neighbours, Relation


def run(*words):
    """One command, in this process."""
    return CliRunner().invoke(main, ["ledger", *map(str, words)], catch_exceptions=False)


def fill(ledger):
    """Two datasets, three charges, one answer."""
    ledger.register(
        "pay",
        Budget(1.0, 1e-6),
        filter="advanced",
        fingerprint="file:pay.parquet",
        relation=Relation(Neighbours.PERSON, ("u",), 3),
    )
    ledger.register("[bold]weather", Budget(2.0))
    ledger.allow("pay", "ann", Budget(0.5))
    ledger.store(ledger.charge("pay", Loss(0.1), question={"n": 1}, analyst="ann"), {"value": 3})
    ledger.charge("pay", [Loss(0.1), Loss(0.05)], question={"n": 2})
    ledger.charge("[bold]weather", Loss(0.5), question={"n": 1})
    ledger.retire("[bold]weather")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Where a filled ledger lies."""
    where = tmp_path / "ledger.db" if request.param == "sqlite" else request.getfixturevalue("postgres_schema")
    with SqliteLedger(where) if request.param == "sqlite" else PostgresLedger(where) as ledger:
        fill(ledger)
    return where


def test_show_lists_budgets_and_histories(place):
    """Names are shown as they are; prices as people wrote them."""
    table = run("show", place)
    assert table.exit_code == 0
    assert "[bold]weather" in table.output
    assert "retired" in table.output
    assert "ann: 0.5" in table.output
    history = run("show", place, "pay").output
    assert history.count("charge") == 2
    assert "epsilon 0.15" in history
    payload = json.loads(run("show", place, "--json").output)["datasets"]
    assert [one["dataset"] for one in payload] == ["[bold]weather", "pay"]
    assert payload[1]["relation"] == {"neighbours": "person", "unit": ["u"], "rows_per_unit": 3}
    assert payload[0]["relation"] is None
    assert "no neighbour relation yet" in table.output
    assert payload[1]["spent"] == {"epsilon": 0.25, "delta": 0.0}
    assert payload[1]["analysts"]["ann"]["spent"]["epsilon"] == 0.1
    entries = json.loads(run("show", place, "pay", "--json").output)["entries"]
    assert [entry["kind"] for entry in entries] == ["register", "allow", "charge", "release", "charge"]


def test_verify_tells_the_head_and_takes_one(place):
    """The head printed today is accepted tomorrow; another hash is not."""
    payload = json.loads(run("verify", place, "--json").output)
    assert payload["ok"]
    assert payload["entries"] == 8
    assert payload["relations"]["pay"]["neighbours"] == "person"
    assert payload["head"] in run("verify", place).output
    assert "pay: person, identified by u, up to 3 rows each" in run("verify", place).output
    assert run("verify", place, "--head", payload["head"]).exit_code == 0
    wrong = run("verify", place, "--head", "f" * 64)
    assert wrong.exit_code == 1
    assert "no entry has the hash" in wrong.output


def test_verify_fails_on_damage(tmp_path):
    """Exit code 1 and the number of the entry."""
    with SqliteLedger(tmp_path / "ledger.db") as ledger:
        fill(ledger)
    connection = sqlite3.connect(tmp_path / "ledger.db")
    connection.execute("DROP TRIGGER dither_entries_stay")
    connection.execute("UPDATE dither_entries SET analyst = 'ben' WHERE number = 4")
    connection.commit()
    connection.close()
    done = run("verify", tmp_path / "ledger.db")
    assert done.exit_code == 1
    assert "entry 4" in done.output
    assert json.loads(run("verify", tmp_path / "ledger.db", "--json").output)["first_bad"] == 4


def test_export_writes_every_entry(place, tmp_path):
    """One line each, to the screen or to a file, or all as one document."""
    lines = [json.loads(line) for line in run("export", place).output.splitlines()]
    assert [line["number"] for line in lines] == list(range(1, 9))
    run("export", place, "-o", tmp_path / "out.jsonl")
    assert [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()] == lines
    assert json.loads(run("export", place, "--json").output)["entries"] == lines


def test_a_backup_is_taken_in_use_and_restored(tmp_path):
    """The copy verifies, holds all that was acknowledged, and works as a ledger once it is put in place."""
    with SqliteLedger(tmp_path / "ledger.db") as ledger:
        fill(ledger)
        done = run("backup", tmp_path / "ledger.db", tmp_path / "copy.db", "--json")
        payload = json.loads(done.output)
        assert payload["ok"]
        assert payload["head"] == ledger.verify().head
        ledger.charge("pay", Loss(0.01), question={"n": 3})
        later = ledger.verify().head
    assert (tmp_path / "copy.db").stat().st_mode & 0o077 == 0
    again = run("backup", tmp_path / "ledger.db", tmp_path / "copy.db", "--json")
    assert again.exit_code == 2
    with SqliteLedger(tmp_path / "copy.db") as restored:
        assert not restored.verify(later).ok
        restored.charge("pay", Loss(0.01), question={"n": 3})
        assert restored.verify().ok


def test_a_backup_that_failed_can_be_tried_again(tmp_path, monkeypatch):
    """Whatever ended it, no empty file is left that the next try would find."""
    with SqliteLedger(tmp_path / "ledger.db") as ledger:
        fill(ledger)
        for error in (LedgerUnavailable("in use"), sqlite3.OperationalError("full"), KeyboardInterrupt()):
            with monkeypatch.context() as patch:
                patch.setattr(ledger._file, "transaction", Mock(side_effect=error))
                with pytest.raises((LedgerUnavailable, KeyboardInterrupt)):
                    ledger.backup(tmp_path / "copy.db")
            assert not (tmp_path / "copy.db").exists()
        assert ledger.backup(tmp_path / "copy.db").ok


@pytest.mark.slow
def test_a_postgres_ledger_is_backed_up_by_its_own_tools(postgres_server, postgres_schema):
    """pg_dump and psql carry a ledger to another database, chain and guards included."""
    import subprocess

    import psycopg

    with PostgresLedger(postgres_schema) as ledger:
        fill(ledger)
        head = ledger.verify().head
    assert run("backup", postgres_schema, "copy.db").exit_code == 2
    schema = postgres_schema.rsplit("%3D", 1)[1]
    programs = postgres_server.programs
    dump = subprocess.run(
        [programs / "pg_dump", "--schema", schema, postgres_server.dsn()], check=True, capture_output=True
    ).stdout
    with psycopg.connect(postgres_server.dsn(), autocommit=True) as connection:
        connection.execute("CREATE DATABASE restored")
    words = [programs / "psql", "-q", "-v", "ON_ERROR_STOP=1", postgres_server.dsn("restored")]
    subprocess.run(words, input=dump, check=True, capture_output=True)
    with PostgresLedger(f"{postgres_server.dsn('restored')}?options=-csearch_path%3D{schema}", create=False) as ledger:
        assert ledger.verify(head).ok
        ledger.charge("pay", Loss(0.01), question={"n": 3})
        assert ledger.verify(head).ok
    with psycopg.connect(postgres_server.dsn(), autocommit=True) as connection:
        connection.execute("DROP DATABASE restored WITH (FORCE)")


def test_the_example_of_the_documentation_runs(tmp_path, monkeypatch):
    """Twice: the second time the answer comes from the store."""
    text = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text(encoding="utf-8")
    code = text.split("```python\n", 1)[1].split("```", 1)[0]
    monkeypatch.chdir(tmp_path)
    for number in ("71_417.29", "2"):
        names = {}
        exec(code.replace("71_417.29", number), names)  # noqa: S102  (our own documentation)
        assert names["answer"] == {"value": 71_417.29}
        assert names["ledger"].left("pay") == Loss(0.75)
        names["ledger"].close()


def test_what_is_not_a_ledger_is_said(tmp_path):
    """Exit code 2 and one line; nothing is created."""
    for command in ("show", "verify", "export"):
        done = run(command, tmp_path / "none.db")
        assert done.exit_code == 2
        assert "existing ledger" in done.output
    with SqliteLedger(tmp_path / "ledger.db"):
        done = run("show", tmp_path / "ledger.db", "nobody")
        assert done.exit_code == 2
        assert "'nobody' is not registered" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.db"]


def test_verify_and_backup_fail_on_an_index_that_misses_rows(tmp_path):
    """They said "in order" once, and a paid request was charged again."""
    path = tmp_path / "ledger.db"
    with SqliteLedger(path) as ledger:
        fill(ledger)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        index = "dither_one_charge_per_request"
        sql = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (index,)).fetchone()[0]
        connection.execute(f"DROP INDEX {index}")
        connection.execute(f"{sql} AND number > 100")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (sql, index))
    for words in (("verify", path), ("backup", path, tmp_path / "copy.db")):
        done = run(*words)
        assert done.exit_code == 1
        assert f"missing from index {index}" in done.output
        assert "in order" not in done.output
    assert "damaged" in run("show", path).output
