"""An index that misses rows is found before it is used: a paid request would be charged again."""

import contextlib
import sqlite3

import pytest

from dither.errors import LedgerDamaged
from dither.ledger import PostgresLedger, SqliteLedger
from dither.privacy import Budget, Loss

EMPTY = {
    "dither_one_charge_per_request": ("dither_entries (dataset, analyst, request)", "kind = 'charge'"),
    "dither_one_release_per_charge": ("dither_entries (charge)", "kind = 'release'"),
    "dither_answers": ("dither_entries (dataset, key)", "kind = 'release'"),
    "dither_histories": ("dither_entries (dataset, number)", None),
}
POSTGRES_ONLY = (
    "dither_entries_pkey",
    "dither_accounts_pkey",
    "dither_accounts_parent_analyst_key",
    "dither_names_pkey",
    "dither_fingerprints_pkey",
)
PRICE = Loss(0.1)


def filled(ledger):
    """A ledger with names, fingerprints, budgets of analysts, charges and releases."""
    ledger.register("pay", Budget(1.0), fingerprint="file")
    ledger.allow("pay", "ann", Budget(0.5))
    for number in range(3):
        paid = ledger.charge("pay", PRICE, question={"n": number}, request_id=f"r{number}", analyst="ann")
        ledger.store(paid, {"value": number})


def emptied(path, index):
    """Put an index without rows in the place of one: what a fault of a disk can make of it."""
    on, where = EMPTY[index]
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        sql = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (index,)).fetchone()[0]
        connection.execute(f"DROP INDEX {index}")
        unique = "UNIQUE" if "UNIQUE" in sql else ""
        condition = f"{where} AND number > 1000" if where else "number > 1000"
        connection.execute(f"CREATE {unique} INDEX {index} ON {on} WHERE {condition}")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (sql, index))


@pytest.mark.parametrize("index", EMPTY)
def test_sqlite_is_compared_with_its_indexes(tmp_path, index):
    """Opening, verifying and backing up say so; before, a paid request was charged a second time."""
    path = tmp_path / "ledger.db"
    with SqliteLedger(path) as ledger:
        filled(ledger)
    emptied(path, index)
    with pytest.raises(LedgerDamaged, match=r"missing from index .* nothing was charged"):
        SqliteLedger(path)
    with SqliteLedger(path, check=False) as ledger:
        report = ledger.verify()
        assert not report.ok
        assert index in report.problem
        assert "REINDEX" in report.problem
        assert not ledger.backup(tmp_path / "copy.db").ok
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("REINDEX")
    with SqliteLedger(path) as ledger:
        assert ledger.verify().ok
        again = ledger.charge("pay", PRICE, question={"n": 1}, request_id="r1", analyst="ann")
        assert not again.fresh
        assert ledger.spent("pay") == Loss(0.3)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("index", [*EMPTY, *POSTGRES_ONLY])
def test_postgres_is_compared_with_its_indexes(postgres_schema, index):
    """An index that was not kept up while rows were written does not find them, however small the table is."""
    psycopg = pytest.importorskip("psycopg")
    with PostgresLedger(postgres_schema) as ledger:
        assert ledger.verify().ok
    switch = "UPDATE pg_index SET indisready = {0}, indisvalid = {0} WHERE indexrelid = '{1}'::regclass"
    with psycopg.connect(postgres_schema, autocommit=True) as connection:
        connection.execute(switch.format("false", index))
    with PostgresLedger(postgres_schema) as ledger:
        filled(ledger)
    with psycopg.connect(postgres_schema, autocommit=True) as connection:
        connection.execute(switch.format("true", index))
    if index not in ("dither_answers", "dither_histories", "dither_entries_pkey"):  # no payment is found by these
        with pytest.raises(LedgerDamaged, match=rf"{index} does not find all rows .*nothing was charged"):
            PostgresLedger(postgres_schema)
    with PostgresLedger(postgres_schema, check=False) as ledger:
        report = ledger.verify()
        assert not report.ok
        assert index == "dither_entries_pkey" or index in report.problem
    with psycopg.connect(postgres_schema, autocommit=True) as connection:
        connection.execute(f"REINDEX INDEX {index}")
    with PostgresLedger(postgres_schema) as ledger:
        assert ledger.verify().ok
        assert not ledger.charge("pay", PRICE, question={"n": 1}, request_id="r1", analyst="ann").fresh
