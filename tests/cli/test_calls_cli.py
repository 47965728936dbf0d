"""Calls at the shell: every query of a schema, a graph and a bare file, through the parser of SQL."""

import json
from itertools import combinations

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner

from curators import CuratorProcess
from dither.interfaces.cli.main import main
from dither.queries.registry import entries

PEOPLE = 2000
SCHEMA = """[dataset]
source = "people.csv"
rows = 2000
[budget]
epsilon = 100000
delta = 0.5
[columns]
a = { type = "real", bounds = [0, 10] }
"b b" = { type = "real", bounds = [0, 10] }
y = { type = "real", bounds = [0, 60] }
job = { type = "category", values = ["clerk", "nurse"] }
active = { type = "boolean" }
"""
GRAPH = '[dataset]\nname = "friends"\nsource = "edges.csv"\n[graph]\nvertices = 30\n[budget]\nepsilon = 100000\n'
CALLS = {
    "quantile": "quantile(a, 0.9)",
    "quantiles": "quantiles(a, 0.1, 0.9)",
    "order_statistic": "order_statistic(a, 5)",
    "count": "count_if(active)",
    "smallest_sum": "smallest_sum(a, 3)",
    "mode": "mode(job)",
    "histogram": "histogram(a, 0, 5, 10)",
    "counting_queries": "counting_queries(active)",
    "mean_vector": 'mean_vector(a, "b b")',
    "ball_mean": 'ball_mean(a, "b b", radius => 10)',
    "covariance": 'covariance(a, "b b")',
    "pair_covariance": 'covar_samp(y, "b b")',
    "correlation": 'corr(y, "b b")',
    "least_squares": 'least_squares(y, "b b")',
    "regression": 'regression(y, a, "b b")',
    "kmeans": 'kmeans(a, "b b", k => 2)',
    "kmeans_cost": 'kmeans_cost(a, "b b", [1, 2, 3, 4])',
    "gaussian_mixture": 'gaussian_mixture(a, "b b", 2)',
    "kstars": "kstars(2)",
    "ktriangles": "ktriangles(k => 2)",
    "kcliques": "kcliques(k = 4)",
}
"""How a query is called where that is not ``name(a)``, or ``name()`` of a graph."""
TABLE = [one.name for one in entries().values() if one.of in ("column", "columns", "table") and one.has("cli")]
GRAPHS = [one.name for one in entries().values() if one.of in ("graph", "weighted graph") and one.has("cli")]


