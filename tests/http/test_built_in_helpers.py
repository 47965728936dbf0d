"""What a token sends is parsed, planned and quoted in helper processes: the server reads rights and delivery alone."""

import ast
import json

import pytest

import dither as dt
from curators import with_dataset
from dither.errors import InvalidArgument
from dither.interfaces import strict_json
from dither.interfaces.http.bodies import json_response
from dither.interfaces.http.server_state import Curator
from dither.ledger import MemoryLedger
from dither.mechanisms import noise_intervals
from dither.mechanisms.metric_space import MetricSpace
from dither.queries.programs import Program
from dither.queries.query import Query
from dither.session import derived
from dither.sources.domain import DEEPEST

ASK, QUOTE = "/v1/datasets/pay/releases", "/v1/datasets/pay/quote"
MEDIAN = {"kind": "median", "column": "pay"}
HALF = "\ud800"
DEEP = "[" * 900 + "1" + "]" * 900


def program(space, source="def g(rows): return 1"):
    """A program that answers with a point of a space."""
    return {"kind": "program", "source": source, "function": "g", "space": space, "blocks": 10}


@pytest.fixture(scope="module")
def curator(tmp_path_factory):
    """Everything that a server holds."""
    return Curator(with_dataset(tmp_path_factory.mktemp("built") / "home", epsilon=100))


@pytest.fixture(scope="module")
def client(curator):
    """Requests without a socket, with the token of an owner."""
    from starlette.testclient import TestClient

    from dither.interfaces.http.app import create_app

    secret = curator.first_owner()
    headers = {"Authorization": f"Bearer {secret}"}
    with TestClient(create_app(curator.home, curator=curator), headers=headers) as one:
        yield one


@pytest.fixture
def narrow(client):
    """The header of a token that may ask medians of small losses."""
    made = client.post("/v1/tokens", json={"name": "narrow", "kinds": ["median"], "epsilon_cap": 0.5})
    return {"Authorization": f"Bearer {made.json()['token']}"}


@pytest.fixture
def nothing_built(monkeypatch):
    """From now on this process, which the helpers do not share, neither parses, builds, plans nor quotes."""

    def refuse(*_, **__):
        raise RuntimeError("the server itself must not do this")

    monkeypatch.setattr(MetricSpace, "of", refuse)
    for built in (Query, Program):
        monkeypatch.setattr(built, "from_parameters", classmethod(refuse))
    for name in ("plan", "derivation", "laplace_sum_half_width", "laplace_sum_mean"):
        monkeypatch.setattr(derived, name, refuse)
    monkeypatch.setattr(noise_intervals, "laplace_sum_masses", refuse)
    monkeypatch.setattr(ast, "parse", refuse)  # last: where this fixture fails, pytest parses it to say so


def test_the_server_builds_nothing(client, nothing_built):
    """Quotes and answers of queries, SQL, programs and counts that a stored histogram gives."""
    for body in (
        {"query": [MEDIAN, MEDIAN | {"column": "pay"}]},
        {"sql": "SELECT median(pay), count(*) FROM pay WHERE job = 'nurse'"},
        {"query": program("strings: ab, ac, bd")},
        {"query": program("labels: ab, ac", source="f'" + "{1}" * 50 + "'\ndef g(rows): return 1")},
    ):
        sent = client.post(QUOTE, json=body | {"epsilon": 1})
        assert sent.status_code == 200, sent.text
    histogram = {"query": {"kind": "histogram", "column": "job"}, "epsilon": 1}
    assert client.post(ASK, json=histogram).status_code == 200
    count = {"query": {"kind": "count"}, "where": "job = 'nurse'", "epsilon": 0.5}
    quoted, answered = client.post(QUOTE, json=count), client.post(ASK, json=count)
    assert (quoted.status_code, answered.status_code) == (200, 200), (quoted.text, answered.text)
    assert quoted.json()["epsilon"] == answered.json()["epsilon"] == 0
    (free,), (release,) = quoted.json()["quotes"], answered.json()["releases"]
    assert free["derived_from"] == release["derived_from"]
    assert f"charge {free['derived_from']}" in free["assumptions"][0]


def test_rights_come_first(client, curator, narrow, monkeypatch):
    """A token without the right to ask something occupies no helper with it, whatever is in its body."""
    monkeypatch.setattr(curator.planners, "run", None)
    heavy = program("strings: " + ", ".join(f"{place:03d}abcdefghijklmn" for place in range(1_000)))
    for place in (ASK, QUOTE):
        for body in (
            {"query": heavy, "epsilon": 0.1},
            {"query": [MEDIAN, heavy], "epsilon": 0.1},
            {"query": MEDIAN, "epsilon": 0.6},
        ):
            refused = client.post(place, json=body, headers=narrow)
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), refused.text


@pytest.mark.slow
def test_sql_needs_the_same_rights(client, narrow):
    """What a statement asks is known in a helper, and a plan that another token had is not given away."""
    body = {"sql": "SELECT mean(pay) FROM pay", "epsilon": 0.1}
    assert client.post(QUOTE, json=body).status_code == 200
    assert client.post(QUOTE, json=body, headers=narrow).status_code == 403


