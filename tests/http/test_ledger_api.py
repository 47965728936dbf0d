"""The chain of entries over HTTP, caps in delta, and what a schema declares for quotes."""

import hashlib
import json
import sqlite3
import threading

import pytest

from curators import PAYROLL, CuratorProcess, held, median, until, with_dataset
from dither.ledger.entries import canonical

ASK = "/v1/datasets/pay/releases"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with two datasets and some entries."""
    home = with_dataset(tmp_path_factory.mktemp("chain") / "home", epsilon="10\ndelta = 1e-5")
    one = CuratorProcess(home).start()
    one.token("alice", budgets={"pay": {"epsilon": 5, "delta": 1e-6}})
    (home / "data" / "more.csv").write_text("pay,job\n" + "5,nurse\n" * 200)
    text = PAYROLL.format(epsilon=2).replace("pay.csv", "more.csv")
    assert one.call("POST", "/v1/datasets", {"name": "more", "schema": text})[0] == 201
    for number in range(3):
        assert one.call("POST", ASK, median(0.1, request_id=f"r{number}", again=True), token="alice")[0] == 200
    yield one
    one.stop()


def test_entries_can_be_checked_by_whoever_reads_them(server):
    """Every hash follows from its entry and the hash before; the last is the head."""
    payload = server.call("GET", "/v1/ledger?limit=1000")[1]
    previous = "0" * 64
    for one in payload["entries"]:
        assert one["previous"] == previous
        fields = {key: one[key] for key in ("number", "at", "kind", "dataset", "analyst", "request", "key", "charge")}
        assert json.loads(one["text"]) == one["body"]
        text = canonical(fields | {"body": one["text"], "previous": previous})
        previous = hashlib.sha256(text.encode()).hexdigest()
        assert previous == one["hash"]
    assert payload["head"] == {"number": len(payload["entries"]), "hash": previous}
    assert {one["kind"] for one in payload["entries"]} >= {"register", "allow", "charge", "release"}


def test_pages_of_entries(server):
    """In pieces, and of one dataset only, the same entries."""
    whole = server.call("GET", "/v1/ledger?limit=1000")[1]["entries"]
    pieces, after = [], 0
    while page := server.call("GET", f"/v1/ledger?limit=2&after={after}")[1]["entries"]:
        pieces += page
        after = page[-1]["number"]
    assert pieces == whole
    mine = server.call("GET", "/v1/ledger?dataset=more&limit=1000")[1]["entries"]
    assert mine == [one for one in whole if one["dataset"] == "more"]
    assert server.call("GET", "/v1/ledger?dataset=nope")[1]["code"] == "unknown-dataset"
    assert server.call("GET", "/v1/ledger?limit=1001")[1]["code"] == "invalid-argument"


@pytest.mark.slow
def test_the_chain_is_for_owners(server):
    """Not for analysts, and not as a whole for an owner of some datasets only."""
    server.token("part", role="owner", datasets=["more"])
    for path in ("/v1/ledger", "/v1/ledger/verify", "/v1/ledger?dataset=pay"):
        assert server.call("GET", path, token="alice")[1]["code"] == "forbidden"
        assert server.call("GET", path, token=None)[1]["code"] == "unauthenticated"
        assert server.call("GET", path, token="part")[1]["code"] in ("forbidden", "unknown-dataset")
    assert server.call("GET", "/v1/ledger?dataset=more", token="part")[0] == 200


def test_verify(server):
    """In order, with a head that was noted; not in order after somebody changed an entry behind the server's back."""
    payload = server.call("GET", "/v1/ledger/verify")[1]
    assert payload["ok"] is True
    assert server.call("GET", f"/v1/ledger/verify?known={payload['head']}")[1]["ok"] is True
    assert server.call("GET", f"/v1/ledger/verify?known={'ab' * 32}")[1]["ok"] is False
    assert server.call("GET", "/v1/ledger/verify?known=nope")[1]["code"] == "invalid-argument"
    with sqlite3.connect(server.home / "ledger.db") as connection:
        connection.execute("DROP TRIGGER dither_entries_stay")
        body = connection.execute("SELECT body FROM dither_entries WHERE number = 4").fetchone()[0]
        connection.execute("UPDATE dither_entries SET body = '{}' WHERE number = 4")
    connection.close()
    try:
        bad = server.call("GET", "/v1/ledger/verify")[1]
        assert (bad["ok"], bad["first_bad"]) == (False, 4)
    finally:
        with sqlite3.connect(server.home / "ledger.db") as connection:
            connection.execute("UPDATE dither_entries SET body = ? WHERE number = 4", [body])
        connection.close()
    assert server.call("GET", "/v1/ledger/verify")[1]["ok"] is True


