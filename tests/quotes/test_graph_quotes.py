"""Quotes of graphs under a prior: the error that is promised is the error that is measured; and the floor of quotes."""

import json
import math
from itertools import combinations

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.optimize import linprog

import dither as dt
from curators import CuratorProcess
from dither.errors import InvalidArgument
from dither.interfaces.cli.main import main
from dither.quotes.graph_priors import DegreeSequence, ErdosRenyi
from dither.quotes.quote import floor_share
from dither.quotes.uniforms import uniforms

VERTICES = 120
SCHEMA = dt.GraphSchema("nowhere.csv", VERTICES)
DEGREES = [2] * 60 + [6] * 40 + [25] * 20
QUERIES = [dt.Triangles(), dt.KStars(2), dt.KTriangles(2), dt.KCliques(4), dt.Edges(), dt.Triangles(max_degree=20)]
GRAPH = """[dataset]
source = "friends.csv"
[graph]
vertices = 120
[budget]
epsilon = 50
"""


def drawn(prior, generator):
    """A graph of the prior, by code of its own."""
    if isinstance(prior, ErdosRenyi):
        joined = generator.random((VERTICES, VERTICES)) < float(prior.p)
        return dt.Graph(np.argwhere(np.triu(joined, 1)), n=VERTICES)
    ends = generator.permutation(np.repeat(np.arange(VERTICES), prior.degrees))
    pairs = {tuple(sorted(one)) for one in ends[: len(ends) // 2 * 2].reshape(-1, 2).tolist() if one[0] != one[1]}
    return dt.Graph(sorted(pairs), n=VERTICES)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("prior", [dt.ErdosRenyi(p=0.08), dt.DegreeSequence(DEGREES)], ids=["gnp", "degrees"])
@pytest.mark.parametrize("query", QUERIES, ids=lambda one: one.label)
def test_the_quoted_error_is_within_a_factor_of_two_of_the_measured_one(query, prior):
    """500 answers about fresh graphs.

    Errors are cut at 20 times the quote, and have a variance below twice its square: by Bernstein's inequality a
    sound quote misses by a chance below exp(-28).
    """
    generator = np.random.default_rng(7)
    quoted = dt.quote(query, SCHEMA, epsilon=1.0, prior=prior)
    assert quoted.kind == "estimate"
    errors = []
    for _ in range(25):
        graph = drawn(prior, generator)
        true = dt.inspect.value(query, graph)
        asked = [dt.ask(query, graph, epsilon=1.0, mechanism=quoted.mechanism).value for _ in range(20)]
        errors += [min(abs(one - true), 20 * quoted.expected_error) for one in asked]
    assert 0.5 * quoted.expected_error < np.mean(errors) < 2 * quoted.expected_error
    assert np.mean(np.array(errors) <= quoted.bound) > 0.85


def test_fitted_noise_is_ranked_before_the_worst_case():
    """Where it is better on such graphs; without a prior only the bound for all graphs is known."""
    for query in QUERIES[:4]:
        quoted = dt.quote(query, SCHEMA, epsilon=1.0, prior=dt.ErdosRenyi(p=0.05))
        assert quoted.mechanism == "smooth"
        assert list(quoted.alternatives) == sorted(quoted.alternatives, key=quoted.alternatives.get)
        assert quoted.alternatives["worst_case"] > 2 * quoted.expected_error
        assert quoted.prior == "ErdosRenyi(p=0.05)"
        bound = dt.quote(query, SCHEMA, epsilon=1.0)
        assert bound.kind == "upper bound"
        assert bound.expected_error > 10 * quoted.expected_error
    assert dt.quote(dt.Edges(), SCHEMA, epsilon=1.0, prior=dt.ErdosRenyi(p=0.05)).mechanism == "worst_case"


def test_samples_have_the_law_of_the_prior():
    """Every pair of six vertices is joined with the stated probability (Hoeffding, 15 pairs: below 1e-9)."""
    runs = 8_000
    counts = np.zeros((6, 6))
    for number in range(runs):
        for one, two in ErdosRenyi(p=0.3).pairs(6, number).tolist():
            assert 0 <= one < two < 6
            counts[one, two] += 1
    for one, two in combinations(range(6), 2):
        assert abs(counts[one, two] / runs - 0.3) < 0.038
    assert [len(ErdosRenyi(p=p).pairs(50, 0)) for p in (0, 1)] == [0, 1225]
    assert len(np.unique(ErdosRenyi(p=1).pairs(50, 0), axis=0)) == 1225


def test_degrees_are_those_of_the_list():
    """At most the stated ones, and few fewer; of a list of another length evenly spaced quantiles."""
    for degrees, vertices in ((DEGREES, 120), ([4, 4, 9], 300), (DEGREES, 40)):
        pairs = DegreeSequence(degrees).pairs(vertices, 3)
        found = np.sort(np.bincount(pairs.ravel(), minlength=vertices))
        wanted = np.sort(degrees)[((np.arange(vertices) + 0.5) * len(degrees) / vertices).astype(int)]
        wanted = np.minimum(wanted, vertices - 1)
        assert (found <= np.sort(wanted)).all()
        assert found.sum() > 0.65 * wanted.sum()
    assert DegreeSequence([0]).graph(5).size == 0
    assert repr(DegreeSequence([1, 2])) == "DegreeSequence(<2 degrees>)"


@pytest.mark.parametrize("loss", [(0.1, 0.0), (1.0, 0.0), (3.0, 0.01), (0.5, 0.2)])
def test_the_floor_is_the_least_error_on_two_neighbours(loss):
    """A linear program over all (epsilon, delta)-private laws of answers between two values: never less, and attained.

    With delta = 0 it is met by randomised response; with delta > 0 the program finds no less.
    """
    epsilon, delta = loss
    points = np.linspace(0.0, 1.0, 9)
    answers = len(points)
    # Variables: p, q (laws on x and y), s = (p - e^eps q)+, t = (q - e^eps p)+, and the greater expected error.
    size = 4 * answers + 1
    rows, right = [], []
    for first, second, excess in ((0, 1, 2), (1, 0, 3)):
        for place in range(answers):
            row = np.zeros(size)
            row[first * answers + place], row[second * answers + place] = 1.0, -math.exp(epsilon)
            row[excess * answers + place] = -1.0
            rows.append(row)
            right.append(0.0)
        row = np.zeros(size)
        row[excess * answers : (excess + 1) * answers] = 1.0
        rows.append(row)
        right.append(delta)
    for which, truth in ((0, 0.0), (1, 1.0)):
        row = np.zeros(size)
        row[which * answers : (which + 1) * answers], row[-1] = np.abs(points - truth), -1.0
        rows.append(row)
        right.append(0.0)
    whole = np.zeros((2, size))
    whole[0, :answers] = whole[1, answers : 2 * answers] = 1.0
    least = linprog(np.eye(size)[-1], A_ub=np.array(rows), b_ub=right, A_eq=whole, b_eq=[1.0, 1.0]).fun
    assert floor_share(dt.Loss(epsilon, delta)) == pytest.approx(least, rel=1e-6)


@pytest.mark.slow
def test_floors_of_quotes():
    """Known by hand on complete and empty graphs; never above the error of any mechanism; named as what it is."""
    for epsilon in (0.2, 1.0):
        whole = dt.quote(dt.Triangles(), SCHEMA, epsilon=epsilon, prior=dt.ErdosRenyi(p=1))
        assert whole.floor == pytest.approx((VERTICES - 2) / (1 + math.exp(epsilon)))
        assert dt.quote(dt.Triangles(), SCHEMA, epsilon=epsilon, prior=dt.ErdosRenyi(p=0)).floor == 0.0
        for query in QUERIES:
            for prior in (dt.ErdosRenyi(p=0.08), dt.DegreeSequence(DEGREES)):
                quoted = dt.quote(query, SCHEMA, epsilon=epsilon, prior=prior)
                assert quoted.floor is None or 0 <= quoted.floor <= min(quoted.alternatives.values())
    schema = dt.Schema("nowhere.csv", {"pay": dt.Real(0, 1000)}, rows=2_000)
    for query in (dt.Median("pay"), dt.Maximum("pay"), dt.Sum("pay"), dt.Mean("pay"), dt.IQR("pay")):
        quoted = dt.quote(query, schema, epsilon=0.5, prior=dt.Normal(400, 100))
        assert quoted.floor is None or 0 < quoted.floor <= min(quoted.alternatives.values())
    total = dt.quote(dt.Sum("pay", nulls="lower"), schema, epsilon=1, prior=dt.Uniform(0, 1000))
    assert 900 / (1 + math.e) < total.floor <= 1000 / (1 + math.e)
    assert ", floor 26" in str(total)
    assert dt.Quote.from_dict(json.loads(json.dumps(total.to_dict()))) == total
    assert dt.quote(dt.Sum("pay"), schema, epsilon=1).floor is None


def test_the_floor_for_owners_has_the_same_expected_error():
    """``dt.inspect.floor`` of one dataset, and the quote's share of its local sensitivity."""
    found = dt.inspect.floor(dt.Median(bounds=(0, 100)), [10, 20, 90], epsilon=1.0, delta=0.1)
    assert found.expected_error == pytest.approx(70 * floor_share(dt.Loss(1.0, 0.1)))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dt.ErdosRenyi(p=1.5), "^p must be a probability"),
        (lambda: dt.ErdosRenyi(p=math.nan), "^p "),
        (lambda: dt.ErdosRenyi(p="often"), "^p "),
        (lambda: dt.DegreeSequence([]), "^degrees must be a list of 1 to"),
        (lambda: dt.DegreeSequence("12"), "^degrees must be a list"),
        (lambda: dt.DegreeSequence(7), "^degrees must be a list"),
        (lambda: dt.DegreeSequence([1, -1]), "^degrees must be a list"),
        (lambda: dt.DegreeSequence([1.5]), "^degrees must be a list"),
        (lambda: dt.quote(dt.Triangles(), SCHEMA, epsilon=1, prior=dt.Normal(0, 1)), "^prior must be ErdosRenyi"),
        (lambda: dt.quote(dt.Triangles(), SCHEMA, epsilon=1, prior=0.1), "^prior must be ErdosRenyi"),
        (lambda: dt.quote(dt.Triangles(), SCHEMA, epsilon=1, rows=5), "^rows=5: a graph is asked as a whole"),
        (
            lambda: dt.quote(dt.Triangles(), dt.GraphSchema("n.csv", 100_000), epsilon=1, prior=dt.ErdosRenyi(p=0.5)),
            "^prior must expect at most 1,000,000 edges",
        ),
        (
            lambda: dt.quote(
                dt.Median("x"), dt.Schema("n.csv", {"x": dt.Real(0, 1)}, rows=9), epsilon=1, prior=dt.ErdosRenyi(p=0.1)
            ),
            "^prior is for graphs",
        ),
    ],
)
def test_bad_priors_are_refused(make, words):
    """In one sentence, before anything is drawn."""
    with pytest.raises(InvalidArgument, match=words):
        make()


