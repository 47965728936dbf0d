"""Crashes, full disks, torn files and crowds: what was acknowledged is there, and nothing is spent twice.

Workers are forked, so that they can be killed at any instruction.  After each fault the ledger must verify.
"""

import contextlib
import gc
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from random import Random

import pytest

from conftest import trials
from dither.errors import BudgetExceeded, DitherError, InvalidArgument, LedgerDamaged, LedgerUnavailable
from dither.ledger import MemoryLedger, PostgresLedger, SqliteLedger, sqlite
from dither.privacy import Budget, Loss

PRICE = Loss(0.001)


@contextlib.contextmanager
def worker(task):
    """A forked process that runs ``task(tell)``; yields its pid and a file of what it told, line by line."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(read)
            task(lambda line: os.write(write, f"{line}\n".encode()))
            code = 0
        except BaseException as error:  # noqa: BLE001  (told, so that the test can show it)
            os.write(write, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read) as lines:
        try:
            yield child, lines
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def spend_forever(make, name):
    """A task that asks one question after the other and tells each step once it is acknowledged."""

    def task(tell):
        ledger, number = make(), 0
        while True:
            request = f"{name}-{number}"
            charge = ledger.charge("pay", PRICE, question={"n": request}, request_id=request)
            tell(f"charged {request}")
            ledger.store(charge, {"value": request})
            tell(f"stored {request}")
            number += 1

    return task


def check(ledger, reported):
    """Everything told is in the ledger, every request is there once, the sums agree."""
    report = ledger.verify()
    assert report.ok, report.problem
    entries = ledger.entries("pay")
    charged = [entry.request for entry in entries if entry.kind == "charge"]
    stored = {entry.request for entry in entries if entry.kind == "release"}
    assert len(set(charged)) == len(charged)
    assert {line.split()[1] for line in reported if line.startswith("charged")} <= set(charged)
    assert {line.split()[1] for line in reported if line.startswith("stored")} <= stored
    assert ledger.spent("pay").exact_epsilon == PRICE.exact_epsilon * len(charged)
    return len(charged)


def test_kill_9_loses_no_acknowledged_charge(tmp_path):
    """Killed at random moments, a worker's charges and releases that were acknowledged are all there."""

    def make():
        return SqliteLedger(tmp_path / "ledger.db")

    with make() as ledger:
        ledger.register("pay", Budget(1000.0))
    rng, reported = Random(7), []
    for life in range(trials(20, 200)):
        with worker(spend_forever(make, f"life{life}")) as (child, lines):
            first = lines.readline()
            time.sleep(rng.uniform(0, 0.03))
            os.kill(child, signal.SIGKILL)
            reported += [line for line in (first + lines.read()).splitlines() if line]
    with make() as ledger:
        count = check(ledger, reported)
        # Retrying all that was told pays nothing; the last request of a life may be finished.
        for request in {line.split()[1] for line in reported}:
            charge = ledger.charge("pay", PRICE, question={"n": request}, request_id=request)
            assert not charge.fresh
        assert check(ledger, reported) == count


def until_gone(make):
    """A task that pays until the budget is gone; tells how often it could."""

    def task(tell):
        ledger, count = make(), 0
        try:
            while True:
                ledger.charge("pay", PRICE, question={})
                count += 1
        except BudgetExceeded:
            tell(f"gone {count}")
        except DitherError as error:
            tell(f"failed {type(error).__name__} {error}")

    return task


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_eight_processes_spend_exactly_the_budget(kind, request, tmp_path):
    """Everyone gets a charge or BudgetExceeded; together they pay what there was, to the last unit."""
    if kind == "sqlite":

        def make():
            return SqliteLedger(tmp_path / "ledger.db")
    else:
        dsn = request.getfixturevalue("postgres_schema")

        def make():
            return PostgresLedger(dsn)

    with make() as ledger:
        ledger.register("pay", Budget(trials(400, 4000) / 1000))
    with contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(worker(until_gone(make))) for _ in range(8)]
        reported = [lines.read().split() for _, lines in crowd]
    assert all(words[0] == "gone" for words in reported), reported
    assert sum(int(words[1]) for words in reported) == trials(400, 4000)
    with make() as ledger:
        assert ledger.verify().ok
        assert ledger.left("pay") == Loss(0.0)