def test_budgets_and_caps_in_delta(server):
    """A token's cap binds each question, its budget all of them."""
    server.token("carol", delta_cap=1e-7, budgets={"pay": {"epsilon": 5, "delta": 1.5e-7}})
    assert server.call("GET", "/v1/me", token="carol")[1]["delta_cap"] == 1e-7

    def ask(delta: float):
        body = median(0.1, delta=delta, again=True, noise="laplace", mechanism="smooth")
        return server.call("POST", ASK, body, token="carol")

    status, payload, _ = ask(2e-7)
    assert (status, payload["code"]) == (403, "forbidden")
    assert ask(1e-7)[0] == 200
    status, payload, _ = ask(1e-7)
    assert (status, payload["code"]) == (403, "budget-exceeded")
    own = server.call("GET", "/v1/datasets/pay/budget", token="carol")[1]["own"]
    assert own["left"]["delta"] == pytest.approx(5e-8)
    for bad in (-1, 2, "x"):
        assert server.call("POST", "/v1/tokens", {"name": "x", "delta_cap": bad})[1]["code"] == "invalid-argument"


def test_declared_priors(server):
    """They are public, make quotes estimates for the mechanism that answers, and are checked when registered."""
    (server.home / "data" / "prior.csv").write_text("pay,job\n" + "5,nurse\n" * 200)
    text = PAYROLL.format(epsilon=2).replace("pay.csv", "prior.csv")
    declared = text + '\n[priors.pay]\nkind = "lognormal"\nmedian = 70000\nsigma = 0.8\n'
    for bad in ('kind = "nope"', 'kind = "normal"\nmean = 5', 'kind = "uniform"\nlow = 5\nhigh = 1'):
        body = {"name": "prior", "schema": f"{text}\n[priors.pay]\n{bad}\n"}
        status, payload, _ = server.call("POST", "/v1/datasets", body)
        assert status == 422, payload
    status, payload, _ = server.call("POST", "/v1/datasets", {"name": "prior", "schema": declared})
    assert status == 201, payload
    assert payload["priors"] == {"pay": {"kind": "lognormal", "median": 70000, "sigma": 0.8}}
    quote = server.call("POST", "/v1/datasets/prior/quote", median(0.5))[1]["quotes"][0]
    assert (quote["kind"], quote["expected_error"] > 0) == ("estimate", True)
    assert "values as the schema declares" in quote["assumptions"]
    answer = server.call("POST", "/v1/datasets/prior/releases", median(0.5))[1]["releases"][0]
    assert answer["mechanism"] == quote["mechanism"]


def test_relations_are_shown(server):
    """In the entries, and in what verify works out from them."""
    entries = server.call("GET", "/v1/ledger?limit=1000")[1]["entries"]
    relation = {"neighbours": "change-one", "unit": [], "rows_per_unit": 1}
    assert all(one["body"]["relation"] == relation for one in entries if one["kind"] == "register")
    assert (
        server.call("GET", "/v1/ledger/verify")[1]["relations"].items() >= {"pay": relation, "more": relation}.items()
    )


