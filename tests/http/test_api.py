"""The API of a real server process: roles, tokens, questions, retries, schedules, and everything that is refused."""

import json
import time

import pytest

from curators import PAYROLL, CuratorProcess, call, median, until, with_dataset

ASK = "/v1/datasets/pay/releases"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with one dataset, an owner and some analysts."""
    home = with_dataset(tmp_path_factory.mktemp("curator") / "home", epsilon=100)
    one = CuratorProcess(home).start()
    one.token("alice", role="analyst")
    one.token("bob", role="analyst")
    yield one
    one.stop()


def test_first_start_makes_one_owner(server):
    """The token is printed once, works, and is nowhere in the home folder."""
    assert next(iter(server.tokens)) == "owner"
    assert server.call("GET", "/v1/me")[1]["role"] == "owner"
    for file in server.home.rglob("*"):
        if file.is_file():
            assert server.tokens["owner"].encode() not in file.read_bytes()


def test_datasets_show_no_source(server):
    """Analysts see the schema, and not where the data are."""
    status, payload, _ = server.call("GET", "/v1/datasets", token="alice")
    assert status == 200
    assert [one["name"] for one in payload["datasets"]] == ["pay"]
    status, payload, _ = server.call("GET", "/v1/datasets/pay", token="alice")
    assert status == 200
    assert payload["columns"]["pay"] == {"type": "integer", "bounds": [0, 1000000]}
    assert "pay.csv" not in json.dumps(payload)
    assert "q" in payload["kinds"]["quantile"]


def test_answers_and_history(server):
    """An answer costs what it says; each analyst sees their own history, the owner everyone's."""
    before = server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"]
    status, payload, headers = server.call("POST", ASK, median(0.5, request_id="a1"), token="alice")
    assert status == 200
    assert 0 <= payload["releases"][0]["value"] <= 1_000_000
    assert payload["budget"]["spent"]["epsilon"] == pytest.approx(before + 0.5)
    assert headers["Cache-Control"] == "no-store"
    mine = server.call("GET", ASK, token="alice")[1]["releases"]
    assert [one["request_id"] for one in mine] == ["a1"]
    assert mine[0]["releases"][0]["value"] == payload["releases"][0]["value"]
    assert server.call("GET", ASK, token="bob")[1]["releases"] == []
    everyone = server.call("GET", "/v1/datasets/pay/releases?limit=1000")[1]["releases"]
    assert "a1" in [one["request_id"] for one in everyone]


def test_retries_pay_once(server):
    """The same request id again: the same release, nothing more is paid; another question under it is an error."""
    first = server.call("POST", ASK, median(0.25, request_id="r", again=True), token="bob")
    spent = server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"]
    for _ in range(3):
        retry = server.call("POST", ASK, median(0.25, request_id="r", again=True), token="bob")
        assert retry[1]["releases"] == first[1]["releases"]
    assert server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"] == spent
    status, payload, _ = server.call("POST", ASK, median(0.3, request_id="r"), token="bob")
    assert (status, payload["code"]) == (409, "contradiction")


def test_answered_questions_are_free(server):
    """The same question again, by anybody, costs nothing; ``again`` pays for a new answer."""
    first = server.call("POST", ASK, median(0.35), token="alice")[1]
    spent = server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"]
    second = server.call("POST", ASK, median(0.35), token="bob")[1]
    assert second["releases"] == first["releases"]
    assert server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"] == spent
    server.call("POST", ASK, median(0.35, again=True), token="bob")
    assert server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]["epsilon"] == pytest.approx(spent + 0.35)


def test_sql_groups_and_lists(server):
    """SQL with groups, several queries in one question, and a public count that is free."""
    sql = {"sql": "SELECT job, median(pay), count(*) AS n FROM pay GROUP BY job", "epsilon": 1}
    status, payload, _ = server.call("POST", ASK, sql, token="alice")
    assert status == 200, payload
    assert {one["group"]["job"] for one in payload["releases"]} == {"clerk", "nurse"}
    both = {"query": [{"kind": "median", "column": "pay"}, {"kind": "count"}], "epsilon": 1, "weights": [3, 1]}
    status, payload, _ = server.call("POST", ASK, both, token="alice")
    assert status == 200, payload
    assert payload["releases"][1]["value"] == 200


