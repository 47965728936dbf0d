"""Many analysts at once, until the budget is gone: on SQLite, and on PostgreSQL with two server processes."""

import pytest

from conftest import trials
from curators import CuratorProcess, call, median, together, with_dataset
from dither.ledger import open_ledger

pytestmark = pytest.mark.slow

ANALYSTS = 16
EPSILON = 0.25
"""A power of two, so that sums are exact."""
ASK = "/v1/datasets/pay/releases"


def asked_until_gone(servers: list[CuratorProcess], budget: float) -> list[list[tuple[str, int, dict]]]:
    """Every analyst asks until a refusal for want of budget; what each was told, request by request."""
    for number in range(ANALYSTS):
        secret = servers[0].token(f"analyst{number}")
        for other in servers[1:]:
            other.tokens[f"analyst{number}"] = secret

    def analyst(number: int) -> list[tuple[str, int, dict]]:
        asked: list[tuple[str, int, dict]] = []
        while True:
            server = servers[(number + len(asked)) % len(servers)]
            request = f"{number}-{len(asked)}"
            body = median(EPSILON, request_id=request, again=True)
            status, answer, _ = server.call("POST", ASK, body, token=f"analyst{number}")
            asked.append((request, status, answer))
            if status != 200:
                return asked
            assert len(asked) <= budget / EPSILON

    results = together(analyst, ANALYSTS)
    for one in results:
        if isinstance(one, BaseException):
            raise one
    return results


def checked(results: list[list[tuple[str, int, dict]]], place: str, budget: float) -> None:
    """Nothing spent beyond the budget, nothing answered without its entry, nobody left without words."""
    answered = {request: answer for each in results for request, status, answer in each if status == 200}
    refusals = [answer for each in results for _, status, answer in each if status != 200]
    assert len(refusals) == ANALYSTS
    assert {one["code"] for one in refusals} == {"budget-exceeded"}
    assert len(answered) == budget / EPSILON
    with open_ledger(place, create=False) as ledger:
        assert ledger.verify().ok
        assert ledger.spent("pay").epsilon == budget
        entries = ledger.entries("pay")
    charges = {entry.number: entry.request for entry in entries if entry.kind == "charge"}
    stored = {charges[entry.charge]: entry.body["release"] for entry in entries if entry.kind == "release"}
    assert sorted(charges.values()) == sorted(answered)
    for request, answer in answered.items():
        assert stored[request]["answers"][0][0]["value"] == answer["releases"][0]["value"]


def test_sqlite(tmp_path):
    """Sixteen analysts, one server, a ledger in a file."""
    budget = EPSILON * trials(60, 2_000)
    server = CuratorProcess(with_dataset(tmp_path / "home", epsilon=budget)).start()
    results = asked_until_gone([server], budget)
    assert server.stop() == 0
    checked(results, str(tmp_path / "home" / "ledger.db"), budget)


def test_postgres_two_servers(tmp_path, postgres_schema):
    """Sixteen analysts, two servers over one ledger in PostgreSQL."""
    budget = EPSILON * trials(60, 2_000)
    home = with_dataset(tmp_path / "home", epsilon=budget)
    servers = [CuratorProcess(home, ledger=postgres_schema).start() for _ in range(2)]
    assert "owner" not in servers[1].tokens  # the first start made the token, and only the first
    servers[1].tokens.update(servers[0].tokens)
    results = asked_until_gone(servers, budget)
    assert [one.stop() for one in servers] == [0, 0]
    checked(results, postgres_schema, budget)


def test_rate_limit(tmp_path):
    """A token that knocks too often is told to wait; others are served.

    The limit for strangers counts the connection's address, whatever a header says.
    """
    server = CuratorProcess(with_dataset(tmp_path / "home"), "--rate", "1").start()
    try:
        server.token("hasty")
        server.token("calm")
        responses = [server.call("GET", "/v1/me", token="hasty") for _ in range(80)]
        refused = [one for one in responses if one[0] == 429]
        assert refused
        assert refused[0][1]["code"] == "too-many-requests"
        assert int(refused[0][2]["Retry-After"]) >= 1
        assert server.call("GET", "/v1/me", token="calm")[0] == 200
        forged = [
            call(server.port, "GET", "/v1/me", headers={"X-Forwarded-For": f"10.0.0.{number}"})[0]
            for number in range(90)
        ]
        assert 429 in forged
        strangers = [server.call("GET", "/v1/me", token="guess")[0] for _ in range(80)]
        assert 429 in strangers
        assert set(forged + strangers) == {401, 429}
    finally:
        server.stop()


@pytest.mark.parametrize("count", [4])
def test_too_many_questions_at_once(tmp_path, count):
    """More questions than fit are refused before anything is charged."""
    from dither.interfaces.http.jobs import Job, Jobs
    from dither.interfaces.http.problems import Refused

    jobs = Jobs(1, count)
    for number in range(count):
        jobs.start(Job("a", "pay", str(number), 60.0, 0.0 + 1e12, {}), dict)
    with pytest.raises(Refused, match="nothing was charged"):
        jobs.start(Job("a", "pay", "more", 60.0, 1e12, {}), dict)
    jobs.close()


def test_nobody_shuts_out_everybody_else():
    """One analyst has a share of the questions under way, and few programs; others still get theirs."""
    from dither.interfaces.http.jobs import MOST_PROGRAMS_EACH, Job, Jobs
    from dither.interfaces.http.problems import Refused

    jobs = Jobs(1, 64)

    def start(analyst: str, number: int, *, program: bool = False) -> None:
        jobs.start(Job(analyst, "pay", f"{number}", 60.0, 1e12, {}), dict, program=program)

    for number in range(16):
        start("greedy", number)
    with pytest.raises(Refused, match="of yours"):
        start("greedy", 99)
    start("modest", 0)
    for number in range(MOST_PROGRAMS_EACH):
        start("greedy", 200 + number, program=True)
    with pytest.raises(Refused, match="programs of yours"):
        start("greedy", 299, program=True)
    start("modest", 1, program=True)
    jobs.close()


def test_a_drain_does_not_wait_for_ever():
    """What takes longer than the limit is left behind; programs that had not begun are given up."""
    import threading
    import time

    from dither.interfaces.http.jobs import Job, Jobs

    jobs, never = Jobs(1, 8), threading.Event()
    jobs.start(Job("a", "pay", "long", 1.0, time.monotonic(), {}), lambda: never.wait(60) and {}, program=True)
    jobs.start(Job("a", "pay", "queued", 1.0, time.monotonic(), {}), dict, program=True)
    jobs.start(Job("a", "pay", "short", 1.0, time.monotonic(), {}), dict)
    assert jobs.close(0.3) is False
    never.set()
    assert jobs.close(30) is True