def friends(folder):
    """A registered graph."""
    folder.mkdir(parents=True, exist_ok=True)
    pairs = ErdosRenyi(p=0.05).pairs(VERTICES, 1)
    (folder / "friends.csv").write_text("source,target\n" + "".join(f"{one},{two}\n" for one, two in pairs.tolist()))
    (folder / "friends.toml").write_text(GRAPH)
    return folder / "friends.toml"


def test_sessions_take_priors_too(tmp_path):
    """Quotes and answers of a query and of SQL; a public mechanism choice by the prior."""
    session = dt.open(friends(tmp_path))
    prior = dt.ErdosRenyi(p=0.05)
    quoted = session.quote(dt.Triangles(), epsilon=1.0, prior=prior)
    assert quoted == dt.quote(dt.Triangles(), session.schema, epsilon=1.0, prior=prior)
    assert session.quote("SELECT triangles(), edges() FROM friends", epsilon=2.0, prior=prior)[0] == quoted
    assert dt.quote([dt.Triangles(), dt.Edges()], session.schema, epsilon=2.0, prior=prior)[0] == quoted
    assert session.ask(dt.Triangles(), epsilon=1.0, prior=prior).mechanism == "smooth"
    assert session.sql("SELECT edges() FROM friends", epsilon=1.0, prior=prior).mechanism == "worst_case"
    with pytest.raises(InvalidArgument, match=r"^prior must be ErdosRenyi"):
        session.ask(dt.Triangles(), epsilon=1.0, mechanism="smooth", prior=dt.Normal(0, 1))