def test_quote_charges_nothing(server):
    """A quote names price and mechanism, and leaves the budget alone."""
    spent = server.call("GET", "/v1/datasets/pay/budget")[1]["spent"]
    status, payload, _ = server.call("POST", "/v1/datasets/pay/quote", median(0.7), token="alice")
    assert status == 200, payload
    assert payload["epsilon"] == 0.7
    assert payload["quotes"][0]["mechanism"]
    status, _, _ = server.call(
        "POST", "/v1/datasets/pay/quote", {"sql": "SELECT median(pay) FROM pay", "epsilon": 1}, token="alice"
    )
    assert status == 200
    assert server.call("GET", "/v1/datasets/pay/budget")[1]["spent"] == spent


def test_quotes_under_priors(server):
    """What is publicly known makes a quote an estimate, and a release the same choice of mechanism."""
    known = {"prior": {"kind": "lognormal", "median": 70000, "sigma": 0.8}}
    status, payload, _ = server.call("POST", "/v1/datasets/pay/quote", median(0.5) | known, token="alice")
    assert status == 200, payload
    assert payload["quotes"][0]["kind"] == "estimate"
    assert payload["quotes"][0]["expected_error"] > 0
    status, released, _ = server.call("POST", ASK, median(0.5, again=True) | known, token="alice")
    assert status == 200, released
    assert released["releases"][0]["mechanism"] == payload["quotes"][0]["mechanism"]
    for bad in ({"kind": "nope"}, {"kind": "normal", "mean": 1}, [], {"kind": "uniform", "low": 2, "high": 1}):
        status, payload, _ = server.call("POST", "/v1/datasets/pay/quote", median(0.5) | {"prior": bad}, token="alice")
        assert status == 422, payload


def test_jobs_keep_the_schedule(server):
    """A job is running until its slot ends, for the analyst; other analysts don't see it."""
    try:
        for seconds in (1.5, 6.0, 24.0):  # a slot that a busy machine lets pass shows nothing: then a longer one
            server.call("PATCH", "/v1/datasets/pay", {"answer_seconds": seconds})
            begun = time.monotonic()
            status, payload, headers = server.call("POST", ASK, median(0.11, wait=False, again=True), token="alice")
            assert (status, payload["state"]) == (202, "running")
            assert "progress" not in payload
            place = headers["Location"]
            assert server.call("GET", place, token="bob")[0] == 404
            until(lambda place=place: server.call("GET", place)[1]["progress"]["stage"] == "ready")
            mine = server.call("GET", place, token="alice")[1]
            # Neither does the history show it earlier.
            listed = server.call("GET", ASK, token="alice")[1]["releases"][-1]["releases"]
            if time.monotonic() - begun < seconds:
                break
        assert (mine["state"], "answer" in mine) == ("running", False)
        assert listed is None
        until(lambda: server.call("GET", place, token="alice")[1]["state"] == "done")
        assert server.call("GET", place, token="alice")[1]["answer"]["releases"][0]["query"] == "median of pay"
    finally:
        server.call("PATCH", "/v1/datasets/pay", {"answer_seconds": 0.05})


def test_answers_are_padded(server):
    """An answer does not come before its slot ends, nor much later; nor does one from the store."""
    server.call("PATCH", "/v1/datasets/pay", {"answer_seconds": 0.8})
    try:
        for _ in range(2):
            start = time.monotonic()
            assert server.call("POST", ASK, median(0.12), token="alice")[0] == 200
            assert time.monotonic() - start >= 0.79
    finally:
        server.call("PATCH", "/v1/datasets/pay", {"answer_seconds": 0.05})


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/datasets"),
        ("PATCH", "/v1/datasets/pay"),
        ("DELETE", "/v1/datasets/pay"),
        ("GET", "/v1/tokens"),
        ("POST", "/v1/tokens"),
        ("DELETE", "/v1/tokens/x"),
    ],
)
def test_only_owners(server, method, path):
    """What owners do is refused to analysts."""
    status, payload, _ = server.call(method, path, {} if method != "GET" else None, token="alice")
    assert (status, payload["code"]) == (403, "forbidden")


def test_tokens(server):
    """None, unknown, expired and revoked tokens are refused alike."""
    server.token("short", expires_in=0.2)
    ended = server.token("ended")
    number = next(one["id"] for one in server.call("GET", "/v1/tokens")[1]["tokens"] if one["name"] == "ended")
    assert server.call("GET", "/v1/me", token="ended")[0] == 200
    assert server.call("DELETE", f"/v1/tokens/{number}")[0] == 200
    time.sleep(0.25)
    for secret in (None, "nonsense", ended, server.tokens["short"], "", "é"):
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}".encode()}
        status, payload, answer = call(server.port, "GET", "/v1/datasets", headers=headers)
        assert (status, payload["code"]) == (401, "unauthenticated")
        assert answer["WWW-Authenticate"] == "Bearer"
    assert call(server.port, "GET", "/v1/me", headers={"Authorization": f"Basic {server.tokens['alice']}"})[0] == 401
    listed = json.dumps(server.call("GET", "/v1/tokens")[1])
    assert all(secret not in listed for secret in server.tokens.values())


