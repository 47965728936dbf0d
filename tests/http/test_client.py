"""The Python client and ``dither ask --server``: the methods of a local session, remotely."""

import dataclasses
import email.message
import io
import json
import math
import subprocess
import sys
import threading
import time
import urllib.error
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import dither as dt
from curators import CuratorProcess, certificate, with_dataset
from dither.interfaces.cli.main import main
from dither.interfaces.client import LONGEST_PAUSE, RemoteSession, ServerRefused, ServerUnreachable, _finite
from dither.interfaces.http.bodies import parse
from dither.plain import plain
from dither.queries.wire import from_json, served, to_json
from dither.sources.schema_file import load_schema


def sleeping(sleep):
    """The clock of the client alone: other threads of this process go on sleeping as they do."""
    return SimpleNamespace(sleep=sleep, monotonic=time.monotonic)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with a table and an analyst, and for its owner a second one with a job of another name."""
    home = with_dataset(tmp_path_factory.mktemp("client") / "home", epsilon=100)
    text = (home / "datasets" / "pay.toml").read_text().replace('"clerk", "nurse"', '"Infinity", "nurse"')
    text = text.replace("epsilon = 100", "epsilon = 100\ndelta = 0.1").replace("pay.csv", "named.csv")
    (home / "datasets" / "named.toml").write_text(text)
    found = text.replace('values = ["Infinity", "nurse"]', "")
    assert found != text
    (home / "datasets" / "found.toml").write_text(found)
    lines = ["pay,job", *(f"{one},{'Infinity' if one % 9 else 'nurse'}" for one in range(200))]
    (home / "data" / "named.csv").write_text("\n".join(lines) + "\n")
    one = CuratorProcess(home).start()
    one.token("alice", datasets=["pay"])
    yield one
    one.stop()


def test_same_methods_as_a_local_session(server):
    """ask, sql, quote, budget, history, datasets."""
    with dt.connect(server.url, token=server.tokens["alice"]) as session:
        assert [one["name"] for one in session.datasets] == ["pay"]
        before = session.budget.spent.epsilon
        release = session.ask(dt.Median("pay"), epsilon=0.5)
        assert isinstance(release, dt.Release)
        assert release.loss == dt.Loss(0.5)
        assert session.budget.spent.epsilon == pytest.approx(before + 0.5)
        assert session.quote(dt.Median("pay"), epsilon=0.5).stored
        assert session.quote(dt.Median("pay"), epsilon=0.5).loss == dt.Loss(0.0)
        grouped = session.ask(dt.Median("pay"), epsilon=0.5, by="job")
        assert [one.group for one in grouped] == [{"job": "clerk"}, {"job": "nurse"}]
        both = session.ask([dt.Quantile("pay", q=0.25), dt.IQR("pay")], epsilon=0.5, weights=[2, 1], confidence=None)
        assert [one.interval for one in both] == [None, None]
        one = session.sql("SELECT median(pay) FROM pay WHERE job = 'nurse'", epsilon=0.5)
        assert "where" in one.query
        assert session.quote(dt.Median("pay"), epsilon=0.25).loss == dt.Loss(0.25)
        known = dt.Lognormal(median=70_000, sigma=0.8)
        assert session.quote(dt.Median("pay"), epsilon=0.25, prior=known).expected_error > 0
        assert session.quote("SELECT median(pay) FROM pay", epsilon=0.25)[0].mechanism
        assert session.history[-1].loss == dt.Loss(0.5)
        assert session.on("pay").schema["rows"] == 200


def test_no_group_is_an_answer(server):
    """Of groups that are found there may be none; the answer is stored like any other."""
    with dt.connect(server.url, token=server.tokens["owner"]) as session:
        for _ in range(2):
            none = session.ask(
                dt.Median("pay"), by="job", where="pay < 0", epsilon=0.5, delta=1e-6, dataset="found", request_id="none"
            )
            assert list(none) == []
        assert str(session.on("found").history[-1]).endswith("no group was found")


@pytest.mark.slow
def test_quotes_are_those_of_a_local_session(server):
    """The same objects with the same figures, for one query, a list, SQL, and where no error is known."""
    schema = load_schema(server.home / "datasets" / "pay.toml")
    known = dt.Lognormal(median=70_000, sigma=0.8)
    with dt.connect(server.url, token=server.tokens["alice"]) as session:
        for query in (dt.Median("pay"), [dt.Median("pay"), dt.IQR("pay")], "SELECT median(pay), count(*) FROM pay"):
            for options in ({}, {"prior": known}):
                fresh = session.quote(query, epsilon=0.5, again=True, **options)
                assert fresh == dt.quote(query, schema, epsilon=0.5, **options)
        several = session.quote([dt.Median("pay"), dt.IQR("pay")], epsilon=0.5, again=True)
        assert isinstance(several, dt.Quotes)
        assert several.loss == dt.Loss(0.5)
        unknown = session.quote(dt.KMeans(["pay"], k=2), epsilon=0.5, delta=1e-6)
        assert unknown == dt.quote(dt.KMeans(["pay"], k=2), schema, epsilon=0.5, delta=1e-6)
        assert "not worked out beforehand" in str(unknown)
        assert session.quote(dt.Median("pay"), epsilon=0.5).to_dict()["kind"] == "upper bound"


@pytest.mark.slow
def test_the_least_epsilon_is_that_of_a_local_session(server):
    """Found by the server's quotes; what can't be reached is refused in the same words."""
    schema = load_schema(server.home / "datasets" / "pay.toml")
    options = {"target_error": 5_000, "of": "bound"}
    with dt.connect(server.url, token=server.tokens["alice"]) as session:
        assert session.least_epsilon(dt.Mean("pay"), **options) == dt.least_epsilon(dt.Mean("pay"), schema, **options)
        with pytest.raises(dt.InvalidArgument, match="target_error"):
            session.least_epsilon(dt.Mean("pay"), target_error=0)


@pytest.mark.parametrize("word", ["Infinity", "-Infinity", "NaN", "1e5", "null"])
def test_categories_that_read_like_numbers_stay_texts(word):
    """The JSON of a release whose answer is a text; ends of intervals and missing values are numbers again."""
    local = dt.mode([word] * 900 + ["bus"] * 100, epsilon=20.0, delta=1e-3)
    assert local.value == word
    remote = dt.Release.from_dict(_finite(json.loads(json.dumps(plain(local.to_dict())))))
    assert remote == local
    wide = dataclasses.replace(local, value=3.0, interval=(-math.inf, math.inf), confidence=0.95)
    assert dt.Release.from_dict(_finite(json.loads(json.dumps(plain(wide.to_dict()))))) == wide


@pytest.mark.slow
def test_a_category_named_infinity_is_asked_of_a_server(server):
    """Declared or found: by the client, as by a local session."""
    session = dt.connect(server.url, token=server.tokens["owner"], dataset="named")
    assert session.ask(dt.Mode("job"), epsilon=20.0, delta=1e-3).value == "Infinity"
    assert session.sql("SELECT mode(job) FROM named", epsilon=20.0, delta=1e-3).value == "Infinity"


def test_quotes_at_the_shell_are_those_of_the_server(server, tmp_path):
    """``dither quote --server``: lists of calls with --where and --by, SQL, a prior; the same as beside the schema."""
    schema = with_dataset(tmp_path / "home", epsilon=100) / "datasets" / "pay.toml"
    to = ["--server", server.url, "--token", server.tokens["alice"]]

    def quoted(*words):
        done = CliRunner().invoke(main, ["quote", *map(str, words)])
        return done.exit_code, done.output

    for words in (
        ["median(pay), iqr(pay)", "--epsilon", "0.5"],
        ["mean(pay)", "--epsilon", "0.5", "--by", "job", "--rows", "50"],
        ["median(pay)", "--where", "job = 'nurse'", "--epsilon", "0.5", "--confidence", "none"],
        ["SELECT median(pay) FROM pay", "--epsilon", "0.5", "--prior", "lognormal:70000:0.8"],
        ["histogram(job)", "--epsilon", "0.5", "--mechanism", "worst_case"],
    ):
        there, here = quoted("pay", *words, *to, "--json"), quoted(schema, *words, "--json")
        assert there[0] == here[0] == 0, (there, here)
        payloads = [json.loads(text) for _, text in (there, here)]
        for one in payloads[0]["quotes"] + payloads[1]["quotes"]:
            one["prior"] = one["prior"] is not None  # (70000 and 70000.0)
        assert payloads[0] == payloads[1]
        assert quoted("pay", *words, *to) == quoted(schema, *words)
    for words, message in (
        (["median(pay)", "--target-error", "5"], "target_error"),
        (["median(pay)", "--epsilon", "1", "--prior-sample", str(schema)], "prior_sample"),
        (["median(pay)"], "either --epsilon or --target-error"),
        (["SELECT median(pay) FROM pay", "--where", "pay > 1", "--epsilon", "1"], "write it into the SQL"),
    ):
        code, text = quoted("pay", *words, *to)
        assert code == 2
        assert message in text


def test_errors_are_those_of_a_local_session(server):
    """The same classes can be caught; what only a server knows is ServerRefused."""
    session = dt.connect(server.url, token=server.tokens["alice"], dataset="pay")
    with pytest.raises(dt.BudgetExceeded, match="left"):
        session.ask(dt.Median("pay"), epsilon=500)
    with pytest.raises(dt.InvalidArgument, match="declared column"):
        session.ask(dt.Median("nope"), epsilon=0.5)
    with pytest.raises(dt.InvalidArgument):
        session.ask("median", epsilon=0.5)
    with pytest.raises(ServerRefused) as refused:
        dt.connect(server.url, token="nonsense", dataset="pay").ask(dt.Median("pay"), epsilon=0.5)
    assert (refused.value.status, refused.value.code) == (401, "unauthenticated")
    assert "pass token=" in str(refused.value)
    with pytest.raises(dt.DitherError, match="not registered"):
        session.on("nope").ask(dt.Median("pay"), epsilon=0.5)
    for url in ("ftp://x", "nonsense", None, "http://"):
        with pytest.raises(dt.InvalidArgument):
            dt.connect(url, token="x")


@pytest.mark.parametrize(
    "query",
    [
        dt.Median("pay"),
        dt.Quantile("pay", q=0.9),
        dt.Quantiles("pay", q=(0.25, 0.5)),
        dt.Minimum("pay"),
        dt.Maximum("pay", bounds=(0, 10)),
        dt.OrderStatistic("pay", rank=3),
        dt.Count(),
        dt.Count("flag"),
        dt.Sum("pay"),
        dt.Mean("pay"),
        dt.TrimmedMean("pay", trim=0.2),
        dt.Variance("pay", ddof=1),
        dt.IQR("pay", low=0.1, high=0.9),
        dt.Histogram("pay", edges=(0, 5, 10)),
        dt.Histogram("job"),
        dt.Edges(),
        dt.Edges(max_degree=4),
        dt.Triangles(),
        dt.KStars(2),
        dt.KTriangles(2),
        dt.KCliques(4),
        dt.MinCut(),
        dt.MSTCost(),
        dt.Covariance(["pay", "age"]),
        dt.MeanVector(["pay", "age"]),
        dt.Regression("pay", ["age"]),
        dt.Regression("pay", ["age"], method="ols"),
        dt.KMeans(["pay"], k=2, bounds=(0, 10)),
        dt.GaussianMixture(["pay", "age"], k=2, blocks=50),
        dt.Scale("pay"),
        dt.Mode("job"),
        dt.SmallestSum("pay", k=3),
        dt.Histogram("job", categories=["nurse", "clerk"]),
    ],
    ids=lambda one: type(one).__name__,
)
def test_every_query_survives_the_journey(query):
    """What the client writes the server reads back as the same query."""
    payload = parse(json.dumps(to_json(query)).encode())
    assert payload["kind"] in served()
    again = from_json(payload)
    assert type(again) is type(query)
    assert to_json(again) == to_json(query)


def test_a_broken_connection_pays_once(server):
    """A proxy that swallows the first answers: the client asks again under the same request id."""
    import http.client
    import http.server

    class Swallow(http.server.BaseHTTPRequestHandler):
        swallowed = 0

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            connection = http.client.HTTPConnection("127.0.0.1", server.port)
            connection.request("POST", self.path, body, dict(self.headers))
            answer = connection.getresponse()
            text = answer.read()
            if Swallow.swallowed < 2:
                Swallow.swallowed += 1
                self.close_connection = True
                return
            self.send_response(answer.status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    proxy = http.server.HTTPServer(("127.0.0.1", 0), Swallow)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    try:
        spent = dt.connect(server.url, token=server.tokens["alice"], dataset="pay").budget.spent.epsilon
        session = dt.connect(f"http://127.0.0.1:{proxy.server_port}", token=server.tokens["alice"], dataset="pay")
        session.ask(dt.Median("pay"), epsilon=0.77, again=True)
        assert Swallow.swallowed == 2
        after = dt.connect(server.url, token=server.tokens["alice"], dataset="pay").budget.spent.epsilon
        assert after == pytest.approx(spent + 0.77)
    finally:
        proxy.shutdown()
        proxy.server_close()


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("mechanism", dt.Smooth(beta=0.1)),
        ("mechanism", dt.LargestLocal(levels=dt.LevelFunction(dt.Levels([1]), len))),
        ("noise", dt.Cauchy(gamma=2)),
        ("mechanism", 3),
    ],
    ids=["smooth", "levels", "cauchy", "number"],
)
def test_objects_are_named_where_a_server_is_asked(option, given):
    """Before anything is sent: only names travel."""
    remote = dt.connect("http://127.0.0.1:9", token="none", dataset="pay")
    for ask in (remote.ask, remote.quote):
        with pytest.raises(dt.InvalidArgument, match=rf"^{option} must be a name such as .*, nothing was charged"):
            ask(dt.Median("pay"), epsilon=1.0, **{option: given})


def test_nobody_there(monkeypatch):
    """A clear error, after some patience."""
    monkeypatch.setattr("dither.interfaces.client.time", sleeping(lambda _: None))
    with pytest.raises(ServerUnreachable, match="request_id"):
        RemoteSession("http://127.0.0.1:9", token="x", dataset="pay").ask(dt.Median("pay"), epsilon=1)


RELEASE = {
    "value": 3.0,
    "interval": None,
    "confidence": None,
    "epsilon": 1.0,
    "delta": 0.0,
    "neighbours": "change-one",
    "query": "count",
    "calibration": "worst_case",
    "noise": "laplace",
    "missing": None,
    "labels": None,
}
ANSWER = {"releases": [RELEASE], "epsilon": 1.0, "delta": 0.0}
PROBLEM = {"type": "about:blank", "title": "No", "status": 422, "code": "invalid-argument", "detail": "x must be 1"}
LOSS = {"epsilon": 1.0, "delta": 0.0}
ACCOUNT = {"total": LOSS, "spent": LOSS, "left": LOSS}
CHARGE = LOSS | {"number": 1, "question": {}, "releases": None}
RUNNING = {"id": "a/../b ?", "state": "running", "ready_in": 0}


def answering(text: bytes) -> RemoteSession:
    """A session whose server says this to everything."""
    session = RemoteSession("http://curator.example", token="x", dataset="pay")
    session._opener = SimpleNamespace(open=lambda *_, **__: io.BytesIO(text))
    return session


def test_answers_of_0_1_0_and_of_later_versions_are_read():
    """Fields that are not known here are left alone; the mechanism had another name."""
    answer = ANSWER | {"releases": [RELEASE | {"later": 1}], "budget": None, "later": {}}
    assert answering(json.dumps(answer).encode()).ask(dt.Count(), epsilon=1).mechanism == "worst_case"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (ANSWER | {"releases": [RELEASE | {"epsilon": "1"}]}, r"releases\[0\].epsilon must be a finite number"),
        (ANSWER | {"releases": [RELEASE | {"neighbours": "others"}]}, r"releases\[0\].neighbours must be one of"),
        (ANSWER | {"releases": {}}, "releases must be a list"),
        ({"releases": []}, "epsilon is missing"),
        ({"id": "x", "state": "asleep", "ready_in": 1}, "state must be one of running, done, failed"),
        ({"id": "x", "state": "done", "ready_in": 0}, "answer is missing"),
        ({"id": "x", "state": "failed", "ready_in": 0}, "problem is missing"),
        ({"id": "x", "state": "failed", "ready_in": 0, "problem": PROBLEM | {"status": "4"}}, "problem.status must be"),
        (ANSWER | {"releases": []}, "releases must be one for each query, and 1 were asked"),
        (ANSWER | {"releases": [RELEASE | {"group": "ab"}]}, r"releases\[0\].group must be"),
        (ANSWER | {"releases": [RELEASE | {"group": {"a": []}}]}, r"releases\[0\].group"),
        (ANSWER | {"releases": [RELEASE | {"value": [1], "labels": [1]}]}, r"releases\[0\].labels\[0\] must be a text"),
        (ANSWER | {"releases": [RELEASE | {"value": [1, 2], "labels": ["a"]}]}, r"\.labels must be as many as"),
        (
            ANSWER | {"releases": [RELEASE | {"value": [1], "labels": ["a"], "interval": [[1, 2]] * 2}]},
            r"\.interval must be as many as there are in value",
        ),
        (ANSWER | {"releases": [RELEASE | {"reason": 5}]}, r"releases\[0\].reason must be a text"),
        (ANSWER | {"releases": [RELEASE | {"claim": []}]}, r"releases\[0\].claim must be a text"),
    ],
)
def test_answers_that_are_none_say_so(answer, words):
    """Where the answer is wrong, and no word about what was charged: nobody here knows."""
    with pytest.raises(ServerRefused, match=words) as refused:
        answering(json.dumps(answer).encode()).ask(dt.Count(), epsilon=1)
    assert (refused.value.status, refused.value.code) == (502, "malformed")
    assert "charged" not in str(refused.value)


def said(answer) -> RemoteSession:
    """A session whose server says this JSON to everything."""
    return answering(json.dumps(answer).encode())


def test_a_quote_is_one_at_least():
    """No list without quotes."""
    with pytest.raises(ServerRefused, match="quotes must be a list with at least one answer"):
        said({"quotes": []}).quote(dt.Count(), epsilon=1)


def test_of_a_budget_only_known_fields_are_read():
    """More fields, and null for what there is none of, are no errors; a total of nothing is one."""
    later = ACCOUNT | {"total": LOSS | {"later": 1}, "spent": LOSS | {"later": 1}, "own": None}
    assert said(later).budget.total == dt.Budget(1)
    own = ACCOUNT | {"total": LOSS | {"epsilon": 2.0, "later": 1}}
    assert said(ACCOUNT | {"own": own}).budget.total == dt.Budget(2)
    for wrong in ({"own": 5}, {"own": {}}, {"total": None}, {"total": LOSS | {"epsilon": 0}}):
        with pytest.raises(ServerRefused, match=r"own|total"):
            said(ACCOUNT | wrong).budget  # noqa: B018


@pytest.mark.parametrize("numbers", [[1] * 1_000, [2, 1], [0], range(1, 1_001), ["1"], [True], [-1]])
def test_histories_have_rising_numbers(numbers):
    """Also from page to page: a server that repeats its pages is not read for ever."""
    with pytest.raises(ServerRefused, match=r"rising numbers|numbers above|number must be a whole number"):
        said({"releases": [CHARGE | {"number": one} for one in numbers]}).history  # noqa: B018


@pytest.mark.parametrize("ready_in", [0, -1e300, 0.5, 1e300, 10**50])
def test_a_job_that_never_ends_is_given_up(ready_in, monkeypatch):
    """After a public time; pauses between two looks are neither very short nor very long."""
    pauses = []
    monkeypatch.setattr("dither.interfaces.client.time", sleeping(pauses.append))
    monkeypatch.setattr("dither.interfaces.client.LONGEST_WAIT", 9_000.0)
    with pytest.raises(ServerUnreachable, match=r"no answer after 9000 seconds, the longest .* same request_id"):
        said(RUNNING | {"ready_in": ready_in}).ask(dt.Count(), epsilon=1)
    assert 9_000 <= sum(pauses) < 9_000 + max(pauses)
    assert 0.05 <= min(pauses) <= max(pauses) <= LONGEST_PAUSE
    assert len(pauses) < 1_000


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        (None, 0.2),
        ("", 0.2),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 0.2),
        ("-5", 0.2),
        ("nan", 0.2),
        ("inf", 10.0),
        ("1e400", 10.0),
        ("3", 3.0),
    ],
)
def test_when_a_busy_server_is_asked_again(given, seconds, monkeypatch):
    """As it says in seconds, ten at most; whatever else it says, soon."""
    pauses = []
    headers = email.message.Message()
    if given is not None:
        headers["Retry-After"] = given

    def refuse(*_, **__):
        raise urllib.error.HTTPError("http://curator.example", 503, "busy", headers, io.BytesIO(b"{}"))

    monkeypatch.setattr("dither.interfaces.client.time", sleeping(pauses.append))
    session = said({})
    session._opener = SimpleNamespace(open=refuse)
    with pytest.raises(ServerRefused, match="status 503"):
        session.ask(dt.Count(), epsilon=1)
    assert pauses[0] == seconds


@pytest.mark.parametrize(
    ("detail", "argument"),
    [("query[0].q must be 1", "query[0].q"), ("column='x': write y", "column"), ("x is missing", "x"), ("no", "")],
)
def test_invalid_arguments_of_servers_have_all_fields(detail, argument):
    """The argument as the sentence names it; what was given is only in the sentence."""
    with pytest.raises(dt.InvalidArgument) as refused:
        said(RUNNING | {"state": "failed", "problem": PROBLEM | {"detail": detail}}).ask(dt.Count(), epsilon=1)
    assert (refused.value.argument, refused.value.given, str(refused.value)) == (argument, None, detail)
    assert refused.value.rule == refused.value.accepted == detail


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"epsilon": NaN}', b'{"a": 1, "a": 2}', b"[" * 10_000])
def test_answers_that_are_no_json_are_no_answers(text, monkeypatch):
    """Sent again, and then given up."""
    monkeypatch.setattr("dither.interfaces.client.time", sleeping(lambda _: None))
    with pytest.raises(ServerUnreachable):
        answering(text).ask(dt.Count(), epsilon=1)


def test_jobs_are_waited_for(server):
    """``wait=False`` on the wire is the same answer in the end."""
    session = dt.connect(server.url, token=server.tokens["alice"], dataset="pay")
    assert session.ask(dt.Median("pay"), epsilon=0.21, wait=False).loss == dt.Loss(0.21)


def test_at_the_shell(server):
    """dither ask --server, with the token in an option or in the environment."""
    run = CliRunner()
    words = ["ask", "pay", "median(pay)", "--epsilon", "0.5", "--server", server.url, "--json"]
    result = run.invoke(main, [*words, "--token", server.tokens["alice"]])
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["releases"][0]["query"] == "median of pay"
    where = [*words, "--where", "job = 'nurse'"]
    assert run.invoke(main, where, env={"DITHER_TOKEN": server.tokens["alice"]}).exit_code == 0
    refused = run.invoke(main, [*words, "--token", "nonsense"])
    assert refused.exit_code == 2
    assert json.loads(refused.output)["error"]["code"] == "unauthenticated"
    assert run.invoke(main, words).exit_code == 2


@pytest.mark.slow
def test_tls(tmp_path):
    """A certificate of one's own: the client trusts it where it is told to, and not otherwise."""
    chain, key = certificate(tmp_path)
    home = with_dataset(tmp_path / "home")
    words = ["--certificate", str(chain), "--key", str(key)]
    one = CuratorProcess(home, *words).start()
    try:
        assert one.url.startswith("https://")
        session = dt.connect(one.url, token=one.tokens["owner"], certificate=str(chain))
        assert session.ask(dt.Median("pay"), epsilon=0.5).loss == dt.Loss(0.5)
        stranger = dt.connect(one.url, token=one.tokens["owner"])
        with pytest.raises(ServerUnreachable):
            stranger.datasets  # noqa: B018
    finally:
        assert one.stop() == 0
    bad = subprocess.run(
        [sys.executable, "-m", "dither", "serve", "--home", str(home), "--certificate", str(home)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert bad.returncode == 2
    assert "key" in bad.stderr
