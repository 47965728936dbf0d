"""What a hostile analyst, a curious owner or a stranger might try: none of it gets anything out or anybody else in."""

import contextlib
import json
import os
import socket
import sqlite3
import stat
import time

import pytest

from curators import PAYROLL, CuratorProcess, call, median, together, until, with_dataset

pytestmark = pytest.mark.slow

ASK = "/v1/datasets/pay/releases"
GRAPH = '[dataset]\nsource = "secret-edges.csv"\n[graph]\nvertices = 60\n[budget]\nepsilon = 5\n'


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with a secret in its environment."""
    home = with_dataset(tmp_path_factory.mktemp("hostile") / "home", epsilon=100)
    os.environ["DITHER_TEST_SECRET"] = "hunter2"
    try:
        one = CuratorProcess(home).start()
    finally:
        del os.environ["DITHER_TEST_SECRET"]
    one.token("alice")
    one.token("bob")
    yield one
    one.stop()


def test_request_ids_of_others(server):
    """A request id is its analyst's: another's use of it neither reads, blocks nor pays for anything."""
    first = server.call("POST", ASK, median(0.4, request_id="shared", again=True), token="alice")[1]
    spent = server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"]
    other = server.call("POST", ASK, median(0.4, request_id="shared", again=True), token="bob")[1]
    assert other["budget"]["spent"]["epsilon"] == pytest.approx(spent + 0.4)
    different = server.call("POST", ASK, median(0.3, request_id="shared", again=True), token="bob")
    assert different[0] == 409
    again = server.call("POST", ASK, median(0.4, request_id="shared", again=True), token="alice")[1]
    assert again["releases"] == first["releases"]


def test_one_request_from_many_connections_at_once(server):
    """The same request sixteen times at the same moment: one charge, one answer for all."""
    before = server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"]
    body = median(0.2, request_id="race", again=True)
    responses = together(lambda _: server.call("POST", ASK, body, token="alice"), 16)
    assert {status for status, _, _ in responses} == {200}
    assert len({json.dumps(answer["releases"]) for _, answer, _ in responses}) == 1
    after = server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"]
    assert after == pytest.approx(before + 0.2)


def test_stored_answers_need_the_same_rights(server):
    """What others paid for is free to those who may ask it themselves, and to nobody else."""
    body = {"query": {"kind": "mean", "column": "pay"}, "epsilon": 0.9}
    assert server.call("POST", ASK, body, token="alice")[0] == 200
    server.token("small", epsilon_cap=0.5)
    server.token("kind", kinds=["median"])
    server.token("blind", datasets=[])
    for name, code in (("small", "forbidden"), ("kind", "forbidden"), ("blind", "unknown-dataset")):
        assert server.call("POST", ASK, body, token=name)[1]["code"] == code
        assert server.call("POST", "/v1/datasets/pay/quote", body, token=name)[1]["code"] == code


@pytest.mark.parametrize(
    "source",
    [
        "spark+local[*]!/etc/passwd",
        "spark+local[1]!{home}/server.db",
        "http://127.0.0.1:1/x.csv",
        "s3://bucket/x.parquet",
        "file:///etc/passwd",
        "*.csv",
        "link.csv",
        "postgresql://x:${{DITHER_TEST_SECRET}}@127.0.0.1:{port}/x",
        "postgresql://x:${{PATH}}@127.0.0.1:{port}/x",
        "${{DITHER_TEST_SECRET}}",
    ],
)
def test_sources_that_reach_elsewhere(server, source):
    """Other engines, other machines, links out of the folder, secrets of the environment: refused when registered."""
    link = server.home / "data" / "link.csv"
    if not link.is_symlink():
        link.symlink_to("/etc/passwd")
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.settimeout(0.2)
        named = source.format(home=server.home, port=listening.getsockname()[1])
        text = PAYROLL.format(epsilon=1).replace('"pay.csv"', json.dumps(named) + '\ntable = "x"')
        status, payload, _ = server.call("POST", "/v1/datasets", {"name": "elsewhere", "schema": text})
        assert status in (422, 503), payload
        assert "hunter2" not in json.dumps(payload)
        with pytest.raises(TimeoutError):
            listening.accept()
    assert not (server.home / "datasets" / "elsewhere.toml").exists()


def test_an_engine_by_name(server):
    """Neither does saying the engine open another door."""
    for engine in ("spark", "postgres"):
        text = PAYROLL.format(epsilon=1).replace('"pay.csv"', f'"pay.csv"\nengine = "{engine}"\ntable = "x"')
        assert server.call("POST", "/v1/datasets", {"name": "engine", "schema": text})[0] == 422


def test_a_file_whose_suffix_is_that_of_another_engine(server):
    """The schema names the engine; that it does opens no file out of the folder."""
    with contextlib.closing(sqlite3.connect(server.home / "data" / "staff.db")) as connection, connection:
        connection.execute("CREATE TABLE staff (pay REAL)")
        connection.executemany("INSERT INTO staff VALUES (?)", [(one,) for one in (1.0, "n/a", 3.0)])
    toml = 'version = 2\n[dataset]\nsource = "{}"\nengine = "sqlite"\ntable = "staff"\n[budget]\nepsilon = 1\n'
    toml += '[columns.pay]\ntype = "real"\nbounds = [0, 9]\n'
    (server.home / "data" / "link.sqlite").symlink_to(server.home / "server.db")
    for source in ("../server.db", "link.sqlite", str(server.home / "server.db")):
        assert server.call("POST", "/v1/datasets", {"name": "own", "schema": toml.format(source)})[0] == 422
    assert server.call("POST", "/v1/datasets", {"name": "staff", "schema": toml.format("staff.db")})[0] == 201
    body = {"query": {"kind": "median", "column": "pay"}, "epsilon": 0.5}
    assert server.call("POST", "/v1/datasets/staff/releases", body)[0] == 200


def test_errors_do_not_name_the_source(server):
    """Of a graph that is gone an analyst learns that it is, and not how its file is called."""
    edges = server.home / "data" / "secret-edges.csv"
    edges.write_text("source,target\n0,1\n1,2\n")
    assert server.call("POST", "/v1/datasets", {"name": "graph", "schema": GRAPH})[0] == 201
    body = {"query": {"kind": "edges"}, "epsilon": 0.1}
    assert server.call("POST", "/v1/datasets/graph/releases", body, token="alice")[0] == 200
    edges.rename(edges.with_suffix(".away"))
    status, payload, _ = server.call("POST", "/v1/datasets/graph/releases", body | {"again": True}, token="alice")
    assert (status, payload["code"]) == (503, "source-failed")
    assert "secret-edges" not in json.dumps(payload)
    assert "nothing was charged" in payload["detail"]
    assert server.call("GET", "/v1/datasets/graph/budget")[1]["spent"]["epsilon"] == 0.1


def test_a_graph_of_people(server):
    """Its relation is stated, edges are answered, what is not proved for it is refused before anything is charged."""
    (server.home / "data" / "secret-people.csv").write_text("source,target\n0,1\n1,2\n")
    text = GRAPH.replace("edges", "people").replace("vertices = 60", 'vertices = 60\nneighbours = "node"')
    assert server.call("POST", "/v1/datasets", {"name": "people", "schema": text})[0] == 201
    assert server.call("GET", "/v1/datasets/people")[1]["neighbours"] == "node"
    asked = {"query": {"kind": "edges"}, "epsilon": 0.5}
    status, payload, _ = server.call("POST", "/v1/datasets/people/releases", asked)
    assert status == 200
    assert (payload["releases"][0]["neighbours"], payload["releases"][0]["mechanism"]) == ("node", "drawn_limit")
    assert server.call("POST", "/v1/datasets/people/quote", asked | {"mechanism": "race"})[0] == 200
    for kind in ({"kind": "triangles"}, {"kind": "kstars", "k": 2}):
        status, payload, _ = server.call(
            "POST", "/v1/datasets/people/releases", {"query": kind, "epsilon": 0.1, "mechanism": "race"}
        )
        assert (status, payload["releases"][0]["neighbours"]) == (200, "node")
    for kind in ({"kind": "ktriangles", "k": 2}, {"kind": "kcliques", "k": 4}, {"kind": "min_cut"}):
        assert server.call("POST", "/v1/datasets/people/releases", {"query": kind, "epsilon": 0.5})[0] == 422
    assert server.call("GET", "/v1/datasets/people/budget")[1]["spent"]["epsilon"] == 0.7


def test_owners_of_some_datasets_give_out_no_more_than_they_have(server):
    """No token beyond their datasets, kinds, prices and time; no sight or end of tokens that see more."""
    limited = {"datasets": ["pay"], "epsilon_cap": 0.5, "expires_in": 600}
    server.token("part", role="owner", **limited)

    def make(**rules: object):
        return server.call("POST", "/v1/tokens", {"name": "x", **rules}, token="part")[0]

    assert make() == 403
    assert make(role="owner") == 403
    assert make(**limited | {"expires_in": 6_000}) == 403
    assert make(**limited | {"epsilon_cap": 0.6}) == 403
    assert make(**limited | {"datasets": ["pay", "graph"]}) == 403
    assert make(datasets=["pay"], epsilon_cap=0.5) == 403
    assert make(**limited | {"expires_in": 500, "budgets": {"graph": {"epsilon": 1}}}) in (403, 404)
    assert make(**limited | {"expires_in": 500}) == 201
    text = PAYROLL.format(epsilon=1)
    assert server.call("POST", "/v1/datasets", {"name": "new", "schema": text}, token="part")[0] == 403
    seen = {one["name"] for one in server.call("GET", "/v1/tokens", token="part")[1]["tokens"]}
    assert {"part", "x"} <= seen
    assert not seen & {"owner", "alice", "bob"}
    everybody = server.call("GET", "/v1/tokens")[1]["tokens"]
    first = next(one["id"] for one in everybody if one["name"] == "owner")
    assert server.call("DELETE", f"/v1/tokens/{first}", token="part")[0] == 404
    assert server.call("GET", "/v1/me")[0] == 200
    assert 'dataset="graph"' not in server.call("GET", "/metrics", token="part")[1]


def test_nobody_takes_the_name_of_the_owners_own_sessions(server):
    """Charges made without a server are under the name "local": no token may read them as its own."""
    assert server.call("POST", "/v1/tokens", {"name": "local"})[1]["code"] == "invalid-argument"


def test_other_origins(server):
    """No page of another origin may read an answer, send a token, or frame the page; there is no cookie to ride on."""
    for path, method in (("/v1/me", "OPTIONS"), ("/v1/me", "GET"), ("/", "GET"), ("/openapi.json", "GET")):
        headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
        _, _, answer = call(server.port, method, path, headers=headers)
        assert not [key for key in answer if key.lower().startswith(("access-control", "set-cookie"))]
    for path in ("/", "/v1/me", "/openapi.json", "/nothing"):
        answer = call(server.port, "GET", path)[2]
        assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert "Server" not in answer


def test_refusals_of_tokens_take_the_same_way(server):
    """Unknown and revoked tokens are looked up alike: their times are of one law (false alarms 1e-9)."""
    from scipy.stats import mannwhitneyu

    ended = server.token("over")
    number = next(one["id"] for one in server.call("GET", "/v1/tokens")[1]["tokens"] if one["name"] == "over")
    server.call("DELETE", f"/v1/tokens/{number}")
    times: dict[str, list[float]] = {"unknown": [], "revoked": []}
    for turn in range(150):
        for what in ("unknown", "revoked") if turn % 2 else ("revoked", "unknown"):
            secret = ended if what == "revoked" else "dither_" + os.urandom(32).hex()[:43]
            start = time.perf_counter()
            status = server.call("GET", "/v1/me", token=secret)[0]
            times[what].append(time.perf_counter() - start)
            assert status == 401
    assert mannwhitneyu(times["unknown"], times["revoked"]).pvalue > 1e-9


def test_files_are_the_servers_own(server):
    """Ledger, tokens and schemas can be read by the server's user alone."""
    text = PAYROLL.format(epsilon=1).replace("pay.csv", "own.csv")
    (server.home / "data" / "own.csv").write_text("pay,job\n" + "5,nurse\n" * 200)
    assert server.call("POST", "/v1/datasets", {"name": "own", "schema": text})[0] == 201
    kept = [server.home / "datasets" / "own.toml", *server.home.glob("ledger.db*"), *server.home.glob("server.db*")]
    assert len(kept) >= 3
    for file in kept:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_a_schema_that_changes_meanwhile(server):
    """Bounds that change on disk make other questions; answers of the old ones are not passed off as theirs."""
    file = server.home / "datasets" / "moving.toml"
    (server.home / "data" / "moving.csv").write_text("pay,job\n" + "5,nurse\n" * 200)
    text = PAYROLL.format(epsilon=50).replace("pay.csv", "moving.csv")
    assert server.call("POST", "/v1/datasets", {"name": "moving", "schema": text})[0] == 201
    place = "/v1/datasets/moving/releases"
    first = server.call("POST", place, median(0.5), token="alice")[1]
    file.write_text(text.replace("1000000", "2000000"))
    second = server.call("POST", place, median(0.5), token="alice")[1]
    assert second["budget"]["spent"]["epsilon"] == 1.0
    file.write_text(text)
    os.utime(file, (1, 1))
    assert server.call("POST", place, median(0.5), token="alice")[1]["releases"] == first["releases"]

    # Changing it again and again under load: every answer is one or the other, and each is charged.
    def ask(number: int):
        if number == 0:
            for turn in range(6):
                file.write_text(text.replace("1000000", str(1_000_000 + turn % 2)))
            return None
        return [server.call("POST", place, median(0.25, again=True), token="alice")[:2] for _ in range(3)]

    # A file that is half written is no schema: such a question is refused, and not charged.
    responses = together(ask, 4)
    refused = [answer for each in responses[1:] for status, answer in each if status != 200]
    assert {(one["status"], one["code"]) for one in refused} <= {(503, "source-failed")}
    assert all("nothing was charged" in one["detail"] for one in refused)
    file.write_text(text)
    entries = server.call("GET", "/v1/ledger?dataset=moving&limit=1000")[1]["entries"]
    charges = sum(entry["kind"] == "charge" for entry in entries)
    assert charges == sum(entry["kind"] == "release" for entry in entries)
    # A larger budget, or other data under the name, is refused.
    file.write_text(text.replace("epsilon = 50", "epsilon = 500"))
    assert server.call("POST", place, median(0.125), token="alice")[0] in (409, 503)
    file.write_text(text.replace("moving.csv", "pay.csv"))
    assert server.call("POST", place, median(0.125), token="alice")[0] in (409, 503)
    file.write_text(text)


