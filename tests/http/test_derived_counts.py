"""Counts from stored histograms over HTTP: free for everybody, named without the numbers of the ledger."""

import json

import pytest
from click.testing import CliRunner

import dither as dt
from curators import CuratorProcess, with_dataset
from dither.interfaces.cli.main import main


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with a table and two analysts."""
    one = CuratorProcess(with_dataset(tmp_path_factory.mktemp("derived") / "home", epsilon=100)).start()
    one.token("alice")
    one.token("bob")
    yield one
    one.stop()


def test_a_count_of_bins_is_free_through_every_door(server):
    """Queries, SQL, quotes, the shell, history: a loss of 0; analysts learn places in their own history only."""
    alice, bob, owner = (dt.connect(server.url, token=server.tokens[who]) for who in ("alice", "bob", "owner"))
    text = "SELECT count(*) FROM pay WHERE job = 'nurse'"
    assert bob.quote(text, epsilon=0.5)[0].loss.epsilon == 0.5
    alice.ask(dt.Median("pay"), epsilon=0.5)
    alice.ask(dt.Histogram("job"), epsilon=1)
    spent = owner.budget.spent.epsilon
    places = {}
    for who, session in (("alice", alice), ("bob", bob), ("owner", owner)):
        quoted = session.quote(text, epsilon=0.5)[0]
        assert quoted.loss == dt.Loss(0.0)
        assert "a fresh answer" in quoted.assumptions[0]
        found = session.sql(text, epsilon=0.5)
        assert found.loss == dt.Loss(0.0)
        assert found.derived_from == quoted.derived_from
        places[who] = found.derived_from
        same = session.ask(dt.Count(), where="job = 'nurse'", epsilon=0.25, request_id=f"count-{who}")
        assert (same.value, same.derived_from) == (found.value, found.derived_from)
        again = session.ask(dt.Count(), where="job = 'nurse'", epsilon=0.25, request_id=f"count-{who}")
        assert again == same
    assert places["alice"] == 2
    assert places["bob"] == 0
    assert places["owner"] > 2
    assert owner.budget.spent.epsilon == spent
    assert bob.history[-1].question["derived"] == {"version": 1, "entries": [0]}
    assert bob.history[-1].release["answers"][0][0]["derived_from"] == 0
    grouped = bob.ask(dt.Count(), by="job", epsilon=0.5)
    assert [one.derived_from for one in grouped] == [0, 0]
    assert grouped.loss == dt.Loss(0.0)
    assert bob.quote(text, epsilon=0.5, again=True)[0].loss.epsilon == 0.5
    assert bob.sql(text, epsilon=0.5, again=True).loss.epsilon == 0.5
    assert owner.budget.spent.epsilon == spent + 0.5


@pytest.mark.slow
def test_at_the_shell(server):
    """``dither ask`` and ``dither quote`` with --server say that it is free."""
    owner = dt.connect(server.url, token=server.tokens["owner"])
    owner.ask(dt.Histogram("job"), epsilon=2)
    to = ["--server", server.url, "--token", server.tokens["bob"]]
    asked = ["count(*)", "--where", "job = 'clerk'", "--epsilon", "0.5", *to]
    done = CliRunner().invoke(main, ["ask", "pay", *asked])
    assert done.exit_code == 0, done.output
    assert "free: computed from a release that another paid for" in done.output
    quoted = CliRunner().invoke(main, ["quote", "pay", *asked, "--json"])
    assert json.loads(quoted.stdout)["epsilon"] == 0
    fresh = CliRunner().invoke(main, ["quote", "pay", *asked, "--again", "--json"])
    assert json.loads(fresh.stdout)["epsilon"] == 0.5


@pytest.mark.slow
def test_a_count_is_quoted_before_anything_was_asked(tmp_path):
    """A schema file that was laid into the home has no account in the ledger yet, and so no histogram."""
    one = CuratorProcess(with_dataset(tmp_path / "home", epsilon=100)).start()
    try:
        body = {"sql": "SELECT count(*) FROM pay WHERE job = 'nurse'", "epsilon": 0.5}
        status, quoted, _ = one.call("POST", "/v1/datasets/pay/quote", body)
        assert status == 200, quoted
        assert quoted["epsilon"] == 0.5
    finally:
        one.stop()
