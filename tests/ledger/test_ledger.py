"""The rules of a ledger, the same in memory, in a SQLite file and in PostgreSQL."""

import json
import os
import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dither.accounting import filters
from dither.errors import BudgetExceeded, Contradiction, InvalidArgument, LedgerUnavailable, Retired, UnknownDataset
from dither.ledger import Ledger, MemoryLedger, PostgresLedger, SqliteLedger
from dither.ledger.entries import Registered, budget_of
from dither.privacy import Budget, Loss

MEDIAN = {"query": "median", "column": "total_pay", "epsilon": 0.25}


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def ledger(request, tmp_path):
    """An empty ledger of each kind."""
    if request.param == "memory":
        made: Ledger = MemoryLedger()
    elif request.param == "sqlite":
        made = SqliteLedger(tmp_path / "ledger.db")
    else:
        made = PostgresLedger(request.getfixturevalue("postgres_schema"))
    yield made
    report = made.verify()
    made.close()
    assert report.ok, report.problem


def test_a_charge_is_paid_stored_and_answered_again_free(ledger):
    """Charge, compute, store, answer; the identical question costs nothing the second time."""
    ledger.register("pay", Budget(1.0))
    assert ledger.answer_to("pay", MEDIAN) is None
    paid = ledger.charge("pay", Loss(0.25), question=MEDIAN, request_id="one", analyst="ann")
    assert paid.fresh
    assert paid.release is None
    assert ledger.answer_to("pay", MEDIAN) is None
    release = {"value": 52_000.5, "interval": [50_000.0, 55_000.0], "labels": None}
    assert ledger.store(paid, release) == release
    assert ledger.answer_to("pay", dict(reversed(MEDIAN.items()))) == release
    assert ledger.answer_to("pay", MEDIAN | {"epsilon": 0.5}) is None
    assert ledger.left("pay") == Loss(0.75)
    assert ledger.spent("pay") == Loss(0.25)


def test_a_repeated_request_pays_once(ledger):
    """The same request id gives the same charge, and its release as soon as there is one."""
    ledger.register("pay", Budget(1.0))
    first = ledger.charge("pay", Loss(0.25), question=MEDIAN, request_id="one")
    again = ledger.charge("pay", Loss(0.25), question=MEDIAN, request_id="one")
    assert again == first
    assert not again.fresh
    ledger.store(first, {"value": 1})
    assert ledger.charge("pay", Loss(0.25), question=MEDIAN, request_id="one").release == {"value": 1}
    assert ledger.left("pay") == Loss(0.75)
    other = ledger.charge("pay", Loss(0.25), question=MEDIAN, request_id="one", analyst="ben")
    assert other.fresh
    assert ledger.left("pay") == Loss(0.5)


@pytest.mark.parametrize(
    ("loss", "question"), [(Loss(0.25), MEDIAN | {"column": "age"}), (Loss(0.5), MEDIAN), ([Loss(0.25)] * 2, MEDIAN)]
)
def test_a_request_id_keeps_its_meaning(ledger, loss, question):
    """Another question or price under the same id is an error, and not charged."""
    ledger.register("pay", Budget(1.0))
    ledger.charge("pay", Loss(0.25), question=MEDIAN, request_id="one")
    with pytest.raises(Contradiction, match="request_id='one'"):
        ledger.charge("pay", loss, question=question, request_id="one")
    assert ledger.left("pay") == Loss(0.75)


def test_only_the_first_answer_to_a_charge_is_kept(ledger):
    """Two workers on one retried request: both are told the same release."""
    ledger.register("pay", Budget(1.0))
    paid = ledger.charge("pay", Loss(0.25), question=MEDIAN, request_id="one")
    retried = ledger.charge("pay", Loss(0.25), question=MEDIAN, request_id="one")
    assert ledger.store(retried, {"value": 2}) == {"value": 2}
    assert ledger.store(paid, {"value": 1}) == {"value": 2}