def test_a_schema_edited_behind_the_server_is_refused(server):
    """A private number of rows where a public one was registered: 409, nothing charged, and the count is not free."""
    (server.home / "data" / "edited.csv").write_text("pay,job\n" + "7,nurse\n" * 200)
    file = server.home / "datasets" / "edited.toml"
    file.write_text(PAYROLL.format(epsilon=3).replace("pay.csv", "edited.csv"))
    place = "/v1/datasets/edited/releases"
    try:
        assert server.call("POST", place, median(1.0))[0] == 200
        before = server.call("GET", "/v1/ledger/verify")[1]["entries"]
        file.write_text(file.read_text().replace("rows = 200\n", ""))
        status, payload, _ = server.call("POST", place, median(0.5))
        assert (status, payload["code"]) == (409, "contradiction")
        assert "neighbour relation change-one" in payload["detail"]
        assert server.call("GET", "/v1/ledger/verify")[1]["entries"] == before
        assert len(server.call("GET", "/v1/ledger?dataset=edited")[1]["entries"]) == 3
    finally:
        file.unlink()


@pytest.mark.slow
def test_owners_learn_that_a_source_changed(tmp_path):
    """Owners only, and in the log; analysts get the stored answer as before, until the owner declares the change."""
    home = with_dataset(tmp_path / "home", epsilon=9)
    one = CuratorProcess(home).start()
    try:
        one.token("alice")
        first = one.call("POST", ASK, median(1.0), token="alice")[1]
        assert one.call("GET", "/v1/datasets/pay")[1]["source_changed"] is False
        lines = (home / "data" / "pay.csv").read_text().splitlines()
        (home / "data" / "pay.csv").write_text("\n".join([lines[0], *(["3,nurse"] * 200)]) + "\n")
        one.stop()
        one.start()
        payload = one.call("POST", ASK, median(1.0), token="alice")[1]
        assert payload["releases"] == first["releases"]
        assert payload.keys() == first.keys()
        assert one.call("GET", "/v1/datasets/pay")[1]["source_changed"] is True
        assert "source_changed" not in one.call("GET", "/v1/datasets/pay", token="alice")[1]
        assert one.log.read_text().count('"event": "source changed"') == 1
        (home / "data" / "pay.csv").write_text("\n".join([lines[0], *(["44,nurse"] * 200)]) + "\n")
        for _ in range(2):
            assert one.call("POST", ASK, median(1.0), token="alice")[1]["releases"] == first["releases"]
        assert one.log.read_text().count('"event": "source changed"') == 2
        assert one.call("PATCH", "/v1/datasets/pay", {"grown": True})[1]["source_changed"] is False
        renewed = one.call("POST", ASK, median(1.0), token="alice")[1]
        assert renewed["releases"] != first["releases"]
        assert renewed["budget"]["spent"]["epsilon"] == 2.0
    finally:
        one.stop()


@pytest.mark.slow
def test_readers_do_not_wait_for_a_charge_that_waits(tmp_path):
    """Another process holds the ledger: a question waits for it, while health, budget and history are told at once."""
    home = with_dataset(tmp_path / "home", epsilon=9)
    one = CuratorProcess(home).start()
    try:
        assert one.call("POST", ASK, median(1.0))[0] == 200
        with held(str(home / "ledger.db")):
            statuses = []
            asking = threading.Thread(
                target=lambda: statuses.append(one.call("POST", ASK, median(2.0))[0]), daemon=True
            )
            asking.start()
            until(
                lambda: "dither_questions_under_way 1" in one.call("GET", "/metrics")[1],
                what="the question that is under way",
            )
            for path in ("/healthz", "/v1/datasets/pay/budget", ASK, "/v1/ledger", "/v1/datasets"):
                assert one.call("GET", path)[0] == 200
            assert one.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"] == 1.0
            assert asking.is_alive()
        asking.join(120)
        assert statuses == [200]
        assert one.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"] == 3.0
    finally:
        one.stop()
