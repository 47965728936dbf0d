"""Threads that wait for each other share a commit: acknowledged behind it, refused by themselves."""

import sqlite3
import threading
from fractions import Fraction

import pytest

from dither.errors import BudgetExceeded, LedgerUnavailable
from dither.ledger import SqliteLedger
from dither.ledger.database import WRITING
from dither.ledger.sqlite import SqliteDatabase
from dither.privacy import Budget, Loss

PRICE = Loss(0.01)
CROWD = 12


@pytest.fixture
def ledger(tmp_path):
    """A ledger in a file with a small and a large budget."""
    with SqliteLedger(tmp_path / "ledger.db") as opened:
        opened.register("pay", Budget(0.1))
        opened.register("other", Budget(10.0))
        yield opened


@pytest.fixture
def commits(monkeypatch):
    """How many transactions were committed; the first waits until the test lets it go on."""
    made, gate, first = [], threading.Event(), threading.Event()
    honest = SqliteDatabase.carry_over

    def counted(self, connection):
        made.append(1)
        first.set()
        gate.wait(60)
        honest(self, connection)

    monkeypatch.setattr(SqliteDatabase, "carry_over", counted)
    return made, gate, first


def crowd(tasks, commits, waiting):
    """Run the first task until it commits, the others until all wait, then all; what each returned or raised."""
    _, gate, first = commits
    outcomes = [None] * len(tasks)

    def run(place):
        try:
            outcomes[place] = tasks[place]()
        except Exception as error:  # noqa: BLE001  (looked at by the test)
            outcomes[place] = error

    threads = [threading.Thread(target=run, args=(place,), daemon=True) for place in range(len(tasks))]
    threads[0].start()
    assert first.wait(60)
    for number, thread in enumerate(threads[1:], 1):
        thread.start()
        pause = threading.Event()
        for _ in range(6000):
            if len(waiting()) == number:
                break
            pause.wait(0.01)
    gate.set()
    for thread in threads:
        thread.join(60)
    return outcomes


def waiting_of(ledger):
    """The changes that wait, but for that of who leads."""
    return lambda: ledger._commits._waiting[1:]


def charging(ledger, place, dataset="other", loss=PRICE):
    """A task that charges."""
    return lambda: ledger.charge(dataset, loss, question={"n": place}, request_id=f"r{place}", analyst=f"a{place}")


def test_who_waits_shares_a_commit(ledger, commits):
    """Twelve charges, eleven of which wait for the first: two commits, and all are there, in the order of waiting."""
    paid = crowd([charging(ledger, place) for place in range(CROWD)], commits, waiting_of(ledger))
    assert len(commits[0]) == 2
    assert [charge.request_id for charge in paid] == [f"r{place}" for place in range(CROWD)]
    assert [charge.number for charge in paid] == sorted(charge.number for charge in paid)
    assert ledger.verify().ok
    assert ledger.spent("other").exact_epsilon == CROWD * PRICE.exact_epsilon


def test_refusals_stay_with_whom_they_concern(ledger, commits):
    """Charges above the budget, of nothing that is registered, and repeated ones, between others that are paid."""
    large = Loss(0.06)
    tasks = [
        charging(ledger, 0),
        charging(ledger, 1, "pay", large),
        charging(ledger, 2, "pay", large),
        charging(ledger, 3, "nowhere"),
        charging(ledger, 1, "pay", large),
        charging(ledger, 4, "pay"),
    ]
    outcomes = crowd(tasks, commits, waiting_of(ledger))
    assert len(commits[0]) == 2
    assert isinstance(outcomes[2], BudgetExceeded)
    assert outcomes[2].code == "budget-exceeded"
    assert type(outcomes[3]).__name__ == "UnknownDataset"
    assert outcomes[4].number == outcomes[1].number
    assert (outcomes[1].fresh, outcomes[4].fresh) == (True, False)
    assert ledger.spent("pay").exact_epsilon == Fraction(7, 100)
    assert ledger.verify().ok


def test_charges_and_releases_share_commits(ledger, commits):
    """Each gets its own: the release that was stored first, or the charge."""
    commits[1].set()
    charges = [charging(ledger, place)() for place in range(3)]
    commits[1].clear()
    commits[2].clear()
    del commits[0][:]
    tasks = [charging(ledger, 9)]
    tasks += [lambda at=at, charge=charge: ledger.store(charge, {"value": at}) for at, charge in enumerate(charges)]
    tasks += [lambda: ledger.store(charges[0], {"value": 7}), charging(ledger, 10)]
    outcomes = crowd(tasks, commits, waiting_of(ledger))
    assert outcomes[1:5] == [{"value": 0}, {"value": 1}, {"value": 2}, {"value": 0}]
    assert len(commits[0]) == 2
    assert ledger.verify().ok


