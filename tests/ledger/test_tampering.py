"""Whoever edits, deletes or reorders what a ledger wrote is found out, and the first wrong entry is named."""

import contextlib
import sqlite3

import pytest

from dither.errors import InvalidArgument, LedgerDamaged, LedgerUnavailable
from dither.ledger import MemoryLedger, PostgresLedger, SqliteLedger, database_schema, open_ledger
from dither.ledger.entries import canonical, chained
from dither.privacy import Budget, Loss


class Sqlite:
    """A ledger's file, and a way around its rules."""

    def __init__(self, path):
        self.path = path

    def open(self, **words):
        """The ledger itself."""
        return SqliteLedger(self.path, **words)

    def plain(self, *statements):
        """Change rows as any program with access to the file could."""
        with contextlib.closing(sqlite3.connect(self.path)) as connection, connection:
            for statement in statements:
                connection.execute(*statement) if isinstance(statement, tuple) else connection.execute(statement)

    def edit(self, *statements):
        """Change rows after the guards were removed."""
        guards = [f"DROP TRIGGER IF EXISTS dither_entries_{name}" for name in ("stay", "remain")]
        self.plain("PRAGMA ignore_check_constraints = ON", *guards, *statements)


class Postgres:
    """A ledger's schema, and a way around its rules."""

    def __init__(self, dsn):
        self.dsn = dsn

    def open(self, **words):
        """The ledger itself."""
        return PostgresLedger(self.dsn, **words)

    def plain(self, *statements):
        """Change rows as any program with access to the database could."""
        import psycopg

        with psycopg.connect(self.dsn, autocommit=True) as connection:
            for statement in statements:
                words = statement if isinstance(statement, tuple) else (statement,)
                connection.execute(words[0].replace("?", "%s"), *words[1:])

    def edit(self, *statements):
        """Change rows with triggers and references switched off."""
        self.plain("SET session_replication_role = replica", *statements)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path):
    """A ledger of nine entries: a register, four charges and their releases."""
    if request.param == "sqlite":
        made = Sqlite(tmp_path / "ledger.db")
    else:
        made = Postgres(request.getfixturevalue("postgres_schema"))
    with made.open() as ledger:
        ledger.register("pay", Budget(1.0, 1e-6), fingerprint="file")
        for number in range(4):
            ledger.store(ledger.charge("pay", Loss(0.1), question={"n": number}, analyst="ann"), {"value": number})
        assert ledger.verify().ok
    return made


