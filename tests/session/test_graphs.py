"""Graphs in schema files: sessions, accounts and errors as for tables."""

import gzip
import json
from itertools import combinations

import pyarrow.csv
import pyarrow.parquet
import pytest

import dither as dt
from dither.errors import Contradiction, InvalidText
from dither.sources import graph
from dither.sources.schema_file import dump_schema, load_schema

FRIENDS = """[dataset]
name = "friends"
source = "edges.csv"
[graph]
vertices = 30
ends = ["a", "b"]
[budget]
epsilon = 9
"""
ROADS = FRIENDS.replace("vertices = 30", 'vertices = 30\nweight = "w"\ncap = 10')


@pytest.fixture
def folder(tmp_path):
    """A complete graph on 30 vertices with weights, as a CSV beside two schemas."""
    lines = ["a,b,w", *(f"{one},{two},{(one * two) % 10}" for one, two in combinations(range(30), 2))]
    (tmp_path / "edges.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "friends.toml").write_text(FRIENDS)
    (tmp_path / "roads.toml").write_text(ROADS)
    return tmp_path


def test_private_edges(folder):
    """Triangles of K30 are 4,060; the answer is charged, repeated for free, and near."""
    with dt.open(folder / "friends.toml") as session:
        release = session.ask(dt.Triangles(), epsilon=4.0)
        assert release.neighbours is dt.Neighbours.EDGE
        assert 2_000 < release.value < 6_000
        assert session.ask(dt.Triangles(), epsilon=4.0) == release
        assert session.budget.spent == dt.Loss(4.0)
        assert session.quote(dt.Triangles(), epsilon=4.0).stored
        assert session.quote("triangles()", epsilon=4.0)[0].loss == dt.Loss(0.0)
        assert session.quote("triangles()", epsilon=4.0, again=True)[0].loss == dt.Loss(4.0)
        assert session.quote(dt.Triangles(), epsilon=3.0).loss == dt.Loss(3.0)
        assert dt.inspect.value(dt.Triangles(), session) == 4060
        with pytest.raises(dt.InvalidArgument, match="weight"):
            session.ask(dt.MSTCost(), epsilon=1.0)
        with pytest.raises(dt.InvalidArgument, match="about a graph"):
            session.ask(dt.Median("a"), epsilon=1.0)
        with pytest.raises(dt.BudgetExceeded):
            session.ask(dt.Edges(), epsilon=6.0)
    with dt.open(folder / "friends.toml") as again:
        assert again.budget.spent == dt.Loss(4.0)
        assert [spend.question["questions"][0]["query"]["name"] for spend in again.history] == ["triangles"]


def test_other_columns_are_another_relation(folder):
    """One edge between a and b may be many between a and c: whoever declares other ends is refused, and not charged."""
    lines = (folder / "edges.csv").read_text().splitlines()
    (folder / "edges.csv").write_text("\n".join(f"{line},{'c' if line == lines[0] else 0}" for line in lines))
    with dt.open(folder / "friends.toml") as session:
        session.ask(dt.Edges(), epsilon=4.0)
    (folder / "friends.toml").write_text(FRIENDS.replace('["a", "b"]', '["a", "c"]'))
    with pytest.raises(Contradiction, match="identified by a and b, not edge, identified by a and c"):
        dt.open(folder / "friends.toml")
    # With an account of its own it is another question: 435 edges before, 29 now.
    with dt.open(folder / "friends.toml", ledger=folder / "other.ledger") as session:
        assert session.ask(dt.Edges(), epsilon=4.0).value < 200
        assert session.budget.spent == dt.Loss(4.0)


def test_private_weights(folder):
    """Edges are public, weights are charged for."""
    with dt.open(folder / "roads.toml", ledger=":memory:") as session:
        release = session.ask(dt.MSTCost(), epsilon=5.0)
        assert release.neighbours is dt.Neighbours.WEIGHT
        assert 0 <= release.value <= 290
        with pytest.raises(dt.NotApplicable, match="edges are public"):
            session.ask(dt.Triangles(), epsilon=1.0)
        assert session.budget.spent == dt.Loss(5.0)


@pytest.mark.parametrize("stored", ["csv", "parquet"])
def test_weights_are_read_only_after_the_charge(folder, monkeypatch, stored):
    """Opening and planning read the edges alone, and know the weights' stored type, which decides their grid."""
    if stored == "parquet":
        table = pyarrow.csv.read_csv(folder / "edges.csv")
        pyarrow.parquet.write_table(table, folder / "edges.parquet")
        (folder / "roads.toml").write_text(ROADS.replace("edges.csv", "edges.parquet"))
    read, reader = [], graph.read_file_column
    monkeypatch.setattr(
        graph, "read_file_column", lambda path, name, **how: read.append(name) or reader(path, name, **how)
    )
    with dt.open(folder / "roads.toml", ledger=":memory:") as session:
        planned = session.plan(dt.MSTCost(), epsilon=1.0)
        assert read == ["a", "b"]
        assert planned.prepared.statistic.weights.is_whole == (stored == "parquet")
        spent = []
        monkeypatch.setattr(
            graph, "read_file_column", lambda *a, **k: spent.append(session.budget.spent) or reader(*a, **k)
        )
        session.ask(dt.MSTCost(), epsilon=1.0)
        assert set(spent) == {dt.Loss(1.0)}


def test_edges_that_changed_answer_nothing(folder):
    """The plan was made for other public edges; what was charged stays charged, as the error says."""
    with dt.open(folder / "roads.toml", ledger=":memory:") as session:
        (folder / "edges.csv").write_text("a,b,w\n0,1,2\n")
        with pytest.raises(dt.SourceFailed, match="other edges than when it was opened; what was charged"):
            session.ask(dt.MSTCost(), epsilon=1.0)
        assert session.budget.spent == dt.Loss(1.0)


@pytest.mark.parametrize(
    ("change", "line", "word"),
    [
        (("vertices = 30", "vertices = 0"), 5, "vertices"),
        (("vertices = 30\n", ""), 4, "vertices is missing"),
        (("vertices = 30", "vertexes = 30"), 5, "did you mean vertices"),
        (("[budget]", "[columns.a]\ntype = 'boolean'\n[budget]"), 7, "no columns"),
        (('ends = ["a", "b"]', 'ends = ["a"]'), 6, "two columns"),
        (("vertices = 30", "vertices = 30\ncap = 4"), 6, "weight column"),
        (("vertices = 30", 'vertices = 30\nweight = "w"'), 4, "upper bound"),
        (('source = "edges.csv"\n', ""), 1, "source is missing"),
        (('ends = ["a", "b"]', 'ends = ["a", "a"]'), 6, "different columns"),
        (("vertices = 30", "vertices = 5000000000"), 5, "2147483647"),
        (("vertices = 30", "vertices = 30\nstep = 1"), 6, "weight column"),
    ],
)
def test_errors_point_at_the_line(folder, change, line, word):
    """Every mistake in the file names its line."""
    (folder / "friends.toml").write_text(FRIENDS.replace(*change))
    with pytest.raises(InvalidText, match=word) as caught:
        dt.open(folder / "friends.toml")
    assert f"line {line}," in str(caught.value)


def test_a_file_that_is_gone_costs_nothing(folder):
    """Before the session opens, and after."""
    session = dt.open(folder / "friends.toml", ledger=":memory:")
    (folder / "edges.csv").unlink()
    with pytest.raises(dt.SourceFailed, match="nothing was charged"):
        session.ask(dt.Triangles(), epsilon=1.0)
    with pytest.raises(dt.SourceFailed):
        dt.open(folder / "friends.toml", ledger=":memory:")
    assert session.budget.spent == dt.Loss(0.0)


@pytest.mark.parametrize(
    ("change", "word"),
    [(('["a", "b"]', '["a", "z"]'), "got 'z'"), (("edges.csv", "edges.txt"), "file ending")],
)
def test_what_cannot_be_read_is_never_charged(folder, change, word):
    """A wrong name is found when the session opens, and later before the charge: the error says so, and it is true."""
    (folder / "edges.txt").write_text("a,b\n0,1\n")
    (folder / "wrong.toml").write_text(FRIENDS.replace(*change))
    with pytest.raises(dt.InvalidArgument, match=word):
        dt.open(folder / "wrong.toml", ledger=":memory:")
    session = dt.open(folder / "friends.toml", ledger=":memory:")
    (folder / "edges.csv").write_text("one,two\n0,1\n")
    with pytest.raises(dt.InvalidArgument, match="nothing was charged"):
        session.ask(dt.Triangles(), epsilon=1.0)
    assert session.budget.spent == dt.Loss(0.0)


def test_a_file_that_breaks_off_stays_charged_and_says_so(folder):
    """Its first line is fine, the rest cannot be unpacked: found after the charge."""
    whole = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (i * i % 30, i % 29) for i in range(50_000)))
    (folder / "edges.csv.gz").write_bytes(whole[: len(whole) // 2])
    (folder / "friends.toml").write_text(FRIENDS.replace("edges.csv", "edges.csv.gz"))
    session = dt.open(folder / "friends.toml", ledger=":memory:")
    with pytest.raises(dt.SourceFailed, match="stays charged"):
        session.ask(dt.Triangles(), epsilon=1.0)
    assert session.budget.spent == dt.Loss(1.0)


def test_graphs_at_the_shell(folder):
    """dither ask knows graph schemas; anything else names what is accepted."""
    from click.testing import CliRunner

    from dither.interfaces.cli.main import main

    asked = CliRunner().invoke(main, ["ask", str(folder / "friends.toml"), "kstars(2)", "--epsilon", "2", "--json"])
    assert asked.exit_code == 0, asked.output
    payload = json.loads(asked.output)
    assert payload["budget"]["spent"]["epsilon"] == 2.0
    assert payload["releases"][0]["neighbours"] == "edge"
    wrong = CliRunner().invoke(main, ["ask", str(folder / "friends.toml"), "kstars()", "--epsilon", "2"])
    assert wrong.exit_code == 2
    assert "kstars(k)" in wrong.output


def test_graph_schemas_are_written_as_they_are_read(folder):
    """load(dump(schema)) is the schema."""
    for name in ("friends", "roads"):
        schema = load_schema(folder / f"{name}.toml")
        (folder / "again.toml").write_text(dump_schema(schema))
        assert load_schema(folder / "again.toml") == schema


NODES = FRIENDS.replace("vertices = 30", 'vertices = 30\nneighbours = "node"').replace("friends", "people")


@pytest.mark.slow
def test_vertices_that_are_people(folder):
    """Edges of K30 where vertices are people: every way to ask, what is refused, and what is charged."""
    (folder / "people.toml").write_text(NODES)
    with dt.open(folder / "people.toml") as session:
        release = session.ask(dt.Edges(), epsilon=4.0)
        assert (release.neighbours, release.mechanism) == (dt.Neighbours.NODE, "drawn_limit")
        assert release.interval[0] <= release.value <= release.interval[1] == 435
        assert session.sql("SELECT edges() FROM people", epsilon=1.0, mechanism="race").neighbours is dt.Neighbours.NODE
        assert session.quote(dt.Edges(max_degree=29), epsilon=1.0).mechanism == "worst_case"
        assert session.quote(dt.KStars(2, max_degree=4), epsilon=1.0).mechanism == "worst_case"
        assert session.quote(dt.Edges(), epsilon=1.0, prior=dt.ErdosRenyi(0.5)).expected_error > 0
        for query, most in ((dt.Triangles(), 4060), (dt.KCliques(3), 4060), (dt.KStars(2), 12180)):
            release = session.ask(query, epsilon=1.0)
            assert (release.neighbours, release.mechanism) == (dt.Neighbours.NODE, "drawn_limit")
            assert release.interval[0] <= release.value <= release.interval[1] == most
            assert session.quote(query, epsilon=1.0, prior=dt.ErdosRenyi(0.5)).expected_error > 0
        assert session.sql("SELECT triangles(max_degree => 5) FROM people", epsilon=1.0).mechanism == "worst_case"
        spent = session.budget.spent
        for query in (dt.KTriangles(2), dt.KCliques(4), dt.MinCut()):
            with pytest.raises(dt.NotApplicable, match=query.name):
                session.ask(query, epsilon=0.5)
        count = dt.Custom(
            name="own", value=len, bounds=(0, 9), step=1, default=0, neighbours="edge", global_sensitivity=1
        )
        distance = dt.DistanceToProperty(distance=len, most=9, neighbours=dt.Neighbours.EDGE)
        for query in (count, distance):
            with pytest.raises(dt.DitherError, match=r"node|about a graph|not asked"):
                session.ask(query, epsilon=0.5)
        assert session.budget.spent == spent == dt.Loss(9.0)
    text = dump_schema(load_schema(folder / "people.toml"))
    assert 'neighbours = "node"' in text
    (folder / "people.toml").write_text(text.replace('neighbours = "node"\n', ""))
    with pytest.raises(Contradiction, match="node"), dt.open(folder / "people.toml") as session:
        session.ask(dt.Edges(), epsilon=1.0)


def test_whose_edges_are(folder):
    """A relation that is none is refused at its line, and one of people where edges are public."""
    (folder / "people.toml").write_text(NODES.replace('"node"', '"vertex"'))
    with pytest.raises(InvalidText, match="neighbours"):
        load_schema(folder / "people.toml")
    (folder / "people.toml").write_text(NODES.replace("vertices = 30", 'vertices = 30\nweight = "w"\ncap = 10'))
    with pytest.raises(InvalidText, match="without weights"):
        load_schema(folder / "people.toml")
    for wrong in ("vertex", "weight", None):
        with pytest.raises(dt.InvalidArgument, match="neighbours"):
            dt.Graph([(0, 1)], n=3, neighbours=wrong)
    with pytest.raises(dt.InvalidArgument, match="neighbours"):
        dt.Graph([(0, 1)], n=3, weights=[1], cap=2, neighbours="node")