def test_a_release_needs_a_charge_of_this_ledger(ledger):
    """A charge of another ledger is not taken."""
    other = MemoryLedger()
    for one in (ledger, other):
        one.register("pay", Budget(1.0))
    foreign = other.charge("pay", Loss(0.25), question=MEDIAN)
    with pytest.raises(InvalidArgument, match="charge"):
        ledger.store(foreign, {"value": 1})


def test_a_batch_is_paid_whole_or_not_at_all(ledger):
    """The part that would have fitted is not charged."""
    ledger.register("pay", Budget(1.0, 1e-6))
    assert ledger.charge("pay", [Loss(0.2), Loss(0.3, 1e-7)], question={"batch": 1}).loss == Loss(0.5, 1e-7)
    with pytest.raises(BudgetExceeded, match="epsilon") as caught:
        ledger.charge("pay", [Loss(0.2)] * 3, question={"batch": 2})
    assert caught.value.asked == Loss(0.6)
    with pytest.raises(BudgetExceeded):
        ledger.charge("pay", Loss(0.1, 1e-6), question={"batch": 3})
    assert ledger.left("pay") == Loss(0.5, 9e-7)
    ledger.charge("pay", Loss(0.5, 9e-7), question={"batch": 4})
    assert ledger.left("pay") == Loss(0.0)


def test_an_advanced_filter_spends_squares_in_two_words(ledger):
    """333 questions of 0.01 fit into (1, 1e-6), as the filter says; large budgets pass 64 bits."""
    ledger.register("small", Budget(1.0, 1e-6), filter="advanced")
    ledger.charge("small", [Loss(0.01)] * 333, question={})
    with pytest.raises(BudgetExceeded):
        ledger.charge("small", Loss(0.01), question={"one": "more"})
    ledger.register("large", Budget(900_000.0, 1e-3), filter="advanced", slack=1e-4)
    state = filters.open_filter(Budget(900_000.0, 1e-3), filter="advanced", slack=1e-4)
    while (rest := ledger.left("large")).epsilon > 0.001:
        assert rest == filters.left(state)
        ledger.charge("large", Loss(rest.epsilon), question={})
        state = filters.spend(state, Loss(rest.epsilon))
    assert state.spent_squares > 2**64


def test_registering_again_changes_nothing(ledger):
    """The same words twice are fine; another budget, rule or fingerprint is a contradiction."""
    ledger.register("pay", Budget(1.0, 1e-6), filter="advanced", fingerprint="file:pay.parquet")
    ledger.charge("pay", Loss(0.1), question=MEDIAN)
    before = ledger.left("pay")
    ledger.register("pay", Budget(1.0, 1e-6), filter="advanced", fingerprint="file:pay.parquet")
    ledger.register("pay", Budget(1.0, 1e-6), filter="advanced")
    ledger.register("pay", Budget(1.0, 1e-6), filter="advanced", slack=5e-7)
    for budget, words in [
        (Budget(2.0, 1e-6), {"filter": "advanced"}),
        (Budget(1.0, 1e-6), {}),
        (Budget(1.0, 1e-6), {"filter": "advanced", "slack": 1e-7}),
        (Budget(1.0, 1e-6), {"filter": "advanced", "fingerprint": "file:other.parquet"}),
    ]:
        with pytest.raises(Contradiction, match="nothing was charged"):
            ledger.register("pay", budget, **words)
    assert ledger.left("pay") == before
    assert len(ledger.entries("pay")) == 2


def test_two_names_of_the_same_data_share_one_budget(ledger):
    """The fingerprint decides, and the second name can't bring a budget of its own."""
    ledger.register("pay", Budget(1.0), fingerprint="file:pay.parquet")
    ledger.register("wages", Budget(1.0), fingerprint="file:pay.parquet")
    ledger.register("weather", Budget(1.0), fingerprint="file:weather.parquet")
    ledger.charge("wages", Loss(0.75), question=MEDIAN)
    assert ledger.left("pay") == ledger.left("wages") == Loss(0.25)
    assert ledger.left("weather") == Loss(1.0)
    with pytest.raises(BudgetExceeded):
        ledger.charge("pay", Loss(0.5), question=MEDIAN)
    with pytest.raises(Contradiction):
        ledger.register("more", Budget(5.0), fingerprint="file:pay.parquet")
    assert [one.name for one in ledger.datasets()] == ["pay", "wages", "weather"]