def test_at_the_shell(tmp_path):
    """--prior erdos_renyi:P, and --prior-sample with degrees."""
    schema = str(friends(tmp_path))
    (tmp_path / "degrees.txt").write_text("\n".join(map(str, DEGREES)))

    def quoted(*words):
        done = CliRunner().invoke(main, ["quote", schema, "triangles()", "--epsilon", "1", *words])
        return done.exit_code, done.output

    code, text = quoted("--prior", "erdos_renyi:0.05", "--json")
    assert code == 0, text
    assert json.loads(text)["quotes"][0]["kind"] == "estimate"
    code, text = quoted("--prior-sample", str(tmp_path / "degrees.txt"))
    assert code == 0, text
    assert "floor of triangles" in text
    assert quoted("--prior", "erdos_renyi:2")[0] == 2
    assert "must be ErdosRenyi" in quoted("--prior", "normal:0:1")[1]
    assert quoted("--rows", "5")[0] == 2


@pytest.mark.slow
def test_over_http(tmp_path):
    """The client and raw JSON; bad priors are refused with the argument's name."""
    home = tmp_path / "home"
    friends(home / "data")
    (home / "datasets").mkdir(parents=True)
    (home / "datasets" / "friends.toml").write_text(GRAPH)
    server = CuratorProcess(home).start()
    try:
        session = dt.connect(server.url, token=server.tokens["owner"])
        here = dt.GraphSchema("nowhere.csv", VERTICES)
        for prior in (dt.ErdosRenyi(p=0.05), dt.DegreeSequence(DEGREES)):
            quoted = session.quote(dt.Triangles(), epsilon=1.0, prior=prior)
            local = dt.quote(dt.Triangles(), here, epsilon=1.0, prior=prior)
            assert quoted.expected_error == pytest.approx(local.expected_error)
            assert quoted.floor == pytest.approx(local.floor)
            assert quoted.alternatives.keys() == local.alternatives.keys()
        sql = session.quote("SELECT triangles() FROM friends", epsilon=1.0, prior=dt.ErdosRenyi(p=0.05))
        assert sql[0].mechanism == "smooth"
        for prior in (dt.Normal(0, 1), dt.PublicSample([1, 2, 3])):
            with pytest.raises(InvalidArgument, match="prior must be"):
                session.quote(dt.Triangles(), epsilon=1.0, prior=prior)
        with pytest.raises(InvalidArgument, match="rows"):
            session.quote(dt.Triangles(), epsilon=1.0, rows=7)
    finally:
        server.stop()


def test_the_same_numbers_every_time():
    """A quote can be had again."""
    assert (uniforms("a", 5) == uniforms("a", 5)).all()
    prior = dt.ErdosRenyi(p=0.1)
    assert dt.quote(dt.KStars(3), SCHEMA, epsilon=1, prior=prior) == dt.quote(
        dt.KStars(3), SCHEMA, epsilon=1, prior=prior
    )