def test_rules_of_a_token(server):
    """Caps, kinds, datasets and an own budget bind the token they were given with."""
    server.token(
        "carol", epsilon_cap=0.2, kinds=["median", "count"], budgets={"pay": {"epsilon": 0.3}}, datasets=["pay"]
    )
    assert server.call("POST", ASK, median(0.201), token="carol")[1]["code"] == "forbidden"
    mean = {"query": {"kind": "mean", "column": "pay"}, "epsilon": 0.1}
    assert server.call("POST", ASK, mean, token="carol")[1]["code"] == "forbidden"
    hidden = {"sql": "SELECT median(pay), avg(pay) FROM pay", "epsilon": 0.1}
    assert server.call("POST", ASK, hidden, token="carol")[1]["code"] == "forbidden"
    assert server.call("POST", ASK, median(0.2, again=True), token="carol")[0] == 200
    status, payload, _ = server.call("POST", ASK, median(0.2, again=True), token="carol")
    assert (status, payload["code"]) == (403, "budget-exceeded")
    assert server.call("GET", "/v1/datasets/pay/budget", token="carol")[1]["own"]["left"]["epsilon"] == 0.1
    assert "carol" in server.call("GET", "/v1/datasets/pay/budget")[1]["analysts"]
    assert set(server.call("GET", "/v1/datasets/pay", token="carol")[1]["kinds"]) == {"median", "count"}
    server.token("dan", datasets=[])
    assert server.call("GET", "/v1/datasets", token="dan")[1]["datasets"] == []
    for path in ("/v1/datasets/pay", "/v1/datasets/pay/budget", ASK):
        assert server.call("GET", path, token="dan")[1]["code"] == "unknown-dataset"