def test_growing_data_keep_their_account(ledger):
    """A new version asks anew, though from the same budget; every earlier fingerprint still leads to it."""
    ledger.register("pay", Budget(1.0), fingerprint="day 1")
    ledger.store(ledger.charge("pay", Loss(0.25), question=MEDIAN), {"value": 1})
    assert ledger.grow("pay", fingerprint="day 2") == 2
    assert ledger.grow("pay", fingerprint="day 2") == 2
    assert ledger.answer_to("pay", MEDIAN) is None
    assert ledger.left("pay") == Loss(0.75)
    ledger.register("pay", Budget(1.0), fingerprint="day 2")
    ledger.register("old copy", Budget(1.0), fingerprint="day 1")
    assert ledger.left("old copy") == Loss(0.75)
    assert ledger.grow("pay") == 3
    assert ledger.grow("pay", fingerprint="day 1") == 4
    assert ledger.dataset("pay").fingerprint == "day 1"
    ledger.register("weather", Budget(1.0), fingerprint="rain")
    with pytest.raises(Contradiction, match="budget of their own"):
        ledger.grow("pay", fingerprint="rain")


def test_a_retired_dataset_keeps_its_history(ledger):
    """No more charges under any name; stored answers and retries of paid requests still come."""
    ledger.register("pay", Budget(1.0), fingerprint="file")
    ledger.register("wages", Budget(1.0), fingerprint="file")
    paid = ledger.charge("pay", Loss(0.25), question=MEDIAN, request_id="one")
    ledger.retire("wages")
    ledger.retire("pay")
    ledger.store(paid, {"value": 1})
    assert ledger.charge("pay", Loss(0.25), question=MEDIAN, request_id="one").release == {"value": 1}
    assert ledger.answer_to("pay", MEDIAN) == {"value": 1}
    for refused in (
        lambda: ledger.charge("pay", Loss(0.25), question=MEDIAN, request_id="two"),
        lambda: ledger.charge("wages", Loss(0.25), question=MEDIAN),
        lambda: ledger.grow("pay"),
        lambda: ledger.allow("pay", "ann", Budget(1.0)),
        lambda: ledger.register("salaries", Budget(1.0), fingerprint="file"),
    ):
        with pytest.raises(Retired, match="nothing was charged"):
            refused()
    assert ledger.left("pay") == Loss(0.0)
    assert ledger.spent("pay") == Loss(0.25)
    assert ledger.dataset("wages").retired


def test_analysts_have_budgets_of_their_own(ledger):
    """Within the dataset's, counting what was spent before, and only for them."""
    ledger.register("pay", Budget(2.0, 1e-6))
    ledger.charge("pay", Loss(0.25), question=MEDIAN, analyst="ann")
    ledger.allow("pay", "ann", Budget(0.5))
    ledger.allow("pay", "ben", Budget(5.0, 1e-6), filter="advanced")
    assert ledger.left("pay", "ann") == Loss(0.25)
    assert ledger.left("pay", "cat") == ledger.left("pay") == Loss(1.75, 1e-6)
    with pytest.raises(BudgetExceeded, match="for 'ann'"):
        ledger.charge("pay", [Loss(0.2), Loss(0.1)], question={}, analyst="ann")
    assert ledger.left("pay") == Loss(1.75, 1e-6)
    ledger.charge("pay", Loss(0.25), question={}, analyst="ann")
    assert ledger.left("pay", "ann") == Loss(0.0)
    with pytest.raises(InvalidArgument, match="has spent already"):
        ledger.allow("pay", "ann", Budget(0.4))
    ledger.allow("pay", "ann", Budget(1.0))
    assert ledger.left("pay", "ann") == Loss(0.5)
    assert ledger.spent("pay", "ann") == Loss(0.5)
    assert ledger.spent("pay", "ben") == Loss(0.0)
    assert set(ledger.dataset("pay").analysts) == {"ann", "ben"}
    assert {entry.analyst for entry in ledger.entries("pay", "ann")} == {"ann"}