def test_bodies_that_drip(tmp_path, monkeypatch):
    """A body that does not arrive is given up; others are served meanwhile."""
    import asyncio

    from starlette.requests import Request

    from dither.interfaces.http import bodies
    from dither.interfaces.http.problems import Refused

    async def drip() -> dict:
        await asyncio.sleep(0.05)
        return {"type": "http.request", "body": b" ", "more_body": True}

    monkeypatch.setattr(bodies, "SLOWEST", 0.2)
    request = Request({"type": "http", "method": "POST", "headers": [(b"content-type", b"application/json")]}, drip)
    with pytest.raises(Refused) as error:
        asyncio.run(bodies.json_object(request))
    assert (error.value.status, error.value.code) == (408, "too-slow")


def test_half_requests(server):
    """Connections that send half a request, nonsense or nothing hurt nobody."""
    open_ones = []
    for text in (
        b"",
        b"GET /v1/me HT",
        b"\x00\xff\x16\x03\x01",
        b"POST /v1/tokens HTTP/1.1\r\nContent-Length: 9\r\n\r\n{",
    ):
        one = socket.create_connection(("127.0.0.1", server.port))
        one.sendall(text)
        open_ones.append(one)
    smuggled = socket.create_connection(("127.0.0.1", server.port))
    smuggled.sendall(
        b"POST /v1/me HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        b"GET /v1/tokens HTTP/1.1\r\nHost: x\r\n\r\n"
    )
    smuggled.settimeout(5)
    with contextlib.suppress(TimeoutError):
        assert b" 200 " not in smuggled.recv(65_536)
    until(lambda: server.call("GET", "/healthz", token=None)[0] == 200)
    for one in (*open_ones, smuggled):
        one.close()


