"""Ledgers that count rho: registered once, kept by every store, the same when everything is computed again."""

import sqlite3
from fractions import Fraction

import pytest

import dither as dt
from dither.accounting.filters import open_filter
from dither.errors import BudgetExceeded, Contradiction, InvalidArgument
from dither.ledger import MemoryLedger, PostgresLedger, SqliteLedger
from dither.privacy import Budget, Concentrated, Loss

DRAWN = Loss.bounded_range(0.01)
RHO_OF_BUDGET = Fraction(open_filter(Budget(1.0, 1e-6), filter="zcdp").most_squares, 10**18)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def ledger(request, tmp_path):
    """An empty ledger of each kind, verified at the end."""
    if request.param == "memory":
        made = MemoryLedger()
    elif request.param == "sqlite":
        made = SqliteLedger(tmp_path / "ledger.db")
    else:
        made = PostgresLedger(request.getfixturevalue("postgres_schema"))
    yield made
    report = made.verify()
    made.close()
    assert report.ok, report.problem


def test_a_zcdp_account_counts_rho(ledger):
    """1,942 draws of 0.01 in all, and not one more; an answer of a kind that is not known costs four of them."""
    ledger.register("pay", Budget(1.0, 1e-6), filter="zcdp")
    paid = ledger.charge("pay", [DRAWN] * 1936, question={"n": 0})
    assert paid.losses[0].concentrated == DRAWN.concentrated
    ledger.charge("pay", Loss(0.01), question={"n": 1})
    for n in (2, 3):
        ledger.charge("pay", DRAWN, question={"n": n})
    with pytest.raises(BudgetExceeded, match="nothing was charged"):
        ledger.charge("pay", DRAWN, question={"n": 4})
    assert ledger.spent("pay").epsilon == pytest.approx(19.39)
    assert ledger.dataset("pay").filter == "zcdp"
    entry = ledger.entries("pay")[2]
    assert entry.body["losses"] == [[10**7, 0]]
    assert entry.body["rhos"] == [[49999583337500, 0]]


def test_the_filter_and_its_share_of_delta_are_set_once(ledger):
    """The same words again change nothing; another filter or another split contradict, and nothing is charged."""
    ledger.register("pay", Budget(1.0, 1e-6), filter="zcdp")
    ledger.register("pay", Budget(1.0, 1e-6), filter="zcdp", slack=9.6875e-7)
    for words in ({"filter": "basic"}, {"filter": "advanced"}, {"filter": "zcdp", "slack": 5e-7}):
        with pytest.raises(Contradiction, match="a zcdp budget of epsilon 1, delta 1e-06"):
            ledger.register("pay", Budget(1.0, 1e-6), **words)
    for budget, words in ((Budget(1.0), {}), (Budget(1.0, 1e-6), {"slack": 2e-6}), (Budget(1.0, 1e-6), {"slack": 0})):
        with pytest.raises(InvalidArgument):
            ledger.register("other", budget, filter="zcdp", **words)
    assert [one.name for one in ledger.datasets()] == ["pay"]


def test_an_analyst_may_be_counted_by_another_rule(ledger):
    """What was spent counts as the rule counts it, also when the rule of an analyst's own budget is changed."""
    ledger.register("pay", Budget(5.0, 1e-6))
    for n in range(30):
        ledger.charge("pay", DRAWN, question={"n": n}, analyst="ann")
    ledger.allow("pay", "ann", Budget(0.3), filter="basic")
    with pytest.raises(BudgetExceeded):
        ledger.charge("pay", DRAWN, question={"n": 30}, analyst="ann")
    with pytest.raises(InvalidArgument, match="spent already"):
        ledger.allow("pay", "ann", Budget(0.01, 1e-7), filter="zcdp")
    ledger.allow("pay", "ann", Budget(0.25, 1e-6), filter="zcdp")
    for n in range(30, 60):
        ledger.charge("pay", DRAWN, question={"n": n}, analyst="ann")
    with pytest.raises(InvalidArgument, match="spent already"):
        ledger.allow("pay", "ann", Budget(0.5), filter="basic")
    ledger.allow("pay", "ann", Budget(0.6), filter="basic")
    assert ledger.left("pay", "ann").epsilon == 0