def called(name):
    """A call of a query."""
    return CALLS.get(name, f"{name}({'' if name in GRAPHS else 'a'})")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same people as a CSV, a Parquet file and a registered table; a graph with and without weights."""
    folder = tmp_path_factory.mktemp("calls")
    rng = np.random.default_rng(1)
    near, far = rng.normal(2, 0.3, PEOPLE // 2), rng.normal(8, 0.3, PEOPLE // 2)
    a, b = np.concatenate([near, far]), np.concatenate([far, near])
    y = 3 * a + 2 * b + rng.normal(0, 0.1, PEOPLE)
    lines = [
        f"{a[i]:.3f},{b[i]:.3f},{y[i]:.3f},{'nurse' if i % 4 == 0 else 'clerk'},{i % 2 == 0}" for i in range(PEOPLE)
    ]
    (folder / "people.csv").write_text("a,b b,y,job,active\n" + "\n".join(lines) + "\n")
    duckdb.sql(f"COPY (FROM read_csv('{folder}/people.csv')) TO '{folder}/people.parquet'")
    (folder / "people.toml").write_text(SCHEMA)
    edges = "".join(f"{i},{j},{(i * j) % 10}\n" for i, j in combinations(range(30), 2))
    (folder / "edges.csv").write_text(f"source,target,w\n{edges}")
    (folder / "friends.toml").write_text(GRAPH)
    weighted = GRAPH.replace("friends", "roads").replace("vertices = 30", 'vertices = 30\nweight = "w"\ncap = 10')
    (folder / "roads.toml").write_text(weighted)
    return folder


def run(*words):
    """What a command leaves, in this process."""
    done = CliRunner().invoke(main, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def payload(*words):
    """The JSON that a command prints."""
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", [one for one in TABLE if one != "program"])
def test_every_query_is_asked_of_a_schema_and_quoted(folder, name):
    """By a call, with the loss that was asked for."""
    schema = folder / "people.toml"
    [release] = payload("ask", schema, called(name), "--epsilon", 400, "--delta", "1e-3")["releases"]
    assert not release["refused"]
    [quoted] = payload("quote", schema, called(name), "--epsilon", 400, "--delta", "1e-3")["quotes"]
    assert quoted["query"].split(" where ")[0] in release["query"]


@pytest.mark.parametrize("name", GRAPHS)
def test_every_query_is_asked_of_a_graph_and_quoted(folder, name):
    """By a call, by SQL, and in a list."""
    dataset = "roads" if name in ("mst_cost", "weighted_min_cut") else "friends"
    schema, call = folder / f"{dataset}.toml", called(name)
    [release] = payload("ask", schema, call, "--epsilon", 10)["releases"]
    [same] = payload("ask", schema, f"SELECT {call} FROM {dataset}", "--epsilon", 10)["releases"]
    assert same["value"] == release["value"], "the same question, from the ledger"
    both = payload("ask", schema, f"{call} AS x, {call}", "--epsilon", 8, "--weights", "x=3")["releases"]
    assert [one["epsilon"] for one in both] == [6.0, 2.0]
    quotes = payload("quote", schema, f"{call}, {call}", "--epsilon", 10)["quotes"]
    assert [one["epsilon"] for one in quotes] == [5.0, 5.0]


@pytest.mark.sampled(21)
@pytest.mark.parametrize("file", ["people.csv", "people.parquet"])
@pytest.mark.parametrize("name", [one for one in TABLE if one != "program"])
def test_every_query_is_asked_of_a_file(folder, name, file):
    """Bounds are given apart, where the query takes them without more being said."""
    entry = entries()[name]
    takes_bounds = name not in ("regression", "histogram") and "bounds" in (*entry.settable, *entry.declared)
    bounds = ("--bounds", 0, 10) if takes_bounds else ()
    release = payload("ask", folder / file, called(name), *bounds, "--epsilon", 400, "--delta", "1e-3")
    assert not release["refused"]


def test_bounds_of_a_histogram_are_those_of_its_bins(folder):
    """With a number of bins they are cut evenly; edges need none."""
    call, words = "histogram(a, bins => 2)", ("--bounds", 0, 10, "--epsilon", 400)
    assert len(payload("ask", folder / "people.csv", call, *words)["value"]) == 2
    done = run("ask", folder / "people.csv", called("histogram"), *words)
    assert done.exit_code == 2
    assert "bounds is used with bins=" in done.output


def test_least_squares_of_a_file_has_bounds_and_other_regressions_do_not(folder):
    """They make it least squares, in the order of the call; an error of the other methods names it."""
    words = ("--bounds", 0, 60, "--bounds", 0, 10, "--bounds", 0, 10, "--epsilon", 400, "--delta", "1e-3")
    call = "regression(y, a, \"b b\", method => 'ols')"
    release = payload("ask", folder / "people.csv", call, *words)
    assert release["value"][1:] == pytest.approx([3, 2], abs=0.5)
    assert payload("ask", folder / "people.csv", called("regression"), *words)["query"] == release["query"]
    done = run("ask", folder / "people.csv", call.replace("ols", "medians"), *words)
    assert done.exit_code == 2
    assert "method='medians' needs no bounds: leave them out; applicable here: method=\"ols\"" in done.output
    # With the columns declared by flags the order is the same.
    declared = payload("ask", folder / "people.csv", call, *words, "--column", "job=category:clerk:nurse")
    assert declared["releases"][0]["value"][1:] == pytest.approx([3, 2], abs=0.5)


def test_bounds_of_several_columns(folder):
    """One pair for all of them, or one for each."""
    file, call = folder / "people.csv", "mean_vector(a, b b, y)"
    one = payload("ask", file, call, "--bounds", 0, 60, "--epsilon", 400)
    each = payload("ask", file, call, "--bounds", 0, 10, "--bounds", 0, 10, "--bounds", 0, 60, "--epsilon", 400)
    assert np.allclose(one["value"], [5, 5, 25], atol=0.5)
    assert np.allclose(each["value"], [5, 5, 25], atol=0.5)
    for pairs in (2, 4):
        done = run("ask", file, call, *(["--bounds", 0, 60] * pairs), "--epsilon", 4)
        assert done.exit_code == 2
        assert "a pair for each of the 3 columns, or one pair for all" in done.stderr
    done = run("ask", file, "median(a)", "--bounds", 0, 10, "--bounds", 0, 10, "--epsilon", 4)
    assert done.exit_code == 2
    assert "bounds" in done.stderr


def test_categories_of_a_file_are_texts(tmp_path):
    """Undeclared and declared ones; an empty entry is missing, whatever another record holds."""
    (tmp_path / "x.csv").write_text("job,n\n" + "clerk,1\n" * 300 + "nurse,2\n" * 100 + ",3\n" * 50 + "\x00\n")
    file = tmp_path / "x.csv"
    for name in ("x.csv", "x.parquet"):
        if name == "x.parquet":
            duckdb.sql(f"COPY (FROM read_csv('{file}', null_padding=true)) TO '{tmp_path}/{name}'")
        asked = ("ask", tmp_path / name)
        assert payload(*asked, "mode(job)", "--epsilon", 9, "--delta", "1e-4")["value"] == "clerk"
        found = payload(*asked, "histogram(job)", "--epsilon", 9, "--delta", "1e-4")
        assert dict(zip(found["labels"], found["value"], strict=True)).keys() == {"clerk", "nurse", "missing"}
        counted = payload(*asked, "histogram(job, categories => ['clerk'])", "--epsilon", 99)
        assert counted["value"] == [300, 151]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["people.csv", "medain(a)"], "did you mean median(column)"),
        (["people.csv", "triangles()"], "it is asked of a graph"),
        (["people.csv", "median(a), mean(a)"], "is not declared: pass --column a=real"),
        (["people.csv", "SELECT median(a) FROM people"], "declare the columns that SQL names"),
        (["people.csv", "mode(job)", "--bounds", "0", "1"], "mode(column) does not take it"),
        (["people.csv", "median(a, bounds => [0, 1])", "--bounds", "0", "1"], "stands in the call already"),
        (["people.csv", "covariance(a, nothing)", "--bounds", "0", "1"], "got 'nothing'"),
        (["people.toml", "triangles()"], "it is asked of a graph"),
        (["people.toml", "kmeans(a)"], "write kmeans(column, ..., k => 3)"),
        (["people.toml", "kmeans(a, k => 2)", "--by", "job"], "kmeans is asked of the whole table"),
        (["people.csv", "median(a)", "--bounds", "0", "10", "--by", "job"], "such as --column 'job=category:a:b'"),
        (["friends.toml", "median(source)"], "a graph has no columns"),
        (["friends.toml", "trangles()"], "did you mean triangles()"),
        (["friends.toml", "triangles()", "--where", "source = 1"], "a graph is asked as a whole"),
        (["friends.toml", "triangles()", "--by", "source"], "a graph is asked as a whole"),
        (["friends.toml", "triangles()", "--weights", "1,2"], "weights"),
        (["friends.toml", "mst_cost()"], "declares weight and cap"),
    ],
)
def test_errors_say_what_to_write(folder, words, message):
    """Exit code 2, one message, nothing charged."""
    done = run("ask", folder / words[0], *words[1:], "--epsilon", 1, "--delta", "1e-4")
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert "nothing was charged" in done.stderr


@pytest.mark.slow
def test_a_graph_of_a_server_is_asked_and_quoted_by_the_same_calls(folder, tmp_path, monkeypatch):
    """A call, a list of calls and SQL; what is wrong is marked in the text that was typed."""
    for name in ("datasets", "data"):
        (tmp_path / name).mkdir()
    (tmp_path / "data" / "edges.csv").write_text((folder / "edges.csv").read_text())
    (tmp_path / "datasets" / "friends.toml").write_text(GRAPH.replace("edges.csv", "../data/edges.csv"))
    server = CuratorProcess(tmp_path).start()
    try:
        to = ("--server", server.url, "--token", server.tokens["owner"])
        [alone] = payload("ask", "friends", "kstars(k = 2)", "--epsilon", 10, *to)["releases"]
        [same] = payload("ask", "friends", "SELECT kstars(2) FROM friends", "--epsilon", 10, *to)["releases"]
        assert same["value"] == alone["value"]
        both = payload("ask", "friends", "triangles() AS x, min_cut()", "--epsilon", 8, "--weights", "x=3", *to)
        assert [one["epsilon"] for one in both["releases"]] == [6.0, 2.0]
        quoted = payload("quote", "friends", "triangles() AS x, min_cut()", "--epsilon", 8, *to)
        monkeypatch.chdir(folder)
        here = payload("quote", "friends.toml", "triangles() AS x, min_cut()", "--epsilon", 8)
        assert quoted == here | {"dataset": "friends"}
        for words, message in (
            (("trangles()",), "did you mean triangles()"),
            (("triangles()", "--where", "source = 1"), "a graph is asked as a whole"),
        ):
            for command in ("ask", "quote"):
                done = run(command, "friends", *words, "--epsilon", 1, *to)
                assert done.exit_code == 2
                assert message in done.stderr
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--epsilon", 1, "--prior", "normal:0:1"), "prior must be ErdosRenyi(...) or DegreeSequence(...) for a graph"),
        (("--epsilon", 1, "--rows", "5"), "rows is not used for a graph"),
        (("--target-error", 5), "target_error is not used for a graph"),
    ],
)
def test_graphs_are_quoted_under_priors_of_graphs(folder, words, message):
    """What does not apply to a graph is named."""
    done = run("quote", folder / "friends.toml", "triangles()", *words)
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_format_is_read_by_questions_about_how_entries_read(tmp_path):
    """Shares unreadable and numbers of values are those of the declared format; dates need bounds.

    An answer is off by a hundredth of 2,000 records with a chance below 1e-9 at epsilon 10.
    """
    lines = [("", "n/a", "1.234,56", "99.000,00")[place % 4] for place in range(PEOPLE)]
    (tmp_path / "pay.csv").write_text("pay;day\n" + "".join(f"{one};31.12.2020\n" for one in lines), encoding="utf-8")

    def asked(*words):
        return CliRunner().invoke(main, ["ask", str(tmp_path / "pay.csv"), *words, "--epsilon", "10", "--json"])

    def value(*words):
        result = asked(*words)
        assert result.exit_code == 0, result.output
        payload = json.loads(result.stdout)
        return payload.get("releases", [payload])[0]["value"]

    form = ("--format", "1.234,56")
    assert value("quality(pay)", *form, "--bounds", "0", "50000") == pytest.approx([0.25, 0.25, 0.25], abs=0.01)
    assert value("quality(pay)", *form) == pytest.approx([0.25, 0.25, 0], abs=0.01)
    assert value("quality(pay)") == pytest.approx([0.25, 0.75, 0], abs=0.01)
    assert value("count(pay)", *form) == pytest.approx(1000, abs=20)
    assert value("mode(pay)", *form, "--delta", "0.1") in {"missing", "n/a", "1.234,56", "99.000,00", None}
    for question in ("median(day)", "quality(day)"):
        refused = asked(question, "--format", "%d.%m.%Y")
        assert refused.exit_code == 2
        assert "dates, which need a range" in refused.output


def test_one_bound_alone_is_named(folder):
    """Otherwise the next option would be the second bound, and be missing."""
    done = CliRunner().invoke(main, ["ask", str(folder / "people.csv"), "mean(a)", "--bounds", "0", "--epsilon", "1"])
    assert done.exit_code == 2
    assert "--bounds LOWER UPPER" in done.output