def test_what_is_remembered_hides_no_mistake(client):
    """A body with an unknown field, or a field of answers in a quote, is refused though the rest was quoted before."""
    body = {"query": MEDIAN, "epsilon": 1}
    assert client.post(QUOTE, json=body).status_code == 200
    for wrong in ({"colour": "red"}, {"request_id": "a"}, {"wait": True}, {"again": 1}):
        assert client.post(QUOTE, json=body | wrong).status_code in (400, 422), wrong
    assert client.post(ASK, json=body | {"wait": "yes"}).status_code == 422


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "space",
    [
        'labels: ["\\ud800", "b"]',
        'points: {"points": ["a", "\\udc00"], "distances": [[0, 1], [1, 0]]}',
        f"labels: {DEEP}",
        "labels: " + "[" * 19_000,
        "points: " + "[" * 19_000,
        "labels: [" + "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1) + ", 1]",
    ],
    ids=["half", "half_point", "deep", "brackets", "brackets_points", "a_level_too_deep"],
)
def test_points_that_nobody_can_write_are_refused(client, space):
    """They would be released: a text that is no Unicode, and lists in lists, before anything is charged."""
    spent = client.get("/v1/datasets/pay/budget").json()["spent"]
    for place in (QUOTE, ASK):
        refused = client.post(place, json={"query": program(space), "epsilon": 1})
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid-argument"), refused.text
    assert client.get("/v1/datasets/pay/budget").json()["spent"] == spent
    with pytest.raises(InvalidArgument):
        dt.Program("g.py:g", space=space)


def test_no_border_takes_half_of_a_surrogate_pair(tmp_path):
    """Sessions, SQL, filters, the command line and the ledger itself; nothing is charged."""
    from click.testing import CliRunner

    from dither.interfaces.cli.main import main

    columns = {"pay": dt.Integer(0, 10), "job": dt.Category(["a", "b"])}
    data = {"pay": [1, 2, 3], "job": ["a", "b", "a"]}
    with dt.open(data, columns=columns, budget=dt.Budget(9.0)) as session:
        for work in (
            lambda: session.sql(f'SELECT count(*) AS "{HALF}" FROM data', epsilon=1),
            lambda: session.ask(dt.Count(), where=f"job = '{HALF}'", epsilon=1),
            lambda: session.ask(dt.Histogram("job", names=[HALF, "b"]), epsilon=1),
            lambda: dt.MetricSpace.of([HALF, "b"], "equality"),
            lambda: dt.Subsets([(((HALF,),),), "b"]),
        ):
            with pytest.raises((InvalidArgument, TypeError)):
                work()
        assert session.budget.spent.epsilon == 0
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    words = ["ask", str(tmp_path / "a.csv"), "count(x) AS \udc80", "--epsilon", "1"]
    assert CliRunner().invoke(main, words).exit_code == 2
    with MemoryLedger() as ledger:
        ledger.register("a", dt.Budget(1.0))
        for question in ({"a": [HALF]}, {"a": {HALF: 1}}):
            with pytest.raises(InvalidArgument, match="surrogate"):
                ledger.charge("a", [dt.Loss(0.1)], question=question)
        ledger.charge("a", [dt.Loss(0.1)], question={"a": "한 \U0001f600"})


def test_clients_refuse_it_too():
    """Before anything is sent."""
    from dither.interfaces.client import _encoded

    with pytest.raises(InvalidArgument, match="surrogate"):
        _encoded({"where": HALF})


@pytest.mark.slow
def test_stored_values_break_no_page(client, curator):
    """A release that an earlier version stored, with such a text or with very deep lists, is shown with the rest."""
    nested = 1
    for _ in range(300):
        nested = [nested]
    stored = client.post(ASK, json={"query": MEDIAN, "epsilon": 0.1, "again": True}).json()["releases"][0]
    for value, number in ((HALF, 1), (nested, 2)):
        charge = curator.ledger.charge(
            "pay", [dt.Loss(0.01)], question={"questions": [number]}, request_id=f"old-{number}", analyst="owner"
        )
        curator.ledger.store(charge, {"answers": [[stored | {"value": value}]]}, source=None)
    for page in (ASK, "/v1/ledger", "/v1/ledger?dataset=pay"):
        sent = client.get(page, params={"limit": 1000})
        assert sent.status_code == 200, sent.text
        assert HALF not in sent.json()
        json.dumps(sent.json(), ensure_ascii=False).encode()


def test_every_value_can_be_written():
    """Half a pair becomes U+FFFD, what lies too deep is left out, and readers take the rest as it was."""
    deep = 1
    for _ in range(5_000):
        deep = [deep]
    sent = json_response(
        {"text": f"a{HALF}\udfff", HALF: 1.5, "deep": deep, "nan": float("nan"), "fine": "é\U0001f600"}
    )
    read = json.loads(bytes(sent.body))
    assert read | {"deep": None} == {
        "text": "a\ufffd\ufffd",
        "\ufffd": 1.5,
        "deep": None,
        "nan": "NaN",
        "fine": "é\U0001f600",
    }
    assert strict_json.parse(bytes(json_response({"a": HALF}).body)) == {"a": "\ufffd"}