def test_a_ledger_of_version_2_keeps_its_filters(tmp_path):
    """It gains a column; entries without rho count as epsilon^2 / 2 where an analyst gets a zcdp budget."""
    place = tmp_path / "ledger.db"
    with SqliteLedger(place) as ledger:
        ledger.register("pay", Budget(1.0, 1e-6), filter="advanced")
        ledger.charge("pay", Loss(0.1), question={"n": 0}, analyst="ann")
    with sqlite3.connect(place) as file:
        file.execute("UPDATE dither_accounts SET kind = filter")
        file.execute("ALTER TABLE dither_accounts DROP COLUMN filter")
        file.execute("UPDATE dither_ledger SET version = 2")
    with SqliteLedger(place, read_only=True) as ledger:
        assert ledger.dataset("pay").filter == "advanced"
        assert ledger.verify().ok
    with SqliteLedger(place) as ledger:
        assert ledger.dataset("pay").filter == "advanced"
        ledger.charge("pay", DRAWN, question={"n": 1}, analyst="ann")
        with pytest.raises(Contradiction):
            ledger.register("pay", Budget(1.0, 1e-6), filter="zcdp")
        assert ledger.verify().ok


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE dither_accounts SET spent_low = spent_low - 1",
        "UPDATE dither_accounts SET filter = 'advanced'",
        "UPDATE dither_accounts SET filter = NULL",
    ],
)
def test_an_account_that_was_changed_is_found(tmp_path, edit):
    """What the tables say is compared with what the entries say."""
    with SqliteLedger(tmp_path / "ledger.db") as ledger:
        ledger.register("pay", Budget(1.0, 1e-6), filter="zcdp")
        ledger.charge("pay", DRAWN, question={})
    with sqlite3.connect(tmp_path / "ledger.db") as file:
        file.execute(edit)
    with SqliteLedger(tmp_path / "ledger.db") as ledger:
        assert "accounts" in ledger.verify().problem


def test_the_tables_stop_a_faulty_program(tmp_path, monkeypatch):
    """If the filter admitted everything, the CHECK would refuse a rho beyond the greatest."""
    with SqliteLedger(tmp_path / "ledger.db") as ledger:
        ledger.register("pay", Budget(1.0, 1e-6), filter="zcdp")
        monkeypatch.setattr("dither.accounting.filters.is_admitted", lambda state: True)
        with pytest.raises(dt.DitherError, match="nothing was charged"):
            ledger.charge("pay", [DRAWN] * 1943, question={})
        ledger.charge("pay", [DRAWN] * 1942, question={})


def test_a_session_asks_as_often_as_the_filter_admits(tmp_path):
    """Drawn answers through a session with a ledger on disk: the last of 1,942 is answered, the next is refused."""
    ages = [30, 40, 50, 60] * 50
    with dt.open(
        {"age": ages},
        name="people",
        columns={"age": dt.Integer(0, 120)},
        rows=200,
        budget=Budget(1.0, 1e-6),
        filter="zcdp",
        ledger=tmp_path / "ledger.db",
    ) as session:
        first = session.ask(dt.Median("age"), epsilon=0.01, confidence=None)
        assert first.loss.rho == 1.25e-5
        with SqliteLedger(tmp_path / "ledger.db") as ledger:
            ledger.charge("people", [first.loss] * 1939, question={"n": 0})
        for _ in range(2):
            session.ask(dt.Median("age"), epsilon=0.01, confidence=None, again=True)
        with pytest.raises(BudgetExceeded):
            session.ask(dt.Median("age"), epsilon=0.01, confidence=None, again=True)
        assert session.history[-1].loss.rho == 1.25e-5


def test_a_request_that_is_still_to_be_answered_costs_no_more_than_it_paid(ledger):
    """Another version may answer the same question by a mechanism of a greater rho: that was not paid for."""
    ledger.register("pay", Budget(1.0, 1e-6), filter="zcdp")
    ledger.register("age", Budget(1.0, 1e-6))
    for dataset in ("pay", "age"):
        ledger.charge(dataset, DRAWN, question={"n": 0}, request_id="one")
    for call in (ledger.charge, ledger.charged):
        words = {"question": {"n": 0}, "request_id": "one", "analyst": "local"}
        assert not call("pay", DRAWN, **words).fresh
        with pytest.raises(Contradiction, match="privacy loss; nothing was charged this time"):
            call("pay", Loss(0.01), **words)
        assert not call("age", Loss(0.01), **words).fresh
    # What was answered is given again, whatever a new answer would cost; less than was paid is paid.
    kept = ledger.store(ledger.charge("pay", DRAWN, question={"n": 0}, request_id="one"), {"value": 7})
    assert ledger.charge("pay", Loss(0.01), question={"n": 0}, request_id="one").release == kept
    ledger.charge("pay", Loss(0.01), question={"n": 1}, request_id="two")
    assert not ledger.charge("pay", DRAWN, question={"n": 1}, request_id="two").fresh
    assert ledger.spent("pay").epsilon == pytest.approx(0.02)


