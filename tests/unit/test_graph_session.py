"""Graphs in schema files: sessions, accounts and errors as for tables."""

import json
from itertools import combinations

import pytest

import dither as dt
from dither.errors import InvalidText

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
        assert dt.inspect.value(dt.Triangles(), session) == 4060
        with pytest.raises(dt.InvalidArgument, match="weight"):
            session.ask(dt.MSTCost(), epsilon=1.0)
        with pytest.raises(dt.InvalidArgument, match="about a graph"):
            session.ask(dt.Median("a"), epsilon=1.0)
        with pytest.raises(dt.BudgetExceeded):
            session.ask(dt.Edges(), epsilon=6.0)
    with dt.open(folder / "friends.toml") as again:
        assert again.budget.spent == dt.Loss(4.0)
        assert [spend.question["questions"][0]["query"]["kind"] for spend in again.history] == ["Triangles"]


def test_private_weights(folder):
    """Edges are public, weights are charged for."""
    with dt.open(folder / "roads.toml", ledger=":memory:") as session:
        release = session.ask(dt.MSTCost(), epsilon=5.0)
        assert release.neighbours is dt.Neighbours.WEIGHT
        assert 0 <= release.value <= 290
        with pytest.raises(dt.NotApplicable, match="edges are public"):
            session.ask(dt.Triangles(), epsilon=1.0)
        assert session.budget.spent == dt.Loss(5.0)


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


def test_graphs_at_the_shell(folder):
    """dither ask knows graph schemas; anything else names what is accepted."""
    from click.testing import CliRunner

    from dither.surfaces.cli import main

    asked = CliRunner().invoke(main, ["ask", str(folder / "friends.toml"), "kstars(2)", "--epsilon", "2", "--json"])
    assert asked.exit_code == 0, asked.output
    told = json.loads(asked.output)
    assert told["budget"]["spent"]["epsilon"] == 2.0
    assert told["releases"][0]["neighbours"] == "edge"
    wrong = CliRunner().invoke(main, ["ask", str(folder / "friends.toml"), "kstars()", "--epsilon", "2"])
    assert wrong.exit_code == 2
    assert "kstars(k)" in wrong.output