@pytest.mark.slow
def test_eight_processes_create_one_ledger(postgres_schema, tmp_path):
    """Opening and registering at the same moment makes one ledger and one account."""
    for make in (lambda: SqliteLedger(tmp_path / "ledger.db"), lambda: PostgresLedger(postgres_schema)):

        def task(tell, make=make):
            make().register("pay", Budget(1.0), fingerprint="file")
            tell("done")

        with contextlib.ExitStack() as stack:
            crowd = [stack.enter_context(worker(task)) for _ in range(8)]
            assert [lines.read() for _, lines in crowd] == ["done\n"] * 8
        with make() as ledger:
            assert len(ledger.entries("pay")) == 1
            assert ledger.verify().ok


def test_a_full_disk_is_said_and_survived(tmp_path):
    """A file that may not grow: a clear error, nothing half written, and business goes on with more room."""
    with SqliteLedger(tmp_path / "ledger.db") as ledger:
        ledger.register("pay", Budget(1000.0))

    def task(tell):
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
        ledger, number = SqliteLedger(tmp_path / "ledger.db"), 0
        try:
            while True:
                ledger.charge("pay", PRICE, question={"filling": "x" * 500}, request_id=f"r-{number}")
                tell(f"charged r-{number}")
                number += 1
        except LedgerUnavailable as error:
            tell(f"refused r-{number} {error}")

    with worker(task) as (_, lines):
        reported = lines.read().splitlines()
    assert reported[-1].startswith("refused")
    assert reported[-1].endswith(("nothing was charged", "pays at most once"))
    assert len(reported) > 10
    with SqliteLedger(tmp_path / "ledger.db") as ledger:
        check(ledger, reported[:-1])
        ledger.charge("pay", PRICE, question={"filling": "x" * 500}, request_id=reported[-1].split()[1])
        assert check(ledger, reported[:-1]) == len(reported)


def test_a_database_at_its_limit_says_that_there_is_no_room(tmp_path):
    """SQLite's own error for a full disk, inside a charge: nothing was charged, and the next one works."""
    ledger = SqliteLedger(tmp_path / "ledger.db")
    ledger.register("pay", Budget(1000.0))
    connection = ledger._database.writer.connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LedgerUnavailable, match=r"no room on the disk .* nothing was charged"):
        ledger.charge("pay", PRICE, question={"filling": "x" * 20_000})
    connection.execute("PRAGMA max_page_count = 1000000")
    assert ledger.spent("pay") == Loss(0.0)
    ledger.charge("pay", PRICE, question={"filling": "x" * 20_000})
    assert ledger.verify().ok


@pytest.mark.parametrize("read_meanwhile", [False, True])
def test_a_torn_log_loses_nothing_silently(tmp_path, read_meanwhile, monkeypatch):
    """Whatever happens to the write-ahead log, the main file has all that was acknowledged.

    Only while someone reads an old state all along does the log hold more: then what is left is a true beginning,
    and a noted head tells that some is missing.
    """
    monkeypatch.setattr(sqlite, "_CARRIED_WITHIN", 0.0 if read_meanwhile else 60.0)
    ledger = SqliteLedger(tmp_path / "ledger.db")
    ledger.register("pay", Budget(1.0))
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as reader:
        if read_meanwhile:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM dither_ledger").fetchall()
        for number in range(20):
            ledger.store(ledger.charge("pay", PRICE, question={"n": number}), {"value": number})
        lengths = _left_of_torn(ledger, tmp_path)
    assert len(lengths) > 3 if read_meanwhile else lengths == {ledger.verify().entries}
    ledger.close()


def test_a_torn_log_takes_nothing_with_it_whenever_somebody_began_to_read(tmp_path, monkeypatch):
    """Readers who began at a commit, before its log was carried over: the log has no older pages afterwards."""
    monkeypatch.setattr(sqlite, "_CARRIED_WITHIN", 600.0)
    carry_over = sqlite.SqliteDatabase.carry_over

    def read_first(self, connection):
        reader = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None, check_same_thread=False)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM dither_ledger").fetchall()
        threading.Timer(0.2, reader.close).start()
        carry_over(self, connection)

    ledger = SqliteLedger(tmp_path / "ledger.db")
    ledger.register("pay", Budget(1.0))
    monkeypatch.setattr(sqlite.SqliteDatabase, "carry_over", read_first)
    for number in range(3):
        ledger.charge("pay", PRICE, question={"n": number})
        assert _left_of_torn(ledger, tmp_path) == {ledger.verify().entries}
    ledger.close()


