"""Charges and releases of a ledger in PostgreSQL: one journey each while nobody else writes, and never a wrong one."""

import contextlib
import socket
import threading

import pytest

from conftest import needs_package
from dither.errors import BudgetExceeded, LedgerUnavailable, Retired
from dither.ledger import PostgresLedger
from dither.privacy import Budget, Loss

needs_package("psycopg")
EACH = Loss(0.25)


class Counter:
    """A relay in front of the database: counts how often the client speaks after the server did, and can cut in."""

    def __init__(self, port):
        self._target, self._listener = port, socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.journeys = 0
        self.deaf = False
        """While True what the server answers is lost, and the connection with it."""
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                turn = {"client": False}
                threading.Thread(target=self._forward, args=(client, server, turn), daemon=True).start()
                threading.Thread(target=self._back, args=(server, client, turn), daemon=True).start()

    def _forward(self, client, server, turn):
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 16):
                if not turn["client"]:
                    turn["client"] = True
                    self.journeys += 1
                server.sendall(data)
        server.close()

    def _back(self, server, client, turn):
        with contextlib.suppress(OSError):
            while data := server.recv(1 << 16):
                if self.deaf:
                    break
                turn["client"] = False
                client.sendall(data)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
        client.close()

    def close(self):
        self._listener.close()


@pytest.fixture
def relay(postgres_server):
    """Journeys to the database are counted."""
    counter = Counter(postgres_server.port)
    yield counter
    counter.close()


@pytest.fixture
def relayed(relay, postgres_server, postgres_schema):
    """The address of the schema, through the relay."""
    return postgres_schema.replace(f":{postgres_server.port}/", f":{relay.port}/")


def test_a_charge_and_its_release_are_one_journey_each(relay, relayed):
    """The first charge looks at the accounts; those behind it know them.  With and without a budget of one's own."""
    with PostgresLedger(relayed) as ledger:
        ledger.register("pay", Budget(100.0))
        ledger.allow("pay", "ann", Budget(50.0))
        for analyst in ("ann", "bob"):
            before = relay.journeys
            ledger.store(ledger.charge("pay", EACH, question={"n": 0}, analyst=analyst), {"value": 0})
            assert relay.journeys - before > 4
            for number in range(1, 4):
                before = relay.journeys
                charge = ledger.charge("pay", EACH, question={"n": number}, analyst=analyst)
                assert charge.fresh
                assert relay.journeys - before == 1
                assert ledger.store(charge, {"value": number}) == {"value": number}
                assert relay.journeys - before == 2
        assert ledger.verify().ok
        assert ledger.spent("pay").epsilon == 8 * EACH.epsilon


def test_a_request_pays_once_and_a_budget_is_kept(relayed):
    """What an ordinary transaction refuses or finds again, one journey does too."""
    with PostgresLedger(relayed) as ledger:
        ledger.register("pay", Budget(1.0))
        first = ledger.charge("pay", EACH, question={"n": 1}, request_id="a")
        again = ledger.charge("pay", EACH, question={"n": 1}, request_id="a")
        assert first.fresh
        assert not again.fresh
        assert again.number == first.number
        for number in range(3):
            assert ledger.charge("pay", EACH, question={"n": number}).fresh
        with pytest.raises(BudgetExceeded):
            ledger.charge("pay", EACH, question={"n": 9})
        assert ledger.spent("pay").epsilon == 1.0
        assert ledger.verify().ok


def test_two_ledgers_never_work_from_what_is_no_longer_so(relayed):
    """Each knows only its own writes: entries, versions and retirements of the other are met by the database."""
    with PostgresLedger(relayed) as here, PostgresLedger(relayed) as there:
        here.register("pay", Budget(2.0))
        for number in range(3):
            assert here.charge("pay", EACH, question={"n": number}).fresh
            assert there.charge("pay", EACH, question={"n": number}, request_id=f"r{number}").fresh
            assert not here.charge("pay", EACH, question={"n": number}, request_id=f"r{number}").fresh
        there.grow("pay")
        assert here.charge("pay", EACH, question={"n": 7}).version == 2
        there.retire("pay")
        with pytest.raises(Retired):
            here.charge("pay", EACH, question={"n": 8})
        assert here.verify().ok
        assert here.spent("pay").epsilon == 7 * EACH.epsilon


@pytest.mark.slow
def test_threads_and_processes_at_once_spend_what_they_were_charged(relayed):
    """Eight threads on two ledgers, to exhaustion: as many charges as the budget has, and a chain without a gap."""
    with PostgresLedger(relayed) as here, PostgresLedger(relayed) as there:
        here.register("pay", Budget(5.0))
        paid = []

        def ask(ledger, name):
            with contextlib.suppress(BudgetExceeded):
                for number in range(20):
                    charge = ledger.charge("pay", EACH, question={"n": f"{name}-{number}"})
                    ledger.store(charge, {"value": number})
                    paid.append(charge.number)

        threads = [threading.Thread(target=ask, args=((here, there)[k % 2], k)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(paid) == len(set(paid)) == 20
        assert here.verify().ok
        assert here.spent("pay").epsilon == 5.0


def test_what_is_known_changes_in_the_turn_of_the_writer(relayed):
    """Another thread that forgets the head between a look and a use would fail a release that is stored already."""

    class Guarded(PostgresLedger):
        @property
        def _known_head(self):
            assert self._database.writer.turn._is_owned()
            return self._held

        @_known_head.setter
        def _known_head(self, head):
            assert not hasattr(self, "_held") or self._database.writer.turn._is_owned()
            self._held = head

    with Guarded(relayed) as here, PostgresLedger(relayed) as there:
        here.register("pay", Budget(2.0))
        for number in range(2):
            charge = here.charge("pay", EACH, question={"n": number})
            there.charge("pay", EACH, question={"n": f"there-{number}"})
            assert here.store(charge, {"value": number}) == {"value": number}
        assert here.verify().ok


def test_a_charge_whose_acknowledgement_was_lost_is_paid_once(relay, relayed):
    """The statement arrived and its answer did not: it is said that nobody knows, and a retry pays nothing."""
    with PostgresLedger(relayed, wait=2) as ledger:
        ledger.register("pay", Budget(10.0))
        ledger.charge("pay", EACH, question={"n": 0})
        relay.deaf = True
        with pytest.raises(LedgerUnavailable, match="not known whether this was written"):
            ledger.charge("pay", EACH, question={"n": 1}, request_id="lost")
        relay.deaf = False
        charge = ledger.charge("pay", EACH, question={"n": 1}, request_id="lost")
        assert not charge.fresh
        assert ledger.spent("pay").epsilon == 2 * EACH.epsilon
        assert ledger.store(charge, {"value": 1}) == {"value": 1}
        assert ledger.verify().ok


def test_accounts_that_were_changed_behind_the_chain_are_not_overwritten(relayed, postgres_schema):
    """The statement compares accounts too: what another program wrote there is found by the ordinary way."""
    import psycopg

    with PostgresLedger(relayed) as ledger:
        ledger.register("pay", Budget(1.0))
        ledger.charge("pay", EACH, question={"n": 0})
        with psycopg.connect(postgres_schema, autocommit=True) as other:
            other.execute("UPDATE dither_accounts SET spent_epsilon = epsilon")
        with pytest.raises(BudgetExceeded):
            ledger.charge("pay", EACH, question={"n": 1})