def test_a_slow_body_leaves_the_whole_slot_to_the_work(server):
    """Whoever could choose how much of the slot is left would learn how long the work takes."""
    before = server.call("GET", "/v1/datasets/pay")[1]["answer_seconds"]
    server.call("PATCH", "/v1/datasets/pay", {"answer_seconds": 1.5})
    try:
        body = json.dumps(median(0.01, again=True)).encode()
        head = f"POST {ASK} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.tokens['alice']}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
            line.sendall(head.encode())
            time.sleep(1.3)
            sent = time.monotonic()
            line.sendall(body)
            assert line.recv(100).startswith(b"HTTP/1.1 200")
            assert time.monotonic() - sent > 1.45
    finally:
        server.call("PATCH", "/v1/datasets/pay", {"answer_seconds": before})


def test_numbers_and_times_in_a_history_tell_nothing_of_other_work(server):
    """Entries of the ledger are numbered as answers get ready, and charged when a worker is free."""
    server.token("carol")
    for _ in range(3):
        assert server.call("POST", ASK, median(0.01, again=True), token="carol")[0] == 200
        assert server.call("POST", ASK, median(0.01, again=True), token="bob")[0] == 200
    listed = server.call("GET", ASK, token="carol")[1]["releases"]
    assert [one["number"] for one in listed] == [1, 2, 3]
    assert all(one["at"].endswith(":00+00:00") for one in listed)
    rest = server.call("GET", f"{ASK}?after=2&limit=5", token="carol")[1]["releases"]
    assert [one["number"] for one in rest] == [3]
    assert rest[0]["request_id"] == listed[2]["request_id"]
    assert max(one["number"] for one in server.call("GET", ASK)[1]["releases"]) > 6