def _left_of_torn(ledger: SqliteLedger, folder: Path) -> set[int]:
    """How many entries copies have whose logs were torn; each is a true beginning, and a noted head tells."""
    whole, head = list(ledger.export()), ledger.verify().head
    log = (folder / "ledger.db-wal").read_bytes()
    rng, lengths = Random(3), set()
    for case in range(trials(15, 150)):
        cut = rng.randrange(len(log) + 1)
        # Torn at a length, or with a block of rubbish in the middle.
        torn = log[:cut] if case % 2 else log[:cut] + rng.randbytes(512) + log[cut + 512 :]
        copy = folder / f"copy{len(whole)}_{case}.db"
        shutil.copy(folder / "ledger.db", copy)
        copy.with_name(f"{copy.name}-wal").write_bytes(torn)
        with SqliteLedger(copy) as left:
            report = left.verify()
            assert report.ok, report.problem
            assert list(left.export()) == whole[: report.entries]
            assert left.verify(head).ok == (report.entries == len(whole))
            lengths.add(report.entries)
    return lengths


def test_a_slow_reader_is_waited_for_before_a_charge_is_acknowledged(tmp_path, monkeypatch):
    """Somebody reads an old state while a charge is committed: it is acknowledged when the main file has it."""
    monkeypatch.setattr(sqlite, "_CARRIED_WITHIN", 600.0)
    ledger = SqliteLedger(tmp_path / "ledger.db")
    ledger.register("pay", Budget(1.0))
    for number in range(3):
        reader = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None, check_same_thread=False)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM dither_ledger").fetchall()
        threading.Timer(0.2, reader.close).start()
        ledger.charge("pay", PRICE, question={"n": number})
        copy = tmp_path / f"copy{number}.db"
        shutil.copy(tmp_path / "ledger.db", copy)  # without its log
        with SqliteLedger(copy) as left:
            assert list(left.export()) == list(ledger.export())
    ledger.close()


@pytest.mark.parametrize("wait", [-1, float("nan"), float("inf"), 1e9, "5", None, True])
def test_a_wait_that_is_no_number_of_seconds_is_refused(tmp_path, wait):
    """Before anything is opened: a driver would take it for something else, or fail behind a commit."""
    with pytest.raises(InvalidArgument, match=r"wait must be a number of seconds from 0 to 86,400"):
        SqliteLedger(tmp_path / "ledger.db", wait=wait)
    with pytest.raises(InvalidArgument, match="wait"):
        PostgresLedger("postgresql://nowhere", wait=wait)


def test_a_ledger_in_use_is_waited_for_then_refused(tmp_path):
    """Another writer holds the file: an error after the wait, nothing charged, and later all is well."""
    ledger = SqliteLedger(tmp_path / "ledger.db", wait=0.1)
    ledger.register("pay", Budget(1.0))
    other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnavailable, match=r"in use by another process .* nothing was charged"):
        ledger.charge("pay", PRICE, question={})
    assert ledger.left("pay") == Loss(1.0)
    other.execute("ROLLBACK")
    ledger.charge("pay", PRICE, question={})


@pytest.mark.slow
def test_a_forked_process_connects_anew(tmp_path, postgres_schema):
    """A connection is not shared over fork; parent and child both go on."""
    for ledger in (SqliteLedger(tmp_path / "ledger.db"), PostgresLedger(postgres_schema)):
        ledger.register("pay", Budget(1.0))

        def task(tell, ledger=ledger):
            tell(ledger.charge("pay", PRICE, question={}).number)
            gc.collect()

        with worker(task) as (_, lines):
            assert ledger.charge("pay", PRICE, question={}).number in (2, 3)
            connection = ledger._database.writer.connection
            assert lines.read() in ("2\n", "3\n")
        assert ledger.charge("pay", PRICE, question={}).number == 4
        assert ledger._database.writer.connection is connection
        assert ledger.verify().ok
        ledger.close()


