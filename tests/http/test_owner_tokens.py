"""The last owner's token can't be revoked, and a lost one can be replaced by whoever has the curator's folder."""

import json
import logging
import threading

import pytest
from click.testing import CliRunner

from curators import CuratorProcess, with_dataset
from dither.interfaces.cli.main import main
from dither.interfaces.http.problems import Refused
from dither.interfaces.http.store import ANALYST, OWNER, Store


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Where tokens are kept."""
    return tmp_path / "server.db" if request.param == "sqlite" else request.getfixturevalue("postgres_schema")


def test_the_last_owner_stays(place):
    """Tokens of analysts, of owners of some datasets, and those that have expired don't count."""
    store = Store(place)
    last = store.create("owner", OWNER)[1]
    store.create("ann", ANALYST)
    some = store.create("some", OWNER, rules={"datasets": ["pay"]})[1]
    short = store.create("short", OWNER, expires_in=1e-6)[1]
    with pytest.raises(Refused, match="last valid owner") as caught:
        store.revoke(last.id)
    assert (caught.value.status, caught.value.code) == (409, "last-owner")
    other = store.create("other", OWNER)[1]
    assert store.revoke(last.id).revoked is not None
    assert store.revoke(last.id).revoked is not None  # again: nothing more to end
    with pytest.raises(Refused):
        store.revoke(other.id)
    for one in (some, short):
        assert store.revoke(one.id).revoked is not None
    assert store.revoke("nobody") is None
    store.close()


def test_two_owners_revoke_each_other(place):
    """Over connections of their own and at once, many times: one of the two always stays."""
    stores = [Store(place), Store(place)]
    for _ in range(20):
        pair = [stores[0].create(f"owner{number}", OWNER)[1] for number in range(2)]
        for one in stores[0].tokens():
            if one.manages_all and one.id not in {each.id for each in pair}:
                stores[0].revoke(one.id)
        ready, refused = threading.Barrier(2), []

        def revoking(store, token, ready=ready, refused=refused):
            ready.wait()
            try:
                store.revoke(token.id)
            except Refused:
                refused.append(token.id)

        threads = [threading.Thread(target=revoking, args=each) for each in zip(stores, pair, strict=True)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        left = [one.id for one in stores[0].tokens() if one.manages_all]
        assert left == refused
        assert len(left) == 1
    for one in stores:
        one.close()


@pytest.mark.slow
def test_recovery_over_a_running_server(tmp_path, monkeypatch):
    """The last token is lost: a command in the curator's folder makes another, which the running server takes."""
    home = with_dataset(tmp_path / "home")
    server = CuratorProcess(home).start()
    try:
        listed = server.call("GET", "/v1/tokens")[1]["tokens"]
        assert [one["by"] for one in listed] == ["first start"]
        status, payload, _ = server.call("DELETE", f"/v1/tokens/{listed[0]['id']}")
        assert (status, payload["code"]) == (409, "last-owner")
        monkeypatch.setattr(logging.root, "handlers", logging.root.handlers)  # the command replaces them
        monkeypatch.setattr(logging.root, "level", logging.root.level)
        done = CliRunner().invoke(main, ["tokens", "recover", "--home", str(home), "--json"])
        made = json.loads(done.stdout)
        assert json.loads(done.stderr)["event"] == "token recovered"
        assert made["token"] not in done.stderr
        server.tokens["new"] = made["token"]
        listed = server.call("GET", "/v1/tokens", token="new")[1]["tokens"]
        assert listed[1]["by"].startswith("dither tokens recover")
        assert server.call("DELETE", f"/v1/tokens/{listed[0]['id']}", token="new")[0] == 200
        assert server.call("GET", "/v1/me")[0] == 401
        assert server.call("GET", "/v1/me", token="new")[1]["role"] == "owner"
    finally:
        server.stop()


def test_recovery_needs_a_curators_folder(tmp_path):
    """Nothing is made where no curator was."""
    done = CliRunner().invoke(main, ["tokens", "recover", "--home", str(tmp_path / "none")])
    assert done.exit_code != 0
    assert "must be the folder of a curator" in done.output
    assert not (tmp_path / "none").exists()
