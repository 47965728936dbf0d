"""What a newcomer tries first: numbers of releases, graphs of other libraries, names with a slip."""

import numpy as np
import pytest

import dither as dt
from dither.privacy import Loss, Neighbours
from dither.release import Release


def release_of(value):
    """A release with this value."""
    return Release(value, None, None, Loss(1.0), Neighbours.CHANGE_ONE, "mean of pay", "worst_case", "laplace")


def test_releases_are_numbers_where_their_answer_is_one():
    """``float`` and format codes; an answer that is no number says so."""
    assert float(release_of(3)) == 3.0
    assert f"{release_of(1234.56):,.1f}" == "1,234.6"
    assert f"{release_of((1.25, 2.5)):.1f}" == "[1.2, 2.5]"
    assert f"{release_of(1.0)}" == str(release_of(1.0))
    assert f"{release_of(None):.1f}" == "refused"
    for value, word in ((None, "refused"), ((1.0, 2.0), "tuple"), ("nurse", "str")):
        with pytest.raises(TypeError, match=word):
            float(release_of(value))


def test_graphs_of_other_libraries_are_asked_directly():
    """networkx, igraph and sparse matrices count as the graphs that they are."""
    igraph, nx = pytest.importorskip("igraph"), pytest.importorskip("networkx")
    club = nx.karate_club_graph()
    pairs = list(club.edges)
    for graph in (club, igraph.Graph(n=34, edges=pairs), nx.to_scipy_sparse_array(club)):
        assert dt.inspect.value(dt.Triangles(), graph) == 45
        assert abs(dt.edges(graph, epsilon=50.0, confidence=None).value - 78) < 5
    for other in (pairs, np.ones((3, 3)), nx):
        with pytest.raises(dt.InvalidArgument, match="one of networkx, igraph or scipy"):
            dt.edges(other, epsilon=1.0)


@pytest.mark.parametrize("name", ["prize", "Price", "PRICES"])
def test_a_slip_in_the_name_of_a_column_is_answered_with_the_nearest(name):
    """In queries, filters and SQL; what is not similar to anything has no suggestion."""
    session = dt.open({"price": [1.0] * 9}, columns={"price": dt.Real(0, 5)}, budget=dt.Budget(1.0))
    with pytest.raises(dt.InvalidArgument, match=r"did you mean price\?"):
        session.ask(dt.Mean(name), epsilon=0.1)
    if name == "prize":
        with pytest.raises(dt.InvalidArgument, match=r"did you mean price\?"):
            session.sql(f"SELECT mean({name}) FROM data", epsilon=0.1)
        with pytest.raises(dt.InvalidArgument, match=r"did you mean price\?"):
            session.ask(dt.Mean("price"), where=f"{name} > 1", epsilon=0.1)
    with pytest.raises(dt.InvalidArgument, match="must be a declared column: price;"):
        session.ask(dt.Mean("xyz"), epsilon=0.1)