def test_units_round_against_the_spender(ledger):
    """Prices go up to whole units and budgets down; a loss between units is compared by what was charged."""
    ledger.register("pay", Budget(1.0000000009, 1e-17))
    assert ledger.left("pay") == Loss(1.0, 1e-17)
    price = Loss(0.1234567891, 1.5e-18)
    paid = ledger.charge("pay", price, question=MEDIAN, request_id="one")
    assert paid.loss == Loss(0.12345679, 2e-18)
    assert ledger.charge("pay", price, question=MEDIAN, request_id="one") == paid
    ledger.register("odd", Budget(1.0, 0.5))
    odd = Loss(0.5, 0.123456789012345678)
    assert ledger.charge("odd", odd, question={}, request_id="x") == ledger.charge(
        "odd", odd, question={}, request_id="x"
    )


def test_names_are_short_printable_texts(ledger):
    """Everything that ends up in a column is checked before."""
    ledger.register("pay", Budget(1.0))
    for bad in ("", "x" * 201, "a\nb", "\0", "\ud800", 7, None):
        with pytest.raises(InvalidArgument, match="dataset"):
            ledger.register(bad, Budget(1.0))
        with pytest.raises(InvalidArgument, match="analyst"):
            ledger.charge("pay", Loss(0.1), question={}, analyst=bad)
        if bad is not None:
            with pytest.raises(InvalidArgument, match="request_id"):
                ledger.charge("pay", Loss(0.1), question={}, request_id=bad)
            with pytest.raises(InvalidArgument, match="fingerprint"):
                ledger.grow("pay", fingerprint=bad)
    assert ledger.left("pay") == Loss(1.0)


@pytest.mark.slow
def test_bad_arguments_are_named(ledger):
    """Nothing is charged for what can't be understood."""
    ledger.register("pay", Budget(1.0))
    deep = {}
    for _ in range(100_000):
        deep = {"x": deep}
    for question in (
        None,
        [],
        {"x": float("nan")},
        {"x": object()},
        {"x": {1, 2}},
        {(1,): 2},
        {"x": 10**5000},
        deep,
        {"x": "y" * 1_000_001},
        {"x": [[]] * 1_000_001},
    ):
        with pytest.raises(InvalidArgument, match="question"):
            ledger.charge("pay", Loss(0.1), question=question)
    for release in (None, [], {"x": object()}):
        with pytest.raises(InvalidArgument, match="release"):
            ledger.store(ledger.charge("pay", Loss(0.0), question={}), release)
    for loss in (0.1, [], [0.1], None):
        with pytest.raises(InvalidArgument, match="loss"):
            ledger.charge("pay", loss, question={})
    with pytest.raises(InvalidArgument, match=r"budget\.epsilon"):
        ledger.register("vast", Budget(1e7))
    with pytest.raises(BudgetExceeded):
        ledger.charge("pay", Loss(1e300), question={})
    for call in (
        lambda: ledger.charge("no", Loss(0.1), question={}),
        lambda: ledger.left("no"),
        lambda: ledger.entries("no"),
        lambda: ledger.answer_to("no", {}),
        lambda: ledger.retire("no"),
    ):
        with pytest.raises(UnknownDataset, match="'no' is not registered"):
            call()
    assert ledger.left("pay") == Loss(1.0)