PURE = Loss(0.2)


def test_a_zcdp_account_admits_what_adding_epsilons_admits(ledger):
    """Five pure answers of 0.2 within (1, 1e-6), of which rho alone admits one; not a sixth, and drawn ones neither."""
    ledger.register("pay", Budget(1.0, 1e-6), filter="zcdp")
    assert ledger.left("pay") == Loss(1.0)
    for n in range(5):
        ledger.charge("pay", PURE, question={"n": n})
    for loss in (PURE, DRAWN, Loss(1e-9)):
        with pytest.raises(BudgetExceeded, match="has epsilon 0"):
            ledger.charge("pay", loss, question={"n": 5})
    assert ledger.left("pay").epsilon == 0


def test_a_loss_with_a_delta_ends_the_plain_sum_for_good(ledger):
    """After Gaussian noise, which has no delta beside its rho, rho alone counts."""
    ledger.register("pay", Budget(1.0, 1e-6), filter="zcdp")
    ledger.charge("pay", Loss(0.1, 1e-9, stated=Concentrated(Fraction(1, 10**4))), question={"n": 0})
    ledger.charge("pay", PURE, question={"n": 1})
    with pytest.raises(BudgetExceeded):
        ledger.charge("pay", PURE, question={"n": 2})
    assert 0 < ledger.left("pay").epsilon < 0.2


def test_an_answer_after_the_plain_sum_is_counted_by_rho_with_all_before_it(ledger):
    """Drawn answers go past the plain sum; then what was paid before counts in rho too."""
    ledger.register("pay", Budget(1.0, 1e-6), filter="zcdp")
    ledger.charge("pay", PURE, question={"n": 0})
    room = RHO_OF_BUDGET - PURE.concentrated.rho
    count = room // DRAWN.concentrated.rho
    assert count > 80
    ledger.charge("pay", [DRAWN] * count, question={"n": 1})
    with pytest.raises(BudgetExceeded):
        ledger.charge("pay", DRAWN, question={"n": 2})


def test_the_tables_stop_a_program_that_forgets_the_other_sum(tmp_path, monkeypatch):
    """If the filter admitted everything: beyond the sum of epsilons the CHECK on rhos holds."""
    with SqliteLedger(tmp_path / "ledger.db") as ledger:
        ledger.register("pay", Budget(1.0, 1e-6), filter="zcdp")
        ledger.charge("pay", [PURE] * 5, question={})
        monkeypatch.setattr("dither.accounting.filters.is_admitted", lambda state: True)
        with pytest.raises(dt.DitherError, match="nothing was charged"):
            ledger.charge("pay", Loss(1e-9), question={})


def test_an_account_of_version_3_is_counted_by_rho_alone(tmp_path):
    """Its program never looked at the sum of epsilons; what it opened admits as much as before, and verifies."""
    place = tmp_path / "ledger.db"
    with SqliteLedger(place) as ledger:
        ledger.register("pay", Budget(1.0, 1e-6), filter="zcdp")
        ledger.charge("pay", PURE, question={"n": 0})
    with sqlite3.connect(place) as file:
        file.execute("UPDATE dither_accounts SET kind = 'advanced'")
        file.execute("UPDATE dither_ledger SET version = 3")
    with SqliteLedger(place) as ledger:
        with pytest.raises(BudgetExceeded):
            ledger.charge("pay", PURE, question={"n": 1})
        assert ledger.verify().ok
    with sqlite3.connect(place) as file:
        assert file.execute("SELECT version FROM dither_ledger").fetchone() == (4,)


def test_a_plain_sum_that_was_given_up_does_not_come_back(tmp_path):
    """An account whose guard was set back by hand is found."""
    place = tmp_path / "ledger.db"
    with SqliteLedger(place) as ledger:
        ledger.register("pay", Budget(1.0, 1e-6), filter="zcdp")
        ledger.charge("pay", Loss(0.1, 1e-9, stated=Concentrated(Fraction(1, 10**4))), question={})
    with sqlite3.connect(place) as file:
        file.execute("UPDATE dither_accounts SET kind = 'basic'")
    with SqliteLedger(place) as ledger:
        assert "accounts" in ledger.verify().problem