BAD_BODIES = [
    (b"", 400, "malformed"),
    (b"{", 400, "malformed"),
    (b"[]", 400, "malformed"),
    (b"\xff\xfe", 400, "malformed"),
    (b'{"epsilon": NaN}', 400, "malformed"),
    (b'{"epsilon": 1, "epsilon": 2}', 400, "malformed"),
    (b'{"epsilon": 1e999999}', 400, "malformed"),
    (b'{"epsilon": ' + b"9" * 5000 + b"}", 400, "malformed"),
    (b'{"query": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400, "malformed"),
    (b'{"query": ' + b'{"a":' * 30 + b"1" + b"}" * 31, 400, "malformed"),
    (b'{"x": "' + b"a" * 300_000 + b'"}', 413, "too-large"),
    (b'{"frobnicate": 1}', 400, "unknown-field"),
    (b'{"query": {"kind": "median", "column": "pay", "secret": 1}, "epsilon": 1}', 400, "unknown-field"),
    (b'{"query": {"kind": "median", "column": "pay", "q": 0.5}, "epsilon": 1}', 400, "unknown-field"),
    (b'{"epsilon": 1}', 422, "invalid-argument"),
    (b'{"query": {"kind": "eval"}, "epsilon": 1}', 422, "invalid-argument"),
    (b'{"query": {"kind": "median"}, "epsilon": 1}', 422, "invalid-argument"),
    (b'{"query": {"kind": "median", "column": "nope"}, "epsilon": 1}', 422, "invalid-argument"),
    (b'{"query": {"kind": "triangles"}, "epsilon": 1}', 422, "invalid-argument"),
    (b'{"query": {"kind": "quantile", "column": "pay", "q": 7}, "epsilon": 1}', 422, "invalid-argument"),
    (b'{"query": {"kind": "median", "column": "pay"}, "epsilon": -1}', 422, "invalid-argument"),
    (b'{"query": {"kind": "median", "column": "pay"}, "epsilon": 0}', 422, "invalid-argument"),
    (b'{"query": {"kind": "median", "column": "pay"}, "epsilon": "1"}', 422, "invalid-argument"),
    (b'{"query": {"kind": "median", "column": "pay"}, "epsilon": true}', 422, "invalid-argument"),
    (b'{"query": {"kind": "median", "column": "pay"}, "epsilon": 1, "confidence": 2}', 422, "invalid-argument"),
    (b'{"query": {"kind": "median", "column": "pay"}, "epsilon": 1, "noise": "loud"}', 422, "invalid-argument"),
    (b'{"query": {"kind": "median", "column": "pay"}, "epsilon": 1, "by": "nope"}', 422, "invalid-argument"),
    (b'{"query": {"kind": "median", "column": "pay"}, "epsilon": 1, "request_id": ""}', 422, "invalid-argument"),
    (b'{"query": {"kind": "median", "column": "pay"}, "epsilon": 1, "request_id": "\\u0000"}', 400, "malformed"),
    (
        b'{"query": {"kind": "median", "column": "pay"}, "epsilon": 1, "where": "1; DROP TABLE pay"}',
        422,
        "invalid-text",
    ),
    (b'{"sql": "SELECT pay FROM pay", "epsilon": 1}', 422, "invalid-text"),
    (b'{"sql": "SELECT median(pay) FROM pay; DROP TABLE pay", "epsilon": 1}', 422, "invalid-text"),
    (b'{"sql": "SELECT median(pay) FROM read_csv(\'/etc/passwd\')", "epsilon": 1}', 422, "invalid-text"),
    (b'{"sql": "SELECT median(pay) FROM pay WHERE pay IN (SELECT pay FROM pay)", "epsilon": 1}', 422, "invalid-text"),
    (b'{"sql": "SELECT 1 UNION SELECT * FROM dither_entries", "epsilon": 1}', 422, "invalid-text"),
]


@pytest.mark.parametrize(("raw", "status", "code"), BAD_BODIES)
def test_bad_bodies(server, raw, status, code):
    """Refused with a stable code, before anything is read or charged."""
    before = server.call("GET", "/v1/datasets/pay/budget")[1]
    for path in (ASK, "/v1/datasets/pay/quote"):
        found, payload, headers = server.call("POST", path, token="alice", raw=raw)
        assert (found, payload["code"]) == (status, code) or (b"request_id" in raw and path.endswith("quote")), payload
        assert headers["Content-Type"] == "application/problem+json"
        assert payload["status"] == found
    assert server.call("GET", "/v1/datasets/pay/budget")[1] == before


def test_absurd_prices(server):
    """More than any budget is refused, by whatever says so first."""
    for epsilon in (1e5, 1e9, 1e50):
        status, payload, _ = server.call("POST", ASK, median(epsilon), token="alice")
        assert payload["code"] in ("budget-exceeded", "invalid-argument")
        assert status in (403, 422)


def test_wrong_media_type_method_and_address(server):
    """Each with its own code."""
    assert server.call("POST", ASK, raw=b"{}", headers={"Content-Type": "text/plain"})[0] == 415
    assert server.call("PUT", "/v1/datasets/pay")[1]["code"] == "method-not-allowed"
    assert server.call("GET", "/v2/nothing")[1]["code"] == "not-found"
    assert server.call("GET", "/v1/datasets/pay/releases?limit=-1")[1]["code"] == "invalid-argument"
    assert server.call("GET", "/v1/jobs/nope")[1]["code"] == "not-found"
    assert server.call("DELETE", "/v1/tokens/nope")[1]["code"] == "not-found"


@pytest.mark.parametrize(
    "name",
    [
        "..%2f..%2fserver",
        "%2e%2e",
        "pay.toml",
        "../pay",
        "pay%00",
        "%2fetc%2fpasswd",
        "..%5cpay",
        "p" * 500,
        "%F0%9F%98%80",
    ],
)
def test_path_tricks(server, name):
    """A name is a name: nothing outside the folder of datasets can be reached."""
    for tail in ("", "/budget", "/releases"):
        status, payload, _ = server.call("GET", f"/v1/datasets/{name}{tail}")
        assert status in (404, 405), payload
    status, payload, _ = server.call("POST", "/v1/datasets", {"name": name, "schema": PAYROLL.format(epsilon=1)})
    assert (status, payload["code"]) in ((422, "invalid-argument"), (400, "malformed"))


@pytest.mark.parametrize("source", ["/etc/passwd", "../server.db", "../../x.csv", "${HOME}/x.csv", "/etc/../etc/x.csv"])
def test_sources_stay_in_their_folder(server, source):
    """Not even an owner reaches other files of the machine over HTTP."""
    text = PAYROLL.format(epsilon=1).replace("pay.csv", source)
    status, payload, _ = server.call("POST", "/v1/datasets", {"name": "other", "schema": text})
    assert (status, payload["code"]) in ((422, "invalid-argument"), (422, "invalid-text"))
    assert not (server.home / "datasets" / "other.toml").exists()


def test_register_and_retire(server):
    """The same data under another name share the account; a retired dataset answers no more."""
    (server.home / "data" / "more.csv").write_text("pay,job\n" + "5,nurse\n" * 200)
    text = PAYROLL.format(epsilon=2).replace("pay.csv", "more.csv")
    status, payload, headers = server.call(
        "POST", "/v1/datasets", {"name": "more", "schema": text, "answer_seconds": 0.05}
    )
    assert (status, headers["Location"]) == (201, "/v1/datasets/more"), payload
    assert server.call("POST", "/v1/datasets", {"name": "more", "schema": text})[0] == 201
    assert server.call("POST", "/v1/datasets", {"name": "more", "schema": text + "\n"})[1]["code"] == "contradiction"
    twin = text.replace("epsilon = 2", "epsilon = 50")
    assert server.call("POST", "/v1/datasets", {"name": "twin", "schema": twin})[1]["code"] == "contradiction"
    assert server.call("POST", "/v1/datasets", {"name": "bad", "schema": "nonsense"})[1]["code"] == "invalid-text"
    assert server.call("POST", "/v1/datasets/more/releases", median(0.5), token="alice")[0] == 200
    assert server.call("DELETE", "/v1/datasets/more")[1]["retired"] is True
    status, payload, _ = server.call("POST", "/v1/datasets/more/releases", median(0.4), token="alice")
    assert (status, payload["code"]) == (410, "retired")
    status, payload, _ = server.call("POST", "/v1/datasets", {"name": "more", "schema": text})
    assert (status, payload["warnings"][-1].split(":")[0]) == (201, "this dataset is retired, for good")
    # What was answered stays answered.
    assert server.call("POST", "/v1/datasets/more/releases", median(0.5), token="alice")[0] == 200


@pytest.mark.slow
def test_a_source_that_has_grown_says_what_may_be_wrong(server):
    """The number of rows is declared, so it may be named; where the file is may not."""
    grown = server.home / "data" / "grown.csv"
    grown.write_text("pay,job\n" + "5,nurse\n" * 200)
    text = PAYROLL.format(epsilon=2).replace("pay.csv", "grown.csv")
    assert server.call("POST", "/v1/datasets", {"name": "grown", "schema": text})[0] == 201
    grown.write_text("pay,job\n" + "5,nurse\n" * 300)
    status, payload, _ = server.call("POST", "/v1/datasets/grown/releases", median(0.5), token="alice")
    assert (status, payload["code"]) == (503, "source-failed"), payload
    assert "or does not have the 200 rows that its schema declares (for its owner: dither check)" in payload["detail"]
    assert "what was charged stays charged" in payload["detail"]
    assert "grown.csv" not in payload["detail"]
    more = text.replace("rows = 200", "rows = 300")
    status, payload, _ = server.call("POST", "/v1/datasets", {"name": "grown", "schema": more})
    assert (status, payload["code"]) == (409, "contradiction")
    assert "edit HOME/datasets/grown.toml on the server; nothing was changed" in payload["detail"]
    (server.home / "datasets" / "grown.toml").write_text(more)
    assert server.call("POST", "/v1/datasets/grown/releases", median(0.4), token="alice")[0] == 200


@pytest.mark.slow
def test_a_source_that_is_gone_costs_nothing(server):
    """Refused before the charge, and answered when it is back."""
    (server.home / "data" / "gone.csv").write_text("pay,job\n" + "5,nurse\n" * 200)
    text = PAYROLL.format(epsilon=2).replace("pay.csv", "gone.csv")
    server.call("POST", "/v1/datasets", {"name": "gone", "schema": text})
    (server.home / "data" / "gone.csv").rename(server.home / "data" / "away")
    status, payload, _ = server.call("POST", "/v1/datasets/gone/releases", median(0.5), token="alice")
    assert (status, payload["code"]) == (503, "source-failed"), payload
    assert server.call("GET", "/v1/datasets/gone/budget")[1]["spent"]["epsilon"] == 0
    (server.home / "data" / "away").rename(server.home / "data" / "gone.csv")
    assert server.call("POST", "/v1/datasets/gone/releases", median(0.5), token="alice")[0] == 200


def test_health_metrics_openapi(server):
    """Open to all; budgets in the metrics only for owners."""
    assert server.call("GET", "/healthz", token=None)[1] == {"status": "ok"}
    public = server.call("GET", "/metrics", token=None)[1]
    assert "dither_requests_total" in public
    assert "pay" not in public.replace("payroll", "")
    server.call("GET", "/v1/datasets/pay/budget")  # its account is opened when it is first looked at
    assert 'dither_left_epsilon{dataset="pay"}' in server.call("GET", "/metrics")[1]
    payload = server.call("GET", "/openapi.json", token=None)[1]
    assert payload["openapi"].startswith("3.1")
    assert set(payload["paths"]) >= {"/v1/datasets/{name}/releases", "/v1/tokens", "/healthz"}