def test_questions_are_stored_as_text_whatever_they_say(ledger):
    """Quotes, placeholders, control characters and large whole numbers survive; nothing is taken as SQL."""
    ledger.register("pay'; DROP TABLE dither_entries; --", Budget(1.0))
    question = {"text": "'; DROP TABLE dither_entries; -- ? %s \0 é", "whole": 10**40}
    paid = ledger.charge("pay'; DROP TABLE dither_entries; --", Loss(0.1), question=question)
    release = {"value": float("inf"), "text": "? %s {} \0"}
    ledger.store(paid, release)
    assert paid.question == question
    assert ledger.answer_to("pay'; DROP TABLE dither_entries; --", question) == release


def test_an_export_holds_every_entry_and_its_hash(ledger):
    """Plain JSON, in order, chained."""
    ledger.register("pay", Budget(1.0))
    ledger.store(ledger.charge("pay", Loss(0.25), question=MEDIAN), {"value": 1})
    lines = [json.loads(json.dumps(line)) for line in ledger.export()]
    assert [line["kind"] for line in lines] == ["register", "charge", "release"]
    assert [line["previous"] for line in lines] == ["0" * 64, lines[0]["hash"], lines[1]["hash"]]
    assert ledger.verify().head == lines[-1]["hash"]
    assert ledger.verify(lines[1]["hash"]).ok
    assert not ledger.verify("f" * 64).ok


def test_the_history_does_not_tell_how_long_an_answer_took(ledger):
    """That may depend on the data, so a release carries the time of its charge."""
    ledger.register("pay", Budget(1.0))
    paid = ledger.charge("pay", Loss(0.25), question=MEDIAN)
    time.sleep(0.01)
    ledger.store(paid, {"value": 1})
    _, charge, release = ledger.entries("pay")
    assert release.at == charge.at
    assert set(release.to_dict()) == set(charge.to_dict())


def test_threads_share_a_ledger(ledger):
    """Eight threads until the budget is gone: exactly 100 charges of a hundredth."""
    ledger.register("pay", Budget(1.0))
    paid = []

    def spend():
        try:
            while True:
                paid.append(ledger.charge("pay", Loss(0.01), question={}).number)
        except BudgetExceeded:
            pass

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(paid)) == len(paid) == 100


def test_a_ledger_in_memory_stays_in_its_process():
    """A forked child would spend a copy of the budget, so it is refused."""
    ledger = MemoryLedger()
    ledger.register("pay", Budget(1.0))
    child = os.fork()
    if child == 0:
        try:
            ledger.charge("pay", Loss(0.1), question={})
        except LedgerUnavailable:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


prices = st.builds(
    Loss, st.sampled_from([0.0, 0.05, 0.1, 1 / 3, 0.9, 1e-12]), st.sampled_from([0.0, 1e-7, 1e-6, 1e-20])
)
names = st.sampled_from(["a", "b", "c"])
people = st.sampled_from(["ann", "ben"])
steps = st.one_of(
    st.tuples(st.just("charge"), names, people, st.lists(prices, min_size=1, max_size=3), st.integers(0, 8)),
    st.tuples(st.just("store"), names, people, st.integers(0, 8)),
    st.tuples(st.just("allow"), names, people, st.sampled_from([0.2, 1.0])),
    st.tuples(st.just("grow"), names),
    st.tuples(st.just("retire"), st.just("c")),
)


def spend_all(state, losses):
    """A filter after several losses."""
    for loss in losses:
        state = filters.spend(state, loss)
    return state