def charge_two(place, name):
    """A task that charges, waits for a line and charges again; it tells the numbers."""
    source = (
        "import sys; from dither.ledger import SqliteLedger; from dither.privacy import Loss\n"
        f"ledger = SqliteLedger({str(place)!r})\n"
        f"for n in range(2): print(ledger.charge('pay', Loss(0.001), question={{'n': '{name}', 'm': n}}).number, "
        "flush=True), sys.stdin.readline()\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", source], text=True, **pipes)


def test_no_charge_of_a_forked_process_is_lost_when_its_parent_closes_the_ledger(tmp_path):
    """SQLite in the child believed to have the parent's locks: others deleted the log it wrote to and spent again."""
    place = tmp_path / "ledger.db"
    ledger = SqliteLedger(place)
    ledger.register("pay", Budget(1.0))
    ledger.left("pay")
    turn, go_on = os.pipe()

    def task(tell):
        for _ in range(2):
            tell(ledger.charge("pay", PRICE, question={}).number)
            os.read(turn, 1)

    with worker(task) as (_, lines):
        numbers = [int(lines.readline())]
        ledger.close()
        with charge_two(place, "other") as other:
            numbers.append(int(other.stdout.readline()))
            os.write(go_on, b"x")
            numbers.append(int(lines.readline()))
            other.stdin.write("\n")
            other.stdin.flush()
            numbers.append(int(other.stdout.readline()))
            other.communicate("\n")
    with SqliteLedger(place) as after:
        assert numbers == [2, 3, 4, 5]
        assert after.spent("pay") == Loss(0.004)
        assert after.verify().ok


@pytest.mark.slow
def test_a_process_forked_while_other_threads_charge_goes_on(tmp_path):
    """It has copies of locks that threads hold which it does not have."""
    ledger = SqliteLedger(tmp_path / "ledger.db")
    ledger.register("pay", Budget(100.0))
    stop = threading.Event()

    def charging(name):
        while not stop.is_set():
            ledger.charge("pay", PRICE, question={"thread": name})

    threads = [threading.Thread(target=charging, args=(n,), daemon=True) for n in range(3)]
    for thread in threads:
        thread.start()

    def task(tell):
        signal.alarm(60)
        tell(ledger.charge("pay", PRICE, question={}, request_id=f"child {os.getpid()}").fresh)

    try:
        for _ in range(trials(12, 100)):
            with worker(task) as (_, lines):
                assert lines.read() == "True\n"
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    paid = [entry for entry in ledger.entries("pay") if (entry.request or "").startswith("child")]
    assert len(paid) == trials(12, 100)
    assert ledger.verify().ok


def test_a_process_forked_within_a_transaction_refuses_the_file(tmp_path):
    """The parent has the lock there; SQLite in the child would believe to have it."""
    place = tmp_path / "ledger.db"
    ledger = SqliteLedger(place)
    ledger.register("pay", Budget(1.0))
    (tmp_path / "link.db").symlink_to(place)

    def task(tell):
        for again in (lambda: ledger, lambda: SqliteLedger(tmp_path / "link.db")):
            try:
                tell(again().charge("pay", PRICE, question={}).number)
            except LedgerUnavailable as error:
                tell(str(error))

    with ledger._database.transaction(), worker(task) as (_, lines):
        messages = lines.read().splitlines()
    assert len(messages) == 2
    assert all("when this process was forked" in line and "nothing was charged" in line for line in messages)
    assert ledger.charge("pay", PRICE, question={}).number == 2


def test_a_failure_does_not_cost_a_ledger_in_memory():
    """After an error inside a transaction the connection, and with it the ledger, is still there."""
    ledger = MemoryLedger()
    ledger.register("pay", Budget(1.0))
    connection = ledger._database.writer.connection
    connection.execute("PRAGMA max_page_count = 1")
    with pytest.raises(LedgerUnavailable, match="no room"):
        ledger.charge("pay", PRICE, question={"filling": "x" * 20_000})
    assert ledger.left("pay") == Loss(1.0)
    assert ledger.verify().ok