class Failing:
    """A connection of which ``fails(connection, statement, parts)`` says where it fails; parts of commits so far."""

    def __init__(self, connection, fails):
        self._connection, self._fails, self._parts = connection, fails, 0

    def execute(self, statement, values=()):
        """As the connection does, or an error of the disk."""
        self._parts += statement.startswith("SAVEPOINT")
        if self._fails(self._connection, statement, self._parts):
            raise sqlite3.OperationalError("disk I/O error")
        return self._connection.execute(statement, values)

    def __getattr__(self, name):
        return getattr(self._connection, name)


def failing(ledger, monkeypatch, fails):
    """Connections that are opened from now on may fail."""
    ledger.close()
    honest = SqliteDatabase.connect
    monkeypatch.setattr(SqliteDatabase, "connect", lambda self, *, writes: Failing(honest(self, writes=writes), fails))


@pytest.mark.parametrize("when", ["COMMIT", "RELEASE part"])
def test_a_transaction_of_several_that_fails_is_made_again_by_each(ledger, commits, monkeypatch, when):
    """At its commit, where nobody knows whether it succeeded, or within: all are charged once, and say so."""
    failed = []

    def once(connection, statement, parts):
        if statement != when or parts != CROWD - 1 or failed:
            return False
        failed.append(statement)
        connection.execute("COMMIT" if when == "COMMIT" else "ROLLBACK")  # it may succeed, and nobody knows
        return True

    failing(ledger, monkeypatch, once)
    outcomes = crowd([charging(ledger, place) for place in range(CROWD)], commits, waiting_of(ledger))
    assert failed == [when]
    assert [outcome.request_id for outcome in outcomes] == [f"r{place}" for place in range(CROWD)]
    assert ledger.verify().ok
    assert ledger.spent("other").exact_epsilon == CROWD * PRICE.exact_epsilon


def test_a_failure_behind_a_commit_that_may_have_succeeded_does_not_say_that_nothing_was_charged(
    ledger, commits, monkeypatch
):
    """The commit of several fails, and so does what each tries again: what was charged is not known."""
    broken = []

    def from_then_on(connection, statement, parts):
        if broken or (statement == "COMMIT" and parts):
            broken.append(statement)
        return bool(broken)

    failing(ledger, monkeypatch, from_then_on)
    outcomes = crowd([charging(ledger, place) for place in range(4)], commits, waiting_of(ledger))
    assert outcomes[0].request_id == "r0"
    for outcome in outcomes[1:]:
        assert isinstance(outcome, LedgerUnavailable)
        assert "it is not known whether this was written" in str(outcome)
        assert "nothing was charged" not in str(outcome)


def test_an_interruption_of_who_leads_reaches_nobody_else(ledger, commits):
    """The second leads for the others and is interrupted: the next makes their changes, and nobody waits for ever."""
    stopped = []

    def interrupted():
        def make(work):
            stopped.append(work)
            raise KeyboardInterrupt

        try:
            ledger._commits.commit(WRITING, make)
        except KeyboardInterrupt:
            return "interrupted"

    outcomes = crowd(
        [charging(ledger, 0), interrupted, charging(ledger, 1), charging(ledger, 2)], commits, waiting_of(ledger)
    )
    assert outcomes[1] == "interrupted"
    assert len(stopped) == 1
    assert [outcomes[place].request_id for place in (2, 3)] == ["r1", "r2"]
    assert ledger.verify().ok
    assert ledger.spent("other").exact_epsilon == 3 * PRICE.exact_epsilon


def test_an_interruption_of_who_waits_leaves_nobody_waiting(ledger, commits):
    """Its change is not made, and the others go on."""
    shared, asked, gone = ledger._commits, threading.Event(), threading.Event()

    class Interrupting:
        """A turn to lead; one thread is interrupted while it waits for it."""

        def __init__(self):
            self._lock = shared._lead

        def __enter__(self):
            if threading.current_thread().name == "stopped":
                asked.wait(60)
                raise KeyboardInterrupt
            return self._lock.__enter__()

        def __exit__(self, *error):
            return self._lock.__exit__(*error)

    shared._lead = Interrupting()

    def interrupted():
        threading.current_thread().name = "stopped"
        try:
            charging(ledger, 1)()
        except KeyboardInterrupt:
            gone.set()
            return "interrupted"

    def waiting():
        now = waiting_of(ledger)()
        if len(now) == 3:
            asked.set()
            gone.wait(60)
        return now

    tasks = [charging(ledger, 0), interrupted, charging(ledger, 2), charging(ledger, 3)]
    outcomes = crowd(tasks, commits, waiting)
    assert outcomes[1] == "interrupted"
    assert [outcomes[place].request_id for place in (2, 3)] == ["r2", "r3"]
    assert ledger.verify().ok
    assert ledger.spent("other").exact_epsilon == 3 * PRICE.exact_epsilon


def test_an_interruption_behind_the_begin_disturbs_nobody(ledger):
    """A transaction that nobody ended is taken back by the next."""
    lane = ledger._database.writer
    lane.connection.execute("BEGIN IMMEDIATE")
    assert charging(ledger, 0)().request_id == "r0"
    assert ledger.spent("other").exact_epsilon == PRICE.exact_epsilon
