"""Several marks of one source: copies of a home on one ledger share an account, and other data do not."""

import dataclasses

import pytest

from dither.errors import Contradiction, Retired
from dither.ledger import MemoryLedger, PostgresLedger, SqliteLedger
from dither.ledger.database import WRITING
from dither.ledger.entries import ALIAS
from dither.ledger.replay import Broken, Replay
from dither.privacy import Budget, Loss, Neighbours, Relation

BELOW = "data:pay.csv"
HERE, THERE, ELSEWHERE = "file:/here/data/pay.csv", "file:/there/data/pay.csv", "file:/elsewhere/data/pay.csv"


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def ledger(request, tmp_path):
    """An empty ledger of each type; its entries must fit its tables in the end."""
    if request.param == "memory":
        built = MemoryLedger()
    elif request.param == "sqlite":
        built = SqliteLedger(tmp_path / "ledger.db")
    else:
        built = PostgresLedger(request.getfixturevalue("postgres_schema"))
    yield built
    report = built.verify()
    built.close()
    assert report.ok, report.problem


def registrations(ledger):
    """How many entries about the datasets of these tests register something."""
    entries = [entry for name in ("pay", "other") for entry in ledger.entries(name)]
    return sum(entry.kind == "register" for entry in entries)


def test_a_copy_shares_the_account(ledger):
    """Each copy adds its own path, once; the first mark stays the fingerprint of the data."""
    ledger.register("other", Budget(1.0))
    for path in (HERE, THERE, HERE, THERE):
        ledger.register("pay", Budget(1.0), fingerprint=BELOW, aliases=[path])
    assert registrations(ledger) == 3
    ledger.charge("pay", Loss(0.75), question={"a": 1}, request_id="one")
    assert ledger.left("pay") == Loss(0.25)
    assert ledger.dataset("pay").fingerprint == BELOW


def test_the_same_file_without_the_home_is_noticed(ledger):
    """A program that knows a path only, of any copy, finds the account; and so does a copy after such a program."""
    ledger.register("alone", Budget(1.0), fingerprint=HERE)
    ledger.register("pay", Budget(1.0), fingerprint=BELOW, aliases=[HERE])
    ledger.register("copied", Budget(1.0), fingerprint=BELOW, aliases=[THERE])
    ledger.register("there alone", Budget(1.0), fingerprint=THERE)
    assert len({ledger.dataset(name).account for name in ("alone", "pay", "copied", "there alone")}) == 1
    with pytest.raises(Contradiction):
        ledger.register("more", Budget(5.0), fingerprint=THERE)
    assert ledger.dataset("pay").fingerprint == HERE


def test_other_data_are_refused(ledger):
    """Under a registered name; and marks of one source can't lead to two accounts."""
    ledger.register("pay", Budget(1.0), fingerprint=BELOW, aliases=[HERE])
    ledger.register("other", Budget(1.0), fingerprint="data:other.csv", aliases=[ELSEWHERE])
    assert ledger.dataset("pay").account != ledger.dataset("other").account
    before = registrations(ledger)
    for name, marks in {
        "pay": ["data:new.csv", "file:/new"],
        "other": [BELOW, THERE],
        "new": [BELOW, ELSEWHERE],
    }.items():
        with pytest.raises(Contradiction):
            ledger.register(name, Budget(1.0), fingerprint=marks[0], aliases=marks[1:])
    with pytest.raises(Contradiction, match="several accounts"):
        ledger.register("pay", Budget(1.0), fingerprint=BELOW, aliases=[ELSEWHERE])
    assert registrations(ledger) == before


def test_marks_of_retired_and_grown_data(ledger):
    """A copy of retired data is retired, under any name and path; a mark beside another may become the current one."""
    relation = Relation(Neighbours.PERSON, ("customer",), 10)
    ledger.register("grown", Budget(1.0), fingerprint="data:g.csv", aliases=["file:/here/data/g.csv"])
    assert ledger.grow("grown", fingerprint="file:/here/data/g.csv") == 2
    assert ledger.dataset("grown").fingerprint == "file:/here/data/g.csv"
    ledger.register("pay", Budget(1.0), fingerprint=BELOW, aliases=[HERE])
    ledger.retire("pay")
    ledger.register("pay", Budget(1.0), fingerprint=BELOW, aliases=[THERE], relation=relation)
    assert ledger.dataset("pay").relation is None
    for path in (BELOW, HERE, THERE):
        with pytest.raises(Retired):
            ledger.register("again", Budget(1.0), fingerprint=path)


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM dither_fingerprints WHERE fingerprint = 'file:/there/data/pay.csv'",
        "UPDATE dither_fingerprints SET account = 2 WHERE fingerprint = 'file:/there/data/pay.csv'",
        f"UPDATE dither_fingerprints SET version = 1 WHERE version = {ALIAS}",
    ],
)
def test_marks_that_were_changed_are_found(change):
    """The entries say which marks there are and where they lead."""
    with MemoryLedger() as ledger:
        ledger.register("pay", Budget(1.0), fingerprint=BELOW, aliases=[HERE])
        ledger.register("pay", Budget(1.0), fingerprint=BELOW, aliases=[THERE])
        ledger.register("other", Budget(1.0), fingerprint="data:other.csv")
        assert ledger.verify().ok
        with ledger._database.transaction(WRITING) as work:
            work.run(change)
        assert "fingerprints" in ledger.verify().problem


@pytest.mark.parametrize(
    ("number", "body", "problem"),
    [
        (3, {"aliases": [THERE]}, "opens a second account for the same data"),
        (3, {"fingerprint": BELOW, "aliases": []}, "opens a second account for the same data"),
        (2, {"aliases": [HERE]}, "registers a dataset twice"),
        (2, {"fingerprint": "data:new.csv"}, "registers a dataset twice"),
        (4, {"fingerprint": "data:new.csv"}, "joins an account that it does not fit"),
        (4, {"aliases": ["data:other.csv"]}, "joins an account that it does not fit"),
    ],
)
def test_entries_that_the_rules_would_not_write_are_found(number, body, problem):
    """Whatever their hashes are: a mark leads to one account, and a name says something new or nothing."""
    with MemoryLedger() as ledger:
        for name, mark, aliases in (
            ("pay", BELOW, [HERE]),
            ("pay", BELOW, [THERE]),
            ("other", "data:other.csv", []),
            ("wages", BELOW, []),
        ):
            ledger.register(name, Budget(1.0), fingerprint=mark, aliases=aliases)
        entries = [entry for name in ("pay", "other", "wages") for entry in ledger.entries(name)]
    replay = Replay()
    for entry in entries:
        if entry.number == number:
            with pytest.raises(Broken, match=problem):
                replay.apply(dataclasses.replace(entry, body=entry.body | body))
        replay.apply(entry)