def test_an_error_while_storing_says_that_the_charge_stands(tmp_path):
    """Nothing was charged would be untrue there; the retry brings the answer in."""
    ledger = SqliteLedger(tmp_path / "ledger.db", wait=0.1)
    ledger.register("pay", Budget(1.0))
    paid = ledger.charge("pay", PRICE, question={}, request_id="one")
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerUnavailable, match="the charge stands"):
            ledger.store(paid, {"value": 1})
        other.execute("ROLLBACK")
    again = ledger.charge("pay", PRICE, question={}, request_id="one")
    assert ledger.store(again, {"value": 2}) == {"value": 2}


def test_a_broken_page_is_damage(tmp_path):
    """Rubbish in the file itself becomes an error of ours, or a report, never a driver's exception."""
    with SqliteLedger(tmp_path / "ledger.db") as ledger:
        ledger.register("pay", Budget(1.0))
        for number in range(30):
            ledger.charge("pay", PRICE, question={"n": number})
    whole = (tmp_path / "ledger.db").read_bytes()
    rng = Random(5)
    for _ in range(trials(20, 200)):
        cut = rng.randrange(len(whole) // 4096) * 4096
        (tmp_path / "ledger.db").write_bytes(whole[:cut] + rng.randbytes(4096) + whole[cut + 4096 :])
        try:
            with SqliteLedger(tmp_path / "ledger.db") as ledger:
                report = ledger.verify()
                assert not report.ok or list(ledger.export())[-1]["hash"] == report.head
        except LedgerDamaged:
            continue


def test_postgres_without_syncs_is_refused(postgres_server, postgres_schema):
    """A server that forgets at a power cut can't keep a budget."""
    import psycopg

    def switch(to):
        with psycopg.connect(postgres_server.dsn(), autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET fsync = {to}")
            connection.execute("SELECT pg_reload_conf()")
            while connection.execute("SHOW fsync").fetchone()[0] != to:
                time.sleep(0.01)

    switch("off")
    try:
        with pytest.raises(LedgerUnavailable, match="fsync off"):
            PostgresLedger(postgres_schema)
    finally:
        switch("on")
    PostgresLedger(postgres_schema).close()


@pytest.mark.parametrize("place", ["new.db", "ledger.db"])
def test_an_unwritable_folder_is_said(tmp_path, place):
    """A clear error for someone without rights, for a new ledger and for one that is there."""
    SqliteLedger(tmp_path / "ledger.db").close()

    def task(tell):
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        else:
            tmp_path.chmod(0o500)
            (tmp_path / "ledger.db").chmod(0o400)
        try:
            SqliteLedger(tmp_path / place).register("pay", Budget(1.0))
            tell("written")
        except LedgerUnavailable as error:
            tell(error)

    with worker(task) as (_, lines):
        assert "nothing was charged" in lines.read()
    tmp_path.chmod(0o700)


@pytest.mark.slow
def test_postgres_killed_and_started_again(postgres_server, postgres_schema):
    """kill -9 of the database under load: clients retry the same request and pay once; they reconnect themselves."""

    def make():
        return PostgresLedger(postgres_schema, wait=5)

    def task(name):
        def work(tell):
            ledger, number = make(), 0
            while True:
                request = f"{name}-{number}"
                try:
                    charge = ledger.charge("pay", PRICE, question={"n": request}, request_id=request)
                    tell(f"charged {request}")
                    ledger.store(charge, {"value": request})
                    tell(f"stored {request}")
                    number += 1
                except LedgerUnavailable:
                    time.sleep(0.02)

        return work

    with make() as ledger:
        ledger.register("pay", Budget(1000.0))
        rng, reported = Random(11), []
        with contextlib.ExitStack() as stack:
            crowd = [stack.enter_context(worker(task(f"w{number}"))) for number in range(3)]
            for _ in range(trials(1, 20)):
                before = len(ledger.entries("pay"))
                while len(ledger.entries("pay")) < before + 10:
                    time.sleep(rng.uniform(0, 0.05))
                postgres_server.kill()
                postgres_server.start()
                # This process had a connection too; it makes a new one by itself, and so do the workers.
                before = len(ledger.entries("pay"))
                while len(ledger.entries("pay")) < before + 10:
                    time.sleep(0.02)
            for child, lines in crowd:
                os.kill(child, signal.SIGKILL)
                reported += lines.read().splitlines()
        assert len(reported) >= 20
        check(ledger, reported)
