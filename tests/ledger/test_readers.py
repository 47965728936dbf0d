"""Whoever waits for another process that writes keeps no reader waiting."""

import threading

import pytest

from curators import held, until
from dither.errors import LedgerUnavailable
from dither.interfaces.http.store import OWNER, Store
from dither.ledger import PostgresLedger, SqliteLedger
from dither.privacy import Budget, Loss

FOREVER = 600
"""Seconds that no test reaches unless a reader waits for a writer."""


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Where a ledger is."""
    return str(tmp_path / "ledger.db") if request.param == "sqlite" else request.getfixturevalue("postgres_schema")


def opened(place, wait):
    """A ledger that waits so long for others who write."""
    return PostgresLedger(place, wait=wait) if place.startswith("postgresql") else SqliteLedger(place, wait=wait)


def is_taken(lock):
    """True if another thread has it."""
    if lock.acquire(blocking=False):
        lock.release()
        return False
    return True


def test_readers_go_on_while_a_writer_waits(place):
    """Another process holds a write transaction, a thread waits for it to charge, and everything can be read."""
    ledger = opened(place, FOREVER)
    ledger.register("pay", Budget(1.0))
    ledger.store(ledger.charge("pay", Loss(0.25), question={"n": 1}, request_id="one"), {"value": 1})
    charged = []
    writer = threading.Thread(
        target=lambda: charged.append(ledger.charge("pay", Loss(0.25), question={"n": 2})), daemon=True
    )
    with held(place):
        writer.start()
        until(lambda: is_taken(ledger._database.writer.turn), what="the thread that waits to write")
        seen = []

        def read():
            seen.extend(
                [ledger.left("pay"), ledger.spent("pay"), len(ledger.entries("pay")), ledger.datasets()[0].name]
            )
            seen.append(ledger.answer_to("pay", {"n": 1}))
            seen.append(ledger.charged("pay", Loss(0.25), question={"n": 1}, request_id="one", analyst="local").release)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        reader.join(FOREVER / 5)
        assert seen == [Loss(0.75), Loss(0.25), 3, "pay", {"value": 1}, {"value": 1}]
        assert writer.is_alive()
    writer.join(FOREVER / 5)
    assert [one.number for one in charged] == [4]
    assert ledger.verify().ok
    ledger.close()


def test_tokens_are_read_while_a_writer_waits(tmp_path):
    """The server's own database: another process holds it, a thread waits to write, and tokens are still found."""
    store = Store(tmp_path / "server.db")
    secret, token = store.create("owner", OWNER)
    writer = threading.Thread(target=lambda: store.set_answer_seconds("pay", 2.0), daemon=True)
    with held(str(tmp_path / "server.db")):
        writer.start()
        until(lambda: is_taken(store._database.writer.turn), what="the thread that waits to write")
        assert store.find(secret) == token
        assert store.tokens() == [token]
        assert store.answer_seconds("pay", 1.0) == 1.0
        assert writer.is_alive()
    writer.join(FOREVER / 5)
    assert store.answer_seconds("pay", 1.0) == 2.0
    store.close()


def test_a_reading_connection_writes_nothing(tmp_path):
    """What is read through can't be used to change the file by mistake."""
    ledger = SqliteLedger(tmp_path / "ledger.db")
    ledger.register("pay", Budget(1.0))
    with (
        pytest.raises(LedgerUnavailable, match=r"readonly|cannot be opened or written"),
        ledger._database.transaction() as look,
    ):
        look.run("UPDATE dither_accounts SET spent_epsilon = 1")
    assert ledger.verify().ok
    ledger.close()