class Model:
    """What a ledger does, in a few dictionaries: datasets a and b are the same data."""

    def __init__(self, name):
        budget = Budget(1.0, 2e-6)
        self.account = {"a": 0, "b": 0, "c": 1}
        self.states = {one: filters.open_filter(budget, filter=name) for one in (0, 1)}
        self.limits, self.paid, self.stored, self.retired = {}, {}, {}, set()

    def charge(self, dataset, person, losses, request):
        """The outcome in one word."""
        account = self.account[dataset]
        if (dataset, person, request) in self.paid:
            return "same" if self.paid[dataset, person, request][0] == losses else Contradiction
        if account in self.retired:
            return Retired
        try:
            after = spend_all(self.states[account], losses)
            if (account, person) in self.limits:
                spend_all(self.limited(account, person), losses)
        except BudgetExceeded:
            return BudgetExceeded
        self.states[account] = after
        self.paid[dataset, person, request] = (losses, account)
        return "new"

    def limited(self, account, person):
        """An analyst's own filter after all they paid."""
        state = filters.open_filter(Budget(self.limits[account, person], 2e-6))
        for (_, who, _), (losses, where) in self.paid.items():
            if (who, where) == (person, account):
                state = spend_all(state, losses)
        return state


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.sampled_from(["basic", "advanced", "zcdp"]), st.lists(steps, max_size=40))
def test_a_ledger_does_what_a_plain_model_does(name, script):
    """Any mixture of charges, retries, stores, allowances, growth and retirement: same outcomes, same sums."""
    model, ledger = Model(name), MemoryLedger()
    for dataset, mark in (("a", "x"), ("b", "x"), ("c", "y")):
        ledger.register(dataset, Budget(1.0, 2e-6), filter=name, fingerprint=mark)
    charges = {}
    for step in script:
        if step[0] == "charge":
            _, dataset, person, losses, request = step
            outcome = model.charge(dataset, person, losses, request)
            words = {"question": {"n": request}, "request_id": f"r{request}", "analyst": person}
            if isinstance(outcome, str):
                charge = ledger.charge(dataset, losses, **words)
                assert charge.fresh == (outcome == "new")
                assert charge.release == model.stored.get((dataset, person, request))
                charges[dataset, person, request] = charge
            else:
                with pytest.raises(outcome):
                    ledger.charge(dataset, losses, **words)
        elif step[0] == "store" and step[1:] in charges:
            value = {"value": len(model.stored)}
            assert ledger.store(charges[step[1:]], value) == model.stored.setdefault(step[1:], value)
        elif step[0] == "allow" and model.account[step[1]] not in model.retired:
            _, dataset, person, epsilon = step
            account = model.account[dataset]
            before = model.limits.get((account, person))
            model.limits[account, person] = epsilon
            try:
                model.limited(account, person)
            except BudgetExceeded:
                del model.limits[account, person]
                if before is not None:
                    model.limits[account, person] = before
                with pytest.raises(InvalidArgument):
                    ledger.allow(dataset, person, Budget(epsilon, 2e-6))
            else:
                ledger.allow(dataset, person, Budget(epsilon, 2e-6))
        elif step[0] == "grow" and model.account[step[1]] not in model.retired:
            ledger.grow(step[1])
        elif step[0] == "retire":
            ledger.retire("c")
            model.retired.add(1)
    for dataset, account in model.account.items():
        expected = Loss(0.0) if account in model.retired else filters.left(model.states[account])
        assert ledger.left(dataset) == expected
    report = ledger.verify()
    assert report.ok, report.problem


def test_a_budget_of_less_than_a_unit_is_refused_and_one_that_was_stored_does_not_lock_the_dataset():
    """It would be stored as nothing at all."""
    ledger = MemoryLedger()
    with pytest.raises(InvalidArgument, match=r"^budget.epsilon must be at least 1e-9"):
        ledger.register("d", Budget(1e-10))
    ledger.register("d", Budget(3))
    with pytest.raises(InvalidArgument, match=r"^budget.epsilon must be at least 1e-9"):
        ledger.allow("d", "ana", Budget(1e-10))
    assert ledger.dataset("d").budget.epsilon == 3
    assert budget_of(0, 0).epsilon < 1e-300


def test_the_older_name_of_a_filter_still_reads():
    """``kind`` was the name of version 0.1.0."""
    registered = Registered(
        "pay", 1, Budget(1), "basic", 0.0, 1, retired=False, fingerprint=None, relation=None, analysts={}
    )
    with pytest.warns(DeprecationWarning, match="it is now called .filter"):
        assert registered.kind == "basic"