EDITS = {
    "a price": (4, "UPDATE dither_entries SET body = replace(body, '100000000', '1') WHERE number = 4"),
    "an answer": (5, 'UPDATE dither_entries SET body = \'{"release":{"value":7}}\' WHERE number = 5'),
    "a time": (6, "UPDATE dither_entries SET at = '1999-01-01' WHERE number = 6"),
    "an analyst": (2, "UPDATE dither_entries SET analyst = 'ben' WHERE number = 2"),
    "a kind": (8, "UPDATE dither_entries SET kind = 'release' WHERE number = 8"),
    "a request": (8, "UPDATE dither_entries SET request = NULL WHERE number = 8"),
    "the start": (1, "UPDATE dither_entries SET previous = hash WHERE number = 1"),
    "a deletion": (4, "DELETE FROM dither_entries WHERE number = 4"),
    "two deletions": (3, "DELETE FROM dither_entries WHERE number IN (3, 5)"),
    "the last ones": (None, "DELETE FROM dither_entries WHERE number > 7"),
    "the head": (None, "UPDATE dither_ledger SET number = 3"),
    "no head": (None, "DELETE FROM dither_ledger"),
    "sums": (None, "UPDATE dither_accounts SET spent_epsilon = 0"),
    "a budget": (None, "UPDATE dither_accounts SET epsilon = 2000000000"),
    "a retirement": (None, "UPDATE dither_accounts SET retired = 1"),
    "a name": (None, "INSERT INTO dither_names (dataset, account) VALUES ('more', 1)"),
    "a fingerprint": (None, "DELETE FROM dither_fingerprints"),
    "not json": (2, "UPDATE dither_entries SET body = 'x' WHERE number = 2"),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_found(store, edit):
    """Every column of an entry, every table and the order are covered."""
    first_bad, statement = EDITS[edit]
    with store.open() as ledger:
        store.edit(statement)
        report = ledger.verify()
        assert not report.ok
        assert report.first_bad == first_bad
        assert first_bad is None or f"entry {first_bad}" in report.problem


def test_a_changed_order_is_found(store):
    """Two entries that change places break the chain at the first of them."""
    moves = [(3, 99), (5, 3), (99, 5)]
    store.edit(*(("UPDATE dither_entries SET number = ? WHERE number = ?", (to, here)) for here, to in moves))
    with store.open() as ledger:
        assert ledger.verify().first_bad == 3


def rewritten(rows, change):
    """Entries with one of them changed and all hashes made to fit again, as a careful forger would."""
    previous, written = "0" * 64, []
    for row in rows:
        body = canonical(change(row["number"], row["body"]))
        labels = {name: row[name] for name in ("dataset", "analyst", "request", "key", "charge")}
        mark = chained(row["number"], row["at"], row["kind"], labels, body, previous)
        written.append(
            (
                "UPDATE dither_entries SET body = ?, previous = ?, hash = ? WHERE number = ?",
                (body, previous, mark, row["number"]),
            )
        )
        previous = mark
    return [*written, ("UPDATE dither_ledger SET hash = ?", (previous,))]


def test_a_careful_forger_still_has_to_obey_the_rules(store):
    """Fitting hashes don't help against prices beyond the budget or answers without a charge."""
    with store.open() as ledger:
        rows = list(ledger.export())

        def dearer(number, body):
            return body | {"losses": [[950_000_000, 0]]} if number == 4 else body

        store.edit(*rewritten(rows, dearer))
        report = ledger.verify()
        assert report.first_bad == 4
        assert "more than was left" in report.problem


def test_a_hash_kept_elsewhere_shows_a_history_written_anew(store):
    """Who rewrites everything consistently is caught by a head that was noted before."""
    with store.open() as ledger:
        noted = ledger.verify().head
        rows = list(ledger.export())
        store.edit(*rewritten(rows, lambda number, body: {"release": {"value": 7}} if number == 9 else body))
        assert ledger.verify().ok
        assert "no entry has the hash" in ledger.verify(noted).problem


@pytest.mark.parametrize("table", ["entries", "accounts"])
def test_the_tables_guard_themselves(store, table):
    """A plain statement that breaks the rules is refused by the database."""
    statements = {
        "entries": [
            "UPDATE dither_entries SET at = '1999'",
            "DELETE FROM dither_entries WHERE number = 9",
            "INSERT INTO dither_ledger (one, version, number, hash) VALUES (2, 1, 0, '')",
        ],
        "accounts": [
            "UPDATE dither_accounts SET spent_epsilon = -1",
            "UPDATE dither_accounts SET spent_epsilon = 1000000001",
            "UPDATE dither_accounts SET spent_delta = 1000000000001",
            "UPDATE dither_accounts SET spent_low = 1000000000000000000",
            "UPDATE dither_accounts SET kind = 'advanced'",
        ],
    }
    for statement in statements[table]:
        with pytest.raises(Exception, match=r"append-only|CHECK|check|constraint"):
            store.plain(statement)
    with store.open() as ledger:
        assert ledger.verify().ok


def test_a_faulty_program_is_stopped_by_the_tables(store, monkeypatch):
    """If the filter admitted everything, the CHECK would still refuse, and nothing is written."""
    monkeypatch.setattr("dither.accounting.filters.is_admitted", lambda state: True)
    with store.open() as ledger:
        with pytest.raises(LedgerDamaged, match="nothing was charged"):
            ledger.charge("pay", Loss(5.0), question={})
        monkeypatch.undo()
        assert ledger.verify().entries == 9
        assert ledger.left("pay") == Loss(0.6, 1e-6)


def test_a_newer_version_is_refused(store):
    """A program doesn't write into what it doesn't know."""
    store.edit("UPDATE dither_ledger SET version = 99")
    with pytest.raises(LedgerDamaged, match="version 99"):
        store.open()


def test_an_older_version_is_upgraded(store, monkeypatch):
    """The steps run in one transaction, once; entries and chain stay as they are."""
    now = database_schema.VERSION
    monkeypatch.setattr(database_schema, "VERSION", now + 2)
    steps = {
        now: ("ALTER TABLE dither_names ADD COLUMN note TEXT",),
        now + 1: ("CREATE TABLE dither_more (x {BIGINT}) {STRICT}",),
    }
    monkeypatch.setattr(database_schema, "UPGRADES", steps)
    for _ in range(2):
        with store.open() as ledger:
            assert ledger.verify().ok
            assert ledger.left("pay") == Loss(0.6, 1e-6)
    monkeypatch.setattr(database_schema, "VERSION", now)
    with pytest.raises(LedgerDamaged, match=f"version {now + 2}"):
        store.open()


def test_an_upgrade_that_fails_changes_nothing(store, monkeypatch):
    """All or nothing: the old version stays usable."""
    now = database_schema.VERSION
    monkeypatch.setattr(database_schema, "VERSION", now + 1)
    monkeypatch.setattr(
        database_schema, "UPGRADES", {now: ("CREATE TABLE dither_more (x TEXT)", "SELECT nothing_like_it")}
    )
    with pytest.raises(LedgerUnavailable, match="nothing was charged"):
        store.open()
    monkeypatch.undo()
    with store.open() as ledger:
        ledger.charge("pay", Loss(0.1), question={})
        assert ledger.verify().ok


def test_other_files_are_refused(tmp_path):
    """Another program's database, a text, a folder, a missing folder; none of them is changed."""
    (tmp_path / "text").write_text("not a database, though longer than the hundred bytes of a header " * 3)
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE t (x)")
    for name in ("text", "other.db"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(LedgerDamaged, match=name):
            SqliteLedger(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
    for path in (tmp_path, tmp_path / "no" / "ledger.db", "a\0b", 7):
        with pytest.raises(InvalidArgument, match="path"):
            SqliteLedger(path)
    with pytest.raises(InvalidArgument, match="existing ledger"):
        open_ledger(tmp_path / "none.db", create=False)
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(InvalidArgument, match="dsn"):
        PostgresLedger(7)


def test_a_new_ledger_is_its_owners_only(tmp_path):
    """Nobody else on the machine reads questions and answers."""
    SqliteLedger(tmp_path / "ledger.db").close()
    assert (tmp_path / "ledger.db").stat().st_mode & 0o077 == 0


def test_postgres_that_cannot_be_reached_is_named_without_its_password():
    """The connection string is not shown."""
    pytest.importorskip("psycopg")
    with pytest.raises(LedgerUnavailable, match="cannot be reached") as caught:
        PostgresLedger("postgresql://me:geheim@127.0.0.1:1/none", wait=2)
    assert "geheim" not in str(caught.value)


def test_an_unlucky_hash_does_not_pass():
    """A memory ledger verifies against a hash only if it has it."""
    ledger = MemoryLedger()
    ledger.register("pay", Budget(1.0))
    assert ledger.verify(ledger.verify().head).ok
    assert ledger.verify("0" * 64).ok
    assert not ledger.verify("1" * 64).ok