def test_the_budget_beside_an_answer_is_that_of_its_leaving(server):
    """That of the moment when it was ready would tell that moment, by charges that somebody makes meanwhile."""
    before = server.call("GET", "/v1/datasets/pay")[1]["answer_seconds"]
    budget = "/v1/datasets/pay/budget"
    try:
        for seconds in (3.0, 12.0, 48.0):  # where a busy machine charges the other one too late: a longer slot
            server.call("PATCH", "/v1/datasets/pay", {"answer_seconds": seconds})
            begun = time.monotonic()
            payload = server.call("POST", ASK, median(0.01, again=True, wait=False), token="alice")[1]
            place = f"/v1/jobs/{payload['id']}"
            until(lambda place=place: server.call("GET", place)[1]["progress"]["stage"] == "ready")
            spent = server.call("GET", budget)[1]["spent"]
            assert server.call("POST", ASK, median(0.01, again=True, wait=False), token="bob")[0] == 202
            until(lambda spent=spent: server.call("GET", budget)[1]["spent"] != spent)
            if time.monotonic() - begun < seconds:
                break
        until(lambda: server.call("GET", place, token="alice")[1]["state"] == "done", 120)
        now = server.call("GET", budget, token="alice")[1]
        assert now["spent"] != spent
        assert server.call("GET", place, token="alice")[1]["answer"]["budget"]["spent"] == now["spent"]
    finally:
        server.call("PATCH", "/v1/datasets/pay", {"answer_seconds": before})
