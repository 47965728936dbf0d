"""Torn write-ahead logs and clocks that jump under load: nothing acknowledged is lost, nothing is paid twice."""

import random
import sqlite3
import time

import pytest

from conftest import trials
from crowds import ASK, EPSILON, Crowd, checked
from curators import CuratorProcess, median, until, with_dataset
from dither.ledger import open_ledger

pytestmark = pytest.mark.slow

DAY = 86_400


def _torn(log, rng: random.Random) -> None:
    """Cut a log somewhere, or spoil a part of it, as a disk that lied about a sync would."""
    if not log.exists() or not log.stat().st_size:
        return
    text = log.read_bytes()
    cut = rng.randrange(len(text))
    log.write_bytes(text[:cut] if rng.random() < 0.5 else text[:cut] + rng.randbytes(512) + text[cut + 512 :])


def test_torn_logs(tmp_path):
    """kill -9 under load, then both logs are torn: the next start finds every acknowledged answer and every token."""
    rng, home = random.Random(8), with_dataset(tmp_path / "home", epsilon=1000)
    server = CuratorProcess(home).start()
    crowd = Crowd(server, 3)
    revoked = []
    try:
        for turn in range(trials(2, 25)):
            before = len(crowd.answered)
            until(lambda seen=before: len(crowd.answered) > seen + 2, 60)
            server.token(f"gone{turn}")
            tokens = server.call("GET", "/v1/tokens")[1]["tokens"]
            number = next(one["id"] for one in tokens if one["name"] == f"gone{turn}")
            assert server.call("DELETE", f"/v1/tokens/{number}")[0] == 200
            revoked.append(f"gone{turn}")
            time.sleep(rng.uniform(0, 0.1))
            server.kill()
            for name in ("ledger.db-wal", "server.db-wal"):
                _torn(home / name, rng)
            server.start()
            for name in revoked:
                assert server.call("GET", "/v1/me", token=name)[0] == 401
        before = len(crowd.answered)
        until(lambda: len(crowd.answered) > before, 60)
    finally:
        crowd.end()
        assert server.stop() == 0
    checked(str(home / "ledger.db"), crowd)


def _set(clock, seconds: float) -> None:
    """All at once: the server looks at any time."""
    clock.with_suffix(".new").write_text(str(seconds))
    clock.with_suffix(".new").replace(clock)


def test_clock_jumps(tmp_path):
    """Days forward, a year back, under load: answers keep their slots, the ledger its order, nothing is paid twice."""
    clock = tmp_path / "clock"
    _set(clock, 0)
    home = with_dataset(tmp_path / "home", epsilon=1000)
    server = CuratorProcess(home, seconds=0.2, clock=clock).start()
    server.token("brief", expires_in=3_600)
    crowd = Crowd(server, 3)
    try:
        assert server.call("GET", "/v1/me", token="brief")[0] == 200
        for jump in [2 * DAY, -365 * DAY, 0.5, -1, 3_650 * DAY, 0] * trials(1, 8):
            _set(clock, jump)
            before = len(crowd.answered)
            until(lambda seen=before: len(crowd.answered) > seen + 3, 60)
            start = time.monotonic()
            assert server.call("POST", ASK, median(EPSILON, again=True))[0] == 200
            assert time.monotonic() - start >= 0.199
            assert server.call("GET", "/v1/me", token="brief")[0] == (401 if jump > 3_600 else 200)
            assert server.call("GET", "/v1/datasets/pay/releases?limit=5")[0] == 200
            place = server.call("POST", ASK, median(EPSILON, again=True, wait=False))[2]["Location"]
            until(lambda where=place: server.call("GET", where)[1]["state"] == "done")
        retry = median(EPSILON, request_id="late", again=True)
        first = server.call("POST", ASK, retry)[1]["releases"]
        _set(clock, -7 * DAY)
        assert server.call("POST", ASK, retry)[1]["releases"] == first
    finally:
        crowd.end()
        assert {payload["code"] for _, payload in crowd.other} == set()
        assert server.stop() == 0
    with open_ledger(home / "ledger.db", create=False) as ledger:
        assert ledger.verify().ok
        entries = ledger.entries("pay")
        charges = [entry for entry in entries if entry.kind == "charge"]
        assert ledger.spent("pay").epsilon == EPSILON * len(charges)
    assert len({(entry.analyst, entry.request) for entry in charges}) == len(charges)
    assert min(entry.at for entry in entries) < "2026" or len({entry.at[:4] for entry in entries}) > 1
    numbers = [row[0] for row in sqlite3.connect(home / "ledger.db").execute("SELECT number FROM dither_entries")]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    stored = {entry.charge for entry in entries if entry.kind == "release"}
    acknowledged = {entry.number for entry in charges if entry.request in crowd.answered}
    assert len(acknowledged) == len(crowd.answered)
    assert acknowledged <= stored
