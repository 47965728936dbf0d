"""Planted private values are looked for wherever they must not be: logs, metrics, error bodies, the state on disk."""

import json

import pytest

from curators import PLANTED, CuratorProcess, median, with_dataset

ASK = "/v1/datasets/pay/releases"
QUESTIONS = [
    median(0.01, confidence=None),
    {"query": {"kind": "maximum", "column": "pay"}, "epsilon": 0.01},
    {"query": {"kind": "mean", "column": "pay"}, "epsilon": 0.01, "where": "job = 'nurse'"},
    {"query": {"kind": "histogram", "column": "job"}, "epsilon": 0.01},
    {"query": {"kind": "histogram", "column": "pay", "edges": [0, 10, 1000]}, "epsilon": 0.01},
    {"query": {"kind": "median", "column": "job"}, "epsilon": 0.01},
    {"query": {"kind": "count", "column": "pay"}, "epsilon": 0.01},
    {"query": {"kind": "variance", "column": "pay", "ddof": 5}, "epsilon": 0.01, "by": "job"},
    {"sql": "SELECT median(pay) FROM pay WHERE job = 'planted-job'", "epsilon": 0.01},
    {"sql": "SELECT max(pay) FROM pay GROUP BY pay", "epsilon": 0.01},
    {"sql": "SELECT pay FROM pay", "epsilon": 0.01},
    {"query": {"kind": "quantiles", "column": "pay", "q": [0.5, 0.99]}, "epsilon": 0.01, "mechanism": "propose_test"},
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server over data with planted values."""
    one = CuratorProcess(with_dataset(tmp_path_factory.mktemp("planted") / "home", epsilon=5)).start()
    one.token("alice")
    yield one
    one.stop()


def test_planted_values_stay_inside(server):
    """Whatever is asked, refused or broken: no log, metric or error shows a record or a category nobody declared."""
    bodies = []
    for question in QUESTIONS:
        status, payload, _ = server.call("POST", ASK, question, token="alice")
        if status != 200:
            bodies.append(json.dumps(payload))
        bodies.append(json.dumps(server.call("POST", "/v1/datasets/pay/quote", question, token="alice")[1]))
    # A record that breaks, and a source that breaks: the errors of engines are not passed on.
    source = server.home / "data" / "pay.csv"
    kept = source.read_bytes()
    for broken in (kept + b"\xff\xfe,\x00\x01,,,\n", b"pay\n" + kept, b"", kept.replace(b"pay,job", b"job,pay")):
        source.write_bytes(broken)
        status, payload, _ = server.call("POST", ASK, median(0.013, again=True), token="alice")
        if status != 200:
            bodies.append(json.dumps(payload))
    source.write_bytes(kept)
    places = {
        "errors and quotes": "\n".join(bodies),
        "logs": server.logs(),
        "metrics": server.call("GET", "/metrics")[1],
        "datasets": json.dumps(server.call("GET", "/v1/datasets/pay", token="alice")[1]),
    }
    assert len(bodies) > len(QUESTIONS)
    assert "release" in places["logs"]
    for place, text in places.items():
        for secret in (str(PLANTED), f"{PLANTED:,}", "pay.csv", *server.tokens.values()):
            assert secret not in text, f"{secret} in {place}"
        if place != "errors and quotes":  # (an error may quote what its own question said)
            assert "planted-job" not in text, place


@pytest.mark.slow
def test_logs_are_json_without_questions(server):
    """Every line is an object; no line holds the text of a question."""
    server.call("POST", ASK, {"sql": "SELECT median(pay) FROM pay WHERE pay > 424242", "epsilon": 0.02}, token="alice")
    lines = [json.loads(line) for line in server.logs().splitlines()]
    assert {"at", "level", "event"} <= set(lines[0])
    assert "424242" not in server.logs()
    requests = [one for one in lines if one["event"] == "request"]
    assert all({"method", "route", "status"} <= set(one) for one in requests)
